//! Wavefront OBJ: `v x y z`, `f 1 2 3` (also `1/2/3`, negative from the end), `l 1 2`.

use super::RawMesh;
use super::scan::{Problem, short};

pub(super) fn read(text: &str) -> Result<RawMesh, Problem> {
    let mut mesh = RawMesh::default();
    for (number, line) in text.lines().enumerate() {
        let at = |message: String| Problem { line: Some(number + 1), ..Problem::new(message) };
        let mut words = line.split_whitespace();
        let head = words.next();
        match head {
            Some("v") => mesh.vertices.push(vertex(&mut words).map_err(at)?),
            Some("f" | "l") => {
                let corner = |word: &str| corner(word, mesh.vertices.len()).map_err(at);
                let corners = words.map(corner).collect::<Result<Vec<u32>, _>>()?;
                let (what, least) = if head == Some("f") { ("face", 3) } else { ("line", 2) };
                if corners.len() < least {
                    return Err(at(format!("a {what} has {} corners", corners.len())));
                }
                if what == "face" { mesh.add_polygon(&corners) } else { mesh.add_chain(&corners) }
            }
            // Normals, textures, groups and materials say nothing about the solid.
            _ => {}
        }
    }
    Ok(mesh)
}

/// `7`, `7/1`, `7//2` or `7/1/2`, counted from 1; negative from the last vertex so far.
fn corner(word: &str, vertices: usize) -> Result<u32, String> {
    let number: i64 = word
        .split('/')
        .next()
        .and_then(|n| n.parse().ok())
        .ok_or_else(|| format!("`{}` is no corner", short(word)))?;
    let index = if number < 0 { number.checked_add(vertices as i64).unwrap_or(-1) } else { number - 1 };
    match u32::try_from(index) {
        Ok(index) if (index as usize) < vertices => Ok(index),
        _ => Err(format!("corner {number} is not among the {vertices} vertices before it")),
    }
}

pub(super) fn vertex<'a>(words: &mut impl Iterator<Item = &'a str>) -> Result<[f64; 3], String> {
    let mut out = [0.0; 3];
    for x in &mut out {
        let word = words.next().ok_or("a vertex needs three numbers")?;
        *x = word
            .parse()
            .ok()
            .filter(|x: &f64| x.is_finite())
            .ok_or_else(|| format!("`{}` is no finite number", short(word)))?;
    }
    Ok(out)
}
