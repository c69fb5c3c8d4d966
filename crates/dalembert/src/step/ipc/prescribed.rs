//! Blocks with prescribed motion: they go to where they must be in one or several rounds.
//!
//! A round takes them a part w of what is left of their paths as a given part of δ. Contacts are linear in such a round; what
//! they miss grows with the square of the path. Where that stops a round, all of it is cut, also what would separate
//! bodies, and gaps shrink from round to round until nothing moves. A round that is meant to be short keeps them open: so w
//! shrinks where little was got or gaps shrink, and grows while they do not.

use super::islands::NONE;
use super::work::IpcWork;
use crate::math::{Mat3, Vec3, set_triple, triple};
use crate::model::Model;
use crate::state::State;
use crate::step::StepError;

/// When rounds shrink and grow.
struct Tuning {
    /// Rounds in which blocks may come to where they must be.
    rounds: u32,
    /// A round that got less than this part of what it wanted is followed by one that wants half of what it got.
    poor: f64,
    /// Rounds want this part of the path at least.
    least: f64,
    /// Rounds shrink where the smallest gap falls below this part of what it was, and grow where it stays above that one.
    shrinking: f64,
    steady: f64,
    /// They also grow while the smallest gap is above this part of ĝ.
    open: f64,
    /// A rigid body that is squeezed keeps this part of its size, or the step fails.
    shape: f64,
}

const TUNING: Tuning =
    Tuning { rounds: 100, poor: 0.25, least: 1e-6, shrinking: 0.5, steady: 0.9, open: 0.1, shape: 0.9 };

/// Blocks with prescribed motion in this step.
#[derive(Debug, Default)]
pub(super) struct Prescribed {
    /// Held blocks, and where they must be at the end of the step \[m\].
    places: Vec<(usize, Vec3)>,
    /// The part of what is left of their paths that a round wants, and how many rounds have been.
    pub part: f64,
    rounds: u32,
    /// One of them has moved in this step.
    pub moved: bool,
}

impl Prescribed {
    /// Begins a step that ends at time t \[s\].
    pub(super) fn begin(&mut self, model: &Model, t: f64) {
        self.moved = false;
        self.places.clear();
        self.places.extend(model.filters.prescribed_places(t));
    }

    /// Begins Newton's iteration.
    pub(super) fn begin_rounds(&mut self) {
        (self.part, self.rounds) = (1.0, 0);
    }

    /// True if nothing has prescribed motion.
    pub(super) fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// The longest distance that a block has yet to go, zero if all are where they must be \[m\].
    pub(super) fn left(&self, q: &[f64]) -> f64 {
        self.places.iter().map(|(i, place)| (place - triple(q, *i)).norm()).fold(0.0, f64::max)
    }

    /// δ of these blocks ← the part that this round wants.
    pub(super) fn write(&self, q: &[f64], delta: &mut [f64]) {
        for (i, place) in &self.places {
            let left = place - triple(q, *i);
            set_triple(delta, *i, &(self.part * left));
        }
    }

    /// Ends a round that went the part `came` of what was left and changed the smallest gap from the first to the second of
    /// `gaps`, with ĝ = `gap`. False if there have been too many.
    pub(super) fn end_round(&mut self, came: f64, gaps: [f64; 2], gap: f64) -> bool {
        let got = came / self.part;
        let kept = gaps[1] / gaps[0];
        if got < TUNING.poor {
            self.part = f64::max(0.5 * self.part * got, TUNING.least);
        } else if kept < TUNING.shrinking {
            self.part = f64::max(0.5 * self.part, TUNING.least);
        } else if kept > TUNING.steady || gaps[1] > TUNING.open * gap {
            self.part = f64::min(2.0 * self.part, 1.0);
        }
        self.rounds += 1;
        self.rounds < TUNING.rounds
    }
}

impl IpcWork {
    /// The path of prescribed blocks in δ, and what it does to the others.
    pub(super) fn follow_prescribed(&mut self, model: &Model) {
        self.delta.clear();
        self.delta.resize(model.layout.nv, 0.0);
        self.prescribed.write(&self.q, &mut self.delta);
        self.block_system.follow(&self.delta, &mut self.b.value);
        if let Some(ipc) = &model.ipc {
            self.trial[..model.layout.nv].copy_from_slice(&self.q[..model.layout.nv]);
            self.trial.iter_mut().zip(&self.delta).for_each(|(z, d)| *z += d);
            self.contact.follow_prescribed(&ipc.geometry, &self.trial, &mut self.b.value);
        }
    }

    /// The block that is farthest from where it must be finds no room.
    pub(super) fn blocked(&self, model: &Model, state: &State) -> StepError {
        let left = |i: usize, place: &Vec3| (place - triple(&self.q, i)).norm();
        let worst = self.prescribed.places.iter().map(|(i, place)| (*i, left(*i, place)));
        let (point, distance) = worst.fold((0, 0.0), |a, b| if b.1 > a.1 { b } else { a });
        let (object, _) = model.owner(model.layout.points_v() + 3 * point);
        StepError::Blocked { object, distance, time: state.time }
    }

    /// Fails if the step squeezed a rigid body out of shape between what has prescribed motion and something else.
    pub(super) fn refuse_squeezed(&self, model: &Model, state: &State) -> Result<(), StepError> {
        let Some(ipc) = model.ipc.as_ref().filter(|_| self.prescribed.moved) else { return Ok(()) };
        let least = |first: u32| {
            let A = Mat3::from_columns(&[1, 2, 3].map(|k| triple(&self.q, first as usize + k)));
            let G = A.transpose() * A;
            // σ² of A are the eigenvalues of G.
            if (G - Mat3::identity()).norm() < 1.0 - TUNING.shape * TUNING.shape {
                1.0
            } else {
                G.symmetric_eigenvalues().min().max(0.0).sqrt()
            }
        };
        let sizes = ipc.rigid.iter().map(|&first| (least(first), first));
        let Some((part, first)) = sizes.min_by(|a, b| a.0.total_cmp(&b.0)).filter(|s| s.0 < TUNING.shape)
        else {
            return Ok(());
        };
        let names = &ipc.geometry.names;
        let name = |block: usize| model.owner(model.layout.points_v() + 3 * block).0;
        let squeezed = name(first as usize);
        let is = |b: u32| b != NONE && names[b as usize] == squeezed;
        let prescribed: Vec<String> = self.prescribed.places.iter().map(|(i, _)| name(*i)).collect();
        let mut others = self.contact.set.contacts.iter().filter_map(|c| match c.bodies {
            [a, b] if is(a) && b != NONE => Some(&names[b as usize]),
            [a, b] if is(b) && a != NONE => Some(&names[a as usize]),
            _ => None,
        });
        match others.find(|name| prescribed.contains(name)).or(prescribed.first()).cloned() {
            Some(object) => {
                Err(StepError::Crushed { object, squeezed, percent: 100.0 * part, time: state.time })
            }
            None => Ok(()),
        }
    }
}
