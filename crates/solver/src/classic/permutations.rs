//! Filtered permutations: generates every candidate and keeps the good ones.
//!
//! A permutation gives each row a column of its own, so queens can attack each other on diagonals only. All n!
//! permutations are generated, and only finished boards are tested. Nothing is pruned, so no pruning rule can be wrong.
//! This is the textbooks' "generate and test" (Wirth, "Program development by stepwise refinement", CACM 14, 1971, uses
//! it as the program to improve on). One permutation is held at a time; the next is found in place, in lexicographic
//! order (Knuth, TAOCP 7.2.1.2, algorithm L).

use std::sync::atomic::{AtomicBool, Ordering};

use crate::board::{BoardSize, Square};

/// The permutations are numbered by a 64-bit word: 20! is the last factorial below 2^64.
pub(super) const MAX_SIZE: u8 = 20;

/// Counts the completions of `given`: queens on the board, none attacking another; n is at most [`MAX_SIZE`].
pub(super) fn count(n: BoardSize, given: &[Square], stop: &AtomicBool) -> u64 {
    let n_permutations: u64 = (1..=u64::from(n.get())).product();
    let mut columns: Vec<u8> = (0..n.get()).collect();
    let mut count = 0;
    for _ in 0..n_permutations {
        if contains(&columns, given) && no_diagonal_attack(&columns) {
            count += 1;
        }
        if stop.load(Ordering::Relaxed) {
            break;
        }
        advance(&mut columns);
    }
    count
}

/// Returns whether the permutation has all these queens: `columns[row]` is the column of the queen of `row`.
fn contains(columns: &[u8], queens: &[Square]) -> bool {
    queens.iter().all(|queen| columns[usize::from(queen.row)] == queen.column)
}

/// Returns whether no two queens are as many columns as rows apart.
fn no_diagonal_attack(columns: &[u8]) -> bool {
    columns.iter().enumerate().all(|(row, &column)| {
        let rows_above = columns[..row].iter().rev();
        rows_above.zip(1..).all(|(&above, distance)| column.abs_diff(above) != distance)
    })
}

/// Turns a permutation into the next in lexicographic order, the last one into the first.
fn advance(order: &mut [u8]) {
    // The longest falling tail has no later arrangement. Reversed it is the earliest, and the item before takes its
    // next larger item.
    let tail = (1..order.len()).rev().find(|&i| order[i - 1] < order[i]).unwrap_or(0);
    order[tail..].reverse();
    if let Some(before) = tail.checked_sub(1) {
        let n_smaller = order[tail..].partition_point(|&item| item < order[before]);
        order.swap(before, tail + n_smaller);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn permutations_come_in_order_and_the_last_is_followed_by_the_first() {
        for (n, n_permutations) in [(0_u8, 1), (1, 1), (2, 2), (3, 6), (4, 24), (5, 120), (6, 720)] {
            let first: Vec<u8> = (0..n).collect();
            let mut order = first.clone();
            for _ in 1..n_permutations {
                let previous = order.clone();
                advance(&mut order);
                assert!(previous < order, "{previous:?} before {order:?}");
                let mut sorted = order.clone();
                sorted.sort_unstable();
                assert_eq!(sorted, first, "{order:?} is no permutation");
            }
            advance(&mut order);
            assert_eq!(order, first);
        }
    }
}
