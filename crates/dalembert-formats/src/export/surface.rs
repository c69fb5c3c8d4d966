//! One mesh of everything: bodies by their triangles, points with the surfaces, sheets and springs between them.

use dalembert::bodies::{Rigid, TriangleMesh};
use dalembert::math::Vec3;
use dalembert::model::Model;
use dalembert::state::{BlockKind, State};

use super::topology::{Pairs, deformation_columns, sheet_triangles, sheet_width, spring_pairs};

/// What does not change from frame to frame. Vertices are those of the bodies in turn, then the points.
pub(super) struct Surface {
    /// Meshes of the rigid bodies, in body axes.
    pub(super) meshes: Vec<TriangleMesh>,
    /// For each vertex the block that it belongs to.
    pub(super) block: Vec<u32>,
    pub(super) triangles: Vec<[u32; 3]>,
    /// Springs that no surface covers, and lines of the model.
    pub(super) edges: Pairs,
    /// Points that no surface covers.
    pub(super) loose: Vec<u32>,
    /// Surfaces of soft solids, carried meshes and sheets: the block, and the triangles between its points.
    pub(super) sheets: Vec<(usize, Vec<[u32; 3]>)>,
    /// Number of the first point.
    pub(super) first_point: u32,
}

impl Surface {
    pub(super) fn new(model: &Model, state: &State) -> Self {
        let springs = spring_pairs(model, state);
        let meshes: Vec<TriangleMesh> = model.shapes.iter().map(|shape| shape.triangles()).collect();
        let mut triangles = Vec::new();
        let mut first_point = 0;
        for mesh in &meshes {
            triangles.extend(mesh.triangles().iter().map(|t| t.map(|i| first_point + i)));
            first_point += mesh.vertices().len() as u32;
        }
        let mut block = vec![0; first_point as usize + model.layout.points];
        let mut at = 0;
        let (mut sheets, mut covered) = (Vec::new(), vec![false; model.layout.points]);
        for (b, piece) in model.blocks.iter().enumerate() {
            if piece.kind == BlockKind::Rigid {
                let n = meshes[piece.q.start / 7].vertices().len();
                block[at..at + n].fill(b as u32);
                at += n;
            }
            let points = piece.points.clone();
            block[first_point as usize..][points.clone()].fill(b as u32);
            let surface = model.surfaces.iter().find(|s| s.name == piece.name && !s.triangles.is_empty());
            let sheet: Vec<[u32; 3]> = match (surface, piece.kind) {
                (Some(surface), _) => surface.triangles.iter().map(|t| t.map(|i| first_point + i)).collect(),
                (None, BlockKind::Particles) => {
                    let first = first_point + points.start as u32;
                    let sheet = sheet_width(piece, &springs).map(|w| sheet_triangles(points.len() as u32, w));
                    sheet.unwrap_or_default().iter().map(|t| t.map(|i| first + i)).collect()
                }
                _ => Vec::new(),
            };
            if !sheet.is_empty() {
                triangles.extend(&sheet);
                sheets.push((b, sheet));
                covered[points].fill(true);
            }
        }
        deformation_columns(model).for_each(|(column, center)| {
            covered[column] = true;
            covered[center] = true;
        });
        let is_covered = |p: &[u32; 2]| p.iter().all(|i| covered[*i as usize]);
        let pairs = springs.iter().flat_map(|(_, pairs)| pairs).filter(|p| !is_covered(p));
        let lines = model.surfaces.iter().flat_map(|s| &s.lines);
        let mut edges: Pairs = pairs.chain(lines).map(|p| p.map(|i| first_point + i)).collect();
        edges.sort_unstable();
        edges.dedup();
        let free = (0..model.layout.points).filter(|i| !covered[*i]);
        let loose = free.map(|i| first_point + i as u32).collect();
        Self { meshes, block, triangles, edges, loose, sheets, first_point }
    }

    /// Places \[m\] and velocities \[m/s\] of all vertices, in world axes.
    pub(super) fn place(&self, model: &Model, state: &State, mut out: impl FnMut(Vec3, Vec3)) {
        for (k, mesh) in self.meshes.iter().enumerate() {
            let pose = model.rigid.pose(&state.q, k);
            for p in mesh.vertices() {
                let p = pose.point(p);
                out(p, Rigid::velocity_at(&state.q, &state.v, k, &p));
            }
        }
        let points = model.points(state.time, &state.q, &state.v);
        let mut shown: Vec<usize> = (0..points.len()).collect();
        deformation_columns(model).for_each(|(column, center)| shown[column] = center);
        shown.into_iter().for_each(|i| out(points.position(i), points.velocity(i)));
    }
}
