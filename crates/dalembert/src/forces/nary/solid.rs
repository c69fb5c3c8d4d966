//! Solid elements of N points: $W = \sum_q w_q\,\psi(F_q)$ over quadrature points, $F_q = \sum_i x_i\, g_{qi}^T$.
//!
//! **Linear** and **corotated** elements need only the stiffness matrix $K_0$ of the rest shape X. Linear:
//! $W = \tfrac12 (x - X)^T K_0 (x - X)$. Corotated: the same in a frame that turns with the element,
//!
//! $$ W = \tfrac12 (y - X)^T K_0 (y - X),\qquad y_i = R^T x_i, $$
//!
//! with R the polar rotation of the mean $\bar F = \sum_i x_i b_i^T$. With $g = K_0(y - X)$, $S = \sum y_i b_i^T$ (which is
//! symmetric), $M = \mathrm{tr}S\,I - S$, $\tau = \sum y_i\times g_i$ and $M m = \tau$ the force is
//! $f_i = -R\,(g_i - m\times b_i)$. The second term, which common codes leave out, keeps torques balanced. A change
//! $dz_i = R^T dx_i$ turns R by $\omega = M^{-1}\sum b_i\times dz_i$, and all of K follows by the product rule:
//! $dy_i = dz_i - \omega\times y_i$, $dg = K_0\,dy$, and so on.
//!
//! $K_0$ may come from any linear element, so the options against locking cost nothing here. Elements of the same rest
//! shape share one $K_0$. The other laws are summed over quadrature points. Book: "Solids".

use super::element::{Hessian, add_blocks, add_packed_times, pack};
use super::material::{Elastic, ElementError, Law, Material};
use super::parts::Parts;
use super::tet::places;
use crate::forces::{Blocks, Force, Points, Tangent};
use crate::math::svd::twice_axial;
use crate::math::{Mat3, Vec3, add_triple, polar_rotation, triple};
use crate::state::PointId;

/// Gradients of all shape functions at one quadrature point \[1/m\] and the volume it stands for \[m³\].
pub(crate) type Sample<const N: usize> = ([Vec3; N], f64);

/// What elements of one rest shape have in common.
#[derive(Debug, Clone)]
pub(crate) struct Shape<const N: usize> {
    /// Places of the points, the first at the origin.
    X: [Vec3; N],
    /// Quadrature points.
    samples: Vec<Sample<N>>,
    /// Volume-weighted mean of the gradients.
    b: [Vec3; N],
    /// K₀, column by column, 3N × 3N.
    K0: Vec<f64>,
    volume: f64,
}

/// Solid elements of N points and one material: [`Hexes`](super::Hexes), [`QuadraticTets`](super::QuadraticTets).
#[derive(Debug, Clone)]
pub struct Solids<const N: usize> {
    kind: &'static str,
    /// Points and number of the shape.
    elements: Vec<([PointId; N], u32)>,
    shapes: Vec<Shape<N>>,
    elastic: Elastic,
    parts: Parts,
}

/// A rest shape that differs by less than this fraction of its size is the same.
const SAME: f64 = 1e-12;
/// Shapes that are looked at before a new one is made.
const RECENT: usize = 8;

impl<const N: usize> Solids<N> {
    /// `sample` gives quadrature points, `stiffness` K₀ as blocks; the latter is asked for linear and corotated laws only.
    pub(crate) fn build(
        kind: &'static str,
        rest: &[Vec3],
        elements: &[[PointId; N]],
        material: Material,
        sample: impl Fn(&[Vec3; N]) -> Vec<Sample<N>>,
        stiffness: impl Fn(&[Vec3; N], &[Sample<N>], &Elastic) -> Hessian<N>,
    ) -> Result<Self, ElementError> {
        material.check()?;
        let elastic = material.elastic();
        let quadratic = matches!(material.law, Law::Linear | Law::Corotated);
        let mut shapes: Vec<Shape<N>> = Vec::new();
        let mut list = Vec::with_capacity(elements.len());
        for (element, &points) in elements.iter().enumerate() {
            let x = places(kind, element, rest, &points)?;
            let X = x.map(|a| a - x[0]);
            let size = X.iter().map(|a| a.norm()).fold(0.0, f64::max);
            let same = |s: &Shape<N>| s.X.iter().zip(&X).all(|(a, b)| (a - b).amax() <= SAME * size);
            let from = shapes.len().saturating_sub(RECENT);
            if let Some(k) = shapes[from..].iter().position(same) {
                list.push((points, (from + k) as u32));
                continue;
            }
            let samples = sample(&X);
            let least = 1e-10 * size.powi(3);
            let value = samples.iter().map(|s| s.1).fold(f64::INFINITY, f64::min) * samples.len() as f64;
            if !(value > least) {
                return Err(ElementError::Degenerate { kind, element, measure: "volume", value, least });
            }
            let volume: f64 = samples.iter().map(|s| s.1).sum();
            let mut b = [Vec3::zeros(); N];
            for (g, w) in &samples {
                for i in 0..N {
                    b[i] += g[i] * (w / volume);
                }
            }
            let mut K0 = Vec::new();
            if quadratic {
                let blocks = stiffness(&X, &samples, &elastic);
                K0 = (0..9 * N * N)
                    .map(|k| {
                        let (row, column) = (k % (3 * N), k / (3 * N));
                        blocks[row / 3][column / 3][(row % 3, column % 3)]
                    })
                    .collect();
            }
            list.push((points, shapes.len() as u32));
            shapes.push(Shape { X, samples, b, K0, volume });
        }
        let parts = Parts::new(&mut list, |e| e.0);
        Ok(Self { kind, elements: list, shapes, elastic, parts })
    }

    /// Points and rest volume \[m³\] of each element, in the order in which they are summed.
    pub fn elements(&self) -> impl Iterator<Item = ([PointId; N], f64)> + '_ {
        self.elements.iter().map(|(p, s)| (*p, self.shapes[*s as usize].volume))
    }

    /// Number of different rest shapes.
    pub fn shapes(&self) -> usize {
        self.shapes.len()
    }

    /// Numbers per element in the cache of a tangent.
    fn per_element(&self, tangent: Tangent) -> usize {
        match (self.elastic.law, tangent) {
            (Law::Linear, _) => 0,
            (Law::Corotated, Tangent::Projected) => 9,
            _ => 9 * N * (N - 1) / 2,
        }
    }

    /// The Hessian of one element.
    fn hessian(&self, e: &([PointId; N], u32), x: &[f64], tangent: Tangent) -> Hessian<N> {
        let shape = &self.shapes[e.1 as usize];
        let x = offsets(e.0, x);
        match (self.elastic.law, tangent) {
            (Law::Linear, _) => shape.columns(|u| shape.times(u)),
            (Law::Corotated, Tangent::Projected) => {
                let R = polar_rotation(&gradient(&shape.b, &x));
                shape.columns(|u| shape.times(&u.map(|u| R.tr_mul(&u))).map(|f| R * f))
            }
            (Law::Corotated, Tangent::Exact) => {
                let turned = Turned::new(shape, &x);
                shape.columns(|u| turned.times(u))
            }
            _ => {
                let mut H = [[Mat3::zeros(); N]; N];
                for (g, w) in &shape.samples {
                    let modes = self.elastic.modes(&gradient(g, &x), tangent);
                    let b = g.map(|g| modes.turned(&g));
                    for i in 0..N {
                        for j in i..N {
                            H[i][j] += modes.block(&b[i], &b[j]) * *w;
                        }
                    }
                }
                for i in 0..N {
                    for j in 0..i {
                        H[i][j] = H[j][i].transpose();
                    }
                }
                H
            }
        }
    }
}

/// Positions relative to the first point.
#[inline(always)]
fn offsets<const N: usize>(points: [PointId; N], x: &[f64]) -> [Vec3; N] {
    let o = triple(x, points[0].index());
    points.map(|p| triple(x, p.index()) - o)
}

/// Σ x_i g_iᵀ.
#[inline(always)]
fn gradient<const N: usize>(g: &[Vec3; N], x: &[Vec3; N]) -> Mat3 {
    let mut F = Mat3::zeros();
    for i in 0..N {
        F += x[i] * g[i].transpose();
    }
    F
}

fn scatter<const N: usize>(points: [PointId; N], f: &[Vec3; N], first: usize, out: &mut [f64]) {
    for i in 0..N {
        add_triple(out, points[i].index() - first, &f[i]);
    }
}

impl<const N: usize> Shape<N> {
    /// K₀ u.
    #[inline]
    fn times(&self, u: &[Vec3; N]) -> [Vec3; N] {
        let mut f = [[0.0f64; 3]; N];
        let n = 3 * N;
        for (column, u) in self.K0.chunks_exact(n).zip(u.iter().flat_map(|u| u.iter())) {
            for (f, k) in f.as_flattened_mut().iter_mut().zip(column) {
                #[cfg(target_feature = "fma")]
                {
                    *f = k.mul_add(*u, *f);
                }
                #[cfg(not(target_feature = "fma"))]
                {
                    *f += k * u;
                }
            }
        }
        f.map(Vec3::from)
    }

    /// The matrix of a linear map of displacements, column by column.
    fn columns(&self, times: impl Fn(&[Vec3; N]) -> [Vec3; N]) -> Hessian<N> {
        let mut H = [[Mat3::zeros(); N]; N];
        for j in 0..N {
            for c in 0..3 {
                let mut u = [Vec3::zeros(); N];
                u[j][c] = 1.0;
                let f = times(&u);
                for i in 0..N {
                    H[i][j].set_column(c, &f[i]);
                }
            }
        }
        H
    }
}

/// A corotated element at its present place: the letters of the module.
struct Turned<'a, const N: usize> {
    shape: &'a Shape<N>,
    R: Mat3,
    y: [Vec3; N],
    g: [Vec3; N],
    inverse_M: Mat3,
    m: Vec3,
}

impl<'a, const N: usize> Turned<'a, N> {
    fn new(shape: &'a Shape<N>, x: &[Vec3; N]) -> Self {
        let R = polar_rotation(&gradient(&shape.b, x));
        let y = x.map(|x| R.tr_mul(&x));
        let mut stretch = y;
        for i in 0..N {
            stretch[i] -= shape.X[i];
        }
        let g = shape.times(&stretch);
        let S = gradient(&shape.b, &y);
        let M = Mat3::identity() * S.trace() - (S + S.transpose()) * 0.5;
        // Where R jumps there is no derivative to follow.
        let solid = M.determinant().abs() > 1e-9 * M.norm().powi(3);
        let inverse_M = if solid { M.try_inverse().unwrap_or_default() } else { Mat3::zeros() };
        let tau: Vec3 = (0..N).map(|i| y[i].cross(&g[i])).sum();
        Self { shape, R, y, g, inverse_M, m: inverse_M * tau }
    }

    fn energy(&self) -> f64 {
        0.5 * (0..N).map(|i| self.g[i].dot(&(self.y[i] - self.shape.X[i]))).sum::<f64>()
    }

    /// γ_i = g_i − m × b_i: minus the force, in turned axes.
    fn gamma(&self) -> [Vec3; N] {
        std::array::from_fn(|i| self.g[i] - self.m.cross(&self.shape.b[i]))
    }

    /// K dx.
    fn times(&self, dx: &[Vec3; N]) -> [Vec3; N] {
        let (b, y, gamma) = (&self.shape.b, &self.y, self.gamma());
        let dz = dx.map(|u| self.R.tr_mul(&u));
        let w = self.inverse_M * twice_axial(&gradient(b, &dz));
        let dy: [Vec3; N] = std::array::from_fn(|i| dz[i] - w.cross(&y[i]));
        let dg = self.shape.times(&dy);
        let mut dtau = Vec3::zeros();
        for i in 0..N {
            dtau += dy[i].cross(&self.g[i]) + y[i].cross(&dg[i]);
        }
        let dS = gradient(b, &dy);
        let dS = (dS + dS.transpose()) * 0.5;
        let dm = self.inverse_M * (dtau - self.m * dS.trace() + dS * self.m);
        std::array::from_fn(|i| self.R * (w.cross(&gamma[i]) + dg[i] - dm.cross(&b[i])))
    }
}

impl<const N: usize> Force for Solids<N> {
    fn kind(&self) -> &'static str {
        self.kind
    }

    fn energy(&self, p: &Points) -> f64 {
        let one = |e: &([PointId; N], u32)| {
            let shape = &self.shapes[e.1 as usize];
            let x = offsets(e.0, p.x);
            match self.elastic.law {
                Law::Linear => {
                    let u: [Vec3; N] = std::array::from_fn(|i| x[i] - shape.X[i]);
                    0.5 * shape.times(&u).iter().zip(&u).map(|(f, u)| f.dot(u)).sum::<f64>()
                }
                Law::Corotated => Turned::new(shape, &x).energy(),
                _ => shape.samples.iter().map(|(g, w)| w * self.elastic.energy(&gradient(g, &x))).sum(),
            }
        };
        self.parts.sum(|range| self.elements[range].iter().map(one).sum())
    }

    fn add_force(&self, p: &Points, f: &mut [f64]) {
        self.parts.scatter(f, |range, first, out| {
            for e in &self.elements[range] {
                let shape = &self.shapes[e.1 as usize];
                let x = offsets(e.0, p.x);
                let mut f = [Vec3::zeros(); N];
                match self.elastic.law {
                    Law::Linear => {
                        f = shape.times(&std::array::from_fn(|i| shape.X[i] - x[i]));
                    }
                    Law::Corotated => {
                        let turned = Turned::new(shape, &x);
                        f = turned.gamma().map(|g| turned.R * -g);
                    }
                    _ => {
                        for (g, w) in &shape.samples {
                            let P = self.elastic.stress(&gradient(g, &x)) * -*w;
                            for i in 0..N {
                                f[i] += P * g[i];
                            }
                        }
                    }
                }
                scatter(e.0, &f, first, out);
            }
        });
    }

    fn add_stiffness_times(&self, p: &Points, dx: &[f64], df: &mut [f64]) {
        self.parts.scatter(df, |range, first, df| {
            for e in &self.elements[range] {
                let shape = &self.shapes[e.1 as usize];
                let (x, u) = (offsets(e.0, p.x), offsets(e.0, dx));
                let mut f = [Vec3::zeros(); N];
                match self.elastic.law {
                    Law::Linear => f = shape.times(&u),
                    Law::Corotated => f = Turned::new(shape, &x).times(&u),
                    _ => {
                        for (g, w) in &shape.samples {
                            let modes = self.elastic.modes(&gradient(g, &x), Tangent::Exact);
                            let dP = modes.times(&gradient(g, &u)) * *w;
                            for i in 0..N {
                                f[i] += dP * g[i];
                            }
                        }
                    }
                }
                scatter(e.0, &f, first, df);
            }
        });
    }

    fn add_stiffness_blocks(&self, p: &Points, out: &mut Blocks) {
        self.add_tangent_blocks(p, Tangent::Exact, out);
    }

    fn linearize(&self, p: &Points, tangent: Tangent, cache: &mut Vec<f64>) {
        let per = self.per_element(tangent);
        if per == 0 {
            return cache.clear(); // K₀ is all there is
        }
        self.parts.fill(cache, self.elements.len(), per, |i, out| {
            let e = &self.elements[i];
            if per == 9 {
                let shape = &self.shapes[e.1 as usize];
                out.copy_from_slice(polar_rotation(&gradient(&shape.b, &offsets(e.0, p.x))).as_slice());
            } else {
                pack(&self.hessian(e, p.x, tangent), true, out);
            }
        });
    }

    fn add_tangent_times(&self, _p: &Points, cache: &[f64], dx: &[f64], df: &mut [f64]) {
        let per = cache.len() / self.elements.len().max(1);
        self.parts.scatter(df, |range, first, df| {
            for k in range {
                let (points, shape) = self.elements[k];
                let shape = &self.shapes[shape as usize];
                match per {
                    0 => scatter(points, &shape.times(&offsets(points, dx)), first, df),
                    9 => {
                        let R = Mat3::from_column_slice(&cache[9 * k..9 * k + 9]);
                        let u = offsets(points, dx).map(|u| R.tr_mul(&u));
                        scatter(points, &shape.times(&u).map(|f| R * f), first, df);
                    }
                    _ => add_packed_times(&cache[per * k..per * (k + 1)], true, points, dx, first, df),
                }
            }
        });
    }

    fn add_tangent_blocks(&self, p: &Points, tangent: Tangent, out: &mut Blocks) {
        for e in &self.elements {
            add_blocks(&self.hessian(e, p.x, tangent), e.0, out);
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

/// K₀ = Σ w Bᵀ C B of Hooke's law.
pub(crate) fn plain_stiffness<const N: usize>(samples: &[Sample<N>], elastic: &Elastic) -> Hessian<N> {
    let mut K = [[Mat3::zeros(); N]; N];
    for (g, w) in samples {
        add_hooke(&mut K, g, g, *w, elastic.mu, elastic.lambda);
    }
    K
}

/// K_ij += w (λ g_i h_jᵀ + μ (g_i·h_j I + h_j g_iᵀ)): Hooke's law between two sets of gradients.
pub(crate) fn add_hooke<const N: usize, const M: usize>(
    K: &mut [[Mat3; M]; N],
    g: &[Vec3; N],
    h: &[Vec3; M],
    w: f64,
    mu: f64,
    lambda: f64,
) {
    for i in 0..N {
        for j in 0..M {
            let (a, b) = (&g[i], &h[j]);
            K[i][j] +=
                (a * b.transpose() * lambda + (b * a.transpose() + Mat3::identity() * a.dot(b)) * mu) * w;
        }
    }
}
