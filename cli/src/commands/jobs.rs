//! `queens jobs`: a coordinator's jobs.

use std::process::ExitCode;

use serde_json::Value;

use crate::connect::warn_if_nothing_is_recorded;
use crate::flags::RemoteArgs;
use crate::present::job::{job_json, state, time_left};
use crate::present::numbers::percent;
use crate::present::output::{Output, print};
use crate::present::table::{align_right, table};

/// Runs the command to its exit status.
pub(crate) async fn run(args: &RemoteArgs) -> anyhow::Result<ExitCode> {
    let operator = args.connect().await?;
    let jobs = operator.jobs().await?;
    let store_error = operator.store_error().await?;
    if args.output() == Output::Text {
        warn_if_nothing_is_recorded(store_error.as_deref());
    }
    print(&match args.output() {
        Output::Json => {
            jobs.iter().map(|job| job_json(job, store_error.as_deref())).collect::<Value>().to_string()
        }
        Output::Text if jobs.is_empty() => "no jobs; 'queens submit N' makes one".to_owned(),
        Output::Text => {
            let mut table =
                table(["JOB", "N", "PRIORITY", "STATE", "DONE", "SOLUTIONS SO FAR", "LEFT", "WORKERS"]);
            for job in &jobs {
                table.add_row([
                    job.id.to_string(),
                    job.n.to_string(),
                    job.priority.to_string(),
                    state(job),
                    percent(job.fraction()),
                    job.progress.solutions.to_string(),
                    time_left(job),
                    job.n_workers.to_string(),
                ]);
            }
            align_right(&mut table, &[0, 1, 2, 4, 5, 6, 7]);
            table.trim_fmt()
        }
    })?;
    Ok(ExitCode::SUCCESS)
}
