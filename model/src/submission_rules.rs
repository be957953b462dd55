//! Rules for submitted jobs, by every interface: the default recount, and the cost above which a job must be confirmed.

use queens_solver::{BoardSize, Kernel, Method};

use crate::rounded::{TimeUnit, YEAR};
use crate::terms::Share;

/// From this n on, the default is to recount one per cent of the work.
const RECOUNTED_FROM: u8 = 20;

/// The nodes of the boards from n = [`SMALLEST`] on, as `queens estimate` finds them, to some per cent.
const NODES: [f64; 9] = [8.5e14, 8.4e15, 8.9e16, 9.6e17, 1.07e19, 1.25e20, 1.5e21, 1.8e22, 2.4e23];

/// No smaller board takes a year with any kernel.
const SMALLEST: u8 = 24;

/// The time of halves on these boards, relative to the search, roughly.
const SHARE_OF_HALVES: f64 = 0.3;

/// The fastest kernel, since the kernels of remote workers are not known.
const FASTEST: Kernel = Kernel::Avx512;

/// Returns the default share of a job's work to recount, with this number of connected parties.
///
/// A single party can't recount, and the job would never be done; if none is connected yet, several may come. A
/// submission that [names](crate::Submission::recount_by) the recounting party always has a recount.
#[must_use]
pub const fn default_recount(n: BoardSize, n_parties: usize, is_named: bool) -> Share {
    let is_usual = n.get() >= RECOUNTED_FROM && n_parties != 1;
    if is_usual || is_named { Share::PERCENT } else { Share::NOTHING }
}

/// Estimates the seconds that one core needs for a board with a kernel, roughly; 0 for boards that do not take long.
#[must_use]
pub fn core_seconds(n: BoardSize, method: Method, kernel: Kernel) -> f64 {
    let work = n.get().checked_sub(SMALLEST).and_then(|at| NODES.get(usize::from(at))).copied();
    let share = match method {
        Method::Search => 1.0,
        Method::Halves => SHARE_OF_HALVES,
    };
    share * work.unwrap_or(0.0) / f64::from(kernel.typical_speed())
}

/// Formats a cost that must be confirmed, such as "5.1 core-years"; `None` if it is less than a year.
#[must_use]
pub fn price(core_seconds: f64) -> Option<String> {
    let unit = TimeUnit::of(core_seconds);
    (core_seconds >= YEAR).then(|| format!("{} core-{}", unit.rounded(core_seconds), unit.name))
}

/// Describes the total cost of jobs, if it must be confirmed; `boards` names them in the text.
#[must_use]
pub fn price_of_jobs(
    all: impl IntoIterator<Item = BoardSize>,
    boards: &str,
    method: Method,
) -> Option<String> {
    let (mut n_boards, mut seconds) = (0, 0.0);
    for n in all {
        n_boards += 1;
        seconds += core_seconds(n, method, FASTEST);
    }
    let verb = if n_boards == 1 { "takes" } else { "take" };
    let takes = |time| {
        format!("n = {boards} {verb} some {time} even if all workers have the fastest kernel, {FASTEST}")
    };
    price(seconds).map(takes)
}

/// Describes the cost of one job, if it must be confirmed.
#[must_use]
pub fn price_of_job(n: BoardSize, method: Method) -> Option<String> {
    price_of_jobs([n], &n.to_string(), method)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn size(n: u8) -> BoardSize {
        BoardSize::new(n).expect("a board size")
    }

    #[test]
    fn a_per_cent_is_counted_again_where_somebody_else_can_do_it() {
        for (n, n_parties, expected) in [
            (19, 0, Share::NOTHING),
            (19, 5, Share::NOTHING),
            (20, 0, Share::PERCENT),
            (20, 1, Share::NOTHING),
            (20, 2, Share::PERCENT),
            (32, 1000, Share::PERCENT),
        ] {
            assert_eq!(default_recount(size(n), n_parties, false), expected, "n = {n}, {n_parties} parties");
            // A named party must get something to recount.
            assert_eq!(
                default_recount(size(n), n_parties, true),
                Share::PERCENT,
                "n = {n}, {n_parties} parties"
            );
        }
    }

    #[test]
    fn what_takes_a_year_of_core_time_has_a_price() {
        for (n, method, expected) in [
            (0, Method::Search, None),
            (26, Method::Search, Some("n = 26 takes some 2.8 core-years even if")),
            (26, Method::Halves, None),
            (28, Method::Search, Some("n = 28 takes some 340 core-years even if")),
            (32, Method::Halves, Some("n = 32 takes some 2,300,000 core-years even if")),
        ] {
            let price = price_of_job(size(n), method);
            let is_so =
                price.as_deref().map(|price| expected.is_some_and(|expected| price.starts_with(expected)));
            assert_eq!(is_so, expected.map(|_| true), "n = {n} by {method}: {price:?}");
        }
        let both = price_of_jobs([size(26), size(27)], "26..27", Method::Search);
        assert!(both.is_some_and(|both| both.starts_with("n = 26..27 take some 33 core-years")));
    }
}
