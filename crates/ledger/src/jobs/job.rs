//! One job: its entry, and its counting state once it has a plan.

use std::cmp::Reverse;
use std::sync::Arc;
use std::time::Duration;

use queens_model::{Arbiter, JobId, JobIdentity, Party, Priority, Progress, Share, Terms};
use queens_solver::{Choice, Method, Plan, Span};

use crate::jobs::agreement::PassMismatch;
use crate::jobs::counting::Counting;
use crate::jobs::recounts::Recounts;
use crate::store::draw::largest_without;
use crate::store::{Coverage, JobEntry, Phase};

/// The order in which jobs are served: by priority, then by submission. A second pass follows its first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Rank {
    pub(crate) priority: Reverse<Priority>,
    first_pass: JobId,
    pub(crate) job: JobId,
}

/// A job.
///
/// A job that waits for its plan has no counting state; an active one has it.
#[derive(Clone, Debug)]
pub(crate) struct Job {
    entry: JobEntry,
    counting: Option<Counting>,
    /// The records to recount, once everything is recorded.
    recounts: Recounts,
    /// Since when it is being counted; the time before that is in `entry`.
    counted_since: Option<Duration>,
    /// The second pass of this job, unless that is cancelled.
    second: Option<JobId>,
    /// The difference between the two complete passes.
    pub(crate) mismatch: PassMismatch,
    /// The numbers of changes of both passes when they were last compared.
    compared: Option<(u64, u64)>,
    /// Whether earlier runs may have leased it.
    is_restored: bool,
    /// Why the stored state is invalid, if it is damaged.
    damage: Option<String>,
}

impl Job {
    /// Creates a job that nobody counts at present.
    pub(crate) fn new(entry: JobEntry, counting: Option<Counting>) -> Self {
        let (recounts, second, mismatch) = (Recounts::default(), None, PassMismatch::Nothing);
        Self {
            entry,
            counting,
            recounts,
            counted_since: None,
            second,
            mismatch,
            compared: None,
            is_restored: false,
            damage: None,
        }
    }

    /// Creates a job that is set aside, because its stored state is invalid.
    pub(crate) fn damaged(entry: JobEntry, damage: String) -> Self {
        Self { damage: Some(damage), ..Self::new(JobEntry { phase: Phase::Damaged, ..entry }, None) }
    }

    /// Sets the job aside, because its stored state is invalid.
    pub(crate) fn set_aside(&mut self, damage: String) {
        *self = Self { second: self.second, ..Self::damaged(self.entry.clone(), damage) };
    }

    /// Returns why the stored state is invalid, if it is damaged.
    pub(crate) fn damage(&self) -> Option<&str> {
        self.damage.as_deref()
    }

    /// Returns the job's entry, as it was last settled.
    pub(crate) fn entry(&self) -> &JobEntry {
        &self.entry
    }

    pub(crate) fn id(&self) -> JobId {
        self.entry.id
    }

    pub(crate) fn identity(&self) -> JobIdentity {
        self.entry.identity
    }

    /// Returns the counting method.
    pub(crate) fn method(&self) -> Method {
        self.entry.method
    }

    pub(crate) fn phase(&self) -> Phase {
        self.entry.phase
    }

    pub(crate) fn priority(&self) -> Priority {
        self.entry.priority
    }

    pub(crate) fn is_paused(&self) -> bool {
        self.entry.paused
    }

    /// Whether the job can be counted, paused or not.
    pub(crate) fn is_active(&self) -> bool {
        self.entry.phase == Phase::Active
    }

    /// Whether the job may still progress.
    pub(crate) fn is_open(&self) -> bool {
        matches!(self.entry.phase, Phase::Planning | Phase::Active)
    }

    /// Returns the counting state, if the job has a plan.
    pub(crate) fn counting(&self) -> Option<&Counting> {
        self.counting.as_ref()
    }

    pub(crate) fn counting_mut(&mut self) -> Option<&mut Counting> {
        self.counting.as_mut()
    }

    /// Returns the records to recount.
    pub(crate) fn recounts(&self) -> &Recounts {
        &self.recounts
    }

    /// Returns the recounts and the counting state for changes, if the job has a plan.
    pub(crate) fn recounting_mut(&mut self) -> Option<(&mut Recounts, &mut Counting)> {
        Some((&mut self.recounts, self.counting.as_mut()?))
    }

    /// Whether everything is recorded and recounts may be left.
    pub(crate) fn is_verifying(&self) -> bool {
        self.is_active() && self.is_complete()
    }

    /// Returns the job's place in the order of service.
    pub(crate) fn rank(&self) -> Rank {
        Rank { priority: Reverse(self.entry.priority), first_pass: self.first_pass(), job: self.entry.id }
    }

    /// Returns the first pass: the job itself, or the one that it repeats.
    pub(crate) fn first_pass(&self) -> JobId {
        self.entry.terms.second_of.unwrap_or(self.entry.id)
    }

    /// Returns the second pass of this job, unless that is cancelled.
    pub(crate) fn second(&self) -> Option<JobId> {
        self.second
    }

    /// Sets the second pass, and forgets earlier comparisons.
    pub(crate) fn set_second(&mut self, second: Option<JobId>) {
        self.second = second;
        (self.mismatch, self.compared) = (PassMismatch::Nothing, None);
    }

    /// Returns the numbers of changes of both passes when they were last compared.
    pub(crate) fn compared(&self) -> Option<(u64, u64)> {
        self.compared
    }

    pub(crate) fn set_mismatch(&mut self, mismatch: PassMismatch, compared: (u64, u64)) {
        self.mismatch = mismatch;
        self.compared = Some(compared);
    }

    /// Marks the job as older than this run.
    pub(crate) fn restored(self) -> Self {
        Self { is_restored: true, ..self }
    }

    /// Whether earlier runs may have leased it.
    pub(crate) fn is_restored(&self) -> bool {
        self.is_restored
    }

    /// Sets the seed that decides which records are recounted.
    pub(crate) fn set_seed(&mut self, seed: u128) {
        self.entry.terms.seed = seed;
    }

    /// Sets the share of the work to recount.
    pub(crate) fn set_recount(&mut self, share: Share) {
        self.entry.terms.recount = share;
    }

    /// Lowers the share of the work to recount until no record of the `open` spans is drawn. Notes which share draws one of
    /// the `confirmed` spans.
    pub(crate) fn leave_undrawn(
        &mut self,
        confirmed: impl Iterator<Item = Span>,
        open: impl Iterator<Item = Span>,
    ) {
        let Terms { seed, recount, .. } = self.entry.terms;
        let largest = |span: Span| largest_without(seed, self.entry.id, span.part(), span.from());
        confirmed.map(largest).for_each(|share| self.recounts.note_drawn(share));
        self.entry.terms.recount = open.map(largest).fold(recount, Share::min);
    }

    /// Sets the party that recounts from now on.
    pub(crate) fn set_recount_by(&mut self, arbiter: Option<Arbiter>) {
        self.entry.terms.recount_by = arbiter;
    }

    /// Returns the party that must recount; `None` if any other party may.
    pub(crate) fn arbiter(&self) -> Option<Party> {
        self.entry.terms.recount_by.map(|arbiter| arbiter.party)
    }

    /// Returns the sums of its records.
    pub(crate) fn progress(&self) -> Progress {
        self.counting.as_ref().map(Counting::progress).unwrap_or_default()
    }

    pub(crate) fn is_complete(&self) -> bool {
        self.counting.as_ref().is_some_and(Counting::is_complete)
    }

    /// Returns the counting state, if workers may get leases of the job.
    pub(crate) fn servable(&self) -> Option<&Counting> {
        self.counting.as_ref().filter(|_| !self.entry.paused)
    }

    /// Returns how long the job has been counted, without restarts.
    pub(crate) fn active(&self, now: Duration) -> Duration {
        self.entry.active + self.counted_since.map_or(Duration::ZERO, |since| now.saturating_sub(since))
    }

    /// Starts the job with its plan.
    pub(crate) fn begin(&mut self, plan: Arc<Plan>) -> Vec<Choice> {
        let choices = plan.parts().iter().map(|planned| *planned.choice()).collect();
        let coverage = vec![Coverage::default(); plan.parts().len()];
        self.counting = Some(Counting::new(plan, self.entry.terms.part_range, coverage));
        self.entry.phase = Phase::Active;
        choices
    }

    /// Ends the job.
    pub(crate) fn end(&mut self, phase: Phase, date_ms: Option<u64>) {
        self.entry.phase = phase;
        self.entry.paused = false;
        self.entry.finished_ms = date_ms;
        if phase == Phase::Cancelled {
            self.recounts = Recounts::default();
        }
    }

    /// Reopens a job that was done, because more is to verify.
    pub(crate) fn reopen(&mut self) {
        self.entry.phase = Phase::Active;
        self.entry.finished_ms = None;
    }

    pub(crate) fn pause(&mut self) {
        self.entry.paused = true;
    }

    /// Resumes the job and retries its failed spans with all workers.
    pub(crate) fn resume(&mut self) {
        self.entry.paused = false;
        self.counting.iter_mut().for_each(Counting::retry_failed);
        self.recounts.retry_failed();
    }

    pub(crate) fn set_priority(&mut self, priority: Priority) {
        self.entry.priority = priority;
    }

    /// Counts a span as verified or not. A party that contradicts itself no longer confirms it.
    pub(crate) fn note_verified(&mut self, before: bool, now: bool) {
        let verified = &mut self.entry.n_verified;
        *verified = match (before, now) {
            (false, true) => verified.saturating_add(1),
            (true, false) => verified.saturating_sub(1),
            _ => *verified,
        };
    }

    /// Counts a newly disputed span.
    pub(crate) fn note_disputed(&mut self) {
        self.entry.n_disputed = self.entry.n_disputed.saturating_add(1);
    }

    /// Notes the date of an exported certificate.
    pub(crate) fn note_exported(&mut self, date_ms: u64) {
        self.entry.terms.exported_ms = Some(date_ms);
    }

    /// Starts the active time, unless the job is paused. Returns whether the entry gets its start date by that.
    pub(crate) fn start_counting(&mut self, now: Duration, date_ms: Option<u64>) -> bool {
        if self.entry.paused || self.counted_since.is_some() {
            return false;
        }
        self.counted_since = Some(now);
        // If the job has records already, the date of its start is unknown.
        let begins = self.entry.started_ms.is_none() && self.progress().n_recorded == 0 && date_ms.is_some();
        if begins {
            self.entry.started_ms = date_ms;
        }
        begins
    }

    /// Stops the active time.
    pub(crate) fn stop_counting(&mut self, now: Duration) {
        self.settle_active(now);
        self.counted_since = None;
    }

    /// Adds the active time so far to the entry that is stored.
    pub(crate) fn settle_active(&mut self, now: Duration) {
        self.entry.active = self.active(now);
        self.counted_since = self.counted_since.map(|_| now);
    }
}
