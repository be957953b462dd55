//! The footprint of a half board: the diagonals that it blocks for the other half board.
//!
//! Rows are counted from the middle outwards, 1 to m, in both half boards. If n is odd, the middle row lies between
//! them, so the rows i above and j below are i + j apart. If n is even, they are i + j − 1 apart. So write j' for j − 1
//! if n is even and for j if n is odd. Queens above in row i, column c and below in row j, column c' attack if
//!
//! ```text
//!   c + i = c' − j'  (rising to the right from the lower one's point of view) or c − i = c' + j'
//! ```
//!
//! and, as half boards have no column in common, only then. So each half board gets a set of numbers for either
//! direction: c + i and c − i of the queens above, c' − j' and c' + j' of the queens below. Two half boards fit if and
//! only if they have no number in common. Only numbers that occur in both matter: 1 to n − 1 and 0 to n − 2 for even n,
//! 1 to n − 2 in both directions for odd n. At most 62 bits hold them all.

use crate::board::BoardSize;

/// A set of the diagonals that both half boards reach.
pub(crate) type Footprint = u64;

/// The half board of a queen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Half {
    Upper,
    Lower,
}

/// Returns the footprint of a queen. Sums take the bits from 0 on, differences the bits from [`n_diagonals`] on.
pub(crate) fn footprint(n: BoardSize, half: Half, row: u8, column: u8) -> Footprint {
    let (size, row, column) = (i32::from(n.get()), i32::from(row), i32::from(column));
    let is_odd = size % 2;
    let (rising, falling) = match half {
        Half::Upper => (column + row, column - row),
        Half::Lower => (column - (row - 1 + is_odd), column + (row - 1 + is_odd)),
    };
    let n_diagonals = n_diagonals(n);
    let bit = |number: i32, from: u8| match u8::try_from(number) {
        Ok(number) if number < n_diagonals => 1 << (from + number),
        _ => 0,
    };
    bit(rising - 1, 0) | bit(falling - is_odd, n_diagonals)
}

/// Returns the number of diagonals of one direction that both half boards reach.
pub(crate) const fn n_diagonals(n: BoardSize) -> u8 {
    n.get().saturating_sub(1 + n.get() % 2)
}
