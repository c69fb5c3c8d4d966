//! Mass of elements: $m_{ij} = \int \rho\, N_i N_j\, dV$, each number standing for $m_{ij} I_3$.
//!
//! *Consistent* keeps all entries; *lumped* moves each row to the diagonal, $m_i = \sum_j m_{ij}$ (for ten-point tetrahedra,
//! whose corner rows are negative, the diagonal is scaled to the right total instead: Hinton, Rock, Zienkiewicz 1976).
//!
//! Straight elements of linear shape functions have closed forms: $\rho V(1 + \delta_{ij})/20$ for tetrahedra,
//! $\rho A(1 + \delta_{ij})/12$ for triangles and $\rho\ell(1 + \delta_{ij})/6$ for rods.

use super::{hex, quadratic_tet};
use crate::math::Vec3;
use crate::state::PointId;

/// How mass is shared out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MassKind {
    /// Diagonal.
    #[default]
    Lumped,
    /// ∫ ρ N_i N_j.
    Consistent,
}

/// A symmetric mass matrix in scalars: m_ij stands for m_ij I₃ \[kg\].
#[derive(Debug, Clone, PartialEq, Default)]
pub struct MassMatrix {
    /// m_ii, one number per point \[kg\].
    pub diagonal: Vec<f64>,
    /// (i, j, m_ij) with i < j, sorted, each place once; stands for m_ji too \[kg\].
    pub off_diagonal: Vec<(u32, u32, f64)>,
}

impl MassMatrix {
    /// No mass on `count` points.
    pub fn new(count: usize) -> Self {
        Self { diagonal: vec![0.0; count], off_diagonal: Vec::new() }
    }

    /// Adds tetrahedra of `density` \[kg/m³\].
    pub fn add_tets(&mut self, rest: &[Vec3], elements: &[[PointId; 4]], density: f64, kind: MassKind) {
        self.add_simplices(elements, 20.0, kind, |p| {
            let [a, b, c, d] = p.map(|i| rest[i.index()]);
            density * (b - a).cross(&(c - a)).dot(&(d - a)) / 6.0
        });
    }

    /// Adds triangles of `density` per area \[kg/m²\].
    pub fn add_triangles(&mut self, rest: &[Vec3], elements: &[[PointId; 3]], density: f64, kind: MassKind) {
        self.add_simplices(elements, 12.0, kind, |p| {
            let [a, b, c] = p.map(|i| rest[i.index()]);
            density * 0.5 * (b - a).cross(&(c - a)).norm()
        });
    }

    /// Adds hexahedra of `density` \[kg/m³\].
    pub fn add_hexes(&mut self, rest: &[Vec3], elements: &[[PointId; 8]], density: f64, kind: MassKind) {
        for p in elements {
            let X = p.map(|i| rest[i.index()]);
            let mut m = [[0.0; 8]; 8];
            for xi in hex::gauss() {
                let (n, dn) = hex::shape(xi);
                add_products(&mut m, &n, density * hex::jacobian(&X, &dn).determinant());
            }
            self.add_element(p, &m, kind);
        }
        self.merge();
    }

    /// Adds ten-point tetrahedra of `density` \[kg/m³\].
    pub fn add_quadratic_tets(
        &mut self,
        rest: &[Vec3],
        elements: &[[PointId; 10]],
        density: f64,
        kind: MassKind,
    ) {
        // Gauss-Legendre with four points on a cube collapsed to the tetrahedron: exact to degree five and more.
        let line: [(f64, f64); 4] = [
            (0.069_431_844_202_973_71, 0.173_927_422_568_726_93),
            (0.330_009_478_207_571_87, 0.326_072_577_431_273_07),
            (0.669_990_521_792_428_1, 0.326_072_577_431_273_07),
            (0.930_568_155_797_026_3, 0.173_927_422_568_726_93),
        ];
        for p in elements {
            let X = p.map(|i| rest[i.index()]);
            let mut m = [[0.0; 10]; 10];
            for (a, wa) in line {
                for (b, wb) in line {
                    for (c, wc) in line {
                        let (y, z) = (b * (1.0 - a), c * (1.0 - a) * (1.0 - b));
                        let w = wa * wb * wc * (1.0 - a).powi(2) * (1.0 - b);
                        let (n, dn) = quadratic_tet::shape([1.0 - a - y - z, a, y, z]);
                        add_products(
                            &mut m,
                            &n,
                            density * w * quadratic_tet::jacobian(&X, &dn).determinant(),
                        );
                    }
                }
            }
            if kind == MassKind::Lumped {
                let total: f64 = m.iter().flatten().sum();
                let diagonal: f64 = (0..10).map(|i| m[i][i]).sum();
                for i in 0..10 {
                    self.diagonal[p[i].index()] += m[i][i] * total / diagonal;
                }
            } else {
                self.add_element(p, &m, kind);
            }
        }
        self.merge();
    }

    /// Total mass \[kg\].
    pub fn total(&self) -> f64 {
        self.diagonal.iter().sum::<f64>() + 2.0 * self.off_diagonal.iter().map(|e| e.2).sum::<f64>()
    }

    /// out += M y for flat vectors of three numbers per point.
    pub fn add_times(&self, y: &[f64], out: &mut [f64]) {
        for (i, m) in self.diagonal.iter().enumerate() {
            for c in 3 * i..3 * i + 3 {
                out[c] += m * y[c];
            }
        }
        for &(i, j, m) in &self.off_diagonal {
            let (i, j) = (3 * i as usize, 3 * j as usize);
            for c in 0..3 {
                out[i + c] += m * y[j + c];
                out[j + c] += m * y[i + c];
            }
        }
    }

    /// Elements whose matrix is mass · (1 + δ_ij)/divisor.
    fn add_simplices<const N: usize>(
        &mut self,
        elements: &[[PointId; N]],
        divisor: f64,
        kind: MassKind,
        mass: impl Fn([PointId; N]) -> f64,
    ) {
        for p in elements {
            let share = mass(*p) / divisor;
            let mut m = [[share; N]; N];
            (0..N).for_each(|i| m[i][i] = 2.0 * share);
            self.add_element(p, &m, kind);
        }
        self.merge();
    }

    fn add_element<const N: usize>(&mut self, p: &[PointId; N], m: &[[f64; N]; N], kind: MassKind) {
        for i in 0..N {
            if kind == MassKind::Lumped {
                self.diagonal[p[i].index()] += m[i].iter().sum::<f64>();
                continue;
            }
            self.diagonal[p[i].index()] += m[i][i];
            for j in i + 1..N {
                let (a, b) = (p[i].0.min(p[j].0), p[i].0.max(p[j].0));
                self.off_diagonal.push((a, b, m[i][j]));
            }
        }
    }

    /// Sorts the entries and adds up those of the same place.
    fn merge(&mut self) {
        self.off_diagonal.sort_by_key(|e| (e.0, e.1));
        self.off_diagonal.dedup_by(|next, kept| {
            let same = (next.0, next.1) == (kept.0, kept.1);
            if same {
                kept.2 += next.2;
            }
            same
        });
    }
}

/// m_ij += w n_i n_j.
fn add_products<const N: usize>(m: &mut [[f64; N]; N], n: &[f64; N], w: f64) {
    for i in 0..N {
        for j in 0..N {
            m[i][j] += w * n[i] * n[j];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::dot;

    fn ids<const N: usize>() -> [PointId; N] {
        std::array::from_fn(|i| PointId(i as u32))
    }

    /// yᵀ M y for y = (X, 0, 0): ∫ ρ X² dV if M is exact.
    fn second_moment(m: &MassMatrix, rest: &[Vec3]) -> f64 {
        let y: Vec<f64> = rest.iter().flat_map(|X| [X.x, 0.0, 0.0]).collect();
        let mut out = vec![0.0; y.len()];
        m.add_times(&y, &mut out);
        dot(&y, &out)
    }

    #[test]
    fn mass_is_volume_times_density_and_consistent_mass_knows_its_moments() {
        // A box 2 × 3 × 4 from 0: volume 24, ∫ x² = 8/3 · 12 = 32. A corner tetrahedron of it: V = 4, ∫ x² = V · 4/10.
        let [a, b, c] = [Vec3::x() * 2.0, Vec3::y() * 3.0, Vec3::z() * 4.0];
        let o = Vec3::zeros();
        let cube = [o, a, a + b, b, c, a + c, a + b + c, b + c];
        let tet = [o, a, b, c];
        let ten: Vec<Vec3> =
            tet.into_iter().chain(quadratic_tet::EDGES.map(|[i, j]| (tet[i] + tet[j]) * 0.5)).collect();
        for kind in [MassKind::Lumped, MassKind::Consistent] {
            let mut list = [8, 4, 10, 3].map(MassMatrix::new);
            list[0].add_hexes(&cube, &[ids()], 5.0, kind);
            list[1].add_tets(&tet, &[ids()], 5.0, kind);
            list[2].add_quadratic_tets(&ten, &[ids()], 5.0, kind);
            list[3].add_triangles(&tet, &[ids()], 5.0, kind);
            for (m, size) in list.iter().zip([24.0, 4.0, 4.0, 3.0]) {
                assert!((m.total() - 5.0 * size).abs() < 1e-13 * m.total(), "{size}");
                assert!(m.diagonal.iter().all(|m| *m > 0.0));
            }
            if kind == MassKind::Consistent {
                let moments = [&cube[..], &tet, &ten, &tet[..3]];
                for (k, wanted) in [32.0, 1.6, 1.6, 2.0].into_iter().enumerate() {
                    let found = second_moment(&list[k], moments[k]);
                    assert!((found - 5.0 * wanted).abs() < 1e-12 * found, "{k}: {found}");
                }
            }
        }
    }
}
