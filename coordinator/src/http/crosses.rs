//! The crosses of a job: which are counted.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use queens_ledger::CrossStatus;
use queens_messages::{JobState, JobStatus};
use queens_solver::{BoardSize, PlannedPart, Square, Symmetry, cross_lines};
use serde::{Deserialize, Serialize};

use super::answer::{Answer, Page, Queried};
use super::app::{App, find, job_id};
use super::refusal::RequestRefusal;
#[cfg(test)]
use super::refusal::described::{NoDetails, NoSuchJob, Senseless};
use crate::snapshot::Details;

/// A job with its plan and what is recorded of it.
pub(super) struct PlannedJob {
    pub(super) job: JobStatus,
    pub(super) details: Arc<Details>,
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

/// All crosses of which the queens on the two central rows stand in the same columns.
#[derive(Debug, Default, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
struct Cell {
    /// The column on the first of the two rows.
    first: u8,
    /// The column on the second.
    second: u8,
    /// How many.
    crosses: u32,
    /// Their subproblems.
    subproblems: String,
    /// Those that are recorded.
    recorded: String,
    /// The recorded share of their estimated work, 0 to 1.
    fraction: f64,
    #[serde(skip)]
    sums: Sums,
}

#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    n_subproblems: u128,
    n_recorded: u128,
    work: f64,
    work_recorded: f64,
}

/// The map of a job's crosses.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(super) struct Cells {
    /// The job.
    job: String,
    /// The size of its board.
    n: u8,
    /// The two central rows, which are the central columns too; null if the board is too small.
    #[cfg_attr(test, schema(required))]
    lines: Option<[u8; 2]>,
    cells: Vec<Cell>,
}

/// How far the crosses are, by the columns of their queens on the two central rows.
#[cfg_attr(test, utoipa::path(
    get,
    path = "/api/v1/jobs/{job}/cells",
    params(("job" = String, Path, description = "The job's number.")),
    responses((status = 200, description = "The answer.", body = Cells), NoSuchJob, NoDetails),
))]
pub(super) async fn cells(State(app): State<App>, Path(id): Path<String>) -> Answer<Cells> {
    let job = find(&app.handle.snapshot(), job_id(&id)?)?.clone();
    if job.state == JobState::Done && job.progress.n_subproblems == 0 {
        // So small a board is counted without a plan.
        return Ok(Json(Cells { job: job.id.to_string(), n: job.n.get(), lines: None, cells: Vec::new() }));
    }
    let PlannedJob { job, details } = planned_job(&app, &id).await?;
    let (n, lines) = (job.n, cross_lines(job.n));
    let side = usize::from(n.get());
    let mut cells: Vec<Cell> = std::iter::repeat_with(Cell::default).take(side * side).collect();
    for (planned, status) in details.plan.parts().iter().zip(&details.crosses) {
        let Some((first, second)) = central(n, planned) else { continue };
        let cell = &mut cells[usize::from(first) * side + usize::from(second)];
        (cell.first, cell.second) = (first, second);
        cell.crosses += 1;
        let (all, work) = (planned.choice().n_subproblems, planned.choice().work as f64);
        cell.sums.n_subproblems += u128::from(all);
        cell.sums.n_recorded += u128::from(status.n_recorded);
        cell.sums.work += work;
        cell.sums.work_recorded += work * share(status, planned);
    }
    cells.retain(|cell| cell.crosses > 0);
    for cell in &mut cells {
        let Sums { n_subproblems, n_recorded, work, work_recorded } = cell.sums;
        cell.subproblems = n_subproblems.to_string();
        cell.recorded = n_recorded.to_string();
        cell.fraction = match (n_recorded == n_subproblems, work > 0.0) {
            (true, _) => 1.0,
            (false, true) => work_recorded / work,
            (false, false) => 0.0,
        };
    }
    Ok(Json(Cells { job: job.id.to_string(), n: n.get(), lines, cells }))
}

/// The recorded share of a cross.
fn share(status: &CrossStatus, planned: &PlannedPart) -> f64 {
    match planned.choice().n_subproblems {
        0 => 1.0,
        all => status.n_recorded as f64 / all as f64,
    }
}

/// The columns of the queens on the two central rows.
fn central(n: BoardSize, planned: &PlannedPart) -> Option<(u8, u8)> {
    let [first, second] = cross_lines(n)?;
    let column = |row| {
        planned
            .part()
            .queens(Symmetry::IDENTITY)
            .iter()
            .find(|queen| queen.row == row)
            .map(|queen| queen.column)
    };
    Some((column(first)?, column(second)?))
}

#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(utoipa::IntoParams), into_params(parameter_in = Query))]
#[serde(deny_unknown_fields)]
pub(super) struct CrossQuery {
    /// The column of the queen on the first central row.
    first: Option<u8>,
    /// The column of the queen on the second central row.
    second: Option<u8>,
    /// How many to leave out at the beginning.
    #[serde(default)]
    offset: usize,
    /// How many to list; at most 1000, which is also what is listed if it is not given.
    limit: Option<usize>,
}

/// A part of a job's crosses.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(super) struct Crosses {
    crosses: Vec<CrossView>,
    /// How many there are.
    total: usize,
}

/// A cross and what is recorded of it.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema), schema(as = Cross))]
pub(super) struct CrossView {
    /// Its number.
    cross: u32,
    /// Its queens, top to bottom.
    queens: Vec<SquareView>,
    /// How many crosses it stands for.
    weight: u8,
    /// The recorded share of its subproblems, 0 to 1.
    fraction: f64,
    /// Its subproblems.
    subproblems: u64,
    /// Those that are recorded.
    recorded: u64,
    /// Its estimated work in nodes.
    work: String,
    /// The solutions recorded, not yet weighted.
    solutions: String,
    /// The nodes recorded.
    nodes: String,
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

impl CrossView {
    pub(super) fn of(cross: u32, planned: &PlannedPart, status: &CrossStatus) -> Self {
        Self {
            cross,
            queens: squares(&planned.part().queens(Symmetry::IDENTITY)),
            weight: planned.weight(),
            fraction: share(status, planned),
            subproblems: planned.choice().n_subproblems,
            recorded: status.n_recorded,
            work: planned.choice().work.to_string(),
            solutions: status.solutions.to_string(),
            nodes: status.nodes.to_string(),
        }
    }
}

/// The crosses of a job, or of a cell of its map.
#[cfg_attr(test, utoipa::path(
    get,
    path = "/api/v1/jobs/{job}/crosses",
    params(("job" = String, Path, description = "The job's number."), CrossQuery),
    responses((status = 200, description = "The answer.", body = Crosses), Senseless, NoSuchJob, NoDetails),
))]
pub(super) async fn list_crosses(
    State(app): State<App>,
    Path(id): Path<String>,
    query: Queried<CrossQuery>,
) -> Answer<Crosses> {
    let Query(CrossQuery { first, second, offset, limit }) = query?;
    let PlannedJob { job, details } = planned_job(&app, &id).await?;
    let is_meant = |planned: &PlannedPart| {
        let central = central(job.n, planned);
        first.is_none_or(|first| central.is_some_and(|(column, _)| column == first))
            && second.is_none_or(|second| central.is_some_and(|(_, column)| column == second))
    };
    let all = (0..).zip(details.plan.parts()).zip(&details.crosses);
    let meant: Vec<_> = all.filter(|((_, planned), _)| is_meant(planned)).collect();
    let total = meant.len();
    let page = Page { offset, limit }.of(meant.into_iter());
    let crosses = page.map(|((number, planned), status)| CrossView::of(number, planned, status)).collect();
    Ok(Json(Crosses { crosses, total }))
}
