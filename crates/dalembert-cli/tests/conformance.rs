//! Tests against the shared data beside the project; `cargo xtask conformance` runs them.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

/// The folder of the shared data. Whoever switches these tests on has it.
fn shared() -> PathBuf {
    let folder = std::env::var_os("DALEMBERT_SHARED").expect("DALEMBERT_SHARED names the shared data");
    PathBuf::from(folder)
}

fn read_json(path: &Path) -> Value {
    let text = fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    serde_json::from_str(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// The JSON files of a folder by name without extension; none if there is no such folder.
fn json_names(folder: &Path) -> BTreeSet<String> {
    let Ok(entries) = fs::read_dir(folder) else {
        return BTreeSet::new();
    };
    let paths = entries.map(|entry| entry.unwrap().path());
    let json = paths.filter(|path| path.extension().is_some_and(|extension| extension == "json"));
    json.map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned()).collect()
}

/// Where two values differ first; numbers are compared by value, so that 1 and 1.0 are the same.
fn first_difference(a: &Value, b: &Value, place: &str) -> Option<String> {
    match (a, b) {
        (Value::Object(a), Value::Object(b)) if a.keys().eq(b.keys()) => {
            a.iter().find_map(|(key, value)| first_difference(value, &b[key], &format!("{place}.{key}")))
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            let mut pairs = a.iter().zip(b).enumerate();
            pairs.find_map(|(i, (a, b))| first_difference(a, b, &format!("{place}[{i}]")))
        }
        (Value::Number(x), Value::Number(y)) if x.as_f64() == y.as_f64() => None,
        _ if a == b => None,
        _ => Some(format!("{place}: {a} here, {b} in the shared data")),
    }
}

#[test]
fn every_shared_case_is_readable_and_listed() {
    let folder = shared().join("cases");
    let index = read_json(&folder.join("INDEX.json"));
    let listed: BTreeSet<String> =
        index.as_array().unwrap().iter().map(|entry| entry["name"].as_str().unwrap().to_owned()).collect();
    let mut found = json_names(&folder);
    found.remove("INDEX");
    assert!(!found.is_empty());
    assert_eq!(found, listed);
    for name in found {
        let case = read_json(&folder.join(format!("{name}.json")));
        assert_eq!(case["name"], name.as_str());
        assert!(case.get("kind").is_some() && case.get("reference").is_some(), "{name}");
    }
}

#[test]
fn copied_cases_equal_the_shared_originals() {
    let copies = Path::new(env!("CARGO_MANIFEST_DIR")).join("data/cases");
    let originals = shared().join("cases");
    for name in json_names(&copies) {
        let file = format!("{name}.json");
        let [copy, original] = [&copies, &originals].map(|folder| read_json(&folder.join(&file)));
        assert_eq!(first_difference(&copy, &original, &name), None);
    }
}

#[test]
fn a_changed_number_is_found_where_it_is() {
    let [a, b, c] = [r#"{"x": [1, 2.5]}"#, r#"{"x": [1.0, 2.5]}"#, r#"{"x": [1, 2.25]}"#]
        .map(|text| serde_json::from_str::<Value>(text).unwrap());
    assert_eq!(first_difference(&a, &b, "case"), None);
    assert_eq!(first_difference(&a, &c, "case").unwrap(), "case.x[1]: 2.5 here, 2.25 in the shared data");
}
