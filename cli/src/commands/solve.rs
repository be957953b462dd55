//! `queens solve`: finds one solution.

use std::process::ExitCode;
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use std::{collections::hash_map::RandomState, hash::BuildHasher};

use clap::ValueEnum;
use queens_program::{print_styled, say};
use queens_solver::boards::{
    Backtracking, Completion, Given, InvalidGiven, Naive, Placement, SearchEnd, Tried, complete,
    construction, local_search,
};

use crate::flags::wrong_usage;
use crate::present::notation::FormatArgs;
use crate::present::progress::Spinner;
use crate::time_limit::{time_limit, within};

/// The largest board for a search. The construction has no such limit.
const MOST_SEARCHED: u32 = 10_000;

/// Print one way to place N queens so that none attacks another
///
/// Without --random or --given, a construction finds it in linear time. The vector [1 3 0 2] has the column of the
/// queen of each row, both counted from 0. Exit status: 0 found, 1 no solution or out of time, 2 wrong usage.
#[derive(Debug, clap::Args)]
pub(crate) struct SolveArgs {
    /// Size of the board, 0 to 10000000; to 10000 for a search
    #[arg(value_name = "N", value_parser = size, allow_negative_numbers = true)]
    n: u32,

    /// Search for a random solution
    #[arg(long)]
    random: bool,

    /// Seed of the random numbers: the same seed finds the same solution [default: for --random a new one, which is
    /// printed; for --given 0]
    #[arg(long, value_name = "SEED", allow_negative_numbers = true, conflicts_with = "method")]
    seed: Option<u64>,

    /// Search for a solution with queens on these squares, each row:column counted from 0, such as "0:1,3:2"
    #[arg(long, value_name = "R:C,…", allow_hyphen_values = true)]
    given: Option<Given>,

    /// How to find it; the searches report their steps on stderr
    #[arg(long, conflicts_with = "random")]
    method: Option<SearchMethod>,

    /// Seconds after which a search gives up
    #[arg(long, value_name = "S", default_value = "60", value_parser = time_limit, allow_negative_numbers = true)]
    time_limit: Duration,

    #[command(flatten)]
    format: FormatArgs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum SearchMethod {
    /// Known solutions, in linear time
    Construction,
    /// Any square for each queen
    Naive,
    /// The row or column with the fewest available squares next
    Propagation,
    /// Row by row, the columns from the left
    Backtracking,
}

fn size(text: &str) -> Result<u32, String> {
    let size = text.parse().ok().filter(|size| *size <= Placement::MAX_SIZE);
    size.ok_or_else(|| format!("expected a whole number from 0 to {}", Placement::MAX_SIZE))
}

/// Runs the command and returns its exit status.
pub(crate) fn run(args: &SolveArgs) -> anyhow::Result<ExitCode> {
    let n = args.n;
    let searches =
        args.random || args.given.is_some() || args.method.is_some_and(|m| m != SearchMethod::Construction);
    if searches && n > MOST_SEARCHED {
        return Err(wrong_usage(format!(
            "a search is for boards up to {MOST_SEARCHED}, not {n}: without --random, --given and --method there is a \
             construction"
        )));
    }
    if args.given.is_some() && args.method == Some(SearchMethod::Construction) {
        return Err(wrong_usage("a construction can't hold given queens: take another --method"));
    }
    if args.seed.is_some() && !args.random && args.given.is_none() {
        return Err(wrong_usage("--seed is for --random or --given: nothing else is left to chance"));
    }
    let notation = args.format.notation(n)?;
    let found = within(args.time_limit, |stop| find(args, stop));
    match found {
        Err(invalid) => Err(wrong_usage(invalid.to_string())),
        Ok(SearchEnd::Found(placement)) => {
            let written = placement.written(notation).to_string();
            let is_json = args.format.is_json();
            print_styled(&if is_json { format!(r#"{{"n":{n},"columns":{written}}}"#) } else { written })?;
            Ok(ExitCode::SUCCESS)
        }
        Ok(outcome) => {
            let seconds = args.time_limit.as_secs_f64();
            let none = outcome == SearchEnd::None;
            let what = match &args.given {
                Some(given) if none => format!("no solution for n = {n} has queens on {given}"),
                _ if none => format!("there is no solution for n = {n}"),
                _ => format!(
                    "time ran out: no solution for n = {n} found in {seconds} s, but there may be one"
                ),
            };
            say(&what);
            Ok(ExitCode::FAILURE)
        }
    }
}

fn find(args: &SolveArgs, stop: &AtomicBool) -> Result<SearchEnd, InvalidGiven> {
    let n = args.n;
    let none = Given::default();
    let given = args.given.as_ref().unwrap_or(&none);
    let (name, (outcome, tried)) = match args.method {
        None if args.random => return at_random(args, stop),
        None if args.given.is_some() => {
            let _busy = searching();
            return Ok(complete(n, given, args.seed.unwrap_or(0), stop)?.0);
        }
        None | Some(SearchMethod::Construction) => {
            return Ok(construction(n).map_or(SearchEnd::None, SearchEnd::Found));
        }
        Some(SearchMethod::Naive) => {
            let _busy = searching();
            let mut search = Naive::new(n);
            ("naive", (search.solve(given, stop)?, search.tried()))
        }
        Some(SearchMethod::Propagation) => {
            let _busy = searching();
            let mut search = Completion::new(n, given, None)?;
            ("propagation", (search.solve(stop), search.tried()))
        }
        Some(SearchMethod::Backtracking) => {
            let _busy = searching();
            let mut search = Backtracking::new(n, given)?;
            ("backtracking", (search.solve(stop), search.tried()))
        }
    };
    tell(name, tried);
    Ok(outcome)
}

fn at_random(args: &SolveArgs, stop: &AtomicBool) -> Result<SearchEnd, InvalidGiven> {
    let seed = args.seed.unwrap_or_else(|| {
        let seed = RandomState::new().hash_one(0) >> 32;
        say(&format!("--seed {seed}"));
        seed
    });
    let _busy = searching();
    match &args.given {
        Some(given) => Ok(complete(args.n, given, seed, stop)?.0),
        None => Ok(local_search(args.n, seed, stop)),
    }
}

fn searching() -> Spinner {
    Spinner::new("searching", None)
}

fn tell(name: &str, tried: Tried) {
    let Tried { squares, placed, taken_back, pruned } = tried;
    let pruned = if pruned > 0 { format!(", {pruned} squares pruned") } else { String::new() };
    say(&format!("{name}: {squares} squares tried, {placed} queens placed, {taken_back} taken back{pruned}"));
}
