//! Points carried by others: a second name for them, points on a body, points in a soft solid.

use std::collections::BTreeMap;

use super::diagnostics::Diagnostics;
use super::expanded::{Expanded, Rest};
use super::keys::*;
use super::layout::Points;
use super::rigid::coordinates;
use super::shape::SURFACE;
use super::{MOST_POINTS, Scene};
use crate::describe::short::*;
use crate::describe::{Kind, table};
use crate::mapping::{Identity, RigidPoints, Skinning, Subset, Weighted};
use crate::math::Vec3;
use crate::mesh::{SurfaceMesh, Weights};
use crate::model::split_index;
use crate::state::{Block, BlockKind, PointId};

table! {
    /// Points carried by others: a second name for points of other sets, points on a rigid or affine body, or points
    /// in a soft solid. Forces on it act on what carries it.
    #[derive(Debug, Clone, PartialEq)]
    pub struct MappedPoints: "points" {
        /// Name, unique in the scene.
        name: String = &[NAME];
        /// Points that carry it: sets of particles or `points` given before, such as `rope[0:5]`; or one rigid,
        /// soft or affine body; or several rigid bodies, which carry it together.
        of: Vec<String> = REQUIRED, SELECTION, "";
        /// Places of points on a rigid or affine body or in a soft one, in its frame (in the world for several
        /// rigid bodies). Without `at` and `surface`: the origin of a rigid body, all points of others.
        at: Vec<Vec3> = OPTIONAL, list(&Kind::VEC3, 1, MOST_POINTS), "m";
        /// A surface in that frame, drawn; its points come after `at`.
        surface: Option<SurfaceMesh> = &[SURFACE];
    }
}

/// What carries a set of points.
pub(super) enum Parents {
    Points(Vec<usize>),
    /// Combinations of points before them.
    Weights(Weights),
    /// Several rigid bodies together, and places in the world.
    Skin(Weights, Vec<Vec3>),
    /// A rigid body, and places in its frame.
    Rigid(usize, Vec<Vec3>),
}

impl Parents {
    fn count(&self) -> usize {
        match self {
            Parents::Points(list) => list.len(),
            Parents::Rigid(_, places) | Parents::Skin(_, places) => places.len(),
            Parents::Weights(weights) => weights.len(),
        }
    }
}

/// The carried sets in an order in which parents come before their children; a loop is an error that names its members.
fn parents_first(scene: &Scene, notes: &mut Diagnostics) -> Option<Vec<usize>> {
    let named: BTreeMap<&str, usize> = scene.points.iter().enumerate().map(|(k, p)| (&*p.name, k)).collect();
    let needs = |k: usize| {
        let name = |text: &'_ String| split_index(text).map_or(text.clone(), |(n, _)| n.to_string());
        scene.points[k].of.iter().filter_map(|t| named.get(&*name(t)).copied()).collect::<Vec<_>>()
    };
    // 0: not seen, 1: on the way, 2: done. A stack of its own, so that long chains do not overflow ours.
    let (mut mark, mut order) = (vec![0u8; scene.points.len()], Vec::new());
    for start in 0..scene.points.len() {
        let mut stack = vec![(start, 0)];
        while let Some((k, next)) = stack.pop() {
            if next == 0 {
                if mark[k] == 2 {
                    continue;
                }
                mark[k] = 1;
            }
            let list = needs(k);
            match list.get(next) {
                None => {
                    mark[k] = 2;
                    order.push(k);
                }
                Some(&parent) => {
                    stack.push((k, next + 1));
                    if mark[parent] == 1 {
                        let from = stack.iter().position(|(j, _)| *j == parent).unwrap_or(0);
                        let mut members: Vec<&str> =
                            stack[from..].iter().map(|(j, _)| &*scene.points[*j].name).collect();
                        members.push(&scene.points[parent].name);
                        notes.at("points", k, &scene.points[k].name);
                        let chain = members.join("` ← `");
                        notes.error("of", format!("carried points form a loop: `{chain}`"));
                        return None;
                    }
                    if mark[parent] == 0 {
                        stack.push((parent, 0));
                    }
                }
            }
        }
    }
    Some(order)
}

/// What the scene says about things that may carry points.
struct Carriers<'a> {
    scene: &'a Scene,
    expanded: &'a Expanded,
    bodies: BTreeMap<&'a str, usize>,
    sets: BTreeMap<&'a str, usize>,
}

impl Carriers<'_> {
    fn rigid(&self, text: &str) -> Option<usize> {
        self.bodies.get(text).copied()
    }

    fn resting(&self, text: &str) -> Option<&Rest> {
        let set = *self.sets.get(text)?;
        self.expanded.rest.iter().find(|(k, _)| *k == set).map(|(_, rest)| rest)
    }

    /// What carries the points of a set; `None` if it is refused.
    fn parents(&self, set: &MappedPoints, points: &Points, notes: &mut Diagnostics) -> Option<Parents> {
        let mut places = set.at.clone();
        if let Some(surface) = &set.surface {
            places.extend(&surface.points);
        }
        let placed = !places.is_empty();
        let _ = places.iter().all(|p| notes.finite3("at", p));
        match &set.of[..] {
            [one] if self.rigid(one).is_some() => {
                let places = if placed { places } else { vec![Vec3::zeros()] };
                Some(Parents::Rigid(self.rigid(one)?, places))
            }
            [one] if placed && self.resting(one).is_some() => {
                let first = points.names.sets.get(one.as_str()).map_or(0, |(_, range)| range.start);
                let weights = match self.resting(one)? {
                    Rest::Tets(mesh) => Weights::in_tets(mesh, &places),
                    Rest::Hexes(mesh) => Weights::in_hexes(mesh, &places),
                    Rest::Surface(mesh) => Weights::on_surface(mesh, &places),
                    Rest::Affine { center } => {
                        Ok(Weights::affine(&places.iter().map(|p| p - center).collect::<Vec<_>>()))
                    }
                };
                match weights {
                    Ok(weights) => Some(Parents::Weights(weights.offset(first as u32))),
                    Err(error) => {
                        notes.error("at", error.to_string());
                        None
                    }
                }
            }
            several if several.len() > 1 && several.iter().all(|t| self.rigid(t).is_some()) => {
                if !placed {
                    notes.error("at", "points carried by several rigid bodies need places in the world");
                    return None;
                }
                let list: Vec<u32> = several.iter().filter_map(|t| self.rigid(t)).map(|k| k as u32).collect();
                let place = |&k: &u32| self.scene.rigid[k as usize].pose.position;
                let frames: Vec<Vec3> = list.iter().map(place).collect();
                let weights = Skinning::nearest_frames(&places, &frames, &list, 4.min(list.len()));
                Some(Parents::Skin(weights, places))
            }
            several => {
                if let Some(body) = several.iter().find(|t| self.rigid(t).is_some()) {
                    notes.error(
                        "of",
                        format!("`{body}` is a rigid body; points on it need a set of their own"),
                    );
                } else if placed {
                    notes.error("at", "places are for points on one body, or on several rigid ones");
                }
                Some(Parents::Points(points.names.list(notes, "of", several)))
            }
        }
    }
}

/// Parents of each carried set and its first child; grows the layout. The first `own` sets were written by a user.
pub(super) fn carried(
    scene: &Scene,
    expanded: &Expanded,
    own: usize,
    points: &mut Points,
    notes: &mut Diagnostics,
) -> Option<Vec<(Parents, usize)>> {
    let before = notes.found;
    let mut out = Vec::new();
    let carriers = Carriers {
        scene,
        expanded,
        bodies: scene.rigid.iter().enumerate().map(|(k, b)| (&*b.name, k)).collect(),
        sets: scene.particles.iter().enumerate().map(|(k, set)| (&*set.name, k)).collect(),
    };
    for k in parents_first(scene, notes)? {
        let set = &scene.points[k];
        notes.at("points", k, &set.name);
        if k < own {
            points.names.check(&set.name, notes);
            if carriers.bodies.contains_key(&*set.name) {
                notes.error("name", format!("the name `{}` is taken", set.name));
            }
        }
        if set.of.is_empty() {
            notes.error("of", "needs the points that carry it");
        }
        let Some(parents) = carriers.parents(set, points, notes) else { continue };
        let layout = &mut points.layout;
        let count = parents.count();
        if layout.points + count > MOST_POINTS {
            notes.error("of", format!("the scene grows beyond {MOST_POINTS} points"));
            return None;
        }
        let first = layout.points;
        layout.points += count;
        points.names.add(&set.name, first..layout.points);
        let range = |base: usize| base + 3 * first..base + 3 * layout.points;
        points.blocks.push(Block {
            name: set.name.clone(),
            kind: BlockKind::Mapped,
            q: range(layout.points_q()),
            v: range(layout.points_v()),
            points: first..layout.points,
        });
        out.push((parents, first));
    }
    (notes.found == before).then_some(out)
}

/// Maps points from what carries them, and puts them where they start.
pub(super) fn carry(parents: Vec<(Parents, usize)>, points: &mut Points) {
    let Points { layout, x, v, mappings, bodies, .. } = points;
    let layout = *layout;
    for (parent, first_child) in parents {
        match parent {
            Parents::Points(list) => {
                for &i in &list {
                    let (xi, vi): (Vec3, Vec3) = (x[i], v[i]);
                    x.push(xi);
                    v.push(vi);
                }
                let contiguous = list.windows(2).all(|w| w[1] == w[0] + 1);
                mappings.push(if contiguous {
                    Box::new(Identity::new(layout, list[0]..list[0] + list.len(), first_child))
                } else {
                    let ids = list.iter().map(|&i| PointId(i as u32)).collect();
                    Box::new(Subset::new(layout, ids, first_child))
                });
            }
            Parents::Weights(weights) => {
                for c in 0..weights.len() {
                    let sum = |a: &[Vec3]| weights.row(c).map(|(p, w)| w * a[p as usize]).sum::<Vec3>();
                    let (place, speed) = (sum(x), sum(v));
                    x.push(place);
                    v.push(speed);
                }
                mappings.push(Box::new(Weighted::new(layout, weights, first_child)));
            }
            Parents::Skin(weights, places) => {
                let q: Vec<f64> = bodies.start.iter().flat_map(coordinates).collect();
                let skin = Skinning::new(layout, &q, &places, &weights, first_child);
                for (c, place) in places.iter().enumerate() {
                    x.push(*place);
                    let speed = |(k, w): (u32, f64)| {
                        let b = &bodies.start[k as usize];
                        w * (b.v + b.w.cross(&(place - b.x)))
                    };
                    v.push(weights.row(c).map(speed).sum());
                }
                mappings.push(Box::new(skin));
            }
            Parents::Rigid(k, places) => {
                let (b, c) = (&bodies.start[k], bodies.rigid.center[k]);
                let arms: Vec<Vec3> = places.iter().map(|p| p - c).collect();
                x.extend(arms.iter().map(|r| b.x + b.R * r));
                v.extend(arms.iter().map(|r| b.v + b.w.cross(&(b.R * r))));
                mappings.push(Box::new(RigidPoints::new(layout, 7 * k, 6 * k, first_child, arms)));
            }
        }
    }
}
