//! Films: frames of a motion at equal distances in time.

use crate::ViewerError;
use crate::drawing::{Colour, Drawing, Frame, Geometry, Group, Groups};
use crate::player::Player;

/// Frames of a motion at equal distances in time, ready to be rendered.
#[derive(Debug, Clone)]
pub struct Film {
    /// What there is to see.
    pub drawing: Drawing,
    /// The moments.
    pub frames: Vec<Frame>,
}

/// Most bodies whose paths are drawn.
const MOST_TRAILS: usize = 24;
/// Most places on a path.
const MOST_PLACES: usize = 600;

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

    /// Lets a player run until `time` \[s\] (or to its end) and takes that moment alone.
    pub fn still(player: &mut dyn Player, time: f64, groups: Groups) -> Result<Self, ViewerError> {
        let mut before = player.time();
        // Half a step early is nearer than half a step late.
        while player.time() < time - 0.5 * (player.time() - before) {
            before = player.time();
            if !player.step()? {
                break;
            }
        }
        let mut frame = Frame::default();
        player.frame(groups, &mut frame);
        Ok(Self { drawing: player.drawing().clone(), frames: vec![frame] })
    }

    /// Adds the paths that bodies have left behind them, where there are no more than a few.
    #[must_use]
    pub fn with_trails(mut self) -> Self {
        enum Source {
            Vertex(usize),
            Pose(usize),
        }
        if self.frames.len() < 2 {
            return self;
        }
        // A long film leaves out places, but never the last one.
        let stride = self.frames.len().div_ceil(MOST_PLACES);
        let last = self.frames.len() - 1;
        let at: Vec<usize> = (0..last).step_by(stride).chain([last]).collect();
        let places = at.len() as u32;
        let mut sources = Vec::new();
        for shape in self.drawing.shapes.iter().filter(|s| s.group == Group::Body) {
            let colour = shape.colour;
            match shape.geometry {
                Geometry::Points { first, count, .. } => {
                    sources.extend((first..first + count).map(|i| (Source::Vertex(i as usize), colour)));
                }
                Geometry::Sphere { pose, .. }
                | Geometry::Box { pose, .. }
                | Geometry::Capsule { pose, .. }
                | Geometry::Cylinder { pose, .. }
                | Geometry::Solid { pose, .. } => sources.push((Source::Pose(pose as usize), colour)),
                Geometry::Mesh { .. }
                | Geometry::Marks { .. }
                | Geometry::Lines { .. }
                | Geometry::Plane { .. }
                | Geometry::Axes { .. }
                | Geometry::Arrows { .. }
                | Geometry::Discs { .. }
                | Geometry::Label { .. } => {}
            }
        }
        if sources.len() > MOST_TRAILS {
            return self;
        }
        let path_of = |source: &Source| -> Vec<[f32; 3]> {
            let place = |f: &Frame| match source {
                Source::Vertex(i) => f.vertex(*i),
                Source::Pose(i) => f.pose(*i).0,
            };
            self.frames.iter().map(place).collect()
        };
        let paths: Vec<(Vec<[f32; 3]>, Colour)> = sources.iter().map(|(s, c)| (path_of(s), *c)).collect();
        // A point that travels far would be too small to be seen beside its path.
        let size = diagonal(paths.iter().flat_map(|(path, _)| path));
        self.drawing.extent = self.drawing.extent.max(size);
        for shape in &mut self.drawing.shapes {
            if let Geometry::Points { radius, .. } = &mut shape.geometry {
                *radius = radius.max(0.012 * size);
            }
        }
        for (path, colour) in paths {
            // In frame i the path ends where the body is: later places are drawn in.
            for (i, frame) in self.frames.iter_mut().enumerate() {
                frame.vertices.extend(at.iter().flat_map(|j| path[(*j).min(i)]));
            }
            let first = self.drawing.vertices;
            self.drawing.vertices += places;
            let pairs = (first..first + places - 1).map(|i| [i, i + 1]).collect();
            let radius = 0.003 * self.drawing.extent;
            let pale = colour.map(|c| ((u16::from(c) + 255) / 2) as u8);
            self.drawing.add("trail", Group::Spring, pale, Geometry::Lines { pairs, radius });
        }
        self
    }
}

/// Diagonal of the box around places \[m\].
fn diagonal<'a>(places: impl Iterator<Item = &'a [f32; 3]>) -> f32 {
    let (mut low, mut high) = ([f32::INFINITY; 3], [f32::NEG_INFINITY; 3]);
    for p in places {
        for k in 0..3 {
            (low[k], high[k]) = (low[k].min(p[k]), high[k].max(p[k]));
        }
    }
    let size = (0..3).map(|k| (high[k] - low[k]).powi(2)).sum::<f32>().sqrt();
    if size.is_finite() { size } else { 0.0 }
}
