//! An elastic box on a grid, as a linear system to try solvers on: one implicit step, $(M + h^2 K)\,\Delta v = h f$.
//!
//! Linear elasticity, $K_{ab} = \int \lambda\, g_a g_b^T + \mu\, g_b g_a^T + \mu (g_a \cdot g_b) I$ with
//! $g_a = \nabla N_a$, on hexahedra (2×2×2 Gauss points) or on six tetrahedra per cell. The mass is lumped. The nodes
//! of the face at the lowest z are held: their rows are those of the mass matrix alone.

use crate::math::{Blocks, Mat3, Vec3, outer, triple};

/// What the cells of an [`ElasticBox`] are made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cells {
    /// Trilinear hexahedra.
    Hexahedra,
    /// Six linear tetrahedra each.
    Tetrahedra,
}

/// An elastic box with one end held.
#[derive(Clone, Debug)]
pub struct ElasticBox {
    /// Nodes along x, y, z.
    pub nodes: [usize; 3],
    /// Edge lengths \[m\].
    pub size: [f64; 3],
    /// Young's modulus E \[Pa\].
    pub young: f64,
    /// Poisson's ratio ν.
    pub poisson: f64,
    /// Density \[kg/m³\].
    pub density: f64,
    /// Elements.
    pub cells: Cells,
}

impl ElasticBox {
    /// A soft bar of 0.02 × 0.02 × 0.2 m with 5 × 5 × 30 nodes: slow for conjugate gradients.
    pub fn cantilever(cells: Cells) -> Self {
        Self { nodes: [5, 5, 30], size: [0.02, 0.02, 0.2], ..Self::cube(2, cells) }
    }

    /// A cube of 0.1 m with `n` nodes along each edge.
    pub fn cube(n: usize, cells: Cells) -> Self {
        Self { nodes: [n; 3], size: [0.1; 3], young: 2e6, poisson: 0.45, density: 1100.0, cells }
    }

    /// Number of nodes.
    pub fn count(&self) -> usize {
        self.nodes.iter().product()
    }

    fn node(&self, i: usize, j: usize, k: usize) -> usize {
        i + self.nodes[0] * (j + self.nodes[1] * k)
    }

    fn spacing(&self) -> [f64; 3] {
        std::array::from_fn(|a| self.size[a] / (self.nodes[a] - 1) as f64)
    }

    /// Positions of the nodes \[m\].
    pub fn positions(&self) -> Vec<f64> {
        let d = self.spacing();
        let [nx, ny, _] = self.nodes;
        (0..self.count())
            .flat_map(|n| {
                [(n % nx) as f64 * d[0], (n / nx % ny) as f64 * d[1], (n / (nx * ny)) as f64 * d[2]]
            })
            .collect()
    }

    /// True for the nodes that are held.
    pub fn held(&self, node: usize) -> bool {
        node < self.nodes[0] * self.nodes[1]
    }

    /// The cells as their eight nodes, corner c at (c & 1, c >> 1 & 1, c >> 2).
    fn corners(&self) -> impl Iterator<Item = [usize; 8]> + '_ {
        let [nx, ny, nz] = self.nodes.map(|n| n - 1);
        (0..nx * ny * nz).map(move |c| {
            let (i, j, k) = (c % nx, c / nx % ny, c / (nx * ny));
            std::array::from_fn(|c| self.node(i + (c & 1), j + (c >> 1 & 1), k + (c >> 2)))
        })
    }

    /// Lumped mass of each node \[kg\].
    pub fn masses(&self) -> Vec<f64> {
        let d = self.spacing();
        let mut masses = vec![0.0; self.count()];
        for corners in self.corners() {
            corners.iter().for_each(|&n| masses[n] += self.density * d[0] * d[1] * d[2] / 8.0);
        }
        masses
    }

    /// 1/m for each entry of a vector of unknowns, the weights of a stop rule.
    pub fn weights(&self) -> Vec<f64> {
        self.masses().iter().flat_map(|m| [1.0 / m; 3]).collect()
    }

    /// M + h²K, with the rows and columns of held nodes left to M.
    pub fn system(&self, h: f64) -> Blocks {
        let mut list = Blocks::default();
        for (n, m) in self.masses().iter().enumerate() {
            list.add(n, n, Mat3::identity() * *m);
        }
        let positions = self.positions();
        for corners in self.corners() {
            match self.cells {
                Cells::Hexahedra => self.add_hexahedron(&corners, h * h, &mut list),
                Cells::Tetrahedra => {
                    // Six around the diagonal from corner 0 to corner 7 (Kuhn).
                    for [a, b] in [[1, 3], [3, 2], [2, 6], [6, 4], [4, 5], [5, 1]] {
                        let nodes = [corners[0], corners[a], corners[b], corners[7]];
                        self.add_tetrahedron(&positions, &nodes, h * h, &mut list);
                    }
                }
            }
        }
        list
    }

    fn add_hexahedron(&self, corners: &[usize; 8], factor: f64, list: &mut Blocks) {
        let d = self.spacing();
        let volume = d[0] * d[1] * d[2];
        let gauss = [0.5 - 0.5 / 3f64.sqrt(), 0.5 + 0.5 / 3f64.sqrt()];
        for point in 0..8usize {
            let t = [gauss[point & 1], gauss[point >> 1 & 1], gauss[point >> 2]];
            let gradients: [Vec3; 8] = std::array::from_fn(|c| {
                let up = [c & 1 == 1, c >> 1 & 1 == 1, c >> 2 == 1];
                let n = |a: usize| if up[a] { t[a] } else { 1.0 - t[a] };
                let derivative = |a: usize| if up[a] { 1.0 / d[a] } else { -1.0 / d[a] };
                Vec3::new(
                    derivative(0) * n(1) * n(2),
                    n(0) * derivative(1) * n(2),
                    n(0) * n(1) * derivative(2),
                )
            });
            self.add_gradients(corners, &gradients, factor * volume / 8.0, list);
        }
    }

    fn add_tetrahedron(&self, positions: &[f64], nodes: &[usize; 4], factor: f64, list: &mut Blocks) {
        let p = nodes.map(|n| triple(positions, n));
        let edges = Mat3::from_columns(&[p[1] - p[0], p[2] - p[0], p[3] - p[0]]);
        let Some(inverse) = edges.try_inverse() else { return };
        let g: [Vec3; 3] = std::array::from_fn(|a| inverse.row(a).transpose());
        let gradients = [-(g[0] + g[1] + g[2]), g[0], g[1], g[2]];
        self.add_gradients(nodes, &gradients, factor * edges.determinant().abs() / 6.0, list);
    }

    fn add_gradients(&self, nodes: &[usize], g: &[Vec3], volume: f64, list: &mut Blocks) {
        let lambda = self.young * self.poisson / ((1.0 + self.poisson) * (1.0 - 2.0 * self.poisson));
        let mu = self.young / (2.0 * (1.0 + self.poisson));
        for (a, &row) in nodes.iter().enumerate() {
            for (b, &column) in nodes.iter().enumerate() {
                if self.held(row) || self.held(column) {
                    continue;
                }
                let block = outer(&g[a], &g[b]) * lambda
                    + outer(&g[b], &g[a]) * mu
                    + Mat3::identity() * (mu * g[a].dot(&g[b]));
                list.add(row, column, block * volume);
            }
        }
    }

    /// h f under gravity along −x, zero at held nodes.
    pub fn gravity(&self, h: f64) -> Vec<f64> {
        let pull = |(n, m): (usize, &f64)| {
            let pull = if self.held(n) { 0.0 } else { -9.81 * m * h };
            [pull, 0.0, 0.0]
        };
        self.masses().iter().enumerate().flat_map(pull).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_stretches_as_young_says() {
        // Without mass (h large) an axial end force F gives the tip F L / (E A), ν = 0 so that the held end is no matter.
        for cells in [Cells::Hexahedra, Cells::Tetrahedra] {
            let bar = ElasticBox { nodes: [3, 3, 7], poisson: 0.0, ..ElasticBox::cantilever(cells) };
            let mut K = nalgebra::DMatrix::zeros(3 * bar.count(), 3 * bar.count());
            for (i, j, block) in bar.system(1e6).entries {
                let mut view = K.fixed_view_mut::<3, 3>(3 * i as usize, 3 * j as usize);
                view += block / 1e12;
            }
            // A uniform stretch is the solution where held nodes push back, so K u vanishes inside.
            let z = bar.positions();
            let u = nalgebra::DVector::from_fn(z.len(), |i, _| if i % 3 == 2 { z[i] } else { 0.0 });
            let f = K * u;
            let tip: f64 = (bar.count() - 9..bar.count()).map(|n| f[3 * n + 2]).sum();
            assert!((tip - 2e6 * 4e-4).abs() < 1e-6 * 800.0, "{cells:?} {tip}");
            assert!((18..bar.count() - 9).all(|n| f.fixed_rows::<3>(3 * n).norm() < 1e-6));
        }
    }
}
