//! Points of contact of rigid bodies, and how bodies answer forces at them.

use super::super::system::System;
use super::{REGULARIZATION, is_exact, rows};
use crate::collide::rigid::Detector;
use crate::contact::{ColliderOwner, RigidContactModel};
use crate::math::{Pose, Vec3, add_triple, set_triple, triple};
use crate::model::Model;

/// A point of contact at some configuration.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Point {
    /// Colliders, part, feature.
    pub(super) key: [u32; 4],
    /// Rigid bodies of a and b; `None` for the world.
    pub(super) bodies: [Option<usize>; 2],
    /// From their centres of mass to the point \[m\].
    pub(super) arms: [Vec3; 2],
    pub(super) point: Vec3,
    /// Normal from b towards a, and two directions across it.
    pub(super) axes: [Vec3; 3],
    /// \[m\]
    pub(super) gap: f64,
    pub(super) friction: f64,
    pub(super) restitution: f64,
}

impl Point {
    /// Velocity of a against b at the point \[m/s\].
    pub(super) fn velocity(&self, v: &[f64]) -> Vec3 {
        let of = |side: usize| match self.bodies[side] {
            Some(k) => triple(v, 2 * k) + triple(v, 2 * k + 1).cross(&self.arms[side]),
            None => Vec3::zeros(),
        };
        of(0) - of(1)
    }

    /// The same along the normal and across it.
    pub(super) fn rates(&self, v: &[f64]) -> [f64; 3] {
        let u = self.velocity(v);
        self.axes.map(|d| d.dot(&u))
    }

    /// Adds a force on a, and its opposite on b, both at the point.
    pub(super) fn push(&self, force: &Vec3, f: &mut [f64]) {
        for (side, sign) in [(0, 1.0), (1, -1.0)] {
            if let Some(k) = self.bodies[side] {
                let F = force * sign;
                add_triple(f, 2 * k, &F);
                add_triple(f, 2 * k + 1, &self.arms[side].cross(&F));
            }
        }
    }

    /// The vector with the given components along the axes.
    pub(super) fn vector(&self, p: &[f64]) -> Vec3 {
        self.axes[0] * p[0] + self.axes[1] * p[1] + self.axes[2] * p[2]
    }
}

/// Two unit vectors across n.
fn across(n: &Vec3) -> [Vec3; 2] {
    let u = n.cross(&Vec3::ith(n.iamin(), 1.0)).normalize();
    [u, n.cross(&u)]
}

/// Buffers of contact.
#[derive(Debug, Default)]
pub(crate) struct ContactPointWork {
    detector: Detector,
    known: usize,
    poses: Vec<Pose>,
    reach: Vec<f64>,
}

impl ContactPointWork {
    /// Points with gaps up to `margin` \[m\], and up to `far` times the speed of their bodies.
    pub(super) fn find(
        &mut self,
        model: &Model,
        shapes: &RigidContactModel,
        (q, v): (&[f64], &[f64]),
        margin: f64,
        far: f64,
    ) -> Vec<Point> {
        if self.known != shapes.colliders.len() {
            self.known = shapes.colliders.len();
            self.detector.reset();
            shapes.excluded.iter().for_each(|&(a, b)| self.detector.exclude(a, b));
        }
        self.poses.clear();
        self.reach.clear();
        for part in &shapes.owners {
            let ColliderOwner::Rigid(k) = *part else {
                self.poses.push(Pose::identity());
                self.reach.push(0.0);
                continue;
            };
            let k = k as usize;
            self.poses.push(model.rigid.pose(q, k));
            self.reach.push(0.5 * margin + far * triple(v, 2 * k).norm());
        }
        let body = |collider: u32| {
            let number = shapes.colliders[collider as usize].body as usize;
            match shapes.owners.get(number) {
                Some(ColliderOwner::Rigid(k)) => Some((Some(*k as usize), shapes.held[number])),
                Some(_) => None,
                None => Some((None, true)),
            }
        };
        let mut out = Vec::new();
        for m in self.detector.update(&shapes.colliders, &self.poses, &self.reach) {
            let (Some((a, held_a)), Some((b, held_b))) = (body(m.a), body(m.b)) else { continue };
            let law = shapes.law(m.a, m.b);
            if !law.enabled || (held_a && held_b) {
                continue;
            }
            let [t, u] = across(&m.normal);
            for p in m.points() {
                let arm = |k: Option<usize>| p.point - k.map_or(Vec3::zeros(), |k| triple(&q[7 * k..], 0));
                out.push(Point {
                    key: [m.a, m.b, m.part, p.feature],
                    bodies: [a, b],
                    arms: [arm(a), arm(b)],
                    point: p.point,
                    axes: [m.normal, t, u],
                    gap: p.gap,
                    friction: law.friction,
                    restitution: law.restitution,
                });
            }
        }
        out
    }
}

/// The point of `all` that is the same as `old` and has moved by no more than `near` \[m\] against its bodies: round shapes
/// call another place of their rim by the same number when they tilt another way.
pub(super) fn unmoved<'a>(all: &'a [Point], old: &Point, near: f64) -> Option<&'a Point> {
    let side = usize::from(old.bodies[0].is_none());
    let far = |p: &&Point| (p.arms[side] - old.arms[side]).norm();
    let pair = all.iter().filter(|p| p.key[..2] == old.key[..2] && far(p) <= near);
    pair.min_by(|x, y| far(x).total_cmp(&far(y)))
}

/// The point of `all` that is the same as `old`: the same features, or else the nearest of the same two colliders.
pub(super) fn same<'a>(all: &'a [Point], old: &Point, near: f64) -> Option<&'a Point> {
    all.iter().find(|p| p.key == old.key).or_else(|| {
        let far = |p: &&Point| (p.point - old.point).norm();
        let pair = all.iter().filter(|p| p.key[..2] == old.key[..2] && far(p) <= near);
        pair.min_by(|x, y| far(x).total_cmp(&far(y)))
    })
}

/// Forces to accelerations: a ← M̂⁻¹ f with all joints holding, constraints evaluated at q.
pub(super) fn answer(model: &Model, s: &mut System, q: &[f64], broken: &[bool], f: &mut [f64]) {
    let mut jointed = vec![None; model.layout.rigid];
    if !model.constraints.is_empty() {
        let mut x = std::mem::take(&mut s.x);
        s.gather(f, &mut x);
        s.x = x;
        rows(model, s, |_, c, _| is_exact(model, c, broken).then_some(0.0));
        s.solve_least_norm(REGULARIZATION);
        for (n, node) in s.island.nodes.iter().enumerate() {
            if node.dofs == 6 {
                jointed[node.v / 6] = Some(n);
            }
        }
    }
    for k in 0..model.layout.rigid {
        if let Some(n) = jointed[k] {
            f[6 * k..6 * k + 6].copy_from_slice(&s.x[6 * n..6 * n + 6]);
            continue;
        }
        let a = triple(f, 2 * k) * model.rigid.inv_mass[k];
        let w = model.rigid.world_inv_inertia(q, k) * triple(f, 2 * k + 1);
        set_triple(f, 2 * k, &a);
        set_triple(f, 2 * k + 1, &w);
    }
}

/// The matrix A of contacts: row 3 i + d is the acceleration (or change of velocity) at point i along its axis d that a unit
/// force (or impulse) makes.
#[derive(Debug, Default)]
pub(super) struct Delassus {
    /// Number of points.
    pub(super) n: usize,
    /// 3 n × 3 n numbers, by rows.
    pub(super) a: Vec<f64>,
    /// Answers of all bodies to unit forces, 6 numbers per rigid body.
    answers: Vec<Vec<f64>>,
}

impl Delassus {
    /// Takes points at q; constraints stand evaluated there.
    pub(super) fn new(model: &Model, s: &mut System, q: &[f64], broken: &[bool], points: &[Point]) -> Self {
        let n = points.len();
        let mut answers = Vec::with_capacity(3 * n);
        for p in points {
            for d in &p.axes {
                let mut f = vec![0.0; model.layout.len_v()];
                p.push(d, &mut f);
                answer(model, s, q, broken, &mut f);
                f.truncate(6 * model.layout.rigid);
                answers.push(f);
            }
        }
        let mut a = vec![0.0; 9 * n * n];
        for (i, p) in points.iter().enumerate() {
            for (j, answer) in answers.iter().enumerate() {
                let rates = p.rates(answer);
                (0..3).for_each(|d| a[(3 * i + d) * 3 * n + j] = rates[d]);
            }
        }
        Self { n, a, answers }
    }

    /// The 3 × 3 block of points i and j.
    pub(super) fn at(&self, row: usize, column: usize) -> f64 {
        self.a[row * 3 * self.n + column]
    }

    /// v += M̂⁻¹ Jᵀ p for impulses p along all axes.
    pub(super) fn kick(&self, p: &[f64], v: &mut [f64]) {
        for (answer, p) in self.answers.iter().zip(p) {
            if *p != 0.0 {
                v.iter_mut().zip(answer).for_each(|(v, a)| *v += p * a);
            }
        }
    }
}
