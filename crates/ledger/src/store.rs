//! The storage trait for a coordinator's jobs, and the values that it stores.

pub mod draw;
pub mod lineage;
pub mod memory;

pub(crate) mod record;

pub use self::record::{MAX_COUNT, MAX_DURATION, Record, SecondCount, Source, Verdict};

use std::collections::BTreeMap;
use std::fmt::{self, Display, Formatter};
use std::hash::Hasher;
use std::path::{Path, PathBuf};
use std::time::Duration;

use queens_model::{JobId, JobIdentity, Name, PartRange, Party, Priority, Terms};
use queens_solver::{BoardSize, Choice, Method, Span};
use siphasher::sip128::{Hasher128, SipHasher24};
use thiserror::Error;

use crate::intervals::{Extent, Intervals};
use crate::store::draw::{Draw, Drawn, Recorded};

/// Stores the durable state of jobs: their plans, records and operators' decisions.
pub trait Store: Send {
    /// Returns everything that a coordinator needs to continue. Called once, first; changes nothing.
    ///
    /// # Errors
    /// If the stored state can't be read or contradicts itself.
    fn load(&mut self) -> Result<Stored, StoreError>;

    /// Makes all writes durable, in order, or none of them. May be called again with the same writes after an error:
    /// every write sets a value, so that repeating it changes nothing.
    ///
    /// # Errors
    /// If the writes could not be made durable: [`StoreError::Failed`] if a retry may help, as when the disk is full.
    fn commit(&mut self, writes: &[Write]) -> Result<(), StoreError>;

    /// Returns the record of exactly this span, if there is one.
    ///
    /// # Errors
    /// If the records can't be read.
    fn find(&mut self, job: JobId, span: Span) -> Result<Option<Recorded>, StoreError>;

    /// Confirms that this coordinator may still write to the store. Answers that need no write are given only after
    /// this.
    ///
    /// # Errors
    /// If another coordinator may write instead, or nobody can tell.
    fn confirm(&mut self) -> Result<(), StoreError> {
        Ok(())
    }

    /// Returns the next records to recount, from [some](draw::MOST_SEEN) that are looked at.
    ///
    /// # Errors
    /// If they can't be read.
    fn draw(&mut self, draw: &Draw) -> Result<Drawn, StoreError>;
}

/// Why a store can't be used, or a request to it failed.
#[derive(Debug, Error)]
pub enum StoreError {
    /// Another process has it open.
    #[error("{0} is in use by another process")]
    InUse(StoreName),
    /// Another coordinator leads, and only the leader may use the store.
    #[error("the coordinator at {leader} leads: it alone may use {place}")]
    Led {
        /// The store.
        place: StoreName,
        /// The address of the leader.
        leader: String,
    },
    /// The store can't be created, read or written.
    #[error("cannot use {place}: {reason}")]
    Unusable {
        /// The store.
        place: StoreName,
        /// The system's message.
        reason: String,
    },
    /// The data was written by a newer program, or is not ours.
    #[error("{place} was written by another version: {reason}")]
    Version {
        /// The store.
        place: StoreName,
        /// The version found, and those that are understood.
        reason: String,
    },
    /// The data can't be read, or contradicts itself. This is permanent.
    #[error("{place} is damaged: {reason}: {}", place.remedy())]
    Damaged {
        /// The store.
        place: StoreName,
        /// The defect.
        reason: String,
    },
    /// The data of one job contradicts itself. This is permanent, and does not affect other jobs.
    #[error("job {job} is damaged: {reason}")]
    DamagedJob {
        /// The job.
        job: JobId,
        /// The defect.
        reason: String,
    },
    /// No store could hold these writes.
    #[error("cannot store this: {0}")]
    Impossible(String),
    /// Another coordinator leads now, or the store is in another state than this one left it in, so it may not write.
    /// This is permanent; the next leader reads everything anew.
    #[error("this coordinator leads no more: {0}")]
    Fenced(String),
    /// A read or write failed; a retry may help.
    #[error("cannot write to the store: {0}")]
    Failed(String),
}

/// The location of a store, for messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoreName {
    /// A data directory.
    Directory(PathBuf),
    /// A database on a server, by its display name.
    Database(String),
}

impl StoreName {
    /// Returns the advice about damage.
    fn remedy(&self) -> String {
        let from = match self {
            Self::Directory(path) => path.display().to_string(),
            // The display name hides passwords, so it can't be typed.
            Self::Database(_) => "URL".to_owned(),
        };
        format!(
            "restore a backup, or keep the provable records with 'queens-coordinator recover {from} NEW_DIR'"
        )
    }
}

impl Display for StoreName {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Directory(path) => write!(formatter, "data directory '{}'", path.display()),
            Self::Database(name) => write!(formatter, "{name}"),
        }
    }
}

impl From<&Path> for StoreName {
    fn from(path: &Path) -> Self {
        Self::Directory(path.to_owned())
    }
}

impl StoreError {
    /// Returns the error for the original location of a copy in which it occurred.
    #[must_use]
    pub fn at(self, other: &Path) -> Self {
        match self {
            Self::Unusable { reason, .. } => Self::Unusable { place: other.into(), reason },
            Self::Version { reason, .. } => Self::Version { place: other.into(), reason },
            Self::Damaged { reason, .. } => Self::Damaged { place: other.into(), reason },
            error => error,
        }
    }

    /// Whether a retry may help.
    #[must_use]
    pub const fn may_heal(&self) -> bool {
        matches!(self, Self::Failed(_))
    }
}

/// The content of a store.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Stored {
    /// Workers that get no leases, with the reason, which is empty for an operator's block.
    pub blocked: BTreeMap<Block, String>,
    /// All jobs, in the order of their ids.
    pub jobs: Vec<StoredJob>,
}

/// A block of workers, which get no leases.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Block {
    /// The name that an operator has blocked, or under which a party has lost a dispute.
    pub name: Name,
    /// The party whose names are all blocked; `None` if an operator has blocked the name.
    pub party: Option<Party>,
}

/// A job as a store holds it.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredJob {
    /// The job's entry.
    pub entry: JobEntry,
    /// The choices of its plan, in the order of its parts; `None` until the plan is made.
    pub choices: Option<Vec<Choice>>,
    /// The coverage of its parts; parts without records may be absent.
    pub coverage: Vec<(u32, Coverage)>,
    /// Whether it has second counts.
    pub has_second_counts: bool,
    /// Why its data is invalid, if it is; then only the entry is set.
    pub damage: Option<String>,
}

impl StoredJob {
    /// Creates a job whose data is invalid for this reason.
    #[must_use]
    pub fn damaged(entry: JobEntry, reason: String) -> Self {
        let (choices, coverage) = (None, Vec::new());
        Self { entry, choices, coverage, has_second_counts: false, damage: Some(reason) }
    }
}

/// The description and state of a job, without its plan and records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobEntry {
    /// Its number, which operators use.
    pub id: JobId,
    /// The identity that its leases and its rows carry.
    pub identity: JobIdentity,
    /// The board size.
    pub n: BoardSize,
    /// The counting method.
    pub method: Method,
    /// The method's decomposition version, which defines the meaning of its spans.
    pub decomposition: u32,
    /// Its phase.
    pub phase: Phase,
    /// Its priority.
    pub priority: Priority,
    /// Whether an operator has paused it.
    pub paused: bool,
    /// When it was submitted, in milliseconds since 1970.
    pub created_ms: u64,
    /// When it was first counted, in milliseconds since 1970; `None` if it was not, or the date is unknown.
    pub started_ms: Option<u64>,
    /// When it ended, in milliseconds since 1970; `None` if it has not, or the date is unknown.
    pub finished_ms: Option<u64>,
    /// How long it has been counted, without restarts.
    pub active: Duration,
    /// The number of recorded spans with a count on which two parties agree.
    pub n_verified: u64,
    /// The number of recorded spans that a second count has contradicted.
    pub n_disputed: u64,
    /// Its verification terms.
    pub terms: Terms,
}

impl JobEntry {
    /// Creates a new job, submitted at a time in milliseconds since 1970, with default terms and without an identity.
    #[must_use]
    pub fn new(id: JobId, n: BoardSize, method: Method, created_ms: u64) -> Self {
        Self {
            id,
            identity: JobIdentity::default(),
            n,
            method,
            decomposition: method.decomposition(),
            phase: Phase::Planning,
            priority: Priority::default(),
            paused: false,
            created_ms,
            started_ms: None,
            finished_ms: None,
            active: Duration::ZERO,
            n_verified: 0,
            n_disputed: 0,
            terms: Terms::default(),
        }
    }

    /// Gives the job its identity. It is derived from the job's seed, a random secret, and from everything that defines
    /// its spans. So two jobs of one identity count the same, whatever happened to the store in between.
    #[must_use]
    pub fn identified(mut self) -> Self {
        let Terms { part_range, second_of, seed, .. } = self.terms;
        let (mut hasher, part_range) =
            (SipHasher24::new_with_key(&seed.to_be_bytes()), part_range.map(PartRange::range));
        hasher.write_u64(self.id.0);
        hasher.write_u64(second_of.map_or(0, |first| first.0));
        hasher.write_u8(self.n.get());
        hasher.write_u32(self.decomposition);
        hasher.write(self.method.name().as_bytes());
        part_range.into_iter().for_each(|part_range| {
            hasher.write_u32(part_range.start);
            hasher.write_u32(part_range.end);
        });
        self.identity = JobIdentity(hasher.finish128().as_u128());
        self
    }
}

/// The phase of a job. All but [`Damaged`](Self::Damaged) are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Phase {
    /// Its plan is being made.
    Planning,
    /// It can be counted.
    Active,
    /// Every subproblem is recorded.
    Done,
    /// It was cancelled.
    Cancelled,
    /// Its data contradicts itself: it is set aside and never written again.
    Damaged,
}

impl Phase {
    /// The phases that are stored.
    pub const ALL: [Self; 4] = [Self::Planning, Self::Active, Self::Done, Self::Cancelled];

    /// Returns the name that is stored and shown.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Planning => "planning",
            Self::Active => "active",
            Self::Done => "done",
            Self::Cancelled => "cancelled",
            Self::Damaged => "damaged",
        }
    }
}

/// The coverage of one part: its recorded subproblems and their sums.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Coverage {
    /// The recorded subproblems.
    pub recorded: Intervals,
    /// Their solutions, unweighted.
    pub solutions: u128,
    /// Their work units.
    pub work: u128,
}

impl Coverage {
    /// Returns the write for a store that has everything but the ranges that begin, or began, with `starts`.
    #[must_use]
    pub fn change(&self, starts: impl IntoIterator<Item = u64>) -> CoverageChange {
        let ranges = starts.into_iter().map(|start| (start, self.recorded.end_of(start))).collect();
        let (solutions, work) = (self.solutions, self.work);
        CoverageChange { ranges, extent: self.recorded.extent(), solutions, work }
    }

    /// Applies a change.
    pub fn apply(&mut self, change: &CoverageChange) {
        for &(start, _) in &change.ranges {
            if let Some(end) = self.recorded.end_of(start) {
                self.recorded.remove(&(start..end));
            }
        }
        for &(start, end) in &change.ranges {
            self.recorded.insert(start..end.unwrap_or(start));
        }
        (self.solutions, self.work) = (change.solutions, change.work);
    }
}

/// A change of one part's coverage.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CoverageChange {
    /// The starts of changed ranges, with their ends; `None` if no range begins there any more.
    pub ranges: Vec<(u64, Option<u64>)>,
    /// The extent of all ranges, changed or not.
    pub extent: Extent,
    /// The solutions of all ranges, unweighted.
    pub solutions: u128,
    /// Their work units.
    pub work: u128,
}

/// A change of the stored data. Each sets a value instead of adding to one, so that repeating it is harmless.
#[derive(Clone, Debug, PartialEq)]
pub enum Write {
    /// Blocks or unblocks workers.
    Blocked {
        /// The workers.
        block: Block,
        /// Whether they are blocked.
        blocked: bool,
        /// The reason; empty for an operator's decision.
        reason: String,
    },
    /// Creates the job, or replaces its entry.
    Job(JobEntry),
    /// Stores the choices of a job's plan.
    Plan {
        /// The job.
        job: JobId,
        /// In the order of the plan's parts.
        choices: Vec<Choice>,
    },
    /// Stores a record. It replaces the record that begins with the same subproblem, which it extends.
    Record {
        /// The job.
        job: JobId,
        /// The record.
        record: Record,
    },
    /// Changes the coverage of a part.
    Coverage {
        /// The job.
        job: JobId,
        /// The part's number in the plan.
        part: u32,
        /// The change. A report changes few ranges, however many there are.
        change: CoverageChange,
    },
    /// Stores a second count of a whole record. It replaces the previous count of the same party.
    SecondCount {
        /// The job.
        job: JobId,
        /// The count.
        count: SecondCount,
    },
    /// Stores a verdict: two parties agree on a span against another count. If that count was the record, the same
    /// commit replaces the record and the coverage.
    Verdict {
        /// The job.
        job: JobId,
        /// The verdict. It replaces that of the same number on the same span.
        verdict: Verdict,
    },
}
