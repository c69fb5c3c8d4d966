//! Whether the step is too long for springs and elements whose forces the method takes at its start.

use dalembert::check::{StableStep, unstable_step};
use dalembert::step::Simulation;

/// What is wrong with the step size, if anything.
pub(super) fn warning(sim: &Simulation) -> Option<String> {
    let StableStep { longest, stiffest } = unstable_step(&sim.method, &sim.model, &sim.state, sim.dt)?;
    Some(format!(
        "dt = {} s is longer than {longest:.3e} s, the stability limit of `{stiffest}` under `{}`, which takes its forces at the start of a step: the motion will explode; a shorter dt or the method `implicit` or `ipc` would help",
        sim.dt,
        sim.method.name()
    ))
}
