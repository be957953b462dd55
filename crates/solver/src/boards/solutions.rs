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
    use crate::boards::placement::Notation;
    use crate::published::published;
    use crate::symmetry::Symmetry;

    fn size(n: u8) -> BoardSize {
        BoardSize::new(n).expect("tests name board sizes")
    }

    #[track_caller]
    fn check(n: u8, expected: &[&str]) {
        let found: Vec<String> = Solutions::new(size(n)).map(|solution| solution.to_string()).collect();
        assert_eq!(found, expected, "n = {n}");
    }

    #[test]
    fn the_smallest_boards_are_known() {
        check(0, &["[]"]);
        check(1, &["[0]"]);
        check(2, &[]);
        check(3, &[]);
        check(4, &["[1 3 0 2]", "[2 0 3 1]"]);
        check(6, &["[1 3 5 0 2 4]", "[2 5 1 4 0 3]", "[3 0 4 1 5 2]", "[4 2 0 5 3 1]"]);
        check(
            5,
            &[
                "[0 2 4 1 3]",
                "[0 3 1 4 2]",
                "[1 3 0 2 4]",
                "[1 4 2 0 3]",
                "[2 0 3 1 4]",
                "[2 4 1 3 0]",
                "[3 0 2 4 1]",
                "[3 1 4 2 0]",
                "[4 1 3 0 2]",
                "[4 2 0 3 1]",
            ],
        );
    }

    /// `Placement` has checked each solution; this test checks that they are distinct and complete.
    #[test]
    fn all_are_listed_once_in_order() {
        for n in BoardSize::range(0, 11) {
            let all: Vec<Placement> = Solutions::new(n).collect();
            assert!(all.is_sorted_by(|a, b| a < b), "n = {n}");
            let fundamental = all.iter().filter(|solution| solution.is_fundamental()).count();
            let published = published(n).expect("n is small");
            let expected = (published.solutions, published.fundamental);
            assert_eq!((all.len() as u128, fundamental as u128), expected, "n = {n}");
        }
    }

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

    #[test]
    fn notations_are_as_documented() {
        let solution = Solutions::new(size(4)).next().expect("there are two");
        let written = |notation| solution.written(notation).to_string();
        assert_eq!(written(Notation::Vector), "[1 3 0 2]");
        assert_eq!(written(Notation::Json), "[1,3,0,2]");
        assert_eq!(written(Notation::Coordinates), "0:1,1:3,2:0,3:2");
        assert_eq!(written(Notation::Board), ". Q . .\n. . . Q\nQ . . .\n. . Q .");
    }
}
