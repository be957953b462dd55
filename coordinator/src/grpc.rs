//! The coordinator's gRPC services: sessions of workers, and what operators ask for.

use std::io;
use std::pin::Pin;
use std::time::Duration;

use queens_proto::convert::{InvalidMessage, worker_name};
use queens_proto::pb::jobs_server::{Jobs, JobsServer};
use queens_proto::pb::workers_server::{Workers, WorkersServer};
use queens_proto::{JobId, JobStatus, Name, Priority, ToCoordinator, ToWorker, link, pb};
use queens_solver::BoardSize;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::task::JoinError;
use tokio_stream::wrappers::ReceiverStream;
use tokio_stream::{Stream, StreamExt};
use tokio_util::sync::CancellationToken;
use tonic::transport::Server;
use tonic::transport::server::{Connected, TcpIncoming};
use tonic::{Request, Response, Status, Streaming};
use tracing::warn;

use crate::ledger::{JobRefusal, Refusal, UnknownJob, UnknownWorker};
use crate::{Handle, JobChange, Snapshot, Stopped, WorkerChange};

/// Without an answer for this long, a ping is sent, and without an answer to that, the connection is dead. Otherwise
/// a connection whose other end has vanished would stay open for ever.
const KEEP_ALIVE: Duration = Duration::from_secs(10);

/// Messages to a worker that may wait for its connection to take them.
const OUTGOING: usize = 64;

/// How long a session whose connection is gone may take to end.
const FAREWELL: Duration = Duration::from_secs(5);

/// The largest message accepted: a worker with many threads that connects again names all spans it holds.
const LARGEST_MESSAGE: usize = 16 << 20;

/// How long to wait after a connection could not be accepted: what it takes (files, above all) may be free then.
const ACCEPT_AGAIN: Duration = Duration::from_millis(200);

/// The connections that come to `listener`.
pub fn incoming(listener: TcpListener) -> impl Stream<Item = io::Result<TcpStream>> {
    // Without the pause, a listener that can't accept would be asked again and again for as long as that lasts.
    let accepted = async |accepted: io::Result<TcpStream>| {
        if let Err(error) = &accepted {
            warn!(%error, "cannot accept a connection");
            tokio::time::sleep(ACCEPT_AGAIN).await;
        }
        accepted
    };
    TcpIncoming::from(listener).with_nodelay(Some(true)).then(accepted)
}

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
    let workers = WorkersServer::new(WorkersService { handle: handle.clone() });
    Server::builder()
        .http2_keepalive_interval(Some(KEEP_ALIVE))
        .http2_keepalive_timeout(Some(KEEP_ALIVE))
        .add_service(health_service)
        .add_optional_service(reflection)
        .add_service(workers.max_decoding_message_size(LARGEST_MESSAGE))
        .add_service(JobsServer::new(JobsService { handle }))
        .serve_with_incoming_shutdown(incoming, stop.cancelled_owned())
        .await
}

struct WorkersService {
    handle: Handle,
}

#[tonic::async_trait]
impl Workers for WorkersService {
    type SessionStream = ReceiverStream<Result<pb::CoordinatorMessage, Status>>;

    async fn session(
        &self,
        request: Request<Streaming<pb::WorkerMessage>>,
    ) -> Result<Response<Self::SessionStream>, Status> {
        let (outgoing, stream) = mpsc::channel(OUTGOING);
        tokio::spawn(run_session(self.handle.clone(), request.into_inner(), outgoing));
        Ok(Response::new(ReceiverStream::new(stream)))
    }
}

/// Carries one session between the wire and the event loop, until either side ends it.
async fn run_session(
    handle: Handle,
    incoming: Streaming<pb::WorkerMessage>,
    outgoing: mpsc::Sender<Result<pb::CoordinatorMessage, Status>>,
) {
    let (worker_end, coordinator_end) = link();
    let mut serving = tokio::spawn(async move { handle.serve(coordinator_end).await });
    let mut forwarding = tokio::spawn(forward(worker_end.receiver, outgoing.clone()));
    let mut served = None;
    let reason = tokio::select! {
        // Either of these ends the worker's end of the link; then the event loop learns that the session is over.
        invalid = receive(incoming, worker_end.sender) => invalid.map(|invalid| invalid_message(&invalid)),
        () = outgoing.closed() => None,
        end = &mut serving => {
            served = Some(());
            refusal(end)
        }
        // The event loop has closed the session, if it has not refused the worker, which is about to be known.
        _ = &mut forwarding => {
            let end = tokio::time::timeout(FAREWELL, &mut serving).await;
            served = end.is_ok().then_some(());
            let closed = || Status::aborted("the coordinator has closed this session");
            Some(end.ok().and_then(refusal).unwrap_or_else(closed))
        }
    };
    if let Some(status) = reason {
        warn!(reason = status.message(), "session ended");
        _ = outgoing.send(Err(status)).await;
    }
    forwarding.abort();
    // While nothing can be recorded, it waits for its turn; sessions that were given up must not pile up meanwhile. The
    // event loop learns it when it next sends something.
    if served.is_none() && tokio::time::timeout(FAREWELL, &mut serving).await.is_err() {
        serving.abort();
    }
}

fn refusal(end: Result<Result<(), Refusal>, JoinError>) -> Option<Status> {
    end.ok().and_then(Result::err).map(|refusal| refused(&refusal))
}

/// Takes messages off the wire until it ends, or returns why one of them made no sense.
async fn receive(
    mut incoming: Streaming<pb::WorkerMessage>,
    to_coordinator: mpsc::Sender<ToCoordinator>,
) -> Option<InvalidMessage> {
    while let Ok(Some(message)) = incoming.message().await {
        match ToCoordinator::try_from(message) {
            Ok(message) => to_coordinator.send(message).await.ok()?,
            Err(invalid) => return Some(invalid),
        }
    }
    None
}

/// Puts messages on the wire until the event loop closes the session or the wire is gone.
async fn forward(
    mut to_worker: mpsc::Receiver<ToWorker>,
    outgoing: mpsc::Sender<Result<pb::CoordinatorMessage, Status>>,
) {
    while let Some(message) = to_worker.recv().await {
        if outgoing.send(Ok(message.into())).await.is_err() {
            return;
        }
    }
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

    async fn list(&self, _: Request<pb::ListRequest>) -> Result<Response<pb::ListResponse>, Status> {
        let snapshot = self.handle.snapshot();
        let jobs = snapshot.jobs.iter().map(|job| shown(job, &snapshot).into()).collect();
        Ok(Response::new(pb::ListResponse { jobs }))
    }

    async fn get(&self, request: Request<pb::GetRequest>) -> Result<Response<pb::Job>, Status> {
        let job = find(&self.handle, JobId(request.into_inner().job))?;
        Ok(Response::new(job.into()))
    }

    async fn watch(&self, request: Request<pb::GetRequest>) -> Result<Response<JobStream>, Status> {
        let job = JobId(request.into_inner().job);
        find(&self.handle, job)?;
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
        _: Request<pb::ListWorkersRequest>,
    ) -> Result<Response<pb::ListWorkersResponse>, Status> {
        let snapshot = self.handle.snapshot();
        let workers = snapshot.workers.iter().cloned().map(pb::Worker::from).collect();
        let blocked = snapshot.blocked.iter().map(Name::to_string).collect();
        Ok(Response::new(pb::ListWorkersResponse { workers, blocked }))
    }

    async fn list_events(
        &self,
        _: Request<pb::ListEventsRequest>,
    ) -> Result<Response<pb::ListEventsResponse>, Status> {
        let events = self.handle.snapshot().events.iter().map(|event| pb::Event::from(&**event)).collect();
        Ok(Response::new(pb::ListEventsResponse { events }))
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

/// Sends the job now and at every change, until it is over or nobody listens.
async fn watch(handle: Handle, id: JobId, sender: mpsc::Sender<Result<pb::Job, Status>>) {
    let mut snapshots = handle.snapshots();
    let mut sent = None;
    loop {
        let job = {
            let snapshot = snapshots.borrow_and_update();
            snapshot.job(id).map(|job| shown(job, &snapshot))
        };
        let Some(job) = job else { return };
        let over = job.state.is_over();
        if sent.as_ref() != Some(&job) {
            if sender.send(Ok(job.clone().into())).await.is_err() {
                return;
            }
            sent = Some(job);
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

fn find(handle: &Handle, id: JobId) -> Result<JobStatus, Status> {
    let snapshot = handle.snapshots().borrow().clone();
    snapshot.job(id).map(|job| shown(job, &snapshot)).ok_or_else(|| unknown_job(id))
}

/// A job as operators are told of it: what keeps all jobs from being recorded is said of each.
fn shown(job: &JobStatus, snapshot: &Snapshot) -> JobStatus {
    JobStatus { store_error: snapshot.store_error.clone(), ..job.clone() }
}

fn priority(priority: i32) -> Result<Priority, Status> {
    Priority::try_from(priority).map_err(|error| Status::invalid_argument(error.to_string()))
}

fn unknown_job(id: JobId) -> Status {
    Status::not_found(format!("there is no job {id}"))
}

fn stopped(_: Stopped) -> Status {
    Status::unavailable("the coordinator is stopping")
}

/// A refusal that trying again does not change is a failed precondition, for workers to give up on.
fn refused(refusal: &Refusal) -> Status {
    let message = refusal.to_string();
    match refusal {
        Refusal::Decomposition { .. } | Refusal::NoThreads => Status::failed_precondition(message),
        Refusal::Unknown(_) => Status::aborted(message),
        Refusal::NoHello
        | Refusal::SecondHello
        | Refusal::UnknownJob(_)
        | Refusal::UnknownSpan { .. }
        | Refusal::Impossible(_) => Status::invalid_argument(message),
    }
}

fn invalid_message(invalid: &InvalidMessage) -> Status {
    match invalid {
        InvalidMessage::Protocol { .. } => Status::failed_precondition(invalid.to_string()),
        _ => Status::invalid_argument(invalid.to_string()),
    }
}
