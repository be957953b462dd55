//! Iterates over all solutions of a board.

use super::placement::Placement;
use crate::board::BoardSize;

/// All solutions in lexicographic order of their columns, found one by one in constant memory.
///
/// It goes down the rows and holds the squares that the queens above attack in three words (Richards 1997; see
/// [`classic`](crate::classic) on bitmasks). The lowest free column comes first, hence the order.
///
/// ```
/// # use queens_solver::boards::Solutions;
/// # use queens_solver::BoardSize;
/// assert_eq!(Solutions::new(BoardSize::new(8)?).count(), 92);
/// assert_eq!(Solutions::new(BoardSize::new(8)?).filter(|solution| solution.is_fundamental()).count(), 12);
/// # Ok::<(), queens_solver::InvalidBoardSize>(())
/// ```
#[derive(Clone, Debug)]
pub struct Solutions {
    n: usize,
    row_mask: u64,
    /// The rows in progress, from the top. Empty at the end.
    rows: Vec<Row>,
    columns: Vec<u32>,
}

/// A row, and the squares of it that the queens above attack.
#[derive(Clone, Copy, Debug)]
struct Row {
    columns: u64,
    rising: u64,
    falling: u64,
    /// The untried free squares.
    untried: u64,
}

impl Solutions {
    /// Starts before the first solution for boards of size `n`.
    #[must_use]
    pub fn new(n: BoardSize) -> Self {
        let row_mask = u64::from(n.row_mask());
        let n = usize::from(n.get());
        let mut rows = Vec::with_capacity(n + 1);
        rows.push(Row { columns: 0, rising: 0, falling: 0, untried: row_mask });
        Self { n, row_mask, rows, columns: vec![0; n] }
    }

    fn below(&self, row: Row, queen: u64) -> Row {
        let columns = row.columns | queen;
        let (rising, falling) = ((row.rising | queen) << 1, (row.falling | queen) >> 1);
        Row { columns, rising, falling, untried: self.row_mask & !(columns | rising | falling) }
    }
}

impl Iterator for Solutions {
    type Item = Placement;

    fn next(&mut self) -> Option<Placement> {
        while let Some(&row) = self.rows.last() {
            let depth = self.rows.len() - 1;
            if depth == self.n {
                // Below the last row: all queens are placed.
                self.rows.pop();
                return Some(Placement::found(self.columns.clone()));
            }
            let queen = row.untried & row.untried.wrapping_neg();
            if queen == 0 {
                self.rows.pop();
                continue;
            }
            self.rows[depth].untried ^= queen;
            self.columns[depth] = queen.trailing_zeros();
            self.rows.push(self.below(row, queen));
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::board::Square;

    use crate::symmetry::Symmetry;

    #[test]
    fn fundamental_is_the_first_of_the_eight_images() {
        for n in BoardSize::range(1, 8) {
            for solution in Solutions::new(n) {
                let images = Symmetry::ALL.map(|symmetry| {
                    let queens = (0..).zip(solution.columns()).map(|(row, &column)| {
                        symmetry.apply(n, Square { row, column: u8::try_from(column).expect("n is small") })
                    });
                    let mut queens: Vec<Square> = queens.collect();
                    queens.sort_unstable();
                    queens.iter().map(|queen| u32::from(queen.column)).collect::<Vec<_>>()
                });
                let first = images.iter().min().expect("there are eight");
                assert_eq!(solution.is_fundamental(), first == solution.columns(), "{solution}");
            }
        }
    }
}
