//! Checked solutions, and their notations.

use std::fmt::{self, Write};
use std::str::FromStr;

use thiserror::Error;

use super::queen::Queen;
use super::terminal;

/// A solution: n queens on an n×n board, none attacking another. Its constructor checks it.
///
/// ```
/// # use queens_solver::boards::Placement;
/// let placement: Placement = "1 3 0 2".parse()?;
/// assert_eq!(placement.to_string(), "[1 3 0 2]");
/// assert!(Placement::new(vec![0, 1, 2, 3]).is_err());
/// # Ok::<(), queens_solver::boards::InvalidPlacement>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Placement(Vec<u32>);

/// The reason why columns are not a solution.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum InvalidPlacement {
    /// The text is not whole numbers.
    #[error("'{0}' is not a column: expected the column of the queen of each row, such as \"1 3 0 2\"")]
    NotAColumn(String),
    /// There are more rows than supported.
    #[error("a board has at most {} rows", Placement::MAX_SIZE)]
    TooLarge,
    /// A queen is not on the board.
    #[error("the queen {queen} (row:column, from 0) is not on a board of {n} rows")]
    OffBoard {
        /// The first such queen.
        queen: Queen,
        /// The size of the board.
        n: usize,
    },
    /// Two queens attack each other.
    #[error("the queens {0} and {1} (row:column, from 0) attack each other")]
    Attack(Queen, Queen),
}

impl Placement {
    /// The largest supported board.
    pub const MAX_SIZE: u32 = 10_000_000;

    /// Checks and stores the columns, one for each row from the top.
    ///
    /// It checks all four kinds of lines, whatever search made the columns. It takes linear time and shares no code
    /// with searches.
    ///
    /// # Errors
    /// If a queen is not on the board, or two attack each other.
    pub fn new(columns: Vec<u32>) -> Result<Self, InvalidPlacement> {
        if columns.len() > Self::MAX_SIZE as usize {
            return Err(InvalidPlacement::TooLarge);
        }
        let n = columns.len();
        let placement = Self(columns);
        // Each row has one queen, as it has one column.
        let mut column_taken = vec![false; n];
        let mut rising_taken = vec![false; 2 * n];
        let mut falling_taken = vec![false; 2 * n];
        for queen in placement.queens() {
            let (row, column) = (queen.row as usize, queen.column as usize);
            if column >= n {
                return Err(InvalidPlacement::OffBoard { queen, n });
            }
            let lines = [
                &mut column_taken[column],
                &mut rising_taken[column + n - row],
                &mut falling_taken[column + row],
            ];
            for taken in lines {
                if *taken {
                    let first = placement.queens().find(|other| other.attacks(queen)).unwrap_or(queen);
                    return Err(InvalidPlacement::Attack(first, queen));
                }
                *taken = true;
            }
        }
        Ok(placement)
    }

    /// Wraps the columns of a search that places no queen on an attacked square.
    pub(super) fn found(columns: Vec<u32>) -> Self {
        match Self::new(columns) {
            Ok(placement) => placement,
            Err(invalid) => unreachable!("a search has found what is no solution: {invalid}"),
        }
    }

    /// Returns the size of the board.
    #[must_use]
    pub fn n(&self) -> u32 {
        u32::try_from(self.0.len()).unwrap_or(Self::MAX_SIZE)
    }

    /// Returns the column of the queen of each row, top to bottom.
    #[must_use]
    pub fn columns(&self) -> &[u32] {
        &self.0
    }

    /// Returns the queens, top to bottom.
    pub fn queens(&self) -> impl Iterator<Item = Queen> + '_ {
        (0..).zip(&self.0).map(|(row, &column)| Queen { row, column })
    }

    /// Returns whether no turned or mirrored image comes before it in lexicographic order. This holds once in each
    /// orbit.
    #[must_use]
    pub fn is_fundamental(&self) -> bool {
        let mut by_column = vec![0; self.0.len()];
        for queen in self.queens() {
            by_column[queen.column as usize] = queen.row;
        }
        let last = self.n().wrapping_sub(1);
        [&self.0, &by_column].into_iter().all(|lines| {
            let mirrored = || lines.iter().map(|&column| last - column);
            self.0.iter().le(lines)
                && self.0.iter().le(lines.iter().rev())
                && self.0.iter().copied().le(mirrored())
                && self.0.iter().copied().le(mirrored().rev())
        })
    }

    /// Returns the placement in a notation.
    #[must_use]
    pub const fn written(&self, notation: Notation) -> Written<'_> {
        Written { placement: self, notation }
    }
}

impl FromStr for Placement {
    type Err = InvalidPlacement;

    /// Parses columns with spaces or commas between them, with or without brackets.
    fn from_str(text: &str) -> Result<Self, InvalidPlacement> {
        let trimmed = text.trim();
        let inner = trimmed.strip_prefix('[').and_then(|inner| inner.strip_suffix(']')).unwrap_or(trimmed);
        let words = inner.split([' ', ',', '\t', '\n']).filter(|word| !word.is_empty());
        let column = |word: &str| word.parse().map_err(|_| InvalidPlacement::NotAColumn(word.to_owned()));
        Self::new(words.map(column).collect::<Result<_, _>>()?)
    }
}

impl fmt::Display for Placement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.written(Notation::Vector).fmt(f)
    }
}

/// A notation of placements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notation {
    /// `[1 3 0 2]`: the column of each row.
    Vector,
    /// A line for each row, `Q` for a queen and `.` for an empty square. The last line has no line end.
    Board,
    /// A drawing with a frame and the sign of a queen, two characters for each square.
    Unicode,
    /// A drawing in colours, by terminal escape codes.
    Colours,
    /// `0:1,1:3,2:0,3:2`: row and column of each queen, as [`Given`](super::Given) parses them.
    Coordinates,
    /// `[1,3,0,2]`
    Json,
}

impl Notation {
    /// Returns whether the notation has a line for each row.
    #[must_use]
    pub const fn is_drawing(self) -> bool {
        matches!(self, Self::Board | Self::Unicode | Self::Colours)
    }
}

/// A placement in some notation.
#[derive(Clone, Copy, Debug)]
pub struct Written<'a> {
    placement: &'a Placement,
    notation: Notation,
}

impl fmt::Display for Written<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let columns = self.placement.columns();
        match self.notation {
            Notation::Vector => {
                f.write_char('[')?;
                joined(f, columns, ' ')?;
                f.write_char(']')
            }
            Notation::Json => {
                f.write_char('[')?;
                joined(f, columns, ',')?;
                f.write_char(']')
            }
            Notation::Coordinates => joined(f, self.placement.queens(), ','),
            Notation::Unicode => terminal::write_unicode(f, columns),
            Notation::Colours => terminal::write_colours(f, columns),
            Notation::Board => {
                for (row, &column) in columns.iter().enumerate() {
                    if row > 0 {
                        f.write_char('\n')?;
                    }
                    for other in 0..self.placement.n() {
                        if other > 0 {
                            f.write_char(' ')?;
                        }
                        f.write_char(if other == column { 'Q' } else { '.' })?;
                    }
                }
                Ok(())
            }
        }
    }
}

fn joined<T: fmt::Display>(
    f: &mut fmt::Formatter<'_>,
    items: impl IntoIterator<Item = T>,
    separator: char,
) -> fmt::Result {
    for (i, item) in items.into_iter().enumerate() {
        if i > 0 {
            f.write_char(separator)?;
        }
        item.fmt(f)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: Result<&[u32], &str>) {
        let found = text.parse::<Placement>();
        let found = found.as_ref().map(Placement::columns).map_err(ToString::to_string);
        assert_eq!(found, expected.map_err(str::to_owned), "'{text}'");
    }

    #[test]
    fn columns_are_read_or_refused_with_what_is_wrong() {
        check("", Ok(&[]));
        check("[]", Ok(&[]));
        for text in ["1 3 0 2", "[1 3 0 2]", "[1,3,0,2]", " 1, 3 , 0\t2\n"] {
            check(text, Ok(&[1, 3, 0, 2]));
        }
        let message =
            "'x' is not a column: expected the column of the queen of each row, such as \"1 3 0 2\"";
        check("1 3 x 2", Err(message));
        check("1 -3 0 2", Err(&message.replace("'x'", "'-3'")));
        check("1 3 0 4", Err("the queen 3:4 (row:column, from 0) is not on a board of 4 rows"));
        check("4294967295", Err("the queen 0:4294967295 (row:column, from 0) is not on a board of 1 rows"));
        // One line of each kind.
        check("1 3 1 2", Err("the queens 0:1 and 2:1 (row:column, from 0) attack each other"));
        check("0 2 3 1", Err("the queens 1:2 and 2:3 (row:column, from 0) attack each other"));
        check("0 3 1 2", Err("the queens 2:1 and 3:2 (row:column, from 0) attack each other"));
        check("2 0 1 3", Err("the queens 1:0 and 2:1 (row:column, from 0) attack each other"));
        check("3 1 0 2", Err("the queens 1:1 and 2:0 (row:column, from 0) attack each other"));
    }

    /// The check by lines agrees with a check of every pair of queens.
    #[test]
    fn exactly_the_peaceful_are_solutions() {
        for code in 0..5_u32.pow(5) {
            let columns: Vec<u32> = (0..5).map(|row| code / 5_u32.pow(row) % 5).collect();
            let queens: Vec<Queen> =
                (0..).zip(&columns).map(|(row, &column)| Queen { row, column }).collect();
            let peaceful = queens.iter().enumerate().all(|(i, a)| queens[..i].iter().all(|b| !a.attacks(*b)));
            assert_eq!(Placement::new(columns).is_ok(), peaceful, "{queens:?}");
        }
    }
}
