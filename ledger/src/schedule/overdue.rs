//! Takes back all leases of a worker with an overdue lease, if its job has nothing else to count.

use std::time::Duration;

use crate::state::State;
use crate::workers::worker::Worker;

/// The most leases that one tick looks at. The next tick looks at the rest.
const MOST_LOOKS: usize = 256;

/// How long an overdue lease that can't be taken back is left alone.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// Takes back all leases of a worker with an overdue lease, if its job has no free spans left for others. The worker
/// may still report them: the first count is recorded, and the other is compared with it. It gets no new lease until it
/// has reported something. So a worker that hangs, or claims to be slow, can't hold up a job.
pub(crate) fn take_back_overdue(state: &mut State) {
    let now = state.now();
    for _ in 0..MOST_LOOKS {
        let Some((deadline, id)) = state.leases().first_deadline() else { return };
        if deadline > now {
            return;
        }
        // The worker's speed may have changed.
        if state.refresh_deadline(id).is_none_or(|deadline| deadline > now) {
            continue;
        }
        let Some(lease) = state.leases().get(id) else { return };
        let (worker, job) = (lease.worker(), lease.job());
        // A worker with a long report interval may take longer than expected without having to report it.
        let extra = state.workers().get(worker).map(Worker::extra_interval).unwrap_or_default();
        let reports_later = state.leases().deadline(id).is_some_and(|deadline| deadline + extra > now);
        let is_all_there_is = state.counting(job).is_some_and(|counting| !counting.has_free());
        let useful = state.workers().readiness(lease.load().method).useful();
        let has_others = useful.len() > usize::from(useful.contains(&worker));
        if !is_all_there_is || !has_others || reports_later {
            state.postpone_deadline(id, now + LOOK_AGAIN);
            continue;
        }
        state.note_loss(worker, true);
        state.change_worker(worker, |worker| worker.set_stuck(true));
        state.take_back_all(worker);
    }
}
