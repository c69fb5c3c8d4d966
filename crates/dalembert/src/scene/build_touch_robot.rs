//! Geoms of robots as colliders.
//!
//! What the description says is kept: bits of contact type and affinity, `friction` with the contact dimension (1: none; 3:
//! sliding; 4: turning about the normal too; 6: rolling too), `priority`, excluded and explicit pairs. A body does not
//! touch its parent nor what is welded to either; what hangs on the world touches it. Meshes collide as their hulls.
//! Geoms within the `margin` are seen early; the force begins at a gap of 0.
//!
//! Softness: contacts are hard unless the geom has `solref` or `solimp` other than the defaults. Then, with d the
//! impedance at full width (`solimp`\[1\]) and (t, ζ) = `solref`, contact is a spring and damper per effective mass
//!
//! $$ k = \frac{1}{d^2 t^2 \zeta^2}\,\frac{d}{1-d}, \qquad b = \frac{2}{d\,t}\,\frac{d}{1-d}, $$
//!
//! or $k = -s_0/d^2\cdot d/(1-d)$, $b = -s_1/d\cdot d/(1-d)$ for a negative `solref` (s₀, s₁): the forces that MuJoCo's soft
//! constraint $a + R f = -b'v - k'r$ with $R = (1-d)/(d\,m)$ has at a = 0.

use std::sync::Arc;

use super::build::Notes;
use super::build_touch::Maker;
use crate::bodies::articulated::robot::{ContactSoftness, GeomShape, Robot, RobotGeom};
use crate::collide::rigid::{Collider, Geometry, HeightField, Hull, WORLD};
use crate::model::{Compliance, Material, Part, RobotPart, TouchRule};

/// Adds the colliders of one robot.
pub(super) fn add_robot(number: u32, part: &RobotPart, maker: &mut Maker, notes: &mut Notes) {
    let robot = &part.machine.robot;
    if robot.options.disables("contact") {
        return;
    }
    let weld = welds(robot);
    let mut part_of: Vec<Option<u32>> = vec![None; robot.bodies.len()];
    let paired: Vec<usize> = robot.contact_pairs.iter().flat_map(|p| p.geoms.map(|g| g.0)).collect();
    let mut collider_of = vec![None; robot.geoms().count()];
    for (g, (body, geom)) in robot.geoms().enumerate() {
        if geom.contact_type == 0 && geom.contact_affinity == 0 && !paired.contains(&g) {
            continue;
        }
        let Some(shape) = geometry(robot, geom, notes) else { continue };
        let owner = match body.0 {
            0 => WORLD,
            b => *part_of[b].get_or_insert_with(|| {
                maker.out.parts.push(Part::Link { robot: number, link: b as u32 - 1 });
                maker.out.held.push(weld[b] == 0);
                maker.out.parts.len() as u32 - 1
            }),
        };
        let name = format!("{}/{}", part.name, robot.bodies[body.0].name);
        let class = maker.class(&[&part.name, &name]);
        let over = robot.options.contact_override;
        let margin = over.map_or(geom.margin, |(margin, _)| margin);
        let material = maker.material(Material { class, ..material(geom, over.map(|o| o.1)) });
        collider_of[g] = Some(maker.out.colliders.len() as u32);
        let collider = Collider { material, margin: margin.max(0.0), ..Collider::new(owner, shape) };
        maker.add(&name, collider.at(geom.pose));
    }
    exclude(robot, &weld, &part_of, maker);
    for pair in &robot.contact_pairs {
        let [Some(a), Some(b)] = pair.geoms.map(|g| collider_of.get(g.0).copied().flatten()) else {
            continue;
        };
        let dimension = pair.dimension.unwrap_or(3);
        let take = |k: usize, least: u8| pair.friction.map(|f| if dimension >= least { f[k] } else { 0.0 });
        let softness = ContactSoftness {
            solref: pair.solref.unwrap_or(ContactSoftness::default().solref),
            solimp: pair.solimp.unwrap_or(ContactSoftness::default().solimp),
        };
        let rule = TouchRule {
            friction: take(0, 3),
            torsional_friction: take(2, 4),
            rolling_friction: take(3, 6),
            compliance: compliance(&softness),
            ..TouchRule::default()
        };
        maker.out.pairs.push(((a.min(b), a.max(b)), rule));
    }
}

/// For each body: the nearest of itself and its ancestors that a joint moves; 0 if none does.
pub(super) fn welds(robot: &Robot) -> Vec<usize> {
    let mut weld = vec![0; robot.bodies.len()];
    for (i, body) in robot.bodies.iter().enumerate().skip(1) {
        let moves = body.joints.iter().any(|j| j.kind.velocity_count() > 0);
        weld[i] = if moves { i } else { weld[body.parent.0] };
    }
    weld
}

/// True if two bodies never touch: welded to each other, neighbours at a joint, or said so.
pub(super) fn never_touch(robot: &Robot, weld: &[usize], i: usize, j: usize) -> bool {
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
fn exclude(robot: &Robot, weld: &[usize], part_of: &[Option<u32>], maker: &mut Maker) {
    for i in 1..robot.bodies.len() {
        for j in i + 1..robot.bodies.len() {
            let (Some(a), Some(b)) = (part_of[i], part_of[j]) else { continue };
            if never_touch(robot, weld, i, j) {
                maker.out.excluded.push((a.min(b), a.max(b)));
            }
        }
    }
}

fn material(geom: &RobotGeom, over: Option<ContactSoftness>) -> Material {
    let f = geom.friction;
    let sliding = if geom.contact_dimension >= 3 { f[0] } else { 0.0 };
    Material {
        friction: Some(sliding),
        torsional_friction: (geom.contact_dimension >= 4).then_some(f[1]),
        rolling_friction: (geom.contact_dimension >= 6).then_some(f[2]),
        compliance: compliance(&over.unwrap_or(geom.softness)),
        priority: geom.contact_priority,
        kinds: [geom.contact_type, geom.contact_affinity],
        ..Material::default()
    }
}

/// The spring and damper of a softness that is not the default.
fn compliance(softness: &ContactSoftness) -> Option<Compliance> {
    if *softness == ContactSoftness::default() {
        return None;
    }
    let d = softness.solimp[1].clamp(1e-4, 0.9999);
    let [s0, s1] = softness.solref;
    let (k, b) = if s0 > 0.0 && s1 > 0.0 {
        (1.0 / (d * d * s0 * s0 * s1 * s1), 2.0 / (d * s0))
    } else {
        (-s0.min(0.0) / (d * d), -s1.min(0.0) / d)
    };
    let scale = d / (1.0 - d);
    (k > 0.0 && k.is_finite() && b.is_finite()).then_some(Compliance::PerMass { k: scale * k, b: scale * b })
}

/// The shape of a geom; none if it cannot collide, which is noted.
fn geometry(robot: &Robot, geom: &RobotGeom, notes: &mut Notes) -> Option<Geometry> {
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
        GeomShape::Mesh(id) => {
            let mesh = robot.meshes.get(id.0)?;
            match Hull::new(&mesh.vertices) {
                Ok(hull) => Geometry::Hull(Arc::new(hull)),
                Err(_) if mesh.vertices.is_empty() => return None,
                Err(error) => {
                    notes.error("file", format!("mesh `{}` does not collide: {error}", mesh.name));
                    return None;
                }
            }
        }
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
