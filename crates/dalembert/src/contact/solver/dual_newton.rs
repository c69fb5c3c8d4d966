//! Dual Newton: augmented Lagrangian on the Delassus matrix of a small island (Alart and Curnier 1991).
//!
//! The augmented Lagrangian of [`primal_newton`](super::primal_newton) in impulses instead of velocities: with W in one dense
//! matrix, u = W p + q, an outer round solves
//!
//! $$ p = P\big(p_k - \rho\,(W p + q + s n)\big), \qquad (1 + D\,W)\,\Delta p = P - p =: e, \qquad D = \rho\,\partial P. $$
//!
//! D is a sum $C C^T$ over a few axes of each set: three where it sticks, two where it slips, none where it separates. With
//! $e = C a + e_\perp$, the part of e along the axes and the rest,
//!
//! $$ \Delta p = e_\perp + C y, \qquad (1 + C^T W C)\,y = a - C^T W e_\perp, $$
//!
//! symmetric, positive definite and as small as there are axes, however the contacts depend on each other. Bodies
//! among joints and robots are no different from bodies by themselves.
//!
//! Contacts, spin friction and bounded rows share one solve. The merit function of a round has the term
//! $P\cdot(y - \tfrac12 P)/\rho$ of each set, with y the argument of P: by Moreau its gradient is P, for any convex set.
//!
//! The residual is taken after every full Newton step: where the impulses of the step before tell who sticks, slips and
//! separates, one step is all.

use super::delassus::DenseDelassus;
use super::penalty::{self, Penalty};
use super::semismooth_newton;
use crate::contact::problem::{ConvexSet, IslandProblem};
use crate::math::Vec3;
use crate::math::simd::{axpy, dot_slices};
use crate::solve::dense::{cholesky, solve_cholesky};
use crate::solve::line_search::LineSearch;

/// Settings.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Tuning {
    pub(crate) penalty: penalty::Tuning,
    /// Most unknowns: W is dense.
    pub(crate) most_unknowns: usize,
    /// A search from the impulses as they are, and one from nothing.
    pub(crate) warm: Search,
    pub(crate) cold: Search,
    /// Most unknowns of a search from nothing.
    pub(crate) most_cold_unknowns: usize,
    /// Newton steps of a round, and of the first while the impulses of the step before are believed.
    pub(crate) steps: u32,
    pub(crate) trusted_steps: u32,
    /// The sets that the impulses tell are wrong if the first round leaves more than this part of the residual.
    pub(crate) progress: f64,
    /// The semismooth Newton method is tried again where there is less than this part of what was left when it failed.
    pub(crate) nearer: f64,
    pub(crate) semismooth: semismooth_newton::Tuning,
}

/// Outer rounds, and those that make nothing better before the search ends.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Search {
    pub(crate) rounds: u32,
    pub(crate) patience: u32,
}

impl Default for Tuning {
    fn default() -> Self {
        Self {
            penalty: penalty::Tuning::default(),
            most_unknowns: 150,
            warm: Search { rounds: 12, patience: 2 },
            cold: Search { rounds: 40, patience: 16 },
            most_cold_unknowns: 60,
            steps: 20,
            trusted_steps: 6,
            progress: 0.01,
            nearer: 0.3,
            semismooth: semismooth_newton::Tuning::default(),
        }
    }
}

/// An axis of D: the first unknown of its set, and c.
#[derive(Debug, Clone, Copy)]
struct Axis {
    at: usize,
    c: [f64; 3],
}

/// Buffers.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    step: Vec<f64>,
    trial: Vec<f64>,
    trial_u: Vec<f64>,
    /// p of the outer round.
    kept: Vec<f64>,
    best: Vec<f64>,
    /// ρ of each set.
    rho: Vec<f64>,
    /// μ|u_t| of contacts; how far each presses.
    s: Vec<f64>,
    pressed: Vec<f64>,
    axes: Vec<Axis>,
    /// CᵀW, four numbers more a row than W; then the factor of 1 + CᵀWC, the upper half; y.
    V: Vec<f64>,
    G: Vec<f64>,
    y: Vec<f64>,
    penalty: Penalty,
    /// How far s follows the velocities from round to round, 0 to 1.
    blend: f64,
    pub(crate) semismooth: semismooth_newton::Scratch,
}

/// Impulses within the tolerance, if they can be found, from those of the problem; otherwise the best. Returns the residual, which
/// is never more than `first`, that of the impulses as they are.
pub(crate) fn solve(
    d: &mut DenseDelassus,
    island: &IslandProblem,
    scratch: &mut Scratch,
    tuning: &Tuning,
    first: f64,
) -> f64 {
    scratch.begin(d);
    let mut best = scratch.rounds(d, island, tuning, first, first, false);
    if best > d.tolerance && d.n <= tuning.most_cold_unknowns {
        best = scratch.rounds(d, island, tuning, first, best, true);
    }
    std::mem::swap(&mut d.p, &mut scratch.best);
    best
}

impl Scratch {
    /// p as the best so far.
    fn begin(&mut self, d: &DenseDelassus) {
        for list in [&mut self.step, &mut self.trial, &mut self.trial_u, &mut self.kept] {
            list.clear();
            list.resize(d.wide, 0.0);
        }
        for list in [&mut self.s, &mut self.pressed, &mut self.rho] {
            list.clear();
            list.resize(d.sets.len(), 0.0);
        }
        self.best.clear();
        self.best.extend_from_slice(&d.p);
    }

    /// Outer rounds from p, or from nothing if `cold`: then s begins at zero, where the problem is convex, and follows the
    /// velocities by halves, so that slipping points which chase each other come to rest. Keeps the `best`, given its
    /// residual, and returns the residual that it has then.
    fn rounds(
        &mut self,
        d: &mut DenseDelassus,
        island: &IslandProblem,
        tuning: &Tuning,
        first: f64,
        mut best: f64,
        cold: bool,
    ) -> f64 {
        let Search { rounds, mut patience } = if cold { tuning.cold } else { tuning.warm };
        self.penalty = Penalty::new(&tuning.penalty, cold);
        self.blend = if cold { 0.0 } else { 1.0 };
        if cold {
            d.p.fill(0.0);
            self.s.fill(0.0);
            d.update_velocities();
        }
        // From p itself the semismooth Newton method did not get there.
        let mut tried = first;
        for k in 0..rounds {
            let warm = k == 0 && !cold;
            let done = self.round(d, island, tuning, warm);
            self.blend = if cold { 0.5 } else { 1.0 };
            // The sets may be known by now: a cold search finds them long before it is near the law.
            if done && d.residual > d.tolerance && (cold || d.residual < tuning.nearer * tried) {
                let left = d.residual;
                if !semismooth_newton::solve(d, island, &mut self.semismooth, &tuning.semismooth, left) {
                    (d.residual, tried) = (left, left);
                }
            }
            let left = if done { d.residual } else { f64::INFINITY };
            let better = left < best;
            if better {
                best = left;
                self.best.copy_from_slice(&d.p);
            }
            if best <= d.tolerance {
                break;
            }
            self.penalty.adapt(&tuning.penalty, warm && !(left < tuning.progress * first), done);
            if better {
                continue;
            }
            if !done || self.penalty.is_at_most() {
                patience -= 1;
                if patience == 0 {
                    break;
                }
            }
            if !cold || !done {
                d.p.copy_from_slice(&self.best);
                d.update_velocities();
            }
        }
        best
    }

    /// y: the argument of the projection of set i, given u.
    fn argument(&self, d: &DenseDelassus, island: &IslandProblem, i: usize, u: &[f64]) -> Vec3 {
        let mut u = d.of(u, i);
        if let ConvexSet::Cone(k) = d.sets[i].0 {
            u += self.s[i] * island.contacts[k].normal;
        }
        d.of(&self.kept, i) - self.rho[i] * u
    }

    fn merit(&self, d: &DenseDelassus, island: &IslandProblem, p: &[f64], u: &[f64]) -> f64 {
        let mut sum = 0.0;
        for i in 0..d.n {
            sum += 0.5 * p[i] * (u[i] - d.q[i]);
        }
        for (i, (set, _)) in d.sets.iter().enumerate() {
            let y = self.argument(d, island, i, u);
            let to = island.project(*set, &y, self.pressed[i]);
            sum += to.dot(&(y - 0.5 * to)) / self.rho[i];
        }
        sum
    }

    /// One outer round; false if Newton's method did not get there. Leaves p on its sets, with u and the residual there.
    fn round(&mut self, d: &mut DenseDelassus, island: &IslandProblem, tuning: &Tuning, trust: bool) -> bool {
        self.begin_round(d, island);
        let mut last = f64::INFINITY;
        for newton in 0..if trust { tuning.trusted_steps } else { tuning.steps } {
            self.project_all(d, island, trust && newton == 0);
            let largest_of = |list: &[f64]| list.iter().fold(0.0f64, |m, x| m.max(x.abs()));
            let largest = largest_of(&d.p);
            if largest_of(&self.step) <= 1e-14 * largest {
                self.end_round(d, island);
                return true;
            }
            if !self.newton(d) {
                return false;
            }
            let Some(part) = self.line_search(d, island, &mut last) else { return false };
            if part == 1.0 && self.meets_law(d, island) {
                return true;
            }
            if part == 1.0 && newton > 0 && largest_of(&self.step) <= 1e-9 * largest {
                self.end_round(d, island);
                return true;
            }
        }
        false
    }

    /// Halves the step until the merit is not more than the `last`, and takes it: the part of it, or none.
    fn line_search(&mut self, d: &mut DenseDelassus, island: &IslandProblem, last: &mut f64) -> Option<f64> {
        let slack = if last.is_finite() { 1e-12 * last.abs() } else { 0.0 };
        let found = LineSearch::NO_RISE.search(*last, 0.0, slack, |part| {
            for i in 0..d.n {
                self.trial[i] = d.p[i] + part * self.step[i];
            }
            d.velocities(&self.trial, &mut self.trial_u);
            self.merit(d, island, &self.trial, &self.trial_u)
        })?;
        *last = found.value.min(*last);
        std::mem::swap(&mut d.p, &mut self.trial);
        std::mem::swap(&mut d.u, &mut self.trial_u);
        Some(found.part)
    }

    /// s, p_k and ρ of a round.
    fn begin_round(&mut self, d: &DenseDelassus, island: &IslandProblem) {
        let mut pressed = 0.0;
        for i in 0..d.sets.len() {
            let (set, own) = (d.sets[i].0, d.of(&d.u, i));
            self.rho[i] = self.penalty.now * island.weight(set);
            match set {
                ConvexSet::Cone(k) => {
                    let c = &island.contacts[k];
                    let now = c.friction * (own - c.normal.dot(&own) * c.normal).norm();
                    self.s[i] += self.blend * (now - self.s[i]);
                    pressed = c.normal.dot(&d.of(&d.p, i)).max(0.0);
                }
                // It follows its contact.
                ConvexSet::Spin(_) => self.pressed[i] = pressed,
                ConvexSet::Row(_) => {}
            }
        }
        self.kept.copy_from_slice(&d.p);
    }

    /// p onto its sets, with velocities and residual.
    fn end_round(&mut self, d: &mut DenseDelassus, island: &IslandProblem) {
        for i in 0..d.sets.len() {
            let (set, at) = d.sets[i];
            let to = island.project(set, &self.argument(d, island, i, &d.u), self.pressed[i]);
            (0..set.dim()).for_each(|r| self.trial[at + r] = to[r]);
        }
        std::mem::swap(&mut d.p, &mut self.trial);
        d.update_velocities();
        d.residual = d.residual_of(island, &d.p, &d.u);
    }

    /// e = P − p into `step`, and the axes of D. With `trust` the impulses say who sticks and who separates, whatever the
    /// velocities are.
    fn project_all(&mut self, d: &DenseDelassus, island: &IslandProblem, trust: bool) {
        let mut axes = std::mem::take(&mut self.axes);
        axes.clear();
        for i in 0..d.sets.len() {
            let (set, at) = d.sets[i];
            let (y, rho) = (self.argument(d, island, i, &d.u), self.rho[i]);
            let mut to = y;
            let mut note = |c: Vec3, weight: f64| {
                let c = (rho * weight).sqrt() * c;
                if c.norm_squared() > 0.0 {
                    axes.push(Axis { at, c: c.into() });
                }
            };
            let known = d.of(&self.kept, i);
            let inside = |k: usize| {
                let (c, normal) = (&island.contacts[k], island.contacts[k].normal.dot(&known));
                (known - normal * c.normal).norm() < (1.0 - 1e-9) * c.friction * normal
            };
            match set {
                ConvexSet::Cone(_) if trust && known == Vec3::zeros() => to = known,
                ConvexSet::Cone(k) if trust && inside(k) => {
                    (0..3).for_each(|k| note(Vec3::ith(k, 1.0), 1.0));
                }
                _ => to = island.project_with_axes(set, &y, self.pressed[i], note),
            }
            (0..set.dim()).for_each(|r| self.step[at + r] = to[r] - d.p[at + r]);
        }
        self.axes = axes;
    }

    /// The impulses as they are, put onto their sets: true if they are within the tolerance, and then they stay there.
    fn meets_law(&mut self, d: &mut DenseDelassus, island: &IslandProblem) -> bool {
        let mut pressed = 0.0;
        for i in 0..d.sets.len() {
            let (set, at) = d.sets[i];
            let p = island.project(set, &d.of(&d.p, i), pressed);
            if let ConvexSet::Cone(k) = set {
                pressed = island.contacts[k].normal.dot(&p).max(0.0);
            }
            (0..set.dim()).for_each(|r| self.trial[at + r] = p[r]);
        }
        d.velocities(&self.trial, &mut self.trial_u);
        let left = d.residual_of(island, &self.trial, &self.trial_u);
        if left > d.tolerance {
            return false;
        }
        d.residual = left;
        std::mem::swap(&mut d.p, &mut self.trial);
        std::mem::swap(&mut d.u, &mut self.trial_u);
        true
    }

    /// step ← Δp from e; false if the matrix is not positive definite.
    fn newton(&mut self, d: &DenseDelassus) -> bool {
        let (wide, r, W) = (d.wide, self.axes.len(), &d.W);
        let Self { axes, V, G, y, step, .. } = self;
        y.clear();
        // a, and what is left of e.
        for Axis { at, c } in &*axes {
            let own: f64 = (0..3).map(|k| c[k] * step.get(at + k).map_or(0.0, |e| *e)).sum();
            let a = own / (c[0] * c[0] + c[1] * c[1] + c[2] * c[2]);
            y.push(a);
        }
        for (Axis { at, c }, a) in axes.iter().zip(&*y) {
            (0..3).filter(|k| c[*k] != 0.0).for_each(|k| step[at + k] -= a * c[k]);
        }
        // An axis may read two numbers behind the last.
        let stride = wide + 4;
        V.resize(r * stride, 0.0);
        for (Axis { at, c }, V) in axes.iter().zip(V.chunks_exact_mut(stride)) {
            V.fill(0.0);
            for k in (0..3).filter(|k| c[*k] != 0.0) {
                axpy(V, c[k], &W[(at + k) * wide..(at + k + 1) * wide]);
            }
        }
        G.resize(r * r, 0.0);
        for (i, V) in V.chunks_exact(stride).enumerate() {
            for (g, Axis { at, c }) in G[i * r + i..(i + 1) * r].iter_mut().zip(&axes[i..]) {
                let v = &V[*at..at + 3];
                *g = c[0] * v[0] + c[1] * v[1] + c[2] * v[2];
            }
            G[i * r + i] += 1.0;
            y[i] -= dot_slices(&V[..wide], step);
        }
        if cholesky(G, r).is_err() {
            return false;
        }
        solve_cholesky(G, y);
        for (Axis { at, c }, y) in axes.iter().zip(&*y) {
            (0..3).filter(|k| c[*k] != 0.0).for_each(|k| step[at + k] += y * c[k]);
        }
        step.iter().all(|x| x.is_finite())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_of_newton_solves_its_equation() {
        // Three sets of three unknowns, one that sticks, one that slips, one row: (1 + D W) Δp = e.
        let (n, wide) = (7, 8);
        let root = |i: usize, m: usize| (1.7 * (i * n + m) as f64).sin();
        let mut d = DenseDelassus::default();
        (d.n, d.wide, d.W) = (n, wide, vec![0.0; wide * wide]);
        let mut scratch = Scratch::default();
        for (i, j) in (0..n).flat_map(|i| (0..n).map(move |j| (i, j))) {
            d.W[i * wide + j] = (0..n).map(|m| root(i, m) * root(j, m)).sum();
        }
        let axis = |at, c| Axis { at, c };
        scratch.axes = vec![
            axis(0, [3.0, 0.0, 0.0]),
            axis(0, [0.0, 3.0, 0.0]),
            axis(0, [0.0, 0.0, 3.0]),
            axis(3, [0.6, 0.8, 0.0]),
            axis(3, [-0.4, 0.3, 0.0]),
            axis(6, [2.0, 0.0, 0.0]),
        ];
        let e: Vec<f64> = (0..n).map(|k| (k as f64).cos()).collect();
        scratch.step = e.iter().copied().chain([0.0]).collect();
        assert!(scratch.newton(&d));
        let Wd: Vec<f64> =
            (0..n).map(|i| (0..n).map(|j| d.W[i * wide + j] * scratch.step[j]).sum()).collect();
        let mut left: Vec<f64> = (0..n).map(|i| scratch.step[i] - e[i]).collect();
        for Axis { at, c } in &scratch.axes {
            let own: f64 = (0..3).filter(|k| c[*k] != 0.0).map(|k| c[k] * Wd[at + k]).sum();
            (0..3).filter(|k| c[*k] != 0.0).for_each(|k| left[at + k] += own * c[k]);
        }
        assert!(left.iter().all(|l| l.abs() < 1e-11), "{left:?}");
    }
}
