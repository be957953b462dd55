//! The bit-coded board: every occupied line in one 64-bit word.
//!
//! A board has n columns and 2n-1 diagonals each way. Each of these 5n-2 lines owns a bit. The code of a square has the
//! bits of its three lines, and the code of a board those of its queens' lines. A queen fits if its code and the
//! board's have no bit in common. 64 bits hold the lines of n = 13. Rows are filled in order and need no bit.
//!
//! ```text
//!   n = 4, queen on row 1, column 3      columns   rising diagonals   falling diagonals
//!   bit 0 on the left                    . . . 1   . . . . . 1 .      . . . . 1 . .
//! ```
//!
//! Storing the occupied lines instead of the queens is Wirth's idea (three Boolean arrays; "Algorithms + Data
//! Structures = Programs", 1976, section 3.5). Knuth's "Dancing links", 2000, has it as an exact cover with optional
//! diagonals.

use std::sync::atomic::AtomicBool;

use super::stop::is_to_stop;
use crate::board::{BoardSize, Square};

/// 5 · 13 - 2 = 63 lines fit the word; n = 14 has 68.
pub(super) const MAX_SIZE: u8 = 13;

/// Counts the completions of `given`: queens on the board, none attacking another; n is at most [`MAX_SIZE`].
pub(super) fn count(n: BoardSize, given: &[Square], stop: &AtomicBool) -> u64 {
    let is_open = |row: &u8| given.iter().all(|queen| queen.row != *row);
    let codes_of = |row| (0..n.get()).map(|column| code(n, Square { row, column })).collect();
    let open_rows: Vec<Vec<u64>> = (0..n.get()).filter(is_open).map(codes_of).collect();
    let board = given.iter().fold(0, |board, queen| board | code(n, *queen));
    completions(&open_rows, board, stop)
}

/// Counts the ways to add a queen in each of the open rows, which hold the codes of their squares.
fn completions(open_rows: &[Vec<u64>], board: u64, stop: &AtomicBool) -> u64 {
    let Some((row, later_rows)) = open_rows.split_first() else {
        return 1;
    };
    if is_to_stop(open_rows.len(), stop) {
        return 0;
    }
    let mut count = 0;
    for &code in row {
        if code & board == 0 {
            count += completions(later_rows, board | code, stop);
        }
    }
    count
}

/// Returns the bits of the square's three lines: first the columns, then the rising diagonals, then the falling ones.
fn code(n: BoardSize, Square { row, column }: Square) -> u64 {
    let (n_columns, n_diagonals) = (n.get(), 2 * n.get() - 1);
    let rising = column + (n_columns - 1 - row);
    let falling = column + row;
    let lines = [column, n_columns + rising, n_columns + n_diagonals + falling];
    lines.iter().fold(0, |code, line| code | (1 << line))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn squares(n: BoardSize) -> impl Iterator<Item = Square> + Clone {
        (0..n.get()).flat_map(move |row| (0..n.get()).map(move |column| Square { row, column }))
    }

    #[test]
    fn codes_of_two_rows_share_a_bit_where_queens_attack() {
        for n in BoardSize::range(1, MAX_SIZE) {
            for (a, b) in squares(n).flat_map(|a| squares(n).map(move |b| (a, b))) {
                let shared = code(n, a) & code(n, b) != 0;
                assert!(a.row == b.row || shared == a.attacks(b), "n = {n}, {a:?}, {b:?}");
            }
        }
    }

    #[test]
    fn the_lines_own_the_lowest_bits_of_the_word() {
        for n in BoardSize::range(1, MAX_SIZE) {
            let lines = squares(n).fold(0, |lines, square| lines | code(n, square));
            assert_eq!(lines, (1 << (5 * n.get() - 2)) - 1, "n = {n}");
        }
    }

    #[test]
    fn the_drawn_code_is_the_code() {
        let n = BoardSize::new(4).expect("4 is a board size");
        let drawn = "0001 0000010 0000100".replace(' ', "").chars().rev().collect::<String>();
        assert_eq!(format!("{:018b}", code(n, Square { row: 1, column: 3 })), drawn);
    }
}
