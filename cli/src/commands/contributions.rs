//! `queens contributions`: shows the contributors of a job.

use queens_model::{Contribution, grouped, json, percent, two_digits};

use crate::flags::JobArgs;
use crate::present::table::table;

/// Runs the command.
pub(crate) async fn run(args: &JobArgs) -> anyhow::Result<()> {
    let contributions = args.remote.connect().await?.contributions(args.job).await?;
    args.remote.output().print(&json::Contribution::all(&contributions), || match contributions.is_empty() {
        true => format!("nothing is recorded of job {}", args.job),
        false => contributions_table(&contributions),
    })
}

/// Formats contributions as a table.
pub(crate) fn contributions_table(contributions: &[Contribution]) -> String {
    let all = contributions.iter().map(|it| it.work as f64).sum::<f64>().max(1.0);
    let row = |it: &Contribution| {
        [
            it.worker.to_string(),
            it.kernel.to_string(),
            it.n_spans.to_string(),
            grouped(it.work as f64),
            two_digits(it.time.as_secs_f64() / 3600.0),
            percent(it.work as f64 / all),
        ]
    };
    table(["WORKER", "KERNEL", ">SPANS", ">WORK", ">CORE-HOURS", ">SHARE"], contributions.iter().map(row))
}
