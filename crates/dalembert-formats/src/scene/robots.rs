//! Robots of a scene file, and scenes around a single robot.

use std::path::Path;

use dalembert::describe::Findings;
use dalembert::scene::Scene;
use dalembert::scene::description::{RobotDescription, RobotIntegrator};

use crate::assets::Assets;
use crate::describe::View;
use crate::error::{Diagnostic, SceneFileError, quote_path};
use crate::robot::{MeshPolicy, ReadOptions, read_robot, read_robot_text};
use crate::source::{Includes, robot_name};

/// Reads the texts of all robots of a file; a robot without a name gets that of its text.
pub(super) fn fill_in(scene: &mut Scene, root: &View<'_>, assets: &Assets, found: &mut Findings) {
    let items = std::mem::take(&mut scene.robot);
    for (mut item, t) in items.into_iter().zip(root.tables("robot")) {
        let Some(robot) = robot(&t, &item.name, assets, found) else { continue };
        if item.name.is_empty() {
            item.name = robot_name(&robot.name, "");
        }
        item.robot = robot;
        scene.robot.push(item);
    }
}

/// A robot; `None` if its text is none, which is among the findings then.
fn robot(t: &View<'_>, name: &str, assets: &Assets, found: &mut Findings) -> Option<RobotDescription> {
    let text = t.maybe_text("text").unwrap_or_default();
    let floating_base = t.maybe_text("base") == Some("floating");
    let options = ReadOptions { floating_base, ..ReadOptions::default() };
    let file = if name.is_empty() { "robot" } else { name };
    // What the file could not carry was said when it was read.
    read_robot_text(format!("{file}.xml"), text, Includes::Assets(assets), &options)
        .map(|(robot, _)| robot)
        .map_err(|error| found.error(t.span("text"), format!("this is no robot:\n{error}")))
        .ok()
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
