//! Orders of elimination that keep a sparse Cholesky factor small: nested dissection (George 1973) and approximate minimum
//! degree (Amestoy, Davis and Duff 1996).
//!
//! **Nested dissection by coordinates.** A plane across the longest extent of a set of nodes parts it in two halves.
//! The nodes of one half that touch the other are the separator; without it the halves have nothing in common. Each
//! half is ordered by the same rule and the separator comes last, so fill never crosses it. A box of n nodes has a
//! factor of $O(n^{4/3})$ numbers. A slender body has small separators everywhere and a factor of $O(n)$.
//!
//! **Minimum degree** (AMD, from faer) needs no positions: the node with the fewest neighbours goes first.

use faer::dyn_stack::{MemBuffer, MemStack};
use faer::sparse::SymbolicSparseColMatRef;
use faer::sparse::linalg::amd;

use super::block_matrix::BlockMatrix;

/// Sets of at most this many nodes are not divided but ordered by minimum degree.
const LEAF: usize = 50;

/// Which order of elimination to use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ordering {
    /// Nested dissection of large matrices with positions, minimum degree of others.
    #[default]
    Automatic,
    /// Nested dissection where positions are given, minimum degree elsewhere.
    NestedDissection,
    /// Approximate minimum degree.
    MinimumDegree,
}

/// Below this many block rows minimum degree has less fill.
const LARGE: usize = 1000;

impl Ordering {
    /// Order of the block rows of `a`; none if there is no memory for it.
    pub(crate) fn order(self, a: &BlockMatrix, positions: Option<&[f64]>) -> Option<Vec<u32>> {
        match (self, positions) {
            (Self::NestedDissection, Some(positions)) => Some(nested_dissection(a, positions)),
            (Self::Automatic, Some(positions)) if a.rows() >= LARGE => Some(nested_dissection(a, positions)),
            _ => minimum_degree(a),
        }
    }
}

/// Order of the block rows of `a` by nested dissection: the node that is eliminated first comes first.
///
/// `positions` has three numbers per block row. Coordinates that are not numbers do no harm but to the order.
pub fn nested_dissection(a: &BlockMatrix, positions: &[f64]) -> Vec<u32> {
    let n = a.rows();
    assert_eq!(positions.len(), 3 * n, "one position per block row");
    let mut order = vec![0u32; n];
    // Which set each node is in, to see who touches the other half.
    let mut set_of = vec![0u32; n];
    let mut sets = 0;
    // Sets still to be ordered, with the end of their places in the order.
    let mut open = vec![((0..n as u32).collect::<Vec<u32>>(), n)];
    while let Some((mut nodes, end)) = open.pop() {
        let start = end - nodes.len();
        if nodes.len() <= LEAF {
            order_leaf(a, &mut nodes, &mut set_of);
            order[start..end].copy_from_slice(&nodes);
            continue;
        }
        let middle = divide(&mut nodes, positions);
        let high = nodes.split_off(middle);
        let low = nodes;
        for half in [&low, &high] {
            sets += 1;
            half.iter().for_each(|&i| set_of[i as usize] = sets);
        }
        let touches = |i: u32, set: u32| a.row(i as usize).0.iter().any(|&j| set_of[j as usize] == set);
        // The smaller of the two possible separators.
        let border_low = low.iter().filter(|&&i| touches(i, sets)).count();
        let border_high = high.iter().filter(|&&i| touches(i, sets - 1)).count();
        let (cut, whole, other) =
            if border_low <= border_high { (low, high, sets) } else { (high, low, sets - 1) };
        let (separator, rest): (Vec<u32>, Vec<u32>) = cut.into_iter().partition(|&i| touches(i, other));
        let border = end - separator.len();
        order[border..end].copy_from_slice(&separator);
        let whole_start = border - whole.len();
        debug_assert_eq!(whole_start - rest.len(), start);
        open.push((rest, whole_start));
        open.push((whole, border));
    }
    order
}

/// Sorts the nodes along their longest extent and says where to cut: between two coordinates near the middle.
pub(crate) fn divide(nodes: &mut [u32], positions: &[f64]) -> usize {
    let coordinate = |i: u32, axis: usize| positions[3 * i as usize + axis];
    let extent = |axis: usize| {
        let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
        for &i in &*nodes {
            (low, high) = (low.min(coordinate(i, axis)), high.max(coordinate(i, axis)));
        }
        high - low
    };
    let extents = [extent(0), extent(1), extent(2)];
    let axis = (1..3).fold(0, |best, a| if extents[a] > extents[best] { a } else { best });
    nodes.sort_unstable_by(|&i, &j| coordinate(i, axis).total_cmp(&coordinate(j, axis)).then(i.cmp(&j)));
    // On a grid many share the middle coordinate; a plane beside it has a smaller border than a cut through it.
    let middle = nodes.len() / 2;
    let value = coordinate(nodes[middle], axis);
    let rounding = 1e-6 * extents[axis];
    let below = nodes.partition_point(|&i| coordinate(i, axis) < value - rounding);
    let above = nodes.partition_point(|&i| coordinate(i, axis) <= value + rounding);
    let nearer = if middle.abs_diff(below) <= middle.abs_diff(above) { below } else { above };
    let balanced = nearer >= nodes.len() / 4 && nodes.len() - nearer >= nodes.len() / 4;
    if balanced { nearer } else { middle }
}

/// Minimum degree within a set, whatever its neighbours. `place` is overwritten at the nodes of the set.
fn order_leaf(a: &BlockMatrix, nodes: &mut [u32], place: &mut [u32]) {
    nodes.sort_unstable();
    nodes.iter().enumerate().for_each(|(k, &i)| place[i as usize] = k as u32);
    let (mut start, mut columns) = (vec![0], vec![]);
    for &i in &*nodes {
        let inside = |&&j: &&u32| nodes.get(place[j as usize] as usize) == Some(&j);
        columns.extend(a.row(i as usize).0.iter().filter(inside).map(|&j| place[j as usize] as usize));
        start.push(columns.len());
    }
    if let Some(order) = minimum_degree_of(&start, &columns) {
        let ordered: Vec<u32> = order.iter().map(|&k| nodes[k]).collect();
        nodes.copy_from_slice(&ordered);
    }
}

/// Order of the block rows of `a` by approximate minimum degree; none if there is no memory for it.
fn minimum_degree(a: &BlockMatrix) -> Option<Vec<u32>> {
    let (start, columns) = a.pattern();
    let start: Vec<usize> = start.iter().map(|&i| i as usize).collect();
    let columns: Vec<usize> = columns.iter().map(|&j| j as usize).collect();
    Some(minimum_degree_of(&start, &columns)?.iter().map(|&i| i as u32).collect())
}

fn minimum_degree_of(start: &[usize], columns: &[usize]) -> Option<Vec<usize>> {
    let n = start.len().saturating_sub(1);
    if n == 0 {
        return Some(vec![]);
    }
    let pattern = SymbolicSparseColMatRef::new_checked(n, n, start, None, columns);
    let (mut forward, mut inverse) = (vec![0usize; n], vec![0usize; n]);
    let mut memory = MemBuffer::try_new(amd::order_maybe_unsorted_scratch::<usize>(n, columns.len())).ok()?;
    let stack = MemStack::new(&mut memory);
    amd::order_maybe_unsorted(&mut forward, &mut inverse, pattern, amd::Control::default(), stack).ok()?;
    Some(forward)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{Cells, ElasticBox};
    use crate::math::{Blocks, Mat3, Random};

    /// Blocks of the factor under an order, by symbolic elimination.
    fn fill(a: &BlockMatrix, order: &[u32]) -> usize {
        let n = a.rows();
        let mut place = vec![0; n];
        order.iter().enumerate().for_each(|(k, &i)| place[i as usize] = k);
        let mut later: Vec<Vec<usize>> = (0..n)
            .map(|k| {
                let row = a.row(order[k] as usize).0;
                row.iter().map(|&j| place[j as usize]).filter(|&j| j > k).collect()
            })
            .collect();
        let mut count = n;
        for k in 0..n {
            let mut row = std::mem::take(&mut later[k]);
            row.sort_unstable();
            row.dedup();
            count += row.len();
            if let Some((&parent, rest)) = row.split_first() {
                later[parent].extend_from_slice(rest);
            }
        }
        count
    }

    fn is_permutation(order: &[u32]) -> bool {
        let mut sorted = order.to_vec();
        sorted.sort_unstable();
        sorted.iter().enumerate().all(|(i, &j)| i == j as usize)
    }

    #[test]
    fn a_good_order_has_little_fill() {
        for sample in [ElasticBox::cube(12, Cells::Tetrahedra), ElasticBox::cube(20, Cells::Hexahedra)] {
            let a = BlockMatrix::new(sample.count(), &sample.system(0.01));
            let natural: Vec<u32> = (0..a.rows() as u32).collect();
            let (dissected, degree) =
                (nested_dissection(&a, &sample.positions()), minimum_degree(&a).unwrap());
            assert!(is_permutation(&dissected) && is_permutation(&degree));
            let [natural, dissected, degree] = [natural, dissected, degree].map(|o| fill(&a, &o));
            assert!(2 * dissected < natural && dissected < degree, "{natural} {dissected} {degree}");
        }
    }

    #[test]
    fn any_graph_and_any_positions_give_a_permutation() {
        let mut random = Random::new(9);
        for n in [0usize, 1, 10, 100, 500] {
            let mut list = Blocks::default();
            for _ in 0..3 * n {
                list.add_pair(random.bits() as usize % n, random.bits() as usize % n, Mat3::identity());
            }
            let a = BlockMatrix::new(n, &list);
            assert!(is_permutation(&minimum_degree(&a).unwrap()));
            let mut positions: Vec<f64> = (0..3 * n).map(|_| random.unit()).collect();
            assert!(is_permutation(&nested_dissection(&a, &positions)));
            positions.fill(0.0); // all at one place
            assert!(is_permutation(&nested_dissection(&a, &positions)));
            positions.iter_mut().step_by(2).for_each(|x| *x = f64::NAN);
            assert!(is_permutation(&nested_dissection(&a, &positions)));
        }
    }
}
