//! What should be so: a simple model of the ledger, told everything it is told, that judges everything it says.

use std::collections::{BTreeMap, BTreeSet};

use queens_coordinator::intervals::Intervals;
use queens_coordinator::ledger::{Comparison, Outcome};
use queens_coordinator::store::{MAX_COUNT, MAX_DURATION, Phase};
use queens_proto::{Delta, Failure, Hello, JobId, LeaseId, Report, ToWorker, WorkerId};
use queens_solver::{Count, Span};

use crate::disk::Disk;
use crate::puzzle::Puzzle;
use crate::random::Random;
use crate::worker::without;

/// The model.
#[derive(Debug, Default)]
pub(crate) struct Witness {
    /// What is recorded of each cross, durable or not.
    recorded: BTreeMap<(JobId, u32), Intervals>,
    planned: BTreeSet<JobId>,
    cancelled: BTreeSet<JobId>,
    /// Leases as their workers see them.
    leases: BTreeMap<LeaseId, Seen>,
    /// All fencing tokens ever given out.
    tokens: BTreeSet<LeaseId>,
    compared: BTreeMap<JobId, Compared>,
    /// Reported again, and not compared yet.
    repeated: Vec<Comparison>,
    /// What was recorded, or taken off a lease, since [`check_leases`](Self::check_leases).
    fresh: Vec<(Option<JobId>, Span)>,
}

#[derive(Debug)]
struct Seen {
    worker: WorkerId,
    job: JobId,
    spans: Vec<Span>,
}

/// How many repeated spans agreed with their records, and how many didn't.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Compared {
    pub(crate) n_verified: u64,
    pub(crate) n_disputed: u64,
}

impl Witness {
    /// The coordinator was restarted and knows what is durable.
    pub(crate) fn restart(&mut self, disk: &Disk) {
        *self = Self { tokens: std::mem::take(&mut self.tokens), ..Self::default() };
        for (&job, row) in &disk.rows {
            let crosses = disk.coverages(job).map(|(number, recorded)| ((job, number), recorded.clone()));
            self.recorded.extend(crosses);
            if disk.progress(job).is_some() {
                self.planned.insert(job);
            }
            if row.phase == Phase::Cancelled {
                self.cancelled.insert(job);
            }
            let compared = Compared { n_verified: row.n_verified, n_disputed: row.n_disputed };
            self.compared.insert(job, compared);
        }
    }

    pub(crate) fn planned(&mut self, job: JobId) {
        if !self.cancelled.contains(&job) {
            self.planned.insert(job);
        }
    }

    pub(crate) fn cancelled(&mut self, job: JobId) {
        self.cancelled.insert(job);
    }

    /// Some fencing token that was given out.
    pub(crate) fn any_token(&self, random: &mut Random) -> Option<LeaseId> {
        random.pick(&self.tokens.iter().copied().collect::<Vec<_>>())
    }

    pub(crate) fn n_recorded(&self, job: JobId) -> u128 {
        let crosses = self.recorded.range((job, 0)..=(job, u32::MAX));
        crosses.map(|(_, recorded)| u128::from(recorded.len())).sum()
    }

    /// Whether a report makes sense.
    pub(crate) fn accepts(&self, puzzles: &[Puzzle], report: &Report) -> bool {
        report.deltas.iter().all(|delta| {
            let fits = |count: Count| count.solutions <= MAX_COUNT && count.nodes <= MAX_COUNT;
            self.planned.contains(&delta.job)
                && crate::disk::puzzle(puzzles, delta.job).has(delta.span)
                && fits(delta.count)
                && delta.duration <= MAX_DURATION
        })
    }

    /// What should become of a report that makes sense.
    pub(crate) fn report(&mut self, worker: WorkerId, report: &Report) -> Vec<Outcome> {
        let outcomes = report.deltas.iter().map(|delta| self.record(worker, delta)).collect();
        for lease in &report.finished {
            if self.leases.get(lease).is_some_and(|seen| seen.worker == worker) {
                self.leases.remove(lease);
            }
        }
        outcomes
    }

    /// A worker can't count a span, and gives it back.
    pub(crate) fn fail(&mut self, worker: WorkerId, failure: &Failure) {
        if let Some(seen) = self.leases.get_mut(&failure.lease).filter(|seen| seen.worker == worker) {
            seen.take_off(&[failure.span]);
        }
    }

    fn record(&mut self, worker: WorkerId, delta: &Delta) -> Outcome {
        if let Some(seen) = self.leases.get_mut(&delta.lease).filter(|seen| seen.worker == worker) {
            seen.take_off(&[delta.span]);
        }
        if self.cancelled.contains(&delta.job) {
            return Outcome::Discarded;
        }
        let recorded = self.recorded.entry((delta.job, delta.span.cross())).or_default();
        let range = delta.span.from()..delta.span.to();
        if recorded.contains(&range) {
            let Delta { job, span, count, .. } = *delta;
            self.repeated.push(Comparison { job, span, count, worker });
            Outcome::Repeated
        } else if recorded.intersects(&range) {
            Outcome::Discarded
        } else {
            recorded.insert(range);
            self.fresh.push((Some(delta.job), delta.span));
            Outcome::Recorded
        }
    }

    /// All that was repeated since the last call is to be compared.
    pub(crate) fn check_comparisons(&mut self, comparisons: &[Comparison]) {
        assert_eq!(std::mem::take(&mut self.repeated), comparisons, "comparisons");
    }

    pub(crate) fn compare(&mut self, comparison: &Comparison, recorded: Option<Count>) {
        let compared = self.compared.entry(comparison.job).or_default();
        match recorded {
            Some(count) if count == comparison.count => compared.n_verified += 1,
            Some(_) => compared.n_disputed += 1,
            None => {}
        }
    }

    pub(crate) fn compared(&self, job: JobId) -> Compared {
        self.compared.get(&job).copied().unwrap_or_default()
    }

    /// A worker says hello: what it held before is its own no more, and what it says it holds is, until it is told
    /// otherwise.
    pub(crate) fn connect(&mut self, hello: &Hello) {
        self.leave(hello.worker);
        for held in &hello.held {
            let seen = Seen { worker: hello.worker, job: held.job, spans: held.spans.clone() };
            self.leases.entry(held.lease).or_insert(seen);
        }
    }

    pub(crate) fn leave(&mut self, worker: WorkerId) {
        self.leases.retain(|_, seen| seen.worker != worker);
    }

    /// Leases of workers that were given up are nobody's.
    pub(crate) fn keep_leases_of(&mut self, workers: &BTreeSet<WorkerId>) {
        self.leases.retain(|_, seen| workers.contains(&seen.worker));
    }

    /// A message that reaches its worker, if nothing happens to its link; `unacknowledged` is what the worker remembers.
    pub(crate) fn tell(&mut self, disk: &Disk, to: WorkerId, unacknowledged: &[Report], message: &ToWorker) {
        match message {
            ToWorker::Lease(lease) => {
                assert!(self.tokens.insert(lease.id), "lease {} is given out again", lease.id);
                assert!(!lease.spans.is_empty(), "lease {} of nothing", lease.id);
                let spans: Vec<Span> = lease.spans.iter().map(|leased| leased.span).collect();
                spans.iter().for_each(|&span| self.check_free(lease.job, span));
                self.leases.insert(lease.id, Seen { worker: to, job: lease.job, spans });
            }
            ToWorker::Shorten { lease, spans } => {
                if let Some(seen) = self.leases.get_mut(lease).filter(|seen| seen.worker == to) {
                    seen.take_off(spans);
                }
                // A tail may have been recorded by somebody else, which is not looked at when it is leased again.
                self.fresh.extend(spans.iter().map(|&span| (None, span)));
            }
            ToWorker::Cancel(lease) => {
                if self.leases.get(lease).is_some_and(|seen| seen.worker == to) {
                    self.leases.remove(lease);
                }
            }
            ToWorker::Drain | ToWorker::Notice(_) => {}
            ToWorker::Acknowledge { sequence } => {
                let forgotten = unacknowledged.iter().filter(|report| report.sequence <= *sequence);
                for delta in forgotten.flat_map(|report| &report.deltas) {
                    self.check_durable(disk, to, delta);
                }
            }
        }
    }

    /// Nothing is leased that was recorded, unless that happened only now.
    fn check_free(&self, job: JobId, span: Span) {
        let fresh: Vec<Span> = self
            .fresh
            .iter()
            .filter(|fresh| fresh.0.is_none_or(|of| of == job))
            .map(|fresh| fresh.1)
            .collect();
        let Some(recorded) = self.recorded.get(&(job, span.cross())) else { return };
        for old in without(span, &fresh) {
            assert!(!recorded.intersects(&(old.from()..old.to())), "{old} is leased after it was recorded");
        }
    }

    /// What is acknowledged is durable, or contradicts the boundaries of what is, or nobody wants it any more.
    fn check_durable(&self, disk: &Disk, worker: WorkerId, delta: &Delta) {
        let row = &disk.rows[&delta.job];
        let durable = disk.recorded(delta.job, delta.span.cross());
        let range = delta.span.from()..delta.span.to();
        assert!(
            row.phase == Phase::Cancelled || durable.intersects(&range),
            "acknowledged to {worker}, but not durable: {delta:?} of {durable}"
        );
        let known = self.recorded.get(&(delta.job, delta.span.cross()));
        let missing = known.into_iter().flat_map(Intervals::ranges).find(|known| !durable.contains(known));
        assert!(missing.is_none(), "acknowledged to {worker} before {missing:?} of {delta:?} is durable");
    }

    /// No subproblem that is to be counted is held twice.
    pub(crate) fn check_leases(&mut self) {
        self.fresh.clear();
        let mut held = Vec::new();
        let none = Intervals::default();
        for (id, seen) in &self.leases {
            if !self.planned.contains(&seen.job) || self.cancelled.contains(&seen.job) {
                continue;
            }
            for span in &seen.spans {
                let recorded = self.recorded.get(&(seen.job, span.cross())).unwrap_or(&none);
                let gaps = recorded.gaps(span.from()..span.to()).into_iter();
                held.extend(gaps.map(|gap| (seen.job, span.cross(), gap.start, gap.end, *id)));
            }
        }
        held.sort_unstable();
        for pair in held.windows(2) {
            let apart = (pair[0].0, pair[0].1) != (pair[1].0, pair[1].1) || pair[0].3 <= pair[1].2;
            assert!(apart, "held twice (job, cross, from, to, lease): {pair:?}");
        }
    }
}

impl Seen {
    fn take_off(&mut self, spans: &[Span]) {
        self.spans = self.spans.iter().flat_map(|&held| without(held, spans)).collect();
    }
}
