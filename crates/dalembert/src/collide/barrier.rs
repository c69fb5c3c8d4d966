//! Scalar laws of contact: log barrier, mollifier of parallel edges, smoothed Coulomb friction.
//!
//! **Log barrier** (Li et al. 2020, here on the gap itself): with $u = g - \hat g$,
//!
//! $$ b = -u^2\ln\frac g{\hat g},\qquad b' = -2u\ln\frac g{\hat g} - \frac{u^2}g,\qquad
//!    b'' = -2\ln\frac g{\hat g} - \frac{4u}g + \frac{u^2}{g^2} $$
//!
//! for $0 < g < \hat g$ and zero beyond: twice continuously differentiable at $\hat g$, since every term of b″ has a
//! factor that vanishes there. $g = d - \xi$ is the distance less the radii, so it starts at the surface of what is thick.
//!
//! **Mollifier.** The nearest points of two edges jump as they pass through parallel, and with them the force. Where the
//! edges are nearly parallel, vertices against triangles (or edges) hold the pair anyway, so the edges' own term may
//! fade: with $c = |e_a\times e_b|^2$ and $\epsilon = \tau\,|E_a|^2|E_b|^2$ from rest lengths,
//! $m = (2 - c/\epsilon)\,c/\epsilon$ below ε, and 1 from there on; m′ is continuous.
//!
//! **Friction** (same source): the slip y of a step beyond which friction is full is $\hat y = \epsilon_v h$;
//!
//! $$ f_1 = \frac{2y}{\hat y} - \frac{y^2}{\hat y^2}\ (y < \hat y),\quad 1\ (y\ge\hat y);\qquad
//!    f_0 = \int_{\hat y} f_1 + \hat y. $$
//!
//! The friction energy is $\mu\lambda f_0(|u|)$, so the force is $-\mu\lambda\,(f_1/y)\,u$ and the stiffness
//! $\mu\lambda\big[(f_1/y)\,1 + (f_1' - f_1/y)\,\hat u\hat u^T\big]$ across the normal, with eigenvalues
//! $f_1/y \ge 0$ and $f_1' \ge 0$.

use super::contact::Sym3;
use crate::math::Vec3;

/// b(g) = −(g − ĝ)² ln(g/ĝ) for 0 < g < ĝ, zero beyond \[m²\]; g is the distance less the radii.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LogBarrier {
    /// ĝ: the gap at which the barrier begins \[m\].
    pub gap_max: f64,
}

impl LogBarrier {
    /// b, b′, b″ at gap `g` \[m², m, 1\]. At g ≤ 0 the value is +∞, the derivative −∞ and the curvature +∞.
    #[inline]
    pub fn at(&self, g: f64) -> [f64; 3] {
        if g >= self.gap_max {
            return [0.0; 3];
        }
        if !(g > 0.0) {
            return [f64::INFINITY, f64::NEG_INFINITY, f64::INFINITY];
        }
        let (u, ln) = (g - self.gap_max, (g / self.gap_max).ln());
        let q = u / g;
        [-u * u * ln, -u * (2.0 * ln + q), q * (q - 4.0) - 2.0 * ln]
    }
}

/// The factor by which a pair of nearly parallel edges fades.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Mollifier {
    /// ε \[m⁴\]: |e_a × e_b|² from which on the pair counts fully.
    pub threshold: f64,
}

impl Mollifier {
    /// From the squared rest lengths \[m²\] of the two edges: ε = 10⁻³ |E_a|²|E_b|², an angle of 1.8°.
    pub fn of_rest(length2_a: f64, length2_b: f64) -> Self {
        Self { threshold: 1e-3 * length2_a * length2_b }
    }

    /// m, dm/dc, d²m/dc² \[1, m⁻⁴, m⁻⁸\] at c = |e_a × e_b|² \[m⁴\].
    #[inline]
    pub fn at(&self, c: f64) -> [f64; 3] {
        if c >= self.threshold {
            return [1.0, 0.0, 0.0];
        }
        let inv = 1.0 / self.threshold;
        let y = c * inv;
        [(2.0 - y) * y, 2.0 * (1.0 - y) * inv, -2.0 * inv * inv]
    }
}

/// c = |e_a × e_b|² \[m⁴\] of the edges (0, 1) and (2, 3), and its gradient \[m³\].
///
/// c = a²b² − (a·b)² gives ∂c/∂a = 2 (b² a − (a·b) b), the same with a and b exchanged for ∂c/∂b.
pub fn squared_cross(x: &[Vec3; 4]) -> (f64, [Vec3; 4]) {
    let (a, b) = (x[1] - x[0], x[3] - x[2]);
    let n = a.cross(&b);
    // b × (a × b) = b² a − (a·b) b, without cancellation.
    let (ga, gb) = (2.0 * b.cross(&n), 2.0 * n.cross(&a));
    (n.norm_squared(), [-ga, ga, -gb, gb])
}

/// Hessian of c = |e_a × e_b|² over the four corners \[m²\], for tests of exact Newton steps.
///
/// Over (a, b): ∂²c/∂a² = 2 (b² 1 − b bᵀ), ∂²c/∂a∂b = 2 (2 a bᵀ − b aᵀ − (a·b) 1).
pub fn squared_cross_hessian(x: &[Vec3; 4]) -> [[f64; 12]; 12] {
    let v = [x[1] - x[0], x[3] - x[2]];
    let entry = |p: usize, q: usize, i: usize, j: usize| {
        let unit = f64::from(u8::from(i == j));
        if p == q {
            let o = v[1 - p];
            2.0 * (o.norm_squared() * unit - o[i] * o[j])
        } else {
            2.0 * (2.0 * v[p][i] * v[q][j] - v[q][i] * v[p][j] - v[0].dot(&v[1]) * unit)
        }
    };
    let sign = [-1.0, 1.0, -1.0, 1.0];
    let mut H = [[0.0; 12]; 12];
    for r in 0..12 {
        for c in 0..12 {
            let (i, j) = (r / 3, c / 3);
            H[r][c] = sign[i] * sign[j] * entry(i / 2, j / 2, r % 3, c % 3);
        }
    }
    H
}

/// Smoothed Coulomb friction: f₁ rises from 0 to 1 as the slip grows from 0 to `slip_max`, and f₀ is its integral.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FrictionLaw {
    /// Slip ε_v h at which the full friction force is reached \[m\].
    pub slip_max: f64,
}

impl FrictionLaw {
    /// f₀ \[m\], f₁ = f₀′ \[1\], f₁/y and f₁′ \[1/m\] at the slip y ≥ 0 \[m\].
    #[inline]
    pub fn at(&self, y: f64) -> [f64; 4] {
        let e = self.slip_max;
        if y >= e {
            return [y, 1.0, 1.0 / y, 0.0];
        }
        let s = y / e;
        // ∫f₁ = y²/e − y³/(3e²), which is 2e/3 at e: the constant e/3 makes f₀ continuous.
        [e * (s * s * (1.0 - s / 3.0) + 1.0 / 3.0), s * (2.0 - s), (2.0 - s) / e, 2.0 * (1.0 - s) / e]
    }

    /// Energy \[J\], force against the slip \[N\] and its stiffness \[N/m\] for the friction limit μλ \[N\], the slip
    /// `u` \[m\] and the unit normal `n`; only the part of the slip across the normal counts.
    #[inline]
    pub fn of_slip(&self, limit: f64, u: &Vec3, n: &Vec3) -> (f64, Vec3, Sym3) {
        let t = u - n.dot(u) * n;
        let y = t.norm();
        let [f0, _, secant, derivative] = self.at(y);
        // (f₁/y)(1 − n nᵀ) + (f₁′ − f₁/y) t tᵀ/y²
        let (a, b) = (limit * secant, if y > 0.0 { limit * (derivative - secant) / (y * y) } else { 0.0 });
        let N = [
            a * (1.0 - n.x * n.x) + b * t.x * t.x,
            b * t.x * t.y - a * n.x * n.y,
            b * t.x * t.z - a * n.x * n.z,
            a * (1.0 - n.y * n.y) + b * t.y * t.y,
            b * t.y * t.z - a * n.y * n.z,
            a * (1.0 - n.z * n.z) + b * t.z * t.z,
        ];
        (limit * f0, a * t, N)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::Random;

    #[test]
    fn barrier_derivatives_agree_with_differences() {
        for gap_max in [1e-3, 1.0, 40.0] {
            let law = LogBarrier { gap_max };
            for k in 1..200 {
                let g = gap_max * f64::from(k) / 190.0;
                let h = 1e-6 * g;
                if (g - gap_max).abs() < 2.0 * h {
                    continue;
                }
                let ([up, up1, _], [down, down1, _], [b, b1, b2]) = (law.at(g + h), law.at(g - h), law.at(g));
                let (scale, at) = (gap_max * gap_max, format!("g {g} of {gap_max}"));
                assert!(b >= 0.0 && b1 <= 0.0 && b2 >= 0.0, "{at}");
                assert!(((up - down) / (2.0 * h) - b1).abs() < 1e-8 * scale / g, "{at}");
                assert!(((up1 - down1) / (2.0 * h) - b2).abs() < 1e-7 * scale / (g * g), "{at}");
            }
            let touching = law.at(gap_max * (1.0 - 1e-9));
            assert!(touching[1].abs() < 1e-15 * gap_max && touching[2].abs() < 1e-7, "smooth at the end");
            assert!(law.at(1e-300 * gap_max)[0].is_finite() && law.at(0.0)[0] == f64::INFINITY);
        }
    }

    #[test]
    fn mollifier_derivatives_agree_with_differences() {
        let law = Mollifier::of_rest(4.0, 0.25);
        assert_eq!(law.at(0.0)[0], 0.0);
        assert_eq!(law.at(law.threshold)[0], 1.0);
        assert!(law.at(law.threshold * (1.0 - 1e-12))[1].abs() < 1e-11 / law.threshold);
        for k in 1..100 {
            let c = law.threshold * f64::from(k) / 90.0;
            let h = 1e-6 * law.threshold;
            let ([up, up1, _], [down, down1, _], [_, m1, m2]) = (law.at(c + h), law.at(c - h), law.at(c));
            if k != 90 {
                assert!(((up - down) / (2.0 * h) - m1).abs() * law.threshold < 1e-8);
                assert!(((up1 - down1) / (2.0 * h) - m2).abs() * law.threshold.powi(2) < 1e-6);
            }
        }
    }

    #[test]
    fn squared_cross_agrees_with_differences() {
        let mut random = Random::new(1);
        for _ in 0..50 {
            let x: [Vec3; 4] = std::array::from_fn(|_| Vec3::from_fn(|_, _| random.between(-1.0, 1.0)));
            let (H, h) = (squared_cross_hessian(&x), 1e-5);
            for a in 0..12 {
                let [up, down] = [h, -h].map(|h| {
                    let mut y = x;
                    y[a / 3][a % 3] += h;
                    squared_cross(&y)
                });
                let g = squared_cross(&x).1[a / 3][a % 3];
                assert!(((up.0 - down.0) / (2.0 * h) - g).abs() < 1e-8);
                for b in 0..12 {
                    let second = (up.1[b / 3][b % 3] - down.1[b / 3][b % 3]) / (2.0 * h);
                    assert!((second - H[a][b]).abs() < 1e-8, "{a} {b}: {second} {}", H[a][b]);
                }
            }
        }
    }

    #[test]
    fn friction_is_the_gradient_of_its_energy_and_stays_below_its_limit() {
        let mut random = Random::new(2);
        let law = FrictionLaw { slip_max: 0.3 };
        for k in 0..400 {
            let n = Vec3::from_fn(|_, _| random.between(-1.0, 1.0)).normalize();
            let u = if k == 0 { Vec3::zeros() } else { Vec3::from_fn(|_, _| random.between(-0.4, 0.4)) };
            let (limit, h) = (7.0, 1e-6);
            let (_, f, N) = law.of_slip(limit, &u, &n);
            assert!(f.norm() <= limit * (1.0 + 1e-15));
            assert!(f.dot(&n).abs() < 1e-14 && f.dot(&u) >= 0.0);
            let N = nalgebra::Matrix3::new(N[0], N[1], N[2], N[1], N[3], N[4], N[2], N[4], N[5]);
            let least = N.symmetric_eigenvalues().min();
            assert!(least > -1e-13 * N.norm(), "indefinite: {least}");
            let y = (u - n.dot(&u) * n).norm();
            if (y - law.slip_max).abs() < 10.0 * h || k == 0 {
                continue;
            }
            for a in 0..3 {
                let [up, down] = [h, -h].map(|h| {
                    let mut v = u;
                    v[a] += h;
                    law.of_slip(limit, &v, &n)
                });
                assert!(((up.0 - down.0) / (2.0 * h) - f[a]).abs() < 1e-7, "{k} {a}");
                for b in 0..3 {
                    let second = (up.1[b] - down.1[b]) / (2.0 * h);
                    assert!((second - N[(a, b)]).abs() < 1e-5, "{k} {a} {b}: {second} {}", N[(a, b)]);
                }
            }
        }
    }
}
