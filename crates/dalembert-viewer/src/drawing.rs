//! The neutral description that every picture is made from.
//!
//! A [`Drawing`] says once what there is: shapes with a name, a group and a colour, and how they hang together. A
//! [`Frame`] gives the numbers of one moment, in f32 because eyes need no more: *vertices* (points and corners of
//! deforming meshes, in world axes), *poses* (place and turn of stiff shapes), *arrows* and *scalars*. Shapes refer to
//! vertices and poses by number, so a frame is a handful of flat arrays and costs one pass to fill and one to send.
//!
//! [`describe`] and [`frame`] translate the engine's [`Model`] and [`State`]. A new kind of body adds a match arm to
//! each; renderer, server and page know only what is written here.

mod contacts;
mod description;
mod frame;
mod joints;
mod robots;

use std::ops::Range;

use dalembert::bodies::{self, Bounds};
use dalembert::collide::rigid;
use dalembert::forces::unary::ObstacleShape;
use dalembert::math::rotation::frame_with_axis;
use dalembert::math::{Blocks, Quat, Vec3, triple};
use dalembert::model::Model;
use dalembert::state::{Block, BlockKind, State};
use dalembert_formats::export::topology::{
    Pairs, deformation_columns, sheet_triangles, sheet_width, spring_pairs,
};

pub use description::*;
pub use frame::frame;

const SPRING_COLOUR: Colour = [120, 132, 150];
const FIXED_COLOUR: Colour = [92, 98, 108];
const VELOCITY_COLOUR: Colour = [52, 168, 96];
const FORCE_COLOUR: Colour = [214, 69, 80];
const JOINT_FORCE_COLOUR: Colour = [150, 92, 200];
const JOINT_AXIS_COLOUR: Colour = [58, 110, 200];

/// Numbers of the arrow lists in the drawing of a model.
pub(crate) mod list {
    pub(crate) const VELOCITIES: u32 = 0;
    pub(crate) const FORCES: u32 = 1;
    pub(crate) const JOINT_FORCES: u32 = 2;
    pub(crate) const JOINT_AXES: u32 = 3;
}

/// More bodies than this show no axes: thousands of them hide everything else.
const MOST_FRAMES: usize = 300;

/// Says what a model consists of; the state (usually the first) gives sizes.
pub fn describe(model: &Model, state: &State) -> Drawing {
    let points = model.points(state.time, &state.q, &state.v);
    let extent = extent(model, state);
    let mut drawing = Drawing {
        title: model.title.clone(),
        vertices: model.layout.points as u32,
        extent: extent as f32,
        ..Drawing::default()
    };

    let springs = spring_pairs(model, state);
    let spacing = spacing(model, &springs, points.x, extent);
    let held = held_points(model);
    let cages = cages(model, state);
    let mut sheets: Vec<Range<usize>> = Vec::new();
    let mut markers: Vec<Range<usize>> = Vec::new();
    for (b, block) in model.blocks.iter().enumerate() {
        let (first, count) = (block.points.start as u32, block.points.len() as u32);
        let radius = block.points.clone().map(|i| spacing[i]).fold(f64::INFINITY, f64::min) as f32;
        let colour = PALETTE[b % PALETTE.len()];
        match block.kind {
            BlockKind::Rigid => rigid_shape(&mut drawing, model, block, colour),
            BlockKind::Generalized => generalized_shape(
                &mut drawing,
                block,
                points.mass,
                radius.max(0.25 * (extent / 9.0) as f32),
                colour,
            ),
            BlockKind::Particles => {
                let sheet = || sheet_width(block, &springs).map(|width| sheet_triangles(count, width));
                let skin = surface_of(model, block).or_else(sheet);
                let lines = lines_of(model, block);
                let layers = usize::from(lines.is_some()) + usize::from(skin.is_some());
                sheets.extend((0..layers).map(|_| block.points.clone()));
                let look = Look { radius, colour, cage: cages[b] };
                particle_shapes(&mut drawing, block, points.mass, &look, skin, lines);
            }
            // The columns of a deformation are no places; its skin is a carried mesh.
            BlockKind::Affine => {}
            // Drawn by its links.
            BlockKind::Robot => {}
            BlockKind::Markers => {
                let geometry = Geometry::Points { first, count, radius: 0.05 * radius };
                drawing.add(&block.name, Group::Inside, colour, geometry);
                markers.push(block.points.clone());
            }
            BlockKind::Mapped if surface_of(model, block).is_some() => {
                let triangles = surface_of(model, block).unwrap_or_default();
                let geometry = Geometry::Mesh { first, count, triangles };
                let shape = drawing.add(&block.name, Group::Body, colour, geometry);
                drawing.shapes[shape].facts = vec![("points".into(), count.to_string())];
            }
            BlockKind::Mapped => {
                let geometry = Geometry::Points { first, count, radius: 0.21 * radius };
                let shape = drawing.add(&block.name, Group::Mapped, colour, geometry);
                drawing.shapes[shape].facts = vec![("points".into(), count.to_string())];
            }
        }
        let vertices: Vec<u32> = block.points.clone().filter(|&i| held[i]).map(|i| i as u32).collect();
        if !vertices.is_empty() {
            let geometry = Geometry::Marks { vertices, radius: 0.2 * radius };
            drawing.add(&block.name, Group::Fixed, FIXED_COLOUR, geometry);
        }
    }
    for (name, pairs) in springs {
        let radius = pairs.iter().map(|p| spacing[p[0] as usize]).fold(f64::INFINITY, f64::min);
        let count = pairs.len();
        let covered = |p: &[u32; 2]| sheets.iter().any(|s| p.iter().all(|i| s.contains(&(*i as usize))));
        let marks = |p: &[u32; 2]| markers.iter().any(|s| p.iter().any(|i| s.contains(&(*i as usize))));
        let inside = pairs.iter().all(|p| covered(p) || marks(p));
        let group = if inside { Group::Inside } else { Group::Spring };
        let geometry = Geometry::Lines { pairs, radius: 0.055 * radius as f32 };
        let shape = drawing.add(name, group, SPRING_COLOUR, geometry);
        drawing.shapes[shape].facts = vec![("springs".into(), count.to_string())];
    }
    obstacle_shapes(&mut drawing, model);
    robots::describe(model, &mut drawing);
    drawing.joints = joints::glyphs(model, extent, |k| reach(&model.shapes[k]));
    joints::describe(model, &mut drawing);

    let weight = arrow_lists(&mut drawing, model, points.mass, extent);
    contacts::describe(model, &mut drawing, weight);

    for name in ["kinetic", "potential", "total"] {
        drawing.scalars.push(Scalar::new(name, "J", "energy"));
    }
    for (name, _) in model.energy_terms(state) {
        drawing.scalars.push(Scalar::new(name, "J", "energy"));
    }
    drawing.owners = drawing.shapes.iter().map(|s| owner(model, s)).collect();
    drawing
}

/// How the points of a block are drawn.
struct Look {
    radius: f32,
    colour: Colour,
    /// The block carries a surface that is to be seen in place of its own.
    cage: bool,
}

/// The masses of a generalized body, and rods from each to the next.
fn generalized_shape(drawing: &mut Drawing, block: &Block, mass: &[f64], radius: f32, colour: Colour) {
    let (first, count) = (block.points.start as u32, block.points.len() as u32);
    let geometry = Geometry::Points { first, count, radius: 0.3 * radius };
    let shape = drawing.add(&block.name, Group::Body, colour, geometry);
    drawing.shapes[shape].movable = true;
    let mass: f64 = mass[block.points.clone()].iter().sum();
    drawing.shapes[shape].facts =
        vec![("coordinates".into(), block.q.len().to_string()), ("mass".into(), kilograms(mass))];
    let pairs: Pairs = (first..(first + count).saturating_sub(1)).map(|i| [i, i + 1]).collect();
    if !pairs.is_empty() {
        let geometry = Geometry::Lines { pairs, radius: 0.08 * radius };
        drawing.add(&block.name, Group::Spring, SPRING_COLOUR, geometry);
    }
}

/// Particles by their lines, by their surface, and as points.
fn particle_shapes(
    drawing: &mut Drawing,
    block: &Block,
    mass: &[f64],
    look: &Look,
    skin: Option<Vec<[u32; 3]>>,
    lines: Option<(f64, Pairs)>,
) {
    let (first, count) = (block.points.start as u32, block.points.len() as u32);
    let mass: f64 = mass[block.points.clone()].iter().sum();
    let facts = vec![("particles".into(), count.to_string()), ("mass".into(), kilograms(mass))];
    let group = if skin.is_some() || lines.is_some() { Group::Inside } else { Group::Body };
    if let Some((thick, pairs)) = lines {
        // As thick as it is, but never too thin to be seen.
        let radius = (thick as f32).max(0.003 * drawing.extent);
        let shape = drawing.add(&block.name, Group::Body, look.colour, Geometry::Lines { pairs, radius });
        drawing.shapes[shape].facts = facts.clone();
    }
    if let Some(triangles) = skin {
        // A body that carries a surface is seen by it, and by the edges of its own.
        let geometry = if look.cage {
            Geometry::Lines { pairs: edges_of(&triangles, first), radius: 0.02 * look.radius }
        } else {
            Geometry::Mesh { first, count, triangles }
        };
        let shape = drawing.add(&block.name, Group::Body, look.colour, geometry);
        drawing.shapes[shape].movable = true;
        drawing.shapes[shape].facts = facts.clone();
    }
    let geometry = Geometry::Points { first, count, radius: 0.17 * look.radius };
    let shape = drawing.add(&block.name, group, look.colour, geometry);
    drawing.shapes[shape].movable = true;
    drawing.shapes[shape].facts = facts;
}

/// Lists of arrows for velocities and forces; returns the length of an arrow per newton.
fn arrow_lists(drawing: &mut Drawing, model: &Model, mass: &[f64], extent: f64) -> f32 {
    // A body that falls by the extent of the scene draws an arrow of a fifth of it; so does its weight.
    let masses = mass.iter().chain(&model.rigid.mass).filter(|m| **m > 0.0);
    let mean_mass = model.mass() / masses.count().max(1) as f64;
    let fall = (0.2 * extent / (2.0 * 9.81 * extent).sqrt()) as f32;
    let weight = (0.2 * extent / (9.81 * mean_mass.max(1e-12))) as f32;
    let mut arrows = |name: &str, group: Group, colour: Colour, scale: f32, unit: &'static str| {
        let list = drawing.add_arrow_list();
        drawing.add(name, group, colour, Geometry::Arrows { list, scale, thickness: 1.0, unit });
    };
    arrows("velocities", Group::Velocity, VELOCITY_COLOUR, fall, "m/s");
    arrows("forces", Group::Force, FORCE_COLOUR, weight, "N");
    if !model.constraints.is_empty() {
        arrows("joint forces", Group::Force, JOINT_FORCE_COLOUR, weight, "N");
        arrows("joint axes", Group::Joint, JOINT_AXIS_COLOUR, 1.0, "");
    }
    weight
}

/// For each block whether it has a surface and carries another one that is to be seen.
fn cages(model: &Model, state: &State) -> Vec<bool> {
    let base = model.layout.points_v() / 3;
    let mut parents = Blocks::default();
    if model.blocks.iter().any(|b| b.kind == BlockKind::Mapped && surface_of(model, b).is_some()) {
        for mapping in &model.mappings {
            mapping.add_jacobian_blocks(&state.q, &mut parents);
        }
    }
    // Drawn points and what carries them.
    let mut skin = vec![false; model.layout.points];
    for surface in &model.surfaces {
        surface.triangles.iter().flatten().for_each(|i| skin[*i as usize] = true);
    }
    let mut carries = vec![false; model.layout.points];
    for (child, parent, _) in &parents.entries {
        if let (Some(child), Some(parent)) =
            ((*child as usize).checked_sub(base), (*parent as usize).checked_sub(base))
        {
            carries[parent] |= skin[child];
        }
    }
    model.blocks.iter().map(|b| b.points.clone().any(|i| carries[i])).collect()
}

/// Edges of triangles, each once, counted from `first`.
fn edges_of(triangles: &[[u32; 3]], first: u32) -> Pairs {
    let ends = |t: &[u32; 3]| [[t[0], t[1]], [t[1], t[2]], [t[2], t[0]]];
    let mut pairs: Pairs =
        triangles.iter().flat_map(ends).map(|[a, b]| [first + a.min(b), first + a.max(b)]).collect();
    pairs.sort_unstable();
    pairs.dedup();
    pairs
}

/// Triangles of the surface of a block, counted from its first point.
fn surface_of(model: &Model, block: &Block) -> Option<Vec<[u32; 3]>> {
    let surface = model.surfaces.iter().find(|s| s.name == block.name && !s.triangles.is_empty())?;
    let first = block.points.start as u32;
    Some(surface.triangles.iter().map(|t| t.map(|i| i - first)).collect())
}

/// Lines between the points of a block, counted over all points, after their radius.
fn lines_of(model: &Model, block: &Block) -> Option<(f64, Pairs)> {
    let surface = model.surfaces.iter().find(|s| s.name == block.name && !s.lines.is_empty())?;
    Some((surface.radius, surface.lines.clone()))
}

fn kilograms(mass: f64) -> String {
    format!("{} kg", short(mass))
}

/// Six digits at most, without needless zeros.
pub(crate) fn short(x: f64) -> String {
    let size = if x == 0.0 { 0.0 } else { x.abs().log10().floor() };
    if !(-4.0..6.0).contains(&size) {
        return format!("{x:.4e}");
    }
    let text = format!("{x:.*}", (5.0 - size).max(0.0) as usize);
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').into() } else { text }
}

/// A rigid body by its primitive, or else by its triangles, and its axes. Pose k belongs to body k.
fn rigid_shape(drawing: &mut Drawing, model: &Model, block: &Block, colour: Colour) {
    let k = block.q.start / 7;
    let pose = drawing.add_pose();
    debug_assert_eq!(pose as usize, k);
    let body = &model.shapes[k];
    let small = |x: &f64| *x as f32;
    let geometry = match body {
        bodies::Shape::Point => Geometry::Sphere { pose, radius: 0.02 * drawing.extent },
        bodies::Shape::Sphere { radius } => Geometry::Sphere { pose, radius: small(radius) },
        bodies::Shape::Box { size } => Geometry::Box { pose, size: [0, 1, 2].map(|i| size[i] as f32) },
        bodies::Shape::Capsule { radius, length } => {
            Geometry::Capsule { pose, radius: small(radius), length: small(length) }
        }
        bodies::Shape::Cylinder { radius, length } => {
            Geometry::Cylinder { pose, radius: small(radius), length: small(length) }
        }
        bodies::Shape::Cone { .. }
        | bodies::Shape::Ellipsoid { .. }
        | bodies::Shape::Mesh(_)
        | bodies::Shape::Shell(_)
        | bodies::Shape::Compound(_) => {
            let mesh = body.triangles();
            let vertices = mesh.vertices().iter().map(|p| [0, 1, 2].map(|i| p[i] as f32)).collect();
            Geometry::Solid { pose, vertices, triangles: mesh.triangles().to_vec() }
        }
    };
    let shape = drawing.add(&block.name, Group::Body, colour, geometry);
    drawing.shapes[shape].movable = true;
    let moments = model.rigid.inertia[k].symmetric_eigenvalues();
    drawing.shapes[shape].facts = vec![
        ("shape".into(), body.kind().into()),
        ("mass".into(), kilograms(model.rigid.mass[k])),
        ("inertia".into(), format!("{} kg·m²", [0, 1, 2].map(|i| short(moments[i])).join(", "))),
    ];
    if model.layout.rigid <= MOST_FRAMES {
        let length = (0.8 * reach(body) as f32).max(0.03 * drawing.extent);
        drawing.add(&block.name, Group::Frame, colour, Geometry::Axes { pose, length });
    }
}

/// Planes and balls that push points away. Their poses follow those of the bodies.
fn obstacle_shapes(drawing: &mut Drawing, model: &Model) {
    for (name, shape) in &model.obstacles {
        let pose = drawing.add_pose();
        let geometry = match *shape {
            ObstacleShape::Plane { .. } => Geometry::Plane { pose },
            ObstacleShape::Sphere { radius, .. } => Geometry::Sphere { pose, radius: radius as f32 },
            // A hollow ball would hide what it holds.
            ObstacleShape::Hollow { .. } => continue,
        };
        let name = if name.is_empty() { "obstacle" } else { name };
        drawing.add(name, Group::Body, FIXED_COLOUR, geometry);
    }
    grounds(model, |name, _, _| {
        let pose = drawing.add_pose();
        drawing.add(name, Group::Body, FIXED_COLOUR, Geometry::Plane { pose });
    });
}

/// Calls `each` with the name of every half-space that bodies touch, a point of its surface and the turn of z to its normal.
fn grounds(model: &Model, mut each: impl FnMut(&str, Vec3, Quat)) {
    if let Some(contact) = &model.ipc {
        for (plane, name) in contact.geometry.surface.half_planes.iter().zip(&contact.geometry.plane_names) {
            each(name, plane.offset * plane.normal, frame_with_axis(&plane.normal));
        }
    }
    if let Some(touch) = &model.rigid_contact {
        for (collider, owner) in touch.colliders.iter().zip(&touch.name_of) {
            if collider.body == rigid::WORLD && matches!(collider.shape, rigid::Geometry::HalfSpace) {
                each(&touch.names[*owner as usize], collider.pose.position, collider.pose.rotation);
            }
        }
    }
}

/// Place of an obstacle, and the turn that takes z to the normal of a plane.
fn obstacle_pose(shape: &ObstacleShape) -> (Vec3, Quat) {
    match *shape {
        ObstacleShape::Plane { point, normal } => (point, frame_with_axis(&normal)),
        ObstacleShape::Sphere { center, .. } | ObstacleShape::Hollow { center, .. } => {
            (center, Quat::identity())
        }
    }
}

/// Half the diagonal of the box around a shape \[m\].
fn reach(shape: &bodies::Shape) -> f64 {
    let Bounds { low, high } = shape.bounds();
    0.5 * (high - low).norm()
}

/// The rigid bodies and particles that a shape shows, as [`Drawing::owners`] counts them.
fn owner(model: &Model, shape: &Shape) -> Range<usize> {
    let (rigid, particles) = (model.layout.rigid, model.layout.particles);
    match shape.geometry {
        Geometry::Sphere { pose, .. }
        | Geometry::Box { pose, .. }
        | Geometry::Capsule { pose, .. }
        | Geometry::Cylinder { pose, .. }
        | Geometry::Solid { pose, .. } => {
            let pose = pose as usize;
            if pose < rigid { pose..pose + 1 } else { 0..0 }
        }
        Geometry::Points { first, count, .. } | Geometry::Mesh { first, count, .. }
            if ((first + count) as usize) <= particles =>
        {
            rigid + first as usize..rigid + (first + count) as usize
        }
        Geometry::Points { .. }
        | Geometry::Mesh { .. }
        | Geometry::Marks { .. }
        | Geometry::Lines { .. }
        | Geometry::Plane { .. }
        | Geometry::Axes { .. }
        | Geometry::Arrows { .. }
        | Geometry::Discs { .. }
        | Geometry::Label { .. } => 0..0,
    }
}

/// Diagonal of the box around all points and bodies \[m\]; where they are all in one place, its distance from the
/// origin, at least 1 m.
fn extent(model: &Model, state: &State) -> f64 {
    let mut all = Bounds::empty();
    let points = model.points(state.time, &state.q, &state.v);
    let mut columns = deformation_columns(model).map(|(column, _)| column).peekable();
    for i in (0..points.len()).filter(|i| columns.next_if_eq(i).is_none()) {
        all = all.union(&Bounds::around(points.position(i), Vec3::zeros()));
    }
    for (_, shape) in &model.obstacles {
        if let ObstacleShape::Sphere { center, radius } = shape {
            all = all.union(&Bounds::around(*center, Vec3::repeat(*radius)));
        }
    }
    for (k, shape) in model.shapes.iter().enumerate() {
        all = all.union(&shape.bounds_at(&model.rigid.pose(&state.q, k)));
    }
    for end in model.constraints.iter().filter_map(|c| c.constraint.ends()).flatten() {
        if end.holder == dalembert::joints::Holder::World {
            all = all.union(&Bounds::around(end.anchor, Vec3::zeros()));
        }
    }
    all = all.union(&robots::bounds(model, state));
    let d = (all.high - all.low).norm();
    if d > 1e-9 && d.is_finite() {
        return d;
    }
    // A single point: it has to do with the origin, or nothing is known.
    let far = all.low.norm();
    if far.is_finite() { far.max(1.0) } else { 1.0 }
}

/// A length per point that says how crowded it is there \[m\]: the shortest spring or edge of a surface at the point, or
/// else the size of the block divided among its points, never more than a ninth of the scene.
fn spacing(model: &Model, springs: &[(&str, Pairs)], x: &[f64], extent: f64) -> Vec<f64> {
    let most = extent / 9.0;
    let mut spacing = vec![most; model.layout.points];
    for block in &model.blocks {
        let points = block.points.clone();
        let own = extent_of(&x[3 * points.start..3 * points.end]);
        if points.len() > 1 && own > 0.0 {
            let apart = own / (points.len() as f64).cbrt();
            spacing[points].iter_mut().for_each(|s| *s = s.min(apart));
        }
    }
    let sides = |t: &[u32; 3]| [[t[0], t[1]], [t[1], t[2]], [t[2], t[0]]];
    let surfaces = model.surfaces.iter().flat_map(|s| s.triangles.iter().flat_map(sides));
    for [a, b] in springs.iter().flat_map(|(_, pairs)| pairs.iter().copied()).chain(surfaces) {
        let (a, b) = (a as usize, b as usize);
        let length = (triple(x, b) - triple(x, a)).norm();
        if length > 0.0 {
            spacing[a] = spacing[a].min(length);
            spacing[b] = spacing[b].min(length);
        }
    }
    spacing.iter_mut().for_each(|s| *s = s.max(1e-3 * extent));
    spacing
}

fn extent_of(x: &[f64]) -> f64 {
    let (mut low, mut high) = (Vec3::repeat(f64::INFINITY), Vec3::repeat(f64::NEG_INFINITY));
    for i in 0..x.len() / 3 {
        let p = triple(x, i);
        (low, high) = (low.inf(&p), high.sup(&p));
    }
    (high - low).norm()
}

/// Whether each point is held in all three directions: C eₓ = C e_y = C e_z = 0.
fn held_points(model: &Model) -> Vec<bool> {
    let n = model.layout.points;
    let mut held = vec![true; n];
    for k in 0..3 {
        let mut y = vec![0.0; 3 * n];
        y.iter_mut().skip(k).step_by(3).for_each(|y| *y = 1.0);
        model.filters.apply(0, &mut y);
        for i in 0..n {
            held[i] &= y[3 * i..3 * i + 3] == [0.0; 3];
        }
    }
    held
}

#[cfg(test)]
mod tests {
    use super::*;
    use dalembert::mesh::SurfaceMesh;
    use dalembert::prelude::*;
    use dalembert::scene::{AffineBody, SoftBody, Solid};

    fn hanging() -> Simulation {
        let mut scene = Scene { title: "hanging".into(), ..Scene::default() };
        scene.add(ParticleSet::new(
            "rope",
            Arrangement::Chain { from: Vec3::new(0.0, 0.0, 1.0), to: Vec3::new(1.0, 0.0, 1.0), count: 5 },
        ));
        scene.add(SpringSet::along("links", "rope", Edges::Structural).stiffness(100.0));
        scene.add(Fix::points("rope[0]"));
        scene.build().unwrap()
    }

    #[test]
    fn a_drawing_shows_particles_springs_and_held_points() {
        let sim = hanging();
        let drawing = describe(&sim.model, &sim.state);
        let pairs = drawing.shapes.iter().find_map(|s| match &s.geometry {
            Geometry::Lines { pairs, .. } => Some(pairs.clone()),
            _ => None,
        });
        assert_eq!(pairs.unwrap(), [[0, 1], [1, 2], [2, 3], [3, 4]]);
        let held = drawing.shapes.iter().find(|s| s.group == Group::Fixed).unwrap();
        assert!(matches!(&held.geometry, Geometry::Marks { vertices, .. } if vertices == &[0]));
        assert_eq!(drawing.vertices, 5);
    }

    #[test]
    fn a_frame_has_arrows_only_for_the_groups_that_are_wanted() {
        let sim = hanging();
        let drawing = describe(&sim.model, &sim.state);
        let mut out = Frame::default();
        frame(&sim.model, &drawing, &sim.state, Groups::default(), &mut out);
        assert!(out.arrows.iter().all(Vec::is_empty));
        frame(&sim.model, &drawing, &sim.state, Groups::EVERY, &mut out);
        // At rest there are no velocities; five weights pull down.
        assert_eq!((out.arrows[0].len(), out.arrows[1].len()), (0, 5 * 6));
        assert!((out.arrows[1][5] + 9.81).abs() < 1e-5);
        assert_eq!(out.scalars.len(), drawing.scalars.len());
    }

    /// A door on a hinge with limits, a drawer, a bead on a rod, and things that are not joined.
    fn workshop() -> Simulation {
        let mut scene = Scene { method: Method::Impulse(Impulse::default()), ..Scene::default() };
        let panel = bodies::Shape::Box { size: Vec3::new(0.8, 0.05, 2.0) };
        scene.add(RigidBody::new("door", panel).mass(20.0).at([0.4, 0.0, 1.0]));
        let hinge = JointItem::new("hinge", JointKind::Hinge, "world", "door");
        scene.add(hinge.anchor([0.0, 0.0, 1.0]).axis([0.0, 0.0, 1.0]).limits(-0.5, 1.5));
        let cone = bodies::Shape::Cone { radius: 0.2, length: 0.5 };
        scene.add(RigidBody::new("cone", cone).mass(1.0).at([2.0, 0.0, 1.0]));
        let slide = JointItem::new("slide", JointKind::Slider, "world", "cone");
        scene.add(slide.anchor([2.0, 0.0, 1.0]).axis([0.0, 0.0, 1.0]).limits(-0.3, 0.3));
        scene.add(ParticleSet::at("bob", [3.0, 0.0, 1.0]));
        let rod = JointKind::Distance { length: None };
        let mut rod = JointItem::new("rod", rod, "world", "bob");
        rod.anchors = Anchors::Local([Vec3::new(3.0, 0.0, 2.0), Vec3::zeros()]);
        scene.add(rod);
        scene.build().unwrap()
    }

    #[test]
    fn rigid_bodies_and_joints_are_drawn_and_their_forces_balance_the_weight() {
        let mut sim = workshop();
        for _ in 0..5 {
            sim.step().unwrap();
        }
        let drawing = describe(&sim.model, &sim.state);
        let has =
            |name: &str, group: Group| drawing.shapes.iter().any(|s| s.name == name && s.group == group);
        for (name, group) in [
            ("door", Group::Body),
            ("door", Group::Frame),
            ("cone", Group::Body),
            ("hinge", Group::Joint),
            ("limits", Group::Joint),
            ("rod", Group::Spring),
            ("held by the world", Group::Fixed),
        ] {
            assert!(has(name, group), "{name} {group:?}");
        }
        let mut out = Frame::default();
        frame(&sim.model, &drawing, &sim.state, Groups::EVERY, &mut out);
        assert_eq!(out.vertices.len(), 3 * drawing.vertices as usize);
        assert_eq!(out.poses.len(), 7 * drawing.poses as usize);
        assert_eq!(out.arrows.len(), drawing.arrow_lists as usize);
        assert_eq!(out.violation.len(), drawing.shapes.len());
        assert_eq!(out.scalars.len(), drawing.scalars.len());
        // The hinge carries the door and the rod the bob; the slide is free to fall.
        let carried: f32 = out.arrows[list::JOINT_FORCES as usize].chunks_exact(6).map(|a| a[5]).sum();
        assert!((carried - 9.81 * 21.0).abs() < 0.5, "{carried}");
        assert_eq!(out.arrows[list::JOINT_AXES as usize].len(), 2 * 6);
        assert!(out.violation.iter().all(|v| *v < 0.5));
    }

    #[test]
    fn the_limits_of_a_hinge_are_an_arc_about_its_axis() {
        let sim = workshop();
        let drawing = describe(&sim.model, &sim.state);
        let mut out = Frame::default();
        frame(&sim.model, &drawing, &sim.state, Groups::default(), &mut out);
        let limits = drawing.shapes.iter().find(|s| s.name == "limits").unwrap();
        let Geometry::Lines { pairs, .. } = &limits.geometry else { panic!() };
        // The first line is the pointer, the second and third are the stops, 2 rad apart.
        let from_hinge =
            |i: u32| Vec3::from(out.vertex(i as usize).map(f64::from)) - Vec3::new(0.0, 0.0, 1.0);
        let [pointer, low, high] = [0, 1, 2].map(|k| from_hinge(pairs[k][1]).normalize());
        assert!((low.dot(&high) - 2f64.cos()).abs() < 1e-5);
        assert!(
            (low.dot(&pointer) - 0.5f64.cos()).abs() < 1e-5,
            "the door stands 0.5 rad from its lower stop"
        );
        assert!((low.cross(&high).z - 2f64.sin()).abs() < 1e-5, "from low to high is a turn about z");
    }

    #[test]
    fn a_gap_in_a_joint_colours_its_bodies() {
        let mut sim = workshop();
        let drawing = describe(&sim.model, &sim.state);
        sim.state.q[0] += 0.1;
        let mut out = Frame::default();
        frame(&sim.model, &drawing, &sim.state, Groups::EVERY, &mut out);
        let at = |name: &str| drawing.shapes.iter().position(|s| s.name == name).unwrap();
        assert_eq!(out.violation[at("door")], 1.0);
        assert_eq!(out.violation[at("cone")], 0.0);
    }

    #[test]
    fn a_cloth_is_a_surface_whose_points_and_springs_lie_inside() {
        let mut scene = Scene::new();
        scene.add(ParticleSet::new("cloth", Arrangement::Cloth { size: [1.0, 1.0], count: [4, 5] }));
        scene.add(SpringSet::along("weave", "cloth", Edges::Structural).stiffness(10.0));
        let sim = scene.build().unwrap();
        let drawing = describe(&sim.model, &sim.state);
        let groups: Vec<(&str, Group)> = drawing.shapes.iter().map(|s| (s.name.as_str(), s.group)).collect();
        assert_eq!(groups[..3], [("cloth", Group::Body), ("cloth", Group::Inside), ("weave", Group::Inside)]);
        assert!(
            matches!(&drawing.shapes[0].geometry, Geometry::Mesh { triangles, .. } if triangles.len() == 24)
        );
    }

    #[test]
    fn a_soft_body_is_its_surface_and_one_that_carries_a_surface_is_its_edges() {
        let mut scene = Scene { method: Method::Implicit(Implicit::default()), ..Scene::default() };
        for name in ["plain", "cage"] {
            let block = Solid::Box { size: Vec3::new(1.0, 1.0, 1.0), cells: [1, 1, 1] };
            scene.add(SoftBody::new(name, block));
        }
        scene.add(AffineBody::new("cube", bodies::Shape::Box { size: Vec3::new(0.1, 0.1, 0.1) }));
        let triangle =
            SurfaceMesh { points: vec![Vec3::x(), Vec3::y(), Vec3::z()], triangles: vec![[0, 1, 2]] };
        let (name, of) = ("skin".into(), vec!["cage".into()]);
        scene.add(MappedPoints { name, of, surface: Some(triangle), ..MappedPoints::default() });
        let sim = scene.build().unwrap();
        let drawing = describe(&sim.model, &sim.state);
        let body = |name: &str| {
            &drawing.shapes.iter().find(|s| s.name == name && s.group == Group::Body).unwrap().geometry
        };
        assert!(matches!(body("plain"), Geometry::Mesh { triangles, .. } if triangles.len() == 12));
        assert!(matches!(body("cage"), Geometry::Lines { pairs, .. } if pairs.len() == 18));
        assert!(
            matches!(body("skin"), Geometry::Mesh { .. })
                && matches!(body("cube skin"), Geometry::Mesh { .. })
        );
        // Columns of a deformation do not count as places.
        assert!((drawing.extent - 3f32.sqrt() * 1.5).abs() < 0.5, "{}", drawing.extent);
        let nodes = drawing.shapes.iter().filter(|s| matches!(s.geometry, Geometry::Points { .. }));
        assert!(nodes.into_iter().all(|s| s.group != Group::Body));
    }
}
