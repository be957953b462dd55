//! Given queens: the queens that a solution must contain.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

use super::queen::Queen;
use crate::board::{BoardSize, Square};

/// Queens on the board from the start, none attacking another.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Given(Vec<Queen>);

/// The reason why queens can't be the beginning of a solution.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum InvalidGiven {
    /// The text is not a list of squares.
    #[error("'{0}' is not a square: expected row:column, counted from 0, with commas between squares")]
    NotASquare(String),
    /// Two queens attack each other.
    #[error("the given queens {0} and {1} attack each other")]
    Attack(Queen, Queen),
    /// A queen is not on the board.
    #[error("the given queen {0} (row:column, from 0) is not on the board: both must be below n = {1}")]
    OffBoard(Queen, u32),
}

impl Given {
    /// Checks and stores the queens.
    ///
    /// # Errors
    /// If two attack each other.
    pub fn new(queens: Vec<Queen>) -> Result<Self, InvalidGiven> {
        for (i, &queen) in queens.iter().enumerate() {
            if let Some(&other) = queens[..i].iter().find(|other| other.attacks(queen)) {
                return Err(InvalidGiven::Attack(other, queen));
            }
        }
        Ok(Self(queens))
    }

    /// Returns the queens.
    #[must_use]
    pub fn queens(&self) -> &[Queen] {
        &self.0
    }

    /// Checks that the queens stand on a board of size `n`.
    ///
    /// # Errors
    /// If one does not.
    pub(crate) fn check_on_board(&self, n: u32) -> Result<(), InvalidGiven> {
        match self.0.iter().find(|queen| queen.row >= n || queen.column >= n) {
            Some(&queen) => Err(InvalidGiven::OffBoard(queen, n)),
            None => Ok(()),
        }
    }

    /// Returns the squares of the queens on a board of size `n`.
    ///
    /// # Errors
    /// If one is not on the board.
    pub fn squares(&self, n: BoardSize) -> Result<Vec<Square>, InvalidGiven> {
        self.check_on_board(n.get().into())?;
        let line = |line| u8::try_from(line).unwrap_or(u8::MAX);
        let square = |queen: &Queen| Square { row: line(queen.row), column: line(queen.column) };
        Ok(self.0.iter().map(square).collect())
    }
}

impl FromStr for Given {
    type Err = InvalidGiven;

    /// Parses `r:c,r:c,…`; an empty text gives no queen.
    fn from_str(text: &str) -> Result<Self, InvalidGiven> {
        let queen = |word: &str| {
            let (row, column) = word.split_once(':')?;
            Some(Queen { row: row.trim().parse().ok()?, column: column.trim().parse().ok()? })
        };
        let words = text.split(',').map(str::trim).filter(|_| !text.trim().is_empty());
        let queens = words.map(|word| queen(word).ok_or_else(|| InvalidGiven::NotASquare(word.to_owned())));
        Self::new(queens.collect::<Result<_, _>>()?)
    }
}

impl fmt::Display for Given {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, queen) in self.0.iter().enumerate() {
            if i > 0 {
                f.write_str(",")?;
            }
            queen.fmt(f)?;
        }
        Ok(())
    }
}
