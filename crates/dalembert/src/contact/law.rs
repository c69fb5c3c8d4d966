//! What may touch what under the method `impulse`: shapes on bodies, and how each pair touches.

use super::softness::{Compliance, GeomSoftness, compliance};
use crate::collide::rigid::Collider;
use crate::math::Vec3;

/// What owns colliders: number i of the poses that collision detection sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColliderOwner {
    /// A rigid body.
    Rigid(u32),
    /// A particle.
    Particle(u32),
    /// A link of a robot.
    Link {
        /// Number of the robot.
        robot: u32,
        /// Number of the link in its tree.
        link: u32,
    },
}

/// What a collider brings to its contacts; `None` leaves it to the other side, or to the settings of the method.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Material {
    /// Coefficient of friction μ.
    pub friction: Option<f64>,
    /// Coefficient of restitution.
    pub restitution: Option<f64>,
    /// Friction against turning about the normal \[m\].
    pub torsional_friction: Option<f64>,
    /// Friction against rolling \[m\].
    pub rolling_friction: Option<f64>,
    /// How soft it is; `None` for hard.
    pub compliance: Option<Compliance>,
    /// How soft a geom of a robot is in the words of its file: two of them mix.
    pub softness: Option<GeomSoftness>,
    /// Contact dimension of a geom of a robot: 1 without friction, 3 sliding, 4 and torsional, 6 and rolling. Of two the
    /// larger counts.
    pub dimension: Option<u8>,
    /// The side with the higher priority decides alone; at equal priority the larger coefficient counts.
    pub priority: i32,
    /// Bits of contact that it makes, and that it takes: two touch if the type of one and the affinity of the other share
    /// a bit.
    pub kinds: [u32; 2],
    /// Row of the table of rules.
    pub class: u32,
    /// Velocity of the surface beside that of its body, for belts \[m/s\], world axes.
    pub belt: Vec3,
}

/// How two things touch.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ContactLaw {
    /// False if they pass through each other.
    pub enabled: bool,
    /// Coefficient of friction μ.
    pub friction: f64,
    /// Coefficient of restitution.
    pub restitution: f64,
    /// Friction against turning about the normal \[m\].
    pub torsional_friction: f64,
    /// Friction against rolling \[m\].
    pub rolling_friction: f64,
    /// How soft they are; `None` for hard.
    pub compliance: Option<Compliance>,
}

/// What the rules of a scene say about two classes; `None` leaves it to the materials.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct PairRule {
    /// True if they pass through each other.
    pub off: bool,
    /// Coefficient of friction μ.
    pub friction: Option<f64>,
    /// Coefficient of restitution.
    pub restitution: Option<f64>,
    /// Friction against turning about the normal \[m\].
    pub torsional_friction: Option<f64>,
    /// Friction against rolling \[m\].
    pub rolling_friction: Option<f64>,
    /// How soft they are.
    pub compliance: Option<Compliance>,
    /// True if they are hard, whatever the materials say.
    pub hard: bool,
}

/// Shapes, bodies and rules of contact under `impulse`.
#[derive(Debug, Clone, Default)]
pub struct RigidContactModel {
    /// All shapes; `body` counts over `owners`.
    pub colliders: Vec<Collider>,
    /// What moves them.
    pub owners: Vec<ColliderOwner>,
    /// Which owners are fixed to the world: they carry colliders but never move.
    pub held: Vec<bool>,
    /// For each collider: the number of its name.
    pub name_of: Vec<u32>,
    /// Names of bodies, grounds, robots' links (`robot/link`).
    pub names: Vec<String>,
    /// Pairs of owners that never touch, and of an owner with the world, in the numbers of `Collider::body`.
    pub excluded: Vec<(u32, u32)>,
    /// By `Collider::material`.
    pub materials: Vec<Material>,
    /// Number of classes.
    pub classes: usize,
    /// By pairs of classes, row by row.
    pub rules: Vec<PairRule>,
    /// What descriptions of robots say about pairs of colliders, smaller number first, sorted.
    pub pairs: Vec<((u32, u32), PairRule)>,
    /// What holds where neither rules nor materials say anything.
    pub friction: f64,
    /// The same.
    pub restitution: f64,
    /// A length that is small beside every shape \[m\].
    pub length: f64,
}

fn combined(a: Option<f64>, b: Option<f64>, [pa, pb]: [i32; 2]) -> Option<f64> {
    match (a, b) {
        (Some(a), Some(b)) if pa == pb => Some(a.max(b)),
        (Some(a), Some(_)) if pa > pb => Some(a),
        (a, b) => b.or(a),
    }
}

impl RigidContactModel {
    /// How two colliders touch: rules first, then pairs of a robot's description, then materials, then settings.
    pub fn law(&self, a: u32, b: u32) -> ContactLaw {
        let said =
            self.pairs.binary_search_by_key(&(a.min(b), a.max(b)), |p| p.0).ok().map(|i| self.pairs[i].1);
        let [a, b] = [a, b].map(|i| &self.materials[self.colliders[i as usize].material as usize]);
        self.law_between(a, b, said)
    }

    /// The same for two materials, and what a description says about the pair.
    pub(crate) fn law_between(&self, a: &Material, b: &Material, said: Option<PairRule>) -> ContactLaw {
        let rule = &self.rules[a.class as usize * self.classes + b.class as usize];
        let p = [a.priority, b.priority];
        let meet = a.kinds[0] & b.kinds[1] != 0 || b.kinds[0] & a.kinds[1] != 0;
        let pick = |rule: Option<f64>, said: Option<f64>, x: Option<f64>, y: Option<f64>| {
            rule.or(said).or_else(|| combined(x, y, p))
        };
        let meet = meet || said.is_some();
        let said = said.unwrap_or_default();
        let soft = if rule.hard || (said.hard && rule.compliance.is_none()) { None } else { softer(a, b) };
        // Of two geoms one dimension counts; beside anything else a geom keeps its own.
        let both = match (a.dimension, b.dimension) {
            (Some(x), Some(y)) if p[0] == p[1] => Some(x.max(y)),
            (Some(x), Some(y)) => Some(if p[0] > p[1] { x } else { y }),
            _ => None,
        };
        let cut = |m: &Material, value: Option<f64>, least: u8| match both.or(m.dimension) {
            Some(d) if d < least => value.map(|_| 0.0),
            _ => value,
        };
        let [sliding, torsional, rolling] = [
            (a.friction, b.friction, 3),
            (a.torsional_friction, b.torsional_friction, 4),
            (a.rolling_friction, b.rolling_friction, 6),
        ]
        .map(|(x, y, least)| [cut(a, x, least), cut(b, y, least)]);
        ContactLaw {
            enabled: meet && !rule.off,
            friction: pick(rule.friction, said.friction, sliding[0], sliding[1]).unwrap_or(self.friction),
            restitution: pick(rule.restitution, said.restitution, a.restitution, b.restitution)
                .unwrap_or(self.restitution),
            torsional_friction: pick(
                rule.torsional_friction,
                said.torsional_friction,
                torsional[0],
                torsional[1],
            )
            .unwrap_or(0.0),
            rolling_friction: pick(rule.rolling_friction, said.rolling_friction, rolling[0], rolling[1])
                .unwrap_or(0.0),
            compliance: rule.compliance.or(said.compliance).or(soft),
        }
    }

    /// Velocity of the surface of a collider beside that of its body \[m/s\].
    pub(crate) fn belt(&self, collider: u32) -> Vec3 {
        self.materials[self.colliders[collider as usize].material as usize].belt
    }
}

/// How soft two sides are together.
fn softer(a: &Material, b: &Material) -> Option<Compliance> {
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
    use crate::bodies::articulated::description::ContactSoftness;

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
