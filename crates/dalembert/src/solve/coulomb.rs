//! Contacts with Coulomb friction: impulses r in cones K with velocities u = W r + q.
//!
//! Each contact has a frame (n, t₁, t₂), an impulse in its cone $K = \{|r_t| \le \mu r_n\}$ and a relative velocity u, and
//! does one of three things: it parts (r = 0, $u_n \ge 0$), sticks (u = 0), or slips ($u_n = 0$, $r_t$ against $u_t$ on
//! the rim of the cone). The cone is round: no direction of the tangent plane is preferred. In one line (De Saxcé and
//! Feng 1998): $r = P_K\big(r - (u + \mu|u_t|\,n)\big)$, and how far that is from true is the [`residual`].
//!
//! **One contact** is solved exactly ([`solve_one`]). On the rim, with $r_t = \rho\,e(\theta)$, $u_n = 0$ gives
//! $\rho(\theta) = -\mu q_n/(W_{nn} + \mu W_{nt}\cdot e)$, so that a single angle is left: the one at which $u_t$ points
//! against e.
//!
//! **Many contacts**: sweeps over them, each solved with the impulses of the others as they are (nonsmooth
//! Gauss–Seidel; Jean 1999). Sweeps converge, but slowly where many bodies stand on each other, so that every sweep is a
//! step of a fixed-point iteration that Anderson's method (1965) mixes with the last few. A mix that moves the
//! impulses more than before is forgotten.

use super::block_matrix::BlockMatrix;
use crate::math::{Mat3, Vec3};

/// When to stop.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CoulombStop {
    /// Residual over |q| that is small enough.
    pub tolerance: f64,
    /// Most sweeps.
    pub most_sweeps: u32,
    /// Sweeps that are mixed; 0 for plain sweeps.
    pub memory: usize,
}

impl Default for CoulombStop {
    fn default() -> Self {
        Self { tolerance: 1e-8, most_sweeps: 1000, memory: 10 }
    }
}

/// What was done.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CoulombReport {
    /// Sweeps.
    pub sweeps: u32,
    /// The [`residual`], over |q|.
    pub residual: f64,
    /// True if it is within the tolerance.
    pub converged: bool,
}

/// Sweeps between two looks at the residual.
const LOOK: u32 = 10;

/// Finds impulses r, from those given, for u = W r + q. W has a 3×3 block per pair of contacts; q and r have three
/// numbers per contact: n, t₁, t₂.
pub fn solve_coulomb(
    W: &BlockMatrix,
    q: &[f64],
    friction: &[f64],
    stop: &CoulombStop,
    r: &mut [f64],
) -> CoulombReport {
    let n = friction.len();
    assert!(W.rows() == n && q.len() == 3 * n && r.len() == 3 * n, "three numbers for each of {n} contacts");
    let mut mixer = Mixer::new(stop.memory, 3 * n);
    let mut before = vec![0.0; 3 * n];
    let mut report = CoulombReport { sweeps: 0, residual: residual(W, q, friction, r), converged: false };
    while report.residual > stop.tolerance && report.sweeps < stop.most_sweeps {
        for _ in 0..LOOK.min(stop.most_sweeps - report.sweeps) {
            before.copy_from_slice(r);
            sweep(W, q, friction, r);
            mixer.mix(&before, r);
            report.sweeps += 1;
        }
        // The residual is taken behind a sweep: a mix may leave the cones by a little.
        let mut after = r.to_vec();
        sweep(W, q, friction, &mut after);
        let left = residual(W, q, friction, &after);
        report.residual = left;
        if !(left > stop.tolerance) || report.sweeps >= stop.most_sweeps {
            r.copy_from_slice(&after);
            report.sweeps += 1;
        }
    }
    report.converged = report.residual <= stop.tolerance;
    report
}

/// Each contact in turn, with the others as they are.
fn sweep(W: &BlockMatrix, q: &[f64], friction: &[f64], r: &mut [f64]) {
    for (i, &mu) in friction.iter().enumerate() {
        let (columns, blocks) = W.row(i);
        let mut alone = Vec3::from_column_slice(&q[3 * i..3 * i + 3]);
        for (&j, block) in columns.iter().zip(blocks).filter(|(j, _)| **j as usize != i) {
            alone += block * Vec3::from_column_slice(&r[3 * j as usize..3 * j as usize + 3]);
        }
        let last = Vec3::from_column_slice(&r[3 * i..3 * i + 3]);
        let new = solve_one(W.diagonal(i), &alone, mu, &last);
        r[3 * i..3 * i + 3].copy_from_slice(new.as_slice());
    }
}

/// $\lVert r - P_K(r - (u + \mu|u_t| n))\rVert / \lVert q\rVert$ with u = W r + q.
pub fn residual(W: &BlockMatrix, q: &[f64], friction: &[f64], r: &[f64]) -> f64 {
    let mut u = q.to_vec();
    W.add_times(r, &mut u);
    let mut sum = 0.0;
    for (i, &mu) in friction.iter().enumerate() {
        let [u, r] = [&u, r].map(|x| Vec3::from_column_slice(&x[3 * i..3 * i + 3]));
        let slip = u.y.hypot(u.z);
        let shifted = r - u - Vec3::new(mu * slip, 0.0, 0.0);
        sum += (r - onto_cone(&shifted, mu)).norm_squared();
    }
    let size = q.iter().map(|q| q * q).sum::<f64>().sqrt();
    if sum == 0.0 { 0.0 } else { sum.sqrt() / size }
}

/// The nearest point of the cone $|r_t| \le \mu r_n$.
pub fn onto_cone(r: &Vec3, mu: f64) -> Vec3 {
    let (normal, tangent) = (r.x, r.y.hypot(r.z));
    if tangent <= mu * normal {
        return *r;
    }
    if mu * tangent <= -normal {
        return Vec3::zeros();
    }
    let along = (normal + mu * tangent) / (1.0 + mu * mu);
    Vec3::new(along, mu * along * r.y / tangent, mu * along * r.z / tangent)
}

/// The impulse of a single contact with u = W r + q; `last` is where the search begins.
///
/// W is symmetric and positive definite. Where friction would have to push a contact apart harder than it is pressed
/// ($W_{nn} + \mu W_{nt}\cdot e \le 0$) a direction is left out.
pub fn solve_one(W: &Mat3, q: &Vec3, mu: f64, last: &Vec3) -> Vec3 {
    if q.x >= 0.0 {
        return Vec3::zeros();
    }
    if !(mu > 0.0) {
        return Vec3::new(-q.x / W.m11, 0.0, 0.0);
    }
    if let Some(stick) = nalgebra::Cholesky::new(*W).map(|w| w.solve(&-q))
        && stick.y.hypot(stick.z) <= mu * stick.x
    {
        return stick;
    }
    solve_slip(W, q, mu, last)
}

/// The impulse on the rim of the cone with $u_n = 0$ and $u_t$ against $r_t$, for $q_n < 0$ and μ > 0.
pub fn solve_slip(W: &Mat3, q: &Vec3, mu: f64, last: &Vec3) -> Vec3 {
    let rim = Rim { W, q, mu };
    let guess = if last.y != 0.0 || last.z != 0.0 {
        [last.y, last.z]
    } else {
        // Against the velocity that is there without friction.
        let u = q + W.column(0) * (-q.x / W.m11);
        [-u.y, -u.z]
    };
    let size = guess[0].hypot(guess[1]);
    let guess = if size > 0.0 { [guess[0] / size, guess[1] / size] } else { [1.0, 0.0] };
    rim.impulse(&rim.against(&guess))
}

/// Impulses on the rim of a cone, by the direction of their tangential part.
struct Rim<'a> {
    W: &'a Mat3,
    q: &'a Vec3,
    mu: f64,
}

/// Directions in which the rim is looked at if the guess does not serve.
const AROUND: usize = 24;
/// Half the angle between two of them \[rad\].
const HALF: f64 = std::f64::consts::PI / AROUND as f64;

/// e turned by the angle whose tangent is `tan`.
fn turned(e: &[f64; 2], tan: f64) -> [f64; 2] {
    let cos = 1.0 / (1.0 + tan * tan).sqrt();
    [cos * (e[0] - tan * e[1]), cos * (e[1] + tan * e[0])]
}

impl Rim<'_> {
    fn impulse(&self, e: &[f64; 2]) -> Vec3 {
        let pressed = self.W.m11 + self.mu * (self.W.m12 * e[0] + self.W.m13 * e[1]);
        let normal = -self.q.x / pressed.max(1e-12 * self.W.m11);
        Vec3::new(normal, self.mu * normal * e[0], self.mu * normal * e[1])
    }

    /// Parts of u_t across and along a direction. The first is zero, the second negative where it slips.
    fn velocity(&self, e: &[f64; 2]) -> (f64, f64) {
        let u = self.q + self.W * self.impulse(e);
        (e[0] * u.z - e[1] * u.y, e[0] * u.y + e[1] * u.z)
    }

    /// The direction in which u_t points against the impulse.
    fn against(&self, guess: &[f64; 2]) -> [f64; 2] {
        for width in [1e-3, 0.05, 0.5] {
            let [a, b] = [-width, width].map(|tan| self.velocity(&turned(guess, tan)));
            if a.0 * b.0 <= 0.0 && a.1 < 0.0 && b.1 < 0.0 {
                return self.root(guess, width, a.0, b.0);
            }
        }
        // All around, in steps whose halves have this tangent.
        let half = HALF.tan();
        let (mut best, mut middle) = ((f64::INFINITY, *guess), turned(guess, half));
        let mut low = self.velocity(guess);
        for _ in 0..AROUND {
            let end = turned(&middle, half);
            let high = self.velocity(&end);
            if low.0 * high.0 <= 0.0 {
                let e = self.root(&middle, half, low.0, high.0);
                let along = self.velocity(&e).1;
                if along < best.0 {
                    best = (along, e);
                }
            }
            (low, middle) = (high, turned(&end, half));
        }
        best.1
    }

    /// A zero of the first part among the directions that are e turned by up to the angle whose tangent is `width`, either
    /// way, with the values a and b at the ends: false position, the weight of an end that stays lowered by what the other
    /// has gained (Anderson and Björck 1973).
    fn root(&self, e: &[f64; 2], width: f64, mut a: f64, mut b: f64) -> [f64; 2] {
        let (mut low, mut high) = (-width, width);
        for _ in 0..60 {
            if a == 0.0 || b == 0.0 || (high - low).abs() < 8.0 * f64::EPSILON {
                break;
            }
            let middle = (low * b - high * a) / (b - a);
            if (middle - high).abs() <= f64::EPSILON {
                break;
            }
            let m = self.velocity(&turned(e, middle)).0;
            if m * b <= 0.0 {
                (low, a) = (high, b);
            } else {
                let gained = 1.0 - m / b;
                a *= if gained > 0.0 { gained } else { 0.5 };
            }
            (high, b) = (middle, m);
        }
        turned(e, if a == 0.0 { low } else { high })
    }
}

/// Anderson's mixing: the combination of the last steps that would move least.
struct Mixer {
    memory: usize,
    /// Differences of the moves f = G(x) − x and of the results G(x), newest last.
    moves: Vec<Vec<f64>>,
    results: Vec<Vec<f64>>,
    last: Option<(Vec<f64>, Vec<f64>)>,
    size: f64,
}

impl Mixer {
    fn new(memory: usize, n: usize) -> Self {
        let memory = memory.min(n);
        Self { memory, moves: Vec::new(), results: Vec::new(), last: None, size: f64::INFINITY }
    }

    /// `result` = G(`from`) becomes the next place to start from.
    fn mix(&mut self, from: &[f64], result: &mut [f64]) {
        if self.memory == 0 {
            return;
        }
        let f: Vec<f64> = result.iter().zip(from).map(|(g, x)| g - x).collect();
        let size = f.iter().map(|f| f * f).sum::<f64>().sqrt();
        if !(size <= 2.0 * self.size) {
            // The mix led astray.
            self.moves.clear();
            self.results.clear();
            self.last = None;
        }
        self.size = size;
        if let Some((f_last, g_last)) = &self.last {
            let difference = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a - b).collect::<Vec<_>>();
            self.moves.push(difference(&f, f_last));
            self.results.push(difference(result, g_last));
            if self.moves.len() > self.memory {
                self.moves.remove(0);
                self.results.remove(0);
            }
        }
        self.last = Some((f.clone(), result.to_vec()));
        let k = self.moves.len();
        if k == 0 {
            return;
        }
        // Least squares by normal equations, with a little of the diagonal so that equal moves do no harm.
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        let mut A = nalgebra::DMatrix::from_fn(k, k, |i, j| dot(&self.moves[i], &self.moves[j]));
        let trace = A.trace();
        (0..k).for_each(|i| A[(i, i)] += 1e-12 * trace);
        let b = nalgebra::DVector::from_fn(k, |i, _| dot(&self.moves[i], &f));
        let Some(weights) = A.cholesky().map(|a| a.solve(&b)) else { return };
        for (w, g) in weights.iter().zip(&self.results) {
            result.iter_mut().zip(g).for_each(|(r, g)| *r -= w * g);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::Blocks;

    fn next(seed: &mut u64) -> f64 {
        *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (*seed >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }

    fn positive(seed: &mut u64) -> Mat3 {
        let B = Mat3::from_fn(|_, _| next(seed));
        B * B.transpose() + 0.1 * Mat3::identity()
    }

    #[test]
    fn one_contact_is_solved_exactly() {
        let mut seed = 7;
        let mut kinds = [0; 3];
        for _ in 0..20_000 {
            let (W, q) = (positive(&mut seed), Vec3::from_fn(|_, _| next(&mut seed)));
            let mu = 0.6 * next(&mut seed).abs();
            let r = solve_one(&W, &q, mu, &Vec3::zeros());
            let u = W * r + q;
            let slip = u.y.hypot(u.z);
            kinds[if r.x == 0.0 {
                0
            } else if slip < 1e-12 {
                1
            } else {
                2
            }] += 1;
            let off = r - onto_cone(&(r - u - Vec3::new(mu * slip, 0.0, 0.0)), mu);
            assert!(off.norm() < 1e-11 * (1.0 + r.norm()), "{W} {q} {mu}: {:e}", off.norm());
        }
        assert!(kinds.iter().all(|k| *k > 100), "{kinds:?}");
    }

    #[test]
    fn friction_has_no_preferred_direction() {
        // A point of 1 kg that is pressed down by 0.0981 m/s and slides: the closed form, turned by any angle.
        let W = Mat3::identity();
        for k in 0..360 {
            let angle = (k as f64).to_radians();
            for (speed, after) in [(0.02, 0.0), (0.5, 0.5 - 0.04905)] {
                let q = Vec3::new(-0.0981, speed * angle.cos(), speed * angle.sin());
                let u = W * solve_one(&W, &q, 0.5, &Vec3::zeros()) + q;
                let wanted = Vec3::new(0.0, after * angle.cos(), after * angle.sin());
                assert!((u - wanted).norm() < 1e-14, "{k} {u}");
            }
        }
    }

    #[test]
    fn many_contacts_reach_the_tolerance_with_and_without_mixing() {
        let mut seed = 3;
        // A column of ten points on the ground, every two held by two contacts: half of the rows are dependent.
        let n = 20;
        let inverse_mass: Vec<f64> = (0..10).map(|_| 1.0 / (1.5 + next(&mut seed))).collect();
        let mut list = Blocks::default();
        for i in 0..n {
            for j in 0..n {
                let (a, b): (usize, usize) = (i / 2, j / 2);
                let w = match a.abs_diff(b) {
                    0 => inverse_mass[a] + if a > 0 { inverse_mass[a - 1] } else { 0.0 },
                    1 => -inverse_mass[a.min(b)],
                    _ => continue,
                };
                list.add(i, j, w * Mat3::identity());
            }
        }
        let W = BlockMatrix::new(n, &list);
        let q: Vec<f64> = (0..3 * n).map(|k| if k % 3 == 0 { -1.0 } else { next(&mut seed) }).collect();
        let mu = vec![0.4; n];
        let mut sweeps = [0; 2];
        for (k, memory) in [0, 10].into_iter().enumerate() {
            let stop = CoulombStop { tolerance: 1e-9, most_sweeps: 20_000, memory };
            let mut r = vec![0.0; 3 * n];
            let report = solve_coulomb(&W, &q, &mu, &stop, &mut r);
            assert!(report.converged, "memory {memory}: {report:?}");
            assert!(residual(&W, &q, &mu, &r) <= 1e-9);
            sweeps[k] = report.sweeps;
        }
        assert!(2 * sweeps[1] < sweeps[0], "{sweeps:?}");
    }
}
