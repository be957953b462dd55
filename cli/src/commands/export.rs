//! `queens export`: downloads a certificate of a completed job.

use std::fmt::{self, Display, Formatter};
use std::io::Write;
use std::path::PathBuf;

use anyhow::{Context, bail};
use queens_model::{JobId, JobStatus};
use queens_platform::NewFile;
use queens_program::stop_on_signal;
use queens_proto::client::Operator;
use serde_json::json;

use crate::flags::RemoteArgs;

/// The longest line of a certificate, in bytes. A subproblem has at most one record, which takes less with all its
/// fields and its counter.
const LONGEST_LINE: u128 = 2047;

/// Bytes for header, footer and the frame of the compression.
const FRAME: u128 = 1 << 20;

/// The largest download in bytes, whatever a coordinator claims of its job: twenty times the size for Q(27).
const LARGEST: u64 = 4 << 30;

/// Write a certificate of a completed job to a file
///
/// It has all records of the job, signed by the coordinator, and anybody can verify the count with 'queens check FILE'.
/// FILE appears when it is complete, and nothing is overwritten. The download ends with an error if a coordinator sends
/// more than the job can have, or more than 4 GiB. 'queens-coordinator export' on its machine has no such limit.
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

/// Runs the command.
pub(crate) async fn run(args: &ExportArgs) -> anyhow::Result<()> {
    let stop = stop_on_signal()?;
    let operator = args.remote.connect().await?;
    let name = args.file.display();
    let mut file = NewFile::begin(&args.file)?;
    let limit = Limit::of(&operator, args.job).await?;
    let mut n_bytes = 0_u64;
    let receive = async {
        let mut pieces = operator.export(args.job).await?;
        while let Some(piece) = pieces.next().await? {
            n_bytes = n_bytes.saturating_add(piece.len() as u64);
            if n_bytes > limit.bytes {
                bail!("{limit}; '{name}' is not written");
            }
            file.file().write_all(&piece).with_context(|| format!("failed to write '{name}'"))?;
        }
        anyhow::Ok(())
    };
    tokio::select! {
        received = receive => received?,
        () = stop.cancelled() => bail!("interrupted; '{name}' is not written"),
    }
    file.keep()?;
    let answer = json!({ "job": args.job.to_string(), "bytes": n_bytes });
    args.remote.output().print(&answer, || format!("{n_bytes} bytes of job {} are in '{name}'", args.job))
}

/// The maximum size of a job's certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Limit {
    job: JobId,
    n_subproblems: u128,
    bytes: u64,
}

impl Limit {
    /// Computes the limit from the coordinator's description of the job.
    async fn of(operator: &Operator, id: JobId) -> anyhow::Result<Self> {
        let job = operator.job(id).await?;
        let second = match job.second {
            Some(second) => Some(operator.job(second).await?),
            None => None,
        };
        Ok(Self::of_passes(&job, second.as_ref()))
    }

    fn of_passes(job: &JobStatus, second: Option<&JobStatus>) -> Self {
        let passes = [Some(job), second].into_iter().flatten();
        let (mut n_subproblems, mut n_lines) = (0_u128, 0_u128);
        for pass in passes {
            n_subproblems = n_subproblems.saturating_add(pass.progress.n_subproblems);
            n_lines = n_lines.saturating_add(u128::from(pass.n_parts));
        }
        n_lines = n_lines.saturating_add(n_subproblems);
        let bytes = n_lines.saturating_mul(LONGEST_LINE).saturating_add(FRAME);
        Self { job: job.id, n_subproblems, bytes: u64::try_from(bytes).unwrap_or(LARGEST).min(LARGEST) }
    }
}

impl Display for Limit {
    /// Describes how a coordinator has exceeded the limit.
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self { job, n_subproblems, bytes } = *self;
        if bytes == LARGEST {
            return write!(
                f,
                "the coordinator sends more than {bytes} bytes, which is not taken from afar: if there is so much of job {job}, \
                 'queens-coordinator export' writes it, beside the coordinator"
            );
        }
        write!(
            f,
            "the coordinator sends more than the {bytes} bytes that a certificate of job {job} can have, of \
             {n_subproblems} subproblems: what it sends is none"
        )
    }
}

#[cfg(test)]
mod tests {
    use queens_model::{JobState, Progress};
    use queens_solver::{BoardSize, Method};

    use super::*;

    fn job(n_subproblems: u128, n_parts: u64) -> JobStatus {
        let n = BoardSize::try_from(18).expect("a board");
        let progress = Progress { n_subproblems, ..Progress::default() };
        JobStatus { progress, n_parts, ..JobStatus::new(JobId(3), n, Method::Search, JobState::Done) }
    }

    #[test]
    fn a_certificate_is_as_large_as_its_job_can_make_it() {
        let bytes = |job: &JobStatus, second: Option<&JobStatus>| Limit::of_passes(job, second).bytes;
        assert_eq!(bytes(&job(0, 0), None), 1 << 20);
        assert_eq!(bytes(&job(849, 100), None), (1 << 20) + 949 * 2047);
        assert_eq!(bytes(&job(849, 100), Some(&job(51, 0))), (1 << 20) + 1000 * 2047);
        for n_subproblems in [1 << 32, u128::MAX] {
            assert_eq!(bytes(&job(n_subproblems, u64::MAX), Some(&job(n_subproblems, 1))), LARGEST);
        }
        assert!(
            Limit::of_passes(&job(849, 0), None)
                .to_string()
                .contains("of job 3 can have, of 849 subproblems")
        );
        assert!(Limit::of_passes(&job(1 << 40, 0), None).to_string().contains("'queens-coordinator export'"));
    }
}
