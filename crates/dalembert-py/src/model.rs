//! The model: what does not change, shared between simulations and rollouts.

use std::sync::Arc;

use dalembert::model::{Model, Quantity};
use dalembert::state::{BlockKind, State};
use dalembert::step::Method;
use dalembert_formats::assets::Assets;
use numpy::{PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1};
use pyo3::exceptions::{PyKeyError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};

use crate::callbacks::Slot;
use crate::errors;
use crate::robot::PyRobot;
use crate::threads;

/// name, kind, ranges of q, of v and of the points.
type BlockRow = (String, &'static str, usize, usize, usize, usize, usize, usize);

/// What does not change while a scene runs: bodies, forces, joints, and the method and step size of the scene.
///
/// Made by `Scene.build`; a model can be shared by many simulations, threads and rollouts.
#[pyclass(frozen, name = "Model", module = "dalembert")]
pub(crate) struct PyModel {
    pub(crate) model: Arc<Model>,
    pub(crate) method: Method,
    /// Step size [s].
    #[pyo3(get)]
    pub(crate) dt: f64,
    /// How long the scene runs [s].
    #[pyo3(get)]
    pub(crate) duration: f64,
    /// The whole scene as JSON, with nothing left to look up elsewhere but the meshes of robots, which it names and which
    /// recordings and pickles hold beside it. Python functions are not in it.
    #[pyo3(get)]
    pub(crate) json: String,
    pub(crate) assets: Assets,
    /// Seed of everything random in the scene.
    #[pyo3(get)]
    pub(crate) seed: u64,
    /// Warnings of the scene, as the program prints them.
    #[pyo3(get)]
    pub(crate) warnings: Vec<String>,
    pub(crate) start: State,
    pub(crate) slot: Slot,
    /// Whether Python functions take part in a step.
    #[pyo3(get)]
    pub(crate) has_callbacks: bool,
}

impl PyModel {
    /// A packed state as the engine has it, settled.
    pub(crate) fn unpack(&self, packed: &[f64]) -> PyResult<State> {
        if let Some(i) = packed.iter().position(|x| !x.is_finite()) {
            return Err(PyValueError::new_err(format!("the saved state holds {} (number {i})", packed[i])));
        }
        let wrong = |e: dalembert::state::StateMismatch| PyValueError::new_err(e.to_string());
        let mut state = State::unpack(&self.model.layout, packed).map_err(wrong)?;
        self.model.settle(&mut state);
        Ok(state)
    }

    pub(crate) fn quantity(&self, text: &str) -> PyResult<Quantity> {
        Quantity::parse(&self.model, text).map_err(|e| {
            let near = e.candidates.iter().map(|c| (strsim::jaro_winkler(c, &e.misspelt), c));
            let help = match near.max_by(|a, b| a.0.total_cmp(&b.0)) {
                Some((likeness, c)) if likeness > 0.8 => format!("; did you mean `{c}`?"),
                _ => String::new(),
            };
            PyKeyError::new_err(format!("{e}{help}"))
        })
    }
}

#[pymethods]
impl PyModel {
    /// Title of the scene.
    #[getter]
    fn title(&self) -> &str {
        &self.model.title
    }

    /// Name of the method that steps it.
    #[getter]
    fn method(&self) -> &'static str {
        self.method.name()
    }

    /// Gravity [m/s²], shape (3,).
    #[getter]
    fn gravity<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        PyArray1::from_slice(py, self.model.gravity.as_slice())
    }

    /// Total mass [kg].
    #[getter]
    fn mass(&self) -> f64 {
        self.model.mass()
    }

    /// Masses of all points [kg], shape (points,); 0 for points carried by something else. A copy.
    #[getter]
    fn masses<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        PyArray1::from_slice(py, &self.model.particles.mass)
    }

    /// Sizes: free coordinates `nq`, free velocities `nv`, `points`, the lengths of q, v, the lists of robots and λ, and that of a
    /// packed state.
    #[getter]
    fn layout<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let l = &self.model.layout;
        let dict = PyDict::new(py);
        let sizes = [
            ("nq", l.nq),
            ("nv", l.nv),
            ("len_q", l.len_q()),
            ("len_v", l.len_v()),
            ("points", l.points),
            ("points_q", l.points_q()),
            ("points_v", l.points_v()),
            ("rigid", l.rigid),
            ("particles", l.particles),
            ("robot_q", l.robot_q),
            ("robot_v", l.robot_v),
            ("robots", l.robot_lists()),
            ("multipliers", 6 * l.constraints),
            ("packed_q", State::packed_q(l)),
            ("packed_v", State::packed_v(l)),
            ("packed_robots", State::packed_robots(l)),
            ("packed", State::packed_len(l)),
        ];
        for (name, size) in sizes {
            dict.set_item(name, size)?;
        }
        Ok(dict)
    }

    /// Pieces of the state vectors in order: (name, kind, q start, q end, v start, v end, first point, last point + 1).
    #[getter]
    fn blocks(&self) -> Vec<BlockRow> {
        let kind = |kind: BlockKind| match kind {
            BlockKind::Rigid => "rigid",
            BlockKind::Generalized => "generalized",
            BlockKind::Particles => "particles",
            BlockKind::Affine => "affine",
            BlockKind::Markers => "markers",
            BlockKind::Mapped => "mapped",
            BlockKind::Robot => "robot",
        };
        let row = |b: &dalembert::state::Block| {
            let name = b.name.clone();
            (name, kind(b.kind), b.q.start, b.q.end, b.v.start, b.v.end, b.points.start, b.points.end)
        };
        self.model.blocks.iter().map(row).collect()
    }

    /// Triangles of a cloth or of the surface of a soft body, shape (n, 3), counted within the points of `name`. A copy.
    fn triangles<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyArray2<u32>>> {
        let names = || self.model.surfaces.iter().map(|s| s.name.as_str());
        let surface = self.model.surfaces.iter().find(|s| s.name == name);
        let surface = surface.ok_or_else(|| errors::unknown("surface", name, names()))?;
        let first = self.model.block(name).map_or(0, |b| b.points.start as u32);
        let flat: Vec<u32> = surface.triangles.iter().flatten().map(|i| i.wrapping_sub(first)).collect();
        PyArray1::from_vec(py, flat).reshape([surface.triangles.len(), 3])
    }

    /// The packed state at the start, shape (layout["packed"],).
    fn start_packed<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        let mut out = Vec::new();
        self.start.pack(&self.model.layout, &mut out);
        PyArray1::from_vec(py, out)
    }

    /// Names of the robots.
    #[getter]
    fn robots(&self) -> Vec<String> {
        self.model.robots.iter().map(|r| r.name.clone()).collect()
    }

    /// The robot called `name`: names of joints and actuators, kinematics and dynamics.
    #[pyo3(signature = (name=None))]
    fn robot(&self, name: Option<&str>) -> PyResult<PyRobot> {
        PyRobot::of(&self.model, name)
    }

    /// A number read off a packed state, such as "ball.z" or "energy.total".
    fn quantity_of(&self, py: Python<'_>, text: &str, packed: PyReadonlyArray1<'_, f64>) -> PyResult<f64> {
        let quantity = self.quantity(text)?;
        let state = self.unpack(packed.as_slice()?)?;
        let value = threads::detach(py, || quantity.value(&self.model, &state))?;
        self.slot.check(value)
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
        if self.has_callbacks {
            let message =
                "a model with Python functions cannot be pickled: build its scene where it is needed";
            return Err(pyo3::exceptions::PyTypeError::new_err(message));
        }
        let build = py.import("dalembert._native")?.getattr("build")?;
        let none = || PyList::empty(py);
        let assets = PyList::empty(py);
        for (name, content) in self.assets.iter() {
            assets.append((name, PyBytes::new(py, content)))?;
        }
        let arguments = (py.None(), "scene.json", &self.json, ".", none(), none(), none(), none(), assets);
        Ok((build, arguments.into_pyobject(py)?.into_any()))
    }

    fn __repr__(&self) -> String {
        let l = &self.model.layout;
        format!(
            "<dalembert.Model {:?}: method {}, dt {} s, {} rigid, {} particles, {} robots>",
            self.model.title,
            self.method.name(),
            self.dt,
            l.rigid,
            l.particles,
            self.model.robots.len()
        )
    }
}
