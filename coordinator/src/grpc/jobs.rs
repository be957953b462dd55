//! The gRPC service for operators: submit, query and manage jobs and workers.

use std::pin::Pin;
use std::time::Duration;

use queens_auth::Role;
use queens_event_loop::{Handle, NoExport, Stopped};
use queens_ledger::{JobChange, Verification, WorkerChange};
use queens_model::{JobId, JobState, Priority, Submission};
use queens_proto::convert::{verify_more, worker_name};
use queens_proto::page::UnknownPage;
use queens_proto::pb::jobs_server::Jobs;
use queens_proto::pb::{self, change_job_request, change_workers_request};
use queens_store::unix_ms;
use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_stream::wrappers::ReceiverStream;
use tokio_stream::{Stream, StreamExt};
use tonic::{Request, Response, Status};

use super::lists;
use crate::access::{Authenticator, Caller};
use crate::refusal::{RequestRefusal, find};

/// How long to wait for the fundamental count of a finished job before the last message is sent without it.
const SETTLING: Duration = Duration::from_secs(2);

/// How long a client may leave a message unread.
const UNREAD: Duration = Duration::from_secs(20);

pub(super) struct JobsService {
    handle: Handle,
    authenticator: Authenticator,
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
        let recount_by = self.authenticator.arbiter(&request.recount_by)?;
        let asked = Submission::try_from(request).map_err(RequestRefusal::from)?;
        let asked = Submission { recount_by, ..asked };
        let job = carried_out(self.handle.submit(asked).await)?;
        Ok(Response::new(pb::SubmitResponse { job: job.0 }))
    }

    async fn list(&self, request: Request<pb::ListRequest>) -> Result<Response<pb::ListResponse>, Status> {
        let page = request.into_inner().page;
        let after = (!page.is_empty()).then(|| page.parse().map_err(|_| UnknownPage)).transpose();
        let after = after.map_err(RequestRefusal::bad_request)?;
        Ok(Response::new(lists::jobs(&self.handle.snapshot(), after)))
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

    async fn change_job(&self, request: Request<pb::ChangeJobRequest>) -> Result<Response<pb::Job>, Status> {
        let pb::ChangeJobRequest { job, change } = request.into_inner();
        let (id, change) = (JobId(job), change.ok_or_else(no_change)?);
        carried_out(self.handle.change_job(id, self.job_change(change)?).await)?;
        Ok(Response::new(find(&self.handle.snapshot(), id)?.clone().into()))
    }

    async fn change_workers(
        &self,
        request: Request<pb::ChangeWorkersRequest>,
    ) -> Result<Response<pb::ChangedWorkers>, Status> {
        let pb::ChangeWorkersRequest { name, change } = request.into_inner();
        let name = worker_name(&name).map_err(RequestRefusal::from)?;
        let change = match change.ok_or_else(no_change)? {
            change_workers_request::Change::Drain(_) => WorkerChange::Drain,
            change_workers_request::Change::Block(_) => WorkerChange::Block,
            change_workers_request::Change::Unblock(_) => WorkerChange::Unblock,
        };
        let workers = carried_out(self.handle.change_workers(name, change).await)?;
        Ok(Response::new(pb::ChangedWorkers { workers: workers as u64 }))
    }

    async fn list_workers(
        &self,
        request: Request<pb::ListWorkersRequest>,
    ) -> Result<Response<pb::ListWorkersResponse>, Status> {
        let page = request.into_inner().page.parse().map_err(RequestRefusal::bad_request)?;
        Ok(Response::new(lists::workers(&self.handle.snapshot(), page)))
    }

    async fn list_contributions(
        &self,
        request: Request<pb::GetRequest>,
    ) -> Result<Response<pb::ListContributionsResponse>, Status> {
        let job = find(&self.handle.snapshot(), JobId(request.into_inner().job))?.id;
        let contributions = self.handle.contributions(job).await.map_err(RequestRefusal::from)?;
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
        let verdicts = verdicts.map_err(RequestRefusal::from)?;
        let verdicts = verdicts.iter().map(pb::Verdict::from).collect();
        Ok(Response::new(pb::ListVerdictsResponse { verdicts }))
    }

    async fn export(&self, request: Request<pb::GetRequest>) -> Result<Response<PieceStream>, Status> {
        let decides = Caller::of(request.extensions())?.decides();
        let job = find(&self.handle.snapshot(), JobId(request.into_inner().job))?.id;
        let mut pieces = self.handle.export(job, decides).map_err(RequestRefusal::from)?;
        // Errors at the start become the status of the call, before anything is sent.
        let first = pieces.recv().await.transpose().map_err(RequestRefusal::from)?;
        let piece = |piece: Result<Vec<u8>, NoExport>| match piece {
            Ok(bytes) => Ok(pb::CertificatePiece { bytes }),
            Err(error) => Err(RequestRefusal::from(error).into()),
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
        let audit_entries = self.authenticator.audit_entries(before, !no_refusals).await?;
        let audit_entries = audit_entries.into_iter().map(pb::AuditEntry::from).collect();
        Ok(Response::new(pb::ListAuditEntriesResponse { audit_entries }))
    }

    async fn get_coordinator(
        &self,
        request: Request<pb::GetCoordinatorRequest>,
    ) -> Result<Response<pb::Coordinator>, Status> {
        let role = Caller::of(request.extensions())?.role().map(Role::name);
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

    fn job_change(&self, change: change_job_request::Change) -> Result<JobChange, Status> {
        use change_job_request::Change;
        Ok(match change {
            Change::Cancel(_) => JobChange::Cancel,
            Change::Pause(_) => JobChange::Pause,
            Change::Resume(_) => JobChange::Resume,
            Change::Priority(priority) => {
                JobChange::Priority(Priority::try_from(priority).map_err(RequestRefusal::bad_request)?)
            }
            Change::EndVerification(_) => JobChange::EndVerification,
            Change::VerifyMore(more) => {
                let (recount, second_pass) = verify_more(&more).map_err(RequestRefusal::from)?;
                let recount_by = self.authenticator.arbiter(&more.recount_by)?;
                JobChange::Verify(Verification { recount, recount_by, second_pass })
            }
        })
    }
}

fn no_change() -> Status {
    Status::invalid_argument("the change is missing")
}

/// Returns the result of a command, or why it was refused.
fn carried_out<T, E>(answer: Result<Result<T, E>, Stopped>) -> Result<T, RequestRefusal>
where
    RequestRefusal: From<E>,
{
    Ok(answer??)
}

/// Sends the job now and at every change, until it is over or the client is gone. The last message of a finished job
/// includes its fundamental count, if that follows soon.
async fn watch(handle: Handle, id: JobId, sender: mpsc::Sender<Result<pb::Job, Status>>) {
    let mut snapshots = handle.snapshots();
    let (mut sent, mut deadline) = (None, None);
    loop {
        let job = {
            let snapshot = snapshots.borrow_and_update();
            snapshot.job(id).map(|job| (job.clone(), pb::Job::from(job.clone())))
        };
        let Some((job, told)) = job else { return };
        let over = job.state.is_over();
        if job.state == JobState::Done && job.fundamental.is_none() && !job.is_part() {
            let deadline = *deadline.get_or_insert_with(|| Instant::now() + SETTLING);
            if Instant::now() < deadline {
                tokio::select! {
                    changed = snapshots.changed() => if changed.is_err() { return },
                    () = tokio::time::sleep_until(deadline) => {}
                    () = sender.closed() => return,
                }
                continue;
            }
        }
        if sent.as_ref() != Some(&told) {
            if sender.send_timeout(Ok(told.clone()), UNREAD).await.is_err() {
                return;
            }
            sent = Some(told);
        }
        if over {
            return;
        }
        tokio::select! {
            changed = snapshots.changed() => if changed.is_err() { return },
            () = sender.closed() => return,
        }
    }
}
