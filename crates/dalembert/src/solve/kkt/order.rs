//! The order of elimination: minimum degree (Tinney and Walker 1967), weighted by rows, with safe pivots only.
//!
//! A primal node (M > 0) may be eliminated at any time. A dual node may go when its pivot
//! $A_{QP} S^{-1} A_{QP}^T$ has full rank, P being the primal and Q the dual nodes eliminated so far. That holds when
//! every dual node of Q owns a node of P which no other of Q owns: for two-body joints the blocks can then be sorted
//! into a triangle with the owned blocks $A_{j,b(j)}$ on its diagonal, or else all columns of the joints concerned
//! are already in P, so that a lost rank is true redundancy. Owners are found by augmenting paths (Kuhn 1955).
//!
//! The order is then sorted so that each node follows closely after what it depends on: a postorder of the elimination
//! tree, in which the parent of a node is its first later neighbour. Pivots and fill stay the same, and a chain goes
//! from its free end to the other.

use super::Coupling;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

const NONE: u32 = u32::MAX;

/// Nodes visited before a search for an owner gives up; the dual node then waits, which is always safe.
const SEARCH: usize = 1000;

/// Nodes in order of elimination (dual node j is number `primal + j`), and for each node its neighbours that come
/// later, sorted by their place in the order.
pub(super) struct Order {
    pub(super) sequence: Vec<u32>,
    pub(super) place: Vec<u32>,
    pub(super) later: Vec<Vec<u32>>,
}

impl Order {
    /// The first elimination that reads anything of each primal node, and of each coupling.
    pub(super) fn first_reads(&self, primal: usize, couplings: &[Coupling]) -> (Vec<u32>, Vec<u32>) {
        let (bodies, joints) = self.place.split_at(primal);
        let mut nodes = bodies.to_vec();
        let mut duals = joints.to_vec();
        for (read, c) in duals.iter_mut().zip(couplings) {
            *read = c.nodes.iter().map(|b| bodies[*b as usize]).fold(*read, u32::min);
            for b in &c.nodes {
                nodes[*b as usize] = nodes[*b as usize].min(*read);
            }
        }
        (nodes, duals)
    }

    /// Gives node v the number `new[v]`.
    pub(super) fn rename(&mut self, new: &[u32]) {
        let all = self.later.iter_mut().flatten().chain(&mut self.sequence);
        all.for_each(|v| *v = new[*v as usize]);
        let (mut later, old) = (vec![Vec::new(); new.len()], std::mem::take(&mut self.later));
        for (v, list) in old.into_iter().enumerate() {
            later[new[v] as usize] = list;
        }
        self.later = later;
        self.place = places(&self.sequence);
    }
}

struct Graph<'a> {
    primal: usize,
    couplings: &'a [Coupling],
    joints_of: Vec<Vec<u32>>,
    // Elimination graph; dead entries are removed when a list is next read.
    adjacent: Vec<Vec<u32>>,
    alive: Vec<bool>,
    rows: Vec<u32>,
    degree: Vec<u32>,
    /// Degree; joints before bodies, so that a branch is taken in from its tip; number.
    heap: BinaryHeap<Reverse<(u32, bool, u32)>>,
    // Which dual nodes may be tried, and which wait because no body is left to own.
    bodies_left: Vec<u32>,
    candidate: Vec<bool>,
    waiting: Vec<bool>,
    waiting_count: usize,
    primal_left: usize,
    // Matching of eliminated dual nodes with eliminated primal nodes.
    owner: Vec<u32>,
    owned: Vec<u32>,
    via: Vec<u32>,
    mark: Vec<u32>,
    stamp: u32,
    queue: Vec<u32>,
}

pub(super) fn minimum_degree(primal: usize, couplings: &[Coupling]) -> Order {
    let n = primal + couplings.len();
    let mut g = Graph::new(primal, couplings);
    let mut sequence = Vec::with_capacity(n);
    let mut later = vec![Vec::new(); n];
    while let Some(Reverse((degree, _, v))) = g.heap.pop() {
        let node = v as usize;
        if !g.alive[node] || degree != g.degree[node] {
            continue;
        }
        if node >= primal {
            let dual = node - primal;
            if g.waiting[dual] {
                continue;
            }
            if !g.claim(dual as u32) {
                g.waiting[dual] = true;
                g.waiting_count += 1;
                continue;
            }
        }
        later[node] = g.eliminate(v);
        sequence.push(v);
        if node < primal {
            g.release(v);
        }
    }
    debug_assert_eq!(sequence.len(), n);
    let sequence = postorder(&sequence, &later);
    let place = places(&sequence);
    for list in &mut later {
        list.sort_unstable_by_key(|&u| place[u as usize]);
    }
    Order { sequence, place, later }
}

/// Where each node stands in a sequence.
fn places(sequence: &[u32]) -> Vec<u32> {
    let mut place = vec![0; sequence.len()];
    for (i, &v) in sequence.iter().enumerate() {
        place[v as usize] = i as u32;
    }
    place
}

/// The sequence with every node after all nodes below it in the elimination tree, branch by branch. Large branches go
/// first, so that little waits while others are taken in (Liu 1986).
fn postorder(sequence: &[u32], later: &[Vec<u32>]) -> Vec<u32> {
    let place = places(sequence);
    let parent = |v: u32| later[v as usize].iter().min_by_key(|u| place[**u as usize]).copied();
    let mut size = vec![1u32; sequence.len()];
    for &v in sequence {
        if let Some(parent) = parent(v) {
            size[parent as usize] += size[v as usize];
        }
    }
    let mut ascending = sequence.to_vec();
    ascending.sort_unstable_by_key(|&v| (size[v as usize], Reverse(place[v as usize])));
    // Lists of children as chains: `first` of each node, `next` of each child.
    let (mut first, mut next) = (vec![NONE; sequence.len()], vec![NONE; sequence.len()]);
    let mut stack = Vec::new();
    for v in ascending {
        match parent(v) {
            Some(parent) => next[v as usize] = std::mem::replace(&mut first[parent as usize], v),
            None => stack.push(v),
        }
    }
    let mut sorted = Vec::with_capacity(sequence.len());
    while let Some(&v) = stack.last() {
        let child = first[v as usize];
        if child == NONE {
            sorted.push(v);
            stack.pop();
        } else {
            first[v as usize] = next[child as usize];
            stack.push(child);
        }
    }
    sorted
}

impl<'a> Graph<'a> {
    fn new(primal: usize, couplings: &'a [Coupling]) -> Self {
        let n = primal + couplings.len();
        let mut adjacent = vec![Vec::new(); n];
        let mut joints_of = vec![Vec::new(); primal];
        let mut rows = vec![6; n];
        let mut degree = vec![0; n];
        for (j, c) in couplings.iter().enumerate() {
            rows[primal + j] = c.rows as u32;
            for &b in &c.nodes {
                assert!((b as usize) < primal, "dual node {j} names primal node {b} of {primal}");
                adjacent[b as usize].push((primal + j) as u32);
                adjacent[primal + j].push(b);
                joints_of[b as usize].push(j as u32);
                degree[b as usize] += c.rows as u32;
                degree[primal + j] += 6;
            }
        }
        let candidate: Vec<bool> = couplings.iter().map(|c| c.nodes.is_empty()).collect();
        let heap = (0..n)
            .filter(|&v| v < primal || candidate[v - primal])
            .map(|v| Reverse((degree[v], v < primal, v as u32)))
            .collect::<Vec<_>>()
            .into();
        Self {
            primal,
            couplings,
            joints_of,
            adjacent,
            alive: vec![true; n],
            rows,
            degree,
            heap,
            bodies_left: couplings.iter().map(|c| c.nodes.len() as u32).collect(),
            candidate,
            waiting: vec![false; couplings.len()],
            waiting_count: 0,
            primal_left: primal,
            owner: vec![NONE; primal],
            owned: vec![NONE; couplings.len()],
            via: vec![NONE; primal],
            mark: vec![0; n],
            stamp: 0,
            queue: Vec::new(),
        }
    }

    fn push(&mut self, v: u32) {
        let node = v as usize;
        if node < self.primal || (self.candidate[node - self.primal] && !self.waiting[node - self.primal]) {
            self.heap.push(Reverse((self.degree[node], node < self.primal, v)));
        }
    }

    /// Removes v and joins its neighbours to a clique; returns them.
    fn eliminate(&mut self, v: u32) -> Vec<u32> {
        let mut near = std::mem::take(&mut self.adjacent[v as usize]);
        self.alive[v as usize] = false;
        near.retain(|&u| self.alive[u as usize]);
        // Short lists first: the longest (a hub) is never scanned.
        near.sort_unstable_by_key(|&u| (self.adjacent[u as usize].len(), u));
        for &u in &near {
            self.degree[u as usize] -= self.rows[v as usize];
        }
        for (i, &u) in near.iter().enumerate() {
            if i + 1 == near.len() {
                break;
            }
            self.stamp += 1;
            let (alive, mark, stamp) = (&self.alive, &mut self.mark, self.stamp);
            self.adjacent[u as usize].retain(|&w| alive[w as usize]);
            self.adjacent[u as usize].iter().for_each(|&w| mark[w as usize] = stamp);
            for &w in &near[i + 1..] {
                if self.mark[w as usize] != stamp {
                    self.adjacent[u as usize].push(w);
                    self.adjacent[w as usize].push(u);
                    self.degree[u as usize] += self.rows[w as usize];
                    self.degree[w as usize] += self.rows[u as usize];
                }
            }
        }
        near.sort_unstable();
        near.iter().for_each(|&u| self.push(u));
        near
    }

    /// After primal node b went: its joints may become candidates, and waiting ones may find an owner.
    fn release(&mut self, b: u32) {
        self.primal_left -= 1;
        for i in 0..self.joints_of[b as usize].len() {
            let j = self.joints_of[b as usize][i] as usize;
            self.bodies_left[j] -= 1;
            let may = self.couplings[j].pivot_after_one || self.bodies_left[j] == 0;
            if may && !self.candidate[j] {
                self.candidate[j] = true;
                self.push((self.primal + j) as u32);
            }
        }
        if self.primal_left == 0 {
            for j in 0..self.couplings.len() {
                self.wake(j);
            }
        } else if self.waiting_count > 0 {
            // Alternating paths backwards: from the free body to every waiting joint that could now have an owner.
            self.stamp += 1;
            self.queue.clear();
            self.queue.push(b);
            self.mark[b as usize] = self.stamp;
            let mut next = 0;
            while next < self.queue.len() && next < SEARCH {
                let body = self.queue[next] as usize;
                next += 1;
                for i in 0..self.joints_of[body].len() {
                    let j = self.joints_of[body][i] as usize;
                    self.wake(j);
                    let other = self.owned[j];
                    if other != NONE && self.mark[other as usize] != self.stamp {
                        self.mark[other as usize] = self.stamp;
                        self.queue.push(other);
                    }
                }
            }
        }
    }

    fn wake(&mut self, j: usize) {
        if self.waiting[j] {
            self.waiting[j] = false;
            self.waiting_count -= 1;
            self.push((self.primal + j) as u32);
        }
    }

    /// Finds an eliminated body for dual node j to own, moving other owners if need be. Also true when rank that is
    /// missing now can never come: all bodies of all joints in question are already eliminated.
    fn claim(&mut self, j: u32) -> bool {
        if self.primal_left == 0 {
            return true;
        }
        let mut closed = true;
        self.stamp += 1;
        self.queue.clear();
        self.queue.push(j);
        let mut next = 0;
        while next < self.queue.len() {
            if next >= SEARCH {
                return false;
            }
            let d = self.queue[next];
            next += 1;
            closed &= self.bodies_left[d as usize] == 0;
            for &b in &self.couplings[d as usize].nodes {
                if self.alive[b as usize] || self.mark[b as usize] == self.stamp {
                    continue;
                }
                self.mark[b as usize] = self.stamp;
                self.via[b as usize] = d;
                if self.owner[b as usize] != NONE {
                    self.queue.push(self.owner[b as usize]);
                    continue;
                }
                let mut body = b;
                loop {
                    let d = self.via[body as usize];
                    let before = self.owned[d as usize];
                    self.owner[body as usize] = d;
                    self.owned[d as usize] = body;
                    if d == j {
                        return true;
                    }
                    body = before;
                }
            }
        }
        closed
    }
}
