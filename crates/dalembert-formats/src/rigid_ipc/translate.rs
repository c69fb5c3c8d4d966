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
            body["angular_velocity"] = numbers(&turning);
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

#[cfg(test)]
mod tests {
    use super::super::read;
    use crate::scene::{Built, load, load_text};
    use crate::source::Includes;

    const TET: &str = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 3 1 4\n";
    const PLANE: &str = "v -1 0 -1\nv 1 0 -1\nv 1 0 1\nv -1 0 1\nf 1 3 2\nf 1 4 3\n";

    fn build(bodies: &str) -> Result<Built, String> {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("meshes")).unwrap();
        std::fs::write(folder.path().join("meshes/tet.obj"), TET).unwrap();
        std::fs::write(folder.path().join("meshes/plane.obj"), PLANE).unwrap();
        let path = folder.path().join("scene.json");
        let text = format!(
            r#"{{"timestep": 0.01, "max_time": 0.5,
                "rigid_body_problem": {{"gravity": [0, -9.8, 0], "rigid_bodies": [{bodies}]}}}}"#
        );
        std::fs::write(&path, text).unwrap();
        let built = load(&path).map_err(|e| e.to_string())?.build().map_err(|e| e.to_string())?;
        // What a recording keeps builds the same scene without any file.
        let again = load_text("again.json", &built.json, Includes::None).unwrap().build().unwrap();
        assert_eq!(built.simulation.state.q, again.simulation.state.q);
        Ok(built)
    }

    #[test]
    fn a_body_falls_on_an_open_static_sheet_and_stays_above() {
        let bodies = r#"{"mesh": "tet.obj", "position": [0, 0.1, 0], "scale": 0.1},
            {"mesh": "plane.obj", "type": "static"}"#;
        let mut sim = build(bodies).unwrap().simulation;
        sim.run(0.5).unwrap();
        // Its lowest vertices are its origin's, a quarter of the height below its centre of mass.
        let height = sim.state.q[1] - 0.025;
        assert!(height > 0.0 && height < 2e-3, "{height}");
        assert_eq!(sim.state.q[13], 0.0);
    }

    #[test]
    fn kinematic_bodies_take_their_poses_and_turn_until_their_time() {
        let bodies = r#"{"mesh": "tet.obj", "type": "kinematic", "position": [0, 5, 0],
            "kinematic_poses": [{"position": [0, 5, 1]}, {"position": [0, 5, 2]}],
            "linear_velocity": [1, 0, 0], "angular_velocity": [0, 0, 90], "kinematic_max_time": 0.22}"#;
        let mut sim = build(bodies).unwrap().simulation;
        let start = sim.state.q.clone();
        for (time, x, z) in [(0.01, 0.0, 1.0), (0.02, 0.0, 2.0), (0.12, 0.1, 2.0), (0.4, 0.2, 2.0)] {
            while sim.state.time < time - 1e-9 {
                sim.step().unwrap();
            }
            let (dx, dz) = (sim.state.q[0] - start[0], sim.state.q[2] - start[2]);
            assert!((dx - x).abs() < 1e-12 && (dz - z).abs() < 1e-12, "{dx} {dz} at {time}");
            let angle = sim.state.q[4].atan2(sim.state.q[3]);
            assert!((angle - 0.5 * std::f64::consts::PI * x).abs() < 1e-12, "{angle}");
        }
    }

    #[test]
    fn fixed_freedoms_hold() {
        let body = |fixed: &str| {
            format!(
                r#"{{"mesh": "tet.obj", "position": [0, 5, 0], "is_dof_fixed": [{fixed}],
                    "linear_velocity": [1, 2, 3], "angular_velocity": [100, 200, 300]}}"#
            )
        };
        // Of a hinge only the turn about z is left, of a rail only the shift along y.
        let mut sim = build(&body("true, true, true, true, true, false")).unwrap().simulation;
        let start = sim.state.q.clone();
        sim.run(0.1).unwrap();
        let q = &sim.state.q;
        assert!((0..3).all(|k| (q[k] - start[k]).abs() < 1e-9));
        assert!((q[11] - 1.0).abs() < 1e-9 && q[5].abs() < 1e-9 && (q[4].atan2(q[3]) - 0.524).abs() < 1e-2);
        let mut sim = build(&body("true, false, true, true, true, true")).unwrap().simulation;
        sim.run(0.1).unwrap();
        let q = &sim.state.q;
        assert!((q[0] - start[0]).abs() < 1e-12 && (q[3..12] == start[3..12]));
        // Implicit Euler: y = v t − g t (t + h)/2.
        assert!((q[1] - start[1] - 0.2 + 4.9 * 0.1 * 0.11).abs() < 1e-6, "{}", q[1] - start[1]);
        let odd = build(&body("false, true, true, true, true, false")).unwrap_err();
        assert!(odd.contains("tet") && odd.contains("fixed turns"), "{odd}");
    }

    #[test]
    fn what_is_no_scene_in_space_is_refused_with_a_reason() {
        let flat = r#"{"vertices": [[0, 0], [1, 0], [0, 1]], "edges": [[0, 1], [1, 2], [2, 0]]}"#;
        assert!(build(flat).unwrap_err().contains("scenes in the plane are not read"));
        let lines = r#"{"vertices": [[0,0,0],[1,0,0]], "edges": [[0, 1]]}"#;
        assert!(build(lines).unwrap_err().contains("no triangles"));
        let sunk =
            r#"{"mesh": "tet.obj", "position": [0, -0.1, 0]}, {"mesh": "plane.obj", "type": "static"}"#;
        let message = build(sunk).unwrap_err();
        assert!(message.contains("intersect at the start") && message.contains("`plane`"), "{message}");
        assert!(read("/nowhere.json").is_err());
    }
}
