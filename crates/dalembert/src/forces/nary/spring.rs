//! Spring with a damper along it: $W = \tfrac12 k (\ell - \ell_0)^2$, $\ell = |d|$, $d = x_b - x_a$.
//!
//! With $n = d/\ell$, $w = v_b - v_a$ and $\dot\ell = n\cdot w$ the force on b is $-s\,n$, where
//! $s = k(\ell - \ell_0) + c\,\dot\ell$; on a it is the opposite. From $\delta n = P\,\delta d/\ell$ with
//! $P = I - n n^T$, and $\delta\dot\ell = w\cdot\delta n$,
//!
//! $$ -\delta f_b = \Big(k\,n n^T + \tfrac{s}{\ell} P + \tfrac{c}{\ell}\, n (P w)^T\Big)\,\delta d,\qquad
//!    -\partial f_b/\partial w = c\,n n^T . $$
//!
//! The last stiffness term comes from the damper turning with the spring; it is the only unsymmetric one and
//! vanishes at rest. Book: "n-ary forces".

use super::parts::Parts;
use crate::forces::{Blocks, Force, Points, Tangent};
use crate::math::{Mat3, Vec3, across, add_triple, outer, triple};
use crate::state::PointId;

/// Pulls two points towards a rest length.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spring {
    /// The two points a and b.
    pub ends: [PointId; 2],
    /// Stiffness k \[N/m\], ≥ 0.
    pub stiffness: f64,
    /// Rest length ℓ₀ \[m\], ≥ 0.
    pub rest_length: f64,
    /// Damping c along the spring \[N·s/m\], ≥ 0.
    pub damping: f64,
}

/// All springs of one kind.
#[derive(Debug, Clone, Default)]
pub struct Springs {
    springs: Vec<Spring>,
    parts: Parts,
}

impl Springs {
    /// Takes springs in any order.
    pub fn new(mut springs: Vec<Spring>) -> Self {
        let parts = Parts::new(&mut springs, |s| s.ends);
        Self { springs, parts }
    }

    /// The springs, in the order in which they are summed.
    pub fn as_slice(&self) -> &[Spring] {
        &self.springs
    }

    /// K of one spring as the block that couples δx_b − δx_a to −δf_b.
    fn stiffness(s: &Spring, p: &Points) -> Mat3 {
        let [a, b] = s.ends.map(PointId::index);
        let (d, w) = (p.position(b) - p.position(a), p.velocity(b) - p.velocity(a));
        let length = d.norm();
        if length == 0.0 {
            return Mat3::identity() * if s.rest_length == 0.0 { s.stiffness } else { 0.0 };
        }
        let n = d / length;
        let pull = s.stiffness * (length - s.rest_length) + s.damping * n.dot(&w);
        let P = across(&n);
        outer(&n, &n) * s.stiffness + (P * pull + outer(&n, &(P * w)) * s.damping) / length
    }

    /// K without the turning damper, which is not symmetric; or its projection, a pull along n only where the spring is
    /// pressed.
    fn tangent(s: &Spring, p: &Points, tangent: Tangent) -> Mat3 {
        let [a, b] = s.ends.map(PointId::index);
        let (d, w) = (p.position(b) - p.position(a), p.velocity(b) - p.velocity(a));
        let length = d.norm();
        if length == 0.0 {
            return Mat3::identity() * if s.rest_length == 0.0 { s.stiffness } else { 0.0 };
        }
        let n = d / length;
        let pull = s.stiffness * (length - s.rest_length) + s.damping * n.dot(&w);
        let across_pull = if tangent == Tangent::Exact { pull } else { pull.max(0.0) };
        outer(&n, &n) * s.stiffness + across(&n) * (across_pull / length)
    }

    fn damping(s: &Spring, p: &Points) -> Mat3 {
        let [a, b] = s.ends.map(PointId::index);
        let n = (p.position(b) - p.position(a)).try_normalize(0.0).unwrap_or_else(Vec3::zeros);
        outer(&n, &n) * s.damping
    }

    /// out += B y, where `block` couples y_b − y_a to the change on b.
    fn add_pair_times(&self, y: &[f64], out: &mut [f64], block: impl Fn(usize) -> Mat3 + Sync) {
        self.parts.scatter(out, |range, first, out| {
            for i in range {
                let [a, b] = self.springs[i].ends.map(PointId::index);
                let change = block(i) * (triple(y, b) - triple(y, a));
                add_triple(out, b - first, &change);
                add_triple(out, a - first, &-change);
            }
        });
    }
}

/// Adds the forces of `springs` to `f`, whose first triple belongs to point `first`.
#[inline]
fn add_forces(springs: &[Spring], p: &Points, first: usize, f: &mut [f64]) {
    for s in springs {
        let [a, b] = s.ends.map(PointId::index);
        let d = p.position(b) - p.position(a);
        let length = d.norm();
        let mut scale = if s.rest_length == 0.0 {
            s.stiffness
        } else if length > 0.0 {
            s.stiffness * (1.0 - s.rest_length / length)
        } else {
            0.0 // no direction to push in
        };
        if s.damping != 0.0 && length > 0.0 {
            let w = p.velocity(b) - p.velocity(a);
            scale += s.damping * d.dot(&w) / (length * length);
        }
        let pull = d * scale;
        add_triple(f, a - first, &pull);
        add_triple(f, b - first, &-pull);
    }
}

impl Force for Springs {
    fn kind(&self) -> &'static str {
        "springs"
    }

    fn energy(&self, p: &Points) -> f64 {
        let stretch = |s: &Spring| {
            (p.position(s.ends[1].index()) - p.position(s.ends[0].index())).norm() - s.rest_length
        };
        let one = |s: &Spring| 0.5 * s.stiffness * stretch(s).powi(2);
        self.parts.sum(|range| self.springs[range].iter().map(one).sum())
    }

    fn add_force(&self, p: &Points, f: &mut [f64]) {
        self.parts.scatter(f, |range, first, f| add_forces(&self.springs[range], p, first, f));
    }

    fn add_stiffness_times(&self, p: &Points, dx: &[f64], df: &mut [f64]) {
        self.add_pair_times(dx, df, |i| Self::stiffness(&self.springs[i], p));
    }

    fn add_stiffness_blocks(&self, p: &Points, out: &mut Blocks) {
        for s in &self.springs {
            out.add_pair(s.ends[0].index(), s.ends[1].index(), Self::stiffness(s, p));
        }
    }

    fn add_damping_times(&self, p: &Points, dv: &[f64], df: &mut [f64]) {
        self.add_pair_times(dv, df, |i| Self::damping(&self.springs[i], p));
    }

    fn add_damping_blocks(&self, p: &Points, out: &mut Blocks) {
        for s in self.springs.iter().filter(|s| s.damping != 0.0) {
            out.add_pair(s.ends[0].index(), s.ends[1].index(), Self::damping(s, p));
        }
    }

    fn linearize(&self, p: &Points, tangent: Tangent, cache: &mut Vec<f64>) {
        self.parts.fill(cache, self.springs.len(), 9, |i, out| {
            out.copy_from_slice(Self::tangent(&self.springs[i], p, tangent).as_slice());
        });
    }

    fn add_tangent_times(&self, _p: &Points, cache: &[f64], dx: &[f64], df: &mut [f64]) {
        self.add_pair_times(dx, df, |i| Mat3::from_column_slice(&cache[9 * i..9 * i + 9]));
    }

    fn add_tangent_blocks(&self, p: &Points, tangent: Tangent, out: &mut Blocks) {
        for s in &self.springs {
            out.add_pair(s.ends[0].index(), s.ends[1].index(), Self::tangent(s, p, tangent));
        }
    }

    fn has_projection(&self) -> bool {
        true
    }

    fn is_internal(&self) -> bool {
        true
    }

    fn is_conservative(&self) -> bool {
        self.springs.iter().all(|s| s.damping == 0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_change_neither_the_set_of_springs_nor_the_force() {
        let n = 60_017;
        let link = |i: usize, j: usize| Spring {
            ends: [PointId(i as u32), PointId(j as u32)],
            stiffness: 10.0 + (i % 7) as f64,
            rest_length: 0.5,
            damping: 0.1,
        };
        let springs: Vec<Spring> = (0..n - 1).map(|i| link(i, (i + 1 + (i % 5) * 1000) % n)).collect();
        let x: Vec<f64> = (0..3 * n).map(|i| (i as f64 * 0.7).sin() * 3.0).collect();
        let v: Vec<f64> = (0..3 * n).map(|i| (i as f64 * 0.3).cos()).collect();
        let mass = vec![1.0; n];
        let p = Points { time: 0.0, first: 0, x: &x, v: &v, mass: &mass };
        let (mut plain, mut cut) = (vec![0.0; 3 * n], vec![0.0; 3 * n]);
        add_forces(&springs, &p, 0, &mut plain);
        let batch = Springs::new(springs.clone());
        assert_eq!(batch.springs.len(), springs.len());
        assert!(batch.parts.crossing() > 0 && batch.parts.crossing() < springs.len() / 2);
        batch.add_force(&p, &mut cut);
        for (a, b) in plain.iter().zip(&cut) {
            assert!((a - b).abs() <= 1e-11 * (1.0 + a.abs()));
        }
        // Without dampers, whose turning the tangent leaves out.
        let batch = Springs::new(springs.iter().map(|s| Spring { damping: 0.0, ..*s }).collect());
        let (mut cache, mut cached, mut direct) = (Vec::new(), vec![0.0; 3 * n], vec![0.0; 3 * n]);
        batch.linearize(&p, Tangent::Exact, &mut cache);
        batch.add_tangent_times(&p, &cache, &v, &mut cached);
        batch.add_stiffness_times(&p, &v, &mut direct);
        for (a, b) in cached.iter().zip(&direct) {
            assert!((a - b).abs() <= 1e-11 * (1.0 + a.abs()));
        }
    }
}
