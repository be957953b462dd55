//! The parts of a board, and the numbers of their subproblems.

use crate::board::{BoardSize, Square};
use crate::halves::columns::{Columns, Middle, combination, members, n_combinations};
use crate::split_mix::SplitMix;

/// The version of everything that decides what a subproblem number of this method means. Spans counted under different
/// versions must not be added up.
pub(crate) const HALVES_DECOMPOSITION_VERSION: u32 = 1;

/// Of how many columns a part tells whether the upper half has them, for each n: an even number, so that they are
/// whole pairs where mirroring still counts.
const N_KNOWN: [u8; BoardSize::MAX as usize + 1] = [
    0, 0, 0, 0, 2, 0, 2, 0, 2, 2, 4, 2, 4, 2, 6, 4, 8, 4, 8, 6, // 0 to 19
    10, 6, 10, 6, 10, 6, 12, 8, 12, 8, 12, 8, 12, // 20 to 32
];

/// How many queens next to the middle a subproblem's number tells, for each n: that of the first row below, of the
/// first row above, of the second row below.
const N_DIGITS: [u8; BoardSize::MAX as usize + 1] = [
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, // 0 to 22
    1, 1, 2, 2, 3, 3, 3, 3, 3, 3, // 23 to 32
];

/// A part of a board: the queen of the middle row, if there is such a row, and for some columns next to the centre
/// whether the upper half has them.
///
/// A subproblem is one way to divide the other columns, and on large boards the queens of up to three rows next to the
/// middle as well. All are numbered, also those where two queens attack each other or the upper half's columns are not
/// canonical; these hold nothing. So a number depends on n and part alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HalvesPart {
    middle: Middle,
    known: Columns,
    upper: Columns,
}

/// What is to be counted under one number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Subproblem {
    /// The columns of the upper half.
    pub(crate) upper: Columns,
    /// The columns of the lower half.
    pub(crate) lower: Columns,
    /// How often each pair counts, because the upper half's columns stand for others; 0 if they are not canonical.
    pub(crate) factor: u8,
    /// The columns of the queens next to the middle that are given.
    pub(crate) given: Given,
}

/// Queens next to the middle, by their columns. Those that are absent may stand on any.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Given {
    /// In the first row below the middle.
    pub(crate) lower_1: Option<u8>,
    /// In the first row above it.
    pub(crate) upper_1: Option<u8>,
    /// In the second row below it.
    pub(crate) lower_2: Option<u8>,
}

/// The parts of a board: by the middle row's queen from left to right; then lexicographic, those with the column
/// nearest the centre in the upper half first.
pub(crate) fn parts_in_lexicographic_order(n: BoardSize) -> Vec<HalvesPart> {
    let mut parts = Vec::new();
    for middle in Middle::all(n) {
        let outwards = middle.outwards();
        let n_known = usize::from(N_KNOWN[usize::from(n.get())]).min(outwards.len());
        extend(HalvesPart { middle, known: 0, upper: 0 }, &outwards[..n_known], &mut parts);
    }
    parts
}

/// Adds the parts that decide the columns `next` as well.
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
    /// The column of the middle row's queen; absent if n is even.
    #[must_use]
    pub const fn middle_queen(&self) -> Option<u8> {
        self.middle.queen()
    }

    /// Those of the known columns that the upper half has: bit `c` stands for column `c`.
    #[must_use]
    pub const fn upper_columns(&self) -> u32 {
        self.upper
    }

    /// Those of the known columns that the lower half has.
    #[must_use]
    pub const fn lower_columns(&self) -> u32 {
        self.known & !self.upper
    }

    /// The columns of the upper half and of the lower half in the subproblem with this number; `None` past the last.
    #[must_use]
    pub fn columns_of(&self, number: u64) -> Option<[u32; 2]> {
        let subproblem = (number < self.n_subproblems()).then(|| self.subproblem(number))?;
        Some([subproblem.upper, subproblem.lower])
    }

    /// How many solutions each one that is counted stands for.
    #[must_use]
    pub const fn weight(&self) -> u8 {
        self.middle.weight()
    }

    /// The size of the board.
    pub(crate) const fn n(&self) -> BoardSize {
        self.middle.n()
    }

    /// The board with the middle row's queen.
    pub(crate) const fn middle(&self) -> Middle {
        self.middle
    }

    /// The number of subproblems.
    pub(crate) fn n_subproblems(&self) -> u64 {
        self.n_sets() * self.n_given()
    }

    /// The ways to divide the other columns.
    pub(crate) fn n_sets(&self) -> u64 {
        n_combinations(self.unknown().len(), self.n_missing())
    }

    /// The upper half's columns by the way with this number.
    pub(crate) fn set(&self, number: u64) -> Columns {
        self.upper | combination(&self.unknown(), self.n_missing(), number)
    }

    /// The subproblem with this number, which must be below [`n_subproblems`](Self::n_subproblems).
    ///
    /// The columns come first, then the digits; so neighbours have the same columns as long as there are digits.
    pub(crate) fn subproblem(&self, number: u64) -> Subproblem {
        let (rank, mut digits) = (number / self.n_given(), number % self.n_given());
        let upper = self.set(rank);
        let lower = self.middle.columns() & !upper;
        let mut given = Given::default();
        let places = [(&mut given.lower_2, lower), (&mut given.upper_1, upper), (&mut given.lower_1, lower)];
        // The last digit that there is runs fastest.
        for (place, columns) in places.into_iter().skip(3 - usize::from(self.n_digits())) {
            let base = u64::from(self.middle.n_rows());
            *place = usize::try_from(digits % base).ok().and_then(|digit| members(columns).nth(digit));
            digits /= base;
        }
        Subproblem { upper, lower, factor: self.middle.factor(upper), given }
    }

    /// A random way, each as likely as any other, as far as 32 random bits can tell.
    pub(crate) fn random_set(&self, random: &mut SplitMix) -> Columns {
        let number = usize::try_from(self.n_sets()).map_or(0, |n_sets| random.below(n_sets));
        self.set(number as u64)
    }

    /// The queens that a subproblem gives besides the middle row's, top to bottom; none past the last.
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

    /// The columns that a subproblem's number divides, from the centre outwards.
    fn unknown(&self) -> Vec<u8> {
        let mut columns = self.middle.outwards();
        columns.retain(|column| self.known >> column & 1 == 0);
        columns
    }

    /// How many of them the upper half gets.
    fn n_missing(&self) -> usize {
        usize::from(self.middle.n_rows()).saturating_sub(self.upper.count_ones() as usize)
    }

    fn n_digits(&self) -> u8 {
        N_DIGITS[usize::from(self.n().get())]
    }

    /// How many numbers with the same columns follow each other that share nearly all lists that are made for them:
    /// all, or on larger boards those with the same queen in the first row below, or in those above and below.
    pub(crate) fn n_in_run(&self) -> u64 {
        let n_rows = u64::from(self.middle.n_rows());
        let n_runs = match n_rows {
            ..=12 => 1,
            13 => n_rows,
            _ => n_rows * n_rows,
        };
        (self.n_given() / n_runs).max(1)
    }

    /// The ways to place the given queens, one on each column of its half.
    pub(crate) fn n_given(&self) -> u64 {
        u64::from(self.middle.n_rows()).pow(self.n_digits().into())
    }
}
