//! Drag of the medium (air, water) on the links, by boxes of equal inertia.
//!
//! A link of mass m with principal moments I has the same inertia as a box with sides $b_i = \sqrt{6(I_j + I_k - I_i)/m}$.
//! With v and ω its velocity relative to the wind and its angular velocity, both in the axes of the box,
//!
//! $$ f_i = -\tfrac12\rho\,b_j b_k\,|v_i| v_i - 3\pi d\beta\,v_i, \qquad
//!    \tau_i = -\tfrac1{64}\rho\,b_i (b_j^4 + b_k^4)\,|\omega_i|\omega_i - \pi d^3\beta\,\omega_i $$
//!
//! act about the centre of mass, with ρ the density and β the viscosity of the medium and d the mean of the sides: a
//! plate's drag with coefficient 1, and Stokes' law for a ball of diameter d. It is the model that MJCF means by
//! `density`, `viscosity` and `wind` of its `option`. Like all forces that are not linear in v it acts as at the start
//! of a step.

use std::f64::consts::PI;

use super::{LinkFrame, Robot, RobotWork};
use crate::bodies::articulated::description::RobotDescription;
use crate::math::rotation::from_matrix;
use crate::math::{Pose, Vec3, symmetric_eigen};

/// A link as the medium sees it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct DragBox {
    link: usize,
    /// Frame of the box.
    frame: LinkFrame,
    /// Sides of the box \[m\].
    sides: Vec3,
}

/// Boxes of the bodies that a medium slows down; none if there is no medium.
pub(super) fn drag_boxes(description: &RobotDescription) -> Vec<DragBox> {
    let o = &description.options;
    if !(o.density > 0.0 || o.viscosity > 0.0) {
        return Vec::new();
    }
    let bodies = description.bodies.iter().enumerate().skip(1).filter(|(_, body)| body.inertial.mass > 0.0);
    let drag_box = |(i, body): (usize, &crate::bodies::articulated::description::RobotBody)| {
        let (moments, mut axes) = symmetric_eigen(&body.inertial.inertia);
        if axes.determinant() < 0.0 {
            axes.column_mut(2).neg_mut();
        }
        let side =
            |k: usize| (6.0 * (moments.sum() - 2.0 * moments[k]).max(1e-15) / body.inertial.mass).sqrt();
        let pose = Pose::new(body.inertial.center, from_matrix(&axes));
        let sides = Vec3::new(side(0), side(1), side(2));
        DragBox { link: i - 1, frame: LinkFrame { link: Some(i - 1), pose }, sides }
    };
    bodies.map(drag_box).collect()
}

impl Robot {
    /// τ += drag at velocities v. After kinematics; does velocities.
    pub(super) fn add_drag(&self, v: &[f64], work: &mut RobotWork, tau: &mut [f64]) {
        if self.drag_boxes.is_empty() {
            return;
        }
        let (w, o) = (&mut work.tree, &self.description.options);
        self.tree.velocities(v, w);
        for DragBox { link, frame, sides: b } in &self.drag_boxes {
            let (x, R) = (self.position(frame, w), self.rotation(frame, w));
            let motion = self.tree.point_velocity(*link, &x, w);
            let (v, spin) = (R.tr_mul(&(motion.linear - o.wind)), R.tr_mul(&motion.angular));
            let d = b.mean();
            let [mut force, mut torque] =
                [v * (-3.0 * PI * d * o.viscosity), spin * (-PI * d.powi(3) * o.viscosity)];
            for i in 0..3 {
                let (j, k) = ((i + 1) % 3, (i + 2) % 3);
                force[i] -= 0.5 * o.density * b[j] * b[k] * v[i].abs() * v[i];
                torque[i] -=
                    o.density * b[i] * (b[j].powi(4) + b[k].powi(4)) / 64.0 * spin[i].abs() * spin[i];
            }
            self.tree.add_force_at(*link, &x, &(R * force), &(R * torque), w, tau);
        }
    }
}
