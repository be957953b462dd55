//! A standby coordinator as workers and operators see it: it refuses every call, and may name the leader.

use std::convert::Infallible;
use std::future::{Ready, ready};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use queens_proto::LEADER_KEY;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tokio_stream::wrappers::TcpListenerStream;
use tonic::Status;
use tonic::body::Body;
use tonic::codegen::Service;
use tonic::codegen::http::{Request, Response};
use tonic::server::NamedService;
use tonic::transport::Server;

use crate::runtime;

/// A running standby. Ends when it is dropped.
#[derive(Debug)]
pub struct Standby {
    address: SocketAddr,
    state: Arc<Mutex<State>>,
    _runtime: Runtime,
}

#[derive(Debug, Default)]
struct State {
    leader: Option<String>,
    /// The paths of all received calls.
    calls: Vec<String>,
}

impl Standby {
    /// Starts a standby that does not know the leader, on a free port of the loopback interface.
    ///
    /// # Panics
    /// Panics if there is no free port.
    #[must_use]
    pub fn start() -> Self {
        let runtime = runtime();
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).expect("a free port");
        let address = listener.local_addr().expect("bound");
        let state = Arc::<Mutex<State>>::default();
        let server = Server::builder().add_service(ForWorkers(Refusing { state: state.clone() }));
        let server = server.add_service(ForJobs(Refusing { state: state.clone() }));
        runtime.spawn(server.serve_with_incoming(TcpListenerStream::new(listener)));
        Self { address, state, _runtime: runtime }
    }

    /// Makes it name this URL as the leader's from now on.
    pub fn name(&self, leader: &str) {
        lock(&self.state).leader = Some(leader.to_owned());
    }

    /// Returns its URL.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Returns the number of refused calls with this name.
    #[must_use]
    pub fn n_calls(&self, name: &str) -> usize {
        lock(&self.state).calls.iter().filter(|path| path.rsplit('/').next() == Some(name)).count()
    }
}

/// A service that refuses all calls.
#[derive(Clone)]
struct Refusing {
    state: Arc<Mutex<State>>,
}

impl Refusing {
    fn refuse(&self, path: &str) -> Response<Body> {
        let mut state = lock(&self.state);
        state.calls.push(path.to_owned());
        let status = match &state.leader {
            Some(leader) => {
                let mut status = Status::unavailable(format!("this coordinator stands by: {leader} leads"));
                status.metadata_mut().insert(LEADER_KEY, leader.parse().expect("ASCII"));
                status
            }
            None => Status::unavailable("this coordinator stands by"),
        };
        status.into_http()
    }
}

macro_rules! refused {
    ($service:ident, $name:literal) => {
        #[derive(Clone)]
        struct $service(Refusing);

        impl NamedService for $service {
            const NAME: &'static str = $name;
        }

        impl<B> Service<Request<B>> for $service {
            type Response = Response<Body>;
            type Error = Infallible;
            type Future = Ready<Result<Response<Body>, Infallible>>;

            fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
                Poll::Ready(Ok(()))
            }

            fn call(&mut self, request: Request<B>) -> Self::Future {
                ready(Ok(self.0.refuse(request.uri().path())))
            }
        }
    };
}

refused!(ForWorkers, "queens.v1.Workers");
refused!(ForJobs, "queens.v1.Jobs");

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}
