//! All jobs, with indexes of those that have work.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use queens_model::{JobId, JobIdentity, Priority};
use queens_solver::{Method, Pass};

use crate::by_method::ByMethod;
use crate::jobs::counting::Counting;
use crate::jobs::job::{Job, Rank};
use crate::store::Phase;

/// All jobs. Indexes follow every change, so that finding work needs no search through all jobs.
///
/// Finding and changing a job takes time logarithmic in the number of jobs.
#[derive(Debug, Default)]
pub(crate) struct Jobs {
    all: BTreeMap<JobId, Job>,
    by_identity: BTreeMap<JobIdentity, JobId>,
    /// Active jobs, paused ones included, in the order of service.
    active: BTreeSet<Rank>,
    /// Active jobs with free spans that workers may get, by method; and those whose parts are not drawn, so that any
    /// worker may get them.
    free: ByMethod<BTreeSet<Rank>>,
    open_free: ByMethod<BTreeSet<Rank>>,
    /// Active jobs with failed spans that some worker may still try.
    to_retry: Turns,
    /// Active jobs with records to recount, or parts, that wait for a worker of the party that was drawn.
    to_serve: Turns,
    /// Active jobs with records to recount, or parts, that no party is drawn for.
    to_draw_for: Turns,
    /// Active jobs with records that the coordinator has to count.
    to_judge: BTreeSet<Rank>,
    /// Active jobs that still search for records to recount.
    to_draw: BTreeSet<Rank>,
    /// Jobs with failed spans.
    with_failed: BTreeSet<JobId>,
    /// Jobs that have not ended.
    open: BTreeSet<JobId>,
}

/// An index of jobs. Each time, only the most urgent ones and some others are looked at. The others take turns, so that a
/// job for which nothing can be done keeps no other waiting.
#[derive(Debug, Default)]
struct Turns {
    ranks: BTreeSet<Rank>,
    /// The last of the others that were looked at.
    last: Option<Rank>,
}

impl Turns {
    /// Returns the `n` most urgent jobs, and `n` others in turn, in the order of service. Takes O(n).
    fn some(&self, n: usize) -> impl Iterator<Item = Rank> {
        let others = std::iter::once_with(move || self.others(n)).flatten();
        self.ranks.iter().take(n).chain(others).copied()
    }

    fn others(&self, n: usize) -> impl Iterator<Item = &Rank> {
        let last_urgent = self.ranks.iter().nth(n - 1);
        let after = last_urgent.map(|urgent| {
            (Bound::Excluded(self.last.as_ref().unwrap_or(urgent).max(urgent)), Bound::Unbounded)
        });
        after.into_iter().flat_map(|after| self.ranks.range(after)).take(n)
    }

    /// Begins the next turn, behind `n` others of this one.
    fn advance(&mut self, n: usize) {
        let last = self.others(n).nth(n - 1).copied();
        self.last = last;
    }
}

impl Jobs {
    pub(crate) fn get(&self, id: JobId) -> Option<&Job> {
        self.all.get(&id)
    }

    /// Whether a job is damaged and set aside.
    pub(crate) fn is_damaged(&self, id: JobId) -> bool {
        self.get(id).is_some_and(|job| job.phase() == Phase::Damaged)
    }

    /// Returns the job with the identity that workers use.
    pub(crate) fn identified(&self, identity: JobIdentity) -> Option<&Job> {
        self.all.get(self.by_identity.get(&identity)?)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Job> {
        self.all.values()
    }

    pub(crate) fn len(&self) -> usize {
        self.all.len()
    }

    pub(crate) fn last_id(&self) -> Option<JobId> {
        self.all.last_key_value().map(|(&id, _)| id)
    }

    pub(crate) fn insert(&mut self, job: Job) {
        let id = job.id();
        self.by_identity.insert(job.identity(), id);
        self.all.insert(id, job);
        self.change(id, |_| ());
    }

    /// Changes a job and updates the indexes.
    pub(crate) fn change<T>(&mut self, id: JobId, change: impl FnOnce(&mut Job) -> T) -> Option<T> {
        let job = self.all.get_mut(&id)?;
        let before = job.rank();
        let changed = change(job);
        let (rank, method) = (job.rank(), job.method());
        let is_active = job.is_active();
        let servable = job.servable().filter(|_| is_active);
        let memberships = [
            (&mut self.active, is_active),
            (self.free.of_mut(method), servable.is_some_and(Counting::has_free)),
            (self.open_free.of_mut(method), servable.is_some_and(|it| it.has_free() && it.draws().is_none())),
            (&mut self.to_retry.ranks, servable.is_some_and(|counting| !counting.failed.is_empty())),
            (
                &mut self.to_serve.ranks,
                servable.is_some_and(|it| has_drawn(it) || job.recounts().queues().has_drawn()),
            ),
            (
                &mut self.to_draw_for.ranks,
                servable.is_some_and(|it| has_undrawn(it) || job.recounts().queues().has_undrawn()),
            ),
            (&mut self.to_judge, servable.is_some() && job.recounts().first_to_judge(false).is_some()),
            (&mut self.to_draw, is_active && job.recounts().wanted().is_some()),
        ];
        let has_failed = job.counting().is_some_and(|counting| !counting.failed.is_empty());
        for (set, is_member) in [(&mut self.with_failed, has_failed), (&mut self.open, job.is_open())] {
            if is_member {
                set.insert(id)
            } else {
                set.remove(&id)
            };
        }
        for (set, is_member) in memberships {
            if before != rank || !is_member {
                set.remove(&before);
            }
            if is_member {
                set.insert(rank);
            }
        }
        Some(changed)
    }

    /// Returns the number of jobs that have not ended.
    pub(crate) fn n_open(&self) -> usize {
        self.open.len()
    }

    /// Returns the number of active jobs.
    pub(crate) fn n_active(&self) -> usize {
        self.active.len()
    }

    /// Returns the highest and the lowest priority of active jobs.
    pub(crate) fn priorities(&self) -> Option<(Priority, Priority)> {
        Some((self.active.first()?.priority.0, self.active.last()?.priority.0))
    }

    /// Returns the first job of a method with free spans that any worker may get.
    pub(crate) fn first_open_free(&self, method: Method) -> Option<Rank> {
        self.open_free.of(method).first().copied()
    }

    /// Returns the first job of a method with free spans that workers may get.
    pub(crate) fn first_free(&self, method: Method) -> Option<Rank> {
        self.free.of(method).first().copied()
    }

    /// Returns jobs with failed spans that some worker may still try, in the order of service.
    pub(crate) fn to_retry(&self, n: usize) -> impl Iterator<Item = (Rank, &Job)> {
        self.to_retry.some(n).filter_map(|rank| Some((rank, self.all.get(&rank.job)?)))
    }

    /// Returns jobs with records to recount, or parts, that no party is drawn for, in the order of service.
    pub(crate) fn to_draw_for(&self, n: usize) -> impl Iterator<Item = &Job> {
        self.to_draw_for.some(n).filter_map(|rank| self.all.get(&rank.job))
    }

    /// Returns jobs with records that the coordinator has to count, in the order of service.
    pub(crate) fn to_judge(&self) -> impl Iterator<Item = &Job> {
        self.to_judge.iter().filter_map(|rank| self.all.get(&rank.job))
    }

    /// Returns jobs with records to recount, or parts, that wait for a worker of a party, in the order of service.
    pub(crate) fn to_serve(&self, n: usize) -> impl Iterator<Item = (Rank, &Job)> {
        self.to_serve.some(n).filter_map(|rank| Some((rank, self.all.get(&rank.job)?)))
    }

    /// Returns the number of jobs with records to recount, or parts, that wait for a worker of a party.
    pub(crate) fn n_to_serve(&self) -> usize {
        self.to_serve.ranks.len()
    }

    /// Begins the next turn of the jobs that are looked at, behind `n` others of this one.
    pub(crate) fn take_turns(&mut self, n: usize) {
        self.to_retry.advance(n);
        self.to_serve.advance(n);
        self.to_draw_for.advance(n);
    }

    /// Returns the first job that still searches for records to recount.
    pub(crate) fn first_to_draw(&self) -> Option<&Job> {
        self.all.get(&self.to_draw.first()?.job)
    }

    /// Returns the pass of a job, which decides its images: a second pass by the same method uses others.
    pub(crate) fn pass(&self, job: &Job) -> Pass {
        let first = job.entry().terms.second_of.and_then(|first| self.get(first));
        if first.is_some_and(|first| first.method() == job.method()) { Pass::Second } else { Pass::First }
    }

    /// Returns a job's passes, the first one first. A cancelled second pass is not among them.
    pub(crate) fn passes(&self, id: JobId) -> Vec<JobId> {
        let Some(first) = self.get(id).map(Job::first_pass) else { return Vec::new() };
        let second = self.get(first).and_then(Job::second);
        // The job itself may be a cancelled second pass.
        if second == Some(id) || first == id {
            [Some(first), second].into_iter().flatten().collect()
        } else {
            vec![id]
        }
    }

    /// Returns jobs with failed spans, whether or not a worker may still try them.
    pub(crate) fn with_failed(&self) -> impl Iterator<Item = JobId> {
        self.with_failed.iter().copied()
    }
}

fn has_drawn(counting: &Counting) -> bool {
    counting.draws().is_some_and(|draws| draws.queues().has_drawn())
}

fn has_undrawn(counting: &Counting) -> bool {
    counting.draws().is_some_and(|draws| draws.queues().has_undrawn())
}
