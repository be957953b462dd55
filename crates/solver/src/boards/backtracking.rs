//! The backtracking search, as a sequence of steps.

use std::sync::atomic::{AtomicBool, Ordering};

use super::given::{Given, InvalidGiven};
use super::placement::Placement;
use super::queen::Queen;
use super::search::{SQUARES_BETWEEN_STOP_CHECKS, SearchEnd, Tried};

/// One step of the search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Tries the square. If it is `safe` from all queens, the queen now stands there.
    Try {
        /// The square.
        queen: Queen,
        /// Whether no queen attacks it.
        safe: bool,
    },
    /// Takes the last queen back, as the rows below can't be filled, or to continue after a solution.
    TakeBack(Queen),
    /// All queens are placed.
    Solved,
}

/// The textbook search as a sequence of steps, through all solutions in lexicographic order. In each row from the top
/// it tries the columns from the left. After the last column, the queen of the row above moves on.
///
/// ```
/// # use queens_solver::boards::{Backtracking, Given, Step};
/// let steps = Backtracking::new(4, &Given::default())?;
/// assert_eq!(steps.filter(|step| *step == Step::Solved).count(), 2);
/// # Ok::<(), queens_solver::boards::InvalidGiven>(())
/// ```
#[derive(Clone, Debug)]
pub struct Backtracking {
    n: u32,
    given: Given,
    /// The rows without a given queen, top to bottom.
    open_rows: Vec<u32>,
    /// The columns of the queens in the first of these rows.
    placed: Vec<u32>,
    /// The column to try next in the row after those.
    next: u32,
    lines: Lines,
    stage: Stage,
    tried: Tried,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Searching,
    Solved,
    Over,
}

/// The lines that hold a queen.
#[derive(Clone, Debug)]
struct Lines {
    columns: Vec<bool>,
    rising: Vec<bool>,
    falling: Vec<bool>,
}

impl Backtracking {
    /// Starts the search for the solutions with these queens on a board of size `n`, before its first step.
    ///
    /// # Errors
    /// If a given queen is not on the board.
    pub fn new(n: u32, given: &Given) -> Result<Self, InvalidGiven> {
        given.check_on_board(n)?;
        let mut is_open = vec![true; n as usize];
        let mut lines = Lines::new(n);
        for &queen in given.queens() {
            is_open[queen.row as usize] = false;
            lines.set(queen, true);
        }
        let open_rows: Vec<u32> = (0..n).filter(|&row| is_open[row as usize]).collect();
        let stage = if open_rows.is_empty() { Stage::Solved } else { Stage::Searching };
        Ok(Self {
            n,
            given: given.clone(),
            open_rows,
            placed: Vec::new(),
            next: 0,
            lines,
            stage,
            tried: Tried::default(),
        })
    }

    /// Returns the numbers of squares and queens tried so far.
    #[must_use]
    pub const fn tried(&self) -> Tried {
        self.tried
    }

    /// Searches for the next solution.
    pub fn solve(&mut self, stop: &AtomicBool) -> SearchEnd {
        while let Some(step) = self.next() {
            if step == Step::Solved {
                return SearchEnd::Found(self.placement());
            }
            if self.tried.squares.is_multiple_of(SQUARES_BETWEEN_STOP_CHECKS) && stop.load(Ordering::Relaxed)
            {
                return SearchEnd::Stopped;
            }
        }
        SearchEnd::None
    }

    fn placement(&self) -> Placement {
        let mut columns = vec![0; self.n as usize];
        for (&row, &column) in self.open_rows.iter().zip(&self.placed) {
            columns[row as usize] = column;
        }
        for queen in self.given.queens() {
            columns[queen.row as usize] = queen.column;
        }
        Placement::found(columns)
    }

    /// Tries the next column of the row, and returns whether the queen now stands there.
    fn try_next(&mut self, row: u32) -> Step {
        let queen = Queen { row, column: self.next };
        let safe = self.lines.is_free(queen);
        self.tried.squares += 1;
        self.next += 1;
        if safe {
            self.tried.placed += 1;
            self.lines.set(queen, true);
            self.placed.push(queen.column);
            self.next = 0;
            if self.placed.len() == self.open_rows.len() {
                self.stage = Stage::Solved;
            }
        }
        Step::Try { queen, safe }
    }

    /// Takes the last queen back, if any.
    fn take_back(&mut self) -> Option<Step> {
        let Some(column) = self.placed.pop() else {
            self.stage = Stage::Over;
            return None;
        };
        let queen = Queen { row: self.open_rows[self.placed.len()], column };
        self.tried.taken_back += 1;
        self.lines.set(queen, false);
        self.next = column + 1;
        Some(Step::TakeBack(queen))
    }
}

impl Iterator for Backtracking {
    type Item = Step;

    fn next(&mut self) -> Option<Step> {
        match self.stage {
            Stage::Over => None,
            Stage::Solved => {
                // After a solution, the only step is to take its last queen back.
                self.stage = Stage::Searching;
                self.next = self.n;
                Some(Step::Solved)
            }
            Stage::Searching => match self.open_rows.get(self.placed.len()) {
                Some(&row) if self.next < self.n => Some(self.try_next(row)),
                _ => self.take_back(),
            },
        }
    }
}

impl Lines {
    fn new(n: u32) -> Self {
        let n = n as usize;
        Self { columns: vec![false; n], rising: vec![false; 2 * n], falling: vec![false; 2 * n] }
    }

    fn of(&self, queen: Queen) -> [usize; 3] {
        let (row, column) = (queen.row as usize, queen.column as usize);
        [column, column + self.columns.len() - row, column + row]
    }

    fn is_free(&self, queen: Queen) -> bool {
        let [column, rising, falling] = self.of(queen);
        !(self.columns[column] || self.rising[rising] || self.falling[falling])
    }

    fn set(&mut self, queen: Queen, taken: bool) {
        let [column, rising, falling] = self.of(queen);
        self.columns[column] = taken;
        self.rising[rising] = taken;
        self.falling[falling] = taken;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::board::BoardSize;
    use crate::boards::solutions::Solutions;

    static NEVER: AtomicBool = AtomicBool::new(false);

    #[test]
    fn the_first_steps_are_as_on_paper() {
        let at = |row, column| Queen { row, column };
        let tried = |row, column, safe| Step::Try { queen: at(row, column), safe };
        let steps: Vec<Step> = Backtracking::new(4, &Given::default()).expect("no queens").take(12).collect();
        let expected = [
            tried(0, 0, true),
            tried(1, 0, false),
            tried(1, 1, false),
            tried(1, 2, true),
            tried(2, 0, false),
            tried(2, 1, false),
            tried(2, 2, false),
            tried(2, 3, false),
            Step::TakeBack(at(1, 2)),
            tried(1, 3, true),
            tried(2, 0, false),
            tried(2, 1, true),
        ];
        assert_eq!(steps, expected);
    }

    #[test]
    fn the_solutions_are_all_and_in_order() {
        for n in 0..=8_u8 {
            let mut search = Backtracking::new(n.into(), &Given::default()).expect("no queens");
            let mut found = Vec::new();
            while let SearchEnd::Found(placement) = search.solve(&NEVER) {
                found.push(placement);
            }
            let all: Vec<Placement> = Solutions::new(BoardSize::new(n).expect("a board size")).collect();
            assert_eq!(found, all, "n = {n}");
            let tried = search.tried();
            assert_eq!(tried.placed, tried.taken_back, "every queen is taken back in the end");
            assert_eq!(search.next(), None);
        }
    }

    #[test]
    fn a_stopped_search_says_so() {
        let mut search = Backtracking::new(30, &Given::default()).expect("no queens");
        assert_eq!(search.solve(&AtomicBool::new(true)), SearchEnd::Stopped);
    }
}
