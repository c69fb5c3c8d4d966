//! Contacts as they are drawn: discs across the normals where bodies touch, the normals, and the forces.
//!
//! The method says n from b towards a and the force on a. Where a cannot move both are turned around, so that arrows show
//! what the ground does to a body and not what the body does to the ground.

use dalembert::collide::rigid;
use dalembert::math::Vec3;
use dalembert::model::Model;
use dalembert::state::State;

use super::frame::push_arrow;
use super::{Colour, Drawing, Frame, Geometry, Group};

const POINT_COLOUR: Colour = [240, 176, 40];
const NORMAL_COLOUR: Colour = [30, 110, 220];
const FORCE_COLOUR: Colour = [222, 50, 60];

/// Adds points, normals and forces to a drawing, where anything can touch; `scale` is the length of an arrow per force
/// \[m/N\].
pub(super) fn describe(model: &Model, drawing: &mut Drawing, scale: f32) {
    if model.contact_names().is_empty() {
        return;
    }
    let (normals, forces) = (drawing.add_arrow_list(), drawing.add_arrow_list());
    drawing.contacts = Some([normals, forces]);
    let extent = drawing.extent;
    let force = Geometry::Arrows { list: forces, scale, thickness: 1.0, unit: "N" };
    let normal = Geometry::Arrows { list: normals, scale: 0.07 * extent, thickness: 0.5, unit: "" };
    let point = Geometry::Discs { list: normals, radius: 0.011 * extent };
    drawing.add("contact points", Group::Contact, POINT_COLOUR, point);
    drawing.add("contact normals", Group::Contact, NORMAL_COLOUR, normal);
    drawing.add("contact forces", Group::Contact, FORCE_COLOUR, force);
}

/// Fills in the contacts that carry a force.
pub(super) fn frame(model: &Model, drawing: &Drawing, state: &State, out: &mut Frame) {
    let Some([normals, forces]) = drawing.contacts else { return };
    let rests = resting(model);
    for c in model.contact_forces(state) {
        let finite = |v: &Vec3| v.iter().all(|x| x.is_finite());
        if !(finite(&c.point) && finite(&c.normal) && finite(&c.force)) {
            continue;
        }
        let turned = rests[c.a as usize] && !rests[c.b as usize];
        let sign = if turned { -1.0 } else { 1.0 };
        push_arrow(&mut out.arrows[normals as usize], &c.point, &(sign * c.normal));
        push_arrow(&mut out.arrows[forces as usize], &c.point, &(sign * c.force));
    }
}

/// For each of the [names](Model::contact_names) whether it is fixed to the world or has prescribed motion.
fn resting(model: &Model) -> Vec<bool> {
    let mut rests = vec![false; model.rigid_contact.as_ref().map_or(0, |t| t.names.len())];
    if let Some(touch) = &model.rigid_contact {
        for (collider, owner) in touch.colliders.iter().zip(&touch.name_of) {
            rests[*owner as usize] =
                collider.body == rigid::WORLD || touch.held.get(collider.body as usize) == Some(&true);
        }
    }
    if let Some(contact) = &model.ipc {
        rests.extend(contact.geometry.surface.bodies.iter().map(|b| b.prescribed()));
        rests.extend(contact.geometry.plane_names.iter().map(|_| true));
    }
    rests
}

#[cfg(test)]
mod tests {
    use dalembert::prelude::{Ground, Method, RigidBody, Scene, Shape};

    use super::*;
    use crate::drawing::{self, Groups};

    /// A cube of 2 kg on the ground, after half a second.
    fn resting_cube(method: &str) -> (Drawing, Frame) {
        let method = Method::from_name(method).unwrap();
        let mut scene = Scene { dt: 5e-3, method, ..Scene::default() };
        scene.add(Ground::default());
        let cube = Shape::Box { size: Vec3::repeat(0.2) };
        scene.add(RigidBody::new("cube", cube).mass(2.0).at([0.0, 0.0, 0.1005]));
        let mut sim = scene.build().unwrap();
        sim.run(0.5).unwrap();
        let drawing = drawing::describe(&sim.model, &sim.state);
        let mut frame = Frame::default();
        drawing::frame(&sim.model, &drawing, &sim.state, Groups::NONE.with(Group::Contact), &mut frame);
        (drawing, frame)
    }

    #[test]
    fn arrows_show_what_the_ground_does_to_a_body_and_add_up_to_its_weight() {
        for method in ["impulse", "lagrange", "ipc"] {
            let (drawing, frame) = resting_cube(method);
            assert!(drawing.shows(Group::Contact), "{method}");
            let [normals, forces] = drawing.contacts.unwrap().map(|k| &frame.arrows[k as usize]);
            assert!(normals.len() == forces.len() && normals.len() >= 3 * 6, "{method}: {}", normals.len());
            assert!(
                normals.chunks_exact(6).all(|a| a[5] > 0.99 && a[2].abs() < 0.01),
                "{method}: {normals:?}"
            );
            let sum: f32 = forces.chunks_exact(6).map(|a| a[5]).sum();
            assert!((sum / (2.0 * 9.81) - 1.0).abs() < 0.02, "{method}: {sum} N");
        }
    }

    #[test]
    fn a_method_without_contacts_has_nothing_to_show() {
        let mut scene = Scene::default();
        scene.add(RigidBody::new("ball", Shape::Sphere { radius: 0.1 }).mass(1.0));
        let sim = scene.build().unwrap();
        assert!(!drawing::describe(&sim.model, &sim.state).shows(Group::Contact));
    }
}
