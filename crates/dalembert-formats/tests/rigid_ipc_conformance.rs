//! Every 3D scene of rigid-ipc in the shared data is read, and its first state has no intersection.
#![cfg(feature = "conformance")]

use std::path::{Path, PathBuf};

use dalembert::collide::exact::intersections;
use dalembert::collide::{BodyGeometry, Surface, VertexMap};
use dalembert::math::Vec3;
use dalembert_formats::rigid_ipc::{self, Role};

fn scenes(folder: &Path, out: &mut Vec<PathBuf>) {
    let mut entries: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            scenes(&path, out);
        } else if path.extension().is_some_and(|e| e == "json") {
            out.push(path);
        }
    }
}

#[test]
fn all_scenes_are_read_and_start_apart() {
    let shared = std::env::var_os("DALEMBERT_SHARED").expect("DALEMBERT_SHARED names the shared data");
    let mut list = Vec::new();
    scenes(&Path::new(&shared).join("scenes/erleben/fixtures/3D"), &mut list);
    assert!(list.len() > 50, "only {} scenes", list.len());
    let mut touching = Vec::new();
    for path in &list {
        let scene = rigid_ipc::read(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        assert!(scene.warnings.is_empty(), "{}: {:?}", path.display(), scene.warnings);
        let (mut surface, mut x) = (Surface::default(), Vec::<Vec3>::new());
        for (k, body) in scene.bodies.iter().enumerate() {
            let map = |at: &Vec3| match body.role {
                Role::Dynamic => VertexMap::affine(4 * k as u32, at),
                _ => VertexMap::PRESCRIBED,
            };
            let maps: Vec<VertexMap> = body.vertices.iter().map(map).collect();
            let geometry = BodyGeometry {
                maps: &maps,
                triangles: &body.triangles,
                segments: &body.segments,
                ..Default::default()
            };
            surface.add(&geometry).unwrap_or_else(|e| panic!("{} {}: {e}", path.display(), body.name));
            x.extend(body.world_vertices());
        }
        let found = intersections(&surface, &x);
        println!(
            "{}: {} bodies, {} vertices, {} intersections",
            path.display(),
            scene.bodies.len(),
            x.len(),
            found.len()
        );
        // Bodies of one group pass through each other.
        let together = |e: u32, t: u32| {
            let [a, b] = [surface.edge_body[e as usize], surface.triangle_body[t as usize]]
                .map(|b| scene.bodies[b as usize].group);
            a.is_some() && a == b
        };
        if found.iter().any(|&(e, t)| !together(e, t)) {
            touching.push(path.display().to_string());
        }
    }
    assert!(touching.is_empty(), "intersections at the start of {touching:#?}");
}
