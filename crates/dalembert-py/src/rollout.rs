//! Many states under one model, on all threads, without the interpreter's lock.

use dalembert::model::{Model, State};
use dalembert::step::Workspace;
use numpy::{PyArray1, PyArray3, PyArrayMethods, PyReadonlyArray2, PyReadonlyArray3, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use rayon::prelude::*;

use crate::model::PyModel;

/// Most numbers of a result: 16 GiB.
const MOST_NUMBERS: usize = 1 << 31;

/// Row, step and message of a rollout that failed.
type Failure = (usize, u64, String);

/// What all rollouts of a batch share.
struct Batch<'a> {
    model: &'a PyModel,
    /// (rows, steps, actuators), or none.
    controls: Option<numpy::ndarray::ArrayView3<'a, f64>>,
    steps: usize,
    every: usize,
}

impl Batch<'_> {
    /// Runs row `i` from `state`; `out` takes a packed state after every `every` steps.
    fn run(&self, i: usize, mut state: State, work: &mut Workspace, out: &mut [f64]) -> Option<Failure> {
        let PyModel { model, method, dt, .. } = self.model;
        let mut packed = Vec::new();
        let mut failure = None;
        for step in 0..self.steps {
            if failure.is_none() {
                if let Some(controls) = &self.controls {
                    let row = controls.index_axis(numpy::ndarray::Axis(0), i);
                    set_controls(model, &mut state, row.row(step).iter().copied());
                }
                if let Err(error) = method.step(model, &mut state, *dt, work) {
                    failure = Some((i, step as u64, error.to_string()));
                }
            }
            if (step + 1).is_multiple_of(self.every) {
                let frame = (step + 1) / self.every - 1;
                state.pack(&model.layout, &mut packed);
                // Contacts behind the fixed part are left out: they only speed up the first step after a resume.
                let n = State::packed_len(&model.layout);
                out[frame * n..][..n].copy_from_slice(&packed[..n]);
            }
        }
        failure
    }
}

fn set_controls(model: &Model, state: &mut State, mut numbers: impl Iterator<Item = f64>) {
    for robot in &model.robots {
        for slot in robot.control_mut(state) {
            *slot = numbers.next().unwrap_or(*slot);
        }
    }
}

/// Steps every row of `states` (packed) `steps` times; returns the packed states, shape (rows, steps // every, packed),
/// and the rows that failed.
#[pyfunction]
#[pyo3(signature = (model, states, controls, steps, every, threads))]
pub(crate) fn rollout<'py>(
    py: Python<'py>,
    model: &PyModel,
    states: PyReadonlyArray2<'py, f64>,
    controls: Option<PyReadonlyArray3<'py, f64>>,
    steps: usize,
    every: usize,
    threads: Option<usize>,
) -> PyResult<(Bound<'py, PyArray3<f64>>, Vec<Failure>)> {
    let rows = states.shape()[0];
    let packed = State::packed_len(&model.model.layout);
    let actuators: usize = model.model.robots.iter().map(|r| r.machine.lengths()[3]).sum();
    if let Some(c) = &controls {
        if c.shape() != [rows, steps, actuators] {
            let message =
                format!("controls must have the shape ({rows}, {steps}, {actuators}), not {:?}", c.shape());
            return Err(PyValueError::new_err(message));
        }
        if let Some(x) = c.as_array().iter().find(|x| !x.is_finite()) {
            return Err(PyValueError::new_err(format!("controls hold {x}")));
        }
    }
    if every == 0 {
        return Err(PyValueError::new_err("every must be at least 1"));
    }
    let frames = steps / every;
    let numbers = rows.checked_mul(frames).and_then(|n| n.checked_mul(packed)).filter(|n| *n <= MOST_NUMBERS);
    let Some(numbers) = numbers else {
        let message = format!(
            "{rows} rollouts of {frames} frames of {packed} numbers do not fit; a larger `every` would help"
        );
        return Err(PyValueError::new_err(message));
    };
    let starts: Vec<State> = states
        .as_array()
        .rows()
        .into_iter()
        .map(|row| model.unpack(&row.to_vec()))
        .collect::<PyResult<_>>()?;
    let batch = Batch { model, controls: controls.as_ref().map(|c| c.as_array()), steps, every };
    let mut out = vec![0.0; numbers];
    let width = (frames * packed).max(1);
    let run = || -> Vec<Failure> {
        let pieces: Vec<(usize, (State, &mut [f64]))> = match out.is_empty() {
            true => starts.into_iter().map(|s| (s, &mut [][..])).enumerate().collect(),
            false => starts.into_iter().zip(out.chunks_mut(width)).enumerate().collect(),
        };
        let one = |work: &mut Workspace, (i, (state, out)): (usize, (State, &mut [f64]))| {
            batch.run(i, state, work, out)
        };
        pieces.into_par_iter().map_init(Workspace::new, one).flatten().collect()
    };
    let failures = py.detach(|| match threads {
        None => Ok(run()),
        Some(n) => match rayon::ThreadPoolBuilder::new().num_threads(n).build() {
            Ok(pool) => Ok(pool.install(run)),
            Err(error) => Err(PyValueError::new_err(format!("cannot start {n} threads: {error}"))),
        },
    })?;
    model.slot.check(())?;
    Ok((PyArray1::from_vec(py, out).reshape([rows, frames, packed])?, failures))
}
