//! The friction potential: Coulomb friction with lagged normal forces and tangent planes, smoothed at low speed (Li et al. 2020).
//!
//! With the normal force $\lambda_k = -\kappa_k b'(g_k)$, normal n and weights w of an earlier iterate ("lagged"),
//! $D_k = \mu_k\lambda_k f_0(|u_k|)$ over the slip $u_k = (1 - nn^T)\sum_i w_i (x_i - x_{s,i})$. Its force grows with the slip up to
//! $\mu\lambda$ at the slip $\varepsilon d$, and its Hessian
//! $\mu\lambda\big[\tfrac{f_1}{|u|}(1 - nn^T) + (f_1' - \tfrac{f_1}{|u|})\hat u\hat u^T\big]$ is positive semidefinite as it stands: along û it
//! is $f_1' \ge 0$, across it $f_1/|u|$. Along û a sliding contact has none, so that a step may slide back beyond where it
//! came from. With $f_1/|u|$ in both directions it never does: $f_0$ is concave in $|u|^2$, and the quadratic with that
//! Hessian lies above D everywhere (a majorant); but near the end the steps become far too short. So along û the larger one of
//! $f_1'$ and $\theta f_1/|u|$ is taken, with a caution θ of each body that grows when a step had to be cut and shrinks
//! when the energy fell by much more than the half of the gradient along the step that a right Hessian promises.

use super::geometry::ContactGeometry;
use super::path::VertexPath;
use super::{share_between, sym3};
use crate::collide::barrier::FrictionLaw;
use crate::collide::{Contact, ContactSet, Sym3};
use crate::math::{Mat3, Vec3};

/// The friction set: contacts with their normals, weights and normal forces as they were when friction was taken.
#[derive(Debug, Default)]
pub(crate) struct FrictionPotential {
    pub set: ContactSet,
    /// μλ of each \[N\], and those to come.
    mu_lambda: Vec<f64>,
    next: Vec<f64>,
    /// Vertices that slip counts from, and the slip below which friction is smoothed \[m\].
    start: Vec<Vec3>,
    slip_max: f64,
    /// θ of each body: how much of the majorant friction takes along the slip, 0 … 1.
    pub caution: Vec<f64>,
    forces: Vec<Vec3>,
    hessians: Vec<Sym3>,
    /// Energy of all friction \[J\].
    pub energy: f64,
    /// Largest change of the μλ of each body when friction was taken last, over its largest one.
    pub change: Vec<f64>,
    /// The iterate at which it was taken, if no slip had begun there.
    pub taken_at_start: Option<u64>,
}

/// (1 − n nᵀ) Σ w (x − start) \[m\].
pub(super) fn slip(c: &Contact, x: &[Vec3], start: &[Vec3]) -> Vec3 {
    let u = c.slip(x, start);
    u - c.normal * c.normal.dot(&u)
}

/// Calls `visit` for every contact of two lists in their order, with its place in each of them.
pub(super) fn matched(
    old: &[Contact],
    new: &[Contact],
    mut visit: impl FnMut(Option<usize>, Option<usize>, &Contact),
) {
    let key = |c: &Contact| (c.body_pair(), c.kind, c.pair);
    let (mut i, mut j) = (0, 0);
    while i < old.len() || j < new.len() {
        let order = match (old.get(i), new.get(j)) {
            (Some(a), Some(b)) => key(a).cmp(&key(b)),
            (Some(_), None) => std::cmp::Ordering::Less,
            _ => std::cmp::Ordering::Greater,
        };
        let (a, b) = (order.is_le(), order.is_ge());
        visit(a.then_some(i), b.then_some(j), if a { &old[i] } else { &new[j] });
        i += usize::from(a);
        j += usize::from(b);
    }
}

/// Contacts of bodies that are not idle. Those of two bodies are asked about once.
fn live(set: &ContactSet, path: &VertexPath) -> impl Iterator<Item = usize> {
    set.runs().map(|(run, _)| run).filter(|run| !path.is_idle(set.contacts[run.start].bodies)).flatten()
}

impl FrictionPotential {
    /// Begins a step without friction: slip counts from the blocks `start`, and friction is smoothed below `slip` \[m\].
    pub(super) fn begin(&mut self, geometry: &ContactGeometry, start: &[f64], slip: f64) {
        geometry.positions(start, &mut self.start);
        self.slip_max = slip;
        self.caution.clear();
        self.caution.resize(geometry.surface.bodies.len(), 0.0);
        self.clear();
    }

    /// Forgets friction.
    pub(crate) fn clear(&mut self) {
        self.mu_lambda.clear();
        self.set.clear();
        self.taken_at_start = None;
    }

    /// True if there is friction.
    pub(crate) fn acts(&self) -> bool {
        !self.mu_lambda.is_empty()
    }

    /// Where slip counts from, and the slip below which friction is smoothed.
    pub(super) fn slip_reference(&self) -> (&[Vec3], f64) {
        (&self.start, self.slip_max)
    }

    /// Takes normal forces, normals and weights of friction from the contacts at x, and notes by how much the μλ of each
    /// body have changed.
    pub(super) fn take(
        &mut self,
        geometry: &ContactGeometry,
        set: &ContactSet,
        normal_forces: impl Iterator<Item = f64>,
        path: &VertexPath,
    ) {
        self.next.clear();
        let forces = set.contacts.iter().zip(normal_forces);
        self.next.extend(forces.map(|(c, force)| geometry.friction_of(c) * force));
        self.compare(set, &path.x, geometry.surface.bodies.len());
        std::mem::swap(&mut self.mu_lambda, &mut self.next);
        if self.mu_lambda.iter().all(|f| *f == 0.0) {
            self.clear();
        } else {
            self.set.copy_from(set);
        }
        self.taken_at_start = (self.acts() && path.x == self.start).then_some(path.iterate);
    }

    /// What the new μλ would change in friction at the present slip, |Δμλ| f₁: the most for each body over its largest μλ.
    /// What slides counts with all of the change, what sticks with the part of its limit that it draws on: its force is what
    /// keeps it in place, and the limit only decides how slowly it creeps. Both lists are in the order of their contacts.
    fn compare(&mut self, set: &ContactSet, x: &[Vec3], bodies: usize) {
        let Self { change, start, mu_lambda, next, .. } = self;
        change.clear();
        change.resize(bodies, 0.0);
        let law = FrictionLaw { slip_max: self.slip_max };
        let mut largest = vec![0.0f64; bodies];
        matched(&self.set.contacts, &set.contacts, |i, j, c| {
            let (before, now) = (i.map_or(0.0, |i| mu_lambda[i]), j.map_or(0.0, |j| next[j]));
            let part = law.at(slip(c, x, start).norm())[1];
            for b in c.bodies.into_iter().filter(|b| *b != u32::MAX).map(|b| b as usize) {
                largest[b] = largest[b].max(before).max(now);
                change[b] = change[b].max(part * (now - before).abs());
            }
        });
        for (change, largest) in change.iter_mut().zip(&largest) {
            *change = if *largest > 0.0 { *change / largest } else { 0.0 };
        }
    }

    /// Takes the energy with vertices at x and adds it to that of bodies \[J\].
    pub(super) fn take_energy(
        &mut self,
        geometry: &ContactGeometry,
        path: &VertexPath,
        x: &[Vec3],
        energies: &mut [f64],
    ) {
        let law = FrictionLaw { slip_max: self.slip_max };
        self.energy = 0.0;
        for k in live(&self.set, path) {
            let c = &self.set.contacts[k];
            let energy = self.mu_lambda[k] * law.at(slip(c, x, &self.start).norm())[0];
            share_between(geometry, c.bodies, energy, energies);
            self.energy += energy;
        }
    }

    /// b −= the gradient at x; Hessians are kept for [`hessians`](Self::hessians).
    pub(super) fn gradient(&mut self, path: &VertexPath, b: &mut [f64]) {
        let law = FrictionLaw { slip_max: self.slip_max };
        let all = self.set.contacts.len();
        self.forces.clear();
        self.forces.resize(all, Vec3::zeros());
        self.hessians.clear();
        self.hessians.resize(all, [0.0; 6]);
        for k in live(&self.set, path) {
            let (c, mu_lambda) = (&self.set.contacts[k], self.mu_lambda[k]);
            let u = slip(c, &path.x, &self.start);
            let y = u.norm();
            let [_, _, ratio, rate] = law.at(y);
            self.forces[k] = -mu_lambda * ratio * u;
            let mut N = ratio * (Mat3::identity() - c.normal * c.normal.transpose());
            if y > 0.0 {
                let of = |b: u32| self.caution.get(b as usize).copied().unwrap_or(0.0);
                let theta = of(c.bodies[0]).max(of(c.bodies[1]));
                N += (rate.max(theta * ratio) - ratio) / (y * y) * u * u.transpose();
            }
            self.hessians[k] = sym3(&(mu_lambda * N));
        }
        self.set.add_gradient_of(&self.forces, |bodies| !path.is_idle(bodies), b);
    }

    /// Hessians over the slip of each contact of the set where the gradient was taken last.
    pub(super) fn hessians(&self) -> &[Sym3] {
        &self.hessians
    }

    /// Friction on the first side of a contact with the normal force λ at x, with the law of this step \[N\].
    pub(super) fn force_at(&self, geometry: &ContactGeometry, c: &Contact, lambda: f64, x: &[Vec3]) -> Vec3 {
        let u = slip(c, x, &self.start);
        let ratio = FrictionLaw { slip_max: self.slip_max }.at(u.norm())[2];
        geometry.friction_of(c) * lambda * ratio * u
    }

    /// Counts slip from other places.
    pub(super) fn count_slip_from(&mut self, geometry: &ContactGeometry, start: &[f64]) {
        geometry.positions(start, &mut self.start);
    }
}
