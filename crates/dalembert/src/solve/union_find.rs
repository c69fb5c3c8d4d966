//! Disjoint sets as trees of parents (Galler and Fischer 1964), with path halving (Tarjan and van Leeuwen 1984).
//!
//! The lowest number of a set is its root, so that the result does not depend on the order of joins.

/// A partition of 0..n.
#[derive(Debug, Clone, Default)]
pub struct UnionFind {
    parent: Vec<u32>,
}

impl UnionFind {
    /// Each of n elements is a set of its own.
    pub fn new(n: usize) -> Self {
        Self { parent: (0..n as u32).collect() }
    }

    /// The same in the memory at hand.
    pub fn reset(&mut self, n: usize) {
        self.parent.clear();
        self.parent.extend(0..n as u32);
    }

    /// Number of elements.
    pub fn len(&self) -> usize {
        self.parent.len()
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.parent.is_empty()
    }

    /// The lowest element of the set of i.
    #[inline]
    pub fn find(&mut self, mut i: u32) -> u32 {
        while self.parent[i as usize] != i {
            let grandparent = self.parent[self.parent[i as usize] as usize];
            self.parent[i as usize] = grandparent;
            i = grandparent;
        }
        i
    }

    /// Joins the sets of a and b.
    #[inline]
    pub fn join(&mut self, a: u32, b: u32) {
        let (a, b) = (self.find(a), self.find(b));
        self.parent[a.max(b) as usize] = a.min(b);
    }

    /// Joins the sets of all these elements.
    pub fn join_all(&mut self, elements: impl IntoIterator<Item = u32>) {
        let mut elements = elements.into_iter();
        let Some(first) = elements.next() else { return };
        elements.for_each(|i| self.join(first, i));
    }

    /// One set of all elements.
    pub fn join_everything(&mut self) {
        self.parent.fill(0);
    }
}

#[cfg(test)]
mod tests {
    use super::UnionFind;
    use crate::math::Random;

    #[test]
    fn sets_are_the_components_of_the_graph_and_the_lowest_element_is_the_root() {
        let mut random = Random::new(4);
        for n in 1..40 {
            let edges: Vec<[u32; 2]> =
                (0..n / 2).map(|_| [0, 1].map(|_| random.between(0.0, n as f64) as u32)).collect();
            // Labels that spread along edges until they stay.
            let mut label: Vec<u32> = (0..n as u32).collect();
            for _ in 0..n {
                for [a, b] in edges.iter().map(|e| e.map(|i| i as usize)) {
                    let low = label[a].min(label[b]);
                    (label[a], label[b]) = (low, low);
                }
            }
            let (mut sets, mut reversed) = (UnionFind::new(n), UnionFind::default());
            reversed.reset(n);
            edges.iter().for_each(|[a, b]| sets.join(*a, *b));
            edges.iter().rev().for_each(|e| reversed.join_all(e.iter().rev().copied()));
            for i in 0..n as u32 {
                assert_eq!([sets.find(i), reversed.find(i)], [label[i as usize]; 2]);
            }
            assert!(sets.len() == n && !sets.is_empty());
            sets.join_everything();
            assert!((0..n as u32).all(|i| sets.find(i) == 0));
        }
    }
}
