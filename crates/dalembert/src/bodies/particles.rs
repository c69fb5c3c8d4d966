//! Particles: points with mass, $q = x \in R^{3n}$, $M = \mathrm{diag}(m_i I_3)$, plus $m_{ij} I_3$ where points share
//! inertia.
//!
//! Points share inertia in two cases. In a finite element with consistent mass $m_{ij} = \int\rho N_i N_j$. In an affine
//! body, $x = \sum_i w_i z_i$ with $w = (1, X)$, the four points $z_i$ are the place of the body's origin and the columns
//! of its deformation, and $m_{ij} = \int\rho w_i w_j$. The mass $m_i$ that gravity pulls at is $\sum_j m_{ij} t_j$,
//! where $t$ is the motion of all coordinates when everything moves by one metre: 1 for places, 0 for columns. So
//! $\sum_i m_i v_i$ is the momentum in both cases.

use crate::math::{Vec3, each_point, triple};

/// Inertia of all particles of a model.
///
/// Arrays run over all *points*; carried points come after the particles, with inverse mass 0
/// and (but for the points of generalized bodies) mass 0.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Particles {
    /// Masses m \[kg\].
    pub mass: Vec<f64>,
    /// 1/m \[1/kg\].
    pub inv_mass: Vec<f64>,
    /// Inertia that points share: (i, j, m) with i ≤ j adds m I₃ to blocks (i, j) and (j, i) of M \[kg\]; for i = j,
    /// once.
    pub shared: Vec<(u32, u32, f64)>,
}

impl Particles {
    /// Masses \[kg\] of the particles, each > 0, and of those carried points that have mass; the number of particles and
    /// of all points.
    pub fn new(masses: &[f64], particles: usize, points: usize) -> Self {
        let mut mass = masses.to_vec();
        let inverse = |m: &f64| if *m > 0.0 { 1.0 / m } else { 0.0 };
        let mut inv_mass: Vec<f64> = masses[..particles].iter().map(inverse).collect();
        mass.resize(points, 0.0);
        inv_mass.resize(points, 0.0);
        Self { mass, inv_mass, shared: Vec::new() }
    }

    /// f ← M⁻¹ f over particles from number `first` on; for models without shared inertia.
    pub fn solve_mass(&self, first: usize, f: &mut [f64]) {
        each_point(f, &self.inv_mass[first..], |f, w| *f = [f[0] * w, f[1] * w, f[2] * w]);
    }

    /// Kinetic energy ½ vᵀ M v \[J\] over all points.
    pub fn kinetic(&self, v: &[f64]) -> f64 {
        let square = |v: &[f64]| v[0] * v[0] + v[1] * v[1] + v[2] * v[2];
        let own: f64 = v.chunks_exact(3).zip(&self.mass).map(|(v, m)| 0.5 * m * square(v)).sum();
        let pair = |&(i, j, m): &(u32, u32, f64)| {
            let (a, b) = (triple(v, i as usize), triple(v, j as usize));
            if i == j { 0.5 * m * a.dot(&b) } else { m * a.dot(&b) }
        };
        own + self.shared.iter().map(pair).sum::<f64>()
    }

    /// Σ m_ij x_i × v_j \[kg·m²/s\] over the inertia that points share.
    pub fn shared_angular_momentum(&self, x: &[f64], v: &[f64]) -> Vec3 {
        let mut sum = Vec3::zeros();
        for &(i, j, m) in &self.shared {
            let (i, j) = (i as usize, j as usize);
            sum += m * triple(x, i).cross(&triple(v, j));
            if i != j {
                sum += m * triple(x, j).cross(&triple(v, i));
            }
        }
        sum
    }
}
