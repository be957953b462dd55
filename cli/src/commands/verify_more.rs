//! `queens verify-more`: has more of a job recounted.

use std::process::ExitCode;

use clap::ArgGroup;
use queens_model::Share;

use crate::changed_job::show_change;
use crate::flags::JobArgs;
use crate::terms::{RecountByArgs, SecondPassArgs};

#[derive(Debug, clap::Args)]
#[command(group(ArgGroup::new("more").required(true).multiple(true).args(["recount", "recount_by", "second_pass"])))]
pub(crate) struct VerifyMoreArgs {
    #[command(flatten)]
    of: JobArgs,

    /// Have this percentage of the work recounted by other workers: 0 to 100
    #[arg(long, value_name = "P")]
    recount: Option<Share>,

    #[command(flatten)]
    recount_by: RecountByArgs,

    #[command(flatten)]
    second_pass: SecondPassArgs,
}

/// Runs the command and returns its exit status.
pub(crate) async fn run(args: &VerifyMoreArgs) -> anyhow::Result<ExitCode> {
    let JobArgs { job, remote } = &args.of;
    let operator = remote.connect().await?;
    let method = operator.job(*job).await?.method;
    operator.verify_more(*job, args.recount, args.second_pass.method(method), args.recount_by.by()).await?;
    show_change(&operator, *job, remote.output()).await
}
