//! Mass and inertia of the shapes of geoms, filled or hollow, and what to do with inertias that cannot be.
//!
//! Filled shapes are [`Shape`]s of the engine. A hollow shape carries its mass evenly on its surface. With area A:
//!
//! | shell | A | inertia / mass |
//! |---|---|---|
//! | sphere r | 4πr² | 2r²/3 |
//! | cylinder r, ℓ, with lids | 2πr(r + ℓ) | along: (πr⁴ + 2πr³ℓ)/A |
//! | capsule r, ℓ | 4πr² + 2πrℓ | sum of a tube and two half shells |
//! | box a, b, c | 2(ab + bc + ca) | sum of six plates |
//! | ellipsoid | Thomsen's formula | limit of a thin layer between two ellipsoids whose half axes differ by the same amount |

use std::f64::consts::PI;

use dalembert::bodies::articulated::description::{GeomShape, Inertial, RobotDescription};
use dalembert::bodies::{MassError, MassProperties, Shape};
use dalembert::math::{Mat3, Pose, Vec3, symmetric_eigen};

use super::InertiaPolicy;
use super::xml::Document;
use crate::error::{Span, quote};

/// Size (volume \[m³\] or area \[m²\]), centre and inertia per size, of a shape.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Extent {
    /// Volume or area.
    pub(super) size: f64,
    /// Centre \[m\].
    pub(super) center: Vec3,
    /// Inertia about the centre for mass 1 \[m²\].
    pub(super) inertia: Mat3,
}

/// Of a shape that is no mesh; `None` for those without mass of their own (planes, terrains).
pub(super) fn extent(shape: &GeomShape, shell: bool) -> Option<Extent> {
    let centred = |size: f64, moments: Vec3| {
        Some(Extent { size, center: Vec3::zeros(), inertia: Mat3::from_diagonal(&moments) })
    };
    if shell {
        return match *shape {
            GeomShape::Sphere { radius: r } => centred(4.0 * PI * r * r, Vec3::repeat(2.0 / 3.0 * r * r)),
            GeomShape::Cylinder { radius: r, half_length: h } => {
                let (tube, lid) = (4.0 * PI * r * h, PI * r * r);
                let area = tube + 2.0 * lid;
                let along = (tube * r * r + 2.0 * lid * 0.5 * r * r) / area;
                let across = (tube * (0.5 * r * r + h * h / 3.0) + 2.0 * lid * (0.25 * r * r + h * h)) / area;
                centred(area, Vec3::new(across, across, along))
            }
            GeomShape::Capsule { radius: r, half_length: h } => {
                let (tube, ball) = (4.0 * PI * r * h, 4.0 * PI * r * r);
                let area = tube + ball;
                let along = (tube * r * r + ball * 2.0 / 3.0 * r * r) / area;
                // A half shell has its centre r/2 from its plane: 2r²/3 + h² + 2h(r/2) about the capsule's centre.
                let ball_across = 2.0 / 3.0 * r * r + h * h + h * r;
                let across = (tube * (0.5 * r * r + h * h / 3.0) + ball * ball_across) / area;
                centred(area, Vec3::new(across, across, along))
            }
            GeomShape::Box { half: s } => {
                let faces = Vec3::new(s.y * s.z, s.z * s.x, s.x * s.y) * 4.0;
                let area = 2.0 * faces.sum();
                // ∫x² over the two plates across x, and over the other four.
                let second =
                    |x: f64, own: f64, others: f64| (2.0 * own * x * x + 2.0 * others * x * x / 3.0) / area;
                let xx = second(s.x, faces.x, faces.y + faces.z);
                let yy = second(s.y, faces.y, faces.z + faces.x);
                let zz = second(s.z, faces.z, faces.x + faces.y);
                centred(area, Vec3::new(yy + zz, zz + xx, xx + yy))
            }
            GeomShape::Ellipsoid { semi_axes: s } => {
                let p = 1.6075;
                let mean = ((s.x * s.y).powf(p) + (s.y * s.z).powf(p) + (s.z * s.x).powf(p)) / 3.0;
                let area = 4.0 * PI * mean.powf(1.0 / p);
                // Derivative of ∫x² = abc·a²/5 and of the volume abc, by a common growth of the half axes.
                let volume = s.x * s.y * s.z;
                let growth = volume * (1.0 / s.x + 1.0 / s.y + 1.0 / s.z);
                let second = |x: f64| (growth * x * x + 2.0 * volume * x) / (5.0 * growth);
                let (xx, yy, zz) = (second(s.x), second(s.y), second(s.z));
                centred(area, Vec3::new(yy + zz, zz + xx, xx + yy))
            }
            GeomShape::Plane { .. } | GeomShape::HeightField(_) | GeomShape::Mesh(_) => None,
        };
    }
    let filled = match *shape {
        GeomShape::Sphere { radius } => Shape::Sphere { radius },
        GeomShape::Capsule { radius, half_length } => Shape::Capsule { radius, length: 2.0 * half_length },
        GeomShape::Cylinder { radius, half_length } => Shape::Cylinder { radius, length: 2.0 * half_length },
        GeomShape::Ellipsoid { semi_axes } => Shape::Ellipsoid { semi_axes },
        GeomShape::Box { half } => Shape::Box { size: 2.0 * half },
        GeomShape::Plane { .. } | GeomShape::HeightField(_) | GeomShape::Mesh(_) => return None,
    };
    let unit = MassProperties::from_density(&filled, 1.0).ok()?;
    centred(unit.mass, unit.inertia.diagonal() / unit.mass)
}

/// Looks at an inertia that a file gives, and does with it what the policy says.
pub(super) fn checked(
    doc: &Document,
    span: Span,
    body: &str,
    inertial: Inertial,
    policy: InertiaPolicy,
) -> Inertial {
    if inertial.mass == 0.0 && inertial.inertia == Mat3::zeros() {
        return inertial;
    }
    let reason = match inertial.mass_properties() {
        Ok(_) => return inertial,
        Err(error @ (MassError::NotFinite { .. } | MassError::Center { .. })) => {
            doc.error(span, format!("{}: {error}", quote(body)));
            return Inertial::default();
        }
        Err(error @ MassError::Mass { .. }) if inertial.mass != 0.0 => {
            doc.error(span, format!("{}: {error}", quote(body)));
            return Inertial::default();
        }
        // A mass at a point, which joints further down or an armature may carry.
        Err(MassError::NotPositive { .. }) if inertial.inertia == Mat3::zeros() => return inertial,
        Err(error) => format!("{}: {error}", quote(body)),
    };
    match policy {
        InertiaPolicy::Refuse => {
            let error = doc.files.error(span, reason);
            doc.push(error.with_help("the options can ask to keep or to mend such inertias"));
            inertial
        }
        InertiaPolicy::Warn => {
            doc.warn(span, format!("{reason}; kept as it is"));
            inertial
        }
        InertiaPolicy::Fix => {
            doc.warn(span, format!("{reason}; replaced by the nearest possible one"));
            Inertial { inertia: nearest(&inertial.inertia), ..inertial }
        }
    }
}

/// Numbers of a file are finite, but what is computed from very large ones need not be: an error at the body.
pub(super) fn refuse_overflow(doc: &Document, robot: &RobotDescription, span_of: impl Fn(usize) -> Span) {
    let vector = |v: &Vec3| v.iter().all(|x| x.is_finite());
    // A rotation or axis that came out of an overflow has lost its length.
    let unit = |length: f64| (length - 1.0).abs() < 1e-6;
    let pose = |pose: &Pose| vector(&pose.position) && unit(pose.rotation.coords.norm());
    let mesh = |shape: &GeomShape| match shape {
        GeomShape::Mesh(id) => {
            let mesh = &robot.meshes[id.0];
            mesh.vertices.iter().all(vector) && pose(&mesh.inertial_frame)
        }
        GeomShape::Box { half: size } | GeomShape::Ellipsoid { semi_axes: size } => vector(size),
        GeomShape::Sphere { radius } => radius.is_finite(),
        GeomShape::Capsule { radius, half_length } | GeomShape::Cylinder { radius, half_length } => {
            radius.is_finite() && half_length.is_finite()
        }
        GeomShape::Plane { .. } | GeomShape::HeightField(_) => true,
    };
    for (i, body) in robot.bodies.iter().enumerate() {
        let weight = &body.inertial;
        let inertial =
            weight.mass.is_finite() && vector(&weight.center) && weight.inertia.iter().all(|x| x.is_finite());
        let joints = body.joints.iter().all(|joint| vector(&joint.anchor) && unit(joint.axis.norm()));
        let geoms = body.geoms.iter().all(|g| pose(&g.pose) && g.mass.is_finite() && mesh(&g.shape));
        let sites = body.sites.iter().all(|site| pose(&site.pose));
        let lists = [
            (pose(&body.pose), "pose"),
            (inertial, "inertia"),
            (joints, "joints"),
            (geoms, "geoms"),
            (sites, "sites"),
        ];
        for (_, what) in lists.iter().filter(|(fine, _)| !fine) {
            doc.error(span_of(i), format!("{what} of body {}: numbers are too large", quote(&body.name)));
        }
    }
}

/// The inertia whose second moments along the principal axes are those of `inertia`, negative ones set to zero, and
/// none of whose moments is zero.
pub(super) fn nearest(inertia: &Mat3) -> Mat3 {
    let (moments, axes) = symmetric_eigen(&(0.5 * (inertia + inertia.transpose())));
    let half = 0.5 * moments.sum();
    let seconds = moments.map(|moment| (half - moment).max(0.0));
    let least = 1e-6 * seconds.max().max(moments.amax()).max(f64::MIN_POSITIVE);
    let seconds = seconds.map(|second| second.max(least));
    let mended = Vec3::repeat(seconds.sum()) - seconds;
    axes * Mat3::from_diagonal(&mended) * axes.transpose()
}

#[cfg(test)]
mod tests {
    use super::*;
    use dalembert::math::Random;

    #[test]
    fn a_thin_layer_between_two_filled_shapes_is_the_shell() {
        let e = 1e-6;
        for (a, b) in [
            (GeomShape::Sphere { radius: 0.3 }, GeomShape::Sphere { radius: 0.3 + e }),
            (
                GeomShape::Capsule { radius: 0.3, half_length: 0.5 },
                GeomShape::Capsule { radius: 0.3 + e, half_length: 0.5 },
            ),
            (
                GeomShape::Cylinder { radius: 0.3, half_length: 0.5 },
                GeomShape::Cylinder { radius: 0.3 + e, half_length: 0.5 + e },
            ),
            (
                GeomShape::Box { half: Vec3::new(0.1, 0.2, 0.4) },
                GeomShape::Box { half: Vec3::new(0.1 + e, 0.2 + e, 0.4 + e) },
            ),
        ] {
            let (inner, outer) = (extent(&a, false).unwrap(), extent(&b, false).unwrap());
            let shell = extent(&a, true).unwrap();
            let volume = outer.size - inner.size;
            assert!((volume / e - shell.size).abs() < 1e-4 * shell.size, "{a:?}");
            let layer = (outer.inertia * outer.size - inner.inertia * inner.size) / volume;
            assert!((layer - shell.inertia).norm() < 1e-4 * shell.inertia.norm(), "{a:?} {layer} {shell:?}");
        }
        let ball = extent(&GeomShape::Ellipsoid { semi_axes: Vec3::repeat(0.3) }, true).unwrap();
        let sphere = extent(&GeomShape::Sphere { radius: 0.3 }, true).unwrap();
        assert!((ball.size - sphere.size).abs() < 1e-12 && (ball.inertia - sphere.inertia).norm() < 1e-12);
    }

    #[test]
    fn a_mended_inertia_is_possible_and_a_possible_one_stays() {
        let mut random = Random::new(3);
        for _ in 0..200 {
            let mut a = Mat3::from_fn(|_, _| random.between(-1.0, 1.0));
            a = 0.5 * (a + a.transpose());
            let mended = nearest(&a);
            assert!(MassProperties::new(1.0, Vec3::zeros(), mended).is_ok(), "{a} {mended}");
        }
        let possible = Mat3::from_diagonal(&Vec3::new(1.0, 2.0, 2.5));
        assert!((nearest(&possible) - possible).norm() < 1e-14);
    }
}
