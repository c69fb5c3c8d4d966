//! Whatever the bytes, a scene file is read or refused: no panic, no endless loop.

mod mutate;
mod sample;

use dalembert_formats::describe::{View, read};
use dalembert_formats::source::{Includes, Source};
use mutate::{Chance, mutate, swap_word};
use sample::{JSON, ROOT, TOML};

/// Asks for everything, as a scene builder would.
fn visit(scene: &View<'_>) -> f64 {
    let mut sum = scene.number("dt") + scene.integer("seed") as f64 + scene.vec3("gravity")[2];
    sum += scene.texts("watch").len() as f64 + scene.maybe_number("tolerance").unwrap_or(0.0);
    for body in scene.tables("rigid") {
        sum += body.vec3("position")[0] + body.number("friction") + f64::from(u8::from(body.bool("fixed")));
        sum += body.maybe_numbers("tint").map_or(0.0, |tint| tint.len() as f64);
        match body.table("shape") {
            Some(shape) if shape.variant() == "box" => sum += shape.vec3("box")[0],
            Some(shape) => sum += shape.number("sphere"),
            None => sum += body.text("shape").len() as f64,
        }
    }
    for joint in scene.tables("joint") {
        let angles = joint.text("kind") == "ball";
        sum += if angles { 0.0 } else { joint.vec3("axis")[0] } + joint.texts("between").len() as f64;
    }
    if let Some(cloth) = scene.table("cloth") {
        sum += (cloth.vec3s("points").len() + cloth.integer_rows("triangles").len()) as f64;
    }
    sum
}

#[test]
fn no_bytes_make_the_reader_panic() {
    let mut chance = Chance(0x9e37_79b9_7f4a_7c15);
    let samples = [("a.toml", TOML.as_bytes()), ("a.json", JSON.as_bytes())];
    let embedded = [("b.toml", TOML), ("b.json", JSON)];
    let (mut good, mut wrong, mut broken) = (0, 0, 0);
    for round in 0..150_000 {
        let (name, text) = samples[round % 2];
        let (_, other) = samples[chance.below(2)];
        let mut bytes = text.to_vec();
        let gentle = chance.below(2) == 0;
        for _ in 0..=chance.below(4) {
            if gentle { swap_word(&mut bytes, &mut chance) } else { mutate(&mut bytes, other, &mut chance) }
        }
        match Source::from_bytes_with(name, bytes, Includes::Embedded(&embedded)) {
            Err(error) => {
                broken += 1;
                assert!(error.to_string().len() < 20_000);
            }
            Ok(source) => match read(&ROOT, &source.root, &source.files) {
                Ok(scene) => {
                    good += 1;
                    assert!(visit(&scene).is_finite());
                }
                Err(error) => {
                    wrong += 1;
                    assert!(error.to_string().len() < 20_000);
                }
            },
        }
    }
    // The mutations reach all three ends.
    assert!(good > 5_000 && wrong > 5_000 && broken > 5_000, "{good} good, {wrong} wrong, {broken} broken");
}
