//! `queens status`: shows one job.

use std::process::ExitCode;

use queens_model::json::Job;
use queens_program::print;

use crate::connect::warn_if_nothing_is_recorded;
use crate::flags::JobArgs;
use crate::present::job::describe;
use crate::present::output::{Output, json_of};

/// Runs the command and returns its exit status.
pub(crate) async fn run(args: &JobArgs) -> anyhow::Result<ExitCode> {
    let operator = args.remote.connect().await?;
    let job = operator.job(args.job).await?;
    let store_error = operator.store_error().await?;
    print(&match args.remote.output() {
        Output::Json => json_of(&Job::of(&job, store_error.as_deref()))?,
        Output::Text => {
            warn_if_nothing_is_recorded(store_error.as_deref());
            describe(&job)
        }
    })?;
    Ok(ExitCode::SUCCESS)
}
