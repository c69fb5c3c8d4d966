//! Mass of an affine body: $M_{ij} = \int\rho\,w_i w_j\,dV$ with $w = (1, X)$.
//!
//! An affine body moves as $x = p + A X = \sum_j w_j z_j$, stored as four points: $z_0 = p$ and the columns
//! $z_1, z_2, z_3$ of A. Its kinetic energy is $\tfrac12\sum_{ij} M_{ij}\,\dot z_i\cdot\dot z_j$ with the constant
//!
//! $$ M_{00} = \int\rho\,dV,\qquad M_{0k} = \int\rho X_k\,dV,\qquad M_{kl} = \int\rho X_k X_l\,dV, $$
//!
//! mass, first and second moments. With X counted from the centre of mass the first moments vanish, and in principal
//! axes M is diagonal. The inertia I of the rigid body of the same shape is $I = \mathrm{tr}(C)\,\mathbf 1 - C$ with
//! the second moments C, hence $C = \tfrac12\mathrm{tr}(I)\,\mathbf 1 - I$.

use super::{MassError, MassProperties, Shape};
use crate::math::{Mat3, Vec3, outer};

/// Mass, first and second moments of a body.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AffineMass {
    /// Mass ∫ρ \[kg\], > 0.
    pub mass: f64,
    /// First moments ∫ρ X \[kg·m\]; zero about the centre of mass.
    pub first: Vec3,
    /// Second moments ∫ρ X Xᵀ \[kg·m²\]; symmetric, positive definite.
    pub second: Mat3,
}

impl AffineMass {
    /// Of the rigid body with these mass properties, about the origin of its frame.
    pub fn from_mass_properties(body: &MassProperties) -> Self {
        let about_center = Mat3::from_diagonal_element(0.5 * body.inertia.trace()) - body.inertia;
        Self { mass: body.mass, first: Vec3::zeros(), second: about_center }.about(&-body.center)
    }

    /// Of a shape of `density` \[kg/m³\], about the origin of its frame.
    pub fn from_shape(shape: &Shape, density: f64) -> Result<Self, MassError> {
        shape.validate()?;
        let unit = shape.unit_mass_properties().ok_or(MassError::NoVolume)?;
        Self::from_mass_properties(&unit).scaled(density)
    }

    fn scaled(self, density: f64) -> Result<Self, MassError> {
        if !(density > 0.0 && density.is_finite()) {
            return Err(MassError::Density { density });
        }
        Ok(Self { mass: density * self.mass, first: density * self.first, second: density * self.second })
    }

    /// Centre of mass \[m\].
    pub fn center(&self) -> Vec3 {
        self.first / self.mass
    }

    /// The same body with X counted from `origin` \[m\].
    #[must_use]
    pub fn about(&self, origin: &Vec3) -> Self {
        let mixed = outer(&self.first, origin);
        Self {
            mass: self.mass,
            first: self.first - self.mass * origin,
            second: self.second - mixed - mixed.transpose() + self.mass * outer(origin, origin),
        }
    }

    /// About the centre of mass: the first moments are zero.
    #[must_use]
    pub fn about_center(&self) -> Self {
        Self { first: Vec3::zeros(), ..self.about(&self.center()) }
    }

    /// M over the four points z₀ … z₃, \[kg, kg·m, kg·m²\].
    pub fn matrix(&self) -> nalgebra::Matrix4<f64> {
        let mut M = nalgebra::Matrix4::zeros();
        M[(0, 0)] = self.mass;
        M.fixed_view_mut::<3, 1>(1, 0).copy_from(&self.first);
        M.fixed_view_mut::<1, 3>(0, 1).copy_from(&self.first.transpose());
        M.fixed_view_mut::<3, 3>(1, 1).copy_from(&self.second);
        M
    }

    /// Kinetic energy of the four velocities ż \[m/s, 1/s\]: ½ Σ M_ij żᵢ·żⱼ \[J\].
    pub fn kinetic(&self, v: &[Vec3; 4]) -> f64 {
        let M = self.matrix();
        let row = |i: usize| (0..4).map(|j| M[(i, j)] * v[i].dot(&v[j])).sum::<f64>();
        0.5 * (0..4).map(row).sum::<f64>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::Pose;
    use crate::math::rotation::{exp, skew};

    #[test]
    fn moments_shift_with_the_origin_and_vanish_at_the_centre() {
        let away = Vec3::new(10.0, -30.0, 5.0);
        let shape = Shape::Cylinder { radius: 0.2, length: 0.7 };
        let here = AffineMass::from_shape(&shape, 1000.0).unwrap();
        let moved = Shape::Compound(vec![(Pose::at(away), shape)]);
        let there = AffineMass::from_shape(&moved, 1000.0).unwrap();
        assert!((there.about(&away).second - here.second).norm() < 1e-9);
        assert!((there.center() - here.center() - away).norm() < 1e-12);
        assert!((there.about_center().second - here.about_center().second).norm() < 1e-9);
        assert_eq!(there.about_center().first, Vec3::zeros());
    }

    #[test]
    fn a_rigid_motion_has_the_kinetic_energy_of_the_rigid_body() {
        let pose = Pose { position: Vec3::new(0.3, -0.2, 0.5), rotation: exp(&Vec3::new(0.4, 1.0, -0.3)) };
        let shape = Shape::Compound(vec![(pose, Shape::Cone { radius: 0.3, length: 0.8 })]);
        let rigid = MassProperties::from_density(&shape, 500.0).unwrap();
        let affine = AffineMass::from_shape(&shape, 500.0).unwrap();
        // At A = 1 a spin ω about the origin is Ȧ = [ω].
        let (v, w) = (Vec3::new(0.2, 0.7, -1.0), Vec3::new(1.0, -0.5, 2.0));
        let spin = skew(&w);
        let z = [v, spin.column(0).into(), spin.column(1).into(), spin.column(2).into()];
        let v_center = v + w.cross(&rigid.center);
        let wanted = 0.5 * rigid.mass * v_center.norm_squared() + 0.5 * w.dot(&(rigid.inertia * w));
        assert!((affine.kinetic(&z) - wanted).abs() < 1e-12 * wanted);
    }

    #[test]
    fn bodies_without_volume_or_density_are_refused() {
        assert_eq!(AffineMass::from_shape(&Shape::Point, 1.0), Err(MassError::NoVolume));
        let ball = Shape::Sphere { radius: 1.0 };
        assert_eq!(AffineMass::from_shape(&ball, -1.0), Err(MassError::Density { density: -1.0 }));
    }
}
