//! The page in a real Chromium, driven over its DevTools protocol.
//!
//! The browser is the one named by `DALEMBERT_BROWSER`, or an installed Chromium or Chrome; `cargo xtask test` installs
//! one where it can. Where there is none the tests say so and pass, unless `CI` is set.

use std::collections::VecDeque;
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::time::{Duration, Instant};

use dalembert::prelude::*;
use dalembert_formats::recording::{Header, Recording, Writer};
use dalembert_viewer::{
    Command as ViewerCommand, Live, Playback, Player, Server, ServerOptions, Status, ViewOptions, view,
};
use serde_json::{Value, json};
use tungstenite::{Message, WebSocket};

/// Two browsers at once are too much for a small machine.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

const SIZE: (u32, u32) = (1000, 700);

fn find_browser() -> Option<PathBuf> {
    if let Some(path) = std::env::var_os("DALEMBERT_BROWSER") {
        return Some(path.into());
    }
    let folders: Vec<PathBuf> = std::env::split_paths(&std::env::var_os("PATH")?).collect();
    let names = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];
    names.iter().flat_map(|n| folders.iter().map(move |f| f.join(n))).find(|p| p.is_file())
}

/// How long anything may take: machines that run tests are often busy with something else.
const PATIENCE: Duration = Duration::from_secs(240);

/// A page under remote control.
struct Browser {
    child: Child,
    _profile: tempfile::TempDir,
    socket: WebSocket<TcpStream>,
    session: String,
    next: u64,
    events: VecDeque<Value>,
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.socket.send(Message::text(json!({"id": 0, "method": "Browser.close"}).to_string()));
        let end = Instant::now() + Duration::from_secs(5);
        while Instant::now() < end {
            if matches!(self.child.try_wait(), Ok(Some(_))) {
                return;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Browser {
    fn start() -> Option<Self> {
        let Some(program) = find_browser() else {
            assert!(std::env::var_os("CI").is_none(), "CI needs a browser for these tests");
            eprintln!("SKIPPED: no browser");
            return None;
        };
        let profile = tempfile::tempdir().unwrap();
        let mut child = Command::new(program)
            .args([
                "--headless=new",
                "--no-sandbox",
                "--use-angle=swiftshader",
                "--enable-unsafe-swiftshader",
            ])
            .args(["--disable-background-networking", "--disable-component-update", "--no-first-run"])
            .args(["--remote-debugging-port=0", "about:blank"])
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let end = Instant::now() + PATIENCE;
        let (port, path) = loop {
            let text = std::fs::read_to_string(profile.path().join("DevToolsActivePort")).unwrap_or_default();
            if let Some((port, path)) = text.split_once('\n') {
                break (port.trim().parse::<u16>().unwrap(), path.trim().to_owned());
            }
            if Instant::now() > end {
                let _ = child.kill();
                panic!("the browser did not start");
            }
            std::thread::sleep(Duration::from_millis(50));
        };
        let stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let socket = tungstenite::client(format!("ws://127.0.0.1:{port}{path}"), stream).unwrap().0;
        let events = VecDeque::new();
        let mut browser = Self { child, _profile: profile, socket, session: String::new(), next: 1, events };
        let target = browser.call("Target.createTarget", json!({"url": "about:blank"}));
        let attach = json!({"targetId": target["targetId"], "flatten": true});
        browser.session = browser.call("Target.attachToTarget", attach)["sessionId"].as_str().unwrap().into();
        for domain in ["Page", "Runtime", "Network", "Log"] {
            browser.call(&format!("{domain}.enable"), json!({}));
        }
        let size = json!({"width": SIZE.0, "height": SIZE.1, "deviceScaleFactor": 1, "mobile": false});
        browser.call("Emulation.setDeviceMetricsOverride", size);
        Some(browser)
    }

    fn call(&mut self, method: &str, params: Value) -> Value {
        let id = self.next;
        self.next += 1;
        let mut message = json!({"id": id, "method": method, "params": params});
        if !self.session.is_empty() {
            message["sessionId"] = self.session.clone().into();
        }
        self.socket.send(Message::text(message.to_string())).unwrap();
        loop {
            let Message::Text(text) = self.socket.read().unwrap() else { continue };
            let mut answer: Value = serde_json::from_str(&text).unwrap();
            if answer["id"] == id {
                assert!(answer.get("error").is_none(), "{method}: {answer}");
                return answer["result"].take();
            }
            if answer.get("method").is_some() {
                self.events.push_back(answer);
            }
        }
    }

    fn eval(&mut self, expression: &str) -> Value {
        let params = json!({"expression": expression, "returnByValue": true, "awaitPromise": true});
        let mut answer = self.call("Runtime.evaluate", params);
        assert!(answer.get("exceptionDetails").is_none(), "{expression}: {answer}");
        answer["result"]["value"].take()
    }

    fn wait(&mut self, expression: &str) {
        let end = Instant::now() + PATIENCE;
        while self.eval(expression) != true {
            if Instant::now() > end {
                let state = self.eval("JSON.stringify(window.__dalembert)");
                self.shot("waited_in_vain");
                panic!("waited in vain for {expression}; the page says {state}");
            }
            std::thread::sleep(Duration::from_millis(40));
        }
    }

    fn mouse(&mut self, kind: &str, x: f64, y: f64, pressed: bool) {
        let buttons = u8::from(pressed);
        let button = if kind == "mouseMoved" && !pressed { "none" } else { "left" };
        let params =
            json!({"type": kind, "x": x, "y": y, "button": button, "buttons": buttons, "clickCount": 1});
        self.call("Input.dispatchMouseEvent", params);
    }

    /// Clicks an element where it is seen; `along` says where on its width, 0 … 1.
    fn click(&mut self, id: &str, along: f64) {
        let place = self.eval(&format!(
            "(() => {{ const e = document.getElementById('{id}'); e.scrollIntoView(); const b = e.getBoundingClientRect();
              return [b.left + {along} * b.width, b.top + b.height / 2]; }})()"
        ));
        let (x, y) = (place[0].as_f64().unwrap(), place[1].as_f64().unwrap());
        self.mouse("mousePressed", x, y, true);
        self.mouse("mouseReleased", x, y, false);
    }

    /// A picture of the page: width and RGB or RGBA bytes, by pixel.
    fn shot(&mut self, name: &str) -> Vec<[u8; 3]> {
        let answer = self.call("Page.captureScreenshot", json!({"format": "png"}));
        let bytes = base64(answer["data"].as_str().unwrap());
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("viewer");
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join(format!("{name}.png")), &bytes).unwrap();
        let mut reader = png::Decoder::new(std::io::Cursor::new(bytes)).read_info().unwrap();
        let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
        let info = reader.next_frame(&mut pixels).unwrap();
        assert_eq!((info.width, info.height), SIZE);
        pixels[..info.buffer_size()]
            .chunks_exact(info.color_type.samples())
            .map(|p| [p[0], p[1], p[2]])
            .collect()
    }

    /// No error in the page, and nothing asked of any other host.
    fn assert_clean(&mut self, host: &str) {
        assert_eq!(self.eval("window.__dalembert.errors"), json!([]));
        let mut requests = 0;
        for event in &self.events {
            let (method, params) = (event["method"].as_str().unwrap(), &event["params"]);
            assert_ne!(method, "Runtime.exceptionThrown", "{params}");
            let url = match method {
                "Network.requestWillBeSent" => params["request"]["url"].as_str(),
                "Network.webSocketCreated" => params["url"].as_str(),
                _ => None,
            };
            if let Some(url) = url {
                requests += 1;
                let ours = ["http://", "ws://"].iter().any(|s| url.starts_with(&format!("{s}{host}/")));
                assert!(ours || url.starts_with("data:") || url.starts_with("blob:"), "asked for {url}");
            }
        }
        assert!(requests >= 4, "only {requests} requests were seen");
    }
}

fn base64(text: &str) -> Vec<u8> {
    let value = |c: u8| match c {
        b'A'..=b'Z' => c - b'A',
        b'a'..=b'z' => c - b'a' + 26,
        b'0'..=b'9' => c - b'0' + 52,
        b'+' => 62,
        _ => 63,
    };
    let mut out = Vec::new();
    for four in text.trim_end_matches('=').as_bytes().chunks(4) {
        let bits = four.iter().fold(0u32, |b, c| b << 6 | u32::from(value(*c))) << (6 * (4 - four.len()));
        out.extend(&bits.to_be_bytes()[1..four.len()]);
    }
    out
}

/// A view in a thread of its own.
struct Viewing {
    stop: Arc<AtomicBool>,
    thread: Option<std::thread::JoinHandle<()>>,
    host: String,
}

impl Viewing {
    fn start(mut player: impl Player + Send + 'static, port: u16, playing: bool) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let (tell, told) = mpsc::channel();
        let stopped = stop.clone();
        let thread = std::thread::spawn(move || {
            let server = ServerOptions { port, ..ServerOptions::default() };
            let options = ViewOptions { server, open: false, playing, ..ViewOptions::default() };
            let started =
                |server: &dalembert_viewer::Server| tell.send(server.address().to_string()).unwrap();
            view(&mut player, &options, started, |e| panic!("{e}"), || !stopped.load(Ordering::Relaxed))
                .unwrap();
        });
        let host = told.recv_timeout(PATIENCE).unwrap();
        Self { stop, thread: Some(thread), host }
    }
}

impl Drop for Viewing {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// A net that swings and a ball that floats.
fn scene() -> Simulation {
    let mut scene = Scene { title: "net and ball".into(), dt: 2e-3, ..Scene::default() };
    let net = Arrangement::Cloth { size: [1.0, 1.0], count: [9, 9] };
    scene.add(ParticleSet::new("net", net).mass(0.02).position([0.0, 0.0, 1.0]));
    scene.add(SpringSet::along("warp", "net", Edges::Structural).stiffness(150.0).damping(0.1));
    scene.add(SpringSet::along("shear", "net", Edges::Shear).stiffness(50.0).damping(0.1));
    scene.add(Fix::points("net[0]"));
    scene.add(Fix::points("net[8]"));
    scene.add(ParticleSet::at("ball", [0.9, -0.6, 0.6]).mass(0.5));
    // Holds the ball against its weight.
    scene.add(PushSet {
        name: "lift".into(),
        on: vec!["ball".into()],
        force: Vec3::new(0.0, 0.0, 0.5 * 9.81),
        signal: Signal::Constant,
        ..PushSet::default()
    });
    scene.build().unwrap()
}

fn count_far(a: &[[u8; 3]], b: &[[u8; 3]]) -> usize {
    a.iter().zip(b).filter(|(a, b)| (0..3).any(|k| a[k].abs_diff(b[k]) > 24)).count()
}

#[test]
fn a_live_simulation_is_seen_dragged_paused_and_found_again() {
    let _guard = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(mut browser) = Browser::start() else { return };
    let viewing = Viewing::start(Live::new(scene()), 0, true);
    let host = viewing.host.clone();
    browser.call("Page.navigate", json!({"url": format!("http://{host}/?quality=low")}));
    browser.wait("window.__dalembert?.ready === true");

    // Time runs; the picture is not blank: the middle shows more than the background.
    let before = browser.eval("__dalembert.time").as_f64().unwrap();
    browser.wait(&format!("__dalembert.time > {before} + 0.1"));
    let picture = browser.shot("live");
    let back = picture[(SIZE.0 * 90 + 500) as usize];
    let middle = (0..SIZE.1 - 70).flat_map(|y| (230..SIZE.0 - 260).map(move |x| (y * SIZE.0 + x) as usize));
    let drawn = middle.filter(|i| (0..3).any(|k| picture[*i][k].abs_diff(back[k]) > 30)).count();
    assert!(drawn > 2000, "{drawn} pixels differ from the background");

    // Dragging: the ball floats until a hand pulls it.
    let ball = browser.eval("__dalembert.names().indexOf('ball')").as_u64().unwrap();
    let place = format!("__dalembert.place({ball})");
    let start = browser.eval(&place);
    assert_eq!(start, json!([0.8999999761581421, -0.6000000238418579, 0.6000000238418579]));
    let at = browser.eval(&format!("__dalembert.screen({ball})"));
    let (x, y) = (at[0].as_f64().unwrap(), at[1].as_f64().unwrap());
    assert_eq!(browser.eval(&format!("__dalembert.pick({x} + 2, {y}).shape")), json!(ball));
    browser.mouse("mouseMoved", x, y, false);
    browser.mouse("mousePressed", x, y, true);
    for k in 1..=8 {
        browser.mouse("mouseMoved", x - 8.0 * f64::from(k), y - 12.0 * f64::from(k), true);
    }
    assert_eq!(browser.eval("__dalembert.dragging"), json!(true));
    browser.wait(&format!("{place}[2] > 0.75"));
    browser.shot("dragging");
    browser.mouse("mouseReleased", x - 64.0, y - 96.0, false);
    assert_eq!(browser.eval("__dalembert.dragging"), json!(false));

    // Pause, one step, reset.
    browser.click("play", 0.5);
    browser.wait("__dalembert.playing === false");
    let step = browser.eval("__dalembert.step").as_u64().unwrap();
    browser.click("step", 0.5);
    browser.wait(&format!("__dalembert.step === {step} + 1"));

    // Overlays: arrows come when asked for and go again.
    let without = browser.shot("paused");
    assert_eq!(browser.eval("__dalembert.arrows(0)"), json!(0));
    browser.click("toggle-velocity", 0.5);
    browser.click("toggle-force", 0.5);
    browser.wait("__dalembert.arrows(0) > 50 && __dalembert.arrows(1) > 50");
    let with = browser.shot("arrows");
    assert!(count_far(&without, &with) > 300);
    browser.click("toggle-velocity", 0.5);
    browser.click("toggle-force", 0.5);
    browser.wait("__dalembert.arrows(0) === 0 && __dalembert.arrows(1) === 0");
    browser.click("toggle-inside", 0.5);
    browser.wait("__dalembert.shown.includes('inside')");
    browser.click("toggle-inside", 0.5);

    // Orbiting turns the camera: an empty place of the canvas is dragged.
    let here = browser.eval("__dalembert.screen(0)");
    browser.mouse("mousePressed", 700.0, 580.0, true);
    browser.mouse("mouseMoved", 640.0, 590.0, true);
    browser.mouse("mouseReleased", 640.0, 590.0, false);
    assert_ne!(here, browser.eval("__dalembert.screen(0)"));

    let light = browser.eval("__dalembert.dark");
    browser.click("theme", 0.5);
    assert_ne!(light, browser.eval("__dalembert.dark"));
    std::thread::sleep(Duration::from_millis(500));
    browser.shot("other_theme");
    browser.click("reset", 0.5);
    browser.wait("__dalembert.time === 0");

    // The server goes and comes back; the page finds it again.
    let port = host.rsplit(':').next().unwrap().parse().unwrap();
    drop(viewing);
    browser.wait("__dalembert.connected === false");
    let again = Viewing::start(Live::new(scene()), port, true);
    assert_eq!(again.host, host);
    browser.wait("__dalembert.connected && __dalembert.playing && __dalembert.time > 0");
    browser.assert_clean(&host);
}

#[test]
fn a_recording_is_scrubbed_with_the_slider() {
    let _guard = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(mut browser) = Browser::start() else { return };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("net.mcap");
    let mut sim = scene();
    let header = Header { state_len: State::packed_len(&sim.model.layout), ..Header::default() };
    let mut writer = Writer::create(&path, &header).unwrap();
    let mut packed = Vec::new();
    for i in 0..=1000 {
        if i % 10 == 0 {
            sim.state.pack(&sim.model.layout, &mut packed);
            writer.write_frame(sim.state.time, sim.state.steps, &packed).unwrap();
        }
        sim.step().unwrap();
    }
    writer.finish().unwrap();
    let playback = Playback::new(sim.model.clone(), Recording::open(&path).unwrap()).unwrap();
    let viewing = Viewing::start(playback, 0, false);
    browser.call("Page.navigate", json!({"url": format!("http://{}/", viewing.host)}));
    browser.wait("window.__dalembert?.ready && __dalembert.recording && __dalembert.count === 101");
    assert_eq!(browser.eval("__dalembert.time").as_f64(), Some(0.0));
    browser.click("slider", 0.5);
    browser.wait("Math.abs(__dalembert.index - 50) <= 2 && Math.abs(__dalembert.time - 1) < 0.05");
    let half = browser.shot("recording");
    browser.click("slider", 0.95);
    browser.wait("__dalembert.index > 85 && __dalembert.time > 1.7");
    assert!(count_far(&half, &browser.shot("recording_later")) > 500);
    // From the end, play begins anew.
    browser.click("play", 0.5);
    browser.wait("__dalembert.index === 100 && __dalembert.playing === false");
    browser.assert_clean(&viewing.host);
}

#[test]
fn every_kind_of_shape_is_drawn_and_a_stiff_one_can_be_held() {
    let _guard = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(mut browser) = Browser::start() else { return };
    let (drawing, frame) = dalembert_viewer::sample::every_shape();
    let server = Server::start(&ServerOptions { port: 0, ..ServerOptions::default() }, &drawing).unwrap();
    let host = server.address().to_string();
    browser.call("Page.navigate", json!({"url": server.url()}));
    browser.wait("window.__dalembert?.connected === true");
    server.publish_now(&frame, &Status::default());
    browser.wait("__dalembert.ready === true");
    let plain = browser.shot("every_shape");
    browser.click("toggle-force", 0.5);
    browser.click("toggle-frame", 0.5);
    browser.click("toggle-violation", 0.5);
    browser.wait("__dalembert.shown.includes('frame')");
    server.notice("a line for people");
    browser.wait("document.getElementById('notice').textContent === 'a line for people'");
    assert!(count_far(&plain, &browser.shot("every_shape_coloured")) > 1000);
    let ball = browser.eval("__dalembert.names().indexOf('ball')").as_u64().unwrap();
    let at = browser.eval(&format!("__dalembert.screen({ball})"));
    let (x, y) = (at[0].as_f64().unwrap(), at[1].as_f64().unwrap());
    browser.mouse("mousePressed", x, y, true);
    browser.mouse("mouseMoved", x + 30.0, y, true);
    let end = Instant::now() + PATIENCE;
    let drag = loop {
        match server
            .commands()
            .into_iter()
            .find_map(|c| if let ViewerCommand::Drag(d) = c { Some(d) } else { None })
        {
            Some(drag) => break drag,
            None => assert!(Instant::now() < end, "no drag arrived"),
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    browser.mouse("mouseReleased", x + 30.0, y, false);
    // It is held on its skin, on the side that faces the camera.
    let radius = drag.anchor.iter().map(|a| a * a).sum::<f64>().sqrt();
    assert_eq!(u64::from(drag.shape), ball);
    assert!((radius - 0.35).abs() < 0.02, "{radius}");

    // Another drawing takes its place: two thousand bodies and a large cloth.
    let (drawing, frame) = dalembert_viewer::sample::large_drawing(2000, 100);
    server.show(&drawing);
    server.publish_now(&frame, &Status::default());
    browser.wait("__dalembert.names().length === 2001 && __dalembert.place(2000, 9999)?.[2] > 1.5");
    browser.shot("large");
    browser.assert_clean(&host);
}

/// A crate that hangs from the ceiling by a ball joint and a cone beside it that floats.
fn hanging(method: Method) -> Simulation {
    let soft = matches!(method, Method::Explicit(_) | Method::Implicit(_));
    let mut scene = Scene { title: "hanging crate".into(), dt: 2e-3, method, ..Scene::default() };
    let cube = Shape::Box { size: Vec3::new(0.3, 0.3, 0.4) };
    scene.add(RigidBody::new("crate", cube).mass(2.0).at([0.0, 0.0, 1.0]));
    let joint = JointItem::new("hook", JointKind::Ball, "world", "crate").anchor([0.0, 0.0, 1.8]);
    scene.add(if soft { joint.soft(2e3, 4.0) } else { joint });
    let cone = Shape::Cone { radius: 0.15, length: 0.4 };
    scene.add(RigidBody::new("cone", cone).mass(1.0).at([0.7, 0.0, 0.9]));
    let rail = JointItem::new("rail", JointKind::Slider, "world", "cone").anchor([0.7, 0.0, 0.9]);
    let rail = rail.axis([0.0, 0.0, 1.0]).motor(Motor::Effort(9.81));
    scene.add(if soft { rail.soft(300.0, 0.5) } else { rail });
    scene.build().unwrap()
}

#[test]
fn a_rigid_body_is_dragged_in_every_method_and_its_joints_are_shown() {
    let _guard = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(mut browser) = Browser::start() else { return };
    // `ipc` has no sliders and motors yet.
    for name in Method::NAMES.iter().filter(|name| **name != "ipc") {
        let viewing = Viewing::start(Live::new(hanging(Method::from_name(name).unwrap())), 0, true);
        let host = viewing.host.clone();
        browser.events.clear();
        browser.call("Page.navigate", json!({"url": format!("http://{host}/?quality=low")}));
        browser.wait("window.__dalembert?.ready === true && __dalembert.time > 0.05");
        let body = browser.eval("__dalembert.names().indexOf('crate')").as_u64().unwrap();
        let place = format!("__dalembert.place({body})");
        let before = browser.eval(&place);
        let at = browser.eval(&format!("__dalembert.screen({body})"));
        let (x, y) = (at[0].as_f64().unwrap(), at[1].as_f64().unwrap());
        assert_eq!(browser.eval(&format!("__dalembert.pick({x}, {y})?.shape")), json!(body), "{name}");
        browser.mouse("mouseMoved", x, y, false);
        browser.mouse("mousePressed", x, y, true);
        for k in 1..=8 {
            browser.mouse("mouseMoved", x - 10.0 * f64::from(k), y, true);
        }
        assert_eq!(browser.eval("__dalembert.dragging"), json!(true), "{name}");
        // To the left on the screen is a level direction, which one the camera decides.
        browser.wait(&format!("Math.hypot({place}[0] - {}, {place}[1] - {}) > 0.05", before[0], before[1]));
        browser.shot(&format!("rigid_dragging_{name}"));
        browser.mouse("mouseReleased", x - 80.0, y, false);

        // Axes, limits and forces of joints come when asked for, and gaps colour the bodies.
        browser.click("play", 0.5);
        browser.wait("__dalembert.playing === false");
        let plain = browser.shot("rigid_paused");
        for toggle in ["joint", "frame", "force", "violation"] {
            browser.click(&format!("toggle-{toggle}"), 0.5);
        }
        browser.wait("__dalembert.arrows(2) > 0 && __dalembert.arrows(3) > 0");
        browser.wait(&format!("__dalembert.violation({body}) !== null"));
        assert!(count_far(&plain, &browser.shot(&format!("rigid_joints_{name}"))) > 300, "{name}");
        browser.assert_clean(&host);
    }
}

#[test]
fn contacts_are_drawn_over_what_touches_and_the_key_says_how_much_they_bear() {
    let _guard = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(mut browser) = Browser::start() else { return };
    let method = Method::from_name("impulse").unwrap();
    let mut scene = Scene { title: "two boxes".into(), dt: 2e-3, method, ..Scene::default() };
    scene.add(Ground::default());
    for (name, z) in [("lower", 0.15), ("upper", 0.45)] {
        let cube = Shape::Box { size: Vec3::repeat(0.3) };
        scene.add(RigidBody::new(name, cube).mass(1.0).at([0.0, 0.0, z]));
    }
    let viewing = Viewing::start(Live::new(scene.build().unwrap()), 0, true);
    let host = viewing.host.clone();
    browser.call("Page.navigate", json!({"url": format!("http://{host}/?quality=low")}));
    browser.wait("window.__dalembert?.ready === true && __dalembert.time > 0.2");
    browser.click("play", 0.5);
    browser.wait("__dalembert.playing === false");
    let without = browser.shot("contacts_off");
    assert_eq!(browser.eval("__dalembert.key"), json!([]));
    browser.click("toggle-contact", 0.5);
    // Four corners below each box: discs, normals and forces.
    browser.wait("__dalembert.key.some((k) => k === 'contact points: 8')");
    // Eight forces carry 19.62 N on the ground and 9.81 N between the boxes: how corners share it is a matter of choice, but
    // the longest is no less than a quarter of the weight and no more than all of it.
    let longest = "Number(__dalembert.key.map((k) => /contact forces, longest ([0-9.]+) N/.exec(k)?.[1]).find((n) => n))";
    browser.wait(&format!("{longest} > 4.9 && {longest} < 19.7"));
    let with = browser.shot("contacts_on");
    let red = |p: &[u8; 3]| p[0] > 150 && p[1] < 110 && p[2] < 120;
    let count = |shot: &[[u8; 3]]| shot.iter().filter(|p| red(p)).count();
    assert!(count(&with) > count(&without) + 200, "{} and {}", count(&without), count(&with));
    browser.click("toggle-contact", 0.5);
    browser.wait("__dalembert.key.length === 0");
    browser.assert_clean(&host);
}
