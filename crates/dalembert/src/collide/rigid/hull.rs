//! Convex polyhedra: corners, faces with any number of sides, and who is next to whom.

use crate::math::Vec3;
use crate::mesh::convex_hull;

use super::clip::CORNERS;

/// The smallest convex solid around given points. Flat ones are plates with two faces, straight ones segments.
#[derive(Debug, Clone, PartialEq)]
pub struct Hull {
    vertices: Vec<Vec3>,
    /// Corners of face f: `corners[starts[f]..starts[f + 1]]`, counter-clockwise from outside.
    corners: Vec<u32>,
    starts: Vec<u32>,
    normals: Vec<Vec3>,
    /// Faces around vertex v, and its neighbours, in the same way.
    faces_of: (Vec<u32>, Vec<u32>),
    neighbours_of: (Vec<u32>, Vec<u32>),
    center: Vec3,
    size: f64,
    /// Lowest and highest coordinates of its corners.
    ends: [Vec3; 2],
}

/// Why there is no hull.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum HullError {
    /// No points.
    #[error("a convex hull needs at least one point")]
    Empty,
    /// A coordinate that is not finite.
    #[error("point {point} at ({}, {}, {}) must be finite", .position[0], .position[1], .position[2])]
    NotFinite {
        /// Which, from 0.
        point: usize,
        /// Its coordinates \[m\].
        position: [f64; 3],
    },
}

/// Vertices nearer to a plane than this part of the size lie in it.
const FLAT: f64 = 1e-9;

impl Hull {
    /// Around points \[m\]. Points inside are dropped; of equal points one stays.
    pub fn new(points: &[Vec3]) -> Result<Self, HullError> {
        if points.is_empty() {
            return Err(HullError::Empty);
        }
        if let Some(point) = points.iter().position(|p| !p.iter().all(|x| x.is_finite())) {
            return Err(HullError::NotFinite { point, position: points[point].into() });
        }
        match convex_hull(points) {
            Ok(triangles) => Ok(Self::of_triangles(points, &triangles)),
            Err(_) => Ok(Self::of_flat(points)),
        }
    }

    /// Joins coplanar triangles to faces.
    fn of_triangles(points: &[Vec3], triangles: &[[u32; 3]]) -> Self {
        let low = points.iter().fold(points[0], |a, b| a.inf(b));
        let high = points.iter().fold(points[0], |a, b| a.sup(b));
        let tolerance = FLAT * (high - low).amax();
        let at = |i: u32| points[i as usize];
        let area = |t: &[u32; 3]| (at(t[1]) - at(t[0])).cross(&(at(t[2]) - at(t[0])));
        let mut edges: Vec<([u32; 2], u32)> = Vec::with_capacity(3 * triangles.len());
        for (i, t) in triangles.iter().enumerate() {
            edges.extend((0..3).map(|k| ([t[k], t[(k + 1) % 3]], i as u32)));
        }
        edges.sort_unstable();
        let across = |a: u32, b: u32| edges.binary_search_by(|e| e.0.cmp(&[b, a])).ok().map(|i| edges[i].1);
        // From the largest triangle on: each takes the neighbours that lie in its plane.
        let mut order: Vec<usize> = (0..triangles.len()).collect();
        order.sort_by(|&i, &j| {
            let (x, y) = (area(&triangles[i]).norm_squared(), area(&triangles[j]).norm_squared());
            y.total_cmp(&x).then(i.cmp(&j))
        });
        let mut face_of = vec![u32::MAX; triangles.len()];
        let (mut loops, mut normals): (Vec<Vec<u32>>, Vec<Vec3>) = (vec![], vec![]);
        for &first in &order {
            let Some(normal) = area(&triangles[first]).try_normalize(0.0) else { continue };
            if face_of[first] != u32::MAX {
                continue;
            }
            let number = loops.len() as u32;
            let origin = at(triangles[first][0]);
            let mut members = vec![first];
            face_of[first] = number;
            let mut k = 0;
            while k < members.len() {
                let t = triangles[members[k]];
                k += 1;
                for e in 0..3 {
                    let Some(other) = across(t[e], t[(e + 1) % 3]).map(|i| i as usize) else { continue };
                    let flat =
                        triangles[other].iter().all(|&v| (at(v) - origin).dot(&normal).abs() <= tolerance);
                    if flat && face_of[other] == u32::MAX && area(&triangles[other]).dot(&normal) >= 0.0 {
                        face_of[other] = number;
                        members.push(other);
                    }
                }
            }
            let rim = members.iter().flat_map(|&m| {
                let t = triangles[m];
                (0..3).map(move |e| [t[e], t[(e + 1) % 3]])
            });
            let rim: Vec<[u32; 2]> =
                rim.filter(|&[a, b]| across(a, b).is_none_or(|o| face_of[o as usize] != number)).collect();
            loops.push(walk(&rim));
            normals.push(normal);
        }
        Self::assemble(points, loops, normals)
    }

    /// Points in a plane, on a line, or all at one place.
    fn of_flat(points: &[Vec3]) -> Self {
        let far_from = |p: &Vec3| {
            let key = |i: &usize| (points[*i] - p).norm_squared();
            (0..points.len()).max_by(|i, j| key(i).total_cmp(&key(j)).then(j.cmp(i))).unwrap_or(0)
        };
        let a = far_from(&points[0]);
        let b = far_from(&points[a]);
        let size = (points[b] - points[a]).norm();
        let Some(u) = (points[b] - points[a]).try_normalize(0.0) else {
            return Self::assemble(points, vec![vec![0]], vec![]);
        };
        let off = |i: &usize| (points[*i] - points[a]).cross(&u).norm_squared();
        let c = (0..points.len()).max_by(|i, j| off(i).total_cmp(&off(j)).then(j.cmp(i))).unwrap_or(0);
        if off(&c).sqrt() <= FLAT * size {
            return Self::assemble(points, vec![vec![a as u32, b as u32]], vec![]);
        }
        let n = u.cross(&(points[c] - points[a])).normalize();
        let v = n.cross(&u);
        let plane: Vec<[f64; 2]> =
            points.iter().map(|p| [(p - points[a]).dot(&u), (p - points[a]).dot(&v)]).collect();
        let front = hull_in_plane(&plane);
        let back = front.iter().rev().copied().collect();
        Self::assemble(points, vec![front, back], vec![n, -n])
    }

    /// Keeps the vertices that are used and finds who is around whom.
    fn assemble(points: &[Vec3], mut loops: Vec<Vec<u32>>, normals: Vec<Vec3>) -> Self {
        let mut place = vec![u32::MAX; points.len()];
        let mut vertices = Vec::new();
        for i in loops.iter_mut().flatten() {
            let old = *i as usize;
            if place[old] == u32::MAX {
                place[old] = vertices.len() as u32;
                vertices.push(points[old]);
            }
            *i = place[old];
        }
        let mut around = vec![Vec::new(); vertices.len()];
        let mut beside = vec![Vec::new(); vertices.len()];
        for (f, corners) in loops.iter().enumerate() {
            for (k, &v) in corners.iter().enumerate() {
                let next = corners[(k + 1) % corners.len()];
                if f < normals.len() {
                    around[v as usize].push(f as u32);
                }
                if next != v {
                    beside[v as usize].push(next);
                    beside[next as usize].push(v);
                }
            }
        }
        beside.iter_mut().for_each(|list: &mut Vec<u32>| {
            list.sort_unstable();
            list.dedup();
        });
        let flat = |lists: &[Vec<u32>]| {
            let mut starts = vec![0];
            let mut all = Vec::new();
            for list in lists {
                all.extend(list);
                starts.push(all.len() as u32);
            }
            (all, starts)
        };
        let center = vertices.iter().sum::<Vec3>() / vertices.len() as f64;
        let size = vertices.iter().fold(0.0, |far: f64, p| far.max(p.norm()));
        let (corners, starts) = if normals.is_empty() { (vec![], vec![0]) } else { flat(&loops) };
        let (faces_of, neighbours_of) = (flat(&around), flat(&beside));
        let ends =
            vertices.iter().fold([Vec3::repeat(f64::INFINITY), Vec3::repeat(f64::NEG_INFINITY)], |e, v| {
                [e[0].inf(v), e[1].sup(v)]
            });
        Self { vertices, corners, starts, normals, faces_of, neighbours_of, center, size, ends }
    }

    /// Corners \[m\].
    pub fn vertices(&self) -> &[Vec3] {
        &self.vertices
    }

    /// Number of faces.
    pub fn faces(&self) -> usize {
        self.normals.len()
    }

    /// Numbers of the corners of a face, counter-clockwise from outside.
    pub fn face(&self, f: usize) -> &[u32] {
        &self.corners[self.starts[f] as usize..self.starts[f + 1] as usize]
    }

    /// Outward unit normal of a face.
    pub fn normal(&self, f: usize) -> &Vec3 {
        &self.normals[f]
    }

    /// A point inside: the mean of the corners \[m\].
    pub fn center(&self) -> &Vec3 {
        &self.center
    }

    pub(super) fn size(&self) -> f64 {
        self.size
    }

    pub(super) fn vertex(&self, v: u32) -> &Vec3 {
        &self.vertices[v as usize]
    }

    pub(super) fn neighbours(&self, v: u32) -> &[u32] {
        let (all, starts) = &self.neighbours_of;
        &all[starts[v as usize] as usize..starts[v as usize + 1] as usize]
    }

    /// The box around it in its own frame, for hulls of so many corners that a search for the box in another frame would
    /// take longer than what a box that is too large costs.
    pub(super) fn large_box(&self) -> Option<&[Vec3; 2]> {
        (self.vertices.len() > 48).then_some(&self.ends)
    }

    /// The corner farthest along `d`: all are asked if they are few, otherwise from neighbour to higher neighbour, which
    /// on a convex surface leads to the top.
    pub(super) fn support(&self, d: &Vec3) -> u32 {
        let height = |v: u32| self.vertices[v as usize].dot(d);
        if self.vertices.len() <= 48 {
            let mut best = (0, height(0));
            for v in 1..self.vertices.len() as u32 {
                let h = height(v);
                if h > best.1 {
                    best = (v, h);
                }
            }
            return best.0;
        }
        let mut best = (0, height(0));
        loop {
            let start = best.0;
            for &w in self.neighbours(start) {
                let h = height(w);
                if h > best.1 {
                    best = (w, h);
                }
            }
            if best.0 == start {
                return start;
            }
        }
    }

    /// Of the faces around a vertex the one that looks most along `d`.
    pub(super) fn best_face(&self, v: u32, d: &Vec3) -> Option<usize> {
        let (all, starts) = &self.faces_of;
        let around = &all[starts[v as usize] as usize..starts[v as usize + 1] as usize];
        let mut best: Option<(usize, f64)> = None;
        for &f in around {
            let c = self.normals[f as usize].dot(d);
            if best.is_none_or(|(_, most)| c > most) {
                best = Some((f as usize, c));
            }
        }
        best.map(|(f, _)| f)
    }

    /// Corners of the face, or without faces of the whole, that looks most along `d`. A face with very many corners is
    /// replaced by those that are farthest in sixteen directions.
    pub(super) fn patch(&self, d: &Vec3, mut push: impl FnMut(Vec3, u16)) {
        let v = self.support(d);
        let Some(f) = self.best_face(v, d) else {
            let along = self.vertices.len() > 1
                && (self.vertices[1] - self.vertices[0]).normalize().dot(d).abs() < 0.2;
            for (i, p) in self.vertices.iter().enumerate().filter(|(i, _)| along || *i == v as usize) {
                push(*p, i as u16);
            }
            return;
        };
        let corners = self.face(f);
        if corners.len() <= CORNERS {
            return corners.iter().for_each(|&c| push(self.vertices[c as usize], c as u16));
        }
        let n = self.normals[f];
        let u = (self.vertices[corners[1] as usize] - self.vertices[corners[0] as usize]).normalize();
        let w = n.cross(&u);
        let mut last = usize::MAX;
        for k in 0..CORNERS {
            let (sin, cos) = (std::f64::consts::TAU * k as f64 / CORNERS as f64).sin_cos();
            let e = u * cos + w * sin;
            let height = |i: usize| self.vertices[corners[i] as usize].dot(&e);
            let top = (1..corners.len()).fold(0, |best, i| if height(i) > height(best) { i } else { best });
            if top != last {
                push(self.vertices[corners[top] as usize], corners[top] as u16);
            }
            last = top;
        }
    }
}

/// Joins directed edges to one loop.
fn walk(edges: &[[u32; 2]]) -> Vec<u32> {
    let mut sorted = edges.to_vec();
    sorted.sort_unstable();
    let Some(first) = sorted.first() else { return Vec::new() };
    let mut out = vec![first[0]];
    let mut now = first[1];
    while now != out[0] && out.len() <= edges.len() {
        out.push(now);
        let Ok(next) = sorted.binary_search_by(|e| e[0].cmp(&now)) else { break };
        now = sorted[next][1];
    }
    out
}

/// Convex hull in the plane, counter-clockwise (Andrew 1979).
fn hull_in_plane(points: &[[f64; 2]]) -> Vec<u32> {
    let mut order: Vec<u32> = (0..points.len() as u32).collect();
    let at = |i: u32| points[i as usize];
    order.sort_by(|&i, &j| at(i)[0].total_cmp(&at(j)[0]).then(at(i)[1].total_cmp(&at(j)[1])).then(i.cmp(&j)));
    let turn = |a: u32, b: u32, c: u32| {
        let ([ax, ay], [bx, by], [cx, cy]) = (at(a), at(b), at(c));
        (bx - ax) * (cy - ay) - (by - ay) * (cx - ax)
    };
    let mut out: Vec<u32> = Vec::new();
    for half in 0..2 {
        let base = out.len();
        let mut add = |i: u32| {
            while out.len() >= base + 2 && turn(out[out.len() - 2], out[out.len() - 1], i) <= 0.0 {
                out.pop();
            }
            out.push(i);
        };
        if half == 0 {
            order.iter().for_each(|&i| add(i))
        } else {
            order.iter().rev().for_each(|&i| add(i))
        }
        out.pop();
    }
    out
}
