//! Boxes and trees of boxes.
//!
//! A tree is built by sorting items along a Morton curve through their centres (Lauterbach et al. 2009) and halving the
//! sorted list where the highest differing bit changes. Two halvings make a node of four children, whose boxes are tested
//! together; four items make a leaf. Moved boxes are taken over by [`Tree::refit`] in one backward sweep. Which pairs are
//! found depends on the boxes alone, never on the shape of the tree.

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

    /// The middle \[m\].
    #[inline(always)]
    pub(super) fn middle(&self) -> Vec3 {
        Vec3::from_fn(|k, _| 0.5 * (self.low[k] + self.high[k]))
    }

    /// The least and the largest d·(x − origin) of its points.
    #[inline(always)]
    pub(super) fn ends_along(&self, d: &Vec3, origin: &Vec3) -> [f64; 2] {
        let (mut least, mut most) = (0.0, 0.0);
        for k in 0..3 {
            let (a, b) = (d[k] * (self.low[k] - origin[k]), d[k] * (self.high[k] - origin[k]));
            least += a.min(b);
            most += a.max(b);
        }
        [least, most]
    }

    /// Sum of the three areas of its sides \[m²\]; zero for a box of nothing.
    fn area(&self) -> f64 {
        let [x, y, z] = std::array::from_fn(|k| (self.high[k] - self.low[k]).max(0.0));
        x * y + y * z + z * x
    }
}

/// Four boxes side by side: smallest x, y, z and largest x, y, z of each.
#[derive(Debug, Clone, Copy)]
struct Four([[f64; 4]; 6]);

impl Four {
    const EMPTY: Self = Self([
        [f64::INFINITY; 4],
        [f64::INFINITY; 4],
        [f64::INFINITY; 4],
        [f64::NEG_INFINITY; 4],
        [f64::NEG_INFINITY; 4],
        [f64::NEG_INFINITY; 4],
    ]);

    #[inline(always)]
    fn set(&mut self, lane: usize, b: &Aabb) {
        for k in 0..3 {
            self.0[k][lane] = b.low[k];
            self.0[k + 3][lane] = b.high[k];
        }
    }

    /// The smallest box around all four.
    #[inline(always)]
    fn union(&self) -> Aabb {
        let mut out = Aabb::EMPTY;
        for k in 0..3 {
            for lane in 0..4 {
                let (low, high) = (self.0[k][lane], self.0[k + 3][lane]);
                out.low[k] = if low < out.low[k] { low } else { out.low[k] };
                out.high[k] = if high > out.high[k] { high } else { out.high[k] };
            }
        }
        out
    }

    /// Bit l is set if box l overlaps `b`.
    #[inline(always)]
    fn overlaps(&self, b: &Aabb) -> u32 {
        // The largest of six differences is not above zero: plain arithmetic, which fills vector registers.
        let max = |a: [f64; 4], b: [f64; 4]| -> [f64; 4] {
            std::array::from_fn(|l| if a[l] > b[l] { a[l] } else { b[l] })
        };
        let below = |k: usize| -> [f64; 4] { std::array::from_fn(|l| b.low[k] - self.0[k + 3][l]) };
        let above = |k: usize| -> [f64; 4] { std::array::from_fn(|l| self.0[k][l] - b.high[k]) };
        let apart = max(max(max(below(0), below(1)), max(below(2), above(0))), max(above(1), above(2)));
        let mut mask = 0;
        for l in 0..4 {
            mask |= u32::from(!(apart[l] > 0.0)) << l;
        }
        mask
    }
}

/// A node with up to four children.
#[derive(Debug, Clone, Copy)]
struct Node {
    bounds: Four,
    /// Numbers of the children: nodes, or leaves with `LEAF` set.
    children: [u32; 4],
    /// The last leaf below each child.
    last: [u32; 4],
    count: u32,
}

const LEAF: u32 = 1 << 31;

/// Up to four items.
#[derive(Debug, Clone, Copy)]
struct Leaf {
    boxes: Four,
    items: [u32; 4],
    count: u32,
    bounds: Aabb,
}

/// A tree over numbered boxes.
#[derive(Debug, Clone, Default)]
pub struct Tree {
    /// Parents before children.
    nodes: Vec<Node>,
    leaves: Vec<Leaf>,
    bounds: Option<Aabb>,
    /// Σ area of nodes / area of the root, when it was built.
    built: f64,
    /// Place on the curve in the high bits, number of the item in the low ones; sorted.
    keys: Vec<u64>,
    /// How many low bits there are.
    low_bits: u32,
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
        self.keys.len()
    }

    /// True if it has none.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// Box around everything.
    pub fn bounds(&self) -> Aabb {
        self.bounds.unwrap_or(Aabb::EMPTY)
    }

    /// Builds the tree over items 0 … n − 1 with the given boxes. Boxes whose numbers are not finite go anywhere.
    pub fn build(&mut self, boxes: &[Aabb]) {
        self.clear();
        let center = |b: &Aabb| -> [f64; 3] { std::array::from_fn(|k| 0.5 * b.low[k] + 0.5 * b.high[k]) };
        let (mut low, mut high) = ([f64::INFINITY; 3], [f64::NEG_INFINITY; 3]);
        for b in boxes {
            let c = center(b);
            for k in 0..3 {
                low[k] = low[k].min(c[k]);
                high[k] = high[k].max(c[k]);
            }
        }
        self.low_bits = usize::BITS - boxes.len().leading_zeros();
        let axis_bits = ((64 - self.low_bits) / 3).min(21);
        let most = (1u64 << axis_bits) - 1;
        let scale: [f64; 3] = std::array::from_fn(|k| {
            let size = high[k] - low[k];
            if size > 0.0 { most as f64 / size } else { 0.0 }
        });
        // A cast from a float saturates, and makes nothing of what is not a number.
        self.keys.extend(boxes.iter().enumerate().map(|(i, b)| {
            let c = center(b);
            let place = |k: usize| spread((((c[k] - low[k]) * scale[k]) as u64).min(most));
            (place(0) << 2 | place(1) << 1 | place(2)) << self.low_bits | i as u64
        }));
        self.keys.sort_unstable();
        if !self.keys.is_empty() {
            self.open(0, self.keys.len());
        }
        self.sweep(boxes);
        self.built = self.spread_of_areas();
    }

    /// The node over the sorted keys a … b − 1: halved, and its halves halved.
    fn open(&mut self, a: usize, b: usize) -> u32 {
        let node = self.nodes.len();
        self.nodes.push(Node { bounds: Four::EMPTY, children: [0; 4], last: [0; 4], count: 0 });
        let mut ranges = [(a, b), (0, 0), (0, 0), (0, 0)];
        let mut count = 1;
        // Twice: every range of more than a leaf becomes two.
        for _ in 0..2 {
            let old = ranges;
            let n = count;
            count = 0;
            for &(a, b) in &old[..n] {
                if b - a > 4 {
                    let m = self.split(a, b);
                    ranges[count] = (a, m);
                    ranges[count + 1] = (m, b);
                    count += 2;
                } else {
                    ranges[count] = (a, b);
                    count += 1;
                }
            }
        }
        for (lane, &(a, b)) in ranges[..count].iter().enumerate() {
            let child = if b - a <= 4 {
                let mut items = [0; 4];
                for (item, key) in items.iter_mut().zip(&self.keys[a..b]) {
                    *item = (key & ((1 << self.low_bits) - 1)) as u32;
                }
                let count = (b - a) as u32;
                self.leaves.push(Leaf { boxes: Four::EMPTY, items, count, bounds: Aabb::EMPTY });
                (self.leaves.len() - 1) as u32 | LEAF
            } else {
                self.open(a, b)
            };
            self.nodes[node].children[lane] = child;
            self.nodes[node].last[lane] = (self.leaves.len() - 1) as u32;
        }
        self.nodes[node].count = count as u32;
        node as u32
    }

    /// Where the highest differing bit of the sorted keys changes; the middle if all keys are equal.
    fn split(&self, a: usize, b: usize) -> usize {
        let (first, last) = (self.keys[a], self.keys[b - 1]);
        let bit = 63 - (first ^ last).leading_zeros();
        if bit < self.low_bits {
            return a.midpoint(b);
        }
        let edge = (last >> bit) << bit;
        a + self.keys[a..b].partition_point(|&k| k < edge)
    }

    /// Forgets the items and keeps the memory.
    pub fn clear(&mut self) {
        self.nodes.clear();
        self.leaves.clear();
        self.keys.clear();
        self.bounds = None;
    }

    /// Takes over moved boxes of the same items; builds anew if that has made the nodes fat.
    pub fn refit(&mut self, boxes: &[Aabb]) {
        if boxes.len() != self.keys.len() {
            return self.build(boxes);
        }
        self.sweep(boxes);
        if self.spread_of_areas() > 1.5 * self.built {
            self.build(boxes);
        }
    }

    fn spread_of_areas(&self) -> f64 {
        let root = self.bounds().area();
        if root > 0.0 { self.leaves.iter().map(|l| l.bounds.area()).sum::<f64>() / root } else { 0.0 }
    }

    /// Boxes of leaves, then of nodes from the last to the first: children come after their parents.
    fn sweep(&mut self, boxes: &[Aabb]) {
        for leaf in &mut self.leaves {
            let mut bounds = Aabb::EMPTY;
            for lane in 0..leaf.count as usize {
                let b = &boxes[leaf.items[lane] as usize];
                leaf.boxes.set(lane, b);
                bounds = bounds.union(b);
            }
            leaf.bounds = bounds;
        }
        for n in (0..self.nodes.len()).rev() {
            let node = self.nodes[n];
            for lane in 0..node.count as usize {
                let child = node.children[lane];
                let b = if child & LEAF != 0 {
                    self.leaves[(child & !LEAF) as usize].bounds
                } else {
                    self.nodes[child as usize].bounds.union()
                };
                self.nodes[n].bounds.set(lane, &b);
            }
        }
        self.bounds = self.nodes.first().map(|n| n.bounds.union());
    }

    /// Calls `visit` with every leaf from number `from` on whose box overlaps `bounds`; stops when it answers false.
    #[inline(always)]
    fn leaves(&self, from: u32, bounds: &Aabb, mut visit: impl FnMut(&Leaf) -> bool) -> bool {
        // 63 bits of a key and 32 of a place, two per level, three waiting children each.
        let mut stack = [0u32; 160];
        let mut top = usize::from(!self.nodes.is_empty());
        while top > 0 {
            top -= 1;
            let node = &self.nodes[stack[top] as usize];
            let mut hits = node.bounds.overlaps(bounds) & ((1 << node.count) - 1);
            while hits != 0 {
                let lane = hits.trailing_zeros() as usize & 3;
                hits &= hits - 1;
                if node.last[lane] < from {
                    continue;
                }
                let child = node.children[lane];
                if child & LEAF != 0 {
                    if !visit(&self.leaves[(child & !LEAF) as usize]) {
                        return false;
                    }
                } else {
                    stack[top] = child;
                    top += 1;
                }
            }
        }
        true
    }

    /// Calls `visit` with every item whose box overlaps `bounds`, until it answers false. True if it never did.
    pub fn query(&self, bounds: &Aabb, mut visit: impl FnMut(u32) -> bool) -> bool {
        self.leaves(0, bounds, |leaf| leaf.query(bounds, &mut visit))
    }

    /// Calls `visit` with every two items (once) whose boxes overlap, until it answers false.
    pub fn self_pairs(&self, mut visit: impl FnMut(u32, u32) -> bool) -> bool {
        for (k, leaf) in self.leaves.iter().enumerate() {
            for i in 1..leaf.count as usize {
                let hits = leaf.boxes.overlaps(&leaf.item_box(i));
                for j in (0..i).filter(|j| hits >> j & 1 == 1) {
                    if !visit(leaf.items[i], leaf.items[j]) {
                        return false;
                    }
                }
            }
            if !self.leaves(k as u32 + 1, &leaf.bounds, |other| leaf.pairs(other, &mut visit)) {
                return false;
            }
        }
        true
    }

    /// Calls `visit` with every item of this tree and item of the other whose boxes overlap, until it answers false.
    pub fn pairs(&self, other: &Self, mut visit: impl FnMut(u32, u32) -> bool) -> bool {
        self.leaves(0, &other.bounds(), |leaf| {
            other.leaves(0, &leaf.bounds, |theirs| leaf.pairs(theirs, &mut visit))
        })
    }
}

impl Leaf {
    #[inline(always)]
    fn item_box(&self, lane: usize) -> Aabb {
        let b = &self.boxes.0;
        Aabb {
            low: [b[0][lane], b[1][lane], b[2][lane], 0.0],
            high: [b[3][lane], b[4][lane], b[5][lane], 0.0],
        }
    }

    #[inline(always)]
    fn query(&self, bounds: &Aabb, visit: &mut impl FnMut(u32) -> bool) -> bool {
        let mut hits = self.boxes.overlaps(bounds) & ((1 << self.count) - 1);
        while hits != 0 {
            if !visit(self.items[hits.trailing_zeros() as usize & 3]) {
                return false;
            }
            hits &= hits - 1;
        }
        true
    }

    #[inline(always)]
    fn pairs(&self, other: &Self, visit: &mut impl FnMut(u32, u32) -> bool) -> bool {
        // Those of mine that come near any of theirs.
        let mut mine = self.boxes.overlaps(&other.bounds) & ((1 << self.count) - 1);
        while mine != 0 {
            let i = mine.trailing_zeros() as usize & 3;
            mine &= mine - 1;
            let item = self.items[i];
            if !other.query(&self.item_box(i), &mut |theirs| visit(item, theirs)) {
                return false;
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
