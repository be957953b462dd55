//! Counts the symmetric placements of finished boards, computes the fundamental counts by Burnside's lemma, and finds
//! contradictory totals. A thread does it.
//!
//! The published numbers have no part in it. The search takes a second at n = 25, a minute or two at 28, and hours at
//! 32. It runs only for finished boards, once for each in a process, the smallest first.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use queens_model::{JobId, JobState, JobStatus};
use queens_solver::{BoardSize, fundamental, half_turn, quarter_turn};
use tokio::sync::mpsc;
use tokio::time::Instant;
use tracing::error;

use crate::command::{self, Command, Symmetric};

/// The delay before a failed start of a thread is retried.
const RETRY: Duration = Duration::from_secs(1);

/// The symmetric placements of finished boards, as far as they are counted.
pub(crate) struct SymmetricCounts {
    commands: mpsc::WeakSender<Command>,
    wanted: BTreeSet<BoardSize>,
    searching: Option<BoardSize>,
    /// `None` for a board on which the search has failed.
    known: BTreeMap<BoardSize, Option<Symmetric>>,
    /// Jobs whose counts contradict the symmetric ones, so that each is reported once.
    contradicted: BTreeSet<JobId>,
    stop: Arc<AtomicBool>,
    retry: Option<Instant>,
}

impl SymmetricCounts {
    pub(crate) fn new(commands: mpsc::WeakSender<Command>) -> Self {
        Self {
            commands,
            wanted: BTreeSet::new(),
            searching: None,
            known: BTreeMap::new(),
            contradicted: BTreeSet::new(),
            stop: Arc::default(),
            retry: None,
        }
    }

    /// Adds the number of fundamental placements to all finished jobs, if known, and starts the search for the others.
    /// Returns the jobs that are newly found to contradict the lemma.
    pub(crate) fn complete(&mut self, jobs: &mut [JobStatus]) -> Vec<JobId> {
        let mut contradicted = Vec::new();
        for job in jobs.iter_mut().filter(|job| job.state == JobState::Done && !job.is_part()) {
            match self.known.get(&job.n) {
                None => _ = self.wanted.insert(job.n),
                Some(None) => {}
                Some(Some(Symmetric { half_turn, quarter_turn })) => {
                    job.fundamental = fundamental(job.n, job.progress.solutions, *half_turn, *quarter_turn);
                    if job.fundamental.is_none() && self.contradicted.insert(job.id) {
                        contradicted.push(job.id);
                    }
                }
            }
        }
        self.start();
        contradicted
    }

    /// Handles the end of a search.
    pub(crate) fn ended(&mut self, n: BoardSize, found: Option<Symmetric>) {
        if found.is_none() {
            error!(%n, "the search for symmetric placements has failed");
        }
        self.searching = None;
        self.wanted.remove(&n);
        self.known.insert(n, found);
        self.start();
    }

    /// Stops searching.
    pub(crate) fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    fn start(&mut self) {
        let Some(&n) = self.wanted.first() else { return };
        if self.searching.is_some() || self.retry.is_some_and(|at| Instant::now() < at) {
            return;
        }
        let stop = self.stop.clone();
        let search = move || search(n, &stop);
        let ended = move |found| Command::SymmetricCounted { n, found };
        match command::start(format!("turns-{n}"), &self.commands, search, ended) {
            Ok(()) => (self.searching, self.retry) = (Some(n), None),
            Err(error) => {
                error!(%n, %error, "failed to start a thread that looks for symmetric placements; it is tried again");
                self.retry = Some(Instant::now() + RETRY);
            }
        }
    }
}

fn search(n: BoardSize, stop: &AtomicBool) -> Option<Symmetric> {
    Some(Symmetric { half_turn: half_turn(n, stop)?, quarter_turn: quarter_turn(n, stop)? })
}

#[cfg(test)]
mod tests {
    use queens_model::Progress;
    use queens_solver::{Method, published};

    use super::*;

    fn done(id: u64, n: BoardSize, solutions: u128) -> JobStatus {
        JobStatus {
            progress: Progress { solutions, ..Progress::default() },
            ..JobStatus::new(JobId(id), n, Method::Search, JobState::Done)
        }
    }

    /// Runs all searches that these jobs need, like the event loop.
    fn complete(jobs: &mut [JobStatus]) -> Vec<JobId> {
        let (sender, mut commands) = mpsc::channel(64);
        let mut symmetric_counts = SymmetricCounts::new(sender.downgrade());
        let mut contradicted = symmetric_counts.complete(jobs);
        while symmetric_counts.searching.is_some() {
            let Some(Command::SymmetricCounted { n, found }) = commands.blocking_recv() else {
                panic!("something else has ended")
            };
            symmetric_counts.ended(n, found);
            contradicted.extend(symmetric_counts.complete(jobs));
        }
        assert!(symmetric_counts.complete(jobs).is_empty(), "said once");
        contradicted
    }

    #[test]
    fn published_numbers_are_found_again() {
        let solutions = |n| published(n).expect("published").solutions;
        let mut jobs: Vec<_> =
            BoardSize::range(0, 16).map(|n| done(u64::from(n.get()), n, solutions(n))).collect();
        assert_eq!(complete(&mut jobs), []);
        for job in jobs {
            assert_eq!(job.fundamental, published(job.n).map(|counts| counts.fundamental), "n = {}", job.n);
        }
    }

    #[test]
    fn it_follows_from_what_was_counted_and_not_from_what_was_published() {
        let n = BoardSize::new(12).expect("a board size");
        let mut jobs = [done(1, n, 14_200), done(2, n, 14_208), done(3, n, 14_201)];
        jobs[0].state = JobState::Running;
        assert_eq!(complete(&mut jobs), [JobId(3)]);
        assert_eq!(jobs.map(|job| job.fundamental), [None, Some(1788), None]);
    }
}
