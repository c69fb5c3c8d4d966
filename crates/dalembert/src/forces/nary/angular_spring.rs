//! Angular spring over three points: $W = \tfrac12 k (\theta - \theta_0)^2$, θ the angle at the middle point.
//!
//! With $u = x_a - x_b$, $w = x_c - x_b$ and $c = \hat u\cdot\hat w = \cos\theta$ the energy is a function of c:
//! $W'(c) = -k(\theta-\theta_0)/\sin\theta$, $W''(c) = k\,(1 - (\theta-\theta_0)\cot\theta)/\sin^2\theta$, and
//!
//! $$ \partial c/\partial u = P_u \hat w/|u|,\quad
//!    \partial^2 c/\partial u^2 = \big(3c\,\hat u\hat u^T - \hat u\hat w^T - \hat w\hat u^T - c I\big)/|u|^2,\quad
//!    \partial^2 c/\partial u\partial w = P_u P_w/(|u||w|) $$
//!
//! with $P_u = I - \hat u\hat u^T$; a feels $-W' \partial c/\partial u$, c feels $-W'\partial c/\partial w$, b the
//! opposite of both. A straight rest angle (θ₀ = π) is the common case and is smooth there:
//! with φ = π − θ, $W' = k\varphi/\sin\varphi \to k$ and $W'' \to k/3$; series take over for small φ.
//! For any other θ₀ the energy has a true corner at θ = π, where the direction of the force is undefined and the
//! force is taken as zero.
//!
//! The projected tangent is $k\,\nabla\theta\nabla\theta^T$; at a straight or folded rest angle, where ∇θ has no direction, it
//! is $k\tfrac{\varphi}{\sin\varphi}\lVert\delta\hat u \pm \delta\hat w\rVert^2$, which is exact at rest.

use nalgebra::Matrix3;

use crate::forces::{Blocks, Force, Points, Tangent};
use crate::math::{Mat3, Vec3, across, add_triple, outer, triple};
use crate::state::PointId;

/// Holds the angle at the middle of three points.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AngularSpring {
    /// The points a, b (middle), c.
    pub points: [PointId; 3],
    /// Stiffness k \[N·m/rad\], ≥ 0.
    pub stiffness: f64,
    /// Rest angle θ₀ \[rad\], 0 … π.
    pub rest_angle: f64,
}

/// All angular springs of one kind.
#[derive(Debug, Clone, Default)]
pub struct AngularSprings {
    /// The springs, summed in this order.
    pub springs: Vec<AngularSpring>,
}

/// Geometry of one bend.
struct Bend {
    /// Unit arms û, ŵ and their lengths.
    u: Vec3,
    w: Vec3,
    lu: f64,
    lw: f64,
    /// Angle θ.
    theta: f64,
}

impl Bend {
    fn new(s: &AngularSpring, p: &Points) -> Option<Self> {
        let [a, b, c] = s.points.map(|i| p.position(i.index()));
        let (u, w) = (a - b, c - b);
        let (lu, lw) = (u.norm(), w.norm());
        if lu == 0.0 || lw == 0.0 {
            return None;
        }
        let (u, w) = (u / lu, w / lw);
        Some(Self { u, w, lu, lw, theta: u.cross(&w).norm().atan2(u.dot(&w)) })
    }

    /// W'(c), W''(c).
    fn derivatives(&self, s: &AngularSpring) -> (f64, f64) {
        let k = s.stiffness;
        // Distance φ from the straight (or folded) angle if that is the rest angle: smooth through φ = 0.
        let smooth = |phi: f64| {
            if phi < 1e-3 {
                let q = phi * phi;
                (1.0 + q / 6.0 + 7.0 * q * q / 360.0, 1.0 / 3.0 + 2.0 * q / 15.0)
            } else {
                let sin = phi.sin();
                (phi / sin, (1.0 - phi / phi.tan()) / (sin * sin))
            }
        };
        let pi = std::f64::consts::PI;
        if (s.rest_angle - pi).abs() < 1e-12 {
            let sin_theta = self.u.cross(&self.w).norm();
            let (first, second) = smooth(sin_theta.atan2(-self.u.dot(&self.w)));
            return (k * first, k * second);
        }
        if s.rest_angle < 1e-12 {
            let (first, second) = smooth(self.theta);
            return (-k * first, k * second);
        }
        let sin = self.theta.sin();
        if sin < 1e-12 {
            return (0.0, 0.0);
        }
        let bend = self.theta - s.rest_angle;
        (-k * bend / sin, k * (1.0 - bend * self.theta.cos() / sin) / (sin * sin))
    }

    /// ∂c/∂u, ∂c/∂w.
    fn gradient(&self) -> (Vec3, Vec3) {
        let c = self.u.dot(&self.w);
        ((self.w - c * self.u) / self.lu, (self.u - c * self.w) / self.lw)
    }

    /// The blocks of ∂²W/∂(u, w)²: uu, uw, ww.
    fn hessian(&self, s: &AngularSpring) -> (Mat3, Mat3, Mat3) {
        let (first, second) = self.derivatives(s);
        let (gu, gw) = self.gradient();
        let c = self.u.dot(&self.w);
        let own = |e: &Vec3, o: &Vec3, l: f64| {
            (outer(e, e) * (3.0 * c) - outer(e, o) - outer(o, e) - Matrix3::identity() * c) / (l * l)
        };
        let uu = outer(&gu, &gu) * second + own(&self.u, &self.w, self.lu) * first;
        let ww = outer(&gw, &gw) * second + own(&self.w, &self.u, self.lw) * first;
        let mixed = across(&self.u) * across(&self.w) / (self.lu * self.lw);
        (uu, outer(&gu, &gw) * second + mixed * first, ww)
    }

    /// The blocks of the tangent: `hessian`, or its projection.
    fn tangent(&self, s: &AngularSpring, tangent: Tangent) -> (Mat3, Mat3, Mat3) {
        if tangent == Tangent::Exact {
            return self.hessian(s);
        }
        let straight = (s.rest_angle - std::f64::consts::PI).abs() < 1e-12;
        if straight || s.rest_angle < 1e-12 {
            let k = self.derivatives(s).0.abs();
            let (P, Q) = (across(&self.u) / self.lu, across(&self.w) / self.lw);
            let sign = if straight { k } else { -k };
            return (P * P * k, P * Q * sign, Q * Q * k);
        }
        let sin = self.theta.sin();
        if sin < 1e-12 {
            return Default::default();
        }
        let (gu, gw) = self.gradient();
        let k = s.stiffness / (sin * sin);
        (outer(&gu, &gu) * k, outer(&gu, &gw) * k, outer(&gw, &gw) * k)
    }
}

impl AngularSprings {
    /// Blocks uu, uw, ww of the tangent of one spring; zero where an arm has no length.
    fn blocks(s: &AngularSpring, p: &Points, tangent: Tangent) -> (Mat3, Mat3, Mat3) {
        Bend::new(s, p).map_or_else(Default::default, |bend| bend.tangent(s, tangent))
    }

    /// df += H dx, with the blocks of spring i from `blocks`.
    fn add_times(&self, dx: &[f64], df: &mut [f64], blocks: impl Fn(usize) -> (Mat3, Mat3, Mat3)) {
        for (i, s) in self.springs.iter().enumerate() {
            let (uu, uw, ww) = blocks(i);
            let [a, b, c] = s.points.map(PointId::index);
            let (du, dw) = (triple(dx, a) - triple(dx, b), triple(dx, c) - triple(dx, b));
            let (fu, fw) = (uu * du + uw * dw, uw.transpose() * du + ww * dw);
            add_triple(df, a, &fu);
            add_triple(df, c, &fw);
            add_triple(df, b, &-(fu + fw));
        }
    }
}

impl Force for AngularSprings {
    fn kind(&self) -> &'static str {
        "angular_springs"
    }

    fn energy(&self, p: &Points) -> f64 {
        let one = |s: &AngularSpring| {
            Bend::new(s, p).map_or(0.0, |b| 0.5 * s.stiffness * (b.theta - s.rest_angle).powi(2))
        };
        self.springs.iter().map(one).sum()
    }

    fn add_force(&self, p: &Points, f: &mut [f64]) {
        for s in &self.springs {
            let Some(bend) = Bend::new(s, p) else { continue };
            let (derivative, _) = bend.derivatives(s);
            let (gu, gw) = bend.gradient();
            let [a, b, c] = s.points.map(PointId::index);
            add_triple(f, a, &(-derivative * gu));
            add_triple(f, c, &(-derivative * gw));
            add_triple(f, b, &(derivative * (gu + gw)));
        }
    }

    fn add_stiffness_times(&self, p: &Points, dx: &[f64], df: &mut [f64]) {
        self.add_times(dx, df, |i| Self::blocks(&self.springs[i], p, Tangent::Exact));
    }

    fn add_stiffness_blocks(&self, p: &Points, out: &mut Blocks) {
        self.add_tangent_blocks(p, Tangent::Exact, out);
    }

    fn linearize(&self, p: &Points, tangent: Tangent, cache: &mut Vec<f64>) {
        cache.clear();
        for s in &self.springs {
            let (uu, uw, ww) = Self::blocks(s, p, tangent);
            [uu, uw, ww].iter().for_each(|block| cache.extend_from_slice(block.as_slice()));
        }
    }

    fn add_tangent_times(&self, _p: &Points, cache: &[f64], dx: &[f64], df: &mut [f64]) {
        let block = |k: usize| Mat3::from_column_slice(&cache[9 * k..9 * k + 9]);
        self.add_times(dx, df, |i| (block(3 * i), block(3 * i + 1), block(3 * i + 2)));
    }

    fn add_tangent_blocks(&self, p: &Points, tangent: Tangent, out: &mut Blocks) {
        for s in &self.springs {
            let (uu, uw, ww) = Self::blocks(s, p, tangent);
            let wu = uw.transpose();
            let [a, b, c] = s.points.map(PointId::index);
            for (i, j, block) in [
                (a, a, uu),
                (a, c, uw),
                (a, b, -(uu + uw)),
                (c, a, wu),
                (c, c, ww),
                (c, b, -(wu + ww)),
                (b, a, -(uu + wu)),
                (b, c, -(uw + ww)),
                (b, b, uu + uw + wu + ww),
            ] {
                out.add(i, j, block);
            }
        }
    }

    fn has_projection(&self) -> bool {
        true
    }

    fn is_internal(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check;

    #[test]
    fn a_straight_rest_angle_is_smooth_through_the_straight_pose() {
        for bend in [0.0, 1e-9, 1e-6, 0.9e-3, 1.1e-3, 0.1] {
            let x = [-1.0, 0.0, 0.0, 0.0, bend, 0.0, 1.3, 0.0, 0.2 * bend];
            let batch = AngularSprings {
                springs: vec![AngularSpring {
                    points: [PointId(0), PointId(1), PointId(2)],
                    stiffness: 2.0,
                    rest_angle: std::f64::consts::PI,
                }],
            };
            let p = Points { time: 0.0, first: 0, x: &x, v: &[0.0; 9], mass: &[1.0; 3] };
            assert!(check::force_against_energy(&batch, &p) < 1e-7, "bend {bend}");
            assert!(check::stiffness_against_force(&batch, &p) < 1e-7, "bend {bend}");
        }
    }
}
