//! A proxy that turns honest workers into liars: it falsifies some of their reports.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

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

use crate::runtime;

/// Falsifies a share of the deltas of all workers that connect through it. It falsifies a repeated delta again in the
/// same way. Ends when it is dropped.
#[derive(Debug)]
pub struct Liar {
    address: SocketAddr,
    told: Told,
    service: Service,
    _runtime: Runtime,
}

/// Every delta, by job, part and first subproblem, and whether it was falsified.
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

#[derive(Clone, Debug)]
struct Service {
    coordinator: String,
    lies: Lies,
    told: Told,
    /// What a friend has told: only his lies are repeated, and everything else is given back without a count.
    backs: Option<Told>,
    /// Since when nothing is given back, either.
    holds: Option<Instant>,
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

    /// Starts a proxy for friends of this liar, who claim to be fast. They repeat his lies, and give everything else
    /// back.
    ///
    /// # Panics
    /// Panics if there is no free port.
    #[must_use]
    pub fn start_friend(&self, url: &str) -> Self {
        let service = Service { backs: Some(self.told.clone()), ..self.service.clone() };
        Self::start_service(Service { coordinator: url.to_owned(), told: Told::default(), ..service })
    }

    /// Starts a proxy for friends of this liar, who claim to be fast. For three seconds they give everything back, and
    /// then they hold it without a count.
    ///
    /// # Panics
    /// Panics if there is no free port.
    #[must_use]
    pub fn start_holder(&self, url: &str) -> Self {
        let holds = Some(Instant::now() + Duration::from_secs(3));
        let service = Service { backs: Some(Told::default()), holds, ..self.service.clone() };
        Self::start_service(Service { coordinator: url.to_owned(), told: Told::default(), ..service })
    }

    fn start_telling(url: &str, lies: Lies) -> Self {
        let (coordinator, told) = (url.to_owned(), Told::default());
        Self::start_service(Service { coordinator, lies, told, backs: None, holds: None })
    }

    fn start_service(service: Service) -> Self {
        let runtime = runtime();
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).expect("a free port");
        let address = listener.local_addr().expect("bound");
        let (told, server) = (service.told.clone(), service.clone());
        let server = Server::builder().add_service(WorkersServer::new(server));
        runtime.spawn(server.serve_with_incoming(TcpListenerStream::new(listener)));
        Self { address, told, service, _runtime: runtime }
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
        let service = self.clone();
        // Forwards the worker's token.
        let metadata = request.metadata().clone();
        let falsified = request.into_inner().map_while(Result::ok).map(move |mut message| {
            service.change(&mut message);
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

impl Service {
    fn change(&self, message: &mut pb::WorkerMessage) {
        match (&mut message.message, &self.backs) {
            (Some(Message::Hello(hello)), Some(_)) => {
                (hello.work_per_second, hello.threads) = (1e13, 32);
            }
            (Some(Message::Report(report)), backs) => {
                if let Some(backs) = backs {
                    let backs = backs.lock().unwrap_or_else(PoisonError::into_inner);
                    report.deltas.retain(|delta| backs.get(&key(delta)) == Some(&true));
                    if self.holds.is_some_and(|since| Instant::now() >= since) {
                        report.finished.clear();
                    }
                }
                report.deltas.iter_mut().for_each(|delta| falsify(delta, self.lies, &self.told));
            }
            _ => {}
        }
    }
}

fn key(delta: &pb::Delta) -> (Vec<u8>, u32, u64) {
    let pb::Span { part, from, .. } = delta.span.unwrap_or_default();
    (delta.job.clone(), part, from)
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
    told.lock().unwrap_or_else(PoisonError::into_inner).insert(key(delta), more > 0);
}

/// Returns a pseudo-random number that depends only on these three.
fn mixed(job: u64, part: u32, from: u64) -> u64 {
    // Two rounds of multiplication: after one, neighbouring parts are similar modulo 100.
    [u64::from(part), from].into_iter().fold(job, |mixed, number| {
        let mixed = (mixed ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        mixed ^ (mixed >> 32)
    })
}
