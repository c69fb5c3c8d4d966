//! Rigid bodies, joints and generalized coordinates: from checked tables to the scene of the engine.

use std::sync::Arc;

use dalembert::bodies::{PendulumChain, Shape, Shell, TriangleMesh};
use dalembert::contact::Collide;
use dalembert::joints::{JointKind, Softness, Track};
use dalembert::math::rotation::{exp, frame_with_axis, matrix, quaternion, renormalise};
use dalembert::math::{Mat3, Pose, Quat, Vec3};
use dalembert::mesh::Fineness;
use dalembert::scene::{
    Anchors, Bead, BodyMass, Gear, GeneralizedBody, JointItem, Motor, RigidBody, Stiffness,
};

use super::convert::{name, texts, vec3s};
use crate::describe::View;
use crate::error::{Files, Problems};

/// A body; `None` if its shape is no shape, which is among the problems then.
pub(super) fn rigid(t: &View<'_>, files: &Files, problems: &mut Problems) -> Option<RigidBody> {
    let shape = match t.table("shape") {
        Some(shape) => self::shape(&shape, files, problems)?,
        None => Shape::Point,
    };
    let mass = t.maybe_number("mass").unwrap_or_default();
    for key in ["center", "axes"] {
        if t.has(key) && !t.has("inertia") {
            problems.push(files.error(t.key_span(key), format!("`{key}` has no meaning without `inertia`")));
        }
    }
    let mass = match (t.maybe_number("density"), t.has("inertia")) {
        (Some(density), _) => BodyMass::Density(density),
        (None, false) => BodyMass::Mass(mass),
        (None, true) => {
            BodyMass::Given { mass, center: t.vec3("center").into(), inertia: inertia(t, files, problems) }
        }
    };
    Some(RigidBody {
        name: name(t),
        shape,
        mass,
        pose: Pose::new(t.vec3("position").into(), orientation(t, "orientation", files, problems)),
        velocity: t.vec3("velocity").into(),
        angular_velocity: t.vec3("angular_velocity").into(),
        collide: collide(t, files, problems),
    })
}

/// As what meshes collide.
pub(super) fn collide(t: &View<'_>, files: &Files, problems: &mut Problems) -> Collide {
    let fineness = t.table("decomposition").map(|d| Fineness {
        parts: usize::try_from(d.integer("parts")).unwrap_or(1),
        tolerance: d.number("tolerance"),
    });
    if fineness.is_some() && t.text("collide") != "decomposition" {
        let message = "`decomposition` has no meaning without `collide = \"decomposition\"`";
        problems.push(files.error(t.key_span("decomposition"), message));
    }
    match t.text("collide") {
        "hull" => Collide::Hull,
        "surface" => Collide::Surface,
        "decomposition" => Collide::Parts(fineness.unwrap_or_default()),
        _ => Collide::Automatic,
    }
}

fn inertia(t: &View<'_>, files: &Files, problems: &mut Problems) -> Mat3 {
    match t.maybe_vec3("inertia") {
        Some(moments) => {
            let axes = if t.has("axes") { orientation(t, "axes", files, problems) } else { Quat::identity() };
            let turn = matrix(&axes);
            let moments = Mat3::from_diagonal(&moments.into());
            // Without a turn the zeros beside the diagonal stay zeros.
            if t.has("axes") { turn * moments * turn.transpose() } else { moments }
        }
        None => {
            if t.has("axes") {
                let message = "`axes` goes with three moments, not with a full tensor";
                problems.push(files.error(t.key_span("axes"), message));
            }
            let rows = vec3s(t, "inertia");
            Mat3::from_fn(|i, j| rows.get(i).map_or(0.0, |row| row[j]))
        }
    }
}

/// A unit quaternion from one of its three forms.
pub(super) fn orientation(t: &View<'_>, key: &'static str, files: &Files, problems: &mut Problems) -> Quat {
    let mut refuse = |message: String| {
        problems.push(files.error(t.span(key), message));
        Quat::identity()
    };
    let Some(turn) = t.table(key) else {
        let q = t.numbers(key);
        let [w, x, y, z] = q[..] else { return Quat::identity() };
        let size = w.hypot(x).hypot(y.hypot(z));
        // A few digits may be missing; a length of 2 is a slip.
        if !((size - 1.0).abs() < 1e-3) {
            return refuse(format!(
                "`{key}` must be a quaternion w, x, y, z of length 1, but has length {size}"
            ));
        }
        return renormalise(&quaternion(&q, 0));
    };
    if let Some([roll, pitch, yaw]) = turn.maybe_vec3("euler") {
        let about = |axis: Vec3, angle: f64| exp(&(axis * angle));
        return about(Vec3::z(), yaw) * about(Vec3::y(), pitch) * about(Vec3::x(), roll);
    }
    let axis = Vec3::from(turn.vec3("axis"));
    match unit(&axis) {
        Some(axis) => exp(&(axis * turn.number("angle"))),
        None => refuse(format!("({}, {}, {}) is no axis", axis.x, axis.y, axis.z)),
    }
}

/// The vector at length 1; `None` if it has no direction.
pub(super) fn unit(v: &Vec3) -> Option<Vec3> {
    let size = v.amax();
    // Divided by its largest entry first, so that neither large nor small ones overflow.
    (size > 0.0 && size.is_finite())
        .then(|| (v / size).normalize())
        .filter(|u| u.iter().all(|x| x.is_finite()))
}

pub(super) fn shape(t: &View<'_>, files: &Files, problems: &mut Problems) -> Option<Shape> {
    if let Some(point) = t.description().field("point").and_then(|_| t.maybe_bool("point")) {
        if !point {
            problems.push(files.error(t.span("point"), "`point` can only be `true`"));
        }
        return Some(Shape::Point);
    }
    if t.description().field("compound").is_some() && t.has("compound") {
        let mut parts = Vec::new();
        for part in t.tables("compound") {
            let pose =
                Pose::new(part.vec3("position").into(), orientation(&part, "orientation", files, problems));
            parts.push((pose, shape(&part, files, problems)?));
        }
        return Some(Shape::Compound(parts));
    }
    if t.has("vertices") {
        return mesh(t, files, problems);
    }
    if t.has("scale") {
        problems.push(files.error(t.key_span("scale"), "`scale` is for meshes"));
    }
    if let Some(radius) = t.maybe_number("sphere") {
        return Some(Shape::Sphere { radius });
    }
    if let Some(size) = t.maybe_vec3("box") {
        return Some(Shape::Box { size: size.into() });
    }
    if let Some(semi_axes) = t.maybe_vec3("ellipsoid") {
        return Some(Shape::Ellipsoid { semi_axes: semi_axes.into() });
    }
    let round = |key: &str| t.table(key).map(|r| (r.number("radius"), r.number("length")));
    if let Some((radius, length)) = round("capsule") {
        return Some(Shape::Capsule { radius, length });
    }
    if let Some((radius, length)) = round("cylinder") {
        return Some(Shape::Cylinder { radius, length });
    }
    round("cone").map(|(radius, length)| Shape::Cone { radius, length })
}

fn mesh(t: &View<'_>, files: &Files, problems: &mut Problems) -> Option<Shape> {
    let scale = t.number("scale");
    let vertices = vec3s(t, "vertices").into_iter().map(|v| v * scale).collect();
    let corner = |row: &Vec<i64>| {
        let at = |k: usize| row.get(k).and_then(|&i| u32::try_from(i).ok()).unwrap_or(u32::MAX);
        [at(0), at(1), at(2)]
    };
    let triangles = t.integer_rows("triangles").iter().map(corner).collect();
    let thickness = t.description().field("thickness").and_then(|_| t.maybe_number("thickness"));
    let shape = match thickness {
        None => TriangleMesh::new(vertices, triangles).map(|mesh| Shape::Mesh(Arc::new(mesh))),
        Some(thickness) => {
            Shell::new(vertices, triangles, thickness).map(|shell| Shape::Shell(Arc::new(shell)))
        }
    };
    match shape {
        Ok(shape) => Some(shape),
        Err(error) => {
            problems.push(files.error(t.span("vertices"), error.to_string()));
            None
        }
    }
}

fn stiffness(t: &View<'_>, kp: &str, kd: &str) -> Stiffness {
    match (t.maybe_number(kp), t.maybe_number(kd)) {
        (None, None) => Stiffness::Hard,
        (kp, kd) => Stiffness::Gains { kp: kp.unwrap_or_default(), kd: kd.unwrap_or_default() },
    }
}

fn pair(t: &View<'_>, key: &str) -> [String; 2] {
    let mut texts = texts(t, key).into_iter();
    [texts.next().unwrap_or_default(), texts.next().unwrap_or_default()]
}

pub(super) fn joint(t: &View<'_>, files: &Files, problems: &mut Problems) -> JointItem {
    let kind = match JointKind::named(t.text("kind")).unwrap_or(JointKind::Ball) {
        JointKind::Screw { .. } => JointKind::Screw { pitch: t.maybe_number("pitch").unwrap_or_default() },
        JointKind::Distance { .. } => JointKind::Distance { length: t.maybe_number("length") },
        kind => kind,
    };
    let anchors = match (t.maybe_vec3("anchor"), &vec3s(t, "anchors")[..]) {
        (Some(place), _) => Anchors::World(place.into()),
        (None, [a, b]) => Anchors::Local([*a, *b]),
        (None, _) => Anchors::Default,
    };
    let [a, b] = pair(t, "between");
    let mut item = JointItem::new(name(t), kind, a, b);
    item.anchors = anchors;
    item.axis = t.vec3("axis").into();
    item.axis2 = t.maybe_vec3("axis2").map(Vec3::from);
    item.stiffness = match (t.maybe_number("error_reduction"), t.maybe_number("regularization")) {
        (Some(error_reduction), Some(regularization)) => {
            Stiffness::Given(Softness { error_reduction, regularization })
        }
        _ => stiffness(t, "kp", "kd"),
    };
    item.limit_stiffness = stiffness(t, "limit_kp", "limit_kd");
    for key in ["limit_kp", "limit_kd"] {
        if t.has(key) && !t.has("limits") {
            problems.push(files.error(t.key_span(key), format!("`{key}` has no meaning without `limits`")));
        }
    }
    item.limits = match t.maybe_numbers("limits").unwrap_or_default()[..] {
        [low, high] => Some([low, high]),
        _ => None,
    };
    item.motor = t.table("motor").map(|m| {
        let max = m.maybe_number("max").unwrap_or(f64::INFINITY);
        let gain = |key: &str| m.maybe_number(key).unwrap_or_default();
        match (m.maybe_number("velocity"), m.maybe_number("position")) {
            (Some(target), _) => Motor::Velocity { target, max },
            (_, Some(target)) => Motor::Position { target, kp: gain("kp"), kd: gain("kd"), max },
            _ => Motor::Effort(gain("effort")),
        }
    });
    item.damping = t.number("damping");
    item.friction = t.number("friction");
    item.armature = t.number("armature");
    item.break_force = t.maybe_number("break_force");
    item.collide = t.bool("collide");
    item
}

pub(super) fn gear(t: &View<'_>) -> Gear {
    // Slide = radius · angle, so that slide − radius · angle stays.
    let ratio = match t.maybe_number("radius") {
        Some(radius) => -radius,
        None => t.maybe_number("ratio").unwrap_or_default(),
    };
    Gear { name: name(t), joints: pair(t, "joints"), ratio, stiffness: stiffness(t, "kp", "kd") }
}

pub(super) fn bead(t: &View<'_>, files: &Files, problems: &mut Problems) -> Bead {
    let mut direction = |v: &View<'_>, key: &str| {
        let given = Vec3::from(v.vec3(key));
        unit(&given).unwrap_or_else(|| {
            let message = format!("({}, {}, {}) is no direction", given.x, given.y, given.z);
            problems.push(files.error(v.span(key), message));
            Vec3::z()
        })
    };
    let at = |v: &View<'_>, key: &str| Vec3::from(v.vec3(key));
    let track = if let Some(c) = t.table("circle") {
        Track::Circle { center: at(&c, "center"), axis: direction(&c, "axis"), radius: c.number("radius") }
    } else if let Some(l) = t.table("line") {
        let frame = matrix(&frame_with_axis(&direction(&l, "along")));
        Track::Line { through: at(&l, "through"), across: [frame.column(0).into(), frame.column(1).into()] }
    } else if let Some(p) = t.table("parabola") {
        Track::Parabola { lowest: at(&p, "lowest"), curvature: p.number("curvature") }
    } else if let Some(s) = t.table("sphere") {
        Track::Sphere { center: at(&s, "center"), radius: s.number("radius") }
    } else if let Some(c) = t.table("cylinder") {
        Track::Cylinder { center: at(&c, "center"), axis: direction(&c, "axis"), radius: c.number("radius") }
    } else if let Some(r) = t.table("torus") {
        Track::Torus { center: at(&r, "center"), ring: r.number("ring"), tube: r.number("tube") }
    } else if let Some(p) = t.table("plane") {
        Track::Plane { through: at(&p, "through"), normal: direction(&p, "normal") }
    } else {
        // The rule of the table has refused a bead without a track.
        Track::Plane { through: Vec3::zeros(), normal: Vec3::z() }
    };
    Bead { name: name(t), on: texts(t, "on"), track }
}

pub(super) fn generalized(t: &View<'_>, files: &Files, problems: &mut Problems) -> GeneralizedBody {
    let coordinates = t.numbers("coordinates");
    let rates = t.maybe_numbers("rates").unwrap_or_else(|| vec![0.0; coordinates.len()]);
    let mut map =
        PendulumChain { pivot: Vec3::zeros(), lengths: vec![1.0], down: -Vec3::z(), side: Vec3::x() };
    if let Some(p) = t.table("pendulum") {
        (map.pivot, map.lengths) = (p.vec3("pivot").into(), p.numbers("lengths"));
        match (unit(&p.vec3("down").into()), unit(&p.vec3("side").into())) {
            (Some(down), Some(side)) if down.dot(&side).abs() < 1e-6 => (map.down, map.side) = (down, side),
            _ => {
                let key = if p.has("side") { "side" } else { "down" };
                let message = "`down` and `side` must be two directions across each other";
                problems.push(files.error(p.span(key), message));
            }
        }
    }
    GeneralizedBody { name: name(t), map: Box::new(map), masses: t.numbers("masses"), coordinates, rates }
}
