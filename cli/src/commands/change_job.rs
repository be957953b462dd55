//! The commands that change a job: `queens pause`, `resume`, `cancel`, `priority` and `verify-more`.

use std::process::ExitCode;

use clap::ArgGroup;
use queens_model::json::Job;
use queens_model::{JobId, JobStatus, Priority, Share};
use queens_program::print;
use queens_proto::client::{ClientError, Operator};

use crate::flags::JobArgs;
use crate::present::output::{Output, json_of};
use crate::terms::{RecountByArgs, SecondPassArgs};

#[derive(Debug, clap::Args)]
pub(crate) struct PriorityArgs {
    #[command(flatten)]
    of: JobArgs,

    #[command(flatten)]
    value: PriorityValue,
}

#[derive(Clone, Copy, Debug, clap::Args)]
pub(crate) struct PriorityValue {
    /// From -1000 to 1000: higher priorities go first, equal ones in the order of submission
    #[arg(value_name = "P", allow_negative_numbers = true)]
    pub(crate) priority: Priority,
}

#[derive(Debug, clap::Args)]
pub(crate) struct VerifyMoreArgs {
    #[command(flatten)]
    of: JobArgs,

    #[command(flatten)]
    more: MoreArgs,
}

#[derive(Debug, clap::Args)]
#[command(group(ArgGroup::new("more").required(true).multiple(true).args(["recount", "recount_by", "second_pass"])))]
pub(crate) struct MoreArgs {
    /// Have this percentage of the work recounted by other workers: 0 to 100
    #[arg(long, value_name = "P")]
    recount: Option<Share>,

    #[command(flatten)]
    recount_by: RecountByArgs,

    #[command(flatten)]
    second_pass: SecondPassArgs,
}

impl MoreArgs {
    /// Has more of the job recounted.
    pub(crate) async fn carry_out(&self, operator: &Operator, job: JobId) -> Result<(), ClientError> {
        let second_pass = self.second_pass.method(operator.job(job).await?.method);
        operator.verify_more(job, self.recount, second_pass, self.recount_by.by()).await
    }
}

/// Runs `queens pause` and returns its exit status.
pub(crate) async fn pause(args: &JobArgs) -> anyhow::Result<ExitCode> {
    let operator = args.remote.connect().await?;
    operator.pause(args.job).await?;
    show_change(&operator, args.job, args.remote.output()).await
}

/// Runs `queens resume` and returns its exit status.
pub(crate) async fn resume(args: &JobArgs) -> anyhow::Result<ExitCode> {
    let operator = args.remote.connect().await?;
    operator.resume(args.job).await?;
    show_change(&operator, args.job, args.remote.output()).await
}

/// Runs `queens cancel` and returns its exit status.
pub(crate) async fn cancel(args: &JobArgs) -> anyhow::Result<ExitCode> {
    let operator = args.remote.connect().await?;
    operator.cancel(args.job).await?;
    show_change(&operator, args.job, args.remote.output()).await
}

/// Runs `queens priority` and returns its exit status.
pub(crate) async fn set_priority(args: &PriorityArgs) -> anyhow::Result<ExitCode> {
    let JobArgs { job, remote } = &args.of;
    let operator = remote.connect().await?;
    operator.set_priority(*job, args.value.priority).await?;
    show_change(&operator, *job, remote.output()).await
}

/// Runs `queens verify-more` and returns its exit status.
pub(crate) async fn verify_more(args: &VerifyMoreArgs) -> anyhow::Result<ExitCode> {
    let JobArgs { job, remote } = &args.of;
    let operator = remote.connect().await?;
    args.more.carry_out(&operator, *job).await?;
    show_change(&operator, *job, remote.output()).await
}

/// Prints a job's state after a change.
async fn show_change(operator: &Operator, job: JobId, output: Output) -> anyhow::Result<ExitCode> {
    let job = operator.job(job).await?;
    print(&match output {
        Output::Json => json_of(&Job::of(&job, operator.store_error().await?.as_deref()))?,
        Output::Text => describe_change(&job),
    })?;
    Ok(ExitCode::SUCCESS)
}

/// Describes a job after a change.
pub(crate) fn describe_change(job: &JobStatus) -> String {
    format!("job {} is {}, priority {}", job.id, job.state.name(), job.priority)
}
