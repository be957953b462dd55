//! Aligned memory for vectors: lines of 512 bits, and lists of words.

use std::ops::{Deref, DerefMut};
use std::slice;

/// 512 bits, one for each of 512 placements.
#[repr(C, align(64))]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Line(pub(crate) [u64; 8]);

impl Line {
    pub(crate) const NONE: Self = Self([0; 8]);
    pub(crate) const ALL: Self = Self([u64::MAX; 8]);

    /// Returns a line with ones in the first `n` places, at most 512.
    pub(crate) fn first(n: usize) -> Self {
        let mut line = Self::NONE;
        for (i, word) in line.0.iter_mut().enumerate() {
            let here = n.saturating_sub(64 * i);
            *word = if here >= 64 { u64::MAX } else { (1 << here) - 1 };
        }
        line
    }

    pub(crate) fn count_ones(self) -> u64 {
        self.0.iter().map(|word| u64::from(word.count_ones())).sum()
    }

    /// Combines each pair of words of two lines by `f`.
    pub(crate) fn zip(self, other: Self, f: impl Fn(u64, u64) -> u64) -> Self {
        let mut line = self;
        for (word, other) in line.0.iter_mut().zip(other.0) {
            *word = f(*word, other);
        }
        line
    }
}

/// Lines that may lose their contents when they grow.
#[derive(Debug, Default)]
pub(crate) struct Lines(Vec<Line>);

impl Lines {
    /// Makes room for `n` lines. They hold earlier contents or zeros.
    pub(crate) fn need(&mut self, n: usize) {
        if self.0.len() < n {
            // Avoids copying the old lines.
            self.0.clear();
            self.0.resize(n, Line::NONE);
        }
    }

    /// Makes room for `n` lines, and keeps their contents.
    pub(crate) fn keep(&mut self, n: usize) {
        if self.0.len() < n {
            grow(&mut self.0, n);
        }
    }

    /// Returns the memory they take, in bytes.
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

/// Grows to `n` lines. They are most of the memory, so this reserves less spare room than `Vec` does.
#[cold]
fn grow(lines: &mut Vec<Line>, n: usize) {
    if lines.capacity() < n {
        lines.reserve_exact(n + n / 8 - lines.len());
    }
    lines.resize(n, Line::NONE);
}

/// A list of words that begins at a line boundary. So aligned reads of eight words never cross two lines.
#[derive(Debug, Default)]
pub(crate) struct Words {
    lines: Vec<Line>,
    len: usize,
}

impl Words {
    /// Removes all words.
    pub(crate) fn clear(&mut self) {
        self.len = 0;
    }

    /// Returns the number of words that fit. All of them are initialised.
    pub(crate) fn capacity(&self) -> usize {
        8 * self.lines.len()
    }

    /// Makes room for `n` words behind the end.
    pub(crate) fn reserve(&mut self, n: usize) {
        let n_lines = (self.len + n).div_ceil(8);
        if self.lines.len() < n_lines {
            grow(&mut self.lines, n_lines);
        }
    }

    /// Makes room for `n` words behind the end. Returns all words, the arbitrary ones behind the end included, and the
    /// end.
    pub(crate) fn room(&mut self, n: usize) -> (&mut [u64], usize) {
        self.reserve(n);
        // SAFETY: lines are contiguous words, all of them initialised.
        let all = unsafe { slice::from_raw_parts_mut(self.lines.as_mut_ptr().cast(), self.capacity()) };
        (all, self.len)
    }

    /// Returns a pointer to the first word, valid for the whole capacity.
    #[cfg(target_arch = "x86_64")]
    pub(crate) fn as_mut_ptr(&mut self) -> *mut u64 {
        self.lines.as_mut_ptr().cast()
    }

    /// Moves the end.
    ///
    /// # Panics
    /// If the capacity is too small.
    pub(crate) fn set_len(&mut self, len: usize) {
        assert!(len <= self.capacity(), "no room for {len} words");
        self.len = len;
    }

    /// Moves the end to the next line boundary; the words in between are arbitrary.
    pub(crate) fn end_line(&mut self) {
        self.reserve(8);
        self.set_len(self.len.next_multiple_of(8));
    }

    /// Moves the end, and makes room for that; words behind the old end are arbitrary.
    pub(crate) fn resize(&mut self, len: usize) {
        self.reserve(len.saturating_sub(self.len));
        self.set_len(len);
    }

    /// Returns the memory they take, in bytes.
    pub(crate) fn memory(&self) -> usize {
        self.lines.capacity() * size_of::<Line>()
    }
}

impl Deref for Words {
    type Target = [u64];

    fn deref(&self) -> &[u64] {
        // SAFETY: lines are contiguous words, and the capacity covers `len`.
        unsafe { slice::from_raw_parts(self.lines.as_ptr().cast(), self.len) }
    }
}

impl DerefMut for Words {
    fn deref_mut(&mut self) -> &mut [u64] {
        // SAFETY: see above.
        unsafe { slice::from_raw_parts_mut(self.lines.as_mut_ptr().cast(), self.len) }
    }
}
