//! Memory that vectors are read from and written to.

use std::ops::{Deref, DerefMut};

/// 512 bits: one for each of as many placements.
#[repr(C, align(64))]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Line(pub(crate) [u64; 8]);

impl Line {
    /// A line of zeros.
    pub(crate) const NONE: Self = Self([0; 8]);
    /// A line of ones.
    pub(crate) const ALL: Self = Self([u64::MAX; 8]);

    /// Ones in the first `n` places; all of them if there are fewer.
    pub(crate) fn first(n: usize) -> Self {
        let mut line = Self::NONE;
        for (i, word) in line.0.iter_mut().enumerate() {
            let here = n.saturating_sub(64 * i);
            *word = if here >= 64 { u64::MAX } else { (1 << here) - 1 };
        }
        line
    }

    /// What `f` makes of each word of both.
    pub(crate) fn zip(self, other: Self, f: impl Fn(u64, u64) -> u64) -> Self {
        let mut line = self;
        for (word, other) in line.0.iter_mut().zip(other.0) {
            *word = f(*word, other);
        }
        line
    }
}

/// Lines whose contents are of no interest when they are made longer.
#[derive(Debug, Default)]
pub(crate) struct Lines(Vec<Line>);

impl Lines {
    /// Makes room for so many lines. What they hold is anything that was written before, or zeros.
    pub(crate) fn need(&mut self, n: usize) {
        if self.0.len() < n {
            // What is there need not be copied.
            self.0.clear();
            self.0.resize(n, Line::NONE);
        }
    }

    /// Makes room for so many lines, and keeps what was written.
    pub(crate) fn keep(&mut self, n: usize) {
        if self.0.len() < n {
            self.0.resize(n, Line::NONE);
        }
    }

    /// The memory they take, in bytes.
    #[cfg(test)]
    pub(crate) fn memory(&self) -> usize {
        self.0.capacity() * size_of::<Line>()
    }
}

impl Deref for Lines {
    type Target = [Line];

    fn deref(&self) -> &[Line] {
        &self.0
    }
}

impl DerefMut for Lines {
    fn deref_mut(&mut self) -> &mut [Line] {
        &mut self.0
    }
}
