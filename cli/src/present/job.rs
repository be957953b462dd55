//! Describes jobs for people.

use std::time::{SystemTime, UNIX_EPOCH};

use queens_model::{JobState, JobStatus, Share, date, done_at, duration, percent, plural};

/// Formats one line of `queens watch`.
pub(crate) fn line(job: &JobStatus) -> String {
    let JobStatus { id, n, n_workers, .. } = job;
    let (state, solutions) = (job.state_text(), job.progress.solutions);
    let share = percent(job.fraction());
    let part = job.part().map(|part| format!("  {part}")).unwrap_or_default();
    let provisional = if job.is_provisional() { " (provisional)" } else { "" };
    let solutions = plural(solutions, "solution");
    let so_far = format!("job {id}  n = {n}{part}  {state}  {share}  {solutions}{provisional}");
    match job.state {
        JobState::Done if job.is_part() => so_far,
        JobState::Done => format!("{so_far}  fundamental: {}  {}", fundamental(job), job.comparison()),
        JobState::Failed => format!("{so_far}  {}", describe_failure(job)),
        JobState::Damaged => format!("{so_far}  {}", describe_damage(job)),
        JobState::Cancelled => so_far,
        JobState::Queued if job.waits_for.is_some() => {
            format!("{so_far}  waits for {}", job.waits_for.as_deref().unwrap_or_default())
        }
        _ => format!("{so_far}  workers: {n_workers}  left: {}", time_left_and_end(job)),
    }
}

/// Describes the progress of a plan that is being computed.
fn plan(job: &JobStatus) -> String {
    if let Some(share) = job.plan_fraction {
        return format!("{} of the plan is made", percent(share.get()));
    }
    match job.n_plans_before {
        None => "the plan is not made yet".to_owned(),
        Some(1) => "waiting to be planned (1 other plan before it)".to_owned(),
        Some(n_before) => format!("waiting to be planned ({n_before} other plans before it)"),
    }
}

/// Describes the failures of a job, with the reason.
pub(crate) fn describe_failure(job: &JobStatus) -> String {
    let JobStatus { n_failed, n_given_up, failure, .. } = job;
    let spans = if *n_failed == 1 { "span" } else { "spans" };
    let given_up = match n_given_up {
        0 => String::new(),
        _ => format!(", {n_given_up} of them on all that are here to try"),
    };
    let reason = failure.as_deref().map(|reason| format!("; last, {reason}")).unwrap_or_default();
    format!("{n_failed} {spans} failed{given_up}{reason}")
}

/// Begins another line of a field.
const BELOW: &str = "\n              ";

/// Advice for a damaged job.
pub(crate) const REPAIR: &str =
    "restore a backup, or keep the provable records with 'queens-coordinator recover'";

/// Describes the damage of a job.
pub(crate) fn describe_damage(job: &JobStatus) -> String {
    format!("its stored data are inconsistent: {}", job.failure.as_deref().unwrap_or_default())
}

/// Returns the number of fundamental solutions, computed from the count.
fn fundamental(job: &JobStatus) -> String {
    job.fundamental.map_or_else(|| "being computed".to_owned(), |count| count.to_string())
}

/// Describes the progress of recounts.
fn recounted(job: &JobStatus) -> String {
    let later = match job.state {
        JobState::Done => "",
        _ if job.is_provisional() => "",
        _ => ", which begins when all is recorded",
    };
    format!("{} spans confirmed{later}", job.n_verified)
}

/// Describes a job for `queens status`. The first line of a finished one says what it rests on.
pub(crate) fn describe(job: &JobStatus) -> String {
    let progress = &job.progress;
    let found = match job.state {
        JobState::Done => "solutions",
        _ if job.is_provisional() => "provisional",
        _ => "found so far",
    };
    let recount = (job.terms.recount != Share::NOTHING).then(|| {
        let by = job.terms.recount_by.map(|arbiter| format!(" by {arbiter}")).unwrap_or_default();
        format!("{} of the work{by}: {}", job.terms.recount, recounted(job))
    });
    let second = match (job.second, job.terms.second_of) {
        (Some(second), _) => Some(format!("job {second}")),
        (None, first) => first.map(|first| format!("of job {first}")),
    };
    let compared =
        if job.state == JobState::Done { format!("{BELOW}{}", job.comparison()) } else { String::new() };
    let is_whole = job.state == JobState::Done && !job.is_part();
    let share = match progress.n_subproblems {
        0 if job.state == JobState::Damaged => "not known".to_owned(),
        0 if job.state != JobState::Done => plan(job),
        all => format!("{} ({} of {all} subproblems)", percent(job.fraction()), progress.n_recorded),
    };
    let time = |ms: Option<u64>| ms.map(|ms| date(ms / 1000));
    let failed = || format!("{}; 'queens resume {}' has all try again", describe_failure(job), job.id);
    let damaged = || format!("{}{BELOW}{REPAIR}", describe_damage(job));
    let disputed = |disputes| format!("{disputes}{BELOW}'queens verdicts {}' shows the decisions", job.id);
    let fields: [(&str, Option<String>); 23] = [
        ("job", Some(job.id.to_string())),
        ("identity", job.identity.map(|it| it.to_string())),
        ("n", Some(job.n.to_string())),
        ("part", job.part()),
        ("method", Some(job.method.to_string())),
        ("recount", recount),
        ("second pass", second),
        ("state", Some(job.state.name().to_owned())),
        ("waits for", job.waits_for.clone()),
        ("priority", Some(job.priority.to_string())),
        (found, Some(format!("{}{compared}", progress.solutions))),
        ("fundamental", is_whole.then(|| fundamental(job))),
        ("work done", Some(share)),
        ("submitted", time((job.created_ms > 0).then_some(job.created_ms))),
        ("begun", time(job.started_ms)),
        (if job.state == JobState::Cancelled { "given up" } else { "finished" }, time(job.finished_ms)),
        ("counted for", Some(duration(job.active.as_secs_f64()))),
        ("left", Some(time_left_and_end(job))),
        ("workers", Some(job.n_workers.to_string())),
        ("failed", (job.n_failed > 0).then(failed)),
        ("damaged", (job.state == JobState::Damaged).then(damaged)),
        ("disputed", job.disputes().map(disputed)),
        ("in doubt", job.pass_mismatch.as_ref().map(ToString::to_string)),
    ];
    let fields = fields.iter().filter_map(|(name, value)| Some(format!("{name:<13} {}", value.as_ref()?)));
    let proof = job.proof().map(|proof| proof.to_string());
    proof.into_iter().chain(fields).collect::<Vec<_>>().join("\n")
}

/// Returns the remaining time, with the date if it is long; or a full note on remaining checks.
pub(crate) fn time_left_and_end(job: &JobStatus) -> String {
    if let Some(unchecked) = job.unchecked() {
        return unchecked;
    }
    let ends = ends(job).map(|at| format!(" ({at})")).unwrap_or_default();
    job.time_left_text() + &ends
}

/// Returns when a job should be done, if that takes long: "done 2026-11-22 01:00 to 03:00 UTC".
pub(crate) fn ends(job: &JobStatus) -> Option<String> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).ok()?.as_secs();
    let running = !job.state.is_over();
    let left = job.time_left?;
    done_at(now, left.low(), left.high()).filter(|_| running).map(|at| format!("done {at}"))
}

#[cfg(test)]
mod tests {
    use queens_proto::pb;

    use super::*;

    /// Returns a completed job with made-up counts.
    fn done(n: u32, solutions: &str, fundamental: &str) -> JobStatus {
        let zero = || "0".to_owned();
        let job = pb::Job {
            job: 1,
            n,
            state: pb::JobState::Done.into(),
            solutions: solutions.to_owned(),
            fundamental: fundamental.to_owned(),
            work: zero(),
            subproblems: zero(),
            recorded: zero(),
            estimated_work: zero(),
            estimated_work_recorded: zero(),
            method: pb::Method::Search.into(),
            terms: Some(pb::Terms::default()),
            recounting: Some(pb::Recounting { work_left: zero(), ..pb::Recounting::default() }),
            ..pb::Job::default()
        };
        job.try_into().expect("in order")
    }

    #[track_caller]
    fn check(n: u32, (solutions, fundamental): (&str, &str), shown: &str, compared: &str) {
        let job = done(n, solutions, fundamental);
        assert!(describe(&job).contains(&format!("\nfundamental   {shown}\n")), "{}", describe(&job));
        assert!(line(&job).ends_with(&format!("  fundamental: {shown}  {compared}")), "{}", line(&job));
    }

    #[test]
    fn the_fundamental_number_is_the_one_of_this_count() {
        check(28, ("80000", "10007"), "10007", "no count has been published to compare with");
        check(28, ("80000", ""), "being computed", "no count has been published to compare with");
        check(8, ("92", "12"), "12", "agrees with the published count");
        check(8, ("92", ""), "being computed", "agrees with the published count");
        check(8, ("92", "13"), "13", "CONTRADICTS the published count 92 (12 fundamental)");
        check(8, ("100", "13"), "13", "CONTRADICTS the published count 92 (12 fundamental)");
    }
}
