//! The leases of workers: each change updates the worker, the indexes and the holders of the job.

use std::time::Duration;

use queens_model::{JobId, LeaseId, WorkerId};

use crate::lease_load::Load;
use crate::workers::worker::Worker;
use crate::workers::worker_table::Workers;

/// Leases of workers. The caller passes the load of a lease before and after each change.
impl Workers {
    /// Adds a lease to a worker.
    pub(crate) fn add_lease(&mut self, now: Duration, id: WorkerId, lease: LeaseId, job: JobId, load: Load) {
        self.change_held_leases(now, id, job, (0, load.work), |worker| {
            let n_threads = worker.n_threads();
            worker.held.add(n_threads, lease, job, load);
        });
    }

    /// Replaces the load of a lease.
    pub(crate) fn replace_lease(
        &mut self,
        now: Duration,
        id: WorkerId,
        lease: LeaseId,
        job: JobId,
        [before, after]: [Load; 2],
    ) {
        self.change_held_leases(now, id, job, (before.work, after.work), |worker| {
            worker.held.replace(lease, job, before, after);
        });
    }

    /// Begins a waiting lease on a thread of the worker.
    pub(crate) fn begin_lease(
        &mut self,
        now: Duration,
        id: WorkerId,
        lease: LeaseId,
        job: JobId,
        [before, after]: [Load; 2],
    ) {
        self.change_held_leases(now, id, job, (before.work, after.work), |worker| {
            worker.held.begin(lease, job, before, after);
        });
    }

    /// Removes a lease from a worker. Returns the waiting lease to begin in its place.
    pub(crate) fn remove_lease(
        &mut self,
        now: Duration,
        id: WorkerId,
        lease: LeaseId,
        job: JobId,
        load: Load,
    ) -> Option<LeaseId> {
        let was_running = self
            .change_held_leases(now, id, job, (load.work, 0), |worker| worker.held.remove(lease, job, load));
        if was_running == Some(true) { self.all.get(&id)?.held.first_waiting() } else { None }
    }

    /// Changes a worker's leases of a job. The work of the lease in question was `before` and is `after`.
    fn change_held_leases<T>(
        &mut self,
        now: Duration,
        id: WorkerId,
        job: JobId,
        (before, after): (u128, u128),
        change: impl FnOnce(&mut Worker) -> T,
    ) -> Option<T> {
        let changed = self.change(now, id, change)?;
        let share = self.all.get(&id)?.held.share(job);
        let holding = self.holdings.entry(job).or_default();
        holding.work = holding.work + after - before;
        let is_unrecalled = share.is_some_and(|share| !share.unrecalled.is_empty());
        for (set, is_member) in
            [(&mut holding.holders, share.is_some()), (&mut holding.unrecalled, is_unrecalled)]
        {
            if is_member {
                set.insert(id)
            } else {
                set.remove(&id)
            };
        }
        if holding.holders.is_empty() {
            self.holdings.remove(&job);
        }
        Some(changed)
    }
}
