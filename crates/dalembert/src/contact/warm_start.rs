//! Warm start: impulses are stored with their contacts, and matched in the next step by the features that meet.

use std::ops::Range;

use super::problem::ContactProblem;
use crate::collide::rigid::{Manifold, Touch};
use crate::math::Vec3;
use crate::state::ContactPoint;

/// Points of two manifolds that are nearer than this part of the smallest shape may be the same under other names.
const NEAR: f64 = 0.02;

/// Points of the step before, manifold by manifold.
pub(crate) struct Matcher<'a> {
    before: &'a [ContactPoint],
    at: usize,
}

impl<'a> Matcher<'a> {
    /// Of points in the order of their keys.
    pub(crate) fn new(before: &'a [ContactPoint]) -> Self {
        Self { before, at: 0 }
    }

    /// Those of the next manifold; manifolds come in the order of their keys.
    pub(crate) fn of(&mut self, manifold: &Manifold) -> &'a [ContactPoint] {
        let key = [manifold.a, manifold.b, manifold.part];
        let rest = &self.before[self.at..];
        self.at += rest.iter().take_while(|c| c.key() < key).count();
        let rest = &self.before[self.at..];
        &rest[..rest.iter().take_while(|c| c.key() == key).count()]
    }
}

/// The point of the step before that a point was: of the same features, or else, where corners of two shapes lie on each
/// other and their features change names by rounding, the nearest that is not another one. `length` is that of the smallest shape.
pub(crate) fn matched<'a>(
    known: &'a [ContactPoint],
    points: &[Touch],
    p: &Touch,
    length: f64,
) -> Option<&'a ContactPoint> {
    let same = known.iter().find(|c| c.feature == p.feature);
    if same.is_some() || known.is_empty() {
        return same;
    }
    let free = known.iter().filter(|c| points.iter().all(|o| o.feature != c.feature));
    let far = |c: &ContactPoint| (c.point - p.point).norm();
    free.min_by(|a, b| far(a).total_cmp(&far(b))).filter(|c| far(c) < NEAR * length)
}

impl ContactProblem {
    /// Writes the forces of some contacts, each to its place in the order of detection.
    pub(crate) fn store(&self, range: Range<usize>, out: &mut [ContactPoint]) {
        for (c, i) in self.contacts[range.clone()].iter().zip(&self.info[range]) {
            out[i.place as usize] = stored(c, i, self.impulses_of(c), self.h);
        }
    }
}

/// A contact with its impulses, to be kept in the state.
pub(crate) fn stored(
    c: &super::problem::Contact,
    i: &super::problem::ContactInfo,
    [impulse, angular]: [Vec3; 2],
    h: f64,
) -> ContactPoint {
    ContactPoint {
        a: i.a,
        b: i.b,
        part: i.part,
        feature: i.feature,
        point: i.point,
        normal: c.normal,
        gap: i.gap,
        force: impulse / h,
        torque: angular / h,
        last: impulse / h,
    }
}
