//! Reading: one pass finds the chunks and checks them; states are unpacked chunk by chunk when asked for.
//!
//! A recording is untrusted input. Lengths are compared with the file before anything is allocated, chunks
//! must match their checksum, and frames must be numbered without a gap, so that what is read is what was
//! written, or a beginning of it.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use mcap::records::{Record, op};
use mcap::sans_io::{LinearReadEvent, LinearReader, LinearReaderOptions};

use super::atomic::with_suffix;
use super::{
    ASSETS, FORMAT, Frame, HEADER_NAME, Header, PROFILE, RECORD_LIMIT, RecordingError, SCALARS_TOPIC,
    STATE_TOPIC, Scalars, frame_bytes,
};
use crate::assets::Assets;

/// Opcode and length before every record.
const PREFIX: u64 = 9;
/// Channel, sequence number and two times before the data of a message.
const MESSAGE_HEADER: usize = 22;
/// Chunk header up to the name of the compression, which for ours is followed by the compressed size.
const CHUNK_HEADER: usize = 8 + 8 + 8 + 4 + 4 + COMPRESSION.len() + 8;
const COMPRESSION: &[u8] = b"lz4";
/// LZ4 cannot pack more than 255 bytes into one; the rest is room for frame headers.
const LZ4_RATIO: u64 = 255;
const LZ4_SLACK: u64 = 1 << 16;

/// A recording opened for reading.
///
/// Holds the header, the places of the chunks, and at most one unpacked chunk. Frames may be asked for in
/// any order and from several threads; going forwards unpacks every chunk once.
#[derive(Debug)]
pub struct Recording {
    path: PathBuf,
    from_part: bool,
    header: Header,
    truncated: Option<u64>,
    chunks: Vec<Chunk>,
    frame_count: usize,
    scalar_count: usize,
    channels: Channels,
    source: Mutex<Source>,
}

/// Where a chunk is and which frames it holds.
#[derive(Debug)]
struct Chunk {
    /// Of the record, from the beginning of the file.
    offset: u64,
    /// Of the record, without its prefix.
    length: u64,
    /// Numbers of the frames in it.
    frames: Range<usize>,
}

#[derive(Debug, Default, Clone, Copy)]
struct Channels {
    state: Option<u16>,
    scalars: Option<u16>,
}

#[derive(Debug)]
struct Source {
    file: File,
    loaded: Option<(usize, Messages)>,
}

/// The messages of one chunk.
#[derive(Debug, Default)]
struct Messages {
    bytes: Vec<u8>,
    frames: Vec<Message>,
    scalars: Vec<Message>,
}

#[derive(Debug)]
struct Message {
    sequence: u32,
    data: Range<usize>,
}

impl Recording {
    /// Opens `path` or, where only that exists, `<path>.part`.
    ///
    /// A file that stops anywhere after its header is accepted up to its last whole chunk: see
    /// [`Recording::truncated`]. Anything else that a writer does not produce is an error.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, RecordingError> {
        let path = path.as_ref();
        let part = with_suffix(path, ".part");
        let name = if !path.exists() && part.exists() { part } else { path.to_owned() };
        let file = crate::regular::open(&name).map_err(RecordingError::io("open", &name))?;
        Scan::run(file, name)
    }

    /// The file that was opened.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether the file opened is a `.part`, left by a run that did not finish or is still going on.
    pub fn from_part(&self) -> bool {
        self.from_part
    }

    /// For a file that was cut off, how many bytes at its end were ignored; `None` for a whole file.
    pub fn truncated(&self) -> Option<u64> {
        self.truncated
    }

    /// What is constant over the recording.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Number of recorded states.
    pub fn frame_count(&self) -> usize {
        self.frame_count
    }

    /// Number of recorded rows of scalars.
    pub fn scalar_count(&self) -> usize {
        self.scalar_count
    }

    /// The state number `index`, counted from 0.
    pub fn frame(&self, index: usize) -> Result<Frame, RecordingError> {
        let chunk = self.chunks.partition_point(|chunk| chunk.frames.end <= index);
        let Some(place) = self.chunks.get(chunk) else {
            return Err(RecordingError::NoSuchFrame {
                path: self.path.clone(),
                index,
                count: self.frame_count,
            });
        };
        self.with_chunk(chunk, |messages| {
            let message = messages.frames.get(index - place.frames.start)?;
            decode_frame(messages.bytes.get(message.data.clone())?)
        })
    }

    /// The last state.
    pub fn last_frame(&self) -> Result<Frame, RecordingError> {
        // Of an empty recording this asks for frame 0, which it does not have.
        self.frame(self.frame_count.saturating_sub(1))
    }

    /// All states in order; one chunk at a time is in memory.
    pub fn frames(&self) -> impl Iterator<Item = Result<Frame, RecordingError>> + '_ {
        (0..self.frame_count).map(|index| self.frame(index))
    }

    /// All rows of scalars in order; one chunk at a time is in memory.
    pub fn scalars(&self) -> impl Iterator<Item = Result<Scalars, RecordingError>> + '_ {
        (0..self.chunks.len()).flat_map(|chunk| {
            let rows = self.with_chunk(chunk, |messages| {
                let keys = self.header.scalar_keys();
                let row = |m: &Message| decode_scalars(messages.bytes.get(m.data.clone())?, &keys);
                messages.scalars.iter().map(row).collect::<Option<Vec<_>>>()
            });
            let (rows, error) = match rows {
                Ok(rows) => (rows, None),
                Err(error) => (Vec::new(), Some(Err(error))),
            };
            rows.into_iter().map(Ok).chain(error)
        })
    }

    /// Applies `read` to an unpacked chunk, from memory if it is the one used last.
    fn with_chunk<T>(
        &self,
        index: usize,
        read: impl FnOnce(&Messages) -> Option<T>,
    ) -> Result<T, RecordingError> {
        let place = &self.chunks[index];
        let mut source = self.source.lock().unwrap_or_else(PoisonError::into_inner);
        let source = &mut *source;
        let messages = match &mut source.loaded {
            Some((loaded, messages)) if *loaded == index => messages,
            slot => {
                *slot = None; // free the old chunk before unpacking the new one
                let record = read_record(&mut source.file, place.offset, place.length)
                    .map_err(RecordingError::io("read", &self.path))?;
                let mut channels = self.channels;
                let messages = unpack(&record, self.header.state_len, &mut channels)
                    .map_err(|reason| self.corrupt(place.offset, reason))?;
                &mut slot.insert((index, messages)).1
            }
        };
        // The first pass has read every message of an unchanged file.
        read(messages)
            .ok_or_else(|| self.corrupt(place.offset, "it was changed while it was being read".into()))
    }

    fn corrupt(&self, offset: u64, reason: String) -> RecordingError {
        RecordingError::Corrupt { path: self.path.clone(), offset, reason }
    }
}

/// The first pass.
struct Scan {
    file: File,
    path: PathBuf,
    length: u64,
    /// The file carries the mark of a finished one, so nothing of it may be missing.
    ends_as_finished: bool,
    header: Option<Header>,
    /// What stood before the header.
    assets: Assets,
    channels: Channels,
    chunks: Vec<Chunk>,
    frame_count: usize,
    scalar_count: usize,
}

/// What follows a record.
enum Next {
    Record,
    End,
}

impl Scan {
    fn run(file: File, path: PathBuf) -> Result<Recording, RecordingError> {
        let mut scan = Self {
            file,
            path,
            length: 0,
            ends_as_finished: false,
            header: None,
            assets: Assets::default(),
            channels: Channels::default(),
            chunks: Vec::new(),
            frame_count: 0,
            scalar_count: 0,
        };
        let truncated = scan.records()?;
        let Some(header) = scan.header else {
            return Err(RecordingError::NoHeader { path: scan.path, length: scan.length });
        };
        Ok(Recording {
            from_part: scan.path.extension().is_some_and(|extension| extension == "part"),
            path: scan.path,
            header,
            truncated,
            chunks: scan.chunks,
            frame_count: scan.frame_count,
            scalar_count: scan.scalar_count,
            channels: scan.channels,
            source: Mutex::new(Source { file: scan.file, loaded: None }),
        })
    }

    /// Walks over the records of the file; returns how many bytes at its end are not whole records.
    fn records(&mut self) -> Result<Option<u64>, RecordingError> {
        let magic = mcap::MAGIC.len() as u64;
        let io = RecordingError::io("read", &self.path);
        self.length = self.file.seek(SeekFrom::End(0)).map_err(io)?;
        let beginning = self.bytes(0, self.length.min(magic))?;
        if !mcap::MAGIC.starts_with(&beginning) || beginning.is_empty() {
            return Err(RecordingError::NotMcap { path: self.path.clone() });
        }
        self.ends_as_finished =
            self.length >= 2 * magic && self.bytes(self.length - magic, magic)? == mcap::MAGIC;

        let mut offset = magic;
        loop {
            let left = self.length.saturating_sub(offset);
            if left < PREFIX {
                return self.cut_off(offset, left);
            }
            let prefix = self.bytes(offset, PREFIX)?;
            let (opcode, length) = (prefix[0], u64_at(&prefix, 1).unwrap_or(u64::MAX));
            if !(op::HEADER..=op::DATA_END).contains(&opcode) && opcode < 0x80 {
                return Err(self.corrupt(offset, format!("there is no record of kind {opcode:#04x}")));
            }
            if length > RECORD_LIMIT {
                let reason = format!("a record claims {length} bytes, the limit is {RECORD_LIMIT}");
                return Err(self.corrupt(offset, reason));
            }
            if length > left - PREFIX {
                return self.cut_off(offset, left);
            }
            if let Next::End = self.record(opcode, offset, length)? {
                return Ok(None);
            }
            offset += PREFIX + length;
        }
    }

    /// The file ends inside the record at `offset`, or before it.
    fn cut_off(&self, offset: u64, left: u64) -> Result<Option<u64>, RecordingError> {
        if self.ends_as_finished {
            return Err(self.corrupt(offset, "a record reaches beyond the end of a finished file".into()));
        }
        Ok(Some(left))
    }

    fn record(&mut self, opcode: u8, offset: u64, length: u64) -> Result<Next, RecordingError> {
        if offset == mcap::MAGIC.len() as u64 && opcode != op::HEADER {
            return Err(self.corrupt(offset, "the file does not begin with a header record".into()));
        }
        match opcode {
            op::HEADER => self.file_header(offset, length)?,
            op::ATTACHMENT if self.header.is_none() => self.attachment(offset, length)?,
            op::CHUNK => self.chunk(offset, length)?,
            op::MESSAGE => {
                return Err(self.corrupt(offset, "a message stands outside of the chunks".into()));
            }
            op::STATISTICS => {
                let written = u64_at(&self.bytes(offset + PREFIX, length)?, 0);
                let found = (self.frame_count + self.scalar_count) as u64;
                if written != Some(found) {
                    let reason = format!("{found} messages were found, but another number was written");
                    return Err(self.corrupt(offset, reason));
                }
            }
            op::FOOTER => {
                let end = offset + PREFIX + length + mcap::MAGIC.len() as u64;
                if self.ends_as_finished && end == self.length {
                    return Ok(Next::End);
                }
                if end <= self.length {
                    return Err(self.corrupt(offset, "the file goes on after its footer".into()));
                }
            }
            _ => {} // indexes and the like serve other tools
        }
        Ok(Next::Record)
    }

    fn file_header(&mut self, offset: u64, length: u64) -> Result<(), RecordingError> {
        let body = self.bytes(offset + PREFIX, length)?;
        let strings =
            string_at(&body, 0).and_then(|(profile, next)| Some((profile, string_at(&body, next)?.0)));
        match strings {
            Some((PROFILE, _)) => Ok(()),
            Some((profile, library)) => Err(RecordingError::Foreign {
                path: self.path.clone(),
                profile: profile.into(),
                library: library.into(),
            }),
            None => Err(self.corrupt(offset, "the header record cannot be read".into())),
        }
    }

    fn attachment(&mut self, offset: u64, length: u64) -> Result<(), RecordingError> {
        let body = self.bytes(offset + PREFIX, length)?;
        // `parse_record` takes lengths inside a record on trust, which costs memory or a panic.
        if attachment_length(&body) != Some(length) {
            return Err(self.corrupt(offset, "the lengths inside an attachment contradict each other".into()));
        }
        let (name, data) = match mcap::parse_record(op::ATTACHMENT, &body) {
            Ok(Record::Attachment { header, data, .. }) => (header.name, data),
            Ok(_) => return Err(self.corrupt(offset, "an attachment cannot be read".into())),
            Err(error) => return Err(self.corrupt(offset, error.to_string())),
        };
        if let Some(asset) = name.strip_prefix(ASSETS) {
            let kept = self.assets.insert(asset.to_owned(), data.as_ref().into());
            return kept.map_err(|reason| self.corrupt(offset, reason));
        }
        if name != HEADER_NAME {
            return Ok(());
        }
        let unreadable = |error: serde_json::Error| self.corrupt(offset, format!("header.json: {error}"));
        let value: serde_json::Value = serde_json::from_slice(&data).map_err(unreadable)?;
        let older_format = match value.get("format").and_then(serde_json::Value::as_u64) {
            Some(found) if found > FORMAT => {
                return Err(RecordingError::TooNew { path: self.path.clone(), found });
            }
            Some(found) => (found < FORMAT).then_some(found),
            None => return Err(self.corrupt(offset, "header.json has no format number".into())),
        };
        let mut header: Header = serde_json::from_value(value).map_err(unreadable)?;
        header.check().map_err(|reason| self.corrupt(offset, format!("header.json: {reason}")))?;
        header.assets = std::mem::take(&mut self.assets);
        header.older_format = older_format;
        self.header = Some(header);
        Ok(())
    }

    fn chunk(&mut self, offset: u64, length: u64) -> Result<(), RecordingError> {
        let Some(header) = &self.header else {
            return Err(self.corrupt(offset, "there are data before header.json".into()));
        };
        let record =
            read_record(&mut self.file, offset, length).map_err(RecordingError::io("read", &self.path))?;
        let keys = header.scalar_keys();
        let checked = unpack(&record, header.state_len, &mut self.channels).and_then(|messages| {
            numbered("frame", &messages.frames, self.frame_count)?;
            numbered("row of scalars", &messages.scalars, self.scalar_count)?;
            let unreadable = |m: &&Message| {
                messages.bytes.get(m.data.clone()).and_then(|data| decode_scalars(data, &keys)).is_none()
            };
            match messages.scalars.iter().find(unreadable) {
                Some(message) => Err(format!("row {} of scalars cannot be read", message.sequence)),
                None => Ok((messages.frames.len(), messages.scalars.len())),
            }
        });
        let (frames, scalars) = checked.map_err(|reason| self.corrupt(offset, reason))?;
        self.chunks.push(Chunk { offset, length, frames: self.frame_count..self.frame_count + frames });
        self.frame_count += frames;
        self.scalar_count += scalars;
        Ok(())
    }

    /// Bytes that are known to lie inside the file.
    fn bytes(&mut self, offset: u64, length: u64) -> Result<Vec<u8>, RecordingError> {
        read_bytes(&mut self.file, offset, length).map_err(RecordingError::io("read", &self.path))
    }

    fn corrupt(&self, offset: u64, reason: String) -> RecordingError {
        RecordingError::Corrupt { path: self.path.clone(), offset, reason }
    }
}

/// Messages count up from the number found so far, so that a lost chunk shows.
fn numbered(what: &str, messages: &[Message], before: usize) -> Result<(), String> {
    for (i, message) in messages.iter().enumerate() {
        let expected = (before + i) as u32; // the numbers wrap around
        if message.sequence != expected {
            return Err(format!("{what} {expected} is missing: {} stands in its place", message.sequence));
        }
    }
    Ok(())
}

/// A chunk record with its prefix, as the unpacker takes it.
fn read_record(file: &mut File, offset: u64, length: u64) -> std::io::Result<Vec<u8>> {
    read_bytes(file, offset, PREFIX + length)
}

fn read_bytes(file: &mut File, offset: u64, length: u64) -> std::io::Result<Vec<u8>> {
    file.seek(SeekFrom::Start(offset))?;
    let mut bytes = vec![0; usize::try_from(length).map_err(std::io::Error::other)?];
    file.read_exact(&mut bytes)?;
    Ok(bytes)
}

/// Unpacks a chunk record and sorts its messages; learns the channel numbers on the way.
fn unpack(record: &[u8], state_len: usize, channels: &mut Channels) -> Result<Messages, String> {
    let limit = unpacked_limit(record)?;
    let options = LinearReaderOptions::default()
        .with_skip_start_magic(true)
        .with_skip_end_magic(true)
        .with_prevalidate_chunk_crcs(true)
        .with_record_length_limit(limit);
    let mut reader = LinearReader::new_with_options(options);
    let mut rest = record;
    let mut messages = Messages::default();
    while let Some(event) = reader.next_event() {
        match event.map_err(|error| error.to_string())? {
            LinearReadEvent::ReadRequest(wanted) => {
                let (now, later) = rest.split_at(wanted.min(rest.len()));
                reader.insert(now.len()).copy_from_slice(now);
                reader.notify_read(now.len());
                rest = later;
            }
            LinearReadEvent::Record { opcode: op::CHANNEL, data } => {
                let (Some(id), Some((topic, _))) = (u16_at(data, 0), string_at(data, 4)) else {
                    return Err("a channel record cannot be read".into());
                };
                match topic {
                    STATE_TOPIC => channels.state = Some(id),
                    SCALARS_TOPIC => channels.scalars = Some(id),
                    _ => {}
                }
            }
            LinearReadEvent::Record { opcode: op::MESSAGE, data } => {
                messages.add(data, state_len, channels)?;
            }
            LinearReadEvent::Record { .. } => {}
        }
    }
    Ok(messages)
}

/// How large a chunk may become when unpacked; refuses what ours cannot be before anything is allocated.
fn unpacked_limit(record: &[u8]) -> Result<usize, String> {
    let body = record.get(PREFIX as usize..).unwrap_or_default();
    let short = || "a chunk is shorter than its header".to_owned();
    let unpacked = u64_at(body, 16).ok_or_else(short)?;
    let name_length = u32_at(body, 28).ok_or_else(short)? as usize;
    let name = body.get(32..).and_then(|rest| rest.get(..name_length)).ok_or_else(short)?;
    if name != COMPRESSION {
        return Err(format!(
            "a chunk is compressed with `{}`; this program reads lz4",
            String::from_utf8_lossy(&name[..name.len().min(32)])
        ));
    }
    let packed = u64_at(body, CHUNK_HEADER - 8).ok_or_else(short)?;
    if packed > (body.len() - CHUNK_HEADER) as u64 {
        return Err(format!("a chunk claims {packed} bytes, more than its record has"));
    }
    let limit = (packed.saturating_mul(LZ4_RATIO)).saturating_add(LZ4_SLACK).min(2 * RECORD_LIMIT);
    if unpacked > limit {
        return Err(format!("a chunk of {packed} bytes claims to unpack to {unpacked}"));
    }
    // The reader applies one limit to the packed and to the unpacked side.
    usize::try_from(unpacked.max(packed).max(CHUNK_HEADER as u64)).map_err(|e| e.to_string())
}

impl Messages {
    fn add(&mut self, record: &[u8], state_len: usize, channels: &Channels) -> Result<(), String> {
        let (Some(channel), Some(sequence), Some(data)) =
            (u16_at(record, 0), u32_at(record, 2), record.get(MESSAGE_HEADER..))
        else {
            return Err("a message is shorter than its header".into());
        };
        let list = if Some(channel) == channels.state {
            let whole = data.len() % 8 == 0;
            if !whole || frame_bytes(state_len).is_none_or(|least| (data.len() as u64) < least) {
                return Err(format!(
                    "frame {sequence} has {} bytes, a state of {state_len} numbers has others",
                    data.len()
                ));
            }
            &mut self.frames
        } else if Some(channel) == channels.scalars {
            &mut self.scalars
        } else {
            return Err(format!("a message belongs to the unknown channel {channel}"));
        };
        let begin = self.bytes.len();
        self.bytes.extend_from_slice(data);
        list.push(Message { sequence, data: begin..self.bytes.len() });
        Ok(())
    }
}

fn decode_frame(data: &[u8]) -> Option<Frame> {
    let (numbers, _) = data.as_chunks::<8>();
    let (time, rest) = numbers.split_first()?;
    let (step, state) = rest.split_first()?;
    Some(Frame {
        time: f64::from_le_bytes(*time),
        step: u64::from_le_bytes(*step),
        state: state.iter().map(|number| f64::from_le_bytes(*number)).collect(),
    })
}

fn decode_scalars(data: &[u8], keys: &[&str]) -> Option<Scalars> {
    let row: serde_json::Value = serde_json::from_slice(data).ok()?;
    let number = |key: &str| match row.get(key)? {
        serde_json::Value::Null => Some(f64::NAN),
        value => value.as_f64(),
    };
    Some(Scalars {
        time: number("time")?,
        values: keys.iter().map(|key| number(key)).collect::<Option<_>>()?,
    })
}

/// Length that an attachment record must have by the lengths inside it.
fn attachment_length(body: &[u8]) -> Option<u64> {
    let mut length = 16u64; // two times
    for _ in ["name", "media type"] {
        length += 4 + u64::from(u32_at(body, usize::try_from(length).ok()?)?);
    }
    let data = u64_at(body, usize::try_from(length).ok()?)?;
    length.checked_add(8)?.checked_add(data)?.checked_add(4)
}

fn array_at<const N: usize>(bytes: &[u8], offset: usize) -> Option<[u8; N]> {
    bytes.get(offset..)?.first_chunk().copied()
}

/// A string with its length before it, and where it ends.
fn string_at(bytes: &[u8], offset: usize) -> Option<(&str, usize)> {
    let begin = offset + 4;
    let end = begin.checked_add(usize::try_from(u32_at(bytes, offset)?).ok()?)?;
    Some((std::str::from_utf8(bytes.get(begin..end)?).ok()?, end))
}

fn u16_at(bytes: &[u8], offset: usize) -> Option<u16> {
    array_at(bytes, offset).map(u16::from_le_bytes)
}

fn u32_at(bytes: &[u8], offset: usize) -> Option<u32> {
    array_at(bytes, offset).map(u32::from_le_bytes)
}

fn u64_at(bytes: &[u8], offset: usize) -> Option<u64> {
    array_at(bytes, offset).map(u64::from_le_bytes)
}
