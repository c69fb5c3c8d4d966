//! A robot in an intersection-free scene: what a step costs, and what part of it the articulation takes.

use std::time::Instant;

use dalembert::prelude::*;
use dalembert::scene::{ArticulationItem, JointItem};
use dalembert::state::Drive;
use dalembert_formats::scene::load_text;
use dalembert_formats::source::Includes;

use super::{Bencher, on_one_thread};

const STEPS: usize = 100;

/// The seven-joint arm of the program (and its gripper) on its servos, and n boxes on the ground that it sweeps through.
fn scene(n: usize) -> Result<Simulation, String> {
    let mut text = String::from(
        "method = 'ipc'\nipc = { friction = 0.4 }\ndt = 0.01\n[[ground]]\n[[robot]]\nname = 'arm'\nfile = 'robots/arm.xml'\n\
         position = [0, 0, 0.01]\npositions = { joint1 = -1.2, joint2 = 0.4, joint4 = 1.9, joint6 = 0.8 }\n\
         controls = { joint1 = -1.2, joint2 = 0.4, joint4 = 1.9, joint6 = 0.8, grip = 0.02 }\n",
    );
    for k in 0..n {
        // A ring of boxes in front of the arm, two deep.
        let (angle, radius) = (-0.75 + 0.16 * (k / 2) as f64, 0.42 + 0.14 * (k % 2) as f64);
        let (x, y) = (radius * angle.cos(), radius * angle.sin());
        text += &format!(
            "[[rigid]]\nname = 'box{k}'\nshape = {{ box = [0.05, 0.05, 0.2] }}\nmass = 0.3\nposition = [{x}, {y}, 0.101]\n"
        );
    }
    let file =
        load_text("bench.toml", &text, Includes::Embedded(crate::examples())).map_err(|e| e.to_string())?;
    Ok(file.build().map_err(|e| e.to_string())?.simulation)
}

/// A chain of n hinged links that another engine drives: one dense block up to 64 freedoms, long rows beyond.
fn chain(b: &mut Bencher, n: usize) {
    let mut scene =
        Scene { method: Method::Ipc(dalembert::step::Ipc::default()), dt: 0.01, ..Scene::default() };
    let mut names = Vec::new();
    for k in 0..n {
        let (x, axis) = (0.2 * k as f64, [[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]][k % 2]);
        let link = RigidBody::new(format!("link{k}"), Shape::Point);
        scene.add(link.inertia(0.7, Vec3::zeros(), 0.01 * Mat3::identity()).at([x + 0.1, 0.0, 0.0]));
        let parent = if k == 0 { "world".into() } else { format!("link{}", k - 1) };
        names.push(format!("j{k}"));
        let joint = JointItem::new(names[k].clone(), JointKind::Hinge, parent, format!("link{k}"));
        scene.add(joint.anchor([x, 0.0, 0.0]).axis(axis));
    }
    scene.add(ArticulationItem::new("chain", &names.iter().map(String::as_str).collect::<Vec<_>>()));
    let mut sim = match scene.build() {
        Ok(sim) => sim,
        Err(error) => return eprintln!("the driven chain: {error}"),
    };
    let mass: Vec<f64> = (0..n * n).map(|e| if e / n == e % n { 2.0 } else { 1.0 / n as f64 }).collect();
    let drive = Drive { mass, delta: vec![1e-3; n], reference: Vec::new() };
    let (mut best, mut iterations) = (f64::INFINITY, 0);
    on_one_thread(|| {
        for _ in 0..6 {
            let start = Instant::now();
            match sim.step_driven(|_, _| Ok(drive.clone())) {
                Ok(report) => {
                    (best, iterations) = (best.min(start.elapsed().as_secs_f64()), report.iterations)
                }
                Err(error) => return eprintln!("the driven chain: {error}"),
            }
        }
    });
    b.row("driven_chain", n, best, format!("{:.2} ms per step, {iterations} iterations", 1e3 * best));
}

/// Time of a step and the part of it that the articulation's term and the robot's own dynamics take.
pub(super) fn coupling(b: &mut Bencher) {
    let n = 20;
    let mut sim = match scene(n) {
        Ok(sim) => sim,
        Err(error) => return eprintln!("the arm and its boxes: {error}"),
    };
    let robot = sim.model.robots[0].clone();
    let mut rows = Vec::new();
    on_one_thread(|| {
        for step in 0..STEPS {
            // The turret turns by a radian, and the hand pushes boxes before it from about the thirtieth step on.
            robot.control_mut(&mut sim.state)[0] = -1.2 + step as f64 / STEPS as f64;
            let (start, before) = (Instant::now(), sim.workspace.coupling_time());
            match sim.step() {
                Ok(report) => {
                    let term = sim.workspace.coupling_time() - before;
                    rows.push((start.elapsed().as_secs_f64(), term.as_secs_f64(), report));
                }
                Err(error) => return eprintln!("the arm and its boxes: {error}"),
            }
        }
    });
    let (before, after) = rows.split_at(rows.len().min(25));
    for (name, part) in [("arm_boxes_free", before), ("arm_boxes_push", after), ("arm_boxes", &rows)] {
        if part.is_empty() {
            continue;
        }
        let count = part.len() as f64;
        let seconds = part.iter().map(|r| r.0).sum::<f64>() / count;
        let term = part.iter().map(|r| r.1).sum::<f64>() / count;
        let iterations = part.iter().map(|r| f64::from(r.2.iterations)).sum::<f64>() / count;
        let contacts = part.iter().map(|r| r.2.contacts).max().unwrap_or(0);
        let note = format!(
            "{:.2} ms per step, {:.1} % of it the articulation; {iterations:.1} iterations, up to {contacts} contacts",
            1e3 * seconds,
            100.0 * term / seconds
        );
        b.row(name, n, seconds, note);
    }
    [16, 64, 65, 128, 256].into_iter().for_each(|n| chain(b, n));
}
