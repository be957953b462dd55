//! The coordinator's gRPC services: sessions of workers, and what operators ask for.

mod lists;
mod session;

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::{ConnectInfo, Request as HttpRequest};
use axum::middleware::{Next, from_fn, from_fn_with_state};
use axum::response::Response as HttpResponse;
use queens_messages::{JobId, JobState, JobStatus, Priority};
use queens_proto::convert::{InvalidMessage, worker_name};
use queens_proto::page::UnknownPage;
use queens_proto::pb;
use queens_proto::pb::jobs_server::{Jobs, JobsServer};
use queens_proto::pb::workers_server::WorkersServer;
use queens_solver::BoardSize;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_stream::Stream;
use tokio_stream::wrappers::ReceiverStream;
use tokio_util::sync::CancellationToken;
use tonic::service::Routes;
use tonic::transport::Server;
use tonic::transport::server::Connected;
use tonic::{Code, Request, Response, Status};
use tracing::warn;

use self::session::WorkersService;
use crate::connections::{Caller, REQUEST, TooLate, attend};
use crate::seldom::Seldom;
use crate::{Handle, Snapshot, Stopped};
use queens_ledger::{JobChange, WorkerChange};
use queens_ledger::{JobRefusal, UnknownJob, UnknownWorker};

/// Without an answer for this long, a ping is sent, and without an answer to that, the connection is dead. Otherwise
/// a connection whose other end has vanished would stay open for ever.
const KEEP_ALIVE: Duration = Duration::from_secs(10);

/// The largest message accepted: a worker with many threads that connects again names all spans it holds.
const LARGEST_MESSAGE: usize = 16 << 20;

/// How long the fundamental number of a job may take after the job is done before that is told without it.
const SETTLING: Duration = Duration::from_secs(2);

/// How long whoever watches a job may not read.
const UNREAD: Duration = Duration::from_secs(20);

/// Serves on the connections of `incoming` until `stop` is cancelled and all sessions have ended.
///
/// # Errors
/// If the server fails.
pub async fn serve<C>(
    incoming: impl Stream<Item = io::Result<C>>,
    handle: Handle,
    stop: CancellationToken,
) -> Result<(), tonic::transport::Error>
where
    C: AsyncRead + AsyncWrite + Connected + Unpin + Send + 'static,
{
    let (health, health_service) = tonic_health::server::health_reporter();
    health.set_serving::<WorkersServer<WorkersService>>().await;
    health.set_serving::<JobsServer<JobsService>>().await;
    let reflection = tonic_reflection::server::Builder::configure()
        .register_encoded_file_descriptor_set(pb::DESCRIPTORS)
        .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
        .build_v1();
    let reflection = match reflection {
        Ok(reflection) => Some(reflection),
        Err(error) => {
            warn!(%error, "no reflection service");
            None
        }
    };
    let refusals = Arc::new(Seldom::default());
    let workers = WorkersService::new(handle.clone(), refusals.clone());
    let mut routes = Routes::new(health_service)
        .add_service(WorkersServer::new(workers).max_decoding_message_size(LARGEST_MESSAGE))
        .add_service(JobsServer::new(JobsService { handle }));
    if let Some(reflection) = reflection {
        routes = routes.add_service(reflection);
    }
    let too_late: TooLate = || {
        let limit = REQUEST.as_secs();
        Status::deadline_exceeded(format!("the request was not there or not answered after {limit} s"))
            .into_http()
    };
    let router = routes
        .into_axum_router()
        .layer(from_fn(move |request, next| say_too_large(refusals.clone(), request, next)))
        .layer(from_fn_with_state(too_late, attend));
    Server::builder()
        .http2_keepalive_interval(Some(KEEP_ALIVE))
        .http2_keepalive_timeout(Some(KEEP_ALIVE))
        .add_routes(Routes::from(router))
        .serve_with_incoming_shutdown(incoming, stop.cancelled_owned())
        .await
}

/// Logs requests that were refused because they are too large. Whoever sent them is told so by the server itself.
async fn say_too_large(refusals: Arc<Seldom>, request: HttpRequest, next: Next) -> HttpResponse {
    let caller = caller(request.extensions().get());
    let path = request.uri().path().to_owned();
    let response = next.run(request).await;
    if let Some(status) = Status::from_header_map(response.headers())
        && status.code() == Code::OutOfRange
        && let Some(left_out) = refusals.allows()
    {
        warn!(caller, path, reason = status.message(), left_out, "request refused");
    }
    response
}

/// The address of who is at the other end of a connection, for the log.
fn caller(info: Option<&ConnectInfo<Caller>>) -> String {
    info.map_or_else(|| "unknown".to_owned(), |ConnectInfo(caller)| caller.peer().to_string())
}

struct JobsService {
    handle: Handle,
}

type JobStream = Pin<Box<dyn Stream<Item = Result<pb::Job, Status>> + Send>>;

#[tonic::async_trait]
impl Jobs for JobsService {
    type WatchStream = JobStream;

    async fn submit(
        &self,
        request: Request<pb::SubmitRequest>,
    ) -> Result<Response<pb::SubmitResponse>, Status> {
        let pb::SubmitRequest { n, priority } = request.into_inner();
        let n = BoardSize::try_from(n).map_err(|error| Status::invalid_argument(error.to_string()))?;
        let submitted = self.handle.submit(n, self::priority(priority)?).await.map_err(stopped)?;
        let job = submitted.map_err(|refusal| Status::resource_exhausted(refusal.to_string()))?;
        Ok(Response::new(pb::SubmitResponse { job: job.0 }))
    }

    async fn list(&self, request: Request<pb::ListRequest>) -> Result<Response<pb::ListResponse>, Status> {
        let page = request.into_inner().page.parse().map_err(unknown_page)?;
        Ok(Response::new(lists::jobs(&self.handle.snapshot(), page)))
    }

    async fn get(&self, request: Request<pb::GetRequest>) -> Result<Response<pb::Job>, Status> {
        let snapshot = self.handle.snapshot();
        Ok(Response::new(shown(find(&snapshot, JobId(request.into_inner().job))?, &snapshot)))
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
        let cancelled = self.handle.cancel(job).await.map_err(stopped)?;
        cancelled.map_err(|UnknownJob(job)| unknown_job(job))?;
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

    async fn list_events(
        &self,
        _: Request<pb::ListEventsRequest>,
    ) -> Result<Response<pb::ListEventsResponse>, Status> {
        Ok(Response::new(lists::events(&self.handle.snapshot())))
    }

    async fn get_coordinator(
        &self,
        _: Request<pb::GetCoordinatorRequest>,
    ) -> Result<Response<pb::Coordinator>, Status> {
        Ok(Response::new(self.handle.status().into()))
    }
}

impl JobsService {
    async fn change_job(&self, job: u64, change: JobChange) -> Result<(), Status> {
        let changed = self.handle.change_job(JobId(job), change).await.map_err(stopped)?;
        changed.map_err(|refusal| match refusal {
            JobRefusal::Unknown(job) => unknown_job(job),
            JobRefusal::Over { .. } => Status::failed_precondition(refusal.to_string()),
        })
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

/// Sends the job now and at every change, until it is over or nobody listens. A job that is done is told of with its
/// fundamental number, if that comes soon.
async fn watch(handle: Handle, id: JobId, sender: mpsc::Sender<Result<pb::Job, Status>>) {
    let mut snapshots = handle.snapshots();
    let (mut sent, mut deadline) = (None, None);
    loop {
        let job = {
            let snapshot = snapshots.borrow_and_update();
            snapshot.job(id).map(|job| (job.clone(), shown(job, &snapshot)))
        };
        let Some((job, shown)) = job else { return };
        let over = job.state.is_over();
        if job.state == JobState::Done && job.fundamental.is_none() {
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
        if sent.as_ref() != Some(&shown) {
            if sender.send_timeout(Ok(shown.clone()), UNREAD).await.is_err() {
                return;
            }
            sent = Some(shown);
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

fn find(snapshot: &Snapshot, id: JobId) -> Result<&JobStatus, Status> {
    snapshot.job(id).ok_or_else(|| unknown_job(id))
}

/// A job as operators are told of it. Clients of older versions learn only from a job that nothing can be recorded.
fn shown(job: &JobStatus, snapshot: &Snapshot) -> pb::Job {
    let store_error = snapshot.store_error.clone().unwrap_or_default();
    pb::Job { store_error, ..pb::Job::from(job.clone()) }
}

fn priority(priority: i32) -> Result<Priority, Status> {
    Priority::try_from(priority).map_err(|error| Status::invalid_argument(error.to_string()))
}

fn unknown_page(unknown: UnknownPage) -> Status {
    Status::invalid_argument(unknown.to_string())
}

fn unknown_job(id: JobId) -> Status {
    Status::not_found(format!("there is no job {id}"))
}

fn stopped(_: Stopped) -> Status {
    Status::unavailable("the coordinator is stopping")
}

fn invalid_message(invalid: &InvalidMessage) -> Status {
    match invalid {
        InvalidMessage::Protocol { .. } => Status::failed_precondition(invalid.to_string()),
        _ => Status::invalid_argument(invalid.to_string()),
    }
}
