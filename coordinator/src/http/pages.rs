//! Serves the HTML pages (jobs, one job, workers and others) and their assets from coordinator/assets, which are
//! compiled into the program.

use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::header::{CONTENT_SECURITY_POLICY, CONTENT_TYPE};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::{MethodRouter, get};
use queens_solver::boards::picture::{self, Scale};

use super::app::{App, Route, job_id};
use super::html::{Header, fill, framed, shell_line};
use super::refusal::{find, no_job_page, no_worker_page};
use super::{join, public};
use crate::access::Requirement;

const HTML: &str = "text/html; charset=utf-8";

/// Returns the route of a script in coordinator/assets.
macro_rules! script {
    ($name:literal) => {
        (
            "GET",
            concat!("/assets/", $name),
            Requirement::PUBLIC,
            file("text/javascript; charset=utf-8", include_str!(concat!("../../assets/", $name))),
        )
    };
}

pub(super) fn routes() -> Vec<Route<App>> {
    const READ: Requirement = Requirement::READ;
    const PUBLIC: Requirement = Requirement::PUBLIC;
    let live =
        |title, scripts: &[&str], path, main| file(HTML, framed(title, scripts, Header::Live, path, main));
    let board = include_str!("../../assets/board.html");
    let login = framed("Log in", &["login"], Header::Bare, "", include_str!("../../assets/login.html"));
    let mut routes = looks();
    routes.extend(public::routes());
    routes.extend([
        ("GET", "/", READ, get(jobs)),
        ("GET", "/workers", READ, get(workers)),
        ("GET", "/workers/{name}", READ, get(worker)),
        ("GET", "/board", READ, live("A search, step by step", &["board", "count"], "/board", board)),
        ("GET", "/assets/count-worker.js", PUBLIC, get(count_worker)),
        ("GET", "/assets/count.wasm", PUBLIC, get(count_program)),
        // The queen of all drawings, for the page of a search.
        ("GET", "/assets/crown.svg", PUBLIC, get(crown)),
        ("GET", "/jobs/{job}", READ, get(job)),
        ("GET", "/jobs/{job}/parts/{part}", READ, get(part)),
        (
            "GET",
            "/audit",
            READ,
            live("Audit log", &["audit"], "/audit", include_str!("../../assets/audit.html")),
        ),
        // The link's code is the credential.
        ("GET", "/join/{code}", PUBLIC, get(join::page)),
        ("GET", "/login", PUBLIC, file(HTML, login)),
        script!("audit.js"),
        script!("board.js"),
        script!("chart.js"),
        script!("copy.js"),
        script!("count.js"),
        script!("fleet.js"),
        script!("heat.js"),
        script!("job.js"),
        script!("jobs.js"),
        script!("list.js"),
        script!("login.js"),
        script!("page.js"),
        script!("part.js"),
        script!("picture.js"),
        script!("worker.js"),
        script!("workers.js"),
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
    content: impl Into<Bytes>,
) -> MethodRouter<S> {
    let content: Bytes = content.into();
    get(async move || ([(CONTENT_TYPE, content_type)], content.clone()))
}

/// The script of a thread that counts in a browser: it alone may compile WebAssembly.
async fn count_worker() -> impl IntoResponse {
    const POLICY: &str = "default-src 'none'; script-src 'wasm-unsafe-eval'; connect-src 'self'";
    (
        [(CONTENT_TYPE, "text/javascript; charset=utf-8"), (CONTENT_SECURITY_POLICY, POLICY)],
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

async fn jobs(State(app): State<App>) -> Html<String> {
    with_worker(&app, "Jobs", "jobs", "/", include_str!("../../assets/jobs.html"))
}

async fn workers(State(app): State<App>) -> Html<String> {
    with_worker(&app, "Workers", "workers", "/workers", include_str!("../../assets/workers.html"))
}

/// Returns a page with the command that starts a worker of this coordinator.
fn with_worker(app: &App, title: &str, script: &str, path: &str, main: &str) -> Html<String> {
    let pin = app.authenticator.pin().map(|pin| format!(" --pin {pin}")).unwrap_or_default();
    let (token, whence) = match app.authenticator.wants_tokens() {
        false => ("", ""),
        true => (
            " --token-file worker.token",
            "<p class=\"quiet\">On this coordinator's machine, <code>queens-coordinator invite --role worker --token-file \
             worker.token</code> writes the file: add <code>--data-dir</code> as for the coordinator.</p>\n",
        ),
    };
    let line = shell_line(&format!("queens-worker --coordinator {}{pin}{token}", app.options.url));
    let page = framed(title, &[script, "copy"], Header::Live, path, main);
    Html(fill(&page, &[("worker", &(line + whence))]))
}

/// The page of a job, if the job exists.
async fn job(State(app): State<App>, Path(id): Path<String>) -> Response {
    of_job(
        &app,
        &id,
        &framed("Job", &["job", "copy"], Header::Live, "", include_str!("../../assets/job.html")),
    )
}

/// The page of a part, if its job exists. The page itself asks whether the part exists, since that takes the job's
/// plan.
async fn part(State(app): State<App>, Path((id, _)): Path<(String, String)>) -> Response {
    of_job(&app, &id, &framed("Part", &["part"], Header::Live, "", include_str!("../../assets/part.html")))
}

fn of_job(app: &App, id: &str, page: &str) -> Response {
    let snapshot = app.handle.snapshot();
    match job_id(id).and_then(|id| find(&snapshot, id).map(drop)) {
        Ok(()) => Html(page.to_owned()).into_response(),
        Err(_) => no_job_page(),
    }
}

/// The page of all workers of a name. People know a worker by its name, which it keeps across restarts. O(workers).
async fn worker(State(app): State<App>, Path(name): Path<String>) -> Response {
    let snapshot = app.handle.snapshot();
    let is_here = snapshot.workers.iter().any(|worker| worker.name.as_str() == name);
    if is_here || snapshot.blocked.iter().any(|blocked| blocked.as_str() == name) {
        let main = include_str!("../../assets/worker.html");
        return Html(framed("Worker", &["worker"], Header::Live, "", main)).into_response();
    }
    no_worker_page()
}
