//! Actuators and tendons: $F = g(\ell, \dot\ell)\,u + b(\ell, \dot\ell)$ along a length ℓ(q) with moments $\partial\ell/\partial q$.
//!
//! g and b are affine, so the force is $f_0 - k_p\ell - k_d\dot\ell$ with $f_0 = g_0 u + b_0$, $k_p = -(g_1 u + b_1)$,
//! $k_d = -(g_2 u + b_2)$: a motor has f₀ alone, a position servo all three, a damper k_d.

use super::super::robot::ActuatorDynamics;
use super::{Machine, MachineState, Spot};
use crate::bodies::articulated::TreeWork;
use crate::joints::JointKind;
use crate::math::rotation::{log, matrix, quaternion, renormalise};
use crate::math::{Mat3, Vec3};

/// What an actuator pulls on.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Pull {
    /// One coordinate of a joint.
    Dof { q: usize, v: usize },
    /// A tendon.
    Cord(usize),
    /// A ball or free joint: the gear in the joint's own axes, or in the parent's.
    Joint { kind: JointKind, q: usize, v: usize, in_parent: bool },
    /// A force and torque in the axes of a site.
    Site(Spot),
    /// Not simulated.
    Nothing,
}

/// An actuator.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Drive {
    pub(super) pull: Pull,
    pub(super) gear: [f64; 6],
    pub(super) gain: [f64; 3],
    pub(super) bias: [f64; 3],
    pub(super) dynamics: ActuatorDynamics,
    /// Place in the activations.
    pub(super) activation: Option<usize>,
    pub(super) early: bool,
    pub(super) control_range: Option<[f64; 2]>,
    pub(super) activation_range: Option<[f64; 2]>,
    pub(super) force_range: Option<[f64; 2]>,
}

/// The force f₀ − kp ℓ − kd dℓ/dt of an actuator now.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Law {
    pub(super) f0: f64,
    pub(super) kp: f64,
    pub(super) kd: f64,
}

fn clamp(x: f64, range: Option<[f64; 2]>) -> f64 {
    range.map_or(x, |[low, high]| x.max(low).min(high))
}

impl Drive {
    fn signal(&self, state: &MachineState, k: usize, h: f64) -> f64 {
        let u = clamp(state.control[k], self.control_range);
        match self.activation {
            None => u,
            Some(at) if self.early => self.next_activation(state.activation[at], u, h, false),
            Some(at) => state.activation[at],
        }
    }

    /// The activation h seconds on: filters by Euler's rule, but for those that are exact by themselves or if asked.
    fn next_activation(&self, a: f64, u: f64, h: f64, exact: bool) -> f64 {
        let next = match self.dynamics {
            ActuatorDynamics::None | ActuatorDynamics::Muscle(_) | ActuatorDynamics::User(_) => u,
            ActuatorDynamics::Integrator => a + h * u,
            ActuatorDynamics::Filter { time } if !exact => a + h * (u - a) / time.max(1e-12),
            ActuatorDynamics::Filter { time } | ActuatorDynamics::FilterExact { time } => {
                a + (u - a) * -(-h / time.max(1e-12)).exp_m1()
            }
        };
        clamp(next, self.activation_range)
    }

    pub(super) fn law(&self, state: &MachineState, k: usize, h: f64) -> Law {
        let u = self.signal(state, k, h);
        let [f0, l, v] = [0, 1, 2].map(|i| self.gain[i] * u + self.bias[i]);
        Law { f0, kp: -l, kd: -v }
    }

    pub(super) fn clamp_force(&self, force: f64) -> f64 {
        clamp(force, self.force_range)
    }

    pub(super) fn advance_activation(&self, state: &mut MachineState, k: usize, h: f64, exact: bool) {
        if let Some(at) = self.activation {
            let u = clamp(state.control[k], self.control_range);
            state.activation[at] = self.next_activation(state.activation[at], u, h, exact);
        }
    }
}

/// The path of a tendon.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum CordPath {
    /// (coordinate, dof, coefficient).
    Joints(Vec<(usize, usize, f64)>),
    /// Sites of each branch, and what its length is divided by.
    Sites(Vec<(Vec<Spot>, f64)>),
}

/// A tendon.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Cord {
    pub(super) path: CordPath,
    pub(super) stiffness: f64,
    pub(super) damping: f64,
    /// The spring is slack between these.
    pub(super) slack: [f64; 2],
    pub(super) friction: f64,
}

impl Cord {
    /// True if its spring or damper is taken at the end of the step, as a row.
    pub(super) fn is_row(&self, level: super::step::Level) -> bool {
        use super::step::Level;
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

impl Machine {
    /// Length of a tendon; adds its moments ∂ℓ/∂q to `row`. After kinematics.
    pub(super) fn measure_cord(&self, cord: &Cord, q: &[f64], work: &TreeWork, row: &mut [f64]) -> f64 {
        match &cord.path {
            CordPath::Joints(terms) => terms
                .iter()
                .map(|&(at, d, c)| {
                    row[d] += c;
                    c * q[at]
                })
                .sum(),
            CordPath::Sites(branches) => {
                let mut length = 0.0;
                for (spots, divisor) in branches {
                    for pair in spots.windows(2) {
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
    pub(super) fn cord_bias(&self, cord: &Cord, work: &TreeWork) -> f64 {
        let CordPath::Sites(branches) = &cord.path else { return 0.0 };
        let mut sum = 0.0;
        for (spots, divisor) in branches {
            for pair in spots.windows(2) {
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

    /// Velocity, and acceleration without dv/dt, of the point of a spot's link that is at x.
    pub(super) fn point_motion(&self, spot: &Spot, x: &Vec3, work: &TreeWork) -> (Vec3, Vec3) {
        spot.link.map_or((Vec3::zeros(), Vec3::zeros()), |link| {
            let v = self.tree.point_velocity(link, x, work).linear;
            (v, self.tree.point_bias_acceleration(link, x, work).linear)
        })
    }

    /// row += s n·J of the point x of a spot's link.
    pub(super) fn add_point_row(
        &self,
        spot: &Spot,
        x: &Vec3,
        n: &Vec3,
        s: f64,
        work: &TreeWork,
        row: &mut [f64],
    ) {
        if let Some(link) = spot.link {
            self.tree.each_column(link, x, work, |d, l, _| row[d] += s * n.dot(&l));
        }
    }

    /// Length of what an actuator pulls on; its moments into `row`, which is zero before. After kinematics.
    pub(super) fn measure_drive(&self, drive: &Drive, q: &[f64], work: &TreeWork, row: &mut [f64]) -> f64 {
        let g = &drive.gear;
        let linear = Vec3::new(g[0], g[1], g[2]);
        match &drive.pull {
            Pull::Nothing => 0.0,
            Pull::Dof { q: at, v } => {
                row[*v] += g[0];
                g[0] * q[*at]
            }
            Pull::Cord(k) => {
                let length = self.measure_cord(&self.cords[*k], q, work, row);
                row.iter_mut().for_each(|x| *x *= g[0]);
                g[0] * length
            }
            Pull::Joint { kind, q: at, v, in_parent } => {
                let turned = |at: usize, axis: Vec3| -> Vec3 {
                    let R: Mat3 = matrix(&renormalise(&quaternion(q, at)));
                    if *in_parent { R.transpose() * axis } else { axis }
                };
                if *kind == JointKind::Ball {
                    let own = turned(*at, linear);
                    (0..3).for_each(|k| row[v + k] += own[k]);
                    linear.dot(&log(&renormalise(&quaternion(q, *at))))
                } else {
                    let own = turned(at + 3, Vec3::new(g[3], g[4], g[5]));
                    (0..3).for_each(|k| row[v + k] += linear[k]);
                    (0..3).for_each(|k| row[v + 3 + k] += own[k]);
                    0.0
                }
            }
            Pull::Site(spot) => {
                if let Some(link) = spot.link {
                    let (x, R) = (self.position(spot, work), self.rotation(spot, work));
                    let (force, torque) = (R * linear, R * Vec3::new(g[3], g[4], g[5]));
                    self.tree.each_column(link, &x, work, |d, l, w| row[d] += force.dot(&l) + torque.dot(&w));
                }
                0.0
            }
        }
    }
}
