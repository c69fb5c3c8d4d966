//! Passes of a step: friction is taken anew where its normal forces have changed, and the multipliers of joints until they hold.

use super::islands::NONE;
use super::work::IpcWork;
use crate::contact::potential::End;
use crate::model::{IpcModel, Model};

/// Change of μλ at the present slip, over the largest one of a body, that asks for another pass.
const FRICTION_CHANGE: f64 = 0.05;

impl IpcWork {
    /// Takes friction anew; true if it changed so much that an island is to be solved again.
    pub(super) fn update_friction(&mut self, model: &Model) -> bool {
        let Some(ipc) = &model.ipc else { return false };
        self.steps.energies.forget();
        let acts = ipc.geometry.friction.iter().any(|mu| *mu != 0.0);
        if self.reactivate(ipc) {
            self.contact.take_normal_energy(&ipc.geometry, End::Iterate);
            if !acts {
                self.contact.sum(&ipc.geometry, End::Iterate);
            }
        }
        let Self { islands, contact, .. } = self;
        if acts {
            contact.take_friction(&ipc.geometry);
            contact.sum(&ipc.geometry, End::Iterate);
            islands.done.fill(true);
            let changes = islands.unit_of_body.iter().zip(&contact.friction.change);
            for (&u, change) in changes.filter(|(u, _)| **u != NONE) {
                islands.done[u as usize] &= *change <= FRICTION_CHANGE;
            }
        }
        self.contact_energies.clone_from(&contact.energies);
        acts && !self.islands.done.iter().all(|d| *d)
    }

    /// After the last pass nobody asks for friction, unless an articulation asks what it did: then it is not taken, and this
    /// is true. All that does not sleep has its contacts again.
    pub(super) fn end_friction(&mut self, model: &Model) -> bool {
        let Some(ipc) = model.ipc.as_ref().filter(|_| self.coupling.is_empty()) else { return false };
        self.reactivate(ipc);
        self.contact.take_contacts(&ipc.geometry, End::Iterate);
        self.contact.friction.clear();
        true
    }

    /// All that does not sleep takes part in contact again, and energies are yet to be taken; true if something had not.
    fn reactivate(&mut self, ipc: &IpcModel) -> bool {
        let left_out = self.contact.path.has_inactive();
        if left_out {
            self.deactivate(ipc, |w, u| w.asleep[u]);
        }
        left_out
    }

    /// Takes the multipliers of joints anew; true if one is off by more than `limit`, so that its island is to be solved again.
    pub(super) fn update_joints(&mut self, model: &Model, limit: f64) -> bool {
        let Some(ipc) = &model.ipc else { return false };
        let Self { islands, joints, asleep, q, .. } = self;
        let mut again = false;
        let unit = |t: usize| islands.unit_of_term[t];
        let awake = |t: usize| asleep.get(unit(t) as usize) == Some(&false);
        joints.update(ipc, q, limit, awake, |t| {
            again = true;
            islands.done[unit(t) as usize] = false;
        });
        if again {
            self.steps.energies.forget();
            if self.reactivate(ipc) {
                self.contact.energy(&ipc.geometry, End::Iterate);
                self.contact_energies.clone_from(&self.contact.energies);
            }
        }
        again
    }
}
