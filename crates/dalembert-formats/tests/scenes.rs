//! Scene files from text to a simulation, and the lines that mistakes are reported at.

use dalembert_formats::error::SceneFileError;
use dalembert_formats::scene::{Built, json_schema, load, load_text, reference};
use dalembert_formats::source::Includes;

const EVERYTHING: &str = include_str!("scenes/everything.toml");

#[track_caller]
fn build(name: &str, text: &str) -> Built {
    load_text(name, text, Includes::None).and_then(|file| file.build()).unwrap_or_else(|e| panic!("{e}"))
}

/// The error of reading or building.
#[track_caller]
fn refusal(name: &str, text: &str) -> SceneFileError {
    match load_text(name, text, Includes::None).and_then(|file| file.build()) {
        Err(error) => error,
        Ok(_) => panic!("accepted:\n{text}"),
    }
}

fn bits(built: &Built) -> Vec<u64> {
    let state = &built.simulation.state;
    state.q.iter().chain(&state.v).map(|x| x.to_bits()).collect()
}

#[test]
fn a_scene_that_uses_every_table_builds_and_runs() {
    let mut built = build("everything.toml", EVERYTHING);
    assert!(built.warnings.is_empty(), "{:?}", built.warnings);
    assert_eq!(built.title, "Everything \"at once\"");
    assert_eq!((built.duration, built.seed, built.expect.len()), (0.05, 7, 3));
    let names: Vec<&str> = built.simulation.model.forces.iter().map(|f| f.name.as_str()).collect();
    let springs = ["band", "springs", "weave_structural", "weave_shear", "weave_bend", "springs2"];
    assert!(springs.iter().all(|name| names.contains(name)), "{names:?}");
    built.simulation.run(built.duration).unwrap();
    assert!(built.simulation.state.q.iter().all(|x| x.is_finite()));
}

#[test]
fn json_reads_back_to_the_same_first_state() {
    let toml = build("everything.toml", EVERYTHING);
    let json = build("everything.json", &toml.json);
    assert_eq!(toml.json, json.json);
    assert_eq!(bits(&toml), bits(&json));
    assert_eq!(toml.expect, json.expect);
}

#[test]
fn the_schema_and_the_reference_name_every_key() {
    let (schema, page) = (json_schema(), reference());
    let value: serde_json::Value = serde_json::from_str(&schema).unwrap();
    assert_eq!(value["title"], "dalembert scene");
    assert!(value.get("$id").is_none() && schema.ends_with("}\n"));
    for key in ["particles", "soft_repulsion", "min_step", "rest_angle", "always"] {
        assert!(schema.contains(&format!("\"{key}\"")) && page.contains(&format!("`{key}`")), "{key}");
    }
}

#[test]
fn a_missing_file_is_an_error_with_its_name() {
    assert!(load("no/such/scene.toml").unwrap_err().to_string().contains("no/such/scene.toml"));
    assert!(refusal("a.toml", "").to_string().contains("the scene is empty"));
}
