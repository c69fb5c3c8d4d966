//! Just enough HTTP: one request per connection, four files, and the door to the WebSocket.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// Longest request head \[bytes\].
const LONGEST_HEAD: usize = 8192;
/// Longest time to send a head.
const PATIENCE: Duration = Duration::from_secs(5);

/// What the page consists of.
const FILES: [(&str, &str, &[u8]); 4] = [
    ("/", "text/html; charset=utf-8", include_bytes!("../../web/dist/index.html")),
    ("/app.js", "text/javascript; charset=utf-8", include_bytes!("../../web/dist/app.js")),
    ("/app.css", "text/css; charset=utf-8", include_bytes!("../../web/dist/app.css")),
    ("/LICENSE-three.txt", "text/plain; charset=utf-8", include_bytes!("../../web/dist/LICENSE-three.txt")),
];

/// The head of a request.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Request {
    pub(super) method: String,
    pub(super) path: String,
    pub(super) query: String,
    /// Names in small letters.
    headers: Vec<(String, String)>,
    /// Bytes that came after the head.
    pub(super) rest: Vec<u8>,
}

impl Request {
    /// Reads a head; none if it is too long, too slow or no head.
    pub(super) fn read(stream: &mut TcpStream) -> Option<Self> {
        let end = Instant::now() + PATIENCE;
        let mut bytes = Vec::new();
        let mut piece = [0; 1024];
        loop {
            let left = end.checked_duration_since(Instant::now()).filter(|d| !d.is_zero())?;
            stream.set_read_timeout(Some(left)).ok()?;
            let n = stream.read(&mut piece).ok().filter(|n| *n > 0)?;
            bytes.extend_from_slice(&piece[..n]);
            if let Some(at) = bytes.windows(4).position(|w| w == b"\r\n\r\n") {
                let mut request = Self::parse(std::str::from_utf8(&bytes[..at]).ok()?)?;
                request.rest = bytes[at + 4..].to_vec();
                return Some(request);
            }
            if bytes.len() > LONGEST_HEAD {
                return None;
            }
        }
    }

    pub(super) fn parse(head: &str) -> Option<Self> {
        let mut lines = head.split("\r\n");
        let mut first = lines.next()?.split(' ');
        let (method, target, version) = (first.next()?, first.next()?, first.next()?);
        if !version.starts_with("HTTP/1.") || !target.starts_with('/') || first.next().is_some() {
            return None;
        }
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let headers = lines
            .map(|line| {
                line.split_once(':').map(|(n, v)| (n.trim().to_ascii_lowercase(), v.trim().to_owned()))
            })
            .collect::<Option<_>>()?;
        Some(Self {
            method: method.into(),
            path: path.into(),
            query: query.into(),
            headers,
            rest: Vec::new(),
        })
    }

    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(n, _)| n == name).map(|(_, v)| v.as_str())
    }

    pub(super) fn wants_websocket(&self) -> bool {
        self.header("upgrade").is_some_and(|u| u.eq_ignore_ascii_case("websocket"))
    }

    /// Whether the token in the query is the right one; the time taken does not tell how much of it is.
    pub(super) fn has_token(&self, token: &str) -> bool {
        let given = self.query.split('&').find_map(|p| p.strip_prefix("token=")).unwrap_or_default();
        given.len() == token.len() && given.bytes().zip(token.bytes()).fold(0, |d, (a, b)| d | (a ^ b)) == 0
    }

    /// Whether the request names a machine that we are: a page elsewhere that has its name point here does not.
    pub(super) fn names_this_machine(&self) -> bool {
        let Some(host) = self.header("host") else { return false };
        let name = match host.rsplit_once(':') {
            Some((name, port)) if port.bytes().all(|b| b.is_ascii_digit()) => name,
            _ => host,
        };
        matches!(name, "127.0.0.1" | "localhost" | "[::1]")
    }

    /// Whether the page that opens a WebSocket came from this server. Programs that are no browsers send no origin.
    pub(super) fn comes_from_our_page(&self) -> bool {
        match (self.header("origin"), self.header("host")) {
            (None, _) => true,
            (Some(origin), Some(host)) => origin.strip_prefix("http://").is_some_and(|o| o == host),
            (Some(_), None) => false,
        }
    }
}

/// Answers a request for a file.
pub(super) fn serve_file(stream: &mut TcpStream, request: &Request) {
    if request.method != "GET" && request.method != "HEAD" {
        return refuse(stream, "405 Method Not Allowed", "only GET");
    }
    match FILES.iter().find(|(path, ..)| *path == request.path) {
        Some((_, kind, body)) => {
            let body: &[u8] = if request.method == "HEAD" { &[] } else { body };
            respond(stream, "200 OK", kind, body);
        }
        None => refuse(stream, "404 Not Found", "no such page"),
    }
}

/// Answers with a short text.
pub(super) fn refuse(stream: &mut TcpStream, status: &str, reason: &str) {
    respond(stream, status, "text/plain; charset=utf-8", reason.as_bytes());
}

fn respond(stream: &mut TcpStream, status: &str, kind: &str, body: &[u8]) {
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\n\
         Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\n\
         Content-Security-Policy: default-src 'self'; img-src 'self' data: blob:; style-src 'self' 'unsafe-inline'; \
         frame-ancestors *\r\n\r\n",
        body.len()
    );
    // A client that went away needs no answer.
    let _ = stream.set_write_timeout(Some(PATIENCE));
    let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body));
    // What is left unread would turn the goodbye into a reset, which can swallow the answer.
    let _ = stream.shutdown(std::net::Shutdown::Write);
    let _ = stream.set_read_timeout(Some(Duration::from_millis(200)));
    let mut rest = [0; 4096];
    for _ in 0..16 {
        if !matches!(stream.read(&mut rest), Ok(n) if n > 0) {
            break;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(lines: &str) -> Request {
        Request::parse(&format!("GET /ws?token=abc HTTP/1.1\r\n{lines}")).unwrap()
    }

    #[test]
    fn only_pages_of_this_server_may_open_a_socket() {
        assert!(request("Host: 127.0.0.1:80\r\nOrigin: http://127.0.0.1:80").comes_from_our_page());
        assert!(request("Host: 127.0.0.1:80").comes_from_our_page());
        for origin in ["http://evil.example", "https://127.0.0.1:80", "null", "http://127.0.0.1:81"] {
            assert!(
                !request(&format!("Host: 127.0.0.1:80\r\nOrigin: {origin}")).comes_from_our_page(),
                "{origin}"
            );
        }
    }

    #[test]
    fn a_foreign_name_that_points_here_is_refused() {
        for (host, ours) in [
            ("localhost:9", true),
            ("127.0.0.1", true),
            ("[::1]:80", true),
            ("evil.example:80", false),
            ("", false),
        ] {
            assert_eq!(request(&format!("Host: {host}")).names_this_machine(), ours, "{host}");
        }
        assert!(!request("X: y").names_this_machine());
    }

    #[test]
    fn a_token_must_match_in_full() {
        let r = request("Host: a");
        assert!(r.has_token("abc") && !r.has_token("abcd") && !r.has_token("ab") && !r.has_token("abd"));
    }

    #[test]
    fn what_is_no_head_is_not_read() {
        for bad in [
            "",
            "GET",
            "GET / FTP/1.1",
            "GET http://a/ HTTP/1.1",
            "GET / HTTP/1.1 x",
            "GET / HTTP/1.1\r\nnocolon",
        ] {
            assert_eq!(Request::parse(bad), None, "{bad}");
        }
    }
}
