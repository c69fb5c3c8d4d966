//! The server behind the browser page: HTTP and WebSocket on this machine.
//!
//! ```text
//! simulation ── publish ──▶ one slot with the newest frame ──▶ writer thread per page
//! simulation ◀─ commands ── bounded queue ◀─────────────────── reader thread per page
//! ```
//!
//! The simulation never waits for a page: it replaces the frame in the slot, and each page takes from there what it
//! has time for. Memory is bounded by one frame, one queue, and [`MOST_CONNECTIONS`] connections.
//!
//! By default only this machine can connect. Bound wider, the address contains a random token that every request must
//! show. Pages from elsewhere are refused by their `Origin`, foreign names for this machine by their `Host`.

mod client;
mod http;
mod protocol;

pub use protocol::{Command, Drag, Status, encode};

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::ViewerError;
use crate::drawing::{Drawing, Frame, Group, Groups};

/// Connections served at a time; others are told to come back later.
pub const MOST_CONNECTIONS: usize = 64;
/// Commands that may wait.
const MOST_COMMANDS: usize = 1024;
/// Frames under way to a page that it has not drawn yet.
const UNDER_WAY: usize = 2;
/// Ports tried after the wanted one.
const MORE_PORTS: u16 = 50;

/// Where and how the server listens.
#[derive(Debug, Clone, PartialEq)]
pub struct ServerOptions {
    /// Address to listen on; anything but this machine itself switches the token on.
    pub address: IpAddr,
    /// Port to try first; if it is in use, the next ones follow. 0 lets the system choose.
    pub port: u16,
    /// Frames per second that are passed on at most [1/s].
    pub frame_rate: f64,
    /// Groups that a page shows before anybody touches its switches.
    pub shown: Groups,
}

impl Default for ServerOptions {
    fn default() -> Self {
        Self { address: Ipv4Addr::LOCALHOST.into(), port: 8420, frame_rate: 60.0, shown: Groups::default() }
    }
}

/// The newest drawing and frame.
#[derive(Default)]
struct Slot {
    version: u32,
    scene: Arc<str>,
    number: u32,
    frame: Option<Arc<Vec<u8>>>,
    notice: Arc<str>,
}

/// What the server knows of a connected page.
#[derive(Default)]
struct Page {
    /// The last frame it has drawn.
    drawn: u32,
    /// Frames sent to it that it has not drawn.
    under_way: usize,
    groups: Groups,
}

struct Shared {
    slot: Mutex<Slot>,
    changed: Condvar,
    commands: Mutex<VecDeque<Command>>,
    pages: Mutex<BTreeMap<u64, Page>>,
    connections: AtomicUsize,
    stop: AtomicBool,
    token: Option<String>,
}

impl Shared {
    fn wake(&self) {
        // Taking the lock once makes sure that nobody is between looking and waiting.
        drop(lock(&self.slot));
        self.changed.notify_all();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A running server; it ends when dropped.
pub struct Server {
    shared: Arc<Shared>,
    address: SocketAddr,
    interval: Duration,
    shown: Groups,
    last: Mutex<Option<Instant>>,
}

impl std::fmt::Debug for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Server").field("address", &self.address).finish_non_exhaustive()
    }
}

impl Server {
    /// Starts to listen and to serve `drawing`.
    pub fn start(options: &ServerOptions, drawing: &Drawing) -> Result<Self, ViewerError> {
        let listener = listen(options.address, options.port)?;
        let failed = |source| ViewerError::Listen {
            address: SocketAddr::new(options.address, options.port).to_string(),
            source,
        };
        let address = listener.local_addr().map_err(failed)?;
        let token = if options.address.is_loopback() {
            None
        } else {
            let mut bytes = [0; 16];
            getrandom::fill(&mut bytes).map_err(|e| failed(io::Error::other(e.to_string())))?;
            Some(bytes.iter().map(|b| format!("{b:02x}")).collect())
        };
        let shared = Arc::new(Shared {
            slot: Mutex::default(),
            changed: Condvar::new(),
            commands: Mutex::default(),
            pages: Mutex::default(),
            connections: AtomicUsize::new(0),
            stop: AtomicBool::new(false),
            token,
        });
        let rate = if options.frame_rate > 0.0 { options.frame_rate } else { 60.0 };
        let interval = Duration::from_secs_f64((1.0 / rate).min(10.0));
        let server =
            Self { shared: shared.clone(), address, interval, shown: options.shown, last: Mutex::new(None) };
        server.show(drawing);
        std::thread::Builder::new()
            .name("viewer-accept".into())
            .spawn(move || accept(&listener, &shared))
            .map_err(failed)?;
        Ok(server)
    }

    /// The address to open in a browser, with the token if there is one.
    pub fn url(&self) -> String {
        let ip = match self.address.ip() {
            ip if ip.is_unspecified() => IpAddr::V4(Ipv4Addr::LOCALHOST),
            ip => ip,
        };
        let address = SocketAddr::new(ip, self.address.port());
        match &self.shared.token {
            Some(token) => format!("http://{address}/?token={token}"),
            None => format!("http://{address}/"),
        }
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Shows another drawing from now on.
    pub fn show(&self, drawing: &Drawing) {
        let mut slot = lock(&self.shared.slot);
        slot.version += 1;
        let shown: Vec<Group> = Group::ALL.into_iter().filter(|g| self.shown.has(*g)).collect();
        let scene = serde_json::json!({
            "type": "scene", "version": slot.version, "drawing": drawing, "shown": shown,
        });
        slot.scene = scene.to_string().into();
        slot.frame = None;
        drop(slot);
        self.shared.wake();
    }

    /// Shows a line of text on all pages, until it is replaced; an empty one takes it away.
    pub fn notice(&self, text: &str) {
        lock(&self.shared.slot).notice = text.into();
        self.shared.wake();
    }

    /// Number of pages that are connected.
    pub fn pages(&self) -> usize {
        lock(&self.shared.pages).len()
    }

    /// Whether some page has drawn a frame: somebody sees what goes on.
    pub fn seen(&self) -> bool {
        lock(&self.shared.pages).values().any(|page| page.drawn > 0)
    }

    /// Groups that any page shows: no other arrows need to be worked out.
    pub fn wanted(&self) -> Groups {
        lock(&self.shared.pages).values().fold(Groups::NONE, |all, page| all.or(page.groups))
    }

    /// Whether a frame published now would be passed on: some page has time for it, and the last frame is old enough.
    /// So a page that cannot keep up costs nothing.
    pub fn is_due(&self) -> bool {
        let free = lock(&self.shared.pages).values().any(|page| page.under_way < UNDER_WAY);
        free && lock(&self.last).is_none_or(|last| last.elapsed() >= self.interval)
    }

    /// Passes a frame on to all pages that have time for it; returns at once. Does nothing unless a frame
    /// [is due](Self::is_due).
    pub fn publish(&self, frame: &Frame, status: &Status) -> bool {
        let due = self.is_due();
        if due {
            self.publish_now(frame, status);
        }
        due
    }

    /// Passes a frame on even if the last one is young.
    pub fn publish_now(&self, frame: &Frame, status: &Status) {
        *lock(&self.last) = Some(Instant::now());
        let (version, number) = {
            let slot = lock(&self.shared.slot);
            (slot.version, slot.number.wrapping_add(1).max(1))
        };
        // Encoding happens outside of the lock, so that no page waits for it.
        let bytes = Arc::new(encode(frame, status, version, number));
        let mut slot = lock(&self.shared.slot);
        (slot.frame, slot.number) = (Some(bytes), number);
        drop(slot);
        self.shared.changed.notify_all();
    }

    /// What pages asked for since the last call.
    pub fn commands(&self) -> Vec<Command> {
        lock(&self.shared.commands).drain(..).collect()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Relaxed);
        self.shared.wake();
        // The accepting thread waits for a connection: give it one.
        let ip = match self.address.ip() {
            ip if ip.is_unspecified() => IpAddr::V4(Ipv4Addr::LOCALHOST),
            ip => ip,
        };
        let _ =
            TcpStream::connect_timeout(&SocketAddr::new(ip, self.address.port()), Duration::from_millis(200));
    }
}

/// Listens on the first free port from `port` on.
fn listen(address: IpAddr, port: u16) -> Result<TcpListener, ViewerError> {
    let last = if port == 0 { 0 } else { port.saturating_add(MORE_PORTS) };
    for p in port..=last {
        match TcpListener::bind((address, p)) {
            Ok(listener) => return Ok(listener),
            Err(e) if e.kind() == io::ErrorKind::AddrInUse && p < last => {}
            Err(source) => {
                return Err(ViewerError::Listen { address: SocketAddr::new(address, p).to_string(), source });
            }
        }
    }
    unreachable!("the last port either listens or fails")
}

fn accept(listener: &TcpListener, shared: &Arc<Shared>) {
    let number = AtomicU64::new(1);
    for stream in listener.incoming() {
        if shared.stop.load(Ordering::Relaxed) {
            return;
        }
        let Ok(mut stream) = stream else {
            // Out of file handles: wait until some are given back.
            std::thread::sleep(Duration::from_millis(20));
            continue;
        };
        if shared.connections.fetch_add(1, Ordering::Relaxed) >= MOST_CONNECTIONS {
            shared.connections.fetch_sub(1, Ordering::Relaxed);
            let _ = stream.set_nonblocking(true);
            let busy = b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
            let _ = io::Write::write(&mut stream, busy);
            continue;
        }
        let client = number.fetch_add(1, Ordering::Relaxed);
        let owned = shared.clone();
        let spawned = std::thread::Builder::new().name("viewer-client".into()).spawn(move || {
            connection(stream, &owned, client);
            owned.connections.fetch_sub(1, Ordering::Relaxed);
        });
        if spawned.is_err() {
            shared.connections.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

fn connection(mut stream: TcpStream, shared: &Arc<Shared>, client: u64) {
    let Some(request) = http::Request::read(&mut stream) else { return };
    let allowed = match &shared.token {
        // The page's own files hold no secrets; what it shows comes through the socket.
        Some(token) => request.has_token(token) || matches!(request.path.as_str(), "/app.js" | "/app.css"),
        None => request.names_this_machine(),
    };
    if !allowed {
        return http::refuse(
            &mut stream,
            "403 Forbidden",
            "this address needs its token, or another host name",
        );
    }
    if !request.wants_websocket() {
        return http::serve_file(&mut stream, &request);
    }
    if request.path != "/ws" || !request.comes_from_our_page() {
        return http::refuse(&mut stream, "403 Forbidden", "this page comes from elsewhere");
    }
    // An error means that the page has gone.
    let _ = client::serve(stream, request, shared, client);
}
