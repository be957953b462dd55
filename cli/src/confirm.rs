//! What costs much is asked about first.

use std::io::{self, BufRead, IsTerminal, Read, Write};

use queens_process::say;
use queens_solver::{BoardSize, Kernel, Method};

use crate::boards::Boards;
use crate::present::numbers::TimeUnit;
use crate::usage::WrongUsage;

const YEAR: f64 = 365.25 * 86400.0;

/// The nodes of the boards from n = [`SMALLEST`] on, as `queens estimate` finds them, to some per cent.
const NODES: [f64; 9] = [8.5e14, 8.4e15, 8.9e16, 9.6e17, 1.07e19, 1.25e20, 1.5e21, 1.8e22, 2.4e23];

/// No smaller board takes a year with any kernel.
const SMALLEST: u8 = 24;

/// What halves take of the time of the search on these boards, roughly.
const SHARE_OF_HALVES: f64 = 0.3;

/// Files that are larger are asked about.
const LARGE: usize = 20_000_000;

/// Whether a count may begin: it takes less than a year of core time by this method with this kernel, or somebody says
/// so.
///
/// # Errors
/// If nobody can be asked.
pub(crate) fn confirm_count(
    n: BoardSize,
    method: Method,
    kernel: Kernel,
    yes: bool,
) -> Result<bool, WrongUsage> {
    let seconds = seconds(n, method, kernel);
    if seconds < YEAR {
        return Ok(true);
    }
    confirm(&format!("n = {n} takes some {} with the {kernel} kernel", core_time(seconds)), yes)
}

/// The same of jobs for workers elsewhere, of which nobody knows here what they count with: it is reckoned with the
/// fastest kernel there is.
///
/// # Errors
/// If nobody can be asked.
pub(crate) fn confirm_jobs(boards: Boards, method: Method, yes: bool) -> Result<bool, WrongUsage> {
    what_jobs_take(boards, method).map_or(Ok(true), |takes| confirm(&takes, yes))
}

/// What such jobs take in words, if it is a year of core time or more.
pub(crate) fn what_jobs_take(boards: Boards, method: Method) -> Option<String> {
    const FASTEST: Kernel = Kernel::Avx512;
    let seconds = boards.iter().map(|n| seconds(n, method, FASTEST)).sum();
    let verb = if boards.is_one() { "takes" } else { "take" };
    let takes = || {
        let time = core_time(seconds);
        format!("n = {boards} {verb} some {time} even if all workers have the fastest kernel, {FASTEST}")
    };
    (seconds >= YEAR).then(takes)
}

/// What a board takes of one core, roughly; 0 of one that does not take long.
fn seconds(n: BoardSize, method: Method, kernel: Kernel) -> f64 {
    let nodes = n.get().checked_sub(SMALLEST).and_then(|at| NODES.get(usize::from(at))).copied();
    let share = match method {
        Method::Search => 1.0,
        Method::Halves => SHARE_OF_HALVES,
    };
    share * nodes.unwrap_or(0.0) / f64::from(kernel.typical_speed())
}

/// "5.1 core-years"
fn core_time(seconds: f64) -> String {
    let unit = TimeUnit::of(seconds);
    format!("{} core-{}", unit.rounded(seconds), unit.name)
}

/// Whether a file of about so many bytes may be written: it is not large, or somebody says so.
///
/// # Errors
/// If nobody can be asked.
pub(crate) fn confirm_file(n_bytes: usize, yes: bool) -> Result<bool, WrongUsage> {
    if n_bytes <= LARGE {
        return Ok(true);
    }
    confirm(&format!("the file would have some {} MB", n_bytes / 1_000_000), yes)
}

/// Asks on a terminal; elsewhere it takes `--yes`.
fn confirm(what: &str, yes: bool) -> Result<bool, WrongUsage> {
    if yes {
        return Ok(true);
    }
    if !io::stdin().is_terminal() || !io::stderr().is_terminal() {
        return Err(WrongUsage(format!("{what}; if you mean it, add --yes")));
    }
    _ = write!(io::stderr(), "{what}. Go on? [y/N] ");
    const LONGEST: u64 = 100;
    let mut answer = String::new();
    _ = io::stdin().lock().take(LONGEST).read_line(&mut answer);
    if ["y", "yes"].contains(&answer.trim().to_lowercase().as_str()) {
        return Ok(true);
    }
    say("not done");
    Ok(false)
}
