// Live plots on plain canvases: one per group of scalars.

import type { Drawing } from "./protocol";

const COLOURS = ["#3b7dc4", "#e0812c", "#37a06a", "#cc4f5a", "#8a6cc0", "#2aa3ae", "#c99a26", "#946b50"];
const KEEP = 600;

interface Panel {
  canvas: HTMLCanvasElement;
  title: string;
  unit: string;
  /** Places in the list of scalars. */
  which: number[];
  names: string[];
}

function short(x: number): string {
  const a = Math.abs(x);
  if (a === 0) return "0";
  return a >= 1e5 || a < 1e-3 ? x.toExponential(1) : String(+x.toPrecision(4));
}

export class Plots {
  private panels: Panel[] = [];
  private times: number[] = [];
  private rows: Float32Array[] = [];

  constructor(private readonly parent: HTMLElement) {}

  show(drawing: Drawing): void {
    this.parent.replaceChildren();
    this.panels = [];
    this.times = [];
    this.rows = [];
    drawing.scalars.forEach((scalar, i) => {
      let panel = this.panels.find((p) => p.title === scalar.plot);
      if (!panel) {
        const canvas = document.createElement("canvas");
        canvas.setAttribute("role", "img");
        canvas.setAttribute("aria-label", `plot of ${scalar.plot}`);
        this.parent.append(canvas);
        panel = { canvas, title: scalar.plot, unit: scalar.unit, which: [], names: [] };
        this.panels.push(panel);
      }
      panel.which.push(i);
      panel.names.push(scalar.name);
    });
  }

  push(time: number, scalars: Float32Array): void {
    // Time that runs backwards (a reset, a slider) takes the future away.
    while (this.times.length && this.times[this.times.length - 1] >= time) {
      this.times.pop();
      this.rows.pop();
    }
    this.times.push(time);
    this.rows.push(scalars.slice());
    if (this.times.length > KEEP) {
      this.times.shift();
      this.rows.shift();
    }
  }

  draw(): void {
    const style = getComputedStyle(document.documentElement);
    const ink = style.getPropertyValue("--ink"), faint = style.getPropertyValue("--faint"), line = style.getPropertyValue("--line");
    const ratio = Math.min(devicePixelRatio, 2);
    for (const panel of this.panels) {
      const { canvas } = panel;
      const w = canvas.clientWidth, h = canvas.clientHeight;
      if (!w || !h) continue;
      if (canvas.width !== Math.round(w * ratio)) {
        canvas.width = Math.round(w * ratio);
        canvas.height = Math.round(h * ratio);
      }
      const c = canvas.getContext("2d");
      if (!c) continue;
      c.setTransform(ratio, 0, 0, ratio, 0, 0);
      c.clearRect(0, 0, w, h);
      let low = Infinity, high = -Infinity;
      for (const row of this.rows) for (const i of panel.which) {
        const y = row[i];
        if (Number.isFinite(y)) { low = Math.min(low, y); high = Math.max(high, y); }
      }
      c.font = "10px system-ui, sans-serif";
      c.fillStyle = ink;
      c.fillText(panel.unit ? `${panel.title} [${panel.unit}]` : panel.title, 0, 10);
      if (!(low <= high)) continue;
      if (high - low < 1e-9 * Math.max(Math.abs(high), 1e-30)) {
        const room = Math.max(Math.abs(high) * 0.1, 1e-12);
        low -= room;
        high += room;
      }
      const top = 16, bottom = h - 14;
      const t0 = this.times[0], t1 = Math.max(this.times[this.times.length - 1], t0 + 1e-9);
      const X = (t: number) => ((t - t0) / (t1 - t0)) * (w - 2) + 1;
      const Y = (y: number) => bottom - ((y - low) / (high - low)) * (bottom - top);
      c.strokeStyle = line;
      c.lineWidth = 1;
      c.beginPath();
      for (const y of [top, bottom]) { c.moveTo(0, y + 0.5); c.lineTo(w, y + 0.5); }
      if (low < 0 && high > 0) { c.moveTo(0, Y(0)); c.lineTo(w, Y(0)); }
      c.stroke();
      c.fillStyle = faint;
      c.textAlign = "right";
      c.fillText(short(high), w, top + 9);
      c.fillText(short(low), w, bottom - 2);
      c.textAlign = "left";
      c.lineWidth = 1.3;
      panel.which.forEach((i, k) => {
        c.strokeStyle = COLOURS[k % COLOURS.length];
        c.beginPath();
        let pen = false;
        this.rows.forEach((row, r) => {
          const y = row[i];
          if (!Number.isFinite(y)) { pen = false; return; }
          if (pen) c.lineTo(X(this.times[r]), Y(y)); else c.moveTo(X(this.times[r]), Y(y));
          pen = true;
        });
        c.stroke();
      });
      // Legend below, as many names as fit.
      let x = 0;
      panel.names.forEach((name, k) => {
        const wide = c.measureText(name).width;
        if (x + wide + 12 > w) return;
        c.fillStyle = COLOURS[k % COLOURS.length];
        c.fillRect(x, h - 7, 7, 3);
        c.fillStyle = faint;
        c.fillText(name, x + 10, h - 2);
        x += wide + 20;
      });
    }
  }
}
