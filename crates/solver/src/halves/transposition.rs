//! The third symmetry: transposing the board.
//!
//! Mirroring and flipping act on the columns of the upper half board. Transposing exchanges rows and columns, and mixes
//! the half boards. A solution has two pairs of distances, each with the smaller first:
//!
//! - δ: the distances from the centre of the columns of the two queens in the first rows; for odd n the middle queen's
//!   alone;
//! - γ: the distances from the middle of the rows of the queens in the two central columns; for odd n the central one's
//!   alone.
//!
//! Transposing exchanges δ and γ; mirroring and flipping change neither. So as many solutions have γ > δ, in
//! lexicographic order, as have γ < δ. The same holds for the solutions of canonical columns, each multiplied by the
//! number of sets that these stand for. A pair of placements therefore counts twice if γ > δ, once if γ = δ, and not if
//! γ < δ. If the middle row's queen stands in the centre, both distances are 0, and every pair counts once.
//!
//! The first rows determine δ, and the central columns of both half boards determine γ. So this costs no test of a
//! pair: it decides which sub-lists to join.

use std::cmp::Ordering;

use crate::halves::columns::Middle;
use crate::halves::footprint::Half;

/// The rows of one half board's queens in the central columns, 0 where there is none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct CentralRows([u8; 2]);

/// Two distances, the smaller first. One of them is 0 if n is odd.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Distances([u8; 2]);

impl CentralRows {
    /// Adds a queen in this row. As the upper columns are canonical, the upper half board has at most two, the lower
    /// one.
    pub(crate) fn add(&mut self, half: Half, row: u8) {
        let [first, second] = &mut self.0;
        *(if half == Half::Upper && *first == 0 { first } else { second }) = row;
    }
}

impl Distances {
    fn of(a: u8, b: u8) -> Self {
        Self([a.min(b), a.max(b)])
    }
}

/// Returns δ, from the columns of the queens in the first rows above and below the middle.
pub(crate) fn delta(middle: Middle, upper_1: Option<u8>, lower_1: Option<u8>) -> Distances {
    let distance = |column: Option<u8>| column.map_or(0, |column| middle.distance(column));
    match middle.queen {
        Some(_) => Distances::of(0, distance(middle.queen)),
        None => Distances::of(distance(upper_1), distance(lower_1)),
    }
}

/// Returns γ, from the rows of both half boards' queens in the central columns.
pub(crate) fn gamma(upper: CentralRows, lower: CentralRows) -> Distances {
    Distances::of(upper.0[0] + lower.0[0], upper.0[1] + lower.0[1])
}

/// Returns whether a placement may belong to a pair that counts twice, or to a board where every pair counts once. It
/// depends on the placement's central columns, for any placement of the other half board.
pub(crate) fn is_promising(middle: Middle, half: CentralRows, delta: Distances) -> bool {
    let [first, second] = half.0.map(|row| if row == 0 { u8::MAX } else { row });
    let best = if middle.queen.is_some() { Distances::of(0, first) } else { Distances::of(first, second) };
    best > delta
}

/// Returns how often a pair of placements counts.
pub(crate) fn weight(gamma: Distances, delta: Distances) -> u64 {
    match gamma.cmp(&delta) {
        Ordering::Greater => 2,
        Ordering::Equal => 1,
        Ordering::Less => 0,
    }
}
