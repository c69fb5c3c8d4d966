//! Soft things in scene files: what they mean, and the lines that mistakes are reported at.

use dalembert::prelude::*;
use dalembert_formats::error::SceneFileError;
use dalembert_formats::mesh::{RawMesh, write_gmsh};
use dalembert_formats::scene::{Built, load, load_text};
use dalembert_formats::source::Includes;

const EVERYTHING: &str = include_str!("scenes/deformable.toml");

fn read(name: &str, text: &str) -> Result<Built, SceneFileError> {
    load_text(name, text, Includes::None).and_then(|file| file.build())
}

#[track_caller]
fn build(text: &str) -> Built {
    read("a.toml", text).unwrap_or_else(|e| panic!("{e}"))
}

fn value(built: &Built, text: &str) -> f64 {
    let sim = &built.simulation;
    Quantity::parse(&sim.model, text).unwrap_or_else(|e| panic!("{e}")).value(&sim.model, &sim.state)
}

#[test]
fn a_scene_with_every_table_of_soft_things_runs_and_reads_back() {
    let mut toml = build(EVERYTHING);
    assert!(toml.warnings.is_empty(), "{:?}", toml.warnings);
    let json = read("a.json", &toml.json).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(toml.simulation.state, json.simulation.state);
    assert_eq!(toml.json, json.json);
    // A quarter of a tetrahedron's cube: ρ · 0.3³ / 6.
    let model = &toml.simulation.model;
    let corner = model.block("corner").unwrap().points.clone();
    let mass: f64 = corner.map(|i| model.particles.mass[i]).sum();
    assert!((mass - 1000.0 * 0.027 / 6.0).abs() < 1e-12, "{mass}");
    let surfaces: Vec<&str> = model.surfaces.iter().map(|s| s.name.as_str()).collect();
    let drawn =
        ["block", "ring", "peel", "flag", "cap", "brick skin", "flagcloth", "balloon", "cable", "hook"];
    assert!(drawn.iter().all(|n| surfaces.contains(n)));
    let before = value(&toml, "handle.x");
    toml.simulation.run(0.05).unwrap();
    assert!(value(&toml, "handle.x").is_finite() && (value(&toml, "handle.x") - before).abs() < 0.1);
    assert!(toml.simulation.state.q.iter().all(|x| x.is_finite()));
}

#[test]
fn a_total_push_is_divided_over_the_points_of_a_region() {
    let text = |push: &str| {
        format!(
            "gravity = [0, 0, 0]\nmethod = \"implicit\"\n[[soft]]\nname = \"b\"\nbox = {{ size = [1, 1, 1], cells = [1, 1, 1] }}\n\
             [[push]]\non = \"b\"\ninside = {{ plane = {{ through = [0, 0, 0.5] }} }}\nforce = [0, 0, 8]\n{push}"
        )
    };
    let momentum = |push: &str| {
        let mut built = build(&text(push));
        built.simulation.step().unwrap();
        value(&built, "momentum.z")
    };
    assert!((momentum("total = true") - 8e-3).abs() < 1e-9, "{}", momentum("total = true"));
    assert!((momentum("") - 4.0 * 8e-3).abs() < 1e-9, "{}", momentum(""));
}

/// A soft body; what follows begins at line 6.
const SOFT: &str = "\
method = \"implicit\"
[[soft]]
name = \"block\"
box = { size = [1, 1, 1], cells = [2, 2, 2] }
young = 1e4
";

/// A mistake: `@` stands before the place where it must be told, with a part of the message or help.
const BAD: &[(&str, &str)] = &[
    ("@[[soft]]\nname = \"a\"", "exactly one of `box`, `cylinder`"),
    ("[[soft]]\nname = @\"block\"\nball = { radius = 1, cells = 2 }", "the name `block` is taken"),
    ("[[soft]]\nname = \"a\"\nball = { radius = 1, cells = @1000 }", "from 1 to 512"),
    ("[[soft]]\nname = \"a\"\nball = @{ radius = 1, cells = 400 }", "ask for fewer `cells`"),
    ("[[soft]]\nname = \"a\"\nball = { radius = @0, cells = 2 }", "greater than 0"),
    (
        "[[soft]]\nname = \"a\"\n@bal = { radius = 1, cells = 2 }\nbox = { size = [1, 1, 1], cells = [1, 1, 1] }",
        "did you mean `ball`?",
    ),
    (
        "[[soft]]\nname = \"a\"\ntorus = @{ ring = 1, tube = 2, cells = [1, 8] }",
        "must be below the ring's radius",
    ),
    ("[[soft]]\nname = \"a\"\nball = { radius = 1, cells = 2 }\npoisson = @0.5", "less than 0.5"),
    (
        "[[soft]]\nname = \"a\"\nball = { radius = 1, cells = 2 }\nmaterial = @\"neohookean\"",
        "did you mean `neo_hookean`?",
    ),
    ("[[soft]]\nname = \"a\"\nball = { radius = 1, cells = 2 }\nelements = @\"tet\"", "did you mean `tets`?"),
    (
        "@[[soft]]\nname = \"a\"\nball = { radius = 1, cells = 2 }\nelements = \"bending_hexes\"\nmaterial = \"stvk\"",
        "soft `a`",
    ),
    ("[[soft]]\nname = \"a\"\nball = { radius = 1, cells = 2 }\norientation = @[2, 0, 0, 0]", "has length 2"),
    ("[[soft]]\nname = \"a\"\nball = { radius = 1, cells = 2 }\n@scale = 2", "is for meshes"),
    ("[[soft]]\nname = \"a\"\nfile = @\"a.msh\"", "no place among files"),
    (
        "[[soft]]\nname = \"a\"\nvertices = [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]\ntets = [@[0, 1, 2, 4]]",
        "names vertex 4, but there are only 4",
    ),
    (
        "@[[soft]]\nname = \"a\"\nvertices = [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]\ntets = [[0, 2, 1, 3]]",
        "it must be above",
    ),
    ("[[soft]]\nname = \"a\"\n@tets = [[0, 1, 2, 3]]", "wants `vertices` beside it"),
    (
        "[[soft]]\nname = \"a\"\nvertices = [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]\ntets = [[0, 1, 2, 3]]\nelements = @\"hexes\"",
        "a mesh of tetrahedra has no elements `hexes`",
    ),
    ("[[affine]]\nname = \"a\"\nshape = { sphere = @-1 }\nmass = 1", "greater than 0"),
    ("@[[affine]]\nname = \"a\"\nshape = { sphere = 1 }", "exactly one of `density` and `mass`"),
    ("@[[affine]]\nname = \"a\"\ndensity = 1", "lacks the key `shape`"),
    ("[[affine]]\nname = \"a\"\nshape = { sphere = 1 }\nmass = 1\nstiffness = @0", "greater than 0"),
    (
        "[[affine]]\nname = \"a\"\nshape = { sphere = 1 }\nmass = 1\nenergy = @\"arab\"",
        "did you mean `arap`?",
    ),
    ("@[[cloth]]\nname = \"a\"", "exactly one of `grid` and `surface`"),
    ("[[cloth]]\nname = @\"block\"\ngrid = { size = [1, 1], cells = [2, 2] }", "the name `block` is taken"),
    ("[[cloth]]\nname = \"a\"\ngrid = { size = @[1], cells = [2, 2] }", "2"),
    ("[[cloth]]\nname = \"a\"\ngrid = { size = [1, 1], cells = [2, @0] }", "from 1 to 512"),
    (
        "[[cloth]]\nname = \"a\"\ngrid = { size = [1, 1], cells = [2, 2] }\nmembrane = @\"stvl\"",
        "did you mean `stvk`?",
    ),
    ("[[cloth]]\nname = \"a\"\ngrid = { size = [1, 1], cells = [2, 2] }\nthickness = @0", "greater than 0"),
    ("[[cloth]]\nname = \"a\"\ngrid = { size = [1, 1], cells = [2, 2] }\n@thicknes = 1", "`thickness`?"),
    (
        "[[cloth]]\nname = \"a\"\ngrid = { size = [1, 1], cells = [2, 2] }\nstrain_limit = @0.1",
        "is for the membrane `baraff_witkin`",
    ),
    (
        "@[[cloth]]\nname = \"a\"\nsurface = { vertices = [[0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0]], triangles = [[0, 1, 2], [1, 2, 3]] }",
        "face opposite ways",
    ),
    (
        "@[[cloth]]\nname = \"a\"\nsurface = { vertices = [[0, 0, 0], [1, 0, 0], [2, 0, 0]], triangles = [[0, 1, 2]] }",
        "triangle 0",
    ),
    ("@[[rod]]\nname = \"a\"", "exactly one of `points` and `line`"),
    ("[[rod]]\nname = \"a\"\npoints = @[[0, 0, 0]]", "2"),
    (
        "[[rod]]\nname = \"a\"\npoints = @[[0, 0, 0], [1, 0, 0], [1, 0, 0]]",
        "points 1 and 2 of the rod are in one place",
    ),
    ("[[rod]]\nname = \"a\"\npoints = @[[0, 0, 0], [1, 0, 0], [1, 1, 0]]", "needs `twist = true`"),
    (
        "[[rod]]\nname = \"a\"\npoints = @[[0, 0, 0], [1, 0, 0], [0, 0, 0]]\ntwist = true",
        "folds back on itself at point 1",
    ),
    ("[[rod]]\nname = \"a\"\nline = { from = [0, 0, 0], to = [1, 0, 0], edges = @0 }", "from 1"),
    (
        "[[rod]]\nname = \"a\"\nline = { from = [0, 0, 0], to = [1, 0, 0], edges = 4 }\nclamped = @\"stat\"",
        "did you mean `start`?",
    ),
    ("@[[obstacle]]\nstiffness = 1", "exactly one of `plane`, `sphere` and `hollow`"),
    ("[[obstacle]]\nplane = { normal = @[0, 0, 0] }", "is no direction"),
    ("[[obstacle]]\non = @\"blok\"\nplane = {}", "did you mean `block`?"),
    ("[[obstacle]]\nsphere = { radius = @-1 }", "greater than 0"),
    ("[[pressure]]\non = @\"blok\"\npressure = 1", "did you mean `block`?"),
    ("@[[pressure]]\non = \"block\"", "lacks the key `pressure`"),
    (
        "[[cloth]]\nname = \"a\"\ngrid = { size = [1, 1], cells = [1, 1] }\n[[pressure]]\non = @\"a\"\npressure = 1",
        "is open at the edge",
    ),
    (
        "[[fix]]\non = \"block\"\ninside = @{ sphere = { center = [9, 0, 0], radius = 1 } }",
        "holds none of the 27 points",
    ),
    ("[[fix]]\non = \"block\"\ninside = { box = @[[1, 0, 0], [0, 1, 1]] }", "must be the lower one"),
    ("[[fix]]\non = \"block\"\ninside = { plane = { normal = @[0, 0, 0] } }", "is no direction"),
    ("[[fix]]\non = \"block\"\ninside = @{ }", "exactly one of"),
    (
        "[[fix]]\non = \"block\"\ninside = { @spere = { radius = 1 }, box = [[0, 0, 0], [1, 1, 1]] }",
        "did you mean `sphere`?",
    ),
    ("[[push]]\non = \"block\"\nforce = [0, 0, 1]\ntotal = @1", "`true` or `false`"),
    (
        "[[points]]\nname = \"p\"\nof = \"block\"\nsurface = { vertices = [[0, 0, 0], [1, 0, 0], [0, 1, 0]], triangles = [@[0, 1, 3]] }",
        "names vertex 3",
    ),
    (
        "[[points]]\nname = \"p\"\nof = [\"block[0]\", \"block[1]\"]\nsurface = @{ sphere = 1 }",
        "places are for points on one body",
    ),
];

#[test]
fn every_mistake_is_reported_at_its_place() {
    for (piece, part) in BAD {
        let text = format!("{SOFT}{}", piece.replacen('@', "", 1));
        let at = SOFT.len() + piece.find('@').unwrap();
        let line = text[..at].matches('\n').count() + 1;
        let column = at - text[..at].rfind('\n').map_or(0, |i| i + 1) + 1;
        let error = match read("a.toml", &text) {
            Err(error) => error.to_string(),
            Ok(_) => panic!("accepted:\n{piece}"),
        };
        assert!(
            error.contains(&format!("a.toml:{line}:{column}\n")) && error.contains(part),
            "{piece}\n{error}"
        );
    }
}

#[test]
fn consistent_masses_and_affine_bodies_want_the_method_implicit() {
    let error =
        read("a.toml", "[[soft]]\nname = \"a\"\nball = { radius = 1, cells = 2 }\nmass = \"consistent\"");
    let error = error.err().unwrap().to_string();
    assert!(error.contains("a.toml:4:8") && error.contains("`implicit` and `ipc` do"), "{error}");
    let rod = "[[rod]]\nname = \"a\"\nline = { from = [0, 0, 0], to = [1, 0, 0], edges = 4 }\ntwist = true";
    let error = read("a.toml", rod).err().unwrap().to_string();
    assert!(error.contains("a.toml:4:9") && error.contains("`implicit` and `ipc` do"), "{error}");
    let error = read("a.toml", "[[affine]]\nname = \"a\"\nshape = { sphere = 1 }\nmass = 1").err().unwrap();
    assert!(error.to_string().contains("a.toml:1:1"), "{error}");
}

/// A scene of one body in weightlessness, run for a while.
fn after(text: &str, time: f64) -> Built {
    let mut built = build(&format!("method = \"implicit\"\ndt = 0.001\ngravity = [0, 0, 0]\n{text}"));
    built.simulation.run(time).unwrap();
    built
}

#[test]
fn a_free_rod_keeps_its_momentum_and_has_the_mass_of_a_cylinder() {
    let text = "[[rod]]\nname = \"a\"\npoints = [[0, 0, 0], [0.1, 0, 0], [0.2, 0.02, 0], [0.25, 0.1, 0.05]]\n\
                radius = 0.01\ndensity = 500\ntwist = true\nvelocity = [1, 2, 3]\n\
                [[push]]\non = \"a[0]\"\nforce = [0, 5, 0]\npulse = { to = 0.0105 }\n";
    let built = after(text, 0.1);
    let length = 0.1 + 0.0104f64.sqrt() + (0.05f64.powi(2) + 0.08f64.powi(2) + 0.05f64.powi(2)).sqrt();
    let mass = 500.0 * std::f64::consts::PI * 1e-4 * length;
    let wanted = [mass, 2.0 * mass + 0.05, 3.0 * mass];
    for (axis, wanted) in ["x", "y", "z"].iter().zip(wanted) {
        let found = value(&built, &format!("momentum.{axis}"));
        assert!((found - wanted).abs() < 1e-7 * mass, "{axis} {found} {wanted}");
    }
    // Ten steps of implicit Euler end while the push lasts: 10 · 5 N · 1 ms. At one end, it turned the rod.
    assert!(value(&built, "a[-1].y") < value(&built, "a[0].y"));
    let markers = built.simulation.model.block("a markers").unwrap().points.len();
    assert_eq!(markers, 3);
}

#[test]
fn a_cloth_in_a_file_is_that_of_the_engine() {
    let text = "[[cloth]]\nname = \"a\"\ngrid = { size = [2, 1], cells = [4, 2] }\nthickness = 0.001\ndensity = 100\n\
                velocity = [0, 0, 1]\n";
    let built = after(text, 0.01);
    let model = &built.simulation.model;
    let mass: f64 = model.block("a").unwrap().points.clone().map(|i| model.particles.mass[i]).sum();
    assert!((mass - 0.2).abs() < 1e-12, "{mass}");
    assert!((value(&built, "a.z") - 0.01).abs() < 1e-12);
    assert!(value(&built, "energy.a").abs() < 1e-20 && value(&built, "energy.a bending").abs() < 1e-20);
}

#[test]
fn an_obstacle_holds_a_weight_at_the_depth_that_its_stiffness_says() {
    let text = "method = \"implicit\"\ndt = 0.01\n[[particles]]\nname = \"stone\"\nposition = [0, 0, 0.1]\nmass = 2\n\
                [[obstacle]]\nname = \"floor\"\nplane = {}\nradius = 0.1\nstiffness = 1000\ndamping = 50\n";
    let mut built = build(text);
    built.simulation.run(5.0).unwrap();
    let wanted = 0.1 - 2.0 * 9.81 / 1000.0;
    assert!((value(&built, "stone.z") - wanted).abs() < 1e-9, "{}", value(&built, "stone.z"));
}

#[test]
fn a_point_between_two_bodies_follows_both() {
    let text = "[[rigid]]\nname = \"a\"\nshape = { sphere = 0.1 }\nmass = 1\nvelocity = [0, 0, 2]\n\
                [[rigid]]\nname = \"b\"\nshape = { sphere = 0.1 }\nmass = 1\nposition = [1, 0, 0]\n\
                [[points]]\nname = \"p\"\nof = [\"a\", \"b\"]\nat = [[0.5, 0, 0]]\n";
    let built = after(text, 0.1);
    assert!((value(&built, "p.z") - 0.1).abs() < 1e-12, "{}", value(&built, "p.z"));
}

#[test]
fn a_solid_and_a_surface_come_from_files_beside_the_scene() {
    let folder = std::env::temp_dir().join(format!("dalembert_soft_{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let mesh = dalembert::mesh::HexMesh::block(Vec3::new(1.0, 1.0, 1.0), [2, 1, 1]).unwrap();
    std::fs::write(folder.join("block.msh"), write_gmsh(&RawMesh::from(&mesh))).unwrap();
    std::fs::write(folder.join("skin.obj"), "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n").unwrap();
    let scene = |elements: &str, file: &str| {
        let text = format!(
            "[[soft]]\nname = \"a\"\nfile = \"{file}\"\nscale = 0.5\n{elements}\n\
             [[points]]\nname = \"p\"\nof = \"a\"\nsurface = {{ mesh = \"skin.obj\", scale = 0.1 }}\n"
        );
        std::fs::write(folder.join("a.toml"), text).unwrap();
        load(folder.join("a.toml")).and_then(|file| file.build())
    };
    for elements in ["", "elements = \"hexes\"", "elements = \"tets\""] {
        let built = scene(elements, "block.msh").unwrap_or_else(|e| panic!("{e}"));
        let model = &built.simulation.model;
        let mass: f64 = model.block("a").unwrap().points.clone().map(|i| model.particles.mass[i]).sum();
        assert!((mass - 125.0).abs() < 1e-9, "{mass}");
        assert_eq!(model.block("p").unwrap().points.len(), 3);
        // What was read is complete without its files.
        assert_eq!(read("a.json", &built.json).unwrap().simulation.state, built.simulation.state);
    }
    let error = scene("", "skin.obj").unwrap_err().to_string();
    assert!(error.contains("a.toml:3:8") && error.contains("fill it with tetrahedra"), "{error}");
    let error = scene("", "none.msh").unwrap_err().to_string();
    assert!(error.contains("a.toml:3:8") && error.contains("none.msh"), "{error}");
    std::fs::remove_dir_all(&folder).unwrap();
}
