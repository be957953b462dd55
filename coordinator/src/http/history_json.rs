//! How fast a job was counted, or all of them and by how many workers, as JSON.

use serde::Serialize;

use queens_event_loop::history::{Curves, begins, mean, whole};
use queens_store::history::{LEVELS, Level, N_LEVELS, Point, Subject};

/// Workers report once a second: means over less would go up and down with what happens to fall into it.
const SMOOTH: usize = 5;

/// Samples in even steps, the oldest first. What was not measured is left out.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema), schema(as = Level))]
pub(super) struct LevelView {
    /// The step.
    step_seconds: u64,
    samples: Vec<SampleView>,
}

/// How a job was counted at one time.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema), schema(as = Sample))]
struct SampleView {
    /// When, in milliseconds since 1970.
    at_ms: u64,
    /// For how long of the step that ends then it was measured: not while nobody counted it, or no coordinator ran.
    measured_seconds: f64,
    /// Over what was measured of the step that ends then, or of five seconds if it is shorter.
    nodes_per_second: f64,
    /// The share of the work that was recorded.
    fraction: f64,
}

/// The fleet in even steps, the oldest first. What was not measured is left out.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema), schema(as = FleetLevel))]
pub(super) struct FleetLevelView {
    /// The step.
    step_seconds: u64,
    /// What was counted by search, in nodes per second.
    search: Vec<MeanView>,
    /// What was counted by halves, in units per second.
    halves: Vec<MeanView>,
    /// Connected workers.
    workers: Vec<MeanView>,
}

/// How the fleet stood at one time.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema), schema(as = Mean))]
struct MeanView {
    /// When, in milliseconds since 1970.
    at_ms: u64,
    /// For how long of the step that ends then it was measured: not while nothing was counted, or no coordinator ran.
    measured_seconds: f64,
    /// Over what was measured of the step that ends then, or of five seconds if it is shorter.
    mean: f64,
}

/// The levels of a job, or the one with steps of this length. O(points).
pub(super) fn levels(levels: &[Vec<Point>; N_LEVELS], step_seconds: Option<u64>) -> Vec<LevelView> {
    let all = LEVELS.iter().zip(levels);
    let meant = all.filter(|(level, _)| step_seconds.is_none_or(|asked| asked == level.step_seconds));
    meant.map(|(level, points)| every(level, points)).collect()
}

fn every(level: &Level, points: &[Point]) -> LevelView {
    let sample = |(point, mean): (&Point, MeanView)| SampleView {
        at_ms: mean.at_ms,
        measured_seconds: mean.measured_seconds,
        nodes_per_second: mean.mean,
        fraction: f64::from(point.billionths) / 1e9,
    };
    LevelView { step_seconds: level.step_seconds, samples: means(points).map(sample).collect() }
}

/// A whole curve in at most about `most` samples: neighbours are put together, as many as that takes. `None` if there is
/// nothing to draw a curve of. O(points).
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
            nodes_per_second: mean(points)?,
            fraction: f64::from(last.billionths) / 1e9,
        })
    });
    Some(LevelView { step_seconds: level.step_seconds * n_together, samples: samples.collect() })
}

/// All levels of the fleet. O of its points, which have a bound: 60,000.
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
        // They are kept in milliseconds of a worker.
        workers: all(&workers[at], 1000.0),
    };
    LEVELS.iter().enumerate().map(level).collect()
}

/// The points that say something, and what.
fn means(points: &[Point]) -> impl Iterator<Item = (&Point, MeanView)> {
    (0..points.len()).filter_map(|last| {
        let point = points.get(last)?;
        let first =
            if LEVELS[point.level].step_seconds == 1 { (last + 1).saturating_sub(SMOOTH) } else { last };
        // Not over what nobody measured.
        let begins =
            (first + 1..=last).rev().find(|at| is_gap(&points[at - 1], &points[*at])).unwrap_or(first);
        let measured_seconds = point.measured_ms as f64 / 1000.0;
        Some((
            point,
            MeanView { at_ms: point.at_ms(), measured_seconds, mean: mean(&points[begins..=last])? },
        ))
    })
}

/// Whether there is a step between the two, or more, in which nothing was measured.
fn is_gap(before: &Point, point: &Point) -> bool {
    begins(point).saturating_sub(before.at_ms()) > LEVELS[point.level].step_seconds * 1000
}

#[cfg(test)]
mod tests {
    use queens_model::JobId;

    use super::*;

    fn point(number: u64, nodes: u64) -> Point {
        Point {
            subject: Subject::Job(JobId(1)),
            level: 0,
            number,
            end_ms: 500,
            measured_ms: 1000,
            nodes,
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
        let rates: Vec<f64> = fine.samples.iter().map(|sample| sample.nodes_per_second).collect();
        assert_eq!(rates, [500.0, 500.0, 500.0, 500.0, 500.0, 600.0, 100.0, 150.0]);
        assert_eq!(fine.samples.iter().map(|sample| sample.at_ms).max(), Some(10_500));
        let [only] = &levels(&all, Some(600))[..] else { panic!("a level") };
        assert_eq!((only.step_seconds, only.samples.len()), (600, 0));
    }

    /// Points of a level, each measured for all of its step.
    fn points(level: usize, numbers: std::ops::Range<u64>) -> Vec<Point> {
        let measured_ms = LEVELS[level].step_seconds * 1000;
        let at = |number| Point {
            level,
            measured_ms,
            nodes: number * measured_ms / 1000,
            end_ms: 0,
            ..point(number, 0)
        };
        numbers.map(at).collect()
    }

    #[test]
    fn the_whole_run_is_seen_in_few_samples() {
        let mut all: [Vec<Point>; N_LEVELS] = Default::default();
        assert!(run(&all, 300).is_none());
        // Five minutes of an hour: the steps of ten seconds have all of it.
        (all[0], all[1], all[2]) = (points(0, 3300..3600), points(1, 1..361), points(2, 1..61));
        let curve = run(&all, 400).expect("a curve");
        assert_eq!((curve.step_seconds, curve.samples.len()), (10, 360));
        let curve = run(&all, 100).expect("a curve");
        assert_eq!(curve.step_seconds, 40);
        assert!((80..=100).contains(&curve.samples.len()), "{}", curve.samples.len());
        // Nothing of it is lost, and what is together is measured together.
        let measured: f64 = curve.samples.iter().map(|sample| sample.measured_seconds).sum();
        assert!((measured - 3600.0).abs() < 1e-6, "{measured}");
        assert!((curve.samples[1].nodes_per_second - 5.5).abs() < 1e-9, "{:?}", curve.samples[1]);
        // A minute: the finest.
        (all[0], all[1], all[2]) = (points(0, 100..160), Vec::new(), Vec::new());
        assert_eq!(run(&all, 300).map(|curve| curve.step_seconds), Some(1));
        assert!(run(&all, 0).is_some_and(|curve| curve.samples.len() <= 2));
    }
}
