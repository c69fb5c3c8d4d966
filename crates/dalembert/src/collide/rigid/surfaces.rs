//! A mesh on another mesh, on a field of heights, on a half-space.
//!
//! **Half-space.** Nothing of a mesh is nearer to a half-space than the corners of its convex hull, so the hull answers, exactly.
//!
//! **Mesh on mesh.** Trees find triangles that are near each other. Their corners are tried on the other's faces and their
//! edges on the other's edges, each along the one normal that the two features define. A pair counts if that normal belongs to
//! both features (see `features`), its points lie over each other, and the gap is below the margin. A closed mesh is
//! solid: a corner below its face has a negative gap if nothing of the mesh lies between. Several faces may claim a corner that has
//! sunk in: the nearest wins, and an edge that ends in such a corner may not ask for more; nor may what is near a shorter exit.
//!
//! **Limits.** What has sunk in by more than a fiftieth of the smaller mesh's diagonal is not seen any more; edges that are parallel
//! to within a thousandth meet with their corners only; two corners, or a corner and an edge, meet once one of them is over
//! a face of the other. Of many points along one normal four are kept. A mesh meets a field of heights with its corners; two fields
//! do not meet, nor a field and a half-space.

use super::Touch;
use super::features::{Edge, Features, blocked};
use super::geometry::Frame;
use super::mesh::{Facet, HeightField, Mesh};
use crate::collide::bvh::Aabb;
use crate::math::Vec3;

/// Depth up to which overlap is seen, as a part of the smaller diagonal.
const DEEP: f64 = 0.02;
/// Points may lie beside a face by this part of the smaller diagonal, and depths count as equal within it.
const SLOP: f64 = 1e-4;
/// Sine of the least angle of two edges that cross.
const PARALLEL: f64 = 1e-3;
/// Cosine from which on two exits are the same.
const OTHER_WAY: f64 = 0.7;
/// Contacts within so many depths of each other are of one overlap.
const NEIGHBOURHOOD: f64 = 4.0;
/// More sunken contacts than this are taken as they are.
const MANY_SUNK: usize = 500;
/// Pairs of triangles that are looked at; a contact of more is seen in part.
const MOST_PAIRS: usize = 4_000_000;

/// A contact of two features in the frame of b.
#[derive(Debug, Clone, Copy)]
struct Found {
    /// What it belongs to: vertices of a, then those of b.
    key: [u32; 2],
    edges: bool,
    /// From b towards a.
    normal: Vec3,
    on_b: Vec3,
    gap: f64,
    feature: u32,
    part: u32,
}

/// Buffers.
#[derive(Debug, Clone, Default)]
pub(super) struct Room {
    near: Vec<u32>,
    pairs: Vec<(u32, u32)>,
    found: Vec<Found>,
    deepest: Vec<(u32, f64, Vec3)>,
}

/// A face with one of its sides.
struct Face<'a> {
    corners: &'a [Vec3; 3],
    normal: Vec3,
    /// It has no other side.
    solid: bool,
}

impl Face<'_> {
    /// Height over it, and whether `x` lies over it give or take `slop`.
    fn under(&self, x: &Vec3, slop: f64) -> (f64, bool) {
        let p = self.corners;
        let over = (0..3).all(|k| {
            let e = p[(k + 1) % 3] - p[k];
            let out = e.cross(&self.normal);
            out.dot(&(x - p[k])) <= slop * e.norm()
        });
        (self.normal.dot(&(x - p[0])), over)
    }

    /// The signs s of sides s·normal on which a corner at `x` touches that is lowest along a side as `lowest` says.
    fn side(&self, height: f64, lowest: impl Fn(&Vec3) -> bool) -> Option<f64> {
        let (up, down) = (lowest(&self.normal), !self.solid && lowest(&-self.normal));
        match (up, down) {
            (true, true) => Some(if height >= 0.0 { 1.0 } else { -1.0 }),
            (true, false) => Some(1.0),
            (false, true) => Some(-1.0),
            (false, false) => None,
        }
    }
}

/// What two meshes need to know about each other.
struct Meeting<'a> {
    a: &'a Mesh,
    b: &'a Mesh,
    fa: &'a Features,
    fb: &'a Features,
    /// a in the frame of b.
    A: Frame,
    margin: f64,
    deep: f64,
    slop: f64,
}

impl Meeting<'_> {
    fn to_b(&self, x: &Vec3) -> Vec3 {
        self.A.x + self.A.R * x
    }

    fn to_a(&self, x: &Vec3) -> Vec3 {
        self.A.R.tr_mul(&(x - self.A.x))
    }

    fn in_reach(&self, gap: f64) -> bool {
        gap <= self.margin && gap >= -self.deep
    }

    /// Corner `v` of a on triangle `t` of b.
    fn corner_on_b(&self, v: u32, x: &Vec3, t: u32, corners: &[Vec3; 3]) -> Option<Found> {
        let face = Face { corners, normal: self.fb.normals[t as usize], solid: self.b.is_closed() };
        let (height, over) = face.under(x, self.slop);
        if !over || !(height.abs() <= self.margin.max(self.deep)) {
            return None;
        }
        let lowest = |n: &Vec3| self.fa.is_lowest(self.a.vertices(), v, &self.A.R.tr_mul(n));
        let sign = face.side(height, lowest)?;
        let (normal, gap) = (face.normal * sign, height * sign);
        let on_b = x - normal * gap;
        if !self.in_reach(gap) || (gap < 0.0 && blocked(self.b, self.b.tree(), x, &on_b)) {
            return None;
        }
        Some(Found { key: [v, u32::MAX], edges: false, normal, on_b, gap, feature: 2 * v, part: t })
    }

    /// Corner `v` of b on triangle `t` of a, whose corners are given in the frame of b.
    fn corner_on_a(&self, v: u32, t: u32, corners: &[Vec3; 3]) -> Option<Found> {
        let x = self.b.vertices()[v as usize];
        let normal = self.A.R * self.fa.normals[t as usize];
        let face = Face { corners, normal, solid: self.a.is_closed() };
        let (height, over) = face.under(&x, self.slop);
        if !over || !(height.abs() <= self.margin.max(self.deep)) {
            return None;
        }
        let sign = face.side(height, |n| self.fb.is_lowest(self.b.vertices(), v, n))?;
        let (outward, gap) = (normal * sign, height * sign);
        let on_a = x - outward * gap;
        let hidden = || blocked(self.a, self.a.tree(), &self.to_a(&x), &self.to_a(&on_a));
        if !self.in_reach(gap) || (gap < 0.0 && hidden()) {
            return None;
        }
        let key = [u32::MAX, v];
        let (normal, feature) = (-outward, 2 * v + 1);
        // The point on b is the corner itself; the triangle of a names the part.
        Some(Found { key, edges: false, normal, on_b: x, gap, feature, part: t | 1 << 31 })
    }

    /// Edge i of a on edge j of b.
    fn edges(&self, (i, ea): (u32, &Edge), (j, eb): (u32, &Edge)) -> Option<Found> {
        let [p, p1] = ea.ends.map(|v| self.to_b(&self.a.vertices()[v as usize]));
        let [q, q1] = eb.ends.map(|v| self.b.vertices()[v as usize]);
        let (u, v) = (p1 - p, q1 - q);
        let cross = u.cross(&v);
        let area = cross.norm();
        if !(area > PARALLEL * u.norm() * v.norm()) {
            return None;
        }
        let n = cross / area;
        // Feet of the common perpendicular: p + s u and q + t v.
        let w = q - p;
        let (s, t) = (w.cross(&v).dot(&n) / area, w.cross(&u).dot(&n) / area);
        if !((0.0..=1.0).contains(&s) && (0.0..=1.0).contains(&t)) {
            return None;
        }
        let height = -n.dot(&w);
        if !(height.abs() <= self.margin.max(self.deep)) {
            return None;
        }
        let in_a = |d: &Vec3| self.A.R.tr_mul(d);
        let belongs = |n: &Vec3| eb.owns(n, &v) && ea.owns(&-in_a(n), &in_a(&u));
        let sign = match (belongs(&n), belongs(&-n)) {
            (true, true) if height < 0.0 => -1.0,
            (true, _) => 1.0,
            (false, true) => -1.0,
            (false, false) => return None,
        };
        let (normal, gap) = (n * sign, height * sign);
        let (on_a, on_b) = (p + u * s, q + v * t);
        let hidden = || {
            blocked(self.b, self.b.tree(), &on_a, &on_b)
                || blocked(self.a, self.a.tree(), &self.to_a(&on_a), &self.to_a(&on_b))
        };
        if !self.in_reach(gap) || (gap < 0.0 && hidden()) {
            return None;
        }
        let feature = i.wrapping_mul(0x9e37_79b1) ^ j.wrapping_mul(0x85eb_ca6b) | 1 << 31;
        Some(Found { key: [i, j], edges: true, normal, on_b, gap, feature, part: j | 1 << 30 })
    }
}

/// Contacts of mesh a with mesh b: normal from b towards a, part, place; in the axes and about the origin of A and B.
pub(super) fn mesh_on_mesh(
    (a, A): (&Mesh, &Frame),
    (b, B): (&Mesh, &Frame),
    margin: f64,
    room: &mut Room,
    out: &mut Vec<(Vec3, u32, Touch)>,
) {
    let (fa, fb) = (a.features(), b.features());
    let size = fa.size.min(fb.size);
    let m = Meeting { a, b, fa, fb, A: B.local(A), margin, deep: DEEP * size, slop: SLOP * size };
    let Room { near, pairs, found, deepest } = room;
    find_pairs(&m, A.local(B), near, pairs);
    found.clear();
    let mut last = (u32::MAX, [Vec3::zeros(); 3]);
    for &(s, t) in pairs.iter() {
        if last.0 != s {
            last = (s, a.corners(s).map(|x| m.to_b(&x)));
        }
        let (on_a, on_b) = (&last.1, b.corners(t));
        for k in (0..3).filter(|k| fa.corners[s as usize] >> k & 1 == 1) {
            found.extend(m.corner_on_b(a.triangles()[s as usize][k], &on_a[k], t, &on_b));
        }
        for k in (0..3).filter(|k| fb.corners[t as usize] >> k & 1 == 1) {
            found.extend(m.corner_on_a(b.triangles()[t as usize][k], s, on_a));
        }
        let of = |f: &Features, t: u32| f.first_edge[t as usize]..f.first_edge[t as usize + 1];
        for i in of(fa, s) {
            for j in of(fb, t) {
                found.extend(m.edges((i, &fa.edges[i as usize]), (j, &fb.edges[j as usize])));
            }
        }
    }
    keep_shallow(&m, found, deepest);
    for f in found.iter() {
        let normal = B.R * f.normal;
        let point = B.x + B.R * f.on_b + normal * (0.5 * f.gap);
        out.push((normal, f.part, Touch { point, gap: f.gap, feature: f.feature }));
    }
}

/// Triangles that may be near each other, sorted.
fn find_pairs(m: &Meeting, b_in_a: Frame, near: &mut Vec<u32>, pairs: &mut Vec<(u32, u32)>) {
    let reach = m.margin.max(m.deep);
    let bounds = m.b.bounds();
    near.clear();
    m.a.tree().query(&turned(&bounds, &b_in_a, reach), |s| {
        near.push(s);
        true
    });
    near.sort_unstable();
    pairs.clear();
    for &s in near.iter() {
        let [p, q, r] = m.a.corners(s).map(|x| m.to_b(&x));
        let around = Aabb::of(&p.inf(&q).inf(&r), &p.sup(&q).sup(&r), reach);
        m.b.tree().query(&around, |t| {
            pairs.push((s, t));
            pairs.len() < MOST_PAIRS
        });
    }
    pairs.sort_unstable();
}

/// The box around a box that stands at a frame, grown.
fn turned(b: &Aabb, at: &Frame, margin: f64) -> Aabb {
    let (low, high) = (Vec3::new(b.low[0], b.low[1], b.low[2]), Vec3::new(b.high[0], b.high[1], b.high[2]));
    let c = at.x + at.R * (0.5 * (low + high));
    let half = (at.R.abs() * (0.5 * (high - low))).add_scalar(margin);
    Aabb::of(&(c - half), &(c + half), 0.0)
}

/// Of what has sunk in: for each corner the nearest faces, and edges no deeper than their ends.
fn keep_shallow(m: &Meeting, found: &mut Vec<Found>, deepest: &mut Vec<(u32, f64, Vec3)>) {
    let count = m.a.vertices().len() as u32;
    let name = |key: &[u32; 2]| if key[0] == u32::MAX { count + key[1] } else { key[0] };
    deepest.clear();
    let sunk = found.iter().filter(|f| !f.edges && f.gap < 0.0);
    deepest.extend(sunk.map(|f| (name(&f.key), f.gap, f.normal)));
    deepest.sort_by(|x, y| x.0.cmp(&y.0).then(y.1.total_cmp(&x.1)));
    deepest.dedup_by_key(|d| d.0);
    let of = |v: u32| deepest.binary_search_by_key(&v, |d| d.0).ok().map(|i| (deepest[i].1, deepest[i].2));
    found.retain(|f| {
        if f.gap >= 0.0 {
            return true;
        }
        let enough = |best: Option<(f64, Vec3)>| {
            best.is_none_or(|(gap, n)| f.gap >= gap - m.slop || n.dot(&f.normal) > OTHER_WAY)
        };
        if !f.edges {
            return enough(of(name(&f.key)));
        }
        let (ea, eb) = (&m.fa.edges[f.key[0] as usize], &m.fb.edges[f.key[1] as usize]);
        ea.ends.iter().all(|v| enough(of(*v))) && eb.ends.iter().all(|v| enough(of(count + *v)))
    });
    // Where two solids overlap in a region that is hardly wider than deep, the shortest exit counts alone.
    let sunk: Vec<(Vec3, Vec3, f64)> =
        found.iter().filter(|f| f.gap < 0.0).map(|f| (f.on_b, f.normal, f.gap)).collect();
    if sunk.len() <= MANY_SUNK {
        found.retain(|f| {
            let shorter = |(x, n, gap): &(Vec3, Vec3, f64)| {
                *gap > f.gap + m.slop
                    && n.dot(&f.normal) < OTHER_WAY
                    && (x - f.on_b).norm() <= NEIGHBOURHOOD * f.gap.abs()
            };
            f.gap >= 0.0 || !sunk.iter().any(shorter)
        });
    }
}

/// Corners of mesh a on a field of heights.
pub(super) fn mesh_on_field(
    (a, A): (&Mesh, &Frame),
    (b, B): (&HeightField, &Frame),
    margin: f64,
    facets: &mut Vec<Facet>,
    out: &mut Vec<(Vec3, u32, Touch)>,
) {
    let features = a.features();
    let local = B.local(A);
    let slop = SLOP * features.size;
    for (t, bits) in features.corners.iter().enumerate() {
        for k in (0..3).filter(|k| bits >> k & 1 == 1) {
            let v = a.triangles()[t][k];
            let x = local.x + local.R * a.vertices()[v as usize];
            facets.clear();
            b.facets(&Aabb::of(&x, &x, margin.max(slop)), |f| facets.push(f));
            for f in facets.iter() {
                let face = Face { corners: &f.corners, normal: f.normal, solid: true };
                let (gap, over) = face.under(&x, slop);
                if !over
                    || !(gap <= margin)
                    || !features.is_lowest(a.vertices(), v, &local.R.tr_mul(&f.normal))
                {
                    continue;
                }
                let normal = B.R * f.normal;
                let point = B.x + B.R * x - normal * (0.5 * gap);
                out.push((normal, f.number, Touch { point, gap, feature: 2 * v }));
            }
        }
    }
}
