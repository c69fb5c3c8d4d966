//! Constraints that a user writes as a function, and nothing else: $C(x_1, x_2, \dots, t) = 0$.
//!
//! The function is generic over [`Scalar`], so automatic differentiation gives the rest: columns of
//! $\partial C/\partial x$ from unit directions, $C_t$ from a unit step of time, and the part of $\ddot C$ that does not
//! depend on accelerations from the line $x + s\dot x$, $t + s$. A point fixed to a rigid body at arm r adds
//! $\partial C/\partial x\cdot(\omega\times(\omega\times r))$ to the latter and $(\partial C/\partial x)^T$ acts at the arm.

use super::{Ask, Body, Constraint, End, Holder, MOST_HOLDERS, MOST_ROWS, Rows};
use crate::math::{Jet, Scalar, Vec3};

/// Equations $C(x, t) = 0$ on one to four points.
pub trait Equations: Send + Sync {
    /// Number of equations, 1 … 6.
    fn rows(&self) -> usize;

    /// Fills `out` with C at time t \[s\] for points x \[m\].
    fn violation<T: Scalar>(&self, t: T, x: &[[T; 3]], out: &mut [T]);
}

/// A user's equations on points of particles or rigid bodies.
#[derive(Debug, Clone)]
pub struct UserConstraint<E> {
    equations: E,
    anchors: Vec<Vec3>,
    holders: Vec<Holder>,
}

impl<E: Equations> UserConstraint<E> {
    /// `points`: one to four ends; only holder and anchor matter.
    pub fn new(equations: E, points: &[End]) -> Self {
        debug_assert!(!points.is_empty() && points.len() <= MOST_HOLDERS && equations.rows() <= MOST_ROWS);
        Self {
            equations,
            anchors: points.iter().map(|e| e.anchor).collect(),
            holders: points.iter().map(|e| e.holder).collect(),
        }
    }

    /// C along the line x + s·rate, t + s·time_rate.
    fn along(
        &self,
        t: f64,
        x: &[Vec3],
        rate: impl Fn(usize, usize) -> f64,
        time_rate: f64,
    ) -> [Jet; MOST_ROWS] {
        let mut points = [[Jet::default(); 3]; MOST_HOLDERS];
        for (i, x) in x.iter().enumerate() {
            for k in 0..3 {
                points[i][k] = Jet::line(x[k], rate(i, k));
            }
        }
        let mut out = [Jet::default(); MOST_ROWS];
        let m = self.equations.rows();
        self.equations.violation(Jet::line(t, time_rate), &points[..x.len()], &mut out[..m]);
        out
    }
}

impl<E: Equations> Constraint for UserConstraint<E> {
    fn kind(&self) -> &'static str {
        "user"
    }

    fn rows(&self) -> usize {
        self.equations.rows()
    }

    fn holders(&self) -> &[Holder] {
        &self.holders
    }

    fn evaluate(&self, t: f64, bodies: &[Body], _turns: &[f64], out: &mut Rows) {
        let (n, m) = (self.holders.len(), self.rows());
        let mut x = [Vec3::zeros(); MOST_HOLDERS];
        let (mut v, mut arm, mut pull) = (x, x, x);
        for i in 0..n {
            let b = &bodies[i];
            arm[i] = b.R * self.anchors[i];
            x[i] = b.x + arm[i];
            v[i] = b.v + b.w.cross(&arm[i]);
            pull[i] = b.w.cross(&b.w.cross(&arm[i]));
        }
        let motion = self.along(t, &x[..n], |i, k| v[i][k], 1.0);
        let time = self.along(t, &x[..n], |_, _| 0.0, 1.0);
        for row in 0..m {
            out.violation[row] = motion[row].f0;
            out.bias[row] = 2.0 * motion[row].f2;
            out.drift[row] = time[row].f1;
        }
        if out.ask == Ask::Violation {
            return;
        }
        for i in 0..n {
            let mut gradient = [Vec3::zeros(); MOST_ROWS];
            for k in 0..3 {
                let unit = self.along(t, &x[..n], |j, l| f64::from(u8::from(i == j && k == l)), 0.0);
                for row in 0..m {
                    gradient[row][k] = unit[row].f1;
                }
            }
            for row in 0..m {
                out.add(row, i, &gradient[row], &arm[i].cross(&gradient[row]));
                out.bias[row] += gradient[row].dot(&pull[i]);
            }
        }
    }

    fn pivots_on_one(&self) -> bool {
        self.holders.len() == 1
    }
}

/// Curves and surfaces for a bead, as equations in one point.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Track {
    /// A circle: 2 equations.
    Circle {
        /// Centre \[m\].
        center: Vec3,
        /// Unit normal of its plane.
        axis: Vec3,
        /// Radius \[m\].
        radius: f64,
    },
    /// A straight line: 2 equations.
    Line {
        /// A point on it \[m\].
        through: Vec3,
        /// Two unit vectors across it.
        across: [Vec3; 2],
    },
    /// The parabola z = z₀ + k (x − x₀)², y = y₀: 2 equations.
    Parabola {
        /// Lowest point \[m\].
        lowest: Vec3,
        /// k \[1/m\].
        curvature: f64,
    },
    /// A sphere: 1 equation.
    Sphere {
        /// Centre \[m\].
        center: Vec3,
        /// Radius \[m\].
        radius: f64,
    },
    /// An endless cylinder: 1 equation.
    Cylinder {
        /// A point on its axis \[m\].
        center: Vec3,
        /// Unit vector along its axis.
        axis: Vec3,
        /// Radius \[m\].
        radius: f64,
    },
    /// A plane: 1 equation.
    Plane {
        /// A point in it \[m\].
        through: Vec3,
        /// Unit normal.
        normal: Vec3,
    },
    /// A torus around z: 1 equation.
    Torus {
        /// Centre \[m\].
        center: Vec3,
        /// Radius of the ring \[m\].
        ring: f64,
        /// Radius of the tube \[m\].
        tube: f64,
    },
}

impl Equations for Track {
    fn rows(&self) -> usize {
        match self {
            Track::Circle { .. } | Track::Line { .. } | Track::Parabola { .. } => 2,
            _ => 1,
        }
    }

    fn violation<T: Scalar>(&self, _t: T, x: &[[T; 3]], out: &mut [T]) {
        let from = |c: &Vec3| [x[0][0] - c.x, x[0][1] - c.y, x[0][2] - c.z];
        let dot = |a: &[T; 3], b: &Vec3| a[0] * b.x + a[1] * b.y + a[2] * b.z;
        let length = |a: &[T; 3]| (a[0] * a[0] + a[1] * a[1] + a[2] * a[2]).sqrt();
        match self {
            Track::Circle { center, axis, radius } => {
                let d = from(center);
                out[0] = length(&d) - *radius;
                out[1] = dot(&d, axis);
            }
            Track::Line { through, across } => {
                let d = from(through);
                out[0] = dot(&d, &across[0]);
                out[1] = dot(&d, &across[1]);
            }
            Track::Parabola { lowest, curvature } => {
                let d = from(lowest);
                out[0] = d[2] - d[0] * d[0] * *curvature;
                out[1] = d[1];
            }
            Track::Sphere { center, radius } => out[0] = length(&from(center)) - *radius,
            Track::Cylinder { center, axis, radius } => {
                let d = from(center);
                let along = dot(&d, axis);
                let side = [d[0] - along * axis.x, d[1] - along * axis.y, d[2] - along * axis.z];
                out[0] = length(&side) - *radius;
            }
            Track::Plane { through, normal } => out[0] = dot(&from(through), normal),
            Track::Torus { center, ring, tube } => {
                let d = from(center);
                let out_of = (d[0] * d[0] + d[1] * d[1]).sqrt() - *ring;
                out[0] = (out_of * out_of + d[2] * d[2]).sqrt() - *tube;
            }
        }
    }
}
