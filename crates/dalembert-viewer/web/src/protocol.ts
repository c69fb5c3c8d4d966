// What the server sends and what it understands; see server/protocol.rs for the layout.

export type Triple = [number, number, number];

export interface Shape {
  name: string;
  group: string;
  colour: Triple;
  facts: [string, string][];
  movable: boolean;
  kind: "points" | "marks" | "lines" | "mesh" | "sphere" | "box" | "capsule" | "cylinder" | "plane" | "solid" | "axes" | "arrows" | "discs" | "label";
  first: number;
  count: number;
  radius: number;
  length: number;
  scale: number;
  thickness: number;
  unit: string;
  pose: number;
  list: number;
  vertex: number;
  text: string;
  size: Triple;
  pairs: [number, number][];
  triangles: Triple[];
  /** Numbers for marks, places for solids. */
  vertices: (number | Triple)[];
}

export interface Drawing {
  title: string;
  shapes: Shape[];
  vertices: number;
  poses: number;
  arrow_lists: number;
  scalars: { name: string; unit: string; plot: string }[];
  extent: number;
}

export interface Frame {
  version: number;
  number: number;
  playing: boolean;
  recording: boolean;
  atEnd: boolean;
  time: number;
  speed: number;
  index: number;
  count: number;
  step: number;
  vertices: Float32Array;
  poses: Float32Array;
  arrows: Float32Array[];
  scalars: Float32Array;
  violation: Float32Array;
  islands: Uint32Array;
}

const HEAD = 68;

export function decode(buffer: ArrayBuffer): Frame | null {
  const view = new DataView(buffer);
  if (buffer.byteLength < HEAD || view.getUint32(0, true) !== 0x31464144) return null;
  const u = (at: number) => view.getUint32(at, true);
  const flags = u(12);
  const [nVertices, nPoses, nLists, nScalars, nViolation, nIslands] = [44, 48, 52, 56, 60, 64].map(u);
  let at = HEAD;
  const counts: number[] = [];
  for (let i = 0; i < nLists; i++, at += 4) counts.push(u(at));
  const floats = (n: number) => {
    const part = new Float32Array(buffer, at, n);
    at += 4 * n;
    return part;
  };
  const vertices = floats(3 * nVertices);
  const poses = floats(7 * nPoses);
  const arrows = counts.map((n) => floats(6 * n));
  const scalars = floats(nScalars);
  const violation = floats(nViolation);
  const islands = new Uint32Array(buffer, at, nIslands);
  return {
    version: u(4), number: u(8), playing: !!(flags & 1), recording: !!(flags & 2), atEnd: !!(flags & 4),
    time: view.getFloat64(16, true), speed: view.getFloat64(24, true),
    index: u(32), count: u(36), step: u(40),
    vertices, poses, arrows, scalars, violation, islands,
  };
}

/** A connection that comes back by itself. */
export class Link {
  private socket: WebSocket | null = null;
  private wait = 300;

  constructor(
    private readonly onScene: (version: number, drawing: Drawing, shown: string[]) => void,
    private readonly onFrame: (frame: Frame) => void,
    private readonly onState: (connected: boolean) => void,
    private readonly onNotice: (text: string) => void,
  ) {
    this.open();
    setInterval(() => this.send({ type: "alive" }), 15000);
  }

  send(message: object): void {
    if (this.socket?.readyState === WebSocket.OPEN) this.socket.send(JSON.stringify(message));
  }

  private open(): void {
    const token = new URLSearchParams(location.search).get("token");
    const query = token ? `?token=${encodeURIComponent(token)}` : "";
    const socket = new WebSocket(`ws://${location.host}/ws${query}`);
    socket.binaryType = "arraybuffer";
    socket.onopen = () => {
      this.wait = 300;
      this.onState(true);
    };
    socket.onmessage = (event) => {
      if (typeof event.data === "string") {
        const message = JSON.parse(event.data);
        if (message.type === "scene") this.onScene(message.version, message.drawing, message.shown);
        else if (message.type === "notice") this.onNotice(message.text);
      } else {
        const frame = decode(event.data);
        if (frame) this.onFrame(frame);
      }
    };
    socket.onclose = () => {
      this.onState(false);
      setTimeout(() => this.open(), this.wait);
      this.wait = Math.min(2 * this.wait, 5000);
    };
    this.socket = socket;
  }
}
