//! Softness of robots' geoms in the words of MJCF, as a spring and damper per effective mass.
//!
//! Contacts are hard unless `solref` or `solimp` differ from their defaults. Then, with d the impedance at full width
//! (`solimp`\[1\]) and (t, ζ) = `solref`,
//!
//! $$ k = \frac{1}{d^2 t^2 \zeta^2}\,\frac{d}{1-d}, \qquad b = \frac{2}{d\,t}\,\frac{d}{1-d}, $$
//!
//! or $k = -s_0/d^2\cdot d/(1-d)$, $b = -s_1/d\cdot d/(1-d)$ for a negative `solref` (s₀, s₁): the forces that MuJoCo's soft
//! constraint $a + R f = -b'v - k'r$ with $R = (1-d)/(d\,m)$ has at a = 0.
//!
//! Two geoms: the one of higher priority decides; at equal priority both mix with the weights `solmix`,
//! $w = m_a/(m_a + m_b)$, one half where both are zero: `solimp` and positive `solref` are means, of `solref` in direct
//! format (negative) the smaller number counts (MuJoCo's documentation, "Contact parameters").

use crate::bodies::articulated::description::ContactSoftness;

/// A spring and damper along the normal.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Compliance {
    /// Given in SI units.
    Gains {
        /// Stiffness kp \[N/m\].
        kp: f64,
        /// Damping kd \[N·s/m\].
        kd: f64,
    },
    /// Given per unit of the effective mass at the contact: kp = m_eff k, kd = m_eff b.
    PerMass {
        /// k \[1/s²\].
        k: f64,
        /// b \[1/s\].
        b: f64,
    },
}

/// How soft a geom is, and the weight of that in a mean.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GeomSoftness {
    /// `solref` and `solimp`.
    pub softness: ContactSoftness,
    /// `solmix`, ≥ 0.
    pub weight: f64,
    /// False if `softness` is the default.
    pub given: bool,
}

impl GeomSoftness {
    /// Of a geom with `solmix` = `weight`.
    pub fn new(softness: ContactSoftness, weight: f64) -> Self {
        Self { softness, weight: weight.max(0.0), given: softness != ContactSoftness::default() }
    }

    /// What two geoms of the same priority have together.
    pub(super) fn mixed(&self, other: &Self) -> ContactSoftness {
        let sum = self.weight + other.weight;
        let w = if sum > 1e-15 { self.weight / sum } else { 0.5 };
        let (a, b) = (&self.softness, &other.softness);
        let mean = |x: f64, y: f64| w * x + (1.0 - w) * y;
        let direct = a.solref[0] <= 0.0 || b.solref[0] <= 0.0;
        ContactSoftness {
            solref: std::array::from_fn(|k| {
                let (x, y) = (a.solref[k], b.solref[k]);
                if direct { x.min(y) } else { mean(x, y) }
            }),
            solimp: std::array::from_fn(|k| mean(a.solimp[k], b.solimp[k])),
        }
    }
}

/// The spring and damper of a softness that is not the default; `None` for hard.
pub(crate) fn compliance(softness: &ContactSoftness) -> Option<Compliance> {
    if *softness == ContactSoftness::default() {
        return None;
    }
    let d = softness.solimp[1].clamp(1e-4, 0.9999);
    let [s0, s1] = softness.solref;
    let (k, b) = if s0 > 0.0 && s1 > 0.0 {
        (1.0 / (d * d * s0 * s0 * s1 * s1), 2.0 / (d * s0))
    } else {
        (-s0.min(0.0) / (d * d), -s1.min(0.0) / d)
    };
    let scale = d / (1.0 - d);
    (k > 0.0 && k.is_finite() && b.is_finite()).then_some(Compliance::PerMass { k: scale * k, b: scale * b })
}
