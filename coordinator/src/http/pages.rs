//! Serves the HTML pages (jobs, one job, workers and others) and their assets from coordinator/assets, which are
//! compiled into the program.

use axum::extract::{Path, State};
use axum::http::header::{CONTENT_SECURITY_POLICY, CONTENT_TYPE};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::{MethodRouter, get};
use queens_solver::boards::picture::{self, Scale};

use super::app::{App, Route, job_id};
use super::refusal::{find, no_job_page, no_worker_page};
use super::{join, public};
use crate::access::Requirement;

const HTML: &str = "text/html; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";

pub(super) fn routes() -> Vec<Route<App>> {
    const READ: Requirement = Requirement::READ;
    const PUBLIC: Requirement = Requirement::PUBLIC;
    let mut routes = looks();
    routes.extend(public::routes());
    routes.extend([
        ("GET", "/", READ, file(HTML, include_str!("../../assets/jobs.html"))),
        ("GET", "/workers", READ, file(HTML, include_str!("../../assets/workers.html"))),
        ("GET", "/workers/{name}", READ, get(worker)),
        ("GET", "/board", READ, file(HTML, include_str!("../../assets/board.html"))),
        ("GET", "/assets/board.js", PUBLIC, file(SCRIPT, include_str!("../../assets/board.js"))),
        ("GET", "/assets/count.js", PUBLIC, file(SCRIPT, include_str!("../../assets/count.js"))),
        ("GET", "/assets/count-worker.js", PUBLIC, get(count_worker)),
        ("GET", "/assets/count.wasm", PUBLIC, get(count_program)),
        // The queen of all drawings, for the page of a search.
        ("GET", "/assets/crown.svg", PUBLIC, get(crown)),
        ("GET", "/jobs/{job}", READ, get(job)),
        ("GET", "/jobs/{job}/parts/{part}", READ, get(part)),
        ("GET", "/audit", READ, file(HTML, include_str!("../../assets/audit.html"))),
        ("GET", "/assets/audit.js", PUBLIC, file(SCRIPT, include_str!("../../assets/audit.js"))),
        // The link's code is the credential.
        ("GET", "/join/{code}", PUBLIC, get(join::page)),
        ("GET", "/login", PUBLIC, file(HTML, include_str!("../../assets/login.html"))),
        ("GET", "/assets/login.js", PUBLIC, file(SCRIPT, include_str!("../../assets/login.js"))),
        ("GET", "/assets/page.js", PUBLIC, file(SCRIPT, include_str!("../../assets/page.js"))),
        ("GET", "/assets/jobs.js", PUBLIC, file(SCRIPT, include_str!("../../assets/jobs.js"))),
        ("GET", "/assets/job.js", PUBLIC, file(SCRIPT, include_str!("../../assets/job.js"))),
        ("GET", "/assets/heat.js", PUBLIC, file(SCRIPT, include_str!("../../assets/heat.js"))),
        ("GET", "/assets/picture.js", PUBLIC, file(SCRIPT, include_str!("../../assets/picture.js"))),
        ("GET", "/assets/chart.js", PUBLIC, file(SCRIPT, include_str!("../../assets/chart.js"))),
        ("GET", "/assets/workers.js", PUBLIC, file(SCRIPT, include_str!("../../assets/workers.js"))),
        ("GET", "/assets/worker.js", PUBLIC, file(SCRIPT, include_str!("../../assets/worker.js"))),
        ("GET", "/assets/fleet.js", PUBLIC, file(SCRIPT, include_str!("../../assets/fleet.js"))),
        ("GET", "/assets/list.js", PUBLIC, file(SCRIPT, include_str!("../../assets/list.js"))),
        ("GET", "/assets/part.js", PUBLIC, file(SCRIPT, include_str!("../../assets/part.js"))),
    ]);
    routes
}

/// The style and icon of all pages, also of a standby's.
pub(super) fn looks<S: Clone + Send + Sync + 'static>() -> Vec<Route<S>> {
    const PUBLIC: Requirement = Requirement::PUBLIC;
    vec![
        (
            "GET",
            "/assets/style.css",
            PUBLIC,
            file("text/css; charset=utf-8", include_str!("../../assets/style.css")),
        ),
        ("GET", "/assets/queen.svg", PUBLIC, file("image/svg+xml", include_str!("../../assets/queen.svg"))),
    ]
}

fn file<S: Clone + Send + Sync + 'static>(
    content_type: &'static str,
    content: &'static str,
) -> MethodRouter<S> {
    get(async move || ([(CONTENT_TYPE, content_type)], content))
}

/// The script of a thread that counts in a browser: it alone may compile WebAssembly.
async fn count_worker() -> impl IntoResponse {
    const POLICY: &str = "default-src 'none'; script-src 'wasm-unsafe-eval'; connect-src 'self'";
    (
        [(CONTENT_TYPE, SCRIPT), (CONTENT_SECURITY_POLICY, POLICY)],
        include_str!("../../assets/count-worker.js"),
    )
}

/// The program that counts in a browser: module `browser` of the solver, compiled by `.ci/targets`.
async fn count_program() -> impl IntoResponse {
    ([(CONTENT_TYPE, "application/wasm")], include_bytes!("../../assets/count.wasm").as_slice())
}

async fn crown() -> impl IntoResponse {
    ([(CONTENT_TYPE, "image/svg+xml")], picture::queen(Scale { tile: 100 }))
}

/// The page of a job, if the job exists.
async fn job(State(app): State<App>, Path(id): Path<String>) -> Response {
    of_job(&app, &id, include_str!("../../assets/job.html"))
}

/// The page of a part, if its job exists. The page itself asks whether the part exists, since that takes the job's
/// plan.
async fn part(State(app): State<App>, Path((id, _)): Path<(String, String)>) -> Response {
    of_job(&app, &id, include_str!("../../assets/part.html"))
}

fn of_job(app: &App, id: &str, page: &'static str) -> Response {
    let snapshot = app.handle.snapshot();
    match job_id(id).and_then(|id| find(&snapshot, id).map(drop)) {
        Ok(()) => Html(page).into_response(),
        Err(_) => no_job_page(),
    }
}

/// The page of all workers of a name. People know a worker by its name, which it keeps across restarts. O(workers).
async fn worker(State(app): State<App>, Path(name): Path<String>) -> Response {
    let snapshot = app.handle.snapshot();
    let is_here = snapshot.workers.iter().any(|worker| worker.name.as_str() == name);
    if is_here || snapshot.blocked.iter().any(|blocked| blocked.as_str() == name) {
        return Html(include_str!("../../assets/worker.html")).into_response();
    }
    no_worker_page()
}
