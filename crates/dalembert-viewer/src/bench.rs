//! What looking costs: encoding a frame, and steps beside a slow page.

use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use dalembert::prelude::*;
use tungstenite::Message;

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
    /// Time to translate the state of 2 000 rigid bodies and a 100 × 100 cloth of springs into a frame \[s\].
    pub translate: f64,
    /// Steps per second of that scene, alone and beside a page that draws four frames a second [1/s].
    pub slow: [f64; 2],
    /// The same beside a page that draws every frame at once [1/s].
    pub fast: [f64; 2],
}

impl std::fmt::Display for ViewerCost {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        writeln!(
            f,
            "encode 2000 bodies + 100x100 cloth  {:8.3} ms  ({} bytes)",
            1e3 * self.encode,
            self.frame_bytes
        )?;
        write!(f, "translate the same from a state      {:7.3} ms", 1e3 * self.translate)?;
        let mut row = |page: &str, [alone, watched]: [f64; 2]| {
            let change = 100.0 * (watched / alone - 1.0);
            write!(f, "\nsteps per second, alone and {page:9} {alone:7.1} {watched:7.1}  ({change:+.2} %)")
        };
        row("slow page", self.slow)?;
        row("fast page", self.fast)
    }
}

/// 2 000 rigid boxes that fly, and a cloth of 100 × 100 particles and springs.
fn bodies_and_cloth() -> Result<Simulation, ViewerError> {
    let mut scene = Scene { dt: 5e-4, ..Scene::default() };
    scene.add(
        ParticleSet::new("cloth", Arrangement::Cloth { size: [2.0, 2.0], count: [100, 100] }).mass(1e-3),
    );
    scene.add(SpringSet::along("warp", "cloth", Edges::Structural).stiffness(50.0).damping(0.01));
    scene.add(SpringSet::along("shear", "cloth", Edges::Shear).stiffness(20.0).damping(0.01));
    scene.add(Fix::points("cloth[0:100]"));
    for i in 0..2000 {
        let cube = Shape::Box { size: Vec3::repeat(0.1) };
        let at = [f64::from(i % 50) * 0.15, f64::from(i / 50) * 0.15, 3.0];
        let body = RigidBody::new(format!("box {i}"), cube).mass(1.0).at(at);
        scene.add(body.velocity([0.0, 0.0, 3.0]).angular_velocity([1.0, 2.0, 0.5]));
    }
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

fn median(values: &mut [f64]) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Measures what looking costs; takes a few seconds.
pub fn viewer_cost() -> Result<ViewerCost, ViewerError> {
    let (_, frame) = large_drawing(2000, 100);
    let mut frame_bytes = 0;
    let encode = best(200, || frame_bytes = encode(&frame, &Status::default(), 1, 1).len());

    let mut live = Live::new(bodies_and_cloth()?);
    let mut out = Frame::default();
    let translate = best(50, || live.frame(Groups::default(), &mut out));

    let mut rates = [[0.0; 2]; 2];
    for (pause, rates) in [250, 0].into_iter().zip(&mut rates) {
        let options = ServerOptions { port: 0, ..ServerOptions::default() };
        let server = Server::start(&options, live.drawing())?;
        let address = server.address();
        // Ends when the server does.
        std::thread::spawn(move || look(address, Duration::from_millis(pause)));
        let deadline = Instant::now() + Duration::from_secs(5);
        while server.pages() == 0 && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(5));
        }
        // Short turns in the order alone, watched, watched, alone, so that a change in the machine's load meets both
        // alike; the median over the turns is deaf to what disturbs a few of them.
        const TURNS: usize = 60;
        const STEPS: u32 = 20;
        let (mut alone, mut ratios) = (Vec::new(), Vec::new());
        for _ in 0..TURNS {
            let mut times = [0.0; 2];
            for looked_at in [false, true, true, false] {
                let start = Instant::now();
                for _ in 0..STEPS {
                    live.step()?;
                    if looked_at && server.is_due() {
                        live.frame(server.wanted(), &mut out);
                        server.publish(&out, &Status::default());
                    }
                }
                times[usize::from(looked_at)] += start.elapsed().as_secs_f64();
            }
            alone.push(f64::from(2 * STEPS) / times[0]);
            ratios.push(times[0] / times[1]);
        }
        let alone = median(&mut alone);
        *rates = [alone, alone * median(&mut ratios)];
    }
    Ok(ViewerCost { encode, frame_bytes, translate, slow: rates[0], fast: rates[1] })
}

/// A page that needs `pause` to draw a frame.
fn look(address: SocketAddr, pause: Duration) -> Option<()> {
    let stream = TcpStream::connect(address).ok()?;
    let (mut page, _) = tungstenite::client(format!("ws://{address}/ws"), stream).ok()?;
    loop {
        if let Message::Binary(frame) = page.read().ok()? {
            std::thread::sleep(pause);
            let number = u32::from_le_bytes(frame.get(8..12)?.try_into().ok()?);
            page.send(Message::text(format!("{{\"type\":\"ack\",\"frame\":{number}}}"))).ok()?;
        }
    }
}
