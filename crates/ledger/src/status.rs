//! The status of jobs and workers, as the ledger reports it.

use std::collections::BTreeSet;
use std::sync::Arc;

use queens_model::{
    InHand, JobId, JobState, JobStatus, Name, Party, Recounting, Share, TimeLeft, WorkerId, WorkerState,
    WorkerStatus,
};
use queens_solver::{Method, Plan};

use crate::handlers::notices;
use crate::jobs::counting::Counting;
use crate::jobs::failed::FailedSpans;
use crate::jobs::job::Job;
use crate::jobs::recount::Recount;
use crate::ledger::Ledger;
use crate::schedule::confirmers::MOST_TRIES;
use crate::store::{Coverage, Phase};
use crate::workers::worker::Worker;

/// The coverage of one part of a job.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PartStatus {
    /// The number of recorded subproblems.
    pub n_recorded: u64,
    /// Their solutions, not yet weighted.
    pub solutions: u128,
    /// Their work units.
    pub work: u128,
}

/// Returns the status of a worker.
pub(crate) fn worker_status(ledger: &Ledger, id: WorkerId, worker: &Worker) -> WorkerStatus {
    let blocked_for = notices::reason_of_block(&ledger.workers, worker);
    WorkerStatus {
        id,
        name: worker.name().clone(),
        build: worker.source().build.clone(),
        kernel: worker.source().kernel.clone(),
        methods: Method::ALL.into_iter().filter(|method| worker.can_count(*method)).collect(),
        n_threads: worker.n_threads(),
        connected: worker.is_connected(),
        silent: ledger.now.saturating_sub(worker.heard),
        speed: worker.told_speed(),
        n_leases: u32::try_from(worker.held.n_leases()).unwrap_or(u32::MAX),
        n_recorded: worker.n_recorded,
        state: worker_state(worker),
        failure: worker.failures.reason().map(ToOwned::to_owned).or(blocked_for),
        counting: counted_by(ledger, worker),
        sensors: worker.sensors,
    }
}

/// Returns the span that the first of a worker's threads counts.
fn counted_by(ledger: &Ledger, worker: &Worker) -> Option<InHand> {
    let lease = ledger.leases.get(worker.held.running().next()?)?;
    Some(InHand { job: lease.job, method: lease.method, span: lease.spans.first()? })
}

fn worker_state(worker: &Worker) -> WorkerState {
    if worker.draining {
        WorkerState::Draining
    } else if worker.blocked {
        WorkerState::Blocked
    } else if worker.failures.are_too_many() {
        WorkerState::Failing
    } else if worker.stuck {
        WorkerState::Stuck
    } else {
        WorkerState::Ready
    }
}

/// Returns the plan of a job and the coverage of each part, once the plan is made.
pub(crate) fn parts(ledger: &Ledger, job: JobId) -> Option<(Arc<Plan>, Vec<PartStatus>)> {
    let counting = ledger.counting(job)?;
    let status = |coverage: &Coverage| PartStatus {
        n_recorded: coverage.recorded.len(),
        solutions: coverage.solutions,
        work: coverage.work,
    };
    Some((counting.plan().clone(), counting.coverage.iter().map(status).collect()))
}

/// Returns the status of a job.
pub(crate) fn job_status(ledger: &Ledger, job: &Job) -> JobStatus {
    let (id, entry) = (job.id(), job.entry());
    let n_workers = ledger.workers.holding(id).map_or(0, |holding| holding.holders.len());
    let job_state = match job.phase() {
        Phase::Planning | Phase::Active if job.is_paused() => JobState::Paused,
        Phase::Planning => JobState::Planning,
        Phase::Active if job.is_complete() && (is_disputed(ledger, job) || is_doubted(ledger, job)) => {
            JobState::Disputed
        }
        Phase::Active if job.is_complete() => JobState::Verifying,
        Phase::Active if n_workers == 0 && job.counting().is_some_and(|c| has_failed(ledger, c)) => {
            JobState::Failed
        }
        Phase::Active if n_workers == 0 => JobState::Queued,
        Phase::Active => JobState::Running,
        Phase::Done => JobState::Done,
        Phase::Cancelled => JobState::Cancelled,
        Phase::Damaged => JobState::Damaged,
    };
    let waits_for = match job_state {
        JobState::Queued => Some(waits_for(ledger, job.method())),
        JobState::Verifying | JobState::Disputed => {
            waits_for_whom(ledger, job, n_workers == 0).or_else(|| who_holds_back(ledger, job))
        }
        JobState::Running => who_holds_back(ledger, job).or_else(|| lacks_party(ledger, job)),
        JobState::Planning => lacks_party(ledger, job),
        _ => None,
    };
    let failed = job.counting().map(|counting| &counting.failed);
    let time_left = match job_state {
        JobState::Done => Some(TimeLeft::default()),
        JobState::Running => ledger.paces.time_left(id),
        _ => None,
    };
    JobStatus {
        identity: Some(job.identity()),
        waits_for,
        progress: job.progress(),
        active: job.active(ledger.now),
        time_left,
        n_workers: u32::try_from(n_workers).unwrap_or(u32::MAX),
        n_verified: entry.n_verified,
        n_disputed: entry.n_disputed,
        recounting: recounting(ledger, job),
        created_ms: entry.created_ms,
        started_ms: entry.started_ms,
        finished_ms: entry.finished_ms,
        priority: entry.priority,
        n_failed: failed.map_or(0, |failed| failed.len() as u64),
        n_given_up: failed.map_or(0, |failed| n_given_up(ledger, job.method(), failed)),
        failure: failed.and_then(|failed| failed.reason()).or(job.damage()).map(ToOwned::to_owned),
        terms: entry.terms,
        second: job.second(),
        other_method: other_pass(ledger, job).map(Job::method),
        pass_mismatch: (!job.mismatch.is_nothing()).then(|| job.mismatch.to_string()),
        n_parts: job.counting().map_or(0, |counting| counting.plan().parts().len() as u64),
        ..JobStatus::new(id, entry.n, entry.method, job_state)
    }
}

/// Says what an active job that nobody counts waits for.
fn waits_for(ledger: &Ledger, method: Method) -> String {
    let of = |method| ledger.workers.readiness(method);
    if Method::ALL.into_iter().all(|method| of(method).power.is_none()) {
        "a worker: none is connected".to_owned()
    } else if of(method).power.is_none() {
        format!("a worker that can count by {method}: none of those that are connected can")
    } else if of(method).useful.is_empty() {
        format!(
            "a worker that gets leases: all that are connected and can count by {method} are held back or stuck"
        )
    } else {
        "its turn: the workers that can count it are at other jobs".to_owned()
    }
}

/// The most workers that are checked for holding a job back. With more holders, none of them alone delays it.
const MOST_HOLDERS: usize = 8;

/// A worker holds back the end of a job after this many seconds without a report on it.
const HOLDS_BACK_SECONDS: f64 = 5.0;

/// Names the worker that others wait for, if all of a job is held and that worker is silent. The time is rounded to
/// tens of seconds, because each change of the status is sent to all subscribers.
fn who_holds_back(ledger: &Ledger, job: &Job) -> Option<String> {
    let is_all_held = job.counting().is_some_and(|counting| !counting.has_free());
    let holders = ledger.workers.holding(job.id()).map(|holding| &holding.holders)?;
    let readiness = ledger.workers.readiness(job.method());
    if !is_all_held || holders.len() > MOST_HOLDERS || readiness.first_idle().is_none() {
        return None;
    }
    let silent = |id: &WorkerId| {
        let worker = ledger.workers.get(*id)?;
        let share = worker.held.share(job.id()).filter(|share| share.n_running > 0)?;
        let seconds = share.silent_seconds(ledger.now) / f64::from(share.n_running);
        let usual = HOLDS_BACK_SECONDS + worker.extra_interval().as_secs_f64();
        (seconds >= usual).then(|| (seconds, worker.name(), share.n_leases()))
    };
    let (seconds, name, n_leases) =
        holders.iter().filter_map(silent).max_by(|one, other| one.0.total_cmp(&other.0))?;
    let leases = if n_leases == 1 { "a lease".to_owned() } else { format!("{n_leases} leases") };
    let since = if seconds < 10.0 {
        "seconds".to_owned()
    } else {
        format!("more than {:.0} s", (seconds / 10.0).floor() * 10.0)
    };
    Some(format!("'{name}', which holds {leases} of it and has reported nothing of that for {since}"))
}

/// Says that a job will wait for recounts, because all workers that can count it belong to one party.
fn lacks_party(ledger: &Ledger, job: &Job) -> Option<String> {
    let share = job.entry().terms.recount;
    let is_alone = ledger.workers.readiness(job.method()).useful_parties().len() == 1;
    (share != Share::NOTHING && is_alone).then(|| {
        format!(
            "a second party, which recounts {share} of it: one is connected, and none confirms its own counts"
        )
    })
}

/// Returns the progress of a job's recounts.
fn recounting(ledger: &Ledger, job: &Job) -> Recounting {
    let recounts = job.recounts();
    // Recounts that are not drawn yet are about the agreed share of all work.
    let share = u128::from(job.entry().terms.recount.ppm());
    let expected = job.progress().estimated_work.saturating_mul(share) / u128::from(Share::ALL.ppm());
    let is_known = recounts.are_known() || !job.is_open();
    Recounting {
        n_open: recounts.len() as u64,
        work_left: if is_known { recounts.work() } else { recounts.work().max(expected) },
        n_cases: recounts.n_cases() as u64,
        n_records: recounts.n_seen(),
        n_parties: ledger.workers.readiness(job.method()).candidates().len() as u64,
    }
}

/// The most records of a job that are checked for its status, and the most groups of workers.
const MOST_LOOKS: usize = 64;

/// Whether counts of a span differ, the coordinator agrees with none of them, and no connected worker could recount it.
fn is_disputed(ledger: &Ledger, job: &Job) -> bool {
    job.recounts().cases().take(MOST_LOOKS).any(|case| case.is_judged() && can_nobody(ledger, job, case))
}

/// Whether no connected party may count a record again.
fn can_nobody(ledger: &Ledger, job: &Job, recount: &Recount) -> bool {
    let counted = recount.counted_by();
    let useful = ledger.workers.readiness(job.method()).useful_parties();
    match job.arbiter().filter(|arbiter| !counted.contains(arbiter)) {
        Some(arbiter) => !useful.contains_key(&arbiter),
        None => useful.keys().all(|party| counted.contains(party)),
    }
}

/// Returns the other pass of a job, if it has something left to count or recount.
fn unchecked_pass<'a>(ledger: &'a Ledger, job: &Job) -> Option<&'a Job> {
    other_pass(ledger, job).filter(|pass| !(pass.is_complete() && pass.recounts().are_done()))
}

/// Returns the other pass of a job that is counted twice.
fn other_pass<'a>(ledger: &'a Ledger, job: &Job) -> Option<&'a Job> {
    let other = ledger.jobs.passes(job.id()).into_iter().find(|pass| *pass != job.id());
    other.and_then(|pass| ledger.jobs.get(pass))
}

/// Whether the passes of a job differ, although two parties agree on each record.
fn is_doubted(ledger: &Ledger, job: &Job) -> bool {
    let are_done = || job.recounts().are_done() && unchecked_pass(ledger, job).is_none();
    !job.mismatch.is_nothing() && (job.recounts().asks_further_parties() || are_done())
}

/// Says what a job that is being verified waits for, if it is idle or some of its recounts can't proceed.
fn waits_for_whom(ledger: &Ledger, job: &Job, is_idle: bool) -> Option<String> {
    if is_doubted(ledger, job) {
        return Some(
            "somebody who finds out why the passes differ, though two parties agree on each record of what they \
             differ in: friends can do that, and so can a fault of a program; further parties count these parts"
                .to_owned(),
        );
    }
    if let Some(other) = unchecked_pass(ledger, job).filter(|_| is_idle && job.recounts().are_done()) {
        let which = if job.second() == Some(other.id()) { "second" } else { "first" };
        let is_damaged = if other.damage().is_some() { ", which is damaged" } else { "" };
        return Some(format!("its {which} pass, job {}{is_damaged}", other.id()));
    }
    let mut cases = job.recounts().cases().take(MOST_LOOKS);
    if let Some(case) = cases.find(|case| case.is_judged() && can_nobody(ledger, job, case)) {
        let (another, _) = another_than(&case.names(), &case.counted_by());
        return Some(format!(
            "{another} than {}: the coordinator has counted {} itself, and agrees with none of them; look whether the \
             machines are sound, and start a worker of another",
            any_of(&case.names()),
            case.span()
        ));
    }
    for (is_disputed, reason) in [(true, "two parties disagree about it"), (false, "others failed on it")] {
        if let Some(span) = job.recounts().first_to_judge(is_disputed) {
            return Some(format!("the coordinator itself, which counts {span}, as {reason}"));
        }
    }
    if let Some(arbiter) = job.entry().terms.recount_by
        && let Some(suspicion) = ledger.workers.suspicion(arbiter.party)
        && job.recounts().queues().has_undrawn()
    {
        return Some(format!(
            "a party that you trust: {arbiter}, the only one that recounts this job (--recount-by), is blocked, as it {}; \
             name another by 'queens verify-more {} --recount-by PARTY'",
            suspicion.reason,
            job.first_pass()
        ));
    }
    let undrawn = || job.recounts().undrawn().take(MOST_LOOKS);
    if let Some(arbiter) = job.entry().terms.recount_by
        && let Some(failed) =
            undrawn().find(|it| it.n_failed >= MOST_TRIES && !it.counted_by().contains(&arbiter.party))
    {
        return Some(format!(
            "another try by {arbiter}, the only party that recounts this job (--recount-by), which failed on {}: 'queens \
             resume {}' lets it try again",
            failed.span(),
            job.id()
        ));
    }
    if let Some(recount) = undrawn().find(|recount| can_nobody(ledger, job, recount)) {
        let counted = recount.counted_by();
        if let Some(arbiter) = job.entry().terms.recount_by.filter(|it| !counted.contains(&it.party)) {
            return Some(format!(
                "a worker of {arbiter} that can count by {}: only this party recounts this job (--recount-by)",
                job.method()
            ));
        }
        let (another, who) = another_than(&recount.names(), &counted);
        let are_suspect = counted.iter().any(|party| ledger.workers.suspects().contains(party));
        let why = match counted.len() {
            1 if who == INVITATIONS && !are_suspect => {
                "no party confirms its own counts, also not under another name: a second invitation is needed"
            }
            _ if are_suspect => "what a party counted that was wrong elsewhere takes two others",
            _ => "no party confirms its own counts",
        };
        let names = any_of(&recount.names());
        return Some(format!(
            "{another} than {names} that can count by {}: {why}; or end the verification by 'queens verify-more {} --end'",
            job.method(),
            job.first_pass()
        ));
    }
    if job.recounts().queues().has_undrawn() && is_idle {
        return Some(
            "a party that has counted before: others confirm nothing until it was away for ten minutes"
                .to_owned(),
        );
    }
    (job.recounts().queues().has_drawn() && is_idle)
        .then(|| "its turn: the workers that can count it again are at other jobs".to_owned())
}

/// The word for parties where workers come with invitations.
const INVITATIONS: &str = "invitations";

/// Returns the kind of worker that a job needs besides these names and parties, and the word for parties. Where each
/// name is its own party, another name is enough.
fn another_than(names: &BTreeSet<&Name>, excluded_parties: &BTreeSet<Party>) -> (&'static str, &'static str) {
    if names.iter().all(|name| excluded_parties.contains(&Party::of_name(name))) {
        ("a worker under another name", "names")
    } else {
        ("a worker of another invitation", INVITATIONS)
    }
}

/// The most names in a message.
const MOST_NAMED: usize = 4;

/// Joins names to a short text, whatever their number.
fn any_of(names: &BTreeSet<&Name>) -> String {
    let mut told: Vec<String> = names.iter().take(MOST_NAMED).map(|name| format!("'{name}'")).collect();
    if names.len() > MOST_NAMED {
        told.truncate(MOST_NAMED - 1);
        told.push(format!("one of {} others", names.len() - told.len()));
    }
    told.join(" or ")
}

/// Whether all that is left of an idle job has failed on all workers that could count it.
fn has_failed(ledger: &Ledger, counting: &Counting) -> bool {
    let (failed, readiness) = (&counting.failed, ledger.workers.readiness(counting.plan().method()));
    if failed.is_empty() {
        return false;
    }
    if counting.has_free() {
        // Workers that fail again and again have had their chance.
        return readiness.useful.is_empty() && !readiness.able.is_empty();
    }
    let can = readiness.useful_parties().values().take(MOST_LOOKS).any(|members| {
        // At most two workers of a party have failed on a span that the party may still try.
        let mut few = members.iter().take(3);
        few.any(|&id| {
            ledger.workers.get(id).is_some_and(|worker| failed.to_try(id, worker.party()).is_some())
        })
    });
    !can && !readiness.able.is_empty()
}

/// Returns the number of failed spans that no connected party may try.
fn n_given_up(ledger: &Ledger, method: Method, failed: &FailedSpans) -> u64 {
    let useful = ledger.workers.readiness(method).useful_parties();
    let parties: BTreeSet<Party> = useful.keys().take(MOST_LOOKS).copied().collect();
    failed.n_given_up(|closed| parties.is_subset(closed)) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(n_names: usize, expected: &str) {
        let names: Vec<Name> =
            (0..n_names).map(|number| format!("rack {number:04}").parse().expect("a name")).collect();
        assert_eq!(any_of(&names.iter().collect()), expected);
    }

    #[test]
    fn a_line_names_a_few_of_many() {
        check(1, "'rack 0000'");
        check(4, "'rack 0000' or 'rack 0001' or 'rack 0002' or 'rack 0003'");
        check(1144, "'rack 0000' or 'rack 0001' or 'rack 0002' or one of 1141 others");
    }
}
