//! `queens list`: prints all solutions.

use std::io::{self, BufWriter, Write};
use std::time::{Duration, Instant};

use queens_program::write_answer;
use queens_solver::boards::{Notation, Solutions};

use crate::flags::BoardArgs;
use crate::present::notation::FormatArgs;

/// The maximum delay before a solution is printed.
const FLUSH_AFTER: Duration = Duration::from_millis(100);

/// Print all ways to place N queens, in lexicographic order
///
/// Prints each solution when it is found; empty lines separate boards. The vector [1 3 0 2] has the column of the queen
/// of each row, both counted from 0.
#[derive(Debug, clap::Args)]
pub(crate) struct ListArgs {
    #[command(flatten)]
    board: BoardArgs,

    /// Of solutions that are rotations or reflections of each other, print only the first
    #[arg(long)]
    fundamental: bool,

    /// Stop after K solutions [default: all]
    #[arg(long, value_name = "K", allow_negative_numbers = true)]
    limit: Option<u64>,

    #[command(flatten)]
    format: FormatArgs,
}

/// Runs the command.
pub(crate) fn run(args: &ListArgs) -> anyhow::Result<()> {
    let notation = args.format.notation(args.board.n.get().into())?;
    write_answer(|out| write(args, notation, &mut BufWriter::new(out))).map(drop)
}

fn write(args: &ListArgs, notation: Notation, out: &mut impl Write) -> io::Result<()> {
    let mut solutions =
        Solutions::new(args.board.n).filter(|solution| !args.fundamental || solution.is_fundamental());
    let mut left = args.limit.unwrap_or(u64::MAX);
    let mut flushed: Option<Instant> = None;
    let is_json = args.format.is_json();
    if is_json {
        write!(out, "[")?;
    }
    while left > 0
        && let Some(solution) = solutions.next()
    {
        left -= 1;
        let between = match flushed {
            Some(_) if is_json => ",\n",
            Some(_) if notation.is_drawing() => "\n",
            _ => "",
        };
        write!(out, "{between}{}", solution.written(notation))?;
        if !is_json {
            writeln!(out)?;
        }
        if flushed.is_none_or(|at| at.elapsed() > FLUSH_AFTER) {
            out.flush()?;
            flushed = Some(Instant::now());
        }
    }
    if is_json {
        writeln!(out, "]")?;
    }
    out.flush()
}
