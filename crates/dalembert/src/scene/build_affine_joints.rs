//! Joints of affine bodies as equations between blocks.
//!
//! A material point X of an affine body is $\sum_j w_j z_j$ with $w = (1, X)$. So "two points stay together" is
//! $\sum w_a z_a - \sum w_b z_b = 0$, exactly linear: a ball joint is one such pair of points, a hinge two on its axis, a
//! fixed joint four that span space.

use super::build::{Names, Notes};
use super::build_deformable::{Expanded, Rest};
use super::mechanism::{Anchors, JointItem, JointType, Stiffness};
use super::{CustomForce, Scene};
use crate::forces::nary::{LinearSpring, LinearSprings};
use crate::math::{Mat3, Vec3};
use crate::model::{Block, BlockKind, LinearRow};
use crate::step::Method;

/// Something that a joint holds: its first block and how points of the world follow from its blocks.
#[derive(Clone, Copy)]
enum Side {
    World,
    Particle(usize),
    /// First block, centre of mass and deformation at the start, centre of mass in its own frame.
    Body(usize, Vec3, Mat3, Vec3),
}

impl Side {
    /// Weights of the blocks for the material point that is at `place` at the start, times `sign`; the world's part goes
    /// to the constant.
    fn terms(&self, place: &Vec3, sign: f64, row: &mut LinearRow) {
        match *self {
            Side::World => row.value -= sign * place,
            Side::Particle(i) => row.terms.push((i as u32, sign)),
            Side::Body(first, p, A, _) => {
                let X = A.transpose() * (place - p);
                row.terms.push((first as u32, sign));
                for k in 0..3 {
                    row.terms.push((first as u32 + 1 + k as u32, sign * X[k]));
                }
            }
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

/// Takes the joints of the scene: exact ones as rows, soft ones as forces of the scene.
pub(super) fn joints(
    scene: &mut Scene,
    expanded: &Expanded,
    blocks: &[Block],
    names: &Names,
    x: &[Vec3],
    particles: usize,
    notes: &mut Notes,
) -> Vec<LinearRow> {
    if !matches!(scene.method, Method::Ipc(_)) {
        return Vec::new();
    }
    let mut out = Vec::new();
    for (k, joint) in std::mem::take(&mut scene.joint).into_iter().enumerate() {
        notes.at("joint", k, &joint.name);
        let mut side = |text: &str| side(text, expanded, blocks, names, x, particles, notes);
        let (a, b) = (side(&joint.between[0]), side(&joint.between[1]));
        let (Some(a), Some(b)) = (a, b) else { continue };
        let extra = joint.limits.is_some()
            || joint.motor.is_some()
            || joint.damping != 0.0
            || joint.friction != 0.0
            || joint.armature != 0.0
            || joint.break_force.is_some();
        if extra {
            notes.error(
                "",
                "limits, motors, damping, friction, armature and breaking of joints are not known to `ipc` yet; `impulse` knows them",
            );
            continue;
        }
        let Some(points) = points(&joint, &a, &b, x, notes) else { continue };
        let rows = points.iter().map(|(at, on_b)| {
            let mut row = LinearRow { joint: k, terms: Vec::new(), value: Vec3::zeros() };
            a.terms(at, 1.0, &mut row);
            b.terms(on_b, -1.0, &mut row);
            row
        });
        match joint.stiffness {
            Stiffness::Hard => out.extend(rows),
            Stiffness::Gains { kp, kd } => {
                let springs = rows.map(|row| LinearSpring { terms: row.terms, value: row.value, kp, kd });
                let springs: Vec<LinearSpring> = springs.collect();
                let name = if joint.name.is_empty() { format!("joint{k}") } else { joint.name.clone() };
                scene.custom.push(CustomForce {
                    name,
                    on: Vec::new(),
                    most: usize::MAX,
                    make: Box::new(move |_| Box::new(LinearSprings { springs })),
                });
            }
            Stiffness::Given(_) => notes.error("stiffness", "`ipc` takes gains kp and kd, not ε and r"),
        }
    }
    for (k, gear) in scene.gear.iter().enumerate() {
        notes.at("gear", k, &gear.name);
        notes.error("", "gears are not known to `ipc`; `impulse` and `lagrange` know them");
    }
    out
}

/// A body, a particle or the world by its name.
fn side(
    text: &str,
    expanded: &Expanded,
    blocks: &[Block],
    names: &Names,
    x: &[Vec3],
    particles: usize,
    notes: &mut Notes,
) -> Option<Side> {
    if text == "world" {
        return Some(Side::World);
    }
    if let Some((set, block)) =
        blocks.iter().enumerate().find(|(_, b)| b.name == text && b.kind == BlockKind::Affine)
    {
        let i = block.points.start;
        let A = Mat3::from_columns(&[x[i + 1], x[i + 2], x[i + 3]]);
        let center = expanded.rest.iter().find_map(|(s, rest)| match rest {
            Rest::Affine { center } if *s == set => Some(*center),
            _ => None,
        })?;
        return Some(Side::Body(i, x[i], A, center));
    }
    let others: Vec<String> = blocks.iter().map(|b| b.name.clone()).chain(["world".to_string()]).collect();
    let point = names.one_or(notes, "between", text, &others)?;
    if point.index() >= particles {
        notes.error(
            "between",
            format!("`{text}` is carried by something else; name the body that carries it"),
        );
        return None;
    }
    Some(Side::Particle(point.index()))
}

/// Pairs of places in the world, on the first and on the second side, that the joint holds together.
fn points(joint: &JointItem, a: &Side, b: &Side, x: &[Vec3], notes: &mut Notes) -> Option<Vec<(Vec3, Vec3)>> {
    let (on_a, on_b) = match joint.anchors {
        Anchors::World(p) => (p, p),
        Anchors::Default => {
            let p = b.world(&Vec3::zeros(), x);
            (p, p)
        }
        Anchors::Local([p, q]) => (a.world(&p, x), b.world(&q, x)),
    };
    let (on_a, on_b) = match (a, b) {
        (Side::Particle(i), _) => (x[*i], on_b),
        (_, Side::Particle(i)) => (on_a, x[*i]),
        _ => (on_a, on_b),
    };
    let both = |arm: Vec3| (on_a + arm, on_b + arm);
    let has_axes = |side: &Side| !matches!(side, Side::Particle(_));
    let turning = has_axes(a) && has_axes(b);
    match joint.kind {
        JointType::Ball => Some(vec![both(Vec3::zeros())]),
        JointType::Hinge if turning => match joint.axis.try_normalize(1e-300) {
            Some(axis) => Some(vec![both(Vec3::zeros()), both(axis * arm(a, b))]),
            None => {
                notes.error("axis", "is no direction");
                None
            }
        },
        JointType::Fixed if turning => {
            let l = arm(a, b);
            Some([Vec3::zeros(), l * Vec3::x(), l * Vec3::y(), l * Vec3::z()].map(both).to_vec())
        }
        JointType::Fixed | JointType::Hinge => {
            notes.error("kind", "a particle has no axes; a `ball` holds it");
            None
        }
        _ => {
            notes.error(
                "kind",
                "`ipc` knows the joints `ball`, `hinge` and `fixed`; `impulse` knows the others",
            );
            None
        }
    }
}

/// Arm of the second point of a hinge \[m\]. Any length gives the same joint; one metre keeps kp in N·m/rad.
fn arm(_a: &Side, _b: &Side) -> f64 {
    1.0
}
