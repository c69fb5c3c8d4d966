//! Impulses of an island from inside their cones.
//!
//! Where nothing is known of which contacts stick, slip and part, as when bodies meet, Newton's method on the law itself
//! goes from kink to kink. An interior point method has no kinks: with $s = \mu|u_t|$ as it is the law is that of a convex
//! problem over cones (see `direct`), and in the frame of a contact, n first, with
//!
//! $$ z = (p_n, p_t/\mu), \quad w = (u_n - \text{target} + s,\ \mu u_t) = T(u - \text{target} + s n), \quad p = T^Tz, $$
//!
//! both z and w lie in the cone $L: |a_t| \le a_n$, with $z\cdot w = 0$. The way leads along $z\circ w = \tau e$ with τ to
//! nothing, ∘ the product of the cone's algebra, $a\circ b = (a\cdot b,\ a_n b_t + b_n a_t)$. With Nesterov and Todd's
//! scaling, $Nz = N^{-1}w = \lambda$, a step is
//!
//! $$ N\,dz + N^{-1}dw = b, \qquad dw = TJ\,dx - r, \qquad M\,dx - J^TT^Tdz = -\big(M(x - v_{free}) - J^TT^Tz\big), $$
//!
//! r = w − T(u − target + s n) being what w is off. So $(M + J^TT^TN^{-2}TJ)\,dx = -M(x - v_{free}) + J^TT^T(z + N^{-2}r + N^{-1}b)$:
//! the tangent has the pattern of Newton's, and one factor serves the step with b = −λ, which tells how far τ may sink, and
//! the step itself, $\lambda\circ b = -\lambda\circ\lambda + \sigma\tau e - (N^{-1}dw)\circ(N\,dz)$ (Mehrotra 1992; Vandenberghe 2010,
//! "The CVXOPT linear and quadratic cone program solvers"). s follows the velocities from step to step.

use super::direct::{Direct, nearest};
use super::sweep::{Contact, Field, tangents};
use crate::math::{Mat3, Vec3};

/// Steps at most.
const STEPS: u32 = 40;
/// Steps that do not halve what is off before the search ends.
const PATIENCE: u32 = 6;
/// How much of the way to the rim of the cones a step goes.
const NEAR: f64 = 0.995;
/// A part of a step below which the way is lost.
const SHORTEST: f64 = 1e-3;

/// A contact on the way.
#[derive(Debug, Clone, Copy)]
pub(super) struct Point {
    T: Mat3,
    z: Vec3,
    w: Vec3,
    dz: Vec3,
    dw: Vec3,
    /// What w is off.
    r: Vec3,
    scaling: Scaling,
}

/// N = β (2 v vᵀ − D), D = diag(1, −1, −1).
#[derive(Debug, Clone, Copy, Default)]
struct Scaling {
    beta: f64,
    v: Vec3,
    /// N² = β² (2 m mᵀ − D).
    m: Vec3,
    lambda: Vec3,
}

fn flip(a: &Vec3) -> Vec3 {
    Vec3::new(a.x, -a.y, -a.z)
}

/// a_n² − |a_t|².
fn det(a: &Vec3) -> f64 {
    let t = a.y.hypot(a.z);
    (a.x - t) * (a.x + t)
}

fn product(a: &Vec3, b: &Vec3) -> Vec3 {
    Vec3::new(a.dot(b), a.x * b.y + b.x * a.y, a.x * b.z + b.x * a.z)
}

/// x with a ∘ x = b.
fn quotient(a: &Vec3, b: &Vec3) -> Vec3 {
    let x = a.dot(&flip(b)) / det(a);
    Vec3::new(x, (b.y - x * a.y) / a.x, (b.z - x * a.z) / a.x)
}

/// How far from a along d the cone reaches.
fn reach(a: &Vec3, d: &Vec3) -> f64 {
    let (square, half, rest) = (det(d), a.dot(&flip(d)), det(a));
    let root = half * half - square * rest;
    if (square >= 0.0 && half >= 0.0) || root < 0.0 { f64::INFINITY } else { rest / (root.sqrt() - half) }
}

/// The nearest point along the axis that lies inside by `depth`.
fn inside(a: &Vec3, depth: f64) -> Vec3 {
    Vec3::new(a.x.max(a.y.hypot(a.z) + depth), a.y, a.z)
}

impl Scaling {
    fn new(z: &Vec3, w: &Vec3) -> Self {
        let (dz, dw) = (det(z).sqrt(), det(w).sqrt());
        let (z1, w1) = (z / dz, w / dw);
        let gamma = (0.5 * (1.0 + z1.dot(&w1))).sqrt();
        let m = (w1 + flip(&z1)) / (2.0 * gamma);
        let v = (m + Vec3::x()) / (2.0 * (m.x + 1.0)).sqrt();
        let mut own = Self { beta: (dw / dz).sqrt(), v, m, lambda: Vec3::zeros() };
        own.lambda = own.times(z);
        own
    }

    /// N a.
    fn times(&self, a: &Vec3) -> Vec3 {
        self.beta * (2.0 * self.v.dot(a) * self.v - flip(a))
    }

    /// N⁻¹ a.
    fn over(&self, a: &Vec3) -> Vec3 {
        let v = flip(&self.v);
        (2.0 * v.dot(a) * v - flip(a)) / self.beta
    }

    /// N⁻².
    fn squared(&self) -> Mat3 {
        let m = flip(&self.m);
        (2.0 * m * m.transpose() - Mat3::from_diagonal(&Vec3::new(1.0, -1.0, -1.0))) / (self.beta * self.beta)
    }
}

/// u − target + s n, which the law keeps in the cone of w.
fn shifted(field: &Field, x: &[f64], c: &Contact) -> Vec3 {
    let u = field.relative(x, c) - c.target;
    let across = u - c.normal.dot(&u) * c.normal;
    u + c.friction * across.norm() * c.normal
}

impl Point {
    /// Where the impulse and the velocities of a contact are, or as near to that as lies inside the cones by what is `off`
    /// \[m/s\].
    fn new(field: &Field, x: &[f64], c: &Contact, off: f64) -> Self {
        let [s, t] = tangents(&c.normal);
        let T = Mat3::from_columns(&[c.normal, c.friction * s, c.friction * t]).transpose();
        let wide = if c.friction > 0.0 { 1.0 / c.friction } else { 0.0 };
        let p = &c.impulse;
        let z = Vec3::new(c.normal.dot(p), wide * s.dot(p), wide * t.dot(p));
        Self {
            T,
            z: inside(&z, 3.0 * off / c.W.trace()),
            w: inside(&(T * shifted(field, x, c)), off),
            dz: Vec3::zeros(),
            dw: Vec3::zeros(),
            r: Vec3::zeros(),
            scaling: Scaling::default(),
        }
    }
}

impl Direct {
    /// Impulses that are right to about `goal` \[m/s\]; where they are `off` \[m/s\] now.
    pub(super) fn search_inside(
        &mut self,
        field: &Field,
        free: &[f64],
        x: &mut [f64],
        contacts: &mut [Contact],
        off: f64,
        goal: f64,
    ) {
        let mut points = std::mem::take(&mut self.points);
        points.clear();
        points.extend(contacts.iter().map(|c| Point::new(field, x, c, off)));
        let (mut least, mut patience) = (f64::INFINITY, PATIENCE);
        for _ in 0..STEPS {
            let (tau, far) = self.measure(field, free, x, contacts, &mut points);
            if far < 0.5 * least {
                (least, patience) = (far, PATIENCE);
            } else {
                patience -= 1;
            }
            if !(far > goal) || patience == 0 {
                break;
            }
            self.tangent(contacts);
            if !self.factor() {
                break;
            }
            let part = self.step_inside(field, free, x, contacts, &mut points, tau);
            for b in &self.bodies {
                let at = 6 * *b as usize;
                (0..6).for_each(|k| x[at + k] += part * self.trial[at + k]);
            }
            for p in &mut points {
                p.z += part * p.dz;
                p.w += part * p.dw;
            }
            if part < SHORTEST {
                break;
            }
        }
        // On the rims where they belong.
        for (c, p) in contacts.iter_mut().zip(&points) {
            let aim = p.T.tr_mul(&p.z) - 3.0 / c.W.trace() * shifted(field, x, c);
            c.impulse = nearest(&aim, &c.normal, c.friction);
        }
        self.points = points;
    }

    /// What each contact is off, its scaling and its part of the tangent. Returns τ, and how far off everything is \[m/s\].
    fn measure(
        &mut self,
        field: &Field,
        free: &[f64],
        x: &[f64],
        contacts: &[Contact],
        points: &mut [Point],
    ) -> (f64, f64) {
        let (mut tau, mut far) = (0.0, 0.0f64);
        self.pull.clear();
        self.tangents.clear();
        for (c, p) in contacts.iter().zip(&mut *points) {
            p.r = p.w - p.T * shifted(field, x, c);
            let (both, own) = (p.z.dot(&p.w), c.W.trace() / 3.0);
            tau += both;
            far = far.max(p.r.amax()).max(both * own / (own * p.z.x + p.w.x));
            p.scaling = Scaling::new(&p.z, &p.w);
            self.pull.push(p.T.tr_mul(&p.z));
            self.tangents.push(p.T.tr_mul(&(p.scaling.squared() * p.T)));
        }
        self.slopes(free, x, contacts);
        (tau / contacts.len() as f64, far.max(self.unbalanced(field)))
    }

    /// The step that the factor at hand tells, into `trial`, dz and dw. Returns how much of it may be gone.
    fn step_inside(
        &mut self,
        field: &Field,
        free: &[f64],
        x: &[f64],
        contacts: &[Contact],
        points: &mut [Point],
        tau: f64,
    ) -> f64 {
        // How far it goes with τ at nothing: N⁻¹b = −z.
        for (p, pull) in points.iter().zip(&mut self.pull) {
            *pull = p.T.tr_mul(&(p.scaling.squared() * p.r));
        }
        self.slopes(free, x, contacts);
        self.solve();
        let way = self.along(field, contacts, points, |p| -p.scaling.lambda);
        let sigma = (1.0 - way.min(1.0)).powi(3);
        let mut asked = std::mem::take(&mut self.du);
        asked.clear();
        asked.extend(points.iter().map(|p| {
            let bent = product(&p.scaling.over(&p.dw), &p.scaling.times(&p.dz));
            quotient(&p.scaling.lambda, &(sigma * tau * Vec3::x() - bent)) - p.scaling.lambda
        }));
        for ((p, pull), b) in points.iter().zip(&mut self.pull).zip(&asked) {
            *pull = p.T.tr_mul(&(p.z + p.scaling.squared() * p.r + p.scaling.over(b)));
        }
        self.slopes(free, x, contacts);
        self.solve();
        let mut next = asked.iter();
        let way = self.along(field, contacts, points, |_| next.next().copied().unwrap_or_default());
        self.du = asked;
        (NEAR * way).min(1.0)
    }

    /// The step as a change of the velocities and of every contact; how far it may go.
    fn along(
        &mut self,
        field: &Field,
        contacts: &[Contact],
        points: &mut [Point],
        mut asked: impl FnMut(&Point) -> Vec3,
    ) -> f64 {
        self.trial.resize(6 * field.inverse.len(), 0.0);
        for (i, b) in self.bodies.iter().enumerate() {
            let at = 6 * *b as usize;
            (0..6).for_each(|k| self.trial[at + k] = -self.step[6 * i + k]);
        }
        let mut way = f64::INFINITY;
        for (c, p) in contacts.iter().zip(points) {
            p.dw = p.T * field.relative(&self.trial, c) - p.r;
            p.dz = p.scaling.over(&asked(p)) - p.scaling.squared() * p.dw;
            way = way.min(reach(&p.z, &p.dz)).min(reach(&p.w, &p.dw));
        }
        way
    }
}

#[cfg(test)]
mod tests {
    use super::super::sweep::{Inverse, Side};
    use super::*;
    use crate::step::impulse::contact::NONE;

    fn close(a: &Vec3, b: &Vec3) -> bool {
        (a - b).norm() < 1e-12 * (1.0 + a.norm())
    }

    #[test]
    fn the_scaling_takes_both_to_one_point_and_the_product_has_its_quotient() {
        for k in 0..200 {
            let t = k as f64;
            let z = inside(&Vec3::new(t.sin(), (1.3 * t).cos(), (2.1 * t).sin()), 0.01);
            let w = inside(&Vec3::new((0.7 * t).cos(), (3.1 * t).sin(), (0.3 * t).cos()), 0.02);
            let n = Scaling::new(&z, &w);
            assert!(close(&n.times(&z), &n.lambda) && close(&n.over(&w), &n.lambda), "{k}");
            assert!(close(&n.over(&n.times(&z)), &z) && close(&(n.squared() * w), &z), "{k}");
            assert!(close(&product(&z, &quotient(&z, &w)), &w), "{k}");
            let d = Vec3::new((5.0 * t).sin() - 1.0, (4.0 * t).cos(), (6.0 * t).sin());
            let way = reach(&z, &d);
            if way.is_finite() {
                assert!(way > 0.0 && det(&(z + way * d)).abs() < 1e-12 * (1.0 + way * way), "{k}");
                assert!(det(&(z + 0.999 * way * d)) > 0.0, "{k}");
            }
        }
    }

    /// A tower of balls of 1 kg and radius 0.5 on the floor: 0 touches the world, k touches k − 1.
    fn tower(n: u32, mu: f64) -> (Field, Vec<Contact>) {
        let ball = Inverse { mass: 1.0, inertia: Mat3::identity() / 0.1 };
        let mut field = Field { inverse: vec![ball; n as usize], ..Field::default() };
        field.x = vec![0.0; 6 * n as usize];
        let contact = |k: u32| {
            let under = if k == 0 { Side::World } else { Side::Loose(6 * (k - 1)) };
            let mut c = Contact {
                sides: [Side::Loose(6 * k), under],
                arms: [-0.5 * Vec3::z(), if k == 0 { Vec3::zeros() } else { 0.5 * Vec3::z() }],
                normal: Vec3::z(),
                friction: mu,
                softness: 0.0,
                target: Vec3::zeros(),
                impulse: Vec3::zeros(),
                W: Mat3::zeros(),
                inverse: Mat3::zeros(),
                spin: NONE,
            };
            c.W = field.own_response(&c);
            c
        };
        let contacts = (0..n).map(contact).collect();
        (field, contacts)
    }

    /// Impulses and velocities of a tower whose balls all move at `v`, from nothing.
    fn solve(n: u32, mu: f64, v: &Vec3) -> (Vec<f64>, Vec<Contact>) {
        let (field, mut contacts) = tower(n, mu);
        let free: Vec<f64> = (0..n).flat_map(|_| [v.x, v.y, v.z, 0.0, 0.0, 0.0]).collect();
        let mut x = free.clone();
        let mut direct = Direct::default();
        assert!(direct.prepare(&field, &contacts));
        direct.begin(&field, &contacts);
        direct.search_inside(&field, &free, &mut x, &mut contacts, v.norm(), 1e-10);
        (x, contacts)
    }

    #[test]
    fn a_tower_that_falls_flat_comes_to_rest_and_the_lowest_contact_bears_all() {
        for mu in [0.0, 0.5] {
            let (x, contacts) = solve(7, mu, &Vec3::new(0.0, 0.0, -2.0));
            assert!(x.iter().all(|v| v.abs() < 1e-8), "{x:?}");
            for (k, c) in contacts.iter().enumerate() {
                assert!((c.impulse - (7 - k) as f64 * 2.0 * Vec3::z()).norm() < 1e-7, "{k} {}", c.impulse);
            }
        }
    }

    #[test]
    fn a_ball_that_skids_takes_the_impulse_of_the_rim() {
        // p_n = m v_n; what friction can take is 3.5 μ p_n/m of the speed across.
        for (speed, mu) in [(3.0, 0.25), (0.4, 0.25), (3.0, 0.0)] {
            let along = Vec3::new(0.6, -0.8, 0.0);
            let (x, contacts) = solve(1, mu, &(speed * along - 1.0 * Vec3::z()));
            let most = mu * 1.0;
            let p = Vec3::z() - most.min(speed / 3.5) * along;
            assert!((contacts[0].impulse - p).norm() < 1e-7, "{speed} {}", contacts[0].impulse);
            assert!(x[2].abs() < 1e-8, "{x:?}");
        }
    }

    #[test]
    fn without_friction_rounding_across_the_normal_counts_for_nothing() {
        let (field, mut contacts) = tower(1, 0.0);
        contacts[0].impulse = Vec3::new(1e-17, 0.0, 3.0);
        let point = Point::new(&field, &field.x, &contacts[0], 0.1);
        assert_eq!(point.z, Vec3::new(3.0, 0.0, 0.0));
    }

    #[test]
    fn what_flies_apart_takes_no_impulse() {
        let (x, contacts) = solve(3, 0.5, &Vec3::new(0.1, 0.0, 2.0));
        // The floor lets go; between the balls nothing happens.
        assert!(contacts.iter().all(|c| c.impulse.norm() < 1e-8));
        assert!((0..3).all(|k| (x[6 * k + 2] - 2.0).abs() < 1e-8), "{x:?}");
    }
}
