//! Pressure on a surface that follows it: $W = -p V$, $V = \tfrac16\sum x_0\cdot(x_1\times x_2)$ over outward triangles.
//!
//! The gradient of the enclosed volume at a point is a third of the area vectors of the triangles around it, so
//! $f = -\partial W/\partial x$ is the pressure p times area, along the normal, wherever the surface turns. This holds at
//! every point that has triangles all around; the rim of an open surface must be held, as it is where a membrane is
//! clamped. $\partial^2 V/\partial x_0\partial x_1 = -\tfrac16[x_2]_\times$ and so on round the triangle: K is exact and
//! symmetric, and has both signs, so its projection is zero. Book: "Loads".
//!
//! [`Traction`] is the dead load: given forces that do not turn.

use super::element::{Element, Elements, Hessian};
use super::material::ElementError;
use super::tet::places;
use crate::forces::{Force, Points, Tangent};
use crate::math::{Mat3, Vec3, add_triple, skew, triple};
use crate::state::PointId;

/// Pressure on one triangle.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PressedTriangle {
    /// Corners, counterclockwise seen from where the pressure pushes to.
    pub points: [PointId; 3],
    /// Pressure p \[Pa\].
    pub pressure: f64,
}

/// Pressure inside surfaces.
pub type Pressure = Elements<PressedTriangle, 3>;

impl Pressure {
    /// The same pressure p \[Pa\] behind every triangle.
    pub fn uniform(triangles: &[[PointId; 3]], pressure: f64) -> Self {
        Self::new(triangles.iter().map(|t| PressedTriangle { points: *t, pressure }).collect())
    }
}

impl Element<3> for PressedTriangle {
    const KIND: &'static str = "pressure";
    const INTERNAL: bool = false;

    fn points(&self) -> [PointId; 3] {
        self.points
    }

    fn energy(&self, x: &[Vec3; 3]) -> f64 {
        -self.pressure / 6.0 * x[0].dot(&x[1].cross(&x[2]))
    }

    fn gradient(&self, x: &[Vec3; 3]) -> [Vec3; 3] {
        let c = -self.pressure / 6.0;
        [x[1].cross(&x[2]) * c, x[2].cross(&x[0]) * c, x[0].cross(&x[1]) * c]
    }

    fn hessian(&self, x: &[Vec3; 3], tangent: Tangent) -> Hessian<3> {
        let mut H = [[Mat3::zeros(); 3]; 3];
        if tangent == Tangent::Exact {
            for i in 0..3 {
                let (j, k) = ((i + 1) % 3, (i + 2) % 3);
                // gradient_i = c x_j × x_k, so its derivative in x_j is −c [x_k]× and that in x_k is c [x_j]×
                let c = -self.pressure / 6.0;
                H[i][j] = skew(&x[k]) * -c;
                H[i][k] = skew(&x[j]) * c;
            }
        }
        H
    }
}

/// Given forces on points, which do not turn with them.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Traction {
    /// Point and force \[N\].
    pub loads: Vec<(PointId, Vec3)>,
}

impl Traction {
    /// A force per area \[Pa\] on triangles at rest: each corner takes a third.
    pub fn on_triangles(
        rest: &[Vec3],
        triangles: &[[PointId; 3]],
        traction: Vec3,
    ) -> Result<Self, ElementError> {
        let mut loads = Vec::with_capacity(3 * triangles.len());
        for (i, t) in triangles.iter().enumerate() {
            let x = places("triangle", i, rest, t)?;
            let area = 0.5 * (x[1] - x[0]).cross(&(x[2] - x[0])).norm();
            loads.extend(t.map(|p| (p, traction * (area / 3.0))));
        }
        Ok(Self { loads })
    }
}

impl Force for Traction {
    fn kind(&self) -> &'static str {
        "traction"
    }

    fn energy(&self, p: &Points) -> f64 {
        -self.loads.iter().map(|(i, f)| f.dot(&triple(p.x, i.index()))).sum::<f64>()
    }

    fn add_force(&self, _p: &Points, f: &mut [f64]) {
        for (i, load) in &self.loads {
            add_triple(f, i.index(), load);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pressure_is_area_times_normal_and_a_closed_surface_carries_itself() {
        // A tetrahedron, faces outward, anywhere in space.
        let x = [
            Vec3::new(5.0, 1.0, 2.0),
            Vec3::new(6.0, 1.2, 2.1),
            Vec3::new(5.1, 2.3, 1.8),
            Vec3::new(5.2, 1.3, 3.4),
        ];
        let faces = [[0, 2, 1], [0, 1, 3], [1, 2, 3], [0, 3, 2]];
        let flat: Vec<f64> = x.iter().flat_map(|x| x.as_slice().to_vec()).collect();
        let p = Points { time: 0.0, first: 0, x: &flat, v: &[], mass: &[] };
        let batch = Pressure::uniform(&faces.map(|t: [u32; 3]| t.map(PointId)), 3.0);
        let mut f = vec![0.0; 12];
        batch.add_force(&p, &mut f);
        let mut wanted = [Vec3::zeros(); 4];
        for t in faces {
            let [a, b, c] = t.map(|i| x[i as usize]);
            let push = (b - a).cross(&(c - a)) * (0.5 * 3.0 / 3.0);
            t.iter().for_each(|i| wanted[*i as usize] += push);
        }
        for i in 0..4 {
            assert!((triple(&f, i) - wanted[i]).norm() < 1e-13, "{}", triple(&f, i));
        }
        assert!(wanted.iter().sum::<Vec3>().norm() < 1e-13);
        let volume = (x[1] - x[0]).cross(&(x[2] - x[0])).dot(&(x[3] - x[0])) / 6.0;
        assert!((batch.energy(&p) + 3.0 * volume).abs() < 1e-13);
    }

    #[test]
    fn traction_adds_up_to_force_per_area_times_area() {
        let rest = [Vec3::zeros(), Vec3::x() * 2.0, Vec3::y() * 3.0];
        let load =
            Traction::on_triangles(&rest, &[[0, 1, 2].map(PointId)], Vec3::new(1.0, 0.0, -2.0)).unwrap();
        assert_eq!(load.loads.iter().map(|l| l.1).sum::<Vec3>(), Vec3::new(3.0, 0.0, -6.0));
    }
}
