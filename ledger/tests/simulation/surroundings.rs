//! What a coordinator is told, what it asks for, and what it works with.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use queens_ledger::{JobChange, Reporting, WorkerChange};
use queens_model::{Failure, Hello, JobId, LeaseId, Report, Submission, ToWorker, WorkerId};

use super::contents::Contents;
use super::disk::Disk;
use super::puzzle::Puzzle;
use super::sight::Sights;
use super::witness::Witness;
use super::worker::Worker;

/// What waits in the event loop's queue.
#[derive(Debug)]
pub(crate) enum Command {
    /// With a seed.
    Submit(Submission, u128),
    Cancel(JobId),
    Planned(JobId),
    Connect {
        hello: Hello,
        link: u64,
    },
    Report {
        link: u64,
        report: Report,
    },
    Failure {
        link: u64,
        failure: Failure,
    },
    /// May be refused: the job is over.
    ChangeJob(JobId, JobChange),
    /// May be refused: there is no such worker.
    ChangeWorkers(String, WorkerChange),
    Goodbye {
        link: u64,
    },
    Disconnect {
        link: u64,
    },
}

/// What the coordinator asks of the world.
#[derive(Debug)]
pub(crate) enum Request {
    Send {
        link: u64,
        message: ToWorker,
    },
    /// The worker is not listened to any more.
    Close {
        link: u64,
    },
    Plan(JobId),
    /// Nothing goes on until the store can be written again.
    Retry,
    /// The process is stopped for so long: what it asks for from here on happens afterwards.
    Freeze(Duration),
    /// The state that was put back is the one that it goes on from.
    GoOn,
    /// Somebody else leads, so that it ends.
    Resign,
    /// The process is dead.
    Die,
}

/// What the coordinator works with and is watched through.
pub(crate) struct Surroundings<'a> {
    pub(crate) puzzles: &'a [Puzzle],
    pub(crate) disk: &'a mut Disk,
    /// Whether the store can't be reached.
    pub(crate) is_cut_off: bool,
    /// What was durable when the lead was lost, if it was.
    pub(crate) past: Option<&'a Contents>,
    /// Whether an earlier state was put back meanwhile.
    pub(crate) has_gone_back: bool,
    pub(crate) witness: &'a mut Witness,
    /// All fencing tokens ever given out, by anybody.
    pub(crate) tokens: &'a mut BTreeSet<LeaseId>,
    pub(crate) sights: &'a mut Sights,
    pub(crate) reporting: Reporting,
    pub(crate) workers: &'a BTreeMap<WorkerId, Worker>,
    pub(crate) requests: Vec<Request>,
}
