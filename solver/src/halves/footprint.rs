//! What a half board takes of the diagonals that it shares with the other half.
//!
//! Rows are counted from the middle outwards, 1 to m, in both halves alike. Where n is odd, the rows i above and j
//! below are i + j apart, as the middle row is between them; where n is even, i + j − 1. So write j' for j − 1 if n is
//! even and for j if it is odd. Queens above in row i, column c and below in row j, column c' attack each other if
//!
//! ```text
//!   c + i = c' − j'  (rising to the right from the lower one's point of view)    or    c − i = c' + j'
//! ```
//!
//! and, as halves have no column in common, only then. So give each half a set of numbers for either direction: c + i
//! and c − i of its queens above, c' − j' and c' + j' below. Two halves fit if and only if they have no number in
//! common. Only those that occur in both halves matter: 1 to n − 1 and 0 to n − 2 for even n, 1 to n − 2 both times for
//! odd. At most 62 bits hold them all.

use crate::board::BoardSize;

/// A set of the diagonals that both halves reach.
pub(crate) type Footprint = u64;

/// Which half a queen stands in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Half {
    Upper,
    Lower,
}

/// The bits of a queen's footprint: of the sums first, from bit 0 on, the differences above them, from bit
/// [`n_diagonals`] on.
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

/// The diagonals of one direction that both halves reach.
pub(crate) const fn n_diagonals(n: BoardSize) -> u8 {
    n.get().saturating_sub(1 + n.get() % 2)
}
