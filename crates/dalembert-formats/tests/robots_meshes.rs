//! Robots with large meshes: the text of a scene names them, a recording holds them.

use std::fs;
use std::path::Path;

use dalembert::math::Vec3;
use dalembert::state::State;
use dalembert_formats::mesh;
use dalembert_formats::recording::{Header, Recording, RecordingError, Writer};
use dalembert_formats::scene::{Built, load, load_text};
use dalembert_formats::source::Includes;

/// A wavy sheet as a binary STL of 2 n² facets.
fn sheet(n: u16) -> Vec<u8> {
    let at = |i: u16, j: u16| {
        let (x, y) = (f32::from(i) / 977.0, f32::from(j) / 983.0);
        [x, y, 0.1 * (7.0 * x + 5.0 * y).sin()]
    };
    let mut out = vec![0; 80];
    out.extend((2 * u32::from(n) * u32::from(n)).to_le_bytes());
    for (i, j) in (0..n).flat_map(|i| (0..n).map(move |j| (i, j))) {
        let corners = [at(i, j), at(i + 1, j), at(i + 1, j + 1), at(i, j + 1)];
        for facet in [[0, 1, 2], [0, 2, 3]] {
            out.extend([0; 12]);
            facet.iter().flat_map(|&k: &usize| corners[k]).for_each(|x| out.extend(x.to_le_bytes()));
            out.extend([0; 2]);
        }
    }
    out
}

/// A pendulum that carries the sheet for show.
fn put_robot(folder: &Path, n: u16) {
    fs::create_dir_all(folder.join("assets")).unwrap();
    fs::write(folder.join("assets/sheet.stl"), sheet(n)).unwrap();
    let text = r#"<mujoco model="flag"><compiler meshdir="assets"/><asset><mesh file="sheet.stl"/></asset>
        <worldbody><body name="pole"><joint name="swing" axis="0 1 0"/>
          <geom type="sphere" size="0.1" pos="0.3 0 0" mass="1" contype="0" conaffinity="0"/>
          <geom type="mesh" mesh="sheet" mass="0" contype="0" conaffinity="0"/></body></worldbody></mujoco>"#;
    fs::write(folder.join("flag.xml"), text).unwrap();
}

fn header(built: &Built) -> Header {
    Header {
        scene: built.json.clone(),
        assets: built.assets.clone(),
        dt: built.simulation.dt,
        state_len: State::packed_len(&built.simulation.model.layout),
        ..Header::default()
    }
}

fn vertices(built: &Built) -> &[Vec3] {
    &built.simulation.model.robots[0].robot.description.meshes[0].vertices
}

#[test]
fn a_robot_of_hundreds_of_thousands_of_triangles_is_read_recorded_and_run_again() {
    let folder = tempfile::tempdir().unwrap();
    // As decimals in a text these take more than 16 MiB.
    put_robot(folder.path(), 500);
    let mut built = load(folder.path().join("flag.xml")).unwrap().build().unwrap();
    assert_eq!(vertices(&built).len(), 501 * 501);
    assert!(built.json.len() < 10_000, "the text holds {} bytes", built.json.len());

    let path = folder.path().join("flag.mcap");
    let mut writer = Writer::create(&path, &header(&built)).unwrap();
    built.simulation.run(0.02).unwrap();
    let mut packed = Vec::new();
    built.simulation.state.pack(&built.simulation.model.layout, &mut packed);
    writer.write_frame(built.simulation.state.time, 10, &packed).unwrap();
    writer.finish().unwrap();

    // Nothing but the recording is left.
    fs::remove_dir_all(folder.path().join("assets")).unwrap();
    let recording = Recording::open(&path).unwrap();
    assert_eq!(recording.header().assets, built.assets);
    let held = recording.header();
    let again = load_text("again.json", &held.scene, Includes::Assets(&held.assets)).unwrap();
    let mut again = again.build().unwrap();
    assert_eq!(vertices(&again), vertices(&built));
    again.simulation.run(0.02).unwrap();
    let mut replayed = Vec::new();
    again.simulation.state.pack(&again.simulation.model.layout, &mut replayed);
    assert_eq!(replayed, recording.last_frame().unwrap().state);
    // What is built from a recording can be recorded once more.
    assert_eq!((again.json, again.assets), (built.json, built.assets));
    // A copy of a recording takes the meshes with it.
    let copy = folder.path().join("copy.mcap");
    Writer::continue_from(&recording, 0, &copy).unwrap().finish().unwrap();
    assert_eq!(Recording::open(&copy).unwrap().header().assets, recording.header().assets);
}

#[test]
fn robots_of_one_kind_share_their_meshes() {
    let folder = tempfile::tempdir().unwrap();
    put_robot(folder.path(), 3);
    let robot = |name: &str| format!("[[robot]]\nname = '{name}'\nfile = 'flag.xml'\n");
    let text = format!("dt = 0.001\nmethod = 'impulse'\n{}{}", robot("a"), robot("b"));
    let built = load_text("two.toml", &text, Includes::Directory(folder.path())).unwrap().build().unwrap();
    assert_eq!((built.simulation.model.robots.len(), built.assets.len()), (2, 1));
}

#[test]
fn a_scene_without_its_meshes_says_which_one_is_missing() {
    let folder = tempfile::tempdir().unwrap();
    put_robot(folder.path(), 3);
    // A mesh that nothing but the eye needs is left out with a warning; this one touches.
    let text = fs::read_to_string(folder.path().join("flag.xml")).unwrap();
    let touching = text.replace(r#"mass="0" contype="0""#, r#"mass="0" contype="1""#);
    fs::write(folder.path().join("flag.xml"), touching).unwrap();
    let built = load(folder.path().join("flag.xml")).unwrap();
    let built = built.build().unwrap();
    let (name, _) = built.assets.iter().next().unwrap();
    let error = load_text("again.json", &built.json, Includes::None).unwrap_err().to_string();
    assert!(error.contains(name), "{error}");
}

#[test]
fn damaged_meshes_of_a_recording_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    put_robot(folder.path(), 3);
    let built = load(folder.path().join("flag.xml")).unwrap().build().unwrap();
    let path = folder.path().join("flag.mcap");
    Writer::create(&path, &header(&built)).unwrap().finish().unwrap();
    let mut bytes = fs::read(&path).unwrap();
    let place = bytes.windows(10).position(|w| w == b"end_header").unwrap() + 20;
    bytes[place] ^= 1;
    fs::write(&path, bytes).unwrap();
    assert!(matches!(Recording::open(&path), Err(RecordingError::Corrupt { .. })));
}

#[test]
fn a_surface_written_as_ply_reads_back_to_the_same_bits() {
    let triangles = [[0, 2, 1], [0, 1, 3]];
    let narrow = [0.5, -0.0, 1e-3f32.into(), 3.0].map(|x: f64| Vec3::new(x, -x, 2.0 * x));
    let wide = [0.1, -0.0, 1e-300, std::f64::consts::PI].map(|x: f64| Vec3::new(x, -x, 2.0 * x));
    for (points, size) in [(narrow, 12), (wide, 24)] {
        let bytes = mesh::write_ply(&points, &triangles);
        let raw = mesh::read("m.ply", &bytes).unwrap();
        let bits = |p: [f64; 3]| p.map(f64::to_bits);
        let wanted: Vec<_> = points.iter().map(|p| bits((*p).into())).collect();
        assert_eq!(raw.vertices.iter().map(|p| bits(*p)).collect::<Vec<_>>(), wanted);
        assert_eq!(raw.triangles, triangles);
        let head = bytes.windows(11).position(|w| w == b"end_header\n").unwrap() + 11;
        assert_eq!(bytes.len() - head, 4 * size + 2 * 13);
    }
}
