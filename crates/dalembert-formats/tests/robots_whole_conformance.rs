//! Whole robot models of others with all their meshes, read in place, against what MuJoCo makes of them; `cargo xtask
//! conformance` runs this.

use std::path::PathBuf;

use dalembert::bodies::articulated::description::RobotDescription;
use dalembert::joints::JointKind;
use dalembert::math::rotation::{exp, quaternion};
use dalembert::math::{Pose, Vec3};
use dalembert_formats::robot::{ReadOptions, read_robot};
use dalembert_formats::scene::load;

/// File, what it holds, mass \[kg\], centre of mass \[m\], Σ i q_i counted from 1.
type Row = (&'static str, [usize; 7], f64, [f64; 3], f64);

/// From MuJoCo 4.0.0: `nq`, `nv`, `nbody`, `nu`, `ntendon`, `neq`, `nkey`, then `sum(body_mass)`, `subtree_com[0]` and
/// `qpos` at the first keyframe, or at `qpos0` where there is none.
#[rustfmt::skip]
const MODELS: [Row; 27] = [
    ("leap_hand/left_hand.xml", [16, 16, 18, 16, 0, 0, 0], 0.744, [-0.0768313073042, 0.0680556416965, 0.0851576625354], 0.0),
    ("leap_hand/right_hand.xml", [16, 16, 18, 16, 0, 0, 0], 0.746, [-0.00136602412623, 0.0242739233052, 0.112028510526], 0.0),
    ("leap_hand/scene_left.xml", [16, 16, 18, 16, 0, 0, 0], 0.744, [-0.0768313073042, 0.0680556416965, 0.0851576625354], 0.0),
    ("leap_hand/scene_right.xml", [16, 16, 18, 16, 0, 0, 0], 0.746, [-0.00136602412623, 0.0242739233052, 0.112028510526], 0.0),
    ("ms_human_700/MS-Human-700-Locomotion.xml", [36, 36, 81, 100, 100, 16, 1], 60.2193168163645, [-0.0553641041312, 2.52129322988e-06, 0.979052592594], 1.853),
    ("ms_human_700/MS-Human-700-Manipulation.xml", [48, 48, 130, 81, 740, 14, 1], 109.885564700582, [0.17658607085, -0.00400116904271, 0.871194466962], 74.0844938),
    ("ms_human_700/MS-Human-700.xml", [85, 85, 81, 700, 700, 42, 1], 60.2193168163645, [-0.0551143879162, 2.52129322988e-06, 0.978857201086], 1.853),
    ("ms_human_700/scene.xml", [85, 85, 81, 700, 700, 42, 1], 60.2193168163645, [-0.0551143879162, 2.52129322988e-06, 0.978857201086], 1.853),
    ("ms_human_700/scene_locomotion.xml", [36, 36, 81, 100, 100, 16, 1], 60.2193168163645, [-0.0553641041312, 2.52129322988e-06, 0.979052592594], 1.853),
    ("ms_human_700/scene_manipulation.xml", [48, 48, 130, 81, 740, 14, 1], 109.885564700582, [0.17658607085, -0.00400116904271, 0.871194466962], 74.0844938),
    ("pal_talos/scene_motor.xml", [51, 50, 46, 32, 0, 6, 1], 94.00319, [-0.0174477289985, -0.000263466658881, 0.940599016686], 5.0),
    ("pal_talos/scene_position.xml", [51, 50, 46, 32, 0, 6, 1], 94.00319, [0.0182589185462, -0.000272246832285, 0.910206484214], -81.975),
    ("pal_talos/talos.xml", [51, 50, 46, 0, 0, 6, 0], 94.00319, [-0.0174477289985, -0.000267776465758, 0.959613102736], 7.3),
    ("pal_talos/talos_motor.xml", [51, 50, 46, 32, 0, 6, 1], 94.00319, [-0.0174477289985, -0.000263466658881, 0.940599016686], 5.0),
    ("pal_talos/talos_position.xml", [51, 50, 46, 32, 0, 6, 1], 94.00319, [0.0182589185462, -0.000272246832285, 0.910206484214], -81.975),
    ("trossen_wxai/scene.xml", [16, 16, 19, 16, 0, 0, 0], 7.82257779395359, [0.0, -0.019, 0.161554108282], 0.0),
    ("trossen_wxai/trossen_ai_bimanual.xml", [16, 16, 19, 16, 0, 0, 0], 7.82257779395359, [0.0, -0.019, 0.161554108282], 0.0),
    ("unitree_g1/g1.xml", [36, 35, 31, 29, 0, 0, 1], 33.341142, [0.00328296237392, 8.22609016812e-05, 0.691852381314], 91.09),
    ("unitree_g1/g1_mjx.xml", [36, 35, 31, 29, 0, 0, 0], 33.341142, [0.0203320784289, 8.22609016812e-05, 0.704334073101], 6.379),
    ("unitree_g1/g1_with_hands.xml", [50, 49, 45, 43, 0, 0, 1], 34.3942352, [0.00296748993516, 7.98953037921e-05, 0.689185209795], 85.35),
    ("unitree_g1/scene.xml", [36, 35, 31, 29, 0, 0, 1], 33.341142, [0.00328296237392, 8.22609016812e-05, 0.691852381314], 91.09),
    ("unitree_g1/scene_mjx.xml", [36, 35, 31, 29, 0, 0, 2], 33.341142, [0.00764846834706, 8.22609016812e-05, 0.686994920071], 91.271025),
    ("unitree_g1/scene_with_hands.xml", [50, 49, 45, 43, 0, 0, 1], 34.3942352, [0.00296748993516, 7.98953037921e-05, 0.689185209795], 85.35),
    ("unitree_go2/go2.xml", [19, 18, 14, 12, 0, 0, 1], 15.206408, [-0.00216912160525, 0.0, 0.248593547078], -50.99),
    ("unitree_go2/go2_mjx.xml", [19, 18, 14, 12, 0, 0, 1], 15.206408, [-0.00216912160525, 0.0, 0.248593547078], -50.99),
    ("unitree_go2/scene.xml", [19, 18, 14, 12, 0, 0, 1], 15.206408, [-0.00216912160525, 0.0, 0.248593547078], -50.99),
    ("unitree_go2/scene_mjx.xml", [19, 18, 14, 12, 0, 0, 1], 15.206408, [-0.00216912160525, 0.0, 0.248593547078], -50.99),
];

fn folder() -> PathBuf {
    let shared = std::env::var_os("DALEMBERT_SHARED").expect("DALEMBERT_SHARED names the shared data");
    PathBuf::from(shared).join("models_full")
}

/// The coordinates of a robot at its references.
fn reference(robot: &RobotDescription) -> Vec<f64> {
    let mut q = Vec::new();
    for (body, joint) in robot.joints() {
        match joint.kind {
            JointKind::Free => {
                let pose = robot.bodies[body.0].pose;
                let turn = pose.rotation;
                q.extend(pose.position.iter());
                q.extend([turn.w, turn.i, turn.j, turn.k]);
            }
            JointKind::Ball => q.extend([1.0, 0.0, 0.0, 0.0]),
            _ => q.push(joint.reference),
        }
    }
    q
}

/// The centre of mass \[m\].
fn center(robot: &RobotDescription, q: &[f64]) -> Vec3 {
    let (mut poses, mut at) = (Vec::<Pose>::new(), 0);
    let (mut mass, mut sum) = (0.0, Vec3::zeros());
    for (i, body) in robot.bodies.iter().enumerate() {
        let mut pose = if i == 0 { Pose::identity() } else { poses[body.parent.0].then(&body.pose) };
        for joint in &body.joints {
            match joint.kind {
                JointKind::Free => {
                    pose = Pose::new(Vec3::new(q[at], q[at + 1], q[at + 2]), quaternion(q, at + 3));
                }
                JointKind::Slider => pose.position += pose.rotation * joint.axis * (q[at] - joint.reference),
                JointKind::Hinge | JointKind::Ball => {
                    let anchor = pose.point(&joint.anchor);
                    pose.rotation *= if joint.kind == JointKind::Ball {
                        quaternion(q, at)
                    } else {
                        exp(&(joint.axis * (q[at] - joint.reference)))
                    };
                    pose.position = anchor - pose.rotation * joint.anchor;
                }
                other => panic!("{other:?} is no joint of MuJoCo"),
            }
            at += joint.kind.position_count();
        }
        if i > 0 {
            mass += body.inertial.mass;
            sum += body.inertial.mass * pose.point(&body.inertial.center);
        }
        poses.push(pose);
    }
    sum / mass
}

#[test]
fn whole_models_hold_what_mujoco_finds_in_them() {
    let folder = folder();
    for (file, counts, mass, com, weighted) in MODELS {
        let (robot, warnings) = read_robot(folder.join(file), &ReadOptions::default())
            .unwrap_or_else(|error| panic!("{file}: {error}"));
        let found = [
            robot.position_count(),
            robot.velocity_count(),
            robot.bodies.len(),
            robot.actuators.len(),
            robot.tendons.len(),
            robot.equalities.len(),
            robot.keyframes.len(),
        ];
        assert_eq!(found, counts, "{file}");
        let given = robot.keyframes.first().map(|key| key.positions.clone()).filter(|q| !q.is_empty());
        let q = given.unwrap_or_else(|| reference(&robot));
        let sum: f64 = q.iter().enumerate().map(|(i, q)| (i + 1) as f64 * q).sum();
        assert!((sum - weighted).abs() < 1e-9 * weighted.abs().max(1.0), "{file}: {sum} for {weighted}");
        // These have bodies that weigh by OBJ meshes of polygons, which MuJoCo cuts into other triangles: a rib differs by up
        // to 1 %, a base of trossen_wxai by 1e-4. Of `Rib1L.obj`, which has groups, MuJoCo takes the first alone.
        if file.starts_with("ms_human_700") || file.starts_with("trossen_wxai") {
            println!("{file:45} {:>3} warnings, masses not compared", warnings.len());
            continue;
        }
        let of_mass = (robot.total_mass() - mass).abs() / mass;
        assert!(of_mass < 1e-7, "{file}: {} kg for {mass} kg", robot.total_mass());
        let off = (center(&robot, &q) - Vec3::from(com)).norm();
        assert!(off < 1e-6, "{file}: the centre of mass is {off} m away");
        println!("{file:45} {:>3} warnings, mass {of_mass:.1e}, centre {off:.1e} m", warnings.len());
    }
}

#[test]
fn every_scene_of_a_whole_model_is_built_and_built_again_from_its_text() {
    use dalembert_formats::scene::load_text;
    use dalembert_formats::source::Includes;
    let folder = folder();
    for (file, ..) in MODELS.iter().filter(|(file, ..)| file.contains("/scene")) {
        let built = load(folder.join(file)).and_then(|file| file.build());
        let built = built.unwrap_or_else(|error| panic!("{file}: {error}"));
        assert!(built.json.len() < 4 << 20, "{file}: {} bytes of text", built.json.len());
        let again = load_text("again.json", &built.json, Includes::Assets(&built.assets));
        let again = again.and_then(|file| file.build()).unwrap_or_else(|error| panic!("{file}: {error}"));
        assert_eq!(again.simulation.state.q, built.simulation.state.q, "{file}");
    }
}
