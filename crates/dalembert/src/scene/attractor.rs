//! Fixed centres of attraction.

use super::forces::{ForceBuilder, MakeForce};
use super::keys::*;
use crate::describe::short::*;
use crate::describe::{Field, Findings, Key, Rule, Table, View, table};
use crate::forces::unary::{Attraction, Attractor};
use crate::math::Vec3;

/// Keys of the law.
const LAW: &[Field] = &[
    Field::optional("mu", NUMBER, "m³/s²", "Gravitational parameter G·M of a heavy body."),
    Field::new(
        "softening",
        NOT_NEGATIVE,
        number(0.0),
        "m",
        "With `mu`: length below which the force grows no further.",
    ),
    Field::optional("stiffness", NUMBER, "N/m", "Stiffness of a spring of no length."),
];

table! {
    /// A fixed centre that attracts: like a heavy body (`mu`) or like a spring of no length (`stiffness`).
    #[derive(Debug, Clone, PartialEq)]
    pub struct AttractorSet: "attractor" {
        /// Name, for energies by term.
        name: String = &[FORCE_NAME];
        /// Points that feel it; all particles if empty.
        on: Vec<String> = &[ON];
        /// Centre.
        center: Vec3 = ORIGIN, VEC3, "m";
        /// Law.
        law: Attraction = LAW;
    }
    rules [Rule::ExactlyOne(&["mu", "stiffness"]), Rule::AtMostOne(&["softening", "stiffness"])]
}

impl Key for Attraction {
    fn read(t: &View<'_>, _: &'static str, _: &mut Findings) -> Option<Self> {
        Some(match t.maybe_number("stiffness") {
            Some(stiffness) => Self::Spring { stiffness },
            None => Self::Inverse {
                mu: t.maybe_number("mu").unwrap_or_default(),
                softening: t.number("softening"),
            },
        })
    }

    fn preset(_: &'static Table, _: &str) -> Self {
        Self::Inverse { mu: 0.0, softening: 0.0 }
    }
}

impl MakeForce for AttractorSet {
    fn name(&self) -> &str {
        &self.name
    }

    fn acts_at(&self) -> Vec<&String> {
        self.on.iter().collect()
    }

    fn make(&self, at: &mut ForceBuilder<'_>) {
        at.notes.finite3("center", &self.center);
        match self.law {
            Attraction::Inverse { mu, softening } => {
                at.notes.finite("mu", mu);
                at.notes.not_negative("softening", softening);
            }
            Attraction::Spring { stiffness } => {
                at.notes.finite("stiffness", stiffness);
            }
        }
        let on = at.on(&self.on);
        if let Attraction::Inverse { softening: 0.0, .. } = self.law
            && let Some(i) = on.iter().find(|&i| at.points.x[i] == self.center)
        {
            at.notes.error(
                "center",
                format!("point {i} lies in the centre, where the force is infinite; give a softening"),
            );
        }
        at.add("attractor", &self.name, Box::new(Attractor { on, center: self.center, law: self.law }));
    }
}
