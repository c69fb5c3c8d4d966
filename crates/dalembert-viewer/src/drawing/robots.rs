//! Robots: each shape of a link has a pose of its own, behind those of the rigid bodies.

use dalembert::bodies::Bounds;
use dalembert::bodies::articulated::description::{GeomShape, RobotGeom};
use dalembert::math::{Pose, Vec3};
use dalembert::model::{Model, NamedRobot};
use dalembert::robot::RobotWork;
use dalembert::state::{BlockKind, State};

use super::{Drawing, Frame, Geometry, Group};

/// Shapes in groups from here on are for contact and are not shown where others are.
const HIDDEN: i32 = 3;

/// The shapes of a robot that are drawn, each with the number of its body.
fn shown(part: &NamedRobot) -> impl Iterator<Item = (usize, &RobotGeom)> {
    let any = part.robot.description.geoms().any(|(_, geom)| geom.group < HIDDEN);
    part.robot
        .description
        .geoms()
        .filter(move |(_, geom)| !any || geom.group < HIDDEN)
        .filter(|(_, geom)| !matches!(geom.shape, GeomShape::HeightField(_)))
        .map(|(body, geom)| (body.0, geom))
}

/// A robot without a single shape is seen by balls at its bodies.
fn is_bare(part: &NamedRobot) -> bool {
    shown(part).next().is_none()
}

/// Robots that are not drawn as the affine bodies of their links.
fn drawn(model: &Model) -> impl Iterator<Item = &NamedRobot> {
    model.robots.iter().filter(|part| {
        let link = |name: &str| name.strip_prefix(&part.name).is_some_and(|rest| rest.starts_with('/'));
        !model.blocks.iter().any(|b| b.kind == BlockKind::Affine && link(&b.name))
    })
}

/// Adds the shapes of all robots.
pub(super) fn describe(model: &Model, drawing: &mut Drawing) {
    for part in drawn(model) {
        let robot = &part.robot.description;
        let body_name = |i: usize| {
            let own = &robot.bodies[i].name;
            if own.is_empty() { part.name.clone() } else { format!("{}.{own}", part.name) }
        };
        if is_bare(part) {
            for i in 1..robot.bodies.len() {
                let pose = drawing.add_pose();
                let radius = 0.02 * drawing.extent;
                drawing.add(&body_name(i), Group::Body, [128, 128, 128], Geometry::Sphere { pose, radius });
            }
        }
        for (body, geom) in shown(part) {
            let pose = drawing.add_pose();
            let small = |x: f64| x as f32;
            let geometry = match &geom.shape {
                GeomShape::Plane { .. } | GeomShape::HeightField(_) => Geometry::Plane { pose },
                GeomShape::Sphere { radius } => Geometry::Sphere { pose, radius: small(*radius) },
                GeomShape::Capsule { radius, half_length } => {
                    Geometry::Capsule { pose, radius: small(*radius), length: small(2.0 * half_length) }
                }
                GeomShape::Cylinder { radius, half_length } => {
                    Geometry::Cylinder { pose, radius: small(*radius), length: small(2.0 * half_length) }
                }
                GeomShape::Box { half } => {
                    Geometry::Box { pose, size: [0, 1, 2].map(|k| small(2.0 * half[k])) }
                }
                GeomShape::Ellipsoid { semi_axes } => {
                    let shape = dalembert::bodies::Shape::Ellipsoid { semi_axes: *semi_axes };
                    let mesh = shape.triangles();
                    solid(pose, mesh.vertices(), mesh.triangles())
                }
                GeomShape::Mesh(id) => {
                    let mesh = &robot.meshes[id.0];
                    solid(pose, &mesh.vertices, &mesh.triangles)
                }
            };
            let colour = [0, 1, 2].map(|k| (255.0 * geom.color[k].clamp(0.0, 1.0)).round() as u8);
            let shape = drawing.add(&body_name(body), Group::Body, colour, geometry);
            let mass = robot.bodies[body].inertial.mass;
            drawing.shapes[shape].facts =
                vec![("robot".into(), part.name.clone()), ("mass".into(), super::kilograms(mass))];
        }
    }
}

fn solid(pose: u32, vertices: &[Vec3], triangles: &[[u32; 3]]) -> Geometry {
    let vertices = vertices.iter().map(|p| [0, 1, 2].map(|i| p[i] as f32)).collect();
    Geometry::Solid { pose, vertices, triangles: triangles.to_vec() }
}

/// Calls `each` with the pose of every shape that [`describe`] has added, in its order.
fn each_pose(model: &Model, state: &State, mut each: impl FnMut(&Pose, Option<&RobotGeom>)) {
    for part in drawn(model) {
        let poses = part.poses(state, &mut RobotWork::new(&part.robot));
        if is_bare(part) {
            poses.iter().skip(1).for_each(|pose| each(pose, None));
        }
        for (body, geom) in shown(part) {
            each(&poses[body].then(&geom.pose), Some(geom));
        }
    }
}

/// Appends the poses of a frame.
pub(super) fn frame(model: &Model, state: &State, out: &mut Frame) {
    each_pose(model, state, |pose, _| {
        let q = pose.rotation;
        out.push_pose(pose.position.into(), [q.w, q.i, q.j, q.k]);
    });
}

/// The box around all robots.
pub(super) fn bounds(model: &Model, state: &State) -> Bounds {
    let mut all = Bounds::empty();
    each_pose(model, state, |pose, geom| {
        let reach = match geom.map(|geom| &geom.shape) {
            Some(GeomShape::Sphere { radius }) => *radius,
            Some(
                GeomShape::Capsule { radius, half_length } | GeomShape::Cylinder { radius, half_length },
            ) => radius + half_length,
            Some(GeomShape::Box { half }) => half.norm(),
            Some(GeomShape::Plane { .. }) => return,
            _ => 0.0,
        };
        all = all.union(&Bounds::around(pose.position, Vec3::repeat(reach)));
    });
    all
}

#[cfg(test)]
mod tests {
    use dalembert::bodies::articulated::description::{
        Inertial, RobotBody, RobotBodyId, RobotDescription, RobotJoint,
    };
    use dalembert::math::Mat3;
    use dalembert::prelude::*;

    use super::super::{Groups, describe, frame};
    use super::*;

    #[test]
    fn every_shape_of_a_robot_moves_with_its_link() {
        let mut robot = RobotDescription::new("r");
        let mut body = RobotBody::new("rod", RobotBodyId(0));
        body.inertial = Inertial { mass: 1.0, center: Vec3::x(), inertia: Mat3::identity() };
        body.joints.push(RobotJoint { axis: Vec3::y(), ..RobotJoint::new("pivot", JointKind::Hinge) });
        let mut ball = RobotGeom::new("ball", GeomShape::Sphere { radius: 0.1 });
        ball.pose = Pose::at(Vec3::x());
        body.geoms.push(ball);
        body.geoms
            .push(RobotGeom { group: 3, ..RobotGeom::new("hidden", GeomShape::Sphere { radius: 1.0 }) });
        robot.bodies.push(body);
        let mut scene = Scene { method: Method::from_name("impulse").unwrap(), ..Scene::default() };
        scene.add(RobotItem {
            positions: vec![("pivot".into(), std::f64::consts::FRAC_PI_2)],
            ..RobotItem::new("arm", robot)
        });
        let sim = scene.build().unwrap();
        let drawing = describe(&sim.model, &sim.state);
        let shapes: Vec<&str> = drawing.shapes.iter().map(|s| s.name.as_str()).collect();
        assert!(shapes.contains(&"arm.rod"), "{shapes:?}");
        let mut out = Frame::default();
        frame(&sim.model, &drawing, &sim.state, Groups::default(), &mut out);
        assert_eq!((drawing.poses, out.poses.len()), (1, 7));
        // A quarter turn about y takes x to −z.
        let (at, _) = out.pose(0);
        assert!((at[2] + 1.0).abs() < 1e-6 && at[0].abs() < 1e-6, "{at:?}");
    }
}
