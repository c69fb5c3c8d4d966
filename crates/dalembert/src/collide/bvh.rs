//! Boxes and trees of boxes.
//!
//! A tree is built by sorting items along a Morton curve through their centres (Lauterbach et al. 2009) and halving the
//! sorted list where the highest differing bit changes. Nodes lie in the order of a depth-first walk and each knows the
//! node that follows its subtree, so walks need no stack, and all that comes after a leaf is what the leaf has not met
//! yet. Moved boxes are taken over by [`Tree::refit`] in one backward sweep. Which pairs are found depends on the boxes
//! alone, never on the shape of the tree.

use crate::math::Vec3;

/// A box with its sides along the axes. The fourth numbers are zero and fill a vector register.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Aabb {
    /// Smallest coordinates \[m\].
    pub low: [f64; 4],
    /// Largest coordinates \[m\].
    pub high: [f64; 4],
}

impl Aabb {
    /// The box of nothing: it overlaps nothing, and a union with it changes nothing.
    pub const EMPTY: Self = Self {
        low: [f64::INFINITY, f64::INFINITY, f64::INFINITY, 0.0],
        high: [f64::NEG_INFINITY, f64::NEG_INFINITY, f64::NEG_INFINITY, 0.0],
    };

    /// The box of two points, every side moved out by `margin` \[m\].
    #[inline(always)]
    pub fn of(a: &Vec3, b: &Vec3, margin: f64) -> Self {
        let (mut low, mut high) = ([0.0; 4], [0.0; 4]);
        for k in 0..3 {
            low[k] = a[k].min(b[k]) - margin;
            high[k] = a[k].max(b[k]) + margin;
        }
        Self { low, high }
    }

    /// The smallest box around both.
    #[inline(always)]
    #[must_use]
    pub fn union(&self, o: &Self) -> Self {
        let pick = |a: f64, b: f64, less: bool| if less { a } else { b };
        Self {
            low: std::array::from_fn(|k| pick(self.low[k], o.low[k], self.low[k] < o.low[k])),
            high: std::array::from_fn(|k| pick(self.high[k], o.high[k], self.high[k] > o.high[k])),
        }
    }

    /// True if the boxes have a common point, touching included.
    #[inline(always)]
    pub fn overlaps(&self, o: &Self) -> bool {
        let mut apart = [false; 4];
        for k in 0..4 {
            apart[k] = (self.low[k] > o.high[k]) | (o.low[k] > self.high[k]);
        }
        !(apart[0] | apart[1] | apart[2] | apart[3])
    }

    /// Sum of the three areas of its sides \[m²\]; zero for a box of nothing.
    fn area(&self) -> f64 {
        let [x, y, z] = std::array::from_fn(|k| (self.high[k] - self.low[k]).max(0.0));
        x * y + y * z + z * x
    }
}

/// Items in a leaf.
const LEAF: usize = 4;

#[derive(Debug, Clone, Copy)]
struct Node {
    bounds: Aabb,
    /// The node that follows this subtree.
    skip: u32,
    /// Items of a leaf: places in the sorted list. Inner nodes have none.
    first: u32,
    count: u32,
}

/// A tree over numbered boxes.
#[derive(Debug, Clone, Default)]
pub struct Tree {
    nodes: Vec<Node>,
    /// Items in the order of the leaves.
    items: Vec<u32>,
    /// Their boxes, in the same order.
    boxes: Vec<Aabb>,
    /// Σ area of nodes / area of the root, when it was built.
    built: f64,
    keys: Vec<(u64, u32)>,
}

/// Spreads 21 bits to every third place.
fn spread(x: u64) -> u64 {
    let mut x = x & 0x1f_ffff;
    x = (x | x << 32) & 0x001f_0000_0000_ffff;
    x = (x | x << 16) & 0x001f_0000_ff00_00ff;
    x = (x | x << 8) & 0x100f_00f0_0f00_f00f;
    x = (x | x << 4) & 0x10c3_0c30_c30c_30c3;
    (x | x << 2) & 0x1249_2492_4924_9249
}

impl Tree {
    /// Number of items.
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// True if it has none.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// Box around everything.
    pub fn bounds(&self) -> Aabb {
        self.nodes.first().map_or(Aabb::EMPTY, |n| n.bounds)
    }

    /// Builds the tree over items 0 … n − 1 with the given boxes. Boxes whose numbers are not finite go anywhere.
    pub fn build(&mut self, boxes: &[Aabb]) {
        self.nodes.clear();
        self.keys.clear();
        let center = |b: &Aabb| -> [f64; 3] { std::array::from_fn(|k| 0.5 * b.low[k] + 0.5 * b.high[k]) };
        let (mut low, mut high) = ([f64::INFINITY; 3], [f64::NEG_INFINITY; 3]);
        for b in boxes {
            let c = center(b);
            for k in 0..3 {
                low[k] = low[k].min(c[k]);
                high[k] = high[k].max(c[k]);
            }
        }
        let scale: [f64; 3] = std::array::from_fn(|k| {
            let size = high[k] - low[k];
            if size > 0.0 { 2_097_151.0 / size } else { 0.0 }
        });
        // A cast from a float saturates, and makes nothing of what is not a number.
        self.keys.extend(boxes.iter().enumerate().map(|(i, b)| {
            let c = center(b);
            let place = |k: usize| spread((((c[k] - low[k]) * scale[k]) as u64).min(2_097_151));
            (place(0) << 2 | place(1) << 1 | place(2), i as u32)
        }));
        self.keys.sort_unstable();
        self.items.clear();
        self.items.extend(self.keys.iter().map(|k| k.1));
        self.split_all();
        self.sweep(boxes);
        self.built = self.spread_of_areas();
    }

    /// Nodes in depth-first order, with their places and skips.
    fn split_all(&mut self) {
        let n = self.keys.len();
        if n == 0 {
            return;
        }
        // (first, end, parent waits for its skip): a negative entry closes a node.
        enum Move {
            Open(usize, usize),
            Close(usize),
        }
        let mut stack = vec![Move::Open(0, n)];
        while let Some(next) = stack.pop() {
            match next {
                Move::Close(node) => self.nodes[node].skip = self.nodes.len() as u32,
                Move::Open(a, b) => {
                    let node = self.nodes.len();
                    let leaf = b - a <= LEAF;
                    let count = if leaf { (b - a) as u32 } else { 0 };
                    self.nodes.push(Node {
                        bounds: Aabb::EMPTY,
                        skip: node as u32 + 1,
                        first: a as u32,
                        count,
                    });
                    if !leaf {
                        let m = self.split(a, b);
                        stack.extend([Move::Close(node), Move::Open(m, b), Move::Open(a, m)]);
                    }
                }
            }
        }
    }

    /// Where the highest differing bit of the sorted keys changes; the middle if all keys are equal.
    fn split(&self, a: usize, b: usize) -> usize {
        let (first, last) = (self.keys[a].0, self.keys[b - 1].0);
        if first == last {
            return a.midpoint(b);
        }
        let bit = 63 - (first ^ last).leading_zeros();
        let edge = (last >> bit) << bit;
        a + self.keys[a..b].partition_point(|k| k.0 < edge)
    }

    /// Takes over moved boxes of the same items; builds anew if that has made the nodes fat.
    pub fn refit(&mut self, boxes: &[Aabb]) {
        if boxes.len() != self.items.len() {
            return self.build(boxes);
        }
        self.sweep(boxes);
        if self.spread_of_areas() > 1.5 * self.built {
            self.build(boxes);
        }
    }

    fn spread_of_areas(&self) -> f64 {
        let root = self.bounds().area();
        if root > 0.0 { self.nodes.iter().map(|n| n.bounds.area()).sum::<f64>() / root } else { 0.0 }
    }

    /// Boxes of items, then of nodes from the last to the first: children come after their parents.
    fn sweep(&mut self, boxes: &[Aabb]) {
        self.boxes.clear();
        self.boxes.extend(self.items.iter().map(|&i| boxes[i as usize]));
        for n in (0..self.nodes.len()).rev() {
            let node = self.nodes[n];
            let mut bounds = Aabb::EMPTY;
            if node.count > 0 {
                for b in &self.boxes[node.first as usize..(node.first + node.count) as usize] {
                    bounds = bounds.union(b);
                }
            } else {
                let left = n + 1;
                let right = self.nodes[left].skip as usize;
                bounds = self.nodes[left].bounds.union(&self.nodes[right].bounds);
            }
            self.nodes[n].bounds = bounds;
        }
    }

    /// Calls `visit` with every leaf from node `from` on whose box overlaps `bounds`; stops when it answers false.
    #[inline(always)]
    fn leaves(&self, from: usize, bounds: &Aabb, mut visit: impl FnMut(usize, &Node) -> bool) -> bool {
        let mut n = from;
        while let Some(node) = self.nodes.get(n) {
            if !bounds.overlaps(&node.bounds) {
                n = node.skip as usize;
            } else {
                if node.count > 0 && !visit(n, node) {
                    return false;
                }
                n += 1;
            }
        }
        true
    }

    /// Calls `visit` with every item whose box overlaps `bounds`, until it answers false. True if it never did.
    pub fn query(&self, bounds: &Aabb, mut visit: impl FnMut(u32) -> bool) -> bool {
        self.leaves(0, bounds, |_, node| {
            let range = node.first as usize..(node.first + node.count) as usize;
            range.into_iter().all(|i| !bounds.overlaps(&self.boxes[i]) || visit(self.items[i]))
        })
    }

    /// Calls `visit` with every two items (once) whose boxes overlap, until it answers false.
    pub fn self_pairs(&self, mut visit: impl FnMut(u32, u32) -> bool) -> bool {
        for leaf in self.nodes.iter().filter(|n| n.count > 0) {
            let range = leaf.first as usize..(leaf.first + leaf.count) as usize;
            for i in range.clone() {
                for j in i + 1..range.end {
                    if self.boxes[i].overlaps(&self.boxes[j]) && !visit(self.items[i], self.items[j]) {
                        return false;
                    }
                }
            }
            let go = self.leaves(leaf.skip as usize, &leaf.bounds, |_, other| {
                self.leaf_pairs(leaf, self, other, &mut visit)
            });
            if !go {
                return false;
            }
        }
        true
    }

    /// Calls `visit` with every item of this tree and item of the other whose boxes overlap, until it answers false.
    pub fn pairs(&self, other: &Self, mut visit: impl FnMut(u32, u32) -> bool) -> bool {
        self.leaves(0, &other.bounds(), |_, leaf| {
            other.leaves(0, &leaf.bounds, |_, theirs| self.leaf_pairs(leaf, other, theirs, &mut visit))
        })
    }

    #[inline(always)]
    fn leaf_pairs(
        &self,
        mine: &Node,
        other: &Self,
        theirs: &Node,
        visit: &mut impl FnMut(u32, u32) -> bool,
    ) -> bool {
        let (i0, j0) = (mine.first as usize, theirs.first as usize);
        let a = &self.boxes[i0..i0 + mine.count as usize];
        let b = &other.boxes[j0..j0 + theirs.count as usize];
        for (i, a) in a.iter().enumerate() {
            for (j, b) in b.iter().enumerate() {
                if a.overlaps(b) && !visit(self.items[i0 + i], other.items[j0 + j]) {
                    return false;
                }
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn some_boxes(count: usize) -> impl Strategy<Value = Vec<Aabb>> {
        // Coordinates on a coarse lattice: many equal centres and many touching sides.
        let number = prop_oneof![(-4i32..4).prop_map(f64::from), -4.0..4.0f64];
        let point = [number.clone(), number.clone(), number].prop_map(Vec3::from);
        let one =
            (point.clone(), point, 0.0..0.5f64).prop_map(|(a, b, m)| Aabb::of(&a, &(a + 0.2 * (b - a)), m));
        prop::collection::vec(one, 0..count)
    }

    fn all(visit: impl Fn(&mut dyn FnMut(u32, u32) -> bool)) -> Vec<(u32, u32)> {
        let mut found = vec![];
        visit(&mut |a, b| {
            found.push((a, b));
            true
        });
        found.sort_unstable();
        found
    }

    proptest! {
        #[test]
        fn trees_find_what_brute_force_finds(a in some_boxes(60), b in some_boxes(60), moved in some_boxes(60)) {
            let (mut A, mut B) = (Tree::default(), Tree::default());
            B.build(&b);
            for now in [&a, &moved, &a] {
                A.refit(now);
                let mut expected = vec![];
                for (i, x) in now.iter().enumerate() {
                    expected.extend((0..b.len()).filter(|&j| x.overlaps(&b[j])).map(|j| (i as u32, j as u32)));
                }
                prop_assert_eq!(all(|v| { A.pairs(&B, v); }), expected);
                let mut expected = vec![];
                for i in 0..now.len() {
                    expected.extend((i + 1..now.len()).filter(|&j| now[i].overlaps(&now[j])).map(|j| (i as u32, j as u32)));
                }
                let own = all(|v| { A.self_pairs(|i, j| v(i.min(j), i.max(j))); });
                prop_assert_eq!(own, expected);
                for x in &b {
                    let expected: Vec<(u32, u32)> = (0..now.len()).filter(|&i| x.overlaps(&now[i])).map(|i| (i as u32, 0)).collect();
                    prop_assert_eq!(all(|v| { A.query(x, |i| v(i, 0)); }), expected);
                }
            }
        }
    }

    #[test]
    fn a_walk_stops_when_told() {
        let boxes = vec![Aabb::of(&Vec3::zeros(), &Vec3::zeros(), 1.0); 100];
        let mut tree = Tree::default();
        tree.build(&boxes);
        let mut count = 0;
        assert!(!tree.self_pairs(|_, _| {
            count += 1;
            count < 17
        }));
        assert_eq!(count, 17);
    }

    #[test]
    fn numbers_that_are_not_finite_do_no_harm() {
        let bad = Vec3::new(f64::NAN, f64::INFINITY, 0.0);
        let boxes = [Aabb::of(&bad, &bad, 0.0), Aabb::of(&Vec3::zeros(), &Vec3::zeros(), 1.0), Aabb::EMPTY];
        let mut tree = Tree::default();
        tree.build(&boxes);
        let mut found = vec![];
        tree.query(&boxes[1], |i| {
            found.push(i);
            true
        });
        assert!(found.contains(&1));
    }
}
