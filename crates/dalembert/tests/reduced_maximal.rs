//! The same mechanism in reduced and in maximal coordinates moves the same way.
//!
//! A pendulum, a four-bar linkage and a ragdoll, once as a robot (a tree, with a loop where there is one) and once as
//! rigid bodies on joints. Under `lagrange` with Runge-Kutta both solve the same equations to the fourth order; under
//! `impulse` they differ by terms of the order of h.

use dalembert::bodies::articulated::description::{
    Equality, EqualityKind, Inertial, RobotBody, RobotBodyId, RobotDescription, RobotJoint,
};
use dalembert::math::rotation::exp;
use dalembert::prelude::*;
use dalembert::step::Method;

/// A link: its frame in its parent's, where it starts; a joint at its origin.
struct Link {
    name: &'static str,
    parent: Option<usize>,
    /// Joint in the parent's frame (the world's).
    at: [f64; 3],
    /// Turn against the parent at the start.
    turn: [f64; 3],
    /// Axis of a hinge; none for a ball.
    axis: Option<[f64; 3]>,
    mass: f64,
    /// Centre in its own frame.
    center: [f64; 3],
    moments: [f64; 3],
}

struct Mechanism {
    links: Vec<Link>,
    /// Points of two links that are one.
    closed: Option<(usize, [f64; 3], usize)>,
}

impl Mechanism {
    /// Poses of all links at the start.
    fn poses(&self) -> Vec<Pose> {
        let mut poses: Vec<Pose> = Vec::new();
        for link in &self.links {
            let own = Pose::new(link.at.into(), exp(&link.turn.into()));
            poses.push(link.parent.map_or(own, |parent| poses[parent].then(&own)));
        }
        poses
    }

    fn robot(&self) -> RobotDescription {
        let mut robot = RobotDescription::new("robot");
        for link in &self.links {
            let mut body = RobotBody::new(link.name, RobotBodyId(link.parent.map_or(0, |p| p + 1)));
            body.pose = Pose::new(link.at.into(), exp(&link.turn.into()));
            body.inertial = Inertial {
                mass: link.mass,
                center: link.center.into(),
                inertia: Mat3::from_diagonal(&link.moments.into()),
            };
            let kind = if link.axis.is_some() { JointKind::Hinge } else { JointKind::Ball };
            let axis = link.axis.map_or(Vec3::z(), Vec3::from);
            body.joints.push(RobotJoint { axis, ..RobotJoint::new(link.name, kind) });
            robot.bodies.push(body);
        }
        if let Some((a, anchor, b)) = self.closed {
            robot.equalities.push(Equality {
                name: "loop".into(),
                kind: EqualityKind::Connect {
                    bodies: [RobotBodyId(a + 1), RobotBodyId(b + 1)],
                    anchor: anchor.into(),
                },
                active: true,
                softness: Default::default(),
            });
        }
        robot
    }

    fn reduced(&self, method: Method, dt: f64) -> Simulation {
        let mut scene = Scene { method, dt, ..Scene::default() };
        scene.add(RobotItem::new("robot", self.robot()));
        scene.build().unwrap()
    }

    fn maximal(&self, method: Method, dt: f64) -> Simulation {
        let mut scene = Scene { method, dt, ..Scene::default() };
        let poses = self.poses();
        for (link, pose) in self.links.iter().zip(&poses) {
            scene.add(RigidBody {
                name: link.name.into(),
                shape: Shape::Point,
                mass: BodyMass::Given {
                    mass: link.mass,
                    center: link.center.into(),
                    inertia: Mat3::from_diagonal(&link.moments.into()),
                },
                pose: *pose,
                velocity: Vec3::zeros(),
                angular_velocity: Vec3::zeros(),
                collide: Collide::Automatic,
            });
            let parent = link.parent.map_or("world", |p| self.links[p].name);
            let kind = if link.axis.is_some() { JointKind::Hinge } else { JointKind::Ball };
            let mut joint = JointItem::new(format!("{} joint", link.name), kind, parent, link.name)
                .anchor(pose.position.into());
            if let Some(axis) = link.axis {
                joint = joint.axis((pose.rotation * Vec3::from(axis)).into());
            }
            scene.add(joint);
        }
        if let Some((a, anchor, b)) = self.closed {
            let at = poses[a].point(&anchor.into());
            let (a, b) = (self.links[a].name, self.links[b].name);
            scene.add(JointItem::new("loop", JointKind::Ball, a, b).anchor(at.into()));
        }
        scene.build().unwrap()
    }

    /// Largest distance between the origins of all links after one second.
    fn apart(&self, method: &Method, dt: f64) -> (f64, f64) {
        let (mut a, mut b) = (self.reduced(method.clone(), dt), self.maximal(method.clone(), dt));
        let start: Vec<Pose> = self.poses();
        a.run(1.0).unwrap();
        b.run(1.0).unwrap();
        let named = a.model.robot("robot").unwrap();
        let poses = named.poses(&a.state, &mut named.robot.work());
        let (mut worst, mut moved) = (0.0f64, 0.0f64);
        for (k, link) in self.links.iter().enumerate() {
            // Origin, and a point off every axis.
            for x in [Vec3::zeros(), Vec3::new(0.3, 0.2, 0.1)] {
                let one = poses[k + 1].point(&x);
                let other = b.model.rigid.pose(&b.state.q, k).point(&x);
                worst = worst.max((one - other).norm());
                moved = moved.max((one - start[k].point(&x)).norm());
            }
            assert!(worst.is_finite(), "{}", link.name);
        }
        (worst, moved)
    }
}

fn rod(name: &'static str, parent: Option<usize>, at: [f64; 3], turn: f64) -> Link {
    Link {
        name,
        parent,
        at,
        turn: [0.0, turn, 0.0],
        axis: Some([0.0, 1.0, 0.0]),
        mass: 2.0,
        center: [0.5, 0.0, 0.0],
        moments: [0.01, 0.17, 0.17],
    }
}

fn pendulum() -> Mechanism {
    Mechanism { links: vec![rod("rod", None, [0.0; 3], 0.4)], closed: None }
}

fn four_bar() -> Mechanism {
    // Crank of 0.5, coupler of 1.2, rocker of 1: the ends of coupler and rocker meet.
    let (crank, rocker) = (-1.1f64, -1.3f64);
    let tip = |angle: f64, length: f64| [length * angle.cos(), -length * angle.sin()];
    let [ax, az] = tip(crank, 0.5);
    let [rx, rz] = tip(rocker, 1.0);
    let (dx, dz) = (1.5 + rx - ax, rz - az);
    let coupler = -dz.atan2(dx);
    let length = dx.hypot(dz);
    Mechanism {
        links: vec![
            rod("crank", None, [0.0; 3], crank),
            rod("coupler", Some(0), [0.5, 0.0, 0.0], coupler - crank),
            rod("rocker", None, [1.5, 0.0, 0.0], rocker),
        ],
        closed: Some((1, [length, 0.0, 0.0], 2)),
    }
}

/// Hung up by a ball at its neck: a trunk, arms and legs on balls, elbows and knees as hinges.
fn ragdoll() -> Mechanism {
    let limb = |name, parent, at, turn, axis| Link {
        name,
        parent: Some(parent),
        at,
        turn,
        axis,
        mass: 1.5,
        center: [0.0, 0.0, -0.15],
        moments: [0.022, 0.023, 0.004],
    };
    let trunk = Link {
        name: "trunk",
        parent: None,
        at: [0.0, 0.0, 2.0],
        turn: [0.2, 0.5, 0.0],
        axis: None,
        mass: 12.0,
        center: [0.02, 0.0, -0.3],
        moments: [0.5, 0.45, 0.2],
    };
    let hinge = Some([0.0, 1.0, 0.0]);
    Mechanism {
        links: vec![
            trunk,
            limb("left arm", 0, [0.0, 0.2, -0.05], [0.3, 0.2, 0.0], None),
            limb("left fore", 1, [0.0, 0.0, -0.3], [0.0, -0.6, 0.0], hinge),
            limb("right arm", 0, [0.0, -0.2, -0.05], [-0.2, 0.1, 0.3], None),
            limb("right fore", 3, [0.0, 0.0, -0.3], [0.0, -0.2, 0.0], hinge),
            limb("left leg", 0, [0.0, 0.1, -0.6], [0.1, -0.3, 0.0], None),
            limb("left shank", 5, [0.0, 0.0, -0.35], [0.0, 0.4, 0.0], hinge),
            limb("right leg", 0, [0.0, -0.1, -0.6], [-0.1, 0.3, 0.1], None),
            limb("right shank", 7, [0.0, 0.0, -0.35], [0.0, 0.2, 0.0], hinge),
        ],
        closed: None,
    }
}

#[test]
fn under_lagrange_both_coordinates_move_the_same_way() {
    let method = Method::from_name("lagrange").unwrap();
    for (name, mechanism) in [("pendulum", pendulum()), ("four-bar", four_bar()), ("ragdoll", ragdoll())] {
        let (apart, moved) = mechanism.apart(&method, 2e-3);
        println!("{name}: {apart:.1e} m apart after 1 s of lagrange, having moved {moved:.2} m");
        assert!(moved > 0.2, "{name}: {moved}");
        assert!(apart < 1e-8, "{name}: {apart:e} m");
    }
}

#[test]
fn under_impulse_they_differ_in_first_order() {
    let method = Method::from_name("impulse").unwrap();
    for (name, mechanism) in [("pendulum", pendulum()), ("four-bar", four_bar()), ("ragdoll", ragdoll())] {
        let apart = [2e-3, 1e-3, 5e-4].map(|h| mechanism.apart(&method, h).0);
        let order = (apart[1] / apart[2]).log2();
        println!("{name}: {apart:?} m apart after 1 s of impulse, order {order:.2}");
        assert!(apart[2] < 2e-2 && order > 0.8 && order < 2.3, "{name}: {apart:?}, order {order}");
    }
}
