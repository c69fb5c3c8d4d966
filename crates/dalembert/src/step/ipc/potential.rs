//! The part of the incremental potential without contact: inertia and all forces.

use super::super::tangent::{Factors, Linearization};
use super::islands::{Islands, Sharing};
use crate::forces::{Points, Tangent, TangentSink};
use crate::math::{Blocks, dot};
use crate::model::Model;
use crate::state::State;
use crate::step::Scheme;

/// $\tfrac1{2d^2}(z - s)^T M (z - s) + W(z)$ and its derivatives.
#[derive(Debug, Default)]
pub(super) struct Potential {
    here: Linearization,
    /// Where velocities count from, z_s, and the target s.
    pub start: Vec<f64>,
    pub target: Vec<f64>,
    /// The scheme's step d \[s\]; 0 for `static`.
    pub d: f64,
    /// 1/d², 0 for `static`.
    pub inertia: f64,
    /// Time at the end of the step \[s\].
    pub time: f64,
    dissipates: bool,
    /// What velocities add to the forces at the current z.
    drag: Vec<f64>,
    /// Σ |f| |z| of each block over all terms \[J\]: what rounding of z makes of the energy, in units of ε.
    pub rounding: Vec<f64>,
    off: Vec<f64>,
    product: Vec<f64>,
    v: Vec<f64>,
}

impl Potential {
    pub(super) fn begin(&mut self, scheme: Scheme, model: &Model, state: &State, h: f64) {
        let n = model.layout.nv;
        self.time = state.time_after(h);
        self.start.clear();
        self.start.extend_from_slice(&state.q[..n]);
        self.target.clone_from(&self.start);
        self.d = h;
        let mut speed = &state.v[..n];
        let mixed: Vec<f64>;
        if scheme == Scheme::Bdf2
            && let Some((before_q, before_v)) = state.remembered(&model.layout, h)
        {
            let third = |now: &[f64], before: &[f64]| -> Vec<f64> {
                now.iter().zip(before).map(|(a, b)| a + (a - b) / 3.0).collect()
            };
            self.d = 2.0 * h / 3.0;
            self.start = third(&state.q[..n], before_q);
            self.target.clone_from(&self.start);
            mixed = third(&state.v[..n], before_v);
            speed = &mixed;
        }
        if scheme == Scheme::Static {
            (self.inertia, self.d) = (0.0, h);
        } else {
            self.inertia = 1.0 / (self.d * self.d);
            self.target.iter_mut().zip(speed).for_each(|(s, v)| *s += self.d * v);
        }
        self.dissipates = model.forces.iter().any(|b| !b.force.is_conservative());
        self.here.load_inertia(model, &state.q);
        self.v.clear();
        self.v.resize(model.layout.robots_v(), 0.0);
    }

    /// Velocities of all points at q, for forces that ask for them.
    fn velocities(&mut self, model: &Model, q: &[f64]) {
        for (k, v) in self.v[..model.layout.nv].iter_mut().enumerate() {
            *v = (q[k] - self.start[k]) / self.d;
        }
        for m in &model.mappings {
            m.carry_velocity(q, &mut self.v);
        }
    }

    /// The value \[J\] at q, carried points up to date, and the size of its terms. `from` is where the forces were
    /// evaluated last: what velocities do is modelled about it.
    pub(super) fn energy(&mut self, model: &Model, memory: &State, q: &[f64], from: &[f64]) -> (f64, f64) {
        let n = model.layout.nv;
        let mut W = model.potential_at(self.time, q, &self.v, memory);
        let pushes = memory.pushes(&model.layout);
        W -= dot(pushes, &q[..pushes.len()]);
        let mut kinetic = 0.0;
        if self.inertia > 0.0 {
            self.off.clear();
            self.off.extend(q[..n].iter().zip(&self.target).map(|(z, s)| z - s));
            self.product.clear();
            self.product.resize(n, 0.0);
            self.here.add_mass_times(model, 0.5 * self.inertia, &self.off, &mut self.product);
            kinetic = dot(&self.off, &self.product);
        }
        let mut lost = 0.0;
        if self.dissipates {
            self.off.clear();
            self.off.extend(q.iter().zip(from).map(|(a, b)| a - b));
            lost = -dot(&self.drag, &self.off);
            self.product.clear();
            self.product.resize(model.layout.robots_v(), 0.0);
            let points = model.points(self.time, from, &self.v);
            for batch in model.forces.iter().filter(|b| !b.force.is_conservative()) {
                batch.force.add_damping_times(&points, &self.off, &mut self.product);
            }
            lost += 0.5 / self.d * dot(&self.off, &self.product);
        }
        (W + kinetic + lost, W.abs() + kinetic + lost.abs())
    }

    /// The value \[J\] and the size of its terms, handed out to units: see [`energy`](Self::energy).
    pub(super) fn energies(
        &mut self,
        model: &Model,
        memory: &State,
        [q, from]: [&[f64]; 2],
        islands: &Islands,
        out: &mut [[f64; 2]],
    ) {
        if !islands.several() {
            let (energy, size) = self.energy(model, memory, q, from);
            out[0][0] += energy;
            out[0][1] += size;
            return;
        }
        let n = model.layout.nv;
        let mut add = |block: usize, energy: f64| {
            if let Some(out) = out.get_mut(islands.unit_of_block[block] as usize) {
                out[0] += energy;
                out[1] += energy.abs();
            }
        };
        let points = model.points(self.time, q, &self.v);
        for (batch, sharing) in model.forces.iter().zip(&islands.sharing) {
            match sharing {
                Sharing::Own => {
                    batch.force.share_energy(&points, &mut add);
                }
                Sharing::Local => {
                    for i in 0..points.len() {
                        let one = Points {
                            time: points.time,
                            first: i,
                            x: &points.x[3 * i..3 * i + 3],
                            v: &points.v[3 * i..3 * i + 3],
                            mass: &points.mass[i..=i],
                        };
                        add(i, batch.force.energy(&one));
                    }
                }
                Sharing::Unit(_) => {}
            }
        }
        let pushes = memory.pushes(&model.layout).iter().zip(q).enumerate();
        pushes.for_each(|(k, (f, q))| add(k / 3, -f * q));
        if self.inertia > 0.0 {
            self.off.clear();
            self.off.extend(q[..n].iter().zip(&self.target).map(|(z, s)| z - s));
            self.product.clear();
            self.product.resize(n, 0.0);
            self.here.add_mass_times(model, 0.5 * self.inertia, &self.off, &mut self.product);
            (0..n).for_each(|k| add(k / 3, self.off[k] * self.product[k]));
        }
        if self.dissipates {
            self.off.clear();
            self.off.extend(q.iter().zip(from).map(|(a, b)| a - b));
            self.product.clear();
            self.product.resize(model.layout.robots_v(), 0.0);
            let points = model.points(self.time, from, &self.v);
            for batch in model.forces.iter().filter(|b| !b.force.is_conservative()) {
                batch.force.add_damping_times(&points, &self.off, &mut self.product);
            }
            let (half, off) = (0.5 / self.d, &self.off);
            (0..off.len()).for_each(|k| add(k / 3, off[k] * (half * self.product[k] - self.drag[k])));
        }
        for (batch, sharing) in model.forces.iter().zip(&islands.sharing) {
            if let Sharing::Unit(u) = sharing {
                let energy = batch.force.energy(&points);
                out[*u as usize][0] += energy;
                out[*u as usize][1] += energy.abs();
            }
        }
    }

    /// z − s at q and M (z − s)/d², for callers that know all forces themselves.
    pub(super) fn inertia_at(&mut self, model: &Model, q: &[f64]) -> [&[f64]; 2] {
        let n = model.layout.nv;
        self.off.clear();
        self.off.extend(q[..n].iter().zip(&self.target).map(|(z, s)| z - s));
        self.product.clear();
        self.product.resize(n, 0.0);
        if self.inertia > 0.0 {
            self.here.add_mass_times(model, self.inertia, &self.off, &mut self.product);
        }
        [&self.off, &self.product]
    }

    /// b ← −∇ at q, not filtered.
    pub(super) fn gradient(&mut self, model: &Model, memory: &State, q: &[f64], b: &mut Vec<f64>) {
        if self.dissipates {
            self.drag.clear();
            self.drag.resize(model.layout.robots_v(), 0.0);
            self.velocities(model, q);
            let points = model.points(self.time, q, &self.v);
            let still = vec![0.0; self.v.len()];
            let at_rest = model.points(self.time, q, &still);
            for batch in model.forces.iter().filter(|b| !b.force.is_conservative()) {
                self.product.clear();
                self.product.resize(model.layout.robots_v(), 0.0);
                batch.force.add_force(&at_rest, &mut self.product);
                self.product.iter_mut().for_each(|f| *f = -*f);
                batch.force.add_force(&points, &mut self.product);
                self.drag.iter_mut().zip(&self.product).for_each(|(d, f)| *d += f);
            }
        }
        self.here.evaluate(model, self.time, q, &self.v, memory);
        self.gather_gradient(model, q, b);
    }

    /// b ← −∇ from the forces that were evaluated last, at q.
    fn gather_gradient(&mut self, model: &Model, q: &[f64], b: &mut Vec<f64>) {
        let n = model.layout.nv;
        b.clear();
        b.resize(n, 0.0);
        if self.inertia > 0.0 {
            self.off.clear();
            self.off.extend(q[..n].iter().zip(&self.target).map(|(z, s)| s - z));
            self.here.add_mass_times(model, self.inertia, &self.off, b);
        }
        self.rounding.clear();
        self.rounding.resize(n / 3, 0.0);
        for (k, ((b, f), z)) in b.iter_mut().zip(&self.here.f).zip(q).enumerate() {
            self.rounding[k / 3] += (b.abs() + f.abs()) * z.abs();
            *b += f;
        }
    }

    /// The value \[J\] and the size of its terms as [`energy`](Self::energy) says, and b ← −∇, in one pass over the forces;
    /// where all that moves are nodes and every force has an energy.
    pub(super) fn energy_and_gradient(
        &mut self,
        model: &Model,
        memory: &State,
        q: &[f64],
        b: &mut Vec<f64>,
    ) -> (f64, f64) {
        let mut W = self.here.evaluate_with_energy(model, self.time, q, &self.v, memory);
        let pushes = memory.pushes(&model.layout);
        W -= dot(pushes, &q[..pushes.len()]);
        self.gather_gradient(model, q, b);
        let mut kinetic = 0.0;
        if self.inertia > 0.0 {
            // off is s − z now.
            self.product.clear();
            self.product.resize(model.layout.nv, 0.0);
            self.here.add_mass_times(model, 0.5 * self.inertia, &self.off, &mut self.product);
            kinetic = dot(&self.off, &self.product);
        }
        (W + kinetic, W.abs() + kinetic)
    }

    /// Adds the blocks of the Hessian where [`gradient`](Self::gradient) was taken last, plus `shift` times M.
    pub(super) fn hessian(&mut self, model: &Model, shift: f64, out: &mut Blocks) {
        self.here.linearize_blocks(model, Tangent::Projected);
        let damping = if self.dissipates { 1.0 / self.d } else { 0.0 };
        let factors = Factors { mass: self.inertia + shift, damping, stiffness: 1.0 };
        self.here.free_blocks_into(model, factors, out);
    }

    /// Hands over the blocks of the Hessian where [`gradient`](Self::gradient) was taken last: see
    /// [`Linearization::each_block`].
    pub(super) fn each_block(&self, model: &Model, sink: &mut dyn TangentSink) {
        self.here.each_block(model, self.inertia, sink);
    }
}
