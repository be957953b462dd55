//! `queens verdicts`: shows the verdicts on spans with different counts.

use queens_model::json::Verdict;
use queens_model::{VerdictStatus, date};

use crate::flags::JobArgs;
use crate::present::table::table;

/// The maximum number of verdicts shown; programs may request more, page by page.
const MOST: usize = 10_000;

/// The number of verdicts in a page, except the last.
const PAGE: usize = 1000;

/// Runs the command.
pub(crate) async fn run(args: &JobArgs) -> anyhow::Result<()> {
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
    let answer: Vec<Verdict> = verdicts.iter().map(Verdict::from).collect();
    args.remote.output().print(&answer, || match verdicts.is_empty() {
        true => format!("no dispute about job {} has been decided", args.job),
        false => verdicts_table(&verdicts),
    })
}

fn verdicts_table(verdicts: &[VerdictStatus]) -> String {
    let row = |it: &VerdictStatus| {
        [
            it.span.to_string(),
            it.count.solutions.to_string(),
            it.count.work.to_string(),
            it.worker.to_string(),
            it.lost.solutions.to_string(),
            it.lost.work.to_string(),
            it.lost_worker.to_string(),
            it.lost_kernel.to_string(),
            date(it.at_ms / 1000),
        ]
    };
    let headings = ["SPAN", ">SOLUTIONS", ">WORK", "BY", ">LOST", ">WORK", "BY", "KERNEL", "FOUND"];
    table(headings, verdicts.iter().map(row))
}
