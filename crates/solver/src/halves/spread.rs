//! Spreads: estimates of work, up to a factor, from the distances between the columns of a half board.
//!
//! A half board has the more placements, the farther its columns are apart. Two queens in columns at distance d < m, in
//! any two of m rows, attack with a probability of 2 (m − d) / m (m − 1); farther ones never do. The spread multiplies
//! the complements over all pairs of columns of the same half board, and raises the product to the power of 3/2. This
//! exponent fits the pairs that sets have to test (1.49 to 1.55 for even n from 16 to 20, 1.66 to 1.70 for odd n). With
//! a factor for the transposition, work is in proportion to the spread. The error for parts (root mean square, weighted
//! by work) is 9 to 14 % from n = 13 to 17, by counts. From 21 to 24 it is 8 to 11 %, by samples.

use crate::board::BoardSize;
use crate::halves::columns::{Columns, Middle, members};
use crate::halves::parts::HalvesPart;

/// Sets of columns that represent a part by their mean.
const N_SETS: u64 = 128;

/// Spreads of the parts of one board.
#[derive(Clone, Debug)]
pub(crate) struct Spread {
    /// By the distance of two columns.
    factors: [f64; 33],
}

impl Spread {
    pub(crate) fn new(n: BoardSize) -> Self {
        let m = f64::from(n.get() / 2);
        let mut factors = [1.0; 33];
        for (distance, factor) in (1..n.get() / 2).zip(&mut factors[1..]) {
            let free = 1.0 - 2.0 * (m - f64::from(distance)) / (m * (m - 1.0));
            *factor = free * free.sqrt();
        }
        Self { factors }
    }

    /// Returns the spread of a part: the mean over evenly spaced sets of it, times the number of its sets.
    pub(crate) fn of(&self, part: &HalvesPart) -> f64 {
        let n_sets = part.n_sets();
        let n_looked_at = n_sets.min(N_SETS);
        let sets = (0..n_looked_at).map(|i| part.set(i * n_sets / n_looked_at));
        let sum: f64 = sets.map(|upper| self.of_set(part.middle, upper)).sum();
        sum * n_sets as f64 / n_looked_at as f64
    }

    /// Returns the spread of one set of columns of the upper half board.
    pub(crate) fn of_set(&self, middle: Middle, upper: Columns) -> f64 {
        if middle.factor(upper) == 0 {
            return 0.0;
        }
        self.of_half(upper) * self.of_half(middle.columns() & !upper) * of_center(middle, upper)
    }

    fn of_half(&self, columns: Columns) -> f64 {
        let mut product = 1.0;
        for right in members(columns) {
            for left in members(columns & ((1 << right) - 1)) {
                product *= self.factors[usize::from(right - left)];
            }
        }
        product
    }
}

/// Returns the factor for the transposition, by the central columns; also a fit. The farther the middle row's queen is
/// from the centre, the fewer pairs have weight. If one half board has both central columns (n even), smaller boards
/// have fewer.
fn of_center(middle: Middle, upper: Columns) -> f64 {
    match middle.queen {
        Some(column) if middle.is_left() => (f64::from(column) / f64::from(middle.n_rows())).sqrt(),
        Some(_) => 0.85,
        None if members(upper).filter(|&column| middle.is_central(column)).count() == 2 => {
            0.52 + 0.01 * f64::from(middle.n.get())
        }
        None => 1.0,
    }
}
