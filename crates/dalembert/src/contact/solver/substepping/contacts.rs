//! The contact constraints of a problem, in stages: prepare and warm start, solve, relax, restitution, store.
//!
//! Several threads share the batches of a large colour. Bodies are read by all and written by none while they work: each batch
//! leaves the velocities of its eight bodies behind, which are stored once the colour is done. A visit reads what no other
//! of its colour writes, so the bits are those of visiting the batches in turn, for any number of threads.

use super::batch::{BatchPoint, ManifoldBatch};
use super::bodies::{BodyState, Row, Twists, store_velocities};
use super::colouring::Colouring;
use super::rows::NormalLaw;
use super::{ManifoldConstraint, PointConstraint, WORLD};
use crate::math::simd::{Lanes, V3, largest};

/// Batches that a thread takes at least; colours of fewer than two such tasks stay on one thread. So many visits take about
/// 4 µs (a pyramid of 528 boxes): shorter tasks are not worth handing over.
const BATCHES_PER_TASK: usize = 24;

/// New velocities of the bodies of a batch: v and ω of the first ones, then of the second ones.
#[derive(Debug, Clone, Copy, Default)]
#[repr(align(64))]
struct NewVelocities([[[Row; 4]; 2]; 2]);

impl NewVelocities {
    #[inline(always)]
    fn of(ab: &[Twists; 2]) -> Self {
        Self([ab[0].rows(), ab[1].rows()])
    }

    #[inline(always)]
    fn store(&self, bodies: &mut [BodyState], batch: &ManifoldBatch) {
        store_velocities(bodies, &batch.a, &self.0[0]);
        store_velocities(bodies, &batch.b, &self.0[1]);
    }
}

/// A visit of a batch with its points and the velocities of its bodies.
trait Visit: Fn(&[BodyState], &mut ManifoldBatch, &mut [BatchPoint], &mut [Twists; 2]) -> Lanes + Sync {}
impl<F: Fn(&[BodyState], &mut ManifoldBatch, &mut [BatchPoint], &mut [Twists; 2]) -> Lanes + Sync> Visit
    for F
{
}

/// Visits a batch; returns what the visit measures and the new velocities.
#[inline(always)]
fn visit_one(
    bodies: &[BodyState],
    batch: &mut ManifoldBatch,
    points: &mut [BatchPoint],
    visit: &impl Visit,
) -> (Lanes, NewVelocities) {
    let mut ab = batch.velocities(bodies);
    let most = visit(bodies, batch, points, &mut ab);
    (most, NewVelocities::of(&ab))
}

/// Batches of one colour on several threads; `points` are theirs, and new velocities go to `after`.
fn visit_shared(
    bodies: &[BodyState],
    batches: &mut [ManifoldBatch],
    points: &mut [BatchPoint],
    after: &mut [NewVelocities],
    visit: &impl Visit,
) -> Lanes {
    if batches.len() >= 2 * BATCHES_PER_TASK {
        let middle = batches.len() / 2;
        let (low, high) = batches.split_at_mut(middle);
        let (low_points, high_points) = points.split_at_mut((high[0].first - low[0].first) as usize);
        let (low_after, high_after) = after.split_at_mut(middle);
        let (a, b) = rayon::join(
            || visit_shared(bodies, low, low_points, low_after, visit),
            || visit_shared(bodies, high, high_points, high_after, visit),
        );
        return a.fast_max(b);
    }
    let mut most = Lanes::ZERO;
    let first = batches.first().map_or(0, |b| b.first as usize);
    for (batch, after) in batches.iter_mut().zip(after) {
        let own = batch.points();
        let measured;
        (measured, *after) = visit_one(bodies, batch, &mut points[own.start - first..own.end - first], visit);
        most = measured.fast_max(most);
    }
    most
}

/// Contact constraints in batches, by colour.
#[derive(Debug, Default)]
pub(crate) struct Contacts {
    colouring: Colouring,
    batches: Vec<ManifoldBatch>,
    points: Vec<BatchPoint>,
    /// n·u of each point before the step.
    before: Vec<Lanes>,
    /// Room for the velocities of the largest colour, if threads share it.
    after: Vec<NewVelocities>,
}

impl Contacts {
    /// Colours the manifolds, lays them out in batches, and applies the impulses of the step before to the velocities of
    /// the bodies. Returns the fastest relative velocity \[m/s\] before the step, when the bodies had the velocities `start`.
    /// One pass for all of this: a batch is warm started while it is in the cache.
    pub(super) fn prepare_and_warm_start(
        &mut self,
        bodies: &mut [BodyState],
        start: &[[Row; 2]],
        manifolds: &[ManifoldConstraint],
        given: &[PointConstraint],
    ) -> f64 {
        let Self { colouring, batches, points, before, after } = self;
        colouring.colour(bodies.len(), manifolds);
        batches.resize(colouring.batches(), ManifoldBatch::default());
        points.resize(colouring.point_count(), BatchPoint::default());
        before.resize(points.len(), Lanes::ZERO);
        let none = ManifoldConstraint { bodies: [WORLD; 2], ..ManifoldConstraint::default() };
        let mut fastest = Lanes::ZERO;
        for (k, batch) in batches.iter_mut().enumerate() {
            let members = colouring.members(k);
            let four = std::array::from_fn(|l| members.get(l).map_or(&none, |m| &manifolds[*m as usize]));
            let own = colouring.points(k);
            let (points, before) = (&mut points[own.clone()], &mut before[own.clone()]);
            batch.prepare(&four, bodies, given, own.start as u32, points);
            let begun = [Twists::of_rows(start, &batch.a), Twists::of_rows(start, &batch.b)];
            fastest = batch.measure(points, before, &begun).fast_max(fastest);
            let mut ab = batch.velocities(bodies);
            batch.warm_start(bodies, points, &mut ab);
            NewVelocities::of(&ab).store(bodies, batch);
        }
        after.clear();
        if rayon::current_num_threads() > 1 && colouring.widest() >= 2 * BATCHES_PER_TASK {
            after.resize(colouring.widest(), NewVelocities::default());
        }
        largest(fastest).sqrt()
    }

    /// Visits all batches, colour by colour; returns the largest of what the visits measure.
    #[inline(always)]
    fn sweep(&mut self, bodies: &mut [BodyState], visit: impl Visit) -> f64 {
        let mut most = Lanes::ZERO;
        let Self { colouring, batches, points, after, .. } = self;
        for colour in colouring.colours.windows(2) {
            let batches = &mut batches[colour[0] as usize..colour[1] as usize];
            if after.is_empty() || batches.len() < 2 * BATCHES_PER_TASK {
                for batch in batches {
                    let (measured, new) = visit_one(bodies, batch, &mut points[batch.points()], &visit);
                    new.store(bodies, batch);
                    most = measured.fast_max(most);
                }
                continue;
            }
            let own = batches[0].points().start..batches[batches.len() - 1].points().end;
            most = visit_shared(bodies, batches, &mut points[own], after, &visit).fast_max(most);
            after.iter().zip(batches).for_each(|(after, batch)| after.store(bodies, batch));
        }
        largest(most)
    }

    /// Visits all normal rows once, soft and with the bias that parts overlaps.
    pub(super) fn solve(&mut self, bodies: &mut [BodyState], law: &NormalLaw) {
        self.sweep(bodies, |bodies, batch, points, ab| {
            batch.solve(law, bodies, points, ab);
            Lanes::ZERO
        });
    }

    /// Visits all rows once, hard and without bias, after the bodies have moved. Impulses are added to the totals if `count`.
    pub(super) fn relax(&mut self, bodies: &mut [BodyState], law: &NormalLaw, count: bool) {
        self.sweep(bodies, |bodies, batch, points, ab| {
            batch.follow(bodies);
            batch.relax::<false>(law, count, bodies, points, ab)
        });
    }

    /// Relaxes once more before the bodies move again; returns the largest change of a relative velocity \[m/s\].
    pub(super) fn relax_and_measure(&mut self, bodies: &mut [BodyState], law: &NormalLaw) -> f64 {
        self.sweep(bodies, |bodies, batch, points, ab| batch.relax::<true>(law, true, bodies, points, ab))
    }

    /// Contacts that closed faster than `threshold` \[m/s\] before the step, and pressed, leave as their restitution says.
    pub(super) fn apply_restitution(&mut self, bodies: &mut [BodyState], threshold: f64) {
        if self.batches.iter().all(|m| m.restitution == Lanes::ZERO) {
            return;
        }
        let Self { batches, points, before, .. } = self;
        for batch in batches {
            let own = batch.points();
            let (points, before) = (&mut points[own.clone()], &before[own]);
            let mut ab = batch.velocities(bodies);
            batch.apply_restitution(threshold, before, bodies, points, &mut ab);
            NewVelocities::of(&ab).store(bodies, batch);
        }
    }

    /// Impulses back to the points of the problem; returns how many of them pressed.
    pub(super) fn store_impulses(&self, given: &mut [PointConstraint]) -> u32 {
        let mut pressed = 0;
        for batch in &self.batches {
            let world = |p: &V3| {
                let [x, y, z] = batch.in_world(p);
                Lanes::transpose([x, y, z, Lanes::ZERO]).map(Lanes::to_array)
            };
            for (k, c) in self.points[batch.points()].iter().enumerate() {
                let (impulse, total) = (world(&c.impulse), world(&c.total));
                for l in 0..4 {
                    if k < batch.counts[l] as usize {
                        let to = &mut given[batch.sources[l] as usize + k];
                        (to.impulse, to.total) = (impulse[l], total[l]);
                        pressed += u32::from(total[l] != [0.0; 4]);
                    }
                }
            }
        }
        pressed
    }
}
