//! The operators' calls to a coordinator.

use std::time::Duration;

use queens_model::{
    AuditEntry, Contribution, Event, JobId, JobStatus, Name, Submission, VerdictStatus, WorkerStatus,
};
use tonic::{Response, Status, Streaming};

use crate::client::calls::{Calls, Jobs, Kind};
use crate::client::connection::PATIENCE;
use crate::client::error::{ClientError, Problem};
use crate::client::greeting::Greeting;
use crate::client::route_list::Routes;
use crate::pb;
use crate::pb::change_job_request::Change as JobChange;
use crate::pb::change_workers_request::Change as WorkersChange;

/// The most entries of a list: more than any coordinator has.
const MOST_ENTRIES: usize = 1_000_000;

/// The timeout for the next piece of a certificate. Before the first, the coordinator may count symmetric placements.
const EXPORT_PATIENCE: Duration = Duration::from_secs(600);

/// The operators' client of the leading coordinator. Every call has a timeout.
#[derive(Debug)]
pub struct Operator {
    calls: Calls,
}

/// A stream of a job's changes.
#[derive(Debug)]
pub struct Changes<'a> {
    operator: &'a Operator,
    coordinator: String,
    stream: Streaming<pb::Job>,
}

/// A stream of the pieces of a certificate.
#[derive(Debug)]
pub struct Pieces<'a> {
    operator: &'a Operator,
    coordinator: String,
    stream: Streaming<pb::CertificatePiece>,
}

/// A call of the service, to any coordinator.
macro_rules! call {
    ($method:ident) => {
        |mut jobs: Jobs, request| async move { jobs.$method(request).await }
    };
}

/// Every call fails if the coordinator can't be reached, does not answer in time, refuses it or sends an invalid
/// answer.
#[expect(clippy::missing_errors_doc, reason = "said above, once for all calls")]
impl Operator {
    /// Connects to the leader among these coordinators.
    pub async fn connect(routes: Routes) -> Result<Self, ClientError> {
        Ok(Self { calls: Calls::connect(routes).await? })
    }

    /// Returns the URL of the last known leader.
    #[must_use]
    pub fn coordinator(&self) -> String {
        self.calls.coordinator()
    }

    /// Returns whether another coordinator may take over if this one fails.
    #[must_use]
    pub fn knows_others(&self) -> bool {
        self.calls.are_several()
    }

    /// Submits a job. If an invitation is named by its number or label, only that recounts.
    pub async fn submit(&self, asked: Submission, recount_by: Option<&Name>) -> Result<JobId, ClientError> {
        let recount_by = recount_by.map(ToString::to_string).unwrap_or_default();
        let request = pb::SubmitRequest { recount_by, ..asked.into() };
        Ok(JobId(self.calls.call(Kind::Change, Some(PATIENCE), request, call!(submit)).await?.job))
    }

    /// Changes a job; returns it as it is then.
    pub async fn change_job(&self, job: JobId, change: JobChange) -> Result<JobStatus, ClientError> {
        let request = pb::ChangeJobRequest { job: job.0, change: Some(change) };
        self.checked(self.calls.call(Kind::Change, Some(PATIENCE), request, call!(change_job)).await?)
    }

    /// Changes all workers of a name; returns their number.
    pub async fn change_workers(&self, name: &Name, change: WorkersChange) -> Result<u64, ClientError> {
        let request = pb::ChangeWorkersRequest { name: name.to_string(), change: Some(change) };
        Ok(self.calls.call(Kind::Change, Some(PATIENCE), request, call!(change_workers)).await?.workers)
    }

    /// Returns all jobs, in the order of submission.
    pub async fn jobs(&self) -> Result<Vec<JobStatus>, ClientError> {
        let (mut jobs, mut page) = (Vec::new(), String::new());
        loop {
            let answer = self.answer(pb::ListRequest { page }, call!(list)).await?;
            let n_before = jobs.len();
            for job in answer.jobs {
                jobs.push(self.checked(job)?);
            }
            page = answer.next_page;
            if page.is_empty() {
                return Ok(jobs);
            }
            self.bounded(jobs.len(), jobs.len() - n_before)?;
        }
    }

    /// Returns a job.
    pub async fn job(&self, job: JobId) -> Result<JobStatus, ClientError> {
        self.checked(self.answer(pb::GetRequest { job: job.0 }, call!(get)).await?)
    }

    /// Returns the coordinator's status and the caller's role.
    pub async fn greeting(&self) -> Result<Greeting, ClientError> {
        Ok(Greeting::from(self.answer(pb::GetCoordinatorRequest {}, call!(get_coordinator)).await?))
    }

    /// Returns why the coordinator can't record anything now, if so.
    pub async fn store_error(&self) -> Result<Option<String>, ClientError> {
        Ok(self.greeting().await?.status.store_error)
    }

    /// Returns all workers and all blocked names.
    pub async fn workers_and_blocked(&self) -> Result<(Vec<WorkerStatus>, Vec<Name>), ClientError> {
        let (mut workers, mut blocked, mut page) = (Vec::new(), Vec::new(), String::new());
        loop {
            let answer = self.answer(pb::ListWorkersRequest { page }, call!(list_workers)).await?;
            let n_before = workers.len() + blocked.len();
            for worker in answer.workers {
                workers.push(self.checked(worker)?);
            }
            blocked.extend(answer.blocked.iter().map(|name| Name::of_any(name)));
            page = answer.next_page;
            if page.is_empty() {
                return Ok((workers, blocked));
            }
            let n_entries = workers.len() + blocked.len();
            self.bounded(n_entries, n_entries - n_before)?;
        }
    }

    /// Returns the contributions to a job, those with the most work first.
    pub async fn contributions(&self, job: JobId) -> Result<Vec<Contribution>, ClientError> {
        let request = pb::GetRequest { job: job.0 };
        let answer = self.answer(request, call!(list_contributions)).await?;
        answer.contributions.into_iter().map(|it| self.checked(it)).collect()
    }

    /// Returns a page of the verdicts on a job's disputed spans, after skipping `offset`; empty if there are no more.
    pub async fn verdicts(&self, job: JobId, offset: u64) -> Result<Vec<VerdictStatus>, ClientError> {
        let request = pb::ListVerdictsRequest { job: job.0, offset };
        let answer = self.answer(request, call!(list_verdicts)).await?;
        answer.verdicts.into_iter().map(|it| self.checked(it)).collect()
    }

    /// Returns a page of the audit log, the latest first, before an entry or from the latest; empty if there are no
    /// more. Includes refused callers on request.
    pub async fn audit_entries(
        &self,
        before: Option<u64>,
        refusals: bool,
    ) -> Result<Vec<AuditEntry>, ClientError> {
        let before = before.unwrap_or_default();
        let request = pb::ListAuditEntriesRequest { before, no_refusals: !refusals };
        let answer = self.answer(request, call!(list_audit_entries)).await?;
        Ok(answer.audit_entries.into_iter().map(AuditEntry::from).collect())
    }

    /// Exports the certificate of a finished job.
    pub async fn export(&self, job: JobId) -> Result<Pieces<'_>, ClientError> {
        let request = pb::GetRequest { job: job.0 };
        let stream = self.calls.call(Kind::Question, Some(EXPORT_PATIENCE), request, call!(export)).await?;
        Ok(Pieces { operator: self, coordinator: self.coordinator(), stream })
    }

    /// Returns the recent events, the oldest first.
    pub async fn events(&self) -> Result<Vec<Event>, ClientError> {
        let answer = self.answer(pb::ListEventsRequest {}, call!(list_events)).await?;
        answer.events.into_iter().map(|event| self.checked(event)).collect()
    }

    /// Streams a job now and at every change.
    pub async fn watch(&self, job: JobId) -> Result<Changes<'_>, ClientError> {
        let request = pb::GetRequest { job: job.0 };
        let stream = self.calls.call(Kind::Question, None, request, call!(watch)).await?;
        Ok(Changes { operator: self, coordinator: self.coordinator(), stream })
    }

    /// Makes a call that changes nothing.
    async fn answer<Q: Clone, T, F: Future<Output = Result<Response<T>, Status>>>(
        &self,
        request: Q,
        call: impl Fn(Jobs, Q) -> F,
    ) -> Result<T, ClientError> {
        self.calls.call(Kind::Question, Some(PATIENCE), request, call).await
    }

    fn checked<M, T: TryFrom<M>>(&self, message: M) -> Result<T, ClientError>
    where
        Problem: From<T::Error>,
    {
        T::try_from(message).map_err(|invalid| self.error(invalid))
    }

    /// Refuses an endless list: one with too many entries, or with an empty page that is not the last.
    fn bounded(&self, n_entries: usize, n_last: usize) -> Result<(), ClientError> {
        let what = match (n_entries, n_last) {
            (_, 0) => "a list goes on after a page with nothing on it".to_owned(),
            (MOST_ENTRIES.., _) => format!("a list has more than {MOST_ENTRIES} entries"),
            _ => return Ok(()),
        };
        Err(self.error(Problem::Nonsense(what)))
    }

    fn error(&self, problem: impl Into<Problem>) -> ClientError {
        ClientError { coordinator: self.coordinator(), problem: problem.into() }
    }

    /// Converts the failure of a stream.
    async fn broke_off(&self, coordinator: &str, problem: impl Into<Problem>) -> ClientError {
        let error = ClientError { coordinator: coordinator.to_owned(), problem: problem.into() };
        self.calls.broke_off(&error).await;
        error
    }
}

impl Pieces<'_> {
    /// Returns the next bytes; `None` after the last.
    ///
    /// # Errors
    /// If the connection breaks, or the coordinator can't finish the certificate.
    pub async fn next(&mut self) -> Result<Option<Vec<u8>>, ClientError> {
        match tokio::time::timeout(EXPORT_PATIENCE, self.stream.message()).await {
            Ok(Ok(piece)) => Ok(piece.map(|piece| piece.bytes)),
            Ok(Err(status)) => Err(self.operator.broke_off(&self.coordinator, status).await),
            Err(_) => Err(self.operator.broke_off(&self.coordinator, Problem::Silent).await),
        }
    }
}

impl Changes<'_> {
    /// Returns the job at its next change; `None` if the coordinator has ended the stream.
    ///
    /// # Errors
    /// If the connection breaks, or the answer is invalid.
    pub async fn next(&mut self) -> Result<Option<JobStatus>, ClientError> {
        match self.stream.message().await {
            Ok(change) => change.map(|job| self.operator.checked(job)).transpose(),
            Err(status) => Err(self.operator.broke_off(&self.coordinator, status).await),
        }
    }
}
