//! Volume, centre and inertia of meshes by the four rules of MJCF.
//!
//! With apex o, each triangle spans a pyramid of signed volume V. `exact` sums them as they are, which asks for a
//! closed, well oriented surface. `convex` does so with the convex hull. `legacy` takes |V|, so that hollows count
//! twice: with o the centroid of the surface for the centre of mass, and o the centre of mass for volume and inertia.
//! `shell` puts the mass on the surface.

use dalembert::math::{Mat3, Vec3, outer};
use dalembert::mesh::convex_hull;

use super::weigh::Extent;

/// How a mesh weighs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum MeshInertia {
    Convex,
    Exact,
    #[default]
    Legacy,
    Shell,
}

impl MeshInertia {
    /// The names, in MJCF.
    pub(super) const NAMES: [(&'static str, Self); 4] =
        [("convex", Self::Convex), ("exact", Self::Exact), ("legacy", Self::Legacy), ("shell", Self::Shell)];
}

/// Size, centre and inertia of a mesh; the error says why it has none.
pub(super) fn extent(vertices: &[Vec3], triangles: &[[u32; 3]], rule: MeshInertia) -> Result<Extent, String> {
    let hull;
    let triangles = if rule == MeshInertia::Convex {
        hull = convex_hull(vertices)?;
        &hull
    } else {
        triangles
    };
    let corners = |t: &[u32; 3]| t.map(|i| vertices[i as usize]);
    let area_of = |[a, b, c]: &[Vec3; 3]| 0.5 * (b - a).cross(&(c - a)).norm();
    let (mut area, mut middle) = (0.0, Vec3::zeros());
    for t in triangles {
        let t = corners(t);
        let one = area_of(&t);
        area += one;
        middle += one * (t[0] + t[1] + t[2]) / 3.0;
    }
    if !(area > 1e-15 && area.is_finite()) {
        return Err(format!("its surface is {area} m²"));
    }
    middle /= area;
    let size_of = |[a, b, c]: &[Vec3; 3], apex: &Vec3| {
        let volume = (a - apex).dot(&(b - apex).cross(&(c - apex))) / 6.0;
        match rule {
            MeshInertia::Legacy => volume.abs(),
            MeshInertia::Exact | MeshInertia::Convex => volume,
            MeshInertia::Shell => area_of(&[*a, *b, *c]),
        }
    };
    let shell = rule == MeshInertia::Shell;
    let (mut size, mut center) = (0.0, Vec3::zeros());
    for t in triangles {
        let t = corners(t);
        let one = size_of(&t, &middle);
        size += one;
        let third = (t[0] + t[1] + t[2]) / 3.0;
        center += one * if shell { third } else { 0.75 * third + 0.25 * middle };
    }
    if !(size > 1e-15 && size.is_finite()) {
        return Err(format!("its volume is {size} m³"));
    }
    center /= size;
    let (mut size, mut second) = (0.0, Mat3::zeros());
    for t in triangles {
        let t = corners(t);
        let one = size_of(&t, &center);
        size += one;
        let [a, b, c] = t.map(|p| p - center);
        let sum = a + b + c;
        let squares = outer(&a, &a) + outer(&b, &b) + outer(&c, &c) + outer(&sum, &sum);
        second += one / if shell { 12.0 } else { 20.0 } * squares;
    }
    second /= size;
    Ok(Extent { size, center, inertia: Mat3::from_diagonal_element(second.trace()) - second })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::robot::weigh;
    use dalembert::bodies::articulated::description::GeomShape;

    /// A box with its centre at `at`.
    fn block(half: Vec3, at: Vec3) -> (Vec<Vec3>, Vec<[u32; 3]>) {
        let sign = |bit: usize| if bit == 0 { -1.0 } else { 1.0 };
        let corner = |i: usize| Vec3::new(sign(i & 1), sign(i & 2), sign(i & 4)).component_mul(&half) + at;
        let vertices: Vec<Vec3> = (0..8).map(corner).collect();
        (vertices.clone(), convex_hull(&vertices).unwrap())
    }

    #[test]
    fn a_box_of_triangles_weighs_what_a_box_weighs() {
        let (half, at) = (Vec3::new(0.1, 0.2, 0.4), Vec3::new(1.0, -2.0, 0.5));
        let (vertices, triangles) = block(half, at);
        for rule in [MeshInertia::Convex, MeshInertia::Exact, MeshInertia::Legacy, MeshInertia::Shell] {
            let mesh = extent(&vertices, &triangles, rule).unwrap();
            let shape = weigh::extent(&GeomShape::Box { half }, rule == MeshInertia::Shell).unwrap();
            assert!((mesh.size - shape.size).abs() < 1e-12 * shape.size, "{rule:?}");
            assert!((mesh.center - at).norm() < 1e-12);
            assert!((mesh.inertia - shape.inertia).norm() < 1e-12, "{rule:?}");
        }
    }

    #[test]
    fn hollows_count_twice_by_the_old_rule_only() {
        // Two boxes side by side with a gap: the hull fills the gap.
        let (mut vertices, mut triangles) = block(Vec3::repeat(0.5), Vec3::new(-1.0, 0.0, 0.0));
        let (more, also) = block(Vec3::repeat(0.5), Vec3::new(1.0, 0.0, 0.0));
        triangles.extend(also.iter().map(|t| t.map(|i| i + 8)));
        vertices.extend(more);
        let size = |rule| extent(&vertices, &triangles, rule).unwrap().size;
        assert!((size(MeshInertia::Exact) - 2.0).abs() < 1e-12);
        assert!((size(MeshInertia::Convex) - 3.0).abs() < 1e-12);
        assert!(size(MeshInertia::Legacy) > 2.1);
        assert!((size(MeshInertia::Shell) - 12.0).abs() < 1e-12);
    }
}
