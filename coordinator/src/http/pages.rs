//! The pages and what they are made of, all of it in the program itself.

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, get};
use queens_boards::picture::{self, Scale};

use super::app::{App, find, job_id};

const HTML: &str = "text/html; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";

pub(super) fn routes() -> Vec<(&'static str, &'static str, MethodRouter<App>)> {
    vec![
        ("GET", "/", file(HTML, include_str!("../../web/jobs.html"))),
        ("GET", "/workers", file(HTML, include_str!("../../web/workers.html"))),
        ("GET", "/board", file(HTML, include_str!("../../web/board.html"))),
        ("GET", "/assets/board.js", file(SCRIPT, include_str!("../../web/board.js"))),
        // A queen, for the page of a search; as she is on all drawings.
        ("GET", "/assets/crown.svg", get(crown)),
        ("GET", "/jobs/{job}", get(job)),
        ("GET", "/jobs/{job}/crosses/{cross}", get(cross)),
        ("GET", "/assets/style.css", file("text/css; charset=utf-8", include_str!("../../web/style.css"))),
        ("GET", "/assets/queen.svg", file("image/svg+xml", include_str!("../../web/queen.svg"))),
        ("GET", "/decisions", file(HTML, include_str!("../../web/decisions.html"))),
        ("GET", "/assets/decisions.js", file(SCRIPT, include_str!("../../web/decisions.js"))),
        ("GET", "/login", file(HTML, include_str!("../../web/login.html"))),
        ("GET", "/assets/login.js", file(SCRIPT, include_str!("../../web/login.js"))),
        ("GET", "/assets/page.js", file(SCRIPT, include_str!("../../web/page.js"))),
        ("GET", "/assets/jobs.js", file(SCRIPT, include_str!("../../web/jobs.js"))),
        ("GET", "/assets/job.js", file(SCRIPT, include_str!("../../web/job.js"))),
        ("GET", "/assets/heat.js", file(SCRIPT, include_str!("../../web/heat.js"))),
        ("GET", "/assets/picture.js", file(SCRIPT, include_str!("../../web/picture.js"))),
        ("GET", "/assets/chart.js", file(SCRIPT, include_str!("../../web/chart.js"))),
        ("GET", "/assets/workers.js", file(SCRIPT, include_str!("../../web/workers.js"))),
        ("GET", "/assets/cross.js", file(SCRIPT, include_str!("../../web/cross.js"))),
    ]
}

fn file(content_type: &'static str, content: &'static str) -> MethodRouter<App> {
    get(async move || ([(CONTENT_TYPE, content_type)], content))
}

async fn crown() -> impl IntoResponse {
    ([(CONTENT_TYPE, "image/svg+xml")], picture::queen(Scale { tile: 100 }))
}

/// The page of a job, if there is one.
async fn job(State(app): State<App>, Path(id): Path<String>) -> Response {
    of_job(&app, &id, include_str!("../../web/job.html"))
}

/// The page of a cross of a job that there is. Whether there is the cross, the page finds out itself: that takes the
/// job's plan.
async fn cross(State(app): State<App>, Path((id, _)): Path<(String, String)>) -> Response {
    of_job(&app, &id, include_str!("../../web/cross.html"))
}

fn of_job(app: &App, id: &str, page: &'static str) -> Response {
    let snapshot = app.handle.snapshot();
    let (status, page) = match job_id(id).and_then(|id| find(&snapshot, id).map(drop)) {
        Ok(()) => (StatusCode::OK, page),
        Err(_) => (StatusCode::NOT_FOUND, include_str!("../../web/missing.html")),
    };
    (status, [(CONTENT_TYPE, HTML)], page).into_response()
}
