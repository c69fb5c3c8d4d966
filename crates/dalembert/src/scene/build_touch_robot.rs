//! Geoms of robots as colliders.
//!
//! What the description says is kept: bits of contact type and affinity, `friction` with the contact dimension (1: none; 3:
//! sliding; 4: turning about the normal too; 6: rolling too), `priority`, `solref` and `solimp` with `solmix` (see
//! [`GeomSoftness`]), excluded and explicit pairs, whose own values stand above those of their geoms. A body does not
//! touch its parent nor what is welded to either; what hangs on the world touches it. Meshes collide as their hulls unless
//! the robot says `collide`. Geoms within the `margin` are seen early; the force begins at a gap of 0.
//! A free body that became a rigid body of the scene touches with the geoms of its file, by the same rules.
//! What is done otherwise is among the notes of the robot.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::build_touch::Maker;
use super::diagnostics::Diagnostics;
use crate::bodies::articulated::description::{
    ContactPair, ContactSoftness, GeomShape, RobotBodyId, RobotDescription, RobotGeom, RobotMesh,
};
use crate::bodies::articulated::free_bodies::BodyPlace;
use crate::collide::rigid::{Collider, Geometry, HeightField, Hull, Mesh, WORLD};
use crate::contact::{Collide, convex_parts, hull_volume};
use crate::contact::{ColliderOwner, GeomSoftness, Material, PairRule, compliance};
use crate::math::Vec3;
use crate::model::NamedRobot;

/// Adds the colliders of one robot. `rigid` numbers the rigid bodies by name.
pub(super) fn add_robot(
    number: u32,
    part: &NamedRobot,
    rigid: &BTreeMap<&str, u32>,
    maker: &mut Maker,
    notes: &mut Diagnostics,
) {
    let robot = part.description();
    if robot.options.disables("contact") {
        return;
    }
    let weld = welds(robot);
    let mut part_of: Vec<Option<u32>> = vec![None; robot.bodies.len()];
    let paired: Vec<usize> = robot.contact_pairs.iter().flat_map(|p| p.geoms.map(|g| g.0)).collect();
    let mut colliders_of = vec![0..0; robot.geoms().count()];
    let mut filled = Vec::new();
    for (g, (body, geom)) in robot.geoms().enumerate() {
        if geom.contact_type == 0 && geom.contact_affinity == 0 && !paired.contains(&g) {
            continue;
        }
        let moves = weld[body.0] != 0;
        let shapes = geometry(robot, geom, moves, &part.collide, &mut filled, notes);
        if shapes.is_empty() {
            continue;
        }
        let own = format!("{}/{}", part.name, robot.bodies[body.0].name);
        let (owner, name, pose) = match part.body_place(body) {
            BodyPlace::Robot(RobotBodyId(0)) => (WORLD, own, geom.pose),
            BodyPlace::Robot(b) => {
                let link = *part_of[body.0].get_or_insert_with(|| {
                    maker.out.owners.push(ColliderOwner::Link { robot: number, link: b.0 as u32 - 1 });
                    maker.out.held.push(weld[body.0] == 0);
                    maker.out.owners.len() as u32 - 1
                });
                (link, own, geom.pose)
            }
            BodyPlace::Free { free, pose } => {
                let name = part.whole.as_ref().map_or(own, |whole| whole.names[free].clone());
                let Some(&k) = rigid.get(name.as_str()) else { continue };
                part_of[body.0] = Some(k);
                (k, name, pose.then(&geom.pose))
            }
        };
        let class = maker.class(&[&part.name, &name]);
        let over = robot.options.contact_override;
        let margin = over.map_or(geom.margin, |(margin, _)| margin);
        let material = maker.material(Material { class, ..material(geom, over.map(|o| o.1)) });
        let first = maker.out.colliders.len() as u32;
        for shape in shapes {
            let collider = Collider { material, margin: margin.max(0.0), ..Collider::new(owner, shape) };
            maker.add(&name, collider.at(pose));
        }
        colliders_of[g] = first..maker.out.colliders.len() as u32;
    }
    note_filled(filled, notes);
    exclude(robot, &weld, &part_of, maker);
    for pair in &robot.contact_pairs {
        let [a, b] = pair.geoms.map(|g| colliders_of.get(g.0).cloned().unwrap_or(0..0));
        let rule = pair_rule(robot, pair);
        for a in a {
            maker.out.pairs.extend(b.clone().map(|b| ((a.min(b), a.max(b)), rule)));
        }
    }
}

/// What an explicit pair says: its own values, where it has none those of its geoms.
fn pair_rule(robot: &RobotDescription, pair: &ContactPair) -> PairRule {
    let geom = |k: usize| robot.geoms().nth(pair.geoms[k].0).map(|(_, g)| g);
    let dimension = pair.dimension.or_else(|| {
        let [a, b] = [geom(0)?, geom(1)?];
        Some(match a.contact_priority.cmp(&b.contact_priority) {
            std::cmp::Ordering::Less => b.contact_dimension,
            std::cmp::Ordering::Greater => a.contact_dimension,
            std::cmp::Ordering::Equal => a.contact_dimension.max(b.contact_dimension),
        })
    });
    let dimension = dimension.unwrap_or(3);
    let take = |k: usize, least: u8| {
        if dimension < least { Some(0.0) } else { pair.friction.map(|f| f[k]) }
    };
    let soft = (pair.solref.is_some() || pair.solimp.is_some()).then(|| {
        let usual = ContactSoftness::default();
        ContactSoftness {
            solref: pair.solref.unwrap_or(usual.solref),
            solimp: pair.solimp.unwrap_or(usual.solimp),
        }
    });
    let compliance = soft.as_ref().and_then(compliance);
    PairRule {
        friction: take(0, 3),
        torsional_friction: take(2, 4),
        rolling_friction: take(3, 6),
        hard: soft.is_some() && compliance.is_none(),
        compliance,
        ..PairRule::default()
    }
}

/// For each body: the nearest of itself and its ancestors that a joint moves; 0 if none does.
pub(super) fn welds(robot: &RobotDescription) -> Vec<usize> {
    let mut weld = vec![0; robot.bodies.len()];
    for (i, body) in robot.bodies.iter().enumerate().skip(1) {
        let moves = body.joints.iter().any(|j| j.kind.velocity_count() > 0);
        weld[i] = if moves { i } else { weld[body.parent.0] };
    }
    weld
}

/// True if two bodies never touch: welded to each other, neighbours at a joint, or said so.
pub(super) fn never_touch(robot: &RobotDescription, weld: &[usize], i: usize, j: usize) -> bool {
    let up = |i: usize| if weld[i] == 0 { 0 } else { weld[robot.bodies[weld[i]].parent.0] };
    let (wi, wj) = (weld[i], weld[j]);
    let neighbours = (up(i) == wj && wj != 0) || (up(j) == wi && wi != 0);
    let said = robot.contact_excludes.iter().any(|e| {
        let [x, y] = e.bodies.map(|b| b.0);
        [x, y] == [i, j] || [y, x] == [i, j]
    });
    wi == wj || (neighbours && !robot.options.disables("filterparent")) || said
}

/// Notes bodies that never touch.
fn exclude(robot: &RobotDescription, weld: &[usize], part_of: &[Option<u32>], maker: &mut Maker) {
    for i in 1..robot.bodies.len() {
        for j in i + 1..robot.bodies.len() {
            let (Some(a), Some(b)) = (part_of[i], part_of[j]) else { continue };
            if a != b && never_touch(robot, weld, i, j) {
                maker.out.excluded.push((a.min(b), a.max(b)));
            }
        }
    }
}

fn material(geom: &RobotGeom, over: Option<ContactSoftness>) -> Material {
    let f = geom.friction;
    Material {
        friction: Some(f[0]),
        torsional_friction: Some(f[1]),
        rolling_friction: Some(f[2]),
        dimension: Some(geom.contact_dimension),
        softness: Some(GeomSoftness::new(over.unwrap_or(geom.softness), geom.softness_weight)),
        priority: geom.contact_priority,
        kinds: [geom.contact_type, geom.contact_affinity],
        ..Material::default()
    }
}

/// Hulls larger than their meshes by this factor are told.
const FULLER: f64 = 1.25;

/// One note for all meshes of a robot whose hollows are filled, the worst first.
fn note_filled(mut filled: Vec<(String, f64)>, notes: &mut Diagnostics) {
    filled.retain(|f| f.1 > FULLER);
    filled.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    filled.dedup();
    if filled.is_empty() {
        return;
    }
    let list: Vec<String> =
        filled.iter().take(3).map(|(name, ratio)| format!("`{name}` ({ratio:.2}×)")).collect();
    let more = if filled.len() > 3 { format!(" and {} more", filled.len() - 3) } else { String::new() };
    let message = format!(
        "meshes collide as their convex hulls, which have more volume: {}{more}; `collide = \"decomposition\"` keeps hollows by several hulls, `\"hull\"` takes this as meant",
        list.join(", ")
    );
    notes.warn("", message);
}

/// Colliders of a mesh of a robot. Where its hull stands for it, `filled` takes its name and how much larger the hull is.
fn mesh(
    mesh: &RobotMesh,
    moves: bool,
    collide: &Collide,
    filled: &mut Vec<(String, f64)>,
    notes: &mut Diagnostics,
) -> Vec<Geometry> {
    let hull = match Hull::new(&mesh.vertices) {
        Ok(hull) => hull,
        Err(_) if mesh.vertices.is_empty() => return Vec::new(),
        Err(error) => {
            notes.error("file", format!("mesh `{}` does not collide: {error}", mesh.name));
            return Vec::new();
        }
    };
    let surface = Mesh::new(mesh.vertices.clone(), &mesh.triangles).ok();
    let closed = surface.as_ref().is_some_and(Mesh::is_closed);
    match (collide, surface) {
        (Collide::Surface, Some(surface)) => return vec![Geometry::Mesh(Arc::new(surface))],
        (Collide::Parts(fineness), Some(_)) => {
            let parts: Vec<_> = convex_parts(&mesh.vertices, &mesh.triangles, !closed, fineness).collect();
            if !parts.is_empty() {
                return parts;
            }
        }
        _ => {}
    }
    let ratio = hull_volume(&hull) / volume(&mesh.vertices, &mesh.triangles);
    if *collide == Collide::Automatic && moves && closed && ratio.is_finite() {
        filled.push((mesh.name.clone(), ratio));
    }
    vec![Geometry::Hull(Arc::new(hull))]
}

/// Volume inside of a closed mesh \[m³\].
fn volume(vertices: &[Vec3], triangles: &[[u32; 3]]) -> f64 {
    let six = |t: &[u32; 3]| {
        let [a, b, c] = t.map(|i| vertices[i as usize] - vertices[0]);
        a.dot(&b.cross(&c))
    };
    (triangles.iter().map(six).sum::<f64>() / 6.0).abs()
}

/// The shapes of a geom; none if it cannot collide, which is noted.
fn geometry(
    robot: &RobotDescription,
    geom: &RobotGeom,
    moves: bool,
    collide: &Collide,
    filled: &mut Vec<(String, f64)>,
    notes: &mut Diagnostics,
) -> Vec<Geometry> {
    if let GeomShape::Mesh(id) = &geom.shape {
        return robot.meshes.get(id.0).map_or(Vec::new(), |m| mesh(m, moves, collide, filled, notes));
    }
    simple(robot, geom, notes).into_iter().collect()
}

fn simple(robot: &RobotDescription, geom: &RobotGeom, notes: &mut Diagnostics) -> Option<Geometry> {
    Some(match &geom.shape {
        GeomShape::Plane { .. } => Geometry::HalfSpace,
        GeomShape::Sphere { radius } => Geometry::Sphere { radius: *radius },
        GeomShape::Capsule { radius, half_length } => {
            Geometry::Capsule { radius: *radius, half_length: *half_length }
        }
        GeomShape::Cylinder { radius, half_length } => {
            Geometry::Cylinder { radius: *radius, half_length: *half_length }
        }
        GeomShape::Ellipsoid { semi_axes } => Geometry::Ellipsoid { semi_axes: *semi_axes },
        GeomShape::Box { half } => Geometry::Box { half: *half },
        GeomShape::Mesh(_) => return None,
        GeomShape::HeightField(id) => {
            let field = robot.height_fields.get(id.0)?;
            let [x, y, height, _] = field.size;
            let spacing = [(x, field.columns), (y, field.rows)]
                .map(|(half, n)| 2.0 * half / (n.saturating_sub(1).max(1)) as f64);
            let heights = field.heights.iter().map(|z| height * z).collect();
            match HeightField::new(field.columns, field.rows, spacing, heights) {
                Ok(field) => Geometry::HeightField(Arc::new(field)),
                Err(error) => {
                    notes.error("file", format!("terrain `{}` does not collide: {error}", field.name));
                    return None;
                }
            }
        }
    })
}
