//! What the coordinator has recorded of this worker's party, as it last said.

use std::convert::Infallible;
use std::fmt::Write;
use std::sync::Arc;
use std::time::Duration;

use queens_model::{Name, OwnContribution, grouped, percent, rough_time};
use queens_proto::client::Connection;
use queens_proto::pb;
use queens_proto::pb::workers_client::WorkersClient;
use serde::{Deserialize, Serialize};
use tokio::sync::{Notify, watch};
use tokio::time::{Instant, sleep, timeout};
use tonic::Code;
use tracing::debug;

/// The delay of the first question after a connection was made: its session goes first.
const FIRST: Duration = Duration::from_secs(5);

/// The pause between two questions, however many want an answer.
const PAUSE: Duration = Duration::from_secs(30);

/// How long a person who asks waits for a newer answer than the last.
const MOMENT: Duration = Duration::from_millis(500);

/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// What the coordinator knows of this worker's party; cheap to clone. A session asks for it.
#[derive(Clone, Debug)]
pub struct OwnNumbers {
    /// The name under which this process asks.
    name: Name,
    /// The last answer, and when it came.
    known: watch::Sender<Option<(OwnContribution, Instant)>>,
    /// Wakes one session.
    wanted: Arc<Notify>,
}

impl OwnNumbers {
    /// Creates the numbers of a worker of this name; none are known yet.
    #[must_use]
    pub fn new(name: Name) -> Self {
        Self { name, known: watch::channel(None).0, wanted: Arc::default() }
    }

    /// Returns the last answer, if there was one.
    #[must_use]
    pub fn last(&self) -> Option<OwnNumbersStatus> {
        self.known.borrow().as_ref().map(|(own, _)| own.into())
    }

    /// Has a session ask for a newer answer, and waits a moment for it if the last one is old.
    pub(crate) async fn renew(&self) {
        let mut known = self.known.subscribe();
        self.wanted.notify_one();
        let is_old = known.borrow_and_update().as_ref().is_some_and(|(_, at)| at.elapsed() > PAUSE);
        if is_old {
            _ = timeout(MOMENT, known.changed()).await;
        }
    }

    /// Asks for a new answer and returns it, or the last one if no new one comes soon.
    pub(crate) async fn fresh(&self) -> Option<OwnNumbersStatus> {
        let mut known = self.known.subscribe();
        self.wanted.notify_one();
        _ = timeout(PAUSE + PATIENCE, known.changed()).await;
        self.known.borrow().as_ref().map(|(own, _)| own.into())
    }

    /// Asks by a session's connection, once and whenever somebody wants to know. A coordinator that does not know the
    /// question is not asked again.
    pub(crate) async fn ask_by(&self, mut client: WorkersClient<Connection>) -> Infallible {
        sleep(FIRST).await;
        loop {
            let request = pb::GetOwnContributionRequest { worker: self.name.to_string() };
            match timeout(PATIENCE, client.get_own_contribution(request)).await {
                Ok(Ok(answer)) => match OwnContribution::try_from(answer.into_inner()) {
                    Ok(own) => _ = self.known.send_replace(Some((own, Instant::now()))),
                    Err(error) => debug!(%error, "the coordinator's answer about own counts is invalid"),
                },
                Ok(Err(status)) => {
                    debug!(reason = status.message(), "the coordinator does not tell own counts");
                    // An earlier version refuses what it does not know.
                    if matches!(status.code(), Code::Unimplemented | Code::PermissionDenied) {
                        return std::future::pending().await;
                    }
                }
                Err(_) => debug!("the coordinator has not told own counts in time"),
            }
            sleep(PAUSE).await;
            self.wanted.notified().await;
        }
    }
}

/// The numbers, as `queens-worker status` shows them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OwnNumbersStatus {
    /// When the coordinator summed its records, in milliseconds since 1970.
    pub at_ms: u64,
    /// Thread time of the party's records and recounts, in hours.
    pub core_hours: f64,
    /// Number of records.
    pub records: u64,
    /// Number of records that others have confirmed.
    pub confirmed: u64,
    /// Number of recounts of the records of others.
    pub recounts: u64,
    /// The solutions that the records found, in decimal.
    pub solutions: String,
    /// The share of all core-hours, 0 to 1.
    pub share: f64,
    /// The rank among the people who joined by a link; `None` if the party is not one of them.
    pub rank: Option<u64>,
    /// Number of these people.
    pub people: Option<u64>,
    /// When the person joined, in milliseconds since 1970.
    pub since_ms: Option<u64>,
    /// The job that the worker counts.
    pub job: Option<OwnJobStatus>,
}

/// The job that a worker counts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OwnJobStatus {
    /// The size of the board.
    pub n: u8,
    /// The counting method.
    pub method: String,
    /// The recorded share of its work, 0 to 1.
    pub fraction: f64,
    /// The estimated remaining time in seconds, if it is known.
    pub seconds_left: Option<f64>,
}

impl From<&OwnContribution> for OwnNumbersStatus {
    fn from(own: &OwnContribution) -> Self {
        Self {
            at_ms: own.at_ms,
            core_hours: own.totals.time().as_secs_f64() / 3600.0,
            records: own.totals.n_records,
            confirmed: own.totals.n_confirmed,
            recounts: own.totals.n_recounts,
            solutions: own.totals.solutions.to_string(),
            share: own.share.get(),
            rank: own.place.map(|place| place.rank),
            people: own.place.map(|place| place.n_people),
            since_ms: own.place.map(|place| place.since_ms),
            job: own.job.map(|job| OwnJobStatus {
                n: job.n.get(),
                method: job.method.name().to_owned(),
                fraction: job.fraction.get(),
                seconds_left: job.seconds_left,
            }),
        }
    }
}

impl OwnNumbersStatus {
    /// Describes what the party has counted: "12.34 core-hours, rank 3 of 120, 2.11 % of all".
    #[must_use]
    pub fn sums(&self) -> String {
        let hours = self.core_hours;
        let mut told = match hours < 100.0 {
            true => format!("{hours:.2} core-hours"),
            false => format!("{} core-hours", grouped(hours)),
        };
        if let (Some(rank), Some(people)) = (self.rank, self.people) {
            _ = write!(told, ", rank {rank} of {people}");
        }
        format!("{told}, {} of all", percent(self.share))
    }
}

impl OwnJobStatus {
    /// Describes the job: "n = 27 by halves, 45.2 % counted, 3.1 days left".
    #[must_use]
    pub fn described(&self) -> String {
        let Self { n, method, fraction, seconds_left } = self;
        let left =
            seconds_left.map(|seconds| format!(", {} left", rough_time(seconds, ""))).unwrap_or_default();
        format!("n = {n} by {method}, {} counted{left}", percent(*fraction))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_told_in_a_few_words() {
        let job = OwnJobStatus {
            n: 27,
            method: "halves".to_owned(),
            fraction: 0.4529,
            seconds_left: Some(3.1 * 86400.0),
        };
        assert_eq!(job.described(), "n = 27 by halves, 45.2 % counted, 3.1 days left");
        let unknown = OwnJobStatus { seconds_left: None, ..job };
        assert_eq!(unknown.described(), "n = 27 by halves, 45.2 % counted");
        let own = OwnNumbersStatus {
            at_ms: 0,
            core_hours: 12.341,
            records: 1,
            confirmed: 0,
            recounts: 0,
            solutions: "0".to_owned(),
            share: 0.0211,
            rank: Some(3),
            people: Some(120),
            since_ms: Some(0),
            job: None,
        };
        assert_eq!(own.sums(), "12.34 core-hours, rank 3 of 120, 2.11 % of all");
        let operators = OwnNumbersStatus { rank: None, people: None, core_hours: 12_345.6, ..own };
        assert_eq!(operators.sums(), "12,346 core-hours, 2.11 % of all");
    }
}
