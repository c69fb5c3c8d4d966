//! The program as a user meets it: commands, exit codes, and files that survive a kill.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use dalembert_formats::recording::Recording;
use serde_json::Value;
use tempfile::TempDir;

/// A folder to run in, with the program at hand.
struct Desk(TempDir);

impl Desk {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_dalembert"));
        command.args(arguments).current_dir(self.0.path()).stdin(Stdio::null()).env_remove("NO_COLOR");
        command
    }

    fn run(&self, arguments: &[&str]) -> Answer {
        Answer::from(self.command(arguments).output().unwrap())
    }

    /// Runs a command that must succeed.
    fn ok(&self, arguments: &[&str]) -> Answer {
        let answer = self.run(arguments);
        assert_eq!(answer.code, 0, "{arguments:?}\n{}{}", answer.out, answer.err);
        answer
    }

    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.0.path()).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

#[derive(Debug)]
struct Answer {
    code: i32,
    out: String,
    err: String,
}

impl From<Output> for Answer {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code().unwrap_or(-1),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

impl Answer {
    fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|e| panic!("{e}: {}", self.out))
    }
}

/// A ball thrown upwards: z = 2 + 3 t − ½ g t².
const BALL: &str = r#"
title = "A thrown ball"
dt = 0.01
duration = 0.5
explicit = { integrator = "verlet" }

[[particles]]
name = "ball"
position = [0, 0, 2]
velocity = [1, 0, 3]
mass = 0.5

[[expect]]
quantity = "ball.z"
value = 2.27375
tolerance = 1e-9

[[expect]]
quantity = "energy.drift"
value = 0
tolerance = 1e-12
always = true
"#;

/// Springs, a force between near points, drag, something random: large enough for several threads.
const CROWD: &str = r#"
title = "A crowd"
dt = 0.002
duration = 0.06

[[particles]]
name = "net"
grid = { size = [29, 29, 23], count = [30, 30, 24] }
mass = 0.1

[[particles]]
name = "gas"
cloud = { size = [29, 29, 23], count = 2000 }
mass = 0.2
velocity = [0, 1, -2]

[[springs]]
name = "net"
along = "net"
stiffness = 100
damping = 0.1

[[pair_force]]
name = "touch"
soft_repulsion = { stiffness = 50, diameter = 0.8 }

[[drag]]
linear = 0.01
"#;

fn final_state(path: &Path) -> Vec<u64> {
    Recording::open(path).unwrap().last_frame().unwrap().state.iter().map(|x| x.to_bits()).collect()
}

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
fn the_number_of_threads_and_a_stop_change_no_bit() {
    let desk = Desk::new();
    desk.write("crowd.toml", CROWD);
    for threads in ["1", "2", "4"] {
        let file = format!("{threads}.mcap");
        desk.ok(&["run", "crowd.toml", "-q", "--every", "10", "--threads", threads, "-o", &file]);
    }
    let expected = final_state(&desk.path("1.mcap"));
    assert_eq!(expected.len(), 5 + 6 * (30 * 30 * 24 + 2000));
    assert!(expected == final_state(&desk.path("2.mcap")));
    assert!(expected == final_state(&desk.path("4.mcap")));

    // From the middle, on another number of threads, into a file of its own.
    desk.ok(&["resume", "1.mcap", "-q", "--from", "1", "--threads", "2", "-o", "resumed.mcap"]);
    assert!(expected == final_state(&desk.path("resumed.mcap")));
    let equal = desk.ok(&["diff", "1.mcap", "resumed.mcap", "--json"]).json();
    assert_eq!(equal["bit_equal"], true);

    // A run that was shorter, and ended between two regular frames, goes on under its own name.
    desk.ok(&["run", "crowd.toml", "-q", "--every", "10", "-t", "0.034", "-o", "short.mcap"]);
    assert_eq!(Recording::open(desk.path("short.mcap")).unwrap().last_frame().unwrap().step, 17);
    desk.ok(&["resume", "short.mcap", "-q", "--threads", "4"]);
    assert_eq!(desk.ok(&["diff", "1.mcap", "short.mcap", "--json"]).json()["bit_equal"], true);
    assert!(desk.ok(&["resume", "short.mcap"]).out.contains("already reaches 0.06 s"));
}

#[test]
fn options_of_a_run_are_those_of_its_resumption() {
    let desk = Desk::new();
    desk.write(
        "crowd.toml",
        &CROWD.replace("[30, 30, 24]", "[4, 4, 4]").replace("count = 2000", "count = 50"),
    );
    for integrator in ["symplectic_euler", "verlet", "rk4", "dormand_prince"] {
        let options = ["--integrator", integrator, "--dt", "0.0015", "--seed", "5", "--every", "1", "-q"];
        let run = |more: &[&str]| desk.ok(&[&["run", "crowd.toml"], &options[..], more].concat());
        run(&["-o", "whole.mcap"]);
        run(&["-o", "half.mcap", "-t", "0.03"]);
        desk.ok(&["resume", "half.mcap", "-q"]);
        assert!(desk.ok(&["diff", "whole.mcap", "half.mcap"]).out.contains("equal bit for bit"));
        let header = Recording::open(desk.path("half.mcap")).unwrap().header().clone();
        assert_eq!((header.dt, header.seed), (0.0015, 5));
        assert_eq!(header.options["integrator"], integrator);
    }
}

#[cfg(unix)]
#[test]
fn a_killed_run_can_be_resumed_with_the_same_bits() {
    let desk = Desk::new();
    let crowd = CROWD.replace("[30, 30, 24]", "[10, 10, 10]").replace("count = 2000", "count = 500");
    desk.write("crowd.toml", &crowd.replace("0.06", "1.2"));
    desk.ok(&["run", "crowd.toml", "-q", "--every", "2", "-o", "whole.mcap"]);
    let mut child =
        desk.command(&["run", "crowd.toml", "-q", "--every", "2", "-o", "killed.mcap"]).spawn().unwrap();
    let part = desk.path("killed.mcap.part");
    // In mid-write: some chunks are on the disk.
    let start = Instant::now();
    while fs::metadata(&part).map_or(0, |about| about.len()) < 2_000_000 {
        assert!(start.elapsed() < Duration::from_secs(60), "the run writes nothing");
        assert!(child.try_wait().unwrap().is_none(), "the run ended before it could be killed");
        std::thread::sleep(Duration::from_millis(2));
    }
    child.kill().unwrap(); // SIGKILL
    child.wait().unwrap();
    assert!(!desk.path("killed.mcap").exists());

    let info = desk.ok(&["info", "killed.mcap", "--json"]).json();
    assert_eq!((&info["whole"], &info["from_part"]), (&false.into(), &true.into()));
    let frames = info["frames"].as_u64().unwrap();
    assert!(frames > 1 && frames < 301, "{frames}");
    assert!(desk.ok(&["info", "killed.mcap"]).out.contains("dalembert resume"));

    desk.ok(&["resume", "killed.mcap", "-q"]);
    assert!(!part.exists());
    assert!(final_state(&desk.path("whole.mcap")) == final_state(&desk.path("killed.mcap")));
    assert_eq!(desk.ok(&["diff", "whole.mcap", "killed.mcap", "--json"]).json()["bit_equal"], true);
}

#[cfg(unix)]
#[test]
fn an_interrupted_run_finishes_its_recording() {
    let desk = Desk::new();
    desk.write("crowd.toml", &CROWD.replace("[30, 30, 24]", "[9, 9, 9]").replace("0.06", "1000"));
    let mut child = desk
        .command(&["run", "crowd.toml", "-o", "long.mcap", "--json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let start = Instant::now();
    while !desk.path("long.mcap.part").exists() && start.elapsed() < Duration::from_secs(60) {
        std::thread::sleep(Duration::from_millis(2));
    }
    std::thread::sleep(Duration::from_millis(300));
    assert!(child.try_wait().unwrap().is_none());
    let sent = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
    let answer = Answer::from(child.wait_with_output().unwrap());
    assert_eq!(answer.code, 130, "{}", answer.err);
    let object = answer.json();
    assert_eq!(object["status"], "interrupted");
    let recording = Recording::open(desk.path("long.mcap")).unwrap();
    assert!(!recording.from_part() && recording.truncated().is_none());
    assert_eq!(object["steps"], recording.last_frame().unwrap().step);
}

#[test]
fn a_recording_cut_off_at_any_place_is_read_as_far_as_it_goes() {
    let desk = Desk::new();
    desk.write("ball.toml", BALL);
    desk.ok(&["run", "ball.toml", "-q", "--every", "1", "-o", "ball.mcap"]);
    let info = desk.ok(&["info", "ball.mcap"]);
    assert!(info.out.contains("51 frames from 0 s to 0.5 s (step 50)"), "{}", info.out);
    let bytes = fs::read(desk.path("ball.mcap")).unwrap();
    for length in [bytes.len() - 1, bytes.len() * 3 / 4, bytes.len() / 2] {
        fs::write(desk.path("cut.mcap"), &bytes[..length]).unwrap();
        let answer = desk.ok(&["info", "cut.mcap"]);
        assert!(answer.out.contains("cut off"), "{}", answer.out);
    }
    fs::write(desk.path("cut.mcap"), &bytes[..40]).unwrap();
    let answer = desk.run(&["info", "cut.mcap"]);
    assert_eq!(answer.code, 5);
    assert!(answer.err.contains("cut off before the end of its header"), "{}", answer.err);
    let mut damaged = bytes.clone();
    let middle = damaged.len() / 2;
    damaged[middle] ^= 0x55;
    fs::write(desk.path("cut.mcap"), &damaged).unwrap();
    assert_eq!(desk.run(&["info", "cut.mcap"]).code, 5);
}

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

const PENDULUM: &str = r#"<mujoco model="pendulum">
  <option timestep="0.002"/>
  <worldbody>
    <body name="bob" pos="0 0 1">
      <joint name="pivot" axis="0 1 0" damping="0.1" armature="0.01"/>
      <geom type="sphere" size="0.05" pos="0.3 0 -0.4" mass="2"/>
    </body>
  </worldbody>
  <actuator><motor name="turn" joint="pivot"/></actuator>
</mujoco>"#;

#[test]
fn a_robot_runs_from_its_own_file_and_its_recording_goes_on_alone() {
    let desk = Desk::new();
    desk.write("pendulum.xml", PENDULUM);
    let shown = desk.ok(&["run", "pendulum.xml", "-o", "a.mcap"]);
    assert!(shown.out.contains("1 robot"), "{}", shown.out);
    // The recording holds the robot whole.
    fs::remove_file(desk.path("pendulum.xml")).unwrap();
    assert!(Recording::open(desk.path("a.mcap")).is_ok());
    let about = desk.ok(&["info", "a.mcap"]);
    assert!(about.out.contains("pendulum"), "{}", about.out);
    desk.ok(&["resume", "a.mcap", "-t", "3", "-o", "b.mcap"]);
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

#[cfg(unix)]
#[test]
fn a_run_takes_the_place_of_nothing_but_a_recording() {
    use std::os::unix::fs::symlink;
    let desk = Desk::new();
    desk.write("part.toml", BALL);
    desk.write("ball.toml", "include = [\"part.toml\"]\n");
    desk.write("notes.txt", "three weeks of work");
    desk.write("empty.mcap", "");
    // The beginning of another program's MCAP file: mark, header of 12 bytes, profile `ros2`.
    let mut foreign = b"\x89MCAP0\r\n\x01".to_vec();
    foreign.extend(12u64.to_le_bytes());
    foreign.extend([&4u32.to_le_bytes()[..], b"ros2", &[0; 4]].concat());
    fs::write(desk.path("bag.mcap"), &foreign).unwrap();
    symlink("ball.toml", desk.path("soft.mcap")).unwrap();
    fs::hard_link(desk.path("ball.toml"), desk.path("hard.mcap")).unwrap();
    let before = desk.names();
    for name in [
        "ball.toml",
        "./ball.toml",
        "part.toml",
        "notes.txt",
        "empty.mcap",
        "bag.mcap",
        "soft.mcap",
        "hard.mcap",
    ] {
        let answer = desk.run(&["run", "ball.toml", "-q", "-o", name]);
        assert_eq!(answer.code, 5, "{name}: {}", answer.err);
        assert!(answer.err.contains("is no recording of dalembert"), "{}", answer.err);
        assert!(answer.err.contains(name) && answer.err.contains("such as `"), "{}", answer.err);
    }
    assert_eq!(desk.names(), before, "nothing is left behind");
    assert_eq!(fs::read_to_string(desk.path("part.toml")).unwrap(), BALL);
    assert_eq!(fs::read_to_string(desk.path("notes.txt")).unwrap(), "three weeks of work");
    assert_eq!(fs::read(desk.path("bag.mcap")).unwrap(), foreign);
    // A recording may be made anew, and a resumption obeys the same rule.
    desk.ok(&["run", "ball.toml", "-q", "-o", "run.mcap"]);
    desk.ok(&["run", "ball.toml", "-q", "-o", "run.mcap"]);
    assert_eq!(desk.run(&["resume", "run.mcap", "-q", "--from", "1", "-o", "notes.txt"]).code, 5);
    desk.ok(&["resume", "run.mcap", "-q", "--from", "1", "-o", "run.mcap"]);
}

#[cfg(unix)]
#[test]
fn no_command_writes_over_what_it_reads() {
    use std::os::unix::fs::symlink;
    let desk = Desk::new();
    let part = PENDULUM.find("<actuator>").unwrap();
    let (body, rest) = PENDULUM.split_at(part);
    desk.write("motor.xml", &format!("<mujoco>{rest}"));
    desk.write("arm.xml", &format!("{body}<include file=\"motor.xml\"/></mujoco>"));
    desk.write("scene.toml", "[[robot]]\nname = \"arm\"\nfile = \"arm.xml\"\n");
    desk.write("ball.toml", BALL);
    desk.ok(&["run", "ball.toml", "-q", "-o", "run.csv"]);
    symlink("arm.xml", desk.path("soft.xml")).unwrap();
    fs::hard_link(desk.path("arm.xml"), desk.path("hard.urdf")).unwrap();
    symlink("run.csv", desk.path("run.svg")).unwrap();
    symlink("ball.toml", desk.path("ball.png")).unwrap();
    let text = |name: &str| fs::read(desk.path(name)).unwrap();
    let kept = ["arm.xml", "motor.xml", "scene.toml", "ball.toml", "run.csv"];
    let before: Vec<_> = kept.iter().map(|name| text(name)).collect();
    let commands: [&[&str]; 13] = [
        &["convert", "arm.xml", "arm.xml"],
        &["convert", "arm.xml", "./arm.xml"],
        &["convert", "arm.xml", "soft.xml"],
        &["convert", "soft.xml", "arm.xml"],
        &["convert", "arm.xml", "hard.urdf"],
        &["convert", "arm.xml", "motor.xml"],
        &["convert", "scene.toml", "scene.toml"],
        &["convert", "scene.toml", "arm.xml"],
        &["convert", "scene.toml", "motor.xml"],
        &["export", "run.csv", "run.csv"],
        &["plot", "run.csv", "energy", "-o", "run.svg"],
        &["render", "ball.toml", "-o", "ball.png"],
        &["compare", "ball.toml", "--methods", "explicit", "-o", "ball.toml"],
    ];
    for command in commands {
        let answer = desk.run(command);
        assert_eq!(answer.code, 5, "{command:?}: {}{}", answer.out, answer.err);
        assert!(answer.err.contains("give the output another name"), "{}", answer.err);
    }
    assert_eq!(before, kept.iter().map(|name| text(name)).collect::<Vec<_>>());
    // A recording that was cut off is read under its final name, and grows under that of the part.
    fs::rename(desk.path("run.csv"), desk.path("cut.csv.part")).unwrap();
    assert_eq!(desk.run(&["export", "cut.csv", "cut.csv"]).code, 5);
    assert_eq!(text("cut.csv.part"), before[4]);
    desk.ok(&["convert", "arm.xml", "other.xml"]);
    desk.ok(&["convert", "arm.xml", "other.xml"]);
}
