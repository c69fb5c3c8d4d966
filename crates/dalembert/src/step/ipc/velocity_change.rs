//! By how much a step changes velocities: what the error of the step is measured by.
//!
//! Where the potential is least, $M(z - s)/d^2 = f$ with all forces f, of contact as well: $(z - s)/d = d\,M^{-1}f$ is what
//! forces change velocities by. In the norm of M, over a group of mass m,
//!
//! $$ \Delta v = \sqrt{\frac{(z - s)^T M (z - s)}{m\,d^2}} + d\,\sqrt{\frac{f_0^T M^{-1} f_0}{m}}, $$
//!
//! where $f_0$ are the sizes of the forces from outside, summed on each block, weight for example: what lies still changes no velocity, since contact
//! carries it, and is right if it moves by no more than a small part of what either of the two would do. Both terms are speeds, so the
//! ratio of a step to them has no unit: it does not know in which units a scene is written, and it is the same for a
//! scene that is $a$ times as large, $b$ times as heavy and runs in steps $c$ times as long, if its forces are those of
//! that. A Newton step $\delta$ is short if no point is faster in it than a small part of $\Delta v$.
//!
//! Where nothing acts $\Delta v$ is nothing but rounding: then $16\varepsilon|z|/d$ counts, the speed of the last digits of places.

use super::islands::{Islands, NONE};
use super::potential::Potential;
use crate::mapping::gather_all;
use crate::model::{Model, NamedForce};
use crate::state::State;

/// A group has converged when its Newton step is no more than this part of its change of velocity in the step.
pub(super) const FINE: f64 = 1.0 / 64.0;
/// Rounding of a place, in units of ε: the last digit and what sums make of it.
const DIGITS: f64 = 16.0;

/// What is known at the start of a step, by units.
#[derive(Debug, Default)]
pub(super) struct VelocityChange {
    /// d² f₀ᵀM⁻¹f₀ \[kg m²/s²\] and mass \[kg\].
    given: Vec<f64>,
    mass: Vec<f64>,
    /// Size of all forces from outside on each block, and one of them \[N\].
    sizes: Vec<f64>,
    f: Vec<f64>,
    /// Those that wanted to move in the first step.
    pub wants: Vec<bool>,
}

impl VelocityChange {
    /// Takes the forces from outside at the start of a step that ends at the given time.
    pub(super) fn begin(&mut self, model: &Model, islands: &Islands, state: &State, time: f64, d: f64) {
        for list in [&mut self.given, &mut self.mass] {
            list.clear();
            list.resize(islands.units, 0.0);
        }
        self.wants.clear();
        let n = model.layout.particles;
        self.sizes.clear();
        self.sizes.resize(n, 0.0);
        // Forces that balance each other, weight and a spring to the world, count both.
        let mut add = |of: &dyn Fn(&mut [f64])| {
            self.f.clear();
            self.f.resize(model.layout.robots_v(), 0.0);
            of(&mut self.f);
            gather_all(&model.mappings, &state.q, &mut self.f);
            for (size, f) in self.sizes.iter_mut().zip(self.f.chunks_exact(3)) {
                *size += (f[0] * f[0] + f[1] * f[1] + f[2] * f[2]).sqrt();
            }
        };
        if !state.applied.is_empty() {
            add(&|f| f.iter_mut().zip(&state.applied).for_each(|(f, a)| *f = *a));
        }
        let points = model.points(time, &state.q, &state.v);
        let outside = |b: &&NamedForce| !b.force.is_internal() && b.force.affine_bodies().is_none();
        model.forces.iter().filter(outside).for_each(|b| add(&|f| b.force.add_force(&points, f)));
        for (i, f) in self.sizes.iter().enumerate() {
            let (u, m) = (islands.unit_of_block[i], model.particles.mass[i]);
            if u != NONE && m > 0.0 {
                self.given[u as usize] += d * d * f * f / m;
                self.mass[u as usize] += m;
            }
        }
    }

    /// The short step of everything by the second term of Δv alone \[m/s\]; infinite without inertia.
    pub(super) fn fine_of_everything(&self, inertia: f64) -> f64 {
        if inertia > 0.0 { FINE * self.given() } else { f64::INFINITY }
    }

    /// The second term of Δv over everything \[m/s\].
    fn given(&self) -> f64 {
        let mass: f64 = self.mass.iter().sum();
        if mass > 0.0 { (self.given.iter().sum::<f64>() / mass).sqrt() } else { 0.0 }
    }

    /// The second term of Δv of each group \[m/s\]; 0 where nothing acts from outside.
    pub(super) fn given_of_groups(&self, islands: &Islands) -> Vec<f64> {
        let mut sums = vec![[0.0; 2]; islands.groups];
        for (u, &g) in islands.group_of_unit.iter().enumerate() {
            sums[g as usize][0] += self.given[u];
            sums[g as usize][1] += self.mass[u];
        }
        sums.into_iter().map(|[given, mass]| if mass > 0.0 { f64::sqrt(given / mass) } else { 0.0 }).collect()
    }

    /// Δv and rounding of velocities of each group, at q \[m/s\].
    pub(super) fn of_groups(
        &self,
        model: &Model,
        islands: &Islands,
        potential: &Potential,
        q: &[f64],
    ) -> Vec<[f64; 2]> {
        let groups = islands.groups;
        let given = self.given_of_groups(islands);
        let (mut mass, mut far, mut moved) = (vec![0.0; groups], vec![0.0f64; groups], vec![0.0f64; groups]);
        for (u, &g) in islands.group_of_unit.iter().enumerate() {
            mass[g as usize] += self.mass[u];
        }
        let off = |i: usize, k: usize| q[3 * i + k] - potential.target[3 * i + k];
        let product = |i: usize, j: usize| (0..3).map(|k| off(i, k) * off(j, k)).sum::<f64>();
        let reach = |i: usize| model.ipc.as_ref().map_or(1.0, |ipc| ipc.reach[i]);
        for i in 0..model.layout.particles {
            let g = islands.group(i);
            if g != NONE {
                let g = g as usize;
                moved[g] += model.particles.mass[i] * product(i, i);
                let place = (0..3).map(|k| q[3 * i + k].abs()).fold(0.0, f64::max);
                far[g] = far[g].max(reach(i) * place);
            }
        }
        for &(i, j, m) in &model.particles.shared {
            let (i, j) = (i as usize, j as usize);
            let g = islands.group(i);
            if g != NONE && islands.group(j) == g {
                moved[g as usize] += if i == j { m } else { 2.0 * m } * product(i, j);
            }
        }
        let of = |g: usize| {
            let noise = DIGITS * f64::EPSILON * far[g] / potential.d;
            if mass[g] > 0.0 {
                let change = (moved[g].max(0.0) / mass[g]).sqrt() / potential.d + given[g];
                [change, noise]
            } else {
                [f64::INFINITY, noise]
            }
        };
        (0..groups).map(of).collect()
    }
}
