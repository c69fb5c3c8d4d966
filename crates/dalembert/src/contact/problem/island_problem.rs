//! One island of contacts: what a solver works on.
//!
//! Its unknowns are impulses of three kinds of convex sets: Coulomb's cone of a contact; for spin friction an interval about the
//! normal and a disc across it, as large as the contact presses; an interval for a row of a robot with bounds. Each has a
//! projection P, sees a velocity u, and asks for a target.

use super::contact::{Contact, SpinFriction};
use crate::contact::response::bounded_row::BoundedRow;
use crate::contact::response::{Columns, Responder, Responses, TINY};
use crate::math::Vec3;
use crate::solve::cone;

/// The set that an impulse belongs to, by the number of its contact or row.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ConvexSet {
    /// Coulomb's cone of a contact.
    Cone(usize),
    /// The spin friction of a contact.
    Spin(usize),
    /// The interval of a row of a robot.
    Row(usize),
}

impl ConvexSet {
    /// Number of unknowns.
    pub(crate) fn dim(self) -> usize {
        if let Self::Row(_) = self { 1 } else { 3 }
    }
}

/// An island of contacts.
pub(crate) struct IslandProblem<'a> {
    pub(crate) responses: &'a Responses,
    /// Velocities of everything without impulses of contacts.
    pub(crate) free: &'a [f64],
    pub(crate) contacts: &'a mut [Contact],
    /// Spin friction of all contacts.
    pub(crate) spins: &'a mut [SpinFriction],
    /// Rows of all robots, and the numbers of those that belong to the island.
    pub(crate) rows: &'a mut [BoundedRow],
    pub(crate) members: &'a [u32],
}

impl IslandProblem<'_> {
    fn spin(&self, k: usize) -> &SpinFriction {
        &self.spins[self.contacts[k].spin as usize]
    }

    /// Impulse of a set; a row has one number.
    pub(crate) fn impulse(&self, set: ConvexSet) -> Vec3 {
        match set {
            ConvexSet::Cone(k) => self.contacts[k].impulse,
            ConvexSet::Spin(k) => self.spin(k).impulse,
            ConvexSet::Row(k) => Vec3::new(self.rows[k].impulse, 0.0, 0.0),
        }
    }

    /// The velocity that a set sees.
    pub(crate) fn velocity(&self, x: &[f64], set: ConvexSet) -> Vec3 {
        match set {
            ConvexSet::Cone(k) => self.contacts[k].relative_velocity(self.responses, x),
            ConvexSet::Spin(k) => self.contacts[k].relative_angular_velocity(self.responses, x),
            ConvexSet::Row(k) => Vec3::new(self.rows[k].rate(self.responses, x), 0.0, 0.0),
        }
    }

    /// x += M⁻¹Jᵀp.
    pub(crate) fn apply(&self, x: &mut [f64], set: ConvexSet, p: &Vec3) {
        match set {
            ConvexSet::Cone(k) => self.contacts[k].apply(self.responses, x, p),
            ConvexSet::Spin(k) => self.contacts[k].apply_angular(self.responses, x, p),
            ConvexSet::Row(k) => self.rows[k].apply(self.responses, x, p.x),
        }
    }

    /// Zero again wherever an impulse of this set moves something.
    pub(crate) fn clear(&self, x: &mut [f64], set: ConvexSet) {
        match set {
            ConvexSet::Cone(k) | ConvexSet::Spin(k) => self.contacts[k].clear(x),
            ConvexSet::Row(k) => {
                let r = &self.rows[k];
                x[r.first as usize..(r.first + r.len) as usize].fill(0.0);
            }
        }
    }

    /// Target and softness as part of the velocity that a set holds at zero.
    pub(crate) fn off(&self, set: ConvexSet) -> Vec3 {
        match set {
            ConvexSet::Cone(k) => {
                let c = &self.contacts[k];
                (c.softness * c.normal.dot(&c.impulse)) * c.normal - c.target
            }
            ConvexSet::Spin(_) => Vec3::zeros(),
            ConvexSet::Row(k) => {
                let r = &self.rows[k];
                Vec3::new(r.softness * r.impulse - r.target, 0.0, 0.0)
            }
        }
    }

    pub(crate) fn set_impulse(&mut self, set: ConvexSet, p: Vec3) {
        match set {
            ConvexSet::Cone(k) => self.contacts[k].impulse = p,
            ConvexSet::Spin(k) => self.spins[self.contacts[k].spin as usize].impulse = p,
            ConvexSet::Row(k) => self.rows[k].impulse = p.x,
        }
    }

    /// Residual of a set \[m/s\], given its velocity u and impulse p and how far its contact presses: of a contact the natural
    /// map $|p - P(p - \rho(u + \mu|u_t| n))|/\rho$ with ρ = 3/tr W, which is |u| where it sticks, zero where Coulomb's law
    /// holds and nowhere else (De Saxcé and Feng 1998). P of a cone scales with its argument: the same is
    /// $|p/\rho - P(p/\rho - u - \mu|u_t| n)|$.
    pub(crate) fn residual(&self, set: ConvexSet, u: &Vec3, p: &Vec3, pressed: f64) -> f64 {
        match set {
            ConvexSet::Cone(k) => {
                let c = &self.contacts[k];
                cone::residual(&((c.W.trace() / 3.0) * p), u, &c.normal, c.friction).norm()
            }
            ConvexSet::Spin(k) => {
                let c = &self.contacts[k];
                let spin = SpinFriction { impulse: *p, ..*self.spin(k) };
                let change = spin.impulse_for(&c.normal, u, pressed) - p;
                (spin.W * change).norm() * c.arms[0].norm()
            }
            ConvexSet::Row(k) => self.rows[k].residual(u.x, p.x),
        }
    }

    /// Sides that are links, with their signs and columns; for spin friction those of the angular impulse.
    pub(crate) fn links(&self, set: ConvexSet) -> impl Iterator<Item = (f64, &Columns, u32)> {
        let (k, spin) = match set {
            ConvexSet::Cone(k) => (Some(k), false),
            ConvexSet::Spin(k) => (Some(k), true),
            ConvexSet::Row(_) => (None, false),
        };
        let sides = k.map_or(&[][..], |k| &self.contacts[k].sides);
        sides.iter().enumerate().filter_map(move |(s, side)| match side {
            Responder::Link(_, columns) => {
                let column = columns.column + if spin { columns.spin } else { 0 };
                Some((if s == 0 { 1.0 } else { -1.0 }, columns, column))
            }
            _ => None,
        })
    }

    /// True if nothing but links of robots touches.
    pub(crate) fn only_links(&self) -> bool {
        self.contacts.iter().all(|c| c.sides.iter().all(Responder::is_link_or_world))
    }

    /// ρ of a set: about one over the eigenvalues of its own block of W.
    pub(crate) fn weight(&self, set: ConvexSet) -> f64 {
        match set {
            ConvexSet::Cone(k) => 3.0 / self.contacts[k].W.trace(),
            ConvexSet::Spin(k) => 3.0 / self.spin(k).W.trace().max(TINY),
            ConvexSet::Row(k) => 1.0 / self.rows[k].W.max(TINY),
        }
    }

    /// P.
    pub(crate) fn project(&self, set: ConvexSet, y: &Vec3, pressed: f64) -> Vec3 {
        self.project_with_axes(set, y, pressed, |_, _| {})
    }

    /// P, and its Jacobian as unit axes with weights.
    pub(crate) fn project_with_axes(
        &self,
        set: ConvexSet,
        y: &Vec3,
        pressed: f64,
        mut axis: impl FnMut(Vec3, f64),
    ) -> Vec3 {
        match set {
            ConvexSet::Cone(k) => {
                cone::project_with_axes(y, &self.contacts[k].normal, self.contacts[k].friction, axis)
            }
            ConvexSet::Spin(k) => {
                let (n, spin) = (&self.contacts[k].normal, self.spin(k));
                onto_spin(y, n, spin.torsion * pressed, spin.rolling * pressed, axis)
            }
            ConvexSet::Row(k) => {
                let to = y.x.clamp(self.rows[k].low, self.rows[k].high);
                if to == y.x {
                    axis(Vec3::x(), 1.0);
                }
                Vec3::new(to, 0.0, 0.0)
            }
        }
    }
}

/// The nearest point with |y·n| ≤ `about` and |y across n| ≤ `across`, and the eigenvectors of the Jacobian there.
fn onto_spin(y: &Vec3, n: &Vec3, about: f64, across: f64, mut axis: impl FnMut(Vec3, f64)) -> Vec3 {
    let normal = n.dot(y);
    let side = y - normal * n;
    let size = side.norm();
    if normal.abs() <= about {
        axis(*n, 1.0);
    }
    let mut to = normal.clamp(-about, about) * n;
    if size <= across {
        to += side;
        cone::tangents(n).into_iter().for_each(|t| axis(t, 1.0));
    } else {
        let t = side / size;
        to += across * t;
        axis(n.cross(&t), across / size);
    }
    to
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::Mat3;

    #[test]
    fn axes_of_the_spin_projection_make_its_jacobian() {
        let n = Vec3::new(0.3, -0.5, 0.8).normalize();
        for k in 0..100 {
            let t = f64::from(k);
            let y = Vec3::new((1.3 * t).sin(), (2.1 * t).cos(), (0.7 * t).sin());
            let mut D = Mat3::zeros();
            onto_spin(&y, &n, 0.4, 0.7, |c, weight| D += weight * c * c.transpose());
            for i in 0..3 {
                let e = 1e-6 * Vec3::ith(i, 1.0);
                let at = |y: Vec3| onto_spin(&y, &n, 0.4, 0.7, |_, _| {});
                let (a, b) = (at(y + e), at(y - e));
                assert!(((a - b) / 2e-6 - D.column(i)).norm() < 1e-6, "{k} {i}");
            }
        }
    }
}
