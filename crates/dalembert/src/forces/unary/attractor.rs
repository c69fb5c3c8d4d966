//! A fixed centre that attracts points.
//!
//! With $r = |x - c|$ and $n = (x - c)/r$ the energy is a function φ(r), so
//! $f = -\varphi'(r)\,n$ and $K = \varphi'' n n^T + (\varphi'/r)(I - n n^T)$. Both laws here have a finite limit
//! of φ'/r at the centre (for the inverse law if it is softened), so nothing is undefined there.

use crate::forces::{Blocks, Force, Points};
use crate::math::{Mat3, Vec3, add_triple, outer, triple};
use crate::state::PointSet;

/// How strongly a centre attracts, as a function of distance.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Attraction {
    /// $W = -\mu m/\sqrt{r^2 + s^2}$: a heavy body at the centre.
    Inverse {
        /// Gravitational parameter μ = G·M \[m³/s²\].
        mu: f64,
        /// Softening length s \[m\], ≥ 0.
        softening: f64,
    },
    /// $W = \tfrac12 k r^2$: a spring of no length.
    Spring {
        /// Stiffness k \[N/m\].
        stiffness: f64,
    },
}

/// Attracts a set of points towards a fixed centre.
#[derive(Debug, Clone, PartialEq)]
pub struct Attractor {
    /// Points that feel it.
    pub on: PointSet,
    /// Centre c \[m\].
    pub center: Vec3,
    /// Law of attraction.
    pub law: Attraction,
}

impl Attractor {
    /// W, φ'/r and (φ'' − φ'/r)/r², so that K = (φ'/r) I + (…) d dᵀ with d = x − c.
    fn profile(&self, mass: f64, d: &Vec3) -> (f64, f64, f64) {
        match self.law {
            Attraction::Inverse { mu, softening } => {
                let s2 = d.norm_squared() + softening * softening;
                let inv = 1.0 / s2.sqrt();
                let strength = mu * mass * inv;
                (-strength, strength / s2, -3.0 * strength / (s2 * s2))
            }
            Attraction::Spring { stiffness } => (0.5 * stiffness * d.norm_squared(), stiffness, 0.0),
        }
    }

    fn stiffness(&self, p: &Points, i: usize) -> Mat3 {
        let d = p.position(i) - self.center;
        let (_, derivative, curve) = self.profile(p.mass[i], &d);
        Mat3::identity() * derivative + outer(&d, &d) * curve
    }
}

impl Force for Attractor {
    fn kind(&self) -> &'static str {
        "attractor"
    }

    fn energy(&self, p: &Points) -> f64 {
        let one = |i: usize| self.profile(p.mass[i], &(p.position(i) - self.center)).0;
        self.on.within(p.first, p.len()).flatten().map(one).sum()
    }

    fn add_force(&self, p: &Points, f: &mut [f64]) {
        for i in self.on.within(p.first, p.len()).flatten() {
            let d = p.position(i) - self.center;
            let (_, derivative, _) = self.profile(p.mass[i], &d);
            add_triple(f, i, &(-derivative * d));
        }
    }

    fn add_stiffness_times(&self, p: &Points, dx: &[f64], df: &mut [f64]) {
        for i in self.on.within(p.first, p.len()).flatten() {
            add_triple(df, i, &(self.stiffness(p, i) * triple(dx, i)));
        }
    }

    fn add_stiffness_blocks(&self, p: &Points, out: &mut Blocks) {
        for i in self.on.within(p.first, p.len()).flatten() {
            out.add(p.first + i, p.first + i, self.stiffness(p, i));
        }
    }

    fn is_local(&self) -> bool {
        true
    }
}
