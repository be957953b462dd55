//! The coordinator: the ledger, its store and the order of things that the event loop keeps, without its thread.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use queens_ledger::{Effects, Ledger, Refusal};
use queens_messages::{Failure, Hello, JobId, JobState, Name, Priority, Report, ToWorker, WorkerId};
use queens_solver::BoardSize;

use super::disk::{Disk, puzzle};
use super::puzzle::Puzzle;
use super::witness::Witness;
use super::worker::Worker;

/// What waits in the event loop's queue.
#[derive(Debug)]
pub(crate) enum Command {
    Submit(BoardSize),
    Cancel(JobId),
    Planned(JobId),
    Connect { hello: Hello, link: u64 },
    Report { worker: WorkerId, link: u64, report: Report },
    Failure { worker: WorkerId, link: u64, failure: Failure },
    Operate(Operation),
    Goodbye { worker: WorkerId, link: u64 },
    Disconnect { worker: WorkerId, link: u64 },
    Tick,
}

/// What an operator decides, which may be refused: the job is over, the worker gone.
#[derive(Clone, Debug)]
pub(crate) enum Operation {
    Pause(JobId),
    Resume(JobId),
    Priority(JobId, Priority),
    Drain(String),
    Block(String),
    Unblock(String),
}

/// What the coordinator asks of the world.
#[derive(Debug)]
pub(crate) enum Request {
    Send {
        link: u64,
        message: ToWorker,
    },
    /// The worker is not listened to any more.
    Close {
        link: u64,
    },
    Plan(JobId),
    /// Nothing goes on until the store can be written again.
    Retry,
    /// The process is dead.
    Die,
}

/// One process of the coordinator.
#[derive(Debug)]
pub(crate) struct Coordinator {
    ledger: Ledger,
    /// The latest time that the ledger was told.
    now: Duration,
    queue: VecDeque<Command>,
    sessions: BTreeMap<WorkerId, u64>,
    /// Could not be written yet.
    unwritten: Option<Effects>,
    /// How many more messages it sends before it dies, if it is to die after its next commit.
    pub(crate) dies_after: Option<u64>,
}

/// What the coordinator works with and is watched through.
pub(crate) struct Surroundings<'a> {
    pub(crate) puzzles: &'a [Puzzle],
    pub(crate) disk: &'a mut Disk,
    pub(crate) witness: &'a mut Witness,
    pub(crate) workers: &'a BTreeMap<WorkerId, Worker>,
    pub(crate) requests: Vec<Request>,
}

impl Coordinator {
    pub(crate) fn start(around: &mut Surroundings<'_>) -> Self {
        let stored = around.disk.load();
        around.witness.restart(around.disk, stored.epoch);
        let ledger = Ledger::restore(stored).expect("what was stored can be gone on with");
        let mut coordinator = Self {
            ledger,
            now: Duration::ZERO,
            queue: VecDeque::new(),
            sessions: BTreeMap::new(),
            unwritten: None,
            dies_after: None,
        };
        coordinator.carry_out(around);
        coordinator
    }

    pub(crate) fn push(&mut self, command: Command) {
        self.queue.push_back(command);
    }

    pub(crate) fn is_blocked(&self) -> bool {
        self.unwritten.is_some()
    }

    pub(crate) fn is_idle(&self) -> bool {
        self.queue.is_empty() && !self.ledger.has_leases()
    }

    pub(crate) fn has_failed_jobs(&self) -> bool {
        self.ledger.jobs().iter().any(|job| job.state == JobState::Failed)
    }

    pub(crate) fn has_workers(&self) -> bool {
        self.ledger.has_workers()
    }

    pub(crate) fn has_leases(&self) -> bool {
        self.ledger.has_leases()
    }

    /// Plays all that waits to the ledger, then does what that wants done.
    pub(crate) fn run(&mut self, now: Duration, around: &mut Surroundings<'_>) {
        if self.is_blocked() {
            return;
        }
        while let Some(command) = self.queue.pop_front() {
            self.apply(now, command, around);
        }
        self.carry_out(around);
    }

    /// Writes again what could not be written.
    pub(crate) fn retry(&mut self, around: &mut Surroundings<'_>) {
        if self.is_blocked() {
            self.carry_out(around);
        }
    }

    fn apply(&mut self, now: Duration, command: Command, around: &mut Surroundings<'_>) {
        self.now = self.now.max(now);
        match command {
            Command::Submit(n) => _ = self.ledger.submit(n, 0),
            Command::Cancel(job) => {
                let was_over = around.disk.is_over(job) || self.is_complete(job, around);
                if self.ledger.cancel(now, job).is_ok() && !was_over {
                    around.witness.cancelled(job);
                }
            }
            Command::Planned(job) => {
                self.ledger.planned(now, job, puzzle(around.puzzles, job).plan.clone());
                around.witness.planned(job);
            }
            Command::Connect { hello, link } => {
                around.witness.connect(self.now, around.puzzles, &hello);
                self.sessions.insert(hello.worker, link);
                self.ledger.connect(now, hello).expect("its hello is in order");
            }
            Command::Operate(operation) => self.operate(now, &operation),
            Command::Failure { worker, link, failure } => {
                let is_open = self.sessions.get(&worker) == Some(&link);
                if is_open && self.ledger.fail(now, worker, &failure).is_ok() {
                    around.witness.fail(worker, &failure);
                } else {
                    self.send_away(now, worker, link, around);
                }
            }
            Command::Report { worker, link, report } => self.report(now, worker, link, &report, around),
            Command::Goodbye { worker, link } => {
                if self.close(worker, link) {
                    self.ledger.goodbye(now, worker);
                    around.witness.leave(worker);
                }
            }
            Command::Disconnect { worker, link } => {
                if self.close(worker, link) {
                    self.ledger.disconnect(now, worker);
                }
            }
            Command::Tick => {
                for silent in self.ledger.tick(now) {
                    let link = self.sessions.remove(&silent);
                    around.requests.extend(link.map(|link| Request::Close { link }));
                }
            }
        }
    }

    fn is_complete(&self, job: JobId, around: &Surroundings<'_>) -> bool {
        let progress = around.disk.progress(job);
        progress.is_some_and(|progress| around.witness.n_recorded(job) == progress.n_subproblems)
    }

    fn report(
        &mut self,
        now: Duration,
        worker: WorkerId,
        link: u64,
        report: &Report,
        around: &mut Surroundings<'_>,
    ) {
        let is_open = self.sessions.get(&worker) == Some(&link);
        let is_known = is_open && self.ledger.workers().iter().any(|known| known.id == worker);
        let result =
            if is_open { self.ledger.report(now, worker, report) } else { Err(Refusal::Unknown(worker)) };
        let is_accepted = is_known && around.witness.accepts(around.puzzles, report);
        let expected = is_accepted.then(|| {
            let outcomes = result.as_deref().unwrap_or_default();
            around.witness.report(self.now, worker, report, outcomes)
        });
        match (&result, expected) {
            (Ok(outcomes), Some(expected)) => assert_eq!(outcomes, &expected, "outcomes of {report:?}"),
            (Err(_), None) => {}
            (result, expected) => panic!("{result:?} instead of {expected:?} for {report:?}"),
        }
        if result.is_err() {
            self.send_away(now, worker, link, around);
        }
    }

    fn operate(&mut self, now: Duration, operation: &Operation) {
        _ = match operation {
            Operation::Pause(job) => self.ledger.pause(now, *job).is_ok(),
            Operation::Resume(job) => self.ledger.resume(now, *job).is_ok(),
            Operation::Priority(job, priority) => self.ledger.set_priority(now, *job, *priority).is_ok(),
            Operation::Drain(name) => self.ledger.drain(now, &Name::of_any(name)).is_ok(),
            Operation::Block(name) => self.ledger.block(now, &Name::of_any(name)) > 0,
            Operation::Unblock(name) => self.ledger.unblock(now, &Name::of_any(name)).is_ok(),
        };
    }

    fn send_away(&mut self, now: Duration, worker: WorkerId, link: u64, around: &mut Surroundings<'_>) {
        if self.close(worker, link) {
            self.ledger.disconnect(now, worker);
        }
        around.requests.push(Request::Close { link });
    }

    /// Forgets a session, unless the worker has begun another since.
    fn close(&mut self, worker: WorkerId, link: u64) -> bool {
        let is_open = self.sessions.get(&worker) == Some(&link);
        if is_open {
            self.sessions.remove(&worker);
        }
        is_open
    }

    /// First makes durable, then tells, as the event loop does.
    fn carry_out(&mut self, around: &mut Surroundings<'_>) {
        loop {
            let effects = self.unwritten.take().unwrap_or_else(|| self.ledger.take_effects());
            let failed =
                !effects.writes.is_empty() && around.disk.commit(around.puzzles, &effects.writes).is_err();
            if failed {
                self.unwritten = Some(effects);
                return around.requests.push(Request::Retry);
            }
            self.check(around);
            for (worker, message) in effects.messages {
                if let Some(left) = &mut self.dies_after {
                    if *left == 0 {
                        return around.requests.push(Request::Die);
                    }
                    *left -= 1;
                }
                self.send(worker, message, around);
            }
            if self.dies_after.is_some() && !effects.writes.is_empty() {
                return around.requests.push(Request::Die);
            }
            around.requests.extend(effects.plans.into_iter().map(|(job, _)| Request::Plan(job)));
            let known: BTreeSet<WorkerId> = self.ledger.workers().iter().map(|worker| worker.id).collect();
            around.witness.keep_leases_of(&known);
            around.witness.check_leases();
            around.witness.check_comparisons(&effects.comparisons);
            if effects.comparisons.is_empty() {
                return;
            }
            for comparison in &effects.comparisons {
                let recorded = around.disk.find(comparison.job, comparison.span);
                self.ledger.compared(comparison, recorded.as_ref());
                around.witness.compare(comparison, recorded.as_ref());
            }
        }
    }

    fn send(&self, worker: WorkerId, message: ToWorker, around: &mut Surroundings<'_>) {
        let session = self.sessions.get(&worker);
        if let ToWorker::Lease(lease) = &message {
            around.witness.grant(self.now, worker, lease);
        }
        // Without a session, the ledger's word on what is *not* held still counts.
        let is_told = session.is_some() || matches!(message, ToWorker::Shorten { .. } | ToWorker::Cancel(_));
        if is_told {
            let unacknowledged = around.workers.get(&worker).map(|worker| &worker.unacknowledged[..]);
            around.witness.tell(around.disk, worker, unacknowledged.unwrap_or_default(), &message);
        }
        if let Some(&link) = session {
            around.requests.push(Request::Send { link, message });
        }
    }

    /// What the ledger says of its jobs is what is durable, and what the witness has seen.
    fn check(&self, around: &Surroundings<'_>) {
        for status in self.ledger.jobs() {
            let job = status.id;
            let durable = around.disk.progress(job).unwrap_or_default();
            assert_eq!(status.progress, durable, "progress of job {job}");
            assert_eq!(durable.n_recorded, around.witness.n_recorded(job), "reports on job {job}");
            let compared = around.witness.compared(job);
            let row = &around.disk.rows[&job];
            assert_eq!(
                (row.n_verified, row.n_disputed, status.n_disputed),
                (compared.n_verified, compared.n_disputed, compared.n_disputed),
                "comparisons of job {job}"
            );
        }
    }
}
