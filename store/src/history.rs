//! What is kept for people of what has happened: how fast jobs were counted, and events. It lies beside the records and
//! apart from them, because it is never worth a count: what can't be read or written of it is dropped.

use std::fmt::Debug;
use std::sync::Arc;

use queens_model::{Event, JobId};
use queens_solver::Method;

/// A level of the curves: how long its steps are, and what is kept of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Level {
    /// The length of a step in seconds.
    pub step_seconds: u64,
    /// The steps back from now that are kept.
    pub n_steps: u64,
    /// The points of all jobs together that are kept: if there are more, the oldest go. Those of the fleet are not
    /// among them.
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

/// What a curve is of: a job, or the whole fleet, which is measured while any job is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Subject {
    /// A job.
    Job(JobId),
    /// All that is counted by search.
    Search,
    /// All that is counted by halves.
    Halves,
    /// The workers that are connected. In place of nodes, they have the time for which they were: three for a second
    /// make 3000 milliseconds.
    Workers,
}

/// The first number of what is no job. Those of jobs never come so far.
pub(crate) const FIRST_OF_FLEET: u64 = 1 << 62;

impl Subject {
    /// Those that are no jobs.
    const FLEET: [Self; 3] = [Self::Search, Self::Halves, Self::Workers];

    /// What the whole fleet counts by a method.
    #[must_use]
    pub const fn of_method(method: Method) -> Self {
        match method {
            Method::Search => Self::Search,
            Method::Halves => Self::Halves,
        }
    }

    /// Whether it is a job.
    #[must_use]
    pub const fn is_job(self) -> bool {
        matches!(self, Self::Job(_))
    }

    /// The number it is stored by: a job's own, or one from [`FIRST_OF_FLEET`] on.
    pub(crate) const fn number(self) -> u64 {
        match self {
            Self::Job(job) => job.0,
            Self::Search => FIRST_OF_FLEET,
            Self::Halves => FIRST_OF_FLEET + 1,
            Self::Workers => FIRST_OF_FLEET + 2,
        }
    }

    /// What is stored by this number.
    pub(crate) fn numbered(number: u64) -> Self {
        let of_fleet = Self::FLEET.into_iter().find(|subject| subject.number() == number);
        of_fleet.unwrap_or(Self::Job(JobId(number)))
    }
}

/// What was counted of a job, or by the fleet, in one step of a level, as far as somebody measured it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Point {
    /// What it is of.
    pub subject: Subject,
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
    /// The recorded share of a job's work at the end, in billionths.
    pub billionths: u32,
}

impl Level {
    /// The first step that is kept when this one is the last.
    #[must_use]
    pub const fn oldest(&self, last: u64) -> u64 {
        (last + 1).saturating_sub(self.n_steps)
    }
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
    /// Points that are new, or in place of others of their subject, level and number.
    pub points: Vec<Point>,
    /// By level: the first step that is kept of jobs, and the last. Of the fleet, all steps of the level are kept.
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
