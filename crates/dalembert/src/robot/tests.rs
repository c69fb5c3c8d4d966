use super::*;
use crate::bodies::articulated::description::{self, *};
use crate::joints::JointKind;
use crate::math::rotation::{exp, set_quaternion};
use crate::math::{Pose, Random};

const G: f64 = 9.81;

fn rod(name: &str, parent: usize, at: [f64; 3], kind: JointKind, axis: Vec3) -> RobotBody {
    let mut body = RobotBody::new(name, RobotBodyId(parent));
    body.pose = Pose::at(at.into());
    body.inertial = Inertial {
        mass: 2.0,
        center: Vec3::new(0.5, 0.0, 0.0),
        inertia: Mat3::from_diagonal(&Vec3::new(0.01, 0.17, 0.17)),
    };
    body.joints.push(RobotJoint { axis, ..RobotJoint::new(name, kind) });
    body
}

fn actuator(name: &str, transmission: Transmission, gain: f64, bias: [f64; 3]) -> description::Actuator {
    description::Actuator {
        name: name.into(),
        transmission,
        gear: [1.0, 0.0, 0.0, 0.0, 0.0, 0.0],
        dynamics: ActuatorDynamics::None,
        gain: ActuatorLaw::Fixed(gain),
        bias: ActuatorLaw::Affine(bias),
        damping_ratio: None,
        control_range: None,
        force_range: None,
        activation_range: None,
        length_range: None,
        activation_early: false,
        armature: 0.0,
        group: 0,
    }
}

fn pendulum() -> RobotDescription {
    let mut robot = RobotDescription::new("pendulum");
    robot.bodies.push(rod("rod", 0, [0.0; 3], JointKind::Hinge, Vec3::y()));
    robot
}

fn run(robot: &Robot, state: &mut RobotState, scheme: RobotScheme, h: f64, time: f64) -> RobotReport {
    let mut work = robot.work();
    let mut last = RobotReport::default();
    for _ in 0..(time / h).round() as usize {
        last = robot.step(scheme, state, h, &mut work).unwrap();
    }
    last
}

#[test]
fn a_position_servo_sags_by_the_weight_over_its_stiffness() {
    let mut robot = pendulum();
    let kp = 400.0;
    robot.actuators.push(actuator("servo", Transmission::Joint(RobotJointId(0)), kp, [0.0, -kp, -40.0]));
    let robot = Robot::new(robot).unwrap();
    let mut state = robot.start();
    state.control[0] = 0.3;
    run(&robot, &mut state, RobotScheme::Implicit, 0.002, 8.0);
    // Positive about y lets the rod sink: kp (q − 0.3) = m g l cos q.
    let q = state.q[0];
    assert!((kp * (q - 0.3) - 2.0 * G * 0.5 * q.cos()).abs() < 1e-9, "{q}");
    assert!((state.force[0] + 2.0 * G * 0.5 * q.cos()).abs() < 1e-9);
}

#[test]
fn a_servo_at_its_force_range_pushes_with_the_bound_at_any_stiffness() {
    for kd in [1.0, 1e5] {
        let mut robot = pendulum();
        let mut servo = actuator("servo", Transmission::Joint(RobotJointId(0)), 1e5, [0.0, -1e5, -kd]);
        servo.force_range = Some([-3.0, 3.0]);
        robot.actuators.push(servo);
        robot.options.gravity = Vec3::zeros();
        let robot = Robot::new(robot).unwrap();
        let mut state = robot.start();
        state.control[0] = 100.0;
        run(&robot, &mut state, RobotScheme::Implicit, 0.001, 0.5);
        let inertia = 0.17 + 2.0 * 0.25;
        assert!((state.v[0] - 3.0 / inertia * 0.5).abs() < 1e-9, "kd = {kd}: {}", state.v[0]);
    }
}

#[test]
fn a_motor_turns_a_rod_alike_under_every_scheme() {
    let mut robot = pendulum();
    robot.options.gravity = Vec3::zeros();
    robot.actuators.push(actuator("motor", Transmission::Joint(RobotJointId(0)), 2.0, [0.0; 3]));
    robot.actuators[0].control_range = Some([-0.5, 0.5]);
    let robot = Robot::new(robot).unwrap();
    for scheme in
        [RobotScheme::Implicit, RobotScheme::SemiImplicit, RobotScheme::RungeKutta4, RobotScheme::Midpoint]
    {
        let mut state = robot.start();
        state.control[0] = 3.0;
        run(&robot, &mut state, scheme, 0.01, 1.0);
        // Clamped to 0.5 · 2 N·m on 0.17 + 2 · 0.25 kg·m².
        assert!(
            (state.v[0] - 1.0 / 0.67).abs() < 1e-9 && state.force[0] == 1.0,
            "{scheme:?}: {}",
            state.v[0]
        );
    }
}

#[test]
fn dry_friction_holds_below_its_bound_and_brakes_above() {
    for (push, wanted) in [(4.9, 0.0), (7.0, 2.0 / 2.0)] {
        let mut robot = RobotDescription::new("block");
        robot.options.gravity = Vec3::zeros();
        let mut body = rod("block", 0, [0.0; 3], JointKind::Slider, Vec3::x());
        body.joints[0].friction_loss = 5.0;
        robot.bodies.push(body);
        let robot = Robot::new(robot).unwrap();
        for scheme in [RobotScheme::Implicit, RobotScheme::RungeKutta4, RobotScheme::Midpoint] {
            let mut state = robot.start();
            state.tau[0] = push;
            run(&robot, &mut state, scheme, 0.01, 1.0);
            assert!((state.v[0] - wanted).abs() < 1e-12, "{push} {scheme:?}: {}", state.v[0]);
        }
    }
}

#[test]
fn a_limit_stops_a_falling_rod_and_lets_it_leave() {
    let mut robot = pendulum();
    robot.bodies[1].joints[0].limits = Some([-1.0, 0.5]);
    let robot = Robot::new(robot).unwrap();
    let mut state = robot.start();
    run(&robot, &mut state, RobotScheme::Implicit, 0.001, 2.0);
    assert!((state.q[0] - 0.5).abs() < 1e-9 && state.v[0].abs() < 1e-9, "{:?}", state.q);
    state.tau[0] = -30.0;
    run(&robot, &mut state, RobotScheme::Implicit, 0.001, 0.1);
    assert!(state.v[0] < -0.5 && state.q[0] < 0.5);
    let mut work = robot.work();
    state.q[0] = 0.6;
    robot.step(RobotScheme::Implicit, &mut state, 0.001, &mut work).unwrap();
    assert!(state.v[0].abs() < 30.0, "pushed back gently: {}", state.v[0]);
}

/// Ground of 3 m between hinges, cranks of 1 and 2.5 m … closed by a coupler of rods, in the plane across y.
fn four_bar() -> RobotDescription {
    let mut robot = RobotDescription::new("four-bar");
    let turn = |body: &mut RobotBody, angle: f64| body.pose.rotation = exp(&Vec3::new(0.0, angle, 0.0));
    let mut crank = rod("crank", 0, [0.0; 3], JointKind::Hinge, Vec3::y());
    turn(&mut crank, -1.2);
    robot.bodies.push(crank);
    let mut coupler = rod("coupler", 1, [1.0, 0.0, 0.0], JointKind::Hinge, Vec3::y());
    turn(&mut coupler, 0.9);
    robot.bodies.push(coupler);
    let mut rocker = rod("rocker", 0, [1.2, 0.0, 0.0], JointKind::Hinge, Vec3::y());
    turn(&mut rocker, -0.8);
    robot.bodies.push(rocker);
    robot.equalities.push(Equality {
        name: "loop".into(),
        kind: EqualityKind::Connect {
            bodies: [RobotBodyId(2), RobotBodyId(3)],
            anchor: Vec3::new(1.0, 0.0, 0.0),
        },
        active: true,
        softness: ContactSoftness::default(),
    });
    robot
}

#[test]
fn a_closed_loop_stays_closed_and_keeps_its_energy() {
    let robot = Robot::new(four_bar()).unwrap();
    let mut work = robot.work();
    let mut drift = |scheme: RobotScheme, h: f64| {
        let mut state = robot.start();
        let total = |state: &RobotState, work: &mut RobotWork| {
            let (k, p) = robot.energy(state, work);
            k + p
        };
        let start = total(&state, &mut work);
        for _ in 0..(2.0 / h).round() as usize {
            let report = robot.step(scheme, &mut state, h, &mut work).unwrap();
            assert!(report.residual < 1e-9 && report.gap < 1e-11, "{scheme:?}: {report:?}");
        }
        assert!(state.v.iter().any(|v| v.abs() > 0.1), "{scheme:?} did not move");
        (total(&state, &mut work) - start).abs() / (2.0 * G * 3.0)
    };
    for (scheme, order) in [
        (RobotScheme::RungeKutta4, 4.0),
        (RobotScheme::Implicit, 1.0),
        (RobotScheme::SemiImplicit, 1.0),
        (RobotScheme::Midpoint, 1.0),
    ] {
        let (coarse, fine) = (drift(scheme, 0.002), drift(scheme, 0.001));
        assert!((coarse / fine).log2() > order - 0.3, "{scheme:?}: {coarse:e}, then {fine:e}");
    }
}

/// Everything that loops can be, on one arm.
fn coupled() -> Robot {
    let mut robot = RobotDescription::new("coupled");
    let axes = [Vec3::y(), Vec3::z(), Vec3::new(1.0, 2.0, -1.0).normalize()];
    for (i, axis) in axes.into_iter().enumerate() {
        robot.bodies.push(rod(&format!("a{i}"), i, [0.7, 0.1, 0.2], JointKind::Hinge, axis));
    }
    robot.bodies.push(rod("ball", 3, [0.3, 0.0, 0.4], JointKind::Ball, Vec3::z()));
    robot.bodies.push(rod("slide", 0, [0.0, 1.0, 0.0], JointKind::Slider, Vec3::x()));
    for (body, name) in [(1, "s1"), (4, "s2"), (5, "s3")] {
        robot.bodies[body].sites.push(RobotSite {
            name: name.into(),
            pose: Pose::new(Vec3::new(0.1, 0.2, 0.3), exp(&Vec3::new(0.3, -0.2, 0.5))),
            shape: GeomShape::Sphere { radius: 0.01 },
            group: 0,
            color: [1.0; 4],
        });
    }
    let tendon = |name: &str, path| description::Tendon {
        name: name.into(),
        path,
        limits: None,
        limit_margin: 0.0,
        limit_softness: ContactSoftness::default(),
        stiffness: 3.0,
        damping: 0.1,
        spring_lengths: None,
        friction_loss: 0.0,
        friction_softness: ContactSoftness::default(),
        armature: 0.0,
        effort_limits: None,
        width: 0.01,
        color: [1.0; 4],
        group: 0,
    };
    let [s1, s2, s3] = [0, 1, 2].map(|k| PathPoint::Site(RobotSiteId(k)));
    robot
        .tendons
        .push(tendon("sum", TendonPath::Joints(vec![(RobotJointId(0), 1.0), (RobotJointId(2), -2.0)])));
    let path = vec![s1, s2, PathPoint::Pulley { divisor: 2.0 }, s2, s3];
    robot.tendons.push(tendon("tendon", TendonPath::Spatial(path)));
    let bodies = [RobotBodyId(4), RobotBodyId(5)];
    for kind in [
        EqualityKind::Connect { bodies, anchor: Vec3::new(0.2, 0.1, 0.0) },
        EqualityKind::Weld { bodies, anchor: Vec3::x(), relative: None, torque_scale: 1.0 },
        EqualityKind::WeldSites { sites: [RobotSiteId(0), RobotSiteId(2)], torque_scale: 1.0 },
        EqualityKind::Joints {
            joint: RobotJointId(1),
            other: Some(RobotJointId(2)),
            polynomial: [0.1, 0.5, 0.2, -0.3, 0.1],
        },
        EqualityKind::Tendons {
            tendon: TendonId(1),
            other: Some(TendonId(0)),
            polynomial: [0.0, 1.0, 0.4, 0.0, 0.0],
        },
    ] {
        robot.equalities.push(Equality {
            name: String::new(),
            kind,
            active: true,
            softness: ContactSoftness::default(),
        });
    }
    robot.mimics.push(Mimic { joint: RobotJointId(0), of: RobotJointId(4), multiplier: 2.0, offset: 0.1 });
    Robot::new(robot).unwrap()
}

#[test]
fn rows_times_velocity_are_the_rates_of_violations() {
    let robot = coupled();
    let tree = &robot.tree;
    let mut random = Random::new(3);
    let mut work = robot.work();
    // Frames first agree (turns of a frame are exact there), then move a little along random velocities.
    let evaluate = |q: &[f64], v: &[f64], work: &mut RobotWork| {
        tree.kinematics(q, &mut work.tree);
        tree.velocities(v, &mut work.tree);
        work.rows.clear();
        robot.add_loop_rows(q, Some(v), work);
        let rates: Vec<f64> = (0..work.rows.len()).map(|i| work.rows.times(i, v)).collect();
        (work.rows.violation.clone(), rates, work.rows.bias.clone())
    };
    for _ in 0..5 {
        let v: Vec<f64> = (0..tree.freedoms()).map(|_| random.between(-1.0, 1.0)).collect();
        let q = tree.neutral().to_vec();
        let e = 1e-5;
        let moved = |s: f64| {
            let mut q = q.clone();
            tree.integrate(&mut q, &v, s);
            q
        };
        let (_, rates, bias) = evaluate(&q, &v, &mut work);
        let (ahead, behind) = (evaluate(&moved(e), &v, &mut work), evaluate(&moved(-e), &v, &mut work));
        // Sites that are welded do not agree at the start: only positions and single numbers are compared there.
        for i in (0..rates.len()).filter(|i| !(12..15).contains(i)) {
            let rate = (ahead.0[i] - behind.0[i]) / (2.0 * e);
            assert!((rate - rates[i]).abs() < 1e-8, "row {i}: {rate} against {}", rates[i]);
            let second = (ahead.1[i] - behind.1[i]) / (2.0 * e);
            assert!((second - bias[i]).abs() < 1e-6, "bias of row {i}: {second} against {}", bias[i]);
        }
    }
}

#[test]
fn tendons_pull_along_the_gradient_of_their_energy() {
    let robot = coupled();
    let (tree, mut work) = (&robot.tree, robot.work());
    let mut random = Random::new(5);
    let mut q = tree.neutral().to_vec();
    let v: Vec<f64> = (0..tree.freedoms()).map(|_| random.between(-0.5, 0.5)).collect();
    tree.integrate(&mut q, &v, 1.0);
    for tendon in &robot.tendons {
        let mut length = |q: &[f64], row: &mut [f64]| {
            tree.kinematics(q, &mut work.tree);
            robot.measure_tendon(tendon, q, &work.tree, row)
        };
        let mut row = vec![0.0; tree.freedoms()];
        length(&q, &mut row);
        for d in 0..tree.freedoms() {
            let at = |s: f64| {
                let (mut q, mut unit) = (q.clone(), vec![0.0; tree.freedoms()]);
                unit[d] = 1.0;
                tree.integrate(&mut q, &unit, s);
                q
            };
            let mut waste = vec![0.0; tree.freedoms()];
            let slope = (length(&at(1e-6), &mut waste) - length(&at(-1e-6), &mut waste)) / 2e-6;
            assert!((slope - row[d]).abs() < 1e-8, "dof {d}: {slope} against {}", row[d]);
        }
    }
}

#[test]
fn a_tendon_servo_is_stable_at_any_gain_and_bounded_by_its_range() {
    let mut robot = four_bar();
    robot.equalities.clear();
    robot.tendons = coupled().description.tendons[..1].to_vec();
    robot.tendons[0].stiffness = 0.0;
    robot.actuators.push(actuator("pull", Transmission::Tendon(TendonId(0)), 1e6, [0.0, -1e6, -1e4]));
    robot.actuators[0].force_range = Some([-500.0, 500.0]);
    let robot = Robot::new(robot).unwrap();
    let mut state = robot.start();
    state.control[0] = 0.4;
    // Let the rest hang still.
    state.tau.fill(0.0);
    let mut work = robot.work();
    for _ in 0..2000 {
        robot.step(RobotScheme::Implicit, &mut state, 0.002, &mut work).unwrap();
        assert!(state.force[0].abs() <= 500.0 + 1e-9);
    }
    let length = state.q[0] - 2.0 * state.q[2];
    assert!((length - 0.4).abs() < 2e-3, "{length}");
}

#[test]
fn sensors_read_weight_at_rest_and_nothing_in_free_fall() {
    let mut robot = RobotDescription::new("box");
    let mut base = rod("base", 0, [0.0, 0.0, 2.0], JointKind::Free, Vec3::z());
    base.sites.push(coupled().description.bodies[1].sites[0].clone());
    base.sites[0].pose = Pose::identity();
    robot.bodies.push(base);
    for kind in ["accelerometer", "gyro", "framepos", "framequat", "velocimeter", "subtreecom", "clock"] {
        let object = match kind {
            "subtreecom" => SensorObject::Body(RobotBodyId(1)),
            "clock" => SensorObject::Model,
            _ => SensorObject::Site(RobotSiteId(0)),
        };
        robot.sensors.push(Sensor {
            name: kind.into(),
            kind: kind.into(),
            object,
            reference: None,
            cutoff: 0.0,
            noise: 0.0,
            other: Vec::new(),
        });
    }
    let robot = Robot::new(robot.clone()).unwrap();
    let (mut state, mut work, mut out) = (robot.start(), robot.work(), Vec::new());
    let h = 0.01;
    robot.step(RobotScheme::Implicit, &mut state, h, &mut work).unwrap();
    robot.read_sensors(&state, &mut work, &mut out);
    let read = |name: &str| &out[robot.sensor(name).unwrap()];
    assert!(read("accelerometer").iter().all(|a| a.abs() < 1e-12), "{out:?}");
    assert!((read("velocimeter")[2] + G * h).abs() < 1e-12);
    assert!((read("framepos")[2] - 2.0 + G * h * h).abs() < 1e-12 && read("framequat")[0] == 1.0);
    assert!((read("subtreecom")[0] - 0.5).abs() < 1e-12 && read("clock")[0] == h);

    // Held up by a hinge that a motor keeps still: the force sensor carries the weight.
    let mut held = pendulum();
    held.bodies[1].sites.push(robot.description.bodies[1].sites[0].clone());
    for kind in ["force", "torque", "accelerometer"] {
        held.sensors.push(Sensor {
            name: kind.into(),
            kind: kind.into(),
            ..robot.description.sensors[0].clone()
        });
    }
    let robot = Robot::new(held).unwrap();
    let (mut state, mut work) = (robot.start(), robot.work());
    state.tau[0] = -2.0 * G * 0.5;
    robot.step(RobotScheme::Implicit, &mut state, 1e-3, &mut work).unwrap();
    robot.read_sensors(&state, &mut work, &mut out);
    let wanted = [0.0, 0.0, 2.0 * G, 0.0, -2.0 * G * 0.5, 0.0, 0.0, 0.0, G];
    assert!(out.iter().zip(wanted).all(|(a, b)| (a - b).abs() < 1e-9), "{out:?}");
}

#[test]
fn computed_torque_follows_its_path_and_gravity_compensation_rests() {
    let mut robot = four_bar();
    robot.equalities.clear();
    robot.bodies[1].joints[0].damping = 0.3;
    let mut robot = Robot::new(robot).unwrap();
    robot.controller = Some(Controller::GravityCompensation);
    let mut state = robot.start();
    run(&robot, &mut state, RobotScheme::RungeKutta4, 0.01, 2.0);
    assert!(state.v.iter().all(|v| v.abs() < 1e-12));
    let tracks: Vec<Track> = (0..3)
        .map(|k| Track { amplitude: 0.3, frequency: 0.5 + 0.2 * k as f64, ..Track::default() })
        .collect();
    robot.controller = Some(Controller::ComputedTorque { kp: 100.0, kd: 20.0, tracks: tracks.clone() });
    let mut state = robot.start();
    for (v, track) in state.v.iter_mut().zip(&tracks) {
        *v = track.at_time(0.0)[1];
    }
    run(&robot, &mut state, RobotScheme::RungeKutta4, 0.002, 3.0);
    for (q, track) in state.q.iter().zip(&tracks) {
        assert!((q - track.at_time(3.0)[0]).abs() < 1e-8, "{q}");
    }
}

#[test]
fn filtered_controls_come_out_late_and_a_failed_step_changes_nothing() {
    let mut robot = pendulum();
    robot.options.gravity = Vec3::zeros();
    let mut motor = actuator("motor", Transmission::Joint(RobotJointId(0)), 2.0, [0.0; 3]);
    motor.dynamics = ActuatorDynamics::FilterExact { time: 0.1 };
    robot.actuators.push(motor);
    let robot = Robot::new(robot).unwrap();
    let mut state = robot.start();
    state.control[0] = 1.0;
    run(&robot, &mut state, RobotScheme::Implicit, 0.01, 0.1);
    assert!((state.activation[0] - (1.0 - (-1.0f64).exp())).abs() < 1e-12);
    let mut bad = state.clone();
    bad.tau[0] = f64::INFINITY;
    let before = bad.clone();
    assert!(robot.step(RobotScheme::Implicit, &mut bad, 0.01, &mut robot.work()).is_err());
    assert_eq!(bad, before);
    bad.tau.clear();
    assert!(matches!(
        robot.step(RobotScheme::Implicit, &mut bad, 0.01, &mut robot.work()),
        Err(RobotStepError::Mismatch { .. })
    ));
}

#[test]
fn a_ball_with_a_limit_swings_no_further() {
    let mut robot = RobotDescription::new("ball");
    robot.bodies.push(rod("ball", 0, [0.0; 3], JointKind::Ball, Vec3::z()));
    robot.bodies[1].joints[0].limits = Some([0.0, 0.6]);
    let robot = Robot::new(robot).unwrap();
    let mut state = robot.start();
    set_quaternion(&mut state.q, 0, &exp(&Vec3::new(0.1, 0.2, 0.0)));
    let mut work = robot.work();
    for _ in 0..2000 {
        robot.step(RobotScheme::Implicit, &mut state, 0.001, &mut work).unwrap();
        let turn = crate::math::rotation::log(&crate::math::rotation::quaternion(&state.q, 0)).norm();
        // Sliding along the limit with spin w goes beyond it by about (h w)²/2 per step, of which a fifth comes back.
        assert!(turn < 0.6 + 2e-3, "{turn}");
    }
}
