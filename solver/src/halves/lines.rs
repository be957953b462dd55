//! Memory that vectors are read from and written to.

use std::ops::{Deref, DerefMut};
use std::slice;

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

    /// How many bits are set.
    pub(crate) fn count_ones(self) -> u64 {
        self.0.iter().map(|word| u64::from(word.count_ones())).sum()
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
            grow(&mut self.0, n);
        }
    }

    /// The memory they take, in bytes.
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

/// Makes lines `n`, which are more, with less to spare than vectors take by themselves, as they are most of the memory.
#[cold]
fn grow(lines: &mut Vec<Line>, n: usize) {
    if lines.capacity() < n {
        lines.reserve_exact(n + n / 8 - lines.len());
    }
    lines.resize(n, Line::NONE);
}

/// A list of words that begins where a line does: whoever reads eight at a time, from a multiple of eight on, never
/// reads parts of two lines.
#[derive(Debug, Default)]
pub(crate) struct Words {
    lines: Vec<Line>,
    len: usize,
}

impl Words {
    /// Empties it.
    pub(crate) fn clear(&mut self) {
        self.len = 0;
    }

    /// How many words there is room for. All of them have been written at some time.
    pub(crate) fn capacity(&self) -> usize {
        8 * self.lines.len()
    }

    /// Makes room for so many words behind the end.
    pub(crate) fn reserve(&mut self, n: usize) {
        let n_lines = (self.len + n).div_ceil(8);
        if self.lines.len() < n_lines {
            grow(&mut self.lines, n_lines);
        }
    }

    /// The first word, and the room behind it.
    pub(crate) fn as_mut_ptr(&mut self) -> *mut u64 {
        self.lines.as_mut_ptr().cast()
    }

    /// Puts the end somewhere else.
    ///
    /// # Panics
    /// If there is no room.
    pub(crate) fn set_len(&mut self, len: usize) {
        assert!(len <= self.capacity(), "no room for {len} words");
        self.len = len;
    }

    /// Puts the end where a line begins; what it passes over is anything.
    pub(crate) fn end_line(&mut self) {
        self.reserve(8);
        self.set_len(self.len.next_multiple_of(8));
    }

    /// Puts the end somewhere else, and makes room for that; behind the old end is anything.
    pub(crate) fn resize(&mut self, len: usize) {
        self.reserve(len.saturating_sub(self.len));
        self.set_len(len);
    }

    /// The memory they take, in bytes.
    pub(crate) fn memory(&self) -> usize {
        self.lines.capacity() * size_of::<Line>()
    }
}

impl Deref for Words {
    type Target = [u64];

    fn deref(&self) -> &[u64] {
        // SAFETY: lines are words one after another, and there are at least so many.
        unsafe { slice::from_raw_parts(self.lines.as_ptr().cast(), self.len) }
    }
}

impl DerefMut for Words {
    fn deref_mut(&mut self) -> &mut [u64] {
        // SAFETY: see above.
        unsafe { slice::from_raw_parts_mut(self.lines.as_mut_ptr().cast(), self.len) }
    }
}
