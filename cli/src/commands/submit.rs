//! `queens submit`: submits jobs without waiting for them.

use std::process::ExitCode;

use anyhow::bail;
use queens_model::{JobId, Share, price_of_jobs};
use queens_program::say;
use queens_proto::client::Operator;
use queens_solver::BoardSize;
use serde_json::json;

use crate::boards::Boards;
use crate::confirm::confirm;
use crate::counting::cluster::submit;
use crate::flags::{JobPriorityArgs, RemoteArgs, WrongUsage};
use crate::method::MethodArgs;
use crate::terms::TermsArgs;

/// Submit jobs to a coordinator and print their ids
///
/// Submits a job for each board, the smallest first, and prints each id on a line of its own. If the coordinator
/// refuses one, the boards after it are not submitted, and a message names those that were. From n = 20 on, a message
/// says by which method each board is counted, why, and at which price. JSON has a line for each.
#[derive(Debug, clap::Args)]
pub(crate) struct SubmitArgs {
    #[command(flatten)]
    jobs: JobsToSubmitArgs,

    #[command(flatten)]
    remote: RemoteArgs,
}

/// The jobs of `queens submit` and of `queens top`.
#[derive(Debug, clap::Args)]
pub(crate) struct JobsToSubmitArgs {
    /// Size of the board, 0 to 32; or a range that includes both ends, such as 24-28
    #[arg(value_name = "N|A-B", allow_negative_numbers = true)]
    boards: Boards,

    #[command(flatten)]
    priority: JobPriorityArgs,

    #[command(flatten)]
    method: MethodArgs,

    #[command(flatten)]
    terms: TermsArgs,

    /// Don't ask, even if the count takes more than a year of core time
    #[arg(long)]
    yes: bool,
}

/// Runs the command and returns its exit status. Checks all boards before it submits the first.
pub(crate) async fn run(args: &SubmitArgs) -> anyhow::Result<ExitCode> {
    let SubmitArgs { jobs, remote } = args;
    jobs.check()?;
    if let Some(price) = jobs.unconfirmed_price()
        && !confirm(&price, false)?
    {
        return Ok(ExitCode::FAILURE);
    }
    let operator = remote.connect().await?;
    let submitted = jobs
        .submit(&operator, |n, job| {
            jobs.method.choice().explained_in_cluster(n).iter().for_each(|text| say(text));
            remote.output().print(&json!({ "job": job.to_string() }), || job.to_string())
        })
        .await?;
    for (_, job) in submitted {
        let submitted = operator.job(job).await?;
        if let Some(what) = submitted.waits_for.filter(|_| submitted.terms.recount != Share::NOTHING) {
            say(&format!("job {job} waits for {what}"));
        }
    }
    Ok(ExitCode::SUCCESS)
}

impl JobsToSubmitArgs {
    /// Checks that the arguments go together.
    pub(crate) fn check(&self) -> Result<(), WrongUsage> {
        let boards = self.boards;
        if self.terms.part_range.is_some() && !boards.is_one() {
            let problem = format!("--parts names parts of one board, and not of {boards}");
            return Err(WrongUsage(format!("{problem}: submit each by itself")));
        }
        Ok(())
    }

    /// Returns the price of the jobs if it must be confirmed, by the rule of the coordinator, and `--yes` does not.
    pub(crate) fn unconfirmed_price(&self) -> Option<String> {
        let method = self.method.choice();
        let jobs: Vec<_> = self.boards.iter().map(|n| (n, method.in_cluster(n))).collect();
        price_of_jobs(&jobs, &self.boards.to_string()).filter(|_| !self.yes)
    }

    /// Submits the jobs, the smallest first, and calls `done` with each. Returns all.
    pub(crate) async fn submit(
        &self,
        operator: &Operator,
        mut done: impl FnMut(BoardSize, JobId) -> anyhow::Result<()>,
    ) -> anyhow::Result<Vec<(BoardSize, JobId)>> {
        let mut submitted = Vec::new();
        for n in self.boards.iter() {
            let asked = self.terms.submission(n, self.method.choice().in_cluster(n), self.priority.priority);
            let job = match submit(operator, asked, self.terms.recount_by.by()).await {
                Ok(job) => job,
                Err(error) if submitted.is_empty() => return Err(error),
                Err(error) => bail!("n = {n}: {error:#}; submitted before it: {}", list(&submitted)),
            };
            submitted.push((n, job));
            done(n, job)?;
        }
        Ok(submitted)
    }
}

/// Lists submitted jobs: "n = 16 as job 1, n = 17 as job 2".
pub(crate) fn list(submitted: &[(BoardSize, JobId)]) -> String {
    let each = submitted.iter().map(|(n, job)| format!("n = {n} as job {job}"));
    each.collect::<Vec<_>>().join(", ")
}
