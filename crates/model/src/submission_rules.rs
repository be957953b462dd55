//! Rules for submitted jobs, by every interface: default method and recount, and the cost above which a job must be
//! confirmed.

use std::ops::RangeInclusive;

use queens_solver::{BoardSize, Kernel, Method};

use crate::numbers::{YEAR, rough_time};
use crate::terms::Share;

/// From this n on, the default is to recount one per cent of the work.
const RECOUNTED_FROM: u8 = 20;

/// The boards for which halves are the default: they are faster there with any kernel. For n = 29 and above, nobody has
/// measured it.
const BY_HALVES: RangeInclusive<u8> = 22..=28;

/// Core-seconds by search and by halves with AVX-512, for the boards from n = [`SMALLEST`] on. Up to n = 28 they are
/// those of an Intel Xeon (Sapphire Rapids, 2.6 GHz), estimated from samples: `docs/HALVES.md` has the measurement. For
/// larger boards, the search grows with its nodes, and halves take 0.22 of its time.
const CORE_SECONDS: [(f64, f64); 9] = [
    (6.2e5, 1.8e5),
    (6.0e6, 1.4e6),
    (6.8e7, 1.6e7),
    (6.9e8, 1.6e8),
    (8.0e9, 1.73e9),
    (9.3e10, 2.1e10),
    (1.1e12, 2.5e11),
    (1.3e13, 3.0e12),
    (1.8e14, 3.9e13),
];

/// No smaller board takes a year with any kernel.
const SMALLEST: u8 = 24;

/// The fastest kernel, since the kernels of remote workers are not known.
const FASTEST: Kernel = Kernel::Avx512;

/// Returns the method that should be faster for a board, whatever the kernels of its workers.
#[must_use]
pub fn default_method(n: BoardSize) -> Method {
    if BY_HALVES.contains(&n.get()) { Method::Halves } else { Method::Search }
}

/// Returns the default share of a job's work to recount. It is a property of the job, whoever is connected: the recounts
/// wait for a second party. A submission that [names](crate::Submission::recount_by) the recounting party always has
/// one.
#[must_use]
pub const fn default_recount(n: BoardSize, is_named: bool) -> Share {
    if n.get() >= RECOUNTED_FROM || is_named { Share::PERCENT } else { Share::NOTHING }
}

/// Estimates the seconds that one core needs for a board with a kernel, roughly; 0 for boards that do not take long.
#[must_use]
pub fn core_seconds(n: BoardSize, method: Method, kernel: Kernel) -> f64 {
    let at = n.get().checked_sub(SMALLEST).map(usize::from);
    let (search, halves) = at.and_then(|at| CORE_SECONDS.get(at)).copied().unwrap_or_default();
    let seconds = match method {
        Method::Search => search,
        Method::Halves => halves,
    };
    seconds * f64::from(method.typical_speed(FASTEST)) / f64::from(method.typical_speed(kernel))
}

/// Formats a cost that must be confirmed, such as "5.1 core-years"; `None` if it is less than a year.
#[must_use]
pub fn price(core_seconds: f64) -> Option<String> {
    (core_seconds >= YEAR).then(|| rough_time(core_seconds, "core-"))
}

/// Describes the total cost of jobs, if it must be confirmed. `boards` names their boards in the text.
#[must_use]
pub fn price_of_jobs(jobs: &[(BoardSize, Method)], boards: &str) -> Option<String> {
    let price = price(jobs.iter().map(|&(n, method)| core_seconds(n, method, FASTEST)).sum())?;
    let is_used = |method: &Method| jobs.iter().any(|(_, used)| used == method);
    let methods: Vec<&str> =
        Method::ALL.iter().filter(|method| is_used(method)).map(|it| it.name()).collect();
    let (verb, methods) = (if jobs.len() == 1 { "takes" } else { "take" }, methods.join(" and "));
    Some(format!(
        "n = {boards} {verb} some {price} by {methods} even if all workers have the fastest kernel, {FASTEST}"
    ))
}

/// Describes the cost of one job, if it must be confirmed.
#[must_use]
pub fn price_of_job(n: BoardSize, method: Method) -> Option<String> {
    price_of_jobs(&[(n, method)], &n.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn size(n: u8) -> BoardSize {
        BoardSize::new(n).expect("a board size")
    }

    #[test]
    fn a_per_cent_of_a_large_board_is_recounted() {
        for (n, expected) in [(19, Share::NOTHING), (20, Share::PERCENT), (32, Share::PERCENT)] {
            assert_eq!(default_recount(size(n), false), expected, "n = {n}");
            // A named party must get something to recount.
            assert_eq!(default_recount(size(n), true), Share::PERCENT, "n = {n}");
        }
    }

    #[test]
    fn what_takes_a_year_of_core_time_has_a_price() {
        for (n, method, expected) in [
            (0, Method::Search, None),
            (26, Method::Search, Some("n = 26 takes some 2.2 core-years by search even if")),
            (26, Method::Halves, None),
            (28, Method::Search, Some("n = 28 takes some 250 core-years by search even if")),
            (28, Method::Halves, Some("n = 28 takes some 55 core-years by halves even if")),
            (32, Method::Halves, Some("n = 32 takes some 1,200,000 core-years by halves even if")),
        ] {
            let price = price_of_job(size(n), method);
            let is_so =
                price.as_deref().map(|price| expected.is_some_and(|expected| price.starts_with(expected)));
            assert_eq!(is_so, expected.map(|_| true), "n = {n} by {method}: {price:?}");
        }
        let both = price_of_jobs(&[26, 27].map(|n| (size(n), Method::Search)), "26 to 27");
        assert!(
            both.is_some_and(|it| it.starts_with("n = 26 to 27 take some 24 core-years by search even if"))
        );
        let mixed = price_of_jobs(&[28, 29].map(|n| (size(n), default_method(size(n)))), "28 to 29");
        let expected = "n = 28 to 29 take some 3,000 core-years by search and halves even if";
        assert!(mixed.as_ref().is_some_and(|it| it.starts_with(expected)), "{mixed:?}");
        assert_eq!(price_of_jobs(&[(size(25), Method::Search)], "25"), None);
    }
}
