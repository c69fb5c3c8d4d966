//! Plane and sphere that push points out, by a penalty on depth: $W = \varphi(\delta)$, $\delta = \langle r - d(x)\rangle$.
//!
//! d is the distance to the surface, with unit normal n = ∇d, and r the radius of the points. The quadratic law is
//! $\varphi = \tfrac12 k\delta^2$; the cubic one, $\varphi = \tfrac13 k\delta^3/\delta_0$, pushes as hard at the
//! depth δ₀ and has no jump in stiffness. A damper $-c\,\dot d\,n$ works while a point is inside, and the sum never
//! pulls. With $P = I - n n^T$ and curvature $\nabla^2 d = P/\rho$ (ρ the distance to the centre of a sphere, ∞ for a plane)
//!
//! $$ f = s\,n,\quad s = \varphi'(\delta) - c\,n\cdot v,\qquad
//!    K = \varphi''\,n n^T - \tfrac{s}{\rho} P + \tfrac{c}{\rho}\, n (P v)^T,\qquad B = c\,n n^T . $$
//!
//! No friction. The projected tangent is $\varphi'' n n^T$ (with the second term inside a hollow sphere, where it is positive).

use crate::forces::{Blocks, Force, Points, Tangent};
use crate::math::{Mat3, Vec3, across, add_triple, outer, triple};
use crate::state::PointSet;

/// Where the obstacle is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ObstacleShape {
    /// The half space behind a plane.
    Plane {
        /// Some point of the plane \[m\].
        point: Vec3,
        /// Unit normal, away from the obstacle.
        normal: Vec3,
    },
    /// A ball.
    Sphere {
        /// Centre \[m\].
        center: Vec3,
        /// Radius \[m\].
        radius: f64,
    },
    /// Everything outside a ball: points stay within.
    Hollow {
        /// Centre \[m\].
        center: Vec3,
        /// Radius \[m\].
        radius: f64,
    },
}

/// How the push grows with depth.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Penalty {
    /// φ' = k δ.
    Quadratic,
    /// φ' = k δ²/δ₀, with the depth δ₀ \[m\] at which it equals the quadratic law.
    Cubic {
        /// δ₀ \[m\], > 0.
        depth: f64,
    },
}

/// Pushes points out of a fixed shape, without friction.
#[derive(Debug, Clone, PartialEq)]
pub struct Obstacle {
    /// Points that feel it.
    pub on: PointSet,
    /// The shape.
    pub shape: ObstacleShape,
    /// Radius r of the points \[m\], ≥ 0: contact begins that far outside.
    pub radius: f64,
    /// Stiffness k \[N/m\], ≥ 0.
    pub stiffness: f64,
    /// Damping c while in contact \[N·s/m\], ≥ 0.
    pub damping: f64,
    /// How the push grows with depth.
    pub penalty: Penalty,
}

/// One touching point.
struct Touch {
    n: Vec3,
    /// 1/ρ, negative inside a hollow sphere.
    curvature: f64,
    /// φ, φ', φ''.
    phi: [f64; 3],
}

impl Obstacle {
    fn touch(&self, x: &Vec3) -> Option<Touch> {
        let (gap, n, curvature) = match self.shape {
            ObstacleShape::Plane { point, normal } => (normal.dot(&(x - point)), normal, 0.0),
            ObstacleShape::Sphere { center, radius } | ObstacleShape::Hollow { center, radius } => {
                let sign = if matches!(self.shape, ObstacleShape::Sphere { .. }) { 1.0 } else { -1.0 };
                let d = x - center;
                let rho = d.norm();
                // At the very centre any direction is as good.
                let n = if rho > 0.0 { d / rho } else { Vec3::z() };
                (sign * (rho - radius), n * sign, sign / rho.max(1e-300))
            }
        };
        let depth = self.radius - gap;
        if !(depth > 0.0) {
            return None;
        }
        let k = self.stiffness;
        let phi = match self.penalty {
            Penalty::Quadratic => [0.5 * k * depth * depth, k * depth, k],
            Penalty::Cubic { depth: unit } => {
                [k * depth.powi(3) / (3.0 * unit), k * depth * depth / unit, 2.0 * k * depth / unit]
            }
        };
        Some(Touch { n, curvature, phi })
    }

    /// The touch and the push s, where it is positive.
    fn push(&self, p: &Points, i: usize) -> Option<(Touch, f64)> {
        let touch = self.touch(&p.position(i))?;
        let damper = if self.damping == 0.0 { 0.0 } else { self.damping * touch.n.dot(&p.velocity(i)) };
        let push = touch.phi[1] - damper;
        (push > 0.0).then_some((touch, push))
    }

    fn tangent(&self, p: &Points, i: usize, tangent: Tangent) -> Mat3 {
        let Some((Touch { n, curvature, phi }, push)) = self.push(p, i) else { return Mat3::zeros() };
        let P = across(&n);
        let along = outer(&n, &n) * phi[2];
        if tangent == Tangent::Projected {
            return along + P * (-phi[1] * curvature).max(0.0);
        }
        let mut K = along - P * (push * curvature);
        if self.damping != 0.0 {
            K += outer(&n, &(P * p.velocity(i))) * (self.damping * curvature);
        }
        K
    }

    fn each(&self, p: &Points) -> impl Iterator<Item = usize> + '_ {
        self.on.within(p.first, p.len()).flatten()
    }

    fn damping_block(&self, p: &Points, i: usize) -> Mat3 {
        self.push(p, i).map_or_else(Mat3::zeros, |(t, _)| outer(&t.n, &t.n) * self.damping)
    }
}

impl Force for Obstacle {
    fn kind(&self) -> &'static str {
        "obstacle"
    }

    fn energy(&self, p: &Points) -> f64 {
        self.each(p).filter_map(|i| self.touch(&p.position(i))).map(|t| t.phi[0]).sum()
    }

    fn add_force(&self, p: &Points, f: &mut [f64]) {
        for i in self.each(p) {
            if let Some((touch, push)) = self.push(p, i) {
                add_triple(f, i, &(touch.n * push));
            }
        }
    }

    fn add_stiffness_times(&self, p: &Points, dx: &[f64], df: &mut [f64]) {
        for i in self.each(p) {
            add_triple(df, i, &(self.tangent(p, i, Tangent::Exact) * triple(dx, i)));
        }
    }

    fn add_stiffness_blocks(&self, p: &Points, out: &mut Blocks) {
        self.add_tangent_blocks(p, Tangent::Exact, out);
    }

    fn add_damping_times(&self, p: &Points, dv: &[f64], df: &mut [f64]) {
        for i in self.each(p) {
            add_triple(df, i, &(self.damping_block(p, i) * triple(dv, i)));
        }
    }

    fn add_damping_blocks(&self, p: &Points, out: &mut Blocks) {
        if self.damping != 0.0 {
            for i in self.each(p) {
                out.add(p.first + i, p.first + i, self.damping_block(p, i));
            }
        }
    }

    fn linearize(&self, p: &Points, tangent: Tangent, cache: &mut Vec<f64>) {
        cache.clear();
        for i in self.each(p) {
            cache.extend_from_slice(self.tangent(p, i, tangent).as_slice());
        }
    }

    fn add_tangent_times(&self, p: &Points, cache: &[f64], dx: &[f64], df: &mut [f64]) {
        for (i, block) in self.each(p).zip(cache.chunks_exact(9)) {
            add_triple(df, i, &(Mat3::from_column_slice(block) * triple(dx, i)));
        }
    }

    fn add_tangent_blocks(&self, p: &Points, tangent: Tangent, out: &mut Blocks) {
        for i in self.each(p) {
            out.add(p.first + i, p.first + i, self.tangent(p, i, tangent));
        }
    }

    fn has_projection(&self) -> bool {
        true
    }

    fn is_local(&self) -> bool {
        true
    }

    fn is_conservative(&self) -> bool {
        self.damping == 0.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stone_on_the_ground_sinks_until_the_push_carries_it() {
        let ground = |penalty| Obstacle {
            on: PointSet::range(0..1),
            shape: ObstacleShape::Plane { point: Vec3::zeros(), normal: Vec3::z() },
            radius: 0.1,
            stiffness: 1000.0,
            damping: 5.0,
            penalty,
        };
        // Half the depth unit deep: kδ = 5, kδ²/δ₀ = 2.5; free of force outside; never pulls.
        for (penalty, wanted) in [(Penalty::Quadratic, 5.0), (Penalty::Cubic { depth: 0.01 }, 2.5)] {
            for (z, speed, wanted) in
                [(0.095, 0.0, wanted), (0.095, -1.0, wanted + 5.0), (0.095, 9.0, 0.0), (0.11, -1.0, 0.0)]
            {
                let (x, v, mut f) = ([0.3, 0.0, z], [2.0, 0.0, speed], [0.0; 3]);
                ground(penalty)
                    .add_force(&Points { time: 0.0, first: 0, x: &x, v: &v, mass: &[1.0] }, &mut f);
                assert!(f[0] == 0.0 && (f[2] - wanted).abs() < 1e-11, "{f:?} {wanted}");
            }
        }
    }
}
