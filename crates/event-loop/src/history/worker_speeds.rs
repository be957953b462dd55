//! The speed of each worker over time, by name. It is only in memory: a restart begins it anew.
//!
//! A name has a curve per method that it has counted by, of 4 kB at most. So 10,000 workers that count by one method
//! take 41 MB, and the 20,000 names that are kept at most take twice that.

use std::collections::HashMap;

use queens_model::{Name, WorkerStatus};
use queens_store::history::{Curve, Point};

/// The sampling interval, and the length of the first steps.
const STEP_SECONDS: u64 = 5;

/// The maximum number of points in a curve, which is one less than the memory of a power of two has room for.
const MOST_POINTS: usize = 127;

/// How long a name is kept that no worker has.
const DAY_MS: u64 = 86_400_000;

/// The maximum number of names. If there are more, those that are not connected go.
const MOST_NAMES: usize = 20_000;

/// The measured speeds of all workers.
#[derive(Debug, Default)]
pub struct WorkerSpeeds {
    /// By search and by halves.
    curves: HashMap<Name, [Curve; 2]>,
    /// The last sampled step.
    step: Option<u64>,
}

impl WorkerSpeeds {
    /// Samples the workers, once per step. O(workers + names) then, and O(1) at other calls.
    pub(crate) fn sample(&mut self, at_ms: u64, workers: &[WorkerStatus]) {
        let step = at_ms / (STEP_SECONDS * 1000);
        if self.step.replace(step) == Some(step) {
            return;
        }
        // Several workers may share a name.
        let mut by_name: HashMap<&Name, [f64; 2]> = HashMap::new();
        for worker in workers.iter().filter(|worker| worker.connected) {
            if let Some(speeds) = worker.speed {
                let [search, halves] = by_name.entry(&worker.name).or_default();
                *search += speeds.search.get();
                *halves += speeds.halves.get();
            }
        }
        for (name, speeds) in by_name {
            if !self.curves.contains_key(name) {
                self.curves.insert(name.clone(), [Curve::new(STEP_SECONDS), Curve::new(STEP_SECONDS)]);
            }
            let Some(curves) = self.curves.get_mut(name) else { continue };
            for (curve, speed) in curves.iter_mut().zip(speeds) {
                add(curve, at_ms, speed);
            }
        }
        let seen_ms = |curves: &[Curve; 2]| {
            let last = |curve: &Curve| curve.points.last().map(|point| point.at_ms);
            curves.iter().filter_map(last).max()
        };
        self.curves.retain(|_, curves| seen_ms(curves).is_some_and(|seen| seen + DAY_MS >= at_ms));
        if self.curves.len() > MOST_NAMES {
            self.curves.retain(|_, curves| seen_ms(curves) == Some(at_ms));
        }
    }

    /// Returns the speeds of the workers of a name, by search and by halves.
    pub fn curves(&self, name: &str) -> [Curve; 2] {
        let known = name.parse::<Name>().ok().and_then(|name| self.curves.get(&name));
        known.cloned().unwrap_or_default()
    }
}

/// Adds the speed in one step. A method by which the workers have never counted takes no memory.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "speeds are not negative")]
fn add(curve: &mut Curve, at_ms: u64, speed: f64) {
    if speed <= 0.0 && curve.points.is_empty() {
        return;
    }
    let work = (speed * STEP_SECONDS as f64).round() as u64;
    curve.add(Point { at_ms, measured_ms: STEP_SECONDS * 1000, work, billionths: 0 }, MOST_POINTS);
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use queens_model::MethodSpeeds;
    use queens_store::history::mean;

    use super::super::tests::worker;
    use super::*;

    /// The first step of a day.
    const BEGINNING: u64 = 20_000 * 86_400 / STEP_SECONDS;

    fn of(name: &str, search: u32, halves: u32) -> WorkerStatus {
        let speed = Some(MethodSpeeds { search: search.into(), halves: halves.into() });
        WorkerStatus { name: Name::of_any(name), speed, ..worker(1, true) }
    }

    /// Samples at a step after the beginning.
    fn sample(speeds: &mut WorkerSpeeds, step: u64, workers: &[WorkerStatus]) {
        speeds.sample((BEGINNING + step) * STEP_SECONDS * 1000, workers);
    }

    fn means(curve: &Curve) -> Vec<f64> {
        curve.points.iter().filter_map(|point| mean([point])).collect()
    }

    #[test]
    fn a_name_has_the_sum_of_its_workers_and_no_sample_while_none_is_there() {
        let mut speeds = WorkerSpeeds::default();
        sample(&mut speeds, 0, &[of("a", 5, 0), of("b", 1, 0), of("a", 2, 0)]);
        sample(&mut speeds, 0, &[of("a", 50, 0)]);
        sample(&mut speeds, 1, &[of("b", 0, 0), worker(2, false)]);
        sample(&mut speeds, 4, &[of("a", 9, 3), WorkerStatus { speed: None, ..of("b", 0, 0) }]);
        let [search, halves] = speeds.curves("a");
        assert_eq!((means(&search), means(&halves)), (vec![7.0, 9.0], vec![3.0]));
        assert_eq!(search.points[1].at_ms - search.points[0].at_ms, 20_000);
        let [search, halves] = speeds.curves("b");
        assert_eq!((means(&search), means(&halves)), (vec![1.0, 0.0], vec![]));
        for unknown in ["c", "w", "", "a\u{200b}"] {
            assert!(speeds.curves(unknown).iter().all(|curve| curve.points.is_empty()), "{unknown}");
        }
    }

    #[test]
    fn a_curve_gets_coarser_and_goes_after_a_day_without_its_workers() {
        let mut speeds = WorkerSpeeds::default();
        let day = 86_400 / STEP_SECONDS;
        (0..day).for_each(|step| sample(&mut speeds, step, &[of("a", 7, 0)]));
        let [search, _] = speeds.curves("a");
        assert_eq!((search.step_seconds, search.points.len()), (1280, 68));
        assert!(means(&search).iter().all(|mean| (mean - 7.0).abs() < 1e-9));
        sample(&mut speeds, 2 * day - 1, &[of("b", 1, 0)]);
        assert_eq!(speeds.curves("a")[0], search);
        sample(&mut speeds, 2 * day, &[of("b", 1, 0)]);
        assert!(speeds.curves("a")[0].points.is_empty() && speeds.curves.len() == 1);
        // The clock is set back.
        sample(&mut speeds, 5, &[of("b", 9, 0)]);
        assert_eq!(means(&speeds.curves("b")[0]), [9.0]);
    }

    #[test]
    fn ten_thousand_workers_cost_little() {
        let mut speeds = WorkerSpeeds::default();
        let workers = |from: u32| -> Vec<_> {
            (from..from + 10_000).map(|id| of(&format!("w{id}"), id + 1, 0)).collect()
        };
        sample(&mut speeds, 0, &workers(0));
        sample(&mut speeds, 1, &workers(10_000));
        let began = Instant::now();
        sample(&mut speeds, 2, &workers(10_000));
        #[expect(clippy::print_stdout, reason = "shown with --nocapture")]
        {
            println!("sampled in {:?}", began.elapsed());
        }
        assert_eq!((speeds.curves.len(), size_of::<Point>() * (MOST_POINTS + 1)), (MOST_NAMES, 4096));
        assert!(speeds.curves.values().all(|[_, halves]| halves.points.capacity() == 0));
        // One more: only the connected ones stay.
        sample(&mut speeds, 3, &workers(20_000));
        assert_eq!(speeds.curves.len(), 10_000);
        assert!(speeds.curves("w0")[0].points.is_empty() && !speeds.curves("w29999")[0].points.is_empty());
    }
}
