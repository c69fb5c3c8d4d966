//! Sheets that resist bending, by hinges over inner edges: $W = \tfrac12 B\,\frac{|\bar e|^2}{\bar A}(\theta - \theta_0)^2$.
//!
//! $\bar e$ is the rest edge from $x_0$ to $x_1$, $\bar A$ the rest area of its two triangles with tips $x_2$ (left) and $x_3$
//! (right), and B the bending stiffness of a plate, $E t^3/12(1-\nu^2)$ (Grinspun et al. 2003; Tamstorf and Grinspun 2013).
//! With this factor a regular mesh laid on a cylinder stores $\tfrac12 B\kappa^2$ per area, as a plate does (papers often
//! print three times as much); bent both ways, it behaves as a plate with ν about −⅓, whatever ν was put into B.
//!
//! With $e = x_1 - x_0$, $a = x_2 - x_0$, $b = x_3 - x_0$ and normals $N_a = e\times a$, $N_b = b\times e$ the angle
//! $\theta = \mathrm{atan2}((n_a\times n_b)\cdot\hat e,\; n_a\cdot n_b)$ has the gradients
//!
//! $$ \theta_a = -|e|\,N_a/|N_a|^2,\quad \theta_b = -|e|\,N_b/|N_b|^2,\quad
//!    \theta_e = -\frac{a\cdot e}{|e|^2}\,\theta_a - \frac{b\cdot e}{|e|^2}\,\theta_b, $$
//!
//! and differentiating once more gives K, where $\theta_{ab} = 0$. The projected tangent is $k\,\nabla\theta\,\nabla\theta^T$.
//!
//! **Quadratic bending** (Bergou et al. 2006) for sheets that are flat at rest and hardly stretch:
//! $W = \tfrac12\frac{B}{\bar A}\big|\sum_i c_i x_i\big|^2$ with c from cotangents of the rest shape. K is constant. Book: "Cloth".

use std::collections::BTreeMap;

use super::element::{Element, Elements, Hessian, from_offsets, gradient_from_offsets, hand_over_hessian};
use super::material::ElementError;
use super::tet::places;
use crate::forces::{Tangent, TangentSink};
use crate::math::simd::{Lanes, V3, cross, dot};
use crate::math::{Mat3, Vec3, outer, skew};
use crate::state::PointId;

/// A hinge between two triangles.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Hinge {
    /// Edge from x₀ to x₁, tip x₂ on its left, tip x₃ on its right.
    pub points: [PointId; 4],
    /// Stiffness k = B |ē|²/Ā \[N·m/rad\], ≥ 0.
    pub stiffness: f64,
    /// Rest angle θ₀ \[rad\]; 0 is flat, positive if the tips lie below the edge, seen from the normals.
    pub rest_angle: f64,
}

/// Hinges over the inner edges of sheets.
pub type Hinges = Elements<Hinge, 4>;

/// Inner edges of a list of triangles as (edge start, edge end, left tip, right tip), in rising order of the edge. An edge
/// with more than two triangles gets a hinge for each neighbouring pair.
pub fn inner_edges(triangles: &[[PointId; 3]]) -> Vec<[PointId; 4]> {
    let mut sides: BTreeMap<[PointId; 2], Vec<(bool, PointId)>> = BTreeMap::new();
    for t in triangles {
        for k in 0..3 {
            let (a, b, tip) = (t[k], t[(k + 1) % 3], t[(k + 2) % 3]);
            sides.entry(if a < b { [a, b] } else { [b, a] }).or_default().push((a < b, tip));
        }
    }
    let mut list = Vec::new();
    for ([a, b], tips) in sides {
        for pair in tips.windows(2) {
            let (left, right) = if pair[0].0 { (pair[0].1, pair[1].1) } else { (pair[1].1, pair[0].1) };
            list.push([a, b, left, right]);
        }
    }
    list
}

/// B = E t³/12(1 − ν²) \[N·m\] of a plate with Young's modulus E \[Pa\], Poisson's ratio ν and thickness t \[m\].
pub fn plate_stiffness(young: f64, poisson: f64, thickness: f64) -> f64 {
    young * thickness.powi(3) / (12.0 * (1.0 - poisson * poisson))
}

/// |e|², area of both triangles; refuses triangles without area.
fn measure(kind: &'static str, element: usize, x: &[Vec3; 4]) -> Result<(f64, f64), ElementError> {
    let [e, a, b] = [x[1] - x[0], x[2] - x[0], x[3] - x[0]];
    let (left, right) = (0.5 * e.cross(&a).norm(), 0.5 * b.cross(&e).norm());
    let size = e.norm().max(a.norm()).max(b.norm());
    let (value, least) = (left.min(right), 1e-10 * size * size);
    if value > least {
        Ok((e.norm_squared(), left + right))
    } else {
        Err(ElementError::Degenerate { kind, element, measure: "area", value, least })
    }
}

impl Hinges {
    /// A hinge over each inner edge of `triangles`, at rest where `rest` \[m\] is, for the plate stiffness B \[N·m\].
    pub fn sheet(
        rest: &[Vec3],
        triangles: &[[PointId; 3]],
        plate_stiffness: f64,
    ) -> Result<Self, ElementError> {
        ElementError::not_negative("plate stiffness", plate_stiffness)?;
        let mut list = Vec::new();
        for (i, points) in inner_edges(triangles).into_iter().enumerate() {
            let x = places("hinge", i, rest, &points)?;
            let (e2, area) = measure("hinge", i, &x)?;
            let mut hinge = Hinge { points, stiffness: plate_stiffness * e2 / area, rest_angle: 0.0 };
            hinge.rest_angle = Fold::new(&x).map_or(0.0, |fold| fold.theta());
            list.push(hinge);
        }
        Ok(Self::new(list))
    }
}

/// Geometry of a hinge: the letters of the module.
struct Fold {
    e: Vec3,
    a: Vec3,
    b: Vec3,
    /// N_a, N_b.
    N: [Vec3; 2],
}

impl Fold {
    fn new(x: &[Vec3; 4]) -> Option<Self> {
        let [e, a, b] = [x[1] - x[0], x[2] - x[0], x[3] - x[0]];
        let N = [e.cross(&a), b.cross(&e)];
        let good = N[0].norm_squared() > 0.0 && N[1].norm_squared() > 0.0;
        good.then_some(Self { e, a, b, N })
    }

    /// θ.
    fn theta(&self) -> f64 {
        let sine = self.N[0].cross(&self.N[1]).dot(&self.e) / self.e.norm();
        sine.atan2(self.N[0].dot(&self.N[1]))
    }

    /// a·e/|e|² and b·e/|e|².
    fn feet(&self) -> [f64; 2] {
        [self.a, self.b].map(|t| t.dot(&self.e) / self.e.norm_squared())
    }

    /// θ_e, θ_a, θ_b.
    fn gradients(&self) -> [Vec3; 3] {
        let length = self.e.norm();
        let [a, b] = self.N.map(|N| N * (-length / N.norm_squared()));
        let [alpha, beta] = self.feet();
        [-(a * alpha + b * beta), a, b]
    }

    /// Second derivatives over (e, a, b).
    fn curvature(&self) -> [[Mat3; 3]; 3] {
        let length = self.e.norm();
        let [_, gradient_a, gradient_b] = self.gradients();
        let mut H = [[Mat3::zeros(); 3]; 3];
        let feet = self.feet();
        for (k, tip, gradient, sign) in [(0, self.a, gradient_a, 1.0), (1, self.b, gradient_b, -1.0)] {
            let N = self.N[k];
            let n = N.normalize();
            // d(gradient) = M dN − n̂-part of d|e|, with dN = sign (e × d tip + de × tip)
            let M = (Mat3::identity() - outer(&n, &n) * 2.0) * (-length / N.norm_squared() * sign);
            let by_tip = M * skew(&self.e);
            let by_edge = gradient * (self.e / (length * length)).transpose() - M * skew(&tip);
            let foot_gradient = (tip - self.e * (2.0 * feet[k])) / (length * length);
            H[k + 1][k + 1] = (by_tip + by_tip.transpose()) * 0.5;
            H[k + 1][0] = by_edge;
            H[0][k + 1] = by_edge.transpose();
            H[0][0] -= outer(&gradient, &foot_gradient) + by_edge * feet[k];
        }
        H[0][0] = (H[0][0] + H[0][0].transpose()) * 0.5;
        H
    }
}

/// An angle between −π and π.
fn wrapped(angle: f64) -> f64 {
    let turn = std::f64::consts::TAU;
    angle - turn * (angle / turn).round()
}

impl Element<4> for Hinge {
    const KIND: &'static str = "hinges";

    fn points(&self) -> [PointId; 4] {
        self.points
    }

    fn energy(&self, x: &[Vec3; 4]) -> f64 {
        Fold::new(x).map_or(0.0, |f| 0.5 * self.stiffness * wrapped(f.theta() - self.rest_angle).powi(2))
    }

    fn gradient(&self, x: &[Vec3; 4]) -> [Vec3; 4] {
        self.energy_and_gradient(x).1
    }

    fn energy_and_gradient(&self, x: &[Vec3; 4]) -> (f64, [Vec3; 4]) {
        let Some(fold) = Fold::new(x) else { return (0.0, [Vec3::zeros(); 4]) };
        let angle = wrapped(fold.theta() - self.rest_angle);
        let (moment, gradients) = (self.stiffness * angle, fold.gradients());
        (0.5 * self.stiffness * angle.powi(2), gradient_from_offsets(|i| gradients[i - 1] * moment))
    }

    fn energies_and_gradients(hinges: [&Self; 4], x: &[[Vec3; 4]; 4]) -> ([f64; 4], [[Vec3; 4]; 4]) {
        four_hinges(hinges, x)
    }

    fn hessian(&self, x: &[Vec3; 4], tangent: Tangent) -> Hessian<4> {
        let Some(fold) = Fold::new(x) else { return [[Mat3::zeros(); 4]; 4] };
        let s = fold.gradients();
        if tangent == Tangent::Projected {
            let g = angle_gradients(&s);
            let kg = g.map(|g| g * self.stiffness);
            return std::array::from_fn(|i| std::array::from_fn(|j| outer(&g[i], &kg[j])));
        }
        let moment = self.stiffness * wrapped(fold.theta() - self.rest_angle);
        let H = fold.curvature();
        from_offsets(|i, j| outer(&s[i - 1], &s[j - 1]) * self.stiffness + H[i - 1][j - 1] * moment)
    }

    fn hand_over(&self, x: &[Vec3; 4], tangent: Tangent, sink: &mut dyn TangentSink) {
        match Fold::new(x).filter(|_| tangent == Tangent::Projected) {
            Some(fold) => sink.rank_one(self.points, self.stiffness, &angle_gradients(&fold.gradients())),
            None => hand_over_hessian(self.points, &self.hessian(x, tangent), sink),
        }
    }
}

/// Energy and gradient of four hinges, one per lane; the letters are those of [`Fold`].
fn four_hinges(hinges: [&Hinge; 4], x: &[[Vec3; 4]; 4]) -> ([f64; 4], [[Vec3; 4]; 4]) {
    let lanes = |f: &dyn Fn(usize) -> f64| Lanes::new(std::array::from_fn(f));
    let times = |a: &V3, s: Lanes| -> V3 { a.map(|a| a * s) };
    let offset = |i: usize| -> V3 {
        std::array::from_fn(|k| {
            Lanes::new([
                x[0][i][k] - x[0][0][k],
                x[1][i][k] - x[1][0][k],
                x[2][i][k] - x[2][0][k],
                x[3][i][k] - x[3][0][k],
            ])
        })
    };
    let (e, a, b) = (offset(1), offset(2), offset(3));
    let (Na, Nb) = (cross(&e, &a), cross(&b, &e));
    let (na2, nb2, e2) = (dot(&Na, &Na), dot(&Nb, &Nb), dot(&e, &e));
    // A triangle without area has no angle: no energy, no force.
    let good = na2.simd_gt(Lanes::ZERO) & nb2.simd_gt(Lanes::ZERO);
    let or_one = |a: Lanes| good.select(a, Lanes::ONE);
    let (na2, nb2, e2) = (or_one(na2), or_one(nb2), or_one(e2));
    let length = e2.sqrt();
    let theta = (dot(&cross(&Na, &Nb), &e) / length).atan2(dot(&Na, &Nb));
    let turn = Lanes::splat(std::f64::consts::TAU);
    let angle = theta - lanes(&|l| hinges[l].rest_angle);
    let angle = good.select(angle - turn * (angle / turn).round(), Lanes::ZERO);
    let moment = lanes(&|l| hinges[l].stiffness) * angle;
    let (ga, gb) = (times(&Na, -moment * length / na2), times(&Nb, -moment * length / nb2));
    let (alpha, beta) = (dot(&a, &e) / e2, dot(&b, &e) / e2);
    let energy = Lanes::HALF * moment * angle;
    let mut out = [[Vec3::zeros(); 4]; 4];
    for k in 0..3 {
        let ge = -(ga[k] * alpha + gb[k] * beta);
        let all = [-(ge + ga[k] + gb[k]), ge, ga[k], gb[k]].map(Lanes::to_array);
        for l in 0..4 {
            for i in 0..4 {
                out[l][i][k] = all[i][l];
            }
        }
    }
    (energy.to_array(), out)
}

/// ∇θ over the four points, from that over (e, a, b).
fn angle_gradients(s: &[Vec3; 3]) -> [Vec3; 4] {
    [-(s[0] + s[1] + s[2]), s[0], s[1], s[2]]
}

/// A hinge whose energy is quadratic in the positions.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct QuadraticHinge {
    /// Edge from x₀ to x₁, tips x₂ and x₃.
    pub points: [PointId; 4],
    /// B/Ā \[N/m\], ≥ 0.
    pub stiffness: f64,
    /// c₀ … c₃; they sum to zero.
    pub weights: [f64; 4],
}

/// Hinges of quadratic energy, for sheets that are flat at rest.
pub type QuadraticHinges = Elements<QuadraticHinge, 4>;

impl QuadraticHinges {
    /// A hinge over each inner edge of `triangles`, whose rest shape \[m\] is taken as flat, for the plate stiffness
    /// B \[N·m\].
    pub fn sheet(
        rest: &[Vec3],
        triangles: &[[PointId; 3]],
        plate_stiffness: f64,
    ) -> Result<Self, ElementError> {
        ElementError::not_negative("plate stiffness", plate_stiffness)?;
        let mut list = Vec::new();
        for (i, points) in inner_edges(triangles).into_iter().enumerate() {
            let x = places("hinge", i, rest, &points)?;
            let (_, area) = measure("hinge", i, &x)?;
            let cotangent = |at: Vec3, u: Vec3, v: Vec3| {
                let (u, v) = (u - at, v - at);
                u.dot(&v) / u.cross(&v).norm()
            };
            // Angles at x₀ and x₁ in the triangles of tips x₂ and x₃.
            let (p2, p3) = (cotangent(x[0], x[1], x[2]), cotangent(x[0], x[1], x[3]));
            let (q2, q3) = (cotangent(x[1], x[0], x[2]), cotangent(x[1], x[0], x[3]));
            let weights = [q2 + q3, p2 + p3, -(p2 + q2), -(p3 + q3)];
            list.push(QuadraticHinge { points, stiffness: plate_stiffness / area, weights });
        }
        Ok(Self::new(list))
    }
}

impl QuadraticHinge {
    /// Σ c_i (x_i − x₀).
    fn sum(&self, x: &[Vec3; 4]) -> Vec3 {
        (1..4).map(|i| (x[i] - x[0]) * self.weights[i]).sum()
    }
}

impl Element<4> for QuadraticHinge {
    const KIND: &'static str = "quadratic_hinges";

    fn points(&self) -> [PointId; 4] {
        self.points
    }

    fn energy(&self, x: &[Vec3; 4]) -> f64 {
        0.5 * self.stiffness * self.sum(x).norm_squared()
    }

    fn gradient(&self, x: &[Vec3; 4]) -> [Vec3; 4] {
        let pull = self.sum(x) * self.stiffness;
        gradient_from_offsets(|i| pull * self.weights[i])
    }

    fn hessian(&self, _x: &[Vec3; 4], _tangent: Tangent) -> Hessian<4> {
        from_offsets(|i, j| Mat3::identity() * (self.stiffness * self.weights[i] * self.weights[j]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::forces::{Force, Points};

    /// A strip of `n` × `m` squares of side `h`, cut along alternating diagonals.
    fn strip(n: usize, m: usize, h: f64) -> (Vec<Vec3>, Vec<[PointId; 3]>) {
        let mut rest = Vec::new();
        for i in 0..=n {
            for j in 0..=m {
                rest.push(Vec3::new(i as f64 * h, j as f64 * h, 0.0));
            }
        }
        let at = |i: usize, j: usize| PointId((i * (m + 1) + j) as u32);
        let mut triangles = Vec::new();
        for i in 0..n {
            for j in 0..m {
                let [a, b, c, d] = [at(i, j), at(i + 1, j), at(i + 1, j + 1), at(i, j + 1)];
                triangles.extend(if (i + j) % 2 == 0 {
                    [[a, b, c], [a, c, d]]
                } else {
                    [[a, b, d], [b, c, d]]
                });
            }
        }
        (rest, triangles)
    }

    fn energy(force: &dyn Force, x: &[Vec3]) -> f64 {
        let x: Vec<f64> = x.iter().flat_map(|x| x.as_slice().to_vec()).collect();
        force.energy(&Points { time: 0.0, first: 0, x: &x, v: &[], mass: &[] })
    }

    /// Four at once are the four one by one: folded by any angle, with and without area.
    #[test]
    fn four_hinges_are_four_times_one() {
        let mut random = crate::math::Random::new(4);
        let mut largest = 0.0f64;
        for round in 0..200 {
            let mut x = [[Vec3::zeros(); 4]; 4];
            x.iter_mut().flatten().for_each(|x| *x = Vec3::from_fn(|_, _| random.between(-1.0, 1.0)));
            if round % 4 == 0 {
                x[1][2] = x[1][0];
                x[2][1] = x[2][0];
                x[3] = [Vec3::zeros(), Vec3::x(), Vec3::y(), -Vec3::y()];
            }
            let hinges: [Hinge; 4] = std::array::from_fn(|l| Hinge {
                points: [0, 1, 2, 3].map(PointId),
                stiffness: 2.0,
                rest_angle: random.between(-3.0, 3.0) * l as f64 / 3.0,
            });
            let (energies, gradients) = four_hinges(std::array::from_fn(|l| &hinges[l]), &x);
            for l in 0..4 {
                let (energy, gradient) = hinges[l].energy_and_gradient(&x[l]);
                assert!((energies[l] - energy).abs() < 1e-13 * (1.0 + energy), "{} {energy}", energies[l]);
                for i in 0..4 {
                    let (one, four) = (gradient[i], gradients[l][i]);
                    assert!((one - four).norm() < 1e-12 * (1.0 + one.norm()), "{one} {four}");
                    largest = largest.max(one.norm());
                }
            }
        }
        assert!(largest > 10.0);
    }

    #[test]
    fn a_hinge_reads_its_fold() {
        // Both tips folded down by half the angle each.
        for angle in [-2.5f64, -0.3, 0.0, 1e-9, 0.7, 3.0] {
            let (s, c) = (0.5 * angle).sin_cos();
            let x = [Vec3::zeros(), Vec3::x(), Vec3::new(0.3, c, -s), Vec3::new(0.6, -c, -s)];
            let fold = Fold::new(&x).unwrap();
            assert!((fold.theta() - angle).abs() < 1e-14, "{angle}: {}", fold.theta());
        }
    }

    #[test]
    fn a_bent_strip_stores_half_b_kappa_squared_per_area() {
        // Laid on a cylinder of radius r: W = ½ B κ² A, up to the shape of the mesh and the missing hinges of the rim.
        let (B, r) = (0.7, 5.0);
        let (n, m, h) = (80, 40, 0.02);
        let (rest, triangles) = strip(n, m, h);
        let bent: Vec<Vec3> =
            rest.iter().map(|X| Vec3::new(r * (X.x / r).sin(), X.y, r * (1.0 - (X.x / r).cos()))).collect();
        let area = (n * m) as f64 * h * h;
        let wanted = 0.5 * B / (r * r) * area;
        let exact = energy(&Hinges::sheet(&rest, &triangles, B).unwrap(), &bent);
        let quadratic = energy(&QuadraticHinges::sheet(&rest, &triangles, B).unwrap(), &bent);
        assert!((exact / quadratic - 1.0).abs() < 1e-4, "{exact} {quadratic}");
        // One row of 80 folds is missing at the rim.
        assert!((exact / wanted / (79.0 / 80.0) - 1.0).abs() < 1e-3, "{}", exact / wanted);
    }

    #[test]
    fn a_curved_rest_shape_is_at_rest() {
        let (flat, triangles) = strip(4, 3, 0.1);
        let rest: Vec<Vec3> = flat.iter().map(|x| Vec3::new(x.x, x.y, (5.0 * x.x).sin() * x.y)).collect();
        assert!(energy(&Hinges::sheet(&rest, &triangles, 1.0).unwrap(), &rest) < 1e-28);
        assert!(energy(&QuadraticHinges::sheet(&flat, &triangles, 1.0).unwrap(), &flat) < 1e-28);
        // Inner edges of a 4 × 3 strip: edges − rim = (4·4 + 5·3 + 12) − 14.
        assert_eq!(inner_edges(&triangles).len(), 29);
    }
}
