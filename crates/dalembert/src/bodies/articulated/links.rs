//! Links and joints as a tree is built from them, and the checks that they pass.

use crate::joints::{JointFrame, JointKind};
use crate::math::{Mat3, Pose, Vec3};

/// One joint of a link. Coefficients hold for each of its freedoms.
#[derive(Debug, Clone, PartialEq)]
pub struct Joint {
    /// Name, for messages.
    pub name: String,
    /// How it moves.
    pub kind: JointKind,
    /// A point of the axis, in the link's frame \[m\].
    pub anchor: Vec3,
    /// Axis in the link's frame; any length but zero.
    pub axis: Vec3,
    /// Second axis of a universal joint, in the link's frame; any length but zero.
    pub second_axis: Vec3,
    /// Coordinate of the pose as placed, of a hinge, slide or screw, of the angle of a planar joint and of the first
    /// angle of a universal one \[rad or m\].
    pub reference: f64,
    /// Rotor inertia seen by the joint, added to the diagonal of M \[kg·m² or kg\].
    pub armature: f64,
    /// Viscous damping \[N·m·s/rad or N·s/m\].
    pub damping: f64,
    /// Stiffness of a spring towards `spring_reference` \[N·m/rad or N/m\].
    pub stiffness: f64,
    /// Coordinate at which the spring of a hinge, slide or screw rests \[rad or m\]. A ball and a free joint rest as
    /// placed.
    pub spring_reference: f64,
    /// Largest dry friction \[N·m or N\]. Not a force of the kernels here: a row of the contact solver.
    pub dry_friction: f64,
    /// Lowest and highest coordinate of a hinge, slide or screw; largest angle of a ball in the second \[rad or m\].
    pub limits: Option<[f64; 2]>,
}

impl Default for Joint {
    fn default() -> Self {
        Self {
            name: String::new(),
            kind: JointKind::Hinge,
            anchor: Vec3::zeros(),
            axis: Vec3::z(),
            second_axis: Vec3::x(),
            reference: 0.0,
            armature: 0.0,
            damping: 0.0,
            stiffness: 0.0,
            spring_reference: 0.0,
            dry_friction: 0.0,
            limits: None,
        }
    }
}

impl Joint {
    /// A joint of a kind about or along an axis through the link's origin.
    pub fn new(name: impl Into<String>, kind: JointKind, axis: Vec3) -> Self {
        Self { name: name.into(), kind, axis, ..Self::default() }
    }

    /// A hinge about an axis through the link's origin.
    pub fn hinge(name: impl Into<String>, axis: Vec3) -> Self {
        Self::new(name, JointKind::Hinge, axis)
    }
}

/// One rigid link of a tree.
#[derive(Debug, Clone, PartialEq)]
pub struct Link {
    /// Name, for messages.
    pub name: String,
    /// Number of the parent in the list of links; none for the world.
    pub parent: Option<usize>,
    /// Frame of the link in its parent's frame (the world's), joints as placed.
    pub placement: Pose,
    /// Mass \[kg\], ≥ 0.
    pub mass: f64,
    /// Centre of mass in the link's frame \[m\].
    pub center: Vec3,
    /// Inertia about the centre of mass, link axes \[kg·m²\]. Symmetric; robot files hold ones that no mass
    /// distribution has, so no more is asked.
    pub inertia: Mat3,
    /// Joints that move it, in order; none fixes it to its parent.
    pub joints: Vec<Joint>,
    /// Share of its weight that is taken away, 0 to 1.
    pub gravity_compensation: f64,
}

impl Default for Link {
    fn default() -> Self {
        Self {
            name: String::new(),
            parent: None,
            placement: Pose::identity(),
            mass: 0.0,
            center: Vec3::zeros(),
            inertia: Mat3::zeros(),
            joints: Vec::new(),
            gravity_compensation: 0.0,
        }
    }
}

/// Why links are not a tree that moves.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum TreeError {
    /// A parent that does not exist.
    #[error("link `{link}` has parent number {parent}, but there are only {count} links")]
    UnknownParent {
        /// Name of the link.
        link: String,
        /// Number of the parent.
        parent: usize,
        /// How many links there are.
        count: usize,
    },
    /// Links that are parents of each other.
    #[error("link `{link}` is its own ancestor")]
    Cycle {
        /// Name of one of the links.
        link: String,
    },
    /// A number that is not finite.
    #[error("{what} of link `{link}` must be finite")]
    NotFinite {
        /// Name of the link.
        link: String,
        /// What is wrong.
        what: &'static str,
    },
    /// A coefficient below zero.
    #[error("{what} of `{name}` is {value}; it must not be negative")]
    Negative {
        /// Name of the link or joint.
        name: String,
        /// Which number.
        what: &'static str,
        /// Its value.
        value: f64,
    },
    /// An axis without direction.
    #[error("joint `{joint}` of link `{link}` has an axis without direction")]
    NoAxis {
        /// Name of the link.
        link: String,
        /// Name of the joint.
        joint: String,
    },
    /// A free joint below another link or behind another joint.
    #[error(
        "joint `{joint}` is free, so it must be the first joint of a link that stands in the world, not of `{link}`"
    )]
    FreeBelow {
        /// Name of the link.
        link: String,
        /// Name of the joint.
        joint: String,
    },
    /// A kind of joint that has no reduced form.
    #[error("joint `{joint}` of link `{link}` is a `{kind}`, which has no coordinates of its own")]
    NotReduced {
        /// Name of the link.
        link: String,
        /// Name of the joint.
        joint: String,
        /// Name of the kind.
        kind: &'static str,
    },
    /// A joint that moves nothing with inertia.
    #[error(
        "joint `{joint}` of link `{link}` moves neither mass nor armature, so its acceleration has no value"
    )]
    Weightless {
        /// Name of the link.
        link: String,
        /// Name of the joint.
        joint: String,
    },
}

/// Numbers of the links, parents first, children in the order of the list.
pub(super) fn depth_first(links: &[Link]) -> Result<Vec<usize>, TreeError> {
    let count = links.len();
    let mut children: Vec<Vec<usize>> = vec![Vec::new(); count];
    let mut stack = Vec::new();
    for (i, link) in links.iter().enumerate().rev() {
        match link.parent {
            None => stack.push(i),
            Some(parent) if parent < count => children[parent].push(i),
            Some(parent) => return Err(TreeError::UnknownParent { link: link.name.clone(), parent, count }),
        }
    }
    let (mut order, mut seen) = (Vec::with_capacity(count), vec![false; count]);
    while let Some(i) = stack.pop() {
        order.push(i);
        seen[i] = true;
        stack.extend(&children[i]); // in falling order, so that the lowest is taken next
    }
    match seen.iter().position(|s| !s) {
        Some(i) => Err(TreeError::Cycle { link: links[i].name.clone() }),
        None => Ok(order),
    }
}

pub(super) fn check_link(link: &Link) -> Result<(), TreeError> {
    let finite = |what: &'static str, ok: bool| {
        if ok { Ok(()) } else { Err(TreeError::NotFinite { link: link.name.clone(), what }) }
    };
    let Pose { position, rotation } = &link.placement;
    finite("placement", position.iter().chain(rotation.coords.iter()).all(|x| x.is_finite()))?;
    finite("mass", link.mass.is_finite())?;
    finite("centre of mass", link.center.iter().all(|x| x.is_finite()))?;
    finite("inertia", link.inertia.iter().all(|x| x.is_finite()))?;
    finite("gravity compensation", link.gravity_compensation.is_finite())?;
    if link.mass < 0.0 {
        return Err(TreeError::Negative { name: link.name.clone(), what: "mass", value: link.mass });
    }
    Ok(())
}

pub(super) fn check_joint(link: &Link, joint: &Joint, number: usize) -> Result<(), TreeError> {
    for (what, value) in [
        ("armature", joint.armature),
        ("damping", joint.damping),
        ("stiffness", joint.stiffness),
        ("dry friction", joint.dry_friction),
    ] {
        if !(value >= 0.0 && value.is_finite()) {
            return Err(TreeError::Negative { name: joint.name.clone(), what, value });
        }
    }
    let numbers = [joint.reference, joint.spring_reference];
    if !numbers.iter().chain(joint.anchor.iter()).all(|x| x.is_finite()) {
        return Err(TreeError::NotFinite { link: link.name.clone(), what: "a joint" });
    }
    let direction = |axis: &Vec3| {
        if axis.norm() > 0.0 && axis.iter().all(|x| x.is_finite()) {
            Ok(())
        } else {
            Err(TreeError::NoAxis { link: link.name.clone(), joint: joint.name.clone() })
        }
    };
    match joint.kind {
        JointKind::Free if number > 0 || link.parent.is_some() => {
            Err(TreeError::FreeBelow { link: link.name.clone(), joint: joint.name.clone() })
        }
        JointKind::Screw { pitch } if !pitch.is_finite() => {
            Err(TreeError::NotFinite { link: link.name.clone(), what: "the pitch of a joint" })
        }
        kind if kind.info().reduced.is_none() => Err(TreeError::NotReduced {
            link: link.name.clone(),
            joint: joint.name.clone(),
            kind: kind.name(),
        }),
        kind => {
            let uses = |frame: JointFrame| kind.factors().iter().any(|factor| factor.frame == frame);
            if uses(JointFrame::Axis) {
                direction(&joint.axis)?;
            }
            if uses(JointFrame::SecondAxis) {
                direction(&joint.second_axis)?;
            }
            Ok(())
        }
    }
}
