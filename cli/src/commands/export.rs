//! `queens export`: a certificate of a job that is done.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use queens_messages::JobId;
use queens_process::{NewFile, cancel_on_signal};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::flags::RemoteArgs;
use crate::present::output::{Output, print};

/// Write a certificate of a job that is done to a file
///
/// It has all records of the job, signed by the coordinator, and proves the count to whoever runs 'queens check FILE'. FILE is complete when it is there, and nothing is
/// overwritten.
#[derive(Debug, clap::Args)]
pub(crate) struct ExportArgs {
    /// Id of the job, as 'queens submit' and 'queens jobs' print it
    #[arg(value_name = "JOB", allow_negative_numbers = true)]
    job: JobId,

    /// File to write
    #[arg(value_name = "FILE")]
    file: PathBuf,

    #[command(flatten)]
    remote: RemoteArgs,
}

/// Runs the command to its exit status.
pub(crate) async fn run(args: &ExportArgs) -> anyhow::Result<ExitCode> {
    let stop = CancellationToken::new();
    cancel_on_signal(stop.clone()).context("failed to listen to signals")?;
    let operator = args.remote.connect().await?;
    let name = args.file.display();
    let mut file = NewFile::begin(&args.file)?;
    let mut n_bytes = 0_u64;
    let receive = async {
        let mut pieces = operator.export(args.job).await?;
        while let Some(piece) = pieces.next().await? {
            file.file().write_all(&piece).with_context(|| format!("failed to write '{name}'"))?;
            n_bytes += piece.len() as u64;
        }
        anyhow::Ok(())
    };
    tokio::select! {
        received = receive => received?,
        () = stop.cancelled() => anyhow::bail!("interrupted; '{name}' is not written"),
    }
    file.keep()?;
    print(&match args.remote.output() {
        Output::Text => format!("{n_bytes} bytes of job {} are in '{name}'", args.job),
        Output::Json => json!({ "job": args.job.to_string(), "bytes": n_bytes.to_string() }).to_string(),
    })?;
    Ok(ExitCode::SUCCESS)
}
