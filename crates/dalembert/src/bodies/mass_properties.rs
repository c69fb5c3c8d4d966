//! Mass, centre of mass and inertia of a rigid body.
//!
//! $m = \int\rho\,dV$, $c = \frac1m\int\rho\,p\,dV$ and, about the centre with $r = p - c$,
//! $I = \int\rho\,(|r|^2 \mathbf 1 - r r^T)\,dV$. About a point at distance d from the centre (Steiner)
//! $I_d = I + m(|d|^2\mathbf 1 - d d^T)$, because $\int\rho\,r\,dV = 0$ removes the mixed terms.
//!
//! Such an integral cannot be any matrix. In principal axes $I_1 = \int\rho(y^2 + z^2)$ and so on, hence
//! $I_1 + I_2 - I_3 = 2\int\rho z^2 \ge 0$: no moment exceeds the sum of the other two.

use super::shape::{Shape, ShapeError};
use crate::math::rotation::matrix;
use crate::math::{Mat3, Pose, Quat, Vec3, outer};

/// How much of the largest moment the triangle inequality may be missed by: thin rods and plates sit on its edge.
const TRIANGLE_TOLERANCE: f64 = 1e-9;

/// Mass, centre of mass and inertia of a rigid body, as a mass distribution can have them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MassProperties {
    /// Mass m \[kg\], > 0.
    pub mass: f64,
    /// Centre of mass in the body's frame \[m\].
    pub center: Vec3,
    /// Inertia about the centre of mass, body axes \[kg·m²\]; symmetric, positive definite.
    pub inertia: Mat3,
}

/// Why numbers are not the mass properties of any body.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum MassError {
    /// A mass that is not a positive number.
    #[error("mass {mass} kg must be positive and finite, and so must its inverse")]
    Mass {
        /// Mass \[kg\].
        mass: f64,
    },
    /// A density that is not a positive number.
    #[error("density {density} kg/m³ must be positive and finite")]
    Density {
        /// Density \[kg/m³\].
        density: f64,
    },
    /// A centre with a number that is not finite.
    #[error("centre of mass ({}, {}, {}) m must be finite", .center[0], .center[1], .center[2])]
    Center {
        /// Centre of mass \[m\].
        center: [f64; 3],
    },
    /// An inertia with a number that is not finite.
    #[error("inertia entry ({row}, {column}) is {value}; it must be finite")]
    NotFinite {
        /// Row, from 1.
        row: usize,
        /// Column, from 1.
        column: usize,
        /// The entry \[kg·m²\].
        value: f64,
    },
    /// Two entries that should be equal.
    #[error(
        "inertia is not symmetric: entry ({row}, {column}) is {value}, entry ({column}, {row}) is {mirrored}"
    )]
    NotSymmetric {
        /// Row, from 1.
        row: usize,
        /// Column, from 1.
        column: usize,
        /// The entry \[kg·m²\].
        value: f64,
        /// The entry on the other side of the diagonal \[kg·m²\].
        mirrored: f64,
    },
    /// A principal moment that is zero or negative.
    #[error("principal moments of inertia {}, {}, {} kg·m² about the centre of mass must be positive",
        .moments[0], .moments[1], .moments[2])]
    NotPositive {
        /// Principal moments, rising \[kg·m²\].
        moments: [f64; 3],
    },
    /// The largest moment exceeds the sum of the others.
    #[error("principal moments of inertia break the triangle inequality: {} + {} < {} kg·m²; no mass distribution has them",
        .moments[0], .moments[1], .moments[2])]
    Triangle {
        /// Principal moments, rising \[kg·m²\].
        moments: [f64; 3],
    },
    /// A shape without volume cannot give an inertia.
    #[error("a shape without volume has no inertia of its own: give one, or choose a shape with volume")]
    NoVolume,
    /// The shape itself is wrong.
    #[error(transparent)]
    Shape(#[from] ShapeError),
}

/// |d|² 1 − d dᵀ: inertia of a unit mass at distance d \[m²\].
pub fn unit_inertia_at(d: &Vec3) -> Mat3 {
    Mat3::from_diagonal_element(d.norm_squared()) - outer(d, d)
}

impl MassProperties {
    /// From mass \[kg\], centre \[m\] and the full inertia tensor about the centre, body axes \[kg·m²\].
    pub fn new(mass: f64, center: Vec3, inertia: Mat3) -> Result<Self, MassError> {
        if !(mass > 0.0 && mass.is_finite() && (1.0 / mass).is_finite()) {
            return Err(MassError::Mass { mass });
        }
        if !center.iter().all(|x| x.is_finite()) {
            return Err(MassError::Center { center: center.into() });
        }
        for row in 0..3 {
            for column in 0..3 {
                let value = inertia[(row, column)];
                if !value.is_finite() {
                    return Err(MassError::NotFinite { row: row + 1, column: column + 1, value });
                }
            }
        }
        let largest = inertia.amax();
        for (row, column) in [(0, 1), (0, 2), (1, 2)] {
            let (value, mirrored) = (inertia[(row, column)], inertia[(column, row)]);
            // Files carry single precision at times.
            if (value - mirrored).abs() > 1e-6 * largest {
                return Err(MassError::NotSymmetric { row: row + 1, column: column + 1, value, mirrored });
            }
        }
        let body = Self { mass, center, inertia: 0.5 * (inertia + inertia.transpose()) };
        let moments = body.principal_moments();
        // A moment below the rounding of the largest one cannot be told from zero, and has no inverse.
        if moments[0] <= 1e-14 * moments[2]
            || moments.iter().any(|m| !(m.is_finite() && (1.0 / m).is_finite()))
        {
            return Err(MassError::NotPositive { moments });
        }
        if moments[0] + moments[1] < moments[2] * (1.0 - TRIANGLE_TOLERANCE) {
            return Err(MassError::Triangle { moments });
        }
        Ok(body)
    }

    /// From mass \[kg\], centre \[m\], principal moments \[kg·m²\] and the rotation that turns principal axes into body
    /// axes (the identity for a diagonal tensor).
    pub fn from_principal(mass: f64, center: Vec3, moments: Vec3, axes: Quat) -> Result<Self, MassError> {
        let R = matrix(&axes);
        Self::new(mass, center, R * Mat3::from_diagonal(&moments) * R.transpose())
    }

    /// A shape filled with a density \[kg/m³\].
    pub fn from_density(shape: &Shape, density: f64) -> Result<Self, MassError> {
        if !(density > 0.0 && density.is_finite()) {
            return Err(MassError::Density { density });
        }
        shape.validate()?;
        let unit = shape.unit_mass_properties().ok_or(MassError::NoVolume)?;
        Self::new(density * unit.mass, unit.center, density * unit.inertia)
    }

    /// A shape filled evenly with a mass \[kg\].
    pub fn from_mass(shape: &Shape, mass: f64) -> Result<Self, MassError> {
        if !(mass > 0.0 && mass.is_finite()) {
            return Err(MassError::Mass { mass });
        }
        shape.validate()?;
        let unit = shape.unit_mass_properties().ok_or(MassError::NoVolume)?;
        Self::new(mass, unit.center, mass / unit.mass * unit.inertia)
    }

    /// Principal moments of inertia about the centre, rising \[kg·m²\].
    pub fn principal_moments(&self) -> [f64; 3] {
        let diagonal = self.inertia.diagonal();
        let off = [(0, 1), (0, 2), (1, 2)].iter().any(|&at| self.inertia[at] != 0.0);
        let mut moments: [f64; 3] =
            if off { self.inertia.symmetric_eigenvalues().into() } else { diagonal.into() };
        moments.sort_by(f64::total_cmp);
        moments
    }

    /// I⁻¹ about the centre, body axes \[1/(kg·m²)\].
    pub fn inv_inertia(&self) -> Mat3 {
        // At size 1, so that the determinant of small moments does not vanish.
        let size = self.inertia.amax();
        let inverse = (self.inertia / size).try_inverse().map(|inverse| inverse / size);
        debug_assert!(inverse.is_some(), "inertia {} has no inverse", self.inertia);
        let inverse = inverse.unwrap_or_else(Mat3::zeros);
        0.5 * (inverse + inverse.transpose())
    }

    /// Inertia about a point of the body frame, body axes \[kg·m²\].
    pub fn inertia_about(&self, point: &Vec3) -> Mat3 {
        self.inertia + self.mass * unit_inertia_at(&(self.center - point))
    }

    /// The same body described in another frame, in which its own frame stands at `pose`: c ← x + R c, I ← R I Rᵀ.
    pub fn placed(&self, pose: &Pose) -> Self {
        let R = matrix(&pose.rotation);
        Self { mass: self.mass, center: pose.point(&self.center), inertia: R * self.inertia * R.transpose() }
    }

    /// Several bodies of one frame welded together; `None` for none.
    pub fn combined(parts: &[Self]) -> Option<Self> {
        let mass: f64 = parts.iter().map(|p| p.mass).sum();
        if parts.is_empty() {
            return None;
        }
        let center = parts.iter().map(|p| p.mass * p.center).sum::<Vec3>() / mass;
        let inertia = parts.iter().map(|p| p.inertia_about(&center)).sum();
        Some(Self { mass, center, inertia })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::Random;
    use crate::math::rotation::exp;

    #[test]
    fn a_cloud_of_points_gives_its_own_integrals() {
        // Exact sums over many points, against parts combined, shifted and turned.
        let mut random = Random::new(8);
        let points: Vec<(f64, Vec3)> = (0..20)
            .map(|_| (random.between(0.1, 2.0), Vec3::from_fn(|_, _| random.between(-1.0, 1.0))))
            .collect();
        let cloud = |points: &[(f64, Vec3)]| {
            let mass: f64 = points.iter().map(|p| p.0).sum();
            let center = points.iter().map(|p| p.0 * p.1).sum::<Vec3>() / mass;
            let inertia = points.iter().map(|p| p.0 * unit_inertia_at(&(p.1 - center))).sum();
            MassProperties::new(mass, center, inertia).unwrap()
        };
        let same = |a: &MassProperties, b: &MassProperties| {
            (a.mass - b.mass).abs() < 1e-13
                && (a.center - b.center).norm() < 1e-14
                && (a.inertia - b.inertia).norm() < 1e-13
        };
        let whole = cloud(&points);
        let welded = MassProperties::combined(&[cloud(&points[..7]), cloud(&points[7..])]).unwrap();
        assert!(same(&whole, &welded));
        let pose = Pose::new(Vec3::new(1.0, 2.0, 3.0), exp(&Vec3::new(0.3, -1.0, 2.0)));
        let turned: Vec<_> = points.iter().map(|p| (p.0, pose.point(&p.1))).collect();
        assert!(same(&whole.placed(&pose), &cloud(&turned)));
        let about_origin = points.iter().map(|p| p.0 * unit_inertia_at(&p.1)).sum::<Mat3>();
        assert!((whole.inertia_about(&Vec3::zeros()) - about_origin).norm() < 1e-13);
        assert!((whole.inv_inertia() * whole.inertia - Mat3::identity()).norm() < 1e-13);
    }

    #[test]
    fn inertias_that_no_mass_has_are_refused() {
        let diagonal =
            |a, b, c| MassProperties::new(1.0, Vec3::zeros(), Mat3::from_diagonal(&Vec3::new(a, b, c)));
        assert!(diagonal(1.0, 1.0, 2.0).is_ok(), "a plate sits on the edge");
        assert!(diagonal(1.0, 1.0, 2.0 + 1e-9).is_ok());
        let error = diagonal(3.5, 1.0, 2.0).unwrap_err();
        assert_eq!(error, MassError::Triangle { moments: [1.0, 2.0, 3.5] });
        assert!(error.to_string().contains("1 + 2 < 3.5"), "{error}");
        assert!(matches!(diagonal(0.0, 1.0, 1.0), Err(MassError::NotPositive { .. })));
        assert!(matches!(diagonal(-1.0, 1.0, 1.0), Err(MassError::NotPositive { .. })));
        assert!(matches!(diagonal(f64::NAN, 1.0, 1.0), Err(MassError::NotFinite { row: 1, column: 1, .. })));
        let mut skewed = Mat3::identity();
        skewed[(0, 2)] = 0.1;
        let error = MassProperties::new(1.0, Vec3::zeros(), skewed).unwrap_err();
        assert_eq!(error, MassError::NotSymmetric { row: 1, column: 3, value: 0.1, mirrored: 0.0 });
        for mass in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            let error = MassProperties::new(mass, Vec3::zeros(), Mat3::identity());
            assert!(matches!(error, Err(MassError::Mass { .. })));
        }
        let nowhere = Vec3::new(0.0, f64::INFINITY, 0.0);
        assert!(matches!(MassProperties::new(1.0, nowhere, Mat3::identity()), Err(MassError::Center { .. })));
        // Turned, the same verdict.
        let turn = exp(&Vec3::new(0.4, 1.0, -0.3));
        let moments = Vec3::new(1.0, 2.0, 3.5);
        assert!(matches!(
            MassProperties::from_principal(1.0, Vec3::zeros(), moments, turn),
            Err(MassError::Triangle { .. })
        ));
        assert!(MassProperties::from_principal(1.0, Vec3::zeros(), Vec3::new(1.0, 1.0, 2.0), turn).is_ok());
    }

    #[test]
    fn shapes_without_volume_ask_for_an_inertia() {
        assert_eq!(MassProperties::from_mass(&Shape::Point, 1.0), Err(MassError::NoVolume));
        assert!(matches!(
            MassProperties::from_density(&Shape::Sphere { radius: 1.0 }, -2.0),
            Err(MassError::Density { .. })
        ));
    }
}
