//! Tendons: lengths ℓ(q) along paths, with moments ∂ℓ/∂q, springs, dampers and dry friction.

use super::step::Level;
use super::{LinkFrame, Robot, RobotState, RobotWork};
use crate::bodies::articulated::TreeWork;
use crate::math::Vec3;

/// The path of a tendon.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum TendonPath {
    /// (coordinate, dof, coefficient).
    Joints(Vec<(usize, usize, f64)>),
    /// Sites of each branch, and what its length is divided by.
    Sites(Vec<(Vec<LinkFrame>, f64)>),
}

/// A tendon.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Tendon {
    pub(super) path: TendonPath,
    pub(super) stiffness: f64,
    pub(super) damping: f64,
    /// The spring is slack between these.
    pub(super) slack: [f64; 2],
    pub(super) friction: f64,
}

impl Tendon {
    /// True if its spring or damper is taken at the end of the step, as a row.
    pub(super) fn is_row(&self, level: Level) -> bool {
        match level {
            Level::Nothing | Level::Joints => false,
            Level::Rates => self.damping > 0.0,
            Level::Springs => self.damping > 0.0 || self.stiffness > 0.0,
        }
    }

    /// How far a length is outside of the slack range, with its sign.
    pub(super) fn stretch(&self, length: f64) -> f64 {
        (length - self.slack[1]).max(0.0) + (length - self.slack[0]).min(0.0)
    }
}

/// Sites that are nearer than this have no direction between them [m].
const TOUCHING: f64 = 1e-12;

impl Robot {
    /// Length of a tendon; adds its moments ∂ℓ/∂q to `row`. After kinematics.
    pub(super) fn measure_tendon(&self, tendon: &Tendon, q: &[f64], work: &TreeWork, row: &mut [f64]) -> f64 {
        match &tendon.path {
            TendonPath::Joints(terms) => terms
                .iter()
                .map(|&(at, d, c)| {
                    row[d] += c;
                    c * q[at]
                })
                .sum(),
            TendonPath::Sites(branches) => {
                let mut length = 0.0;
                for (frames, divisor) in branches {
                    for pair in frames.windows(2) {
                        let [a, b] = [0, 1].map(|k| self.position(&pair[k], work));
                        let part = (b - a).norm();
                        length += part / divisor;
                        if part > TOUCHING {
                            let n = (b - a) / (part * divisor);
                            self.add_point_row(&pair[1], &b, &n, 1.0, work, row);
                            self.add_point_row(&pair[0], &a, &n, -1.0, work, row);
                        }
                    }
                }
                length
            }
        }
    }

    /// d²ℓ/dt² of a tendon if no dof accelerates. After velocities.
    ///
    /// For a piece d of direction n: n·(a_b − a_a) + (|ḋ|² − (n·ḋ)²)/|d|.
    pub(super) fn tendon_bias(&self, tendon: &Tendon, work: &TreeWork) -> f64 {
        let TendonPath::Sites(branches) = &tendon.path else { return 0.0 };
        let mut sum = 0.0;
        for (frames, divisor) in branches {
            for pair in frames.windows(2) {
                let [a, b] = [0, 1].map(|k| self.position(&pair[k], work));
                let part = (b - a).norm();
                if part > TOUCHING {
                    let n = (b - a) / part;
                    let [(va, aa), (vb, ab)] =
                        [(0, a), (1, b)].map(|(k, x)| self.point_motion(&pair[k], &x, work));
                    let rate = vb - va;
                    let across = (rate.norm_squared() - n.dot(&rate).powi(2)) / part;
                    sum += (n.dot(&(ab - aa)) + across) / divisor;
                }
            }
        }
        sum
    }

    /// Velocity, and acceleration without dv/dt, of the point of a frame's link that is at x.
    pub(super) fn point_motion(&self, frame: &LinkFrame, x: &Vec3, work: &TreeWork) -> (Vec3, Vec3) {
        frame.link.map_or((Vec3::zeros(), Vec3::zeros()), |link| {
            let v = self.tree.point_velocity(link, x, work).linear;
            (v, self.tree.point_bias_acceleration(link, x, work).linear)
        })
    }

    /// row += s n·J of the point x of a frame's link.
    pub(super) fn add_point_row(
        &self,
        frame: &LinkFrame,
        x: &Vec3,
        n: &Vec3,
        s: f64,
        work: &TreeWork,
        row: &mut [f64],
    ) {
        if let Some(link) = frame.link {
            self.tree.each_column(link, x, work, |d, l, _| row[d] += s * n.dot(&l));
        }
    }

    /// Springs and dampers of tendons. After kinematics.
    pub(super) fn add_tendon_forces(
        &self,
        q: &[f64],
        v: &[f64],
        w: &TreeWork,
        dense: &mut [f64],
        tau: &mut [f64],
    ) {
        for tendon in &self.tendons {
            self.add_tendon_force(tendon, q, v, w, dense, tau);
        }
    }

    pub(super) fn add_tendon_force(
        &self,
        tendon: &Tendon,
        q: &[f64],
        v: &[f64],
        w: &TreeWork,
        dense: &mut [f64],
        tau: &mut [f64],
    ) {
        if tendon.stiffness != 0.0 || tendon.damping != 0.0 {
            dense.fill(0.0);
            let length = self.measure_tendon(tendon, q, w, dense);
            let force =
                -tendon.stiffness * tendon.stretch(length) - tendon.damping * crate::math::dot(dense, v);
            tau.iter_mut().zip(&*dense).for_each(|(t, a)| *t += a * force);
            dense.fill(0.0);
        }
    }

    /// Springs and dampers of tendons as rows: ℓ̇⁺ + rλ = −rk stretch with r = 1/(b + hk), or 1/b where the spring pulls
    /// as at the start. After kinematics.
    pub(super) fn add_tendon_rows(&self, state: &RobotState, h: f64, level: Level, work: &mut RobotWork) {
        let RobotWork { tree: w, rows, dense, .. } = work;
        for tendon in self.tendons.iter().filter(|tendon| tendon.is_row(level)) {
            let stretch = tendon.stretch(self.measure_tendon(tendon, &state.q, w, dense));
            let taut = stretch != 0.0 || tendon.slack[0] == tendon.slack[1];
            let k = if taut && level >= Level::Springs { tendon.stiffness } else { 0.0 };
            if tendon.damping + h * k > 0.0 {
                let r = 1.0 / (tendon.damping + h * k);
                rows.push_dense(dense, [f64::NEG_INFINITY, f64::INFINITY], -r * tendon.stiffness * stretch);
                rows.end_group();
                let last = rows.len() - 1;
                rows.softness[last] = r;
            }
            dense.fill(0.0);
        }
    }
}
