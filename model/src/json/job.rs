//! Jobs.

use crate::{Fraction, JobState, JobStatus, TimeLeft, bound};
use serde::Serialize;

/// A job as it stands. Numbers that may pass 2^53 are strings of digits.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = JobStatus))]
pub struct Job {
    /// Its number, from 1 in the order of submission.
    job: String,
    /// What it is known by where its number may be another job's: 32 hexadecimal digits, which certificates name, too; null if
    /// its coordinator does not tell.
    #[cfg_attr(feature = "schema", schema(required))]
    identity: Option<String>,
    /// The size of its board.
    n: u8,
    /// How it is counted.
    #[cfg_attr(feature = "schema", schema(schema_with = method))]
    method: &'static str,
    /// Where it stands.
    #[cfg_attr(feature = "schema", schema(schema_with = state))]
    state: &'static str,
    /// What it waits for, in words: a worker, another name or a second invitation; null if it waits for nothing.
    #[cfg_attr(feature = "schema", schema(required))]
    waits_for: Option<String>,
    /// How urgent it is; higher ones are counted first.
    #[cfg_attr(feature = "schema", schema(minimum = -1000, maximum = 1000))]
    priority: i32,
    /// What is counted so far; when it is done, the number of solutions.
    solutions: String,
    /// Its work so far: by search nodes, by halves units of pairs. The two can't be compared.
    nodes: String,
    /// The recorded share of the estimated work, 0 to 1.
    fraction: f64,
    /// Its subproblems; 0 until its plan is made.
    subproblems: String,
    /// Those that are recorded.
    recorded: String,
    /// For how long it has been counted.
    seconds: f64,
    /// How many seconds it should still take; null if nobody knows.
    #[cfg_attr(feature = "schema", schema(required))]
    seconds_left: Option<f64>,
    /// It should turn out to be no less, 19 times out of 20; null if seconds_left is.
    #[cfg_attr(feature = "schema", schema(required))]
    seconds_left_low: Option<f64>,
    /// It should turn out to be no more.
    #[cfg_attr(feature = "schema", schema(required))]
    seconds_left_high: Option<f64>,
    /// Workers that hold leases of it.
    workers: u32,
    /// Recorded spans that a second count has confirmed.
    verified: u64,
    /// Recorded spans that a second count has contradicted.
    disputed: u64,
    /// Records that were drawn to be counted again, or are doubted, and on which no two parties agree yet.
    to_recount: u64,
    /// The work that is expected to be left of what is counted again.
    work_to_recount: String,
    /// Records of which there are different counts.
    cases: u64,
    /// Of how many spans counts have differed, and how many of those are decided, in words; null if none have.
    #[cfg_attr(feature = "schema", schema(required))]
    disputes: Option<String>,
    /// What is left to be checked, in words; null unless all is counted and not all of it is checked.
    #[cfg_attr(feature = "schema", schema(required))]
    unchecked: Option<String>,
    /// What it is worth that a share of it is counted again, in words; null if nothing is.
    #[cfg_attr(feature = "schema", schema(required))]
    bound: Option<String>,
    /// Spans that workers failed to count and that are still to be counted.
    failed: u64,
    /// Those of them that nobody who is connected may still try: they failed on three parties and on each other that is
    /// there, or on three workers of the only one.
    given_up: u64,
    /// What the worker that failed last had to say.
    #[cfg_attr(feature = "schema", schema(required))]
    failure: Option<String>,
    /// Why nothing is recorded at present: the same for all jobs of a coordinator.
    #[cfg_attr(feature = "schema", schema(required))]
    store_error: Option<String>,
    /// How many other plans are made before this job's; null if that is made, or being made.
    #[cfg_attr(feature = "schema", schema(required))]
    plans_before: Option<u32>,
    /// The share of its plan that is made, 0 to 1; null unless that is being made.
    #[cfg_attr(feature = "schema", schema(required))]
    plan_fraction: Option<f64>,
    /// Its solutions up to rotation and reflection, as computed from what was counted: there soon after it is done.
    #[cfg_attr(feature = "schema", schema(required))]
    fundamental: Option<String>,
    /// The published number of solutions, once it is done.
    #[cfg_attr(feature = "schema", schema(required))]
    published: Option<String>,
    /// Whether its count is the published one.
    #[cfg_attr(feature = "schema", schema(required))]
    agrees: Option<bool>,
    /// When it was submitted, in milliseconds since 1970.
    created_ms: u64,
    /// When it was first counted; null if it has not been, or nobody has kept it.
    #[cfg_attr(feature = "schema", schema(required))]
    started_ms: Option<u64>,
    /// When it was done or given up; null if it is not, or nobody has kept it.
    #[cfg_attr(feature = "schema", schema(required))]
    finished_ms: Option<u64>,
    /// Whether its solutions may still change: all is counted, but not yet checked as it is to be.
    provisional: bool,
    /// The parts of its whole plan; 0 until that is made.
    parts: u64,
    /// The only parts of the plan that are counted, such as 3..7, the last of them 6; null if all are.
    #[cfg_attr(feature = "schema", schema(required))]
    crosses: Option<String>,
    /// The share of its work that is counted again, 0 to 1.
    recount: f64,
    /// Who alone counts it again, such as "invitation 3"; null if any other party than has counted it may.
    #[cfg_attr(feature = "schema", schema(required))]
    recount_by: Option<String>,
    /// The job of which this is the second pass; null if it is none.
    #[cfg_attr(feature = "schema", schema(required))]
    second_of: Option<String>,
    /// The job that is its second pass; null if it has none.
    #[cfg_attr(feature = "schema", schema(required))]
    second: Option<String>,
    /// In what its two passes differ, in words; null if they do not, or are not both complete.
    #[cfg_attr(feature = "schema", schema(required))]
    doubt: Option<String>,
    /// What decides which records are counted again, 32 hexadecimal digits; null until it is done.
    #[cfg_attr(feature = "schema", schema(required))]
    seed: Option<String>,
    /// When it was first exported, in milliseconds since 1970; null if it has not been.
    #[cfg_attr(feature = "schema", schema(required))]
    exported_ms: Option<u64>,
}

impl Job {
    /// A job of a coordinator that can record nothing at present for this reason, if there is one.
    #[must_use]
    pub fn of(job: &JobStatus, store_error: Option<&str>) -> Self {
        let published = job.published();
        Self {
            job: job.id.to_string(),
            identity: job.identity.map(|identity| identity.to_string()),
            n: job.n.get(),
            method: job.method.name(),
            state: job.state.name(),
            waits_for: job.waits_for.clone(),
            priority: job.priority.get(),
            solutions: job.progress.solutions.to_string(),
            nodes: job.progress.nodes.to_string(),
            fraction: job.fraction(),
            subproblems: job.progress.n_subproblems.to_string(),
            recorded: job.progress.n_recorded.to_string(),
            seconds: job.active.as_secs_f64(),
            seconds_left: job.time_left.map(TimeLeft::expected),
            seconds_left_low: job.time_left.map(TimeLeft::low),
            seconds_left_high: job.time_left.map(TimeLeft::high),
            workers: job.n_workers,
            verified: job.n_verified,
            disputed: job.n_disputed,
            to_recount: job.recounting.n_open,
            work_to_recount: job.recounting.work_left.to_string(),
            cases: job.recounting.n_cases,
            disputes: job.disputes(),
            unchecked: job.unchecked(),
            bound: bound(job.terms.recount, job.recounting.n_records),
            failed: job.n_failed,
            given_up: job.n_given_up,
            failure: job.failure.clone(),
            store_error: store_error.map(str::to_owned),
            plans_before: job.n_plans_before,
            plan_fraction: job.plan_fraction.map(Fraction::get),
            fundamental: job.fundamental.map(|count| count.to_string()),
            published: published.map(|counts| counts.solutions.to_string()),
            agrees: job.agrees(),
            created_ms: job.created_ms,
            started_ms: job.started_ms,
            finished_ms: job.finished_ms,
            provisional: job.is_provisional(),
            parts: job.n_parts,
            crosses: job.terms.crosses.map(|crosses| crosses.to_string()),
            recount: job.terms.recount.fraction(),
            recount_by: job.terms.recount_by.map(|arbiter| arbiter.to_string()),
            second_of: job.terms.second_of.map(|job| job.to_string()),
            second: job.second.map(|job| job.to_string()),
            doubt: job.doubt.clone(),
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
                r#"{"job":"3","identity":null,"n":8,"method":"search","state":"done","waits_for":null,"priority":0,"#,
                r#""solutions":"92","nodes":"0","fraction":1.0,"subproblems":"0","recorded":"0","seconds":0.0,"seconds_left":null,"#,
                r#""seconds_left_low":null,"seconds_left_high":null,"workers":0,"verified":0,"disputed":0,"#,
                r#""to_recount":0,"work_to_recount":"0","cases":0,"disputes":null,"unchecked":null,"bound":null,"#,
                r#""failed":0,"given_up":0,"failure":null,"store_error":"the disk is full","#,
                r#""plans_before":null,"plan_fraction":null,"fundamental":"12","published":"92","#,
                r#""agrees":true,"created_ms":0,"started_ms":null,"finished_ms":null,"provisional":false,"parts":0,"#,
                r#""crosses":null,"recount":0.0,"recount_by":null,"second_of":null,"second":null,"doubt":null,"#,
                r#""seed":"00000000000000000000000000000000","exported_ms":null}"#,
            )
        );
    }
}
