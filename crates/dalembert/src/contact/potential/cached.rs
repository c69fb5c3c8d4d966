//! Values with the number of what they were taken at.

/// A value that belongs to an iterate, a search or a choice, and the number of that; none if it is to be taken anew.
#[derive(Debug, Default)]
pub(crate) struct Cached<T, K = u64> {
    /// The value, or what is left of an old one: its memory is used again.
    pub value: T,
    of: Option<K>,
}

impl<T, K: PartialEq> Cached<T, K> {
    /// True if the value was taken at `key`.
    pub(crate) fn is_of(&self, key: K) -> bool {
        self.of == Some(key)
    }

    /// Notes that the value has been taken at `key`.
    pub(crate) fn taken_at(&mut self, key: K) {
        self.of = Some(key);
    }

    /// The value is to be taken anew.
    pub(crate) fn forget(&mut self) {
        self.of = None;
    }
}
