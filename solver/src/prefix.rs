//! The numbering of subproblems, and the way from a number to its prefix.

use crate::free_rows::{FreeRow, FreeRows, State, bits};
use crate::{Square, placements};

/// A walk through the subproblems of one cross, in the order of their numbers.
///
/// The subproblems at `depth` are all non-attacking placements of queens in the first `depth` free rows, in
/// lexicographic order and before any look-ahead, so their numbers depend on the cross and the depth alone, never
/// on what a kernel prunes.
///
/// ```
/// # use queens_solver::{BoardSize, Cross, FreeRows, Prefixes};
/// let n = BoardSize::new(8)?;
/// let free = FreeRows::new(n, Cross::all(n)[0].queens());
/// let mut prefixes = Prefixes::new(&free, 2);
/// let all: Vec<_> = prefixes.by_ref().collect();
/// assert_eq!(all.len() as u64, Prefixes::count(&free, 2));
/// prefixes.seek(3);
/// assert_eq!(prefixes.next(), Some(all[3]));
/// # Ok::<(), queens_solver::InvalidBoardSize>(())
/// ```
#[derive(Clone, Debug)]
pub struct Prefixes<'a> {
    free: &'a FreeRows,
    depth: usize,
    position: u64,
    /// For each row begun: the state seen from it and the squares not tried yet.
    stack: Vec<(State, u32)>,
}

impl<'a> Prefixes<'a> {
    /// A walk that stands before subproblem 0. A depth beyond the number of free rows means all of them.
    #[must_use]
    pub fn new(free: &'a FreeRows, depth: u8) -> Self {
        let depth = usize::from(depth).min(free.len());
        let mut prefixes = Self { free, depth, position: 0, stack: Vec::with_capacity(depth + 1) };
        prefixes.seek(0);
        prefixes
    }

    /// The number of subproblems at `depth`.
    #[must_use]
    pub fn count(free: &FreeRows, depth: u8) -> u64 {
        let depth = usize::from(depth).min(free.len());
        placements::count(&free.as_slice()[..depth], State::EMPTY)
    }

    /// The free rows the walk is about.
    #[must_use]
    pub const fn free_rows(&self) -> &'a FreeRows {
        self.free
    }

    /// The rows below the prefixes: those still to be filled.
    #[must_use]
    pub fn rows_below(&self) -> &'a [FreeRow] {
        &self.free.as_slice()[self.depth..]
    }

    /// The number of the subproblem that [`next`](Iterator::next) returns.
    #[must_use]
    pub const fn position(&self) -> u64 {
        self.position
    }

    /// The queens of the subproblem that [`next`](Iterator::next) returns, top to bottom; none past the last.
    ///
    /// ```
    /// # use queens_solver::{BoardSize, FreeRows, Prefixes, Square};
    /// let free = FreeRows::new(BoardSize::new(4)?, &[]);
    /// let mut prefixes = Prefixes::new(&free, 2);
    /// prefixes.seek(1); // after 0 and 2 come 0 and 3
    /// assert_eq!(prefixes.queens(), [Square { row: 0, column: 0 }, Square { row: 1, column: 3 }]);
    /// # Ok::<(), queens_solver::InvalidBoardSize>(())
    /// ```
    #[must_use]
    pub fn queens(&self) -> Vec<Square> {
        let states = self.stack.iter().map(|(state, _)| state.columns);
        let placed = states.clone().skip(1).zip(states).map(|(after, before)| after ^ before);
        let square = |(row, queen): (&FreeRow, u32)| {
            // A bit of a 32-bit word.
            u8::try_from(queen.trailing_zeros()).map(|column| Square { row: row.row, column })
        };
        self.free.as_slice().iter().zip(placed).filter_map(|placed| square(placed).ok()).collect()
    }

    /// Moves to subproblem `number`; past the last one, the walk is at its end.
    ///
    /// Whole subtrees are skipped by counting them, which costs far less than counting their completions.
    pub fn seek(&mut self, number: u64) {
        self.position = number;
        self.stack.clear();
        let rows = &self.free.as_slice()[..self.depth];
        let mut skip = number;
        let mut state = State::EMPTY;
        for (i, row) in rows.iter().enumerate() {
            let mut untried = state.free(row.allowed);
            let mut entered = None;
            for queen in bits(untried) {
                untried ^= queen;
                let child = state.with(queen).down(row.step);
                let below = placements::count(&rows[i + 1..], child);
                if skip < below {
                    entered = Some(child);
                    break;
                }
                skip -= below;
            }
            self.stack.push((state, untried));
            match entered {
                Some(child) => state = child,
                None => return self.stack.clear(),
            }
        }
        if skip == 0 {
            // The prefix itself waits on top as a row with nothing to try.
            self.stack.push((state, 0));
        } else {
            self.stack.clear();
        }
    }

    /// Leaves the prefix on top of the stack for the one after it, or empties the stack.
    fn advance(&mut self) {
        let rows = self.free.as_slice();
        self.stack.pop();
        while let Some((state, untried)) = self.stack.last_mut() {
            let queen = *untried & untried.wrapping_neg();
            if queen == 0 {
                self.stack.pop();
                continue;
            }
            *untried ^= queen;
            let state = state.with(queen);
            let level = self.stack.len();
            let state = state.down(rows[level - 1].step);
            if level == self.depth {
                self.stack.push((state, 0));
                return;
            }
            self.stack.push((state, state.free(rows[level].allowed)));
        }
    }
}

impl Iterator for Prefixes<'_> {
    type Item = State;

    fn next(&mut self) -> Option<State> {
        let (prefix, _) = *self.stack.last()?;
        self.advance();
        self.position += 1;
        Some(prefix)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{BoardSize, Cross};

    fn for_each_cross(n: u8, mut check: impl FnMut(&FreeRows)) {
        let n = BoardSize::new(n).expect("a board size");
        for cross in Cross::all(n) {
            check(&FreeRows::new(n, cross.queens()));
        }
    }

    #[test]
    fn every_number_leads_to_the_prefix_the_walk_meets_there() {
        for n in [0, 1, 4, 5, 8, 9, 10] {
            for_each_cross(n, |free| {
                for depth in 0..=5 {
                    let all: Vec<State> = Prefixes::new(free, depth).collect();
                    assert_eq!(all.len() as u64, Prefixes::count(free, depth));
                    let mut walk = Prefixes::new(free, depth);
                    for (number, prefix) in all.iter().enumerate() {
                        walk.seek(number as u64);
                        assert_eq!(walk.position(), number as u64);
                        assert_eq!(walk.next(), Some(*prefix));
                    }
                    walk.seek(all.len() as u64);
                    assert_eq!(walk.next(), None);
                    walk.seek(u64::MAX);
                    assert_eq!(walk.next(), None);
                }
            });
        }
    }

    /// At full depth the prefixes are the completions themselves.
    #[test]
    fn the_deepest_prefixes_are_the_solutions() {
        let mut total = 0;
        let n = BoardSize::new(8).expect("a board size");
        for cross in Cross::all(n) {
            let free = FreeRows::new(n, cross.queens());
            total += Prefixes::count(&free, 8) * u64::from(cross.weight());
        }
        assert_eq!(total, 92);
    }
}
