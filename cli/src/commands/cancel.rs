//! `queens cancel`: a job is given up for good.

use std::process::ExitCode;

use anyhow::bail;
use queens_messages::JobState;

use crate::changed_job::show_change;
use crate::flags::JobArgs;

/// Runs the command to its exit status.
pub(crate) async fn run(args: &JobArgs) -> anyhow::Result<ExitCode> {
    let operator = args.remote.connect().await?;
    operator.cancel(args.job).await?;
    let job = operator.job(args.job).await?;
    if job.state == JobState::Done {
        bail!("job {} is done: there is nothing to give up", job.id);
    }
    show_change(&operator, args.job, args.remote.output()).await
}
