//! What is kept of a coordinator's jobs, and the trait for keeping it.

pub mod draw;
pub mod lineage;
pub mod memory;

mod record;

pub use self::record::{MAX_COUNT, MAX_DURATION, Record, SecondCount, Source, Verdict};

use std::collections::BTreeMap;
use std::fmt::{self, Display, Formatter};
use std::hash::Hasher;
use std::path::{Path, PathBuf};
use std::time::Duration;

use queens_model::{Crosses, JobId, JobIdentity, Name, Party, Priority, Terms};
use queens_solver::{BoardSize, Choice, Method, Span};
use siphasher::sip128::{Hasher128, SipHasher24};
use thiserror::Error;

use crate::intervals::{Extent, Intervals};
use crate::store::draw::{Draw, Drawn, Recorded};

/// Keeps the truth about jobs: their plans, what is recorded of them, and what operators decided.
pub trait Store: Send {
    /// Everything needed to go on where the last coordinator stopped. Called once, first; changes nothing.
    ///
    /// # Errors
    /// If what is stored can't be read or contradicts itself.
    fn load(&mut self) -> Result<Stored, StoreError>;

    /// Makes all writes durable, in order, or none of them. May be called again with the same writes after an
    /// error: every write says what is to be there afterwards, so that repeating one changes nothing.
    ///
    /// # Errors
    /// If the writes could not be made durable: [`StoreError::Failed`] if trying again may help, as when the disk is
    /// full.
    fn commit(&mut self, writes: &[Write]) -> Result<(), StoreError>;

    /// The record of exactly this span, if there is one.
    ///
    /// # Errors
    /// If the records can't be read.
    fn find(&mut self, job: JobId, span: Span) -> Result<Option<Recorded>, StoreError>;

    /// Makes sure that whoever has opened the store may still write to it. What is told without anything being written
    /// is only told after this.
    ///
    /// # Errors
    /// If somebody else may instead, or nobody can tell.
    fn confirm(&mut self) -> Result<(), StoreError> {
        Ok(())
    }

    /// The next records that are wanted to be counted again, of [some](draw::MOST_SEEN) that are looked at.
    ///
    /// # Errors
    /// If they can't be read.
    fn draw(&mut self, draw: &Draw) -> Result<Drawn, StoreError>;
}

/// Why a store can't be used or didn't do what it was asked for.
#[derive(Debug, Error)]
pub enum StoreError {
    /// Another process has it open.
    #[error("{0} is in use by another process")]
    InUse(StoreName),
    /// Another coordinator leads, which alone may use it.
    #[error("the coordinator at {leader} leads: it alone may use {place}")]
    Led {
        /// Where it is.
        place: StoreName,
        /// Where the other is reached.
        leader: String,
    },
    /// The place can't be made, read or written.
    #[error("cannot use {place}: {reason}")]
    Unusable {
        /// Where it is.
        place: StoreName,
        /// What the system said.
        reason: String,
    },
    /// What is stored was made by a newer program, or is not ours.
    #[error("{place} was written by another version: {reason}")]
    Version {
        /// Where it is.
        place: StoreName,
        /// Which version, and which is understood.
        reason: String,
    },
    /// What is stored can't be read, or contradicts itself. That does not heal.
    #[error("{place} is damaged: {reason}: {}", place.remedy())]
    Damaged {
        /// Where it is.
        place: StoreName,
        /// What is wrong.
        reason: String,
    },
    /// What is stored of one job contradicts itself. That does not heal, and says nothing of other jobs.
    #[error("job {job} is damaged: {reason}")]
    DamagedJob {
        /// The job.
        job: JobId,
        /// What is wrong.
        reason: String,
    },
    /// No store could hold what was to be written.
    #[error("cannot store this: {0}")]
    Impossible(String),
    /// Another coordinator leads by now, or the store is in another state than this one left it in: it may write no more.
    /// That does not heal; what leads next reads everything anew.
    #[error("this coordinator leads no more: {0}")]
    Fenced(String),
    /// A read or write failed; it may work later.
    #[error("cannot write to the store: {0}")]
    Failed(String),
}

/// Where a store keeps what it is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoreName {
    /// A data directory.
    Directory(PathBuf),
    /// A database on a server, as people call it.
    Database(String),
}

impl StoreName {
    /// Says what to do about damage.
    fn remedy(&self) -> String {
        let from = match self {
            Self::Directory(path) => path.display().to_string(),
            // Its name hides passwords, so that it can't be typed.
            Self::Database(_) => "URL".to_owned(),
        };
        format!(
            "restore a backup, or keep what proves itself with 'queens-coordinator recover {from} NEW_DIR'"
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
    /// The same of another place, a copy of which it was met in.
    #[must_use]
    pub fn at(self, other: &Path) -> Self {
        match self {
            Self::Unusable { reason, .. } => Self::Unusable { place: other.into(), reason },
            Self::Version { reason, .. } => Self::Version { place: other.into(), reason },
            Self::Damaged { reason, .. } => Self::Damaged { place: other.into(), reason },
            error => error,
        }
    }

    /// Whether the same may work later.
    #[must_use]
    pub const fn may_heal(&self) -> bool {
        matches!(self, Self::Failed(_))
    }
}

/// What a store holds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Stored {
    /// Workers that get no leases, and for what reason; an operator's needs none.
    pub blocked: BTreeMap<Block, String>,
    /// All jobs, in the order of their ids.
    pub jobs: Vec<StoredJob>,
}

/// Whose workers get no leases.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Block {
    /// The name that an operator has blocked, or by which a party has lost a dispute.
    pub name: Name,
    /// The party, all of whose names are blocked; `None` if an operator has blocked the name.
    pub party: Option<Party>,
}

/// A job as a store holds it.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredJob {
    /// The job itself.
    pub entry: JobEntry,
    /// The choices of its plan, in the order of its crosses; `None` until the plan is made.
    pub choices: Option<Vec<Choice>>,
    /// What is recorded of its crosses; crosses without records may be absent.
    pub coverage: Vec<(u32, Coverage)>,
    /// Whether some of it was counted again.
    pub has_second_counts: bool,
    /// Why what is stored of it can't be true, if it can't; then nothing but the entry is here.
    pub damage: Option<String>,
}

impl StoredJob {
    /// A job of which what is stored can't be true, for this reason.
    #[must_use]
    pub fn damaged(entry: JobEntry, reason: String) -> Self {
        let (choices, coverage) = (None, Vec::new());
        Self { entry, choices, coverage, has_second_counts: false, damage: Some(reason) }
    }
}

/// What is said of a job as a whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobEntry {
    /// Its number, by which operators name it.
    pub id: JobId,
    /// What leases of it and its rows name.
    pub identity: JobIdentity,
    /// The size of its board.
    pub n: BoardSize,
    /// How it is counted.
    pub method: Method,
    /// The decomposition of the method that its spans mean.
    pub decomposition: u32,
    /// Where it stands.
    pub phase: Phase,
    /// How urgent it is.
    pub priority: Priority,
    /// Whether an operator has stopped it for now.
    pub paused: bool,
    /// When it was submitted, in milliseconds since 1970.
    pub created_ms: u64,
    /// When it was first counted, in milliseconds since 1970; `None` if it has not been, or nobody has kept it.
    pub started_ms: Option<u64>,
    /// When it was over; `None` if it is not, or nobody has kept it.
    pub finished_ms: Option<u64>,
    /// For how long it has been counted, restarts left out.
    pub active: Duration,
    /// Recorded spans on one of whose counts two parties agree.
    pub n_verified: u64,
    /// Recorded spans that a second count has contradicted.
    pub n_disputed: u64,
    /// What is agreed about it.
    pub terms: Terms,
}

impl JobEntry {
    /// A job that has just been submitted, at a time in milliseconds since 1970, on no terms and without an identity.
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

    /// Gives the job its identity, which follows from its seed, a secret drawn at random, and from all that decides what
    /// its spans mean. So two jobs of one identity count the same, whatever happened to the store between them.
    #[must_use]
    pub fn identified(mut self) -> Self {
        let Terms { crosses, second_of, seed, .. } = self.terms;
        let (mut hasher, crosses) =
            (SipHasher24::new_with_key(&seed.to_be_bytes()), crosses.map(Crosses::range));
        hasher.write_u64(self.id.0);
        hasher.write_u64(second_of.map_or(0, |first| first.0));
        hasher.write_u8(self.n.get());
        hasher.write_u32(self.decomposition);
        hasher.write(self.method.name().as_bytes());
        crosses.into_iter().for_each(|crosses| {
            hasher.write_u32(crosses.start);
            hasher.write_u32(crosses.end);
        });
        self.identity = JobIdentity(hasher.finish128().as_u128());
        self
    }
}

/// Where a job stands. All but [`Damaged`](Self::Damaged) are remembered across restarts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Phase {
    /// Its plan is being made.
    Planning,
    /// It is there to be counted.
    Active,
    /// Every subproblem is recorded.
    Done,
    /// Somebody gave it up.
    Cancelled,
    /// What is stored of it contradicts itself: it is set aside, and nothing is written of it any more.
    Damaged,
}

impl Phase {
    /// Those that are stored.
    pub const ALL: [Self; 4] = [Self::Planning, Self::Active, Self::Done, Self::Cancelled];

    /// The name it is stored and shown under.
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

/// What is recorded of one cross.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Coverage {
    /// The recorded subproblems.
    pub recorded: Intervals,
    /// Their solutions, unweighted.
    pub solutions: u128,
    /// Their nodes.
    pub nodes: u128,
}

impl Coverage {
    /// What to write for a store that knows all of this but the ranges that begin, or began, with `starts`.
    #[must_use]
    pub fn change(&self, starts: impl IntoIterator<Item = u64>) -> CoverageChange {
        let ranges = starts.into_iter().map(|start| (start, self.recorded.end_of(start))).collect();
        let (solutions, nodes) = (self.solutions, self.nodes);
        CoverageChange { ranges, extent: self.recorded.extent(), solutions, nodes }
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
        (self.solutions, self.nodes) = (change.solutions, change.nodes);
    }
}

/// What has changed of what is recorded of one cross.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CoverageChange {
    /// Where ranges of recorded subproblems begin, and where each ends; `None` if no range begins there any more.
    pub ranges: Vec<(u64, Option<u64>)>,
    /// What all ranges come to, those that did not change included.
    pub extent: Extent,
    /// The solutions of all of them, unweighted.
    pub solutions: u128,
    /// Their nodes.
    pub nodes: u128,
}

/// A change to what is stored. Each says what is to be there, not what to add, so that repeating it is harmless.
#[derive(Clone, Debug, PartialEq)]
pub enum Write {
    /// Whether some workers get no leases.
    Blocked {
        /// Which.
        block: Block,
        /// Whether they are blocked.
        blocked: bool,
        /// Why, if that is not an operator's decision; empty otherwise.
        reason: String,
    },
    /// The job is this; new, or replacing what was said of it.
    Job(JobEntry),
    /// The job's plan made these choices.
    Plan {
        /// The job.
        job: JobId,
        /// In the order of the plan's crosses.
        choices: Vec<Choice>,
    },
    /// The span was counted; replaces the record that begins with the same subproblem, which it extends.
    Record {
        /// The job.
        job: JobId,
        /// The record.
        record: Record,
    },
    /// This is now recorded of a cross.
    Coverage {
        /// The job.
        job: JobId,
        /// The cross's number in the plan.
        cross: u32,
        /// What has changed of it. However many ranges there are, a report changes few.
        change: CoverageChange,
    },
    /// A recorded span was counted again, whole; replaces what the same party counted of it before.
    SecondCount {
        /// The job.
        job: JobId,
        /// The count.
        count: SecondCount,
    },
    /// Two parties agree on a span against another count. If that was the record, its successor and the coverage are
    /// written in the same commit.
    Verdict {
        /// The job.
        job: JobId,
        /// The verdict; replaces that of the same number on the same span.
        verdict: Verdict,
    },
}
