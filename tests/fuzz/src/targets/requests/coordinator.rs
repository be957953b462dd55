//! A coordinator that serves pages on this thread, and a client for it.

use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock};

use axum::body::Body;
use axum::http::{Request, Response};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use queens_coordinator::serve_pages_to_all;
use queens_event_loop::unthreaded;
use queens_ledger::Reporting;
use queens_ledger::store::draw::{Draw, Drawn, Recorded};
use queens_ledger::store::memory::MemoryStore;
use queens_ledger::store::{Block, JobEntry, Phase, Store, StoreError, Stored, Write};
use queens_model::{JobId, Name};
use queens_solver::{BoardSize, Choice, Method, Plan, Span};
use queens_store::Archive;
use tokio::net::TcpStream;
use tokio::runtime::Runtime;

/// The board size of the existing jobs.
const N: u8 = 6;

/// The open files that a small coordinator may have.
const FILES: u64 = 256;

/// A coordinator and a connection to it.
pub(super) struct FedCoordinator {
    runtime: Runtime,
    address: SocketAddr,
    client: SendRequest<Body>,
    n_writes: Arc<AtomicUsize>,
}

impl FedCoordinator {
    /// Starts a coordinator that has a job by each method.
    pub(super) fn start() -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        let n_writes = Arc::new(AtomicUsize::new(0));
        let store = Counted { store: STORE.clone(), n_writes: n_writes.clone() };
        let (address, client) = runtime.block_on(async {
            let address = serve(store).await;
            (address, connect(address).await)
        });
        Self { runtime, address, client, n_writes }
    }

    /// Returns the total number of writes.
    pub(super) fn n_writes(&self) -> usize {
        self.n_writes.load(Ordering::Relaxed)
    }

    /// Sends a request and reads the answer; `None` if the request can't be sent.
    pub(super) fn ask<T>(
        &mut self,
        request: Request<Body>,
        read: impl AsyncFnOnce(Response<Body>) -> T,
    ) -> Option<T> {
        let (client, address) = (&mut self.client, self.address);
        self.runtime.block_on(async {
            // The server may close a connection after its answer: it does not wait for the body of a refused request.
            if client.ready().await.is_err() {
                *client = connect(address).await;
            }
            match client.send_request(request).await {
                Ok(response) => Some(read(response.map(Body::new)).await),
                Err(error) if error.is_user() => None,
                Err(error) => panic!("a request without an answer: {error}"),
            }
        })
    }
}

/// Serves as long as the runtime exists; returns the address.
async fn serve(store: Counted) -> SocketAddr {
    let (handle, run) =
        unthreaded(Box::new(store), NonZeroUsize::MIN, Reporting::default()).expect("nothing is wrong");
    tokio::spawn(run);
    serve_pages_to_all(handle, FILES).await.expect("there is a port")
}

async fn connect(address: SocketAddr) -> SendRequest<Body> {
    let stream = TcpStream::connect(address).await.expect("it listens");
    // Without this, ended connections would soon occupy all ports.
    stream.set_zero_linger().expect("a setting");
    let (client, connection) = handshake(TokioIo::new(stream)).await.expect("a connection");
    tokio::spawn(connection);
    client
}

/// The initial store: a job by each method, the second one paused, and a blocked name.
static STORE: LazyLock<MemoryStore> = LazyLock::new(|| {
    let n = BoardSize::new(N).expect("a board size");
    let mut store = MemoryStore::default();
    for (number, method) in (1..).zip(Method::ALL) {
        let id = JobId(number);
        let plan = Plan::new(n, method, NonZeroUsize::MIN, &AtomicBool::new(false)).expect("not stopped");
        let choices: Vec<Choice> = plan.parts().iter().map(|part| *part.choice()).collect();
        let entry = JobEntry { phase: Phase::Active, paused: number > 1, ..JobEntry::new(id, n, method, 1) }
            .identified();
        store.commit(&[Write::Job(entry), Write::Plan { job: id, choices }]).expect("in memory");
    }
    let block = Block { name: Name::of_any("bert"), party: None };
    let blocked = Write::Blocked { block, blocked: true, reason: String::new() };
    store.commit(&[blocked]).expect("in memory");
    store
});

/// A store that counts writes.
#[derive(Debug)]
struct Counted {
    store: MemoryStore,
    n_writes: Arc<AtomicUsize>,
}

impl Archive for Counted {}

impl Store for Counted {
    fn load(&mut self) -> Result<Stored, StoreError> {
        self.store.load()
    }

    fn commit(&mut self, writes: &[Write]) -> Result<(), StoreError> {
        self.n_writes.fetch_add(writes.len(), Ordering::Relaxed);
        self.store.commit(writes)
    }

    fn find(&mut self, job: JobId, span: Span) -> Result<Option<Recorded>, StoreError> {
        self.store.find(job, span)
    }

    fn draw(&mut self, draw: &Draw) -> Result<Drawn, StoreError> {
        self.store.draw(draw)
    }
}
