//! Players: what moves on the stage, live or from a recording.
//!
//! A [`Player`] is all that [`view`](crate::view) and [`Film`] know of a simulation. [`Live`] steps one, [`Playback`]
//! walks through a recording.
//!
//! **Dragging.** A hand pulls at a point x with $f = k(\hat x - x) - c\,v$. [`pull_points`] applies it between two
//! steps, as an implicit kick of the particle alone: from $m\,\Delta v = h\,[k(\hat x - x - h(v + \Delta v)) - c(v +
//! \Delta v)]$,
//!
//! $$ \Delta v = \frac{h\,[k(\hat x - x - h v) - c\,v]}{m + h c + h^2 k}, $$
//!
//! which stays bounded for every k, c and h. A method that takes external forces does better; [`Live::on_pull`] is the
//! place to hand the pulls over.

use std::sync::Arc;

use dalembert::math::{Vec3, set_triple, triple};
use dalembert::model::{Model, PointId, State};
use dalembert::step::Simulation;
use dalembert_formats::recording::Recording;

use crate::ViewerError;
use crate::drawing::{self, Drawing, Frame, Geometry, Groups, Scalar};

/// What is held by a hand.
#[derive(Debug, Clone, PartialEq)]
pub enum Grabbed {
    /// A point of the model.
    Point(PointId),
    /// A place on a stiff body.
    Body {
        /// Name of the body.
        name: String,
        /// The place in body axes \[m\].
        anchor: [f64; 3],
    },
}

/// A spring and damper between something and a hand.
#[derive(Debug, Clone, PartialEq)]
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

/// Hands the pulls to a simulation before each step.
pub type PullHandler = Box<dyn FnMut(&mut Simulation, &[Pull]) + Send>;

/// A simulation that is stepped while it is looked at.
pub struct Live {
    /// The simulation.
    pub simulation: Simulation,
    /// What to do with hands; [`pull_points`] at first.
    pub on_pull: PullHandler,
    first: State,
    drawing: Drawing,
    pulls: Vec<(u64, Pull)>,
    scratch: Vec<Pull>,
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
        drawing.scalars.push(Scalar::new("drift", "J", "energy drift"));
        drawing.scalars.push(Scalar::new("force evaluations", "", "work per step"));
        drawing.scalars.push(Scalar::new("substeps", "", "work per step"));
        drawing.scalars.push(Scalar::new("time per step", "ms", "time per step"));
        let (pulls, scratch) = (Vec::new(), Vec::new());
        Self { simulation, on_pull: Box::new(pull_points), first, drawing, pulls, scratch, cost: 0.0 }
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
        let drift = energy.total() - sim.start_energy.total();
        let work =
            [drift, f64::from(sim.report.evaluations), f64::from(sim.report.substeps), 1e3 * self.cost];
        out.scalars.extend(work.map(|x| x as f32));
    }

    fn time(&self) -> f64 {
        self.simulation.state.time
    }

    fn step(&mut self) -> Result<bool, ViewerError> {
        let start = std::time::Instant::now();
        self.scratch.clear();
        self.scratch.extend(self.pulls.iter().map(|(_, pull)| pull.clone()));
        (self.on_pull)(&mut self.simulation, &self.scratch);
        self.simulation.step()?;
        self.cost = start.elapsed().as_secs_f64();
        Ok(true)
    }

    fn reset(&mut self) -> Result<(), ViewerError> {
        self.simulation.state = self.first.clone();
        Ok(())
    }

    fn grab(&mut self, hand: u64, shape: u32, element: u32, anchor: [f64; 3], target: [f64; 3]) {
        let Some(shape) = self.drawing.shapes.get(shape as usize).filter(|s| s.movable) else { return };
        let model = &self.simulation.model;
        let mass = match model.block(&shape.name) {
            Some(block) => block.points.clone().filter_map(|i| model.particles.mass.get(i)).sum(),
            None => model.mass(),
        };
        let grabbed = match shape.geometry {
            Geometry::Points { first, count, .. } | Geometry::Mesh { first, count, .. }
                if element < count =>
            {
                Grabbed::Point(PointId(first + element))
            }
            Geometry::Points { .. } | Geometry::Mesh { .. } => return,
            _ => Grabbed::Body { name: shape.name.clone(), anchor },
        };
        // Swings at about 1.5 Hz with the whole thing on it, and comes to rest in one swing.
        let stiffness = mass * (2.0 * std::f64::consts::PI * 1.5f64).powi(2);
        let damping = 1.4 * (stiffness * mass).sqrt();
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

/// Kicks particles towards their hands, as the head of this module says. Fixed points stay where they are; pulls at
/// bodies are left out.
pub fn pull_points(simulation: &mut Simulation, pulls: &[Pull]) {
    let h = simulation.dt;
    let Simulation { model, state, .. } = simulation;
    let (pq, pv) = (model.layout.points_q(), model.layout.points_v());
    let mut kicked = false;
    for pull in pulls {
        let Grabbed::Point(point) = pull.grabbed else { continue };
        let i = point.index();
        let m = if i < model.layout.particles { model.particles.mass[i] } else { 0.0 };
        if m == 0.0 {
            continue; // carried by something else
        }
        let (x, v) = (triple(&state.q[pq..], i), triple(&state.v[pv..], i));
        let (k, c) = (pull.stiffness, pull.damping);
        let dv = ((pull.target - x - v * h) * k - v * c) * (h / (m + h * c + h * h * k));
        set_triple(&mut state.v[pv..], i, &(v + dv));
        kicked = true;
    }
    if kicked {
        model.settle(state);
    }
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
        drawing.scalars.push(Scalar::new("drift", "J", "energy drift"));
        drawing.shapes.iter_mut().for_each(|s| s.movable = false);
        let start_energy = model.energy(&state).total();
        Ok(Self { model, recording, drawing, index: 0, state, start_energy })
    }

    /// The recording.
    pub fn recording(&self) -> &Recording {
        &self.recording
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
        let lost = self.recording.truncated()?;
        let (_, count) = self.recorded()?;
        Some(format!("the recording was cut off: {count} whole frames, {lost} bytes at its end ignored"))
    }

    fn seek(&mut self, frame: usize) -> Result<(), ViewerError> {
        let frame = frame.min(self.recording.frame_count() - 1);
        self.state = state_at(&self.model, &self.recording, frame)?;
        self.index = frame;
        Ok(())
    }
}

/// Frames of a motion at equal distances in time, ready to be rendered.
#[derive(Debug, Clone)]
pub struct Film {
    /// What there is to see.
    pub drawing: Drawing,
    /// The moments.
    pub frames: Vec<Frame>,
}

/// Most frames of one film; an hour at 30 per second.
const MOST_FRAMES: usize = 108_000;

impl Film {
    /// Lets a player run for `duration` seconds of its time (or to its end) and takes `fps` frames per second, the
    /// first at once. Arrows are taken for `groups`.
    pub fn take(
        player: &mut dyn Player,
        duration: f64,
        fps: f64,
        groups: Groups,
    ) -> Result<Self, ViewerError> {
        let start = player.time();
        let mut frames = Vec::new();
        let fps = if fps.is_finite() && fps > 0.0 { fps } else { 30.0 };
        let snap = |player: &mut dyn Player| {
            let mut frame = Frame::default();
            player.frame(groups, &mut frame);
            frame
        };
        while frames.len() < MOST_FRAMES {
            frames.push(snap(player));
            let next = start + frames.len() as f64 / fps;
            if next > start + duration * (1.0 + 1e-9) {
                break;
            }
            let mut more = true;
            // Half a step early is nearer than half a step late.
            let mut before = player.time();
            while more && player.time() < next - 0.5 * (player.time() - before).max(1e-12) {
                before = player.time();
                more = player.step()?;
            }
            if !more {
                // The end of a recording is worth a frame of its own if the last one was taken before it.
                if frames.last().is_some_and(|f| f.time < player.time()) {
                    frames.push(snap(player));
                }
                break;
            }
        }
        Ok(Self { drawing: player.drawing().clone(), frames })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
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
}
