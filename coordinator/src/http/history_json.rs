//! Turns history into JSON, and smooths the speeds.

use queens_store::history::{Curve, Point, mean};
use serde::Serialize;

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
    pub(super) fn of_job(curve: &Curve) -> Self {
        Self::new(curve, 1.0, |point| Some(f64::from(point.billionths) / 1e9))
    }

    /// Returns the curve of workers or of all jobs, whose work is in this unit.
    pub(super) fn of(curve: &Curve, unit: f64) -> Self {
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
