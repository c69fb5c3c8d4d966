//! Scenes of the program *rigid-ipc* (Ferguson et al. 2021): JSON with rigid bodies from mesh files.
//!
//! [`read`] returns a plain description, with units made SI: angles and angular velocities come in degrees, torques too
//! (their reader multiplies them by π/180). Vertices are scaled about the origin of the model, then turned by the Euler
//! angles $R_z R_y R_x$, then shifted. Axes stay as they are: these scenes have y up, and say so by their gravity. Keys that
//! begin with `#` are remarks. What is not understood is a warning; what cannot be is an error with its place.
//!
//! [`RigidIpcScene::translate`] makes it a scene of this engine; [`crate::scene::load`] does both.
//!
//! A mesh is looked for beside the scene and in the folder `meshes` of every folder above it.

mod translate;

pub use translate::Untold;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use dalembert::math::{Quat, Vec3};

use crate::error::{Diagnostic, File, Files, SceneFileError, Span, plain, quote, quote_path};
use crate::mesh::{RawMesh, read_mesh};
use crate::tree::{Entry, Format, Node, Value, parse, what};

/// Largest scene file \[bytes\].
pub(crate) const MOST_BYTES: u64 = 64 << 20;
/// Folders above the scene in which `meshes` is looked for.
const MOST_PARENTS: usize = 16;

/// What moves a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Nothing.
    Static,
    /// Its script: `poses`, then its velocities.
    Kinematic,
    /// Forces.
    Dynamic,
}

/// One body.
#[derive(Debug, Clone, PartialEq)]
pub struct RigidIpcBody {
    /// Name of its mesh; with a number if others have the same.
    pub name: String,
    /// Vertices in its own frame, scaled \[m\].
    pub vertices: Vec<Vec3>,
    /// Corners of triangles.
    pub triangles: Vec<[u32; 3]>,
    /// Ends of segments that the file gives beside triangles.
    pub segments: Vec<[u32; 2]>,
    /// Where the origin of the model is put \[m\].
    pub position: Vec3,
    /// How it is turned about the origin of the model.
    pub rotation: Quat,
    /// Velocity of its centre of mass \[m/s\].
    pub velocity: Vec3,
    /// Angular velocity, world axes \[rad/s\].
    pub angular_velocity: Vec3,
    /// Force on its centre of mass \[N\].
    pub force: Vec3,
    /// Torque, world axes \[N·m\].
    pub torque: Vec3,
    /// Density \[kg/m³\].
    pub density: f64,
    /// What moves it. A body whose six freedoms are all fixed is static.
    pub role: Role,
    /// Fixed freedoms: along x, y, z, about x, y, z.
    pub fixed: [bool; 6],
    /// Bodies of one group do not touch each other.
    pub group: Option<i64>,
    /// Positions \[m\] and rotation vectors \[rad\] that a kinematic body takes, one per step.
    pub poses: Vec<(Vec3, Vec3)>,
    /// Time until which a kinematic body moves \[s\].
    pub kinematic_until: f64,
}

impl RigidIpcBody {
    /// Vertices in the world \[m\].
    pub fn world_vertices(&self) -> Vec<Vec3> {
        self.vertices.iter().map(|x| self.rotation * x + self.position).collect()
    }
}

/// A scene.
#[derive(Debug, Clone)]
pub struct RigidIpcScene {
    /// Name of the file, without folders and ending.
    pub title: String,
    /// Time step \[s\].
    pub dt: f64,
    /// Simulated time \[s\]; 10 if the file says nothing.
    pub duration: f64,
    /// Acceleration of gravity \[m/s²\].
    pub gravity: Vec3,
    /// Coefficient of friction.
    pub friction: f64,
    /// Coefficient of restitution; −1 stands for none.
    pub restitution: f64,
    /// Distance at which contact begins \[m\].
    pub gap: f64,
    /// Newton stops below this speed \[m/s\].
    pub velocity_tolerance: f64,
    /// Speed below which friction is smoothed \[m/s\].
    pub friction_speed: f64,
    /// Passes of friction; −1 for until it converges.
    pub friction_passes: i64,
    /// The bodies that are enabled.
    pub bodies: Vec<RigidIpcBody>,
    /// What was not understood.
    pub warnings: Vec<Diagnostic>,
}

/// Reads a scene and its meshes.
pub fn read(path: impl AsRef<Path>) -> Result<RigidIpcScene, SceneFileError> {
    let path = path.as_ref();
    let name = path.display().to_string();
    let cannot = |reason: String| Diagnostic::error(format!("cannot read {}: {reason}", quote_path(&name)));
    let about = std::fs::metadata(path).map_err(|e| cannot(plain(&e)))?;
    if !about.is_file() || about.len() > MOST_BYTES {
        return Err(cannot(format!("not a regular file of at most {} MiB", MOST_BYTES >> 20)).into());
    }
    let text = std::fs::read_to_string(path).map_err(|e| cannot(plain(&e)))?;
    let mut files = Files::default();
    let file = files.add(File::new(name, text));
    let root = parse(&files, file, Format::Json)?;
    // Folders above the one that a relative path begins in count too.
    let whole = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let reader = Reader { files: &files, folder: whole.parent().map(Path::to_owned).unwrap_or_default() };
    let mut scene = reader.scene(&root)?;
    scene.title = path.file_stem().map(|s| s.to_string_lossy().into_owned()).unwrap_or_default();
    Ok(scene)
}

/// True if a JSON text looks like one of these scenes.
pub fn is_rigid_ipc(text: &str) -> bool {
    text.contains("\"rigid_body_problem\"") || text.contains("distance_barrier_rb_problem")
}

struct Reader<'a> {
    files: &'a Files,
    folder: PathBuf,
}

/// Keys of a body.
const BODY_KEYS: [&str; 20] = [
    "mesh",
    "vertices",
    "edges",
    "faces",
    "density",
    "is_dof_fixed",
    "oriented",
    "group_id",
    "position",
    "rotation",
    "scale",
    "dimensions",
    "linear_velocity",
    "angular_velocity",
    "force",
    "torque",
    "enabled",
    "type",
    "kinematic_max_time",
    "kinematic_poses",
];
/// Keys that say something to other programs only, or are handled elsewhere.
const SILENT_KEYS: [&str; 2] = ["split_components", "ipc_comparison_enabled"];

impl Reader<'_> {
    fn error(&self, span: Span, message: impl Into<String>) -> SceneFileError {
        self.files.error(span, message).into()
    }

    fn number(&self, node: &Node) -> Result<f64, SceneFileError> {
        match node.value {
            Value::Integer(i) => Ok(i as f64),
            Value::Number(x) if x.is_finite() => Ok(x),
            _ => Err(self.error(node.span, format!("expected a number, found {}", what(node)))),
        }
    }

    fn list<'n>(&self, node: &'n Node) -> Result<&'n [Node], SceneFileError> {
        match &node.value {
            Value::List(items) => Ok(items),
            _ => Err(self.error(node.span, format!("expected a list, found {}", what(node)))),
        }
    }

    fn vector(&self, node: &Node) -> Result<Vec3, SceneFileError> {
        let items = self.list(node)?;
        if items.len() != 3 {
            let flat = if items.len() == 2 { ": scenes in the plane are not read" } else { "" };
            return Err(self.error(node.span, format!("expected three numbers, found {}{flat}", items.len())));
        }
        Ok(Vec3::new(self.number(&items[0])?, self.number(&items[1])?, self.number(&items[2])?))
    }

    fn flag(&self, node: &Node) -> Result<bool, SceneFileError> {
        match node.value {
            Value::Bool(b) => Ok(b),
            _ => Err(self.error(node.span, format!("expected true or false, found {}", what(node)))),
        }
    }

    /// The number at a path of keys, or `otherwise`.
    fn number_at(&self, root: &Node, keys: &[&str], otherwise: f64) -> Result<f64, SceneFileError> {
        let mut node = root;
        for key in keys {
            match node.entry(key) {
                Some(entry) => node = &entry.node,
                None => return Ok(otherwise),
            }
        }
        self.number(node)
    }

    fn positive_at(&self, root: &Node, keys: &[&str], otherwise: f64) -> Result<f64, SceneFileError> {
        let x = self.number_at(root, keys, otherwise)?;
        if x > 0.0 {
            return Ok(x);
        }
        Err(self.error(root.span, format!("`{}` is {x}, but must be above zero", keys.join("."))))
    }

    fn scene(&self, root: &Node) -> Result<RigidIpcScene, SceneFileError> {
        let Some(problem) = root.entry("rigid_body_problem").map(|e| &e.node) else {
            return Err(self.error(root.span, "it has no `rigid_body_problem`"));
        };
        let gravity = problem.entry("gravity").map_or(Ok(Vec3::zeros()), |e| self.vector(&e.node))?;
        let gap_key = |table: &'static str| [table, "initial_barrier_activation_distance"];
        // One scene writes the table's name with an s.
        let gap = self.positive_at(root, &gap_key("distance_barrier_constraints"), 1e-3)?;
        let passes = self.number_at(root, &["friction_constraints", "iterations"], 1.0)?;
        let mut scene = RigidIpcScene {
            title: String::new(),
            dt: self.positive_at(root, &["timestep"], 1e-2)?,
            duration: self.number_at(root, &["max_time"], 10.0)?,
            gravity,
            friction: self.number_at(problem, &["coefficient_friction"], 0.0)?,
            restitution: self.number_at(problem, &["coefficient_restitution"], -1.0)?,
            gap: self.positive_at(root, &gap_key("distance_barrier_constraint"), gap)?,
            velocity_tolerance: self.positive_at(root, &["ipc_solver", "velocity_conv_tol"], 1e-2)?,
            friction_speed: self.positive_at(
                root,
                &["friction_constraints", "static_friction_speed_bound"],
                1e-3,
            )?,
            friction_passes: passes as i64,
            bodies: Vec::new(),
            warnings: Vec::new(),
        };
        if scene.restitution > 0.0 {
            let note = format!("restitution {} is not simulated by `ipc`", scene.restitution);
            scene.warnings.push(self.files.warning(problem.span, note));
        }
        let Some(list) = problem.entry("rigid_bodies") else {
            return Err(self.error(problem.span, "it has no `rigid_bodies`"));
        };
        for node in self.list(&list.node)? {
            self.body(node, &mut scene)?;
        }
        if scene.bodies.is_empty() {
            return Err(self.error(list.node.span, "it has no body that is enabled"));
        }
        unique_names(&mut scene.bodies);
        Ok(scene)
    }

    fn body(&self, node: &Node, scene: &mut RigidIpcScene) -> Result<(), SceneFileError> {
        let Value::Table(entries) = &node.value else {
            return Err(self.error(node.span, format!("expected a body, found {}", what(node))));
        };
        for Entry { key, key_span, .. } in entries {
            let known = BODY_KEYS.contains(&key.as_str()) || SILENT_KEYS.contains(&key.as_str());
            if !known && !key.starts_with('#') {
                let warning = self.files.warning(*key_span, format!("{} is ignored", quote(key)));
                scene.warnings.push(warning.with_suggestion(key, BODY_KEYS));
            }
        }
        let get = |key: &str| node.entry(key).map(|e| &e.node);
        let vector = |key: &str| get(key).map_or(Ok(Vec3::zeros()), |n| self.vector(n));
        if !get("enabled").map_or(Ok(true), |n| self.flag(n))? {
            return Ok(());
        }
        let (name, mut mesh, place) = self.mesh(node)?;
        let scale = self.scale(node, &mesh)?;
        for p in &mut mesh.vertices {
            *p = [0, 1, 2].map(|k| p[k] * scale[k]);
        }
        let degrees = std::f64::consts::PI / 180.0;
        let angles = degrees * vector("rotation")?;
        let about = |axis: Vec3, angle: f64| Quat::from_scaled_axis(axis * angle);
        let rotation = about(Vec3::z(), angles.z) * about(Vec3::y(), angles.y) * about(Vec3::x(), angles.x);
        let fixed = self.fixed(get("is_dof_fixed"))?;
        let density = get("density").map_or(Ok(1000.0), |n| self.number(n))?;
        if !(density > 0.0) {
            return Err(
                self.error(node.span, format!("density {density} of {} must be above zero", quote(&name)))
            );
        }
        let until = get("kinematic_max_time").map_or(Ok(-1.0), |n| self.number(n))?;
        let body = RigidIpcBody {
            name,
            vertices: mesh.vertices.iter().map(|p| Vec3::from(*p)).collect(),
            triangles: mesh.triangles,
            segments: mesh.segments,
            position: vector("position")?,
            rotation,
            velocity: vector("linear_velocity")?,
            angular_velocity: degrees * vector("angular_velocity")?,
            force: vector("force")?,
            torque: degrees * vector("torque")?,
            density,
            role: self.role(get("type"), &fixed)?,
            fixed,
            group: get("group_id")
                .map(|n| self.number(n))
                .transpose()?
                .filter(|g| *g >= 0.0)
                .map(|g| g as i64),
            poses: self.poses(get("kinematic_poses"))?,
            kinematic_until: if until < 0.0 { f64::INFINITY } else { until },
        };
        if body.role == Role::Kinematic && body.poses.iter().any(|(_, turn)| *turn != Vec3::zeros()) {
            let note = format!("rotations in `kinematic_poses` of {} are not followed", quote(&body.name));
            scene.warnings.push(self.files.warning(node.span, note));
        }
        if !body.segments.is_empty() && !body.triangles.is_empty() {
            let note = format!("edges of {} beside its triangles do not touch anything", quote(&body.name));
            scene.warnings.push(self.files.warning(node.span, note));
        }
        if body.triangles.is_empty() && body.segments.is_empty() && body.vertices.is_empty() {
            return Err(self.error(place, format!("the mesh of {} is empty", quote(&body.name))));
        }
        if get("split_components").map_or(Ok(false), |n| self.flag(n))? {
            scene.bodies.extend(parts(&body));
        } else {
            scene.bodies.push(body);
        }
        Ok(())
    }

    /// Mesh of a body: from a file or from its own lists.
    fn mesh(&self, node: &Node) -> Result<(String, RawMesh, Span), SceneFileError> {
        let text = node.entry("mesh").map(|e| &e.node);
        let named = match text.map(|n| &n.value) {
            Some(Value::Text(name)) if !name.is_empty() => Some((name, text.map_or(node.span, |n| n.span))),
            Some(Value::Text(_)) | None => None,
            Some(_) => return Err(self.error(node.span, "`mesh` must be the name of a file")),
        };
        let Some((name, span)) = named else { return self.own_mesh(node) };
        let places = std::iter::once(self.folder.join(name))
            .chain(self.folder.ancestors().take(MOST_PARENTS).map(|f| f.join("meshes").join(name)));
        let Some(path) = places.into_iter().find(|p| p.is_file()) else {
            let message = format!(
                "the mesh {} is neither beside the scene nor in a folder `meshes` above it",
                quote(name)
            );
            return Err(self.error(span, message));
        };
        let mesh = read_mesh(&path).map_err(|e| self.error(span, e.to_string()))?;
        let plain = |c: char| if c.is_alphanumeric() || "_-".contains(c) { c } else { '_' };
        let stem =
            Path::new(name).file_stem().map(|s| s.to_string_lossy().chars().take(64).map(plain).collect());
        Ok((stem.unwrap_or_else(|| "body".into()), mesh, span))
    }

    fn own_mesh(&self, node: &Node) -> Result<(String, RawMesh, Span), SceneFileError> {
        let mut mesh = RawMesh::default();
        let Some(vertices) = node.entry("vertices") else {
            return Err(self.error(node.span, "a body needs `mesh` or `vertices`"));
        };
        for v in self.list(&vertices.node)? {
            mesh.vertices.push(self.vector(v)?.into());
        }
        let count = mesh.vertices.len();
        for row in node.entry("faces").map_or(Ok(&[][..]), |e| self.list(&e.node))? {
            mesh.triangles.push(self.corners(row, count)?);
        }
        for row in node.entry("edges").map_or(Ok(&[][..]), |e| self.list(&e.node))? {
            mesh.segments.push(self.corners(row, count)?);
        }
        // Sides of triangles are edges anyway.
        let mut sides: Vec<[u32; 2]> =
            mesh.triangles.iter().flat_map(|&[a, b, c]| [[a, b], [b, c], [c, a]]).map(sorted).collect();
        sides.sort_unstable();
        mesh.segments.retain(|s| sides.binary_search(&sorted(*s)).is_err());
        Ok(("body".into(), mesh, vertices.node.span))
    }

    fn corners<const N: usize>(&self, row: &Node, count: usize) -> Result<[u32; N], SceneFileError> {
        let items = self.list(row)?;
        if items.len() != N {
            return Err(self.error(row.span, format!("expected {N} corners, found {}", items.len())));
        }
        let mut out = [0; N];
        for (out, item) in out.iter_mut().zip(items) {
            match item.value {
                Value::Integer(i) if (0..count as i64).contains(&i) => *out = i as u32,
                _ => {
                    let message =
                        format!("expected a vertex from 0 to {}, found {}", count.max(1) - 1, what(item));
                    return Err(self.error(item.span, message));
                }
            }
        }
        Ok(out)
    }

    /// Factors for the coordinates; `dimensions` goes before `scale`.
    fn scale(&self, node: &Node, mesh: &RawMesh) -> Result<[f64; 3], SceneFileError> {
        if let Some(entry) = node.entry("dimensions") {
            let wanted = self.vector(&entry.node)?;
            return Ok([0, 1, 2].map(|k| {
                let values = mesh.vertices.iter().map(|p| p[k]);
                let size =
                    values.clone().fold(f64::NEG_INFINITY, f64::max) - values.fold(f64::INFINITY, f64::min);
                if size > 0.0 { wanted[k] / size } else { wanted[k] }
            }));
        }
        match node.entry("scale").map(|e| &e.node) {
            None => Ok([1.0; 3]),
            Some(n) if matches!(n.value, Value::List(_)) => Ok(self.vector(n)?.into()),
            Some(n) => Ok([self.number(n)?; 3]),
        }
    }

    fn fixed(&self, node: Option<&Node>) -> Result<[bool; 6], SceneFileError> {
        let Some(node) = node else { return Ok([false; 6]) };
        if let Value::Bool(all) = node.value {
            return Ok([all; 6]);
        }
        let items = self.list(node)?;
        if items.len() < 6 {
            return Err(self.error(node.span, format!("expected six flags, found {}", items.len())));
        }
        let mut out = [false; 6];
        for (out, item) in out.iter_mut().zip(items) {
            *out = self.flag(item)?;
        }
        Ok(out)
    }

    fn role(&self, node: Option<&Node>, fixed: &[bool; 6]) -> Result<Role, SceneFileError> {
        let role = match node.map(|n| (n, &n.value)) {
            None => Role::Dynamic,
            Some((_, Value::Text(t))) if t == "dynamic" => Role::Dynamic,
            Some((_, Value::Text(t))) if t == "static" => Role::Static,
            Some((_, Value::Text(t))) if t == "kinematic" => Role::Kinematic,
            Some((n, _)) => {
                let message = format!("expected \"static\", \"kinematic\" or \"dynamic\", found {}", what(n));
                return Err(self.error(n.span, message));
            }
        };
        Ok(if role == Role::Dynamic && fixed.iter().all(|f| *f) { Role::Static } else { role })
    }

    fn poses(&self, node: Option<&Node>) -> Result<Vec<(Vec3, Vec3)>, SceneFileError> {
        let Some(node) = node else { return Ok(Vec::new()) };
        let vector =
            |pose: &Node, key| pose.entry(key).map_or(Ok(Vec3::zeros()), |e: &Entry| self.vector(&e.node));
        self.list(node)?.iter().map(|p| Ok((vector(p, "position")?, vector(p, "rotation")?))).collect()
    }
}

fn sorted([a, b]: [u32; 2]) -> [u32; 2] {
    [a.min(b), a.max(b)]
}

/// A body for each connected piece of the mesh, in the order of its first triangle.
fn parts(body: &RigidIpcBody) -> Vec<RigidIpcBody> {
    // The lowest vertex of each piece, found by joining.
    let mut root: Vec<u32> = (0..body.vertices.len() as u32).collect();
    fn find(root: &mut [u32], mut i: u32) -> u32 {
        while root[i as usize] != i {
            root[i as usize] = root[root[i as usize] as usize];
            i = root[i as usize];
        }
        i
    }
    for t in &body.triangles {
        for k in 0..2 {
            let (a, b) = (find(&mut root, t[k]), find(&mut root, t[k + 1]));
            root[a.max(b) as usize] = a.min(b);
        }
    }
    let mut pieces: BTreeMap<u32, Vec<[u32; 3]>> = BTreeMap::new();
    for t in &body.triangles {
        pieces.entry(find(&mut root, t[0])).or_default().push(*t);
    }
    let piece = |(k, triangles): (usize, Vec<[u32; 3]>)| {
        let raw = RawMesh {
            vertices: body.vertices.iter().map(|v| (*v).into()).collect(),
            triangles,
            ..RawMesh::default()
        };
        let surface = raw.surface_mesh();
        RigidIpcBody {
            name: format!("{}-part{k:03}", body.name),
            vertices: surface.points,
            triangles: surface.triangles,
            segments: Vec::new(),
            ..body.clone()
        }
    };
    pieces.into_values().enumerate().map(piece).collect()
}

/// Names with a number where several bodies have the same.
fn unique_names(bodies: &mut [RigidIpcBody]) {
    let mut seen = BTreeSet::new();
    for body in bodies {
        let mut name = body.name.clone();
        for k in 2.. {
            if seen.insert(name.clone()) {
                break;
            }
            name = format!("{}_{k}", body.name);
        }
        body.name = name;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TET: &str = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 3 1 4\n";

    /// Reads a text as a scene two folders below `meshes`.
    fn scene(text: &str) -> Result<RigidIpcScene, String> {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("fixtures/3D");
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::create_dir_all(root.path().join("meshes/sub")).unwrap();
        std::fs::write(root.path().join("meshes/sub/tet.obj"), TET).unwrap();
        std::fs::write(folder.join("drop.json"), text).unwrap();
        read(folder.join("drop.json")).map_err(|e| e.to_string())
    }

    fn with(body: &str) -> Result<RigidIpcScene, String> {
        scene(&format!(
            r#"{{"timestep": 0.01, "rigid_body_problem": {{"gravity": [0, -9.8, 0], "rigid_bodies": [{body}]}}}}"#
        ))
    }

    #[test]
    fn units_become_si_and_poses_follow_the_euler_angles() {
        let s = with(
            r##"{"mesh": "sub/tet.obj", "position": [1, 2, 3], "rotation": [90, 0, 90], "scale": [2, 1, 1],
                "angular_velocity": [0, 180, 0], "#note": 1, "density": 50}, {"mesh": "sub/tet.obj", "type": "static"}"##,
        )
        .unwrap();
        assert_eq!((s.title.as_str(), s.dt, s.duration, s.gap), ("drop", 0.01, 10.0, 1e-3));
        assert_eq!(s.gravity, Vec3::new(0.0, -9.8, 0.0));
        let b = &s.bodies[0];
        assert!((b.angular_velocity - Vec3::new(0.0, std::f64::consts::PI, 0.0)).norm() < 1e-14);
        // About x first: z goes to −y, then about z: −y goes to x. And 2 x goes to 2 y.
        let x = b.world_vertices();
        assert!((x[3] - Vec3::new(2.0, 2.0, 3.0)).norm() < 1e-14, "{}", x[3]);
        assert!((x[1] - Vec3::new(1.0, 4.0, 3.0)).norm() < 1e-14, "{}", x[1]);
        assert_eq!((b.name.as_str(), s.bodies[1].name.as_str()), ("tet", "tet_2"));
        assert_eq!((b.role, s.bodies[1].role, b.density), (Role::Dynamic, Role::Static, 50.0));
        assert!(s.warnings.is_empty());
    }

    #[test]
    fn dimensions_go_before_scale_and_flat_directions_stay_flat() {
        let s = with(
            r#"{"vertices": [[0,0,0],[4,0,0],[0,0,2]], "faces": [[0,1,2]], "edges": [[0,1],[1,2]],
                "dimensions": [1, 7, 1], "scale": 9, "is_dof_fixed": true}"#,
        )
        .unwrap();
        let b = &s.bodies[0];
        assert_eq!(b.vertices[1..], [Vec3::x(), Vec3::z()]);
        assert_eq!((b.role, b.segments.len()), (Role::Static, 0));
    }

    #[test]
    fn faults_say_where() {
        for (body, part) in [
            (r#"{"mesh": "none.obj"}"#, "neither beside the scene nor"),
            (r#"{"mesh": 3}"#, "name of a file"),
            (r#"{"mesh": "sub/tet.obj", "position": [1, 2]}"#, "scenes in the plane"),
            (r#"{"mesh": "sub/tet.obj", "density": 0}"#, "density 0"),
            (r#"{"mesh": "sub/tet.obj", "type": "dynamik"}"#, "dynamik"),
            (r#"{"mesh": "sub/tet.obj", "is_dof_fixed": [true]}"#, "six flags"),
            (r#"{"vertices": [[0,0,0]], "faces": [[0,1,2]]}"#, "vertex from 0 to 0"),
            (r#"{"mesh": "sub/tet.obj", "enabled": false}"#, "no body that is enabled"),
            (r#"7"#, "expected a body"),
            ("", "no body"),
        ] {
            let error = with(body).unwrap_err();
            assert!(error.contains(part) && error.contains("drop.json"), "{body}: {error}");
        }
        assert!(scene("{").is_err() && scene("[]").is_err());
        assert!(scene("{}").unwrap_err().contains("rigid_body_problem"));
        assert!(
            scene(r#"{"timestep": 0, "rigid_body_problem": {"rigid_bodies": []}}"#)
                .unwrap_err()
                .contains("timestep")
        );
        assert!(read("/nowhere/at/all.json").is_err());
    }

    #[test]
    fn unknown_keys_are_told_and_remarks_are_not() {
        let s = with(r##"{"mesh": "sub/tet.obj", "densty": 3, "#densty": 4}"##).unwrap();
        assert_eq!(s.warnings.len(), 1);
        let told = s.warnings[0].to_string();
        assert!(told.contains("densty") && told.contains("density"), "{told}");
    }

    #[test]
    fn pieces_become_bodies() {
        let s = with(
            r#"{"vertices": [[0,0,0],[1,0,0],[0,1,0],[5,0,0],[6,0,0],[5,1,0]], "faces": [[0,1,2],[3,4,5]],
                "split_components": true}"#,
        )
        .unwrap();
        assert_eq!(s.bodies.len(), 2);
        assert_eq!(s.bodies[1].vertices[0], Vec3::new(5.0, 0.0, 0.0));
        assert_eq!(s.bodies[1].triangles, [[0, 1, 2]]);
    }
}
