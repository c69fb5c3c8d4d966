//! Writing: a stream of checksummed chunks into `<path>.part`, renamed when finished.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{BufWriter, ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use mcap::records::MessageHeader;
use mcap::write::NoSeek;
use mcap::{Attachment, Compression, McapError, WriteOptions};

use super::atomic::{check_destination, publish, with_suffix};
use super::{
    ASSETS, FORMAT, HEADER_NAME, Header, PROFILE, Recording, RecordingError, SCALARS_TOPIC, STATE_TOPIC,
    split_unit,
};

/// A chunk is closed when it holds this many bytes before compression.
const CHUNK_SIZE: u64 = 1 << 20;
/// A chunk is closed when this much wall-clock time has passed since the last one.
const FLUSH_PERIOD: Duration = Duration::from_secs(1);

/// Where the profile stands in an MCAP file: behind the mark, and opcode and length of the header.
const MCAP_PROFILE_AT: usize = 8 + 1 + 8;

const STATE_SCHEMA: &str = "\
Little-endian, without padding:
  time   f64  seconds
  step   u64  number of the step that ended at this time
  state  f64  repeated; at least state_len (attachment header.json) of them, contacts behind
";

/// Writes a recording.
///
/// The file grows under `<path>.part`. [`Writer::finish`] completes it and renames it to `path`; a writer
/// that is dropped instead leaves the `.part`, which [`Recording::open`] reads as well.
///
/// A row of scalars that belongs to a frame is best written before it, so that both reach the disk together.
pub struct Writer {
    mcap: mcap::Writer<NoSeek<BufWriter<File>>>,
    path: PathBuf,
    part: PathBuf,
    state_len: usize,
    /// Keys of the scalars, already quoted as JSON.
    quoted_keys: Vec<String>,
    channels: Channels,
    frames: u32,
    rows: u32,
    last_flush: Instant,
    buffer: Vec<u8>,
}

#[derive(Clone, Copy)]
struct Channels {
    state: u16,
    scalars: u16,
}

impl Writer {
    /// Begins a recording that will be called `path`; the header is on its way to the disk on return.
    ///
    /// A `<path>.part` left by an earlier run is overwritten, unless a process is still writing it.
    pub fn create(path: impl AsRef<Path>, header: &Header) -> Result<Self, RecordingError> {
        let path = path.as_ref();
        Self::create_as(path, with_suffix(path, ".part"), header)
    }

    /// Begins a recording with the header and the frames `0..=upto_frame` of another, and goes on from there.
    ///
    /// Scalars are copied up to the time of the last copied frame. `new_path` may be the path of `recording`
    /// itself, finished or not: it is replaced only by a whole copy.
    pub fn continue_from(
        recording: &Recording,
        upto_frame: usize,
        new_path: impl AsRef<Path>,
    ) -> Result<Self, RecordingError> {
        let path = new_path.as_ref();
        if upto_frame >= recording.frame_count() {
            return Err(RecordingError::NoSuchFrame {
                path: recording.path().to_owned(),
                index: upto_frame,
                count: recording.frame_count(),
            });
        }
        check_destination(path)?;
        let part = with_suffix(path, ".part");
        let in_place = match (fs::canonicalize(recording.path()), fs::canonicalize(&part)) {
            (Ok(source), Ok(part)) => source == part,
            _ => false,
        };
        if !in_place {
            let mut writer = Self::create_as(path, part, recording.header())?;
            writer.copy(recording, upto_frame)?;
            return Ok(writer);
        }
        // The source is the `.part` that we are about to write: copy beside it, then step into its place.
        let source = File::open(&part).map_err(RecordingError::io("read", &part))?;
        lock(&source, path)?;
        let mut writer = Self::create_as(path, with_suffix(path, ".resume.part"), recording.header())?;
        writer.copy(recording, upto_frame)?;
        fs::rename(&writer.part, &part).map_err(RecordingError::io("create", &part))?;
        writer.part = part;
        Ok(writer)
    }

    fn create_as(path: &Path, part: PathBuf, header: &Header) -> Result<Self, RecordingError> {
        let bad_header = |reason| RecordingError::BadHeader { path: path.to_owned(), reason };
        header.check().map_err(bad_header)?;
        let header_json = header_json(header).map_err(|e| bad_header(e.to_string()))?;
        let mut quoted_keys = Vec::new();
        for key in header.scalar_keys() {
            quoted_keys.push(serde_json::to_string(key).map_err(|e| bad_header(e.to_string()))?);
        }
        check_destination(path)?;
        check_replaced(path)?;
        let file = open_part(path, &part)?;
        let begin = || {
            // Without seeking a chunk is written whole: the file is a valid beginning at every moment.
            let mut mcap = WriteOptions::new()
                .profile(PROFILE)
                .library(format!("dalembert {}", env!("CARGO_PKG_VERSION")))
                .compression(Some(Compression::Lz4))
                .chunk_size(Some(CHUNK_SIZE))
                .disable_seeking(true)
                .create(NoSeek::new(BufWriter::new(file)))?;
            let mut attach = |name: String, media_type: &str, data: &[u8]| {
                mcap.attach(&Attachment {
                    log_time: 0,
                    create_time: 0,
                    name,
                    media_type: media_type.into(),
                    data: data.into(),
                })
            };
            // Before the header, so that whoever has read that has everything.
            for (name, content) in header.assets.iter() {
                attach(format!("{ASSETS}{name}"), "application/octet-stream", content)?;
            }
            attach(HEADER_NAME.into(), "application/json", &header_json)?;
            let channels = add_channels(&mut mcap, header)?;
            mcap.flush()?;
            Ok((mcap, channels))
        };
        let (mcap, channels) = begin().map_err(|e| write_error(e, &part))?;
        Ok(Self {
            mcap,
            path: path.to_owned(),
            part,
            state_len: header.state_len,
            quoted_keys,
            channels,
            frames: 0,
            rows: 0,
            last_flush: Instant::now(),
            buffer: Vec::new(),
        })
    }

    fn copy(&mut self, recording: &Recording, upto_frame: usize) -> Result<(), RecordingError> {
        let mut rows = recording.scalars().peekable();
        for frame in recording.frames().take(upto_frame + 1) {
            let frame = frame?;
            while let Some(row) = rows
                .next_if(|row| row.as_ref().map_or(true, |row| row.time <= frame.time || row.time.is_nan()))
            {
                let row = row?;
                self.write_scalars(row.time, &row.values)?;
            }
            self.write_frame(frame.time, frame.step, &frame.state)?;
        }
        self.flush()
    }

    /// The final name of the recording.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The name under which the file grows.
    pub fn part_path(&self) -> &Path {
        &self.part
    }

    /// Appends a state at `time` \[s\] after step number `step`. Behind the `state_len` numbers that every frame has there
    /// may be more: contacts come and go.
    pub fn write_frame(&mut self, time: f64, step: u64, state: &[f64]) -> Result<(), RecordingError> {
        self.check_length("the state", state.len().min(self.state_len), self.state_len)?;
        self.buffer.clear();
        self.buffer.extend_from_slice(&time.to_le_bytes());
        self.buffer.extend_from_slice(&step.to_le_bytes());
        for number in state {
            self.buffer.extend_from_slice(&number.to_le_bytes());
        }
        let sequence = self.frames;
        self.frames = sequence.wrapping_add(1);
        self.write_message(self.channels.state, sequence, time)
    }

    /// Appends a row of scalars at `time` \[s\], in the order of [`Header::scalar_names`].
    pub fn write_scalars(&mut self, time: f64, values: &[f64]) -> Result<(), RecordingError> {
        self.check_length("the row of scalars", values.len(), self.quoted_keys.len())?;
        self.buffer.clear();
        self.buffer.extend_from_slice(b"{\"time\":");
        push_json(&mut self.buffer, time)?;
        for (key, &value) in self.quoted_keys.iter().zip(values) {
            self.buffer.push(b',');
            self.buffer.extend_from_slice(key.as_bytes());
            self.buffer.push(b':');
            push_json(&mut self.buffer, value)?;
        }
        self.buffer.push(b'}');
        let sequence = self.rows;
        self.rows = sequence.wrapping_add(1);
        self.write_message(self.channels.scalars, sequence, time)
    }

    fn check_length(&self, what: &'static str, found: usize, expected: usize) -> Result<(), RecordingError> {
        if found == expected {
            return Ok(());
        }
        Err(RecordingError::WrongLength { path: self.path.clone(), what, found, expected })
    }

    fn write_message(&mut self, channel_id: u16, sequence: u32, time: f64) -> Result<(), RecordingError> {
        let nanoseconds = (time * 1e9).round() as u64; // saturates; for other tools only
        let header = MessageHeader { channel_id, sequence, log_time: nanoseconds, publish_time: nanoseconds };
        self.mcap.write_to_known_channel(&header, &self.buffer).map_err(|e| write_error(e, &self.part))?;
        if self.last_flush.elapsed() >= FLUSH_PERIOD {
            self.flush()?;
        }
        Ok(())
    }

    /// Closes the open chunk, so that everything written so far survives the death of this process.
    pub fn flush(&mut self) -> Result<(), RecordingError> {
        self.last_flush = Instant::now();
        self.mcap.flush().map_err(|e| write_error(e, &self.part))
    }

    /// Completes the file, brings it to the disk and gives it its final name.
    pub fn finish(self) -> Result<(), RecordingError> {
        let Self { mut mcap, path, part, .. } = self;
        mcap.finish().map_err(|e| write_error(e, &part))?;
        let out = mcap.into_inner().into_inner();
        let file = out.into_inner().map_err(|e| RecordingError::io("write", &part)(e.into_error()))?;
        publish(file, &part, &path)
    }
}

fn header_json(header: &Header) -> Result<Vec<u8>, serde_json::Error> {
    let mut value = serde_json::to_value(header)?;
    value["format"] = FORMAT.into();
    serde_json::to_vec_pretty(&value)
}

fn add_channels(
    mcap: &mut mcap::Writer<NoSeek<BufWriter<File>>>,
    header: &Header,
) -> Result<Channels, McapError> {
    let state = mcap.add_schema("dalembert.State", "dalembert", STATE_SCHEMA.as_bytes())?;
    let scalars = mcap.add_schema("dalembert.Scalars", "jsonschema", scalar_schema(header).as_bytes())?;
    Ok(Channels {
        state: mcap.add_channel(state, STATE_TOPIC, "dalembert", &BTreeMap::new())?,
        scalars: mcap.add_channel(scalars, SCALARS_TOPIC, "json", &BTreeMap::new())?,
    })
}

/// JSON Schema of a row. The type says `number` although `null` may stand for a value that is not finite:
/// plotting tools do not understand a list of types.
fn scalar_schema(header: &Header) -> String {
    let mut properties = serde_json::Map::new();
    let mut add = |key: &str, unit: &str| {
        let property = serde_json::json!({"type": "number", "description": format!("[{unit}]")});
        properties.insert(key.into(), property);
    };
    add("time", "s");
    for name in &header.scalar_names {
        let (key, unit) = split_unit(name);
        add(key, unit);
    }
    serde_json::json!({"title": "dalembert.Scalars", "type": "object", "properties": properties}).to_string()
}

/// The shortest decimal that reads back to the same bits, or `null`.
fn push_json(buffer: &mut Vec<u8>, number: f64) -> Result<(), RecordingError> {
    serde_json::to_writer(buffer, &number).map_err(|e| RecordingError::Output(e.into()))
}

/// Refuses a name under which stands anything but a recording: a scene, a model, somebody's notes.
fn check_replaced(path: &Path) -> Result<(), RecordingError> {
    match begins_as_ours(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(RecordingError::io("read", path)(error)),
        Ok(false) => {
            let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            let numbered = (1..).map(|k| path.with_file_name(format!("{stem}-{k}.mcap")));
            let mut names = std::iter::once(path.with_extension("mcap")).chain(numbered);
            let free = names.find(|name| fs::symlink_metadata(name).is_err()).unwrap_or_default();
            Err(RecordingError::WouldReplace { path: path.to_owned(), free })
        }
        _ => Ok(()),
    }
}

/// Whether a file begins as a recording does: the mark of MCAP, then a header of our profile.
fn begins_as_ours(path: &Path) -> std::io::Result<bool> {
    let length = (PROFILE.len() as u32).to_le_bytes();
    let mut beginning = Vec::new();
    File::open(path)?.take((MCAP_PROFILE_AT + 4 + PROFILE.len()) as u64).read_to_end(&mut beginning)?;
    let profile = [&length[..], PROFILE.as_bytes()].concat();
    Ok(beginning.starts_with(mcap::MAGIC) && beginning.get(MCAP_PROFILE_AT..) == Some(&profile[..]))
}

/// Opens the file to fill, unless another writer holds it.
fn open_part(path: &Path, part: &Path) -> Result<File, RecordingError> {
    let file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false) // not before the lock
        .open(part)
        .map_err(RecordingError::io("create", part))?;
    lock(&file, path)?;
    let old = file.metadata().map_err(RecordingError::io("create", part))?;
    if old.len() > 0 {
        file.set_len(0).map_err(RecordingError::io("write", part))?;
    }
    Ok(file)
}

/// Marks the file as being written. File systems without locks go without, and so do systems where a lock
/// would keep readers out.
fn lock(file: &File, path: &Path) -> Result<(), RecordingError> {
    if cfg!(unix) && matches!(file.try_lock(), Err(TryLockError::WouldBlock)) {
        return Err(RecordingError::Busy { path: path.to_owned() });
    }
    Ok(())
}

fn write_error(error: McapError, part: &Path) -> RecordingError {
    let source = match error {
        McapError::Io(source) => source,
        other => std::io::Error::other(other.to_string()),
    };
    RecordingError::io("write", part)(source)
}
