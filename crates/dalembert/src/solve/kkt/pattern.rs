//! The symbolic half of a factorisation: which block goes where, without a number.

use std::ops::Range;
use std::sync::Arc;

use super::{Coupling, order};

pub(super) const NONE: u32 = u32::MAX;

/// One elimination. Its numbers lie together: W, then the blocks H of its later neighbours.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pivot {
    pub(super) start: u32,
    pub(super) end: u32,
    /// Place in `given`.
    pub(super) slot: u32,
    /// Primal or dual number.
    pub(super) node: u32,
    /// End of its range in `links` and in `targets`.
    pub(super) links_end: u32,
    pub(super) targets_end: u32,
    pub(super) rows: u8,
    pub(super) primal: bool,
    /// Rows and columns of its blocks: 6 for a body; those of a joint, but no less than 3.
    pub(super) size: u8,
    /// Earlier eliminations have written into the diagonal block.
    pub(super) touched: bool,
}

/// Block between a pivot and a later neighbour.
#[derive(Clone, Copy, Debug)]
pub(super) struct Link {
    /// Place in `given`.
    pub(super) slot: u32,
    /// Primal or dual number.
    pub(super) node: u32,
    /// Index of the coupling block, or `NONE` for fill.
    pub(super) source: u32,
    pub(super) primal: bool,
    /// Rows and columns of its blocks: 6 for a body; those of a joint, but no less than 3.
    pub(super) size: u8,
    pub(super) touched: bool,
}

/// Order of elimination and place of every block, for one graph of nodes. Holds no numbers, so that equal graphs can
/// share it.
#[derive(Clone, Debug, Default)]
pub struct Pattern {
    pub(super) primal: usize,
    pub(super) couplings: Vec<Coupling>,
    pub(super) coupling_start: Vec<u32>,
    pub(super) pivots: Vec<Pivot>,
    pub(super) links: Vec<Link>,
    /// Where the products HᵤᵀH_w of a pivot go, u ≤ w; the lowest bit says that this is the first to arrive.
    pub(super) targets: Vec<u32>,
    /// Numbers of the factor, and of the rows with padding.
    pub(super) data: usize,
    pub(super) given: usize,
    chunks: Vec<Chunk>,
    /// Most primal nodes from the first whose mass is still to be read to the last of a chunk.
    pub node_window: usize,
    /// The same for coupling blocks.
    pub block_window: usize,
}

/// Some consecutive eliminations, with the nodes and couplings that none before them has read.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Chunk {
    pub(super) pivots: Range<usize>,
    /// Where its links and targets begin.
    pub(super) links: usize,
    pub(super) targets: usize,
    /// Primal nodes to be ready before it begins.
    pub nodes: Range<usize>,
    /// Couplings to be ready before it begins.
    pub couplings: Range<usize>,
}

/// Eliminations in one [`Chunk`]: their numbers fit into a second-level cache.
const CHUNK: usize = 512;

/// A pattern that has numbered the nodes anew, in the order in which the elimination comes upon them.
#[derive(Clone, Debug)]
pub struct Sorted {
    /// The pattern.
    pub pattern: Arc<Pattern>,
    /// The old number of each primal node.
    pub nodes: Vec<u32>,
    /// The old number of each coupling.
    pub couplings: Vec<u32>,
}

impl Pattern {
    /// Finds the order of elimination and the place of every block.
    ///
    /// # Panics
    /// If a coupling names a node that does not exist or one twice, or has no rows or more than 6.
    pub fn new(primal: usize, couplings: &[Coupling]) -> Self {
        check(couplings);
        let mut pattern = Self::build(primal, couplings, order::minimum_degree(primal, couplings));
        let (pivots, nodes, couplings) = (0..pattern.pivots.len(), 0..primal, 0..couplings.len());
        pattern.chunks = vec![Chunk { pivots, nodes, couplings, ..Chunk::default() }];
        pattern.find_windows();
        pattern
    }

    /// The same with nodes and couplings numbered anew, so that memory is passed through once, chunk by chunk.
    ///
    /// # Panics
    /// As [`new`](Self::new).
    pub fn sorted(primal: usize, couplings: &[Coupling]) -> Sorted {
        check(couplings);
        let mut order = order::minimum_degree(primal, couplings);
        let (nodes, duals) = order.first_reads(primal, couplings);
        let sorted = |reads: &[u32]| {
            let mut list: Vec<u32> = (0..reads.len() as u32).collect();
            list.sort_by_key(|&v| reads[v as usize]);
            list
        };
        let (old_nodes, old_duals) = (sorted(&nodes), sorted(&duals));
        let mut new = vec![0; primal + couplings.len()];
        for (i, &v) in old_nodes.iter().enumerate() {
            new[v as usize] = i as u32;
        }
        for (i, &j) in old_duals.iter().enumerate() {
            new[primal + j as usize] = (primal + i) as u32;
        }
        order.rename(&new);
        let renamed = |j: &u32| {
            let old = &couplings[*j as usize];
            Coupling { nodes: old.nodes.iter().map(|b| new[*b as usize]).collect(), ..old.clone() }
        };
        let renamed: Vec<Coupling> = old_duals.iter().map(renamed).collect();
        let mut pattern = Self::build(primal, &renamed, order);
        let mut last = Chunk::default();
        for start in (0..pattern.pivots.len()).step_by(CHUNK) {
            let end = (start + CHUNK).min(pattern.pivots.len());
            let until = |from: usize, list: &[u32], reads: &[u32]| {
                from + list[from..].iter().take_while(|v| (reads[**v as usize] as usize) < end).count()
            };
            let before = start.checked_sub(1).map(|i| &pattern.pivots[i]);
            last = Chunk {
                pivots: start..end,
                links: before.map_or(0, |p| p.links_end as usize),
                targets: before.map_or(0, |p| p.targets_end as usize),
                nodes: last.nodes.end..until(last.nodes.end, &old_nodes, &nodes),
                couplings: last.couplings.end..until(last.couplings.end, &old_duals, &duals),
            };
            pattern.chunks.push(last.clone());
        }
        pattern.find_windows();
        Sorted { pattern: Arc::new(pattern), nodes: old_nodes, couplings: old_duals }
    }

    /// What is loaded chunk by chunk, and read once, needs room only for what waits to be read.
    fn find_windows(&mut self) {
        let (mut node, mut block) = (usize::MAX, usize::MAX);
        for chunk in self.chunks.iter().rev() {
            let mut links = chunk.links;
            for p in &self.pivots[chunk.pivots.clone()] {
                for link in &self.links[links..p.links_end as usize] {
                    block = block.min(if link.source == NONE { usize::MAX } else { link.source as usize });
                }
                links = p.links_end as usize;
                if p.primal {
                    node = node.min(p.node as usize);
                } else {
                    block = block.min(self.coupling_start[p.node as usize] as usize);
                }
            }
            let last = self.coupling_start[chunk.couplings.end] as usize;
            self.node_window = self.node_window.max(chunk.nodes.end.saturating_sub(node));
            self.block_window = self.block_window.max(last.saturating_sub(block));
        }
    }

    fn build(primal: usize, couplings: &[Coupling], order: order::Order) -> Self {
        let n = order.sequence.len();
        let size =
            |v: u32| if (v as usize) < primal { 6 } else { couplings[v as usize - primal].rows.max(3) };

        // Places of nodes and blocks.
        let (mut start, mut slot) = (vec![0u32; n + 1], vec![0u32; n]);
        let (mut data, mut given) = (0usize, 0usize);
        for (i, &v) in order.sequence.iter().enumerate() {
            (start[i], slot[i]) = (data as u32, given as u32);
            data += size(v) * (size(v) + order.later[v as usize].iter().map(|&u| size(u)).sum::<usize>());
            given += size(v);
        }
        assert!(2 * data <= u32::MAX as usize, "the factor needs {data} numbers");
        start[n] = data as u32;

        let mut coupling_start = vec![0u32];
        for c in couplings {
            coupling_start.push(coupling_start[coupling_start.len() - 1] + c.nodes.len() as u32);
        }
        let source = |v: u32, u: u32| {
            let (b, j) = (v.min(u), v.max(u) as usize);
            if (b as usize) >= primal || j < primal {
                return NONE;
            }
            let at = couplings[j - primal].nodes.iter().position(|&node| node == b);
            at.map_or(NONE, |k| coupling_start[j - primal] + k as u32)
        };

        // Links, then targets; a block is found by search here so that the numeric phase needs none.
        let mut links = Vec::new();
        let mut pivots = Vec::with_capacity(n);
        let mut first_link = vec![0usize; n + 1];
        for (i, &v) in order.sequence.iter().enumerate() {
            for &u in &order.later[v as usize] {
                links.push(Link {
                    slot: slot[order.place[u as usize] as usize],
                    node: if (u as usize) < primal { u } else { u - primal as u32 },
                    source: source(v, u),
                    primal: (u as usize) < primal,
                    size: size(u) as u8,
                    touched: false,
                });
            }
            first_link[i + 1] = links.len();
            let is_primal = (v as usize) < primal;
            pivots.push(Pivot {
                start: start[i],
                end: start[i + 1],
                slot: slot[i],
                node: if is_primal { v } else { v - primal as u32 },
                links_end: links.len() as u32,
                targets_end: 0,
                rows: if is_primal { 6 } else { couplings[v as usize - primal].rows as u8 },
                primal: is_primal,
                size: size(v) as u8,
                touched: false,
            });
        }
        let mut targets = Vec::new();
        for (i, &v) in order.sequence.iter().enumerate() {
            let later = &order.later[v as usize];
            for (k, &u) in later.iter().enumerate() {
                let at = order.place[u as usize] as usize;
                let first = !std::mem::replace(&mut pivots[at].touched, true);
                targets.push(2 * start[at] + first as u32);
                // Both lists are sorted by place: one sweep finds every block of u.
                let (mut offset, mut m) = (start[at] as usize + size(u) * size(u), 0);
                let candidates = &order.later[u as usize];
                for &w in &later[k + 1..] {
                    while candidates[m] != w {
                        offset += size(u) * size(candidates[m]);
                        m += 1;
                    }
                    let first = !std::mem::replace(&mut links[first_link[at] + m].touched, true);
                    targets.push(2 * offset as u32 + first as u32);
                }
            }
            pivots[i].targets_end = targets.len() as u32;
        }
        let couplings = couplings.to_vec();
        Self {
            primal,
            couplings,
            coupling_start,
            pivots,
            links,
            targets,
            data,
            given,
            chunks: Vec::new(),
            node_window: 0,
            block_window: 0,
        }
    }

    /// The eliminations in pieces.
    pub fn chunks(&self) -> &[Chunk] {
        &self.chunks
    }

    /// The primal nodes that a chunk eliminates.
    pub fn eliminated(&self, chunk: &Chunk) -> impl Iterator<Item = usize> {
        self.pivots[chunk.pivots.clone()].iter().filter(|p| p.primal).map(|p| p.node as usize)
    }

    /// Number of blocks off the diagonal of the factor. A tree has as many as couplings.
    pub fn fill(&self) -> usize {
        self.links.len()
    }
}

fn check(couplings: &[Coupling]) {
    for (j, c) in couplings.iter().enumerate() {
        assert!((1..=6).contains(&c.rows), "dual node {j} has {} rows, not 1 to 6", c.rows);
        for (k, b) in c.nodes.iter().enumerate() {
            assert!(!c.nodes[..k].contains(b), "dual node {j} names primal node {b} twice");
        }
    }
}
