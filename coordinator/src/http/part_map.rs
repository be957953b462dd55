//! The map of a job: the progress of its parts, cell by cell.

use std::collections::BTreeMap;

use axum::Json;
use axum::extract::{Path, State};
use queens_model::JobState;
use queens_solver::{Method, cross_lines};
use serde::Serialize;

use super::app::{Answer, App, job_id};
use super::part_positions::{Map, MapPosition};
use super::parts::{counted_parts, planned_job, share};
#[cfg(test)]
use super::refusal::described::{NoDetails, NoSuchJob};
use super::refusal::find;

/// The parts of a job that share a cell of its map. For crosses, the queens on the two central rows stand in the same
/// columns. For halves, the parts are neighbours in the plan's order.
#[derive(Debug, Default, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
struct Cell {
    /// The row of the cell. For crosses, the column on the first of the two central rows. For halves of a board with a
    /// middle row, the column of the queen there.
    first: u8,
    /// The column of the cell. For crosses, the column on the second central row.
    second: u8,
    /// Number of parts.
    parts: u32,
    /// Number of subproblems.
    subproblems: String,
    /// Number of recorded subproblems.
    recorded: String,
    /// The recorded share of the estimated work, 0 to 1.
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

/// The map of a job's parts.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(super) struct Cells {
    /// The job's number.
    job: String,
    /// The size of the board.
    n: u8,
    /// The job's method: search, whose parts are crosses, or halves.
    method: &'static str,
    /// For crosses: the two central rows, which are also the central columns. Null for halves, and if the board is too
    /// small.
    #[cfg_attr(test, schema(required))]
    lines: Option<[u8; 2]>,
    cells: Vec<Cell>,
}

/// The progress of all parts: crosses by the columns of their queens on the two central rows, halves by their columns.
#[cfg_attr(test, utoipa::path(
    get,
    path = "/api/v1/jobs/{job}/cells",
    params(("job" = String, Path, description = "The job's number.")),
    responses((status = 200, description = "The answer.", body = Cells), NoSuchJob, NoDetails),
))]
pub(super) async fn cells(State(app): State<App>, Path(id): Path<String>) -> Answer<Cells> {
    let job = find(&app.handle.snapshot(), job_id(&id)?)?.clone();
    let answer = |lines, cells| {
        let (job, n, method) = (job.id.to_string(), job.n.get(), job.method.name());
        Ok(Json(Cells { job, n, method, lines, cells }))
    };
    if job.state == JobState::Done && job.progress.n_subproblems == 0 {
        // A board this small is counted without a plan.
        return answer(None, Vec::new());
    }
    let details = planned_job(&app, &id).await?.details;
    let map = Map::of(&details.plan);
    let mut cells: BTreeMap<MapPosition, Cell> = BTreeMap::new();
    for (number, planned, status) in counted_parts(&job, &details.plan, &details.parts) {
        let Some(place) = map.place(number) else { continue };
        let cell = cells.entry(place).or_default();
        (cell.first, cell.second) = (place.first, place.second);
        cell.parts += 1;
        let (all, work) = (planned.choice().n_subproblems, planned.choice().work as f64);
        cell.sums.n_subproblems += u128::from(all);
        cell.sums.n_recorded += u128::from(status.n_recorded);
        cell.sums.work += work;
        cell.sums.work_recorded += work * share(status, planned);
    }
    for cell in cells.values_mut() {
        let Sums { n_subproblems, n_recorded, work, work_recorded } = cell.sums;
        cell.subproblems = n_subproblems.to_string();
        cell.recorded = n_recorded.to_string();
        cell.fraction = match (n_recorded == n_subproblems, work > 0.0) {
            (true, _) => 1.0,
            (false, true) => work_recorded / work,
            (false, false) => 0.0,
        };
    }
    let lines = cross_lines(job.n).filter(|_| job.method == Method::Search);
    answer(lines, cells.into_values().collect())
}
