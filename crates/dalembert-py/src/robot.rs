//! Robots: names, kinematics and dynamics at any q, beside any simulation.

use std::sync::Arc;

use dalembert::bodies::articulated::JointPlace;
use dalembert::bodies::articulated::description::{RobotJoint, RobotJointId};
use dalembert::model::Model;
use dalembert::robot::{LinkFrame, RobotWork};
use dalembert::state::State;
use numpy::{AllowTypeChange, PyArray1, PyArray2, PyArrayLike1, PyArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::errors;

/// A robot of a model: its names, and its kinematics and dynamics at any configuration.
///
/// Coordinates q are as in MJCF: one number per hinge or slide, position and unit quaternion (w, x, y, z) of a free
/// joint; velocities of a free joint are linear in world axes, angular in body axes.
#[pyclass(frozen, name = "RobotModel", module = "dalembert")]
pub(crate) struct PyRobot {
    model: Arc<Model>,
    index: usize,
}

type JointRow = (String, String, usize, usize, usize, usize, Option<(f64, f64)>);
type Numbers<'py> = PyArrayLike1<'py, f64, AllowTypeChange>;

impl PyRobot {
    pub(crate) fn of(model: &Arc<Model>, name: Option<&str>) -> PyResult<Self> {
        let names = || model.robots.iter().map(|r| r.name.as_str());
        let index = match name {
            Some(name) => {
                names().position(|n| n == name).ok_or_else(|| errors::unknown("robot", name, names()))?
            }
            None if model.robots.len() == 1 => 0,
            None => {
                return Err(PyValueError::new_err(format!(
                    "the model has {} robots: say which",
                    model.robots.len()
                )));
            }
        };
        Ok(Self { model: model.clone(), index })
    }

    fn robot(&self) -> &dalembert::robot::Robot {
        &self.model.robots[self.index].robot
    }

    /// The numbers of an argument, if there are as many as there should be and all are finite.
    fn take(&self, what: &str, numbers: &Numbers<'_>, expected: usize) -> PyResult<Vec<f64>> {
        let numbers: Vec<f64> = numbers.as_array().iter().copied().collect();
        if numbers.len() != expected {
            let name = &self.model.robots[self.index].name;
            let found = numbers.len();
            return Err(PyValueError::new_err(format!(
                "{what} of `{name}` has {expected} numbers, not {found}"
            )));
        }
        match numbers.iter().position(|x| !x.is_finite()) {
            Some(i) => Err(PyValueError::new_err(format!("{what}[{i}] is {}", numbers[i]))),
            None => Ok(numbers),
        }
    }

    fn q(&self, q: &Numbers<'_>) -> PyResult<Vec<f64>> {
        self.take("q", q, self.nq())
    }

    fn v(&self, what: &str, v: &Numbers<'_>) -> PyResult<Vec<f64>> {
        self.take(what, v, self.nv())
    }

    /// A site or body by name.
    fn frame(&self, name: &str) -> PyResult<LinkFrame> {
        let m = self.robot();
        let body = || m.description.body(name).map(|id| m.body_frame(id));
        m.site(name).or_else(body).ok_or_else(|| {
            let sites = m.description.sites().map(|(_, s)| s.name.as_str());
            let bodies = m.description.bodies.iter().map(|b| b.name.as_str());
            errors::unknown("site or body", name, sites.chain(bodies))
        })
    }

    fn at(&self, q: &[f64]) -> RobotWork {
        let mut work = self.robot().work();
        self.robot().tree.kinematics(q, &mut work.tree);
        work
    }
}

fn square<'py>(py: Python<'py>, flat: Vec<f64>, columns: usize) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let rows = flat.len().checked_div(columns).unwrap_or(0);
    PyArray1::from_vec(py, flat).reshape([rows, columns])
}

#[pymethods]
impl PyRobot {
    /// The name that the scene gave it.
    #[getter]
    fn name(&self) -> &str {
        &self.model.robots[self.index].name
    }

    /// Number of coordinates.
    #[getter]
    fn nq(&self) -> usize {
        self.robot().tree.coordinates()
    }

    /// Number of velocities (degrees of freedom).
    #[getter]
    fn nv(&self) -> usize {
        self.robot().tree.freedoms()
    }

    /// Number of actuators.
    #[getter]
    fn nu(&self) -> usize {
        self.robot().actuator_count()
    }

    /// Where its numbers lie: in q, in v, and among the lists of all robots activation, control, tau, acceleration, force.
    #[getter]
    fn places(&self) -> [(usize, usize); 7] {
        let (place, layout) = (&self.model.robots[self.index].place, &self.model.layout);
        let control = layout.activations;
        let tau = control + layout.actuators;
        let (acceleration, force) = (tau + layout.robot_v, tau + 2 * layout.robot_v);
        [
            (&place.q, 0),
            (&place.v, 0),
            (&place.activations, 0),
            (&place.actuators, control),
            (&place.dofs, tau),
            (&place.dofs, acceleration),
            (&place.actuators, force),
        ]
        .map(|(range, first)| (first + range.start, first + range.end))
    }

    /// The same in a packed state.
    #[getter]
    fn packed_places(&self) -> [(usize, usize); 7] {
        let layout = &self.model.layout;
        let q = State::packed_q(layout) + layout.nq - layout.robots_q();
        let v = State::packed_v(layout) + layout.nv - layout.robots_v();
        let lists = State::packed_robots(layout);
        let first = [q, v, lists, lists, lists, lists, lists];
        let mut out = self.places();
        out.iter_mut().zip(first).for_each(|((a, b), first)| (*a, *b) = (*a + first, *b + first));
        out
    }

    /// Joints that move, in order: (name, kind, q start, q end, v start, v end, limits or None [rad or m]).
    #[getter]
    fn joints(&self) -> Vec<JointRow> {
        let m = self.robot();
        let row = |(k, joint): (usize, &RobotJoint)| {
            let JointPlace { kind, q, v, limits, .. } = m.joint_place(RobotJointId(k))?;
            let kind = format!("{kind:?}").to_lowercase();
            let limits = limits.map(|[low, high]| (low, high));
            Some((joint.name.clone(), kind, q.start, q.end, v.start, v.end, limits))
        };
        m.description.bodies.iter().flat_map(|b| &b.joints).enumerate().filter_map(row).collect()
    }

    /// Names of the actuators, in the order of the controls.
    #[getter]
    fn actuators(&self) -> Vec<String> {
        self.robot().description.actuators.iter().map(|a| a.name.clone()).collect()
    }

    /// Smallest and largest control of each actuator, or None.
    #[getter]
    fn control_ranges(&self) -> Vec<Option<(f64, f64)>> {
        self.robot()
            .description
            .actuators
            .iter()
            .map(|a| a.control_range.map(|[low, high]| (low, high)))
            .collect()
    }

    /// Coordinates, velocities and controls of a keyframe, as far as it gives them.
    fn keyframe<'py>(&self, py: Python<'py>, name: &str) -> PyResult<[Bound<'py, PyArray1<f64>>; 3]> {
        let names = || self.robot().description.keyframes.iter().map(|k| k.name.as_str());
        let key = self.robot().keyframe(name).ok_or_else(|| errors::unknown("keyframe", name, names()))?;
        Ok([&key.positions, &key.velocities, &key.controls].map(|list| PyArray1::from_slice(py, list)))
    }

    /// Names of the bodies, the world first.
    #[getter]
    fn bodies(&self) -> Vec<String> {
        self.robot().description.bodies.iter().map(|b| b.name.clone()).collect()
    }

    /// Names of the sites.
    #[getter]
    fn sites(&self) -> Vec<String> {
        self.robot().description.sites().map(|(_, s)| s.name.clone()).collect()
    }

    /// Names of the keyframes.
    #[getter]
    fn keyframes(&self) -> Vec<String> {
        self.robot().description.keyframes.iter().map(|k| k.name.clone()).collect()
    }

    /// Total mass [kg].
    #[getter]
    fn mass(&self) -> f64 {
        self.robot().tree.total_mass()
    }

    /// The reference configuration, shape (nq,).
    #[getter]
    fn neutral<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        PyArray1::from_slice(py, self.robot().tree.neutral())
    }

    /// Place [m] of a site or body at q, shape (3,), world axes.
    fn position<'py>(
        &self,
        py: Python<'py>,
        frame: &str,
        q: Numbers<'py>,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let (frame, q) = (self.frame(frame)?, self.q(&q)?);
        let work = self.at(&q);
        Ok(PyArray1::from_slice(py, self.robot().position(&frame, &work.tree).as_slice()))
    }

    /// Axes of a site or body at q as the columns of a rotation matrix, shape (3, 3).
    fn rotation<'py>(
        &self,
        py: Python<'py>,
        frame: &str,
        q: Numbers<'py>,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let (frame, q) = (self.frame(frame)?, self.q(&q)?);
        let work = self.at(&q);
        let turn = self.robot().rotation(&frame, &work.tree).transpose();
        square(py, turn.as_slice().to_vec(), 3)
    }

    /// Jacobian of a site or body at q, shape (6, nv): three rows of its velocity [m/s], three of its angular velocity
    /// [rad/s], world axes.
    fn jacobian<'py>(
        &self,
        py: Python<'py>,
        frame: &str,
        q: Numbers<'py>,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let (frame, q) = (self.frame(frame)?, self.q(&q)?);
        let nv = self.nv();
        let mut rows = vec![0.0; 6 * nv];
        let (linear, angular) = rows.split_at_mut(3 * nv);
        self.robot().jacobian(&q, &frame, &mut self.robot().work(), linear, angular);
        square(py, rows, nv)
    }

    /// Mass matrix at q, shape (nv, nv), armature included [kg, kg·m, kg·m²].
    fn mass_matrix<'py>(&self, py: Python<'py>, q: Numbers<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let q = self.q(&q)?;
        let (mut work, nv) = (self.at(&q), self.nv());
        let mut dense = vec![0.0; nv * nv];
        let tree = &self.robot().tree;
        tree.mass_matrix(&mut work.tree).to_dense(tree, &mut dense);
        square(py, dense, nv)
    }

    /// Forces on the dofs [N·m or N], shape (nv,), under which the robot at (q, v) accelerates by `acceleration`:
    /// gravity, Coriolis terms, springs and dampers of the joints included.
    fn inverse_dynamics<'py>(
        &self,
        py: Python<'py>,
        q: Numbers<'py>,
        v: Numbers<'py>,
        acceleration: Numbers<'py>,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let (q, v, a) = (self.q(&q)?, self.v("v", &v)?, self.v("acceleration", &acceleration)?);
        let mut tau = vec![0.0; self.nv()];
        self.robot().inverse_dynamics(&q, &v, &a, &mut self.robot().work(), &mut tau);
        Ok(PyArray1::from_vec(py, tau))
    }

    fn __repr__(&self) -> String {
        format!("<dalembert.RobotModel `{}`: {} dofs, {} actuators>", self.name(), self.nv(), self.nu())
    }
}
