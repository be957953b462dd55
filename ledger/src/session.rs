//! Workers: who is connected, what they report, and what becomes of their leases when they go.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use queens_messages::MOST_THREADS;
use queens_messages::{Delta, Held, Hello, JobId, LeaseId, Report, ToWorker, WorkerId};
use queens_solver::{Count, DECOMPOSITION_VERSION, Span};
use thiserror::Error;

use crate::failure::Failures;
use crate::job::Overlap;
use crate::lease::LiveLease;
use crate::ledger::{Comparison, Ledger, Loss};
use crate::member::{Member, Share};
use crate::operator::blocked_notice;
use crate::spans::SpanSet;
use crate::store::{MAX_COUNT, MAX_DURATION, Phase, Record, Source};

/// A worker not heard of for this long has its leases taken back.
pub(crate) const SILENCE: Duration = Duration::from_secs(15);

/// The same for a worker whose connection is gone: long enough to come back after a hiccup.
const GRACE: Duration = Duration::from_secs(4);

/// The most threads of all workers together. Each may hold two leases, of about a kilobyte each.
pub const MOST_THREADS_IN_ALL: u64 = 500_000;

/// What became of a reported span.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// It was new and is part of the total.
    Recorded,
    /// It was granted to two workers, and the other one was faster; the two are compared, should it repeat a record
    /// exactly. The total is unchanged.
    Repeated,
    /// It overlapped what is recorded, or its job is given up: it was dropped.
    Discarded,
    /// It was not granted to this worker under this lease: it was dropped.
    Unleased,
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
    /// It has more threads than one worker can be given work for.
    #[error("worker offers {found} threads, and {MOST_THREADS} are the most: start several workers")]
    TooManyThreads {
        /// Its threads.
        found: u32,
    },
    /// There are too many workers.
    #[error(
        "there is no room for {found} more threads: this coordinator serves {MOST_THREADS_IN_ALL} in all"
    )]
    Full {
        /// Its threads.
        found: u32,
    },
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
        let (worker, found) = (hello.worker, hello.n_threads);
        if found == 0 {
            return Err(Refusal::NoThreads);
        }
        if found > MOST_THREADS {
            return Err(Refusal::TooManyThreads { found });
        }
        let before = self.fleet.member(worker).map_or(0, |known| u64::from(known.n_threads));
        if self.fleet.n_threads() - before + u64::from(found) > MOST_THREADS_IN_ALL {
            return Err(Refusal::Full { found });
        }
        self.advance(now);
        // What was to be sent in its last session, leases above all, must not arrive in this one.
        self.changes.messages.retain(|(to, _)| *to != worker);
        // What it held and holds no more is free; what it holds and should not, it is told to give up.
        for lease in self.fleet.leases_of(worker) {
            self.end_lease(lease);
        }
        let known = self.fleet.remove_member(worker);
        let blocked = self.blocked.contains(&hello.name);
        let mut member = Member::new(&hello, known.as_ref(), self.now);
        member.blocked = blocked;
        let draining = member.draining;
        self.fleet.add_member(self.now, worker, member);
        self.patience.insert((self.now + SILENCE, worker));
        for held in hello.held {
            self.adopt(worker, held);
        }
        self.recall_what_is_in_the_way(worker);
        if blocked {
            self.changes.messages.push((worker, blocked_notice(&hello.name)));
        }
        if draining {
            self.changes.messages.push((worker, ToWorker::Drain));
        }
        self.feed();
        Ok(())
    }

    /// Lets a worker go on with what is still free of a lease it holds. What it may report of it besides is remembered.
    pub(crate) fn adopt(&mut self, worker: WorkerId, held: Held) {
        let now = self.now;
        if !self.is_active(held.job) {
            return self.changes.messages.push((worker, ToWorker::Cancel(held.lease)));
        }
        let granted = self.granted(worker, &held);
        let is_held_back = self.fleet.member(worker).is_none_or(Member::is_held_back);
        let adopted = self.jobs.change(held.job, |job| {
            let is_wanted = !is_held_back && !job.entry.paused;
            let counting = job.counting.as_mut()?;
            let (mut kept, mut cut) = (SpanSet::default(), SpanSet::default());
            for span in granted.iter() {
                let mut at = span.from();
                for free in counting.free.take(span) {
                    if let Ok(lost) = Span::new(span.cross(), at, free.from()) {
                        cut.insert(lost);
                    }
                    at = free.to();
                    kept.insert(free);
                }
                if let Ok(lost) = Span::new(span.cross(), at, span.to()) {
                    cut.insert(lost);
                }
            }
            let work = kept.iter().map(|span| counting.work(span)).sum();
            Some((kept, cut, work, is_wanted))
        });
        let Some((spans, cut, work, is_wanted)) = adopted.flatten() else {
            return self.changes.messages.push((worker, ToWorker::Cancel(held.lease)));
        };
        if spans.is_empty() {
            self.former.add(now, held.lease, worker, held.job, cut);
            return self.changes.messages.push((worker, ToWorker::Cancel(held.lease)));
        }
        let lost = held.spans.into_iter().collect::<SpanSet>().without(&spans);
        if !lost.is_empty() {
            let shorten = ToWorker::Shorten { lease: held.lease, spans: lost.iter().collect() };
            self.changes.messages.push((worker, shorten));
        }
        let lease = LiveLease {
            id: held.lease,
            job: held.job,
            worker,
            spans,
            cut,
            work,
            open: None,
            tried: BTreeSet::new(),
            recalled: false,
            heard: now,
            indivisible: false,
        };
        self.hold(lease);
        if !is_wanted {
            self.recall(held.lease);
        }
    }

    /// What a worker was granted of what it says it holds: of a lease of this ledger's, that is remembered; of an
    /// earlier one's, which stored no leases, the worker is believed if nobody else has named the token since.
    pub(crate) fn granted(&mut self, worker: WorkerId, held: &Held) -> SpanSet {
        let Held { lease, job, spans } = held;
        if self.fleet.lease(*lease).is_some() {
            return SpanSet::default();
        }
        if let Some(granted) = self.former.take(*lease, worker, *job) {
            // It has no more to say of what it does not name.
            return granted.intersection(&spans.iter().copied().collect());
        }
        if !self.is_of_an_earlier_ledger(*lease) || self.former.has(*lease) {
            return SpanSet::default();
        }
        let counting = self.jobs.get(*job).and_then(|job| job.counting.as_ref());
        let is_there = |span: &Span| counting.is_some_and(|counting| counting.has(*span));
        spans.iter().copied().filter(is_there).collect()
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
        let now = self.now;
        let member = self.fleet.hear(now, worker).ok_or(Refusal::Unknown(worker))?;
        let (source, was_stuck) = (member.source.clone(), member.stuck);
        if was_stuck && !report.deltas.is_empty() {
            self.fleet.change_member(now, worker, |member| member.stuck = false);
        }
        report.deltas.iter().try_for_each(|delta| self.check(delta))?;
        let mut outcomes = Vec::with_capacity(report.deltas.len());
        let mut touched = BTreeSet::new();
        for delta in &report.deltas {
            outcomes.push(self.record(worker, delta, &source));
            touched.insert(delta.job);
        }
        if outcomes.contains(&Outcome::Recorded) {
            self.fleet.change_member(now, worker, |member| member.failures = Failures::default());
        }
        for id in report.deltas.iter().map(|delta| delta.lease).collect::<BTreeSet<_>>() {
            let is_its = |lease: &&LiveLease| lease.worker == worker && lease.spans.is_empty();
            if self.fleet.lease(id).filter(is_its).is_some() {
                self.end_lease(id);
            }
        }
        for &id in &report.finished {
            if self.fleet.lease(id).is_some_and(|lease| lease.worker == worker) {
                self.end_lease(id);
            }
            // All that was counted of it is reported.
            self.former.finish(id, worker);
        }
        if !report.is_empty() {
            self.changes.messages.push((worker, ToWorker::Acknowledge { sequence: report.sequence }));
        }
        touched.into_iter().for_each(|job| self.finish_if_complete(job));
        self.feed();
        Ok(outcomes)
    }

    pub(crate) fn check(&self, delta: &Delta) -> Result<(), Refusal> {
        if !self.is_ours(delta.lease) {
            // Nobody listens to what it says, and its job may be another coordinator's.
            return Ok(());
        }
        self.check_span(delta.job, delta.span)?;
        let possible = can_be_recorded(delta.count, delta.duration);
        if possible { Ok(()) } else { Err(Refusal::Impossible(delta.span)) }
    }

    pub(crate) fn check_span(&self, id: JobId, span: Span) -> Result<(), Refusal> {
        let job = self.jobs.get(id).ok_or(Refusal::UnknownJob(id))?;
        // A job without a plan has had no leases, so that there can be no honest report on it.
        let is_there = job.counting.as_ref().is_some_and(|counting| counting.has(span));
        if is_there { Ok(()) } else { Err(Refusal::UnknownSpan { job: id, span }) }
    }

    /// Whether a token was given out here or by a ledger that this one follows. What is counted under any other may be
    /// of another board: a worker outlives the coordinator that it began with, and whoever answers at its address later
    /// may know other jobs by the same numbers.
    pub(crate) fn is_ours(&self, lease: LeaseId) -> bool {
        (self.first_lease..self.next_lease).contains(&lease.0)
    }

    pub(crate) fn is_of_an_earlier_ledger(&self, lease: LeaseId) -> bool {
        (self.first_lease..self.first_lease_here).contains(&lease.0)
    }

    /// Records one delta that was checked.
    pub(crate) fn record(&mut self, worker: WorkerId, delta: &Delta, source: &Arc<Source>) -> Outcome {
        let &Delta { job: id, lease, span, .. } = delta;
        let Some(job) = self.jobs.get(id) else { return Outcome::Unleased };
        let (phase, Some(counting)) = (job.entry.phase, job.counting.as_ref()) else {
            return Outcome::Unleased;
        };
        if !self.is_ours(lease) {
            return Outcome::Unleased;
        }
        let (overlap, work) = (counting.overlap(span), counting.work(span));
        let is_granted = self.report_on(worker, delta, work);
        if phase == Phase::Cancelled {
            return Outcome::Discarded;
        }
        match (is_granted, overlap) {
            // Most often a report that came twice.
            (None, Overlap::Whole) => Outcome::Discarded,
            (None, _) => Outcome::Unleased,
            (Some(given_back), Overlap::Partial) => {
                // The worker won't count it again: what is not recorded of it is for somebody else.
                self.jobs.change(id, |job| {
                    let Some(counting) = job.counting.as_mut() else { return };
                    given_back.into_iter().for_each(|span| counting.release(span));
                });
                Outcome::Discarded
            }
            (Some(_), Overlap::Whole) => {
                let comparison =
                    Comparison { job: id, span, count: delta.count, worker: source.worker.clone() };
                self.changes.comparisons.push(comparison);
                Outcome::Repeated
            }
            (Some(_), Overlap::None) => {
                self.jobs.change(id, |job| job.counting.as_mut().map(|it| it.record(span, delta.count)));
                self.fleet.change_member(self.now, worker, |member| {
                    member.rate.add(work as f64, delta.duration);
                    member.speed.add(delta.count.nodes as f64, delta.duration);
                    member.n_recorded += 1;
                });
                self.write_record(worker, delta, source);
                Outcome::Recorded
            }
        }
    }

    /// Notes that a span is reported: what was still held of it, or nothing at all if it was not granted to this worker
    /// under this lease, or was reported before.
    pub(crate) fn report_on(&mut self, worker: WorkerId, delta: &Delta, work: u128) -> Option<Vec<Span>> {
        let &Delta { job, lease: id, span, .. } = delta;
        let now = self.now;
        let Some(lease) = self.fleet.lease(id) else {
            return self.former.report(id, worker, job, span).then(Vec::new);
        };
        if !lease.is_of(worker, job) || !lease.may_report(span) {
            return None;
        }
        self.fleet.change_lease(now, id, |lease| {
            lease.cut.take(span);
            lease.work = lease.work.saturating_sub(work);
            lease.heard = now;
            lease.indivisible = false;
            lease.spans.take(span)
        })
    }

    /// Extends the lease's open record if the delta goes on where that ended, or begins a new one.
    pub(crate) fn write_record(&mut self, worker: WorkerId, delta: &Delta, source: &Arc<Source>) {
        let delta_record = Record {
            span: delta.span,
            count: delta.count,
            duration: delta.duration,
            lease: delta.lease,
            source: source.clone(),
        };
        let is_its = self.fleet.lease(delta.lease).is_some_and(|lease| lease.is_of(worker, delta.job));
        let record = if is_its {
            let extended = self.fleet.change_lease(self.now, delta.lease, |lease| {
                let record = lease.open.take().and_then(|open| merged(&open, &delta_record));
                let record = record.unwrap_or_else(|| delta_record.clone());
                lease.open = Some(Box::new(record.clone()));
                record
            });
            extended.unwrap_or(delta_record)
        } else {
            delta_record
        };
        self.changes.entries.insert(delta.job);
        self.changes.coverage.insert((delta.job, delta.span.cross()));
        self.changes.records.insert((delta.job, record.span.cross(), record.span.from()), record);
    }

    /// A worker's connection is gone. It keeps its leases for a while, in case it comes back.
    pub fn disconnect(&mut self, now: Duration, worker: WorkerId) {
        self.advance(now);
        let now = self.now;
        let gone = self.fleet.change_member(now, worker, |member| {
            member.connected = false;
            member.heard = now;
        });
        if gone.is_some() {
            self.patience.insert((now + GRACE, worker));
        }
    }

    /// A worker has left for good.
    pub fn goodbye(&mut self, now: Duration, worker: WorkerId) {
        self.advance(now);
        self.give_up(worker);
        self.feed();
    }

    /// Gives up workers that were silent for too long. Each is looked at when its patience may be over, so that this
    /// takes no longer the more workers there are.
    pub(crate) fn give_up_silent_workers(&mut self) -> Vec<WorkerId> {
        let now = self.now;
        let mut silent = Vec::new();
        while let Some(&(at, worker)) = self.patience.first()
            && at <= now
        {
            self.patience.pop_first();
            let Some(member) = self.fleet.member(worker) else { continue };
            let until = member.heard + if member.connected { SILENCE } else { GRACE };
            if now < until {
                self.patience.insert((until, worker));
                continue;
            }
            self.note_loss(worker, false);
            self.give_up(worker);
            silent.push(worker);
        }
        silent
    }

    /// Has people told that a worker is about to lose what it holds.
    pub(crate) fn note_loss(&mut self, worker: WorkerId, is_there: bool) {
        let Some(member) = self.fleet.member(worker) else { return };
        let n_leases = |share: &Share| share.waiting.len() + share.n_running as usize;
        let n_leases = member.shares.iter().map(|(&job, share)| (job, n_leases(share))).collect();
        self.changes.losses.push(Loss { name: member.source.worker.clone(), is_there, n_leases });
    }

    pub(crate) fn give_up(&mut self, worker: WorkerId) {
        for lease in self.fleet.leases_of(worker) {
            self.end_lease(lease);
        }
        if self.fleet.remove_member(worker).is_some() {
            self.forget_failures_of(worker);
        }
    }

    /// Adds a lease whose spans are neither free nor held by anybody else.
    pub(crate) fn hold(&mut self, lease: LiveLease) {
        self.start_counting(lease.job);
        self.fleet.add_lease(self.now, lease);
    }

    /// Ends a lease: what it has left is free, and returned. Its worker may report it still.
    pub(crate) fn end_lease(&mut self, id: LeaseId) -> Option<Vec<Span>> {
        let LiveLease { job, worker, spans, mut cut, tried, .. } = self.fleet.remove_lease(self.now, id)?;
        if self.fleet.holding(job).is_none() {
            self.stop_counting(job);
        }
        let tried = self.still_there(&tried);
        self.jobs.change(job, |job| {
            let Some(counting) = job.counting.as_mut() else { return };
            for span in spans.iter() {
                if tried.is_empty() { counting.release(span) } else { counting.fail(span, &tried) }
            }
        });
        let left = spans.iter().collect();
        spans.iter().for_each(|span| {
            cut.take(span);
            cut.insert(span);
        });
        self.former.add(self.now, id, worker, job, cut);
        Some(left)
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
