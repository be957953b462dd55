//! One job: what is said of it as a whole, and what is counted of it once it has a plan.

use std::cmp::Reverse;
use std::sync::Arc;
use std::time::Duration;

use queens_model::{Arbiter, JobId, JobIdentity, Party, Priority, Progress, Share};
use queens_solver::{Choice, Method, Plan};

use crate::jobs::agreement::PassMismatch;
use crate::jobs::counting::Counting;
use crate::jobs::recounts::Recounts;
use crate::store::{Coverage, JobEntry, Phase};

/// Jobs are served in this order: higher priority first, and then in the order of submission, a second pass right behind
/// its first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Rank {
    pub(crate) priority: Reverse<Priority>,
    first_pass: JobId,
    pub(crate) job: JobId,
}

/// A job.
///
/// One that waits for its plan has none, and one that is there to be counted has one.
#[derive(Clone, Debug)]
pub(crate) struct Job {
    entry: JobEntry,
    counting: Option<Counting>,
    /// What of its records is to be counted again, once everything is recorded.
    recounts: Recounts,
    /// Since when it is counted, if it is; the time before that is in `entry`.
    counted_since: Option<Duration>,
    /// The job that counts the same a second time, unless that is given up.
    second: Option<JobId>,
    /// In what the two differ, when both are complete.
    doubt: PassMismatch,
    /// After how many changes of either that was found.
    compared: Option<(u64, u64)>,
    /// Whether earlier runs may have leased it.
    is_restored: bool,
    /// Why what is stored of it can't be true, if it is damaged.
    damage: Option<String>,
}

impl Job {
    /// A job that nobody counts at present.
    pub(crate) fn new(entry: JobEntry, counting: Option<Counting>) -> Self {
        let (recounts, second, doubt) = (Recounts::default(), None, PassMismatch::Nothing);
        Self {
            entry,
            counting,
            recounts,
            counted_since: None,
            second,
            doubt,
            compared: None,
            is_restored: false,
            damage: None,
        }
    }

    /// A job that is set aside, as what is stored of it can't be true.
    pub(crate) fn damaged(entry: JobEntry, damage: String) -> Self {
        Self { damage: Some(damage), ..Self::new(JobEntry { phase: Phase::Damaged, ..entry }, None) }
    }

    /// What is stored of it can't be true.
    pub(crate) fn set_aside(&mut self, damage: String) {
        *self = Self { second: self.second, ..Self::damaged(self.entry.clone(), damage) };
    }

    /// Why what is stored of it can't be true, if it is damaged.
    pub(crate) fn damage(&self) -> Option<&str> {
        self.damage.as_deref()
    }

    /// What is said of it as a whole, when that was last settled.
    pub(crate) fn entry(&self) -> &JobEntry {
        &self.entry
    }

    pub(crate) fn id(&self) -> JobId {
        self.entry.id
    }

    pub(crate) fn identity(&self) -> JobIdentity {
        self.entry.identity
    }

    /// How it is counted.
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

    /// Whether it is there to be counted, paused or not.
    pub(crate) fn is_active(&self) -> bool {
        self.entry.phase == Phase::Active
    }

    /// Whether something may still come of it.
    pub(crate) fn is_open(&self) -> bool {
        matches!(self.entry.phase, Phase::Planning | Phase::Active)
    }

    /// What is counted of it, if it has a plan.
    pub(crate) fn counting(&self) -> Option<&Counting> {
        self.counting.as_ref()
    }

    pub(crate) fn counting_mut(&mut self) -> Option<&mut Counting> {
        self.counting.as_mut()
    }

    /// What of its records is to be counted again.
    pub(crate) fn recounts(&self) -> &Recounts {
        &self.recounts
    }

    /// The same to be changed, with what is counted of the job, if it has a plan.
    pub(crate) fn recounting_mut(&mut self) -> Option<(&mut Recounts, &mut Counting)> {
        Some((&mut self.recounts, self.counting.as_mut()?))
    }

    /// Whether everything is recorded and something may still have to be counted again.
    pub(crate) fn is_verifying(&self) -> bool {
        self.is_active() && self.is_complete()
    }

    /// Its place in the order in which jobs are served.
    pub(crate) fn rank(&self) -> Rank {
        Rank { priority: Reverse(self.entry.priority), first_pass: self.first_pass(), job: self.entry.id }
    }

    /// The job of which this is a pass: itself, or that of which it is the second.
    pub(crate) fn first_pass(&self) -> JobId {
        self.entry.terms.second_of.unwrap_or(self.entry.id)
    }

    /// The job that counts the same a second time, unless that is given up.
    pub(crate) fn second(&self) -> Option<JobId> {
        self.second
    }

    /// Whoever counts it a second time now, nothing is known of how the two agree.
    pub(crate) fn set_second(&mut self, second: Option<JobId>) {
        self.second = second;
        (self.doubt, self.compared) = (PassMismatch::Nothing, None);
    }

    /// In what this and the other pass differ, when both are complete.
    pub(crate) fn doubt(&self) -> &PassMismatch {
        &self.doubt
    }

    /// After how many changes of either pass they were compared.
    pub(crate) fn compared(&self) -> Option<(u64, u64)> {
        self.compared
    }

    pub(crate) fn set_doubt(&mut self, doubt: PassMismatch, compared: (u64, u64)) {
        self.doubt = doubt;
        self.compared = Some(compared);
    }

    /// It was there when this run began.
    pub(crate) fn restored(self) -> Self {
        Self { is_restored: true, ..self }
    }

    /// Whether earlier runs may have leased it.
    pub(crate) fn is_restored(&self) -> bool {
        self.is_restored
    }

    /// What decides from now on which of its records are counted again.
    pub(crate) fn set_seed(&mut self, seed: u128) {
        self.entry.terms.seed = seed;
    }

    /// So much more of its work is to be counted again.
    pub(crate) fn raise_recount(&mut self, share: Share) {
        self.entry.terms.recount = self.entry.terms.recount.max(share);
    }

    /// This party counts it again from now on.
    pub(crate) fn set_recount_by(&mut self, arbiter: Option<Arbiter>) {
        self.entry.terms.recount_by = arbiter;
    }

    /// The party that counts it again, if it is not any other than has counted it.
    pub(crate) fn arbiter(&self) -> Option<Party> {
        self.entry.terms.recount_by.map(|arbiter| arbiter.party)
    }

    /// What is recorded of it.
    pub(crate) fn progress(&self) -> Progress {
        self.counting.as_ref().map(Counting::progress).unwrap_or_default()
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

    /// Its plan is made: it is there to be counted.
    pub(crate) fn begin(&mut self, plan: Arc<Plan>) -> Vec<Choice> {
        let choices = plan.parts().iter().map(|planned| *planned.choice()).collect();
        let coverage = vec![Coverage::default(); plan.parts().len()];
        self.counting = Some(Counting::new(plan, self.entry.terms.crosses, coverage));
        self.entry.phase = Phase::Active;
        choices
    }

    /// It is over.
    pub(crate) fn end(&mut self, phase: Phase, date_ms: Option<u64>) {
        self.entry.phase = phase;
        self.entry.paused = false;
        self.entry.finished_ms = date_ms;
        if phase == Phase::Cancelled {
            self.recounts = Recounts::default();
        }
    }

    /// It was done, and there is more to check.
    pub(crate) fn reopen(&mut self) {
        self.entry.phase = Phase::Active;
        self.entry.finished_ms = None;
    }

    pub(crate) fn pause(&mut self) {
        self.entry.paused = true;
    }

    /// It goes on, and all workers may try again what failed.
    pub(crate) fn resume(&mut self) {
        self.entry.paused = false;
        self.counting.iter_mut().for_each(Counting::retry_failed);
        self.recounts.retry_failed();
    }

    pub(crate) fn set_priority(&mut self, priority: Priority) {
        self.entry.priority = priority;
    }

    /// Whether two names agreed on a span and whether they do now: one that comes to contradict itself speaks for nothing.
    pub(crate) fn note_verified(&mut self, before: bool, now: bool) {
        let verified = &mut self.entry.n_verified;
        *verified = match (before, now) {
            (false, true) => verified.saturating_add(1),
            (true, false) => verified.saturating_sub(1),
            _ => *verified,
        };
    }

    /// There are different counts of a span.
    pub(crate) fn note_disputed(&mut self) {
        self.entry.n_disputed = self.entry.n_disputed.saturating_add(1);
    }

    /// A certificate of it is out since this date.
    pub(crate) fn note_exported(&mut self, date_ms: u64) {
        self.entry.terms.exported_ms = Some(date_ms);
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

    /// Nobody counts it any more.
    pub(crate) fn stop_counting(&mut self, now: Duration) {
        self.settle_active(now);
        self.counted_since = None;
    }

    /// Makes the time for which it was counted part of what is stored.
    pub(crate) fn settle_active(&mut self, now: Duration) {
        self.entry.active = self.active(now);
        self.counted_since = self.counted_since.map(|_| now);
    }
}
