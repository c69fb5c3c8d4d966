//! The contact problem of a step: contacts with targets, friction and softness, spin friction, bounded rows of robots, and the
//! operator W given by who responds. Plain data: nothing here knows what a scene or a model is.
//!
//! $$ u = v_a - v_b = W p + u_{free}, \qquad p_c \in K_c, \qquad \text{Coulomb's law between } p_c \text{ and } u_c - \text{target}_c $$

mod contact;
mod island_problem;
mod robots;
mod targets;

pub(crate) use contact::{Contact, SpinFriction};
pub(crate) use island_problem::{ConvexSet, IslandProblem};

use std::ops::Range;

use super::island::Islands;
use super::law::{ColliderOwner, ContactLaw, RigidContactModel};
use super::response::bounded_row::BoundedRow;
use super::response::half_solve::{Known, RobotPoint};
use super::response::robot::RobotResponders;
use super::response::{Columns, CoupledBodies, NONE, Responder, Responses};
use crate::collide::rigid::WORLD;
use crate::math::Vec3;

/// What is known of a contact beside the numbers of the solvers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ContactInfo {
    /// Colliders, part of a mesh, and which of its points.
    pub(crate) a: u32,
    pub(crate) b: u32,
    pub(crate) part: u32,
    pub(crate) feature: u32,
    pub(crate) point: Vec3,
    pub(crate) gap: f64,
    /// Nodes of its two bodies: slots, groups of trees of robots behind them; `NONE` for the world.
    pub(crate) nodes: [u32; 2],
    /// Links of its two bodies; `NONE` for other bodies.
    pub(crate) links: [u32; 2],
    /// Time of the impact, if it is one; negative otherwise \[s\].
    pub(crate) impact: f64,
    /// How fast its points were, against what it asks for \[m/s\].
    pub(crate) speed: f64,
    /// True if a spring and damper hold it, so that overlap is their business.
    pub(crate) soft: bool,
    /// Place among the contacts in the order of detection.
    pub(crate) place: u32,
    /// Number of its pair.
    pub(crate) pair: u32,
}

/// Two colliders that are near each other.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ContactPair {
    /// As in [`ContactInfo`]; twice `NONE` if they make no contact.
    pub(crate) nodes: [u32; 2],
    pub(crate) law: ContactLaw,
}

impl ContactPair {
    /// One of its nodes that moves, if it makes contacts.
    pub(crate) fn moving_node(&self) -> Option<u32> {
        moving_node(self.nodes)
    }
}

/// The first of two nodes that is not the world.
pub(crate) fn moving_node(nodes: [u32; 2]) -> Option<u32> {
    nodes.into_iter().find(|n| *n != NONE)
}

/// Buffers of sorting.
#[derive(Debug, Default)]
struct Sorting {
    contacts: Vec<Contact>,
    info: Vec<ContactInfo>,
    cursor: Vec<u32>,
    order: Vec<u32>,
}

/// All contacts of a step.
#[derive(Debug, Default)]
pub(crate) struct ContactProblem {
    /// Length of the step \[s\], gravity \[m/s²\], and a length that is small beside every shape \[m\].
    pub(crate) h: f64,
    pub(crate) gravity: f64,
    pub(crate) length: f64,
    /// Velocities: six per body or particle, then those of the robots. At the start of the step, and without contacts.
    pub(crate) x: Vec<f64>,
    pub(crate) start: Vec<f64>,
    pub(crate) free: Vec<f64>,
    pub(crate) responses: Responses,
    /// Islands of joints first, then groups of trees of robots.
    pub(crate) coupled: Vec<CoupledBodies>,
    /// Of each slot: its island of joints; `NONE` for bodies by themselves.
    pub(crate) coupled_of: Vec<u32>,
    /// Slot of each rigid body, of each particle; `NONE` for what touches nothing.
    pub(crate) slot_of_rigid: Vec<u32>,
    pub(crate) slot_of_particle: Vec<u32>,
    pub(crate) robots: RobotResponders,
    pub(crate) pairs: Vec<ContactPair>,
    pub(crate) contacts: Vec<Contact>,
    pub(crate) info: Vec<ContactInfo>,
    pub(crate) spins: Vec<SpinFriction>,
    /// Rows of robots with bounds, now and in the round before.
    pub(crate) rows: Vec<BoundedRow>,
    last_rows: Vec<BoundedRow>,
    pub(crate) islands: Islands,
    /// Islands whose impulses did not converge.
    pub(crate) unsolved: Vec<bool>,
    sorting: Sorting,
    row_order: Vec<(u32, u32)>,
    points: Vec<RobotPoint>,
    signed: Vec<f64>,
    touched_groups: Vec<usize>,
}

impl ContactProblem {
    /// What falls gains this speed in the step \[m/s\].
    pub(crate) fn fall_speed(&self) -> f64 {
        self.h * self.gravity
    }

    /// Number of slots of bodies and particles.
    pub(crate) fn slots(&self) -> usize {
        self.coupled_of.len()
    }

    /// Number of islands of joints: the coupled bodies behind them are those of robots.
    pub(crate) fn joint_islands(&self) -> usize {
        self.coupled.len() - self.robots.groups.len()
    }

    /// The node of an owner of colliders: its slot, or behind the slots its group of trees; `NONE` for what does not move.
    pub(crate) fn node_of(&self, model: &RigidContactModel, owner: u32) -> u32 {
        if owner == WORLD || model.held[owner as usize] {
            return NONE;
        }
        match model.owners[owner as usize] {
            ColliderOwner::Rigid(k) => self.slot_of_rigid[k as usize],
            ColliderOwner::Particle(i) => self.slot_of_particle[i as usize],
            ColliderOwner::Link { robot, link } => {
                match self.robots.group_of(robot as usize, link as usize) {
                    NONE => NONE,
                    group => self.slots() as u32 + group,
                }
            }
        }
    }

    /// The coupled bodies of a node.
    pub(crate) fn coupled_at(&self, node: u32) -> Option<usize> {
        match self.group_at(node) {
            Some(g) => Some(self.joint_islands() + g),
            None => Some(self.coupled_of[node as usize] as usize).filter(|c| *c != NONE as usize),
        }
    }

    /// The group of trees of a node.
    pub(crate) fn group_at(&self, node: u32) -> Option<usize> {
        (node != NONE).then(|| (node as usize).checked_sub(self.slots()))?
    }

    /// The coupled bodies of a group of trees.
    pub(crate) fn coupled_group(&self, g: usize) -> &CoupledBodies {
        &self.coupled[self.joint_islands() + g]
    }

    /// The node that stands for a node: all bodies of an island of joints go with its first.
    pub(crate) fn representative(&self, node: u32) -> u32 {
        let islands = self.joint_islands();
        match self.coupled_of.get(node as usize) {
            Some(&c) if c != NONE && (c as usize) < islands => self.coupled[c as usize].first / 6,
            _ => node,
        }
    }

    /// How a node responds, columns still to be filled in.
    pub(crate) fn responder(&self, node: u32) -> Responder {
        match node {
            NONE => Responder::World,
            node if (node as usize) < self.slots() => match self.coupled_of[node as usize] {
                NONE => Responder::Body(6 * node),
                _ => Responder::Jointed(6 * node, Columns::default()),
            },
            _ => Responder::Link(0, Columns::default()),
        }
    }

    /// Contacts of one island side by side.
    pub(crate) fn sort_by_island(&mut self) {
        let mut islands = std::mem::take(&mut self.islands);
        let body = |i: &ContactInfo| self.representative(moving_node(i.nodes).unwrap_or(NONE));
        islands.number(self.info.iter().map(body));
        // Contacts of an island keep the order of detection.
        if islands.len() > 1 {
            let Sorting { contacts, info, cursor, order } = &mut self.sorting;
            cursor.clear();
            cursor.extend_from_slice(&islands.first);
            order.clear();
            order.resize(islands.of.len(), 0);
            for (k, &island) in islands.of.iter().enumerate() {
                let place = &mut cursor[island as usize];
                order[*place as usize] = k as u32;
                *place += 1;
            }
            // They are large, so each is copied once.
            contacts.clear();
            contacts.extend(order.iter().map(|k| self.contacts[*k as usize]));
            info.clear();
            info.extend(order.iter().map(|k| self.info[*k as usize]));
            std::mem::swap(&mut self.contacts, contacts);
            std::mem::swap(&mut self.info, info);
        }
        self.islands = islands;
        self.find_ranges();
    }

    /// Where the contacts of coupled bodies lie.
    fn find_ranges(&mut self) {
        for coupled in &mut self.coupled {
            (coupled.from, coupled.to) = (u32::MAX, 0);
        }
        for k in 0..self.info.len() {
            for node in self.info[k].nodes.into_iter().filter(|n| *n != NONE) {
                if let Some(i) = self.coupled_at(node) {
                    let coupled = &mut self.coupled[i];
                    coupled.from = coupled.from.min(k as u32);
                    coupled.to = k as u32 + 1;
                }
            }
        }
        self.coupled.iter_mut().for_each(|c| c.touched = c.from < c.to);
    }

    /// Some contacts as an island for the solvers, with the numbers of its rows; and the velocities.
    pub(crate) fn island<'a>(
        &'a mut self,
        range: Range<usize>,
        members: &'a [u32],
    ) -> (IslandProblem<'a>, &'a mut [f64]) {
        let Self { x, free, responses, contacts, spins, rows, .. } = self;
        (IslandProblem { responses, free, contacts: &mut contacts[range], spins, rows, members }, x)
    }

    /// v_a − v_b of contact k where its bodies have the velocities x, which its trees have taken.
    pub(crate) fn rate_of(&self, x: &[f64], k: usize) -> Vec3 {
        let (c, info) = (&self.contacts[k], &self.info[k]);
        let side = |s: usize| match self.group_at(info.nodes[s]) {
            Some(g) => {
                let robot = self.robots.groups[g].robot;
                self.robots.point_velocity(robot, info.links[s] as usize, &info.point)
            }
            None => self.responses.velocity(x, &c.sides[s], &c.arms[s]),
        };
        side(0) - side(1)
    }

    /// v_a − v_b of the contacts of an island as they are.
    pub(crate) fn load_rates(&mut self, range: Range<usize>, rates: &mut Vec<Vec3>) {
        let mut last = NONE;
        for node in self.info[range.clone()].iter().flat_map(|i| i.nodes) {
            if let Some(g) = self.group_at(node).filter(|_| node != last) {
                last = node;
                self.robots.load_group(g, &self.x);
            }
        }
        rates.clear();
        rates.extend(range.map(|k| self.rate_of(&self.x, k)));
    }

    /// Impulse and angular impulse of a contact.
    pub(crate) fn impulses_of(&self, c: &Contact) -> [Vec3; 2] {
        [c.impulse, if c.spin == NONE { Vec3::zeros() } else { self.spins[c.spin as usize].impulse }]
    }

    /// Impulses and angular impulses of an island take new values, and velocities go with them: those of bodies by themselves
    /// from the start, since impulses that did not converge may be so large that differences leave nothing but their rounding.
    pub(crate) fn set_impulses(&mut self, range: Range<usize>, new: &[[Vec3; 2]]) {
        let Self { x, free, responses, contacts, spins, .. } = self;
        let contacts = &mut contacts[range];
        for (c, [p, s]) in contacts.iter_mut().zip(new) {
            c.apply(responses, x, &(p - c.impulse));
            c.impulse = *p;
            if c.spin != NONE {
                let spin = &mut spins[c.spin as usize];
                c.apply_angular(responses, x, &(s - spin.impulse));
                spin.impulse = *s;
            }
        }
        for side in contacts.iter().flat_map(|c| &c.sides) {
            if let Responder::Body(at) = *side {
                let own = at as usize..at as usize + 6;
                x[own.clone()].copy_from_slice(&free[own]);
            }
        }
        for (c, [p, s]) in contacts.iter().zip(new) {
            c.apply_to_bodies(responses, x, p);
            if c.spin != NONE {
                c.apply_angular_to_bodies(responses, x, s);
            }
        }
    }

    /// Takes the impulses of an island away, and those of the rows of its trees, whose velocities become those without contacts:
    /// nothing is left of what went with them, however large it was.
    pub(crate) fn clear_impulses(&mut self, range: Range<usize>) {
        for node in self.info[range.clone()].iter().flat_map(|i| i.nodes) {
            let Some(g) = self.group_at(node) else { continue };
            let own = self.coupled_group(g).velocities();
            self.x[own.clone()].copy_from_slice(&self.free[own]);
            self.rows[self.robots.groups[g].rows.clone()].iter_mut().for_each(|row| row.impulse = 0.0);
        }
        for c in &mut self.contacts[range] {
            c.impulse = Vec3::zeros();
            if c.spin != NONE {
                self.spins[c.spin as usize].impulse = Vec3::zeros();
            }
        }
    }

    /// W and columns of all trees of an island, and inverses of its contacts.
    pub(crate) fn know_columns(&mut self, range: Range<usize>) {
        self.contacts[range.clone()].iter_mut().for_each(Contact::invert);
        self.know(range, Known::Columns);
    }
}
