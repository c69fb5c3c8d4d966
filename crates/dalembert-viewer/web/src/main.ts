// The page: joins the connection, the stage, the plots and the buttons.

import { Vector3 } from "three";
import { Plots } from "./plots";
import { Link, type Drawing, type Frame } from "./protocol";
import { Stage, type Hit } from "./stage";

const by = <T extends HTMLElement>(id: string) => document.getElementById(id) as T;
const low = new URLSearchParams(location.search).get("quality") === "low";
document.documentElement.classList.toggle("low", low);

const NAMES: Record<string, string> = {
  body: "bodies", spring: "springs", mapped: "mapped points", fixed: "fixed points", joint: "joints", contact: "contacts",
  force: "forces", velocity: "velocities", frame: "frames", collision: "collision shapes", label: "labels",
  inside: "inside of surfaces",
};

/** For tests and for curious people. */
const state = {
  ready: false, connected: false, frame: 0, drawn: 0, time: 0, step: 0, playing: false, recording: false, index: 0, count: 0,
  errors: [] as string[], key: [] as string[], groups: [] as string[], shown: [] as string[], dragging: false, dark: false,
  arrows: (list: number) => (stage.frame?.arrows[list]?.length ?? 0) / 6,
  violation: (shape: number) => stage.frame?.violation[shape] ?? null,
  names: () => stage.drawing?.shapes.map((s) => s.name) ?? [],
  place: (shape: number, element = 0) => stage.place(shape, element)?.toArray() ?? null,
  screen: (shape: number, element = 0) => {
    const p = stage.place(shape, element);
    return p ? stage.toScreen(p) : null;
  },
  pick: (x: number, y: number) => {
    const hit = stage.pick(x, y);
    return hit ? { shape: hit.shape, element: hit.element } : null;
  },
};
declare global {
  interface Window { __dalembert: typeof state }
}
window.__dalembert = state;
window.addEventListener("error", (e) => state.errors.push(String(e.message)));
window.addEventListener("unhandledrejection", (e) => state.errors.push(String(e.reason)));

const canvas = by<HTMLCanvasElement>("canvas");
const stage = new Stage(canvas, low);
const plots = new Plots(by("plots"));
/** What is switched on; the first scene says what it is at first. */
let shown = new Set<string>();
let asked = false;
let pending: Frame | null = null;
let dirty = true;
let version = -1;
let follow = false;
let followed: Vector3 | null = null;
let plotted = 0;
let scrubbing = false;

const link = new Link(
  (v, drawing, first) => {
    version = v;
    if (!asked) shown = new Set(first);
    asked = true;
    pending = null;
    stage.show(drawing);
    plots.show(drawing);
    buildTree(drawing);
    buildToggles(drawing);
    by("title").textContent = drawing.title || "dalembert";
    document.title = drawing.title ? `${drawing.title} · dalembert` : "dalembert";
    dirty = true;
  },
  (frame) => {
    if (frame.version === version) pending = frame;
    else link.send({ type: "ack", frame: frame.number });
  },
  (connected) => {
    state.connected = connected;
    by("link").classList.toggle("on", connected);
    by("notice").textContent = connected ? "" : "no connection; trying again …";
  },
  (text) => (by("notice").textContent = text),
);

function tellShown(): void {
  state.shown = [...shown];
  link.send({ type: "show", groups: state.shown });
}

function buildTree(drawing: Drawing): void {
  const tree = by("tree");
  tree.replaceChildren();
  // Thousands of rows would be slower than the scene itself.
  drawing.shapes.slice(0, 400).forEach((shape, i) => {
    if (shape.kind === "arrows" || shape.kind === "discs") return;
    const row = document.createElement("button");
    row.setAttribute("role", "treeitem");
    row.dataset.shape = String(i);
    const dot = document.createElement("i");
    dot.style.background = `rgb(${shape.colour})`;
    row.append(dot, shape.group === "body" ? shape.name : `${shape.name} · ${NAMES[shape.group] ?? shape.group}`);
    row.title = "click to choose, double click to hide or show";
    row.onclick = () => choose(i);
    row.ondblclick = () => {
      row.style.opacity = stage.toggleShape(i) ? "1" : "0.4";
      dirty = true;
    };
    tree.append(row);
  });
  if (drawing.shapes.length > 400) tree.append(`… and ${drawing.shapes.length - 400} more`);
}

function choose(shape: number): void {
  stage.selected = shape;
  followed = null;
  for (const row of by("tree").querySelectorAll("button")) {
    row.setAttribute("aria-selected", String(row.dataset.shape === String(shape)));
  }
  stage.recolour();
  showFacts();
  dirty = true;
}

let lastPlace: { shape: number; time: number; place: Vector3 } | null = null;
function showFacts(): void {
  const shape = stage.drawing?.shapes[stage.selected];
  if (!shape) {
    by("facts").textContent = "";
    return;
  }
  const p = stage.place(stage.selected, 0);
  const lines = shape.facts.map(([k, v]) => `${k}: ${v}`);
  const words = (v: Vector3) => v.toArray().map((x) => x.toFixed(3)).join(", ");
  if (p) {
    lines.push(`at ${words(p)} m`);
    // The velocity since the frame before.
    if (lastPlace?.shape === stage.selected && state.time > lastPlace.time) {
      const v = p.clone().sub(lastPlace.place).divideScalar(state.time - lastPlace.time);
      lines.push(`velocity ${words(v)} m/s`);
    }
    if (lastPlace?.shape !== stage.selected || state.time !== lastPlace.time) lastPlace = { shape: stage.selected, time: state.time, place: p };
  }
  by("facts").replaceChildren(...lines.map((line) => Object.assign(document.createElement("div"), { textContent: line })));
}

function checkbox(id: string, text: string, on: boolean, change: (on: boolean) => void): HTMLElement {
  const label = document.createElement("label");
  const box = document.createElement("input");
  box.type = "checkbox";
  box.id = id;
  box.checked = on;
  box.onchange = () => {
    change(box.checked);
    dirty = true;
  };
  label.append(box, ` ${text}`);
  return label;
}

let colourToggles = 0;
function buildToggles(drawing: Drawing): void {
  const groups = [...new Set(drawing.shapes.map((s) => s.group))];
  state.groups = groups;
  colourToggles = 0;
  by("toggles").replaceChildren(
    ...groups.map((group) =>
      checkbox(`toggle-${group}`, NAMES[group] ?? group, shown.has(group), (on) => {
        if (on) shown.add(group); else shown.delete(group);
        stage.setShown(shown);
        tellShown();
        if (stage.frame) showKey(stage.frame);
      }),
    ),
  );
  stage.setShown(shown);
  tellShown();
}

/** What the colours of arrows and discs mean, and how much the longest arrow is. */
function showKey(frame: Frame): void {
  const rows: [string, string][] = [];
  for (const shape of stage.drawing!.shapes) {
    if ((shape.kind !== "arrows" && shape.kind !== "discs") || !shown.has(shape.group)) continue;
    const a = frame.arrows[shape.list] ?? [];
    let text = shape.kind === "discs" ? `${shape.name}: ${a.length / 6}` : shape.name;
    if (shape.kind === "arrows" && shape.unit) {
      let longest = 0;
      for (let k = 0; k < a.length; k += 6) longest = Math.max(longest, Math.hypot(a[k + 3], a[k + 4], a[k + 5]));
      if (longest > 0) text += `, longest ${longest.toPrecision(4)} ${shape.unit}`;
    }
    rows.push([`rgb(${shape.colour})`, text]);
  }
  state.key = rows.map((r) => r[1]);
  by("key").replaceChildren(...rows.map(([colour, text]) => {
    const row = document.createElement("div");
    const dot = document.createElement("i");
    dot.style.background = colour;
    row.append(dot, text);
    return row;
  }));
}

/** Colourings are offered as soon as a frame has data for them. */
function offerColourings(frame: Frame): void {
  const offer = (bit: number, has: boolean, id: "violation" | "islands", text: string) => {
    if (!has || colourToggles & bit) return;
    colourToggles |= bit;
    by("toggles").append(checkbox(`toggle-${id}`, text, stage.colouring === id, (on) => {
      stage.colouring = on ? id : "plain";
      stage.recolour();
      // Gaps are worked out only while somebody looks at them.
      if (on) shown.add(id); else shown.delete(id);
      tellShown();
    }));
  };
  const jointed = stage.drawing!.shapes.some((s) => s.group === "joint");
  offer(1, jointed || frame.violation.length > 0, "violation", "gaps of joints as colour");
  offer(2, frame.islands.length > 0, "islands", "islands as colour");
}

// --- buttons ---

const play = by<HTMLButtonElement>("play");
const slider = by<HTMLInputElement>("slider");
const speed = by<HTMLSelectElement>("speed");
play.onclick = () => link.send({ type: state.playing ? "pause" : "play" });
by("step").onclick = () => link.send({ type: "step", count: 1 });
by("reset").onclick = () => link.send({ type: "reset" });
speed.onchange = () => link.send({ type: "speed", factor: Number(speed.value) });
slider.onpointerdown = () => (scrubbing = true);
slider.onpointerup = () => (scrubbing = false);
slider.oninput = () => {
  if (state.playing) link.send({ type: "pause" });
  link.send({ type: "seek", frame: Number(slider.value) });
};
by("frame-all").onclick = () => {
  stage.frameAll();
  dirty = true;
};
by("follow").onclick = () => {
  follow = !follow;
  followed = null;
  by("follow").setAttribute("aria-pressed", String(follow));
};
by("shot").onclick = () => {
  stage.draw();
  canvas.toBlob((blob) => {
    if (!blob) return;
    const a = document.createElement("a");
    a.href = URL.createObjectURL(blob);
    a.download = `${(stage.drawing?.title || "dalembert").replace(/[^\w-]+/g, "_")}_${state.time.toFixed(3)}s.png`;
    a.click();
    setTimeout(() => URL.revokeObjectURL(a.href), 1000);
  });
};
function setTheme(dark: boolean): void {
  state.dark = dark;
  document.documentElement.classList.toggle("dark", dark);
  by("theme").textContent = dark ? "Light" : "Dark";
  stage.setTheme(dark);
  plots.draw();
  dirty = true;
}
by("theme").onclick = () => setTheme(!state.dark);
by<HTMLInputElement>("arrow-scale").oninput = (e) => {
  stage.arrowScale = 10 ** Number((e.target as HTMLInputElement).value);
  if (stage.frame) stage.move(stage.frame);
  dirty = true;
};
window.addEventListener("keydown", (e) => {
  if (e.target instanceof HTMLInputElement || e.target instanceof HTMLSelectElement || e.ctrlKey || e.metaKey) return;
  if (e.key === " ") play.click();
  else if (e.key === "ArrowRight") by("step").click();
  else if (e.key === "r" || e.key === "R") by("reset").click();
  else if (e.key === "f" || e.key === "F") by("frame-all").click();
  else return;
  e.preventDefault();
});

// --- mouse: choose and drag ---

let held: (Hit & { anchor: Vector3; moved: boolean; target: Vector3 }) | null = null;
let lastSent = 0;
const local = (e: PointerEvent): [number, number] => {
  const box = canvas.getBoundingClientRect();
  return [e.clientX - box.left, e.clientY - box.top];
};
// Before the camera controls see it.
by("stage").addEventListener("pointerdown", (e) => {
  if (e.button !== 0) return;
  const hit = stage.pick(...local(e));
  if (!hit) return;
  choose(hit.shape);
  const shape = stage.drawing!.shapes[hit.shape];
  if (state.recording || !shape.movable) return;
  const anchor = shape.pose === undefined ? new Vector3() : stage.bodyPlace(hit.shape, hit.place, true);
  held = { ...hit, anchor, moved: false, target: hit.place.clone() };
  state.dragging = true;
  stage.controls.enabled = false;
  canvas.setPointerCapture(e.pointerId);
  e.stopPropagation();
}, true);
function sendDrag(): void {
  if (!held) return;
  link.send({ type: "drag", shape: held.shape, element: held.element, anchor: held.anchor.toArray(), target: held.target.toArray() });
}
by("stage").addEventListener("pointermove", (e) => {
  if (!held) return;
  const to = stage.onPlane(...local(e), held.place);
  if (!to) return;
  held.target = to;
  held.moved = true;
  const now = performance.now();
  if (now - lastSent > 12) {
    lastSent = now;
    sendDrag();
  }
  dirty = true;
}, true);
const letGo = () => {
  if (!held) return;
  if (held.moved) link.send({ type: "release" });
  held = null;
  state.dragging = false;
  stage.controls.enabled = true;
  stage.showHand(null, null);
  dirty = true;
};
window.addEventListener("pointerup", letGo, true);
window.addEventListener("pointercancel", letGo, true);

// --- drawing ---

stage.controls.addEventListener("change", () => (dirty = true));
const resize = () => {
  const [left, right] = [by("left"), by("right")].map((e) => (e.offsetWidth ? e.offsetWidth + 20 : 0));
  stage.setSize(innerWidth, innerHeight, left, right, by("bar").offsetHeight + 20);
  dirty = true;
};
window.addEventListener("resize", resize);
resize();

function take(frame: Frame): void {
  stage.move(frame);
  plots.push(frame.time, frame.scalars);
  offerColourings(frame);
  showKey(frame);
  Object.assign(state, {
    time: frame.time, step: frame.step, playing: frame.playing, recording: frame.recording, index: frame.index, count: frame.count,
  });
  play.textContent = frame.playing ? "Pause" : "Play";
  by("clock").textContent = `t = ${frame.time.toFixed(3)} s`;
  slider.hidden = !frame.recording;
  by<HTMLButtonElement>("step").title = frame.recording ? "one frame (→)" : "one step (→)";
  if (frame.recording) {
    slider.max = String(Math.max(frame.count - 1, 0));
    if (!scrubbing) slider.value = String(frame.index);
  }
  const option = [...speed.options].find((o) => Math.abs(Number(o.value) - frame.speed) < 1e-9);
  if (option && document.activeElement !== speed) option.selected = true;
  if (follow && stage.selected >= 0) {
    const now = stage.place(stage.selected, 0);
    if (now && followed) {
      const shift = now.clone().sub(followed);
      stage.camera.position.add(shift);
      stage.controls.target.add(shift);
      stage.controls.update();
    }
    followed = now;
  }
  if (held) {
    const at = stage.drawing!.shapes[held.shape].pose === undefined
      ? stage.place(held.shape, held.element)
      : stage.bodyPlace(held.shape, held.anchor, false);
    stage.showHand(at, held.target);
  }
  dirty = true;
}

function tick(): void {
  requestAnimationFrame(tick);
  const frame = pending;
  if (frame) {
    pending = null;
    take(frame);
  }
  if (dirty) {
    dirty = false;
    stage.draw();
  }
  const now = performance.now();
  if (now - plotted > (low ? 500 : 150)) {
    plotted = now;
    plots.draw();
    showFacts();
  }
  if (frame) {
    state.frame = frame.number;
    state.drawn++;
    state.ready = true;
    link.send({ type: "ack", frame: frame.number });
  }
}
setTheme(matchMedia("(prefers-color-scheme: dark)").matches);
tick();
