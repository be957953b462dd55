//! The eight symmetries of the square.

use crate::board::{BoardSize, Square};

/// One of the eight rotations and reflections of a board.
///
/// Stored as three moves, in this order: exchange rows and columns, reverse the rows, reverse the columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Symmetry(u8);

const TRANSPOSE: u8 = 4;
const FLIP_ROWS: u8 = 2;
const FLIP_COLUMNS: u8 = 1;

impl Symmetry {
    /// Leaves the board unchanged.
    pub const IDENTITY: Self = Self(0);

    /// All eight, the identity first.
    pub const ALL: [Self; 8] = [Self(0), Self(1), Self(2), Self(3), Self(4), Self(5), Self(6), Self(7)];

    /// One of each pair that differs by a left-right mirror.
    ///
    /// A search down the rows visits trees of the same shape on a board and on its left-right mirror image. So only
    /// these four can differ in work.
    pub const UP_TO_MIRROR: [Self; 4] = [Self(0), Self(2), Self(4), Self(6)];

    /// Returns the number of a symmetry in records, 0 to 7.
    #[must_use]
    pub const fn index(self) -> u8 {
        self.0
    }

    /// Returns the symmetry with this number, if it exists.
    #[must_use]
    pub const fn from_index(index: u8) -> Option<Self> {
        if index < 8 { Some(Self(index)) } else { None }
    }

    /// Returns the image of `square` on the turned or mirrored board of size `n`.
    ///
    /// ```
    /// # use queens_solver::{BoardSize, Square, Symmetry};
    /// let n = BoardSize::new(4)?;
    /// let corner = Square { row: 0, column: 0 };
    /// let mut images: Vec<_> = Symmetry::ALL.iter().map(|s| s.apply(n, corner)).collect();
    /// images.sort();
    /// images.dedup();
    /// assert_eq!(images.len(), 4); // the four corners
    /// # Ok::<(), queens_solver::InvalidBoardSize>(())
    /// ```
    #[must_use]
    pub const fn apply(self, n: BoardSize, square: Square) -> Square {
        let Square { mut row, mut column } = square;
        if self.0 & TRANSPOSE != 0 {
            (row, column) = (column, row);
        }
        if self.0 & FLIP_ROWS != 0 {
            row = n.get() - 1 - row;
        }
        if self.0 & FLIP_COLUMNS != 0 {
            column = n.get() - 1 - column;
        }
        Square { row, column }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A square off every axis has eight images, so the eight maps are different.
    #[test]
    fn the_eight_are_different_and_keep_attacks() {
        let n = BoardSize::new(5).expect("a board size");
        let squares: Vec<Square> =
            (0..5).flat_map(|row| (0..5).map(move |column| Square { row, column })).collect();
        let mut images: Vec<Vec<Square>> = Vec::new();
        for symmetry in Symmetry::ALL {
            let image: Vec<Square> = squares.iter().map(|&s| symmetry.apply(n, s)).collect();
            for (i, &a) in squares.iter().enumerate() {
                for (j, &b) in squares.iter().enumerate() {
                    assert_eq!(a.attacks(b), image[i].attacks(image[j]));
                }
            }
            images.push(image);
        }
        images.sort();
        images.dedup();
        assert_eq!(images.len(), 8);
    }

    #[test]
    fn one_of_each_mirror_pair_is_named() {
        let n = BoardSize::new(7).expect("a board size");
        let mirror = Symmetry(FLIP_COLUMNS);
        let square = Square { row: 1, column: 2 };
        let mut reached: Vec<Square> = Vec::new();
        for symmetry in Symmetry::UP_TO_MIRROR {
            reached.push(symmetry.apply(n, square));
            reached.push(mirror.apply(n, symmetry.apply(n, square)));
        }
        reached.sort();
        reached.dedup();
        assert_eq!(reached.len(), 8);
    }
}
