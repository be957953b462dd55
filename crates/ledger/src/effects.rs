//! The actions that the ledger asks its caller to carry out.

use std::collections::BTreeMap;
use std::sync::Arc;

use queens_model::{JobId, ToWorker, WorkerId};
use queens_solver::{BoardSize, Method, Pass, Plan, Span};

use crate::store::draw::{Draw, Recorded};
use crate::store::{SecondCount, Source, Verdict, Write};

/// The ledger's requests, in this order: first writes become durable, then messages are sent and plans are made.
#[derive(Debug, Default)]
pub struct Effects {
    /// Writes to make durable, all or none.
    pub writes: Vec<Write>,
    /// Comparisons to look up in the store, for [`Ledger::compared`](crate::Ledger::compared).
    pub comparisons: Vec<Comparison>,
    /// Draws to look up in the store, for [`Ledger::drawn`](crate::Ledger::drawn). The ledger repeats a draw that got
    /// no answer.
    pub draws: Vec<Draw>,
    /// A disputed span to count, for [`Ledger::judged`](crate::Ledger::judged). There is no other until that is called.
    pub judgement: Option<Judgement>,
    /// Messages to send after the writes are durable.
    pub messages: Vec<(WorkerId, ToWorker)>,
    /// Plans to make, for [`Ledger::planned`](crate::Ledger::planned).
    pub plans: Vec<WantedPlan>,
    /// Lost leases to report to people.
    pub losses: Vec<Loss>,
    /// Outcomes of recounts to report to people.
    pub findings: Vec<Finding>,
}

/// The outcome of a recount.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finding {
    /// A count of a span contradicts its record.
    Disputed {
        /// The job.
        job: JobId,
        /// The new count.
        second: SecondCount,
        /// The record, with its other counts.
        recorded: Box<Recorded>,
    },
    /// Two parties agree on a span, against another count.
    Decided {
        /// The job.
        job: JobId,
        /// The verdict.
        verdict: Verdict,
        /// Whether the verdict has newly blocked the party that lost.
        is_blocked: bool,
    },
}

/// A plan that a job waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WantedPlan {
    /// The job.
    pub job: JobId,
    /// The board size.
    pub n: BoardSize,
    /// The counting method.
    pub method: Method,
    /// The pass, which decides the images that are counted.
    pub pass: Pass,
}

/// A disputed span that the coordinator counts itself.
#[derive(Clone, Debug)]
pub struct Judgement {
    /// The job.
    pub job: JobId,
    /// The plan that the span belongs to.
    pub plan: Arc<Plan>,
    /// The span.
    pub span: Span,
}

/// Leases that a worker has lost without anybody's decision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loss {
    /// The worker.
    pub source: Arc<Source>,
    /// Whether the worker is still connected: it was heard, but did not report on its leases.
    pub is_there: bool,
    /// The number of lost leases of each job; empty if a worker that was given up held none.
    pub n_leases: BTreeMap<JobId, usize>,
}

/// A reported span that lies wholly in recorded ones. If it repeats a record exactly, the counts must agree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Comparison {
    /// The job.
    pub job: JobId,
    /// The new count.
    pub second: SecondCount,
}
