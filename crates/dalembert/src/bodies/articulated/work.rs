//! Buffers of the sweeps over a tree, $O(\text{nodes})$ numbers: they may be dropped at any moment.
//!
//! Everything is in **world axes**, with the origin of its own node as reference point: then going from a node to its
//! parent is a shift without a turn, $n \leftarrow n + r \times f$, and no number grows with the distance from the
//! world's origin.

use nalgebra::{Matrix3, Vector3};

use super::aba::LANES;
use super::aba_simd::FourWork;
use super::derivatives::DerivativeWork;
use super::fixed_size::Sym3;
use super::ltdl::{TreeMatrix, TreeSquareMatrix};
use super::step::StepBuffers;
use super::tree::Tree;
use crate::math::{Mat3, Vec3};

/// A force \[N\] and a torque \[N·m\], world axes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Wrench<S = f64> {
    /// Torque n \[N·m\].
    pub torque: Vector3<S>,
    /// Force f \[N\].
    pub force: Vector3<S>,
}

impl Default for Wrench {
    fn default() -> Self {
        Self { torque: Vec3::zeros(), force: Vec3::zeros() }
    }
}

/// Where a node is.
#[derive(Debug, Clone, Copy)]
pub(super) struct Frame<S = f64> {
    /// R_WN.
    pub(super) R: Matrix3<S>,
    /// From the parent's origin to the own [m].
    pub(super) r: Vector3<S>,
    /// Origin in the world [m].
    pub(super) p: Vector3<S>,
}

/// How a node moves: angular velocity, acceleration of its turn and of its origin.
#[derive(Debug, Clone, Copy)]
pub(super) struct Motion<S = f64> {
    /// ω [rad/s].
    pub(super) w: Vector3<S>,
    /// dω/dt [rad/s²].
    pub(super) dw: Vector3<S>,
    /// Acceleration of the origin [m/s²].
    pub(super) a: Vector3<S>,
}

/// Inertia of a rigid node in world axes about its origin.
#[derive(Debug, Clone, Copy)]
pub(super) struct Composite<S = f64> {
    pub(super) mass: S,
    /// First moment m c [kg·m].
    pub(super) moment: Vector3<S>,
    pub(super) inertia: Sym3<S>,
}

/// Articulated inertia: n = A ω̇ + B a, f = Bᵀ ω̇ + C a.
#[derive(Debug, Clone, Copy)]
pub(super) struct Articulated<S = f64> {
    pub(super) A: Sym3<S>,
    pub(super) B: Matrix3<S>,
    pub(super) C: Sym3<S>,
}

/// What is left of a dof after its elimination.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pivot<S = f64> {
    /// U = I s: torque and force that a unit acceleration of the dof asks for.
    pub(super) U: Wrench<S>,
    /// 1/(s·U + armature).
    pub(super) inv_d: S,
    /// Force that is left to the dof, τ − s·p.
    pub(super) u: S,
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
    pub(super) mass: TreeMatrix,
    /// Its factor.
    pub(super) factor: TreeMatrix,
    /// Turn and shift of each dof about the origin of its root.
    pub(super) axes: Vec<[f64; 6]>,
    pub(super) derivatives: DerivativeWork,
    pub(super) jacobian: TreeSquareMatrix,
    pub(super) jacobian_v: TreeSquareMatrix,
    pub(super) step_buffers: StepBuffers,
    /// Wrenches or accelerations of eight right-hand sides.
    pub(super) lanes: Vec<[[f64; LANES]; 6]>,
    /// Their dofs.
    pub(super) lane_u: Vec<[f64; LANES]>,
    /// Four trees side by side.
    pub(super) four: FourWork,
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
            mass: TreeMatrix::default(),
            factor: TreeMatrix::default(),
            axes: Vec::new(),
            derivatives: DerivativeWork::default(),
            jacobian: TreeSquareMatrix::default(),
            jacobian_v: TreeSquareMatrix::default(),
            step_buffers: StepBuffers::default(),
            lanes: Vec::new(),
            lane_u: Vec::new(),
            four: FourWork::default(),
            lifts: Vec::new(),
        }
    }
}
