//! Queens on boards of any size.

use std::fmt;

/// A queen on its square, counted from 0 at the top left, on a board of any size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Queen {
    /// 0 is the top row.
    pub row: u32,
    /// 0 is the left column.
    pub column: u32,
}

impl Queen {
    /// Returns whether the two attack each other. Two queens on one square do.
    ///
    /// ```
    /// # use queens_solver::boards::Queen;
    /// let queen = Queen { row: 1, column: 2 };
    /// assert!(queen.attacks(Queen { row: 3, column: 4 }));
    /// assert!(!queen.attacks(Queen { row: 3, column: 3 }));
    /// ```
    #[must_use]
    pub const fn attacks(self, other: Self) -> bool {
        let rows = self.row.abs_diff(other.row);
        let columns = self.column.abs_diff(other.column);
        rows == 0 || columns == 0 || rows == columns
    }
}

impl fmt::Display for Queen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.row, self.column)
    }
}
