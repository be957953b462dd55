//! Adapts the number of subproblems in one kernel call.

use std::time::Duration;

/// The target duration of a kernel call. It bounds the loss when a call is abandoned, and the resolution of progress.
const CHUNK: Duration = Duration::from_millis(100);

/// The number of subproblems to count in one kernel call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ChunkSize(u64);

impl ChunkSize {
    /// The size before any measurement.
    pub(crate) const SMALLEST: Self = Self(1);

    pub(crate) const fn n_subproblems(self) -> u64 {
        self.0
    }

    /// Returns half the size: other leases may have more work in as many subproblems.
    pub(crate) fn half(self) -> Self {
        Self((self.0 / 2).max(1))
    }

    /// Steps towards [`CHUNK`], at most doubling, because neighbours differ in work.
    pub(crate) fn adapt(&mut self, n_subproblems: u64, duration: Duration) {
        if duration < CHUNK / 2 {
            self.0 = self.0.max(n_subproblems.saturating_mul(2));
        } else if duration > CHUNK * 2 {
            self.0 = (n_subproblems / 2).max(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_grow_and_shrink_until_they_take_as_long_as_they_should() {
        let adapted = |mut size: ChunkSize, n_subproblems, duration| {
            size.adapt(n_subproblems, duration);
            size.n_subproblems()
        };
        assert_eq!(adapted(ChunkSize(8), 8, CHUNK / 10), 16);
        // The short end of a span says nothing about the right size within one.
        assert_eq!(adapted(ChunkSize(8), 2, CHUNK / 10), 8);
        assert_eq!(adapted(ChunkSize(8), 8, CHUNK), 8);
        assert_eq!(adapted(ChunkSize(8), 8, CHUNK * 3), 4);
        assert_eq!(adapted(ChunkSize(1), 1, CHUNK * 3), 1);
        assert_eq!(adapted(ChunkSize(1), u64::MAX, Duration::ZERO), u64::MAX);
        assert_eq!([1, 2, 9].map(|size| ChunkSize(size).half().n_subproblems()), [1, 1, 4]);
    }
}
