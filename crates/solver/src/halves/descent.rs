//! Random descents: unbiased estimates of the number of pairs of placements that a set of columns has to test.

use crate::board::BoardSize;
use crate::halves::columns::{Columns, Middle, members};
use crate::halves::footprint::{Footprint, Half, footprint};
use crate::halves::transposition::{CentralRows, delta, is_promising};
use crate::split_mix::SplitMix;

/// The footprints of all queens of a board, by half board, row and column.
#[derive(Clone, Debug)]
pub(crate) struct Descents {
    footprints: [[[Footprint; 32]; 17]; 2],
}

/// A partial placement of one half board, from the middle outwards.
#[derive(Clone, Copy, Debug)]
struct Descent {
    half: Half,
    columns: Columns,
    /// Squares of the next row that its queens and the middle row's queen attack along a diagonal.
    rising: u64,
    falling: u64,
    /// The footprint of the queens in the first rows that the other half board must not meet.
    near: Footprint,
    first: Option<u8>,
    central: CentralRows,
}

impl Descents {
    pub(crate) fn new(n: BoardSize) -> Self {
        let mut footprints = [[[0; 32]; 17]; 2];
        for (half, rows) in [Half::Upper, Half::Lower].into_iter().zip(&mut footprints) {
            for (row, columns) in (1..).zip(&mut rows[1..]) {
                for (column, of_queen) in (0..n.get()).zip(columns) {
                    *of_queen = footprint(n, half, row, column);
                }
            }
        }
        Self { footprints }
    }

    /// Estimates a set's number of pairs that are work (see [`unit`](super::unit)) by one descent.
    ///
    /// Both half boards are placed at once. A queen stands where no earlier queen of its half board attacks, nor the
    /// other's first row. Upper queens also avoid the second lower row. The product of the numbers of free squares is 0
    /// if the descent ends early. Its mean is the number of complete descents.
    pub(crate) fn pairs(&self, middle: Middle, upper: Columns, random: &mut SplitMix) -> f64 {
        let mut above = Descent::new(middle, Half::Upper, upper);
        let mut below = Descent::new(middle, Half::Lower, middle.columns() & !upper);
        let mut product = 1.0;
        for row in 1..=middle.n_rows() {
            product *= self.place(middle, &mut below, row, above.near, random);
            if product <= 0.0 {
                return 0.0;
            }
            product *= self.place(middle, &mut above, row, below.near, random);
            if product <= 0.0 {
                return 0.0;
            }
        }
        let delta = delta(middle, above.first, below.first);
        let is_work = [above, below].iter().all(|half| is_promising(middle, half.central, delta));
        if is_work { product } else { 0.0 }
    }

    /// Places a queen on a random free square of the row, and returns the number of free squares.
    fn place(
        &self,
        middle: Middle,
        half: &mut Descent,
        row: u8,
        attacked: Footprint,
        random: &mut SplitMix,
    ) -> f64 {
        let footprints = &self.footprints[half.half as usize][usize::from(row)];
        let own = half.rising | half.falling;
        let is_free =
            |&column: &u8| own >> column & 1 == 0 && footprints[usize::from(column)] & attacked == 0;
        let free: Columns = members(half.columns).filter(is_free).map(|column| 1 << column).sum();
        let n_free = free.count_ones();
        let Some(column) = members(free).nth(random.below(n_free as usize)) else { return 0.0 };
        let bit = 1 << column;
        half.columns &= !(1 << column);
        half.rising = (half.rising | bit) << 1;
        half.falling = (half.falling | bit) >> 1;
        let n_near = if half.half == Half::Upper { 1 } else { 2 };
        if row <= n_near {
            half.near |= footprints[usize::from(column)];
        }
        if row == 1 {
            half.first = Some(column);
        }
        if middle.is_central(column) {
            half.central.add(half.half, row);
        }
        f64::from(n_free)
    }
}

impl Descent {
    fn new(middle: Middle, half: Half, columns: Columns) -> Self {
        let queen = middle.queen.map_or(0, |column| 1 << column);
        let (rising, falling) = (queen << 1, queen >> 1);
        Self { half, columns, rising, falling, near: 0, first: None, central: CentralRows::default() }
    }
}
