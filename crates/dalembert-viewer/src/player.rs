//! Players: what moves on the stage, live or from a recording.
//!
//! A [`Player`] is all that [`view`](crate::view) and [`Film`](crate::Film) know of a simulation. [`Live`] steps one, [`Playback`]
//! walks through a recording.
//!
//! **Dragging.** A hand pulls at a place x of a particle or a rigid body with $f = k(\hat x - x) - c\,v$, a force from
//! outside ([`State::applied`]) that is set anew before each step, so that every method takes it. Held over a step it
//! must not overshoot: with $W$ the inverse mass at that place ($1/m$ of a particle, $1/m - r^\times I^{-1} r^\times$ of
//! a body at arm r), the velocity after the step would be $v + hWf$ and the place $x + h(v + hWf)$. Asking for the force
//! *there*,
//! $f = k(\hat x - x - h(v + hWf)) - c(v + hWf)$, gives
//!
//! $$ \bigl(1 + (hc + h^2k)\,W\bigr) f = k(\hat x - x - hv) - c\,v, $$
//!
//! which is implicit Euler for the place alone. What else hangs on it only makes it heavier. Besides, the swing of the
//! hand's spring is kept slow against the step, $\omega h \le 0.3$.

use std::sync::Arc;

use dalembert::bodies::Rigid;
use dalembert::joints::Holder;
use dalembert::math::{Mat3, Vec3, skew};
use dalembert::model::Model;
use dalembert::state::{PointId, State};
use dalembert::step::Simulation;
use dalembert_formats::recording::Recording;

use crate::ViewerError;
use crate::drawing::{self, Drawing, Frame, Geometry, Groups, Scalar};

/// What is held by a hand.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Grabbed {
    /// A point of the model.
    Point(PointId),
    /// A place on a rigid body.
    Rigid {
        /// Number of the body.
        body: usize,
        /// The place in the body's own frame \[m\].
        anchor: Vec3,
    },
}

/// A spring and damper between something and a hand.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pull {
    /// What is held.
    pub grabbed: Grabbed,
    /// Where the hand is, in world axes \[m\].
    pub target: Vec3,
    /// Stiffness k [N/m].
    pub stiffness: f64,
    /// Damping c [N·s/m].
    pub damping: f64,
}

/// Something that moves and can be looked at.
pub trait Player {
    /// What there is to see.
    fn drawing(&self) -> &Drawing;

    /// Fills in the numbers of now; arrows only for `wanted` groups.
    fn frame(&mut self, wanted: Groups, out: &mut Frame);

    /// Time now \[s\].
    fn time(&self) -> f64;

    /// Goes on by one step or recorded frame; false at the end.
    fn step(&mut self) -> Result<bool, ViewerError>;

    /// Back to the start.
    fn reset(&mut self) -> Result<(), ViewerError>;

    /// Index and number of recorded frames; none for a live simulation.
    fn recorded(&self) -> Option<(usize, usize)> {
        None
    }

    /// Goes to a recorded frame; beyond the end means the last one.
    fn seek(&mut self, _frame: usize) -> Result<(), ViewerError> {
        Ok(())
    }

    /// A line for people about the whole, such as that a recording was cut off.
    fn notice(&self) -> Option<String> {
        None
    }

    /// Pulls at one element of a shape until it is told otherwise; `hand` tells several hands apart.
    fn grab(&mut self, _hand: u64, _shape: u32, _element: u32, _anchor: [f64; 3], _target: [f64; 3]) {}

    /// Lets go.
    fn release(&mut self, _hand: u64) {}
}

/// Most warnings that a page shows.
const MOST_SHOWN: usize = 5;

/// The line that a page shows for a list of warnings; none for none.
pub fn warnings_line(warnings: &[String]) -> Option<String> {
    let shown = warnings.iter().take(MOST_SHOWN).map(|text| format!("warning: {text}"));
    let more = warnings.len().saturating_sub(MOST_SHOWN);
    let rest = (more > 0).then(|| format!("{more} more warnings: `dalembert check` lists them"));
    let lines: Vec<String> = shown.chain(rest).collect();
    (!lines.is_empty()).then(|| lines.join(" · "))
}

/// What a model has to warn of, as texts.
fn warnings_of(model: &Model) -> Vec<String> {
    model.warnings.iter().map(ToString::to_string).collect()
}

/// A simulation that is stepped while it is looked at.
pub struct Live {
    /// The simulation.
    pub simulation: Simulation,
    /// What pages warn of: what the model does, unless a reader of files knows more.
    pub warnings: Vec<String>,
    first: State,
    drawing: Drawing,
    pulls: Vec<(u64, Pull)>,
    /// Whether [`State::applied`] holds what hands did before the last step.
    pulled: bool,
    /// Wall-clock time of the last step \[s\].
    cost: f64,
}

impl std::fmt::Debug for Live {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Live").field("simulation", &self.simulation).finish_non_exhaustive()
    }
}

impl Live {
    /// Takes a simulation; its present state is where a reset leads back to.
    pub fn new(simulation: Simulation) -> Self {
        let first = simulation.state.clone();
        let mut drawing = drawing::describe(&simulation.model, &first);
        drawing.scalars.push(Scalar::new("drift", "", "energy drift"));
        drawing.scalars.push(Scalar::new("force evaluations", "", "work per step"));
        drawing.scalars.push(Scalar::new("substeps", "", "work per step"));
        drawing.scalars.push(Scalar::new("time per step", "ms", "time per step"));
        if !simulation.model.constraints.is_empty() {
            drawing.scalars.push(Scalar::new("iterations", "", "work per step"));
            drawing.scalars.push(Scalar::new("residual", "", "solver residual"));
            drawing.scalars.push(Scalar::new("worst gap", "m or rad", "joints"));
        }
        let warnings = warnings_of(&simulation.model);
        Self { simulation, warnings, first, drawing, pulls: Vec::new(), pulled: false, cost: 0.0 }
    }

    /// Hands that pull now.
    pub fn pulls(&self) -> impl Iterator<Item = &Pull> {
        self.pulls.iter().map(|(_, pull)| pull)
    }
}

impl Player for Live {
    fn drawing(&self) -> &Drawing {
        &self.drawing
    }

    fn frame(&mut self, wanted: Groups, out: &mut Frame) {
        let sim = &self.simulation;
        let energy = drawing::frame(&sim.model, &self.drawing, &sim.state, wanted, out);
        let drift = energy.drift(&sim.start_energy, sim.largest_kinetic);
        let work =
            [drift, f64::from(sim.report.evaluations), f64::from(sim.report.substeps), 1e3 * self.cost];
        out.scalars.extend(work.map(|x| x as f32));
        if !sim.model.constraints.is_empty() {
            let joints = [f64::from(sim.report.iterations), sim.report.residual, sim.report.gap];
            out.scalars.extend(joints.map(|x| x as f32));
        }
    }

    fn time(&self) -> f64 {
        self.simulation.state.time
    }

    fn notice(&self) -> Option<String> {
        warnings_line(&self.warnings)
    }

    fn step(&mut self) -> Result<bool, ViewerError> {
        let start = std::time::Instant::now();
        self.apply_pulls();
        self.simulation.step()?;
        self.cost = start.elapsed().as_secs_f64();
        Ok(true)
    }

    fn reset(&mut self) -> Result<(), ViewerError> {
        self.simulation.state = self.first.clone();
        self.simulation.restart_energy();
        self.pulled = false;
        Ok(())
    }

    fn grab(&mut self, hand: u64, shape: u32, element: u32, anchor: [f64; 3], target: [f64; 3]) {
        let Some(shape) = self.drawing.shapes.get(shape as usize).filter(|s| s.movable) else { return };
        let grabbed = match shape.geometry {
            Geometry::Points { first, count, .. } | Geometry::Mesh { first, count, .. }
                if element < count =>
            {
                Grabbed::Point(PointId(first + element))
            }
            Geometry::Sphere { pose, .. }
            | Geometry::Box { pose, .. }
            | Geometry::Capsule { pose, .. }
            | Geometry::Cylinder { pose, .. }
            | Geometry::Solid { pose, .. } => Grabbed::Rigid { body: pose as usize, anchor: anchor.into() },
            Geometry::Points { .. }
            | Geometry::Mesh { .. }
            | Geometry::Marks { .. }
            | Geometry::Lines { .. }
            | Geometry::Plane { .. }
            | Geometry::Axes { .. }
            | Geometry::Arrows { .. }
            | Geometry::Discs { .. }
            | Geometry::Label { .. } => return,
        };
        let mass = self.pulled_mass(grabbed);
        // Swings at 1.5 Hz, or slower where steps are long, with the whole thing on it; comes to rest in one swing.
        let swing = f64::min(2.0 * std::f64::consts::PI * 1.5, 0.3 / self.simulation.dt);
        let stiffness = mass * swing * swing;
        let damping = 2.0 * mass * swing;
        let pull = Pull { grabbed, target: target.into(), stiffness, damping };
        match self.pulls.iter_mut().find(|(h, _)| *h == hand) {
            Some((_, old)) => *old = pull,
            None => self.pulls.push((hand, pull)),
        }
    }

    fn release(&mut self, hand: u64) {
        self.pulls.retain(|(h, _)| *h != hand);
    }
}

impl Live {
    /// Sets the forces of all hands for the next step.
    fn apply_pulls(&mut self) {
        if self.pulls.is_empty() && !self.pulled {
            return;
        }
        let Simulation { model, state, dt, .. } = &mut self.simulation;
        state.applied.clear();
        for (_, pull) in &self.pulls {
            let (x, v, inv_mass) = held_place(model, state, pull.grabbed);
            let force = hand_force(pull, &x, &v, &inv_mass, *dt);
            match pull.grabbed {
                Grabbed::Point(point) => state.push_point(&model.layout, point, &force),
                Grabbed::Rigid { body, .. } => state.push_rigid(&model.layout, body, &x, &force),
            }
        }
        self.pulled = !self.pulls.is_empty();
    }

    /// Mass that hangs together with what is held \[kg\]: its set of points, or all bodies joined to it.
    fn pulled_mass(&self, grabbed: Grabbed) -> f64 {
        let model = &self.simulation.model;
        match grabbed {
            Grabbed::Point(point) => {
                let block = model.blocks.iter().find(|b| b.points.contains(&point.index()));
                let mass: f64 = block.map_or(0.0, |b| model.particles.mass[b.points.clone()].iter().sum());
                if mass > 0.0 { mass } else { model.mass() }
            }
            Grabbed::Rigid { body, .. } => joined_mass(model, body),
        }
    }
}

/// Mass of the rigid bodies and particles that joints connect with a rigid body, itself included \[kg\].
fn joined_mass(model: &Model, body: usize) -> f64 {
    let n = model.layout.rigid;
    let number = |holder: &Holder| match holder {
        Holder::World => None,
        Holder::Rigid(k) => Some(*k as usize),
        Holder::Particle(k) => Some(n + *k as usize),
    };
    let mut joined = vec![false; n + model.layout.particles];
    joined[body] = true;
    loop {
        let mut grew = false;
        for c in &model.constraints {
            let holders = || c.constraint.holders().iter().filter_map(number);
            if holders().any(|k| joined[k]) && holders().any(|k| !joined[k]) {
                holders().for_each(|k| joined[k] = true);
                grew = true;
            }
        }
        if !grew {
            break;
        }
    }
    let masses = model.rigid.mass.iter().chain(&model.particles.mass);
    masses.zip(joined).filter(|(_, joined)| *joined).map(|(mass, _)| mass).sum()
}

/// Position \[m\], velocity \[m/s\] and inverse mass \[1/kg\] of what is held; 0 for a point that weighs nothing itself.
fn held_place(model: &Model, state: &State, grabbed: Grabbed) -> (Vec3, Vec3, Mat3) {
    match grabbed {
        Grabbed::Point(point) => {
            let i = point.index();
            let points = model.points(state.time, &state.q, &state.v);
            let inv_mass = if points.mass[i] > 0.0 { 1.0 / points.mass[i] } else { 0.0 };
            (points.position(i), points.velocity(i), Mat3::identity() * inv_mass)
        }
        Grabbed::Rigid { body: k, anchor } => {
            let x = model.rigid.pose(&state.q, k).point(&anchor);
            let arm = skew(&(x - Rigid::position(&state.q, k)));
            let turning = arm * model.rigid.world_inv_inertia(&state.q, k) * arm;
            let inv_mass = Mat3::identity() * model.rigid.inv_mass[k] - turning;
            (x, Rigid::velocity_at(&state.q, &state.v, k, &x), inv_mass)
        }
    }
}

/// The force of a hand over a step of h seconds \[N\], as the head of this module says.
fn hand_force(pull: &Pull, x: &Vec3, v: &Vec3, inv_mass: &Mat3, h: f64) -> Vec3 {
    let Pull { target, stiffness: k, damping: c, .. } = *pull;
    let system = Mat3::identity() + inv_mass * (h * c + h * h * k);
    let right = (target - x - v * h) * k - v * c;
    // The matrix is symmetric with eigenvalues of at least 1.
    system.try_inverse().map_or_else(Vec3::zeros, |inverse| inverse * right)
}

/// A recording that is walked through.
#[derive(Debug)]
pub struct Playback {
    model: Arc<Model>,
    recording: Recording,
    drawing: Drawing,
    index: usize,
    state: State,
    start_energy: f64,
}

impl Playback {
    /// Opens at the first frame. The model must be built from the recording's scene.
    pub fn new(model: Arc<Model>, recording: Recording) -> Result<Self, ViewerError> {
        if recording.frame_count() == 0 {
            return Err(ViewerError::NothingToShow);
        }
        let state = state_at(&model, &recording, 0)?;
        let mut drawing = drawing::describe(&model, &state);
        drawing.scalars.push(Scalar::new("change", "J", "change of energy"));
        drawing.shapes.iter_mut().for_each(|s| s.movable = false);
        let start_energy = model.energy(&state).total();
        Ok(Self { model, recording, drawing, index: 0, state, start_energy })
    }
}

fn state_at(model: &Model, recording: &Recording, index: usize) -> Result<State, ViewerError> {
    let frame = recording.frame(index)?;
    let mut state = State::unpack(&model.layout, &frame.state)?;
    model.settle(&mut state);
    Ok(state)
}

impl Player for Playback {
    fn drawing(&self) -> &Drawing {
        &self.drawing
    }

    fn frame(&mut self, wanted: Groups, out: &mut Frame) {
        let energy = drawing::frame(&self.model, &self.drawing, &self.state, wanted, out);
        out.scalars.push((energy.total() - self.start_energy) as f32);
    }

    fn time(&self) -> f64 {
        self.state.time
    }

    fn step(&mut self) -> Result<bool, ViewerError> {
        let next = self.index + 1;
        if next >= self.recording.frame_count() {
            return Ok(false);
        }
        self.seek(next)?;
        Ok(true)
    }

    fn reset(&mut self) -> Result<(), ViewerError> {
        self.seek(0)
    }

    fn recorded(&self) -> Option<(usize, usize)> {
        Some((self.index, self.recording.frame_count()))
    }

    fn notice(&self) -> Option<String> {
        let count = self.recording.frame_count();
        let cut = self.recording.truncated().map(|lost| {
            format!("the recording was cut off: {count} whole frames, {lost} bytes at its end ignored")
        });
        let lines: Vec<String> = cut.into_iter().chain(warnings_line(&warnings_of(&self.model))).collect();
        (!lines.is_empty()).then(|| lines.join(" · "))
    }

    fn seek(&mut self, frame: usize) -> Result<(), ViewerError> {
        let frame = frame.min(self.recording.frame_count() - 1);
        self.state = state_at(&self.model, &self.recording, frame)?;
        self.index = frame;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Film;
    use dalembert::math::triple;
    use dalembert::prelude::*;

    fn ball(dt: f64) -> Live {
        let mut scene = Scene { dt, gravity: Vec3::zeros(), ..Scene::default() };
        scene.add(ParticleSet::at("ball", [0.0, 0.0, 0.0]).mass(2.0));
        scene.add(ParticleSet::at("nail", [1.0, 0.0, 0.0]));
        scene.add(Fix::points("nail"));
        Live::new(scene.build().unwrap())
    }

    #[test]
    fn a_pulled_particle_comes_to_rest_at_the_hand_at_any_step_size() {
        for dt in [1e-3, 1e-2, 1.0, 100.0] {
            let mut live = ball(dt);
            live.grab(1, 0, 0, [0.0; 3], [0.0, 1.0, 2.0]);
            for _ in 0..4000 {
                live.step().unwrap();
            }
            let x = triple(&live.simulation.state.q, 0);
            assert!((x - Vec3::new(0.0, 1.0, 2.0)).norm() < 1e-3, "dt {dt}: {x:?}");
        }
    }

    #[test]
    fn a_fixed_point_does_not_follow_a_hand_and_a_released_one_moves_on_freely() {
        let mut live = ball(1e-2);
        let nail = live.drawing.shapes.iter().position(|s| s.name == "nail").unwrap() as u32;
        live.grab(1, nail, 0, [0.0; 3], [5.0; 3]);
        live.grab(2, 0, 0, [0.0; 3], [0.0, 1.0, 0.0]);
        // Neither a shape nor an element that does not exist can be held.
        live.grab(3, 99, 0, [0.0; 3], [0.0; 3]);
        live.grab(4, 0, 7, [0.0; 3], [0.0; 3]);
        assert_eq!(live.pulls().count(), 2);
        for _ in 0..10 {
            live.step().unwrap();
        }
        live.release(2);
        let v = triple(&live.simulation.state.v, 0);
        for _ in 0..10 {
            live.step().unwrap();
        }
        assert!(v.y > 0.0 && triple(&live.simulation.state.v, 0) == v);
        assert_eq!(triple(&live.simulation.state.q, 1), Vec3::new(1.0, 0.0, 0.0));
    }

    #[test]
    fn a_film_has_its_frames_at_equal_times() {
        let film = Film::take(&mut ball(1e-3), 1.0, 25.0, Groups::default()).unwrap();
        assert_eq!(film.frames.len(), 26);
        for (i, frame) in film.frames.iter().enumerate() {
            assert!((frame.time - i as f64 / 25.0).abs() < 0.51e-3, "{i}: {}", frame.time);
        }
    }

    fn every_method() -> [Method; 5] {
        [
            Method::Explicit(Explicit { integrator: Integrator::SymplecticEuler, ..Explicit::default() }),
            Method::Explicit(Explicit { integrator: Integrator::Rk4, ..Explicit::default() }),
            Method::Explicit(Explicit { integrator: Integrator::Verlet, ..Explicit::default() }),
            Method::Lagrange(Lagrange::default()),
            Method::Impulse(Impulse::default()),
        ]
    }

    #[test]
    fn a_rigid_body_pulled_at_a_corner_brings_the_corner_to_the_hand_in_every_method() {
        for method in every_method() {
            let name = format!("{method:?}");
            let mut scene = Scene { dt: 2e-3, gravity: Vec3::zeros(), method, ..Scene::default() };
            let crate_shape = Shape::Box { size: Vec3::new(0.4, 0.2, 0.1) };
            scene.add(RigidBody::new("crate", crate_shape).mass(3.0).at([0.0, 0.0, 1.0]));
            let mut live = Live::new(scene.build().unwrap());
            let body = live.drawing.shapes.iter().position(|s| s.movable).unwrap() as u32;
            let target = Vec3::new(0.9, 0.4, 1.3);
            live.grab(1, body, 0, [0.2, 0.1, 0.05], target.into());
            for _ in 0..4000 {
                live.step().unwrap();
            }
            let pose = live.simulation.model.rigid.pose(&live.simulation.state.q, 0);
            let corner = pose.point(&Vec3::new(0.2, 0.1, 0.05));
            assert!((corner - target).norm() < 0.02, "{name}: {corner:?}");
            // Let go, it drifts on: no force from outside is left.
            live.release(1);
            live.step().unwrap();
            assert!(live.simulation.state.applied.iter().all(|f| *f == 0.0), "{name}");
        }
    }

    #[test]
    fn a_link_in_the_middle_of_a_hanging_chain_follows_the_hand_in_every_method() {
        for method in every_method() {
            let name = format!("{method:?}");
            let soft = matches!(method, Method::Explicit(_));
            let mut scene = Scene { dt: 1e-3, method, ..Scene::default() };
            for k in 0..5 {
                let link = Shape::Capsule { radius: 0.03, length: 0.14 };
                let z = 2.0 - 0.1 - 0.2 * f64::from(k);
                scene.add(RigidBody::new(format!("link{k}"), link).mass(0.5).at([0.0, 0.0, z]));
                let above = if k == 0 { "world".into() } else { format!("link{}", k - 1) };
                let joint = JointItem::new(format!("ball{k}"), JointKind::Ball, above, format!("link{k}"));
                let joint = joint.anchor([0.0, 0.0, z + 0.1]);
                scene.add(if soft { joint.soft(2e4, 40.0) } else { joint });
            }
            let mut live = Live::new(scene.build().unwrap());
            let link = live.drawing.shapes.iter().position(|s| s.name == "link2" && s.movable).unwrap();
            live.grab(1, link as u32, 0, [0.0; 3], [0.3, 0.2, 1.75]);
            for _ in 0..3000 {
                live.step().unwrap();
            }
            let x = Rigid::position(&live.simulation.state.q, 2);
            // The spring of the hand carries the weight of what hangs on it.
            assert!((x - Vec3::new(0.3, 0.2, 1.75)).norm() < 0.15, "{name}: {x:?}");
            assert!(live.simulation.energy().kinetic < 0.5, "{name}");
        }
    }

    #[test]
    fn the_end_of_a_pendulum_in_generalized_coordinates_follows_a_hand() {
        let mut scene = Scene { dt: 1e-3, ..Scene::default() };
        let map = PendulumChain {
            pivot: Vec3::new(0.0, 0.0, 1.0),
            lengths: vec![0.3, 0.3],
            down: -Vec3::z(),
            side: Vec3::x(),
        };
        scene.add(GeneralizedBody {
            name: "double".into(),
            map: Box::new(map),
            masses: vec![0.4, 0.4],
            coordinates: vec![0.0, 0.0],
            rates: vec![0.0, 0.0],
        });
        let mut live = Live::new(scene.build().unwrap());
        let shape = live.drawing.shapes.iter().position(|s| s.movable).unwrap() as u32;
        live.grab(1, shape, 1, [0.0; 3], [0.4, 0.0, 0.6]);
        for _ in 0..4000 {
            live.step().unwrap();
        }
        let x = triple(&live.simulation.state.q[live.simulation.model.layout.points_q()..], 1);
        assert!(x.x > 0.15, "{x:?}");
    }

    #[test]
    fn trails_end_where_the_body_is_and_grow() {
        let mut live = ball(1e-2);
        live.grab(1, 0, 0, [0.0; 3], [0.0, 1.0, 0.0]);
        let film = Film::take(&mut live, 0.5, 20.0, Groups::default()).unwrap().with_trails();
        let trail = film.drawing.shapes.iter().find(|s| s.name == "trail").unwrap();
        let Geometry::Lines { pairs, .. } = &trail.geometry else { panic!() };
        assert_eq!(pairs.len(), film.frames.len() - 1);
        for (i, frame) in film.frames.iter().enumerate() {
            let last = pairs[pairs.len() - 1][1] as usize;
            assert_eq!(frame.vertex(last), frame.vertex(0));
            assert_eq!(frame.vertex(pairs[0][0] as usize + i), frame.vertex(0));
        }
    }

    #[test]
    fn a_page_shows_what_the_model_warns_of() {
        assert_eq!(ball(0.01).notice(), None);
        let mut scene = Scene { method: Method::from_name("implicit").unwrap(), ..Scene::default() };
        for (k, name) in ["one", "two"].into_iter().enumerate() {
            let shape = dalembert::bodies::Shape::Sphere { radius: 0.1 };
            scene.add(dalembert::scene::RigidBody::new(name, shape).at([k as f64, 0.0, 0.0]));
        }
        let line = Live::new(scene.build().unwrap()).notice().unwrap();
        assert!(line.contains("`one` and `two` do not touch under `implicit`"), "{line}");
        let many: Vec<String> = (0..9).map(|k| format!("w{k}")).collect();
        assert!(warnings_line(&many).unwrap().ends_with("4 more warnings: `dalembert check` lists them"));
    }
}
