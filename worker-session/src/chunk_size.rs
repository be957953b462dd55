//! Adapts the number of subproblems in one kernel call.

use std::time::Duration;

/// The target duration of a kernel call. It bounds the loss when a call is abandoned, and the resolution of progress.
const CHUNK: Duration = Duration::from_millis(100);

/// The number of subproblems to count in one kernel call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ChunkSize {
    n_subproblems: u64,
    /// The size of the last chunk that took long enough to tell that it is not too small.
    confirmed: Option<u64>,
}

impl ChunkSize {
    /// The size before any measurement.
    pub(crate) const SMALLEST: Self = Self::new(1);

    const fn new(n_subproblems: u64) -> Self {
        Self { n_subproblems, confirmed: None }
    }

    pub(crate) const fn n_subproblems(self) -> u64 {
        self.n_subproblems
    }

    /// Returns the size for the first chunk of the next lease: half of the last that took its time, as other subproblems may
    /// have more work. Where none did, as in subproblems that hold nothing, it is the smallest.
    pub(crate) fn next(self) -> Self {
        Self::new(self.confirmed.map_or(1, |n| (n / 2).max(1)))
    }

    /// Steps towards [`CHUNK`], at most doubling, because neighbours differ in work.
    pub(crate) fn adapt(&mut self, n_subproblems: u64, duration: Duration) {
        if duration < CHUNK / 2 {
            self.n_subproblems = self.n_subproblems.max(n_subproblems.saturating_mul(2));
            return;
        }
        if duration > CHUNK * 2 {
            self.n_subproblems = (n_subproblems / 2).max(1);
        }
        self.confirmed = Some(n_subproblems.min(self.n_subproblems));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_grow_and_shrink_until_they_take_as_long_as_they_should() {
        let adapted = |mut size: ChunkSize, n_subproblems, duration| {
            size.adapt(n_subproblems, duration);
            (size.n_subproblems(), size.next().n_subproblems())
        };
        assert_eq!(adapted(ChunkSize::new(8), 8, CHUNK / 10), (16, 1));
        // The short end of a span says nothing about the right size within one.
        assert_eq!(adapted(ChunkSize::new(8), 2, CHUNK / 10), (8, 1));
        assert_eq!(adapted(ChunkSize::new(8), 8, CHUNK), (8, 4));
        assert_eq!(adapted(ChunkSize::new(8), 8, CHUNK * 3), (4, 2));
        assert_eq!(adapted(ChunkSize::new(1), 1, CHUNK * 3), (1, 1));
        assert_eq!(adapted(ChunkSize::new(1), u64::MAX, Duration::ZERO), (u64::MAX, 1));
    }
}
