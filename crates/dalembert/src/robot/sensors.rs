//! Readings of sensors, as MJCF defines them.
//!
//! Accelerations are those of the last step, $(v^+ - v)/h$; an accelerometer reads them against gravity, so at rest it
//! shows +g upwards. Force and torque sensors read what the body of a site receives from its parent: the sum over
//! everything behind it of $m(a - g)$ and of its torque, in the axes of the site. Contact and ranges are not measured
//! and read 0; what touches is known to the whole model: [`Model::touch_sensor`](crate::model::Model::touch_sensor).

use super::actuators::Transmission;
use super::{LinkFrame, Robot, RobotState, RobotWork};
use crate::bodies::articulated::Wrench;
use crate::bodies::articulated::description::{RobotJointId, SensorObject};
use crate::math::rotation::{from_matrix, renormalise};
use crate::math::{Mat3, Vec3};

/// How many numbers a kind of sensor reads.
pub fn sensor_length(kind: &str) -> usize {
    match kind {
        "framequat" | "ballquat" => 4,
        "accelerometer" | "velocimeter" | "gyro" | "force" | "torque" | "magnetometer" | "ballangvel"
        | "framepos" | "framexaxis" | "frameyaxis" | "framezaxis" | "framelinvel" | "frameangvel"
        | "framelinacc" | "frameangacc" | "subtreecom" | "subtreelinvel" | "subtreeangmom" | "normal" => 3,
        "camprojection" => 2,
        "fromto" => 6,
        _ => 1,
    }
}

/// How a frame moves.
struct Moving {
    x: Vec3,
    R: Mat3,
    v: Vec3,
    w: Vec3,
    /// Acceleration, gravity not counted.
    a: Vec3,
    dw: Vec3,
}

impl Robot {
    /// Where sensor k has its numbers in the list of [`read_sensors`](Self::read_sensors), by its name.
    pub fn sensor(&self, name: &str) -> Option<std::ops::Range<usize>> {
        let mut at = 0;
        for sensor in &self.description.sensors {
            let end = at + sensor_length(&sensor.kind);
            if sensor.name == name {
                return Some(at..end);
            }
            at = end;
        }
        None
    }

    /// Readings of all sensors, one after the other, without noise.
    pub fn read_sensors(&self, state: &RobotState, work: &mut RobotWork, out: &mut Vec<f64>) {
        out.clear();
        let tree = &self.tree;
        tree.kinematics(&state.q, &mut work.tree);
        tree.velocities(&state.v, &mut work.tree);
        for sensor in &self.description.sensors {
            let at = out.len();
            out.resize(at + sensor_length(&sensor.kind), 0.0);
            self.read_sensor(&sensor.kind, sensor.object, sensor.reference, state, work, &mut out[at..]);
            if sensor.cutoff > 0.0 && !sensor.kind.ends_with("quat") {
                out[at..].iter_mut().for_each(|x| *x = x.clamp(-sensor.cutoff, sensor.cutoff));
            }
        }
    }

    fn read_sensor(
        &self,
        kind: &str,
        object: SensorObject,
        reference: Option<SensorObject>,
        state: &RobotState,
        work: &mut RobotWork,
        out: &mut [f64],
    ) {
        let put = |out: &mut [f64], x: Vec3| out[..3].copy_from_slice(x.as_slice());
        match kind {
            "clock" => out[0] = state.time,
            "e_kinetic" => out[0] = self.tree.kinetic_energy(&state.v, &work.tree),
            "e_potential" => {
                out[0] = self.tree.gravity_energy(&work.tree) + self.tree.spring_energy(&state.q)
            }
            "jointpos" | "jointvel" | "ballquat" | "ballangvel" | "jointactuatorfrc" | "jointlimitpos"
            | "jointlimitvel" => {
                if let SensorObject::Joint(joint) = object {
                    self.read_joint(kind, joint, state, out);
                }
            }
            "tendonpos" | "tendonvel" => {
                if let SensorObject::Tendon(k) = object {
                    work.dense.fill(0.0);
                    let length =
                        self.measure_tendon(&self.tendons[k.0], &state.q, &work.tree, &mut work.dense);
                    let rate = crate::math::dot(&work.dense, &state.v);
                    work.dense.fill(0.0);
                    out[0] = if kind == "tendonpos" { length } else { rate };
                }
            }
            "tendonactuatorfrc" => {
                if let SensorObject::Tendon(k) = object {
                    let on = self
                        .actuators
                        .iter()
                        .zip(&state.force)
                        .filter(|(d, _)| d.transmission == Transmission::Tendon(k.0));
                    out[0] = on.map(|(d, f)| d.gear[0] * f).sum();
                }
            }
            "actuatorpos" | "actuatorvel" | "actuatorfrc" => {
                if let SensorObject::Actuator(k) = object {
                    work.dense.fill(0.0);
                    let length =
                        self.measure_actuator(&self.actuators[k.0], &state.q, &work.tree, &mut work.dense);
                    let rate = crate::math::dot(&work.dense, &state.v);
                    work.dense.fill(0.0);
                    out[0] = match kind {
                        "actuatorpos" => length,
                        "actuatorvel" => rate,
                        _ => state.force[k.0],
                    };
                }
            }
            "subtreecom" | "subtreelinvel" | "subtreeangmom" => {
                if let SensorObject::Body(body) | SensorObject::BodyInertial(body) = object {
                    put(out, self.read_subtree(kind, body.0, work));
                }
            }
            "force" | "torque" => {
                if let Some(frame) = self.frame_of(object) {
                    let wrench = self.carried(&frame, state, work);
                    let (x, R) = (self.position(&frame, &work.tree), self.rotation(&frame, &work.tree));
                    let own =
                        if kind == "force" { wrench.force } else { wrench.torque - x.cross(&wrench.force) };
                    put(out, R.transpose() * own);
                }
            }
            _ => {
                if let Some(frame) = self.frame_of(object) {
                    let other = reference.and_then(|r| self.frame_of(r));
                    self.read_frame(kind, &frame, other.as_ref(), state, work, out);
                }
            }
        }
    }

    /// What is measured of the motion of a frame, seen from another one if there is one.
    fn read_frame(
        &self,
        kind: &str,
        frame: &LinkFrame,
        reference: Option<&LinkFrame>,
        state: &RobotState,
        work: &RobotWork,
        out: &mut [f64],
    ) {
        let put = |out: &mut [f64], x: Vec3| out[..3].copy_from_slice(x.as_slice());
        let me = self.moving(frame, state, work);
        let other = reference.map(|frame| self.moving(frame, state, work));
        let into = |x: Vec3| other.as_ref().map_or(x, |o| o.R.transpose() * x);
        match kind {
            "gyro" => put(out, me.R.transpose() * me.w),
            "velocimeter" => put(out, me.R.transpose() * me.v),
            "accelerometer" => put(out, me.R.transpose() * (me.a - self.tree.gravity)),
            "magnetometer" => put(out, me.R.transpose() * self.description.options.magnetic),
            "framepos" => put(out, into(me.x - other.as_ref().map_or(Vec3::zeros(), |o| o.x))),
            "framexaxis" => put(out, into(me.R.column(0).into_owned())),
            "frameyaxis" => put(out, into(me.R.column(1).into_owned())),
            "framezaxis" => put(out, into(me.R.column(2).into_owned())),
            "framequat" => {
                let R = other.as_ref().map_or(me.R, |o| o.R.transpose() * me.R);
                let q = renormalise(&from_matrix(&R));
                out[..4].copy_from_slice(&[q.w, q.i, q.j, q.k]);
            }
            "framelinvel" => {
                // Seen from a frame that turns itself.
                let seen = other.as_ref().map_or(me.v, |o| me.v - o.v - o.w.cross(&(me.x - o.x)));
                put(out, into(seen));
            }
            "frameangvel" => put(out, into(me.w - other.as_ref().map_or(Vec3::zeros(), |o| o.w))),
            "framelinacc" => put(out, me.a - self.tree.gravity),
            "frameangacc" => put(out, me.dw),
            _ => {}
        }
    }

    fn read_joint(&self, kind: &str, joint: RobotJointId, state: &RobotState, out: &mut [f64]) {
        let Some(place) = self.joint_place(joint) else { return };
        let (q, v) = (place.q.start, place.v.start);
        match kind {
            "ballquat" => out.copy_from_slice(&state.q[q..q + 4]),
            "ballangvel" => out.copy_from_slice(&state.v[v..v + 3]),
            "jointpos" => out[0] = state.q[q],
            "jointvel" => out[0] = state.v[v],
            "jointactuatorfrc" => {
                let on = self.actuators.iter().zip(&state.force);
                out[0] = on
                    .filter(|(d, _)| matches!(d.transmission, Transmission::Dof { v: d, .. } if d == v))
                    .map(|(d, f)| d.gear[0] * f)
                    .sum();
            }
            _ => {
                let Some([low, high]) = place.limits else { return };
                let (below, above) = (state.q[q] - low, high - state.q[q]);
                out[0] = match kind {
                    "jointlimitpos" => below.min(above),
                    _ if below < above => state.v[v],
                    _ => -state.v[v],
                };
            }
        }
    }

    fn frame_of(&self, object: SensorObject) -> Option<LinkFrame> {
        match object {
            SensorObject::Body(body) => Some(self.body_frame(body)),
            SensorObject::BodyInertial(body) => {
                let mut frame = self.body_frame(body);
                frame.pose.position = self.description.bodies[body.0].inertial.center;
                Some(frame)
            }
            SensorObject::Site(site) => Some(self.sites[site.0]),
            SensorObject::Geom(geom) => {
                let (body, geom) = self.description.geoms().nth(geom.0)?;
                Some(LinkFrame { link: body.0.checked_sub(1), pose: geom.pose })
            }
            _ => None,
        }
    }

    /// After kinematics and velocities.
    fn moving(&self, frame: &LinkFrame, state: &RobotState, work: &RobotWork) -> Moving {
        let (x, R) = (self.position(frame, &work.tree), self.rotation(frame, &work.tree));
        let o = Vec3::zeros();
        let mut moving = Moving { x, R, v: o, w: o, a: o, dw: o };
        if let Some(link) = frame.link {
            let now = self.tree.point_velocity(link, &x, &work.tree);
            let bias = self.tree.point_bias_acceleration(link, &x, &work.tree);
            (moving.v, moving.w, moving.a, moving.dw) = (now.linear, now.angular, bias.linear, bias.angular);
            self.tree.each_column(link, &x, &work.tree, |d, l, s| {
                moving.a += state.acceleration[d] * l;
                moving.dw += state.acceleration[d] * s;
            });
        }
        moving
    }

    /// True if `body` is `ancestor` or behind it.
    fn behind(&self, mut body: usize, ancestor: usize) -> bool {
        while body != ancestor && body != 0 {
            body = self.description.bodies[body].parent.0;
        }
        body == ancestor
    }

    /// Force, and torque about the world's origin, that everything behind a frame's body takes from the parent.
    fn carried(&self, frame: &LinkFrame, state: &RobotState, work: &RobotWork) -> Wrench {
        let mut sum = Wrench::default();
        let ancestor = frame.link.map_or(0, |link| link + 1);
        for (i, body) in
            self.description.bodies.iter().enumerate().skip(1).filter(|(i, _)| self.behind(*i, ancestor))
        {
            let at = LinkFrame { link: Some(i - 1), pose: crate::math::Pose::at(body.inertial.center) };
            let m = self.moving(&at, state, work);
            let force = body.inertial.mass * (m.a - self.tree.gravity);
            let I = m.R * body.inertial.inertia * m.R.transpose();
            sum.force += force;
            sum.torque += I * m.dw + m.w.cross(&(I * m.w)) + m.x.cross(&force);
        }
        sum
    }

    fn read_subtree(&self, kind: &str, ancestor: usize, work: &RobotWork) -> Vec3 {
        let (mut mass, mut center, mut P, mut L) = (0.0, Vec3::zeros(), Vec3::zeros(), Vec3::zeros());
        for (i, body) in
            self.description.bodies.iter().enumerate().skip(1).filter(|(i, _)| self.behind(*i, ancestor))
        {
            let m = body.inertial.mass;
            let x = self.tree.link_center(i - 1, &work.tree);
            let R = self.tree.link_rotation(i - 1, &work.tree);
            let now = self.tree.point_velocity(i - 1, &x, &work.tree);
            mass += m;
            center += m * x;
            P += m * now.linear;
            L += x.cross(&(m * now.linear)) + R * body.inertial.inertia * R.transpose() * now.angular;
        }
        if mass == 0.0 {
            return Vec3::zeros();
        }
        center /= mass;
        match kind {
            "subtreecom" => center,
            "subtreelinvel" => P / mass,
            _ => L - center.cross(&P),
        }
    }
}
