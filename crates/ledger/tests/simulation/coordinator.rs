//! A coordinator: its core, driven as the event loop drives it, and checked at every step.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use queens_ledger::store::lineage::Lineage;
use queens_ledger::store::{Source, Write};
use queens_ledger::{
    Batch, Core, Effects, JobChange, Judgement, LedgerEvent, Run, Sealed, Session, SpanOutcome,
    SubmissionRefusal, WorkerRefusal,
};
use queens_model::{JobId, JobState, Name, Report, ReportInterval, ToWorker, WorkerId};

use super::disk::CommitFailed;
use super::lead::Fenced;
use super::puzzle::puzzle;
use super::sight::Sight;
use super::surroundings::{Command, Request, Surroundings};
use super::worker::party_of;

/// The delay of a report at which a worker is given up, and the longest interval between checks for that.
const LATE: Duration = Duration::from_secs(14);
const TICK: Duration = Duration::from_secs(1);

/// An answer that waits until the writes behind it are durable.
#[derive(Debug)]
enum Answer {
    Submitted(Sealed<Result<JobId, SubmissionRefusal>>),
    /// Cancelled, unless it had ended already.
    Cancelled(JobId, Sealed<Result<(), queens_ledger::JobRefusal>>),
}

/// A batch that is not known to be written.
#[derive(Debug)]
struct Unwritten {
    batch: Batch,
    /// Whether a write was tried.
    has_failed: bool,
}

/// The point in a step at which the process stops, and for how long.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Standstill {
    BeforeCommit(Duration),
    /// After a commit and this many of the messages that follow.
    AfterCommit(u64, Duration),
}

/// One process of the coordinator.
#[derive(Debug)]
pub(crate) struct Coordinator {
    core: Core,
    /// The latest ledger's time.
    now: Duration,
    queue: VecDeque<Command>,
    /// The session that was begun on each link.
    sessions: BTreeMap<u64, Session>,
    /// The expected open sessions: the last link of each worker that has not ended.
    open: BTreeMap<WorkerId, u64>,
    /// The report interval of each worker, and when its next message is due.
    due: BTreeMap<WorkerId, (Duration, Duration)>,
    /// Workers that have said goodbye and have not come again.
    left: BTreeSet<WorkerId>,
    answers: Vec<Answer>,
    unwritten: Option<Unwritten>,
    /// The number of messages that it still sends after its next commit before it dies, if it is to die.
    pub(crate) dies_after: Option<u64>,
    /// The point at which it stops in one of its next steps with writes.
    pub(crate) standstill: Option<Standstill>,
    /// The epoch of its lead, current or lost, and the state that it continues from.
    epoch: u64,
    lineage: Lineage,
    /// Whether a report since the last transaction was dropped.
    drops: bool,
    /// How often it was asked to count a disputed span itself.
    n_judgements: u64,
}

impl Coordinator {
    /// Starts from the durable state, having taken the lead in this epoch.
    pub(crate) fn start(epoch: u64, run: Run, around: &mut Surroundings<'_>) -> Self {
        let stored = around.disk.load();
        around.witness.restart(&around.disk.contents, around.tokens);
        let core = Core::restore(stored, run).expect("what was stored can be gone on with");
        let core = core.with_reporting(around.reporting);
        let mut coordinator = Self {
            core,
            now: Duration::ZERO,
            queue: VecDeque::new(),
            sessions: BTreeMap::new(),
            open: BTreeMap::new(),
            due: BTreeMap::new(),
            left: BTreeSet::new(),
            answers: Vec::new(),
            unwritten: None,
            dies_after: None,
            standstill: None,
            epoch,
            lineage: around.disk.lineage(),
            drops: false,
            n_judgements: 0,
        };
        coordinator.carry_out(Duration::ZERO, around);
        coordinator
    }

    pub(crate) fn push(&mut self, command: Command) {
        self.queue.push_back(command);
    }

    pub(crate) fn is_blocked(&self) -> bool {
        self.unwritten.is_some()
    }

    pub(crate) fn is_idle(&self) -> bool {
        self.queue.is_empty() && !self.core.ledger().has_leases()
    }

    /// Whether a job waits for another party's recounts.
    pub(crate) fn wants_others(&self) -> bool {
        let jobs = self.core.ledger().jobs();
        jobs.iter().any(|job| job.state.is_provisional() && job.waits_for.is_some())
    }

    pub(crate) fn has_failed_jobs(&self) -> bool {
        self.core.ledger().jobs().iter().any(|job| job.state == JobState::Failed)
    }

    /// Returns when it must run even if nothing has come.
    pub(crate) fn next_tick(&self) -> Option<Duration> {
        self.core.next_tick(false).filter(|_| !self.is_blocked())
    }

    /// Passes all queued commands to the core, then carries out its effects.
    pub(crate) fn run(&mut self, time: Duration, around: &mut Surroundings<'_>) {
        if self.is_blocked() {
            return;
        }
        let next_tick = self.core.next_tick(false);
        self.core.wake(time, false, 0);
        while let Some(command) = self.queue.pop_front() {
            self.apply(command, around);
        }
        if next_tick.is_some_and(|next_tick| time >= next_tick) {
            self.core.tick();
        }
        self.carry_out(time, around);
    }

    /// Retries a failed write.
    pub(crate) fn retry(&mut self, time: Duration, around: &mut Surroundings<'_>) {
        if self.is_blocked() {
            self.carry_out(time, around);
        }
    }

    fn apply(&mut self, command: Command, around: &mut Surroundings<'_>) {
        self.now = self.now.max(self.core.now());
        match command {
            Command::Submit(asked, seed) => {
                let submitted = self.core.submit(&asked, seed);
                self.answers.push(Answer::Submitted(submitted));
            }
            Command::Cancel(job) => {
                let known = around.disk.as_of(around.past);
                let was_over = known.is_over(job) || !self.core.ledger().is_open(job);
                self.answers.push(Answer::Cancelled(job, self.core.change_job(job, JobChange::Cancel)));
                if known.entries.contains_key(&job) && !was_over {
                    around.witness.cancelled(job);
                }
            }
            Command::Planned(job) => {
                let identity = self.core.ledger().identity(job).expect("it wanted the plan");
                self.core.planned(job, puzzle(around.puzzles, identity).plan.clone().into());
                around.witness.planned(job, identity);
            }
            Command::Connect { hello, link } => {
                let ledger = self.core.ledger();
                if hello.held.iter().any(|held| around.witness.is_from_before(held.lease)) {
                    around.sights.see(Sight::LeaseTakenAlong);
                }
                let there: BTreeSet<WorkerId> = ledger.workers().iter().map(|worker| worker.id).collect();
                around.witness.connect(self.now, around.puzzles, &hello, &there, |job| ledger.is_open(job));
                let (worker, party) = (hello.worker, party_of(&hello.name));
                self.left.remove(&worker);
                let session = self.core.connect(hello, party).expect("its hello is in order");
                self.sessions.insert(link, session);
                self.open.insert(worker, link);
                self.expect_report(worker, Some(ReportInterval::USUAL.get()));
            }
            Command::ChangeJob(job, change) => _ = self.core.change_job(job, change),
            Command::ChangeWorkers(name, change) => {
                _ = self.core.change_workers(&Name::of_any(&name), change);
            }
            Command::Failure { link, failure } => {
                let Some(&session) = self.sessions.get(&link) else { return };
                let worker = session.worker();
                let is_open = self.is_open(link);
                if is_open {
                    self.expect_report(worker, None);
                }
                match self.core.fail(session, &failure) {
                    Ok(()) if is_open => around.witness.fail(worker, &failure),
                    Ok(()) => panic!("{worker} is heard in a session that has ended: {failure:?}"),
                    Err(_) => _ = self.end(link),
                }
            }
            Command::Report { link, report } => self.report(link, &report, around),
            Command::Goodbye { link } => {
                let Some(&session) = self.sessions.get(&link) else { return };
                self.core.goodbye(session);
                if self.end(link) {
                    around.witness.leave(session.worker());
                    self.left.insert(session.worker());
                }
            }
            Command::Disconnect { link } => {
                let Some(&session) = self.sessions.get(&link) else { return };
                self.core.disconnect(session);
                self.end(link);
            }
        }
    }

    fn report(&mut self, link: u64, report: &Report, around: &mut Surroundings<'_>) {
        let Some(&session) = self.sessions.get(&link) else { return };
        let worker = session.worker();
        let is_known =
            self.is_open(link) && self.core.ledger().workers().iter().any(|known| known.id == worker);
        let result: Result<_, WorkerRefusal> = self.core.report(session, report);
        if is_known {
            self.expect_report(worker, None);
        }
        if is_known && report.deltas.iter().any(|delta| !around.witness.knows(delta.lease)) {
            around.sights.see(Sight::DroppedByOldLeader);
        }
        let is_accepted = is_known && around.witness.accepts(around.puzzles, report);
        let expected = is_accepted.then(|| {
            let outcomes = result.as_deref().unwrap_or_default();
            around.witness.report(self.now, worker, report, outcomes)
        });
        let is_added = |it: &SpanOutcome| matches!(it, SpanOutcome::Recorded | SpanOutcome::CountedAgain);
        self.drops |= result.iter().flatten().any(|outcome| !is_added(outcome));
        match (&result, expected) {
            (Ok(outcomes), Some(expected)) => assert_eq!(outcomes, &expected, "outcomes of {report:?}"),
            (Err(_), None) => _ = self.end(link),
            (result, expected) => panic!("{result:?} instead of {expected:?} for {report:?}"),
        }
    }

    /// Notes that a worker was heard, or was told its report interval.
    fn expect_report(&mut self, worker: WorkerId, interval: Option<Duration>) {
        let before = self.due.get(&worker).map(|due| due.0);
        let interval = interval.or(before).expect("it is known");
        self.due.insert(worker, (interval, self.now + interval));
    }

    /// Whether a link has its worker's session that should be open.
    fn is_open(&self, link: u64) -> bool {
        self.sessions.get(&link).is_some_and(|session| self.open.get(&session.worker()) == Some(&link))
    }

    /// Ends the session on a link, unless its worker has begun another since.
    fn end(&mut self, link: u64) -> bool {
        let is_open = self.is_open(link);
        self.open.retain(|_, open| *open != link);
        is_open
    }

    /// Makes writes durable and then sends messages, as the event loop does.
    fn carry_out(&mut self, time: Duration, around: &mut Surroundings<'_>) {
        loop {
            let unwritten = self.unwritten.take();
            let has_waited = unwritten.as_ref().is_some_and(|unwritten| unwritten.has_failed);
            let batch = unwritten.map_or_else(|| self.core.take_batch(), |unwritten| unwritten.batch);
            self.check_sessions(around);
            let has_writes = !batch.writes().is_empty();
            if has_writes && let Some(Standstill::BeforeCommit(duration)) = self.standstill {
                self.standstill = None;
                self.unwritten = Some(Unwritten { batch, has_failed: has_waited });
                around.requests.extend([Request::Freeze(duration), Request::Retry]);
                return;
            }
            let written = self.commit(batch.writes(), around);
            match written {
                Ok(()) => {}
                Err(CommitFailed::Failed) => {
                    self.unwritten = Some(Unwritten { batch, has_failed: true });
                    return around.requests.push(Request::Retry);
                }
                // Its remaining messages are never sent.
                Err(CommitFailed::Fenced) => {
                    around.sights.see(Sight::LateWriteRefused);
                    return around.requests.push(Request::Resign);
                }
            }
            if has_waited {
                self.core.stood_still(time);
            }
            let (durable, effects) = batch.written();
            let Effects { messages, farewells, plans, comparisons, draws, judgement, .. } = effects;
            self.check(around);
            for (worker, message) in messages {
                if let Some(left) = &mut self.dies_after {
                    if *left == 0 {
                        return around.requests.push(Request::Die);
                    }
                    *left -= 1;
                }
                self.stand_still(has_writes, around);
                self.send(worker, message, around);
            }
            if self.dies_after.is_some() && has_writes {
                return around.requests.push(Request::Die);
            }
            for session in farewells {
                let links = self.sessions.iter().filter(|(_, known)| **known == session);
                for link in links.map(|(&link, _)| link).collect::<Vec<_>>() {
                    around.requests.push(Request::Send { link, message: ToWorker::Farewell });
                    around.requests.push(Request::Close { link });
                }
            }
            for answer in self.answers.drain(..) {
                match answer {
                    Answer::Submitted(job) => {
                        let job = job.open(&durable).expect("few jobs");
                        let is_durable = around.disk.contents.entries.contains_key(&job);
                        assert!(is_durable, "job {job} is not durable");
                    }
                    Answer::Cancelled(job, cancelled) => {
                        let is_over = cancelled.open(&durable).is_err() || around.disk.contents.is_over(job);
                        assert!(is_over, "that job {job} is given up is not durable");
                    }
                }
            }
            around.requests.extend(plans.into_iter().map(|plan| Request::Plan(plan.job)));
            let known: BTreeSet<WorkerId> =
                self.core.ledger().workers().iter().map(|worker| worker.id).collect();
            around.witness.keep_leases_of(&known);
            around.witness.check_leases();
            around.witness.check_comparisons(&comparisons);
            if comparisons.is_empty() && draws.is_empty() && judgement.is_none() {
                return;
            }
            if around.is_cut_off {
                // A failed lookup gets no answer; the core repeats the request if it needs to.
                if let Some(judgement) = &judgement {
                    self.judge(judgement, around);
                }
                return;
            }
            for comparison in &comparisons {
                match around.disk.find(self.epoch, &mut self.lineage, comparison.job, comparison.second.span)
                {
                    Ok(recorded) => self.core.compared(comparison, recorded),
                    Err(Fenced) => return around.requests.push(Request::Resign),
                }
            }
            for draw in &draws {
                match around.disk.draw(self.epoch, &mut self.lineage, draw) {
                    Ok(drawn) => self.core.drawn(draw, drawn),
                    Err(Fenced) => return around.requests.push(Request::Resign),
                }
            }
            // The coordinator counts on a thread of its own, so its answer comes after the lookups of this step.
            if let Some(judgement) = &judgement {
                self.judge(judgement, around);
            }
        }
    }

    /// Counts a disputed span, as the coordinator does on a thread of its own. That fails at first.
    fn judge(&mut self, judgement: &Judgement, around: &Surroundings<'_>) {
        self.n_judgements += 1;
        let identity = self.core.ledger().identity(judgement.job).expect("submitted");
        let count = puzzle(around.puzzles, identity).count(judgement.span);
        let name = Name::of_any("simulated");
        let source = Arc::new(Source::coordinator(name.clone(), name));
        let counted = (count, Duration::from_millis(1), source);
        self.core.judged(judgement, Some(counted).filter(|_| self.n_judgements.is_multiple_of(2)));
    }

    /// Makes writes durable. Without writes, it confirms the lead if an old leader could otherwise answer wrongly.
    fn commit(&mut self, writes: &[Write], around: &mut Surroundings<'_>) -> Result<(), CommitFailed> {
        let tells = self.drops || !self.answers.is_empty();
        if writes.is_empty() && !tells {
            return Ok(());
        }
        if around.is_cut_off {
            return Err(CommitFailed::Failed);
        }
        if writes.is_empty() {
            around.disk.confirm(self.epoch, &mut self.lineage)?;
        } else {
            around.disk.commit(around.puzzles, self.epoch, &mut self.lineage, writes)?;
        }
        self.drops = false;
        if around.has_gone_back {
            // The coordinator now writes the lost changes again: from here on it leads.
            around.requests.push(Request::GoOn);
            around.past = None;
        }
        Ok(())
    }

    /// Stops among its messages, if planned.
    fn stand_still(&mut self, has_written: bool, around: &mut Surroundings<'_>) {
        match &mut self.standstill {
            Some(Standstill::AfterCommit(n_messages, _)) if has_written && *n_messages > 0 => {
                *n_messages -= 1;
            }
            Some(Standstill::AfterCommit(_, duration)) if has_written => {
                around.requests.push(Request::Freeze(*duration));
                self.standstill = None;
            }
            _ => {}
        }
    }

    fn send(&mut self, worker: WorkerId, message: ToWorker, around: &mut Surroundings<'_>) {
        let link = self.open.get(&worker);
        if let ToWorker::Lease(lease) = &message {
            let plan = &puzzle(around.puzzles, lease.job).plan;
            assert_eq!((lease.n, lease.method), (plan.n(), plan.method()), "what {lease:?} is of");
            around.witness.grant(self.now, worker, lease);
        }
        // Without a session, the ledger's statement that a lease is *not* held still counts.
        let is_told = link.is_some() || matches!(message, ToWorker::Shorten { .. } | ToWorker::Cancel(_));
        if is_told {
            let unacknowledged = around.workers.get(&worker).map(|worker| worker.watch.unacknowledged());
            let known = around.disk.as_of(around.past);
            let durable = if around.has_gone_back { known } else { &around.disk.contents };
            around.witness.tell(known, durable, worker, unacknowledged.unwrap_or_default(), &message);
            if let ToWorker::Lease(lease) = &message {
                assert!(around.tokens.insert(lease.id), "lease {} is given out again", lease.id);
            }
        }
        if let Some(&link) = link {
            if let ToWorker::ReportEvery(interval) = &message {
                assert!(*interval <= around.reporting.longest, "{message:?}");
                self.expect_report(worker, Some(interval.get()));
            }
            around.requests.push(Request::Send { link, message });
        }
    }

    /// Checks that exactly each worker's last session is open, until it ends or the worker is silent for too long.
    fn check_sessions(&mut self, around: &mut Surroundings<'_>) {
        // If its clock goes back, the ledger's time does not.
        self.now = self.now.max(self.core.now());
        for note in self.core.take_notes() {
            if let LedgerEvent::Silent { worker } = note {
                assert!(!self.left.contains(&worker), "{worker} has left, and is given up");
                let is_connected = self.open.remove(&worker).is_some();
                let late = self.now.saturating_sub(self.due[&worker].1);
                assert!(
                    !is_connected || late >= LATE,
                    "{worker} is given up {late:?} after a report was due"
                );
            }
        }
        for worker in self.open.keys() {
            let late = self.now.saturating_sub(self.due[worker].1);
            assert!(late < LATE + TICK * 2, "{worker} is not given up {late:?} after a report was due");
        }
        for session in self.core.take_closed() {
            let links = self.sessions.iter().filter(|(_, known)| **known == session);
            let links: Vec<u64> = links.map(|(&link, _)| link).collect();
            around.requests.extend(links.into_iter().map(|link| Request::Close { link }));
        }
        for session in self.sessions.values() {
            let worker = session.worker();
            let should = self.open.get(&worker).map(|link| self.sessions[link]);
            assert_eq!(self.core.session(worker), should, "the session of {worker}");
        }
    }

    /// Checks that the ledger's status of its jobs matches the durable contents and the witness.
    fn check(&self, around: &Surroundings<'_>) {
        let known = around.disk.as_of(around.past);
        for status in self.core.ledger().jobs() {
            let job = status.id;
            let durable = known.progress(job).unwrap_or_default();
            assert_eq!(status.progress, durable, "progress of job {job}");
            assert_eq!(durable.n_recorded, around.witness.n_recorded(job), "reports on job {job}");
            let compared = known.compared(job);
            let entry = &known.entries[&job];
            assert_eq!(
                (entry.n_verified, entry.n_disputed, status.n_disputed),
                (compared.n_verified, compared.n_disputed, compared.n_disputed),
                "comparisons of job {job}"
            );
        }
    }
}
