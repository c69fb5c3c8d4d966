//! The server under ordinary and under bad clients.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use dalembert_viewer::drawing::{Drawing, Frame, Group, Groups};
use dalembert_viewer::sample::large_drawing;
use dalembert_viewer::server::MOST_CONNECTIONS;
use dalembert_viewer::{Command, Player, Server, ServerOptions, Status, ViewOptions, ViewerError, view};
use tungstenite::{Message, WebSocket};

fn start() -> Server {
    Server::start(
        &ServerOptions { port: 0, frame_rate: 1e6, ..ServerOptions::default() },
        &large_drawing(3, 4).0,
    )
    .unwrap()
}

fn open(server: &Server) -> WebSocket<TcpStream> {
    let stream = TcpStream::connect(server.address()).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    tungstenite::client(format!("ws://{}/ws", server.address()), stream).unwrap().0
}

fn wait(what: &str, mut until: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(20);
    while !until() {
        assert!(Instant::now() < end, "waited in vain: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn get(server: &Server, lines: &str) -> String {
    let mut stream = TcpStream::connect(server.address()).unwrap();
    stream.write_all(lines.replace('\n', "\r\n").as_bytes()).unwrap();
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    String::from_utf8_lossy(&answer).into_owned()
}

#[test]
fn a_page_gets_the_drawing_then_frames_and_its_commands_arrive() {
    let server = start();
    let (_, frame) = large_drawing(3, 4);
    let mut page = open(&server);
    let Message::Text(scene) = page.read().unwrap() else { panic!("the drawing comes first") };
    let scene: serde_json::Value = serde_json::from_str(&scene).unwrap();
    assert_eq!(scene["drawing"]["shapes"].as_array().unwrap().len(), 4);
    assert_eq!(scene["drawing"]["shapes"][0]["kind"], "box");
    server.publish_now(&frame, &Status::default());
    let Message::Binary(bytes) = page.read().unwrap() else { panic!("then frames come") };
    assert_eq!(&bytes[..4], b"DAF1");
    for text in [
        r#"{"type":"pause"}"#,
        r#"{"type":"speed","factor":2}"#,
        r#"{"type":"drag","shape":1,"element":0,"anchor":[0,0,0.1],"target":[1,2,3]}"#,
        r#"{"type":"show","groups":["velocity","nonsense"]}"#,
    ] {
        page.send(Message::text(text)).unwrap();
    }
    wait("velocities are wanted", || server.wanted().has(Group::Velocity));
    let commands = server.commands();
    assert_eq!(commands[..2], [Command::Pause, Command::Speed { factor: 2.0 }]);
    let Command::Drag(drag) = commands[2] else { panic!("{commands:?}") };
    assert_eq!((drag.shape, drag.target), (1, [1.0, 2.0, 3.0]));
    // Who goes away lets go.
    drop(page);
    wait("the page is gone", || server.pages() == 0);
    wait("the hand is open", || server.commands().contains(&Command::Release { client: drag.client }));
}

#[test]
fn a_page_that_does_not_draw_gets_two_frames_and_then_the_newest() {
    let server = start();
    let (_, mut frame) = large_drawing(3, 4);
    let mut page = open(&server);
    page.read().unwrap();
    let number = |m: Message| u32::from_le_bytes(m.into_data()[8..12].try_into().unwrap());
    for i in 0..50 {
        frame.time = f64::from(i);
        server.publish_now(&frame, &Status::default());
        std::thread::sleep(Duration::from_millis(2));
    }
    let first = number(page.read().unwrap());
    let second = number(page.read().unwrap());
    assert!(first < second && second < 50);
    page.send(Message::text(format!("{{\"type\":\"ack\",\"frame\":{second}}}"))).unwrap();
    assert_eq!(number(page.read().unwrap()), 50);
}

#[test]
fn garbage_oversize_and_floods_end_the_connection_and_nothing_else() {
    let server = start();
    let mut good = open(&server);
    good.read().unwrap();
    let bad: [(&str, Vec<Message>); 4] = [
        ("garbage", vec![Message::text("hello")]),
        ("bytes", vec![Message::binary(vec![1, 2, 3])]),
        ("oversize", vec![Message::text(format!("{{\"type\":\"{}\"}}", "x".repeat(1 << 20)))]),
        ("flood", vec![Message::text(r#"{"type":"step","count":1}"#); 5000]),
    ];
    for (name, messages) in bad {
        let mut page = open(&server);
        for m in messages {
            if page.send(m).is_err() {
                break;
            }
        }
        wait(name, || page.read().is_err());
    }
    // A head that never ends, a head that is none.
    assert_eq!(get(&server, &format!("GET /{} HTTP/1.1\n", "a".repeat(20_000))), "");
    assert_eq!(get(&server, "\u{1}\u{2}\n\n"), "");
    wait("the bad ones are gone", || server.pages() == 1);
    assert!(server.commands().len() <= 1024 + 8);
    server.publish_now(&large_drawing(3, 4).1, &Status::default());
    assert!(good.read().unwrap().is_binary());
}

#[test]
fn two_hundred_connections_are_served_or_told_to_wait() {
    let server = start();
    let mut streams: Vec<TcpStream> =
        (0..200).map(|_| TcpStream::connect(server.address()).unwrap()).collect();
    // Those beyond the limit hear "503" at once.
    let mut turned_away = 0;
    for stream in streams.iter_mut().skip(MOST_CONNECTIONS) {
        stream.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
        let mut answer = String::new();
        let _ = stream.read_to_string(&mut answer);
        turned_away += usize::from(answer.starts_with("HTTP/1.1 503"));
    }
    assert_eq!(turned_away, 200 - MOST_CONNECTIONS);
    drop(streams);
    wait("a new page is served", || {
        get(&server, &format!("GET / HTTP/1.1\nHost: {}\n\n", server.address())).starts_with("HTTP/1.1 200")
    });
}

#[test]
fn the_page_is_served_and_strangers_are_not() {
    let server = start();
    let host = server.address();
    let page = get(&server, &format!("GET / HTTP/1.1\nHost: {host}\n\n"));
    assert!(page.starts_with("HTTP/1.1 200 OK") && page.contains("<canvas"));
    assert!(
        get(&server, &format!("GET /../Cargo.toml HTTP/1.1\nHost: {host}\n\n")).starts_with("HTTP/1.1 404")
    );
    assert!(get(&server, &format!("POST / HTTP/1.1\nHost: {host}\n\n")).starts_with("HTTP/1.1 405"));
    assert!(get(&server, "GET / HTTP/1.1\nHost: evil.example\n\n").starts_with("HTTP/1.1 403"));
    let upgrade = "Upgrade: websocket\nConnection: Upgrade\nSec-WebSocket-Version: 13\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==";
    let evil = format!("GET /ws HTTP/1.1\nHost: {host}\nOrigin: http://evil.example\n{upgrade}\n\n");
    assert!(get(&server, &evil).starts_with("HTTP/1.1 403"));
}

#[test]
fn bound_wider_a_token_is_needed() {
    let options = ServerOptions { address: "0.0.0.0".parse().unwrap(), port: 0, ..ServerOptions::default() };
    let server = Server::start(&options, &large_drawing(1, 2).0).unwrap();
    let (_, token) = server.url().split_once("token=").map(|(a, b)| (a.to_owned(), b.to_owned())).unwrap();
    assert_eq!(token.len(), 32);
    let local = std::net::SocketAddr::from(([127, 0, 0, 1], server.address().port()));
    let ask = |path: &str| {
        let mut stream = TcpStream::connect(local).unwrap();
        write!(stream, "GET {path} HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
        let mut answer = String::new();
        let _ = stream.read_to_string(&mut answer);
        answer
    };
    assert!(ask("/").starts_with("HTTP/1.1 403"));
    assert!(ask("/?token=00000000000000000000000000000000").starts_with("HTTP/1.1 403"));
    assert!(ask(&format!("/?token={token}")).starts_with("HTTP/1.1 200"));
}

#[test]
fn a_port_in_use_leads_to_the_next() {
    let first = start();
    let port = first.address().port();
    let options = ServerOptions { port, ..ServerOptions::default() };
    let second = Server::start(&options, &large_drawing(1, 2).0).unwrap();
    assert_ne!(second.address().port(), port);
}

/// Time goes by in steps of a hundredth of a second, and every step is counted.
struct Ticks {
    drawing: Drawing,
    steps: std::sync::Arc<std::sync::atomic::AtomicU64>,
}

impl Player for Ticks {
    fn drawing(&self) -> &Drawing {
        &self.drawing
    }

    fn frame(&mut self, _: Groups, out: &mut Frame) {
        *out = large_drawing(3, 4).1;
        out.time = self.time();
    }

    fn time(&self) -> f64 {
        0.01 * self.steps.load(std::sync::atomic::Ordering::Relaxed) as f64
    }

    fn step(&mut self) -> Result<bool, ViewerError> {
        self.steps.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        Ok(true)
    }

    fn reset(&mut self) -> Result<(), ViewerError> {
        self.steps.store(0, std::sync::atomic::Ordering::Relaxed);
        Ok(())
    }
}

#[test]
fn time_begins_with_the_first_picture_of_a_page_stops_at_the_end_and_goes_on_when_asked() {
    use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
    let (steps, stop) = (std::sync::Arc::new(AtomicU64::new(0)), std::sync::Arc::new(AtomicBool::new(false)));
    let (tell, told) = std::sync::mpsc::channel();
    let mut ticks = Ticks { drawing: large_drawing(3, 4).0, steps: steps.clone() };
    let stopped = stop.clone();
    let looking = std::thread::spawn(move || {
        let server = ServerOptions { port: 0, ..ServerOptions::default() };
        let options = ViewOptions { server, open: false, until: Some(0.2), ..ViewOptions::default() };
        let started = |server: &Server| tell.send(server.address()).unwrap();
        view(&mut ticks, &options, started, |e| panic!("{e}"), || !stopped.load(Ordering::Relaxed)).unwrap();
    });
    let address = told.recv().unwrap();
    let taken = || steps.load(Ordering::Relaxed);
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(taken(), 0, "nobody looks yet");

    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
    let (mut page, _) = tungstenite::client(format!("ws://{address}/ws"), stream).unwrap();
    let (mut notice, mut newest) = (String::new(), 0);
    // Draws what comes, for some time.
    let mut look = |page: &mut WebSocket<TcpStream>, draws: bool, time: u64| {
        let end = Instant::now() + Duration::from_millis(time);
        while Instant::now() < end {
            match page.read() {
                Ok(Message::Binary(frame)) => newest = u32::from_le_bytes(frame[8..12].try_into().unwrap()),
                Ok(Message::Text(text)) if text.contains("notice") => notice = text.to_string(),
                _ => {}
            }
            // Also of frames that came while it did not draw.
            if draws {
                let _ = page.send(Message::text(format!("{{\"type\":\"ack\",\"frame\":{newest}}}")));
            }
        }
        notice.clone()
    };
    look(&mut page, false, 300);
    assert_eq!(taken(), 0, "the page is there, but has drawn nothing");
    let end = Instant::now() + Duration::from_secs(20);
    while taken() < 20 && Instant::now() < end {
        look(&mut page, true, 50);
    }
    let said = look(&mut page, true, 400);
    assert_eq!(taken(), 20, "0.2 s in steps of 0.01 s");
    assert!(said.contains("the end at 0.2 s"), "{said}");
    page.send(Message::text(r#"{"type":"play"}"#)).unwrap();
    look(&mut page, true, 300);
    assert!(taken() > 20, "it goes on");
    stop.store(true, Ordering::Relaxed);
    looking.join().unwrap();
}
