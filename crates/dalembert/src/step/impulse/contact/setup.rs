//! Who has its velocities where; once per model.

use super::{ContactWork, StepInput};
use crate::contact::ColliderOwner;
use crate::contact::detection::Detection;
use crate::contact::response::{CoupledBodies, NONE};
use crate::joints::Holder;
use crate::math::Vec3;
use crate::step::impulse::ImpulseWork;

/// Laws of more materials than this are looked up pair by pair.
const MANY_MATERIALS: usize = 64;

impl ContactWork {
    /// Makes room for a model, once.
    pub(super) fn prepare(&mut self, given: &StepInput, own: &ImpulseWork) {
        let (layout, contact) = (&given.model.layout, given.contact);
        let made_for = [layout.constraints, layout.nv, contact.colliders.len(), given.model.robots.len()];
        self.problem.h = given.h;
        if self.made_for == Some(made_for) {
            return;
        }
        *self = Self { made_for: Some(made_for), ..Self::default() };
        (self.problem.h, self.problem.gravity) = (given.h, given.model.gravity.norm());
        self.problem.length = contact.length;
        if contact.materials.len() <= MANY_MATERIALS {
            let pairs = contact.materials.iter().flat_map(|a| contact.materials.iter().map(move |b| (a, b)));
            self.laws = pairs.map(|(a, b)| contact.law_between(a, b, None)).collect();
        }
        self.detection = Detection::new(contact, |owner| match contact.owners[owner] {
            ColliderOwner::Rigid(k) => given.model.rigid.center[k as usize],
            ColliderOwner::Particle(_) | ColliderOwner::Link { .. } => Vec3::zeros(),
        });
        self.ccd.smallest = self.detection.smallest();
        self.place_bodies(given, own);
        self.joint_trees.find(&own.islands, given.model);
    }

    /// Slots: islands of joints first, each in one piece, then bodies by themselves, then robots.
    fn place_bodies(&mut self, given: &StepInput, own: &ImpulseWork) {
        let (layout, p) = (&given.model.layout, &mut self.problem);
        p.slot_of_rigid = vec![NONE; layout.rigid];
        p.slot_of_particle = vec![NONE; layout.particles];
        let mut next = 0u32;
        for (i, island) in own.islands.iter().enumerate() {
            let first = next;
            for node in &island.nodes {
                match node.holder {
                    Holder::Rigid(k) => p.slot_of_rigid[k as usize] = next,
                    Holder::Particle(k) => p.slot_of_particle[k as usize] = next,
                    Holder::World => {}
                }
                p.coupled_of.push(i as u32);
                next += 1;
            }
            let coupled = CoupledBodies { first: 6 * first, len: 6 * (next - first), ..Default::default() };
            p.coupled.push(coupled);
        }
        let mut take = |slot: &mut u32| {
            if *slot == NONE {
                *slot = next;
                p.coupled_of.push(NONE);
                next += 1;
            }
        };
        p.slot_of_rigid.iter_mut().for_each(&mut take);
        for owner in &given.contact.owners {
            if let ColliderOwner::Particle(i) = owner {
                take(&mut p.slot_of_particle[*i as usize]);
            }
        }
        self.place = vec![0; next as usize];
        for (k, &slot) in p.slot_of_rigid.iter().enumerate() {
            self.place[slot as usize] = 6 * k;
        }
        for (i, &slot) in p.slot_of_particle.iter().enumerate().filter(|(_, s)| **s != NONE) {
            self.place[slot as usize] = layout.points_v() + 3 * i;
            self.restitution.particles.push(slot);
        }
        let robots = given.model.robots.iter().map(|robot| &robot.robot);
        let end = p.robots.add(robots, 6 * next, &mut p.coupled);
        p.x.resize(end as usize, 0.0);
    }
}
