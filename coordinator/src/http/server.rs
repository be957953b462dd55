//! The port of the pages.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::middleware::{from_fn, from_fn_with_state};
use axum::response::IntoResponse;
use queens_event_loop::Handle;
use queens_model::{CoordinatorUrl, ListenAddress};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tracing::info;

use super::authorize;
use super::not_found;
use super::refusal::{LARGEST_BODY, RequestRefusal};
use super::routes::routes;
use super::security_headers::{self, Hosts};
use super::standby;
use super::state::App;
use super::summaries::Live;
use crate::auth::Authenticator;
use crate::connections::{Limits, Peer, Port, TooLate, attend};
use crate::standby::Standby;
use crate::tls::Tls;

/// A listener for the pages. Whoever connects waits until it is served, by the coordinator that leads or as one that
/// stands by.
#[derive(Debug)]
pub struct Site {
    listener: std::net::TcpListener,
    hosts: Hosts,
    tls: Option<Arc<Tls>>,
}

impl Site {
    /// Listens on an address and a port; others may reach it by the host of another URL.
    ///
    /// # Errors
    /// If that can't be listened on.
    pub async fn bind(
        address: &ListenAddress,
        elsewhere: Option<&CoordinatorUrl>,
        tls: Option<Arc<Tls>>,
    ) -> io::Result<Self> {
        let listener = TcpListener::bind(address.as_str()).await?.into_std()?;
        let hosts = Hosts::named([Some(address.host()), elsewhere.map(CoordinatorUrl::host)]);
        Ok(Self { listener, hosts, tls })
    }

    /// Where it listens.
    ///
    /// # Errors
    /// If the system does not say.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Says in the log where it is.
    ///
    /// # Errors
    /// If the system does not say.
    pub fn announce(&self) -> io::Result<()> {
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        info!(url = format!("{scheme}://{}/", self.listener.local_addr()?), "dashboard");
        Ok(())
    }

    /// The same listener, to serve on when this one is not served any more.
    ///
    /// # Errors
    /// If the system has no more files.
    pub fn again(&self) -> io::Result<Self> {
        let (hosts, tls) = (self.hosts.clone(), self.tls.clone());
        Ok(Self { listener: self.listener.try_clone()?, hosts, tls })
    }

    /// Serves those whom `authenticator` lets in on so many connections until `stop` is cancelled.
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
        // Half of all connections, so that the others are there for what is asked.
        let n_followers = limits.n_connections.div_ceil(2);
        let live = Live::start(handle.clone(), n_followers, stop.clone());
        let router = router(App { handle, live, authenticator }, self.hosts.clone());
        self.serve_router(router, limits, stop).await
    }

    /// Sends everybody to the coordinator that leads until `stop` is cancelled.
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
    let authenticator = app.authenticator.clone();
    let mut router = Router::new();
    for (_, path, methods) in routes() {
        router = router.route(path, methods);
    }
    router
        .fallback(not_found::nothing)
        .method_not_allowed_fallback(async || RequestRefusal::method())
        .with_state(app)
        .layer(from_fn_with_state(authenticator, authorize::authorize))
        .layer(DefaultBodyLimit::max(LARGEST_BODY))
        .layer(from_fn_with_state(hosts, security_headers::authorize))
        .layer(from_fn(security_headers::secure))
}
