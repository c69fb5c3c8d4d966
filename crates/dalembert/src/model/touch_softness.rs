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

use super::touch::{Compliance, Material};
use crate::bodies::articulated::robot::ContactSoftness;

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
    fn mixed(&self, other: &Self) -> ContactSoftness {
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

/// How soft two sides are together.
pub(super) fn softer(a: &Material, b: &Material) -> Option<Compliance> {
    match (a.softness, b.softness) {
        (Some(x), Some(y)) if !x.given && !y.given => None,
        (Some(x), Some(y)) if a.priority == b.priority => compliance(&x.mixed(&y)),
        (Some(x), Some(y)) => compliance(if a.priority > b.priority { &x.softness } else { &y.softness }),
        (x, y) => {
            let own = |m: &Material, s: Option<GeomSoftness>| {
                m.compliance.or_else(|| s.filter(|s| s.given).and_then(|s| compliance(&s.softness)))
            };
            match (own(a, x), own(b, y)) {
                (Some(_), Some(y)) if b.priority > a.priority => Some(y),
                (x, y) => x.or(y),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn soft(solref: [f64; 2], d: f64, weight: f64) -> GeomSoftness {
        GeomSoftness::new(ContactSoftness { solref, solimp: [0.9, d, 0.001, 0.5, 2.0] }, weight)
    }

    fn side(softness: GeomSoftness, priority: i32) -> Material {
        Material { softness: Some(softness), priority, ..Material::default() }
    }

    #[test]
    fn geoms_mix_by_weight_and_priority() {
        // t = 0.04 and 0.02 with the weights 3 and 1: 0.035. d = 0.9 and 0.95: 0.9125. ζ = 1.
        let (a, b) = (soft([0.04, 1.0], 0.9, 3.0), soft([0.02, 1.0], 0.95, 1.0));
        let (t, d): (f64, f64) = (0.035, 0.9125);
        let scale = d / (1.0 - d);
        let Some(Compliance::PerMass { k, b: damping }) = softer(&side(a, 0), &side(b, 0)) else {
            panic!("hard")
        };
        assert!((k * (d * t).powi(2) / scale - 1.0).abs() < 1e-12, "{k}");
        assert!((damping * d * t / (2.0 * scale) - 1.0).abs() < 1e-12, "{damping}");
        // Priority: one of them alone; b is the default, so it is hard.
        assert_eq!(softer(&side(a, 0), &side(b, 1)), None);
        assert_eq!(softer(&side(a, 1), &side(b, 0)), compliance(&a.softness));
        // Direct format: the smaller numbers.
        let direct = soft([-900.0, -30.0], 0.95, 1.0);
        let mixed = direct.mixed(&a);
        assert_eq!(mixed.solref, [-900.0, -30.0]);
        assert!((mixed.solimp[1] - (0.95 + 3.0 * 0.9) / 4.0).abs() < 1e-15);
    }
}
