//! Workers: who is connected, what they report, and what becomes of their leases when they go.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use queens_proto::{Delta, Held, Hello, JobId, LeaseId, Report, ToWorker, WorkerId};
use queens_solver::{Count, DECOMPOSITION_VERSION, Span};
use thiserror::Error;

use super::failure::Failures;
use super::job::Overlap;
use super::operator::blocked_notice;
use super::schedule::{Power, is_running};
use super::{Comparison, Ledger, LiveLease, Loss};
use crate::store::{MAX_COUNT, MAX_DURATION, Phase, Record, Source};

/// A worker not heard of for this long has its leases taken back.
pub(super) const SILENCE: Duration = Duration::from_secs(15);

/// The same for a worker whose connection is gone: long enough to come back after a hiccup.
const GRACE: Duration = Duration::from_secs(4);

/// How much of a thread's past its rate for sizing leases, and its speed for telling time, go by.
const RATE_SECONDS: f64 = 30.0;
const SPEED_SECONDS: f64 = 300.0;

/// A worker of this coordinator.
#[derive(Clone, Debug)]
pub(crate) struct Member {
    pub(crate) source: Arc<Source>,
    pub(crate) n_threads: u32,
    pub(crate) connected: bool,
    /// When its last message came, or when its connection was lost.
    pub(crate) heard: Duration,
    /// In the order it counts them: the first `n_threads` are running.
    pub(crate) leases: BTreeSet<LeaseId>,
    /// In estimated nodes, because that is what leases are sized in.
    pub(crate) rate: Rate,
    /// In counted nodes, and of the last minutes.
    pub(crate) speed: Rate,
    /// Spans recorded from its reports.
    pub(crate) n_recorded: u64,
    /// Whether a lease of it was taken back as overdue, and nothing has come from it since.
    pub(crate) stuck: bool,
    /// Whether an operator has sent it home.
    pub(crate) draining: bool,
    /// What it failed at since it last reported anything.
    pub(crate) failures: Failures,
}

/// The speed of one thread of a worker lately: nodes over time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rate {
    work: f64,
    seconds: f64,
    memory_seconds: f64,
}

impl Rate {
    /// A guess to start from, which the first second of measurement outweighs; later `memory_seconds` of each thread
    /// count.
    pub(crate) fn guess(nodes_per_second: f64, n_threads: u32, memory_seconds: f64) -> Self {
        let usable = nodes_per_second.is_finite() && nodes_per_second >= 1.0;
        let nodes_per_second = if usable { nodes_per_second } else { 1e7 };
        Self {
            work: nodes_per_second * 0.1,
            seconds: 0.1,
            memory_seconds: memory_seconds * f64::from(n_threads),
        }
    }

    fn add(&mut self, nodes: f64, duration: Duration) {
        self.work += nodes;
        self.seconds += duration.as_secs_f64();
        if self.seconds > self.memory_seconds {
            self.work /= 2.0;
            self.seconds /= 2.0;
        }
    }

    /// Whether there is hardly a measurement yet.
    pub(crate) fn is_guess(self) -> bool {
        self.seconds < 0.12
    }

    /// Nodes per second.
    pub(crate) fn get(self) -> f64 {
        (self.work / self.seconds).max(1.0)
    }
}

/// What became of a reported span.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// It was new and is part of the total.
    Recorded,
    /// All of it was recorded before; it is compared, should it repeat a record exactly. The total is unchanged.
    Repeated,
    /// It overlapped what is recorded, or its job is given up, or its lease is of another coordinator: it was
    /// dropped.
    Discarded,
}

/// Why a worker is not listened to. Its session is to be closed with this reason; nothing it said was recorded.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Refusal {
    /// It numbers subproblems differently.
    #[error(
        "worker has decomposition version {found}, this coordinator needs version {DECOMPOSITION_VERSION}"
    )]
    Decomposition {
        /// The worker's version.
        found: u32,
    },
    /// It can't count.
    #[error("worker offers no threads")]
    NoThreads,
    /// It began with something else.
    #[error("the first message of a session has to be a hello")]
    NoHello,
    /// It said hello in the middle of a session.
    #[error("a second hello in one session")]
    SecondHello,
    /// It reports without having said hello, or after it was given up.
    #[error("worker {0} is not known here and has to say hello first")]
    Unknown(WorkerId),
    /// It reports on a job that does not exist.
    #[error("report on job {0}, which does not exist")]
    UnknownJob(JobId),
    /// It reports subproblems that do not exist.
    #[error("report on {span}, which job {job} does not have")]
    UnknownSpan {
        /// The job.
        job: JobId,
        /// What it reported on.
        span: Span,
    },
    /// It reports counts or a duration that can't be.
    #[error("report on {0} with impossible numbers")]
    Impossible(Span),
}

impl Ledger {
    /// A worker opens a session. It keeps those of its leases that nobody else has taken over.
    ///
    /// # Errors
    /// If it can't be used here.
    pub fn connect(&mut self, now: Duration, hello: Hello) -> Result<(), Refusal> {
        if hello.decomposition != DECOMPOSITION_VERSION {
            return Err(Refusal::Decomposition { found: hello.decomposition });
        }
        if hello.n_threads == 0 {
            return Err(Refusal::NoThreads);
        }
        self.advance(now);
        let worker = hello.worker;
        // What was to be sent in its last session, leases above all, must not arrive in this one.
        self.changes.messages.retain(|(to, _)| *to != worker);
        let known = self.workers.remove(&worker);
        let guess = |memory_seconds| Rate::guess(hello.rate, hello.n_threads, memory_seconds);
        let member = Member {
            source: Arc::new(Source { worker: hello.name, build: hello.build, kernel: hello.kernel }),
            n_threads: hello.n_threads,
            connected: true,
            heard: self.now,
            leases: BTreeSet::new(),
            rate: known.as_ref().map_or(guess(RATE_SECONDS), |known| known.rate),
            speed: known.as_ref().map_or(guess(SPEED_SECONDS), |known| known.speed),
            n_recorded: known.as_ref().map_or(0, |known| known.n_recorded),
            stuck: false,
            draining: known.as_ref().is_some_and(|known| known.draining),
            failures: Failures::default(),
        };
        let (name, draining) = (member.source.worker.clone(), member.draining);
        self.workers.insert(worker, member);
        // What it held and holds no more is free; what it holds and should not, it is told to give up.
        for lease in known.map(|known| known.leases).unwrap_or_default() {
            self.end_lease(lease);
        }
        for held in hello.held {
            self.adopt(worker, held);
        }
        if self.blocked.contains(&name) {
            self.changes.messages.push((worker, blocked_notice(&name)));
        }
        if draining {
            self.changes.messages.push((worker, ToWorker::Drain));
        }
        self.hungry.insert(worker);
        self.power = Power::of(self.workers.values());
        self.feed();
        Ok(())
    }

    /// Lets a worker go on with what is still free of a lease it holds.
    fn adopt(&mut self, worker: WorkerId, held: Held) {
        let is_free = self.is_ours(held.lease) && !self.leases.contains_key(&held.lease);
        let is_wanted = self.workers.get(&worker).is_some_and(|member| !self.is_held_back(member));
        let job = self.jobs.get_mut(&held.job).filter(|job| job.row.phase == Phase::Active && is_free);
        let is_wanted = is_wanted && job.as_ref().is_some_and(|job| !job.row.paused);
        let Some(counting) = job.and_then(|job| job.counting.as_mut()) else {
            return self.changes.messages.push((worker, ToWorker::Cancel(held.lease)));
        };
        let (mut kept, mut lost) = (VecDeque::new(), Vec::new());
        for span in held.spans {
            if !counting.has(span) {
                lost.push(span);
                continue;
            }
            let mut at = span.from();
            for free in counting.free.take(span) {
                lost.extend(Span::new(span.cross(), at, free.from()));
                at = free.to();
                kept.push_back(free);
            }
            lost.extend(Span::new(span.cross(), at, span.to()));
        }
        if kept.is_empty() {
            return self.changes.messages.push((worker, ToWorker::Cancel(held.lease)));
        }
        let work = kept.iter().map(|&span| counting.work(span)).sum();
        if !lost.is_empty() {
            self.changes.messages.push((worker, ToWorker::Shorten { lease: held.lease, spans: lost }));
        }
        let lease = LiveLease {
            id: held.lease,
            job: held.job,
            worker,
            spans: kept,
            work,
            open: None,
            tried: BTreeSet::new(),
            recalled: false,
            heard: self.now,
        };
        self.hold(lease);
        if !is_wanted {
            self.recall(held.lease);
        }
    }

    /// A worker reports. All of it is acknowledged, whatever became of its parts; a mere sign of life is not.
    ///
    /// # Errors
    /// If it makes no sense; then none of it is recorded.
    pub fn report(
        &mut self,
        now: Duration,
        worker: WorkerId,
        report: &Report,
    ) -> Result<Vec<Outcome>, Refusal> {
        self.advance(now);
        let member = self.workers.get_mut(&worker).ok_or(Refusal::Unknown(worker))?;
        member.heard = self.now;
        let source = member.source.clone();
        if !report.deltas.is_empty() {
            member.stuck = false;
            member.failures = Failures::default();
            self.hungry.insert(worker);
        }
        for delta in report.deltas.iter().filter(|delta| self.is_ours(delta.lease)) {
            self.check(delta)?;
        }
        let mut outcomes = Vec::with_capacity(report.deltas.len());
        let mut touched = BTreeSet::new();
        for delta in &report.deltas {
            if !self.is_ours(delta.lease) {
                outcomes.push(Outcome::Discarded);
                continue;
            }
            outcomes.push(self.record(worker, delta, &source));
            touched.insert(delta.job);
        }
        let reported = report.deltas.iter().map(|delta| delta.lease);
        let emptied = reported.filter(|id| self.leases.get(id).is_some_and(|lease| lease.spans.is_empty()));
        for id in emptied.chain(report.finished.iter().copied()).collect::<Vec<_>>() {
            if self.leases.get(&id).is_some_and(|lease| lease.worker == worker) {
                self.end_lease(id);
            }
        }
        if !report.is_empty() {
            self.changes.messages.push((worker, ToWorker::Acknowledge { sequence: report.sequence }));
        }
        touched.into_iter().for_each(|job| self.finish_if_complete(job));
        self.feed();
        Ok(outcomes)
    }

    fn check(&self, delta: &Delta) -> Result<(), Refusal> {
        self.check_span(delta.job, delta.span)?;
        let possible = can_be_recorded(delta.count, delta.duration);
        if possible { Ok(()) } else { Err(Refusal::Impossible(delta.span)) }
    }

    pub(super) fn check_span(&self, id: JobId, span: Span) -> Result<(), Refusal> {
        let job = self.jobs.get(&id).ok_or(Refusal::UnknownJob(id))?;
        // A job without a plan has had no leases, so that there can be no honest report on it.
        let is_there = job.counting.as_ref().is_some_and(|counting| counting.has(span));
        if is_there { Ok(()) } else { Err(Refusal::UnknownSpan { job: id, span }) }
    }

    /// Whether a lease was granted here or by a coordinator that this one follows. What is counted under any other
    /// may be of another board: a worker outlives the coordinator that it began with, and whoever answers at its
    /// address later may know other jobs by the same numbers.
    pub(super) fn is_ours(&self, lease: LeaseId) -> bool {
        (self.first_lease..self.next_lease).contains(&lease.0)
    }

    /// Records one delta that was checked.
    fn record(&mut self, worker: WorkerId, delta: &Delta, source: &Arc<Source>) -> Outcome {
        let Some(job) = self.jobs.get_mut(&delta.job) else { return Outcome::Discarded };
        let Some(counting) = job.counting.as_mut() else { return Outcome::Discarded };
        let work = counting.work(delta.span);
        let mut given_back = Vec::new();
        if let Some(lease) = self.leases.get_mut(&delta.lease).filter(|lease| lease.is_of(worker, delta.job))
        {
            given_back = lease.remove(delta.span);
            lease.work = lease.work.saturating_sub(work);
            lease.heard = self.now;
        }
        if job.row.phase == Phase::Cancelled {
            return Outcome::Discarded;
        }
        match counting.overlap(delta.span) {
            Overlap::Partial => {
                // The worker won't count it again: what is not recorded of it is for somebody else.
                given_back.into_iter().for_each(|span| counting.release(span));
                Outcome::Discarded
            }
            Overlap::Whole => {
                let comparison = Comparison { job: delta.job, span: delta.span, count: delta.count, worker };
                self.changes.comparisons.push(comparison);
                Outcome::Repeated
            }
            Overlap::None => {
                counting.record(delta.span, delta.count);
                if let Some(member) = self.workers.get_mut(&worker) {
                    member.rate.add(work as f64, delta.duration);
                    member.speed.add(delta.count.nodes as f64, delta.duration);
                    member.n_recorded += 1;
                }
                self.write_record(worker, delta, source);
                Outcome::Recorded
            }
        }
    }

    /// Extends the lease's open record if the delta goes on where that ended, or begins a new one.
    fn write_record(&mut self, worker: WorkerId, delta: &Delta, source: &Arc<Source>) {
        let delta_record = Record {
            span: delta.span,
            count: delta.count,
            duration: delta.duration,
            lease: delta.lease,
            source: source.clone(),
        };
        let mut lease = self.leases.get_mut(&delta.lease).filter(|lease| lease.is_of(worker, delta.job));
        let open = lease.as_mut().and_then(|lease| lease.open.take());
        let record = open.and_then(|open| merged(&open, &delta_record)).unwrap_or(delta_record);
        if let Some(lease) = lease {
            lease.open = Some(record.clone());
        }
        self.changes.rows.insert(delta.job);
        self.changes.coverage.insert((delta.job, delta.span.cross()));
        self.changes.records.insert((delta.job, record.span.cross(), record.span.from()), record);
    }

    /// A worker's connection is gone. It keeps its leases for a while, in case it comes back.
    pub fn disconnect(&mut self, now: Duration, worker: WorkerId) {
        self.advance(now);
        self.hungry.remove(&worker);
        if let Some(member) = self.workers.get_mut(&worker) {
            member.connected = false;
            member.heard = self.now;
        }
    }

    /// A worker has left for good.
    pub fn goodbye(&mut self, now: Duration, worker: WorkerId) {
        self.advance(now);
        self.give_up(worker);
        self.feed();
    }

    pub(super) fn give_up_silent_workers(&mut self) -> Vec<WorkerId> {
        let now = self.now;
        let patience = |member: &Member| if member.connected { SILENCE } else { GRACE };
        let silent = self.workers.iter().filter(|(_, member)| now >= member.heard + patience(member));
        let silent: Vec<WorkerId> = silent.map(|(&worker, _)| worker).collect();
        for &worker in &silent {
            self.note_loss(worker, false);
            self.give_up(worker);
        }
        silent
    }

    /// Has people told that a worker is about to lose what it holds.
    pub(super) fn note_loss(&mut self, worker: WorkerId, is_there: bool) {
        let Some(member) = self.workers.get(&worker) else { return };
        let mut n_leases = BTreeMap::new();
        for lease in member.leases.iter().filter_map(|id| self.leases.get(id)) {
            *n_leases.entry(lease.job).or_default() += 1;
        }
        self.changes.losses.push(Loss { name: member.source.worker.clone(), is_there, n_leases });
    }

    fn give_up(&mut self, worker: WorkerId) {
        self.hungry.remove(&worker);
        for lease in self.workers.remove(&worker).map(|member| member.leases).unwrap_or_default() {
            self.end_lease(lease);
        }
    }

    /// Adds a lease whose spans are neither free nor held by anybody else.
    pub(super) fn hold(&mut self, lease: LiveLease) {
        if let Some(member) = self.workers.get_mut(&lease.worker) {
            member.leases.insert(lease.id);
        }
        if let Some(job) = self.jobs.get_mut(&lease.job) {
            *job.leases_by_worker.entry(lease.worker).or_default() += 1;
        }
        self.leases.insert(lease.id, lease);
    }

    /// Ends a lease: what it has left is free.
    pub(super) fn end_lease(&mut self, id: LeaseId) -> Option<LiveLease> {
        let lease = self.leases.remove(&id)?;
        if let Some(member) = self.workers.get_mut(&lease.worker) {
            let was_running = is_running(member, id);
            member.leases.remove(&id);
            let last_running =
                member.leases.iter().nth(member.n_threads as usize - 1).filter(|_| was_running);
            if let Some(begun) = last_running.and_then(|id| self.leases.get_mut(id)) {
                begun.heard = self.now;
            }
            if member.connected {
                self.hungry.insert(lease.worker);
            }
        }
        let job = self.jobs.get_mut(&lease.job)?;
        if let Entry::Occupied(mut n_leases) = job.leases_by_worker.entry(lease.worker) {
            *n_leases.get_mut() -= 1;
            if *n_leases.get() == 0 {
                n_leases.remove();
            }
        }
        if let Some(counting) = job.counting.as_mut() {
            for &span in &lease.spans {
                if lease.tried.is_empty() {
                    counting.release(span);
                } else {
                    counting.fail(span, &lease.tried);
                }
            }
        }
        Some(lease)
    }
}

/// Both records as one, if the second begins where the first ends and the sums fit.
fn merged(first: &Record, second: &Record) -> Option<Record> {
    let adjacent = first.span.cross() == second.span.cross() && first.span.to() == second.span.from();
    let count: Count = first.count.checked_add(second.count)?;
    let duration = first.duration.checked_add(second.duration)?;
    if !adjacent || first.source != second.source || !can_be_recorded(count, duration) {
        return None;
    }
    let span = Span::new(first.span.cross(), first.span.from(), second.span.to()).ok()?;
    Some(Record { span, count, duration, ..second.clone() })
}

/// Whether a store can hold these numbers: one that it refuses would stop it from recording anything.
fn can_be_recorded(count: Count, duration: Duration) -> bool {
    count.solutions <= MAX_COUNT && count.nodes <= MAX_COUNT && duration <= MAX_DURATION
}
