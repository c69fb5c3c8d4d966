//! Under the method `ipc`: rigid bodies become stiff affine ones, and everything gets a collision surface.

use std::collections::BTreeMap;

use super::diagnostics::Diagnostics;
use super::expanded::Expanded;
use super::{AffineBody, BodyMass, Scene, sanity};
use crate::bodies::{AffineMass, MassProperties};
use crate::collide::{BodyGeometry, Groups, HalfPlane, Surface, VertexMap};
use crate::filters::Filters;
use crate::forces::nary::AffineEnergy;
use crate::math::{Mat3, Vec3};
use crate::model::{IpcModel, Torque};
use crate::state::{Block, BlockKind};
use crate::step::{Ipc, Method, Scheme};

/// The collision surface of one set of particles.
#[derive(Debug, Clone)]
pub(super) struct Skin {
    /// Which set.
    pub set: usize,
    /// Places in the frame of an affine body, from its centre of mass; `None` if vertices are the particles.
    pub material: Option<Vec<Vec3>>,
    pub triangles: Vec<[u32; 3]>,
    pub segments: Vec<[u32; 2]>,
    /// Half the thickness \[m\].
    pub radius: f64,
    /// Half sizes along the axes of an affine body, for what it does to tolerances \[m\].
    pub reach: Vec3,
    /// What keeps an affine body stiff \[Pa\]; 0 for others.
    pub stiffness: f64,
}

/// Half sizes of the box with these second moments \[m\].
pub(super) fn moment_reach(mass: &AffineMass) -> Vec3 {
    Vec3::from_fn(|k, _| (3.0 * mass.second[(k, k)].max(0.0) / mass.mass).sqrt())
}

/// Checks settings and turns rigid bodies into affine ones.
pub(super) fn prepare(scene: &mut Scene, notes: &mut Diagnostics) {
    let Method::Ipc(settings) = scene.method else {
        if matches!(scene.method, Method::Impulse(_) | Method::Lagrange(_)) {
            return;
        }
        for (k, g) in scene.ground.iter().enumerate() {
            notes.at("ground", k, &g.name);
            let method = scene.method.name();
            notes.error(
                "",
                format!("the method `{method}` does not know the ground; `ipc`, `impulse` and `lagrange` do"),
            );
        }
        return;
    };
    check(&settings, notes);
    if let Some(body) = scene.generalized.first() {
        notes.at("generalized", 0, &body.name);
        notes.error("", "the method `ipc` does not take generalized coordinates; `lagrange` does");
    }
    for (k, body) in std::mem::take(&mut scene.rigid).into_iter().enumerate() {
        notes.at("rigid", k, &body.name);
        if let Err(e) = body.shape.validate() {
            notes.error("shape", e.to_string());
            continue;
        }
        scene.affine.push(AffineBody {
            mass: body.mass,
            stiffness: settings.rigid_stiffness,
            energy: AffineEnergy::Orthogonality,
            position: body.pose.position,
            orientation: body.pose.rotation,
            velocity: body.velocity,
            angular_velocity: body.angular_velocity,
            ..AffineBody::new(body.name, body.shape)
        });
    }
}

fn check(settings: &Ipc, notes: &mut Diagnostics) {
    notes.at("", 0, "");
    notes.positive("tolerance", settings.tolerance);
    notes.positive("friction_speed", settings.friction_speed);
    notes.positive("contact_stiffness", settings.contact_stiffness);
    notes.positive("rigid_stiffness", settings.rigid_stiffness);
    notes.positive("sleep_speed", settings.sleep_speed);
    if !(settings.sleep_after > 0.0) {
        notes.error("sleep_after", "must be above 0, or infinite for never");
    }
    notes.not_negative("friction", settings.friction);
    if let Some(gap) = settings.gap {
        notes.positive("gap", gap);
    }
    if settings.most_newton == 0 {
        notes.error("newton", "must be at least 1");
    }
    if matches!(settings.scheme, Scheme::Midpoint | Scheme::Trapezoid) {
        let name = settings.scheme.name();
        notes.error("scheme", format!("`{name}` is not for `ipc`; `euler`, `bdf2` and `static` are"));
    }
}

/// Volume of a body without a volume of its own: that of the box with its second moments.
pub(super) fn moment_volume(mass: &BodyMass) -> Option<f64> {
    let BodyMass::Given { mass, center, inertia } = mass else { return None };
    let body = MassProperties::new(*mass, *center, *inertia).ok()?;
    let half = moment_reach(&AffineMass::from_mass_properties(&body).about_center());
    let largest = half.max();
    Some(8.0 * half.map(|a| a.max(1e-3 * largest)).product())
}

/// Names to contact groups: everything that a rule names has a group of its own, the rest shares group 0.
struct Classes {
    group: BTreeMap<String, u32>,
}

impl Classes {
    fn of(&self, name: &str) -> u32 {
        self.group.get(name).copied().unwrap_or(0)
    }
}

/// The constant part of the method; mistakes are noted.
pub(super) fn ipc_model(
    scene: &Scene,
    expanded: &Expanded,
    blocks: &[Block],
    masses: &[f64],
    x: &[Vec3],
    filters: &Filters,
    notes: &mut Diagnostics,
) -> Option<IpcModel> {
    let Method::Ipc(settings) = &scene.method else { return None };
    let particles = masses.len();
    let mut out = IpcModel {
        reach: vec![1.0; particles],
        held: (0..particles).map(|i| filters.block(i).is_some_and(|C| C == Mat3::zeros())).collect(),
        ..IpcModel::default()
    };
    let classes = classes(scene, blocks, notes);
    out.geometry.groups = classes.group.len() + 1;
    out.geometry.friction = vec![settings.friction; out.geometry.groups * out.geometry.groups];
    let mut groups = Groups::new(out.geometry.groups);
    for rule in &scene.contact {
        let any = |name: &String| name == "*";
        let members = |name: &String| -> Vec<u32> {
            if any(name) { (0..out.geometry.groups as u32).collect() } else { vec![classes.of(name)] }
        };
        for &a in &members(&rule.between[0]) {
            for &b in &members(&rule.between[1]) {
                groups.set(a, b, rule.enabled);
                let mu = rule.friction.unwrap_or(settings.friction);
                out.geometry.friction[a as usize * out.geometry.groups + b as usize] = mu;
                out.geometry.friction[b as usize * out.geometry.groups + a as usize] = mu;
            }
        }
    }
    out.geometry.surface.groups = groups;
    for skin in &expanded.skins {
        add_skin(skin, &blocks[skin.set], masses, &classes, &mut out, notes);
    }
    let rigid = expanded.skins.iter().filter(|s| s.stiffness >= settings.rigid_stiffness);
    out.rigid = rigid.map(|s| blocks[s.set].points.start as u32).collect();
    for (k, g) in scene.ground.iter().enumerate() {
        notes.at("ground", k, &g.name);
        notes.finite3("point", &g.point);
        match g.normal.try_normalize(1e-300) {
            Some(normal) => {
                let group = classes.of(&g.name);
                out.geometry.surface.half_planes.push(HalfPlane {
                    normal,
                    offset: normal.dot(&g.point),
                    group,
                });
                out.geometry.plane_names.push(g.name.clone());
            }
            None => notes.error("normal", "is no direction"),
        }
    }
    out.torques = torques(scene, blocks, notes);
    let flat: Vec<f64> = x[..particles].iter().flat_map(|p| [p.x, p.y, p.z]).collect();
    let mut vertices = Vec::new();
    out.geometry.positions(&flat, &mut vertices);
    out.geometry.edge_length2 = out
        .geometry
        .surface
        .edges
        .iter()
        .map(|&[a, b]| (vertices[a as usize] - vertices[b as usize]).norm_squared())
        .collect();
    out.geometry.gap = settings.gap.unwrap_or_else(|| default_gap(&out.geometry.surface, &vertices));
    if out.geometry.can_touch() {
        out.geometry.starts = sanity::check(&out.geometry, &vertices, notes);
    }
    Some(out)
}

fn torques(scene: &Scene, blocks: &[Block], notes: &mut Diagnostics) -> Vec<Torque> {
    let mut out = Vec::new();
    for (k, set) in scene.push.iter().enumerate().filter(|(_, set)| set.torque != Vec3::zeros()) {
        notes.at("push", k, &set.name);
        notes.finite3("torque", &set.torque);
        for name in &set.on {
            let own = name.split('[').next().unwrap_or_default();
            match blocks.iter().find(|b| b.name == own && b.kind == BlockKind::Affine) {
                Some(b) => out.push(Torque {
                    first: b.points.start as u32,
                    torque: set.torque,
                    signal: set.signal.clone(),
                }),
                None => notes.error("on", format!("`{name}` is no rigid or affine body: it takes no torque")),
            }
        }
    }
    out
}

fn classes(scene: &Scene, blocks: &[Block], notes: &mut Diagnostics) -> Classes {
    let mut group = BTreeMap::new();
    let known = |name: &str| {
        blocks.iter().any(|b| b.name == name && b.kind != BlockKind::Mapped)
            || scene.ground.iter().any(|g| g.name == name)
    };
    for (k, rule) in scene.contact.iter().enumerate() {
        notes.at("contact", k, "");
        if let Some(mu) = rule.friction {
            notes.not_negative("friction", mu);
        }
        for name in &rule.between {
            if name == "*" {
                continue;
            }
            if !known(name) {
                let mut names: Vec<String> = blocks.iter().map(|b| b.name.clone()).collect();
                names.extend(scene.ground.iter().map(|g| g.name.clone()));
                let message = format!("names `{name}`, which the scene does not have");
                notes.misspelt("between", message, Some((name.clone(), names)));
                continue;
            }
            let next = group.len() as u32 + 1;
            group.entry(name.clone()).or_insert(next);
        }
    }
    Classes { group }
}

fn add_skin(
    skin: &Skin,
    block: &Block,
    masses: &[f64],
    classes: &Classes,
    out: &mut IpcModel,
    notes: &mut Diagnostics,
) {
    let first = block.points.start;
    let held = block.points.clone().all(|i| out.held[i]);
    let maps: Vec<VertexMap> = match &skin.material {
        Some(places) => {
            out.affine.push(first as u32);
            for k in 0..3 {
                out.reach[first + 1 + k] = skin.reach[k].max(1e-9);
            }
            places.iter().map(|X| VertexMap::affine(first as u32, X)).collect()
        }
        None => block.points.clone().map(|i| VertexMap::point(i as u32)).collect(),
    };
    let told: Vec<VertexMap> = maps.iter().map(|m| if held { VertexMap::PRESCRIBED } else { *m }).collect();
    let flat = skin.material.as_ref().map_or(Vec::new(), |places| flat_edges(places, &skin.triangles));
    let body = BodyGeometry {
        flat_edges: &flat,
        maps: &told,
        triangles: &skin.triangles,
        segments: &skin.segments,
        radius: skin.radius,
        self_contact: skin.material.is_none() && !(skin.triangles.is_empty() && skin.segments.is_empty()),
        group: classes.of(&block.name),
    };
    if let Err(error) = out.geometry.surface.add(&body) {
        notes.error("", format!("the collision surface of `{}`: {error}", block.name));
        return;
    }
    out.geometry.names.push(block.name.clone());
    let mass = |map: &VertexMap| if held { 0.0 } else { masses[map.first_block as usize] };
    out.geometry.vertex_mass.extend(maps.iter().map(mass));
    out.geometry.maps.extend(maps);
}

/// Edges whose two triangles lie in one plane, low number first, sorted. An affine body keeps them so.
fn flat_edges(x: &[Vec3], triangles: &[[u32; 3]]) -> Vec<[u32; 2]> {
    let mut sides: Vec<([u32; 2], u32)> = Vec::new();
    for (t, &[a, b, c]) in triangles.iter().enumerate() {
        sides.extend([[a, b], [b, c], [c, a]].map(|[i, j]| ([i.min(j), i.max(j)], t as u32)));
    }
    sides.sort_unstable();
    let normal = |t: u32| {
        let [a, b, c] = triangles[t as usize].map(|i| x[i as usize]);
        (b - a).cross(&(c - a)).try_normalize(0.0)
    };
    let mut out = Vec::new();
    for group in sides.chunk_by(|a, b| a.0 == b.0) {
        if let [(edge, s), (_, t)] = group
            && let (Some(m), Some(n)) = (normal(*s), normal(*t))
            && m.cross(&n).norm() < 1e-12
            && m.dot(&n) > 0.0
        {
            out.push(*edge);
        }
    }
    out
}

/// 1 mm, or a hundredth of the diagonal of the smallest body.
fn default_gap(surface: &Surface, x: &[Vec3]) -> f64 {
    let mut gap = 1e-3f64;
    for body in surface.bodies.iter().filter(|b| b.vertices.len() > 1) {
        let range = body.vertices.start as usize..body.vertices.end as usize;
        let (mut low, mut high) = (x[range.start], x[range.start]);
        for p in &x[range] {
            (low, high) = (low.inf(p), high.sup(p));
        }
        let diagonal = (high - low).norm();
        if diagonal > 0.0 {
            gap = gap.min(0.01 * diagonal);
        }
    }
    gap
}
