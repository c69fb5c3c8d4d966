//! After the drift: bodies move by the smallest mass-weighted steps onto $C = 0$.
//!
//! Newton's method solves $M\,\Delta q - A^T\mu = 0$, $A\,\Delta q = -C$ with the factors of the velocity solve as long as
//! these serve: they close a gap by about the largest turn since.

use super::rows::STIFFER;
use super::{ImpulseWork, Island};
use crate::math::norm;
use crate::model::Model;
use crate::state::State;
use crate::step::StepReport;

/// Newton steps of the projection.
const MOST_PROJECTIONS: u32 = 30;
/// Steps of the projection are not cut shorter than this part.
const SHORTEST: f64 = 1e-3;
/// New factors for the projection if a step with the old ones leaves more than this share of the gap.
const SLOW: f64 = 0.05;
/// Factors of the start of a step close a gap by about the largest turn since \[rad\]; beyond this, new ones do better.
const SMALL_TURN: f64 = 0.02;
/// A joint counts as closed when it gapes by less than this \[m or rad\].
const CLOSED: f64 = 1e-10;

/// What a step of the projection is found with, from cheap to dear.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Factors {
    /// Those made last: of the velocity solve, or of an earlier step of the projection.
    AtHand,
    /// New ones, for where the bodies are.
    New,
    /// New ones with the stiffness of the projection itself.
    Stiff,
}

impl ImpulseWork {
    /// Puts the bodies back to where they were before a step of the projection.
    fn restore_coordinates(&self, model: &Model, q: &mut [f64]) {
        for (node, kept) in self.system.island.nodes.iter().zip(&self.before) {
            let place = model.coordinates_of(node.holder);
            let n = place.len();
            q[place].copy_from_slice(&kept[..n]);
        }
    }

    /// Moves bodies by the smallest mass-weighted steps onto C = 0: Newton's method, with the cheapest factors that serve.
    pub(super) fn project(&mut self, model: &Model, state: &mut State, h: f64, report: &mut StepReport) {
        if !self.system.island.has_exact() {
            return;
        }
        let State { time, q, v, turns, broken, lambda, .. } = state;
        let t = *time + h;
        self.before.resize(self.system.bodies.len(), [0.0; 7]);
        let mut gap = self.system.move_and_measure(model, t, None, q, &mut self.before, turns, broken);
        let small = h * self.system.fastest_turn(v) < SMALL_TURN;
        let mut factors = if small { Factors::AtHand } else { Factors::New };
        while gap > CLOSED && report.projections < MOST_PROJECTIONS {
            report.projections += 1;
            match factors {
                Factors::AtHand => {
                    self.system.load_gaps(0..self.system.bodies.len(), 0..self.system.violation.len());
                    self.system.solve();
                }
                Factors::New => {
                    let last = |island: &Island, c: usize| island.lambda(lambda, c);
                    self.system.close(model, t, turns, broken, last, h);
                }
                Factors::Stiff => self.solve_closing(model, t, turns, broken),
            }
            let mut part = 1.0;
            let left = loop {
                let (part_now, before) = (Some(part), &mut self.before);
                let left = self.system.move_and_measure(model, t, part_now, q, before, turns, broken);
                // Newton's direction leads downhill, if not always by a whole step.
                if left < (1.0 - 0.1 * part) * gap || factors != Factors::Stiff || part < SHORTEST {
                    break left;
                }
                self.restore_coordinates(model, q);
                part *= 0.5;
            };
            let enough = if factors == Factors::Stiff { gap } else { 0.5 * gap };
            if left < enough {
                let fast = left < SLOW * gap;
                factors = if fast { Factors::AtHand } else { factors.max(Factors::New) };
                gap = left;
                continue;
            }
            self.restore_coordinates(model, q);
            self.system.load_poses(model, q, 0..self.before.len());
            factors = match factors {
                Factors::AtHand => Factors::New,
                Factors::New => Factors::Stiff,
                Factors::Stiff => break,
            };
        }
        report.gap = report.gap.max(gap);
    }

    /// The step x onto C = 0 where turns are large.
    ///
    /// The multipliers μ of the projection turn with the bodies like forces, and Newton's method on the smallest motion has
    /// M + K(μ) in place of M. Without K a taut chain would be shortened by folding its light links, which it is not.
    fn solve_closing(&mut self, model: &Model, t: f64, turns: &[f64], broken: &[bool]) {
        let mut before = 0.0;
        self.found.clear();
        self.found.resize(self.system.violation.len(), [0.0; 6]);
        for _ in 0..STIFFER {
            let found = &self.found;
            self.system.close(model, t, turns, broken, |_, c| found[c], 1.0);
            let now = norm(&self.system.y);
            if now <= 2.0 * before || now.is_nan() {
                break;
            }
            before = now;
            self.keep_found(1.0);
            if !self.system.stiffen_by(model, &self.found, broken, 1.0) {
                break;
            }
        }
    }
}
