//! The vector operations that the join needs, as a trait that each instruction set implements.

use std::fmt::Debug;
use std::ops::Range;

use crate::halves::lines::{Line, Words};

/// Lines that a leaf works on at once.
pub(crate) const LINES: usize = 2;

/// Upper placements that a leaf works on at once.
pub(crate) const LANES: usize = 512 * LINES;

/// Planes of a line's placements: one for each bit of a word, and one of zeros.
pub(crate) const PLANES: usize = 65;

/// The plane of zeros.
pub(crate) const NO_PLANE: u8 = 64;

/// Bytes of a table's entry.
pub(crate) const ENTRY: usize = LINES * size_of::<Line>();

/// Words behind the end of a list or table that a vector may read or write.
pub(crate) const ROOM: usize = 64;

/// The number of tails in a bucket is a multiple of this.
pub(crate) const BUCKET: u32 = 8;

/// The tails on one set of columns.
#[derive(Clone, Copy)]
pub(crate) struct Bucket<'a> {
    pub(crate) attacks: &'a [u64],
    pub(crate) words: &'a [u64],
    pub(crate) ranks: &'a [u64],
}

/// The first rows of a placement.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Head {
    pub(crate) attacks: u64,
    pub(crate) word: u64,
    pub(crate) ranks: u64,
}

/// A sieve for the lower placements of some blocks, by the footprints of upper queens of the first rows.
#[derive(Clone, Copy)]
pub(crate) struct Sieve<'a> {
    /// The planes of all blocks, plane by plane.
    pub(crate) planes: &'a [Line],
    pub(crate) n_blocks: usize,
    /// The blocks to test.
    pub(crate) from: usize,
    pub(crate) to: usize,
    /// The planes that must be zero.
    pub(crate) zero: &'a [u8],
    /// For each block, another line that must be one.
    pub(crate) one: &'a [Line],
}

/// The placements that passed a [`Sieve`].
#[derive(Debug, Default)]
pub(crate) struct Sifted {
    /// Their numbers, counted from the first tested block.
    pub(crate) numbers: Vec<u16>,
    /// A bit for each tested placement, set if it passed.
    pub(crate) bits: Vec<u64>,
    /// The number of placements that passed before each word of `bits`.
    pub(crate) before: Vec<u32>,
    pub(crate) len: usize,
}

/// The most blocks that are tested at once: the numbers of their placements have 16 bits.
pub(crate) const MAX_BLOCKS: usize = 128;

impl Sifted {
    pub(crate) fn new() -> Self {
        Self {
            numbers: vec![0; MAX_BLOCKS * 512 + ROOM],
            bits: vec![0; MAX_BLOCKS * 8 + 1],
            before: vec![0; MAX_BLOCKS * 8 + 1],
            len: 0,
        }
    }

    /// Returns how many placements with a lower number passed.
    pub(crate) fn rank(&self, number: usize) -> usize {
        let (word, bit) = (number / 64, number % 64);
        self.before[word] as usize + (self.bits[word] & ((1 << bit) - 1)).count_ones() as usize
    }
}

/// The tables of a leaf, one for each of four pairs of rows.
#[derive(Clone, Copy)]
pub(crate) struct Tables<'a> {
    pub(crate) pairs: [&'a [Line]; 4],
}

/// Vector operations of the join. Values of a type exist only where the processor has the instructions.
pub(crate) trait Vectors: Copy + Debug + Send + Sync {
    /// Appends the words of the placements that a head makes with a bucket's tails, a multiple of [`BUCKET`]. `shift`
    /// says that the head has a queen in a central column, so that the tail's is the second.
    fn join(self, bucket: Bucket<'_>, head: &Head, shift: bool, to: &mut Words);

    /// Does the same, and appends the ranks of the last rows' columns to a list that is at least as long.
    fn join_ranked(self, bucket: Bucket<'_>, head: &Head, shift: bool, to: &mut Words, ranks: &mut Words);

    /// Appends the words that have no bit of the mask.
    fn filter(self, words: &[u64], mask: u64, to: &mut Words);

    /// Appends the words that have no bit of the mask: those in the main range to one list, those in one of the other
    /// two, which are disjoint, to another list.
    fn divide(
        self,
        words: &[u64],
        mask: u64,
        main: &Range<u64>,
        equal: &[Range<u64>; 2],
        to: &mut Words,
        to_equal: &mut Words,
    );

    /// Writes the bits of up to 512 words as planes: bit `p` of all words to `planes[p * stride]`, zeros for missing
    /// words.
    fn transpose(self, words: &[u64], n_planes: usize, planes: &mut [Line], stride: usize);

    /// Converts each word's eight ranks to four table entry offsets, in bytes. Ranks skip the `fixed` columns (in
    /// ascending order), and `n_left` columns remain.
    fn number(self, ranks: &mut [u64], fixed: &[u8], n_left: u8, keep: u64);

    /// Finds the placements that pass a sieve.
    fn sift(self, sieve: Sieve<'_>, to: &mut Sifted);

    /// Returns the number of placements that pass a sieve.
    fn count_sifted(self, sieve: Sieve<'_>) -> u64;

    /// `to[i] = !(planes[a] | planes[b])` for the i-th pair of planes, `n_lines` of each.
    fn singles(self, planes: &[Line], feet: &[(u8, u8)], n_lines: usize, to: &mut [Line]);

    /// `to[i * second.len() + k] = first[i] & second[k]`, `n_lines` of each, for the `k` whose bit is set in
    /// `apart[i]`.
    fn pairs(self, first: &[Line], second: &[Line], apart: &[u16], n_lines: usize, to: &mut [Line]);

    /// Returns the number of fitting pairs of the lower placements with these numbers and the upper ones in the tables.
    fn steps(
        self,
        tables: Tables<'_>,
        codes: &[u64],
        numbers: &[u16],
        top: &[Line; LINES],
        n_lines: usize,
    ) -> u64;
}

/// Calls a function whose instructions the receiver proves to be available.
macro_rules! with_vectors {
    ($call:expr) => {{
        // SAFETY: a type that implements `Vectors` has values only where its features were found.
        #[allow(unused_unsafe, reason = "plain functions are safe")]
        unsafe {
            $call
        }
    }};
}
pub(crate) use with_vectors;

/// Implements [`Vectors`] for a proof type, by the functions in the `lists` and `planes` modules beside it.
macro_rules! impl_vectors {
    ($proof:ty) => {
        impl Vectors for $proof {
            fn join(self, bucket: Bucket<'_>, head: &Head, shift: bool, to: &mut Words) {
                with_vectors!(lists::join::<false>(bucket, head, shift, to, &mut Words::default()))
            }
            fn join_ranked(
                self,
                bucket: Bucket<'_>,
                head: &Head,
                shift: bool,
                to: &mut Words,
                ranks: &mut Words,
            ) {
                with_vectors!(lists::join::<true>(bucket, head, shift, to, ranks))
            }

            fn filter(self, words: &[u64], mask: u64, to: &mut Words) {
                with_vectors!(lists::filter(words, mask, to))
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
                with_vectors!(lists::divide(words, mask, main, equal, to, to_equal))
            }

            fn transpose(self, words: &[u64], n_planes: usize, planes: &mut [Line], stride: usize) {
                with_vectors!(planes::transpose(words, n_planes, planes, stride))
            }

            fn number(self, ranks: &mut [u64], fixed: &[u8], n_left: u8, keep: u64) {
                with_vectors!(lists::number(ranks, fixed, n_left, keep))
            }

            fn sift(self, sieve: Sieve<'_>, to: &mut Sifted) {
                with_vectors!(planes::sift(sieve, to))
            }

            fn count_sifted(self, sieve: Sieve<'_>) -> u64 {
                with_vectors!(planes::count_sifted(sieve))
            }

            fn singles(self, planes: &[Line], feet: &[(u8, u8)], n_lines: usize, to: &mut [Line]) {
                with_vectors!(planes::singles(planes, feet, n_lines, to))
            }

            fn pairs(self, first: &[Line], second: &[Line], apart: &[u16], n_lines: usize, to: &mut [Line]) {
                if n_lines == 1 {
                    with_vectors!(planes::pairs::<1>(first, second, apart, to))
                } else {
                    with_vectors!(planes::pairs::<LINES>(first, second, apart, to))
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
                    with_vectors!(planes::steps::<1>(tables, codes, numbers, top))
                } else {
                    with_vectors!(planes::steps::<LINES>(tables, codes, numbers, top))
                }
            }
        }
    };
}
pub(crate) use impl_vectors;
