//! The parts of a board in the halves method, and the numbering of their subproblems.

use std::ops::Range;

use crate::board::{BoardSize, Square};
use crate::halves::columns::{Columns, Middle, combination, members, n_combinations};
use crate::halves::unit::units;
use crate::split_mix::SplitMix;

/// The version of everything that defines subproblem numbers of this method. Never add spans of different versions.
pub(crate) const HALVES_DECOMPOSITION_VERSION: u32 = 1;

/// The columns that a part assigns, for each n: an even number if mirroring still applies, to keep pairs whole.
const N_KNOWN: [u8; BoardSize::MAX as usize + 1] = [
    0, 0, 0, 0, 2, 0, 2, 0, 2, 2, 4, 2, 4, 2, 6, 4, 8, 4, 8, 6, // 0 to 19
    10, 6, 10, 6, 10, 6, 12, 8, 12, 8, 12, 8, 12, // 20 to 32
];

/// The number of queens that a subproblem number fixes, for each n: first row below, first row above, second row below.
const N_DIGITS: [u8; BoardSize::MAX as usize + 1] = [
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, // 0 to 22
    1, 1, 2, 2, 3, 3, 3, 3, 3, 3, // 23 to 32
];

/// A part of a board: the queen of the middle row, if n is odd, and the half board of some columns next to the centre.
///
/// A subproblem assigns the other columns, and on large boards also fixes up to three queens in the first rows. Numbers
/// also cover subproblems whose queens attack each other or whose columns are not canonical; these hold nothing. So a
/// number depends on n and part alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HalvesPart {
    /// The board with the middle row's queen.
    pub(crate) middle: Middle,
    known: Columns,
    upper: Columns,
}

/// The columns, factor and fixed queens of a subproblem number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Subproblem {
    pub(crate) upper: Columns,
    pub(crate) lower: Columns,
    /// The factor of each pair, as the columns stand for other sets; 0 if they are not canonical.
    pub(crate) factor: u8,
    /// The fixed queens in the first rows.
    pub(crate) given: Given,
}

/// A set of columns with some of its subproblems, for a join outside this crate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnSet {
    /// The columns of the upper half board: bit `c` stands for column `c`.
    pub upper: u32,
    /// The columns of the lower half board.
    pub lower: u32,
    /// What solutions are multiplied by, 1 or 2.
    pub factor: u8,
    /// Subproblems, numbered within the set. The digits of a number, in base m, are ranks of columns within their half
    /// boards; [`HalvesPart::n_digits`] says of which queens.
    pub numbers: Range<u64>,
}

/// The fixed queens in the first rows, by their columns. An absent queen may stand on any column.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Given {
    /// In the first row below the middle.
    pub(crate) lower_1: Option<u8>,
    /// In the first row above the middle.
    pub(crate) upper_1: Option<u8>,
    /// In the second row below the middle.
    pub(crate) lower_2: Option<u8>,
}

/// Returns the parts of a board: by the middle row's queen from left to right, then lexicographic, with the column
/// nearest the centre in the upper half board first.
pub(crate) fn parts_in_lexicographic_order(n: BoardSize) -> Vec<HalvesPart> {
    let mut parts = Vec::new();
    for middle in Middle::all(n) {
        let outwards = middle.outwards();
        let n_known = usize::from(N_KNOWN[usize::from(n.get())]).min(outwards.len());
        extend(HalvesPart { middle, known: 0, upper: 0 }, &outwards[..n_known], &mut parts);
    }
    parts
}

/// Adds the parts that also assign the columns `next`.
fn extend(part: HalvesPart, next: &[u8], parts: &mut Vec<HalvesPart>) {
    let HalvesPart { middle, known, upper } = part;
    if upper.count_ones().max((known & !upper).count_ones()) > u32::from(middle.n_rows())
        || !middle.may_be_canonical(upper, known)
    {
        return;
    }
    match next {
        [] => parts.push(part),
        [column, next @ ..] => {
            let known = known | 1 << column;
            extend(HalvesPart { middle, known, upper: upper | 1 << column }, next, parts);
            extend(HalvesPart { middle, known, upper }, next, parts);
        }
    }
}

impl HalvesPart {
    /// Returns the column of the middle row's queen; absent if n is even.
    #[must_use]
    pub const fn middle_queen(&self) -> Option<u8> {
        self.middle.queen
    }

    /// Returns the known columns of the upper half board: bit `c` stands for column `c`.
    #[must_use]
    pub const fn upper_columns(&self) -> u32 {
        self.upper
    }

    /// Returns the known columns of the lower half board.
    #[must_use]
    pub const fn lower_columns(&self) -> u32 {
        self.known & !self.upper
    }

    /// Returns the columns of the upper and the lower half board in a subproblem; `None` past the last.
    #[must_use]
    pub fn columns_of(&self, number: u64) -> Option<[u32; 2]> {
        let subproblem = (number < self.n_subproblems()).then(|| self.subproblem(number))?;
        Some([subproblem.upper, subproblem.lower])
    }

    /// Returns the number of solutions that each counted one stands for.
    #[must_use]
    pub const fn weight(&self) -> u8 {
        self.middle.weight()
    }

    /// Returns the board's size.
    #[must_use]
    pub const fn n(&self) -> BoardSize {
        self.middle.n
    }

    /// Returns the sets of columns of these subproblems, in order. Sets that hold nothing are left out, and so are numbers
    /// past the last.
    pub fn column_sets(&self, numbers: Range<u64>) -> impl Iterator<Item = ColumnSet> {
        let (part, given) = (*self, self.n_given());
        let (from, to) = (numbers.start, numbers.end.min(self.n_subproblems()));
        let ranks = if from < to { from / given..to.div_ceil(given) } else { 0..0 };
        ranks.filter_map(move |rank| {
            let (upper, first) = (part.set(rank), rank * given);
            let factor = part.middle.factor(upper);
            let numbers = from.max(first) - first..to.min(first + given) - first;
            let lower = part.middle.columns() & !upper;
            (factor > 0).then_some(ColumnSet { upper, lower, factor, numbers })
        })
    }

    /// Returns the units of work for the pairs of one subproblem (see the module `unit`), rounded up.
    ///
    /// # Panics
    /// If they exceed 64 bits, which no list in memory can reach.
    #[must_use]
    pub fn units(&self, pairs: u128) -> u64 {
        units(self.n(), pairs)
    }

    pub(crate) fn n_subproblems(&self) -> u64 {
        self.n_sets() * self.n_given()
    }

    /// Returns the number of ways to assign the other columns.
    pub(crate) fn n_sets(&self) -> u64 {
        n_combinations(self.unknown().len(), self.n_missing())
    }

    /// Returns the upper half board's columns in the way with this number.
    pub(crate) fn set(&self, number: u64) -> Columns {
        self.upper | combination(&self.unknown(), self.n_missing(), number)
    }

    /// Returns the subproblem with this number, which must be below [`n_subproblems`](Self::n_subproblems).
    ///
    /// The columns are the slow part of the number, the digits the fast one. So neighbours mostly share their columns.
    pub(crate) fn subproblem(&self, number: u64) -> Subproblem {
        let (rank, mut digits) = (number / self.n_given(), number % self.n_given());
        let upper = self.set(rank);
        let lower = self.middle.columns() & !upper;
        let mut given = Given::default();
        let places = [(&mut given.lower_2, lower), (&mut given.upper_1, upper), (&mut given.lower_1, lower)];
        // The last digit runs fastest.
        for (place, columns) in places.into_iter().skip(3 - usize::from(self.n_digits())) {
            let base = u64::from(self.middle.n_rows());
            *place = usize::try_from(digits % base).ok().and_then(|digit| members(columns).nth(digit));
            digits /= base;
        }
        Subproblem { upper, lower, factor: self.middle.factor(upper), given }
    }

    /// Returns a random set; all are equally likely, as far as 32 random bits allow.
    pub(crate) fn random_set(&self, random: &mut SplitMix) -> Columns {
        let number = usize::try_from(self.n_sets()).map_or(0, |n_sets| random.below(n_sets));
        self.set(number as u64)
    }

    /// Returns the queens that a subproblem fixes besides the middle row's, top to bottom; none past the last.
    pub(crate) fn queens(&self, number: u64) -> Vec<Square> {
        if number >= self.n_subproblems() {
            return Vec::new();
        }
        let Given { lower_1, upper_1, lower_2 } = self.subproblem(number).given;
        let above = self.middle.n_rows();
        let below = above + self.n().get() % 2;
        let rows = [(above.saturating_sub(1), upper_1), (below, lower_1), (below + 1, lower_2)];
        rows.into_iter().filter_map(|(row, column)| Some(Square { row, column: column? })).collect()
    }

    /// Returns the columns that a subproblem's number assigns, from the centre outwards.
    fn unknown(&self) -> Vec<u8> {
        let mut columns = self.middle.outwards();
        columns.retain(|column| self.known >> column & 1 == 0);
        columns
    }

    /// Returns how many of them the upper half board gets.
    fn n_missing(&self) -> usize {
        usize::from(self.middle.n_rows()).saturating_sub(self.upper.count_ones() as usize)
    }

    /// Returns how many queens a subproblem's number fixes. The slowest digit is the lower half board's first row, then
    /// comes the upper one's first, then the lower one's second.
    #[must_use]
    pub fn n_digits(&self) -> u8 {
        N_DIGITS[usize::from(self.n().get())]
    }

    /// Returns how many consecutive numbers share their columns and nearly all lists. On small boards these are all
    /// numbers of a set. On larger ones they share the queen of the first row below, or of both first rows.
    pub(crate) fn n_in_run(&self) -> u64 {
        let n_rows = u64::from(self.middle.n_rows());
        let n_runs = match n_rows {
            ..=12 => 1,
            13 => n_rows,
            _ => n_rows * n_rows,
        };
        (self.n_given() / n_runs).max(1)
    }

    /// Returns the number of ways to fix the queens of the first rows, each on a column of its half board.
    pub(crate) fn n_given(&self) -> u64 {
        Self::n_subproblems_of_set(self.n())
    }

    /// Returns the number of subproblems of each set of columns on boards of size `n`. Their numbers follow each other, and
    /// the first set's begin at 0.
    #[must_use]
    pub fn n_subproblems_of_set(n: BoardSize) -> u64 {
        u64::from(n.get() / 2).pow(N_DIGITS[usize::from(n.get())].into())
    }
}
