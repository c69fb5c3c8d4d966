//! Pictures and films without a display: a small renderer on the CPU.
//!
//! ```text
//! stage    drawing + frame → triangles and balls in world axes
//! camera   which way, how far                              s = (r·(p−e), u·(p−e)) / f·(p−e)
//! raster   samples → nearest surface; heights above the light's plane (shadow map)
//! shade    hemisphere light + sun + gloss, openness, grid  → pixels
//! output   PNG, GIF, or MP4 through ffmpeg
//! ```
//!
//! The same drawing gives the same bytes, whatever the number of threads.

mod camera;
mod output;
mod raster;
mod shade;
mod stage;

pub use camera::{Camera, View};
pub use output::{Image, check_ending, write_film};

use crate::drawing::{Drawing, Frame, Geometry, Group, Groups, Shape};
use crate::plot::{Anchor, Canvas};
use camera::V3;
use raster::{Samples, ShadowMap};
use shade::{Lighting, Shader};
use stage::Stage;

/// Light or dark background.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Theme {
    /// Bright, for paper and daylight.
    #[default]
    Light,
    /// Dark.
    Dark,
}

/// How pictures are made.
#[derive(Debug, Clone, PartialEq)]
pub struct RenderOptions {
    /// Width of the picture \[pixels\], 16 … 8192.
    pub width: u32,
    /// Height of the picture \[pixels\], 16 … 8192.
    pub height: u32,
    /// Where it is taken from.
    pub view: View,
    /// Background.
    pub theme: Theme,
    /// Samples per pixel along each side, 1 … 4: 2 means four samples.
    pub samples: u32,
    /// What is shown.
    pub groups: Groups,
    /// Whether there is a ground with a grid; it lies on the scene's horizontal plane, or else under the lowest point.
    pub ground: bool,
    /// Pictures per second in a film [1/s].
    pub fps: f64,
    /// Writes PNGs with 256 colours: a third of the size.
    pub few_colours: bool,
}

impl Default for RenderOptions {
    fn default() -> Self {
        Self {
            width: 960,
            height: 640,
            view: View::default(),
            theme: Theme::default(),
            samples: 2,
            groups: Groups::default(),
            ground: true,
            fps: 30.0,
            few_colours: false,
        }
    }
}

/// Makes pictures of one drawing with one camera, so that a film does not shake.
#[derive(Debug, Clone)]
pub struct Renderer {
    options: RenderOptions,
    camera: Camera,
    lighting: Lighting,
    bounds: (V3, V3),
}

impl Renderer {
    /// Sets camera, light and ground so that all of `frames` are well seen.
    pub fn new(drawing: &Drawing, frames: &[Frame], mut options: RenderOptions) -> Self {
        options.width = options.width.clamp(16, 8192);
        options.height = options.height.clamp(16, 8192);
        options.samples = options.samples.clamp(1, 4);
        let points = seen_points(drawing, frames, options.groups);
        let camera = Camera::new(options.view, &points, options.width, options.height);
        let (low, high) = match camera::bounds(&points) {
            (low, high) if low.x.is_finite() => (low, high),
            _ => (V3::repeat(-0.5), V3::repeat(0.5)),
        };
        let extent = (high - low).norm().max(1e-6);
        let floor = frames.first().and_then(|frame| ground_plane(drawing, frame));
        let ground = options.ground.then(|| floor.unwrap_or(low.z - 0.02 * extent));
        let middle = (low + high) * 0.5;
        let lighting = Lighting {
            theme: options.theme,
            ground,
            focus: V3::new(middle.x, middle.y, ground.unwrap_or(low.z)),
            extent,
            grid: nice_step(extent / 8.0),
            // Over the left shoulder of the camera, so that shadows fall to the right and away.
            light: (camera.right * -0.45 - flat(camera.forward) * 0.35 + V3::z() * 1.0).normalize(),
        };
        Self { options, camera, lighting, bounds: (low, high) }
    }

    /// The picture of one moment.
    pub fn image(&self, drawing: &Drawing, frame: &Frame) -> Image {
        let side = self.options.samples as usize;
        let (width, height) = (self.options.width as usize * side, self.options.height as usize * side);
        // Contacts lie inside of what touches: they are drawn over it.
        let groups = self.options.groups;
        let (below, above) = (groups.without(Group::Contact), Groups::NONE.with(Group::Contact));
        let stage = Stage::new(drawing, frame, below, &self.camera, self.options.height);
        let samples = Samples::new(&stage, &self.camera, width, height);
        let margin = V3::repeat(0.03 * self.lighting.extent);
        let bounds = (self.bounds.0 - margin, self.bounds.1 + margin);
        let shadows = ShadowMap::new(&stage, self.lighting.light, bounds, 2048);
        let mut image = Shader {
            stage: &stage,
            camera: &self.camera,
            samples: &samples,
            shadows: &shadows,
            lighting: self.lighting,
            side,
        }
        .image();
        if groups.has(Group::Contact) {
            let stage = Stage::new(drawing, frame, above, &self.camera, self.options.height);
            shade::lay_over(&mut image, &stage, &self.camera, side);
        }
        self.write_labels(drawing, frame, image)
    }

    /// Writes labels over the picture, right of their places.
    fn write_labels(&self, drawing: &Drawing, frame: &Frame, image: Image) -> Image {
        let (w, h) = (image.width as f32, image.height as f32);
        let mut canvas = Canvas::from_image(image);
        for shape in drawing.shapes.iter().filter(|s| self.options.groups.has(s.group)) {
            let Geometry::Label { vertex, text } = &shape.geometry else { continue };
            let l = self.camera.local(frame.vertex(*vertex as usize).into());
            if l.z > 0.0 {
                let x = 0.5 * w * (1.0 + l.x / (l.z * self.camera.tan_x));
                let y = 0.5 * h * (1.0 - l.y / (l.z * self.camera.tan_y));
                canvas.text([x + 6.0, y - 6.0], 0.018 * h, text, Anchor::Start, false, shape.colour);
            }
        }
        self.write_key(drawing, frame, &mut canvas);
        canvas.into_image()
    }

    /// Writes what the colours of the shown arrows and discs mean, and how much the longest arrow is.
    fn write_key(&self, drawing: &Drawing, frame: &Frame, canvas: &mut Canvas) {
        let size = (0.024 * self.options.height as f32).max(11.0);
        let ink = if self.options.theme == Theme::Dark { [222, 226, 232] } else { [43, 49, 56] };
        let mut y = 1.2 * size;
        for shape in drawing.shapes.iter().filter(|s| self.options.groups.has(s.group)) {
            let Some(text) = key(shape, frame) else { continue };
            canvas.rectangle([0.8 * size, y], [1.4 * size, 0.5 * size], shape.colour);
            canvas.text([2.7 * size, y + 0.6 * size], size, &text, Anchor::Start, false, ink);
            y += 1.5 * size;
        }
    }
}

/// What a shape of arrows or discs means, in a line of the key; none where it needs no word.
fn key(shape: &Shape, frame: &Frame) -> Option<String> {
    let list = |list: u32| frame.arrows.get(list as usize);
    match shape.geometry {
        Geometry::Arrows { list: k, unit, .. } if !unit.is_empty() || shape.group == Group::Contact => {
            let longest =
                list(k)?.chunks_exact(6).map(|a| V3::new(a[3], a[4], a[5]).norm()).fold(0.0, f32::max);
            let much = format!(", longest {} {unit}", crate::drawing::short(f64::from(longest)));
            Some(format!("{}{}", shape.name, if unit.is_empty() || longest == 0.0 { "" } else { &much }))
        }
        Geometry::Discs { list: k, .. } => Some(format!("{}: {}", shape.name, list(k)?.len() / 6)),
        _ => None,
    }
}

/// A direction without its vertical part, of length 1 where it has one.
fn flat(d: V3) -> V3 {
    V3::new(d.x, d.y, 0.0).try_normalize(1e-6).unwrap_or_else(V3::zeros)
}

/// 1, 2 or 5 times a power of ten, next to `x`.
fn nice_step(x: f32) -> f32 {
    let power = 10f32.powf(x.log10().floor());
    let m = x / power;
    power
        * if m < 1.5 {
            1.0
        } else if m < 3.5 {
            2.0
        } else if m < 7.5 {
            5.0
        } else {
            10.0
        }
}

/// Height of the first horizontal plane.
fn ground_plane(drawing: &Drawing, frame: &Frame) -> Option<f32> {
    drawing.shapes.iter().find_map(|s| match s.geometry {
        Geometry::Plane { pose } => {
            let (p, [_, x, y, _]) = frame.pose(pose as usize);
            (x.abs() < 1e-4 && y.abs() < 1e-4).then_some(p[2])
        }
        _ => None,
    })
}

/// Corners of small boxes around everything that is shown, over the whole motion.
fn seen_points(drawing: &Drawing, frames: &[Frame], groups: Groups) -> Vec<[f32; 3]> {
    let mut out = Vec::new();
    let most = 400_000;
    let stride = frames.len().div_ceil(400).max(1);
    let last = frames.len().checked_sub(1).filter(|last| last % stride != 0);
    for frame in frames.iter().step_by(stride).chain(last.map(|i| &frames[i])) {
        // One box per frame where there are too many points for one box each.
        let from = out.len();
        for shape in drawing.shapes.iter().filter(|s| groups.has(s.group)) {
            let arrows = matches!(shape.group, Group::Velocity | Group::Force | Group::Contact);
            if !arrows {
                push_boxes(&shape.geometry, frame, &mut out);
            }
        }
        if out.len() - from > most / 400 {
            let (low, high) = camera::bounds(&out[from..]);
            out.truncate(from);
            push_box(low, high, &mut out);
        }
    }
    out.retain(|p| p.iter().all(|x| x.is_finite()));
    out
}

fn push_box(low: V3, high: V3, out: &mut Vec<[f32; 3]>) {
    out.extend(
        (0..8).map(|k: usize| std::array::from_fn(|i| if k >> i & 1 == 0 { low[i] } else { high[i] })),
    );
}

fn push_boxes(geometry: &Geometry, frame: &Frame, out: &mut Vec<[f32; 3]>) {
    let mut around = |centre: [f32; 3], r: f32| {
        let c = V3::from(centre);
        push_box(c - V3::repeat(r), c + V3::repeat(r), out);
    };
    let place = |pose: &u32| frame.pose(*pose as usize).0;
    match geometry {
        Geometry::Points { first, count, radius } => {
            (*first..first + count).for_each(|i| around(frame.vertex(i as usize), *radius));
        }
        Geometry::Marks { vertices, radius } => {
            vertices.iter().for_each(|i| around(frame.vertex(*i as usize), *radius));
        }
        Geometry::Lines { pairs, radius } => {
            pairs.iter().flatten().for_each(|i| around(frame.vertex(*i as usize), *radius));
        }
        Geometry::Mesh { first, count, .. } => {
            out.extend((*first..first + count).map(|i| frame.vertex(i as usize)));
        }
        Geometry::Sphere { pose, radius } => around(place(pose), *radius),
        Geometry::Box { pose, size } => around(place(pose), 0.5 * V3::from(*size).norm()),
        Geometry::Capsule { pose, radius, length } => around(place(pose), radius + 0.5 * length),
        Geometry::Cylinder { pose, radius, length } => around(place(pose), radius.hypot(0.5 * length)),
        Geometry::Solid { pose, vertices, .. } => {
            let reach = vertices.iter().map(|v| V3::from(*v).norm()).fold(0.0, f32::max);
            around(place(pose), reach);
        }
        Geometry::Plane { .. }
        | Geometry::Axes { .. }
        | Geometry::Arrows { .. }
        | Geometry::Discs { .. }
        | Geometry::Label { .. } => {}
    }
}
