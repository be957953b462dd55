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
use crate::halves::vectors::{Bucket, Head, LINES, Sieve, Sifted, Tables, Vectors, impl_vectors};

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

impl_vectors!(Avx2);
