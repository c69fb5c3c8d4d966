//! Scalar laws of contact: log barrier, mollifier of parallel edges, smoothed Coulomb friction.

/// b(g) = −(g − ĝ)² ln(g/ĝ) for 0 < g < ĝ, zero beyond \[m²\]; g is the distance less the radii.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LogBarrier {
    /// ĝ: the gap at which the barrier begins \[m\].
    pub gap_max: f64,
}

impl LogBarrier {
    /// b, b′, b″ at gap `g` \[m², m, 1\]. At g ≤ 0 the value is +∞.
    pub fn at(&self, g: f64) -> [f64; 3] {
        let _ = g;
        unimplemented!()
    }
}

/// Smoothed Coulomb friction: f₁ rises from 0 to 1 as the slip grows from 0 to `slip_max`, and f₀ is its integral.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FrictionLaw {
    /// Slip ε h at which the full friction force is reached \[m\].
    pub slip_max: f64,
}

impl FrictionLaw {
    /// f₀ \[m\], f₁ = f₀′ \[1\], f₁/y and f₂ = f₁′ \[1/m\] at the slip y ≥ 0 \[m\].
    pub fn at(&self, y: f64) -> [f64; 4] {
        let _ = y;
        unimplemented!()
    }
}
