//! How fast the threads of a worker count.

use std::time::Duration;

/// How long a guess counts as if it had been measured, and how much has to be measured to be told.
const GUESS_SECONDS: f64 = 0.1;
const MEASURED_SECONDS: f64 = 0.02;

/// No thread counts more nodes a second.
const FASTEST: f64 = 1e13;

/// The speed of one thread of a worker lately: nodes over time. What was guessed to begin with fades.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MeasuredSpeed {
    guessed: Counted,
    measured: Counted,
    memory_seconds: f64,
}

/// Nodes, and the time that one thread takes for them.
#[derive(Clone, Copy, Debug, Default)]
struct Counted {
    nodes: f64,
    seconds: f64,
}

impl MeasuredSpeed {
    /// A guess to start from, which the first second of measurement outweighs; later `memory_seconds` of each thread
    /// count.
    pub(crate) fn guess(nodes_per_second: f64, n_threads: u32, memory_seconds: f64) -> Self {
        let usable = (1.0..=FASTEST).contains(&nodes_per_second);
        let nodes_per_second = if usable { nodes_per_second } else { 1e7 };
        Self {
            guessed: Counted { nodes: nodes_per_second * GUESS_SECONDS, seconds: GUESS_SECONDS },
            measured: Counted::default(),
            memory_seconds: memory_seconds * f64::from(n_threads),
        }
    }

    /// A thread has counted so many nodes in this time.
    pub(crate) fn add(&mut self, nodes: f64, duration: Duration) {
        self.measured.nodes += nodes;
        self.measured.seconds += duration.as_secs_f64();
        if self.guessed.seconds + self.measured.seconds > self.memory_seconds {
            self.guessed = self.guessed.half();
            self.measured = self.measured.half();
        }
    }

    /// Whether there is hardly a measurement yet.
    pub(crate) fn is_guess(self) -> bool {
        self.measured.seconds < MEASURED_SECONDS
    }

    /// Nodes per second, what was guessed included: there is always one.
    pub(crate) fn nodes_per_second(self) -> f64 {
        let nodes = self.guessed.nodes + self.measured.nodes;
        (nodes / (self.guessed.seconds + self.measured.seconds)).max(1.0)
    }

    /// Nodes per second as measured, if they are.
    pub(crate) fn measured(self) -> Option<f64> {
        (!self.is_guess()).then(|| (self.measured.nodes / self.measured.seconds).max(1.0))
    }
}

impl Counted {
    fn half(self) -> Self {
        Self { nodes: self.nodes / 2.0, seconds: self.seconds / 2.0 }
    }
}
