//! Finds random solutions of large boards, by repairing a random permutation.

use std::sync::atomic::{AtomicBool, Ordering};

use super::placement::Placement;
use super::search::SearchEnd;
use crate::split_mix::SplitMix;

/// Columns that a row may draw, while the board is filled, to find one that is not attacked.
const DRAWS: usize = 100;

/// Finds a random solution for boards of size `n`. The same seed leads to the same solution; solutions are not equally
/// likely.
///
/// The columns are always a permutation, so that only diagonals can hold several queens. Each row draws some of the
/// remaining columns until one is not attacked, which leaves few conflicts. Then two rows at a time exchange their
/// columns if that reduces the conflicts. If no exchange helps, the search restarts (Sosic and Gu, "A polynomial time
/// algorithm for the n-queens problem", SIGART Bulletin 1, 1990).
///
/// Such a search can't prove that there is no solution: n = 2 and 3 are known to have none.
#[must_use]
pub fn local_search(n: u32, seed: u64, stop: &AtomicBool) -> SearchEnd {
    if n == 2 || n == 3 {
        return SearchEnd::None;
    }
    let mut random = SplitMix::new(seed);
    loop {
        let mut board = Board::random(n, &mut random);
        match board.mend(&mut random, stop) {
            Some(true) => return SearchEnd::Found(Placement::found(board.columns)),
            Some(false) => {}
            None => return SearchEnd::Stopped,
        }
    }
}

/// A permutation, and the number of queens on each diagonal.
struct Board {
    columns: Vec<u32>,
    on_rising: Vec<u32>,
    on_falling: Vec<u32>,
    /// The queens in excess of one, summed over all diagonals.
    conflicts: u32,
}

impl Board {
    fn random(n: u32, random: &mut SplitMix) -> Self {
        let len = n as usize;
        let columns = (0..n).collect();
        let mut board =
            Self { columns, on_rising: vec![0; 2 * len], on_falling: vec![0; 2 * len], conflicts: 0 };
        for row in 0..len {
            for draw in 1..=DRAWS {
                board.columns.swap(row, row + random.below(len - row));
                let (rising, falling) = board.diagonals(row);
                if draw == DRAWS || board.on_rising[rising] + board.on_falling[falling] == 0 {
                    break;
                }
            }
            board.put(row);
        }
        board
    }

    /// Exchanges columns until there is no conflict. Returns `false` if no exchange helps any more, `None` if stopped.
    fn mend(&mut self, random: &mut SplitMix, stop: &AtomicBool) -> Option<bool> {
        let n = self.columns.len();
        while self.conflicts > 0 {
            let before = self.conflicts;
            for row in 0..n {
                if self.is_attacked(row) {
                    if stop.load(Ordering::Relaxed) {
                        return None;
                    }
                    let first = random.below(n);
                    for i in 0..n {
                        let other = if first + i >= n { first + i - n } else { first + i };
                        if self.exchange(row, other) {
                            break;
                        }
                    }
                }
            }
            if self.conflicts == before {
                return Some(false);
            }
        }
        Some(true)
    }

    /// Exchanges the columns of two rows if that reduces the conflicts.
    fn exchange(&mut self, row: usize, other: usize) -> bool {
        if row == other {
            return false;
        }
        let before = self.conflicts;
        self.swap(row, other);
        let helps = self.conflicts < before;
        if !helps {
            self.swap(row, other);
        }
        helps
    }

    fn swap(&mut self, row: usize, other: usize) {
        self.take(row);
        self.take(other);
        self.columns.swap(row, other);
        self.put(row);
        self.put(other);
    }

    fn is_attacked(&self, row: usize) -> bool {
        let (rising, falling) = self.diagonals(row);
        self.on_rising[rising] > 1 || self.on_falling[falling] > 1
    }

    fn put(&mut self, row: usize) {
        let (rising, falling) = self.diagonals(row);
        self.conflicts += u32::from(self.on_rising[rising] > 0) + u32::from(self.on_falling[falling] > 0);
        self.on_rising[rising] += 1;
        self.on_falling[falling] += 1;
    }

    fn take(&mut self, row: usize) {
        let (rising, falling) = self.diagonals(row);
        self.on_rising[rising] -= 1;
        self.on_falling[falling] -= 1;
        self.conflicts -= u32::from(self.on_rising[rising] > 0) + u32::from(self.on_falling[falling] > 0);
    }

    fn diagonals(&self, row: usize) -> (usize, usize) {
        let column = self.columns[row] as usize;
        (column + self.columns.len() - row, column + row)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeds_lead_to_solutions_of_every_board_that_has_one() {
        let never = AtomicBool::new(false);
        for n in (0..=60).chain([100, 1000, 10_000]) {
            for seed in 0..3 {
                let found = local_search(n, seed, &never);
                // `Placement` has checked the solution already.
                match &found {
                    SearchEnd::Found(placement) => assert_eq!(placement.n(), n),
                    outcome => assert!(n == 2 || n == 3, "{outcome:?} for n = {n}"),
                }
                assert_eq!(local_search(n, seed, &never), found, "n = {n}, seed {seed}");
            }
        }
    }

    #[test]
    fn different_seeds_lead_to_different_solutions() {
        let never = AtomicBool::new(false);
        let mut found: Vec<_> = (0..200).map(|seed| format!("{:?}", local_search(6, seed, &never))).collect();
        found.sort();
        found.dedup();
        assert_eq!(found.len(), 4, "all solutions of n = 6");
        assert_ne!(local_search(100, 1, &never), local_search(100, 2, &never));
    }

    #[test]
    fn a_stopped_search_says_so() {
        // For some seeds the first filling may have no conflict, but not for all.
        let stop = AtomicBool::new(true);
        assert!((0..20).any(|seed| local_search(1000, seed, &stop) == SearchEnd::Stopped));
    }
}
