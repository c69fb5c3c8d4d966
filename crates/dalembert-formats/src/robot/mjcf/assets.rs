//! `asset`: meshes, terrains, colours.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use dalembert::bodies::articulated::description::{
    HeightField, HeightFieldId, RobotDescription, RobotMeshId,
};
use dalembert::math::{Quat, Vec3};
use dalembert::mesh::convex_hull;

use super::super::meshes::{self, MeshFiles};
use super::super::names::Names;
use super::super::solid::MeshInertia;
use super::super::weigh::Extent;
use super::super::xml::{Attribute, Document, Loader, Node};
use super::super::{MeshPolicy, ReadOptions};
use super::attributes::{Attributes, unit};
use super::classes::Classes;
use super::compiler::Compiler;
use crate::error::{Span, quote, quote_path};
use crate::mesh::RawMesh;

/// Most rows or columns of a terrain.
const MOST_ROWS: usize = 10_000;

/// A mesh of a model, or why there is none.
pub(super) struct Mesh {
    pub(super) found: Result<RobotMeshId, String>,
    /// By the mesh's own rule.
    pub(super) extent: Result<Extent, String>,
    span: Span,
    used: Cell<bool>,
}

pub(super) struct Assets {
    pub(super) meshes: Vec<Mesh>,
    mesh_names: Names<usize>,
    pub(super) height_fields: Names<HeightFieldId>,
    /// Colours of materials that have one.
    pub(super) materials: BTreeMap<String, [f64; 4]>,
    /// Whether meshes are left out on purpose.
    skipped: bool,
}

impl Assets {
    /// The mesh that an attribute names.
    pub(super) fn mesh(&self, doc: &Document, attribute: &Attribute) -> Option<&Mesh> {
        let mesh = &self.meshes[self.mesh_names.find(doc, attribute)?];
        mesh.used.set(true);
        Some(mesh)
    }

    /// Meshes that cannot be read and that nobody wants.
    pub(super) fn report_unused(&self, doc: &Document) {
        for mesh in self.meshes.iter().filter(|mesh| !mesh.used.get() && !self.skipped) {
            if let Err(reason) = &mesh.found {
                doc.lost(doc.files.warning(mesh.span, reason.clone()));
            }
        }
    }
}

pub(super) struct Reader<'a, 'b, 'c> {
    pub(super) doc: &'a Document,
    pub(super) robot: &'b mut RobotDescription,
    pub(super) loader: &'b mut Loader<'c>,
    pub(super) files: &'b mut MeshFiles,
    pub(super) options: &'b ReadOptions,
    pub(super) folder: &'b Path,
    pub(super) compiler: &'b Compiler,
    pub(super) classes: &'b Classes<'a>,
    /// Number of the model, 0 for the main one.
    pub(super) model: usize,
}

impl<'a> Reader<'a, '_, '_> {
    pub(super) fn read(&mut self, root: Node<'a>) -> Assets {
        let mut assets = Assets {
            meshes: Vec::new(),
            mesh_names: Names::new("mesh"),
            height_fields: Names::new("height field"),
            materials: BTreeMap::new(),
            skipped: self.options.meshes == MeshPolicy::Skip,
        };
        for asset in root.named("asset") {
            asset.element.read.set(true);
            for node in asset.children() {
                match node.name() {
                    "mesh" => {
                        let (name, mesh) = self.mesh(node);
                        assets.mesh_names.add(root.doc, &name, assets.meshes.len(), node.span());
                        assets.meshes.push(mesh);
                    }
                    "hfield" => self.height_field(node, &mut assets),
                    "material" => {
                        let a = self.classes.over(node, "material", Classes::MAIN);
                        if let Some(color) = a.array("rgba") {
                            assets.materials.insert(a.name().to_owned(), color);
                        }
                    }
                    _ => {}
                }
                if root.doc.is_full() {
                    return assets;
                }
            }
        }
        assets
    }

    /// Where the file that an attribute names may be, the first place first: in the folder that `compiler` gives, seen
    /// from the main file; or else beside the included file that names it, with or without that folder before.
    fn places(&self, folder: &str, attribute: &Attribute) -> Vec<PathBuf> {
        let folder = if folder.is_empty() { &self.compiler.asset_folder } else { folder };
        let file = Path::new(&attribute.value);
        if self.compiler.strip_path {
            return vec![self.folder.join(folder).join(file.file_name().map_or(file, Path::new))];
        }
        let mut places = vec![self.folder.join(folder).join(file)];
        if let Some(included) = self.doc.folder_of(attribute.value_span) {
            places.push(included.join(file));
            if let Ok(inner) = included.strip_prefix(self.folder) {
                places.push(self.folder.join(folder).join(inner).join(file));
            }
        }
        places
    }

    fn mesh(&mut self, node: Node<'a>) -> (String, Mesh) {
        let a = self.classes.over(node, "mesh", Classes::MAIN);
        let file = a.get("file");
        let stem = |file: &Attribute| {
            Path::new(&file.value).file_stem().map(|stem| stem.to_string_lossy().into_owned())
        };
        let own = a.own("name").map(|name| name.value.clone());
        let name = own.or_else(|| file.and_then(stem)).unwrap_or_default();
        let scale = a.vector("scale").unwrap_or_else(|| Vec3::repeat(1.0));
        let position = a.vector("refpos").unwrap_or_else(Vec3::zeros);
        let rotation =
            a.array::<4>("refquat").and_then(|[w, x, y, z]| unit(w, x, y, z)).unwrap_or_else(Quat::identity);
        let rule = a.keyword("inertia", &MeshInertia::NAMES).unwrap_or_default();
        // How it looks, how its hull is made for contact, and colours.
        a.ignore(&["content_type", "normal", "texcoord", "smoothnormal", "maxhullvert", "material"]);
        let vertices = a.list("vertex");
        let faces = a.list("face");
        let span = node.span();
        let none = |reason: String| Mesh {
            extent: Err(reason.clone()),
            found: Err(reason),
            span,
            used: Cell::new(false),
        };
        if self.options.meshes == MeshPolicy::Skip {
            return (name, none("meshes are not read".into()));
        }
        let raw = match (file, vertices) {
            (Some(file), None) => {
                let places = self.places(&self.compiler.mesh_folder, file);
                let read = self.files.read(self.loader, &file.value, &places).cloned();
                read.map(|raw| (raw, file.value.clone()))
            }
            (None, Some(vertices)) => inline(&vertices, faces.as_deref()).map(|raw| (raw, String::new())),
            (Some(_), Some(_)) => Err("a mesh has a file or vertices, not both".into()),
            (None, None) => Err("a mesh needs a file or vertices".into()),
        };
        let (raw, file) = match raw {
            Ok(raw) => raw,
            Err(reason) => return (name, none(reason)),
        };
        let full = if self.model == 0 { name.clone() } else { format!("{name}@{}", self.model) };
        let (mesh, extent) = meshes::place(full, file, &raw, &position, &rotation, scale, rule);
        self.robot.meshes.push(mesh);
        let found = Ok(RobotMeshId(self.robot.meshes.len() - 1));
        (name, Mesh { found, extent, span, used: Cell::new(false) })
    }

    fn height_field(&mut self, node: Node<'a>, assets: &mut Assets) {
        let a = Attributes::alone(node);
        a.ignore(&["content_type"]);
        let count = |key: &str| {
            let n = a.integer(key).unwrap_or(0);
            let n = usize::try_from(n).unwrap_or(usize::MAX);
            if n > MOST_ROWS {
                a.error(format!("{} of a height field must be 0 to {MOST_ROWS}", quote(key)));
                return 0;
            }
            n
        };
        let (mut rows, mut columns) = (count("nrow"), count("ncol"));
        let Some(size) = a.array::<4>("size") else {
            if node.attribute("size").is_none() {
                a.error("`hfield` needs the attribute `size`");
            }
            return;
        };
        if size.iter().any(|&x| x <= 0.0) {
            a.error("the sizes of a height field must be positive");
        }
        let mut heights = a.list("elevation").unwrap_or_default();
        let mut file = String::new();
        if let Some(attribute) = a.get("file") {
            file.clone_from(&attribute.value);
            let places = self.places("", attribute);
            let place = places.iter().find(|place| self.loader.has(place)).unwrap_or(&places[0]);
            let read = self.loader.asset(place).and_then(|bytes| binary_heights(&bytes));
            match read {
                Ok((r, c, values)) => (rows, columns, heights) = (r, c, values),
                Err(reason) => {
                    let message = format!("the height field {} stays flat: {reason}", quote_path(&file));
                    a.doc().lost(a.doc().files.warning(attribute.value_span, message));
                }
            }
        }
        if !heights.is_empty() && heights.len() != rows * columns {
            let message =
                format!("the height field has {} heights for {rows} × {columns} places", heights.len());
            a.error(message);
            return;
        }
        // Heights are stretched to 0 to 1.
        let low = heights.iter().copied().fold(f64::INFINITY, f64::min);
        let high = heights.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let span = high - low;
        for h in &mut heights {
            *h = if span > 0.0 { (*h - low) / span } else { 0.0 };
        }
        let stem = Path::new(&file).file_stem().map(|stem| stem.to_string_lossy().into_owned());
        let name = match a.name() {
            "" => stem.unwrap_or_default(),
            name => name.to_owned(),
        };
        let id = HeightFieldId(self.robot.height_fields.len());
        assets.height_fields.add(a.doc(), &name, id, node.span());
        self.robot.height_fields.push(HeightField { name, file, size, rows, columns, heights });
    }
}

/// Vertices, and triangles or the convex hull.
fn inline(vertices: &[f64], faces: Option<&[f64]>) -> Result<RawMesh, String> {
    if !vertices.len().is_multiple_of(3) {
        return Err(format!("`vertex` has {} numbers, which is no multiple of 3", vertices.len()));
    }
    let vertices: Vec<[f64; 3]> = vertices.as_chunks::<3>().0.to_vec();
    let triangles = match faces {
        Some(faces) => {
            if faces.is_empty() || !faces.len().is_multiple_of(3) {
                return Err(format!("`face` has {} numbers, which is no multiple of 3", faces.len()));
            }
            let corner = |&x: &f64| {
                let inside = x >= 0.0 && x.fract() == 0.0 && (x as usize) < vertices.len();
                inside.then_some(x as u32).ok_or_else(|| {
                    format!("a face names vertex {x}, but the mesh has {} vertices", vertices.len())
                })
            };
            let flat = faces.iter().map(corner).collect::<Result<Vec<u32>, String>>()?;
            flat.as_chunks::<3>().0.to_vec()
        }
        None => {
            let points: Vec<Vec3> = vertices.iter().map(|p| Vec3::from(*p)).collect();
            convex_hull(&points)?
        }
    };
    Ok(RawMesh { vertices, triangles, ..RawMesh::default() })
}

/// MuJoCo's own format: two 32-bit integers, then that many 32-bit numbers.
fn binary_heights(bytes: &[u8]) -> Result<(usize, usize, Vec<f64>), String> {
    let words = bytes.as_chunks::<4>().0;
    let (Some(&rows), Some(&columns)) = (words.first(), words.get(1)) else {
        return Err("the file is too short".into());
    };
    let size = |word: [u8; 4]| usize::try_from(i32::from_le_bytes(word)).unwrap_or(usize::MAX);
    let (rows, columns) = (size(rows), size(columns));
    if rows > MOST_ROWS || columns > MOST_ROWS || words.len() - 2 != rows * columns {
        return Err("only the binary format of MuJoCo is read".into());
    }
    let heights: Vec<f64> = words[2..].iter().map(|word| f64::from(f32::from_le_bytes(*word))).collect();
    if heights.iter().any(|h| !h.is_finite()) {
        return Err("a height is not finite".into());
    }
    Ok((rows, columns, heights))
}
