//! Robots from the files of other tools: URDF and MJCF.
//!
//! [`read_robot`] tells the two apart by their outermost element (`robot` or `mujoco`) and gives a
//! [`RobotDescription`], which is plain data, together with a list of warnings: whatever the file says and the robot cannot
//! carry is in that list, with its place. Under [`ReadOptions::strict`] it is an error instead.
//!
//! A file is untrusted input: sizes, nesting, includes and repetitions are limited, and every error names file, line
//! and column.
//!
//! ```
//! use dalembert_formats::robot::{ReadOptions, read_robot_text};
//! use dalembert_formats::source::Includes;
//!
//! let text = r#"<mujoco model="pendulum">
//!   <worldbody>
//!     <body name="bob" pos="0 0 1">
//!       <joint name="pivot" axis="0 1 0"/>
//!       <geom type="sphere" size="0.05" pos="0 0 -0.5" mass="2"/>
//!     </body>
//!   </worldbody>
//! </mujoco>"#;
//! let (robot, warnings) = read_robot_text("pendulum.xml", text, Includes::None, &ReadOptions::default())?;
//! assert_eq!((robot.velocity_count(), robot.total_mass()), (1, 2.0));
//! assert!(warnings.is_empty());
//! # Ok::<(), dalembert_formats::error::SceneFileError>(())
//! ```

mod meshes;
mod mjcf;
mod names;
mod solid;
mod urdf;
mod weigh;
pub mod write;
mod write_mjcf;
mod write_urdf;
mod xml;

use std::path::{Path, PathBuf};

use dalembert::bodies::articulated::description::RobotDescription;

use crate::error::{Diagnostic, SceneFileError, quote, quote_path};
use crate::source::{Includes, MAX_FILE};
use xml::{Document, Loader, read_limited, without_dots};

/// How a robot is read.
#[derive(Debug, Clone, Default)]
pub struct ReadOptions {
    /// Whether the root link of a URDF floats; otherwise it is fixed to the world. MJCF says it itself.
    pub floating_base: bool,
    /// What happens to inertias that no mass distribution has.
    pub inertia: InertiaPolicy,
    /// What happens to meshes that cannot be read.
    pub meshes: MeshPolicy,
    /// Folders in which the packages of `package://name/…` are looked for, before the folders above the file.
    pub package_paths: Vec<PathBuf>,
    /// Whether everything that cannot be carried is an error instead of a warning.
    pub strict: bool,
}

/// What happens to inertias that no mass distribution has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum InertiaPolicy {
    /// Kept as they are, with a warning.
    #[default]
    Warn,
    /// Replaced by the nearest one that a mass distribution has, with a warning: negative second moments ∫x²dm along
    /// the principal axes become zero.
    Fix,
    /// An error.
    Refuse,
}

/// What happens to meshes that cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MeshPolicy {
    /// An error, if the mesh can touch something or gives mass; a warning, if it is only seen.
    #[default]
    Require,
    /// A warning, and the geom is left out.
    Optional,
    /// No mesh is read, and geoms of meshes are left out. An MJCF body whose mass comes from a mesh has none then.
    Skip,
}

/// Reads a URDF or MJCF file.
pub fn read_robot(
    path: impl AsRef<Path>,
    options: &ReadOptions,
) -> Result<(RobotDescription, Vec<Diagnostic>), SceneFileError> {
    let path = path.as_ref();
    let name = path.display().to_string();
    let bytes = read_limited(path, MAX_FILE)
        .map_err(|reason| Diagnostic::error(format!("cannot read {}: {reason}", quote_path(&name))))?;
    read(name, path.to_owned(), bytes, Includes::Directory(Path::new("")), options)
}

/// The files that a URDF or MJCF file consists of: itself and what it includes. Meshes are not listed.
pub fn robot_files(path: impl AsRef<Path>) -> Result<Vec<PathBuf>, SceneFileError> {
    let path = path.as_ref();
    let name = path.display().to_string();
    let bytes = read_limited(path, MAX_FILE)
        .map_err(|reason| Diagnostic::error(format!("cannot read {}: {reason}", quote_path(&name))))?;
    let mut doc = Document::new(false);
    Loader::new(Includes::Directory(Path::new(""))).parse(&mut doc, name, path.to_owned(), bytes)?;
    Ok(doc.files.iter().map(|file| file.name().into()).collect())
}

/// Reads a URDF or MJCF text; includes and meshes are looked for in `includes`. `name` is used in messages.
pub fn read_robot_text(
    name: impl Into<String>,
    text: impl Into<String>,
    includes: Includes<'_>,
    options: &ReadOptions,
) -> Result<(RobotDescription, Vec<Diagnostic>), SceneFileError> {
    let name = name.into();
    let path = match includes {
        Includes::Directory(directory) => directory.join(&name),
        Includes::None | Includes::Embedded(_) | Includes::Assets(_) => without_dots(Path::new(&name)),
    };
    read(name, path, text.into().into_bytes(), includes, options)
}

fn read(
    name: String,
    path: PathBuf,
    bytes: Vec<u8>,
    includes: Includes<'_>,
    options: &ReadOptions,
) -> Result<(RobotDescription, Vec<Diagnostic>), SceneFileError> {
    let mut doc = Document::new(options.strict);
    let mut loader = Loader::new(includes);
    let parsed = loader.parse(&mut doc, name, path, bytes)?;
    let root = doc.node(parsed.root);
    let robot = match root.name() {
        "robot" => urdf::read(&doc, parsed, &mut loader, options),
        "mujoco" => mjcf::read(&mut doc, parsed, &mut loader, options)?,
        other => {
            let message = format!("the file is neither URDF (`robot`) nor MJCF (`mujoco`): {}", quote(other));
            let error = doc.files.error(root.span(), message).with_suggestion(other, ["robot", "mujoco"]);
            return Err(error.into());
        }
    };
    let warnings = doc.finish()?;
    Ok((robot, warnings))
}
