//! The measured speed of a worker's threads.

use std::time::Duration;

/// The weight of the initial guess as measured time, and the time that a measurement needs before it is reported.
const GUESS_SECONDS: f64 = 0.1;
const MEASURED_SECONDS: f64 = 0.02;

/// A measured speed below this share of the guess counts as this share.
const LEAST_OF_GUESS: f64 = 1e-6;

/// No thread is believed to count more work units a second: some twenty times the fastest graphics card of 2026.
const FASTEST: f64 = 1e12;

/// No claim of more work units a second is believed, which is ten times the fastest processor of 2026.
const MOST_CLAIMED: f64 = 1e10;

/// The recent speed of one thread of a worker: work units over time. The initial guess fades.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MeasuredSpeed {
    guess: f64,
    /// The time that the guess is worth.
    guess_seconds: f64,
    measured: Counted,
    memory_seconds: f64,
    /// The mean of both, which is asked for more often than it changes.
    pub(crate) work_per_second: f64,
}

/// Work units, and the time that one thread takes for them.
#[derive(Clone, Copy, Debug, Default)]
struct Counted {
    work: f64,
    seconds: f64,
}

impl MeasuredSpeed {
    /// Creates a guess from a claim, which the first second of measurement outweighs. A claim above the `usual` speed
    /// of other threads, if that is known, is not believed. Later, `memory_seconds` of each thread count.
    pub(crate) fn guess(claimed: f64, usual: Option<f64>, n_threads: u32, memory_seconds: f64) -> Self {
        let claimed = if claimed >= 1.0 { claimed } else { 1e7 };
        let work_per_second = claimed.min(usual.unwrap_or(MOST_CLAIMED).max(1.0));
        Self {
            guess: work_per_second,
            guess_seconds: GUESS_SECONDS,
            measured: Counted::default(),
            memory_seconds: memory_seconds * f64::from(n_threads),
            work_per_second,
        }
    }

    /// Adds the work units that a thread has counted in this time.
    pub(crate) fn add(&mut self, work: f64, duration: Duration) {
        self.measured.work += work;
        self.measured.seconds += duration.as_secs_f64();
        if self.guess_seconds + self.measured.seconds > self.memory_seconds {
            self.guess_seconds /= 2.0;
            self.measured = self.measured.half();
        }
        if self.measured.seconds > 0.0 {
            self.work_per_second = self.mean();
        }
    }

    /// Returns the measured share of the time after which old measurements fade: 0 at first, then 1.
    pub(crate) fn measured_share(self) -> f64 {
        // At the end of its memory, half of it fades.
        (2.0 * self.measured.seconds / self.memory_seconds).min(1.0)
    }

    /// Whether there is hardly a measurement yet.
    pub(crate) fn is_guess(self) -> bool {
        self.measured.seconds < MEASURED_SECONDS
    }

    /// Computes the geometric mean of the guess and the measurement, weighted by their times. A guess may be wrong by a
    /// factor of thousands, and in a mean of the speeds themselves it would stay the largest part of it.
    fn mean(self) -> f64 {
        // Subproblems that hold nothing say nothing of the speed.
        let measured = self.measured.per_second().clamp(self.guess * LEAST_OF_GUESS, FASTEST);
        let weight = self.guess_seconds / (self.guess_seconds + self.measured.seconds);
        (self.guess.powf(weight) * measured.powf(1.0 - weight)).max(1.0)
    }

    /// Returns the measured work units per second, if measured.
    pub(crate) fn measured(self) -> Option<f64> {
        (!self.is_guess()).then(|| self.measured.per_second().clamp(1.0, FASTEST))
    }
}

impl Counted {
    fn per_second(self) -> f64 {
        self.work / self.seconds
    }

    fn half(self) -> Self {
        Self { work: self.work / 2.0, seconds: self.seconds / 2.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the speed after a guess, and this long at another speed.
    #[track_caller]
    fn check(guess: f64, measured: f64, seconds: f64, expected: f64) {
        let mut speed = MeasuredSpeed::guess(guess, None, 1, 30.0);
        speed.add(measured * seconds, Duration::from_secs_f64(seconds));
        let ratio = speed.work_per_second / expected;
        assert!((0.99..1.01).contains(&ratio), "{} instead of {expected}", speed.work_per_second);
    }

    #[test]
    fn a_guess_fades() {
        check(1e9, 1e9, 5.0, 1e9);
        check(1e9, 4e9, 0.1, 2e9);
        check(1e9, 0.0, 0.0, 1e9);
        // A card that is a processor, which claims a card's speed.
        check(2e10, 5e5, 10.0, 5.55e5);
        check(1e9, 1e11, 10.0, 0.955e11);
        // Nothing was there to count.
        check(1e9, 0.0, 0.1, 1e6);
    }

    #[test]
    fn a_claim_only_bounds_from_above() {
        let guess = |claimed, usual| MeasuredSpeed::guess(claimed, usual, 1, 30.0).work_per_second;
        assert_eq!(guess(1e9, Some(1e8)), 1e8);
        assert_eq!(guess(1e7, Some(1e8)), 1e7);
        assert_eq!(guess(1e13, None), MOST_CLAIMED);
        assert_eq!([f64::NAN, -1.0, 0.0].map(|claimed| guess(claimed, None)), [1e7; 3]);
        let mut speed = MeasuredSpeed::guess(1e9, None, 1, 30.0);
        speed.add(1e30, Duration::from_secs(10));
        assert_eq!(speed.measured(), Some(FASTEST));
    }

    #[test]
    fn a_speed_stays_what_it_is_for_years() {
        let mut speed = MeasuredSpeed::guess(1e9, None, 16, 30.0);
        for _ in 0..1_000_000 {
            speed.add(5e9 * 300.0, Duration::from_secs(300));
        }
        assert!((4.99e9..5.01e9).contains(&speed.work_per_second), "{speed:?}");
    }
}
