//! Names of the scene: what they may be, and the points that they stand for.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use super::MOST_POINTS;
use super::diagnostics::Diagnostics;
use crate::model::split_index;
use crate::state::{PointId, PointSet};

/// Names that quantities use for themselves, and the world.
pub(super) const RESERVED: [&str; 6] = ["energy", "momentum", "angular_momentum", "time", "world", "joints"];

/// The name in a text such as `door` or `door[0]`.
pub(super) fn name_of(text: &str) -> &str {
    split_index(text).map_or(text, |(name, _)| name)
}

/// Notes what is wrong with a name by itself; true if it is good.
pub(super) fn check_name(name: &str, notes: &mut Diagnostics) -> bool {
    if name.is_empty() {
        notes.error("name", "needs a name");
    } else if name.contains(['[', ']', '.', ':']) || name.trim() != name {
        notes.error("name", format!("`{name}` must not contain `[`, `]`, `.`, `:` or blanks at its ends"));
    } else if RESERVED.contains(&name) {
        notes.error("name", format!("`{name}` is reserved; choose another name"));
    } else {
        return true;
    }
    false
}

/// Points of the scene by name.
#[derive(Default)]
pub(super) struct Names {
    /// Place of each name in the list of blocks, and its points.
    pub(super) sets: BTreeMap<String, (usize, Range<usize>)>,
    /// Points that what acts on all particles acts on come first.
    pub(super) particles: usize,
    /// Rigid bodies.
    pub(super) rigid: BTreeSet<String>,
    /// Affine bodies, whose first point is their centre of mass.
    pub(super) affine: BTreeSet<String>,
}

impl Names {
    pub(super) fn add(&mut self, name: &str, points: Range<usize>) {
        let place = self.sets.len();
        self.sets.insert(name.to_string(), (place, points));
    }

    pub(super) fn is_rigid(&self, name: &str) -> bool {
        self.rigid.contains(name)
    }

    /// Notes what is wrong with the name of something new.
    pub(super) fn check(&self, name: &str, notes: &mut Diagnostics) {
        if check_name(name, notes) && self.sets.contains_key(name) {
            notes.error("name", format!("the name `{name}` is taken"));
        }
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.sets.contains_key(name)
    }

    /// Texts without those that name rigid bodies.
    pub(super) fn without_bodies(&self, texts: &[String]) -> Vec<String> {
        texts.iter().filter(|text| !self.rigid.contains(name_of(text))).cloned().collect()
    }

    /// The text of the point that a force on `text` acts at: of an affine body its centre of mass.
    pub(super) fn pushed(&self, text: &str) -> String {
        if self.affine.contains(text) { format!("{text}[0]") } else { text.to_string() }
    }

    /// The same for several.
    pub(super) fn all_pushed(&self, texts: &[String]) -> Vec<String> {
        texts.iter().map(|text| self.pushed(text)).collect()
    }

    /// Points of one text such as `rope[3]`; a text that names none is noted under `key`.
    pub(super) fn points(
        &self,
        notes: &mut Diagnostics,
        key: &'static str,
        text: &str,
    ) -> Option<Range<usize>> {
        let found = split_index(text).and_then(|(name, index)| match self.sets.get(name) {
            Some((_, range)) => {
                let within = index.within(range.len(), name)?;
                Ok(Some(range.start + within.start..range.start + within.end))
            }
            None => {
                let message = format!("names `{name}`, which the scene does not have");
                let known = || self.sets.keys().chain(&self.rigid).cloned().collect();
                let known = if notes.is_full() { Vec::new() } else { known() };
                notes.misspelt(key, message, Some((name.to_string(), known)));
                Ok(None)
            }
        });
        found.unwrap_or_else(|message| {
            notes.error(key, message);
            None
        })
    }

    /// Points of several texts, one by one, in the order given.
    pub(super) fn list(&self, notes: &mut Diagnostics, key: &'static str, texts: &[String]) -> Vec<usize> {
        let ranges: Vec<_> = texts.iter().filter_map(|text| self.points(notes, key, text)).collect();
        let total = ranges.iter().fold(0, |sum: usize, r| sum.saturating_add(r.len()));
        if total > MOST_POINTS {
            notes.error(key, format!("names {total} points; {MOST_POINTS} is the most"));
            return Vec::new();
        }
        ranges.into_iter().flatten().collect()
    }

    /// Points of several texts; all particles if none is given.
    pub(super) fn set(&self, notes: &mut Diagnostics, key: &'static str, texts: &[String]) -> PointSet {
        if texts.is_empty() {
            return PointSet::range(0..self.particles);
        }
        PointSet::from_ranges(texts.iter().filter_map(|text| self.points(notes, key, text)))
    }

    /// Exactly one point; `others` are names that would do as well.
    pub(super) fn one_or(
        &self,
        notes: &mut Diagnostics,
        key: &'static str,
        text: &str,
        others: &[String],
    ) -> Option<PointId> {
        let name = split_index(text).map_or(text, |(n, _)| n);
        if self.sets.contains_key(name) {
            return self.one(notes, key, text);
        }
        let known = others.iter().chain(self.sets.keys()).cloned().collect();
        notes.misspelt(
            key,
            format!("names `{name}`, which the scene does not have"),
            Some((name.to_string(), known)),
        );
        None
    }

    /// Exactly one point.
    pub(super) fn one(&self, notes: &mut Diagnostics, key: &'static str, text: &str) -> Option<PointId> {
        let range = self.points(notes, key, text)?;
        if range.len() != 1 {
            let name = text.split('[').next().unwrap_or_default();
            let n = range.len();
            notes.error(key, format!("`{text}` means {n} points; one is needed, such as `{name}[0]`"));
            return None;
        }
        Some(PointId(range.start as u32))
    }
}
