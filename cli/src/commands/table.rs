//! `queens table`: compares the methods of counting.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use clap::ValueEnum;
use queens_model::default_method;
use queens_program::{Output, OutputArgs, print, print_some, say};
use queens_solver::classic::Method as Classic;
use queens_solver::{BoardSize, Kernel, Method, fundamental, half_turn, quarter_turn};
use serde_json::{Map, Value, json};

use crate::boards::Boards;
use crate::confirm::confirm_price;
use crate::flags::wrong_usage;
use crate::method::price_here;
use crate::present::file::Target;
use crate::present::plot::{Line, log_plot};
use crate::sampling::count_board;
use crate::time_limit::{time_limit, within};

/// A count repeats for this time and this often, but not beyond the last limit: short measurements are noisy.
const REPEAT_FOR: Duration = Duration::from_millis(20);
const REPEATS: usize = 3;
const REPEAT_AT_MOST: Duration = Duration::from_millis(500);

/// Count by several methods, each on one thread, and compare them
///
/// The table has the seconds of each method. A method that exceeds the time limit is stopped, and skipped for larger
/// boards. In JSON, skipped counts are null.
#[derive(Debug, clap::Args)]
pub(crate) struct TableArgs {
    /// Size of the board, 0 to 32; or a range that includes both ends
    #[arg(value_name = "N|A-B", default_value = "1-10", allow_negative_numbers = true)]
    boards: Boards,

    /// Method to compare; can be repeated or separated by commas [default: all]
    #[arg(long, value_delimiter = ',')]
    method: Vec<CountMethod>,

    /// Seconds after which a method is stopped
    #[arg(long, value_name = "S", default_value = "10", value_parser = time_limit, allow_negative_numbers = true)]
    time_limit: Duration,

    /// Also draw the seconds over n, on a logarithmic axis, into this SVG file ('-' for stdout, instead of the table)
    #[arg(long, value_name = "FILE.svg")]
    plot: Option<PathBuf>,

    /// Don't ask, even if a count takes more than a year of core time
    #[arg(long)]
    yes: bool,

    #[command(flatten)]
    output: OutputArgs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum CountMethod {
    /// All permutations of the columns, checked when complete
    Permutations,
    /// Queen by queen, each checked against the list of those placed
    Backtracking,
    /// The row or column with the fewest available squares next
    Propagation,
    /// All occupied lines in one word, to n = 13
    Bitcode,
    /// Three words shifted along from row to row
    Bitmask,
    /// The method of 'queens count --method search': crosses, and the fastest kernel of this processor
    #[value(alias = "search")]
    Kernel,
    /// The method of 'queens count --method halves', with the fastest kernel of this processor
    Halves,
}

/// The results for one n.
struct Row {
    n: BoardSize,
    /// The solutions by the methods that completed, which agree.
    solutions: Option<u64>,
    fundamental: Option<u128>,
    /// One cell for each method.
    cells: Vec<Cell>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Cell {
    Seconds(f64),
    /// The method exceeded the time limit.
    OutOfTime,
    /// The method was skipped: a smaller board took too long, or this one is too large for it.
    NotCounted,
}

/// Runs the command and returns its exit status.
pub(crate) fn run(args: &TableArgs) -> anyhow::Result<ExitCode> {
    if let Some(path) = &args.plot
        && path.extension().is_none_or(|extension| !extension.eq_ignore_ascii_case("svg"))
        && path.as_os_str() != "-"
    {
        return Err(wrong_usage(format!("a plot is drawn as SVG: '{}' has to end in .svg", path.display())));
    }
    let last = args.boards.last();
    if !confirm_price(price_here(last, default_method(last), Kernel::best()), args.yes)? {
        return Ok(ExitCode::FAILURE);
    }
    let target = args.plot.as_deref().map(Target::new).transpose()?;
    let print_table = !matches!(target, Some(Target::Stdout));
    let mut methods: Vec<CountMethod> = Vec::new();
    for &method in if args.method.is_empty() { CountMethod::value_variants() } else { &args.method } {
        if !methods.contains(&method) {
            methods.push(method);
        }
    }
    let printer = Printer { output: args.output.output, methods: &methods, limit: args.time_limit };
    let mut rows: Vec<Row> = Vec::new();
    // A closed pipe ends the table, but not the plot, which has a reader of its own.
    let mut is_read = !print_table || printer.begin()?;
    for n in args.boards.iter() {
        if !is_read && target.is_none() {
            return Ok(ExitCode::SUCCESS);
        }
        let row = Row::new(n, &methods, rows.last(), args.time_limit)?;
        if row.cells.iter().all(|cell| *cell == Cell::NotCounted) {
            let limit = args.time_limit.as_secs_f64();
            say(&format!("no method is left for n = {n}: --time-limit {limit} is over"));
            break;
        }
        if print_table && is_read {
            is_read = printer.row(&row)?;
        }
        rows.push(row);
    }
    if print_table && is_read {
        printer.end(&rows)?;
    }
    if let Some(target) = target {
        target.write(plot(&methods, &rows).as_bytes())?;
    }
    Ok(ExitCode::SUCCESS)
}

impl Row {
    /// Counts n by each method that completed the board before.
    fn new(
        n: BoardSize,
        methods: &[CountMethod],
        before: Option<&Self>,
        limit: Duration,
    ) -> anyhow::Result<Self> {
        let mut row = Self { n, solutions: None, fundamental: None, cells: Vec::new() };
        let mut counted_by = None;
        for (i, &method) in methods.iter().enumerate() {
            let was_too_slow = before.is_some_and(|before| !matches!(before.cells[i], Cell::Seconds(_)));
            if was_too_slow || !method.can_hold(n) {
                row.cells.push(Cell::NotCounted);
                continue;
            }
            let Some((count, seconds)) = within(limit, |stop| method.count_timed(n, stop)) else {
                row.cells.push(Cell::OutOfTime);
                continue;
            };
            row.cells.push(Cell::Seconds(seconds));
            match (row.solutions, counted_by) {
                (Some(other), Some(by)) if other != count => {
                    let (name, by) = (method.name(), CountMethod::name(by));
                    bail!(
                        "for n = {n} {name} counts {count} solutions, but {by} {other}: one of them is wrong"
                    );
                }
                _ => (row.solutions, counted_by) = (Some(count), Some(method)),
            }
        }
        if let Some(solutions) = row.solutions {
            row.fundamental = Some(up_to_symmetry(n, solutions)?);
        }
        Ok(row)
    }
}

fn up_to_symmetry(n: BoardSize, solutions: u64) -> anyhow::Result<u128> {
    let never = AtomicBool::new(false);
    let symmetric = half_turn(n, &never).zip(quarter_turn(n, &never));
    let (half, quarter) = symmetric.context("the search for symmetric solutions did not end")?;
    let found = fundamental(n, solutions.into(), half, quarter);
    found.with_context(|| format!("for n = {n} the solutions contradict the symmetric solutions"))
}

impl CountMethod {
    fn name(self) -> &'static str {
        match self.classic() {
            Some(classic) => classic.name(),
            None if self == Self::Halves => "halves",
            None => "kernel",
        }
    }

    fn classic(self) -> Option<Classic> {
        match self {
            Self::Permutations => Some(Classic::Permutations),
            Self::Backtracking => Some(Classic::Backtracking),
            Self::Propagation => Some(Classic::Propagation),
            Self::Bitcode => Some(Classic::Bitcode),
            Self::Bitmask => Some(Classic::Bitmask),
            Self::Kernel | Self::Halves => None,
        }
    }

    fn can_hold(self, n: BoardSize) -> bool {
        self.classic().is_none_or(|method| n.get() <= method.max_size())
    }

    /// Returns the solutions and the least seconds of some runs; `None` if `stop` ends even the first.
    fn count_timed(self, n: BoardSize, stop: &AtomicBool) -> Option<(u64, f64)> {
        let began = Instant::now();
        let mut counted = None;
        for n_runs in 1.. {
            let this = Instant::now();
            let Some(count) = self.count(n, stop) else { break };
            let seconds = this.elapsed().as_secs_f64();
            counted = Some((count, counted.map_or(seconds, |(_, least)| seconds.min(least))));
            let elapsed = began.elapsed();
            if n_runs >= REPEATS && elapsed > REPEAT_FOR || elapsed > REPEAT_AT_MOST {
                break;
            }
        }
        counted
    }

    /// Returns the solutions; `None` if `stop` ends the count.
    fn count(self, n: BoardSize, stop: &AtomicBool) -> Option<u64> {
        let method = if self == Self::Halves { Method::Halves } else { Method::Search };
        match self.classic() {
            Some(classic) => classic.count_until(n, &[], stop).ok()?,
            None => u64::try_from(count_board(n, method, Kernel::best(), stop)?).ok(),
        }
    }
}

/// Prints a table row by row. Its functions return whether the reader still reads.
struct Printer<'a> {
    output: Output,
    methods: &'a [CountMethod],
    limit: Duration,
}

impl Printer<'_> {
    fn begin(&self) -> anyhow::Result<bool> {
        let names = self.methods.iter().map(|method| method.name().to_owned());
        self.line(["n", "solutions", "fundamental"].map(str::to_owned).into_iter().chain(names))
    }

    fn row(&self, row: &Row) -> anyhow::Result<bool> {
        let number = |count: Option<u128>| count.map_or_else(|| "-".to_owned(), |count| count.to_string());
        let cells = row.cells.iter().map(|cell| match cell {
            Cell::Seconds(seconds) => significant(*seconds),
            Cell::OutOfTime => format!("> {}", self.limit.as_secs_f64()),
            Cell::NotCounted => "-".to_owned(),
        });
        let first = [row.n.to_string(), number(row.solutions.map(u128::from)), number(row.fundamental)];
        self.line(first.into_iter().chain(cells))
    }

    /// Prints a line of text. JSON has none before the end.
    fn line(&self, mut cells: impl Iterator<Item = String>) -> anyhow::Result<bool> {
        if self.output == Output::Json {
            return Ok(true);
        }
        let n = cells.next().unwrap_or_default();
        let cells: String = cells.map(|cell| format!("  {cell:>12}")).collect();
        print_some(&format!("{n:>2}{cells}"))
    }

    fn end(&self, rows: &[Row]) -> anyhow::Result<()> {
        if self.output != Output::Json {
            return Ok(());
        }
        let rows = rows.iter().map(|row| {
            let cells = self.methods.iter().zip(&row.cells);
            let seconds: Map<String, Value> =
                cells.map(|(method, cell)| (method.name().to_owned(), json!(cell.seconds()))).collect();
            json!({
                "n": row.n.get(),
                "solutions": row.solutions.map(|count| count.to_string()),
                "fundamental": row.fundamental.map(|count| count.to_string()),
                "seconds": seconds,
            })
        });
        print(&rows.collect::<Value>().to_string())
    }
}

impl Cell {
    fn seconds(self) -> Option<f64> {
        match self {
            Self::Seconds(seconds) => Some(seconds),
            Self::OutOfTime | Self::NotCounted => None,
        }
    }
}

/// Formats seconds to three significant digits, and at most nine decimals.
fn significant(seconds: f64) -> String {
    let digits = (0..9).find(|&digits| seconds * 10_f64.powi(digits) >= 100.0).unwrap_or(9);
    format!("{seconds:.*}", usize::try_from(digits).unwrap_or(0))
}

fn plot(methods: &[CountMethod], rows: &[Row]) -> String {
    let line = |(i, method): (usize, &CountMethod)| {
        let points = rows.iter().filter_map(|row| Some((u32::from(row.n.get()), row.cells[i].seconds()?)));
        Line { name: method.name().to_owned(), points: points.collect() }
    };
    let lines: Vec<Line> = methods.iter().enumerate().map(line).collect();
    log_plot(&lines)
}
