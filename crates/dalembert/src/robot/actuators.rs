//! Actuators: $F = g(\ell, \dot\ell)\,u + b(\ell, \dot\ell)$ along a length ℓ(q) with moments $\partial\ell/\partial q$.
//!
//! g and b are affine, so the force is $f_0 - k_p\ell - k_d\dot\ell$ with $f_0 = g_0 u + b_0$, $k_p = -(g_1 u + b_1)$,
//! $k_d = -(g_2 u + b_2)$: a motor has f₀ alone, a position servo all three, a damper k_d.

use super::rows::ANY;
use super::step::Level;
use super::{LinkFrame, Robot, RobotState, RobotWork};
use crate::bodies::articulated::TreeWork;
use crate::bodies::articulated::description::ActuatorDynamics;
use crate::joints::JointKind;
use crate::math::rotation::{log, matrix, quaternion, renormalise};
use crate::math::{Mat3, Vec3};

/// What an actuator pulls on.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Transmission {
    /// One coordinate of a joint.
    Dof { q: usize, v: usize },
    /// A tendon.
    Tendon(usize),
    /// A ball or free joint: the gear in the joint's own axes, or in the parent's.
    Joint { kind: JointKind, q: usize, v: usize, in_parent: bool },
    /// A force and torque in the axes of a site.
    Site(LinkFrame),
    /// Not simulated.
    Nothing,
}

/// An actuator.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Actuator {
    pub(super) transmission: Transmission,
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

impl Actuator {
    fn signal(&self, state: &RobotState, k: usize, h: f64) -> f64 {
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

    pub(super) fn law(&self, state: &RobotState, k: usize, h: f64) -> Law {
        let u = self.signal(state, k, h);
        let [f0, l, v] = [0, 1, 2].map(|i| self.gain[i] * u + self.bias[i]);
        Law { f0, kp: -l, kd: -v }
    }

    pub(super) fn clamp_force(&self, force: f64) -> f64 {
        clamp(force, self.force_range)
    }

    pub(super) fn advance_activation(&self, state: &mut RobotState, k: usize, h: f64, exact: bool) {
        if let Some(at) = self.activation {
            let u = clamp(state.control[k], self.control_range);
            state.activation[at] = self.next_activation(state.activation[at], u, h, exact);
        }
    }
}

impl Robot {
    /// Length of what an actuator pulls on; its moments into `row`, which is zero before. After kinematics.
    pub(super) fn measure_actuator(
        &self,
        actuator: &Actuator,
        q: &[f64],
        work: &TreeWork,
        row: &mut [f64],
    ) -> f64 {
        let g = &actuator.gear;
        let linear = Vec3::new(g[0], g[1], g[2]);
        match &actuator.transmission {
            Transmission::Nothing => 0.0,
            Transmission::Dof { q: at, v } => {
                row[*v] += g[0];
                g[0] * q[*at]
            }
            Transmission::Tendon(k) => {
                let length = self.measure_tendon(&self.tendons[*k], q, work, row);
                row.iter_mut().for_each(|x| *x *= g[0]);
                g[0] * length
            }
            Transmission::Joint { kind, q: at, v, in_parent } => {
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
            Transmission::Site(frame) => {
                if let Some(link) = frame.link {
                    let (x, R) = (self.position(frame, work), self.rotation(frame, work));
                    let (force, torque) = (R * linear, R * Vec3::new(g[3], g[4], g[5]));
                    self.tree.each_column(link, &x, work, |d, l, w| row[d] += force.dot(&l) + torque.dot(&w));
                }
                0.0
            }
        }
    }

    /// Dofs that controllers actuator.
    pub(super) fn driven(&self) -> impl Iterator<Item = usize> + '_ {
        use crate::joints::JointKind::{Hinge, Slider};
        self.tree.joints().iter().filter(|j| matches!(j.kind, Hinge | Slider)).map(|j| j.v.start)
    }

    /// True if an actuator is taken at the end of the step.
    ///
    /// With springs: it holds against motion and pulls on a dof, or as a row. Without: it has a velocity gain (a row a
    /// positive one) and its force at the start is within its range.
    pub(super) fn is_servo(&self, k: usize, law: &Law, level: Level, start: f64) -> bool {
        let actuator = &self.actuators[k];
        let on_dof = match actuator.transmission {
            Transmission::Nothing => return false,
            Transmission::Dof { .. } => true,
            _ => false,
        };
        match level {
            Level::Springs => law.kp >= 0.0 && law.kd >= 0.0 && law.kp + law.kd > 0.0,
            Level::Rates => {
                (law.kd > 0.0 || (on_dof && law.kd < 0.0)) && actuator.clamp_force(start) == start
            }
            Level::Nothing | Level::Joints => false,
        }
    }

    /// τ ← fixed forces and actuators, diagonal ← h(B + hK) of both.
    pub(super) fn add_actuator_forces(
        &self,
        state: &mut RobotState,
        h: f64,
        level: Level,
        work: &mut RobotWork,
    ) {
        work.tau.copy_from_slice(&work.fixed_tau);
        work.u.iter_mut().zip(&work.diagonal).for_each(|(u, b)| *u = h * b);
        for k in 0..self.actuators.len() {
            let (actuator, law) = (&self.actuators[k], self.actuators[k].law(state, k, h));
            let RobotWork { tree: w, tau, dense, u, saturation, .. } = work;
            if let Transmission::Dof { q, v } = actuator.transmission {
                let g = actuator.gear[0];
                let (length, rate) = (g * state.q[q], g * state.v[v]);
                let whole = law.f0 - law.kp * length - law.kd * rate;
                let servo = self.is_servo(k, &law, level, whole);
                state.force[k] = match (servo, saturation[k], actuator.force_range) {
                    (true, 0, _) if level >= Level::Springs => {
                        u[v] += h * g * g * (law.kd + h * law.kp);
                        whole - h * law.kp * rate
                    }
                    (true, 0, _) => {
                        u[v] += h * g * g * law.kd;
                        whole
                    }
                    (true, -1, Some([low, _])) => low,
                    (true, _, Some([_, high])) => high,
                    _ => actuator.clamp_force(whole),
                };
                tau[v] += g * state.force[k];
                continue;
            }
            dense.fill(0.0);
            let length = self.measure_actuator(actuator, &state.q, w, dense);
            let rate = crate::math::dot(dense, &state.v);
            let whole = law.f0 - law.kp * length - law.kd * rate;
            if !self.is_servo(k, &law, level, whole) {
                state.force[k] = actuator.clamp_force(whole);
                tau.iter_mut().zip(&*dense).for_each(|(t, a)| *t += a * state.force[k]);
            }
            dense.fill(0.0);
        }
        self.bound_efforts(state, work);
    }

    /// Bounds on the sum of actuator forces on one joint, where a description has them.
    fn bound_efforts(&self, state: &RobotState, work: &mut RobotWork) {
        for &(d, [low, high]) in &self.efforts {
            let sum: f64 = self.actuators.iter().zip(&state.force).fold(0.0, |sum, (actuator, f)| {
                match actuator.transmission {
                    Transmission::Dof { v, .. } if v == d => sum + actuator.gear[0] * f,
                    _ => sum,
                }
            });
            work.tau[d] += sum.max(low).min(high) - sum;
        }
    }

    /// Which servos of single dofs stand wrong after a solve; true if any was moved.
    pub(super) fn update_saturation(
        &self,
        state: &RobotState,
        h: f64,
        after: &[f64],
        work: &mut RobotWork,
    ) -> bool {
        let mut moved = false;
        for (k, actuator) in self.actuators.iter().enumerate() {
            let (Transmission::Dof { q, v }, Some([low, high])) =
                (&actuator.transmission, actuator.force_range)
            else {
                continue;
            };
            let law = actuator.law(state, k, h);
            if !self.is_servo(k, &law, Level::Springs, 0.0) {
                continue;
            }
            let (g, rate) = (actuator.gear[0], actuator.gear[0] * after[*v]);
            let force = law.f0 - law.kp * (g * state.q[*q] + h * rate) - law.kd * rate;
            let slack = 1e-12 * (force.abs() + low.abs() + high.abs());
            let stand = match work.saturation[k] {
                0 if force < low - slack => -1,
                0 if force > high + slack => 1,
                -1 if force > low + slack => 0,
                1 if force < high - slack => 0,
                same => same,
            };
            moved |= stand != work.saturation[k];
            work.saturation[k] = stand;
        }
        moved
    }

    /// Rows of servos on tendons, sites and turning joints: ℓ̇⁺ + rλ = r(f₀ − kp ℓ), r = 1/(h kp + kd), λ in the force
    /// range; without springs r = 1/kd, and λ is free. After kinematics.
    pub(super) fn add_servo_rows(&self, state: &RobotState, h: f64, level: Level, work: &mut RobotWork) {
        let RobotWork { tree: w, rows, dense, .. } = work;
        for (k, actuator) in self
            .actuators
            .iter()
            .enumerate()
            .filter(|(_, d)| !matches!(d.transmission, Transmission::Dof { .. } | Transmission::Nothing))
        {
            let law = actuator.law(state, k, h);
            let length = self.measure_actuator(actuator, &state.q, w, dense);
            let whole = law.f0 - law.kp * length - law.kd * crate::math::dot(dense, &state.v);
            if self.is_servo(k, &law, level, whole) {
                let springs = level >= Level::Springs;
                let r = 1.0 / if springs { h * law.kp + law.kd } else { law.kd };
                let range = actuator.force_range.filter(|_| springs).unwrap_or(ANY);
                rows.push_dense(dense, range, r * (law.f0 - law.kp * length));
                rows.end_group();
                let last = rows.len() - 1;
                (rows.softness[last], rows.servo[last]) = (r, Some(k));
            }
            dense.fill(0.0);
        }
    }

    /// Forces of implicit servos at the end of the step, for sensors.
    pub(super) fn read_servo_forces(&self, state: &mut RobotState, h: f64, level: Level, work: &RobotWork) {
        if level < Level::Springs {
            return;
        }
        for k in 0..self.actuators.len() {
            let (actuator, law) = (&self.actuators[k], self.actuators[k].law(state, k, h));
            if let (Transmission::Dof { q, v }, true) =
                (&actuator.transmission, self.is_servo(k, &law, level, 0.0))
            {
                let (g, rate) = (actuator.gear[0], actuator.gear[0] * work.v[*v]);
                let force = law.f0 - law.kp * (g * state.q[*q] + h * rate) - law.kd * rate;
                state.force[k] = actuator.clamp_force(force);
            }
        }
    }
}
