//! Constraint propagation: keep the set of squares that are still available.
//!
//! Each queen removes the squares it attacks from the set at once. A row or column without a queen and without
//! an available square can never be filled, so the placement is given up many queens before the conflict would be
//! met (forward checking: Haralick and Elliott, "Increasing tree search efficiency for constraint satisfaction
//! problems", Artificial Intelligence 14, 1980). The line with the fewest available squares is filled next, which
//! keeps the tree narrow (Bitner and Reingold, "Backtrack programming techniques", CACM 18, 1975); a line without any
//! is the tightest of all, so giving up needs no code of its own.

use std::sync::atomic::AtomicBool;

use super::is_to_stop;
use crate::{BoardSize, Square};

/// Counts the completions of `given`: queens on the board, none attacking another.
pub(super) fn count(n: BoardSize, given: &[Square], stop: &AtomicBool) -> u64 {
    let board = given.iter().fold(Board::empty(n), |board, queen| board.with(*queen));
    completions(&board, stop)
}

/// Counts the ways to fill the open lines: each has exactly one queen, on one of its available squares.
fn completions(board: &Board, stop: &AtomicBool) -> u64 {
    if is_to_stop(board.open.len() / 2, stop) {
        return 0;
    }
    let Some(line) = board.tightest_line() else {
        return 1;
    };
    board.squares(line).map(|square| completions(&board.with(square), stop)).sum()
}

/// What the queens placed so far leave to the others.
struct Board {
    /// For each row a bit for each column: set if no queen attacks or occupies the square.
    available: Vec<u32>,
    /// The lines without a queen.
    open: Vec<Line>,
}

#[derive(Clone, Copy, PartialEq)]
enum Line {
    Row(u8),
    Column(u8),
}

impl Board {
    fn empty(n: BoardSize) -> Self {
        Self {
            available: vec![n.row_mask(); usize::from(n.get())],
            open: (0..n.get()).flat_map(|i| [Line::Row(i), Line::Column(i)]).collect(),
        }
    }

    /// The board with one more queen.
    fn with(&self, queen: Square) -> Self {
        let column = 1_u32 << queen.column;
        let remaining = |(row, available): (u8, &u32)| match row.abs_diff(queen.row) {
            0 => 0,
            distance => available & !(column | (column << distance) | (column >> distance)),
        };
        let is_open = |line: &Line| *line != Line::Row(queen.row) && *line != Line::Column(queen.column);
        Self {
            available: (0..).zip(&self.available).map(remaining).collect(),
            open: self.open.iter().copied().filter(is_open).collect(),
        }
    }

    /// The open line with the fewest available squares, or `None` if all queens are placed.
    fn tightest_line(&self) -> Option<Line> {
        self.open.iter().copied().min_by_key(|line| self.squares(*line).count())
    }

    /// The available squares of a line.
    fn squares(&self, line: Line) -> impl Iterator<Item = Square> {
        let square_at = move |i| match line {
            Line::Row(row) => Square { row, column: i },
            Line::Column(column) => Square { row: i, column },
        };
        (0..).take(self.available.len()).map(square_at).filter(|square| self.is_available(*square))
    }

    fn is_available(&self, square: Square) -> bool {
        (self.available[usize::from(square.row)] >> square.column) & 1 == 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks what queens, as (row, column), leave available and which squares are filled from next.
    #[track_caller]
    fn check(queens: &[(u8, u8)], drawn: [&str; 5], next: &[(u8, u8)]) {
        let n = BoardSize::new(5).expect("5 is a board size");
        let board =
            queens.iter().fold(Board::empty(n), |board, &(row, column)| board.with(Square { row, column }));
        let text = |row: &u32| format!("{row:05b}").chars().rev().collect::<String>();
        let found: Vec<String> = board.available.iter().map(text).collect();
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
        let column_0 = [(0, 0), (4, 0)];
        check(&[(2, 1)], ["10101", "00011", "00000", "00011", "10101"], &column_0);
        let row_2 = [(2, 4)];
        check(&[(1, 2), (0, 0)], ["00000", "00000", "00001", "01000", "01010"], &row_2);
    }
}
