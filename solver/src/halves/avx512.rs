//! The join's vectors with AVX-512, as Ice Lake, Zen 4 and later have it.
//!
//! Figures are cycles of 2.6 GHz on one core of a Sapphire-Rapids-class processor that had other work to do.
//!
//! **Steps** ([`planes::steps`]) are what most time goes into at large n: 40 % at n = 24 and 26. The upper placements
//! of a leaf stand in 512 lanes, one bit each, and a line of a table says for two lower queens in which lanes they
//! attack none. So one step takes a lower placement, which is four numbers of entries, and counts the bits that four
//! lines and that of the first rows have in common: two ternary logic instructions, a count of bits and an addition,
//! for 512 pairs. These four are the bound, 1.7 cycles at the clock that such instructions run at; 2.4 to 2.9 are
//! measured, with tables of 18 to 50 KB alike. Placements without numbers between them, packed anew for each leaf,
//! would take a tenth off, which packing costs.
//!
//! **Tables** ([`planes::pairs`]): a line for each queen, then the `and` of any two that may stand in neighbouring
//! rows, four fifths of all: a store of a line each.
//!
//! **Transposition** ([`planes::transpose`]): words become lines. A permutation of bytes and a product of bit matrices
//! transpose eight words of eight bytes, unpacking brings eight such together, and as memory takes 16 bytes at any
//! place, the last step is to load these in the order they are needed and unpack once more: no scalar store is left.
//!
//! **Filters** ([`lists::filter`]): a test and a compress for eight words, some 3 cycles.
//!
//! **Sieve** ([`planes::sift`]): which lower placements the first upper queens leave is an `or` of two planes a queen;
//! the numbers of the set bits of 64 come from one compress of bytes.
//!
//! **Making placements** ([`lists::join`]) is a third of the time at n = 20: heads meet tails by a test of eight at a
//! time. Tails are filled up to whole vectors with some that every head attacks, so that no mask is needed: 0.8 of the
//! time. They begin where lines of memory do: vectors that lie across two lines took three times as long from the
//! second cache, 3 to 5 % of all. To read the head from where it was just written in parts cost 4 % of all (a store
//! that can't be forwarded).
//!
//! What decided more than any loop is how many rows are fixed where (`Shape`): tried for n = 20 to 28, the next best
//! are 3 to 40 % slower. One lower row in a group and a leaf instead of two: x 0.84 at n = 20.
//!
//! Lost: pages of 2 MB (x 0.98 to 1.02); heads in the order of the tails they meet, so that tails are read from the
//! first cache (x 1.0 to 1.25, as placements have to be brought into their order again); words by the row of the
//! central queen, so that fewer are compared (x 0.99 to 1.06); tails fetched ahead (x 1.0).

mod lists;
mod planes;
mod words;

use std::ops::Range;

use crate::halves::lines::{Line, Words};
use crate::halves::vectors::{Bucket, Head, LINES, Sieve, Sifted, Tables, Vectors, impl_vectors};

/// Proof that this processor has the instructions.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Avx512(());

impl Avx512 {
    /// The proof, if it has.
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
