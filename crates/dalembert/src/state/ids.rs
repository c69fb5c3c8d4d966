//! Small `Copy` names of things in a model.

/// One point: a particle, or a point carried by a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PointId(pub u32);

impl PointId {
    /// Number of the point, counted over all points of the model.
    #[inline(always)]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A set of points as sorted, disjoint ranges.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PointSet {
    ranges: Vec<std::ops::Range<usize>>,
}

impl PointSet {
    /// Collects points in any order; repeated ones count once.
    pub fn new(points: impl IntoIterator<Item = usize>) -> Self {
        let mut sorted: Vec<usize> = points.into_iter().collect();
        sorted.sort_unstable();
        sorted.dedup();
        let mut ranges: Vec<std::ops::Range<usize>> = Vec::new();
        for i in sorted {
            match ranges.last_mut() {
                Some(last) if last.end == i => last.end += 1,
                _ => ranges.push(i..i + 1),
            }
        }
        Self { ranges }
    }

    /// Collects ranges in any order; repeated points count once.
    pub fn from_ranges(ranges: impl IntoIterator<Item = std::ops::Range<usize>>) -> Self {
        let mut sorted: Vec<_> = ranges.into_iter().filter(|r| !r.is_empty()).collect();
        sorted.sort_unstable_by_key(|r| r.start);
        let mut ranges: Vec<std::ops::Range<usize>> = Vec::new();
        for r in sorted {
            match ranges.last_mut() {
                Some(last) if last.end >= r.start => last.end = last.end.max(r.end),
                _ => ranges.push(r),
            }
        }
        Self { ranges }
    }

    /// Points `first` … `end − 1`.
    pub fn range(range: std::ops::Range<usize>) -> Self {
        Self { ranges: if range.is_empty() { Vec::new() } else { vec![range] } }
    }

    /// Number of points.
    pub fn len(&self) -> usize {
        self.ranges.iter().map(|r| r.len()).sum()
    }

    /// True if there is no point.
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// The last point.
    pub fn last(&self) -> Option<usize> {
        self.ranges.last().map(|r| r.end - 1)
    }

    /// The points, in rising order.
    pub fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        self.ranges.iter().flat_map(|r| r.clone())
    }

    /// The part inside a window of `count` points from `first`, as ranges counted from the window's start.
    #[inline]
    pub fn within(&self, first: usize, count: usize) -> impl Iterator<Item = std::ops::Range<usize>> + '_ {
        let end = first + count;
        let from = self.ranges.partition_point(|r| r.end <= first);
        self.ranges[from..]
            .iter()
            .take_while(move |r| r.start < end)
            .map(move |r| r.start.max(first) - first..r.end.min(end) - first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_sees_exactly_its_own_points() {
        let all = [3, 4, 5, 9, 12, 13, 30];
        let set = PointSet::new(all.iter().rev().copied().chain([4, 9]));
        assert_eq!(set.len(), all.len());
        assert_eq!(set, PointSet::from_ranges([30..31, 12..14, 4..6, 7..7, 3..5, 9..10]));
        for first in 0..35 {
            for count in 0..20 {
                let seen: Vec<usize> = set.within(first, count).flat_map(|r| r.map(|i| i + first)).collect();
                let wanted: Vec<usize> =
                    all.iter().copied().filter(|&i| i >= first && i < first + count).collect();
                assert_eq!(seen, wanted);
            }
        }
    }
}
