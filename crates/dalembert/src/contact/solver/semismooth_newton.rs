//! Semismooth Newton on Coulomb's law itself (Alart and Curnier 1991; Acary and others 2018), for islands that know their
//! impulses nearly.
//!
//! [`dual_newton`](super::dual_newton) holds $s = \mu|u_t|$ while it solves: it gets there from anywhere, but what slips costs
//! many rounds. Near the solution the law is solved as it is. With $y = p - \rho(u + \mu|u_t| n)$, ρ = 3/tr W, a contact
//! separates if the projection of y onto its cone is zero, sticks if y is inside, and slips along $t = y_t/|y_t|$ otherwise. Then
//!
//! | | p starts as | Δp along | asks for |
//! |---|---|---|---|
//! | separates | 0 | | |
//! | sticks | p | three axes | $u^+ = 0$ |
//! | slips | $p_n(n + \mu t)$ | $n + \mu t$ | $u_n^+ = 0$ |
//! | | | $b = n\times t$ | $b\cdot u^+ + b\cdot\Delta p/\kappa = 0$, $\kappa = \mu p_n/\lvert u_t\rvert$ |
//! | row between its bounds | its impulse | one | rate⁺ = target |
//!
//! The last line of slipping is the derivative of $p_t = -\mu p_n u_t/|u_t|$: the impulse rotates as the velocity does. One small
//! system, not symmetric where something slips, gives Δp. A step may be followed by others with the same factors.
//!
//! **Regularization.** All other lines are softened, so that points which hold the same body twice share the load. It acts on the
//! change alone: 10⁻⁴ W costs nothing near the solution, and where a robot is held more often than it has dofs it keeps
//! changes small. In nearly undetermined directions such steps converge slowly: where one does not halve the residual, the next
//! is less regularized, by a factor of 30 each time, down to 10⁻⁸ W. Sliding impulses rotate during such a long step
//! (second-order error), which the regularized steps that follow remove. Where it would leave a set, the long step ends: where the
//! first point that sticks reaches the boundary of its cone, which then slips, where something separates, rotates far or reaches a
//! bound. Where no more than a small residual is left, a step that is ten times as soft ends the search. If all that fails,
//! steps of one regularization, 10⁻⁴ W and then 10⁻⁸ W, begin anew, which find anew in every step who slips; if these fail as
//! well, p is as it was.
//!
//! **Hysteresis.** A robot that is held more often than it has dofs creeps at points on the boundary of their cones: slower than
//! the tolerance, so that rounding decides whether they stick. Held, they would ask for impulses outside their cones. So what
//! was on the boundary, or left its cone by a step, goes on slipping as long as y is within a thousandth of the boundary.

use super::delassus::DenseDelassus;
use crate::contact::problem::{ConvexSet, IslandProblem};
use crate::math::Vec3;
use crate::math::simd::Lanes;
use crate::solve::dense::Lu;

/// Settings. W over a regularization is called its stiffness.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Tuning {
    /// Steps of one stiffness, and of growing stiffness.
    pub(crate) steps: u32,
    pub(crate) growing_steps: u32,
    /// Steps without progress before the search ends.
    pub(crate) patience: u32,
    /// Stiffness of the first step, which keeps changes small, and the largest.
    pub(crate) soft: f64,
    pub(crate) stiff: f64,
    /// A soft step that leaves more than half is followed by one that is stiffer than any before by this factor.
    pub(crate) growth: f64,
    /// But where it leaves less than this multiple of the tolerance, one that is softer by the other factor comes first.
    pub(crate) nearly: f64,
    pub(crate) softer: f64,
    /// Part of the radius of the cone within which a point that slipped counts as on the boundary.
    pub(crate) boundary: f64,
    /// Part of the radius of its cone by which a sliding impulse may rotate in a stiff step.
    pub(crate) rotation: f64,
    /// Times that a step is made again because points left their cones, which slip then.
    pub(crate) releases: u32,
    /// Steps that leave more than this multiple of what there was before them diverge.
    pub(crate) diverged: f64,
    /// Part of the tolerance at which no further step is made.
    pub(crate) polished: f64,
    /// Where a search began with more than this multiple of the tolerance the next one will have to search as well: then the
    /// tolerance is enough.
    pub(crate) far: f64,
}

impl Default for Tuning {
    fn default() -> Self {
        Self {
            steps: 8,
            growing_steps: 24,
            patience: 2,
            soft: 1e4,
            stiff: 1e8,
            growth: 30.0,
            nearly: 4.0,
            softer: 10.0,
            boundary: 1e-3,
            rotation: 0.5,
            releases: 4,
            diverged: 10.0,
            polished: 1e-4,
            far: 10.0,
        }
    }
}

/// A contact whose impulse may change in one or two directions: its first unknown and the number of its first direction, the
/// directions, what is asked of u there, and how many there are.
#[derive(Debug, Clone, Copy)]
struct Slip {
    at: usize,
    to: usize,
    along: [[f64; 3]; 2],
    test: [[f64; 3]; 2],
    count: usize,
}

/// Stiffness of the first step, and whether that of some of the next grows and all remember who slips.
#[derive(Debug, Clone, Copy)]
struct Attempt {
    stiffness: f64,
    grows: bool,
}

/// Directions in which impulses may change.
#[derive(Debug, Default)]
struct Directions {
    /// Contacts that stick, and rows: first unknown, number of the first direction.
    sticks: Vec<[usize; 2]>,
    rows: Vec<[usize; 2]>,
    slips: Vec<Slip>,
    /// Regularization of each direction, and where W times it is: an unknown, or a row of V behind all unknowns.
    softness: Vec<f64>,
    from: Vec<usize>,
}

/// Buffers.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    directions: Directions,
    /// W times the directions of what slips, and a row of zeros.
    V: Vec<f64>,
    factors: Lu,
    /// Right sides, then unknowns.
    y: Vec<f64>,
    start: Vec<f64>,
    from: Vec<f64>,
    from_u: Vec<f64>,
    /// Sets that go on slipping while they are near the boundary, within this part of the radius of their cones.
    slips: Vec<bool>,
    near: f64,
    kept: Vec<f64>,
    kept_u: Vec<f64>,
    /// Steps that began with the largest stiffness diverged in this search: they are not tried again.
    diverged: bool,
    /// The last step ended where something reached the boundary of its set.
    stopped: bool,
}

impl Scratch {
    /// For another search.
    pub(crate) fn begin(&mut self) {
        self.diverged = false;
    }
}

/// True if p, put onto its sets, meets the law within the tolerance; otherwise p and u are as they were. `before` is the residual of
/// p.
pub(crate) fn solve(
    d: &mut DenseDelassus,
    island: &IslandProblem,
    scratch: &mut Scratch,
    tuning: &Tuning,
    before: f64,
) -> bool {
    if d.sets.iter().any(|(set, _)| matches!(set, ConvexSet::Spin(_))) {
        return false;
    }
    scratch.start.clear();
    scratch.start.extend_from_slice(&d.p);
    let attempt = |stiffness: f64, grows: bool| Attempt { stiffness, grows };
    let attempts = [attempt(tuning.soft, true), attempt(tuning.soft, false), attempt(tuning.stiff, false)];
    for attempt in &attempts[..if scratch.diverged { 2 } else { 3 }] {
        // What slipped before goes on slipping, unless that proves wrong.
        scratch.slips.clear();
        scratch.slips.extend((0..d.sets.len()).map(|i| is_on_boundary(d, island, i)));
        scratch.near = if attempt.grows { tuning.boundary } else { 1.0 };
        if scratch.steps(d, island, tuning, *attempt, before) {
            return true;
        }
        d.p.copy_from_slice(&scratch.start);
        d.update_velocities();
    }
    false
}

/// True if the impulse of a set is as far across as friction lets it be.
fn is_on_boundary(d: &DenseDelassus, island: &IslandProblem, i: usize) -> bool {
    let ConvexSet::Cone(k) = d.sets[i].0 else { return false };
    let (c, p) = (&island.contacts[k], d.of(&d.p, i));
    let normal = c.normal.dot(&p);
    normal > 0.0 && (p - normal * c.normal).norm() >= c.friction * normal * (1.0 - 1e-9)
}

impl Scratch {
    /// Steps of an attempt; false if they do not get there.
    fn steps(
        &mut self,
        d: &mut DenseDelassus,
        island: &IslandProblem,
        tuning: &Tuning,
        attempt: Attempt,
        before: f64,
    ) -> bool {
        let (mut best, mut patience, mut far) = (f64::INFINITY, tuning.patience, 0);
        let (first, grows) = (attempt.stiffness, attempt.grows);
        let (mut stiffness, mut level, mut stopped) = (first, first, false);
        for _ in 0..if grows { tuning.growing_steps } else { tuning.steps } {
            if !self.step(d, island, tuning, stiffness, stiffness > first) {
                return false;
            }
            self.refine(d, island, tuning, before);
            if d.residual <= d.tolerance {
                return true;
            }
            let diverges = !(d.residual <= tuning.diverged * before);
            far = if diverges { far + 1 } else { 0 };
            // Impulses that rotate far leave much to the step that follows.
            if far > u32::from(stiffness > first) {
                self.diverged |= first == tuning.stiff;
                return false;
            }
            let better = d.residual < 0.5 * best;
            best = best.min(d.residual);
            if !grows {
                self.slips.fill(false);
            } else if stiffness > first || better {
                // What the last stiff step met counts while soft steps follow: the next one is as stiff.
                stopped = self.stopped || stiffness == first && stopped;
                stiffness = first;
                continue;
            } else if stiffness == first && d.residual < tuning.nearly * d.tolerance {
                stiffness = first / tuning.softer;
                continue;
            } else if level < tuning.stiff {
                if !stopped {
                    level = (level * tuning.growth).min(tuning.stiff);
                }
                stiffness = level;
                continue;
            }
            if better {
                patience = tuning.patience;
            } else {
                patience -= 1;
                if patience == 0 {
                    return false;
                }
            }
        }
        false
    }

    /// Further steps with the factors at hand as long as each leaves a quarter or less, kept if they are good: what a step
    /// leaves comes from impulses that rotate, and the factors are good for that still. Then one more than asked for, unless
    /// what there was `before` the search is far above the tolerance: the next step of time begins from impulses that stay
    /// true for longer.
    fn refine(&mut self, d: &mut DenseDelassus, island: &IslandProblem, tuning: &Tuning, before: f64) {
        let enough = if before > tuning.far * d.tolerance { 1.0 } else { tuning.polished } * d.tolerance;
        while d.residual > enough {
            let left = d.residual;
            self.kept.clear();
            self.kept.extend_from_slice(&d.p);
            self.kept_u.clear();
            self.kept_u.extend_from_slice(&d.u);
            let finite = self.add_change(d);
            if finite {
                d.project(island);
            }
            if !finite || !(d.residual < left) {
                d.p.copy_from_slice(&self.kept);
                d.u.copy_from_slice(&self.kept_u);
                d.residual = left;
                return;
            }
            if left <= d.tolerance || d.residual > 0.25 * left {
                return;
            }
        }
    }

    /// A step from p, whose velocities u are known, and the projection onto the sets, with the residual there; false if
    /// the system is singular.
    ///
    /// A point that seems to stick and by the step would leave its cone slips: the step is made again with that known. A `long` one
    /// ends where the first of them does so, or where something else reaches the boundary of its set.
    fn step(
        &mut self,
        d: &mut DenseDelassus,
        island: &IslandProblem,
        tuning: &Tuning,
        stiffness: f64,
        long: bool,
    ) -> bool {
        self.from.clear();
        self.from.extend_from_slice(&d.p);
        self.from_u.clear();
        self.from_u.extend_from_slice(&d.u);
        for again in 0..=tuning.releases {
            if again > 0 {
                d.p.copy_from_slice(&self.from);
                d.u.copy_from_slice(&self.from_u);
            }
            let sticks = self.choose_directions(d, island, stiffness);
            if d.p != self.from {
                d.update_velocities();
            }
            if long {
                self.kept.clear();
                self.kept.extend_from_slice(&d.p);
            }
            if !self.solve_step(d) {
                return false;
            }
            self.stopped = long && self.stop_at_boundary(d, island, tuning);
            if self.stopped || !sticks || !self.release(d, island) {
                break;
            }
        }
        d.project(island);
        true
    }

    /// Marks the points that stick outside their cones; true if there is a new one.
    fn release(&mut self, d: &DenseDelassus, island: &IslandProblem) -> bool {
        let mut any = false;
        for (i, &(set, _)) in d.sets.iter().enumerate() {
            if let ConvexSet::Cone(k) = set
                && !self.slips[i]
            {
                let (c, p) = (&island.contacts[k], d.of(&d.p, i));
                let normal = c.normal.dot(&p);
                let out = normal > 0.0 && (p - normal * c.normal).norm() > c.friction * normal * (1.0 + 1e-9);
                self.slips[i] = out;
                any |= out;
            }
        }
        any
    }

    /// Shortens a step so that it ends where the first of the points that stick reaches the boundary of its cone, which is
    /// marked, where the first that slips separates or has rotated far, or where the first row reaches a bound; false if none
    /// does.
    fn stop_at_boundary(&mut self, d: &mut DenseDelassus, island: &IslandProblem, tuning: &Tuning) -> bool {
        let Directions { sticks, slips, rows, .. } = &self.directions;
        let (mut sticks, mut slips, mut rows) =
            (sticks.iter().peekable(), slips.iter().peekable(), rows.iter().peekable());
        let mut first = (1.0, None);
        for (i, &(set, at)) in d.sets.iter().enumerate() {
            let from = d.of(&self.kept, i);
            let change = d.of(&d.p, i) - from;
            let mut stop = |t: f64, mark: Option<usize>| {
                if t < first.0 {
                    first = (t, mark);
                }
            };
            match set {
                ConvexSet::Cone(k) if sticks.next_if(|[stick, _]| *stick == at).is_some() => {
                    let c = &island.contacts[k];
                    stop(distance_to_boundary(&from, &change, &c.normal, c.friction), Some(i));
                }
                ConvexSet::Cone(k) => {
                    let Some(slip) = slips.next_if(|slip| slip.at == at) else { continue };
                    let c = &island.contacts[k];
                    let (pressed, less) = (c.normal.dot(&from), -c.normal.dot(&change));
                    if pressed > 0.0 && less > pressed {
                        stop(pressed / less, None);
                    }
                    let turned = Vec3::from(slip.along[1]).dot(&change).abs();
                    let most = tuning.rotation * c.friction * pressed;
                    if slip.count == 2 && turned > most {
                        stop(most / turned, None);
                    }
                }
                ConvexSet::Row(k) if rows.next_if(|[row, _]| *row == at).is_some() => {
                    let row = &island.rows[k];
                    let most = if change.x > 0.0 { row.high - from.x } else { from.x - row.low };
                    if change.x.abs() > most {
                        stop(most / change.x.abs(), None);
                    }
                }
                _ => {}
            }
        }
        let (part, mark) = first;
        if part == 1.0 {
            return false;
        }
        if let Some(i) = mark {
            self.slips[i] = true;
        }
        d.p.iter_mut().zip(&self.kept).for_each(|(p, from)| *p = from + part * (*p - from));
        true
    }

    /// Who separates, sticks and slips; p becomes what the step starts from. True if something sticks.
    fn choose_directions(&mut self, d: &mut DenseDelassus, island: &IslandProblem, stiffness: f64) -> bool {
        let Self { directions, slips, near, .. } = self;
        let near = *near;
        directions.clear();
        for i in 0..d.sets.len() {
            let (set, at) = d.sets[i];
            let (u, p, rho) = (d.of(&d.u, i), d.of(&d.p, i), island.weight(set));
            let softness = 1.0 / (stiffness * rho);
            let mut new = p;
            match set {
                ConvexSet::Cone(k) => {
                    let c = &island.contacts[k];
                    let (n, mu) = (&c.normal, c.friction);
                    let across = u - n.dot(&u) * n;
                    let y = p - rho * (u + mu * across.norm() * n);
                    let normal = n.dot(&y);
                    let side = y - normal * n;
                    let size = side.norm();
                    if mu * size <= -normal || (mu == 0.0 && normal <= 0.0) {
                        new = Vec3::zeros();
                    } else if mu == 0.0 {
                        new = n.dot(&p).max(0.0) * n;
                        directions.slip(at, [*n; 2], [*n; 2], &[softness]);
                    } else if size <= mu * normal && !(slips[i] && size >= (1.0 - near) * mu * normal) {
                        directions.stick(at, softness);
                    } else {
                        let (t, pressed) = (side / size.max(f64::MIN_POSITIVE), n.dot(&p).max(0.0));
                        let edge = n + mu * t;
                        new = pressed * edge;
                        let (b, fast) = (n.cross(&t), (size - mu * pressed).max(0.0) / rho);
                        let soft = [softness, softness.max(fast / (mu * pressed))];
                        directions.slip(
                            at,
                            [edge, b],
                            [*n, b],
                            if pressed > 0.0 { &soft } else { &soft[..1] },
                        );
                    }
                }
                ConvexSet::Row(k) => {
                    let row = &island.rows[k];
                    let y = p.x - rho * u.x;
                    new.x = y.clamp(row.low, row.high);
                    if new.x == y {
                        new.x = p.x;
                        directions.hold(at, softness);
                    }
                }
                ConvexSet::Spin(_) => {}
            }
            (0..set.dim()).for_each(|r| d.p[at + r] = new[r]);
        }
        !directions.sticks.is_empty()
    }

    /// p += Δp; false if the system is singular.
    fn solve_step(&mut self, d: &mut DenseDelassus) -> bool {
        let Self { directions, V, factors, .. } = self;
        directions.multiply(d, V);
        directions.fill_system(d, V, factors);
        if !factors.factor() {
            directions.fill_system(d, V, factors);
            if !factors.factor_with_exchanges() {
                return false;
            }
        }
        self.add_change(d)
    }

    /// p += Δp with the factors at hand; false if it is not finite.
    fn add_change(&mut self, d: &mut DenseDelassus) -> bool {
        let Self { directions, factors, y, .. } = self;
        let (u, p) = (&d.u, &mut d.p);
        y.resize(directions.softness.len(), 0.0);
        for &[at, to] in &directions.sticks {
            (0..3).for_each(|k| y[to + k] = -u[at + k]);
        }
        for slip in &directions.slips {
            let u = &u[slip.at..slip.at + 3];
            let seen = |test: &[f64; 3]| -(test[0] * u[0] + test[1] * u[1] + test[2] * u[2]);
            (0..slip.count).for_each(|k| y[slip.to + k] = seen(&slip.test[k]));
        }
        directions.rows.iter().for_each(|&[at, to]| y[to] = -u[at]);
        factors.solve(y);
        for &[at, to] in &directions.sticks {
            (0..3).for_each(|k| p[at + k] += y[to + k]);
        }
        for slip in &directions.slips {
            let p = &mut p[slip.at..slip.at + 3];
            for (along, y) in slip.along[..slip.count].iter().zip(&y[slip.to..]) {
                (0..3).for_each(|k| p[k] += y * along[k]);
            }
        }
        directions.rows.iter().for_each(|&[at, to]| p[at] += y[to]);
        y.iter().all(|y| y.is_finite())
    }
}

/// The smallest t ≥ 0 at which p + t d leaves the cone about n: the root of $|p_t + t d_t|^2 = \mu^2(p_n + t d_n)^2$.
fn distance_to_boundary(p: &Vec3, d: &Vec3, n: &Vec3, mu: f64) -> f64 {
    let (p_n, d_n) = (n.dot(p), n.dot(d));
    let (p_t, d_t) = (p - p_n * n, d - d_n * n);
    let a = d_t.norm_squared() - mu * mu * d_n * d_n;
    let b = p_t.dot(&d_t) - mu * mu * p_n * d_n;
    let c = p_t.norm_squared() - mu * mu * p_n * p_n;
    let root = (b * b - a * c).max(0.0).sqrt();
    // The one of the two forms of the root that has no difference in it.
    if b > 0.0 && c >= 0.0 {
        0.0
    } else if b > 0.0 && b * b >= a * c {
        -c / (b + root)
    } else if b <= 0.0 && a > 0.0 {
        (root - b) / a
    } else {
        f64::INFINITY
    }
}

impl Directions {
    fn clear(&mut self) {
        self.sticks.clear();
        self.rows.clear();
        self.slips.clear();
        self.softness.clear();
        self.from.clear();
    }

    /// A contact that sticks.
    fn stick(&mut self, at: usize, softness: f64) {
        self.sticks.push([at, self.softness.len()]);
        self.softness.extend([softness; 3]);
        self.from.extend(at..at + 3);
    }

    /// A row between its bounds.
    fn hold(&mut self, at: usize, softness: f64) {
        self.rows.push([at, self.softness.len()]);
        self.softness.push(softness);
        self.from.push(at);
    }

    /// A contact that may change in as many directions as have a softness.
    fn slip(&mut self, at: usize, along: [Vec3; 2], test: [Vec3; 2], softness: &[f64]) {
        let (along, test) = (along.map(|v| v.into()), test.map(|v| v.into()));
        self.slips.push(Slip { at, to: self.softness.len(), along, test, count: softness.len() });
        self.softness.extend_from_slice(softness);
        self.from.extend(softness.iter().map(|_| usize::MAX));
    }

    /// V: W times each direction of what slips.
    fn multiply(&mut self, d: &DenseDelassus, V: &mut Vec<f64>) {
        let (n, wide) = (d.n, d.wide);
        let Self { slips, softness, from, .. } = self;
        let count: usize = slips.iter().map(|s| s.count).sum();
        V.resize((count + 1) * wide + 4, 0.0);
        let (rows, _) = V.as_chunks_mut::<4>();
        let mut rows = rows.chunks_exact_mut(wide / 4);
        let mut next = n..;
        for slip in &*slips {
            from[slip.to..].iter_mut().zip(next.by_ref().take(slip.count)).for_each(|(to, k)| *to = k);
            let (W, _) = d.W[slip.at * wide..(slip.at + 3) * wide].as_chunks::<4>();
            let (x, rest) = W.split_at(wide / 4);
            let (y, z) = rest.split_at(wide / 4);
            for (along, row) in slip.along[..slip.count].iter().zip(&mut rows) {
                let c = along.map(Lanes::splat);
                for (((to, x), y), z) in row.iter_mut().zip(x).zip(y).zip(z) {
                    let sum = c[1].mul_add(Lanes::from(*y), c[0] * Lanes::from(*x));
                    *to = c[2].mul_add(Lanes::from(*z), sum).to_array();
                }
            }
        }
        V[count * wide..].fill(0.0);
        // Some more, to a multiple of four.
        from.resize(softness.len().next_multiple_of(4), n + count);
    }

    /// The matrix: what is asked for times W times the directions. Four directions are turned so that they lie side by side,
    /// for one contact after the other.
    fn fill_system(&self, d: &DenseDelassus, V: &[f64], factors: &mut Lu) {
        let (n, wide, r) = (d.n, d.wide, self.softness.len());
        let fours = r.div_ceil(4).max(1);
        let A = factors.begin(r);
        let row = |from: usize| {
            let (list, k) = if from < n { (&d.W[..], from) } else { (V, from - n) };
            &list[k * wide..][..wide + 4]
        };
        for (j, from) in self.from.as_chunks::<4>().0.iter().enumerate() {
            let rows = from.map(row);
            let four = |at: usize| {
                let number =
                    |row: &[f64]| row[at..].first_chunk().map_or(Lanes::ZERO, |x: &[f64; 4]| Lanes::from(*x));
                Lanes::transpose(rows.map(number))
            };
            let mut put = |i: usize, numbers: Lanes| {
                A[i * fours + j] = numbers.to_array();
            };
            for &[at, to] in &self.sticks {
                let [x, y, z, _] = four(at);
                put(to, x);
                put(to + 1, y);
                put(to + 2, z);
            }
            for slip in &self.slips {
                let [x, y, z, _] = four(slip.at);
                for (k, test) in slip.test[..slip.count].iter().enumerate() {
                    let c = test.map(Lanes::splat);
                    put(slip.to + k, c[2].mul_add(z, c[1].mul_add(y, c[0] * x)));
                }
            }
            for &[at, to] in &self.rows {
                put(to, Lanes::from(rows.map(|row| row[at])));
            }
        }
        for (i, softness) in self.softness.iter().enumerate() {
            A[i * fours + i / 4][i % 4] += softness;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::Random;

    #[test]
    fn a_line_from_inside_a_cone_leaves_it_where_it_meets_the_boundary() {
        let mut random = Random::new(11);
        let mut vector = || Vec3::from_fn(|_, _| random.between(-1.0, 1.0));
        let (mut met, mut free) = (0, 0);
        for k in 0..2_000 {
            let (n, mu) = (vector().normalize(), [0.1, 0.5, 2.0][k % 3]);
            let across = |v: &Vec3| v - n.dot(v) * n;
            let depth = |p: &Vec3| mu * n.dot(p) - across(p).norm();
            let side = across(&vector());
            let share = if k % 5 == 0 { 1.0 } else { 0.9 * vector().x.abs() };
            let p = n + share * mu * side / side.norm();
            let d = vector();
            let t = distance_to_boundary(&p, &d, &n, mu);
            assert!(t >= 0.0, "{k}: {t}");
            // Inside up to there, and outside behind it; without end if there is no such place.
            let end = if t.is_finite() { t } else { 100.0 };
            for part in [0.1, 0.5, 0.9, 0.999] {
                assert!(depth(&(p + part * end * d)) > -1e-9 * (1.0 + end), "{k}: {t}");
            }
            if t.is_finite() {
                met += 1;
                assert!(depth(&(p + t * d)).abs() < 1e-9 * (1.0 + t) * (1.0 + t), "{k}: {t}");
                assert!(depth(&(p + (1.0 + 1e-3) * (t + 1e-6) * d)) < 0.0, "{k}: {t}");
            } else {
                free += 1;
            }
        }
        assert!(met > 500 && free > 100, "{met} {free}");
    }
}
