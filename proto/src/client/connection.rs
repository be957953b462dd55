//! Connections to a coordinator.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use queens_model::{CoordinatorUrl, InvalidCoordinatorUrl};
use tonic::body::Body;
use tonic::codegen::http::header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue};
use tonic::codegen::http::{Request, Response};
use tonic::codegen::{Service, StdError};
use tonic::transport::{Channel, Endpoint};

use crate::client::error::{NotGrpc, Stranger};

/// How long to try to open a connection, and how long an operator waits for an answer.
pub(super) const PATIENCE: Duration = Duration::from_secs(5);

/// Without an answer for this long, a ping is sent, and without an answer to that, the connection is dead.
const KEEP_ALIVE: Duration = Duration::from_secs(10);

/// What the type of every answer of gRPC begins with.
const GRPC: &str = "application/grpc";

/// The settings of every connection to a coordinator.
///
/// # Errors
/// If the text is no [`CoordinatorUrl`].
pub fn endpoint(url: &str) -> Result<Endpoint, InvalidCoordinatorUrl> {
    let url: CoordinatorUrl = url.parse()?;
    let endpoint = Endpoint::from_shared(url.as_str().to_owned());
    Ok(endpoint
        .map_err(|_| InvalidCoordinatorUrl::from(url))?
        .connect_timeout(PATIENCE)
        .tcp_nodelay(true)
        .http2_keep_alive_interval(KEEP_ALIVE)
        .keep_alive_timeout(KEEP_ALIVE)
        .keep_alive_while_idle(true))
}

/// A connection that lets nothing through but answers of gRPC: what another server does is an error of its own type.
#[derive(Clone, Debug)]
pub struct Connection {
    channel: Channel,
    /// Whether a server of gRPC has ever answered.
    is_known: Arc<AtomicBool>,
    /// What every request shows, if something.
    token: Option<HeaderValue>,
}

impl Connection {
    pub(super) fn new(channel: Channel, token: Option<HeaderValue>) -> Self {
        Self { channel, is_known: Arc::default(), token }
    }
}

impl From<Channel> for Connection {
    fn from(channel: Channel) -> Self {
        Self::new(channel, None)
    }
}

impl Service<Request<Body>> for Connection {
    type Response = Response<Body>;
    type Error = StdError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, StdError>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), StdError>> {
        self.channel.poll_ready(context).map_err(Into::into)
    }

    fn call(&mut self, mut request: Request<Body>) -> Self::Future {
        if let Some(token) = &self.token {
            request.headers_mut().insert(AUTHORIZATION, token.clone());
        }
        let (answer, is_known) = (self.channel.call(request), self.is_known.clone());
        Box::pin(async move {
            match answer.await {
                Ok(response) if is_grpc(response.headers()) => {
                    is_known.store(true, Ordering::Relaxed);
                    Ok(response)
                }
                Ok(_) => Err(NotGrpc.into()),
                Err(error) if is_known.load(Ordering::Relaxed) => Err(error.into()),
                Err(error) => Err(Stranger(error).into()),
            }
        })
    }
}

fn is_grpc(headers: &HeaderMap) -> bool {
    headers.get(CONTENT_TYPE).is_some_and(|value| value.as_bytes().starts_with(GRPC.as_bytes()))
}
