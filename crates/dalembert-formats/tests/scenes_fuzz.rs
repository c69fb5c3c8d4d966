//! Whatever a scene file says, it becomes a simulation or is refused: no panic, in little time and memory.

mod mutate;

use dalembert_formats::scene::{SceneFile, load_text};
use dalembert_formats::source::Includes;
use mutate::{Chance, mutate, swap_value, swap_word};

const EVERYTHING: &str = include_str!("scenes/everything.toml");

const SMALL: [&str; 4] = [
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
            _ => SMALL[round % 4],
        };
        let name = if text.starts_with('{') { "scene.json" } else { "scene.toml" };
        let mut bytes = text.as_bytes().to_vec();
        let force = chance.below(8);
        for _ in 0..=chance.below(3) {
            let other = SMALL[chance.below(4)].as_bytes();
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
        match file.build() {
            Err(error) => {
                refused += 1;
                assert!(error.diagnostics().iter().all(|one| one.place.is_some()), "{error}");
                assert!(error.to_string().len() < 20_000);
            }
            Ok(mut one) => {
                built += 1;
                // A step of an adaptive method may be as long as its author wishes.
                let Some(integrator) = one.simulation.method.integrator() else { continue };
                if !integrator.is_adaptive() {
                    let _ = one.simulation.step();
                }
                let again = load_text("a.json", &one.json, Includes::None).unwrap_or_else(|e| panic!("{e}"));
                assert_eq!(particles(&again), one.simulation.model.layout.particles);
            }
        }
    }
    let counts = format!("{unread} unread, {large} large, {refused} refused, {built} built");
    assert!(unread > 10_000 && large > 100 && refused > 5_000 && built > 10_000, "{counts}");
}
