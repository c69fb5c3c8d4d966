//! STL, text and binary: triangles by the places of their corners. Corners at the same place become one vertex.

use std::collections::BTreeMap;

use super::RawMesh;
use super::obj::vertex;
use super::scan::Problem;

pub(super) fn read(bytes: &[u8]) -> Result<RawMesh, Problem> {
    // Binary files may begin with `solid` as well, but their length is exact.
    let count = bytes.get(80..84).and_then(|b| b.try_into().ok()).map(u32::from_le_bytes);
    if count.is_some_and(|n| bytes.len() as u64 == 84 + 50 * u64::from(n)) {
        return binary(&bytes[84..]);
    }
    if !bytes.trim_ascii_start().starts_with(b"solid") {
        let message = "it is neither a text STL (which begins with `solid`) nor a whole binary one";
        let problem = Problem::new(message);
        return Err(match count {
            Some(n) => problem.with_help(format!(
                "read as binary, it announces {n} facets, which take {} bytes, but has {}",
                84 + 50 * u64::from(n),
                bytes.len()
            )),
            None => problem,
        });
    }
    let text = String::from_utf8_lossy(bytes);
    let mut welded = Welded::default();
    let mut corners = Vec::new();
    let mut last = 0;
    for (number, line) in text.lines().enumerate() {
        let at = |message: String| Problem { line: Some(number + 1), ..Problem::new(message) };
        let mut words = line.split_whitespace();
        match words.next() {
            Some("vertex") => corners.push(welded.vertex(vertex(&mut words).map_err(at)?)),
            Some("endfacet") => {
                let [a, b, c] = corners[..] else {
                    return Err(at(format!("a facet has {} corners", corners.len())));
                };
                welded.mesh.triangles.push([a, b, c]);
                corners.clear();
            }
            _ => {}
        }
        last = number + 1;
    }
    if !corners.is_empty() {
        let message = format!("the file ends inside facet {}", welded.mesh.triangles.len());
        return Err(Problem { line: Some(last), ..Problem::new(message) });
    }
    Ok(welded.mesh)
}

fn binary(facets: &[u8]) -> Result<RawMesh, Problem> {
    let mut welded = Welded::default();
    for (k, facet) in facets.chunks_exact(50).enumerate() {
        let number = |i: usize| {
            let b: [u8; 4] = std::array::from_fn(|j| facet[4 * i + j]);
            f64::from(f32::from_le_bytes(b))
        };
        // Three numbers of the normal, then nine of the corners.
        let mut corners = [0; 3];
        for (c, corner) in corners.iter_mut().enumerate() {
            let p: [f64; 3] = std::array::from_fn(|d| number(3 + 3 * c + d));
            if !p.iter().all(|x| x.is_finite()) {
                return Err(Problem::new(format!("facet {k} has a corner that is not finite")));
            }
            *corner = welded.vertex(p);
        }
        welded.mesh.triangles.push(corners);
    }
    Ok(welded.mesh)
}

/// A mesh in which equal places are one vertex.
#[derive(Default)]
struct Welded {
    mesh: RawMesh,
    known: BTreeMap<[u64; 3], u32>,
}

impl Welded {
    fn vertex(&mut self, p: [f64; 3]) -> u32 {
        // −0 and 0 are the same place.
        let key = p.map(|x| (x + 0.0).to_bits());
        *self.known.entry(key).or_insert_with(|| {
            self.mesh.vertices.push(p);
            self.mesh.vertices.len() as u32 - 1
        })
    }
}
