//! Questions about a state whose things touch: what does a ray hit and how far apart are two things (under `impulse` or
//! `lagrange`), who touches whom, what has begun and ended (under `ipc` too).

use super::Model;
use crate::collide::rigid::{self, Distance};
use crate::contact::ColliderOwner;
use crate::math::{Pose, Vec3, triple};
use crate::state::State;

/// What a ray hits first.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RayHit<'a> {
    /// Name of the body, ground, set of particles or link of a robot (`robot/link`).
    pub name: &'a str,
    /// How far along the ray, in lengths of its direction.
    pub t: f64,
    /// Where \[m\].
    pub point: Vec3,
    /// Outward unit normal of the surface; against the ray's direction if it begins inside.
    pub normal: Vec3,
}

impl Model {
    /// Poses of everything that carries colliders, in the order of [`RigidContactModel::owners`](super::RigidContactModel::owners).
    pub fn collider_poses(&self, state: &State) -> Vec<Pose> {
        let Some(shapes) = &self.rigid_contact else { return Vec::new() };
        let mut robots: Vec<_> = self.robots.iter().map(|r| r.robot.work()).collect();
        for (robot, work) in self.robots.iter().zip(&mut robots) {
            robot.robot.tree.kinematics(robot.q(state), &mut work.tree);
        }
        let pose = |part: &ColliderOwner| match *part {
            ColliderOwner::Rigid(k) => self.rigid.pose(&state.q, k as usize),
            ColliderOwner::Particle(i) => Pose::at(triple(&state.q[self.layout.points_q()..], i as usize)),
            ColliderOwner::Link { robot, link } => {
                let tree = &self.robots[robot as usize].robot.tree;
                tree.link_pose(link as usize, &robots[robot as usize].tree)
            }
        };
        shapes.owners.iter().map(pose).collect()
    }

    /// The first thing on the ray from `from` along `direction`, at most `most` directions away; only things whose names
    /// `wanted` says yes to. `None` without contact, see [`Model::rigid_contact`].
    pub fn ray_cast(
        &self,
        state: &State,
        from: &Vec3,
        direction: &Vec3,
        most: f64,
        wanted: impl Fn(&str) -> bool,
    ) -> Option<RayHit<'_>> {
        let shapes = self.rigid_contact.as_ref()?;
        let poses = self.collider_poses(state);
        let wanted: Vec<bool> = shapes.names.iter().map(|name| wanted(name)).collect();
        let mut best: Option<RayHit> = None;
        for (c, owner) in shapes.colliders.iter().zip(&shapes.name_of).filter(|(_, o)| wanted[**o as usize]) {
            let most = best.map_or(most, |b| b.t);
            let hit = rigid::ray_cast((&c.shape, &c.placed(&poses)), from, direction, most);
            if let Some(hit) = hit.filter(|h| best.is_none_or(|b| h.t < b.t)) {
                let point = from + direction * hit.t;
                best = Some(RayHit {
                    name: &shapes.names[*owner as usize],
                    t: hit.t,
                    point,
                    normal: hit.normal,
                });
            }
        }
        best
    }

    /// How far two things are apart by their names: the least over their colliders; the normal points from `b` to `a`.
    /// `None` if either has no collider.
    pub fn distance_between(&self, state: &State, a: &str, b: &str) -> Option<Distance> {
        let shapes = self.rigid_contact.as_ref()?;
        let poses = self.collider_poses(state);
        let of = |name: &str| -> Vec<usize> {
            let number = shapes.names.iter().position(|n| n == name).map(|n| n as u32);
            (0..shapes.colliders.len()).filter(|i| Some(shapes.name_of[*i]) == number).collect()
        };
        let place = |i: usize| (&shapes.colliders[i].shape, shapes.colliders[i].placed(&poses));
        let mut best: Option<Distance> = None;
        for i in of(a) {
            for j in of(b) {
                let ((s, x), (t, y)) = (place(i), place(j));
                let found = rigid::distance((s, &x), (t, &y));
                best = found.filter(|d| best.is_none_or(|b| d.gap < b.gap)).or(best);
            }
        }
        best
    }

    /// Pairs of names whose contact carried a force in the last step, each sorted, and sorted among each other.
    pub fn touching(&self, state: &State) -> Vec<[&str; 2]> {
        let names = self.contact_names();
        let name = |k: u32| names.get(k as usize).copied().unwrap_or_default();
        let mut out: Vec<[&str; 2]> = self
            .contact_forces(state)
            .map(|c| {
                let (a, b) = (name(c.a), name(c.b));
                [a.min(b), a.max(b)]
            })
            .collect();
        out.sort_unstable();
        out.dedup();
        out
    }

    /// The force of all contacts of the last step on what goes by a name \[N\], world axes. `None` if nothing does.
    pub fn contact_force_on(&self, state: &State, name: &str) -> Option<Vec3> {
        let number = self.contact_names().iter().position(|n| *n == name)?;
        Some(self.contact_force_of(state, number))
    }

    /// The same by the number of the name.
    pub(super) fn contact_force_of(&self, state: &State, number: usize) -> Vec3 {
        // Geoms of the world of one robot's file go by one name: a fixed body and grounds.
        let names = self.contact_names();
        let on = |c: super::ContactForce| {
            let sign = |k: u32, s: f64| if names[k as usize] == names[number] { s } else { 0.0 };
            c.force * (sign(c.a, 1.0) + sign(c.b, -1.0))
        };
        self.contact_forces(state).map(on).sum()
    }
}

/// What begins and ends to touch: asked after steps, it compares with what it was told before.
///
/// ```
/// use dalembert::model::ContactEvents;
/// use dalembert::prelude::*;
///
/// let mut scene = Scene { method: Method::Impulse(Impulse::default()), ..Scene::default() };
/// scene.add(Ground::default());
/// scene.add(RigidBody::new("ball", Shape::Sphere { radius: 0.1 }).at([0.0, 0.0, 0.11]).mass(1.0));
/// let mut sim = scene.build()?;
/// let mut events = ContactEvents::default();
/// for _ in 0..100 {
///     sim.step()?;
///     events.update(&sim.model, &sim.state);
///     for [a, b] in events.begun() {
///         assert_eq!([a.as_str(), b.as_str()], ["ball", "ground"]);
///     }
/// }
/// assert_eq!(events.now().len(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ContactEvents {
    now: Vec<[String; 2]>,
    before: Vec<[String; 2]>,
}

impl ContactEvents {
    /// Takes note of who touches whom.
    pub fn update(&mut self, model: &Model, state: &State) {
        std::mem::swap(&mut self.now, &mut self.before);
        self.now.clear();
        self.now.extend(model.touching(state).into_iter().map(|pair| pair.map(str::to_owned)));
    }

    /// Pairs that touch, sorted.
    pub fn now(&self) -> &[[String; 2]] {
        &self.now
    }

    /// Pairs that touch and did not before.
    pub fn begun(&self) -> impl Iterator<Item = &[String; 2]> {
        self.now.iter().filter(|pair| self.before.binary_search(pair).is_err())
    }

    /// Pairs that touched before and do not any more.
    pub fn ended(&self) -> impl Iterator<Item = &[String; 2]> {
        self.before.iter().filter(|pair| self.now.binary_search(pair).is_err())
    }
}
