// Sharp edges of soft bodies: normals are averaged only over triangles that turn away by less than 40°.
import type { Triple } from "./protocol";

/** Corners doubled along creases: the old corner of each new one, and three new corners per triangle. */
export interface Creased {
  from: Uint32Array;
  index: Uint32Array;
}

/** Whether every edge has two sides; an open surface such as cloth is shown smooth. */
export function isClosed(triangles: Triple[]): boolean {
  const sides = new Map<string, number>();
  for (const [a, b, c] of triangles) {
    for (const [i, j] of [[a, b], [b, c], [c, a]]) {
      const key = i < j ? `${i},${j}` : `${j},${i}`;
      sides.set(key, (sides.get(key) ?? 0) + 1);
    }
  }
  for (const count of sides.values()) if (count !== 2) return false;
  return true;
}

/** Splits corners by the shape at one moment; `x` holds the places of the corners. */
export function crease(x: Float32Array, triangles: Triple[]): Creased {
  const cosine = Math.cos((40 / 180) * Math.PI);
  // The new corners at each old one, with the normal of the triangle that asked for each.
  const groups: { corner: number; normal: Triple }[][] = [];
  const from: number[] = [];
  const index = new Uint32Array(3 * triangles.length);
  triangles.forEach((t, k) => {
    const normal = unitNormal(x, t);
    t.forEach((i, side) => {
      const near = (groups[i] ??= []);
      let group = near.find(({ normal: n }) => n[0] * normal[0] + n[1] * normal[1] + n[2] * normal[2] > cosine);
      if (!group) {
        group = { corner: from.length, normal };
        near.push(group);
        from.push(i);
      }
      index[3 * k + side] = group.corner;
    });
  });
  return { from: new Uint32Array(from), index };
}

function unitNormal(x: Float32Array, [a, b, c]: Triple): Triple {
  const side = (i: number): Triple => [x[3 * i] - x[3 * a], x[3 * i + 1] - x[3 * a + 1], x[3 * i + 2] - x[3 * a + 2]];
  const [u, v] = [side(b), side(c)];
  const n: Triple = [u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]];
  const size = Math.hypot(...n) || 1;
  return [n[0] / size, n[1] / size, n[2] / size];
}
