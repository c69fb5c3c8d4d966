//! The scenes of the method `ipc` are run and recorded, and an exact test looks at every frame: nothing intersects.

use std::path::{Path, PathBuf};
use std::process::Command;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenes")
}

fn program(arguments: &[&str]) -> String {
    let done = Command::new(env!("CARGO_BIN_EXE_dalembert")).args(arguments).output().unwrap();
    let (out, err) = (String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
    assert!(done.status.success(), "{arguments:?}\n{out}{err}");
    out.into_owned()
}

fn examine(name: &str) {
    let desk = tempfile::tempdir().unwrap();
    let recording = desk.path().join("run.mcap");
    let (scene, recording) = (folder().join(format!("{name}.toml")), recording.to_str().unwrap());
    program(&["run", scene.to_str().unwrap(), "--quiet", "--every", "1", "-o", recording]);
    let told = program(&["check", "--intersections", recording]);
    assert!(told.contains("frames, 0 with intersections"), "{told}");
}

macro_rules! scenes {
    ($($name:ident),* $(,)?) => {
        $(
            #[test]
            fn $name() {
                examine(stringify!($name));
            }
        )*

        #[test]
        fn every_scene_of_the_method_is_examined() {
            let listed = [$(stringify!($name)),*];
            let mut found = 0;
            for entry in std::fs::read_dir(folder()).unwrap() {
                let name = entry.unwrap().file_name().into_string().unwrap();
                if let Some(name) = name.strip_prefix("ipc_").and_then(|n| n.strip_suffix(".toml")) {
                    found += 1;
                    assert!(listed.contains(&format!("ipc_{name}").as_str()), "ipc_{name} is not examined");
                }
            }
            assert_eq!(found, listed.len());
        }
    };
}

scenes!(
    ipc_arch,
    ipc_blade,
    ipc_bullet,
    ipc_cards,
    ipc_chain_net,
    ipc_cloth_layers,
    ipc_cloth_sphere,
    ipc_gears,
    ipc_joints,
    ipc_knot,
    ipc_pairs,
    ipc_screw_nut,
    ipc_soft_ball,
    ipc_soft_bowl,
    ipc_stack,
);
