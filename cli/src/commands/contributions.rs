//! `queens contributions`: shows the contributors of a job.

use std::process::ExitCode;

use queens_model::{Contribution, grouped, json, two_digits};
use queens_program::print;

use crate::flags::JobArgs;
use crate::present::output::{Output, json_of};
use crate::present::table::{Column, Table};

/// Runs the command and returns its exit status.
pub(crate) async fn run(args: &JobArgs) -> anyhow::Result<ExitCode> {
    let contributions = args.remote.connect().await?.contributions(args.job).await?;
    match args.remote.output() {
        Output::Json => print(&json_of(&json::Contribution::all(&contributions))?)?,
        Output::Text if contributions.is_empty() => {
            print(&format!("nothing is recorded of job {}", args.job))?;
        }
        Output::Text => contributions_table(&contributions).print()?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Formats contributions as a table.
pub(crate) fn contributions_table(contributions: &[Contribution]) -> Table<6> {
    let all = contributions.iter().map(|it| it.work as f64).sum::<f64>().max(1.0);
    let mut table = Table::new([
        Column::name("WORKER"),
        Column::text("KERNEL").drop_order(2),
        Column::number("SPANS").drop_order(1),
        Column::number("WORK").drop_order(3),
        Column::number("CORE-HOURS"),
        Column::number("SHARE"),
    ]);
    for it in contributions {
        table.add_row([
            it.worker.to_string(),
            it.kernel.to_string(),
            it.n_spans.to_string(),
            grouped(it.work as f64),
            two_digits(it.time.as_secs_f64() / 3600.0),
            format!("{:.1} %", it.work as f64 / all * 100.0),
        ]);
    }
    table
}
