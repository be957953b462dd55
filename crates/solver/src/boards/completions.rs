//! Counts the solutions that contain given queens.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, Ordering};

use thiserror::Error;

use super::given::{Given, InvalidGiven};
use crate::board::{BoardSize, Square};
use crate::kernel::Kernel;
use crate::parallel::{ThreadError, parallel};
use crate::subproblems::Subproblems;

/// The least number of subproblems: enough to keep many threads busy to the end.
const SUBPROBLEMS: u64 = 20_000;

/// Rows below the subproblems, which the kernel fills.
const LAST_ROWS: usize = 6;

/// Runs of subproblems for each thread.
const RUNS_PER_THREAD: u64 = 64;

/// The number of solutions that contain given queens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Completions {
    /// The solutions.
    pub solutions: u128,
    /// The queens that the search placed below the given ones and the rows of the subproblems.
    pub nodes: u128,
}

/// The reason why completions can't be counted.
#[derive(Debug, Error)]
pub enum CompletionsError {
    /// A given queen is not on the board.
    #[error(transparent)]
    Given(#[from] InvalidGiven),
    /// A thread can't be started.
    #[error(transparent)]
    Thread(#[from] ThreadError),
}

/// Counts the solutions of boards of size `n` that contain the given queens. `None` if `stop` was set before the end.
///
/// The given queens take the place of a job's cross: the squares that they attack are missing from the allowed squares
/// of the other rows, and a kernel counts the ways to fill those.
///
/// # Errors
/// If a given queen is not on the board, or a thread can't be started.
pub fn completions(
    n: BoardSize,
    given: &Given,
    kernel: Kernel,
    n_threads: NonZeroUsize,
    stop: &AtomicBool,
) -> Result<Option<Completions>, CompletionsError> {
    let queens = given.squares(n)?;
    let subproblems = cut(n, &queens);
    let n_subproblems = subproblems.n_subproblems();
    let n_runs = (n_threads.get() as u64 * RUNS_PER_THREAD).min(n_subproblems).max(1);
    let run_len = n_subproblems.div_ceil(n_runs).max(1);
    let n_runs = usize::try_from(n_subproblems.div_ceil(run_len)).unwrap_or(usize::MAX);
    let go_on = |_| !stop.load(Ordering::Relaxed);
    let counts = parallel(n_threads, n_runs, go_on, |run| {
        let from = run as u64 * run_len;
        subproblems.clone().count(from..from.saturating_add(run_len), kernel, stop)
    })?;
    let mut total = Completions::default();
    for count in &counts {
        let Some(count) = count else { return Ok(None) };
        total.solutions += u128::from(count.solutions);
        total.nodes += u128::from(count.work);
    }
    Ok((counts.len() == n_runs).then_some(total))
}

/// Returns the subproblems of the least depth that has enough of them. The kernel fills the last rows.
fn cut(n: BoardSize, queens: &[Square]) -> Subproblems {
    let n_rows = usize::from(n.get()).saturating_sub(queens.len());
    let deepest = u8::try_from(n_rows.saturating_sub(LAST_ROWS)).unwrap_or(0);
    let enough = (0..deepest).find_map(|depth| {
        let subproblems = Subproblems::below(n, queens, depth);
        (subproblems.n_subproblems() >= SUBPROBLEMS).then_some(subproblems)
    });
    enough.unwrap_or_else(|| Subproblems::below(n, queens, deepest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::classic::Method;
    use crate::published::published;

    static NEVER: AtomicBool = AtomicBool::new(false);

    #[track_caller]
    fn check(n: BoardSize, given: &str, expected: u128) {
        let given: Given = given.parse().expect("tests give peaceful queens");
        for kernel in Kernel::ALL.into_iter().filter(|kernel| kernel.is_available()) {
            for n_threads in [1, 3].map(|n| NonZeroUsize::new(n).expect("positive")) {
                let found = completions(n, &given, kernel, n_threads, &NEVER).expect("on the board");
                assert_eq!(found.map(|found| found.solutions), Some(expected), "n = {n}, {given}, {kernel}");
            }
        }
    }

    #[test]
    fn with_no_queen_given_all_solutions_are_counted() {
        for n in BoardSize::range(0, 13) {
            check(n, "", published(n).expect("n is small").solutions);
        }
    }

    /// Any row above the last given one may be missing, so steps between free rows may be long.
    #[test]
    fn given_queens_leave_what_the_textbook_counts() {
        for (n, given) in [
            (1, "0:0"),
            (4, "0:1"),
            (4, "0:0"),
            (8, "0:0"),
            (8, "3:4"),
            (10, "2:3,5:8"),
            (12, "0:0,11:5"),
            (16, "0:3,1:7,2:0,3:8"),
            (16, "4:3,5:7,6:0,7:8,8:1"),
            (20, "8:0,9:2,10:4,11:1,12:3,13:8,14:10,15:12"),
            (
                32,
                "4:9,5:11,6:13,7:15,8:17,9:19,10:21,11:23,12:25,13:27,14:29,15:31,16:2,17:0,18:6,19:8,20:10,21:12",
            ),
        ] {
            let n = BoardSize::new(n).expect("tests name board sizes");
            let squares = given.parse::<Given>().and_then(|given| given.squares(n)).expect("peaceful");
            check(n, given, Method::Bitmask.count(n, &squares).expect("on the board").into());
        }
    }

    #[test]
    fn a_stopped_count_says_so() {
        let n = BoardSize::new(20).expect("a board size");
        let stop = AtomicBool::new(true);
        let found = completions(n, &Given::default(), Kernel::best(), NonZeroUsize::MIN, &stop);
        assert!(matches!(found, Ok(None)), "{found:?}");
    }
}
