//! Protocol between server and page.
//!
//! The server sends one text message with the [`Drawing`] as JSON, then binary frames. A frame is little-endian:
//!
//! | bytes | meaning |
//! |---|---|
//! | 0 | `DAF1` |
//! | 4 | u32 version of the drawing that it belongs to |
//! | 8 | u32 number of the frame, counted by the server |
//! | 12 | u32 flags: 1 playing, 2 recording, 4 at the end |
//! | 16 | f64 time \[s\] |
//! | 24 | f64 speed (1 = real time) |
//! | 32 | u32 index in the recording; u32 frames in the recording |
//! | 40 | u32 step number |
//! | 44 | u32 counts: vertices, poses, arrow lists, scalars, violations, islands |
//! | 68 | u32 arrows in each list |
//! | … | f32 vertices (3 each), poses (7), arrows (6), scalars, violations; u32 islands |
//!
//! `{"type":"notice","text":…}` is a line for people. The page answers with small JSON messages: [`Command`]s, `{"type":"ack","frame":n}` when a frame has been drawn, and
//! `{"type":"show","groups":[…]}` to say which groups it needs.

use serde::Deserialize;

use crate::drawing::{Frame, Group, Groups};

/// Bytes before the lists.
const HEAD: usize = 68;

/// What a viewer asks of the simulation.
#[derive(Debug, Clone, PartialEq)]
pub enum Command {
    /// Let time run.
    Play,
    /// Let time stand still.
    Pause,
    /// Take some steps (or recorded frames), then stand still.
    Step {
        /// How many, 1 … 1000.
        count: u32,
    },
    /// Back to the start.
    Reset,
    /// How fast time runs; 1 is real time.
    Speed {
        /// 0.001 … 1000.
        factor: f64,
    },
    /// Go to a frame of a recording.
    Seek {
        /// The frame, counted from 0.
        frame: u64,
    },
    /// Pull at something, until the same client releases it.
    Drag(Drag),
    /// Let go.
    Release {
        /// Who lets go.
        client: u64,
    },
}

/// A hand at work.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Drag {
    /// Whose hand it is.
    pub client: u64,
    /// Number of the shape in the drawing.
    pub shape: u32,
    /// Which point of the shape; 0 for a stiff body.
    pub element: u32,
    /// Where it is held, in body axes \[m\]; 0 for a point.
    pub anchor: [f64; 3],
    /// Where it is pulled to, in world axes \[m\].
    pub target: [f64; 3],
}

/// A message from a page.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Incoming {
    Command(Command),
    Ack(u32),
    Show(Groups),
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Message {
    Play,
    Pause,
    Step { count: u32 },
    Reset,
    Speed { factor: f64 },
    Seek { frame: u64 },
    Drag { shape: u32, element: u32, anchor: [f64; 3], target: [f64; 3] },
    Release,
    Ack { frame: u32 },
    Show { groups: Vec<String> },
    Alive,
}

/// Reads a message; none if it makes no sense.
pub(super) fn read(text: &str, client: u64) -> Option<Incoming> {
    let sane = |x: &[f64; 3]| x.iter().all(|x| x.abs() < 1e9);
    Some(Incoming::Command(match serde_json::from_str(text).ok()? {
        Message::Play => Command::Play,
        Message::Pause => Command::Pause,
        Message::Step { count } => Command::Step { count: count.clamp(1, 1000) },
        Message::Reset => Command::Reset,
        Message::Speed { factor } => Command::Speed { factor: factor.clamp(1e-3, 1e3) },
        Message::Seek { frame } => Command::Seek { frame },
        Message::Drag { shape, element, anchor, target } if sane(&anchor) && sane(&target) => {
            Command::Drag(Drag { client, shape, element, anchor, target })
        }
        Message::Drag { .. } => return None,
        Message::Release => Command::Release { client },
        Message::Ack { frame } => return Some(Incoming::Ack(frame)),
        Message::Show { groups } => {
            let known = groups.iter().filter_map(|g| Group::from_name(g));
            return Some(Incoming::Show(known.fold(Groups::NONE, Groups::with)));
        }
        Message::Alive => return Some(Incoming::Ack(0)),
    }))
}

/// How the simulation stands, beside its numbers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Status {
    /// Whether time runs.
    pub playing: bool,
    /// Whether the end has been reached.
    pub at_end: bool,
    /// How fast time runs; 1 is real time.
    pub speed: f64,
    /// Index in the recording and number of its frames; none for a live simulation.
    pub recording: Option<(u32, u32)>,
}

impl Default for Status {
    fn default() -> Self {
        Self { playing: true, at_end: false, speed: 1.0, recording: None }
    }
}

/// The bytes of a frame.
pub fn encode(frame: &Frame, status: &Status, version: u32, number: u32) -> Vec<u8> {
    let arrows: usize = frame.arrows.iter().map(Vec::len).sum();
    let numbers = frame.arrows.len()
        + frame.vertices.len()
        + frame.poses.len()
        + arrows
        + frame.scalars.len()
        + frame.violation.len()
        + frame.islands.len();
    let mut out = Vec::with_capacity(HEAD + 4 * numbers);
    let flags = u32::from(status.playing)
        | u32::from(status.recording.is_some()) << 1
        | u32::from(status.at_end) << 2;
    let (index, count) = status.recording.unwrap_or((0, 0));
    out.extend(b"DAF1");
    [version, number, flags].iter().for_each(|n| out.extend(n.to_le_bytes()));
    [frame.time, status.speed].iter().for_each(|x| out.extend(x.to_le_bytes()));
    let counts = [
        index,
        count,
        frame.step as u32,
        frame.vertices.len() as u32 / 3,
        frame.poses.len() as u32 / 7,
        frame.arrows.len() as u32,
        frame.scalars.len() as u32,
        frame.violation.len() as u32,
        frame.islands.len() as u32,
    ];
    counts.iter().for_each(|n| out.extend(n.to_le_bytes()));
    debug_assert_eq!(out.len(), HEAD);
    frame.arrows.iter().for_each(|a| out.extend((a.len() as u32 / 6).to_le_bytes()));
    push_all(&mut out, &frame.vertices);
    push_all(&mut out, &frame.poses);
    frame.arrows.iter().for_each(|a| push_all(&mut out, a));
    push_all(&mut out, &frame.scalars);
    push_all(&mut out, &frame.violation);
    frame.islands.iter().for_each(|n| out.extend(n.to_le_bytes()));
    out
}

fn push_all(out: &mut Vec<u8>, numbers: &[f32]) {
    let from = out.len();
    out.resize(from + 4 * numbers.len(), 0);
    for (bytes, x) in out[from..].chunks_exact_mut(4).zip(numbers) {
        bytes.copy_from_slice(&x.to_le_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn garbage_is_no_message_and_wild_numbers_are_tamed() {
        for bad in
            ["", "{}", "[]", "null", "{\"type\":\"drag\"}", "{\"type\":\"explode\"}", "\u{0}", "{\"type\":5}"]
        {
            assert_eq!(read(bad, 1), None, "{bad}");
        }
        let far = r#"{"type":"drag","shape":0,"element":0,"anchor":[0,0,0],"target":[1e300,0,0]}"#;
        assert_eq!(read(far, 1), None);
        let fast = r#"{"type":"speed","factor":1e30}"#;
        assert_eq!(read(fast, 1), Some(Incoming::Command(Command::Speed { factor: 1e3 })));
    }

    #[test]
    fn a_frame_has_the_length_that_its_head_announces() {
        let frame = Frame {
            time: 1.5,
            vertices: vec![1.0; 9],
            poses: vec![0.5; 14],
            arrows: vec![vec![2.0; 12], vec![]],
            scalars: vec![3.0; 4],
            violation: vec![0.1; 2],
            islands: vec![7; 2],
            ..Frame::default()
        };
        let bytes = encode(&frame, &Status::default(), 3, 9);
        let at = |i: usize| u32::from_le_bytes(bytes[i..i + 4].try_into().unwrap());
        assert_eq!([at(4), at(8), at(12)], [3, 9, 1]);
        assert_eq!([at(44), at(48), at(52), at(56), at(60), at(64)], [3, 2, 2, 4, 2, 2]);
        assert_eq!(f64::from_le_bytes(bytes[16..24].try_into().unwrap()), 1.5);
        assert_eq!(bytes.len(), HEAD + 4 * (2 + 9 + 14 + 12 + 4 + 2 + 2));
        assert_eq!(&bytes[bytes.len() - 4..], 7u32.to_le_bytes());
    }
}
