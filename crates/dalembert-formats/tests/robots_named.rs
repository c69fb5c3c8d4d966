//! Robots that a scene gives no name, and what a URDF file is driven by.

use dalembert::model::Quantity;
use dalembert_formats::scene::load_text;
use dalembert_formats::source::Includes;

const ARM: &str = r#"<robot name="lift er"><link name="base"/><link name="upper"><inertial><mass value="1"/>
<inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="elbow" type="revolute"><parent link="base"/><child link="upper"/><axis xyz="0 0 1"/>
<limit lower="-9" upper="9" effort="5" velocity="3"/></joint></robot>"#;

fn folder(name: &str) -> std::path::PathBuf {
    let folder = std::env::temp_dir().join(format!("dalembert-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("arm.urdf"), ARM).unwrap();
    folder
}

#[test]
fn a_robot_without_a_name_is_called_as_its_file_calls_it() {
    let folder = folder("named");
    let text = "method = 'impulse'\n[[robot]]\nfile = 'arm.urdf'\n";
    let built = load_text("a.toml", text, Includes::Directory(&folder)).unwrap().build().unwrap();
    assert_eq!(built.simulation.model.robots[0].name, "lift_er");
    let twice = format!("{text}[[robot]]\nfile = 'arm.urdf'\n");
    let error = load_text("a.toml", &twice, Includes::Directory(&folder)).unwrap().build().unwrap_err();
    assert!(error.to_string().contains("name = \"lift_er2\""), "{error}");
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_motor_turns_a_joint_of_a_urdf_file_by_its_torque_up_to_its_effort() {
    let folder = folder("motor");
    for (control, torque) in [(0.3, 0.3), (50.0, 5.0)] {
        let text = format!(
            "method = 'impulse'\ndt = 0.001\n[[robot]]\nname = 'a'\nfile = 'arm.urdf'\ncontrols = {{ elbow = {control} }}\n"
        );
        let mut sim =
            load_text("a.toml", &text, Includes::Directory(&folder)).unwrap().build().unwrap().simulation;
        sim.run(0.2).unwrap();
        let rate = Quantity::parse(&sim.model, "a.elbow.rate").unwrap().value(&sim.model, &sim.state);
        assert!((rate - torque * 0.2 / 0.1).abs() < 1e-9, "{control}: {rate}");
    }
    std::fs::remove_dir_all(folder).unwrap();
}
