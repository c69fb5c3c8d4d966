//! Rigid bodies with prescribed motion: those that `fix` holds and `motion` carries, under methods that keep them rigid.
//!
//! Filters are about points; a body that stays, or has prescribed motion, is held by six rows instead: a fixed joint to the
//! world, or to a frame that is carried about ([`Prescribed`](crate::joints::Prescribed)).

use std::collections::{BTreeMap, BTreeSet};

use super::Scene;
use super::diagnostics::Diagnostics;
use super::names::name_of;
use crate::filters::Motion;
use crate::mesh::Region;
use crate::step::Method;

/// A rigid body that stays or has prescribed motion.
pub(super) struct PrescribedBody {
    /// Its number.
    pub body: u32,
    /// How it moves; `None` if it stays.
    pub motion: Option<Motion>,
    /// Table and entry that say so.
    pub place: (&'static str, usize),
}

/// Rigid bodies among what `fix` and `motion` name; mistakes are noted.
pub(super) fn prescribed(scene: &Scene, notes: &mut Diagnostics) -> Vec<PrescribedBody> {
    let bodies: BTreeMap<&str, u32> = scene.rigid.iter().zip(0..).map(|(b, k)| (&*b.name, k)).collect();
    let mut out: Vec<PrescribedBody> = Vec::new();
    let mut taken = BTreeSet::new();
    let held = matches!(scene.method, Method::Impulse(_) | Method::Lagrange(_));
    let mut take = |notes: &mut Diagnostics,
                    on: &[String],
                    inside: &Region,
                    place,
                    motion: Option<&Motion>| {
        for text in on {
            let Some(&body) = bodies.get(name_of(text)) else { continue };
            if !held {
                let method = scene.method.name();
                notes.error(
                    "on",
                    format!("`{text}` is a rigid body, which `{method}` cannot hold; `impulse`, `lagrange` and `ipc` can"),
                );
            } else if text.contains('[') {
                notes.error("on", format!("`{text}`: a rigid body has no points; name the body alone"));
            } else if *inside != Region::All {
                notes.error(
                    "inside",
                    format!("`{text}` is a rigid body, which has no part that could be chosen"),
                );
            } else if !taken.insert(body) {
                notes.error("on", format!("`{text}` is already held or moved by another entry"));
            } else {
                out.push(PrescribedBody { body, motion: motion.cloned(), place });
            }
        }
    };
    for (k, fix) in scene.fix.iter().enumerate() {
        notes.at("fix", k, "");
        let some = fix.on.iter().find(|text| bodies.contains_key(name_of(text)));
        if let (Some(text), false) = (some, fix.directions.is_empty()) {
            let hint = "a joint with the world (`point_on_plane`, `slider`, …) leaves it some motion";
            notes.error(
                "directions",
                format!("`{text}` is a rigid body, held altogether or not at all; {hint}"),
            );
            continue;
        }
        take(notes, &fix.on, &fix.inside, ("fix", k), None);
    }
    for (k, set) in scene.motion.iter().enumerate() {
        notes.at("motion", k, "");
        take(notes, &set.on, &set.inside, ("motion", k), Some(&set.motion));
    }
    out
}
