//! Legacy VTK, text and binary: unstructured grids and poly data, versions 2 to 5.1.

use std::fmt::Write as _;

use super::RawMesh;
use super::scan::{Encoding, Number, Problem, Scanner, short};

/// Numbers of the points of cells, one cell behind the other.
#[derive(Default)]
struct Cells {
    starts: Vec<usize>,
    points: Vec<i64>,
}

impl Cells {
    fn len(&self) -> usize {
        self.starts.len().saturating_sub(1)
    }

    fn get(&self, k: usize) -> &[i64] {
        &self.points[self.starts[k]..self.starts[k + 1]]
    }
}

pub(super) fn read(bytes: &[u8]) -> Result<RawMesh, Problem> {
    let mut s = Scanner::new(bytes);
    if !s.line().is_some_and(|line| line.starts_with("# vtk DataFile")) {
        return Err(Problem {
            line: Some(1),
            ..Problem::new("a legacy VTK file begins with `# vtk DataFile Version`")
        }
        .with_help("XML files (.vtu, .vtp) are not read: save as legacy .vtk"));
    }
    s.line();
    let encoding = match s.full_line() {
        Some("ASCII") => Encoding::Text,
        Some("BINARY") => Encoding::Big,
        other => {
            let found = short(other.unwrap_or(""));
            return Err(s.problem(format!("`ASCII` or `BINARY` should stand where `{found}` stands")));
        }
    };
    let dataset = s.full_line().unwrap_or("").to_ascii_uppercase();
    let is_grid = match dataset.split_whitespace().collect::<Vec<_>>()[..] {
        ["DATASET", "UNSTRUCTURED_GRID"] => true,
        ["DATASET", "POLYDATA"] => false,
        _ => {
            return Err(s
                .problem(format!("`{}` is not read", short(&dataset)))
                .with_help("save it as `DATASET UNSTRUCTURED_GRID` or `DATASET POLYDATA`"));
        }
    };
    let mut mesh = RawMesh::default();
    let (mut cells, mut types) = (Cells::default(), Vec::new());
    while let Some(line) = s.full_line() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let head = words[0].to_ascii_uppercase();
        match (head.as_str(), &words[1..]) {
            ("POINTS", [count, kind]) => {
                let (count, kind) = (given_count(&s, count)?, number(&s, kind)?);
                s.encoding = encoding;
                for k in 0..count {
                    let p = s.triple(kind, format_args!("point {k}"))?;
                    mesh.vertices.push(p);
                }
            }
            ("CELLS", [a, b]) if is_grid => cells = read_cells(&mut s, encoding, a, b)?,
            ("CELL_TYPES", [count]) if is_grid => {
                let count = given_count(&s, count)?;
                s.encoding = encoding;
                for k in 0..count {
                    types.push(s.integer(Number::I32, format_args!("the type of cell {k}"))?);
                }
            }
            ("VERTICES" | "LINES" | "POLYGONS" | "TRIANGLE_STRIPS", [a, b]) if !is_grid => {
                let part = read_cells(&mut s, encoding, a, b)?;
                let kind = match head.as_str() {
                    "VERTICES" => 2,
                    "LINES" => 4,
                    "POLYGONS" => 7,
                    _ => 6,
                };
                for k in 0..part.len() {
                    add_cell(&mut mesh, k, kind, part.get(k))?;
                }
            }
            // What follows belongs to points and cells, and says nothing about the shape.
            ("POINT_DATA" | "CELL_DATA", _) => break,
            ("METADATA", _) => while s.line().is_some_and(|line| !line.is_empty()) {},
            _ => return Err(s.problem(format!("`{}` is not understood", short(line)))),
        }
        s.encoding = Encoding::Text;
    }
    if cells.len() != types.len() {
        return Err(s.problem(format!("there are {} cells, but {} cell types", cells.len(), types.len())));
    }
    for k in 0..cells.len() {
        add_cell(&mut mesh, k, types[k], cells.get(k))?;
    }
    Ok(mesh)
}

fn given_count(s: &Scanner, word: &str) -> Result<usize, Problem> {
    let number = word.parse().map_err(|_| s.problem(format!("`{}` is no count", short(word))))?;
    s.counted(number, format_args!("the count"))
}

fn number(s: &Scanner, name: &str) -> Result<Number, Problem> {
    Ok(match name.to_ascii_lowercase().as_str() {
        "float" => Number::F32,
        "double" => Number::F64,
        "char" => Number::I8,
        "unsigned_char" => Number::U8,
        "short" => Number::I16,
        "unsigned_short" => Number::U16,
        "int" => Number::I32,
        "unsigned_int" => Number::U32,
        "long" | "vtktypeint64" | "vtkidtype" => Number::I64,
        "unsigned_long" | "vtktypeuint64" => Number::U64,
        _ => return Err(s.problem(format!("`{}` is no kind of number in a VTK file", short(name)))),
    })
}

/// `CELLS cells numbers` with the length before each cell, or (from version 5.1) `CELLS offsets numbers` with lists
/// `OFFSETS` and `CONNECTIVITY`.
fn read_cells(s: &mut Scanner, encoding: Encoding, a: &str, b: &str) -> Result<Cells, Problem> {
    let (a, b) = (given_count(s, a)?, given_count(s, b)?);
    let mut cells = Cells { starts: vec![0], points: Vec::new() };
    let before = s.place();
    let newer = s.full_line().and_then(|line| line.strip_prefix("OFFSETS").map(str::trim));
    let Some(kind) = newer else {
        s.go_back(before);
        s.encoding = encoding;
        for k in 0..a {
            let count = s.count(Number::I32, format_args!("the number of points of cell {k}"))?;
            for _ in 0..count {
                cells.points.push(s.integer(Number::I32, format_args!("a point of cell {k}"))?);
            }
            cells.starts.push(cells.points.len());
        }
        if cells.points.len() + a != b {
            let found = cells.points.len() + a;
            s.encoding = Encoding::Text;
            return Err(s.problem(format!("the cells have {found} numbers, but {b} were announced")));
        }
        return Ok(cells);
    };
    let kind = number(s, kind)?;
    let mut offsets = Vec::new();
    s.encoding = encoding;
    for k in 0..a {
        offsets.push(s.integer(kind, format_args!("offset {k}"))?);
    }
    s.encoding = Encoding::Text;
    let Some(kind) = s.full_line().and_then(|line| line.strip_prefix("CONNECTIVITY").map(str::trim)) else {
        return Err(s.problem("`CONNECTIVITY` should follow the offsets"));
    };
    let kind = number(s, kind)?;
    s.encoding = encoding;
    for k in 0..b {
        cells.points.push(s.integer(kind, format_args!("number {k} of the cells"))?);
    }
    s.encoding = Encoding::Text;
    let rising = offsets.first() == Some(&0) && offsets.windows(2).all(|w| w[0] <= w[1]);
    if a > 0 && !(rising && offsets.last() == Some(&(b as i64))) {
        return Err(s.problem(format!("the offsets of the cells must rise from 0 to {b}")));
    }
    cells.starts = offsets.iter().map(|&o| o as usize).collect();
    Ok(cells)
}

/// Takes one cell by its type.
fn add_cell(mesh: &mut RawMesh, k: usize, kind: i64, points: &[i64]) -> Result<(), Problem> {
    let (name, least, exact) = match kind {
        1 | 2 => return Ok(()),
        3 => ("line", 2, true),
        4 => ("polyline", 2, false),
        5 => ("triangle", 3, true),
        6 => ("triangle strip", 3, false),
        7 => ("polygon", 3, false),
        8 => ("pixel", 4, true),
        9 => ("quadrilateral", 4, true),
        10 => ("tetrahedron", 4, true),
        11 => ("voxel", 8, true),
        12 => ("hexahedron", 8, true),
        21 => ("quadratic line", 3, true),
        22 => ("quadratic triangle", 6, true),
        23 => ("quadratic quadrilateral", 8, true),
        24 => ("quadratic tetrahedron", 10, true),
        25 => ("quadratic hexahedron", 20, true),
        29 => ("triquadratic hexahedron", 27, true),
        13 | 14 | 26 | 27 => {
            let what = if kind % 13 == 0 { "prism" } else { "pyramid" };
            return Err(Problem::new(format!("cell {k} is a {what}, which is not supported"))
                .with_help("mesh the solid with tetrahedra alone, or with hexahedra alone"));
        }
        _ => return Err(Problem::new(format!("cell {k} has type {kind}, which is not known"))),
    };
    if points.len() < least || (exact && points.len() != least) {
        return Err(Problem::new(format!("cell {k} is a {name} with {} points", points.len())));
    }
    let corner = |&i: &i64| mesh.corner(i, 0, format_args!("cell {k}")).map_err(Problem::new);
    let c: Vec<u32> = points.iter().map(corner).collect::<Result<_, _>>()?;
    match kind {
        3 | 4 => mesh.add_chain(&c),
        21 => mesh.add_chain(&c[..2]),
        5 | 7 => mesh.add_polygon(&c),
        22 => mesh.add_polygon(&c[..3]),
        9 | 23 => mesh.add_polygon(&c[..4]),
        8 => mesh.add_polygon(&[c[0], c[1], c[3], c[2]]),
        6 => {
            // Every other triangle of a strip runs backwards.
            for (i, t) in c.windows(3).enumerate() {
                mesh.triangles.push(if i % 2 == 0 { [t[0], t[1], t[2]] } else { [t[0], t[2], t[1]] });
            }
        }
        10 | 24 => mesh.tets.push([c[0], c[1], c[2], c[3]]),
        11 => mesh.hexes.push([c[0], c[1], c[3], c[2], c[4], c[5], c[7], c[6]]),
        _ => mesh.hexes.push(std::array::from_fn(|i| c[i])),
    }
    if kind > 20 {
        mesh.note("its curved elements are taken by their corners; the nodes between are left out".into());
    }
    Ok(())
}

/// The mesh as legacy VTK text, version 3.0.
pub fn write(mesh: &RawMesh) -> String {
    let mut out = String::from("# vtk DataFile Version 3.0\ndalembert\nASCII\nDATASET UNSTRUCTURED_GRID\n");
    let _ = writeln!(out, "POINTS {} double", mesh.vertices.len());
    for [x, y, z] in &mesh.vertices {
        let _ = writeln!(out, "{x:?} {y:?} {z:?}");
    }
    let mut cells = String::new();
    let (mut types, mut count, mut numbers) = (String::new(), 0, 0);
    let mut cell = |kind: u32, corners: &[u32]| {
        count += 1;
        numbers += 1 + corners.len();
        let _ = write!(cells, "{}", corners.len());
        for c in corners {
            let _ = write!(cells, " {c}");
        }
        cells.push('\n');
        let _ = writeln!(types, "{kind}");
    };
    mesh.segments.iter().for_each(|c| cell(3, c));
    mesh.triangles.iter().for_each(|c| cell(5, c));
    mesh.tets.iter().for_each(|c| cell(10, c));
    mesh.hexes.iter().for_each(|c| cell(12, c));
    let _ = write!(out, "CELLS {count} {numbers}\n{cells}CELL_TYPES {count}\n{types}");
    out
}
