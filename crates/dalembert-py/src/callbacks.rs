//! Functions of the user inside a step: forces, constraints and motion written in Python.
//!
//! A step runs without the interpreter's lock; a callback takes it for as long as it runs. What goes wrong inside (an
//! exception, a wrong shape, a number that is not finite) is kept in a [`Slot`] and shows up in the step as NaN, so that
//! the step fails and leaves the state as it was; the caller of the step then raises what the slot holds.

use std::sync::{Arc, Mutex, PoisonError};

use dalembert::forces::{Blocks, Force, Points};
use dalembert::joints::{Ask, Body, Constraint, End, Holder, MOST_HOLDERS, MOST_ROWS, Rows};
use dalembert::math::{Mat3, Vec3, triple};
use numpy::{AllowTypeChange, PyArray1, PyArray2, PyArrayLikeDyn, PyArrayMethods, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// The first thing that went wrong in a callback since it was last taken.
#[derive(Clone, Default)]
pub(crate) struct Slot(Arc<Mutex<Option<PyErr>>>);

impl Slot {
    fn put(&self, error: PyErr) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
    }

    pub(crate) fn take(&self) -> Option<PyErr> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn is_full(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    /// What was kept, as an error; otherwise `value`.
    pub(crate) fn check<T>(&self, value: T) -> PyResult<T> {
        self.take().map_or(Ok(value), Err)
    }
}

/// A function of the user and the name under which the scene knows it.
pub(crate) struct Callback {
    pub(crate) what: &'static str,
    pub(crate) name: String,
    pub(crate) function: Py<PyAny>,
    pub(crate) slot: Slot,
}

impl Callback {
    /// Calls with arguments made under the lock; the result must have `shape` and be finite. None if it went wrong.
    fn numbers(
        &self,
        shape: &[usize],
        call: impl FnOnce(Python<'_>, &Bound<'_, PyAny>) -> PyResult<Py<PyAny>>,
    ) -> Option<Vec<f64>> {
        if self.slot.is_full() {
            return None;
        }
        Python::attach(|py| {
            let result = call(py, self.function.bind(py));
            match result.and_then(|value| self.read(value.bind(py), shape)) {
                Ok(numbers) => Some(numbers),
                Err(error) => {
                    self.slot.put(error);
                    None
                }
            }
        })
    }

    /// The numbers of what a function returned.
    fn read(&self, value: &Bound<'_, PyAny>, shape: &[usize]) -> PyResult<Vec<f64>> {
        let Callback { what, name, .. } = self;
        let wrong = |found: String| {
            PyValueError::new_err(format!(
                "the {what} `{name}` must return numbers of shape {shape:?}, but returned {found}"
            ))
        };
        let array: PyArrayLikeDyn<'_, f64, AllowTypeChange> =
            value.extract().map_err(|_| wrong(value.get_type().to_string()))?;
        let found = array.shape();
        if found != shape && !(shape.iter().product::<usize>() == 1 && array.len() == 1) {
            return Err(wrong(format!("shape {found:?}")));
        }
        let numbers: Vec<f64> = array.as_array().iter().copied().collect();
        if let Some(i) = numbers.iter().position(|x| !x.is_finite()) {
            let x = numbers[i];
            return Err(PyValueError::new_err(format!(
                "the {what} `{name}` returned {x} (number {i} of {})",
                numbers.len()
            )));
        }
        Ok(numbers)
    }
}

/// An array of shape (n, 3).
fn rows3<'py>(py: Python<'py>, flat: Vec<f64>) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let n = flat.len() / 3;
    PyArray1::from_vec(py, flat).reshape([n, 3])
}

/// A force on named points: f(t, x, v, m).
pub(crate) struct PythonForce {
    pub(crate) callback: Callback,
    pub(crate) energy: Option<Callback>,
    pub(crate) points: Vec<usize>,
    /// The force on a point depends on other points too.
    pub(crate) coupled: bool,
}

impl PythonForce {
    fn pick(&self, flat: &[f64]) -> Vec<f64> {
        self.points.iter().flat_map(|&i| [flat[3 * i], flat[3 * i + 1], flat[3 * i + 2]]).collect()
    }

    fn call(&self, p: &Points, x: Vec<f64>, v: Vec<f64>) -> Option<Vec<f64>> {
        let mass: Vec<f64> = self.points.iter().map(|&i| p.mass[i]).collect();
        self.callback.numbers(&[self.points.len(), 3], |py, f| {
            f.call1((p.time, rows3(py, x)?, rows3(py, v)?, PyArray1::from_vec(py, mass))).map(Bound::unbind)
        })
    }

    /// The blocks −∂f_i/∂y_i by central differences, y = x or v: one evaluation moves the same component of all points.
    fn slopes(&self, p: &Points, along_velocity: bool) -> Vec<Mat3> {
        let mut blocks = vec![Mat3::zeros(); self.points.len()];
        if self.coupled {
            return blocks;
        }
        let (x, v) = (self.pick(p.x), self.pick(p.v));
        let y = if along_velocity { &v } else { &x };
        for d in 0..3 {
            let moved = |sign: f64| {
                let mut y = y.clone();
                for k in y.iter_mut().skip(d).step_by(3) {
                    *k += sign * f64::EPSILON.cbrt() * (1.0 + k.abs());
                }
                y
            };
            let (high, low) = (moved(1.0), moved(-1.0));
            let at = |y: &Vec<f64>| match along_velocity {
                true => self.call(p, x.clone(), y.clone()),
                false => self.call(p, y.clone(), v.clone()),
            };
            let (Some(f1), Some(f0)) = (at(&high), at(&low)) else { return blocks };
            for (i, block) in blocks.iter_mut().enumerate() {
                let column = (triple(&f0, i) - triple(&f1, i)) / (high[3 * i + d] - low[3 * i + d]);
                block.set_column(d, &column);
            }
        }
        blocks
    }

    fn add_times(&self, p: &Points, y: &[f64], df: &mut [f64], along_velocity: bool) {
        for (block, &i) in self.slopes(p, along_velocity).iter().zip(&self.points) {
            dalembert::math::add_triple(df, i, &(block * triple(y, i)));
        }
    }

    fn add_blocks(&self, p: &Points, out: &mut Blocks, along_velocity: bool) {
        for (block, &i) in self.slopes(p, along_velocity).iter().zip(&self.points) {
            out.add(i, i, *block);
        }
    }
}

impl Force for PythonForce {
    fn kind(&self) -> &'static str {
        "python"
    }

    fn energy(&self, p: &Points) -> f64 {
        let Some(energy) = &self.energy else { return 0.0 };
        let x = self.pick(p.x);
        energy
            .numbers(&[], |py, f| f.call1((p.time, rows3(py, x)?)).map(Bound::unbind))
            .map_or(f64::NAN, |numbers| numbers[0])
    }

    fn add_force(&self, p: &Points, f: &mut [f64]) {
        let forces = self.call(p, self.pick(p.x), self.pick(p.v));
        for (k, &i) in self.points.iter().enumerate() {
            let force = forces.as_ref().map_or(Vec3::repeat(f64::NAN), |f| triple(f, k));
            dalembert::math::add_triple(f, i, &force);
        }
    }

    fn add_stiffness_times(&self, p: &Points, dx: &[f64], df: &mut [f64]) {
        self.add_times(p, dx, df, false);
    }

    fn add_stiffness_blocks(&self, p: &Points, out: &mut Blocks) {
        self.add_blocks(p, out, false);
    }

    fn add_damping_times(&self, p: &Points, dv: &[f64], df: &mut [f64]) {
        self.add_times(p, dv, df, true);
    }

    fn add_damping_blocks(&self, p: &Points, out: &mut Blocks) {
        self.add_blocks(p, out, true);
    }

    fn is_conservative(&self) -> bool {
        self.energy.is_some()
    }
}

/// Equations C(t, x) = 0 on one to four points, with slopes from the user or by central differences.
///
/// With $v$ the velocities of the points, $\dot C = C_x v + C_t$ and the part of $\ddot C$ without accelerations is the
/// second derivative of $s \mapsto C(t + s, x + s v)$ at 0, plus $C_x$ times the centripetal accelerations.
pub(crate) struct PythonConstraint {
    pub(crate) callback: Callback,
    pub(crate) jacobian: Option<Callback>,
    pub(crate) rows: usize,
    pub(crate) anchors: Vec<Vec3>,
    pub(crate) holders: Vec<Holder>,
}

impl PythonConstraint {
    pub(crate) fn new(callback: Callback, jacobian: Option<Callback>, rows: usize, ends: &[End]) -> Self {
        let anchors = ends.iter().map(|e| e.anchor).collect();
        Self { callback, jacobian, rows, anchors, holders: ends.iter().map(|e| e.holder).collect() }
    }

    fn violation(&self, t: f64, x: &[Vec3]) -> [f64; MOST_ROWS] {
        let flat: Vec<f64> = x.iter().flat_map(|x| [x.x, x.y, x.z]).collect();
        let found =
            self.callback.numbers(&[self.rows], |py, f| f.call1((t, rows3(py, flat)?)).map(Bound::unbind));
        let mut out = [f64::NAN; MOST_ROWS];
        if let Some(found) = found {
            out[..self.rows].copy_from_slice(&found);
        }
        out
    }

    /// ∂C/∂x: for each row and point a vector.
    fn slopes(&self, t: f64, x: &[Vec3]) -> Vec<Vec3> {
        let (m, n) = (self.rows, x.len());
        let mut out = vec![Vec3::repeat(f64::NAN); m * n];
        if let Some(jacobian) = &self.jacobian {
            let flat: Vec<f64> = x.iter().flat_map(|x| [x.x, x.y, x.z]).collect();
            let found =
                jacobian.numbers(&[m, n, 3], |py, f| f.call1((t, rows3(py, flat)?)).map(Bound::unbind));
            for (k, slope) in out.iter_mut().enumerate() {
                *slope = found.as_ref().map_or(*slope, |f| triple(f, k));
            }
            return out;
        }
        for i in 0..n {
            for d in 0..3 {
                let e = f64::EPSILON.cbrt() * (1.0 + x[i][d].abs());
                let (mut high, mut low) = (x.to_vec(), x.to_vec());
                high[i][d] += e;
                low[i][d] -= e;
                let (c1, c0) = (self.violation(t, &high), self.violation(t, &low));
                for row in 0..m {
                    out[row * n + i][d] = (c1[row] - c0[row]) / (high[i][d] - low[i][d]);
                }
            }
        }
        out
    }
}

impl Constraint for PythonConstraint {
    fn kind(&self) -> &'static str {
        "python"
    }

    fn rows(&self) -> usize {
        self.rows
    }

    fn holders(&self) -> &[Holder] {
        &self.holders
    }

    fn evaluate(&self, t: f64, bodies: &[Body], _turns: &[f64], out: &mut Rows) {
        let (n, m) = (self.holders.len(), self.rows);
        let mut x = [Vec3::zeros(); MOST_HOLDERS];
        let (mut v, mut arm, mut pull) = (x, x, x);
        for i in 0..n {
            let b = &bodies[i];
            arm[i] = b.R * self.anchors[i];
            x[i] = b.x + arm[i];
            v[i] = b.v + b.w.cross(&arm[i]);
            pull[i] = b.w.cross(&b.w.cross(&arm[i]));
        }
        let x = &x[..n];
        let now = self.violation(t, x);
        out.violation[..m].copy_from_slice(&now[..m]);
        if out.ask == Ask::Violation {
            return;
        }
        let e = f64::EPSILON.cbrt();
        let (later, earlier) = (self.violation(t + e, x), self.violation(t - e, x));
        let slopes = self.slopes(t, x);
        for row in 0..m {
            out.drift[row] = (later[row] - earlier[row]) / (2.0 * e);
            for i in 0..n {
                out.add(row, i, &slopes[row * n + i], &arm[i].cross(&slopes[row * n + i]));
            }
        }
        if out.ask != Ask::Bias {
            return;
        }
        // The fourth root of the rounding error balances it against the curvature of a second difference.
        let speed = v[..n].iter().map(|v| v.norm()).fold(1.0, f64::max);
        let s = f64::EPSILON.powf(0.25) / speed;
        let moved = |s: f64| -> Vec<Vec3> { x.iter().zip(&v).map(|(x, v)| x + s * v).collect() };
        let ahead = self.violation(t + s, &moved(s));
        let behind = self.violation(t - s, &moved(-s));
        for row in 0..m {
            let turning: f64 = (0..n).map(|i| slopes[row * n + i].dot(&pull[i])).sum();
            out.bias[row] = (ahead[row] - 2.0 * now[row] + behind[row]) / (s * s) + turning;
        }
    }

    fn pivots_on_one(&self) -> bool {
        self.holders.len() == 1
    }
}

/// Prescribed motion: a displacement from t, or displacement and velocity as two rows; without velocities they come by
/// central differences.
pub(crate) fn motion(callback: &Callback, t: f64) -> (Vec3, Vec3) {
    let place = |t: f64| {
        callback
            .numbers(&[3], |_, f| f.call1((t,)).map(Bound::unbind))
            .map_or(Vec3::repeat(f64::NAN), |f| triple(&f, 0))
    };
    let e = f64::EPSILON.cbrt() * (1.0 + t.abs());
    (place(t), (place(t + e) - place(t - e)) / (2.0 * e))
}
