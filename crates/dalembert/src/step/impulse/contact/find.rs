//! From manifolds to contacts: who touches whom by which law, which islands that makes, and what is known from the step before.

use super::large_islands::NewManifold;
use super::{ContactWork, StepInput};
use crate::collide::rigid::{Manifold, Touch};
use crate::contact::island::{Islands, PairCount};
use crate::contact::problem::{Contact, ContactInfo, ContactPair, ContactProblem, SpinFriction};
use crate::contact::response::NONE;
use crate::contact::speculative_ccd::Snapshot;
use crate::contact::warm_start::{Matcher, matched};
use crate::contact::{ColliderOwner, ContactLaw, RigidContactModel};
use crate::math::{Mat3, Vec3, triple};
use crate::state::{ContactPoint, State};

impl ContactWork {
    /// Contacts of this step with the impulses of the one before. Large islands go to substepping.
    pub(super) fn find_contacts(&mut self, given: &StepInput, state: &State) {
        self.find_pairs(given);
        self.find_islands(given, &state.contacts);
        let p = &mut self.problem;
        p.contacts.clear();
        p.info.clear();
        p.spins.clear();
        let nodes = p.slots() + p.robots.groups.len();
        self.joint_trees.begin(self.large.groups_mut());
        self.large.begin(p.slots(), nodes);
        let detector = std::mem::take(&mut self.detection.detector);
        let pairs = std::mem::take(&mut self.problem.pairs);
        let (mut before, mut place) = (Matcher::new(&state.contacts), 0);
        for (number, (manifold, pair)) in detector.manifolds().iter().zip(&pairs).enumerate() {
            let known = before.of(manifold);
            let Some(node) = pair.moving_node() else { continue };
            let node = self.problem.representative(node);
            match self.problem.islands.large(node) {
                Some(island) => {
                    self.add_patch(given, state, manifold, pair, (number as u32, known, place), island);
                }
                None => self.add_contacts(given, state, manifold, pair, (number as u32, known, place)),
            }
            place += manifold.points().len() as u32;
        }
        (self.detection.detector, self.problem.pairs) = (detector, pairs);
    }

    /// Contacts of a manifold, given its number, the contacts of the step before and the place of its first point.
    fn add_contacts(
        &mut self,
        given: &StepInput,
        state: &State,
        manifold: &Manifold,
        pair: &ContactPair,
        (number, known, first): (u32, &[ContactPoint], u32),
    ) {
        let (bodies, h) = (bodies_of(given.contact, manifold), given.h);
        let ContactPair { nodes, law } = pair;
        let links = bodies.map(|b| match given.contact.owners.get(b as usize) {
            Some(&ColliderOwner::Link { link, .. }) => link,
            _ => NONE,
        });
        let turning = law.torsional_friction > 0.0 || law.rolling_friction > 0.0;
        let target = relative_belt(given.contact, manifold);
        let sides = nodes.map(|node| self.problem.responder(node));
        for (p, place) in manifold.points().iter().zip(first..) {
            let last = matched(known, manifold.points(), p, given.contact.length);
            let arms = self.centers(given, state, bodies, number, p).map(|center| p.point - center);
            let problem = &mut self.problem;
            let mut spin = NONE;
            if turning {
                spin = problem.spins.len() as u32;
                problem.spins.push(SpinFriction {
                    torsion: law.torsional_friction,
                    rolling: law.rolling_friction,
                    W: Mat3::zeros(),
                    impulse: last.map_or(Vec3::zeros(), |l| h * l.torque),
                });
            }
            problem.contacts.push(Contact {
                sides,
                arms,
                normal: manifold.normal,
                friction: law.friction,
                softness: 0.0,
                target,
                impulse: last.map_or(Vec3::zeros(), |l| h * l.force),
                W: Mat3::zeros(),
                inverse: Mat3::zeros(),
                spin,
            });
            problem.info.push(ContactInfo {
                a: manifold.a,
                b: manifold.b,
                part: manifold.part,
                feature: p.feature,
                point: p.point,
                gap: p.gap,
                nodes: *nodes,
                links,
                impact: -1.0,
                speed: 0.0,
                soft: law.compliance.is_some(),
                place,
                pair: number,
            });
        }
    }

    /// A manifold of a large island, given by its root and number of contacts.
    fn add_patch(
        &mut self,
        given: &StepInput,
        state: &State,
        manifold: &Manifold,
        pair: &ContactPair,
        (number, known, place): (u32, &[ContactPoint], u32),
        (root, contacts): (u32, u32),
    ) {
        let group = self.large.group_of(root, contacts);
        let bodies = bodies_of(given.contact, manifold);
        let centers = self.centers(given, state, bodies, number, &manifold.points()[0]);
        let ContactPair { nodes, ref law } = *pair;
        self.take_trees(group, &nodes);
        let belt = relative_belt(given.contact, manifold);
        let new = NewManifold { group, nodes, centers, law, belt, manifold, number, known, place };
        self.large.add_manifold(&new, given.h);
    }

    /// The centres of two bodies when a manifold was found; of all but rigid bodies the `point` that touches.
    #[inline(always)]
    fn centers(
        &self,
        given: &StepInput,
        state: &State,
        bodies: [u32; 2],
        manifold: u32,
        point: &Touch,
    ) -> [Vec3; 2] {
        let now = Snapshot { model: given.contact, state, problem: &self.problem };
        let time = self.ccd.time(manifold as usize);
        bodies.map(|body| match given.contact.owners.get(body as usize) {
            Some(ColliderOwner::Rigid(k)) => now.center_after(time, *k),
            _ => point.point,
        })
    }

    /// How two colliders touch.
    fn law(&self, contact: &RigidContactModel, a: u32, b: u32) -> ContactLaw {
        if self.laws.is_empty() || !contact.pairs.is_empty() {
            return contact.law(a, b);
        }
        let [a, b] = [a, b].map(|i| contact.colliders[i as usize].material as usize);
        self.laws[a * contact.materials.len() + b]
    }

    /// Who touches whom by which law.
    fn find_pairs(&mut self, given: &StepInput) {
        let mut pairs = std::mem::take(&mut self.problem.pairs);
        pairs.clear();
        for (m, manifold) in self.detection.detector.manifolds().iter().enumerate() {
            let law = self.law(given.contact, manifold.a, manifold.b);
            let nodes = if law.enabled && !self.ccd.is_missed(m) {
                bodies_of(given.contact, manifold).map(|body| self.problem.node_of(given.contact, body))
            } else {
                [NONE; 2]
            };
            pairs.push(ContactPair { nodes, law });
        }
        self.problem.pairs = pairs;
    }

    /// Which islands the pairs make, and how large they are.
    fn find_islands(&mut self, given: &StepInput, before: &[ContactPoint]) {
        let mut islands = std::mem::take(&mut self.problem.islands);
        let p = &self.problem;
        islands.begin(p.slots() + p.robots.groups.len());
        for ContactPair { nodes: [a, b], .. } in &p.pairs {
            if *a != NONE && *b != NONE {
                islands.join(p.representative(*a), p.representative(*b));
            }
        }
        let rigid = 6 * p.slot_of_rigid.len();
        let is_jointed = |node: &u32| p.coupled_of.get(*node as usize).is_some_and(|c| *c != NONE);
        let is_plain = |node: &u32| {
            let slot = *node as usize;
            let free = |slot: usize| p.coupled_of[slot] == NONE && self.place[slot] < rigid;
            *node == NONE || slot < p.slots() && (free(slot) || self.joint_trees.may_join(p.coupled_of[slot]))
        };
        for (manifold, pair) in self.detection.detector.manifolds().iter().zip(&p.pairs) {
            let (Some(node), law) = (pair.moving_node(), &pair.law) else { continue };
            let hard =
                law.compliance.is_none() && law.torsional_friction == 0.0 && law.rolling_friction == 0.0;
            let count = PairCount {
                contacts: manifold.points().len() as u32,
                between_bodies: !pair.nodes.contains(&NONE),
                plain: hard && pair.nodes.iter().all(is_plain),
                jointed: pair.nodes.iter().any(is_jointed),
                bounces: law.restitution > 0.0,
            };
            islands.add_pair(p.representative(node), &count);
        }
        islands.count_bodies();
        if islands.are_in_doubt() {
            let manifolds = self.detection.detector.manifolds();
            count_known(p, manifolds, before, given.h, &mut islands, &mut self.kicks);
        }
        self.problem.islands = islands;
    }
}

/// Tells the islands how many of their contacts pressed in the step before, and whether they are calm: with the impulses of
/// then neither body would be thrown faster than it falls in a step. Where it would, as after an impact, it is not known
/// yet which contacts go on pressing.
fn count_known(
    p: &ContactProblem,
    manifolds: &[Manifold],
    before: &[ContactPoint],
    h: f64,
    islands: &mut Islands,
    kicks: &mut Vec<Vec3>,
) {
    let slots = p.slots();
    kicks.clear();
    kicks.extend((0..slots).map(|k| triple(&p.x, 2 * k) - triple(&p.start, 2 * k)));
    let pressed = |c: &&ContactPoint| c.last != Vec3::zeros();
    let mut matcher = Matcher::new(before);
    for (manifold, ContactPair { nodes, .. }) in manifolds.iter().zip(&p.pairs) {
        let impulse = h * matcher.of(manifold).iter().filter(pressed).map(|c| c.force).sum::<Vec3>();
        for (node, sign) in nodes.iter().zip([1.0, -1.0]).filter(|(n, _)| (**n as usize) < slots) {
            kicks[*node as usize] += sign * p.responses.inverse[*node as usize].mass * impulse;
        }
    }
    let is_calm = |node: &u32| kicks.get(*node as usize).is_none_or(|kick| kick.norm() <= p.fall_speed());
    let mut matcher = Matcher::new(before);
    for (manifold, pair) in manifolds.iter().zip(&p.pairs) {
        let count = matcher.of(manifold).iter().filter(pressed).count() as u32;
        if let Some(node) = pair.moving_node() {
            islands.add_known(p.representative(node), count, pair.nodes.iter().all(is_calm));
        }
    }
}

fn bodies_of(contact: &RigidContactModel, manifold: &Manifold) -> [u32; 2] {
    [manifold.a, manifold.b].map(|i| contact.colliders[i as usize].body)
}

/// Surfaces that stick have v_a + belt_a = v_b + belt_b.
fn relative_belt(contact: &RigidContactModel, manifold: &Manifold) -> Vec3 {
    contact.belt(manifold.b) - contact.belt(manifold.a)
}
