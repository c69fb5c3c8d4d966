//! Rotations: the group SO(3), its exponential and logarithm, and the angle of a hinge.
//!
//! A rotation is a unit quaternion [`Quat`], body → world, stored in flat vectors as w, x, y, z. A rotation vector u
//! is the axis times the angle \[rad\]. **Increments are in world axes and stand on the left**: $R = \exp(u) R_0$, and
//! the angular velocity ω is the one of $\dot R = \[\omega\]_\times R$. Then
//!
//! $$ \omega = \mathrm{dexp}_u\,\dot u, \quad
//!    \mathrm{dexp}_u = I + \frac{1 - \cos\theta}{\theta^2}\[u\] + \frac{\theta - \sin\theta}{\theta^3}\[u\]^2, \quad
//!    \theta = |u|. $$
//!
//! In body axes, with $R = R_0 \exp(u)$ and $\Omega = R^T \omega$, the same holds with −u for u:
//! $\Omega = \mathrm{dexp}_{-u}\,\dot u$. Book: "Bodies".

use std::f64::consts::TAU;

use nalgebra::{Quaternion, UnitQuaternion};

use super::{Mat3, Vec3};

/// A rotation, body → world.
pub type Quat = UnitQuaternion<f64>;

/// Below this θ² the series are used. The first terms left out are of relative size θ⁸/10⁷ < 1e-19.
const SERIES: f64 = 1e-3;

/// Quaternion stored as w, x, y, z from place `at` of a flat slice on; taken to have length 1.
#[inline(always)]
pub fn quaternion(a: &[f64], at: usize) -> Quat {
    let s = &a[at..at + 4];
    Quat::new_unchecked(Quaternion::new(s[0], s[1], s[2], s[3]))
}

/// Writes a quaternion as w, x, y, z from place `at` of a flat slice on.
#[inline(always)]
pub fn set_quaternion(a: &mut [f64], at: usize, R: &Quat) {
    a[at..at + 4].copy_from_slice(&[R.w, R.i, R.j, R.k]);
}

/// \[a\]× with \[a\]× b = a × b.
#[inline(always)]
pub fn skew(a: &Vec3) -> Mat3 {
    Mat3::new(0.0, -a.z, a.y, a.z, 0.0, -a.x, -a.y, a.x, 0.0)
}

/// The quaternion brought back to length 1.
///
/// A product of unit quaternions leaves length 1 by rounding only, so one Newton step of $1/\sqrt s$ from s = 1,
/// $q + \tfrac12(1 - s)\,q$ with $s = |q|^2$, is exact to rounding; far from 1 the root is taken. Adding the small
/// correction, instead of multiplying by $(3 - s)/2$, matters over many steps: numbers are twice as dense below 1 as
/// above, so that factor is rounded downwards more often, and the length would come out short on average.
#[inline]
pub fn renormalise(R: &Quat) -> Quat {
    let s = R.coords.norm_squared();
    let coords =
        if (s - 1.0).abs() < 1e-8 { R.coords + R.coords * (0.5 - 0.5 * s) } else { R.coords / s.sqrt() };
    Quat::new_unchecked(Quaternion::from(coords))
}

/// exp(u): the rotation by |u| \[rad\] about u.
#[inline]
pub fn exp(u: &Vec3) -> Quat {
    let s = u.norm_squared();
    // w = cos(θ/2), factor = sin(θ/2)/θ.
    let (w, factor) = if s < SERIES {
        (
            1.0 - s / 8.0 * (1.0 - s / 48.0 * (1.0 - s / 120.0 * (1.0 - s / 224.0))),
            0.5 - s / 48.0 * (1.0 - s / 80.0 * (1.0 - s / 168.0)),
        )
    } else {
        let theta = s.sqrt();
        let (sin, cos) = (0.5 * theta).sin_cos();
        (cos, sin / theta)
    };
    Quat::new_unchecked(Quaternion::new(w, factor * u.x, factor * u.y, factor * u.z))
}

/// log(R): the rotation vector with |u| ≤ π whose exponential is R.
///
/// The angle is 2 atan2(|q_v|, |q_w|), exact near 0 and near π alike. Of the two vectors of a half turn, the one
/// along the vector part of the quaternion is taken.
pub fn log(R: &Quat) -> Vec3 {
    let v = Vec3::new(R.i, R.j, R.k);
    let (w, v) = if R.w < 0.0 { (-R.w, -v) } else { (R.w, v) };
    let s = v.norm();
    if s * s < SERIES * w * w {
        // θ/s = (2/w) atan(t)/t with t = s/w.
        let t = (s / w) * (s / w);
        return v * (2.0 / w * (1.0 - t * (1.0 / 3.0 - t * (1.0 / 5.0 - t * (1.0 / 7.0 - t * (1.0 / 9.0))))));
    }
    v * (2.0 * s.atan2(w) / s)
}

/// Angular velocity ω = dexp_u w of R = exp(u) R₀ in world axes, where w = du/dt.
pub fn dexp(u: &Vec3, w: &Vec3) -> Vec3 {
    let s = u.norm_squared();
    let (a, b) = if s < SERIES {
        (
            0.5 - s / 24.0 * (1.0 - s / 30.0 * (1.0 - s / 56.0 * (1.0 - s / 90.0))),
            1.0 / 6.0 - s / 120.0 * (1.0 - s / 42.0 * (1.0 - s / 72.0 * (1.0 - s / 110.0))),
        )
    } else {
        let theta = s.sqrt();
        let half = (0.5 * theta).sin();
        // 1 − cos θ = 2 sin²(θ/2) does not cancel.
        (2.0 * half * half / s, (theta - theta.sin()) / (s * theta))
    };
    let c = u.cross(w);
    w + a * c + b * u.cross(&c)
}

/// du/dt = dexp⁻¹_u ω for R = exp(u) R₀ turning with ω in world axes; |u| < 2π.
///
/// With $\[u\]^3 = -\theta^2 \[u\]$ the inverse of [`dexp`] must have the form $I + \alpha \[u\] + \beta \[u\]^2$, and
/// comparing coefficients gives $\alpha = -\tfrac12$,
/// $\beta = (1 - \tfrac\theta2 \cot\tfrac\theta2)/\theta^2 = \tfrac1{12} + \tfrac{\theta^2}{720} + \dots$,
/// which is infinite at θ = 2π: there a whole circle of rotation vectors is the same rotation. From there on the
/// result is not a number, so that a step which turns a body that far fails as one that overflows.
pub fn dexp_inverse(u: &Vec3, w: &Vec3) -> Vec3 {
    let s = u.norm_squared();
    if !(s < TAU * TAU) {
        return Vec3::repeat(f64::NAN);
    }
    let b = if s < SERIES {
        1.0 / 12.0 + s * (1.0 / 720.0 + s * (1.0 / 30_240.0 + s * (1.0 / 1_209_600.0 + s / 47_900_160.0)))
    } else {
        let half = 0.5 * s.sqrt();
        (1.0 - half / half.tan()) / s
    };
    let c = u.cross(w);
    w - 0.5 * c + b * u.cross(&c)
}

/// Cayley map: the rotation $(I - \[u\]/2)^{-1}(I + \[u\]/2)$, as quaternion (1, u/2) brought to length 1.
///
/// It turns about u by 2 atan(|u|/2), which is |u| up to |u|³/12, and never by a half turn or more.
#[inline]
pub fn cayley(u: &Vec3) -> Quat {
    let scale = 1.0 / (1.0 + 0.25 * u.norm_squared()).sqrt();
    Quat::new_unchecked(Quaternion::new(scale, 0.5 * scale * u.x, 0.5 * scale * u.y, 0.5 * scale * u.z))
}

/// The rotation after the world increment u \[rad\]: exp(u) R, of length 1.
#[inline]
pub fn turned(R: &Quat, u: &Vec3) -> Quat {
    renormalise(&(exp(u) * R))
}

/// The rotation matrix of a unit quaternion.
#[inline]
pub fn matrix(R: &Quat) -> Mat3 {
    let (w, x, y, z) = (R.w, R.i, R.j, R.k);
    let (x2, y2, z2) = (x + x, y + y, z + z);
    let (xx, yy, zz, xy, xz, yz) = (x * x2, y * y2, z * z2, x * y2, x * z2, y * z2);
    let (wx, wy, wz) = (w * x2, w * y2, w * z2);
    Mat3::new(
        1.0 - (yy + zz),
        xy - wz,
        xz + wy,
        xy + wz,
        1.0 - (xx + zz),
        yz - wx,
        xz - wy,
        yz + wx,
        1.0 - (xx + yy),
    )
}

/// The unit quaternion of a rotation matrix.
pub fn from_matrix(R: &Mat3) -> Quat {
    Quat::from_rotation_matrix(&nalgebra::Rotation3::from_matrix_unchecked(*R))
}

/// A right-handed frame whose third axis is t (which need not have length 1, but must not be zero): the first axis
/// lies across the coordinate axis that is farthest from t, so that nearby t give nearby frames almost everywhere.
pub fn frame_with_axis(t: &Vec3) -> Quat {
    let t = t.normalize();
    let far = t.iamin();
    let mut e = Vec3::zeros();
    e[far] = 1.0;
    let n = e.cross(&t).normalize();
    let b = t.cross(&n);
    from_matrix(&Mat3::from_columns(&[n, b, t]))
}

/// The angle equal to `angle` up to full turns that lies nearest to `previous` \[rad\]: counts turns, as long as less
/// than half a turn passes between two calls.
pub fn unwrap_angle(previous: f64, angle: f64) -> f64 {
    angle + TAU * ((previous - angle) / TAU).round()
}

#[cfg(test)]
mod tests {
    use std::f64::consts::PI;

    use super::*;
    use crate::math::Random;

    fn vector(random: &mut Random, size: f64) -> Vec3 {
        let v = Vec3::from_fn(|_, _| random.between(-1.0, 1.0));
        v.normalize() * size
    }

    /// Angles from far below the series to near a half turn.
    const ANGLES: [f64; 12] = [0.0, 1e-300, 1e-12, 1e-8, 1e-4, 0.0316, 0.03163, 0.1, 1.0, 3.0, PI - 1e-4, PI];

    #[test]
    fn the_logarithm_undoes_the_exponential() {
        let mut random = Random::new(1);
        for _ in 0..200 {
            for angle in ANGLES {
                let u = vector(&mut random, angle * (1.0 - 1e-15));
                let R = exp(&u);
                assert!((R.coords.norm() - 1.0).abs() < 4e-16);
                let back = log(&R);
                assert!((back - u).norm() <= 1e-15 * u.norm().max(1e-15), "{u} {back} at {angle}");
                assert!((log(&Quat::new_unchecked(-R.into_inner())) - u).norm() <= 1e-15 * u.norm().max(1.0));
            }
        }
    }

    #[test]
    fn the_exponential_undoes_the_logarithm_even_beyond_a_half_turn() {
        let mut random = Random::new(2);
        for _ in 0..200 {
            let u = Vec3::from_fn(|_, _| random.between(-6.0, 6.0));
            let R = exp(&u);
            assert!(log(&R).norm() <= PI * (1.0 + 1e-15));
            assert!((matrix(&exp(&log(&R))) - matrix(&R)).norm() < 4e-15);
        }
    }

    #[test]
    fn rotations_form_a_group() {
        let mut random = Random::new(3);
        for _ in 0..100 {
            let [a, b, c] = [0; 3].map(|_| exp(&Vec3::from_fn(|_, _| random.between(-3.0, 3.0))));
            let (A, B) = (matrix(&a), matrix(&b));
            assert!((matrix(&((a * b) * c)) - matrix(&(a * (b * c)))).norm() < 4e-15);
            assert!((matrix(&(a * b)) - A * B).norm() < 4e-15, "quaternions multiply as matrices do");
            assert!((A * A.transpose() - Mat3::identity()).norm() < 4e-15);
            assert!((A.determinant() - 1.0).abs() < 4e-15);
            assert!((matrix(&(a * a.inverse())) - Mat3::identity()).norm() < 4e-15);
            let u = log(&a);
            assert!((matrix(&(exp(&(0.3 * u)) * exp(&(0.7 * u)))) - A).norm() < 4e-15, "one-parameter group");
            assert!((matrix(&(b * a * b.inverse())) - matrix(&exp(&(b * u)))).norm() < 8e-15, "adjoint");
            let v = vector(&mut random, 2.0);
            assert!((skew(&u) * v - u.cross(&v)).norm() < 1e-15);
            assert!((a * v - A * v).norm() < 4e-15);
        }
    }

    #[test]
    fn dexp_is_the_angular_velocity_of_the_exponential() {
        let mut random = Random::new(4);
        for angle in [0.0, 1e-6, 0.02, 0.04, 0.5, 2.0, 3.5, 6.0] {
            for _ in 0..20 {
                let (u, w) = (vector(&mut random, angle), vector(&mut random, 1.0));
                // World axes: ω from exp(u + e w) exp(u − e w)⁻¹ = exp(2 e ω + …), extrapolated once.
                let D = |e: f64| log(&(exp(&(u + e * w)) * exp(&(u - e * w)).inverse())) / (2.0 * e);
                let omega = (4.0 * D(5e-4) - D(1e-3)) / 3.0;
                assert!((dexp(&u, &w) - omega).norm() < 1e-11, "{angle}");
                assert!((dexp_inverse(&u, &omega) - w).norm() < 1e-9, "{angle}");
                let back = dexp_inverse(&u, &dexp(&u, &w));
                assert!((back - w).norm() < if angle < 4.0 { 2e-15 } else { 1e-13 }, "{angle}");
                // Body axes: Ω = Rᵀ ω = dexp_{−u} u̇.
                assert!((exp(&u).inverse() * omega - dexp(&-u, &w)).norm() < 1e-11);
            }
        }
    }

    #[test]
    fn the_series_meet_the_closed_forms() {
        let w = Vec3::new(0.3, -1.0, 0.7);
        let at = |s: f64| Vec3::new(0.6, 0.0, -0.8) * s.sqrt();
        let (low, high) = (at(SERIES * (1.0 - 1e-14)), at(SERIES * (1.0 + 1e-14)));
        assert!((exp(&low).coords - exp(&high).coords).norm() < 1e-15);
        assert!((dexp(&low, &w) - dexp(&high, &w)).norm() < 1e-15);
        assert!((dexp_inverse(&low, &w) - dexp_inverse(&high, &w)).norm() < 1e-15);
    }

    #[test]
    fn the_cayley_map_is_its_rational_matrix() {
        let mut random = Random::new(5);
        for size in [0.0, 1e-9, 0.1, 1.0, 30.0] {
            let u = vector(&mut random, size);
            let half = 0.5 * skew(&u);
            let wanted = (Mat3::identity() - half).try_inverse().unwrap() * (Mat3::identity() + half);
            assert!((matrix(&cayley(&u)) - wanted).norm() < 1e-13);
            assert!((log(&cayley(&u)).norm() - 2.0 * (size / 2.0).atan()).abs() < 1e-14);
        }
    }

    #[test]
    fn renormalising_gives_length_one() {
        for scale in [1.0 + 1e-9, 1.0 - 3e-16, 1.5, 1e-3] {
            let R = Quat::new_unchecked(exp(&Vec3::new(0.1, 2.0, -0.4)).into_inner() * scale);
            assert!((renormalise(&R).coords.norm() - 1.0).abs() < 3e-16);
        }
    }

    #[test]
    fn a_hinge_counts_its_turns() {
        let mut angle = 0.0;
        for step in (0..400).chain((100..400).rev()) {
            let wanted = 0.1 * f64::from(step);
            angle = unwrap_angle(angle, wanted.sin().atan2(wanted.cos()));
            assert!((angle - wanted).abs() < 1e-13, "{angle} {wanted}");
        }
    }

    #[test]
    fn a_frame_has_the_given_third_axis() {
        for t in [Vec3::x(), -Vec3::y(), Vec3::z(), Vec3::new(1.0, 1.0, 1.0), Vec3::new(-3.0, 1e-9, 0.0)] {
            assert!((frame_with_axis(&t) * Vec3::z() - t.normalize()).norm() < 1e-15);
        }
    }
}
