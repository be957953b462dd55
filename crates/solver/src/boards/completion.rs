//! Completes given queens by searches that keep the set of available squares.

use std::sync::atomic::{AtomicBool, Ordering};

use super::given::{Given, InvalidGiven};
use super::placement::Placement;
use super::queen::Queen;
use super::search::{SearchEnd, Tried};
use crate::split_mix::SplitMix;

/// Queens that [`complete`] takes back before its first restart.
const FIRST_PATIENCE: u64 = 100;

/// A search that counts the available squares: those that no queen attacks.
///
/// Each queen makes squares unavailable at once. The search fills the row or column with the fewest available squares
/// next. A line without any can never be filled, so the search turns back there, many queens before the conflict
/// (forward checking, Haralick and Elliott 1980; the tightest line first, Bitner and Reingold 1975).
///
/// The state is the number of available squares of each row and column. Placing or taking back a queen costs time in
/// proportion to n, and so does finding the tightest line.
#[derive(Clone, Debug)]
pub struct Completion {
    board: Board,
    /// The lines filled so far, with their positions.
    filled: Vec<Filling>,
    random: Option<SplitMix>,
    tried: Tried,
}

/// A line being filled.
#[derive(Clone, Copy, Debug)]
struct Filling {
    line: Line,
    /// The first square of the line to try, and the number of squares tried from there on.
    first: u32,
    n_looked_at: u32,
    /// The queen that stands in the line now.
    queen: Option<Queen>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Line {
    Row(u32),
    Column(u32),
}

impl Completion {
    /// Starts the search for a solution with these queens on a board of size `n`. A seed breaks ties between lines at
    /// random and starts each line at a random square. Without a seed, both are taken in order.
    ///
    /// # Errors
    /// If a given queen is not on the board.
    pub fn new(n: u32, given: &Given, seed: Option<u64>) -> Result<Self, InvalidGiven> {
        given.check_on_board(n)?;
        let mut board = Board::new(n);
        for &queen in given.queens() {
            board.place(queen);
        }
        let tried = Tried { pruned: board.pruned, ..Tried::default() };
        Ok(Self { board, filled: Vec::new(), random: seed.map(SplitMix::new), tried })
    }

    /// Returns the numbers of squares and queens tried so far.
    #[must_use]
    pub const fn tried(&self) -> Tried {
        Tried { pruned: self.board.pruned, ..self.tried }
    }

    /// Searches to the end.
    pub fn solve(&mut self, stop: &AtomicBool) -> SearchEnd {
        self.search(u64::MAX, stop).unwrap_or(SearchEnd::Stopped)
    }

    /// Searches until `patience` queens have been taken back, and returns `None` then.
    fn search(&mut self, patience: u64, stop: &AtomicBool) -> Option<SearchEnd> {
        loop {
            if stop.load(Ordering::Relaxed) {
                return Some(SearchEnd::Stopped);
            }
            let Some(line) = self.board.tightest_line(self.random.as_mut()) else {
                return Some(SearchEnd::Found(Placement::found(self.board.columns.clone())));
            };
            let first = self.random.as_mut().map_or(0, |random| below(random, self.board.n));
            self.filled.push(Filling { line, first, n_looked_at: 0, queen: None });
            while !self.advance() {
                self.filled.pop();
                if self.filled.is_empty() {
                    return Some(SearchEnd::None);
                }
            }
            if self.tried.taken_back > patience {
                return None;
            }
        }
    }

    /// Moves the queen of the last line to the next available square, or removes it if there is none.
    fn advance(&mut self) -> bool {
        let Some(filling) = self.filled.last_mut() else { return false };
        if let Some(queen) = filling.queen.take() {
            self.board.take_back(queen);
            self.tried.taken_back += 1;
        }
        let n = self.board.n;
        while filling.n_looked_at < n {
            let at = filling.first + filling.n_looked_at;
            let at = if at >= n { at - n } else { at };
            filling.n_looked_at += 1;
            let queen = match filling.line {
                Line::Row(row) => Queen { row, column: at },
                Line::Column(column) => Queen { row: at, column },
            };
            if self.board.is_available(queen) {
                self.board.place(queen);
                filling.queen = Some(queen);
                self.tried.squares += 1;
                self.tried.placed += 1;
                return true;
            }
        }
        false
    }
}

/// Finds a solution with these queens on a board of size `n`, by randomised [`Completion`]s, with their statistics.
///
/// Near the root, no rule can tell which choices are hopeless. So a search that has taken back many queens restarts
/// with other choices, each time with twice the limit (restarts: Gomes, Selman and Kautz 1998). The limit grows without
/// end, so one search completes in the end; if there is no solution, it proves that. This may take too long in
/// practice: the decision is NP-complete (Gent, Jefferson and Nightingale, "Complexity of n-queens completion", 2017).
///
/// # Errors
/// If a given queen is not on the board.
pub fn complete(
    n: u32,
    given: &Given,
    seed: u64,
    stop: &AtomicBool,
) -> Result<(SearchEnd, Tried), InvalidGiven> {
    let mut seeds = SplitMix::new(seed);
    let mut patience = FIRST_PATIENCE;
    let mut total = Tried::default();
    loop {
        let mut search = Completion::new(n, given, Some(seeds.next()))?;
        let outcome = search.search(patience, stop);
        let tried = search.tried();
        total.squares += tried.squares;
        total.placed += tried.placed;
        total.taken_back += tried.taken_back;
        total.pruned += tried.pruned;
        if let Some(outcome) = outcome {
            return Ok((outcome, total));
        }
        patience = patience.saturating_mul(2);
    }
}

/// Returns a random number below `n`.
fn below(random: &mut SplitMix, n: u32) -> u32 {
    u32::try_from(random.below(n as usize)).unwrap_or(0)
}

/// The queens placed, and the squares they leave available.
#[derive(Clone, Debug)]
struct Board {
    n: u32,
    /// The column of the queen of each row that has one.
    columns: Vec<u32>,
    row_filled: Vec<bool>,
    column_filled: Vec<bool>,
    rising_filled: Vec<bool>,
    falling_filled: Vec<bool>,
    /// The number of available squares of each row and column without a queen.
    in_row: Vec<u32>,
    in_column: Vec<u32>,
    /// Squares made unavailable so far; taking queens back does not reduce it.
    pruned: u64,
}

impl Board {
    fn new(n: u32) -> Self {
        let len = n as usize;
        Self {
            n,
            columns: vec![0; len],
            row_filled: vec![false; len],
            column_filled: vec![false; len],
            rising_filled: vec![false; 2 * len],
            falling_filled: vec![false; 2 * len],
            in_row: vec![n; len],
            in_column: vec![n; len],
            pruned: 0,
        }
    }

    fn rising(&self, queen: Queen) -> usize {
        (queen.column + self.n - queen.row) as usize
    }

    fn is_available(&self, queen: Queen) -> bool {
        !(self.row_filled[queen.row as usize]
            || self.column_filled[queen.column as usize]
            || self.rising_filled[self.rising(queen)]
            || self.falling_filled[(queen.column + queen.row) as usize])
    }

    fn place(&mut self, queen: Queen) {
        self.columns[queen.row as usize] = queen.column;
        // Each line takes the squares that are available until then; the row also takes the queen's own.
        self.pruned += u64::from(self.take_squares(row(queen, self.n))) - 1;
        self.row_filled[queen.row as usize] = true;
        self.pruned += u64::from(self.take_squares(column(queen, self.n)));
        self.column_filled[queen.column as usize] = true;
        self.pruned += u64::from(self.take_squares(rising(queen, self.n)));
        let line = self.rising(queen);
        self.rising_filled[line] = true;
        self.pruned += u64::from(self.take_squares(falling(queen, self.n)));
        self.falling_filled[(queen.column + queen.row) as usize] = true;
    }

    /// Reverts [`Board::place`] for the queen placed last.
    fn take_back(&mut self, queen: Queen) {
        self.falling_filled[(queen.column + queen.row) as usize] = false;
        self.give_squares(falling(queen, self.n));
        let line = self.rising(queen);
        self.rising_filled[line] = false;
        self.give_squares(rising(queen, self.n));
        self.column_filled[queen.column as usize] = false;
        self.give_squares(column(queen, self.n));
        self.row_filled[queen.row as usize] = false;
        self.give_squares(row(queen, self.n));
    }

    fn take_squares(&mut self, squares: impl Iterator<Item = Queen>) -> u32 {
        let mut n_taken = 0;
        for square in squares {
            if self.is_available(square) {
                self.in_row[square.row as usize] -= 1;
                self.in_column[square.column as usize] -= 1;
                n_taken += 1;
            }
        }
        n_taken
    }

    fn give_squares(&mut self, squares: impl Iterator<Item = Queen>) {
        for square in squares {
            if self.is_available(square) {
                self.in_row[square.row as usize] += 1;
                self.in_column[square.column as usize] += 1;
            }
        }
    }

    /// Returns the row or column without a queen that has the fewest available squares, `None` if all have queens. Ties
    /// go to the first, rows before columns, or to a random one.
    fn tightest_line(&self, random: Option<&mut SplitMix>) -> Option<Line> {
        let first = random.map_or(0, |random| below(random, self.n));
        let mut tightest = None;
        let mut fewest = u32::MAX;
        for i in (first..self.n).chain(0..first) {
            if !self.row_filled[i as usize] && self.in_row[i as usize] < fewest {
                (tightest, fewest) = (Some(Line::Row(i)), self.in_row[i as usize]);
            }
            if !self.column_filled[i as usize] && self.in_column[i as usize] < fewest {
                (tightest, fewest) = (Some(Line::Column(i)), self.in_column[i as usize]);
            }
        }
        tightest
    }
}

fn row(queen: Queen, n: u32) -> impl Iterator<Item = Queen> {
    (0..n).map(move |column| Queen { column, ..queen })
}

fn column(queen: Queen, n: u32) -> impl Iterator<Item = Queen> {
    (0..n).map(move |row| Queen { row, ..queen })
}

fn rising(queen: Queen, n: u32) -> impl Iterator<Item = Queen> {
    let before = queen.row.min(queen.column);
    let after = n - queen.row.max(queen.column);
    let first = Queen { row: queen.row - before, column: queen.column - before };
    (0..before + after).map(move |i| Queen { row: first.row + i, column: first.column + i })
}

fn falling(queen: Queen, n: u32) -> impl Iterator<Item = Queen> {
    let before = queen.row.min(n - 1 - queen.column);
    let after = (n - queen.row).min(queen.column + 1);
    let first = Queen { row: queen.row - before, column: queen.column + before };
    (0..before + after).map(move |i| Queen { row: first.row + i, column: first.column - i })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::board::BoardSize;
    use crate::boards::backtracking::Backtracking;
    use crate::boards::naive::Naive;
    use crate::boards::solutions::Solutions;

    static NEVER: AtomicBool = AtomicBool::new(false);

    fn given(text: &str) -> Given {
        text.parse().expect("tests give peaceful queens")
    }

    /// All searches find a solution with these queens, or all prove that there is none.
    #[track_caller]
    fn check_agreement(n: u32, given: &Given) {
        let size = BoardSize::try_from(n).expect("tests name board sizes");
        let contains = |placement: &Placement| {
            given.queens().iter().all(|queen| placement.columns()[queen.row as usize] == queen.column)
        };
        let exists = Solutions::new(size).any(|solution| contains(&solution));
        let check = |name: &str, outcome: &SearchEnd| match outcome {
            SearchEnd::Found(placement) => assert!(exists && contains(placement), "{name}: n = {n}, {given}"),
            outcome => {
                assert!(!exists && *outcome == SearchEnd::None, "{name}: n = {n}, {given}: {outcome:?}");
            }
        };
        for seed in [None, Some(1)] {
            let mut search = Completion::new(n, given, seed).expect("on the board");
            check("propagation", &search.solve(&NEVER));
            let tried = search.tried();
            assert_eq!((tried.squares, tried.placed >= tried.taken_back), (tried.placed, true));
        }
        check("restarts", &complete(n, given, 7, &NEVER).expect("on the board").0);
        check("naive", &Naive::new(n).solve(given, &NEVER).expect("on the board"));
        check("backtracking", &Backtracking::new(n, given).expect("on the board").solve(&NEVER));
    }

    #[test]
    fn searches_agree_on_the_smallest_boards() {
        for n in 0..=7 {
            check_agreement(n, &Given::default());
            for row in 0..n {
                for column in 0..n {
                    check_agreement(n, &Given::new(vec![Queen { row, column }]).expect("one queen"));
                }
            }
        }
    }

    proptest! {
        #[test]
        fn searches_agree_on_random_given_queens(
            n in 4..=9_u32,
            squares in prop::collection::vec((0..9_u32, 0..9_u32), 0..4),
        ) {
            let mut queens: Vec<Queen> = Vec::new();
            for (row, column) in squares {
                let queen = Queen { row: row % n, column: column % n };
                if queens.iter().all(|other| !other.attacks(queen)) {
                    queens.push(queen);
                }
            }
            check_agreement(n, &Given::new(queens).expect("peaceful"));
        }

        /// The counts of available squares agree with a look at every square. Taking a queen back restores them.
        #[test]
        fn the_account_of_available_squares_is_right(
            n in 1..=12_u32,
            squares in prop::collection::vec((0..12_u32, 0..12_u32), 0..8),
        ) {
            let mut board = Board::new(n);
            let mut placed = Vec::new();
            for (row, column) in squares {
                let queen = Queen { row: row % n, column: column % n };
                if board.is_available(queen) {
                    board.place(queen);
                    placed.push(queen);
                }
                check_account(&board, &placed);
            }
            let n_available: u64 = (0..n).map(|row| available(&board, row)).sum();
            let n_pruned = u64::from(n * n) - placed.len() as u64 - n_available;
            prop_assert_eq!(board.pruned, n_pruned);
            while let Some(queen) = placed.pop() {
                board.take_back(queen);
                check_account(&board, &placed);
            }
        }
    }

    fn available(board: &Board, row: u32) -> u64 {
        (0..board.n).filter(|&column| board.is_available(Queen { row, column })).count() as u64
    }

    fn check_account(board: &Board, placed: &[Queen]) {
        for i in 0..board.n {
            let free = |queen: Queen| placed.iter().all(|other| !other.attacks(queen));
            let in_row = (0..board.n).filter(|&column| free(Queen { row: i, column })).count();
            let in_column = (0..board.n).filter(|&row| free(Queen { row, column: i })).count();
            assert!(board.row_filled[i as usize] || board.in_row[i as usize] as usize == in_row);
            assert!(board.column_filled[i as usize] || board.in_column[i as usize] as usize == in_column);
        }
    }

    #[test]
    fn a_queen_in_the_corner_leaves_none_for_six() {
        let mut search = Completion::new(6, &given("0:0"), None).expect("on the board");
        assert_eq!(search.solve(&NEVER), SearchEnd::None);
    }

    #[test]
    fn large_boards_are_completed() {
        for (n, text) in [(100, "0:0,50:51"), (500, "3:4,4:6,5:8,499:0"), (2000, "")] {
            for seed in 0..3 {
                let (outcome, _) = complete(n, &given(text), seed, &NEVER).expect("on the board");
                let SearchEnd::Found(placement) = outcome else { panic!("{outcome:?}") };
                for queen in given(text).queens() {
                    assert_eq!(placement.columns()[queen.row as usize], queen.column);
                }
            }
        }
    }

    #[test]
    fn queens_off_the_board_are_refused() {
        let off = given("0:1,8:3");
        let message =
            "the given queen 8:3 (row:column, from 0) is not on the board: both must be below n = 8";
        let error = Completion::new(8, &off, None).err().map(|error| error.to_string());
        assert_eq!(error.as_deref(), Some(message));
        assert!(Backtracking::new(8, &off).is_err());
        assert!(Naive::new(8).solve(&off, &NEVER).is_err());
        assert!(complete(8, &off, 0, &NEVER).is_err());
    }

    #[test]
    fn a_stopped_search_says_so() {
        let found = complete(8, &Given::default(), 0, &AtomicBool::new(true)).map(|(outcome, _)| outcome);
        assert_eq!(found, Ok(SearchEnd::Stopped));
    }
}
