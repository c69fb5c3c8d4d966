//! Looking at a simulation: the browser viewer with a loop that stays the user's, and pictures.

use std::sync::{Mutex, PoisonError};

use dalembert_viewer::drawing::{self, Drawing, Frame, Groups};
use dalembert_viewer::render::Image;
use dalembert_viewer::{RenderOptions, Renderer, Server, ServerOptions, Status, warnings_line};
use numpy::{PyArray1, PyArray3, PyArrayMethods};
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::simulation::PySimulation;
use crate::threads;

/// A server that shows a simulation in browsers on this machine; it ends with the object.
#[pyclass(frozen, name = "Viewer", module = "dalembert._native", subclass)]
pub(crate) struct PyViewer {
    server: Mutex<Option<Server>>,
    drawing: Drawing,
    frame: Mutex<Frame>,
}

#[pymethods]
impl PyViewer {
    #[new]
    fn new(py: Python<'_>, simulation: &PySimulation, port: u16) -> PyResult<Self> {
        let drawing = simulation.with(py, |sim| drawing::describe(&sim.model, &sim.state))?;
        let options = ServerOptions { port, ..ServerOptions::default() };
        let server = Server::start(&options, &drawing).map_err(|e| PyOSError::new_err(e.to_string()))?;
        server.notice(&warnings_line(&simulation.model.get().warnings).unwrap_or_default());
        Ok(Self { server: Mutex::new(Some(server)), drawing, frame: Mutex::default() })
    }

    /// The address to open; empty once closed.
    #[getter]
    fn url(&self) -> String {
        let server = self.server.lock().unwrap_or_else(PoisonError::into_inner);
        server.as_ref().map(Server::url).unwrap_or_default()
    }

    /// Whether it has not been closed.
    #[getter]
    fn running(&self) -> bool {
        self.server.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    /// Number of pages that look.
    #[getter]
    fn pages(&self) -> usize {
        let server = self.server.lock().unwrap_or_else(PoisonError::into_inner);
        server.as_ref().map_or(0, Server::pages)
    }

    /// Shows the state of now, if a page is ready for it; cheap otherwise.
    #[pyo3(signature = (simulation, force=false))]
    fn sync_with(&self, py: Python<'_>, simulation: &PySimulation, force: bool) -> PyResult<bool> {
        let guard = self.server.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(server) = guard.as_ref() else { return Ok(false) };
        if !(force || server.is_due()) {
            return Ok(false);
        }
        let mut frame = self.frame.lock().unwrap_or_else(PoisonError::into_inner);
        let wanted = server.wanted();
        simulation
            .with(py, |sim| drawing::frame(&sim.model, &self.drawing, &sim.state, wanted, &mut frame))?;
        threads::detach(py, || server.publish_now(&frame, &Status::default()))?;
        Ok(true)
    }

    /// Ends the server.
    fn close(&self, py: Python<'_>) {
        let server = self.server.lock().unwrap_or_else(PoisonError::into_inner).take();
        py.detach(|| drop(server));
    }
}

fn image(py: Python<'_>, simulation: &PySimulation, width: u32, height: u32) -> PyResult<Image> {
    if !(8..=8192).contains(&width) || !(8..=8192).contains(&height) {
        let message = format!("a picture has 8 to 8192 pixels each way, not {width} × {height}");
        return Err(PyValueError::new_err(message));
    }
    let (drawing, frame) = simulation.with(py, |sim| {
        let drawing = drawing::describe(&sim.model, &sim.state);
        let mut frame = Frame::default();
        drawing::frame(&sim.model, &drawing, &sim.state, Groups::NONE, &mut frame);
        (drawing, frame)
    })?;
    let options = RenderOptions { width, height, ..RenderOptions::default() };
    threads::detach(py, || {
        let frames = [frame];
        Renderer::new(&drawing, &frames, options).image(&drawing, &frames[0])
    })
}

/// A picture of a simulation as PNG.
#[pyfunction]
pub(crate) fn picture<'py>(
    py: Python<'py>,
    simulation: &PySimulation,
    width: u32,
    height: u32,
) -> PyResult<Bound<'py, PyBytes>> {
    let image = image(py, simulation, width, height)?;
    Ok(PyBytes::new(py, &threads::detach(py, || image.to_png())?))
}

/// A picture of a simulation as numbers, shape (height, width, 3).
#[pyfunction]
pub(crate) fn pixels<'py>(
    py: Python<'py>,
    simulation: &PySimulation,
    width: u32,
    height: u32,
) -> PyResult<Bound<'py, PyArray3<u8>>> {
    let image = image(py, simulation, width, height)?;
    PyArray1::from_vec(py, image.pixels).reshape([height as usize, width as usize, 3])
}
