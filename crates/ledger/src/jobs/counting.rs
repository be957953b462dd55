//! The counting state of one job: its plan, its records, and the spans that are free to lease.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use queens_model::{PartRange, Party, Progress, WorkerId};
use queens_solver::{Count, Plan, Span};

use crate::jobs::failed::{FailedSpans, Tried};
use crate::jobs::part_draws::PartDraws;
use crate::spans::SpanSet;
use crate::store::{Coverage, CoverageChange};
use crate::work::{n_subproblems_of, share_of_work, work_of};

/// The counting state of a job that has a plan.
///
/// Each subproblem is recorded, free, failed, or held under a live lease. Only a recorded one may be held as well, if a
/// late report on a lost lease came first.
#[derive(Clone, Debug)]
pub(crate) struct Counting {
    plan: Arc<Plan>,
    /// The parts of the plan that are counted.
    part_range: Range<u32>,
    pub(crate) coverage: Vec<Coverage>,
    /// By part: the starts, current or former, of coverage ranges that have changed since the last write.
    changed: BTreeMap<u32, BTreeSet<u64>>,
    free: SpanSet,
    pub(crate) failed: FailedSpans,
    progress: Progress,
    /// How often the sums have changed.
    pub(crate) n_changes: u64,
    /// The party that has all records of a part; `None` if several may have some.
    counted_by: BTreeMap<u32, Option<Party>>,
    /// The parties that count the parts, if these are drawn.
    draws: Option<PartDraws>,
}

/// The overlap of a reported span with the recorded ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Overlap {
    None,
    Partial,
    Whole,
}

impl Counting {
    /// Creates the state with this coverage and all other subproblems free. If `parts` is given, only these parts are
    /// counted.
    pub(crate) fn new(plan: Arc<Plan>, part_range: Option<PartRange>, coverage: Vec<Coverage>) -> Self {
        let (free, failed) = (SpanSet::default(), FailedSpans::default());
        let (changed, counted_by, progress) = (BTreeMap::new(), BTreeMap::new(), Progress::default());
        let all = 0..u32::try_from(plan.parts().len()).unwrap_or(u32::MAX);
        let part_range = part_range.map_or(all, PartRange::range);
        let mut counting = Self {
            plan,
            part_range,
            coverage,
            changed,
            free,
            failed,
            progress,
            n_changes: 0,
            counted_by,
            draws: None,
        };
        let is_counted = |(number, _): &(u32, _)| counting.part_range.contains(number);
        for (number, planned) in (0..).zip(counting.plan.parts()).filter(is_counted) {
            let recorded = &counting.coverage[number as usize];
            let all = planned.choice().n_subproblems;
            // The parties of these records are not known.
            if !recorded.recorded.is_empty() {
                counting.counted_by.insert(number, None);
            }
            let whole = Span::new(number, 0, all).ok();
            let left = whole.into_iter().flat_map(|whole| unrecorded(recorded, whole));
            left.for_each(|span| counting.free.insert(span));
            let progress = &mut counting.progress;
            progress.solutions += u128::from(planned.weight()) * recorded.solutions;
            progress.work += recorded.work;
            progress.n_subproblems += u128::from(all);
            progress.n_recorded += u128::from(recorded.recorded.len());
            progress.estimated_work += planned.choice().work;
            progress.estimated_work_recorded +=
                share_of_work(planned.choice().work, recorded.recorded.len(), all);
        }
        counting
    }

    pub(crate) fn plan(&self) -> &Arc<Plan> {
        &self.plan
    }

    /// Returns the sums over all parts.
    pub(crate) fn progress(&self) -> Progress {
        self.progress
    }

    /// Returns the estimated work that is not recorded, in work units.
    pub(crate) fn work_left(&self) -> u128 {
        self.progress.estimated_work - self.progress.estimated_work_recorded
    }

    /// Whether a span is neither held nor failed.
    pub(crate) fn has_free(&self) -> bool {
        !self.free.is_empty()
    }

    /// Whether the span lies in a part of the plan that is counted.
    pub(crate) fn has(&self, span: Span) -> bool {
        let is_counted = self.part_range.contains(&span.part());
        is_counted
            && self.plan.part(span.part()).is_some_and(|planned| span.to() <= planned.choice().n_subproblems)
    }

    /// Returns how `span`, which must lie in the plan, overlaps the recorded spans.
    pub(crate) fn overlap(&self, span: Span) -> Overlap {
        let recorded = &self.coverage[span.part() as usize].recorded;
        let range = span.from()..span.to();
        if !recorded.intersects(&range) {
            Overlap::None
        } else if recorded.contains(&range) {
            Overlap::Whole
        } else {
            Overlap::Partial
        }
    }

    /// Adds a span that has no record yet, as this party has counted it.
    pub(crate) fn record(&mut self, span: Span, count: Count, party: Party) {
        assert_eq!(self.overlap(span), Overlap::None, "a span is added to a total once");
        let planned = &self.plan.parts()[span.part() as usize];
        let coverage = &mut self.coverage[span.part() as usize];
        let (work, all) = (planned.choice().work, planned.choice().n_subproblems);
        let before = coverage.recorded.len();
        self.n_changes = self.n_changes.saturating_add(1);
        let merged = coverage.recorded.insert(span.from()..span.to());
        let begins = merged.first().map_or(span.from(), |range| range.start.min(span.from()));
        let changed = self.changed.entry(span.part()).or_default();
        changed.extend(merged.into_iter().map(|range| range.start).chain([begins]));
        // These are sums of fewer than 2^64 counts of 64 bits, so none exceeds 128 bits.
        coverage.solutions += u128::from(count.solutions);
        coverage.work += u128::from(count.work);
        let progress = &mut self.progress;
        progress.solutions += u128::from(planned.weight()) * u128::from(count.solutions);
        progress.work += u128::from(count.work);
        progress.n_recorded += u128::from(span.n_subproblems());
        progress.estimated_work_recorded -= share_of_work(work, before, all);
        progress.estimated_work_recorded += share_of_work(work, before + span.n_subproblems(), all);
        self.free.take(span);
        self.failed.take(span);
        self.note_counted(party, span.part());
        self.place(span.part());
    }

    /// Replaces a record by another count of the same span.
    pub(crate) fn replace(&mut self, span: Span, before: Count, after: Count) {
        let planned = &self.plan.parts()[span.part() as usize];
        let coverage = &mut self.coverage[span.part() as usize];
        let replaced = |sum: u128, weight: u64, before: u64, after: u64| {
            (sum + u128::from(weight) * u128::from(after))
                .saturating_sub(u128::from(weight) * u128::from(before))
        };
        self.n_changes = self.n_changes.saturating_add(1);
        coverage.solutions = replaced(coverage.solutions, 1, before.solutions, after.solutions);
        coverage.work = replaced(coverage.work, 1, before.work, after.work);
        let progress = &mut self.progress;
        progress.solutions =
            replaced(progress.solutions, planned.weight().into(), before.solutions, after.solutions);
        progress.work = replaced(progress.work, 1, before.work, after.work);
    }

    /// Notes that this party has a record of a part.
    fn note_counted(&mut self, party: Party, part: u32) {
        let by = self.counted_by.entry(part).or_insert(Some(party));
        *by = by.filter(|by| *by == party);
    }

    /// Returns the party that has all records of a part, if that is known.
    pub(crate) fn counted_by(&self, part: u32) -> Option<Party> {
        self.counted_by.get(&part).copied().flatten()
    }

    /// Takes the free subproblems of `span`.
    pub(crate) fn take_free(&mut self, span: Span) -> Vec<Span> {
        let taken = self.free.take(span);
        self.place(span.part());
        taken
    }

    /// Takes about this much free work from the front: at least one subproblem, and at most `most_spans` spans.
    pub(crate) fn take_work(&mut self, work: u128, most_spans: usize) -> Vec<Span> {
        let (mut taken, mut left) = (Vec::new(), work);
        while taken.len() < most_spans
            && let Some(free) = self.free.first()
            && self.take_some(free, &mut taken, &mut left)
        {}
        taken
    }

    /// Takes some of a free span, as much as is left of this work; at least one subproblem if nothing is taken yet.
    /// Returns whether there was any.
    fn take_some(&mut self, free: Span, taken: &mut Vec<Span>, left: &mut u128) -> bool {
        let fits = n_subproblems_of(&self.plan, free.part(), *left).max(u64::from(taken.is_empty()));
        let (Some(some), _) = free.split_at(free.from().saturating_add(fits)) else { return false };
        *left = left.saturating_sub(work_of(&self.plan, some));
        taken.extend(self.free.take(some));
        true
    }

    /// Takes a span that others have failed on and this worker has not, with the workers that have.
    pub(crate) fn take_failed(&mut self, worker: WorkerId, party: Party) -> Option<(Span, Tried)> {
        let span = self.failed.to_try(worker, party)?;
        Some((span, self.failed.begin(span)))
    }

    /// Takes the unwritten changes of a part's coverage. The caller must write them.
    pub(crate) fn take_change(&mut self, part: u32) -> Option<CoverageChange> {
        let changed = self.changed.remove(&part).unwrap_or_default();
        Some(self.coverage.get(part as usize)?.change(changed))
    }

    /// Frees the unrecorded subproblems of `span`. Nobody else may hold any of it.
    pub(crate) fn release(&mut self, span: Span) {
        // A span that was released and leased again may come back twice.
        for part in unrecorded(&self.coverage[span.part() as usize], span) {
            self.free.insert(part);
        }
        self.place(span.part());
    }

    /// Marks the unrecorded subproblems of `span` as failed by `tried`. Nobody else may hold any of it.
    pub(crate) fn fail(&mut self, span: Span, tried: &Tried) {
        for part in unrecorded(&self.coverage[span.part() as usize], span) {
            self.free.take(part);
            self.failed.insert(part, tried.clone());
        }
        self.place(span.part());
    }

    /// Marks spans as failed, for workers other than `tried`. If the worker has failed on too many, that says nothing
    /// about the spans, so they become free instead. So do drawn spans, unless all other parties have lapsed (`is_last`):
    /// a draw decides who tries them. Returns whether the worker has failed on too many.
    pub(crate) fn fail_on(
        &mut self,
        worker: WorkerId,
        spans: Vec<Span>,
        tried: &Tried,
        reason: String,
        is_last: bool,
    ) -> bool {
        let too_many = self.failed.would_be_too_many(worker, spans.len());
        self.failed.note_reason(reason);
        let is_drawn = self.draws.is_some() && !is_last;
        for span in spans {
            if too_many || is_drawn { self.release(span) } else { self.fail(span, tried) }
        }
        too_many
    }

    /// Drops the failures of this worker, as if it had not tried.
    pub(crate) fn forget_failures_of(&mut self, worker: WorkerId) {
        self.failed.forget_worker(worker).into_iter().for_each(|span| self.release(span));
    }

    /// Drops all failures.
    pub(crate) fn retry_failed(&mut self) {
        self.draws.iter_mut().for_each(PartDraws::retry_failed);
        let failed = std::mem::take(&mut self.failed);
        failed.spans().for_each(|span| self.release(span));
    }

    /// Whether all of a part is recorded.
    pub(crate) fn has_part(&self, part: u32) -> bool {
        let all = self.plan.part(part).map(|planned| planned.choice().n_subproblems);
        all.is_some() && self.coverage.get(part as usize).map(|it| it.recorded.len()) == all
    }

    pub(crate) fn is_complete(&self) -> bool {
        self.progress.n_recorded == self.progress.n_subproblems
    }
}

/// Parts that are drawn for parties.
impl Counting {
    /// Has a party drawn for each part from now on.
    pub(crate) fn draw_parts(&mut self) {
        self.draws = Some(PartDraws::default());
        self.free
            .iter()
            .map(Span::part)
            .collect::<BTreeSet<_>>()
            .into_iter()
            .for_each(|part| self.place(part));
    }

    /// Returns the parties that count the parts, if these are drawn.
    pub(crate) fn draws(&self) -> Option<&PartDraws> {
        self.draws.as_ref()
    }

    pub(crate) fn draws_mut(&mut self) -> Option<&mut PartDraws> {
        self.draws.as_mut()
    }

    /// Whether it is a party's turn to count a part.
    pub(crate) fn is_turn_of(&self, party: Party, part: u32) -> bool {
        self.draws.as_ref().is_none_or(|draws| draws.is_turn_of(party, part))
    }

    /// Whether a party that was drawn for a part has counted it to the end.
    pub(crate) fn has_drawn_part(&self, party: Party, part: u32) -> bool {
        self.draws.as_ref().is_some_and(|draws| draws.is_turn_of(party, part)) && self.has_part(part)
    }

    /// Returns the estimated work of a part.
    pub(crate) fn part_work(&self, part: u32) -> u128 {
        self.plan.part(part).map_or(0, |planned| planned.choice().work)
    }

    /// Gives parts to the parties that were drawn for them.
    pub(crate) fn give_parts(&mut self, drawn: &[(u32, Party)]) {
        for &(part, party) in drawn {
            let work = self.part_work(part);
            self.draws.iter_mut().for_each(|draws| draws.give(part, party, work));
        }
    }

    /// Takes about this much free work from a party's queue: at least one subproblem, and at most `most_spans` spans.
    pub(crate) fn take_drawn(&mut self, party: Party, work: u128, most_spans: usize) -> Vec<Span> {
        let (mut taken, mut left) = (Vec::new(), work);
        let Some(draws) = &mut self.draws else { return taken };
        draws.queues_mut().note_asked(party);
        let parts: Vec<u32> = draws.queues().queue(party).take(most_spans).collect();
        for part in parts {
            while taken.len() < most_spans
                && let Some(free) = self.free.first_of(part)
                && self.take_some(free, &mut taken, &mut left)
            {}
            self.place(part);
            if self.free.first_of(part).is_some() {
                break;
            }
        }
        taken
    }

    /// Notes that a party failed on some of a part. Returns whether it has lapsed.
    pub(crate) fn fail_part(&mut self, part: u32, party: Party) -> bool {
        self.draws.iter_mut().for_each(|draws| draws.note_failed(part));
        self.lapse_parts([part].into(), party, None)
    }

    /// Notes that a party did not count these parts. If its session broke, that is a lapse only the second time. Returns
    /// whether it has lapsed.
    pub(crate) fn lapse_parts(
        &mut self,
        parts: BTreeSet<u32>,
        party: Party,
        broke: Option<Duration>,
    ) -> bool {
        let mut n_lapsed = 0;
        for part in parts {
            let work = self.part_work(part);
            let Some(draws) = &mut self.draws else { return false };
            let is_lapse = broke.is_none_or(|now| draws.note_break(part, party, now));
            if is_lapse && draws.lapse(part, party, work) {
                n_lapsed += 1;
            }
            self.place(part);
        }
        n_lapsed > 0
    }

    /// Updates the queues for a part whose free subproblems have changed.
    fn place(&mut self, part: u32) {
        if self.draws.is_none() {
            return;
        }
        let (work, is_free) = (self.part_work(part), self.free.first_of(part).is_some());
        let Some(draws) = &mut self.draws else { return };
        if is_free {
            draws.free(part, work);
        } else {
            draws.take(part, work);
        }
    }
}

/// Returns the unrecorded parts of a span.
fn unrecorded(coverage: &Coverage, span: Span) -> impl Iterator<Item = Span> {
    let gaps = coverage.recorded.gaps(span.from()..span.to()).into_iter();
    gaps.filter_map(move |gap| Span::new(span.part(), gap.start, gap.end).ok())
}
