//! `queens cancel`: cancels a job for good.

use std::process::ExitCode;

use crate::changed_job::show_change;
use crate::flags::JobArgs;

/// Runs the command and returns its exit status.
pub(crate) async fn run(args: &JobArgs) -> anyhow::Result<ExitCode> {
    let operator = args.remote.connect().await?;
    operator.cancel(args.job).await?;
    show_change(&operator, args.job, args.remote.output()).await
}
