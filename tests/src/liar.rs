//! A proxy that turns honest workers into liars: it falsifies some of their reports.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use queens_proto::checksum::of_delta;
use queens_proto::pb;
use queens_proto::pb::worker_message::Message;
use queens_proto::pb::workers_client::WorkersClient;
use queens_proto::pb::workers_server::{Workers, WorkersServer};
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tokio_stream::StreamExt;
use tokio_stream::wrappers::TcpListenerStream;
use tonic::transport::Server;
use tonic::{Request, Response, Status, Streaming};

/// Falsifies a share of the deltas of all workers that connect through it. It falsifies a repeated delta again in the
/// same way. Ends when it is dropped.
#[derive(Debug)]
pub struct Liar {
    address: SocketAddr,
    told: Told,
    _runtime: Runtime,
}

/// Every forwarded delta, by job, part and first subproblem, and whether it was falsified.
type Told = Arc<Mutex<BTreeMap<(Vec<u8>, u32, u64), bool>>>;

/// The deltas that it falsifies, and how.
#[derive(Clone, Copy, Debug)]
enum Lies {
    /// This many of a hundred deltas, by two solutions each.
    Deltas(u64),
    /// This many of a million subproblems, by one solution each: workers tell the same lies, however they divide the
    /// work.
    Subproblems(u64),
}

struct Service {
    coordinator: String,
    lies: Lies,
    told: Told,
}

impl Liar {
    /// Starts a proxy for the coordinator at `url`, on a free port of the loopback interface. It adds two solutions to
    /// about this many of a hundred deltas.
    ///
    /// # Panics
    /// Panics if there is no free port.
    #[must_use]
    pub fn start(url: &str, percent: u64) -> Self {
        Self::start_telling(url, Lies::Deltas(percent))
    }

    /// Starts a proxy that adds one solution to about this many of a million subproblems: all its workers tell the same
    /// lies.
    ///
    /// # Panics
    /// Panics if there is no free port.
    #[must_use]
    pub fn start_consistent(url: &str, per_million: u64) -> Self {
        Self::start_telling(url, Lies::Subproblems(per_million))
    }

    fn start_telling(url: &str, lies: Lies) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
        let runtime = runtime.expect("a runtime");
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).expect("a free port");
        let address = listener.local_addr().expect("bound");
        let told = Told::default();
        let service = Service { coordinator: url.to_owned(), lies, told: told.clone() };
        let server = Server::builder().add_service(WorkersServer::new(service));
        runtime.spawn(server.serve_with_incoming(TcpListenerStream::new(listener)));
        Self { address, told, _runtime: runtime }
    }

    /// Returns its URL for workers.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Returns the number of falsified deltas.
    #[must_use]
    pub fn n_lies(&self) -> usize {
        self.told.lock().unwrap_or_else(PoisonError::into_inner).values().filter(|is_lie| **is_lie).count()
    }

    /// Returns the number of forwarded deltas.
    #[must_use]
    pub fn n_spans(&self) -> usize {
        self.told.lock().unwrap_or_else(PoisonError::into_inner).len()
    }
}

#[tonic::async_trait]
impl Workers for Service {
    type SessionStream = Streaming<pb::CoordinatorMessage>;

    async fn session(
        &self,
        request: Request<Streaming<pb::WorkerMessage>>,
    ) -> Result<Response<Self::SessionStream>, Status> {
        let unreachable = |error| Status::unavailable(format!("the liar's coordinator: {error}"));
        let mut coordinator = WorkersClient::connect(self.coordinator.clone()).await.map_err(unreachable)?;
        let (lies, told) = (self.lies, self.told.clone());
        // Forwards the worker's token.
        let metadata = request.metadata().clone();
        let falsified = request.into_inner().map_while(Result::ok).map(move |mut message| {
            if let Some(Message::Report(report)) = &mut message.message {
                report.deltas.iter_mut().for_each(|delta| falsify(delta, lies, &told));
            }
            message
        });
        let mut forwarded = Request::new(falsified);
        *forwarded.metadata_mut() = metadata;
        coordinator.session(forwarded).await
    }

    async fn get_own_contribution(
        &self,
        _: Request<pb::GetOwnContributionRequest>,
    ) -> Result<Response<pb::OwnContribution>, Status> {
        Err(Status::unimplemented("a coordinator of an earlier version"))
    }
}

/// Adds solutions to some deltas, always to the same ones.
fn falsify(delta: &mut pb::Delta, lies: Lies, told: &Told) {
    let pb::Span { part, from, to, .. } = delta.span.unwrap_or_default();
    let job = delta.job.iter().fold(0, |job, byte| (job << 4) ^ u64::from(*byte));
    let more = match lies {
        Lies::Deltas(percent) => 2 * u64::from(mixed(job, part, from) % 100 < percent),
        Lies::Subproblems(per_million) => {
            let is_lie = |number: &u64| mixed(0, part, *number) % 1_000_000 < per_million;
            (from..to).filter(is_lie).count() as u64
        }
    };
    if more > 0 {
        delta.solutions += more;
        delta.checksum = of_delta(delta);
    }
    told.lock().unwrap_or_else(PoisonError::into_inner).insert((delta.job.clone(), part, from), more > 0);
}

/// Returns a pseudo-random number that depends only on these three.
fn mixed(job: u64, part: u32, from: u64) -> u64 {
    // Two rounds of multiplication: after one, neighbouring parts are similar modulo 100.
    [u64::from(part), from].into_iter().fold(job, |mixed, number| {
        let mixed = (mixed ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        mixed ^ (mixed >> 32)
    })
}
