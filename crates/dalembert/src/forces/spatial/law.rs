//! Pair potentials φ(r) with their first and second derivatives.

use std::sync::Arc;

/// Energy of a pair of points as a function of their distance r.
#[derive(Clone)]
pub enum PairLaw {
    /// $\varphi = 4\epsilon\,[(\sigma/r)^{12} - (\sigma/r)^6]$.
    LennardJones {
        /// Depth ε of the well \[J\].
        epsilon: f64,
        /// Distance σ at which φ = 0 \[m\].
        sigma: f64,
    },
    /// $\varphi = \tfrac12 k (R - r)^2$ for r < R: soft balls of diameter R.
    SoftRepulsion {
        /// Stiffness k \[N/m\].
        stiffness: f64,
        /// Diameter R \[m\].
        diameter: f64,
    },
    /// $\varphi = -G m_i m_j/\sqrt{r^2 + s^2}$.
    Gravitation {
        /// Gravitational constant G \[m³/(kg·s²)\].
        constant: f64,
        /// Softening length s \[m\], ≥ 0.
        softening: f64,
    },
    /// A law written by the user: r ↦ (φ, φ', φ'').
    Custom(Arc<dyn Fn(f64) -> (f64, f64, f64) + Send + Sync>),
}

impl std::fmt::Debug for PairLaw {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            PairLaw::LennardJones { epsilon, sigma } => {
                write!(f, "LennardJones {{ epsilon: {epsilon}, sigma: {sigma} }}")
            }
            PairLaw::SoftRepulsion { stiffness, diameter } => {
                write!(f, "SoftRepulsion {{ stiffness: {stiffness}, diameter: {diameter} }}")
            }
            PairLaw::Gravitation { constant, softening } => {
                write!(f, "Gravitation {{ constant: {constant}, softening: {softening} }}")
            }
            PairLaw::Custom(_) => write!(f, "Custom(..)"),
        }
    }
}

impl PairLaw {
    /// φ, φ'/r and φ'' at distance r > 0, for masses with the product `mm` \[kg²\].
    #[inline(always)]
    pub fn profile(&self, r: f64, mm: f64) -> (f64, f64, f64) {
        match self {
            PairLaw::LennardJones { epsilon, sigma } => {
                let i2 = 1.0 / (r * r);
                let s6 = (sigma * sigma * i2).powi(3);
                let e = 4.0 * epsilon * s6;
                (e * (s6 - 1.0), e * (6.0 - 12.0 * s6) * i2, e * (156.0 * s6 - 42.0) * i2)
            }
            PairLaw::SoftRepulsion { stiffness, diameter } => {
                let overlap = diameter - r;
                if overlap <= 0.0 {
                    return (0.0, 0.0, 0.0);
                }
                (0.5 * stiffness * overlap * overlap, -stiffness * overlap / r, *stiffness)
            }
            PairLaw::Gravitation { constant, softening } => {
                let s2 = r * r + softening * softening;
                let phi = -constant * mm / s2.sqrt();
                let derivative = -phi / s2;
                (phi, derivative, derivative * (1.0 - 3.0 * r * r / s2))
            }
            PairLaw::Custom(law) => {
                let (phi, first, second) = law(r);
                (phi, first / r, second)
            }
        }
    }
}
