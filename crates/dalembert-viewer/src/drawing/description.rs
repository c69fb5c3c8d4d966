//! What a drawing and a frame consist of: groups, geometry, shapes, scalars.

use std::ops::Range;

use serde::Serialize;

use super::joints;

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
    /// Points that cannot move, or whose motion is prescribed.
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
    /// Points and springs that a surface covers.
    Inside,
    /// Nothing of its own: the gaps of joints, as a colour of bodies.
    Violation,
}

impl Group {
    /// All groups, in the order of the switches.
    pub const ALL: [Group; 13] = [
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
        Group::Inside,
        Group::Violation,
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
            Group::Inside => "inside",
            Group::Violation => "violation",
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
        /// Thickness beside that of an ordinary arrow.
        thickness: f32,
        /// SI unit of the vectors, for the key of the picture; empty where lengths mean nothing.
        unit: &'static str,
    },
    /// Flat discs, one at the origin of each arrow of a list and across it.
    Discs {
        /// Which list of the frame.
        list: u32,
        /// Radius of a disc \[m\].
        radius: f32,
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
    /// The joints that vertices and arrows are worked out for.
    #[serde(skip)]
    pub(crate) joints: Vec<joints::Glyph>,
    /// For each shape the things whose gaps it shows: rigid bodies, then particles.
    #[serde(skip)]
    pub(crate) owners: Vec<Range<usize>>,
    /// Arrow lists of contacts: normals, forces. None where nothing can touch.
    #[serde(skip)]
    pub(crate) contacts: Option<[u32; 2]>,
}

impl Drawing {
    /// Adds a shape that cannot be dragged and has no facts; returns its number.
    pub fn add(&mut self, name: &str, group: Group, colour: Colour, geometry: Geometry) -> usize {
        let facts = Vec::new();
        self.shapes.push(Shape { name: name.into(), group, colour, facts, movable: false, geometry });
        self.shapes.len() - 1
    }

    /// Whether there is anything that the switch of a group shows.
    pub fn shows(&self, group: Group) -> bool {
        // Gaps of joints are colours of what the joints hold.
        let group = if group == Group::Violation { Group::Joint } else { group };
        self.shapes.iter().any(|s| s.group == group)
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

/// Colours that bodies take in turn.
pub const PALETTE: [Colour; 8] = dalembert_formats::export::PALETTE;
