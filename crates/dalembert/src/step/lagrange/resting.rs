//! Resting contact by complementarity at the acceleration level (Baraff 1994), at every evaluation of the equations of motion.
//!
//! For each point that rests, with gap d and free accelerations a₀,
//!
//! $$ \ddot d = A f + b \ge 0,\quad f \ge 0,\quad f\cdot\ddot d = 0,\qquad b = J a_0 + \dot J v . $$
//!
//! $\dot J v$ is the rate at which $\dot d = J v$ changes because the bodies move while their velocities stay: the
//! centripetal part, with all that the shapes have to say about it (a rolling ball's point of contact is another point
//! of the ball a moment later). It is taken as a central difference over a motion of 1e-5 of the smallest shape, which
//! leaves errors near 1e-10 of v²/length and none for bodies at rest. Drift is held by Baumgarte's rule
//! $\ddot d \ge -2\alpha\dot d - \alpha^2 d$.
//!
//! Whether a point slides or sticks is decided when a step begins and holds to its end, where an event may end it: a
//! point that slid goes on to be braked as it was even when it has turned round, so that the moment of its turning
//! is the root of a smooth function.

use super::super::system::System;
use super::complementarity::{self, Friction};
use super::contact_points::{ContactPointWork, Delassus, Point, same, unmoved};
use crate::bodies::Rigid;
use crate::contact::RigidContactModel;
use crate::math::{Vec3, set_triple, triple};
use crate::model::Model;

/// What rests, and how.
pub(super) struct Resting<'a> {
    pub(super) shapes: &'a RigidContactModel,
    /// Points when the step began.
    pub(super) points: &'a [Point],
    /// The direction in which each of them slid, a unit vector; `None` for those that stick.
    pub(super) slides: &'a [Option<Vec3>],
    /// Rate α of Baumgarte's rule \[1/s\].
    pub(super) alpha: f64,
}

/// The direction in which each point slides, if it is faster than `stick_speed` \[m/s\].
pub(super) fn slides(points: &[Point], v: &[f64], stick_speed: f64) -> Vec<Option<Vec3>> {
    let slide = |p: &Point| {
        let u = p.velocity(v);
        let across = u - p.axes[0] * p.axes[0].dot(&u);
        let speed = across.norm();
        (speed > stick_speed).then(|| across / speed)
    };
    points.iter().map(slide).collect()
}

impl Resting<'_> {
    /// Points as they stand at (q, v), in the order of `points`; those that are gone are left out.
    fn now(
        &self,
        work: &mut ContactPointWork,
        model: &Model,
        q: &[f64],
        v: &[f64],
    ) -> (Vec<Point>, Vec<Option<Vec3>>) {
        let near = 0.1 * self.shapes.length;
        let all = work.find(model, self.shapes, (q, v), near, 0.0);
        let (mut out, mut slides): (Vec<Point>, Vec<Option<Vec3>>) = (Vec::new(), Vec::new());
        for (old, slide) in self.points.iter().zip(self.slides) {
            if let Some(p) = same(&all, old, near)
                && !out.iter().any(|o| o.key == p.key)
            {
                out.push(*p);
                slides.push(*slide);
            }
        }
        (out, slides)
    }

    /// J̇ v along the axes of each point \[m/s²\].
    fn centripetal(
        &self,
        work: &mut ContactPointWork,
        model: &Model,
        q: &[f64],
        v: &[f64],
        points: &[Point],
    ) -> Vec<f64> {
        let n = model.layout.rigid;
        let length = self.shapes.length;
        let speed = (0..n)
            .map(|k| triple(v, 2 * k).norm() + length * triple(v, 2 * k + 1).norm())
            .fold(0.0, f64::max);
        let mut out = vec![0.0; 3 * points.len()];
        if !(speed > 0.0) {
            return out;
        }
        let delta = 1e-5 * length / speed;
        let sides = [delta, -delta].map(|d| {
            let mut moved = q.to_vec();
            let step: Vec<f64> = v[..6 * n].iter().map(|v| v * d).collect();
            Rigid::advance(&mut moved[..7 * n], &step);
            work.find(model, self.shapes, (&moved, v), 0.1 * length, 0.0)
        });
        for (i, p) in points.iter().enumerate() {
            let near = 1e-3 * length;
            let (Some(ahead), Some(behind)) = (unmoved(&sides[0], p, near), unmoved(&sides[1], p, near))
            else {
                continue;
            };
            let (u, w) = (ahead.velocity(v), behind.velocity(v));
            out[3 * i] = (ahead.axes[0].dot(&u) - behind.axes[0].dot(&w)) / (2.0 * delta);
            for d in 1..3 {
                out[3 * i + d] = p.axes[d].dot(&(u - w)) / (2.0 * delta);
            }
        }
        out
    }

    /// Adds the forces of contact to f, which holds all others, those of joints included. Constraints stand evaluated at
    /// q. Returns the points with the forces along their axes \[N\], or `None` if no forces fit.
    pub(super) fn add_forces(
        &self,
        model: &Model,
        s: &mut System,
        work: &mut ContactPointWork,
        (q, v): (&[f64], &[f64]),
        broken: &[bool],
        f: &mut [f64],
    ) -> Option<Vec<(Point, [f64; 3])>> {
        let (points, slides) = self.now(work, model, q, v);
        if points.is_empty() {
            return Some(Vec::new());
        }
        let A = Delassus::new(model, s, q, broken, &points);
        let mut free = f[..6 * model.layout.rigid].to_vec();
        for k in 0..model.layout.rigid {
            let w = triple(v, 2 * k + 1);
            let torque = triple(&free, 2 * k + 1) - w.cross(&(model.rigid.world_inertia(q, k) * w));
            let turn = model.rigid.world_inv_inertia(q, k) * torque;
            let a = triple(&free, 2 * k) * model.rigid.inv_mass[k];
            set_triple(&mut free, 2 * k, &a);
            set_triple(&mut free, 2 * k + 1, &turn);
        }
        let mut b = self.centripetal(work, model, q, v, &points);
        let mut rules = Vec::with_capacity(points.len());
        for (i, p) in points.iter().enumerate() {
            let (rate, acceleration) = (p.rates(v), p.rates(&free));
            (0..3).for_each(|d| b[3 * i + d] += acceleration[d]);
            b[3 * i] += 2.0 * self.alpha * rate[0] + self.alpha * self.alpha * p.gap;
            rules.push(match slides[i] {
                _ if !(p.friction > 0.0) => Friction::None,
                Some(direction) => {
                    // The direction in which it slides now, or the one before if it has turned round.
                    let before = [p.axes[1].dot(&direction), p.axes[2].dot(&direction)];
                    let slip = rate[1].hypot(rate[2]);
                    let forwards = rate[1] * before[0] + rate[2] * before[1] > 0.5 * slip;
                    let now = if forwards { [rate[1] / slip, rate[2] / slip] } else { before };
                    Friction::Slides(now)
                }
                None => {
                    // What slip there is goes away.
                    (1..3).for_each(|d| b[3 * i + d] += self.alpha * rate[d]);
                    Friction::Sticks
                }
            });
        }
        let forces = complementarity::solve(&A, &b, &points, &rules)?;
        // Joints answer forces of contact with forces of their own.
        let mut pushes = vec![0.0; f.len()];
        let mut out = Vec::with_capacity(points.len());
        for (i, p) in points.iter().enumerate() {
            p.push(&p.vector(&forces[3 * i..3 * i + 3]), &mut pushes);
            out.push((*p, [forces[3 * i], forces[3 * i + 1], forces[3 * i + 2]]));
        }
        if model.constraints.is_empty() {
            f.iter_mut().zip(&pushes).for_each(|(f, p)| *f += p);
            return Some(out);
        }
        let mut change = vec![0.0; 6 * model.layout.rigid];
        A.kick(&forces, &mut change);
        for k in 0..model.layout.rigid {
            let a = triple(&change, 2 * k) * model.rigid.mass[k];
            let w = model.rigid.world_inertia(q, k) * triple(&change, 2 * k + 1);
            crate::math::add_triple(f, 2 * k, &a);
            crate::math::add_triple(f, 2 * k + 1, &w);
        }
        Some(out)
    }
}
