//! Who responds to an impulse, and how.
//!
//! Contact acts on points. With J the map from the velocities of a body, or of all bodies coupled with it, to the velocity of
//! the point, an impulse p at the point changes these velocities by $M^{-1}J^Tp$.
//!
//! | [`Responder`] | velocities | $M^{-1}J^T$ |
//! |---|---|---|
//! | `World` | none | |
//! | `Body` | six of a rigid body or particle | from its inverse mass and inertia |
//! | `Jointed` | those of its island of joints | columns of the factored saddle-point system: joints hold in every iterate |
//! | `Link` | the dofs of its trees | rows J and columns, by half solves ([`half_solve`]) |
//!
//! Solvers see nothing of a responder but these rows, columns and blocks of the Delassus operator $W = J M^{-1}J^T$. What
//! deforms joins as a variant whose columns are those of $(M + hB + h^2K)^{-1}J^T$ over its nodes.

pub(crate) mod bounded_row;
pub(crate) mod half_solve;
pub(crate) mod robot;

use crate::math::rotation::skew;
use crate::math::{Mat3, Vec3};

/// No number.
pub(crate) const NONE: u32 = u32::MAX;
/// Added to what is divided by, so that quotients are finite.
pub(crate) const TINY: f64 = 1e-300;

/// Three columns of M⁻¹Jᵀ over the velocities of coupled bodies, and three more if there is spin friction.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Columns {
    /// First velocity of the coupled bodies.
    pub(crate) first: u32,
    /// How many velocities they have.
    pub(crate) len: u32,
    /// Where the numbers begin: three per velocity.
    pub(crate) at: u32,
    /// From the numbers of one velocity to those of the next.
    pub(crate) stride: u32,
    /// From the columns of the impulse to those of the angular impulse.
    pub(crate) spin: u32,
    /// Links only: where W of all columns of the trees begins, `stride` numbers a row, and which column this is.
    pub(crate) W: u32,
    pub(crate) column: u32,
}

/// How one side of a contact moves and responds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Responder {
    /// It does neither.
    World,
    /// A body or particle by itself: six velocities from here on.
    Body(u32),
    /// A body among joints: its six velocities, and the columns over its island.
    Jointed(u32, Columns),
    /// A link of a robot: rows of J, laid out like the columns, from here on.
    Link(u32, Columns),
}

impl Responder {
    /// A body by itself, or the world.
    pub(crate) fn is_body_or_world(&self) -> bool {
        matches!(self, Self::Body(_) | Self::World)
    }

    /// A link of a robot, or the world.
    pub(crate) fn is_link_or_world(&self) -> bool {
        matches!(self, Self::Link(..) | Self::World)
    }

    /// The columns over these coupled bodies, if it has such.
    pub(crate) fn link_columns(&self, coupled: &CoupledBodies) -> Option<&Columns> {
        match self {
            Self::Link(_, c) if c.first == coupled.first && c.len == coupled.len => Some(c),
            _ => None,
        }
    }
}

/// Bodies that respond together: an island of joints, or trees of a robot.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct CoupledBodies {
    /// First velocity.
    pub(crate) first: u32,
    /// Velocities.
    pub(crate) len: u32,
    /// Some contact touches them.
    pub(crate) touched: bool,
    /// All contacts that touch them are among these, `from..to`.
    pub(crate) from: u32,
    pub(crate) to: u32,
}

impl CoupledBodies {
    /// Their velocities.
    pub(crate) fn velocities(&self) -> std::ops::Range<usize> {
        self.first as usize..(self.first + self.len) as usize
    }

    /// Contacts that may touch them.
    pub(crate) fn contacts(&self) -> std::ops::Range<usize> {
        self.from as usize..self.to as usize
    }
}

/// Inverse inertia of a body by itself.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct InverseInertia {
    pub(crate) mass: f64,
    /// World axes.
    pub(crate) inertia: Mat3,
}

/// Numbers that are laid out anew in every step, without being cleared.
#[derive(Debug, Default)]
pub(crate) struct Arena {
    pub(crate) list: Vec<f64>,
    used: usize,
}

impl Arena {
    pub(crate) fn clear(&mut self) {
        self.used = 0;
    }

    /// Place of n numbers, which may be anything.
    pub(crate) fn take(&mut self, n: usize) -> usize {
        let at = self.used;
        self.used += n;
        // Rows of three are read as four.
        if self.list.len() < self.used + 4 {
            self.list.resize(self.used + 4, 0.0);
        }
        at
    }

    /// Place of n zeros.
    pub(crate) fn take_zeros(&mut self, n: usize) -> usize {
        let at = self.take(n);
        self.list[at..at + n].fill(0.0);
        at
    }
}

/// Rows J, columns M⁻¹Jᵀ and blocks of W of all responders, given by places in lists.
#[derive(Debug, Default)]
pub(crate) struct Responses {
    /// Of bodies and particles, six velocities each.
    pub(crate) inverse: Vec<InverseInertia>,
    /// Rows, columns and blocks of coupled bodies.
    pub(crate) numbers: Arena,
}

#[inline(always)]
fn at3(x: &[f64], i: usize) -> Vec3 {
    Vec3::new(x[i], x[i + 1], x[i + 2])
}

#[inline(always)]
fn add3(x: &mut [f64], i: usize, d: &Vec3) {
    x[i] += d.x;
    x[i + 1] += d.y;
    x[i + 2] += d.z;
}

impl Responses {
    /// J x: velocity of the point of one side.
    #[inline(always)]
    pub(crate) fn velocity(&self, x: &[f64], side: &Responder, arm: &Vec3) -> Vec3 {
        match *side {
            Responder::World => Vec3::zeros(),
            Responder::Body(at) | Responder::Jointed(at, _) => {
                let at = at as usize;
                at3(x, at) + at3(x, at + 3).cross(arm)
            }
            Responder::Link(rows, columns) => self.rows_times(x, rows as usize, &columns),
        }
    }

    /// Angular velocity of one side.
    pub(crate) fn angular_velocity(&self, x: &[f64], side: &Responder) -> Vec3 {
        match *side {
            Responder::World => Vec3::zeros(),
            Responder::Body(at) | Responder::Jointed(at, _) => at3(x, at as usize + 3),
            Responder::Link(rows, columns) => self.rows_times(x, (rows + columns.spin) as usize, &columns),
        }
    }

    /// Four numbers a row are read, three of them its own: behind J lie its columns.
    #[inline]
    fn rows_times(&self, x: &[f64], rows: usize, columns: &Columns) -> Vec3 {
        let (n, first, stride) = (columns.len as usize, columns.first as usize, columns.stride as usize);
        let numbers = &self.numbers.list[rows..];
        let (mut sum, mut other) = ([0.0; 4], [0.0; 4]);
        let (pairs, rest) = x[first..first + n].as_chunks::<2>();
        for (d, x) in pairs.iter().enumerate() {
            let rows = &numbers[2 * d * stride..][..stride + 4];
            (0..4).for_each(|k| sum[k] += rows[k] * x[0]);
            (0..4).for_each(|k| other[k] += rows[stride + k] * x[1]);
        }
        if let [x] = rest {
            let row = &numbers[(n - 1) * stride..][..4];
            (0..4).for_each(|k| sum[k] += row[k] * x);
        }
        Vec3::new(sum[0] + other[0], sum[1] + other[1], sum[2] + other[2])
    }

    /// J x of three columns of links, x being the velocities of their trees alone.
    pub(crate) fn link_rows_times(&self, columns: &Columns, column: u32, x: &[f64]) -> Vec3 {
        let rows = (columns.at - columns.column + column - columns.len * columns.stride) as usize;
        self.rows_times(x, rows, &Columns { first: 0, ..*columns })
    }

    /// x += M⁻¹Jᵀp of one side.
    #[inline(always)]
    pub(crate) fn apply(&self, x: &mut [f64], side: &Responder, arm: &Vec3, p: &Vec3) {
        match *side {
            Responder::World => {}
            Responder::Body(at) => {
                let at = at as usize;
                let inverse = &self.inverse[at / 6];
                add3(x, at, &(inverse.mass * p));
                add3(x, at + 3, &(inverse.inertia * arm.cross(p)));
            }
            Responder::Jointed(_, columns) | Responder::Link(_, columns) => {
                self.columns_times(x, columns.at as usize, &columns, p);
            }
        }
    }

    /// The same for an angular impulse.
    pub(crate) fn apply_angular(&self, x: &mut [f64], side: &Responder, s: &Vec3) {
        match *side {
            Responder::World => {}
            Responder::Body(at) => add3(x, at as usize + 3, &(self.inverse[at as usize / 6].inertia * s)),
            Responder::Jointed(_, columns) | Responder::Link(_, columns) => {
                self.columns_times(x, (columns.at + columns.spin) as usize, &columns, s);
            }
        }
    }

    fn columns_times(&self, x: &mut [f64], at: usize, columns: &Columns, p: &Vec3) {
        let (n, first) = (columns.len as usize, columns.first as usize);
        let rows = self.numbers.list[at..].chunks(columns.stride as usize);
        for (y, x) in rows.zip(&mut x[first..first + n]) {
            let y = &y[..3];
            *x += y[0] * p.x + y[1] * p.y + y[2] * p.z;
        }
    }

    /// J M⁻¹Jᵀ of one side by itself.
    pub(crate) fn own_block(&self, side: &Responder, arm: &Vec3) -> Mat3 {
        match *side {
            Responder::World => Mat3::zeros(),
            Responder::Body(at) => {
                let inverse = &self.inverse[at as usize / 6];
                let r = skew(arm);
                Mat3::from_diagonal_element(inverse.mass) - r * inverse.inertia * r
            }
            Responder::Jointed(at, columns) => {
                let y = columns.at as usize + 3 * (at - columns.first) as usize;
                let block = |d: usize| Mat3::from_fn(|i, j| self.numbers.list[y + 3 * (d + i) + j]);
                block(0) - skew(arm) * block(3)
            }
            Responder::Link(_, columns) => self.block(&columns, columns.column, columns.column),
        }
    }

    /// The same for angular velocity and angular impulse.
    pub(crate) fn own_angular_block(&self, side: &Responder) -> Mat3 {
        match *side {
            Responder::World => Mat3::zeros(),
            Responder::Body(at) => self.inverse[at as usize / 6].inertia,
            Responder::Jointed(at, columns) => {
                let y = (columns.at + columns.spin) as usize + 3 * (at + 3 - columns.first) as usize;
                Mat3::from_fn(|i, j| self.numbers.list[y + 3 * i + j])
            }
            Responder::Link(_, columns) => {
                let column = columns.column + columns.spin;
                self.block(&columns, column, column)
            }
        }
    }

    /// J M⁻¹Jᵀ of two triples of columns of one robot's trees: how an impulse at the second moves the first.
    #[inline(always)]
    pub(crate) fn block(&self, a: &Columns, row: u32, column: u32) -> Mat3 {
        let stride = a.stride as usize;
        let at = a.W as usize + row as usize * stride + column as usize;
        let list = &self.numbers.list[at..at + 2 * stride + 3];
        let [a, b, c] = [0, stride, 2 * stride].map(|at| &list[at..at + 3]);
        Mat3::new(a[0], a[1], a[2], b[0], b[1], b[2], c[0], c[1], c[2])
    }
}
