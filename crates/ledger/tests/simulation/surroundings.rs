//! The commands and requests of a coordinator, and its view of the simulated world.

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

/// A command in the event loop's queue.
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
    /// May be refused because the job has ended.
    ChangeJob(JobId, JobChange),
    /// May be refused because there is no such worker.
    ChangeWorkers(String, WorkerChange),
    Goodbye {
        link: u64,
    },
    Disconnect {
        link: u64,
    },
}

/// A coordinator's request to the world.
#[derive(Debug)]
pub(crate) enum Request {
    Send {
        link: u64,
        message: ToWorker,
    },
    /// The worker's messages are not accepted any more.
    Close {
        link: u64,
    },
    Plan(JobId),
    /// The coordinator waits until the store can be written again.
    Retry,
    /// The process is stopped for this long: its later requests happen afterwards.
    Freeze(Duration),
    /// The coordinator continues from the restored state.
    GoOn,
    /// The coordinator ends, because another leads.
    Resign,
    /// The process is dead.
    Die,
}

/// The parts of the world that a coordinator uses, and that check it.
pub(crate) struct Surroundings<'a> {
    pub(crate) puzzles: &'a [Puzzle],
    pub(crate) disk: &'a mut Disk,
    /// Whether the store can't be reached.
    pub(crate) is_cut_off: bool,
    /// The durable contents when the lead was lost, if it was.
    pub(crate) past: Option<&'a Contents>,
    /// Whether an earlier state was restored meanwhile.
    pub(crate) has_gone_back: bool,
    pub(crate) witness: &'a mut Witness,
    /// All fencing tokens that any coordinator has ever used.
    pub(crate) tokens: &'a mut BTreeSet<LeaseId>,
    pub(crate) sights: &'a mut Sights,
    pub(crate) reporting: Reporting,
    pub(crate) workers: &'a BTreeMap<WorkerId, Worker>,
    pub(crate) requests: Vec<Request>,
}
