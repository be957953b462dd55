//! Handlers that list the parts of a job with their progress.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use queens_event_loop::Details;
use queens_ledger::PartStatus;
use queens_model::JobStatus;
use queens_solver::{Plan, PlannedPart, Square, Symmetry};
use serde::{Deserialize, Serialize};

use super::app::{Answer, App, Page, Queried, job_id};
use super::part_positions::{Map, halves};
#[cfg(test)]
use super::refusal::described::{InvalidRequest, NoDetails, NoSuchJob};
use super::refusal::{RequestRefusal, find};

/// A job with its plan and its recorded progress.
pub(super) struct PlannedJob {
    pub(super) job: JobStatus,
    pub(super) details: Arc<Details>,
}

/// Returns the parts that the job counts, with their numbers and their progress.
pub(super) fn counted_parts<'a>(
    job: &JobStatus,
    plan: &'a Plan,
    parts: &'a [PartStatus],
) -> impl Iterator<Item = (u32, &'a PlannedPart, &'a PartStatus)> {
    let range = job.terms.part_range;
    let all = (0..).zip(plan.parts()).zip(parts).map(|((number, planned), status)| (number, planned, status));
    all.filter(move |(number, ..)| range.is_none_or(|range| range.contains(*number)))
}

pub(super) async fn planned_job(app: &App, id: &str) -> Result<PlannedJob, RequestRefusal> {
    let id = job_id(id)?;
    let job = find(&app.handle.snapshot(), id)?.clone();
    let details = app.handle.details(id).await.ok_or_else(|| no_details(&job))?;
    Ok(PlannedJob { job, details })
}

fn no_details(job: &JobStatus) -> RequestRefusal {
    let id = job.id;
    match job.progress.n_subproblems {
        0 => RequestRefusal::new(
            StatusCode::CONFLICT,
            format!("job {id} has no plan, or a plan without subproblems"),
        ),
        _ => RequestRefusal::unavailable("the coordinator is busy with something else"),
    }
}

#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(utoipa::IntoParams), into_params(parameter_in = Query))]
#[serde(deny_unknown_fields)]
pub(super) struct PartQuery {
    /// The row of a cell of the map. For crosses, the column of the queen on the first central row.
    first: Option<u8>,
    /// The column of a cell of the map. For crosses, the column of the queen on the second central row.
    second: Option<u8>,
    /// Number of parts to skip.
    #[serde(default)]
    offset: usize,
    /// Number of parts to return; at most 1000, which is the default.
    limit: Option<usize>,
}

/// A page of a job's parts, by either method.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(super) struct PartList {
    parts: Vec<PartJson>,
    /// Number of matching parts.
    total: usize,
}

/// A part, by either method, and its recorded progress.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema), schema(as = Part))]
pub(super) struct PartJson {
    /// The part's number.
    part: u32,
    /// The queens, top to bottom. For halves, only that of the middle row, if there is one.
    queens: Vec<SquareView>,
    /// For halves: the columns of the upper half that the part determines. Null for the search.
    #[cfg_attr(test, schema(required))]
    upper: Option<Vec<u8>>,
    /// The same for the lower half.
    #[cfg_attr(test, schema(required))]
    lower: Option<Vec<u8>>,
    /// Number of crosses that it represents; for halves, of solutions that each counted solution represents.
    weight: u8,
    /// The recorded share of the subproblems, 0 to 1.
    fraction: f64,
    /// Number of subproblems.
    subproblems: u64,
    /// Number of recorded subproblems.
    recorded: u64,
    /// The estimated work: nodes for the search, units of pairs for halves.
    estimated_work: String,
    /// The recorded solutions, before the weight.
    solutions: String,
    /// The recorded work, in the same unit.
    work: String,
}

/// A square, counted from 0 at the top left.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema), schema(as = Square))]
pub(super) struct SquareView {
    /// 0 is the top row.
    row: u8,
    /// 0 is the left column.
    column: u8,
}

pub(super) fn squares(squares: &[Square]) -> Vec<SquareView> {
    squares.iter().map(|&Square { row, column }| SquareView { row, column }).collect()
}

pub(super) fn share(status: &PartStatus, planned: &PlannedPart) -> f64 {
    match planned.choice().n_subproblems {
        0 => 1.0,
        all => status.n_recorded as f64 / all as f64,
    }
}

/// Returns the columns of a set whose bit `c` stands for column `c`.
pub(super) fn columns(set: u32) -> Vec<u8> {
    (0..32).filter(|column| set >> column & 1 == 1).collect()
}

impl PartJson {
    pub(super) fn of(part: u32, planned: &PlannedPart, status: &PartStatus) -> Self {
        Self {
            part,
            queens: squares(&planned.part().queens(Symmetry::IDENTITY)),
            upper: halves(planned.part()).map(|halves| columns(halves.upper_columns())),
            lower: halves(planned.part()).map(|halves| columns(halves.lower_columns())),
            weight: planned.weight(),
            fraction: share(status, planned),
            subproblems: planned.choice().n_subproblems,
            recorded: status.n_recorded,
            estimated_work: planned.choice().work.to_string(),
            solutions: status.solutions.to_string(),
            work: status.work.to_string(),
        }
    }
}

/// The parts of a job, or of one cell of its map.
#[cfg_attr(test, utoipa::path(
    get,
    path = "/api/v1/jobs/{job}/parts",
    params(("job" = String, Path, description = "The job's number."), PartQuery),
    responses((status = 200, description = "The answer.", body = PartList), InvalidRequest, NoSuchJob, NoDetails),
))]
pub(super) async fn list_parts(
    State(app): State<App>,
    Path(id): Path<String>,
    query: Queried<PartQuery>,
) -> Answer<PartList> {
    let Query(PartQuery { first, second, offset, limit }) = query?;
    let PlannedJob { job, details } = planned_job(&app, &id).await?;
    let map = Map::of(&details.plan);
    let is_meant = |number: u32| {
        let place = map.place(number);
        first.is_none_or(|first| place.is_some_and(|place| place.first == first))
            && second.is_none_or(|second| place.is_some_and(|place| place.second == second))
    };
    let all = counted_parts(&job, &details.plan, &details.parts);
    let meant: Vec<_> = all.filter(|(number, ..)| is_meant(*number)).collect();
    let total = meant.len();
    let page = Page { offset, limit }.of(meant.into_iter());
    let parts = page.map(|(number, planned, status)| PartJson::of(number, planned, status)).collect();
    Ok(Json(PartList { parts, total }))
}
