//! What has changed since somebody last asked.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use queens_model::{JobId, Party, ToWorker, WorkerId};
use queens_solver::Choice;

use crate::effects::{Comparison, Effects, Finding, Loss, WantedPlan};
use crate::jobs::job_table::Jobs;
use crate::store::draw::Draw;
use crate::store::{Block, Record, SecondCount, Verdict, Write};

/// What has changed since the effects were last taken, each thing once, however often it has changed.
#[derive(Debug, Default)]
pub(crate) struct Changes {
    /// Why each is blocked, if it is.
    blocked: BTreeMap<Block, Option<String>>,
    entries: BTreeSet<JobId>,
    choices: Vec<(JobId, Vec<Choice>)>,
    records: BTreeMap<(JobId, u32, u64), Record>,
    coverage: BTreeSet<(JobId, u32)>,
    second_counts: BTreeMap<(JobId, u32, u64, Party), SecondCount>,
    verdicts: Vec<(JobId, Verdict)>,
    /// By their jobs and spans, as cross, first subproblem and end.
    comparisons: BTreeMap<(JobId, u32, u64, u64), Vec<Comparison>>,
    draws: Vec<Draw>,
    messages: Vec<(WorkerId, ToWorker)>,
    plans: Vec<WantedPlan>,
    losses: Vec<Loss>,
    findings: Vec<Finding>,
}

impl Changes {
    /// Some workers get no leases any more, if there is a reason, which may be empty, or get them again.
    pub(crate) fn block(&mut self, block: Block, reason: Option<String>) {
        self.blocked.insert(block, reason);
    }

    /// What is said of a job as a whole has changed.
    pub(crate) fn change_entry(&mut self, job: JobId) {
        self.entries.insert(job);
    }

    /// A job's plan is made.
    pub(crate) fn plan(&mut self, job: JobId, choices: Vec<Choice>) {
        self.choices.push((job, choices));
    }

    /// A span is recorded, and with it what is covered of its cross and the sums of its job.
    pub(crate) fn record(&mut self, job: JobId, record: Record) {
        let (cross, from) = (record.span.cross(), record.span.from());
        self.entries.insert(job);
        self.coverage.insert((job, cross));
        self.records.insert((job, cross, from), record);
    }

    /// A record was counted again.
    pub(crate) fn count_again(&mut self, job: JobId, second: SecondCount) {
        let key = (job, second.span.cross(), second.span.from(), second.source.party);
        self.second_counts.insert(key, second);
    }

    /// Something was decided about a record.
    pub(crate) fn judge(&mut self, job: JobId, verdict: Verdict) {
        self.verdicts.push((job, verdict));
    }

    /// Records are wanted that are to be counted again.
    pub(crate) fn draw(&mut self, draw: Draw) {
        self.draws.push(draw);
    }

    /// A span was counted again by accident. Of what one party says of it at a time, two different counts show all that
    /// more could: that it contradicts itself.
    pub(crate) fn compare(&mut self, comparison: Comparison) {
        let Comparison { job, second } = &comparison;
        let span = second.span;
        let of_span = self.comparisons.entry((*job, span.cross(), span.from(), span.to())).or_default();
        let mut own = of_span.iter().filter(|other| other.second.source.party == second.source.party);
        let is_said = |other: &Comparison| other.second.count == second.count;
        if own.clone().count() < 2 && !own.any(is_said) {
            of_span.push(comparison);
        }
    }

    /// A worker is to be told something.
    pub(crate) fn send(&mut self, worker: WorkerId, message: ToWorker) {
        self.messages.push((worker, message));
    }

    /// What a worker was to be told is no use any more.
    pub(crate) fn forget_messages_to(&mut self, worker: WorkerId) {
        self.messages.retain(|(to, _)| *to != worker);
    }

    /// A plan is to be made.
    pub(crate) fn want_plan(&mut self, plan: WantedPlan) {
        self.plans.push(plan);
    }

    /// A worker has lost leases.
    pub(crate) fn lose(&mut self, loss: Loss) {
        self.losses.push(loss);
    }

    /// Something came out when records were counted again.
    pub(crate) fn find(&mut self, finding: Finding) {
        self.findings.push(finding);
    }

    /// Takes all of it, as what is to be done about it.
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
        // Of a damaged job nothing is written, so that all that is left of it stays.
        let entries =
            changes.entries.iter().filter_map(|id| jobs.get(*id)).filter(|job| job.damage().is_none());
        writes.extend(entries.map(|job| Write::Job(job.entry().clone())));
        writes.extend(changes.choices.into_iter().map(|(job, choices)| Write::Plan { job, choices }));
        writes.extend(changes.records.into_iter().map(|((job, ..), record)| Write::Record { job, record }));
        writes.extend(changes.coverage.into_iter().filter_map(|(id, cross)| {
            let change = jobs.change(id, |job| job.counting_mut()?.take_change(cross))??;
            Some(Write::Coverage { job: id, cross, change })
        }));
        let again = changes.second_counts.into_iter();
        writes.extend(again.map(|((job, ..), count)| Write::SecondCount { job, count }));
        writes.extend(changes.verdicts.into_iter().map(|(job, verdict)| Write::Verdict { job, verdict }));
        let Self { comparisons: of_spans, mut draws, messages, plans, losses, findings, .. } = changes;
        // One of each span: what comes of it has to be written before the next can be held against the span's counts.
        let mut comparisons = Vec::new();
        for (key, of_span) in of_spans {
            let mut of_span = of_span.into_iter();
            comparisons.extend(of_span.next());
            if of_span.len() > 0 {
                self.comparisons.insert(key, of_span.collect());
            }
        }
        if !comparisons.is_empty() {
            // What comes of these is not written yet: records would be drawn that they confirm. The next tick asks again.
            draws.clear();
        }
        Effects { writes, comparisons, draws, messages, plans, losses, findings }
    }
}
