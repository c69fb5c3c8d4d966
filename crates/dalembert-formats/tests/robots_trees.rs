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

fn scene_of(mjcf: &str) -> Simulation {
    let (robot, _) = read_robot_text("robot.xml", mjcf, Includes::None, &ReadOptions::default())
        .unwrap_or_else(|error| panic!("{error}"));
    let mut scene = Scene { method: Method::Impulse(Impulse::default()), dt: 2e-3, ..Scene::default() };
    scene.add(RobotItem::new("robot", robot));
    scene.contact.push(ContactRule::between("*", "*"));
    scene.build().unwrap_or_else(|e| panic!("{e}"))
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
    let (q, residual, unfinished) = run(&text, 400);
    assert!(q.iter().all(|x| x.is_finite()) && residual < 1e-5, "{residual:e}");
    assert_eq!(unfinished, 0);
    let (again, ..) = run(&text, 400);
    assert_eq!(q, again, "the same bits");
}

/// A box of 0.4 × 0.4 × 0.2 m, with a small one that hangs under nothing but swings in a hinge at its side.
fn box_robot(name: &str, z: f64) -> String {
    format!(
        r#"<body name="{name}" pos="0 0 {z}">
             <freejoint/>
             <geom type="box" size="0.2 0.2 0.1" mass="3"/>
             <body pos="0.3 0 0">
               <joint axis="0 1 0" damping="0.5" stiffness="50"/>
               <geom type="box" size="0.04 0.04 0.04" mass="0.2"/>
             </body>
           </body>"#
    )
}

#[test]
fn a_tree_comes_to_rest_on_another_tree_of_its_file() {
    let text = format!(
        r#"<mujoco><worldbody><geom type="plane" size="0 0 1"/>{}{}</worldbody></mujoco>"#,
        box_robot("lower", 0.12),
        box_robot("upper", 0.40)
    );
    let mut sim = scene_of(&text);
    let mut unfinished = 0;
    for _ in 0..1500 {
        unfinished += u32::from(sim.step().unwrap_or_else(|e| panic!("{e}")).unfinished);
    }
    let touch = sim.model.rigid_contact.as_ref().expect("contact");
    let q = sim.model.robots[0].q(&sim.state);
    // Half the height of the lower box; all of it and half of the upper one. A coordinate of a free joint is its place.
    assert!((q[2] - 0.1).abs() < 1e-4, "lower box at {}", q[2]);
    assert!((q[10] - 0.3).abs() < 1e-4, "upper box at {}", q[10]);
    assert!(q[0].abs() < 1e-3 && q[8].abs() < 1e-3, "no slip: {} {}", q[0], q[8]);
    let v = sim.model.robots[0].v(&sim.state);
    assert!(v.iter().all(|v| v.abs() < 1e-6), "{v:?}");
    // Between the trees: the weight of the upper one. On the floor: of both.
    let weight = 9.81 * 3.2;
    let on_floor = |c: &&dalembert::state::ContactPoint| {
        [c.a, c.b].iter().any(|k| touch.colliders[*k as usize].body == dalembert::collide::rigid::WORLD)
    };
    let carried: f64 = sim.state.contacts.iter().filter(on_floor).map(|c| c.force.z.abs()).sum();
    let between: f64 = sim.state.contacts.iter().filter(|c| !on_floor(c)).map(|c| c.force.z.abs()).sum();
    assert!((carried / (2.0 * weight) - 1.0).abs() < 1e-5, "{carried} N of {}", 2.0 * weight);
    assert!((between / weight - 1.0).abs() < 1e-5, "{between} N of {weight}");
    assert_eq!(unfinished, 0);
}

/// Force along z and across it that a sliding geom feels on the floor of a file, and the law that the two have.
fn law_of(floor: &str, geom: &str, contact: &str) -> dalembert::contact::ContactLaw {
    let sim = scene_of(&format!(
        r#"<mujoco><worldbody><geom name="floor" type="plane" size="0 0 1" {floor}/>
           <body pos="0 0 0.1"><freejoint/><geom name="ball" size="0.1" {geom}/></body></worldbody>
           <contact>{contact}</contact></mujoco>"#
    ));
    let touch = sim.model.rigid_contact.as_ref().expect("contact");
    touch.law(0, 1)
}

#[test]
fn attributes_of_contact_are_honoured() {
    // The larger friction and dimension of two; dimension 1 of both has none.
    let law = law_of(r#"friction="0.3 0.01""#, r#"friction="0.9 0.02" condim="1""#, "");
    assert_eq!((law.friction, law.torsional_friction), (0.9, 0.0));
    let law = law_of(r#"condim="1""#, r#"condim="1""#, "");
    assert_eq!(law.friction, 0.0);
    let law = law_of(r#"friction="0.3 0.01 0.001""#, r#"friction="0.9 0.02 0.0005" condim="6""#, "");
    assert_eq!((law.friction, law.torsional_friction, law.rolling_friction), (0.9, 0.02, 0.001));
    // Priority decides alone, friction, dimension and softness.
    let law =
        law_of(r#"friction="0.3" priority="1""#, r#"friction="0.9 0.02" condim="4" solref="0.05 1""#, "");
    assert_eq!((law.friction, law.torsional_friction, law.compliance), (0.3, 0.0, None));
    // Bits: type of one and affinity of the other.
    assert!(!law_of(r#"contype="2" conaffinity="2""#, "", "").enabled);
    assert!(law_of(r#"contype="2" conaffinity="1""#, "", "").enabled);
    // A pair has its own values, and takes the dimension of its geoms where it has none.
    let pair = r#"<pair geom1="floor" geom2="ball" friction="0.2 0.2 0.03"/>"#;
    let law = law_of(r#"contype="2" conaffinity="2" friction="2""#, r#"condim="4""#, pair);
    assert!(law.enabled);
    assert_eq!((law.friction, law.torsional_friction), (0.2, 0.03));
    let pair = r#"<pair geom1="floor" geom2="ball" condim="1" solref="0.02 1" solimp="0.9 0.95 0.001"/>"#;
    let law = law_of("", r#"solref="0.05 1""#, pair);
    assert_eq!((law.friction, law.compliance), (0.0, None), "the default softness is hard");
    // Weights of the mean: all of the soft one, all of the hard one.
    let soft = |weight: &str| {
        law_of("solmix=\"1\"", &format!(r#"solref="0.05 1" solmix="{weight}""#), "").compliance
    };
    assert!(soft("0").is_none() && soft("1e9").is_some());
    assert!(soft("1") != soft("1e9"));
}

#[test]
fn what_is_not_honoured_is_told() {
    let notes = |option: &str, geom: &str, contact: &str| {
        let sim = scene_of(&format!(
            r#"<mujoco><option {option}/><worldbody><geom name="floor" type="plane" size="0 0 1"/>
               <body pos="0 0 0.1"><freejoint/><geom name="ball" size="0.1" {geom}/></body></worldbody>
               <contact>{contact}</contact></mujoco>"#
        ));
        sim.model.warnings.iter().map(|warning| warning.message.clone()).collect::<Vec<_>>()
    };
    let pair = |more: &str| format!(r#"<pair name="p" geom1="floor" geom2="ball" {more}/>"#);
    assert_eq!(notes("", r#"condim="4" friction="0.5 0.1" priority="2" solmix="3""#, ""), [""; 0]);
    assert_eq!(notes(r#"cone="elliptic""#, "", &pair(r#"friction="0.5 0.5""#)), [""; 0]);
    for (option, geom, contact, word) in [
        (r#"cone="pyramidal""#, "", String::new(), "pyramidal"),
        (r#"impratio="10""#, "", String::new(), "impratio"),
        (r#"noslip_iterations="5""#, "", String::new(), "noslip_iterations"),
        (
            r#"o_friction="1 1 1 1 1"><flag override="enable"/></option><option "#,
            "",
            String::new(),
            "o_friction",
        ),
        ("", r#"margin="0.01""#, String::new(), "margin"),
        ("", r#"margin="0.01" gap="0.002""#, String::new(), "gap"),
        ("", r#"solimp="0.8 0.9 0.01""#, String::new(), "solimp"),
        ("", "", pair(r#"margin="0.01""#), "margin"),
        ("", "", pair(r#"solreffriction="0.1 1""#), "solreffriction"),
        ("", "", pair(r#"friction="0.5 0.7""#), "all directions"),
    ] {
        let told = notes(option, geom, &contact);
        assert!(told.len() == 1 && told[0].contains(word), "{option} {geom} {contact}: {told:?}");
    }
    assert_eq!(notes(r#"o_friction="1 1 1 1 1""#, "", ""), [""; 0], "off, here as there");
    // A margin that is all gap does nothing, here as there.
    assert_eq!(notes("", r#"margin="0.01" gap="0.01""#, ""), [""; 0]);
}
