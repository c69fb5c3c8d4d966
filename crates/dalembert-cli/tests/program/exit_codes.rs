//! What a run says, and the exit code it ends with.

use std::fs;
use std::process::Stdio;

use dalembert_formats::recording::Recording;

use crate::desk::{Answer, BALL, Desk, PENDULUM};

#[test]
fn a_run_tells_what_happened_and_whether_it_was_expected() {
    let desk = Desk::new();
    desk.write("ball.toml", BALL);
    let answer = desk.ok(&["run", "ball.toml"]);
    for part in ["A thrown ball", "50 steps", "kinetic", "gravity", "momentum", "pass  ball.z", "2.27375"] {
        assert!(answer.out.contains(part), "{part}: {}", answer.out);
    }
    assert!(answer.err.is_empty(), "no bar without a terminal: {}", answer.err);
    assert!(!answer.out.contains('\x1b'), "no colour without a terminal");
    assert!(desk.ok(&["run", "ball.toml", "--quiet"]).out.is_empty());

    let object = desk.ok(&["run", "ball.toml", "--json"]).json();
    assert_eq!(object["status"], "ok");
    assert_eq!(object["steps"], 50);
    assert_eq!(object["integrator"], "verlet");
    assert_eq!(object["expectations"][0]["verdict"], "passed");
    let energy = &object["energy"];
    assert!((energy["start"]["kinetic"].as_f64().unwrap() - 2.5).abs() < 1e-12);
    assert!((energy["start"]["gravity"].as_f64().unwrap() - 9.81).abs() < 1e-12);
    // p = m v = ½ (1, 0, 3 − 4.905)
    assert!((object["momentum"][2].as_f64().unwrap() + 0.9525).abs() < 1e-9);
}

#[test]
fn options_replace_what_the_scene_says() {
    let desk = Desk::new();
    desk.write("ball.toml", BALL);
    let options = ["--dt", "0.005", "--integrator", "rk4", "--method", "explicit", "--seed", "9"];
    let object = desk.ok(&[&["run", "ball.toml", "--json"][..], &options[..]].concat()).json();
    assert_eq!(object["steps"], 100);
    assert_eq!(object["integrator"], "rk4");
    assert_eq!(object["dt"], 0.005);
    assert_eq!(object["seed"], 9);
    let shorter = desk.ok(&["run", "ball.toml", "-t", "0.2", "--json"]).json();
    assert_eq!(shorter["steps"], 20);
    assert_eq!(shorter["expectations"][0]["verdict"], "skipped");
    assert_eq!(shorter["expectations"][1]["verdict"], "passed");
}

#[test]
fn an_expectation_that_is_not_met_gives_exit_code_1() {
    let desk = Desk::new();
    desk.write("ball.toml", &BALL.replace("2.27375", "2.3"));
    let answer = desk.run(&["run", "ball.toml"]);
    assert_eq!(answer.code, 1);
    assert!(answer.out.contains("FAIL  ball.z"), "{}", answer.out);
    assert!(answer.out.contains("expected 2.3 ± 1e-9"), "{}", answer.out);
    assert_eq!(desk.run(&["run", "ball.toml", "-q"]).out.lines().count(), 1);
    let object = desk.run(&["run", "ball.toml", "--json"]);
    assert_eq!((object.code, &object.json()["status"]), (1, &"expectation_failed".into()));

    desk.write("ball.toml", &format!("{BALL}[[expect]]\nquantity = \"ball.vz\"\nabove = 0\nalways = true\n"));
    let answer = desk.run(&["run", "ball.toml"]);
    assert_eq!(answer.code, 1);
    // 3 − g t < 0 from t = 0.3058 s on.
    assert!(answer.out.contains("at 0.31 s  (expected ≥ 0 after every step)"), "{}", answer.out);
}

#[test]
fn a_bad_command_line_gives_exit_code_2() {
    let desk = Desk::new();
    desk.write("ball.toml", BALL);
    let bad: [&[&str]; 9] = [
        &[],
        &["fly"],
        &["run"],
        &["run", "ball.toml", "--dt", "0"],
        &["run", "ball.toml", "--dt", "-1"],
        &["run", "ball.toml", "-t", "nan"],
        &["run", "ball.toml", "--integrator", "rk5"],
        &["run", "ball.toml", "--threads", "0"],
        &["run", "ball.toml", "-t", "1e300"],
    ];
    for arguments in bad {
        let answer = desk.run(arguments);
        assert_eq!(answer.code, 2, "{arguments:?}: {}", answer.err);
        assert!(!answer.err.is_empty());
    }
}

#[test]
fn a_bad_scene_gives_exit_code_3_with_line_and_column() {
    let desk = Desk::new();
    desk.write("bad.toml", &BALL.replace("velocity", "velocty"));
    for command in ["run", "check"] {
        let answer = desk.run(&[command, "bad.toml"]);
        assert_eq!(answer.code, 3);
        assert!(answer.err.contains("bad.toml:10:1"), "{}", answer.err);
        assert!(answer.err.contains("velocty") && answer.err.contains("did you mean `velocity`?"));
    }
    let errors = desk.run(&["check", "bad.toml", "--json"]);
    let object = errors.json();
    assert_eq!((errors.code, &object["status"]), (3, &"bad_scene".into()));
    assert_eq!((&object["errors"][0]["line"], &object["errors"][0]["column"]), (&10.into(), &1.into()));

    // Mistakes that only the engine can see have a place as well.
    desk.write("bad.toml", &BALL.replace("ball.z", "bell.z"));
    let answer = desk.run(&["check", "bad.toml"]);
    assert_eq!(answer.code, 3);
    assert!(answer.err.contains("bad.toml:14:12") && answer.err.contains("bell"), "{}", answer.err);
}

#[test]
fn a_step_that_fails_gives_exit_code_4_and_keeps_the_recording() {
    let desk = Desk::new();
    let springs =
        "\n[[particles]]\nname = \"hook\"\n[[springs]]\npairs = [[\"hook\", \"ball\"]]\nstiffness = 1e9\n";
    desk.write("stiff.toml", &format!("{BALL}{springs}"));
    let answer = desk.run(&["run", "stiff.toml", "-t", "5", "-o", "stiff.mcap"]);
    assert_eq!(answer.code, 4, "{}", answer.out);
    assert!(answer.err.contains("warning") && answer.err.contains("has diverged"), "{}", answer.err);
    let recording = Recording::open(desk.path("stiff.mcap")).unwrap();
    assert_eq!(recording.truncated(), None);
    let last = recording.last_frame().unwrap();
    assert!(last.step > 0 && last.state.iter().all(|x| x.is_finite()));
    let object = desk.run(&["run", "stiff.toml", "-t", "5", "--json"]).json();
    assert_eq!(object["status"], "step_failed");
    assert_eq!(object["steps"], last.step);
}

#[test]
fn what_cannot_be_read_or_written_gives_exit_code_5() {
    let desk = Desk::new();
    desk.write("ball.toml", BALL);
    desk.write("noise.mcap", "this is no recording");
    fs::create_dir(desk.path("folder")).unwrap();
    let before = desk.names();
    let bad: [&[&str]; 8] = [
        &["run", "absent.toml"],
        &["run", "folder"],
        &["check", "absent.toml"],
        &["info", "absent.mcap"],
        &["info", "noise.mcap"],
        &["resume", "noise.mcap"],
        &["run", "ball.toml", "-o", "absent/ball.mcap"],
        &["run", "ball.toml", "-o", "folder"],
    ];
    for arguments in bad {
        let answer = desk.run(arguments);
        assert_eq!(answer.code, 5, "{arguments:?}: {}", answer.err);
        assert!(answer.err.starts_with("error: "), "{}", answer.err);
    }
    assert_eq!(desk.run(&["run", "absent.toml", "--json"]).json()["status"], "io_error");
    assert_eq!(desk.names(), before, "nothing is left behind");
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_gives_exit_code_5_and_no_file_under_the_final_name() {
    let desk = Desk::new();
    desk.write("ball.toml", BALL);
    // The file grows under `.part`, which here is a disk without room.
    std::os::unix::fs::symlink("/dev/full", desk.path("ball.mcap.part")).unwrap();
    let answer = desk.run(&["run", "ball.toml", "-o", "ball.mcap"]);
    assert_eq!(answer.code, 5, "{}{}", answer.out, answer.err);
    assert!(answer.err.contains("no space left on the disk"), "{}", answer.err);
    assert!(!desk.path("ball.mcap").exists());

    let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let status = desk.command(&["schema"]).stdout(full).stderr(Stdio::null()).status().unwrap();
    assert_eq!(status.code(), Some(5));
}

#[test]
fn check_run_and_json_tell_the_same_warnings() {
    let desk = Desk::new();
    desk.write(
        "arm.xml",
        r#"<mujoco><worldbody><body name="rod"><joint name="h" axis="0 1 0"/><geom size="0.1" pos="0.3 0 0"/>
           <site name="a"/></body><geom name="pulley" size="0.05" pos="0 0 8"/><site name="b" pos="0 0 9"/></worldbody>
           <tendon><spatial name="rope"><site site="a"/><geom geom="pulley"/><site site="b"/></spatial></tendon>
           <keyframe><key name="home" qpos="0.1"/></keyframe><deformable/></mujoco>"#,
    );
    let scene = "method = 'ipc'\ndt = 0.01\nduration = 0.025\n[[ground]]\npoint = [0, 0, -9]\n\
                 [[contact]]\nbetween = ['*', '*']\nrestitution = 0.5\n[[robot]]\nname = 'arm'\nfile = 'arm.xml'\n";
    desk.write("scene.toml", scene);
    let messages = |answer: &Answer| -> Vec<String> {
        let list = answer.json()["warnings"].as_array().unwrap().clone();
        list.iter().map(|warning| warning["message"].as_str().unwrap().to_owned()).collect()
    };
    let checked = messages(&desk.ok(&["check", "scene.toml", "--json"]));
    // Of the reader, of the build, of the method, of the machine, of the run.
    for word in
        ["`deformable`", "restitution = 0.5", "friction of its geoms", "wrapping", "whole number of steps"]
    {
        assert!(checked.iter().any(|message| message.contains(word)), "{word}: {checked:?}");
    }
    assert_eq!(messages(&desk.ok(&["run", "scene.toml", "--json"])), checked);
    let (check, run) = (desk.ok(&["check", "scene.toml"]).err, desk.ok(&["run", "scene.toml"]).err);
    assert_eq!(check, run);
    for message in &checked {
        assert_eq!(check.matches(message.as_str()).count(), 1, "{message}\n{check}");
    }
}

#[test]
fn a_motion_that_runs_away_ends_with_exit_code_4_and_was_warned_of() {
    let desk = Desk::new();
    desk.write(
        "jelly.toml",
        r#"
method = "impulse"
dt = 2e-3
duration = 2

[[soft]]
name = "jelly"
box = { size = [0.2, 0.2, 0.2], cells = [2, 2, 2] }
young = 1e7
density = 1000
"#,
    );
    let answer = desk.run(&["run", "jelly.toml", "--json"]);
    assert_eq!(answer.code, 4, "{}{}", answer.out, answer.err);
    let report = answer.json();
    assert_eq!(report["status"], "step_failed");
    let error = report["error"].as_str().unwrap();
    assert!(error.contains("`jelly`") && error.contains("diverged"), "{error}");
    // The state is the last good one.
    assert!(report["time"].as_f64().unwrap() < 1.0, "{}", report["time"]);
    let warning = report["warnings"][0]["message"].as_str().unwrap();
    assert!(warning.contains("stability limit") && warning.contains("jelly"), "{warning}");
    // Under `implicit` the same box falls, and nobody is warned.
    let calm = desk.ok(&["run", "jelly.toml", "--method", "implicit", "--json"]).json();
    assert_eq!(calm["warnings"].as_array().unwrap().len(), 0, "{}", calm["warnings"]);
}

#[test]
fn a_robot_that_runs_away_ends_with_exit_code_4() {
    let desk = Desk::new();
    desk.write("pendulum.xml", &PENDULUM.replace("armature=\"0.01\"", "stiffness=\"4e6\""));
    desk.write(
        "arm.toml",
        "method = \"explicit\"\ndt = 0.002\nduration = 5\n[[robot]]\nname = \"arm\"\nfile = \"pendulum.xml\"\n",
    );
    let answer = desk.run(&["run", "arm.toml"]);
    assert_eq!(answer.code, 4, "{}{}", answer.out, answer.err);
    assert!(answer.err.contains("`arm`") && answer.err.contains("diverged"), "{}", answer.err);
}
