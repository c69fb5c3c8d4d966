//! Points fixed to a rigid body: $p = x + R r$ with r constant in body axes.
//!
//! With $\dot R = \[\omega\] R$ and the arm $a = R r$ a point moves with $\dot p = v + \omega\times a$. The power
//! $f\cdot\dot p = f\cdot v + (a\times f)\cdot\omega$ says what the body feels: $F = \sum f$,
//! $\tau = \sum a\times f$. Under a turn δθ of the body the arm changes by $\delta\theta\times a$, and with f held
//! fixed the torque by $\delta\tau = \sum(\delta\theta\times a)\times f$: the geometric stiffness is minus that,
//!
//! $$ K_g\,\delta\theta = -\sum(\delta\theta\times a)\times f
//!    = \sum\big((a\cdot f)\,\mathbf 1 - a f^T\big)\,\delta\theta . $$
//!
//! It is symmetric only where the torque vanishes: its skew part is $\tfrac12\[\tau\]_\times$, because rotation
//! vectors in world axes are no coordinates. Book: "Bodies".

use super::Mapping;
use crate::math::rotation::{matrix, quaternion, skew};
use crate::math::{Blocks, Mat3, Vec3, add_triple, outer, set_triple, triple};
use crate::state::Layout;

/// Child points fixed to one rigid body.
#[derive(Debug, Clone)]
pub struct RigidPoints {
    layout: Layout,
    body_q: usize,
    body_v: usize,
    first_child: usize,
    arms: Vec<Vec3>,
}

#[inline(always)]
fn vec3(a: &[f64], at: usize) -> Vec3 {
    Vec3::new(a[at], a[at + 1], a[at + 2])
}

impl RigidPoints {
    /// Child number k, point `first_child + k`, is fixed to the body whose seven coordinates begin at `body_q` in q
    /// and whose six velocities begin at `body_v` in v; it sits at `arms[k]` from the centre of mass, body axes \[m\].
    pub fn new(layout: Layout, body_q: usize, body_v: usize, first_child: usize, arms: Vec<Vec3>) -> Self {
        debug_assert!(body_q + 7 <= layout.points_q() && body_v + 6 <= layout.points_v());
        debug_assert!(layout.particles <= first_child && first_child + arms.len() <= layout.points);
        Self { layout, body_q, body_v, first_child, arms }
    }

    fn rotation(&self, q: &[f64]) -> Mat3 {
        matrix(&quaternion(q, self.body_q + 3))
    }

    fn add_torque(&self, f: &mut [f64], torque: &Vec3) {
        for k in 0..3 {
            f[self.body_v + 3 + k] += torque[k];
        }
    }
}

impl Mapping for RigidPoints {
    fn kind(&self) -> &'static str {
        "rigid"
    }

    fn carry(&self, q: &mut [f64]) {
        let (x, R) = (vec3(q, self.body_q), self.rotation(q));
        let points = &mut q[self.layout.points_q()..];
        for (k, r) in self.arms.iter().enumerate() {
            set_triple(points, self.first_child + k, &(x + R * r));
        }
    }

    fn carry_velocity(&self, q: &[f64], v: &mut [f64]) {
        let R = self.rotation(q);
        let (v_B, w_B) = (vec3(v, self.body_v), vec3(v, self.body_v + 3));
        let points = &mut v[self.layout.points_v()..];
        for (k, r) in self.arms.iter().enumerate() {
            set_triple(points, self.first_child + k, &(v_B + w_B.cross(&(R * r))));
        }
    }

    fn gather_force(&self, q: &[f64], f: &mut [f64]) {
        let R = self.rotation(q);
        let points = &f[self.layout.points_v()..];
        let (mut force, mut torque) = (Vec3::zeros(), Vec3::zeros());
        for (k, r) in self.arms.iter().enumerate() {
            let f = triple(points, self.first_child + k);
            force += f;
            torque += (R * r).cross(&f);
        }
        add_triple(&mut f[self.body_v..], 0, &force);
        self.add_torque(f, &torque);
    }

    fn add_geometric_stiffness_times(&self, q: &[f64], f: &[f64], dx: &[f64], df: &mut [f64]) {
        let R = self.rotation(q);
        let turn = vec3(dx, self.body_v + 3);
        let points = &f[self.layout.points_v()..];
        let mut torque = Vec3::zeros();
        for (k, r) in self.arms.iter().enumerate() {
            torque -= turn.cross(&(R * r)).cross(&triple(points, self.first_child + k));
        }
        self.add_torque(df, &torque);
    }

    fn add_jacobian_blocks(&self, q: &[f64], out: &mut Blocks) -> bool {
        let (R, base, body) = (self.rotation(q), self.layout.points_v() / 3, self.body_v / 3);
        for (k, r) in self.arms.iter().enumerate() {
            let child = base + self.first_child + k;
            out.add(child, body, Mat3::identity());
            out.add(child, body + 1, -skew(&(R * r)));
        }
        true
    }

    fn add_geometric_blocks(&self, q: &[f64], f: &[f64], out: &mut Blocks) {
        let (R, points) = (self.rotation(q), &f[self.layout.points_v()..]);
        let mut K = Mat3::zeros();
        for (k, r) in self.arms.iter().enumerate() {
            let (a, f) = (R * r, triple(points, self.first_child + k));
            K += Mat3::identity() * a.dot(&f) - (outer(&a, &f) + outer(&f, &a)) * 0.5;
        }
        out.add(self.body_v / 3 + 1, self.body_v / 3 + 1, K);
    }
}
