//! The normal potential: a log barrier over the gap of every pair (Li et al. 2020).
//!
//! Every pair with a gap below ĝ adds $\kappa_k b(g_k)$. The stiffness $\kappa_k$ is the larger one of its two
//! sides: $c\,m/d^2$ of an affine body of mass m, the diagonal of the Hessian (inertia and elasticity) of a node. So a
//! weight $mg$ presses a body at rest to a gap of the order of ĝ at any mass and step.
//!
//! Pairs of nearly parallel edges are mollified by a factor m that goes to zero with the angle ([`Mollifier`]); the gradient of m
//! is in the gradient, its Hessian is left out.

use super::friction::{matched, slip};
use super::geometry::{ContactGeometry, SETTLING};
use super::path::VertexPath;
use super::{share_between, sym3};
use crate::collide::barrier::{LogBarrier, Mollifier, squared_cross};
use crate::collide::{Contact, ContactSet, Kind, Sym3};
use crate::math::{Vec3, add_triple};

/// A change of Hessian counts against the Hessian before plus this part of κ, which stands for the inertia: about one in the number
/// of contacts of a body.
const INERTIA_PART: f64 = 1.0 / 16.0;

/// Barriers of the contacts taken last.
#[derive(Debug, Default)]
pub(crate) struct NormalPotential {
    /// ĝ \[m\].
    pub gap: f64,
    /// Pairs that began nearer than that, and their own gaps in this step \[m\], sorted; empty when they have widened.
    starts: Vec<([u32; 2], f64)>,
    /// κ of each vertex \[N/m\].
    vertex_stiffness: Vec<f64>,
    /// κ of each contact, mollified \[N/m\], and b, b′, b″ at its gap.
    kappa: Vec<f64>,
    barrier: Vec<[f64; 3]>,
    /// Pairs of nearly parallel edges: number of the contact, κ and dm/dc.
    mollified: Vec<(u32, f64, f64)>,
    forces: Vec<Vec3>,
    hessians: Vec<Sym3>,
    /// Energy of all barriers, and by bodies \[J\].
    pub energy: f64,
    pub energies: Vec<f64>,
    /// Σ |f| |x| over the contacts of each body \[J\].
    pub rounding: Vec<f64>,
    /// κ b″ of the contacts of the friction set where it was taken \[N/m\], and how much the Hessian of each body's contacts has
    /// changed since, a part of itself.
    reference: Vec<f64>,
    pub hessian_change: Vec<f64>,
}

impl NormalPotential {
    /// Begins a step.
    pub(super) fn begin(&mut self, geometry: &ContactGeometry) {
        self.gap = geometry.gap;
        self.rounding.clear();
        self.rounding.resize(geometry.surface.bodies.len(), 0.0);
    }

    /// Takes the gaps that pairs which began too near have at time t \[s\], the end of the step. False if contacts that were taken
    /// before do not serve, since they have other gaps.
    pub(super) fn widen_starts(&mut self, geometry: &ContactGeometry, t: f64) -> bool {
        let before = self.widens();
        self.starts.clear();
        if t < SETTLING {
            self.starts.extend(geometry.starts.iter().map(|s| (s.pair, s.at(geometry.gap, t))));
        }
        !before && !self.widens()
    }

    /// True while gaps of pairs that began too near widen.
    pub(crate) fn widens(&self) -> bool {
        !self.starts.is_empty()
    }

    /// Sets κ of every vertex: `factor` times `mass_factor` times the mass for affine bodies, times the mean of the diagonal for
    /// nodes.
    pub(crate) fn set_stiffness(
        &mut self,
        geometry: &ContactGeometry,
        factor: f64,
        mass_factor: f64,
        diagonal: &[f64],
    ) {
        self.vertex_stiffness.clear();
        for (map, mass) in geometry.maps.iter().zip(&geometry.vertex_mass) {
            let own = if map.n == 1 { diagonal[map.first_block as usize] } else { mass_factor * mass };
            self.vertex_stiffness.push(if *mass > 0.0 { factor * own } else { 0.0 });
        }
    }

    /// κ of a contact, not mollified.
    fn stiffness_of(&self, c: &Contact) -> f64 {
        c.vertices.iter().map(|&v| self.vertex_stiffness[v as usize]).fold(0.0, f64::max)
    }

    /// Takes b, b′, b″ of all contacts.
    pub(super) fn take_barriers(&mut self, geometry: &ContactGeometry, contacts: &[Contact]) {
        let barrier = LogBarrier { gap_max: self.gap };
        self.barrier.clear();
        self.barrier.extend(contacts.iter().map(|c| barrier.at(c.gap)));
        if self.widens() {
            // κ ĝ/ĝₖ b(g; ĝₖ): the same force at the same part of the gap.
            for (c, out) in contacts.iter().zip(&mut self.barrier) {
                if let Ok(k) = self.starts.binary_search_by_key(&geometry.start_pair(c), |s| s.0) {
                    let own = self.starts[k].1;
                    *out = LogBarrier { gap_max: own }.at(c.gap).map(|b| self.gap / own * b);
                }
            }
        }
    }

    /// Takes κ and the energy of all contacts, with vertices at x.
    pub(super) fn take_energy(&mut self, geometry: &ContactGeometry, contacts: &[Contact], x: &[Vec3]) {
        self.kappa.clear();
        self.mollified.clear();
        for (k, c) in contacts.iter().enumerate() {
            let mut kappa = self.stiffness_of(c);
            if c.kind == Kind::EdgeEdge {
                let [a, b] = c.pair.map(|e| geometry.edge_length2[e as usize]);
                let corners = c.vertices.map(|v| x[v as usize]);
                let cross = (corners[1] - corners[0]).cross(&(corners[3] - corners[2])).norm_squared();
                let [m, rate, _] = Mollifier::of_rest(a, b).at(cross);
                if rate != 0.0 {
                    self.mollified.push((k as u32, kappa, rate));
                    kappa *= m;
                }
            }
            self.kappa.push(kappa);
        }
        self.energy = 0.0;
        self.energies.clear();
        self.energies.resize(geometry.surface.bodies.len(), 0.0);
        for (c, (kappa, barrier)) in contacts.iter().zip(self.kappa.iter().zip(&self.barrier)) {
            let energy = kappa * barrier[0];
            share_between(geometry, c.bodies, energy, &mut self.energies);
            self.energy += energy;
        }
    }

    /// Normal force of each contact \[N\].
    pub(super) fn normal_forces(&self) -> impl Iterator<Item = f64> {
        self.kappa.iter().zip(&self.barrier).map(|(kappa, b)| -kappa * b[1])
    }

    /// b −= the gradient where the contacts were taken; Hessians are kept for [`add_hessian`](Self::add_hessian).
    pub(super) fn gradient(
        &mut self,
        geometry: &ContactGeometry,
        set: &ContactSet,
        path: &VertexPath,
        b: &mut [f64],
    ) {
        self.forces.clear();
        self.hessians.clear();
        for (c, (kappa, barrier)) in set.contacts.iter().zip(self.kappa.iter().zip(&self.barrier)) {
            if path.is_idle(c.bodies) {
                self.forces.push(Vec3::zeros());
                self.hessians.push([0.0; 6]);
                continue;
            }
            let [_, first, second] = barrier;
            self.forces.push(-kappa * first * c.normal);
            let rounding = (kappa * first).abs() * path.x[c.vertices[0] as usize].amax();
            share_between(geometry, c.bodies, rounding, &mut self.rounding);
            self.hessians.push(sym3(&(kappa * second * c.normal * c.normal.transpose())));
        }
        set.add_gradient_of(&self.forces, |bodies| !path.is_idle(bodies), b);
        for &(k, kappa, rate) in &self.mollified {
            let c = &set.contacts[k as usize];
            if path.is_idle(c.bodies) {
                continue;
            }
            let (_, gradients) = squared_cross(&c.vertices.map(|v| path.x[v as usize]));
            let factor = -kappa * self.barrier[k as usize][0] * rate;
            for (v, gradient) in c.vertices.iter().zip(&gradients) {
                let map = &geometry.surface.maps[*v as usize];
                for j in 0..map.n as usize {
                    add_triple(b, map.first_block as usize + j, &(factor * map.w[j] * gradient));
                }
            }
        }
    }

    /// Hessians over the slip of each contact where the gradient was taken last.
    pub(super) fn hessians(&self) -> &[Sym3] {
        &self.hessians
    }

    /// Notes the Hessian of all contacts, from which [`take_hessian_change`](Self::take_hessian_change) counts.
    pub(super) fn take_reference(&mut self) {
        self.reference.clear();
        self.reference.extend(self.kappa.iter().zip(&self.barrier).map(|(kappa, b)| kappa * b[2]));
    }

    /// Takes for each body how much the Hessian of its contacts at x differs from that at the start, where slip counts from
    /// and friction was taken: the largest part over its contacts. A barrier has the Hessian κ b″, friction
    /// μλ f₁′ ∝ 1 − |u|/εd along the slip, which falls fastest. Contacts that were hardly there count against the inertia of
    /// their bodies, of which κ is a multiple.
    pub(super) fn take_hessian_change(
        &mut self,
        before: &ContactSet,
        set: &ContactSet,
        path: &VertexPath,
        slip_from: &[Vec3],
        slip_max: f64,
    ) {
        let mut change = std::mem::take(&mut self.hessian_change);
        change.clear();
        change.resize(self.energies.len(), 0.0);
        matched(&before.contacts, &set.contacts, |i, j, c| {
            if path.is_idle(c.bodies) {
                return;
            }
            let before = i.map_or(0.0, |i| self.reference[i]);
            let now = j.map_or(0.0, |j| self.kappa[j] * self.barrier[j][2]);
            let pressed = (now - before).abs() / (before + INERTIA_PART * self.stiffness_of(c));
            let slipped = slip(c, &path.x, slip_from).norm() / slip_max;
            for b in c.bodies.into_iter().filter(|b| *b != u32::MAX).map(|b| b as usize) {
                change[b] = change[b].max(pressed).max(slipped);
            }
        });
        self.hessian_change = change;
    }
}
