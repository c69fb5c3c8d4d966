//! Convex hull of points in space, by adding the farthest point outside of a face until none is left (quickhull,
//! Barber, Dobkin and Huhdanpaa 1996).

use std::collections::BTreeMap;

use crate::math::Vec3;

struct Face {
    corners: [u32; 3],
    /// Across edge k, which runs from corner k to corner k + 1.
    neighbours: [usize; 3],
    normal: Vec3,
    /// normal · x of its plane.
    offset: f64,
    /// Points outside of this face and of no face before it.
    outside: Vec<u32>,
    alive: bool,
}

/// Triangles of the convex hull, counter-clockwise seen from outside; the error says why there is none.
pub fn convex_hull(points: &[Vec3]) -> Result<Vec<[u32; 3]>, String> {
    let flat = || "its vertices lie in a plane, so they have no convex hull".to_owned();
    if points.len() < 4 {
        return Err(format!("it has {} vertices; a solid needs four", points.len()));
    }
    let low = points.iter().fold(points[0], |a, b| a.inf(b));
    let high = points.iter().fold(points[0], |a, b| a.sup(b));
    let size = (high - low).amax();
    let tolerance = 1e-12 * size.max(high.amax().max(low.amax()));
    let farthest = |measure: &dyn Fn(&Vec3) -> f64| {
        let mut best = (0, f64::NEG_INFINITY);
        for (i, p) in points.iter().enumerate() {
            let far = measure(p);
            if far > best.1 {
                best = (i, far);
            }
        }
        best
    };
    // Four points that span a large tetrahedron.
    let (a, _) = farthest(&|p| -p[(high - low).imax()]);
    let (b, ab) = farthest(&|p| (p - points[a]).norm());
    let along = (points[b] - points[a]).normalize();
    let (c, ac) = farthest(&|p| (p - points[a]).cross(&along).norm());
    if !(ab > tolerance && ac > tolerance) {
        return Err(flat());
    }
    let normal = (points[b] - points[a]).cross(&(points[c] - points[a])).normalize();
    let (d, ad) = farthest(&|p| (p - points[a]).dot(&normal).abs());
    if !(ad > 1e-9 * size) {
        return Err(flat());
    }
    let below = (points[d] - points[a]).dot(&normal) < 0.0;
    let [a, b, c, d] = [a, b, c, d].map(|i| i as u32);
    let [b, c] = if below { [b, c] } else { [c, b] };

    let mut hull = Hull { points, faces: Vec::new(), tolerance };
    for corners in [[a, b, c], [a, d, b], [b, d, c], [c, d, a]] {
        hull.add_face(corners);
    }
    hull.join_all();
    let everything: Vec<u32> = (0..points.len() as u32).filter(|i| ![a, b, c, d].contains(i)).collect();
    hull.hand_out(&everything, 0..4);
    let mut waiting: Vec<usize> = vec![0, 1, 2, 3];
    // Each turn adds a vertex to the hull, and none twice.
    let mut turns = 0;
    while let Some(face) = waiting.pop() {
        if !hull.faces[face].alive || hull.faces[face].outside.is_empty() {
            continue;
        }
        turns += 1;
        if turns > 4 * points.len() {
            return Err("its convex hull could not be found".into());
        }
        let first = hull.faces.len();
        if !hull.grow(face) {
            return Err("its convex hull could not be found".into());
        }
        waiting.extend(first..hull.faces.len());
    }
    Ok(hull.faces.iter().filter(|face| face.alive).map(|face| face.corners).collect())
}

struct Hull<'a> {
    points: &'a [Vec3],
    faces: Vec<Face>,
    tolerance: f64,
}

impl Hull<'_> {
    fn add_face(&mut self, corners: [u32; 3]) -> usize {
        let [a, b, c] = corners.map(|i| self.points[i as usize]);
        let normal = (b - a).cross(&(c - a)).try_normalize(0.0).unwrap_or_else(Vec3::zeros);
        let offset = normal.dot(&((a + b + c) / 3.0));
        let face =
            Face { corners, neighbours: [usize::MAX; 3], normal, offset, outside: Vec::new(), alive: true };
        self.faces.push(face);
        self.faces.len() - 1
    }

    /// Finds the neighbours of the first four faces.
    fn join_all(&mut self) {
        let mut edges = BTreeMap::new();
        for (i, face) in self.faces.iter().enumerate() {
            for k in 0..3 {
                edges.insert((face.corners[k], face.corners[(k + 1) % 3]), i);
            }
        }
        for face in &mut self.faces {
            for k in 0..3 {
                if let Some(&other) = edges.get(&(face.corners[(k + 1) % 3], face.corners[k])) {
                    face.neighbours[k] = other;
                }
            }
        }
    }

    fn height(&self, face: usize, point: u32) -> f64 {
        let face = &self.faces[face];
        face.normal.dot(&self.points[point as usize]) - face.offset
    }

    /// Gives each point to the first of these faces that it is outside of.
    fn hand_out(&mut self, points: &[u32], faces: std::ops::Range<usize>) {
        for &p in points {
            let mut found = faces.clone().filter(|&face| self.faces[face].alive);
            if let Some(face) = found.find(|&face| self.height(face, p) > self.tolerance) {
                self.faces[face].outside.push(p);
            }
        }
    }

    /// Takes the farthest point of a face into the hull. False if rounding has torn the surface.
    fn grow(&mut self, start: usize) -> bool {
        let outside = &self.faces[start].outside;
        let height = |p: &u32| self.height(start, *p);
        let Some(&top) = outside.iter().max_by(|a, b| height(a).total_cmp(&height(b))) else { return true };
        // The faces that see the point, and the edges around them, in no order.
        let mut visible = vec![start];
        self.faces[start].alive = false;
        let mut rim: BTreeMap<u32, (u32, usize, usize)> = BTreeMap::new();
        let mut at = 0;
        while at < visible.len() {
            let face = visible[at];
            at += 1;
            for k in 0..3 {
                let other = self.faces[face].neighbours[k];
                if other == usize::MAX {
                    return false;
                }
                if !self.faces[other].alive {
                    continue;
                }
                if self.height(other, top) > self.tolerance {
                    self.faces[other].alive = false;
                    visible.push(other);
                }
            }
        }
        for &face in &visible {
            for k in 0..3 {
                let other = self.faces[face].neighbours[k];
                if self.faces[other].alive {
                    let (from, to) = (self.faces[face].corners[k], self.faces[face].corners[(k + 1) % 3]);
                    let Some(back) = self.faces[other].neighbours.iter().position(|&n| n == face) else {
                        return false;
                    };
                    if rim.insert(from, (to, other, back)).is_some() {
                        return false;
                    }
                }
            }
        }
        let Some((&begin, _)) = rim.iter().next() else { return false };
        let first = self.faces.len();
        let mut from = begin;
        for _ in 0..rim.len() {
            let Some(&(to, other, back)) = rim.get(&from) else { return false };
            let face = self.add_face([from, to, top]);
            self.faces[face].neighbours[0] = other;
            self.faces[other].neighbours[back] = face;
            from = to;
        }
        if from != begin {
            return false;
        }
        let count = self.faces.len() - first;
        for i in 0..count {
            self.faces[first + i].neighbours[1] = first + (i + 1) % count;
            self.faces[first + i].neighbours[2] = first + (i + count - 1) % count;
        }
        let mut orphans: Vec<u32> = Vec::new();
        for &face in &visible {
            orphans.append(&mut self.faces[face].outside);
        }
        orphans.retain(|&p| p != top);
        let all = first..self.faces.len();
        self.hand_out(&orphans, all);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::Random;

    #[test]
    fn every_point_lies_behind_every_face() {
        let mut random = Random::new(5);
        for round in 0..30 {
            let n = 4 + 20 * round;
            // On a sphere, in a ball, and on a grid, where many are in one plane.
            let points: Vec<Vec3> = (0..n)
                .map(|_| {
                    let p = Vec3::from_fn(|_, _| random.between(-1.0, 1.0));
                    match round % 3 {
                        0 => p.normalize(),
                        1 => p,
                        _ => p.map(|x| (2.0 * x).round()),
                    }
                })
                .collect();
            let Ok(hull) = convex_hull(&points) else {
                assert!(round < 3);
                continue;
            };
            for t in &hull {
                let [a, b, c] = t.map(|i| points[i as usize]);
                let n = (b - a).cross(&(c - a));
                for p in &points {
                    assert!((p - a).dot(&n) < 1e-9, "round {round}");
                }
            }
        }
    }

    #[test]
    fn flat_points_have_no_hull() {
        let points: Vec<Vec3> = (0..10).map(|i| Vec3::new(f64::from(i), f64::from(i * i), 0.0)).collect();
        assert!(convex_hull(&points).unwrap_err().contains("plane"));
        assert!(convex_hull(&points[..3]).unwrap_err().contains("four"));
        assert!(convex_hull(&[Vec3::zeros(); 8]).is_err());
    }
}
