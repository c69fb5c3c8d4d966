//! Multipliers of contact, kept from step to step.

use crate::collide::Kind;

/// The normal force of a pair of primitives, with which the next step begins.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Multiplier {
    /// Bodies of the [`ContactModel`](crate::model::ContactModel), the lower number first; a half-plane is `u32::MAX`.
    pub bodies: [u32; 2],
    /// What touches what.
    pub kind: Kind,
    /// Numbers of the two primitives.
    pub pair: [u32; 2],
    /// Normal force λ \[N\], ≥ 0.
    pub lambda: f64,
    /// Factor by which its penalty has grown, ≥ 1.
    pub growth: f64,
}

const KINDS: [Kind; 5] =
    [Kind::VertexTriangle, Kind::EdgeEdge, Kind::VertexEdge, Kind::VertexVertex, Kind::VertexPlane];

impl Multiplier {
    /// Numbers of a packed one.
    pub(super) const NUMBERS: usize = 7;

    /// What names it; lists are sorted by this, as contacts are.
    pub(crate) fn key(&self) -> ([u32; 2], Kind, [u32; 2]) {
        (self.bodies, self.kind, self.pair)
    }

    pub(super) fn pack(&self, out: &mut Vec<f64>) {
        let kind = KINDS.iter().position(|k| *k == self.kind).unwrap_or(0);
        out.extend(self.bodies.map(f64::from));
        out.push(kind as f64);
        out.extend(self.pair.map(f64::from));
        out.extend([self.lambda, self.growth]);
    }

    pub(super) fn unpack(n: &[f64; Self::NUMBERS]) -> Self {
        let sound = |x: f64, least: f64| if x.is_finite() { x.max(least) } else { least };
        Self {
            bodies: [n[0] as u32, n[1] as u32],
            kind: KINDS[(n[2] as usize).min(KINDS.len() - 1)],
            pair: [n[3] as u32, n[4] as u32],
            lambda: sound(n[5], 0.0),
            growth: sound(n[6], 1.0),
        }
    }
}
