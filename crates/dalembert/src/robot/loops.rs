//! Rows that hold a robot beyond its tree: C(q), its Jacobian A, and what is asked of A v⁺.
//!
//! | what | C | A v | Ȧ v |
//! |---|---|---|---|
//! | point | x_a − x_b | v_a − v_b | a_a − a_b |
//! | frame | log of R_aᵀ R_b besides | R_aᵀ(ω_b − ω_a) | R_aᵀ(α_b − α_a − ω_a × (ω_b − ω_a)) |
//! | polynomial | y − P(x) | ẏ − P′ẋ | ÿ − P′ẍ − P″ẋ² |
//!
//! a and α are the accelerations without dv/dt. The rows of a frame's turn are exact where C = 0, which is where the
//! projection keeps them.

use super::rows::{ANY, RowSet};
use super::{LinkFrame, Robot, RobotWork};
use crate::bodies::articulated::TreeWork;
use crate::math::rotation::{from_matrix, log, renormalise};
use crate::math::{Mat3, Vec3};

/// A number that rows are about.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Measure {
    /// A coordinate and its dof.
    Joint { q: usize, v: usize },
    /// A tendon's length.
    Tendon(usize),
}

/// A loop or coupling: always exact.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Loop {
    /// Two points are one.
    Point { a: LinkFrame, b: LinkFrame },
    /// Two frames are one.
    Frame { a: LinkFrame, b: LinkFrame },
    /// y − y₀ = P(x − x₀).
    Polynomial { y: Measure, x: Option<Measure>, y0: f64, x0: f64, c: [f64; 5] },
}

/// P(x), P′(x), P″(x).
fn polynomial(c: &[f64; 5], x: f64) -> [f64; 3] {
    let value = c.iter().rev().fold(0.0, |sum, c| sum * x + c);
    let first = (1..5).rev().fold(0.0, |sum, k| sum * x + k as f64 * c[k]);
    let second = (2..5).rev().fold(0.0, |sum, k| sum * x + (k * (k - 1)) as f64 * c[k]);
    [value, first, second]
}

impl Robot {
    /// A measure's value; its row is added to `row`. After kinematics.
    pub(super) fn measure(&self, what: Measure, q: &[f64], work: &TreeWork, row: &mut [f64]) -> f64 {
        match what {
            Measure::Joint { q: at, v } => {
                row[v] += 1.0;
                q[at]
            }
            Measure::Tendon(k) => self.measure_tendon(&self.tendons[k], q, work, row),
        }
    }

    /// Rows of all loops: C and A at q, and Ȧ v if `v` is given. After kinematics, and with v after velocities.
    pub(super) fn add_loop_rows(&self, q: &[f64], v: Option<&[f64]>, work: &mut RobotWork) {
        let RobotWork { tree: w, rows, dense, other: u, .. } = work;
        for hold in &self.loops {
            match hold {
                Loop::Point { a, b } => self.add_point(a, b, v.is_some(), w, rows, dense),
                Loop::Frame { a, b } => {
                    self.add_point(a, b, v.is_some(), w, rows, dense);
                    self.add_turn(a, b, v.is_some(), w, rows, dense);
                }
                Loop::Polynomial { y, x, y0, x0, c } => {
                    // Row of y, minus P′ times the row of x.
                    let value = self.measure(*y, q, w, dense) - y0;
                    let [mut p, mut second] = [c[0], 0.0];
                    let mut derivative = 0.0;
                    if let Some(x) = x {
                        u.fill(0.0);
                        let at = self.measure(*x, q, w, u) - x0;
                        [p, derivative, second] = polynomial(c, at);
                    }
                    let mut bias = 0.0;
                    if let Some(v) = v {
                        let of = |what: Measure| match what {
                            Measure::Joint { .. } => 0.0,
                            Measure::Tendon(k) => self.tendon_bias(&self.tendons[k], w),
                        };
                        bias = of(*y);
                        if let Some(x) = x {
                            let rate = crate::math::dot(u, v);
                            bias -= derivative * of(*x) + second * rate * rate;
                        }
                    }
                    if x.is_some() {
                        dense.iter_mut().zip(&*u).for_each(|(a, b)| *a -= derivative * b);
                    }
                    rows.push_dense(dense, ANY, 0.0);
                    rows.last(value - p, bias);
                }
            }
            rows.end_group();
        }
    }

    fn add_point(
        &self,
        a: &LinkFrame,
        b: &LinkFrame,
        moving: bool,
        w: &TreeWork,
        rows: &mut RowSet,
        dense: &mut [f64],
    ) {
        let (xa, xb) = (self.position(a, w), self.position(b, w));
        let bias = if moving {
            self.point_motion(a, &xa, w).1 - self.point_motion(b, &xb, w).1
        } else {
            Vec3::zeros()
        };
        for k in 0..3 {
            let n = Vec3::ith(k, 1.0);
            self.add_point_row(a, &xa, &n, 1.0, w, dense);
            self.add_point_row(b, &xb, &n, -1.0, w, dense);
            rows.push_dense(dense, ANY, 0.0);
            rows.last((xa - xb)[k], bias[k]);
        }
    }

    fn add_turn(
        &self,
        a: &LinkFrame,
        b: &LinkFrame,
        moving: bool,
        w: &TreeWork,
        rows: &mut RowSet,
        dense: &mut [f64],
    ) {
        let (Ra, Rb): (Mat3, Mat3) = (self.rotation(a, w), self.rotation(b, w));
        let error = log(&renormalise(&from_matrix(&(Ra.transpose() * Rb))));
        let spin = |frame: &LinkFrame| {
            frame.link.map_or((Vec3::zeros(), Vec3::zeros()), |link| {
                let x = self.tree.link_position(link, w);
                let v = self.tree.point_velocity(link, &x, w).angular;
                (v, self.tree.point_bias_acceleration(link, &x, w).angular)
            })
        };
        let bias = if moving {
            let ((wa, aa), (wb, ab)) = (spin(a), spin(b));
            Ra.transpose() * (ab - aa - wa.cross(&(wb - wa)))
        } else {
            Vec3::zeros()
        };
        for k in 0..3 {
            let n = Ra.column(k).into_owned();
            for (frame, sign) in [(b, 1.0), (a, -1.0)] {
                if let Some(link) = frame.link {
                    let x = self.tree.link_position(link, w);
                    self.tree.each_column(link, &x, w, |d, _, s| dense[d] += sign * n.dot(&s));
                }
            }
            rows.push_dense(dense, ANY, 0.0);
            rows.last(error[k], bias[k]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::polynomial;

    #[test]
    fn the_derivatives_of_a_polynomial_are_those_of_its_values() {
        let (c, x, e) = ([0.3, -1.0, 0.5, 0.2, -0.1], 0.7, 1e-5);
        let [_, first, second] = polynomial(&c, x);
        let (a, b) = (polynomial(&c, x + e), polynomial(&c, x - e));
        assert!(((a[0] - b[0]) / (2.0 * e) - first).abs() < 1e-9);
        assert!(((a[1] - b[1]) / (2.0 * e) - second).abs() < 1e-9);
    }
}
