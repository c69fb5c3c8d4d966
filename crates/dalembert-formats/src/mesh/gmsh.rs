//! Gmsh MSH 2.2 and 4.1, text and binary: nodes and elements with numbers ("tags") of their own.

use std::fmt::Write as _;

use super::RawMesh;
use super::scan::{Encoding, Number, Problem, Scanner, short};

/// Nodes per element of a type, and how many of them are corners; `None` for an unknown type.
fn nodes_of(kind: i64) -> Option<usize> {
    Some(match kind {
        1 => 2,
        2 => 3,
        3 | 4 => 4,
        5 => 8,
        6 => 6,
        7 => 5,
        8 => 3,
        9 => 6,
        10 => 9,
        11 => 10,
        12 => 27,
        13 => 18,
        14 => 14,
        15 => 1,
        16 => 8,
        17 => 20,
        18 => 15,
        19 => 13,
        20 => 9,
        21 => 10,
        22 => 12,
        23 | 24 => 15,
        25 => 21,
        26 => 4,
        27 => 5,
        28 => 6,
        29 => 20,
        30 => 35,
        31 => 56,
        92 => 64,
        93 => 125,
        _ => return None,
    })
}

struct Reader<'a> {
    s: Scanner<'a>,
    binary: Encoding,
    mesh: RawMesh,
    /// Tags and numbers of the nodes, sorted by tag once all are there.
    tags: Vec<(i64, u32)>,
}

pub(super) fn read(bytes: &[u8]) -> Result<RawMesh, Problem> {
    let mut r =
        Reader { s: Scanner::new(bytes), binary: Encoding::Text, mesh: RawMesh::default(), tags: Vec::new() };
    if r.s.full_line() != Some("$MeshFormat") {
        return Err(Problem { line: Some(1), ..Problem::new("a Gmsh file begins with `$MeshFormat`") });
    }
    let version = r.format()?;
    let mut nodes_seen = false;
    while let Some(line) = r.s.full_line() {
        match line {
            "$Nodes" => {
                nodes_seen = true;
                r.s.encoding = r.binary;
                if version < 4.0 {
                    r.nodes_2()?
                } else {
                    r.nodes_4()?
                }
                r.end("$EndNodes")?;
                r.sort_tags()?;
            }
            "$Elements" if !nodes_seen => {
                return Err(r.s.problem("`$Elements` stands before `$Nodes`"));
            }
            "$Elements" => {
                r.s.encoding = r.binary;
                if version < 4.0 {
                    r.elements_2()?
                } else {
                    r.elements_4()?
                }
                r.end("$EndElements")?;
            }
            _ if line.starts_with('$') => {
                // Physical names, entities, periodicity, data on nodes: step over.
                let end = format!("$End{}", &line[1..]);
                loop {
                    match r.s.line() {
                        Some(l) if l == end => break,
                        Some(_) => {}
                        None => return Err(r.s.problem(format!("the file ends before `{}`", short(&end)))),
                    }
                }
            }
            _ => return Err(r.s.problem(format!("`{}` stands outside any section", short(line)))),
        }
    }
    if !nodes_seen {
        return Err(r.s.problem("it has no `$Nodes`"));
    }
    Ok(r.mesh)
}

impl Reader<'_> {
    fn format(&mut self) -> Result<f64, Problem> {
        let version = self.s.float(Number::F64, format_args!("the version of the format"))?;
        let is_binary = self.s.integer(Number::I32, format_args!("the kind of file (0 text, 1 binary)"))?;
        let size = self.s.integer(Number::I32, format_args!("the size of a number"))?;
        if ![2.2, 4.1].contains(&version) {
            return Err(self
                .s
                .problem(format!("version {version} of the Gmsh format is not read"))
                .with_help("save it as version 2.2 or 4.1 (`gmsh -format msh41`)"));
        }
        if size != 8 {
            return Err(self.s.problem(format!("numbers of {size} bytes are not read; Gmsh writes 8")));
        }
        self.s.line();
        if is_binary != 0 {
            self.s.encoding = Encoding::Little;
            let one =
                self.s.integer(Number::I32, format_args!("the number 1 that tells the order of bytes"))?;
            self.binary = match one {
                1 => Encoding::Little,
                0x0100_0000 => Encoding::Big,
                _ => return Err(self.s.problem(format!("the order of bytes cannot be told from {one}"))),
            };
        }
        self.end("$EndMeshFormat")?;
        Ok(version)
    }

    /// The line that ends a section.
    fn end(&mut self, line: &str) -> Result<(), Problem> {
        self.s.encoding = Encoding::Text;
        match self.s.full_line() {
            Some(found) if found == line => Ok(()),
            Some(found) => {
                Err(self.s.problem(format!("`{line}` should stand where `{}` stands", short(found))))
            }
            None => Err(self.s.problem(format!("the file ends before `{line}`"))),
        }
    }

    fn node(&mut self, tag: i64) -> Result<(), Problem> {
        let place = self.s.triple(Number::F64, format_args!("node {tag}"))?;
        self.tags.push((tag, self.mesh.vertices.len() as u32));
        self.mesh.vertices.push(place);
        Ok(())
    }

    fn nodes_2(&mut self) -> Result<(), Problem> {
        // The count is a line of text in binary files too.
        self.s.encoding = Encoding::Text;
        let count = self.s.count(Number::I32, format_args!("the number of nodes"))?;
        if self.binary != Encoding::Text {
            self.s.line();
        }
        self.s.encoding = self.binary;
        for k in 0..count {
            let tag = self.s.integer(Number::I32, format_args!("the number of the {k}th node"))?;
            self.node(tag)?;
        }
        Ok(())
    }

    fn nodes_4(&mut self) -> Result<(), Problem> {
        let size = Number::U64;
        let blocks = self.s.count(size, format_args!("the number of node blocks"))?;
        for what in ["the number of nodes", "the lowest node", "the highest node"] {
            self.s.integer(size, format_args!("{what}"))?;
        }
        for block in 0..blocks {
            let dimension =
                self.s.integer(Number::I32, format_args!("the dimension of node block {block}"))?;
            self.s.integer(Number::I32, format_args!("the entity of node block {block}"))?;
            let parametric = self.s.integer(Number::I32, format_args!("the kind of node block {block}"))?;
            let count = self.s.count(size, format_args!("the number of nodes in block {block}"))?;
            let mut tags = Vec::with_capacity(count.min(self.s.left() / 2));
            for _ in 0..count {
                tags.push(self.s.integer(size, format_args!("the number of a node in block {block}"))?);
            }
            for tag in tags {
                self.node(tag)?;
                for _ in 0..if parametric != 0 { dimension.clamp(0, 3) } else { 0 } {
                    self.s.float(Number::F64, format_args!("a parameter of node {tag}"))?;
                }
            }
        }
        Ok(())
    }

    fn sort_tags(&mut self) -> Result<(), Problem> {
        self.tags.sort_unstable();
        match self.tags.windows(2).find(|w| w[0].0 == w[1].0) {
            Some(twice) => Err(self.s.problem(format!("node {} is given twice", twice[0].0))),
            None => Ok(()),
        }
    }

    fn elements_2(&mut self) -> Result<(), Problem> {
        self.s.encoding = Encoding::Text;
        let count = self.s.count(Number::I32, format_args!("the number of elements"))?;
        if self.binary == Encoding::Text {
            for k in 0..count {
                let element = self.s.integer(Number::I32, format_args!("the number of the {k}th element"))?;
                let kind = self.s.integer(Number::I32, format_args!("the type of element {element}"))?;
                let tags =
                    self.s.count(Number::I32, format_args!("the number of tags of element {element}"))?;
                for _ in 0..tags {
                    self.s.integer(Number::I32, format_args!("a tag of element {element}"))?;
                }
                self.element(element, kind, Number::I32)?;
            }
            return Ok(());
        }
        self.s.line();
        self.s.encoding = self.binary;
        let mut seen = 0;
        while seen < count {
            let int = Number::I32;
            let kind = self.s.integer(int, format_args!("the type of an element block"))?;
            let follow = self.s.count(int, format_args!("the number of elements of an element block"))?;
            let tags = self.s.count(int, format_args!("the number of tags of an element block"))?;
            if follow == 0 {
                return Err(self.s.problem("an element block is empty"));
            }
            for _ in 0..follow {
                let element = self.s.integer(int, format_args!("the number of an element"))?;
                for _ in 0..tags {
                    self.s.integer(int, format_args!("a tag of element {element}"))?;
                }
                self.element(element, kind, int)?;
            }
            seen += follow;
        }
        Ok(())
    }

    fn elements_4(&mut self) -> Result<(), Problem> {
        let size = Number::U64;
        let blocks = self.s.count(size, format_args!("the number of element blocks"))?;
        for what in ["the number of elements", "the lowest element", "the highest element"] {
            self.s.integer(size, format_args!("{what}"))?;
        }
        for block in 0..blocks {
            for what in ["dimension", "entity"] {
                self.s.integer(Number::I32, format_args!("the {what} of element block {block}"))?;
            }
            let kind = self.s.integer(Number::I32, format_args!("the type of element block {block}"))?;
            let count = self.s.count(size, format_args!("the number of elements in block {block}"))?;
            for _ in 0..count {
                let element =
                    self.s.integer(size, format_args!("the number of an element in block {block}"))?;
                self.element(element, kind, size)?;
            }
        }
        Ok(())
    }

    /// The nodes of one element.
    fn element(&mut self, element: i64, kind: i64, tag_kind: Number) -> Result<(), Problem> {
        let Some(count) = nodes_of(kind) else {
            return Err(self.s.problem(format!("element {element} has type {kind}, which is not known")));
        };
        let mut corners = [0; 125];
        for corner in &mut corners[..count] {
            let tag = self.s.integer(tag_kind, format_args!("a node of element {element}"))?;
            let Ok(place) = self.tags.binary_search_by_key(&tag, |t| t.0) else {
                let problem =
                    self.s.problem(format!("element {element} names node {tag}, which is not given"));
                return Err(match (self.tags.first(), self.tags.last()) {
                    (Some(low), Some(high)) => {
                        problem.with_help(format!("the file has nodes {} to {}", low.0, high.0))
                    }
                    _ => problem,
                });
            };
            *corner = self.tags[place].1;
        }
        let c = &corners;
        let mesh = &mut self.mesh;
        match kind {
            15 => {}
            1 | 8 | 26..=28 => mesh.segments.push([c[0], c[1]]),
            2 | 9 | 20..=25 => mesh.triangles.push([c[0], c[1], c[2]]),
            3 | 10 | 16 => mesh.add_polygon(&c[..4]),
            4 | 11 | 29..=31 => mesh.tets.push([c[0], c[1], c[2], c[3]]),
            5 | 12 | 17 | 92 | 93 => mesh.hexes.push(std::array::from_fn(|k| c[k])),
            _ => {
                let what = if [7, 14, 19].contains(&kind) { "pyramid" } else { "prism" };
                return Err(self
                    .s
                    .problem(format!("element {element} is a {what}, which is not supported"))
                    .with_help("mesh the solid with tetrahedra alone, or with hexahedra alone"));
            }
        }
        if ![1, 2, 3, 4, 5, 15].contains(&kind) {
            mesh.note(
                "its curved elements are taken by their corners; the nodes between are left out".into(),
            );
        }
        Ok(())
    }
}

/// The mesh as MSH 2.2 text; nodes and elements are numbered from 1.
pub fn write(mesh: &RawMesh) -> String {
    let mut out = String::from("$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$Nodes\n");
    let _ = writeln!(out, "{}", mesh.vertices.len());
    for (k, [x, y, z]) in mesh.vertices.iter().enumerate() {
        let _ = writeln!(out, "{} {x:?} {y:?} {z:?}", k + 1);
    }
    let count = mesh.segments.len() + mesh.triangles.len() + mesh.tets.len() + mesh.hexes.len();
    let _ = writeln!(out, "$EndNodes\n$Elements\n{count}");
    let mut number = 0;
    let mut element = |kind: u32, corners: &[u32]| {
        number += 1;
        let _ = write!(out, "{number} {kind} 2 0 0");
        for c in corners {
            let _ = write!(out, " {}", c + 1);
        }
        out.push('\n');
    };
    mesh.segments.iter().for_each(|c| element(1, c));
    mesh.triangles.iter().for_each(|c| element(2, c));
    mesh.tets.iter().for_each(|c| element(4, c));
    mesh.hexes.iter().for_each(|c| element(5, c));
    out.push_str("$EndElements\n");
    out
}
