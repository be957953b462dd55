//! The naive search: tries any square for each queen.

use std::sync::atomic::{AtomicBool, Ordering};

use super::given::{Given, InvalidGiven};
use super::placement::Placement;
use super::queen::Queen;
use super::search::{SQUARES_BETWEEN_STOP_CHECKS, SearchEnd, Tried};

/// The search by the rules alone, as a baseline for the others. It tries each queen on every square after that of the
/// previous queen, row by row, and checks it against each queen on the board. It notices an empty row only at the end.
///
/// (Queens are alike. If it also tried earlier squares, it would find each set of squares in every order.)
#[derive(Clone, Debug)]
pub struct Naive {
    n: u32,
    tried: Tried,
}

impl Naive {
    /// Starts the search on a board of size `n`.
    #[must_use]
    pub fn new(n: u32) -> Self {
        Self { n, tried: Tried::default() }
    }

    /// Returns the numbers of squares and queens tried so far.
    #[must_use]
    pub const fn tried(&self) -> Tried {
        self.tried
    }

    /// Searches for the first solution with these queens.
    ///
    /// # Errors
    /// If a given queen is not on the board.
    pub fn solve(&mut self, given: &Given, stop: &AtomicBool) -> Result<SearchEnd, InvalidGiven> {
        given.check_on_board(self.n)?;
        let n_given = given.queens().len();
        let mut queens = given.queens().to_vec();
        let mut next = Some(Queen { row: 0, column: 0 });
        while queens.len() < self.n as usize {
            let Some(queen) = next.filter(|queen| queen.row < self.n) else {
                let Some(last) = queens.pop().filter(|_| queens.len() >= n_given) else {
                    return Ok(SearchEnd::None);
                };
                self.tried.taken_back += 1;
                next = self.behind(last);
                continue;
            };
            self.tried.squares += 1;
            if queens.iter().all(|other| !other.attacks(queen)) {
                self.tried.placed += 1;
                queens.push(queen);
            }
            next = self.behind(queen);
            if self.tried.squares.is_multiple_of(SQUARES_BETWEEN_STOP_CHECKS) && stop.load(Ordering::Relaxed)
            {
                return Ok(SearchEnd::Stopped);
            }
        }
        queens.sort_unstable();
        Ok(SearchEnd::Found(Placement::found(queens.iter().map(|queen| queen.column).collect())))
    }

    /// Returns the square after this one, `None` at the end of the board.
    fn behind(&self, Queen { row, column }: Queen) -> Option<Queen> {
        if column + 1 < self.n {
            Some(Queen { row, column: column + 1 })
        } else {
            Some(Queen { row: row + 1, column: 0 }).filter(|queen| queen.row < self.n)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::board::BoardSize;
    use crate::boards::solutions::Solutions;

    static NEVER: AtomicBool = AtomicBool::new(false);

    #[test]
    fn the_first_solution_in_order_is_found_or_none() {
        for n in 0..=8_u8 {
            let expected = Solutions::new(BoardSize::new(n).expect("a board size")).next();
            let found = Naive::new(n.into()).solve(&Given::default(), &NEVER);
            assert_eq!(found, Ok(expected.map_or(SearchEnd::None, SearchEnd::Found)), "n = {n}");
        }
    }

    #[test]
    fn a_stopped_search_says_so() {
        let found = Naive::new(12).solve(&Given::default(), &AtomicBool::new(true));
        assert_eq!(found, Ok(SearchEnd::Stopped));
    }
}
