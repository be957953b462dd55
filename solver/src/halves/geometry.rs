//! Where the two halves of a board attack each other.

/// A board that is cut in two halves of `m` rows, and the column of the middle row's queen if there is a middle row.
///
/// Rows are counted from the middle outwards, from 1 on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Geometry {
    pub(super) n: u8,
    pub(super) m: u8,
    pub(super) middle: Option<u8>,
}

impl Geometry {
    pub(super) fn new(n: u8, middle: Option<u8>) -> Self {
        debug_assert_eq!(middle.is_some(), n % 2 == 1);
        Self { n, m: n / 2, middle }
    }

    /// Diagonals of one direction that both halves meet.
    const fn n_diagonals(self) -> u8 {
        self.n - 1 - self.n % 2
    }

    /// Bits of a footprint.
    pub(super) const fn width(self) -> u8 {
        2 * self.n_diagonals()
    }

    /// The diagonals of a square in a row `above` the middle of the board, in the lower half a negative number. With
    /// no middle row, there is no row 0 either.
    fn diagonals(self, column: u8, above: i32) -> (i32, i32) {
        let odd = i32::from(self.n % 2);
        let column = i32::from(column);
        // The first that both halves meet is number 0.
        (column + above - 1, column - above - odd)
    }

    /// The diagonals that a queen attacks the other half on, as numbers of bits.
    pub(super) fn feet(self, upper: bool, row: u8, column: u8) -> [Option<u8>; 2] {
        let above = if upper { i32::from(row) } else { i32::from(1 - self.n % 2) - i32::from(row) };
        let (rising, falling) = self.diagonals(column, above);
        let width = i32::from(self.n_diagonals());
        let bit = |diagonal: i32, first: u8| {
            (0..width).contains(&diagonal).then(|| first + u8::try_from(diagonal).unwrap_or(0))
        };
        [bit(rising, 0), bit(falling, self.n_diagonals())]
    }

    /// The columns of a row that the middle row's queen does not attack.
    pub(super) fn free(self, row: u8) -> u32 {
        let all = (1 << self.n) - 1;
        let Some(middle) = self.middle else { return all };
        let queen = 1_u64 << middle;
        let attacked = queen | queen << row | queen >> row;
        all & !u32::try_from(attacked & u64::from(all)).unwrap_or(0)
    }

    /// The columns in the centre: two, or that of the middle if there is a middle row.
    pub(super) fn central(self) -> u32 {
        if self.n % 2 == 0 { 3 << (self.m - 1) } else { 1 << self.m }
    }

    /// A column's distance from the centre, from 1 on if n is even.
    pub(super) fn distance(self, column: u8) -> u8 {
        if self.n % 2 == 0 && column >= self.m { column + 1 - self.m } else { self.m.abs_diff(column) }
    }
}
