//! The points and bodies of a scene, laid out one after the other: particles, then points of generalized bodies, then carried
//! points.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::diagnostics::Diagnostics;
use super::expanded::Expanded;
use super::generalized;
use super::names::{Names, name_of};
use super::particles::{arrangement_key, set_masses};
use super::points::{carried, carry};
use super::prescribed::PrescribedBody;
use super::rigid::{Bodies, rigid_bodies};
use super::{MOST_POINTS, MappedPoints, Masses, Scene, Velocities};
use crate::bodies::Generalized;
use crate::mapping::{GeneralizedPoints, Mapping};
use crate::math::{Vec3, triple};
use crate::mesh::Region;
use crate::state::{Block, BlockKind, Layout, PointSet};

/// Points and inertia, once known.
#[derive(Default)]
pub(super) struct Points {
    pub layout: Layout,
    pub blocks: Vec<Block>,
    pub names: Names,
    pub masses: Vec<f64>,
    pub x: Vec<Vec3>,
    pub v: Vec<Vec3>,
    pub mappings: Vec<Box<dyn Mapping>>,
    pub bodies: Bodies,
    pub generalized: Vec<Arc<Generalized>>,
    /// u and u̇ of the generalized bodies.
    pub coordinates: (Vec<f64>, Vec<f64>),
}

/// Particles and carried points; `None` if their number cannot be known.
pub(super) fn points(
    scene: &mut Scene,
    expanded: &Expanded,
    prescribed: &[PrescribedBody],
    notes: &mut Diagnostics,
) -> Option<Points> {
    if expanded.failed {
        return None;
    }
    let before = notes.found;
    let mut out = Points::default();
    let total = name_particles(scene, expanded, &mut out.names, notes)?;
    name_bodies(scene, &out.names, notes);
    out.bodies = rigid_bodies(scene, notes);
    generalized::check(scene, notes);
    if notes.found > before {
        return None;
    }
    out.bodies.prescribe(prescribed);
    out.names.rigid = scene.rigid.iter().map(|b| b.name.clone()).collect();
    let own = scene.points.len();
    add_centers(scene, &out.bodies);
    out.place_particles(scene, expanded, notes);
    let others = out.place_generalized(scene, total);
    let parents = carried(scene, expanded, own, &mut out, notes)?;
    // A force on a body acts at its centre of mass.
    for set in &scene.points[own..] {
        if let (Some(body), Some((_, range))) = (set.name.strip_suffix(CENTER), out.names.sets.get(&set.name))
        {
            let range = range.clone();
            out.names.add(body, range);
        }
    }
    out.blocks.extend(others);
    for body in &out.generalized {
        out.mappings.push(Box::new(GeneralizedPoints::new(out.layout, body.clone())));
    }
    carry(parents, &mut out);
    Some(out)
}

/// Names all sets of particles; their number of particles, unless there are too many.
fn name_particles(
    scene: &Scene,
    expanded: &Expanded,
    names: &mut Names,
    notes: &mut Diagnostics,
) -> Option<usize> {
    let mut total = 0usize;
    for (set, origin) in scene.particles.iter().zip(&expanded.origins) {
        notes.at(origin.table, origin.index, &set.name);
        names.check(&set.name, notes);
        if let Some((key, message)) = set.arrangement.defect() {
            notes.error(key, message);
        }
        let n = set.arrangement.count();
        total = total.saturating_add(n);
        if total > MOST_POINTS {
            let message = format!("the scene grows to {total} particles; {MOST_POINTS} is the most");
            notes.error(arrangement_key(&set.arrangement), message);
            return None;
        }
        names.add(&set.name, total - n..total);
        if origin.kind == BlockKind::Affine {
            names.affine.insert(set.name.clone());
        }
    }
    // Markers and columns of affine bodies come last: what acts on all particles leaves them alone.
    let columns =
        scene.particles.iter().zip(&expanded.origins).filter(|(_, o)| o.kind != BlockKind::Particles);
    names.particles = total - columns.map(|(set, _)| set.arrangement.count()).sum::<usize>();
    Some(total)
}

/// Notes what is wrong with the names of bodies and robots.
fn name_bodies(scene: &Scene, names: &Names, notes: &mut Diagnostics) {
    let mut taken = BTreeSet::new();
    let rigid = scene.rigid.iter().enumerate().map(|(k, body)| ("rigid", k, &body.name));
    let generalized = scene.generalized.iter().enumerate().map(|(k, body)| ("generalized", k, &body.name));
    for (table, k, name) in rigid.chain(generalized) {
        notes.at(table, k, name);
        names.check(name, notes);
        if !taken.insert(name.as_str()) {
            notes.error("name", format!("the name `{name}` is taken"));
        }
    }
    for (k, robot) in scene.robot.iter().enumerate() {
        notes.at("robot", k, &robot.name);
        names.check(&robot.name, notes);
        if !taken.insert(robot.name.as_str()) {
            let name = &robot.name;
            let free = (2..).map(|n| format!("{name}{n}")).find(|name| !taken.contains(name.as_str()));
            let free = free.unwrap_or_default();
            notes.error(
                "name",
                format!("the name `{name}` is taken; give this robot one of its own, `name = \"{free}\"`"),
            );
        }
    }
}

impl Points {
    /// Places, velocities, masses and blocks of all sets of particles.
    fn place_particles(&mut self, scene: &Scene, expanded: &Expanded, notes: &mut Diagnostics) {
        let coordinates: usize = scene.generalized.iter().map(|body| body.coordinates.len()).sum();
        let (base_q, base_v) = (7 * scene.rigid.len() + coordinates, 6 * scene.rigid.len() + coordinates);
        for (k, (set, origin)) in scene.particles.iter().zip(&expanded.origins).enumerate() {
            notes.at(origin.table, origin.index, &set.name);
            notes.finite3("position", &set.position);
            let n = set.arrangement.count();
            let first = self.x.len();
            // The place in the scene tells clouds apart; the odd factor keeps neighbouring seeds from meeting.
            let seed = scene.seed ^ (k as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            self.x.extend(set.arrangement.positions(seed).iter().map(|x| x + set.position));
            if let Some(i) = self.x[first..].iter().position(|x: &Vec3| !x.iter().all(|x| x.is_finite())) {
                notes.error("position", format!("moves particle {i} to where numbers overflow"));
            }
            if origin.masses_known {
                // Checked where they were made; columns of a deformation weigh nothing.
                if let Masses::List(list) = &set.mass {
                    self.masses.extend(list);
                }
            } else {
                set_masses(set, n, notes, &mut self.masses);
            }
            match &set.velocity {
                Velocities::Each(one) => {
                    notes.finite3("velocity", one);
                    self.v.resize(first + n, *one);
                }
                Velocities::List(list) => {
                    if list.len() != n {
                        notes.error(
                            "velocity",
                            format!("{} velocities stand against {n} particles", list.len()),
                        );
                    }
                    let _ = list.iter().all(|v| notes.finite3("velocity", v));
                    self.v.extend(list.iter().take(n));
                    self.v.resize(first + n, Vec3::zeros());
                }
            }
            self.blocks.push(Block {
                name: set.name.clone(),
                kind: origin.kind,
                q: base_q + 3 * first..base_q + 3 * (first + n),
                v: base_v + 3 * first..base_v + 3 * (first + n),
                points: first..first + n,
            });
        }
    }

    /// The layout without carried points, generalized bodies and their points; the blocks of bodies, which come last.
    fn place_generalized(&mut self, scene: &mut Scene, particles: usize) -> Vec<Block> {
        let (mut u, mut du, mut point_masses): (Vec<f64>, Vec<f64>, Vec<f64>) = Default::default();
        for body in &scene.generalized {
            u.extend(&body.coordinates);
            du.extend(&body.rates);
            du.resize(u.len(), 0.0);
            point_masses.extend(&body.masses);
        }
        self.layout = Layout {
            nq: 7 * scene.rigid.len() + u.len() + 3 * particles,
            nv: 6 * scene.rigid.len() + u.len() + 3 * particles,
            rigid: scene.rigid.len(),
            particles,
            points: particles + point_masses.len(),
            ..Layout::default()
        };
        let blocks;
        (blocks, self.generalized) = generalized::body_blocks(scene, &self.layout, &mut self.names);
        for body in &self.generalized {
            let (n, m) = (body.q.len(), 3 * body.map.points());
            let at = body.q.start - 7 * self.layout.rigid;
            let (mut first, mut second, mut place) = (vec![0.0; m], vec![0.0; m], vec![0.0; m]);
            body.map.positions(&u[at..at + n], &mut place);
            body.map.along(&u[at..at + n], &du[at..at + n], &mut first, &mut second);
            self.x.extend((0..m / 3).map(|i| triple(&place, i)));
            self.v.extend((0..m / 3).map(|i| triple(&first, i)));
        }
        self.masses.extend(point_masses);
        self.coordinates = (u, du);
        blocks
    }
}

/// What the point at the centre of mass of a body is called behind the name of the body. Names that users give have no dots.
pub(super) const CENTER: &str = ".center";

/// Adds points to the rigid bodies that forces name: their centres of mass, and what else forces ask for.
fn add_centers(scene: &mut Scene, bodies: &Bodies) {
    let mut pushed: BTreeSet<&str> =
        scene.custom.iter().flat_map(|set| &set.on).map(|text| name_of(text)).collect();
    let mut names: BTreeSet<String> = BTreeSet::new();
    scene.each_force(&mut |_, _, set| names.extend(set.acts_at().iter().map(|t| name_of(t).to_string())));
    pushed.extend(names.iter().map(String::as_str));
    let mut out = Vec::new();
    for (k, body) in scene.rigid.iter().enumerate() {
        let center = bodies.rigid.center[k];
        let mut sets = Vec::new();
        if pushed.contains(&*body.name) {
            sets.push((CENTER, vec![center]));
        }
        scene.each_force(&mut |_, _, set| {
            if let Some((end, at)) = set.points_on(body, &center)
                && sets.iter().all(|(known, _)| *known != end)
            {
                sets.push((end, at));
            }
        });
        out.extend(sets.into_iter().map(|(end, at)| {
            let name = format!("{}{end}", body.name);
            MappedPoints { name, of: vec![body.name.clone()], at, surface: None }
        }));
    }
    scene.points.extend(out);
}

/// Points of several texts that start in a region; all particles if there is no text.
pub(super) fn chosen(points: &Points, notes: &mut Diagnostics, on: &[String], inside: &Region) -> PointSet {
    let set = points.names.set(notes, "on", on);
    if *inside == Region::All {
        return set;
    }
    let found: Vec<usize> = set.iter().filter(|&i| inside.has(i as u32, &points.x[i])).collect();
    if found.is_empty() && !set.is_empty() {
        notes.error("inside", format!("holds none of the {} points at the start", set.len()));
    }
    PointSet::new(found)
}

/// `rope[3]` for a point.
pub(super) fn describe(points: &Points, i: usize) -> String {
    points.blocks.iter().find(|b| b.points.contains(&i)).map_or(format!("point {i}"), |b| {
        if b.points.len() == 1 {
            format!("`{}`", b.name)
        } else {
            format!("`{}[{}]`", b.name, i - b.points.start)
        }
    })
}
