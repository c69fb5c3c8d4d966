//! Forces of contact, to be read after a step.
//!
//! `impulse` and `lagrange` keep them in the state. Under `ipc` they follow from it: normal forces are slopes of barriers
//! where the bodies are, friction that of their velocities. How they follow is known to the method alone, so
//! the model has a [`ContactReader`] that was made with it.

use std::sync::{Arc, Mutex, PoisonError};

use super::Model;
use crate::math::Vec3;
use crate::state::State;

/// One point of contact and the force there.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct ContactForce {
    /// First body: its number in the list of names that belongs to the method's contact model.
    pub a: u32,
    /// Second body.
    pub b: u32,
    /// Where they touch \[m\].
    pub point: Vec3,
    /// Unit normal from b towards a.
    pub normal: Vec3,
    /// Force on a, −force on b; friction included \[N\].
    pub force: Vec3,
    /// Distance of the surfaces \[m\]; negative where they overlap.
    pub gap: f64,
}

/// Contacts of a state, or none if they cannot be found there.
type Read = dyn Fn(&Model, &State) -> Option<Vec<ContactForce>> + Send + Sync;

/// How contacts follow from a state, where no step leaves them there.
///
/// Several quantities are read of one state, and each would look for all contacts again: so those of the last state are
/// kept with it.
pub struct ContactReader {
    read: Box<Read>,
    last: Mutex<Option<(State, Arc<[ContactForce]>)>>,
}

impl ContactReader {
    /// From the rule itself: all contacts of a state, or none at all if it cannot be one of the model.
    pub fn new(read: impl Fn(&Model, &State) -> Option<Vec<ContactForce>> + Send + Sync + 'static) -> Self {
        Self { read: Box::new(read), last: Mutex::new(None) }
    }

    /// Contacts of a state. Where they cannot be found there is one whose numbers are not numbers.
    fn contacts(&self, model: &Model, state: &State) -> Arc<[ContactForce]> {
        if let Some((of, contacts)) = &*self.last.lock().unwrap_or_else(PoisonError::into_inner)
            && of == state
        {
            return contacts.clone();
        }
        let unknown = Vec3::repeat(f64::NAN);
        let unknown = ContactForce { force: unknown, gap: f64::NAN, ..ContactForce::default() };
        let contacts: Arc<[_]> = (self.read)(model, state).unwrap_or_else(|| vec![unknown]).into();
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Some((state.clone(), contacts.clone()));
        contacts
    }
}

impl Model {
    /// Contacts that follow from the state: those of `ipc`, in the order of their bodies.
    pub(super) fn contacts_of(&self, state: &State) -> Arc<[ContactForce]> {
        self.contact_reader.as_ref().map_or_else(|| Arc::from([]), |reader| reader.contacts(self, state))
    }

    /// Contacts of the last step that carry a force; the numbers of their bodies are places in
    /// [`contact_names`](Self::contact_names).
    pub fn contact_forces<'a>(&'a self, state: &'a State) -> impl Iterator<Item = ContactForce> + 'a {
        let owner = |c: u32| self.rigid_contact.as_ref().map_or(0, |t| t.name_of[c as usize]);
        let kept = state.contacts.iter().map(move |c| ContactForce {
            a: owner(c.a),
            b: owner(c.b),
            point: c.point,
            normal: c.normal,
            force: c.force,
            gap: c.gap,
        });
        let found = self.contacts_of(state);
        let found = (0..found.len()).map(move |k| found[k]);
        kept.chain(found).filter(|c| c.force != Vec3::zeros())
    }

    /// Names of all that may touch: bodies, sets of particles and links of robots (`ROBOT/LINK`), then grounds. Empty for methods
    /// without contact.
    pub fn contact_names(&self) -> Vec<&str> {
        let rigid = self.rigid_contact.iter().flat_map(|c| &c.names);
        let ipc = self.ipc.iter().flat_map(|m| m.geometry.names.iter().chain(&m.geometry.plane_names));
        rigid.chain(ipc).map(String::as_str).collect()
    }
}
