//! Trees that are one free body: they need no reduced coordinates, a rigid body moves the same way.
//!
//! [`split`] takes them out of a description. The rest keeps its order; numbers of bodies, joints, geoms and sites, and the
//! lists of keyframes, shrink. A tree stays with the robot if anything but contact refers to it (an actuator, tendon, loop,
//! sensor or named site), or if something acts on it that acts on robots alone (damping or armature of its free joint,
//! gravity compensation, a surrounding fluid, gravity switched off for the robot alone).

use super::description::*;
use crate::joints::JointKind;
use crate::math::{Mat3, Pose, Vec3};

/// What a body of a whole description became.
#[derive(Debug, Clone, PartialEq)]
pub enum BodyPlace {
    /// A body of the robot, by its number there.
    Robot(RobotBodyId),
    /// A part of free body k.
    Free {
        /// Number of the free body.
        free: usize,
        /// Where the frame of the part stands in that of the free body.
        pose: Pose,
    },
}

/// A tree of one free body with all that is welded to it.
#[derive(Debug, Clone, PartialEq)]
pub struct FreeBody {
    /// Its root in the whole description.
    pub root: RobotBodyId,
    /// First of its coordinates and of its velocities among those of the whole description.
    pub place: (usize, usize),
    /// Mass, centre and inertia in the frame of the root.
    pub inertial: Inertial,
}

/// A description in two: a robot, and bodies that move freely.
#[derive(Debug, Clone, PartialEq)]
pub struct Split {
    /// The robot without its free bodies.
    pub rest: RobotDescription,
    /// For each body of the whole description, what it became.
    pub places: Vec<BodyPlace>,
    /// The free bodies.
    pub free: Vec<FreeBody>,
}

/// Takes the trees of one free body out of a description; `None` if there are none.
pub fn split(robot: &RobotDescription) -> Option<Split> {
    let options = &robot.options;
    let ordered = robot.bodies.iter().enumerate().skip(1).all(|(i, body)| body.parent.0 < i);
    if options.density != 0.0 || options.viscosity != 0.0 || options.disables("gravity") || !ordered {
        return None;
    }
    let root = roots(robot);
    let mut loose: Vec<bool> = (0..robot.bodies.len()).map(|i| i != 0 && is_free(&robot.bodies[i])).collect();
    for (i, body) in robot.bodies.iter().enumerate().skip(1) {
        let welded = root[i] == i || body.joints.is_empty();
        let plain = body.gravity_compensation == 0.0 && !body.mocap;
        let named = body.sites.iter().any(|site| !site.name.is_empty());
        loose[root[i]] &= welded && plain && !named;
    }
    for body in referred(robot).into_iter().filter(|body| body.0 < root.len()) {
        loose[root[body.0]] = false;
    }
    let mut found = Vec::new();
    let (mut q, mut v) = (0, 0);
    for (i, body) in robot.bodies.iter().enumerate() {
        let inertial = if loose[i] { fused(robot, &root, i) } else { Inertial::default() };
        loose[i] &= inertial.mass > 0.0 && inertial.mass_properties().is_ok();
        if loose[i] {
            found.push(FreeBody { root: RobotBodyId(i), place: (q, v), inertial });
        }
        q += body.joints.iter().map(|j| j.kind.position_count()).sum::<usize>();
        v += body.joints.iter().map(|j| j.kind.velocity_count()).sum::<usize>();
    }
    if found.is_empty() {
        return None;
    }
    let keep: Vec<bool> = (0..robot.bodies.len()).map(|i| !loose[root[i]]).collect();
    let mut next = 0;
    let places = (0..robot.bodies.len()).map(|i| match found.iter().position(|f| f.root.0 == root[i]) {
        Some(free) => BodyPlace::Free { free, pose: pose_in_root(robot, root[i], i) },
        None => {
            next += 1;
            BodyPlace::Robot(RobotBodyId(next - 1))
        }
    });
    Some(Split { places: places.collect(), free: found, rest: subset(robot, &keep) })
}

/// For each body the child of the world that it hangs on; the world for itself.
fn roots(robot: &RobotDescription) -> Vec<usize> {
    let mut root: Vec<usize> = (0..robot.bodies.len()).collect();
    for (i, body) in robot.bodies.iter().enumerate().skip(1) {
        if body.parent.0 != 0 {
            root[i] = root[body.parent.0];
        }
    }
    root
}

/// True for a child of the world whose one joint is free, and no more than that.
fn is_free(body: &RobotBody) -> bool {
    body.parent.0 == 0
        && matches!(body.joints.as_slice(), [j] if j.kind == JointKind::Free
            && [j.damping, j.armature, j.stiffness, j.friction_loss] == [0.0; 4])
}

/// Bodies that an actuator, tendon, loop or sensor acts on or reads.
fn referred(robot: &RobotDescription) -> Vec<RobotBodyId> {
    let joint: Vec<RobotBodyId> = robot.joints().map(|(body, _)| body).collect();
    let geom: Vec<RobotBodyId> = robot.geoms().map(|(body, _)| body).collect();
    let site: Vec<RobotBodyId> = robot.sites().map(|(body, _)| body).collect();
    // A number that the description does not have is an error of the build, told there.
    let of = |list: &[RobotBodyId], i: usize| list.get(i).copied().unwrap_or(RobotBodyId(0));
    let (joint, geom, site) = (
        |id: RobotJointId| of(&joint, id.0),
        |id: RobotGeomId| of(&geom, id.0),
        |id: RobotSiteId| of(&site, id.0),
    );
    let mut out = Vec::new();
    for actuator in &robot.actuators {
        match actuator.transmission {
            Transmission::Joint(j) | Transmission::JointInParent(j) => out.push(joint(j)),
            Transmission::Tendon(_) => {}
            Transmission::Site { site: s, reference } => {
                out.extend([Some(s), reference].into_iter().flatten().map(&site));
            }
            Transmission::SliderCrank { crank, slider, .. } => out.extend([site(crank), site(slider)]),
            Transmission::Body(body) => out.push(body),
        }
    }
    for tendon in &robot.tendons {
        match &tendon.path {
            TendonPath::Joints(list) => out.extend(list.iter().map(|(j, _)| joint(*j))),
            TendonPath::Spatial(path) => out.extend(path.iter().flat_map(|point| match *point {
                PathPoint::Site(s) => vec![site(s)],
                PathPoint::Geom { geom: g, side } => {
                    std::iter::once(geom(g)).chain(side.map(&site)).collect()
                }
                PathPoint::Pulley { .. } => Vec::new(),
            })),
        }
    }
    for equality in &robot.equalities {
        match equality.kind {
            EqualityKind::Connect { bodies, .. } | EqualityKind::Weld { bodies, .. } => out.extend(bodies),
            EqualityKind::ConnectSites { sites } | EqualityKind::WeldSites { sites, .. } => {
                out.extend(sites.map(&site));
            }
            EqualityKind::Joints { joint: j, other, .. } => {
                out.extend([Some(j), other].into_iter().flatten().map(&joint));
            }
            EqualityKind::Tendons { .. } => {}
        }
    }
    out.extend(robot.mimics.iter().flat_map(|m| [joint(m.joint), joint(m.of)]));
    for object in robot.sensors.iter().flat_map(|s| [Some(s.object), s.reference]).flatten() {
        match object {
            SensorObject::Body(body) | SensorObject::BodyInertial(body) => out.push(body),
            SensorObject::Joint(j) => out.push(joint(j)),
            SensorObject::Geom(g) => out.push(geom(g)),
            SensorObject::Site(s) => out.push(site(s)),
            SensorObject::Model
            | SensorObject::Tendon(_)
            | SensorObject::Actuator(_)
            | SensorObject::Camera(_) => {}
        }
    }
    out
}

/// Where a body stands in the frame of its root, to which it is welded.
fn pose_in_root(robot: &RobotDescription, root: usize, body: usize) -> Pose {
    let mut pose = Pose::identity();
    let mut i = body;
    while i != root {
        pose = robot.bodies[i].pose.then(&pose);
        i = robot.bodies[i].parent.0;
    }
    pose
}

/// Mass, centre and inertia of a root with all that is welded to it, in the root's frame.
fn fused(robot: &RobotDescription, root: &[usize], at: usize) -> Inertial {
    let parts: Vec<(f64, Vec3, Mat3)> = (at..robot.bodies.len())
        .filter(|i| root[*i] == at)
        .map(|i| {
            let (pose, own) = (pose_in_root(robot, at, i), &robot.bodies[i].inertial);
            let R = pose.rotation.to_rotation_matrix();
            (own.mass, pose.point(&own.center), R * own.inertia * R.transpose())
        })
        .collect();
    if let [(mass, center, inertia)] = parts[..] {
        return Inertial { mass, center, inertia };
    }
    let mass: f64 = parts.iter().map(|p| p.0).sum();
    let center = parts.iter().map(|p| p.0 * p.1).sum::<Vec3>() / mass;
    // Steiner: I about the common centre is Σ I + m (d² 1 − d dᵀ).
    let inertia = parts.iter().fold(Mat3::zeros(), |sum, (m, c, own)| {
        let d = c - center;
        sum + own + *m * (d.norm_squared() * Mat3::identity() - d * d.transpose())
    });
    Inertial { mass, center, inertia }
}

/// New numbers of what is kept.
fn renumber(keep: impl Iterator<Item = bool>) -> Vec<Option<usize>> {
    let mut next = 0;
    keep.map(|keep| {
        next += usize::from(keep);
        keep.then(|| next - 1)
    })
    .collect()
}

/// The description with some of its bodies alone. Nothing but contact may refer to the others.
fn subset(robot: &RobotDescription, keep: &[bool]) -> RobotDescription {
    let of_body = renumber(keep.iter().copied());
    let of_joint = renumber(robot.joints().map(|(body, _)| keep[body.0]));
    let of_geom = renumber(robot.geoms().map(|(body, _)| keep[body.0]));
    let of_site = renumber(robot.sites().map(|(body, _)| keep[body.0]));
    let new = |list: &[Option<usize>], i: usize| list.get(i).copied().flatten().unwrap_or(usize::MAX);
    let body = |id: &mut RobotBodyId| id.0 = new(&of_body, id.0);
    let joint = |id: &mut RobotJointId| id.0 = new(&of_joint, id.0);
    let geom = |id: &mut RobotGeomId| id.0 = new(&of_geom, id.0);
    let site = |id: &mut RobotSiteId| id.0 = new(&of_site, id.0);
    let mut out = RobotDescription { bodies: Vec::new(), keyframes: Vec::new(), ..robot.clone() };
    for (own, _) in robot.bodies.iter().zip(keep).filter(|(_, keep)| **keep) {
        let mut own = own.clone();
        body(&mut own.parent);
        out.bodies.push(own);
    }
    for actuator in &mut out.actuators {
        match &mut actuator.transmission {
            Transmission::Joint(j) | Transmission::JointInParent(j) => joint(j),
            Transmission::Tendon(_) => {}
            Transmission::Site { site: s, reference } => {
                site(s);
                reference.iter_mut().for_each(site);
            }
            Transmission::SliderCrank { crank, slider, .. } => [crank, slider].into_iter().for_each(site),
            Transmission::Body(b) => body(b),
        }
    }
    for tendon in &mut out.tendons {
        match &mut tendon.path {
            TendonPath::Joints(list) => list.iter_mut().for_each(|(j, _)| joint(j)),
            TendonPath::Spatial(path) => path.iter_mut().for_each(|point| match point {
                PathPoint::Site(s) => site(s),
                PathPoint::Geom { geom: g, side } => {
                    geom(g);
                    side.iter_mut().for_each(site);
                }
                PathPoint::Pulley { .. } => {}
            }),
        }
    }
    for equality in &mut out.equalities {
        match &mut equality.kind {
            EqualityKind::Connect { bodies, .. } | EqualityKind::Weld { bodies, .. } => {
                bodies.iter_mut().for_each(body);
            }
            EqualityKind::ConnectSites { sites } | EqualityKind::WeldSites { sites, .. } => {
                sites.iter_mut().for_each(site);
            }
            EqualityKind::Joints { joint: j, other, .. } => {
                joint(j);
                other.iter_mut().for_each(joint);
            }
            EqualityKind::Tendons { .. } => {}
        }
    }
    out.mimics.iter_mut().flat_map(|m| [&mut m.joint, &mut m.of]).for_each(joint);
    let objects = out.sensors.iter_mut().flat_map(|s| [Some(&mut s.object), s.reference.as_mut()]);
    for object in objects.flatten() {
        match object {
            SensorObject::Body(b) | SensorObject::BodyInertial(b) => body(b),
            SensorObject::Joint(j) => joint(j),
            SensorObject::Geom(g) => geom(g),
            SensorObject::Site(s) => site(s),
            SensorObject::Model
            | SensorObject::Tendon(_)
            | SensorObject::Actuator(_)
            | SensorObject::Camera(_) => {}
        }
    }
    out.contact_excludes.retain(|e| e.bodies.iter().all(|b| keep.get(b.0) == Some(&true)));
    out.contact_excludes.iter_mut().flat_map(|e| &mut e.bodies).for_each(body);
    out.contact_pairs.retain(|p| p.geoms.iter().all(|g| matches!(of_geom.get(g.0), Some(Some(_)))));
    out.contact_pairs.iter_mut().flat_map(|p| &mut p.geoms).for_each(geom);
    out.keyframes = keyframes(robot, &of_joint);
    out
}

/// Keyframes with the numbers of the joints that are kept.
fn keyframes(robot: &RobotDescription, of_joint: &[Option<usize>]) -> Vec<Keyframe> {
    let spread = |count: fn(&JointKind) -> usize| -> Vec<bool> {
        let each = robot.joints().zip(of_joint);
        each.flat_map(|((_, j), keep)| std::iter::repeat_n(keep.is_some(), count(&j.kind))).collect()
    };
    let (q, v) = (spread(JointKind::position_count), spread(JointKind::velocity_count));
    let pick = |list: &[f64], keep: &[bool]| -> Vec<f64> {
        if list.len() != keep.len() {
            return list.to_vec();
        }
        list.iter().zip(keep).filter(|(_, keep)| **keep).map(|(x, _)| *x).collect()
    };
    let each = robot.keyframes.iter();
    each.map(|key| Keyframe {
        positions: pick(&key.positions, &q),
        velocities: pick(&key.velocities, &v),
        ..key.clone()
    })
    .collect()
}
