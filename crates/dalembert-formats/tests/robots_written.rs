//! Robots written back and read again are the same robots; scenes hold robots.

use std::fs;
use std::path::{Path, PathBuf};

use dalembert::bodies::articulated::TreeWork;
use dalembert::bodies::articulated::description::RobotDescription;
use dalembert::joints::JointKind;
use dalembert::robot::{Robot, RobotScheme};
use dalembert_formats::robot::write::{write_mjcf, write_urdf};
use dalembert_formats::robot::{ReadOptions, read_robot, read_robot_text};
use dalembert_formats::scene::load_text;
use dalembert_formats::source::Includes;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenes/robots")
}

fn own_robots() -> Vec<(String, RobotDescription)> {
    let mut files: Vec<PathBuf> = fs::read_dir(folder()).unwrap().map(|f| f.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|end| end == "xml" || end == "urdf"));
    files.sort();
    assert!(files.len() >= 6);
    let read = |path: PathBuf| {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        (name, read_robot(&path, &ReadOptions::default()).unwrap().0)
    };
    files.into_iter().map(read).collect()
}

/// M times a velocity and the bias in a moved state.
fn dynamics(robot: &RobotDescription) -> Vec<f64> {
    let tree = robot.tree().unwrap();
    let (n, mut work) = (tree.freedoms(), TreeWork::new(&tree));
    let v: Vec<f64> = (0..n).map(|k| (1.7 * k as f64).sin()).collect();
    let mut q = tree.neutral().to_vec();
    tree.integrate(&mut q, &v, 0.3);
    let (mut a, mut b) = (vec![0.0; n], vec![0.0; n]);
    tree.kinematics(&q, &mut work);
    tree.mass_times(&v, &mut work, &mut a);
    tree.bias(&v, &mut work, &mut b);
    a.extend(b);
    a
}

fn worst(a: &[f64], b: &[f64]) -> f64 {
    assert_eq!(a.len(), b.len());
    let size = b.iter().fold(1e-300f64, |m, x| m.max(x.abs()));
    a.iter().zip(b).fold(0.0f64, |m, (x, y)| m.max((x - y).abs())) / size
}

#[test]
fn a_robot_written_as_mjcf_is_read_as_the_same_robot() {
    for (name, robot) in own_robots() {
        let written = write_mjcf(&robot);
        let (again, warnings) =
            read_robot_text("again.xml", written.text.clone(), Includes::None, &ReadOptions::default())
                .unwrap_or_else(|e| panic!("{name}: {e}"));
        assert!(warnings.is_empty(), "{name}: {warnings:?}");
        assert_eq!(
            (again.bodies.len(), again.actuators.len(), again.tendons.len(), again.sensors.len()),
            (robot.bodies.len(), robot.actuators.len(), robot.tendons.len(), robot.sensors.len()),
            "{name}"
        );
        assert_eq!(again.actuators, robot.actuators, "{name}");
        assert_eq!(again.keyframes.len(), robot.keyframes.len());
        assert_eq!(again.equalities.len(), robot.equalities.len() + robot.mimics.len());
        assert_eq!(again.contact_excludes, robot.contact_excludes);
        assert!(worst(&dynamics(&again), &dynamics(&robot)) < 1e-13, "{name}");
        for (a, b) in again.joints().zip(robot.joints()) {
            assert_eq!((a.1.limits, a.1.damping, a.1.armature), (b.1.limits, b.1.damping, b.1.armature));
        }
        // Said once more, it is said in the same words, but for the rounding of unit quaternions.
        assert_eq!(write_mjcf(&again).text.lines().count(), written.text.lines().count());
    }
}

#[test]
fn a_robot_written_as_urdf_moves_the_same_if_urdf_can_say_it() {
    for (name, robot) in own_robots() {
        let written = write_urdf(&robot);
        let options = ReadOptions {
            floating_base: robot.joints().any(|(_, j)| j.kind == JointKind::Free),
            ..ReadOptions::default()
        };
        let (again, _) = read_robot_text("again.urdf", written.text, Includes::None, &options)
            .unwrap_or_else(|e| panic!("{name}: {e}"));
        assert!((again.total_mass() - robot.total_mass()).abs() < 1e-12, "{name}");
        if !robot.actuators.is_empty() {
            assert!(written.lost.iter().any(|lost| lost.contains("actuators")), "{name}: {:?}", written.lost);
        }
        let sayable = robot.velocity_count() == again.velocity_count();
        assert!(sayable || name.contains("delta"), "{name}: {:?}", written.lost);
        if sayable {
            // Armature is not among the things that URDF has.
            let mut bare = robot.clone();
            bare.bodies.iter_mut().flat_map(|b| &mut b.joints).for_each(|j| j.armature = 0.0);
            let error = worst(&dynamics(&again), &dynamics(&bare));
            assert!(error < 1e-10, "{name}: {error:e}");
        }
    }
}

#[test]
fn a_scene_holds_robots_and_its_json_holds_them_whole() {
    let text = "method = 'impulse'\ndt = 0.002\nduration = 0.1\n[[robot]]\nname = 'arm'\nfile = 'arm.xml'\n\
                position = [0, 0, 1]\npositions = { joint2 = 0.4 }\n\
                [[expect]]\nquantity = 'arm.joint2'\nabove = -10\n";
    let mut built = load_text("s.toml", text, Includes::Directory(&folder())).unwrap().build().unwrap();
    built.simulation.run(0.1).unwrap();
    let mut again =
        load_text("s.json", &built.json, Includes::Assets(&built.assets)).unwrap().build().unwrap();
    again.simulation.run(0.1).unwrap();
    assert_eq!(again.simulation.state, built.simulation.state);
    let arm = built.simulation.model.robot("arm").unwrap();
    assert!(arm.robot.link("link1").is_some() || arm.robot.description.bodies.len() > 5);

    for (bad, word) in [
        ("file = 'nowhere.xml'", "nowhere.xml"),
        ("file = 'arm.xml'\npositions = { jiont2 = 1 }", "jiont2"),
        ("file = 'arm.xml'\ncontrols = { nobody = 1 }", "nobody"),
        ("text = '<mujoco><body'", "this is no robot"),
        ("name = 'b'\nfile = 'arm.xml'\nbase = 'flying'", "flying"),
    ] {
        let name = if bad.contains("name =") { "" } else { "name = 'b'\n" };
        let text = format!("method = 'impulse'\n[[robot]]\n{name}{bad}\n");
        let error = load_text("s.toml", &text, Includes::Directory(&folder()))
            .and_then(|file| file.build().map(|_| ()))
            .unwrap_err()
            .to_string();
        assert!(error.contains(word), "{bad}: {error}");
    }
    let text = "method = 'implicit'\n[[robot]]\nname = 'arm'\nfile = 'arm.xml'\n";
    let error = load_text("s.toml", text, Includes::Directory(&folder())).unwrap().build().unwrap_err();
    assert!(error.to_string().contains("does not take robots"), "{error}");
}

#[test]
fn every_robot_of_our_own_runs() {
    for (name, robot) in own_robots() {
        let robot = Robot::new(robot).unwrap_or_else(|e| panic!("{name}: {e}"));
        let (mut state, mut work) = (robot.start(), robot.work());
        robot.assemble(&mut state, &mut work);
        let mut gap = 0.0f64;
        for _ in 0..500 {
            let report = robot.step(RobotScheme::Implicit, &mut state, 0.002, &mut work).unwrap();
            assert!(report.residual < 1e-6, "{name}: {report:?}");
            gap = gap.max(report.gap);
        }
        assert!(gap < 1e-9, "{name}: gap {gap:e}");
    }
}
