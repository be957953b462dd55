//! Computes a job's progress history for display: its rates over time, and the state of its parts.

use std::time::Duration;

use queens_ledger::PartStatus;
use queens_model::{Fraction, JobStatus, PartGroup, ProgressHistory, Speed};
use queens_solver::Choice;
use queens_store::history::{Curve, Subject};

use crate::history::SharedCurves;
use crate::snapshot::Details;

/// The shortest interval of a rate. In small clusters, workers report once a second: rates over less would fluctuate
/// with the reports.
const SMOOTH_MS: u64 = 5000;

/// The shortest measured time for a meaningful rate.
const SHORTEST_MS: u64 = 500;

/// Returns the rates of a job in at most `most` equal intervals of its measured time. O(points + intervals).
pub(crate) fn rates(job: &JobStatus, curves: &SharedCurves, at_ms: u64, most: usize) -> ProgressHistory {
    let (curve, speeds) = {
        let curves = curves.lock();
        (curves.curve(Subject::Job(job.id)), curves.speeds(job.id, at_ms))
    };
    let (span, rates) = intervals(&curve, most).unwrap_or_default();
    ProgressHistory { span, rates, now: speeds.now.and_then(speed), groups: Vec::new() }
}

/// Summarises the parts of a job in at most `most` groups. O(parts of the plan).
pub(crate) fn groups(job: &JobStatus, details: &Details, most: usize) -> Vec<PartGroup> {
    let counted = job.terms.part_range;
    let all = (0..).zip(details.plan.parts()).zip(&details.parts);
    let counted = all.filter(|((number, _), _)| counted.is_none_or(|parts| parts.contains(*number)));
    let counted: Vec<_> = counted.map(|((_, planned), status)| (planned.choice(), status)).collect();
    let n_together = counted.len().div_ceil(most.max(1)).max(1);
    let group = |parts: &[(&Choice, &PartStatus)]| {
        let (mut group, mut work, mut recorded) = (PartGroup::default(), 0.0_f64, 0.0);
        for (choice, status) in parts {
            let is_done = status.n_recorded >= choice.n_subproblems;
            group.n_parts += 1;
            group.n_done += u32::from(is_done);
            group.n_begun += u32::from(!is_done && status.n_recorded > 0);
            // A part without work counts as one.
            let of_it = (choice.work as f64).max(1.0);
            work += of_it;
            recorded += of_it * (status.n_recorded as f64 / choice.n_subproblems.max(1) as f64).min(1.0);
        }
        let share = if group.n_done == group.n_parts { 1.0 } else { (recorded / work).clamp(0.0, 1.0) };
        PartGroup { fraction: Fraction::try_from(share).unwrap_or_default(), ..group }
    };
    counted.chunks(n_together).map(group).collect()
}

/// Returns the covered time, and the rates in equal intervals of it.
fn intervals(curve: &Curve, most: usize) -> Option<(Duration, Vec<Option<Speed>>)> {
    let begin = curve.points.first()?.begins_ms();
    let span_ms = curve.points.last()?.at_ms.saturating_sub(begin).max(1);
    let finest_ms = (curve.step_seconds * 1000).max(SMOOTH_MS);
    let n = usize::try_from(span_ms / finest_ms).unwrap_or(usize::MAX).clamp(1, most.max(1));
    let step_ms = span_ms.div_ceil(n as u64);
    let mut sums = vec![Sum::default(); n];
    for point in &curve.points {
        let (from, to) = (point.begins_ms().max(begin), point.at_ms);
        if from >= to {
            continue;
        }
        let first = usize::try_from((from - begin) / step_ms).unwrap_or(n);
        for (sum, at) in sums.iter_mut().zip(0..).skip(first) {
            let starts = begin + at * step_ms;
            if starts >= to {
                break;
            }
            let shared_ms = to.min(starts + step_ms).saturating_sub(from.max(starts));
            sum.work += point.work as f64 * shared_ms as f64 / (to - from) as f64;
            sum.measured_ms += shared_ms;
        }
    }
    Some((Duration::from_millis(span_ms), sums.into_iter().map(Sum::rate).collect()))
}

/// The sums over one interval. A point in several intervals counts proportionally in each.
#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    work: f64,
    measured_ms: u64,
}

impl Sum {
    fn rate(self) -> Option<Speed> {
        let rate = self.work * 1000.0 / self.measured_ms as f64;
        if self.measured_ms >= SHORTEST_MS { speed(rate) } else { None }
    }
}

fn speed(work_per_second: f64) -> Option<Speed> {
    Speed::try_from(work_per_second).ok()
}

#[cfg(test)]
mod tests {
    use queens_store::history::Point;

    use super::*;

    /// Returns a point that was measured during all of its step.
    const fn point(step_seconds: u64, number: u64, work_per_second: u64) -> Point {
        let step_ms = step_seconds * 1000;
        let work = work_per_second * step_seconds;
        Point { at_ms: (number + 1) * step_ms, measured_ms: step_ms, work, billionths: 0 }
    }

    #[track_caller]
    fn check(step_seconds: u64, points: &[Point], most: usize, seconds: u64, expected: &[Option<f64>]) {
        let curve = Curve { step_seconds, points: points.into() };
        let (span, rates) = intervals(&curve, most).unwrap_or_default();
        let rates: Vec<Option<f64>> = rates.into_iter().map(|rate| rate.map(Speed::get)).collect();
        assert_eq!((span, &rates[..]), (Duration::from_secs(seconds), expected));
    }

    #[test]
    fn rates_are_those_of_equal_intervals() {
        check(1, &[], 10, 0, &[]);
        let fine: Vec<Point> = (0..20).map(|number| point(1, 1000 + number, number / 10 * 100)).collect();
        check(1, &fine, 10, 20, &[Some(0.0), Some(0.0), Some(100.0), Some(100.0)]);
        check(1, &fine, 2, 20, &[Some(0.0), Some(100.0)]);
        check(1, &fine, 1, 20, &[Some(50.0)]);
        check(1, &fine[..1], 10, 1, &[Some(0.0)]);
        // Time that nobody measured has no rate.
        let with_gap: Vec<Point> =
            fine.iter().copied().filter(|point| !(1_006_000..=1_010_000).contains(&point.at_ms)).collect();
        check(1, &with_gap, 10, 20, &[Some(0.0), None, Some(100.0), Some(100.0)]);
        // Intervals that are no multiple of a step have no gaps, and count no work twice.
        let coarse: Vec<Point> = (0..7).map(|number| point(10, 1000 + number, 60)).collect();
        check(10, &coarse, 3, 70, &[Some(60.0), Some(60.0), Some(60.0)]);
        let rising = [point(10, 1000, 30), point(10, 1001, 60), point(10, 1002, 60)];
        check(10, &rising, 2, 30, &[Some(40.0), Some(60.0)]);
    }
}
