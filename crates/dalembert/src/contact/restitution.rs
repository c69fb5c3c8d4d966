//! Restitution with friction adds no energy.
//!
//! Newton's law of restitution with Coulomb's friction, and several impacts at once, may ask for more energy than there
//! is (Kane 1984). What the impulses p of an island do to the energy of its bodies is known exactly. With the velocity
//! $v_f$ of a body without impulses, $w = v_f - v_0$ what its forces made of it, and $\tau_c$ the times of the impacts, a
//! body that moves by $\tfrac12 h(v_0+v_f) + \sum_c (h-\tau_c)\,p_c/m$ gains
//!
//! $$ \Delta E = \sum_c p_c\cdot\Big(\frac{u_f + u^+}{2} - \Big(1-\frac{\tau_c}{h}\Big)\,w\Big), $$
//!
//! the second part being the work of constant forces along the displacement by the impacts. A body that other contacts hold, or
//! that would get in the way of another, moves by $h v^+$: there $\tau_c = 0$, and $\tfrac12 m|w|^2$ is lost. Without friction
//! and with e ≤ 1 the impacts alone give $\sum p_n u_\tau (1-e)/2 \le 0$.
//!
//! Where the sum over an island is positive, the island is solved again without restitution. Impulses between the two
//! solutions, $p(s) = p_0 + s\,(p_1 - p_0)$, lie within the cones, keep every gap as open as the two do, and keep the momenta;
//! ΔE is a convex parabola in s, not positive at s = 0, and its root in \[0, 1\] is the largest restitution that adds no energy.
//!
//! Where an island did not converge, its impulses may be anything. If they add energy, they are scaled in the same way,
//! $p(s) = s\,p$: bodies then move into each other by what is missing, but nothing flies off, and later steps separate them.
//! Smaller impulses may put other bodies in the way, which counts too; where that does not end, an island goes without.

use std::ops::Range;

use super::problem::ContactProblem;
use super::response::half_solve::Known;
use super::response::{NONE, Responder};
use super::solver::cascade::{Accuracy, Goal, SolveReport, Solvers};
use crate::math::{Vec3, triple};

/// Settings.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Tuning {
    /// Gains below this part of the work of all impulses are rounding.
    pub(crate) rounding: f64,
    /// How often impulses that did not converge are scaled.
    pub(crate) scalings: u32,
    /// Rounds in which bodies may be found in each other's way.
    pub(crate) held_rounds: u32,
    /// Overlaps below this part of the smallest shape are in nobody's way.
    pub(crate) slop: f64,
}

impl Default for Tuning {
    fn default() -> Self {
        Self { rounding: 1e-12, scalings: 6, held_rounds: 4, slop: 1e-5 }
    }
}

/// How contacts move a body by itself.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct ImpactMotion {
    /// Some contact other than an impact holds it: it moves by h v⁺.
    pub(crate) held: bool,
    /// Displacement by impacts from their times on \[m\].
    pub(crate) late: Vec3,
}

/// How bodies that bounce move, and buffers.
#[derive(Debug, Default)]
pub(crate) struct Restitution {
    tuning: Tuning,
    /// Of each slot.
    pub(crate) moved: Vec<ImpactMotion>,
    /// Slots of particles, which always move by h v⁺.
    pub(crate) particles: Vec<u32>,
    one: Vec<[Vec3; 2]>,
    other: Vec<[Vec3; 2]>,
    between: Vec<[Vec3; 2]>,
    targets: Vec<Vec3>,
    slots: Vec<usize>,
}

impl Restitution {
    /// Lowers restitution where it would add energy; true if impulses have changed.
    pub(crate) fn bound_energy(
        &mut self,
        problem: &mut ContactProblem,
        solvers: &mut Solvers,
        accuracy: &Accuracy,
        report: &mut SolveReport,
    ) -> bool {
        self.find_motion(problem, true);
        let mut lowered = false;
        for i in 0..problem.islands.len() {
            let range = problem.islands.range(i);
            let impact = problem.info[range.clone()].iter().any(|i| i.impact >= 0.0);
            if !impact || has_active_impacts(problem, range.clone()) {
                continue;
            }
            problem.know(range.clone(), Known::Jacobian);
            let (gain, work) = self.gain(problem, range.clone());
            if gain > self.tuning.rounding * work {
                problem.unsolved[i] |= !self.lower(problem, range, solvers, accuracy, report);
                lowered = true;
            }
        }
        if lowered {
            self.find_motion(problem, false);
        }
        // With other impulses other bodies get in the way: a few times, since that counts too.
        for time in 1..=self.tuning.scalings {
            let mut scaled = false;
            for i in 0..problem.islands.len() {
                let range = problem.islands.range(i);
                if problem.unsolved.get(i).is_some_and(|u| *u) && is_passive(problem, range.clone()) {
                    problem.know_columns(range.clone());
                    scaled |= self.scale(problem, range, time == self.tuning.scalings);
                }
            }
            if !scaled {
                break;
            }
            self.find_motion(problem, false);
            lowered = true;
        }
        lowered
    }

    /// Scales impulses of an island that add energy, until they do not; to nothing the `last` time. True if they were.
    fn scale(&mut self, problem: &mut ContactProblem, range: Range<usize>, last: bool) -> bool {
        let (gain, work) = self.gain(problem, range.clone());
        if gain <= self.tuning.rounding * work {
            return false;
        }
        keep_impulses(problem, range.clone(), &mut self.one);
        self.other.clear();
        self.other.resize(range.len(), [Vec3::zeros(); 2]);
        // Bodies by themselves begin from nothing in any case.
        let mut sides = problem.contacts[range.clone()].iter().flat_map(|c| &c.sides);
        let jointed = sides.any(|s| matches!(s, Responder::Jointed(..)));
        let gains = [0.0, 0.5, 1.0].map(|s| self.set_between(problem, range.clone(), s, !jointed));
        self.set_between(problem, range, if last { 0.0 } else { root(gains) }, !jointed);
        true
    }

    /// The impulses of an island with the largest restitution that adds no energy; false if those without were not found.
    fn lower(
        &mut self,
        problem: &mut ContactProblem,
        range: Range<usize>,
        solvers: &mut Solvers,
        accuracy: &Accuracy,
        report: &mut SolveReport,
    ) -> bool {
        problem.know_columns(range.clone());
        keep_impulses(problem, range.clone(), &mut self.one);
        let solved = self.solve_without(problem, range.clone(), solvers, accuracy, report);
        // Who is held by one of the two is held in between.
        self.find_motion(problem, false);
        keep_impulses(problem, range.clone(), &mut self.other);
        let gains = [0.0, 0.5, 1.0].map(|s| self.set_between(problem, range.clone(), s, false));
        self.set_between(problem, range, root(gains), false);
        solved
    }

    /// Sets the impulses `other + s (one − other)`, from nothing if asked; returns what they gain.
    fn set_between(&mut self, problem: &mut ContactProblem, range: Range<usize>, s: f64, anew: bool) -> f64 {
        if anew {
            problem.clear_impulses(range.clone());
        }
        let mix = |a: &Vec3, b: &Vec3| a + s * (b - a);
        self.between.clear();
        let both = self.other.iter().zip(&self.one);
        self.between.extend(both.map(|(a, b)| [mix(&a[0], &b[0]), mix(&a[1], &b[1])]));
        problem.set_impulses(range.clone(), &self.between);
        self.gain(problem, range).0
    }

    /// ΔE of the impulses as they are and the sum of all works without their signs \[J\].
    fn gain(&mut self, problem: &ContactProblem, range: Range<usize>) -> (f64, f64) {
        let ContactProblem { responses, free, start, x, h, .. } = problem;
        let (mut sum, mut size) = (0.0, 0.0);
        for (c, info) in problem.contacts[range.clone()].iter().zip(&problem.info[range.clone()]) {
            for (s, side) in c.sides.iter().enumerate() {
                let p = if s == 0 { c.impulse } else { -c.impulse };
                let velocity = |x: &[f64]| responses.velocity(x, side, &c.arms[s]);
                let mean = 0.5 * (velocity(free) + velocity(x));
                let mut falls = Vec3::zeros();
                if let Responder::Body(at) = *side {
                    let slot = at as usize / 6;
                    let w = triple(free, 2 * slot) - triple(start, 2 * slot);
                    let late = if self.moved[slot].held { 1.0 } else { 1.0 - info.impact.max(0.0) / h };
                    falls = late * w;
                }
                sum += p.dot(&(mean - falls));
                size += p.dot(&mean).abs();
            }
            if c.spin != NONE {
                let turn = |x: &[f64]| c.relative_angular_velocity(responses, x);
                sum += 0.5 * problem.spins[c.spin as usize].impulse.dot(&(turn(free) + turn(x)));
            }
        }
        (sum - self.lost_by_holding(problem, range), size)
    }

    /// ½ m w² of the bodies that are held, each once.
    fn lost_by_holding(&mut self, problem: &ContactProblem, range: Range<usize>) -> f64 {
        let Self { slots, moved, .. } = self;
        slots.clear();
        for side in problem.contacts[range].iter().flat_map(|c| c.sides) {
            if let Responder::Body(at) = side
                && moved[at as usize / 6].held
            {
                slots.push(at as usize / 6);
            }
        }
        slots.sort_unstable();
        slots.dedup();
        let lost = |slot: &usize| {
            let w = triple(&problem.free, 2 * slot) - triple(&problem.start, 2 * slot);
            0.5 * w.norm_squared() / problem.responses.inverse[*slot].mass
        };
        slots.iter().map(lost).sum()
    }

    /// Solves an island with restitution zero; false if that was not finished.
    fn solve_without(
        &mut self,
        problem: &mut ContactProblem,
        range: Range<usize>,
        solvers: &mut Solvers,
        accuracy: &Accuracy,
        report: &mut SolveReport,
    ) -> bool {
        self.targets.clear();
        self.targets.extend(problem.contacts[range.clone()].iter().map(|c| c.target));
        let mut scale = problem.fall_speed();
        let ContactProblem { responses, start, free, h, contacts, info, .. } = &mut *problem;
        for (c, info) in contacts[range.clone()].iter_mut().zip(&info[range.clone()]) {
            if info.impact >= 0.0 {
                let n = c.normal;
                let before = n.dot(&c.relative_velocity(responses, start));
                let rate = n.dot(&c.relative_velocity(responses, free));
                // rate − u_τ: at rest at the time of the impact.
                let dead = (rate - before) * (1.0 - info.impact / *h);
                c.target += (dead - n.dot(&c.target)) * n;
                scale = scale.max(-before);
            }
        }
        let scale = scale.max(1e-12);
        let tolerance = accuracy.tolerance * scale;
        let goal = Goal { scale, tolerance, fine: tolerance, most_sweeps: accuracy.most_sweeps };
        // All columns are known: what robots alone would do without them is not tried.
        let solved =
            solvers.solve_range(problem, range.clone(), &goal, Some(f64::INFINITY)).left <= tolerance;
        report.unfinished |= !solved;
        let contacts = problem.contacts[range].iter_mut();
        contacts.zip(&self.targets).for_each(|(c, target)| c.target = *target);
        solved
    }

    /// How contacts move each body by itself. Bodies that were found held before stay so unless `anew`.
    fn find_motion(&mut self, problem: &ContactProblem, anew: bool) {
        let h = problem.h;
        if anew {
            self.moved.clear();
        }
        self.moved.resize(problem.slots(), ImpactMotion::default());
        self.moved.iter_mut().for_each(|m| m.late = Vec3::zeros());
        for slot in &self.particles {
            self.moved[*slot as usize].held = true;
        }
        for (c, info) in problem.contacts.iter().zip(&problem.info) {
            if c.impulse == Vec3::zeros() {
                continue;
            }
            for (side, sign) in c.sides.iter().zip([1.0, -1.0]) {
                if let Responder::Body(at) = *side {
                    let slot = at as usize / 6;
                    let moved = &mut self.moved[slot];
                    moved.held |= info.impact < 0.0;
                    let late = h - info.impact.max(0.0);
                    moved.late += (late * sign * problem.responses.inverse[slot].mass) * c.impulse;
                }
            }
        }
        // An impact leaves less displacement than h v⁺: whoever would be in the way of another moves by h v⁺.
        let slop = self.tuning.slop * problem.length;
        for _ in 0..self.tuning.held_rounds {
            let mut found = false;
            for (c, info) in problem.contacts.iter().zip(&problem.info) {
                if !c.sides.iter().any(|s| matches!(s, Responder::Body(_))) {
                    continue;
                }
                let moves = |s: usize| self.displacement(problem, &c.sides[s], &c.arms[s]);
                let relative = moves(0) - moves(1);
                if info.soft || info.gap.max(0.0) + c.normal.dot(&relative) >= -slop {
                    continue;
                }
                for side in &c.sides {
                    if let Responder::Body(at) = *side {
                        let held = &mut self.moved[at as usize / 6].held;
                        found |= !*held;
                        *held = true;
                    }
                }
            }
            if !found {
                break;
            }
        }
    }

    /// How far the point of one side moves in the step.
    fn displacement(&self, problem: &ContactProblem, side: &Responder, arm: &Vec3) -> Vec3 {
        let h = problem.h;
        let end = h * problem.responses.velocity(&problem.x, side, arm);
        match *side {
            Responder::Body(at) if !self.moved[at as usize / 6].held => {
                let slot = at as usize / 6;
                let of = |x: &[f64]| triple(x, 2 * slot);
                let middle = 0.5 * (of(&problem.start) + of(&problem.free));
                end + h * (middle - of(&problem.x)) + self.moved[slot].late
            }
            _ => end,
        }
    }
}

/// True if some impact of an island has a restitution above one.
fn has_active_impacts(problem: &ContactProblem, range: Range<usize>) -> bool {
    problem.info[range]
        .iter()
        .any(|i| i.impact >= 0.0 && problem.pairs[i.pair as usize].law.restitution > 1.0)
}

/// True if nothing drives the contacts of an island: no belts, no restitution above one.
fn is_passive(problem: &ContactProblem, range: Range<usize>) -> bool {
    let still = problem.contacts[range.clone()].iter().all(|c| {
        let along = c.target - c.normal.dot(&c.target) * c.normal;
        along.norm() <= 1e-9 * c.target.norm()
    });
    still && !has_active_impacts(problem, range)
}

fn keep_impulses(problem: &ContactProblem, range: Range<usize>, out: &mut Vec<[Vec3; 2]>) {
    out.clear();
    out.extend(problem.contacts[range].iter().map(|c| problem.impulses_of(c)));
}

/// The largest s in \[0, 1\] where the parabola through its values at 0, ½ and 1 is not positive; its lowest place if there
/// is none.
fn root([at_0, at_half, at_1]: [f64; 3]) -> f64 {
    let c = 2.0 * (at_1 + at_0 - 2.0 * at_half);
    let b = at_1 - at_0 - c;
    if at_1 <= 0.0 {
        return 1.0;
    }
    if at_0 > 0.0 {
        return if c > 0.0 { (-0.5 * b / c).clamp(0.0, 1.0) } else { 0.0 };
    }
    // at_0 ≤ 0 < at_1: one root, without cancellation.
    let under = (b * b - 4.0 * c * at_0).max(0.0).sqrt();
    let s = if b >= 0.0 { -2.0 * at_0 / (b + under) } else { (under - b) / (2.0 * c) };
    if s.is_finite() { s.clamp(0.0, 1.0) } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::root;

    #[test]
    fn the_root_is_the_last_place_without_gain() {
        // (s − 0.3)(s + 1), −s(1 − 2s), a line, a parabola that is never positive, one that always is.
        let at = |f: fn(f64) -> f64| root([f(0.0), f(0.5), f(1.0)]);
        assert!((at(|s| (s - 0.3) * (s + 1.0)) - 0.3).abs() < 1e-15);
        assert!((at(|s| -s * (1.0 - 2.0 * s)) - 0.5).abs() < 1e-15);
        assert!((at(|s| s - 0.25) - 0.25).abs() < 1e-15);
        assert_eq!(at(|s| s * s - 2.0), 1.0);
        assert!((at(|s| (s - 0.4).powi(2) + 0.1) - 0.4).abs() < 1e-14);
        assert_eq!(at(|s| s), 0.0);
    }
}
