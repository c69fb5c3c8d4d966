//! Points placed by generalized coordinates: $x_c = x(u)$, $v_c = J\dot u$, $f_u = J^T f_c$ with J by automatic
//! differentiation.

use std::sync::Arc;

use super::Mapping;
use crate::bodies::Generalized;
use crate::state::Layout;

/// Points carried by a generalized body.
pub struct GeneralizedPoints {
    layout: Layout,
    body: Arc<Generalized>,
}

impl GeneralizedPoints {
    /// The points of `body`.
    pub fn new(layout: Layout, body: Arc<Generalized>) -> Self {
        Self { layout, body }
    }

    fn child(&self, base: usize) -> std::ops::Range<usize> {
        base + 3 * self.body.points.start..base + 3 * self.body.points.end
    }
}

impl Mapping for GeneralizedPoints {
    fn kind(&self) -> &'static str {
        "generalized"
    }

    fn carry(&self, q: &mut [f64]) {
        let child = self.child(self.layout.points_q());
        let (before, after) = q.split_at_mut(child.start);
        self.body.map.positions(&before[self.body.q.clone()], &mut after[..child.len()]);
    }

    fn carry_velocity(&self, q: &[f64], v: &mut [f64]) {
        let child = self.child(self.layout.points_v());
        let (before, after) = v.split_at_mut(child.start);
        let mut second = vec![0.0; child.len()];
        let u = &q[self.body.q.clone()];
        self.body.map.along(u, &before[self.body.v.clone()], &mut after[..child.len()], &mut second);
    }

    fn gather_force(&self, q: &[f64], f: &mut [f64]) {
        let child = self.child(self.layout.points_v());
        let (before, after) = f.split_at_mut(child.start);
        self.body.gather(q, &after[..child.len()], &mut before[self.body.v.clone()]);
    }

    fn add_geometric_stiffness_times(&self, q: &[f64], f: &[f64], dx: &[f64], df: &mut [f64]) {
        // −∂(Jᵀ f)/∂u · du = −Σ f · ∂²x/∂u∂u du, by polarisation of the second derivative along lines.
        let (u, du) = (&q[self.body.q.clone()], &dx[self.body.v.clone()]);
        let forces = &f[self.child(self.layout.points_v())];
        let along = |direction: &[f64]| {
            let (mut first, mut second) = (vec![0.0; forces.len()], vec![0.0; forces.len()]);
            self.body.map.along(u, direction, &mut first, &mut second);
            crate::math::dot(&second, forces)
        };
        let own = along(du);
        for k in 0..u.len() {
            let mut sum = du.to_vec();
            sum[k] += 1.0;
            let mut unit = vec![0.0; u.len()];
            unit[k] = 1.0;
            df[self.body.v.start + k] -= 0.5 * (along(&sum) - own - along(&unit));
        }
    }
}
