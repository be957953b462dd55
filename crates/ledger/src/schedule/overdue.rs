//! Takes back the leases of a worker with an overdue lease, if its job has nothing else to count.

use std::collections::BTreeSet;
use std::time::Duration;

use queens_model::{LeaseId, WorkerId};

use crate::jobs::recount::Recount;
use crate::ledger::Ledger;
use crate::workers::worker::Worker;

/// The most leases that one tick looks at. The next tick looks at the rest.
const MOST_LOOKS: usize = 256;

/// How long an overdue lease that can't be taken back is left alone.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// Takes back the leases of a worker with an overdue lease, if its job has no free spans left for others. The worker
/// keeps recounts that nobody else may count. It also keeps the leases that were drawn for its party and are not overdue
/// themselves; if another worker of the party can count those, they go back to the party.
///
/// The worker may still report the others: the first count is recorded, and the other is compared with it. It gets no
/// new lease until it has reported something. So a worker that hangs, or claims to be slow, can't hold up what others
/// may count.
pub(crate) fn take_back_overdue(ledger: &mut Ledger) {
    let now = ledger.now;
    for _ in 0..MOST_LOOKS {
        let Some((deadline, id)) = ledger.leases.first_deadline() else { return };
        if deadline > now {
            return;
        }
        // The worker's speed may have changed.
        if ledger.refresh_deadline(id).is_none_or(|deadline| deadline > now) {
            continue;
        }
        let Some(lease) = ledger.leases.get(id) else { return };
        let (worker, job) = (lease.worker, lease.job);
        // A worker with a long report interval may take longer than expected without having to report it.
        let extra = ledger.workers.get(worker).map(Worker::extra_interval).unwrap_or_default();
        let reports_later = ledger.leases.deadline(id).is_some_and(|deadline| deadline + extra > now);
        let is_drawn = ledger.leases.get(id).is_some_and(|lease| lease.due.is_some());
        let is_all_there_is = is_drawn || ledger.counting(job).is_some_and(|counting| !counting.has_free());
        ledger.leases.postpone_deadline(id, now + LOOK_AGAIN);
        if !is_all_there_is || reports_later {
            continue;
        }
        let mut leases = ledger.leases_of(worker);
        leases.retain(|&id| has_others(ledger, id));
        // A drawn lease has a deadline of its own, by the party's speed.
        let is_late =
            |id: &LeaseId| ledger.leases.get(*id).is_some_and(|lease| lease.due.is_none_or(|due| due <= now));
        let (late, drawn): (Vec<LeaseId>, Vec<LeaseId>) = leases.into_iter().partition(is_late);
        if !late.is_empty() {
            ledger.note_loss(worker, true);
            ledger.change_worker(worker, |worker| worker.set_stuck(true));
            ledger.take_back(worker, late, false);
            if has_useful_party(ledger, worker) {
                ledger.take_back(worker, drawn, true);
            }
        }
    }
}

/// Whether another worker of the same party can count.
fn has_useful_party(ledger: &Ledger, worker: WorkerId) -> bool {
    let party = ledger.workers.get(worker).map(Worker::party);
    let mut members = party.and_then(|party| ledger.workers.of_party(party)).into_iter().flatten();
    members.any(|id| ledger.workers.get(*id).is_some_and(Worker::is_of_use))
}

/// Whether another worker may count a lease. It may be that only a processor may recount a card's record.
fn has_others(ledger: &Ledger, id: LeaseId) -> bool {
    let Some(lease) = ledger.leases.get(id) else { return false };
    let parties = ledger.workers.readiness(lease.method).useful_parties();
    let is_other = |workers: &BTreeSet<WorkerId>| workers.iter().any(|&worker| worker != lease.worker);
    let Some(record) = lease.record_to_recount() else { return parties.values().any(is_other) };
    let Some(job) = ledger.jobs.get(lease.job) else { return false };
    let excluded = job.recounts().get(record).map(Recount::counted_by).unwrap_or_default();
    match job.arbiter().filter(|arbiter| !excluded.contains(arbiter)) {
        Some(arbiter) => parties.get(&arbiter).is_some_and(is_other),
        None => parties.iter().any(|(party, workers)| !excluded.contains(party) && is_other(workers)),
    }
}
