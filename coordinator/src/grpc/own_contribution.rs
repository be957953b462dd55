//! Tells a worker what its own party has counted, from the sums that the public pages show.

use queens_event_loop::{Handle, Snapshot};
use queens_model::{Fraction, JobStatus, Name, OwnContribution, OwnJob, Party, Place, TimeLeft};
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
    let totals = people.totals(party);
    let place = people.of_party(party).map(|one| Place {
        rank: one.rank as u64,
        n_people: people.ranked.len() as u64,
        since_ms: one.person.since_ms,
    });
    let share = Fraction::try_from(people.share(&totals)).unwrap_or_default();
    let is_its_own = authenticator.owns_name(caller, &name);
    let snapshot = handle.snapshot();
    let job = counted_job(&snapshot, &name).filter(|_| is_its_own).map(own_job);
    Ok(OwnContribution { at_ms: people.at_ms, totals, share, place, job }.into())
}

/// Returns the job that the worker of this name counts. O(workers).
fn counted_job<'a>(snapshot: &'a Snapshot, name: &Name) -> Option<&'a JobStatus> {
    let of_name = snapshot.workers.iter().filter(|worker| worker.name == *name);
    let job = of_name.filter_map(|worker| worker.counting).next()?.job;
    snapshot.job(job)
}

fn own_job(job: &JobStatus) -> OwnJob {
    OwnJob {
        n: job.n,
        method: job.method,
        fraction: Fraction::try_from(job.fraction()).unwrap_or_default(),
        seconds_left: job.time_left.map(TimeLeft::expected),
    }
}
