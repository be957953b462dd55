//! Makes plans on threads of their own, so that planning a large n blocks nobody.
//!
//! A plan depends only on its board, method and pass. So each is made once and then kept: 99 at most, for any number of
//! jobs. Boards with similar planning times share a [`lane`]: they are planned one after another, the smallest first.
//! Boards that take seconds never wait for one that takes hours. So at most [`LANES`] plans are made at a time, and a
//! board is planned after smaller ones, never after a larger one that has not begun.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use queens_model::{Fraction, JobId};
use queens_solver::{BoardSize, Method, Pass, Plan, PlanProgress};
use tokio::sync::mpsc;
use tokio::time::Instant;
use tracing::error;

use crate::command::{self, Command};

/// The maximum number of plans that are made at the same time.
const LANES: usize = 3;

/// The delay before a failed start is retried.
const RETRY: Duration = Duration::from_secs(1);

/// The properties that determine a plan.
type Board = (BoardSize, Method, Pass);

/// Returns the lane of a board: planning takes seconds, minutes, or hours.
fn lane((n, method, _): Board) -> usize {
    match (method, n.get()) {
        (Method::Halves, _) | (Method::Search, 0..=27) => 0,
        (Method::Search, 28..=29) => 1,
        (Method::Search, _) => LANES - 1,
    }
}

/// The finished, running and queued plans.
pub(crate) struct Planners {
    n_threads: NonZeroUsize,
    commands: mpsc::WeakSender<Command>,
    /// The jobs without a plan, by their boards.
    waiting: BTreeMap<Board, BTreeSet<JobId>>,
    making: BTreeMap<Board, Making>,
    made: BTreeMap<Board, Arc<Plan>>,
    /// The time to retry a failed start of a thread.
    retry: Option<Instant>,
}

/// A plan in progress.
#[derive(Default)]
struct Making {
    /// Stops the threads that make it.
    stop: Arc<AtomicBool>,
    progress: Arc<PlanProgress>,
}

impl Planners {
    pub(crate) fn new(n_threads: NonZeroUsize, commands: mpsc::WeakSender<Command>) -> Self {
        Self {
            n_threads,
            commands,
            waiting: BTreeMap::new(),
            making: BTreeMap::new(),
            made: BTreeMap::new(),
            retry: None,
        }
    }

    /// Queues a job for the plan of its board.
    pub(crate) fn add(&mut self, job: JobId, board: Board) {
        self.waiting.entry(board).or_default().insert(job);
        self.start();
    }

    /// Removes a job from the queue. Stops making a plan that no other job needs.
    pub(crate) fn remove(&mut self, job: JobId) {
        let Some((&board, jobs)) = self.waiting.iter_mut().find(|(_, jobs)| jobs.contains(&job)) else {
            return;
        };
        jobs.remove(&job);
        if jobs.is_empty() {
            self.waiting.remove(&board);
            if let Some(making) = self.making.get(&board) {
                making.stop.store(true, Ordering::Relaxed);
            }
        }
    }

    /// Handles the end of a thread, which returns its plan unless it was stopped or failed.
    pub(crate) fn ended(&mut self, board: Board, plan: Option<Plan>) {
        let making = self.making.remove(&board);
        match plan {
            Some(plan) => _ = self.made.insert(board, Arc::new(plan)),
            None if making.is_some_and(|making| making.stop.load(Ordering::Relaxed)) => {}
            None => {
                let (n, method, _) = board;
                error!(%n, %method, "a thread that makes a plan has failed; it is tried again");
                self.retry = Some(Instant::now() + RETRY);
            }
        }
        self.start();
    }

    /// Waits until a failed start can be retried.
    pub(crate) async fn wait_for_retry(&self) {
        match self.retry {
            Some(at) => tokio::time::sleep_until(at).await,
            None => std::future::pending().await,
        }
    }

    /// Returns whether [`take`](Self::take) has a job.
    pub(crate) fn is_ready(&self) -> bool {
        self.waiting.keys().any(|board| self.made.contains_key(board))
    }

    /// Removes a job whose plan is ready from the queue, and returns both.
    pub(crate) fn take(&mut self) -> Option<(JobId, Arc<Plan>)> {
        let (board, plan) = self.made.iter().find(|(board, _)| self.waiting.contains_key(board))?;
        let (board, plan) = (*board, plan.clone());
        let job = self.waiting.get_mut(&board).and_then(BTreeSet::pop_first)?;
        self.waiting.retain(|_, jobs| !jobs.is_empty());
        Some((job, plan))
    }

    /// Returns the number of plans to make before that of this board; `None` if it is running or finished.
    pub(crate) fn n_before(&self, board: Board) -> Option<usize> {
        let is_begun = |board: &Board| self.made.contains_key(board) || self.making.contains_key(board);
        if is_begun(&board) {
            return None;
        }
        let in_lane = |other: &&Board| lane(**other) == lane(board);
        let smaller = self.waiting.keys().filter(in_lane).filter(|other| **other < board && !is_begun(other));
        Some(smaller.count() + self.making.keys().filter(in_lane).count())
    }

    /// Returns whether any plan is in progress.
    pub(crate) fn is_making(&self) -> bool {
        !self.making.is_empty()
    }

    /// Returns the finished share of this board's plan, which is below 1 until all is done; `None` unless it is in
    /// progress.
    pub(crate) fn share_made(&self, board: Board) -> Option<Fraction> {
        let progress = &self.making.get(&board)?.progress;
        // After the last part, the work must still be estimated.
        let share = progress.n_planned() as f64 / progress.n_parts().max(1) as f64;
        Fraction::try_from(share.min(0.999)).ok()
    }

    /// Starts threads for the next boards.
    pub(crate) fn start(&mut self) {
        if self.retry.is_some_and(|at| Instant::now() < at) {
            return;
        }
        self.retry = None;
        for lane in 0..LANES {
            let in_lane = |board: &&Board| self::lane(**board) == lane;
            let is_busy = self.making.keys().any(|board| in_lane(&board));
            let next = self.waiting.keys().filter(in_lane).find(|board| !self.made.contains_key(board));
            if let Some(&board) = next.filter(|_| !is_busy) {
                self.make(board);
            }
        }
    }

    /// Makes a plan on a thread of its own, which sends it as a command.
    fn make(&mut self, board: Board) {
        let (n, method, pass) = board;
        let making = Making::default();
        let (stop, progress) = (making.stop.clone(), making.progress.clone());
        let n_threads = self.n_threads;
        // Nothing of a plan is used after a panic.
        let make = move || Plan::with_progress(n, method, pass, n_threads, &stop, &progress);
        let ended = move |plan| Command::PlanEnded { board, plan };
        match command::start(format!("plan-{n}-{method}"), &self.commands, make, ended) {
            Ok(()) => _ = self.making.insert(board, making),
            Err(error) => {
                error!(%n, %method, %error, "failed to start a thread that makes a plan; it is tried again");
                self.retry = Some(Instant::now() + RETRY);
            }
        }
    }

    /// Stops all plans in progress.
    pub(crate) fn stop_all(&mut self) {
        for making in self.making.values() {
            making.stop.store(true, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn ended(commands: &mut mpsc::Receiver<Command>) -> (Board, Option<Plan>) {
        match commands.recv().await {
            Some(Command::PlanEnded { board, plan }) => (board, plan),
            _ => panic!("something else instead of a plan"),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_plan_that_failed_is_made_later() {
        let (sender, mut commands) = mpsc::channel(1);
        let mut planners = Planners::new(NonZeroUsize::MIN, sender.downgrade());
        let board = (BoardSize::new(8).expect("a board size"), Method::Search, Pass::First);
        planners.add(JobId(1), board);
        let (_, plan) = ended(&mut commands).await;
        assert!(plan.is_some());
        // As if the thread had not started, or had panicked.
        planners.ended(board, None);
        planners.add(JobId(2), board);
        assert!(planners.making.is_empty() && planners.n_before(board) == Some(0), "not at once");
        planners.wait_for_retry().await;
        planners.start();
        let (board, plan) = ended(&mut commands).await;
        planners.ended(board, plan);
        assert_eq!(
            [planners.take(), planners.take()].map(|taken| taken.map(|(job, _)| job.0)),
            [Some(1), Some(2)]
        );
        assert!(planners.take().is_none() && !planners.is_ready());
    }
}
