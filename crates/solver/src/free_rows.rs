//! The rows that a cross leaves free, and the state of a partial placement on them.

use crate::board::{BoardSize, Square};

/// The rows that a cross leaves free, top to bottom, with their allowed squares.
///
/// A [`RowState`] holds no cross queens. Squares that they attack are missing from the allowed squares, and a larger
/// [`FreeRow::step`] skips the rows they fill. So the states of a cross at one depth are uniform, as vector kernels
/// need.
#[derive(Clone, Debug)]
pub(crate) struct FreeRows {
    rows: [FreeRow; BoardSize::MAX as usize],
    len: usize,
    /// The columns without a cross queen: as many as there are free rows.
    pub(crate) columns: u32,
}

/// A row without a cross queen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct FreeRow {
    /// The row's number on the board.
    pub(crate) row: u8,
    /// The distance to the next free row, 1 to 3; 0 for the last.
    pub(crate) step: u8,
    /// A bit for each square that no cross queen attacks.
    pub(crate) allowed: u32,
}

impl FreeRows {
    /// Makes the rows of a board of size `n` that hold none of the given queens, which must not attack each other.
    #[must_use]
    pub(crate) fn new(n: BoardSize, queens: &[Square]) -> Self {
        let mut free = Self { rows: [FreeRow::default(); BoardSize::MAX as usize], len: 0, columns: 0 };
        for row in 0..n.get() {
            if queens.iter().any(|queen| queen.row == row) {
                continue;
            }
            let attacked = queens.iter().fold(0, |attacked, queen| {
                let (square, distance) = (1_u32 << queen.column, queen.row.abs_diff(row));
                attacked | square | square << distance | square >> distance
            });
            let allowed = n.row_mask() & !attacked;
            if let Some(last) = free.len.checked_sub(1) {
                free.rows[last].step = row - free.rows[last].row;
            }
            free.rows[free.len] = FreeRow { row, step: 0, allowed };
            free.len += 1;
        }
        free.columns = queens.iter().fold(n.row_mask(), |columns, queen| columns & !(1 << queen.column));
        free
    }

    #[must_use]
    pub(crate) fn as_slice(&self) -> &[FreeRow] {
        &self.rows[..self.len]
    }

    /// Returns the number of allowed squares in each row, top to bottom.
    pub(crate) fn allowed_counts(&self) -> Vec<u32> {
        self.as_slice().iter().map(|row| row.allowed.count_ones()).collect()
    }

    #[must_use]
    pub(crate) const fn len(&self) -> usize {
        self.len
    }
}

/// The squares of one row that the queens in the free rows above attack: a bit is an attacked square.
///
/// Going down a row shifts the diagonals by one, so no board is ever stored (Richards 1997).
///
/// ```text
///   n = 6, queens on (row 0, column 0) and (row 1, column 2), seen from row 2; column 0 on the left
///   columns  1 . 1 . . .      rising  . . 1 1 . .      falling  . 1 . . . .
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct RowState {
    /// Columns that hold a queen.
    pub(crate) columns: u32,
    /// Squares on diagonals whose column rises from row to row.
    pub(crate) rising: u32,
    /// Squares on diagonals whose column falls from row to row.
    pub(crate) falling: u32,
}

impl RowState {
    /// No queen placed yet.
    pub(crate) const EMPTY: Self = Self { columns: 0, rising: 0, falling: 0 };

    /// Returns the squares of `allowed` that no queen attacks.
    #[inline(always)]
    #[must_use]
    pub(crate) const fn free(self, allowed: u32) -> u32 {
        allowed & !(self.columns | self.rising | self.falling)
    }

    /// Returns the same queens seen from `step` rows further down.
    #[inline(always)]
    #[must_use]
    pub(crate) const fn down(self, step: u8) -> Self {
        Self { columns: self.columns, rising: self.rising << step, falling: self.falling >> step }
    }

    /// Adds a queen on the square whose bit is `queen`, seen from the same row.
    #[inline(always)]
    #[must_use]
    pub(crate) const fn with(self, queen: u32) -> Self {
        Self { columns: self.columns | queen, rising: self.rising | queen, falling: self.falling | queen }
    }
}

/// Returns the set bits of a mask, lowest first.
#[inline(always)]
pub(crate) fn bits(mut mask: u32) -> impl Iterator<Item = u32> + Clone {
    std::iter::from_fn(move || {
        let lowest = mask & mask.wrapping_neg();
        mask ^= lowest;
        (lowest != 0).then_some(lowest)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_documented_state_is_what_two_queens_give() {
        let state = RowState::EMPTY.with(1).down(1).with(1 << 2).down(1);
        assert_eq!(state, RowState { columns: 0b00_0101, rising: 0b00_1100, falling: 0b00_0010 });
    }

    /// For every cross, the masks agree with a comparison of squares.
    #[test]
    fn rows_and_masks_agree_with_squares() {
        let n = BoardSize::new(9).expect("a board size");
        for cross in crate::Cross::all(n) {
            let free = FreeRows::new(n, cross.queens());
            assert_eq!(free.len(), 9 - cross.queens().len());
            assert_eq!(free.columns.count_ones() as usize, free.len());
            for pair in free.as_slice().windows(2) {
                assert_eq!(pair[0].row + pair[0].step, pair[1].row);
            }
            for row in free.as_slice() {
                for column in 0..9 {
                    let square = Square { row: row.row, column };
                    let attacked = cross.queens().iter().any(|queen| queen.attacks(square));
                    assert_eq!(row.allowed >> column & 1 == 0, attacked);
                }
            }
        }
    }
}
