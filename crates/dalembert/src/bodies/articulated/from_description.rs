//! From the description of a robot to its tree: the same bodies, joints and numbers, body i + 1 as link i.
//!
//! Bodies without joints are lumped into what carries them (the tree does that); the world's own mass does not move
//! and is left out. Coordinates of the tree are those of [`RobotDescription::joints`], number by number: for that the bodies must
//! stand depth first, as readers leave them.

use super::description::{RobotBody, RobotDescription, RobotJoint};
use super::{Joint, Link, Tree, TreeError};
use crate::math::Vec3;

/// Why a robot is not a tree that moves.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum RobotTreeError {
    /// The tree itself is wrong.
    #[error(transparent)]
    Tree(#[from] TreeError),
    /// Children of one body do not stand together.
    #[error(
        "body `{body}` of robot `{robot}` does not stand in depth-first order, so its coordinates have no place"
    )]
    Order {
        /// Name of the robot.
        robot: String,
        /// Name of the body.
        body: String,
    },
}

impl RobotDescription {
    /// The tree of this robot, with its own gravity. Body i is link i − 1 of the tree.
    pub fn tree(&self) -> Result<Tree, RobotTreeError> {
        let off = |flag: &str| self.options.disables(flag);
        let (no_spring, no_damper) = (off("passive") || off("spring"), off("passive") || off("damper"));
        let no_friction = off("frictionloss");
        let mut links: Vec<Link> = self.bodies.iter().skip(1).map(link).collect();
        for joint in links.iter_mut().flat_map(|link| &mut link.joints) {
            joint.stiffness *= f64::from(!no_spring);
            joint.damping *= f64::from(!no_damper);
            joint.dry_friction *= f64::from(!no_friction);
        }
        let gravity = if off("gravity") { Vec3::zeros() } else { self.options.gravity };
        let tree = Tree::new(&links, gravity)?;
        // Depth first means that the joints come out in the order of the bodies.
        let mut last = 0;
        for place in tree.joints() {
            if place.link < last {
                let body = self.bodies[last + 1].name.clone();
                return Err(RobotTreeError::Order { robot: self.name.clone(), body });
            }
            last = place.link;
        }
        Ok(tree)
    }
}

fn link(body: &RobotBody) -> Link {
    Link {
        name: body.name.clone(),
        parent: body.parent.0.checked_sub(1),
        placement: body.pose,
        mass: body.inertial.mass,
        center: body.inertial.center,
        inertia: body.inertial.inertia,
        joints: body.joints.iter().map(joint).collect(),
        gravity_compensation: body.gravity_compensation,
    }
}

fn joint(joint: &RobotJoint) -> Joint {
    Joint {
        name: joint.name.clone(),
        kind: joint.kind,
        anchor: joint.anchor,
        axis: joint.axis,
        second_axis: joint.second_axis,
        reference: joint.reference,
        armature: joint.armature,
        damping: joint.damping,
        stiffness: joint.stiffness,
        spring_reference: joint.spring_reference,
        dry_friction: joint.friction_loss,
        limits: joint.limits,
    }
}

#[cfg(test)]
mod tests {
    use super::super::TreeWork;
    use super::super::description::{Inertial, RobotBodyId};
    use super::*;
    use crate::joints::JointKind;
    use crate::math::{Mat3, Pose};
    use std::f64::consts::TAU;

    fn body(name: &str, parent: usize, kind: JointKind) -> RobotBody {
        let mut body = RobotBody::new(name, RobotBodyId(parent));
        body.pose = Pose::at(Vec3::new(0.1, 0.2, 0.3));
        body.inertial = Inertial { mass: 1.0, center: Vec3::x(), inertia: Mat3::identity() };
        body.joints.push(RobotJoint { reference: 0.4, spring_reference: 0.1, ..RobotJoint::new(name, kind) });
        body
    }

    #[test]
    fn every_kind_of_joint_stands_as_described_in_the_reference_configuration() {
        let mut robot = RobotDescription::new("r");
        robot.bodies.push(body("free", 0, JointKind::Free));
        for (i, kind) in [
            JointKind::Ball,
            JointKind::Hinge,
            JointKind::Slider,
            JointKind::Fixed,
            JointKind::Planar,
            JointKind::Screw { pitch: 0.5 },
            JointKind::Universal,
        ]
        .into_iter()
        .enumerate()
        {
            robot.bodies.push(body(&format!("b{i}"), i + 1, kind));
        }
        let tree = robot.tree().unwrap();
        assert_eq!((tree.coordinates(), tree.freedoms()), (robot.position_count(), robot.velocity_count()));
        let q = robot.reference_configuration();
        assert_eq!(tree.neutral(), q.as_slice());
        let mut work = TreeWork::new(&tree);
        tree.kinematics(&q, &mut work);
        for i in 0..8 {
            let wanted = Vec3::new(0.1, 0.2, 0.3) * (i + 1) as f64;
            assert!((tree.link_position(i, &work) - wanted).norm() < 1e-14);
        }
        // A full turn of the screw shifts what follows by its pitch.
        let mut turned = q.clone();
        let at = tree.joints().iter().find(|j| matches!(j.kind, JointKind::Screw { .. })).unwrap().q.start;
        turned[at] += TAU;
        let before = tree.link_position(7, &work);
        tree.kinematics(&turned, &mut work);
        assert!((tree.link_position(7, &work) - before - Vec3::new(0.0, 0.0, 0.5)).norm() < 1e-14);
    }

    #[test]
    fn bodies_out_of_order_are_refused() {
        let mut robot = RobotDescription::new("r");
        robot.bodies.push(body("a", 0, JointKind::Hinge));
        robot.bodies.push(body("b", 0, JointKind::Hinge));
        robot.bodies.push(body("child of a", 1, JointKind::Hinge));
        assert!(matches!(robot.tree(), Err(RobotTreeError::Order { .. })));
    }
}
