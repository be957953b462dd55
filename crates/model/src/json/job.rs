//! Jobs as JSON.

use crate::{Fraction, JobState, JobStatus, TimeLeft};
use serde::Serialize;

/// The status of a job. Numbers that may exceed 2^53 are strings of digits.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = JobStatus))]
pub struct Job {
    /// The job's number, from 1 in the order of submission.
    job: String,
    /// The job's identity across coordinators and in certificates, 32 hexadecimal digits; null if its coordinator does
    /// not send it.
    identity: Option<String>,
    /// The size of the board.
    n: u8,
    /// The method that counts it.
    #[cfg_attr(feature = "schema", schema(schema_with = method))]
    method: &'static str,
    /// The job's state.
    #[cfg_attr(feature = "schema", schema(schema_with = state))]
    state: &'static str,
    /// The state in words, with the progress of the plan and the number of failures.
    state_text: String,
    /// What the job waits for, in words: a worker, another name or a second invitation; null if it does not wait.
    waits_for: Option<String>,
    /// The priority; jobs of higher priority are counted first.
    #[cfg_attr(feature = "schema", schema(minimum = -1000, maximum = 1000))]
    priority: i32,
    /// Solutions counted so far; when the job is done, the number of solutions.
    solutions: String,
    /// Work done so far: nodes for the search, units of pairs for halves. The two can't be compared.
    work: String,
    /// The recorded share of the estimated work, 0 to 1.
    fraction: f64,
    /// Number of subproblems; 0 until the job has a plan.
    subproblems: String,
    /// Number of recorded subproblems.
    recorded: String,
    /// The time for which the job has been counted.
    seconds: f64,
    /// The estimated remaining time in seconds; null if unknown.
    seconds_left: Option<f64>,
    /// The lower end of the 95 % interval of seconds_left; null if that is.
    seconds_left_low: Option<f64>,
    /// The upper end of the same interval.
    seconds_left_high: Option<f64>,
    /// The remaining time in words, such as "20 to 30 min", or what is left to verify.
    left: String,
    /// Workers that hold leases of the job.
    workers: u32,
    /// Recorded spans that a second count has confirmed.
    verified: u64,
    /// Recorded spans that a second count has contradicted.
    disputed: u64,
    /// Records to recount, drawn or in doubt, on which no two parties agree yet.
    to_recount: u64,
    /// The expected remaining work of the recounts.
    work_to_recount: String,
    /// Records with different counts.
    cases: u64,
    /// How many spans had differing counts, and how many of those are decided, in words; null if none had.
    disputes: Option<String>,
    /// The verification that is left, in words; null unless all is counted and not all of it is checked.
    unchecked: Option<String>,
    /// What the finished count rests on, in one sentence; null until the job is done.
    proof: Option<String>,
    /// Spans that workers failed to count and that still must be counted.
    failed: u64,
    /// Failed spans that no connected worker may still try. They failed on three parties and on each other connected
    /// party, or on three workers of the only one.
    given_up: u64,
    /// The reason that the last failing worker gave.
    failure: Option<String>,
    /// Why nothing can be recorded now. It is the same for all jobs of a coordinator.
    store_error: Option<String>,
    /// Number of plans that are made before this job's; null if its plan is made or being made.
    plans_before: Option<u32>,
    /// The finished share of the plan, 0 to 1; null unless the plan is being made.
    plan_fraction: Option<f64>,
    /// Solutions up to rotation and reflection, computed from the count. Available soon after the job is done.
    fundamental: Option<String>,
    /// The published number of solutions, once the job is done.
    published: Option<String>,
    /// The comparison with the published count, in words; null until the job is done.
    comparison: Option<String>,
    /// Whether the count is the published one.
    agrees: Option<bool>,
    /// Time of submission, in milliseconds since 1970.
    created_ms: u64,
    /// Time of the first count, in milliseconds since 1970; null if it has not begun, or is not known.
    started_ms: Option<u64>,
    /// Time of completion or cancellation, in milliseconds since 1970; null if the job is open, or it is not known.
    finished_ms: Option<u64>,
    /// Whether the solutions may still change: all is counted, but not all is checked yet.
    provisional: bool,
    /// Number of parts of the whole plan; 0 until the job has a plan.
    parts: u64,
    /// The only parts of the plan that are counted, such as 3..7, whose last is 6; null if all are.
    part_range: Option<String>,
    /// The share of the work that is recounted, 0 to 1.
    recount: f64,
    /// The only party that recounts, such as "invitation 3"; null if any may except the one that counted.
    recount_by: Option<String>,
    /// The job whose second pass this is; null if it is none.
    second_of: Option<String>,
    /// The second pass of this job; null if it has none.
    second: Option<String>,
    /// The difference of the two passes, in words; null if they agree, or are not both complete.
    pass_mismatch: Option<String>,
    /// The random seed that selects the records to recount, 32 hexadecimal digits; null until the job is done.
    seed: Option<String>,
    /// Time of the first export, in milliseconds since 1970; null if it was not exported.
    exported_ms: Option<u64>,
}

impl Job {
    /// Converts a job. `store_error` is the reason why its coordinator can't record anything now, if there is one.
    #[must_use]
    pub fn of(job: &JobStatus, store_error: Option<&str>) -> Self {
        let published = job.published();
        Self {
            job: job.id.to_string(),
            identity: job.identity.map(|identity| identity.to_string()),
            n: job.n.get(),
            method: job.method.name(),
            state: job.state.name(),
            state_text: job.state_text(),
            waits_for: job.waits_for.clone(),
            priority: job.priority.get(),
            solutions: job.progress.solutions.to_string(),
            work: job.progress.work.to_string(),
            fraction: job.fraction(),
            subproblems: job.progress.n_subproblems.to_string(),
            recorded: job.progress.n_recorded.to_string(),
            seconds: job.active.as_secs_f64(),
            seconds_left: job.time_left.map(TimeLeft::expected),
            seconds_left_low: job.time_left.map(TimeLeft::low),
            seconds_left_high: job.time_left.map(TimeLeft::high),
            left: job.unchecked().unwrap_or_else(|| job.time_left_text()),
            workers: job.n_workers,
            verified: job.n_verified,
            disputed: job.n_disputed,
            to_recount: job.recounting.n_open,
            work_to_recount: job.recounting.work_left.to_string(),
            cases: job.recounting.n_cases,
            disputes: job.disputes(),
            unchecked: job.unchecked(),
            proof: job.proof().map(|proof| proof.to_string()),
            failed: job.n_failed,
            given_up: job.n_given_up,
            failure: job.failure.clone(),
            store_error: store_error.map(str::to_owned),
            plans_before: job.n_plans_before,
            plan_fraction: job.plan_fraction.map(Fraction::get),
            fundamental: job.fundamental.map(|count| count.to_string()),
            published: published.map(|counts| counts.solutions.to_string()),
            comparison: (job.state == JobState::Done).then(|| job.comparison()),
            agrees: job.agrees(),
            created_ms: job.created_ms,
            started_ms: job.started_ms,
            finished_ms: job.finished_ms,
            provisional: job.is_provisional(),
            parts: job.n_parts,
            part_range: job.terms.part_range.map(|part_range| part_range.to_string()),
            recount: job.terms.recount.fraction(),
            recount_by: job.terms.recount_by.map(|arbiter| arbiter.to_string()),
            second_of: job.terms.second_of.map(|job| job.to_string()),
            second: job.second.map(|job| job.to_string()),
            pass_mismatch: job.pass_mismatch.clone(),
            seed: (job.state == JobState::Done).then(|| format!("{:032x}", job.terms.seed)),
            exported_ms: job.terms.exported_ms,
        }
    }
}

#[cfg(feature = "schema")]
fn method() -> utoipa::openapi::Object {
    crate::json::schema::one_of(
        "How it is counted.",
        queens_solver::Method::ALL.map(queens_solver::Method::name),
    )
}

#[cfg(feature = "schema")]
fn state() -> utoipa::openapi::Object {
    let states = JobState::ALL.map(|state| state.name());
    crate::json::schema::one_of("Where it stands.", states)
}

#[cfg(test)]
mod tests {
    use crate::JobId;
    use queens_solver::{BoardSize, Method};

    use super::*;

    #[test]
    fn scripts_find_what_they_rely_on() {
        let n = BoardSize::new(8).expect("a board size");
        let mut job = JobStatus::new(JobId(3), n, Method::Search, JobState::Done);
        job.progress.solutions = 92;
        job.fundamental = Some(12);
        let json = serde_json::to_string(&Job::of(&job, Some("the disk is full"))).expect("JSON");
        assert_eq!(
            json,
            concat!(
                r#"{"job":"3","identity":null,"n":8,"method":"search","state":"done","state_text":"done","waits_for":null,"priority":0,"#,
                r#""solutions":"92","work":"0","fraction":1.0,"subproblems":"0","recorded":"0","seconds":0.0,"seconds_left":null,"#,
                r#""seconds_left_low":null,"seconds_left_high":null,"left":"-","workers":0,"verified":0,"disputed":0,"#,
                r#""to_recount":0,"work_to_recount":"0","cases":0,"disputes":null,"unchecked":null,"#,
                r#""proof":"Q(8) = 92 solutions, 12 of them fundamental; agrees with the published count; "#,
                r#"no record recounted by another party: a false one could have passed","#,
                r#""failed":0,"given_up":0,"failure":null,"store_error":"the disk is full","#,
                r#""plans_before":null,"plan_fraction":null,"fundamental":"12","published":"92","#,
                r#""comparison":"agrees with the published count","agrees":true,"created_ms":0,"started_ms":null,"finished_ms":null,"provisional":false,"parts":0,"#,
                r#""part_range":null,"recount":0.0,"recount_by":null,"second_of":null,"second":null,"pass_mismatch":null,"#,
                r#""seed":"00000000000000000000000000000000","exported_ms":null}"#,
            )
        );
    }
}
