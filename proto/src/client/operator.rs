//! What operators ask of a coordinator.

use std::time::Duration;

use queens_model::{
    AuditEntry, Contribution, Event, JobId, JobStatus, Name, Priority, ProgressHistory, Share, Submission,
    VerdictStatus, WorkerStatus,
};
use queens_solver::Method;
use tonic::{Response, Status, Streaming};

use crate::client::calls::{Calls, Jobs};
use crate::client::connection::PATIENCE;
use crate::client::error::{ClientError, Problem};
use crate::client::greeting::Greeting;
use crate::client::routes::Routes;
use crate::pb;

/// Entries of a list: more than any coordinator has.
const MOST_ENTRIES: usize = 1_000_000;

/// How long the next piece of a certificate may take. Before the first, symmetric placements may be counted.
const EXPORT_PATIENCE: Duration = Duration::from_secs(600);

/// The coordinator that leads, as operators speak to it. All calls have an end, whatever the coordinator does.
#[derive(Debug)]
pub struct Operator {
    calls: Calls,
}

/// Changes of a job, as they come.
#[derive(Debug)]
pub struct Changes<'a> {
    operator: &'a Operator,
    coordinator: String,
    stream: Streaming<pb::Job>,
}

/// A certificate, piece by piece.
#[derive(Debug)]
pub struct Pieces<'a> {
    operator: &'a Operator,
    coordinator: String,
    stream: Streaming<pb::CertificatePiece>,
}

/// A call of the service, to whichever coordinator.
macro_rules! call {
    ($method:ident) => {
        |mut jobs: Jobs, request| async move { jobs.$method(request).await }
    };
}

/// Every call fails if the coordinator can't be reached, does not answer in time, refuses it or answers nonsense.
#[expect(clippy::missing_errors_doc, reason = "said above, once for all calls")]
impl Operator {
    /// Connects to whichever of these coordinators leads.
    pub async fn connect(routes: Routes) -> Result<Self, ClientError> {
        Ok(Self { calls: Calls::connect(routes).await? })
    }

    /// The URL of the coordinator that was found to lead.
    #[must_use]
    pub fn coordinator(&self) -> String {
        self.calls.coordinator()
    }

    /// Whether another may lead if it does not answer any more.
    #[must_use]
    pub fn knows_others(&self) -> bool {
        self.calls.are_several()
    }

    /// Submits a job.
    pub async fn submit(&self, asked: Submission) -> Result<JobId, ClientError> {
        self.submit_to_be_recounted(asked, None).await
    }

    /// Submits a job of which only this invitation, by its number or label, counts something again.
    pub async fn submit_to_be_recounted(
        &self,
        asked: Submission,
        recount_by: Option<&Name>,
    ) -> Result<JobId, ClientError> {
        let recount_by = recount_by.map(ToString::to_string).unwrap_or_default();
        let request = pb::SubmitRequest { recount_by, ..asked.into() };
        Ok(JobId(self.calls.change(request, call!(submit)).await?.job))
    }

    /// Gives a job up.
    pub async fn cancel(&self, job: JobId) -> Result<(), ClientError> {
        self.calls.change(pb::CancelRequest { job: job.0 }, call!(cancel)).await?;
        Ok(())
    }

    /// Stops a job for now.
    pub async fn pause(&self, job: JobId) -> Result<(), ClientError> {
        self.calls.change(pb::PauseRequest { job: job.0 }, call!(pause)).await?;
        Ok(())
    }

    /// Lets a job go on.
    pub async fn resume(&self, job: JobId) -> Result<(), ClientError> {
        self.calls.change(pb::ResumeRequest { job: job.0 }, call!(resume)).await?;
        Ok(())
    }

    /// Says how urgent a job is.
    pub async fn set_priority(&self, job: JobId, priority: Priority) -> Result<(), ClientError> {
        let request = pb::SetPriorityRequest { job: job.0, priority: priority.get() };
        self.calls.change(request, call!(set_priority)).await?;
        Ok(())
    }

    /// Raises the share of a job that is counted again, or has all of it counted a second time by this method.
    pub async fn verify_more(
        &self,
        job: JobId,
        recount: Option<Share>,
        second_pass: Option<Method>,
        recount_by: Option<&Name>,
    ) -> Result<(), ClientError> {
        let request = pb::VerifyMoreRequest {
            job: job.0,
            recount: recount.map(Share::ppm),
            second_pass: second_pass.map_or(pb::Method::Unspecified, pb::Method::from).into(),
            recount_by: recount_by.map(ToString::to_string).unwrap_or_default(),
        };
        self.calls.change(request, call!(verify_more)).await?;
        Ok(())
    }

    /// Sends all workers of a name home; returns how many there are.
    pub async fn drain_workers(&self, name: &Name) -> Result<u64, ClientError> {
        let request = pb::WorkersRequest { name: name.to_string() };
        Ok(self.calls.change(request, call!(drain_workers)).await?.workers)
    }

    /// Gives no work to workers of a name; returns how many there are.
    pub async fn block_workers(&self, name: &Name) -> Result<u64, ClientError> {
        let request = pb::WorkersRequest { name: name.to_string() };
        Ok(self.calls.change(request, call!(block_workers)).await?.workers)
    }

    /// Gives work to workers of a name again; returns how many there are.
    pub async fn unblock_workers(&self, name: &Name) -> Result<u64, ClientError> {
        let request = pb::WorkersRequest { name: name.to_string() };
        Ok(self.calls.change(request, call!(unblock_workers)).await?.workers)
    }

    /// All jobs, in the order of submission.
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

    /// A job.
    pub async fn job(&self, job: JobId) -> Result<JobStatus, ClientError> {
        self.checked(self.answer(pb::GetRequest { job: job.0 }, call!(get)).await?)
    }

    /// How the coordinator itself stands, and what it makes of whoever asks.
    pub async fn greeting(&self) -> Result<Greeting, ClientError> {
        Ok(Greeting::from(self.answer(pb::GetCoordinatorRequest {}, call!(get_coordinator)).await?))
    }

    /// Why the coordinator records nothing at present, if so.
    pub async fn store_error(&self) -> Result<Option<String>, ClientError> {
        Ok(self.greeting().await?.status.store_error)
    }

    /// All workers, and all names that are blocked.
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

    /// Who has counted a job, those with the most nodes first.
    pub async fn contributions(&self, job: JobId) -> Result<Vec<Contribution>, ClientError> {
        let request = pb::GetRequest { job: job.0 };
        let answer = self.answer(request, call!(list_contributions)).await?;
        answer.contributions.into_iter().map(|it| self.checked(it)).collect()
    }

    /// What was decided about spans of a job of which there were different counts, without so many at the beginning: some
    /// of them, or none if there are no more.
    pub async fn verdicts(&self, job: JobId, offset: u64) -> Result<Vec<VerdictStatus>, ClientError> {
        let request = pb::ListVerdictsRequest { job: job.0, offset };
        let answer = self.answer(request, call!(list_verdicts)).await?;
        answer.verdicts.into_iter().map(|it| self.checked(it)).collect()
    }

    /// How a job has gone so far, in so many rates and so many groups of parts at most.
    pub async fn progress_history(
        &self,
        job: JobId,
        rates: u32,
        groups: u32,
    ) -> Result<ProgressHistory, ClientError> {
        let request = pb::GetProgressHistoryRequest { job: job.0, rates, groups };
        self.checked(self.answer(request, call!(get_progress_history)).await?)
    }

    /// What was decided and by whom: the latest, or the latest before one; some of them, the latest first, or none if there
    /// are no more. With refusals to let somebody in, or without.
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

    /// A certificate of a job that is done.
    pub async fn export(&self, job: JobId) -> Result<Pieces<'_>, ClientError> {
        let request = pb::GetRequest { job: job.0 };
        let stream = self.calls.answer(Some(EXPORT_PATIENCE), request, call!(export)).await?;
        Ok(Pieces { operator: self, coordinator: self.coordinator(), stream })
    }

    /// What has happened lately, the oldest first.
    pub async fn events(&self) -> Result<Vec<Event>, ClientError> {
        let answer = self.answer(pb::ListEventsRequest {}, call!(list_events)).await?;
        answer.events.into_iter().map(|event| self.checked(event)).collect()
    }

    /// A job now and at every change.
    pub async fn watch(&self, job: JobId) -> Result<Changes<'_>, ClientError> {
        let request = pb::GetRequest { job: job.0 };
        let stream = self.calls.answer(None, request, call!(watch)).await?;
        Ok(Changes { operator: self, coordinator: self.coordinator(), stream })
    }

    /// The answer to what changes nothing.
    async fn answer<Q: Clone, T, F: Future<Output = Result<Response<T>, Status>>>(
        &self,
        request: Q,
        call: impl Fn(Jobs, Q) -> F,
    ) -> Result<T, ClientError> {
        self.calls.answer(Some(PATIENCE), request, call).await
    }

    fn checked<M, T: TryFrom<M>>(&self, message: M) -> Result<T, ClientError>
    where
        Problem: From<T::Error>,
    {
        T::try_from(message).map_err(|invalid| self.error(invalid))
    }

    /// Refuses a list that has come to so many entries, some of them on its last page, and goes on, if it can have no
    /// end.
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

    /// What has gone wrong with a stream of a coordinator.
    async fn broke_off(&self, coordinator: &str, problem: impl Into<Problem>) -> ClientError {
        let error = ClientError { coordinator: coordinator.to_owned(), problem: problem.into() };
        self.calls.broke_off(&error).await;
        error
    }
}

impl Pieces<'_> {
    /// The next bytes; `None` behind the last.
    ///
    /// # Errors
    /// If the connection breaks, or the certificate can't be made to its end.
    pub async fn next(&mut self) -> Result<Option<Vec<u8>>, ClientError> {
        match tokio::time::timeout(EXPORT_PATIENCE, self.stream.message()).await {
            Ok(Ok(piece)) => Ok(piece.map(|piece| piece.bytes)),
            Ok(Err(status)) => Err(self.operator.broke_off(&self.coordinator, status).await),
            Err(_) => Err(self.operator.broke_off(&self.coordinator, Problem::Silent).await),
        }
    }
}

impl Changes<'_> {
    /// The job at its next change; `None` if the coordinator has ended the stream.
    ///
    /// # Errors
    /// If the connection breaks, or the coordinator sends nonsense.
    pub async fn next(&mut self) -> Result<Option<JobStatus>, ClientError> {
        match self.stream.message().await {
            Ok(change) => change.map(|job| self.operator.checked(job)).transpose(),
            Err(status) => Err(self.operator.broke_off(&self.coordinator, status).await),
        }
    }
}
