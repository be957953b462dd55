//! The interface of a history store, which keeps progress curves and events for people.
//!
//! History is separate from the records, because no count depends on it: unreadable or unwritable history is dropped.

mod curve;

use std::fmt::Debug;
use std::sync::Arc;

use queens_model::{Event, JobId, Party};
use queens_solver::Method;

pub use self::curve::{Curve, MOST_POINTS, Point, mean};

/// The maximum number of jobs with a curve, those that were measured last. With the fleet's, they take 8 MB.
pub const MOST_CURVES: usize = 500;

/// The subject of a curve: a job, or the whole fleet, which is measured while any job is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Subject {
    /// A job.
    Job(JobId),
    /// All work by search.
    Search,
    /// All work by halves.
    Halves,
    /// The connected workers. Their work is connection time: three workers for a second make 3000 milliseconds.
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
    /// The curves.
    pub curves: Vec<(Subject, Curve)>,
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
    /// New curves. They replace those of the same subjects; an empty one only removes.
    pub curves: Vec<(Subject, Curve)>,
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
