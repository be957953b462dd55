//! Handlers for the history of a job's progress, of the fleet, and of the workers of a name, with smoothed speeds.

use axum::Json;
use axum::extract::{Path, State};
use queens_store::history::{Curve, Point, Subject, mean};
use serde::Serialize;

use super::app::{Answer, App, job_id};
#[cfg(test)]
use super::refusal::described::NoSuchJob;
use super::refusal::find;

/// A job's progress over time, from its start, in at most 512 samples. It survives restarts of the coordinator. Times
/// without counting or without a coordinator have no samples.
#[cfg_attr(test, utoipa::path(
    get,
    path = "/api/v1/jobs/{job}/history",
    params(("job" = String, Path, description = "The job's number.")),
    responses((status = 200, description = "The answer.", body = CurveView), NoSuchJob),
))]
pub(super) async fn history(State(app): State<App>, Path(id): Path<String>) -> Answer<CurveView> {
    let job = job_id(&id)?;
    find(&app.handle.snapshot(), job)?;
    let curve = app.handle.history.curves.lock().curve(Subject::Job(job));
    Ok(Json(CurveView::of_job(&curve)))
}

/// The speed of all jobs together and the number of workers, in at most 512 samples each. Times without counting or
/// without a coordinator have no samples.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(super) struct FleetHistory {
    /// The speed of all searches, in nodes per second.
    search: CurveView,
    /// The speed of all counting by halves, in units per second.
    halves: CurveView,
    /// Connected workers.
    workers: CurveView,
}

/// The fleet's speed and number of workers over time. They survive restarts of the coordinator.
#[cfg_attr(test, utoipa::path(
    get,
    path = "/api/v1/history",
    responses((status = 200, description = "The answer.", body = FleetHistory)),
))]
pub(super) async fn fleet_history(State(app): State<App>) -> Json<FleetHistory> {
    let curve = |subject, unit| CurveView::of(&app.handle.history.curves.lock().curve(subject), unit);
    Json(FleetHistory {
        search: curve(Subject::Search, 1.0),
        halves: curve(Subject::Halves, 1.0),
        // The store has them in milliseconds of a worker.
        workers: curve(Subject::Workers, 1000.0),
    })
}

/// The speed of all workers of a name, in at most 127 samples by each method. Times without a connected worker of the
/// name have no samples.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(super) struct WorkerHistory {
    /// The speed by search, in nodes per second: zero while the workers do something else.
    search: CurveView,
    /// The speed by halves, in units per second: zero while the workers do something else.
    halves: CurveView,
}

/// The speed over time of all workers of a name; empty if the name is unknown. A restart of the coordinator begins it
/// anew, and so does a day without such a worker.
#[cfg_attr(test, utoipa::path(
    get,
    path = "/api/v1/workers/{worker}/history",
    params(("worker" = String, Path, description = "The name of the workers.")),
    responses((status = 200, description = "The answer.", body = WorkerHistory)),
))]
pub(super) async fn worker_history(State(app): State<App>, Path(name): Path<String>) -> Json<WorkerHistory> {
    let [search, halves] = app.handle.history.worker_speeds.lock().curves(&name);
    Json(WorkerHistory { search: CurveView::of(&search, 1.0), halves: CurveView::of(&halves, 1.0) })
}

/// The time that a mean covers at least. In small clusters, workers report once a second, so shorter means would
/// fluctuate with the reports' timing.
const SMOOTH_MS: u64 = 5000;

/// Samples in equal steps, the oldest first. Steps without a measurement are left out. If there would be too many, the
/// step is doubled.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema), schema(as = Curve))]
pub(super) struct CurveView {
    /// The length of a step.
    step_seconds: u64,
    samples: Vec<SampleView>,
}

/// A mean value at one time.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema), schema(as = Sample))]
struct SampleView {
    /// The end of the step, in milliseconds since 1970.
    at_ms: u64,
    /// The measured time within the step. Times without counting or without a coordinator are not measured.
    measured_seconds: f64,
    /// The mean over the measured part of the step, or of five seconds if the step is shorter: work per second, or
    /// connected workers.
    mean: f64,
    /// The recorded share of a job's work; null in curves of workers and of all jobs.
    fraction: Option<f64>,
}

impl CurveView {
    /// Returns the curve of a job.
    fn of_job(curve: &Curve) -> Self {
        Self::new(curve, 1.0, |point| Some(f64::from(point.billionths) / 1e9))
    }

    /// Returns the curve of workers or of all jobs, whose work is in this unit.
    fn of(curve: &Curve, unit: f64) -> Self {
        Self::new(curve, unit, |_| None)
    }

    /// O(points).
    fn new(curve: &Curve, unit: f64, fraction: impl Fn(&Point) -> Option<f64>) -> Self {
        let points = &curve.points[..];
        let sample = |(at, point): (usize, &Point)| {
            let recent = points[..=at].iter().rev().take_while(|one| one.at_ms + SMOOTH_MS > point.at_ms);
            let n_recent = recent.count().max(1);
            // A mean does not span a gap.
            let is_gap = |pair: &&[Point]| pair[1].begins_ms() > pair[0].at_ms + curve.step_seconds * 1000;
            let smoothed = &points[at + 1 - n_recent..=at];
            let n_since_gap = smoothed.windows(2).rev().take_while(|pair| !is_gap(pair)).count() + 1;
            Some(SampleView {
                at_ms: point.at_ms,
                measured_seconds: point.measured_ms as f64 / 1000.0,
                mean: mean(&smoothed[n_recent - n_since_gap..])? / unit,
                fraction: fraction(point),
            })
        };
        let samples = points.iter().enumerate().filter_map(sample).collect();
        Self { step_seconds: curve.step_seconds, samples }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn point(second: u64, work: u64) -> Point {
        Point { at_ms: second * 1000 + 500, measured_ms: 1000, work, billionths: 500_000_000 }
    }

    fn means(step_seconds: u64, points: Vec<Point>) -> Vec<f64> {
        let view = CurveView::of_job(&Curve { step_seconds, points });
        view.samples.iter().map(|sample| sample.mean).collect()
    }

    #[test]
    fn seconds_are_smoothed_and_never_over_a_gap() {
        let before = (1..=6).map(|number| point(number, if number == 6 { 1000 } else { 500 }));
        let points: Vec<Point> = before.chain([point(9, 100), point(10, 200)]).collect();
        assert_eq!(means(1, points), [500.0, 500.0, 500.0, 500.0, 500.0, 600.0, 100.0, 150.0]);
        let long = |second, work| Point { measured_ms: 8000, ..point(second, work) };
        assert_eq!(means(8, vec![long(8, 800), long(16, 1600)]), [100.0, 200.0]);
    }
}
