//! Hexahedra of eight points: $x(\xi) = \sum_i N_i(\xi)\,x_i$, $N_i = \tfrac18\prod_k (1 + \xi_k\xi_{ki})$, on 2×2×2 Gauss points.
//!
//! Plain hexahedra lock: they resist bending by shear that is not there, and volume change at eight points when ν is
//! near ½. Two options, both for the linear and corotated laws, mend that on the same points:
//!
//! * **mean dilatation** (B-bar, Hughes 1980): the volume change of the element is that of its mean gradient;
//! * **incompatible modes** (Wilson 1973, Taylor, Beresford, Wilson 1976): inner displacements
//!   $\sum_k (1 - \xi_k^2)\,\alpha_k$ let the element bend, and swell and shrink sideways as it does, which frees the
//!   volume too. (On top of a mean dilatation they would bend without resistance: what varies in an element would be
//!   neither shear nor a change of the mean volume.) Their gradients $-2\xi_k J_0^{-T} e_k \det J_0/\det J$ have no
//!   mean, so constant strain stays exact; nor have the three swellings $\beta_k\,\xi_l\xi_m\det J_0/\det J\;I$ (Simo,
//!   Armero, Taylor 1993), which finish off volume locking. Together they minimise the energy, $K_0 = K_{uu} - K_{u\alpha}K_{\alpha\alpha}^{-1}K_{\alpha u}$.
//!
//! Everything else is [`Solids`]. Book: "Solids".

use nalgebra::SMatrix;

use super::element::Hessian;
use super::material::{Elastic, ElementError, Law, Material};
use super::solid::{Sample, Solids, add_hooke, plain_stiffness};
use crate::math::{Mat3, Vec3};
use crate::state::PointId;

/// Hexahedra of one material. Points 0 to 3 go round the bottom, counterclockwise seen from the top, and 4 to 7 stand
/// above them.
pub type Hexes = Solids<8>;

/// What a hexahedron does against locking.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum HexKind {
    /// Nothing: eight Gauss points for everything.
    #[default]
    Plain,
    /// Volume change from the mean gradient.
    MeanDilatation,
    /// Inner displacements that let it bend: the best for slender and nearly incompressible bodies.
    IncompatibleModes,
}

/// Corners in the unit cube −1 … 1.
pub(crate) const CORNERS: [[f64; 3]; 8] = [
    [-1.0, -1.0, -1.0],
    [1.0, -1.0, -1.0],
    [1.0, 1.0, -1.0],
    [-1.0, 1.0, -1.0],
    [-1.0, -1.0, 1.0],
    [1.0, -1.0, 1.0],
    [1.0, 1.0, 1.0],
    [-1.0, 1.0, 1.0],
];

/// The eight Gauss points.
pub(crate) fn gauss() -> [[f64; 3]; 8] {
    CORNERS.map(|c| c.map(|s| s / 3f64.sqrt()))
}

/// N_i and ∂N_i/∂ξ.
pub(crate) fn shape(xi: [f64; 3]) -> ([f64; 8], [Vec3; 8]) {
    let factor = |i: usize, k: usize| 0.5 * (1.0 + xi[k] * CORNERS[i][k]);
    let n = std::array::from_fn(|i| factor(i, 0) * factor(i, 1) * factor(i, 2));
    let dn = std::array::from_fn(|i| {
        Vec3::from_fn(|k, _| 0.5 * CORNERS[i][k] * factor(i, (k + 1) % 3) * factor(i, (k + 2) % 3))
    });
    (n, dn)
}

/// ∂X/∂ξ.
pub(crate) fn jacobian(X: &[Vec3; 8], dn: &[Vec3; 8]) -> Mat3 {
    (0..8).map(|i| X[i] * dn[i].transpose()).sum()
}

fn samples(X: &[Vec3; 8]) -> Vec<Sample<8>> {
    gauss()
        .into_iter()
        .map(|xi| {
            let (_, dn) = shape(xi);
            let J = jacobian(X, &dn);
            let to_gradient = J.try_inverse().unwrap_or_default().transpose();
            (dn.map(|d| to_gradient * d), J.determinant())
        })
        .collect()
}

fn mean_dilatation(samples: &[Sample<8>], elastic: &Elastic) -> Hessian<8> {
    // Hooke's law is 2μ on the deviator and κ = λ + 2μ/3 on the volume.
    let bulk = elastic.lambda + 2.0 / 3.0 * elastic.mu;
    let volume: f64 = samples.iter().map(|s| s.1).sum();
    let mut K = [[Mat3::zeros(); 8]; 8];
    let mut mean = [Vec3::zeros(); 8];
    for (g, w) in samples {
        add_hooke(&mut K, g, g, *w, elastic.mu, -2.0 / 3.0 * elastic.mu);
        for i in 0..8 {
            mean[i] += g[i] * (w / volume);
        }
    }
    add_hooke(&mut K, &mean, &mean, volume, 0.0, bulk);
    K
}

fn incompatible_modes(X: &[Vec3; 8], samples: &[Sample<8>], elastic: &Elastic) -> Hessian<8> {
    let J0 = jacobian(X, &shape([0.0; 3]).1);
    let size = J0.determinant();
    let turn = J0.try_inverse().unwrap_or_default().transpose() * size;
    let mut K = [[Mat3::zeros(); 8]; 8];
    let mut mixed = [[Mat3::zeros(); 3]; 8];
    let mut inner = [[Mat3::zeros(); 3]; 3];
    // The three swellings s 1: Hooke's stress of one is (2μ + 3λ) s 1.
    let swelling = 2.0 * elastic.mu + 3.0 * elastic.lambda;
    let mut A = SMatrix::<f64, 12, 12>::zeros();
    let mut B = SMatrix::<f64, 24, 12>::zeros();
    for ((g, w), xi) in samples.iter().zip(gauss()) {
        // The weight of a Gauss point is det J.
        let h: [Vec3; 3] = std::array::from_fn(|k| turn.column(k) * (-2.0 * xi[k] / w));
        add_hooke(&mut K, g, g, *w, elastic.mu, elastic.lambda);
        add_hooke(&mut mixed, g, &h, *w, elastic.mu, elastic.lambda);
        add_hooke(&mut inner, &h, &h, *w, elastic.mu, elastic.lambda);
        for k in 0..3 {
            let s = xi[(k + 1) % 3] * xi[(k + 2) % 3] * size / w;
            for d in 0..3 {
                (0..8).for_each(|i| B[(3 * i + d, 9 + k)] += w * s * swelling * g[i][d]);
                for l in 0..3 {
                    A[(3 * l + d, 9 + k)] += w * s * swelling * h[l][d];
                    A[(9 + k, 3 * l + d)] += w * s * swelling * h[l][d];
                }
            }
            for l in 0..3 {
                let other = xi[(l + 1) % 3] * xi[(l + 2) % 3] * size / w;
                A[(9 + k, 9 + l)] += w * 3.0 * swelling * s * other;
            }
        }
    }
    for i in 0..9 {
        (0..9).for_each(|j| A[(i, j)] += inner[i / 3][j / 3][(i % 3, j % 3)]);
        (0..24).for_each(|j| B[(j, i)] += mixed[j / 3][i / 3][(j % 3, i % 3)]);
    }
    if let Some(A) = A.cholesky() {
        // B A⁻¹ Bᵀ = CᵀC with L C = Bᵀ: symmetric to the last bit.
        let C = A.l().solve_lower_triangular(&B.transpose()).unwrap_or_default();
        let less = C.transpose() * C;
        for i in 0..8 {
            for j in 0..8 {
                K[i][j] -= less.fixed_view::<3, 3>(3 * i, 3 * j);
            }
        }
    }
    K
}

impl Hexes {
    /// Hexahedra whose corners rest at the places of `rest` \[m\]; inverted and flat ones are refused. The options
    /// against locking exist for the linear and corotated laws.
    pub fn new(
        rest: &[Vec3],
        elements: &[[PointId; 8]],
        material: Material,
        hex: HexKind,
    ) -> Result<Self, ElementError> {
        let quadratic = matches!(material.law, Law::Linear | Law::Corotated);
        if !quadratic && hex != HexKind::Plain {
            return Err(ElementError::Unsupported {
                kind: "hexahedra against locking",
                reason: "linear and corotated laws only",
            });
        }
        Solids::build("hexes", rest, elements, material, samples, |X, samples, elastic| match hex {
            HexKind::Plain => plain_stiffness(samples, elastic),
            HexKind::MeanDilatation => mean_dilatation(samples, elastic),
            HexKind::IncompatibleModes => incompatible_modes(X, samples, elastic),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::forces::nary::{MassKind, MassMatrix, Tets};
    use crate::forces::{Force, Points, Tangent};
    use crate::math::{Random, dot, norm, rotation, triple};

    const KINDS: [HexKind; 3] = [HexKind::Plain, HexKind::MeanDilatation, HexKind::IncompatibleModes];

    /// Points of a box of the given numbers of points, x fastest, and its hexahedra.
    fn grid(n: [usize; 3], size: Vec3) -> (Vec<Vec3>, Vec<[PointId; 8]>) {
        let mut rest = Vec::new();
        for k in 0..n[2] {
            for j in 0..n[1] {
                for i in 0..n[0] {
                    let at = [i, j, k];
                    rest.push(Vec3::from_fn(|c, _| size[c] * at[c] as f64 / (n[c] - 1) as f64));
                }
            }
        }
        let at = |i, j, k| PointId((i + n[0] * (j + n[1] * k)) as u32);
        let mut hexes = Vec::new();
        for k in 0..n[2] - 1 {
            for j in 0..n[1] - 1 {
                for i in 0..n[0] - 1 {
                    let corner = |c: [f64; 3]| {
                        at(i + (c[0] > 0.0) as usize, j + (c[1] > 0.0) as usize, k + (c[2] > 0.0) as usize)
                    };
                    hexes.push(CORNERS.map(corner));
                }
            }
        }
        (rest, hexes)
    }

    fn flat(x: &[Vec3]) -> Vec<f64> {
        x.iter().flat_map(|x| [x.x, x.y, x.z]).collect()
    }

    fn points(x: &[f64]) -> Points<'_> {
        Points { time: 0.0, first: 0, x, v: &[], mass: &[] }
    }

    fn material(law: Law) -> Material {
        Material { law, young: 1e4, poisson: 0.3 }
    }

    #[test]
    fn a_constant_strain_is_carried_by_any_mesh() {
        let (mut rest, hexes) = grid([4, 4, 4], Vec3::new(3.0, 3.0, 3.0));
        let mut random = Random::new(2);
        rest.iter_mut().for_each(|x| *x += Vec3::from_fn(|_, _| random.between(-0.15, 0.15)));
        let R = rotation::matrix(&rotation::exp(&Vec3::new(0.5, 0.2, -0.4)));
        let F = Mat3::new(1.1, 0.05, 0.0, 0.02, 0.9, 0.1, 0.0, -0.03, 1.05);
        for (law, kind) in KINDS.into_iter().flat_map(|k| [(Law::Linear, k), (Law::Corotated, k)]).chain(
            [Law::StVenantKirchhoff, Law::NeoHookean, Law::StableNeoHookean].map(|l| (l, HexKind::Plain)),
        ) {
            let F = if law == Law::Linear { F } else { R * F };
            let batch = Hexes::new(&rest, &hexes, material(law), kind).unwrap();
            let x = flat(&rest.iter().map(|X| F * X + Vec3::new(1.0, 2.0, 3.0)).collect::<Vec<_>>());
            let mut f = vec![0.0; x.len()];
            batch.add_force(&points(&x), &mut f);
            let size = f.iter().fold(0.0, |a: f64, b| a.max(b.abs()));
            for at in [21, 22, 25, 26, 37, 38, 41, 42] {
                assert!(triple(&f, at).norm() < 1e-12 * size, "{law:?} {kind:?}: {}", triple(&f, at));
            }
            let volume: f64 = batch.elements().map(|(_, v)| v).sum();
            let (W, wanted) = (batch.energy(&points(&x)), volume * material(law).energy_density(&F));
            assert!((W - wanted).abs() < 1e-10 * W, "{law:?} {kind:?}");
        }
    }

    #[test]
    fn a_body_at_rest_feels_nothing_and_equal_cells_share_their_matrix() {
        let (rest, hexes) = grid([5, 4, 6], Vec3::new(0.7, 0.3, 1.1));
        for kind in KINDS {
            let batch = Hexes::new(&rest, &hexes, material(Law::Corotated), kind).unwrap();
            assert_eq!(batch.shapes(), 1);
            let x = flat(&rest);
            let mut f = vec![0.0; x.len()];
            batch.add_force(&points(&x), &mut f);
            assert!(norm(&f) < 1e-12 * 1e4, "{kind:?} {}", norm(&f));
        }
    }

    /// Mean tip deflection of a cantilever under its own weight, small strain, by conjugate gradients.
    fn tip(force: &dyn Force, rest: &[Vec3], load: &[f64]) -> f64 {
        let x = flat(rest);
        let p = points(&x);
        let free = |a: &mut [f64]| {
            for (i, X) in rest.iter().enumerate() {
                if X.z == 0.0 {
                    a[3 * i..3 * i + 3].fill(0.0);
                }
            }
        };
        let mut cache = Vec::new();
        force.linearize(&p, Tangent::Projected, &mut cache);
        let (mut u, mut r) = (vec![0.0; x.len()], load.to_vec());
        free(&mut r);
        let mut d = r.clone();
        let first = dot(&r, &r);
        for _ in 0..3000 {
            let mut q = vec![0.0; x.len()];
            force.add_tangent_times(&p, &cache, &d, &mut q);
            free(&mut q);
            let rr = dot(&r, &r);
            let a = rr / dot(&d, &q);
            for i in 0..u.len() {
                u[i] += a * d[i];
                r[i] -= a * q[i];
            }
            let next = dot(&r, &r);
            if next < 1e-18 * first {
                break;
            }
            for i in 0..u.len() {
                d[i] = r[i] + next / rr * d[i];
            }
        }
        let end: Vec<usize> = (0..rest.len()).filter(|i| rest[*i].z > 0.2 - 1e-9).collect();
        -end.iter().map(|i| u[3 * i + 1]).sum::<f64>() / end.len() as f64
    }

    #[test]
    fn incompatible_modes_bend_as_beams_do_where_plain_elements_lock() {
        // shared/knowledge/sofa.md, T9: 0.02 × 0.02 × 0.2 m on 5 × 5 × 30 points, E = 2e6, ν = 0.45, ρ = 1100, g = 9.81.
        // Beam theory w L⁴/8EI = 0.03237 m, of which the sideways grip of the clamp takes some 4 % (`dalembert verify
        // cantilever` frees it). Published small-strain value of plain hexahedra: 0.028371 m.
        let (rest, hexes) = grid([5, 5, 30], Vec3::new(0.02, 0.02, 0.2));
        let mut mass = MassMatrix::new(rest.len());
        mass.add_hexes(&rest, &hexes, 1100.0, MassKind::Consistent);
        let mut load = vec![0.0; 3 * rest.len()];
        let down: Vec<f64> = (0..load.len()).map(|i| if i % 3 == 1 { -9.81 } else { 0.0 }).collect();
        mass.add_times(&down, &mut load);
        let material = Material { law: Law::Linear, young: 2e6, poisson: 0.45 };
        let found = KINDS.map(|k| tip(&Hexes::new(&rest, &hexes, material, k).unwrap(), &rest, &load));
        assert!((found[0] - 0.028371).abs() < 1e-6, "plain: {}", found[0]);
        assert!(found[1] > found[0], "mean dilatation: {}", found[1]);
        assert!(found[2] < 0.03237 && found[2] > 0.96 * 0.03237, "incompatible modes: {}", found[2]);
        // The same source splits each cell into six tetrahedra, mirrored from cell to cell: 0.024736 m.
        let mut tets = Vec::new();
        for (cell, h) in hexes.iter().enumerate() {
            let (i, j, k) = (cell % 4, cell / 4 % 4, cell / 16);
            let mirror = [(i % 2 == 0, [1, 0, 3, 2, 5, 4, 7, 6]), (j % 2 == 1, [3, 2, 1, 0, 7, 6, 5, 4])];
            let mut h = *h;
            for (_, order) in
                mirror.into_iter().chain([(k % 2 == 1, [4, 5, 6, 7, 0, 1, 2, 3])]).filter(|m| m.0)
            {
                h = order.map(|c| h[c]);
            }
            for t in [[0, 5, 1, 6], [0, 1, 3, 6], [1, 3, 6, 2], [6, 3, 0, 7], [6, 7, 0, 5], [7, 5, 4, 0]] {
                let mut t = t.map(|c| h[c]);
                let [a, b, c, d] = t.map(|p| rest[p.index()]);
                if (b - a).cross(&(c - a)).dot(&(d - a)) < 0.0 {
                    t.swap(2, 3);
                }
                tets.push(t);
            }
        }
        let tets = tip(&Tets::new(&rest, &tets, material).unwrap(), &rest, &load);
        assert!((tets - 0.024736).abs() < 1e-6, "tetrahedra: {tets}");
    }

    #[test]
    fn only_rigid_motions_cost_nothing() {
        let (mut rest, hexes) = grid([2, 2, 2], Vec3::new(1.0, 1.0, 1.0));
        let mut random = Random::new(7);
        for shake in [0.0, 0.2] {
            rest.iter_mut().for_each(|x| *x += Vec3::from_fn(|_, _| random.between(-shake, shake)));
            for kind in KINDS {
                let batch = Hexes::new(&rest, &hexes, material(Law::Linear), kind).unwrap();
                let (x, mut blocks) = (flat(&rest), crate::math::Blocks::default());
                batch.add_stiffness_blocks(&points(&x), &mut blocks);
                let mut K = nalgebra::DMatrix::zeros(24, 24);
                for (i, j, block) in &blocks.entries {
                    K.fixed_view_mut::<3, 3>(3 * *i as usize, 3 * *j as usize).copy_from(block);
                }
                let mut values: Vec<f64> = K.symmetric_eigenvalues().iter().copied().collect();
                values.sort_by(f64::total_cmp);
                assert!(
                    values[..6].iter().all(|v| v.abs() < 1e-9) && values[6] > 100.0,
                    "{kind:?} {values:?}"
                );
            }
        }
    }

    #[test]
    fn bad_rest_shapes_and_choices_are_refused() {
        let (rest, hexes) = grid([2, 2, 2], Vec3::new(1.0, 1.0, 1.0));
        let mut swapped = hexes[0];
        swapped.swap(0, 4);
        let error =
            Hexes::new(&rest, &[hexes[0], swapped], material(Law::Corotated), HexKind::Plain).unwrap_err();
        assert!(error.to_string().contains("hexes 1"), "{error}");
        assert!(Hexes::new(&rest, &hexes, material(Law::NeoHookean), HexKind::MeanDilatation).is_err());
    }
}
