//! Elastic materials: the energy per rest volume $\psi(F)$ of a deformation gradient F, its stress
//! $P = \partial\psi/\partial F$ and its tangent $dP$.
//!
//! With Lamé's $\mu = E/2(1+\nu)$, $\lambda = E\nu/(1+\nu)(1-2\nu)$, $F = R S$ the polar form, $J = \det F$,
//! $I = \mathrm{tr}\,F^T F$ and Green's strain $\mathcal E = \tfrac12(F^T F - I)$:
//!
//! | law | ψ |
//! |---|---|
//! | linear | $\mu\lVert\varepsilon\rVert^2 + \tfrac\lambda2 \mathrm{tr}^2\varepsilon$, $\varepsilon = \tfrac12(F + F^T) - I$ |
//! | corotated | $\mu\lVert F - R\rVert^2 + \tfrac\lambda2 \mathrm{tr}^2(S - I)$ |
//! | StVenant-Kirchhoff | $\mu\lVert\mathcal E\rVert^2 + \tfrac\lambda2 \mathrm{tr}^2\mathcal E$ |
//! | neo-Hookean | $\tfrac\mu2(I - 3) - \mu\ln J + \tfrac\lambda2\ln^2 J$ |
//! | stable neo-Hookean | $\tfrac m2(I - 3) + \tfrac l2(J - \alpha)^2 - \tfrac m2\ln(I + 1)$ + constant |
//!
//! The last is Smith, de Goes, Kim 2018 with $m = \tfrac43\mu$, $l = \lambda + \tfrac56\mu$, $\alpha = 1 + \tfrac{3m}{4l}$
//! (their equations 13 to 16), so that every law starts as Hooke's with the same E and ν.
//!
//! All are isotropic: ψ depends on the singular values σ of $F = U\Sigma V^T$ only. Then, in the frames U and V, the
//! tangent has nine known modes (Smith, de Goes, Kim 2019): three *scalings*, coupled by $A_{ij} = \psi_{ij}$; three
//! *flips* $(e_i e_j^T + e_j e_i^T)/\sqrt2$ with $(\psi_i - \psi_j)/(\sigma_i - \sigma_j)$; three *twists*
//! $(e_i e_j^T - e_j e_i^T)/\sqrt2$ with $(\psi_i + \psi_j)/(\sigma_i + \sigma_j)$. Clamping these numbers makes the
//! tangent positive. Book: "Solids".

use crate::forces::Tangent;
use crate::math::svd::{Svd, cofactor, svd};
use crate::math::{Mat3, Vec3, outer, polar_rotation, symmetric_eigen};

/// The shape of the energy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Law {
    /// Hooke's law of small strain: fastest, and wrong once anything turns.
    Linear,
    /// Hooke's law in a frame that turns with the element.
    #[default]
    Corotated,
    /// Hooke's law for Green's strain; softens and collapses under strong pressing.
    StVenantKirchhoff,
    /// Logarithm of the volume; infinite for an inverted element, so it needs a line search.
    NeoHookean,
    /// Smith, de Goes, Kim 2018: keeps its volume well and survives inversion.
    StableNeoHookean,
}

/// An isotropic elastic material.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Material {
    /// Shape of the energy.
    pub law: Law,
    /// Young's modulus E \[Pa\], > 0.
    pub young: f64,
    /// Poisson's ratio ν, between −1 and ½, both excluded.
    pub poisson: f64,
}

/// What is wrong with an element or its material.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ElementError {
    /// The rest shape has no positive volume, area or length.
    #[error("rest {measure} of {kind} {element} is {value:e}; it must be above {least:e}")]
    Degenerate {
        /// Kind of element.
        kind: &'static str,
        /// Its number in the list that was given.
        element: usize,
        /// What was measured: volume \[m³\], area \[m²\] or length \[m\].
        measure: &'static str,
        /// The value found.
        value: f64,
        /// The smallest value that counts as solid for an element of this size.
        least: f64,
    },
    /// A point that does not exist.
    #[error("{kind} {element} names point {point}, but there are {count}")]
    UnknownPoint {
        /// Kind of element.
        kind: &'static str,
        /// Its number in the list that was given.
        element: usize,
        /// The point.
        point: usize,
        /// Number of points.
        count: usize,
    },
    /// Two choices that do not go together.
    #[error("{kind}: {reason}")]
    Unsupported {
        /// What was asked for.
        kind: &'static str,
        /// Why not.
        reason: &'static str,
    },
    /// A parameter outside its range.
    #[error("{name} is {value}; it must be {range}")]
    Parameter {
        /// Name of the parameter.
        name: &'static str,
        /// Its value.
        value: f64,
        /// What it may be.
        range: &'static str,
    },
}

impl ElementError {
    /// `Ok` if `value` > 0 and finite.
    pub(crate) fn positive(name: &'static str, value: f64) -> Result<(), Self> {
        let good = value > 0.0 && value.is_finite();
        if good { Ok(()) } else { Err(Self::Parameter { name, value, range: "positive" }) }
    }

    /// `Ok` if `value` ≥ 0 and finite.
    pub(crate) fn not_negative(name: &'static str, value: f64) -> Result<(), Self> {
        let good = value >= 0.0 && value.is_finite();
        if good { Ok(()) } else { Err(Self::Parameter { name, value, range: "zero or positive" }) }
    }
}

impl Material {
    /// Refuses numbers outside their range.
    pub fn check(&self) -> Result<(), ElementError> {
        ElementError::positive("young", self.young)?;
        let value = self.poisson;
        if !(value > -1.0 && value < 0.5) {
            return Err(ElementError::Parameter { name: "poisson", value, range: "between -1 and 0.5" });
        }
        Ok(())
    }

    /// Lamé's constants μ and λ \[Pa\].
    pub fn lame(&self) -> (f64, f64) {
        let (E, nu) = (self.young, self.poisson);
        (E / (2.0 * (1.0 + nu)), E * nu / ((1.0 + nu) * (1.0 - 2.0 * nu)))
    }

    /// ψ(F) \[J/m³\].
    pub fn energy_density(&self, F: &Mat3) -> f64 {
        self.elastic().energy(F)
    }

    /// First Piola-Kirchhoff stress P = ∂ψ/∂F \[Pa\].
    pub fn stress(&self, F: &Mat3) -> Mat3 {
        self.elastic().stress(F)
    }

    /// dP when F changes by dF \[Pa\].
    pub fn stress_change(&self, F: &Mat3, dF: &Mat3, tangent: Tangent) -> Mat3 {
        self.elastic().modes(F, tangent).times(dF)
    }

    pub(crate) fn elastic(&self) -> Elastic {
        let (mu, lambda) = self.lame();
        Elastic { law: self.law, mu, lambda }
    }
}

/// A material as the loops see it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Elastic {
    pub(crate) law: Law,
    pub(crate) mu: f64,
    pub(crate) lambda: f64,
}

/// Constants m and l of the stable neo-Hookean law.
struct Stable {
    m: f64,
    l: f64,
}

impl Elastic {
    fn stable(&self) -> Stable {
        let (m, l) = (4.0 / 3.0 * self.mu, self.lambda + 5.0 / 6.0 * self.mu);
        Stable { m, l }
    }

    pub(crate) fn energy(&self, F: &Mat3) -> f64 {
        let (mu, lambda) = (self.mu, self.lambda);
        let hooke = |e: &Mat3| mu * e.norm_squared() + 0.5 * lambda * e.trace().powi(2);
        match self.law {
            Law::Linear => hooke(&((F + F.transpose()) * 0.5 - Mat3::identity())),
            Law::Corotated => {
                let R = polar_rotation(F);
                mu * (F - R).norm_squared() + 0.5 * lambda * (R.dot(F) - 3.0).powi(2)
            }
            Law::StVenantKirchhoff => hooke(&((F.transpose() * F - Mat3::identity()) * 0.5)),
            Law::NeoHookean => {
                let J = F.determinant();
                if !(J > 0.0) {
                    return f64::INFINITY;
                }
                let ln = J.ln();
                mu * (0.5 * (F.norm_squared() - 3.0) - ln) + 0.5 * lambda * ln * ln
            }
            Law::StableNeoHookean => {
                let Stable { m, l } = self.stable();
                let (I, J) = (F.norm_squared(), F.determinant());
                // With α − 1 = 3m/4l the middle term is ½ l (J − 1)² − ¾ m (J − 1) up to a constant.
                let d = J - 1.0;
                0.5 * (m * (I - 3.0) + l * d * d - 1.5 * m * d - m * ((I - 3.0) * 0.25).ln_1p())
            }
        }
    }

    pub(crate) fn stress(&self, F: &Mat3) -> Mat3 {
        let (mu, lambda) = (self.mu, self.lambda);
        let I = Mat3::identity();
        match self.law {
            Law::Linear => (F + F.transpose() - 2.0 * I) * mu + I * (lambda * (F.trace() - 3.0)),
            Law::Corotated => {
                let R = polar_rotation(F);
                (F - R) * (2.0 * mu) + R * (lambda * (R.dot(F) - 3.0))
            }
            Law::StVenantKirchhoff => {
                let E = (F.transpose() * F - I) * 0.5;
                F * (E * (2.0 * mu) + I * (lambda * E.trace()))
            }
            Law::NeoHookean => {
                let C = cofactor(F);
                let J = F.column(0).dot(&C.column(0));
                F * mu + C * ((lambda * J.ln() - mu) / J)
            }
            Law::StableNeoHookean => {
                let Stable { m, l } = self.stable();
                let C = cofactor(F);
                let J = F.column(0).dot(&C.column(0));
                F * (m * (1.0 - 1.0 / (F.norm_squared() + 1.0))) + C * (l * (J - 1.0) - 0.75 * m)
            }
        }
    }

    /// The modes of the tangent at F; `Projected` is never negative. For the corotated law that is the tangent with the
    /// rotation held fixed, whose twists are zero.
    pub(crate) fn modes(&self, F: &Mat3, tangent: Tangent) -> Modes {
        let (mu, lambda) = (self.mu, self.lambda);
        let hooke = Mat3::identity() * (2.0 * mu) + Mat3::from_element(lambda);
        let fixed =
            |U: Mat3| Modes { U, V: Mat3::identity(), A: hooke, flip: [2.0 * mu; 3], twist: [0.0; 3] };
        match (self.law, tangent) {
            (Law::Linear, _) => return fixed(Mat3::identity()),
            (Law::Corotated, Tangent::Projected) => return fixed(polar_rotation(F)),
            _ => {}
        }
        let Svd { U, sigma: s, V } = svd(F);
        let I = s.norm_squared();
        // Value k of flip and twist belongs to the plane of the other two axes i, j.
        let planes = |g: &dyn Fn(f64, f64, f64) -> f64| {
            [g(s[1], s[2], s[0]), g(s[2], s[0], s[1]), g(s[0], s[1], s[2])]
        };
        let (A, flip, twist) = match self.law {
            Law::Linear | Law::Corotated => {
                let spread = 2.0 * lambda * (s.sum() - 3.0) - 4.0 * mu;
                let sum = |a: f64, b: f64| if (a + b).abs() > 1e-12 { a + b } else { 1e-12 };
                (hooke, [2.0 * mu; 3], planes(&|a, b, _| 2.0 * mu + spread / sum(a, b)))
            }
            Law::StVenantKirchhoff => {
                let stretch = 0.5 * lambda * (I - 3.0) - mu;
                let A = s.map(|s| 3.0 * mu * s * s + stretch);
                (
                    Mat3::from_diagonal(&A) + outer(&s, &s) * lambda,
                    planes(&|a, b, _| mu * (a * a + a * b + b * b) + stretch),
                    planes(&|a, b, _| mu * (a * a - a * b + b * b) + stretch),
                )
            }
            Law::NeoHookean => {
                let c = lambda * (s[0] * s[1] * s[2]).ln() - mu;
                let inverse = s.map(|s| 1.0 / s);
                let A = inverse.map(|i| mu - c * i * i);
                (
                    Mat3::from_diagonal(&A) + outer(&inverse, &inverse) * lambda,
                    planes(&|a, b, _| mu - c / (a * b)),
                    planes(&|a, b, _| mu + c / (a * b)),
                )
            }
            Law::StableNeoHookean => {
                let Stable { m, l } = self.stable();
                let (a, c) = (m * (1.0 - 1.0 / (I + 1.0)), l * (s[0] * s[1] * s[2] - 1.0) - 0.75 * m);
                let J = Vec3::new(s[1] * s[2], s[2] * s[0], s[0] * s[1]); // ∂J/∂σ
                let mixed = Mat3::new(0.0, s[2], s[1], s[2], 0.0, s[0], s[1], s[0], 0.0); // ∂²J/∂σ²
                (
                    Mat3::identity() * a
                        + outer(&s, &s) * (2.0 * m / (I + 1.0).powi(2))
                        + outer(&J, &J) * l
                        + mixed * c,
                    planes(&|_, _, k| a - c * k),
                    planes(&|_, _, k| a + c * k),
                )
            }
        };
        let exact = Modes { U, V, A, flip, twist };
        if tangent == Tangent::Exact { exact } else { exact.clamped() }
    }
}

/// The tangent dP/dF of an isotropic law in the frames of its singular vectors.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Modes {
    U: Mat3,
    V: Mat3,
    /// Scalings.
    A: Mat3,
    /// Value k belongs to the plane of the other two axes.
    flip: [f64; 3],
    twist: [f64; 3],
}

impl Modes {
    fn clamped(mut self) -> Self {
        let (values, axes) = symmetric_eigen(&self.A);
        if values.min() < 0.0 {
            self.A = axes * Mat3::from_diagonal(&values.map(|x| x.max(0.0))) * axes.transpose();
        }
        self.flip = self.flip.map(|x| x.max(0.0));
        self.twist = self.twist.map(|x| x.max(0.0));
        self
    }

    /// dP for dF.
    pub(crate) fn times(&self, dF: &Mat3) -> Mat3 {
        let D = self.U.transpose() * dF * self.V;
        let mut out = Mat3::from_diagonal(&(self.A * D.diagonal()));
        for (k, i, j) in [(0, 1, 2), (1, 2, 0), (2, 0, 1)] {
            let flip = 0.5 * self.flip[k] * (D[(i, j)] + D[(j, i)]);
            let twist = 0.5 * self.twist[k] * (D[(i, j)] - D[(j, i)]);
            out[(i, j)] = flip + twist;
            out[(j, i)] = flip - twist;
        }
        self.U * out * self.V.transpose()
    }

    /// Vᵀ g: a shape gradient in the frame of the modes.
    #[inline(always)]
    pub(crate) fn turned(&self, g: &Vec3) -> Vec3 {
        self.V.tr_mul(g)
    }

    /// The block ∂(P g_i)/∂u_j for F = Σ u_j g_jᵀ, from turned gradients b = Vᵀ g.
    pub(crate) fn block(&self, bi: &Vec3, bj: &Vec3) -> Mat3 {
        let mut k = Mat3::zeros();
        for p in 0..3 {
            k[(p, p)] = self.A[(p, p)] * bi[p] * bj[p];
        }
        for (n, p, q) in [(0, 1, 2), (1, 2, 0), (2, 0, 1)] {
            // C[pq, pq] and C[pq, qp]
            let (own, other) = (0.5 * (self.flip[n] + self.twist[n]), 0.5 * (self.flip[n] - self.twist[n]));
            k[(p, p)] += own * bi[q] * bj[q];
            k[(q, q)] += own * bi[p] * bj[p];
            k[(p, q)] = self.A[(p, q)] * bi[p] * bj[q] + other * bi[q] * bj[p];
            k[(q, p)] = self.A[(q, p)] * bi[q] * bj[p] + other * bi[p] * bj[q];
        }
        self.U * k * self.U.transpose()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::{Random, rotation};

    const LAWS: [Law; 5] =
        [Law::Linear, Law::Corotated, Law::StVenantKirchhoff, Law::NeoHookean, Law::StableNeoHookean];

    fn material(law: Law) -> Material {
        Material { law, young: 1e6, poisson: 0.3 }
    }

    fn random_matrix(random: &mut Random, size: f64) -> Mat3 {
        Mat3::from_fn(|_, _| random.between(-size, size))
    }

    #[test]
    fn stress_is_the_gradient_of_energy_and_the_tangent_that_of_stress() {
        let mut random = Random::new(8);
        for k in 0..200 {
            let upright = Mat3::identity() + random_matrix(&mut random, 0.3);
            let dF = random_matrix(&mut random, 1.0);
            for law in LAWS {
                let inverted = k % 2 == 0 && law != Law::NeoHookean;
                let squash = Vec3::new(1.0, if inverted { -0.2 } else { 1.0 }, 1.1);
                let F = upright * Mat3::from_diagonal(&squash);
                let m = material(law);
                let e = 1e-6;
                let at = |e: f64| F + dF * e;
                let derivative = (m.energy_density(&at(e)) - m.energy_density(&at(-e))) / (2.0 * e);
                let P = m.stress(&F);
                assert!((P.dot(&dF) - derivative).abs() < 1e-8 * (1e6 + P.norm()), "{law:?}");
                let dP = (m.stress(&at(e)) - m.stress(&at(-e))) / (2.0 * e);
                let change = m.stress_change(&F, &dF, Tangent::Exact);
                // The rotation of the corotated law turns fast near σᵢ + σⱼ = 0.
                let s = svd(&F).sigma;
                if law == Law::Corotated && s[1] + s[2] < 0.1 {
                    continue;
                }
                assert!((dP - change).norm() < 1e-7 * (1e6 + change.norm()), "{law:?} {F}");
                let positive = m.stress_change(&F, &dF, Tangent::Projected);
                assert!(positive.dot(&dF) > -1e-9 * positive.norm(), "{law:?}");
            }
        }
    }

    #[test]
    fn every_law_starts_as_hookes_at_rest() {
        let mut random = Random::new(4);
        for law in LAWS {
            for poisson in [-0.3, 0.0, 0.3, 0.49] {
                let m = Material { law, young: 2e5, poisson };
                let (mu, lambda) = m.lame();
                assert_eq!(m.energy_density(&Mat3::identity()), 0.0);
                assert!(m.stress(&Mat3::identity()).norm() < 1e-15 * m.young, "{law:?}");
                let dF = random_matrix(&mut random, 1.0);
                let e = (dF + dF.transpose()) * 0.5;
                let hooke = e * (2.0 * mu) + Mat3::identity() * (lambda * e.trace());
                for tangent in [Tangent::Exact, Tangent::Projected] {
                    let apart = m.stress_change(&Mat3::identity(), &dF, tangent) - hooke;
                    assert!(apart.norm() < 1e-13 * hooke.norm(), "{law:?} {poisson}");
                }
            }
        }
    }

    #[test]
    fn a_turn_before_or_after_changes_no_energy() {
        let mut random = Random::new(6);
        let F = Mat3::identity() + random_matrix(&mut random, 0.3);
        let R = rotation::matrix(&rotation::exp(&Vec3::new(0.4, -1.0, 2.0)));
        for law in &LAWS[1..] {
            let m = material(*law);
            let W = m.energy_density(&F);
            assert!((m.energy_density(&(R * F)) - W).abs() < 1e-13 * W, "{law:?}");
            assert!((m.energy_density(&(F * R)) - W).abs() < 1e-13 * W, "{law:?}");
        }
    }

    #[test]
    fn a_neo_hookean_bar_with_free_sides_pulls_as_the_reference_says() {
        // Source: shared/cases/neo_hookean_uniaxial.json (recomputed with 30 digits): E = 1e6 Pa, ν = 0.3; stretch,
        // lateral stretch, first Piola-Kirchhoff stress along the bar [Pa].
        for (stretch, lateral, P11) in [
            (0.5, 1.210767390523323, -935352.0568881975),
            (0.8, 1.067338369278968, -240005.3819880229),
            (1.1, 0.9714929459103263, 93077.43218408243),
            (1.5, 0.8801745918067378, 378280.1763943186),
            (2.0, 0.7980775445389079, 646744.6601736053),
            (3.0, 0.6881110295042075, 1093141.437317264),
        ] {
            let P =
                material(Law::NeoHookean).stress(&Mat3::from_diagonal(&Vec3::new(stretch, lateral, lateral)));
            assert!((P[(0, 0)] - P11).abs() < 1e-10 * P11.abs(), "{stretch}: {}", P[(0, 0)]);
            assert!(P[(1, 1)].abs() < 1e-9 * P11.abs(), "{stretch}: sides feel {}", P[(1, 1)]);
        }
    }

    #[test]
    fn numbers_outside_their_range_are_refused_by_name() {
        for (young, poisson, name) in
            [(0.0, 0.3, "young"), (f64::NAN, 0.3, "young"), (1.0, 0.5, "poisson"), (1.0, -1.0, "poisson")]
        {
            let error = Material { law: Law::Corotated, young, poisson }.check().unwrap_err();
            assert!(error.to_string().starts_with(name), "{error}");
        }
    }
}
