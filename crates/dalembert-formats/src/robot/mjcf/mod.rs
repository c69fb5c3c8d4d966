//! MJCF, the language of MuJoCo.
//!
//! A file is read in three passes. First it is loaded with all that it includes and attaches. Then the tree of bodies
//! is walked in the order of the document, frames and replicas unfolded, and every body, joint, geom and site gets its
//! number and name. Last come the sections that refer to them by name. An attached model is walked in its place, and
//! its own sections are read once per place, with its prefix before and the suffix of a replica behind each name; what
//! refers to parts of it that were not attached is left out, as MuJoCo does.
//!
//! Differences from MuJoCo, all of which leave the motion as it is: a mesh keeps the frame of its file (MuJoCo moves it
//! into its principal axes; [`RobotMesh::inertial_frame`] says where these are), and bodies without joints are never
//! fused with their parents.
//!
//! [`RobotMesh::inertial_frame`]: dalembert::bodies::articulated::description::RobotMesh::inertial_frame

mod actuators;
mod assets;
mod attributes;
mod bodies;
mod classes;
mod compiler;
mod geoms;
mod schema;
mod sections;
mod sensors;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use dalembert::bodies::articulated::description::RobotDescription;

use self::assets::Assets;
use self::classes::Classes;
use self::compiler::Compiler;
use super::ReadOptions;
use super::meshes::MeshFiles;
use super::xml::{Document, ElementId, Loader, Node, Parsed, without_dots};
use crate::error::{Diagnostic, quote_path};
use crate::source::{MAX_FILE, MAX_INCLUDE_DEPTH};

/// A file and the models that it may attach, by their names in `asset`.
struct File {
    root: ElementId,
    folder: PathBuf,
    attached: BTreeMap<String, usize>,
}

/// A file with what all of its elements need.
struct Model<'a> {
    root: Node<'a>,
    attached: &'a BTreeMap<String, usize>,
    compiler: Compiler,
    classes: Classes<'a>,
    assets: Assets,
}

pub(super) fn read(
    doc: &mut Document,
    parsed: Parsed,
    loader: &mut Loader<'_>,
    options: &ReadOptions,
) -> Result<RobotDescription, Diagnostic> {
    let files = load(doc, parsed, loader)?;
    let doc: &Document = doc;
    let name = doc.node(files[0].root).text("model").unwrap_or("MuJoCo Model");
    let mut robot = RobotDescription::new(name);
    let mut mesh_files = MeshFiles::default();
    let mut models = Vec::new();
    for (i, file) in files.iter().enumerate() {
        let root = doc.node(file.root);
        root.attribute("model");
        let compiler = Compiler::read(root);
        let classes = Classes::read(root);
        let mut reader = assets::Reader {
            doc,
            robot: &mut robot,
            loader,
            files: &mut mesh_files,
            options,
            folder: &file.folder,
            compiler: &compiler,
            classes: &classes,
            model: i,
        };
        let assets = reader.read(root);
        models.push(Model { root, attached: &file.attached, compiler, classes, assets });
        if doc.is_full() {
            return Ok(robot);
        }
    }
    let (world, instances) = bodies::walk(&models, &mut robot, options);
    if doc.is_full() {
        return Ok(robot);
    }
    sections::options(&models[0], &mut robot);
    sections::read(&models, &instances, &world, &mut robot);
    for (i, model) in models.iter().enumerate() {
        model.assets.report_unused(doc);
        schema::report(model.root, i == 0);
    }
    Ok(robot)
}

/// Loads the models that a file may attach, and those that these may attach.
fn load(doc: &mut Document, parsed: Parsed, loader: &mut Loader<'_>) -> Result<Vec<File>, Diagnostic> {
    let folder_of = |path: &Path| path.parent().unwrap_or(Path::new("")).to_owned();
    let mut files =
        vec![File { root: parsed.root, folder: folder_of(&parsed.path), attached: BTreeMap::new() }];
    let mut known = BTreeMap::from([(without_dots(&parsed.path), 0)]);
    let mut at = 0;
    while at < files.len() {
        let folder = files[at].folder.clone();
        let root = doc.node(files[at].root);
        let wanted: Vec<_> = root
            .named("asset")
            .flat_map(|asset| asset.named("model"))
            .filter_map(|node| {
                node.element.read.set(true);
                node.attribute("content_type");
                let file = node.required("file")?;
                let stem = Path::new(&file.value).file_stem().map(|stem| stem.to_string_lossy().into_owned());
                let name = node.text("name").map(str::to_owned).or(stem).unwrap_or_default();
                Some((name, file.value.clone(), file.value_span))
            })
            .collect();
        for (name, file, span) in wanted {
            let path = folder.join(&file);
            let clean = without_dots(&path);
            let index = match known.get(&clean) {
                Some(&index) => index,
                None => {
                    if files.len() > MAX_INCLUDE_DEPTH * 4 {
                        return Err(doc.files.error(span, "too many models are attached to each other"));
                    }
                    let text = loader.bytes(&path, MAX_FILE).map_err(|reason| {
                        doc.files
                            .error(span, format!("cannot read the model {}: {reason}", quote_path(&file)))
                    })?;
                    let parsed = loader.parse(doc, path.display().to_string(), path, text)?;
                    let root = doc.node(parsed.root);
                    if root.name() != "mujoco" {
                        return Err(doc.files.error(root.span(), "only MJCF can be attached to MJCF"));
                    }
                    let folder = folder_of(&parsed.path);
                    files.push(File { root: parsed.root, folder, attached: BTreeMap::new() });
                    known.insert(clean, files.len() - 1);
                    files.len() - 1
                }
            };
            files[at].attached.insert(name, index);
        }
        at += 1;
    }
    Ok(files)
}
