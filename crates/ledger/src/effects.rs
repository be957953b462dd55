//! The actions that the ledger asks its caller to carry out, collected until it takes them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use queens_model::{JobId, Party, ToWorker, WorkerId};
use queens_solver::{BoardSize, Choice, Method, Pass, Plan, Span};

use crate::event::LedgerEvent;
use crate::jobs::job_table::Jobs;
use crate::sessions::Session;
use crate::store::draw::Draw;
use crate::store::{Block, Record, SecondCount, Verdict, Write};

/// The ledger's requests, in this order: first writes become durable, then the others are carried out.
#[derive(Debug, Default)]
pub struct Effects {
    /// Writes to make durable, all or none.
    pub writes: Vec<Write>,
    /// Comparisons to look up in the store, for [`Core::compared`](crate::Core::compared). Further effects follow then.
    pub comparisons: Vec<Comparison>,
    /// Draws to look up in the store, for [`Core::drawn`](crate::Core::drawn). Further effects follow then. The ledger
    /// repeats a draw that got no answer.
    pub draws: Vec<Draw>,
    /// A disputed span to count, for [`Core::judged`](crate::Core::judged). There is no other until that is called.
    pub judgement: Option<Judgement>,
    /// Messages to send to workers that have a session.
    pub messages: Vec<(WorkerId, ToWorker)>,
    /// Sessions whose workers have said goodbye. Each gets [`ToWorker::Farewell`] as its last message.
    pub farewells: Vec<Session>,
    /// Plans to make, for [`Core::planned`](crate::Core::planned).
    pub plans: Vec<WantedPlan>,
    /// Events to report to people, whether or not the writes succeed.
    pub(crate) events: Vec<LedgerEvent>,
    changes: Changes,
}

/// Changes that become writes and comparisons when the effects are taken. Repeated changes of one thing are kept as
/// one.
#[derive(Debug, Default)]
struct Changes {
    /// The reason of each block; `None` lifts the block.
    blocked: BTreeMap<Block, Option<String>>,
    entries: BTreeSet<JobId>,
    choices: Vec<(JobId, Vec<Choice>)>,
    records: BTreeMap<(JobId, u32, u64), Record>,
    coverage: BTreeSet<(JobId, u32)>,
    second_counts: BTreeMap<(JobId, u32, u64, Party), SecondCount>,
    verdicts: Vec<(JobId, Verdict)>,
    /// Keyed by job, part, first subproblem and end.
    comparisons: BTreeMap<(JobId, u32, u64, u64), Vec<Comparison>>,
}

impl Effects {
    /// Blocks workers if there is a reason, which may be empty, and unblocks them otherwise.
    pub(crate) fn block(&mut self, block: Block, reason: Option<String>) {
        self.changes.blocked.insert(block, reason);
    }

    /// Notes that a job's entry has changed.
    pub(crate) fn change_entry(&mut self, job: JobId) {
        self.changes.entries.insert(job);
    }

    /// Notes that a job has its plan.
    pub(crate) fn plan(&mut self, job: JobId, choices: Vec<Choice>) {
        self.changes.choices.push((job, choices));
    }

    /// Notes a new record, and with it the changed coverage of its part and the changed sums of its job.
    pub(crate) fn record(&mut self, job: JobId, record: Record) {
        let (part, from) = (record.span.part(), record.span.from());
        self.changes.entries.insert(job);
        self.changes.coverage.insert((job, part));
        self.changes.records.insert((job, part, from), record);
    }

    /// Notes a second count of a record.
    pub(crate) fn count_again(&mut self, job: JobId, second: SecondCount) {
        let key = (job, second.span.part(), second.span.from(), second.source.party);
        self.changes.second_counts.insert(key, second);
    }

    /// Notes a verdict about a record.
    pub(crate) fn judge(&mut self, job: JobId, verdict: Verdict) {
        self.changes.verdicts.push((job, verdict));
    }

    /// Asks for the comparison of a span that was counted twice by accident. One party's first two different counts are
    /// enough: they show that the party contradicts itself.
    pub(crate) fn compare(&mut self, comparison: Comparison) {
        let Comparison { job, second } = &comparison;
        let key = (*job, second.span.part(), second.span.from(), second.span.to());
        let of_span = self.changes.comparisons.entry(key).or_default();
        let mut own = of_span.iter().filter(|other| other.second.source.party == second.source.party);
        let is_said = |other: &Comparison| other.second.count == second.count;
        if own.clone().count() < 2 && !own.any(is_said) {
            of_span.push(comparison);
        }
    }

    /// Queues a message to a worker.
    pub(crate) fn send(&mut self, worker: WorkerId, message: ToWorker) {
        self.messages.push((worker, message));
    }

    /// Takes all effects, with the writes that the changes require.
    pub(crate) fn take(&mut self, now: Duration, jobs: &mut Jobs) -> Self {
        let mut effects = std::mem::take(self);
        let changes = std::mem::take(&mut effects.changes);
        for &id in &changes.entries {
            jobs.change(id, |job| job.settle_active(now));
        }
        let writes = &mut effects.writes;
        let blocked = |(block, reason): (Block, Option<String>)| Write::Blocked {
            block,
            blocked: reason.is_some(),
            reason: reason.unwrap_or_default(),
        };
        writes.extend(changes.blocked.into_iter().map(blocked));
        // A damaged job is never written, so that everything left of it in the store stays.
        let entries =
            changes.entries.iter().filter_map(|id| jobs.get(*id)).filter(|job| job.damage().is_none());
        writes.extend(entries.map(|job| Write::Job(job.entry().clone())));
        writes.extend(changes.choices.into_iter().map(|(job, choices)| Write::Plan { job, choices }));
        writes.extend(changes.records.into_iter().map(|((job, ..), record)| Write::Record { job, record }));
        writes.extend(changes.coverage.into_iter().filter_map(|(id, part)| {
            let change = jobs.change(id, |job| job.counting_mut()?.take_change(part))??;
            Some(Write::Coverage { job: id, part, change })
        }));
        let again = changes.second_counts.into_iter();
        writes.extend(again.map(|((job, ..), count)| Write::SecondCount { job, count }));
        writes.extend(changes.verdicts.into_iter().map(|(job, verdict)| Write::Verdict { job, verdict }));
        // One comparison per span: its outcome must be durable before the span's next one is compared.
        for (key, of_span) in changes.comparisons {
            let mut of_span = of_span.into_iter();
            effects.comparisons.extend(of_span.next());
            if of_span.len() > 0 {
                self.changes.comparisons.insert(key, of_span.collect());
            }
        }
        if !effects.comparisons.is_empty() {
            // Without these outcomes, a draw returns what they are about to change: a record would be replaced twice.
            // The next tick repeats the draw.
            effects.draws.clear();
        }
        effects
    }
}

/// A plan that a job waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WantedPlan {
    /// The job.
    pub job: JobId,
    /// The board size.
    pub n: BoardSize,
    /// The counting method.
    pub method: Method,
    /// The pass, which decides the images that are counted.
    pub pass: Pass,
}

/// A disputed span that the coordinator counts itself.
#[derive(Clone, Debug)]
pub struct Judgement {
    /// The job.
    pub job: JobId,
    /// The plan that the span belongs to.
    pub plan: Arc<Plan>,
    /// The span.
    pub span: Span,
}

/// A reported span that lies wholly in recorded ones. If it repeats a record exactly, the counts must agree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Comparison {
    /// The job.
    pub job: JobId,
    /// The new count.
    pub second: SecondCount,
}
