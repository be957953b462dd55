//! The number of placements up to rotation and reflection, from the symmetric counts.

use crate::board::BoardSize;

/// Returns the number of fundamental placements, counting the eight images of a placement as one (OEIS A002562).
///
/// By Burnside's lemma it is the mean, over the square's eight symmetries, of the placements that each leaves
/// unchanged:
///
/// - the identity leaves all `solutions` unchanged;
/// - the rotation by 180 degrees leaves `half_turn`, those by 90 and by 270 degrees leave `quarter_turn` each;
/// - the four reflections leave none for n > 1. The reflection in a central line keeps every queen in its row (or
///   column), so an unchanged placement has all its queens on that line. The reflection in a main diagonal moves a
///   queen along the other kind of diagonal, where its image would attack it. So again all queens stand on the one
///   line. Two queens on a line attack each other. For n ≤ 1 each reflection leaves the only placement unchanged.
///
/// `None` if the sum is no multiple of eight (or exceeds 128 bits, which no board's does). Such counts contradict each
/// other, so at least one of them is wrong.
///
/// ```
/// # use queens_solver::{BoardSize, fundamental};
/// assert_eq!(fundamental(BoardSize::new(8)?, 92, 4, 0), Some(12));
/// assert_eq!(fundamental(BoardSize::new(8)?, 93, 4, 0), None);
/// # Ok::<(), queens_solver::InvalidBoardSize>(())
/// ```
#[must_use]
pub fn fundamental(n: BoardSize, solutions: u128, half_turn: u64, quarter_turn: u64) -> Option<u128> {
    let reflections = if n.get() <= 1 { 4 } else { 0 };
    // The three numbers have at most 66 bits, so only the sum with `solutions` could wrap.
    let turns_and_reflections = u128::from(half_turn) + 2 * u128::from(quarter_turn) + reflections;
    let unchanged = solutions.checked_add(turns_and_reflections)?;
    unchanged.is_multiple_of(8).then_some(unchanged / 8)
}

#[cfg(test)]
mod tests {
    use super::*;

    const COUNTS: &str = include_str!("../counts.csv");

    struct Known {
        n: BoardSize,
        solutions: u128,
        fundamental: u128,
        half_turn: u64,
        quarter_turn: u64,
    }

    fn parse(line: &str) -> Known {
        let fields: Vec<&str> = line.split(',').collect();
        let &[n, solutions, fundamental, half_turn, quarter_turn] = fields.as_slice() else {
            panic!("not five fields: '{line}'");
        };
        Known {
            n: n.parse().expect("a board size"),
            solutions: solutions.parse().expect("a count"),
            fundamental: fundamental.parse().expect("a count"),
            half_turn: half_turn.parse().expect("a count"),
            quarter_turn: quarter_turn.parse().expect("a count"),
        }
    }

    #[track_caller]
    fn check(n: u8, (solutions, half_turn, quarter_turn): (u128, u64, u64), expected: Option<u128>) {
        let n = BoardSize::new(n).expect("a board size");
        assert_eq!(fundamental(n, solutions, half_turn, quarter_turn), expected, "n = {n}");
    }

    #[test]
    fn the_known_counts_obey_the_law() {
        let rows: Vec<Known> =
            COUNTS.lines().filter(|line| line.starts_with(|c: char| c.is_ascii_digit())).map(parse).collect();
        assert_eq!(rows.len(), 28);
        for row in rows {
            let counts = (row.solutions, row.half_turn, row.quarter_turn);
            check(row.n.get(), counts, Some(row.fundamental));
        }
    }

    #[test]
    fn counts_that_contradict_each_other_are_refused() {
        check(12, (14200, 80, 8), Some(1787));
        check(12, (14201, 80, 8), None);
        check(12, (14196, 80, 8), None);
        check(12, (14200, 81, 8), None);
        check(12, (14200, 80, 9), None);
        check(1, (2, 1, 1), None);
    }

    #[test]
    fn no_sum_wraps() {
        check(32, (u128::MAX - 7, 0, 0), Some(u128::MAX / 8));
        check(32, (u128::MAX - 7, 8, 0), None);
        check(32, (u128::MAX, u64::MAX, u64::MAX), None);
        check(32, (3, u64::MAX, u64::MAX), Some(3 * 2_u128.pow(61)));
    }
}
