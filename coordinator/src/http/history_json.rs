//! Turns history into JSON: smooths the speeds, and merges samples to the requested number.

use queens_event_loop::history::{Curves, SpeedLevel, SpeedSample, begins, mean, whole};
use queens_store::history::{LEVELS, Level, N_LEVELS, Point, Subject};
use serde::Serialize;

/// The seconds that a mean covers. In small clusters, workers report once a second, so shorter means would fluctuate
/// with the reports' timing.
const SMOOTH: usize = 5;

/// Samples in equal steps, the oldest first. Steps without a measurement are left out.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema), schema(as = Level))]
pub(super) struct LevelView {
    /// The length of a step.
    step_seconds: u64,
    samples: Vec<SampleView>,
}

/// A job's progress at one time.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema), schema(as = Sample))]
struct SampleView {
    /// The end of the step, in milliseconds since 1970.
    at_ms: u64,
    /// The measured time within the step. Times without counting or without a coordinator are not measured.
    measured_seconds: f64,
    /// The mean over the measured part of the step, or of five seconds if the step is shorter.
    work_per_second: f64,
    /// The recorded share of the work.
    fraction: f64,
}

/// The fleet in equal steps, the oldest first. Steps without a measurement are left out.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema), schema(as = FleetLevel))]
pub(super) struct FleetLevelView {
    /// The length of a step.
    step_seconds: u64,
    /// The speed of all searches, in nodes per second.
    search: Vec<MeanView>,
    /// The speed of all counting by halves, in units per second.
    halves: Vec<MeanView>,
    /// Connected workers.
    workers: Vec<MeanView>,
}

/// The workers of a name in equal steps, the oldest first. Steps without a measurement are left out.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema), schema(as = WorkerLevel))]
pub(super) struct WorkerLevelView {
    /// The length of a step.
    step_seconds: u64,
    /// The speed by search, in nodes per second: zero while the workers do something else.
    search: Vec<MeanView>,
    /// The speed by halves, in units per second: zero while the workers do something else.
    halves: Vec<MeanView>,
}

/// A mean value at one time.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema), schema(as = Mean))]
struct MeanView {
    /// The end of the step, in milliseconds since 1970.
    at_ms: u64,
    /// The measured time within the step. Times without counting or without a coordinator are not measured.
    measured_seconds: f64,
    /// The mean over the measured part of the step, or of five seconds if the step is shorter.
    mean: f64,
}

/// Returns all levels of a job, or only the one with steps of this length. O(points).
pub(super) fn levels(levels: &[Vec<Point>; N_LEVELS], step_seconds: Option<u64>) -> Vec<LevelView> {
    let all = LEVELS.iter().zip(levels);
    let meant = all.filter(|(level, _)| step_seconds.is_none_or(|asked| asked == level.step_seconds));
    meant.map(|(level, points)| every(level, points)).collect()
}

fn every(level: &Level, points: &[Point]) -> LevelView {
    let sample = |(point, mean): (&Point, MeanView)| SampleView {
        at_ms: mean.at_ms,
        measured_seconds: mean.measured_seconds,
        work_per_second: mean.mean,
        fraction: f64::from(point.billionths) / 1e9,
    };
    LevelView { step_seconds: level.step_seconds, samples: means(points).map(sample).collect() }
}

/// Merges the whole run to at most about `most` samples; `None` if there are fewer than two points. O(points).
pub(super) fn run(levels: &[Vec<Point>; N_LEVELS], most: usize) -> Option<LevelView> {
    let (level, points) = whole(levels).filter(|(_, points)| points.len() > 1)?;
    let n_together = u64::try_from(points.len().div_ceil(most.max(1))).unwrap_or(u64::MAX);
    if n_together < 2 {
        return Some(every(level, points));
    }
    let together = points.chunk_by(|one, other| one.number / n_together == other.number / n_together);
    let samples = together.filter_map(|points| {
        let last = points.last()?;
        let measured_ms: u64 = points.iter().map(|point| point.measured_ms).sum();
        Some(SampleView {
            at_ms: last.at_ms(),
            measured_seconds: measured_ms as f64 / 1000.0,
            work_per_second: mean(points)?,
            fraction: f64::from(last.billionths) / 1e9,
        })
    });
    Some(LevelView { step_seconds: level.step_seconds * n_together, samples: samples.collect() })
}

/// Returns all levels of the fleet. O(points), at most 60,000.
pub(super) fn fleet_levels(curves: &Curves) -> Vec<FleetLevelView> {
    let [search, halves, workers] =
        [Subject::Search, Subject::Halves, Subject::Workers].map(|subject| curves.levels(subject));
    let all = |points: &[Point], unit: f64| {
        means(points).map(|(_, view)| MeanView { mean: view.mean / unit, ..view }).collect()
    };
    let level = |(at, level): (usize, &Level)| FleetLevelView {
        step_seconds: level.step_seconds,
        search: all(&search[at], 1.0),
        halves: all(&halves[at], 1.0),
        // The store has them in milliseconds of a worker.
        workers: all(&workers[at], 1000.0),
    };
    LEVELS.iter().enumerate().map(level).collect()
}

impl From<SpeedLevel> for WorkerLevelView {
    fn from(SpeedLevel { step_seconds, search, halves }: SpeedLevel) -> Self {
        let all = |samples: Vec<SpeedSample>| samples.into_iter().map(MeanView::from).collect();
        Self { step_seconds, search: all(search), halves: all(halves) }
    }
}

impl From<SpeedSample> for MeanView {
    fn from(SpeedSample { at_ms, measured_seconds, mean }: SpeedSample) -> Self {
        Self { at_ms, measured_seconds, mean }
    }
}

/// Returns the points that have a mean, each with that mean.
fn means(points: &[Point]) -> impl Iterator<Item = (&Point, MeanView)> {
    (0..points.len()).filter_map(|last| {
        let point = points.get(last)?;
        let first =
            if LEVELS[point.level].step_seconds == 1 { (last + 1).saturating_sub(SMOOTH) } else { last };
        // A mean does not span a gap.
        let begins =
            (first + 1..=last).rev().find(|at| is_gap(&points[at - 1], &points[*at])).unwrap_or(first);
        let measured_seconds = point.measured_ms as f64 / 1000.0;
        Some((
            point,
            MeanView { at_ms: point.at_ms(), measured_seconds, mean: mean(&points[begins..=last])? },
        ))
    })
}

/// Returns whether at least one whole step without a measurement lies between the two points.
fn is_gap(before: &Point, point: &Point) -> bool {
    begins(point).saturating_sub(before.at_ms()) > LEVELS[point.level].step_seconds * 1000
}

#[cfg(test)]
mod tests {
    use queens_model::JobId;

    use super::*;

    fn point(number: u64, work: u64) -> Point {
        Point {
            subject: Subject::Job(JobId(1)),
            level: 0,
            number,
            end_ms: 500,
            measured_ms: 1000,
            work,
            billionths: 500_000_000,
        }
    }

    #[test]
    fn seconds_are_smoothed_and_never_over_a_gap() {
        let before = (1..=6).map(|number| point(number, if number == 6 { 1000 } else { 500 }));
        let points: Vec<Point> = before.chain([point(9, 100), point(10, 200)]).collect();
        let mut all: [Vec<Point>; N_LEVELS] = Default::default();
        all[0] = points;
        let [fine, ..] = &levels(&all, None)[..] else { panic!("levels") };
        let rates: Vec<f64> = fine.samples.iter().map(|sample| sample.work_per_second).collect();
        assert_eq!(rates, [500.0, 500.0, 500.0, 500.0, 500.0, 600.0, 100.0, 150.0]);
        assert_eq!(fine.samples.iter().map(|sample| sample.at_ms).max(), Some(10_500));
        let [only] = &levels(&all, Some(600))[..] else { panic!("a level") };
        assert_eq!((only.step_seconds, only.samples.len()), (600, 0));
    }

    /// Points of a level, each measured for its whole step.
    fn points(level: usize, numbers: std::ops::Range<u64>) -> Vec<Point> {
        let measured_ms = LEVELS[level].step_seconds * 1000;
        let at = |number| Point {
            level,
            measured_ms,
            work: number * measured_ms / 1000,
            end_ms: 0,
            ..point(number, 0)
        };
        numbers.map(at).collect()
    }

    #[test]
    fn the_whole_run_is_seen_in_few_samples() {
        let mut all: [Vec<Point>; N_LEVELS] = Default::default();
        assert!(run(&all, 300).is_none());
        // The level of seconds holds five minutes of this hour; the level of ten seconds holds all of it.
        (all[0], all[1], all[2]) = (points(0, 3300..3600), points(1, 1..361), points(2, 1..61));
        let curve = run(&all, 400).expect("a curve");
        assert_eq!((curve.step_seconds, curve.samples.len()), (10, 360));
        let curve = run(&all, 100).expect("a curve");
        assert_eq!(curve.step_seconds, 40);
        assert!((80..=100).contains(&curve.samples.len()), "{}", curve.samples.len());
        // Merging loses no measured time, and speeds are averaged.
        let measured: f64 = curve.samples.iter().map(|sample| sample.measured_seconds).sum();
        assert!((measured - 3600.0).abs() < 1e-6, "{measured}");
        assert!((curve.samples[1].work_per_second - 5.5).abs() < 1e-9, "{:?}", curve.samples[1]);
        // One minute: the finest level.
        (all[0], all[1], all[2]) = (points(0, 100..160), Vec::new(), Vec::new());
        assert_eq!(run(&all, 300).map(|curve| curve.step_seconds), Some(1));
        assert!(run(&all, 0).is_some_and(|curve| curve.samples.len() <= 2));
    }
}
