//! `queens watch`: follows a job until it ends.

use std::io;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use queens_model::json::Job;
use queens_model::{JobState, JobStatus};
use queens_platform::{has_reader, is_screen};
use queens_program::{Output, print_some, stdout, stop_on_signal};
use tokio_util::sync::CancellationToken;

use crate::connect::watch_job;
use crate::flags::JobArgs;
use crate::present::job::line;
use crate::present::progress::{Progress, Showing};

/// The minimum interval between two lines on the progress of one state.
const LINE: Duration = Duration::from_mins(1);

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
        if !has_reader(&io::stdout()) {
            return unread.cancel();
        }
        let due = printed
            .as_ref()
            .is_none_or(|(before, at): &(JobStatus, Instant)| is_due(before, job, at.elapsed()));
        if !due {
            return;
        }
        printed = Some((job.clone(), Instant::now()));
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

/// Returns whether a job has changed enough for a line, this long after the last one.
fn is_due(before: &JobStatus, now: &JobStatus, since: Duration) -> bool {
    let progress =
        |job: &JobStatus| (job.state_text(), job.progress.n_recorded, job.n_workers, job.waits_for.clone());
    before.state != now.state || (since >= LINE && progress(before) != progress(now))
}

#[cfg(test)]
mod tests {
    use queens_model::JobId;
    use queens_solver::{BoardSize, Method};

    use super::*;

    #[test]
    fn a_pipe_gets_a_line_a_minute_and_each_change_of_the_state() {
        let n = BoardSize::new(19).expect("a board size");
        let before = JobStatus::new(JobId(1), n, Method::Search, JobState::Running);
        let mut now = before.clone();
        assert!(!is_due(&before, &now, 2 * LINE), "nothing is new");
        now.progress.n_recorded = 7;
        assert!(!is_due(&before, &now, LINE / 2) && is_due(&before, &now, LINE));
        now.state = JobState::Done;
        assert!(is_due(&before, &now, Duration::ZERO));
    }
}
