//! The third symmetry: transposing the board.
//!
//! Mirroring and flipping act on the columns of the upper half; transposing, which exchanges rows and columns, mixes
//! the halves. Of a solution take
//!
//! - δ: the distances from the centre of the columns of the two queens next to the middle, the smaller first; for odd
//!   n that of the middle row's queen alone;
//! - γ: the distances from the middle of the rows of the queens in the two central columns, the smaller first; for odd
//!   n that of the central column's queen alone.
//!
//! Transposing exchanges δ and γ; mirroring and flipping leave both alone. So there are as many solutions with γ > δ,
//! in lexicographic order, as with γ < δ, and that is so also for the solutions of canonical columns, each with the
//! number of sets that these stand for. A pair of halves therefore counts twice if γ > δ, once if γ = δ, and not if
//! γ < δ. Where the middle row's queen stands in the centre, both distances are 0, and every pair counts once.
//!
//! δ is known as soon as the queens next to the middle are; γ is made of what each half has in the central columns. So
//! this costs no test of a pair: it says which sub-lists to join.

use std::cmp::Ordering;

use crate::halves::columns::Middle;
use crate::halves::footprint::Half;

/// The rows of one half's queens in the central columns, 0 where there is none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct CentralRows([u8; 2]);

/// Two distances, the smaller first; of which one is 0 if n is odd.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Distances([u8; 2]);

impl CentralRows {
    /// With one more queen, in this row. The upper half has at most two, the lower half at most one, as the upper
    /// half's columns are canonical.
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

/// δ, from the columns of the queens in the first rows above and below the middle.
pub(crate) fn delta(middle: Middle, upper_1: Option<u8>, lower_1: Option<u8>) -> Distances {
    let distance = |column: Option<u8>| column.map_or(0, |column| middle.distance(column));
    match middle.queen() {
        Some(_) => Distances::of(0, distance(middle.queen())),
        None => Distances::of(distance(upper_1), distance(lower_1)),
    }
}

/// γ, from what the halves have in the central columns.
pub(crate) fn gamma(upper: CentralRows, lower: CentralRows) -> Distances {
    Distances::of(upper.0[0] + lower.0[0], upper.0[1] + lower.0[1])
}

/// Whether a half may be one of a pair that counts twice, or where every pair counts once: as far as what it has in the
/// central columns tells, whatever the other half has there.
pub(crate) fn is_promising(middle: Middle, half: CentralRows, delta: Distances) -> bool {
    let [first, second] = half.0.map(|row| if row == 0 { u8::MAX } else { row });
    let best = if middle.queen().is_some() { Distances::of(0, first) } else { Distances::of(first, second) };
    best > delta
}

/// How often a pair of halves counts.
pub(crate) fn weight(gamma: Distances, delta: Distances) -> u64 {
    match gamma.cmp(&delta) {
        Ordering::Greater => 2,
        Ordering::Equal => 1,
        Ordering::Less => 0,
    }
}
