//! Robots: from checked tables to the scene of the engine, and scenes around a single robot.

use std::path::Path;

use dalembert::bodies::articulated::description::RobotIntegrator;
use dalembert::math::Pose;
use dalembert::robot::Track;
use dalembert::scene::{Drive, RobotItem};

use super::convert::name;
use super::convert_mechanism::{collide, orientation};
use crate::assets::Assets;
use crate::describe::View;
use crate::error::{Diagnostic, Files, Problems, SceneFileError, quote_path};
use crate::robot::{MeshPolicy, ReadOptions, read_robot, read_robot_text};
use crate::source::{Includes, robot_name};
use crate::tree::Value;

/// A robot; `None` if its text is none, which is among the problems then.
pub(super) fn robot(
    t: &View<'_>,
    files: &Files,
    assets: &Assets,
    problems: &mut Problems,
) -> Option<RobotItem> {
    let text = t.maybe_text("text").unwrap_or_default();
    let base = t.maybe_text("base");
    let options = ReadOptions { floating_base: base == Some("floating"), ..ReadOptions::default() };
    let given = name(t);
    let file = if given.is_empty() { "robot" } else { &given };
    let robot = match read_robot_text(format!("{file}.xml"), text, Includes::Assets(assets), &options) {
        // What the file could not carry was said when it was read.
        Ok((robot, _)) => robot,
        Err(error) => {
            problems.push(files.error(t.span("text"), format!("this is no robot:\n{error}")));
            return None;
        }
    };
    let called = if given.is_empty() { robot_name(&robot.name, "") } else { given };
    let by_name = |key: &str| -> Vec<(String, f64)> {
        let number = |value: &Value| match value {
            Value::Number(x) => *x,
            Value::Integer(i) => *i as f64,
            _ => 0.0,
        };
        t.entries(key).iter().map(|entry| (entry.key.clone(), number(&entry.node.value))).collect()
    };
    Some(RobotItem {
        pose: Pose::new(t.vec3("position").into(), orientation(t, "orientation", files, problems)),
        fixed: base == Some("fixed"),
        keyframe: t.maybe_text("keyframe").unwrap_or_default().to_owned(),
        positions: by_name("positions"),
        velocities: by_name("velocities"),
        controls: by_name("controls"),
        drive: t.table("drive").map(|drive| self::drive(&drive)).unwrap_or_default(),
        integrator: RobotIntegrator::STEPPED
            .iter()
            .find(|(name, _)| *name == t.text("integrator"))
            .map_or(RobotIntegrator::Discrete, |(_, integrator)| *integrator),
        collide: collide(t, files, problems),
        ..RobotItem::new(called, robot)
    })
}

fn drive(t: &View<'_>) -> Drive {
    let tracks = t
        .tables("tracks")
        .iter()
        .map(|t| {
            let track = Track {
                center: t.number("center"),
                amplitude: t.number("amplitude"),
                frequency: t.number("frequency"),
                phase: t.number("phase"),
            };
            (t.text("joint").to_owned(), track)
        })
        .collect();
    let (kp, kd) = (t.number("kp"), t.number("kd"));
    match t.text("kind") {
        "pd" => Drive::Pd { kp, kd, tracks, gravity: t.bool("gravity") },
        "computed_torque" => Drive::ComputedTorque { kp, kd, tracks },
        _ => Drive::GravityCompensation,
    }
}

/// True if a path names a robot and not a scene.
pub(super) fn is_robot(path: &Path) -> bool {
    path.extension().is_some_and(|end| end.eq_ignore_ascii_case("xml") || end.eq_ignore_ascii_case("urdf"))
}

/// A scene with nothing but the robot of a file, under the step and gravity that the file asks for.
pub fn scene_around(path: &Path) -> Result<String, SceneFileError> {
    // What the scene takes from its meshes is read with the scene.
    let options = ReadOptions { meshes: MeshPolicy::Skip, ..ReadOptions::default() };
    let (robot, _) = read_robot(path, &options)?;
    let file = path.file_name().and_then(|name| name.to_str());
    let Some(file) = file else {
        return Err(
            Diagnostic::error(format!("{} has no name", quote_path(&path.display().to_string()))).into()
        );
    };
    let o = &robot.options;
    // Robots touch nothing under `lagrange`: order four is for those that could not touch anyway.
    let fourth_order = o.integrator == RobotIntegrator::Rk4 && !robot.touches();
    let method = if fourth_order { "lagrange" } else { "impulse" };
    let stepped = RobotIntegrator::STEPPED.iter().find(|(_, own)| *own == o.integrator);
    let integrator = stepped.map_or(String::new(), |(name, _)| format!("integrator = \"{name}\"\n"));
    let g = if o.disables("gravity") { dalembert::math::Vec3::zeros() } else { o.gravity };
    let literal = |text: &str| serde_json::Value::from(text).to_string();
    Ok(format!(
        "title = {}\nmethod = \"{method}\"\ndt = {:?}\nduration = {:?}\ngravity = [{:?}, {:?}, {:?}]\n\n[[robot]]\nname = \"robot\"\nfile = {}\n{integrator}",
        literal(if robot.name.is_empty() { file } else { &robot.name }),
        o.timestep,
        1000.0 * o.timestep,
        g.x,
        g.y,
        g.z,
        literal(file),
    ))
}
