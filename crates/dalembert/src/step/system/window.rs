//! A list of which only a moving part is kept.

use std::ops::{Index, IndexMut};

/// Items with numbers from 0 on, of which the last few are in memory: item i lies where item i − 2ᵏ lay before. A large
/// island is loaded chunk by chunk and its numbers are read once, so that its window stays in the processor's cache.
#[derive(Debug)]
pub(crate) struct Window<T> {
    items: Vec<T>,
    mask: usize,
}

impl<T> Default for Window<T> {
    fn default() -> Self {
        Self { items: Vec::new(), mask: usize::MAX }
    }
}

impl<T: Copy> Window<T> {
    /// Room for `all` items, or for any `live` that follow each other if those are fewer. Memory is kept.
    pub(super) fn resize(&mut self, all: usize, live: usize, empty: T) {
        let few = live.next_power_of_two();
        self.mask = if few < all { few - 1 } else { usize::MAX };
        self.items.resize(few.min(all), empty);
    }

    /// All items, if the window holds all.
    pub(super) fn all(&self) -> &[T] {
        debug_assert_eq!(self.mask, usize::MAX, "only a part is kept");
        &self.items
    }
}

impl<T> Index<usize> for Window<T> {
    type Output = T;

    #[inline(always)]
    fn index(&self, i: usize) -> &T {
        &self.items[i & self.mask]
    }
}

impl<T> IndexMut<usize> for Window<T> {
    #[inline(always)]
    fn index_mut(&mut self, i: usize) -> &mut T {
        &mut self.items[i & self.mask]
    }
}
