//! What can be read of contact between steps.

use super::Ipc;
use super::work::IpcWork;
use crate::contact::potential::End;
use crate::model::{ContactForce, ContactReader, Model};
use crate::state::State;
use crate::step::{Scheme, StepError};

/// Contacts at one state, with their forces and energies.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Touching {
    /// Every pair of primitives closer than the gap. Bodies are numbered as in
    /// [`ContactGeometry::names`](crate::contact::potential::ContactGeometry::names), half-planes after them.
    pub forces: Vec<ContactForce>,
    /// Energy of all barriers \[J\].
    pub barrier: f64,
    /// What friction takes up in a step of h seconds at the present velocities \[J\].
    pub friction: f64,
    /// Smallest gap \[m\]; infinite if nothing is near.
    pub smallest_gap: f64,
}

impl Ipc {
    /// Contacts at a state, as the step saw them that led there; before the first one, as a step of h seconds sees them.
    /// Normal forces are the gradients of the barriers where the bodies are; friction is that of the
    /// velocities there, $-\mu\lambda f_1(|u|)\hat u$ with the slip $u = d v$ across the
    /// normal. What sleeps is looked at as well: its friction is zero, since nothing moves.
    pub fn touching(&self, model: &Model, state: &State, h: f64) -> Result<Touching, StepError> {
        let mut out = Touching { smallest_gap: f64::INFINITY, ..Touching::default() };
        let Some(ipc) = &model.ipc else { return Ok(out) };
        let mut w = IpcWork::default();
        w.islands.prepare(model, &state.q, &state.v);
        w.asleep.resize(w.islands.units, false);
        // Euler's step is the step d of every scheme.
        let (mut seen, mut step, mut end) = (*self, h, state.time_after(h));
        if state.controller.h > 0.0 {
            (step, end) = (state.controller.h, state.time);
            seen.scheme = if self.scheme == Scheme::Static { Scheme::Static } else { Scheme::Euler };
        }
        w.begin_at(&seen, model, state, step, end)?;
        let d = w.potential.d;
        let n = model.layout.nv;
        let start: Vec<f64> = state.q[..n].iter().zip(&state.v).map(|(z, v)| z - d * v).collect();
        let geometry = &ipc.geometry;
        w.contact.forces(geometry, &start, |c, point, force| {
            let (a, b) = (c.bodies[0], geometry.second_side(c));
            out.forces.push(ContactForce { a, b, point, normal: c.normal, force, gap: c.gap });
        });
        w.contact.sum(geometry, End::Iterate);
        (out.barrier, out.friction) = (w.contact.normal.energy, w.contact.friction.energy);
        out.smallest_gap = w.contact.smallest_gap();
        Ok(out)
    }

    /// How contacts are read off states of a model for this method with steps of h seconds.
    pub(crate) fn reader(self, h: f64) -> ContactReader {
        ContactReader::new(move |model, state| self.touching(model, state, h).ok().map(|t| t.forces))
    }
}
