//! What a scene can hold. Text fields that name points take `NAME`, `NAME[i]` or `NAME[i:j]`.

use super::arrange::{Arrangement, Edges};
use super::build_coupling::ArticulationItem;
use super::build_robot::RobotItem;
use super::contact::{ContactRule, Ground};
use super::deformable::{AffineBody, Cloth, ObstacleItem, PressureItem, Rod, SoftBody};
use super::mechanism::{Bead, CustomConstraint, Gear, GeneralizedBody, JointItem, RigidBody};
use crate::filters::Motion;
use crate::forces::spatial::PairLaw;
use crate::forces::unary::Attraction;
use crate::forces::{Force, nary, unary};
use crate::math::{Signal, Vec3};
use crate::mesh::{Region, SurfaceMesh};
use crate::state::PointSet;

/// Masses of the particles of a set.
#[derive(Debug, Clone, PartialEq)]
pub enum Masses {
    /// The same for each \[kg\].
    Each(f64),
    /// Given one by one \[kg\].
    List(Vec<f64>),
    /// Divided evenly \[kg\].
    Total(f64),
}

/// Velocities of the particles of a set.
#[derive(Debug, Clone, PartialEq)]
pub enum Velocities {
    /// The same for each \[m/s\].
    Each(Vec3),
    /// Given one by one \[m/s\].
    List(Vec<Vec3>),
}

/// A named set of particles.
#[derive(Debug, Clone, PartialEq)]
pub struct ParticleSet {
    /// Name, unique in the scene.
    pub name: String,
    /// Where they lie.
    pub arrangement: Arrangement,
    /// Added to every position \[m\].
    pub position: Vec3,
    /// Masses \[kg\], > 0.
    pub mass: Masses,
    /// Velocities \[m/s\].
    pub velocity: Velocities,
    /// Radius with which each touches rigid bodies, robots and grounds under `impulse` \[m\], ≥ 0; without one they pass
    /// through. Particles do not touch each other.
    pub radius: Option<f64>,
}

impl Default for ParticleSet {
    fn default() -> Self {
        Self {
            name: String::new(),
            arrangement: Arrangement::default(),
            position: Vec3::zeros(),
            mass: Masses::Each(1.0),
            velocity: Velocities::Each(Vec3::zeros()),
            radius: None,
        }
    }
}

impl ParticleSet {
    /// A set with the given arrangement; 1 kg each, at rest.
    pub fn new(name: impl Into<String>, arrangement: Arrangement) -> Self {
        Self { name: name.into(), arrangement, ..Self::default() }
    }

    /// One particle of 1 kg at rest.
    pub fn at(name: impl Into<String>, position: [f64; 3]) -> Self {
        Self { name: name.into(), position: position.into(), ..Self::default() }
    }

    /// Sets the mass of each particle \[kg\].
    pub fn mass(mut self, each: f64) -> Self {
        self.mass = Masses::Each(each);
        self
    }

    /// Sets the velocity of each particle \[m/s\].
    pub fn velocity(mut self, each: [f64; 3]) -> Self {
        self.velocity = Velocities::Each(each.into());
        self
    }

    /// Lets each touch rigid bodies, robots and grounds under `impulse` with this radius \[m\].
    pub fn radius(mut self, radius: f64) -> Self {
        self.radius = Some(radius);
        self
    }

    /// Moves the whole set \[m\].
    pub fn position(mut self, position: [f64; 3]) -> Self {
        self.position = position.into();
        self
    }
}

/// A second name for points of other sets, points fixed to a rigid or affine body, or points inside a soft solid; with
/// forces of its own.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct MappedPoints {
    /// Name, unique in the scene.
    pub name: String,
    /// The points that carry them, sets of particles or other carried points; or one body; or several rigid bodies that
    /// carry them together.
    pub of: Vec<String>,
    /// Places in the frame of the body \[m\] (in the world for several rigid bodies); its origin if empty.
    pub at: Vec<Vec3>,
    /// A surface in that frame, whose points come after `at` and whose triangles are drawn.
    pub surface: Option<SurfaceMesh>,
}

/// Springs between neighbours of a set, or between given pairs of points.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SpringSet {
    /// Name, for energies by term.
    pub name: String,
    /// Set whose neighbours are joined; or
    pub along: Option<String>,
    /// which neighbours, and
    pub edges: Edges,
    /// pairs of points.
    pub pairs: Vec<[String; 2]>,
    /// Stiffness k \[N/m\], ≥ 0.
    pub stiffness: f64,
    /// Damping c along the spring \[N·s/m\], ≥ 0.
    pub damping: f64,
    /// Rest length \[m\]; the length at the start if none is given.
    pub rest_length: Option<f64>,
}

impl SpringSet {
    /// One spring between two points.
    pub fn between(name: impl Into<String>, a: impl Into<String>, b: impl Into<String>) -> Self {
        Self { name: name.into(), pairs: vec![[a.into(), b.into()]], ..Self::default() }
    }

    /// Springs between the neighbours of a set.
    pub fn along(name: impl Into<String>, set: impl Into<String>, edges: Edges) -> Self {
        Self { name: name.into(), along: Some(set.into()), edges, ..Self::default() }
    }

    /// Sets the stiffness \[N/m\].
    pub fn stiffness(mut self, k: f64) -> Self {
        self.stiffness = k;
        self
    }

    /// Sets the damping \[N·s/m\].
    pub fn damping(mut self, c: f64) -> Self {
        self.damping = c;
        self
    }

    /// Sets the rest length \[m\].
    pub fn rest_length(mut self, length: f64) -> Self {
        self.rest_length = Some(length);
        self
    }
}

/// Angular springs along the lines of a set, or over given triples of points.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct AngularSpringSet {
    /// Name, for energies by term.
    pub name: String,
    /// Set along whose lines they lie; or
    pub along: Option<String>,
    /// triples of points, the middle one second.
    pub triples: Vec<[String; 3]>,
    /// Stiffness k \[N·m/rad\], ≥ 0.
    pub stiffness: f64,
    /// Rest angle \[rad\], 0 … π; the angle at the start if none is given.
    pub rest_angle: Option<f64>,
}

/// Viscous and quadratic drag.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct DragSet {
    /// Name.
    pub name: String,
    /// Points that feel it; all particles if empty.
    pub on: Vec<String>,
    /// Viscous coefficient \[N·s/m\], ≥ 0.
    pub linear: f64,
    /// Quadratic coefficient \[N·s²/m²\], ≥ 0.
    pub quadratic: f64,
    /// Velocity of the medium \[m/s\].
    pub wind: Vec3,
}

/// A given force, constant or following a signal.
#[derive(Debug, Clone, PartialEq)]
pub struct PushSet {
    /// Name.
    pub name: String,
    /// Points that feel it; all particles if empty.
    pub on: Vec<String>,
    /// Only those of them that start in this region.
    pub inside: Region,
    /// Force on each point \[N\], or
    pub force: Vec3,
    /// on all of them together, divided evenly.
    pub total: bool,
    /// Torque on each of the bodies, world axes \[N·m\]: for rigid bodies, and for affine ones under `ipc`, which takes it
    /// with the pose at the start of each step.
    pub torque: Vec3,
    /// Factor over time.
    pub signal: Signal,
}

impl Default for PushSet {
    fn default() -> Self {
        Self {
            name: String::new(),
            on: Vec::new(),
            inside: Region::All,
            force: Vec3::zeros(),
            total: false,
            torque: Vec3::zeros(),
            signal: Signal::Constant,
        }
    }
}

/// A fixed centre that attracts.
#[derive(Debug, Clone, PartialEq)]
pub struct AttractorSet {
    /// Name, for energies by term.
    pub name: String,
    /// Points that feel it; all particles if empty.
    pub on: Vec<String>,
    /// Centre \[m\].
    pub center: Vec3,
    /// Law.
    pub law: Attraction,
}

/// How far a pair force reaches.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Reach {
    /// Between points nearer than this \[m\]; O(n).
    Within(f64),
    /// Between all pairs; O(n²).
    All,
}

/// A force between pairs of points.
#[derive(Debug, Clone)]
pub struct PairForce {
    /// Name, for energies by term.
    pub name: String,
    /// Points that feel it; all particles if empty.
    pub on: Vec<String>,
    /// Law.
    pub law: PairLaw,
    /// Reach.
    pub reach: Reach,
}

/// A force that the user wrote: made once the points are known.
pub struct CustomForce {
    /// Name, for energies by term.
    pub name: String,
    /// Points that it is about, in this order; all particles if empty.
    pub on: Vec<String>,
    /// Most points that it takes.
    pub most: usize,
    /// Makes the batch from the points.
    pub make: Box<dyn FnOnce(Vec<usize>) -> Box<dyn Force> + Send>,
}

impl std::fmt::Debug for CustomForce {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "CustomForce({}, on {:?})", self.name, self.on)
    }
}

impl CustomForce {
    /// A force on each point by itself: f(t, x, v, m) \[N\].
    pub fn on_each(
        name: impl Into<String>,
        on: &[&str],
        force: impl Fn(f64, &Vec3, &Vec3, f64) -> Vec3 + Send + Sync + 'static,
    ) -> Self {
        let make = |points: Vec<usize>| -> Box<dyn Force> {
            let on = PointSet::new(points);
            Box::new(unary::PointClosure { on, force: Box::new(force), energy: None })
        };
        let on = on.iter().map(|s| s.to_string()).collect();
        Self { name: name.into(), on, most: usize::MAX, make: Box::new(make) }
    }

    /// A force on the tuple of all named points together: fills f from (t, x, v).
    pub fn on_tuple(
        name: impl Into<String>,
        on: &[&str],
        force: impl Fn(f64, &[Vec3], &[Vec3], &mut [Vec3]) + Send + Sync + 'static,
    ) -> Self {
        let make = |points: Vec<usize>| -> Box<dyn Force> {
            Box::new(nary::TupleClosure {
                k: points.len(),
                points: points.iter().map(|&i| crate::state::PointId(i as u32)).collect(),
                force: Box::new(force),
                energy: None,
                internal: false,
            })
        };
        let on = on.iter().map(|s| s.to_string()).collect();
        Self { name: name.into(), on, most: nary::MOST_TUPLE, make: Box::new(make) }
    }
}

/// Points that may not move, or not in some directions.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Fix {
    /// The points.
    pub on: Vec<String>,
    /// Only those of them that start in this region.
    pub inside: Region,
    /// Forbidden directions, of any length; all of them if empty.
    pub directions: Vec<Vec3>,
}

impl Fix {
    /// Fixes points altogether.
    pub fn points(on: impl Into<String>) -> Self {
        Self { on: vec![on.into()], ..Self::default() }
    }

    /// Fixes those of the points altogether that start in a region.
    pub fn inside(on: impl Into<String>, region: Region) -> Self {
        Self { on: vec![on.into()], inside: region, ..Self::default() }
    }

    /// Forbids one direction.
    pub fn direction(on: impl Into<String>, direction: [f64; 3]) -> Self {
        Self { on: vec![on.into()], directions: vec![direction.into()], ..Self::default() }
    }
}

/// Points that move as told.
#[derive(Debug, Clone)]
pub struct MotionSet {
    /// The points.
    pub on: Vec<String>,
    /// Only those of them that start in this region.
    pub inside: Region,
    /// How they move from where they start.
    pub motion: Motion,
}

impl MotionSet {
    /// All of the named points move as told.
    pub fn new(on: impl Into<String>, motion: Motion) -> Self {
        Self { on: vec![on.into()], inside: Region::All, motion }
    }
}

/// What must be true of a quantity when the scene has run (or after every step).
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Expectation {
    /// The quantity, as in [`Quantity`](crate::model::Quantity); `energy.drift` as well.
    pub quantity: String,
    /// Value in SI units, with
    pub value: Option<f64>,
    /// the difference allowed.
    pub tolerance: f64,
    /// Upper bound.
    pub below: Option<f64>,
    /// Lower bound.
    pub above: Option<f64>,
    /// After every step instead of at the end.
    pub always: bool,
}

impl Expectation {
    /// True if `x` is as expected.
    pub fn holds(&self, x: f64) -> bool {
        x.is_finite()
            && self.value.is_none_or(|v| (x - v).abs() <= self.tolerance)
            && self.below.is_none_or(|b| x <= b)
            && self.above.is_none_or(|a| x >= a)
    }
}

/// Anything that [`Scene::add`](super::Scene::add) takes.
#[derive(Debug)]
#[allow(missing_docs)]
pub enum Item {
    Rigid(RigidBody),
    Joint(JointItem),
    Gear(Gear),
    Bead(Bead),
    Constraint(CustomConstraint),
    Generalized(GeneralizedBody),
    /// A robot.
    Robot(Box<RobotItem>),
    Soft(SoftBody),
    Cloth(Cloth),
    Rod(Rod),
    Pressure(PressureItem),
    Affine(AffineBody),
    Obstacle(ObstacleItem),
    Particles(ParticleSet),
    Points(MappedPoints),
    Springs(SpringSet),
    AngularSprings(AngularSpringSet),
    Drag(DragSet),
    Push(PushSet),
    Attractor(AttractorSet),
    PairForce(PairForce),
    Custom(CustomForce),
    Ground(Ground),
    Contact(ContactRule),
    Articulation(ArticulationItem),
    Fix(Fix),
    Motion(MotionSet),
    Expect(Expectation),
}

macro_rules! items {
    ($($kind:ident: $type:ty),* $(,)?) => {
        $(impl From<$type> for Item {
            fn from(x: $type) -> Self {
                Item::$kind(x)
            }
        })*
    };
}

items! {
    Rigid: RigidBody,
    Joint: JointItem,
    Gear: Gear,
    Bead: Bead,
    Constraint: CustomConstraint,
    Generalized: GeneralizedBody,
    Soft: SoftBody,
    Cloth: Cloth,
    Rod: Rod,
    Pressure: PressureItem,
    Affine: AffineBody,
    Obstacle: ObstacleItem,
    Particles: ParticleSet,
    Points: MappedPoints,
    Springs: SpringSet,
    AngularSprings: AngularSpringSet,
    Drag: DragSet,
    Push: PushSet,
    Attractor: AttractorSet,
    PairForce: PairForce,
    Custom: CustomForce,
    Ground: Ground,
    Contact: ContactRule,
    Articulation: ArticulationItem,
    Fix: Fix,
    Motion: MotionSet,
    Expect: Expectation,
}
