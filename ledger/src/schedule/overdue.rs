//! Leases of which nothing comes.

use std::time::Duration;

use crate::state::State;
use crate::workers::worker::Worker;

/// Leases that one tick looks at: what is left comes with the next tick.
const MOST_LOOKS: usize = 256;

/// How long what can't be taken back yet is left alone.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// When a lease is overdue and its job has nothing else left for others, takes back all leases of its worker, for others
/// to count. It may still report them: the first count is recorded, and the other compared with it. The worker gets no
/// other until it has reported something: one whose threads hang, or that says that it is slow, must not hold up a job.
pub(crate) fn take_back_overdue(state: &mut State) {
    let now = state.now();
    for _ in 0..MOST_LOOKS {
        let Some((deadline, id)) = state.leases().first_deadline() else { return };
        if deadline > now {
            return;
        }
        // Its worker's speed may be another by now.
        if state.refresh_deadline(id).is_none_or(|deadline| deadline > now) {
            continue;
        }
        let Some(lease) = state.leases().get(id) else { return };
        let (worker, job) = (lease.worker(), lease.job());
        // One that reports seldom may be longer at it than was expected, and has not had to say so.
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
