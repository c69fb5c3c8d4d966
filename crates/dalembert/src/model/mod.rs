//! The model: all that is constant while a scene runs, shared between threads.

mod affine_joints;
mod contact_query;
mod contact_report;
mod holder;
mod ipc;
mod quantity;
mod robots;
mod touch_sensor;
mod warning;

pub use contact_query::{ContactEvents, RayHit};
pub use contact_report::{ContactForce, ContactReader};
pub use ipc::{IpcModel, LinearRow, Torque};
pub(crate) use quantity::split_index;
pub use quantity::{Quantity, UnknownQuantity};
pub use robots::{NamedRobot, RobotPlace, WholeRobot};
pub use warning::{Place, Warning};

use std::ops::Range;
use std::sync::Arc;

use crate::bodies::Shape;
use crate::bodies::{Generalized, Particles, Rigid};
use crate::contact::RigidContactModel;
use crate::filters::Filters;
use crate::forces::unary::ObstacleShape;
use crate::forces::{Force, Points};
use crate::joints::{Body, MOST_HOLDERS, NamedConstraint, Rows};
use crate::mapping::{Mapping, gather_all};
use crate::math::{Vec3, add_triple, triple};
use crate::state::{Block, Layout, State};

/// A batch of forces under the name that the scene gave it.
pub struct NamedForce {
    /// Name, for energies by term and for messages.
    pub name: String,
    /// The batch.
    pub force: Box<dyn Force>,
}

/// Triangles and lines between points, to be looked at.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Surface {
    /// Name of the block whose points it joins.
    pub name: String,
    /// Corners of triangles, counter-clockwise from outside, counted over all points of the model.
    pub triangles: Vec<[u32; 3]>,
    /// Ends of lines.
    pub lines: Vec<[u32; 2]>,
    /// Radius of the lines \[m\]; 0 if none is known.
    pub radius: f64,
}

/// What does not change while a scene runs.
///
/// Made by [`Scene::build`](crate::scene::Scene::build); `Send + Sync`, so that many states can be stepped with it
/// at once.
pub struct Model {
    /// Title of the scene.
    pub title: String,
    /// Sizes and offsets of the state vectors.
    pub layout: Layout,
    /// Named pieces of the state vectors, in the order of the points.
    pub blocks: Vec<Block>,
    /// Gravity \[m/s²\].
    pub gravity: Vec3,
    /// Inertia of the rigid bodies.
    pub rigid: Rigid,
    /// What the rigid bodies look like, one shape each.
    pub shapes: Vec<Shape>,
    /// Bodies with generalized coordinates.
    pub generalized: Vec<Arc<Generalized>>,
    /// Inertia of the particles.
    pub particles: Particles,
    /// Carried points, parents before children.
    pub mappings: Vec<Box<dyn Mapping>>,
    /// Forces, in the order of summation.
    pub forces: Vec<NamedForce>,
    /// Joints, limits, motors.
    pub constraints: Vec<NamedConstraint>,
    /// Directions that may not move, and prescribed motion.
    pub filters: Filters,
    /// Where each free 3-vector was at the start \[m\], three numbers each: particles at their places, both of a rigid body
    /// at its centre. For orders of elimination, which must not depend on what happened since.
    pub start_places: Vec<f64>,
    /// How far the scene reached from the origin at the start \[m\]; 1 if it was all in one point there.
    pub size: f64,
    /// First point of each affine body, its centre of mass, and the origin of its frame from there, in body axes \[m\].
    pub origins: Vec<(usize, crate::math::Vec3)>,
    /// What soft bodies and carried meshes look like.
    pub surfaces: Vec<Surface>,
    /// What pushes points away, with its name.
    pub obstacles: Vec<(String, ObstacleShape)>,
    /// Articulated robots.
    pub robots: Vec<NamedRobot>,
    /// What the method `ipc` must know beyond bodies and forces.
    pub ipc: Option<IpcModel>,
    /// How forces of contact follow from a state, for the method `ipc`.
    pub contact_reader: Option<ContactReader>,
    /// What may touch what, for the methods `impulse` and `lagrange`.
    pub rigid_contact: Option<RigidContactModel>,
    /// What is probably not meant, and what the method does not do of what the scene says.
    pub warnings: Vec<Warning>,
}

impl std::fmt::Debug for Model {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Model")
            .field("title", &self.title)
            .field("layout", &self.layout)
            .field("forces", &self.forces.iter().map(|f| &f.name).collect::<Vec<_>>())
            .finish_non_exhaustive()
    }
}

/// Energy of a state.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Energy {
    /// Kinetic energy ½ vᵀ M v \[J\].
    pub kinetic: f64,
    /// Sum of the energies stored in forces \[J\].
    pub potential: f64,
}

impl Energy {
    /// Kinetic plus potential \[J\].
    pub fn total(&self) -> f64 {
        self.kinetic + self.potential
    }

    /// Largest energy that was exchanged since `start` \[J\]: the largest kinetic energy so far (exchanged between rest
    /// and motion), or the change of the potential energy until now if that is more. It does not depend on where
    /// potential energy is zero.
    pub fn exchanged(&self, start: &Energy, largest_kinetic: f64) -> f64 {
        let moved = largest_kinetic.max(start.kinetic).max(self.kinetic);
        moved.max((self.potential - start.potential).abs())
    }

    /// Change of the total energy since `start` relative to the energy [`exchanged`](Self::exchanged); 0 for a change that
    /// is no more than the rounding of the energies themselves.
    pub fn drift(&self, start: &Energy, largest_kinetic: f64) -> f64 {
        let change = self.total() - start.total();
        let rounding = 64.0 * f64::EPSILON * (self.potential.abs() + start.potential.abs());
        if change.abs() <= rounding { 0.0 } else { change / self.exchanged(start, largest_kinetic) }
    }
}

/// f ← the forces from outside, or zero. Without robots f may end with the points.
pub(crate) fn start_forces(applied: &[f64], f: &mut [f64]) {
    if applied.is_empty() { f.fill(0.0) } else { f.copy_from_slice(&applied[..f.len()]) }
}

impl Model {
    /// The block with the given name.
    pub fn block(&self, name: &str) -> Option<&Block> {
        self.blocks.iter().find(|b| b.name == name)
    }

    /// The view of all points that forces see, at time t.
    pub fn points<'a>(&'a self, time: f64, q: &'a [f64], v: &'a [f64]) -> Points<'a> {
        Points {
            time,
            first: 0,
            x: &q[self.layout.points_q()..self.layout.robots_q()],
            v: &v[self.layout.points_v()..self.layout.robots_v()],
            mass: &self.particles.mass,
        }
    }

    /// f ← the sum of all forces on the free degrees of freedom \[N\]; carried points must be up to date in q and v.
    /// `applied` is [`State::applied`]: empty, or forces from outside.
    pub fn forces_into(&self, time: f64, q: &[f64], v: &[f64], applied: &[f64], f: &mut [f64]) {
        start_forces(applied, f);
        let points = self.points(time, q, v);
        for batch in &self.forces {
            batch.force.add_force(&points, &mut f[self.layout.points_v()..self.layout.robots_v()]);
        }
        gather_all(&self.mappings, q, f);
        for k in 0..self.layout.rigid {
            add_triple(f, 2 * k, &(self.gravity * self.rigid.mass[k]));
        }
    }

    /// The same where all is points: also returns the energy of all forces \[J\].
    pub(crate) fn forces_with_energy(
        &self,
        time: f64,
        q: &[f64],
        v: &[f64],
        applied: &[f64],
        f: &mut [f64],
    ) -> f64 {
        debug_assert_eq!(self.layout.rigid, 0);
        start_forces(applied, f);
        let points = self.points(time, q, v);
        let own = &mut f[self.layout.points_v()..self.layout.robots_v()];
        let energy = self.forces.iter().map(|b| b.force.add_force_with_energy(&points, own)).sum::<f64>();
        gather_all(&self.mappings, q, f);
        energy
    }

    /// f ← accelerations: M⁻¹ f with the gyroscopic torque of rigid bodies and the Coriolis terms of generalized ones,
    /// filtered.
    pub(crate) fn accelerations_from(&self, q: &[f64], v: &[f64], f: &mut [f64]) {
        let Some(last) = self.generalized.last() else { return self.accelerations_without_gyro(q, f) };
        // Only the place of the generalized velocities is rewritten, each from its own numbers.
        let gathered = f[..last.v.end].to_vec();
        self.accelerations_without_gyro(q, f);
        for body in &self.generalized {
            body.accelerations(&self.particles.mass, q, v, &gathered, f);
        }
    }

    /// f ← M⁻¹ f, filtered; the gyroscopic torque is left to the free flight of rigid bodies.
    pub(crate) fn accelerations_without_gyro(&self, q: &[f64], f: &mut [f64]) {
        let n = self.layout.rigid;
        self.rigid.solve_mass(&q[..7 * n], &mut f[..6 * n]);
        self.point_accelerations(f);
    }

    /// The same for points only.
    pub(crate) fn point_accelerations(&self, f: &mut [f64]) {
        let points = &mut f[self.layout.points_v()..self.layout.robots_v()];
        self.particles.solve_mass(0, points);
        self.filters.apply(0, points);
    }

    /// True if there are neither rigid nor generalized bodies nor constraints.
    pub(crate) fn only_particles(&self) -> bool {
        self.layout.nv == 3 * self.layout.particles && self.constraints.is_empty()
    }

    /// Kinetic and potential energy \[J\].
    pub fn energy(&self, state: &State) -> Energy {
        let robots = self.robot_energy(state);
        Energy {
            kinetic: self.kinetic_of_bodies(state) + robots.0,
            potential: self.potential_at(state.time, &state.q, &state.v, state)
                + self.affine_joint_energy(state)
                + robots.1,
        }
    }

    /// Kinetic energy of all but the robots \[J\].
    pub(crate) fn kinetic_of_bodies(&self, state: &State) -> f64 {
        let n = self.layout.rigid;
        self.particles.kinetic(&state.v[self.layout.points_v()..])
            + self.rigid.kinetic(&state.q[..7 * n], &state.v[..6 * n])
    }

    /// Potential energy \[J\] of coordinates q and velocities v at time t; `memory` says which joints have broken and how
    /// far angles have turned.
    pub(crate) fn potential_at(&self, time: f64, q: &[f64], v: &[f64], memory: &State) -> f64 {
        let points = self.points(time, q, v);
        self.forces.iter().map(|f| f.force.energy(&points)).sum::<f64>()
            + self.weight_energy(q)
            + self.joint_energy_at(time, q, v, memory)
    }

    /// −Σ m g·x over rigid bodies \[J\].
    fn weight_energy(&self, q: &[f64]) -> f64 {
        (0..self.layout.rigid).map(|k| -self.rigid.mass[k] * self.gravity.dot(&Rigid::position(q, k))).sum()
    }

    /// Energy stored in soft joints, servos and soft limits \[J\].
    pub fn joint_energy(&self, state: &State) -> f64 {
        self.joint_energy_at(state.time, &state.q, &state.v, state) + self.affine_joint_energy(state)
    }

    fn joint_energy_at(&self, time: f64, q: &[f64], v: &[f64], memory: &State) -> f64 {
        let mut rows = Rows::default();
        let mut bodies = [Body::WORLD; MOST_HOLDERS];
        let mut sum = 0.0;
        for c in self.constraints.iter().filter(|c| !c.is_exact() && !memory.broken[c.joint]) {
            let holders = c.constraint.holders();
            for (b, h) in bodies.iter_mut().zip(holders) {
                *b = self.body(*h, q, v);
            }
            rows.clear(holders.len());
            c.constraint.evaluate(time, &bodies[..holders.len()], &memory.turns[c.turns.clone()], &mut rows);
            sum += rows.violation[..c.constraint.rows()].iter().map(|x| c.energy(*x)).sum::<f64>();
        }
        sum
    }

    /// Names of [`energy_terms`](Self::energy_terms), in the same order.
    pub fn energy_names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = self.forces.iter().map(|f| f.name.as_str()).collect();
        if self.layout.rigid > 0 && !names.contains(&"gravity") {
            names.push("gravity");
        }
        if self.constraints.iter().any(|c| !c.is_exact()) || self.has_joint_springs() {
            names.push("joints");
        }
        if !self.robots.is_empty() {
            names.push("robots");
        }
        names
    }

    /// Energy stored in each batch of forces \[J\], by name.
    pub fn energy_terms(&self, state: &State) -> Vec<(&str, f64)> {
        let points = self.points(state.time, &state.q, &state.v);
        let mut terms: Vec<(&str, f64)> =
            self.forces.iter().map(|f| (f.name.as_str(), f.force.energy(&points))).collect();
        if self.layout.rigid > 0 {
            let weight = self.weight_energy(&state.q);
            match terms.iter_mut().find(|t| t.0 == "gravity") {
                Some(term) => term.1 += weight,
                None => terms.push(("gravity", weight)),
            }
        }
        if self.constraints.iter().any(|c| !c.is_exact()) || self.has_joint_springs() {
            terms.push(("joints", self.joint_energy(state)));
        }
        if !self.robots.is_empty() {
            terms.push(("robots", self.robot_energy(state).1));
        }
        terms
    }

    /// Linear momentum \[kg·m/s\] and angular momentum about the origin \[kg·m²/s\].
    pub fn momentum(&self, state: &State) -> (Vec3, Vec3) {
        let points = self.points(state.time, &state.q, &state.v);
        let (mut linear, mut angular) = (Vec3::zeros(), Vec3::zeros());
        for i in 0..self.layout.points {
            let p = triple(points.v, i) * points.mass[i];
            linear += p;
            angular += triple(points.x, i).cross(&p);
        }
        angular += self.particles.shared_angular_momentum(points.x, points.v);
        let n = self.layout.rigid;
        let rigid = self.rigid.momentum(&state.q[..7 * n], &state.v[..6 * n]);
        let robots = self.robot_momentum(state);
        (linear + rigid.0 + robots.0, angular + rigid.1 + robots.1)
    }

    /// Total mass \[kg\].
    pub fn mass(&self) -> f64 {
        self.particles.mass.iter().sum::<f64>()
            + self.rigid.mass.iter().sum::<f64>()
            + self.robots.iter().map(|named| named.robot.tree.total_mass()).sum::<f64>()
    }

    /// Carries points and applies filters and prescribed motion, so that a state set by hand is consistent.
    ///
    /// Every step ends with it, and settling a settled state changes no bit.
    pub fn settle(&self, state: &mut State) {
        self.settle_at(state.time, &mut state.q, &mut state.v);
    }

    /// [`settle`](Self::settle) on bare coordinates and velocities at time t.
    pub(crate) fn settle_at(&self, time: f64, q: &mut [f64], v: &mut [f64]) {
        let (pq, pv) = (self.layout.points_q(), self.layout.points_v());
        self.filters.settle(&mut v[pv..]);
        self.filters.prescribe_at(time, &mut q[pq..], &mut v[pv..]);
        crate::mapping::carry_all(&self.mappings, q, v);
    }

    /// Name of the block, and the point or dof within it, of the first number in q or v that is not finite.
    pub(crate) fn culprit(&self, q: &[f64], v: &[f64]) -> (String, usize) {
        for b in &self.blocks {
            let bad = |a: &[f64], own: &Range<usize>| a.get(own.clone())?.iter().position(|x| !x.is_finite());
            if let Some(i) = bad(q, &b.q).or_else(|| bad(v, &b.v)) {
                return (b.name.clone(), i / b.kind.numbers());
            }
        }
        (String::from("?"), 0)
    }

    /// Name of the block, and the point within it, that owns entry `i` of v.
    pub(crate) fn owner(&self, i: usize) -> (String, usize) {
        let block = self.blocks.iter().find(|b| b.v.contains(&i));
        block.map_or((String::from("?"), 0), |b| (b.name.clone(), (i - b.v.start) / b.kind.numbers()))
    }
}
