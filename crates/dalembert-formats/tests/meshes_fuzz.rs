//! Whatever the bytes, a mesh file is read or refused: no panic, no endless loop, no memory on trust.

mod mutate;

use dalembert::math::Vec3;
use dalembert::mesh::{HexMesh, TetMesh};
use dalembert_formats::mesh::{RawMesh, read, write_gmsh, write_vtk};
use mutate::{Chance, mutate, swap_value, swap_word};

/// Small files of every kind, text and binary.
fn samples() -> Vec<(&'static str, Vec<u8>)> {
    let tets = RawMesh::from(&TetMesh::block(Vec3::repeat(1.0), [1, 1, 1]).unwrap());
    let hexes = RawMesh::from(&HexMesh::block(Vec3::repeat(1.0), [2, 1, 1]).unwrap());
    let obj = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1//1 3//1 2//1\nf 1 2 4\nf -3 -2 -1\nf 1/2 4/2/3 3 2\nl 1 2 3\n";
    let stl = "solid t\nfacet normal 0 0 1\nouter loop\nvertex 0 0 0\nvertex 1 0 0\nvertex 0 1 0\nendloop\nendfacet\nendsolid\n";
    let mut stl_binary = vec![0; 80];
    stl_binary.extend(2u32.to_le_bytes());
    stl_binary.extend((0..100).map(|k| k as u8));
    let ply = "ply\nformat ascii 1.0\nelement vertex 3\nproperty float x\nproperty float y\nproperty double z\n\
               element face 1\nproperty list uchar int vertex_indices\nelement edge 1\nproperty int vertex1\n\
               property int vertex2\nend_header\n0 0 0\n1 0 0\n0 1 0\n3 0 1 2\n0 1\n";
    let head = ply.split("end_header\n").next().unwrap_or("");
    let mut ply_binary = head.replace("ascii", "binary_big_endian").into_bytes();
    ply_binary.extend(b"end_header\n");
    for x in [0.0f32, 1.0, 2.0] {
        ply_binary.extend(x.to_be_bytes());
        ply_binary.extend(x.to_be_bytes());
        ply_binary.extend(1.5f64.to_be_bytes());
    }
    ply_binary.push(3);
    [0i32, 1, 2, 0, 2].iter().for_each(|i| ply_binary.extend(i.to_be_bytes()));
    let msh4 = "$MeshFormat\n4.1 0 8\n$EndMeshFormat\n$Nodes\n1 4 1 4\n3 1 0 4\n1\n2\n3\n4\n0 0 0\n1 0 0\n0 1 0\n0 0 1\n\
                $EndNodes\n$Elements\n1 1 1 1\n3 1 4 1\n1 1 2 3 4\n$EndElements\n";
    let mut msh_binary = b"$MeshFormat\n2.2 1 8\n\x01\0\0\0\n$EndMeshFormat\n$Nodes\n2\n".to_vec();
    for k in 1..=2i32 {
        msh_binary.extend(k.to_le_bytes());
        (0..3).for_each(|_| msh_binary.extend(f64::from(k).to_le_bytes()));
    }
    msh_binary.extend(b"\n$EndNodes\n$Elements\n1\n");
    [1i32, 1, 2, 1, 0, 0, 1, 2].iter().for_each(|i| msh_binary.extend(i.to_le_bytes()));
    msh_binary.extend(b"\n$EndElements\n");
    let mut vtk_binary =
        b"# vtk DataFile Version 2.0\nt\nBINARY\nDATASET POLYDATA\nPOINTS 3 float\n".to_vec();
    (0..9).for_each(|k| vtk_binary.extend((k as f32).to_be_bytes()));
    vtk_binary.extend(b"\nPOLYGONS 1 4\n");
    [3i32, 0, 1, 2].iter().for_each(|i| vtk_binary.extend(i.to_be_bytes()));
    let vtk5 = "# vtk DataFile Version 5.1\nt\nASCII\nDATASET UNSTRUCTURED_GRID\nPOINTS 4 double\n0 0 0 1 0 0 0 1 0 0 0 1\n\
                METADATA\nINFORMATION 0\n\nCELLS 3 7\nOFFSETS vtktypeint64\n0 4 7\nCONNECTIVITY vtktypeint64\n\
                0 1 2 3 0 1 2\nCELL_TYPES 2\n10\n5\n";
    vec![
        ("a.obj", obj.into()),
        ("a.stl", stl.into()),
        ("a.stl", stl_binary),
        ("a.ply", ply.into()),
        ("a.ply", ply_binary),
        ("a.msh", write_gmsh(&tets).into_bytes()),
        ("a.msh", msh4.into()),
        ("a.msh", msh_binary),
        ("a.vtk", write_vtk(&hexes).into_bytes()),
        ("a.vtk", vtk_binary),
        ("a.vtk", vtk5.into()),
    ]
}

#[test]
fn no_bytes_make_a_mesh_reader_panic() {
    let mut chance = Chance(0x2545_f491_4f6c_dd1d);
    let samples = samples();
    for (name, bytes) in &samples {
        read(name, bytes).unwrap();
    }
    let (mut good, mut bad) = (0, 0);
    for round in 0..60_000 {
        let (name, text) = &samples[round % samples.len()];
        let (_, other) = &samples[chance.below(samples.len())];
        let mut bytes = text.clone();
        let how = chance.below(3);
        for _ in 0..=chance.below(4) {
            match how {
                0 => swap_word(&mut bytes, &mut chance),
                1 => swap_value(&mut bytes, &mut chance),
                _ => mutate(&mut bytes, other, &mut chance),
            }
        }
        match read(name, &bytes) {
            Ok(mesh) => {
                good += 1;
                assert!(mesh.vertices.iter().flatten().all(|x| x.is_finite()));
                let inside = |i: &u32| (*i as usize) < mesh.vertices.len();
                assert!(
                    mesh.segments.iter().flatten().all(inside) && mesh.triangles.iter().flatten().all(inside)
                );
                assert!(mesh.tets.iter().flatten().all(inside) && mesh.hexes.iter().flatten().all(inside));
                // Whatever was read can be looked at.
                let reports = [
                    mesh.segment_mesh().report(),
                    mesh.surface_mesh().report(),
                    mesh.tet_mesh().report(),
                    mesh.hex_mesh().report(),
                ];
                assert!(reports.iter().all(|r| r.problems().len() < 10));
            }
            Err(error) => {
                bad += 1;
                assert!(error.to_string().len() < 1000);
            }
        }
    }
    assert!(good > 3000 && bad > 10_000, "{good} read, {bad} refused");
}
