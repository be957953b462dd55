//! The measured speed of a worker's threads.

use std::time::Duration;

/// The weight of the initial guess as measured time, and the time that a measurement needs before it is reported.
const GUESS_SECONDS: f64 = 0.1;
const MEASURED_SECONDS: f64 = 0.02;

/// No thread counts more nodes a second.
const FASTEST: f64 = 1e13;

/// The recent speed of one thread of a worker: work units over time. The initial guess fades.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MeasuredSpeed {
    guessed: Counted,
    measured: Counted,
    memory_seconds: f64,
}

/// Work units, and the time that one thread takes for them.
#[derive(Clone, Copy, Debug, Default)]
struct Counted {
    work: f64,
    seconds: f64,
}

impl MeasuredSpeed {
    /// Creates a guess, which the first second of measurement outweighs. Later, `memory_seconds` of each thread count.
    pub(crate) fn guess(work_per_second: f64, n_threads: u32, memory_seconds: f64) -> Self {
        let usable = (1.0..=FASTEST).contains(&work_per_second);
        let work_per_second = if usable { work_per_second } else { 1e7 };
        Self {
            guessed: Counted { work: work_per_second * GUESS_SECONDS, seconds: GUESS_SECONDS },
            measured: Counted::default(),
            memory_seconds: memory_seconds * f64::from(n_threads),
        }
    }

    /// Adds the work units that a thread has counted in this time.
    pub(crate) fn add(&mut self, work: f64, duration: Duration) {
        self.measured.work += work;
        self.measured.seconds += duration.as_secs_f64();
        if self.guessed.seconds + self.measured.seconds > self.memory_seconds {
            self.guessed = self.guessed.half();
            self.measured = self.measured.half();
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

    /// Returns work units per second, from the guess and the measurement.
    pub(crate) fn work_per_second(self) -> f64 {
        let work = self.guessed.work + self.measured.work;
        (work / (self.guessed.seconds + self.measured.seconds)).max(1.0)
    }

    /// Returns the measured work units per second, if measured.
    pub(crate) fn measured(self) -> Option<f64> {
        (!self.is_guess()).then(|| (self.measured.work / self.measured.seconds).max(1.0))
    }
}

impl Counted {
    fn half(self) -> Self {
        Self { work: self.work / 2.0, seconds: self.seconds / 2.0 }
    }
}
