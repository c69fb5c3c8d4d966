//! A scene of rigid-ipc as a scene of this engine: JSON text that [`crate::scene::load_text`] reads, complete without files.
//!
//! | there | here |
//! |---|---|
//! | closed mesh | rigid body of its density, run by `ipc` as a stiff affine body |
//! | any other mesh | sheet whose thickness, for its mass, is the distance at which contact begins |
//! | `static` | body with a `fix` |
//! | `kinematic` | body with a `motion`: pose k is reached at step k, then its velocities hold until its time is over |
//! | fixed freedoms | `fix` of the centre along axes, `fix` of all turning, or a hinge to the world through the centre of mass |
//! | `group_id` | contact switched off among the group |
//!
//! Angular velocities of rigid bodies are told in body axes here, in world axes there.

use std::collections::BTreeMap;
use std::sync::Arc;

use dalembert::bodies::{MeshError, Shape, Shell, TriangleMesh};
use dalembert::math::Vec3;
use serde_json::{Value, json};

use super::{RigidIpcBody, RigidIpcScene, Role};

/// Most passes of friction per step, where the file asks for as many as it takes.
const MOST_PASSES: i64 = 10;
/// Fixed freedoms that no joint here leaves.
const UNKNOWN: &str = "one or two fixed turns need all shifts fixed as well, and then one turn left";

/// What cannot be told: the body and a sentence.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("body `{body}`: {reason}")]
pub struct Untold {
    /// Name of the body.
    pub body: String,
    /// Why.
    pub reason: String,
}

/// The lists of tables that bodies add to.
#[derive(Default)]
struct Lists {
    rigid: Vec<Value>,
    fix: Vec<Value>,
    motion: Vec<Value>,
    push: Vec<Value>,
    joint: Vec<Value>,
    contact: Vec<Value>,
}

impl RigidIpcScene {
    /// The scene as JSON of this engine, for the method `ipc`.
    pub fn translate(&self) -> Result<String, Untold> {
        let mut lists = Lists::default();
        let mut groups: BTreeMap<i64, Vec<&str>> = BTreeMap::new();
        for body in &self.bodies {
            body.tell(self, &mut lists)?;
            if let Some(group) = body.group {
                groups.entry(group).or_default().push(&body.name);
            }
        }
        for members in groups.values() {
            for (k, a) in members.iter().enumerate() {
                for b in &members[k + 1..] {
                    lists.contact.push(json!({ "between": [a, b], "enabled": false }));
                }
            }
        }
        let passes = if self.friction_passes < 1 { MOST_PASSES } else { self.friction_passes };
        let mut scene = json!({
            "title": self.title,
            "method": "ipc",
            "dt": self.dt,
            "duration": (self.duration / self.dt).floor() * self.dt,
            "gravity": numbers(&self.gravity),
            "ipc": {
                "gap": self.gap,
                "friction": self.friction,
                "friction_speed": self.friction_speed,
                "friction_passes": passes.clamp(1, 1000),
                "tolerance": self.velocity_tolerance.min(1e-3),
            },
        });
        let Lists { rigid, fix, motion, push, joint, contact } = lists;
        for (key, list) in [
            ("rigid", rigid),
            ("fix", fix),
            ("motion", motion),
            ("push", push),
            ("joint", joint),
            ("contact", contact),
        ] {
            if !list.is_empty() {
                scene[key] = list.into();
            }
        }
        Ok(format!("{scene:#}\n"))
    }
}

fn numbers(v: &Vec3) -> Value {
    json!([v.x, v.y, v.z])
}

impl RigidIpcBody {
    /// Its mesh as a solid if it encloses one, inside out or not, else as a sheet of the given thickness \[m\].
    pub fn solid_or_sheet(&self, thickness: f64) -> Result<Shape, MeshError> {
        let solid = |triangles: Vec<[u32; 3]>| TriangleMesh::new(self.vertices.clone(), triangles);
        let closed = match solid(self.triangles.clone()) {
            Err(MeshError::InsideOut { .. }) => solid(TriangleMesh::reversed(&self.triangles)),
            other => other,
        };
        match closed {
            Ok(mesh) => Ok(Shape::Mesh(Arc::new(mesh))),
            Err(_) => Shell::new(self.vertices.clone(), self.triangles.clone(), thickness)
                .map(|shell| Shape::Shell(Arc::new(shell))),
        }
    }

    fn tell(&self, scene: &RigidIpcScene, out: &mut Lists) -> Result<(), Untold> {
        let untold = |reason: String| Untold { body: self.name.clone(), reason };
        if self.triangles.is_empty() {
            return Err(untold("it has no triangles; bodies of edges or points are not simulated".into()));
        }
        let shape = self.solid_or_sheet(scene.gap).map_err(|e| untold(e.to_string()))?;
        let center = shape.unit_mass_properties().map(|m| m.center).unwrap_or_default();
        let center = self.position + self.rotation * center;
        let mut told = json!({
            "vertices": self.vertices.iter().map(numbers).collect::<Vec<_>>(),
            "triangles": shape.triangles().triangles(),
        });
        if let Shape::Shell(shell) = &shape {
            told["thickness"] = shell.thickness().into();
        }
        let turn = self.rotation.quaternion();
        let mut body = json!({
            "name": self.name,
            "shape": told,
            "density": self.density,
            "position": numbers(&self.position),
            "orientation": [turn.w, turn.i, turn.j, turn.k],
        });
        let mut turning = self.angular_velocity;
        let mut velocity = self.velocity;
        match self.role {
            Role::Static => {
                out.fix.push(json!({ "on": self.name }));
                (velocity, turning) = (Vec3::zeros(), Vec3::zeros());
            }
            Role::Kinematic => {
                out.motion.push(self.ride(scene.dt));
                (velocity, turning) = (Vec3::zeros(), Vec3::zeros());
            }
            Role::Dynamic => {
                if self.force != Vec3::zeros() {
                    let on = format!("{}[0]", self.name);
                    out.push.push(json!({ "on": on, "force": numbers(&self.force) }));
                }
                if self.torque != Vec3::zeros() {
                    out.push.push(json!({ "on": self.name, "torque": numbers(&self.torque) }));
                }
                self.hold(&center, &mut velocity, &mut turning, out)
                    .map_err(|reason| untold(reason.into()))?;
            }
        }
        if velocity != Vec3::zeros() {
            body["velocity"] = numbers(&velocity);
        }
        if turning != Vec3::zeros() {
            body["angular_velocity"] = numbers(&(self.rotation.inverse() * turning));
        }
        out.rigid.push(body);
        Ok(())
    }

    /// Fixed freedoms of a dynamic body; what is left of its velocities.
    fn hold(
        &self,
        center: &Vec3,
        velocity: &mut Vec3,
        turning: &mut Vec3,
        out: &mut Lists,
    ) -> Result<(), &'static str> {
        let axes = [Vec3::x(), Vec3::y(), Vec3::z()];
        let fixed = |from: usize| (0..3).filter(|k| self.fixed[from + k]).collect::<Vec<usize>>();
        let (shifts, turns) = (fixed(0), fixed(3));
        shifts.iter().for_each(|&k| velocity[k] = 0.0);
        turns.iter().for_each(|&k| turning[k] = 0.0);
        let hinge = match (turns.len(), shifts.len()) {
            (0 | 3, _) => false,
            (2, 3) => true,
            _ => return Err(UNKNOWN),
        };
        if hinge {
            let free = (0..3).find(|&k| !self.fixed[3 + k]).unwrap_or(2);
            out.joint.push(json!({
                "name": format!("{}-hinge", self.name),
                "kind": "hinge",
                "between": ["world", self.name],
                "anchor": numbers(center),
                "axis": numbers(&axes[free]),
            }));
            return Ok(());
        }
        if turns.len() == 3 {
            out.fix.push(json!({ "on": format!("{}[1:4]", self.name) }));
        }
        let place = format!("{}[0]", self.name);
        match shifts.len() {
            0 => {}
            3 => out.fix.push(json!({ "on": place })),
            _ => {
                let directions: Vec<Value> = shifts.iter().map(|&k| numbers(&axes[k])).collect();
                out.fix.push(json!({ "on": place, "directions": directions }));
            }
        }
        Ok(())
    }

    /// The motion of a kinematic body.
    fn ride(&self, dt: f64) -> Value {
        let from = self.poses.len() as f64 * dt;
        let mut motion = json!({
            "on": self.name,
            "velocity": numbers(&self.velocity),
            "angular_velocity": numbers(&self.angular_velocity),
            "from": from,
        });
        if self.kinematic_until.is_finite() {
            motion["until"] = self.kinematic_until.max(from).into();
        }
        if !self.poses.is_empty() {
            let times: Vec<f64> = (0..=self.poses.len()).map(|k| k as f64 * dt).collect();
            let shifts = self.poses.iter().map(|(place, _)| place - self.position);
            let shifts: Vec<Value> =
                std::iter::once(Vec3::zeros()).chain(shifts).map(|x| numbers(&x)).collect();
            motion["path"] = json!({ "times": times, "shifts": shifts });
        }
        motion
    }
}
