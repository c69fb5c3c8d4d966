//! Mesh files: what is written is read again, the same mesh in any format is the same, and damage is named.

use dalembert::math::Vec3;
use dalembert::mesh::{HexMesh, SegmentMesh, SurfaceMesh, TetMesh};
use dalembert_formats::mesh::{
    RawMesh, VolumeMesh, read, read_mesh, read_surface, read_volume, write_gmsh, write_vtk,
};

const OBJ: &str = "# a tetrahedron\nv 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nvn 0 0 1\nf 1//1 3//1 2//1\nf 1 2 4\nf -3 -2 -1\nf 1 4 3\n";

/// Two tetrahedra, a triangle and a segment, with numbers that do not begin at 1 and a node that nothing uses.
const MSH_41: &str = "\
$MeshFormat
4.1 0 8
$EndMeshFormat
$PhysicalNames
1
3 1 \"body\"
$EndPhysicalNames
$Entities
0 0 0 0
$EndEntities
$Nodes
2 6 10 90
2 1 0 4
10
20
30
40
0 0 0
1 0 0
0 1 0
0 0 1
2 2 1 2
50
90
1 1 1 0.5 0.5
7 7 7 0.1 0.2
$EndNodes
$Elements
4 5 1 5
0 1 15 1
1 10
1 1 1 1
2 10 20
2 1 2 1
3 10 30 20
3 1 4 2
4 10 20 30 40
5 20 30 40 50
$EndElements
";

fn samples() -> Vec<RawMesh> {
    let size = Vec3::new(1.0, 0.3, 1.0 / 3.0);
    vec![
        RawMesh::from(&TetMesh::block(size, [2, 1, 2]).unwrap()),
        RawMesh::from(&HexMesh::ball(0.1, 2).unwrap()),
        RawMesh::from(&SurfaceMesh::grid([1.0, 2.0], [2, 2], Default::default()).unwrap()),
        RawMesh::from(&SegmentMesh::rod(Vec3::x(), Vec3::y(), 5).unwrap()),
    ]
}

#[test]
fn what_is_written_is_read_again_bit_for_bit() {
    for mesh in samples() {
        assert_eq!(read("a.msh", write_gmsh(&mesh).as_bytes()).unwrap(), mesh);
        assert_eq!(read("a.vtk", write_vtk(&mesh).as_bytes()).unwrap(), mesh);
    }
}

#[test]
fn the_same_solid_in_four_formats_is_the_same_mesh() {
    let one = read("a.obj", OBJ.as_bytes()).unwrap();
    assert_eq!((one.vertices.len(), one.triangles.len()), (4, 4));
    let mut text = String::from("solid t\n");
    let mut binary = vec![0u8; 80];
    binary.extend(4u32.to_le_bytes());
    for t in &one.triangles {
        text += "facet normal 0 0 0\nouter loop\n";
        binary.extend([0u8; 12]);
        for i in t {
            let [x, y, z] = one.vertices[*i as usize];
            text += &format!("vertex {x} {y} {z}\n");
            binary.extend([x, y, z].iter().flat_map(|x| (*x as f32).to_le_bytes()));
        }
        text += "endloop\nendfacet\n";
        binary.extend([0u8; 2]);
    }
    let (a, b) = (read("a.stl", text.as_bytes()).unwrap(), read("A.STL", &binary).unwrap());
    assert_eq!(a, b);
    assert_eq!((a.vertices.len(), a.triangles.len()), (4, 4));
    for bytes in ply_files(&one) {
        assert_eq!(read("a.ply", &bytes).unwrap(), one);
    }
}

/// The same surface as PLY text and in both byte orders, with properties and elements that say nothing.
fn ply_files(mesh: &RawMesh) -> [Vec<u8>; 3] {
    let header = |format: &str| {
        format!(
            "ply\nformat {format} 1.0\ncomment made by a test\nelement vertex {}\nproperty uchar red\nproperty double x\n\
             property double y\nproperty float z\nelement face {}\nproperty list uchar int vertex_indices\n\
             property list ushort float more\nelement other 1\nproperty short a\nend_header\n",
            mesh.vertices.len(),
            mesh.triangles.len()
        )
    };
    let mut text = header("ascii");
    let [mut little, mut big] = ["binary_little_endian", "binary_big_endian"].map(|f| header(f).into_bytes());
    for [x, y, z] in &mesh.vertices {
        text += &format!("200 {x} {y} {z}\n");
        little.push(200);
        big.push(200);
        little.extend([x, y].iter().flat_map(|x| x.to_le_bytes()));
        big.extend([x, y].iter().flat_map(|x| x.to_be_bytes()));
        little.extend((*z as f32).to_le_bytes());
        big.extend((*z as f32).to_be_bytes());
    }
    for t in &mesh.triangles {
        text += &format!("3 {} {} {} 2 0.5 nan\n", t[0], t[1], t[2]);
        for (out, swap) in [(&mut little, false), (&mut big, true)] {
            let mut put = |mut bytes: Vec<u8>| {
                if swap {
                    bytes.reverse();
                }
                out.extend(bytes);
            };
            put(vec![3]);
            t.iter().for_each(|i| put(i.to_le_bytes().to_vec()));
            put(2u16.to_le_bytes().to_vec());
            [0.5f32, f32::NAN].iter().for_each(|x| put(x.to_le_bytes().to_vec()));
        }
    }
    text += "-7\n";
    little.extend((-7i16).to_le_bytes());
    big.extend((-7i16).to_be_bytes());
    [text.into_bytes(), little, big]
}

/// Gmsh's binary forms of a mesh of tetrahedra.
fn gmsh_binaries(mesh: &RawMesh) -> [Vec<u8>; 2] {
    let mut two = b"$MeshFormat\n2.2 1 8\n".to_vec();
    two.extend(1i32.to_le_bytes());
    two.extend(format!("\n$EndMeshFormat\n$Nodes\n{}\n", mesh.vertices.len()).bytes());
    let mut four = b"$MeshFormat\n4.1 1 8\n".to_vec();
    four.extend(1i32.to_le_bytes());
    four.extend(b"\n$EndMeshFormat\n$Nodes\n");
    let (nodes, tets) = (mesh.vertices.len() as u64, mesh.tets.len() as u64);
    let sizes = |out: &mut Vec<u8>, list: &[u64]| list.iter().for_each(|n| out.extend(n.to_le_bytes()));
    let ints = |out: &mut Vec<u8>, list: &[i32]| list.iter().for_each(|n| out.extend(n.to_le_bytes()));
    sizes(&mut four, &[1, nodes, 1, nodes]);
    ints(&mut four, &[3, 1, 0]);
    sizes(&mut four, &[nodes]);
    (1..=nodes).for_each(|tag| sizes(&mut four, &[tag]));
    for (k, p) in mesh.vertices.iter().enumerate() {
        ints(&mut two, &[k as i32 + 1]);
        for out in [&mut two, &mut four] {
            p.iter().for_each(|x| out.extend(x.to_le_bytes()));
        }
    }
    two.extend(format!("\n$EndNodes\n$Elements\n{tets}\n").bytes());
    four.extend(b"\n$EndNodes\n$Elements\n");
    ints(&mut two, &[4, tets as i32, 2]);
    sizes(&mut four, &[1, tets, 1, tets]);
    ints(&mut four, &[3, 1, 4]);
    sizes(&mut four, &[tets]);
    for (k, t) in mesh.tets.iter().enumerate() {
        ints(&mut two, &[k as i32 + 1, 0, 0]);
        ints(&mut two, &t.map(|i| i as i32 + 1));
        sizes(&mut four, &[k as u64 + 1]);
        sizes(&mut four, &t.map(|i| u64::from(i) + 1));
    }
    two.extend(b"\n$EndElements\n");
    four.extend(b"\n$EndElements\n");
    [two, four]
}

/// Legacy VTK, binary, with the lists of version 5.1.
fn vtk_binary(mesh: &RawMesh) -> Vec<u8> {
    let mut out = b"# vtk DataFile Version 5.1\nt\nBINARY\nDATASET UNSTRUCTURED_GRID\n".to_vec();
    out.extend(format!("POINTS {} double\n", mesh.vertices.len()).bytes());
    mesh.vertices.iter().flatten().for_each(|x| out.extend(x.to_be_bytes()));
    out.extend(
        format!("\nMETADATA\nINFORMATION 0\n\nCELLS {} {}\n", mesh.tets.len() + 1, 4 * mesh.tets.len())
            .bytes(),
    );
    out.extend(b"OFFSETS vtktypeint64\n");
    (0..=mesh.tets.len() as i64).for_each(|k| out.extend((4 * k).to_be_bytes()));
    out.extend(b"\nCONNECTIVITY vtktypeint64\n");
    mesh.tets.iter().flatten().for_each(|i| out.extend(i64::from(*i).to_be_bytes()));
    out.extend(format!("\nCELL_TYPES {}\n", mesh.tets.len()).bytes());
    mesh.tets.iter().for_each(|_| out.extend(10i32.to_be_bytes()));
    out.extend(b"\nCELL_DATA 3\nwhatever");
    out
}

#[test]
fn binary_files_say_the_same_as_text() {
    let mesh = &samples()[0];
    for bytes in gmsh_binaries(mesh) {
        assert_eq!(&read("a.msh", &bytes).unwrap(), mesh);
    }
    assert_eq!(&read("a.vtk", &vtk_binary(mesh)).unwrap(), mesh);
}

#[test]
fn numbers_of_nodes_may_be_any() {
    let mesh = read("a.msh", MSH_41.as_bytes()).unwrap();
    assert_eq!(mesh.vertices.len(), 6);
    assert_eq!((&mesh.segments[..], &mesh.triangles[..]), (&[[0, 1]][..], &[[0, 2, 1]][..]));
    assert_eq!(mesh.tets, [[0, 1, 2, 3], [1, 2, 3, 4]]);
    let Some(VolumeMesh::Tets(tets)) = mesh.volume() else { panic!("tetrahedra are missing") };
    assert_eq!(tets.points.len(), 5);
    assert!((tets.volume() - 1.0 / 6.0 - 1.0 / 3.0).abs() < 1e-15);
}

#[test]
fn cells_of_other_kinds_become_segments_and_triangles() {
    let text = "# vtk DataFile Version 3.0\n\nASCII\nDATASET POLYDATA\nPOINTS 5 float\n0 0 0 1 0 0 1 1 0 0 1 0 0.5 2 0\n\
                LINES 1 4\n3 0 1 2\nPOLYGONS 1 6\n5 0 1 2 4 3\nTRIANGLE_STRIPS 1 5\n4 0 1 3 2\n";
    let mesh = read("a.vtk", text.as_bytes()).unwrap();
    assert_eq!(mesh.segments, [[0, 1], [1, 2]]);
    assert_eq!(mesh.triangles, [[0, 1, 2], [0, 2, 4], [0, 4, 3], [0, 1, 3], [1, 2, 3]]);
    assert_eq!(mesh.notes, ["its faces of more than three corners are cut into triangles"]);
    let text = "# vtk DataFile Version 3.0\n\nASCII\nDATASET UNSTRUCTURED_GRID\nPOINTS 8 float\n0 0 0 1 0 0 0 1 0 1 1 0 \
                0 0 1 1 0 1 0 1 1 1 1 1\nCELLS 2 13\n8 0 1 2 3 4 5 6 7\n3 0 1 2\nCELL_TYPES 2\n11\n5\n";
    let Some(VolumeMesh::Hexes(hexes)) = read("a.vtk", text.as_bytes()).unwrap().volume() else {
        panic!("the voxel is missing")
    };
    assert!((hexes.volume() - 1.0).abs() < 1e-15);
}

#[test]
fn a_solid_gives_its_outside_as_a_surface_and_a_surface_is_no_solid() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let tets = TetMesh::block(Vec3::repeat(1.0), [2, 2, 2]).unwrap();
    std::fs::write(path("block.msh"), write_gmsh(&(&tets).into())).unwrap();
    std::fs::write(path("skin.obj"), OBJ).unwrap();
    let block = std::fs::read(path("block.msh")).unwrap();
    assert_eq!(read_volume("block.msh", &block).unwrap(), VolumeMesh::Tets(tets.clone()));
    let skin = read_surface("block.msh", write_gmsh(&(&tets).into()).as_bytes()).unwrap();
    assert!((skin.enclosed_volume() - 1.0).abs() < 1e-14);
    let error = read_volume("skin.obj", OBJ.as_bytes()).unwrap_err();
    assert!(error.to_string().ends_with(
        "skin.obj: it has neither tetrahedra nor hexahedra; its 4 triangles are a surface: fill it with \
         tetrahedra in a mesh generator"
    ));
    assert_eq!(read_mesh(&path("skin.obj")).unwrap().triangles.len(), 4);
    assert!(read_mesh(&path("none.obj")).unwrap_err().to_string().contains("cannot be read"));
    assert!(read_mesh(folder.path()).unwrap_err().to_string().contains("it is a folder"));
}

fn refused(cases: &[(&str, String, &str)]) {
    for (name, text, part) in cases {
        let error = read(name, text.as_bytes()).expect_err(text).to_string();
        assert!(error.contains(part), "{text:?}: {error}");
    }
}

#[test]
fn damaged_surfaces_are_refused_with_their_line() {
    let ply = |rest: &str| format!("ply\nformat ascii 1.0\n{rest}");
    let xyz = "property float x\nproperty float y\nproperty float z\n";
    refused(&[
        ("a.step", String::new(), "a.step: its name must end in .obj, .stl, .ply, .msh or .vtk"),
        ("obj", "v 0 0 0".into(), "its name must end"),
        ("a.obj", "v 0 0\n".into(), "a.obj:1: a vertex needs three numbers"),
        ("a.obj", "v 0 0 nan\n".into(), "no finite number"),
        ("a.obj", "v 0 0 0\nf 1 2 3\n".into(), "a.obj:2: corner 2"),
        ("a.obj", "v 0 0 0\nf 1 1\n".into(), "2 corners"),
        ("a.obj", "v 0 0 0\nf 1 x 1\n".into(), "`x` is no corner"),
        ("a.obj", "v 0 0 0\nf 0 1 1\n".into(), "corner 0"),
        ("a.obj", "v 0 0 0\nf -9223372036854775808 1 1\n".into(), "corner -9223372036854775808"),
        ("a.stl", "hello".into(), "neither"),
        ("a.stl", "x".repeat(100), "announces 2021161080 facets"),
        ("a.stl", "solid\nvertex 0 0 0\nendfacet\n".into(), "a.stl:3: a facet has 1 corners"),
        ("a.stl", "solid\nvertex 0 0 0\n".into(), "a.stl:2: the file ends inside facet 0"),
        ("a.ply", "plx".into(), "a.ply:1: a PLY file begins"),
        ("a.ply", ply("element vertex 1\n"), "no `end_header`"),
        ("a.ply", ply("element vertex 1\nproperty quad x\n"), "a.ply:4: `quad` is no kind of number"),
        (
            "a.ply",
            ply("element vertex 1000000000000\nproperty float x\nend_header\n"),
            "the number of `vertex` elements is 1000000000000",
        ),
        ("a.ply", ply("element vertex 1\nproperty float x\nend_header\n1\n"), "no properties x, y and z"),
        (
            "a.ply",
            ply(&format!("element vertex 1\n{xyz}end_header\n0 0\n")),
            "the file ends where z of vertex 0",
        ),
        (
            "a.ply",
            ply(&format!(
                "element vertex 1\n{xyz}element face 1\nproperty list uchar int vertex_index\nend_header\n0 0 0\n3 0 0 1\n"
            )),
            "a.ply:11: face 0 names vertex 1, but there are only 1 vertices",
        ),
    ]);
    let error = read_surface("a.obj", b"v 0 0 0\n").unwrap_err();
    assert_eq!(error.to_string(), "a.obj: it has no triangles");
}

#[test]
fn damaged_volumes_are_refused_with_their_line() {
    let vtk = |rest: &str| format!("# vtk DataFile Version 3.0\n\nASCII\nDATASET UNSTRUCTURED_GRID\n{rest}");
    let msh = |rest: &str| format!("$MeshFormat\n2.2 0 8\n$EndMeshFormat\n{rest}");
    let nodes = "$Nodes\n2\n1 0 0 0\n2 1 0 0\n$EndNodes\n";
    refused(&[
        ("a.msh", String::new(), "begins with `$MeshFormat`"),
        (
            "a.msh",
            "$MeshFormat\n1.0 0 8\n$EndMeshFormat\n".into(),
            "a.msh:2: version 1 of the Gmsh format is not read; save it as",
        ),
        (
            "a.msh",
            msh("$Nodes\n1000000000000\n1 0 0 0\n"),
            "a.msh:5: the number of nodes is 1000000000000, but only 9 bytes",
        ),
        ("a.msh", msh("$Nodes\n-3\n"), "the number of nodes is -3"),
        ("a.msh", msh("$Nodes\n2\n1 0 0 0\n2 nan 0 0\n"), "a.msh:7: x of node 2 is `nan`"),
        ("a.msh", msh("$Nodes\n2\n1 0 0 0\n1 1 0 0\n$EndNodes\n"), "node 1 is given twice"),
        (
            "a.msh",
            msh("$Nodes\n2\n1 0 0 0\n2 1"),
            "a.msh:7: the file ends where y of node 2 should stand; the file may",
        ),
        ("a.msh", msh("$Nodes\n1\n1 0 0 0\n2 1 0 0\n$EndNodes"), "a.msh:7: `$EndNodes` should stand where"),
        (
            "a.msh",
            msh(&format!("{nodes}$Elements\n1\n7 1 2 0 0 1 9\n")),
            "a.msh:11: element 7 names node 9, which is not given; the file has nodes 1 to 2",
        ),
        (
            "a.msh",
            msh(&format!("{nodes}$Elements\n1\n7 6 0 1 1 1 1 1 1\n")),
            "element 7 is a prism, which is not supported; mesh",
        ),
        ("a.msh", msh(&format!("{nodes}$Elements\n1\n7 777 0 1\n")), "element 7 has type 777"),
        ("a.msh", msh("$Elements\n0\n"), "`$Elements` stands before `$Nodes`"),
        ("a.msh", msh("$Data\n1 2 3\n"), "the file ends before `$EndData`"),
        ("a.vtk", "<VTKFile>".into(), "a.vtk:1: a legacy VTK file begins with `# vtk DataFile Version`; XML"),
        (
            "a.vtk",
            "# vtk DataFile Version 3.0\n\nASCII\nDATASET STRUCTURED_GRID\n".into(),
            "a.vtk:4: `DATASET STRUCTURED_G` is not read",
        ),
        ("a.vtk", vtk("POINTS 99999999999 float\n"), "the count is 99999999999"),
        ("a.vtk", vtk("POINTS 1 float\n0 0 inf\n"), "a.vtk:6: z of point 0 is `inf`"),
        (
            "a.vtk",
            vtk("POINTS 1 float\n0 0 0\nCELLS 1 3\n2 0 1\nCELL_TYPES 1\n3\n"),
            "cell 0 names vertex 1, but there are only 1 vertices",
        ),
        ("a.vtk", vtk("POINTS 1 float\n0 0 0\nCELLS 1 4\n2 0 0\nCELL_TYPES 1\n3\n"), "3 numbers, but 4"),
        (
            "a.vtk",
            vtk("POINTS 1 float\n0 0 0\nCELLS 1 3\n2 0 0\nCELL_TYPES 1\n10\n"),
            "cell 0 is a tetrahedron with 2 points",
        ),
        ("a.vtk", vtk("POINTS 1 float\n0 0 0\nCELLS 1 3\n2 0 0\n"), "1 cells, but 0 cell types"),
    ]);
}
