//! The distribution of a job's solutions over the board, as an SVG to download.
//!
//! For the search, a solution counts in the cell of its queens on the two lines of the cross. A cross represents its
//! rotated and mirrored images, so its solutions count for each image. For halves, a solution counts where its part
//! lies on the map. Either way, the cells add up to the solutions counted so far.

use std::collections::BTreeMap;
use std::time::Duration;

use axum::extract::{Path, State};
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use axum::response::IntoResponse;
use queens_ledger::PartStatus;
use queens_model::{JobState, JobStatus, date, percent};
use queens_solver::boards::grid::{self, Cell, Labels};
use queens_solver::{Method, Plan, Symmetry, cross_lines};
use queens_store::unix_ms;

use super::app::App;
use super::part_positions::{Map, MapPosition, of_cross};
use super::parts::{PlannedJob, counted_parts, planned_job, share};
use super::refusal::RequestRefusal;
#[cfg(test)]
use super::refusal::described::{NoDetails, NoSuchJob};

/// How often the handler reads the parts until they are as recent as the job.
const TRIES: u32 = 20;
const BETWEEN_TRIES: Duration = Duration::from_millis(200);

/// A picture of the solutions counted so far, with the recorded share of the work.
///
/// The search's cells are the columns of the queens on the two lines of the cross; the cells of halves are those of the
/// map. O(parts) of the job's plan, some ten thousand: milliseconds.
#[cfg_attr(test, utoipa::path(
    get,
    path = "/api/v1/jobs/{job}/count.svg",
    params(("job" = String, Path, description = "The job's number.")),
    responses(
        (status = 200, description = "A picture.", body = String, content_type = "image/svg+xml"),
        NoSuchJob, NoDetails,
    ),
))]
pub(super) async fn draw_count(
    State(app): State<App>,
    Path(id): Path<String>,
) -> Result<impl IntoResponse, RequestRefusal> {
    let (job, spread) = up_to_date(&app, &id).await?;
    let now_ms = job.finished_ms.filter(|_| spread.is_complete).unwrap_or_else(unix_ms);
    let name = format!("inline; filename=\"queens-{}-job-{}.svg\"", job.n, job.id);
    Ok(([(CONTENT_TYPE, "image/svg+xml".to_owned()), (CONTENT_DISPOSITION, name)], spread.svg(&job, now_ms)))
}

/// Returns a job and its distribution. The parts may lag the job by a second: after a job is done, this waits a limited
/// time for the final ones.
async fn up_to_date(app: &App, id: &str) -> Result<(JobStatus, Spread), RequestRefusal> {
    for _ in 0..TRIES {
        let PlannedJob { job, details } = planned_job(app, id).await?;
        let spread = Spread::of(&job, &details.plan, &details.parts);
        if spread.is_complete || job.state != JobState::Done {
            return Ok((job, spread));
        }
        tokio::time::sleep(BETWEEN_TRIES).await;
    }
    Err(RequestRefusal::unavailable("the known state of the parts is older than the job: retry"))
}

/// The recorded solutions of a job, cell by cell.
#[derive(Debug)]
struct Spread {
    cells: BTreeMap<MapPosition, u128>,
    /// The recorded share of the work.
    fraction: f64,
    is_complete: bool,
}

impl Spread {
    fn of(job: &JobStatus, plan: &Plan, parts: &[PartStatus]) -> Self {
        let map = Map::of(plan);
        let has_lines = job.method == Method::Search && cross_lines(plan.n()).is_some();
        let mut cells: BTreeMap<MapPosition, u128> = BTreeMap::new();
        let (mut work, mut work_recorded, mut is_complete) = (0.0, 0.0, true);
        for (number, planned, status) in counted_parts(job, plan, parts) {
            let solutions = status.solutions * u128::from(planned.weight());
            match has_lines {
                // Each distinct image occurs 8 / weight times.
                true => Symmetry::ALL
                    .into_iter()
                    .filter_map(|image| of_cross(plan.n(), planned.part(), image))
                    .for_each(|place| *cells.entry(place).or_default() += solutions),
                false => map
                    .place(number)
                    .into_iter()
                    .for_each(|place| *cells.entry(place).or_default() += 8 * solutions),
            }
            work += planned.choice().work as f64;
            work_recorded += planned.choice().work as f64 * share(status, planned);
            is_complete &= status.n_recorded == planned.choice().n_subproblems;
        }
        cells.values_mut().for_each(|eightfold| *eightfold /= 8);
        let fraction = if is_complete { 1.0 } else { work_recorded / f64::max(work, 1.0) };
        Self { cells, fraction, is_complete }
    }

    fn total(&self) -> u128 {
        self.cells.values().sum()
    }

    fn svg(&self, job: &JobStatus, at_ms: u64) -> String {
        let (n, total, at) = (job.n, self.total(), date(at_ms / 1000));
        let is_whole = self.is_complete && job.terms.part_range.is_none();
        let title = match is_whole {
            true => format!("{n} queens: {} solutions", grid::grouped(total)),
            false => format!("{n} queens: {} solutions, a partial count", grid::grouped(total)),
        };
        let state = match (self.is_complete, job.terms.part_range) {
            (true, None) if job.is_provisional() => format!("All is counted, but not yet checked ({at})."),
            (true, None) => format!("All is counted ({at})."),
            (true, Some(parts)) => format!("Counted: only parts {parts} of {} ({at}).", job.n_parts),
            (false, _) if self.fraction <= 0.0 => format!("Nothing is counted yet ({at})."),
            (false, None) => format!("PARTIAL: {} of the work is done ({at}).", percent(self.fraction)),
            (false, Some(parts)) => {
                format!("PARTIAL: {} of the work on parts {parts} is done ({at}).", percent(self.fraction))
            }
        };
        let nothing = if is_whole { "none" } else { "none so far" };
        let (lines, across, down) = match cross_lines(n).filter(|_| job.method == Method::Search) {
            Some([first, second]) => (
                format!(
                    "The stronger a shade, the more solutions have their queens on rows {first} and {second} in these columns."
                ),
                format!("column of the queen on row {second}"),
                format!("column of the queen on row {first}"),
            ),
            None => (
                "Counted by halves: the stronger a shade, the more solutions have the parts of a cell."
                    .to_owned(),
                "parts in the order of their columns".to_owned(),
                match n.get() % 2 {
                    1 => format!("column of the queen on row {}", n.get() / 2),
                    _ => "the same order, line by line".to_owned(),
                },
            ),
        };
        let labels = Labels { title: &title, lines: &[state, lines], across: &across, down: &down, nothing };
        let cell =
            |(place, &count): (&MapPosition, &u128)| Cell { row: place.first, column: place.second, count };
        grid::svg(&labels, &self.cells.iter().map(cell).collect::<Vec<_>>())
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroUsize;
    use std::sync::atomic::AtomicBool;

    use queens_model::JobId;
    use queens_solver::boards::Solutions;
    use queens_solver::{BoardSize, Kernel, PlannedPart};

    use super::*;

    /// A job with these parts counted, each with the solutions of its number.
    fn counted(
        n: u8,
        method: Method,
        is_counted: impl Fn(u32) -> bool,
    ) -> (JobStatus, Plan, Vec<PartStatus>) {
        let board = BoardSize::new(n).expect("a board size");
        let never = AtomicBool::new(false);
        let plan = Plan::new(board, method, NonZeroUsize::MIN, &never).expect("nobody stops it");
        let status = |(number, planned): (u32, &PlannedPart)| {
            if !is_counted(number) {
                return PartStatus::default();
            }
            let all = planned.choice().n_subproblems;
            let count =
                planned.subproblems().count(0..all, Kernel::Portable, &never).expect("nobody stops it");
            PartStatus { n_recorded: all, solutions: count.solutions.into(), work: count.work.into() }
        };
        let parts = (0..).zip(plan.parts()).map(status).collect();
        (JobStatus::new(JobId(1), board, method, JobState::Running), plan, parts)
    }

    /// The search's cells agree with an enumeration of all solutions.
    #[test]
    fn the_cells_are_where_the_queens_stand() {
        for n in 4..=9_u8 {
            let (job, plan, parts) = counted(n, Method::Search, |_| true);
            let spread = Spread::of(&job, &plan, &parts);
            let [first, second] = cross_lines(job.n).expect("a board with lines").map(usize::from);
            let mut expected: BTreeMap<MapPosition, u128> = BTreeMap::new();
            for solution in Solutions::new(job.n) {
                let column = |row: usize| u8::try_from(solution.columns()[row]).expect("small");
                *expected.entry(MapPosition { first: column(first), second: column(second) }).or_default() +=
                    1;
            }
            let found = spread.cells.iter().filter(|(_, count)| **count > 0);
            assert_eq!(
                found.map(|(place, count)| (*place, *count)).collect::<BTreeMap<_, _>>(),
                expected,
                "n = {n}"
            );
            assert!(spread.is_complete, "n = {n}");
        }
    }

    #[test]
    fn the_cells_of_halves_add_up() {
        for (n, expected) in [(8, 92), (9, 352)] {
            let (job, plan, parts) = counted(n, Method::Halves, |_| true);
            assert_eq!(Spread::of(&job, &plan, &parts).total(), expected, "n = {n}");
        }
    }

    #[test]
    fn what_is_partial_says_so() {
        let (mut job, plan, parts) = counted(8, Method::Search, |number| number % 2 == 0);
        let spread = Spread::of(&job, &plan, &parts);
        let recorded: u128 = plan
            .parts()
            .iter()
            .zip(&parts)
            .map(|(part, status)| status.solutions * u128::from(part.weight()))
            .sum();
        assert!(spread.total() == recorded && (1..92).contains(&recorded), "{recorded}");
        let drawn = spread.svg(&job, 1_795_299_299_000);
        for text in [
            &format!("8 queens: {recorded} solutions, a partial count"),
            "PARTIAL: ",
            "of the work is done (2026-11-21 22:14 UTC).",
            "column of the queen on row 4",
            "none so far",
        ] {
            assert!(drawn.contains(text), "'{text}' is not in {drawn}");
        }
        assert_eq!(drawn, spread.svg(&job, 1_795_299_299_000));
        // A job of some parts never claims to be complete.
        job.terms.part_range = Some("0..1".parse().expect("parts"));
        let part = Spread::of(&job, &plan, &parts);
        assert!(part.is_complete && part.svg(&job, 0).contains("a partial count"));
    }
}
