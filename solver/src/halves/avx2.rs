//! The join's vectors with AVX2.
//!
//! The same as [with AVX-512](super::avx512), with these instead of what AVX2 lacks: words are packed by a table of lane
//! numbers for each mask, bits are transposed by collecting the highest bits of bytes, set bits are counted by looking
//! up nibbles (Mula), and numbers of set bits come from a table of those of each byte.

mod lists;
mod planes;
mod words;

use std::ops::Range;

use crate::halves::lines::{Line, Words};
use crate::halves::vectors::{Bucket, Head, LINES, Sieve, Sifted, Tables, Vectors};

/// Proof that this processor has the instructions.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Avx2(());

impl Avx2 {
    /// The proof, if it has.
    pub(crate) fn detect() -> Option<Self> {
        let can = is_x86_feature_detected!("avx2") && is_x86_feature_detected!("popcnt");
        can.then_some(Self(()))
    }
}

/// Calls a function that needs the instructions.
macro_rules! with_vectors {
    ($self:ident, $call:expr) => {{
        let Self(()) = $self;
        // SAFETY: there is an `Avx2` only where `detect` has found the features.
        unsafe { $call }
    }};
}

impl Vectors for Avx2 {
    fn join(self, bucket: Bucket<'_>, head: &Head, shift: bool, to: &mut Words) {
        with_vectors!(self, lists::join::<false>(bucket, head, shift, to, &mut Words::default()));
    }

    fn join_ranked(self, bucket: Bucket<'_>, head: &Head, shift: bool, to: &mut Words, ranks: &mut Words) {
        with_vectors!(self, lists::join::<true>(bucket, head, shift, to, ranks));
    }

    fn filter(self, words: &[u64], mask: u64, to: &mut Words) {
        with_vectors!(self, lists::filter(words, mask, to));
    }

    fn divide(
        self,
        words: &[u64],
        mask: u64,
        main: &Range<u64>,
        equal: &[Range<u64>; 2],
        to: &mut Words,
        to_equal: &mut Words,
    ) {
        with_vectors!(self, lists::divide(words, mask, main, equal, to, to_equal));
    }

    fn transpose(self, words: &[u64], n_planes: usize, planes: &mut [Line], stride: usize) {
        with_vectors!(self, planes::transpose(words, n_planes, planes, stride));
    }

    fn number(self, ranks: &mut [u64], fixed: &[u8], n_left: u8, keep: u64) {
        with_vectors!(self, lists::number(ranks, fixed, n_left, keep));
    }

    fn sift(self, sieve: Sieve<'_>, to: &mut Sifted) {
        with_vectors!(self, planes::sift(sieve, to));
    }

    fn count_sifted(self, sieve: Sieve<'_>) -> u64 {
        with_vectors!(self, planes::count_sifted(sieve))
    }

    fn singles(self, planes: &[Line], feet: &[(u8, u8)], n_lines: usize, to: &mut [Line]) {
        with_vectors!(self, planes::singles(planes, feet, n_lines, to));
    }

    fn pairs(self, first: &[Line], second: &[Line], apart: &[u16], n_lines: usize, to: &mut [Line]) {
        if n_lines == 1 {
            with_vectors!(self, planes::pairs::<1>(first, second, apart, to));
        } else {
            with_vectors!(self, planes::pairs::<LINES>(first, second, apart, to));
        }
    }

    fn steps(
        self,
        tables: Tables<'_>,
        codes: &[u64],
        numbers: &[u16],
        top: &[Line; LINES],
        n_lines: usize,
    ) -> u64 {
        if n_lines == 1 {
            with_vectors!(self, planes::steps::<1>(tables, codes, numbers, top))
        } else {
            with_vectors!(self, planes::steps::<LINES>(tables, codes, numbers, top))
        }
    }
}
