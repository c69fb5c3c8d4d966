//! A second, slower inverse dynamics for tests, written for any [`Scalar`] so that it can be differentiated exactly:
//! link frames, homogeneous poses, and $\tau_d = \sum_b (J_{b,d}\cdot f_b)$ with columns of every link's Jacobian.

use std::f64::consts::TAU;

use super::{Joint, Link, aligned_frame};
use crate::joints::JointKind;
use crate::math::rotation::matrix;
use crate::math::{Mat3, Scalar, Vec3};

type V<T> = [T; 3];
type M<T> = [[T; 3]; 3];

fn v<T: Scalar>(a: &Vec3) -> V<T> {
    [T::from(a.x), T::from(a.y), T::from(a.z)]
}
fn m<T: Scalar>(a: &Mat3) -> M<T> {
    std::array::from_fn(|i| std::array::from_fn(|j| T::from(a[(i, j)])))
}
fn add<T: Scalar>(a: V<T>, b: V<T>) -> V<T> {
    std::array::from_fn(|i| a[i] + b[i])
}
fn sub<T: Scalar>(a: V<T>, b: V<T>) -> V<T> {
    std::array::from_fn(|i| a[i] - b[i])
}
fn scale<T: Scalar>(s: T, a: V<T>) -> V<T> {
    a.map(|x| s * x)
}
fn dot<T: Scalar>(a: V<T>, b: V<T>) -> T {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}
fn cross<T: Scalar>(a: V<T>, b: V<T>) -> V<T> {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}
fn mv<T: Scalar>(a: &M<T>, x: V<T>) -> V<T> {
    a.map(|row| dot(row, x))
}
fn transposed<T: Scalar>(a: &M<T>) -> M<T> {
    std::array::from_fn(|i| std::array::from_fn(|j| a[j][i]))
}
fn mm<T: Scalar>(a: &M<T>, b: &M<T>) -> M<T> {
    let t = transposed(b);
    a.map(|row| t.map(|column| dot(row, column)))
}
/// Turn by `angle` about a unit axis (Rodrigues).
fn about<T: Scalar>(axis: &Vec3, angle: T) -> M<T> {
    let (s, c) = (angle.sin(), angle.cos());
    let (k, o) = (axis.normalize(), T::from(0.0));
    let K = m::<T>(&crate::math::skew(&k));
    let K2 = mm(&K, &K);
    let one = T::from(1.0);
    std::array::from_fn(|i| {
        std::array::from_fn(|j| (if i == j { one } else { o }) + s * K[i][j] + (one - c) * K2[i][j])
    })
}
/// First-order turn by a vector that is zero in value: 1 + \[u\] + \[u\]²/2.
fn small_turn<T: Scalar>(u: V<T>) -> M<T> {
    let o = T::from(0.0);
    let K = [[o, -u[2], u[1]], [u[2], o, -u[0]], [-u[1], u[0], o]];
    let K2 = mm(&K, &K);
    std::array::from_fn(|i| {
        std::array::from_fn(|j| T::from(if i == j { 1.0 } else { 0.0 }) + K[i][j] + K2[i][j] * 0.5)
    })
}
fn quaternion<T: Scalar>(q: &[f64]) -> M<T> {
    let q = nalgebra::UnitQuaternion::from_quaternion(nalgebra::Quaternion::new(q[0], q[1], q[2], q[3]));
    m(&matrix(&q))
}

/// Dof, axis of its turn, a point on it, and its shift, world axes.
type Axis<T> = (usize, V<T>, V<T>, V<T>);

/// State of a link while it is carried along.
#[derive(Clone)]
struct Carried<T> {
    R: M<T>,
    p: V<T>,
    w: V<T>,
    dw: V<T>,
    /// Velocity and acceleration of the frame's origin.
    u: V<T>,
    a: V<T>,
    /// How the dofs before it move it.
    axes: Vec<Axis<T>>,
}

/// Coordinates q ⊕ δ, velocities and accelerations.
struct Motion<'a, T> {
    q: &'a [f64],
    delta: &'a [T],
    vel: &'a [T],
    acc: &'a [T],
}

impl<T: Scalar> Carried<T> {
    /// The world.
    fn root() -> Self {
        let zero = [T::from(0.0); 3];
        Self { R: m(&Mat3::identity()), p: zero, w: zero, dw: zero, u: zero, a: zero, axes: Vec::new() }
    }

    fn shift_by(&mut self, d: V<T>) {
        self.a = add(self.a, add(cross(self.dw, d), cross(self.w, cross(self.w, d))));
        self.u = add(self.u, cross(self.w, d));
        self.p = add(self.p, d);
    }

    fn hinge(&mut self, anchor: &Vec3, axis: &Vec3, turn: M<T>, iv: usize, motion: &Motion<'_, T>) {
        let (vel, acc) = (motion.vel[iv], motion.acc[iv]);
        self.shift_by(mv(&self.R, v(anchor)));
        let z = mv(&self.R, v(&axis.normalize()));
        self.axes.push((iv, z, self.p, [T::from(0.0); 3]));
        self.dw = add(self.dw, add(scale(acc, z), scale(vel, cross(self.w, z))));
        self.w = add(self.w, scale(vel, z));
        self.R = mm(&self.R, &turn);
        self.shift_by(mv(&self.R, v(&-anchor)));
    }

    fn slide(&mut self, axis: &Vec3, x: T, factor: f64, iv: usize, motion: &Motion<'_, T>) {
        let (vel, acc, zero) = (motion.vel[iv], motion.acc[iv], [T::from(0.0); 3]);
        let z = scale(T::from(factor), mv(&self.R, v(&axis.normalize())));
        self.shift_by(scale(x, z));
        self.a = add(self.a, add(scale(acc, z), scale(vel * 2.0, cross(self.w, z))));
        self.u = add(self.u, scale(vel, z));
        self.axes.push((iv, zero, zero, z));
    }

    /// The turn of a ball: all three axes act at once, in the axes after the turn.
    fn ball(&mut self, anchor: &Vec3, iq: usize, iv: usize, motion: &Motion<'_, T>) {
        let Motion { q, delta, vel, acc } = motion;
        let zero = [T::from(0.0); 3];
        self.shift_by(mv(&self.R, v(anchor)));
        let turn = small_turn([delta[iv], delta[iv + 1], delta[iv + 2]]);
        self.R = mm(&mm(&self.R, &quaternion(&q[iq..])), &turn);
        let t = transposed(&self.R);
        let (mut relative, mut rate) = (zero, zero);
        for k in 0..3 {
            self.axes.push((iv + k, t[k], self.p, zero));
            relative = add(relative, scale(vel[iv + k], t[k]));
            rate = add(rate, scale(acc[iv + k], t[k]));
        }
        self.dw = add(self.dw, add(rate, cross(self.w, relative)));
        self.w = add(self.w, relative);
        self.shift_by(mv(&self.R, v(&-anchor)));
    }

    /// Carries the frame over a joint with its first coordinate at iq and its first dof at iv.
    fn pass(&mut self, joint: &Joint, iq: usize, iv: usize, motion: &Motion<'_, T>) {
        let Motion { q, delta, .. } = motion;
        let anchor = &joint.anchor;
        let from = |k: usize, q_0: f64| delta[iv + k] + (q[iq + k] - q_0);
        match joint.kind {
            JointKind::Fixed => {}
            JointKind::Hinge => {
                let turn = about(&joint.axis, from(0, joint.reference));
                self.hinge(anchor, &joint.axis, turn, iv, motion);
            }
            JointKind::Slider => self.slide(&joint.axis, from(0, joint.reference), 1.0, iv, motion),
            JointKind::Screw { pitch } => {
                let x = from(0, joint.reference);
                self.slide(&joint.axis, x, pitch / TAU, iv, motion);
                self.hinge(anchor, &joint.axis, about(&joint.axis, x), iv, motion);
            }
            JointKind::Universal => {
                let axes = [(joint.axis, joint.reference), (joint.second_axis, 0.0)];
                for (k, (axis, q_0)) in axes.iter().enumerate() {
                    self.hinge(anchor, axis, about(axis, from(k, *q_0)), iv + k, motion);
                }
            }
            JointKind::Planar => {
                let F = aligned_frame(&joint.axis);
                for k in 0..2 {
                    self.slide(&F.column(k).into_owned(), from(k, 0.0), 1.0, iv + k, motion);
                }
                let turn = about(&joint.axis, from(2, joint.reference));
                self.hinge(anchor, &joint.axis, turn, iv + 2, motion);
            }
            JointKind::Ball => self.ball(anchor, iq, iv, motion),
            JointKind::Free => {
                let zero = [T::from(0.0); 3];
                (self.R, self.p, self.u, self.a) = (m(&Mat3::identity()), zero, zero, zero);
                for (k, axis) in [Vec3::x(), Vec3::y(), Vec3::z()].iter().enumerate() {
                    self.slide(axis, from(k, 0.0), 1.0, iv + k, motion);
                }
                debug_assert_eq!(*anchor, Vec3::zeros());
                self.ball(anchor, iq + 3, iv + 3, motion);
            }
            kind => panic!("a {} joint is not reduced", kind.name()),
        }
    }
}

/// τ of q ⊕ δ, v, dv, for links in depth-first order without wrenches; armature included.
pub(super) fn inverse_dynamics<T: Scalar>(
    links: &[Link],
    gravity: &Vec3,
    q: &[f64],
    delta: &[T],
    vel: &[T],
    acc: &[T],
) -> Vec<T> {
    let motion = Motion { q, delta, vel, acc };
    let mut tau = vec![T::from(0.0); vel.len()];
    let mut carried: Vec<Carried<T>> = Vec::new();
    let (mut iq, mut iv) = (0, 0);
    for link in links {
        let mut c = link.parent.map_or_else(Carried::root, |parent| carried[parent].clone());
        c.shift_by(mv(&c.R, v(&link.placement.position)));
        c.R = mm(&c.R, &m(&matrix(&link.placement.rotation)));
        for joint in &link.joints {
            c.pass(joint, iq, iv, &motion);
            let dofs = iv..iv + joint.kind.velocity_count();
            tau[dofs.clone()].iter_mut().zip(&acc[dofs]).for_each(|(t, a)| *t += *a * joint.armature);
            iq += joint.kind.position_count();
            iv += joint.kind.velocity_count();
        }
        // Newton and Euler about the centre of mass, then the power of every column.
        let arm = mv(&c.R, v(&link.center));
        let x = add(c.p, arm);
        let a = add(c.a, add(cross(c.dw, arm), cross(c.w, cross(c.w, arm))));
        let f = scale(T::from(link.mass), sub(a, v(gravity)));
        let I = mm(&mm(&c.R, &m(&link.inertia)), &transposed(&c.R));
        let n = add(mv(&I, c.dw), cross(c.w, mv(&I, c.w)));
        for (d, s, at, shift) in &c.axes {
            tau[*d] += dot(*shift, f) + dot(*s, n) + dot(cross(*s, sub(x, *at)), f);
        }
        carried.push(c);
    }
    tau
}
