//! Constraint propagation: keeps the set of squares that are still available.
//!
//! Each queen removes the squares it attacks from the set at once. A row or column without a queen and without an
//! available square can never be filled. So the search gives up many queens before the conflict (forward checking:
//! Haralick and Elliott, "Increasing tree search efficiency for constraint satisfaction problems", Artificial
//! Intelligence 14, 1980). The line with the fewest available squares is filled next, which keeps the tree narrow
//! (Bitner and Reingold, "Backtrack programming techniques", CACM 18, 1975). A line without any is the tightest of all,
//! so giving up needs no code of its own.

use std::sync::atomic::AtomicBool;

use super::stop::is_to_stop;
use crate::board::{BoardSize, Square};

/// Counts the completions of `given`: queens on the board, none attacking another.
pub(super) fn count(n: BoardSize, given: &[Square], stop: &AtomicBool) -> u64 {
    let board = given.iter().fold(Board::empty(n), |board, queen| board.with(*queen));
    completions(&board, stop)
}

/// Counts the ways to fill the open lines: each has exactly one queen, on one of its available squares.
fn completions(board: &Board, stop: &AtomicBool) -> u64 {
    if is_to_stop(board.open_rows.count_ones() as usize, stop) {
        return 0;
    }
    let Some(line) = board.tightest_line() else {
        return 1;
    };
    board.squares(line).map(|square| completions(&board.with(square), stop)).sum()
}

/// The squares that the placed queens leave available, stored by rows and by columns. So a line of either kind is one
/// word: one instruction counts its squares, and a queen removes three bits of each.
#[derive(Clone, Copy)]
struct Board {
    /// For each row a bit for each column: set if no queen attacks or occupies the square. Rows with a queen are
    /// arbitrary.
    rows: [u32; BoardSize::MAX as usize],
    /// The same squares, for each column a bit for each row.
    columns: [u32; BoardSize::MAX as usize],
    /// A bit for each row and for each column without a queen.
    open_rows: u32,
    open_columns: u32,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Line {
    Row(u8),
    Column(u8),
}

impl Board {
    fn empty(n: BoardSize) -> Self {
        let all = n.row_mask();
        let lines = [all; BoardSize::MAX as usize];
        Self { rows: lines, columns: lines, open_rows: all, open_columns: all }
    }

    /// Returns the board with one more queen.
    fn with(&self, queen: Square) -> Self {
        let mut board = *self;
        board.open_rows &= !(1 << queen.row);
        board.open_columns &= !(1 << queen.column);
        for row in indices(board.open_rows) {
            board.rows[usize::from(row)] &= !attacked(queen.column, row.abs_diff(queen.row));
        }
        for column in indices(board.open_columns) {
            board.columns[usize::from(column)] &= !attacked(queen.row, column.abs_diff(queen.column));
        }
        board
    }

    /// Returns the open line with the fewest available squares, or `None` if all queens are placed.
    fn tightest_line(&self) -> Option<Line> {
        let rows = indices(self.open_rows).map(Line::Row);
        rows.chain(indices(self.open_columns).map(Line::Column))
            .min_by_key(|line| self.word(*line).count_ones())
    }

    /// Returns the available squares of an open line.
    fn squares(&self, line: Line) -> impl Iterator<Item = Square> {
        indices(self.word(line)).map(move |i| match line {
            Line::Row(row) => Square { row, column: i },
            Line::Column(column) => Square { row: i, column },
        })
    }

    fn word(&self, line: Line) -> u32 {
        match line {
            Line::Row(row) => self.rows[usize::from(row)],
            Line::Column(column) => self.columns[usize::from(column)],
        }
    }
}

/// Returns the squares that a queen at `place` of one line attacks in a parallel line at this distance.
fn attacked(place: u8, distance: u8) -> u32 {
    let queen = 1_u32 << place;
    queen | (queen << distance) | (queen >> distance)
}

/// Returns the indices of the set bits, lowest first.
fn indices(mut mask: u32) -> impl Iterator<Item = u8> {
    std::iter::from_fn(move || {
        let index = mask.trailing_zeros();
        mask &= mask.wrapping_sub(1);
        u8::try_from(index).ok().filter(|index| *index < 32)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks which squares queens, as (row, column), leave available, and which squares are tried next.
    #[track_caller]
    fn check(queens: &[(u8, u8)], drawn: [&str; 5], next: &[(u8, u8)]) {
        let n = BoardSize::new(5).expect("5 is a board size");
        let board =
            queens.iter().fold(Board::empty(n), |board, &(row, column)| board.with(Square { row, column }));
        let available = |row: u8, column: u8| {
            let [in_row, in_column] = [Line::Row(row), Line::Column(column)].map(|line| board.word(line));
            let is_open = board.open_rows >> row & 1 == 1 && board.open_columns >> column & 1 == 1;
            let kept = [in_row >> column & 1 == 1, in_column >> row & 1 == 1];
            assert!(!is_open || kept[0] == kept[1], "row {row}, column {column}");
            is_open && kept[0]
        };
        let text = |row| (0..5).map(|column| if available(row, column) { '1' } else { '0' }).collect();
        let found: Vec<String> = (0..5).map(text).collect();
        assert_eq!(found, drawn);
        let tightest = board.tightest_line().expect("a line is open");
        let squares = board.squares(tightest);
        let squares: Vec<_> = squares.map(|square| (square.row, square.column)).collect();
        assert_eq!(squares, next);
    }

    #[test]
    fn queens_remove_what_they_attack_and_the_tightest_line_is_next() {
        let row_0 = [(0, 0), (0, 4)];
        check(&[(1, 2)], ["10001", "00000", "10001", "01010", "11011"], &row_0);
        let row_1 = [(1, 3), (1, 4)];
        check(&[(2, 1)], ["10101", "00011", "00000", "00011", "10101"], &row_1);
        let column_1 = [(3, 1), (4, 1)];
        check(&[(1, 0)], ["00111", "00000", "00111", "01011", "01101"], &column_1);
        let row_2 = [(2, 4)];
        check(&[(1, 2), (0, 0)], ["00000", "00000", "00001", "01000", "01010"], &row_2);
    }
}
