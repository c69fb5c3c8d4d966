//! Particles that touch: balls that do not turn.
//!
//! A particle has no arm and no inertia, so a contact acts on it at its centre, friction included. Impulses on particles of no
//! joint go in with their forces, $v^+ = v + h M^{-1}(F + p/h)$, $x^+ = x + h v^+$: springs keep the symplectic step that
//! they have without contact. Particles that filters hold take no impulses.

use super::{ContactWork, NONE};
use crate::math::{add_triple, triple};
use crate::model::Model;
use crate::state::State;
use crate::step::impulse::ImpulseWork;

impl ContactWork {
    /// What is neither body nor robot nor among joints: forces with those of contacts, then what parts overlaps.
    pub(super) fn step_others(
        &mut self,
        model: &Model,
        state: &mut State,
        f: &mut [f64],
        h: f64,
        own: &ImpulseWork,
    ) {
        own.loose.step_others(model, state, f, h);
        let points = model.layout.points_q();
        for (i, &slot) in self.slot_particle.iter().enumerate() {
            if slot == NONE || self.cluster_of[slot as usize] != NONE {
                continue;
            }
            let push = triple(&self.push, 2 * slot as usize);
            add_triple(&mut state.q[points..], i, &(h * push));
        }
    }

    /// Particles move by h v⁺ in every step.
    pub(super) fn note_particles(&mut self) {
        for slot in self.slot_particle.iter().filter(|s| **s != NONE) {
            self.moved[*slot as usize].held = true;
        }
    }
}
