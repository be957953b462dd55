//! Counting by joining half boards.
//!
//! Cut the board along its middle. A solution is an upper half and a lower half that fit together: their queens stand
//! in different columns, and no diagonal holds one of each. So fix which columns the upper half takes, list all ways
//! to place the upper rows on these and the lower rows on the others, and count the pairs of an upper and a lower half
//! that fit. The lists are short where the number of solutions is huge, and a pair is tested by one `and`.

mod avx2;
mod avx512;
mod columns;
mod descent;
mod footprint;
mod join;
mod leaf;
mod lines;
mod lower;
mod parts;
mod placements;
mod portable;
mod sample;
mod shape;
mod side;
mod spread;
mod subproblems;
#[cfg(test)]
mod tests;
mod transposition;
mod unit;
mod upper;
mod vectored;
mod vectors;
mod work;

pub use self::parts::HalvesPart;
pub(crate) use self::parts::{HALVES_DECOMPOSITION_VERSION, parts_in_lexicographic_order};
pub(crate) use self::sample::{HalvesSample, HalvesSampler};
pub(crate) use self::subproblems::JoinedHalves;
pub(crate) use self::work::choices;
