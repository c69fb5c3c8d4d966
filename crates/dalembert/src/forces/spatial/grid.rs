//! A uniform grid that finds all neighbours within a radius in O(n).
//!
//! Cells have the size of the radius, so the neighbours of a point lie in the 27 cells around it. The grid wraps
//! around in each direction (cell number modulo a power of two): points far away that share a cell are distinguished by
//! their distance, so the domain needs no bounds and memory stays proportional to the number of points.

use crate::math::Vec3;

/// Points sorted by cell, rebuilt from scratch at each use; keeps its buffers.
#[derive(Debug, Default, Clone)]
pub(super) struct Grid {
    inv_cell: f64,
    /// Cells per direction as powers of two.
    bits: [u32; 3],
    /// `sorted[starts[c]..starts[c + 1]]` are the points of cell c, in rising order.
    starts: Vec<u32>,
    /// Index into the caller's list, cell by cell.
    pub(super) sorted: Vec<u32>,
    /// Positions in the same order, so that neighbours are near in memory too.
    pub(super) x: Vec<Vec3>,
    cell_of: Vec<u32>,
}

/// Binary logarithm of the largest number of cells for so many points.
fn most_bits(count: usize) -> u32 {
    (usize::BITS - count.max(64).leading_zeros()).min(24)
}

impl Grid {
    /// Sorts the points with the given positions into cells of size `radius`.
    pub(super) fn fill(&mut self, count: usize, radius: f64, position: impl Fn(usize) -> Vec3) {
        self.inv_cell = 1.0 / radius;
        self.choose_size(count, &position);
        let cells = 1usize << (self.bits[0] + self.bits[1] + self.bits[2]);
        self.starts.clear();
        // Room for the finest grid that this many points may get, so that a cloud that spreads takes no memory.
        self.starts.reserve((1usize << most_bits(count)) + 1);
        self.starts.resize(cells + 1, 0);
        self.cell_of.clear();
        for i in 0..count {
            let c = self.cell(self.coordinates(&position(i)));
            self.cell_of.push(c as u32);
            self.starts[c + 1] += 1;
        }
        for c in 0..cells {
            self.starts[c + 1] += self.starts[c];
        }
        self.sorted.resize(count, 0);
        self.x.resize(count, Vec3::zeros());
        // Fill each cell from its end backwards, so that within a cell the order rises and `starts` ends up right.
        for i in (0..count).rev() {
            let c = self.cell_of[i] as usize + 1;
            self.starts[c] -= 1;
            let at = self.starts[c] as usize;
            self.sorted[at] = i as u32;
            self.x[at] = position(i);
        }
        // Now starts[c + 1] is the first of cell c: shift by one.
        self.starts.rotate_left(1);
        self.starts[cells] = count as u32;
    }

    /// As many cells as points at most, in the proportions of the bounding box, at least 4 each way (with fewer, two
    /// of a point's 27 cells would be the same one).
    fn choose_size(&mut self, count: usize, position: &impl Fn(usize) -> Vec3) {
        let (mut low, mut high) = (Vec3::repeat(f64::INFINITY), Vec3::repeat(f64::NEG_INFINITY));
        for i in 0..count {
            let x = position(i);
            low = low.inf(&x);
            high = high.sup(&x);
        }
        let most = most_bits(count);
        for d in 0..3 {
            let cells = ((high[d] - low[d]) * self.inv_cell).clamp(0.0, 1e6) + 1.0;
            self.bits[d] = (cells.log2().ceil() as u32).clamp(2, 20);
        }
        while self.bits.iter().sum::<u32>() > most {
            let widest = (0..3).max_by_key(|&d| self.bits[d]).unwrap_or(0);
            if self.bits[widest] == 2 {
                break;
            }
            self.bits[widest] -= 1;
        }
    }

    #[inline(always)]
    fn coordinates(&self, x: &Vec3) -> [i64; 3] {
        // `as` saturates, so even 1e300 gives a cell (a wrong neighbourhood costs nothing: distances decide).
        [
            (x.x * self.inv_cell).floor() as i64,
            (x.y * self.inv_cell).floor() as i64,
            (x.z * self.inv_cell).floor() as i64,
        ]
    }

    #[inline(always)]
    fn cell(&self, c: [i64; 3]) -> usize {
        let wrap = |d: usize| (c[d] as usize) & ((1usize << self.bits[d]) - 1);
        wrap(0) | wrap(1) << self.bits[0] | wrap(2) << (self.bits[0] + self.bits[1])
    }

    /// Calls `visit` with the sorted index of every point in the 27 cells around `x`, in a fixed order.
    #[inline(always)]
    pub(super) fn around(&self, x: &Vec3, mut visit: impl FnMut(usize)) {
        let c = self.coordinates(x);
        let last = (1usize << self.bits[0]) - 1;
        let column = c[0] as usize & last;
        let inside = column > 0 && column < last;
        for dz in -1..=1 {
            for dy in -1..=1 {
                let row = self.cell([0, c[1].wrapping_add(dy), c[2].wrapping_add(dz)]);
                if inside {
                    // Three cells side by side are one run of points.
                    let cell = row + column;
                    for k in self.starts[cell - 1]..self.starts[cell + 2] {
                        visit(k as usize);
                    }
                } else {
                    for dx in -1..=1 {
                        let cell = row + (c[0].wrapping_add(dx) as usize & last);
                        for k in self.starts[cell]..self.starts[cell + 1] {
                            visit(k as usize);
                        }
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_grid_finds_the_same_pairs_as_brute_force() {
        let mut seed = 1u64;
        let mut random = move || {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (seed >> 11) as f64 / (1u64 << 53) as f64
        };
        let mut grid = Grid::default();
        for (n, spread, far) in
            [(1, 1.0, 0.0), (300, 3.0, 0.0), (300, 0.5, 0.0), (400, 3.0, 1e4), (200, 50.0, 0.0)]
        {
            let x: Vec<Vec3> = (0..n)
                .map(|i| {
                    let offset = if i % 2 == 0 { far } else { -far };
                    Vec3::new(random(), random(), random()) * spread + Vec3::new(offset, 0.0, 2.0 * offset)
                })
                .collect();
            let radius = 0.4;
            grid.fill(n, radius, |i| x[i]);
            for i in 0..n {
                let mut found = Vec::new();
                grid.around(&x[i], |k| {
                    let j = grid.sorted[k] as usize;
                    assert_eq!(grid.x[k], x[j]);
                    if (x[i] - x[j]).norm() < radius {
                        found.push(j);
                    }
                });
                found.sort_unstable();
                let wanted: Vec<usize> = (0..n).filter(|&j| (x[i] - x[j]).norm() < radius).collect();
                assert_eq!(found, wanted, "n {n} spread {spread} far {far}");
            }
        }
    }
}
