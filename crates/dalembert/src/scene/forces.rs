//! From tables of the scene to named forces.

use std::collections::{BTreeMap, BTreeSet};

use super::diagnostics::Diagnostics;
use super::layout::Points;
use super::{CustomForce, ParticleSet, RigidBody, Scene};
use crate::forces::Force;
use crate::forces::unary::Gravity;
use crate::math::Vec3;
use crate::model::{NamedForce, Surface};
use crate::state::PointSet;
use crate::step::Method;

/// A table of the scene that makes forces.
pub(super) trait MakeForce {
    /// Its name, or nothing.
    fn name(&self) -> &str;
    /// Texts that name what it acts at; of a rigid body among them the centre of mass becomes a point.
    fn acts_at(&self) -> Vec<&String> {
        Vec::new()
    }
    /// More points that it needs on a rigid body, whose centre of mass is given: what they are called behind the name of the
    /// body, and where they are in its frame \[m\]. Names that users give have no dots.
    fn points_on(&self, _body: &RigidBody, _center: &Vec3) -> Option<(&'static str, Vec<Vec3>)> {
        None
    }
    /// Adds its forces; mistakes are among the diagnostics.
    fn make(&self, at: &mut ForceBuilder<'_>);
}

/// What forces are made from, and those made so far.
pub(super) struct ForceBuilder<'a> {
    pub points: &'a Points,
    /// Sets of particles, the first blocks of points.
    pub sets: &'a [ParticleSet],
    pub surfaces: &'a [Surface],
    pub method: &'a Method,
    pub gravity: Vec3,
    pub notes: &'a mut Diagnostics,
    out: Vec<NamedForce>,
    taken: BTreeSet<String>,
    unnamed: BTreeMap<&'static str, usize>,
}

impl ForceBuilder<'_> {
    /// The points that a force acts at; all particles if none are named.
    pub(super) fn on(&mut self, texts: &[String]) -> PointSet {
        self.points.names.set(self.notes, "on", &self.points.names.all_pushed(texts))
    }

    /// Adds a force; without a name it is called by its kind.
    pub(super) fn add(&mut self, kind: &'static str, name: &str, force: Box<dyn Force>) {
        let mut name = name.to_string();
        let nth = self.unnamed.entry(kind).or_default();
        while name.is_empty() {
            *nth += 1;
            let next = if *nth == 1 { kind.to_string() } else { format!("{kind}{nth}") };
            if !self.taken.contains(&next) {
                name = next;
            }
        }
        if !self.taken.insert(name.clone()) {
            self.notes.error("name", format!("the name `{name}` is taken"));
        }
        self.out.push(NamedForce { name, force });
    }

    /// Forces written in Rust, and those that soft things left behind, with table and entry that they came `from`.
    fn custom(&mut self, sets: Vec<CustomForce>, from: &[(&'static str, usize)]) {
        let own = sets.len() - from.len();
        for (k, set) in sets.into_iter().enumerate() {
            let (table, index) = k.checked_sub(own).map_or(("custom", k), |k| from[k]);
            self.notes.at(table, index, &set.name);
            let names = &self.points.names;
            let list = if set.on.is_empty() {
                (0..names.particles).collect()
            } else {
                names.list(self.notes, "on", &set.on)
            };
            if list.len() > set.most {
                let n = list.len();
                self.notes.error("on", format!("names {n} points; a tuple has at most {}", set.most));
                continue;
            }
            self.add("custom", &set.name, (set.make)(list));
        }
    }
}

/// All forces of a scene, in the order in which they are summed.
pub(super) fn forces(
    mut scene: Scene,
    points: &Points,
    surfaces: &[Surface],
    from: &[(&'static str, usize)],
    notes: &mut Diagnostics,
) -> Vec<NamedForce> {
    let custom = std::mem::take(&mut scene.custom);
    let mut at = ForceBuilder {
        points,
        sets: &scene.particles,
        surfaces,
        method: &scene.method,
        gravity: scene.gravity,
        notes,
        out: Vec::new(),
        taken: ["kinetic", "potential", "total", "drift"].map(String::from).into(),
        unnamed: BTreeMap::new(),
    };
    if at.gravity != Vec3::zeros() {
        at.taken.insert("gravity".into());
        let force = Box::new(Gravity { acceleration: at.gravity });
        at.out.push(NamedForce { name: "gravity".into(), force });
    }
    scene.each_force(&mut |table, k, set| {
        at.notes.at(table, k, set.name());
        set.make(&mut at);
    });
    at.custom(custom, from);
    at.out
}
