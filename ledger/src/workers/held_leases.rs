//! What one worker holds.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use queens_model::{JobId, LeaseId};
use queens_solver::Method;

use crate::by_method::ByMethod;
use crate::lease_load::Load;

/// The leases that a worker holds. As many run as it has threads; the others wait.
///
/// All sums are of the loads that were told: whoever changes a lease tells the load it had and the load it has.
#[derive(Clone, Debug, Default)]
pub(crate) struct HeldLeases {
    /// What is counted now.
    running: BTreeSet<LeaseId>,
    /// What is held of each job, and nothing of jobs of which nothing is held.
    shares: BTreeMap<JobId, Share>,
    /// What is held by each method.
    of_methods: ByMethod<OfMethod>,
}

/// What a worker holds of all jobs that are counted by one method.
#[derive(Clone, Debug, Default)]
struct OfMethod {
    /// Leases that wait and may be cut, by their work.
    tails: BTreeSet<(u128, LeaseId)>,
    n_running: u32,
    /// The work of the leases that run, and of those that wait.
    running_work: u128,
    waiting_work: u128,
}

/// What a worker holds of one job.
#[derive(Clone, Debug, Default)]
pub(crate) struct Share {
    waiting: BTreeSet<LeaseId>,
    /// Those, running or waiting, that it was not told to give back.
    unrecalled: BTreeSet<LeaseId>,
    /// How many run, their work, and the sum of the times at which they were heard of.
    n_running: u32,
    running_work: u128,
    heard_nanos: u128,
}

/// Looking.
impl HeldLeases {
    pub(crate) fn n_leases(&self) -> usize {
        self.running.len() + self.shares.values().map(|share| share.waiting.len()).sum::<usize>()
    }

    pub(crate) fn n_running(&self) -> usize {
        self.running.len()
    }

    pub(crate) fn is_running(&self, lease: LeaseId) -> bool {
        self.running.contains(&lease)
    }

    /// Leases that are counted now, of all jobs.
    pub(crate) fn running(&self) -> impl Iterator<Item = LeaseId> {
        self.running.iter().copied()
    }

    /// All leases, in the order they are counted.
    pub(crate) fn leases(&self) -> Vec<LeaseId> {
        let waiting = self.shares.values().flat_map(|share| &share.waiting);
        let mut leases: Vec<LeaseId> = self.running.iter().chain(waiting).copied().collect();
        leases.sort_unstable();
        leases
    }

    /// What is held of each job.
    pub(crate) fn shares(&self) -> impl Iterator<Item = (JobId, &Share)> {
        self.shares.iter().map(|(&job, share)| (job, share))
    }

    /// What is held of a job, if anything is.
    pub(crate) fn share(&self, job: JobId) -> Option<&Share> {
        self.shares.get(&job)
    }

    /// The first lease that waits.
    pub(crate) fn first_waiting(&self) -> Option<LeaseId> {
        self.shares.values().filter_map(|share| share.waiting.first()).min().copied()
    }

    /// The largest lease of a method that waits and may be cut, and its work.
    pub(crate) fn largest_tail(&self, method: Method) -> Option<(u128, LeaseId)> {
        self.of_methods.of(method).tails.last().copied()
    }

    /// How many leases of a method are counted now.
    pub(crate) fn n_running_by(&self, method: Method) -> u32 {
        self.of_methods.of(method).n_running
    }

    pub(crate) fn running_work(&self, method: Method) -> u128 {
        self.of_methods.of(method).running_work
    }

    pub(crate) fn waiting_work(&self, method: Method) -> u128 {
        self.of_methods.of(method).waiting_work
    }

    /// The seconds since running leases were heard of, on an average.
    pub(crate) fn silent_seconds(&self, now: Duration) -> f64 {
        let n_running = self.shares.values().map(|share| u128::from(share.n_running)).sum::<u128>().max(1);
        let heard: u128 = self.shares.values().map(|share| share.heard_nanos).sum();
        now.as_nanos().saturating_sub(heard / n_running) as f64 / 1e9
    }
}

/// Changing.
impl HeldLeases {
    /// Adds a lease, which one of so many threads begins at once if it has nothing to do.
    pub(crate) fn add(&mut self, n_threads: u32, id: LeaseId, job: JobId, load: Load) {
        let share = self.shares.entry(job).or_default();
        if self.running.len() < n_threads as usize {
            self.running.insert(id);
            share.n_running += 1;
        } else {
            share.waiting.insert(id);
        }
        self.count(id, job, load);
    }

    /// A lease has changed.
    pub(crate) fn replace(&mut self, id: LeaseId, job: JobId, before: Load, after: Load) {
        self.uncount(id, job, before);
        self.count(id, job, after);
    }

    /// A thread begins a lease that waited.
    pub(crate) fn begin(&mut self, id: LeaseId, job: JobId, before: Load, after: Load) {
        self.uncount(id, job, before);
        if let Some(share) = self.shares.get_mut(&job) {
            share.waiting.remove(&id);
            share.n_running += 1;
            self.running.insert(id);
        }
        self.count(id, job, after);
    }

    /// Takes a lease out. Returns whether it was counted, so that a thread of it has nothing to do now.
    pub(crate) fn remove(&mut self, id: LeaseId, job: JobId, load: Load) -> bool {
        self.uncount(id, job, load);
        let was_running = self.running.remove(&id);
        if let Some(share) = self.shares.get_mut(&job) {
            share.n_running -= u32::from(was_running);
            share.waiting.remove(&id);
            if share.n_running == 0 && share.waiting.is_empty() {
                self.shares.remove(&job);
            }
        }
        was_running
    }

    fn count(&mut self, id: LeaseId, job: JobId, load: Load) {
        let Some(share) = self.shares.get_mut(&job) else { return };
        let of_method = self.of_methods.of_mut(load.method);
        if self.running.contains(&id) {
            of_method.n_running += 1;
            of_method.running_work += load.work;
            share.running_work += load.work;
            share.heard_nanos += load.heard.as_nanos();
        } else {
            of_method.waiting_work += load.work;
            if load.can_be_cut {
                of_method.tails.insert((load.work, id));
            }
        }
        if !load.recalled {
            share.unrecalled.insert(id);
        }
    }

    fn uncount(&mut self, id: LeaseId, job: JobId, load: Load) {
        let Some(share) = self.shares.get_mut(&job) else { return };
        let of_method = self.of_methods.of_mut(load.method);
        if self.running.contains(&id) {
            of_method.n_running -= 1;
            of_method.running_work -= load.work;
            share.running_work -= load.work;
            share.heard_nanos -= load.heard.as_nanos();
        } else {
            of_method.waiting_work -= load.work;
            of_method.tails.remove(&(load.work, id));
        }
        share.unrecalled.remove(&id);
    }
}

impl Share {
    pub(crate) fn n_leases(&self) -> usize {
        self.waiting.len() + self.n_running as usize
    }

    pub(crate) fn n_running(&self) -> u32 {
        self.n_running
    }

    pub(crate) fn running_work(&self) -> u128 {
        self.running_work
    }

    /// Leases that wait for a thread.
    pub(crate) fn waiting(&self) -> &BTreeSet<LeaseId> {
        &self.waiting
    }

    /// Leases that the worker was not told to give back.
    pub(crate) fn unrecalled(&self) -> &BTreeSet<LeaseId> {
        &self.unrecalled
    }

    /// The sum of the seconds since its running leases were heard of.
    pub(crate) fn silent_seconds(&self, now: Duration) -> f64 {
        let since = now.as_nanos().saturating_mul(self.n_running.into());
        since.saturating_sub(self.heard_nanos) as f64 / 1e9
    }
}
