//! Touch sensors of robots: the normal forces on a body inside the volume of a site.

use super::Model;
use crate::bodies::articulated::description::{GeomShape, SensorObject};
use crate::contact::ColliderOwner;
use crate::math::Vec3;
use crate::state::State;

/// True if a place in the frame of a shape is inside it, give or take a thousandth of its size.
fn inside(shape: &GeomShape, p: &Vec3) -> bool {
    let edge = 1.001;
    match shape {
        GeomShape::Sphere { radius } => p.norm() <= edge * radius,
        GeomShape::Box { half } => (0..3).all(|k| p[k].abs() <= edge * half[k]),
        GeomShape::Ellipsoid { semi_axes } => p.component_div(semi_axes).norm() <= edge,
        GeomShape::Capsule { radius, half_length } => {
            let z = p.z.clamp(-half_length, *half_length);
            (p - Vec3::new(0.0, 0.0, z)).norm() <= edge * radius
        }
        GeomShape::Cylinder { radius, half_length } => {
            p.xy().norm() <= edge * radius && p.z.abs() <= edge * half_length
        }
        _ => false,
    }
}

impl Model {
    /// What a sensor `touch` of a robot reads after a step of `impulse`: the sum of the normal forces on the body of its
    /// site at contacts inside the site's volume \[N\]. None if there is no such robot, sensor or site.
    pub fn touch_sensor(&self, state: &State, robot: &str, sensor: &str) -> Option<f64> {
        let shapes = self.rigid_contact.as_ref()?;
        let number = self.robots.iter().position(|r| r.name == robot)?;
        let part = &self.robots[number];
        let found = part.robot.description.sensors.iter().find(|s| s.name == sensor && s.kind == "touch")?;
        let SensorObject::Site(id) = found.object else { return None };
        let (_, site) = part.robot.description.sites().nth(id.0)?;
        let frame = part.robot.site_frame(id);
        let mut work = part.robot.work();
        part.robot.tree.kinematics(part.q(state), &mut work.tree);
        let (x, R) = (part.robot.position(&frame, &work.tree), part.robot.rotation(&frame, &work.tree));
        let on_body = |collider: u32| {
            let body = shapes.colliders[collider as usize].body as usize;
            shapes.owners.get(body).is_some_and(|p| match *p {
                ColliderOwner::Link { robot, link } => {
                    robot as usize == number && Some(link as usize) == frame.link
                }
                _ => false,
            })
        };
        let mut sum = 0.0;
        for c in state.contacts.iter().filter(|c| on_body(c.a) || on_body(c.b)) {
            if inside(&site.shape, &R.tr_mul(&(c.point - x))) {
                sum += c.normal.dot(&c.force);
            }
        }
        Some(sum)
    }
}
