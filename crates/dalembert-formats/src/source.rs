//! Loading of scene files and of the files that they include.
//!
//! `include = ["other.toml", …]` at the top of a file adds other files, whose paths are relative to
//! it. The lists of tables (`[[rigid]]`) of an included file are appended to those of the including
//! one. Any other key of the including file replaces that of the included one; if two included files
//! disagree about a key that the including file leaves open, that is an error. A file is included
//! once only.
//!
//! A mesh that a body takes from a file (`shape = { mesh = "part.obj" }` of a rigid or affine one, `surface` of carried
//! points, `file` of a soft one) is read here too, because only here it is known what the path is relative to. Its
//! vertices and triangles, tetrahedra or hexahedra take the place of the path, so that what a scene says is complete
//! without its files. A robot's file becomes text, and its meshes become [`Assets`], which the text names.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use dalembert::math::Vec3;

use crate::assets::Assets;
use crate::error::{Diagnostic, File, FileId, Files, SceneFileError, Span, plain, quote, quote_path};
use crate::mesh::{self, VolumeMesh};
use crate::robot::write::write_mjcf_beside;
use crate::robot::{ReadOptions, read_robot, read_robot_text};
use crate::tree::{self, Entry, Format, Node, Value, what};

/// Largest file \[bytes\]. Meshes and recordings are files of their own, so a scene stays small.
pub const MAX_FILE: usize = 16 << 20;
/// Largest sum over a file and all that it includes \[bytes\].
pub const MAX_TOTAL: usize = 64 << 20;
/// Longest chain of includes.
pub const MAX_INCLUDE_DEPTH: usize = 16;
/// Most files in one scene.
pub const MAX_FILES: usize = 256;

/// A file, all that it includes, and what they say together.
#[derive(Clone, Debug)]
pub struct Source {
    /// The files; the first is the one that was asked for.
    pub files: Files,
    /// The tree, a table, without its `include` keys.
    pub root: Node,
    /// Meshes of robots, which the texts of these name.
    pub assets: Assets,
    /// What files of robots said and could not be carried.
    pub warnings: Vec<Diagnostic>,
    /// The files of robots that were read; what these include is not listed.
    pub robots: Vec<PathBuf>,
}

/// Where the includes of a text are looked for.
#[derive(Clone, Copy, Debug)]
pub enum Includes<'a> {
    /// Nowhere: an include is an error.
    None,
    /// Relative to a directory.
    Directory(&'a Path),
    /// In a list of names and texts.
    Embedded(&'a [(&'a str, &'a str)]),
    /// Nowhere, but the meshes that robots name are here.
    Assets(&'a Assets),
}

impl Source {
    /// Reads a file. JSON if its name ends in `.json`, else TOML.
    pub fn from_path(path: impl AsRef<Path>) -> Result<Self, SceneFileError> {
        let path = path.as_ref();
        let name = path.display().to_string();
        let bytes = read_limited(path)
            .map_err(|reason| Diagnostic::error(format!("cannot read {}: {reason}", quote_path(&name))))?;
        Loader::new(Includes::Directory(Path::new(""))).load(name, path.to_owned(), bytes)
    }

    /// Reads a text that includes nothing. `name` is used in messages, and decides the language.
    pub fn from_text(name: impl Into<String>, text: impl Into<String>) -> Result<Self, SceneFileError> {
        Self::from_text_with(name, text, Includes::None)
    }

    /// Reads a text whose includes are looked for in `includes`.
    pub fn from_text_with(
        name: impl Into<String>,
        text: impl Into<String>,
        includes: Includes<'_>,
    ) -> Result<Self, SceneFileError> {
        Self::from_bytes_with(name, text.into().into_bytes(), includes)
    }

    /// Reads bytes that ought to be text, whose includes are looked for in `includes`.
    pub fn from_bytes_with(
        name: impl Into<String>,
        bytes: Vec<u8>,
        includes: Includes<'_>,
    ) -> Result<Self, SceneFileError> {
        let name = name.into();
        let path = match includes {
            Includes::Directory(directory) => directory.join(&name),
            Includes::None | Includes::Embedded(_) | Includes::Assets(_) => without_dots(Path::new(&name)),
        };
        Loader::new(includes).load(name, path, bytes)
    }
}

/// One file that was or is being read.
struct Visit {
    /// The path without links and dots, by which files are compared.
    identity: PathBuf,
    /// The `include` that asked for it.
    asked_by: Option<Span>,
}

/// A file between the first one and the one being read.
struct Link {
    /// Its place in the list of visits.
    visit: usize,
    /// What messages call it.
    name: String,
    /// Where it was found.
    path: PathBuf,
}

struct Loader<'a> {
    files: Files,
    includes: Includes<'a>,
    visits: Vec<Visit>,
    chain: Vec<Link>,
    total: usize,
    assets: Assets,
    warnings: Vec<Diagnostic>,
    robots: Vec<PathBuf>,
}

impl<'a> Loader<'a> {
    fn new(includes: Includes<'a>) -> Self {
        Self {
            files: Files::default(),
            includes,
            visits: Vec::new(),
            chain: Vec::new(),
            total: 0,
            assets: match includes {
                Includes::Assets(assets) => assets.clone(),
                _ => Assets::default(),
            },
            warnings: Vec::new(),
            robots: Vec::new(),
        }
    }

    fn load(mut self, name: String, path: PathBuf, bytes: Vec<u8>) -> Result<Source, SceneFileError> {
        let identity = self.identity_of(&path);
        self.visits.push(Visit { identity, asked_by: None });
        self.chain.push(Link { visit: 0, name: name.clone(), path });
        let root = self.file(name, bytes, None)?;
        let Self { files, assets, warnings, robots, .. } = self;
        Ok(Source { files, root, assets, warnings, robots })
    }

    /// What tells whether two paths are the same file.
    fn identity_of(&self, path: &Path) -> PathBuf {
        let on_disk = match self.includes {
            Includes::Directory(_) => fs::canonicalize(path).ok(),
            Includes::None | Includes::Embedded(_) | Includes::Assets(_) => None,
        };
        on_disk.unwrap_or_else(|| without_dots(path))
    }

    /// Parses a file and merges what it includes into it.
    fn file(&mut self, name: String, bytes: Vec<u8>, asked_by: Option<Span>) -> Result<Node, Diagnostic> {
        self.total += bytes.len();
        let too_large = match (bytes.len() > MAX_FILE, self.total > MAX_TOTAL) {
            (true, _) => Some(format!("{} is larger than {} MiB", quote_path(&name), MAX_FILE >> 20)),
            (_, true) => {
                Some(format!("with {} the scene is larger than {} MiB", quote_path(&name), MAX_TOTAL >> 20))
            }
            _ => None,
        };
        if let Some(message) = too_large {
            return Err(self.at(asked_by, message));
        }
        let format = Format::of_name(&name);
        let file = self.utf8(name, bytes)?;
        let mut root = tree::parse(&self.files, file, format)?;
        self.read_meshes(&mut root)?;

        let includes = self.take_include(&mut root)?;
        if includes.is_empty() {
            return Ok(root);
        }
        let Value::Table(own) = root.value else { return Ok(root) };
        let own_count = own.len();
        let mut merged = Merged::new(own);
        for (path, span) in includes {
            let included = self.include(&path, span)?;
            if let Value::Table(entries) = included.value {
                for entry in entries {
                    merged.add(entry, own_count, &self.files)?;
                }
            }
        }
        Ok(Node { value: Value::Table(merged.entries), ..root })
    }

    fn utf8(&mut self, name: String, bytes: Vec<u8>) -> Result<FileId, Diagnostic> {
        match String::from_utf8(bytes) {
            Ok(text) => Ok(self.files.add(File::new(name, text))),
            Err(error) => {
                let byte = error.utf8_error().valid_up_to();
                // The replacement leaves the bytes before the first bad one in their places.
                let text = String::from_utf8_lossy(error.as_bytes()).into_owned();
                let file = self.files.add(File::new(name, text));
                let span = Span::new(file, byte..byte + 1);
                Err(self.files.error(span, format!("the file is not UTF-8 text: bad byte at offset {byte}")))
            }
        }
    }

    /// Removes the key `include` from `root` and gives its paths with their places.
    fn take_include(&self, root: &mut Node) -> Result<Vec<(String, Span)>, Diagnostic> {
        let Value::Table(entries) = &mut root.value else { return Ok(Vec::new()) };
        let Some(i) = entries.iter().position(|entry| entry.key == dalembert::scene::INCLUDE.key) else {
            return Ok(Vec::new());
        };
        let node = entries.remove(i).node;
        let path = |node: Node| match node.value {
            Value::Text(text) => Ok((text, node.span)),
            _ => Err(self.files.error(node.span, format!("`include` wants paths, found {}", what(&node)))),
        };
        match node.value {
            Value::List(items) => items.into_iter().map(path).collect(),
            value => path(Node { value, ..node }).map(|one| vec![one]),
        }
    }

    /// Puts vertices and elements in the place of each mesh file.
    fn read_meshes(&mut self, root: &mut Node) -> Result<(), Diagnostic> {
        let Value::Table(entries) = &mut root.value else { return Ok(()) };
        for entry in entries {
            let key = match entry.key.as_str() {
                "rigid" | "affine" => "shape",
                "points" | "cloth" => "surface",
                "soft" | "robot" => "",
                _ => continue,
            };
            for body in items(&mut entry.node) {
                if entry.key == "robot" {
                    self.read_robot(body)?;
                    continue;
                }
                if key.is_empty() {
                    self.read_mesh(body, "file")?;
                    continue;
                }
                let Some(shape) = child(body, key) else { continue };
                self.read_mesh(shape, "mesh")?;
                if let Some(parts) = child(shape, "compound") {
                    items(parts).iter_mut().try_for_each(|part| self.read_mesh(part, "mesh"))?;
                }
            }
        }
        Ok(())
    }

    /// Puts the text of a robot, with all that it includes, in the place of its file, and its meshes beside.
    fn read_robot(&mut self, robot: &mut Node) -> Result<(), Diagnostic> {
        let Value::Table(entries) = &mut robot.value else { return Ok(()) };
        let Some(i) = entries.iter().position(|entry| entry.key == "file") else {
            if let Some(Value::Text(text)) = entries.iter().find(|e| e.key == "text").map(|e| &e.node.value) {
                // Mistakes are told where the robot is made of it.
                let meshes = match self.includes {
                    Includes::Assets(assets) => Includes::Assets(assets),
                    _ => Includes::None,
                };
                let read = read_robot_text("robot.xml", text, meshes, &ReadOptions::default());
                self.warnings.extend(read.into_iter().flat_map(|(_, warnings)| warnings));
            }
            return Ok(());
        };
        let Value::Text(path) = &entries[i].node.value else { return Ok(()) };
        let span = entries[i].node.span;
        let floating = entries.iter().any(|entry| {
            entry.key == "base" && matches!(&entry.node.value, Value::Text(t) if t == "floating")
        });
        let (name, place) = self.beside(path, span)?;
        let bytes = self.bytes_of(&name, &place, span)?;
        let options = ReadOptions { floating_base: floating, ..ReadOptions::default() };
        let read = match self.includes {
            Includes::Directory(_) => read_robot(&place, &options),
            other => {
                let text = String::from_utf8_lossy(&bytes).into_owned();
                read_robot_text(without_dots(&place).to_string_lossy(), text, other, &options)
            }
        };
        let (mut robot, warnings) = read.map_err(|error| {
            self.files.error(span, format!("cannot read {}:\n{error}", quote_path(&name)))
        })?;
        self.warnings.extend(warnings);
        if matches!(self.includes, Includes::Directory(_)) {
            self.robots.push(place.clone());
        }
        // Bounds on speed take no part in the motion, and the text that the scene keeps cannot hold them.
        robot
            .bodies
            .iter_mut()
            .flat_map(|body| &mut body.joints)
            .for_each(|joint| joint.velocity_limit = None);
        if place.extension().is_some_and(|end| end.eq_ignore_ascii_case("urdf")) {
            robot.add_motors();
        }
        let stem = place.file_stem().map(|stem| stem.to_string_lossy().into_owned());
        let own_name = robot_name(&robot.name, &stem.unwrap_or_default());
        let written = write_mjcf_beside(&robot, &mut self.assets).map_err(|reason| {
            self.files.error(span, format!("cannot read {}: {reason}", quote_path(&name)))
        })?;
        for lost in written.lost {
            self.warnings.push(self.files.warning(span, format!("{}: {lost}", quote_path(&name))));
        }
        self.total += written.text.len();
        if self.total > MAX_TOTAL {
            let message =
                format!("with {} the scene is larger than {} MiB", quote_path(&name), MAX_TOTAL >> 20);
            return Err(self.files.error(span, message));
        }
        let (key_span, value) = (entries[i].key_span, Value::Text(written.text));
        entries[i] = Entry { key: "text".into(), key_span, node: Node { value, span } };
        if !entries.iter().any(|entry| entry.key == "name") {
            entries.push(Entry {
                key: "name".into(),
                key_span,
                node: Node { value: Value::Text(own_name), span },
            });
        }
        Ok(())
    }

    /// Puts what the file of a `mesh` (a surface) or a `file` (a solid) holds in its place.
    fn read_mesh(&mut self, shape: &mut Node, key: &str) -> Result<(), Diagnostic> {
        let Value::Table(entries) = &mut shape.value else { return Ok(()) };
        let Some(i) = entries.iter().position(|entry| entry.key == key) else { return Ok(()) };
        let Value::Text(path) = &entries[i].node.value else { return Ok(()) };
        let span = entries[i].node.span;
        let (name, place) = self.beside(path, span)?;
        let bytes = self.bytes_of(&name, &place, span)?;
        self.total += bytes.len();
        if bytes.len() > MAX_FILE || self.total > MAX_TOTAL {
            let message =
                format!("with {} the scene is larger than {} MiB", quote_path(&name), MAX_TOTAL >> 20);
            return Err(self.files.error(span, message));
        }
        let node = |value: Value| Node { value, span };
        let list = |items: Vec<Value>| Value::List(items.into_iter().map(node).collect());
        let places = |points: &[Vec3]| -> Value {
            list(points.iter().map(|p| list(p.iter().map(|x| Value::Number(*x)).collect())).collect())
        };
        fn rows<const N: usize>(elements: &[[u32; N]], list: impl Fn(Vec<Value>) -> Value) -> Value {
            let row = |e: &[u32; N]| list(e.iter().map(|i| Value::Integer((*i).into())).collect());
            list(elements.iter().map(row).collect())
        }
        let read = match key {
            "file" => mesh::read_volume(&name, &bytes).map(|mesh| match mesh {
                VolumeMesh::Tets(mesh) => (places(&mesh.points), "tets", rows(&mesh.tets, list)),
                VolumeMesh::Hexes(mesh) => (places(&mesh.points), "hexes", rows(&mesh.hexes, list)),
            }),
            _ => mesh::read_surface(&name, &bytes)
                .map(|mesh| (places(&mesh.points), "triangles", rows(&mesh.triangles, list))),
        };
        let (vertices, kind, elements) = read.map_err(|error| {
            let message = format!("cannot read {}: {}", quote_path(&name), error.reason());
            let diagnostic = self.files.error(span, message);
            match error.help {
                Some(help) => diagnostic.with_help(help),
                None => diagnostic,
            }
        })?;
        let key_span = entries[i].key_span;
        let entry = |key: &str, value: Value| Entry { key: key.into(), key_span, node: node(value) };
        entries.splice(i..=i, [entry("vertices", vertices), entry(kind, elements)]);
        Ok(())
    }

    /// What a path in the file being read means: its name in messages, and where it is.
    fn beside(&self, path: &str, span: Span) -> Result<(String, PathBuf), Diagnostic> {
        let relative = Path::new(path);
        if path.is_empty() || path.contains('\0') || relative.is_absolute() || relative.has_root() {
            let message = format!("cannot read {}: the path must be relative to this file", quote_path(path));
            return Err(self.files.error(span, message));
        }
        let beside = |path: &Path| path.parent().unwrap_or(Path::new("")).join(relative);
        let (name, path) = match self.chain.last() {
            Some(link) => (without_dots(&beside(Path::new(&link.name))), beside(&link.path)),
            None => (relative.to_owned(), relative.to_owned()),
        };
        Ok((name.to_string_lossy().replace('\\', "/"), path))
    }

    fn bytes_of(&self, name: &str, path: &Path, span: Span) -> Result<Vec<u8>, Diagnostic> {
        let refuse = |message: String| self.files.error(span, message);
        match self.includes {
            Includes::None | Includes::Assets(_) => {
                let message = format!("cannot read {}: this text has no place among files", quote_path(name));
                Err(refuse(message))
            }
            Includes::Embedded(list) => {
                let clean = without_dots(path);
                match list.iter().find(|(known, _)| Path::new(known) == clean) {
                    Some((_, text)) => Ok(text.as_bytes().to_vec()),
                    None => Err(refuse(format!("there is no file {}", quote_path(name)))
                        .with_suggestion(name, list.iter().map(|(known, _)| *known))),
                }
            }
            Includes::Directory(_) => read_limited(path)
                .map_err(|reason| refuse(format!("cannot read {}: {reason}", quote_path(name)))),
        }
    }

    fn include(&mut self, path: &str, span: Span) -> Result<Node, Diagnostic> {
        let refuse = |message: String| self.files.error(span, message);
        let relative = Path::new(path);
        if path.is_empty() || path.contains('\0') || relative.is_absolute() || relative.has_root() {
            return Err(refuse(format!(
                "cannot include {}: the path must be relative to this file",
                quote_path(path)
            )));
        }
        if self.chain.len() > MAX_INCLUDE_DEPTH {
            return Err(refuse(format!("files include each other more than {MAX_INCLUDE_DEPTH} deep")));
        }
        if self.visits.len() >= MAX_FILES {
            return Err(refuse(format!("the scene has more than {MAX_FILES} files")));
        }
        let (name, path) = self.beside(path, span)?;
        let identity = self.identity_of(&path);
        self.refuse_repeated(&identity, &name, span)?;
        let bytes = match self.includes {
            Includes::None | Includes::Assets(_) => {
                return Err(refuse(format!(
                    "cannot include {}: this text has no place among files",
                    quote_path(&name)
                )));
            }
            Includes::Embedded(list) => match list.iter().find(|(known, _)| Path::new(known) == identity) {
                Some((_, text)) => text.as_bytes().to_vec(),
                None => {
                    let error = refuse(format!("there is no file {} to include", quote_path(&name)));
                    return Err(error.with_suggestion(&name, list.iter().map(|(known, _)| *known)));
                }
            },
            Includes::Directory(_) => self.bytes_of(&name, &path, span)?,
        };
        self.chain.push(Link { visit: self.visits.len(), name: name.clone(), path });
        self.visits.push(Visit { identity, asked_by: Some(span) });
        let node = self.file(name, bytes, Some(span));
        self.chain.pop();
        node
    }

    fn refuse_repeated(&self, identity: &Path, name: &str, span: Span) -> Result<(), Diagnostic> {
        let Some(i) = self.visits.iter().position(|visit| visit.identity == identity) else { return Ok(()) };
        if let Some(start) = self.chain.iter().position(|link| link.visit == i) {
            let mut names: Vec<&str> = self.chain[start..].iter().map(|link| &*link.name).collect();
            names.push(name);
            return Err(self
                .files
                .error(span, format!("files include each other in a loop: {}", names.join(" -> "))));
        }
        let first = self.visits[i].asked_by.and_then(|span| self.files.place(span));
        Err(self
            .files
            .error(span, format!("{} is included twice", quote_path(name)))
            .with_note("first included here", first))
    }

    fn at(&self, span: Option<Span>, message: String) -> Diagnostic {
        match span {
            Some(span) => self.files.error(span, message),
            None => Diagnostic::error(message),
        }
    }
}

/// The entries of the including file, and behind them those that the included files add.
struct Merged {
    entries: Vec<Entry>,
    /// Position of each key; a file can have a million of them.
    index: BTreeMap<String, usize>,
}

impl Merged {
    fn new(entries: Vec<Entry>) -> Self {
        let index = entries.iter().enumerate().map(|(i, entry)| (entry.key.clone(), i)).collect();
        Self { entries, index }
    }

    /// Adds an entry of an included file; the first `own_count` entries are the including file's.
    fn add(&mut self, entry: Entry, own_count: usize, files: &Files) -> Result<(), Diagnostic> {
        let Some(&i) = self.index.get(&entry.key) else {
            self.index.insert(entry.key.clone(), self.entries.len());
            self.entries.push(entry);
            return Ok(());
        };
        let known = &mut self.entries[i];
        if both_append(&known.node, &entry.node) {
            if let (Value::List(known), Value::List(more)) = (&mut known.node.value, entry.node.value) {
                known.extend(more);
            }
        } else if i >= own_count && !known.node.says_the_same_as(&entry.node) {
            let message = format!("two included files disagree about {}", quote(&entry.key));
            return Err(files
                .error(entry.key_span, message)
                .with_note("the other stands here", files.place(known.key_span))
                .with_help(format!("give {} in the including file", quote(&entry.key))));
        }
        Ok(())
    }
}

/// The entry `key` of a table.
fn child<'a>(node: &'a mut Node, key: &str) -> Option<&'a mut Node> {
    match &mut node.value {
        Value::Table(entries) => entries.iter_mut().find(|e| e.key == key).map(|e| &mut e.node),
        _ => None,
    }
}

/// The name of a robot that the scene gives none: its own, or that of its file, with nothing that names may not hold.
pub fn robot_name(own: &str, stem: &str) -> String {
    let clean = |text: &str| -> String {
        let plain = |c: char| if c.is_alphanumeric() || c == '-' { c } else { '_' };
        text.trim().chars().map(plain).take(crate::describe::MAX_NAME).collect()
    };
    let name = [own, stem].map(clean).into_iter().find(|name| !name.is_empty());
    name.unwrap_or_else(|| "robot".to_owned())
}

/// The items of a list.
fn items(node: &mut Node) -> &mut [Node] {
    match &mut node.value {
        Value::List(items) => items,
        _ => &mut [],
    }
}

/// Whether both are lists of tables.
fn both_append(a: &Node, b: &Node) -> bool {
    let appends = |node: &Node| match &node.value {
        Value::List(items) => items.iter().all(|item| matches!(item.value, Value::Table(_))),
        _ => false,
    };
    appends(a) && appends(b)
}

/// At most one byte more than [`MAX_FILE`].
fn read_limited(path: &Path) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    let file = crate::regular::open(path).map_err(|error| plain(&error))?;
    file.take(MAX_FILE as u64 + 1).read_to_end(&mut bytes).map_err(|error| plain(&error))?;
    Ok(bytes)
}

/// The path with `.` and `x/..` removed, by its letters alone.
fn without_dots(path: &Path) -> PathBuf {
    use std::path::Component;
    let mut clean = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir if matches!(clean.components().next_back(), Some(Component::Normal(_))) => {
                clean.pop();
            }
            part => clean.push(part),
        }
    }
    clean
}
