//! Particles: points with mass, $q = x \in R^{3n}$, $M = \mathrm{diag}(m_i I_3)$.

use crate::math::each_point;

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
}

impl Particles {
    /// Masses \[kg\] of the particles, each > 0, and of those carried points that have mass; the number of particles and
    /// of all points.
    pub fn new(masses: &[f64], particles: usize, points: usize) -> Self {
        let mut mass = masses.to_vec();
        let mut inv_mass: Vec<f64> = masses[..particles].iter().map(|m| 1.0 / m).collect();
        mass.resize(points, 0.0);
        inv_mass.resize(points, 0.0);
        Self { mass, inv_mass }
    }

    /// y ← M v over particles from number `first` on.
    pub fn mass_times(&self, first: usize, v: &[f64], y: &mut [f64]) {
        for ((y, v), m) in y.chunks_exact_mut(3).zip(v.chunks_exact(3)).zip(&self.mass[first..]) {
            for k in 0..3 {
                y[k] = m * v[k];
            }
        }
    }

    /// f ← M⁻¹ f over particles from number `first` on.
    pub fn solve_mass(&self, first: usize, f: &mut [f64]) {
        each_point(f, &self.inv_mass[first..], |f, w| *f = [f[0] * w, f[1] * w, f[2] * w]);
    }

    /// Kinetic energy ½ vᵀ M v \[J\] over all points.
    pub fn kinetic(&self, v: &[f64]) -> f64 {
        let square = |v: &[f64]| v[0] * v[0] + v[1] * v[1] + v[2] * v[2];
        v.chunks_exact(3).zip(&self.mass).map(|(v, m)| 0.5 * m * square(v)).sum()
    }
}
