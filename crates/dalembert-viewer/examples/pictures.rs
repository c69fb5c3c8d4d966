//! Draws test pictures of every shape.
//! Teaches what the renderer does with each part of a drawing.
//! Run: cargo run -p dalembert-viewer --example pictures -- FOLDER

use dalembert::prelude::*;
use dalembert_viewer::drawing::{self, Drawing, Frame, Group, Groups};
use dalembert_viewer::plot::{Curve, Plot, PlotOptions};
use dalembert_viewer::render::{RenderOptions, Renderer, Theme};

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

/// A chain of capsules on ball joints, a door that meets its stop, a cone on a rail and a double pendulum.
fn mechanisms() -> Result<(Drawing, Vec<Frame>), Box<dyn std::error::Error>> {
    let method = Method::Impulse(Impulse::default());
    let mut scene = Scene { title: "mechanisms".into(), dt: 2e-3, method, ..Scene::default() };
    for k in 0..6 {
        let shape = Shape::Capsule { radius: 0.05, length: 0.2 };
        let x = 0.1 + 0.3 * f64::from(k) + 0.05;
        let lying = Quat::from_axis_angle(&Vec3::y_axis(), std::f64::consts::FRAC_PI_2);
        scene.add(RigidBody::new(format!("link{k}"), shape).mass(0.4).at([x, 0.0, 1.8]).turned(lying));
        let before = if k == 0 { "world".into() } else { format!("link{}", k - 1) };
        let joint = JointItem::new(format!("ball{k}"), JointKind::Ball, before, format!("link{k}"));
        scene.add(joint.anchor([x - 0.15, 0.0, 1.8]));
    }
    let door = Shape::Box { size: Vec3::new(0.7, 0.05, 1.2) };
    let swing = [0.0, 0.0, 1.5];
    scene.add(RigidBody::new("door", door).mass(8.0).at([-1.0, 0.0, 0.7]).angular_velocity(swing));
    let hinge = JointItem::new("hinge", JointKind::Hinge, "world", "door").anchor([-1.35, 0.0, 0.7]);
    scene.add(hinge.axis([0.0, 0.0, 1.0]).limits(-0.3, 1.2));
    let cone = Shape::Cone { radius: 0.15, length: 0.4 };
    scene.add(RigidBody::new("cone", cone).mass(1.0).at([1.0, 0.7, 0.9]));
    let rail = JointItem::new("rail", JointKind::Slider, "world", "cone").anchor([1.0, 0.7, 0.9]);
    scene.add(rail.axis([0.0, 0.0, 1.0]).limits(-0.3, 0.3));
    let mut sim = scene.build()?;
    let drawing = drawing::describe(&sim.model, &sim.state);
    let mut frames = Vec::new();
    for i in 0..=300 {
        if i % 100 == 0 {
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
    let (d, f) = dalembert_viewer::sample::every_shape();
    for (theme, name) in [(Theme::Light, "zoo_light.png"), (Theme::Dark, "zoo_dark.png")] {
        let groups = Groups::EVERY;
        let options = RenderOptions { theme, groups, ..RenderOptions::default() };
        let start = std::time::Instant::now();
        let image = Renderer::new(&d, std::slice::from_ref(&f), options).image(&d, &f);
        println!("{name}: {:.0} ms", 1e3 * start.elapsed().as_secs_f64());
        let (low, high) = (image.pixels.iter().min(), image.pixels.iter().max());
        assert!(low < Some(&60) && high > Some(&180), "the picture is flat: {low:?} to {high:?}");
        std::fs::write(folder.join(name), image.to_png())?;
    }
    let (d, frames) = mechanisms()?;
    let shown = [Group::Joint, Group::Force].into_iter().fold(Groups::default(), Groups::with);
    for (groups, name) in [
        (Groups::default(), "mechanisms.png"),
        (shown, "mechanisms_joints.png"),
        (Groups::default().with(Group::Frame).with(Group::Violation), "mechanisms_gaps.png"),
    ] {
        let renderer = Renderer::new(&d, &frames[3..], RenderOptions { groups, ..RenderOptions::default() });
        std::fs::write(folder.join(name), renderer.image(&d, &frames[3]).to_png())?;
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
    let names = ["kinetic", "potential", "total", "gravity", "warp", "shear", "bend"];
    let curve = |(k, name): (usize, &&str)| Curve {
        name: name.to_string(),
        points: frames.iter().map(|f| [f.time, f64::from(f.scalars[k])]).collect(),
    };
    let plot = Plot {
        title: "A curtain falls".into(),
        x_label: "time [s]".into(),
        y_label: "energy [J]".into(),
        curves: names.iter().enumerate().map(curve).collect(),
    };
    for (theme, name) in
        [(Theme::Light, "plot.png"), (Theme::Dark, "plot_dark.png"), (Theme::Light, "plot.svg")]
    {
        plot.write(&folder.join(name), &PlotOptions { theme, ..PlotOptions::default() })?;
    }
    Ok(())
}
