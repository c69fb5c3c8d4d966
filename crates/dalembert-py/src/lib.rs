//! The Python package `dalembert`: the parts of it that touch the engine.
//!
//! | file | holds |
//! |---|---|
//! | `scene` | tables and Python functions → a model, through the door of scene files |
//! | `model`, `robot` | what does not change |
//! | `simulation` | live arrays, steps without the interpreter's lock |
//! | `callbacks` | Python functions inside a step |
//! | `coupling` | articulations that Python drives |
//! | `rollout` | many states on all threads |
//! | `threads` | work without the interpreter's lock, after a fork too |
//! | `recording`, `viewer` | files, pictures, the browser |
//!
//! What needs no engine is Python, in `python/dalembert`. Nothing here is `unsafe`: arrays are copied between NumPy and
//! the engine at the ends of a step (see `simulation`).

mod callbacks;
mod coupling;
mod errors;
mod model;
mod recording;
mod report;
mod robot;
mod rollout;
mod scene;
mod simulation;
mod threads;
mod viewer;

use pyo3::prelude::*;

/// Runs the program `dalembert` with these arguments, its own name first; returns its exit code.
#[pyfunction]
fn run_program(py: Python<'_>, arguments: Vec<std::ffi::OsString>) -> PyResult<u8> {
    threads::detach(py, || dalembert_cli::run(arguments))
}

/// Names and texts of the scenes and robots that come with the program.
#[pyfunction]
fn examples() -> Vec<(&'static str, &'static str)> {
    dalembert_cli::examples().to_vec()
}

/// Version of the package, which is that of the program.
#[pyfunction]
fn version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}

/// The JSON Schema of scenes.
#[pyfunction]
fn schema() -> String {
    dalembert_formats::scene::json_schema()
}

/// The engine behind the package; use what `dalembert` offers.
#[pymodule(gil_used = true)]
mod _native {
    #[pymodule_export]
    use super::{examples, run_program, schema, version};
    #[pymodule_export]
    use crate::coupling::{articulations, drive_report, link_dofs, set_drive};
    #[pymodule_export]
    use crate::errors::{BusyError, DivergedError, Error, RecordingError, SceneError, StepError};
    #[pymodule_export]
    use crate::model::PyModel;
    #[pymodule_export]
    use crate::recording::{PyRecorder, PyRecording};
    #[pymodule_export]
    use crate::report::{Energy, Report};
    #[pymodule_export]
    use crate::robot::PyRobot;
    #[pymodule_export]
    use crate::rollout::rollout;
    #[pymodule_export]
    use crate::scene::{build, check_text, robot_name, robot_scene};
    #[pymodule_export]
    use crate::simulation::PySimulation;
    #[pymodule_export]
    use crate::viewer::{PyViewer, picture, pixels};

    #[pymodule_init]
    fn init(_module: &pyo3::Bound<'_, pyo3::types::PyModule>) -> pyo3::PyResult<()> {
        crate::threads::remember_home();
        Ok(())
    }
}
