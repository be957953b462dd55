//! `queens status`: one job.

use std::process::ExitCode;

use crate::connect::warn_if_nothing_is_recorded;
use crate::flags::JobArgs;
use crate::present::job::{describe, job_json};
use crate::present::output::{Output, print};

/// Runs the command to its exit status.
pub(crate) async fn run(args: &JobArgs) -> anyhow::Result<ExitCode> {
    let operator = args.remote.connect().await?;
    let job = operator.job(args.job).await?;
    let store_error = operator.store_error().await?;
    print(&match args.remote.output() {
        Output::Json => job_json(&job, store_error.as_deref()).to_string(),
        Output::Text => {
            warn_if_nothing_is_recorded(store_error.as_deref());
            describe(&job)
        }
    })?;
    Ok(ExitCode::SUCCESS)
}
