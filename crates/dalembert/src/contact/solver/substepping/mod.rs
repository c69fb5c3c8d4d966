//! Substepping for large islands: temporal Gauss-Seidel with soft contacts (Macklin et al. 2019, "Small steps in physics
//! simulation"; Catto 2024, "Solver2D").
//!
//! Gauss-Seidel over a heap of N layers needs about N² sweeps for the impulses of one step. What counts is how far bodies sink
//! into each other while the impulses are not yet right, and that shrinks with the square of the step: so a step is cut into
//! n substeps of length δ with two sweeps each. Collision detection runs once per step: within it a gap changes by the
//! motion of its two points,
//!
//! $$ g = g_0 + n\cdot\big(d_a + \vartheta_a\times r_a - d_b - \vartheta_b\times r_b\big), $$
//!
//! with d and ϑ the translations and rotations since. In each substep
//!
//! ```text
//! warm start   v += δ M⁻¹F, and the impulses of the substep before once more
//! solve        normal rows once, soft: u_n ≥ −g/δ where things are apart, overlaps part at the rate ε/δ
//! integrate    d += δ v, ϑ += δ ω
//! relax        all rows once, hard: u_n ≥ −g/δ or 0, and Coulomb's law across
//! ```
//!
//! A soft row is a damped spring, followed implicitly over δ: with a = ωδ and the damping ratio ζ its target is
//! $u_n = \epsilon|g|/\delta - \gamma\,w\,p$, $\epsilon = a/(a + 2\zeta)$, $\gamma = 1/(a(a + 2\zeta))$, w being the effective
//! response of the row. So a visit adds $-(u_n - \epsilon|g|/\delta)/(w(1+\gamma)) - p\,\gamma/(1+\gamma)$: it forgets a part
//! of its impulse, which keeps rows that share a load from working against each other, and a tall heap stands. What the
//! bias leaves in the velocities is taken away again by relaxing, before any later substep sees it.
//!
//! The impulses of the substep before changed the velocities of a body by $v_{end} - v_{start} - \delta M^{-1}F$, so forces and
//! warm start together are $v \leftarrow 2 v_{end} - v_{start}$, without a sweep over contacts.
//!
//! Impulses of all substeps are added up, so momentum balances to rounding however far the sweeps have come; how far is the
//! residual: what one sweep more moves.
//!
//! Trees of joints hold exactly after every sweep ([`joint_trees`]); limits, motors and dry friction on their coordinates are
//! swept like contacts ([`bounded_row`]). Rows are those of the start of the step.

mod batch;
mod bodies;
mod bounded_row;
mod colouring;
mod contacts;
mod joint_trees;
mod rows;
#[cfg(test)]
mod tests;
mod tree_factors;

use std::ops::Range;

pub(crate) use bodies::{BodyState, vec3};
pub(crate) use bounded_row::{Bound, BoundedRow};
pub(crate) use contacts::Contacts;
pub(crate) use joint_trees::{RowBatch, TreeBatch};
pub(crate) use tree_factors::{NO_PARENT, TreeNode};

use crate::math::Vec3;
use bodies::{Row, row};
use rows::NormalLaw;

/// Settings of the solver.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Tuning {
    /// Substeps of a step. In a pyramid of 528 boxes the worst overlap is 14.5, 3.7, 1.5, 1.0 and 0.8 mm with 2, 4, 6, 8 and 10 of
    /// them, and each costs as much as the other.
    pub substeps: u32,
    /// a = ωδ of the spring that parts overlaps, about a quarter of a turn per substep, and its damping ratio ζ. Stiffer or
    /// more damped ones leave more for the next sweep, softer ones let a heap sink: pyramids and heaps of the benches.
    pub spring: f64,
    pub damping_ratio: f64,
    /// Overlaps below this part of the smallest shape are left: contacts that open and close again never rest.
    pub slop: f64,
    /// The problem counts as solved if one sweep more moves no relative velocity by more than this part of the fastest.
    pub tolerance: f64,
    /// Share of what is beyond a joint limit that is taken back per step.
    pub limit_error_reduction: f64,
}

impl Default for Tuning {
    fn default() -> Self {
        Self {
            substeps: 6,
            spring: 1.7,
            damping_ratio: 1.0,
            slop: 2e-4,
            tolerance: 0.1,
            limit_error_reduction: 0.2,
        }
    }
}

impl Tuning {
    /// Length of a substep of a step of h seconds.
    pub(crate) fn delta(&self, h: f64) -> f64 {
        h / f64::from(self.substeps)
    }

    /// Sweeps over all contacts in a step.
    pub(crate) fn sweeps(&self) -> u32 {
        2 * self.substeps + 1
    }
}

/// The step that is solved.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Step {
    /// Its length \[s\].
    pub h: f64,
    /// Size of the smallest shape \[m\].
    pub length: f64,
    /// Overlaps part no faster than this \[m/s\].
    pub push_speed: f64,
    /// Impacts slower than this do not bounce \[m/s\].
    pub bounce_speed: f64,
}

/// Place of the world, which does not move, among the bodies of a problem.
pub(crate) const WORLD: u32 = 0;

/// A manifold between two bodies, with normal from the second to the first. Rows of four are as lanes read them.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ManifoldConstraint {
    bodies: [u32; 2],
    first: u32,
    count: u32,
    normal_friction: Row,
    /// u of surfaces that stick \[m/s\]; the last number is padding.
    surface_velocity: Row,
    /// From the centre of the second body to that of the first, zero if either is the world.
    offset_restitution: Row,
}

/// How the surfaces of a manifold touch.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SurfaceLaw {
    pub friction: f64,
    pub restitution: f64,
    /// v_a − v_b of the bodies' points where the surfaces stick \[m/s\].
    pub velocity: Vec3,
}

impl ManifoldConstraint {
    /// A manifold of some points of a problem between two of its bodies; `offset` is from the centre of the second to that of
    /// the first, zero if either is the world.
    pub(crate) fn new(
        bodies: [u32; 2],
        points: Range<usize>,
        normal: &Vec3,
        offset: &Vec3,
        law: &SurfaceLaw,
    ) -> Self {
        Self {
            bodies,
            first: points.start as u32,
            count: points.len() as u32,
            normal_friction: row(normal, law.friction),
            surface_velocity: row(&law.velocity, 0.0),
            offset_restitution: row(offset, law.restitution),
        }
    }

    /// Its points among those of the problem.
    pub(crate) fn points(&self) -> Range<usize> {
        self.first as usize..(self.first + self.count) as usize
    }
}

/// A point of a manifold, and the impulses found for it.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct PointConstraint {
    arm_gap: Row,
    impulse: Row,
    total: Row,
}

impl PointConstraint {
    /// A point at `arm` from the centre of the first body, or of the second if the first is the world, with the distance of
    /// the surfaces and the impulse on the first body to begin with in a substep.
    pub(crate) fn new(arm: &Vec3, gap: f64, impulse: &Vec3) -> Self {
        Self { arm_gap: row(arm, gap), impulse: row(impulse, 0.0), total: [0.0; 4] }
    }

    fn gap(&self) -> f64 {
        self.arm_gap[3]
    }

    /// Impulse on the first body in the last substep \[N·s\].
    pub(crate) fn impulse(&self) -> Vec3 {
        vec3(&self.impulse)
    }

    /// Impulse on the first body over the step \[N·s\].
    pub(crate) fn total(&self) -> Vec3 {
        vec3(&self.total)
    }
}

/// Islands that are solved together: bodies, contacts and trees of joints. Plain data in, plain data out.
#[derive(Debug, Default)]
pub(crate) struct Problem {
    /// Velocities after the forces of the first substep, then after the step. The first body is the world.
    pub bodies: Vec<BodyState>,
    /// v and ω of each body before the step; while it is solved, those at the start of a substep.
    pub start: Vec<[Row; 2]>,
    pub manifolds: Vec<ManifoldConstraint>,
    pub points: Vec<PointConstraint>,
    pub trees: Vec<TreeBatch>,
    pub bounded_rows: Vec<BoundedRow>,
}

/// What is left after a solve.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Residual {
    /// The fastest relative velocity of a contact before the step \[m/s\].
    pub fastest: f64,
    /// How far one sweep more moved a relative velocity \[m/s\].
    pub moved: f64,
    /// Contacts with an impulse.
    pub pressed: u32,
}

impl Residual {
    /// The worse of each number, and contacts of both.
    pub(crate) fn and(self, other: Self) -> Self {
        Self {
            fastest: self.fastest.max(other.fastest),
            moved: self.moved.max(other.moved),
            pressed: self.pressed + other.pressed,
        }
    }
}

impl Problem {
    /// Forgets everything but its buffers.
    pub(crate) fn clear(&mut self) {
        self.bodies.clear();
        self.start.clear();
        self.manifolds.clear();
        self.points.clear();
        self.trees.clear();
        self.bounded_rows.clear();
    }

    /// Forces and warm start of a later substep at once: v ← 2 v_end − v_start.
    fn repeat_last(&mut self) {
        for (body, start) in self.bodies.iter_mut().zip(&mut self.start) {
            let (begun, end) = (*start, [body.v, body.w]);
            *start = end;
            for k in 0..4 {
                body.v[k] += end[0][k] - begun[0][k];
                body.w[k] += end[1][k] - begun[1][k];
            }
        }
    }

    /// Bounded rows, then joints, which hold exactly afterwards.
    fn solve_joints(&mut self, delta: f64, rate: f64) {
        for row in &mut self.bounded_rows {
            row.solve(&mut self.bodies, delta, rate);
        }
        joint_trees::solve(&mut self.trees, &mut self.bodies);
    }

    fn integrate_positions(&mut self, delta: f64) {
        for b in &mut self.bodies {
            (0..3).for_each(|k| b.translation[k] += delta * b.v[k]);
            (0..3).for_each(|k| b.rotation[k] += delta * b.w[k]);
        }
    }

    /// Adds the impulses of joints in a substep to those of the step.
    fn accumulate(&mut self) {
        joint_trees::accumulate(&mut self.trees);
        self.bounded_rows.iter_mut().for_each(BoundedRow::accumulate);
    }
}

/// Velocities after the step, displacements over it, and all impulses. Buffers in `contacts` change no result.
pub(crate) fn solve(
    problem: &mut Problem,
    contacts: &mut Contacts,
    step: &Step,
    tuning: &Tuning,
) -> Residual {
    let delta = tuning.delta(step.h);
    let law = tuning.normal_law(step);
    let limit_rate = tuning.limit_error_reduction / (delta * f64::from(tuning.substeps));
    let Problem { bodies, start, manifolds, points, .. } = &mut *problem;
    let fastest = contacts.prepare_and_warm_start(bodies, start, manifolds, points);
    problem.bounded_rows.iter().for_each(|row| row.warm_start(&mut problem.bodies));
    joint_trees::solve(&mut problem.trees, &mut problem.bodies);
    for substep in 0..tuning.substeps {
        if substep > 0 {
            problem.accumulate();
            problem.repeat_last();
        }
        contacts.solve(&mut problem.bodies, &law);
        problem.solve_joints(delta, limit_rate);
        problem.integrate_positions(delta);
        // Impulses of the last substep are counted by the sweep that measures.
        contacts.relax(&mut problem.bodies, &law, substep + 1 < tuning.substeps);
        problem.solve_joints(delta, 0.0);
    }
    let moved = contacts.relax_and_measure(&mut problem.bodies, &law);
    contacts.apply_restitution(&mut problem.bodies, step.bounce_speed);
    joint_trees::solve(&mut problem.trees, &mut problem.bodies);
    problem.accumulate();
    Residual { fastest, moved, pressed: contacts.store_impulses(&mut problem.points) }
}

impl Tuning {
    fn normal_law(&self, step: &Step) -> NormalLaw {
        let delta = self.delta(step.h);
        let stiff = self.spring * (self.spring + 2.0 * self.damping_ratio);
        NormalLaw {
            inv_delta: 1.0 / delta,
            bias_rate: self.spring / (self.spring + 2.0 * self.damping_ratio) / delta,
            push_speed: step.push_speed,
            slop: self.slop * step.length,
            mass_scale: stiff / (1.0 + stiff),
            impulse_scale: 1.0 - 1.0 / (1.0 + stiff),
        }
    }
}
