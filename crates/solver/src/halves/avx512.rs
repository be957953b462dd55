//! AVX-512 instructions for the join, as Ice Lake, Zen 4 and later have them.
//!
//! Figures are cycles of 2.6 GHz on one core of a Sapphire-Rapids-class processor that had other work to do.
//!
//! **Steps** ([`planes::steps`]) take most of the time at large n: 40 % at n = 24 and 26. A step takes a lower
//! placement, which is four numbers of table entries. It counts the bits that these four lines and the first rows' line
//! have in common: two ternary logic instructions, a population count and an addition, for 512 pairs. These four bound
//! a step by 1.7 cycles at the clock of such instructions. Measured are 2.4 to 2.9, alike for tables of 18 to 50 KB.
//! Placements packed anew for each leaf, without numbers between, would save a tenth, and packing costs as much.
//!
//! **Tables** ([`planes::pairs`]) hold a line for each queen, then the `and` of any two that may stand in neighbouring
//! rows, four fifths of all pairs. Each takes one store of a line.
//!
//! **Transposition** ([`planes::transpose`]) turns words into lines. A byte permutation and a bit-matrix product
//! transpose eight words of eight bytes, and unpacking combines eight such results. Memory stores 16 bytes at any
//! place, so the last stage loads these in their final order and unpacks once more. No scalar store remains.
//!
//! **Filters** ([`lists::filter`]) take a test and a compress for eight words, about 3 cycles, or 10 if the words come
//! from the third cache. Words are asked for 1,300 bytes ahead: x 0.95 to 0.98 of all; 2,600 bytes ahead, x 1.07 at
//! n = 28.
//!
//! **Sieves** ([`planes::sift`]) take an `or` of two planes for each upper queen of the first rows. One compress of
//! bytes makes the numbers of the set bits of 64.
//!
//! **Making placements** ([`lists::join`]) takes a third of the time at n = 20: one test compares a head with eight
//! tails. Tails that every head attacks fill buckets up to whole vectors, so that no mask is needed: 0.8 of the time.
//! Buckets begin at cache line boundaries: vectors across two cache lines took three times as long from the
//! second-level cache, 3 to 5 % of all. Reading a head just written in parts cost 4 % of all (no store forwarding).
//!
//! The number of rows fixed at each stage (`Shape`) matters more than any loop. Tried for n = 20 to 28, the next best
//! shapes are 3 to 40 % slower. One lower row in a group and a leaf instead of two: x 0.84 at n = 20.
//!
//! Tried without gain: pages of 2 MB (x 0.98 to 1.02); heads in the order of their tails, so that tails come from the
//! first-level cache (x 1.0 to 1.25, as placements must be sorted again); words by the row of the central queen, so
//! that fewer are compared (x 0.99 to 1.06); prefetched tails (x 1.0); steps that load each number of an entry by itself
//! instead of shifting (x 1.0).

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
pub(crate) struct Avx512(());

impl Avx512 {
    /// Returns the proof if the processor has the instructions.
    pub(crate) fn detect() -> Option<Self> {
        let can = is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512vl")
            && is_x86_feature_detected!("avx512vbmi")
            && is_x86_feature_detected!("avx512vbmi2")
            && is_x86_feature_detected!("avx512vpopcntdq")
            && is_x86_feature_detected!("gfni")
            && is_x86_feature_detected!("bmi1")
            && is_x86_feature_detected!("bmi2")
            && is_x86_feature_detected!("popcnt");
        can.then_some(Self(()))
    }
}

impl_vectors!(Avx512);
