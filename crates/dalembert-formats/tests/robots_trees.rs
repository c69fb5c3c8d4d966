//! Robots that share a file under contact: each moves as if it were alone.

use dalembert::prelude::*;
use dalembert_formats::robot::{ReadOptions, read_robot_text};
use dalembert_formats::source::Includes;

/// A trunk with two legs on limited hinges, which falls on its side.
fn tree(name: &str, y: f64) -> String {
    format!(
        r#"<body name="{name}" pos="0 {y} 0.4" euler="20 10 0">
             <freejoint/>
             <geom type="capsule" fromto="-0.2 0 0 0.2 0 0" size="0.06" friction="0.7"/>
             <body pos="0.2 0 -0.02">
               <joint axis="0 1 0" range="-40 60" limited="true" damping="0.1" armature="0.01"/>
               <geom type="capsule" fromto="0 0 0 0.05 0.1 -0.25" size="0.04" friction="0.7"/>
             </body>
             <body pos="-0.2 0 -0.02">
               <joint axis="1 0 0" range="-30 30" limited="true" damping="0.1" frictionloss="0.05"/>
               <geom type="sphere" pos="0 0 -0.2" size="0.05" friction="0.7"/>
             </body>
           </body>"#
    )
}

/// Coordinates at the end, the largest residual, and how many steps did not meet their tolerance.
fn run(bodies: &str, steps: u32) -> (Vec<f64>, f64, u32) {
    let text = format!(
        r#"<mujoco><worldbody><geom type="plane" size="0 0 1" friction="0.7"/>{bodies}</worldbody></mujoco>"#
    );
    let (robot, _) = read_robot_text("robot.xml", &text, Includes::None, &ReadOptions::default())
        .unwrap_or_else(|error| panic!("{error}"));
    let mut scene = Scene { method: Method::Impulse(Impulse::default()), dt: 2e-3, ..Scene::default() };
    scene.add(RobotItem::new("robot", robot));
    scene.contact.push(ContactRule::between("*", "*"));
    let mut sim = scene.build().unwrap_or_else(|e| panic!("{e}"));
    let (mut residual, mut unfinished) = (0.0f64, 0);
    for _ in 0..steps {
        let report = sim.step().unwrap_or_else(|e| panic!("{e}"));
        unfinished += u32::from(report.unfinished);
        residual = residual.max(report.residual);
    }
    assert!(!sim.state.contacts.is_empty());
    (sim.model.robots[0].q(&sim.state).to_vec(), residual, unfinished)
}

#[test]
fn trees_of_one_file_move_as_if_alone() {
    let (alone, residual, unfinished) = run(&tree("a", 0.0), 400);
    assert!(residual < 1e-5 && unfinished == 0, "{residual:e} {unfinished}");
    let (both, ..) = run(&format!("{}{}", tree("a", 0.0), tree("b", 5.0)), 400);
    let n = alone.len();
    assert_eq!(both.len(), 2 * n);
    for k in 0..n {
        assert!((both[k] - alone[k]).abs() < 1e-9, "coordinate {k}: {} {}", both[k], alone[k]);
        let shift = if k == 1 { 5.0 } else { 0.0 };
        assert!((both[n + k] - shift - alone[k]).abs() < 1e-6, "coordinate {k} of the second");
    }
}

#[test]
fn trees_of_one_file_that_touch_are_solved_together_with_the_same_bits_each_time() {
    // One falls on the other: their contacts are one island.
    let above = tree("b", 0.05).replace("0.4\"", "0.75\"");
    let text = format!("{}{above}", tree("a", 0.0));
    let (q, residual, _) = run(&text, 300);
    assert!(q.iter().all(|x| x.is_finite()) && residual < 0.05, "{residual:e}");
    let (again, ..) = run(&text, 300);
    assert_eq!(q, again, "the same bits");
}
