//! `queens submit`: submits jobs without waiting for them.

use std::process::ExitCode;

use anyhow::bail;
use queens_model::{JobId, Priority};
use queens_program::{print, say};
use queens_solver::BoardSize;
use serde_json::json;

use crate::boards::Boards;
use crate::confirm::confirm_jobs;
use crate::counting::cluster::submit;
use crate::flags::RemoteArgs;
use crate::flags::WrongUsage;
use crate::method::MethodArgs;
use crate::present::output::Output;
use crate::terms::TermsArgs;

/// Submit jobs to a coordinator and print their ids
///
/// Submits a job for each board, the smallest first, and prints each id on a line of its own. If the coordinator
/// refuses one, the boards after it are not submitted, and a message names those that were. From n = 20 on, a message
/// says by which method each board is counted, why, and at which price.
#[derive(Debug, clap::Args)]
pub(crate) struct SubmitArgs {
    /// Size of the board, 0 to 32; or a range that includes both ends, such as 24-28
    #[arg(value_name = "N|A-B", allow_negative_numbers = true)]
    boards: Boards,

    /// Priority of the job, from -1000 to 1000: higher ones go first, equal ones in the order of submission
    #[arg(
        long,
        env = "QUEENS_PRIORITY",
        value_name = "P",
        default_value = "0",
        allow_negative_numbers = true
    )]
    priority: Priority,

    #[command(flatten)]
    method: MethodArgs,

    #[command(flatten)]
    terms: TermsArgs,

    /// Don't ask, even if the count takes more than a year of core time
    #[arg(long)]
    yes: bool,

    #[command(flatten)]
    remote: RemoteArgs,
}

/// Runs the command and returns its exit status. Checks all boards before it submits the first.
pub(crate) async fn run(args: &SubmitArgs) -> anyhow::Result<ExitCode> {
    let boards = args.boards;
    if args.terms.are_of_one_board() && !boards.is_one() {
        return Err(WrongUsage(format!(
            "--parts names parts of one board, and not of {boards}: submit each by itself"
        ))
        .into());
    }
    if !confirm_jobs(boards, args.method.choice(), args.yes)? {
        return Ok(ExitCode::FAILURE);
    }
    let operator = args.remote.connect().await?;
    let mut submitted = Vec::new();
    for n in boards.iter() {
        let asked = args.terms.submission(n, args.method.choice().in_cluster(n), args.priority);
        let job = match submit(&operator, asked, args.terms.recount_by.by()).await {
            Ok(job) => job,
            Err(error) if submitted.is_empty() => return Err(error),
            Err(error) => bail!("n = {n}: {error:#}; submitted before it: {}", list(&submitted)),
        };
        submitted.push((n, job));
        args.method.choice().explained_in_cluster(n).iter().for_each(|text| say(text));
        print(&match args.remote.output() {
            Output::Text => job.to_string(),
            Output::Json => json!({ "job": job.to_string() }).to_string(),
        })?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Lists submitted jobs: "n = 16 as job 1, n = 17 as job 2".
fn list(submitted: &[(BoardSize, JobId)]) -> String {
    let each = submitted.iter().map(|(n, job)| format!("n = {n} as job {job}"));
    each.collect::<Vec<_>>().join(", ")
}
