//! What a ledger wants done.

use std::collections::BTreeMap;

use queens_model::{JobId, Name, ToWorker, WorkerId};
use queens_solver::{BoardSize, Method, Pass};

use crate::store::draw::{Draw, Recorded};
use crate::store::{SecondCount, Verdict, Write};

/// What a ledger wants done, in this order: the writes made durable; then messages sent and plans made.
#[derive(Debug, Default)]
pub struct Effects {
    /// To be made durable, all or nothing.
    pub writes: Vec<Write>,
    /// To be looked up, and the answers given to [`Ledger::compared`](crate::Ledger::compared).
    pub comparisons: Vec<Comparison>,
    /// To be looked up, and the answers given to [`Ledger::drawn`](crate::Ledger::drawn). One that can't be answered is
    /// asked for again.
    pub draws: Vec<Draw>,
    /// To be sent once the writes are durable.
    pub messages: Vec<(WorkerId, ToWorker)>,
    /// Plans to be made, and given to [`Ledger::planned`](crate::Ledger::planned).
    pub plans: Vec<WantedPlan>,
    /// To be told to people.
    pub losses: Vec<Loss>,
    /// The same.
    pub findings: Vec<Finding>,
}

/// What came out when records were counted again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finding {
    /// A count of a span contradicts its record.
    Disputed {
        /// The job.
        job: JobId,
        /// The count.
        second: SecondCount,
        /// The record, and what else is known of it.
        recorded: Box<Recorded>,
    },
    /// Two parties agree on a span, against another count of it.
    Decided {
        /// The job.
        job: JobId,
        /// What was decided.
        verdict: Verdict,
        /// Whether the party that lost is blocked for it, and was not before.
        is_blocked: bool,
    },
}

/// A plan that a job waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WantedPlan {
    /// The job.
    pub job: JobId,
    /// The size of its board.
    pub n: BoardSize,
    /// How it is counted.
    pub method: Method,
    /// Which images it is counted on.
    pub pass: Pass,
}

/// A worker has lost leases through no decision of anybody.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loss {
    /// Its name.
    pub name: Name,
    /// Whether it is still there: it was heard of, but nothing came of what it held.
    pub is_there: bool,
    /// How many leases it held of each job; none, if it was given up and held nothing.
    pub n_leases: BTreeMap<JobId, usize>,
}

/// A reported span that lies wholly in recorded ones: if it repeats a record exactly, they must agree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Comparison {
    /// The job.
    pub job: JobId,
    /// What it counted to this time.
    pub second: SecondCount,
}
