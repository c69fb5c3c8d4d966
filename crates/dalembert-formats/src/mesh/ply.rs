//! PLY, text and binary of either byte order: a header that names elements and their properties, then the elements.
//!
//! Taken are `vertex` (x, y, z), `face` (list `vertex_indices` or `vertex_index`) and `edge` (`vertex1`, `vertex2`);
//! other elements and properties are stepped over.

use dalembert::math::Vec3;

use super::RawMesh;
use super::scan::{Encoding, Number, Problem, Scanner, short};

/// A surface as a binary file. Places are written in 32 bits each if all of them fit there without loss, else in 64, so
/// that they read back to the same bits.
pub fn write(points: &[Vec3], triangles: &[[u32; 3]]) -> Vec<u8> {
    let narrow = points.iter().flatten().all(|x| f64::from(*x as f32).to_bits() == x.to_bits());
    let kind = if narrow { "float" } else { "double" };
    let mut out = format!(
        "ply\nformat binary_little_endian 1.0\nelement vertex {}\nproperty {kind} x\nproperty {kind} y\n\
         property {kind} z\nelement face {}\nproperty list uchar uint vertex_indices\nend_header\n",
        points.len(),
        triangles.len()
    )
    .into_bytes();
    out.reserve(points.len() * if narrow { 12 } else { 24 } + triangles.len() * 13);
    for x in points.iter().flatten() {
        if narrow {
            out.extend((*x as f32).to_le_bytes());
        } else {
            out.extend(x.to_le_bytes());
        }
    }
    for corners in triangles {
        out.push(3);
        corners.iter().for_each(|i| out.extend(i.to_le_bytes()));
    }
    out
}

struct Element {
    name: String,
    count: usize,
    properties: Vec<Property>,
}

struct Property {
    name: String,
    /// Kind of the length, if it is a list.
    list: Option<Number>,
    kind: Number,
}

pub(super) fn read(bytes: &[u8]) -> Result<RawMesh, Problem> {
    let mut s = Scanner::new(bytes);
    let (elements, encoding) = header(&mut s)?;
    s.encoding = encoding;
    let mut mesh = RawMesh::default();
    for element in &elements {
        s.counted(element.count as i64, format_args!("the number of `{}` elements", short(&element.name)))?;
        match element.name.as_str() {
            "vertex" => vertices(&mut s, element, &mut mesh)?,
            _ => others(&mut s, element, &mut mesh)?,
        }
    }
    Ok(mesh)
}

fn header(s: &mut Scanner) -> Result<(Vec<Element>, Encoding), Problem> {
    if s.line() != Some("ply") {
        return Err(Problem { line: Some(1), ..Problem::new("a PLY file begins with a line `ply`") });
    }
    let (mut elements, mut encoding): (Vec<Element>, _) = (Vec::new(), None);
    loop {
        let Some(line) = s.full_line() else {
            return Err(s.problem("the file ends inside its header: there is no `end_header`"));
        };
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            ["format", kind, _] => {
                encoding = Some(match kind {
                    "ascii" => Encoding::Text,
                    "binary_little_endian" => Encoding::Little,
                    "binary_big_endian" => Encoding::Big,
                    _ => return Err(s.problem(format!("`{}` is no format of a PLY file", short(kind)))),
                });
            }
            ["comment" | "obj_info", ..] => {}
            ["element", name, count] => {
                let count = count.parse().ok().filter(|&n: &usize| n <= i64::MAX as usize);
                let count = count
                    .ok_or_else(|| s.problem(format!("`{}` is no number of elements", short(words[2]))))?;
                elements.push(Element { name: name.into(), count, properties: Vec::new() });
            }
            ["property", "list", length, kind, name] => {
                let property =
                    Property { name: name.into(), list: Some(number(s, length)?), kind: number(s, kind)? };
                add(s, &mut elements, property)?;
            }
            ["property", kind, name] => {
                let property = Property { name: name.into(), list: None, kind: number(s, kind)? };
                add(s, &mut elements, property)?;
            }
            ["end_header"] => break,
            _ => return Err(s.problem(format!("`{}` is no line of a PLY header", short(line)))),
        }
    }
    let encoding = encoding.ok_or_else(|| s.problem("the header has no `format` line"))?;
    Ok((elements, encoding))
}

fn add(s: &Scanner, elements: &mut [Element], property: Property) -> Result<(), Problem> {
    let element =
        elements.last_mut().ok_or_else(|| s.problem("a property stands before the first element"))?;
    element.properties.push(property);
    Ok(())
}

fn number(s: &Scanner, name: &str) -> Result<Number, Problem> {
    Ok(match name {
        "char" | "int8" => Number::I8,
        "uchar" | "uint8" => Number::U8,
        "short" | "int16" => Number::I16,
        "ushort" | "uint16" => Number::U16,
        "int" | "int32" => Number::I32,
        "uint" | "uint32" => Number::U32,
        "float" | "float32" => Number::F32,
        "double" | "float64" => Number::F64,
        _ => return Err(s.problem(format!("`{}` is no kind of number in a PLY file", short(name)))),
    })
}

fn vertices(s: &mut Scanner, element: &Element, mesh: &mut RawMesh) -> Result<(), Problem> {
    let axes = ["x", "y", "z"]
        .map(|axis| element.properties.iter().position(|p| p.name == axis && p.list.is_none()));
    let [Some(x), Some(y), Some(z)] = axes else {
        return Err(s.problem("the vertices have no properties x, y and z"));
    };
    let mut row = vec![0.0; element.properties.len()];
    for k in 0..element.count {
        for (at, property) in element.properties.iter().enumerate() {
            row[at] = match at == x || at == y || at == z {
                true => s.float(property.kind, format_args!("{} of vertex {k}", property.name))?,
                false => {
                    skip(s, property, "vertex", k)?;
                    0.0
                }
            };
        }
        mesh.vertices.push([row[x], row[y], row[z]]);
    }
    Ok(())
}

fn others(s: &mut Scanner, element: &Element, mesh: &mut RawMesh) -> Result<(), Problem> {
    let name = element.name.as_str();
    let is_corners =
        |p: &Property| name == "face" && (p.name == "vertex_indices" || p.name == "vertex_index");
    if name == "face" && !element.properties.iter().any(|p| is_corners(p) && p.list.is_some()) {
        return Err(s.problem("the faces have no list `vertex_indices`"));
    }
    if name == "tristrips" && element.count > 0 {
        mesh.note("its triangle strips are left out".into());
    }
    let mut corners = Vec::new();
    for k in 0..element.count {
        let mut ends = [None; 2];
        for property in &element.properties {
            let end = ["vertex1", "vertex2"].iter().position(|n| name == "edge" && property.name == *n);
            match (property.list, end) {
                (Some(length), _) if is_corners(property) => {
                    let count = s.count(length, format_args!("the number of corners of face {k}"))?;
                    corners.clear();
                    for _ in 0..count {
                        let index = s.integer(property.kind, format_args!("a corner of face {k}"))?;
                        corners
                            .push(mesh.corner(index, 0, format_args!("face {k}")).map_err(|m| s.problem(m))?);
                    }
                    if corners.len() < 3 {
                        return Err(s.problem(format!("face {k} has {} corners", corners.len())));
                    }
                    mesh.add_polygon(&corners);
                }
                (None, Some(end)) => {
                    let index = s.integer(property.kind, format_args!("an end of edge {k}"))?;
                    ends[end] =
                        Some(mesh.corner(index, 0, format_args!("edge {k}")).map_err(|m| s.problem(m))?);
                }
                _ => skip(s, property, &short(name), k)?,
            }
        }
        if let [Some(a), Some(b)] = ends {
            mesh.add_chain(&[a, b]);
        }
    }
    Ok(())
}

fn skip(s: &mut Scanner, property: &Property, element: &str, k: usize) -> Result<(), Problem> {
    let what = short(&property.name);
    let count = match property.list {
        Some(length) => s.count(length, format_args!("the length of {what} of {element} {k}"))?,
        None => 1,
    };
    for _ in 0..count {
        // A colour or a quality may be anything; only its size matters.
        match s.encoding {
            Encoding::Text => drop(s.word(format_args!("{what} of {element} {k}"))?),
            _ => drop(s.integer(property.kind, format_args!("{what} of {element} {k}"))?),
        }
    }
    Ok(())
}
