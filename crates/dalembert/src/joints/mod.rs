//! Joints: constraints $C(q, t) = 0$ that hold bodies together.
//!
//! A constraint gives its violation C, its Jacobian $A = \partial C/\partial q$ (so that $\dot C = A v + C_t$), and
//! $\dot A v + \dots$, the part of $\ddot C$ that does not depend on accelerations. By d'Alembert's principle the force
//! that holds it is $F = A^T\lambda$: it does no work along any motion with $A v = 0$. Methods decide what λ is: a
//! spring-damper (`explicit`), the multiplier that makes $\ddot C = 0$ (`lagrange`) or the soft velocity-level one
//! (`impulse`).
//!
//! Joints are written with *ends*: a point and three axes (t, n, b) fixed to each of two bodies, a and b; b may be a
//! particle (no axes) and either may be the world. [`JointKind`] lists the joints and the table of what each is; every
//! joint has one file, which puts its rows together from the four kinds in [`rows`]. λ of a row with $C = x_a - x_b$ is the
//! force on a. Limits, motors, friction and rotors act on a joint's [`Axis`]. Book: "Joints".

pub mod affine;
mod axis;
mod gear;
mod held;
mod kind;
mod prescribed;
mod reduced;
pub mod rows;
mod softness;
pub mod user;

pub use axis::{Axis, AxisRow, Role};
pub use gear::{Coupler, Coupling};
pub use held::{Hold, NamedConstraint};
pub use kind::{JointInfo, JointKind};
pub use prescribed::Prescribed;
pub(crate) use reduced::JointFrame;
pub use reduced::MotionSubspace;
pub use softness::Softness;
pub use user::{Equations, Track, UserConstraint};

use crate::math::rotation;
use crate::math::{Mat3, Vec3};

/// What one end of a constraint holds on to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Holder {
    /// The world: does not move.
    World,
    /// Rigid body number k.
    Rigid(u32),
    /// Particle number k.
    Particle(u32),
}

/// Pose and velocity of a holder, as constraints see it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Body {
    /// Centre of mass (particle: position) \[m\].
    pub x: Vec3,
    /// Rotation body → world; identity for a particle.
    pub R: Mat3,
    /// Velocity of the centre of mass \[m/s\].
    pub v: Vec3,
    /// Angular velocity in world axes \[rad/s\].
    pub w: Vec3,
}

impl Body {
    /// The world.
    pub const WORLD: Body = Body {
        x: Vec3::new(0.0, 0.0, 0.0),
        R: Mat3::new(1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0),
        v: Vec3::new(0.0, 0.0, 0.0),
        w: Vec3::new(0.0, 0.0, 0.0),
    };
}

/// A point and three axes fixed to a holder.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct End {
    /// What it is fixed to.
    pub holder: Holder,
    /// The point, from the centre of mass, in body axes \[m\].
    pub anchor: Vec3,
    /// Columns t, n, b = t × n in body axes.
    pub axes: Mat3,
}

/// Most bodies that one constraint may touch.
pub const MOST_HOLDERS: usize = 4;
/// Most rows of one constraint.
pub const MOST_ROWS: usize = 6;
/// A 6×6 block, row-major: row i of the constraint, columns (linear, angular) of one body.
pub type Block = [f64; 36];

/// How much a constraint is asked to say; one that says more does no harm.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Ask {
    /// The violation only, as a projection does that keeps its factors.
    Violation,
    /// Violation, drift and Jacobian.
    Jacobian,
    /// Everything.
    #[default]
    Bias,
}

/// What a constraint says about itself at one state.
#[derive(Debug, Clone, PartialEq)]
pub struct Rows {
    /// What is asked for.
    pub ask: Ask,
    /// Violation C \[m or rad, by row\].
    pub violation: [f64; MOST_ROWS],
    /// ∂C/∂t: nonzero only for constraints that move by themselves.
    pub drift: [f64; MOST_ROWS],
    /// J̇q̇ and the time terms: C̈ = A a + bias.
    pub bias: [f64; MOST_ROWS],
    /// ∂C/∂q for each body.
    pub jacobian: [Block; MOST_HOLDERS],
}

impl Default for Rows {
    fn default() -> Self {
        Self {
            ask: Ask::default(),
            violation: [0.0; MOST_ROWS],
            drift: [0.0; MOST_ROWS],
            bias: [0.0; MOST_ROWS],
            jacobian: [[0.0; 36]; MOST_HOLDERS],
        }
    }
}

impl Rows {
    /// All zero again.
    pub fn clear(&mut self, holders: usize) {
        self.clear_rows(holders, MOST_ROWS);
    }

    /// The same for a constraint with so many rows.
    #[inline]
    pub(crate) fn clear_rows(&mut self, holders: usize, rows: usize) {
        self.violation = [0.0; MOST_ROWS];
        self.drift = [0.0; MOST_ROWS];
        self.bias = [0.0; MOST_ROWS];
        if self.ask >= Ask::Jacobian {
            for block in &mut self.jacobian[..holders] {
                block[..6 * rows].fill(0.0);
            }
        }
    }

    /// Adds to row `row` what multiplies the velocity and the angular velocity of body `slot`.
    #[inline(always)]
    pub fn add(&mut self, row: usize, slot: usize, linear: &Vec3, angular: &Vec3) {
        let r = &mut self.jacobian[slot][6 * row..6 * row + 6];
        for k in 0..3 {
            r[k] += linear[k];
            r[3 + k] += angular[k];
        }
    }

    /// (A v)ᵢ for the velocities of the bodies.
    pub fn rate(&self, row: usize, bodies: &[Body]) -> f64 {
        let mut sum = 0.0;
        for (block, b) in self.jacobian.iter().zip(bodies) {
            let r = &block[6 * row..6 * row + 6];
            for k in 0..3 {
                sum += r[k] * b.v[k] + r[3 + k] * b.w[k];
            }
        }
        sum
    }
}

/// How the force of a constraint on one body turns with that body: $-\partial(A^T\lambda)/\partial q$ with λ held, without
/// the blocks between bodies and between places and turns.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct GeometricStiffness {
    /// Force against displacement \[N/m\].
    pub linear: Mat3,
    /// Torque against turn \[N·m/rad\].
    pub angular: Mat3,
}

impl GeometricStiffness {
    /// A force f at an arm a from the centre of mass: its torque a × f changes by (δθ × a) × f, so K = (a·f) 1 − a fᵀ.
    /// The part of f along the arm gives (a·f)(1 − â âᵀ), which is kept. The part across it gives an indefinite matrix,
    /// which is left out: it would join the spin of a link about itself with its swing.
    fn add_force_at(&mut self, arm: &Vec3, f: &Vec3) {
        let square = arm.norm_squared();
        if square > 0.0 {
            let along = arm.dot(f);
            self.angular += Mat3::from_diagonal_element(along) - (along / square) * arm * arm.transpose();
        }
    }
}

/// Holds bodies together.
pub trait Constraint: Send + Sync {
    /// Name of the kind, as in scene files.
    fn kind(&self) -> &'static str;

    /// Number of rows, 1 … 6.
    fn rows(&self) -> usize;

    /// The bodies it touches, 1 … 4, in the order of the Jacobian's blocks.
    fn holders(&self) -> &[Holder];

    /// Fills `out`, which comes cleared, at time t. `turns` is where each coordinate of the constraint stood last
    /// (see [`coordinates`](Self::coordinates)), so that angles go on beyond ±π.
    fn evaluate(&self, t: f64, bodies: &[Body], turns: &[f64], out: &mut Rows);

    /// Joint coordinates \[rad or m\] that need a memory to be unwrapped; `turns` gives their last values.
    fn coordinates(&self, _bodies: &[Body], _turns: &[f64]) -> [Option<f64>; 2] {
        [None, None]
    }

    /// The two ends of a joint, for its coordinate.
    fn ends(&self) -> Option<&[End; 2]> {
        None
    }

    /// Adds how its forces λ \[N or N·m\] turn with each body to `out`; false if it has nothing to add.
    fn geometric_stiffness(
        &self,
        _bodies: &[Body],
        _lambda: &[f64],
        _out: &mut [GeometricStiffness],
    ) -> bool {
        false
    }

    /// True if one of its two bodies alone can take up all rows, so that a solver may pivot on it early.
    fn pivots_on_one(&self) -> bool {
        true
    }

    /// Itself, if it is a joint between two ends: solvers keep copies of those side by side.
    fn as_joint(&self) -> Option<&Joint> {
        None
    }

    /// Which coordinate of its joint a limit or motor acts on.
    fn axis(&self) -> Option<Axis> {
        None
    }
}

/// A joint between two ends.
#[derive(Debug, Clone, PartialEq)]
pub struct Joint {
    /// Which joint.
    pub kind: JointKind,
    /// Ends on a and b.
    pub ends: [End; 2],
    holders: [Holder; 2],
    /// Of the kind.
    parameter: f64,
}

impl Joint {
    /// A joint between two ends. A distance must be known.
    pub fn new(kind: JointKind, ends: [End; 2]) -> Self {
        Self { kind, ends, holders: ends.map(|e| e.holder), parameter: kind.parameter() }
    }
}

impl Constraint for Joint {
    fn kind(&self) -> &'static str {
        self.kind.name()
    }

    fn rows(&self) -> usize {
        self.kind.info().rows
    }

    fn holders(&self) -> &[Holder] {
        &self.holders
    }

    fn evaluate(&self, _t: f64, bodies: &[Body], turns: &[f64], out: &mut Rows) {
        (self.kind.info().evaluate)(&rows::Ends::new(&self.ends, bodies), self.parameter, turns, out);
    }

    fn coordinates(&self, bodies: &[Body], turns: &[f64]) -> [Option<f64>; 2] {
        if !self.kind.info().turns() {
            return [None, None];
        }
        let e = rows::Ends::new(&self.ends, bodies);
        [Some(rotation::unwrap_angle(turns[0], e.angle())), None]
    }

    fn ends(&self) -> Option<&[End; 2]> {
        Some(&self.ends)
    }

    fn as_joint(&self) -> Option<&Joint> {
        Some(self)
    }

    fn geometric_stiffness(&self, bodies: &[Body], lambda: &[f64], out: &mut [GeometricStiffness]) -> bool {
        let Some(add) = self.kind.info().geometric_stiffness else { return false };
        let arm = [0, 1].map(|k| bodies[k].R * self.ends[k].anchor);
        add(bodies, &arm, self.parameter, lambda, out);
        true
    }
}
