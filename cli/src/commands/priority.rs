//! `queens priority`: sets a job's priority.

use std::process::ExitCode;

use queens_model::Priority;

use crate::changed_job::show_change;
use crate::flags::JobArgs;

#[derive(Debug, clap::Args)]
pub(crate) struct PriorityArgs {
    #[command(flatten)]
    of: JobArgs,

    /// From -1000 to 1000: higher priorities go first, equal ones in the order of submission
    #[arg(value_name = "P", allow_negative_numbers = true)]
    priority: Priority,
}

/// Runs the command and returns its exit status.
pub(crate) async fn run(args: &PriorityArgs) -> anyhow::Result<ExitCode> {
    let JobArgs { job, remote } = &args.of;
    let operator = remote.connect().await?;
    operator.set_priority(*job, args.priority).await?;
    show_change(&operator, *job, remote.output()).await
}
