//! Draws test pictures of every shape.
//! Teaches what the renderer does with each part of a drawing.
//! Run: cargo run -p dalembert-viewer --example pictures -- FOLDER

use dalembert::prelude::*;
use dalembert_viewer::drawing::{self, Drawing, Frame, Geometry, Group, Groups, PALETTE};
use dalembert_viewer::render::{RenderOptions, Renderer, Theme};

/// A drawing with one of each shape, that is no simulation.
fn zoo() -> (Drawing, Frame) {
    let mut d = Drawing { title: "zoo".into(), extent: 4.0, ..Drawing::default() };
    let mut f = Frame::default();
    let mut pose = |d: &mut Drawing, p: [f64; 3], q: [f64; 4]| {
        f.push_pose(p, q);
        d.add_pose()
    };
    let tilt = [0.92, 0.2, 0.25, 0.22];
    let p = pose(&mut d, [0.0, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0]);
    d.add("ground", Group::Body, [200, 200, 200], Geometry::Plane { pose: p });
    let p = pose(&mut d, [-1.2, 0.0, 0.35], [1.0, 0.0, 0.0, 0.0]);
    d.add("ball", Group::Body, PALETTE[0], Geometry::Sphere { pose: p, radius: 0.35 });
    let p = pose(&mut d, [0.0, 0.3, 0.3], [0.9, 0.0, 0.0, 0.4]);
    d.add("box", Group::Body, PALETTE[1], Geometry::Box { pose: p, size: [0.6, 0.6, 0.6] });
    let p = pose(&mut d, [0.1, 0.3, 0.9], tilt);
    d.add("box", Group::Body, PALETTE[3], Geometry::Box { pose: p, size: [0.5, 0.3, 0.3] });
    let p = pose(&mut d, [0.9, -0.3, 0.2], [0.7071, 0.0, 0.7071, 0.0]);
    d.add("capsule", Group::Body, PALETTE[2], Geometry::Capsule { pose: p, radius: 0.2, length: 0.6 });
    let p = pose(&mut d, [-0.6, -0.9, 0.3], [1.0, 0.0, 0.0, 0.0]);
    d.add("cylinder", Group::Body, PALETTE[4], Geometry::Cylinder { pose: p, radius: 0.2, length: 0.6 });
    let p = pose(&mut d, [1.3, 0.8, 0.0], [1.0, 0.0, 0.0, 0.0]);
    d.add("frame", Group::Frame, PALETTE[4], Geometry::Axes { pose: p, length: 0.6 });
    let n = 40u32;
    let first = 0;
    for j in 0..n {
        for i in 0..n {
            let (x, y) = (i as f32 / (n - 1) as f32 - 0.5, j as f32 / (n - 1) as f32 - 0.5);
            let z = 1.75 + 0.12 * (7.0 * x).sin() * (5.0 * y).cos();
            f.vertices.extend([1.8 * x, 1.8 * y, z]);
        }
    }
    let at = |i, j| j * n + i;
    let squares = (0..n - 1).flat_map(|j| (0..n - 1).map(move |i| (i, j)));
    let triangles = squares
        .flat_map(|(i, j)| {
            [[at(i, j), at(i + 1, j), at(i + 1, j + 1)], [at(i, j), at(i + 1, j + 1), at(i, j + 1)]]
        })
        .collect();
    d.add("cloth", Group::Body, PALETTE[5], Geometry::Mesh { first, count: n * n, triangles });
    d.vertices = n * n;
    (d, f)
}

/// A curtain of springs that hangs from a rod.
fn curtain() -> Result<(Drawing, Vec<Frame>), Box<dyn std::error::Error>> {
    let mut scene = Scene { title: "curtain".into(), dt: 1e-3, ..Scene::default() };
    let count = [17, 17];
    scene.add(
        ParticleSet::new("sheet", Arrangement::Cloth { size: [1.0, 1.0], count })
            .mass(0.01)
            .position([0.0, 0.0, 1.0]),
    );
    for (name, edges, k) in
        [("warp", Edges::Structural, 200.0), ("shear", Edges::Shear, 60.0), ("bend", Edges::Bend, 10.0)]
    {
        scene.add(SpringSet::along(name, "sheet", edges).stiffness(k).damping(0.05));
    }
    scene.add(Fix::points("sheet[0]"));
    scene.add(Fix::points("sheet[16]"));
    scene.add(ParticleSet::at("stone", [0.0, 0.9, 1.0]).mass(0.3).velocity([0.3, -1.0, 2.0]));
    let mut sim = scene.build()?;
    let drawing = drawing::describe(&sim.model, &sim.state);
    let mut frames = Vec::new();
    for i in 0..=400 {
        if i % 20 == 0 {
            let mut frame = Frame::default();
            drawing::frame(&sim.model, &drawing, &sim.state, Groups::EVERY, &mut frame);
            frames.push(frame);
        }
        sim.step()?;
    }
    Ok((drawing, frames))
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = std::path::PathBuf::from(std::env::args().nth(1).unwrap_or_else(|| ".".into()));
    let (d, f) = zoo();
    for (theme, name) in [(Theme::Light, "zoo_light.png"), (Theme::Dark, "zoo_dark.png")] {
        let groups = Groups::default().with(Group::Frame);
        let options = RenderOptions { theme, groups, ..RenderOptions::default() };
        let start = std::time::Instant::now();
        let image = Renderer::new(&d, std::slice::from_ref(&f), options).image(&d, &f);
        println!("{name}: {:.0} ms", 1e3 * start.elapsed().as_secs_f64());
        std::fs::write(folder.join(name), image.to_png())?;
    }
    let (d, frames) = curtain()?;
    let renderer = Renderer::new(&d, &frames, RenderOptions::default());
    let start = std::time::Instant::now();
    let image = renderer.image(&d, &frames[frames.len() - 1]);
    println!("curtain.png: {:.0} ms", 1e3 * start.elapsed().as_secs_f64());
    std::fs::write(folder.join("curtain.png"), image.to_png())?;
    let groups = Groups::default().with(Group::Velocity).without(Group::Spring);
    let options = RenderOptions { groups, width: 480, height: 320, ..RenderOptions::default() };
    let renderer = Renderer::new(&d, &frames, options);
    for name in ["curtain.gif", "curtain.mp4"] {
        let start = std::time::Instant::now();
        dalembert_viewer::render::write_film(&folder.join(name), 25.0, frames.len(), |i| {
            renderer.image(&d, &frames[i])
        })?;
        println!("{name}: {:.0} ms", 1e3 * start.elapsed().as_secs_f64());
    }
    Ok(())
}
