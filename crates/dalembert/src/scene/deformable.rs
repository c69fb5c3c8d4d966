//! Soft things as a user writes them: solids, cloth, rods, affine bodies, and what presses on them.
//!
//! None of them is a new kind of body. A soft solid is a set of particles of its name, with elements between them; an
//! affine body is four points, of which the first is a place and the others are the columns of its deformation. So
//! whatever takes points takes theirs: springs, `fix`, carried points.

use crate::bodies::Shape;
use crate::forces::nary::{AffineEnergy, Law, MassKind};
use crate::forces::unary::ObstacleShape;
use crate::math::{Quat, Vec3};
use crate::mesh::{Diagonals, HexMesh, SurfaceMesh, TetMesh};

use super::BodyMass;

/// Which elements fill a solid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Elements {
    /// Linear tetrahedra, six per cube: cheap, and too stiff in bending.
    #[default]
    Tets,
    /// Tetrahedra with nodes on their edges: good in bending and for nearly incompressible material.
    QuadraticTets,
    /// Hexahedra with eight nodes.
    Hexes,
    /// Hexahedra that bend freely and do not lock: incompatible modes and mean dilatation; for the laws `linear` and
    /// `corotated`.
    BendingHexes,
}

/// The space that a soft solid fills, in its own frame.
#[derive(Debug, Clone, PartialEq)]
pub enum Solid {
    /// A box about the origin.
    Box {
        /// Edges \[m\].
        size: Vec3,
        /// Cubes along each edge.
        cells: [usize; 3],
    },
    /// A cylinder along z about the origin.
    Cylinder {
        /// Radius \[m\].
        radius: f64,
        /// Length \[m\].
        length: f64,
        /// Cells across, and along.
        cells: [usize; 2],
    },
    /// A ball about the origin.
    Ball {
        /// Radius \[m\].
        radius: f64,
        /// Cells across.
        cells: usize,
    },
    /// A ring in the xy plane about the origin.
    Torus {
        /// Radius of the ring's middle line \[m\].
        ring: f64,
        /// Radius of the tube \[m\].
        tube: f64,
        /// Cells across the tube, and around the ring.
        cells: [usize; 2],
    },
    /// Tetrahedra from elsewhere.
    Tets(TetMesh),
    /// Hexahedra from elsewhere.
    Hexes(HexMesh),
}

/// A soft solid.
#[derive(Debug, Clone, PartialEq)]
pub struct SoftBody {
    /// Name, unique in the scene; that of its set of particles.
    pub name: String,
    /// The space it fills.
    pub solid: Solid,
    /// Its elements; as they come for solids from elsewhere.
    pub elements: Elements,
    /// Constitutive law.
    pub law: Law,
    /// Young's modulus E \[Pa\], > 0.
    pub young: f64,
    /// Poisson's ratio ν, −1 < ν < 0.5.
    pub poisson: f64,
    /// Density ρ \[kg/m³\], > 0.
    pub density: f64,
    /// Spread of the mass.
    pub mass: MassKind,
    /// Where its own origin is put \[m\].
    pub position: Vec3,
    /// How it is turned.
    pub orientation: Quat,
    /// Velocity of all of it \[m/s\].
    pub velocity: Vec3,
    /// Angular velocity about its own origin, world axes \[rad/s\].
    pub angular_velocity: Vec3,
}

impl SoftBody {
    /// A solid of corotated tetrahedra with E = 100 kPa, ν = 0.3, ρ = 1000 kg/m³, at rest.
    pub fn new(name: impl Into<String>, solid: Solid) -> Self {
        Self {
            name: name.into(),
            solid,
            elements: Elements::Tets,
            law: Law::Corotated,
            young: 1e5,
            poisson: 0.3,
            density: 1000.0,
            mass: MassKind::Lumped,
            position: Vec3::zeros(),
            orientation: Quat::identity(),
            velocity: Vec3::zeros(),
            angular_velocity: Vec3::zeros(),
        }
    }
}

/// The sheet that a cloth is cut from, in its own frame.
#[derive(Debug, Clone, PartialEq)]
pub enum Sheet {
    /// A rectangle in the xy plane about the origin.
    Grid {
        /// Edges \[m\].
        size: [f64; 2],
        /// Squares along each edge.
        cells: [usize; 2],
        /// How squares are cut.
        diagonals: Diagonals,
    },
    /// Triangles from elsewhere.
    Surface(SurfaceMesh),
}

/// What resists stretching of a cloth.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Membrane {
    /// St. Venant–Kirchhoff.
    #[default]
    Stvk,
    /// Stretch and shear conditions of Baraff and Witkin.
    BaraffWitkin,
}

/// What resists bending of a cloth.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Bending {
    /// Hinges over edges (discrete shells); keeps the angles that the sheet has at rest.
    #[default]
    Hinges,
    /// Quadratic in the places, so its stiffness is constant; for a sheet that is flat at rest and hardly stretches.
    Quadratic,
}

/// A cloth or shell.
#[derive(Debug, Clone, PartialEq)]
pub struct Cloth {
    /// Name, unique in the scene; that of its set of particles.
    pub name: String,
    /// The sheet.
    pub sheet: Sheet,
    /// What resists stretching.
    pub membrane: Membrane,
    /// Young's modulus E \[Pa\], > 0.
    pub young: f64,
    /// Poisson's ratio ν, −1 < ν < 0.5.
    pub poisson: f64,
    /// Thickness \[m\], > 0.
    pub thickness: f64,
    /// Density ρ \[kg/m³\], > 0.
    pub density: f64,
    /// Bending stiffness \[N·m\]; that of a plate, E t³/12(1 − ν²), if none is given.
    pub bending: Option<f64>,
    /// What resists bending.
    pub bending_law: Bending,
    /// Strain s beyond which threads stiffen, by a pull of 10 E t d²/s \[N/m\] at the strain s + d; none if they do not. For
    /// [`Membrane::BaraffWitkin`].
    pub strain_limit: Option<f64>,
    /// Where its own origin is put \[m\].
    pub position: Vec3,
    /// How it is turned.
    pub orientation: Quat,
    /// Velocity of all of it \[m/s\].
    pub velocity: Vec3,
}

impl Cloth {
    /// A cotton-like cloth, 0.3 mm thick, 300 kg/m³, E = 1 MPa, at rest.
    pub fn new(name: impl Into<String>, sheet: Sheet) -> Self {
        Self {
            name: name.into(),
            sheet,
            membrane: Membrane::Stvk,
            young: 1e6,
            poisson: 0.3,
            thickness: 3e-4,
            density: 300.0,
            bending: None,
            bending_law: Bending::Hinges,
            strain_limit: None,
            position: Vec3::zeros(),
            orientation: Quat::identity(),
            velocity: Vec3::zeros(),
        }
    }
}

/// A rod of round section.
#[derive(Debug, Clone, PartialEq)]
pub struct Rod {
    /// Name, unique in the scene; that of its set of particles.
    pub name: String,
    /// Its nodes at rest and at the start \[m\], two or more.
    pub points: Vec<Vec3>,
    /// Radius \[m\], > 0.
    pub radius: f64,
    /// Young's modulus E \[Pa\], > 0.
    pub young: f64,
    /// Poisson's ratio ν, −1 < ν < 0.5.
    pub poisson: f64,
    /// Density ρ \[kg/m³\], > 0.
    pub density: f64,
    /// Carries markers and resists twist; for the method `implicit`. Without it the rod must be straight at rest.
    pub twist: bool,
    /// Whether the first and the last node are clamped: held, with the direction of their edge.
    pub clamped: [bool; 2],
    /// Velocity of all of it \[m/s\].
    pub velocity: Vec3,
}

impl Rod {
    /// A free rod through the given nodes, 5 mm thick, E = 10 MPa, 1000 kg/m³, at rest.
    pub fn new(name: impl Into<String>, points: Vec<Vec3>) -> Self {
        Self {
            name: name.into(),
            points,
            radius: 2.5e-3,
            young: 1e7,
            poisson: 0.3,
            density: 1000.0,
            twist: false,
            clamped: [false; 2],
            velocity: Vec3::zeros(),
        }
    }
}

/// A body that deforms as a whole, x = p + A X.
#[derive(Debug, Clone, PartialEq)]
pub struct AffineBody {
    /// Name, unique in the scene; `NAME[0]` is its centre of mass.
    pub name: String,
    /// Its shape in its own frame.
    pub shape: Shape,
    /// Mass or density.
    pub mass: BodyMass,
    /// Stiffness κ against deformation \[Pa\], > 0.
    pub stiffness: f64,
    /// Which energy keeps it stiff.
    pub energy: AffineEnergy,
    /// Where its own origin is put \[m\].
    pub position: Vec3,
    /// How it is turned.
    pub orientation: Quat,
    /// Velocity of its centre of mass \[m/s\].
    pub velocity: Vec3,
    /// Angular velocity, world axes \[rad/s\].
    pub angular_velocity: Vec3,
}

impl AffineBody {
    /// A body of 1000 kg/m³ and κ = 100 MPa, at rest.
    pub fn new(name: impl Into<String>, shape: Shape) -> Self {
        Self {
            name: name.into(),
            shape,
            mass: BodyMass::Density(1000.0),
            stiffness: 1e8,
            energy: AffineEnergy::Orthogonality,
            position: Vec3::zeros(),
            orientation: Quat::identity(),
            velocity: Vec3::zeros(),
            angular_velocity: Vec3::zeros(),
        }
    }
}

/// Gas inside a closed surface.
#[derive(Debug, Clone, PartialEq)]
pub struct PressureItem {
    /// Name, for energies by term: −p V.
    pub name: String,
    /// The soft body, cloth or carried surface whose triangles it pushes at from inside; must be closed.
    pub on: String,
    /// Pressure p above that outside \[Pa\]; negative to suck.
    pub pressure: f64,
}

/// A fixed thing that pushes points away, without friction.
#[derive(Debug, Clone, PartialEq)]
pub struct ObstacleItem {
    /// Name, for energies by term.
    pub name: String,
    /// Points that feel it; all particles if empty.
    pub on: Vec<String>,
    /// The shape.
    pub shape: ObstacleShape,
    /// Radius of the points \[m\], ≥ 0: contact begins that far outside.
    pub radius: f64,
    /// Stiffness k \[N/m\], > 0.
    pub stiffness: f64,
    /// Damping while in contact \[N·s/m\], ≥ 0.
    pub damping: f64,
}

impl ObstacleItem {
    /// The ground: pushes everything up that comes below z = 0, with 1000 N/m per point.
    pub fn ground() -> Self {
        Self {
            name: String::new(),
            on: Vec::new(),
            shape: ObstacleShape::Plane { point: Vec3::zeros(), normal: Vec3::z() },
            radius: 0.0,
            stiffness: 1e3,
            damping: 0.0,
        }
    }
}
