//! The speed of each worker over the last day, by name. It is only in memory: a restart begins it anew.
//!
//! A name has a ring of fixed size per method that it has counted by, 1.2 kB. So 10,000 workers that count by one method take
//! 13 MB with their names, and the 20,000 names that are kept at most take 52 MB.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use queens_model::{Name, WorkerStatus};

/// The length of a fine step.
const FINE_SECONDS: u64 = 5;
/// The fine steps in a coarse one, and the number that are kept.
const N_FINE: usize = 120;
/// The coarse steps that are kept: a day.
const N_COARSE: usize = 144;
const COARSE_SECONDS: u64 = FINE_SECONDS * N_FINE as u64;

/// The maximum number of names. If there are more, those that are not connected go.
const MOST_NAMES: usize = 20_000;

/// The speeds of workers, shared between threads.
#[derive(Clone, Debug, Default)]
pub struct SharedWorkerSpeeds(Arc<Mutex<WorkerSpeeds>>);

impl SharedWorkerSpeeds {
    /// Locks the speeds for reading or changing.
    pub fn lock(&self) -> MutexGuard<'_, WorkerSpeeds> {
        // Holders of the lock leave no inconsistent state, even if they panic.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The measured speeds of all workers.
#[derive(Debug, Default)]
pub struct WorkerSpeeds {
    curves: HashMap<Name, Curve>,
    /// The last sampled step.
    step: Option<u64>,
}

/// A worker's speed over time, at one resolution. The oldest samples come first.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SpeedLevel {
    /// The length of a step.
    pub step_seconds: u64,
    /// The speed by search.
    pub search: Vec<SpeedSample>,
    /// The speed by halves.
    pub halves: Vec<SpeedSample>,
}

/// A worker's mean speed in one step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SpeedSample {
    /// The end of the step, in milliseconds since 1970.
    pub at_ms: u64,
    /// The part of the step in which the worker was connected and measured.
    pub measured_seconds: f64,
    /// Work per second, of all workers of the name.
    pub mean: f64,
}

/// The speeds of the workers of one name.
#[derive(Debug, Default)]
struct Curve {
    search: Option<Box<Ring>>,
    halves: Option<Box<Ring>>,
    /// The last step in which a worker of the name was connected.
    seen: u64,
}

/// The speeds by one method. A step has its place by its number; one that was not measured is not a number.
#[derive(Debug)]
struct Ring {
    fine: [f32; N_FINE],
    /// The means of whole coarse steps, and their measured shares.
    coarse: [f32; N_COARSE],
    n_measured: [u8; N_COARSE],
}

impl WorkerSpeeds {
    /// Samples the workers, once per step. O(workers + names) then, and O(1) at other calls.
    pub(crate) fn sample(&mut self, at_ms: u64, workers: &[WorkerStatus]) {
        let step = at_ms / (FINE_SECONDS * 1000);
        match self.step.replace(step) {
            Some(before) if before == step => return,
            // The clock was set back.
            Some(before) if before > step => self.curves.clear(),
            Some(before) => {
                self.curves.values_mut().flat_map(Curve::rings).for_each(|ring| ring.advance(before, step));
            }
            None => (),
        }
        for worker in workers.iter().filter(|worker| worker.connected) {
            if !self.curves.contains_key(&worker.name) {
                self.curves.insert(worker.name.clone(), Curve::default());
            }
            let Some(curve) = self.curves.get_mut(&worker.name) else { continue };
            curve.seen = step;
            if let Some(speeds) = worker.speed {
                add(&mut curve.search, step, speeds.search.get());
                add(&mut curve.halves, step, speeds.halves.get());
            }
        }
        let oldest = step.saturating_sub((N_FINE * N_COARSE) as u64);
        self.curves.retain(|_, curve| curve.seen >= oldest);
        if self.curves.len() > MOST_NAMES {
            self.curves.retain(|_, curve| curve.seen == step);
        }
    }

    /// Returns the speeds of the workers of a name, the finest level first. O(1).
    pub fn levels(&self, name: &str) -> [SpeedLevel; 2] {
        let known = self.step.zip(name.parse::<Name>().ok().and_then(|name| self.curves.get(&name)));
        let both = |step_seconds, samples: fn(&Ring, u64) -> Vec<SpeedSample>| {
            let of = |(step, Curve { search, halves, .. }): (u64, &Curve)| {
                [search, halves].map(|ring| ring.as_ref().map(|ring| samples(ring, step)).unwrap_or_default())
            };
            let [search, halves] = known.map(of).unwrap_or_default();
            SpeedLevel { step_seconds, search, halves }
        };
        [both(FINE_SECONDS, Ring::fine_samples), both(COARSE_SECONDS, Ring::coarse_samples)]
    }
}

impl Curve {
    fn rings(&mut self) -> impl Iterator<Item = &mut Ring> {
        [&mut self.search, &mut self.halves].into_iter().flatten().map(|ring| &mut **ring)
    }
}

/// Adds the speed of one worker. A method by which the worker has never counted takes no memory.
#[expect(clippy::cast_possible_truncation, reason = "seven digits are enough for a curve")]
fn add(ring: &mut Option<Box<Ring>>, step: u64, speed: f64) {
    if speed <= 0.0 && ring.is_none() {
        return;
    }
    let ring = ring.get_or_insert_with(|| Box::new(Ring::EMPTY));
    let place = &mut ring.fine[fine_place(step)];
    // Several workers may share the name.
    *place = speed as f32 + if place.is_nan() { 0.0 } else { *place };
}

impl Ring {
    const EMPTY: Self =
        Self { fine: [f32::NAN; N_FINE], coarse: [f32::NAN; N_COARSE], n_measured: [0; N_COARSE] };

    /// Makes room for the steps after `before`, up to `step`.
    fn advance(&mut self, before: u64, step: u64) {
        let (last, now) = (before / N_FINE as u64, step / N_FINE as u64);
        if last < now {
            let (mean, n_measured) = self.mean(before);
            (self.coarse[coarse_place(last)], self.n_measured[coarse_place(last)]) = (mean, n_measured);
        }
        for number in (last + 1..now).take(N_COARSE) {
            self.coarse[coarse_place(number)] = f32::NAN;
        }
        for number in (before + 1..=step).take(N_FINE) {
            self.fine[fine_place(number)] = f32::NAN;
        }
    }

    /// Returns the mean of the coarse step up to a fine step, and the number of measured fine steps.
    fn mean(&self, step: u64) -> (f32, u8) {
        let measured = || self.fine[..=fine_place(step)].iter().filter(|speed| !speed.is_nan());
        let n_measured = measured().fold(0_u8, |n, _| n + 1);
        (measured().sum::<f32>() / f32::from(n_measured), n_measured)
    }

    fn fine_samples(&self, step: u64) -> Vec<SpeedSample> {
        let sample = |number| {
            let mean = self.fine[fine_place(number)];
            sample_at(number * FINE_SECONDS, FINE_SECONDS as f64, mean)
        };
        (step.saturating_sub(N_FINE as u64 - 1)..=step).filter_map(sample).collect()
    }

    fn coarse_samples(&self, step: u64) -> Vec<SpeedSample> {
        let now = step / N_FINE as u64;
        let sample = |at_seconds, mean, n_measured| {
            sample_at(at_seconds, f64::from(n_measured) * FINE_SECONDS as f64, mean)
        };
        let whole = |number| {
            let place = coarse_place(number);
            sample((number + 1) * COARSE_SECONDS, self.coarse[place], self.n_measured[place])
        };
        let (mean, n_measured) = self.mean(step);
        let open = sample((step + 1) * FINE_SECONDS, mean, n_measured);
        (now.saturating_sub(N_COARSE as u64 - 1)..now).filter_map(whole).chain(open).collect()
    }
}

fn sample_at(at_seconds: u64, measured_seconds: f64, mean: f32) -> Option<SpeedSample> {
    (!mean.is_nan()).then(|| SpeedSample { at_ms: at_seconds * 1000, measured_seconds, mean: mean.into() })
}

#[expect(clippy::cast_possible_truncation, reason = "a remainder is small")]
const fn fine_place(step: u64) -> usize {
    (step % N_FINE as u64) as usize
}

#[expect(clippy::cast_possible_truncation, reason = "a remainder is small")]
const fn coarse_place(number: u64) -> usize {
    (number % N_COARSE as u64) as usize
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use queens_model::MethodSpeeds;

    use super::super::tests::worker;
    use super::*;

    /// The first step of a day.
    const BEGINNING: u64 = 20_000 * 86_400 / FINE_SECONDS;

    fn of(name: &str, search: u32, halves: u32) -> WorkerStatus {
        let speed = Some(MethodSpeeds { search: search.into(), halves: halves.into() });
        WorkerStatus { name: Name::of_any(name), speed, ..worker(1, true) }
    }

    /// Samples at a step after the beginning.
    fn sample(speeds: &mut WorkerSpeeds, step: u64, workers: &[WorkerStatus]) {
        speeds.sample((BEGINNING + step) * FINE_SECONDS * 1000, workers);
    }

    fn means(samples: &[SpeedSample]) -> Vec<f64> {
        samples.iter().map(|sample| sample.mean).collect()
    }

    #[test]
    fn a_name_has_the_sum_of_its_workers_and_no_sample_while_none_is_there() {
        let mut speeds = WorkerSpeeds::default();
        sample(&mut speeds, 0, &[of("a", 5, 0), of("b", 1, 0), of("a", 2, 0)]);
        sample(&mut speeds, 0, &[of("a", 50, 0)]);
        sample(&mut speeds, 1, &[of("b", 0, 0), worker(2, false)]);
        sample(&mut speeds, 4, &[of("a", 9, 3), WorkerStatus { speed: None, ..of("b", 0, 0) }]);
        let [fine, coarse] = speeds.levels("a");
        assert_eq!((means(&fine.search), means(&fine.halves)), (vec![7.0, 9.0], vec![3.0]));
        assert_eq!(fine.search[1].at_ms - fine.search[0].at_ms, 20_000);
        assert_eq!((means(&coarse.search), coarse.search[0].measured_seconds), (vec![8.0], 10.0));
        let [fine, _] = speeds.levels("b");
        assert_eq!((means(&fine.search), fine.halves), (vec![1.0, 0.0], vec![]));
        for unknown in ["c", "w", "", "a\u{200b}"] {
            assert!(speeds.levels(unknown).iter().all(|level| level.search.is_empty()), "{unknown}");
        }
    }

    #[test]
    fn older_speeds_are_means_of_ten_minutes_for_a_day() {
        let mut speeds = WorkerSpeeds::default();
        let (day, per_step) = ((N_FINE * N_COARSE) as u64, N_FINE as u64);
        // In the first coarse step, half of the time is measured.
        for step in (0..per_step / 2).chain(per_step..2 * per_step).chain(3 * per_step..day) {
            let coarse = u32::try_from(step / per_step).expect("small");
            sample(&mut speeds, step, &[of("a", 10 * coarse + 1, 0)]);
        }
        let [fine, coarse] = speeds.levels("a");
        assert_eq!((fine.search.len(), coarse.search.len()), (N_FINE, N_COARSE - 1));
        assert_eq!(means(&coarse.search)[..3], [1.0, 11.0, 31.0]);
        let measured: Vec<_> = coarse.search.iter().map(|sample| sample.measured_seconds).collect();
        assert_eq!(measured[..2], [300.0, 600.0]);
        assert!(coarse.search.is_sorted_by_key(|sample| sample.at_ms));
        // The next day covers the first, and long silence leaves nothing of it.
        sample(&mut speeds, day + per_step, &[of("a", 7, 0)]);
        let [fine, coarse] = speeds.levels("a");
        assert_eq!((means(&fine.search), means(&coarse.search)[0]), (vec![7.0], 31.0));
        sample(&mut speeds, 3 * day, &[of("a", 8, 0)]);
        assert_eq!(means(&speeds.levels("a")[1].search), [8.0]);
        sample(&mut speeds, 4 * day + 1, &[]);
        assert!(speeds.curves.is_empty());
        // The clock is set back.
        sample(&mut speeds, 5, &[of("a", 9, 0)]);
        assert_eq!(means(&speeds.levels("a")[1].search), [9.0]);
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
            println!("sampled in {:?}; a ring has {} bytes", began.elapsed(), size_of::<Ring>());
        }
        assert_eq!((speeds.curves.len(), size_of::<Ring>()), (MOST_NAMES, 1200));
        assert!(speeds.curves.values().all(|curve| curve.halves.is_none()));
        // One more: only the connected ones stay.
        sample(&mut speeds, 3, &workers(20_000));
        assert_eq!(speeds.curves.len(), 10_000);
        assert!(speeds.levels("w0")[0].search.is_empty() && !speeds.levels("w29999")[0].search.is_empty());
    }
}
