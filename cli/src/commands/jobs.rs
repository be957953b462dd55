//! `queens jobs`: a coordinator's jobs.

use std::process::ExitCode;

use queens_json::Job;

use crate::connect::warn_if_nothing_is_recorded;
use crate::flags::RemoteArgs;
use crate::present::job::{state, time_left};
use crate::present::numbers::percent;
use crate::present::output::{Output, json_of, print};
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
            json_of(&jobs.iter().map(|job| Job::of(job, store_error.as_deref())).collect::<Vec<_>>())?
        }
        Output::Text if jobs.is_empty() => "no jobs; 'queens submit N' makes one".to_owned(),
        Output::Text => {
            let mut table = table([
                "JOB",
                "N",
                "METHOD",
                "PRIORITY",
                "STATE",
                "DONE",
                "SOLUTIONS SO FAR",
                "LEFT",
                "WORKERS",
            ]);
            for job in &jobs {
                let provisional = if job.is_provisional() { "provisional " } else { "" };
                table.add_row([
                    job.id.to_string(),
                    job.n.to_string(),
                    job.method.to_string(),
                    job.priority.to_string(),
                    state(job),
                    percent(job.fraction()),
                    format!("{provisional}{}", job.progress.solutions),
                    time_left(job),
                    job.n_workers.to_string(),
                ]);
            }
            align_right(&mut table, &[0, 1, 3, 5, 6, 7, 8]);
            table.trim_fmt()
        }
    })?;
    Ok(ExitCode::SUCCESS)
}
