//! Trees of one robot that have nothing to do with each other, as in a file with many robots.

use std::ops::Range;

use super::tree::{NONE, Tree};

/// One tree, or some that go together: numbers without gaps.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct TreeRange {
    /// Its nodes.
    pub(crate) nodes: Range<usize>,
    /// Its dofs.
    pub(crate) dofs: Range<usize>,
}

fn hull(a: &Range<usize>, b: &Range<usize>) -> Range<usize> {
    if a.is_empty() {
        return b.clone();
    }
    a.start.min(b.start)..a.end.max(b.end)
}

fn meet(a: &Range<usize>, b: &Range<usize>) -> bool {
    a.start < b.end && b.start < a.end
}

impl Tree {
    /// All trees in the order of their numbers. Those whose numbers mix go together, and those that have dofs between the
    /// lowest and the highest of a pair in `joined`.
    pub(crate) fn trees(&self, joined: &[Range<usize>]) -> Vec<TreeRange> {
        let mut of_root = vec![TreeRange::default(); self.nodes.len()];
        for (i, node) in self.nodes.iter().enumerate().skip(1) {
            let (v, own) = (node.v as usize, &mut of_root[node.root as usize]);
            own.nodes = hull(&own.nodes, &(i..i + 1));
            own.dofs = hull(&own.dofs, &(v..v + node.kind.freedoms()));
        }
        let mut list: Vec<TreeRange> = Vec::new();
        for next in of_root.into_iter().filter(|t| !t.nodes.is_empty()) {
            list.push(next);
            // The last may reach into those before it, and a pair may join it with them.
            while let [.., a, b] = &list[..] {
                let pair = |r: &Range<usize>| meet(r, &a.dofs) && meet(r, &b.dofs);
                if !meet(&a.nodes, &b.nodes) && !meet(&a.dofs, &b.dofs) && !joined.iter().any(pair) {
                    break;
                }
                let both = TreeRange { nodes: hull(&a.nodes, &b.nodes), dofs: hull(&a.dofs, &b.dofs) };
                list.truncate(list.len() - 2);
                list.push(both);
            }
        }
        list
    }

    /// The node that carries a link; 0 for the world.
    pub(crate) fn node_of_link(&self, link: usize) -> usize {
        self.links[link].node as usize
    }

    /// The dof nearest to a link on its path to the root.
    pub(crate) fn dof_of_link(&self, link: usize) -> Option<usize> {
        let d = self.last_dof(self.links[link].node);
        (d != NONE).then_some(d as usize)
    }
}
