//! Board sizes and squares, with their parsing and bounds.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

/// The number of rows and columns of a board, 0 to [`BoardSize::MAX`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BoardSize(u8);

/// The text of a number that is not a board size.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("board size '{0}' is not a whole number from 0 to 32")]
pub struct InvalidBoardSize(String);

impl BoardSize {
    /// The largest board: one bit of a 32-bit word for each column.
    pub const MAX: u8 = 32;

    /// Makes the size of a board with `n` rows and columns.
    ///
    /// # Errors
    /// If `n` is over [`BoardSize::MAX`].
    pub fn new(n: u8) -> Result<Self, InvalidBoardSize> {
        if n <= Self::MAX { Ok(Self(n)) } else { Err(InvalidBoardSize(n.to_string())) }
    }

    /// Returns the number of rows.
    #[must_use]
    pub const fn get(self) -> u8 {
        self.0
    }

    /// Returns all sizes from `first` to `last`, both included.
    pub fn range(first: u8, last: u8) -> impl Iterator<Item = Self> {
        (first..=last.min(Self::MAX)).map(Self)
    }

    /// Returns a mask with a bit for each column: bit `c` stands for column `c`.
    ///
    /// ```
    /// # use queens_solver::BoardSize;
    /// assert_eq!(BoardSize::new(4)?.row_mask(), 0b1111);
    /// assert_eq!(BoardSize::new(32)?.row_mask(), u32::MAX);
    /// # Ok::<(), queens_solver::InvalidBoardSize>(())
    /// ```
    #[must_use]
    pub const fn row_mask(self) -> u32 {
        match self.0 {
            0 => 0,
            n => u32::MAX >> (32 - n as u32),
        }
    }
}

impl TryFrom<u32> for BoardSize {
    type Error = InvalidBoardSize;

    fn try_from(n: u32) -> Result<Self, Self::Error> {
        match u8::try_from(n) {
            Ok(n) => Self::new(n),
            Err(_) => Err(InvalidBoardSize(n.to_string())),
        }
    }
}

impl FromStr for BoardSize {
    type Err = InvalidBoardSize;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.parse::<u8>() {
            Ok(n) => Self::new(n).map_err(|_| InvalidBoardSize(text.to_owned())),
            Err(_) => Err(InvalidBoardSize(text.to_owned())),
        }
    }
}

impl fmt::Display for BoardSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A square. Rows and columns count from 0 at the top left.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Square {
    /// 0 is the top row.
    pub row: u8,
    /// 0 is the left column.
    pub column: u8,
}

impl Square {
    /// Returns whether queens on the two squares attack each other. A square attacks itself.
    ///
    /// ```
    /// # use queens_solver::Square;
    /// let queen = Square { row: 1, column: 2 };
    /// assert!(queen.attacks(Square { row: 3, column: 4 }));
    /// assert!(!queen.attacks(Square { row: 3, column: 3 }));
    /// ```
    #[must_use]
    pub const fn attacks(self, other: Self) -> bool {
        let rows = self.row.abs_diff(other.row);
        let columns = self.column.abs_diff(other.column);
        rows == 0 || columns == 0 || rows == columns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_parsed_or_refused_with_the_text() {
        for n in 0..=32_u8 {
            assert_eq!(n.to_string().parse::<BoardSize>().map(BoardSize::get), Ok(n));
        }
        for text in ["33", "-1", "x", "", "1e3", "256", "99999999999999999999"] {
            let error = text.parse::<BoardSize>().expect_err("not a board size");
            assert!(error.to_string().contains(&format!("'{text}'")), "{error}");
        }
    }

    #[test]
    fn the_row_mask_has_one_bit_a_column() {
        for n in BoardSize::range(0, 32) {
            assert_eq!(n.row_mask().count_ones(), u32::from(n.get()));
            assert_eq!(n.row_mask().trailing_ones(), u32::from(n.get()));
        }
    }
}
