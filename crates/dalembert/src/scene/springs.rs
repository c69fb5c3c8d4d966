//! Springs between two points, and angular springs over three.

use super::diagnostics::Diagnostics;
use super::forces::{ForceBuilder, MakeForce};
use super::keys::*;
use super::layout::{Points, describe};
use super::{Arrangement, Edges, ParticleSet};
use crate::describe::short::*;
use crate::describe::{Findings, Kind, Range, Rule, TableKey, View, Words, table, words};
use crate::forces::nary::{AngularSpring, AngularSprings, Spring, Springs};
use crate::state::PointId;

words! {
    for Edges {
        /// Nearest neighbours along the lines of the arrangement.
        Structural = "structural",
        /// Diagonals of the squares of a grid or cloth.
        Shear = "shear",
        /// Every other neighbour along the lines: resists bending.
        Bend = "bend",
    }
}

table! {
    /// Springs between the neighbours of a set, between given pairs of points, or both.
    #[derive(Debug, Clone, PartialEq)]
    pub struct SpringSet: "springs" {
        /// Name, for energies by term.
        name: String = &[FORCE_NAME];
        /// Set of particles whose neighbours are joined.
        along: Option<String> = OPTIONAL, Kind::Text, "";
        /// Which neighbours `along` the set are joined. A list makes one set of springs for each word, called
        /// NAME_structural, NAME_shear and NAME_bend.
        edges: Edges = word("structural"), Kind::Either(&[Edges::KIND, list(&Edges::KIND, 1, 3)]), "";
        /// Pairs of points, such as `[["hook", "rope[0]"]]`.
        pairs: Vec<[String; 2]> = OPTIONAL, list(&TWO_TEXTS, 1, usize::MAX), "";
        /// Stiffness of each spring.
        stiffness: f64 = number(0.0), NOT_NEGATIVE, "N/m";
        /// Damping of each spring along its direction.
        damping: f64 = number(0.0), NOT_NEGATIVE, "N·s/m";
        /// Length without force; the length at the start if absent.
        rest_length: Option<f64> = OPTIONAL, NOT_NEGATIVE, "m";
    }
    rules [Rule::AtLeastOne(&["along", "pairs"]), Rule::AtLeastOne(&["stiffness", "damping"])]
    check only_with_along
    all one_for_each_word
}

impl SpringSet {
    /// One spring between two points.
    pub fn between(name: impl Into<String>, a: impl Into<String>, b: impl Into<String>) -> Self {
        Self { name: name.into(), pairs: vec![[a.into(), b.into()]], ..Self::default() }
    }

    /// Springs between the neighbours of a set.
    pub fn along(name: impl Into<String>, set: impl Into<String>, edges: Edges) -> Self {
        Self { name: name.into(), along: Some(set.into()), edges, ..Self::default() }
    }

    /// Sets the stiffness \[N/m\].
    pub fn stiffness(mut self, k: f64) -> Self {
        self.stiffness = k;
        self
    }

    /// Sets the damping \[N·s/m\].
    pub fn damping(mut self, c: f64) -> Self {
        self.damping = c;
        self
    }

    /// Sets the rest length \[m\].
    pub fn rest_length(mut self, length: f64) -> Self {
        self.rest_length = Some(length);
        self
    }
}

fn only_with_along(t: &View<'_>, out: &mut Findings) {
    if t.has("edges") && !t.has("along") {
        out.error(t.key_span("edges"), "`edges` has no meaning without `along`");
    }
}

/// One set for each word of `edges`; pairs go with the first.
fn one_for_each_word(tables: Vec<View<'_>>, out: &mut Findings) -> Vec<SpringSet> {
    let mut all = Vec::new();
    for t in &tables {
        let Some(set) = SpringSet::from_table(t, out) else { continue };
        let words = t.texts("edges");
        for (i, word) in words.iter().enumerate() {
            if words[..i].contains(word) {
                out.error(t.item_span("edges", i), format!("`{word}` stands twice in `edges`"));
            }
            let name = match (words.len(), set.name.as_str()) {
                (1, _) => set.name.clone(),
                (_, "") => format!("springs_{word}"),
                (_, base) => format!("{base}_{word}"),
            };
            let edges = Edges::ALL.iter().find(|(known, _)| known == word).map_or(set.edges, |(_, e)| *e);
            let pairs = if i == 0 { set.pairs.clone() } else { Vec::new() };
            all.push(SpringSet { name, edges, pairs, ..set.clone() });
        }
    }
    all
}

table! {
    /// Springs that resist a change of the angle at a point, along the lines of a set or over given triples.
    #[derive(Debug, Clone, PartialEq)]
    pub struct AngularSpringSet: "angular_springs" {
        /// Name, for energies by term.
        name: String = &[FORCE_NAME];
        /// Set of particles along whose lines they lie.
        along: Option<String> = OPTIONAL, Kind::Text, "";
        /// Triples of points, the one at the angle second.
        triples: Vec<[String; 3]> = OPTIONAL, list(&Kind::List { item: &Kind::Text, min: 3, max: 3 }, 1, usize::MAX), "";
        /// Stiffness of each.
        stiffness: f64 = REQUIRED, NOT_NEGATIVE, "N·m/rad";
        /// Angle without force, 0 to π; the angle at the start if absent.
        rest_angle: Option<f64> = OPTIONAL, Kind::Number(Range::between(0.0, std::f64::consts::PI)), "rad";
    }
    rules [Rule::AtLeastOne(&["along", "triples"])]
}

impl MakeForce for SpringSet {
    fn name(&self) -> &str {
        &self.name
    }

    fn acts_at(&self) -> Vec<&String> {
        self.pairs.as_flattened().iter().collect()
    }

    fn make(&self, at: &mut ForceBuilder<'_>) {
        let springs = springs(self, at.sets, at.points, at.notes);
        at.add("springs", &self.name, Box::new(Springs::new(springs)));
    }
}

impl MakeForce for AngularSpringSet {
    fn name(&self) -> &str {
        &self.name
    }

    fn acts_at(&self) -> Vec<&String> {
        self.triples.as_flattened().iter().collect()
    }

    fn make(&self, at: &mut ForceBuilder<'_>) {
        let springs = angular_springs(self, at.sets, at.points, at.notes);
        at.add("angular_springs", &self.name, Box::new(AngularSprings { springs }));
    }
}

/// Neighbours of a set by `along`, as global point numbers: one tuple for each of the `edges`.
fn along<const K: usize>(
    name: &str,
    sets: &[ParticleSet],
    points: &Points,
    notes: &mut Diagnostics,
    edges: Edges,
    tuples: impl Fn(&Arrangement) -> Vec<[usize; K]>,
) -> Vec<[PointId; K]> {
    let place = points.names.sets.get(name).map(|(place, _)| *place);
    let Some(k) = place.filter(|&k| k < sets.len()) else {
        let full = notes.is_full();
        let known = if full { Vec::new() } else { sets.iter().map(|s| s.name.clone()).collect() };
        let message = format!("names `{name}`, which is no set of particles of the scene");
        notes.misspelt("along", message, Some((name.to_string(), known)));
        return Vec::new();
    };
    if !notes.room_for("along", sets[k].arrangement.edge_count(edges)) {
        return Vec::new();
    }
    let first = points.blocks[k].points.start;
    let out = tuples(&sets[k].arrangement);
    if out.is_empty() {
        notes.error("along", format!("`{name}` has no such neighbours"));
    }
    out.into_iter().map(|t| t.map(|i| PointId((first + i) as u32))).collect()
}

fn springs(set: &SpringSet, sets: &[ParticleSet], points: &Points, notes: &mut Diagnostics) -> Vec<Spring> {
    notes.not_negative("stiffness", set.stiffness);
    notes.not_negative("damping", set.damping);
    if let Some(length) = set.rest_length {
        notes.not_negative("rest_length", length);
    }
    let mut ends = match &set.along {
        Some(name) => along(name, sets, points, notes, set.edges, |a| a.edges(set.edges)),
        None => Vec::new(),
    };
    let neighbours = ends.len();
    notes.room_for("pairs", set.pairs.len());
    for [a, b] in &set.pairs {
        let one = |text: &String, notes: &mut Diagnostics| {
            points.names.one(notes, "pairs", &points.names.pushed(text))
        };
        let (a, b) = (one(a, notes), one(b, notes));
        ends.extend(a.zip(b).map(|(a, b)| [a, b]));
    }
    if set.along.is_none() && set.pairs.is_empty() {
        notes.error("", "needs `along` or `pairs`");
    }
    let mut out = Vec::with_capacity(ends.len());
    for (k, ends) in ends.into_iter().enumerate() {
        let [a, b] = ends.map(PointId::index);
        let length = (points.x[b] - points.x[a]).norm();
        let sound = length > 0.0 && length.is_finite();
        if !sound && !notes.is_full() {
            let key = if k < neighbours { "along" } else { "pairs" };
            let (from, to) = (describe(points, a), describe(points, b));
            let message = match a == b {
                true => format!("a spring joins {from} with itself"),
                false if length > 0.0 => {
                    format!("{from} and {to} are too far apart: their distance overflows")
                }
                false => {
                    format!("the spring between {from} and {to} has no length, so its direction is undefined")
                }
            };
            notes.error(key, message);
        }
        let rest_length = set.rest_length.unwrap_or(length);
        out.push(Spring { ends, stiffness: set.stiffness, rest_length, damping: set.damping });
    }
    out
}

fn angular_springs(
    set: &AngularSpringSet,
    sets: &[ParticleSet],
    points: &Points,
    notes: &mut Diagnostics,
) -> Vec<AngularSpring> {
    notes.not_negative("stiffness", set.stiffness);
    if let Some(angle) = set.rest_angle
        && !(0.0..=std::f64::consts::PI).contains(&angle)
    {
        notes.error("rest_angle", format!("must lie between 0 and π, but is {angle}"));
    }
    let mut triples = match &set.along {
        Some(name) => along(name, sets, points, notes, Edges::Bend, Arrangement::corners),
        None => Vec::new(),
    };
    let neighbours = triples.len();
    notes.room_for("triples", set.triples.len());
    for [a, b, c] in &set.triples {
        let ids = [a, b, c].map(|t| points.names.one(notes, "triples", t));
        if let [Some(a), Some(b), Some(c)] = ids {
            triples.push([a, b, c]);
        }
    }
    if set.along.is_none() && set.triples.is_empty() {
        notes.error("", "needs `along` or `triples`");
    }
    let mut out = Vec::with_capacity(triples.len());
    for (k, points3) in triples.into_iter().enumerate() {
        let [a, b, c] = points3.map(|i| points.x[i.index()]);
        let (u, w) = (a - b, c - b);
        let length = u.norm() * w.norm();
        let sound = length > 0.0 && length.is_finite();
        if !sound && !notes.is_full() {
            let key = if k < neighbours { "along" } else { "triples" };
            let middle = describe(points, points3[1].index());
            let what = if length > 0.0 { "is too long to compute with" } else { "has no length" };
            notes.error(key, format!("an arm of the angle at {middle} {what}"));
        }
        // A straight line along a lattice is meant to be straight: rounding must not decide its rest angle.
        let angle = u.cross(&w).norm().atan2(u.dot(&w));
        let straight = std::f64::consts::PI - angle < 1e-7;
        let rest_angle = set.rest_angle.unwrap_or(if straight { std::f64::consts::PI } else { angle });
        out.push(AngularSpring { points: points3, stiffness: set.stiffness, rest_angle });
    }
    out
}
