//! Scene files: from a path or a text to a simulation.
//!
//! [`ROOT`] describes what a file may contain; names and meanings are those of [`dalembert::scene::Scene`]. [`load`]
//! reads and checks a file, [`SceneFile::build`] compiles it. Errors of both say file, line and column.
//!
//! ```
//! use dalembert_formats::scene::load_text;
//! use dalembert_formats::source::Includes;
//!
//! let text = "dt = 0.01\n[[particles]]\nname = 'stone'\nposition = [0, 0, 10]";
//! let mut built = load_text("fall.toml", text, Includes::None)?.build()?;
//! built.simulation.run(built.duration)?;
//! assert!(built.simulation.state.q[2] < 6.0);
//!
//! let typo = load_text("typo.toml", "[[particles]]\nname = 'a'\nmas = 2", Includes::None).unwrap_err();
//! assert!(typo.to_string().contains("typo.toml:3:1"));
//! assert!(typo.to_string().contains("did you mean `mass`?"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod convert;
mod robots;

pub use dalembert::scene::ROOT;
pub use robots::scene_around;

use std::path::Path;

use dalembert::scene::{Culprits, Expectation, Scene};
use dalembert::step::{Method, Simulation};

use crate::assets::Assets;
use crate::describe::{self, View, read};
use crate::error::{Diagnostic, Files, Problems, SceneFileError, quote};
use crate::rigid_ipc;
use crate::source::{Includes, Source};
use crate::tree::{Node, Value};

/// A scene file that was read and checked.
#[derive(Debug)]
pub struct SceneFile {
    /// The text of the file and of those it includes.
    pub source: Source,
    /// What they say; may be changed before [`SceneFile::build`].
    pub scene: Scene,
    /// Every method with the settings that the file gives it; the scene uses one of them.
    pub methods: Vec<Method>,
    /// What is probably not meant.
    pub warnings: Vec<Diagnostic>,
}

/// A simulation, and what else the file says.
#[derive(Debug)]
pub struct Built {
    /// The simulation at its start.
    pub simulation: Simulation,
    /// What must be true when the scene has run.
    pub expect: Vec<Expectation>,
    /// Title.
    pub title: String,
    /// Description.
    pub description: String,
    /// How long it runs \[s\].
    pub duration: f64,
    /// Seed of everything random.
    pub seed: u64,
    /// The file with all that it includes as compact JSON, which [`load_text`] reads back under a name that ends in
    /// `.json` with [`Includes::Assets`].
    pub json: String,
    /// The meshes that the JSON names.
    pub assets: Assets,
    /// What is probably not meant.
    pub warnings: Vec<Diagnostic>,
}

/// Reads a scene file (JSON if its name ends in `.json`, else TOML) and the files that it includes.
///
/// A JSON file with a `rigid_body_problem` is a scene of rigid-ipc, see [`crate::rigid_ipc`].
///
/// A URDF or MJCF file (`.urdf`, `.xml`) gives a scene with that robot alone.
pub fn load(path: impl AsRef<Path>) -> Result<SceneFile, SceneFileError> {
    let path = path.as_ref();
    if robots::is_robot(path) {
        let text = robots::scene_around(path)?;
        let folder = path.parent().unwrap_or(Path::new(""));
        let name = format!("{}.toml", path.file_name().unwrap_or_default().to_string_lossy());
        return load_text(&name, &text, Includes::Directory(folder));
    }
    if path.extension().is_some_and(|e| e.eq_ignore_ascii_case("json"))
        && std::fs::metadata(path).is_ok_and(|about| about.is_file() && about.len() <= rigid_ipc::MOST_BYTES)
        && std::fs::read_to_string(path).is_ok_and(|text| rigid_ipc::is_rigid_ipc(&text))
    {
        return load_rigid_ipc(path);
    }
    from_source(Source::from_path(path)?)
}

/// Reads a scene of the program rigid-ipc and translates it.
fn load_rigid_ipc(path: &Path) -> Result<SceneFile, SceneFileError> {
    let scene = rigid_ipc::read(path)?;
    let name = path.display().to_string();
    let text = scene.translate().map_err(|e| Diagnostic::error(format!("{}: {e}", quote(&name))))?;
    let mut file = load_text(&name, &text, Includes::None)?;
    file.warnings.extend(scene.warnings);
    Ok(file)
}

/// Reads a scene from a text. `name` is used in messages and decides the language, as in [`load`].
pub fn load_text(name: &str, text: &str, includes: Includes<'_>) -> Result<SceneFile, SceneFileError> {
    from_source(Source::from_text_with(name, text, includes)?)
}

fn from_source(source: Source) -> Result<SceneFile, SceneFileError> {
    let root = read(&ROOT, &source.root, &source.files)?;
    let (scene, methods, mut warnings) = convert::scene(&root, &source.files, &source.assets)?;
    warnings.extend(source.warnings.iter().cloned());
    Ok(SceneFile { source, scene, methods, warnings })
}

impl SceneFile {
    /// Validates and compiles the scene. Every error stands at its place in the file.
    pub fn build(self) -> Result<Built, SceneFileError> {
        let Self { source, scene, methods: _, mut warnings } = self;
        let root = read(&ROOT, &source.root, &source.files)?;
        let (title, description) = (scene.title.clone(), scene.description.clone());
        let (duration, seed, expect) = (scene.duration, scene.seed, scene.expect.clone());
        let simulation = scene.build().map_err(|errors| {
            let mut problems = Problems::default();
            for error in &errors.errors {
                problems.push(convert::diagnostic(&root, &source.files, error));
            }
            match problems.finish() {
                Err(error) => error,
                Ok(_) => Diagnostic::error(errors.to_string()).into(),
            }
        })?;
        warnings.extend(partial_step(&root, &source.files, duration, simulation.dt));
        let found = simulation.model.warnings.iter();
        warnings.extend(found.map(|warning| convert::warning(&root, &source.files, warning)));
        let (json, assets) = (json(&source.root), source.assets);
        Ok(Built { simulation, expect, title, description, duration, seed, json, assets, warnings })
    }
}

impl SceneFile {
    /// What intersects or touches at the start under the method `ipc`; empty if nothing does.
    pub fn culprits(self) -> Culprits {
        self.scene.build().err().map(|error| error.culprits).unwrap_or_default()
    }
}

/// Warns if the duration is not a whole number of steps.
fn partial_step(root: &View<'_>, files: &Files, duration: f64, dt: f64) -> Option<Diagnostic> {
    let steps = duration / dt;
    let whole = steps.round();
    // A decimal duration over a decimal dt misses a whole number by a few roundings.
    if (steps - whole).abs() <= 1e-9 * steps.max(1.0) {
        return None;
    }
    let key = if root.has("duration") { "duration" } else { "dt" };
    let message = format!(
        "{duration} s is not a whole number of steps of {dt} s: {whole} steps run, which is {} s",
        whole * dt
    );
    Some(files.warning(root.span(key), message))
}

/// Compact JSON of a tree that was checked, in the order of the file.
fn json(node: &Node) -> String {
    let mut text = String::new();
    write_json(node, &mut text);
    text
}

fn write_json(node: &Node, out: &mut String) {
    let quoted = |text: &str| serde_json::Value::from(text).to_string();
    match &node.value {
        Value::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
        Value::Integer(value) => out.push_str(&value.to_string()),
        // The check refuses what is not finite; the shortest digits that read back to the same bits.
        Value::Number(value) => out.push_str(&serde_json::Value::from(*value).to_string()),
        Value::Text(text) => out.push_str(&quoted(text)),
        Value::List(items) => {
            out.push('[');
            for (i, item) in items.iter().enumerate() {
                out.push_str(if i == 0 { "" } else { "," });
                write_json(item, out);
            }
            out.push(']');
        }
        Value::Table(entries) => {
            out.push('{');
            for (i, entry) in entries.iter().enumerate() {
                out.push_str(if i == 0 { "" } else { "," });
                out.push_str(&quoted(&entry.key));
                out.push(':');
                write_json(&entry.node, out);
            }
            out.push('}');
        }
    }
}

/// The JSON Schema of scene files, for editors.
pub fn json_schema() -> String {
    let mut schema = describe::json_schema(&ROOT);
    schema["title"] = "dalembert scene".into();
    format!("{schema:#}\n")
}

/// The methods of the Python class `Scene`, one for every table.
pub fn python_tables() -> String {
    crate::python::python(&ROOT)
}

/// The reference of all keys, in Markdown.
pub fn reference() -> String {
    describe::markdown(&ROOT)
}
