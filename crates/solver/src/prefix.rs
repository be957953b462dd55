//! The numbering of a cross's subproblems, and the walk from a number to its prefix.

use crate::board::Square;
use crate::free_rows::{FreeRow, FreeRows, RowState, bits};
use crate::placements;

/// A walk through the subproblems of one cross, in the order of their numbers.
///
/// The subproblems at `depth` are all non-attacking placements in the first `depth` free rows, in lexicographic order,
/// before any look-ahead. So their numbers depend on the cross and the depth alone, never on a kernel's pruning.
#[derive(Clone, Debug)]
pub(crate) struct Prefixes<'a> {
    free: &'a FreeRows,
    depth: usize,
    walk: Walk,
}

/// The position of a walk.
#[derive(Clone, Debug)]
pub(crate) struct Walk {
    position: u64,
    /// For each row in progress: the state seen from it and the untried squares.
    stack: Vec<(RowState, u32)>,
}

impl<'a> Prefixes<'a> {
    /// Starts a walk before subproblem 0. A depth beyond the number of free rows means all of them.
    #[must_use]
    pub(crate) fn new(free: &'a FreeRows, depth: u8) -> Self {
        let mut prefixes = Self::resume(free, depth, Walk { position: 0, stack: Vec::new() });
        prefixes.seek(0);
        prefixes
    }

    /// Resumes a walk that was [paused](Self::pause), in the same rows and to the same depth.
    pub(crate) fn resume(free: &'a FreeRows, depth: u8, walk: Walk) -> Self {
        Self { free, depth: usize::from(depth).min(free.len()), walk }
    }

    /// Returns the position of the walk, to [resume](Self::resume) it.
    pub(crate) fn pause(self) -> Walk {
        self.walk
    }

    /// Returns the number of subproblems at `depth`.
    #[must_use]
    pub(crate) fn count(free: &FreeRows, depth: u8) -> u64 {
        let depth = usize::from(depth).min(free.len());
        placements::count(&free.as_slice()[..depth], RowState::EMPTY)
    }

    /// Returns the free rows of the walk.
    #[must_use]
    pub(crate) const fn free_rows(&self) -> &'a FreeRows {
        self.free
    }

    /// Returns the rows below the prefixes, which are still to be filled.
    #[must_use]
    pub(crate) fn rows_below(&self) -> &'a [FreeRow] {
        &self.free.as_slice()[self.depth..]
    }

    /// Returns the number of the subproblem that [`next`](Iterator::next) returns.
    #[must_use]
    pub(crate) const fn position(&self) -> u64 {
        self.walk.position
    }

    /// Returns the queens of the subproblem that [`next`](Iterator::next) returns, top to bottom; none past the last.
    #[must_use]
    pub(crate) fn queens(&self) -> Vec<Square> {
        let states = self.walk.stack.iter().map(|(state, _)| state.columns);
        let placed = states.clone().skip(1).zip(states).map(|(after, before)| after ^ before);
        let square = |(row, queen): (&FreeRow, u32)| {
            // Always fits: a bit index of a 32-bit word.
            u8::try_from(queen.trailing_zeros()).map(|column| Square { row: row.row, column })
        };
        self.free.as_slice().iter().zip(placed).filter_map(|placed| square(placed).ok()).collect()
    }

    /// Moves to subproblem `number`; past the last one, the walk is at its end.
    ///
    /// It skips whole subtrees by counting their prefixes, which costs far less than counting their completions.
    pub(crate) fn seek(&mut self, number: u64) {
        self.walk.position = number;
        self.walk.stack.clear();
        let rows = &self.free.as_slice()[..self.depth];
        let mut skip = number;
        let mut state = RowState::EMPTY;
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
            self.walk.stack.push((state, untried));
            match entered {
                Some(child) => state = child,
                None => return self.walk.stack.clear(),
            }
        }
        if skip == 0 {
            // The prefix itself stands on top as a row without untried squares.
            self.walk.stack.push((state, 0));
        } else {
            self.walk.stack.clear();
        }
    }

    /// Replaces the prefix on top of the stack by the next one, or empties the stack.
    fn advance(&mut self) {
        let rows = self.free.as_slice();
        self.walk.stack.pop();
        while let Some((state, untried)) = self.walk.stack.last_mut() {
            let queen = *untried & untried.wrapping_neg();
            if queen == 0 {
                self.walk.stack.pop();
                continue;
            }
            *untried ^= queen;
            let state = state.with(queen);
            let level = self.walk.stack.len();
            let state = state.down(rows[level - 1].step);
            if level == self.depth {
                self.walk.stack.push((state, 0));
                return;
            }
            self.walk.stack.push((state, state.free(rows[level].allowed)));
        }
    }
}

impl Iterator for Prefixes<'_> {
    type Item = RowState;

    fn next(&mut self) -> Option<RowState> {
        let (prefix, _) = *self.walk.stack.last()?;
        self.advance();
        self.walk.position += 1;
        Some(prefix)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::board::BoardSize;
    use crate::cross::Cross;

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
                    let all: Vec<RowState> = Prefixes::new(free, depth).collect();
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
