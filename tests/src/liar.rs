//! Makes a liar of an honest worker: stands between it and its coordinator, and falsifies some of what it reports.

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

/// Falsifies a share of the deltas of all workers that connect through it. A delta that is told twice is falsified
/// twice, in the same way. Ends when it is dropped.
#[derive(Debug)]
pub struct Liar {
    address: SocketAddr,
    told: Told,
    _runtime: Runtime,
}

/// Every delta that it has passed on, by job, cross and first subproblem, and whether it has lied about it.
type Told = Arc<Mutex<BTreeMap<(Vec<u8>, u32, u64), bool>>>;

struct Service {
    coordinator: String,
    percent: u64,
    told: Told,
}

impl Liar {
    /// Starts one for the coordinator at `url`, on a free port of the loopback interface: of a hundred deltas it
    /// falsifies about so many, by two solutions each.
    ///
    /// # Panics
    /// If there is no free port.
    #[must_use]
    pub fn start(url: &str, percent: u64) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
        let runtime = runtime.expect("a runtime");
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).expect("a free port");
        let address = listener.local_addr().expect("bound");
        let told = Told::default();
        let service = Service { coordinator: url.to_owned(), percent, told: told.clone() };
        let server = Server::builder().add_service(WorkersServer::new(service));
        runtime.spawn(server.serve_with_incoming(TcpListenerStream::new(listener)));
        Self { address, told, _runtime: runtime }
    }

    /// Where a worker reaches it.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// How many deltas it has falsified.
    #[must_use]
    pub fn n_lies(&self) -> usize {
        self.told.lock().unwrap_or_else(PoisonError::into_inner).values().filter(|is_lie| **is_lie).count()
    }

    /// How many it has passed on.
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
        let (percent, told) = (self.percent, self.told.clone());
        let falsified = request.into_inner().map_while(Result::ok).map(move |mut message| {
            if let Some(Message::Report(report)) = &mut message.message {
                report.deltas.iter_mut().for_each(|delta| falsify(delta, percent, &told));
            }
            message
        });
        coordinator.session(falsified).await
    }
}

/// Adds two solutions to some deltas, always the same ones.
fn falsify(delta: &mut pb::Delta, percent: u64, told: &Told) {
    let pb::Span { cross, from, .. } = delta.span.unwrap_or_default();
    // Two rounds of multiplying: after one, neighbouring crosses are alike in what is left of a division by 100.
    let job = delta.job.iter().fold(0, |job, byte| (job << 4) ^ u64::from(*byte));
    let mixed = [u64::from(cross), from].into_iter().fold(job, |mixed, number| {
        let mixed = (mixed ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        mixed ^ (mixed >> 32)
    });
    let is_lie = mixed % 100 < percent;
    if is_lie {
        delta.solutions += 2;
        delta.checksum = of_delta(delta);
    }
    told.lock().unwrap_or_else(PoisonError::into_inner).insert((delta.job.clone(), cross, from), is_lie);
}
