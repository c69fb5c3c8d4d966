//! Where a point lies in a mesh: which element, with which weights of its corners.
//!
//! In a tetrahedron the weights w with $\sum w_k x_k = p$, $\sum w_k = 1$ solve a linear system. In a hexahedron
//! $p = x(\xi)$ with trilinear x is solved by Newton's method, ξ kept in the reference cube; what is left is made up
//! to first order, $w = N(\xi) + \nabla N\,J^{-1}(p - x(\xi))$, so that $\sum w_k x_k = p$ and $\sum w_k = 1$ hold
//! outside as well. On a surface the weights are those of the nearest point. Elements are found through a tree of
//! boxes, in about log n steps.

use super::{
    HEX_FACES, HexMesh, SurfaceMesh, TET_FACES, TetMesh, corners, hex_jacobian, trilinear_slopes,
    trilinear_weights,
};
use crate::math::{Mat3, Vec3};

/// A point seen from its element.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Place<const N: usize> {
    /// Number of the element.
    pub element: u32,
    /// Weights of its corners; they sum to 1. Some are negative where the point lies outside a solid.
    pub weights: [f64; N],
    /// Distance from the point to the element \[m\]; 0 inside.
    pub distance: f64,
}

/// Finds the tetrahedron of a point.
pub struct TetLocator<'a> {
    mesh: &'a TetMesh,
    tree: Tree,
}

impl<'a> TetLocator<'a> {
    /// Sorts the tetrahedra into a tree.
    pub fn new(mesh: &'a TetMesh) -> Self {
        Self { mesh, tree: Tree::new(mesh.tets.iter().map(|t| around(&corners(&mesh.points, t)))) }
    }

    /// The tetrahedron that contains `p` \[m\], or else the nearest one; `None` if there is none with a volume.
    pub fn locate(&self, p: &Vec3) -> Option<Place<4>> {
        let (element, distance) = self.tree.nearest(p, |t, _| {
            let x = corners(&self.mesh.points, &self.mesh.tets[t as usize]);
            match tet_weights(&x, p) {
                Some(w) if w.iter().all(|w| *w >= -ROUNDING) => 0.0,
                Some(_) => surface_distance_squared(TET_FACES.map(|f| f.map(|k| x[k])), p),
                None => f64::INFINITY,
            }
        })?;
        let weights = tet_weights(&corners(&self.mesh.points, &self.mesh.tets[element as usize]), p)?;
        Some(Place { element, weights, distance })
    }
}

/// Finds the hexahedron of a point.
pub struct HexLocator<'a> {
    mesh: &'a HexMesh,
    tree: Tree,
}

impl<'a> HexLocator<'a> {
    /// Sorts the hexahedra into a tree.
    pub fn new(mesh: &'a HexMesh) -> Self {
        Self { mesh, tree: Tree::new(mesh.hexes.iter().map(|h| around(&corners(&mesh.points, h)))) }
    }

    /// The hexahedron that contains `p` \[m\], or else the nearest one; `None` if there is none with a volume.
    pub fn locate(&self, p: &Vec3) -> Option<Place<8>> {
        let (element, distance) = self.tree.nearest(p, |h, near| {
            let x = corners(&self.mesh.points, &self.mesh.hexes[h as usize]);
            // Outside its box a point is outside the hexahedron: no need to invert the map.
            let inside = match near {
                true => hex_weights(&x, p).map(|(_, inside)| inside),
                false => hex_jacobian(&x, &Vec3::zeros()).try_inverse().map(|_| false),
            };
            match inside {
                Some(true) => 0.0,
                Some(false) => {
                    let halves = HEX_FACES.map(|f| {
                        let [a, b, c, d] = f.map(|k| x[k]);
                        surface_distance_squared([[a, b, c], [a, c, d]], p)
                    });
                    halves.into_iter().fold(f64::INFINITY, f64::min)
                }
                None => f64::INFINITY,
            }
        })?;
        let (weights, _) = hex_weights(&corners(&self.mesh.points, &self.mesh.hexes[element as usize]), p)?;
        Some(Place { element, weights, distance })
    }
}

/// Finds the nearest point on a surface.
pub struct SurfaceLocator<'a> {
    mesh: &'a SurfaceMesh,
    tree: Tree,
}

impl<'a> SurfaceLocator<'a> {
    /// Sorts the triangles into a tree.
    pub fn new(mesh: &'a SurfaceMesh) -> Self {
        Self { mesh, tree: Tree::new(mesh.triangles.iter().map(|t| around(&corners(&mesh.points, t)))) }
    }

    /// The point of the surface nearest to `p` \[m\]; `None` if there are no triangles.
    pub fn locate(&self, p: &Vec3) -> Option<Place<3>> {
        let x = |t: u32| corners(&self.mesh.points, &self.mesh.triangles[t as usize]);
        let distance_squared = |t: u32, _: bool| surface_distance_squared([x(t)], p);
        let (element, distance) = self.tree.nearest(p, distance_squared)?;
        Some(Place { element, weights: nearest_on_triangle(&x(element), p), distance })
    }
}

/// How far below zero a weight may fall by rounding and still count as inside.
const ROUNDING: f64 = 1e-12;

/// Weights of the corners of a tetrahedron at `p`; `None` if it has no volume.
pub fn tet_weights(x: &[Vec3; 4], p: &Vec3) -> Option<[f64; 4]> {
    let edges = Mat3::from_columns(&[x[1] - x[0], x[2] - x[0], x[3] - x[0]]);
    let w = edges.try_inverse()? * (p - x[0]);
    let weights = [1.0 - w.x - w.y - w.z, w.x, w.y, w.z];
    weights.iter().all(|w| w.is_finite()).then_some(weights)
}

/// Newton steps before a point counts as outside.
const NEWTON_STEPS: usize = 30;

/// Weights of the corners of a hexahedron at `p`, and whether it lies inside; `None` if the map has no inverse.
pub fn hex_weights(x: &[Vec3; 8], p: &Vec3) -> Option<([f64; 8], bool)> {
    let mut xi = Vec3::zeros();
    let mut inside = false;
    let at = |xi: &Vec3| x.iter().zip(trilinear_weights(xi)).map(|(x, w)| x * w).sum::<Vec3>();
    for _ in 0..NEWTON_STEPS {
        let step = hex_jacobian(x, &xi).try_inverse()? * (p - at(&xi));
        let next = (xi + step).map(|c| c.clamp(-1.0, 1.0));
        let moved = (next - xi).amax();
        xi = next;
        if step.amax() < 1e-10 {
            inside = true;
            break;
        }
        if moved < 1e-10 {
            break; // pressed against the side of the cube
        }
    }
    let rest = hex_jacobian(x, &xi).try_inverse()? * (p - at(&xi));
    let (values, slopes) = (trilinear_weights(&xi), trilinear_slopes(&xi));
    let weights: [f64; 8] = std::array::from_fn(|k| values[k] + slopes[k].dot(&rest));
    weights.iter().all(|w| w.is_finite()).then_some((weights, inside))
}

/// Weights of the corners of a triangle at its point nearest to `p` (Ericson 2005, section 5.1.5).
pub fn nearest_on_triangle(x: &[Vec3; 3], p: &Vec3) -> [f64; 3] {
    let [a, b, c] = *x;
    let (ab, ac) = (b - a, c - a);
    // Along an edge: 0 at its start, 1 at its end.
    let along = |from: f64, to: f64| if from > 0.0 { (from / (from - to)).clamp(0.0, 1.0) } else { 0.0 };
    let (d1, d2) = (ab.dot(&(p - a)), ac.dot(&(p - a)));
    if d1 <= 0.0 && d2 <= 0.0 {
        return [1.0, 0.0, 0.0];
    }
    let (d3, d4) = (ab.dot(&(p - b)), ac.dot(&(p - b)));
    if d3 >= 0.0 && d4 <= d3 {
        return [0.0, 1.0, 0.0];
    }
    let vc = d1 * d4 - d3 * d2;
    if vc <= 0.0 && d1 >= 0.0 && d3 <= 0.0 {
        let t = along(d1, d3);
        return [1.0 - t, t, 0.0];
    }
    let (d5, d6) = (ab.dot(&(p - c)), ac.dot(&(p - c)));
    if d6 >= 0.0 && d5 <= d6 {
        return [0.0, 0.0, 1.0];
    }
    let vb = d5 * d2 - d1 * d6;
    if vb <= 0.0 && d2 >= 0.0 && d6 <= 0.0 {
        let t = along(d2, d6);
        return [1.0 - t, 0.0, t];
    }
    let va = d3 * d6 - d5 * d4;
    if va <= 0.0 && d4 - d3 >= 0.0 && d5 - d6 >= 0.0 {
        let t = along(d4 - d3, d6 - d5);
        return [0.0, 1.0 - t, t];
    }
    let sum = va + vb + vc;
    let (v, w) = (vb / sum, vc / sum);
    [1.0 - v - w, v, w]
}

/// Squared distance from `p` to the nearest of some triangles \[m²\].
fn surface_distance_squared<const N: usize>(triangles: [[Vec3; 3]; N], p: &Vec3) -> f64 {
    let distance = |x: &[Vec3; 3]| {
        let w = nearest_on_triangle(x, p);
        (x[0] * w[0] + x[1] * w[1] + x[2] * w[2] - p).norm_squared()
    };
    triangles.iter().map(distance).fold(f64::INFINITY, f64::min)
}

type Box3 = (Vec3, Vec3);

fn around(x: &[Vec3]) -> Box3 {
    let start = (Vec3::repeat(f64::INFINITY), Vec3::repeat(f64::NEG_INFINITY));
    x.iter().fold(start, |(low, high), p| (low.inf(p), high.sup(p)))
}

fn box_distance_squared((low, high): &Box3, p: &Vec3) -> f64 {
    let outside = (low - p).sup(&(p - high)).sup(&Vec3::zeros());
    outside.norm_squared()
}

/// Elements per leaf.
const LEAF: usize = 4;

/// A tree of boxes: each node is halved at the median of its widest direction.
struct Tree {
    nodes: Vec<Node>,
    /// Elements in the order of leaves.
    order: Vec<u32>,
    /// Boxes of the elements, by their numbers.
    boxes: Vec<Box3>,
}

struct Node {
    bounds: Box3,
    /// Elements `order[first..first + count]`.
    first: u32,
    count: u32,
    /// The second child; the first one stands right behind the node. 0 for a leaf.
    second: u32,
}

impl Tree {
    fn new(boxes: impl Iterator<Item = Box3>) -> Self {
        let boxes: Vec<Box3> = boxes.collect();
        let order = (0..boxes.len() as u32).collect();
        let mut tree = Self { nodes: Vec::new(), order, boxes: Vec::new() };
        if !boxes.is_empty() {
            let middles: Vec<Vec3> = boxes.iter().map(|(low, high)| low + high).collect();
            tree.split(&boxes, &middles, 0, boxes.len());
        }
        tree.boxes = boxes;
        tree
    }

    fn split(&mut self, boxes: &[Box3], middles: &[Vec3], first: usize, count: usize) {
        let part = &mut self.order[first..first + count];
        let join = |a: Box3, b: &Box3| (a.0.inf(&b.0), a.1.sup(&b.1));
        let bounds = part.iter().fold(around(&[]), |all, &i| join(all, &boxes[i as usize]));
        let node = self.nodes.len();
        self.nodes.push(Node { bounds, first: first as u32, count: count as u32, second: 0 });
        if count <= LEAF {
            return;
        }
        let spread = part.iter().fold(around(&[]), |all, &i| {
            let m = middles[i as usize];
            join(all, &(m, m))
        });
        let axis = (spread.1 - spread.0).imax();
        let half = count / 2;
        // Equal middles are ordered by their number, so that the tree depends on the mesh alone.
        part.select_nth_unstable_by(half, |&a, &b| {
            middles[a as usize][axis].total_cmp(&middles[b as usize][axis]).then(a.cmp(&b))
        });
        self.split(boxes, middles, first, half);
        self.nodes[node].second = self.nodes.len() as u32;
        self.split(boxes, middles, first + half, count - half);
    }

    /// The element with the least squared distance and the distance itself; `None` if no distance is finite.
    /// `distance_squared` takes an element and whether `p` lies in its box.
    fn nearest(&self, p: &Vec3, distance_squared: impl Fn(u32, bool) -> f64) -> Option<(u32, f64)> {
        let mut best = (u32::MAX, f64::INFINITY);
        let root = self.nodes.first()?;
        let mut open = vec![(box_distance_squared(&root.bounds, p), 0u32)];
        while let Some((bound, number)) = open.pop() {
            if !(bound < best.1) {
                continue;
            }
            let node = &self.nodes[number as usize];
            if node.second == 0 {
                for &i in &self.order[node.first as usize..(node.first + node.count) as usize] {
                    let least = box_distance_squared(&self.boxes[i as usize], p);
                    if !(least < best.1) {
                        continue;
                    }
                    let d = distance_squared(i, least == 0.0);
                    if d < best.1 {
                        best = (i, d);
                    }
                }
                if best.1 == 0.0 {
                    break;
                }
                continue;
            }
            let child = |k: u32| (box_distance_squared(&self.nodes[k as usize].bounds, p), k);
            let (a, b) = (child(number + 1), child(node.second));
            // The nearer child is looked at first.
            let (far, near) = if b.0 < a.0 { (a, b) } else { (b, a) };
            open.extend([far, near]);
        }
        best.1.is_finite().then(|| (best.0, best.1.sqrt()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::Random;

    fn random_point(random: &mut Random, size: f64) -> Vec3 {
        Vec3::from_fn(|_, _| random.between(-size, size))
    }

    #[test]
    fn a_point_inside_lies_in_one_element_with_weights_between_0_and_1() {
        let hexes = HexMesh::ball(1.0, 4).unwrap();
        let tets = hexes.to_tets();
        let (in_tets, in_hexes) = (TetLocator::new(&tets), HexLocator::new(&hexes));
        let mut random = Random::new(1);
        for _ in 0..2000 {
            let p = random_point(&mut random, 0.5);
            let (t, h) = (in_tets.locate(&p).unwrap(), in_hexes.locate(&p).unwrap());
            assert_eq!((t.distance, h.distance), (0.0, 0.0));
            assert!(t.weights.iter().all(|w| (-1e-12..=1.0 + 1e-12).contains(w)));
            assert!(h.weights.iter().all(|w| (-1e-9..=1.0 + 1e-9).contains(w)), "{:?}", h.weights);
        }
    }

    #[test]
    fn weights_sum_to_1_and_give_the_point_back_also_outside() {
        let hexes = HexMesh::torus(1.0, 0.3, 2, 9).unwrap();
        let tets = hexes.to_tets();
        let (in_tets, in_hexes) = (TetLocator::new(&tets), HexLocator::new(&hexes));
        let mut random = Random::new(2);
        for _ in 0..2000 {
            let p = random_point(&mut random, 3.0);
            let (t, h) = (in_tets.locate(&p).unwrap(), in_hexes.locate(&p).unwrap());
            let t_back: Vec3 =
                (0..4).map(|k| t.weights[k] * tets.points[tets.tets[t.element as usize][k] as usize]).sum();
            let h_back: Vec3 = (0..8)
                .map(|k| h.weights[k] * hexes.points[hexes.hexes[h.element as usize][k] as usize])
                .sum();
            let size = |w: &[f64]| w.iter().map(|w| w.abs()).fold(1.0, f64::max);
            assert!((t_back - p).norm() < 1e-14 * 8.0 * size(&t.weights), "{}", (t_back - p).norm());
            assert!((h_back - p).norm() < 1e-14 * 16.0 * size(&h.weights), "{}", (h_back - p).norm());
            assert!((t.weights.iter().sum::<f64>() - 1.0).abs() < 1e-14 * size(&t.weights));
            assert!((h.weights.iter().sum::<f64>() - 1.0).abs() < 1e-14 * size(&h.weights));
        }
    }

    #[test]
    fn the_tree_finds_what_a_search_through_all_finds() {
        let tets = TetMesh::ball(1.0, 3).unwrap();
        let surface = tets.boundary().surface;
        let (volume, skin) = (TetLocator::new(&tets), SurfaceLocator::new(&surface));
        let mut random = Random::new(3);
        for _ in 0..300 {
            let p = random_point(&mut random, 1.5);
            let place = skin.locate(&p).unwrap();
            let all =
                surface.triangles.iter().map(|t| surface_distance_squared([corners(&surface.points, t)], &p));
            let least = all.fold(f64::INFINITY, f64::min).sqrt();
            assert_eq!(place.distance, least);
            // Nothing on the way along the triangle's edges is nearer.
            let x = corners(&surface.points, &surface.triangles[place.element as usize]);
            let at = |w: [f64; 3]| (x[0] * w[0] + x[1] * w[1] + x[2] * w[2] - p).norm();
            for i in 0..=20 {
                for j in 0..=20 - i {
                    let w = [i, j, 20 - i - j].map(|n| f64::from(n) / 20.0);
                    assert!(at(w) >= place.distance - 1e-14);
                }
            }
            // From outside, the solid is as far as its skin.
            let inside = volume.locate(&p).unwrap();
            let wanted = if inside.distance > 0.0 { least } else { 0.0 };
            assert!((inside.distance - wanted).abs() < 1e-14);
        }
    }

    #[test]
    fn nothing_to_find_is_said() {
        let flat = TetMesh {
            points: vec![Vec3::x(), Vec3::y(), Vec3::zeros(), Vec3::x()],
            tets: vec![[0, 1, 2, 3]],
        };
        assert_eq!(TetLocator::new(&flat).locate(&Vec3::zeros()), None);
        assert_eq!(TetLocator::new(&TetMesh::default()).locate(&Vec3::zeros()), None);
        let mesh = TetMesh::block(Vec3::repeat(1.0), [1, 1, 1]).unwrap();
        assert_eq!(TetLocator::new(&mesh).locate(&Vec3::repeat(f64::NAN)), None);
    }
}
