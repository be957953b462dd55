//! AVX2 instructions for the join.
//!
//! They do the same as [AVX-512](super::avx512), with replacements for missing instructions. A table of lane numbers
//! for each mask packs words. Nibble look-ups (Mula) count set bits. A table for each byte lists the numbers of its set
//! bits. Transposition and the numbers of table entries are plain Rust, compiled for AVX2: × 0.97 and × 1.0 of the time
//! by intrinsics at n = 18. Joins, singles, pairs and sieves by plain Rust were slower: × 1.02 to 1.06.

mod lists;
mod planes;
mod words;

use std::ops::Range;

use crate::halves::lines::{Line, Words};
use crate::halves::vectors::{
    Bucket, Head, LINES, Sieve, Sifted, Tables, Vectors, impl_vectors, with_vectors,
};

/// Proof that this processor has the instructions.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Avx2(());

impl Avx2 {
    /// Returns the proof if the processor has the instructions.
    pub(crate) fn detect() -> Option<Self> {
        let can = is_x86_feature_detected!("avx2") && is_x86_feature_detected!("popcnt");
        can.then_some(Self(()))
    }
}

impl_vectors!(Avx2);
