//! `view`, `render`, `plot` and the exports, as a user meets them.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

const SCENE: &str = r#"
title = "A ball on a band"
dt = 0.002
duration = 1.0

[[particles]]
name = "hook"
position = [0, 0, 1]

[[particles]]
name = "ball"
position = [0.3, 0, 0.6]
mass = 0.5

[[springs]]
name = "band"
pairs = [["hook", "ball"]]
stiffness = 50

[[fix]]
on = "hook"
"#;

fn program(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_dalembert"));
    command.args(arguments).current_dir(folder).stdin(Stdio::null());
    command
}

fn run(folder: &Path, arguments: &[&str]) -> Output {
    program(folder, arguments).output().unwrap()
}

fn code(output: &Output) -> Option<i32> {
    output.status.code()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// A folder with a scene and a recording of it.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("ball.toml"), SCENE).unwrap();
    let out = run(folder.path(), &["run", "ball.toml", "-q", "-o", "ball.mcap"]);
    assert_eq!(code(&out), Some(0), "{}", said(&out));
    folder
}

#[test]
fn pictures_and_films_come_from_scenes_and_recordings_with_the_same_pixels_each_time() {
    let folder = folder();
    let at = |name: &str| std::fs::read(folder.path().join(name)).unwrap();
    let small = ["--size", "120x80"];
    for (input, output, more) in [
        ("ball.toml", "a.png", &["--time", "0.5"][..]),
        ("ball.toml", "b.png", &["--time", "50%"]),
        ("ball.mcap", "c.png", &["--time", "0.5"]),
        (
            "ball.toml",
            "d.png",
            &["--time", "40%", "--trails", "--small", "--dark", "--show", "velocity,force"],
        ),
        ("ball.mcap", "e.gif", &["--fps", "5", "--camera", "-30,20"]),
    ] {
        let out = run(folder.path(), &[&["render", input, "-o", output], &small[..], more].concat());
        assert_eq!(code(&out), Some(0), "{output}: {}", said(&out));
        assert!(out.stdout.is_empty() && out.stderr.is_empty(), "{}", said(&out));
    }
    assert_eq!(at("a.png"), at("b.png"));
    assert_eq!(at("a.png")[1..4], *b"PNG");
    assert_eq!(at("e.gif")[..4], *b"GIF8");
    assert!(at("d.png").len() < at("a.png").len());
}

#[test]
fn mistakes_are_told_before_anything_is_simulated() {
    let folder = folder();
    for (arguments, exit, word) in [
        (&["render", "ball.toml", "-o", "a.bmp"][..], 2, "png, gif, mp4"),
        (&["render", "ball.toml", "-o", "a.png", "--size", "9x9"], 2, "WIDTHxHEIGHT"),
        (&["render", "ball.toml", "-o", "a.png", "--camera", "1"], 2, "azimuth,elevation"),
        (&["render", "ball.toml", "-o", "a.png", "--show", "ghosts"], 2, "velocity"),
        (&["render", "none.toml", "-o", "a.png"], 5, "no such file"),
        (&["render", "ball.mcap", "-o", "a.png", "--dt", "0.1"], 2, "need a scene"),
        (&["plot", "ball.mcap", "energy", "-o", "a.pdf"], 2, "svg, png"),
        (&["plot", "ball.mcap", "track:bal", "-o", "a.svg"], 2, "did you mean `ball`"),
        (&["plot", "ball.mcap", "energy", "ball.z", "-o", "a.svg"], 2, "make two plots"),
        (&["export", "ball.mcap", "a.fbx"], 2, "csv, glb, ply, vtp, pc2"),
        (&["export", "ball.mcap", "a.glb", "--track", "ball"], 2, "need a table"),
        (&["export", "none.mcap", "a.glb"], 5, "none.mcap"),
        (&["view", "none.toml", "--no-open"], 5, "no such file"),
        (&["view", "ball.toml", "--no-open", "--bind", "203.0.113.7"], 5, "cannot listen on 203.0.113.7"),
    ] {
        let out = run(folder.path(), arguments);
        assert_eq!(code(&out), Some(exit), "{arguments:?}: {}", said(&out));
        assert!(said(&out).contains(word), "{arguments:?}: {}", said(&out));
    }
    assert!(!folder.path().join("a.png").exists() && !folder.path().join("a.svg").exists());
}

/// A box that rests on the ground, under a method with contacts.
const RESTING: &str = r#"
method = "impulse"
dt = 0.005
duration = 0.5

[[ground]]

[[rigid]]
name = "box"
shape = { box = [0.2, 0.2, 0.2] }
mass = 2
position = [0, 0, 0.1]
"#;

#[test]
fn contacts_are_drawn_where_there_are_any_and_refused_by_name_where_not() {
    let folder = folder();
    std::fs::write(folder.path().join("box.toml"), RESTING).unwrap();
    let ipc = RESTING.replace("impulse", "ipc").replace("0.1]", "0.1005]");
    std::fs::write(folder.path().join("ipc.toml"), ipc).unwrap();
    let picture = |arguments: &[&str]| {
        let out = run(folder.path(), &[arguments, &["--size", "240x160"]].concat());
        assert_eq!(code(&out), Some(0), "{arguments:?}: {}", said(&out));
        std::fs::read(folder.path().join("a.png")).unwrap()
    };
    let recorded = run(folder.path(), &["run", "box.toml", "-q", "-o", "box.mcap"]);
    assert_eq!(code(&recorded), Some(0), "{}", said(&recorded));
    for input in ["box.toml", "ipc.toml", "box.mcap"] {
        let plain = picture(&["render", input, "-o", "a.png"]);
        assert_ne!(plain, picture(&["render", input, "-o", "a.png", "--show", "contact"]), "{input}");
    }
    for (arguments, word) in [
        (
            &["render", "ball.toml", "-o", "b.png", "--show", "contact"][..],
            "the method `explicit` has no contacts",
        ),
        (
            &["render", "ball.mcap", "-o", "b.png", "--show", "contact"],
            "the method `explicit` has no contacts",
        ),
        (
            &["render", "ball.toml", "-o", "b.png", "--method", "impulse", "--show", "contact"],
            "nothing in this scene",
        ),
        (&["render", "ball.toml", "-o", "b.png", "--show", "joint"], "nothing of that kind"),
        (&["view", "ball.toml", "--no-open", "--show", "contact"], "the method `explicit` has no contacts"),
    ] {
        let out = run(folder.path(), arguments);
        assert_eq!(code(&out), Some(2), "{arguments:?}: {}", said(&out));
        assert!(said(&out).contains(word), "{arguments:?}: {}", said(&out));
    }
    assert!(!folder.path().join("b.png").exists());
}

#[cfg(unix)]
#[test]
fn pipes_and_devices_are_errors_and_nothing_waits_for_them() {
    let folder = folder();
    let made = Command::new("mkfifo")
        .args(["pipe.toml", "pipe.xml", "pipe.obj"])
        .current_dir(folder.path())
        .status();
    assert!(made.unwrap().success());
    let body = "[[rigid]]\nname = 'a'\nmass = 1\n";
    let write = |name: &str, text: String| std::fs::write(folder.path().join(name), text).unwrap();
    write("mesh.toml", format!("{body}shape = {{ mesh = 'pipe.obj' }}"));
    write("robot.toml", "[[robot]]\nname = 'a'\nfile = 'pipe.xml'".into());
    write("include.toml", "include = ['pipe.toml']".into());
    for arguments in [
        &["run", "pipe.toml"][..],
        &["check", "pipe.toml"],
        &["run", "/dev/zero"],
        &["view", "pipe.toml", "--no-open"],
        &["render", "pipe.toml", "-o", "a.png"],
        &["info", "pipe.toml"],
        &["resume", "pipe.toml"],
        &["diff", "pipe.toml", "ball.mcap"],
        &["plot", "pipe.toml", "energy", "-o", "a.svg"],
        &["export", "pipe.toml", "a.csv"],
        &["convert", "pipe.xml", "a.urdf"],
        &["compare", "pipe.toml", "--methods", "explicit,lagrange"],
        &["run", "mesh.toml"],
        &["run", "robot.toml"],
        &["run", "include.toml"],
        &["run", "pipe.xml"],
    ] {
        let mut child =
            program(folder.path(), arguments).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let end = std::time::Instant::now() + std::time::Duration::from_secs(20);
        let status = loop {
            if let Some(status) = child.try_wait().unwrap() {
                break status;
            }
            if std::time::Instant::now() > end {
                let _ = child.kill();
                panic!("{arguments:?} waits");
            }
            std::thread::sleep(std::time::Duration::from_millis(5));
        };
        let mut said = String::new();
        child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        assert!(matches!(status.code(), Some(3 | 5)), "{arguments:?}: {status}: {said}");
        assert!(said.contains("not a regular file"), "{arguments:?}: {said}");
    }
}

/// A URDF with `n` links: each below the one before, or all below the first.
fn urdf(n: usize, chain: bool) -> String {
    let mut text = String::from("<robot name='big'>");
    for i in 0..n {
        text += &format!(
            "<link name='l{i}'><inertial><mass value='1'/><inertia ixx='1' iyy='1' izz='1' ixy='0' ixz='0' iyz='0'/></inertial></link>"
        );
    }
    for i in 1..n {
        let parent = if chain { i - 1 } else { 0 };
        text += &format!(
            "<joint name='j{i}' type='continuous'><parent link='l{parent}'/><child link='l{i}'/><axis xyz='0 1 0'/></joint>"
        );
    }
    text + "</robot>"
}

#[test]
fn a_robot_of_too_many_links_is_refused_with_the_limit_and_one_within_it_is_read() {
    let folder = tempfile::tempdir().unwrap();
    for (n, chain, expected) in [
        (20_000, true, "has 20000 links; at most 4096"),
        (20_000, false, "has 20000 links; at most 4096"),
        (2_000, true, "link `l1001` has 1001 links above it; at most 1000"),
        (900, true, ""),
        (2_000, false, ""),
    ] {
        std::fs::write(folder.path().join("big.urdf"), urdf(n, chain)).unwrap();
        let out = run(folder.path(), &["check", "big.urdf"]);
        assert_eq!(code(&out), Some(if expected.is_empty() { 0 } else { 3 }), "{n}: {}", said(&out));
        assert!(said(&out).contains(expected), "{n}: {}", said(&out));
    }
}

#[test]
fn a_film_without_ffmpeg_says_what_is_missing() {
    let folder = folder();
    let out =
        program(folder.path(), &["render", "ball.toml", "-o", "a.mp4"]).env("PATH", "").output().unwrap();
    assert_eq!(code(&out), Some(5));
    assert!(said(&out).contains("ffmpeg") && said(&out).contains(".gif"), "{}", said(&out));
}

#[test]
fn plots_and_exports_are_written_and_leave_nothing_half_done() {
    let folder = folder();
    for arguments in [
        &["plot", "ball.mcap", "energy", "-o", "energy.svg"][..],
        &["plot", "ball.mcap", "drift", "-o", "drift.png", "--dark", "--size", "400x300"],
        &["plot", "ball.mcap", "track:ball", "track:hook", "-o", "tracks.svg"],
        &["export", "ball.mcap", "ball.csv"],
        &["export", "ball.mcap", "ball.glb"],
        &["export", "ball.mcap", "ball.ply"],
        &["export", "ball.mcap", "ball.vtp"],
        &["export", "ball.mcap", "ball.pc2"],
    ] {
        let out = run(folder.path(), arguments);
        assert_eq!(code(&out), Some(0), "{arguments:?}: {}", said(&out));
    }
    let names: Vec<String> = std::fs::read_dir(folder.path())
        .unwrap()
        .map(|e| e.unwrap().file_name().into_string().unwrap())
        .collect();
    for name in
        ["energy.svg", "drift.png", "ball.glb", "ball_0000.ply", "ball_0059.vtp", "ball.pvd", "ball.pc2"]
    {
        assert!(names.iter().any(|n| n == name), "{name} is missing: {names:?}");
    }
    assert!(names.iter().all(|n| !n.ends_with(".part")));
}

#[test]
fn a_recording_that_was_cut_off_is_used_up_to_its_last_whole_frame_and_says_so() {
    let folder = folder();
    let whole = std::fs::read(folder.path().join("ball.mcap")).unwrap();
    std::fs::write(folder.path().join("cut.mcap"), &whole[..whole.len() - 40]).unwrap();
    for arguments in [
        &["render", "cut.mcap", "-o", "a.png", "--size", "60x40"][..],
        &["plot", "cut.mcap", "energy", "-o", "a.svg"],
        &["export", "cut.mcap", "a.glb"],
    ] {
        let out = run(folder.path(), arguments);
        assert_eq!(code(&out), Some(0), "{arguments:?}: {}", said(&out));
        assert!(said(&out).contains("cut off"), "{arguments:?}: {}", said(&out));
    }
}

/// A view that ends with the test.
struct Viewing(Child);

impl Drop for Viewing {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn view(folder: &Path, arguments: &[&str]) -> (Viewing, String) {
    let mut command = program(folder, &[&["view", "--no-open"], arguments].concat());
    let mut viewing = Viewing(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap());
    let mut lines = BufReader::new(viewing.0.stdout.take().unwrap()).lines();
    assert_eq!(lines.next().unwrap().unwrap(), "A ball on a band");
    let url = lines.next().unwrap().unwrap();
    (viewing, url.trim_start_matches("http://").trim_end_matches('/').to_owned())
}

#[test]
fn a_view_prints_its_address_serves_its_page_and_takes_the_next_port_where_one_is_in_use() {
    let folder = folder();
    let (_first, address) = view(folder.path(), &["ball.toml", "--port", "0"]);
    let mut stream = TcpStream::connect(&address).unwrap();
    write!(stream, "GET / HTTP/1.1\r\nHost: {address}\r\n\r\n").unwrap();
    let mut page = String::new();
    stream.read_to_string(&mut page).unwrap();
    assert!(page.starts_with("HTTP/1.1 200 OK") && page.contains("<canvas"));
    let port = address.rsplit(':').next().unwrap();
    let (mut second, other) = view(folder.path(), &["ball.mcap", "--port", port]);
    assert_ne!(other, address);
    let mut told = String::new();
    BufReader::new(second.0.stderr.take().unwrap()).read_line(&mut told).unwrap();
    assert!(told.contains(&format!("port {port} is in use")), "{told}");
}

#[test]
fn bound_wider_the_address_holds_a_token() {
    let folder = folder();
    let (_view, address) =
        view(folder.path(), &["ball.toml", "--bind", "0.0.0.0", "--port", "0", "--paused"]);
    assert!(address.contains("/?token="), "{address}");
}
