//! Constant-velocity (homokinetic) joint, such as Rzeppa's (1936): two shafts $t_a$, $t_b$ meet in the anchor and turn at
//! the same rate at any bend β. A ball joint without twist, $\theta = 0$; the two turns of the bend are left.
//!
//! Split the turn of b against a into a twist θ about t and a swing about an axis across t. With the quaternion (w, v) of
//! the turn, the sums of [`Ends::angle`] are $s = 2wv_t$ and $c = w^2 - v_t^2$, so $\theta = \mathrm{atan2}(s, c) =
//! 2\,\mathrm{atan2}(v_t, w)$ is that twist at any bend, and at θ = 0
//!
//! $$ \dot\theta = (\omega_b - \omega_a)\cdot\frac{t_a + t_b}{1 + t_a\cdot t_b}, $$
//!
//! a row about the bisector of the shafts: with $\omega_a = \dot\alpha\,t_a$ and $\omega_b = \dot\gamma\,t_b$ it says
//! $\dot\gamma = \dot\alpha$. Only shafts against each other (β = 180°) have no bisector.

use super::{AffineEnds, AffineRows, Ends, JointInfo, Rows, T, direction};
use crate::math::{Mat3, Vec3, skew};

pub(super) const INFO: JointInfo = JointInfo {
    leaves: "Two shafts, `axis` (of the first) and `axis2` (of the second, the same if absent), bend freely and turn at \
             the same rate.",
    orients: [true, true],
    axes: &[(0, T), (1, T)],
    second_axis: Some(frames),
    geometric_stiffness: Some(super::anchors_turn),
    ..JointInfo::new("constant_velocity", 4, evaluate, affine)
};

/// The frame of b is that of a, turned by the least turn from one shaft to the other.
fn frames(first: &Mat3, second: &Vec3) -> Result<[Mat3; 2], &'static str> {
    let t: Vec3 = first.column(0).into();
    let u = direction(second).ok_or("the second axis has no direction")?;
    if t.dot(&u) < -0.99 {
        return Err("the shafts of a constant-velocity joint point along the drive, not against each other");
    }
    let k = skew(&t.cross(&u));
    Ok([*first, (Mat3::identity() + k + k * k / (1.0 + t.dot(&u))) * first])
}

fn evaluate(e: &Ends, _: f64, _: &[f64], out: &mut Rows) {
    e.together(0, out);
    out.violation[3] = e.add_angle(3, 1.0, 0.0, out);
}

fn affine(e: &AffineEnds, _: f64) -> AffineRows {
    AffineRows { rows: vec![e.together()], holds: vec![(vec![(1.0, e.angle())], 0.0)] }
}

#[cfg(test)]
mod tests {
    use std::f64::consts::FRAC_PI_3;

    use super::*;
    use crate::bodies::Shape;
    use crate::joints::{Body, End, Holder, JointKind};
    use crate::math::rotation::{exp, frame_with_axis, matrix};
    use crate::model::Quantity;
    use crate::scene::{JointItem, RigidBody, Scene};
    use crate::step::{Impulse, Ipc, Lagrange, Method, Simulation};

    fn ends(axes: [Mat3; 2]) -> [End; 2] {
        [0, 1].map(|k| End { holder: Holder::Rigid(k as u32), anchor: Vec3::zeros(), axes: axes[k] })
    }

    #[test]
    fn the_row_is_the_difference_of_the_rates_of_both_shafts_at_any_bend_and_phase() {
        for bend in [0.0, 0.5, 1.0, 2.0, 3.0] {
            let (t, u) = (Vec3::x(), Vec3::new(f64::cos(bend), f64::sin(bend), 0.0));
            // The gradient grows without bound towards 180°.
            let digits = 1e-13 / (0.5 * bend).cos().powi(4);
            let axes = JointKind::ConstantVelocity.frames(&t, Some(u)).unwrap_or_else(|e| panic!("{e:?}"));
            for phase in [0.0, 0.4, 1.9, -2.5] {
                let shaft =
                    |t: Vec3, rate: f64| Body { R: matrix(&exp(&(phase * t))), w: rate * t, ..Body::WORLD };
                let (ends, bodies) = (ends(axes), [shaft(t, 3.0), shaft(u, 5.0)]);
                let mut rows = Rows::default();
                evaluate(&Ends::new(&ends, &bodies), 0.0, &[], &mut rows);
                assert!(rows.violation[3].abs() < digits, "{bend} {phase}: {}", rows.violation[3]);
                assert!((rows.rate(3, &bodies) - 2.0).abs() < digits, "{bend} {phase}");
            }
        }
    }

    /// A shaft along x drives one that is bent by β in the plane of x and y. The first hangs on a hinge; the far end of the
    /// second stays on its line.
    fn shafts(method: Method, dt: f64, kind: JointKind, bend: f64) -> Simulation {
        let mut scene = Scene { method, dt, gravity: Vec3::zeros(), ..Scene::default() };
        let (t, u) = (Vec3::x(), Vec3::new(bend.cos(), bend.sin(), 0.0));
        let shape = Shape::Cylinder { radius: 0.1, length: 0.4 };
        for (name, along, from) in [("drive", t, -1.0), ("driven", u, 1.0)] {
            let turn = frame_with_axis(&along);
            let body = RigidBody::new(name, shape.clone()).mass(1.0).turned(turn);
            scene.add(body.at((from * 0.3 * along).into()).angular_velocity((4.0 * along).into()));
        }
        let mut joint = JointItem::new("joint", kind, "drive", "driven").anchor([0.0; 3]);
        let far = JointItem::new("far", JointKind::PointOnLine, "world", "driven").anchor((0.6 * u).into());
        let mut hinge = JointItem::new("hinge", JointKind::Hinge, "world", "drive").axis(t.into());
        // The pin of the drive's yoke begins in the plane of the shafts, the other one across it.
        (joint.axis, joint.axis2) = match kind {
            JointKind::Universal => (Vec3::y(), Some(Vec3::z())),
            _ => (t, Some(u)),
        };
        if kind == JointKind::Universal {
            // Hooke's ratio at θ = 0 is 1/cos β.
            scene.rigid[1].angular_velocity /= bend.cos();
        }
        hinge = hinge.anchor([-0.5, 0.0, 0.0]);
        scene.add(hinge);
        scene.add(joint);
        scene.add(far.axis(u.into()));
        scene.build().unwrap_or_else(|e| panic!("{e}"))
    }

    fn value(sim: &Simulation, text: &str) -> f64 {
        Quantity::parse(&sim.model, text).unwrap_or_else(|e| panic!("{e}")).value(&sim.model, &sim.state)
    }

    /// Angle of the drive, and rates of both shafts.
    fn rates(sim: &Simulation, bend: f64) -> [f64; 3] {
        let rate = |body: &str, u: Vec3| {
            Vec3::from(["wx", "wy", "wz"].map(|part| value(sim, &format!("{body}.{part}")))).dot(&u)
        };
        let u = Vec3::new(bend.cos(), bend.sin(), 0.0);
        [value(sim, "hinge.angle"), rate("drive", Vec3::x()), rate("driven", u)]
    }

    #[test]
    fn shafts_keep_one_rate_where_hookes_joint_shows_its_ratio() {
        for bend in [0.5 * FRAC_PI_3, FRAC_PI_3] {
            for (kind, hooke) in [(JointKind::ConstantVelocity, false), (JointKind::Universal, true)] {
                let mut sim = shafts(Method::Lagrange(Lagrange::default()), 1e-3, kind, bend);
                let energy = sim.energy().total();
                for _ in 0..1500 {
                    sim.step().unwrap_or_else(|e| panic!("{e}"));
                    let [theta, a, b] = rates(&sim, bend);
                    let ratio = match hooke {
                        true => bend.cos() / (1.0 - (bend.sin() * theta.cos()).powi(2)),
                        false => 1.0,
                    };
                    assert!((b / a - ratio).abs() < 1e-6, "{bend} {hooke} {theta}: {b} / {a}, {ratio}");
                }
                assert!((sim.energy().total() / energy - 1.0).abs() < 1e-6, "the multipliers do no work");
            }
        }
    }

    #[test]
    fn shafts_keep_one_rate_under_impulse_and_ipc() {
        for bend in [0.5 * FRAC_PI_3, FRAC_PI_3] {
            for (method, dt, off) in
                [(Method::Impulse(Impulse::default()), 1e-3, 1e-6), (Method::Ipc(Ipc::default()), 5e-3, 2e-3)]
            {
                let name = method.name();
                let mut sim = shafts(method, dt, JointKind::ConstantVelocity, bend);
                for _ in 0..200 {
                    sim.step().unwrap_or_else(|e| panic!("{e}"));
                    let [_, a, b] = rates(&sim, bend);
                    assert!(a > 3.0 && (b / a - 1.0).abs() < off, "{name} {bend}: {b} / {a}");
                }
                assert!(value(&sim, "joint.gap") < 1e-6, "{name} {bend}");
            }
        }
    }
}
