//! External articulation: a robot whose joint-space dynamics are computed elsewhere moves affine links inside an `ipc` scene.
//!
//! **The term.** Some other engine (or our own reduced dynamics, see `driver`) knows the effective mass $M^t$ of m freedoms
//! and predicts by how much they would move in this step without contact, $\tilde{\delta\theta}$. Its links are affine
//! bodies here, tied by exact joints and without inertia of their own, and the step's potential gets
//!
//! $$ K(q) = \frac1{2h^2}\,r^T M^t r,\qquad r = \delta\theta(q, q^t) - \tilde{\delta\theta}. $$
//!
//! At the minimum, with f the contact forces on the links and J the motion of the links per unit of θ, the joints'
//! own forces do no work along J, so that $M^t(\delta\theta - \tilde{\delta\theta})/h^2 = J^T f$: the step that the other
//! engine would have made had it known f. Nothing touches: $\delta\theta = \tilde{\delta\theta}$. A joint b that is blocked:
//! $\delta\theta_f = \tilde{\delta\theta}_f - M_{ff}^{-1}M_{fb}(\delta\theta_b - \tilde{\delta\theta}_b)$. Implicit damping B and
//! servo stiffness K of the other engine belong into $M^t$: $M + hB + h^2K$.
//!
//! **Freedoms.** With θ(q) as in [`joints::affine`](crate::joints::affine):
//!
//! | joint | freedoms | r |
//! |---|---|---|
//! | hinge | 1 | $\mathrm{atan2}(s c^t - c s^t,\ c c^t + s s^t) - \tilde{\delta\theta}$ |
//! | slider | 1 | $\theta - \theta^t - \tilde{\delta\theta}$, $\theta = \tfrac12 d\cdot(t_i + t_j)$ |
//! | ball | 3, axes of j | see below |
//! | free | 3 shifts (world axes) of a point of j, 3 turns (axes of j) | $x - x^t - \tilde{\delta x}$, and as a ball |
//!
//! For a ball let $Q^t = E_i^T E_j$ be the rotation of j's axes against i's at the reference and
//! $Q^* = Q^t\exp[\tilde{\delta\theta}]_\times$ where they ought to come. The axes $e^*_k = \sum_l Q^*_{lk}e^i_l$ ride on i and are
//! linear in its blocks; $r_k = \tfrac12(e^*_b\cdot e_a - e^*_a\cdot e_b)$ for cyclic (a, b, k) is the turn from $e^*$ to e, to third
//! order (it is $\sin\phi$ times the axis). It vanishes exactly at the prediction, and it has no singularity there, however
//! large $\tilde{\delta\theta}$ is. What is read back is $\delta\theta = \log(Q^{tT}Q)$.
//!
//! **Reference.** $q^t$ is this engine's state before the step, or `reference` (`ref_dof_prev`): the other engine's own. With it
//! the links go where that engine thinks they go, and a difference between the two decays in one step instead of staying.
//!
//! **Derivatives.** Gradient $J^T M r/h^2$; Hessian $J^T M J/h^2$, positive as M is, plus the positive part of
//! $(Mr)_i\nabla^2\theta_i/h^2$. Up to 64 freedoms: one dense block over the blocks of all links. Beyond, the
//! quasi-definite form of `term`.
//!
//! Sources: external articulation constraint as in libuipc (its documentation; sign of the sine after DESIGN section 5);
//! floating bases and balls are ours. Book: "Coupling".

mod driver;
mod term;

pub use driver::{drive_of_robot, pose_between};
pub(crate) use term::CouplingWork;

use crate::joints::affine::{BlockVector, Measure};
use crate::math::{Mat3, Pose, Vec3, triple};
use crate::solve::dense::{NotPositive, cholesky};
use crate::state::Drive;

/// A joint of an articulation.
#[derive(Debug, Clone, PartialEq)]
pub enum Freedom {
    /// A hinge or slider: one freedom.
    Single(Measure),
    /// Three turns of body j against body i, in the axes of j.
    Ball {
        /// Axes x, y, z on i; parallel to those of j at the start.
        parent: Box<[BlockVector; 3]>,
        /// Axes x, y, z of j.
        child: Box<[BlockVector; 3]>,
    },
    /// Three shifts of a point of j in world axes, then three turns in the axes of j.
    Free {
        /// The point.
        point: BlockVector,
        /// Axes x, y, z of j.
        child: Box<[BlockVector; 3]>,
    },
}

impl Freedom {
    /// How many freedoms it has.
    pub fn count(&self) -> usize {
        match self {
            Freedom::Single(_) => 1,
            Freedom::Ball { .. } => 3,
            Freedom::Free { .. } => 6,
        }
    }
}

/// A link of an articulation.
#[derive(Debug, Clone, PartialEq)]
pub struct Link {
    /// Name of the affine body.
    pub name: String,
    /// Its first block.
    pub first: u32,
    /// Centre of mass in its own frame \[m\]: the first block is the place of the centre.
    pub center: Vec3,
}

/// Who computes mass and increments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Driver {
    /// A caller, through [`State::drives`](crate::state::State::drives).
    External,
    /// A robot of the model, by number: our own reduced dynamics.
    Robot(usize),
}

/// One articulation: constant.
#[derive(Debug, Clone, PartialEq)]
pub struct Articulation {
    /// Name.
    pub name: String,
    /// Its joints, in the order of the freedoms.
    pub joints: Vec<(String, Freedom)>,
    /// Its links, each once.
    pub links: Vec<Link>,
    /// What the last links are if a robot drives it: frames of a body between its joints, by the number of the body and how
    /// many of its joints have moved.
    pub between: Vec<(usize, usize)>,
    /// Who drives it.
    pub driver: Driver,
}

impl Articulation {
    /// Number m of freedoms.
    pub fn freedoms(&self) -> usize {
        self.joints.iter().map(|(_, j)| j.count()).sum()
    }
}

/// What a step made of one articulation.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct DriveReport {
    /// Increments that came out, m numbers \[rad or m\].
    pub delta: Vec<f64>,
    /// M(δθ − δθ̃)/h²: what contact (and limits and motors on the joints) did to the freedoms \[N·m or N\].
    pub force: Vec<f64>,
    /// Force and torque about its centre that contact and friction put on each link, world axes \[N\], \[N·m\].
    pub wrenches: Vec<(Vec3, Vec3)>,
}

/// What is wrong with a drive. The state is as it was.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum DriveError {
    /// Nothing was given.
    #[error(
        "articulation `{articulation}` has no drive: give its mass matrix and increments before the step"
    )]
    Missing {
        /// Name of the articulation.
        articulation: String,
    },
    /// A list of another length.
    #[error("{what} of articulation `{articulation}` has {found} numbers; it needs {needed}")]
    Shape {
        /// Name of the articulation.
        articulation: String,
        /// Which list.
        what: &'static str,
        /// Numbers found.
        found: usize,
        /// Numbers needed.
        needed: usize,
    },
    /// NaN or infinite.
    #[error("entry {index} of {what} of articulation `{articulation}` is {value}; it must be finite")]
    NotFinite {
        /// Name of the articulation.
        articulation: String,
        /// Which list.
        what: &'static str,
        /// Which entry.
        index: usize,
        /// Its value.
        value: f64,
    },
    /// M is not symmetric.
    #[error(
        "the mass matrix of articulation `{articulation}` is not symmetric: M[{row}][{column}] = {value}, M[{column}][{row}] = {other}"
    )]
    NotSymmetric {
        /// Name of the articulation.
        articulation: String,
        /// Row.
        row: usize,
        /// Column.
        column: usize,
        /// Entry.
        value: f64,
        /// Its mirror.
        other: f64,
    },
    /// M is not positive definite.
    #[error(
        "the mass matrix of articulation `{articulation}` is not positive definite: pivot {pivot} of its factor is {value}"
    )]
    NotPositive {
        /// Name of the articulation.
        articulation: String,
        /// Which pivot.
        pivot: usize,
        /// Its value.
        value: f64,
    },
    /// A reference that no body can have.
    #[error(
        "the reference of link `{link}` of articulation `{articulation}` is no rotation: its columns are not at right angles"
    )]
    NotRotation {
        /// Name of the articulation.
        articulation: String,
        /// Name of the link.
        link: String,
    },
    /// The driver itself said no.
    #[error("the driver of articulation `{articulation}` failed: {message}")]
    Driver {
        /// Name of the articulation.
        articulation: String,
        /// What it said.
        message: String,
    },
}

/// Relative difference of mirrored entries that still counts as rounding.
const SYMMETRIC: f64 = 1e-8;

impl Drive {
    /// Checks shapes and numbers against an articulation.
    pub fn check(&self, a: &Articulation) -> Result<(), DriveError> {
        self.check_with(a, &mut Vec::new())
    }

    /// [`check`](Self::check) with memory for a factor.
    pub(crate) fn check_with(&self, a: &Articulation, room: &mut Vec<f64>) -> Result<(), DriveError> {
        let m = a.freedoms();
        let articulation = || a.name.clone();
        let lists = [
            ("the mass matrix", &self.mass, m * m, false),
            ("the increments", &self.delta, m, false),
            ("the reference", &self.reference, 12 * a.links.len(), true),
        ];
        for (what, list, needed, optional) in lists {
            if list.len() != needed && !(optional && list.is_empty()) {
                let found = list.len();
                return Err(DriveError::Shape { articulation: articulation(), what, found, needed });
            }
            if let Some(index) = list.iter().position(|x| !x.is_finite()) {
                let value = list[index];
                return Err(DriveError::NotFinite { articulation: articulation(), what, index, value });
            }
        }
        for row in 0..m {
            for column in 0..row {
                let (value, other) = (self.mass[row * m + column], self.mass[column * m + row]);
                let size = (self.mass[row * m + row] * self.mass[column * m + column]).abs().sqrt();
                if (value - other).abs() > SYMMETRIC * size.max(value.abs()) {
                    let articulation = articulation();
                    return Err(DriveError::NotSymmetric { articulation, row, column, value, other });
                }
            }
        }
        room.clone_from(&self.mass);
        if let Err(NotPositive { row: pivot, value }) = cholesky(room, m) {
            return Err(DriveError::NotPositive { articulation: articulation(), pivot, value });
        }
        for (k, link) in a.links.iter().enumerate().filter(|_| !self.reference.is_empty()) {
            let A = Mat3::from_row_slice(&self.reference[12 * k + 3..12 * k + 12]);
            if !((A.transpose() * A - Mat3::identity()).norm() < 0.1 && A.determinant() > 0.0) {
                return Err(DriveError::NotRotation {
                    articulation: articulation(),
                    link: link.name.clone(),
                });
            }
        }
        Ok(())
    }
}

impl Link {
    /// Its 12 numbers (place of its origin, rows of A) from the flat blocks.
    pub fn dof(&self, z: &[f64]) -> [f64; 12] {
        let at = self.first as usize;
        let A = Mat3::from_columns(&[1, 2, 3].map(|k| triple(z, at + k)));
        numbers(&(triple(z, at) - A * self.center), &A)
    }

    /// Writes its 12 numbers into flat blocks.
    pub fn set_dof(&self, dof: &[f64], z: &mut [f64]) {
        let at = 3 * self.first as usize;
        let A = Mat3::from_row_slice(&dof[3..12]);
        let p = Vec3::new(dof[0], dof[1], dof[2]) + A * self.center;
        z[at..at + 3].copy_from_slice(p.as_slice());
        z[at + 3..at + 12].copy_from_slice(A.as_slice());
    }
}

fn numbers(p: &Vec3, A: &Mat3) -> [f64; 12] {
    let mut out = [0.0; 12];
    out[..3].copy_from_slice(p.as_slice());
    out[3..].copy_from_slice(A.transpose().as_slice());
    out
}

/// The 12 numbers (place of the origin, rows of A) of a frame at a pose.
pub fn dof_of_pose(pose: &Pose) -> [f64; 12] {
    numbers(&pose.position, &crate::math::rotation::matrix(&pose.rotation))
}
