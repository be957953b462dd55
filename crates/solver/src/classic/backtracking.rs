//! Backtracking over the list of placed queens, column by column.
//!
//! The state is only the list of queens. The search tries a queen on every row of the next column; it is safe if no
//! queen of the list attacks it. After the last row, the previous queen moves on. The textbook program: Wirth, "Program
//! development by stepwise refinement", CACM 14, 1971; in this form, with `safe?` and the list of positions, Abelson
//! and Sussman, SICP, exercise 2.42 (which keeps all partial placements of a column where this keeps one).

use std::sync::atomic::AtomicBool;

use super::stop::is_to_stop;
use crate::board::{BoardSize, Square};

/// Counts the completions of `given`: queens on the board, none attacking another.
pub(super) fn count(n: BoardSize, given: &[Square], stop: &AtomicBool) -> u64 {
    let is_open = |column: &u8| given.iter().all(|queen| queen.column != *column);
    let open_columns: Vec<u8> = (0..n.get()).filter(is_open).collect();
    completions(n, &open_columns, &mut given.to_vec(), stop)
}

/// Counts the ways to add a queen in each of the open columns. Restores `placed` before it returns.
fn completions(n: BoardSize, open_columns: &[u8], placed: &mut Vec<Square>, stop: &AtomicBool) -> u64 {
    let Some((&column, later_columns)) = open_columns.split_first() else {
        return 1;
    };
    if is_to_stop(open_columns.len(), stop) {
        return 0;
    }
    let mut count = 0;
    for row in 0..n.get() {
        let queen = Square { row, column };
        if placed.iter().all(|other| is_safe(queen, *other)) {
            placed.push(queen);
            count += completions(n, later_columns, placed, stop);
            placed.pop();
        }
    }
    count
}

/// Returns whether two queens in different columns do not attack each other.
fn is_safe(queen: Square, other: Square) -> bool {
    let rows = queen.row.abs_diff(other.row);
    let columns = queen.column.abs_diff(other.column);
    rows != 0 && rows != columns
}
