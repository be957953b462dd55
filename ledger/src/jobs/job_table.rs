//! All jobs, and which of them have something to hand out.

use std::collections::{BTreeMap, BTreeSet};

use queens_model::{JobId, JobIdentity, Priority};
use queens_solver::{Method, Pass};

use crate::by_method::ByMethod;
use crate::jobs::counting::Counting;
use crate::jobs::job::{Job, Rank};
use crate::store::Phase;

/// Jobs, with indexes that follow every change, so that nobody has to look through all jobs to find work.
///
/// Finding and changing a job takes time logarithmic in the number of jobs.
#[derive(Debug, Default)]
pub(crate) struct Jobs {
    all: BTreeMap<JobId, Job>,
    by_identity: BTreeMap<JobIdentity, JobId>,
    /// Jobs that are there to be counted, paused ones included, in the order they are served.
    active: BTreeSet<Rank>,
    /// Those of them of each method with free spans that workers may get.
    free: ByMethod<BTreeSet<Rank>>,
    /// Those of them with failed spans, which some worker may still try.
    to_retry: BTreeSet<Rank>,
    /// Those of them with records that are to be counted again and that nobody counts at present.
    to_recount: BTreeSet<Rank>,
    /// Those of them of which records are yet to be drawn to be counted again.
    to_draw: BTreeSet<Rank>,
    /// Jobs with failed spans.
    with_failed: BTreeSet<JobId>,
    /// Jobs that are not over.
    open: BTreeSet<JobId>,
}

impl Jobs {
    pub(crate) fn get(&self, id: JobId) -> Option<&Job> {
        self.all.get(&id)
    }

    /// Whether a job is damaged and set aside.
    pub(crate) fn is_damaged(&self, id: JobId) -> bool {
        self.get(id).is_some_and(|job| job.phase() == Phase::Damaged)
    }

    /// The job that a worker means.
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

    /// Changes a job, and what is said of it in the indexes.
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
            (&mut self.to_retry, servable.is_some_and(|counting| !counting.failed().is_empty())),
            (&mut self.to_recount, servable.is_some() && job.recounts().has_waiting()),
            (&mut self.to_draw, is_active && job.recounts().wanted().is_some()),
        ];
        let has_failed = job.counting().is_some_and(|counting| !counting.failed().is_empty());
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

    /// How many jobs are not over.
    pub(crate) fn n_open(&self) -> usize {
        self.open.len()
    }

    /// How many are there to be counted.
    pub(crate) fn n_active(&self) -> usize {
        self.active.len()
    }

    /// The highest and the lowest priority of those that are there to be counted.
    pub(crate) fn priorities(&self) -> Option<(Priority, Priority)> {
        Some((self.active.first()?.priority.0, self.active.last()?.priority.0))
    }

    /// The first job of a method with free spans that workers may get.
    pub(crate) fn first_free(&self, method: Method) -> Option<Rank> {
        self.free.of(method).first().copied()
    }

    /// Jobs with failed spans, which some worker may still try, in the order they are served.
    pub(crate) fn to_retry(&self) -> impl Iterator<Item = (Rank, &Job)> {
        self.to_retry.iter().filter_map(|rank| Some((*rank, self.all.get(&rank.job)?)))
    }

    /// Jobs with records that are to be counted again and that nobody counts, in the order they are served.
    pub(crate) fn to_recount(&self) -> impl Iterator<Item = (Rank, &Job)> {
        self.to_recount.iter().filter_map(|rank| Some((*rank, self.all.get(&rank.job)?)))
    }

    /// The first job of which records are yet to be drawn to be counted again.
    pub(crate) fn first_to_draw(&self) -> Option<&Job> {
        self.all.get(&self.to_draw.first()?.job)
    }

    /// The images that a job is counted on: others than in the first pass, if it is the second by the same method.
    pub(crate) fn pass(&self, job: &Job) -> Pass {
        let first = job.entry().terms.second_of.and_then(|first| self.get(first));
        if first.is_some_and(|first| first.method() == job.method()) { Pass::Second } else { Pass::First }
    }

    /// A job and the one that counts the same a second or a first time, unless that is given up: first the first.
    pub(crate) fn passes(&self, id: JobId) -> Vec<JobId> {
        let Some(first) = self.get(id).map(Job::first_pass) else { return Vec::new() };
        let second = self.get(first).and_then(Job::second);
        // The second pass that is asked for may be one that was given up.
        if second == Some(id) || first == id {
            [Some(first), second].into_iter().flatten().collect()
        } else {
            vec![id]
        }
    }

    /// Jobs with failed spans, whether or not somebody may still try them.
    pub(crate) fn with_failed(&self) -> impl Iterator<Item = JobId> {
        self.with_failed.iter().copied()
    }
}
