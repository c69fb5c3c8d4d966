//! Newton's method on Coulomb's law itself, for islands that know their impulses nearly.
//!
//! The rounds of [`super::dense`] hold $s = \mu|u_t|$ while they solve: they get there from anywhere, but what slips costs
//! many of them. Near the answer the law is solved as it is. With $y = p - \rho(u + \mu|u_t| n)$, ρ = 3/tr W, a contact parts if
//! the projection of y onto its cone is zero, sticks if y is inside, and slips along $t = y_t/|y_t|$ otherwise. Then
//!
//! | | p starts as | Δp along | asks for |
//! |---|---|---|---|
//! | parts | 0 | | |
//! | sticks | p | three axes | $u^+ = 0$ |
//! | slips | $p_n(n + \mu t)$ | $n + \mu t$ | $u_n^+ = 0$ |
//! | | | $b = n\times t$ | $b\cdot u^+ + b\cdot\Delta p/\kappa = 0$, $\kappa = \mu p_n/\lvert u_t\rvert$ |
//! | row between its bounds | its impulse | one | rate⁺ = target |
//!
//! The last line of slipping is the slope of $p_t = -\mu p_n u_t/|u_t|$: the impulse turns as the velocity does. The others have
//! a softness, so that points which hold the same body twice share what they bear. It acts on the change alone, so 10⁻⁴ W
//! costs nothing near the answer, and a robot that is held more often than it has dofs does not leave it for a large change
//! that makes a small difference. In directions that are nearly undetermined such steps come slowly to what is left, though: where a
//! step does not halve it, the next one is less soft, by a factor of 30 each time, down to 10⁻⁸ W. It goes far, impulses that
//! slip turn on its way, and that leaves an error of second order where all is determined: the steps that follow are soft
//! again and take it away. Where something is held more often than it has dofs, such a step goes along impulses that change no
//! velocity until one of its points has to slip: it ends where the first of them comes to the rim of its cone, and that one slips
//! in the steps that follow, or where something else parts, turns far or comes to a bound. The soft steps make a little of that
//! error themselves. Where no more than this is left, one that is ten times as soft ends the search. Where all that leads
//! nowhere, steps with one softness, 10⁻⁴ W and then 10⁻⁸ W, begin anew; who slips is then found anew in every step. One small
//! system, not symmetric where something slips, gives Δp; steps follow until the law holds, and if they do not get there the
//! rounds have their turn from where the steps began. A step may be followed by others with the same factors, which cost little.
//!
//! A robot that is held more often than it has dofs creeps at points whose impulse is as large across as friction lets it be:
//! slower than the tolerance, so that the signs of rounding say whether they stick. Held, they would ask for impulses outside
//! their cones. So what was on the rim, or left its cone by a step, slips on in the steps that follow and in the next try of the
//! step, as long as y is within a thousandth of the rim; farther inside it sticks.

use super::dense::Dense;
use super::direct::STIFF;
use super::lanes::Lanes;
use super::units::{Parts, Unit};
use crate::math::Vec3;
use crate::solve::dense::Lu;

/// Steps, and those that are less and less soft.
const STEPS: u32 = 8;
const CLIMBING_STEPS: u32 = 24;
/// Steps that do not make the best of all before the search ends.
const PATIENCE: u32 = 2;

/// W over the softness of the first step, which shies away from large changes.
const SHY: f64 = 1e4;
/// A soft step that leaves more than half is followed by one that is less soft than any before by this factor.
const CLIMB: f64 = 30.0;
/// But where it leaves less than this multiple of the tolerance, one that is softer by the other factor comes first.
const NEARLY: f64 = 4.0;
const GENTLE: f64 = 10.0;

/// Part of the radius of the cone within which a point that slipped is on the rim still.
const RIM: f64 = 1e-3;

/// Part of the radius of its cone by which an impulse that slips may turn in a step that goes far.
const TURN: f64 = 0.5;

/// Times that points which leave their cones are let slip.
const LET_SLIP: u32 = 4;

/// Steps that leave more than this multiple of what there was before them lead away.
const ASTRAY: f64 = 10.0;

/// Part of the tolerance at which no further step is made.
const POLISHED: f64 = 1e-4;
/// Where a search began with more than this multiple of the tolerance the next one will have to search as well: then the
/// tolerance is enough.
const FAR: f64 = 10.0;

/// A contact whose impulse may change in one or two directions: its first unknown and its first way, the directions, what is
/// asked of u there, and how many there are.
#[derive(Debug, Clone, Copy)]
struct Slip {
    at: usize,
    to: usize,
    along: [[f64; 3]; 2],
    test: [[f64; 3]; 2],
    count: usize,
}

/// How steps go: W over the softness of the first, and whether some of the next ones are less and less soft and all remember
/// who slips.
#[derive(Debug, Clone, Copy)]
struct Pace {
    stiff: f64,
    climb: bool,
}

/// Ways in which impulses may change.
#[derive(Debug, Default)]
struct Ways {
    /// Contacts that stick, and rows: first unknown, first way.
    sticks: Vec<[usize; 2]>,
    rows: Vec<[usize; 2]>,
    slips: Vec<Slip>,
    /// Softness of each way, and where W times its direction is: an unknown, or a row of V behind all unknowns.
    softness: Vec<f64>,
    from: Vec<usize>,
}

/// Buffers.
#[derive(Debug, Default)]
pub(super) struct Swift {
    ways: Ways,
    /// W times the directions of what slips, and a row of zeros.
    V: Vec<f64>,
    factors: Lu,
    /// Right sides, then unknowns.
    y: Vec<f64>,
    start: Vec<f64>,
    from: Vec<f64>,
    from_u: Vec<f64>,
    /// Units that slip on while they are near their rims, within this part of the radius of their cones.
    slips: Vec<bool>,
    near: f64,
    kept: Vec<f64>,
    kept_u: Vec<f64>,
    /// Steps that began with the smallest softness led away in this search: they are not tried again.
    astray: bool,
    /// The last step ended where something came to the rim of its set.
    stopped: bool,
}

impl Swift {
    /// For another search.
    pub(super) fn begin(&mut self) {
        self.astray = false;
    }
}

impl Dense {
    /// True if p, put onto its sets, meets the law within the tolerance; otherwise p and u are as they were. `before` is
    /// how far p is from what the laws allow.
    pub(super) fn go_swiftly(&mut self, parts: &Parts, swift: &mut Swift, before: f64) -> bool {
        if self.units.iter().any(|(unit, _)| matches!(unit, Unit::Spin(_))) {
            return false;
        }
        swift.start.clear();
        swift.start.extend_from_slice(&self.p);
        let pace = |stiff: f64, climb: bool| Pace { stiff, climb };
        let paces = [pace(SHY, true), pace(SHY, false), pace(STIFF, false)];
        for pace in &paces[..if swift.astray { 2 } else { 3 }] {
            // What slipped before slips on, unless that proves wrong.
            swift.slips.clear();
            swift.slips.extend((0..self.units.len()).map(|i| self.on_rim(parts, i)));
            swift.near = if pace.climb { RIM } else { 1.0 };
            if self.go_along(parts, swift, *pace, before) {
                return true;
            }
            self.p.copy_from_slice(&swift.start);
            self.velocities_of_p();
        }
        false
    }

    /// Steps at a pace; false if they do not get there.
    fn go_along(&mut self, parts: &Parts, swift: &mut Swift, pace: Pace, before: f64) -> bool {
        let (mut best, mut patience, mut far) = (f64::INFINITY, PATIENCE, 0);
        let (mut stiff, mut level, mut stopped) = (pace.stiff, pace.stiff, false);
        for _ in 0..if pace.climb { CLIMBING_STEPS } else { STEPS } {
            if !self.step_once(parts, swift, stiff, stiff > pace.stiff) {
                return false;
            }
            self.go_on(parts, swift, before);
            if self.left <= self.tolerance {
                return true;
            }
            let astray = !(self.left <= ASTRAY * before);
            far = if astray { far + 1 } else { 0 };
            // Impulses that turn far leave much to the step that follows.
            if far > u32::from(stiff > pace.stiff) {
                swift.astray |= pace.stiff == STIFF;
                return false;
            }
            let better = self.left < 0.5 * best;
            best = best.min(self.left);
            if !pace.climb {
                swift.slips.fill(false);
            } else if stiff > pace.stiff || better {
                // What the last far step met counts while soft steps follow: the next one goes as far.
                stopped = swift.stopped || stiff == pace.stiff && stopped;
                stiff = pace.stiff;
                continue;
            } else if stiff == pace.stiff && self.left < NEARLY * self.tolerance {
                stiff = pace.stiff / GENTLE;
                continue;
            } else if level < STIFF {
                if !stopped {
                    level = (level * CLIMB).min(STIFF);
                }
                stiff = level;
                continue;
            }
            if better {
                patience = PATIENCE;
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
    /// leaves comes from impulses that turn, and the factors are good for that still. Then one more than asked for, unless
    /// what there was `before` the search is far above the tolerance: the next step of time begins from impulses that stay
    /// true for longer.
    fn go_on(&mut self, parts: &Parts, swift: &mut Swift, before: f64) {
        let enough = if before > FAR * self.tolerance { self.tolerance } else { POLISHED * self.tolerance };
        while self.left > enough {
            let left = self.left;
            swift.kept.clear();
            swift.kept.extend_from_slice(&self.p);
            swift.kept_u.clear();
            swift.kept_u.extend_from_slice(&self.u);
            let went = self.go_ways(swift);
            if went {
                self.project_all(parts);
            }
            if !went || !(self.left < left) {
                self.p.copy_from_slice(&swift.kept);
                self.u.copy_from_slice(&swift.kept_u);
                self.left = left;
                return;
            }
            if left <= self.tolerance || self.left > 0.25 * left {
                return;
            }
        }
    }

    /// A step from p, whose velocities u are known, and the projection onto the sets, with what is `left` there; false if
    /// the system is singular.
    ///
    /// A point that seems to stick and by the step would leave its cone slips: the step is made again with that known. One that
    /// goes `far` ends where the first of them does so, or where something else has come to the end of its way.
    fn step_once(&mut self, parts: &Parts, swift: &mut Swift, stiff: f64, far: bool) -> bool {
        swift.from.clear();
        swift.from.extend_from_slice(&self.p);
        swift.from_u.clear();
        swift.from_u.extend_from_slice(&self.u);
        for again in 0..=LET_SLIP {
            if again > 0 {
                self.p.copy_from_slice(&swift.from);
                self.u.copy_from_slice(&swift.from_u);
            }
            let stick = self.choose_ways(parts, stiff, swift);
            if self.p != swift.from {
                self.velocities_of_p();
            }
            if far {
                swift.kept.clear();
                swift.kept.extend_from_slice(&self.p);
            }
            if !self.step_ways(swift) {
                return false;
            }
            swift.stopped = far && self.stop_at_rims(parts, swift);
            if swift.stopped || !stick || !self.leave_cones(parts, swift) {
                break;
            }
        }
        self.project_all(parts);
        true
    }

    /// p onto the sets, with its velocities and what is `left`.
    fn project_all(&mut self, parts: &Parts) {
        for i in 0..self.units.len() {
            let (unit, at) = self.units[i];
            let p = parts.project(unit, &self.of(&self.p, i), 0.0);
            (0..Self::dim(unit)).for_each(|r| self.p[at + r] = p[r]);
        }
        self.velocities_of_p();
        self.left = self.unrest(parts, &self.p, &self.u);
    }

    /// True if the impulse of a unit is as far across as friction lets it be.
    fn on_rim(&self, parts: &Parts, i: usize) -> bool {
        let Unit::Cone(k) = self.units[i].0 else { return false };
        let (c, p) = (&parts.contacts[k], self.of(&self.p, i));
        let normal = c.normal.dot(&p);
        normal > 0.0 && (p - normal * c.normal).norm() >= c.friction * normal * (1.0 - 1e-9)
    }

    /// Marks the points that stick outside their cones; true if there is a new one.
    fn leave_cones(&self, parts: &Parts, swift: &mut Swift) -> bool {
        let mut any = false;
        for (i, &(unit, _)) in self.units.iter().enumerate() {
            if let Unit::Cone(k) = unit
                && !swift.slips[i]
            {
                let (c, p) = (&parts.contacts[k], self.of(&self.p, i));
                let normal = c.normal.dot(&p);
                let out = normal > 0.0 && (p - normal * c.normal).norm() > c.friction * normal * (1.0 + 1e-9);
                swift.slips[i] = out;
                any |= out;
            }
        }
        any
    }

    /// Shortens a step so that it ends where the first of the points that stick comes to the rim of its cone, which is marked, where
    /// the first that slips parts or has turned far, or where the first row comes to a bound; false if none does.
    fn stop_at_rims(&mut self, parts: &Parts, swift: &mut Swift) -> bool {
        let Ways { sticks, slips, rows, .. } = &swift.ways;
        let (mut sticks, mut slips, mut rows) =
            (sticks.iter().peekable(), slips.iter().peekable(), rows.iter().peekable());
        let mut first = (1.0, None);
        for (i, &(unit, at)) in self.units.iter().enumerate() {
            let from = self.of(&swift.kept, i);
            let d = self.of(&self.p, i) - from;
            let mut stop = |t: f64, mark: Option<usize>| {
                if t < first.0 {
                    first = (t, mark);
                }
            };
            match unit {
                Unit::Cone(k) if sticks.next_if(|[stick, _]| *stick == at).is_some() => {
                    let c = &parts.contacts[k];
                    stop(way_to_rim(&from, &d, &c.normal, c.friction), Some(i));
                }
                Unit::Cone(k) => {
                    let Some(slip) = slips.next_if(|slip| slip.at == at) else { continue };
                    let c = &parts.contacts[k];
                    let (pressed, less) = (c.normal.dot(&from), -c.normal.dot(&d));
                    if pressed > 0.0 && less > pressed {
                        stop(pressed / less, None);
                    }
                    let turn = Vec3::from(slip.along[1]).dot(&d).abs();
                    let far = TURN * c.friction * pressed;
                    if slip.count == 2 && turn > far {
                        stop(far / turn, None);
                    }
                }
                Unit::Row(k) if rows.next_if(|[row, _]| *row == at).is_some() => {
                    let row = &parts.rows[k];
                    let room = if d.x > 0.0 { row.high - from.x } else { from.x - row.low };
                    if d.x.abs() > room {
                        stop(room / d.x.abs(), None);
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
            swift.slips[i] = true;
        }
        self.p.iter_mut().zip(&swift.kept).for_each(|(p, from)| *p = from + part * (*p - from));
        true
    }

    /// Who parts, sticks and slips; p becomes what the steps start from. True if something sticks.
    fn choose_ways(&mut self, parts: &Parts, stiff: f64, swift: &mut Swift) -> bool {
        let Swift { ways, slips, near, .. } = swift;
        let near = *near;
        ways.clear();
        for i in 0..self.units.len() {
            let (unit, at) = self.units[i];
            let (u, p, rho) = (self.of(&self.u, i), self.of(&self.p, i), parts.weight(unit));
            let softness = 1.0 / (stiff * rho);
            let mut new = p;
            match unit {
                Unit::Cone(k) => {
                    let c = &parts.contacts[k];
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
                        ways.slip(at, [*n; 2], [*n; 2], &[softness]);
                    } else if size <= mu * normal && !(slips[i] && size >= (1.0 - near) * mu * normal) {
                        ways.stick(at, softness);
                    } else {
                        let (t, pressed) = (side / size.max(f64::MIN_POSITIVE), n.dot(&p).max(0.0));
                        let rim = n + mu * t;
                        new = pressed * rim;
                        let (b, fast) = (n.cross(&t), (size - mu * pressed).max(0.0) / rho);
                        let soft = [softness, softness.max(fast / (mu * pressed))];
                        ways.slip(at, [rim, b], [*n, b], if pressed > 0.0 { &soft } else { &soft[..1] });
                    }
                }
                Unit::Row(k) => {
                    let row = &parts.rows[k];
                    let y = p.x - rho * u.x;
                    new.x = y.clamp(row.low, row.high);
                    if new.x == y {
                        new.x = p.x;
                        ways.hold(at, softness);
                    }
                }
                Unit::Spin(_) => {}
            }
            (0..Self::dim(unit)).for_each(|r| self.p[at + r] = new[r]);
        }
        !ways.sticks.is_empty()
    }

    /// p += Δp; false if the system is singular.
    fn step_ways(&mut self, swift: &mut Swift) -> bool {
        let Swift { ways, V, factors, .. } = swift;
        self.turn_rows(ways, V);
        self.fill_system(ways, V, factors);
        if !factors.factor() {
            self.fill_system(ways, V, factors);
            if !factors.factor_with_exchanges() {
                return false;
            }
        }
        self.go_ways(swift)
    }

    /// V: W times each direction of what slips.
    fn turn_rows(&self, ways: &mut Ways, V: &mut Vec<f64>) {
        let (n, wide) = (self.n, self.wide);
        let Ways { slips, softness, from, .. } = ways;
        let count: usize = slips.iter().map(|s| s.count).sum();
        V.resize((count + 1) * wide + 4, 0.0);
        let (rows, _) = V.as_chunks_mut::<4>();
        let mut rows = rows.chunks_exact_mut(wide / 4);
        let mut next = n..;
        for slip in &*slips {
            from[slip.to..].iter_mut().zip(next.by_ref().take(slip.count)).for_each(|(to, k)| *to = k);
            let (W, _) = self.W[slip.at * wide..(slip.at + 3) * wide].as_chunks::<4>();
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
    fn fill_system(&self, ways: &Ways, V: &[f64], factors: &mut Lu) {
        let (n, wide, r) = (self.n, self.wide, ways.softness.len());
        let fours = r.div_ceil(4).max(1);
        let A = factors.begin(r);
        let row = |from: usize| {
            let (list, k) = if from < n { (&self.W[..], from) } else { (V, from - n) };
            &list[k * wide..][..wide + 4]
        };
        for (j, from) in ways.from.as_chunks::<4>().0.iter().enumerate() {
            let rows = from.map(row);
            let four = |at: usize| {
                let number =
                    |row: &[f64]| row[at..].first_chunk().map_or(Lanes::ZERO, |x: &[f64; 4]| Lanes::from(*x));
                Lanes::transpose(rows.map(number))
            };
            let mut put = |i: usize, numbers: Lanes| {
                A[i * fours + j] = numbers.to_array();
            };
            for &[at, to] in &ways.sticks {
                let [x, y, z, _] = four(at);
                put(to, x);
                put(to + 1, y);
                put(to + 2, z);
            }
            for slip in &ways.slips {
                let [x, y, z, _] = four(slip.at);
                for (k, test) in slip.test[..slip.count].iter().enumerate() {
                    let c = test.map(Lanes::splat);
                    put(slip.to + k, c[2].mul_add(z, c[1].mul_add(y, c[0] * x)));
                }
            }
            for &[at, to] in &ways.rows {
                put(to, Lanes::from(rows.map(|row| row[at])));
            }
        }
        for (i, softness) in ways.softness.iter().enumerate() {
            A[i * fours + i / 4][i % 4] += softness;
        }
    }

    /// p += Δp with the factors at hand; false if it is not finite.
    fn go_ways(&mut self, swift: &mut Swift) -> bool {
        let Swift { ways, factors, y, .. } = swift;
        let (u, p) = (&self.u, &mut self.p);
        y.resize(ways.softness.len(), 0.0);
        for &[at, to] in &ways.sticks {
            (0..3).for_each(|k| y[to + k] = -u[at + k]);
        }
        for slip in &ways.slips {
            let u = &u[slip.at..slip.at + 3];
            let seen = |test: &[f64; 3]| -(test[0] * u[0] + test[1] * u[1] + test[2] * u[2]);
            (0..slip.count).for_each(|k| y[slip.to + k] = seen(&slip.test[k]));
        }
        ways.rows.iter().for_each(|&[at, to]| y[to] = -u[at]);
        factors.solve(y);
        for &[at, to] in &ways.sticks {
            (0..3).for_each(|k| p[at + k] += y[to + k]);
        }
        for slip in &ways.slips {
            let p = &mut p[slip.at..slip.at + 3];
            for (along, y) in slip.along[..slip.count].iter().zip(&y[slip.to..]) {
                (0..3).for_each(|k| p[k] += y * along[k]);
            }
        }
        ways.rows.iter().for_each(|&[at, to]| p[at] += y[to]);
        y.iter().all(|y| y.is_finite())
    }
}

/// The smallest t ≥ 0 at which p + t d leaves the cone about n: the root of $|p_t + t d_t|^2 = \mu^2(p_n + t d_n)^2$.
fn way_to_rim(p: &Vec3, d: &Vec3, n: &Vec3, mu: f64) -> f64 {
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

impl Ways {
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
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::Random;

    #[test]
    fn a_way_from_inside_a_cone_leaves_it_where_it_meets_the_rim() {
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
            let t = way_to_rim(&p, &d, &n, mu);
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
