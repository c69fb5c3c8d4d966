//! Contact with friction under `impulse`.
//!
//! One inner step:
//!
//! ```text
//! detect      shapes at q: normals n, gaps g, points that touch or may touch within h; fast bodies are followed
//! free        v + h M⁻¹F of loose bodies; islands of joints and robots solve their own rows
//! warm        impulses of the step before, by the features that meet
//! sweep       u = v_a − v_b of each contact in its turn by Coulomb's exact law, joints holding meanwhile
//! settle      islands and robots again under the impulses found; another round if limits changed their minds
//! drift       q along v⁺; overlaps part by velocities that live for this step only
//! ```
//!
//! **The normal row.** A gap may close within the step but no more: $u_n^+ \ge -g/h$. What has closed stays: for g ≤ 0,
//! $u_n^+ \ge 0$. Soft contact follows the joints' rule, $u_n^+ = -(\epsilon/h) g - r\lambda$. What overlaps by more
//! than a hundred-thousandth of the smallest shape is parted by a fifth of it per step, at a bounded speed, with
//! velocities that no later step sees: no energy comes from it.
//!
//! **Bouncing.** With $u_n^-$ and the acceleration a of the point without impulses, the impact comes at the time τ with
//! $g + u_n^-\tau + \tfrac12 a\tau^2 = 0$, at the speed $u_\tau = u_n^- + a\tau$, and leaves at $-e\,u_\tau$. So the row
//! asks for $u_n^+ = u_n^- + a h - (1+e)\,u_\tau$, and a body that does nothing but bounce moves by
//! $h v^- + \tfrac12 h^2 M^{-1}F + \sum (h-\tau)\,\Delta v$: a ball on the floor keeps its energy to rounding at any h.
//! Bodies that touch nothing move on their parabola. Where simultaneous impacts with friction would add energy, they
//! bounce less (see `energy`).
//!
//! Book: "Contact by impulses".

mod clusters;
mod dense;
mod detect;
mod direct;
mod dormant;
mod drift;
mod energy;
mod faces;
mod halves;
mod islands;
mod lanes;
mod mix;
mod particles;
mod passing;
mod pile;
mod rest;
mod robots;
mod rows;
mod sleep;
mod sweep;
mod swift;
#[cfg(test)]
mod tests;
mod ties;
mod together;
mod tree_lanes;
mod trees;
mod units;

use super::{Impulse, ImpulseWork};
use crate::collide::rigid::Detector;
use crate::contact::{Part, TouchLaw, TouchModel};
use crate::math::{Pose, Vec3};
use crate::model::Model;
use crate::state::{ContactPoint, State};
use crate::step::{StepError, StepReport, Workspace};
use islands::Islands;
pub(super) use sleep::all_asleep;
use sweep::{Contact, Field, Spin};

/// Laws of so many materials are looked up.
const MANY_MATERIALS: usize = 64;
/// What stands in no list.
const NONE: u32 = u32::MAX;

/// What a contact remembers beside the numbers of the sweeps.
#[derive(Debug, Clone, Copy)]
struct Info {
    a: u32,
    b: u32,
    part: u32,
    feature: u32,
    point: Vec3,
    gap: f64,
    /// Slots of its two bodies, trees of robots behind bodies; `NONE` for the world.
    nodes: [u32; 2],
    /// Links of its two bodies; `NONE` for other bodies.
    links: [u32; 2],
    /// Time of the impact, if it is one; negative otherwise \[s\].
    impact: f64,
    /// How fast its points were, against what it asks for \[m/s\].
    speed: f64,
    /// True if a spring and damper hold it, so that overlap is its business.
    soft: bool,
    /// Place among the contacts in the order of detection.
    place: u32,
    /// Number of its meeting.
    meeting: u32,
}

/// Two colliders that are near each other.
#[derive(Debug, Clone, Copy)]
struct Meeting {
    /// As in [`Info`]; twice `NONE` if nothing comes of it.
    nodes: [u32; 2],
    law: TouchLaw,
}

/// Bodies that answer together: an island of joints, or a tree of a robot.
#[derive(Debug, Clone, Copy, Default)]
struct Cluster {
    /// First velocity in `Field::x`.
    first: u32,
    /// Velocities.
    len: u32,
    /// Some contact touches it.
    touched: bool,
    /// All contacts that touch it are among these, `from..to`.
    from: u32,
    to: u32,
}

/// Buffers of contact.
#[derive(Debug, Default)]
pub(super) struct ContactWork {
    /// The contacts that a step began with, while the state has those that it made.
    lent: Vec<ContactPoint>,
    made_for: Option<[usize; 4]>,
    detector: Detector,
    poses: Vec<Pose>,
    reach: Vec<f64>,
    /// Radius of each part about its centre of mass \[m\].
    radius: Vec<f64>,
    /// Slot of each rigid body, of each particle.
    slot_rigid: Vec<u32>,
    slot_particle: Vec<u32>,
    /// Where the velocities of each slot begin in v.
    place: Vec<usize>,
    /// Cluster of each slot; `NONE` for bodies by themselves.
    cluster_of: Vec<u32>,
    /// Islands of joints first, then trees of robots.
    clusters: Vec<Cluster>,
    field: Field,
    /// Velocities at the start of the step, and without contacts.
    start: Vec<f64>,
    free: Vec<f64>,
    contacts: Vec<Contact>,
    sorted: Vec<Contact>,
    sorted_info: Vec<Info>,
    cursor: Vec<u32>,
    order: Vec<u32>,
    mixer: mix::Mixer,
    direct: direct::Direct,
    dense: dense::Dense,
    change: Vec<Vec3>,
    /// Impulses and angular impulses of the best sweep so far.
    best: Vec<[Vec3; 2]>,
    info: Vec<Info>,
    /// Points of robots that stay apart.
    dormant: Vec<(Contact, Info)>,
    spins: Vec<Spin>,
    /// Rows of robots with bounds, and those of the island that is solved.
    bound_rows: Vec<rows::BoundRow>,
    rows_at_hand: Vec<u32>,
    islands: Islands,
    meetings: Vec<Meeting>,
    together: together::Together,
    /// Islands whose impulses did not converge.
    unsolved: Vec<bool>,
    /// Laws of all pairs of materials, row by row; empty if there are many materials.
    laws: Vec<TouchLaw>,
    pile: pile::Pile,
    trees: trees::Trees,
    sleepers: sleep::Sleepers,
    /// Position-only velocities.
    push: Vec<f64>,
    pushes: Vec<f64>,
    impulses: Vec<f64>,
    /// How the normal rates of an island of links answer to each other, and the rates.
    part_matrix: Vec<f64>,
    part_rates: Vec<f64>,
    /// How the bounded rows of each cluster stand.
    stands: Vec<Vec<super::Stand>>,
    /// Forces without contacts.
    f_free: Vec<f64>,
    /// Per slot: what the contacts of this step did to a body.
    moved: Vec<Moved>,
    robots: robots::RobotRoom,
    /// Robots were solved under the impulses as they are.
    fresh: bool,
    /// Fast bodies and what they pass.
    passing: passing::Passing,
}

/// What contacts did to a body by itself.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Moved {
    /// Some contact other than an impact holds it.
    held: bool,
    /// Way that the kicks of impacts make from their times on \[m\].
    late: Vec3,
}

impl Impulse {
    /// One inner step with contacts.
    pub(super) fn substep_touching(
        &self,
        touch: &TouchModel,
        model: &Model,
        state: &mut State,
        h: f64,
        work: &mut Workspace,
        report: &mut StepReport,
    ) -> Result<(), StepError> {
        let Workspace { f, impulse: own, .. } = work;
        f.resize(model.layout.len_v(), 0.0);
        model.forces_into(state.time, &state.q, &state.v, &state.applied, f);
        own.prepare(model);
        let mut c = own.contact.take().unwrap_or_default();
        c.prepare(touch, model, own);
        let done = c.step(self, touch, model, state, f, h, own, report);
        own.contact = Some(c);
        done
    }
}

impl ContactWork {
    fn step(
        &mut self,
        settings: &Impulse,
        touch: &TouchModel,
        model: &Model,
        state: &mut State,
        f: &mut [f64],
        h: f64,
        own: &mut ImpulseWork,
        report: &mut StepReport,
    ) -> Result<(), StepError> {
        self.find_sleepers(settings, touch, model, state);
        loop {
            self.load(touch, model, state, f, h);
            self.detector.update_awake(&touch.colliders, &self.poses, &self.reach, &self.sleepers.parts);
            if !self.wake_touched(touch) {
                break;
            }
        }
        self.keep_sleeping_contacts(touch, state);
        self.trees.allowed = settings.projection && !state.broken.contains(&true);
        self.f_free.clear();
        self.f_free.extend_from_slice(f);
        self.look_ahead(touch, model, state, h);
        let mut all = self.velocities(settings, touch, model, state, f, h, own)?;
        while self.look_again(touch, model, state, h) {
            f.copy_from_slice(&self.f_free);
            self.load(touch, model, state, f, h);
            all = self.velocities(settings, touch, model, state, f, h, own)?;
        }
        self.part_overlaps(settings, touch, model, h);
        self.conclude(settings, touch, model, state, f, h, own, &mut all)?;
        let least = self.remember(state, h);
        self.fall_asleep(settings, touch, model, state, h);
        report.weak_rows = report.weak_rows.max(all.weak_rows);
        report.projections += all.projections;
        report.contacts = report.contacts.max(all.contacts);
        let infos = self.info.iter().chain(self.dormant.iter().map(|(_, info)| info));
        report.smallest_gap = infos.fold(least, |least, i| least.min(i.gap));
        report.add_worst(&StepReport { projections: 0, ..all });
        Ok(())
    }

    /// Velocities and impulses of all that the detector has found, left-out points of robots among it.
    fn velocities(
        &mut self,
        settings: &Impulse,
        touch: &TouchModel,
        model: &Model,
        state: &State,
        f: &mut [f64],
        h: f64,
        own: &mut ImpulseWork,
    ) -> Result<StepReport, StepError> {
        self.detect(touch, model, state, h);
        self.set_aside(touch, model, h);
        let mut all = StepReport::default();
        let slow = settings.tolerance * h * model.gravity.norm();
        for time in 1..=dormant::MOST_TIMES {
            self.sort_by_island();
            all = StepReport::default();
            self.rounds(settings, touch, model, state, f, h, own, &mut all)?;
            if !self.take_in(touch, model, h, slow, time + 1 == dormant::MOST_TIMES) {
                break;
            }
        }
        self.bound_energy(settings, touch, model, h, &mut all);
        if !self.pile.is_empty() {
            self.solve_pile(settings, touch, model, state, h, own, &mut all);
        }
        Ok(all)
    }

    /// Velocities and impulses, clusters and contacts in turn until no row of a cluster changes its mind.
    fn rounds(
        &mut self,
        settings: &Impulse,
        touch: &TouchModel,
        model: &Model,
        state: &State,
        f: &mut [f64],
        h: f64,
        own: &mut ImpulseWork,
        report: &mut StepReport,
    ) -> Result<(), StepError> {
        for round in 0.. {
            let again = self.answer_clusters(settings, touch, model, state, f, h, round, own, report)?;
            self.fresh = round > 0 && !again;
            if self.fresh {
                break;
            }
            if round == 0 {
                self.finish_contacts(settings, model, h);
            } else {
                self.refresh_contacts();
            }
            self.solve(settings, model, h, report);
            if round >= clusters::MOST_ROUNDS || !self.clusters.iter().any(|c| c.touched) {
                break;
            }
        }
        Ok(())
    }

    /// Room, and who lives where; once.
    fn prepare(&mut self, touch: &TouchModel, model: &Model, own: &ImpulseWork) {
        let layout = &model.layout;
        let made_for = [layout.constraints, layout.nv, touch.colliders.len(), model.robots.len()];
        if self.made_for == Some(made_for) {
            return;
        }
        *self = Self { made_for: Some(made_for), ..Self::default() };
        for &(a, b) in &touch.excluded {
            self.detector.exclude(a, b);
        }
        if touch.materials.len() <= MANY_MATERIALS {
            let pairs = touch.materials.iter().flat_map(|a| touch.materials.iter().map(move |b| (a, b)));
            self.laws = pairs.map(|(a, b)| touch.law_between(a, b, None)).collect();
        }
        self.slot_rigid = vec![NONE; layout.rigid];
        self.slot_particle = vec![NONE; layout.particles];
        self.place_bodies(touch, model, own);
        self.trees.find(&own.islands, model);
        self.radius = vec![0.0; touch.parts.len()];
        for collider in touch.colliders.iter().filter(|c| (c.body as usize) < touch.parts.len()) {
            let size = collider.shape.bounds(&collider.pose, 0.0);
            let center = match touch.parts[collider.body as usize] {
                Part::Rigid(k) => model.rigid.center[k as usize],
                Part::Particle(_) | Part::Link { .. } => Vec3::zeros(),
            };
            let far =
                Vec3::from_fn(|k, _| (size.high[k] - center[k]).abs().max((size.low[k] - center[k]).abs()));
            let radius = &mut self.radius[collider.body as usize];
            *radius = radius.max(far.norm());
        }
        let sizes = self.radius.iter().copied().filter(|r| *r > 0.0);
        self.passing.smallest = sizes.fold(f64::INFINITY, f64::min);
    }

    /// Slots: islands of joints first, each in one piece, then bodies by themselves, then robots.
    fn place_bodies(&mut self, touch: &TouchModel, model: &Model, own: &ImpulseWork) {
        use crate::joints::Holder;
        let mut next = 0u32;
        for (i, island) in own.islands.iter().enumerate() {
            let first = next;
            for node in &island.nodes {
                match node.holder {
                    Holder::Rigid(k) => self.slot_rigid[k as usize] = next,
                    Holder::Particle(k) => self.slot_particle[k as usize] = next,
                    Holder::World => {}
                }
                self.cluster_of.push(i as u32);
                next += 1;
            }
            self.clusters.push(Cluster { first: 6 * first, len: 6 * (next - first), ..Cluster::default() });
        }
        let mut take = |slot: &mut u32, cluster_of: &mut Vec<u32>| {
            if *slot == NONE {
                *slot = next;
                cluster_of.push(NONE);
                next += 1;
            }
        };
        for slot in &mut self.slot_rigid {
            take(slot, &mut self.cluster_of);
        }
        for part in &touch.parts {
            if let Part::Particle(i) = part {
                take(&mut self.slot_particle[*i as usize], &mut self.cluster_of);
            }
        }
        self.place = vec![0; next as usize];
        for (k, &slot) in self.slot_rigid.iter().enumerate() {
            self.place[slot as usize] = 6 * k;
        }
        for (i, &slot) in self.slot_particle.iter().enumerate().filter(|(_, s)| **s != NONE) {
            self.place[slot as usize] = model.layout.points_v() + 3 * i;
        }
        let first = self.robots.fit(model, 6 * next, &mut self.clusters);
        self.field.x.resize(first as usize, 0.0);
    }

    /// Number of islands of joints: the clusters behind them are those of robots.
    fn joint_islands(&self) -> usize {
        self.clusters.len() - self.robots.groups()
    }

    /// Number of slots of bodies and particles.
    fn slots(&self) -> usize {
        self.cluster_of.len()
    }
}
