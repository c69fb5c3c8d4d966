//! Meshes that models name: where their files are, and what is in them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use dalembert::bodies::articulated::description::RobotMesh;
use dalembert::math::{Mat3, Pose, Quat, Vec3, symmetric_eigen};

use super::solid::{self, MeshInertia};
use super::weigh::Extent;
use super::xml::{Loader, without_dots};
use crate::error::quote_path;
use crate::mesh::RawMesh;

/// How many of the places where a file was looked for are named.
const PLACES_SHOWN: usize = 6;

/// Most room for the meshes of a model, each counted as often as it is used \[bytes\].
const MAX_MESHES: usize = 1 << 30;

/// Files of meshes that were read already.
#[derive(Default)]
pub(super) struct MeshFiles {
    known: BTreeMap<PathBuf, Result<RawMesh, String>>,
    /// Room for all that was taken \[bytes\].
    taken: usize,
}

impl MeshFiles {
    /// The mesh in the first of these files that is there. The error names the file and the places tried.
    pub(super) fn read(
        &mut self,
        loader: &mut Loader<'_>,
        name: &str,
        places: &[PathBuf],
    ) -> Result<&RawMesh, String> {
        let Some(place) = places.iter().find(|place| loader.has(place)) else {
            let shown: Vec<String> = places
                .iter()
                .take(PLACES_SHOWN)
                .map(|place| quote_path(&place.display().to_string()))
                .collect();
            let more = match places.len().saturating_sub(PLACES_SHOWN) {
                0 => String::new(),
                more => format!(" and {more} other places"),
            };
            return Err(format!(
                "there is no mesh {}: looked for {}{more}",
                quote_path(name),
                shown.join(", ")
            ));
        };
        let clean = without_dots(place);
        if !self.known.contains_key(&clean) {
            let mesh = loader
                .asset(place)
                .and_then(|bytes| {
                    crate::mesh::read(&place.to_string_lossy(), &bytes).map_err(|e| e.to_string())
                })
                .map_err(|reason| format!("cannot read the mesh {}: {reason}", quote_path(name)));
            self.known.insert(clean.clone(), mesh);
        }
        match self.known.get(&clean) {
            Some(Ok(mesh)) => {
                self.taken += size_of_val(&mesh.vertices[..]) + size_of_val(&mesh.triangles[..]);
                if self.taken > MAX_MESHES {
                    let most = MAX_MESHES >> 20;
                    return Err(format!("with {} the meshes take more than {most} MiB", quote_path(name)));
                }
                Ok(mesh)
            }
            Some(Err(reason)) => Err(reason.clone()),
            None => Err(format!("cannot read the mesh {}", quote_path(name))),
        }
    }
}

/// Where a mesh of a URDF may be: `package://name/…` among the packages, the rest beside the file.
pub(super) fn urdf_places(file: &str, model: &Path, packages: &[PathBuf]) -> Vec<PathBuf> {
    let folder = model.parent().unwrap_or(Path::new(""));
    if let Some(path) = file.strip_prefix("file://") {
        return vec![folder.join(path)];
    }
    let Some(rest) = file.strip_prefix("package://").or_else(|| file.strip_prefix("model://")) else {
        return vec![folder.join(file)];
    };
    let (package, inside) = rest.split_once('/').unwrap_or((rest, ""));
    let mut places = Vec::new();
    let mut add = |place: PathBuf| {
        if !places.contains(&place) {
            places.push(place);
        }
    };
    let is_package = |folder: &Path| folder.file_name().is_some_and(|name| name == package);
    for root in packages {
        add(root.join(package).join(inside));
        if is_package(root) {
            add(root.join(inside));
        }
    }
    // The folders above the file: the package itself, or what it lies in.
    let above: Vec<PathBuf> = folder.ancestors().map(Path::to_owned).collect();
    for root in &above {
        if is_package(root) {
            add(root.join(inside));
        }
        add(root.join(package).join(inside));
    }
    // A package that was renamed.
    for root in above.iter().take(3) {
        add(root.join(inside));
    }
    places
}

/// A mesh moved, turned and scaled, and what it weighs by a rule.
pub(super) fn place(
    name: String,
    file: String,
    raw: &RawMesh,
    position: &Vec3,
    rotation: &Quat,
    scale: Vec3,
    rule: MeshInertia,
) -> (RobotMesh, Result<Extent, String>) {
    let back = rotation.inverse();
    let moved = |p: &[f64; 3]| {
        let p = Vec3::new(p[0], p[1], p[2]);
        let p = if *position == Vec3::zeros() { p } else { p - position };
        let p = if back == Quat::identity() { p } else { back * p };
        p.component_mul(&scale)
    };
    let vertices: Vec<Vec3> = raw.vertices.iter().map(moved).collect();
    // A mirror turns triangles inside out.
    let mirrored = scale.product() < 0.0;
    let turned = |t: &[u32; 3]| if mirrored { [t[0], t[2], t[1]] } else { *t };
    let triangles: Vec<[u32; 3]> = raw.triangles.iter().map(turned).collect();
    let extent = solid::extent(&vertices, &triangles, rule);
    let inertial_frame = extent.as_ref().map_or(Pose::identity(), principal_frame);
    (RobotMesh { name, file, scale, vertices, triangles, inertial_frame }, extent)
}

/// Centre and principal axes, moments falling.
pub(super) fn principal_frame(extent: &Extent) -> Pose {
    let (moments, axes) = symmetric_eigen(&extent.inertia);
    let mut order = [0, 1, 2];
    order.sort_by(|&a, &b| moments[b].total_cmp(&moments[a]));
    let mut sorted = Mat3::from_columns(&order.map(|k| axes.column(k).into_owned()));
    if sorted.determinant() < 0.0 {
        sorted.column_mut(2).neg_mut();
    }
    Pose::new(extent.center, dalembert::math::rotation::from_matrix(&sorted))
}
