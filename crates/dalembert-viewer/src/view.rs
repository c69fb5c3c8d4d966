//! The loop behind `dalembert view`: time runs as the wall clock does, pages look on and may interfere.
//!
//! Time begins when the first page has drawn its first picture, so that nobody misses the beginning, and stops at the
//! end that the scene names; `play` then goes on beyond it.

use std::time::{Duration, Instant};

use crate::ViewerError;
use crate::drawing::Frame;
use crate::player::Player;
use crate::server::{Command, Server, ServerOptions, Status};

/// How a view starts.
#[derive(Debug, Clone, PartialEq)]
pub struct ViewOptions {
    /// Where the server listens.
    pub server: ServerOptions,
    /// Whether time runs from the start.
    pub playing: bool,
    /// How fast time runs; 1 is real time.
    pub speed: f64,
    /// Time at which it stops \[s\]; `None` to go on until somebody stops it.
    pub until: Option<f64>,
    /// Opens the address in the system's browser.
    pub open: bool,
}

impl Default for ViewOptions {
    fn default() -> Self {
        Self { server: ServerOptions::default(), playing: true, speed: 1.0, until: None, open: true }
    }
}

/// Longest time spent on steps before pages are served again.
const SLICE: Duration = Duration::from_millis(25);
/// A page that looks at something that stands still gets a frame this often, which is also how a new page gets its
/// first.
const IDLE: Duration = Duration::from_millis(100);

/// Shows a player in the browser until `keep_going` says no. `started` is told the running server first, so that it
/// can print the address.
///
/// Where a step fails, time stands still at the last good state; `failed` and the pages are told why, and a reset
/// goes on.
pub fn view(
    player: &mut dyn Player,
    options: &ViewOptions,
    started: impl FnOnce(&Server),
    mut failed: impl FnMut(&ViewerError),
    mut keep_going: impl FnMut() -> bool,
) -> Result<(), ViewerError> {
    let server = Server::start(&options.server, player.drawing())?;
    started(&server);
    server.notice(&player.notice().unwrap_or_default());
    if options.open {
        open_browser(&server.url());
    }
    let mut clock = Clock::new(player, options);
    let mut frame = Frame::default();
    let mut begun = false;
    while keep_going() {
        if !begun && server.seen() {
            begun = true;
            clock.restart(player);
        }
        for command in server.commands() {
            if matches!(command, Command::Reset | Command::Play) {
                server.notice(&player.notice().unwrap_or_default());
            }
            if let Err(error) = clock.obey(command, player) {
                server.notice(&error.to_string());
                failed(&error);
            }
        }
        match if begun { clock.run(player) } else { Ok(Ran::On) } {
            Ok(Ran::On) => {}
            Ok(Ran::Out(end)) => {
                server.notice(&format!("the end at {end} s; Play goes on, Reset begins anew"))
            }
            Err(error) => {
                clock.status.playing = false;
                server.notice(&error.to_string());
                failed(&error);
            }
        }
        if clock.news && server.is_due() || clock.shown.elapsed() > IDLE && server.pages() > 0 {
            player.frame(server.wanted(), &mut frame);
            clock.status.recording = player.recorded().map(|(i, n)| (i as u32, n as u32));
            server.publish_now(&frame, &clock.status);
            (clock.news, clock.shown) = (false, Instant::now());
        }
        if !clock.behind {
            std::thread::sleep(Duration::from_millis(3));
        }
    }
    Ok(())
}

/// How far a turn of the loop came.
enum Ran {
    /// There is more, or time stands still.
    On,
    /// It has stopped at the end that the scene names \[s\].
    Out(f64),
}

/// Ties the player's time to the wall clock.
struct Clock {
    status: Status,
    /// Where time stops \[s\]; nowhere once it was played on.
    until: Option<f64>,
    /// The same after a reset.
    end: Option<f64>,
    /// Wall-clock time and player's time at which both were last set equal.
    since: (Instant, f64),
    /// How much time the last step took off \[s\].
    step: f64,
    /// Something has changed that no page has seen.
    news: bool,
    /// The player cannot keep up.
    behind: bool,
    shown: Instant,
}

impl Clock {
    fn new(player: &dyn Player, options: &ViewOptions) -> Self {
        let status = Status { playing: options.playing, speed: options.speed, ..Status::default() };
        let now = Instant::now();
        let (until, end) = (options.until, options.until);
        Self {
            status,
            until,
            end,
            since: (now, player.time()),
            step: 0.0,
            news: true,
            behind: false,
            shown: now,
        }
    }

    fn restart(&mut self, player: &dyn Player) {
        self.since = (Instant::now(), player.time());
        self.news = true;
    }

    fn obey(&mut self, command: Command, player: &mut dyn Player) -> Result<(), ViewerError> {
        match command {
            Command::Play => {
                if self.at_until(player) {
                    self.until = None;
                } else if self.status.at_end {
                    player.reset()?;
                }
                self.status.at_end = false;
                self.status.playing = true;
            }
            Command::Pause => self.status.playing = false,
            Command::Step { count } => {
                self.status.playing = false;
                for _ in 0..count {
                    self.status.at_end = !player.step()?;
                }
            }
            Command::Reset => {
                player.reset()?;
                self.until = self.end;
                self.status.at_end = false;
            }
            Command::Speed { factor } => self.status.speed = factor,
            Command::Seek { frame } => {
                player.seek(usize::try_from(frame).unwrap_or(usize::MAX))?;
                self.status.at_end = false;
            }
            Command::Drag(d) => {
                player.grab(d.client, d.shape, d.element, d.anchor, d.target);
                return Ok(());
            }
            Command::Release { client } => {
                player.release(client);
                return Ok(());
            }
        }
        self.restart(player);
        Ok(())
    }

    /// Whether the next step would lead beyond the end, of which half a step may be missing.
    fn at_until(&self, player: &dyn Player) -> bool {
        self.until.is_some_and(|end| player.time() >= end - 0.5 * self.step)
    }

    /// Steps until the player's time has caught up with the wall clock, or a slice of time has passed.
    fn run(&mut self, player: &mut dyn Player) -> Result<Ran, ViewerError> {
        self.behind = false;
        if !self.status.playing {
            return Ok(Ran::On);
        }
        let begin = Instant::now();
        loop {
            let goal = self.since.1 + self.status.speed * self.since.0.elapsed().as_secs_f64();
            if let Some(end) = self.until.filter(|_| self.at_until(player)) {
                (self.status.playing, self.status.at_end, self.news) = (false, true, true);
                return Ok(Ran::Out(end));
            }
            if player.time() >= goal {
                return Ok(Ran::On);
            }
            if begin.elapsed() > SLICE {
                // Too slow for the wall clock: do not try to catch up later.
                self.behind = true;
                self.restart(player);
                return Ok(Ran::On);
            }
            self.news = true;
            let before = player.time();
            let more = player.step()?;
            self.step = player.time() - before;
            if !more {
                (self.status.playing, self.status.at_end) = (false, true);
                return Ok(Ran::On);
            }
        }
    }
}

/// Asks the system to show an address; if it cannot, the printed address must do.
fn open_browser(url: &str) {
    let program = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    let null = std::process::Stdio::null;
    let started =
        std::process::Command::new(program).arg(url).stdin(null()).stdout(null()).stderr(null()).spawn();
    if let Ok(mut child) = started {
        std::thread::spawn(move || child.wait());
    }
}
