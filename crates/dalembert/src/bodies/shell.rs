//! Thin sheets and the integrals over them.
//!
//! A triangle with corners a, b, c, area S, unit normal n and thickness t is the prism of the points
//! $p + \zeta n$, $p$ in the triangle, $|\zeta| \le t/2$. With $s = a + b + c$ and $\int\lambda_i\lambda_j\,dS = S(1 + \delta_{ij})/12$
//!
//! $$ \int dV = tS,\qquad \int p\,dV = \frac{tS}3\,s,\qquad
//!    \int p\,p^T dV = \frac{tS}{12}\big(a a^T + b b^T + c c^T + s s^T\big) + \frac{t^3 S}{12}\,n n^T. $$
//!
//! The last term is what keeps a flat sheet from having no inertia across itself. Where triangles meet at an angle, the
//! prisms overlap or gape by the order of t, which is not accounted for.

use super::{MassProperties, MeshError};
use crate::math::{Mat3, Vec3, outer};

/// A sheet of triangles of one thickness. What stands here has passed the tests of [`Shell::new`].
#[derive(Debug, Clone, PartialEq)]
pub struct Shell {
    vertices: Vec<Vec3>,
    triangles: Vec<[u32; 3]>,
    thickness: f64,
}

impl Shell {
    /// A sheet: finite vertices \[m\], corners in range, no corner twice, some area; `thickness` \[m\] > 0. It counts for
    /// mass only: contact is with the middle surface.
    pub fn new(vertices: Vec<Vec3>, triangles: Vec<[u32; 3]>, thickness: f64) -> Result<Self, MeshError> {
        let shell = Self { vertices, triangles, thickness };
        super::mesh::validate_corners(&shell.vertices, &shell.triangles)?;
        let volume = thickness * shell.area();
        if !(volume > 0.0 && volume.is_finite()) {
            return Err(MeshError::Flat { volume });
        }
        Ok(shell)
    }

    /// Vertices \[m\].
    pub fn vertices(&self) -> &[Vec3] {
        &self.vertices
    }

    /// Corners of the triangles.
    pub fn triangles(&self) -> &[[u32; 3]] {
        &self.triangles
    }

    /// Thickness \[m\].
    pub fn thickness(&self) -> f64 {
        self.thickness
    }

    /// Area of the middle surface \[m²\].
    pub fn area(&self) -> f64 {
        self.triangles.iter().map(|t| 0.5 * self.normal(t).norm()).sum()
    }

    /// Normal of a triangle, of twice its area.
    fn normal(&self, t: &[u32; 3]) -> Vec3 {
        let [a, b, c] = t.map(|i| self.vertices[i as usize]);
        (b - a).cross(&(c - a))
    }

    /// Volume \[m³\] (as a mass), centre \[m\] and inertia about it \[m⁵\] at density 1.
    pub fn unit_mass_properties(&self) -> MassProperties {
        // Counted from a vertex, so that a sheet far from the origin does not cancel.
        let apex = self.vertices[self.triangles[0][0] as usize];
        let t = self.thickness;
        let (mut volume, mut first, mut second) = (0.0, Vec3::zeros(), Mat3::zeros());
        for triangle in &self.triangles {
            let normal = self.normal(triangle);
            let [a, b, c] = triangle.map(|i| self.vertices[i as usize] - apex);
            let (s, V) = (a + b + c, 0.5 * t * normal.norm());
            let Some(n) = normal.try_normalize(0.0) else { continue };
            volume += V;
            first += V / 3.0 * s;
            second += V / 12.0 * (outer(&a, &a) + outer(&b, &b) + outer(&c, &c) + outer(&s, &s));
            second += V * t * t / 12.0 * outer(&n, &n);
        }
        let shift = first / volume;
        let C = second - volume * outer(&shift, &shift);
        MassProperties {
            mass: volume,
            center: apex + shift,
            inertia: Mat3::from_diagonal_element(C.trace()) - C,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bodies::Shape;
    use crate::math::rotation::{exp, matrix};

    #[test]
    fn a_flat_sheet_is_a_box_even_far_away() {
        let size = Vec3::new(0.3, 2.0, 0.01);
        let known = Shape::Box { size }.unit_mass_properties().unwrap();
        let R = exp(&Vec3::new(0.2, -2.0, 0.6));
        let away = Vec3::new(100.0, -300.0, 50.0);
        let corner = |x: f64, y: f64| away + R * Vec3::new(0.5 * x * size.x, 0.5 * y * size.y, 0.0);
        let vertices = vec![corner(-1.0, -1.0), corner(1.0, -1.0), corner(1.0, 1.0), corner(-1.0, 1.0)];
        let shell = Shell::new(vertices, vec![[0, 1, 2], [0, 2, 3]], size.z).unwrap();
        let found = shell.unit_mass_properties();
        assert!((found.mass - known.mass).abs() < 1e-15);
        assert!((found.center - away).norm() < 1e-12);
        assert!((found.inertia - matrix(&R) * known.inertia * matrix(&R).transpose()).norm() < 1e-14);
    }

    #[test]
    fn a_closed_thin_shell_has_the_mass_of_a_hollow_box() {
        let (outer, t) = (Vec3::new(1.0, 2.0, 3.0), 1e-5);
        let surface = Shape::Box { size: outer }.triangles();
        let shell = Shell::new(surface.vertices().to_vec(), surface.triangles().to_vec(), t).unwrap();
        let area = 2.0 * (2.0 + 3.0 + 6.0);
        let found = shell.unit_mass_properties();
        assert!((found.mass - t * area).abs() < 1e-12 * area);
        // The difference of two boxes, halfway outside and inside.
        let half = |sign: f64| {
            Shape::Box { size: outer + Vec3::repeat(sign * t) }.unit_mass_properties().unwrap().inertia
        };
        let wanted = half(1.0) - half(-1.0);
        assert!((found.inertia - wanted).norm() < 1e-5 * wanted.norm());
    }

    #[test]
    fn sheets_without_area_or_thickness_are_refused() {
        let line = vec![Vec3::zeros(), Vec3::x(), 2.0 * Vec3::x()];
        assert!(matches!(Shell::new(line.clone(), vec![[0, 1, 2]], 0.1), Err(MeshError::Flat { .. })));
        let mut corner = line;
        corner[2] = Vec3::y();
        assert!(Shell::new(corner.clone(), vec![[0, 1, 2]], 0.1).is_ok());
        for thickness in [0.0, -1.0, f64::NAN] {
            assert!(Shell::new(corner.clone(), vec![[0, 1, 2]], thickness).is_err());
        }
        assert!(matches!(Shell::new(corner, vec![[0, 1, 5]], 0.1), Err(MeshError::OutOfRange { .. })));
    }
}
