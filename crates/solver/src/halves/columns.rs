//! Sets of columns: the columns of the upper half board, and their symmetry.
//!
//! Mirroring the board exchanges the columns of each *pair*: two columns at the same distance from the centre. Flipping
//! it upside down exchanges the half boards, and so replaces a set of columns by its complement. A pair is 11 if the
//! upper half board has both columns, 00 if none, 10 if only the left, 01 if only the right. Mirroring exchanges 10 and
//! 01, and mirroring with flipping exchanges 11 and 00. So exactly one image of a set is *canonical*, in order from the
//! centre outwards: its first pair of kind 11 or 00 is 11, and its first pair of kind 10 or 01 is 10.
//!
//! A canonical set stands for all its images. A set with both kinds of pairs has four images, any other set two, and
//! the empty set of the empty board one.

use crate::board::BoardSize;

/// A set of columns: bit `c` stands for column `c`.
pub(crate) type Columns = u32;

/// A board with the queen of its middle row, if n is odd.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Middle {
    pub(crate) n: BoardSize,
    /// The column of the middle row's queen; absent if n is even.
    pub(crate) queen: Option<u8>,
}

impl Middle {
    /// Returns all middles that are counted: one for even `n`, one for each column up to the centre for odd `n`. The
    /// first column is left out unless it is the centre: its distance δ is the largest, and γ can't reach it, as the
    /// central column's queen would have to stand as far away or farther.
    pub(crate) fn all(n: BoardSize) -> Vec<Self> {
        let center = n.get() / 2;
        if n.get().is_multiple_of(2) {
            return vec![Self { n, queen: None }];
        }
        (1.min(center)..=center).map(|column| Self { n, queen: Some(column) }).collect()
    }

    /// Returns the number of rows of a half board, which is also its number of queens and columns.
    pub(crate) const fn n_rows(self) -> u8 {
        self.n.get() / 2
    }

    /// Returns whether the middle row's queen stands left of the centre, which uses up mirroring. The remaining
    /// symmetry puts the central column into the upper half board.
    pub(crate) const fn is_left(self) -> bool {
        matches!(self.queen, Some(column) if column < self.n.get() / 2)
    }

    /// Returns a column's distance from the centre: 0 for the central column of odd n. Distance 1 is next to that
    /// column if n is odd, and next to the middle line if n is even.
    pub(crate) const fn distance(self, column: u8) -> u8 {
        let (n, left) = (self.n.get(), self.n.get() / 2);
        if column < left { left - column } else { column + 1 - left - n % 2 }
    }

    /// Returns whether a column is central: there are two central columns if n is even, else one.
    pub(crate) const fn is_central(self, column: u8) -> bool {
        self.distance(column) + self.n.get() % 2 == 1
    }

    /// Returns all columns that the half boards share.
    pub(crate) const fn columns(self) -> Columns {
        match self.queen {
            Some(column) => self.n.row_mask() & !(1 << column),
            None => self.n.row_mask(),
        }
    }

    /// Returns the same columns one by one, from the centre outwards, the left of a pair first.
    pub(crate) fn outwards(self) -> Vec<u8> {
        let mut columns: Vec<u8> =
            (0..self.n.get()).filter(|&column| self.columns() >> column & 1 == 1).collect();
        columns.sort_by_key(|&column| self.distance(column));
        columns
    }

    /// Returns whether a set of columns may become canonical, where only the columns in `known` are decided.
    pub(crate) fn may_be_canonical(self, upper: Columns, known: Columns) -> bool {
        if self.is_left() {
            let center = 1 << (self.n.get() / 2);
            return known & center == 0 || upper & center != 0;
        }
        let decided = |pair: &Pair| pair.is_within(known);
        let pairs = || self.pairs().take_while(decided).map(|pair| pair.of(upper));
        let first = |kinds: [(bool, bool); 2]| pairs().find(|kind| kinds.contains(kind));
        first([(true, true), (false, false)]) != Some((false, false))
            && first([(true, false), (false, true)]) != Some((false, true))
    }

    /// Returns how many sets a canonical set stands for, in units of the part's weight: 1 or 2; 0 if it is not
    /// canonical.
    pub(crate) fn factor(self, upper: Columns) -> u8 {
        if !self.may_be_canonical(upper, self.columns()) {
            return 0;
        }
        if self.is_left() || self.n_rows() == 0 {
            return 1;
        }
        let is_split = |pair: Pair| matches!(pair.of(upper), (true, false) | (false, true));
        let n_split = self.pairs().filter(|&pair| is_split(pair)).count();
        if n_split == 0 || n_split == usize::from(self.n_rows()) { 1 } else { 2 }
    }

    /// Returns the number of solutions that one unit of a set's [`factor`](Self::factor) stands for.
    pub(crate) const fn weight(self) -> u8 {
        match (self.n_rows(), self.is_left()) {
            (0, _) => 1,
            (_, true) => 4,
            (_, false) => 2,
        }
    }

    /// Returns the pairs of columns from the centre outwards.
    fn pairs(self) -> impl Iterator<Item = Pair> {
        let n = self.n.get();
        (1..=n / 2).map(move |distance| Pair { left: n / 2 - distance, right: n.div_ceil(2) + distance - 1 })
    }
}

/// Two columns at the same distance from the centre.
#[derive(Clone, Copy, Debug)]
struct Pair {
    left: u8,
    right: u8,
}

impl Pair {
    /// Returns which of the two columns are in a set.
    const fn of(self, columns: Columns) -> (bool, bool) {
        (columns >> self.left & 1 == 1, columns >> self.right & 1 == 1)
    }

    const fn is_within(self, columns: Columns) -> bool {
        matches!(self.of(columns), (true, true))
    }
}

/// Returns the columns of a set, from left to right.
pub(crate) fn members(mut columns: Columns) -> impl Iterator<Item = u8> + Clone {
    std::iter::from_fn(move || {
        let column = columns.trailing_zeros();
        columns &= columns.wrapping_sub(1);
        u8::try_from(column).ok().filter(|&column| column < 32)
    })
}

/// Returns the number of ways to choose `k` of `n` things; `n` and `k` up to 32.
pub(crate) const fn n_combinations(n: usize, k: usize) -> u64 {
    PASCAL[n][k]
}

/// Pascal's triangle.
const PASCAL: [[u64; 33]; 33] = {
    let mut rows = [[0; 33]; 33];
    let mut n = 0;
    while n < rows.len() {
        rows[n][0] = 1;
        let mut k = 1;
        while k <= n {
            rows[n][k] = rows[n - 1][k - 1] + rows[n - 1][k];
            k += 1;
        }
        n += 1;
    }
    rows
};

/// Returns the `k` columns of `of` that the combination with this number takes. The order is lexicographic:
/// combinations with the first column come first.
pub(crate) fn combination(of: &[u8], mut k: usize, mut number: u64) -> Columns {
    let mut taken = 0;
    for (i, column) in of.iter().enumerate() {
        if k == 0 {
            break;
        }
        let with_it = n_combinations(of.len() - i - 1, k - 1);
        if number < with_it {
            taken |= 1 << column;
            k -= 1;
        } else {
            number -= with_it;
        }
    }
    taken
}
