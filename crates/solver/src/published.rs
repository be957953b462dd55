//! The published counts, to check results against.

use crate::board::BoardSize;

const COUNTS: &str = include_str!("../counts.csv");

/// The published counts of one n.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Published {
    /// All placements (OEIS A000170).
    pub solutions: u128,
    /// Placements up to rotation and reflection (OEIS A002562).
    pub fundamental: u128,
    /// Placements unchanged by a half turn (OEIS A032522).
    pub half_turn: u64,
    /// Placements unchanged by a quarter turn (OEIS A033148).
    pub quarter_turn: u64,
}

/// Returns the published counts for boards of size `n`, which exist up to 27.
///
/// ```
/// # use queens_solver::{BoardSize, published};
/// assert_eq!(published(BoardSize::new(8)?).map(|counts| counts.solutions), Some(92));
/// assert_eq!(published(BoardSize::new(28)?), None);
/// # Ok::<(), queens_solver::InvalidBoardSize>(())
/// ```
#[must_use]
pub fn published(n: BoardSize) -> Option<Published> {
    let rows = COUNTS.lines().filter(|line| line.starts_with(|c: char| c.is_ascii_digit()));
    let mut numbers = rows.map(|row| row.split(','));
    let mut row = numbers.find_map(|mut row| (row.next()?.parse() == Ok(n.get())).then_some(row))?;
    Some(Published {
        solutions: row.next()?.parse().ok()?,
        fundamental: row.next()?.parse().ok()?,
        half_turn: row.next()?.parse().ok()?,
        quarter_turn: row.next()?.parse().ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_from_0_to_27_is_read() {
        for n in BoardSize::range(0, 32) {
            assert_eq!(published(n).is_some(), n.get() <= 27, "n = {n}");
        }
        let last = published(BoardSize::new(27).expect("a board size")).expect("published");
        assert_eq!(last.solutions, 234_907_967_154_122_528);
        assert_eq!(last.quarter_turn, 0);
    }
}
