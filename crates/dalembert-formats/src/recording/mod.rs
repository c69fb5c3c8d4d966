//! Recordings of a run: every state bit for bit, the scalars beside it, and the scene that made them.
//!
//! A recording is an [MCAP](https://mcap.dev) file. In file order:
//!
//! | record | holds |
//! |---|---|
//! | `Header`, profile `dalembert` | tells our recordings from other MCAP files |
//! | attachments `assets/NAME` | the meshes that the scene names, each under a checksum |
//! | attachment `header.json` | the [`Header`] as JSON, under a checksum |
//! | chunks (LZ4, checksummed) | channels `state` and `scalars` |
//! | summary, footer | indexes for other tools; not needed to read the file back |
//!
//! A message on `state` is little-endian: time (f64, s), step number (u64), then `state_len` numbers (f64) or more: what contacts
//! remember stands behind.
//! A message on `scalars` is a JSON object `{"time": …, "kinetic": …}` that plotting tools read directly;
//! a number that is not finite is written as `null`.
//!
//! A [`Writer`] fills `<path>.part` and gives it its name in [`Writer::finish`], so a file under the final
//! name is always whole. What a killed process leaves behind is read by [`Recording::open`] up to the last
//! whole chunk; chunks are closed about once a second. [`Writer::continue_from`] goes on from any frame.
//!
//! ```
//! use dalembert_formats::recording::{Header, Recording, Writer};
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("fall.mcap");
//! let header = Header { state_len: 2, scalar_names: vec!["kinetic [J]".into()], ..Header::default() };
//! let mut writer = Writer::create(&path, &header)?;
//! writer.write_scalars(0.01, &[0.5])?;
//! writer.write_frame(0.01, 1, &[1.0, -0.0])?;
//! writer.finish()?;
//! assert_eq!(Recording::open(&path)?.last_frame()?.state, [1.0, -0.0]);
//! # Ok(())
//! # }
//! ```

mod atomic;
pub mod csv;
mod diff;
mod read;
mod write;

pub use atomic::atomic_write;
pub use diff::{DiffReport, Difference, diff};
pub use read::Recording;
pub use write::Writer;

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use dalembert::state::{Layout, State};
use serde::{Deserialize, Serialize};

use crate::assets::Assets;
use crate::error::plain;

/// Version of the file layout described above; readers refuse a later one.
///
/// 1: robots behind everything else, each with all its numbers; 2: coordinates and velocities of robots in q and v.
const FORMAT: u64 = 2;
/// MCAP profile of our files.
const PROFILE: &str = "dalembert";
/// Name of the attachment that carries the header.
const HEADER_NAME: &str = "header.json";
/// What stands before the names of attachments that carry [`Header::assets`].
const ASSETS: &str = "assets/";
const STATE_TOPIC: &str = "state";
const SCALARS_TOPIC: &str = "scalars";
/// Largest record or unpacked chunk that is written or believed \[bytes\].
const RECORD_LIMIT: u64 = 1 << 30;
/// Largest frame \[bytes\]; leaves room for the rest of its chunk.
const FRAME_LIMIT: u64 = RECORD_LIMIT / 2;

/// What is constant over a recording: enough to rebuild the model and go on.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Header {
    /// The whole scene as text (JSON or TOML), with nothing left to look up elsewhere than in `assets`.
    pub scene: String,
    /// The meshes that the scene names.
    #[serde(skip)]
    pub assets: Assets,
    /// Name of the scene, for people.
    pub scene_name: String,
    /// Version of the engine that ran it.
    pub engine_version: String,
    /// Method that stepped it, for example `impulse`.
    pub method: String,
    /// Time step \[s\].
    pub dt: f64,
    /// Seed of the random numbers.
    pub seed: u64,
    /// Options given beside the scene.
    pub options: BTreeMap<String, String>,
    /// Length of the state vector.
    pub state_len: usize,
    /// The format of the file if an older program wrote it: it laid states with robots out otherwise.
    #[serde(skip)]
    pub older_format: Option<u64>,
    /// Names and ranges of the state vector, from which tracks are made.
    pub layout: serde_json::Value,
    /// Names of the scalars, each with its unit in brackets: `kinetic [J]`. Tables carry the whole name; the
    /// messages of the `scalars` channel use the part before the bracket, `kinetic`, as key.
    pub scalar_names: Vec<String>,
}

impl Header {
    /// Keys of the JSON messages: the scalar names without their units.
    fn scalar_keys(&self) -> Vec<&str> {
        self.scalar_names.iter().map(|name| split_unit(name).0).collect()
    }

    /// Refuses states that a model cannot take: of another length, or with robots laid out as in older files.
    pub fn check_states(&self, layout: &Layout) -> Result<(), String> {
        let needed = State::packed_len(layout);
        if needed != self.state_len {
            return Err(format!("it has states of {needed} numbers, the recording of {}", self.state_len));
        }
        match self.older_format {
            Some(found) if layout.robot_v > 0 => Err(format!(
                "the file has recording format {found}, which lays the states of robots out otherwise; run its scene anew"
            )),
            _ => Ok(()),
        }
    }

    /// Refuses what could not be read back.
    fn check(&self) -> Result<(), String> {
        if !self.dt.is_finite() {
            return Err(format!("the time step {} is not a finite number", self.dt));
        }
        if frame_bytes(self.state_len).is_none_or(|bytes| bytes > FRAME_LIMIT) {
            return Err(format!(
                "a state of {} numbers is beyond the limit of {FRAME_LIMIT} bytes per frame",
                self.state_len
            ));
        }
        let mut seen = std::collections::BTreeSet::from(["time"]);
        match self.scalar_keys().into_iter().find(|key| !seen.insert(key)) {
            Some(key) => Err(format!("the scalar name `{key}` is used twice")),
            None => Ok(()),
        }
    }
}

/// `kinetic [J]` as (`kinetic`, `J`); a name without brackets has an empty unit.
fn split_unit(name: &str) -> (&str, &str) {
    match name.split_once(" [") {
        Some((key, unit)) => (key, unit.strip_suffix(']').unwrap_or(unit)),
        None => (name, ""),
    }
}

/// Bytes of one message on the `state` channel.
fn frame_bytes(state_len: usize) -> Option<u64> {
    u64::try_from(state_len).ok()?.checked_add(2)?.checked_mul(8)
}

/// One recorded state.
#[derive(Clone, Debug, PartialEq)]
pub struct Frame {
    /// Time \[s\].
    pub time: f64,
    /// Number of the step that ended here.
    pub step: u64,
    /// The whole state vector.
    pub state: Vec<f64>,
}

/// One row of scalars, in the order of [`Header::scalar_names`].
#[derive(Clone, Debug, PartialEq)]
pub struct Scalars {
    /// Time \[s\].
    pub time: f64,
    /// The values; NaN where the written value was not finite.
    pub values: Vec<f64>,
}

/// Why a recording could not be written or read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecordingError {
    /// The file system refused.
    #[error("cannot {action} `{}`: {}", path.display(), plain(source))]
    Io {
        /// What was attempted, as a verb.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// An output without a name, such as a pipe, refused.
    #[error("cannot write the output: {}", plain(.0))]
    Output(#[from] io::Error),
    /// The folder of a new file is missing.
    #[error("cannot create `{}`: the folder `{}` does not exist", path.display(), folder.display())]
    MissingFolder {
        /// The file to create.
        path: PathBuf,
        /// Its folder.
        folder: PathBuf,
    },
    /// The name belongs to a device, a pipe or a socket.
    #[error("cannot create `{}`: it is a device, a pipe or a socket, and must not be replaced by a file", path.display())]
    NotAFile {
        /// The file to create.
        path: PathBuf,
    },
    /// The name belongs to a file of another kind, which recording would destroy.
    #[error("cannot record to `{}`: the file exists and is no recording of dalembert; give a name that no other file has, such as `{}`", path.display(), free.display())]
    WouldReplace {
        /// The file to create.
        path: PathBuf,
        /// A name that no file has.
        free: PathBuf,
    },
    /// Another process is writing the same recording.
    #[error("cannot create `{}`: another process is writing it", path.display())]
    Busy {
        /// The file to create.
        path: PathBuf,
    },
    /// The header to write contradicts itself.
    #[error("cannot record to `{}`: {reason}", path.display())]
    BadHeader {
        /// The file to create.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// A vector of the wrong length was given to a writer.
    #[error("cannot record to `{}`: {what} has {found} numbers, the header says {expected}", path.display())]
    WrongLength {
        /// The recording.
        path: PathBuf,
        /// Which vector.
        what: &'static str,
        /// Its length.
        found: usize,
        /// The length that the header gives.
        expected: usize,
    },
    /// The file is not an MCAP file.
    #[error("`{}` is not a recording: it does not begin as an MCAP file does", path.display())]
    NotMcap {
        /// The file.
        path: PathBuf,
    },
    /// The file is an MCAP file of another program.
    #[error("`{}` is an MCAP file, but not a dalembert recording (profile `{profile}`, written by `{library}`)", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
        /// The profile that it names.
        profile: String,
        /// The library that wrote it.
        library: String,
    },
    /// The file was written by a later version.
    #[error("`{}` has recording format {found}; this program reads up to {FORMAT}", path.display())]
    TooNew {
        /// The file.
        path: PathBuf,
        /// Its format number.
        found: u64,
    },
    /// The file stops before its header ends: nothing can be read.
    #[error("`{}` was cut off before the end of its header ({length} bytes): nothing in it can be read", path.display())]
    NoHeader {
        /// The file.
        path: PathBuf,
        /// Its length.
        length: u64,
    },
    /// Bytes that a writer never produces.
    #[error("`{}` is damaged at byte {offset}: {reason}", path.display())]
    Corrupt {
        /// The file.
        path: PathBuf,
        /// Where the record begins.
        offset: u64,
        /// What is wrong with it.
        reason: String,
    },
    /// A frame beyond the end was asked for.
    #[error("`{}` has {count} frames; there is no frame {index} (the first is 0)", path.display())]
    NoSuchFrame {
        /// The file.
        path: PathBuf,
        /// The frame asked for.
        index: usize,
        /// How many there are.
        count: usize,
    },
    /// The states do not belong to the scene.
    #[error("the recording does not fit the scene: {0}")]
    Mismatch(#[from] dalembert::state::StateMismatch),
    /// Two recordings whose states cannot be compared.
    #[error("`{}` has states of {} numbers, `{}` of {}: they cannot be compared", a.display(), lengths[0], b.display(), lengths[1])]
    Incomparable {
        /// The first file.
        a: PathBuf,
        /// The second file.
        b: PathBuf,
        /// Their state lengths.
        lengths: [usize; 2],
    },
}

impl RecordingError {
    fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { action, path: path.to_owned(), source }
    }
}
