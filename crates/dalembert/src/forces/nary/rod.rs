//! Thin rods along chains of points: stretch, bend and twist (discrete elastic rods, Bergou et al. 2008).
//!
//! **Stretch** is a [`Spring`] of stiffness EA/ℓ per edge.
//!
//! **Bend** without directions ([`RodBend`]): with φ the angle between neighbouring edges and $\bar\ell$ half their summed rest
//! lengths, $W = \tfrac12 (EI/\bar\ell)\,\varphi^2$, or with $|\kappa b| = 2\tan(\varphi/2)$ in place of φ, which never folds
//! flat. The first gives a moment EI κ exactly on any polygon inscribed in a circle. As a function of $c = \cos\varphi$,
//! $W' \to$ derivatives in closed form, smooth at φ = 0.
//!
//! **Bend and twist with directions** ([`RodJoint`]): each edge has a *marker*, an extra point beside it, whose part across the
//! edge is the material direction m. Markers are points like any other, held by two springs each, so nothing needs to be
//! remembered between steps. Across the middle point, with tangents $t_0, t_1$, $c = t_0\cdot t_1$ and
//! $\kappa b = 2 t_0\times t_1/(1 + c)$,
//!
//! $$ \kappa_1 = \tfrac12(n_0 + n_1)\cdot\kappa b,\quad \kappa_2 = -\tfrac12(m_0 + m_1)\cdot\kappa b,\quad
//!    n = t\times m, $$
//! $$ \psi = \mathrm{atan2}\big(n_0'\cdot m_1,\; m_0'\cdot m_1\big),\quad
//!    a' = a - \tfrac{a\cdot t_1}{1 + c}(t_0 + t_1), $$
//!
//! where $a'$ is a carried from $t_0$ to $t_1$ without twist. The energy is
//! $\tfrac1{2\bar\ell}[EI_1(\kappa_1 - \kappa_1^0)^2 + EI_2(\kappa_2 - \kappa_2^0)^2 + GJ(\psi - \psi^0)^2]$, its derivatives
//! come from [`Hyper`] numbers, and the projected tangent keeps $k\,\nabla c\nabla c^T$ of each square. Book: "Rods".

use super::element::{Element, Elements, Hessian, from_offsets, gradient_from_offsets};
use super::material::ElementError;
use super::spring::{Spring, Springs};
use super::tet::places;
use crate::forces::{Blocks, Force, Points, Tangent};
use crate::math::{Hyper, Mat3, Scalar, Vec3, across, add_triple, outer, triple};
use crate::state::PointId;

/// Springs of stiffness EA/ℓ along a chain of points, with damping c along each \[N·s/m\].
pub fn rod_stretch(rest: &[Vec3], chain: &[PointId], EA: f64, damping: f64) -> Result<Springs, ElementError> {
    ElementError::not_negative("EA", EA)?;
    ElementError::not_negative("damping", damping)?;
    let mut springs = Vec::new();
    for (element, pair) in chain.windows(2).enumerate() {
        let ends = [pair[0], pair[1]];
        let length = edge_length(element, rest, ends)?;
        springs.push(Spring { ends, stiffness: EA / length, rest_length: length, damping });
    }
    Ok(Springs::new(springs))
}

fn edge_length(element: usize, rest: &[Vec3], ends: [PointId; 2]) -> Result<f64, ElementError> {
    let kind = "rod edge";
    let [a, b] = places(kind, element, rest, &ends)?;
    let value = (b - a).norm();
    let least = 1e-12 * a.norm().max(b.norm());
    if value > least {
        Ok(value)
    } else {
        Err(ElementError::Degenerate { kind, element, measure: "length", value, least })
    }
}

/// What a bend is measured by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum BendLaw {
    /// The angle φ.
    #[default]
    Angle,
    /// 2 tan(φ/2).
    Tangent,
}

/// Bending at the middle of three points of a rod that is straight at rest and bends alike in all directions.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RodBend {
    /// Three neighbours along the rod.
    pub points: [PointId; 3],
    /// EI/ℓ̄ \[N·m/rad\], ≥ 0.
    pub stiffness: f64,
    /// What the bend is measured by.
    pub law: BendLaw,
}

/// Bending of straight rods.
pub type RodBends = Elements<RodBend, 3>;

impl RodBends {
    /// A bend at each inner point of a chain, for the bending stiffness EI \[N·m²\].
    pub fn chain(rest: &[Vec3], chain: &[PointId], EI: f64, law: BendLaw) -> Result<Self, ElementError> {
        ElementError::not_negative("EI", EI)?;
        let mut list = Vec::new();
        for (i, t) in chain.windows(3).enumerate() {
            let mean = 0.5 * (edge_length(i, rest, [t[0], t[1]])? + edge_length(i + 1, rest, [t[1], t[2]])?);
            list.push(RodBend { points: [t[0], t[1], t[2]], stiffness: EI / mean, law });
        }
        Ok(Self::new(list))
    }
}

impl RodBend {
    /// Unit tangents, lengths and cos φ.
    fn edges(x: &[Vec3; 3]) -> Option<([Vec3; 2], [f64; 2], f64)> {
        let (e, f) = (x[1] - x[0], x[2] - x[1]);
        let (a, b) = (e.norm(), f.norm());
        (a > 0.0 && b > 0.0).then(|| ([e / a, f / b], [a, b], e.dot(&f) / (a * b)))
    }

    /// W, W'(c), W''(c).
    fn profile(&self, t: &[Vec3; 2], c: f64) -> (f64, f64, f64) {
        let k = self.stiffness;
        match self.law {
            BendLaw::Tangent => {
                // |κb|² = 4 sin²/(1 + c)²: no cancellation near straight.
                let s = 1.0 / (1.0 + c).max(1e-12);
                (2.0 * k * t[0].cross(&t[1]).norm_squared() * s * s, -4.0 * k * s * s, 8.0 * k * s.powi(3))
            }
            BendLaw::Angle => {
                let sine = t[0].cross(&t[1]).norm();
                let phi = sine.atan2(c);
                let (first, second) = if phi < 1e-3 {
                    let q = phi * phi;
                    (1.0 + q / 6.0 + 7.0 * q * q / 360.0, 1.0 / 3.0 + 2.0 * q / 15.0)
                } else {
                    let sine = sine.max(1e-9); // folded flat there is no direction
                    (phi / sine, (1.0 - phi * c / sine) / (sine * sine))
                };
                (0.5 * k * phi * phi, -k * first, k * second)
            }
        }
    }
}

impl Element<3> for RodBend {
    const KIND: &'static str = "rod_bends";

    fn points(&self) -> [PointId; 3] {
        self.points
    }

    fn energy(&self, x: &[Vec3; 3]) -> f64 {
        Self::edges(x).map_or(0.0, |(t, _, c)| self.profile(&t, c).0)
    }

    fn gradient(&self, x: &[Vec3; 3]) -> [Vec3; 3] {
        let Some((t, l, c)) = Self::edges(x) else { return [Vec3::zeros(); 3] };
        let derivative = self.profile(&t, c).1;
        let (e, f) = ((t[1] - t[0] * c) * (derivative / l[0]), (t[0] - t[1] * c) * (derivative / l[1]));
        [-e, e - f, f]
    }

    fn hessian(&self, x: &[Vec3; 3], tangent: Tangent) -> Hessian<3> {
        let Some((t, l, c)) = Self::edges(x) else { return [[Mat3::zeros(); 3]; 3] };
        let (_, derivative, curve) = self.profile(&t, c);
        let (ge, gf) = ((t[1] - t[0] * c) / l[0], (t[0] - t[1] * c) / l[1]);
        let (ee, ef, ff) = if tangent == Tangent::Exact {
            let own = |a: &Vec3, b: &Vec3, l: f64| {
                (outer(a, a) * (3.0 * c) - outer(a, b) - outer(b, a) - Mat3::identity() * c) / (l * l)
            };
            (
                outer(&ge, &ge) * curve + own(&t[0], &t[1], l[0]) * derivative,
                outer(&ge, &gf) * curve + across(&t[0]) * across(&t[1]) * (derivative / (l[0] * l[1])),
                outer(&gf, &gf) * curve + own(&t[1], &t[0], l[1]) * derivative,
            )
        } else {
            // The turning of t₁ − t₀ across the rod: −W'·|δt₁ − δt₀|², positive and exact when straight, and the part in
            // the plane of the bend as ½ k φ² has it.
            let (P, Q) = (across(&t[0]) / l[0], across(&t[1]) / l[1]);
            let k = -derivative;
            (P * P * k, -(P * Q) * k, Q * Q * k)
        };
        let fe = ef.transpose();
        let mut H = [[Mat3::zeros(); 3]; 3];
        H[0] = [ee, ef - ee, -ef];
        H[1] = [fe - ee, ee - ef - fe + ff, ef - ff];
        H[2] = [-fe, fe - ff, ff];
        H
    }
}

/// Bend about two axes and twist across one point of a rod, whose edges carry markers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RodJoint {
    /// Middle, previous and next point of the rod, markers of the previous and the next edge.
    pub points: [PointId; 5],
    /// EI₁/ℓ̄, EI₂/ℓ̄, GJ/ℓ̄ \[N·m/rad\], ≥ 0. The first resists bending about m × t, in the plane of the marker.
    pub stiffness: [f64; 3],
    /// κ₁, κ₂, ψ at rest \[rad\].
    pub rest: [f64; 3],
}

/// Bend and twist of rods with markers.
pub type RodJoints = Elements<RodJoint, 5>;

impl RodJoints {
    /// A joint at each inner point of a chain, at rest where `rest` \[m\] is, for bending stiffnesses EI₁, EI₂ and torsional
    /// stiffness GJ \[N·m²\]. Marker k belongs to the edge from point k to point k + 1.
    pub fn chain(
        rest: &[Vec3],
        chain: &[PointId],
        markers: &[PointId],
        EI: [f64; 2],
        GJ: f64,
    ) -> Result<Self, ElementError> {
        ElementError::not_negative("EI", EI[0].min(EI[1]))?;
        ElementError::not_negative("GJ", GJ)?;
        let mut list = Vec::new();
        for (i, (t, m)) in chain.windows(3).zip(markers.windows(2)).enumerate() {
            let mean = 0.5 * (edge_length(i, rest, [t[0], t[1]])? + edge_length(i + 1, rest, [t[1], t[2]])?);
            let points = [t[1], t[0], t[2], m[0], m[1]];
            let x = places("rod joint", i, rest, &points)?;
            let stiffness = [EI[0], EI[1], GJ].map(|k| k / mean);
            list.push(RodJoint { points, stiffness, rest: strains(&lines(&x)) });
        }
        Ok(Self::new(list))
    }
}

/// Springs that hold the marker of each edge of a chain at its rest place: two per marker, to both ends of the edge, of
/// stiffness k \[N/m\].
pub fn rod_markers(
    rest: &[Vec3],
    chain: &[PointId],
    markers: &[PointId],
    stiffness: f64,
) -> Result<Springs, ElementError> {
    ElementError::positive("stiffness", stiffness)?;
    let mut springs = Vec::new();
    for (i, (ends, marker)) in chain.windows(2).zip(markers).enumerate() {
        for end in [ends[0], ends[1]] {
            let rest_length = edge_length(i, rest, [end, *marker])?;
            springs.push(Spring { ends: [end, *marker], stiffness, rest_length, damping: 0.0 });
        }
    }
    Ok(Springs::new(springs))
}

type Three<S> = [S; 3];

fn dot3<S: Scalar>(a: &Three<S>, b: &Three<S>) -> S {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

fn cross3<S: Scalar>(a: &Three<S>, b: &Three<S>) -> Three<S> {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

/// a + s b.
fn plus3<S: Scalar>(a: &Three<S>, s: S, b: &Three<S>) -> Three<S> {
    [a[0] + s * b[0], a[1] + s * b[1], a[2] + s * b[2]]
}

fn unit3<S: Scalar>(a: &Three<S>) -> Three<S> {
    let s = S::from(1.0) / dot3(a, a).sqrt();
    a.map(|a| a * s)
}

/// Offsets from the middle point as plain numbers.
fn lines(x: &[Vec3; 5]) -> [Three<f64>; 4] {
    std::array::from_fn(|i| (x[i + 1] - x[0]).into())
}

/// Offsets from the middle point as twelve variables.
fn variables(x: &[Vec3; 5]) -> [Three<Hyper<12>>; 4] {
    std::array::from_fn(|i| std::array::from_fn(|c| Hyper::variable(x[i + 1][c] - x[0][c], 3 * i + c)))
}

/// κ₁, κ₂, ψ from the offsets of previous point, next point and both markers from the middle point.
fn strains<S: Scalar>([previous, next, marker_0, marker_1]: &[Three<S>; 4]) -> [S; 3] {
    let (t0, t1) = (unit3(&previous.map(|a| -a)), unit3(next));
    let lay = |d: &Three<S>, t: &Three<S>| unit3(&plus3(d, -dot3(d, t), t));
    let (m0, m1) = (lay(marker_0, &t0), lay(marker_1, &t1));
    let (n0, n1) = (cross3(&t0, &m0), cross3(&t1, &m1));
    let over = S::from(1.0) / (dot3(&t0, &t1) + 1.0);
    let kb = cross3(&t0, &t1).map(|a| a * over * 2.0);
    let half = S::from(0.5);
    let one = S::from(1.0);
    let bend_1 = half * dot3(&plus3(&n0, one, &n1), &kb);
    let bend_2 = -(half * dot3(&plus3(&m0, one, &m1), &kb));
    // m₁ is across t₁, so (t₀ + t₁)·m₁ = t₀·m₁.
    let tilt = dot3(&t0, &m1) * over;
    let carried = |a: &Three<S>| dot3(a, &m1) - dot3(a, &t1) * tilt;
    [bend_1, bend_2, carried(&n0).atan2(carried(&m0))]
}

impl RodJoint {
    /// How far each strain is from rest, the twist by the short way.
    fn excess(&self, strains: [f64; 3]) -> [f64; 3] {
        let mut d: [f64; 3] = std::array::from_fn(|k| strains[k] - self.rest[k]);
        d[2] -= std::f64::consts::TAU * (d[2] / std::f64::consts::TAU).round();
        d
    }
}

impl Element<5> for RodJoint {
    const KIND: &'static str = "rod_joints";

    fn points(&self) -> [PointId; 5] {
        self.points
    }

    fn energy(&self, x: &[Vec3; 5]) -> f64 {
        let d = self.excess(strains(&lines(x)));
        0.5 * (0..3).map(|k| self.stiffness[k] * d[k] * d[k]).sum::<f64>()
    }

    fn gradient(&self, x: &[Vec3; 5]) -> [Vec3; 5] {
        let s = strains(&variables(x));
        let d = self.excess(s.map(|s| s.value));
        gradient_from_offsets(|i| {
            Vec3::from_fn(|c, _| {
                (0..3).map(|k| self.stiffness[k] * d[k] * s[k].gradient[3 * (i - 1) + c]).sum()
            })
        })
    }

    fn hessian(&self, x: &[Vec3; 5], tangent: Tangent) -> Hessian<5> {
        let s = strains(&variables(x));
        let d = self.excess(s.map(|s| s.value));
        from_offsets(|i, j| {
            Mat3::from_fn(|r, c| {
                let (a, b) = (3 * (i - 1) + r, 3 * (j - 1) + c);
                (0..3)
                    .map(|k| {
                        let curve = if tangent == Tangent::Exact {
                            d[k] * s[k].hessian[a.max(b)][a.min(b)]
                        } else {
                            0.0
                        };
                        self.stiffness[k] * (s[k].gradient[a] * s[k].gradient[b] + curve)
                    })
                    .sum()
            })
        })
    }
}

/// A moment on the last edge of a chain, turning it in a plane: $W = -M\,\alpha$.
///
/// α is the angle of the first edge from a fixed axis plus all turns from edge to edge, so it counts whole turns without
/// remembering anything, as long as no single turn reaches half a circle. The force acts on the last two points alone:
/// with e the last edge, laid into the plane of the unit normal k, $\partial\alpha/\partial e = k\times e/|e|^2$.
#[derive(Debug, Clone, PartialEq)]
pub struct EdgeMoment {
    /// The chain, two points or more; its last edge is turned.
    pub chain: Vec<PointId>,
    /// Unit normal k of the plane; the moment turns counterclockwise about it.
    pub normal: Vec3,
    /// Direction of α = 0 for the first edge, in the plane.
    pub axis: Vec3,
    /// Moment M \[N·m\].
    pub moment: f64,
}

impl EdgeMoment {
    fn ends(&self) -> [usize; 2] {
        let n = self.chain.len();
        [self.chain[n - 2].index(), self.chain[n - 1].index()]
    }

    /// The last edge, laid into the plane.
    fn edge(&self, x: &[f64]) -> Vec3 {
        let [a, b] = self.ends();
        across(&self.normal) * (triple(x, b) - triple(x, a))
    }

    /// ∂²W/∂e².
    fn block(&self, x: &[f64], tangent: Tangent) -> Mat3 {
        let e = self.edge(x);
        let r2 = e.norm_squared();
        if r2 == 0.0 {
            return Mat3::zeros();
        }
        let v = self.normal.cross(&e);
        // ∂²α/∂e² = −(e vᵀ + v eᵀ)/r⁴, with eigenvalues ±1/r² in the plane
        let K = (outer(&e, &v) + outer(&v, &e)) * (self.moment / (r2 * r2));
        match tangent {
            Tangent::Exact => K,
            Tangent::Projected => (K + across(&self.normal) * (self.moment.abs() / r2)) * 0.5,
        }
    }
}

impl Force for EdgeMoment {
    fn kind(&self) -> &'static str {
        "edge_moment"
    }

    fn energy(&self, p: &Points) -> f64 {
        let angle =
            |a: &Vec3, b: &Vec3| self.normal.dot(&a.cross(b)).atan2((across(&self.normal) * a).dot(b));
        let mut last = self.axis;
        let mut total = 0.0;
        for pair in self.chain.windows(2) {
            let e = p.position(pair[1].index()) - p.position(pair[0].index());
            total += angle(&last, &e);
            last = e;
        }
        -self.moment * total
    }

    fn add_force(&self, p: &Points, f: &mut [f64]) {
        let [a, b] = self.ends();
        let e = self.edge(p.x);
        let r2 = e.norm_squared();
        if r2 > 0.0 {
            let push = self.normal.cross(&e) * (self.moment / r2);
            add_triple(f, b, &push);
            add_triple(f, a, &-push);
        }
    }

    fn add_stiffness_times(&self, p: &Points, dx: &[f64], df: &mut [f64]) {
        self.linear_times(&self.block(p.x, Tangent::Exact), dx, df);
    }

    fn add_stiffness_blocks(&self, p: &Points, out: &mut Blocks) {
        self.add_tangent_blocks(p, Tangent::Exact, out);
    }

    fn linearize(&self, p: &Points, tangent: Tangent, cache: &mut Vec<f64>) {
        cache.clear();
        cache.extend_from_slice(self.block(p.x, tangent).as_slice());
    }

    fn add_tangent_times(&self, _p: &Points, cache: &[f64], dx: &[f64], df: &mut [f64]) {
        self.linear_times(&Mat3::from_column_slice(cache), dx, df);
    }

    fn add_tangent_blocks(&self, p: &Points, tangent: Tangent, out: &mut Blocks) {
        let [a, b] = self.ends();
        out.add_pair(a, b, self.block(p.x, tangent));
    }

    fn has_projection(&self) -> bool {
        true
    }
}

impl EdgeMoment {
    fn linear_times(&self, block: &Mat3, dx: &[f64], df: &mut [f64]) {
        let [a, b] = self.ends();
        let change = block * (triple(dx, b) - triple(dx, a));
        add_triple(df, b, &change);
        add_triple(df, a, &-change);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check;

    fn flat(x: &[Vec3]) -> Vec<f64> {
        x.iter().flat_map(|x| x.as_slice().to_vec()).collect()
    }

    fn chain(n: u32) -> Vec<PointId> {
        (0..n).map(PointId).collect()
    }

    /// A chain of `n` edges with total turn `angle` in the plane z = 0, then its markers: across the edge, in the plane
    /// of the bend or out of it, turned by `twist` from one edge to the next.
    fn arc(n: usize, edge: f64, angle: f64, tilt: f64, twist: f64) -> Vec<Vec3> {
        let mut x = vec![Vec3::zeros()];
        let mut markers = Vec::new();
        for k in 0..n {
            let (s, c) = (angle * k as f64 / n as f64).sin_cos();
            let t = Vec3::new(c, s, 0.0);
            let (ms, mc) = (tilt + twist * k as f64).sin_cos();
            markers
                .push(x[k] + t * (0.5 * edge) + (Vec3::new(-s, c, 0.0) * mc + Vec3::z() * ms) * (0.3 * edge));
            x.push(x[k] + t * edge);
        }
        x.extend(markers);
        x
    }

    #[test]
    fn an_end_moment_of_two_pi_ei_over_length_holds_a_closed_circle() {
        // shared/cases/beam_rollup_moment.json (Simo and Vu-Quoc 1986): L = 1, EI = 1, M = 2π: the tip comes back to the
        // clamp. With 20 edges the polygon is closed and in balance, but for the first edge, which is held.
        let n = 20;
        let (straight, round) = (arc(n, 0.05, 0.0, 0.0, 0.0), arc(n, 0.05, std::f64::consts::TAU, 0.0, 0.0));
        assert!((round[n] - round[0]).norm() < 1e-15);
        let chain = chain(n as u32 + 1);
        let bends = RodBends::chain(&straight, &chain, 1.0, BendLaw::Angle).unwrap();
        let moment = std::f64::consts::TAU;
        let load = EdgeMoment { chain, normal: Vec3::z(), axis: Vec3::x(), moment };
        let x = flat(&round);
        let p = Points { time: 0.0, first: 0, x: &x, v: &[], mass: &[] };
        let mut f = vec![0.0; x.len()];
        bends.add_force(&p, &mut f);
        load.add_force(&p, &mut f);
        let size = moment / 0.05;
        for i in 2..=n {
            assert!(triple(&f, i).norm() < 1e-12 * size, "point {i}: {}", triple(&f, i));
        }
        // Whole turns are counted: the last edge has turned 19/20 of a circle.
        assert!((load.energy(&p) + moment * moment * 0.95).abs() < 1e-12);
        assert!((bends.energy(&p) - 0.5 * moment * moment * 0.95).abs() < 1e-12);
    }

    #[test]
    fn a_circle_stores_half_ei_kappa_squared_per_length_and_a_twisted_rod_half_gj_rate_squared() {
        let (n, edge, angle, twist) = (200, 0.01, 1.0, 0.004);
        let straight = arc(n, edge, 0.0, 0.3, 0.0);
        let markers: Vec<PointId> = (n as u32 + 1..2 * n as u32 + 1).map(PointId).collect();
        let chain = chain(n as u32 + 1);
        let joints = |EI, GJ| RodJoints::chain(&straight, &chain, &markers, EI, GJ).unwrap();
        let energy = |force: &dyn Force, x: &[Vec3]| {
            force.energy(&Points { time: 0.0, first: 0, x: &flat(x), v: &[], mass: &[] })
        };
        let inner = (n - 1) as f64 * edge;
        let kappa = angle / (n as f64 * edge);
        // In the plane of the marker (tilt 0.3 between the two axes): EI₁ cos² + EI₂ sin².
        let bent = arc(n, edge, angle, 0.3, 0.0);
        let wanted = 0.5 * (3.0 * 0.3f64.cos().powi(2) + 5.0 * 0.3f64.sin().powi(2)) * kappa * kappa * inner;
        let found = energy(&joints([3.0, 5.0], 7.0), &bent);
        assert!((found / wanted - 1.0).abs() < 1e-4, "{found} {wanted}");
        for law in [BendLaw::Angle, BendLaw::Tangent] {
            let bends = RodBends::chain(&straight, &chain, 3.0, law).unwrap();
            let wanted = 0.5 * 3.0 * kappa * kappa * inner;
            assert!((energy(&bends, &bent) / wanted - 1.0).abs() < 1e-4);
        }
        // Pure twist, also while bent.
        let wanted = 0.5 * 7.0 * (twist / edge).powi(2) * inner;
        for angle in [0.0, 1.0] {
            let twisted = arc(n, edge, angle, 0.3, twist);
            let found = energy(&joints([0.0; 2], 7.0), &twisted);
            assert!((found / wanted - 1.0).abs() < 1e-9, "{found} {wanted}");
        }
        // What a rod is made with is at rest, curved and twisted or not, and its markers are held there.
        let curved = arc(n, edge, 2.0, 0.3, 0.1);
        let made = RodJoints::chain(&curved, &chain, &markers, [3.0, 5.0], 7.0).unwrap();
        assert!(energy(&made, &curved) < 1e-25);
        assert!(energy(&rod_markers(&curved, &chain, &markers, 100.0).unwrap(), &curved) < 1e-25);
        assert!(energy(&rod_stretch(&curved, &chain, 100.0, 0.0).unwrap(), &curved) < 1e-25);
    }

    #[test]
    fn a_straight_rod_is_smooth() {
        for bend in [0.0, 1e-9, 1e-6, 0.9e-3, 1.1e-3, 0.1] {
            let x = [-1.0, 0.0, 0.0, 0.0, bend, 0.0, 1.3, 0.0, 0.2 * bend];
            for law in [BendLaw::Angle, BendLaw::Tangent] {
                let points = [0, 1, 2].map(PointId);
                let batch = RodBends::new(vec![RodBend { points, stiffness: 2.0, law }]);
                let p = Points { time: 0.0, first: 0, x: &x, v: &[0.0; 9], mass: &[1.0; 3] };
                assert!(check::force_against_energy(&batch, &p) < 1e-7, "bend {bend} {law:?}");
                assert!(check::stiffness_against_force(&batch, &p) < 1e-7, "bend {bend} {law:?}");
            }
        }
    }
}
