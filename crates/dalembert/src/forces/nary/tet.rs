//! Tetrahedra of four points: $W = V\,\psi(F)$, with the deformation gradient $F = \sum_i x_i\, g_i^T$ constant inside.
//!
//! $g_i$ is the gradient of the shape function of corner i in the rest shape and V the rest volume, so
//! $f_i = -V P(F)\, g_i$ and $K_{ij}$ is the block of $V\,dP/dF$ between $g_i$ and $g_j$ (see [`Material`] for ψ, P).
//!
//! **The fast tangent.** Where the tangent is Hooke's law in turned axes (linear, or corotated with its rotation R held
//! fixed), the turned gradients $a_i = \sqrt V R g_i$ are all it needs, and no rotation is left in the product:
//!
//! $$ G = \sum_i u_i a_i^T,\qquad S = \mu(G + G^T) + \lambda\,\mathrm{tr}(G)\,I,\qquad (K u)_i = S a_i . $$
//!
//! The cache holds nine numbers per tetrahedron ($a_0 = -a_1 - a_2 - a_3$), four tetrahedra side by side, so that four
//! products run in the lanes of one vector register. Book: "Solids".

use std::ops::Range;

use super::material::{Elastic, ElementError, Law, Material, Modes};
use super::parts::Parts;
use crate::forces::{Blocks, Force, Points, Tangent};
use crate::math::{Lanes, Mat3, Vec3, add_triple, outer, polar_rotation, triple};
use crate::state::PointId;

/// One tetrahedron at rest.
#[derive(Debug, Clone, Copy)]
struct Tet {
    points: [PointId; 4],
    /// Gradients of the shape functions of corners 1, 2, 3; corner 0 has minus their sum [1/m].
    g: [Vec3; 3],
    /// Rest volume [m³].
    volume: f64,
}

/// Tetrahedra of one material.
#[derive(Debug, Clone)]
pub struct Tets {
    tets: Vec<Tet>,
    /// Corners once more, side by side: all that the fast product reads besides its cache.
    corners: Vec<[PointId; 4]>,
    material: Material,
    elastic: Elastic,
    parts: Parts,
}

/// Numbers per group of four tetrahedra in the fast cache.
const GROUP: usize = 9 * 4;
/// Numbers per tetrahedron in the general cache: blocks 11, 12, 13, 22, 23, 33 of K.
const BLOCKS: usize = 6 * 9;

/// Volume of a tetrahedron below this fraction of its longest edge cubed counts as none.
const FLAT: f64 = 1e-10;

impl Tets {
    /// Tetrahedra whose corners rest at the places of `rest` \[m\]. An inverted or flat one is refused:
    /// (x₁ − x₀) × (x₂ − x₀) · (x₃ − x₀) must be positive.
    pub fn new(rest: &[Vec3], elements: &[[PointId; 4]], material: Material) -> Result<Self, ElementError> {
        material.check()?;
        let mut tets = Vec::with_capacity(elements.len());
        for (element, &points) in elements.iter().enumerate() {
            let x = places("tetrahedron", element, rest, &points)?;
            let (g, volume) = gradients(&x);
            let size = x.iter().flat_map(|a| x.iter().map(move |b| (a - b).norm())).fold(0.0, f64::max);
            let least = FLAT * size.powi(3);
            if !(volume > least) {
                let (kind, measure) = ("tetrahedron", "volume");
                return Err(ElementError::Degenerate { kind, element, measure, value: volume, least });
            }
            tets.push(Tet { points, g, volume });
        }
        let parts = Parts::new(&mut tets, |t| t.points);
        let corners = tets.iter().map(|t| t.points).collect();
        Ok(Self { tets, corners, material, elastic: material.elastic(), parts })
    }

    /// Number of tetrahedra.
    pub fn len(&self) -> usize {
        self.tets.len()
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.tets.is_empty()
    }

    /// Corners and rest volume \[m³\] of each tetrahedron, in the order in which they are summed.
    pub fn elements(&self) -> impl Iterator<Item = ([PointId; 4], f64)> + '_ {
        self.tets.iter().map(|t| (t.points, t.volume))
    }

    /// The material.
    pub fn material(&self) -> &Material {
        &self.material
    }

    /// Deformation gradient F of each tetrahedron, in the order of [`elements`](Self::elements).
    pub fn deformations<'a>(&'a self, p: &'a Points) -> impl Iterator<Item = Mat3> + 'a {
        self.tets.iter().map(|t| t.deformation(p.x))
    }

    /// True if the tangent is Hooke's law in turned axes.
    fn is_fast(&self, tangent: Tangent) -> bool {
        match self.elastic.law {
            Law::Linear => true,
            Law::Corotated => tangent == Tangent::Projected,
            _ => false,
        }
    }

    /// a₁, a₂, a₃ = √V R g.
    fn turned_gradients(&self, t: &Tet, x: &[f64]) -> [Vec3; 3] {
        let root = t.volume.sqrt();
        let R = match self.elastic.law {
            Law::Linear => Mat3::identity(),
            _ => polar_rotation(&t.deformation(x)),
        };
        t.g.map(|g| R * g * root)
    }

    /// df += K dx by rotating every displacement in and every force out, as a yardstick for the fast tangent: `turns`
    /// holds one rotation per tetrahedron.
    pub fn add_rotated_times(&self, turns: &[Mat3], dx: &[f64], df: &mut [f64]) {
        let (mu, lambda) = (self.elastic.mu, self.elastic.lambda);
        self.parts.scatter(df, |range, first, df| {
            for (t, R) in self.tets[range.clone()].iter().zip(&turns[range]) {
                let u = t.points.map(|p| R.tr_mul(&triple(dx, p.index())));
                let mut G = Mat3::zeros();
                for i in 0..3 {
                    G += (u[i + 1] - u[0]) * t.g[i].transpose();
                }
                let S = (G + G.transpose()) * mu + Mat3::identity() * (lambda * G.trace());
                let mut rest = Vec3::zeros();
                for i in 0..3 {
                    let f = R * (S * t.g[i] * t.volume);
                    rest += f;
                    add_triple(df, t.points[i + 1].index() - first, &f);
                }
                add_triple(df, t.points[0].index() - first, &-rest);
            }
        });
    }
}

/// Places of the points of an element.
pub(crate) fn places<const N: usize>(
    kind: &'static str,
    element: usize,
    rest: &[Vec3],
    points: &[PointId; N],
) -> Result<[Vec3; N], ElementError> {
    let mut x = [Vec3::zeros(); N];
    for (x, p) in x.iter_mut().zip(points) {
        let (point, count) = (p.index(), rest.len());
        *x = *rest.get(point).ok_or(ElementError::UnknownPoint { kind, element, point, count })?;
    }
    Ok(x)
}

/// Gradients of shape functions 1, 2, 3 and the signed volume.
fn gradients(x: &[Vec3; 4]) -> ([Vec3; 3], f64) {
    let [a, b, c] = [x[1] - x[0], x[2] - x[0], x[3] - x[0]];
    let (bc, ca, ab) = (b.cross(&c), c.cross(&a), a.cross(&b));
    let six = a.dot(&bc);
    ([bc / six, ca / six, ab / six], six / 6.0)
}

impl Tet {
    /// F = Σ x_i g_iᵀ; also the gradient of any other field given at the points.
    #[inline(always)]
    fn deformation(&self, x: &[f64]) -> Mat3 {
        let o = triple(x, self.points[0].index());
        let d = |i: usize| triple(x, self.points[i].index()) - o;
        d(1) * self.g[0].transpose() + d(2) * self.g[1].transpose() + d(3) * self.g[2].transpose()
    }

    /// out_i += scale · P g_i.
    #[inline(always)]
    fn add(&self, P: &Mat3, scale: f64, first: usize, out: &mut [f64]) {
        let [a, b, c] = self.g.map(|g| P * g * scale);
        let [o, i, j, k] = self.points.map(|p| p.index() - first);
        add_triple(out, i, &a);
        add_triple(out, j, &b);
        add_triple(out, k, &c);
        add_triple(out, o, &-(a + b + c));
    }

    /// Adds the sixteen blocks of K.
    fn add_blocks(&self, modes: &Modes, out: &mut Blocks) {
        let b = self.g.map(|g| modes.turned(&g));
        let b = [-(b[0] + b[1] + b[2]), b[0], b[1], b[2]];
        for i in 0..4 {
            for j in 0..4 {
                let block = modes.block(&b[i], &b[j]) * self.volume;
                out.add(self.points[i].index(), self.points[j].index(), block);
            }
        }
    }
}

/// One tetrahedron of a fast product: reads lane `l` of its group.
fn add_fast_one(
    corners: &[PointId; 4],
    group: &[f64],
    l: usize,
    mu: f64,
    lambda: f64,
    dx: &[f64],
    first: usize,
    df: &mut [f64],
) {
    let a: [Vec3; 3] = std::array::from_fn(|i| Vec3::from_fn(|c, _| group[4 * (3 * i + c) + l]));
    let o = triple(dx, corners[0].index());
    let mut G = Mat3::zeros();
    for i in 0..3 {
        G += (triple(dx, corners[i + 1].index()) - o) * a[i].transpose();
    }
    let S = (G + G.transpose()) * mu + Mat3::identity() * (lambda * G.trace());
    let f = a.map(|a| S * a);
    let [o, i, j, k] = corners.map(|p| p.index() - first);
    add_triple(df, i, &f[0]);
    add_triple(df, j, &f[1]);
    add_triple(df, k, &f[2]);
    add_triple(df, o, &-(f[0] + f[1] + f[2]));
}

/// Four tetrahedra of a fast product, one per lane.
#[inline(always)]
fn add_fast_four(
    corners: &[[PointId; 4]; 4],
    group: &[f64; GROUP],
    mu: f64,
    lambda: f64,
    dx: &[f64],
    first: usize,
    df: &mut [f64],
) {
    // u[i][c] = component c of u_i − u_0, one tetrahedron per lane.
    let mut u = [[[0.0; 4]; 3]; 3];
    for l in 0..4 {
        let o = triple(dx, corners[l][0].index());
        for i in 0..3 {
            let d = triple(dx, corners[l][i + 1].index()) - o;
            for c in 0..3 {
                u[i][c][l] = d[c];
            }
        }
    }
    let u = u.map(|u| u.map(Lanes::from));
    let a: [[Lanes; 3]; 3] = std::array::from_fn(|i| {
        std::array::from_fn(|c| Lanes::from(std::array::from_fn::<f64, 4, _>(|l| group[4 * (3 * i + c) + l])))
    });
    let G: [[Lanes; 3]; 3] = std::array::from_fn(|r| {
        std::array::from_fn(|c| u[0][r].mul_add(a[0][c], u[1][r].mul_add(a[1][c], u[2][r] * a[2][c])))
    });
    let (mu, lambda) = (Lanes::splat(mu), Lanes::splat(lambda));
    let spread = lambda * (G[0][0] + G[1][1] + G[2][2]);
    let side = |r: usize, c: usize| mu * (G[r][c] + G[c][r]);
    let (s01, s02, s12) = (side(0, 1), side(0, 2), side(1, 2));
    let S = [
        [mu.mul_add(G[0][0] + G[0][0], spread), s01, s02],
        [s01, mu.mul_add(G[1][1] + G[1][1], spread), s12],
        [s02, s12, mu.mul_add(G[2][2] + G[2][2], spread)],
    ];
    let f: [[[f64; 4]; 3]; 3] = std::array::from_fn(|i| {
        std::array::from_fn(|r| {
            S[r][0].mul_add(a[i][0], S[r][1].mul_add(a[i][1], S[r][2] * a[i][2])).to_array()
        })
    });
    for l in 0..4 {
        let [o, p @ ..] = corners[l].map(|p| p.index() - first);
        let mut sum = Vec3::zeros();
        for i in 0..3 {
            let f = Vec3::new(f[i][0][l], f[i][1][l], f[i][2][l]);
            sum += f;
            add_triple(df, p[i], &f);
        }
        add_triple(df, o, &-sum);
    }
}

impl Tets {
    /// Adds the sixteen blocks of the fast tangent, $K_{ij} = \mu\,(a_i\cdot a_j) I + \mu\,a_j a_i^T + \lambda\,a_i a_j^T$.
    fn add_fast_blocks(&self, t: &Tet, x: &[f64], out: &mut Blocks) {
        let (mu, lambda) = (self.elastic.mu, self.elastic.lambda);
        let a = self.turned_gradients(t, x);
        let a = [-(a[0] + a[1] + a[2]), a[0], a[1], a[2]];
        for i in 0..4 {
            for j in 0..4 {
                let block = Mat3::from_diagonal_element(mu * a[i].dot(&a[j]))
                    + outer(&a[j], &a[i]) * mu
                    + outer(&a[i], &a[j]) * lambda;
                out.add(t.points[i].index(), t.points[j].index(), block);
            }
        }
    }

    /// df += K dx from the fast cache.
    fn add_fast(&self, range: Range<usize>, cache: &[f64], dx: &[f64], first: usize, df: &mut [f64]) {
        let (mu, lambda) = (self.elastic.mu, self.elastic.lambda);
        let (groups, _) = cache.as_chunks::<GROUP>();
        let one = |e: usize, df: &mut [f64]| {
            add_fast_one(&self.corners[e], &groups[e / 4], e % 4, mu, lambda, dx, first, df);
        };
        // Whole groups in lanes, the ragged ends one by one.
        let inside = range.start.next_multiple_of(4).min(range.end)..range.end;
        let whole = inside.start..inside.start + inside.len() / 4 * 4;
        (range.start..inside.start).for_each(|e| one(e, df));
        let (fours, _) = self.corners[whole.clone()].as_chunks::<4>();
        for (four, group) in fours.iter().zip(&groups[whole.start.div_ceil(4)..]) {
            add_fast_four(four, group, mu, lambda, dx, first, df);
        }
        (whole.end..range.end).for_each(|e| one(e, df));
    }

    /// df += K dx from the general cache.
    fn add_general(&self, range: Range<usize>, cache: &[f64], dx: &[f64], first: usize, df: &mut [f64]) {
        let (caches, _) = cache.as_chunks::<BLOCKS>();
        for (t, blocks) in self.tets[range.clone()].iter().zip(&caches[range]) {
            let block = |k: usize| Mat3::from_column_slice(&blocks[9 * k..9 * k + 9]);
            let o = triple(dx, t.points[0].index());
            let [a, b, c] = [1, 2, 3].map(|i| triple(dx, t.points[i].index()) - o);
            let (ab, ac, bc) = (block(1), block(2), block(4));
            let fa = block(0) * a + ab * b + ac * c;
            let fb = ab.tr_mul(&a) + block(3) * b + bc * c;
            let fc = ac.tr_mul(&a) + bc.tr_mul(&b) + block(5) * c;
            let [o, i, j, k] = t.points.map(|p| p.index() - first);
            add_triple(df, i, &fa);
            add_triple(df, j, &fb);
            add_triple(df, k, &fc);
            add_triple(df, o, &-(fa + fb + fc));
        }
    }
}

impl Force for Tets {
    fn kind(&self) -> &'static str {
        "tets"
    }

    fn energy(&self, p: &Points) -> f64 {
        let one = |t: &Tet| t.volume * self.elastic.energy(&t.deformation(p.x));
        self.parts.sum(|range| self.tets[range].iter().map(one).sum())
    }

    fn add_force(&self, p: &Points, f: &mut [f64]) {
        self.parts.scatter(f, |range, first, f| {
            for t in &self.tets[range] {
                t.add(&self.elastic.stress(&t.deformation(p.x)), -t.volume, first, f);
            }
        });
    }

    fn add_stiffness_times(&self, p: &Points, dx: &[f64], df: &mut [f64]) {
        self.parts.scatter(df, |range, first, df| {
            for t in &self.tets[range] {
                let modes = self.elastic.modes(&t.deformation(p.x), Tangent::Exact);
                t.add(&modes.times(&t.deformation(dx)), t.volume, first, df);
            }
        });
    }

    fn add_stiffness_blocks(&self, p: &Points, out: &mut Blocks) {
        self.add_tangent_blocks(p, Tangent::Exact, out);
    }

    fn linearize(&self, p: &Points, tangent: Tangent, cache: &mut Vec<f64>) {
        if self.is_fast(tangent) {
            self.parts.fill(cache, self.tets.len().div_ceil(4), GROUP, |group, out| {
                for (l, t) in self.tets[4 * group..].iter().take(4).enumerate() {
                    let a = self.turned_gradients(t, p.x);
                    for k in 0..9 {
                        out[4 * k + l] = a[k / 3][k % 3];
                    }
                }
            });
        } else {
            self.parts.fill(cache, self.tets.len(), BLOCKS, |i, out| {
                let t = &self.tets[i];
                let modes = self.elastic.modes(&t.deformation(p.x), tangent);
                let b = t.g.map(|g| modes.turned(&g));
                for (k, (i, j)) in [(0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)].into_iter().enumerate() {
                    let block = modes.block(&b[i], &b[j]) * t.volume;
                    out[9 * k..9 * k + 9].copy_from_slice(block.as_slice());
                }
            });
        }
    }

    fn add_tangent_times(&self, _p: &Points, cache: &[f64], dx: &[f64], df: &mut [f64]) {
        // The two caches never have the same length.
        let fast = cache.len() == GROUP * self.tets.len().div_ceil(4);
        self.parts.scatter(df, |range, first, df| {
            if fast {
                self.add_fast(range, cache, dx, first, df);
            } else {
                self.add_general(range, cache, dx, first, df);
            }
        });
    }

    fn add_tangent_blocks(&self, p: &Points, tangent: Tangent, out: &mut Blocks) {
        if self.is_fast(tangent) {
            for t in &self.tets {
                self.add_fast_blocks(t, p.x, out);
            }
            return;
        }
        for t in &self.tets {
            t.add_blocks(&self.elastic.modes(&t.deformation(p.x), tangent), out);
        }
    }

    fn has_projection(&self) -> bool {
        true
    }

    fn has_cheap_projection(&self) -> bool {
        self.elastic.law == Law::Corotated
    }

    fn is_internal(&self) -> bool {
        self.elastic.law != Law::Linear
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::{Random, rotation};

    const LAWS: [Law; 5] =
        [Law::Linear, Law::Corotated, Law::StVenantKirchhoff, Law::NeoHookean, Law::StableNeoHookean];

    /// A block of nx × ny × nz cells, six tetrahedra each, inner points shaken by `shake` cell sizes.
    fn block(n: [usize; 3], shake: f64) -> (Vec<Vec3>, Vec<[PointId; 4]>) {
        let mut random = Random::new(21);
        let mut rest = Vec::new();
        for k in 0..=n[2] {
            for j in 0..=n[1] {
                for i in 0..=n[0] {
                    rest.push(
                        Vec3::new(i as f64, j as f64, k as f64)
                            + Vec3::from_fn(|_, _| random.between(-shake, shake)),
                    );
                }
            }
        }
        let at = |i, j, k| PointId((i + (n[0] + 1) * (j + (n[1] + 1) * k)) as u32);
        let mut tets = Vec::new();
        for k in 0..n[2] {
            for j in 0..n[1] {
                for i in 0..n[0] {
                    let c = |a: [usize; 3]| at(i + a[0], j + a[1], k + a[2]);
                    for order in [[0, 1, 2], [1, 2, 0], [2, 0, 1], [0, 2, 1], [2, 1, 0], [1, 0, 2]] {
                        let mut corner = [0; 3];
                        let mut t = [c(corner); 4];
                        for (s, axis) in order.into_iter().enumerate() {
                            corner[axis] = 1;
                            t[s + 1] = c(corner);
                        }
                        if [[0, 2, 1], [2, 1, 0], [1, 0, 2]].contains(&order) {
                            t.swap(2, 3);
                        }
                        tets.push(t);
                    }
                }
            }
        }
        (rest, tets)
    }

    fn flat(x: &[Vec3]) -> Vec<f64> {
        x.iter().flat_map(|x| [x.x, x.y, x.z]).collect()
    }

    fn points(x: &[f64]) -> Points<'_> {
        // A mass per point is not looked at.
        Points { time: 0.0, first: 0, x, v: &[], mass: &[] }
    }

    #[test]
    fn a_constant_strain_is_carried_by_any_mesh() {
        // Patch test: under x = F X + c the stress is the same everywhere, so inner points feel nothing.
        let n = [3, 3, 3];
        let (rest, tets) = block(n, 0.15);
        let R = rotation::matrix(&rotation::exp(&Vec3::new(0.5, 0.2, -0.4)));
        for law in LAWS {
            let batch = Tets::new(&rest, &tets, Material { law, young: 1e4, poisson: 0.3 }).unwrap();
            let F = R * Mat3::new(1.1, 0.05, 0.0, 0.02, 0.9, 0.1, 0.0, -0.03, 1.05);
            let x = flat(&rest.iter().map(|X| F * X + Vec3::new(1.0, 2.0, 3.0)).collect::<Vec<_>>());
            let mut f = vec![0.0; x.len()];
            batch.add_force(&points(&x), &mut f);
            let size = f.iter().fold(0.0, |a: f64, b| a.max(b.abs()));
            for k in 1..n[2] {
                for j in 1..n[1] {
                    for i in 1..n[0] {
                        let f = triple(&f, i + 4 * (j + 4 * k));
                        assert!(f.norm() < 1e-12 * size, "{law:?}: {f}");
                    }
                }
            }
            let W = batch.energy(&points(&x));
            let volume: f64 = batch.elements().map(|(_, v)| v).sum();
            assert!((W - volume * batch.material().energy_density(&F)).abs() < 1e-10 * W, "{law:?}");
        }
    }

    #[test]
    fn a_body_at_rest_feels_nothing_and_a_turned_one_neither() {
        let (rest, tets) = block([2, 2, 2], 0.15);
        let R = rotation::matrix(&rotation::exp(&Vec3::new(0.5, 1.2, -0.4)));
        for law in LAWS {
            let batch = Tets::new(&rest, &tets, Material { law, young: 1.0, poisson: 0.3 }).unwrap();
            for turn in [Mat3::identity(), R] {
                if turn == R && law == Law::Linear {
                    continue;
                }
                let x = flat(&rest.iter().map(|X| turn * X).collect::<Vec<_>>());
                let mut f = vec![0.0; x.len()];
                batch.add_force(&points(&x), &mut f);
                assert!(f.iter().all(|f| f.abs() < 1e-14), "{law:?}");
            }
        }
    }

    #[test]
    fn lanes_and_threads_change_neither_product_nor_bits() {
        // Above the limit below which batches run in one piece.
        let (rest, tets) = block([12, 12, 30], 0.1);
        assert!(tets.len() > 20_000);
        let batch =
            Tets::new(&rest, &tets, Material { law: Law::Corotated, young: 1e3, poisson: 0.4 }).unwrap();
        assert!(batch.parts.crossing() < batch.len() / 20);
        let mut random = Random::new(9);
        let mut shaken = |x: &[f64], s: f64| x.iter().map(|x| x + random.between(-s, s)).collect::<Vec<_>>();
        let x = shaken(&flat(&rest), 0.2);
        let dx = shaken(&vec![0.0; x.len()], 1.0);
        let p = points(&x);
        let run = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| {
                let (mut cache, mut f, mut df) = (Vec::new(), vec![0.0; x.len()], vec![0.0; x.len()]);
                batch.linearize(&p, Tangent::Projected, &mut cache);
                batch.add_tangent_times(&p, &cache, &dx, &mut df);
                batch.add_force(&p, &mut f);
                (cache, f, df, batch.energy(&p))
            })
        };
        let (one, two) = (run(1), run(2));
        assert!(one == two, "two threads give other bits");
        let turns: Vec<Mat3> = batch.deformations(&p).map(|F| polar_rotation(&F)).collect();
        let mut plain = vec![0.0; x.len()];
        batch.add_rotated_times(&turns, &dx, &mut plain);
        let size = plain.iter().fold(0.0, |a: f64, b| a.max(b.abs()));
        for (a, b) in plain.iter().zip(&one.2) {
            assert!((a - b).abs() < 1e-12 * size);
        }
    }

    #[test]
    fn bad_rest_shapes_are_refused_by_number() {
        let rest = [Vec3::zeros(), Vec3::x(), Vec3::y(), Vec3::z(), Vec3::x() + Vec3::y()];
        let material = Material { law: Law::Corotated, young: 1.0, poisson: 0.3 };
        let id = |p: [u32; 4]| p.map(PointId);
        let good = id([0, 1, 2, 3]);
        for bad in [id([0, 2, 1, 3]), id([0, 1, 2, 4]), id([0, 1, 2, 9])] {
            let error = Tets::new(&rest, &[good, bad], material).unwrap_err();
            assert!(error.to_string().contains("tetrahedron 1"), "{error}");
        }
        assert!(Tets::new(&rest, &[good], material).is_ok());
    }
}
