//! `dalembert convert`: robots from one format into another.

use std::path::{Path, PathBuf};

use dalembert::bodies::articulated::description::RobotDescription;
use dalembert_formats::robot::write::{Written, write_mjcf, write_urdf};
use dalembert_formats::robot::{ReadOptions, read_robot, robot_files};
use dalembert_formats::scene;

use crate::exit::{self, Failure, Outcome};
use crate::{guard, output};

const EXAMPLES: &str = "\
Examples:
  dalembert convert arm.urdf arm.xml      URDF into MJCF
  dalembert convert arm.xml arm.urdf      and back, as far as URDF goes
  dalembert convert arm.xml arm.toml      a scene with the robot inside
  dalembert convert scene.toml arm.xml    the robot of a scene

What the new format could not carry is listed, one line each.";

/// What `convert` takes.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Robot (.urdf, .xml) or scene with one robot (.toml, .json)
    #[arg(value_name = "IN")]
    input: PathBuf,
    /// File to write: .urdf, .xml (MJCF) or .toml (a scene)
    #[arg(value_name = "OUT")]
    output: PathBuf,
    /// Let the root of a URDF float
    #[arg(long)]
    floating: bool,
    /// Treat everything that cannot be carried as an error, and write nothing
    #[arg(long)]
    strict: bool,
}

pub(crate) fn command(args: Args) -> Outcome {
    let Input { robot, mut lost, files } = read(&args)?;
    guard::not_in_place(&args.output, &files)?;
    let written = match ending(&args.output).as_str() {
        "urdf" => write_urdf(&robot),
        "xml" | "mjcf" => write_mjcf(&robot),
        "toml" => scene_text(&robot),
        other => {
            return Err(Failure::Usage(format!(
                "OUT ends in `{other}`; robots are written as .urdf, .xml (MJCF) or .toml"
            )));
        }
    };
    lost.extend(written.lost);
    for line in &lost {
        output::print(&format!("not carried: {line}\n"))?;
    }
    if args.strict && !lost.is_empty() {
        return Err(Failure::Usage(format!("{} things cannot be carried; nothing was written", lost.len())));
    }
    std::fs::write(&args.output, written.text)
        .map_err(|e| Failure::Io(format!("cannot write `{}`: {e}", args.output.display())))?;
    output::print(&format!(
        "wrote {}: {} bodies, {} freedoms\n",
        args.output.display(),
        robot.bodies.len() - 1,
        robot.velocity_count()
    ))
}

fn ending(path: &Path) -> String {
    path.extension().map(|end| end.to_string_lossy().to_lowercase()).unwrap_or_default()
}

/// What is converted.
struct Input {
    robot: RobotDescription,
    /// What a scene says besides.
    lost: Vec<String>,
    /// The files that say it, with all that they include.
    files: Vec<PathBuf>,
}

fn read(args: &Args) -> Result<Input, Failure> {
    if matches!(ending(&args.input).as_str(), "xml" | "mjcf" | "urdf") {
        let options = ReadOptions { floating_base: args.floating, ..ReadOptions::default() };
        let (robot, warnings) = read_robot(&args.input, &options)?;
        exit::warn(&warnings);
        return Ok(Input { robot, lost: Vec::new(), files: robot_files(&args.input)? });
    }
    let mut file = scene::load(&args.input)?;
    exit::warn(&file.warnings);
    if file.scene.robot.len() != 1 {
        let count = file.scene.robot.len();
        let reason = format!("`{}` holds {count} robots; one is needed", args.input.display());
        return Err(Failure::Usage(reason));
    }
    let mut files: Vec<PathBuf> = file.source.files.iter().map(|file| file.name().into()).collect();
    for path in &file.source.robots {
        files.extend(robot_files(path)?);
    }
    let item = file.scene.robot.remove(0);
    let scene = &file.scene;
    let mut robot = item.robot;
    robot.options.timestep = scene.dt;
    robot.options.gravity = scene.gravity;
    let mut lost = Vec::new();
    for (what, count) in [
        ("rigid bodies", scene.rigid.len()),
        ("joints between them", scene.joint.len()),
        ("sets of particles", scene.particles.len()),
        ("soft bodies", scene.soft.len() + scene.cloth.len() + scene.affine.len()),
        ("expectations", scene.expect.len()),
        ("positions of joints at the start", item.positions.len()),
        ("controls at the start", item.controls.len()),
    ] {
        if count > 0 {
            lost.push(format!("{count} {what} of the scene"));
        }
    }
    if item.drive != dalembert::scene::Drive::Actuators {
        lost.push("the drive of the scene".into());
    }
    if item.pose != dalembert::math::Pose::identity() {
        lost.push("the pose of the robot in the scene".into());
    }
    Ok(Input { robot, lost, files })
}

/// A scene with the robot inside.
fn scene_text(robot: &RobotDescription) -> Written {
    let inner = write_mjcf(robot);
    let literal = |text: &str| serde_json::Value::from(text).to_string();
    let (o, g) = (&robot.options, robot.options.gravity);
    let text = format!(
        "title = {}\nmethod = \"impulse\"\ndt = {:?}\nduration = {:?}\ngravity = [{:?}, {:?}, {:?}]\n\n[[robot]]\nname = \"robot\"\ntext = {}\n",
        literal(&robot.name),
        o.timestep,
        1000.0 * o.timestep,
        g.x,
        g.y,
        g.z,
        // A string of three quotes takes everything but itself, and MJCF has no such thing.
        if inner.text.contains("'''") { literal(&inner.text) } else { format!("'''\n{}'''", inner.text) },
    );
    Written { text, lost: inner.lost }
}
