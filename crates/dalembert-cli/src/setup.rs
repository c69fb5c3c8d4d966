//! From a file to a simulation: scenes with options of the command line, and scenes out of recordings.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use clap::Args;
use clap::builder::PossibleValuesParser;
use dalembert::prelude::*;
use dalembert::state::{Block, BlockKind};
use dalembert_formats::recording::{Header, Recording};
use dalembert_formats::scene::{self, Built, SceneFile};
use dalembert_formats::source::Includes;

use crate::exit::{Failure, Outcome};
use crate::record;

/// More steps than this are a slip of the pen.
const MOST_STEPS: f64 = 1e12;

/// Options that replace what the scene says.
#[derive(Args, Clone, Debug, Default, PartialEq)]
#[command(next_help_heading = "Instead of what the scene says")]
pub(crate) struct Overrides {
    /// Method that advances the scene
    #[arg(long, value_name = "M", value_parser = PossibleValuesParser::new(Method::NAMES))]
    pub(crate) method: Option<String>,
    /// Integrator of the methods `explicit` and `lagrange`
    #[arg(long, value_name = "I", value_parser = integrators())]
    pub(crate) integrator: Option<String>,
    /// Step size [s]
    #[arg(long, value_name = "H", value_parser = positive)]
    pub(crate) dt: Option<f64>,
    /// Seed of everything random in the scene
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
}

fn integrators() -> PossibleValuesParser {
    PossibleValuesParser::new(Integrator::ALL.iter().map(|(name, _)| *name))
}

/// A positive, finite number.
pub(crate) fn positive(text: &str) -> Result<f64, String> {
    not_negative(text).and_then(|x| if x > 0.0 { Ok(x) } else { Err("must be greater than zero".into()) })
}

/// A finite number that is not negative.
pub(crate) fn not_negative(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(x) if !x.is_finite() => Err("must be finite".into()),
        Ok(x) if x < 0.0 => Err("must not be negative".into()),
        Ok(x) => Ok(x),
        Err(_) => Err("is not a number".into()),
    }
}

impl Overrides {
    /// A method takes the settings that the file gives it, also where the scene uses another.
    pub(crate) fn apply(&self, file: &mut SceneFile) {
        let scene = &mut file.scene;
        let named = |name: &str| file.methods.iter().find(|m| m.name() == name).cloned();
        if let Some(method) = self.method.as_deref().and_then(named) {
            scene.method = method;
        }
        if let Some(integrator) = self.integrator.as_deref().and_then(Integrator::from_name) {
            scene.method.set_integrator(integrator);
        }
        scene.dt = self.dt.unwrap_or(scene.dt);
        scene.seed = self.seed.unwrap_or(scene.seed);
    }

    /// As the header of a recording keeps them; numbers read back to the same bits.
    pub(crate) fn to_options(&self) -> BTreeMap<String, String> {
        let options = [
            ("method", self.method.clone()),
            ("integrator", self.integrator.clone()),
            ("dt", self.dt.map(|dt| format!("{dt:?}"))),
            ("seed", self.seed.map(|seed| seed.to_string())),
        ];
        options.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))).collect()
    }

    fn from_options(options: &BTreeMap<String, String>) -> Result<Self, String> {
        fn read<T>(
            options: &BTreeMap<String, String>,
            key: &str,
            parse: impl Fn(&str) -> Option<T>,
        ) -> Result<Option<T>, String> {
            let Some(text) = options.get(key) else { return Ok(None) };
            parse(text).map(Some).ok_or_else(|| format!("its option `{key}` reads `{text}`"))
        }
        let method = |s: &str| Method::NAMES.contains(&s).then(|| s.to_owned());
        let integrator = |s: &str| Integrator::from_name(s).map(|_| s.to_owned());
        Ok(Self {
            method: read(options, "method", method)?,
            integrator: read(options, "integrator", integrator)?,
            dt: read(options, "dt", |s| positive(s).ok())?,
            seed: read(options, "seed", |s| s.parse().ok())?,
        })
    }
}

/// Reads a scene file and builds it.
pub(crate) fn load(path: &Path, overrides: &Overrides) -> Result<Built, Failure> {
    build(open(path)?, overrides)
}

/// Reads a scene file.
pub(crate) fn open(path: &Path) -> Result<SceneFile, Failure> {
    // A scene that cannot be opened is a matter of files, one that cannot be understood is not.
    let unreadable = |reason: String| Failure::Io(format!("cannot read `{}`: {reason}", path.display()));
    match dalembert_formats::regular::open(path) {
        Err(e) if e.kind() == std::io::ErrorKind::IsADirectory => {
            return Err(unreadable("it is a folder".into()));
        }
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
            let hint = "no such file; `dalembert examples` lists the scenes that come with the program";
            return Err(unreadable(hint.into()));
        }
        Err(e) => return Err(unreadable(e.to_string())),
        Ok(_) => {}
    }
    Ok(scene::load(path)?)
}

/// Builds a scene with options of the command line.
pub(crate) fn build(mut file: SceneFile, overrides: &Overrides) -> Result<Built, Failure> {
    overrides.apply(&mut file);
    Ok(file.build()?)
}

/// Builds the scene that a recording holds, as it was run.
pub(crate) fn rebuild(recording: &Recording) -> Result<Built, Failure> {
    let damaged = |reason: String| {
        Failure::Io(format!("the scene in `{}` cannot be built: {reason}", recording.path().display()))
    };
    let header = recording.header();
    let overrides = Overrides::from_options(&header.options).map_err(damaged)?;
    let name = format!("{}:scene.json", recording.path().display());
    let mut file = scene::load_text(&name, &header.scene, Includes::Assets(&header.assets))
        .map_err(|e| damaged(format!("\n{e}")))?;
    overrides.apply(&mut file);
    let built = file.build().map_err(|e| damaged(format!("\n{e}")))?;
    header.check_states(&built.simulation.model.layout).map_err(damaged)?;
    Ok(built)
}

/// Puts a recorded state into a simulation.
pub(crate) fn set_state(simulation: &mut Simulation, packed: &[f64]) -> Outcome {
    let state = State::unpack(&simulation.model.layout, packed).map_err(|e| Failure::Io(e.to_string()))?;
    simulation.state = state;
    simulation.model.settle(&mut simulation.state);
    Ok(())
}

/// Number of steps of `dt` that make `duration`.
pub(crate) fn steps(duration: f64, dt: f64) -> Result<u64, Failure> {
    let steps = (duration / dt).round();
    if steps > MOST_STEPS {
        let message = format!("{duration} s in steps of {dt} s is more than 10^12 steps");
        return Err(Failure::Usage(message));
    }
    Ok(steps as u64)
}

/// The header of a recording of this scene.
pub(crate) fn header(built: &Built, name: &str, overrides: &Overrides, every: u64) -> Header {
    let name = if built.title.is_empty() { name } else { &built.title };
    let seed = overrides.seed.unwrap_or(built.seed);
    let mut header = record::header(&built.simulation, &built.json, &built.assets, name, seed);
    header.options = overrides.to_options();
    header.options.insert("every".into(), every.to_string());
    header
}

/// Where each body and set of particles lies in a packed state.
pub(crate) fn layout(model: &Model) -> serde_json::Value {
    let (q, v) = (State::packed_q(&model.layout), State::packed_v(&model.layout));
    let kind = |b: &Block| match b.kind {
        BlockKind::Rigid => "rigid",
        BlockKind::Generalized => "generalized",
        BlockKind::Particles | BlockKind::Markers | BlockKind::Mapped => "particles",
        BlockKind::Affine => "affine",
        BlockKind::Robot => "robot",
    };
    // Carried points are not in a packed state.
    let left_out = [model.layout.robots_q() - model.layout.nq, model.layout.robots_v() - model.layout.nv];
    let free = |b: &&Block| b.kind != BlockKind::Mapped;
    let block = |b: &Block| {
        let [out_q, out_v] = if b.kind == BlockKind::Robot { left_out } else { [0; 2] };
        serde_json::json!({
            "name": b.name,
            "kind": kind(b),
            "q": [q + b.q.start - out_q, q + b.q.end - out_q],
            "v": [v + b.v.start - out_v, v + b.v.end - out_v],
        })
    };
    let blocks: Vec<_> = model.blocks.iter().filter(free).map(block).collect();
    serde_json::json!({ "time": 0, "blocks": blocks })
}

/// Runs `work` on `threads` threads; on as many as the machine has if none are given.
pub(crate) fn on_threads<T: Send>(
    threads: Option<usize>,
    work: impl FnOnce() -> Result<T, Failure> + Send,
) -> Result<T, Failure> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads.unwrap_or(0)).build();
    pool.map_err(|e| Failure::Io(format!("cannot start the threads: {e}")))?.install(work)
}

/// The final name of a recording that may still be called `.part`.
pub(crate) fn final_name(recording: &Recording) -> PathBuf {
    let path = recording.path();
    if recording.from_part() { path.with_extension("") } else { path.to_owned() }
}
