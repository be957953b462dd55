//! The requests of `queens top`.

use std::time::Duration;

use queens_model::{Contribution, Event, JobId, JobStatus, Name, WorkerStatus};
use queens_proto::client::{ClientError, Greeting, Operator, Problem};

/// The maximum average number of jobs and workers received per second.
const ENTRIES_PER_SECOND: f64 = 2000.0;

/// What the screen shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum View {
    Jobs,
    Workers,
    Job(JobId),
}

/// A coordinator's answer to the requests for one view.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(super) view: View,
    /// The URL of the leading coordinator.
    pub(super) url: String,
    pub(super) greeting: Greeting,
    /// Events, the oldest first.
    pub(super) events: Vec<Event>,
    pub(super) content: Content,
}

/// The content of a view.
#[derive(Debug)]
pub(super) enum Content {
    Jobs(Vec<JobStatus>),
    Workers(Vec<WorkerStatus>, Vec<Name>),
    /// A job, with its contributions if they were requested and the coordinator isn't busy with them.
    Job(Box<JobStatus>, Option<Vec<Contribution>>),
}

/// Requests all that a view shows. O(J), or O(W), or for one job O(contributions), of which there are at most 10,000;
/// and some hundred events.
pub(crate) async fn ask(
    operator: &Operator,
    view: View,
    with_contributions: bool,
) -> Result<Answer, ClientError> {
    let content = match view {
        View::Jobs => Content::Jobs(operator.jobs().await?),
        View::Workers => {
            let (workers, blocked) = operator.workers_and_blocked().await?;
            Content::Workers(workers, blocked)
        }
        View::Job(id) => {
            let job = operator.job(id).await?;
            let contributions = match with_contributions {
                false => Ok(None),
                true => operator.contributions(id).await.map(Some),
            };
            let contributions = match contributions {
                Err(ClientError { problem: Problem::Unavailable(_), .. }) => None,
                contributions => contributions?,
            };
            Content::Job(Box::new(job), contributions)
        }
    };
    let (events, greeting) = (operator.events().await?, operator.greeting().await?);
    Ok(Answer { view, url: operator.coordinator(), greeting, events, content })
}

impl Answer {
    /// Returns the pause before the next request: the longer the lists, the longer it is.
    pub(super) fn pause(&self) -> Duration {
        let n_entries = match &self.content {
            Content::Jobs(jobs) => jobs.len(),
            Content::Workers(workers, blocked) => workers.len() + blocked.len(),
            Content::Job(..) => 0,
        };
        Duration::from_secs_f64((n_entries as f64 / ENTRIES_PER_SECOND).max(1.0))
    }
}
