//! Articulations that Python drives: mass matrices and increments in, motion and contact forces out.

use dalembert::coupling::{Articulation, Driver};
use dalembert::model::Model;
use dalembert::state::Drive;
use numpy::{AllowTypeChange, PyArray1, PyArray2, PyArrayLike1, PyArrayLike2, PyArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::errors;
use crate::simulation::PySimulation;

/// name, number of freedoms, joints, links, whether a caller drives it.
type Row = (String, usize, Vec<String>, Vec<String>, bool);
/// Increments [rad or m], forces on the freedoms [N·m or N], force and torque on each link [N], [N·m].
type Done<'py> = (Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<f64>>, Bound<'py, PyArray2<f64>>);

fn list(model: &Model) -> &[Articulation] {
    model.ipc.as_ref().map_or(&[], |c| &c.articulations)
}

fn number(model: &Model, name: &str) -> PyResult<usize> {
    let found = list(model).iter().position(|a| a.name == name);
    found.ok_or_else(|| errors::unknown("articulation", name, list(model).iter().map(|a| a.name.as_str())))
}

/// The articulations of a simulation.
#[pyfunction]
pub(crate) fn articulations(simulation: &PySimulation) -> Vec<Row> {
    let row = |a: &Articulation| {
        let joints = a.joints.iter().map(|(name, _)| name.clone()).collect();
        let links = a.links.iter().map(|l| l.name.clone()).collect();
        (a.name.clone(), a.freedoms(), joints, links, a.driver == Driver::External)
    };
    list(&simulation.the_model().model).iter().map(row).collect()
}

/// Gives an articulation its mass matrix, its predicted increments and, if any, the places that they count from.
#[pyfunction]
#[pyo3(signature = (simulation, name, mass, delta, reference))]
pub(crate) fn set_drive(
    py: Python<'_>,
    simulation: &PySimulation,
    name: &str,
    mass: PyArrayLike2<'_, f64, AllowTypeChange>,
    delta: PyArrayLike1<'_, f64, AllowTypeChange>,
    reference: Option<PyArrayLike2<'_, f64, AllowTypeChange>>,
) -> PyResult<()> {
    let model = &simulation.the_model().model;
    let k = number(model, name)?;
    let articulation = &list(model)[k];
    if articulation.driver != Driver::External {
        return Err(PyValueError::new_err(format!(
            "the articulation `{name}` is driven by a robot of the scene"
        )));
    }
    let drive = Drive {
        mass: mass.as_array().iter().copied().collect(),
        delta: delta.as_array().iter().copied().collect(),
        reference: reference.map(|r| r.as_array().iter().copied().collect()).unwrap_or_default(),
    };
    drive.check(articulation).map_err(|e| PyValueError::new_err(e.to_string()))?;
    simulation.with_mut(py, |sim| {
        sim.state.drives.resize(list(model).len(), Drive::default());
        sim.state.drives[k] = drive;
    })
}

/// What the last step made of an articulation; None before the first.
#[pyfunction]
pub(crate) fn drive_report<'py>(
    py: Python<'py>,
    simulation: &PySimulation,
    name: &str,
) -> PyResult<Option<Done<'py>>> {
    number(&simulation.the_model().model, name)?;
    let report = simulation.with(py, |sim| sim.articulation(name).cloned())?;
    let Some(report) = report else { return Ok(None) };
    let wrenches: Vec<f64> =
        report.wrenches.iter().flat_map(|(f, t)| [f.x, f.y, f.z, t.x, t.y, t.z]).collect();
    let wrenches = PyArray1::from_vec(py, wrenches).reshape([report.wrenches.len(), 6])?;
    Ok(Some((PyArray1::from_vec(py, report.delta), PyArray1::from_vec(py, report.force), wrenches)))
}

/// Places of the links of an articulation now, shape (links, 12): origin [m], rows of A.
#[pyfunction]
pub(crate) fn link_dofs<'py>(
    py: Python<'py>,
    simulation: &PySimulation,
    name: &str,
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let model = &simulation.the_model().model;
    let links = &list(model)[number(model, name)?].links;
    let flat: Vec<f64> = simulation.with(py, |sim| {
        let points = &sim.state.q[model.layout.points_q()..];
        links.iter().flat_map(|link| link.dof(points)).collect()
    })?;
    PyArray1::from_vec(py, flat).reshape([links.len(), 12])
}
