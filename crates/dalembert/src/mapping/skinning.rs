//! Linear blend skinning: a child follows several rigid bodies, $p = \sum_k w_k (x_k + R_k r_k)$ with $\sum_k w_k = 1$.
//!
//! It is a weighted sum of points fixed to the bodies, so every formula is that of [`RigidPoints`](super::RigidPoints)
//! times $w_k$: with arms $a_k = R_k r_k$ the point moves with $\sum_k w_k (v_k + \omega_k\times a_k)$, body k feels
//! the force $w_k f$ and the torque $a_k\times w_k f$, and a turn of it meets
//! $K_k = w_k\big((a_k\cdot f)\,\mathbf 1 - a_k f^T\big)$. Bodies do not meet in each other's stiffness: p is a sum.

use super::Mapping;
use crate::bodies::Rigid;
use crate::math::rotation::{matrix, skew};
use crate::math::{Blocks, Mat3, Vec3, add_triple, outer, set_triple, triple};
use crate::mesh::Weights;
use crate::state::Layout;

/// Child points that blend the motions of several rigid bodies.
#[derive(Debug, Clone)]
pub struct Skinning {
    layout: Layout,
    first_child: usize,
    /// Rigid bodies that carry anything, rising.
    bodies: Vec<u32>,
    /// `links[starts[c]..starts[c + 1]]` hold child c.
    starts: Vec<u32>,
    links: Vec<Link>,
}

#[derive(Debug, Clone, Copy)]
struct Link {
    /// Index into `bodies`.
    body: u32,
    weight: f64,
    /// Arm r from the body's centre of mass, body axes \[m\].
    arm: Vec3,
}

impl Skinning {
    /// Child number k, point `first_child + k`, stands at `points[k]` \[m\] when the coordinates are `q`, and follows
    /// the rigid bodies in row k of `weights`, counted over the rigid bodies of the model. Each row is scaled to sum
    /// to 1.
    pub fn new(layout: Layout, q: &[f64], points: &[Vec3], weights: &Weights, first_child: usize) -> Self {
        debug_assert_eq!(points.len(), weights.len());
        debug_assert!(weights.last_parent().is_none_or(|k| (k as usize) < layout.rigid));
        debug_assert!(layout.particles <= first_child && first_child + points.len() <= layout.points);
        let mut bodies: Vec<u32> = (0..weights.len()).flat_map(|c| weights.row(c).map(|(k, _)| k)).collect();
        bodies.sort_unstable();
        bodies.dedup();
        let mut starts = vec![0];
        let mut links = Vec::new();
        for (c, p) in points.iter().enumerate() {
            let sum: f64 = weights.row(c).map(|(_, w)| w).sum();
            for (k, weight) in weights.row(c) {
                let arm = Rigid::rotation(q, k as usize).inverse() * (p - Rigid::position(q, k as usize));
                let body = bodies.partition_point(|&b| b < k) as u32;
                links.push(Link { body, weight: weight / sum, arm });
            }
            starts.push(links.len() as u32);
        }
        Self { layout, first_child, bodies, starts, links }
    }

    /// Rows of weights for [`Skinning::new`]: each point follows the `count` nearest of the frames at `frames` \[m\], as
    /// 1/d² of its distance d; a point at a frame follows that one alone. Frame k is rigid body `bodies[k]`.
    pub fn nearest_frames(points: &[Vec3], frames: &[Vec3], bodies: &[u32], count: usize) -> Weights {
        debug_assert_eq!(frames.len(), bodies.len());
        let mut out = Weights::default();
        for p in points {
            let mut near: Vec<(f64, u32)> =
                frames.iter().zip(bodies).map(|(x, k)| ((x - p).norm_squared(), *k)).collect();
            near.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
            near.truncate(count.max(1));
            // Relative to the nearest, so that no weight overflows.
            let least = near.first().map_or(0.0, |n| n.0);
            let weight = |d: f64| match least {
                0.0 => f64::from(d == 0.0),
                _ => least / d,
            };
            let sum: f64 = near.iter().map(|n| weight(n.0)).sum();
            out.push(near.iter().map(|n| (n.1, weight(n.0) / sum)).filter(|n| n.1 > 0.0));
        }
        out
    }

    fn links(&self) -> impl Iterator<Item = (usize, &[Link])> {
        let part = |c: usize| &self.links[self.starts[c] as usize..self.starts[c + 1] as usize];
        (0..self.starts.len() - 1).map(move |c| (self.first_child + c, part(c)))
    }

    /// One matrix per body that carries anything.
    fn rotations(&self, q: &[f64]) -> Vec<Mat3> {
        self.bodies.iter().map(|&k| matrix(&Rigid::rotation(q, k as usize))).collect()
    }

    fn body(&self, link: &Link) -> usize {
        self.bodies[link.body as usize] as usize
    }
}

impl Mapping for Skinning {
    fn kind(&self) -> &'static str {
        "skinning"
    }

    fn carry(&self, q: &mut [f64]) {
        let (R, base) = (self.rotations(q), self.layout.points_q());
        for (child, links) in self.links() {
            let at = |l: &Link| l.weight * (Rigid::position(q, self.body(l)) + R[l.body as usize] * l.arm);
            let p: Vec3 = links.iter().map(at).sum();
            set_triple(&mut q[base..], child, &p);
        }
    }

    fn carry_velocity(&self, q: &[f64], v: &mut [f64]) {
        let (R, base) = (self.rotations(q), self.layout.points_v());
        for (child, links) in self.links() {
            let rate = |l: &Link| {
                let (k, a) = (self.body(l), R[l.body as usize] * l.arm);
                l.weight * (Rigid::velocity(v, k) + Rigid::angular_velocity(v, k).cross(&a))
            };
            let velocity: Vec3 = links.iter().map(rate).sum();
            set_triple(&mut v[base..], child, &velocity);
        }
    }

    fn gather_force(&self, q: &[f64], f: &mut [f64]) {
        let (R, base) = (self.rotations(q), self.layout.points_v());
        for (child, links) in self.links() {
            let force = triple(&f[base..], child);
            for l in links {
                let (k, a, share) = (self.body(l), R[l.body as usize] * l.arm, l.weight * force);
                add_triple(f, 2 * k, &share);
                add_triple(f, 2 * k + 1, &a.cross(&share));
            }
        }
    }

    fn add_geometric_stiffness_times(&self, q: &[f64], f: &[f64], dx: &[f64], df: &mut [f64]) {
        let (R, base) = (self.rotations(q), self.layout.points_v());
        for (child, links) in self.links() {
            let force = triple(&f[base..], child);
            for l in links {
                let (k, a) = (self.body(l), R[l.body as usize] * l.arm);
                let turn = triple(dx, 2 * k + 1);
                add_triple(df, 2 * k + 1, &-turn.cross(&a).cross(&(l.weight * force)));
            }
        }
    }

    fn add_jacobian_blocks(&self, q: &[f64], out: &mut Blocks) -> bool {
        let (R, base) = (self.rotations(q), self.layout.points_v() / 3);
        for (child, links) in self.links() {
            for l in links {
                let (k, a) = (self.body(l), R[l.body as usize] * l.arm);
                out.add(base + child, 2 * k, Mat3::from_diagonal_element(l.weight));
                out.add(base + child, 2 * k + 1, -skew(&(l.weight * a)));
            }
        }
        true
    }

    fn add_geometric_blocks(&self, q: &[f64], f: &[f64], out: &mut Blocks) {
        let (R, points) = (self.rotations(q), &f[self.layout.points_v()..]);
        let mut K = vec![Mat3::zeros(); self.bodies.len()];
        for (child, links) in self.links() {
            let force = triple(points, child);
            for l in links {
                let (a, f) = (R[l.body as usize] * l.arm, l.weight * force);
                K[l.body as usize] += Mat3::identity() * a.dot(&f) - (outer(&a, &f) + outer(&f, &a)) * 0.5;
            }
        }
        for (&k, K) in self.bodies.iter().zip(K) {
            out.add(2 * k as usize + 1, 2 * k as usize + 1, K);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_skin_stands_where_it_was_put_and_moves_with_bodies_that_move_together() {
        let layout = Layout { nq: 21, nv: 18, rigid: 3, points: 2, ..Layout::default() };
        let mut q = vec![0.0; layout.len_q()];
        for k in 0..3 {
            q[7 * k] = k as f64;
            q[7 * k + 3..7 * k + 7].copy_from_slice(&[0.6, 0.0, 0.8, 0.0]);
        }
        let frames: Vec<Vec3> = (0..3).map(|k| Rigid::position(&q, k)).collect();
        let points = [Vec3::new(0.3, 0.2, 0.1), Vec3::new(1.0, 0.0, 0.0)];
        let weights = Skinning::nearest_frames(&points, &frames, &[0, 1, 2], 2);
        assert_eq!(weights.row(1).collect::<Vec<_>>(), [(1, 1.0)]);
        assert!((weights.row(0).map(|r| r.1).sum::<f64>() - 1.0).abs() < 1e-15);
        assert_eq!(weights.row(0).map(|r| r.0).collect::<Vec<_>>(), [0, 1]);
        let skin = Skinning::new(layout, &q, &points, &weights, 0);
        skin.carry(&mut q);
        for k in 0..2 {
            assert!((triple(&q[21..], k) - points[k]).norm() < 1e-15);
        }
        // All bodies about the origin with the same spin.
        let (w, mut v) = (Vec3::new(0.1, -0.4, 0.3), vec![0.0; layout.len_v()]);
        for k in 0..3 {
            Rigid::set_velocity(&mut v, k, &w.cross(&frames[k]), &w);
        }
        skin.carry_velocity(&q, &mut v);
        for k in 0..2 {
            assert!((triple(&v[18..], k) - w.cross(&points[k])).norm() < 1e-15);
        }
    }
}
