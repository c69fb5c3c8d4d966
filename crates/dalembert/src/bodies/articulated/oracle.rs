//! A second, slower inverse dynamics for tests, written for any [`Scalar`] so that it can be differentiated exactly:
//! link frames, homogeneous poses, and $\tau_d = \sum_b (J_{b,d}\cdot f_b)$ with columns of every link's Jacobian.

use std::f64::consts::TAU;

use super::{Link, aligned_frame};
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

/// τ of q ⊕ δ, v, dv, for links in depth-first order without wrenches; armature included.
pub(super) fn inverse_dynamics<T: Scalar>(
    links: &[Link],
    gravity: &Vec3,
    q: &[f64],
    delta: &[T],
    vel: &[T],
    acc: &[T],
) -> Vec<T> {
    let o = T::from(0.0);
    let zero = [o; 3];
    let mut tau = vec![o; vel.len()];
    let mut carried: Vec<Carried<T>> = Vec::new();
    let (mut iq, mut iv) = (0, 0);
    for link in links {
        let mut c = match link.parent {
            Some(parent) => carried[parent].clone(),
            None => Carried {
                R: m(&Mat3::identity()),
                p: zero,
                w: zero,
                dw: zero,
                u: zero,
                a: zero,
                axes: Vec::new(),
            },
        };
        let shift_by = |c: &mut Carried<T>, d: V<T>| {
            c.a = add(c.a, add(cross(c.dw, d), cross(c.w, cross(c.w, d))));
            c.u = add(c.u, cross(c.w, d));
            c.p = add(c.p, d);
        };
        let d = mv(&c.R, v(&link.placement.position));
        shift_by(&mut c, d);
        c.R = mm(&c.R, &m(&matrix(&link.placement.rotation)));
        for joint in &link.joints {
            let hinge = |c: &mut Carried<T>, iv: usize, axis: &Vec3, turn: M<T>, tau: &mut Vec<T>| {
                let d = mv(&c.R, v(&joint.anchor));
                shift_by(c, d);
                let z = mv(&c.R, v(&axis.normalize()));
                c.axes.push((iv, z, c.p, zero));
                c.dw = add(c.dw, add(scale(acc[iv], z), scale(vel[iv], cross(c.w, z))));
                c.w = add(c.w, scale(vel[iv], z));
                c.R = mm(&c.R, &turn);
                let d = mv(&c.R, v(&-joint.anchor));
                shift_by(c, d);
                tau[iv] += acc[iv] * joint.armature;
            };
            let slide = |c: &mut Carried<T>, iv: usize, axis: &Vec3, x: T, factor: f64, tau: &mut Vec<T>| {
                let z = scale(T::from(factor), mv(&c.R, v(&axis.normalize())));
                shift_by(c, scale(x, z));
                c.a = add(c.a, add(scale(acc[iv], z), scale(vel[iv] * 2.0, cross(c.w, z))));
                c.u = add(c.u, scale(vel[iv], z));
                c.axes.push((iv, zero, zero, z));
                tau[iv] += acc[iv] * joint.armature;
            };
            // The turn of a ball: all three axes act at once, in the axes after the turn.
            let ball = |c: &mut Carried<T>, iv: usize, iq: usize, tau: &mut Vec<T>| {
                let d = mv(&c.R, v(&joint.anchor));
                shift_by(c, d);
                c.R = mm(
                    &mm(&c.R, &quaternion(&q[iq..])),
                    &small_turn([delta[iv], delta[iv + 1], delta[iv + 2]]),
                );
                let t = transposed(&c.R);
                let (mut relative, mut rate) = (zero, zero);
                for k in 0..3 {
                    c.axes.push((iv + k, t[k], c.p, zero));
                    relative = add(relative, scale(vel[iv + k], t[k]));
                    rate = add(rate, scale(acc[iv + k], t[k]));
                    tau[iv + k] += acc[iv + k] * joint.armature;
                }
                c.dw = add(c.dw, add(rate, cross(c.w, relative)));
                c.w = add(c.w, relative);
                let d = mv(&c.R, v(&-joint.anchor));
                shift_by(c, d);
            };
            match joint.kind {
                JointKind::Fixed => {}
                JointKind::Hinge => {
                    let x = delta[iv] + (q[iq] - joint.reference);
                    hinge(&mut c, iv, &joint.axis, about(&joint.axis, x), &mut tau);
                }
                JointKind::Slider => {
                    slide(&mut c, iv, &joint.axis, delta[iv] + (q[iq] - joint.reference), 1.0, &mut tau);
                }
                JointKind::Screw { pitch } => {
                    let x = delta[iv] + (q[iq] - joint.reference);
                    let mut unused = vec![o; vel.len()];
                    slide(&mut c, iv, &joint.axis, x, pitch / TAU, &mut unused);
                    hinge(&mut c, iv, &joint.axis, about(&joint.axis, x), &mut tau);
                }
                JointKind::Universal => {
                    for (k, (axis, q_0)) in
                        [(joint.axis, joint.reference), (joint.second_axis, 0.0)].iter().enumerate()
                    {
                        let turn = about(axis, delta[iv + k] + (q[iq + k] - q_0));
                        hinge(&mut c, iv + k, axis, turn, &mut tau);
                    }
                }
                JointKind::Planar => {
                    let F = aligned_frame(&joint.axis);
                    for k in 0..2 {
                        let axis = F.column(k).into_owned();
                        slide(&mut c, iv + k, &axis, delta[iv + k] + q[iq + k], 1.0, &mut tau);
                    }
                    let turn = about(&joint.axis, delta[iv + 2] + (q[iq + 2] - joint.reference));
                    hinge(&mut c, iv + 2, &joint.axis, turn, &mut tau);
                }
                JointKind::Ball => ball(&mut c, iv, iq, &mut tau),
                JointKind::Free => {
                    (c.R, c.p, c.u, c.a) = (m(&Mat3::identity()), zero, zero, zero);
                    for (k, axis) in [Vec3::x(), Vec3::y(), Vec3::z()].iter().enumerate() {
                        slide(&mut c, iv + k, axis, delta[iv + k] + q[iq + k], 1.0, &mut tau);
                    }
                    let anchor = joint.anchor;
                    debug_assert_eq!(anchor, Vec3::zeros());
                    ball(&mut c, iv + 3, iq + 3, &mut tau);
                }
                kind => panic!("a {} joint is not reduced", kind.name()),
            }
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
