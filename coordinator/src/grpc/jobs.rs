//! The gRPC service for operators: submit, query and manage jobs and workers.

use std::pin::Pin;

use queens_auth::Role;
use queens_event_loop::{Handle, NoExport, Snapshot};
use queens_ledger::{JobChange, JobRefusal, UnknownWorker, Verification, WorkerChange};
use queens_model::{JobId, JobStatus, Priority, Submission};
use queens_proto::convert::{InvalidMessage, verify_more, worker_name};
use queens_proto::pb;
use queens_proto::pb::jobs_server::Jobs;
use queens_store::unix_ms;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tokio_stream::{Stream, StreamExt};
use tonic::{Request, Response, Status};

use super::lists;
use super::refusal::{invalid_message, not_exported, refused, stopped, unknown_job, unknown_page};
use super::watch::watch;
use crate::access::{AuthContext, Authenticator};

pub(super) struct JobsService {
    handle: Handle,
    authenticator: Authenticator,
}

fn find(snapshot: &Snapshot, id: JobId) -> Result<&JobStatus, Status> {
    snapshot.job(id).ok_or_else(|| unknown_job(id))
}

type PieceStream = Pin<Box<dyn Stream<Item = Result<pb::CertificatePiece, Status>> + Send>>;

type JobStream = Pin<Box<dyn Stream<Item = Result<pb::Job, Status>> + Send>>;

#[tonic::async_trait]
impl Jobs for JobsService {
    type WatchStream = JobStream;
    type ExportStream = PieceStream;

    async fn submit(
        &self,
        request: Request<pb::SubmitRequest>,
    ) -> Result<Response<pb::SubmitResponse>, Status> {
        let request = request.into_inner();
        let recount_by = self.authenticator.arbiter(&request.recount_by).map_err(Status::invalid_argument)?;
        let asked = Submission::try_from(request).map_err(|error| invalid_message(&error))?;
        let asked = Submission { recount_by, ..asked };
        let submitted = self.handle.submit(asked).await.map_err(stopped)?;
        let job = submitted.map_err(|refusal| refused(&refusal))?;
        Ok(Response::new(pb::SubmitResponse { job: job.0 }))
    }

    async fn list(&self, request: Request<pb::ListRequest>) -> Result<Response<pb::ListResponse>, Status> {
        let page = request.into_inner().page.parse().map_err(unknown_page)?;
        Ok(Response::new(lists::jobs(&self.handle.snapshot(), page)))
    }

    async fn get(&self, request: Request<pb::GetRequest>) -> Result<Response<pb::Job>, Status> {
        let snapshot = self.handle.snapshot();
        Ok(Response::new(find(&snapshot, JobId(request.into_inner().job))?.clone().into()))
    }

    async fn watch(&self, request: Request<pb::GetRequest>) -> Result<Response<JobStream>, Status> {
        let job = JobId(request.into_inner().job);
        find(&self.handle.snapshot(), job)?;
        let (sender, stream) = mpsc::channel(1);
        tokio::spawn(watch(self.handle.clone(), job, sender));
        Ok(Response::new(Box::pin(ReceiverStream::new(stream))))
    }

    async fn cancel(
        &self,
        request: Request<pb::CancelRequest>,
    ) -> Result<Response<pb::CancelResponse>, Status> {
        let job = JobId(request.into_inner().job);
        self.handle.cancel(job).await.map_err(stopped)?.map_err(not_changed)?;
        Ok(Response::new(pb::CancelResponse {}))
    }

    async fn pause(&self, request: Request<pb::PauseRequest>) -> Result<Response<pb::PauseResponse>, Status> {
        self.change_job(request.into_inner().job, JobChange::Pause).await?;
        Ok(Response::new(pb::PauseResponse {}))
    }

    async fn resume(
        &self,
        request: Request<pb::ResumeRequest>,
    ) -> Result<Response<pb::ResumeResponse>, Status> {
        self.change_job(request.into_inner().job, JobChange::Resume).await?;
        Ok(Response::new(pb::ResumeResponse {}))
    }

    async fn set_priority(
        &self,
        request: Request<pb::SetPriorityRequest>,
    ) -> Result<Response<pb::SetPriorityResponse>, Status> {
        let pb::SetPriorityRequest { job, priority } = request.into_inner();
        self.change_job(job, JobChange::Priority(self::priority(priority)?)).await?;
        Ok(Response::new(pb::SetPriorityResponse {}))
    }

    async fn verify_more(
        &self,
        request: Request<pb::VerifyMoreRequest>,
    ) -> Result<Response<pb::VerifyMoreResponse>, Status> {
        let request = request.into_inner();
        let job = request.job;
        let more = verification(&request).map_err(|error| invalid_message(&error))?;
        let more = Verification {
            recount_by: self.authenticator.arbiter(&request.recount_by).map_err(Status::invalid_argument)?,
            ..more
        };
        self.change_job(job, JobChange::Verify(more)).await?;
        Ok(Response::new(pb::VerifyMoreResponse {}))
    }

    async fn drain_workers(
        &self,
        request: Request<pb::WorkersRequest>,
    ) -> Result<Response<pb::WorkersResponse>, Status> {
        self.change_workers(request.into_inner(), WorkerChange::Drain).await
    }

    async fn block_workers(
        &self,
        request: Request<pb::WorkersRequest>,
    ) -> Result<Response<pb::WorkersResponse>, Status> {
        self.change_workers(request.into_inner(), WorkerChange::Block).await
    }

    async fn unblock_workers(
        &self,
        request: Request<pb::WorkersRequest>,
    ) -> Result<Response<pb::WorkersResponse>, Status> {
        self.change_workers(request.into_inner(), WorkerChange::Unblock).await
    }

    async fn list_workers(
        &self,
        request: Request<pb::ListWorkersRequest>,
    ) -> Result<Response<pb::ListWorkersResponse>, Status> {
        let page = request.into_inner().page.parse().map_err(unknown_page)?;
        Ok(Response::new(lists::workers(&self.handle.snapshot(), page)))
    }

    async fn list_contributions(
        &self,
        request: Request<pb::GetRequest>,
    ) -> Result<Response<pb::ListContributionsResponse>, Status> {
        let job = find(&self.handle.snapshot(), JobId(request.into_inner().job))?.id;
        let contributions = self.handle.contributions(job).await;
        let contributions = contributions.map_err(|untold| Status::unavailable(untold.to_string()))?;
        let contributions = contributions.iter().map(pb::Contribution::from).collect();
        Ok(Response::new(pb::ListContributionsResponse { contributions }))
    }

    async fn list_verdicts(
        &self,
        request: Request<pb::ListVerdictsRequest>,
    ) -> Result<Response<pb::ListVerdictsResponse>, Status> {
        let pb::ListVerdictsRequest { job, offset } = request.into_inner();
        let job = find(&self.handle.snapshot(), JobId(job))?.id;
        let verdicts = self.handle.verdicts(job, usize::try_from(offset).unwrap_or(usize::MAX)).await;
        let verdicts = verdicts.map_err(|untold| Status::unavailable(untold.to_string()))?;
        let verdicts = verdicts.iter().map(pb::Verdict::from).collect();
        Ok(Response::new(pb::ListVerdictsResponse { verdicts }))
    }

    async fn export(&self, request: Request<pb::GetRequest>) -> Result<Response<PieceStream>, Status> {
        let decides = request.extensions().get().is_none_or(AuthContext::decides);
        let job = find(&self.handle.snapshot(), JobId(request.into_inner().job))?.id;
        let mut pieces = self.handle.export(job, decides).map_err(|error| not_exported(&error))?;
        // Errors at the start become the status of the call, before anything is sent.
        let first = pieces.recv().await.transpose().map_err(|error| not_exported(&error))?;
        let piece = |piece: Result<Vec<u8>, NoExport>| match piece {
            Ok(bytes) => Ok(pb::CertificatePiece { bytes }),
            Err(error) => Err(not_exported(&error)),
        };
        let stream = tokio_stream::iter(first.map(Ok)).chain(ReceiverStream::new(pieces)).map(piece);
        Ok(Response::new(Box::pin(stream)))
    }

    async fn list_events(
        &self,
        _: Request<pb::ListEventsRequest>,
    ) -> Result<Response<pb::ListEventsResponse>, Status> {
        Ok(Response::new(lists::events(&self.handle.snapshot())))
    }

    async fn list_audit_entries(
        &self,
        request: Request<pb::ListAuditEntriesRequest>,
    ) -> Result<Response<pb::ListAuditEntriesResponse>, Status> {
        let pb::ListAuditEntriesRequest { before, no_refusals } = request.into_inner();
        let before = Some(before).filter(|before| *before > 0);
        let audit_entries =
            self.authenticator.audit_entries(before, !no_refusals).await.map_err(Status::unavailable)?;
        let audit_entries = audit_entries.into_iter().map(pb::AuditEntry::from).collect();
        Ok(Response::new(pb::ListAuditEntriesResponse { audit_entries }))
    }

    async fn get_coordinator(
        &self,
        request: Request<pb::GetCoordinatorRequest>,
    ) -> Result<Response<pb::Coordinator>, Status> {
        let role = request.extensions().get().and_then(AuthContext::role).map(Role::name);
        Ok(Response::new(pb::Coordinator {
            now_ms: unix_ms(),
            role: role.unwrap_or_default().to_owned(),
            ..self.handle.status().into()
        }))
    }
}

impl JobsService {
    pub(super) fn new(handle: Handle, authenticator: Authenticator) -> Self {
        Self { handle, authenticator }
    }

    async fn change_job(&self, job: u64, change: JobChange) -> Result<(), Status> {
        let changed = self.handle.change_job(JobId(job), change).await.map_err(stopped)?;
        changed.map_err(not_changed)
    }

    async fn change_workers(
        &self,
        request: pb::WorkersRequest,
        change: WorkerChange,
    ) -> Result<Response<pb::WorkersResponse>, Status> {
        let name = worker_name(&request.name).map_err(|invalid| invalid_message(&invalid))?;
        let changed = self.handle.change_workers(name, change).await.map_err(stopped)?;
        let workers = changed.map_err(|unknown: UnknownWorker| Status::not_found(unknown.to_string()))?;
        Ok(Response::new(pb::WorkersResponse { workers: workers as u64 }))
    }
}

fn not_changed(refusal: JobRefusal) -> Status {
    match refusal {
        JobRefusal::Unknown(job) => unknown_job(job),
        JobRefusal::TooMany(_) => Status::resource_exhausted(refusal.to_string()),
        _ => Status::failed_precondition(refusal.to_string()),
    }
}

fn verification(request: &pb::VerifyMoreRequest) -> Result<Verification, InvalidMessage> {
    let (recount, second_pass) = verify_more(request)?;
    Ok(Verification { recount, recount_by: None, second_pass })
}

fn priority(priority: i32) -> Result<Priority, Status> {
    Priority::try_from(priority).map_err(|error| Status::invalid_argument(error.to_string()))
}
