//! One connected page: a thread that reads its messages and a thread that writes frames.
//!
//! The writer takes the newest frame whenever the page has drawn the last but one; all others pass it by. So a slow
//! page sees fewer frames, costs less, and holds at most two of them in the pipe.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tungstenite::protocol::{Role, WebSocketConfig};
use tungstenite::{Message, WebSocket};

use super::http::Request;
use super::protocol::{self, Command, Incoming};
use super::{MOST_COMMANDS, Shared, UNDER_WAY};

/// Longest message that a page may send \[bytes\].
const LONGEST_MESSAGE: usize = 16 << 10;
/// Most messages per second; a page that is dragging sends about 120.
const MOST_MESSAGES: u32 = 600;
/// A page that says nothing for so long has gone.
const SILENCE: Duration = Duration::from_secs(60);
/// A page that takes nothing for so long has gone.
const STALL: Duration = Duration::from_secs(20);

/// The socket of one client; both threads write whole messages under the lock.
struct Duplex {
    read: TcpStream,
    write: Arc<Mutex<TcpStream>>,
}

impl Read for Duplex {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        self.read.read(out)
    }
}

impl Write for Duplex {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        lock(&self.write).write_all(bytes)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        lock(&self.write).flush()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Serves a page until it goes away.
pub(super) fn serve(
    mut stream: TcpStream,
    request: Request,
    shared: &Arc<Shared>,
    client: u64,
) -> io::Result<()> {
    let Some(key) = request.header("sec-websocket-key") else {
        super::http::refuse(&mut stream, "400 Bad Request", "a WebSocket needs a key");
        return Ok(());
    };
    let accept = tungstenite::handshake::derive_accept_key(key.as_bytes());
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(SILENCE))?;
    stream.set_write_timeout(Some(STALL))?;
    let answer = format!(
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
         Sec-WebSocket-Accept: {accept}\r\n\r\n"
    );
    stream.write_all(answer.as_bytes())?;

    lock(&shared.pages).insert(client, super::Page::default());
    let write = Arc::new(Mutex::new(stream.try_clone()?));
    let writer = {
        let (shared, write, stream) = (shared.clone(), write.clone(), stream.try_clone()?);
        std::thread::Builder::new().name("viewer-writer".into()).spawn(move || {
            // An error means that the page has gone; the reader then sees the end.
            let _ = write_frames(&shared, client, &write);
            let _ = stream.shutdown(std::net::Shutdown::Both);
        })?
    };
    read_messages(Duplex { read: stream.try_clone()?, write }, request.rest, shared, client);
    lock(&shared.pages).remove(&client);
    let _ = stream.shutdown(std::net::Shutdown::Both);
    shared.push(Command::Release { client });
    shared.wake();
    let _ = writer.join();
    Ok(())
}

fn read_messages(duplex: Duplex, rest: Vec<u8>, shared: &Shared, client: u64) {
    let config = WebSocketConfig::default()
        .max_message_size(Some(LONGEST_MESSAGE))
        .max_frame_size(Some(LONGEST_MESSAGE))
        .read_buffer_size(LONGEST_MESSAGE);
    let mut socket = WebSocket::from_partially_read(duplex, rest, Role::Server, Some(config));
    let (mut since, mut count) = (Instant::now(), 0);
    while !shared.stop.load(Ordering::Relaxed) {
        let Ok(message) = socket.read() else { return };
        if since.elapsed() > Duration::from_secs(1) {
            (since, count) = (Instant::now(), 0);
        }
        count += 1;
        if count > MOST_MESSAGES {
            return;
        }
        let text = match message {
            Message::Text(text) => text,
            Message::Close(_) => return,
            Message::Ping(_) | Message::Pong(_) => continue,
            // We never ask for bytes.
            _ => return,
        };
        match protocol::read(&text, client) {
            Some(Incoming::Command(command)) => shared.push(command),
            Some(Incoming::Ack(frame)) => {
                if let Some(page) = lock(&shared.pages).get_mut(&client) {
                    page.drawn = page.drawn.max(frame);
                }
                shared.wake();
            }
            Some(Incoming::Show(groups)) => {
                if let Some(page) = lock(&shared.pages).get_mut(&client) {
                    page.groups = groups;
                }
            }
            None => return,
        }
    }
}

fn write_frames(shared: &Shared, client: u64, write: &Mutex<TcpStream>) -> io::Result<()> {
    let (mut version, mut last) = (None, 0);
    let mut notice: Arc<str> = "".into();
    // Numbers of the frames that were sent and not yet drawn.
    let mut under_way: Vec<u32> = Vec::new();
    loop {
        let mut slot = lock(&shared.slot);
        let (scene, news, frame) = loop {
            if shared.stop.load(Ordering::Relaxed) {
                return Ok(());
            }
            if let Some(page) = lock(&shared.pages).get_mut(&client) {
                under_way.retain(|n| *n > page.drawn);
                page.under_way = under_way.len();
            } else {
                return Ok(());
            }
            let scene = (version != Some(slot.version)).then(|| slot.scene.clone());
            let frame = slot.frame.clone().filter(|_| slot.number != last && under_way.len() < UNDER_WAY);
            let news = (*notice != *slot.notice).then(|| slot.notice.clone());
            if scene.is_some() || news.is_some() || frame.is_some() {
                version = Some(slot.version);
                if frame.is_some() {
                    last = slot.number;
                    under_way.push(last);
                    if let Some(page) = lock(&shared.pages).get_mut(&client) {
                        page.under_way = under_way.len();
                    }
                }
                break (scene, news, frame);
            }
            slot = shared
                .changed
                .wait_timeout(slot, Duration::from_secs(1))
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        };
        drop(slot);
        if let Some(scene) = scene {
            send(write, 0x1, scene.as_bytes())?;
        }
        if let Some(news) = news {
            let message = serde_json::json!({ "type": "notice", "text": &*news });
            send(write, 0x1, message.to_string().as_bytes())?;
            notice = news;
        }
        if let Some(frame) = frame {
            send(write, 0x2, &frame)?;
        }
    }
}

/// Sends one whole message (RFC 6455, section 5.2); a server does not mask.
fn send(write: &Mutex<TcpStream>, opcode: u8, body: &[u8]) -> io::Result<()> {
    let mut head = vec![0x80 | opcode];
    match body.len() {
        n if n < 126 => head.push(n as u8),
        n if n < 1 << 16 => {
            head.push(126);
            head.extend((n as u16).to_be_bytes());
        }
        n => {
            head.push(127);
            head.extend((n as u64).to_be_bytes());
        }
    }
    let mut stream = lock(write);
    stream.write_all(&head)?;
    stream.write_all(body)
}

impl Shared {
    /// Queues a command. A drag replaces the same client's last one; beyond the limit commands are dropped, so that a
    /// flood costs no memory. Releases always pass, at most one per client.
    pub(super) fn push(&self, command: Command) {
        let mut queue = lock(&self.commands);
        if let (Command::Drag(new), Some(Command::Drag(old))) = (&command, queue.back_mut())
            && new.client == old.client
        {
            *old = *new;
            return;
        }
        if queue.len() < MOST_COMMANDS
            || matches!(command, Command::Release { .. }) && queue.back() != Some(&command)
        {
            queue.push_back(command);
        }
    }
}
