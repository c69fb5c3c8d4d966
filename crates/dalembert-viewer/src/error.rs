//! What can go wrong, in words.

use std::io;
use std::path::PathBuf;

/// Why a picture, plot or view could not be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ViewerError {
    /// The file system refused.
    #[error("cannot {action} `{}`: {source}", path.display())]
    Io {
        /// What was attempted, as a verb.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The ending of an output file means nothing.
    #[error("`{}` ends in `{ending}`; known endings are {known}", path.display())]
    UnknownEnding {
        /// The file.
        path: PathBuf,
        /// Its ending.
        ending: String,
        /// What it could be.
        known: &'static str,
    },
    /// There is no ffmpeg.
    #[error(
        "cannot write `{}`: MP4 needs the program `ffmpeg`, which was not found; a name that ends in .gif needs no other program",
        path.display()
    )]
    NoFfmpeg {
        /// The film.
        path: PathBuf,
    },
    /// ffmpeg gave up.
    #[error("ffmpeg could not write `{}`: {reason}", path.display())]
    Ffmpeg {
        /// The film.
        path: PathBuf,
        /// What it said.
        reason: String,
    },
    /// No frame at all.
    #[error("there is nothing to show: not one frame")]
    NothingToShow,
    /// A recording could not be read.
    #[error(transparent)]
    Recording(#[from] dalembert_formats::recording::RecordingError),
    /// A recording belongs to another scene.
    #[error("the recording does not fit the scene: {0}")]
    Mismatch(#[from] dalembert::state::StateMismatch),
    /// A step failed.
    #[error(transparent)]
    Step(#[from] dalembert::step::StepError),
    /// A plot of something that is not there.
    #[error("nothing to plot under `{wanted}`: {reason}")]
    NoCurve {
        /// What was asked for.
        wanted: String,
        /// Why not.
        reason: String,
    },
    /// The server could not listen.
    #[error("cannot listen on {address}: {source}")]
    Listen {
        /// The last address that was tried.
        address: String,
        /// What the system said.
        source: io::Error,
    },
}
