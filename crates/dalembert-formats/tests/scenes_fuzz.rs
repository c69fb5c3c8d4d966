//! Whatever a scene file says, it becomes a simulation or is refused: no panic, in little time and memory.

mod mutate;

use dalembert::scene::{Cloth, Sheet, SoftBody, Solid};
use dalembert::step::{Method, RowSolver};
use dalembert_formats::scene::{SceneFile, load_text};
use dalembert_formats::source::Includes;
use mutate::{Chance, mutate, swap_value, swap_word};

const EVERYTHING: &str = include_str!("scenes/everything.toml");

const MECHANISM: &str = include_str!("scenes/mechanism.toml");

const DEFORMABLE: &str = include_str!("scenes/deformable.toml");

const SMALL: [&str; 8] = [
    "dt = 0.01\nduration = 0.1\n[[particles]]\nname = \"a\"\n[[particles]]\nname = \"rope\"\n\
     chain = { from = [0, 0, 1], to = [0, 0, 2], count = 5 }\n[[springs]]\nalong = \"rope\"\n\
     edges = [\"structural\", \"bend\"]\nstiffness = 10\n[[fix]]\non = \"rope[0]\"\n",
    "[[particles]]\nname = \"rope\"\ncloth = { size = [1, 1], count = [3, 4] }\ntotal_mass = 2\n\
     [[points]]\nname = \"p\"\nof = [\"rope[0]\", \"rope[5:7]\"]\n[[drag]]\non = \"p\"\nlinear = 1\n\
     [[angular_springs]]\nalong = \"rope\"\nstiffness = 1\n[[expect]]\nquantity = \"rope.z\"\nvalue = 0\n",
    "gravity = [0, 0, 0]\nexplicit = { integrator = \"rk4\" }\n[[particles]]\nname = \"a\"\n\
     positions = [[0, 0, 0], [1, 0, 0], [0, 1, 0]]\nmass = [1, 2, 3]\n[[pair_force]]\n\
     soft_repulsion = { stiffness = 1, diameter = 1.5 }\nradius = 2\n[[attractor]]\nmu = 1\nsoftening = 1\n",
    "{\"dt\":0.01,\"particles\":[{\"name\":\"a\",\"grid\":{\"size\":[1,1,1],\"count\":[2,2,2]}}],\"push\":[{\"force\":\
     [0,0,1],\"table\":{\"times\":[0,1],\"values\":[0,1]}}],\"motion\":[{\"on\":\"a[0]\",\"velocity\":[0,0,1]}]}",
    "method = \"impulse\"\ndt = 0.01\n[[rigid]]\nname = \"door\"\nshape = { box = [1, 0.1, 2] }\nmass = 3\n\
     [[rigid]]\nname = \"arm\"\nshape = { capsule = { radius = 0.1, length = 1 } }\ndensity = 1000\n\
     position = [1, 0, 0]\norientation = { axis = [0, 1, 0], angle = 1 }\n[[joint]]\nname = \"h\"\nkind = \"hinge\"\n\
     between = [\"world\", \"door\"]\nanchor = [0, 0, 1]\nlimits = [-1, 1]\ndamping = 1\n[[joint]]\nname = \"s\"\n\
     kind = \"slider\"\nbetween = [\"door\", \"arm\"]\naxis = [1, 0, 0]\nmotor = { velocity = 1, max = 5 }\n\
     [[gear]]\nname = \"g\"\njoints = [\"h\", \"s\"]\nratio = 2\n",
    "method = \"lagrange\"\nassemble = true\n[[rigid]]\nname = \"a\"\nmass = 1\ninertia = [1, 2, 2.5]\n\
     angular_velocity = [0, 1, 2]\n[[particles]]\nname = \"p\"\nposition = [0, 0, 2]\n[[joint]]\nname = \"rod\"\n\
     kind = \"distance\"\nbetween = [\"a\", \"p\"]\nlength = 1.5\n[[joint]]\nname = \"n\"\nkind = \"screw\"\n\
     between = [\"world\", \"a\"]\npitch = 0.1\n[[bead]]\nname = \"b\"\non = \"p\"\nsphere = { radius = 2 }\n\
     [[points]]\nname = \"tip\"\nof = \"a\"\nat = [[1, 0, 0]]\n[[springs]]\npairs = [[\"tip\", \"p\"]]\nstiffness = 5\n",
    "method = \"lagrange\"\n[[generalized]]\nname = \"g\"\npendulum = { lengths = [1, 0.5] }\nmasses = [1, 2]\n\
     coordinates = [1, 0]\nrates = [0, 3]\n[[expect]]\nquantity = \"g.u1\"\nabove = 0\n[[push]]\non = \"g[1]\"\n\
     force = [0, 0, 1]\n",
    "[[rigid]]\nname = \"a\"\nshape = { compound = [{ sphere = 1 }, { cone = { radius = 1, length = 1 }, position = \
     [0, 0, 2] }] }\ndensity = 10\n[[rigid]]\nname = \"b\"\nshape = { vertices = [[0, 0, 0], [1, 0, 0], [0, 1, 0], \
     [0, 0, 1]], triangles = [[0, 2, 1], [0, 1, 3], [1, 2, 3], [0, 3, 2]], scale = 2 }\nmass = 1\n[[joint]]\n\
     name = \"j\"\nkind = \"universal\"\nbetween = [\"a\", \"b\"]\naxis = [1, 0, 0]\naxis2 = [0, 1, 0]\nkp = 100\n\
     kd = 1\n[[expect]]\nquantity = \"a.qw\"\nabove = 0\n",
];

/// Larger scenes are read but not built: ten thousand of them would take hours.
const MOST: usize = 2_000;

fn particles(file: &SceneFile) -> usize {
    file.scene.particles.iter().map(|set| set.arrangement.count()).fold(0, usize::saturating_add)
}

#[test]
fn no_scene_makes_the_engine_panic() {
    let json = load_text("a.toml", EVERYTHING, Includes::None).unwrap().build().unwrap().json;
    let mut chance = Chance(0x2545_f491_4f6c_dd1d);
    let embedded = [("a.toml", SMALL[0]), ("b.toml", SMALL[1])];
    let (mut unread, mut large, mut refused, mut built) = (0, 0, 0, 0);
    for round in 0..150_000 {
        // One round in sixteen uses a scene with every table, in either language.
        let text = match round % 32 {
            0 => EVERYTHING,
            16 => &json,
            // Every table of mechanisms; it has many joints.
            8 => MECHANISM,
            _ => SMALL[round % 8],
        };
        let name = if text.starts_with('{') { "scene.json" } else { "scene.toml" };
        let mut bytes = text.as_bytes().to_vec();
        let force = chance.below(8);
        for _ in 0..=chance.below(3) {
            let other = SMALL[chance.below(8)].as_bytes();
            match force {
                0 => mutate(&mut bytes, other, &mut chance),
                1 => swap_word(&mut bytes, &mut chance),
                _ => swap_value(&mut bytes, &mut chance),
            }
        }
        let text = String::from_utf8_lossy(&bytes);
        let file = match load_text(name, &text, Includes::Embedded(&embedded)) {
            Ok(file) => file,
            Err(error) => {
                unread += 1;
                assert!(error.to_string().len() < 20_000);
                continue;
            }
        };
        if particles(&file) > MOST {
            large += 1;
            continue;
        }
        let given = particles(&file);
        match file.build() {
            Err(error) => {
                refused += 1;
                assert!(error.diagnostics().iter().all(|one| one.place.is_some()), "{error}");
                assert!(error.to_string().len() < 20_000);
            }
            Ok(mut one) => {
                built += 1;
                // A step of an adaptive method may be as long as its author wishes, as may a million inner steps.
                let short = match &one.simulation.method {
                    Method::Explicit(e) => !e.integrator.is_adaptive(),
                    Method::Lagrange(l) => !l.integrator.is_adaptive(),
                    Method::Implicit(_) | Method::Ipc(_) => one.simulation.model.layout.points < 2_000,
                    Method::Impulse(i) => {
                        let sweeps = if let RowSolver::Pgs { sweeps } = i.solver { sweeps } else { 1 };
                        u64::from(i.substeps) * u64::from(sweeps) < 1000
                    }
                };
                if short {
                    let _ = one.simulation.step();
                }
                let again = load_text("a.json", &one.json, Includes::None).unwrap_or_else(|e| panic!("{e}"));
                assert_eq!(particles(&again), given);
            }
        }
    }
    let counts = format!("{unread} unread, {large} large, {refused} refused, {built} built");
    assert!(unread > 10_000 && large > 100 && refused > 5_000 && built > 10_000, "{counts}");
}

/// Nodes of the soft bodies, cloth and rods of a file, about.
fn nodes(file: &SceneFile) -> usize {
    let of = |body: &SoftBody| match &body.solid {
        Solid::Box { cells: [a, b, c], .. } => a * b * c,
        Solid::Cylinder { cells: [a, b], .. } | Solid::Torus { cells: [a, b], .. } => 3 * a * a * b,
        Solid::Ball { cells: a, .. } => 4 * a * a * a,
        Solid::Tets(mesh) => mesh.points.len(),
        Solid::Hexes(mesh) => mesh.points.len(),
    };
    let sheet = |cloth: &Cloth| match &cloth.sheet {
        Sheet::Grid { cells: [a, b], .. } => a * b,
        Sheet::Surface(mesh) => mesh.points.len(),
    };
    let rods = file.scene.rod.iter().map(|rod| 2 * rod.points.len());
    file.scene.soft.iter().map(of).chain(file.scene.cloth.iter().map(sheet)).chain(rods).sum()
}

#[test]
fn no_soft_scene_makes_the_engine_panic() {
    let mut chance = Chance(0x9e37_79b9_7f4a_7c15);
    let (mut unread, mut refused, mut built) = (0, 0, 0);
    for _ in 0..4_000 {
        let mut bytes = DEFORMABLE.as_bytes().to_vec();
        let force = chance.below(8);
        for _ in 0..=chance.below(3) {
            match force {
                0 => mutate(&mut bytes, SMALL[5].as_bytes(), &mut chance),
                1 => swap_word(&mut bytes, &mut chance),
                _ => swap_value(&mut bytes, &mut chance),
            }
        }
        let text = String::from_utf8_lossy(&bytes);
        let Ok(file) = load_text("scene.toml", &text, Includes::None) else {
            unread += 1;
            continue;
        };
        if particles(&file) > MOST || nodes(&file) > MOST {
            continue;
        }
        match file.build() {
            Err(error) => {
                refused += 1;
                assert!(error.diagnostics().iter().all(|one| one.place.is_some()), "{error}");
            }
            Ok(mut one) => {
                built += 1;
                if built % 8 == 0
                    && matches!(&one.simulation.method, Method::Implicit(m) if m.most_newton() < 5)
                {
                    let _ = one.simulation.step();
                }
                load_text("a.json", &one.json, Includes::None).unwrap_or_else(|e| panic!("{e}"));
            }
        }
    }
    let counts = format!("{unread} unread, {refused} refused, {built} built");
    assert!(unread > 500 && refused > 100 && built > 500, "{counts}");
}
