//! A range of board sizes, as written on the command line.

use std::fmt;
use std::str::FromStr;

use queens_solver::{BoardSize, InvalidBoardSize};

/// A range of board sizes, including the last: written "24" or "24-28".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Boards {
    first: BoardSize,
    last: BoardSize,
}

/// The error for an invalid range.
const EXPECTED: &str = "expected two sizes from 0 to 32, the smaller first, such as 24-28";

impl Boards {
    pub(crate) fn is_one(self) -> bool {
        self.first == self.last
    }

    /// Returns the largest size.
    pub(crate) const fn last(self) -> BoardSize {
        self.last
    }

    /// Returns the sizes, the smallest first.
    pub(crate) fn iter(self) -> impl Iterator<Item = BoardSize> {
        BoardSize::range(self.first.get(), self.last.get())
    }
}

impl FromStr for Boards {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let Some((first, last)) = text.split_once('-').filter(|(first, _)| !first.is_empty()) else {
            let n = text.parse().map_err(|error: InvalidBoardSize| error.to_string())?;
            return Ok(Self { first: n, last: n });
        };
        let sizes = first.parse::<BoardSize>().ok().zip(last.parse::<BoardSize>().ok());
        let sizes = sizes.filter(|(first, last)| first <= last);
        sizes.map(|(first, last)| Self { first, last }).ok_or_else(|| EXPECTED.to_owned())
    }
}

/// Writes "24" or "24 to 28".
impl fmt::Display for Boards {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_one() { self.first.fmt(f) } else { write!(f, "{} to {}", self.first, self.last) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, sizes: &[u8], shown: &str) {
        let boards: Boards = text.parse().expect("boards");
        assert_eq!(boards.iter().map(BoardSize::get).collect::<Vec<_>>(), sizes, "{text}");
        assert_eq!(boards.to_string(), shown);
    }

    #[test]
    fn both_ends_of_a_range_are_counted() {
        check("8", &[8], "8");
        check("24-28", &[24, 25, 26, 27, 28], "24 to 28");
        check("0-1", &[0, 1], "0 to 1");
        check("32-32", &[32], "32");
    }

    #[test]
    fn what_names_no_boards_is_refused() {
        for wrong in ["28-24", "8-", "8--9", "30-33", "8-9-10", "a-b"] {
            assert_eq!(wrong.parse::<Boards>(), Err(EXPECTED.to_owned()), "{wrong}");
        }
        for wrong in ["33", "-8", "-", "8..9"] {
            let refused = wrong.parse::<Boards>().expect_err(wrong);
            assert!(refused.ends_with("is not a whole number from 0 to 32"), "{wrong}: {refused}");
        }
    }
}
