//! Adapts the number of subproblems in one kernel call.

use std::time::Duration;

/// How many subproblems a kernel call should have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChunkAim {
    /// The size before any measurement.
    pub first: u64,
    /// The target duration. It bounds the loss when a call is abandoned, and the resolution of progress.
    pub duration: Duration,
}

impl ChunkAim {
    /// For a thread of the processor, which counts one subproblem as fast as many.
    pub const PROCESSOR: Self = Self { first: 1, duration: Duration::from_millis(100) };

    /// For a graphics card, which is slow with few: these take some milliseconds at n = 22, and half a second at n = 28.
    pub const CARD: Self = Self { first: 256, duration: Duration::from_millis(300) };
}

/// The number of subproblems to count in one kernel call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ChunkSize {
    aim: ChunkAim,
    n_subproblems: u64,
    /// The size of the last chunk that took long enough to tell that it is not too small.
    confirmed: Option<u64>,
}

impl ChunkSize {
    /// Returns the size before any measurement.
    pub(crate) const fn first(aim: ChunkAim) -> Self {
        Self { aim, n_subproblems: aim.first, confirmed: None }
    }

    pub(crate) const fn n_subproblems(self) -> u64 {
        self.n_subproblems
    }

    /// Returns the size for the first chunk of the next lease: half of the last that took its time, as other subproblems may
    /// have more work. Where none did, as in subproblems that hold nothing, it is the first.
    pub(crate) fn next(self) -> Self {
        let n_subproblems = self.confirmed.map_or(self.aim.first, |n| (n / 2).max(1));
        Self { n_subproblems, ..Self::first(self.aim) }
    }

    /// Steps towards the target duration, at most doubling, because neighbours differ in work.
    pub(crate) fn adapt(&mut self, n_subproblems: u64, duration: Duration) {
        if duration < self.aim.duration / 2 {
            self.n_subproblems = self.n_subproblems.max(n_subproblems.saturating_mul(2));
            return;
        }
        if duration > self.aim.duration * 2 {
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
        const CHUNK: Duration = ChunkAim::PROCESSOR.duration;
        let of = |n_subproblems| ChunkSize { n_subproblems, ..ChunkSize::first(ChunkAim::PROCESSOR) };
        let adapted = |mut size: ChunkSize, n_subproblems, duration| {
            size.adapt(n_subproblems, duration);
            (size.n_subproblems(), size.next().n_subproblems())
        };
        assert_eq!(adapted(of(8), 8, CHUNK / 10), (16, 1));
        // The short end of a span says nothing about the right size within one.
        assert_eq!(adapted(of(8), 2, CHUNK / 10), (8, 1));
        assert_eq!(adapted(of(8), 8, CHUNK), (8, 4));
        assert_eq!(adapted(of(8), 8, CHUNK * 3), (4, 2));
        assert_eq!(adapted(of(1), 1, CHUNK * 3), (1, 1));
        assert_eq!(adapted(of(1), u64::MAX, Duration::ZERO), (u64::MAX, 1));
    }
}
