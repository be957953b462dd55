//! The numbered subproblems of a part, and how to count them.

use std::ops::Range;
use std::sync::atomic::AtomicBool;

use crate::board::{BoardSize, Square};
use crate::cross::Cross;
use crate::free_rows::FreeRows;
use crate::halves::{HalvesPart, JoinedHalves};
use crate::kernel::Kernel;
use crate::prefix::{Prefixes, Walk};
use crate::span::Count;
use crate::symmetry::Symmetry;

/// Rows placed below the cross to make a prefix, for each n.
///
/// The mean subproblem takes 0.01 to 0.19 s of one AVX-512 thread for n = 21 to 30, less below. (At 31 and 32 it takes
/// about 1 and 0.5 s: with one more row, planning n = 32 would take core-hours.)
const DEPTHS: [u8; BoardSize::MAX as usize + 1] = [
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, // 0 to 20
    1, 1, 2, 3, 3, 4, 5, 6, 6, 7, 7, 8, // 21 to 32
];

/// Returns the rows placed below a cross to make a prefix, in every plan for boards of size `n`.
pub(crate) const fn depth(n: BoardSize) -> u8 {
    DEPTHS[n.get() as usize]
}

/// The numbered subproblems of one part: those of a cross, on one of its images, or those of half boards
/// ([`HalvesPart`] documents their numbers).
///
/// A subproblem of a cross is a prefix: queens in the first free rows below the cross, none attacking another. Numbers
/// follow the lexicographic order, before any look-ahead. So they depend on n, cross, image and depth alone, never on a
/// kernel's pruning. [Making it](Cross::subproblems) fixes all four, and callers only choose the numbers to count.
///
/// ```
/// # use queens_solver::{BoardSize, Cross, Kernel, Symmetry};
/// # use std::sync::atomic::AtomicBool;
/// let never = AtomicBool::new(false);
/// let cross = Cross::all(BoardSize::new(21)?)[4000];
/// let mut subproblems = cross.subproblems(Symmetry::IDENTITY);
/// assert_eq!(subproblems.n_subproblems(), 13);
/// let first = subproblems.count(0..2, Kernel::best(), &never).expect("nobody stops it");
/// assert_eq!(subproblems.count(0..2, Kernel::Portable, &never), Some(first));
/// # Ok::<(), queens_solver::InvalidBoardSize>(())
/// ```
#[derive(Clone, Debug)]
pub struct Subproblems(Kind);

#[derive(Clone, Debug)]
enum Kind {
    Prefixes(Box<Prefixed>),
    Halves(Box<JoinedHalves>),
}

/// The prefixes below a cross.
#[derive(Clone, Debug)]
struct Prefixed {
    free: FreeRows,
    depth: u8,
    /// The end of the last count. The next one usually begins there, and need not search for its first prefix then.
    walk: Option<Walk>,
}

impl Subproblems {
    /// Makes the subproblems of the first `depth` rows without a given queen: all ways to place queens there. A depth
    /// beyond the number of these rows means all of them. The given queens must be on the board, without attacks.
    #[must_use]
    pub fn below(n: BoardSize, queens: &[Square], depth: u8) -> Self {
        Self(Kind::Prefixes(Box::new(Prefixed { free: FreeRows::new(n, queens), depth, walk: None })))
    }

    /// Makes the subproblems of half boards.
    #[must_use]
    pub(crate) fn of_halves(part: HalvesPart) -> Self {
        Self(Kind::Halves(Box::new(JoinedHalves::new(part))))
    }

    /// Returns the number of subproblems, without visiting each.
    #[must_use]
    pub fn n_subproblems(&self) -> u64 {
        match &self.0 {
            Kind::Prefixes(prefixed) => Prefixes::count(&prefixed.free, prefixed.depth),
            Kind::Halves(halves) => halves.part.n_subproblems(),
        }
    }

    /// Returns the queens of a subproblem below those of the cross, top to bottom; none past the last.
    ///
    /// ```
    /// # use queens_solver::{BoardSize, Square, Subproblems};
    /// let two_rows = Subproblems::below(BoardSize::new(4)?, &[], 2);
    /// // After 0 and 2 come 0 and 3.
    /// assert_eq!(two_rows.queens(1), [Square { row: 0, column: 0 }, Square { row: 1, column: 3 }]);
    /// # Ok::<(), queens_solver::InvalidBoardSize>(())
    /// ```
    #[must_use]
    pub fn queens(&self, number: u64) -> Vec<Square> {
        match &self.0 {
            Kind::Prefixes(prefixed) => {
                let mut prefixes = Prefixes::new(&prefixed.free, prefixed.depth);
                prefixes.seek(number);
                prefixes.queens()
            }
            Kind::Halves(halves) => halves.part.queens(number),
        }
    }

    /// Counts the subproblems with these numbers; numbers past the last hold nothing.
    ///
    /// Returns `None` if `stop` was set before the end. Then nothing was counted.
    ///
    /// # Panics
    /// If this processor can't run the kernel.
    #[must_use]
    pub fn count(&mut self, numbers: Range<u64>, kernel: Kernel, stop: &AtomicBool) -> Option<Count> {
        match &mut self.0 {
            Kind::Prefixes(prefixed) => prefixed.count(numbers, kernel, stop),
            Kind::Halves(halves) => halves.count(numbers, kernel, stop),
        }
    }
}

#[cfg(test)]
impl Subproblems {
    /// Counts these subproblems of half boards by the specification.
    pub(crate) fn specified(&mut self, numbers: Range<u64>) -> Count {
        match &mut self.0 {
            Kind::Prefixes(_) => panic!("only half boards have a specification of their own"),
            Kind::Halves(halves) => halves.specified(numbers),
        }
    }
}

impl Prefixed {
    fn count(&mut self, numbers: Range<u64>, kernel: Kernel, stop: &AtomicBool) -> Option<Count> {
        let mut prefixes = match self.walk.take() {
            Some(walk) => Prefixes::resume(&self.free, self.depth, walk),
            None => Prefixes::new(&self.free, self.depth),
        };
        if prefixes.position() != numbers.start {
            prefixes.seek(numbers.start);
        }
        let count = kernel.count(&mut prefixes, numbers.end.saturating_sub(numbers.start), stop)?;
        self.walk = Some(prefixes.pause());
        Some(count)
    }
}

impl Cross {
    /// Returns the subproblems of this cross on one of its images, as every plan numbers them.
    #[must_use]
    pub fn subproblems(&self, image: Symmetry) -> Subproblems {
        Subproblems::below(self.n(), &self.image(image), depth(self.n()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    static NEVER: AtomicBool = AtomicBool::new(false);

    /// Earlier or stopped counts do not matter.
    #[test]
    fn counts_do_not_depend_on_what_was_asked_for_before() {
        let n = BoardSize::new(14).expect("a board size");
        let cross = Cross::all(n)[17];
        let all = Subproblems::below(n, cross.queens(), 3);
        let last = all.n_subproblems();
        let mut walked = all.clone();
        for numbers in [0..5, 5..9, 9..9, 3..4, 4..last, last..last + 7, 0..1, u64::MAX..u64::MAX, 1..3] {
            let alone = all.clone().count(numbers.clone(), Kernel::Portable, &NEVER);
            assert!(alone.is_some());
            assert_eq!(walked.count(numbers.clone(), Kernel::Portable, &NEVER), alone, "{numbers:?}");
            if numbers.start == 5 {
                assert_eq!(walked.count(9..20, Kernel::Portable, &AtomicBool::new(true)), None);
            }
        }
    }
}
