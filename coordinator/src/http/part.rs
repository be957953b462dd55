//! Handlers that show one part of a plan: its data as JSON, and its board as a picture.

use axum::Json;
use axum::extract::{Path, Query, State};
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;
use queens_event_loop::Details;
use queens_model::json::Contribution;
use queens_model::{InHand, JobId, WorkerStatus};
use queens_solver::boards::Queen;
use queens_solver::boards::picture::{self, Look, Mark, Scale};
use queens_solver::{HalvesPart, Method, PlannedPart, Square, Symmetry};
use serde::{Deserialize, Serialize};
use tokio::sync::Semaphore;

use super::app::{Answer, App, Queried};
use super::part_positions::halves;
use super::parts::{PartJson, PlannedJob, SquareView, columns, planned_job, squares};
use super::refusal::RequestRefusal;
#[cfg(test)]
use super::refusal::described::{InvalidRequest, NoDetails, NoSuchJob};

/// The width of a square in pixels.
const TILE: u32 = 32;

/// Limits concurrent searches for a subproblem's queens, which take seconds on the largest boards.
static SEARCHES: Semaphore = Semaphore::const_new(2);

#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(utoipa::IntoParams), into_params(parameter_in = Query))]
#[serde(deny_unknown_fields)]
pub(super) struct SubproblemQuery {
    /// A subproblem of the part.
    subproblem: Option<u64>,
}

/// A part: its queens, its image, its progress and its workers.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(super) struct Explanation {
    /// The job's number.
    job: String,
    /// The size of the board.
    n: u8,
    #[serde(flatten)]
    part: PartJson,
    /// The transformation of the board before it is counted.
    image: &'static str,
    /// The queens of the cross on the image that is counted.
    counted: Vec<SquareView>,
    /// The job's method: search, whose parts are crosses, or halves.
    method: &'static str,
    /// Number of free rows that a subproblem fills; for halves, of rows next to the middle.
    depth: usize,
    /// The queens of the requested subproblem, without those of the cross.
    #[cfg_attr(test, schema(required))]
    prefix: Option<Vec<SquareView>>,
    /// For halves: the columns of the upper half in the requested subproblem.
    #[cfg_attr(test, schema(required))]
    prefix_upper: Option<Vec<u8>>,
    /// The same for the lower half.
    #[cfg_attr(test, schema(required))]
    prefix_lower: Option<Vec<u8>>,
    workers: Vec<Holder>,
    /// The contributions to the recorded spans, those with the most work first; null if the records can't be read now.
    #[cfg_attr(test, schema(required))]
    counted_by: Option<Vec<Contribution>>,
}

/// A worker that is counting some of the part.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
struct Holder {
    /// The worker's name.
    name: String,
    /// The part's number.
    part: u32,
    /// The first subproblem that is left.
    from: u64,
    /// The subproblem after the last.
    to: u64,
}

/// A part: what it is, how it is counted, its progress and its workers.
#[cfg_attr(test, utoipa::path(
    get,
    path = "/api/v1/jobs/{job}/parts/{part}",
    params(
        ("job" = String, Path, description = "The job's number."),
        ("part" = String, Path, description = "The part's number."),
        SubproblemQuery,
    ),
    responses((status = 200, description = "The answer.", body = Explanation), InvalidRequest, NoSuchJob, NoDetails),
))]
pub(super) async fn explain(
    State(app): State<App>,
    Path((id, part)): Path<(String, String)>,
    query: Queried<SubproblemQuery>,
) -> Answer<Explanation> {
    let Query(SubproblemQuery { subproblem }) = query?;
    let PlannedJob { job, details } = planned_job(&app, &id).await?;
    let (number, planned) = planned(&details, job.id, &part)?;
    let status = details.parts.get(number as usize).copied().unwrap_or_default();
    let prefix = match subproblem {
        Some(subproblem) => Some(squares(&prefix(planned, subproblem).await?)),
        None => None,
    };
    let split = |half: usize| {
        let columns_of = halves(planned.part())?.columns_of(subproblem?)?;
        columns_of.get(half).map(|set| columns(*set))
    };
    let counted_by = app.handle.contributions_to(job.id, number).await.ok();
    let snapshot = app.handle.snapshot();
    let holder = |worker: &WorkerStatus| {
        let is_of_it = |at: &InHand| at.job == job.id && at.span.part() == number;
        let span = worker.counting.filter(is_of_it)?.span;
        let (part, from, to) = (span.part(), span.from(), span.to());
        Some(Holder { name: worker.name.to_string(), part, from, to })
    };
    Ok(Json(Explanation {
        job: job.id.to_string(),
        n: job.n.get(),
        part: PartJson::of(number, &planned, &status),
        image: describe(planned.choice().image),
        counted: squares(&planned.queens()),
        method: job.method.name(),
        depth: match job.method {
            Method::Search => details.plan.depth().into(),
            // All subproblems have the same number of queens, so the first one serves; no search is needed.
            Method::Halves => planned.subproblems().queens(0).len(),
        },
        prefix,
        prefix_upper: split(0),
        prefix_lower: split(1),
        workers: snapshot.workers.iter().filter_map(holder).collect(),
        counted_by: counted_by.map(|counted_by| Contribution::all(&counted_by)),
    }))
}

fn planned(details: &Details, job: JobId, part: &str) -> Result<(u32, PlannedPart), RequestRefusal> {
    let number = part.parse::<u32>().ok();
    let found = number.and_then(|number| Some((number, *details.plan.part(number)?)));
    found.ok_or_else(|| RequestRefusal::not_found(format!("job {job} has no part '{part}'")))
}

/// Finds the queens of a subproblem below those of its cross, on the image that is counted.
async fn prefix(planned: PlannedPart, subproblem: u64) -> Result<Vec<Square>, RequestRefusal> {
    if subproblem >= planned.choice().n_subproblems {
        return Err(RequestRefusal::not_found(format!("the part has no subproblem {subproblem}")));
    }
    let Ok(_permit) = SEARCHES.try_acquire() else {
        return Err(RequestRefusal::unavailable("others are being looked for: ask again"));
    };
    let search = tokio::task::spawn_blocking(move || planned.subproblems().queens(subproblem));
    search.await.map_err(|_| RequestRefusal::unavailable("the coordinator is stopping"))
}

/// Describes in words the transformation of a board into its image.
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

/// A picture of the counted board.
///
/// A cross shows its queens and, on green squares, those of the subproblem. A part of halves shows the middle row's
/// queen, those of the subproblem, and the columns of each half: blue above the middle, violet below.
#[cfg_attr(test, utoipa::path(
    get,
    path = "/api/v1/jobs/{job}/parts/{part}/board.svg",
    params(
        ("job" = String, Path, description = "The job's number."),
        ("part" = String, Path, description = "The part's number."),
        SubproblemQuery,
    ),
    responses(
        (status = 200, description = "A picture.", body = String, content_type = "image/svg+xml"),
        InvalidRequest, NoSuchJob, NoDetails,
    ),
))]
pub(super) async fn draw(
    State(app): State<App>,
    Path((id, part)): Path<(String, String)>,
    query: Queried<SubproblemQuery>,
) -> Result<impl IntoResponse, RequestRefusal> {
    let Query(SubproblemQuery { subproblem }) = query?;
    let PlannedJob { job, details } = planned_job(&app, &id).await?;
    let (_, planned) = planned(&details, job.id, &part)?;
    let prefix = match subproblem {
        Some(subproblem) => prefix(planned, subproblem).await?,
        None => Vec::new(),
    };
    let queen =
        |look| move |square: Square| (Queen { row: square.row.into(), column: square.column.into() }, look);
    let queens = planned.queens().into_iter().map(queen(Look::Queen));
    let queens: Vec<_> = queens.chain(prefix.into_iter().map(queen(Look::Safe))).collect();
    let marked = halves(planned.part()).map(|halves| marked(job.n.get(), halves, subproblem));
    let marked = marked.unwrap_or_default();
    let svg = picture::marked_position(job.n.get().into(), &marked, &queens, Scale { tile: TILE });
    Ok(([(CONTENT_TYPE, "image/svg+xml")], svg))
}

/// Returns the squares of each half in its columns: those known from the part, or all if a subproblem is given.
fn marked(n: u8, halves: &HalvesPart, subproblem: Option<u64>) -> Vec<(Queen, Mark)> {
    let known = [halves.upper_columns(), halves.lower_columns()];
    let of_subproblem = subproblem.and_then(|number| halves.columns_of(number));
    let [upper, lower] = of_subproblem.unwrap_or(known);
    let squares = |rows: std::ops::Range<u8>, set: u32, mark: Mark| {
        let columns = columns(set);
        let square = move |row: u8, column: u8| Queen { row: row.into(), column: column.into() };
        rows.flat_map(move |row| columns.clone().into_iter().map(move |column| (square(row, column), mark)))
    };
    squares(0..n / 2, upper, Mark::Blue).chain(squares(n.div_ceil(2)..n, lower, Mark::Violet)).collect()
}

#[cfg(test)]
mod tests {
    use queens_solver::BoardSize;

    use super::*;

    /// A square near a corner distinguishes all eight images.
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
