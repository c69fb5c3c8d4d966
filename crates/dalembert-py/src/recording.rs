//! Recordings: the files of the program, written and read from Python.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use dalembert_formats::recording::{Recording, Writer};
use numpy::{PyArray1, PyArray2, PyArrayMethods};
use pyo3::prelude::*;

use crate::callbacks::Slot;
use crate::errors;
use crate::model::PyModel;
use crate::simulation::PySimulation;
use crate::threads;

/// Writes states of a simulation into a file that the program reads (`dalembert view`, `export`, `plot`, …).
#[pyclass(frozen, name = "Recorder", module = "dalembert._native")]
pub(crate) struct PyRecorder(Mutex<Option<Writer>>);

#[pymethods]
impl PyRecorder {
    #[new]
    fn new(py: Python<'_>, simulation: &PySimulation, path: PathBuf) -> PyResult<Self> {
        let model = simulation.the_model();
        let header = simulation.with(py, |sim| {
            let mut header = dalembert_cli::record::header(
                sim,
                &model.json,
                &model.assets,
                &model.model.title,
                model.seed,
            );
            if model.has_callbacks {
                header
                    .options
                    .insert("python".into(), "functions that the recording does not hold took part".into());
            }
            header
        })?;
        Writer::create(&path, &header).map(|w| Self(Mutex::new(Some(w)))).map_err(errors::recording)
    }

    /// Writes the state of now.
    fn write(&self, py: Python<'_>, simulation: &PySimulation) -> PyResult<()> {
        let mut guard = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(writer) = guard.as_mut() else {
            return Err(errors::recording("the recording is finished already"));
        };
        simulation.with(py, |sim| {
            let (mut row, mut state) = (Vec::new(), Vec::new());
            threads::detach(py, || dalembert_cli::record::scalars(sim, &mut row))?;
            sim.state.pack(&sim.model.layout, &mut state);
            writer
                .write_scalars(sim.state.time, &row)
                .and_then(|()| writer.write_frame(sim.state.time, sim.state.steps, &state))
                .map_err(errors::recording)
        })?
    }

    /// Ends the file and gives it its name.
    fn finish(&self) -> PyResult<()> {
        let writer = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        writer.map_or(Ok(()), |w| w.finish().map(drop).map_err(errors::recording))
    }
}

/// A recording: every state bit for bit, and the scene that made them.
#[pyclass(frozen, name = "Recording", module = "dalembert._native", subclass)]
pub(crate) struct PyRecording(Mutex<Recording>);

impl PyRecording {
    fn with<T>(&self, look: impl FnOnce(&Recording) -> T) -> T {
        look(&self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Time [s], step number, packed state.
type Frame<'py> = (f64, u64, Bound<'py, PyArray1<f64>>);
/// Names with units, times [s], values of shape (rows, names).
type Table<'py> = (Vec<String>, Bound<'py, PyArray1<f64>>, Bound<'py, PyArray2<f64>>);

#[pymethods]
impl PyRecording {
    #[new]
    fn new(path: PathBuf) -> PyResult<Self> {
        Recording::open(path).map(|r| Self(Mutex::new(r))).map_err(errors::recording)
    }

    fn __len__(&self) -> usize {
        self.with(Recording::frame_count)
    }

    /// The header as JSON.
    #[getter]
    fn header_json(&self) -> PyResult<String> {
        self.with(|r| serde_json::to_string(r.header())).map_err(errors::recording)
    }

    /// Time [s], step number and packed state of one frame.
    fn frame<'py>(&self, py: Python<'py>, index: usize) -> PyResult<Frame<'py>> {
        let frame = self.with(|r| r.frame(index)).map_err(errors::recording)?;
        Ok((frame.time, frame.step, PyArray1::from_vec(py, frame.state)))
    }

    /// Names with units, times [s] and values, shape (rows, names), of the scalars.
    fn scalars<'py>(&self, py: Python<'py>) -> PyResult<Table<'py>> {
        let rows = self.with(|r| r.scalars().collect::<Result<Vec<_>, _>>()).map_err(errors::recording)?;
        let names = self.with(|r| r.header().scalar_names.clone());
        let times = rows.iter().map(|r| r.time).collect();
        let flat: Vec<f64> = rows.iter().flat_map(|r| r.values.iter().copied()).collect();
        let values = PyArray1::from_vec(py, flat).reshape([rows.len(), names.len()])?;
        Ok((names, PyArray1::from_vec(py, times), values))
    }

    /// The model that the recording was made with.
    fn model(&self, py: Python<'_>) -> PyResult<PyModel> {
        let built = threads::detach(py, || self.with(dalembert_cli::record::rebuild))?;
        let built = built.map_err(errors::recording)?;
        let sim = built.simulation;
        Ok(PyModel {
            dt: sim.dt,
            duration: built.duration,
            json: built.json,
            assets: built.assets,
            seed: built.seed,
            warnings: Vec::new(),
            method: sim.method,
            start: sim.state,
            model: sim.model,
            slot: Slot::default(),
            has_callbacks: false,
        })
    }
}
