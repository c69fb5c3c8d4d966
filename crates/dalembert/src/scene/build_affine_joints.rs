//! Joints of affine bodies as equations between blocks.
//!
//! What each joint holds is said in its file and in [`AffineEnds`]; here it gets a name, and is held exactly or softly.

use std::collections::BTreeSet;

use super::build_mechanism::{axes, holds, numbers, roles};
use super::diagnostics::Diagnostics;
use super::expanded::{Expanded, Rest};
use super::joint::{Anchors, JointItem, Stiffness};
use super::names::{Names, RESERVED};
use super::{ContactRule, CustomForce, Scene};
use crate::forces::nary::{LinearSpring, LinearSprings};
use crate::joints::affine::{
    AffineEnds, AffineJoint, AffineJoints, AffineRows, BlockVector, JointCoordinate, JointTerm, Measure,
};
use crate::joints::{Axis, Hold, JointKind};
use crate::math::{Mat3, Vec3};
use crate::model::LinearRow;
use crate::state::{Block, BlockKind};
use crate::step::Method;

/// Something that a joint holds: its first block and how points of the world follow from its blocks.
#[derive(Clone, Copy, PartialEq)]
enum Side {
    World,
    Particle(usize),
    /// First block, centre of mass and deformation at the start, centre of mass in its own frame.
    Body(usize, Vec3, Mat3, Vec3),
}

impl Side {
    /// The material point that is at `place` at the start.
    fn point(&self, place: &Vec3) -> BlockVector {
        match *self {
            Side::World => BlockVector::fixed(*place),
            Side::Particle(i) => BlockVector { terms: vec![(i as u32, 1.0)], constant: Vec3::zeros() },
            Side::Body(first, p, A, _) => BlockVector::point(first as u32, &(A.transpose() * (place - p))),
        }
    }

    /// The material direction that points along `axis` at the start.
    fn direction(&self, axis: &Vec3) -> BlockVector {
        match *self {
            Side::World | Side::Particle(_) => BlockVector::fixed(*axis),
            Side::Body(first, _, A, _) => BlockVector::direction(first as u32, &(A.transpose() * axis)),
        }
    }

    /// The place in the world of a place in its frame.
    fn world(&self, local: &Vec3, x: &[Vec3]) -> Vec3 {
        match *self {
            Side::World => *local,
            Side::Particle(i) => x[i],
            Side::Body(_, p, A, center) => p + A * (local - center),
        }
    }
}

/// What the scene's joints become.
#[derive(Default)]
pub(super) struct Joined {
    /// Exact linear rows.
    pub rows: Vec<LinearRow>,
    /// Everything else.
    pub joints: AffineJoints,
    /// Kind and sides of each joint, in the order of `joints.joints`.
    pub sides: Vec<(JointKind, [String; 2])>,
}

/// Makes the joints of a scene.
struct JointBuilder<'a> {
    expanded: &'a Expanded,
    blocks: &'a [Block],
    names: &'a Names,
    x: &'a [Vec3],
    particles: usize,
    /// The blocks at the start.
    z: Vec<f64>,
    taken: BTreeSet<String>,
    out: Joined,
    soft: Vec<(String, Vec<LinearSpring>)>,
}

/// Takes the joints of the scene: exact ones as rows and terms, soft ones as forces of the scene and terms.
pub(super) fn joints(
    scene: &mut Scene,
    expanded: &Expanded,
    blocks: &[Block],
    names: &Names,
    x: &[Vec3],
    particles: usize,
    notes: &mut Diagnostics,
) -> Joined {
    if !matches!(scene.method, Method::Ipc(_)) {
        return Joined::default();
    }
    let mut builder = JointBuilder {
        expanded,
        blocks,
        names,
        x,
        particles,
        z: x[..particles].iter().flat_map(|p| [p.x, p.y, p.z]).collect(),
        taken: BTreeSet::new(),
        out: Joined::default(),
        soft: Vec::new(),
    };
    for (k, joint) in std::mem::take(&mut scene.joint).into_iter().enumerate() {
        notes.at("joint", k, &joint.name);
        builder.joint(&joint, k, notes);
        apart(scene, &joint, blocks);
    }
    for (k, gear) in std::mem::take(&mut scene.gear).into_iter().enumerate() {
        notes.at("gear", k, &gear.name);
        builder.gear(&gear, notes);
    }
    for (name, springs) in builder.soft {
        scene.custom.push(CustomForce {
            name,
            on: Vec::new(),
            most: usize::MAX,
            make: Box::new(move |_| Box::new(LinearSprings { springs })),
        });
    }
    builder.out
}

/// Two bodies that a joint holds do not collide unless the joint or a rule of the scene says so.
fn apart(scene: &mut Scene, joint: &JointItem, blocks: &[Block]) {
    let body = |name: &String| blocks.iter().any(|b| b.name == *name && b.kind == BlockKind::Affine);
    let [a, b] = &joint.between;
    let said = |r: &ContactRule| {
        (r.between[0] == *a && r.between[1] == *b) || (r.between[0] == *b && r.between[1] == *a)
    };
    if !joint.collide && a != b && body(a) && body(b) && !scene.contact.iter().any(said) {
        scene.contact.push(ContactRule::off(a, b));
    }
}

/// Two anchors that lie further apart than this do not meet \[m\].
const MEET: f64 = 1e-6;

impl JointBuilder<'_> {
    fn name(&mut self, name: &str, notes: &mut Diagnostics) {
        if name.contains(['[', ']', '.', ':']) || name.trim() != name {
            notes
                .error("name", format!("`{name}` must not contain `[`, `]`, `.`, `:` or blanks at its ends"));
        } else if RESERVED.contains(&name) {
            notes.error("name", format!("`{name}` is reserved; choose another name"));
        } else if self.names.has(name) {
            notes.error("name", format!("the name `{name}` is taken by a body or set of points"));
        } else if !name.is_empty() && !self.taken.insert(name.to_string()) {
            notes.error("name", format!("the name `{name}` is taken by another joint"));
        }
    }

    fn joint(&mut self, joint: &JointItem, k: usize, notes: &mut Diagnostics) {
        self.name(&joint.name, notes);
        let (a, b) = (self.side(&joint.between[0], notes), self.side(&joint.between[1], notes));
        let (Some(a), Some(b)) = (a, b) else { return };
        if a == b {
            notes.error("between", format!("joins `{}` with itself", joint.between[0]));
            return;
        }
        if !holds(joint, notes) || !numbers(joint, notes) {
            return;
        }
        if joint.break_force.is_some() {
            notes.error("break_force", "joints do not break under `ipc`; they do under `impulse`");
            return;
        }
        let Some(ends) = self.ends(joint, &a, &b, notes) else { return };
        let parameter = match joint.kind {
            JointKind::Distance { length } => {
                let [on_a, on_b] = self.anchors(joint, &a, &b);
                let length = length.unwrap_or((on_b - on_a).norm());
                if !(length > 0.0) {
                    notes.error("length", format!("the distance must be greater than zero, but is {length}"));
                    return;
                }
                length
            }
            kind => kind.parameter(),
        };
        let rows = (joint.kind.info().affine)(&ends, parameter);
        let name = if joint.name.is_empty() { format!("joint{k}") } else { joint.name.clone() };
        self.hold(&name, k, rows, &ends, joint, notes);
    }

    /// Anchors of both sides in the world at the start.
    fn anchors(&self, joint: &JointItem, a: &Side, b: &Side) -> [Vec3; 2] {
        let zero = Vec3::zeros();
        let distance = matches!(joint.kind, JointKind::Distance { .. });
        let [on_a, on_b] = match joint.anchors {
            Anchors::World(p) if distance => [p, b.world(&zero, self.x)],
            Anchors::World(p) => [p, p],
            Anchors::Default if distance => [a.world(&zero, self.x), b.world(&zero, self.x)],
            Anchors::Default => [b.world(&zero, self.x); 2],
            Anchors::Local([p, q]) => [a.world(&p, self.x), b.world(&q, self.x)],
        };
        match (a, b) {
            (Side::Particle(i), Side::Particle(j)) => [self.x[*i], self.x[*j]],
            (Side::Particle(i), _) => [self.x[*i], on_b],
            (_, Side::Particle(j)) => [on_a, self.x[*j]],
            _ => [on_a, on_b],
        }
    }

    fn ends(&self, joint: &JointItem, a: &Side, b: &Side, notes: &mut Diagnostics) -> Option<AffineEnds> {
        let axes = axes(joint, notes)?;
        let anchors = self.anchors(joint, a, b);
        let orients = joint.kind.info().orients;
        let free = |side: &Side| matches!(side, Side::Particle(_));
        if (orients[0] && free(a)) || (orients[1] && free(b)) {
            notes.error("kind", "a particle has no axes; a `ball` or a `distance` holds it");
            return None;
        }
        let (ci, cj) = (a.point(&anchors[0]), b.point(&anchors[1]));
        let d = cj.minus(&ci);
        let start = d.at(&self.z).dot(&axes[0].column(0));
        let direction =
            |side: &Side, axes: &Mat3| [0, 1, 2].map(|k| side.direction(&axes.column(k).into_owned()));
        let axes = [direction(a, &axes[0]), direction(b, &axes[1])];
        Some(AffineEnds { anchors: [ci, cj], d, axes, start })
    }

    fn hold(
        &mut self,
        name: &str,
        k: usize,
        held: AffineRows,
        ends: &AffineEnds,
        joint: &JointItem,
        notes: &mut Diagnostics,
    ) {
        let exact = joint.stiffness == Stiffness::Hard;
        let first_row = self.out.rows.len();
        let first = self.out.joints.terms.len();
        let mut gap = 0.0f64;
        for (vector, _) in &held.rows {
            gap = gap.max(vector.at(&self.z).norm());
        }
        for (measures, target) in &held.holds {
            gap = gap.max((measures.iter().map(|(f, m)| f * m.value(&self.z)).sum::<f64>() - target).abs());
        }
        if exact && !(gap < MEET) {
            let message =
                format!("gapes by {gap:.3e} (m or rad) at the start; move the bodies so that it holds");
            notes.error("", message);
            return;
        }
        match joint.stiffness {
            Stiffness::Hard => {
                self.out.rows.extend(held.rows.into_iter().map(|(vector, _)| LinearRow {
                    joint: k,
                    value: -vector.constant,
                    terms: vector.terms,
                }));
            }
            Stiffness::Gains { kp, kd } if !held.rows.is_empty() => {
                let spring = |(vector, share): (BlockVector, f64)| LinearSpring {
                    value: -vector.constant,
                    terms: vector.terms,
                    kp: kp * share,
                    kd: kd * share,
                };
                self.soft.push((name.into(), held.rows.into_iter().map(spring).collect()));
            }
            Stiffness::Gains { .. } => {}
            Stiffness::Given(_) => {
                notes.error("stiffness", "`ipc` takes gains kp and kd, not ε and r");
                return;
            }
        }
        for (measures, target) in held.holds {
            let c = self.coordinate(measures);
            self.term(name.to_string(), c, joint.stiffness.into(), target);
        }
        let own = first..self.out.joints.terms.len();
        let coordinates = joint.kind.info().coordinates;
        let mut coordinate = |axis: Axis, measure: fn(&AffineEnds) -> Measure| {
            coordinates.contains(&axis).then(|| self.coordinate(vec![(1.0, measure(ends))]))
        };
        let angle = coordinate(Axis::Angle, AffineEnds::angle);
        let position = coordinate(Axis::Position, AffineEnds::position);
        self.axis_terms(name, joint, angle.or(position), notes);
        let all = first..self.out.joints.terms.len();
        let rows = first_row..self.out.rows.len();
        self.out.joints.joints.push(AffineJoint { name: name.into(), rows, own, all, angle, position });
        self.out.sides.push((joint.kind, joint.between.clone()));
    }

    fn coordinate(&mut self, measures: Vec<(f64, Measure)>) -> u32 {
        let joints = &mut self.out.joints;
        let parts = measures.into_iter().map(|(factor, m)| {
            joints.measures.push(m);
            (factor, joints.measures.len() as u32 - 1)
        });
        let parts = parts.collect();
        joints.coordinates.push(JointCoordinate { parts });
        joints.coordinates.len() as u32 - 1
    }

    fn term(&mut self, name: String, coordinate: u32, hold: Hold, target: f64) {
        self.out.joints.terms.push(JointTerm { name, coordinate, hold, target });
    }

    fn axis_terms(&mut self, name: &str, j: &JointItem, axis: Option<u32>, notes: &mut Diagnostics) {
        for (part, key, hold) in roles(j) {
            match axis {
                Some(c) => self.term(format!("{name}.{part}"), c, hold, 0.0),
                None => {
                    let others = JointKind::with_coordinate();
                    notes.error(key, format!("the joint has no single coordinate; {others} have"));
                }
            }
        }
    }

    fn gear(&mut self, gear: &super::Gear, notes: &mut Diagnostics) {
        self.name(&gear.name, notes);
        if !notes.finite("ratio", gear.ratio) {
            return;
        }
        let mut parts = Vec::new();
        for (name, factor) in gear.joints.iter().zip([1.0, gear.ratio]) {
            let found = self.out.joints.joints.iter().find(|j| j.name == *name);
            match found.and_then(|j| j.angle.or(j.position)) {
                Some(c) => parts.push((factor, self.out.joints.coordinates[c as usize].parts[0].1)),
                None => {
                    let known = self.taken.iter().cloned().collect();
                    let message = format!("names `{name}`, which is no joint with a coordinate of its own");
                    notes.misspelt("joints", message, Some((name.clone(), known)));
                }
            }
        }
        if parts.len() != 2 {
            return;
        }
        let measures = &self.out.joints.measures;
        let target = parts.iter().map(|(f, m)| f * measures[*m as usize].value(&self.z)).sum();
        match gear.stiffness {
            Stiffness::Hard => {}
            Stiffness::Gains { kp, kd } => {
                notes.not_negative("kp", kp);
                notes.not_negative("kd", kd);
            }
            Stiffness::Given(_) => {
                notes.error("stiffness", "`ipc` takes gains kp and kd, not ε and r");
                return;
            }
        }
        let joints = &mut self.out.joints;
        joints.coordinates.push(JointCoordinate { parts });
        let c = joints.coordinates.len() as u32 - 1;
        let first = joints.terms.len();
        self.term(gear.name.clone(), c, gear.stiffness.into(), target);
        let own = first..first + 1;
        let rows = self.out.rows.len()..self.out.rows.len();
        self.out.joints.joints.push(AffineJoint {
            name: gear.name.clone(),
            rows,
            all: own.clone(),
            own,
            ..AffineJoint::default()
        });
        self.out.sides.push((JointKind::Free, gear.joints.clone()));
    }

    /// A body, a particle or the world by its name.
    fn side(&self, text: &str, notes: &mut Diagnostics) -> Option<Side> {
        if text == "world" {
            return Some(Side::World);
        }
        let affine =
            self.blocks.iter().enumerate().find(|(_, b)| b.name == text && b.kind == BlockKind::Affine);
        if let Some((set, block)) = affine {
            let (i, x) = (block.points.start, self.x);
            let A = Mat3::from_columns(&[x[i + 1], x[i + 2], x[i + 3]]);
            let center = self.expanded.rest.iter().find_map(|(s, rest)| match rest {
                Rest::Affine { center } if *s == set => Some(*center),
                _ => None,
            })?;
            return Some(Side::Body(i, x[i], A, center));
        }
        let others: Vec<String> =
            self.blocks.iter().map(|b| b.name.clone()).chain(["world".to_string()]).collect();
        let point = self.names.one_or(notes, "between", text, &others)?;
        if point.index() >= self.particles {
            notes.error(
                "between",
                format!("`{text}` is carried by something else; name the body that carries it"),
            );
            return None;
        }
        Some(Side::Particle(point.index()))
    }
}
