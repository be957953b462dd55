//! Counting by joining half boards.
//!
//! Cut the board along its middle. A solution is an upper half and a lower half that *fit* together: their queens stand
//! in different columns, and no diagonal holds one of each. So fix which columns the upper half has, list all ways to
//! place the upper rows on these, and the lower rows on the others, and count the pairs of the two lists that fit:
//!
//! ```text
//!   n = 8              columns        row
//!     . . . . . Q . .      5           4 ┐
//!     . . Q . . . . .      2           3 │ the upper half has the columns
//!     Q . . . . . . .      0           2 │ 0 2 5 6, rows counted from the middle
//!     . . . . . . Q .      6           1 ┘
//!     . . . . Q . . .      4           1 ┐
//!     . . . . . . . Q      7           2 │ the lower half has the others
//!     . Q . . . . . .      1           3 │
//!     . . . Q . . . .      3           4 ┘
//! ```
//!
//! The lists are short where the solutions are many: at n = 24 one has some 2 · 10^6 placements in the mean, and of the
//! pairs of two lists some 8 · 10^7 fit. Which diagonals a half takes is a word, its *footprint* (`footprint`), so that
//! a pair is tested by one `and`; and much of a list is ruled out at once, for all pairs that have the queens next to
//! the middle in common.
//!
//! If n is odd, the queen of the middle row is placed first. It belongs to neither half, and both avoid its column and
//! its diagonals.
//!
//! # Why each solution is counted once
//!
//! The eight symmetries of the board are made of three. Two of them act on the columns of the upper half alone:
//! *mirroring* the board mirrors them, and *flipping* it upside down exchanges them for the others. So the solutions of
//! a set of columns are as many as those of each of its images, and it is enough to count one of them, the *canonical*
//! one, and to multiply by how many images there are, four or two (`columns`). The factor belongs to the set, not to
//! the solution: symmetric solutions need no care. If n is odd and the middle row's queen is not in the centre,
//! mirroring is used to have it on the left, and flipping to have the central column in the upper half; each solution
//! stands for four.
//!
//! The third, *transposing*, mixes the halves, and acts on two pairs of distances that a solution has, exchanging them.
//! If they differ, the solutions with the one greater are as many as those with the other greater; so these count twice
//! and those not at all (`transposition`). Together that is all of the eightfold symmetry, for next to nothing.
//!
//! # What is numbered
//!
//! A *part* (`parts`) knows for the columns nearest the centre which half has them, and is canonical as far as that
//! goes; with it go all sets of columns that agree with it. Its subproblems are these sets, in lexicographic order, and
//! on large boards also up to three queens next to the middle: the set is the slow part of the number, so that those
//! which follow each other share their lists. What a subproblem counts to depends on its number alone. Solutions come
//! multiplied by 2 or 1 as the images of the set demand, and by the rest of the symmetry, the part's weight, in the sum.
//!
//! `portable` does what is said here and nothing else, and is the specification; all others count the same and say that
//! it was the same work (`unit`).

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod columns;
mod descent;
mod footprint;
#[cfg(target_arch = "x86_64")]
mod join;
#[cfg(target_arch = "x86_64")]
mod leaf;
#[cfg(target_arch = "x86_64")]
mod lines;
#[cfg(target_arch = "x86_64")]
mod lower;
mod memory;
mod parts;
#[cfg(target_arch = "x86_64")]
mod placements;
mod portable;
mod sample;
#[cfg(target_arch = "x86_64")]
mod shape;
#[cfg(target_arch = "x86_64")]
mod side;
mod spread;
mod subproblems;
#[cfg(test)]
mod tests;
mod transposition;
mod unit;
#[cfg(target_arch = "x86_64")]
mod upper;
#[cfg(target_arch = "x86_64")]
mod vectored;
#[cfg(target_arch = "x86_64")]
mod vectors;
mod work;

pub(crate) use self::memory::most_memory;
pub use self::parts::HalvesPart;
pub(crate) use self::parts::{HALVES_DECOMPOSITION_VERSION, parts_in_lexicographic_order};
pub(crate) use self::sample::{HalvesSample, HalvesSampler};
pub(crate) use self::subproblems::JoinedHalves;
pub(crate) use self::work::choices;
