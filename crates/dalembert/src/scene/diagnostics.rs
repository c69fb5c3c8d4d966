//! Mistakes and warnings found while a scene is built, each with the place that it belongs to.

use std::collections::BTreeMap;

use super::{BuildError, Culprits, MOST_POINTS, Place, Scene, SceneError, Warning};
use crate::math::Vec3;

/// A name that was not found, and the names that exist.
type Misspelt = Option<(String, Vec<String>)>;

/// Mistakes found so far, and where the next ones belong.
#[derive(Default)]
pub(super) struct Diagnostics {
    /// The first [`MOST_ERRORS`] of them.
    pub(super) errors: Vec<SceneError>,
    /// All of them.
    pub(super) found: usize,
    /// The first [`MOST_WARNINGS`] things that are probably not meant.
    warnings: Vec<Warning>,
    /// All of those.
    warned: usize,
    /// Springs, filtered points and members of pair forces so far.
    elements: usize,
    /// What intersects or touches at the start.
    pub(super) culprits: Culprits,
    /// Where each thing that may touch was written, by name.
    written: BTreeMap<String, (&'static str, usize)>,
    table: &'static str,
    index: usize,
    name: String,
}

/// More than this many mistakes help nobody.
pub(super) const MOST_ERRORS: usize = 20;
/// The same for warnings.
const MOST_WARNINGS: usize = 200;
/// Most springs, filtered points and members of pair forces together: a short scene must not fill the memory.
const MOST_ELEMENTS: usize = 8 * MOST_POINTS;

impl Diagnostics {
    /// Counts elements before they are made; false if there are too many.
    pub(super) fn room_for(&mut self, key: &'static str, count: usize) -> bool {
        self.elements = self.elements.saturating_add(count);
        let fits = self.elements <= MOST_ELEMENTS;
        if !fits {
            self.error(key, format!("the scene grows beyond {MOST_ELEMENTS} springs and members of forces"));
        }
        fits
    }

    pub(super) fn refusal(self) -> BuildError {
        BuildError { errors: self.errors, culprits: self.culprits }
    }

    /// True if another mistake would not be told.
    pub(super) fn is_full(&self) -> bool {
        self.errors.len() >= MOST_ERRORS
    }

    pub(super) fn at(&mut self, table: &'static str, index: usize, name: &str) {
        (self.table, self.index, self.name) = (table, index, name.to_string());
    }

    /// Writes down where things stand before the build makes others of them.
    pub(super) fn list(&mut self, scene: &Scene) {
        let mut add = |table, names: Vec<&String>| {
            for (k, name) in names.into_iter().enumerate() {
                self.written.entry(name.clone()).or_insert((table, k));
            }
        };
        add("rigid", scene.rigid.iter().map(|b| &b.name).collect());
        add("affine", scene.affine.iter().map(|b| &b.name).collect());
        add("soft", scene.soft.iter().map(|b| &b.name).collect());
        add("cloth", scene.cloth.iter().map(|b| &b.name).collect());
        add("rod", scene.rod.iter().map(|b| &b.name).collect());
        add("particles", scene.particles.iter().map(|b| &b.name).collect());
        add("robot", scene.robot.iter().map(|b| &b.name).collect());
    }

    /// Turns to the last written of these bodies; to the scene if none was written by that name. A link of a robot stands
    /// where the robot does.
    pub(super) fn at_last_of(&mut self, names: &[&str]) {
        let find = |name: &&str| {
            let own = self.written.get(*name).or_else(|| self.written.get(name.split('/').next()?));
            own.map(|&(table, k)| (table, k, name.to_string()))
        };
        let last = names.iter().filter_map(find).next_back();
        (self.table, self.index, self.name) = last.unwrap_or_default();
    }

    pub(super) fn error(&mut self, key: &'static str, message: impl Into<String>) {
        self.misspelt(key, message, None);
    }

    /// Notes what is probably not meant, or what the method does not do. It goes on to [`Model::warnings`].
    pub(super) fn warn(&mut self, key: &'static str, message: impl Into<String>) {
        self.warned += 1;
        if self.warnings.len() < MOST_WARNINGS {
            let place = Place { table: self.table, index: self.index, key, name: self.name.clone() };
            self.warnings.push(Warning { place, message: message.into() });
        }
    }

    /// The warnings, and how many there are beyond them.
    pub(super) fn take_warnings(&mut self) -> Vec<Warning> {
        let mut out = std::mem::take(&mut self.warnings);
        let more = self.warned - out.len();
        if more > 0 {
            let message = format!("there are {more} more warnings");
            out.push(Warning { place: Place::default(), message });
        }
        out
    }

    pub(super) fn misspelt(&mut self, key: &'static str, message: impl Into<String>, names: Misspelt) {
        self.found += 1;
        if !self.is_full() {
            let place = Place { table: self.table, index: self.index, key, name: self.name.clone() };
            self.errors.push(SceneError { place, message: message.into(), misspelt: names });
        }
    }

    pub(super) fn finite(&mut self, key: &'static str, x: f64) -> bool {
        if !x.is_finite() {
            self.error(key, format!("must be finite, but is {x}"));
        }
        x.is_finite()
    }

    pub(super) fn finite3(&mut self, key: &'static str, x: &Vec3) -> bool {
        x.iter().all(|x| self.finite(key, *x))
    }

    pub(super) fn not_negative(&mut self, key: &'static str, x: f64) -> bool {
        if self.finite(key, x) && x < 0.0 {
            self.error(key, format!("must not be negative, but is {x}"));
        }
        x >= 0.0
    }

    pub(super) fn positive(&mut self, key: &'static str, x: f64) -> bool {
        if self.finite(key, x) && x <= 0.0 {
            self.error(key, format!("must be greater than zero, but is {x}"));
        }
        x > 0.0
    }
}
