//! What scene files say about contact: keys, warnings with their places, quantities.

use dalembert_formats::scene::load_text;
use dalembert_formats::source::Includes;

/// A ring of four blocks as one mesh would be; here two blocks with room between, as vertices and triangles.
fn hollow(extra: &str) -> String {
    let mut vertices = Vec::new();
    let mut triangles = Vec::new();
    for (k, x) in [-1.0, 1.0].into_iter().enumerate() {
        for z in [-0.5, 0.5] {
            for (dx, y) in [(-0.5, -0.5), (0.5, -0.5), (0.5, 0.5), (-0.5, 0.5)] {
                vertices.push(format!("[{}, {y}, {z}]", x + dx));
            }
        }
        let faces = [
            [0, 2, 1],
            [0, 3, 2],
            [4, 5, 6],
            [4, 6, 7],
            [0, 1, 5],
            [0, 5, 4],
            [1, 2, 6],
            [1, 6, 5],
            [2, 3, 7],
            [2, 7, 6],
            [3, 0, 4],
            [3, 4, 7],
        ];
        triangles.extend(faces.iter().map(|f| format!("{:?}", f.map(|i| i + 8 * k))));
    }
    format!(
        "method = 'impulse'\ndt = 0.01\nduration = 0.5\n[[ground]]\n[[rigid]]\nname = 'bridge'\nmass = 1\nposition = [0, 0, 0.5]\nshape = {{ vertices = [{}], triangles = [{}] }}\n{extra}\n",
        vertices.join(", "),
        triangles.join(", ")
    )
}

fn warnings(text: &str) -> Vec<String> {
    let built = load_text("scene.toml", text, Includes::None).unwrap().build().unwrap();
    built.warnings.iter().map(ToString::to_string).collect()
}

#[test]
fn a_mesh_that_is_filled_is_told_with_its_name_ratio_and_place() {
    let found = warnings(&hollow(""));
    assert_eq!(found.len(), 1, "{found:?}");
    // Hull 3 m³, mesh 2 m³; the shape stands in line 9.
    for part in ["`bridge`", "1.500", "decomposition", "scene.toml:9"] {
        assert!(found[0].contains(part), "{part}: {}", found[0]);
    }
    for collide in ["hull", "surface", "decomposition"] {
        let found = warnings(&hollow(&format!("collide = '{collide}'")));
        assert!(found.is_empty(), "{collide}: {found:?}");
    }
    let built =
        load_text("scene.toml", &hollow("collide = 'decomposition'"), Includes::None).unwrap().build();
    assert_eq!(built.unwrap().simulation.model.rigid_contact.as_ref().unwrap().colliders.len(), 3);
    let text = hollow("decomposition = { parts = 4 }");
    let error = load_text("scene.toml", &text, Includes::None).unwrap_err().to_string();
    assert!(error.contains("scene.toml:10") && error.contains("collide"), "{error}");
}

#[test]
fn restitution_above_one_is_a_warning_and_negative_friction_an_error() {
    let rule = "[[contact]]\nbetween = ['bridge', 'ground']\nrestitution = 1.2\n";
    let found = warnings(&hollow(&format!("collide = 'hull'\n{rule}")));
    assert!(found.len() == 1 && found[0].contains("1.2") && found[0].contains("scene.toml:13"), "{found:?}");
    let rule = "[[contact]]\nbetween = ['bridge', 'ground']\nfriction = -0.1\n";
    let error = load_text("scene.toml", &hollow(rule), Includes::None).unwrap_err().to_string();
    assert!(error.contains("friction") && error.contains("scene.toml:12"), "{error}");
}

#[test]
fn forces_of_contact_are_quantities() {
    let text = hollow(
        "collide = 'decomposition'\n[[expect]]\nquantity = 'bridge.contact.z'\nvalue = 9.81\ntolerance = 1e-6",
    );
    let mut built = load_text("scene.toml", &text, Includes::None).unwrap().build().unwrap();
    built.simulation.run(0.5).unwrap();
    let (model, state) = (&built.simulation.model, &built.simulation.state);
    let read = |text: &str| dalembert::model::Quantity::parse(model, text).unwrap().value(model, state);
    assert!((read("bridge.contact.z") - 9.81).abs() < 1e-6, "{}", read("bridge.contact.z"));
    assert!((read("ground.contact.norm") - 9.81).abs() < 1e-6);
    assert!(read("contacts.count") >= 3.0 && read("contacts.gap").abs() < 1e-4);
    assert_eq!(model.touching(state), [["bridge", "ground"]]);
    // Between the two blocks a ray goes down to the ground, over one of them it does not.
    let down = |x: f64| {
        let from = dalembert::math::Vec3::new(x, 0.0, 3.0);
        let hit = model.ray_cast(state, &from, &-dalembert::math::Vec3::z(), 10.0, |_| true).unwrap();
        (hit.name.to_owned(), hit.t)
    };
    assert!(
        down(0.0) == ("ground".to_owned(), 3.0)
            && down(1.0).0 == "bridge"
            && (down(1.0).1 - 2.0).abs() < 1e-4
    );
    let far = model.distance_between(state, "bridge", "ground").unwrap();
    assert!(far.gap.abs() < 1e-4 && far.normal.z > 0.999);
    assert!(model.distance_between(state, "bridge", "nobody").is_none());
}

#[test]
fn new_scenes_of_contact_do_what_they_say() {
    let mut wrong = Vec::new();
    for name in ["arch", "net", "ring", "sphere_bin", "top"] {
        let path = format!("{}/../../scenes/contact_{name}.toml", env!("CARGO_MANIFEST_DIR"));
        let mut built =
            dalembert_formats::scene::load(&path).unwrap().build().unwrap_or_else(|e| panic!("{e}"));
        assert!(built.warnings.is_empty(), "{name}: {:?}", built.warnings);
        let start = std::time::Instant::now();
        built.simulation.run(built.duration).unwrap();
        println!("{name}: {:?}", start.elapsed());
        let (model, state) = (&built.simulation.model, &built.simulation.state);
        for e in &built.expect {
            let q = dalembert::model::Quantity::parse(model, &e.quantity).unwrap().value(model, state);
            println!("  {} = {q}", e.quantity);
            if !e.holds(q) {
                wrong.push(format!("{name}: {} = {q}", e.quantity));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:?}");
}

#[test]
fn a_robot_with_a_hollow_mesh_is_told_and_taken_apart() {
    let (mut vertices, mut faces) = (String::new(), String::new());
    for (k, x) in [-1.0, 1.0].into_iter().enumerate() {
        for z in [-0.5, 0.5] {
            for (dx, y) in [(-0.5, -0.5), (0.5, -0.5), (0.5, 0.5), (-0.5, 0.5)] {
                vertices += &format!("{} {y} {z} ", x + dx);
            }
        }
        let block = "0 2 1 0 3 2 4 5 6 4 6 7 0 1 5 0 5 4 1 2 6 1 6 5 2 3 7 2 7 6 3 0 4 3 4 7";
        let numbers = block.split(' ').map(|i| i.parse::<usize>().unwrap() + 8 * k);
        numbers.for_each(|i| faces += &format!("{i} "));
    }
    let robot = format!(
        "<mujoco><asset><mesh name=\"bridge\" vertex=\"{vertices}\" face=\"{faces}\"/></asset><worldbody><body name=\"b\" pos=\"0 0 1\"><freejoint/><geom type=\"mesh\" mesh=\"bridge\"/></body></worldbody></mujoco>"
    );
    let scene = |collide: &str| {
        let head = "method = 'impulse'\ndt = 0.01\nduration = 0.1\n[[ground]]\n[[robot]]\nname = 'thing'";
        let text = format!("{head}\n{collide}\ntext = '{robot}'\n");
        load_text("scene.toml", &text, Includes::None).unwrap().build().unwrap_or_else(|e| panic!("{e}"))
    };
    let built = scene("");
    let told: Vec<String> = built.warnings.iter().map(ToString::to_string).collect();
    let right =
        |w: &String| w.contains("`bridge` (1.50×)") && w.contains("`thing`") && w.contains("decomposition");
    assert!(told.iter().any(right), "{told:?}");
    assert_eq!(built.simulation.model.rigid_contact.as_ref().unwrap().colliders.len(), 2);
    let built = scene("collide = 'decomposition'");
    assert!(!built.warnings.iter().any(|w| w.to_string().contains("hull")), "{:?}", built.warnings);
    assert_eq!(built.simulation.model.rigid_contact.as_ref().unwrap().colliders.len(), 3);
}
