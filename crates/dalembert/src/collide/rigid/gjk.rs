//! Directions of convex cores: by the nearest point of their difference to the origin (Gilbert, Johnson and Keerthi
//! 1988) when they are apart, by growing a polytope in the difference (van den Bergen 2001) when they overlap.
//!
//! Both work on D = A − B, of which only support points are known. What they return is a direction; `separate` makes it
//! exact and measures it.

use super::convex::Convex;
use crate::math::Vec3;

/// A point of the difference and the point of A it comes from.
#[derive(Debug, Clone, Copy, Default)]
struct Vertex {
    w: Vec3,
    a: Vec3,
}

/// The point of D farthest along −v.
fn vertex(A: &Convex, B: &Convex, v: &Vec3) -> Vertex {
    let a = A.support(&-v);
    Vertex { w: a - B.support(v), a }
}

/// What the search has found.
#[derive(Debug, Clone, Copy)]
pub(super) enum Found {
    /// The cores are apart; unit normal from B towards A, and the nearest points of both.
    Apart { n: Vec3, a: Vec3, b: Vec3 },
    /// They are farther apart than asked; a direction that shows it.
    Far { n: Vec3 },
    /// They touch or overlap; a unit normal along which shifting A parts them soonest.
    Overlap { n: Vec3 },
}

/// Memory of the search, kept between calls.
#[derive(Debug, Clone, Default)]
pub(super) struct Scratch {
    points: Vec<Vec3>,
    faces: Vec<Face>,
    rim: Vec<[u32; 2]>,
}

/// Finds the direction for two cores. Distances beyond `enough` need not be found exactly.
pub(super) fn search(A: &Convex, B: &Convex, enough: f64, scratch: &mut Scratch) -> Found {
    let size = A.size() + B.size();
    let mut v = A.center() - B.center();
    if !(v.norm_squared() > 0.0) {
        v = Vec3::x();
    }
    let mut simplex = [Vertex::default(); 4];
    let mut weights = [0.0; 4];
    let mut count = 0;
    let mut best = f64::INFINITY;
    for _ in 0..100 {
        let new = vertex(A, B, &v);
        let vv = v.norm_squared();
        let vw = v.dot(&new.w);
        if count > 0 && vw > 0.0 && vw * vw > vv * enough * enough && enough >= 0.0 {
            return Found::Far { n: v / vv.sqrt() };
        }
        let known = simplex[..count].iter().any(|p| p.w == new.w);
        if count > 0 && (known || vv - vw <= 1e-15 * vv) {
            break;
        }
        let before = (simplex, weights, count, v);
        simplex[count] = new;
        count += 1;
        (v, count) = nearest(&mut simplex, &mut weights, count);
        let now = v.norm_squared();
        if count == 4 || now <= (1e-9 * size).powi(2) {
            return Found::Overlap { n: expand(A, B, &simplex[..count], size, scratch) };
        }
        if !(now < best) {
            // Rounding: no nearer than before.
            (simplex, weights, count, v) = before;
            break;
        }
        best = now;
    }
    let length = v.norm();
    if !(length > 1e-9 * size) {
        return Found::Overlap { n: expand(A, B, &simplex[..count], size, scratch) };
    }
    let mut a = Vec3::zeros();
    for k in 0..count {
        a += weights[k] * simplex[k].a;
    }
    Found::Apart { n: v / length, a, b: a - v }
}

/// The point of the simplex nearest to the origin; keeps the corners that carry it, with their weights. Four corners are
/// kept only if the origin is inside.
fn nearest(s: &mut [Vertex; 4], weights: &mut [f64; 4], count: usize) -> (Vec3, usize) {
    let all = *s;
    let mut best = (f64::INFINITY, [0usize; 3], [0.0; 3], 0);
    let mut consider = |corners: &[usize]| {
        let (w, n) = match corners.len() {
            1 => ([1.0, 0.0, 0.0], 1),
            2 => on_segment(&all[corners[0]].w, &all[corners[1]].w),
            _ => on_triangle(&all[corners[0]].w, &all[corners[1]].w, &all[corners[2]].w),
        };
        let mut p = Vec3::zeros();
        let mut kept = ([0usize; 3], [0.0; 3], 0);
        for (k, &c) in corners.iter().enumerate() {
            p += w[k] * all[c].w;
            if w[k] > 0.0 && kept.2 < n {
                kept.0[kept.2] = c;
                kept.1[kept.2] = w[k];
                kept.2 += 1;
            }
        }
        let far = p.norm_squared();
        if far < best.0 {
            best = (far, kept.0, kept.1, kept.2);
        }
    };
    match count {
        1 => consider(&[0]),
        2 => consider(&[0, 1]),
        3 => consider(&[0, 1, 2]),
        _ => {
            let [a, b, c, d] = all.map(|v| v.w);
            let det = |p: &Vec3, q: &Vec3, r: &Vec3| p.dot(&q.cross(r));
            let volume = det(&(b - a), &(c - a), &(d - a));
            // Signed volumes with the origin in place of each corner.
            let parts = [det(&b, &c, &d), -det(&a, &c, &d), det(&a, &b, &d), -det(&a, &b, &c)];
            let size = [a, b, c, d].iter().fold(0.0, |m: f64, p| m.max(p.amax()));
            let solid = volume.abs() > 1e-14 * size.powi(3);
            if solid && parts.iter().all(|p| p * volume >= 0.0) {
                return (Vec3::zeros(), 4);
            }
            for face in [[0, 1, 2], [0, 1, 3], [0, 2, 3], [1, 2, 3]] {
                consider(&face);
            }
        }
    }
    let (_, corners, w, n) = best;
    let mut p = Vec3::zeros();
    for k in 0..n {
        s[k] = all[corners[k]];
        weights[k] = w[k];
        p += w[k] * s[k].w;
    }
    (p, n)
}

/// Weights of the point of a segment nearest to the origin, and how many are not zero.
fn on_segment(a: &Vec3, b: &Vec3) -> ([f64; 3], usize) {
    let e = b - a;
    let (t, ee) = (-a.dot(&e), e.norm_squared());
    if !(t > 0.0) {
        ([1.0, 0.0, 0.0], 1)
    } else if t >= ee {
        ([0.0, 1.0, 0.0], 1)
    } else {
        ([1.0 - t / ee, t / ee, 0.0], 2)
    }
}

/// The same of a triangle: which of its corners, edges or inside is nearest (Ericson 2005, 5.1.5).
fn on_triangle(a: &Vec3, b: &Vec3, c: &Vec3) -> ([f64; 3], usize) {
    let (ab, ac) = (b - a, c - a);
    let (d1, d2) = (-ab.dot(a), -ac.dot(a));
    if d1 <= 0.0 && d2 <= 0.0 {
        return ([1.0, 0.0, 0.0], 1);
    }
    let (d3, d4) = (-ab.dot(b), -ac.dot(b));
    if d3 >= 0.0 && d4 <= d3 {
        return ([0.0, 1.0, 0.0], 1);
    }
    let (d5, d6) = (-ab.dot(c), -ac.dot(c));
    if d6 >= 0.0 && d5 <= d6 {
        return ([0.0, 0.0, 1.0], 1);
    }
    let vc = d1 * d4 - d3 * d2;
    if vc <= 0.0 && d1 >= 0.0 && d3 <= 0.0 && d1 > d3 {
        let t = d1 / (d1 - d3);
        return ([1.0 - t, t, 0.0], 2);
    }
    let vb = d5 * d2 - d1 * d6;
    if vb <= 0.0 && d2 >= 0.0 && d6 <= 0.0 && d2 > d6 {
        let t = d2 / (d2 - d6);
        return ([1.0 - t, 0.0, t], 2);
    }
    let va = d3 * d6 - d5 * d4;
    if va <= 0.0 && d4 - d3 >= 0.0 && d5 - d6 >= 0.0 && d4 - d3 + d5 - d6 > 0.0 {
        let t = (d4 - d3) / (d4 - d3 + d5 - d6);
        return ([0.0, 1.0 - t, t], 2);
    }
    let sum = va + vb + vc;
    if !(sum > 0.0) {
        // No area: the best of the three edges.
        let sides = [(on_segment(a, b), [0, 1]), (on_segment(a, c), [0, 2]), (on_segment(b, c), [1, 2])];
        let mut best = (f64::INFINITY, [1.0, 0.0, 0.0], 1);
        for ((w, n), [i, j]) in sides {
            let mut full = [0.0; 3];
            full[i] = w[0];
            full[j] = w[1];
            let far = (full[0] * a + full[1] * b + full[2] * c).norm_squared();
            if far < best.0 {
                best = (far, full, n);
            }
        }
        return (best.1, best.2);
    }
    ([va / sum, vb / sum, vc / sum], 3)
}

#[derive(Debug, Clone, Copy)]
struct Face {
    corners: [u32; 3],
    /// Outward, of length 1.
    normal: Vec3,
    /// Distance of its plane from the origin \[m\].
    offset: f64,
    alive: bool,
}

/// Most points of the growing polytope.
const GROW: usize = 80;

/// Grows a polytope inside of D around the origin until its nearest face lies on the surface of D; returns minus the
/// normal of that face. If D is flat, its normal.
fn expand(A: &Convex, B: &Convex, simplex: &[Vertex], size: f64, scratch: &mut Scratch) -> Vec3 {
    let size = size.max(1e-300);
    let Scratch { points, faces, rim } = scratch;
    points.clear();
    points.extend(simplex.iter().map(|v| v.w));
    // Numbers that are not finite have no simplex.
    if points.is_empty() {
        return Vec3::z();
    }
    if let Some(flat) = fill(A, B, points, size) {
        return flat;
    }
    let middle = (points[0] + points[1] + points[2] + points[3]) / 4.0;
    faces.clear();
    for corners in [[0u32, 1, 2], [0, 3, 1], [1, 3, 2], [2, 3, 0]] {
        faces.push(face(points, corners));
    }
    // The four faces run the same way around: all outwards or all inwards.
    if faces[0].normal.dot(&(points[0] - middle)) < 0.0 {
        for f in faces.iter_mut() {
            *f = face(points, [f.corners[0], f.corners[2], f.corners[1]]);
        }
    }
    // The support along the normal of a face bounds the depth: the least of them is kept, whatever rounding does to
    // thin faces later. Curved shapes need no more than a good start.
    let mut answer = (f64::INFINITY, Vec3::z());
    let precise = if A.is_flat() && B.is_flat() { 1e-12 } else { 1e-7 } * size;
    while points.len() < GROW {
        let mut best: Option<(usize, f64)> = None;
        for (i, f) in faces.iter().enumerate() {
            if f.alive && best.is_none_or(|(_, least)| f.offset < least) {
                best = Some((i, f.offset));
            }
        }
        let Some((nearest, offset)) = best else { break };
        let m = faces[nearest].normal;
        let w = vertex(A, B, &-m).w;
        let depth = m.dot(&w);
        if depth < answer.0 {
            answer = (depth, -m);
        }
        if depth - offset <= precise || points.contains(&w) {
            break;
        }
        let new = points.len() as u32;
        points.push(w);
        rim.clear();
        for f in faces.iter_mut() {
            if f.alive && f.normal.dot(&w) - f.offset > 1e-14 * size {
                f.alive = false;
                for k in 0..3 {
                    let edge = [f.corners[k], f.corners[(k + 1) % 3]];
                    // An edge of two removed faces is not on the rim.
                    if let Some(i) = rim.iter().position(|e| e[0] == edge[1] && e[1] == edge[0]) {
                        rim.swap_remove(i);
                    } else {
                        rim.push(edge);
                    }
                }
            }
        }
        if rim.is_empty() {
            break;
        }
        faces.extend(rim.iter().map(|&[i, j]| face(points, [i, j, new])));
    }
    answer.1
}

fn face(points: &[Vec3], corners: [u32; 3]) -> Face {
    let [a, b, c] = corners.map(|i| points[i as usize]);
    match (b - a).cross(&(c - a)).try_normalize(1e-300) {
        Some(normal) => Face { corners, normal, offset: normal.dot(&a), alive: true },
        // A sliver is never the nearest.
        None => Face { corners, normal: Vec3::zeros(), offset: f64::INFINITY, alive: true },
    }
}

/// Adds points until there are four that span a volume; the normal of D if they cannot.
fn fill(A: &Convex, B: &Convex, points: &mut Vec<Vec3>, size: f64) -> Option<Vec3> {
    let tolerance = 1e-10 * size;
    points.truncate(4);
    if points.len() == 4 {
        let [a, b, c, d] = [points[0], points[1], points[2], points[3]];
        let n = (b - a).cross(&(c - a));
        if (d - a).dot(&n).abs() > tolerance * n.norm() && n.norm() > tolerance * size {
            return None;
        }
        points.truncate(1);
    }
    let first = points[0];
    let along = |d: Vec3| vertex(A, B, &-d).w;
    let axes = [Vec3::x(), -Vec3::x(), Vec3::y(), -Vec3::y(), Vec3::z(), -Vec3::z()];
    points.truncate(1);
    let far = axes.map(along).into_iter().max_by(|p, q| (p - first).norm().total_cmp(&(q - first).norm()));
    let second = far.unwrap_or(first);
    if (second - first).norm() <= tolerance {
        return Some(Vec3::z());
    }
    points.push(second);
    let e = (second - first).normalize();
    let side = e.cross(&Vec3::ith(e.iamin(), 1.0)).normalize();
    let other = e.cross(&side);
    let off = |p: &Vec3| (p - first).cross(&e).norm();
    let around = [side, -side, other, -other].map(along);
    let third = around.into_iter().max_by(|p, q| off(p).total_cmp(&off(q))).unwrap_or(first);
    if off(&third) <= tolerance {
        return Some(side);
    }
    points.push(third);
    let n = (second - first).cross(&(third - first)).normalize();
    let height = |p: &Vec3| (p - first).dot(&n).abs();
    let fourth =
        [n, -n].map(along).into_iter().max_by(|p, q| height(p).total_cmp(&height(q))).unwrap_or(first);
    if height(&fourth) <= tolerance {
        return Some(n);
    }
    points.push(fourth);
    None
}
