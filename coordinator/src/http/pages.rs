//! The pages and what they are made of, all of it in the program itself.

use axum::extract::{Path, State};
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;
use axum::routing::{MethodRouter, get};

use super::api::{find, job_id};
use super::{App, Refusal};

const HTML: &str = "text/html; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";

pub(super) fn routes() -> Vec<(&'static str, MethodRouter<App>)> {
    vec![
        ("/", file(HTML, include_str!("../../web/jobs.html"))),
        ("/workers", file(HTML, include_str!("../../web/workers.html"))),
        ("/jobs/{job}", get(job)),
        ("/jobs/{job}/crosses/{cross}", get(cross)),
        ("/assets/style.css", file("text/css; charset=utf-8", include_str!("../../web/style.css"))),
        ("/assets/queen.svg", file("image/svg+xml", include_str!("../../web/queen.svg"))),
        ("/assets/page.js", file(SCRIPT, include_str!("../../web/page.js"))),
        ("/assets/jobs.js", file(SCRIPT, include_str!("../../web/jobs.js"))),
        ("/assets/job.js", file(SCRIPT, include_str!("../../web/job.js"))),
        ("/assets/heat.js", file(SCRIPT, include_str!("../../web/heat.js"))),
        ("/assets/chart.js", file(SCRIPT, include_str!("../../web/chart.js"))),
        ("/assets/workers.js", file(SCRIPT, include_str!("../../web/workers.js"))),
        ("/assets/cross.js", file(SCRIPT, include_str!("../../web/cross.js"))),
    ]
}

fn file(content_type: &'static str, content: &'static str) -> MethodRouter<App> {
    get(async move || ([(CONTENT_TYPE, content_type)], content))
}

/// The page of a job, if there is one.
async fn job(State(app): State<App>, Path(id): Path<String>) -> Result<impl IntoResponse, Refusal> {
    find(&app.handle.snapshot().jobs, job_id(&id)?)?;
    Ok(([(CONTENT_TYPE, HTML)], include_str!("../../web/job.html")))
}

/// The page of a cross of a job that there is. Whether there is the cross, the page finds out itself: that takes the
/// job's plan.
async fn cross(
    State(app): State<App>,
    Path((id, _)): Path<(String, String)>,
) -> Result<impl IntoResponse, Refusal> {
    find(&app.handle.snapshot().jobs, job_id(&id)?)?;
    Ok(([(CONTENT_TYPE, HTML)], include_str!("../../web/cross.html")))
}
