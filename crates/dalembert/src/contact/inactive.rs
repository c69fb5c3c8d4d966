//! Inactive contacts: points near links of robots that do not come into play.
//!
//! Detection reports every point that may meet another within the step, and of a robot that lies on the floor most do not.
//! A point that bore nothing in the step before and stays apart if all goes on as it did, with part of a fall to spare,
//! is deactivated: no rows of J, no responses. When the velocities are found the inactive points are looked at, and where a gap
//! would close by more than there is of it, $u_n^+ < -g/h$ (a soft one: $-\epsilon g/h$, where its damper begins), the point is
//! activated and the step is solved again. So the solution is that of all points.

use super::problem::{Contact, ContactInfo, ContactProblem};
use super::response::Responder;
use super::softness::Compliance;
use super::warm_start;
use crate::joints::Softness;
use crate::math::Vec3;
use crate::state::ContactPoint;

/// A point is deactivated if what is left of its gap is larger than a fall in a step by this factor.
const SPARE: f64 = 0.2;
/// Times that points may be activated; the last time all are.
pub(crate) const MOST_TIMES: u32 = 6;

/// Inactive contacts, and buffers.
#[derive(Debug, Default)]
pub(crate) struct InactiveContacts {
    pub(crate) contacts: Vec<(Contact, ContactInfo)>,
    all: Vec<(Contact, ContactInfo)>,
    found: Vec<bool>,
}

impl InactiveContacts {
    /// Leaves out what stays apart.
    pub(crate) fn deactivate(&mut self, problem: &mut ContactProblem) {
        self.contacts.clear();
        if problem.robots.groups.is_empty() {
            return;
        }
        let spare = SPARE * problem.h * problem.h * problem.gravity;
        let mut kept = 0;
        for k in 0..problem.contacts.len() {
            let (c, info) = (problem.contacts[k], problem.info[k]);
            if is_idle(problem, &c, &info) && gap_left(problem, &c, &info) > spare {
                self.contacts.push((c, info));
            } else {
                (problem.contacts[kept], problem.info[kept]) = (c, info);
                kept += 1;
            }
        }
        problem.contacts.truncate(kept);
        problem.info.truncate(kept);
    }

    /// Activates those that the velocities found would bring into each other by more than `speed` times h; all if there
    /// is one and it is the `last` time. True if there were any.
    pub(crate) fn activate(&mut self, problem: &mut ContactProblem, speed: f64, last: bool) -> bool {
        if self.contacts.is_empty() {
            return false;
        }
        problem.robots.load_velocities(&problem.x);
        let meets = |(c, info): &(Contact, ContactInfo)| gap_left(problem, c, info) < -problem.h * speed;
        self.found.clear();
        self.found.extend(self.contacts.iter().map(meets));
        if !self.found.contains(&true) {
            return false;
        }
        self.all.clear();
        self.all.extend(problem.contacts.iter().copied().zip(problem.info.iter().copied()));
        let mut found = self.found.iter().map(|found| *found || last);
        self.contacts.retain(|one| {
            let active = found.next() == Some(true);
            self.all.extend(active.then_some(*one));
            !active
        });
        // In the order of detection.
        self.all.sort_unstable_by_key(|(_, info)| info.place);
        problem.contacts.clear();
        problem.info.clear();
        problem.contacts.extend(self.all.iter().map(|(c, _)| Contact { softness: 0.0, ..*c }));
        problem.info.extend(self.all.iter().map(|(_, info)| ContactInfo { impact: -1.0, ..*info }));
        let bodies = 6 * problem.slots();
        problem.x[..bodies].copy_from_slice(&problem.free[..bodies]);
        true
    }

    /// Writes them to their places in the order of detection.
    pub(crate) fn store(&self, problem: &ContactProblem, out: &mut [ContactPoint]) {
        for (c, i) in &self.contacts {
            out[i.place as usize] = warm_start::stored(c, i, problem.impulses_of(c), problem.h);
        }
    }
}

/// Links alone, apart, and without impulses from the step before.
fn is_idle(problem: &ContactProblem, c: &Contact, info: &ContactInfo) -> bool {
    let links = c.sides.iter().all(Responder::is_link_or_world);
    links && info.gap > 0.0 && problem.impulses_of(c) == [Vec3::zeros(); 2]
}

/// What the velocities that the trees have leave of a gap, or of the part of it within which a soft contact yields.
fn gap_left(problem: &ContactProblem, c: &Contact, info: &ContactInfo) -> f64 {
    let h = problem.h;
    let share = match problem.pairs[info.pair as usize].law.compliance {
        Some(Compliance::Gains { kp, kd }) => Softness::from_gains(kp, kd, h).error_reduction,
        Some(Compliance::PerMass { k, b }) => Softness::from_gains(k, b, h).error_reduction,
        None => 1.0,
    };
    let velocity = |s: usize| match problem.group_at(info.nodes[s]) {
        Some(g) => {
            let robot = problem.robots.groups[g].robot;
            problem.robots.point_velocity(robot, info.links[s] as usize, &info.point)
        }
        None => Vec3::zeros(),
    };
    share * info.gap + h * c.normal.dot(&(velocity(0) - velocity(1)))
}
