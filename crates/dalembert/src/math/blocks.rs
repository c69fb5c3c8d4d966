//! A sparse matrix of 3×3 blocks, as a list: what forces and mappings say when they are asked for a matrix.

use super::{Mat3, add_triple, triple};

/// A sparse matrix of 3×3 blocks as a list; blocks with the same place add up.
#[derive(Debug, Clone, Default)]
pub struct Blocks {
    /// Row point, column point, block.
    pub entries: Vec<(u32, u32, Mat3)>,
}

impl Blocks {
    /// Adds a block at row point `i`, column point `j`.
    #[inline]
    pub fn add(&mut self, i: usize, j: usize, block: Mat3) {
        self.entries.push((i as u32, j as u32, block));
    }

    /// Adds `block` as it appears between two points that are pulled together: + on the diagonal, − off it.
    #[inline]
    pub fn add_pair(&mut self, i: usize, j: usize, block: Mat3) {
        self.add(i, i, block);
        self.add(j, j, block);
        self.add(i, j, -block);
        self.add(j, i, -block);
    }

    /// df += A dx.
    pub fn add_times(&self, dx: &[f64], df: &mut [f64]) {
        for (i, j, block) in &self.entries {
            let y = block * triple(dx, *j as usize);
            add_triple(df, *i as usize, &y);
        }
    }
}
