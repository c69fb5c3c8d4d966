//! Rods: particles, springs, bends and markers along a line.
//!
//! A rod of round section has A = πr², I = πr⁴/4 and J = πr⁴/2. Its mass lies in the nodes, half of an edge at each end.
//! With twist each edge has a marker, half an edge away from its middle. The marker has no weight of its own; what it has is
//! the inertia of the section turning about the rod, as μ|v_m − (v_a + v_b)/2|²/2 between it and the middle of its edge,
//! with μ d² = ρ J ℓ for the distance d. So the rod has the mass, the centre of mass and the spin of the real one.

use super::build_contact::Skin;
use super::diagnostics::Diagnostics;
use super::expanded::{Expanded, Origin, force_on, needs_implicit, refuse, shifted, touching};
use super::keys::*;
use super::{Arrangement, CustomForce, Fix, MOST_POINTS, Masses, ParticleSet, Scene, Velocities};
use crate::describe::short::*;
use crate::describe::{Field, Findings, Kind, Rule, Table, View, Word, table};
use crate::forces::Force;
use crate::forces::nary::{
    BendLaw, ElementError, RodBends, RodClamp, RodClamps, RodFrameClamp, RodFrameClamps, RodJoints,
    rod_markers, rod_stretch,
};
use crate::math::Vec3;
use crate::math::rotation::frame_with_axis;
use crate::state::{BlockKind, PointId};
use std::f64::consts::PI;

const LINE: Table = Table::new(
    "rod_line",
    "A straight rod of equal edges.",
    &[
        Field::required("from", VEC3, "m", "First node."),
        Field::required("to", VEC3, "m", "Last node."),
        Field::required("edges", integer(1, 100_000), "", "Number of edges."),
    ],
);

/// Keys of the nodes.
const NODES: &[Field] = &[
    Field::optional(
        "points",
        list(&Kind::VEC3, 2, MOST_POINTS),
        "m",
        "Its nodes, in the world, at rest and at the start.",
    ),
    Field::optional("line", Kind::Table(const { &LINE }), "", "A straight rod."),
];

const ENDS: Kind = Kind::Word(&[
    Word::new("start", "The first node."),
    Word::new("end", "The last node."),
    Word::new("both", "Both."),
]);

table! {
    /// A thin rod of round section: a set of particles of its name along a line. It resists stretching, bending and,
    /// with `twist`, twisting; its energies are `energy.NAME`, `energy.NAME bending` (with twist) and `energy.NAME
    /// clamp`.
    #[derive(Debug, Clone, PartialEq)]
    pub struct Rod: "rod" {
        /// Name, unique in the scene.
        name: String = &[NAME];
        /// Its nodes at rest and at the start.
        points: Vec<Vec3> = NODES;
        /// Radius of its section.
        radius: f64 = number(2.5e-3), POSITIVE, "m";
        /// Young's modulus.
        young: f64 = number(1e7), POSITIVE, "Pa";
        /// Poisson's ratio.
        poisson: f64 = &[POISSON];
        /// Density.
        density: f64 = number(1000.0), POSITIVE, "kg/m³";
        /// Whether it resists twisting, and keeps the shape that `points` give it; for the method `implicit`.
        /// Without it a rod is straight at rest.
        twist: bool = FALSE, BOOL, "";
        /// Ends that are held together with the direction of the rod there.
        clamped: [bool; 2] = OPTIONAL, ENDS, "";
        /// Velocity of all of it.
        velocity: Vec3 = ORIGIN, VEC3, "m/s";
    }
    rules [Rule::ExactlyOne(&["points", "line"])]
    finish from_line
}

impl Rod {
    /// A free rod through the given nodes, 5 mm thick, E = 10 MPa, 1000 kg/m³, at rest.
    pub fn new(name: impl Into<String>, points: Vec<Vec3>) -> Self {
        Self { name: name.into(), points, ..Self::default() }
    }
}

/// The nodes of a straight rod, and the ends that a word names.
fn from_line(mut rod: Rod, t: &View<'_>, _: &mut Findings) -> Rod {
    if let Some(line) = t.table("line") {
        let (from, to) = (Vec3::from(line.vec3("from")), Vec3::from(line.vec3("to")));
        let n = line.item::<usize>("edges").unwrap_or(1).max(1);
        rod.points = (0..=n).map(|i| from.lerp(&to, i as f64 / n as f64)).collect();
    }
    let ends = t.maybe_text("clamped").unwrap_or_default();
    rod.clamped = [ends == "start" || ends == "both", ends == "end" || ends == "both"];
    rod
}

/// Markers of a rod, which come after all places.
pub(super) struct Markers {
    origin: Origin,
    set: ParticleSet,
    /// Set of the rod, and inertia μ \[kg\] of each marker.
    rod: usize,
    inertia: Vec<f64>,
}

/// Particles and forces of a rod; its markers wait in `out`.
pub(super) fn expand(
    body: &Rod,
    origin: Origin,
    scene: &mut Scene,
    notes: &mut Diagnostics,
    out: &mut Expanded,
) {
    let numbers = [("radius", body.radius), ("young", body.young), ("density", body.density)];
    let mut sound = numbers.into_iter().all(|(key, x)| notes.positive(key, x));
    sound &= notes.finite3("velocity", &body.velocity);
    sound &= body.points.iter().all(|p| notes.finite3("points", p));
    if !(body.poisson > -1.0 && body.poisson < 0.5) {
        notes.error("poisson", format!("must be between -1 and 0.5, but is {}", body.poisson));
        sound = false;
    }
    if body.points.len() < 2 {
        notes.error("points", "a rod needs two points or more");
        sound = false;
    }
    if body.twist {
        needs_implicit("rods with twist", "twist", scene, notes);
    }
    if !sound {
        return;
    }
    let Some(directions) = directions(body, notes) else { return };
    let (r, E) = (body.radius, body.young);
    let (EA, EI) = (E * PI * r * r, 0.25 * E * PI * r.powi(4));
    let GJ = E / (2.0 * (1.0 + body.poisson)) * 0.5 * PI * r.powi(4);
    let lengths: Vec<f64> = body.points.windows(2).map(|w| (w[1] - w[0]).norm()).collect();
    let mut masses = vec![0.0; body.points.len()];
    for (i, l) in lengths.iter().enumerate() {
        let half = 0.5 * body.density * PI * r * r * l;
        masses[i] += half;
        masses[i + 1] += half;
    }
    let (n, set) = (body.points.len(), scene.particles.len());
    let made = particles(&body.name, body.points.clone(), masses, body.velocity);
    let radius = touching(scene, body.radius);
    scene.particles.push(ParticleSet { radius, ..made });
    out.origins.push(origin);
    let segments = (1..n as u32).map(|i| [i - 1, i]).collect();
    out.skins.push(Skin {
        set,
        material: None,
        triangles: Vec::new(),
        segments,
        radius: r,
        reach: Vec3::zeros(),
        stiffness: 0.0,
    });
    out.lines.push((set, (1..n as u32).map(|i| [i - 1, i]).collect(), r));
    let chain = move |first: usize| (first..first + n).map(|i| PointId(i as u32)).collect::<Vec<_>>();

    let rest = body.points.clone();
    let stretch = move |first| rod_stretch(&shifted(&rest, first), &chain(first), EA, 0.0);
    match stretch(0) {
        Ok(trial) => {
            scene.custom.push(force_on(&body.name, move |f| Box::new(stretch(f).unwrap_or(trial))));
        }
        Err(error) => return refuse(notes, &error),
    }
    for (held, node) in body.clamped.into_iter().zip([0, n - 1]) {
        if held {
            scene.fix.push(Fix::points(format!("{}[{node}]", body.name)));
        }
    }
    if body.twist {
        frames(body, origin, &directions, [EA, EI, GJ], scene, notes, out);
        return;
    }
    let rest = body.points.clone();
    let bend = move |first| RodBends::chain(&shifted(&rest, first), &chain(first), EI, BendLaw::Angle);
    match bend(0) {
        Ok(trial) => {
            let mut force = force_on(&body.name, move |f| Box::new(bend(f).unwrap_or(trial)));
            force.name = format!("{} bending", body.name);
            scene.custom.push(force);
        }
        Err(error) => return refuse(notes, &error),
    }
    if body.clamped != [false; 2] {
        let (points, held) = (body.points.clone(), body.clamped);
        let mut force = force_on(&body.name, move |first| {
            let id = |i: usize| PointId((first + i) as u32);
            let clamp = |a: usize, b: usize| RodClamp {
                points: [id(a), id(b)],
                direction: points[b] - points[a],
                stiffness: 2.0 * EI / (points[b] - points[a]).norm(),
                law: BendLaw::Angle,
            };
            let ends = [clamp(0, 1), clamp(n - 1, n - 2)];
            Box::new(RodClamps::new(ends.into_iter().zip(held).filter(|e| e.1).map(|e| e.0).collect()))
        });
        force.name = format!("{} clamp", body.name);
        scene.custom.push(force);
    }
}

fn particles(name: &str, points: Vec<Vec3>, masses: Vec<f64>, velocity: Vec3) -> ParticleSet {
    ParticleSet {
        name: name.to_string(),
        arrangement: Arrangement::Positions(points),
        position: Vec3::zeros(),
        mass: Masses::List(masses),
        velocity: Velocities::Each(velocity),
        radius: None,
    }
}

/// A direction across each edge, carried along without twist.
fn directions(body: &Rod, notes: &mut Diagnostics) -> Option<Vec<Vec3>> {
    let mut tangents = Vec::with_capacity(body.points.len() - 1);
    for (i, w) in body.points.windows(2).enumerate() {
        match (w[1] - w[0]).try_normalize(1e-12 * w[0].norm().max(w[1].norm())) {
            Some(t) => tangents.push(t),
            None => {
                notes.error("points", format!("points {i} and {} of the rod are in one place", i + 1));
                return None;
            }
        }
    }
    let mut out = vec![frame_with_axis(&tangents[0]) * Vec3::x()];
    for (i, w) in tangents.windows(2).enumerate() {
        let (c, bend) = (w[0].dot(&w[1]), w[0].cross(&w[1]).norm());
        if c < -0.99 {
            notes.error("points", format!("the rod folds back on itself at point {}", i + 1));
            return None;
        }
        if !body.twist && bend > 1e-6 {
            let message = format!(
                "the rod is bent by {:.3} rad at point {}: one that is not straight at rest needs `twist = true`",
                bend.atan2(c),
                i + 1
            );
            notes.error("points", message);
            return None;
        }
        let m = out[i];
        out.push((m - (w[0] + w[1]) * (m.dot(&w[1]) / (1.0 + c))).normalize());
    }
    Some(out)
}

/// Markers of all edges, what holds them, and the joints between them.
fn frames(
    body: &Rod,
    origin: Origin,
    directions: &[Vec3],
    [EA, EI, GJ]: [f64; 3],
    scene: &mut Scene,
    notes: &mut Diagnostics,
    out: &mut Expanded,
) {
    let n = body.points.len();
    let mut places = body.points.clone();
    let mut inertia = Vec::new();
    let mut stiffness = f64::INFINITY;
    for (w, m) in body.points.windows(2).zip(directions) {
        let l = (w[1] - w[0]).norm();
        places.push((w[0] + w[1]) * 0.5 + m * (0.5 * l));
        inertia.push(body.density * 0.5 * PI * body.radius.powi(4) * l / (0.25 * l * l));
        stiffness = stiffness.min(EA / l);
    }
    let name = format!("{} markers", body.name);
    let set = particles(&name, places[n..].to_vec(), vec![0.0; n - 1], body.velocity);
    out.markers.push(Markers { origin, set, rod: scene.particles.len() - 1, inertia });

    // Points of the rod, then its markers.
    let chain: Vec<PointId> = (0..n as u32).map(PointId).collect();
    let markers: Vec<PointId> = (n as u32..places.len() as u32).map(PointId).collect();
    let hold = rod_markers(&places, &chain, &markers, stiffness);
    let joints = RodJoints::chain(&places, &chain, &markers, [EI; 2], GJ);
    let (hold, joints) = match (hold, joints) {
        (Ok(hold), Ok(joints)) => (hold, joints),
        (Err(error), _) | (_, Err(error)) => return refuse(notes, &error),
    };
    let mut add = |what: &str, make: Box<dyn FnOnce(Vec<usize>) -> Box<dyn Force> + Send>| {
        scene.custom.push(CustomForce {
            name: format!("{} {what}", body.name),
            on: vec![body.name.clone(), name.clone()],
            most: usize::MAX,
            make,
        });
    };
    let at = |points: &[usize], i: PointId| PointId(points[i.index()] as u32);
    add(
        "markers",
        Box::new(move |points| {
            let springs = hold.as_slice().iter().map(|s| {
                let mut s = *s;
                s.ends = s.ends.map(|i| at(&points, i));
                s
            });
            Box::new(crate::forces::nary::Springs::new(springs.collect()))
        }),
    );
    add(
        "bending",
        Box::new(move |points| {
            let joints = joints.as_slice().iter().map(|j| {
                let mut j = *j;
                j.points = j.points.map(|i| at(&points, i));
                j
            });
            Box::new(RodJoints::new(joints.collect()))
        }),
    );
    let clamp = |node: usize, next: usize, marker: usize| -> Result<RodFrameClamp, ElementError> {
        let own = [node, next, marker];
        RodFrameClamp::new(own.map(|i| PointId(i as u32)), &own.map(|i| places[i]), [EI; 2], GJ)
    };
    let ends = [clamp(0, 1, n), clamp(n - 1, n - 2, 2 * n - 2)];
    let held: Vec<RodFrameClamp> =
        ends.into_iter().zip(body.clamped).filter(|e| e.1).filter_map(|e| e.0.ok()).collect();
    if !held.is_empty() {
        add(
            "clamp",
            Box::new(move |points| {
                let held = held.into_iter().map(|mut c| {
                    c.points = c.points.map(|i| at(&points, i));
                    c
                });
                Box::new(RodFrameClamps::new(held.collect()))
            }),
        );
    }
}

/// Adds the markers of all rods, after all sets of places.
pub(super) fn add_markers(scene: &mut Scene, out: &mut Expanded) {
    // Counts may overflow where the scene is too large, which is told later.
    let mut first: Vec<usize> = vec![0];
    for set in &scene.particles {
        first.push(first[first.len() - 1].saturating_add(set.arrangement.count()));
    }
    let mut next = first[first.len() - 1];
    for Markers { origin, set, rod, inertia } in std::mem::take(&mut out.markers) {
        let mut shared = Vec::new();
        for (i, mu) in inertia.iter().enumerate() {
            let (a, b, m) = (i as u32, i as u32 + 1, (next - first[rod]).saturating_add(i) as u32);
            shared.extend([(a, a, 0.25 * mu), (b, b, 0.25 * mu), (a, b, 0.25 * mu)]);
            shared.extend([(m, m, *mu), (a, m, -0.5 * mu), (b, m, -0.5 * mu)]);
        }
        next = next.saturating_add(inertia.len());
        out.shared.push((rod, shared));
        out.origins.push(Origin { kind: BlockKind::Markers, masses_known: true, ..origin });
        scene.particles.push(set);
    }
}
