//! The textbook methods to count n-queens placements, kept as independent checkers of the fast kernels.
//!
//! Each method is one page and shares no counting code with the others, so that a mistake in one shows as a
//! disagreement. They differ in the stored state and in the time when they notice an attack:
//!
//! | method | state | an attack is noticed |
//! |---|---|---|
//! | [`Method::Permutations`] | the column of every row | when all queens are placed |
//! | [`Method::Backtracking`] | the list of queens | when a queen is placed, against each other queen |
//! | [`Method::Propagation`] | the set of available squares | before a queen is placed: a line runs empty |
//! | [`Method::Bitcode`] | one word with a bit for each line | when a queen is placed, by one `and` |
//! | [`Method::Bitmask`] | three words, relative to the row | never: only free squares are visited |
//!
//! Down the rows, the column grows on a *rising* diagonal (`column - row` is constant) and shrinks on a *falling* one
//! (`column + row` is constant).
//!
//! ```
//! use queens_solver::classic::Method;
//! use queens_solver::{BoardSize, Square};
//!
//! let n = BoardSize::new(8)?;
//! let corner = Square { row: 0, column: 0 };
//! assert_eq!(Method::Bitmask.count(n, &[])?, 92);
//! assert_eq!(Method::Bitmask.count(n, &[corner])?, 4);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod backtracking;
mod bitcode;
mod bitmask;
mod permutations;
mod propagation;
mod stop;

use std::sync::atomic::{AtomicBool, Ordering};

use thiserror::Error;

use crate::board::{BoardSize, Square};

/// A textbook counting method.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// Generates every permutation of the columns, and keeps those without an attack on a diagonal.
    Permutations,
    /// Places queens column by column, each safe from all queens placed before.
    Backtracking,
    /// Removes the squares that each queen attacks from the available ones, and fills the tightest line next.
    Propagation,
    /// Holds all occupied columns and diagonals in one word, and fills row after row.
    Bitcode,
    /// Shifts the attacked columns and diagonals along, row after row.
    Bitmask,
}

/// The reason why a method cannot count.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ClassicError {
    /// The board exceeds the method's state: use another method.
    #[error("count n = {n} by {}: it holds boards up to n = {limit}, take another method", .method.name())]
    TooLarge {
        /// The requested method.
        method: Method,
        /// The requested board.
        n: BoardSize,
        /// The largest board of the method.
        limit: u8,
    },
    /// A given queen is not on the board.
    #[error("place a queen on row {}, column {}: both must be below n = {n}", .square.row, .square.column)]
    OffBoard {
        /// The first such square.
        square: Square,
        /// The requested board.
        n: BoardSize,
    },
}

impl Method {
    /// Every method.
    pub const ALL: [Self; 5] =
        [Self::Permutations, Self::Backtracking, Self::Propagation, Self::Bitcode, Self::Bitmask];

    /// Returns the method's name, one lowercase word.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Permutations => "permutations",
            Self::Backtracking => "backtracking",
            Self::Propagation => "propagation",
            Self::Bitcode => "bitcode",
            Self::Bitmask => "bitmask",
        }
    }

    /// Returns the largest board that the method can represent. Except for bitcode, run time limits it much earlier.
    #[must_use]
    pub const fn max_size(self) -> u8 {
        match self {
            Self::Permutations => permutations::MAX_SIZE,
            Self::Bitcode => bitcode::MAX_SIZE,
            Self::Backtracking | Self::Propagation | Self::Bitmask => BoardSize::MAX,
        }
    }

    /// Counts the ways to complete the `given` queens to a placement of `n` queens, none attacking another.
    ///
    /// Given queens that attack each other have no completion. The same square given twice is two queens
    /// on one square, which attack each other. The board of size 0 has one placement, the empty one.
    ///
    /// # Errors
    /// If `n` is over [`Method::max_size`], or a given queen is not on the board.
    pub fn count(self, n: BoardSize, given: &[Square]) -> Result<u64, ClassicError> {
        static NEVER: AtomicBool = AtomicBool::new(false);
        Ok(self.count_until(n, given, &NEVER)?.unwrap_or_default())
    }

    /// Counts like [`Method::count`], or returns `None` if `stop` was set before the end.
    ///
    /// # Errors
    /// If `n` is over [`Method::max_size`], or a given queen is not on the board.
    pub fn count_until(
        self,
        n: BoardSize,
        given: &[Square],
        stop: &AtomicBool,
    ) -> Result<Option<u64>, ClassicError> {
        let limit = self.max_size();
        if n.get() > limit {
            return Err(ClassicError::TooLarge { method: self, n, limit });
        }
        let is_off_board = |square: &&Square| square.row >= n.get() || square.column >= n.get();
        if let Some(&square) = given.iter().find(is_off_board) {
            return Err(ClassicError::OffBoard { square, n });
        }
        if some_attack(given) {
            return Ok(Some(0));
        }
        // No `u64` below can wrap, although Q(29) is likely to be over 2^64: every method counts placements
        // one at a time, and 2^64 steps of a nanosecond are 584 years.
        let count = match self {
            Self::Permutations => permutations::count(n, given, stop),
            Self::Backtracking => backtracking::count(n, given, stop),
            Self::Propagation => propagation::count(n, given, stop),
            Self::Bitcode => bitcode::count(n, given, stop),
            Self::Bitmask => bitmask::count(n, given, stop),
        };
        Ok(if stop.load(Ordering::Relaxed) { None } else { Some(count) })
    }
}

/// Returns whether any two of the queens attack each other. It looks at n + 1 queens at most: two of these do.
fn some_attack(queens: &[Square]) -> bool {
    queens.iter().enumerate().any(|(i, queen)| queens[..i].iter().any(|other| queen.attacks(*other)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    static NEVER: AtomicBool = AtomicBool::new(false);

    /// OEIS A000170, from n = 0.
    const PUBLISHED: [u64; 14] = [1, 1, 0, 0, 2, 10, 4, 40, 92, 352, 724, 2680, 14200, 73712];

    /// Checks every method that answers in a moment.
    #[track_caller]
    fn check(n: u8, given: &[Square], expected: u64) {
        let n = BoardSize::new(n).expect("tests name board sizes");
        for method in Method::ALL.into_iter().filter(|method| is_quick(*method, n, given)) {
            let found = method.count(n, given);
            assert_eq!(found, Ok(expected), "{}, n = {n}, given {given:?}", method.name());
        }
    }

    /// Returns whether a method is quick. Permutations always generate all; the others depend on the open rows.
    fn is_quick(method: Method, n: BoardSize, given: &[Square]) -> bool {
        let n_open = usize::from(n.get()).saturating_sub(given.len());
        match method {
            Method::Permutations => n.get() <= 9,
            Method::Backtracking | Method::Propagation => n_open <= 11,
            Method::Bitcode => n.get() <= method.max_size(),
            Method::Bitmask => n_open <= 12,
        }
    }

    fn squares(n: u8) -> Vec<Square> {
        (0..n).flat_map(|row| (0..n).map(move |column| Square { row, column })).collect()
    }

    /// Returns a placement on the largest board: two staircases of knight's moves, repaired at rows 16, 17 and 31.
    fn placement_of_32() -> Vec<Square> {
        let columns = (1..32).step_by(2).chain([2, 0]).chain((6..32).step_by(2)).chain([4]);
        (0..).zip(columns).map(|(row, column)| Square { row, column }).collect()
    }

    #[test]
    fn every_method_finds_the_published_counts() {
        for (n, count) in (0..).zip(PUBLISHED) {
            check(n, &[], count);
        }
    }

    #[test]
    fn the_methods_agree_with_any_one_or_two_queens_given() {
        for n in 0..=6 {
            let size = BoardSize::new(n).expect("a board size");
            for a in squares(n) {
                for b in squares(n) {
                    // If a = b, this is one queen; below follows the same queen twice.
                    let given: &[Square] = if a == b { &[a] } else { &[a, b] };
                    check(n, given, permutations::count(size, given, &NEVER));
                }
                check(n, &[a, a], 0);
            }
        }
    }

    #[test]
    fn given_queens_that_attack_each_other_have_no_completion() {
        let at = |row, column| Square { row, column };
        for (n, given) in [
            (1, vec![at(0, 0), at(0, 0)]),
            (8, vec![at(2, 3), at(2, 7)]),
            (8, vec![at(2, 3), at(0, 3)]),
            (8, vec![at(2, 3), at(6, 7)]),
            (8, vec![at(0, 1), at(2, 3), at(3, 2)]),
            (32, [placement_of_32(), vec![at(17, 0)]].concat()),
            (13, squares(13)),
        ] {
            check(n, &given, 0);
        }
    }

    #[test]
    fn the_largest_board_is_counted_too() {
        let placement = placement_of_32();
        check(32, &placement, 1);
        // 14 rows are open, scattered by a stride. The counts are not published; the three methods agree on them.
        // Strides below 16 open column 31, those above 17 open row 31.
        for (stride, expected) in [(3, 65), (5, 209), (7, 264), (15, 148), (19, 305), (27, 300)] {
            let is_given = |queen: &Square| usize::from(queen.row) * stride % 32 >= 14;
            let given: Vec<Square> = placement.iter().copied().filter(is_given).collect();
            for method in [Method::Backtracking, Method::Propagation, Method::Bitmask] {
                let found = method.count(BoardSize::new(32).expect("the largest"), &given);
                assert_eq!(found, Ok(expected), "{}, stride {stride}", method.name());
            }
        }
    }

    #[test]
    fn a_stopped_count_is_none() {
        for method in Method::ALL {
            let n = BoardSize::new(method.max_size()).expect("a board size");
            assert_eq!(method.count_until(n, &[], &AtomicBool::new(true)), Ok(None), "{}", method.name());
        }
    }

    #[test]
    fn bad_input_is_refused_in_words() {
        let at = |row, column| Square { row, column };
        for (method, n, given, message) in [
            (
                Method::Permutations,
                21,
                vec![],
                "count n = 21 by permutations: it holds boards up to n = 20, take another method",
            ),
            (
                Method::Bitcode,
                14,
                vec![at(14, 0)],
                "count n = 14 by bitcode: it holds boards up to n = 13, take another method",
            ),
            (
                Method::Bitmask,
                0,
                vec![at(0, 0)],
                "place a queen on row 0, column 0: both must be below n = 0",
            ),
            (
                Method::Bitcode,
                4,
                vec![at(4, 0)],
                "place a queen on row 4, column 0: both must be below n = 4",
            ),
            (
                Method::Propagation,
                32,
                vec![at(0, 0), at(0, 0), at(31, 255)],
                "place a queen on row 31, column 255: both must be below n = 32",
            ),
        ] {
            let size = BoardSize::new(n).expect("tests name board sizes");
            let error = method.count(size, &given).expect_err("bad input");
            assert_eq!(error.to_string(), message);
        }
    }

    /// Generates a board with queens that do not attack each other. Most have a completion or nearly one.
    fn peaceful_queens() -> impl Strategy<Value = (u8, Vec<Square>)> {
        (1..=9_u8).prop_flat_map(|n| {
            let square = (0..n, 0..n).prop_map(|(row, column)| Square { row, column });
            prop::collection::vec(square, 0..=4).prop_map(move |tried| {
                let mut queens: Vec<Square> = Vec::new();
                for square in tried {
                    if queens.iter().all(|queen| !queen.attacks(square)) {
                        queens.push(square);
                    }
                }
                (n, queens)
            })
        })
    }

    proptest! {
        #[test]
        fn the_methods_agree_on_random_given_queens((n, given) in peaceful_queens()) {
            let size = BoardSize::new(n).expect("the strategy makes board sizes");
            check(n, &given, permutations::count(size, &given, &NEVER));
        }
    }
}
