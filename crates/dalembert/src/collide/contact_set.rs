//! The contacts of a state and the assembly of their gradients and Hessians over blocks of unknowns.
//!
//! Each vertex is a sum over blocks of unknowns, so $\partial g/\partial x_i = w_i n$ holds for blocks with weights $W_j$ as well
//! (four blocks per affine body, one per point): a force $f$ of the contact gives the gradient $W_j f$, a stiffness N the blocks
//! $W_j W_k N$. If N is positive semi-definite, so is the sum, without any eigenvalues.
//!
//! Contacts of two affine bodies share their eight blocks. They lie side by side, their 36 products $W_j W_k$ times the six
//! numbers of N are summed in one patch, and the patch is handed over once.

use super::barrier::LogBarrier;
use super::candidates::Candidates;
use super::contact::{Contact, HessianSink, Kind, Sym3, dyad};
use super::distance::{self, Nearest, Region};
use super::surface::{Carrier, Surface};
use crate::math::{Vec3, add_triple};

/// Contacts that share their blocks: all of two affine bodies, or one of others.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Run {
    /// First contact and the one after the last.
    first: u32,
    end: u32,
    /// First of the shared blocks in `blocks`, and how many.
    block: u32,
    count: u32,
    /// First weight; contact k of the run has `count` weights from `weight + (k − first) count` on.
    weight: u32,
}

/// Blocks of one contact at most: four vertices of four blocks each.
const MOST: usize = 16;

/// Contacts of a state, sorted by pairs of bodies, with their weights over the unknown blocks.
#[derive(Debug, Clone, Default)]
pub struct ContactSet {
    /// The contacts, sorted by bodies (lower number first), kind and pair.
    pub contacts: Vec<Contact>,
    runs: Vec<Run>,
    run_of: Vec<u32>,
    blocks: Vec<u32>,
    weights: Vec<f64>,
    found: Vec<Contact>,
    order: Vec<(u64, u32)>,
    sorter: PairSorter,
}

impl ContactSet {
    /// Keeps the candidates with a gap below `gap_max` \[m\] at positions `x`.
    pub fn update(&mut self, surface: &Surface, candidates: &Candidates, x: &[Vec3], gap_max: f64) {
        self.found.clear();
        self.gather::<false>(surface, candidates, x, gap_max, |_| true);
    }

    /// The same where no bodies but those that `moved` names have moved since the last update: contacts of all others stay.
    pub fn renew(
        &mut self,
        surface: &Surface,
        candidates: &Candidates,
        x: &[Vec3],
        gap_max: f64,
        moved: impl Fn(u32) -> bool,
    ) {
        let moved = |b: u32| b != u32::MAX && moved(b);
        self.found.clear();
        self.found.extend(self.contacts.iter().filter(|c| !c.bodies.iter().any(|b| moved(*b))));
        self.gather::<false>(surface, candidates, x, gap_max, |[a, b]| moved(a) || moved(b));
    }

    /// The same with every contact named after its nearest features, and contacts of the same features merged: a vertex
    /// near a corner of a mesh meets all triangles and edges around it in the same point. The sum over contacts of
    /// multiplicity times b(g) is that of all candidates, with several times fewer terms. Edges within 3.6° of parallel
    /// stay as they are, so that a mollifier sees them.
    pub fn update_merged(&mut self, surface: &Surface, candidates: &Candidates, x: &[Vec3], gap_max: f64) {
        self.found.clear();
        self.gather::<true>(surface, candidates, x, gap_max, |_| true);
    }

    /// Adds what is found between `wanted` bodies to what was found before; all contacts of two bodies come from one of both.
    fn gather<const MERGE: bool>(
        &mut self,
        surface: &Surface,
        candidates: &Candidates,
        x: &[Vec3],
        gap_max: f64,
        wanted: impl Fn([u32; 2]) -> bool,
    ) {
        self.measure::<MERGE>(surface, candidates, x, gap_max, wanted);
        self.order.clear();
        self.order.extend(self.found.iter().enumerate().map(|(k, c)| {
            // Candidates are sorted within their kind, and kinds follow each other.
            let [a, b] = c.body_pair();
            (u64::from(a) << 32 | u64::from(b), k as u32)
        }));
        let found = &self.found;
        self.contacts.clear();
        if MERGE {
            let name = |k: u32| (found[k as usize].kind, found[k as usize].pair, k);
            self.order.sort_unstable_by(|a, b| a.0.cmp(&b.0).then_with(|| name(a.1).cmp(&name(b.1))));
            for &(_, k) in &self.order {
                let c = found[k as usize];
                match self.contacts.last_mut() {
                    Some(last) if (last.kind, last.pair) == (c.kind, c.pair) => last.multiplicity += 1.0,
                    _ => self.contacts.push(c),
                }
            }
        } else {
            self.sorter.sort(&mut self.order, surface.bodies.len());
            self.contacts.extend(self.order.iter().map(|&(_, k)| found[k as usize]));
        }
        self.map(surface);
    }

    /// Divides the contacts of this set and those that were `left_out`, both in their order, anew: those of bodies that `count`
    /// are the set, the others are left out. True if that has changed the set; [`map`](Self::map) is to follow.
    pub(crate) fn divide(&mut self, left_out: &mut Vec<Contact>, count: impl Fn([u32; 2]) -> bool) -> bool {
        if self.contacts.iter().all(|c| count(c.bodies)) && !left_out.iter().any(|c| count(c.bodies)) {
            return false;
        }
        let (mut i, mut j) = (0, 0);
        self.found.clear();
        while i < self.contacts.len() || j < left_out.len() {
            // All contacts of two bodies are in one of both.
            let own = match (self.contacts.get(i), left_out.get(j)) {
                (Some(a), Some(b)) => a.body_pair() < b.body_pair(),
                (own, _) => own.is_some(),
            };
            self.found.push(if own { self.contacts[i] } else { left_out[j] });
            i += usize::from(own);
            j += usize::from(!own);
        }
        self.contacts.clear();
        left_out.clear();
        for c in &self.found {
            if count(c.bodies) { &mut self.contacts } else { &mut *left_out }.push(*c);
        }
        true
    }

    /// Forgets all contacts and keeps the memory.
    pub fn clear(&mut self) {
        self.contacts.clear();
        self.runs.clear();
        self.run_of.clear();
        self.blocks.clear();
        self.weights.clear();
    }

    /// Takes the contacts of another set, in the memory that there is.
    pub fn copy_from(&mut self, other: &Self) {
        self.contacts.clone_from(&other.contacts);
        self.runs.clone_from(&other.runs);
        self.run_of.clone_from(&other.run_of);
        self.blocks.clone_from(&other.blocks);
        self.weights.clone_from(&other.weights);
    }

    /// Number of contacts.
    pub fn len(&self) -> usize {
        self.contacts.len()
    }

    /// True if there is none.
    pub fn is_empty(&self) -> bool {
        self.contacts.is_empty()
    }

    /// Smallest gap \[m\]; infinite without contacts.
    pub fn smallest_gap(&self) -> f64 {
        self.contacts.iter().map(|c| c.gap).fold(f64::INFINITY, f64::min)
    }

    fn measure<const MERGE: bool>(
        &mut self,
        surface: &Surface,
        candidates: &Candidates,
        x: &[Vec3],
        gap_max: f64,
        wanted: impl Fn([u32; 2]) -> bool,
    ) {
        let found = &mut self.found;
        let at = |i: u32| x[i as usize];
        let body = |i: u32| surface.vertex_body[i as usize];
        let radius = |b: u32| surface.bodies[b as usize].radius;
        let mut take = |kind, pair: [u32; 2], vertices: [u32; 4], second: usize, near: Nearest| {
            let bodies = [body(vertices[0]), body(vertices[second])];
            let xi = radius(bodies[0]) + radius(bodies[1]);
            let reach = gap_max + xi;
            if near.d2 < reach * reach {
                let d = near.d2.sqrt();
                // Where the two coincide any direction is as good.
                let normal = if d > 0.0 { near.r / d } else { Vec3::z() };
                let (weights, region, gap) = (near.w, near.region, d - xi);
                let c =
                    Contact { kind, pair, bodies, vertices, weights, normal, gap, region, multiplicity: 1.0 };
                found.push(if MERGE { c.by_features(surface, x) } else { c });
            }
        };
        for &[v, t] in &candidates.vertex_triangle {
            let [a, b, c] = surface.triangles[t as usize];
            if !wanted([body(v), body(a)]) {
                continue;
            }
            let y = [at(v), at(a), at(b), at(c)];
            if distance::far_apart::<4, 1>(&y, &y, gap_max + radius(body(v)) + radius(body(a))) {
                continue;
            }
            let near = distance::point_triangle(&y);
            take(Kind::VertexTriangle, [v, t], [v, a, b, c], 1, near);
        }
        for &[e, f] in &candidates.edge_edge {
            let ([a, b], [c, d]) = (surface.edges[e as usize], surface.edges[f as usize]);
            if !wanted([body(a), body(c)]) {
                continue;
            }
            let y = [at(a), at(b), at(c), at(d)];
            if distance::far_apart::<4, 2>(&y, &y, gap_max + radius(body(a)) + radius(body(c))) {
                continue;
            }
            let near = distance::edge_edge(&y);
            take(Kind::EdgeEdge, [e, f], [a, b, c, d], 2, near);
        }
        for &[v, e] in &candidates.vertex_edge {
            let [a, b] = surface.edges[e as usize];
            if !wanted([body(v), body(a)]) {
                continue;
            }
            take(Kind::VertexEdge, [v, e], [v, a, b, v], 1, distance::point_edge(&[at(v), at(a), at(b)]));
        }
        for &[v, w] in &candidates.vertex_vertex {
            if !wanted([body(v), body(w)]) {
                continue;
            }
            take(Kind::VertexVertex, [v, w], [v, w, v, v], 1, distance::point_point(&[at(v), at(w)]));
        }
        for &[v, k] in &candidates.vertex_plane {
            let plane = &surface.half_planes[k as usize];
            let gap = plane.height(&at(v)) - surface.radius(v);
            if gap < gap_max && wanted([body(v), u32::MAX]) {
                found.push(Contact {
                    kind: Kind::VertexPlane,
                    pair: [v, k],
                    bodies: [body(v), u32::MAX],
                    vertices: [v; 4],
                    weights: [1.0, 0.0, 0.0, 0.0],
                    normal: plane.normal,
                    gap,
                    region: Region::Points(0, 1),
                    multiplicity: 1.0,
                });
            }
        }
    }

    /// Weights over blocks, and runs of contacts with the same blocks.
    pub(crate) fn map(&mut self, surface: &Surface) {
        self.runs.clear();
        self.run_of.clear();
        self.blocks.clear();
        self.weights.clear();
        let mut open: Option<[u32; 2]> = None;
        for (k, c) in self.contacts.iter().enumerate() {
            let carrier = |s: usize| match c.bodies[s] {
                u32::MAX => Carrier::Prescribed,
                b => surface.bodies[b as usize].carrier,
            };
            let (A, B) = (carrier(0), carrier(1));
            let stiff = A != Carrier::Points && B != Carrier::Points;
            let place = self.weights.len() as u32;
            if stiff {
                // Two stiff bodies: four weights each, the lower block first.
                let mut sides = [(A, 0), (B, 1)];
                if let (Carrier::Affine(a), Carrier::Affine(b)) = (A, B)
                    && a > b
                {
                    sides.swap(0, 1);
                }
                let fresh = open != Some(c.body_pair());
                if fresh {
                    let block = self.blocks.len() as u32;
                    for (carrier, _) in sides {
                        if let Carrier::Affine(first) = carrier {
                            self.blocks.extend(first..first + 4);
                        }
                    }
                    let count = self.blocks.len() as u32 - block;
                    self.runs.push(Run { first: k as u32, end: k as u32, block, count, weight: place });
                    open = Some(c.body_pair());
                }
                let split = if c.kind == Kind::EdgeEdge { 2 } else { 1 };
                for (carrier, side) in sides {
                    if carrier != Carrier::Prescribed {
                        let range = if side == 0 { 0..split } else { split..4 };
                        let mut W = [0.0; 4];
                        for i in range {
                            let map = &surface.maps[c.vertices[i] as usize];
                            for j in 0..4 {
                                W[j] += c.weights[i] * map.w[j];
                            }
                        }
                        self.weights.extend_from_slice(&W);
                    }
                }
            } else {
                open = None;
                let block = self.blocks.len() as u32;
                let count = if let Some((blocks, weights, count)) = of_points(surface, c) {
                    self.blocks.extend_from_slice(&blocks[..count]);
                    self.weights.extend_from_slice(&weights[..count]);
                    count
                } else {
                    let (blocks, weights, count) = scattered(surface, c);
                    self.blocks.extend_from_slice(&blocks[..count]);
                    self.weights.extend_from_slice(&weights[..count]);
                    count
                };
                let k = k as u32;
                self.runs.push(Run { first: k, end: k, block, count: count as u32, weight: place });
            }
            if let Some(run) = self.runs.last_mut() {
                run.end = k as u32 + 1;
            }
            self.run_of.push(self.runs.len() as u32 - 1);
        }
    }

    #[inline(always)]
    fn run_blocks(&self, run: &Run) -> &[u32] {
        &self.blocks[run.block as usize..(run.block + run.count) as usize]
    }

    #[inline(always)]
    fn run_weights(&self, run: &Run, k: u32) -> &[f64] {
        let start = (run.weight + (k - run.first) * run.count) as usize;
        &self.weights[start..start + run.count as usize]
    }

    /// Block numbers (rising) and weights of contact `k`: ∂(Σ w x)/∂z.
    pub fn blocks(&self, k: usize) -> (&[u32], &[f64]) {
        let run = &self.runs[self.run_of[k] as usize];
        (self.run_blocks(run), self.run_weights(run, k as u32))
    }

    /// The first contact of each run.
    pub(crate) fn firsts(&self) -> impl Iterator<Item = &Contact> {
        self.runs.iter().map(|r| &self.contacts[r.first as usize])
    }

    /// Runs of contacts that share their blocks: range of contacts and blocks, rising.
    pub fn runs(&self) -> impl Iterator<Item = (std::ops::Range<usize>, &[u32])> {
        self.runs.iter().map(|r| (r.first as usize..r.end as usize, self.run_blocks(r)))
    }

    /// Σ_k κ b(g_k) \[J\] for the stiffness `kappa` \[N/m\].
    pub fn barrier_energy(&self, law: &LogBarrier, kappa: f64) -> f64 {
        kappa * self.contacts.iter().map(|c| c.multiplicity * law.at(c.gap)[0]).sum::<f64>()
    }

    /// Σ_k κ b(g_k) \[J\] for the stiffness `kappa` \[N/m\]; gradients κ b′ n \[N\] with respect to the first nearest
    /// point and stiffnesses κ b″ n nᵀ \[N/m\] of each contact.
    pub fn barrier(
        &self,
        law: &LogBarrier,
        kappa: f64,
        forces: &mut Vec<Vec3>,
        stiffnesses: &mut Vec<Sym3>,
    ) -> f64 {
        forces.clear();
        stiffnesses.clear();
        let mut energy = 0.0;
        for c in &self.contacts {
            let [b, b1, b2] = law.at(c.gap);
            let kappa = kappa * c.multiplicity;
            energy += c.multiplicity * b;
            forces.push(kappa * b1 * c.normal);
            stiffnesses.push(dyad(kappa * b2, &c.normal));
        }
        kappa * energy
    }

    /// Adds W_j f_k of every contact to the flat gradient over the unknowns.
    pub fn add_gradient(&self, forces: &[Vec3], gradient: &mut [f64]) {
        self.add_gradient_of(forces, |_| true, gradient);
    }

    /// The same for contacts of `wanted` bodies (a half-plane is `u32::MAX`).
    pub fn add_gradient_of(&self, forces: &[Vec3], wanted: impl Fn([u32; 2]) -> bool, gradient: &mut [f64]) {
        assert_eq!(forces.len(), self.contacts.len());
        for run in self.runs.iter().filter(|run| wanted(self.contacts[run.first as usize].bodies)) {
            let blocks = self.run_blocks(run);
            if run.end == run.first + 1 {
                let (W, f) = (self.run_weights(run, run.first), &forces[run.first as usize]);
                for (&block, &w) in blocks.iter().zip(W) {
                    add_triple(gradient, block as usize, &(w * f));
                }
                continue;
            }
            let mut sum = [Vec3::zeros(); 8];
            for k in run.first..run.end {
                let f = &forces[k as usize];
                for (sum, &w) in sum.iter_mut().zip(self.run_weights(run, k)) {
                    *sum += w * f;
                }
            }
            for (&block, sum) in blocks.iter().zip(&sum) {
                add_triple(gradient, block as usize, sum);
            }
        }
    }

    /// Adds W_j W_l N_k of every contact. Contacts of two affine bodies are summed first and handed over once per pair.
    pub fn add_hessian(&self, stiffnesses: &[Sym3], sink: &mut impl HessianSink) {
        self.add_hessian_of(stiffnesses, |_| true, sink);
    }

    /// The same for contacts of `wanted` bodies (a half-plane is `u32::MAX`).
    pub fn add_hessian_of(
        &self,
        stiffnesses: &[Sym3],
        wanted: impl Fn([u32; 2]) -> bool,
        sink: &mut impl HessianSink,
    ) {
        assert_eq!(stiffnesses.len(), self.contacts.len());
        // All contacts of a run are of the same two bodies.
        for run in self.runs.iter().filter(|run| wanted(self.contacts[run.first as usize].bodies)) {
            let N = &stiffnesses[run.first as usize..run.end as usize];
            match (run.count, N.len()) {
                (8, 2..) => self.affine_patch::<8, 36>(run, N, sink),
                (4, 2..) => self.affine_patch::<4, 10>(run, N, sink),
                (..=4, 1) => sink.add_contact(self.run_blocks(run), self.run_weights(run, run.first), &N[0]),
                _ => self.patch::<{ MOST * (MOST + 1) / 2 }>(run, N, sink),
            }
        }
    }

    /// Sums a run into a patch of at most P places.
    fn patch<const P: usize>(&self, run: &Run, N: &[Sym3], sink: &mut impl HessianSink) {
        let blocks = self.run_blocks(run);
        let mut patch = [[0.0; 6]; P];
        for (k, N) in N.iter().enumerate() {
            let W = self.run_weights(run, run.first + k as u32);
            let mut at = 0;
            for i in 0..W.len() {
                for j in 0..=i {
                    let w = W[i] * W[j];
                    for c in 0..6 {
                        patch[at][c] += w * N[c];
                    }
                    at += 1;
                }
            }
        }
        sink.add_patch(blocks, &patch[..blocks.len() * (blocks.len() + 1) / 2]);
    }

    /// Sums a run over B blocks, P = B (B + 1)/2, with the products of weights in vector registers.
    fn affine_patch<const B: usize, const P: usize>(
        &self,
        run: &Run,
        N: &[Sym3],
        sink: &mut impl HessianSink,
    ) {
        let mut sum = [[0.0; P]; 6];
        let start = run.weight as usize;
        let all = &self.weights[start..start + B * N.len()];
        let products = |W: &[f64; B]| -> [f64; P] {
            let (mut ww, mut at) = ([0.0; P], 0);
            for i in 0..B {
                for j in 0..=i {
                    ww[at] = W[i] * W[j];
                    at += 1;
                }
            }
            ww
        };
        // Two contacts at a time: sums are loaded and stored half as often.
        let (pairs, last) = N.as_chunks::<2>();
        let (all, _) = all.as_chunks::<B>();
        for (W, [M, N]) in all.chunks_exact(2).zip(pairs) {
            let (vv, ww) = (products(&W[0]), products(&W[1]));
            for c in 0..6 {
                for p in 0..P {
                    sum[c][p] = N[c].mul_add(ww[p], M[c].mul_add(vv[p], sum[c][p]));
                }
            }
        }
        if let ([N], Some(W)) = (last, all.last()) {
            let ww = products(W);
            for c in 0..6 {
                for p in 0..P {
                    sum[c][p] = N[c].mul_add(ww[p], sum[c][p]);
                }
            }
        }
        let patch: [Sym3; P] = std::array::from_fn(|p| std::array::from_fn(|c| sum[c][p]));
        sink.add_patch(self.run_blocks(run), &patch);
    }
}

/// Sorts pairs of bodies by counting: by their second bodies, then, keeping that order, by their first.
#[derive(Debug, Clone, Default)]
struct PairSorter {
    start: Vec<u32>,
    other: Vec<(u64, u32)>,
}

impl PairSorter {
    /// Sorts keys with a first body in their high and a second one in their low bits, each of `bodies` or `u32::MAX`; numbers rise
    /// before and, of equal keys, after.
    fn sort(&mut self, list: &mut Vec<(u64, u32)>, bodies: usize) {
        if list.len() < bodies {
            return list.sort_unstable();
        }
        for shift in [0, 32] {
            let place = |key: u64| ((key >> shift) as u32 as usize).min(bodies);
            self.start.clear();
            self.start.resize(bodies + 2, 0);
            list.iter().for_each(|(key, _)| self.start[place(*key) + 1] += 1);
            for i in 0..bodies {
                self.start[i + 1] += self.start[i];
            }
            self.other.clear();
            self.other.resize(list.len(), (0, 0));
            for item in &*list {
                let at = &mut self.start[place(item.0)];
                self.other[*at as usize] = *item;
                *at += 1;
            }
            std::mem::swap(list, &mut self.other);
        }
    }
}

/// Blocks and weights of a contact whose vertices follow one block each or none, rising; none for other contacts.
fn of_points(surface: &Surface, c: &Contact) -> Option<([u32; 4], [f64; 4], usize)> {
    let (mut blocks, mut weights, mut count) = ([0; 4], [0.0; 4], 0);
    for (&v, &w) in c.vertices.iter().zip(&c.weights).filter(|(_, w)| **w != 0.0) {
        let map = &surface.maps[v as usize];
        if map.n > 1 {
            return None;
        }
        if map.n == 0 {
            continue;
        }
        let mut at = count;
        while at > 0 && blocks[at - 1] > map.first_block {
            (blocks[at], weights[at]) = (blocks[at - 1], weights[at - 1]);
            at -= 1;
        }
        if at > 0 && blocks[at - 1] == map.first_block {
            return None;
        }
        (blocks[at], weights[at]) = (map.first_block, w * map.w[0]);
        count += 1;
    }
    Some((blocks, weights, count))
}

/// Blocks and weights of a contact whose vertices follow blocks of their own, rising, equal blocks merged.
fn scattered(surface: &Surface, c: &Contact) -> ([u32; MOST], [f64; MOST], usize) {
    let (mut blocks, mut weights, mut count) = ([0; MOST], [0.0; MOST], 0);
    for i in 0..4 {
        let (map, w) = (&surface.maps[c.vertices[i] as usize], c.weights[i]);
        if w == 0.0 {
            continue;
        }
        for j in 0..map.n as usize {
            let block = map.first_block + j as u32;
            let at = blocks[..count].partition_point(|&b| b < block);
            if at < count && blocks[at] == block {
                weights[at] += w * map.w[j];
                continue;
            }
            blocks.copy_within(at..count, at + 1);
            weights.copy_within(at..count, at + 1);
            blocks[at] = block;
            weights[at] = w * map.w[j];
            count += 1;
        }
    }
    (blocks, weights, count)
}
