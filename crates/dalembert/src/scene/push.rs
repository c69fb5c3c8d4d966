//! Given forces and torques.

use super::RigidBody;
use super::forces::{ForceBuilder, MakeForce};
use super::keys::*;
use super::layout::{CENTER, chosen};
use super::names::name_of;
use crate::describe::short::*;
use crate::describe::{Forms, Rule, table};
use crate::forces::Force;
use crate::forces::nary::TupleClosure;
use crate::forces::unary::Push;
use crate::math::{Signal, Vec3};
use crate::mesh::Region;
use crate::state::PointId;
use crate::step::Method;

table! {
    /// A given force on each point, constant or multiplied by a factor over time.
    #[derive(Debug, Clone, PartialEq)]
    pub struct PushSet: "push" {
        /// Name, for energies by term.
        name: String = &[FORCE_NAME];
        /// Points that feel it; all particles if empty.
        on: Vec<String> = &[ON];
        /// Only those of the points that start in this region.
        inside: Region = &[INSIDE];
        /// Force on each point.
        force: Vec3 = OPTIONAL, VEC3, "N";
        /// Torque on each body, world axes; for rigid bodies, and affine ones under `ipc`.
        torque: Vec3 = OPTIONAL, VEC3, "N·m";
        /// Whether `force` is that on all the points together, divided evenly.
        total: bool = FALSE, BOOL, "";
        /// Factor over time.
        signal: Signal = Signal::FORMS;
    }
    rules [Rule::AtLeastOne(&["force", "torque"]), Rule::AtMostOne(&["sine", "pulse", "table"])]
}

/// What three points at unit distance along the axes of a body are called behind its name.
const AXES: &str = ".axes";

impl MakeForce for PushSet {
    fn name(&self) -> &str {
        &self.name
    }

    fn acts_at(&self) -> Vec<&String> {
        self.on.iter().collect()
    }

    fn points_on(&self, body: &RigidBody, center: &Vec3) -> Option<(&'static str, Vec<Vec3>)> {
        let turns = self.torque != Vec3::zeros() && self.on.iter().any(|text| name_of(text) == body.name);
        turns.then(|| (AXES, (0..3).map(|k| center + Vec3::ith(k, 1.0)).collect()))
    }

    fn make(&self, at: &mut ForceBuilder<'_>) {
        at.notes.finite3("force", &self.force);
        if let Some(message) = self.signal.defect() {
            at.notes.error("signal", message);
        }
        if self.torque != Vec3::zeros() && !matches!(at.method, Method::Ipc(_)) {
            self.make_torques(at);
        }
        if self.torque != Vec3::zeros() && self.force == Vec3::zeros() {
            return;
        }
        let on = chosen(at.points, at.notes, &at.points.names.all_pushed(&self.on), &self.inside);
        let force = if self.total { self.force / on.len().max(1) as f64 } else { self.force };
        at.add("push", &self.name, Box::new(Push { on, force, signal: self.signal.clone() }));
    }
}

impl PushSet {
    /// A force on four points of each of the bodies.
    fn make_torques(&self, at: &mut ForceBuilder<'_>) {
        for text in &self.on {
            let name = name_of(text);
            if !at.points.names.is_rigid(name) {
                let method = at.method.name();
                let message =
                    format!("`{name}` is no rigid body, and `{method}` turns nothing else by a torque");
                at.notes.error("torque", message);
                continue;
            }
            let body = [CENTER, AXES].map(|end| format!("{name}{end}"));
            let points = at.points.names.list(at.notes, "on", &body);
            let own = if self.force == Vec3::zeros() { self.name.as_str() } else { "" };
            at.add("torque", own, torque(points, self.torque, self.signal.clone()));
        }
        at.notes.finite3("torque", &self.torque);
    }
}

/// A torque τ on a body by forces on its centre (first) and on points at unit distance along its axes a: ½ τ × a on each
/// of these, which do the work ½ δθ · Σ a × (τ × a) = τ · δθ, and minus their sum on the centre.
fn torque(points: Vec<usize>, torque: Vec3, signal: Signal) -> Box<dyn Force> {
    let force = move |t: f64, x: &[Vec3], _: &[Vec3], f: &mut [Vec3]| {
        let half = 0.5 * signal.value(t) * torque;
        for k in 1..4 {
            f[k] = half.cross(&(x[k] - x[0]));
        }
        f[0] = -(f[1] + f[2] + f[3]);
    };
    Box::new(TupleClosure {
        k: points.len(),
        points: points.iter().map(|&i| PointId(i as u32)).collect(),
        force: Box::new(force),
        energy: None,
        internal: false,
    })
}
