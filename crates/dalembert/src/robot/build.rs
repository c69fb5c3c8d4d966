//! Builds a [`Robot`] from its description.

use super::actuators::{Actuator, Transmission};
use super::limits::{Limit, Limited};
use super::loops::{Loop, Measure};
use super::tendons::{Tendon, TendonPath};
use super::{LinkFrame, Robot, RobotWork};
use crate::bodies::articulated::description::{
    ActuatorDynamics, ActuatorLaw, ContactSoftness, EqualityKind, PathPoint, RobotDescription,
    RobotIntegrator, RobotJointId, TendonPath as DescribedPath, Transmission as DescribedTransmission,
};
use crate::bodies::articulated::{ForwardDynamics, JointPlace, RobotTreeError, TreeWork};
use crate::joints::JointKind;
use crate::math::Pose;

/// Why a robot cannot run.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum RobotError {
    /// Its tree is wrong.
    #[error(transparent)]
    Tree(#[from] RobotTreeError),
    /// Something names what is not there, or what it cannot use.
    #[error("{what} of robot `{robot}`: {why}")]
    Part {
        /// Name of the robot.
        robot: String,
        /// What is wrong.
        what: String,
        /// Why.
        why: String,
    },
}

impl Robot {
    /// Checks a robot and makes it ready to run.
    pub fn new(description: RobotDescription) -> Result<Self, RobotError> {
        let tree = description.tree()?;
        let places = joint_places(&description, tree.joints());
        let sites = description
            .sites()
            .map(|(body, site)| LinkFrame { link: body.0.checked_sub(1), pose: site.pose })
            .collect();
        let mut robot = Self {
            description,
            tree,
            controller: None,
            integrator: RobotIntegrator::Discrete,
            notes: Vec::new(),
            places,
            sites,
            tendons: Vec::new(),
            actuators: Vec::new(),
            activations: 0,
            loops: Vec::new(),
            limits: Vec::new(),
            dry: Vec::new(),
            efforts: Vec::new(),
            single_bodies: Vec::new(),
            drag_boxes: Vec::new(),
        };
        robot.drag_boxes = super::drag::drag_boxes(&robot.description);
        robot.single_bodies = super::gyroscopic::single_bodies(&robot.tree);
        robot.check_numbers()?;
        robot.build_tendons()?;
        robot.build_actuators()?;
        robot.build_efforts();
        robot.build_loops()?;
        robot.build_limits();
        robot.note_softness();
        let friction = robot.tree.dry_friction();
        robot.dry = friction.iter().copied().enumerate().filter(|(_, f)| *f > 0.0).collect();
        if !robot.loops.is_empty() {
            // The projection goes on with the factor of the step.
            robot.tree.forward = ForwardDynamics::Factored;
        }
        Ok(robot)
    }

    /// What the file says about softness and weight that the robot does otherwise.
    fn note_softness(&mut self) {
        let usual = ContactSoftness::default();
        let joints = self.description.joints().any(|(_, joint)| {
            joint.limit_softness != usual && joint.limits.is_some()
                || joint.friction_softness != usual && joint.friction_loss > 0.0
        });
        let tendons = self.description.tendons.iter().any(|tendon| {
            tendon.limit_softness != usual && tendon.limits.is_some()
                || tendon.friction_softness != usual && tendon.friction_loss > 0.0
        });
        let loops = self.description.equalities.iter().any(|equality| equality.softness != usual);
        if joints || tendons || loops {
            let why = "limits, dry friction and loops are hard: their `solref` and `solimp` are not used";
            self.notes.push(why.into());
        }
        let weighs = self.description.bodies.iter().any(|body| body.gravity_compensation != 0.0);
        let mut lifted = Vec::new();
        for (_, joint) in self.description.joints() {
            if weighs && joint.actuator_gravity_compensation && joint.effort_limits.is_some() {
                lifted.push(format!(
                    "joint `{}`: the weight that its actuators take does not count in the bound on their force",
                    joint.name
                ));
            }
        }
        self.notes.append(&mut lifted);
    }

    fn part(&self, what: impl Into<String>, why: impl Into<String>) -> RobotError {
        RobotError::Part { robot: self.description.name.clone(), what: what.into(), why: why.into() }
    }

    fn check_numbers(&self) -> Result<(), RobotError> {
        for key in &self.description.keyframes {
            let lists = [&key.positions, &key.velocities, &key.activations, &key.controls];
            if lists.iter().any(|list| list.iter().any(|x| !x.is_finite())) {
                return Err(self.part(format!("keyframe `{}`", key.name), "numbers must be finite"));
            }
        }
        Ok(())
    }

    /// Coordinate and dof of a joint with one of each.
    fn single(&self, joint: RobotJointId) -> Option<(usize, usize)> {
        let place = self.joint_place(joint)?;
        let one = place.kind.has_one_coordinate();
        one.then_some((place.q.start, place.v.start))
    }

    fn needs_single(&self, joint: RobotJointId, what: &str) -> Result<(usize, usize), RobotError> {
        self.single(joint).ok_or_else(|| {
            let name =
                self.description.joints().nth(joint.0).map_or_else(String::new, |(_, j)| j.name.clone());
            self.part(what, format!("joint `{name}` must be a hinge, slide or screw"))
        })
    }

    fn reference_work(&self) -> TreeWork {
        let mut work = TreeWork::new(&self.tree);
        self.tree.kinematics(self.tree.neutral(), &mut work);
        work
    }

    fn build_tendons(&mut self) -> Result<(), RobotError> {
        // A spring of a tendon rests where those of the joints do, unless its length is given.
        let (mut work, mut row) = (TreeWork::new(&self.tree), vec![0.0; self.tree.freedoms()]);
        self.tree.kinematics(self.tree.spring_rest(), &mut work);
        for described in self.description.tendons.clone() {
            let what = format!("tendon `{}`", described.name);
            let path = match &described.path {
                DescribedPath::Joints(terms) => {
                    let mut list = Vec::new();
                    for &(joint, c) in terms {
                        let (q, v) = self.needs_single(joint, &what)?;
                        list.push((q, v, c));
                    }
                    TendonPath::Joints(list)
                }
                DescribedPath::Spatial(points) => TendonPath::Sites(self.branches(points, &what)),
            };
            let mut tendon = Tendon {
                path,
                stiffness: described.stiffness,
                damping: described.damping,
                slack: [0.0; 2],
                friction: described.friction_loss,
            };
            let length = self.measure_tendon(&tendon, self.tree.spring_rest(), &work, &mut row);
            tendon.slack = described.spring_lengths.unwrap_or([length; 2]);
            if described.armature != 0.0 {
                self.notes.push(format!("{what}: its armature is not simulated"));
            }
            if described.effort_limits.is_some() {
                self.notes.push(format!("{what}: its bound on actuator forces is not simulated"));
            }
            self.tendons.push(tendon);
        }
        Ok(())
    }

    fn branches(&mut self, points: &[PathPoint], what: &str) -> Vec<(Vec<LinkFrame>, f64)> {
        let (mut branches, mut frames, mut divisor) = (Vec::new(), Vec::new(), 1.0);
        for point in points {
            match point {
                PathPoint::Site(site) => frames.push(self.sites[site.0]),
                PathPoint::Geom { .. } => {
                    self.notes.push(format!("{what}: wrapping is not simulated, the path runs straight"));
                }
                PathPoint::Pulley { divisor: by } => {
                    branches.push((std::mem::take(&mut frames), divisor));
                    divisor = if *by > 0.0 { *by } else { 1.0 };
                }
            }
        }
        branches.push((frames, divisor));
        branches
    }

    fn build_actuators(&mut self) -> Result<(), RobotError> {
        let off = self.description.options.disables("actuation");
        let unclamped = self.description.options.disables("clampctrl");
        for described in self.description.actuators.clone() {
            let what = format!("actuator `{}`", described.name);
            let mut transmission = match described.transmission {
                DescribedTransmission::Joint(joint) => self.joint_transmission(joint, false),
                DescribedTransmission::JointInParent(joint) => self.joint_transmission(joint, true),
                DescribedTransmission::Tendon(tendon) => Transmission::Tendon(tendon.0),
                DescribedTransmission::Site { site, reference: None } => {
                    Transmission::Site(self.sites[site.0])
                }
                DescribedTransmission::Site { .. } => {
                    self.lost(&what, "a transmission with a reference site")
                }
                DescribedTransmission::SliderCrank { .. } => self.lost(&what, "a slider-crank transmission"),
                DescribedTransmission::Body(_) => self.lost(&what, "adhesion"),
            };
            let affine = |robot: &mut Self, law: &ActuatorLaw| match law {
                ActuatorLaw::None => Some([0.0; 3]),
                ActuatorLaw::Fixed(f) => Some([*f, 0.0, 0.0]),
                ActuatorLaw::Affine(p) => Some(*p),
                ActuatorLaw::Muscle(_) | ActuatorLaw::User(_) => {
                    robot.lost(&what, "a muscle or a user's law");
                    None
                }
            };
            let (gain, bias) = (affine(self, &described.gain), affine(self, &described.bias));
            let (Some(gain), Some(mut bias)) = (gain, bias) else {
                self.actuators.push(nothing());
                continue;
            };
            if off {
                transmission = Transmission::Nothing;
            }
            let activation = match described.dynamics {
                ActuatorDynamics::None => None,
                ActuatorDynamics::Muscle(_) | ActuatorDynamics::User(_) => {
                    self.lost(&what, "muscle or user dynamics");
                    transmission = Transmission::Nothing;
                    None
                }
                _ => {
                    self.activations += 1;
                    Some(self.activations - 1)
                }
            };
            let mut actuator = Actuator {
                transmission,
                gear: described.gear,
                gain,
                bias,
                dynamics: described.dynamics,
                activation,
                early: described.activation_early,
                control_range: described.control_range.filter(|_| !unclamped),
                activation_range: described.activation_range,
                force_range: described.force_range,
            };
            if let Some(ratio) = described.damping_ratio {
                // 2 ζ √(kp m) with m the inertia that the transmission sees in the reference configuration.
                bias[2] -= 2.0 * ratio * (gain[0].max(0.0) * self.seen_inertia(&actuator)).sqrt();
                actuator.bias = bias;
            }
            if described.armature != 0.0 {
                match actuator.transmission {
                    Transmission::Dof { v, .. } => {
                        self.tree.armature[v] += described.armature * actuator.gear[0].powi(2)
                    }
                    _ => self.notes.push(format!("{what}: its armature is not simulated")),
                }
            }
            self.actuators.push(actuator);
        }
        Ok(())
    }

    /// Bounds on the sum of actuator forces at a joint: of a single actuator they are its own.
    fn build_efforts(&mut self) {
        for (joint, place) in self.description.joints().map(|(_, joint)| joint).zip(&self.places) {
            let (Some([low, high]), Some(place)) = (joint.effort_limits, place) else { continue };
            let d = place.v.start;
            let on =
                |actuator: &Actuator| matches!(actuator.transmission, Transmission::Dof { v, .. } if v == d);
            if self.actuators.iter().filter(|actuator| on(actuator)).count() != 1 {
                self.efforts.push((d, [low, high]));
                continue;
            }
            for actuator in
                self.actuators.iter_mut().filter(|actuator| on(actuator) && actuator.gear[0] != 0.0)
            {
                let [a, b] = [low / actuator.gear[0], high / actuator.gear[0]];
                let [l, h] = actuator.force_range.unwrap_or([f64::NEG_INFINITY, f64::INFINITY]);
                actuator.force_range = Some([l.max(a.min(b)), h.min(a.max(b))]);
            }
        }
    }

    fn lost(&mut self, what: &str, why: &str) -> Transmission {
        self.notes.push(format!("{what}: {why} is not simulated, it gives no force"));
        Transmission::Nothing
    }

    fn joint_transmission(&self, joint: RobotJointId, in_parent: bool) -> Transmission {
        let kind = self.description.joints().nth(joint.0).map(|(_, j)| j.kind);
        match (self.joint_place(joint), self.single(joint), kind) {
            (_, Some((q, v)), _) => Transmission::Dof { q, v },
            (Some(place), None, Some(kind @ (JointKind::Ball | JointKind::Free))) => {
                Transmission::Joint { kind, q: place.q.start, v: place.v.start, in_parent }
            }
            (Some(place), None, _) => Transmission::Dof { q: place.q.start, v: place.v.start },
            (None, ..) => Transmission::Nothing,
        }
    }

    /// Inertia 1/(a M⁻¹ aᵀ) that a transmission with moments a sees in the reference configuration; 0 if it moves nothing.
    fn seen_inertia(&self, actuator: &Actuator) -> f64 {
        let mut work = self.reference_work();
        let mut row = vec![0.0; self.tree.freedoms()];
        self.measure_actuator(actuator, self.tree.neutral(), &work, &mut row);
        let mut answer = row.clone();
        let mass = self.tree.mass_matrix(&mut work);
        mass.factor(&self.tree);
        mass.solve(&self.tree, &mut answer);
        let give = crate::math::dot(&row, &answer);
        if give > 0.0 { 1.0 / give } else { 0.0 }
    }

    fn build_loops(&mut self) -> Result<(), RobotError> {
        if self.description.options.disables("equality") {
            return Ok(());
        }
        let work = self.reference_work();
        let mut row = vec![0.0; self.tree.freedoms()];
        for equality in self.description.equalities.clone().iter().filter(|e| e.active) {
            let what = format!("equality `{}`", equality.name);
            let made = match &equality.kind {
                EqualityKind::Connect { bodies: [a, b], anchor } => {
                    let a = LinkFrame { pose: Pose::at(*anchor), ..self.body_frame(*a) };
                    let world = self.position(&a, &work);
                    Loop::Point { a, b: self.frame_at(self.body_frame(*b), &Pose::at(world), &work) }
                }
                EqualityKind::ConnectSites { sites: [a, b] } => {
                    Loop::Point { a: self.sites[a.0], b: self.sites[b.0] }
                }
                EqualityKind::Weld { bodies: [a, b], anchor, relative, .. } => {
                    let b = LinkFrame { pose: Pose::at(*anchor), ..self.body_frame(*b) };
                    let a = self.body_frame(*a);
                    match relative {
                        Some(relative) => {
                            Loop::Frame { a: LinkFrame { pose: relative.then(&Pose::at(*anchor)), ..a }, b }
                        }
                        None => Loop::Frame { a: self.frame_at(a, &self.pose_of(&b, &work), &work), b },
                    }
                }
                EqualityKind::WeldSites { sites: [a, b], .. } => {
                    Loop::Frame { a: self.sites[a.0], b: self.sites[b.0] }
                }
                EqualityKind::Joints { joint, other, polynomial } => {
                    let one = |robot: &Self, joint: RobotJointId| {
                        robot.needs_single(joint, &what).map(|(q, v)| Measure::Joint { q, v })
                    };
                    let y = one(self, *joint)?;
                    let x = other.map(|other| one(self, other)).transpose()?;
                    self.polynomial(y, x, *polynomial, &work, &mut row)
                }
                EqualityKind::Tendons { tendon, other, polynomial } => {
                    let x = other.map(|other| Measure::Tendon(other.0));
                    self.polynomial(Measure::Tendon(tendon.0), x, *polynomial, &work, &mut row)
                }
            };
            self.loops.push(made);
        }
        for mimic in self.description.mimics.clone() {
            let [y, x] = [mimic.joint, mimic.of].map(|joint| self.needs_single(joint, "a mimic"));
            let ((yq, yv), (xq, xv)) = (y?, x?);
            let (y, x) = (Measure::Joint { q: yq, v: yv }, Some(Measure::Joint { q: xq, v: xv }));
            let c = [mimic.offset, mimic.multiplier, 0.0, 0.0, 0.0];
            self.loops.push(Loop::Polynomial { y, x, y0: 0.0, x0: 0.0, c });
        }
        Ok(())
    }

    /// Both measured from the reference configuration.
    fn polynomial(
        &self,
        y: Measure,
        x: Option<Measure>,
        c: [f64; 5],
        work: &TreeWork,
        row: &mut [f64],
    ) -> Loop {
        let mut at = |m: Measure| self.measure(m, self.tree.neutral(), work, row);
        Loop::Polynomial { y, x, y0: at(y), x0: x.map_or(0.0, at), c }
    }

    fn pose_of(&self, frame: &LinkFrame, work: &TreeWork) -> Pose {
        frame.link.map_or(frame.pose, |link| self.tree.link_pose(link, work).then(&frame.pose))
    }

    /// The frame on a frame's body that saturation at a pose in the world.
    fn frame_at(&self, body: LinkFrame, world: &Pose, work: &TreeWork) -> LinkFrame {
        let own = body.link.map_or(Pose::identity(), |link| self.tree.link_pose(link, work));
        let turn = own.rotation.inverse();
        let pose = Pose::new(turn * (world.position - own.position), turn * world.rotation);
        LinkFrame { link: body.link, pose }
    }

    fn build_limits(&mut self) {
        if self.description.options.disables("limit") {
            return;
        }
        let mut limits = Vec::new();
        let mut lost = Vec::new();
        for ((_, joint), place) in self.description.joints().zip(&self.places) {
            let (Some(range), Some(place)) = (joint.limits, place) else { continue };
            let (q, v) = (place.q.start, place.v.start);
            let what = match place.kind {
                kind if kind.has_one_coordinate() => Limited::Measure(Measure::Joint { q, v }),
                JointKind::Ball => Limited::Ball { q, v },
                _ => {
                    lost.push(format!("joint `{}`: limits of this kind are not simulated", joint.name));
                    continue;
                }
            };
            // A ball has a largest turn and no smallest one.
            let low = if place.kind == JointKind::Ball { 0.0 } else { joint.limit_margin };
            limits.push(Limit { what, range: narrowed(range, [low, joint.limit_margin]) });
        }
        for (k, tendon) in self.description.tendons.iter().enumerate() {
            if let Some(range) = tendon.limits {
                let range = narrowed(range, [tendon.limit_margin; 2]);
                limits.push(Limit { what: Limited::Measure(Measure::Tendon(k)), range });
            }
        }
        self.limits = limits;
        self.notes.append(&mut lost);
    }

    /// Buffers for this robot.
    pub fn work(&self) -> RobotWork {
        RobotWork::new(self)
    }
}

fn nothing() -> Actuator {
    Actuator {
        transmission: Transmission::Nothing,
        gear: [0.0; 6],
        gain: [0.0; 3],
        bias: [0.0; 3],
        dynamics: ActuatorDynamics::None,
        activation: None,
        early: false,
        control_range: None,
        activation_range: None,
        force_range: None,
    }
}

/// The tree leaves fixed joints out; the others come in the same order.
fn joint_places(description: &RobotDescription, places: &[JointPlace]) -> Vec<Option<JointPlace>> {
    let mut places = places.iter();
    description
        .joints()
        .map(|(_, joint)| if joint.kind == JointKind::Fixed { None } else { places.next().cloned() })
        .collect()
}

/// A range that ends earlier by these margins; where they leave nothing, its middle.
fn narrowed([low, high]: [f64; 2], margin: [f64; 2]) -> [f64; 2] {
    let (a, b) = (low + margin[0].max(0.0), high - margin[1].max(0.0));
    if a <= b { [a, b] } else { [(a + b) / 2.0; 2] }
}
