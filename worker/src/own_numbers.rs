//! What the coordinator has recorded of this worker's party, as it last said.

use std::convert::Infallible;
use std::fmt::Write;
use std::sync::Arc;
use std::time::Duration;

use queens_model::{Name, OwnContribution, OwnJob, core_hours, percent, rough_time};
use queens_proto::client::Connection;
use queens_proto::pb;
use queens_proto::pb::workers_client::WorkersClient;
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
    pub fn last(&self) -> Option<OwnContribution> {
        self.known.borrow().as_ref().map(|(own, _)| own.clone())
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
    pub(crate) async fn fresh(&self) -> Option<OwnContribution> {
        let mut known = self.known.subscribe();
        self.wanted.notify_one();
        _ = timeout(PAUSE + PATIENCE, known.changed()).await;
        self.known.borrow().as_ref().map(|(own, _)| own.clone())
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

/// Describes what the party has counted: "12.34 core-hours, rank 3 of 120, 2.11 % of all".
pub(crate) fn sums(own: &OwnContribution) -> String {
    let mut told = format!("{} core-hours", core_hours(own.core_hours));
    if let (Some(rank), Some(people)) = (own.rank, own.people) {
        _ = write!(told, ", rank {rank} of {people}");
    }
    format!("{told}, {} of all", percent(own.share))
}

/// Describes the job: "n = 27 by halves, 45.2 % counted, 3.1 days left".
pub(crate) fn described(job: &OwnJob) -> String {
    let OwnJob { n, method, fraction, seconds_left } = job;
    let left = seconds_left.map(|seconds| format!(", {} left", rough_time(seconds, ""))).unwrap_or_default();
    format!("n = {n} by {method}, {} counted{left}", percent(*fraction))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_told_in_a_few_words() {
        let job = OwnJob {
            n: 27,
            method: "halves".to_owned(),
            fraction: 0.4529,
            seconds_left: Some(3.1 * 86400.0),
        };
        assert_eq!(described(&job), "n = 27 by halves, 45.2 % counted, 3.1 days left");
        let unknown = OwnJob { seconds_left: None, ..job };
        assert_eq!(described(&unknown), "n = 27 by halves, 45.2 % counted");
        let own = OwnContribution {
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
        assert_eq!(sums(&own), "12.34 core-hours, rank 3 of 120, 2.11 % of all");
        let operators = OwnContribution { rank: None, people: None, core_hours: 12_345.6, ..own };
        assert_eq!(sums(&operators), "12,346 core-hours, 2.11 % of all");
    }
}
