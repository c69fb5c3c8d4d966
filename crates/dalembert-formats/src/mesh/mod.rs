//! Meshes from files, by the ending of their name:
//!
//! | ending | what | elements |
//! |---|---|---|
//! | `.obj` | Wavefront OBJ | triangles, lines |
//! | `.stl` | STL, text and binary | triangles |
//! | `.ply` | PLY, text and binary | triangles, edges |
//! | `.msh` | Gmsh 2.2 and 4.1, text and binary | lines, triangles, tetrahedra, hexahedra |
//! | `.vtk` | legacy VTK, text and binary | lines, triangles, tetrahedra, hexahedra |
//!
//! Only places and elements are taken. Faces with more than three corners become fans of triangles; curved elements
//! are taken by their corners; [`RawMesh::notes`] says so. Vertices of an STL that lie at the same place become one.
//! A mesh file is untrusted input: it is read or refused with its line, its element and the bad number.

mod gmsh;
mod obj;
mod ply;
mod scan;
mod stl;
mod vtk;

pub use gmsh::write as write_gmsh;
pub use ply::write as write_ply;
pub use vtk::write as write_vtk;

use std::fmt;
use std::io::Read;
use std::path::Path;

use dalembert::math::Vec3;
use dalembert::mesh::{HexMesh, SegmentMesh, SurfaceMesh, TetMesh};

use crate::error::plain;

/// Endings of the files that [`read`] knows.
pub const ENDINGS: [&str; 5] = ["obj", "stl", "ply", "msh", "vtk"];

/// Largest mesh file \[bytes\].
pub const MAX_MESH_FILE: u64 = 1 << 30;

/// Points and elements as a file gives them, corners counted from 0.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RawMesh {
    /// Places, in the unit of the file.
    pub vertices: Vec<[f64; 3]>,
    /// Ends of segments.
    pub segments: Vec<[u32; 2]>,
    /// Corners of triangles.
    pub triangles: Vec<[u32; 3]>,
    /// Corners of tetrahedra.
    pub tets: Vec<[u32; 4]>,
    /// Corners of hexahedra: 0–3 around the bottom, 4–7 above them.
    pub hexes: Vec<[u32; 8]>,
    /// What was changed or left out, each said once.
    pub notes: Vec<String>,
}

/// A solid mesh from a file.
#[derive(Clone, Debug, PartialEq)]
pub enum VolumeMesh {
    /// Tetrahedra.
    Tets(TetMesh),
    /// Hexahedra.
    Hexes(HexMesh),
}

/// Why a mesh file is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MeshFileError {
    /// Name of the file.
    pub file: String,
    /// Line, from 1, where there is one.
    pub line: Option<usize>,
    /// What is wrong, with the element and the number.
    pub message: String,
    /// What to do about it.
    pub help: Option<String>,
}

impl MeshFileError {
    fn new(file: &str, problem: scan::Problem) -> Self {
        Self { file: file.into(), line: problem.line, message: problem.message, help: problem.help }
    }

    /// What is wrong and in which line, without the name of the file.
    pub fn reason(&self) -> String {
        match self.line {
            Some(line) => format!("line {line}: {}", self.message),
            None => self.message.clone(),
        }
    }
}

impl fmt::Display for MeshFileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file)?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        write!(f, ": {}", self.message)?;
        if let Some(help) = &self.help {
            write!(f, "; {help}")?;
        }
        Ok(())
    }
}

impl std::error::Error for MeshFileError {}

/// True if a name ends like that of a mesh file.
pub fn is_mesh_name(name: &str) -> bool {
    ENDINGS.contains(&ending(name).as_str())
}

fn ending(name: &str) -> String {
    match name.rsplit_once('.') {
        Some((_, ending)) => ending.to_ascii_lowercase(),
        None => String::new(),
    }
}

/// Reads any mesh; `name` decides the format by its ending.
pub fn read(name: &str, bytes: &[u8]) -> Result<RawMesh, MeshFileError> {
    let mesh = match ending(name).as_str() {
        "obj" => obj::read(&String::from_utf8_lossy(bytes)),
        "stl" => stl::read(bytes),
        "ply" => ply::read(bytes),
        "msh" => gmsh::read(bytes),
        "vtk" => vtk::read(bytes),
        _ => Err(scan::Problem::new("its name must end in .obj, .stl, .ply, .msh or .vtk")),
    };
    mesh.map_err(|problem| MeshFileError::new(name, problem))
}

/// Reads a surface: the triangles of the file or, if it has none, the outside of its tetrahedra or hexahedra. Only the
/// vertices that the triangles use are kept.
pub fn read_surface(name: &str, bytes: &[u8]) -> Result<SurfaceMesh, MeshFileError> {
    let mesh = read(name, bytes)?;
    let refuse = |message: &str| Err(MeshFileError::new(name, scan::Problem::new(message)));
    if !mesh.triangles.is_empty() {
        return Ok(mesh.surface_mesh());
    }
    match mesh.volume() {
        Some(VolumeMesh::Tets(tets)) => Ok(tets.boundary().surface),
        Some(VolumeMesh::Hexes(hexes)) => Ok(hexes.boundary().surface),
        None if mesh.tets.is_empty() => refuse("it has no triangles"),
        None => refuse("it has both tetrahedra and hexahedra"),
    }
}

/// Reads any mesh from a path.
pub fn read_mesh(path: &Path) -> Result<RawMesh, MeshFileError> {
    let name = path.to_string_lossy();
    let refuse = |message: String| MeshFileError::new(&name, scan::Problem::new(message));
    let cannot = |error: std::io::Error| refuse(format!("cannot be read: {}", plain(&error)));
    let mut bytes = Vec::new();
    let file = crate::regular::open(path).map_err(cannot)?;
    file.take(MAX_MESH_FILE + 1).read_to_end(&mut bytes).map_err(cannot)?;
    if bytes.len() as u64 > MAX_MESH_FILE {
        return Err(refuse(format!("it is larger than {} MiB", MAX_MESH_FILE >> 20)));
    }
    read(&name, &bytes)
}

/// Reads a solid: the tetrahedra or the hexahedra of the file. Only the nodes that they use are kept.
pub fn read_volume(name: &str, bytes: &[u8]) -> Result<VolumeMesh, MeshFileError> {
    volume_of(name, &read(name, bytes)?)
}

fn volume_of(name: &str, mesh: &RawMesh) -> Result<VolumeMesh, MeshFileError> {
    mesh.volume().ok_or_else(|| {
        let problem = match (mesh.tets.len(), mesh.hexes.len()) {
            (0, 0) => {
                let surface = mesh.triangles.len();
                let problem = scan::Problem::new("it has neither tetrahedra nor hexahedra");
                if surface > 0 {
                    problem.with_help(format!(
                        "its {surface} triangles are a surface: fill it with tetrahedra in a mesh generator"
                    ))
                } else {
                    problem
                }
            }
            (tets, hexes) => scan::Problem::new(format!("it has {tets} tetrahedra and {hexes} hexahedra"))
                .with_help("save one kind alone"),
        };
        MeshFileError::new(name, problem)
    })
}

/// Vertices that some elements use, in their order, and the elements in the new numbers.
fn compact<const N: usize>(vertices: &[[f64; 3]], elements: &[[u32; N]]) -> (Vec<Vec3>, Vec<[u32; N]>) {
    let mut number = vec![u32::MAX; vertices.len()];
    for &i in elements.iter().flatten() {
        number[i as usize] = 0;
    }
    let mut points = Vec::new();
    for (p, number) in vertices.iter().zip(&mut number) {
        if *number == 0 {
            *number = points.len() as u32;
            points.push(Vec3::from(*p));
        }
    }
    (points, elements.iter().map(|e| e.map(|i| number[i as usize])).collect())
}

impl RawMesh {
    /// Its tetrahedra or its hexahedra, with the nodes that they use; `None` if it has neither or both.
    pub fn volume(&self) -> Option<VolumeMesh> {
        match (self.tets.is_empty(), self.hexes.is_empty()) {
            (false, true) => Some(VolumeMesh::Tets(self.tet_mesh())),
            (true, false) => Some(VolumeMesh::Hexes(self.hex_mesh())),
            _ => None,
        }
    }

    /// Its tetrahedra, with the vertices that they use.
    pub fn tet_mesh(&self) -> TetMesh {
        let (points, tets) = compact(&self.vertices, &self.tets);
        TetMesh { points, tets }
    }

    /// Its hexahedra, with the vertices that they use.
    pub fn hex_mesh(&self) -> HexMesh {
        let (points, hexes) = compact(&self.vertices, &self.hexes);
        HexMesh { points, hexes }
    }

    /// Its triangles, with the vertices that they use.
    pub fn surface_mesh(&self) -> SurfaceMesh {
        let (points, triangles) = compact(&self.vertices, &self.triangles);
        SurfaceMesh { points, triangles }
    }

    /// Its segments, with the vertices that they use.
    pub fn segment_mesh(&self) -> SegmentMesh {
        let (points, segments) = compact(&self.vertices, &self.segments);
        SegmentMesh { points, segments }
    }

    /// A corner by its number in the file, whose first vertex has the number `first`.
    fn corner(&self, number: i64, first: i64, of: fmt::Arguments<'_>) -> Result<u32, String> {
        match number.checked_sub(first).and_then(|i| usize::try_from(i).ok()) {
            Some(i) if i < self.vertices.len() => Ok(i as u32),
            _ => Err(format!(
                "{of} names vertex {number}, but there are only {} vertices",
                self.vertices.len()
            )),
        }
    }

    /// A face as a fan of triangles.
    fn add_polygon(&mut self, corners: &[u32]) {
        self.triangles.extend((1..corners.len() - 1).map(|k| [corners[0], corners[k], corners[k + 1]]));
        if corners.len() > 3 {
            self.note("its faces of more than three corners are cut into triangles".into());
        }
    }

    fn add_chain(&mut self, corners: &[u32]) {
        self.segments.extend(corners.windows(2).map(|w| [w[0], w[1]]));
    }

    fn note(&mut self, note: String) {
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }
}

impl From<&TetMesh> for RawMesh {
    fn from(mesh: &TetMesh) -> Self {
        Self { vertices: arrays(&mesh.points), tets: mesh.tets.clone(), ..Self::default() }
    }
}

impl From<&HexMesh> for RawMesh {
    fn from(mesh: &HexMesh) -> Self {
        Self { vertices: arrays(&mesh.points), hexes: mesh.hexes.clone(), ..Self::default() }
    }
}

impl From<&SurfaceMesh> for RawMesh {
    fn from(mesh: &SurfaceMesh) -> Self {
        Self { vertices: arrays(&mesh.points), triangles: mesh.triangles.clone(), ..Self::default() }
    }
}

impl From<&SegmentMesh> for RawMesh {
    fn from(mesh: &SegmentMesh) -> Self {
        Self { vertices: arrays(&mesh.points), segments: mesh.segments.clone(), ..Self::default() }
    }
}

fn arrays(points: &[Vec3]) -> Vec<[f64; 3]> {
    points.iter().map(|p| (*p).into()).collect()
}
