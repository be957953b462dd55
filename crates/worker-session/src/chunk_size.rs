//! Adapts the number of subproblems in one kernel call.

use std::time::Duration;

use queens_solver::{BoardSize, HalvesPart, Method};

/// How many subproblems a kernel call should have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChunkAim {
    /// The size before any measurement.
    first: u64,
    /// The target duration. It bounds the loss when a call is abandoned, and the resolution of progress.
    pub duration: Duration,
    /// Whether chunks of halves are whole sets of columns, if their lease has such.
    whole_sets: bool,
}

impl ChunkAim {
    /// For a thread of the processor, which counts one subproblem as fast as many.
    pub const PROCESSOR: Self = Self { first: 1, duration: Duration::from_millis(100), whole_sets: false };

    /// For a graphics card, which is slow with few, and makes the lists of a set for any of its subproblems. A set
    /// takes a second or two at n = 28.
    pub const CARD: Self = Self { first: 256, duration: Duration::from_millis(300), whole_sets: true };
}

/// The number of subproblems to count in one kernel call.
#[derive(Clone, Copy, Debug)]
pub struct ChunkSize {
    aim: ChunkAim,
    /// Chunks end at multiples of this number, and are not smaller.
    unit: u64,
    n_subproblems: u64,
    /// The size of the last chunk that took long enough to tell that it is not too small.
    confirmed: Option<u64>,
}

impl ChunkSize {
    /// Returns the size before any measurement.
    #[must_use]
    pub fn first(aim: ChunkAim, n: BoardSize, method: Method) -> Self {
        let is_of_sets = aim.whole_sets && method == Method::Halves;
        let unit = if is_of_sets { HalvesPart::n_subproblems_of_set(n).max(1) } else { 1 };
        Self { aim, unit, n_subproblems: aim.first.max(unit), confirmed: None }
    }

    /// Returns the end of a chunk that begins with this subproblem.
    #[must_use]
    pub const fn end_after(self, from: u64) -> u64 {
        let end = from.saturating_add(self.n_subproblems);
        let whole = end - end % self.unit;
        if whole > from { whole } else { end }
    }

    /// Returns the size for the first chunk of the next lease: half of the last that took its time, as other
    /// subproblems may have more work. Where none did, as in subproblems that hold nothing, it is the first.
    pub(crate) fn next(self) -> Self {
        let first = self.aim.first.max(self.unit);
        let n_subproblems = self.confirmed.map_or(first, |n| (n / 2).max(self.unit));
        Self { n_subproblems, confirmed: None, ..self }
    }

    /// Steps towards the target duration, at most doubling, because neighbours differ in work.
    pub fn adapt(&mut self, n_subproblems: u64, duration: Duration) {
        if duration < self.aim.duration / 2 {
            self.n_subproblems = self.n_subproblems.max(n_subproblems.saturating_mul(2));
            return;
        }
        if duration > self.aim.duration * 2 {
            self.n_subproblems = (n_subproblems / 2).max(self.unit);
        }
        self.confirmed = Some(n_subproblems.min(self.n_subproblems));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first(aim: ChunkAim, n: u8) -> ChunkSize {
        ChunkSize::first(aim, BoardSize::new(n).expect("a board size"), Method::Halves)
    }

    #[test]
    fn chunks_of_a_card_are_whole_sets() {
        // A set has 14³ subproblems at n = 28, and one at n = 22.
        let mut size = first(ChunkAim::CARD, 28);
        assert_eq!((size.end_after(0), size.end_after(10), size.end_after(2744)), (2744, 2744, 5488));
        for _ in 0..3 {
            size.adapt(2744, ChunkAim::CARD.duration * 9);
            assert_eq!((size.end_after(0), size.next().end_after(2743)), (2744, 5487 - 5487 % 2744));
        }
        let size = first(ChunkAim::CARD, 22);
        assert_eq!((size.end_after(0), size.end_after(11)), (256, 267));
        assert_eq!(first(ChunkAim::PROCESSOR, 28).end_after(7), 8);
    }

    #[test]
    fn chunks_grow_and_shrink_until_they_take_as_long_as_they_should() {
        const CHUNK: Duration = ChunkAim::PROCESSOR.duration;
        let of = |n_subproblems| ChunkSize { n_subproblems, ..first(ChunkAim::PROCESSOR, 22) };
        let adapted = |mut size: ChunkSize, n_subproblems, duration| {
            size.adapt(n_subproblems, duration);
            (size.n_subproblems, size.next().n_subproblems)
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
