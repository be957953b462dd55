//! The HTTP server of the web pages and the API: bind, serve as the leader, or redirect as a standby.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::middleware::{from_fn, from_fn_with_state};
use axum::response::IntoResponse;
use queens_auth_server::Authenticator;
use queens_connections::{Limits, Peer, Port, Tls, TooLate, attend};
use queens_event_loop::Handle;
use queens_model::{CoordinatorUrl, ListenAddress, PageUrl};
use queens_store::postgres::Standby;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tracing::info;

use super::authorize::{Gate, authorize};
use super::error_pages;
use super::refusal::{LARGEST_BODY, RequestRefusal};
use super::rendered_pages::RenderedPages;
use super::routes::routes;
use super::security_headers::{self, Hosts};
use super::standby;
use super::state::App;
use super::summaries::SummaryStream;

/// A listener for the web pages. Connections wait until the coordinator serves, as the leader or as a standby.
#[derive(Debug)]
pub struct Site {
    listener: std::net::TcpListener,
    hosts: Hosts,
    tls: Option<Arc<Tls>>,
    is_public: bool,
    about: Option<Arc<PageUrl>>,
}

impl Site {
    /// Binds an address and a port. Requests may also name the host of `elsewhere`, another URL that leads here.
    ///
    /// # Errors
    /// If the address can't be bound.
    pub async fn bind(
        address: &ListenAddress,
        elsewhere: Option<&CoordinatorUrl>,
        tls: Option<Arc<Tls>>,
    ) -> io::Result<Self> {
        let listener = TcpListener::bind(address.as_str()).await?.into_std()?;
        let hosts = Hosts::named([Some(address.host()), elsewhere.map(CoordinatorUrl::host)]);
        Ok(Self { listener, hosts, tls, is_public: false, about: None })
    }

    /// Shows what is counted, and who has counted how much, to everybody.
    #[must_use]
    pub fn with_public_pages(self, is_public: bool) -> Self {
        Self { is_public, ..self }
    }

    /// Links a page about the count on the pages of campaigns, as the place to get the programs.
    #[must_use]
    pub fn with_about(self, about: Option<PageUrl>) -> Self {
        Self { about: about.map(Arc::new), ..self }
    }

    /// Returns the bound address.
    ///
    /// # Errors
    /// If the system does not tell it.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Logs the URL.
    ///
    /// # Errors
    /// If the system does not tell the bound address.
    pub fn announce(&self) -> io::Result<()> {
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        info!(url = format!("{scheme}://{}/", self.listener.local_addr()?), "dashboard");
        Ok(())
    }

    /// Duplicates the listener, to serve again after this one has stopped.
    ///
    /// # Errors
    /// If the system has no more file descriptors.
    pub fn again(&self) -> io::Result<Self> {
        let (hosts, tls, about) = (self.hosts.clone(), self.tls.clone(), self.about.clone());
        Ok(Self { listener: self.listener.try_clone()?, hosts, tls, is_public: self.is_public, about })
    }

    /// Serves requests that `authenticator` accepts, on a limited number of connections, until `stop` is cancelled.
    ///
    /// # Errors
    /// If the server fails.
    pub async fn serve(
        self,
        limits: Limits,
        handle: Handle,
        authenticator: Authenticator,
        stop: CancellationToken,
    ) -> io::Result<()> {
        // Streams get half of the connections; the other half stays free for requests.
        let n_subscribers = limits.n_connections.div_ceil(2);
        let summary_stream = SummaryStream::start(handle.clone(), n_subscribers, stop.clone());
        let public = self.is_public.then(|| Arc::new(RenderedPages::default()));
        let app = App { handle, summary_stream, authenticator, public, about: self.about.clone() };
        let router = router(app, self.hosts.clone());
        self.serve_router(router, limits, stop).await
    }

    /// Redirects all requests to the leader until `stop` is cancelled.
    ///
    /// # Errors
    /// If the server fails.
    pub async fn stand_by(self, limits: Limits, standby: Standby, stop: CancellationToken) -> io::Result<()> {
        let router = standby::router(standby, self.hosts.clone());
        self.serve_router(router, limits, stop).await
    }

    async fn serve_router(self, router: Router, limits: Limits, stop: CancellationToken) -> io::Result<()> {
        let too_late: TooLate = || RequestRefusal::too_late().into_response();
        let router = router.layer(from_fn_with_state(too_late, attend));
        let service = router.into_make_service_with_connect_info::<Peer>();
        let port = Port::for_pages(TcpListener::from_std(self.listener)?, limits, self.tls);
        axum::serve(port, service).with_graceful_shutdown(stop.cancelled_owned()).await
    }
}

fn router(app: App, hosts: Hosts) -> Router {
    let mut gate = Gate::new(app.authenticator.clone());
    let mut router = Router::new();
    for (method, path, requirement, handler) in routes() {
        gate.require(method, path, requirement);
        router = router.route(path, handler);
    }
    router
        .fallback(error_pages::nothing)
        .method_not_allowed_fallback(async || RequestRefusal::method())
        .with_state(app)
        .layer(from_fn_with_state(Arc::new(gate), authorize))
        .layer(DefaultBodyLimit::max(LARGEST_BODY))
        .layer(from_fn_with_state(hosts, security_headers::check_request))
        .layer(from_fn(security_headers::secure))
}
