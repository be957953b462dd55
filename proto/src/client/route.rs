//! A route to a coordinator: its address, how to verify its identity, and the credentials to send.

use std::io;
use std::net::IpAddr;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, SystemTime};

use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioIo;
use queens_auth::{Credentials, TlsError};
use thiserror::Error;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::pki_types::ServerName;
use tonic::codegen::http::{HeaderValue, Uri};
use tonic::codegen::{Service, StdError};
use tonic::transport::Endpoint;

use crate::client::connection::{Connection, PATIENCE};
use crate::client::error::Problem;

/// More coordinators than anybody runs on one database.
pub(super) const MOST_COORDINATORS: usize = 16;

/// A route to a coordinator.
#[derive(Clone, Debug)]
pub struct Route {
    endpoint: Endpoint,
    /// For `https`.
    tls: Option<Tls>,
    /// The token of every request; never logged.
    token: Option<HeaderValue>,
}

/// Why a route is invalid.
#[derive(Debug, Error)]
pub enum RouteError {
    /// An eavesdropper could read the token.
    #[error("a token is sent over https only, or to this machine itself, and {0} is neither")]
    Unencrypted(Uri),
    /// A client certificate needs TLS.
    #[error("a TLS certificate is shown over https only, and {0} is not")]
    NoTls(Uri),
    /// A file can't be used.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// No certificate can prove this name.
    #[error("'{0}' is no name or address of a host")]
    NoHost(String),
    /// More coordinators than anybody runs.
    #[error("{0} coordinators are too many: name at most {MOST_COORDINATORS}")]
    TooMany(usize),
    /// No coordinator is named.
    #[error("no coordinator is named")]
    Nowhere,
}

impl Route {
    /// Creates a route to the coordinator at `endpoint`.
    ///
    /// # Errors
    /// If the credentials can't be used there.
    pub fn new(endpoint: Endpoint, credentials: &Credentials) -> Result<Self, RouteError> {
        let uri = endpoint.uri();
        let is_encrypted = uri.scheme_str() == Some("https");
        let host = uri.host().unwrap_or_default().trim_start_matches('[').trim_end_matches(']');
        if credentials.token.is_some() && !is_encrypted && !is_this_machine(host) {
            return Err(RouteError::Unencrypted(uri.clone()));
        }
        if credentials.certificate.is_some() && !is_encrypted {
            return Err(RouteError::NoTls(uri.clone()));
        }
        let tls = if is_encrypted {
            let name = ServerName::try_from(host.to_owned());
            let name = name.map_err(|_| RouteError::NoHost(host.to_owned()))?;
            let own = credentials.certificate.as_ref();
            let own = own.map(|(certificate, key)| (certificate.as_path(), key.as_path()));
            Some(Tls { connector: credentials.trust.config(&[b"h2"], own)?.into(), name })
        } else {
            None
        };
        let token = credentials.token.as_ref().and_then(|token| {
            let mut value = HeaderValue::try_from(format!("Bearer {}", token.secret())).ok()?;
            value.set_sensitive(true);
            Some(value)
        });
        Ok(Self { endpoint, tls, token })
    }

    /// Returns the endpoint.
    #[must_use]
    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// Returns the coordinator's URL.
    #[must_use]
    pub fn uri(&self) -> &Uri {
        self.endpoint.uri()
    }

    /// Returns the end of validity of the coordinator's TLS certificate; `None` without encryption, or if it can't be
    /// read.
    ///
    /// # Errors
    /// If no connection can be opened.
    pub async fn certificate_end(&self) -> io::Result<Option<SystemTime>> {
        let Some(tls) = self.tls.clone() else { return Ok(None) };
        let mut dialer = Dialer::new(tls);
        let stream = dialer.call(self.endpoint.uri().clone()).await.map_err(io::Error::other)?;
        let shown = stream.inner().get_ref().1.peer_certificates();
        Ok(shown.and_then(|chain| chain.first()).and_then(queens_auth::end_of))
    }

    /// Opens a connection.
    ///
    /// # Errors
    /// If that fails, or takes too long.
    pub async fn open(&self) -> Result<Connection, Problem> {
        let connect = async {
            match &self.tls {
                None => self.endpoint.connect().await,
                Some(tls) => self.endpoint.connect_with_connector(Dialer::new(tls.clone())).await,
            }
        };
        match tokio::time::timeout(PATIENCE, connect).await {
            Ok(connected) => Ok(Connection::new(connected?, self.token.clone())),
            Err(_) => Err(Problem::Silent),
        }
    }
}

/// Returns whether a host, without brackets, is this machine itself.
#[must_use]
pub fn is_this_machine(host: &str) -> bool {
    host.eq_ignore_ascii_case("localhost")
        || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[derive(Clone)]
struct Tls {
    connector: TlsConnector,
    name: ServerName<'static>,
}

impl std::fmt::Debug for Tls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tls").field("name", &self.name).finish_non_exhaustive()
    }
}

/// Opens TCP connections, with TLS for `https`.
struct Dialer {
    tcp: HttpConnector,
    tls: Tls,
}

impl Dialer {
    fn new(tls: Tls) -> Self {
        let mut tcp = HttpConnector::new();
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        tcp.set_connect_timeout(Some(PATIENCE));
        // Routers that forget silent connections would cut off a session.
        tcp.set_keepalive(Some(Duration::from_secs(60)));
        Self { tcp, tls }
    }
}

impl Service<Uri> for Dialer {
    type Response = TokioIo<TlsStream<TcpStream>>;
    type Error = StdError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, StdError>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), StdError>> {
        self.tcp.poll_ready(context).map_err(Into::into)
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let (connecting, Tls { connector, name }) = (self.tcp.call(uri), self.tls.clone());
        Box::pin(async move {
            let stream = connecting.await?.into_inner();
            let shaken = tokio::time::timeout(PATIENCE, connector.connect(name, stream)).await;
            let stream = shaken.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))?;
            Ok(TokioIo::new(stream))
        })
    }
}
