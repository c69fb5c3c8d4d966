//! Raster: which triangle or ball each sample of the picture sees.
//!
//! For a triangle with corners at screen places $s_i$ and depths $z_i$ the inverse depth $1/z$ is a linear function of
//! the screen place; the nearest surface has the largest one. For a ball with centre c (seen from the eye) and radius
//! r the ray $t\,d$ with depth t meets it at $t = (d\cdot c - \sqrt{(d\cdot c)^2 - d^2(c^2 - r^2)})/d^2$, so balls are
//! round at any size.
//!
//! The picture is cut into bands of rows. Each band looks at all surfaces in their order, so the bits do not depend on
//! the number of threads.

use rayon::prelude::*;

use super::camera::{Camera, V3};
use super::stage::{Ball, Stage, Triangle};

/// A sample that sees nothing.
pub(super) const NOTHING: u32 = u32::MAX;
/// Marks the number of a ball.
pub(super) const BALL: u32 = 1 << 31;

/// Nearest surface per sample.
pub(super) struct Samples {
    pub(super) width: usize,
    pub(super) height: usize,
    /// Inverse depth [1/m]; 0 where nothing is.
    pub(super) inverse_depth: Vec<f32>,
    /// Number of the triangle, or of the ball with [`BALL`] added.
    pub(super) id: Vec<u32>,
}

/// Rows per band.
const BAND: usize = 16;
/// Nearest depth shown \[m\], as a part of the farthest distance in the scene.
const NEAR: f32 = 1e-4;

/// A triangle on the screen.
struct Flat {
    s: [[f32; 2]; 3],
    iz: [f32; 3],
    id: u32,
}

impl Samples {
    /// Draws the stage with `width` × `height` samples.
    pub(super) fn new(stage: &Stage, camera: &Camera, width: usize, height: usize) -> Self {
        let half = [width as f32 * 0.5, height as f32 * 0.5];
        let screen = |l: V3| {
            [half[0] * (1.0 + l.x / (l.z * camera.tan_x)), half[1] * (1.0 - l.y / (l.z * camera.tan_y))]
        };
        let far = stage.triangles.iter().map(|t| camera.local(t.p[0]).z).fold(0.0, f32::max);
        let near = NEAR * far.max(1.0);
        let mut flats = Vec::with_capacity(stage.triangles.len());
        for (k, t) in stage.triangles.iter().enumerate() {
            let corners = clip(t.p.map(|p| camera.local(p)), near);
            for i in 2..corners.len() {
                let c = [corners[0], corners[i - 1], corners[i]];
                flats.push(Flat { s: c.map(screen), iz: c.map(|l| 1.0 / l.z), id: k as u32 });
            }
        }
        let balls: Vec<(V3, f32)> = stage.balls.iter().map(|b| (camera.local(b.centre), b.radius)).collect();

        let mut samples = Samples {
            width,
            height,
            inverse_depth: vec![0.0; width * height],
            id: vec![NOTHING; width * height],
        };
        let depth = samples.inverse_depth.par_chunks_mut(BAND * width);
        depth.zip(samples.id.par_chunks_mut(BAND * width)).enumerate().for_each(|(band, (iz, id))| {
            let top = band * BAND;
            for flat in &flats {
                flat.fill(top, width, iz, id);
            }
            for (k, (c, r)) in balls.iter().enumerate() {
                fill_ball(*c, *r, k as u32 | BALL, near, camera, half, top, width, iz, id);
            }
        });
        samples
    }
}

/// The part of a triangle beyond the near plane: up to four corners.
fn clip(c: [V3; 3], near: f32) -> Vec<V3> {
    if c.iter().all(|c| c.z >= near) {
        return c.to_vec();
    }
    let mut out = Vec::new();
    for i in 0..3 {
        let (a, b) = (c[i], c[(i + 1) % 3]);
        if a.z >= near {
            out.push(a);
        }
        if (a.z >= near) != (b.z >= near) {
            out.push(a + (b - a) * ((near - a.z) / (b.z - a.z)));
        }
    }
    out
}

/// Rows `a` … `b` (as reals) inside the band that begins at `top`, counted from there.
fn rows(a: f32, b: f32, top: usize, count: usize) -> std::ops::Range<usize> {
    let low = (a - 0.5).ceil().max(top as f32) as usize;
    let high = ((b - 0.5).floor() + 1.0).clamp(0.0, (top + count) as f32) as usize;
    if low >= high { 0..0 } else { low - top..high - top }
}

impl Flat {
    fn fill(&self, top: usize, width: usize, iz: &mut [f32], id: &mut [u32]) {
        let [a, b, c] = self.s;
        let ys = rows(a[1].min(b[1]).min(c[1]), a[1].max(b[1]).max(c[1]), top, iz.len() / width);
        if ys.is_empty() {
            return;
        }
        let area = (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]);
        if area == 0.0 || !area.is_finite() {
            return;
        }
        let per_area = 1.0 / area;
        let xs = rows(a[0].min(b[0]).min(c[0]), a[0].max(b[0]).max(c[0]), 0, width);
        for y in ys {
            let py = (top + y) as f32 + 0.5;
            for x in xs.clone() {
                let px = x as f32 + 0.5;
                let wa = ((b[0] - px) * (c[1] - py) - (b[1] - py) * (c[0] - px)) * per_area;
                let wb = ((c[0] - px) * (a[1] - py) - (c[1] - py) * (a[0] - px)) * per_area;
                let wc = 1.0 - wa - wb;
                if wa < 0.0 || wb < 0.0 || wc < 0.0 {
                    continue;
                }
                let depth = wa * self.iz[0] + wb * self.iz[1] + wc * self.iz[2];
                let at = y * width + x;
                if depth > iz[at] {
                    (iz[at], id[at]) = (depth, self.id);
                }
            }
        }
    }
}

fn fill_ball(
    c: V3,
    r: f32,
    ball: u32,
    near: f32,
    camera: &Camera,
    half: [f32; 2],
    top: usize,
    width: usize,
    iz: &mut [f32],
    id: &mut [u32],
) {
    if c.z - r < near {
        return;
    }
    // The silhouette lies within r √(1 + sx² + sy²) / (z − r) of the centre's image.
    let (sx, sy) = (c.x / c.z, c.y / c.z);
    let reach = r * (1.0 + sx * sx + sy * sy).sqrt() / (c.z - r);
    let (x0, y0) = (half[0] * (1.0 + sx / camera.tan_x), half[1] * (1.0 - sy / camera.tan_y));
    let (rx, ry) = (half[0] * reach / camera.tan_x + 1.0, half[1] * reach / camera.tan_y + 1.0);
    let ys = rows(y0 - ry, y0 + ry, top, iz.len() / width);
    let xs = rows(x0 - rx, x0 + rx, 0, width);
    let outside = c.norm_squared() - r * r;
    for y in ys {
        let dy = (1.0 - ((top + y) as f32 + 0.5) / half[1]) * camera.tan_y;
        for x in xs.clone() {
            let dx = ((x as f32 + 0.5) / half[0] - 1.0) * camera.tan_x;
            let d = V3::new(dx, dy, 1.0);
            let (dd, dc) = (d.norm_squared(), d.dot(&c));
            let under = dc * dc - dd * outside;
            if under < 0.0 {
                continue;
            }
            let depth = dd / (dc - under.sqrt());
            let at = y * width + x;
            if depth > iz[at] {
                (iz[at], id[at]) = (depth, ball);
            }
        }
    }
}

/// Heights above a plane across the light: a place is in the shade if something stands higher there.
pub(super) struct ShadowMap {
    size: usize,
    /// Axes across and along the light.
    u: V3,
    v: V3,
    light: V3,
    low: [f32; 2],
    texel: f32,
    height: Vec<f32>,
    /// Places on the unit disc, spread evenly (a sunflower).
    taps: [[f32; 2]; TAPS],
}

/// Comparisons per place.
const TAPS: usize = 20;

impl ShadowMap {
    /// Looks at the stage from the direction of the light; `bounds` is the box to cover.
    pub(super) fn new(stage: &Stage, light: V3, bounds: (V3, V3), size: usize) -> Self {
        let u = light.cross(&V3::new(0.31, 0.95, 0.02)).normalize();
        let v = light.cross(&u);
        let (low, high) = bounds;
        let mut range = [[f32::INFINITY, f32::NEG_INFINITY]; 2];
        for k in 0..8 {
            let p = V3::from_fn(|i, _| if k >> i & 1 == 0 { low[i] } else { high[i] });
            for (range, axis) in range.iter_mut().zip([u, v]) {
                *range = [range[0].min(axis.dot(&p)), range[1].max(axis.dot(&p))];
            }
        }
        let width = (range[0][1] - range[0][0]).max(range[1][1] - range[1][0]).max(1e-6);
        let texel = 1.04 * width / size as f32;
        let low = range.map(|r| 0.5 * (r[0] + r[1]) - 0.5 * texel * size as f32);
        let taps = std::array::from_fn(|k| {
            let (s, c) = (2.399_963_2 * k as f32).sin_cos();
            [c, s].map(|x| x * ((k as f32 + 0.5) / TAPS as f32).sqrt())
        });
        let mut map = ShadowMap { size, u, v, light, low, texel, height: Vec::new(), taps };

        let mut height = vec![f32::NEG_INFINITY; size * size];
        let flat: Vec<[V3; 3]> =
            stage.triangles.iter().map(|t: &Triangle| t.p.map(|p| map.place(p))).collect();
        let balls: Vec<(V3, f32)> =
            stage.balls.iter().map(|b: &Ball| (map.place(b.centre), b.radius)).collect();
        height.par_chunks_mut(BAND * size).enumerate().for_each(|(band, out)| {
            let top = band * BAND;
            let count = out.len() / size;
            for [a, b, c] in &flat {
                let ys = rows(a.y.min(b.y).min(c.y), a.y.max(b.y).max(c.y), top, count);
                let area = (b.x - a.x) * (c.y - a.y) - (b.y - a.y) * (c.x - a.x);
                if ys.is_empty() || area == 0.0 || !area.is_finite() {
                    continue;
                }
                let per_area = 1.0 / area;
                for y in ys {
                    let py = (top + y) as f32 + 0.5;
                    for x in rows(a.x.min(b.x).min(c.x), a.x.max(b.x).max(c.x), 0, size) {
                        let px = x as f32 + 0.5;
                        let wa = ((b.x - px) * (c.y - py) - (b.y - py) * (c.x - px)) * per_area;
                        let wb = ((c.x - px) * (a.y - py) - (c.y - py) * (a.x - px)) * per_area;
                        let wc = 1.0 - wa - wb;
                        if wa >= 0.0 && wb >= 0.0 && wc >= 0.0 {
                            let h = &mut out[y * size + x];
                            *h = h.max(wa * a.z + wb * b.z + wc * c.z);
                        }
                    }
                }
            }
            for (c, radius) in &balls {
                let r = radius / texel;
                for y in rows(c.y - r, c.y + r, top, count) {
                    for x in rows(c.x - r, c.x + r, 0, size) {
                        let (dx, dy) = (x as f32 + 0.5 - c.x, (top + y) as f32 + 0.5 - c.y);
                        let under = r * r - dx * dx - dy * dy;
                        if under >= 0.0 {
                            let h = &mut out[y * size + x];
                            *h = h.max(c.z + texel * under.sqrt());
                        }
                    }
                }
            }
        });
        map.height = height;
        map
    }

    /// Texel coordinates and height of a place.
    fn place(&self, p: V3) -> V3 {
        V3::new(
            (self.u.dot(&p) - self.low[0]) / self.texel,
            (self.v.dot(&p) - self.low[1]) / self.texel,
            self.light.dot(&p),
        )
    }

    /// Share of the light that reaches a place, 0 … 1: mean of bilinear comparisons over a disc of `blur` metres.
    pub(super) fn light_at(&self, p: V3, n: V3, blur: f32) -> f32 {
        let slope = n.dot(&self.light).max(0.05);
        let c = self.place(p + n * (1.5 * self.texel));
        let reach = (blur / self.texel).max(1.0);
        // Across the disc a tilted surface changes its own height; the bias covers that.
        let bias = (self.texel + blur * 0.6) * ((1.0 - slope * slope).sqrt() / slope).min(4.0) + self.texel;
        let outside = |x: f32| x < -reach || x > self.size as f32 + reach;
        if outside(c.x) || outside(c.y) {
            return 1.0;
        }
        let mut sum = 0.0;
        for [x, y] in self.taps {
            sum += self.compare(c.x + reach * x, c.y + reach * y, c.z + bias);
        }
        sum / TAPS as f32
    }

    fn compare(&self, x: f32, y: f32, height: f32) -> f32 {
        let (x, y) = (x - 0.5, y - 0.5);
        let (i, j) = (x.floor(), y.floor());
        let (fx, fy) = (x - i, y - j);
        let lit = |i: f32, j: f32| {
            let inside = i >= 0.0 && j >= 0.0 && i < self.size as f32 && j < self.size as f32;
            if inside && self.height[j as usize * self.size + i as usize] > height { 0.0 } else { 1.0 }
        };
        let mix = |a: f32, b: f32, t: f32| a + (b - a) * t;
        mix(mix(lit(i, j), lit(i + 1.0, j), fx), mix(lit(i, j + 1.0), lit(i + 1.0, j + 1.0), fx), fy)
    }
}
