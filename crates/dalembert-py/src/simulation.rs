//! A simulation as Python sees it: live arrays, steps without the interpreter's lock.
//!
//! **Arrays.** All numbers that a user may look at or change live in one NumPy array, the buffer:
//!
//! ```text
//! buffer = [ q | v | applied | robots | multipliers ]
//! ```
//!
//! Python slices it once; the slices stay valid for the life of the simulation. A step first takes over what was written
//! into the buffer, then runs on the engine's own vectors with the lock released, then writes the buffer anew. So no
//! memory is shared with a running step: another thread that reads during a step sees the numbers of before, and the copy
//! costs two passes over the numbers. A state whose numbers were changed by hand is settled (carried points follow, unit
//! quaternions are normed) and forgets the step before.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, TryLockError};
use std::time::{Duration, Instant};

use dalembert::math::Vec3;
use dalembert::model::Model;
use dalembert::state::{Layout, PointId, State};
use dalembert::step::{Method, Simulation, StepReport, Workspace};
use numpy::{PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use pyo3::{PyTraverseError, PyVisit};

use crate::errors::{self, BusyError};
use crate::model::PyModel;
use crate::report::{Energy, Report};
use crate::threads;

/// Name, way, place and normal of what a ray hits.
type Struck<'py> = (String, f64, Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<f64>>);

/// Refuses questions about colliders where there are none.
fn touches(sim: &Simulation) -> PyResult<()> {
    let message = "nothing collides here: the methods `impulse` and `lagrange` have colliders once the scene has a ground, a rule of contact, or a body that no joint holds beside others";
    sim.model.rigid_contact.as_ref().map(|_| ()).ok_or_else(|| PyValueError::new_err(message))
}

/// Names of both bodies of each contact, and its numbers.
type Touching<'py> = (Vec<(String, String)>, Bound<'py, PyArray2<f64>>);

/// Linear and angular part, shape (3,) each.
type Pair<'py> = (Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<f64>>);

/// Ctrl-C is looked for this often while steps run.
const PATIENCE: Duration = Duration::from_millis(50);

/// Offsets of the five parts of the buffer, and its end.
pub(crate) fn parts(l: &Layout) -> [usize; 6] {
    let q = l.len_q();
    let v = q + l.len_v();
    let applied = v + l.len_v();
    let robots = applied + l.robot_lists();
    [0, q, v, applied, robots, robots + 6 * l.constraints]
}

/// A model, its state and a method, stepped together.
#[pyclass(subclass, frozen, weakref, name = "Simulation", module = "dalembert._native")]
pub(crate) struct PySimulation {
    pub(crate) model: Py<PyModel>,
    inner: Mutex<Simulation>,
    buffer: Py<PyArray1<f64>>,
    /// Bits of the time, which any thread may read during a step.
    time: AtomicU64,
    steps: AtomicU64,
    controllers: Mutex<Vec<Py<PyAny>>>,
}

impl PySimulation {
    /// The simulation, if nobody is stepping it.
    fn lock(&self) -> PyResult<MutexGuard<'_, Simulation>> {
        match self.inner.try_lock() {
            Ok(guard) => Ok(guard),
            // A panic inside a step is a bug of ours; the state is then whatever it is.
            Err(TryLockError::Poisoned(poisoned)) => Ok(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => Err(BusyError::new_err(
                "this simulation is being stepped already, by another thread or from within a callback; \
                 give each thread a simulation of its own (`Simulation(model)`)",
            )),
        }
    }

    /// The simulation with what was written into the buffer.
    fn current(&self, py: Python<'_>) -> PyResult<MutexGuard<'_, Simulation>> {
        let mut sim = self.lock()?;
        let buffer = self.buffer.bind(py).try_readonly();
        let buffer = buffer.map_err(|_| BusyError::new_err("the arrays of this simulation are in use"))?;
        take_in(&mut sim, buffer.as_slice()?)?;
        Ok(sim)
    }

    /// Writes the buffer anew.
    fn give_out(&self, py: Python<'_>, sim: &Simulation) -> PyResult<()> {
        let state = &sim.state;
        self.time.store(state.time.to_bits(), Ordering::Relaxed);
        self.steps.store(state.steps, Ordering::Relaxed);
        let buffer = self.buffer.bind(py).try_readwrite();
        let mut buffer = buffer.map_err(|_| {
            BusyError::new_err("the arrays of this simulation were made read-only or are in use")
        })?;
        let out = buffer.as_slice_mut()?;
        let [_, v, _, robots, multipliers, end] = parts(&sim.model.layout);
        out[..v].copy_from_slice(&state.q);
        out[v..v + state.v.len()].copy_from_slice(&state.v);
        let mut at = robots;
        for list in state.robot_lists() {
            out[at..at + list.len()].copy_from_slice(list);
            at += list.len();
        }
        out[multipliers..end].copy_from_slice(&state.lambda);
        Ok(())
    }

    /// Takes `count` steps; without controllers the lock is given back only to look for signals.
    fn advance(slf: &Bound<'_, Self>, count: u64) -> PyResult<Report> {
        let (py, this) = (slf.py(), slf.get());
        let controllers: Vec<Py<PyAny>> = {
            let list = this.controllers.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            list.iter().map(|c| c.clone_ref(py)).collect()
        };
        let model = this.model.get();
        let mut left = count;
        loop {
            for controller in &controllers {
                controller.call1(py, (slf,))?;
            }
            let mut sim = this.current(py)?;
            let at_most = if controllers.is_empty() { left } else { left.min(1) };
            let backup = model.has_callbacks.then(|| sim.state.clone());
            let (done, result) = match at_most {
                // The clock is not asked for a single step.
                1 => {
                    let sim = &mut *sim;
                    (1, threads::detach(py, || sim.step().map(drop))?)
                }
                _ => {
                    let sim = &mut *sim;
                    threads::detach(py, || steps(sim, if model.has_callbacks { 1 } else { at_most }))?
                }
            };
            let wrong = model.slot.take();
            if let (Some(backup), true) = (backup, wrong.is_some() || result.is_err()) {
                sim.state = backup;
            }
            this.give_out(py, &sim)?;
            if let Some(error) = wrong {
                return Err(error);
            }
            result.map_err(errors::step)?;
            left = left.saturating_sub(done.max(1));
            if left == 0 {
                return Ok(Report::from(&sim.report));
            }
            drop(sim);
            py.check_signals()?;
        }
    }
}

/// Steps until `count` are done, one fails, or it is time to look for signals.
fn steps(sim: &mut Simulation, count: u64) -> (u64, Result<(), dalembert::step::StepError>) {
    let start = Instant::now();
    for done in 0..count {
        if let Err(error) = sim.step() {
            return (done, Err(error));
        }
        if start.elapsed() > PATIENCE {
            return (done + 1, Ok(()));
        }
    }
    (count, Ok(()))
}

/// The engine's state becomes what the buffer says.
fn take_in(sim: &mut Simulation, buffer: &[f64]) -> PyResult<()> {
    let model = sim.model.clone();
    let [_, v, applied, robots, multipliers, _] = parts(&model.layout);
    let (new_q, new_v) = (&buffer[..v], &buffer[v..applied]);
    let (pushes, robots) = (&buffer[applied..robots], &buffer[robots..multipliers]);
    let state = &mut sim.state;
    if pushes.iter().all(|f| *f == 0.0) {
        state.applied.clear();
    } else {
        check_finite(&model, "applied", pushes)?;
        state.applied.clear();
        state.applied.extend_from_slice(pushes);
    }
    if let Some(x) = robots.iter().find(|x| !x.is_finite()) {
        return Err(PyValueError::new_err(format!(
            "an activation, control or force of a robot was set to {x}"
        )));
    }
    let mut lists = robots;
    for list in state.robot_lists_mut() {
        let (own, later) = lists.split_at(list.len());
        list.copy_from_slice(own);
        lists = later;
    }
    if new_q != state.q.as_slice() || new_v != state.v.as_slice() {
        check_finite(&model, "q", new_q)?;
        check_finite(&model, "v", new_v)?;
        state.q.copy_from_slice(new_q);
        state.v.copy_from_slice(new_v);
        norm_quaternions(&model, &mut state.q)?;
        state.before.clear();
        model.settle(state);
    }
    Ok(())
}

fn check_finite(model: &Model, what: &str, numbers: &[f64]) -> PyResult<()> {
    let Some(i) = numbers.iter().position(|x| !x.is_finite()) else { return Ok(()) };
    let range = |b: &dalembert::state::Block| if what == "q" { b.q.clone() } else { b.v.clone() };
    let block = model.blocks.iter().find(|b| range(b).contains(&i));
    let owner = block.map_or(String::new(), |b| format!(", number {} of `{}`", i - range(b).start, b.name));
    Err(PyValueError::new_err(format!("{what}[{i}]{owner} was set to {}", numbers[i])))
}

fn norm_quaternions(model: &Model, q: &mut [f64]) -> PyResult<()> {
    for k in 0..model.layout.rigid {
        let quat = &mut q[7 * k + 3..7 * k + 7];
        let norm = quat.iter().map(|x| x * x).sum::<f64>().sqrt();
        if !(norm > 1e-6) {
            let name = model.blocks.iter().find(|b| b.q.contains(&(7 * k))).map_or("?", |b| b.name.as_str());
            return Err(PyValueError::new_err(format!("the quaternion of `{name}` was set to zero")));
        }
        if (norm - 1.0).abs() > 1e-12 {
            quat.iter_mut().for_each(|x| *x /= norm);
        }
    }
    Ok(())
}

#[pymethods]
impl PySimulation {
    #[new]
    fn new(py: Python<'_>, model: Py<PyModel>) -> PyResult<Self> {
        let m = model.get();
        let mut sim = Simulation {
            model: m.model.clone(),
            state: m.start.clone(),
            workspace: Workspace::new(),
            method: m.method.clone(),
            dt: m.dt,
            report: StepReport::default(),
            start_energy: Default::default(),
            largest_kinetic: 0.0,
        };
        threads::detach(py, || sim.restart_energy())?;
        m.slot.check(())?;
        let length = parts(&m.model.layout)[5];
        let buffer = PyArray1::zeros(py, length, false).unbind();
        let new = Self {
            inner: Mutex::new(sim),
            buffer,
            time: AtomicU64::new(0),
            steps: AtomicU64::new(0),
            controllers: Mutex::new(Vec::new()),
            model,
        };
        new.give_out(py, &*new.lock()?)?;
        Ok(new)
    }

    /// The model.
    #[getter]
    fn model(&self, py: Python<'_>) -> Py<PyModel> {
        self.model.clone_ref(py)
    }

    /// All live numbers: [q | v | applied | robots | multipliers]; `parts` has the offsets.
    #[getter]
    fn buffer(&self, py: Python<'_>) -> Py<PyArray1<f64>> {
        self.buffer.clone_ref(py)
    }

    /// Offsets of q, v, applied, robots, multipliers in `buffer`, and its end.
    #[getter]
    fn parts(&self) -> [usize; 6] {
        parts(&self.model.get().model.layout)
    }

    /// Time now [s].
    #[getter]
    fn time(&self) -> f64 {
        f64::from_bits(self.time.load(Ordering::Relaxed))
    }

    /// Steps taken.
    #[getter]
    fn steps(&self) -> u64 {
        self.steps.load(Ordering::Relaxed)
    }

    /// Step size [s].
    #[getter]
    fn dt(&self) -> PyResult<f64> {
        Ok(self.lock()?.dt)
    }

    #[setter]
    fn set_dt(&self, dt: f64) -> PyResult<()> {
        if !(dt.is_finite() && dt > 0.0) {
            return Err(errors::step(dalembert::step::StepError::BadStepSize(dt)));
        }
        self.lock()?.dt = dt;
        Ok(())
    }

    /// Advances by `count` steps of `dt` seconds and returns the report of the last. The interpreter's lock is released.
    #[pyo3(signature = (count=1))]
    fn step(slf: &Bound<'_, Self>, count: u64) -> PyResult<Report> {
        Self::advance(slf, count.max(1))
    }

    /// Takes as many steps as fit into `duration` seconds (rounded to the nearest whole number).
    fn run(slf: &Bound<'_, Self>, duration: f64) -> PyResult<()> {
        let steps = (duration / slf.get().dt()?).round();
        if !(0.0..=1e12).contains(&steps) {
            let message = format!("{duration} s is not a duration that can be run");
            return Err(PyValueError::new_err(message));
        }
        if steps > 0.0 {
            Self::advance(slf, steps as u64)?;
        }
        Ok(())
    }

    /// Report of the last step.
    #[getter]
    fn report(&self) -> PyResult<Report> {
        Ok(Report::from(&self.lock()?.report))
    }

    /// Kinetic, potential and total energy now [J].
    #[getter]
    fn energy(&self, py: Python<'_>) -> PyResult<Energy> {
        let sim = self.current(py)?;
        let energy = threads::detach(py, || sim.energy())?;
        self.model.get().slot.check(Energy { kinetic: energy.kinetic, potential: energy.potential })
    }

    /// Energy stored in each named batch of forces [J].
    #[getter]
    fn energy_terms<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let sim = self.current(py)?;
        let terms = threads::detach(py, || sim.model.energy_terms(&sim.state))?;
        let dict = PyDict::new(py);
        for (name, energy) in terms {
            dict.set_item(name, energy)?;
        }
        self.model.get().slot.check(dict)
    }

    /// Change of the total energy since the start, relative to the largest energy exchanged so far.
    #[getter]
    fn energy_drift(&self, py: Python<'_>) -> PyResult<f64> {
        let sim = self.current(py)?;
        let drift = threads::detach(py, || sim.energy_drift())?;
        self.model.get().slot.check(drift)
    }

    /// Linear momentum [kg·m/s] and angular momentum about the origin [kg·m²/s], shape (3,) each.
    #[getter]
    fn momentum<'py>(&self, py: Python<'py>) -> PyResult<Pair<'py>> {
        let sim = self.current(py)?;
        let (linear, angular) = threads::detach(py, || sim.model.momentum(&sim.state))?;
        Ok((PyArray1::from_slice(py, linear.as_slice()), PyArray1::from_slice(py, angular.as_slice())))
    }

    /// A number such as "ball.z", "cloth.lowest", "arm.joint2" or "energy.total", in SI units.
    fn quantity(&self, py: Python<'_>, text: &str) -> PyResult<f64> {
        let quantity = self.model.get().quantity(text)?;
        let sim = self.current(py)?;
        let value = threads::detach(py, || quantity.value(&sim.model, &sim.state))?;
        self.model.get().slot.check(value)
    }

    /// Contacts now: names of both bodies, and an array of shape (contacts, 10): place [m], unit normal from the second
    /// body towards the first, force on the first [N], gap [m].
    fn contact_table<'py>(&self, py: Python<'py>) -> PyResult<Touching<'py>> {
        let sim = self.current(py)?;
        let list = threads::detach(py, || sim.contacts())?.map_err(errors::step)?;
        self.model.get().slot.check(())?;
        let model = &sim.model;
        let name = |k: u32| {
            let k = k as usize;
            if let (Method::Ipc(_), Some(c)) = (&sim.method, &model.ipc) {
                return c
                    .geometry
                    .names
                    .iter()
                    .chain(&c.geometry.plane_names)
                    .nth(k)
                    .cloned()
                    .unwrap_or_default();
            }
            model.rigid_contact.as_ref().and_then(|t| t.names.get(k).cloned()).unwrap_or_default()
        };
        let names = list.iter().map(|c| (name(c.a), name(c.b))).collect();
        let mut flat = Vec::with_capacity(10 * list.len());
        for c in &list {
            [c.point, c.normal, c.force].iter().for_each(|v| flat.extend_from_slice(v.as_slice()));
            flat.push(c.gap);
        }
        Ok((names, PyArray1::from_vec(py, flat).reshape([list.len(), 10])?))
    }

    /// The first thing on a ray: its name, how far in lengths of the direction, place [m] and outward unit normal; None if
    /// there is nothing. `only` and `not_these` choose by names.
    #[pyo3(signature = (origin, direction, most = f64::INFINITY, only = None, not_these = Vec::new()))]
    fn ray_cast<'py>(
        &self,
        py: Python<'py>,
        origin: [f64; 3],
        direction: [f64; 3],
        most: f64,
        only: Option<Vec<String>>,
        not_these: Vec<String>,
    ) -> PyResult<Option<Struck<'py>>> {
        let sim = self.current(py)?;
        touches(&sim)?;
        let wanted = |name: &str| {
            only.as_ref().is_none_or(|list| list.iter().any(|n| n == name))
                && !not_these.iter().any(|n| n == name)
        };
        let hit = threads::detach(py, || {
            sim.model.ray_cast(&sim.state, &origin.into(), &direction.into(), most, wanted)
        })?;
        Ok(hit.map(|h| {
            let [point, normal] = [h.point, h.normal].map(|v| PyArray1::from_slice(py, v.as_slice()));
            (h.name.to_owned(), h.t, point, normal)
        }))
    }

    /// How far two things are apart [m] (minus the depth where convex shapes overlap, not above 0 where others do) and the
    /// unit normal from the second towards the first.
    fn distance<'py>(&self, py: Python<'py>, a: &str, b: &str) -> PyResult<(f64, Bound<'py, PyArray1<f64>>)> {
        let sim = self.current(py)?;
        touches(&sim)?;
        match threads::detach(py, || sim.model.distance_between(&sim.state, a, b))? {
            Some(d) => Ok((d.gap, PyArray1::from_slice(py, d.normal.as_slice()))),
            None => {
                let message =
                    format!("`{a}` or `{b}` has no shape that collides, or their distance is not known");
                Err(PyValueError::new_err(message))
            }
        }
    }

    /// Pairs of names whose contact carried a force in the last step of `impulse`, `lagrange` or `ipc`, sorted.
    fn touching(&self, py: Python<'_>) -> PyResult<Vec<(String, String)>> {
        let sim = self.current(py)?;
        Ok(sim.model.touching(&sim.state).into_iter().map(|[a, b]| (a.to_owned(), b.to_owned())).collect())
    }

    /// Pairs of things that intersect now, by an exact test of edges against triangles that shares nothing with the
    /// solver but the places; only the method `ipc` has surfaces to look at.
    fn intersections(&self, py: Python<'_>) -> PyResult<Vec<(String, String)>> {
        let sim = self.current(py)?;
        let Some(contact) = &sim.model.ipc else {
            let message = "only the method `ipc` has collision surfaces to look at";
            return Err(PyValueError::new_err(message));
        };
        threads::detach(py, || {
            let mut x = Vec::new();
            contact.geometry.positions(&sim.state.q[sim.model.layout.points_q()..], &mut x);
            contact.geometry.intersections(&x).iter().map(|[a, b]| (a.to_string(), b.to_string())).collect()
        })
    }

    /// Carries points and norms quaternions after numbers were set by hand; steps do it by themselves.
    fn settle(&self, py: Python<'_>) -> PyResult<()> {
        let sim = self.current(py)?;
        self.model.get().slot.check(())?;
        self.give_out(py, &sim)
    }

    /// Adds a force [N] at a point, counted over all points, until `applied` is cleared.
    fn push_point(&self, py: Python<'_>, point: u32, force: [f64; 3]) -> PyResult<()> {
        let sim = self.current(py)?;
        if point as usize >= sim.model.layout.points {
            return Err(PyValueError::new_err(format!(
                "there are {} points, no point {point}",
                sim.model.layout.points
            )));
        }
        self.push(py, &sim, |state, layout| state.push_point(layout, PointId(point), &force.into()))
    }

    /// Adds a force [N] at a place [m] of rigid body number `body`, until `applied` is cleared.
    fn push_rigid(&self, py: Python<'_>, body: usize, at: [f64; 3], force: [f64; 3]) -> PyResult<()> {
        let sim = self.current(py)?;
        if body >= sim.model.layout.rigid {
            return Err(PyValueError::new_err(format!(
                "there are {} rigid bodies, no body {body}",
                sim.model.layout.rigid
            )));
        }
        self.push(py, &sim, |state, layout| state.push_rigid(layout, body, &Vec3::from(at), &force.into()))
    }

    /// The whole state as one vector, shape (layout["packed"],): what is needed to go on with the same bits. A copy.
    fn pack<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let sim = self.current(py)?;
        let mut out = Vec::new();
        sim.state.pack(&sim.model.layout, &mut out);
        Ok(PyArray1::from_vec(py, out))
    }

    /// Takes over what `pack` returned.
    fn unpack(&self, py: Python<'_>, packed: PyReadonlyArray1<'_, f64>) -> PyResult<()> {
        let mut sim = self.lock()?;
        let mut state = self.model.get().unpack(packed.as_slice()?)?;
        self.model.get().slot.check(())?;
        std::mem::swap(&mut state.applied, &mut sim.state.applied);
        std::mem::swap(&mut state.drives, &mut sim.state.drives);
        sim.state = state;
        self.give_out(py, &sim)
    }

    /// Calls `function(simulation)` before every step.
    fn add_controller(&self, function: Py<PyAny>) {
        self.controllers.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push(function);
    }

    /// Forgets all controllers.
    fn clear_controllers(&self) {
        self.controllers.lock().unwrap_or_else(std::sync::PoisonError::into_inner).clear();
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.model)?;
        if let Ok(list) = self.controllers.try_lock() {
            list.iter().try_for_each(|c| visit.call(c))?;
        }
        Ok(())
    }

    fn __clear__(&self) {
        self.clear_controllers();
    }
}

impl PySimulation {
    /// Writes the forces of a state that was pushed into the buffer.
    fn push(&self, py: Python<'_>, sim: &Simulation, push: impl Fn(&mut State, &Layout)) -> PyResult<()> {
        let mut state = sim.state.clone();
        push(&mut state, &sim.model.layout);
        let [_, _, applied, robots, ..] = parts(&sim.model.layout);
        let buffer = self.buffer.bind(py).try_readwrite();
        let mut buffer =
            buffer.map_err(|_| BusyError::new_err("the arrays of this simulation are in use"))?;
        buffer.as_slice_mut()?[applied..robots].copy_from_slice(&state.applied);
        Ok(())
    }

    /// Looks at the simulation as it is now.
    pub(crate) fn with<T>(&self, py: Python<'_>, look: impl FnOnce(&Simulation) -> T) -> PyResult<T> {
        let sim = self.current(py)?;
        Ok(look(&sim))
    }

    /// Changes the simulation as it is now.
    pub(crate) fn with_mut<T>(
        &self,
        py: Python<'_>,
        change: impl FnOnce(&mut Simulation) -> T,
    ) -> PyResult<T> {
        let mut sim = self.current(py)?;
        Ok(change(&mut sim))
    }

    pub(crate) fn the_model(&self) -> &PyModel {
        self.model.get()
    }
}
