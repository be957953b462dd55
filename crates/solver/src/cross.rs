//! Crosses, the parts of the search: queens on the two central rows and columns, up to symmetry.
//!
//! A solution has exactly one queen on each of the four cross lines, and a queen on a crossing square serves two of
//! them. So the crosses partition the solutions. Rotations and reflections map the cross lines onto themselves and
//! therefore crosses onto crosses. The search keeps one cross of each orbit and weighs its completions with the orbit's
//! size. That counts every solution exactly once, symmetric ones included: the weight belongs to the cross, not to the
//! solution, and no leaf needs a test.

use std::cmp::Ordering;

use crate::board::{BoardSize, Square};
use crate::symmetry::Symmetry;

/// A placement of queens on the four cross lines, standing for its orbit under rotation and reflection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cross {
    n: BoardSize,
    queens: Queens,
    weight: u8,
}

/// Up to four queens, stored inline, as planning handles a million of these.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Queens {
    squares: [Square; 4],
    len: u8,
}

impl Queens {
    const NONE: Self = Self { squares: [Square { row: 0, column: 0 }; 4], len: 0 };

    fn as_slice(&self) -> &[Square] {
        &self.squares[..usize::from(self.len)]
    }

    /// Adds a queen, unless it attacks one of the others.
    fn with(mut self, queen: Square) -> Option<Self> {
        if self.as_slice().iter().any(|q| q.attacks(queen)) {
            return None;
        }
        self.squares[usize::from(self.len)] = queen;
        self.len += 1;
        Some(self)
    }

    fn sorted(mut self) -> Self {
        self.squares[..usize::from(self.len)].sort_unstable();
        self
    }

    fn image(mut self, n: BoardSize, symmetry: Symmetry) -> Self {
        for queen in &mut self.squares[..usize::from(self.len)] {
            *queen = symmetry.apply(n, *queen);
        }
        self.sorted()
    }
}

impl Cross {
    /// Returns the crosses of a board of size `n`, one of each orbit, in lexicographic order of their queens.
    ///
    /// Boards without four cross lines (n ≤ 1) have one empty cross of weight 1.
    #[must_use]
    pub fn all(n: BoardSize) -> Vec<Self> {
        let Some(lines) = cross_lines(n) else {
            return vec![Self { n, queens: Queens::NONE, weight: 1 }];
        };
        let mut crosses = Vec::new();
        for_each_placement(n, lines, |queens| {
            if let Some(weight) = orbit_if_smallest(n, queens) {
                crosses.push(Self { n, queens, weight });
            }
        });
        crosses.sort_unstable_by(|a, b| a.queens().cmp(b.queens()));
        crosses
    }

    /// Returns the size of the board.
    #[must_use]
    pub const fn n(&self) -> BoardSize {
        self.n
    }

    /// Returns the queens, top to bottom: three or four of them, none for n ≤ 1.
    #[must_use]
    pub fn queens(&self) -> &[Square] {
        self.queens.as_slice()
    }

    /// Returns the number of crosses that this one stands for: 8, 4 or 2, and 1 for the empty cross.
    #[must_use]
    pub const fn weight(&self) -> u8 {
        self.weight
    }

    /// Returns the queens on the board turned or mirrored by `symmetry`, top to bottom.
    #[must_use]
    pub fn image(&self, symmetry: Symmetry) -> Vec<Square> {
        self.queens.image(self.n, symmetry).as_slice().to_vec()
    }
}

/// Returns the two cross lines as row (and column) numbers; none if n ≤ 1.
///
/// These are the central two of an even board. On an odd board they are the neighbours of the centre, which leave fewer
/// crosses than the single central row and column.
#[must_use]
pub const fn cross_lines(n: BoardSize) -> Option<[u8; 2]> {
    match n.get() {
        0 | 1 => None,
        n if n % 2 == 0 => Some([n / 2 - 1, n / 2]),
        n => Some([n / 2 - 1, n / 2 + 1]),
    }
}

/// Calls `found` with each placement that has exactly one queen on each cross line, its queens sorted.
fn for_each_placement(n: BoardSize, lines: [u8; 2], mut found: impl FnMut(Queens)) {
    let [first, second] = lines;
    let other_rows: Vec<u8> = (0..n.get()).filter(|row| !lines.contains(row)).collect();
    // Calls `then` with every way to fill column `line`; a queen on a crossing square may fill it already.
    let with_column = |queens: Queens, line: u8, then: &mut dyn FnMut(Queens)| {
        if queens.as_slice().iter().any(|queen| queen.column == line) {
            then(queens);
        } else {
            for &row in &other_rows {
                queens.with(Square { row, column: line }).into_iter().for_each(&mut *then);
            }
        }
    };
    for upper in 0..n.get() {
        for lower in 0..n.get() {
            let rows = Queens::NONE
                .with(Square { row: first, column: upper })
                .and_then(|queens| queens.with(Square { row: second, column: lower }));
            if let Some(rows) = rows {
                with_column(rows, first, &mut |queens| {
                    with_column(queens, second, &mut |queens| found(queens.sorted()));
                });
            }
        }
    }
}

/// Returns the size of the orbit of `queens` if no image of it is lexicographically smaller.
fn orbit_if_smallest(n: BoardSize, queens: Queens) -> Option<u8> {
    let mut fixed = 0;
    for symmetry in Symmetry::ALL {
        match queens.image(n, symmetry).as_slice().cmp(queens.as_slice()) {
            Ordering::Less => return None,
            Ordering::Equal => fixed += 1,
            Ordering::Greater => {}
        }
    }
    Some(8 / fixed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn size(n: u8) -> BoardSize {
        BoardSize::new(n).expect("a board size")
    }

    #[track_caller]
    fn check_number(n: u8, expected: usize) {
        assert_eq!(Cross::all(size(n)).len(), expected, "crosses of n = {n}");
    }

    #[test]
    fn numbers_of_crosses_are_those_of_the_prototype() {
        check_number(0, 1);
        check_number(1, 1);
        check_number(2, 0);
        check_number(14, 849);
        check_number(16, 1814);
        check_number(17, 2638);
        check_number(18, 3465);
        check_number(19, 4775);
        check_number(20, 6078);
        check_number(22, 9977);
    }

    /// The orbits together are all placements on the cross lines, each once.
    #[test]
    fn orbits_partition_the_placements() {
        for n in BoardSize::range(2, 13) {
            let lines = cross_lines(n).expect("n is at least 2");
            let mut placements = Vec::new();
            for_each_placement(n, lines, |queens| placements.push(queens.as_slice().to_vec()));
            let mut orbits = Vec::new();
            for cross in Cross::all(n) {
                let mut orbit: Vec<_> = Symmetry::ALL.iter().map(|&s| cross.image(s)).collect();
                orbit.sort();
                orbit.dedup();
                assert_eq!(orbit.len(), usize::from(cross.weight()), "n = {n}: {cross:?}");
                orbits.append(&mut orbit);
            }
            placements.sort();
            orbits.sort();
            assert_eq!(placements, orbits, "n = {n}");
        }
    }
}
