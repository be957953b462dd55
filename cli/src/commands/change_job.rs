//! The commands that change a job: `queens pause`, `resume`, `cancel`, `priority` and `verify-more`.

use std::process::ExitCode;

use clap::ArgGroup;
use queens_model::json::Job;
use queens_model::{JobId, JobStatus, Priority, Share, percent};
use queens_program::{Output, say};
use queens_proto::client::{ClientError, JobChange, Operator};
use queens_proto::pb;

use crate::confirm::confirm_on_terminal;
use crate::flags::JobArgs;
use crate::terms::{RecountByArgs, SecondPassArgs};

/// Cancel a job for good
///
/// Its records stay, but nobody continues it, and there is no certificate. To end only the verification of a job that is
/// counted, use 'queens verify-more JOB --end'. On a terminal, the command asks first.
#[derive(Debug, clap::Args)]
pub(crate) struct CancelArgs {
    #[command(flatten)]
    of: JobArgs,

    /// Don't ask
    #[arg(long)]
    yes: bool,
}

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

    /// Don't ask, even if nobody who is connected can verify the job
    #[arg(long)]
    yes: bool,
}

#[derive(Debug, clap::Args)]
#[command(group(ArgGroup::new("more").required(true).multiple(true).args(["recount", "recount_by", "second_pass", "end"])))]
pub(crate) struct MoreArgs {
    /// Have this percentage of the work recounted by other workers: 0 to 100
    #[arg(long, value_name = "PERCENT")]
    recount: Option<Share>,

    #[command(flatten)]
    recount_by: RecountByArgs,

    #[command(flatten)]
    second_pass: SecondPassArgs,

    /// End verification. What is proved stays; what is in doubt is still decided
    #[arg(long, conflicts_with_all = ["recount", "recount_by", "second_pass"])]
    end: bool,
}

impl MoreArgs {
    /// Says that nobody who is connected can do the verification, if that is so.
    fn lacks_party(&self, job: &JobStatus) -> Option<String> {
        let is_by_others = self.recount.is_some_and(|share| share > job.terms.recount)
            || self.second_pass.method(job.method) == Some(job.method);
        let problem =
            "at most one party is connected that can count it, and no party confirms its own counts";
        (is_by_others && job.recounting.n_parties < 2).then(|| format!("job {}: {problem}", job.id))
    }

    /// Changes the verification of the job. Returns the changed job.
    pub(crate) async fn carry_out(&self, operator: &Operator, job: JobId) -> Result<JobStatus, ClientError> {
        if self.end {
            return operator.change_job(job, JobChange::EndVerification(pb::Empty {})).await;
        }
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

/// Runs `queens pause`, `resume` or `priority`: changes a job, and prints its state.
pub(crate) async fn change(args: &JobArgs, change: JobChange) -> anyhow::Result<()> {
    let operator = args.remote.connect().await?;
    show(&operator.change_job(args.job, change).await?, args.remote.output())
}

/// Runs `queens verify-more` and returns its exit status.
pub(crate) async fn verify_more(args: &VerifyMoreArgs) -> anyhow::Result<ExitCode> {
    let JobArgs { job, remote } = &args.of;
    let operator = remote.connect().await?;
    if let Some(problem) = args.more.lacks_party(&operator.job(*job).await?) {
        say(&problem);
        if !confirm_on_terminal("The verification would wait", args.yes) {
            return Ok(ExitCode::FAILURE);
        }
    }
    show(&args.more.carry_out(&operator, *job).await?, remote.output())?;
    Ok(ExitCode::SUCCESS)
}

/// Runs `queens cancel` and returns its exit status.
pub(crate) async fn cancel(args: &CancelArgs) -> anyhow::Result<ExitCode> {
    let JobArgs { job, remote } = &args.of;
    let operator = remote.connect().await?;
    if !confirm_on_terminal(&describe_loss(&operator.job(*job).await?), args.yes) {
        return Ok(ExitCode::FAILURE);
    }
    show(&operator.change_job(*job, JobChange::Cancel(pb::Empty {})).await?, remote.output())?;
    Ok(ExitCode::SUCCESS)
}

/// Says what cancelling a job loses.
pub(crate) fn describe_loss(job: &JobStatus) -> String {
    let JobStatus { id, n, .. } = job;
    if job.is_provisional() {
        format!(
            "job {id} (n = {n}) is counted and being verified: cancelled, its number stays provisional and without a \
             certificate; 'queens verify-more {id} --end' ends the verification alone"
        )
    } else {
        format!("job {id} (n = {n}) is {} counted: cancelled, nobody continues it", percent(job.fraction()))
    }
}

/// Prints a job's state after a change, which only a coordinator makes that can record it.
fn show(job: &JobStatus, output: Output) -> anyhow::Result<()> {
    output.print(&Job::of(job, None), || describe_change(job))
}

/// Describes a job after a change.
pub(crate) fn describe_change(job: &JobStatus) -> String {
    format!("job {} is {}, priority {}", job.id, job.state.name(), job.priority)
}
