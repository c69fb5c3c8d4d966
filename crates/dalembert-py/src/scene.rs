//! From tables and functions to a model, through the same door as scene files.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use dalembert::filters::Motion;
use dalembert::scene::{ArticulationItem, CustomConstraint, CustomForce, MotionSet};
use dalembert_formats::assets::Assets;
use dalembert_formats::describe::read;
use dalembert_formats::robot::{MeshPolicy, ReadOptions, read_robot, read_robot_text};
use dalembert_formats::scene::{ROOT, SceneFile, load, load_text};
use dalembert_formats::source::{Includes, Source};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::callbacks::{Callback, PythonConstraint, PythonForce, Slot, motion};
use crate::errors;
use crate::model::PyModel;
use crate::threads;

/// name, on, function(t, x, v, m), energy(t, x), coupled.
type ForceRow = (String, Vec<String>, Py<PyAny>, Option<Py<PyAny>>, bool);
/// name, points, rows, function(t, x), jacobian(t, x).
type ConstraintRow = (String, Vec<(String, [f64; 3])>, usize, Py<PyAny>, Option<Py<PyAny>>);
/// name, joints in the order of the freedoms, a body that floats, bodies fixed to those of the joints.
type ArticulationRow = (String, Vec<String>, Option<String>, Vec<String>);
/// on, function(t).
type MotionRow = (Vec<String>, Py<PyAny>);

/// Holds a text of tables against what scenes may contain; raises what the program would print.
#[pyfunction]
pub(crate) fn check_text(name: &str, text: &str, directory: PathBuf) -> PyResult<()> {
    let source =
        Source::from_text_with(name, text, Includes::Directory(&directory)).map_err(errors::scene)?;
    read(&ROOT, &source.root, &source.files).map(drop).map_err(errors::scene)
}

/// The scene with nothing but the robot of a file, as text.
#[pyfunction]
pub(crate) fn robot_scene(path: PathBuf) -> PyResult<String> {
    dalembert_formats::scene::scene_around(&path).map_err(errors::scene)
}

/// The name of a robot that is given none: its own, or that of its file.
#[pyfunction]
#[pyo3(signature = (path, text))]
pub(crate) fn robot_name(path: Option<PathBuf>, text: &str) -> PyResult<String> {
    let options = ReadOptions { meshes: MeshPolicy::Skip, ..ReadOptions::default() };
    let (robot, _) = match &path {
        Some(path) => read_robot(path, &options),
        None => read_robot_text("robot.xml", text, Includes::None, &options),
    }
    .map_err(errors::scene)?;
    let stem = path.as_deref().and_then(Path::file_stem).map(|stem| stem.to_string_lossy().into_owned());
    Ok(dalembert_formats::source::robot_name(&robot.name, &stem.unwrap_or_default()))
}

/// Builds a model from a file, or from a text whose files are looked for in `directory`, or whose meshes are `assets`.
#[pyfunction]
#[pyo3(signature = (path, name, text, directory, forces, constraints, motions, articulations, assets = Vec::new()))]
pub(crate) fn build(
    py: Python<'_>,
    path: Option<PathBuf>,
    name: &str,
    text: &str,
    directory: PathBuf,
    forces: Vec<ForceRow>,
    constraints: Vec<ConstraintRow>,
    motions: Vec<MotionRow>,
    articulations: Vec<ArticulationRow>,
    assets: Vec<(String, Vec<u8>)>,
) -> PyResult<PyModel> {
    let slot = Slot::default();
    let mut held = Assets::default();
    for (name, content) in assets {
        held.insert(name, content.into()).map_err(PyValueError::new_err)?;
    }
    let includes = if held.is_empty() { Includes::Directory(&directory) } else { Includes::Assets(&held) };
    let has_callbacks = !(forces.is_empty() && constraints.is_empty() && motions.is_empty());
    let built = threads::detach(py, || {
        let mut file = match &path {
            Some(path) => load(path),
            None => load_text(name, text, includes),
        }
        .map_err(errors::scene)?;
        add_functions(&mut file, &slot, forces, constraints, motions)?;
        for (name, joints, floating, welded) in articulations {
            let joints: Vec<&str> = joints.iter().map(String::as_str).collect();
            let item = ArticulationItem::new(name, &joints).welded(welded);
            file.scene.add(floating.into_iter().fold(item, ArticulationItem::floating));
        }
        file.build().map_err(errors::scene)
    })?;
    slot.check(())?;
    let built = built?;
    let sim = built.simulation;
    Ok(PyModel {
        dt: sim.dt,
        duration: built.duration,
        json: built.json,
        assets: built.assets,
        seed: built.seed,
        warnings: built.warnings.iter().map(ToString::to_string).collect(),
        method: sim.method,
        start: sim.state,
        model: sim.model,
        slot,
        has_callbacks,
    })
}

fn add_functions(
    file: &mut SceneFile,
    slot: &Slot,
    forces: Vec<ForceRow>,
    constraints: Vec<ConstraintRow>,
    motions: Vec<MotionRow>,
) -> PyResult<()> {
    let callback =
        |what, name: &str, function| Callback { what, name: name.to_owned(), function, slot: slot.clone() };
    for (name, on, function, energy, coupled) in forces {
        let force = callback("force", &name, function);
        let energy = energy.map(|f| callback("energy of the force", &name, f));
        let make = move |points: Vec<usize>| -> Box<dyn dalembert::forces::Force> {
            Box::new(PythonForce { callback: force, energy, points, coupled })
        };
        file.scene.add(CustomForce { name, on, most: usize::MAX, make: Box::new(make) });
    }
    for (name, points, rows, function, jacobian) in constraints {
        if !(1..=6).contains(&rows) || !(1..=4).contains(&points.len()) {
            let message = format!(
                "the constraint `{name}` has {rows} rows on {} points; it may have 1 to 6 on 1 to 4",
                points.len()
            );
            return Err(PyValueError::new_err(message));
        }
        let equations = callback("constraint", &name, function);
        let slopes = jacobian.map(|f| callback("jacobian of the constraint", &name, f));
        let points = points.into_iter().map(|(body, place)| (body, place.into())).collect();
        let make: dalembert::scene::MakeConstraint =
            Box::new(move |ends| Box::new(PythonConstraint::new(equations, slopes, rows, ends)));
        file.scene.add(CustomConstraint { name, points, make });
    }
    for (on, function) in motions {
        let told = callback("motion", &on.join(", "), function);
        let motion = Motion::Closure(Arc::new(move |t| motion(&told, t)));
        file.scene.add(MotionSet { on, inside: dalembert::mesh::Region::All, motion });
    }
    Ok(())
}
