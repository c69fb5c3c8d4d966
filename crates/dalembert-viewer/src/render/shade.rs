//! Shade: colour of what a sample sees.
//!
//! With n the normal turned to the eye, l the direction to the light, h half-way between light and eye, s the share of
//! the light that arrives (shadow map) and o the openness of the place (ambient occlusion), a surface of colour c sends
//!
//! $$ c\,\big(o\,(\tfrac{1+n_z}{2}\,\text{sky} + \tfrac{1-n_z}{2}\,\text{ground}) + s\,\text{sun}\,(n\cdot l)_+\big)
//!    + s\,g\,(n\cdot h)_+^{48} + o\,e\,(1 - n\cdot v)^4 $$
//!
//! where v points to the eye. The ground is drawn where the ray meets its plane: a grid whose lines are as wide as the
//! pixel lets them be, darkened by shadow and occlusion, fading into the background away from the scene. Light is
//! added linearly and turned into screen values by $c^{1/2.2}$ at the very end.

use rayon::prelude::*;

use super::camera::{Camera, V3};
use super::raster::{BALL, NOTHING, Samples, ShadowMap};
use super::stage::{Stage, linear};
use super::{Image, Theme};

/// What stays the same over a film.
#[derive(Debug, Clone, Copy)]
pub(super) struct Lighting {
    pub(super) theme: Theme,
    /// Height of the ground \[m\]; none to draw no ground.
    pub(super) ground: Option<f32>,
    /// Middle of the scene on the ground.
    pub(super) focus: V3,
    /// Size of the scene \[m\].
    pub(super) extent: f32,
    /// Distance between grid lines \[m\].
    pub(super) grid: f32,
    /// Direction to the light.
    pub(super) light: V3,
}

/// A surface place.
#[derive(Clone, Copy)]
struct Hit {
    p: V3,
    n: V3,
    colour: V3,
    ground: bool,
}

/// Number used for samples that see the ground.
const GROUND: u32 = u32::MAX - 1;

pub(super) struct Shader<'a> {
    pub(super) stage: &'a Stage,
    pub(super) camera: &'a Camera,
    pub(super) samples: &'a Samples,
    pub(super) shadows: &'a ShadowMap,
    pub(super) lighting: Lighting,
    /// Samples per pixel along each side.
    pub(super) side: usize,
}

impl Shader<'_> {
    /// The picture, one pixel per `side` × `side` samples.
    pub(super) fn image(&self) -> Image {
        let (width, height) = (self.samples.width / self.side, self.samples.height / self.side);
        let open = self.openness(width, height);
        let mut pixels = vec![0u8; 3 * width * height];
        pixels.par_chunks_mut(3 * width).enumerate().for_each(|(y, row)| {
            for (x, out) in row.chunks_exact_mut(3).enumerate() {
                let light = self.pixel(x, y, open[y * width + x]);
                for k in 0..3 {
                    out[k] = (255.0 * light[k].clamp(0.0, 1.0).powf(1.0 / 2.2) + 0.5) as u8;
                }
            }
        });
        Image { width: width as u32, height: height as u32, pixels }
    }

    /// Ray through the middle of a sample.
    fn ray(&self, x: usize, y: usize) -> V3 {
        let (w, h) = (self.samples.width as f32, self.samples.height as f32);
        self.camera.ray(2.0 * (x as f32 + 0.5) / w - 1.0, 1.0 - 2.0 * (y as f32 + 0.5) / h)
    }

    /// Depth at which a ray meets the ground.
    fn ground_depth(&self, ray: V3) -> Option<f32> {
        let t = (self.lighting.ground? - self.camera.eye.z) / ray.z;
        (ray.z < 0.0 && t > 0.0 && t.is_finite()).then_some(t)
    }

    /// What a sample sees, and at which depth.
    fn look(&self, x: usize, y: usize) -> (u32, f32) {
        let at = y * self.samples.width + x;
        let (id, iz) = (self.samples.id[at], self.samples.inverse_depth[at]);
        match self.ground_depth(self.ray(x, y)) {
            Some(t) if iz * t < 1.0 => (GROUND, t),
            _ if id == NOTHING => (NOTHING, f32::INFINITY),
            _ => (id, 1.0 / iz),
        }
    }

    fn hit(&self, id: u32, ray: V3, depth: f32) -> Option<Hit> {
        let p = self.camera.eye + ray * depth;
        let (n, colour, ground) = match id {
            NOTHING => return None,
            GROUND => (V3::z(), V3::zeros(), true),
            id => {
                let (n, colour) = surface(self.stage, id, p);
                (n, colour, false)
            }
        };
        let n = if n.dot(&ray) > 0.0 && !ground { -n } else { n };
        Some(Hit { p, n, colour, ground })
    }

    /// Mean light over the samples of a pixel. Samples that see the same surface are shaded once, at their mean place.
    fn pixel(&self, x: usize, y: usize, open: f32) -> V3 {
        let (n, mut sum) = (self.side, V3::zeros());
        let mut seen: [(u32, f32, V3, f32); 16] = [(NOTHING, 0.0, V3::zeros(), 0.0); 16];
        let mut kinds = 0;
        for k in 0..n * n {
            let (sx, sy) = (n * x + k % n, n * y + k / n);
            let ray = self.ray(sx, sy);
            let (id, depth) = self.look(sx, sy);
            match seen[..kinds].iter_mut().find(|s| s.0 == id) {
                Some(s) => *s = (id, s.1 + 1.0, s.2 + ray, s.3 + depth),
                None => {
                    seen[kinds] = (id, 1.0, ray, depth);
                    kinds += 1;
                }
            }
        }
        for (id, count, ray, depth) in &seen[..kinds] {
            let (ray, depth) = (ray / *count, depth / count);
            sum += self.light(*id, ray, depth, open) * *count;
        }
        sum / (n * n) as f32
    }

    fn background(&self, ray: V3) -> V3 {
        let up = (0.5 + 1.1 * ray.normalize().z).clamp(0.0, 1.0);
        let (low, high) = match self.lighting.theme {
            Theme::Light => (linear([246, 247, 249]), linear([206, 218, 233])),
            Theme::Dark => (linear([36, 39, 45]), linear([17, 19, 24])),
        };
        low + (high - low) * up
    }

    fn light(&self, id: u32, ray: V3, depth: f32, open: f32) -> V3 {
        let Some(hit) = self.hit(id, ray, depth) else { return self.background(ray) };
        let Lighting { theme, extent, light, .. } = self.lighting;
        let nl = hit.n.dot(&light).max(0.0);
        let shine = if nl > 0.0 { self.shadows.light_at(hit.p, hit.n, 0.006 * extent) } else { 0.0 };
        if hit.ground {
            return self.ground(&hit, ray, depth, shine, open);
        }
        let (sky, floor, sun) = match theme {
            Theme::Light => (V3::new(0.50, 0.55, 0.62), V3::new(0.34, 0.33, 0.31), V3::new(0.84, 0.80, 0.72)),
            Theme::Dark => (V3::new(0.36, 0.40, 0.47), V3::new(0.16, 0.16, 0.17), V3::new(0.90, 0.86, 0.78)),
        };
        let v = -ray.normalize();
        let up = 0.5 + 0.5 * hit.n.z;
        let ambient = (sky * up + floor * (1.0 - up)) * open;
        let nh = hit.n.dot(&(v + light).normalize()).max(0.0);
        let edge = (1.0 - hit.n.dot(&v).clamp(0.0, 1.0)).powi(4);
        let diffuse = hit.colour.component_mul(&(ambient + sun * (shine * nl)));
        let gloss = 0.22 * shine * nh.powi(48) * if nl > 0.0 { 1.0 } else { 0.0 };
        diffuse + sun * gloss + sky * (0.14 * edge * open)
    }

    fn ground(&self, hit: &Hit, ray: V3, depth: f32, shine: f32, open: f32) -> V3 {
        let Lighting { theme, extent, focus, grid, .. } = self.lighting;
        let back = self.background(ray);
        let far = (hit.p - focus).xy().norm() / (2.2 * extent);
        let fade = 1.0 - smooth(0.25, 1.0, far);
        if fade <= 0.0 {
            return back;
        }
        let (base, line, dark) = match theme {
            Theme::Light => (linear([236, 238, 241]), linear([196, 202, 211]), 0.46),
            Theme::Dark => (linear([44, 47, 54]), linear([72, 77, 87]), 0.6),
        };
        // Width of a pixel on the ground, across and along the look.
        let wide = 2.0 * depth * self.camera.tan_y * self.side as f32 / self.samples.height as f32;
        let long = wide / (-ray.normalize().z).max(0.02);
        let ruled = |spacing: f32, width: f32| {
            let mut cover: f32 = 0.0;
            for k in 0..2 {
                let ahead = self.camera.forward[k].abs();
                let pixel = wide + (long - wide) * ahead * ahead;
                let at = hit.p[k] / spacing;
                let off = (at - at.round()).abs() * spacing;
                let w = width.max(pixel);
                let drawn = smooth(0.5 * w + 0.5 * pixel, 0.5 * w - 0.5 * pixel, off);
                cover = cover
                    .max(drawn * (width / w).clamp(0.25, 1.0) * (1.0 - smooth(0.15, 0.5, pixel / spacing)));
            }
            cover
        };
        let lines = (0.55 * ruled(grid, 0.012 * grid)).max(ruled(5.0 * grid, 0.022 * grid));
        let colour = base + (line - base) * lines;
        let lit = (1.0 - dark * (1.0 - shine)) * (0.35 + 0.65 * open);
        back + (colour * lit - back) * fade
    }

    /// Openness of the first surface in each pixel, 0 … 1: share of a hemisphere of radius 7 % of the scene that no
    /// surface in the picture blocks. Sixteen directions, turned by a pattern of 4 × 4 pixels and averaged over it.
    fn openness(&self, width: usize, height: usize) -> Vec<f32> {
        const TAPS: usize = 16;
        let reach = 0.07 * self.lighting.extent;
        let middle = self.side / 2;
        let circle: [(f32, f32); 16 * TAPS] = std::array::from_fn(|i| {
            let (turn, k) = ((i / TAPS) as f32 / 16.0, (i % TAPS) as f32);
            (std::f32::consts::TAU * (turn + 0.618_034 * k)).sin_cos()
        });
        let mut first = vec![(1.0f32, f32::INFINITY); width * height];
        first.par_chunks_mut(width).enumerate().for_each(|(y, row)| {
            for (x, out) in row.iter_mut().enumerate() {
                let (sx, sy) = (self.side * x + middle, self.side * y + middle);
                let ray = self.ray(sx, sy);
                let (id, depth) = self.look(sx, sy);
                let Some(hit) = self.hit(id, ray, depth) else { continue };
                // Nothing stands on the ground far away.
                if hit.ground
                    && (hit.p - self.lighting.focus).xy().norm() > 0.6 * self.lighting.extent + reach
                {
                    (out.0, out.1) = (1.0, depth);
                    continue;
                }
                let helper = if hit.n.z.abs() < 0.9 { V3::z() } else { V3::x() };
                let u = hit.n.cross(&helper).normalize();
                let v = hit.n.cross(&u);
                let turn = (4 * (y % 4) + x % 4) * 7 % 16;
                let mut blocked = 0.0;
                for k in 0..TAPS {
                    let t = (k as f32 + 0.5) / TAPS as f32;
                    let (s, c) = circle[TAPS * turn + k];
                    let rise = 0.15 + 0.85 * (1.0 - t);
                    let flat = (1.0 - rise * rise).max(0.0).sqrt();
                    let length = reach * (0.12 + 0.88 * ((k * 5 % TAPS) as f32 / TAPS as f32));
                    let q = hit.p + (u * (c * flat) + v * (s * flat) + hit.n * rise) * length;
                    let l = self.camera.local(q);
                    if l.z <= 0.0 {
                        continue;
                    }
                    let px = 0.5 * (1.0 + l.x / (l.z * self.camera.tan_x)) * self.samples.width as f32;
                    let py = 0.5 * (1.0 - l.y / (l.z * self.camera.tan_y)) * self.samples.height as f32;
                    let inside = px >= 0.0 && py >= 0.0;
                    let (px, py) = (px as usize, py as usize);
                    if !inside || px >= self.samples.width || py >= self.samples.height {
                        continue;
                    }
                    let iz = self.samples.inverse_depth[py * self.samples.width + px];
                    if iz > 0.0 {
                        let before = l.z - 1.0 / iz;
                        if before > 0.02 * reach {
                            blocked += 1.0 - smooth(reach, 2.5 * reach, before);
                        }
                    }
                }
                *out = (1.0 - blocked / TAPS as f32, depth);
            }
        });
        let mut open = vec![1.0; width * height];
        open.par_chunks_mut(width).enumerate().for_each(|(y, row)| {
            for (x, out) in row.iter_mut().enumerate() {
                let here = first[y * width + x].1;
                let (mut sum, mut weight) = (0.0, 0.0);
                for j in y.saturating_sub(2)..(y + 2).min(height) {
                    for i in x.saturating_sub(2)..(x + 2).min(width) {
                        let (value, depth) = first[j * width + i];
                        if (depth - here).abs() < reach || (i, j) == (x, y) {
                            (sum, weight) = (sum + value, weight + 1.0);
                        }
                    }
                }
                *out = (sum / weight).powf(1.4);
            }
        });
        open
    }
}

/// Normal and colour of a triangle or ball at a place on it.
fn surface(stage: &Stage, id: u32, p: V3) -> (V3, V3) {
    if id & BALL != 0 {
        let ball = &stage.balls[(id & !BALL) as usize];
        return ((p - ball.centre).normalize(), ball.colour);
    }
    let t = &stage.triangles[id as usize];
    let [a, b, c] = t.p;
    let flat = (b - a).cross(&(c - a));
    let area = flat.norm_squared().max(f32::MIN_POSITIVE);
    let wa = (c - b).cross(&(p - b)).dot(&flat) / area;
    let wb = (a - c).cross(&(p - c)).dot(&flat) / area;
    let n = t.n[0] * wa + t.n[1] * wb + t.n[2] * (1.0 - wa - wb);
    (n.try_normalize(1e-12).unwrap_or_else(V3::z), t.colour)
}

/// Lays what stands on `stage` over a picture, whatever is in front of it: lit from the eye, without shadows.
pub(super) fn lay_over(image: &mut Image, stage: &Stage, camera: &Camera, side: usize) {
    if stage.triangles.is_empty() && stage.balls.is_empty() {
        return;
    }
    let (width, height) = (image.width as usize, image.height as usize);
    let samples = Samples::new(stage, camera, width * side, height * side);
    let (w, h) = (samples.width as f32, samples.height as f32);
    image.pixels.par_chunks_mut(3 * width).enumerate().for_each(|(y, row)| {
        for (x, out) in row.chunks_exact_mut(3).enumerate() {
            let (mut sum, mut covered) = (V3::zeros(), 0.0);
            for k in 0..side * side {
                let (sx, sy) = (side * x + k % side, side * y + k / side);
                let at = sy * samples.width + sx;
                if samples.id[at] == NOTHING {
                    continue;
                }
                let ray = camera.ray(2.0 * (sx as f32 + 0.5) / w - 1.0, 1.0 - 2.0 * (sy as f32 + 0.5) / h);
                let (n, colour) =
                    surface(stage, samples.id[at], camera.eye + ray / samples.inverse_depth[at]);
                sum += colour * (0.6 + 0.4 * n.dot(&ray.normalize()).abs());
                covered += 1.0;
            }
            if covered > 0.0 {
                let share = covered / (side * side) as f32;
                for (out, c) in out.iter_mut().zip((sum / covered).iter()) {
                    let over = 255.0 * c.clamp(0.0, 1.0).powf(1.0 / 2.2);
                    *out = (f32::from(*out) * (1.0 - share) + over * share + 0.5) as u8;
                }
            }
        }
    });
}

/// 0 below a, 1 above b, smooth between; also for a > b.
fn smooth(a: f32, b: f32, x: f32) -> f32 {
    let t = ((x - a) / (b - a)).clamp(0.0, 1.0);
    t * t * (3.0 - 2.0 * t)
}
