//! Bouncing with friction adds no energy.
//!
//! Newton's law of restitution with Coulomb's friction, and several impacts at once, may ask for more energy than there
//! is (Kane 1984). What the impulses p of an island do to the energy of its bodies is known exactly. With the velocity
//! $v_f$ of a body without impulses, $w = v_f - v_0$ what its forces made of it, and $\tau_c$ the times of the impacts, a
//! body that moves by $\tfrac12 h(v_0+v_f) + \sum_c (h-\tau_c)\,p_c/m$ gains
//!
//! $$ \Delta E = \sum_c p_c\cdot\Big(\frac{u_f + u^+}{2} - \Big(1-\frac{\tau_c}{h}\Big)\,w\Big), $$
//!
//! the second part being what constant forces do along the way of the kicks. A body that other contacts hold, or that would
//! be in the way of another, moves by $h v^+$: there $\tau_c = 0$, and $\tfrac12 m|w|^2$ is lost. Without friction and with e ≤ 1 the impacts alone give
//! $\sum p_n u_\tau (1-e)/2 \le 0$.
//!
//! Where the sum over an island is positive, the island is solved again without restitution. Impulses between the two
//! answers, $p(s) = p_0 + s\,(p_1 - p_0)$, lie within the cones, keep every gap as open as the two do, and keep the momenta;
//! ΔE is a convex parabola in s, not positive at s = 0, and its root in \[0, 1\] is the liveliest bounce that adds no energy.
//!
//! Where an island was not solved, its impulses may be anything. If they add energy, they are shortened in the same way,
//! $p(s) = s\,p$: bodies then move into each other by what is missing, but nothing flies off. Later steps part them. Shorter
//! impulses may put other bodies in the way, which counts too; where that does not end, an island goes without.

use std::ops::Range;

use super::sweep::{Contact, Side};
use super::{ContactWork, Info, NONE};
use crate::contact::TouchModel;
use crate::math::{Vec3, triple};
use crate::model::Model;
use crate::step::StepReport;
use crate::step::impulse::Impulse;

/// Gains below this part of the work of all impulses are rounding.
const ROUNDING: f64 = 1e-12;
/// How often impulses that were not solved are shortened.
const SHORTENINGS: u32 = 6;
/// Most sweeps before Newton's method.
const SWEEPS: u32 = 16;

impl ContactWork {
    /// Restitution is lowered where it would add energy.
    pub(super) fn bound_energy(
        &mut self,
        settings: &Impulse,
        touch: &TouchModel,
        model: &Model,
        h: f64,
        report: &mut StepReport,
    ) {
        self.note_moved(touch, h, true);
        let mut lowered = false;
        for i in 0..self.islands.len() {
            let range = self.islands.first[i] as usize..self.islands.first[i + 1] as usize;
            let list = &self.info[range.clone()];
            let lively = |i: &Info| i.impact >= 0.0 && touch.law(i.a, i.b).restitution > 1.0;
            if !list.iter().any(|i| i.impact >= 0.0) || list.iter().any(lively) {
                continue;
            }
            self.know_rows(range.clone(), model);
            let (gain, work) = self.gain(range.clone(), h);
            if gain > ROUNDING * work {
                self.unsolved[i] |= !self.lower_restitution(range, settings, touch, model, h, report);
                lowered = true;
            }
        }
        if lowered {
            self.note_moved(touch, h, false);
        }
        // Other impulses let other bodies be in the way: a few times, since that counts too.
        for time in 1..=SHORTENINGS {
            let mut shorter = false;
            for i in 0..self.islands.len() {
                let range = self.islands.first[i] as usize..self.islands.first[i + 1] as usize;
                if self.unsolved.get(i).is_some_and(|u| *u) && self.passive(range.clone(), touch) {
                    self.know_answers(range.clone(), model);
                    shorter |= self.shorten(range, h, time == SHORTENINGS);
                }
            }
            if !shorter {
                break;
            }
            self.note_moved(touch, h, false);
            lowered = true;
        }
        self.fresh &= !lowered;
    }

    /// True if nothing drives the contacts of an island: no belts, no bounces with e > 1.
    fn passive(&self, range: Range<usize>, touch: &TouchModel) -> bool {
        self.contacts[range.clone()].iter().zip(&self.info[range]).all(|(c, i)| {
            let along = c.target - c.normal.dot(&c.target) * c.normal;
            let lively = i.impact >= 0.0 && touch.law(i.a, i.b).restitution > 1.0;
            !lively && along.norm() <= 1e-9 * c.target.norm()
        })
    }

    /// Impulses of an island that add energy become shorter, until they do not; nothing the `last` time. True if they were.
    fn shorten(&mut self, range: Range<usize>, h: f64, last: bool) -> bool {
        let (gain, work) = self.gain(range.clone(), h);
        if gain <= ROUNDING * work {
            return false;
        }
        let whole = self.impulses_of(range.clone());
        // Bodies by themselves begin from nothing in any case.
        let jointed = self.contacts[range.clone()]
            .iter()
            .flat_map(|c| &c.sides)
            .any(|s| matches!(s, Side::Jointed(..)));
        let take = |work: &mut Self, s: f64| {
            if !jointed {
                work.let_go(range.clone());
            }
            let new: Vec<_> = whole.iter().map(|[p, t]| [s * p, s * t]).collect();
            work.set_impulses(range.clone(), &new);
            work.gain(range.clone(), h).0
        };
        let gains = [0.0, 0.5, 1.0].map(|s| take(self, s));
        take(self, if last { 0.0 } else { root(gains) });
        true
    }

    /// The liveliest impulses of an island that add no energy; false if those without bounces were not found.
    fn lower_restitution(
        &mut self,
        range: Range<usize>,
        settings: &Impulse,
        touch: &TouchModel,
        model: &Model,
        h: f64,
        report: &mut StepReport,
    ) -> bool {
        self.know_answers(range.clone(), model);
        let lively = self.impulses_of(range.clone());
        let solved = self.solve_dead(range.clone(), settings, model, h, report);
        // Who is held by one of the two is held in between.
        self.note_moved(touch, h, false);
        let dead = self.impulses_of(range.clone());
        let between =
            |s: f64, a: &[Vec3; 2], b: &[Vec3; 2]| [a[0] + s * (b[0] - a[0]), a[1] + s * (b[1] - a[1])];
        let take = |work: &mut Self, s: f64| {
            let new: Vec<_> = dead.iter().zip(&lively).map(|(a, b)| between(s, a, b)).collect();
            work.set_impulses(range.clone(), &new);
            work.gain(range.clone(), h).0
        };
        let gains = [0.0, 0.5, 1.0].map(|s| take(self, s));
        take(self, root(gains));
        solved
    }

    fn impulses_of(&self, range: Range<usize>) -> Vec<[Vec3; 2]> {
        let spin =
            |c: &Contact| if c.spin == NONE { Vec3::zeros() } else { self.spins[c.spin as usize].impulse };
        self.contacts[range].iter().map(|c| [c.impulse, spin(c)]).collect()
    }

    /// Impulses take new values, and velocities go with them: those of bodies by themselves from the start, since impulses that
    /// were not solved may be so large that differences leave nothing but their rounding.
    fn set_impulses(&mut self, range: Range<usize>, new: &[[Vec3; 2]]) {
        let mut x = std::mem::take(&mut self.field.x);
        for (c, [p, s]) in self.contacts[range.clone()].iter_mut().zip(new) {
            self.field.push(&mut x, c, &(p - c.impulse));
            c.impulse = *p;
            if c.spin != NONE {
                let spin = &mut self.spins[c.spin as usize];
                self.field.push_turn(&mut x, c, &(s - spin.impulse));
                spin.impulse = *s;
            }
        }
        let contacts = &self.contacts[range];
        for side in contacts.iter().flat_map(|c| &c.sides) {
            if let Side::Loose(at) = *side {
                let own = at as usize..at as usize + 6;
                x[own.clone()].copy_from_slice(&self.free[own]);
            }
        }
        for (c, [p, s]) in contacts.iter().zip(new) {
            self.field.push_loose(&mut x, c, p);
            if c.spin != NONE {
                self.field.push_turn_loose(&mut x, c, s);
            }
        }
        self.field.x = x;
    }

    /// ΔE of the impulses as they are and the sum of all works without their signs \[J\].
    fn gain(&self, range: Range<usize>, h: f64) -> (f64, f64) {
        let (mut sum, mut size) = (0.0, 0.0);
        for (c, info) in self.contacts[range.clone()].iter().zip(&self.info[range.clone()]) {
            for (s, side) in c.sides.iter().enumerate() {
                let p = if s == 0 { c.impulse } else { -c.impulse };
                let mean = 0.5
                    * (self.field.velocity(&self.free, side, &c.arms[s])
                        + self.field.velocity(&self.field.x, side, &c.arms[s]));
                let mut way = Vec3::zeros();
                if let Side::Loose(at) = *side {
                    let slot = at as usize / 6;
                    let w = triple(&self.free, 2 * slot) - triple(&self.start, 2 * slot);
                    let held = self.moved[slot].held;
                    let late = if held { 1.0 } else { 1.0 - info.impact.max(0.0) / h };
                    way = late * w;
                }
                sum += p.dot(&(mean - way));
                size += p.dot(&mean).abs();
            }
            if c.spin != NONE {
                let turn = |x: &[f64]| self.field.turn(x, &c.sides[0]) - self.field.turn(x, &c.sides[1]);
                sum +=
                    0.5 * self.spins[c.spin as usize].impulse.dot(&(turn(&self.free) + turn(&self.field.x)));
            }
        }
        (sum - self.lost_by_holding(range), size)
    }

    /// ½ m w² of the bodies that are held, each once.
    fn lost_by_holding(&self, range: Range<usize>) -> f64 {
        let mut slots: Vec<usize> = self.contacts[range]
            .iter()
            .flat_map(|c| c.sides)
            .filter_map(|s| if let Side::Loose(at) = s { Some(at as usize / 6) } else { None })
            .filter(|slot| self.moved[*slot].held)
            .collect();
        slots.sort_unstable();
        slots.dedup();
        let lost = |slot: &usize| {
            let w = triple(&self.free, 2 * slot) - triple(&self.start, 2 * slot);
            0.5 * w.norm_squared() / self.field.inverse[*slot].mass
        };
        slots.iter().map(lost).sum()
    }

    /// Solves an island with all impacts dead; false if that was not finished.
    fn solve_dead(
        &mut self,
        range: Range<usize>,
        settings: &Impulse,
        model: &Model,
        h: f64,
        report: &mut StepReport,
    ) -> bool {
        let kept: Vec<Vec3> = self.contacts[range.clone()].iter().map(|c| c.target).collect();
        let mut scale = h * model.gravity.norm();
        for k in range.clone() {
            let (mut c, info) = (self.contacts[k], &self.info[k]);
            if info.impact >= 0.0 {
                let n = c.normal;
                let before = n.dot(&self.field.relative(&self.start, &c));
                let rate = n.dot(&self.field.relative(&self.free, &c));
                // rate − u_τ: dead at the time of the impact.
                let dead = (rate - before) * (1.0 - info.impact / h);
                c.target += (dead - n.dot(&c.target)) * n;
                scale = scale.max(-before);
                self.contacts[k] = c;
            }
        }
        let tolerance = settings.tolerance * scale.max(1e-12);
        self.rows_of(range.clone());
        let (_, mut moved) = self.sweep_some(range.clone(), tolerance, SWEEPS);
        if moved > tolerance {
            let left = self.solve_direct(range.clone(), moved, tolerance);
            moved = left.or_else(|| self.solve_dense_anew(range.clone(), tolerance, model)).unwrap_or(moved);
        }
        if moved > tolerance {
            moved = self.sweep_some(range.clone(), tolerance, settings.most_sweeps).1;
        }
        report.unfinished |= moved > tolerance;
        self.contacts[range].iter_mut().zip(kept).for_each(|(c, target)| c.target = target);
        moved <= tolerance
    }
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
