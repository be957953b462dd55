//! How programs of one user talk to a running worker on the same machine: by its local socket, one request a
//! connection.
//!
//! A request is a line with its name, the answer a line of JSON: a [`WorkerStatus`].

pub mod client;
pub mod server;

use std::time::Duration;

use queens_model::OwnContribution;
use serde::{Deserialize, Serialize};

/// The directory of the sockets is called like the program.
pub(crate) const PROGRAM: &str = "queens-worker";

/// The timeout for a request and its answer, on both sides.
const PATIENCE: Duration = Duration::from_secs(5);

/// The longest request and the longest answer, in bytes. Names and URLs are much shorter.
const LONGEST_REQUEST: u64 = 64;
const LONGEST_ANSWER: u64 = 64 << 10;

/// What a user wants from a running worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Request {
    /// Tell the status.
    Status,
    /// Give all leases back and count nothing, until it is resumed.
    Pause,
    /// Count again.
    Resume,
    /// Leave, as on a signal.
    Stop,
}

impl Request {
    const ALL: [Self; 4] = [Self::Status, Self::Pause, Self::Resume, Self::Stop];

    fn name(self) -> &'static str {
        match self {
            Self::Status => "status",
            Self::Pause => "pause",
            Self::Resume => "resume",
            Self::Stop => "stop",
        }
    }

    fn of_line(line: &[u8]) -> Option<Self> {
        let line = line.strip_suffix(b"\n")?;
        Self::ALL.into_iter().find(|request| request.name().as_bytes() == line)
    }
}

/// What a worker does now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Doing {
    /// It counts leases, with a connection or without.
    Counting,
    /// It is connected, and there is nothing to count.
    NoJob,
    /// It has nothing to count and no connection to a coordinator.
    NoConnection,
    /// It counts nothing, for the reasons beside.
    Paused,
    /// It was told to end, and reports its last counts.
    Leaving,
}

/// A worker's answer to each request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WorkerStatus {
    /// Its name.
    pub name: String,
    /// The URLs of its coordinators.
    pub coordinators: Vec<String>,
    /// Whether it has a session with one of them. A paused worker has none.
    pub connected: bool,
    /// What it does.
    pub state: Doing,
    /// Why it does not count, if it is paused.
    pub reasons: Vec<String>,
    /// When its schedule begins next, if that is a reason: a time with its zone, by RFC 9557.
    pub next: Option<String>,
    /// If it has nothing to count: what it waits for, by its coordinator's words, or why it is not connected.
    #[serde(default)]
    pub waits_for: Option<String>,
    /// What its coordinator has told its user last.
    #[serde(default)]
    pub news: Option<String>,
    /// For how many seconds it has run.
    pub seconds: u64,
    /// How many subproblems it has counted since, in decimal.
    pub subproblems: String,
    /// How many hours the threads of its processor counted.
    pub core_hours: f64,
    /// The sentence about what it has counted.
    pub counted: String,
    /// What the coordinator has recorded of all workers of this person, if it has said so.
    #[serde(default)]
    pub own: Option<OwnContribution>,
}
