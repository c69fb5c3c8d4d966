//! What a step did, and energies.

use dalembert::step::StepReport;
use pyo3::prelude::*;

/// What a step did.
#[pyclass(frozen, get_all, name = "StepReport", module = "dalembert")]
pub(crate) struct Report {
    /// Time after the step [s].
    time: f64,
    /// Inner steps that were accepted.
    substeps: u32,
    /// Inner steps that were tried and rejected.
    rejected: u32,
    /// Evaluations of all forces.
    evaluations: u32,
    /// Rounds of the constraint or Newton solver.
    iterations: u32,
    /// What the solver left over, relative.
    residual: f64,
    /// Worst violation of a hard joint after the step [m or rad].
    gap: f64,
    /// A solver gave up before it met its own rule.
    unfinished: bool,
    /// Iterations of linear solvers, in all.
    linear_iterations: u32,
    /// Pairs of primitives in contact.
    contacts: u32,
    /// Smallest gap of a contact [m]; 0 if the method knows none, infinite if nothing is near.
    smallest_gap: f64,
}

impl From<&StepReport> for Report {
    fn from(r: &StepReport) -> Self {
        Self {
            time: r.time,
            substeps: r.substeps,
            rejected: r.rejected,
            evaluations: r.evaluations,
            iterations: r.iterations,
            residual: r.residual,
            gap: r.gap,
            unfinished: r.unfinished,
            linear_iterations: r.linear_iterations,
            contacts: r.contacts,
            smallest_gap: r.smallest_gap,
        }
    }
}

#[pymethods]
impl Report {
    fn __repr__(&self) -> String {
        format!(
            "StepReport(time={}, iterations={}, residual={:.1e}, contacts={}, gap={:.1e})",
            self.time, self.iterations, self.residual, self.contacts, self.gap
        )
    }
}

/// Energy of a state [J].
#[pyclass(frozen, get_all, module = "dalembert")]
pub(crate) struct Energy {
    /// Kinetic energy [J].
    pub(crate) kinetic: f64,
    /// Energy stored in forces and gravity [J].
    pub(crate) potential: f64,
}

#[pymethods]
impl Energy {
    /// Kinetic plus potential [J].
    #[getter]
    fn total(&self) -> f64 {
        self.kinetic + self.potential
    }

    fn __repr__(&self) -> String {
        format!("Energy(kinetic={}, potential={}, total={})", self.kinetic, self.potential, self.total())
    }
}
