//! A simple model of the ledger, which gets the same input and checks all its output.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use queens_ledger::intervals::Intervals;
use queens_ledger::store::{MAX_COUNT, MAX_DURATION, Phase, Record};
use queens_ledger::{Comparison, REMEMBERED, SpanOutcome};
use queens_model::{
    Delta, Failure, Held, Hello, JobId, JobIdentity, Lease, LeaseId, Party, Report, ToWorker, WorkerId,
};
use queens_solver::{Count, Span};

use super::contents::Contents;
use super::puzzle::{Puzzle, puzzle};
use super::watch::can_count;
use super::worker::{name, party_of};

/// The model of the ledger.
#[derive(Debug, Default)]
pub(crate) struct Witness {
    /// The records of each part, durable or not.
    recorded: BTreeMap<(JobId, u32), Intervals>,
    /// The jobs that have plans, and the numbers of all whose identities are known.
    planned: BTreeSet<JobId>,
    jobs: BTreeMap<JobIdentity, JobId>,
    /// The jobs that existed when this coordinator started.
    restored: BTreeSet<JobId>,
    cancelled: BTreeSet<JobId>,
    /// Leases as their workers see them.
    leases: BTreeMap<LeaseId, Seen>,
    /// The unreported spans under each token that this coordinator has used, or that a worker has named to it.
    granted: BTreeMap<LeaseId, Granted>,
    /// Reported spans that were not granted, for example because another worker has named the token after a restart.
    unleased: BTreeSet<(WorkerId, LeaseId, Span)>,
    /// The tokens that were used before this coordinator started, and those that it has used.
    earlier: BTreeSet<LeaseId>,
    here: BTreeSet<LeaseId>,
    /// Repeated counts that are not compared yet.
    repeated: Vec<(JobId, Span, Count, Party)>,
    /// Spans that were recorded, or cut off a lease, since [`check_leases`](Self::check_leases).
    fresh: Vec<(Option<JobId>, Span)>,
}

#[derive(Debug)]
struct Seen {
    worker: WorkerId,
    job: JobId,
    spans: Vec<Span>,
}

#[derive(Debug)]
struct Granted {
    worker: WorkerId,
    job: JobId,
    spans: Vec<Span>,
    since: Duration,
    /// Whether all of it was recorded when it was granted.
    is_again: bool,
}

impl Witness {
    /// Resets the model to a restarted coordinator, which knows the durable contents.
    pub(crate) fn restart(&mut self, durable: &Contents, tokens: &BTreeSet<LeaseId>) {
        *self = Self { earlier: tokens.clone(), ..Self::default() };
        for (&job, entry) in &durable.entries {
            self.jobs.insert(entry.identity, job);
            self.restored.insert(job);
            let parts = durable.coverages(job).map(|(number, recorded)| ((job, number), recorded.clone()));
            self.recorded.extend(parts);
            if durable.progress(job).is_some() {
                self.planned.insert(job);
            }
            if entry.phase == Phase::Cancelled {
                self.cancelled.insert(job);
            }
        }
    }

    pub(crate) fn planned(&mut self, job: JobId, identity: JobIdentity) {
        self.jobs.insert(identity, job);
        if !self.cancelled.contains(&job) {
            self.planned.insert(job);
        }
    }

    pub(crate) fn cancelled(&mut self, job: JobId) {
        self.cancelled.insert(job);
    }

    pub(crate) fn n_recorded(&self, job: JobId) -> u128 {
        let parts = self.recorded.range((job, 0)..=(job, u32::MAX));
        parts.map(|(_, recorded)| u128::from(recorded.len())).sum()
    }

    /// Whether a report is valid.
    pub(crate) fn accepts(&self, puzzles: &[Puzzle], report: &Report) -> bool {
        report.deltas.iter().all(|delta| {
            let fits = |count: Count| count.solutions <= MAX_COUNT && count.work <= MAX_COUNT;
            let is_there = self.job(delta.job).is_none() || puzzle(puzzles, delta.job).has(delta.span);
            is_there && fits(delta.count) && delta.duration <= MAX_DURATION
        })
    }

    /// Returns the number of a job that has a plan.
    fn job(&self, identity: JobIdentity) -> Option<JobId> {
        self.jobs.get(&identity).copied().filter(|job| self.planned.contains(job))
    }

    /// Whether a coordinator before this one has used a token.
    pub(crate) fn is_from_before(&self, lease: LeaseId) -> bool {
        self.earlier.contains(&lease)
    }

    /// Whether this coordinator or one before it has used a token; a newer leader may use others.
    pub(crate) fn knows(&self, lease: LeaseId) -> bool {
        self.earlier.contains(&lease) || self.here.contains(&lease)
    }

    /// Whether a worker may report this span: it was granted under this lease and is not reported. `None` if that may
    /// change before a report arrives: an earlier coordinator's token may be in flight in a hello.
    pub(crate) fn is_granted(&self, worker: WorkerId, delta: &Delta) -> Option<bool> {
        let granted = self.granted.get(&delta.lease)?;
        Some(self.job(delta.job).is_some_and(|job| granted.may_report(worker, job, delta)))
    }

    /// Returns the recorded spans that a worker may still report: another worker counted them in its place.
    pub(crate) fn repeatable(&self, worker: WorkerId, records: &BTreeMap<JobId, Vec<Record>>) -> Vec<Delta> {
        let mut repeatable = Vec::new();
        for (&lease, granted) in self.granted.iter().filter(|(_, granted)| granted.worker == worker) {
            let Granted { job, .. } = *granted;
            let Some((&identity, _)) = self.jobs.iter().find(|(_, number)| **number == job) else { continue };
            for &Record { span, count, duration, .. } in records.get(&job).into_iter().flatten() {
                let delta = Delta { job: identity, lease, span, count, duration };
                repeatable.extend(granted.may_report(worker, job, &delta).then_some(delta));
            }
        }
        repeatable
    }

    /// Returns the expected outcomes of a valid report. The actual outcomes decide whether leases that ended long ago
    /// are still remembered.
    pub(crate) fn report(
        &mut self,
        now: Duration,
        worker: WorkerId,
        report: &Report,
        outcomes: &[SpanOutcome],
    ) -> Vec<SpanOutcome> {
        let deltas = report.deltas.iter().zip(outcomes);
        let expected = deltas.map(|(delta, &outcome)| self.record(now, worker, delta, outcome)).collect();
        for lease in &report.finished {
            if self.leases.get(lease).is_some_and(|seen| seen.worker == worker) {
                self.leases.remove(lease);
            }
            if self.granted.get(lease).is_some_and(|granted| granted.worker == worker) {
                self.granted.remove(lease);
            }
        }
        expected
    }

    /// Notes that a worker can't count a span, and gives it back.
    pub(crate) fn fail(&mut self, worker: WorkerId, failure: &Failure) {
        if let Some(seen) = self.leases.get_mut(&failure.lease).filter(|seen| seen.worker == worker) {
            seen.take_off(&[failure.span]);
        }
    }

    fn record(
        &mut self,
        now: Duration,
        worker: WorkerId,
        delta: &Delta,
        outcome: SpanOutcome,
    ) -> SpanOutcome {
        if let Some(seen) = self.leases.get_mut(&delta.lease).filter(|seen| seen.worker == worker) {
            seen.take_off(&[delta.span]);
        }
        let Some(job) = self.job(delta.job) else {
            self.unleased.insert((worker, delta.lease, delta.span));
            return SpanOutcome::Unleased;
        };
        let mut granted =
            self.granted.get_mut(&delta.lease).filter(|granted| granted.may_report(worker, job, delta));
        let is_ignored = matches!(outcome, SpanOutcome::Unleased | SpanOutcome::Discarded);
        if granted
            .as_ref()
            .is_some_and(|granted| is_ignored && now.saturating_sub(granted.since) > REMEMBERED)
        {
            granted = None;
        }
        let is_granted = granted.is_some();
        let is_again = granted.as_ref().is_some_and(|granted| granted.is_again);
        granted.into_iter().for_each(|granted| granted.take_off(delta.span));
        if self.cancelled.contains(&job) {
            return SpanOutcome::Discarded;
        }
        let recorded = self.recorded.entry((job, delta.span.part())).or_default();
        let range = delta.span.from()..delta.span.to();
        match (is_granted, recorded.contains(&range)) {
            (false, true) => SpanOutcome::Discarded,
            (false, false) => {
                self.unleased.insert((worker, delta.lease, delta.span));
                SpanOutcome::Unleased
            }
            // The count is known when all of the record is counted, unless the lease was lost before.
            (true, true) if is_again && outcome == SpanOutcome::CountedAgain => SpanOutcome::CountedAgain,
            (true, true) => {
                let Delta { span, count, .. } = *delta;
                self.repeated.push((job, span, count, party_of(&name(worker))));
                SpanOutcome::Repeated
            }
            (true, false) if recorded.intersects(&range) => SpanOutcome::Discarded,
            (true, false) => {
                recorded.insert(range);
                self.fresh.push((Some(job), delta.span));
                SpanOutcome::Recorded
            }
        }
    }

    /// Checks that all repeated counts are compared: equal ones once, and those of one span one at a time.
    pub(crate) fn check_comparisons(&mut self, comparisons: &[Comparison]) {
        let repeated = &mut self.repeated;
        for Comparison { job, second } in comparisons {
            let of = |it: &(JobId, Span, Count, Party)| {
                (it.0, it.1, it.2, it.3) == (*job, second.span, second.count, second.source.party)
            };
            // A record that was settled during its recount is compared too.
            repeated.retain(|it| !of(it));
        }
        let is_compared =
            |job: JobId, span: Span| comparisons.iter().any(|it| (it.job, it.second.span) == (job, span));
        for (job, span, count, party) in repeated {
            assert!(is_compared(*job, *span), "not compared: {span} of job {job}, {count:?} by {party}");
        }
    }

    /// Handles a hello. The worker's earlier leases end, and the claimed ones are its own until it is told otherwise.
    /// It may report the claimed spans that were granted, and those of an earlier coordinator's lease.
    pub(crate) fn connect(
        &mut self,
        now: Duration,
        puzzles: &[Puzzle],
        hello: &Hello,
        there: &BTreeSet<WorkerId>,
        is_open: impl Fn(JobId) -> bool,
    ) {
        self.leave(hello.worker);
        for held in &hello.held {
            let &Held { lease, job: identity, ref spans } = held;
            // A lease of no job here is cancelled.
            let Some(job) = self.job(identity) else { continue };
            let seen = Seen { worker: hello.worker, job, spans: spans.clone() };
            self.leases.entry(lease).or_insert(seen);
            let is_countable = can_count(puzzle(puzzles, identity).plan.method(), hello.halves);
            let is_open = is_countable && !self.cancelled.contains(&job) && is_open(job);
            let may_be_from_before =
                self.restored.contains(&job) && !self.here.contains(&lease) && i64::try_from(lease.0).is_ok();
            if let Some(granted) = self.granted.get_mut(&lease) {
                // A worker that had to draw another number is known by its name.
                let is_renumbered = name(granted.worker) == hello.name && !there.contains(&granted.worker);
                if is_open && is_renumbered && granted.job == job {
                    granted.worker = hello.worker;
                }
                if is_open && granted.worker == hello.worker && granted.job == job {
                    let named = |span: &Span| span.without(spans);
                    let unnamed: Vec<Span> = granted.spans.iter().flat_map(named).collect();
                    unnamed.into_iter().for_each(|span| granted.take_off(span));
                }
            } else if is_open && may_be_from_before {
                let puzzle = puzzle(puzzles, identity);
                let spans = spans.iter().copied().filter(|&span| puzzle.has(span)).collect();
                let worker = hello.worker;
                self.granted.insert(lease, Granted { worker, job, spans, since: now, is_again: false });
            }
        }
    }

    /// Notes that the ledger has granted a lease, whether or not its worker hears of it.
    pub(crate) fn grant(&mut self, now: Duration, worker: WorkerId, lease: &Lease) {
        let spans: Vec<Span> = lease.spans.iter().map(|leased| leased.span).collect();
        let job = self.job(lease.job).expect("it has a plan");
        let is_again = spans.iter().all(|&span| self.is_recorded(job, span));
        self.here.insert(lease.id);
        self.granted.insert(lease.id, Granted { worker, job, spans, since: now, is_again });
    }

    pub(crate) fn leave(&mut self, worker: WorkerId) {
        self.leases.retain(|_, seen| seen.worker != worker);
    }

    /// Drops the leases of workers that were given up.
    pub(crate) fn keep_leases_of(&mut self, workers: &BTreeSet<WorkerId>) {
        self.leases.retain(|_, seen| workers.contains(&seen.worker));
    }

    /// Checks a message that reaches its worker, if nothing happens to its link; `unacknowledged` is the worker's
    /// memory. The coordinator knows `known`, which is `durable` as long as it leads.
    pub(crate) fn tell(
        &mut self,
        known: &Contents,
        durable: &Contents,
        to: WorkerId,
        unacknowledged: &[Report],
        message: &ToWorker,
    ) {
        match message {
            ToWorker::Lease(lease) => {
                assert!(!lease.spans.is_empty(), "lease {} of nothing", lease.id);
                let spans: Vec<Span> = lease.spans.iter().map(|leased| leased.span).collect();
                // A recount is of whole records, in a job that is completely recorded.
                let job = self.job(lease.job).expect("it has a plan");
                let is_record = |span: &Span| known.has_record(job, *span);
                let is_again = spans.iter().all(is_record) && known.is_all_recorded(job);
                if !is_again {
                    spans.iter().for_each(|&span| self.check_free(job, span));
                }
                self.leases.insert(lease.id, Seen { worker: to, job, spans });
            }
            ToWorker::Shorten { lease, spans } => {
                if let Some(seen) = self.leases.get_mut(lease).filter(|seen| seen.worker == to) {
                    seen.take_off(spans);
                }
                // Another worker may have recorded a tail, which is not checked when it is leased again.
                self.fresh.extend(spans.iter().map(|&span| (None, span)));
            }
            ToWorker::Cancel(lease) => {
                if self.leases.get(lease).is_some_and(|seen| seen.worker == to) {
                    self.leases.remove(lease);
                }
            }
            ToWorker::Drain | ToWorker::Notice(_) | ToWorker::ReportEvery(_) | ToWorker::Farewell => {}
            ToWorker::Acknowledge { sequence } => {
                let forgotten = unacknowledged.iter().filter(|report| report.sequence <= *sequence);
                for delta in forgotten.flat_map(|report| &report.deltas) {
                    self.check_durable(durable, to, delta);
                }
            }
        }
    }

    fn is_recorded(&self, job: JobId, span: Span) -> bool {
        let recorded = self.recorded.get(&(job, span.part()));
        recorded.is_some_and(|recorded| recorded.contains(&(span.from()..span.to())))
    }

    /// Checks that no recorded span is leased, unless it was recorded only now.
    fn check_free(&self, job: JobId, span: Span) {
        let fresh: Vec<Span> = self
            .fresh
            .iter()
            .filter(|fresh| fresh.0.is_none_or(|of| of == job))
            .map(|fresh| fresh.1)
            .collect();
        let Some(recorded) = self.recorded.get(&(job, span.part())) else { return };
        for old in span.without(&fresh) {
            assert!(!recorded.intersects(&(old.from()..old.to())), "{old} is leased after it was recorded");
        }
    }

    /// Checks an acknowledged delta. It is durable, or overlaps durable spans, or was not granted, or its job is
    /// cancelled.
    fn check_durable(&self, durable: &Contents, worker: WorkerId, delta: &Delta) {
        let is_unleased = self.unleased.contains(&(worker, delta.lease, delta.span));
        let Some(job) = self.job(delta.job) else {
            return assert!(is_unleased, "acknowledged to {worker}, of no job here: {delta:?}");
        };
        let entry = &durable.entries[&job];
        let durable = durable.recorded(job, delta.span.part());
        let range = delta.span.from()..delta.span.to();
        assert!(
            entry.phase == Phase::Cancelled || durable.intersects(&range) || is_unleased,
            "acknowledged to {worker}, but not durable: {delta:?} of {durable}"
        );
        let known = self.recorded.get(&(job, delta.span.part()));
        let missing = known.into_iter().flat_map(Intervals::ranges).find(|known| !durable.contains(known));
        assert!(missing.is_none(), "acknowledged to {worker} before {missing:?} of {delta:?} is durable");
    }

    /// Checks that no unrecorded subproblem is held twice.
    pub(crate) fn check_leases(&mut self) {
        self.fresh.clear();
        let mut held = Vec::new();
        let none = Intervals::default();
        for (id, seen) in &self.leases {
            if !self.planned.contains(&seen.job) || self.cancelled.contains(&seen.job) {
                continue;
            }
            for span in &seen.spans {
                let recorded = self.recorded.get(&(seen.job, span.part())).unwrap_or(&none);
                let gaps = recorded.gaps(span.from()..span.to()).into_iter();
                held.extend(gaps.map(|gap| (seen.job, span.part(), gap.start, gap.end, *id)));
            }
        }
        held.sort_unstable();
        for pair in held.windows(2) {
            let apart = (pair[0].0, pair[0].1) != (pair[1].0, pair[1].1) || pair[0].3 <= pair[1].2;
            assert!(apart, "held twice (job, part, from, to, lease): {pair:?}");
        }
    }
}

impl Seen {
    fn take_off(&mut self, spans: &[Span]) {
        self.spans = self.spans.iter().flat_map(|&held| held.without(spans)).collect();
    }
}

impl Granted {
    fn may_report(&self, worker: WorkerId, job: JobId, delta: &Delta) -> bool {
        let is_its = self.worker == worker && self.job == job;
        is_its && delta.span.without(&self.spans).is_empty()
    }

    fn take_off(&mut self, span: Span) {
        self.spans = self.spans.iter().flat_map(|&held| held.without(&[span])).collect();
    }
}
