//! The crosses of a job: which are counted, and what each of them is.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;
use queens_boards::Queen;
use queens_boards::picture::{self, Look, Scale};
use queens_messages::{JobId, JobState, JobStatus};
use queens_solver::{BoardSize, PlannedCross, Square, Symmetry, cross_lines};
use serde::{Deserialize, Serialize};
use tokio::sync::Semaphore;

use super::api::{Answer, Ask, Page, find, job_id};
use super::{App, Refusal, view};
use crate::Details;
use queens_ledger::CrossStatus;

/// The width of a square in pixels.
const TILE: u32 = 32;

/// Subproblems whose queens are looked for at the same time: on the largest boards that takes seconds.
static SEARCHES: Semaphore = Semaphore::const_new(2);

/// A job with its plan and what is recorded of it.
struct Seen {
    job: JobStatus,
    details: Arc<Details>,
}

async fn seen(app: &App, id: &str) -> Result<Seen, Refusal> {
    let id = job_id(id)?;
    let job = find(&app.handle.snapshot().jobs, id)?.clone();
    let details = app.handle.details(id).await.ok_or_else(|| no_details(&job))?;
    Ok(Seen { job, details })
}

fn no_details(job: &JobStatus) -> Refusal {
    let id = job.id;
    match job.progress.n_subproblems {
        0 => {
            Refusal::new(StatusCode::CONFLICT, format!("job {id} has no plan, or a plan without subproblems"))
        }
        _ => Refusal::unavailable("the coordinator is busy with something else"),
    }
}

/// All crosses of which the queens on the two central rows stand in the same columns.
#[derive(Debug, Default, Serialize)]
struct Cell {
    first: u8,
    second: u8,
    crosses: u32,
    subproblems: String,
    recorded: String,
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

#[derive(Debug, Serialize)]
pub(super) struct Cells {
    job: String,
    n: u8,
    lines: Option<[u8; 2]>,
    cells: Vec<Cell>,
}

/// How far the crosses are, by the columns of their queens on the two central rows.
pub(super) async fn cells(State(app): State<App>, Path(id): Path<String>) -> Answer<Cells> {
    let job = find(&app.handle.snapshot().jobs, job_id(&id)?)?.clone();
    if job.state == JobState::Done && job.progress.n_subproblems == 0 {
        // So small a board is counted without a plan.
        return Ok(Json(Cells { job: job.id.to_string(), n: job.n.get(), lines: None, cells: Vec::new() }));
    }
    let Seen { job, details } = seen(&app, &id).await?;
    let (n, lines) = (job.n, cross_lines(job.n));
    let side = usize::from(n.get());
    let mut cells: Vec<Cell> = std::iter::repeat_with(Cell::default).take(side * side).collect();
    for (planned, status) in details.plan.crosses().iter().zip(&details.crosses) {
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
fn share(status: &CrossStatus, planned: &PlannedCross) -> f64 {
    match planned.choice().n_subproblems {
        0 => 1.0,
        all => status.n_recorded as f64 / all as f64,
    }
}

/// The columns of the queens on the two central rows.
fn central(n: BoardSize, planned: &PlannedCross) -> Option<(u8, u8)> {
    let [first, second] = cross_lines(n)?;
    let column =
        |row| planned.cross().queens().iter().find(|queen| queen.row == row).map(|queen| queen.column);
    Some((column(first)?, column(second)?))
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ListQuery {
    first: Option<u8>,
    second: Option<u8>,
    #[serde(default)]
    offset: usize,
    limit: Option<usize>,
}

#[derive(Debug, Serialize)]
pub(super) struct List {
    crosses: Vec<CrossView>,
    total: usize,
}

/// A cross and what is recorded of it.
#[derive(Debug, Serialize)]
struct CrossView {
    cross: u32,
    queens: Vec<SquareView>,
    weight: u8,
    fraction: f64,
    subproblems: u64,
    recorded: u64,
    work: String,
    solutions: String,
    nodes: String,
}

#[derive(Debug, Serialize)]
struct SquareView {
    row: u8,
    column: u8,
}

fn squares(squares: &[Square]) -> Vec<SquareView> {
    squares.iter().map(|&Square { row, column }| SquareView { row, column }).collect()
}

impl CrossView {
    fn of(cross: u32, planned: &PlannedCross, status: &CrossStatus) -> Self {
        Self {
            cross,
            queens: squares(planned.cross().queens()),
            weight: planned.cross().weight(),
            fraction: share(status, planned),
            subproblems: planned.choice().n_subproblems,
            recorded: status.n_recorded,
            work: planned.choice().work.to_string(),
            solutions: status.solutions.to_string(),
            nodes: status.nodes.to_string(),
        }
    }
}

/// The crosses of a job, or those of a cell.
pub(super) async fn list(
    State(app): State<App>,
    Path(id): Path<String>,
    query: Ask<ListQuery>,
) -> Answer<List> {
    let Query(ListQuery { first, second, offset, limit }) = query?;
    let Seen { job, details } = seen(&app, &id).await?;
    let is_meant = |planned: &PlannedCross| {
        let central = central(job.n, planned);
        first.is_none_or(|first| central.is_some_and(|(column, _)| column == first))
            && second.is_none_or(|second| central.is_some_and(|(_, column)| column == second))
    };
    let all = (0..).zip(details.plan.crosses()).zip(&details.crosses);
    let meant: Vec<_> = all.filter(|((_, planned), _)| is_meant(planned)).collect();
    let total = meant.len();
    let page = Page { offset, limit }.of(meant.into_iter());
    let crosses = page.map(|((number, planned), status)| CrossView::of(number, planned, status)).collect();
    Ok(Json(List { crosses, total }))
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Which {
    subproblem: Option<u64>,
}

#[derive(Debug, Serialize)]
pub(super) struct Explanation {
    job: String,
    n: u8,
    #[serde(flatten)]
    cross: CrossView,
    image: &'static str,
    counted: Vec<SquareView>,
    depth: u8,
    prefix: Option<Vec<SquareView>>,
    workers: Vec<Holder>,
    counted_by: Option<Vec<view::Contribution>>,
}

/// A worker that has a part of the cross.
#[derive(Debug, Serialize)]
struct Holder {
    name: String,
    #[serde(flatten)]
    span: view::Span,
}

/// What a cross is, how it is counted, by whom and how far.
pub(super) async fn explain(
    State(app): State<App>,
    Path((id, cross)): Path<(String, String)>,
    query: Ask<Which>,
) -> Answer<Explanation> {
    let Query(Which { subproblem }) = query?;
    let Seen { job, details } = seen(&app, &id).await?;
    let (number, planned) = planned(&details, job.id, &cross)?;
    let status = details.crosses.get(number as usize).copied().unwrap_or_default();
    let prefix = match subproblem {
        Some(subproblem) => Some(squares(&prefix(planned, subproblem).await?)),
        None => None,
    };
    let counted_by = app.handle.contributions_to(job.id, number).await.ok();
    let snapshot = app.handle.snapshot();
    let holder = |worker: &queens_messages::WorkerStatus| {
        let (_, span) = worker.counting.filter(|(of, span)| *of == job.id && span.cross() == number)?;
        Some(Holder { name: worker.name.to_string(), span: span.into() })
    };
    Ok(Json(Explanation {
        job: job.id.to_string(),
        n: job.n.get(),
        cross: CrossView::of(number, &planned, &status),
        image: describe(planned.choice().image),
        counted: squares(&planned.queens()),
        depth: details.plan.depth(),
        prefix,
        workers: snapshot.workers.iter().filter_map(holder).collect(),
        counted_by: counted_by.map(|counted_by| view::Contribution::all(&counted_by)),
    }))
}

fn planned(details: &Details, job: JobId, cross: &str) -> Result<(u32, PlannedCross), Refusal> {
    let number = cross.parse::<u32>().ok();
    let found = number.and_then(|number| Some((number, *details.plan.cross(number)?)));
    found.ok_or_else(|| Refusal::not_found(format!("job {job} has no cross '{cross}'")))
}

/// The queens of a subproblem below those of its cross, on the image that is counted.
async fn prefix(planned: PlannedCross, subproblem: u64) -> Result<Vec<Square>, Refusal> {
    if subproblem >= planned.choice().n_subproblems {
        return Err(Refusal::not_found(format!("the cross has no subproblem {subproblem}")));
    }
    let Ok(_permit) = SEARCHES.try_acquire() else {
        return Err(Refusal::unavailable("others are being looked for: ask again"));
    };
    let search = tokio::task::spawn_blocking(move || planned.subproblems().queens(subproblem));
    search.await.map_err(|_| Refusal::unavailable("the coordinator is stopping"))
}

/// What is done to a board to have its image.
const fn describe(image: Symmetry) -> &'static str {
    match image.index() {
        0 => "as it is",
        1 => "mirrored left to right",
        2 => "mirrored top to bottom",
        3 => "turned by 180°",
        4 => "mirrored at the falling diagonal",
        5 => "turned by 90° clockwise",
        6 => "turned by 90° counter-clockwise",
        _ => "mirrored at the rising diagonal",
    }
}

/// The board that is counted, with the queens of the cross and, on green squares, those of a subproblem.
pub(super) async fn draw(
    State(app): State<App>,
    Path((id, cross)): Path<(String, String)>,
    query: Ask<Which>,
) -> Result<impl IntoResponse, Refusal> {
    let Query(Which { subproblem }) = query?;
    let Seen { job, details } = seen(&app, &id).await?;
    let (_, planned) = planned(&details, job.id, &cross)?;
    let prefix = match subproblem {
        Some(subproblem) => prefix(planned, subproblem).await?,
        None => Vec::new(),
    };
    let queen =
        |look| move |square: Square| (Queen { row: square.row.into(), column: square.column.into() }, look);
    let queens = planned.queens().into_iter().map(queen(Look::Queen));
    let queens: Vec<_> = queens.chain(prefix.into_iter().map(queen(Look::Safe))).collect();
    let svg = picture::position(job.n.get().into(), &queens, Scale { tile: TILE });
    Ok(([(CONTENT_TYPE, "image/svg+xml")], svg))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A square near a corner tells all eight images apart.
    #[test]
    fn images_are_what_they_are_said_to_be() {
        let n = BoardSize::new(9).expect("a board size");
        let knight = Square { row: 0, column: 1 };
        for (said, row, column) in [
            ("as it is", 0, 1),
            ("mirrored left to right", 0, 7),
            ("mirrored top to bottom", 8, 1),
            ("turned by 180°", 8, 7),
            ("mirrored at the falling diagonal", 1, 0),
            ("turned by 90° clockwise", 1, 8),
            ("turned by 90° counter-clockwise", 7, 0),
            ("mirrored at the rising diagonal", 7, 8),
        ] {
            let image =
                Symmetry::ALL.into_iter().find(|&image| describe(image) == said).expect("one of the eight");
            assert_eq!(image.apply(n, knight), Square { row, column }, "{said}");
        }
    }
}
