//! Compares counts with sequences of the On-Line Encyclopedia of Integer Sequences, which others have computed.

use std::sync::atomic::AtomicBool;

use crate::free_rows::{FreeRows, RowState};
use crate::placements;
use crate::prefix::Prefixes;
use crate::{BoardSize, Kernel, Square};

/// The placements of queens in the top 0, 1, … rows of an n × n board, for n = 0, 1, … (A319284).
const IN_TOP_ROWS: [&[u64]; 13] = [
    &[1],
    &[1, 1],
    &[1, 2, 0],
    &[1, 3, 2, 0],
    &[1, 4, 6, 4, 2],
    &[1, 5, 12, 14, 12, 10],
    &[1, 6, 20, 36, 46, 40, 4],
    &[1, 7, 30, 76, 140, 164, 94, 40],
    &[1, 8, 42, 140, 344, 568, 550, 312, 92],
    &[1, 9, 56, 234, 732, 1614, 2292, 2038, 1066, 352],
    &[1, 10, 72, 364, 1400, 3916, 7552, 9632, 7828, 4040, 724],
    &[1, 11, 90, 536, 2468, 8492, 21362, 37248, 44148, 34774, 15116, 2680],
    &[1, 12, 110, 756, 4080, 16852, 52856, 120_104, 195_270, 222_720, 160_964, 68264, 14200],
];

/// The solutions with the top row's queen in column 1, 2, … of the left half, with the middle one, for n = 1, 2, …
/// (A059963).
const BY_TOP_QUEEN: [&[u64]; 12] = [
    &[1],
    &[0],
    &[0, 0],
    &[0, 1],
    &[2, 2, 2],
    &[0, 1, 1],
    &[4, 7, 6, 6],
    &[4, 8, 16, 18],
    &[28, 30, 47, 44, 54],
    &[64, 48, 65, 93, 92],
    &[96, 219, 209, 295, 346, 350],
    &[500, 806, 1165, 1359, 1631, 1639],
];

fn in_top_rows(n: u8, n_rows: usize) -> u64 {
    let free = FreeRows::new(BoardSize::new(n).expect("a board size"), &[]);
    placements::count(&free.as_slice()[..n_rows], RowState::EMPTY)
}

#[test]
fn placements_in_the_top_rows_are_those_of_a319284() {
    for (n, by_rows) in (0..).zip(IN_TOP_ROWS).skip(1) {
        let counted: Vec<u64> = (0..=usize::from(n)).map(|n_rows| in_top_rows(n, n_rows)).collect();
        assert_eq!(counted, by_rows, "n = {n}");
    }
}

/// Vaclav Kotěšovec found these polynomials in 1992 (A061992, A061993).
#[test]
fn placements_in_six_and_seven_rows_are_polynomials() {
    let value = |coefficients: &[i64], n: u8| {
        coefficients.iter().fold(0, |sum: i64, coefficient| sum * i64::from(n) + coefficient)
    };
    let six = [1, -45, 943, -11755, 91480, -418_390, 870_920];
    let seven = [1, -63, 1879, -34411, 417_178, -3_336_014, 16_209_916, -36_693_996];
    assert_eq!(in_top_rows(28, 6), 89_874_912);
    for n in 17..=32 {
        assert_eq!(i64::try_from(in_top_rows(n, 6)), Ok(value(&six, n)), "n = {n}");
    }
    for n in 23..=28 {
        assert_eq!(i64::try_from(in_top_rows(n, 7)), Ok(value(&seven, n)), "n = {n}");
    }
}

#[test]
fn every_kernel_counts_as_many_solutions_with_each_top_queen_as_a059963_has() {
    for (n, by_column) in (1..).zip(BY_TOP_QUEEN) {
        let size = BoardSize::new(n).expect("a board size");
        for column in 0..n {
            let free = FreeRows::new(size, &[Square { row: 0, column }]);
            let expected = by_column[usize::from(column.min(n - 1 - column))];
            for kernel in Kernel::ALL.into_iter().filter(|kernel| kernel.is_available()) {
                let prefixes = &mut Prefixes::new(&free, 2);
                let counted = kernel.count(prefixes, u64::MAX, &AtomicBool::new(false));
                let solutions = counted.map(|count| count.solutions);
                assert_eq!(solutions, Some(expected), "n = {n}, column {column}, {kernel}");
            }
        }
    }
}
