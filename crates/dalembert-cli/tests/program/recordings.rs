//! Recordings: resumed, killed, interrupted, cut off, and never written over what is something else.

use std::fs;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use dalembert_formats::recording::Recording;

use crate::desk::{Answer, BALL, CROWD, Desk, PENDULUM, final_state};

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
