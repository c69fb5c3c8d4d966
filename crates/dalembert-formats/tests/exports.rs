//! What is exported is read again by others: the `gltf` crate, `ply-rs-bw`, and an XML reader.

use std::path::{Path, PathBuf};

use dalembert::prelude::*;
use dalembert::scene::{AffineBody, SoftBody, Solid};
use dalembert_formats::export::Format;
use dalembert_formats::recording::{Header, Recording, Writer};

/// Two boxes and a cone that tumble, a cloth that falls, a spring with a ball on it.
fn scene() -> Simulation {
    let mut scene = Scene { title: "exports".into(), dt: 5e-3, ..Scene::default() };
    let cube = Shape::Box { size: Vec3::new(0.2, 0.3, 0.4) };
    for (name, x) in [("first", 0.0), ("second", 1.0)] {
        let body = RigidBody::new(name, cube.clone()).mass(1.0).at([x, 0.0, 1.0]);
        scene.add(body.angular_velocity([9.0, 1.0, 0.5]));
    }
    let cone = Shape::Cone { radius: 0.1, length: 0.4 };
    scene.add(RigidBody::new("cone", cone).mass(0.5).at([2.0, 0.0, 1.0]).velocity([0.0, 1.0, 2.0]));
    let cloth = Arrangement::Cloth { size: [1.0, 1.0], count: [4, 5] };
    scene.add(ParticleSet::new("cloth", cloth).mass(0.1).position([0.0, 2.0, 1.0]));
    scene.add(SpringSet::along("weave", "cloth", Edges::Structural).stiffness(20.0));
    scene.add(Fix::points("cloth[0]"));
    scene.add(ParticleSet::at("hook", [0.0, 0.0, 2.0]));
    scene.add(ParticleSet::at("ball", [0.3, 0.0, 1.5]));
    scene.add(SpringSet::between("band", "hook", "ball").stiffness(50.0));
    scene.add(Fix::points("hook"));
    scene.build().unwrap()
}

const FRAMES: usize = 30;
/// Corners of two boxes, a cone of 32 sides, and the points.
const VERTICES: usize = 8 + 8 + 34 + 22;
const TRIANGLES: usize = 12 + 12 + 64 + 24;

fn exported(folder: &Path, ending: &str) -> (Simulation, Vec<State>, Vec<PathBuf>) {
    exported_of(scene(), folder, ending)
}

fn exported_of(mut sim: Simulation, folder: &Path, ending: &str) -> (Simulation, Vec<State>, Vec<PathBuf>) {
    let path = folder.join("run.mcap");
    let header = Header { state_len: State::packed_len(&sim.model.layout), ..Header::default() };
    let mut writer = Writer::create(&path, &header).unwrap();
    let (mut packed, mut states) = (Vec::new(), Vec::new());
    for _ in 0..FRAMES {
        sim.state.pack(&sim.model.layout, &mut packed);
        writer.write_frame(sim.state.time, sim.state.steps, &packed).unwrap();
        states.push(sim.state.clone());
        sim.step().unwrap();
    }
    writer.finish().unwrap();
    let out = folder.join(format!("out.{ending}"));
    let recording = Recording::open(&path).unwrap();
    let files = Format::of(&out).unwrap().write(&sim.model, &recording, &out).unwrap();
    (sim, states, files)
}

#[test]
fn a_glb_is_valid_and_its_animation_follows_the_bodies() {
    let folder = tempfile::tempdir().unwrap();
    let (sim, states, files) = exported(folder.path(), "glb");
    // The reader checks the whole document against the rules of glTF.
    let file = gltf::Gltf::from_slice(&std::fs::read(&files[0]).unwrap()).unwrap();
    let blob = file.blob.clone().unwrap();
    let data = |b: gltf::Buffer| (b.index() == 0).then_some(&blob[..]);
    let names: Vec<_> = file.nodes().map(|n| n.name().unwrap().to_owned()).collect();
    assert_eq!(names, ["z up", "first", "second", "cone", "points"]);
    // Up stays up: the root turns z into y.
    let (_, rotation, _) = file.nodes().next().unwrap().transform().decomposed();
    let half = 0.5f32.sqrt();
    assert!(rotation.iter().zip([-half, 0.0, 0.0, half]).all(|(a, b)| (a - b).abs() < 1e-6), "{rotation:?}");

    let animation = file.animations().next().unwrap();
    assert_eq!(animation.channels().count(), 3 * 2 + 1);
    let mut morphs = 0;
    for channel in animation.channels() {
        let reader = channel.reader(data);
        let times: Vec<f32> = reader.read_inputs().unwrap().collect();
        assert_eq!(times.len(), FRAMES);
        assert!(times.iter().zip(&states).all(|(t, s)| (f64::from(*t) - s.time).abs() < 1e-6));
        let node = channel.target().node();
        match reader.read_outputs().unwrap() {
            gltf::animation::util::ReadOutputs::Translations(places) => {
                let k = node.index() - 1;
                for (place, state) in places.zip(&states) {
                    let x = sim.model.rigid.pose(&state.q, k).position;
                    assert!((0..3).all(|i| (f64::from(place[i]) - x[i]).abs() < 1e-6));
                }
            }
            gltf::animation::util::ReadOutputs::Rotations(turns) => {
                let k = node.index() - 1;
                let turns: Vec<[f32; 4]> = turns.into_f32().collect();
                for (t, state) in turns.iter().zip(&states) {
                    let q = sim.model.rigid.pose(&state.q, k).rotation;
                    let same =
                        t.iter().zip([q.i, q.j, q.k, q.w]).map(|(a, b)| f64::from(*a) * b).sum::<f64>();
                    assert!((same.abs() - 1.0).abs() < 1e-6);
                }
                // The short way from key to key.
                assert!(
                    turns.windows(2).all(|w| w[0].iter().zip(w[1]).map(|(a, b)| a * b).sum::<f32>() > 0.0)
                );
            }
            gltf::animation::util::ReadOutputs::MorphTargetWeights(weights) => {
                assert_eq!(weights.into_f32().count(), FRAMES * (FRAMES - 1));
                morphs += 1;
            }
            gltf::animation::util::ReadOutputs::Scales(_) => panic!("nothing is scaled"),
        }
    }
    assert_eq!(morphs, 1);

    // First shape plus target k is frame k.
    let mesh = file.nodes().nth(4).unwrap().mesh().unwrap();
    let modes: Vec<_> = mesh.primitives().map(|p| p.mode()).collect();
    use gltf::mesh::Mode;
    assert_eq!(modes, [Mode::Points, Mode::Lines, Mode::Triangles]);
    let triangles = mesh.primitives().nth(2).unwrap();
    let reader = triangles.reader(data);
    assert_eq!(reader.read_indices().unwrap().into_u32().count(), 3 * 24);
    let base: Vec<[f32; 3]> = reader.read_positions().unwrap().collect();
    let last: Vec<[f32; 3]> = reader.read_morph_targets().last().unwrap().0.unwrap().collect();
    let x = &states[FRAMES - 1].q[sim.model.layout.points_q()..];
    for i in 0..base.len() {
        assert!((0..3).all(|k| (f64::from(base[i][k] + last[i][k]) - x[3 * i + k]).abs() < 1e-5), "{i}");
    }
    // Normals point outwards and have length 1.
    let solid = file.nodes().nth(1).unwrap().mesh().unwrap().primitives().next().unwrap();
    let reader = solid.reader(data);
    let corners: Vec<[f32; 3]> = reader.read_positions().unwrap().collect();
    for (p, n) in corners.iter().zip(reader.read_normals().unwrap()) {
        assert!(p.iter().zip(n).map(|(p, n)| p * n).sum::<f32>() > 0.0);
        assert!((n.iter().map(|n| n * n).sum::<f32>() - 1.0).abs() < 1e-5);
    }
}

/// Places that every frame should have, by the engine itself.
fn places(sim: &Simulation, state: &State) -> Vec<Vec3> {
    let mut out = Vec::new();
    for (k, shape) in sim.model.shapes.iter().enumerate() {
        let pose = sim.model.rigid.pose(&state.q, k);
        out.extend(shape.triangles().vertices().iter().map(|p| pose.point(p)));
    }
    let points = sim.model.points(state.time, &state.q, &state.v);
    out.extend((0..points.len()).map(|i| points.position(i)));
    out
}

#[test]
fn a_ply_sequence_is_read_again_with_the_places_of_every_frame() {
    use ply_rs_bw::ply::{DefaultElement, Property};
    let folder = tempfile::tempdir().unwrap();
    let (sim, states, files) = exported(folder.path(), "ply");
    assert_eq!(files.len(), FRAMES);
    assert_eq!(files[7].file_name().unwrap(), "out_0007.ply");
    for (file, state) in files.iter().zip(&states) {
        let bytes = std::fs::read(file).unwrap();
        let ply = ply_rs_bw::parser::Parser::<DefaultElement>::new().read_ply(&mut &bytes[..]).unwrap();
        let (vertices, faces) = (&ply.payload["vertex"], &ply.payload["face"]);
        assert_eq!((vertices.len(), faces.len(), ply.payload["edge"].len()), (VERTICES, TRIANGLES, 1));
        for (vertex, place) in vertices.iter().zip(places(&sim, state)) {
            for (k, name) in ["x", "y", "z"].iter().enumerate() {
                let Property::Double(x) = vertex[*name] else { panic!("{vertex:?}") };
                assert_eq!(x, place[k], "the same bits");
            }
        }
        for face in faces {
            let Property::ListInt(corners) = &face["vertex_indices"] else { panic!("{face:?}") };
            assert!(corners.len() == 3 && corners.iter().all(|i| (*i as usize) < VERTICES));
        }
    }
}

/// The numbers of a base64 array behind its length.
fn array(node: roxmltree::Node) -> Vec<u8> {
    let value = |c: u8| match c {
        b'A'..=b'Z' => c - b'A',
        b'a'..=b'z' => c - b'a' + 26,
        b'0'..=b'9' => c - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        other => panic!("{other} is no letter of base64"),
    };
    let text = node.text().unwrap().trim();
    let mut out = Vec::new();
    for four in text.trim_end_matches('=').as_bytes().chunks(4) {
        let bits = four.iter().fold(0u32, |b, c| b << 6 | u32::from(value(*c))) << (6 * (4 - four.len()));
        out.extend(&bits.to_be_bytes()[1..four.len()]);
    }
    let rest = out.split_off(8);
    assert_eq!(u64::from_le_bytes(out.try_into().unwrap()), rest.len() as u64);
    rest
}

#[test]
fn a_vtp_sequence_is_read_again_and_its_collection_gives_the_times() {
    let folder = tempfile::tempdir().unwrap();
    let (sim, states, files) = exported(folder.path(), "vtp");
    let text = std::fs::read_to_string(files.last().unwrap()).unwrap();
    let collection = roxmltree::Document::parse(&text).unwrap();
    let sets: Vec<_> = collection.descendants().filter(|n| n.has_tag_name("DataSet")).collect();
    assert_eq!(sets.len(), FRAMES);
    for (set, state) in sets.iter().zip(&states) {
        assert_eq!(set.attribute("timestep").unwrap().parse::<f64>().unwrap(), state.time);
        let text = std::fs::read_to_string(folder.path().join(set.attribute("file").unwrap())).unwrap();
        let file = roxmltree::Document::parse(&text).unwrap();
        let piece = file.descendants().find(|n| n.has_tag_name("Piece")).unwrap();
        let count = |name: &str| piece.attribute(name).unwrap().parse::<usize>().unwrap();
        assert_eq!((count("NumberOfPoints"), count("NumberOfPolys")), (VERTICES, TRIANGLES));
        assert_eq!((count("NumberOfVerts"), count("NumberOfLines")), (2, 1));
        let find = |parent: &str, name: &str| {
            let parent = piece.children().find(|n| n.has_tag_name(parent)).unwrap();
            let node = parent.children().find(|n| n.attribute("Name") == Some(name)).unwrap();
            (array(node), node.attribute("type").unwrap())
        };
        let doubles = |bytes: Vec<u8>| -> Vec<f64> {
            bytes.chunks_exact(8).map(|b| f64::from_le_bytes(b.try_into().unwrap())).collect()
        };
        let ints = |bytes: Vec<u8>| -> Vec<i32> {
            bytes.chunks_exact(4).map(|b| i32::from_le_bytes(b.try_into().unwrap())).collect()
        };
        let (found, kind) = find("Points", "Points");
        assert_eq!(kind, "Float64");
        let wanted: Vec<f64> = places(&sim, state).iter().flat_map(|p| [p.x, p.y, p.z]).collect();
        assert_eq!(doubles(found), wanted, "the same bits");
        let (velocities, kind) = find("PointData", "velocity");
        assert_eq!((doubles(velocities).len(), kind), (3 * VERTICES, "Float64"));
        assert_eq!(ints(find("PointData", "body").0).len(), VERTICES);
        let corners = ints(find("Polys", "connectivity").0);
        assert!(corners.len() == 3 * TRIANGLES && corners.iter().all(|i| (*i as usize) < VERTICES));
        assert_eq!(ints(find("Polys", "offsets").0).last(), Some(&(3 * TRIANGLES as i32)));
    }
}

#[test]
fn a_point_cache_has_every_point_of_every_frame() {
    let folder = tempfile::tempdir().unwrap();
    let (sim, states, files) = exported(folder.path(), "pc2");
    let bytes = std::fs::read(&files[0]).unwrap();
    let int = |at: usize| i32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
    assert_eq!(&bytes[..12], b"POINTCACHE2\0");
    assert_eq!((int(12), int(16), int(28)), (1, 22, FRAMES as i32));
    assert_eq!(bytes.len(), 32 + FRAMES * 22 * 12);
    let mut numbers = bytes[32..].chunks_exact(4).map(|b| f32::from_le_bytes(b.try_into().unwrap()));
    for x in states.iter().flat_map(|s| &s.q[sim.model.layout.points_q()..]) {
        assert_eq!(numbers.next(), Some(*x as f32));
    }
}

#[test]
fn an_export_that_fails_leaves_no_file() {
    let folder = tempfile::tempdir().unwrap();
    let (sim, ..) = exported(folder.path(), "pc2");
    let recording = Recording::open(folder.path().join("run.mcap")).unwrap();
    for (ending, format) in Format::ALL {
        let out = folder.path().join("none").join(format!("out.{ending}"));
        let error = format.write(&sim.model, &recording, &out).unwrap_err();
        assert!(error.to_string().contains("does not exist"), "{error}");
    }
    assert!(!folder.path().join("none").exists());
}

#[test]
fn soft_and_affine_bodies_are_exported_by_their_surfaces() {
    let mut scene = Scene { method: Method::Implicit(Implicit::default()), dt: 5e-3, ..Scene::default() };
    let block = Solid::Box { size: Vec3::new(1.0, 1.0, 1.0), cells: [2, 2, 2] };
    scene.add(SoftBody { young: 1e6, position: Vec3::new(5.0, 0.0, 7.0), ..SoftBody::new("block", block) });
    let cube = Shape::Box { size: Vec3::new(0.2, 0.3, 0.4) };
    scene.add(AffineBody { position: Vec3::new(5.0, 5.0, 7.0), ..AffineBody::new("cube", cube) });
    let folder = tempfile::tempdir().unwrap();
    let (sim, _, files) = exported_of(scene.build().unwrap(), folder.path(), "vtp");
    let text = std::fs::read_to_string(&files[0]).unwrap();
    // Two triangles for each of 24 squares of the block, twelve for the cube's skin; nothing is loose.
    let skin = sim.model.block("cube skin").unwrap().points.len();
    let points = 27 + 4 + skin;
    for part in
        [format!("NumberOfPoints=\"{points}\""), "NumberOfVerts=\"0\"".into(), "NumberOfPolys=\"60\"".into()]
    {
        assert!(text.contains(&part), "{part}: {}", &text[..600]);
    }
    let (_, _, files) = exported_of(sim, folder.path(), "glb");
    let file = gltf::Gltf::from_slice(&std::fs::read(&files[0]).unwrap()).unwrap();
    let mesh = file.meshes().next().unwrap();
    let triangles = mesh.primitives().filter(|p| p.mode() == gltf::mesh::Mode::Triangles);
    assert_eq!(triangles.map(|p| p.indices().unwrap().count()).sum::<usize>(), 3 * 60);
    // The columns of a deformation are no places: nothing lies near the origin.
    let low = mesh.primitives().next().unwrap().bounding_box().min;
    assert!(low[0] > 4.0 && low[2] > 5.0, "{low:?}");
}
