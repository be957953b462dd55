//! A gRPC connection to a coordinator, with timeouts, keep-alive and the caller's token.

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

/// The timeout for opening a connection, and for an operator's call.
pub(super) const PATIENCE: Duration = Duration::from_secs(5);

/// After this long without an answer, a ping is sent. If that is not answered as long, the connection is dead.
const KEEP_ALIVE: Duration = Duration::from_secs(10);

/// The prefix of the content type of every gRPC response.
const GRPC: &str = "application/grpc";

/// Returns the settings of every connection to a coordinator.
///
/// # Errors
/// If the text is not a [`CoordinatorUrl`].
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

/// A connection that accepts only gRPC responses. Responses of other servers become a distinct error.
#[derive(Clone, Debug)]
pub struct Connection {
    channel: Channel,
    /// Whether a gRPC server has ever answered.
    is_known: Arc<AtomicBool>,
    /// The token that every request carries, if there is one.
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
