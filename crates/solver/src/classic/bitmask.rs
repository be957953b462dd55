//! Shifted bitmasks: the squares that earlier queens attack, seen from the current row.
//!
//! A set bit in `columns`, `rising` or `falling` is a square of the current row that is attacked along such a line.
//! Going down a row moves the rising diagonals one column on and the falling ones one column back: a shift of the word.
//! The other squares are free, and `free & -free` is the lowest of them. This stores no board and tries no attacked
//! square (Martin Richards, "Backtracking algorithms in MCPL using bit patterns and recursion", University of
//! Cambridge, 1997).
//!
//! ```text
//!   n = 6, queens on row 0, column 0 and on row 1, column 2, seen from row 2; column 0 on the left
//!   columns  1 . 1 . . .      rising  . . 1 1 . .      falling  . 1 . . . .      free  . . . . 1 1
//! ```
//!
//! Words of 64 bits lose nothing to the left: a queen of column 31 is shifted 32 times at most.

use std::sync::atomic::AtomicBool;

use super::stop::is_to_stop;
use crate::board::{BoardSize, Square};

/// Counts the completions of `given`: queens on the board, none attacking another.
pub(super) fn count(n: BoardSize, given: &[Square], stop: &AtomicBool) -> u64 {
    let allowed: Vec<u64> = (0..n.get()).map(|row| allowed_columns(n, row, given)).collect();
    completions(&allowed, 0, 0, 0, stop)
}

/// Returns the squares of the row that are given, or that no given queen attacks.
///
/// The row of a given queen allows only its own square, so that the search places it there.
fn allowed_columns(n: BoardSize, row: u8, given: &[Square]) -> u64 {
    let is_allowed = |square: Square| given.iter().all(|queen| square == *queen || !queen.attacks(square));
    let columns = (0..n.get()).filter(|&column| is_allowed(Square { row, column }));
    columns.fold(0, |allowed, column| allowed | (1 << column))
}

/// Counts the ways to place a queen in each row, on one of its allowed squares.
fn completions(allowed: &[u64], columns: u64, rising: u64, falling: u64, stop: &AtomicBool) -> u64 {
    if is_to_stop(allowed.len(), stop) {
        return 0;
    }
    let Some((&allowed, rows_below)) = allowed.split_first() else {
        return 1;
    };
    let mut free = allowed & !(columns | rising | falling);
    let mut count = 0;
    while free != 0 {
        let queen = free & free.wrapping_neg();
        free ^= queen;
        count +=
            completions(rows_below, columns | queen, (rising | queen) << 1, (falling | queen) >> 1, stop);
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn given_queens_leave_the_squares_they_do_not_attack() {
        let n = BoardSize::new(6).expect("6 is a board size");
        let given = [Square { row: 0, column: 0 }, Square { row: 3, column: 4 }];
        let drawn = ["1.....", "...1.1", ".1....", "....1.", ".11...", ".1.1.."];
        for (row, expected) in (0..).zip(drawn) {
            let allowed = allowed_columns(n, row, &given);
            let found: String =
                (0..6).map(|column| if (allowed >> column) & 1 == 1 { '1' } else { '.' }).collect();
            assert_eq!(found, expected, "row {row}");
        }
    }
}
