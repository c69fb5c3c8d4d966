//! One registry of samples: the law tests loop over it, and a new force, mapping or filter adds itself here.

use std::sync::Arc;

use super::{self as check, Advance};
use crate::bodies::Rigid;
use crate::filters::{Filters, Motion};
use crate::forces::nary::{
    AffineBodies, AffineEnergy, AffineStiffness, AngularSpring, AngularSprings, BendLaw, EdgeMoment, HexKind,
    Hexes, Hinges, Law, Material, Membranes, Pressure, QuadraticHinges, QuadraticTets, RodBends, RodClamp,
    RodClamps, RodFrameClamp, RodFrameClamps, RodJoints, Spring, Springs, TET_EDGES, Tets, Traction,
    TupleClosure, Weave, WovenCloth, rod_markers, rod_stretch,
};
use crate::forces::spatial::{AllPairs, NearPairs, PairLaw};
use crate::forces::unary::{
    Attraction, Attractor, Drag, Gravity, Obstacle, ObstacleShape, Penalty, PointClosure, Push,
};
use crate::forces::{Force, Points};
use crate::joints::{
    Axis, AxisRow, Body, Constraint, Coupler, Coupling, End, Equations, Holder, Joint, JointKind, Role,
    Track, UserConstraint,
};
use crate::mapping::{Identity, Mapping, RigidPoints, Skinning, Subset, Weighted};
use crate::math::rotation;
use crate::math::{Random, Scalar, Signal, Vec3};
use crate::mesh::Weights;
use crate::state::{Layout, PointId, PointSet};

/// Twelve points in general position with velocities and masses, for forces to act on.
#[derive(Debug, Clone)]
pub struct Cluster {
    /// Positions \[m\].
    pub x: Vec<f64>,
    /// Velocities \[m/s\].
    pub v: Vec<f64>,
    /// Masses \[kg\].
    pub mass: Vec<f64>,
}

impl Cluster {
    /// Points on a jittered lattice, so that no two are close to each other.
    pub fn new(seed: u64) -> Self {
        let mut random = Random::new(seed);
        let n = 12;
        let mut x = Vec::new();
        for i in 0..n {
            for k in [i % 3, i / 3 % 2, i / 6] {
                x.push(0.8 * k as f64 + random.between(-0.15, 0.15));
            }
        }
        let v = (0..3 * n).map(|_| random.between(-1.0, 1.0)).collect();
        let mass = (0..n).map(|_| random.between(0.5, 2.0)).collect();
        Self { x, v, mass }
    }

    /// The view that forces take.
    pub fn points(&self) -> Points<'_> {
        Points { time: 0.37, first: 0, x: &self.x, v: &self.v, mass: &self.mass }
    }
}

/// A force and what is special about it.
pub struct ForceSample {
    /// Name, for messages.
    pub name: &'static str,
    /// The batch.
    pub force: Box<dyn Force>,
    /// It obeys the turning law: its force turns with the scene.
    pub turns: bool,
}

/// One sample of every force.
pub fn forces() -> Vec<ForceSample> {
    [on_points(), between_points(), between_pairs(), solids(), sheets(), rods(), loads(), obstacles()]
        .into_iter()
        .flatten()
        .collect()
}

fn sample(name: &'static str, force: Box<dyn Force>, turns: bool) -> ForceSample {
    ForceSample { name, force, turns }
}

fn on_points() -> Vec<ForceSample> {
    let on = || PointSet::new([0, 1, 2, 5, 7, 11]);
    vec![
        sample("gravity", Box::new(Gravity { acceleration: Vec3::new(0.3, -1.0, -9.81) }), false),
        sample(
            "viscous drag",
            Box::new(Drag { on: on(), linear: 0.4, quadratic: 0.0, wind: Vec3::zeros() }),
            true,
        ),
        sample(
            "quadratic drag",
            Box::new(Drag { on: on(), linear: 0.1, quadratic: 0.7, wind: Vec3::zeros() }),
            true,
        ),
        sample(
            "constant push",
            Box::new(Push { on: on(), force: Vec3::new(1.0, 2.0, 3.0), signal: Signal::Constant }),
            false,
        ),
        sample(
            "push over time",
            Box::new(Push {
                on: on(),
                force: Vec3::new(1.0, 2.0, 3.0),
                signal: Signal::Sine { frequency: 2.0, phase: 0.1 },
            }),
            false,
        ),
        sample(
            "inverse attractor",
            Box::new(Attractor {
                on: on(),
                center: Vec3::new(0.4, 0.3, -1.0),
                law: Attraction::Inverse { mu: 3.0, softening: 0.1 },
            }),
            false,
        ),
        sample(
            "spring attractor",
            Box::new(Attractor {
                on: on(),
                center: Vec3::zeros(),
                law: Attraction::Spring { stiffness: 7.0 },
            }),
            true,
        ),
        sample(
            "user closure on points",
            Box::new(PointClosure {
                on: on(),
                force: Box::new(|_, x, _, m| -m * x * x.norm_squared()),
                energy: Some(Box::new(|_, x, m| 0.25 * m * x.norm_squared().powi(2))),
            }),
            true,
        ),
    ]
}

fn between_points() -> Vec<ForceSample> {
    let id = |i: u32| PointId(i);
    let spring = |a, b, damping| Spring { ends: [id(a), id(b)], stiffness: 40.0, rest_length: 0.6, damping };
    let affine = |columns: [u32; 3], energy| AffineStiffness {
        columns: columns.map(id),
        stiffness: 2.0,
        volume: 0.4,
        energy,
    };
    vec![
        sample(
            "springs",
            Box::new(Springs::new(vec![spring(0, 1, 0.0), spring(1, 2, 0.0), spring(5, 11, 0.0)])),
            true,
        ),
        sample(
            "damped springs",
            Box::new(Springs::new(vec![spring(0, 1, 3.0), spring(1, 2, 1.5), spring(5, 11, 0.2)])),
            true,
        ),
        sample(
            "springs of no rest length",
            Box::new(Springs::new(vec![Spring {
                ends: [id(3), id(4)],
                stiffness: 5.0,
                rest_length: 0.0,
                damping: 0.0,
            }])),
            true,
        ),
        sample(
            "angular springs",
            Box::new(AngularSprings {
                springs: vec![
                    AngularSpring {
                        points: [id(0), id(1), id(2)],
                        stiffness: 2.0,
                        rest_angle: std::f64::consts::PI,
                    },
                    AngularSpring { points: [id(3), id(7), id(11)], stiffness: 3.0, rest_angle: 1.1 },
                    AngularSpring { points: [id(4), id(5), id(8)], stiffness: 1.0, rest_angle: 0.0 },
                ],
            }),
            true,
        ),
        sample(
            "affine bodies",
            Box::new(AffineBodies {
                bodies: vec![
                    // Turned the right way round, inside out, and flat.
                    affine([1, 3, 6], AffineEnergy::Orthogonality),
                    affine([8, 9, 4], AffineEnergy::Orthogonality),
                    affine([0, 1, 2], AffineEnergy::Orthogonality),
                ],
            }),
            true,
        ),
        sample(
            "affine bodies, as rigid as possible",
            Box::new(AffineBodies { bodies: vec![affine([1, 3, 6], AffineEnergy::AsRigidAsPossible)] }),
            true,
        ),
        sample(
            "user closure on tuples",
            Box::new(TupleClosure {
                points: [0, 1, 2, 6, 7, 8].map(id).to_vec(),
                k: 3,
                force: Box::new(|_, x, _, f| {
                    let c = (x[0] + x[1] + x[2]) / 3.0;
                    for i in 0..3 {
                        f[i] = -2.0 * (x[i] - c);
                    }
                }),
                energy: Some(Box::new(|_, x| {
                    let c = (x[0] + x[1] + x[2]) / 3.0;
                    x.iter().map(|x| (x - c).norm_squared()).sum()
                })),
                internal: true,
            }),
            true,
        ),
    ]
}

fn between_pairs() -> Vec<ForceSample> {
    let all = || (0..12u32).collect::<Vec<_>>();
    vec![
        sample(
            "Lennard-Jones within a radius",
            Box::new(NearPairs::new(all(), PairLaw::LennardJones { epsilon: 0.3, sigma: 0.7 }, 1.3)),
            true,
        ),
        sample(
            "soft repulsion",
            Box::new(NearPairs::new(all(), PairLaw::SoftRepulsion { stiffness: 20.0, diameter: 0.9 }, 0.9)),
            true,
        ),
        sample(
            "gravitation within a radius",
            Box::new(NearPairs::new(all(), PairLaw::Gravitation { constant: 2.0, softening: 0.05 }, 1.1)),
            true,
        ),
        sample(
            "gravitation of all pairs",
            Box::new(AllPairs { on: all(), law: PairLaw::Gravitation { constant: 2.0, softening: 0.0 } }),
            true,
        ),
        sample(
            "user pair law",
            Box::new(AllPairs {
                on: vec![1, 4, 9],
                law: PairLaw::Custom(Arc::new(|r| ((-r).exp(), -(-r).exp(), (-r).exp()))),
            }),
            true,
        ),
    ]
}

/// Where the twelve points rest: a cluster of its own, so that every element of a sample is strained.
fn rest() -> Vec<Vec3> {
    Cluster::new(99).x.chunks(3).map(Vec3::from_column_slice).collect()
}

/// One batch of every solid element and law.
fn solids() -> Vec<ForceSample> {
    let rest = rest();
    // Ten of the twelve tetrahedra of the two cubes that the points make.
    let tets: Vec<[PointId; 4]> = [
        [0, 1, 4, 10],
        [0, 4, 3, 10],
        [0, 3, 9, 10],
        [0, 9, 6, 10],
        [0, 6, 7, 10],
        [0, 7, 1, 10],
        [1, 2, 5, 11],
        [1, 5, 4, 11],
        [1, 4, 10, 11],
        [1, 10, 7, 11],
    ]
    .map(|t: [u32; 4]| t.map(PointId))
    .to_vec();
    let mut list = Vec::new();
    for (name, law) in [
        ("linear tetrahedra", Law::Linear),
        ("corotated tetrahedra", Law::Corotated),
        ("StVenant-Kirchhoff tetrahedra", Law::StVenantKirchhoff),
        ("neo-Hookean tetrahedra", Law::NeoHookean),
        ("stable neo-Hookean tetrahedra", Law::StableNeoHookean),
    ] {
        let material = Material { law, young: 300.0, poisson: 0.35 };
        let force = Tets::new(&rest, &tets, material).expect("the sample mesh is sound");
        list.push(ForceSample { name, force: Box::new(force), turns: law != Law::Linear });
    }
    let hexes = [[0, 1, 4, 3, 6, 7, 10, 9], [1, 2, 5, 4, 7, 8, 11, 10]].map(|h: [u32; 8]| h.map(PointId));
    for (name, law, kind) in [
        ("linear hexahedra", Law::Linear, HexKind::Plain),
        ("corotated hexahedra", Law::Corotated, HexKind::Plain),
        ("corotated hexahedra of mean dilatation", Law::Corotated, HexKind::MeanDilatation),
        ("corotated hexahedra with incompatible modes", Law::Corotated, HexKind::IncompatibleModes),
        ("StVenant-Kirchhoff hexahedra", Law::StVenantKirchhoff, HexKind::Plain),
        ("stable neo-Hookean hexahedra", Law::StableNeoHookean, HexKind::Plain),
    ] {
        let material = Material { law, young: 300.0, poisson: 0.35 };
        let force = Hexes::new(&rest, &hexes, material, kind).expect("the sample mesh is sound");
        list.push(ForceSample { name, force: Box::new(force), turns: law != Law::Linear });
    }
    // Corners 0, 2, 9, 8 of a large tetrahedron; other points stand in for the middles of its edges.
    let (mut rest, ten) = (rest, [0, 2, 9, 8, 1, 3, 4, 5, 6, 7]);
    for (k, [i, j]) in TET_EDGES.into_iter().enumerate() {
        rest[ten[4 + k]] = (rest[ten[i]] + rest[ten[j]]) * 0.5 + Vec3::new(0.02, -0.01, 0.03) * k as f64;
    }
    let ten = ten.map(|i| PointId(i as u32));
    for (name, law) in [
        ("linear quadratic tetrahedron", Law::Linear),
        ("corotated quadratic tetrahedron", Law::Corotated),
        ("StVenant-Kirchhoff quadratic tetrahedron", Law::StVenantKirchhoff),
        ("stable neo-Hookean quadratic tetrahedron", Law::StableNeoHookean),
    ] {
        let material = Material { law, young: 300.0, poisson: 0.35 };
        let force = QuadraticTets::new(&rest, &[ten], material).expect("the sample mesh is sound");
        list.push(ForceSample { name, force: Box::new(force), turns: law != Law::Linear });
    }
    list
}

/// One batch of every element of sheets, on eight triangles of the box that the points make.
fn sheets() -> Vec<ForceSample> {
    let rest = rest();
    let triangles =
        [[0, 1, 4], [0, 4, 3], [1, 2, 5], [1, 5, 4], [3, 4, 10], [3, 10, 9], [4, 5, 11], [4, 11, 10]]
            .map(|t: [u32; 3]| t.map(PointId));
    let weave = |limit| Weave { stretch: [50.0, 30.0], shear: 20.0, limit };
    let sound = "the sample mesh is sound";
    let sample = |name, force: Box<dyn Force>| ForceSample { name, force, turns: true };
    vec![
        sample("membranes", Box::new(Membranes::sheet(&rest, &triangles, 2e4, 0.3, 0.01).expect(sound))),
        sample(
            "woven cloth",
            Box::new(WovenCloth::cloth(&rest, &triangles, Vec3::x(), weave(None)).expect(sound)),
        ),
        sample(
            "woven cloth with a limit",
            Box::new(
                WovenCloth::cloth(&rest, &triangles, Vec3::new(1.0, 0.3, 0.5), weave(Some((0.05, 900.0))))
                    .expect(sound),
            ),
        ),
        sample("hinges", Box::new(Hinges::sheet(&rest, &triangles, 0.5).expect(sound))),
        sample("quadratic hinges", Box::new(QuadraticHinges::sheet(&rest, &triangles, 0.5).expect(sound))),
    ]
}

/// One batch of every part of a rod: a chain of six points, and markers beside its edges.
fn rods() -> Vec<ForceSample> {
    let rest = rest();
    let chain = [0, 1, 2, 5, 4, 3].map(PointId);
    let markers = [6, 7, 8, 11, 10].map(PointId);
    let sound = "the sample rod is sound";
    let sample = |name, force: Box<dyn Force>| ForceSample { name, force, turns: true };
    vec![
        sample("stretch of a rod", Box::new(rod_stretch(&rest, &chain, 40.0, 0.0).expect(sound))),
        sample("markers of a rod", Box::new(rod_markers(&rest, &chain, &markers, 30.0).expect(sound))),
        sample(
            "bend of a rod by angle",
            Box::new(RodBends::chain(&rest, &chain, 2.0, BendLaw::Angle).expect(sound)),
        ),
        sample(
            "bend of a rod by tangent",
            Box::new(RodBends::chain(&rest, &chain, 2.0, BendLaw::Tangent).expect(sound)),
        ),
        sample(
            "bend and twist of a rod",
            Box::new(RodJoints::chain(&rest, &chain, &markers, [2.0, 3.0], 1.5).expect(sound)),
        ),
        // A clamp holds a direction of the world.
        ForceSample {
            name: "clamp of a rod",
            force: Box::new(RodClamps::new(vec![RodClamp {
                points: [0, 1].map(PointId),
                direction: rest[1] - rest[0],
                stiffness: 4.0,
                law: BendLaw::Angle,
            }])),
            turns: false,
        },
        ForceSample {
            name: "clamp of a rod with markers",
            force: Box::new(RodFrameClamps::new(vec![
                RodFrameClamp::new([0, 1, 6].map(PointId), &[rest[0], rest[1], rest[6]], [2.0, 3.0], 1.5)
                    .expect(sound),
            ])),
            turns: false,
        },
    ]
}

/// One of every load on a surface or an edge.
fn loads() -> Vec<ForceSample> {
    let triangles = [[0, 1, 4], [0, 4, 3], [1, 2, 5], [7, 8, 11]].map(|t: [u32; 3]| t.map(PointId));
    let traction = Traction::on_triangles(&rest(), &triangles, Vec3::new(1.0, -2.0, 0.5));
    let moment = EdgeMoment {
        chain: [0, 1, 2, 5].map(PointId).to_vec(),
        normal: Vec3::new(0.6, 0.0, 0.8),
        axis: Vec3::new(0.8, 0.0, -0.6),
        moment: 3.0,
    };
    vec![
        ForceSample { name: "pressure", force: Box::new(Pressure::uniform(&triangles, 12.0)), turns: true },
        ForceSample {
            name: "traction",
            force: Box::new(traction.expect("the sample mesh is sound")),
            turns: false,
        },
        ForceSample { name: "moment on an edge", force: Box::new(moment), turns: false },
    ]
}

/// Obstacles of every shape and penalty that some of the points have entered.
fn obstacles() -> Vec<ForceSample> {
    let obstacle = |shape, damping, penalty| {
        let on = PointSet::new([0, 1, 2, 3, 5, 7, 11]);
        Box::new(Obstacle { on, shape, radius: 0.3, stiffness: 70.0, damping, penalty })
    };
    let normal = Vec3::new(0.6, 0.0, 0.8);
    let plane = ObstacleShape::Plane { point: Vec3::new(0.2, 0.1, 0.3), normal };
    let sphere = ObstacleShape::Sphere { center: Vec3::new(0.5, -0.4, 0.3), radius: 0.9 };
    let hollow = ObstacleShape::Hollow { center: Vec3::new(0.6, 0.4, 0.4), radius: 0.7 };
    let sample = |name, force: Box<dyn Force>| ForceSample { name, force, turns: false };
    vec![
        sample("plane", obstacle(plane, 0.0, Penalty::Quadratic)),
        sample("damped plane", obstacle(plane, 2.0, Penalty::Quadratic)),
        sample("sphere", obstacle(sphere, 0.0, Penalty::Cubic { depth: 0.2 })),
        sample("damped sphere", obstacle(sphere, 2.0, Penalty::Quadratic)),
        sample("hollow sphere", obstacle(hollow, 0.0, Penalty::Quadratic)),
        sample("damped hollow sphere", obstacle(hollow, 1.0, Penalty::Cubic { depth: 0.1 })),
    ]
}

/// A mapping with the layout it lives in.
pub struct MappingSample {
    /// Name, for messages.
    pub name: &'static str,
    /// The mapping.
    pub mapping: Box<dyn Mapping>,
    /// Sizes.
    pub layout: Layout,
    /// Coordinates at which to look at it.
    pub q: Vec<f64>,
    /// How coordinates of this layout move.
    pub advance: Box<Advance>,
    /// Its child's place in velocity-like vectors.
    pub child: std::ops::Range<usize>,
}

/// One sample of every mapping: some bodies and particles, and 5 carried points.
pub fn mappings() -> Vec<MappingSample> {
    let mut random = Random::new(17);
    let mut sample = |name, layout: Layout, child, mapping: Box<dyn Mapping>| {
        let mut q: Vec<f64> = (0..layout.len_q()).map(|_| random.between(-1.0, 1.0)).collect();
        // What stands before the particles are rigid bodies.
        let (rigid_q, rigid_v) = (layout.points_q(), layout.points_v());
        Rigid::advance(&mut q[..rigid_q], &vec![0.0; rigid_v]);
        let advance = move |q: &[f64], u: &[f64]| {
            let mut q = q.to_vec();
            Rigid::advance(&mut q[..rigid_q], &u[..rigid_v]);
            let points = check::add(&q[rigid_q..], &u[rigid_v..]);
            q[rigid_q..].copy_from_slice(&points);
            q
        };
        MappingSample { name, mapping, layout, q, advance: Box::new(advance), child }
    };
    let points = Layout { nq: 36, nv: 36, particles: 12, points: 17, ..Layout::default() };
    let parents = [3, 3, 0, 11, 7].map(PointId).to_vec();
    // Two rigid bodies and four particles; the second body carries.
    let bodies = Layout { nq: 14 + 12, nv: 12 + 12, rigid: 2, particles: 4, points: 9, ..Layout::default() };
    let arms: Vec<Vec3> = Cluster::new(5).points().x.chunks(3).take(5).map(Vec3::from_column_slice).collect();
    let mut weights = Weights::affine(&arms[..3]).offset(5);
    weights.push([(0, 0.2), (11, -0.7), (3, 0.9), (4, 0.1), (8, 0.5)]);
    weights.push([(2, 1.0)]);
    // Three rigid bodies and a particle; the skin follows all bodies, each point in another way.
    let frames = Layout { nq: 21 + 3, nv: 18 + 3, rigid: 3, particles: 1, points: 6, ..Layout::default() };
    let mut standing = vec![0.0; frames.len_q()];
    (0..3).for_each(|k| standing[7 * k + 3] = 1.0);
    Rigid::advance(&mut standing[..21], &[1.0, 0.3, -0.4].repeat(6));
    let mut blend = Weights::default();
    for k in 0..5 {
        blend.push((0..=k % 3).map(|body| (body, 1.0 + f64::from(k) * f64::from(body))));
    }
    vec![
        sample("identity", points, 36..51, Box::new(Identity::new(points, 4..9, 12))),
        sample("subset", points, 36..51, Box::new(Subset::new(points, parents, 12))),
        sample("rigid", bodies, 24..39, Box::new(RigidPoints::new(bodies, 7, 6, 4, arms.clone()))),
        sample("weighted", points, 36..51, Box::new(Weighted::new(points, weights, 12))),
        sample("skinning", frames, 21..36, Box::new(Skinning::new(frames, &standing, &arms, &blend, 1))),
    ]
}

/// One sample of every filter, over 12 points.
pub fn filters() -> Vec<(&'static str, Filters)> {
    let (a, b) = (Vec3::new(1.0, 2.0, -0.5), Vec3::new(0.3, -1.0, 2.0));
    let mut fixed = Filters::default();
    fixed.forbid(3, &[]);
    let mut plane = Filters::default();
    plane.forbid(0, &[a]);
    plane.forbid(11, &[b]);
    let mut line = Filters::default();
    line.forbid(5, &[a]);
    line.forbid(5, &[b]);
    let mut prescribed = Filters::default();
    prescribed.prescribe(2, Vec3::zeros(), Motion::Velocity(Vec3::x()));
    prescribed.forbid(2, &[a]);
    vec![
        ("fixed points", fixed),
        ("fixed directions", plane),
        ("two filters at one point", line),
        ("prescribed", prescribed),
    ]
}

/// A constraint with bodies in general position and motion.
pub struct ConstraintSample {
    /// Name, for messages.
    pub name: String,
    /// The constraint.
    pub constraint: Box<dyn Constraint>,
    /// Its bodies.
    pub bodies: Vec<Body>,
}

/// A bead on a circle that grows: a user's equations with time in them.
struct GrowingCircle;

impl Equations for GrowingCircle {
    fn rows(&self) -> usize {
        2
    }

    fn violation<T: Scalar>(&self, t: T, x: &[[T; 3]], out: &mut [T]) {
        let [a, b] = [x[0], x[1]];
        out[0] = (a[0] * a[0] + a[1] * a[1]).sqrt() - t.sin() - 2.0;
        out[1] = a[2] * b[0] - (b[1] * t).cos();
    }
}

/// One sample of every joint, limit, motor, coupler and user constraint.
pub fn constraints() -> Vec<ConstraintSample> {
    let mut random = Random::new(11);
    let mut vector = |size: f64| {
        Vec3::new(random.between(-size, size), random.between(-size, size), random.between(-size, size))
    };
    let mut body = || Body {
        x: vector(1.0),
        R: rotation::matrix(&rotation::exp(&vector(0.6))),
        v: vector(1.0),
        w: vector(1.0),
    };
    let four = [body(), body(), body(), body()];
    let mut end = |k: u32| End {
        holder: Holder::Rigid(k),
        anchor: vector(0.5),
        axes: rotation::matrix(&rotation::exp(&vector(0.5))),
    };
    let ends = [end(0), end(1)];
    let more = [end(2), end(3)];
    let two = || four[..2].to_vec();
    let mut out: Vec<ConstraintSample> = JointKind::ALL
        .iter()
        .filter(|kind| kind.info().rows > 0)
        .map(|kind| ConstraintSample {
            name: kind.name().into(),
            constraint: Box::new(Joint::new(*kind, ends)),
            bodies: two(),
        })
        .collect();
    for axis in [Axis::Angle, Axis::Position] {
        for role in
            [Role::Lower(-0.2), Role::Upper(0.3), Role::Servo { target: 0.1, kp: 1.0, kd: 1.0, max: 1.0 }]
        {
            out.push(ConstraintSample {
                name: format!("{axis:?} {role:?}"),
                constraint: Box::new(AxisRow::new(axis, role, ends)),
                bodies: two(),
            });
        }
    }
    for (name, axes) in
        [("gear", [Axis::Angle, Axis::Angle]), ("rack and pinion", [Axis::Position, Axis::Angle])]
    {
        let joints = [Coupling { axis: axes[0], ends }, Coupling { axis: axes[1], ends: more }];
        out.push(ConstraintSample {
            name: name.into(),
            constraint: Box::new(Coupler::new(joints, -0.4, 0.1)),
            bodies: four.to_vec(),
        });
    }
    let z = Vec3::z();
    let tracks = [
        Track::Circle { center: Vec3::x(), axis: z, radius: 0.5 },
        Track::Line { through: Vec3::x(), across: [Vec3::y(), z] },
        Track::Parabola { lowest: Vec3::y(), curvature: 0.7 },
        Track::Sphere { center: Vec3::x(), radius: 1.0 },
        Track::Cylinder { center: Vec3::x(), axis: z, radius: 1.0 },
        Track::Plane { through: Vec3::x(), normal: z },
        Track::Torus { center: Vec3::x(), ring: 1.0, tube: 0.2 },
    ];
    for track in tracks {
        out.push(ConstraintSample {
            name: format!("{track:?}"),
            constraint: Box::new(UserConstraint::new(track, &ends[..1])),
            bodies: four[..1].to_vec(),
        });
    }
    out.push(ConstraintSample {
        name: "user equations in time".into(),
        constraint: Box::new(UserConstraint::new(GrowingCircle, &ends)),
        bodies: two(),
    });
    out
}
