//! The four kinds of rows from which joints are put together.
//!
//! Notation, all in world axes: end a has anchor $p_a = x_a + r_a$ with $r_a = R_a \bar r_a$, so
//! $\dot p_a = v_a + \omega_a\times r_a$ and $\ddot p_a = \dots + \omega_a\times(\omega_a\times r_a)$; likewise b.
//! An axis e fixed to a has $\dot e = \omega_a\times e$. With $d = p_b - p_a$:
//!
//! | row | C | Ċ = A v | C̈ without accelerations |
//! |---|---|---|---|
//! | together | $p_a - p_b$ | $\dot p_a - \dot p_b$ | $\omega_a\times(\omega_a\times r_a) - \omega_b\times(\omega_b\times r_b)$ |
//! | across | $d\cdot e$, e on a | $\dot d\cdot e + \omega_a\cdot(e\times d)$ | $\ddot d_q\cdot e + 2\dot d\cdot(\omega_a\times e) + d\cdot(\omega_a\times(\omega_a\times e))$ |
//! | square | $e\cdot f$, e on a, f on b | $(\omega_b-\omega_a)\cdot(f\times e)$ | $e_q\cdot f + 2\,\dot e\cdot\dot f + e\cdot f_q$ |
//! | angle | θ, see [`Ends::angle`] | $(\omega_b-\omega_a)\cdot g$ | see there |
//!
//! where $e_q = \omega_a\times(\omega_a\times e)$ and so on.

use super::{Ask, Body, End, Rows};
use crate::math::Vec3;
use crate::math::rotation::skew;
use crate::math::rotation::unwrap_angle;

/// Two ends in world axes.
#[derive(Debug, Clone, Copy)]
pub struct Ends<'a> {
    ends: &'a [End; 2],
    bodies: [&'a Body; 2],
    /// Arms r_a, r_b from the centres of mass to the anchors.
    pub arm: [Vec3; 2],
    /// d = p_b − p_a.
    pub d: Vec3,
}

/// Numbers of the axes.
pub const T: usize = 0;
/// Second axis.
pub const N: usize = 1;
/// Third axis.
pub const B: usize = 2;

impl<'a> Ends<'a> {
    /// Turns both ends into world axes.
    #[inline]
    pub fn new(ends: &'a [End; 2], bodies: &'a [Body]) -> Self {
        let (a, b) = (&bodies[0], &bodies[1]);
        let arm = [a.R * ends[0].anchor, b.R * ends[1].anchor];
        Self { ends, bodies: [a, b], arm, d: (b.x + arm[1]) - (a.x + arm[0]) }
    }

    /// Axis t, n or b of end a (0) or b (1).
    #[inline]
    pub fn axis(&self, end: usize, axis: usize) -> Vec3 {
        self.bodies[end].R * self.ends[end].axes.column(axis)
    }

    /// ḋ.
    #[inline]
    pub fn d_rate(&self) -> Vec3 {
        let [a, b] = self.bodies;
        b.v + b.w.cross(&self.arm[1]) - a.v - a.w.cross(&self.arm[0])
    }

    /// d̈ without accelerations.
    #[inline]
    pub fn d_bias(&self) -> Vec3 {
        let [a, b] = self.bodies;
        b.w.cross(&b.w.cross(&self.arm[1])) - a.w.cross(&a.w.cross(&self.arm[0]))
    }

    /// Rows `row` … `row + 2`: the anchors stay together, C = p_a − p_b.
    #[inline]
    pub fn together(&self, row: usize, out: &mut Rows) {
        out.violation[row..row + 3].copy_from_slice((-self.d).as_slice());
        if out.ask >= Ask::Jacobian {
            // Row k of −[r] is r × e_k.
            let turn = self.arm.map(|r| -skew(&r));
            for k in 0..3 {
                let e = Vec3::ith(k, 1.0);
                out.add(row + k, 0, &e, &turn[0].row(k).transpose());
                out.add(row + k, 1, &-e, &-turn[1].row(k).transpose());
            }
        }
        if out.ask == Ask::Bias {
            out.bias[row..row + 3].copy_from_slice((-self.d_bias()).as_slice());
        }
    }

    /// C = d·e with e an axis of a: b's anchor does not leave a's along e.
    #[inline]
    pub fn across(&self, row: usize, axis: usize, out: &mut Rows) {
        let e = self.axis(0, axis);
        out.violation[row] += self.d.dot(&e);
        self.add_slide(row, &e, 1.0, out);
    }

    #[inline]
    fn add_slide(&self, row: usize, e: &Vec3, factor: f64, out: &mut Rows) {
        if out.ask >= Ask::Jacobian {
            let ang_a = -(self.arm[0] + self.d).cross(e);
            out.add(row, 0, &(-factor * e), &(factor * ang_a));
            out.add(row, 1, &(factor * e), &(factor * self.arm[1].cross(e)));
        }
        if out.ask == Ask::Bias {
            let w = self.bodies[0].w;
            let we = w.cross(e);
            let bias = self.d_bias().dot(e) + 2.0 * self.d_rate().dot(&we) + self.d.dot(&w.cross(&we));
            out.bias[row] += factor * bias;
        }
    }

    /// C = e·f with e an axis of a and f one of b: they stay square to each other.
    #[inline]
    pub fn square(&self, row: usize, axis_a: usize, axis_b: usize, out: &mut Rows) {
        let (e, f) = (self.axis(0, axis_a), self.axis(1, axis_b));
        out.violation[row] += e.dot(&f);
        if out.ask >= Ask::Jacobian {
            let g = f.cross(&e);
            out.add(row, 0, &Vec3::zeros(), &-g);
            out.add(row, 1, &Vec3::zeros(), &g);
        }
        if out.ask == Ask::Bias {
            out.bias[row] += self.dot_bias(&e, &f);
        }
    }

    fn dot_bias(&self, e: &Vec3, f: &Vec3) -> f64 {
        let [wa, wb] = self.bodies.map(|b| b.w);
        let (we, wf) = (wa.cross(e), wb.cross(f));
        wa.cross(&we).dot(f) + 2.0 * we.dot(&wf) + e.dot(&wb.cross(&wf))
    }

    /// The slide s = d·t_a: value, and its row times `factor` added to `row` (Jacobian and bias).
    pub fn add_position(&self, row: usize, factor: f64, out: &mut Rows) -> f64 {
        let t = self.axis(0, T);
        self.add_slide(row, &t, factor, out);
        self.d.dot(&t)
    }

    /// The angle of b against a about t, in (−π, π].
    ///
    /// cos θ = (n_a·n_b + b_a·b_b)/2 =: c and sin θ = (b_a·n_b − n_a·b_b)/2 =: s for exactly aligned t axes; in
    /// general θ = atan2(s, c). A turn of b by +0.7 rad about t reads +0.7.
    #[inline]
    pub fn angle(&self) -> f64 {
        let [(na, ba), (nb, bb)] = [0, 1].map(|end| (self.axis(end, N), self.axis(end, B)));
        (ba.dot(&nb) - na.dot(&bb)).atan2(na.dot(&nb) + ba.dot(&bb))
    }

    /// Gradient g of the angle, θ̇ = (ω_b − ω_a)·g, and θ̈ without accelerations: with ρ = c² + s²,
    /// θ̇ = (c ṡ − s ċ)/ρ and θ̈ = (c s̈ − s c̈)/ρ − θ̇ ρ̇/ρ.
    fn angle_rates(&self) -> (Vec3, f64) {
        let [(na, ba), (nb, bb)] = [0, 1].map(|end| (self.axis(end, N), self.axis(end, B)));
        let c = 0.5 * (na.dot(&nb) + ba.dot(&bb));
        let s = 0.5 * (ba.dot(&nb) - na.dot(&bb));
        let gc = 0.5 * (nb.cross(&na) + bb.cross(&ba));
        let gs = 0.5 * (nb.cross(&ba) - bb.cross(&na));
        let rho = c * c + s * s;
        let g = (gs * c - gc * s) / rho;
        let w = self.bodies[1].w - self.bodies[0].w;
        let (c1, s1) = (w.dot(&gc), w.dot(&gs));
        let c2 = 0.5 * (self.dot_bias(&na, &nb) + self.dot_bias(&ba, &bb));
        let s2 = 0.5 * (self.dot_bias(&ba, &nb) - self.dot_bias(&na, &bb));
        let rate = (c * s1 - s * c1) / rho;
        (g, (c * s2 - s * c2) / rho - rate * 2.0 * (c * c1 + s * s1) / rho)
    }

    /// The angle unwrapped near `last`; its row times `factor` added to `row` (Jacobian and bias).
    pub fn add_angle(&self, row: usize, factor: f64, last: f64, out: &mut Rows) -> f64 {
        if out.ask >= Ask::Jacobian {
            let (g, bias) = self.angle_rates();
            out.add(row, 0, &Vec3::zeros(), &(-factor * g));
            out.add(row, 1, &Vec3::zeros(), &(factor * g));
            out.bias[row] += factor * bias;
        }
        unwrap_angle(last, self.angle())
    }
}
