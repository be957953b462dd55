//! The commands that change a job: `queens pause`, `resume`, `cancel`, `priority` and `verify-more`.

use clap::ArgGroup;
use queens_model::json::Job;
use queens_model::{JobId, JobStatus, Priority, Share};
use queens_program::Output;
use queens_proto::client::{ClientError, JobChange, Operator};
use queens_proto::pb;

use crate::flags::JobArgs;
use crate::terms::{RecountByArgs, SecondPassArgs};

#[derive(Debug, clap::Args)]
pub(crate) struct PriorityArgs {
    #[command(flatten)]
    pub(crate) of: JobArgs,

    #[command(flatten)]
    pub(crate) value: PriorityValue,
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
    #[arg(long, value_name = "PERCENT")]
    recount: Option<Share>,

    #[command(flatten)]
    recount_by: RecountByArgs,

    #[command(flatten)]
    second_pass: SecondPassArgs,
}

impl MoreArgs {
    /// Has more of the job recounted. Returns the changed job.
    pub(crate) async fn carry_out(&self, operator: &Operator, job: JobId) -> Result<JobStatus, ClientError> {
        let method = operator.job(job).await?.method;
        let second_pass = self.second_pass.method(method).map_or(pb::Method::Unspecified, pb::Method::from);
        let more = pb::VerifyMore {
            recount: self.recount.map(Share::ppm),
            second_pass: second_pass.into(),
            recount_by: self.recount_by.by().map(ToString::to_string).unwrap_or_default(),
        };
        operator.change_job(job, JobChange::VerifyMore(more)).await
    }
}

/// Runs `queens pause`, `resume`, `cancel` or `priority`: changes a job, and prints its state.
pub(crate) async fn change(args: &JobArgs, change: JobChange) -> anyhow::Result<()> {
    let operator = args.remote.connect().await?;
    show(&operator.change_job(args.job, change).await?, args.remote.output())
}

/// Runs `queens verify-more`.
pub(crate) async fn verify_more(args: &VerifyMoreArgs) -> anyhow::Result<()> {
    let JobArgs { job, remote } = &args.of;
    let operator = remote.connect().await?;
    show(&args.more.carry_out(&operator, *job).await?, remote.output())
}

/// Prints a job's state after a change, which only a coordinator makes that can record it.
fn show(job: &JobStatus, output: Output) -> anyhow::Result<()> {
    output.print(&Job::of(job, None), || describe_change(job))
}

/// Describes a job after a change.
pub(crate) fn describe_change(job: &JobStatus) -> String {
    format!("job {} is {}, priority {}", job.id, job.state.name(), job.priority)
}
