//! The interface of a history store, which keeps progress curves and events for people.
//!
//! History is separate from the records, because no count depends on it: unreadable or unwritable history is dropped.

use std::fmt::Debug;
use std::sync::Arc;

use queens_model::{Event, JobId, Party};
use queens_solver::Method;

/// A resolution level of the curves: the length and the number of its steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Level {
    /// The length of a step in seconds.
    pub step_seconds: u64,
    /// The number of latest steps that are kept.
    pub n_steps: u64,
    /// The maximum number of points of all jobs together. Beyond it, the oldest are dropped. Points of the fleet don't
    /// count.
    pub most_points: usize,
}

const fn level(step_seconds: u64, n_steps: u64, most_points: usize) -> Level {
    Level { step_seconds, n_steps, most_points }
}

/// The number of levels.
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

/// The subject of a curve: a job, or the whole fleet, which is measured while any job is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Subject {
    /// A job.
    Job(JobId),
    /// All work by search.
    Search,
    /// All work by halves.
    Halves,
    /// The connected workers. Their `nodes` are connection time: three workers for a second make 3000 milliseconds.
    Workers,
}

/// The first number of the fleet's subjects. Job numbers never reach it.
pub(crate) const FIRST_OF_FLEET: u64 = 1 << 62;

impl Subject {
    /// The subjects that are not jobs.
    const FLEET: [Self; 3] = [Self::Search, Self::Halves, Self::Workers];

    /// Returns the fleet's subject of a method.
    #[must_use]
    pub const fn of_method(method: Method) -> Self {
        match method {
            Method::Search => Self::Search,
            Method::Halves => Self::Halves,
        }
    }

    /// Returns whether the subject is a job.
    #[must_use]
    pub const fn is_job(self) -> bool {
        matches!(self, Self::Job(_))
    }

    /// Returns the stored number: a job's own, or one from [`FIRST_OF_FLEET`] on.
    pub(crate) const fn number(self) -> u64 {
        match self {
            Self::Job(job) => job.0,
            Self::Search => FIRST_OF_FLEET,
            Self::Halves => FIRST_OF_FLEET + 1,
            Self::Workers => FIRST_OF_FLEET + 2,
        }
    }

    /// Returns the subject with this stored number.
    pub(crate) fn numbered(number: u64) -> Self {
        let of_fleet = Self::FLEET.into_iter().find(|subject| subject.number() == number);
        of_fleet.unwrap_or(Self::Job(JobId(number)))
    }
}

/// The measured progress of a subject in one step of a level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Point {
    /// The subject.
    pub subject: Subject,
    /// The level, as an index of [`LEVELS`].
    pub level: usize,
    /// The number of the step since 1970.
    pub number: u64,
    /// The time of the last measurement, in milliseconds after the start of the step.
    pub end_ms: u64,
    /// The measured time, in milliseconds.
    pub measured_ms: u64,
    /// The work that was recorded in that time.
    pub work: u64,
    /// The recorded share of the job's work at the end, in billionths.
    pub billionths: u32,
}

impl Level {
    /// Returns the first step to keep if `last` is the last.
    #[must_use]
    pub const fn oldest(&self, last: u64) -> u64 {
        (last + 1).saturating_sub(self.n_steps)
    }
}

impl Point {
    /// Returns the time of the last measurement, in milliseconds since 1970.
    #[must_use]
    pub fn at_ms(&self) -> u64 {
        (self.number * LEVELS[self.level].step_seconds * 1000).saturating_add(self.end_ms)
    }
}

/// The thread time of a party up to the end of a day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartyDay {
    /// The number of the day since 1970, UTC.
    pub day: u32,
    /// The party.
    pub party: Party,
    /// The thread time of all its records and recounts, in microseconds.
    pub time_us: u64,
}

/// How many days of the parties are kept.
pub const PARTY_DAYS: u32 = 400;

/// How many parties a day has, those with the most time.
pub const MOST_PARTIES_OF_A_DAY: usize = 10_000;

/// How many rows of parties are kept in all, the latest: 400 days of a thousand parties that count every day, in
/// 20 MB. A day adds only the parties that counted.
pub const MOST_PARTY_ROWS: usize = 400_000;

/// The history that a coordinator loads at its start.
#[derive(Debug, Default)]
pub struct Past {
    /// The points, in any order.
    pub points: Vec<Point>,
    /// The events, in the order of their numbers.
    pub events: Vec<Arc<Event>>,
    /// The days of the parties, in any order.
    pub days: Vec<PartyDay>,
    /// Whether all of this is stored. If not, the stored history is damaged, and this is its readable rest.
    pub is_stored: bool,
}

/// An update of the stored history: additions and removals.
#[derive(Debug, Default)]
pub struct Change {
    /// New points. They replace points of the same subject, level and number.
    pub points: Vec<Point>,
    /// Per level, the first step to keep of jobs, and the last step. Of the fleet, all steps of the level are kept.
    pub kept: [(u64, u64); LEVELS.len()],
    /// New events.
    pub events: Vec<Arc<Event>>,
    /// The first number to keep of events [by workers](queens_model::EventKind::is_by_workers), and of all others.
    pub first_events: (u64, u64),
    /// New days of parties. They replace those of the same party and day.
    pub days: Vec<PartyDay>,
    /// The first day to keep.
    pub first_day: u32,
}

/// Why a change was not stored.
#[derive(Debug)]
pub enum NotKept {
    /// A retry may succeed.
    Failed(String),
    /// All stored history is lost and must be stored again.
    Lost(String),
}

/// A store of history.
pub trait History: Debug + Send {
    /// Loads the stored history. Logs errors, and omits unreadable rows.
    fn load(&mut self) -> Past;

    /// Stores a change atomically.
    ///
    /// # Errors
    /// If it is not stored.
    fn store(&mut self, change: &Change) -> Result<(), NotKept>;
}
