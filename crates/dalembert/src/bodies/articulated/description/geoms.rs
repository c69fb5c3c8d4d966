//! Shapes and marked frames on the bodies of a robot.

use super::{HeightFieldId, RobotMeshId};
use crate::math::{Pose, Vec3};

/// MuJoCo's two descriptions of a soft constraint, kept as the file gives them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ContactSoftness {
    /// Positive: time constant \[s\] and damping ratio. Negative: −stiffness and −damping, per unit of inertia.
    pub solref: [f64; 2],
    /// Smallest and largest impedance, width of the transition \[m or rad\], its midpoint, its power.
    pub solimp: [f64; 5],
}

impl Default for ContactSoftness {
    fn default() -> Self {
        Self { solref: [0.02, 1.0], solimp: [0.9, 0.95, 0.001, 0.5, 2.0] }
    }
}

/// A shape on a body: to touch, to weigh, to see.
#[derive(Debug, Clone, PartialEq)]
pub struct RobotGeom {
    /// Name, unique among geoms, or empty.
    pub name: String,
    /// What it is.
    pub shape: GeomShape,
    /// Where it stands in the body's frame. A mesh stands in the frame of its file.
    pub pose: Pose,
    /// What it weighs by itself \[kg\]; what the body weighs is [`RobotBody::inertial`](super::RobotBody::inertial).
    pub mass: f64,
    /// Bits of the kinds of contact that it makes; 0 together with `contact_affinity`: it only looks.
    pub contact_type: u32,
    /// Bits of the kinds of contact that it takes: a and b touch if type of one and affinity of the other share a bit.
    pub contact_affinity: u32,
    /// 1: without friction; 3: sliding friction; 4: and torsional; 6: and rolling.
    pub contact_dimension: u8,
    /// Of two geoms that touch, the one of higher priority decides friction and softness.
    pub contact_priority: i32,
    /// Friction: sliding, torsional \[m\], rolling \[m\].
    pub friction: [f64; 3],
    /// How soft its contacts are.
    pub softness: ContactSoftness,
    /// Weight of its softness in the mean of two geoms.
    pub softness_weight: f64,
    /// Distance from which contacts are seen \[m\].
    pub margin: f64,
    /// Part of the margin in which they do not push yet \[m\].
    pub gap: f64,
    /// Number for switching in a display.
    pub group: i32,
    /// Red, green, blue, opacity, each from 0 to 1.
    pub color: [f64; 4],
    /// Name of the material, or empty.
    pub material: String,
}

impl RobotGeom {
    /// A shape at the origin of its body that touches everything, grey, weightless.
    pub fn new(name: impl Into<String>, shape: GeomShape) -> Self {
        Self {
            name: name.into(),
            shape,
            pose: Pose::identity(),
            mass: 0.0,
            contact_type: 1,
            contact_affinity: 1,
            contact_dimension: 3,
            contact_priority: 0,
            friction: [1.0, 0.005, 0.0001],
            softness: ContactSoftness::default(),
            softness_weight: 1.0,
            margin: 0.0,
            gap: 0.0,
            group: 0,
            color: [0.5, 0.5, 0.5, 1.0],
            material: String::new(),
        }
    }

    /// Whether it is there only to be seen.
    pub fn is_visual(&self) -> bool {
        self.contact_type == 0 && self.contact_affinity == 0
    }

    /// Whether the type of one of two geoms fits the affinity of the other.
    pub fn may_touch(&self, other: &Self) -> bool {
        self.contact_type & other.contact_affinity != 0 || other.contact_type & self.contact_affinity != 0
    }
}

/// What a geom is. Round shapes stand along z, centred at 0.
#[derive(Debug, Clone, PartialEq)]
pub enum GeomShape {
    /// The half space z ≤ 0.
    Plane {
        /// Half the extents of what is drawn along x and y \[m\]; 0: without end.
        half: [f64; 2],
    },
    /// A terrain.
    HeightField(HeightFieldId),
    /// A ball.
    Sphere {
        /// Radius \[m\].
        radius: f64,
    },
    /// A cylinder with a half ball on either end.
    Capsule {
        /// Radius \[m\].
        radius: f64,
        /// Half the length of the cylinder part \[m\].
        half_length: f64,
    },
    /// A round cylinder.
    Cylinder {
        /// Radius \[m\].
        radius: f64,
        /// Half the length \[m\].
        half_length: f64,
    },
    /// An ellipsoid.
    Ellipsoid {
        /// Half the diameters along the axes \[m\].
        semi_axes: Vec3,
    },
    /// A box with faces across the axes.
    Box {
        /// Half the sizes \[m\].
        half: Vec3,
    },
    /// A surface.
    Mesh(RobotMeshId),
}

/// A surface of triangles, as its file gives it, moved and scaled as the model asks.
#[derive(Debug, Clone, PartialEq)]
pub struct RobotMesh {
    /// Name, unique among meshes.
    pub name: String,
    /// The file, as the model names it; empty for vertices in the model itself.
    pub file: String,
    /// What the file's coordinates were multiplied by.
    pub scale: Vec3,
    /// Corners \[m\], scale applied.
    pub vertices: Vec<Vec3>,
    /// Three corners each, counter-clockwise seen from outside; not always closed. Empty if the file was not found.
    pub triangles: Vec<[u32; 3]>,
    /// Where the principal axes of its volume stand in its own frame, moments falling: the frame that MuJoCo gives
    /// to a geom of this mesh.
    pub inertial_frame: Pose,
}

/// A terrain over a rectangle.
#[derive(Debug, Clone, PartialEq)]
pub struct HeightField {
    /// Name, unique among height fields.
    pub name: String,
    /// The file, as the model names it; empty for heights in the model itself.
    pub file: String,
    /// Half extents along x and y, height of the value 1, depth of the ground below 0 \[m\].
    pub size: [f64; 4],
    /// How many rows (along y) and columns (along x).
    pub rows: usize,
    /// Columns.
    pub columns: usize,
    /// Heights from 0 to 1, row by row; empty if they are to be filled in later.
    pub heights: Vec<f64>,
}

/// A marked frame on a body.
#[derive(Debug, Clone, PartialEq)]
pub struct RobotSite {
    /// Name, unique among sites, or empty.
    pub name: String,
    /// Where it stands in the body's frame.
    pub pose: Pose,
    /// Its extent, for touch sensors and display.
    pub shape: GeomShape,
    /// Number for switching in a display.
    pub group: i32,
    /// Red, green, blue, opacity, each from 0 to 1.
    pub color: [f64; 4],
}
