//! Coulomb friction of one contact: the cone, its projection, the contact law and its residual.
//!
//! A contact with normal n has an impulse p in its cone $K = \{|p_t| \le \mu p_n\}$ and a relative velocity u. It separates
//! (p = 0, $u_n \ge 0$), sticks (u = 0), or slides ($u_n = 0$, $p_t$ against $u_t$ on the boundary of the cone). In one line
//! (De Saxcé and Feng 1998)
//!
//! $$ p = P_K\big(p - (u + \mu|u_t|\,n)\big), $$
//!
//! and how far that is from true is the [`residual`], the natural map of the complementarity problem (Acary and Brogliato 2008).
//! The cone is round: no direction of the tangent plane is preferred.
//!
//! **The contact law** ([`solve_contact`]) finds p for u = W p + q. With $p_t = \rho\,e(\theta)$ on the boundary, $u_n = 0$
//! gives $\rho(\theta) = -\mu q_n/(W_{nn} + \mu W_{nt}\cdot e)$, so that a single angle is left: the one at which $u_t$ points
//! against e.

use crate::math::simd::{Lanes, V3, add_scaled, dot, length, splat, sub};
use crate::math::{Mat3, Vec3};

/// The projection of a point onto a cone, and where on the cone it lies.
enum Projection {
    /// The point is in the polar cone: the projection is the apex.
    Apex,
    /// On the normal, the whole cone of a contact without friction.
    Normal(f64),
    /// The point itself, inside.
    Inside,
    /// On the boundary.
    Boundary {
        /// Unit vector of the tangential part.
        t: Vec3,
        /// The generator n + μ t, its coefficient, and 1/(1 + μ²).
        generator: Vec3,
        along: f64,
        share: f64,
        /// |y_t|.
        size: f64,
    },
}

impl Projection {
    #[inline(always)]
    fn of(y: &Vec3, n: &Vec3, mu: f64) -> Self {
        let normal = n.dot(y);
        if mu == 0.0 {
            return if normal > 0.0 { Self::Normal(normal) } else { Self::Apex };
        }
        let across = y - normal * n;
        let size = across.norm();
        if size <= mu * normal {
            return Self::Inside;
        }
        if mu * size <= -normal {
            return Self::Apex;
        }
        let share = 1.0 / (1.0 + mu * mu);
        let t = across / size;
        Self::Boundary { t, generator: n + mu * t, along: share * (normal + mu * size), share, size }
    }

    #[inline(always)]
    fn point(&self, y: &Vec3, n: &Vec3) -> Vec3 {
        match self {
            Self::Apex => Vec3::zeros(),
            Self::Normal(normal) => *normal * n,
            Self::Inside => *y,
            Self::Boundary { generator, along, .. } => *along * generator,
        }
    }
}

/// $P_K(y)$: the nearest point of the cone $|p_t| \le \mu p_n$ about the unit vector n.
#[inline(always)]
pub fn project(y: &Vec3, n: &Vec3, mu: f64) -> Vec3 {
    Projection::of(y, n, mu).point(y, n)
}

/// The same and its derivative as $\sum w\,cc^T$: `axis` gets each unit vector c with its weight w.
#[inline(always)]
pub fn project_with_axes(y: &Vec3, n: &Vec3, mu: f64, mut axis: impl FnMut(Vec3, f64)) -> Vec3 {
    let to = Projection::of(y, n, mu);
    match &to {
        Projection::Apex => {}
        Projection::Normal(_) => axis(*n, 1.0),
        Projection::Inside => (0..3).for_each(|k| axis(Vec3::ith(k, 1.0), 1.0)),
        Projection::Boundary { t, generator, along, share, size } => {
            axis(share.sqrt() * generator, 1.0);
            axis(n.cross(t), along * mu / size);
        }
    }
    to.point(y, n)
}

/// The same with the derivative as a matrix.
pub fn project_with_derivative(y: &Vec3, n: &Vec3, mu: f64) -> (Vec3, Mat3) {
    let to = Projection::of(y, n, mu);
    let derivative = match &to {
        Projection::Apex => Mat3::zeros(),
        Projection::Normal(_) => n * n.transpose(),
        Projection::Inside => Mat3::identity(),
        Projection::Boundary { t, generator, along, share, size } => {
            let turn = Mat3::identity() - n * n.transpose() - t * t.transpose();
            *share * generator * generator.transpose() + (along * mu / size) * turn
        }
    };
    (to.point(y, n), derivative)
}

/// The natural map $P_K(p - u - \mu|u_t|\,n) - p$ of a contact: zero where Coulomb's law holds and nowhere else.
///
/// P scales with its argument, so p may be in units of velocity: the residual of an impulse p is that of (tr W/3) p \[m/s\].
#[inline(always)]
pub fn residual(p: &Vec3, u: &Vec3, n: &Vec3, mu: f64) -> Vec3 {
    let across = u - n.dot(u) * n;
    project(&(p - u - mu * across.norm() * n), n, mu) - p
}

/// The square of the [`residual`] of four contacts side by side. Square roots overlap, and whether a contact slides, which no
/// branch prediction knows, becomes a selection.
#[inline(always)]
pub(crate) fn residual_squared_of_four(p: &V3, u: &V3, n: &V3, mu: Lanes) -> Lanes {
    let speed = length(&add_scaled(u, -dot(n, u), n));
    let y = add_scaled(&sub(p, u), -(mu * speed), n);
    let normal = dot(n, &y);
    let across = add_scaled(&y, -normal, n);
    let size = length(&across);
    let along = mu.mul_add(size, normal) / mu.mul_add(mu, splat(1.0));
    let slip = along * mu / size;
    let inside = size.simd_le(mu * normal);
    let apex = (mu * size).simd_le(-normal);
    let to = [0, 1, 2].map(|r| {
        let boundary = slip.mul_add(across[r], along * n[r]);
        inside.select(y[r], apex.select(Lanes::ZERO, boundary))
    });
    let left = sub(&to, p);
    dot(&left, &left)
}

/// Two unit vectors across a unit vector.
pub fn tangents(n: &Vec3) -> [Vec3; 2] {
    // The axis that n is farthest from.
    let k = n.iamin();
    let a = (Vec3::ith(k, 1.0) - n * n[k]).normalize();
    [a, n.cross(&a)]
}

/// The impulse of a contact with u = W p + q that obeys Coulomb's law.
///
/// W is symmetric and positive definite, `inverse` its inverse; `last` is where the search for the direction of sliding begins.
/// Where friction would have to push a contact apart harder than it is pressed ($W_{nn} + \mu W_{nt}\cdot e \le 0$, Painlevé) a
/// direction is left out.
#[inline]
pub fn solve_contact(W: &Mat3, inverse: &Mat3, q: &Vec3, n: &Vec3, mu: f64, last: &Vec3) -> Vec3 {
    let approach = n.dot(q);
    if approach >= 0.0 {
        return Vec3::zeros();
    }
    if mu == 0.0 {
        return n * (-approach / n.dot(&(W * n)));
    }
    let stick = -(inverse * q);
    let pressed = n.dot(&stick);
    let across = stick - pressed * n;
    if pressed > 0.0 && across.norm_squared() <= (mu * pressed).powi(2) {
        return stick;
    }
    let [s, t] = tangents(n);
    let frame = Mat3::from_columns(&[*n, s, t]);
    let W = frame.tr_mul(&(W * frame));
    frame * solve_sliding(&W, &frame.tr_mul(q), mu, &frame.tr_mul(last))
}

/// The sliding impulse in the frame of the contact, for $q_n < 0$ and μ > 0: on the boundary of the cone, with $u_n = 0$ and
/// $u_t$ against $p_t$.
fn solve_sliding(W: &Mat3, q: &Vec3, mu: f64, last: &Vec3) -> Vec3 {
    let boundary = Boundary { W, q, mu };
    let guess = if last.y != 0.0 || last.z != 0.0 {
        [last.y, last.z]
    } else {
        // Against the velocity that is there without friction.
        let u = q + W.column(0) * (-q.x / W.m11);
        [-u.y, -u.z]
    };
    let size = guess[0].hypot(guess[1]);
    let guess = if size > 0.0 { [guess[0] / size, guess[1] / size] } else { [1.0, 0.0] };
    boundary.impulse(&boundary.against(&guess))
}

/// Impulses on the boundary of a cone, by the direction of their tangential part.
struct Boundary<'a> {
    W: &'a Mat3,
    q: &'a Vec3,
    mu: f64,
}

/// Directions in which the boundary is sampled if the guess does not bracket a root.
const AROUND: usize = 24;
/// Half the angle between two of them \[rad\].
const HALF: f64 = std::f64::consts::PI / AROUND as f64;

/// e turned by the angle whose tangent is `tan`.
fn turned(e: &[f64; 2], tan: f64) -> [f64; 2] {
    let cos = 1.0 / (1.0 + tan * tan).sqrt();
    [cos * (e[0] - tan * e[1]), cos * (e[1] + tan * e[0])]
}

impl Boundary<'_> {
    fn impulse(&self, e: &[f64; 2]) -> Vec3 {
        let pressed = self.W.m11 + self.mu * (self.W.m12 * e[0] + self.W.m13 * e[1]);
        let normal = -self.q.x / pressed.max(1e-12 * self.W.m11);
        Vec3::new(normal, self.mu * normal * e[0], self.mu * normal * e[1])
    }

    /// Components of u_t across and along a direction. The first is zero, the second negative where it slides.
    fn velocity(&self, e: &[f64; 2]) -> (f64, f64) {
        let u = self.q + self.W * self.impulse(e);
        (e[0] * u.z - e[1] * u.y, e[0] * u.y + e[1] * u.z)
    }

    /// The direction in which u_t points against the impulse.
    fn against(&self, guess: &[f64; 2]) -> [f64; 2] {
        for width in [1e-3, 0.05, 0.5] {
            let [a, b] = [-width, width].map(|tan| self.velocity(&turned(guess, tan)));
            if a.0 * b.0 <= 0.0 && a.1 < 0.0 && b.1 < 0.0 {
                return self.root(guess, width, a.0, b.0);
            }
        }
        // All around, in steps whose halves have this tangent.
        let half = HALF.tan();
        let (mut best, mut middle) = ((f64::INFINITY, *guess), turned(guess, half));
        let mut low = self.velocity(guess);
        for _ in 0..AROUND {
            let end = turned(&middle, half);
            let high = self.velocity(&end);
            if low.0 * high.0 <= 0.0 {
                let e = self.root(&middle, half, low.0, high.0);
                let along = self.velocity(&e).1;
                if along < best.0 {
                    best = (along, e);
                }
            }
            (low, middle) = (high, turned(&end, half));
        }
        best.1
    }

    /// A root of the first component among the directions that are e turned by up to the angle whose tangent is `width`, to
    /// either side, with the values a and b at the ends: regula falsi of Anderson and Björck (1973).
    fn root(&self, e: &[f64; 2], width: f64, mut a: f64, mut b: f64) -> [f64; 2] {
        let (mut low, mut high) = (-width, width);
        for _ in 0..60 {
            if a == 0.0 || b == 0.0 || (high - low).abs() < 8.0 * f64::EPSILON {
                break;
            }
            let middle = (low * b - high * a) / (b - a);
            if (middle - high).abs() <= f64::EPSILON {
                break;
            }
            let m = self.velocity(&turned(e, middle)).0;
            if m * b <= 0.0 {
                (low, a) = (high, b);
            } else {
                let gained = 1.0 - m / b;
                a *= if gained > 0.0 { gained } else { 0.5 };
            }
            (high, b) = (middle, m);
        }
        turned(e, if a == 0.0 { low } else { high })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::Random;

    fn positive(random: &mut Random) -> Mat3 {
        let B = Mat3::from_fn(|_, _| random.between(-1.0, 1.0));
        B * B.transpose() + 0.1 * Mat3::identity()
    }

    fn unit(random: &mut Random) -> Vec3 {
        Vec3::from_fn(|_, _| random.between(-1.0, 1.0)).normalize()
    }

    #[test]
    fn the_contact_law_leaves_no_residual() {
        let mut random = Random::new(7);
        let mut kinds = [0; 3];
        for _ in 0..20_000 {
            let (W, n) = (positive(&mut random), unit(&mut random));
            let q = Vec3::from_fn(|_, _| random.between(-1.0, 1.0));
            let mu = 0.6 * random.between(-0.2, 1.0).max(0.0);
            let p = solve_contact(&W, &W.try_inverse().unwrap(), &q, &n, mu, &Vec3::zeros());
            let u = W * p + q;
            let slip = (u - n.dot(&u) * n).norm();
            kinds[if p == Vec3::zeros() {
                0
            } else if slip < 1e-12 {
                1
            } else {
                2
            }] += 1;
            let left = residual(&p, &u, &n, mu).norm();
            assert!(left < 1e-11 * (1.0 + p.norm()), "{W} {q} {mu}: {left:e}");
        }
        assert!(kinds.iter().all(|k| *k > 100), "{kinds:?}");
    }

    #[test]
    fn friction_has_no_preferred_direction() {
        // A point of 1 kg that is pressed down by 0.0981 m/s and slides: the closed form, turned by any angle.
        let (W, n) = (Mat3::identity(), Vec3::z());
        for k in 0..360 {
            let angle = f64::from(k).to_radians();
            for (speed, after) in [(0.02, 0.0), (0.5, 0.5 - 0.04905)] {
                let q = Vec3::new(speed * angle.cos(), speed * angle.sin(), -0.0981);
                let u = W * solve_contact(&W, &W, &q, &n, 0.5, &Vec3::zeros()) + q;
                let wanted = Vec3::new(after * angle.cos(), after * angle.sin(), 0.0);
                assert!((u - wanted).norm() < 1e-14, "{k} {u}");
            }
        }
    }

    #[test]
    fn a_projection_is_the_nearest_point_and_its_derivative_is_that_of_its_values() {
        let mut random = Random::new(3);
        for k in 0..300 {
            let n = unit(&mut random);
            let y = Vec3::from_fn(|_, _| random.between(-1.0, 1.0));
            let mu = [0.0, 0.3, 1.2][k % 3];
            let (p, D) = project_with_derivative(&y, &n, mu);
            assert_eq!(project(&y, &n, mu), p);
            // Nearest: y − p is in the polar cone and orthogonal to p.
            let beyond = y - p;
            let (normal, across) = (n.dot(&beyond), (beyond - n.dot(&beyond) * n).norm());
            assert!(p.dot(&beyond).abs() < 1e-14 && normal + mu * across < 1e-14);
            let mut sum = Mat3::zeros();
            let same = project_with_axes(&y, &n, mu, |c, weight| {
                assert!((c.norm() - 1.0).abs() < 1e-14);
                sum += weight * c * c.transpose();
            });
            assert!(same == p && (sum - D).norm() < 1e-13 && (D - D.transpose()).norm() < 1e-14);
            for i in 0..3 {
                let e = 1e-6 * Vec3::ith(i, 1.0);
                let change = project(&(y + e), &n, mu) - project(&(y - e), &n, mu);
                assert!((change / 2e-6 - D.column(i)).norm() < 1e-6, "{k} {i}");
            }
        }
    }

    #[test]
    fn four_residuals_are_those_of_each_contact_by_itself() {
        let mut random = Random::new(11);
        for _ in 0..200 {
            let n: [Vec3; 4] = std::array::from_fn(|_| unit(&mut random));
            let mut some =
                || -> [Vec3; 4] { std::array::from_fn(|_| Vec3::from_fn(|_, _| random.between(-1.0, 1.0))) };
            let (mut p, u) = (some(), some());
            p[3] = Vec3::zeros();
            let mu = [0.0, 0.3, 1.2, 0.7];
            let lanes = |v: &[Vec3; 4]| -> V3 { [0, 1, 2].map(|r| Lanes::new(v.map(|v| v[r]))) };
            let found =
                residual_squared_of_four(&lanes(&p), &lanes(&u), &lanes(&n), Lanes::new(mu)).to_array();
            for l in 0..4 {
                let one = residual(&p[l], &u[l], &n[l], mu[l]).norm();
                assert!((found[l].sqrt() - one).abs() < 1e-14 * (1.0 + one));
            }
        }
    }
}
