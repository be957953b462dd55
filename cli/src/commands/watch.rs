//! `queens watch`: follows a job until it ends.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use queens_model::JobState;
use queens_model::json::Job;
use queens_platform::is_screen;
use queens_program::{Output, print_some, stdout, stop_on_signal};
use tokio_util::sync::CancellationToken;

use crate::connect::watch_job;
use crate::flags::JobArgs;
use crate::present::job::line;
use crate::present::progress::{Progress, Showing};

/// The minimum interval between two lines.
const LINE: Duration = Duration::from_secs(1);

/// Runs the command. The exit status is 0 if the job is done, 1 if it ends otherwise.
pub(crate) async fn run(args: &JobArgs) -> anyhow::Result<ExitCode> {
    let stop = stop_on_signal()?;
    let operator = args.remote.connect().await?;
    let bar_instead = is_screen(&stdout()?) && args.remote.output() == Output::Text;
    let mut progress = Progress::new(if bar_instead { Showing::Bar } else { Showing::None });
    let (mut failed, mut printed) = (None, None);
    let unread = CancellationToken::new();
    let watching = watch_job(&operator, args.job, |job, store_error| {
        progress.show(job, store_error);
        if bar_instead && !job.state.is_over() {
            return;
        }
        // A line must have news, and appears at most once a second.
        let news = (job.state_text(), job.progress.n_recorded, job.n_workers);
        let is_old = printed
            .as_ref()
            .is_some_and(|(before, at): &(_, Instant)| *before == news || at.elapsed() < LINE);
        if is_old && !job.state.is_over() {
            return;
        }
        printed = Some((news, Instant::now()));
        progress.clear();
        let line = match args.remote.output() {
            Output::Json => serde_json::to_string(&Job::of(job, store_error)).map_err(Into::into),
            Output::Text => Ok(line(job)),
        };
        match line.and_then(|line| print_some(&line)) {
            Ok(true) => {}
            Ok(false) => unread.cancel(),
            Err(error) => {
                failed = Some(error);
                unread.cancel();
            }
        }
    });
    let job = tokio::select! {
        biased;
        () = stop.cancelled() => None,
        () = unread.cancelled() => None,
        job = watching => Some(job?),
    };
    progress.clear();
    match (failed, job) {
        (Some(error), _) => Err(error),
        (None, Some(job)) if job.state == JobState::Done => Ok(ExitCode::SUCCESS),
        // A reader that closes the pipe is no failure of the job.
        (None, None) if unread.is_cancelled() => Ok(ExitCode::SUCCESS),
        (None, _) => Ok(ExitCode::FAILURE),
    }
}
