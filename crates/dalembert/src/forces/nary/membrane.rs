//! Triangles that resist stretching in their plane: $F = \sum_i x_i\, g_i^T$ is 3×2, with $g_i$ in the plane of the rest shape.
//!
//! **StVenant-Kirchhoff.** Green's strain $\mathcal E = \tfrac12(F^T F - I)$ and plane stress
//! $S = 2\mu\mathcal E + \bar\lambda\,\mathrm{tr}\mathcal E\,I$, $\bar\lambda = E\nu/(1-\nu^2)$, give for area A and thickness t
//!
//! $$ W = A t\,\tfrac12 S:\mathcal E,\qquad \partial W/\partial x_i = A t\,F S g_i, $$
//! $$ K_{ij} = A t\,\big[(g_i\cdot S g_j) I + \mu\,(g_i\cdot g_j) F F^T + \mu\,(F g_j)(F g_i)^T
//!    + \bar\lambda\,(F g_i)(F g_j)^T\big]. $$
//!
//! Only the first term can be negative: the projected tangent keeps the positive part of S there.
//!
//! **Baraff and Witkin 1998.** With $w_u, w_v$ the columns of F along warp and weft,
//! $W = A\,[\varphi_u(|w_u|) + \varphi_v(|w_v|) + \tfrac12 k_s (w_u\cdot w_v)^2]$,
//! $\varphi(\ell) = \tfrac12 k(\ell - 1)^2 + \tfrac13 (k_l/s)\,\langle\ell - 1 - s\rangle^3$: beyond the strain s it stiffens.
//! Both sets of threads act alone, so Poisson's ratio is zero. Book: "Cloth".

use super::element::{Element, Elements, Hessian, from_offsets, gradient_from_offsets};
use super::material::ElementError;
use super::tet::places;
use crate::forces::{Tangent, TangentSink};
use crate::math::simd::{Lanes, V3, dot};
use crate::math::{Mat3, Vec3, across, outer, quad};
use crate::state::PointId;
use nalgebra::{Matrix2, Matrix3x2, Vector2};

/// A triangle at rest: gradients of the shape functions of corners 1 and 2 in its plane, and area.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Flat {
    points: [PointId; 3],
    /// \[1/m\]; corner 0 has minus their sum.
    g: [Vector2<f64>; 2],
    /// Rest area \[m²\].
    area: f64,
}

impl Flat {
    /// In axes of the plane whose first is the direction `warp`, laid into the plane.
    fn new(
        element: usize,
        rest: &[Vec3],
        points: [PointId; 3],
        warp: Option<Vec3>,
    ) -> Result<Self, ElementError> {
        let kind = "triangle";
        let x = places(kind, element, rest, &points)?;
        let (a, b) = (x[1] - x[0], x[2] - x[0]);
        let normal = a.cross(&b);
        let value = 0.5 * normal.norm();
        let size = a.norm().max(b.norm()).max((a - b).norm());
        let least = 1e-10 * size * size;
        if !(value > least) {
            return Err(ElementError::Degenerate { kind, element, measure: "area", value, least });
        }
        let n = normal.normalize();
        // A warp direction across the plane says nothing about it: take the first edge.
        let lay = |d: Vec3| (across(&n) * d).try_normalize(1e-6 * d.norm());
        let u = warp.and_then(lay).unwrap_or_else(|| a.normalize());
        let v = n.cross(&u);
        let D = Matrix2::new(u.dot(&a), u.dot(&b), v.dot(&a), v.dot(&b));
        let inverse = D.try_inverse().unwrap_or_default();
        Ok(Self { points, g: [inverse.row(0).transpose(), inverse.row(1).transpose()], area: value })
    }

    fn deformation(&self, x: &[Vec3; 3]) -> Matrix3x2<f64> {
        (x[1] - x[0]) * self.g[0].transpose() + (x[2] - x[0]) * self.g[1].transpose()
    }
}

/// A triangle of an isotropic sheet.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Membrane {
    flat: Flat,
    /// t μ and t λ̄ \[N/m\].
    mu: f64,
    lambda: f64,
}

/// Triangles of an isotropic sheet.
pub type Membranes = Elements<Membrane, 3>;

/// Refuses numbers outside their range.
fn check_sheet(young: f64, poisson: f64, thickness: f64) -> Result<(), ElementError> {
    ElementError::positive("young", young)?;
    ElementError::positive("thickness", thickness)?;
    if !(poisson > -1.0 && poisson < 0.5) {
        return Err(ElementError::Parameter { name: "poisson", value: poisson, range: "between -1 and 0.5" });
    }
    Ok(())
}

impl Membranes {
    /// Triangles resting at the places of `rest` \[m\], with Young's modulus \[Pa\], Poisson's ratio and thickness \[m\].
    pub fn sheet(
        rest: &[Vec3],
        triangles: &[[PointId; 3]],
        young: f64,
        poisson: f64,
        thickness: f64,
    ) -> Result<Self, ElementError> {
        check_sheet(young, poisson, thickness)?;
        let mu = thickness * young / (2.0 * (1.0 + poisson));
        let lambda = thickness * young * poisson / (1.0 - poisson * poisson);
        let list: Result<Vec<_>, _> = triangles
            .iter()
            .enumerate()
            .map(|(i, t)| Ok(Membrane { flat: Flat::new(i, rest, *t, None)?, mu, lambda }))
            .collect();
        Ok(Self::new(list?))
    }
}

impl Membrane {
    /// F, Green's strain and t S.
    fn state(&self, x: &[Vec3; 3]) -> (Matrix3x2<f64>, Matrix2<f64>, Matrix2<f64>) {
        let F = self.flat.deformation(x);
        let E = (F.transpose() * F - Matrix2::identity()) * 0.5;
        (F, E, E * (2.0 * self.mu) + Matrix2::identity() * (self.lambda * E.trace()))
    }
}

impl Element<3> for Membrane {
    const KIND: &'static str = "membranes";

    fn points(&self) -> [PointId; 3] {
        self.flat.points
    }

    fn energy(&self, x: &[Vec3; 3]) -> f64 {
        let (_, E, S) = self.state(x);
        0.5 * self.flat.area * S.dot(&E)
    }

    fn gradient(&self, x: &[Vec3; 3]) -> [Vec3; 3] {
        self.energy_and_gradient(x).1
    }

    fn energy_and_gradient(&self, x: &[Vec3; 3]) -> (f64, [Vec3; 3]) {
        let (F, E, S) = self.state(x);
        let gradient = gradient_from_offsets(|i| F * (S * self.flat.g[i - 1]) * self.flat.area);
        (0.5 * self.flat.area * S.dot(&E), gradient)
    }

    fn energies_and_gradients(e: [&Self; 4], x: &[[Vec3; 3]; 4]) -> ([f64; 4], [[Vec3; 3]; 4]) {
        four_membranes(e, x)
    }

    fn hessian(&self, x: &[Vec3; 3], tangent: Tangent) -> Hessian<3> {
        let (F, _, mut S) = self.state(x);
        if tangent == Tangent::Projected {
            S = positive_part(&S);
        }
        let g = &self.flat.g;
        let FF = F * F.transpose();
        let Fg = g.map(|g| F * g);
        from_offsets(|i, j| {
            let (i, j) = (i - 1, j - 1);
            (Mat3::identity() * g[i].dot(&(S * g[j]))
                + (FF * g[i].dot(&g[j]) + outer(&Fg[j], &Fg[i])) * self.mu
                + outer(&Fg[i], &Fg[j]) * self.lambda)
                * self.flat.area
        })
    }

    /// Column c of K_ij: $At[(g_i\cdot Sg_j)e_c + \mu(g_i\cdot g_j)(FF^T)_c + \mu Fg_j(Fg_i)_c + \bar\lambda Fg_i(Fg_j)_c]$.
    fn hand_over(&self, x: &[Vec3; 3], tangent: Tangent, sink: &mut dyn TangentSink) {
        let (F, _, mut S) = self.state(x);
        if tangent == Tangent::Projected {
            S = positive_part(&S);
        }
        let [a, b] = self.flat.g;
        let (g, area) = ([-(a + b), a, b], self.flat.area);
        let (S, mu, lambda) = (S * area, self.mu * area, self.lambda * area);
        let f: [Lanes; 2] = [0, 1].map(|k| quad(&F.column(k).into_owned()));
        let times = |a: Lanes, b: f64| a * Lanes::splat(b);
        let FF: [Lanes; 3] = std::array::from_fn(|c| times(f[0], F[(c, 0)]) + times(f[1], F[(c, 1)]));
        let Fg = g.map(|g| times(f[0], g.x) + times(f[1], g.y));
        let rows = Fg.map(Lanes::to_array);
        let mut upper = [[[0.0; 4]; 3]; 6];
        let mut blocks = upper.iter_mut();
        for i in 0..3 {
            let Sg = S * g[i];
            for (j, block) in (i..3).zip(&mut blocks) {
                let (s, m) = (g[j].dot(&Sg), mu * g[i].dot(&g[j]));
                for c in 0..3 {
                    let stretch = times(Fg[j], mu * rows[i][c]) + times(Fg[i], lambda * rows[j][c]);
                    block[c] = (times(FF[c], m) + stretch).to_array();
                    block[c][c] += s;
                }
            }
        }
        sink.triangle(self.flat.points, &upper);
    }
}

/// Energy and gradient of four triangles, one per lane: columns u, v of F, strain, stress and F S, then $A\,FSg_i$.
fn four_membranes(e: [&Membrane; 4], x: &[[Vec3; 3]; 4]) -> ([f64; 4], [[Vec3; 3]; 4]) {
    let lanes = |f: &dyn Fn(&Membrane) -> f64| Lanes::new(e.map(f));
    let mix =
        |a: &V3, s: Lanes, b: &V3, t: Lanes| -> V3 { std::array::from_fn(|k| a[k].mul_add(s, b[k] * t)) };
    let offset = |i: usize| -> V3 {
        std::array::from_fn(|k| {
            let of = |x: &[Vec3; 3]| x[i][k] - x[0][k];
            Lanes::new([of(&x[0]), of(&x[1]), of(&x[2]), of(&x[3])])
        })
    };
    let g: [[Lanes; 2]; 2] = [0, 1].map(|i| [0, 1].map(|k| lanes(&|e| e.flat.g[i][k])));
    let (a, b) = (offset(1), offset(2));
    let (u, v) = (mix(&a, g[0][0], &b, g[1][0]), mix(&a, g[0][1], &b, g[1][1]));
    let half = Lanes::HALF;
    let (uu, vv) = (half * (dot(&u, &u) - Lanes::ONE), half * (dot(&v, &v) - Lanes::ONE));
    let uv = half * dot(&u, &v);
    let area = lanes(&|e| e.flat.area);
    let (mu2, lambda) = (lanes(&|e| 2.0 * e.mu) * area, lanes(&|e| e.lambda) * area);
    let spread = lambda * (uu + vv);
    let (Suu, Svv, Suv) = (mu2.mul_add(uu, spread), mu2.mul_add(vv, spread), mu2 * uv);
    let energy = half * Suu.mul_add(uu, Svv.mul_add(vv, (Suv + Suv) * uv));
    let (p, q) = (mix(&u, Suu, &v, Suv), mix(&u, Suv, &v, Svv));
    let (first, second) = (mix(&p, g[0][0], &q, g[0][1]), mix(&p, g[1][0], &q, g[1][1]));
    let mut out = [[Vec3::zeros(); 3]; 4];
    for k in 0..3 {
        let all = [-(first[k] + second[k]), first[k], second[k]].map(Lanes::to_array);
        for l in 0..4 {
            for i in 0..3 {
                out[l][i][k] = all[i][l];
            }
        }
    }
    (energy.to_array(), out)
}

/// A symmetric 2×2 matrix with negative eigenvalues set to zero.
fn positive_part(S: &Matrix2<f64>) -> Matrix2<f64> {
    let (half, middle) = (0.5 * (S[(0, 0)] - S[(1, 1)]), 0.5 * S.trace());
    let radius = (half * half + S[(0, 1)] * S[(0, 1)]).sqrt();
    let (high, low) = (middle + radius, middle - radius);
    if low >= 0.0 {
        return *S;
    }
    if high <= 0.0 {
        return Matrix2::zeros();
    }
    // S = low I + (high − low) a aᵀ, so the part along a is high a aᵀ.
    (S - Matrix2::identity() * low) * (high / (high - low))
}

/// Stiffness of woven cloth, per thread direction.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Weave {
    /// Resistance k to stretching along warp and weft \[N/m\]: Young's modulus times thickness.
    pub stretch: [f64; 2],
    /// Resistance k_s to shearing \[N/m\]: shear modulus times thickness.
    pub shear: f64,
    /// Strain s beyond which the threads stiffen, and their extra stiffness k_l \[N/m\]; `None` for no limit.
    pub limit: Option<(f64, f64)>,
}

/// A triangle of woven cloth.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WovenTriangle {
    flat: Flat,
    weave: Weave,
}

/// Triangles of woven cloth (Baraff and Witkin 1998).
pub type WovenCloth = Elements<WovenTriangle, 3>;

impl WovenCloth {
    /// Triangles resting at the places of `rest` \[m\]; `warp` is the direction of the first threads, laid into each
    /// triangle.
    pub fn cloth(
        rest: &[Vec3],
        triangles: &[[PointId; 3]],
        warp: Vec3,
        weave: Weave,
    ) -> Result<Self, ElementError> {
        for k in weave.stretch {
            ElementError::not_negative("stretch", k)?;
        }
        ElementError::not_negative("shear", weave.shear)?;
        if let Some((strain, stiffness)) = weave.limit {
            ElementError::positive("limit strain", strain)?;
            ElementError::not_negative("limit stiffness", stiffness)?;
        }
        let list: Result<Vec<_>, _> = triangles
            .iter()
            .enumerate()
            .map(|(i, t)| Ok(WovenTriangle { flat: Flat::new(i, rest, *t, Some(warp))?, weave }))
            .collect();
        Ok(Self::new(list?))
    }
}

impl WovenTriangle {
    /// φ, φ', φ'' at the stretch ℓ of thread direction k.
    fn thread(&self, k: usize, length: f64) -> (f64, f64, f64) {
        let (stiffness, strain) = (self.weave.stretch[k], length - 1.0);
        let plain = (0.5 * stiffness * strain * strain, stiffness * strain, stiffness);
        let Some((limit, extra)) = self.weave.limit else { return plain };
        let over = (strain - limit).max(0.0);
        let c = extra / limit;
        (plain.0 + c * over.powi(3) / 3.0, plain.1 + c * over * over, plain.2 + 2.0 * c * over)
    }
}

impl Element<3> for WovenTriangle {
    const KIND: &'static str = "woven_cloth";

    fn points(&self) -> [PointId; 3] {
        self.flat.points
    }

    fn energy(&self, x: &[Vec3; 3]) -> f64 {
        let F = self.flat.deformation(x);
        let threads: f64 = (0..2).map(|k| self.thread(k, F.column(k).norm()).0).sum();
        let shear = F.column(0).dot(&F.column(1));
        self.flat.area * (threads + 0.5 * self.weave.shear * shear * shear)
    }

    fn gradient(&self, x: &[Vec3; 3]) -> [Vec3; 3] {
        let F = self.flat.deformation(x);
        let (u, v): (Vec3, Vec3) = (F.column(0).into(), F.column(1).into());
        let shear = self.weave.shear * u.dot(&v);
        let pull = |k: usize, w: &Vec3| {
            let length = w.norm();
            if length > 0.0 { w * (self.thread(k, length).1 / length) } else { Vec3::zeros() }
        };
        let (du, dv) = (pull(0, &u) + v * shear, pull(1, &v) + u * shear);
        gradient_from_offsets(|i| (du * self.flat.g[i - 1].x + dv * self.flat.g[i - 1].y) * self.flat.area)
    }

    fn hessian(&self, x: &[Vec3; 3], tangent: Tangent) -> Hessian<3> {
        let F = self.flat.deformation(x);
        let w: [Vec3; 2] = [F.column(0).into(), F.column(1).into()];
        let exact = tangent == Tangent::Exact;
        let thread = |k: usize| {
            let length = w[k].norm();
            if length == 0.0 {
                return Mat3::zeros();
            }
            let n = w[k] / length;
            let (_, derivative, curve) = self.thread(k, length);
            let across_pull = if exact { derivative } else { derivative.max(0.0) };
            outer(&n, &n) * curve + across(&n) * (across_pull / length)
        };
        let ks = self.weave.shear;
        // The shear condition's own curvature has both signs: the projection drops it.
        let mixed = Mat3::identity() * if exact { ks * w[0].dot(&w[1]) } else { 0.0 };
        let uu = thread(0) + outer(&w[1], &w[1]) * ks;
        let vv = thread(1) + outer(&w[0], &w[0]) * ks;
        let uv = outer(&w[1], &w[0]) * ks + mixed;
        let g = &self.flat.g;
        from_offsets(|i, j| {
            let (a, b) = (g[i - 1], g[j - 1]);
            (uu * (a.x * b.x) + uv * (a.x * b.y) + uv.transpose() * (a.y * b.x) + vv * (a.y * b.y))
                * self.flat.area
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::forces::{Force, Points};
    use crate::math::triple;

    fn ids(t: [u32; 3]) -> [PointId; 3] {
        t.map(PointId)
    }

    /// An irregular sheet around one inner point (the last), in a tilted plane.
    fn fan() -> (Vec<Vec3>, Vec<[PointId; 3]>, Mat3) {
        let R = crate::math::rotation::matrix(&crate::math::rotation::exp(&Vec3::new(0.7, -0.3, 0.4)));
        let flat = [[0.0, 0.0], [1.2, -0.1], [1.4, 0.9], [0.3, 1.3], [-0.4, 0.6], [0.55, 0.4]];
        let rest = flat.map(|[a, b]| R * Vec3::new(a, b, 0.0)).to_vec();
        (rest, (0..5).map(|i| ids([i, (i + 1) % 5, 5])).collect(), R)
    }

    #[test]
    fn a_constant_strain_leaves_the_inner_point_alone() {
        let (rest, triangles, R) = fan();
        let weave = Weave { stretch: [300.0, 200.0], shear: 80.0, limit: Some((0.05, 1000.0)) };
        let batches: [Box<dyn Force>; 2] = [
            Box::new(Membranes::sheet(&rest, &triangles, 1e5, 0.3, 1e-3).unwrap()),
            Box::new(WovenCloth::cloth(&rest, &triangles, R * Vec3::new(1.0, 0.4, 0.0), weave).unwrap()),
        ];
        for batch in batches {
            let F = Mat3::new(1.1, 0.05, 0.2, 0.02, 0.9, 0.1, 0.3, -0.03, 1.05);
            for (F, loaded) in [(F, true), (R, false)] {
                let x: Vec<f64> = rest.iter().flat_map(|X| (F * X).as_slice().to_vec()).collect();
                let mut f = vec![0.0; x.len()];
                batch.add_force(&Points { time: 0.0, first: 0, x: &x, v: &[], mass: &[] }, &mut f);
                let size = f.iter().fold(0.0, |a: f64, b| a.max(b.abs()));
                assert!(triple(&f, 5).norm() < 1e-12 * size.max(1.0), "{}", batch.kind());
                assert_eq!(size > 1.0, loaded, "{} {size}", batch.kind());
                assert!(loaded || size < 1e-12);
            }
        }
    }

    #[test]
    fn four_triangles_at_once_are_four_triangles() {
        let mut random = crate::math::Random::new(9);
        let (rest, triangles, _) = fan();
        let sheet = Membranes::sheet(&rest, &triangles, 1e5, 0.3, 1e-3).unwrap();
        let mut largest = 0.0f64;
        for _ in 0..50 {
            let mut point = || Vec3::from_fn(|_, _| random.between(-1.0, 1.0));
            let x: [[Vec3; 3]; 4] = std::array::from_fn(|_| [point(), point(), point()]);
            let four: [&Membrane; 4] = std::array::from_fn(|l| &sheet.as_slice()[l]);
            let (energies, gradients) = four_membranes(four, &x);
            for l in 0..4 {
                let (energy, gradient) = four[l].energy_and_gradient(&x[l]);
                assert!((energies[l] - energy).abs() < 1e-13 * (1.0 + energy), "{} {energy}", energies[l]);
                for i in 0..3 {
                    let off = (gradient[i] - gradients[l][i]).norm();
                    assert!(off < 1e-12 * (1.0 + gradient[i].norm()), "{off}");
                    largest = largest.max(gradient[i].norm());
                }
            }
        }
        assert!(largest > 10.0, "{largest}");
    }

    /// What is handed over block by block is the Hessian, for membranes and for hinges.
    #[test]
    fn what_is_handed_over_is_the_hessian() {
        use crate::forces::nary::Hinges;
        let (rest, triangles, R) = fan();
        let batches: [Box<dyn Force>; 2] = [
            Box::new(Membranes::sheet(&rest, &triangles, 1e5, 0.3, 1e-3).unwrap()),
            Box::new(Hinges::sheet(&rest, &triangles, 0.4).unwrap()),
        ];
        let F = Mat3::new(0.8, 0.05, 0.2, 0.02, 1.1, 0.1, 0.3, -0.03, 1.05);
        let bent = |X: &Vec3| F * X + R * Vec3::z() * (X.norm_squared() * 0.2);
        let x: Vec<f64> = rest.iter().flat_map(|X| bent(X).as_slice().to_vec()).collect();
        let points = Points { time: 0.0, first: 0, x: &x, v: &[], mass: &[] };
        for batch in batches {
            for tangent in [Tangent::Exact, Tangent::Projected] {
                let (mut H, mut list) = (vec![Mat3::zeros(); 36], crate::math::Blocks::default());
                batch.each_tangent_block(&points, tangent, &mut |i: usize, j: usize, K: &Mat3| {
                    H[6 * i + j] += K;
                    if i != j {
                        H[6 * j + i] += K.transpose();
                    }
                });
                batch.add_tangent_blocks(&points, tangent, &mut list);
                let mut size = 0.0f64;
                for (i, j, K) in &list.entries {
                    H[(6 * i + j) as usize] -= K;
                    size = size.max(K.norm());
                }
                let off = H.iter().map(|K| K.norm()).fold(0.0, f64::max);
                assert!(off < 1e-13 * size && size > 0.0, "{} {off} of {size}", batch.kind());
            }
        }
    }

    #[test]
    fn a_strip_pulled_with_free_sides_follows_hookes_law() {
        // Small strain ε along x, −ν ε across: stress E ε, no stress across.
        let rest = [Vec3::zeros(), Vec3::x(), Vec3::y()];
        let (E, nu, t, e) = (1e6, 0.3, 2e-3, 1e-6);
        let sheet = Membranes::sheet(&rest, &[ids([0, 1, 2])], E, nu, t).unwrap();
        let x = [Vec3::zeros(), Vec3::x() * (1.0 + e), Vec3::y() * (1.0 - nu * e)];
        let g = sheet.as_slice()[0].gradient(&x);
        // Stress E ε on the shape gradient e_x of corner 1, times area ½ and thickness.
        assert!((g[1] - Vec3::x() * (0.5 * E * e * t)).norm() < 2e-6 * E * e * t, "{}", g[1]);
        assert!(g[2].norm() < 2e-6 * E * e * t);
    }

    #[test]
    fn bad_sheets_are_refused_by_number() {
        let rest = [Vec3::zeros(), Vec3::x(), Vec3::x() * 2.0, Vec3::y()];
        let error = Membranes::sheet(&rest, &[ids([0, 1, 3]), ids([0, 1, 2])], 1.0, 0.3, 1.0).unwrap_err();
        assert!(error.to_string().contains("triangle 1"), "{error}");
        assert!(Membranes::sheet(&rest, &[], 1.0, 0.5, 1.0).is_err());
        assert!(Membranes::sheet(&rest, &[], 1.0, 0.3, 0.0).is_err());
    }
}
