//! What is kept for people of what has happened: how fast jobs were counted, and events. It lies beside the records and
//! apart from them, because it is never worth a count: what can't be read or written of it is dropped.

use std::fmt::Debug;
use std::sync::Arc;

use queens_messages::{Event, JobId};

/// A level of the curves: how long its steps are, and what is kept of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Level {
    /// The length of a step in seconds.
    pub step_seconds: u64,
    /// The steps back from now that are kept.
    pub n_steps: u64,
    /// The points of all jobs together that are kept: if there are more, the oldest go.
    pub most_points: usize,
}

const fn level(step_seconds: u64, n_steps: u64, most_points: usize) -> Level {
    Level { step_seconds, n_steps, most_points }
}

/// How many levels there are.
pub const N_LEVELS: usize = 6;

/// The levels: five minutes, two hours, a day, thirty days, a year and ten years.
pub const LEVELS: [Level; N_LEVELS] = [
    level(1, 300, 1200),
    level(10, 720, 2880),
    level(60, 1440, 2880),
    level(600, 4320, 6480),
    level(3600, 8784, 10_980),
    level(86_400, 3660, 4880),
];

/// What was counted of a job in one step of a level, as far as somebody measured it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Point {
    /// The job.
    pub job: JobId,
    /// The level: its place in [`LEVELS`].
    pub level: usize,
    /// The step: so many of them lie between it and 1970.
    pub number: u64,
    /// When it was last measured, in milliseconds after the beginning of the step.
    pub end_ms: u64,
    /// For how long it was measured, in milliseconds.
    pub measured_ms: u64,
    /// The nodes that were recorded in that time.
    pub nodes: u64,
    /// The recorded share of the work at the end, in billionths.
    pub billionths: u32,
}

impl Point {
    /// When it was last measured, in milliseconds since 1970.
    #[must_use]
    pub fn at_ms(&self) -> u64 {
        (self.number * LEVELS[self.level].step_seconds * 1000).saturating_add(self.end_ms)
    }
}

/// What is known of the past when a coordinator starts.
#[derive(Debug, Default)]
pub struct Past {
    /// In any order.
    pub points: Vec<Point>,
    /// In the order of their numbers.
    pub events: Vec<Arc<Event>>,
    /// Whether all of this is stored: not, if what was is damaged, and this is what could be read of it.
    pub is_stored: bool,
}

/// What is to be stored, and what is not kept any more.
#[derive(Debug, Default)]
pub struct Change {
    /// Points that are new, or in place of others of their job, level and number.
    pub points: Vec<Point>,
    /// By level: the first and the last step that are kept.
    pub kept: [(u64, u64); LEVELS.len()],
    /// Events that are new.
    pub events: Vec<Arc<Event>>,
    /// The first number that is kept of events about workers, and of all others.
    pub first_events: (u64, u64),
}

/// Why a change was not stored.
#[derive(Debug)]
pub enum NotKept {
    /// It may work later.
    Failed(String),
    /// All that was stored is lost, and has to be stored again.
    Lost(String),
}

/// Stores history.
pub trait History: Debug + Send {
    /// What is stored. Whatever is wrong with it is logged, and costs what can't be read.
    fn load(&mut self) -> Past;

    /// Stores a change, all of it or nothing.
    ///
    /// # Errors
    /// If it is not stored.
    fn store(&mut self, change: &Change) -> Result<(), NotKept>;
}
