//! From the description of a robot to a machine.

use super::super::robot::{
    ActuatorDynamics, ActuatorLaw, ContactSoftness, EqualityKind, PathPoint, Robot, RobotIntegrator,
    RobotJointId, TendonPath, Transmission,
};
use super::super::{ForwardDynamics, JointPlace, RobotTreeError, TreeWork};
use super::drives::{Cord, CordPath, Drive, Pull};
use super::rows::{Limit, Limited, Loop, Measure};
use super::{Machine, MachineWork, Spot};
use crate::joints::JointKind;
use crate::math::Pose;

/// Why a robot cannot run.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum MachineError {
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

impl Machine {
    /// Checks a robot and makes it ready to run.
    pub fn new(robot: Robot) -> Result<Self, MachineError> {
        let tree = robot.tree()?;
        let places = joint_places(&robot, tree.joints());
        let sites =
            robot.sites().map(|(body, site)| Spot { link: body.0.checked_sub(1), pose: site.pose }).collect();
        let mut machine = Self {
            robot,
            tree,
            controller: None,
            integrator: RobotIntegrator::Discrete,
            notes: Vec::new(),
            places,
            sites,
            cords: Vec::new(),
            drives: Vec::new(),
            activations: 0,
            loops: Vec::new(),
            limits: Vec::new(),
            dry: Vec::new(),
            efforts: Vec::new(),
            alone: Vec::new(),
            hulls: Vec::new(),
        };
        machine.hulls = super::fluid::hulls(&machine.robot);
        machine.alone = super::spin::bodies_alone(&machine.tree);
        machine.check_numbers()?;
        machine.build_cords()?;
        machine.build_drives()?;
        machine.build_efforts();
        machine.build_loops()?;
        machine.build_limits();
        machine.note_hardness();
        let friction = machine.tree.dry_friction();
        machine.dry = friction.iter().copied().enumerate().filter(|(_, f)| *f > 0.0).collect();
        if !machine.loops.is_empty() {
            // The projection goes on with the factor of the step.
            machine.tree.forward = ForwardDynamics::Factored;
        }
        Ok(machine)
    }

    /// What the file says about softness and weight that the machine does otherwise.
    fn note_hardness(&mut self) {
        let usual = ContactSoftness::default();
        let joints = self.robot.joints().any(|(_, joint)| {
            joint.limit_softness != usual && joint.limits.is_some()
                || joint.friction_softness != usual && joint.friction_loss > 0.0
        });
        let tendons = self.robot.tendons.iter().any(|tendon| {
            tendon.limit_softness != usual && tendon.limits.is_some()
                || tendon.friction_softness != usual && tendon.friction_loss > 0.0
        });
        let loops = self.robot.equalities.iter().any(|equality| equality.softness != usual);
        if joints || tendons || loops {
            let why = "limits, dry friction and loops are hard: their `solref` and `solimp` are not used";
            self.notes.push(why.into());
        }
        let weighs = self.robot.bodies.iter().any(|body| body.gravity_compensation != 0.0);
        let mut lifted = Vec::new();
        for (_, joint) in self.robot.joints() {
            if weighs && joint.actuator_gravity_compensation && joint.effort_limits.is_some() {
                lifted.push(format!(
                    "joint `{}`: the weight that its actuators take does not count in the bound on their force",
                    joint.name
                ));
            }
        }
        self.notes.append(&mut lifted);
    }

    fn part(&self, what: impl Into<String>, why: impl Into<String>) -> MachineError {
        MachineError::Part { robot: self.robot.name.clone(), what: what.into(), why: why.into() }
    }

    fn check_numbers(&self) -> Result<(), MachineError> {
        for key in &self.robot.keyframes {
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

    fn needs_single(&self, joint: RobotJointId, what: &str) -> Result<(usize, usize), MachineError> {
        self.single(joint).ok_or_else(|| {
            let name = self.robot.joints().nth(joint.0).map_or_else(String::new, |(_, j)| j.name.clone());
            self.part(what, format!("joint `{name}` must be a hinge, slide or screw"))
        })
    }

    fn reference_work(&self) -> TreeWork {
        let mut work = TreeWork::new(&self.tree);
        self.tree.kinematics(self.tree.neutral(), &mut work);
        work
    }

    fn build_cords(&mut self) -> Result<(), MachineError> {
        // A spring of a tendon rests where those of the joints do, unless its length is given.
        let (mut work, mut row) = (TreeWork::new(&self.tree), vec![0.0; self.tree.freedoms()]);
        self.tree.kinematics(self.tree.spring_rest(), &mut work);
        for tendon in self.robot.tendons.clone() {
            let what = format!("tendon `{}`", tendon.name);
            let path = match &tendon.path {
                TendonPath::Joints(terms) => {
                    let mut list = Vec::new();
                    for &(joint, c) in terms {
                        let (q, v) = self.needs_single(joint, &what)?;
                        list.push((q, v, c));
                    }
                    CordPath::Joints(list)
                }
                TendonPath::Spatial(points) => CordPath::Sites(self.branches(points, &what)),
            };
            let mut cord = Cord {
                path,
                stiffness: tendon.stiffness,
                damping: tendon.damping,
                slack: [0.0; 2],
                friction: tendon.friction_loss,
            };
            let length = self.measure_cord(&cord, self.tree.spring_rest(), &work, &mut row);
            cord.slack = tendon.spring_lengths.unwrap_or([length; 2]);
            if tendon.armature != 0.0 {
                self.notes.push(format!("{what}: its armature is not simulated"));
            }
            if tendon.effort_limits.is_some() {
                self.notes.push(format!("{what}: its bound on actuator forces is not simulated"));
            }
            self.cords.push(cord);
        }
        Ok(())
    }

    fn branches(&mut self, points: &[PathPoint], what: &str) -> Vec<(Vec<Spot>, f64)> {
        let (mut branches, mut spots, mut divisor) = (Vec::new(), Vec::new(), 1.0);
        for point in points {
            match point {
                PathPoint::Site(site) => spots.push(self.sites[site.0]),
                PathPoint::Geom { .. } => {
                    self.notes.push(format!("{what}: wrapping is not simulated, the path runs straight"));
                }
                PathPoint::Pulley { divisor: by } => {
                    branches.push((std::mem::take(&mut spots), divisor));
                    divisor = if *by > 0.0 { *by } else { 1.0 };
                }
            }
        }
        branches.push((spots, divisor));
        branches
    }

    fn build_drives(&mut self) -> Result<(), MachineError> {
        let off = self.robot.options.disables("actuation");
        let unclamped = self.robot.options.disables("clampctrl");
        for actuator in self.robot.actuators.clone() {
            let what = format!("actuator `{}`", actuator.name);
            let mut pull = match actuator.transmission {
                Transmission::Joint(joint) => self.joint_pull(joint, false),
                Transmission::JointInParent(joint) => self.joint_pull(joint, true),
                Transmission::Tendon(tendon) => Pull::Cord(tendon.0),
                Transmission::Site { site, reference: None } => Pull::Site(self.sites[site.0]),
                Transmission::Site { .. } => self.lost(&what, "a transmission with a reference site"),
                Transmission::SliderCrank { .. } => self.lost(&what, "a slider-crank transmission"),
                Transmission::Body(_) => self.lost(&what, "adhesion"),
            };
            let affine = |machine: &mut Self, law: &ActuatorLaw| match law {
                ActuatorLaw::None => Some([0.0; 3]),
                ActuatorLaw::Fixed(f) => Some([*f, 0.0, 0.0]),
                ActuatorLaw::Affine(p) => Some(*p),
                ActuatorLaw::Muscle(_) | ActuatorLaw::User(_) => {
                    machine.lost(&what, "a muscle or a user's law");
                    None
                }
            };
            let (gain, bias) = (affine(self, &actuator.gain), affine(self, &actuator.bias));
            let (Some(gain), Some(mut bias)) = (gain, bias) else {
                self.drives.push(nothing());
                continue;
            };
            if off {
                pull = Pull::Nothing;
            }
            let activation = match actuator.dynamics {
                ActuatorDynamics::None => None,
                ActuatorDynamics::Muscle(_) | ActuatorDynamics::User(_) => {
                    self.lost(&what, "muscle or user dynamics");
                    pull = Pull::Nothing;
                    None
                }
                _ => {
                    self.activations += 1;
                    Some(self.activations - 1)
                }
            };
            let mut drive = Drive {
                pull,
                gear: actuator.gear,
                gain,
                bias,
                dynamics: actuator.dynamics,
                activation,
                early: actuator.activation_early,
                control_range: actuator.control_range.filter(|_| !unclamped),
                activation_range: actuator.activation_range,
                force_range: actuator.force_range,
            };
            if let Some(ratio) = actuator.damping_ratio {
                // 2 ζ √(kp m) with m the inertia that the transmission sees in the reference configuration.
                bias[2] -= 2.0 * ratio * (gain[0].max(0.0) * self.seen_inertia(&drive)).sqrt();
                drive.bias = bias;
            }
            if actuator.armature != 0.0 {
                match drive.pull {
                    Pull::Dof { v, .. } => self.tree.armature[v] += actuator.armature * drive.gear[0].powi(2),
                    _ => self.notes.push(format!("{what}: its armature is not simulated")),
                }
            }
            self.drives.push(drive);
        }
        Ok(())
    }

    /// Bounds on the sum of actuator forces at a joint: of a single actuator they are its own.
    fn build_efforts(&mut self) {
        for (joint, place) in self.robot.joints().map(|(_, joint)| joint).zip(&self.places) {
            let (Some([low, high]), Some(place)) = (joint.effort_limits, place) else { continue };
            let d = place.v.start;
            let on = |drive: &Drive| matches!(drive.pull, Pull::Dof { v, .. } if v == d);
            if self.drives.iter().filter(|drive| on(drive)).count() != 1 {
                self.efforts.push((d, [low, high]));
                continue;
            }
            for drive in self.drives.iter_mut().filter(|drive| on(drive) && drive.gear[0] != 0.0) {
                let [a, b] = [low / drive.gear[0], high / drive.gear[0]];
                let [l, h] = drive.force_range.unwrap_or([f64::NEG_INFINITY, f64::INFINITY]);
                drive.force_range = Some([l.max(a.min(b)), h.min(a.max(b))]);
            }
        }
    }

    fn lost(&mut self, what: &str, why: &str) -> Pull {
        self.notes.push(format!("{what}: {why} is not simulated, it gives no force"));
        Pull::Nothing
    }

    fn joint_pull(&self, joint: RobotJointId, in_parent: bool) -> Pull {
        let kind = self.robot.joints().nth(joint.0).map(|(_, j)| j.kind);
        match (self.joint_place(joint), self.single(joint), kind) {
            (_, Some((q, v)), _) => Pull::Dof { q, v },
            (Some(place), None, Some(kind @ (JointKind::Ball | JointKind::Free))) => {
                Pull::Joint { kind, q: place.q.start, v: place.v.start, in_parent }
            }
            (Some(place), None, _) => Pull::Dof { q: place.q.start, v: place.v.start },
            (None, ..) => Pull::Nothing,
        }
    }

    /// Inertia 1/(a M⁻¹ aᵀ) that a transmission with moments a sees in the reference configuration; 0 if it moves nothing.
    fn seen_inertia(&self, drive: &Drive) -> f64 {
        let mut work = self.reference_work();
        let mut row = vec![0.0; self.tree.freedoms()];
        self.measure_drive(drive, self.tree.neutral(), &work, &mut row);
        let mut answer = row.clone();
        let mass = self.tree.mass_matrix(&mut work);
        mass.factor(&self.tree);
        mass.solve(&self.tree, &mut answer);
        let give = crate::math::dot(&row, &answer);
        if give > 0.0 { 1.0 / give } else { 0.0 }
    }

    fn build_loops(&mut self) -> Result<(), MachineError> {
        if self.robot.options.disables("equality") {
            return Ok(());
        }
        let work = self.reference_work();
        let mut row = vec![0.0; self.tree.freedoms()];
        for equality in self.robot.equalities.clone().iter().filter(|e| e.active) {
            let what = format!("equality `{}`", equality.name);
            let made = match &equality.kind {
                EqualityKind::Connect { bodies: [a, b], anchor } => {
                    let a = Spot { pose: Pose::at(*anchor), ..self.body_spot(*a) };
                    let world = self.position(&a, &work);
                    Loop::Point { a, b: self.spot_at(self.body_spot(*b), &Pose::at(world), &work) }
                }
                EqualityKind::ConnectSites { sites: [a, b] } => {
                    Loop::Point { a: self.sites[a.0], b: self.sites[b.0] }
                }
                EqualityKind::Weld { bodies: [a, b], anchor, relative, .. } => {
                    let b = Spot { pose: Pose::at(*anchor), ..self.body_spot(*b) };
                    let a = self.body_spot(*a);
                    match relative {
                        Some(relative) => {
                            Loop::Frame { a: Spot { pose: relative.then(&Pose::at(*anchor)), ..a }, b }
                        }
                        None => Loop::Frame { a: self.spot_at(a, &self.pose_of(&b, &work), &work), b },
                    }
                }
                EqualityKind::WeldSites { sites: [a, b], .. } => {
                    Loop::Frame { a: self.sites[a.0], b: self.sites[b.0] }
                }
                EqualityKind::Joints { joint, other, polynomial } => {
                    let one = |machine: &Self, joint: RobotJointId| {
                        machine.needs_single(joint, &what).map(|(q, v)| Measure::Joint { q, v })
                    };
                    let y = one(self, *joint)?;
                    let x = other.map(|other| one(self, other)).transpose()?;
                    self.polynomial(y, x, *polynomial, &work, &mut row)
                }
                EqualityKind::Tendons { tendon, other, polynomial } => {
                    let x = other.map(|other| Measure::Cord(other.0));
                    self.polynomial(Measure::Cord(tendon.0), x, *polynomial, &work, &mut row)
                }
            };
            self.loops.push(made);
        }
        for mimic in self.robot.mimics.clone() {
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

    fn pose_of(&self, spot: &Spot, work: &TreeWork) -> Pose {
        spot.link.map_or(spot.pose, |link| self.tree.link_pose(link, work).then(&spot.pose))
    }

    /// The frame on a spot's body that stands at a pose in the world.
    fn spot_at(&self, body: Spot, world: &Pose, work: &TreeWork) -> Spot {
        let own = body.link.map_or(Pose::identity(), |link| self.tree.link_pose(link, work));
        let turn = own.rotation.inverse();
        let pose = Pose::new(turn * (world.position - own.position), turn * world.rotation);
        Spot { link: body.link, pose }
    }

    fn build_limits(&mut self) {
        if self.robot.options.disables("limit") {
            return;
        }
        let mut limits = Vec::new();
        let mut lost = Vec::new();
        for ((_, joint), place) in self.robot.joints().zip(&self.places) {
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
        for (k, tendon) in self.robot.tendons.iter().enumerate() {
            if let Some(range) = tendon.limits {
                let range = narrowed(range, [tendon.limit_margin; 2]);
                limits.push(Limit { what: Limited::Measure(Measure::Cord(k)), range });
            }
        }
        self.limits = limits;
        self.notes.append(&mut lost);
    }

    /// Buffers for this machine.
    pub fn work(&self) -> MachineWork {
        MachineWork::new(self)
    }
}

fn nothing() -> Drive {
    Drive {
        pull: Pull::Nothing,
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
fn joint_places(robot: &Robot, places: &[JointPlace]) -> Vec<Option<JointPlace>> {
    let mut places = places.iter();
    robot
        .joints()
        .map(|(_, joint)| if joint.kind == JointKind::Fixed { None } else { places.next().cloned() })
        .collect()
}

/// A range that ends earlier by these margins; where they leave nothing, its middle.
fn narrowed([low, high]: [f64; 2], margin: [f64; 2]) -> [f64; 2] {
    let (a, b) = (low + margin[0].max(0.0), high - margin[1].max(0.0));
    if a <= b { [a, b] } else { [(a + b) / 2.0; 2] }
}
