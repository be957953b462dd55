//! The list of jobs: filter, order and page.

use std::cmp::Ordering;

use axum::Json;
use axum::extract::{Query, State};
use queens_model::{JobState, JobStatus};
use serde::{Deserialize, Serialize};

use super::app::{Answer, App, Page, Queried, Words};
use super::refusal::RequestRefusal;
#[cfg(test)]
use super::refusal::described::InvalidRequest;
use super::summaries::{Job, served};

/// The order of a list of jobs.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
enum JobOrder {
    #[default]
    Job,
    Served,
    N,
    Method,
    State,
    Solutions,
    Fraction,
    Speed,
    Left,
    Workers,
    Priority,
}

#[derive(Debug, Default, Deserialize)]
#[cfg_attr(test, derive(utoipa::IntoParams), into_params(parameter_in = Query))]
#[serde(deny_unknown_fields)]
pub(super) struct JobQuery {
    /// Number of jobs to skip.
    #[serde(default)]
    offset: usize,
    /// Number of jobs to return; at most 1000, which is the default.
    limit: Option<usize>,
    /// Words that must all match, at most 100 characters. A number matches the n of a job or the beginning of its
    /// number; n=27 matches only the n; another word matches the beginning of the method.
    search: Option<String>,
    /// Only jobs in this state.
    #[cfg_attr(test, param(schema_with = states))]
    state: Option<String>,
    /// The order; by default the latest job first. `served` lists the open jobs in the order of scheduling, then the
    /// others, the latest first. Other keys list the largest, the failing or the soonest finished first, methods
    /// alphabetically. Ties: the latest first.
    #[serde(default)]
    #[cfg_attr(test, param(inline))]
    sort: JobOrder,
    /// Whether to reverse the order.
    #[serde(default)]
    reverse: bool,
}

/// A page of the matching jobs.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(super) struct Jobs {
    jobs: Vec<Job>,
    /// Number of matching jobs.
    total: usize,
}

/// The list of jobs.
///
/// O(m log m) for m jobs. It reads a snapshot, so it delays no other request.
#[cfg_attr(test, utoipa::path(
    get,
    path = "/api/v1/jobs",
    params(JobQuery),
    responses((status = 200, description = "The answer.", body = Jobs), InvalidRequest),
))]
pub(super) async fn list_jobs(State(app): State<App>, query: Queried<JobQuery>) -> Answer<Jobs> {
    let Query(query) = query?;
    let snapshot = app.handle.snapshot();
    let speed = |job: &JobStatus| app.summary_stream.speeds(job.id).now;
    let meant = meant(&query, &snapshot.jobs, speed)?;
    let total = meant.len();
    let page = Page { offset: query.offset, limit: query.limit };
    let jobs = page.of(meant.into_iter()).map(|job| app.view(job, &snapshot)).collect();
    Ok(Json(Jobs { jobs, total }))
}

/// Returns the matching jobs in order. Calls `speed` only for running jobs.
fn meant<'a>(
    query: &JobQuery,
    jobs: &'a [JobStatus],
    speed: impl Fn(&JobStatus) -> Option<f64>,
) -> Result<Vec<&'a JobStatus>, RequestRefusal> {
    let words = Words::of(query.search.as_deref())?;
    let state = query.state.as_deref().map(state).transpose()?;
    let is_meant =
        |job: &&JobStatus| state.is_none_or(|state| job.state == state) && words.all(|word| fits(job, word));
    // Each key is computed once, not in every comparison.
    let by_speed = matches!(query.sort, JobOrder::Speed);
    let mut meant: Vec<(&JobStatus, f64)> = jobs
        .iter()
        .filter(is_meant)
        .map(|job| {
            let is_asked = by_speed && job.state == JobState::Running;
            (job, if is_asked { speed(job).unwrap_or(0.0) } else { -1.0 })
        })
        .collect();
    meant.sort_by(|(a, fast_a), (b, fast_b)| {
        let first = match query.sort {
            JobOrder::Speed => fast_b.total_cmp(fast_a),
            sort => compare(sort, a, b),
        };
        first.then(b.id.cmp(&a.id))
    });
    if query.reverse {
        meant.reverse();
    }
    Ok(meant.into_iter().map(|(job, _)| job).collect())
}

fn state(name: &str) -> Result<JobState, RequestRefusal> {
    let known = JobState::ALL.into_iter().find(|state| state.name() == name);
    known.ok_or_else(|| {
        let names = JobState::ALL.map(JobState::name).join(", ");
        RequestRefusal::bad_request(format!("there is no state '{name}' of jobs: they are {names}"))
    })
}

fn fits(job: &JobStatus, word: &str) -> bool {
    if let Some(n) = word.strip_prefix("n=") {
        return job.n.to_string() == n;
    }
    match word.bytes().all(|byte| byte.is_ascii_digit()) {
        true => job.id.to_string().starts_with(word) || job.n.to_string() == word,
        false => job.method.name().starts_with(word),
    }
}

fn compare(order: JobOrder, a: &JobStatus, b: &JobStatus) -> Ordering {
    let solutions = |job: &JobStatus| job.progress.solutions;
    // Unknown times sort as the longest.
    let left = |job: &JobStatus| job.time_left.map_or(f64::INFINITY, |left| left.expected());
    match order {
        JobOrder::Job | JobOrder::Speed => Ordering::Equal,
        JobOrder::Served => served(a).cmp(&served(b)),
        JobOrder::N => b.n.cmp(&a.n),
        JobOrder::Method => a.method.name().cmp(b.method.name()),
        JobOrder::State => standing(a.state).cmp(&standing(b.state)),
        JobOrder::Solutions => solutions(b).cmp(&solutions(a)),
        JobOrder::Fraction => b.fraction().total_cmp(&a.fraction()),
        JobOrder::Left => left(a).total_cmp(&left(b)),
        JobOrder::Workers => b.n_workers.cmp(&a.n_workers),
        JobOrder::Priority => b.priority.cmp(&a.priority),
    }
}

/// Ranks states: failures first, then open jobs, then finished ones.
const fn standing(state: JobState) -> u8 {
    match state {
        JobState::Damaged => 0,
        JobState::Disputed => 1,
        JobState::Failed => 2,
        JobState::Running => 3,
        JobState::Verifying => 4,
        JobState::Planning => 5,
        JobState::Queued => 6,
        JobState::Paused => 7,
        JobState::Done => 8,
        JobState::Cancelled => 9,
    }
}

#[cfg(test)]
fn states() -> utoipa::openapi::schema::Object {
    use utoipa::openapi::schema::{ObjectBuilder, Type};
    ObjectBuilder::new()
        .schema_type(Type::String)
        .enum_values(Some(JobState::ALL.map(JobState::name)))
        .build()
}

#[cfg(test)]
mod tests {

    use queens_model::{JobId, Priority};
    use queens_solver::{BoardSize, Method};

    use super::*;

    fn job(id: u64, n: u32, method: Method, state: JobState) -> JobStatus {
        JobStatus::new(JobId(id), BoardSize::try_from(n).expect("a board size"), method, state)
    }

    fn some() -> Vec<JobStatus> {
        let mut jobs = vec![
            job(1, 12, Method::Search, JobState::Done),
            job(2, 27, Method::Halves, JobState::Running),
            job(3, 14, Method::Search, JobState::Failed),
            job(12, 27, Method::Search, JobState::Running),
            job(27, 8, Method::Search, JobState::Cancelled),
        ];
        jobs[3].priority = Priority::try_from(5).expect("a priority");
        jobs
    }

    #[track_caller]
    fn check(query: &str, expected: &[u64]) {
        let query = Query::try_from_uri(&format!("/?{query}").parse().expect("a path")).expect("a query");
        let Query(query): Query<JobQuery> = query;
        let jobs = some();
        let speed = |job: &JobStatus| Some(job.id.0 as f64);
        let meant = meant(&query, &jobs, speed).expect("it makes sense");
        assert_eq!(meant.iter().map(|job| job.id.0).collect::<Vec<_>>(), expected, "{query:?}");
    }

    #[test]
    fn jobs_are_found_and_sorted() {
        check("", &[27, 12, 3, 2, 1]);
        check("reverse=true", &[1, 2, 3, 12, 27]);
        check("search=27", &[27, 12, 2]);
        check("search=n%3D27", &[12, 2]);
        check("search=1", &[12, 1]);
        check("search=27+hal", &[2]);
        check("search=N%3D27+SEARCH", &[12]);
        check("search=nothing", &[]);
        check("state=running", &[12, 2]);
        check("state=running&search=halves", &[2]);
        check("sort=served", &[12, 2, 27, 3, 1]);
        check("sort=n", &[12, 2, 3, 1, 27]);
        check("sort=method&state=running", &[2, 12]);
        check("sort=state", &[3, 12, 2, 1, 27]);
        check("sort=speed", &[12, 2, 27, 3, 1]);
        check("sort=speed&reverse=true&state=running", &[2, 12]);
        check("sort=priority", &[12, 27, 3, 2, 1]);
    }
}
