//! Continuous collision detection of pairs that are in contact already.
//!
//! On a path so short that no other pair can come near, only contacts need to be followed, and their normals are known. Along a
//! fixed unit vector n every $s_{ab} = n\cdot(x_a - x_b)$ between corners of the two primitives is linear in time, and the
//! least of them is a lower bound of the distance: if all are large enough at both ends, the pair keeps apart on the whole
//! path. Only where this fails is the pair followed step by step.

use super::ccd::{self, CcdOptions};
use super::contact::{Contact, Kind};
use super::contact_set::ContactSet;
use super::surface::Surface;
use crate::math::Vec3;

/// Rounding of a coordinate difference and its product with n, relative to the size of the pair.
const ROUNDING: f64 = 16.0 * f64::EPSILON;

impl Contact {
    /// True if the pair is proven to keep `rest` of its gap, and the distance `separation` \[m\], from `x0` to `x1`. The
    /// contact was taken at `x0`.
    fn keeps_gap(&self, x0: &[Vec3], x1: &[Vec3], rest: f64, separation: f64) -> bool {
        let (split, count) = match self.kind {
            Kind::EdgeEdge => (2, 4),
            Kind::VertexTriangle => (1, 4),
            Kind::VertexEdge => (1, 3),
            Kind::VertexVertex => (1, 2),
            Kind::VertexPlane => return false,
        };
        let (mut least, mut size) = (f64::INFINITY, separation);
        for a in 0..split {
            for b in split..count {
                let [i, j] = [self.vertices[a] as usize, self.vertices[b] as usize];
                for d in [x0[i] - x0[j], x1[i] - x1[j]] {
                    least = least.min(self.normal.dot(&d));
                    size += d.abs().sum();
                }
            }
        }
        least - ROUNDING * size >= separation + rest * self.gap
    }
}

impl ContactSet {
    /// How far each contact, taken at `x0`, may go towards `x1`: calls `take` with the contact and its part of the path.
    /// `longest` says how far it needs to be followed; those with 0 are left out. Separations are sums of radii.
    pub fn each_time(
        &self,
        surface: &Surface,
        x0: &[Vec3],
        x1: &[Vec3],
        options: &CcdOptions,
        longest: impl Fn(&Contact) -> f64,
        mut take: impl FnMut(&Contact, f64),
    ) {
        let radius = |body: u32| surface.bodies.get(body as usize).map_or(0.0, |b| b.radius);
        for c in &self.contacts {
            let mut o = CcdOptions { longest: longest(c), ..*options };
            if o.longest == 0.0 {
                continue;
            }
            o.separation = options.separation + radius(c.bodies[0]) + radius(c.bodies[1]);
            if c.keeps_gap(x0, x1, o.rest, o.separation) {
                take(c, o.longest);
                continue;
            }
            let i = c.vertices.map(|i| i as usize);
            let (y0, y1) = (i.map(|i| x0[i]), i.map(|i| x1[i]));
            let t = match c.kind {
                Kind::VertexTriangle => ccd::point_triangle(&y0, &y1, &o),
                Kind::EdgeEdge => ccd::edge_edge(&y0, &y1, &o),
                Kind::VertexEdge => ccd::point_edge(&[y0[0], y0[1], y0[2]], &[y1[0], y1[1], y1[2]], &o),
                Kind::VertexVertex => ccd::point_point(&[y0[0], y0[1]], &[y1[0], y1[1]], &o),
                Kind::VertexPlane => {
                    let plane = &surface.half_planes[c.pair[1] as usize];
                    ccd::point_plane(plane.height(&y0[0]), plane.height(&y1[0]), &o)
                }
            };
            take(c, t);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collide::{BodyGeometry, Broad, Candidates, VertexMap};
    use crate::math::Random;

    /// Two sheets of triangles, the second thick and a hair above the first.
    fn sheets(random: &mut Random) -> (Surface, Vec<Vec3>) {
        let (mut surface, mut x, mut triangles) = (Surface::default(), Vec::new(), Vec::new());
        for k in (0..19).filter(|k| k % 5 < 4) {
            triangles.extend([[k, k + 1, k + 6], [k, k + 6, k + 5]]);
        }
        for (layer, radius) in [(0, 0.0), (1, 0.02)] {
            let maps: Vec<VertexMap> = (25 * layer..25 * layer + 25).map(VertexMap::point).collect();
            let body = BodyGeometry { maps: &maps, triangles: &triangles, radius, ..Default::default() };
            surface.add(&body).unwrap();
            for k in 0..25 {
                let shift = Vec3::from_fn(|_, _| random.between(-0.01, 0.01));
                let place = Vec3::new((k % 5) as f64, (k / 5) as f64, 0.045 * f64::from(layer));
                x.push(place + Vec3::new(0.3, 0.1, 0.0) * f64::from(layer) + shift);
            }
        }
        (surface, x)
    }

    /// Contacts followed alone stop where all pairs of primitives do, and what is said to keep its gap is never stopped.
    #[test]
    fn contacts_followed_alone_stop_where_all_pairs_do() {
        let mut random = Random::new(8);
        let (gap, rest) = (0.1, 0.1);
        let options = CcdOptions { rest, ..CcdOptions::default() };
        let (mut proven, mut stopped) = (0, 0);
        for _ in 0..200 {
            let (surface, x0) = sheets(&mut random);
            let size = random.between(0.0, 0.5 * (1.0 - rest) * gap) / 3.0f64.sqrt();
            let x1: Vec<Vec3> =
                x0.iter().map(|x| x + Vec3::from_fn(|_, _| random.between(-size, size))).collect();
            let mut all = Candidates::default();
            Broad::default().near(&surface, &x0, 3.0 * gap, 1_000_000, &mut all).unwrap();
            let mut set = ContactSet::default();
            set.update(&surface, &all, &x0, gap);
            let mut least = 1.0f64;
            set.each_time(&surface, &x0, &x1, &options, |_| 1.0, |_, t| least = least.min(t));
            let wanted = all.free_step(&surface, &x0, &x1, 1.0, &options);
            // A proof needs no steps, so it is never stopped short of the end; else both are the same function.
            assert!(least >= wanted - 1e-12, "{least} {wanted}");
            assert!(wanted < 1.0 || least == 1.0);
            stopped += usize::from(least < 1.0);
            for c in &set.contacts {
                let separation = 0.02;
                if c.keeps_gap(&x0, &x1, rest, separation) {
                    proven += 1;
                    let ends =
                        |t: f64| c.vertices.map(|i| x0[i as usize] + t * (x1[i as usize] - x0[i as usize]));
                    for k in 0..=20 {
                        let y = ends(f64::from(k) / 20.0);
                        let near = match c.kind {
                            Kind::EdgeEdge => crate::collide::distance::edge_edge(&y),
                            _ => crate::collide::distance::point_triangle(&y),
                        };
                        assert!(near.d2.sqrt() >= separation + rest * c.gap - 1e-14);
                    }
                }
            }
        }
        assert!(proven > 1000 && stopped > 20, "{proven} {stopped}");
    }
}
