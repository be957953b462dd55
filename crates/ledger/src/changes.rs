//! Collects the changes of the ledger's state until its caller takes them as [`Effects`].

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use queens_model::{JobId, Party, ToWorker, WorkerId};
use queens_solver::Choice;

use crate::effects::{Comparison, Effects, Finding, Judgement, Loss, WantedPlan};
use crate::jobs::job_table::Jobs;
use crate::store::draw::Draw;
use crate::store::{Block, Record, SecondCount, Verdict, Write};

/// The changes since the effects were last taken. Repeated changes of one thing are kept as one.
#[derive(Debug, Default)]
pub(crate) struct Changes {
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
    draws: Vec<Draw>,
    judgement: Option<Judgement>,
    messages: Vec<(WorkerId, ToWorker)>,
    plans: Vec<WantedPlan>,
    losses: Vec<Loss>,
    findings: Vec<Finding>,
}

impl Changes {
    /// Blocks workers if there is a reason, which may be empty, and unblocks them otherwise.
    pub(crate) fn block(&mut self, block: Block, reason: Option<String>) {
        self.blocked.insert(block, reason);
    }

    /// Notes that a job's entry has changed.
    pub(crate) fn change_entry(&mut self, job: JobId) {
        self.entries.insert(job);
    }

    /// Notes that a job has its plan.
    pub(crate) fn plan(&mut self, job: JobId, choices: Vec<Choice>) {
        self.choices.push((job, choices));
    }

    /// Notes a new record, and with it the changed coverage of its part and the changed sums of its job.
    pub(crate) fn record(&mut self, job: JobId, record: Record) {
        let (part, from) = (record.span.part(), record.span.from());
        self.entries.insert(job);
        self.coverage.insert((job, part));
        self.records.insert((job, part, from), record);
    }

    /// Notes a second count of a record.
    pub(crate) fn count_again(&mut self, job: JobId, second: SecondCount) {
        let key = (job, second.span.part(), second.span.from(), second.source.party);
        self.second_counts.insert(key, second);
    }

    /// Notes a verdict about a record.
    pub(crate) fn judge(&mut self, job: JobId, verdict: Verdict) {
        self.verdicts.push((job, verdict));
    }

    /// Asks the store for records to recount.
    pub(crate) fn draw(&mut self, draw: Draw) {
        self.draws.push(draw);
    }

    /// Asks for the coordinator's own count of a disputed span.
    pub(crate) fn want_judgement(&mut self, judgement: Judgement) {
        self.judgement = Some(judgement);
    }

    /// Asks for the comparison of a span that was counted twice by accident. One party's first two different counts are
    /// enough: they show that the party contradicts itself.
    pub(crate) fn compare(&mut self, comparison: Comparison) {
        let Comparison { job, second } = &comparison;
        let span = second.span;
        let of_span = self.comparisons.entry((*job, span.part(), span.from(), span.to())).or_default();
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

    /// Drops the queued messages to a worker.
    pub(crate) fn forget_messages_to(&mut self, worker: WorkerId) {
        self.messages.retain(|(to, _)| *to != worker);
    }

    /// Asks for a plan.
    pub(crate) fn want_plan(&mut self, plan: WantedPlan) {
        self.plans.push(plan);
    }

    /// Notes that a worker has lost leases.
    pub(crate) fn lose(&mut self, loss: Loss) {
        self.losses.push(loss);
    }

    /// Notes the outcome of a recount.
    pub(crate) fn find(&mut self, finding: Finding) {
        self.findings.push(finding);
    }

    /// Takes all changes, as the effects that they require.
    pub(crate) fn take(&mut self, now: Duration, jobs: &mut Jobs) -> Effects {
        let changes = std::mem::take(self);
        for &id in &changes.entries {
            jobs.change(id, |job| job.settle_active(now));
        }
        let mut writes = Vec::new();
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
        let Self { comparisons: of_spans, mut draws, judgement, messages, plans, losses, findings, .. } =
            changes;
        // One comparison per span: its outcome must be durable before the span's next one is compared.
        let mut comparisons = Vec::new();
        for (key, of_span) in of_spans {
            let mut of_span = of_span.into_iter();
            comparisons.extend(of_span.next());
            if of_span.len() > 0 {
                self.comparisons.insert(key, of_span.collect());
            }
        }
        if !comparisons.is_empty() {
            // Without these outcomes, a draw returns records that they confirm. The next tick repeats the draw.
            draws.clear();
        }
        Effects { writes, comparisons, draws, judgement, messages, plans, losses, findings }
    }
}
