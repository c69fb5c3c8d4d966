//! What an island is made of for the methods that solve it at once: contacts, spin friction, and rows of robots with bounds.
//!
//! Each unit has an impulse p, sees a velocity u, and has a convex set with a projection P: Coulomb's cone, an interval about the
//! normal and a disc across it, an interval.

#[cfg(test)]
use super::direct::project;
use super::rows::BoundRow;
use super::sweep::{Contact, Field, Side, Spin, spin_answer, tangents};
#[cfg(test)]
use crate::math::Mat3;
use crate::math::Vec3;

/// What unknowns belong to.
#[derive(Debug, Clone, Copy)]
pub(super) enum Unit {
    /// A contact.
    Cone(usize),
    /// The spin friction of a contact.
    Spin(usize),
    /// A row of a robot.
    Row(usize),
}

/// What a search works on.
pub(super) struct Parts<'a> {
    pub(super) field: &'a Field,
    pub(super) contacts: &'a mut [Contact],
    pub(super) spins: &'a mut [Spin],
    pub(super) rows: &'a mut [BoundRow],
}

impl Parts<'_> {
    /// Impulse of a unit; a row has one number.
    pub(super) fn impulse(&self, unit: Unit) -> Vec3 {
        match unit {
            Unit::Cone(k) => self.contacts[k].impulse,
            Unit::Spin(k) => self.spins[self.contacts[k].spin as usize].impulse,
            Unit::Row(k) => Vec3::new(self.rows[k].impulse, 0.0, 0.0),
        }
    }

    /// The velocity that a unit sees.
    pub(super) fn velocity(&self, x: &[f64], unit: Unit) -> Vec3 {
        match unit {
            Unit::Cone(k) => self.field.relative(x, &self.contacts[k]),
            Unit::Spin(k) => {
                let c = &self.contacts[k];
                self.field.turn(x, &c.sides[0]) - self.field.turn(x, &c.sides[1])
            }
            Unit::Row(k) => Vec3::new(self.rows[k].rate(self.field, x), 0.0, 0.0),
        }
    }

    pub(super) fn push(&self, x: &mut [f64], unit: Unit, p: &Vec3) {
        match unit {
            Unit::Cone(k) => self.field.push(x, &self.contacts[k], p),
            Unit::Spin(k) => self.field.push_turn(x, &self.contacts[k], p),
            Unit::Row(k) => self.rows[k].push(self.field, x, p.x),
        }
    }

    /// Target and softness are part of the velocity that a unit holds at zero.
    pub(super) fn off(&self, unit: Unit) -> Vec3 {
        match unit {
            Unit::Cone(k) => {
                let c = &self.contacts[k];
                (c.softness * c.normal.dot(&c.impulse)) * c.normal - c.target
            }
            Unit::Spin(_) => Vec3::zeros(),
            Unit::Row(k) => {
                let r = &self.rows[k];
                Vec3::new(r.softness * r.impulse - r.target, 0.0, 0.0)
            }
        }
    }

    /// Zero again wherever an impulse of this unit moves something.
    pub(super) fn clear_push(&self, x: &mut [f64], unit: Unit) {
        match unit {
            Unit::Cone(k) | Unit::Spin(k) => self.field.clear_push(x, &self.contacts[k]),
            Unit::Row(k) => {
                let r = &self.rows[k];
                x[r.first as usize..(r.first + r.len) as usize].fill(0.0);
            }
        }
    }

    pub(super) fn set(&mut self, unit: Unit, p: Vec3) {
        match unit {
            Unit::Cone(k) => self.contacts[k].impulse = p,
            Unit::Spin(k) => self.spins[self.contacts[k].spin as usize].impulse = p,
            Unit::Row(k) => self.rows[k].impulse = p.x,
        }
    }

    /// How far u of a unit is from what the law allows \[m/s\], given u, its impulse p and how far its contact presses: for a
    /// contact $|p - P(p - \rho(u + \mu|u_t| n))|/\rho$ with ρ = 3/tr W, which is |u| where it sticks, zero where Coulomb's
    /// law holds and nowhere else (De Saxcé and Feng 1998). P of a cone scales with its argument: the same is
    /// $|p/\rho - P(p/\rho - u - \mu|u_t| n)|$.
    pub(super) fn unrest(&self, unit: Unit, u: &Vec3, p: &Vec3, pressed: f64) -> f64 {
        match unit {
            Unit::Cone(k) => {
                let c = &self.contacts[k];
                let p = (c.W.trace() / 3.0) * p;
                let across = u - c.normal.dot(u) * c.normal;
                let aim = p - u - c.friction * across.norm() * c.normal;
                (onto_cone(&aim, &c.normal, c.friction, |_, _| {}) - p).norm()
            }
            Unit::Spin(k) => {
                let c = &self.contacts[k];
                let spin = Spin { impulse: *p, ..self.spins[c.spin as usize] };
                let change = spin_answer(&spin, &c.normal, u, pressed) - p;
                (spin.W * change).norm() * c.arms[0].norm()
            }
            Unit::Row(k) => self.rows[k].unrest_at(u.x, p.x),
        }
    }

    /// Sides that are links, with their signs and columns; for spin those of the turn.
    pub(super) fn links(&self, unit: Unit) -> impl Iterator<Item = (f64, &super::sweep::Columns, u32)> {
        let (k, spin) = match unit {
            Unit::Cone(k) => (Some(k), false),
            Unit::Spin(k) => (Some(k), true),
            Unit::Row(_) => (None, false),
        };
        let sides = k.map_or(&[][..], |k| &self.contacts[k].sides);
        sides.iter().enumerate().filter_map(move |(s, side)| match side {
            Side::Link(_, columns) => {
                let column = columns.column + if spin { columns.turn } else { 0 };
                Some((if s == 0 { 1.0 } else { -1.0 }, columns, column))
            }
            _ => None,
        })
    }

    /// True if nothing but links of robots touches.
    pub(super) fn only_links(&self) -> bool {
        let link = |s: &Side| matches!(s, Side::Link(..) | Side::World);
        self.contacts.iter().all(|c| c.sides.iter().all(link))
    }

    /// ρ of a unit over `stiff`.
    pub(super) fn weight(&self, unit: Unit) -> f64 {
        match unit {
            Unit::Cone(k) => 3.0 / self.contacts[k].W.trace(),
            Unit::Spin(k) => 3.0 / self.spins[self.contacts[k].spin as usize].W.trace().max(1e-300),
            Unit::Row(k) => 1.0 / self.rows[k].W.max(1e-300),
        }
    }

    /// P.
    pub(super) fn project(&self, unit: Unit, y: &Vec3, pressed: f64) -> Vec3 {
        match unit {
            Unit::Cone(k) => onto_cone(y, &self.contacts[k].normal, self.contacts[k].friction, |_, _| {}),
            Unit::Spin(k) => {
                let c = &self.contacts[k];
                let spin = &self.spins[c.spin as usize];
                onto_spin(y, &c.normal, spin.torsion * pressed, spin.rolling * pressed, |_, _| {})
            }
            Unit::Row(k) => Vec3::new(y.x.clamp(self.rows[k].low, self.rows[k].high), 0.0, 0.0),
        }
    }

    /// P, and its slope as unit axes with weights.
    pub(super) fn project_with_slope(
        &self,
        unit: Unit,
        y: &Vec3,
        pressed: f64,
        axis: impl FnMut(Vec3, f64),
    ) -> Vec3 {
        let mut axis = axis;
        match unit {
            Unit::Cone(k) => onto_cone(y, &self.contacts[k].normal, self.contacts[k].friction, axis),
            Unit::Spin(k) => {
                let c = &self.contacts[k];
                let spin = &self.spins[c.spin as usize];
                onto_spin(y, &c.normal, spin.torsion * pressed, spin.rolling * pressed, axis)
            }
            Unit::Row(k) => {
                let to = y.x.clamp(self.rows[k].low, self.rows[k].high);
                if to == y.x {
                    axis(Vec3::x(), 1.0);
                }
                Vec3::new(to, 0.0, 0.0)
            }
        }
    }
}

/// The nearest point of the cone about n, as [`project`]; `axis` gets the axes of the slope there, of length one, with their
/// weights.
fn onto_cone(y: &Vec3, n: &Vec3, mu: f64, mut axis: impl FnMut(Vec3, f64)) -> Vec3 {
    let normal = n.dot(y);
    if mu == 0.0 {
        if normal > 0.0 {
            axis(*n, 1.0);
            return normal * n;
        }
        return Vec3::zeros();
    }
    let across = y - normal * n;
    let size = across.norm();
    if size <= mu * normal {
        (0..3).for_each(|k| axis(Vec3::ith(k, 1.0), 1.0));
        return *y;
    }
    if mu * size <= -normal {
        return Vec3::zeros();
    }
    let share = 1.0 / (1.0 + mu * mu);
    let t = across / size;
    let rim = n + mu * t;
    let along = share * (normal + mu * size);
    axis(share.sqrt() * rim, 1.0);
    axis(n.cross(&t), along * mu / size);
    along * rim
}

/// The nearest point with |y·n| ≤ `about` and |y across n| ≤ `across`, and the axes of the slope there.
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
        tangents(n).into_iter().for_each(|t| axis(t, 1.0));
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

    #[test]
    fn the_slope_of_the_spin_projection_is_that_of_its_values() {
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

    #[test]
    fn axes_of_the_cone_make_the_slope_of_the_projection() {
        let n = Vec3::new(0.3, -0.5, 0.8).normalize();
        for k in 0..200 {
            let t = f64::from(k);
            let y = Vec3::new((1.3 * t).sin(), (2.1 * t).cos(), (0.7 * t).sin() - 0.2);
            let mu = [0.0, 0.3, 1.2][k as usize % 3];
            let mut D = Mat3::zeros();
            let p = onto_cone(&y, &n, mu, |c, weight| {
                assert!((c.norm() - 1.0).abs() < 1e-14);
                D += weight * c * c.transpose();
            });
            let (at, slope) = project(&y, &n, mu);
            assert!((p - at).norm() < 1e-14 && (D - slope).norm() < 1e-13, "{k}");
        }
    }
}
