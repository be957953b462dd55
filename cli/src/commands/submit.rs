//! `queens submit`: a job, without waiting for it.

use std::process::ExitCode;

use queens_messages::Priority;
use queens_solver::{Kernel, Method};
use serde_json::json;

use crate::confirm::confirm_count;
use crate::counting::cluster::submit;
use crate::flags::{BoardArgs, RemoteArgs};
use crate::method::MethodArgs;
use crate::present::output::{Output, print};
use crate::terms::TermsArgs;

#[derive(Debug, clap::Args)]
pub(crate) struct SubmitArgs {
    #[command(flatten)]
    board: BoardArgs,

    /// How urgent the job is, from -1000 to 1000: the highest goes first, equal ones in the order of submission
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

    /// Don't ask, even if it takes more than a year of core time
    #[arg(long)]
    yes: bool,

    #[command(flatten)]
    remote: RemoteArgs,
}

/// Runs the command to its exit status.
pub(crate) async fn run(args: &SubmitArgs) -> anyhow::Result<ExitCode> {
    let n = args.board.n;
    let method = args.method.choice().named().unwrap_or(Method::Search);
    if !confirm_count(n, method, Kernel::Avx512, args.yes)? {
        return Ok(ExitCode::FAILURE);
    }
    let operator = args.remote.connect().await?;
    let asked = |method| args.terms.submission(n, method, args.priority);
    let job = submit(&operator, n, args.method.choice(), asked).await?;
    print(&match args.remote.output() {
        Output::Text => job.to_string(),
        Output::Json => json!({ "job": job.to_string() }).to_string(),
    })?;
    Ok(ExitCode::SUCCESS)
}
