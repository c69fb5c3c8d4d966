//! Everything that changes, and everything needed to resume with the same bits.

mod contact_point;
mod drive;
mod ids;
mod layout;

pub use contact_point::ContactPoint;
pub use drive::Drive;
pub use ids::{PointId, PointSet};
pub use layout::{Block, BlockKind, Layout};

use crate::math::{Vec3, add_triple, triple};
use crate::solve::ode::Controller;

/// Time, coordinates, velocities, and the memory of adaptive step sizes.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct State {
    /// Time t \[s\].
    pub time: f64,
    /// What rounding took from `time` so far \[s\]; keeps a million steps of 1 ms at 1000 s.
    pub time_rest: f64,
    /// Steps taken.
    pub steps: u64,
    /// Coordinates: free ones, then carried points, then robots.
    pub q: Vec<f64>,
    /// Velocities: free ones, then carried points, then robots.
    pub v: Vec<f64>,
    /// Step size and error that an adaptive integrator remembers; under `ipc` the step d of the scheme in the last step,
    /// with which its forces of contact are read.
    pub controller: Controller,
    /// Multipliers λ of the last step, six per constraint \[N or N·m\]; unused rows are 0.
    pub lambda: Vec<f64>,
    /// Where each unwrapped joint coordinate stood last \[rad or m\].
    pub turns: Vec<f64>,
    /// Which joints have broken.
    pub broken: Vec<bool>,
    /// The step before, for methods that look back: its h \[s\], free q, free v. Empty, or h = 0, if there is none.
    pub before: Vec<f64>,
    /// Activations of the actuators of robots that have one.
    pub activation: Vec<f64>,
    /// Controls of the actuators of robots: an input, which acts until it is set anew.
    pub control: Vec<f64>,
    /// Forces on the dofs of robots from outside \[N·m or N\]: an input, which acts until it is set anew.
    pub robot_force: Vec<f64>,
    /// Mean accelerations of the dofs of robots in the last step, which sensors read.
    pub robot_acceleration: Vec<f64>,
    /// Forces of the actuators of robots in the last step \[N·m or N\].
    pub actuator_force: Vec<f64>,
    /// Points of contact of the last step of `impulse`, sorted by colliders.
    pub contacts: Vec<ContactPoint>,
    /// For how long each body has been at rest \[s\], where bodies may fall asleep; negative if it sleeps. The bodies
    /// are those of the [`ContactGeometry`](crate::contact::potential::ContactGeometry); empty if none may sleep. Whoever moves a sleeping body by hand
    /// sets its number to 0.
    pub rest: Vec<f64>,
    /// Forces from outside, laid out like v \[N or N·m\]; empty for none. Those on robots stand in
    /// [`robot_force`](Self::robot_force), and here they have no effect. They act
    /// unchanged until they are set anew. An input, not a part of what [`pack`](Self::pack) saves.
    pub applied: Vec<f64>,
    /// Mass and increments of each articulation that a caller drives, by the number of the articulation; an input as
    /// well. Those that robots of the scene drive are left as they are.
    pub drives: Vec<Drive>,
}

/// A packed state does not fit the model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the saved state holds {found} numbers, this scene needs {needed}")]
pub struct StateMismatch {
    /// Numbers found.
    pub found: usize,
    /// Numbers needed.
    pub needed: usize,
}

/// Numbers before q in a packed state.
const HEAD: usize = 5;

impl State {
    /// At time 0, all coordinates and velocities zero.
    pub fn new(layout: &Layout) -> Self {
        Self {
            time: 0.0,
            time_rest: 0.0,
            steps: 0,
            q: vec![0.0; layout.len_q()],
            v: vec![0.0; layout.len_v()],
            controller: Controller::default(),
            lambda: vec![0.0; 6 * layout.constraints],
            turns: vec![0.0; layout.turns],
            broken: vec![false; layout.joints],
            before: Vec::new(),
            activation: vec![0.0; layout.activations],
            control: vec![0.0; layout.actuators],
            robot_force: vec![0.0; layout.robot_v],
            robot_acceleration: vec![0.0; layout.robot_v],
            actuator_force: vec![0.0; layout.actuators],
            contacts: Vec::new(),
            rest: Vec::new(),
            applied: Vec::new(),
            drives: Vec::new(),
        }
    }

    /// Becomes equal to another state without taking memory if it has enough.
    pub fn copy_from(&mut self, other: &State) {
        self.copy_but_contacts(other);
        self.contacts.clone_from(&other.contacts);
    }

    /// The same, and [`contacts`](Self::contacts) stay as they are.
    pub(crate) fn copy_but_contacts(&mut self, other: &State) {
        (self.time, self.time_rest, self.steps) = (other.time, other.time_rest, other.steps);
        self.controller = other.controller;
        self.q.clone_from(&other.q);
        self.v.clone_from(&other.v);
        self.lambda.clone_from(&other.lambda);
        self.turns.clone_from(&other.turns);
        self.broken.clone_from(&other.broken);
        self.before.clone_from(&other.before);
        self.activation.clone_from(&other.activation);
        self.control.clone_from(&other.control);
        self.robot_force.clone_from(&other.robot_force);
        self.robot_acceleration.clone_from(&other.robot_acceleration);
        self.actuator_force.clone_from(&other.actuator_force);
        self.rest.clone_from(&other.rest);
        self.applied.clone_from(&other.applied);
        self.drives.clone_from(&other.drives);
    }

    /// Adds a force \[N\] from outside at a point, until it is taken away by clearing [`applied`](Self::applied).
    pub fn push_point(&mut self, layout: &Layout, point: PointId, force: &Vec3) {
        self.applied.resize(layout.len_v(), 0.0);
        add_triple(&mut self.applied[layout.points_v()..], point.index(), force);
    }

    /// Adds a force \[N\] from outside at a place \[m\] of rigid body `k`, until [`applied`](Self::applied) is cleared.
    pub fn push_rigid(&mut self, layout: &Layout, k: usize, at: &Vec3, force: &Vec3) {
        self.applied.resize(layout.len_v(), 0.0);
        let arm = at - triple(&self.q[7 * k..], 0);
        add_triple(&mut self.applied, 2 * k, force);
        add_triple(&mut self.applied, 2 * k + 1, &arm.cross(force));
    }

    /// Forces from outside on all but robots; none if none were set.
    pub(crate) fn pushes(&self, layout: &Layout) -> &[f64] {
        &self.applied[..self.applied.len().min(layout.robots_v())]
    }

    /// Remembers coordinates and velocities at the start of a step of h seconds.
    pub(crate) fn remember(&mut self, layout: &Layout, q: &[f64], v: &[f64], h: f64) {
        self.before.clear();
        self.before.push(h);
        self.before.extend_from_slice(&q[..layout.nq]);
        self.before.extend_from_slice(&v[..layout.nv]);
    }

    /// Free q and v at the start of the step before, if that was h seconds long.
    pub(crate) fn remembered(&self, layout: &Layout, h: f64) -> Option<(&[f64], &[f64])> {
        let same = |past: f64| (past - h).abs() <= 1e-12 * h;
        let fits = self.before.len() == 1 + layout.nq + layout.nv && same(self.before[0]);
        fits.then(|| self.before[1..].split_at(layout.nq))
    }

    /// Moves time on by `h` seconds (compensated sum) and counts the step.
    pub(crate) fn advance_time(&mut self, h: f64) {
        let add = h - self.time_rest;
        let sum = self.time + add;
        self.time_rest = (sum - self.time) - add;
        self.time = sum;
        self.steps += 1;
    }

    /// The time that [`advance_time`](Self::advance_time) will give.
    pub(crate) fn time_after(&self, h: f64) -> f64 {
        self.time + (h - self.time_rest)
    }

    /// Length of a packed state without contacts; those are behind it.
    pub fn packed_len(layout: &Layout) -> usize {
        let before = if layout.looks_back { 1 + layout.nq + layout.nv } else { 0 };
        HEAD + layout.nq
            + layout.nv
            + layout.robot_q
            + layout.robot_v
            + layout.robot_lists()
            + 6 * layout.constraints
            + layout.turns
            + layout.joints
            + before
    }

    /// Writes all that must be saved to go on with the same bits: time, its rest, step count, controller, q and v (free, then of
    /// robots), λ, turns, broken joints; activation, control, forces from outside, accelerations and actuator forces of robots; the
    /// step before if the layout looks back; times at rest and contacts if there are any.
    pub fn pack(&self, layout: &Layout, out: &mut Vec<f64>) {
        out.clear();
        out.extend_from_slice(&[
            self.time,
            self.time_rest,
            self.steps as f64,
            self.controller.h,
            self.controller.previous_error,
        ]);
        out.extend_from_slice(&self.q[..layout.nq]);
        out.extend_from_slice(&self.q[layout.robots_q()..]);
        out.extend_from_slice(&self.v[..layout.nv]);
        out.extend_from_slice(&self.v[layout.robots_v()..]);
        out.extend_from_slice(&self.lambda);
        out.extend_from_slice(&self.turns);
        out.extend(self.broken.iter().map(|&b| f64::from(u8::from(b))));
        for list in self.robot_lists() {
            out.extend_from_slice(list);
        }
        if layout.looks_back {
            out.extend_from_slice(&self.before);
            out.resize(Self::packed_len(layout), 0.0);
        }
        if !self.contacts.is_empty() || !self.rest.is_empty() {
            out.push(self.rest.len() as f64);
            out.extend_from_slice(&self.rest);
            self.contacts.iter().for_each(|c| c.pack(out));
        }
    }

    /// Reads what [`pack`](Self::pack) wrote. Carried points are not in it:
    /// [`Model::settle`](crate::model::Model::settle) brings them up to date.
    pub fn unpack(layout: &Layout, packed: &[f64]) -> Result<Self, StateMismatch> {
        let needed = Self::packed_len(layout);
        let mismatch = StateMismatch { found: packed.len(), needed };
        let (packed, contacts) = packed.split_at_checked(needed).ok_or(mismatch.clone())?;
        let mut state = Self::new(layout);
        state.time = packed[0];
        state.time_rest = packed[1];
        state.steps = packed[2] as u64;
        state.controller = Controller { h: packed[3], previous_error: packed[4] };
        let mut before = &packed[HEAD..];
        let mut take = |out: &mut [f64]| {
            let (now, later) = before.split_at(out.len());
            out.copy_from_slice(now);
            before = later;
        };
        take(&mut state.q[..layout.nq]);
        take(&mut state.q[layout.robots_q()..]);
        take(&mut state.v[..layout.nv]);
        take(&mut state.v[layout.robots_v()..]);
        take(&mut state.lambda);
        take(&mut state.turns);
        for b in &mut state.broken {
            let mut number = [0.0];
            take(&mut number);
            *b = number != [0.0];
        }
        state.robot_lists_mut().into_iter().for_each(take);
        if before.first().is_some_and(|h| *h > 0.0) {
            state.before.extend_from_slice(before);
        }
        if let Some((&count, behind)) = contacts.split_first() {
            let fits = count >= 0.0
                && count <= behind.len() as f64
                && count <= layout.rigid.max(layout.points) as f64;
            let (rest, points) = behind.split_at(if fits { count as usize } else { 0 });
            let (points, left) = points.as_chunks::<{ ContactPoint::NUMBERS }>();
            if !fits || !left.is_empty() {
                return Err(mismatch);
            }
            state.rest.extend_from_slice(rest);
            state.contacts.extend(points.iter().map(ContactPoint::unpack));
        }
        Ok(state)
    }

    /// A 64-bit hash (FNV-1a over 64-bit words) of the [packed](Self::pack) state: runs with the same bits have the same.
    pub fn fingerprint(&self, layout: &Layout) -> u64 {
        let mut packed = Vec::new();
        self.pack(layout, &mut packed);
        packed
            .iter()
            .fold(0xcbf2_9ce4_8422_2325, |hash, x| (hash ^ x.to_bits()).wrapping_mul(0x100_0000_01b3))
    }

    /// Where the coordinates of a packed state begin: free ones, then those of robots.
    pub fn packed_q(_layout: &Layout) -> usize {
        HEAD
    }

    /// Where the velocities of a packed state begin: free ones, then those of robots.
    pub fn packed_v(layout: &Layout) -> usize {
        HEAD + layout.nq + layout.robot_q
    }

    /// Where the lists of robots of a packed state begin: activation, control, forces from outside, accelerations and actuator
    /// forces.
    pub fn packed_robots(layout: &Layout) -> usize {
        let multipliers = 6 * layout.constraints + layout.turns + layout.joints;
        Self::packed_v(layout) + layout.nv + layout.robot_v + multipliers
    }

    /// What robots have besides q and v, in the order of [`pack`](Self::pack).
    pub fn robot_lists(&self) -> [&[f64]; 5] {
        [&self.activation, &self.control, &self.robot_force, &self.robot_acceleration, &self.actuator_force]
    }

    /// The same, to be written.
    pub fn robot_lists_mut(&mut self) -> [&mut [f64]; 5] {
        [
            &mut self.activation,
            &mut self.control,
            &mut self.robot_force,
            &mut self.robot_acceleration,
            &mut self.actuator_force,
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_million_milliseconds_are_a_thousand_seconds() {
        let mut state = State::new(&Layout::default());
        for _ in 0..1_000_000 {
            let ahead = state.time_after(1e-3);
            state.advance_time(1e-3);
            assert_eq!(ahead, state.time);
        }
        assert_eq!(state.time, 1000.0);
    }
}
