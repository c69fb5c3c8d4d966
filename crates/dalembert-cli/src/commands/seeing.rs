//! What `view`, `render` and `plot` share: a scene or a recording as something that moves.

use std::io::Read;
use std::path::Path;

use dalembert_formats::error::Diagnostic;
use dalembert_formats::recording::Recording;
use dalembert_viewer::drawing::Group;
use dalembert_viewer::{Live, Playback, Player, ViewerError};

use crate::exit::Failure;
use crate::setup::{self, Overrides};

impl From<ViewerError> for Failure {
    fn from(error: ViewerError) -> Self {
        match error {
            ViewerError::UnknownEnding { .. } | ViewerError::NoCurve { .. } => Self::Usage(error.to_string()),
            ViewerError::Step(_) => Self::Step(error.to_string()),
            _ => Self::Io(error.to_string()),
        }
    }
}

/// Something that moves, and for how long.
pub(crate) struct Moving {
    pub(crate) player: Box<dyn Player>,
    /// Length of the scene or of the recording \[s\].
    pub(crate) duration: f64,
    pub(crate) title: String,
    /// Name of the method that moves it or has moved it.
    pub(crate) method: String,
    /// Whether it goes on after `duration` if nobody stops it.
    pub(crate) live: bool,
    pub(crate) warnings: Vec<Diagnostic>,
}

impl Moving {
    /// Refuses groups that were asked for by name and have nothing to show here.
    pub(crate) fn check_shown(&self, groups: &[Group]) -> Result<(), Failure> {
        let Some(empty) = groups.iter().find(|g| !self.player.drawing().shows(**g)) else { return Ok(()) };
        let method = &self.method;
        let why = match empty {
            Group::Contact if matches!(method.as_str(), "explicit" | "implicit") => {
                format!(
                    "the method `{method}` has no contacts (obstacles push by a penalty); `impulse`, `lagrange` and `ipc` have"
                )
            }
            Group::Contact => "nothing in this scene can touch anything".into(),
            _ => "this scene has nothing of that kind".into(),
        };
        Err(Failure::Usage(format!("--show {}: {why}", empty.name())))
    }
}

/// Opens a scene or a recording, whichever the file holds.
pub(crate) fn open(path: &Path, overrides: &Overrides) -> Result<Moving, Failure> {
    if is_recording(path) {
        if *overrides != Overrides::default() {
            let message =
                "a recording shows what was run: --method, --integrator, --dt and --seed need a scene";
            return Err(Failure::Usage(message.into()));
        }
        let recording = Recording::open(path)?;
        let built = setup::rebuild(&recording)?;
        let duration = if recording.frame_count() > 0 { recording.last_frame()?.time } else { 0.0 };
        let title = recording.header().scene_name.clone();
        let cut = recording.truncated();
        let method = built.simulation.method.name().to_owned();
        let player = Playback::new(built.simulation.model.clone(), recording)?;
        let mut warnings = built.warnings;
        if let (Some(lost), Some((_, count))) = (cut, player.recorded()) {
            let message =
                format!("the recording was cut off: {count} whole frames, {lost} bytes at its end ignored");
            warnings.insert(0, Diagnostic::warning(message));
        }
        return Ok(Moving { player: Box::new(player), duration, title, method, live: false, warnings });
    }
    let built = setup::load(path, overrides)?;
    let name = path.file_stem().map(|s| s.to_string_lossy().into_owned()).unwrap_or_default();
    let method = built.simulation.method.name().to_owned();
    let mut player = Live::new(built.simulation);
    player.warnings = built.warnings.iter().map(|warning| warning.message.clone()).collect();
    Ok(Moving {
        duration: built.duration,
        title: if built.title.is_empty() { name } else { built.title },
        method,
        live: true,
        player: Box::new(player),
        warnings: built.warnings,
    })
}

/// Whether a file begins as a recording does; one that only exists as `.part` is one too.
fn is_recording(path: &Path) -> bool {
    let mut magic = [0; 5];
    match dalembert_formats::regular::open(path).and_then(|mut file| file.read_exact(&mut magic)) {
        Ok(()) => &magic == b"\x89MCAP",
        Err(_) => {
            let mut part = path.as_os_str().to_owned();
            part.push(".part");
            let named = path.extension().is_some_and(|e| e == "mcap");
            named || !path.exists() && Path::new(&part).exists()
        }
    }
}
