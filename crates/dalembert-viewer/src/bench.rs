//! What looking costs: encoding a frame, and steps beside a slow page.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Instant;

use dalembert::prelude::*;

use crate::ViewerError;
use crate::drawing::{Frame, Groups};
use crate::player::{Live, Player};
use crate::sample::large_drawing;
use crate::server::{Server, ServerOptions, Status, encode};

/// Figures of one run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ViewerCost {
    /// Time to encode 2 000 poses and 100 × 100 vertices \[s\].
    pub encode: f64,
    /// Size of that frame \[bytes\].
    pub frame_bytes: usize,
    /// Time to translate the state of a 100 × 100 cloth of springs into a frame \[s\].
    pub translate: f64,
    /// Steps per second of that cloth alone [1/s].
    pub steps_alone: f64,
    /// Steps per second while a page is connected that never reads [1/s].
    pub steps_watched: f64,
}

impl std::fmt::Display for ViewerCost {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        writeln!(
            f,
            "encode 2000 bodies + 100x100 cloth  {:8.3} ms  ({} bytes)",
            1e3 * self.encode,
            self.frame_bytes
        )?;
        writeln!(f, "translate 100x100 cloth             {:8.3} ms", 1e3 * self.translate)?;
        write!(
            f,
            "steps per second alone / slow page  {:8.1} / {:.1}  ({:+.2} %)",
            self.steps_alone,
            self.steps_watched,
            100.0 * (self.steps_watched / self.steps_alone - 1.0)
        )
    }
}

/// A cloth of 100 × 100 particles and springs.
fn cloth() -> Result<Simulation, ViewerError> {
    let mut scene = Scene { dt: 5e-4, ..Scene::default() };
    scene.add(
        ParticleSet::new("cloth", Arrangement::Cloth { size: [2.0, 2.0], count: [100, 100] }).mass(1e-3),
    );
    scene.add(SpringSet::along("warp", "cloth", Edges::Structural).stiffness(50.0).damping(0.01));
    scene.add(SpringSet::along("shear", "cloth", Edges::Shear).stiffness(20.0).damping(0.01));
    scene.add(Fix::points("cloth[0:100]"));
    // The scene is ours and valid.
    scene.build().map_err(|_| ViewerError::NothingToShow)
}

/// Least time of `n` calls \[s\].
fn best(n: usize, mut call: impl FnMut()) -> f64 {
    let time = |_| {
        let start = Instant::now();
        call();
        start.elapsed().as_secs_f64()
    };
    (0..n).map(time).fold(f64::INFINITY, f64::min)
}

/// Measures what looking costs; takes a few seconds.
pub fn viewer_cost() -> Result<ViewerCost, ViewerError> {
    let (_, frame) = large_drawing(2000, 100);
    let mut frame_bytes = 0;
    let encode = best(200, || frame_bytes = encode(&frame, &Status::default(), 1, 1).len());

    let mut live = Live::new(cloth()?);
    let mut out = Frame::default();
    let translate = best(50, || live.frame(Groups::default(), &mut out));

    let server = Server::start(&ServerOptions { port: 0, ..ServerOptions::default() }, live.drawing())?;
    // A page that connects, takes the first bytes and then sleeps.
    let slow = connect(&server);
    let deadline = Instant::now() + std::time::Duration::from_secs(5);
    while slow.is_ok() && server.pages() == 0 && Instant::now() < deadline {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    // Short turns, so that a change in the machine's load meets both alike; the median of their ratios counts.
    const TURNS: usize = 41;
    const STEPS: u32 = 60;
    let mut turns = Vec::new();
    for _ in 0..TURNS {
        let mut rate = [0.0; 2];
        for (looked_at, rate) in [false, true].into_iter().zip(&mut rate) {
            let start = Instant::now();
            for _ in 0..STEPS {
                live.step()?;
                if looked_at && server.is_due() {
                    live.frame(server.wanted(), &mut out);
                    server.publish(&out, &Status::default());
                }
            }
            *rate = f64::from(STEPS) / start.elapsed().as_secs_f64();
        }
        turns.push(rate);
    }
    turns.sort_by(|a, b| (a[1] / a[0]).total_cmp(&(b[1] / b[0])));
    let [steps_alone, steps_watched] = turns[TURNS / 2];
    Ok(ViewerCost { encode, frame_bytes, translate, steps_alone, steps_watched })
}

fn connect(server: &Server) -> std::io::Result<TcpStream> {
    let mut stream = TcpStream::connect(server.address())?;
    let head = format!(
        "GET /ws HTTP/1.1\r\nHost: {}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
         Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
        server.address()
    );
    stream.write_all(head.as_bytes())?;
    let mut first = [0; 16];
    stream.read_exact(&mut first)?;
    Ok(stream)
}
