//! Forces between pairs of points.

use super::forces::{ForceBuilder, MakeForce};
use super::keys::*;
use crate::describe::short::*;
use crate::describe::{Findings, Forms, Key, Rule, Table, View, table, variants};
use crate::forces::Force;
use crate::forces::spatial::{AllPairs, NearPairs, PairLaw};

variants! {
    for PairLaw {
        /// The energy 4ε((σ/r)¹² − (σ/r)⁶) of a pair.
        LennardJones: "lennard_jones", "Molecules.", "lennard_jones" {
            /// Depth ε of the well.
            epsilon: f64 = REQUIRED, NOT_NEGATIVE, "J";
            /// Distance σ at which the energy is zero.
            sigma: f64 = REQUIRED, POSITIVE, "m";
        }
        /// Soft balls: the energy ½·stiffness·(diameter − r)² of a pair nearer than `diameter`.
        SoftRepulsion: "soft_repulsion", "Soft balls.", "soft_repulsion" {
            /// Stiffness.
            stiffness: f64 = REQUIRED, NOT_NEGATIVE, "N/m";
            /// Distance at which the balls touch.
            diameter: f64 = REQUIRED, POSITIVE, "m";
        }
        /// Newton's gravitation: the energy −constant·m·m′/√(r² + softening²) of a pair.
        Gravitation: "gravitation", "Heavy bodies.", "gravitation" {
            /// Gravitational constant; 6.6743e-11 in nature.
            constant: f64 = REQUIRED, NUMBER, "m³/(kg·s²)";
            /// Length below which the force grows no further.
            softening: f64 = number(0.0), NOT_NEGATIVE, "m";
        }
    }
}

/// How far a pair force reaches.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Reach {
    /// Between points nearer than this \[m\]; O(n).
    Within(f64),
    /// Between all pairs; O(n²).
    All,
}

table! {
    /// A force between all points of a selection, or between those that are near each other.
    #[derive(Debug, Clone)]
    pub struct PairForce: "pair_force" {
        /// Name, for energies by term.
        name: String = &[FORCE_NAME];
        /// Points that feel it; all particles if empty.
        on: Vec<String> = &[ON];
        /// Law.
        law: PairLaw = PairLaw::FORMS;
        /// Only pairs nearer than this; the cost is then proportional to the number of points. If absent: 2.5 σ for
        /// `lennard_jones`, the diameter for `soft_repulsion`, all pairs for `gravitation`.
        reach as "radius": Reach = OPTIONAL, POSITIVE, "m";
    }
    rules [Rule::ExactlyOne(&["lennard_jones", "soft_repulsion", "gravitation"])]
}

impl Key for PairLaw {
    fn read(t: &View<'_>, _: &'static str, out: &mut Findings) -> Option<Self> {
        Self::form(t, out).unwrap_or(Some(Self::Gravitation { constant: 0.0, softening: 0.0 }))
    }

    fn preset(_: &'static Table, _: &str) -> Self {
        Self::Gravitation { constant: 0.0, softening: 0.0 }
    }
}

impl Key for Reach {
    fn read(t: &View<'_>, key: &'static str, _: &mut Findings) -> Option<Self> {
        let sigma = t.table("lennard_jones").map(|law| 2.5 * law.number("sigma"));
        let diameter = t.table("soft_repulsion").map(|law| law.number("diameter"));
        Some(t.maybe_number(key).or(sigma).or(diameter).map_or(Self::All, Self::Within))
    }

    fn preset(_: &'static Table, _: &str) -> Self {
        Self::All
    }
}

impl MakeForce for PairForce {
    fn name(&self) -> &str {
        &self.name
    }

    fn acts_at(&self) -> Vec<&String> {
        self.on.iter().collect()
    }

    fn make(&self, at: &mut ForceBuilder<'_>) {
        let on = at.on(&self.on);
        if !at.notes.room_for("on", on.len()) {
            return;
        }
        let on: Vec<u32> = on.iter().map(|i| i as u32).collect();
        if let Some(force) = self.force(on, at) {
            at.add("pair_force", &self.name, force);
        }
    }
}

impl PairForce {
    fn force(&self, on: Vec<u32>, at: &mut ForceBuilder<'_>) -> Option<Box<dyn Force>> {
        let before = at.notes.found;
        match &self.law {
            PairLaw::LennardJones { epsilon, sigma } => {
                at.notes.not_negative("epsilon", *epsilon);
                at.notes.positive("sigma", *sigma);
            }
            PairLaw::SoftRepulsion { stiffness, diameter } => {
                at.notes.not_negative("stiffness", *stiffness);
                at.notes.positive("diameter", *diameter);
            }
            PairLaw::Gravitation { constant, softening } => {
                at.notes.finite("constant", *constant);
                at.notes.not_negative("softening", *softening);
            }
            PairLaw::Custom(_) => {}
        }
        match self.reach {
            Reach::Within(radius) => {
                at.notes.positive("radius", radius);
                (at.notes.found == before)
                    .then(|| Box::new(NearPairs::new(on, self.law.clone(), radius)) as Box<dyn Force>)
            }
            Reach::All => {
                const MOST: usize = 200_000;
                if on.len() > MOST {
                    let n = on.len();
                    at.notes
                        .error("", format!("all pairs of {n} points would take hours a step; give a radius"));
                }
                (at.notes.found == before)
                    .then(|| Box::new(AllPairs { on, law: self.law.clone() }) as Box<dyn Force>)
            }
        }
    }
}
