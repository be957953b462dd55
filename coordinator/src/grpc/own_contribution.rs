//! Tells a worker what its own party has counted, from the sums that the public pages show.

use std::time::Duration;

use queens_event_loop::{Handle, Snapshot};
use queens_model::{JobStatus, Name, Party, TimeLeft};
use queens_proto::convert::worker_name;
use queens_proto::pb;
use tonic::Status;

use crate::access::{Authenticator, Caller};
use crate::refusal::RequestRefusal;

/// Answers a worker. With authentication, the answer is about the caller's party, whatever name it
/// sends.
pub(super) async fn own_contribution(
    handle: &Handle,
    authenticator: &Authenticator,
    caller: &Caller,
    request: &pb::GetOwnContributionRequest,
) -> Result<pb::OwnContribution, Status> {
    let name = worker_name(&request.worker).map_err(RequestRefusal::from)?;
    let party = caller.party().unwrap_or_else(|| Party::of_name(&name));
    let people = handle.people(|| authenticator.people()).await.map_err(RequestRefusal::from)?;
    let (totals, place) = (people.totals(party), people.of_party(party));
    let is_its_own = authenticator.owns_name(caller, &name);
    let snapshot = handle.snapshot();
    let job = counted_job(&snapshot, &name).filter(|_| is_its_own).map(|job| pb::OwnJob {
        n: job.n.get().into(),
        method: pb::Method::from(job.method).into(),
        fraction: job.fraction(),
        seconds_left: job.time_left.map(TimeLeft::expected),
    });
    let micros = |time: Duration| u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
    Ok(pb::OwnContribution {
        at_ms: people.at_ms,
        records: totals.n_records,
        record_time_us: micros(totals.record_time),
        recounts: totals.n_recounts,
        recount_time_us: micros(totals.recount_time),
        confirmed: totals.n_confirmed,
        solutions: totals.solutions.to_string(),
        share: people.share(&totals),
        rank: place.map_or(0, |place| place.rank as u64),
        people: place.map_or(0, |_| people.ranked.len() as u64),
        since_ms: place.map_or(0, |place| place.person.since_ms),
        job,
    })
}

/// Returns the job that the worker of this name counts. O(workers).
fn counted_job<'a>(snapshot: &'a Snapshot, name: &Name) -> Option<&'a JobStatus> {
    let of_name = snapshot.workers.iter().filter(|worker| worker.name == *name);
    let job = of_name.filter_map(|worker| worker.counting).next()?.job;
    snapshot.job(job)
}
