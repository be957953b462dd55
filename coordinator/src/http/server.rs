//! The HTTP server of the web pages and the API: bind, serve as the leader, or redirect as a standby.

use std::collections::HashMap;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::http::StatusCode;
use axum::middleware::{from_fn, from_fn_with_state};
use axum::response::IntoResponse;
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
use crate::access::Authenticator;
use crate::net::{ConnectionLimits, Limits, Network, Peer, Port, Tls, TooLate, attend};

/// Serves the pages to everybody on a free port of this machine, as long as the runtime exists. The connections share
/// `n_files` open files with those of workers. Returns the address.
///
/// # Errors
/// If there is no port.
pub async fn serve_pages_to_all(handle: Handle, n_files: u64) -> io::Result<SocketAddr> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?.into_std()?;
    let address = listener.local_addr()?;
    let hosts = Hosts::named([None, None]);
    let site = Site { listener, hosts, tls: None, proxies: Arc::default() };
    let limits = Limits::share(n_files, true, ConnectionLimits::default()).1;
    let everybody = Authenticator::open_to_all(None);
    tokio::spawn(site.serve(limits, handle, everybody, false, None, CancellationToken::new()));
    Ok(address)
}

/// A listener for the web pages. Connections wait until the coordinator serves, as the leader or as a standby.
#[derive(Debug)]
pub(crate) struct Site {
    listener: std::net::TcpListener,
    hosts: Hosts,
    tls: Option<Arc<Tls>>,
    proxies: Arc<[Network]>,
}

impl Site {
    /// Binds an address and a port. Requests may also name the hosts of `elsewhere`, other URLs that lead here.
    pub(crate) async fn bind(
        address: &ListenAddress,
        elsewhere: [Option<&CoordinatorUrl>; 2],
        tls: Option<Arc<Tls>>,
        proxies: Arc<[Network]>,
    ) -> io::Result<Self> {
        let listener = TcpListener::bind(address.as_str()).await?.into_std()?;
        let [one, other] = elsewhere.map(|url| url.map(CoordinatorUrl::host));
        let hosts = Hosts::named([Some(address.host()), one, other]);
        Ok(Self { listener, hosts, tls, proxies })
    }

    pub(crate) fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    pub(crate) fn announce(&self) -> io::Result<()> {
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        info!(url = format!("{scheme}://{}/", self.listener.local_addr()?), "dashboard");
        Ok(())
    }

    /// Duplicates the listener, to serve again after this one has stopped.
    pub(crate) fn again(&self) -> io::Result<Self> {
        let Self { listener, hosts, tls, proxies } = self;
        let (hosts, tls, proxies) = (hosts.clone(), tls.clone(), proxies.clone());
        Ok(Self { listener: listener.try_clone()?, hosts, tls, proxies })
    }

    /// Serves requests that `authenticator` accepts, on a limited number of connections, until `stop` is cancelled.
    /// With `is_public`, it shows to everybody what is counted, and who has counted how much. The pages of campaigns
    /// link the page `about` the count, as the place to get the programs.
    pub(crate) async fn serve(
        self,
        limits: Limits,
        handle: Handle,
        authenticator: Authenticator,
        is_public: bool,
        about: Option<PageUrl>,
        stop: CancellationToken,
    ) -> io::Result<()> {
        // Streams get half of the connections; the other half stays free for requests.
        let n_subscribers = limits.n_connections.div_ceil(2);
        let summary_stream = SummaryStream::start(handle.clone(), n_subscribers, stop.clone());
        let public = is_public.then(|| Arc::new(RenderedPages::default()));
        let app = App { handle, summary_stream, authenticator, public, about: about.map(Arc::new) };
        let router = router(app, self.hosts.clone());
        self.serve_router(router, limits, stop).await
    }

    /// Redirects all requests to the leader until `stop` is cancelled.
    pub(crate) async fn stand_by(
        self,
        limits: Limits,
        standby: Standby,
        stop: CancellationToken,
    ) -> io::Result<()> {
        let router = standby::router(standby, self.hosts.clone());
        self.serve_router(router, limits, stop).await
    }

    async fn serve_router(self, router: Router, limits: Limits, stop: CancellationToken) -> io::Result<()> {
        let too_late: TooLate =
            |reason| RequestRefusal::new(StatusCode::REQUEST_TIMEOUT, reason).into_response();
        let router = router.layer(from_fn_with_state(too_late, attend));
        let service = router.into_make_service_with_connect_info::<Peer>();
        let port = Port::for_pages(TcpListener::from_std(self.listener)?, limits, self.tls, self.proxies);
        axum::serve(port, service).with_graceful_shutdown(stop.cancelled_owned()).await
    }
}

fn router(app: App, hosts: Hosts) -> Router {
    let mut requirements = HashMap::new();
    let mut router = Router::new();
    for (method, path, requirement, handler) in routes() {
        requirements.insert((method, path), requirement);
        router = router.route(path, handler);
    }
    let gate: Gate = Arc::new((app.authenticator.clone(), requirements));
    router
        .fallback(error_pages::nothing)
        .method_not_allowed_fallback(async || RequestRefusal::method())
        .with_state(app)
        .layer(from_fn_with_state(gate, authorize))
        .layer(DefaultBodyLimit::max(LARGEST_BODY))
        .layer(from_fn_with_state(hosts, security_headers::check_request))
        .layer(from_fn(security_headers::secure))
}
