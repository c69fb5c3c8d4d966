//! Shapes of rigid bodies: volume, centre, inertia, bounds and a surface to draw.
//!
//! Inertias are closed forms at density 1, about the centre of mass. With V the volume:
//!
//! | shape | V | inertia / V |
//! |---|---|---|
//! | sphere r | 4πr³/3 | 2r²/5 |
//! | box a, b, c | abc | (b² + c²)/12, … |
//! | ellipsoid a, b, c | 4πabc/3 | (b² + c²)/5, … |
//! | cylinder r, ℓ | πr²ℓ | r²/4 + ℓ²/12, same, r²/2 |
//! | cone r, ℓ | πr²ℓ/3 | 3r²/20 + 3ℓ²/80, same, 3r²/10 |
//! | capsule r, ℓ | cylinder V_c + sphere V_s | V_c(r²/4 + ℓ²/12) + V_s(2r²/5 + ℓ²/4 + 3rℓ/8), same, V_c r²/2 + V_s 2r²/5 |

use std::f64::consts::{PI, TAU};
use std::sync::Arc;

use super::{MassProperties, MeshError, Shell, TriangleMesh};
use crate::math::rotation::matrix;
use crate::math::{Mat3, Pose, Vec3};

/// What a rigid body looks like, in its own frame. Lengths in metres; round shapes stand along z, centred at 0.
#[derive(Debug, Clone, PartialEq)]
pub enum Shape {
    /// No extent: a body whose mass properties are given in another way.
    Point,
    /// A ball.
    Sphere {
        /// Radius \[m\].
        radius: f64,
    },
    /// A box with faces across the axes.
    Box {
        /// Full sizes \[m\].
        size: Vec3,
    },
    /// A cylinder with a half ball on either end.
    Capsule {
        /// Radius \[m\].
        radius: f64,
        /// Length of the cylinder part along z \[m\], ≥ 0.
        length: f64,
    },
    /// A round cylinder.
    Cylinder {
        /// Radius \[m\].
        radius: f64,
        /// Length along z \[m\].
        length: f64,
    },
    /// A round cone: base at z = −length/2, tip at z = +length/2.
    Cone {
        /// Radius of the base \[m\].
        radius: f64,
        /// Height along z \[m\].
        length: f64,
    },
    /// An ellipsoid.
    Ellipsoid {
        /// Half the diameters along the axes \[m\].
        semi_axes: Vec3,
    },
    /// A closed mesh of triangles.
    Mesh(Arc<TriangleMesh>),
    /// A thin sheet: triangles that need not close, open edges and holes allowed.
    Shell(Arc<Shell>),
    /// Several shapes, each at its pose. Where parts overlap, their mass counts twice.
    Compound(Vec<(Pose, Shape)>),
}

/// A size that cannot be.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ShapeError {
    /// A length that is not a positive number.
    #[error("{what} of the {shape} is {value} m; it must be positive and finite")]
    Size {
        /// Kind of shape.
        shape: &'static str,
        /// Which length.
        what: &'static str,
        /// Its value \[m\].
        value: f64,
    },
    /// A compound without parts.
    #[error("the compound has no parts")]
    NoParts,
    /// A part at a pose that is not finite, or turned by a quaternion of length other than 1.
    #[error("part {part} of the compound has a pose that is not finite or not a rotation")]
    Pose {
        /// Which part, from 0.
        part: usize,
    },
    /// The mesh.
    #[error(transparent)]
    Mesh(#[from] MeshError),
}

/// An axis-parallel box.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bounds {
    /// Lowest coordinates \[m\].
    pub low: Vec3,
    /// Highest coordinates \[m\].
    pub high: Vec3,
}

impl Bounds {
    /// Around nothing: low above high.
    pub fn empty() -> Self {
        Self { low: Vec3::repeat(f64::INFINITY), high: Vec3::repeat(f64::NEG_INFINITY) }
    }

    /// Around a point, `half` in every direction \[m\].
    pub fn around(center: Vec3, half: Vec3) -> Self {
        Self { low: center - half, high: center + half }
    }

    /// Around two boxes.
    pub fn union(&self, other: &Self) -> Self {
        Self { low: self.low.inf(&other.low), high: self.high.sup(&other.high) }
    }
}

/// Segments around the axis of a drawn round shape.
const AROUND: usize = 32;
/// Segments of a drawn half ball from pole to equator.
const QUARTER: usize = 8;

impl Shape {
    /// Name of the kind, as in scene files.
    pub fn kind(&self) -> &'static str {
        match self {
            Shape::Point => "point",
            Shape::Sphere { .. } => "sphere",
            Shape::Box { .. } => "box",
            Shape::Capsule { .. } => "capsule",
            Shape::Cylinder { .. } => "cylinder",
            Shape::Cone { .. } => "cone",
            Shape::Ellipsoid { .. } => "ellipsoid",
            Shape::Mesh(_) => "mesh",
            Shape::Shell(_) => "shell",
            Shape::Compound(_) => "compound",
        }
    }

    /// Refuses sizes that are not positive and finite, naming the shape and the size.
    pub fn validate(&self) -> Result<(), ShapeError> {
        let shape = self.kind();
        let positive = |what, value: f64| {
            if value > 0.0 && value.is_finite() {
                Ok(())
            } else {
                Err(ShapeError::Size { shape, what, value })
            }
        };
        match self {
            Shape::Point | Shape::Mesh(_) => Ok(()),
            Shape::Shell(shell) => positive("thickness", shell.thickness()),
            Shape::Sphere { radius } => positive("radius", *radius),
            Shape::Box { size } => {
                ["x size", "y size", "z size"].iter().zip(size).try_for_each(|(w, s)| positive(w, *s))
            }
            // A capsule without a cylinder is a ball.
            Shape::Capsule { radius, length } if *length == 0.0 => positive("radius", *radius),
            Shape::Capsule { radius, length }
            | Shape::Cylinder { radius, length }
            | Shape::Cone { radius, length } => {
                positive("radius", *radius)?;
                positive("length", *length)
            }
            Shape::Ellipsoid { semi_axes } => {
                let names = ["semi-axis x", "semi-axis y", "semi-axis z"];
                names.iter().zip(semi_axes).try_for_each(|(w, s)| positive(w, *s))
            }
            Shape::Compound(parts) if parts.is_empty() => Err(ShapeError::NoParts),
            Shape::Compound(parts) => parts.iter().enumerate().try_for_each(|(part, (pose, shape))| {
                let unit = (pose.rotation.coords.norm() - 1.0).abs() < 1e-6;
                if !unit || !pose.position.iter().all(|x| x.is_finite()) {
                    return Err(ShapeError::Pose { part });
                }
                shape.validate()
            }),
        }
    }

    /// Volume \[m³\].
    pub fn volume(&self) -> f64 {
        self.unit_mass_properties().map_or(0.0, |unit| unit.mass)
    }

    /// Volume \[m³\] (as a mass), centre of mass \[m\] and inertia about it \[m⁵\] at density 1; `None` without volume.
    pub fn unit_mass_properties(&self) -> Option<MassProperties> {
        let at_origin = |V: f64, moments: Vec3| MassProperties {
            mass: V,
            center: Vec3::zeros(),
            inertia: Mat3::from_diagonal(&moments),
        };
        let squares = |a: &Vec3| {
            let s = a.component_mul(a);
            Vec3::new(s.y + s.z, s.z + s.x, s.x + s.y)
        };
        Some(match self {
            Shape::Point => return None,
            Shape::Sphere { radius: r } => {
                let V = 4.0 / 3.0 * PI * r.powi(3);
                at_origin(V, Vec3::repeat(0.4 * V * r * r))
            }
            Shape::Box { size } => {
                let V = size.product();
                at_origin(V, V / 12.0 * squares(size))
            }
            Shape::Ellipsoid { semi_axes } => {
                let V = 4.0 / 3.0 * PI * semi_axes.product();
                at_origin(V, V / 5.0 * squares(semi_axes))
            }
            Shape::Cylinder { radius: r, length: l } => {
                let V = PI * r * r * l;
                let across = V * (r * r / 4.0 + l * l / 12.0);
                at_origin(V, Vec3::new(across, across, V * r * r / 2.0))
            }
            Shape::Cone { radius: r, length: l } => {
                let V = PI * r * r * l / 3.0;
                let across = V * (3.0 / 20.0 * r * r + 3.0 / 80.0 * l * l);
                let mut cone = at_origin(V, Vec3::new(across, across, 0.3 * V * r * r));
                // A quarter of the height above the base.
                cone.center.z = -l / 4.0;
                cone
            }
            Shape::Capsule { radius: r, length: l } => {
                // A half ball has its centre 3r/8 from its flat side: two of them at ±ℓ/2 give, by Steiner's rule to
                // and from that centre, V_s(2r²/5 − (3r/8)² + (ℓ/2 + 3r/8)²).
                let (V_c, V_s) = (PI * r * r * l, 4.0 / 3.0 * PI * r.powi(3));
                let across = V_c * (r * r / 4.0 + l * l / 12.0)
                    + V_s * (0.4 * r * r + l * l / 4.0 + 3.0 / 8.0 * r * l);
                at_origin(V_c + V_s, Vec3::new(across, across, V_c * r * r / 2.0 + V_s * 0.4 * r * r))
            }
            Shape::Mesh(mesh) => mesh.unit_mass_properties(),
            Shape::Shell(shell) => shell.unit_mass_properties(),
            Shape::Compound(parts) => {
                let solid = |(pose, shape): &(Pose, Shape)| Some(shape.unit_mass_properties()?.placed(pose));
                return MassProperties::combined(&parts.iter().filter_map(solid).collect::<Vec<_>>());
            }
        })
    }

    /// The smallest axis-parallel box around the shape in its own frame.
    pub fn bounds(&self) -> Bounds {
        self.bounds_at(&Pose::identity())
    }

    /// The smallest axis-parallel box around the shape when its frame stands at `pose`; for a mesh around its
    /// vertices, for a compound around its parts.
    pub fn bounds_at(&self, pose: &Pose) -> Bounds {
        let R = matrix(&pose.rotation);
        let around = |half: Vec3| Bounds::around(pose.position, half);
        // Reach of a disc of radius 1 across z along each world axis, and of a unit length along z.
        let z: Vec3 = R.column(2).abs();
        let disc = z.map(|c| (1.0 - c * c).max(0.0).sqrt());
        match self {
            Shape::Point => around(Vec3::zeros()),
            Shape::Sphere { radius } => around(Vec3::repeat(*radius)),
            Shape::Box { size } => around(R.abs() * (0.5 * size)),
            Shape::Capsule { radius, length } => around(Vec3::repeat(*radius) + 0.5 * *length * z),
            Shape::Cylinder { radius, length } => around(*radius * disc + 0.5 * *length * z),
            Shape::Cone { radius, length } => {
                let up = 0.5 * *length * R.column(2).into_owned();
                let tip = Bounds::around(pose.position + up, Vec3::zeros());
                Bounds::around(pose.position - up, *radius * disc).union(&tip)
            }
            Shape::Ellipsoid { semi_axes } => {
                let scaled = R * Mat3::from_diagonal(semi_axes);
                around(Vec3::from_fn(|i, _| scaled.row(i).norm()))
            }
            Shape::Mesh(mesh) => around_points(mesh.vertices(), pose),
            Shape::Shell(shell) => around_points(shell.vertices(), pose),
            Shape::Compound(parts) => {
                parts.iter().fold(Bounds::empty(), |b, (at, shape)| b.union(&shape.bounds_at(&pose.then(at))))
            }
        }
    }

    /// A surface to draw and to touch, in the shape's frame, closed unless the shape is a shell; no triangles for a point.
    /// Round shapes are inscribed: vertices lie on the surface.
    pub fn triangles(&self) -> TriangleMesh {
        match self {
            Shape::Point => TriangleMesh::trusted(Vec::new(), Vec::new()),
            Shape::Sphere { radius } => lathe(&ball_profile(*radius, 0.0)),
            Shape::Capsule { radius, length } => lathe(&ball_profile(*radius, *length)),
            Shape::Ellipsoid { semi_axes } => {
                let ball = lathe(&ball_profile(1.0, 0.0));
                let vertices = ball.vertices().iter().map(|p| p.component_mul(semi_axes)).collect();
                TriangleMesh::trusted(vertices, ball.triangles().to_vec())
            }
            Shape::Cylinder { radius, length } => {
                let z = 0.5 * length;
                lathe(&[(0.0, -z), (*radius, -z), (*radius, z), (0.0, z)])
            }
            Shape::Cone { radius, length } => {
                lathe(&[(0.0, -0.5 * length), (*radius, -0.5 * length), (0.0, 0.5 * length)])
            }
            Shape::Box { size } => box_surface(size),
            Shape::Mesh(mesh) => (**mesh).clone(),
            Shape::Shell(shell) => {
                TriangleMesh::trusted(shell.vertices().to_vec(), shell.triangles().to_vec())
            }
            Shape::Compound(parts) => {
                let (mut vertices, mut triangles) = (Vec::new(), Vec::new());
                for (pose, shape) in parts {
                    let part = shape.triangles();
                    let first = vertices.len() as u32;
                    vertices.extend(part.vertices().iter().map(|p| pose.point(p)));
                    triangles.extend(part.triangles().iter().map(|t| t.map(|i| first + i)));
                }
                TriangleMesh::trusted(vertices, triangles)
            }
        }
    }
}

/// Around points of a frame at `pose`.
fn around_points(points: &[Vec3], pose: &Pose) -> Bounds {
    points.iter().fold(Bounds::empty(), |b, p| {
        let p = pose.point(p);
        b.union(&Bounds { low: p, high: p })
    })
}

/// Distance from the axis and height, from the lower pole to the upper one, of a ball drawn apart by `length`.
fn ball_profile(radius: f64, length: f64) -> Vec<(f64, f64)> {
    let on = |k: usize, shift: f64| {
        let angle = PI * (k as f64 / (2 * QUARTER) as f64 - 0.5);
        (radius * angle.cos(), radius * angle.sin() + shift)
    };
    let mut profile = vec![(0.0, -radius - 0.5 * length)];
    profile.extend((1..=QUARTER).map(|k| on(k, -0.5 * length)));
    let upper = if length > 0.0 { QUARTER } else { QUARTER + 1 };
    profile.extend((upper..2 * QUARTER).map(|k| on(k, 0.5 * length)));
    profile.push((0.0, radius + 0.5 * length));
    profile
}

/// Turns a profile that begins and ends on the z axis around it.
fn lathe(profile: &[(f64, f64)]) -> TriangleMesh {
    let rings = profile.len() - 2;
    let mut vertices = vec![Vec3::new(0.0, 0.0, profile[0].1)];
    for &(r, z) in &profile[1..=rings] {
        for j in 0..AROUND {
            let (sin, cos) = (TAU * j as f64 / AROUND as f64).sin_cos();
            vertices.push(Vec3::new(r * cos, r * sin, z));
        }
    }
    vertices.push(Vec3::new(0.0, 0.0, profile[rings + 1].1));
    let top = vertices.len() as u32 - 1;
    let at = |ring: usize, j: usize| (1 + ring * AROUND + j % AROUND) as u32;
    let mut triangles = Vec::new();
    for j in 0..AROUND {
        triangles.push([0, at(0, j + 1), at(0, j)]);
        for ring in 0..rings - 1 {
            let [a, b] = [at(ring, j), at(ring, j + 1)];
            let [c, d] = [at(ring + 1, j + 1), at(ring + 1, j)];
            triangles.push([a, b, c]);
            triangles.push([a, c, d]);
        }
        triangles.push([top, at(rings - 1, j), at(rings - 1, j + 1)]);
    }
    TriangleMesh::trusted(vertices, triangles)
}

/// Vertex k has the sign of bit i of k along axis i.
fn box_surface(size: &Vec3) -> TriangleMesh {
    let corner = |k: u32| Vec3::from_fn(|i, _| if k >> i & 1 == 1 { 0.5 * size[i] } else { -0.5 * size[i] });
    let mut triangles = Vec::new();
    for axis in 0..3 {
        let [u, v] = [1 << ((axis + 1) % 3), 1 << ((axis + 2) % 3)];
        let w = 1 << axis;
        triangles.extend([[w, w + u, w + u + v], [w, w + u + v, w + v]]);
        triangles.extend([[0, u + v, u], [0, v, u + v]]);
    }
    TriangleMesh::trusted((0..8).map(corner).collect(), triangles)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::Random;
    use crate::math::rotation::exp;

    fn shapes() -> Vec<Shape> {
        let pose = Pose::new(Vec3::new(1.0, 0.4, -0.3), exp(&Vec3::new(0.5, 1.0, -0.2)));
        let block = Shape::Box { size: Vec3::new(0.4, 1.0, 0.7) };
        vec![
            Shape::Sphere { radius: 0.7 },
            block.clone(),
            Shape::Capsule { radius: 0.3, length: 1.2 },
            Shape::Capsule { radius: 0.3, length: 0.0 },
            Shape::Cylinder { radius: 0.5, length: 0.8 },
            Shape::Cone { radius: 0.5, length: 0.8 },
            Shape::Ellipsoid { semi_axes: Vec3::new(0.3, 0.6, 1.0) },
            Shape::Mesh(Arc::new(block.triangles())),
            Shape::Compound(vec![
                (Pose::identity(), Shape::Sphere { radius: 0.3 }),
                (pose, Shape::Compound(vec![(pose, Shape::Cone { radius: 0.2, length: 0.5 })])),
            ]),
        ]
    }

    /// True if p lies inside, by the definition of each shape.
    fn inside(shape: &Shape, p: &Vec3) -> bool {
        let r = p.xy().norm();
        match shape {
            Shape::Point | Shape::Shell(_) => false,
            Shape::Sphere { radius } => p.norm() < *radius,
            Shape::Box { size } => (0..3).all(|i| p[i].abs() < 0.5 * size[i]),
            Shape::Capsule { radius, length } => {
                let z = p.z - p.z.clamp(-0.5 * length, 0.5 * length);
                r.hypot(z) < *radius
            }
            Shape::Cylinder { radius, length } => r < *radius && p.z.abs() < 0.5 * length,
            Shape::Cone { radius, length } => p.z > -0.5 * length && r < radius * (0.5 - p.z / length),
            Shape::Ellipsoid { semi_axes } => p.component_div(semi_axes).norm() < 1.0,
            Shape::Mesh(_) => inside(&Shape::Box { size: Vec3::new(0.4, 1.0, 0.7) }, p),
            Shape::Compound(parts) => {
                parts.iter().any(|(pose, shape)| inside(shape, &pose.inverse().point(p)))
            }
        }
    }

    #[test]
    fn closed_forms_agree_with_counting_points() {
        // A lattice of 80³ points in the bounding box: good to about 1 %.
        let n = 80;
        for shape in shapes() {
            let Bounds { low, high } = shape.bounds();
            let cell = (high - low) / n as f64;
            let (mut count, mut first, mut second) = (0.0, Vec3::zeros(), Mat3::zeros());
            for i in 0..n * n * n {
                let at = Vec3::new((i % n) as f64, (i / n % n) as f64, (i / n / n) as f64).add_scalar(0.5);
                let p = low + cell.component_mul(&at);
                if inside(&shape, &p) {
                    count += 1.0;
                    first += p;
                    second += p * p.transpose();
                }
            }
            let dV = cell.product();
            let c = first / count;
            let C = (second - count * c * c.transpose()) * dV;
            let inertia = Mat3::from_diagonal_element(C.trace()) - C;
            let known = shape.unit_mass_properties().unwrap();
            assert!((known.mass - count * dV).abs() < 0.01 * known.mass, "{shape:?}");
            assert!((known.center - c).norm() < 0.01, "{shape:?}");
            assert!((known.inertia - inertia).norm() < 0.015 * known.inertia.norm(), "{shape:?}");
        }
    }

    #[test]
    fn drawn_surfaces_are_closed_and_enclose_the_shape() {
        for shape in shapes() {
            let surface = shape.triangles();
            let mesh = TriangleMesh::new(surface.vertices().to_vec(), surface.triangles().to_vec());
            let drawn = mesh.unwrap_or_else(|e| panic!("{shape:?}: {e}")).unit_mass_properties();
            let known = shape.unit_mass_properties().unwrap();
            assert!(drawn.mass <= known.mass * (1.0 + 1e-14) && drawn.mass > 0.97 * known.mass, "{shape:?}");
            assert!((drawn.inertia - known.inertia).norm() < 0.05 * known.inertia.norm(), "{shape:?}");
        }
        assert!(Shape::Point.triangles().triangles().is_empty());
    }

    #[test]
    fn bounds_enclose_the_turned_surface_and_touch_it() {
        let mut random = Random::new(9);
        for shape in shapes() {
            for _ in 0..10 {
                let [position, turn] = [0; 2].map(|_| Vec3::from_fn(|_, _| random.between(-2.0, 2.0)));
                let pose = Pose::new(position, exp(&turn));
                let bounds = shape.bounds_at(&pose);
                let drawn = Shape::Mesh(Arc::new(shape.triangles())).bounds_at(&pose);
                assert!((bounds.low - drawn.low).max() < 1e-14 && (drawn.high - bounds.high).max() < 1e-14);
                let gap = (drawn.low - bounds.low).amax().max((bounds.high - drawn.high).amax());
                assert!(gap < 0.01, "{shape:?}: {gap}");
            }
        }
    }

    #[test]
    fn sizes_that_cannot_be_are_refused_by_name() {
        let error = Shape::Box { size: Vec3::new(1.0, -2.0, 1.0) }.validate().unwrap_err();
        assert_eq!(error.to_string(), "y size of the box is -2 m; it must be positive and finite");
        assert!(Shape::Sphere { radius: f64::NAN }.validate().is_err());
        assert!(Shape::Capsule { radius: 0.0, length: 0.0 }.validate().is_err());
        assert!(Shape::Cylinder { radius: 1.0, length: 0.0 }.validate().is_err());
        assert_eq!(Shape::Compound(Vec::new()).validate(), Err(ShapeError::NoParts));
        let part = (Pose::at(Vec3::repeat(f64::NAN)), Shape::Point);
        assert_eq!(Shape::Compound(vec![part]).validate(), Err(ShapeError::Pose { part: 0 }));
        for shape in shapes() {
            assert_eq!(shape.validate(), Ok(()));
        }
    }
}
