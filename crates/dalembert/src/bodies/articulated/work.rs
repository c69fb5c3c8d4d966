//! Buffers of the sweeps over a tree, $O(\text{nodes})$ numbers: they may be dropped at any moment.
//!
//! Everything is in **world axes**, with the origin of its own node as reference point: then going from a node to its
//! parent is a shift without a turn, $n \leftarrow n + r \times f$, and no number grows with the distance from the
//! world's origin.

use super::aba::LANES;
use super::branch::{BranchMatrix, BranchSquare};
use super::derivatives::DerivativeWork;
use super::small::Sym3;
use super::step::StepBuffers;
use super::tree::Tree;
use crate::math::{Mat3, Vec3};

/// A force \[N\] and a torque \[N·m\], world axes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Wrench {
    /// Torque n \[N·m\].
    pub torque: Vec3,
    /// Force f \[N\].
    pub force: Vec3,
}

impl Default for Wrench {
    fn default() -> Self {
        Self { torque: Vec3::zeros(), force: Vec3::zeros() }
    }
}

/// Where a node is.
#[derive(Debug, Clone, Copy)]
pub(super) struct Frame {
    /// R_WN.
    pub(super) R: Mat3,
    /// From the parent's origin to the own [m].
    pub(super) r: Vec3,
    /// Origin in the world [m].
    pub(super) p: Vec3,
}

/// How a node moves: angular velocity, acceleration of its turn and of its origin.
#[derive(Debug, Clone, Copy)]
pub(super) struct Motion {
    /// ω [rad/s].
    pub(super) w: Vec3,
    /// dω/dt [rad/s²].
    pub(super) dw: Vec3,
    /// Acceleration of the origin [m/s²].
    pub(super) a: Vec3,
}

/// Inertia of a rigid node in world axes about its origin.
#[derive(Debug, Clone, Copy)]
pub(super) struct Composite {
    pub(super) mass: f64,
    /// First moment m c [kg·m].
    pub(super) moment: Vec3,
    pub(super) inertia: Sym3,
}

/// Articulated inertia: n = A ω̇ + B a, f = Bᵀ ω̇ + C a.
#[derive(Debug, Clone, Copy)]
pub(super) struct Articulated {
    pub(super) A: Sym3,
    pub(super) B: Mat3,
    pub(super) C: Sym3,
}

/// What is left of a dof after its elimination.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pivot {
    /// U = I s: torque and force that a unit acceleration of the dof asks for.
    pub(super) U: Wrench,
    /// 1/(s·U + armature).
    pub(super) inv_d: f64,
    /// Force that is left to the dof, τ − s·p.
    pub(super) u: f64,
}

/// Buffers for one tree at one state. Made once; nothing allocates afterwards.
#[derive(Debug, Clone)]
pub struct TreeWork {
    pub(super) frames: Vec<Frame>,
    /// Sine and cosine of the joint angles.
    pub(super) turns: Vec<[f64; 2]>,
    pub(super) motion: Vec<Motion>,
    /// Velocity of the origin [m/s].
    pub(super) velocity: Vec<Vec3>,
    pub(super) wrench: Vec<Wrench>,
    pub(super) composite: Vec<Composite>,
    pub(super) articulated: Vec<Articulated>,
    pub(super) pivots: Vec<Pivot>,
    /// M as `mass_matrix` wrote it.
    pub(super) mass: BranchMatrix,
    /// Its factor.
    pub(super) factor: BranchMatrix,
    /// Turn and shift of each dof about the origin of its root.
    pub(super) axes: Vec<[f64; 6]>,
    pub(super) derivatives: DerivativeWork,
    pub(super) jacobian: BranchSquare,
    pub(super) jacobian_v: BranchSquare,
    pub(super) step_buffers: StepBuffers,
    /// Wrenches or accelerations of eight right-hand sides.
    pub(super) lanes: Vec<[[f64; LANES]; 6]>,
    /// Their dofs.
    pub(super) lane_u: Vec<[f64; LANES]>,
    /// Forces of gravity compensation.
    pub(super) lifts: Vec<f64>,
}

impl TreeWork {
    /// Room for one state of a tree.
    pub fn new(tree: &Tree) -> Self {
        let (nodes, nv) = (tree.nodes.len(), tree.freedoms());
        let o = Vec3::zeros();
        let frame = Frame { R: Mat3::identity(), r: o, p: o };
        let articulated = Articulated { A: Sym3::default(), B: Mat3::zeros(), C: Sym3::default() };
        Self {
            frames: vec![frame; nodes],
            turns: vec![[0.0, 1.0]; nodes],
            motion: vec![Motion { w: o, dw: o, a: o }; nodes],
            velocity: vec![o; nodes],
            wrench: vec![Wrench::default(); nodes],
            composite: vec![Composite { mass: 0.0, moment: o, inertia: Sym3::default() }; nodes],
            articulated: vec![articulated; nodes],
            pivots: vec![Pivot { U: Wrench::default(), inv_d: 0.0, u: 0.0 }; nv],
            mass: BranchMatrix::default(),
            factor: BranchMatrix::default(),
            axes: Vec::new(),
            derivatives: DerivativeWork::default(),
            jacobian: BranchSquare::default(),
            jacobian_v: BranchSquare::default(),
            step_buffers: StepBuffers::default(),
            lanes: Vec::new(),
            lane_u: Vec::new(),
            lifts: Vec::new(),
        }
    }
}
