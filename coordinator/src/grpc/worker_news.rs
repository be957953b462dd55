//! What the coordinator tells the people who run workers: which version to install, and why there is nothing to count.

use std::sync::Arc;
use std::time::Duration;

use queens_event_loop::{Handle, Snapshot};
use queens_model::{JobState, Notice, PageUrl, ToWorker};
use queens_platform::VERSION;
use tokio::sync::watch;
use tonic::Status;

use crate::access::Authenticator;

/// The interval between looks at the jobs. A job that lasts less changes nothing for people.
const LOOK_AGAIN: Duration = Duration::from_secs(2);

/// What a drained worker is told.
const DRAINED: &str = "the operator has drained this worker: it reports its counts and ends";

/// News for the workers of all sessions; cheap to clone.
#[derive(Clone, Debug)]
pub(super) struct WorkerNews {
    /// The page about the count and its programs.
    about: Option<PageUrl>,
    to_wait: watch::Receiver<Option<Notice>>,
}

impl WorkerNews {
    /// Starts to follow the jobs, until the last session has ended.
    pub(super) fn start(handle: Handle, authenticator: Authenticator, about: Option<PageUrl>) -> Self {
        let (sender, to_wait) = watch::channel(None);
        let of = about.clone();
        tokio::spawn(async move {
            while !sender.is_closed() {
                let text = reason_to_wait(&handle.snapshot(), authenticator.have_campaigns_ended());
                let notice = Notice { text: text.to_owned(), url: of.clone(), is_reason_to_wait: true };
                sender.send_if_modified(|known| {
                    known.replace(notice.clone()).is_none_or(|known| known != notice)
                });
                tokio::time::sleep(LOOK_AGAIN).await;
            }
        });
        Self { about, to_wait }
    }

    /// Returns the notice for a worker of this version, if a newer one is wanted.
    pub(super) fn of_version(&self, build: &str) -> Option<Notice> {
        let is_older = release(build).zip(release(VERSION)).is_some_and(|(its, ours)| its < ours);
        let text = || {
            format!("this worker has version {build}, and the coordinator {VERSION}: a newer one is there")
        };
        is_older.then(|| Notice { text: text(), url: self.about.clone(), is_reason_to_wait: false })
    }

    /// Adds to a refusal which version to install.
    pub(super) fn unsupported(&self, refusal: &Status) -> Status {
        let page = self.about.as_ref().map(|url| format!(" (see {url})")).unwrap_or_default();
        let text = format!("{}; install version {VERSION} of the programs{page}", refusal.message());
        Status::new(refusal.code(), text)
    }

    /// Returns the notice for a message, with the page, if people need one.
    pub(super) fn about(&self, message: &ToWorker) -> Option<Notice> {
        let text = match message {
            ToWorker::Drain => DRAINED.to_owned(),
            ToWorker::Notice(text) => text.clone(),
            _ => return None,
        };
        Some(Notice { text, url: self.about.clone(), is_reason_to_wait: false })
    }

    /// Waits until there is another reason to wait than the last one that was taken. Cancel safe.
    pub(super) async fn changed(&mut self) {
        if self.to_wait.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
    }

    /// Takes the reason for which a worker without leases has nothing to count.
    pub(super) fn reason_to_wait(&mut self) -> Option<Notice> {
        self.to_wait.borrow_and_update().clone()
    }

    /// Makes the present reason one that was not told yet.
    pub(super) fn begin(&mut self) {
        self.to_wait.mark_changed();
    }
}

/// Returns why a worker without leases has nothing to count.
fn reason_to_wait(snapshot: &Arc<Snapshot>, have_campaigns_ended: bool) -> &'static str {
    // A failed or disputed job still waits for somebody.
    let is_open = |state: &JobState| !matches!(state, JobState::Done | JobState::Cancelled);
    let open: Vec<JobState> = snapshot.jobs.iter().map(|job| job.state).filter(is_open).collect();
    let are_all = |states: &[JobState]| open.iter().all(|state| states.contains(state));
    if snapshot.store_error.is_some() {
        "the coordinator can't record counts at present"
    } else if open.is_empty() && have_campaigns_ended {
        "the campaign has ended, and all its jobs are counted: thank you! You may stop this worker"
    } else if open.is_empty() {
        "there is no job at present: this worker waits for the next"
    } else if are_all(&[JobState::Paused]) {
        "the operator has paused all jobs"
    } else if are_all(&[JobState::Failed, JobState::Disputed, JobState::Damaged, JobState::Paused]) {
        "the jobs wait for their operator, or for other workers"
    } else if are_all(&[JobState::Planning, JobState::Paused, JobState::Failed, JobState::Damaged]) {
        "the next job is being planned"
    } else {
        "all that is left of the jobs is for other workers, which hold it or have to recount it"
    }
}

/// Returns the numbers of a version, such as "0.3.0" or "0.3.0+1a2b3c4d5e6f"; `None` if it has others.
fn release(version: &str) -> Option<[u64; 3]> {
    let numbers = version.split(['+', '-']).next().unwrap_or_default();
    let numbers: Vec<u64> = numbers.split('.').map(str::parse).collect::<Result<_, _>>().ok()?;
    numbers.try_into().ok()
}

#[cfg(test)]
mod tests {
    use queens_model::{JobId, JobStatus};
    use queens_solver::{BoardSize, Method};

    use super::*;

    #[test]
    fn a_worker_is_told_what_it_waits_for() {
        let check = |states: &[JobState], ended: bool, expected: &str| {
            let job =
                |state| JobStatus::new(JobId(1), BoardSize::new(8).expect("a board"), Method::Search, state);
            let jobs = states.iter().copied().map(job).collect();
            let found = reason_to_wait(&Arc::new(Snapshot { jobs, ..Snapshot::default() }), ended);
            assert!(found.contains(expected), "{states:?}: {found}");
        };
        check(&[], false, "there is no job at present");
        check(&[JobState::Done, JobState::Cancelled], false, "there is no job at present");
        check(&[JobState::Done], true, "thank you");
        check(&[JobState::Running], true, "is for other workers");
        check(&[JobState::Done, JobState::Paused], true, "has paused all jobs");
        check(&[JobState::Failed, JobState::Paused], false, "wait for their operator");
        check(&[JobState::Planning, JobState::Paused], false, "being planned");
        check(&[JobState::Planning, JobState::Verifying], false, "is for other workers");
    }

    #[test]
    fn workers_that_are_drained_or_blocked_are_told_of_the_page() {
        let about: Option<PageUrl> = "https://a/b".parse().ok();
        let news = WorkerNews { about, to_wait: watch::channel(None).1 };
        let told = |message| news.about(&message).map(|notice| notice.to_string());
        assert_eq!(told(ToWorker::Drain), Some(format!("{DRAINED} (see https://a/b)")));
        let blocked = ToWorker::Notice("the name is blocked".to_owned());
        assert_eq!(told(blocked).as_deref(), Some("the name is blocked (see https://a/b)"));
        assert_eq!(told(ToWorker::Farewell), None);
    }

    #[tokio::test]
    async fn only_older_versions_are_told_of_a_newer_one() {
        let about: Option<PageUrl> = "https://a/b".parse().ok();
        let news = WorkerNews { about, to_wait: watch::channel(None).1 };
        let told = news.of_version("0.0.9+abc").expect("older").to_string();
        let expected = format!(
            "version 0.0.9+abc, and the coordinator {VERSION}: a newer one is there (see https://a/b)"
        );
        assert!(told.ends_with(&expected), "{told}");
        for build in [VERSION, "1000.0.0", "test", "", "0.1", "0.0.0.1", "-1.0.0"] {
            assert_eq!(news.of_version(build), None, "{build}");
        }
        let refused = news.unsupported(&Status::failed_precondition("protocol version 2 is not supported"));
        let expected = format!(
            "protocol version 2 is not supported; install version {VERSION} of the programs (see https://a/b)"
        );
        assert_eq!(refused.message(), expected);
    }
}
