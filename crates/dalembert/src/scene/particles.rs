//! Sets of particles: where they lie, what they weigh, how they start.

use super::Arrangement;
use super::diagnostics::Diagnostics;
use super::keys::*;
use crate::describe::Value;
use crate::describe::short::*;
use crate::describe::{
    Field, Findings, Forms, Item, Key, Kind, Literal, Node, Rule, Table, View, fields, table,
};
use crate::math::Vec3;

/// Masses of the particles of a set.
#[derive(Debug, Clone, PartialEq)]
pub enum Masses {
    /// The same for each \[kg\].
    Each(f64),
    /// Given one by one \[kg\].
    List(Vec<f64>),
    /// Divided evenly \[kg\].
    Total(f64),
}

/// Keys of masses.
const MASSES: &[Field] = &[
    Field::new(
        "mass",
        Kind::Either(&[POSITIVE, list(&POSITIVE, 1, usize::MAX)]),
        number(1.0),
        "kg",
        "Mass of each particle, or a list with one mass for each.",
    ),
    Field::optional("total_mass", POSITIVE, "kg", "Mass of the whole set, divided evenly."),
];

impl Key for Masses {
    fn read(t: &View<'_>, _: &'static str, _: &mut Findings) -> Option<Self> {
        let is_list = matches!(t.node("mass").map(|node| &node.value), Some(Value::List(_)));
        Some(match t.maybe_number("total_mass") {
            Some(total) => Self::Total(total),
            None if is_list => Self::List(t.numbers("mass")),
            None => Self::Each(t.number("mass")),
        })
    }

    fn preset(_: &'static Table, _: &str) -> Self {
        Self::Each(1.0)
    }
}

/// Velocities of the particles of a set.
#[derive(Debug, Clone, PartialEq)]
pub enum Velocities {
    /// The same for each \[m/s\].
    Each(Vec3),
    /// Given one by one \[m/s\].
    List(Vec<Vec3>),
}

impl Item for Velocities {
    fn of(node: &Node) -> Option<Self> {
        match (Vec3::of(node), &node.value) {
            (Some(each), _) => Some(Self::Each(each)),
            (None, Value::List(items)) => Some(Self::List(items.iter().filter_map(Vec3::of).collect())),
            _ => None,
        }
    }

    fn of_literal(literal: &Literal) -> Option<Self> {
        Vec3::of_literal(literal).map(Self::Each)
    }

    fn empty() -> Self {
        Self::Each(Vec3::zeros())
    }
}

/// Keys of where the particles of a set lie.
const ARRANGEMENT: &[Field] = fields![
    &[Field::optional("positions", PLACES, "m", "Where the particles lie, one by one.")],
    Arrangement::FORMS,
];

impl Key for Arrangement {
    fn read(t: &View<'_>, _: &'static str, out: &mut Findings) -> Option<Self> {
        if t.has("positions") {
            return Some(Self::Positions(t.vec3s("positions").into_iter().map(Vec3::from).collect()));
        }
        Self::form(t, out).unwrap_or_else(|| Some(Self::default()))
    }

    fn preset(_: &'static Table, _: &str) -> Self {
        Self::default()
    }
}

table! {
    /// A named set of particles. Without an arrangement it is a single particle at `position`.
    #[derive(Debug, Clone, PartialEq)]
    pub struct ParticleSet: "particles" {
        /// Name, unique in the scene.
        name: String = &[NAME];
        /// Where they lie.
        arrangement: Arrangement = ARRANGEMENT;
        /// Added to every position.
        position: Vec3 = ORIGIN, VEC3, "m";
        /// Masses.
        mass: Masses = MASSES;
        /// Velocity of each particle at the start, or a list with one velocity for each.
        velocity: Velocities = ORIGIN, Kind::Either(&[Kind::VEC3, PLACES]), "m/s";
        /// Radius with which each touches rigid bodies, robots and grounds under `impulse`; without one they pass
        /// through. Particles do not touch each other.
        radius: Option<f64> = OPTIONAL, NOT_NEGATIVE, "m";
    }
    rules [
        Rule::AtMostOne(&["positions", "chain", "grid", "cloth", "cloud"]),
        Rule::AtMostOne(&["mass", "total_mass"]),]
}

impl ParticleSet {
    /// A set with the given arrangement; 1 kg each, at rest.
    pub fn new(name: impl Into<String>, arrangement: Arrangement) -> Self {
        Self { name: name.into(), arrangement, ..Self::default() }
    }

    /// One particle of 1 kg at rest.
    pub fn at(name: impl Into<String>, position: [f64; 3]) -> Self {
        Self { name: name.into(), position: position.into(), ..Self::default() }
    }

    /// Sets the mass of each particle \[kg\].
    pub fn mass(mut self, each: f64) -> Self {
        self.mass = Masses::Each(each);
        self
    }

    /// Sets the velocity of each particle \[m/s\].
    pub fn velocity(mut self, each: [f64; 3]) -> Self {
        self.velocity = Velocities::Each(each.into());
        self
    }

    /// Lets each touch rigid bodies, robots and grounds under `impulse` with this radius \[m\].
    pub fn radius(mut self, radius: f64) -> Self {
        self.radius = Some(radius);
        self
    }

    /// Moves the whole set \[m\].
    pub fn position(mut self, position: [f64; 3]) -> Self {
        self.position = position.into();
        self
    }
}

/// The key that gives an arrangement.
pub(super) fn arrangement_key(a: &Arrangement) -> &'static str {
    match a {
        Arrangement::Positions(_) => "positions",
        Arrangement::Chain { .. } => "chain",
        Arrangement::Grid { .. } => "grid",
        Arrangement::Cloth { .. } => "cloth",
        Arrangement::Cloud { .. } => "cloud",
    }
}

/// Adds the masses of the n particles of a set.
pub(super) fn set_masses(set: &ParticleSet, n: usize, notes: &mut Diagnostics, masses: &mut Vec<f64>) {
    let first = masses.len();
    let key = if matches!(set.mass, Masses::Total(_)) { "total_mass" } else { "mass" };
    match &set.mass {
        Masses::Each(m) => {
            if notes.positive(key, *m) {
                masses.resize(first + n, *m);
            }
        }
        Masses::Total(m) => {
            if notes.positive(key, *m) {
                masses.resize(first + n, *m / n as f64);
            }
        }
        Masses::List(list) => {
            if list.len() != n {
                notes.error(key, format!("{} masses stand against {n} particles", list.len()));
            } else if let Some(i) = list.iter().position(|m| !(m.is_finite() && *m > 0.0)) {
                notes.error(key, format!("mass {i} must be greater than zero, but is {}", list[i]));
            } else {
                masses.extend(list);
            }
        }
    }
    if masses[first..].iter().any(|m| !(1.0 / m).is_finite()) {
        notes.error(key, "is too small to divide by");
    }
    masses.resize(first + n, 1.0);
}
