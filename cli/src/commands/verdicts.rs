//! `queens verdicts`: shows the verdicts on spans with different counts.

use std::process::ExitCode;

use queens_model::json::Verdict;
use queens_model::{VerdictStatus, date};
use queens_program::print;

use crate::flags::JobArgs;
use crate::present::output::{Output, json_of};
use crate::present::table::{Column, Table};

/// The maximum number of verdicts shown; programs may request more, page by page.
const MOST: usize = 10_000;

/// The number of verdicts in a page, except the last.
const PAGE: usize = 1000;

/// Runs the command and returns its exit status.
pub(crate) async fn run(args: &JobArgs) -> anyhow::Result<ExitCode> {
    let operator = args.remote.connect().await?;
    let mut verdicts: Vec<VerdictStatus> = Vec::new();
    while verdicts.len() < MOST {
        let more = operator.verdicts(args.job, verdicts.len() as u64).await?;
        let is_last = more.len() < PAGE;
        verdicts.extend(more);
        if is_last {
            break;
        }
    }
    match args.remote.output() {
        Output::Json => print(&json_of(&verdicts.iter().map(Verdict::from).collect::<Vec<_>>())?)?,
        Output::Text if verdicts.is_empty() => {
            print(&format!("no dispute about job {} has been decided", args.job))?;
        }
        Output::Text => verdicts_table(&verdicts).print()?,
    }
    Ok(ExitCode::SUCCESS)
}

fn verdicts_table(verdicts: &[VerdictStatus]) -> Table<9> {
    let mut table = Table::new([
        Column::text("SPAN"),
        Column::number("SOLUTIONS"),
        Column::number("WORK").drop_order(3),
        Column::name("BY"),
        Column::number("LOST"),
        Column::number("WORK").drop_order(4),
        Column::name("BY"),
        Column::text("KERNEL").drop_order(2),
        Column::text("FOUND").drop_order(1),
    ]);
    for it in verdicts {
        table.add_row([
            it.span.to_string(),
            it.count.solutions.to_string(),
            it.count.work.to_string(),
            it.worker.to_string(),
            it.lost.solutions.to_string(),
            it.lost.work.to_string(),
            it.lost_worker.to_string(),
            it.lost_kernel.to_string(),
            date(it.at_ms / 1000),
        ]);
    }
    table
}
