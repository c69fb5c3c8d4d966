//! Has the motion diverged? A step that is too long for what it steps makes energy from nothing, a little more in every
//! step, until the numbers overflow.
//!
//! No bound on speed or energy tells such a motion from a right one: units are the user's, falls and drives may go on for
//! as long as they like, and an unstable equilibrium is left at a rate that grows with e^t. What tells them apart is
//! whether the step resolves the motion, and that can be asked of the method itself: two steps of h/2 lead where one of h
//! leads, or h is too long. So with D the size of the scene at its start (for angles ten turns and a turn), a step ends in
//! [`StepError::Diverged`] if for some velocity u at its end, û by one step and u by two halves,
//!
//! $$ h\,|\hat u| > 10 D,\qquad h\,|\hat u - u| > 10 D,\qquad
//!    \left(|\hat u - u| > \tfrac1{10}\max(|\hat u|, |u|)\ \text{and}\ \Delta E > \tfrac1{10} T\right)
//!    \quad\text{or}\quad h\,|\hat u| > D/\epsilon : $$
//!
//! something crosses the scene ten times in a step, the step does not know by ten scenes where it ends, and it is wrong by
//! a tenth of the velocity while the energy of all grows by a tenth of the kinetic energy T (beyond the weight of all times the
//! deepest overlap: parting it may lift that much), or it is beyond the place that
//! numbers with 53 bits can tell together with the scene (there ends explicit Euler, whose error of a step may be small
//! while its energy grows without end). A right motion, however fast, meets the first condition only: two halves of a
//! free flight, of a fall or of a spin are the whole. Impacts in a long step end elsewhere by halves, but make no energy.
//!
//! Rigid bodies are asked for their angular momentum, which a free tumble keeps, and robots for their kinetic energy as
//! well, because angular velocities of a tumble are no smooth thing at ten turns a step. The first condition, of the state
//! that the step begins with, is all that an ordinary step is asked; with many points one step in eight is, since a motion
//! that diverges goes on doing so. Nothing is remembered but the count of steps, which is in the state, so a saved state
//! goes on with the same bits.

use super::{Method, StepError, Workspace};
use crate::math::{Vec3, triple};
use crate::model::{Model, NamedRobot};
use crate::state::State;

/// From so many points on, one step in [`RARELY`] is looked at: theirs are bound by memory, and this reads it once more.
const MANY_POINTS: usize = 16_384;
/// See [`MANY_POINTS`].
const RARELY: u64 = 8;
/// Crossings of the scene, or turns, in one step, from which on a motion is looked at.
const FAR: f64 = 10.0;
/// Part of a velocity that halving the step may change.
const PART: f64 = 0.1;

/// One velocity at the end of a step, by the whole step and by its halves.
struct Pair {
    /// Sizes: by the whole step, by the halves, and of their difference.
    whole: f64,
    half: f64,
    apart: f64,
    yard: Yard,
}

/// What a velocity may cross in a step, and the unit of the velocity.
#[derive(Clone, Copy)]
struct Yard {
    /// The size of the scene \[m\], or a turn \[rad\].
    size: f64,
    unit: &'static str,
}

impl Yard {
    const TURN: Self = Self { size: std::f64::consts::TAU, unit: "rad/s" };

    fn of_scene(model: &Model) -> Self {
        Self { size: model.size, unit: "m/s" }
    }

    /// True for more than [`FAR`] of it in h seconds.
    fn is_far(&self, v: f64, h: f64) -> bool {
        v.abs() * h > FAR * self.size
    }

    /// True for more than numbers can tell.
    fn is_beyond_digits(&self, v: f64, h: f64) -> bool {
        v.abs() * h > self.size / f64::EPSILON
    }
}

impl Pair {
    fn of_vectors(whole: Vec3, half: Vec3, yard: Yard) -> Self {
        Self { whole: whole.norm(), half: half.norm(), apart: (whole - half).norm(), yard }
    }

    fn of_numbers(whole: f64, half: f64, yard: Yard) -> Self {
        Self { whole: whole.abs(), half: half.abs(), apart: (whole - half).abs(), yard }
    }

    /// By how much the step misses, in units of what it may; at most 1 if the motion may be right.
    fn excess(&self, h: f64, grows: bool) -> f64 {
        let (largest, yard) = (self.whole.max(self.half), self.yard);
        let wrong = (grows && self.apart > PART * largest) || yard.is_beyond_digits(largest, h);
        if yard.is_far(largest, h) && wrong { self.apart * h / (FAR * yard.size) } else { 0.0 }
    }
}

/// Refuses the step of h seconds that begins at `state` if the motion has diverged.
pub(super) fn check(
    method: &Method,
    model: &Model,
    state: &State,
    h: f64,
    work: &mut Workspace,
) -> Result<(), StepError> {
    let every = if model.layout.points < MANY_POINTS { 1 } else { RARELY };
    if !state.steps.is_multiple_of(every) || !is_far(model, state, h) {
        return Ok(());
    }
    let (mut whole, mut half) = (state.clone(), state.clone());
    // What fails fails in the step itself, which says why.
    let Ok(report) = method.advance(model, &mut whole, h, work) else { return Ok(()) };
    if (0..2).any(|_| method.advance(model, &mut half, 0.5 * h, work).is_err()) {
        return Ok(());
    }
    // Energies that are no numbers any more have grown. Overlaps that are parted lift what lies above them.
    let (before, after) = (model.energy(state), model.energy(&whole));
    let lift = model.gravity.norm() * model.mass() * (-report.smallest_gap).max(0.0);
    let lift = if lift.is_finite() { lift } else { 0.0 };
    let calm = after.total() - before.total() - lift <= PART * after.kinetic;
    let mut worst: Option<(f64, Pair, (String, usize))> = None;
    let mut take = |pair: Pair, owner: &dyn Fn() -> (String, usize)| {
        let excess = pair.excess(h, !calm);
        if excess > worst.as_ref().map_or(1.0, |w| w.0) {
            worst = Some((excess, pair, owner()));
        }
    };
    let scene = Yard::of_scene(model);
    for k in 0..model.layout.rigid {
        let owner = || model.owner(6 * k);
        take(Pair::of_vectors(triple(&whole.v, 2 * k), triple(&half.v, 2 * k), scene), &owner);
        // Angular momentum by the largest inertia: no more than the angular velocity.
        let largest = model.rigid.inertia[k].symmetric_eigenvalues().max();
        let spin = |s: &State| model.rigid.world_inertia(&s.q, k) * triple(&s.v, 2 * k + 1) / largest;
        take(Pair::of_vectors(spin(&whole), spin(&half), Yard::TURN), &owner);
    }
    let pv = model.layout.points_v();
    for i in 0..model.layout.points {
        let pair = Pair::of_vectors(triple(&whole.v[pv..], i), triple(&half.v[pv..], i), scene);
        take(pair, &|| model.owner(pv + 3 * i));
    }
    for named in &model.robots {
        let energy = |s: &State| named.robot.energy(&named.state(s), &mut named.robot.work()).0;
        let (a, b) = (energy(&whole), energy(&half));
        let (v, w) = (named.v(&whole), named.v(&half));
        let beyond = dofs(named, scene).any(|(d, yard)| yard.is_beyond_digits(v[d].abs().max(w[d].abs()), h));
        if (a - b).abs() > 2.0 * PART * a.max(b) || beyond {
            for (d, yard) in dofs(named, scene) {
                take(Pair::of_numbers(v[d], w[d], yard), &|| (named.name.clone(), d));
            }
        }
    }
    let Some((_, pair, (object, index))) = worst else { return Ok(()) };
    let method = match method.integrator() {
        Some(integrator) => format!("{}, {}", method.name(), integrator.name()),
        None => method.name().into(),
    };
    let Pair { whole: speed, apart: error, yard: Yard { unit, .. }, .. } = pair;
    Err(StepError::Diverged { object, index, time: state.time, h, speed, error, unit, method })
}

/// True if something crosses the scene [`FAR`] times in a step, or turns as often.
fn is_far(model: &Model, state: &State, h: f64) -> bool {
    let scene = Yard::of_scene(model);
    let fastest = |v: &[f64]| v.iter().fold(0.0f64, |m, v| m.max(v.abs()));
    let (pv, rigid) = (model.layout.points_v(), 6 * model.layout.rigid);
    scene.is_far(fastest(&state.v[pv..]), h)
        || state.v[..rigid]
            .chunks_exact(6)
            .any(|v| scene.is_far(fastest(&v[..3]), h) || Yard::TURN.is_far(fastest(&v[3..]), h))
        || model.robots.iter().any(|named| {
            let v = named.v(state);
            dofs(named, scene).any(|(d, yard)| yard.is_far(v[d], h))
        })
}

/// The dofs of a robot, and what each may cross.
fn dofs(named: &NamedRobot, scene: Yard) -> impl Iterator<Item = (usize, Yard)> {
    named.robot.tree.joints().iter().flat_map(move |joint| {
        // Shifts come first.
        let shifts = joint.kind.shift_count();
        joint.v.clone().enumerate().map(move |(k, d)| (d, if k < shifts { scene } else { Yard::TURN }))
    })
}
