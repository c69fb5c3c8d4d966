//! Gas inside closed surfaces.

use std::collections::BTreeMap;

use super::forces::{ForceBuilder, MakeForce};
use super::keys::*;
use crate::describe::short::*;
use crate::describe::{Kind, table};
use crate::forces::nary::Pressure;
use crate::model::Surface;
use crate::state::PointId;

table! {
    /// Gas of a given pressure inside a closed surface; its energy is −p V.
    #[derive(Debug, Clone, PartialEq)]
    pub struct PressureItem: "pressure" {
        /// Name, for energies by term.
        name: String = &[FORCE_NAME];
        /// The soft body, cloth or `points` with a `surface` whose triangles it pushes at from inside.
        on: String = REQUIRED, Kind::Text, "";
        /// Pressure above that outside; negative to suck.
        pressure: f64 = REQUIRED, NUMBER, "Pa";
    }
}

impl MakeForce for PressureItem {
    fn name(&self) -> &str {
        &self.name
    }

    fn make(&self, at: &mut ForceBuilder<'_>) {
        at.notes.finite("pressure", self.pressure);
        if let Some(triangles) = closed(&self.on, at) {
            at.add("pressure", &self.name, Box::new(Pressure::uniform(&triangles, self.pressure)));
        }
    }
}

/// Triangles of the surface of that name, if each of its edges has two.
fn closed(on: &str, at: &mut ForceBuilder<'_>) -> Option<Vec<[PointId; 3]>> {
    let surfaces: &[Surface] = at.surfaces;
    let skins = || surfaces.iter().filter(|s| !s.triangles.is_empty());
    let Some(skin) = skins().find(|s| s.name == on) else {
        let known: Vec<String> = skins().map(|s| s.name.clone()).collect();
        let message = format!("there is no soft body, cloth or carried surface `{on}`");
        at.notes.misspelt("on", message, Some((on.to_string(), known)));
        return None;
    };
    if let Some((a, b)) = open_edge(&skin.triangles) {
        let message =
            format!("the surface `{on}` is open at the edge of points {a} and {b}: gas would flow out there");
        at.notes.error("on", message);
        return None;
    }
    Some(skin.triangles.iter().map(|t| t.map(PointId)).collect())
}

/// An edge that does not have two triangles, one on either side.
pub(super) fn open_edge(triangles: &[[u32; 3]]) -> Option<(u32, u32)> {
    let mut sides = BTreeMap::new();
    for t in triangles {
        for (a, b) in [(t[0], t[1]), (t[1], t[2]), (t[2], t[0])] {
            *sides.entry((a.min(b), a.max(b))).or_insert(0) += if a < b { 1 } else { -1 };
        }
    }
    sides.into_iter().find(|(_, n)| *n != 0).map(|(edge, _)| edge)
}
