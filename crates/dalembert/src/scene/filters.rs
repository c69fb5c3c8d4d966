//! From `fix` and `motion` to filters on points.

use std::sync::Arc;

use super::Scene;
use super::diagnostics::Diagnostics;
use super::layout::{Points, chosen, describe};
use crate::filters::{Filters, Motion};
use crate::math::Vec3;
use crate::mesh::Region;
use crate::state::PointSet;

/// Fixed points and points with prescribed motion.
pub(super) fn filters(scene: &Scene, points: &Points, notes: &mut Diagnostics) -> Filters {
    // Point and entry; sorted by point before they are made, so that each filter comes last.
    let mut fixed: Vec<(usize, usize)> = Vec::new();
    for (k, fix) in scene.fix.iter().enumerate() {
        notes.at("fix", k, "");
        fixed.extend(named(points, notes, &fix.on, &fix.inside).iter().map(|i| (i, k)));
        let bad = |d: &Vec3| !(d.norm() > 0.0 && d.norm().is_finite());
        if let Some(d) = fix.directions.iter().find(|d| bad(d)) {
            notes.error("directions", format!("({}, {}, {}) is no direction", d.x, d.y, d.z));
        }
    }
    let mut moved: Vec<(usize, usize)> = Vec::new();
    for (k, set) in scene.motion.iter().enumerate() {
        notes.at("motion", k, "");
        moved.extend(named(points, notes, &set.on, &set.inside).iter().map(|i| (i, k)));
        check_motion(&set.motion, notes);
    }
    moved.sort_unstable();
    for twice in moved.windows(2).filter(|w| w[0].0 == w[1].0) {
        let (i, k) = twice[1];
        notes.at("motion", k, "");
        let message = format!("{} already has prescribed motion by another entry", describe(points, i));
        notes.error("on", message);
        if notes.is_full() {
            break;
        }
    }
    if notes.found > 0 {
        return Filters::default();
    }
    make(scene, points, fixed, moved)
}

/// The points that an entry names; rigid bodies are held by rows of their own.
fn named(points: &Points, notes: &mut Diagnostics, on: &[String], inside: &Region) -> PointSet {
    if on.is_empty() {
        notes.error("on", "names no points");
        return PointSet::default();
    }
    let on = points.names.without_bodies(on);
    if on.is_empty() {
        return PointSet::default();
    }
    let set = chosen(points, notes, &on, inside);
    if set.last().is_some_and(|i| i >= points.layout.particles) {
        notes.error("on", "names carried points; fix or move the particles that carry them");
    }
    if notes.room_for("on", set.len()) { set } else { PointSet::default() }
}

/// Notes what is wrong with the numbers of a motion.
fn check_motion(motion: &Motion, notes: &mut Diagnostics) {
    match motion {
        Motion::Velocity(v) => {
            notes.finite3("velocity", v);
        }
        Motion::Signal { amplitude, signal } => {
            notes.finite3("amplitude", amplitude);
            if let Some(message) = signal.defect() {
                notes.error("signal", message);
            }
        }
        Motion::Ride(ride) => {
            if let Some((key, message)) = ride.defect() {
                notes.error(key, message);
            }
        }
        Motion::Closure(_) => {}
    }
}

/// The filters of all points, each of which knows the entry that it comes from.
fn make(
    scene: &Scene,
    points: &Points,
    mut fixed: Vec<(usize, usize)>,
    moved: Vec<(usize, usize)>,
) -> Filters {
    let mut filters = Filters::default();
    fixed.sort_unstable();
    let mut fixed = fixed.into_iter().peekable();
    for (i, k) in moved.into_iter().chain([(usize::MAX, 0)]) {
        while let Some((j, k)) = fixed.next_if(|(j, _)| *j <= i) {
            filters.forbid(j, &scene.fix[k].directions);
        }
        if i < usize::MAX {
            // Affine bodies come last, four points each: their centres have the motion, their columns stay.
            let affine = points.names.particles;
            let column = i > affine && !(i - affine).is_multiple_of(4);
            match &scene.motion[k].motion {
                Motion::Ride(ride) => {
                    let first = if i >= affine { i - (i - affine) % 4 } else { i };
                    let own = if i >= affine { points.x[first] } else { Vec3::zeros() };
                    let arm = if column { points.x[i] } else { points.x[i] - ride.center.unwrap_or(own) };
                    let ride = ride.clone();
                    let motion = Motion::Closure(Arc::new(move |t| ride.at(t, &arm, !column)));
                    filters.prescribe(i, points.x[i], motion);
                }
                _ if column => filters.forbid(i, &[]),
                motion => filters.prescribe(i, points.x[i], motion.clone()),
            }
        }
    }
    filters
}
