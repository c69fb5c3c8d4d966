//! Gyroscopic forces at the end of the step.
//!
//! The bias b(q, v) is taken with its Jacobian C = ∂b/∂v: instead of $(M + D)\,\dot v_0 = \tau - b$ a step solves
//!
//! $$ (M + D + hC)\,\dot v = \tau - b = (M + D)\,\dot v_0. $$
//!
//! *Implicit* does so for the whole tree, where C has the pattern of M. *Implicit fast* leaves C out but for bodies by
//! themselves, which is cheap: about the origin of such a body, in world axes, with k = m c,
//!
//! $$ M = \begin{pmatrix} m & -[k] \\ [k] & I \end{pmatrix}, \quad
//!    b = \begin{pmatrix} \omega\times(\omega\times k) \\ \omega\times I\omega \end{pmatrix}, \quad
//!    C = \begin{pmatrix} 0 & -[\omega\times k] - [\omega][k] \\ 0 & [\omega]I - [I\omega] \end{pmatrix}. $$
//!
//! A spinning body then loses a little energy instead of gaining some. The meaning is that of MuJoCo's integrators of
//! the same names (since 3.11).

use nalgebra::Matrix6;

use super::{Robot, RobotWork};
use crate::bodies::articulated::Tree;
use crate::joints::JointKind;
use crate::math::{Mat3, Vec3, skew};

/// First dofs of the free joints that carry one body and nothing else.
pub(super) fn single_bodies(tree: &Tree) -> Vec<usize> {
    let free = tree.joints().iter().filter(|joint| joint.kind == JointKind::Free);
    let alone = free.filter(|joint| {
        let carried = (joint.v.end..tree.freedoms()).filter_map(|d| tree.parent_dof(d));
        carried.into_iter().all(|parent| !joint.v.contains(&parent))
    });
    alone.map(|joint| joint.v.start).collect()
}

impl Robot {
    /// dv ← the acceleration with the Jacobian of the gyroscopic forces of bodies by themselves. After kinematics.
    pub(super) fn implicit_gyroscopic_single(&self, v: &[f64], h: f64, work: &mut RobotWork) {
        for &d in &self.single_bodies {
            let (R, mass, k, I) = self.tree.node_inertia(d + 3, &work.tree);
            let w = R * Vec3::new(v[d + 3], v[d + 4], v[d + 5]);
            let lower = skew(&w) * I - skew(&(I * w));
            let upper = -skew(&w.cross(&k)) - skew(&w) * skew(&k);
            let mut M = Matrix6::zeros();
            let set = |M: &mut Matrix6<f64>, i: usize, j: usize, block: Mat3| {
                M.fixed_view_mut::<3, 3>(i, j).copy_from(&block);
            };
            set(&mut M, 0, 0, Mat3::identity() * mass);
            set(&mut M, 0, 3, -skew(&k));
            set(&mut M, 3, 0, skew(&k));
            set(&mut M, 3, 3, I);
            let extra = |i: usize| self.tree.armature()[d + i] + work.u[d + i];
            let turned = R * Mat3::from_diagonal(&Vec3::new(extra(3), extra(4), extra(5))) * R.transpose();
            for i in 0..3 {
                M[(i, i)] += extra(i);
                (0..3).for_each(|j| M[(3 + i, 3 + j)] += turned[(i, j)]);
            }
            let spin = R * Vec3::new(work.dv[d + 3], work.dv[d + 4], work.dv[d + 5]);
            let start =
                nalgebra::Vector6::new(work.dv[d], work.dv[d + 1], work.dv[d + 2], spin.x, spin.y, spin.z);
            let right = M * start;
            set(&mut M, 0, 3, -skew(&k) + h * upper);
            set(&mut M, 3, 3, I + turned + h * lower);
            if let Some(x) = M.lu().solve(&right) {
                let turn = R.transpose() * Vec3::new(x[3], x[4], x[5]);
                for i in 0..3 {
                    (work.dv[d + i], work.dv[d + 3 + i]) = (x[i], turn[i]);
                }
            }
        }
    }

    /// dv ← the acceleration with the Jacobian of the whole bias. After kinematics.
    pub(super) fn implicit_gyroscopic_all(&self, v: &[f64], h: f64, work: &mut RobotWork) {
        let RobotWork { tree: w, dv, other, u, bias_derivatives, .. } = work;
        let (by_q, by_v) = &mut **bias_derivatives.get_or_insert_default();
        self.tree.inverse_dynamics_derivatives(v, dv, w, by_q, by_v);
        let mass = self.tree.mass_matrix(w);
        mass.times(&self.tree, dv, other);
        for d in 0..dv.len() {
            other[d] += u[d] * dv[d];
        }
        by_v.scale_and_add(h, mass);
        for (d, x) in u.iter().enumerate() {
            by_v.add_diagonal(&self.tree, d, *x);
        }
        by_v.factor(&self.tree);
        by_v.solve(&self.tree, other);
        dv.copy_from_slice(other);
    }
}
