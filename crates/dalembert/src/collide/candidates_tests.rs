use super::ccd::CcdOptions;
use super::distance;
use super::surface::{BodyGeometry, Groups, HalfPlane, VertexMap};
use super::{Broad, Candidates, Surface, TooMany};
use crate::math::{Random, Vec3};

/// Two affine tetrahedra, a soft strip, a rod, a cloud of thick points, a fixed triangle and a floor.
fn mixed(random: &mut Random) -> (Surface, Vec<Vec3>) {
    let mut surface = Surface::default();
    let (mut x, mut block) = (Vec::new(), 0);
    let mut some = |n: usize, random: &mut Random| {
        let center = Vec3::from_fn(|_, _| random.between(-0.6, 0.6));
        x.extend((0..n).map(|_| center + Vec3::from_fn(|_, _| random.between(-0.5, 0.5))));
    };
    let tet = [[0, 2, 1], [0, 1, 3], [1, 2, 3], [2, 0, 3]];
    for _ in 0..2 {
        let maps: Vec<VertexMap> = (0..4).map(|_| VertexMap::affine(block, &Vec3::x())).collect();
        surface.add(&BodyGeometry { maps: &maps, triangles: &tet, ..Default::default() }).unwrap();
        some(4, random);
        block += 4;
    }
    let strip: Vec<[u32; 3]> = (0..6).map(|i| [i, i + 1, i + 2]).collect();
    let rod: Vec<[u32; 2]> = (0..5).map(|i| [i, i + 1]).collect();
    for (triangles, segments, n, radius) in
        [(&strip[..], &[][..], 8, 0.0), (&[], &rod[..], 6, 0.01), (&[], &[], 10, 0.05)]
    {
        let maps: Vec<VertexMap> = (0..n).map(|i| VertexMap::point(block + i)).collect();
        let body = BodyGeometry {
            maps: &maps,
            triangles,
            segments,
            radius,
            self_contact: true,
            group: 1,
            flat_edges: &[],
        };
        surface.add(&body).unwrap();
        some(n as usize, random);
        block += n;
    }
    let fixed = [VertexMap::PRESCRIBED; 3];
    let floor = BodyGeometry { maps: &fixed, triangles: &[[0, 1, 2]], group: 2, ..Default::default() };
    surface.add(&floor).unwrap();
    some(3, random);
    surface.half_planes.push(HalfPlane { normal: Vec3::z(), offset: -0.5, group: 0 });
    surface.groups = Groups::new(3);
    surface.groups.set(1, 2, false);
    (surface, x)
}

/// Every pair of primitives that may touch, by its distance less the radii, and whether the list has it.
fn check_all(surface: &Surface, x: &[Vec3], reach: f64, found: &Candidates) -> usize {
    let mut near = 0;
    let mut check = |list: &Vec<[u32; 2]>, pair: [u32; 2], gap: f64, allowed: bool| {
        let has = list.binary_search(&pair).is_ok();
        assert!(allowed || !has, "{pair:?} must not touch");
        near += usize::from(allowed && gap < reach);
        assert!(has || !allowed || gap >= reach, "{pair:?} is missing: gap {gap}");
    };
    let at = |i: u32| x[i as usize];
    let body = |i: u32| surface.vertex_body[i as usize];
    let ends: Vec<Vec<u32>> = surface.edges.iter().map(|e| e.to_vec()).collect();
    let free = |a: &[u32], b: &[u32]| {
        surface.bodies_touch(body(a[0]), body(b[0])) && !a.iter().any(|i| b.contains(i))
    };
    let xi = |a: u32, b: u32| surface.radius(a) + surface.radius(b);
    for v in 0..x.len() as u32 {
        for (t, tri) in surface.triangles.iter().enumerate() {
            let d = distance::point_triangle(&[at(v), at(tri[0]), at(tri[1]), at(tri[2])]).d2.sqrt();
            check(&found.vertex_triangle, [v, t as u32], d - xi(v, tri[0]), free(&[v], tri));
        }
        for (e, edge) in surface.edges.iter().enumerate() {
            let d = distance::point_edge(&[at(v), at(edge[0]), at(edge[1])]).d2.sqrt();
            let lone = surface.codimension[v as usize] == 3 && surface.edge_is_lone[e];
            check(&found.vertex_edge, [v, e as u32], d - xi(v, edge[0]), lone && free(&[v], edge));
        }
        for w in v + 1..x.len() as u32 {
            let lone = [v, w].iter().all(|&i| surface.codimension[i as usize] == 3);
            let d = (at(v) - at(w)).norm();
            check(&found.vertex_vertex, [v, w], d - xi(v, w), lone && free(&[v], &[w]));
        }
        let h = surface.half_planes[0].height(&at(v)) - surface.radius(v);
        check(&found.vertex_plane, [v, 0], h, surface.maps[v as usize].n > 0);
    }
    for e in 0..ends.len() {
        for f in e + 1..ends.len() {
            let y = [ends[e][0], ends[e][1], ends[f][0], ends[f][1]];
            let d = distance::edge_edge(&y.map(at)).d2.sqrt();
            check(&found.edge_edge, [e as u32, f as u32], d - xi(y[0], y[2]), free(&ends[e], &ends[f]));
        }
    }
    near
}

#[test]
fn every_pair_within_reach_is_found_and_none_that_must_not_touch() {
    let mut random = Random::new(5);
    let (mut broad, mut found, mut near) = (Broad::default(), Candidates::default(), 0);
    for _ in 0..60 {
        let (surface, x) = mixed(&mut random);
        let reach = random.between(0.0, 0.2);
        broad.near(&surface, &x, reach, 100_000, &mut found).unwrap();
        near += check_all(&surface, &x, reach, &found);
        let mut again = Candidates::default();
        Broad::default().near(&surface, &x, reach, 100_000, &mut again).unwrap();
        assert_eq!(found, again, "kept trees change the answer");
    }
    assert!(near > 1000, "{near}");
}

#[test]
fn trees_of_what_stands_still_are_kept_and_right() {
    let mut random = Random::new(15);
    let (surface, mut x) = mixed(&mut random);
    let (mut broad, mut found, mut again) = (Broad::default(), Candidates::default(), Candidates::default());
    for round in 0..60 {
        let body = &surface.bodies[round % surface.bodies.len()];
        let shift = Vec3::from_fn(|_, _| random.between(-0.2, 0.2));
        body.vertices.clone().for_each(|v| x[v as usize] += shift);
        broad.near(&surface, &x, 0.1, 100_000, &mut found).unwrap();
        Broad::default().near(&surface, &x, 0.1, 100_000, &mut again).unwrap();
        assert_eq!(found, again, "round {round}");
    }
}

#[test]
fn a_motion_finds_what_its_moments_find() {
    let mut random = Random::new(6);
    let (mut broad, mut swept, mut now) = (Broad::default(), Candidates::default(), Candidates::default());
    for _ in 0..40 {
        let (surface, x0) = mixed(&mut random);
        let x1: Vec<Vec3> = x0.iter().map(|x| x + Vec3::from_fn(|_, _| random.between(-0.5, 0.5))).collect();
        let answer = broad.swept(&surface, &x0, &x1, 0.05, 100_000, &mut swept).unwrap();
        assert_eq!(answer.alpha, 1.0);
        for k in 0..=10 {
            let x: Vec<Vec3> = x0.iter().zip(&x1).map(|(a, b)| a + f64::from(k) / 10.0 * (b - a)).collect();
            broad.near(&surface, &x, 0.0499, 100_000, &mut now).unwrap();
            for (at, all) in [
                (&now.vertex_triangle, &swept.vertex_triangle),
                (&now.edge_edge, &swept.edge_edge),
                (&now.vertex_edge, &swept.vertex_edge),
                (&now.vertex_vertex, &swept.vertex_vertex),
                (&now.vertex_plane, &swept.vertex_plane),
            ] {
                assert!(at.iter().all(|pair| all.binary_search(pair).is_ok()));
            }
        }
    }
}

#[test]
fn a_huge_step_is_cut_instead_of_filling_memory() {
    let mut random = Random::new(7);
    let (surface, x0) = mixed(&mut random);
    let x1: Vec<Vec3> = x0.iter().map(|_| Vec3::from_fn(|_, _| random.between(-1e5, 1e5))).collect();
    let (mut broad, mut found) = (Broad::default(), Candidates::default());
    broad.near(&surface, &x0, 0.01, usize::MAX, &mut found).unwrap();
    let limit = found.len() + 20;
    let answer = broad.swept(&surface, &x0, &x1, 0.01, limit, &mut found).unwrap();
    assert!(answer.alpha < 0.1 && found.len() <= limit, "{answer:?}");
    let few = broad.swept(&surface, &x0, &x1, 0.01, 3, &mut found);
    assert_eq!(few, Err(TooMany { limit: 3, radius: 0.01 }));
    assert!(found.is_empty());
}

#[test]
fn the_free_step_is_the_least_time_of_all_pairs() {
    let mut random = Random::new(8);
    let (mut broad, mut found) = (Broad::default(), Candidates::default());
    let mut stopped = 0;
    for _ in 0..200 {
        let (surface, x0) = mixed(&mut random);
        let x1: Vec<Vec3> = x0.iter().map(|x| x + Vec3::from_fn(|_, _| random.between(-0.5, 0.5))).collect();
        broad.swept(&surface, &x0, &x1, 0.0, 100_000, &mut found).unwrap();
        let o = CcdOptions::default();
        let mut times = Vec::new();
        found.each_time(&surface, &x0, &x1, &o, |_| 1.0, |_, t| times.push(t));
        let all = times.iter().copied().fold(1.0, f64::min);
        let step = found.free_step(&surface, &x0, &x1, 1.0, &o);
        assert_eq!(step, all, "following less far must not change the answer");
        assert_eq!(times.len(), found.len());
        stopped += times.iter().filter(|t| (1e-3..0.999).contains(*t)).count();
    }
    assert!(stopped > 1000, "{stopped}");
}

/// Two cubes that are turned by 45° about z, side by side along the diagonal of their boxes.
#[test]
fn turned_bodies_whose_boxes_overlap_are_left_alone_unless_they_are_near() {
    let corners = [[0, 2, 1], [1, 2, 3], [4, 5, 6], [5, 7, 6], [0, 1, 4], [1, 5, 4]];
    let rest = [[2, 6, 3], [3, 6, 7], [0, 4, 2], [2, 4, 6], [1, 3, 5], [3, 7, 5]];
    let triangles: Vec<[u32; 3]> = corners.into_iter().chain(rest).collect();
    let mut surface = Surface::default();
    for body in 0..2 {
        let maps: Vec<VertexMap> = (0..8).map(|_| VertexMap::affine(4 * body, &Vec3::x())).collect();
        surface.add(&BodyGeometry { maps: &maps, triangles: &triangles, ..Default::default() }).unwrap();
    }
    surface.half_planes.push(HalfPlane { normal: Vec3::z(), offset: -1e7, group: 0 });
    let (mut broad, mut found) = (Broad::default(), Candidates::default());
    for origin in [0.0, -1e6] {
        let direction = Vec3::new(1.0, 1.0, 0.0).normalize();
        for (gap, near) in [(0.3, false), (0.05, true)] {
            let x: Vec<Vec3> = (0..16)
                .map(|i| {
                    let [a, b, c] = [0, 1, 2].map(|k| f64::from(i >> k & 1) - 0.5);
                    let across = Vec3::new(-direction.y, direction.x, 0.0);
                    let middle = Vec3::repeat(origin) + f64::from(i >> 3) * (1.0 + gap) * direction;
                    middle + a * direction + b * across + c * Vec3::z()
                })
                .collect();
            broad.near(&surface, &x, 0.1, 100_000, &mut found).unwrap();
            assert_eq!(broad.body_pairs().contains(&[0, 1]), near, "gap {gap} at {origin}");
            assert_eq!(check_all(&surface, &x, 0.1, &found) > 0, near);
        }
    }
}
