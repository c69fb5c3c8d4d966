//! The neutral description that every picture is made from.
//!
//! A [`Drawing`] says once what there is: shapes with a name, a group and a colour, and how they hang together. A
//! [`Frame`] gives the numbers of one moment, in f32 because eyes need no more: *vertices* (points and corners of
//! deforming meshes, in world axes), *poses* (place and turn of stiff shapes), *arrows* and *scalars*. Shapes refer to
//! vertices and poses by number, so a frame is a handful of flat arrays and costs one pass to fill and one to send.
//!
//! [`describe`] and [`frame`] translate the engine's [`Model`] and [`State`]. A new kind of body adds a match arm to
//! each; renderer, server and page know only what is written here.

use dalembert::forces::Blocks;
use dalembert::math::{Vec3, triple};
use dalembert::model::{BlockKind, Energy, Model, State};
use serde::Serialize;

/// Red, green, blue, each 0 … 255, as they appear on a screen (sRGB).
pub type Colour = [u8; 3];

/// What a shape stands for; the switches of the viewer act on groups.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Group {
    /// A body or set of particles.
    Body,
    /// Springs and the like.
    Spring,
    /// Points carried by something else.
    Mapped,
    /// Points that cannot move, or move as told.
    Fixed,
    /// Axes and limits of joints.
    Joint,
    /// Contact points, normals and forces.
    Contact,
    /// Forces on points.
    Force,
    /// Velocities of points.
    Velocity,
    /// Axes of bodies.
    Frame,
    /// Shapes that take part in collisions, where they differ from what is shown.
    Collision,
    /// Text.
    Label,
}

impl Group {
    /// All groups, in the order of the switches.
    pub const ALL: [Group; 11] = [
        Group::Body,
        Group::Spring,
        Group::Mapped,
        Group::Fixed,
        Group::Joint,
        Group::Contact,
        Group::Force,
        Group::Velocity,
        Group::Frame,
        Group::Collision,
        Group::Label,
    ];

    /// Name in messages and options.
    pub fn name(self) -> &'static str {
        match self {
            Group::Body => "body",
            Group::Spring => "spring",
            Group::Mapped => "mapped",
            Group::Fixed => "fixed",
            Group::Joint => "joint",
            Group::Contact => "contact",
            Group::Force => "force",
            Group::Velocity => "velocity",
            Group::Frame => "frame",
            Group::Collision => "collision",
            Group::Label => "label",
        }
    }

    /// The group with the given name.
    pub fn from_name(name: &str) -> Option<Group> {
        Group::ALL.into_iter().find(|g| g.name() == name)
    }

    /// Whether it is shown before anybody asks for it.
    pub fn shown_at_first(self) -> bool {
        matches!(self, Group::Body | Group::Spring | Group::Fixed | Group::Label)
    }
}

/// A set of groups.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Groups(u32);

impl Default for Groups {
    /// What is [shown at first](Group::shown_at_first).
    fn default() -> Self {
        Group::ALL.into_iter().filter(|g| g.shown_at_first()).fold(Groups::NONE, Groups::with)
    }
}

impl Groups {
    /// No group.
    pub const NONE: Groups = Groups(0);
    /// Every group.
    pub const EVERY: Groups = Groups((1 << Group::ALL.len()) - 1);

    /// The set with one group more.
    #[must_use]
    pub fn with(self, group: Group) -> Self {
        Groups(self.0 | 1 << group as u32)
    }

    /// The set with one group less.
    #[must_use]
    pub fn without(self, group: Group) -> Self {
        Groups(self.0 & !(1 << group as u32))
    }

    /// The groups that are in either set.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Groups(self.0 | other.0)
    }

    /// Whether the group is in the set.
    pub fn has(self, group: Group) -> bool {
        self.0 & 1 << group as u32 != 0
    }
}

/// Form of a shape. Lengths in metres; vertices, poses and arrow lists are counted from 0 over the whole drawing.
///
/// Capsules and cylinders lie along the z axis of their pose, planes have it as their normal.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Geometry {
    /// Small balls at vertices `first` … `first + count − 1`.
    Points {
        /// First vertex.
        first: u32,
        /// Number of vertices.
        count: u32,
        /// Radius of each ball \[m\].
        radius: f32,
    },
    /// Small cubes at chosen vertices: points that are held.
    Marks {
        /// The vertices.
        vertices: Vec<u32>,
        /// Half the width of a cube \[m\].
        radius: f32,
    },
    /// Segments between vertices: springs, rods.
    Lines {
        /// Two vertices per segment.
        pairs: Vec<[u32; 2]>,
        /// Radius of the tube that is drawn \[m\].
        radius: f32,
    },
    /// A mesh whose corners move on their own: cloth, the surface of a soft solid.
    Mesh {
        /// First vertex.
        first: u32,
        /// Number of vertices.
        count: u32,
        /// Corners, counted from `first`.
        triangles: Vec<[u32; 3]>,
    },
    /// A ball.
    Sphere {
        /// Its pose.
        pose: u32,
        /// Radius \[m\].
        radius: f32,
    },
    /// A box.
    Box {
        /// Its pose, at the centre.
        pose: u32,
        /// Full lengths along x, y, z \[m\].
        size: [f32; 3],
    },
    /// A cylinder with half balls at both ends.
    Capsule {
        /// Its pose, at the centre.
        pose: u32,
        /// Radius \[m\].
        radius: f32,
        /// Length between the centres of the half balls \[m\].
        length: f32,
    },
    /// A cylinder.
    Cylinder {
        /// Its pose, at the centre.
        pose: u32,
        /// Radius \[m\].
        radius: f32,
        /// Full length \[m\].
        length: f32,
    },
    /// A plane without end.
    Plane {
        /// Its pose.
        pose: u32,
    },
    /// A stiff mesh.
    Solid {
        /// Its pose.
        pose: u32,
        /// Corners in body axes \[m\].
        vertices: Vec<[f32; 3]>,
        /// Three corners per triangle, outward by the right-hand rule.
        triangles: Vec<[u32; 3]>,
    },
    /// Three coloured axes.
    Axes {
        /// The pose shown.
        pose: u32,
        /// Length of an axis \[m\].
        length: f32,
    },
    /// Arrows, as many as the frame says.
    Arrows {
        /// Which list of the frame.
        list: u32,
        /// Length drawn for a vector of size 1 [m per unit]; less where the longest would be over a third of the scene.
        scale: f32,
    },
    /// A line of text.
    Label {
        /// Where it stands.
        vertex: u32,
        /// What it says.
        text: String,
    },
}

/// One thing to draw.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Shape {
    /// The name that the scene gave it; several shapes may share one.
    pub name: String,
    /// What it stands for.
    pub group: Group,
    /// Its colour.
    pub colour: Colour,
    /// Facts for the object tree, such as ("mass", "2 kg").
    pub facts: Vec<(String, String)>,
    /// Whether it can be dragged in a live simulation.
    pub movable: bool,
    /// Its form.
    #[serde(flatten)]
    pub geometry: Geometry,
}

/// Name of a number that comes with every frame.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Scalar {
    /// Name, such as `kinetic`.
    pub name: String,
    /// SI unit; empty for a pure number.
    pub unit: String,
    /// Plot in which it is drawn; scalars of one plot share an axis.
    pub plot: String,
}

impl Scalar {
    /// A scalar in the given plot.
    pub fn new(name: impl Into<String>, unit: impl Into<String>, plot: impl Into<String>) -> Self {
        Self { name: name.into(), unit: unit.into(), plot: plot.into() }
    }
}

/// What there is to see, said once.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Drawing {
    /// Title of the scene.
    pub title: String,
    /// The shapes.
    pub shapes: Vec<Shape>,
    /// Number of vertices in every frame.
    pub vertices: u32,
    /// Number of poses in every frame.
    pub poses: u32,
    /// Number of arrow lists in every frame.
    pub arrow_lists: u32,
    /// Numbers that come with every frame.
    pub scalars: Vec<Scalar>,
    /// Size of the whole scene at the start, for cameras and arrow lengths \[m\].
    pub extent: f32,
}

impl Drawing {
    /// Adds a shape that cannot be dragged and has no facts; returns its number.
    pub fn add(&mut self, name: &str, group: Group, colour: Colour, geometry: Geometry) -> usize {
        let facts = Vec::new();
        self.shapes.push(Shape { name: name.into(), group, colour, facts, movable: false, geometry });
        self.shapes.len() - 1
    }

    /// Takes the next pose; returns its number.
    pub fn add_pose(&mut self) -> u32 {
        self.poses += 1;
        self.poses - 1
    }

    /// Takes the next arrow list; returns its number.
    pub fn add_arrow_list(&mut self) -> u32 {
        self.arrow_lists += 1;
        self.arrow_lists - 1
    }
}

/// The numbers of one moment.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Frame {
    /// Time \[s\].
    pub time: f64,
    /// Steps taken.
    pub step: u64,
    /// Three numbers per vertex \[m\].
    pub vertices: Vec<f32>,
    /// Seven numbers per pose: place x, y, z \[m\], then the unit quaternion w, x, y, z from body to world axes.
    pub poses: Vec<f32>,
    /// For each arrow list six numbers per arrow: origin \[m\], vector (in the unit of the list).
    pub arrows: Vec<Vec<f32>>,
    /// One number per scalar of the drawing.
    pub scalars: Vec<f32>,
    /// Violation of each shape, 0 (none) … 1 (worst shown); empty if there is nothing to tell.
    pub violation: Vec<f32>,
    /// Number of the island that each shape belongs to, 0 for none; empty if there is nothing to tell.
    pub islands: Vec<u32>,
    /// Buffer: forces before they are turned into arrows.
    pub scratch: Vec<f64>,
}

impl Frame {
    /// Place of a vertex \[m\].
    pub fn vertex(&self, i: usize) -> [f32; 3] {
        [self.vertices[3 * i], self.vertices[3 * i + 1], self.vertices[3 * i + 2]]
    }

    /// Place of a pose \[m\] and its unit quaternion w, x, y, z.
    pub fn pose(&self, i: usize) -> ([f32; 3], [f32; 4]) {
        let p = &self.poses[7 * i..7 * i + 7];
        ([p[0], p[1], p[2]], [p[3], p[4], p[5], p[6]])
    }

    /// Appends a pose: place \[m\], quaternion w, x, y, z.
    pub fn push_pose(&mut self, p: [f64; 3], quaternion: [f64; 4]) {
        self.poses.extend(p.map(|x| x as f32));
        self.poses.extend(quaternion.map(|x| x as f32));
    }

    /// Empties all lists but keeps their memory; `drawing` says how many arrow lists there are.
    pub fn clear(&mut self, drawing: &Drawing) {
        self.vertices.clear();
        self.poses.clear();
        self.scalars.clear();
        self.violation.clear();
        self.islands.clear();
        self.arrows.resize_with(drawing.arrow_lists as usize, Vec::new);
        self.arrows.iter_mut().for_each(Vec::clear);
    }
}

/// Colours that are told apart by most eyes, on light and on dark ground; bodies take them in turn.
pub const PALETTE: [Colour; 8] = [
    [66, 125, 190],
    [232, 135, 52],
    [72, 160, 105],
    [203, 80, 88],
    [132, 108, 186],
    [65, 165, 175],
    [214, 168, 46],
    [150, 112, 88],
];

const SPRING_COLOUR: Colour = [120, 132, 150];
const FIXED_COLOUR: Colour = [92, 98, 108];
const VELOCITY_COLOUR: Colour = [52, 168, 96];
const FORCE_COLOUR: Colour = [214, 69, 80];

/// Says what a model consists of; the state (usually the first) gives sizes.
pub fn describe(model: &Model, state: &State) -> Drawing {
    let points = model.points(state.time, &state.q, &state.v);
    let extent = extent(points.x);
    let mut drawing = Drawing {
        title: model.title.clone(),
        vertices: model.layout.points as u32,
        extent: extent as f32,
        ..Drawing::default()
    };

    let springs = spring_batches(model, state);
    let spacing = spacing(model, &springs, points.x, extent);
    let held = held_points(model);
    for (b, block) in model.blocks.iter().enumerate() {
        let (first, count) = (block.points.start as u32, block.points.len() as u32);
        let radius = block.points.clone().map(|i| spacing[i]).fold(f64::INFINITY, f64::min) as f32;
        let colour = PALETTE[b % PALETTE.len()];
        match block.kind {
            BlockKind::Particles => {
                let mass: f64 = points.mass[block.points.clone()].iter().sum();
                let shape = drawing.add(
                    &block.name,
                    Group::Body,
                    colour,
                    Geometry::Points { first, count, radius: 0.17 * radius },
                );
                drawing.shapes[shape].movable = true;
                drawing.shapes[shape].facts =
                    vec![("particles".into(), count.to_string()), ("mass".into(), format!("{mass:.6} kg"))];
            }
            BlockKind::Mapped => {
                let shape = drawing.add(
                    &block.name,
                    Group::Mapped,
                    colour,
                    Geometry::Points { first, count, radius: 0.21 * radius },
                );
                drawing.shapes[shape].facts = vec![("points".into(), count.to_string())];
            }
            #[allow(unreachable_patterns)]
            _ => {}
        }
        let vertices: Vec<u32> = block.points.clone().filter(|&i| held[i]).map(|i| i as u32).collect();
        if !vertices.is_empty() {
            let geometry = Geometry::Marks { vertices, radius: 0.2 * radius };
            drawing.add(&block.name, Group::Fixed, FIXED_COLOUR, geometry);
        }
    }
    for (name, pairs) in springs {
        let radius = pairs.iter().map(|p| spacing[p[0] as usize]).fold(f64::INFINITY, f64::min);
        let count = pairs.len();
        let geometry = Geometry::Lines { pairs, radius: 0.055 * radius as f32 };
        let shape = drawing.add(name, Group::Spring, SPRING_COLOUR, geometry);
        drawing.shapes[shape].facts = vec![("springs".into(), count.to_string())];
    }

    // A body that falls by the extent of the scene draws an arrow of a fifth of it; so does its weight.
    let masses = points.mass.iter().filter(|m| **m > 0.0);
    let mean_mass = model.mass() / masses.count().max(1) as f64;
    let list = drawing.add_arrow_list();
    let scale = (0.2 * extent / (2.0 * 9.81 * extent).sqrt()) as f32;
    drawing.add("velocities", Group::Velocity, VELOCITY_COLOUR, Geometry::Arrows { list, scale });
    let list = drawing.add_arrow_list();
    let scale = (0.2 * extent / (9.81 * mean_mass.max(1e-12))) as f32;
    drawing.add("forces", Group::Force, FORCE_COLOUR, Geometry::Arrows { list, scale });

    for name in ["kinetic", "potential", "total"] {
        drawing.scalars.push(Scalar::new(name, "J", "energy"));
    }
    for force in &model.forces {
        drawing.scalars.push(Scalar::new(&force.name, "J", "energy"));
    }
    drawing
}

/// Fills `out` with the numbers of a state. Arrows are worked out only for the groups in `wanted`. Returns the energies
/// in full precision, since they had to be summed anyway.
pub fn frame(model: &Model, drawing: &Drawing, state: &State, wanted: Groups, out: &mut Frame) -> Energy {
    out.clear(drawing);
    out.time = state.time;
    out.step = state.steps;
    let points = model.points(state.time, &state.q, &state.v);
    out.vertices.extend(points.x.iter().map(|x| *x as f32));
    // Poses of stiff bodies follow here, block by block, in the order in which `describe` took them.

    for shape in &drawing.shapes {
        let Geometry::Arrows { list, .. } = shape.geometry else { continue };
        let arrows = &mut out.arrows[list as usize];
        match shape.group {
            Group::Velocity if wanted.has(Group::Velocity) => push_arrows(arrows, points.x, points.v),
            Group::Force if wanted.has(Group::Force) => {
                out.scratch.resize(model.layout.len_v(), 0.0);
                model.forces_into(state.time, &state.q, &state.v, &state.applied, &mut out.scratch);
                let free = 3 * model.layout.particles;
                let f = &out.scratch[model.layout.points_v()..][..free];
                push_arrows(arrows, points.x, f);
            }
            _ => {}
        }
    }

    // Kinetic, potential and total energy lead; the terms that make up the potential follow.
    out.scalars.resize(3, 0.0);
    let mut energy = Energy { kinetic: model.particles.kinetic(points.v), potential: 0.0 };
    for batch in &model.forces {
        let term = batch.force.energy(&points);
        energy.potential += term;
        out.scalars.push(term as f32);
    }
    for (out, e) in out.scalars.iter_mut().zip([energy.kinetic, energy.potential, energy.total()]) {
        *out = e as f32;
    }
    energy
}

/// One arrow per point with a vector that is not zero.
fn push_arrows(out: &mut Vec<f32>, x: &[f64], vectors: &[f64]) {
    for (x, a) in x.chunks_exact(3).zip(vectors.chunks_exact(3)) {
        if a.iter().any(|a| *a != 0.0) {
            out.extend(x.iter().chain(a).map(|x| *x as f32));
        }
    }
}

/// Diagonal of the box around all points \[m\]; 1 m where they are all in one place.
fn extent(x: &[f64]) -> f64 {
    let (mut low, mut high) = (Vec3::repeat(f64::INFINITY), Vec3::repeat(f64::NEG_INFINITY));
    for i in 0..x.len() / 3 {
        let p = triple(x, i);
        (low, high) = (low.inf(&p), high.sup(&p));
    }
    let d = (high - low).norm();
    if d.is_finite() && d > 1e-9 { d } else { 1.0 }
}

/// Named lists of the pairs that springs join.
///
/// A batch of forces does not show its tuples, but its stiffness does: K has an off-diagonal block where two points
/// pull at each other.
fn spring_batches<'a>(model: &'a Model, state: &State) -> Vec<(&'a str, Vec<[u32; 2]>)> {
    let points = model.points(state.time, &state.q, &state.v);
    let mut out = Vec::new();
    for batch in model.forces.iter().filter(|f| f.force.kind() == "springs") {
        let mut blocks = Blocks::default();
        batch.force.add_stiffness_blocks(&points, &mut blocks);
        let mut pairs: Vec<[u32; 2]> =
            blocks.entries.iter().filter(|(i, j, _)| i < j).map(|(i, j, _)| [*i, *j]).collect();
        pairs.sort_unstable();
        pairs.dedup();
        if !pairs.is_empty() {
            out.push((batch.name.as_str(), pairs));
        }
    }
    out
}

/// A length per point that says how crowded it is there \[m\]: the shortest spring at the point, or else the size of
/// the block divided among its points, never more than a ninth of the scene.
fn spacing(model: &Model, springs: &[(&str, Vec<[u32; 2]>)], x: &[f64], extent: f64) -> Vec<f64> {
    let most = extent / 9.0;
    let mut spacing = vec![most; model.layout.points];
    for block in &model.blocks {
        let points = block.points.clone();
        let own = extent_of(&x[3 * points.start..3 * points.end]);
        if points.len() > 1 && own > 0.0 {
            let apart = own / (points.len() as f64).cbrt();
            spacing[points].iter_mut().for_each(|s| *s = s.min(apart));
        }
    }
    for [a, b] in springs.iter().flat_map(|(_, pairs)| pairs) {
        let (a, b) = (*a as usize, *b as usize);
        let length = (triple(x, b) - triple(x, a)).norm();
        if length > 0.0 {
            spacing[a] = spacing[a].min(length);
            spacing[b] = spacing[b].min(length);
        }
    }
    spacing.iter_mut().for_each(|s| *s = s.max(1e-3 * extent));
    spacing
}

fn extent_of(x: &[f64]) -> f64 {
    let (mut low, mut high) = (Vec3::repeat(f64::INFINITY), Vec3::repeat(f64::NEG_INFINITY));
    for i in 0..x.len() / 3 {
        let p = triple(x, i);
        (low, high) = (low.inf(&p), high.sup(&p));
    }
    (high - low).norm()
}

/// Whether each point is held in all three directions: C eₓ = C e_y = C e_z = 0.
fn held_points(model: &Model) -> Vec<bool> {
    let n = model.layout.points;
    let mut held = vec![true; n];
    for k in 0..3 {
        let mut y = vec![0.0; 3 * n];
        y.iter_mut().skip(k).step_by(3).for_each(|y| *y = 1.0);
        model.filters.apply(0, &mut y);
        for i in 0..n {
            held[i] &= y[3 * i..3 * i + 3] == [0.0; 3];
        }
    }
    held
}

#[cfg(test)]
mod tests {
    use super::*;
    use dalembert::prelude::*;

    fn hanging() -> Simulation {
        let mut scene = Scene { title: "hanging".into(), ..Scene::default() };
        scene.add(ParticleSet::new(
            "rope",
            Arrangement::Chain { from: Vec3::new(0.0, 0.0, 1.0), to: Vec3::new(1.0, 0.0, 1.0), count: 5 },
        ));
        scene.add(SpringSet::along("links", "rope", Edges::Structural).stiffness(100.0));
        scene.add(Fix::points("rope[0]"));
        scene.build().unwrap()
    }

    #[test]
    fn a_drawing_shows_particles_springs_and_held_points() {
        let sim = hanging();
        let drawing = describe(&sim.model, &sim.state);
        let pairs = drawing.shapes.iter().find_map(|s| match &s.geometry {
            Geometry::Lines { pairs, .. } => Some(pairs.clone()),
            _ => None,
        });
        assert_eq!(pairs.unwrap(), [[0, 1], [1, 2], [2, 3], [3, 4]]);
        let held = drawing.shapes.iter().find(|s| s.group == Group::Fixed).unwrap();
        assert!(matches!(&held.geometry, Geometry::Marks { vertices, .. } if vertices == &[0]));
        assert_eq!(drawing.vertices, 5);
    }

    #[test]
    fn a_frame_has_arrows_only_for_the_groups_that_are_wanted() {
        let sim = hanging();
        let drawing = describe(&sim.model, &sim.state);
        let mut out = Frame::default();
        frame(&sim.model, &drawing, &sim.state, Groups::default(), &mut out);
        assert!(out.arrows.iter().all(Vec::is_empty));
        frame(&sim.model, &drawing, &sim.state, Groups::EVERY, &mut out);
        // At rest there are no velocities; five weights pull down.
        assert_eq!((out.arrows[0].len(), out.arrows[1].len()), (0, 5 * 6));
        assert!((out.arrows[1][5] + 9.81).abs() < 1e-5);
        assert_eq!(out.scalars.len(), drawing.scalars.len());
    }
}
