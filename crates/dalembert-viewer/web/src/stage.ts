// The scene in three.js: objects made once from a drawing, moved by every frame.

import {
  AmbientLight, BoxGeometry, BufferAttribute, BufferGeometry, CapsuleGeometry, Color, ConeGeometry, CylinderGeometry,
  DirectionalLight, DoubleSide, DynamicDrawUsage, Fog, GridHelper, HemisphereLight, InstancedMesh, Line, LineBasicMaterial,
  LineSegments, Material, Matrix4, Mesh, MeshLambertMaterial, MeshStandardMaterial, Object3D, PCFShadowMap, PerspectiveCamera,
  Plane, PlaneGeometry, Quaternion, Raycaster, Scene, ShadowMaterial, SphereGeometry, Sprite, SpriteMaterial, CanvasTexture,
  Vector2, Vector3, WebGLRenderer,
} from "three";
import { OrbitControls } from "three/examples/jsm/controls/OrbitControls.js";
import { crease, isClosed } from "./crease";
import type { Drawing, Frame, Shape, Triple } from "./protocol";

/** What is under the mouse. */
export interface Hit {
  shape: number;
  element: number;
  place: Vector3;
}

/** Moves one object by a frame. */
type Mover = (frame: Frame) => void;

/** Stiff shapes that share a form: one draw call for all. */
interface Batch {
  mesh: InstancedMesh;
  shapes: number[];
}

const UP = new Vector3(0, 0, 1);

export class Stage {
  readonly renderer: WebGLRenderer;
  readonly scene = new Scene();
  readonly camera = new PerspectiveCamera(32, 1, 0.01, 1000);
  readonly controls: OrbitControls;
  drawing: Drawing | null = null;
  frame: Frame | null = null;
  arrowScale = 1;
  colouring: "plain" | "violation" | "islands" = "plain";
  selected = -1;
  private readonly low: boolean;
  private movers: Mover[] = [];
  private roots: { object: Object3D; group: string; shape: number }[] = [];
  private batches: Batch[] = [];
  private solids: { material: MeshStandardMaterial | MeshLambertMaterial; index: number }[] = [];
  private picks: { object: Object3D; shape: (instance: number) => number; element: (instance: number, face: number) => number }[] = [];
  private hidden = new Set<number>();
  private shown = new Set<string>();
  private positions = new BufferAttribute(new Float32Array(0), 3);
  private sun = new DirectionalLight(0xfff4e2, 2.4);
  private sky = new HemisphereLight(0xe6eefa, 0xb4ada2, 2.1);
  private fill = new AmbientLight(0xffffff, 0.25);
  private ground: Object3D[] = [];
  private hand: Line;
  private dark = false;
  /** Share of the canvas that no panel covers, across and down. */
  private free: [number, number] = [1, 1];
  /** Lowest place seen so far; without a plane in the scene the ground lies under it. */
  private lowest = Infinity;
  private moves = 0;

  constructor(canvas: HTMLCanvasElement, low: boolean) {
    this.low = low;
    this.renderer = new WebGLRenderer({ canvas, antialias: !low, preserveDrawingBuffer: true, powerPreference: "high-performance" });
    this.renderer.setPixelRatio(low ? 1 : Math.min(devicePixelRatio, 2));
    this.renderer.shadowMap.enabled = !low;
    this.renderer.shadowMap.type = PCFShadowMap;
    this.camera.up.copy(UP);
    this.camera.position.set(3, -4, 2);
    this.controls = new OrbitControls(this.camera, canvas);
    this.controls.enableDamping = false;
    this.sun.castShadow = !low;
    this.sun.shadow.mapSize.set(2048, 2048);
    this.sun.shadow.bias = -0.0003;
    this.sun.shadow.normalBias = 0.02;
    this.scene.add(this.sun, this.sun.target, this.sky, this.fill);
    this.hand = new Line(new BufferGeometry().setAttribute("position", new BufferAttribute(new Float32Array(6), 3)), new LineBasicMaterial({ color: 0xd64550 }));
    this.hand.frustumCulled = false;
    this.hand.visible = false;
    this.scene.add(this.hand);
    this.setTheme(false);
  }

  setTheme(dark: boolean): void {
    this.dark = dark;
    const back = new Color(dark ? 0x191c21 : 0xf0f3f7);
    this.scene.background = back;
    this.scene.fog = new Fog(back, 1, 10);
    this.sky.intensity = dark ? 1.5 : 2.1;
    this.makeGround();
  }

  /** Sizes in pixels; `left`, `right` and `bottom` are covered by panels, and the camera looks at the middle of the rest. */
  setSize(width: number, height: number, left: number, right: number, bottom: number): void {
    this.renderer.setSize(width, height, false);
    this.camera.aspect = width / Math.max(height, 1);
    this.camera.setViewOffset(width, height, (right - left) / 2, bottom / 2, width, height);
    this.free = [(width - left - right) / width, (height - bottom) / Math.max(height, 1)];
    this.camera.updateProjectionMatrix();
  }

  private material(colour: Triple, options: object = {}): Material {
    const color = new Color(colour[0] / 255, colour[1] / 255, colour[2] / 255).convertSRGBToLinear();
    // Only the ground fades with distance.
    options = { fog: false, ...options };
    return this.low ? new MeshLambertMaterial({ color, ...options }) : new MeshStandardMaterial({ color, roughness: 0.55, metalness: 0.02, ...options });
  }

  show(drawing: Drawing): void {
    for (const { object } of this.roots) {
      this.scene.remove(object);
      object.traverse((o) => {
        const mesh = o as Mesh;
        mesh.geometry?.dispose();
        if (mesh.material) (mesh.material as Material).dispose();
      });
    }
    this.movers = [];
    this.roots = [];
    this.batches = [];
    this.solids = [];
    this.picks = [];
    this.hidden.clear();
    this.selected = -1;
    this.drawing = drawing;
    this.frame = null;
    this.lowest = Infinity;
    this.positions = new BufferAttribute(new Float32Array(3 * drawing.vertices), 3);
    this.positions.setUsage(DynamicDrawUsage);
    this.movers.push((frame) => {
      (this.positions.array as Float32Array).set(frame.vertices.subarray(0, this.positions.array.length));
      this.positions.needsUpdate = true;
    });
    const stiff = new Map<string, number[]>();
    drawing.shapes.forEach((shape, i) => {
      const key = this.batchKey(shape);
      if (key) {
        const list = stiff.get(key);
        if (list) list.push(i); else stiff.set(key, [i]);
      } else {
        this.addShape(shape, i);
      }
    });
    for (const shapes of stiff.values()) this.addBatch(shapes);
    this.setTheme(this.dark);
    this.applyVisibility();
  }

  private add(object: Object3D, group: string, shape: number): void {
    object.traverse((o) => {
      o.frustumCulled = false;
      if ((o as Mesh).isMesh && !this.low) { o.castShadow = true; o.receiveShadow = true; }
    });
    this.scene.add(object);
    this.roots.push({ object, group, shape });
  }

  private batchKey(s: Shape): string | null {
    switch (s.kind) {
      case "sphere": case "box": case "cylinder": return `${s.kind}|${s.group}`;
      case "capsule": return `capsule|${s.group}|${(s.length / s.radius).toPrecision(4)}`;
      default: return null;
    }
  }

  private addBatch(shapes: number[]): void {
    const list = this.drawing!.shapes;
    const first = list[shapes[0]];
    const detail = shapes.length > 500 || this.low ? 12 : 28;
    let geometry: BufferGeometry;
    if (first.kind === "sphere") geometry = new SphereGeometry(1, detail, Math.ceil(detail / 1.6));
    else if (first.kind === "box") geometry = new BoxGeometry(1, 1, 1);
    else if (first.kind === "cylinder") geometry = new CylinderGeometry(1, 1, 1, detail).rotateX(Math.PI / 2);
    else geometry = new CapsuleGeometry(1, first.length / first.radius, 8, detail).rotateX(Math.PI / 2);
    const ghost = first.group === "collision" ? { wireframe: true } : {};
    const mesh = new InstancedMesh(geometry, this.material([255, 255, 255], ghost), shapes.length);
    mesh.instanceMatrix.setUsage(DynamicDrawUsage);
    const batch = { mesh, shapes };
    this.batches.push(batch);
    this.colourBatch(batch);
    const matrix = new Matrix4(), p = new Vector3(), q = new Quaternion(), s = new Vector3();
    this.movers.push((frame) => {
      shapes.forEach((index, k) => {
        const shape = list[index];
        const a = frame.poses, o = 7 * shape.pose;
        p.set(a[o], a[o + 1], a[o + 2]);
        q.set(a[o + 4], a[o + 5], a[o + 6], a[o + 3]);
        if (this.hidden.has(index)) s.setScalar(0);
        else if (shape.kind === "box") s.fromArray(shape.size);
        else if (shape.kind === "cylinder") s.set(shape.radius, shape.radius, shape.length);
        else s.setScalar(shape.radius);
        mesh.setMatrixAt(k, matrix.compose(p, q, s));
      });
      mesh.instanceMatrix.needsUpdate = true;
      mesh.boundingSphere = null;
    });
    this.picks.push({ object: mesh, shape: (k) => shapes[k], element: () => 0 });
    this.add(mesh, first.group, -1);
  }

  private colourBatch({ mesh, shapes }: Batch): void {
    const colour = new Color();
    shapes.forEach((index, k) => mesh.setColorAt(k, this.colourOf(index, colour)));
    if (mesh.instanceColor) mesh.instanceColor.needsUpdate = true;
  }

  /** The colour of a shape now, by the chosen colouring. */
  private colourOf(index: number, colour: Color): Color {
    const frame = this.frame;
    const [r, g, b] = this.drawing!.shapes[index].colour;
    colour.setRGB(r / 255, g / 255, b / 255).convertSRGBToLinear();
    if (this.colouring === "violation" && frame && frame.violation.length > index) {
      colour.setHSL(0.33 * (1 - Math.min(1, Math.max(0, frame.violation[index]))), 0.75, 0.45);
    } else if (this.colouring === "islands" && frame && frame.islands.length > index) {
      const island = frame.islands[index];
      colour.setHSL((island * 0.618034) % 1, island ? 0.65 : 0, 0.5);
    }
    return index === this.selected ? colour.lerp(new Color(1, 1, 1), 0.35) : colour;
  }

  recolour(): void {
    for (const batch of this.batches) this.colourBatch(batch);
    for (const { material, index } of this.solids) this.colourOf(index, material.color);
  }

  private addShape(shape: Shape, index: number): void {
    switch (shape.kind) {
      case "points": case "marks": return this.addPoints(shape, index);
      case "lines": return this.addLines(shape, index);
      case "mesh": return this.addMesh(shape, index);
      case "solid": return this.addSolid(shape, index);
      case "axes": return this.addAxes(shape, index);
      case "arrows": return this.addArrows(shape, index);
      case "discs": return this.addDiscs(shape, index);
      case "label": return this.addLabel(shape, index);
      case "plane": return this.addPlane(shape, index);
    }
  }

  private addPoints(shape: Shape, index: number): void {
    const marks = shape.kind === "marks";
    const count = marks ? shape.vertices.length : shape.count;
    const detail = count > 4000 || this.low ? 8 : count > 500 ? 12 : 24;
    const geometry = marks ? new BoxGeometry(2, 2, 2) : new SphereGeometry(1, detail, Math.ceil(detail / 1.6));
    const mesh = new InstancedMesh(geometry, this.material(shape.colour), count);
    mesh.instanceMatrix.setUsage(DynamicDrawUsage);
    const m = mesh.instanceMatrix.array as Float32Array;
    for (let k = 0; k < count; k++) {
      m[16 * k] = m[16 * k + 5] = m[16 * k + 10] = shape.radius;
      m[16 * k + 15] = 1;
    }
    this.movers.push((frame) => {
      const x = frame.vertices;
      for (let k = 0; k < count; k++) {
        const v = 3 * (marks ? (shape.vertices[k] as number) : shape.first + k);
        m[16 * k + 12] = x[v];
        m[16 * k + 13] = x[v + 1];
        m[16 * k + 14] = x[v + 2];
      }
      mesh.instanceMatrix.needsUpdate = true;
      mesh.boundingSphere = null;
    });
    this.add(mesh, shape.group, index);
  }

  private addLines(shape: Shape, index: number): void {
    const geometry = new BufferGeometry();
    geometry.setAttribute("position", this.positions);
    geometry.setIndex(new BufferAttribute(new Uint32Array(shape.pairs.flat()), 1));
    const [r, g, b] = shape.colour;
    const color = new Color(r / 255, g / 255, b / 255).convertSRGBToLinear();
    this.add(new LineSegments(geometry, new LineBasicMaterial({ color, fog: false })), shape.group, index);
  }

  private addMesh(shape: Shape, index: number): void {
    const geometry = new BufferGeometry();
    const triangles = shape.triangles;
    let positions = new BufferAttribute(new Float32Array(3 * shape.count), 3).setUsage(DynamicDrawUsage);
    geometry.setAttribute("position", positions);
    geometry.setIndex(new BufferAttribute(new Uint32Array(triangles.flat()), 1));
    const mesh = new Mesh(geometry, this.material(shape.colour, { side: DoubleSide }));
    let split = isClosed(triangles);
    let from: Uint32Array | null = null;
    this.movers.push((frame) => {
      const x = frame.vertices.subarray(3 * shape.first, 3 * (shape.first + shape.count));
      if (split) {
        // Once, by the first shape that is seen: where creases are does not change while a body deforms.
        split = false;
        const creased = crease(x, triangles);
        from = creased.from;
        positions = new BufferAttribute(new Float32Array(3 * from.length), 3).setUsage(DynamicDrawUsage);
        geometry.setAttribute("position", positions);
        geometry.deleteAttribute("normal");
        geometry.setIndex(new BufferAttribute(creased.index, 1));
      }
      const p = positions.array as Float32Array;
      if (from) from.forEach((i, k) => p.set(x.subarray(3 * i, 3 * i + 3), 3 * k));
      else p.set(x);
      positions.needsUpdate = true;
      geometry.computeVertexNormals();
      geometry.boundingSphere = null;
      geometry.boundingBox = null;
    });
    this.solids.push({ material: mesh.material as MeshStandardMaterial, index });
    this.picks.push({ object: mesh, shape: () => index, element: (_, face) => shape.triangles[face][0] });
    this.add(mesh, shape.group, index);
  }

  private poseMover(object: Object3D, pose: number): void {
    this.movers.push((frame) => {
      const a = frame.poses, o = 7 * pose;
      object.position.set(a[o], a[o + 1], a[o + 2]);
      object.quaternion.set(a[o + 4], a[o + 5], a[o + 6], a[o + 3]);
    });
  }

  private addSolid(shape: Shape, index: number): void {
    // Corners are not shared, so that edges stay sharp.
    const corners = shape.triangles.flatMap((t) => t.flatMap((i) => shape.vertices[i] as Triple));
    const geometry = new BufferGeometry();
    geometry.setAttribute("position", new BufferAttribute(new Float32Array(corners), 3));
    geometry.computeVertexNormals();
    const mesh = new Mesh(geometry, this.material(shape.colour, shape.group === "collision" ? { wireframe: true } : {}));
    this.poseMover(mesh, shape.pose);
    this.solids.push({ material: mesh.material as MeshStandardMaterial, index });
    this.picks.push({ object: mesh, shape: () => index, element: () => 0 });
    this.add(mesh, shape.group, index);
  }

  /** A level plane is the ground; any other is shown as a square. */
  private addPlane(shape: Shape, index: number): void {
    const size = 2 * this.drawing!.extent;
    const mesh = new Mesh(new PlaneGeometry(size, size), this.material(shape.colour, { side: DoubleSide, transparent: true, opacity: 0.6 }));
    const root = new Object3D().add(mesh);
    this.poseMover(root, shape.pose);
    this.movers.push(() => (mesh.visible = new Vector3(0, 0, 1).applyQuaternion(root.quaternion).z < 0.99999));
    this.add(root, shape.group, index);
    mesh.castShadow = false;
  }

  private addAxes(shape: Shape, index: number): void {
    const root = new Object3D();
    const l = shape.length;
    const axes: [number[], number][] = [[[0, 0, 0, l, 0, 0], 0xd64045], [[0, 0, 0, 0, l, 0], 0x42a050], [[0, 0, 0, 0, 0, l], 0x3c6ed2]];
    for (const [ends, color] of axes) {
      const geometry = new BufferGeometry().setAttribute("position", new BufferAttribute(new Float32Array(ends), 3));
      root.add(new LineSegments(geometry, new LineBasicMaterial({ color, fog: false })));
    }
    this.poseMover(root, shape.pose);
    this.add(root, shape.group, index);
  }

  /** Contacts lie inside of what touches: they are drawn over it. */
  private over(shape: Shape): object {
    return shape.group === "contact" ? { depthTest: false, transparent: true } : {};
  }

  /** Flat discs across the arrows of a list. */
  private addDiscs(shape: Shape, index: number): void {
    const root = new Object3D();
    const material = this.material(shape.colour, this.over(shape));
    let discs: InstancedMesh | null = null, room = 0;
    const matrix = new Matrix4(), at = new Vector3(), axis = new Vector3(), q = new Quaternion();
    const size = new Vector3(shape.radius, shape.radius, 0.3 * shape.radius);
    this.movers.push((frame) => {
      const a = frame.arrows[shape.list];
      const n = a ? a.length / 6 : 0;
      if (n > room) {
        room = Math.max(64, 2 * n);
        if (discs) { root.remove(discs); discs.geometry.dispose(); discs.dispose(); }
        discs = new InstancedMesh(new CylinderGeometry(1, 1, 1, 16).rotateX(Math.PI / 2), material, room);
        discs.frustumCulled = false;
        discs.renderOrder = 10;
        root.add(discs);
      }
      if (!discs) return;
      for (let k = 0; k < n; k++) {
        at.fromArray(a, 6 * k);
        axis.fromArray(a, 6 * k + 3).normalize();
        discs.setMatrixAt(k, matrix.compose(at, q.setFromUnitVectors(UP, axis), size));
      }
      discs.count = n;
      discs.instanceMatrix.needsUpdate = true;
    });
    this.add(root, shape.group, index);
  }

  private addArrows(shape: Shape, index: number): void {
    const root = new Object3D();
    const material = this.material(shape.colour, this.over(shape));
    let shafts: InstancedMesh | null = null, heads: InstancedMesh | null = null, room = 0;
    const matrix = new Matrix4(), from = new Vector3(), along = new Vector3(), middle = new Vector3(), q = new Quaternion(), s = new Vector3();
    this.movers.push((frame) => {
      const a = frame.arrows[shape.list];
      const n = a ? a.length / 6 : 0;
      if (n > room) {
        room = Math.max(64, 2 * n);
        for (const old of [shafts, heads]) if (old) { root.remove(old); old.geometry.dispose(); old.dispose(); }
        shafts = new InstancedMesh(new CylinderGeometry(1, 1, 1, 8).rotateX(Math.PI / 2), material, room);
        heads = new InstancedMesh(new ConeGeometry(2.7, 1, 12).rotateX(Math.PI / 2), material, room);
        shafts.frustumCulled = heads.frustumCulled = false;
        if (shape.group === "contact") shafts.renderOrder = heads.renderOrder = shape.thickness < 1 ? 12 : 11;
        root.add(shafts, heads);
      }
      if (!shafts || !heads) return;
      // The longest arrow is at most a third of the scene, times what the slider says.
      const extent = this.drawing!.extent;
      let longest = 0;
      for (let k = 0; k < n; k++) longest = Math.max(longest, Math.hypot(a[6 * k + 3], a[6 * k + 4], a[6 * k + 5]));
      const scale = this.arrowScale * Math.min(shape.scale, (0.33 * extent) / longest);
      for (let k = 0; k < n; k++) {
        from.fromArray(a, 6 * k);
        along.fromArray(a, 6 * k + 3).multiplyScalar(scale);
        const length = along.length();
        if (length > 0) q.setFromUnitVectors(UP, s.copy(along).divideScalar(length));
        const radius = shape.thickness * Math.min(0.004 * extent, 0.06 * length);
        const head = length > 0 ? Math.min(7 * radius, 0.6 * length) / length : 0;
        s.set(radius, radius, head * length);
        heads.setMatrixAt(k, matrix.compose(middle.copy(from).addScaledVector(along, 1 - 0.5 * head), q, s));
        s.set(radius, radius, (1 - head) * length);
        shafts.setMatrixAt(k, matrix.compose(middle.copy(from).addScaledVector(along, 0.5 * (1 - head)), q, s));
      }
      shafts.count = heads.count = n;
      shafts.instanceMatrix.needsUpdate = heads.instanceMatrix.needsUpdate = true;
    });
    this.add(root, shape.group, index);
  }

  private addLabel(shape: Shape, index: number): void {
    const canvas = document.createElement("canvas");
    canvas.width = 512;
    canvas.height = 64;
    const c = canvas.getContext("2d")!;
    c.font = "36px system-ui, sans-serif";
    c.textAlign = "center";
    c.fillStyle = `rgb(${shape.colour})`;
    c.fillText(shape.text, 256, 44);
    const sprite = new Sprite(new SpriteMaterial({ map: new CanvasTexture(canvas), depthTest: false }));
    const size = 0.25 * this.drawing!.extent;
    sprite.scale.set(size, size / 8, 1);
    this.movers.push((frame) => sprite.position.fromArray(frame.vertices, 3 * shape.vertex));
    this.add(sprite, shape.group, index);
  }

  private makeGround(): void {
    for (const o of this.ground) this.scene.remove(o);
    this.ground = [];
    const drawing = this.drawing, frame = this.frame;
    if (!drawing || !frame) return;
    const plane = drawing.shapes.find((s) => s.kind === "plane");
    const [low, high] = this.bounds();
    this.lowest = Math.min(this.lowest, low.z);
    const z = plane ? frame.poses[7 * plane.pose + 2] : this.lowest - 0.02 * drawing.extent;
    const extent = Math.max(drawing.extent, high.distanceTo(low));
    const power = 10 ** Math.floor(Math.log10(extent / 8));
    const m = extent / 8 / power;
    const step = power * (m < 1.5 ? 1 : m < 3.5 ? 2 : m < 7.5 ? 5 : 10);
    const cells = 2 * Math.ceil((2.5 * extent) / step);
    const grid = new GridHelper(cells * step, cells, this.dark ? 0x4a515c : 0xbcc4cf, this.dark ? 0x2f343c : 0xdbe0e7);
    grid.rotateX(Math.PI / 2);
    const middle = low.clone().add(high).multiplyScalar(0.5);
    grid.position.set(Math.round(middle.x / step) * step, Math.round(middle.y / step) * step, z);
    this.ground.push(grid);
    if (!this.low) {
      const shade = new Mesh(new PlaneGeometry(8 * extent, 8 * extent), new ShadowMaterial({ opacity: this.dark ? 0.5 : 0.22 }));
      shade.position.set(middle.x, middle.y, z - 1e-4 * extent);
      shade.receiveShadow = true;
      this.ground.push(shade);
    }
    for (const o of this.ground) this.scene.add(o);
    const reach = 0.9 * extent;
    const c = this.sun.shadow.camera;
    c.left = c.bottom = -reach;
    c.right = c.top = reach;
    c.near = 0.01 * extent;
    c.far = 8 * extent;
    c.updateProjectionMatrix();
    this.sun.target.position.copy(middle);
    this.sun.position.copy(middle).add(new Vector3(-0.5, -0.65, 1.3).multiplyScalar(2 * extent));
    this.sun.shadow.normalBias = 0.0012 * extent;
  }

  /** The box around all vertices and poses that belong to shapes. */
  bounds(): [Vector3, Vector3] {
    const low = new Vector3(Infinity, Infinity, Infinity), high = new Vector3(-Infinity, -Infinity, -Infinity), p = new Vector3();
    const { drawing, frame } = this;
    const eat = (r: number) => { low.min(p.clone().subScalar(r)); high.max(p.clone().addScalar(r)); };
    if (drawing && frame) {
      for (let i = 0; i < frame.vertices.length; i += 3) { p.fromArray(frame.vertices, i); low.min(p); high.max(p); }
      for (const s of drawing.shapes) {
        if (s.kind === "plane" || s.pose === undefined || s.group === "frame") continue;
        p.fromArray(frame.poses, 7 * s.pose);
        let r = s.radius ?? 0;
        if (s.kind === "box") r = 0.5 * Math.hypot(...s.size);
        else if (s.kind === "solid") r = Math.max(...s.vertices.map((v) => Math.hypot(...(v as Triple))));
        else if (s.length) r += 0.5 * s.length;
        eat(r);
      }
    }
    if (!Number.isFinite(low.x) || !Number.isFinite(high.x)) { low.setScalar(-0.5); high.setScalar(0.5); }
    return [low, high];
  }

  /** Moves the camera along its present direction until the box around everything just fits between the panels. */
  frameAll(): void {
    const [low, high] = this.bounds();
    const least = 0.1 * (this.drawing?.extent ?? 1);
    for (const k of ["x", "y", "z"] as const) {
      const missing = Math.max(0, least - (high[k] - low[k])) / 2;
      low[k] -= missing;
      high[k] += missing;
    }
    const back = this.camera.position.clone().sub(this.controls.target);
    if (back.lengthSq() === 0) back.set(0.5, -0.85, 0.42);
    const f = back.normalize().negate();
    const r = f.clone().cross(UP);
    if (r.lengthSq() < 1e-9) r.set(1, 0, 0);
    r.normalize();
    const u = r.clone().cross(f);
    const tan = 0.92 * Math.tan((0.5 * this.camera.fov * Math.PI) / 180);
    const tx = tan * this.camera.aspect * this.free[0], ty = tan * this.free[1];
    // The same rule as in render/camera.rs: the eye with r·e = (A − B)/2 and f·e = −(A + B)/(2 t).
    const most = (axis: Vector3, sign: number, t: number) => {
      let best = -Infinity;
      for (let k = 0; k < 8; k++) {
        const p = new Vector3(k & 1 ? high.x : low.x, k & 2 ? high.y : low.y, k & 4 ? high.z : low.z);
        best = Math.max(best, sign * axis.dot(p) - t * f.dot(p));
      }
      return best;
    };
    const [a, b, c, d] = [most(r, 1, tx), most(r, -1, tx), most(u, 1, ty), most(u, -1, ty)];
    const depth = Math.min(-(a + b) / (2 * tx), -(c + d) / (2 * ty));
    const eye = new Vector3().addScaledVector(r, (a - b) / 2).addScaledVector(u, (c - d) / 2).addScaledVector(f, depth);
    const distance = f.dot(low.clone().add(high).multiplyScalar(0.5)) - depth;
    this.camera.position.copy(eye);
    this.controls.target.copy(eye).addScaledVector(f, distance);
    this.camera.near = distance * 0.005;
    this.camera.far = distance * 40;
    this.camera.updateProjectionMatrix();
    this.controls.update();
  }

  setShown(groups: Set<string>): void {
    this.shown = groups;
    this.applyVisibility();
  }

  toggleShape(index: number): boolean {
    if (!this.hidden.delete(index)) this.hidden.add(index);
    this.applyVisibility();
    if (this.frame) this.move(this.frame);
    return !this.hidden.has(index);
  }

  isHidden(index: number): boolean {
    return this.hidden.has(index);
  }

  private applyVisibility(): void {
    for (const { object, group, shape } of this.roots) object.visible = this.shown.has(group) && !this.hidden.has(shape);
  }

  move(frame: Frame): void {
    const first = !this.frame;
    this.frame = frame;
    for (const mover of this.movers) mover(frame);
    if (this.colouring !== "plain") this.recolour();
    if (first) {
      this.makeGround();
      this.camera.position.set(0.5, -0.85, 0.42);
      this.controls.target.set(0, 0, 0);
      this.frameAll();
    } else if (++this.moves % 20 === 0) {
      // What sinks below the ground takes it along, but no farther than the size of the scene.
      const { z } = this.bounds()[0];
      const extent = this.drawing!.extent;
      if (z < this.lowest - 0.01 * extent && z > this.lowest - extent) this.makeGround();
    }
  }

  draw(): void {
    const fog = this.scene.fog as Fog;
    const distance = this.camera.position.distanceTo(this.controls.target);
    fog.near = distance;
    fog.far = distance + 2.4 * Math.max(this.drawing?.extent ?? 1, 0.3 * distance);
    this.renderer.render(this.scene, this.camera);
  }

  /** Place of one element of a shape now. */
  place(shape: number, element: number): Vector3 | null {
    const s = this.drawing?.shapes[shape];
    const f = this.frame;
    if (!s || !f) return null;
    if (s.kind === "points" || s.kind === "mesh") return new Vector3().fromArray(f.vertices, 3 * (s.first + element));
    if (s.kind === "marks") return new Vector3().fromArray(f.vertices, 3 * (s.vertices[element] as number));
    if (s.pose !== undefined) return new Vector3().fromArray(f.poses, 7 * s.pose);
    return null;
  }

  /** A place given in the axes of a shape's body, or the other way round. */
  bodyPlace(shape: number, place: Vector3, toBody: boolean): Vector3 {
    const s = this.drawing!.shapes[shape], a = this.frame!.poses, o = 7 * s.pose;
    const p = new Vector3(a[o], a[o + 1], a[o + 2]), q = new Quaternion(a[o + 4], a[o + 5], a[o + 6], a[o + 3]);
    return toBody ? place.clone().sub(p).applyQuaternion(q.invert()) : place.clone().applyQuaternion(q).add(p);
  }

  /** Pixels from the upper left of the canvas. */
  toScreen(place: Vector3): [number, number, number] {
    const p = place.clone().project(this.camera);
    const { clientWidth: w, clientHeight: h } = this.renderer.domElement;
    return [(0.5 + 0.5 * p.x) * w, (0.5 - 0.5 * p.y) * h, p.z];
  }

  private caster(x: number, y: number): Raycaster {
    const { clientWidth: w, clientHeight: h } = this.renderer.domElement;
    const caster = new Raycaster();
    caster.setFromCamera(new Vector2((2 * x) / w - 1, 1 - (2 * y) / h), this.camera);
    return caster;
  }

  /** The nearest thing at a pixel; points are caught within 14 pixels. */
  pick(x: number, y: number): Hit | null {
    const { drawing, frame } = this;
    if (!drawing || !frame) return null;
    let best: Hit | null = null, depth = Infinity;
    const caster = this.caster(x, y);
    for (const { object, shape, element } of this.picks) {
      if (!object.visible) continue;
      const [hit] = caster.intersectObject(object, false);
      if (!hit || hit.distance >= depth) continue;
      depth = hit.distance;
      best = { shape: shape(hit.instanceId ?? 0), element: element(hit.instanceId ?? 0, hit.faceIndex ?? 0), place: hit.point };
    }
    let near = 14;
    const p = new Vector3();
    drawing.shapes.forEach((s, index) => {
      if (s.kind !== "points" || !this.shown.has(s.group) || this.hidden.has(index)) return;
      for (let k = 0; k < s.count; k++) {
        p.fromArray(frame.vertices, 3 * (s.first + k));
        const [sx, sy, sz] = this.toScreen(p);
        const d = Math.hypot(sx - x, sy - y);
        if (d < near && sz < 1 && p.distanceTo(this.camera.position) < depth + s.radius) {
          near = d;
          best = { shape: index, element: k, place: p.clone() };
        }
      }
    });
    return best;
  }

  /** Where the ray through a pixel meets the plane through a place that faces the camera. */
  onPlane(x: number, y: number, place: Vector3): Vector3 | null {
    const normal = this.camera.getWorldDirection(new Vector3());
    const plane = new Plane().setFromNormalAndCoplanarPoint(normal, place);
    return this.caster(x, y).ray.intersectPlane(plane, new Vector3());
  }

  showHand(from: Vector3 | null, to: Vector3 | null): void {
    this.hand.visible = !!from && !!to;
    if (from && to) {
      const a = this.hand.geometry.getAttribute("position") as BufferAttribute;
      a.setXYZ(0, from.x, from.y, from.z);
      a.setXYZ(1, to.x, to.y, to.z);
      a.needsUpdate = true;
    }
  }
}
