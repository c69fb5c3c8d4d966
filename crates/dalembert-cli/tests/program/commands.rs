//! The commands beside `run`: info, check, diff, tables, examples, compare, convert, help.

use std::fs;

use crate::desk::{BALL, Desk, PENDULUM};

#[test]
fn info_tells_what_a_mesh_file_holds_and_what_is_wrong_with_it() {
    use dalembert::math::Vec3;
    use dalembert::mesh::TetMesh;
    use dalembert_formats::mesh::{write_gmsh, write_vtk};

    let desk = Desk::new();
    let mut block = TetMesh::block(Vec3::new(1.0, 2.0, 0.5), [2, 2, 2]).unwrap();
    desk.write("block.msh", &write_gmsh(&(&block).into()));
    let answer = desk.ok(&["info", "block.msh"]);
    assert!(answer.out.contains("tetrahedra  48") && answer.out.contains("1 m³"), "{}", answer.out);
    assert!(!answer.out.contains("problem"), "{}", answer.out);
    let outside = block.boundary().surface;
    desk.write("skin.vtk", &write_vtk(&(&outside).into()));
    let answer = desk.ok(&["info", "skin.vtk"]);
    assert!(answer.out.contains("closed    yes, around 1 m³"), "{}", answer.out);
    block.tets[7].swap(0, 1);
    desk.write("block.vtk", &write_vtk(&(&block).into()));
    let object = desk.ok(&["info", "block.vtk", "--json"]).json();
    assert_eq!(object["parts"][0]["inverted"], serde_json::json!([7]));
    assert_eq!(object["parts"][0]["problems"][0], "a tetrahedron is inside out: 7");
    desk.write("bad.obj", "v 0 0 0\nf 1 2 3\n");
    let answer = desk.run(&["info", "bad.obj"]);
    assert_eq!(answer.code, 5);
    assert!(answer.err.contains("bad.obj:2: corner 2"), "{}", answer.err);
}

#[test]
fn check_tells_what_is_in_a_scene() {
    let desk = Desk::new();
    let spring = "\n[[particles]]\nname = \"hook\"\n[[springs]]\nname = \"band\"\npairs = [[\"hook\", \"ball\"]]\nstiffness = 50\n[[fix]]\non = \"hook\"\n";
    desk.write("ball.toml", &format!("{BALL}{spring}"));
    let object = desk.ok(&["check", "ball.toml", "--json"]).json();
    assert_eq!(object["dof"], 3);
    assert_eq!(object["mass"], 1.5);
    assert_eq!(object["blocks"][0]["name"], "ball");
    assert_eq!(object["forces"][1]["name"], "band");
    assert_eq!(object["expectations"], 2);
    // One mass on one spring at its rest length: ω² = k/m = 100.
    assert!((object["fastest_vibration"].as_f64().unwrap() - 10.0).abs() < 1e-6);
    assert!((object["stable_dt"].as_f64().unwrap() - 0.2).abs() < 1e-6);
    let text = desk.ok(&["check", "ball.toml"]).out;
    assert!(text.contains("degrees of freedom  3") && text.contains("band"), "{text}");
}

#[test]
fn diff_measures_what_differs() {
    let desk = Desk::new();
    desk.write("ball.toml", BALL);
    desk.write("other.toml", &BALL.replace("velocity = [1,", "velocity = [1.001,"));
    for name in ["ball", "other"] {
        desk.run(&["run", &format!("{name}.toml"), "-q", "-o", &format!("{name}.mcap")]);
    }
    desk.write("two.toml", &format!("{BALL}[[particles]]\nname = \"two\"\n"));
    desk.ok(&["run", "two.toml", "-q", "-o", "two.mcap"]);
    assert!(desk.ok(&["diff", "ball.mcap", "ball.mcap"]).out.contains("equal bit for bit"));
    let answer = desk.run(&["diff", "ball.mcap", "other.mcap"]);
    assert_eq!(answer.code, 1);
    assert!(answer.out.contains("different") && answer.out.contains("ball[0].vx"), "{}", answer.out);
    desk.ok(&["diff", "ball.mcap", "other.mcap", "--tol", "0.002"]);
    assert_eq!(desk.run(&["diff", "ball.mcap", "two.mcap"]).code, 1);
    assert_eq!(desk.run(&["diff", "ball.mcap", "absent.mcap"]).code, 5);
    let object = desk.run(&["diff", "ball.mcap", "other.mcap", "--json"]).json();
    assert_eq!(object["agree"], false);
    assert!((object["worst_absolute"]["amount"].as_f64().unwrap() - 1e-3).abs() < 1e-12);
}

#[test]
fn tables_hold_what_was_recorded() {
    let desk = Desk::new();
    desk.write("ball.toml", BALL);
    desk.ok(&["run", "ball.toml", "-q", "--every", "10", "-o", "ball.mcap"]);
    desk.ok(&["export", "ball.mcap", "scalars.csv"]);
    let text = fs::read_to_string(desk.path("scalars.csv")).unwrap();
    let mut lines = text.lines();
    assert!(
        lines
            .next()
            .unwrap()
            .starts_with("time [s],energy.kinetic [J],energy.potential [J],energy.total [J],")
    );
    assert!(lines.next().unwrap().starts_with("0.0,2.5,9.81,12.31,"));
    assert_eq!(lines.count(), 5);

    let table =
        desk.ok(&["export", "ball.mcap", "-", "--track", "ball", "ball[0].speed", "energy.drift"]).out;
    let mut lines = table.lines();
    let head = "time [s],ball.x [m],ball.y [m],ball.z [m],ball.vx [m/s],ball.vy [m/s],ball.vz [m/s],ball[0].speed [m/s],energy.drift [1]";
    assert_eq!(lines.next(), Some(head));
    let last: Vec<f64> = lines.last().unwrap().split(',').map(|x| x.parse().unwrap()).collect();
    let expected = [0.5, 0.5, 0.0, 2.27375, 1.0, 0.0, -1.905, (1f64 + 1.905 * 1.905).sqrt(), 0.0];
    assert_eq!(last.len(), expected.len());
    for (x, y) in last.iter().zip(expected) {
        assert!((x - y).abs() < 1e-9, "{last:?}");
    }

    let answer = desk.run(&["export", "ball.mcap", "x.csv", "--track", "bal.z"]);
    assert_eq!(answer.code, 2);
    assert!(answer.err.contains("did you mean `ball`?"), "{}", answer.err);
    assert_eq!(desk.run(&["export", "ball.mcap", "absent/x.csv"]).code, 5);
    assert_eq!(desk.run(&["export", "absent.mcap", "x.csv"]).code, 5);
    assert!(!desk.path("x.csv").exists());
}

#[test]
fn examples_are_listed_run_and_copied() {
    let desk = Desk::new();
    let list = desk.ok(&["examples"]).out;
    assert!(list.contains("hello") && list.contains("kepler") && !list.contains("parts"), "{list}");
    assert_eq!(desk.ok(&["examples", "list"]).out, list);
    let names = desk.ok(&["examples", "list", "--json"]).json();
    assert!(names.as_array().unwrap().iter().all(|scene| !scene["title"].as_str().unwrap().is_empty()));
    assert!(desk.ok(&["examples", "run", "lamp"]).out.contains("pass  lamp.z"));
    desk.ok(&["examples", "run", "kepler.toml", "-q", "-o", "orbit.mcap"]);
    desk.ok(&["resume", "orbit.mcap", "-q", "-t", "12000"]);
    let answer = desk.run(&["examples", "run", "helo"]);
    assert_eq!(answer.code, 2);
    assert!(answer.err.contains("did you mean `hello`?"));

    desk.ok(&["examples", "copy", "lamp", "mine"]);
    assert!(desk.path("mine/lamp.toml").exists() && desk.path("mine/parts/rope.toml").exists());
    assert!(!desk.path("mine/hello.toml").exists());
    desk.ok(&["run", "mine/lamp.toml", "-q"]);
    assert_eq!(desk.run(&["examples", "copy", "lamp", "mine"]).code, 5, "nothing is overwritten unasked");
    desk.ok(&["examples", "copy", "lamp", "mine", "--force"]);
    desk.ok(&["examples", "copy", "--all", "all"]);
    assert!(desk.path("all/parts/rope.toml").exists());
    assert_eq!(desk.run(&["examples", "copy", "lamp"]).code, 2);
}

#[test]
fn every_example_meets_its_expectations() {
    let desk = Desk::new();
    for scene in desk.ok(&["examples", "list", "--json"]).json().as_array().unwrap() {
        let object = desk.ok(&["examples", "run", scene["name"].as_str().unwrap(), "--json"]).json();
        assert!(!object["expectations"].as_array().unwrap().is_empty(), "{scene}");
        assert_eq!(object["warnings"].as_array().unwrap().len(), 0, "{scene}: {}", object["warnings"]);
    }
}

#[test]
fn compare_runs_one_scene_under_several_methods() {
    let desk = Desk::new();
    desk.ok(&["examples", "copy", "compare_pendulum", "."]);
    let all = ["compare", "compare_pendulum.toml", "--methods", "lagrange,impulse,explicit", "-t", "0.5"];
    let gains = ["--kp", "1e5", "--kd", "10", "-o", "plot.svg", "--json"];
    let answer = desk.ok(&[&all[..], &gains[..]].concat()).json();
    let run = |k: usize, key: &str| answer["methods"][k]["run"][key].as_f64().unwrap();
    assert!(run(0, "energy_drift") < 1e-10 && run(0, "joint_gap") < 1e-12 && run(0, "difference") == 0.0);
    assert!(run(1, "difference") < 1e-2 && run(2, "difference") < 1e-2);
    // A spring gives way under the weight, a joint does not.
    assert!(run(2, "joint_gap") > 1e-5);
    let note = answer["methods"][1]["notes"][0].as_str().unwrap();
    assert!(note.contains("without `angle`"), "{note}");
    assert!(fs::read_to_string(desk.path("plot.svg")).unwrap().contains("joint gap"));
    let refused = desk.ok(&["compare", "compare_pendulum.toml", "--methods", "explicit,lagrange"]);
    assert!(refused.out.contains("explicit: refused") && refused.out.contains("--kp"), "{}", refused.out);
    let none = desk.run(&["compare", "compare_pendulum.toml", "--methods", "explicit"]);
    assert_eq!(none.code, 2);
}

#[test]
fn check_counts_what_joints_leave_free() {
    let desk = Desk::new();
    desk.ok(&["examples", "copy", "--all", "."]);
    let facts = desk.ok(&["check", "four_bar.toml", "--json"]).json();
    assert_eq!([&facts["dof"], &facts["joint_rows"], &facts["dependent_rows"]], [1, 20, 3]);
    let text = desk.ok(&["check", "wrecking_ball.toml"]).out;
    assert!(text.contains("mass ratio          1000 (ball to link1)"), "{text}");
}

#[test]
fn help_schema_completions_and_manual_are_printed() {
    let desk = Desk::new();
    assert!(desk.ok(&["--version"]).out.starts_with("dalembert "));
    let help = desk.ok(&["--help"]).out;
    for command in [
        "run",
        "check",
        "info",
        "resume",
        "diff",
        "export",
        "examples",
        "verify",
        "bench",
        "schema",
        "completions",
        "man",
    ] {
        assert!(help.contains(&format!("\n  {command} ")), "{command}");
        assert!(desk.ok(&[command, "--help"]).out.contains("Examples:"), "{command}");
    }
    assert!(desk.ok(&["schema"]).json().is_object());
    assert!(desk.ok(&["schema", "--format", "markdown"]).out.contains("stiffness"));
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        assert!(desk.ok(&["completions", shell]).out.contains("dalembert"));
    }
    assert!(desk.ok(&["man"]).out.contains(".TH dalembert"));
    desk.ok(&["man", "pages"]);
    assert!(fs::read_to_string(desk.path("pages/dalembert-run.1")).unwrap().contains("Exit codes"));
}

#[test]
fn convert_says_what_a_format_cannot_carry() {
    let desk = Desk::new();
    desk.write("pendulum.xml", PENDULUM);
    let urdf = desk.ok(&["convert", "pendulum.xml", "pendulum.urdf"]);
    for lost in ["armature", "1 actuators"] {
        assert!(urdf.out.contains("not carried: ") && urdf.out.contains(lost), "{}", urdf.out);
    }
    desk.ok(&["convert", "pendulum.urdf", "again.xml"]);
    desk.ok(&["convert", "pendulum.xml", "scene.toml"]);
    desk.ok(&["check", "scene.toml"]);
    desk.ok(&["convert", "scene.toml", "back.xml"]);
    assert_eq!(desk.run(&["convert", "pendulum.xml", "pendulum.png"]).code, 2);
    assert_ne!(desk.run(&["convert", "--strict", "pendulum.xml", "strict.urdf"]).code, 0);
    assert!(!desk.path("strict.urdf").exists());
}
