//! Contacts, solved in turn until their velocities stay (nonsmooth Gauss–Seidel; Jean 1999).
//!
//! A contact with normal n (from b towards a) has the relative velocity $u = v_a - v_b$ of its two points and an impulse
//! p on a, −p on b. Everything is in world axes: with $W = J_a M_a^{-1} J_a^T + J_b M_b^{-1} J_b^T + R\,nn^T$ the
//! impulses of the others give u = W p + q, and p is the exact answer of Coulomb's law with a round cone to
//! u − target ([`crate::solve::cone`]): parting, sticking or slipping. The softness R (r/h of the joints' rule) is
//! that of a spring and damper along the normal.
//!
//! Who answers to an impulse, and how, is the [`Side`]: a body by itself with its own six velocities; a body among
//! joints with all bodies of its island, so that joints hold in every iterate; a robot with all dofs of the tree.
//!
//! Spin friction holds the relative angular velocity: $|s_n| \le \mu_t p_n$ about the normal (drilling) and
//! $|s_t| \le \mu_r p_n$ across it (rolling), μ_t and μ_r being lengths.

use crate::math::{Mat3, Vec3};
use crate::solve::cone::solve_contact;
pub(super) use crate::solve::cone::tangents;

/// Columns of M⁻¹Jᵀ over the velocities of a cluster.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Columns {
    /// First velocity of the cluster.
    pub(super) first: u32,
    /// How many velocities it has.
    pub(super) len: u32,
    /// Where its numbers begin: three per velocity for the impulse.
    pub(super) at: u32,
    /// From those of a velocity to those of the next.
    pub(super) stride: u32,
    /// From the numbers of the impulse to those of the spin, if there is one.
    pub(super) turn: u32,
    /// Links only: where W of all columns of the cluster begins, `stride` numbers a row, and which column this is.
    pub(super) W: u32,
    pub(super) column: u32,
}

/// Columns of W that are nothing beside the others get this part of its trace: a body among joints may not move in all
/// directions.
pub(super) const FLOOR: f64 = 1e-11;

/// How one of the two bodies moves and answers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Side {
    /// It does neither.
    World,
    /// By itself: six velocities from here on.
    Loose(u32),
    /// Six velocities from here on, and all others of its cluster answer.
    Jointed(u32, Columns),
    /// Rows of J, laid out like the columns, from here on.
    Link(u32, Columns),
}

/// Inverse inertia of a body by itself.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Inverse {
    pub(super) mass: f64,
    /// World axes.
    pub(super) inertia: Mat3,
}

/// One point of contact.
#[derive(Debug, Clone, Copy)]
pub(super) struct Contact {
    pub(super) sides: [Side; 2],
    /// From the centres of mass to the point \[m\].
    pub(super) arms: [Vec3; 2],
    pub(super) normal: Vec3,
    pub(super) friction: f64,
    /// R of the normal row.
    pub(super) softness: f64,
    /// u after the step if it sticks \[m/s\].
    pub(super) target: Vec3,
    /// p on the first body \[N·s\].
    pub(super) impulse: Vec3,
    /// W with R, and its inverse.
    pub(super) W: Mat3,
    pub(super) inverse: Mat3,
    /// Number of its spin friction; `u32::MAX` if it has none.
    pub(super) spin: u32,
}

impl Contact {
    /// The inverse of W as it is.
    pub(super) fn invert(&mut self) {
        let floor = FLOOR * self.W.trace() + 1e-300;
        self.inverse = self.W.try_inverse().unwrap_or_else(|| Mat3::from_diagonal_element(1.0 / floor));
    }

    /// True if some side is not a link.
    pub(super) fn beside_links(&self) -> bool {
        self.sides.iter().any(|s| matches!(s, Side::Loose(_) | Side::Jointed(..)))
    }
}

/// Friction against relative turning at a contact.
#[derive(Debug, Clone, Copy)]
pub(super) struct Spin {
    /// About the normal \[m\].
    pub(super) torsion: f64,
    /// Across it \[m\].
    pub(super) rolling: f64,
    /// J M⁻¹ Jᵀ of the relative angular velocity.
    pub(super) W: Mat3,
    /// Angular impulse on the first body \[N·m·s\].
    pub(super) impulse: Vec3,
}

/// Velocities and answers of everything that contacts act on.
#[derive(Debug, Default)]
pub(super) struct Field {
    /// Velocities: six per body or particle, then those of the robots.
    pub(super) x: Vec<f64>,
    /// Of bodies and particles, six velocities each.
    pub(super) inverse: Vec<Inverse>,
    /// Rows and columns of the clusters.
    pub(super) numbers: Numbers,
}

/// Room that is used from the beginning in every step, without being cleared.
#[derive(Debug, Default)]
pub(super) struct Numbers {
    pub(super) list: Vec<f64>,
    used: usize,
}

impl Numbers {
    pub(super) fn clear(&mut self) {
        self.used = 0;
    }

    /// Room for n numbers, which may be anything.
    pub(super) fn take(&mut self, n: usize) -> usize {
        let at = self.used;
        self.used += n;
        // Rows of three are read as four.
        if self.list.len() < self.used + 4 {
            self.list.resize(self.used + 4, 0.0);
        }
        at
    }

    /// Room for n zeros.
    pub(super) fn take_zeros(&mut self, n: usize) -> usize {
        let at = self.take(n);
        self.list[at..at + n].fill(0.0);
        at
    }
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

impl Field {
    /// Velocity of the point of one side.
    #[inline(always)]
    pub(super) fn velocity(&self, x: &[f64], side: &Side, arm: &Vec3) -> Vec3 {
        match *side {
            Side::World => Vec3::zeros(),
            Side::Loose(at) | Side::Jointed(at, _) => {
                let at = at as usize;
                at3(x, at) + at3(x, at + 3).cross(arm)
            }
            Side::Link(rows, columns) => self.rows_times(x, rows as usize, &columns),
        }
    }

    /// Angular velocity of one side.
    pub(super) fn turn(&self, x: &[f64], side: &Side) -> Vec3 {
        match *side {
            Side::World => Vec3::zeros(),
            Side::Loose(at) | Side::Jointed(at, _) => at3(x, at as usize + 3),
            Side::Link(rows, columns) => self.rows_times(x, (rows + columns.turn) as usize, &columns),
        }
    }

    /// Four numbers a row are read, three of them its own: behind J lie its answers.
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

    /// J x of a triple of columns of links, x being the velocities of their cluster alone.
    pub(super) fn link_rows_times(&self, columns: &Columns, column: u32, x: &[f64]) -> Vec3 {
        let rows = (columns.at - columns.column + column - columns.len * columns.stride) as usize;
        self.rows_times(x, rows, &Columns { first: 0, ..*columns })
    }

    /// x += M⁻¹Jᵀ p of one side.
    #[inline(always)]
    fn kick(&self, x: &mut [f64], side: &Side, arm: &Vec3, p: &Vec3) {
        match *side {
            Side::World => {}
            Side::Loose(at) => {
                let at = at as usize;
                let inverse = &self.inverse[at / 6];
                add3(x, at, &(inverse.mass * p));
                add3(x, at + 3, &(inverse.inertia * arm.cross(p)));
            }
            Side::Jointed(_, columns) | Side::Link(_, columns) => {
                self.answer(x, columns.at as usize, &columns, p);
            }
        }
    }

    /// The same for an angular impulse.
    fn kick_turn(&self, x: &mut [f64], side: &Side, s: &Vec3) {
        match *side {
            Side::World => {}
            Side::Loose(at) => add3(x, at as usize + 3, &(self.inverse[at as usize / 6].inertia * s)),
            Side::Jointed(_, columns) | Side::Link(_, columns) => {
                self.answer(x, (columns.at + columns.turn) as usize, &columns, s);
            }
        }
    }

    fn answer(&self, x: &mut [f64], at: usize, columns: &Columns, p: &Vec3) {
        let (n, first) = (columns.len as usize, columns.first as usize);
        let answers = self.numbers.list[at..].chunks(columns.stride as usize);
        for (y, x) in answers.zip(&mut x[first..first + n]) {
            let y = &y[..3];
            *x += y[0] * p.x + y[1] * p.y + y[2] * p.z;
        }
    }

    /// J M⁻¹ Jᵀ between two contacts of links: how an impulse at b moves a.
    pub(super) fn between(&self, a: &Contact, b: &Contact) -> Mat3 {
        let mut W = Mat3::zeros();
        for (s, at) in a.sides.iter().enumerate() {
            for (t, from) in b.sides.iter().enumerate() {
                if let (Side::Link(_, at), Side::Link(_, from)) = (at, from)
                    && at.first == from.first
                    && at.len == from.len
                {
                    let block = self.block(at, at.column, from.column);
                    W += if s == t { block } else { -block };
                }
            }
        }
        W
    }

    /// Relative velocity of a contact.
    #[inline(always)]
    pub(super) fn relative(&self, x: &[f64], c: &Contact) -> Vec3 {
        self.velocity(x, &c.sides[0], &c.arms[0]) - self.velocity(x, &c.sides[1], &c.arms[1])
    }

    /// Impulse p on the first body, −p on the second.
    #[inline(always)]
    pub(super) fn push(&self, x: &mut [f64], c: &Contact, p: &Vec3) {
        self.kick(x, &c.sides[0], &c.arms[0], p);
        self.kick(x, &c.sides[1], &c.arms[1], &-p);
    }

    /// Angular impulse s on the first body, −s on the second.
    pub(super) fn push_turn(&self, x: &mut [f64], c: &Contact, s: &Vec3) {
        self.kick_turn(x, &c.sides[0], s);
        self.kick_turn(x, &c.sides[1], &-s);
    }

    /// Zero again wherever an impulse of this contact moves something.
    pub(super) fn clear_push(&self, x: &mut [f64], c: &Contact) {
        for side in &c.sides {
            let (first, len) = match *side {
                Side::World => (0, 0),
                Side::Loose(at) => (at as usize, 6),
                Side::Jointed(_, columns) | Side::Link(_, columns) => {
                    (columns.first as usize, columns.len as usize)
                }
            };
            x[first..first + len].fill(0.0);
        }
    }

    /// The same for sides by themselves only: clusters have it from their own solvers.
    pub(super) fn push_loose(&self, x: &mut [f64], c: &Contact, p: &Vec3) {
        for (k, p) in [*p, -p].iter().enumerate() {
            if let Side::Loose(_) = c.sides[k] {
                self.kick(x, &c.sides[k], &c.arms[k], p);
            }
        }
    }

    /// The same for an angular impulse.
    pub(super) fn push_turn_loose(&self, x: &mut [f64], c: &Contact, s: &Vec3) {
        for (k, s) in [*s, -s].iter().enumerate() {
            if let Side::Loose(_) = c.sides[k] {
                self.kick_turn(x, &c.sides[k], s);
            }
        }
    }

    /// J M⁻¹ Jᵀ of a contact, without softness: how its own impulse moves its point.
    pub(super) fn own_response(&self, c: &Contact) -> Mat3 {
        let mut W = Mat3::zeros();
        for (side, arm) in c.sides.iter().zip(&c.arms) {
            match *side {
                Side::World => {}
                Side::Loose(at) => {
                    let inverse = &self.inverse[at as usize / 6];
                    let r = crate::math::rotation::skew(arm);
                    W += Mat3::from_diagonal_element(inverse.mass) - r * inverse.inertia * r;
                }
                Side::Jointed(at, columns) => {
                    let y = columns.at as usize + 3 * (at - columns.first) as usize;
                    let block = |d: usize| Mat3::from_fn(|i, j| self.numbers.list[y + 3 * (d + i) + j]);
                    W += block(0) - crate::math::rotation::skew(arm) * block(3);
                }
                Side::Link(_, columns) => W += self.block(&columns, columns.column, columns.column),
            }
        }
        symmetric(&W)
    }

    /// The same for turning.
    pub(super) fn own_turn_response(&self, c: &Contact) -> Mat3 {
        let mut W = Mat3::zeros();
        for side in &c.sides {
            match *side {
                Side::World => {}
                Side::Loose(at) => W += self.inverse[at as usize / 6].inertia,
                Side::Jointed(at, columns) => {
                    let y = (columns.at + columns.turn) as usize + 3 * (at + 3 - columns.first) as usize;
                    W += Mat3::from_fn(|i, j| self.numbers.list[y + 3 * i + j]);
                }
                Side::Link(_, columns) => {
                    let column = columns.column + columns.turn;
                    W += self.block(&columns, column, column);
                }
            }
        }
        symmetric(&W)
    }

    /// J M⁻¹ Jᵀ of two triples of columns of one cluster of links: how an impulse at the second moves the first.
    #[inline(always)]
    pub(super) fn block(&self, a: &Columns, row: u32, column: u32) -> Mat3 {
        let stride = a.stride as usize;
        let at = a.W as usize + row as usize * stride + column as usize;
        let list = &self.numbers.list[at..at + 2 * stride + 3];
        let [a, b, c] = [0, stride, 2 * stride].map(|at| &list[at..at + 3]);
        Mat3::new(a[0], a[1], a[2], b[0], b[1], b[2], c[0], c[1], c[2])
    }
}

/// ½(W + Wᵀ).
#[inline(always)]
fn symmetric(W: &Mat3) -> Mat3 {
    let mean = |a: f64, b: f64| 0.5 * (a + b);
    let (xy, xz, yz) = (mean(W.m12, W.m21), mean(W.m13, W.m31), mean(W.m23, W.m32));
    Mat3::new(W.m11, xy, xz, xy, W.m22, yz, xz, yz, W.m33)
}

/// The impulse of one contact for u − target = W p + q.
#[inline]
fn answer(c: &Contact, q: &Vec3) -> Vec3 {
    solve_contact(&c.W, &c.inverse, q, &c.normal, c.friction, &c.impulse)
}

/// How far a visit would move the relative velocity of a contact \[m/s\].
pub(super) fn unrest(field: &Field, x: &[f64], c: &Contact) -> f64 {
    let u = field.relative(x, c) - c.target;
    let q = u + (c.softness * c.normal.dot(&c.impulse)) * c.normal - c.W * c.impulse;
    (c.W * (answer(c, &q) - c.impulse)).norm()
}

/// One contact anew; returns how far its relative velocity was moved \[m/s\].
#[inline]
pub(super) fn visit(field: &Field, x: &mut [f64], c: &mut Contact) -> f64 {
    let u = field.relative(x, c) - c.target;
    let q = u + (c.softness * c.normal.dot(&c.impulse)) * c.normal - c.W * c.impulse;
    let new = answer(c, &q);
    let change = new - c.impulse;
    if change == Vec3::zeros() {
        return 0.0;
    }
    c.impulse = new;
    field.push(x, c, &change);
    (c.W * change).norm()
}

/// The spin impulse of one contact for its relative angular velocity as it is.
pub(super) fn spin_answer(spin: &Spin, n: &Vec3, w: &Vec3, pressed: f64) -> Vec3 {
    let old = n.dot(&spin.impulse);
    let stiff = n.dot(&(spin.W * n)).max(1e-300);
    let bound = spin.torsion * pressed;
    let about = (old - n.dot(w) / stiff).clamp(-bound, bound);
    // Across: a step of projection, which ends where the law holds.
    let mut across = spin.impulse - old * n - (w - n.dot(w) * n) / (0.5 * spin.W.trace()).max(1e-300);
    let (size, most) = (across.norm(), spin.rolling * pressed);
    if size > most {
        across *= most / size;
    }
    about * n + across
}

/// The spin friction of one contact anew; returns how far its relative angular velocity was moved \[rad/s\].
pub(super) fn visit_spin(field: &Field, x: &mut [f64], c: &Contact, spin: &mut Spin) -> f64 {
    let w = field.turn(x, &c.sides[0]) - field.turn(x, &c.sides[1]);
    let new = spin_answer(spin, &c.normal, &w, c.normal.dot(&c.impulse).max(0.0));
    let change = new - spin.impulse;
    if change == Vec3::zeros() {
        return 0.0;
    }
    spin.impulse = new;
    field.push_turn(x, c, &change);
    (spin.W * change).norm()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ball(at: u32, friction: f64, normal: Vec3) -> Contact {
        Contact {
            sides: [Side::Loose(at), Side::World],
            arms: [-0.5 * normal, Vec3::zeros()],
            normal,
            friction,
            softness: 0.0,
            target: Vec3::zeros(),
            impulse: Vec3::zeros(),
            W: Mat3::zeros(),
            inverse: Mat3::zeros(),
            spin: u32::MAX,
        }
    }

    #[test]
    fn a_ball_that_is_pushed_against_a_plane_slips_by_the_textbook_in_any_direction() {
        // 2 kg, radius 0.5, I = 0.4 m r²: an impulse p in the contact point moves it by 3.5 p/m across the normal.
        let (m, inertia) = (2.0, 0.4 * 2.0 * 0.25);
        for k in 0..60 {
            let normal = Vec3::new((k as f64).sin(), (2.0 * k as f64).cos(), 0.3).normalize();
            let [s, t] = tangents(&normal);
            let along = (0.1 * k as f64).cos() * s + (0.1 * k as f64).sin() * t;
            for (speed, sticks) in [(0.1, true), (2.0, false)] {
                let v = -0.3 * normal + speed * along;
                let mut field = Field {
                    x: vec![v.x, v.y, v.z, 0.0, 0.0, 0.0],
                    inverse: vec![Inverse { mass: 1.0 / m, inertia: Mat3::identity() / inertia }],
                    numbers: Numbers::default(),
                };
                let mut c = ball(0, 0.25, normal);
                c.W = field.own_response(&c);
                c.inverse = c.W.try_inverse().unwrap();
                let mut x = std::mem::take(&mut field.x);
                visit(&field, &mut x, &mut c);
                let u = field.relative(&x, &c);
                let wanted = if sticks { Vec3::zeros() } else { (speed - 3.5 * 0.25 * 0.3) * along };
                assert!((u - wanted).norm() < 1e-13, "{k} {u}");
            }
        }
    }
}
