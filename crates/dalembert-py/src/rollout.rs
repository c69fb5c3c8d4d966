//! Many states under one model, on all threads, without the interpreter's lock.

use std::sync::Mutex;

use dalembert::model::Model;
use dalembert::state::State;
use dalembert::step::Workspace;
use numpy::{
    PyArray1, PyArray2, PyArray3, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2, PyReadonlyArray3,
    PyUntypedArrayMethods,
};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::model::PyModel;

/// Most numbers of a result: 16 GiB.
const MOST_NUMBERS: usize = 1 << 31;

/// Row, step and message of a rollout that failed.
type Failure = (usize, u64, String);
/// Packed states (rows, frames, packed); what lies behind their fixed parts, one after the other; how long each of those is
/// (rows, frames); the rows that failed, and whether each of them diverged.
type Rolled<'py> = (
    Bound<'py, PyArray3<f64>>,
    Bound<'py, PyArray1<f64>>,
    Bound<'py, PyArray2<u64>>,
    Vec<Failure>,
    Vec<bool>,
);

/// What all rollouts of a batch share.
struct Batch<'a> {
    model: &'a PyModel,
    /// (rows, steps, actuators), or none.
    controls: Option<numpy::ndarray::ArrayView3<'a, f64>>,
    steps: usize,
    every: usize,
}

/// One row of a batch.
struct Row<'a> {
    /// Its state at the start, packed.
    start: Vec<f64>,
    /// Its frames.
    out: &'a mut [f64],
    /// Lengths of the contact parts of its frames, and the parts themselves.
    lengths: Vec<u64>,
    tails: Vec<f64>,
    failure: Option<Failure>,
    /// Whether that was a divergence.
    diverged: bool,
    wrong: Option<PyErr>,
}

impl Batch<'_> {
    /// Runs row `i`; its frames take a packed state after every `every` steps.
    fn run(&self, i: usize, row: &mut Row<'_>, work: &mut Workspace, packed: &mut Vec<f64>) {
        let PyModel { model, method, dt, .. } = self.model;
        let mut state = match self.model.unpack(&row.start) {
            Ok(state) => state,
            Err(error) => {
                row.wrong = Some(error);
                return;
            }
        };
        let n = State::packed_len(&model.layout);
        for step in 0..self.steps {
            if row.failure.is_none() {
                if let Some(controls) = &self.controls {
                    let of_row = controls.index_axis(numpy::ndarray::Axis(0), i);
                    set_controls(model, &mut state, of_row.row(step).iter().copied());
                }
                if let Err(error) = method.step(model, &mut state, *dt, work) {
                    row.failure = Some((i, step as u64, error.to_string()));
                    row.diverged = error.is_divergence();
                }
            }
            if (step + 1).is_multiple_of(self.every) {
                let frame = (step + 1) / self.every - 1;
                state.pack(&model.layout, packed);
                row.out[frame * n..][..n].copy_from_slice(&packed[..n]);
                row.lengths.push((packed.len() - n) as u64);
                row.tails.extend_from_slice(&packed[n..]);
            }
        }
    }

    /// Runs all rows: every thread takes the next one, with buffers of its own.
    fn run_all(&self, rows: &mut [Row<'_>], threads: usize) {
        let next = Mutex::new(rows.iter_mut().enumerate());
        let take = || next.lock().unwrap_or_else(std::sync::PoisonError::into_inner).next();
        let worker = || {
            let (mut work, mut packed) = (Workspace::new(), Vec::new());
            while let Some((i, row)) = take() {
                self.run(i, row, &mut work, &mut packed);
            }
        };
        rayon::scope(|scope| (0..threads).for_each(|_| scope.spawn(|_| worker())));
    }
}

fn set_controls(model: &Model, state: &mut State, mut numbers: impl Iterator<Item = f64>) {
    for robot in &model.robots {
        for slot in robot.control_mut(state) {
            *slot = numbers.next().unwrap_or(*slot);
        }
    }
}

/// Steps every row of `states` (packed; what lies behind the fixed part of row i is `lengths[i]` numbers of `tails`) `steps`
/// times.
#[pyfunction]
#[pyo3(signature = (model, states, tails, lengths, controls, steps, every, threads))]
pub(crate) fn rollout<'py>(
    py: Python<'py>,
    model: &PyModel,
    states: PyReadonlyArray2<'py, f64>,
    tails: PyReadonlyArray1<'py, f64>,
    lengths: Vec<usize>,
    controls: Option<PyReadonlyArray3<'py, f64>>,
    steps: usize,
    every: usize,
    threads: Option<usize>,
) -> PyResult<Rolled<'py>> {
    let rows = states.shape()[0];
    let packed = State::packed_len(&model.model.layout);
    let actuators = model.model.layout.actuators;
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
    let tails = tails.as_slice()?;
    let behind = lengths.iter().try_fold(0usize, |sum, n| sum.checked_add(*n));
    if lengths.len() != rows || behind != Some(tails.len()) {
        return Err(PyValueError::new_err("the parts of states behind their fixed ones do not fit"));
    }
    let frames = steps / every;
    let numbers = rows.checked_mul(frames).and_then(|n| n.checked_mul(packed)).filter(|n| *n <= MOST_NUMBERS);
    let Some(numbers) = numbers else {
        let message = format!(
            "{rows} rollouts of {frames} frames of {packed} numbers do not fit; a larger `every` would help"
        );
        return Err(PyValueError::new_err(message));
    };
    let mut out = vec![0.0; numbers];
    let mut pieces = out.chunks_mut((frames * packed).max(1));
    let mut at = 0;
    let mut list: Vec<Row<'_>> = Vec::with_capacity(rows);
    for (state, n) in states.as_array().rows().into_iter().zip(&lengths) {
        let mut start = state.to_vec();
        start.extend_from_slice(&tails[at..at + n]);
        at += n;
        let (lengths, tails) = (Vec::with_capacity(frames), Vec::new());
        list.push(Row {
            start,
            out: pieces.next().unwrap_or_default(),
            lengths,
            tails,
            failure: None,
            diverged: false,
            wrong: None,
        });
    }
    let batch = Batch { model, controls: controls.as_ref().map(|c| c.as_array()), steps, every };
    crate::threads::detach(py, || match threads {
        None => {
            batch.run_all(&mut list, rayon::current_num_threads());
            Ok(())
        }
        // More threads than rows would have nothing to do.
        Some(n) => match rayon::ThreadPoolBuilder::new().num_threads(n.clamp(1, rows.max(1))).build() {
            Ok(pool) => {
                let n = pool.current_num_threads();
                pool.install(|| batch.run_all(&mut list, n));
                Ok(())
            }
            Err(error) => Err(PyValueError::new_err(format!("cannot start {n} threads: {error}"))),
        },
    })??;
    model.slot.check(())?;
    let (mut lengths, mut tails) = (Vec::with_capacity(rows * frames), Vec::new());
    let (mut failures, mut diverged) = (Vec::new(), Vec::new());
    for row in list {
        if let Some(error) = row.wrong {
            return Err(error);
        }
        lengths.extend(row.lengths);
        tails.extend(row.tails);
        diverged.extend(row.failure.as_ref().map(|_| row.diverged));
        failures.extend(row.failure);
    }
    Ok((
        PyArray1::from_vec(py, out).reshape([rows, frames, packed])?,
        PyArray1::from_vec(py, tails),
        PyArray1::from_vec(py, lengths).reshape([rows, frames])?,
        failures,
        diverged,
    ))
}
