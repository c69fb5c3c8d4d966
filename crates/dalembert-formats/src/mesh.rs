//! Triangle meshes from files: Wavefront OBJ and STL (text and binary).
//!
//! Only vertices and faces are taken. Faces with more than three corners become fans; vertices of an STL that lie at
//! the same place become one.

use std::collections::BTreeMap;

/// Vertices and triangles as a file gives them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RawMesh {
    /// Places.
    pub vertices: Vec<[f64; 3]>,
    /// Corners, from 0.
    pub triangles: Vec<[u32; 3]>,
}

/// Reads a mesh; `name` decides the format by its ending. The error says the line where there is one.
pub fn read(name: &str, bytes: &[u8]) -> Result<RawMesh, String> {
    let ending = name.rsplit('.').next().unwrap_or_default().to_ascii_lowercase();
    let mesh = match ending.as_str() {
        "obj" => obj(&String::from_utf8_lossy(bytes)),
        "stl" => stl(bytes),
        _ => return Err("its name must end in .obj or .stl".into()),
    }?;
    if mesh.triangles.is_empty() { Err("it has no triangles".into()) } else { Ok(mesh) }
}

fn obj(text: &str) -> Result<RawMesh, String> {
    let mut mesh = RawMesh::default();
    for (number, line) in text.lines().enumerate() {
        let at = |what: String| format!("line {}: {what}", number + 1);
        let mut words = line.split_whitespace();
        match words.next() {
            Some("v") => mesh.vertices.push(triple(&mut words).map_err(at)?),
            Some("f") => {
                let corner = |word: &str| corner(word, mesh.vertices.len()).map_err(at);
                let face = words.map(corner).collect::<Result<Vec<u32>, _>>()?;
                if face.len() < 3 {
                    return Err(at(format!("a face has {} corners", face.len())));
                }
                mesh.triangles.extend((1..face.len() - 1).map(|k| [face[0], face[k], face[k + 1]]));
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
    let index = if number < 0 { vertices as i64 + number } else { number - 1 };
    match u32::try_from(index) {
        Ok(index) if (index as usize) < vertices => Ok(index),
        _ => Err(format!("corner {number} is not among the {vertices} vertices before it")),
    }
}

fn triple<'a>(words: &mut impl Iterator<Item = &'a str>) -> Result<[f64; 3], String> {
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

fn short(word: &str) -> String {
    word.chars().take(20).collect()
}

fn stl(bytes: &[u8]) -> Result<RawMesh, String> {
    // Binary files may begin with `solid` as well, but their length is exact.
    let count = bytes.get(80..84).and_then(|b| b.try_into().ok()).map(u32::from_le_bytes);
    if count.is_some_and(|n| bytes.len() as u64 == 84 + 50 * u64::from(n)) {
        return stl_binary(&bytes[84..]);
    }
    if !bytes.trim_ascii_start().starts_with(b"solid") {
        return Err("it is neither a text STL (which begins with `solid`) nor a whole binary one".into());
    }
    let text = String::from_utf8_lossy(bytes);
    let mut welded = Welded::default();
    let mut corners = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let at = |what: String| format!("line {}: {what}", number + 1);
        let mut words = line.split_whitespace();
        match words.next() {
            Some("vertex") => corners.push(welded.vertex(triple(&mut words).map_err(at)?)),
            Some("endfacet") => {
                let [a, b, c] = corners[..] else {
                    return Err(at(format!("a facet has {} corners", corners.len())));
                };
                welded.mesh.triangles.push([a, b, c]);
                corners.clear();
            }
            _ => {}
        }
    }
    Ok(welded.mesh)
}

fn stl_binary(facets: &[u8]) -> Result<RawMesh, String> {
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
                return Err(format!("facet {k} has a corner that is not finite"));
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

#[cfg(test)]
mod tests {
    use super::*;

    const OBJ: &str = "# a tetrahedron\nv 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nvn 0 0 1\nf 1//1 3//1 2//1\nf 1 2 4\nf -3 -2 -1\nf 1 4 3\n";

    #[test]
    fn the_same_solid_in_three_formats_is_the_same_mesh() {
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
    }

    #[test]
    fn damaged_meshes_are_refused_with_their_line() {
        for (name, text, part) in [
            ("a.ply", "", ".obj or .stl"),
            ("a.obj", "", "no triangles"),
            ("a.obj", "v 0 0\n", "line 1: a vertex needs three numbers"),
            ("a.obj", "v 0 0 nan\n", "no finite number"),
            ("a.obj", "v 0 0 0\nf 1 2 3\n", "line 2: corner 2"),
            ("a.obj", "v 0 0 0\nf 1 1\n", "2 corners"),
            ("a.obj", "v 0 0 0\nf 1 x 1\n", "`x` is no corner"),
            ("a.obj", "v 0 0 0\nf 0 1 1\n", "corner 0"),
            ("a.stl", "hello", "neither"),
            ("a.stl", "solid\nvertex 0 0 0\nendfacet\n", "line 3: a facet has 1 corners"),
        ] {
            let error = read(name, text.as_bytes()).unwrap_err();
            assert!(error.contains(part), "{text:?}: {error}");
        }
    }
}
