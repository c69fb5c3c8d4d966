//! Stage: shapes of a drawing turned into triangles and balls in world axes.

use std::f32::consts::TAU;

use nalgebra::{Quaternion, UnitQuaternion};

use super::camera::{Camera, V3};
use crate::drawing::{Colour, Drawing, Frame, Geometry, Group, Groups};

/// A triangle with a normal at each corner.
#[derive(Debug, Clone, Copy)]
pub(super) struct Triangle {
    pub(super) p: [V3; 3],
    pub(super) n: [V3; 3],
    /// Linear light.
    pub(super) colour: V3,
}

/// A ball.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ball {
    pub(super) centre: V3,
    pub(super) radius: f32,
    pub(super) colour: V3,
}

/// Everything to draw in one picture.
#[derive(Debug, Default)]
pub(super) struct Stage {
    pub(super) triangles: Vec<Triangle>,
    pub(super) balls: Vec<Ball>,
    /// Radius that is about `1.3` pixels wide at depth 1, so that thin tubes do not break up.
    thinnest: f32,
    /// Size of the scene \[m\], for arrows.
    extent: f32,
    eye: Option<(V3, V3)>,
}

/// Linear light of a screen colour: c^2.2.
pub(super) fn linear(colour: Colour) -> V3 {
    V3::from(colour.map(|c| (f32::from(c) / 255.0).powf(2.2)))
}

/// Green for 0, through yellow to red for 1.
fn heat(x: f32) -> Colour {
    let x = x.clamp(0.0, 1.0);
    let share = |a: f32, b: f32, t: f32| (a + (b - a) * t) as u8;
    match x < 0.5 {
        true => [share(58.0, 224.0, 2.0 * x), share(160.0, 176.0, 2.0 * x), 64],
        false => [share(224.0, 206.0, 2.0 * x - 1.0), share(176.0, 52.0, 2.0 * x - 1.0), 60],
    }
}

#[derive(Clone, Copy)]
struct Pose {
    p: V3,
    turn: UnitQuaternion<f32>,
}

impl Pose {
    fn at(&self, x: V3) -> V3 {
        self.turn * x + self.p
    }
}

impl Stage {
    /// The shapes of the wanted groups. The ground is left to the caller, as are labels.
    pub(super) fn new(
        drawing: &Drawing,
        frame: &Frame,
        groups: Groups,
        camera: &Camera,
        height: u32,
    ) -> Self {
        let mut stage = Stage {
            thinnest: 1.3 * camera.tan_y / height as f32,
            extent: drawing.extent,
            eye: Some((camera.eye, camera.forward)),
            ..Stage::default()
        };
        let violation = if groups.has(Group::Violation) { &frame.violation[..] } else { &[] };
        for (i, shape) in drawing.shapes.iter().enumerate().filter(|(_, s)| groups.has(s.group)) {
            let colour = match violation.get(i) {
                Some(worst) if shape.group == Group::Body => heat(*worst),
                _ => shape.colour,
            };
            stage.add(colour, &shape.geometry, frame);
        }
        stage
    }

    fn add(&mut self, colour: Colour, geometry: &Geometry, frame: &Frame) {
        let tint = linear(colour);
        let vertex = |i: u32| V3::from(frame.vertex(i as usize));
        let pose = |i: u32| {
            let (p, [w, x, y, z]) = frame.pose(i as usize);
            Pose { p: p.into(), turn: UnitQuaternion::new_normalize(Quaternion::new(w, x, y, z)) }
        };
        match geometry {
            Geometry::Points { first, count, radius } => {
                let ball = |i| Ball { centre: vertex(i), radius: *radius, colour: tint };
                self.balls.extend((*first..first + count).map(ball));
            }
            Geometry::Marks { vertices, radius } => {
                for v in vertices {
                    let pose = Pose { p: vertex(*v), turn: UnitQuaternion::identity() };
                    self.cuboid(pose, V3::repeat(2.0 * radius), tint);
                }
            }
            Geometry::Lines { pairs, radius } => {
                for [a, b] in pairs {
                    self.tube(vertex(*a), vertex(*b), *radius, tint);
                }
            }
            Geometry::Mesh { first, count, triangles } => {
                let corners: Vec<V3> = (*first..first + count).map(vertex).collect();
                // A sheet is smooth wherever it folds; a solid has edges.
                if is_closed(triangles) {
                    self.creased_mesh(&corners, triangles, tint);
                } else {
                    self.smooth_mesh(&corners, triangles, tint);
                }
            }
            Geometry::Sphere { pose: i, radius } => {
                self.balls.push(Ball { centre: pose(*i).p, radius: *radius, colour: tint });
            }
            Geometry::Box { pose: i, size } => self.cuboid(pose(*i), V3::from(*size), tint),
            Geometry::Capsule { pose: i, radius, length } => {
                let (pose, half) = (pose(*i), V3::new(0.0, 0.0, 0.5 * length));
                let (a, b) = (pose.at(-half), pose.at(half));
                self.balls.extend([a, b].map(|centre| Ball { centre, radius: *radius, colour: tint }));
                self.cone(a, b, *radius, *radius, 40, tint, false);
            }
            Geometry::Cylinder { pose: i, radius, length } => {
                let (pose, half) = (pose(*i), V3::new(0.0, 0.0, 0.5 * length));
                self.cone(pose.at(-half), pose.at(half), *radius, *radius, 40, tint, true);
            }
            Geometry::Solid { pose: i, vertices, triangles } => {
                let pose = pose(*i);
                let corners: Vec<V3> = vertices.iter().map(|v| pose.at(V3::from(*v))).collect();
                self.creased_mesh(&corners, triangles, tint);
            }
            Geometry::Axes { pose: i, length } => {
                let pose = pose(*i);
                for (axis, colour) in
                    [(V3::x(), [214, 64, 69]), (V3::y(), [66, 160, 80]), (V3::z(), [60, 110, 210])]
                {
                    self.arrow(pose.p, pose.turn * axis * *length, 1.0, linear(colour));
                }
            }
            Geometry::Arrows { list, scale, thickness, .. } => {
                let Some(arrows) = frame.arrows.get(*list as usize) else { return };
                let vector = |a: &[f32]| V3::new(a[3], a[4], a[5]);
                let longest = arrows.chunks_exact(6).map(|a| vector(a).norm()).fold(0.0, f32::max);
                // The longest arrow is at most a third of the scene.
                let scale = scale.min(0.33 * self.extent / longest.max(f32::MIN_POSITIVE));
                for a in arrows.chunks_exact(6) {
                    self.arrow(V3::new(a[0], a[1], a[2]), vector(a) * scale, *thickness, tint);
                }
            }
            Geometry::Discs { list, radius } => {
                let Some(arrows) = frame.arrows.get(*list as usize) else { return };
                for a in arrows.chunks_exact(6) {
                    let (at, axis) = (V3::new(a[0], a[1], a[2]), V3::new(a[3], a[4], a[5]));
                    if let Some(n) = axis.try_normalize(1e-12) {
                        let half = n * (0.15 * radius);
                        self.cone(at - half, at + half, *radius, *radius, 20, tint, true);
                    }
                }
            }
            Geometry::Plane { pose: i } => {
                // A level plane is the ground; any other is shown as a square.
                let pose = pose(*i);
                let n = pose.turn * V3::z();
                if n.z < 0.999_99 {
                    let half = self.extent;
                    let c = [(-1.0, -1.0), (1.0, -1.0), (1.0, 1.0), (-1.0, 1.0)];
                    let c = c.map(|(x, y)| pose.at(V3::new(x * half, y * half, 0.0)));
                    self.push([c[0], c[1], c[2]], [n; 3], tint);
                    self.push([c[0], c[2], c[3]], [n; 3], tint);
                }
            }
            Geometry::Label { .. } => {}
        }
    }

    fn push(&mut self, p: [V3; 3], n: [V3; 3], colour: V3) {
        self.triangles.push(Triangle { p, n, colour });
    }

    fn cuboid(&mut self, pose: Pose, size: V3, colour: V3) {
        let h = size * 0.5;
        for k in 0..3 {
            for sign in [-1.0, 1.0] {
                let (u, v) = ((k + 1) % 3, (k + 2) % 3);
                let mut n = V3::zeros();
                n[k] = sign;
                let corner = |a: f32, b: f32| {
                    let mut x = V3::zeros();
                    (x[k], x[u], x[v]) = (sign * h[k], a * h[u], b * h[v]);
                    pose.at(x)
                };
                let c = [corner(-1.0, -1.0), corner(1.0, -1.0), corner(1.0, 1.0), corner(-1.0, 1.0)];
                let n = [pose.turn * n; 3];
                self.push([c[0], c[1], c[2]], n, colour);
                self.push([c[0], c[2], c[3]], n, colour);
            }
        }
    }

    /// A tube that never gets thinner than what the picture can show.
    fn tube(&mut self, a: V3, b: V3, radius: f32, colour: V3) {
        let at_least = |p: V3| match self.eye {
            Some((eye, forward)) => radius.max(self.thinnest * forward.dot(&(p - eye))),
            None => radius,
        };
        let (ra, rb) = (at_least(a), at_least(b));
        self.cone(a, b, ra, rb, 8, colour, false);
    }

    /// The mantle between two circles, with lids if asked for.
    fn cone(&mut self, a: V3, b: V3, ra: f32, rb: f32, sides: usize, colour: V3, lids: bool) {
        let Some(axis) = (b - a).try_normalize(1e-12) else { return };
        let helper = if axis.z.abs() < 0.9 { V3::z() } else { V3::x() };
        let u = axis.cross(&helper).normalize();
        let v = axis.cross(&u);
        let slope = (ra - rb) / (b - a).norm();
        let around = |k: usize| {
            let (s, c) = (TAU * k as f32 / sides as f32).sin_cos();
            u * c + v * s
        };
        for k in 0..sides {
            let (e, f) = (around(k), around(k + 1));
            let (ne, nf) = ((e + axis * slope).normalize(), (f + axis * slope).normalize());
            let (a0, a1, b0, b1) = (a + e * ra, a + f * ra, b + e * rb, b + f * rb);
            if ra > 0.0 {
                self.push([a0, a1, b1], [ne, nf, nf], colour);
            }
            if rb > 0.0 {
                self.push([a0, b1, b0], [ne, nf, ne], colour);
            } else {
                self.push([a0, a1, b], [ne, nf, (ne + nf).normalize()], colour);
            }
            if lids {
                self.push([a, a0, a1], [-axis; 3], colour);
                self.push([b, b0, b1], [axis; 3], colour);
            }
        }
    }

    fn arrow(&mut self, from: V3, along: V3, thickness: f32, colour: V3) {
        let length = along.norm();
        if !(length > 1e-9 && length.is_finite()) {
            return;
        }
        let radius = thickness * (0.004 * self.extent).min(0.06 * length);
        let head = (7.0 * radius).min(0.6 * length);
        let neck = from + along * (1.0 - head / length);
        self.cone(from, neck, radius, radius, 12, colour, true);
        self.cone(neck, from + along, 2.7 * radius, 0.0, 20, colour, true);
    }

    /// Normals are the mean over all triangles at a corner, weighted by area.
    fn smooth_mesh(&mut self, corners: &[V3], triangles: &[[u32; 3]], colour: V3) {
        let mut normals = vec![V3::zeros(); corners.len()];
        for t in triangles {
            let [a, b, c] = t.map(|i| corners[i as usize]);
            let n = (b - a).cross(&(c - a));
            t.iter().for_each(|i| normals[*i as usize] += n);
        }
        for t in triangles {
            let unit = |i: u32| normals[i as usize].try_normalize(0.0).unwrap_or_else(V3::z);
            self.push(t.map(|i| corners[i as usize]), t.map(unit), colour);
        }
    }

    /// As above, but only over triangles that turn away by less than 40°, so that edges stay sharp.
    fn creased_mesh(&mut self, corners: &[V3], triangles: &[[u32; 3]], colour: V3) {
        let flat = |t: &[u32; 3]| {
            let [a, b, c] = t.map(|i| corners[i as usize]);
            (b - a).cross(&(c - a))
        };
        let mut around = vec![Vec::new(); corners.len()];
        for (k, t) in triangles.iter().enumerate() {
            t.iter().for_each(|i| around[*i as usize].push(k));
        }
        for t in triangles {
            let Some(own) = flat(t).try_normalize(0.0) else { continue };
            let n = t.map(|i| {
                let near = around[i as usize].iter().map(|k| flat(&triangles[*k]));
                let sum: V3 = near.filter(|n| n.dot(&own) > 0.766 * n.norm()).sum();
                sum.try_normalize(0.0).unwrap_or(own)
            });
            self.push(t.map(|i| corners[i as usize]), n, colour);
        }
    }
}

/// Whether every edge has two sides.
fn is_closed(triangles: &[[u32; 3]]) -> bool {
    let mut edges: Vec<[u32; 2]> =
        triangles.iter().flat_map(|t| [[t[0], t[1]], [t[1], t[2]], [t[2], t[0]]]).collect();
    edges.iter_mut().for_each(|e| e.sort_unstable());
    edges.sort_unstable();
    edges.chunk_by(|a, b| a == b).all(|same| same.len() == 2)
}
