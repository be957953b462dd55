//! The HTTP server of the web pages and the API: binds, authorizes requests and serves them as the leader, or redirects
//! them as a standby.

use std::collections::HashMap;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use axum::Router;
use axum::extract::{DefaultBodyLimit, MatchedPath, Request, State};
use axum::http::header::CACHE_CONTROL;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode};
use axum::middleware::{Next, from_fn, from_fn_with_state};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::get;
use prometheus_client::registry::Registry;
use queens_event_loop::Handle;
use queens_event_loop::metrics::register_leading;
use queens_store::postgres::{LeaderView, Standby};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use super::app::{App, PageOptions};
use super::certificate::IsDownload;
use super::refusal::{LARGEST_BODY, Reason, RequestRefusal, error_page, is_of_a_person, not_found};
use super::rendered_pages::RenderedPages;
use super::routes::routes;
use super::security_headers::{self, Hosts};
use super::summaries::SummaryStream;
use super::{health, pages};
use crate::access::{Authenticator, Protocol, Requirement};
use crate::net::{AppProtocol, ConnectionInfo, ConnectionLimits, Limits, Port, TooLate, attend};

/// Serves the pages to everybody on a free port of this machine, as long as the runtime exists. The connections share
/// `n_files` open files with those of workers. Returns the address.
///
/// # Errors
/// If there is no port.
pub async fn serve_pages_to_all(handle: Handle, n_files: u64) -> io::Result<SocketAddr> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    let address = listener.local_addr()?;
    let limits = Limits::share(n_files, true, ConnectionLimits::default()).1;
    let port = Port::new(AppProtocol::Pages, listener, limits, None, Arc::default());
    let site = Site { port, hosts: Hosts::named([None; 3]), n_connections: limits.n_connections };
    let everybody = Authenticator::open_to_all(None);
    tokio::spawn(site.serve(handle, everybody, PageOptions::default(), CancellationToken::new()));
    Ok(address)
}

/// The port of the web pages, in this runtime.
#[derive(Debug)]
pub(crate) struct Site {
    pub(crate) port: Port,
    pub(crate) hosts: Hosts,
    /// The most connections of the port.
    pub(crate) n_connections: usize,
}

impl Site {
    /// Serves requests that `authenticator` accepts until `stop` is cancelled.
    pub(crate) async fn serve(
        self,
        handle: Handle,
        authenticator: Authenticator,
        options: PageOptions,
        stop: CancellationToken,
    ) -> io::Result<()> {
        // Streams get half of the connections; the other half stays free for requests.
        let n_subscribers = self.n_connections.div_ceil(2);
        let summary_stream = SummaryStream::start(handle.clone(), n_subscribers, stop.clone());
        let public = options.is_public.then(|| Arc::new(RenderedPages::default()));
        let app = App { handle, summary_stream, authenticator, public, options: Arc::new(options) };
        serve_router(router(app, self.hosts), self.port, stop).await
    }

    /// Redirects all requests to the leader until `stop` is cancelled.
    pub(crate) async fn stand_by(self, standby: Standby, stop: CancellationToken) -> io::Result<()> {
        serve_router(standby_router(standby, self.hosts), self.port, stop).await
    }
}

async fn serve_router(router: Router, port: Port, stop: CancellationToken) -> io::Result<()> {
    let too_late: TooLate = |reason| RequestRefusal::new(StatusCode::REQUEST_TIMEOUT, reason).into_response();
    let router = router.layer(from_fn_with_state(too_late, attend));
    let service = router.into_make_service_with_connect_info::<ConnectionInfo>();
    axum::serve(port, service).with_graceful_shutdown(stop.cancelled_owned()).await
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
        .fallback(not_found)
        .method_not_allowed_fallback(async || {
            let reason = "this method is not allowed here: the header Allow names those that are";
            RequestRefusal::new(StatusCode::METHOD_NOT_ALLOWED, reason)
        })
        .with_state(app)
        .layer(from_fn_with_state(gate, authorize))
        .layer(DefaultBodyLimit::max(LARGEST_BODY))
        .layer(from_fn_with_state(hosts, security_headers::check_request))
        .layer(from_fn(security_headers::secure))
}

/// HTTP, as browsers and programs speak it.
struct Http;

impl Protocol for Http {
    fn refuse(&self, request: &Request, refusal: RequestRefusal) -> Response {
        let is_browser = *request.method() == Method::GET && is_of_a_person(request.headers());
        if refusal.status == StatusCode::UNAUTHORIZED && is_browser {
            return Redirect::to("/login").into_response();
        }
        refusal.into_response()
    }

    fn outcome(&self, response: &Response) -> Option<Result<(), String>> {
        let status = response.status();
        if response.extensions().get::<IsDownload>().is_some() {
            return None;
        }
        if status.is_success() {
            return Some(Ok(()));
        }
        let reason = response.extensions().get::<Reason>().map(|Reason(reason)| reason.clone());
        Some(Err(reason.unwrap_or_else(|| status.to_string())))
    }
}

/// The authenticator, and what each route requires.
type Gate = Arc<(Authenticator, HashMap<(&'static str, &'static str), Requirement>)>;

async fn authorize(State(gate): State<Gate>, request: Request, next: Next) -> Response {
    let path = request.extensions().get::<MatchedPath>().cloned();
    // A path without a route needs no permission to be answered 404.
    let Some(path) = path else { return next.run(request).await };
    // HTTP clients may send HEAD to every GET route.
    let method = if request.method() == Method::HEAD { "GET" } else { request.method().as_str() };
    let (authenticator, requirements) = &*gate;
    let requirement = requirements.get(&(method, path.as_str())).copied();
    authenticator.handle(&Http, requirement, path.as_str(), request, next).await
}

fn standby_router(standby: Standby, hosts: Hosts) -> Router {
    let mut router = Router::new();
    for (_, path, _, methods) in pages::looks() {
        router = router.route(path, methods);
    }
    router
        .route("/healthz", get(health::health))
        .route("/readyz", get(readiness))
        .route("/metrics", get(metrics))
        .fallback(send_on)
        .with_state(standby)
        .layer(from_fn_with_state(hosts, security_headers::check_request))
        .layer(from_fn(security_headers::secure))
}

async fn readiness(State(standby): State<Standby>) -> (StatusCode, String) {
    (StatusCode::SERVICE_UNAVAILABLE, format!("{}\n", standby.leader()))
}

async fn metrics(headers: HeaderMap) -> Response {
    let mut registry = Registry::with_prefix("queens");
    register_leading(&mut registry, false);
    health::exposed(&registry, &headers)
}

/// Redirects to the same path of the leader, keeping the method.
async fn send_on(State(standby): State<Standby>, request: Request) -> Response {
    let leader = standby.leader();
    let pages = match &leader {
        LeaderView::Led(leader) => leader.pages.as_ref(),
        LeaderView::Unled(_) => None,
    };
    let path = request.uri().path_and_query().map_or("/", |path| path.as_str());
    let mut response = match pages {
        Some(pages) => Redirect::temporary(&format!("{pages}{path}")).into_response(),
        None if is_of_a_person(request.headers()) && !path.starts_with("/api/") => {
            let text = "This coordinator stands by, and has no pages of its own. At present it knows of none that leads \
                        and has pages. If that one is gone, another takes its place within seconds. \
                        <a href=\"\">Try again</a>.";
            error_page(StatusCode::SERVICE_UNAVAILABLE, "Standing by", text)
        }
        None => RequestRefusal::unavailable(leader).into_response(),
    };
    // The leader may have changed by the next request.
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}
