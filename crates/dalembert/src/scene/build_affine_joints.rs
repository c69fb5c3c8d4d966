//! Joints of affine bodies as equations between blocks.
//!
//! A material point X of an affine body is $\sum_j w_j z_j$ with $w = (1, X)$, and an axis $\sum_j t_j z_j$ over its columns. So
//! what says "two points stay together" or "two axes stay parallel" is exactly linear in the unknowns and becomes rows:
//!
//! | joint | rows of three | terms |
//! |---|---|---|
//! | ball | $c_i = c_j$ | |
//! | hinge | $c_i = c_j$, $t_i = t_j$ | |
//! | fixed | $c_i = c_j$, $t_i = t_j$, $n_i = n_j$, $b_i = b_j$ | |
//! | slider | $t_i = t_j$, $n_i = n_j$, $b_i = b_j$ | $d\cdot n_i = d\cdot b_i = 0$ |
//! | cylindrical | $t_i = t_j$ | $d\cdot n_i = d\cdot b_i = 0$ |
//! | screw | $t_i = t_j$ | the same, and $\tfrac12 d\cdot(t_i + t_j) = \tfrac{p}{2\pi}\theta$ |
//! | planar | $t_i = t_j$ | $d\cdot t_i = 0$ |
//! | universal | $c_i = c_j$ | $t_i\cdot n_j = 0$ |
//! | distance | | $\lvert d\rvert = \ell$ |
//! | point on line, in plane | | $d\cdot n_i = d\cdot b_i = 0$, $d\cdot t_i = 0$ |
//!
//! The terms are held by multipliers ([`JointRole`]). A soft joint has a spring and damper on every row instead: kp in N/m
//! between anchors, in N·m/rad between axes (a turn moves two of three axes, so each of three has half of it).

use std::collections::BTreeSet;
use std::f64::consts::TAU;

use super::build::{Names, Notes, RESERVED};
use super::build_deformable::{Expanded, Rest};
use super::build_mechanism::{axes, numbers};
use super::mechanism::{Anchors, JointItem, JointType, Motor, Stiffness};
use super::{ContactRule, CustomForce, Scene};
use crate::forces::nary::{LinearSpring, LinearSprings};
use crate::joints::affine::{BlockVector, Measure};
use crate::math::{Mat3, Vec3};
use crate::model::{AffineJoint, AffineJoints, JointCoordinate, JointRole, JointTerm, LinearRow};
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
    pub sides: Vec<(JointType, [String; 2])>,
}

/// What a joint needs to know about the scene.
struct Shop<'a> {
    expanded: &'a Expanded,
    blocks: &'a [Block],
    names: &'a Names,
    x: &'a [Vec3],
    particles: usize,
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
    notes: &mut Notes,
) -> Joined {
    if !matches!(scene.method, Method::Ipc(_)) {
        return Joined::default();
    }
    let mut shop = Shop {
        expanded,
        blocks,
        names,
        x,
        particles,
        taken: BTreeSet::new(),
        out: Joined::default(),
        soft: Vec::new(),
    };
    for (k, joint) in std::mem::take(&mut scene.joint).into_iter().enumerate() {
        notes.at("joint", k, &joint.name);
        shop.joint(&joint, k, notes);
        apart(scene, &joint, blocks);
    }
    for (k, gear) in std::mem::take(&mut scene.gear).into_iter().enumerate() {
        notes.at("gear", k, &gear.name);
        shop.gear(&gear, notes);
    }
    for (name, springs) in shop.soft {
        scene.custom.push(CustomForce {
            name,
            on: Vec::new(),
            most: usize::MAX,
            make: Box::new(move |_| Box::new(LinearSprings { springs })),
        });
    }
    shop.out
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

/// Rows and measures of one joint before it is known how they are held.
#[derive(Default)]
struct Parts {
    /// Vectors that are zero, and their share of a soft joint's gains.
    rows: Vec<(BlockVector, f64)>,
    /// Measures with a target each.
    holds: Vec<(Vec<(f64, Measure)>, f64)>,
    angle: Option<Measure>,
    position: Option<Measure>,
}

impl Shop<'_> {
    fn name(&mut self, name: &str, notes: &mut Notes) {
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

    fn joint(&mut self, joint: &JointItem, k: usize, notes: &mut Notes) {
        self.name(&joint.name, notes);
        let (a, b) = (self.side(&joint.between[0], notes), self.side(&joint.between[1], notes));
        let (Some(a), Some(b)) = (a, b) else { return };
        if a == b {
            notes.error("between", format!("joins `{}` with itself", joint.between[0]));
            return;
        }
        if !numbers(joint, notes) {
            return;
        }
        if joint.break_force.is_some() {
            notes.error("break_force", "joints do not break under `ipc`; they do under `impulse`");
            return;
        }
        let Some(parts) = self.parts(joint, &a, &b, notes) else { return };
        let name = if joint.name.is_empty() { format!("joint{k}") } else { joint.name.clone() };
        self.hold(&name, k, parts, joint, notes);
    }

    /// Anchors of both sides in the world at the start.
    fn anchors(&self, joint: &JointItem, a: &Side, b: &Side) -> [Vec3; 2] {
        let zero = Vec3::zeros();
        let distance = matches!(joint.kind, JointType::Distance { .. });
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

    fn parts(&self, joint: &JointItem, a: &Side, b: &Side, notes: &mut Notes) -> Option<Parts> {
        let axes = axes(joint, notes)?;
        let [on_a, on_b] = self.anchors(joint, a, b);
        let (ci, cj) = (a.point(&on_a), b.point(&on_b));
        let d = cj.minus(&ci);
        let axis = |side: &Side, k: usize, which: usize| side.direction(&axes[k].column(which).into_owned());
        let [ti, ni, bi] = [0, 1, 2].map(|which| axis(a, 0, which));
        let [tj, nj, bj] = [0, 1, 2].map(|which| axis(b, 1, which));
        let free = |side: &Side| matches!(side, Side::Particle(_));
        let turning = !matches!(
            joint.kind,
            JointType::Ball | JointType::Distance { .. } | JointType::PointOnLine | JointType::PointOnPlane
        );
        let lines = matches!(joint.kind, JointType::PointOnLine | JointType::PointOnPlane);
        if (turning && (free(a) || free(b))) || (lines && free(a)) {
            notes.error("kind", "a particle has no axes; a `ball` or a `distance` holds it");
            return None;
        }
        let mut parts = Parts::default();
        let anchor = (ci.minus(&cj), 1.0);
        let same = |u: &BlockVector, v: &BlockVector, share: f64| (u.minus(v), share);
        let zero =
            |u: &BlockVector, v: &BlockVector| (vec![(1.0, Measure::Dot([u.clone(), v.clone()]))], 0.0);
        let angle = Measure::Angle([ni.clone(), bi.clone(), nj.clone(), bj.clone()]);
        let position = Measure::Dot([d.clone(), ti.combined(0.5, &tj, 0.5)]);
        let on_line = vec![zero(&d, &ni), zero(&d, &bi)];
        match joint.kind {
            JointType::Ball => parts.rows = vec![anchor],
            JointType::Hinge => {
                parts.rows = vec![anchor, same(&ti, &tj, 1.0)];
                parts.angle = Some(angle);
            }
            JointType::Fixed => {
                parts.rows = vec![anchor, same(&ti, &tj, 0.5), same(&ni, &nj, 0.5), same(&bi, &bj, 0.5)];
            }
            JointType::Slider => {
                parts.rows = vec![same(&ti, &tj, 0.5), same(&ni, &nj, 0.5), same(&bi, &bj, 0.5)];
                parts.holds = on_line;
                parts.position = Some(position);
            }
            JointType::Cylindrical | JointType::Screw { .. } => {
                parts.rows = vec![same(&ti, &tj, 1.0)];
                parts.holds = on_line;
                if let JointType::Screw { pitch } = joint.kind {
                    let start = d.at(&self.flat()).dot(&axes[0].column(0));
                    parts.holds.push((vec![(1.0, position.clone()), (-pitch / TAU, angle.clone())], start));
                }
                (parts.angle, parts.position) = (Some(angle), Some(position));
            }
            JointType::Planar => {
                parts.rows = vec![same(&ti, &tj, 1.0)];
                parts.holds = vec![zero(&d, &ti)];
            }
            JointType::Universal => {
                parts.rows = vec![anchor];
                parts.holds = vec![zero(&ti, &nj)];
            }
            JointType::PointOnLine => parts.holds = on_line,
            JointType::PointOnPlane => parts.holds = vec![zero(&d, &ti)],
            JointType::Distance { length } => {
                let length = length.unwrap_or((on_b - on_a).norm());
                if !(length > 0.0) {
                    notes.error("length", format!("the distance must be greater than zero, but is {length}"));
                    return None;
                }
                parts.holds = vec![(vec![(1.0, Measure::Length([d]))], length)];
            }
        }
        Some(parts)
    }

    fn flat(&self) -> Vec<f64> {
        self.x[..self.particles].iter().flat_map(|p| [p.x, p.y, p.z]).collect()
    }

    fn hold(&mut self, name: &str, k: usize, parts: Parts, joint: &JointItem, notes: &mut Notes) {
        let z = self.flat();
        let exact = joint.stiffness == Stiffness::Hard;
        let first_row = self.out.rows.len();
        let first = self.out.joints.terms.len();
        let mut gap = 0.0f64;
        for (vector, _) in &parts.rows {
            gap = gap.max(vector.at(&z).norm());
        }
        for (measures, target) in &parts.holds {
            gap = gap.max((measures.iter().map(|(f, m)| f * m.value(&z)).sum::<f64>() - target).abs());
        }
        if exact && !(gap < MEET) {
            let message =
                format!("gapes by {gap:.3e} (m or rad) at the start; move the bodies so that it holds");
            notes.error("", message);
            return;
        }
        match joint.stiffness {
            Stiffness::Hard => {
                self.out.rows.extend(parts.rows.into_iter().map(|(vector, _)| LinearRow {
                    joint: k,
                    value: -vector.constant,
                    terms: vector.terms,
                }));
            }
            Stiffness::Gains { kp, kd } if !parts.rows.is_empty() => {
                let spring = |(vector, share): (BlockVector, f64)| LinearSpring {
                    value: -vector.constant,
                    terms: vector.terms,
                    kp: kp * share,
                    kd: kd * share,
                };
                self.soft.push((name.into(), parts.rows.into_iter().map(spring).collect()));
            }
            Stiffness::Gains { .. } => {}
            Stiffness::Given(_) => {
                notes.error("stiffness", "`ipc` takes gains kp and kd, not ε and r");
                return;
            }
        }
        for (measures, target) in parts.holds {
            let role = match joint.stiffness {
                Stiffness::Gains { kp, kd } => JointRole::Spring { target, kp, kd, max: f64::INFINITY },
                _ => JointRole::Hold { target },
            };
            let c = self.coordinate(measures);
            self.term(name.to_string(), c, role);
        }
        let own = first..self.out.joints.terms.len();
        let angle = parts.angle.map(|m| self.coordinate(vec![(1.0, m)]));
        let position = parts.position.map(|m| self.coordinate(vec![(1.0, m)]));
        let axis = match joint.kind {
            JointType::Slider => position,
            _ => angle,
        };
        self.axis_terms(name, joint, axis, notes);
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

    fn term(&mut self, name: String, coordinate: u32, role: JointRole) {
        self.out.joints.terms.push(JointTerm { name, coordinate, role });
    }

    fn axis_terms(&mut self, name: &str, j: &JointItem, axis: Option<u32>, notes: &mut Notes) {
        let (kp, kd) = match j.limit_stiffness {
            Stiffness::Gains { kp, kd } => (kp, kd),
            _ => (f64::INFINITY, 0.0),
        };
        let mut roles: Vec<(&str, &'static str, JointRole)> = Vec::new();
        if let Some([low, high]) = j.limits {
            roles.push(("lower", "limits", JointRole::Lower { low, kp, kd }));
            roles.push(("upper", "limits", JointRole::Upper { high, kp, kd }));
        }
        match j.motor {
            Some(Motor::Velocity { target, max }) => {
                roles.push(("motor", "motor", JointRole::Rate { rate: target, max }));
            }
            Some(Motor::Position { target, kp, kd, max }) => {
                roles.push(("motor", "motor", JointRole::Spring { target, kp, kd, max }));
            }
            Some(Motor::Effort(e)) => roles.push(("motor", "motor", JointRole::Effort(e))),
            None => {}
        }
        if j.damping > 0.0 {
            let role = JointRole::Spring { target: 0.0, kp: 0.0, kd: j.damping, max: f64::INFINITY };
            roles.push(("damping", "damping", role));
        }
        if j.friction > 0.0 {
            roles.push(("friction", "friction", JointRole::Rate { rate: 0.0, max: j.friction }));
        }
        if j.armature > 0.0 {
            roles.push(("armature", "armature", JointRole::Armature(j.armature)));
        }
        for (part, key, role) in roles {
            match axis {
                Some(c) => self.term(format!("{name}.{part}"), c, role),
                None => notes.error(
                    key,
                    "the joint has no single coordinate; hinge, slider, cylindrical and screw have",
                ),
            }
        }
    }

    fn gear(&mut self, gear: &super::Gear, notes: &mut Notes) {
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
        let z = self.flat();
        let measures = &self.out.joints.measures;
        let target = parts.iter().map(|(f, m)| f * measures[*m as usize].value(&z)).sum();
        let role = match gear.stiffness {
            Stiffness::Hard => JointRole::Hold { target },
            Stiffness::Gains { kp, kd } => {
                notes.not_negative("kp", kp);
                notes.not_negative("kd", kd);
                JointRole::Spring { target, kp, kd, max: f64::INFINITY }
            }
            Stiffness::Given(_) => {
                notes.error("stiffness", "`ipc` takes gains kp and kd, not ε and r");
                return;
            }
        };
        let joints = &mut self.out.joints;
        joints.coordinates.push(JointCoordinate { parts });
        let c = joints.coordinates.len() as u32 - 1;
        let first = joints.terms.len();
        self.term(gear.name.clone(), c, role);
        let own = first..first + 1;
        let rows = self.out.rows.len()..self.out.rows.len();
        self.out.joints.joints.push(AffineJoint {
            name: gear.name.clone(),
            rows,
            all: own.clone(),
            own,
            ..AffineJoint::default()
        });
        self.out.sides.push((JointType::Ball, gear.joints.clone()));
    }

    /// A body, a particle or the world by its name.
    fn side(&self, text: &str, notes: &mut Notes) -> Option<Side> {
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
