//! The leases that one worker holds.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use queens_model::{JobId, LeaseId};
use queens_solver::Method;

use crate::by_method::ByMethod;
use crate::lease_load::Load;

/// The leases that a worker holds. As many run as it has threads; the others wait.
///
/// All sums are of loads that the callers pass: a change of a lease passes its load before and after.
#[derive(Clone, Debug, Default)]
pub(crate) struct HeldLeases {
    /// The running leases.
    running: BTreeSet<LeaseId>,
    /// The shares of the jobs that it holds leases of, and of no others.
    shares: BTreeMap<JobId, Share>,
    /// The sums by method.
    of_methods: ByMethod<OfMethod>,
}

/// A worker's leases of all jobs of one method.
#[derive(Clone, Debug, Default)]
struct OfMethod {
    /// Waiting leases that may be cut, by their work.
    tails: BTreeSet<(u128, LeaseId)>,
    n_running: u32,
    /// The work of running leases, and of waiting ones.
    running_work: u128,
    waiting_work: u128,
}

/// A worker's leases of one job.
#[derive(Clone, Debug, Default)]
pub(crate) struct Share {
    pub(crate) waiting: BTreeSet<LeaseId>,
    /// Leases, running or waiting, that were not recalled.
    pub(crate) unrecalled: BTreeSet<LeaseId>,
    /// The number of running leases, their work, and the sum of the times when they were last heard of.
    pub(crate) n_running: u32,
    pub(crate) running_work: u128,
    heard_nanos: u128,
}

/// Queries.
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

    /// Returns the running leases of all jobs.
    pub(crate) fn running(&self) -> impl Iterator<Item = LeaseId> {
        self.running.iter().copied()
    }

    /// Returns all leases, in the order of counting.
    pub(crate) fn leases(&self) -> Vec<LeaseId> {
        let waiting = self.shares.values().flat_map(|share| &share.waiting);
        let mut leases: Vec<LeaseId> = self.running.iter().chain(waiting).copied().collect();
        leases.sort_unstable();
        leases
    }

    /// Returns the share of each job.
    pub(crate) fn shares(&self) -> impl Iterator<Item = (JobId, &Share)> {
        self.shares.iter().map(|(&job, share)| (job, share))
    }

    /// Returns the share of a job, if any lease of it is held.
    pub(crate) fn share(&self, job: JobId) -> Option<&Share> {
        self.shares.get(&job)
    }

    /// Returns the first waiting lease.
    pub(crate) fn first_waiting(&self) -> Option<LeaseId> {
        self.shares.values().filter_map(|share| share.waiting.first()).min().copied()
    }

    /// Returns the largest waiting lease of a method that may be cut, and its work.
    pub(crate) fn largest_tail(&self, method: Method) -> Option<(u128, LeaseId)> {
        self.of_methods.of(method).tails.last().copied()
    }

    /// Returns the number of running leases of a method.
    pub(crate) fn n_running_by(&self, method: Method) -> u32 {
        self.of_methods.of(method).n_running
    }

    pub(crate) fn running_work(&self, method: Method) -> u128 {
        self.of_methods.of(method).running_work
    }

    pub(crate) fn waiting_work(&self, method: Method) -> u128 {
        self.of_methods.of(method).waiting_work
    }

    /// Returns the mean time since running leases were last heard of, in seconds.
    pub(crate) fn silent_seconds(&self, now: Duration) -> f64 {
        let n_running = self.shares.values().map(|share| u128::from(share.n_running)).sum::<u128>().max(1);
        let heard: u128 = self.shares.values().map(|share| share.heard_nanos).sum();
        now.as_nanos().saturating_sub(heard / n_running) as f64 / 1e9
    }
}

/// Changes.
impl HeldLeases {
    /// Adds a lease. It runs at once if one of the threads is idle.
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

    /// Replaces the load of a lease.
    pub(crate) fn replace(&mut self, id: LeaseId, job: JobId, before: Load, after: Load) {
        self.uncount(id, job, before);
        self.count(id, job, after);
    }

    /// Begins a waiting lease.
    pub(crate) fn begin(&mut self, id: LeaseId, job: JobId, before: Load, after: Load) {
        self.uncount(id, job, before);
        if let Some(share) = self.shares.get_mut(&job) {
            share.waiting.remove(&id);
            share.n_running += 1;
            self.running.insert(id);
        }
        self.count(id, job, after);
    }

    /// Removes a lease. Returns whether it was running, so that a thread is idle now.
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

    /// Returns the sum of the times since its running leases were last heard of, in seconds.
    pub(crate) fn silent_seconds(&self, now: Duration) -> f64 {
        let since = now.as_nanos().saturating_mul(self.n_running.into());
        since.saturating_sub(self.heard_nanos) as f64 / 1e9
    }
}
