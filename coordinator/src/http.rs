//! What the coordinator shows in a browser and tells programs by HTTP: pages, a JSON API, health.
//!
//! No handler waits for the ledger: what is told comes from [`Snapshot`](crate::Snapshot)s, and what operators decide
//! is sent to the event loop with a limit on the time that its answer may take.

mod api;
mod crosses;
mod followers;
mod guard;
mod history;
mod live;
mod metrics;
mod object;
mod pages;
mod refusal;
mod view;

use std::io;

use axum::Router;
use axum::extract::{DefaultBodyLimit, State};
use axum::http::StatusCode;
use axum::middleware::{from_fn, from_fn_with_state};
use axum::response::IntoResponse;
use axum::routing::{MethodRouter, get};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tracing::info;

use crate::Handle;
use crate::connections::{Caller, Limits, Port, TooLate, attend};
use guard::Hosts;
use live::Live;
use refusal::Refusal;

/// The largest body of a request: all that is ever sent is a line.
const LARGEST_BODY: usize = 16 << 10;

/// A listener for the pages, which nobody is served on yet.
#[derive(Debug)]
pub struct Site {
    listener: TcpListener,
    hosts: Hosts,
}

/// What handlers know.
#[derive(Clone, Debug)]
struct App {
    handle: Handle,
    live: Live,
}

impl Site {
    /// Listens on an address and a port.
    ///
    /// # Errors
    /// If that can't be listened on.
    pub async fn bind(address: &str) -> io::Result<Self> {
        let listener = TcpListener::bind(address).await?;
        info!(url = format!("http://{}/", listener.local_addr()?), "dashboard");
        Ok(Self { listener, hosts: Hosts::reached_at(address) })
    }

    /// Serves on so many connections until `stop` is cancelled.
    ///
    /// # Errors
    /// If the server fails.
    pub async fn serve(self, limits: Limits, handle: Handle, stop: CancellationToken) -> io::Result<()> {
        // Half of all connections, so that the others are there for what is asked.
        let n_followers = limits.n_connections.div_ceil(2);
        let live = Live::start(handle.clone(), n_followers, stop.clone());
        let router = router(App { handle, live }, self.hosts);
        let too_late: TooLate = || Refusal::too_late().into_response();
        let router = router.layer(from_fn_with_state(too_late, attend));
        let service = router.into_make_service_with_connect_info::<Caller>();
        let port = Port::new("pages", self.listener, limits);
        axum::serve(port, service).with_graceful_shutdown(stop.cancelled_owned()).await
    }
}

fn router(app: App, hosts: Hosts) -> Router {
    let mut router = Router::new();
    for (path, methods) in routes() {
        router = router.route(path, methods);
    }
    router
        .fallback(async || Refusal::not_found("there is no such page"))
        .method_not_allowed_fallback(async || Refusal::method())
        .with_state(app)
        .layer(DefaultBodyLimit::max(LARGEST_BODY))
        .layer(from_fn_with_state(hosts, guard::admit))
        .layer(from_fn(guard::secure))
}

/// All that is served.
fn routes() -> Vec<(&'static str, MethodRouter<App>)> {
    let mut routes =
        vec![("/healthz", get(health)), ("/readyz", get(readiness)), ("/metrics", get(metrics::metrics))];
    routes.extend(api::routes());
    routes.extend(pages::routes());
    routes
}

/// The process answers.
async fn health() -> &'static str {
    "ok\n"
}

/// Whether jobs are gone on with: the event loop runs and keeps up, and what it does is made durable.
async fn readiness(State(app): State<App>) -> Result<&'static str, (StatusCode, String)> {
    let snapshot = app.handle.snapshot();
    let reason = if app.handle.is_stopped() {
        "the coordinator has stopped".to_owned()
    } else if let Some(error) = &snapshot.store_error {
        error.clone()
    } else if let Some(busy) = app.handle.busy() {
        format!("the coordinator has been busy with one step for {:.2} s", busy.as_secs_f64())
    } else {
        return Ok("ready\n");
    };
    Err((StatusCode::SERVICE_UNAVAILABLE, format!("{reason}\n")))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::Value;

    use super::*;

    #[test]
    fn the_document_names_all_paths_that_are_not_pages() {
        let document: Value = serde_json::from_str(api::OPENAPI).expect("JSON");
        let described = document["paths"].as_object().expect("paths").keys().cloned();
        let pages: BTreeSet<_> = pages::routes().into_iter().map(|(path, _)| path).collect();
        let served = routes().into_iter().map(|(path, _)| path).filter(|path| !pages.contains(path));
        let served: BTreeSet<String> = served.map(str::to_owned).collect();
        assert_eq!(described.collect::<BTreeSet<_>>(), served);
    }
}
