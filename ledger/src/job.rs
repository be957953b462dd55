//! One job: its plan, what is recorded of it, and what is there to be leased.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use queens_messages::{Progress, WorkerId};
use queens_solver::{Count, Plan, Span};

use crate::failure::FailedSpans;
use crate::ledger::Rank;
use crate::pace::Pace;
use crate::spans::SpanSet;
use crate::store::{Coverage, CoverageChange, JobEntry};

/// A job with its plan.
///
/// Invariant: each subproblem is recorded, or free, or failed, or held under a live lease. (It may be recorded *and* held: a
/// late report of a lost lease can come first.)
#[derive(Clone, Debug)]
pub(crate) struct Job {
    pub(crate) entry: JobEntry,
    pub(crate) counting: Option<Counting>,
    /// Since when it is counted, if it is; the time before that is in `entry`.
    pub(crate) counted_since: Option<Duration>,
    pub(crate) pace: Pace,
}

/// What there is once the plan is made.
#[derive(Clone, Debug)]
pub(crate) struct Counting {
    pub(crate) plan: Arc<Plan>,
    pub(crate) coverage: Vec<Coverage>,
    /// By cross: where ranges of the coverage begin, or began, that have changed since they were last written.
    changed: BTreeMap<u32, BTreeSet<u64>>,
    pub(crate) free: SpanSet,
    pub(crate) failed: FailedSpans,
    pub(crate) progress: Progress,
}

impl Job {
    /// Its place in the order in which jobs are served.
    pub(crate) fn rank(&self) -> Rank {
        (Reverse(self.entry.priority), self.entry.id)
    }

    /// What is recorded of it.
    pub(crate) fn progress(&self) -> Progress {
        self.counting.as_ref().map(|counting| counting.progress).unwrap_or_default()
    }

    pub(crate) fn is_complete(&self) -> bool {
        self.counting.as_ref().is_some_and(Counting::is_complete)
    }

    /// Its plan, if there is one and workers may get leases of it.
    pub(crate) fn servable(&self) -> Option<&Counting> {
        self.counting.as_ref().filter(|_| !self.entry.paused)
    }

    /// For how long it has been counted, restarts left out.
    pub(crate) fn active(&self, now: Duration) -> Duration {
        self.entry.active + self.counted_since.map_or(Duration::ZERO, |since| now.saturating_sub(since))
    }

    /// Somebody counts it from now on, if it is not paused. Returns whether its entry says so for the first time.
    pub(crate) fn start_counting(&mut self, now: Duration, date_ms: Option<u64>) -> bool {
        if self.entry.paused || self.counted_since.is_some() {
            return false;
        }
        self.counted_since = Some(now);
        // Of a job of which something is recorded it is too late to say when that began.
        let begins = self.entry.started_ms.is_none() && self.progress().n_recorded == 0 && date_ms.is_some();
        if begins {
            self.entry.started_ms = date_ms;
        }
        begins
    }

    /// Makes that part of what is stored.
    pub(crate) fn settle_active(&mut self, now: Duration) {
        self.entry.active = self.active(now);
        self.counted_since = self.counted_since.map(|_| now);
    }
}

/// How a reported span lies to what is recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Overlap {
    None,
    Partial,
    Whole,
}

impl Counting {
    /// A job of which `coverage` is recorded and all else free.
    pub(crate) fn new(plan: Arc<Plan>, coverage: Vec<Coverage>) -> Self {
        let (free, failed) = (SpanSet::default(), FailedSpans::default());
        let (changed, progress) = (BTreeMap::new(), Progress::default());
        let mut counting = Self { plan, coverage, changed, free, failed, progress };
        for (number, planned) in (0..).zip(counting.plan.crosses()) {
            let recorded = &counting.coverage[number as usize];
            let all = planned.choice().n_subproblems;
            for gap in recorded.recorded.gaps(0..all) {
                if let Ok(span) = Span::new(number, gap.start, gap.end) {
                    counting.free.insert(span);
                }
            }
            let progress = &mut counting.progress;
            progress.solutions += u128::from(planned.cross().weight()) * recorded.solutions;
            progress.nodes += recorded.nodes;
            progress.n_subproblems += u128::from(all);
            progress.n_recorded += u128::from(recorded.recorded.len());
            progress.work += planned.choice().work;
            progress.work_recorded += work_recorded(planned.choice().work, recorded.recorded.len(), all);
        }
        counting
    }

    /// Whether the span lies in a cross of the plan.
    pub(crate) fn has(&self, span: Span) -> bool {
        self.plan.cross(span.cross()).is_some_and(|planned| span.to() <= planned.choice().n_subproblems)
    }

    /// How `span`, which must lie in the plan, meets what is recorded.
    pub(crate) fn overlap(&self, span: Span) -> Overlap {
        let recorded = &self.coverage[span.cross() as usize].recorded;
        let range = span.from()..span.to();
        if !recorded.intersects(&range) {
            Overlap::None
        } else if recorded.contains(&range) {
            Overlap::Whole
        } else {
            Overlap::Partial
        }
    }

    /// Adds a span of which nothing is recorded yet.
    pub(crate) fn record(&mut self, span: Span, count: Count) {
        assert_eq!(self.overlap(span), Overlap::None, "a span is added to a total once");
        let planned = &self.plan.crosses()[span.cross() as usize];
        let coverage = &mut self.coverage[span.cross() as usize];
        let (work, all) = (planned.choice().work, planned.choice().n_subproblems);
        let before = coverage.recorded.len();
        let merged = coverage.recorded.insert(span.from()..span.to());
        let begins = merged.first().map_or(span.from(), |range| range.start.min(span.from()));
        let changed = self.changed.entry(span.cross()).or_default();
        changed.extend(merged.into_iter().map(|range| range.start).chain([begins]));
        // Sums of 64-bit counts, of which there are fewer than 2^64: none can outgrow 128 bits.
        coverage.solutions += u128::from(count.solutions);
        coverage.nodes += u128::from(count.nodes);
        let progress = &mut self.progress;
        progress.solutions += u128::from(planned.cross().weight()) * u128::from(count.solutions);
        progress.nodes += u128::from(count.nodes);
        progress.n_recorded += u128::from(span.n_subproblems());
        progress.work_recorded -= work_recorded(work, before, all);
        progress.work_recorded += work_recorded(work, before + span.n_subproblems(), all);
        self.free.take(span);
        self.failed.take(span);
    }

    /// What of a cross's coverage is not written yet. It is taken for written then.
    pub(crate) fn take_change(&mut self, cross: u32) -> Option<CoverageChange> {
        let changed = self.changed.remove(&cross).unwrap_or_default();
        Some(self.coverage.get(cross as usize)?.change(changed))
    }

    /// Makes free what of `span` is not recorded. Nobody else may hold any of it.
    pub(crate) fn release(&mut self, span: Span) {
        for gap in self.coverage[span.cross() as usize].recorded.gaps(span.from()..span.to()) {
            if let Ok(gap) = Span::new(span.cross(), gap.start, gap.end) {
                // A span that was released and leased again may come back twice.
                self.free.take(gap);
                self.free.insert(gap);
            }
        }
    }

    /// Sets aside what of `span` is not recorded, for other workers than `tried`. Nobody else may hold any of it.
    pub(crate) fn fail(&mut self, span: Span, tried: &BTreeSet<WorkerId>) {
        for gap in self.coverage[span.cross() as usize].recorded.gaps(span.from()..span.to()) {
            if let Ok(gap) = Span::new(span.cross(), gap.start, gap.end) {
                self.free.take(gap);
                self.failed.insert(gap, tried.clone());
            }
        }
    }

    /// Forgets who failed on what.
    pub(crate) fn retry_failed(&mut self) {
        let failed = std::mem::take(&mut self.failed);
        failed.spans().for_each(|span| self.release(span));
    }

    /// The estimated work of a span in nodes.
    pub(crate) fn work(&self, span: Span) -> u128 {
        self.plan.cross(span.cross()).map_or(0, |planned| {
            work_recorded(planned.choice().work, span.n_subproblems(), planned.choice().n_subproblems)
        })
    }

    /// How many of a cross's subproblems come to about `work` nodes.
    pub(crate) fn n_subproblems_of(&self, cross: u32, work: u128) -> u64 {
        self.plan.cross(cross).map_or(0, |planned| {
            let all = u128::from(planned.choice().n_subproblems);
            u64::try_from(work.saturating_mul(all) / planned.choice().work.max(1)).unwrap_or(u64::MAX)
        })
    }

    pub(crate) fn is_complete(&self) -> bool {
        self.progress.n_recorded == self.progress.n_subproblems
    }
}

/// The share `part` of `all` has in `work`. No product here reaches 2^128: work stays below 2^80.
fn work_recorded(work: u128, part: u64, all: u64) -> u128 {
    if all == 0 { 0 } else { work * u128::from(part) / u128::from(all) }
}
