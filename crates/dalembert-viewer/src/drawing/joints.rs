//! Joints as they are drawn: anchors, axes, limits, forces and gaps.
//!
//! The axes of an end are t, n, b = t × n. A hinge at angle θ has $n_b = \cos\theta\,n_a + \sin\theta\,b_a$, so its
//! limits are an arc around $t_a$ that starts at $n_a$, with a pointer along $n_b$; a slide runs along $t_a$. The force
//! that a joint exerts is $A^T\lambda$, with the λ of the last step or, for a spring-damper, of now.

use dalembert::joints::{
    Axis, Body, End, Hold, Holder, Joint, JointKind, MOST_HOLDERS, NamedConstraint, Role, Rows,
};
use dalembert::math::Vec3;
use dalembert::model::Model;
use dalembert::state::State;

use super::{Drawing, Frame, Geometry, Group, PALETTE, list};

/// More joints than this are one entry in the tree.
const MOST_NAMED: usize = 200;
/// Segments of the arc of an angle.
const ARC: usize = 16;

/// A joint with two ends.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Glyph {
    /// Name of the joint.
    name: String,
    kind: JointKind,
    ends: [End; 2],
    /// Number of the joint in the state.
    joint: usize,
    /// Coordinate, lowest and highest value \[rad or m\].
    limits: Option<(Axis, f64, f64)>,
    /// Size of the sign \[m\].
    size: f64,
}

impl Glyph {
    /// Corners of the lines that show its limits, in world axes \[m\]; their number does not depend on the state.
    fn limit_places(&self, ends: &[Place; 2], out: &mut impl FnMut(Vec3)) {
        let Some((axis, low, high)) = self.limits else { return };
        let [a, b] = ends;
        match axis {
            Axis::Angle => {
                out(a.p);
                out(a.p + b.axes[1] * (1.15 * self.size));
                let high = high.min(low + std::f64::consts::TAU);
                for k in 0..=ARC {
                    let (s, c) = (low + (high - low) * k as f64 / ARC as f64).sin_cos();
                    out(a.p + (a.axes[1] * c + a.axes[2] * s) * self.size);
                }
            }
            Axis::Position => {
                for at in [low, high] {
                    let p = a.p + a.axes[0] * at;
                    out(p);
                    out(p - a.axes[1] * (0.3 * self.size));
                    out(p + a.axes[1] * (0.3 * self.size));
                }
            }
        }
    }

    /// Lines between those corners, counted from `first`.
    fn limit_pairs(&self, first: u32) -> Vec<[u32; 2]> {
        match self.limits.map(|l| l.0) {
            None => Vec::new(),
            Some(Axis::Angle) => {
                let last = ARC as u32 + 2;
                let mut pairs = vec![[0, 1], [0, 2], [0, last]];
                pairs.extend((2..last).map(|k| [k, k + 1]));
                pairs.iter().map(|p| p.map(|k| first + k)).collect()
            }
            Some(Axis::Position) => [[0, 3], [1, 2], [4, 5]].map(|p| p.map(|k| first + k)).to_vec(),
        }
    }
}

/// An end in world axes.
struct Place {
    p: Vec3,
    axes: [Vec3; 3],
}

impl Place {
    fn new(end: &End, body: &Body) -> Self {
        let m = body.R * end.axes;
        Self { p: body.x + body.R * end.anchor, axes: [0, 1, 2].map(|k| m.column(k).into_owned()) }
    }
}

/// The joints of a model that have two ends; `reach` gives the size of a rigid body \[m\].
pub(super) fn glyphs(model: &Model, extent: f64, reach: impl Fn(usize) -> f64) -> Vec<Glyph> {
    let mut out: Vec<Glyph> = Vec::new();
    let mut place: Vec<Option<usize>> = vec![None; model.layout.joints];
    for c in &model.constraints {
        let Some(&Joint { kind, ends, .. }) = c.constraint.as_joint() else { continue };
        if place[c.joint].is_some() {
            continue;
        }
        place[c.joint] = Some(out.len());
        let sizes = ends.iter().filter_map(|e| match e.holder {
            Holder::Rigid(k) => Some(0.45 * reach(k as usize)),
            Holder::World | Holder::Particle(_) => None,
        });
        let size = sizes.fold(f64::INFINITY, f64::min).clamp(0.01 * extent, 0.08 * extent);
        out.push(Glyph { name: c.name.clone(), kind, ends, joint: c.joint, limits: None, size });
    }
    for c in &model.constraints {
        let Some(axis) = c.constraint.axis() else { continue };
        let Some(glyph) = place[c.joint].map(|i| &mut out[i]) else { continue };
        let Hold::Axis { role: Role::Lower(at) | Role::Upper(at), .. } = c.hold else { continue };
        let (_, low, high) = glyph.limits.unwrap_or((axis, at, at));
        glyph.limits = Some((axis, low.min(at), high.max(at)));
    }
    out
}

/// Adds the joints to a drawing, whose vertices so far are the model's points.
pub(super) fn describe(model: &Model, drawing: &mut Drawing) {
    if model.constraints.is_empty() {
        return;
    }
    let glyphs = std::mem::take(&mut drawing.joints);
    let first = drawing.vertices;
    let count = 2 * glyphs.len() as u32;
    drawing.vertices += count;
    let colour = [178, 96, 168];
    let named = glyphs.len() <= MOST_NAMED;
    let (mut world, mut limits) = (Vec::new(), Vec::new());
    for (i, g) in glyphs.iter().enumerate() {
        let anchors = first + 2 * i as u32;
        if named {
            let geometry = Geometry::Points { first: anchors, count: 2, radius: 0.16 * g.size as f32 };
            let shape = drawing.add(&g.name, Group::Joint, colour, geometry);
            let mut facts = vec![("kind".into(), g.kind.name().replace('_', " "))];
            if let Some((axis, low, high)) = g.limits {
                let unit = if axis == Axis::Angle { "rad" } else { "m" };
                facts.push(("limits".into(), format!("{low:.4} … {high:.4} {unit}")));
            }
            drawing.shapes[shape].facts = facts;
        }
        world.extend(g.ends.iter().zip(anchors..).filter(|(e, _)| e.holder == Holder::World).map(|(_, k)| k));
        if g.kind.info().rod {
            let geometry =
                Geometry::Lines { pairs: vec![[anchors, anchors + 1]], radius: 0.006 * drawing.extent };
            drawing.add(&g.name, Group::Spring, super::SPRING_COLOUR, geometry);
        }
        let mut n = 0;
        g.limit_places(&[0, 1].map(|k| Place::new(&g.ends[k], &Body::WORLD)), &mut |_| n += 1);
        limits.extend(g.limit_pairs(drawing.vertices));
        drawing.vertices += n;
    }
    let size = glyphs.iter().map(|g| g.size).fold(f64::INFINITY, f64::min) as f32;
    if !named {
        let geometry = Geometry::Points { first, count, radius: 0.16 * size };
        drawing.add("joints", Group::Joint, colour, geometry);
    }
    if !world.is_empty() {
        let geometry = Geometry::Marks { vertices: world, radius: 0.14 * size };
        drawing.add("held by the world", Group::Fixed, super::FIXED_COLOUR, geometry);
    }
    if !limits.is_empty() {
        let geometry = Geometry::Lines { pairs: limits, radius: 0.05 * size };
        drawing.add("limits", Group::Joint, PALETTE[6], geometry);
    }
    drawing.joints = glyphs;
}

/// Fills in the vertices of joints; arrows and gaps where they are wanted.
pub(super) fn frame(model: &Model, drawing: &Drawing, state: &State, wanted: super::Groups, out: &mut Frame) {
    if model.constraints.is_empty() {
        return;
    }
    let places =
        |g: &Glyph| [0, 1].map(|k| Place::new(&g.ends[k], &model.body(g.ends[k].holder, &state.q, &state.v)));
    let push = |p: Vec3, out: &mut Vec<f32>| out.extend(p.iter().map(|x| *x as f32));
    for g in &drawing.joints {
        places(g).iter().for_each(|place| push(place.p, &mut out.vertices));
    }
    for g in &drawing.joints {
        let place = places(g);
        g.limit_places(&place, &mut |p| push(p, &mut out.vertices));
        if wanted.has(Group::Joint) && !state.broken[g.joint] {
            let arrows = &mut out.arrows[list::JOINT_AXES as usize];
            for (end, k) in g.kind.info().axes {
                let along = place[*end].axes[*k] * (2.4 * g.size);
                push(place[*end].p - along * 0.5, arrows);
                push(along, arrows);
            }
        }
    }
    let (forces, gaps) = (wanted.has(Group::Force), wanted.has(Group::Violation));
    if forces || gaps {
        let mut worst = vec![0.0; if gaps { model.layout.rigid + model.layout.particles } else { 0 }];
        let arrows = &mut out.arrows[list::JOINT_FORCES as usize];
        let mut rows = Rows::default();
        for (i, c) in model.constraints.iter().enumerate().filter(|(_, c)| !state.broken[c.joint]) {
            let mut bodies = [Body::WORLD; MOST_HOLDERS];
            let holders = c.constraint.holders();
            bodies.iter_mut().zip(holders).for_each(|(b, h)| *b = model.body(*h, &state.q, &state.v));
            rows.clear(holders.len());
            let turns = &state.turns[c.turns.clone()];
            c.constraint.evaluate(state.time, &bodies[..holders.len()], turns, &mut rows);
            if gaps {
                let gap = gap(c, &rows);
                for holder in holders {
                    let at = match holder {
                        Holder::World => continue,
                        Holder::Rigid(k) => *k as usize,
                        Holder::Particle(k) => model.layout.rigid + *k as usize,
                    };
                    worst[at] = f64::max(worst[at], gap);
                }
            }
            // The force on the last holder that can move, at its anchor.
            let Some(slot) = (0..holders.len()).rev().find(|k| holders[*k] != Holder::World) else {
                continue;
            };
            let lambda = multipliers(c, &rows, &bodies[..holders.len()], &state.lambda[6 * i..6 * i + 6]);
            let part = |k: usize| -> f64 { (0..6).map(|r| rows.jacobian[slot][6 * r + k] * lambda[r]).sum() };
            let force = Vec3::new(part(0), part(1), part(2));
            if forces && force != Vec3::zeros() {
                let arm =
                    c.constraint.ends().map_or(Vec3::zeros(), |e| bodies[slot].R * e[slot.min(1)].anchor);
                push(bodies[slot].x + arm, arrows);
                push(force, arrows);
            }
        }
        if gaps {
            out.violation.extend(drawing.owners.iter().map(|owner| {
                let worst = worst[owner.clone()].iter().fold(0.0, |w: f64, x| w.max(*x));
                shade_of(worst, f64::from(drawing.extent)) as f32
            }));
        }
    }
}

/// λ of the last step; for a spring-damper of a method that keeps none, the λ of now: −kp C − kd Ċ.
fn multipliers(c: &NamedConstraint, rows: &Rows, bodies: &[Body], kept: &[f64]) -> [f64; 6] {
    match c.hold {
        Hold::Gains { kp, kd } if kept.iter().all(|x| *x == 0.0) => std::array::from_fn(|r| {
            if r >= c.constraint.rows() {
                return 0.0;
            }
            -kp * rows.violation[r] - kd * (rows.rate(r, bodies) + rows.drift[r])
        }),
        _ => std::array::from_fn(|r| kept[r]),
    }
}

/// Worst |C| of a constraint; a limit counts only where it is overrun, a motor or a brake not at all.
fn gap(c: &NamedConstraint, rows: &Rows) -> f64 {
    let worst = |rows: &[f64]| rows.iter().fold(0.0f64, |w, x| w.max(x.abs()));
    match c.hold {
        Hold::Hard | Hold::Gains { .. } | Hold::Given(_) => worst(&rows.violation[..c.constraint.rows()]),
        Hold::Axis { role: Role::Lower(_) | Role::Upper(_), .. } => (-rows.violation[0]).max(0.0),
        Hold::Axis { .. } => 0.0,
    }
}

/// 0 up to a gap of 10⁻⁸ of the scene, 1 from 10⁻² on, by powers of ten in between.
fn shade_of(gap: f64, extent: f64) -> f64 {
    ((gap / extent).log10() / 6.0 + 8.0 / 6.0).clamp(0.0, 1.0)
}
