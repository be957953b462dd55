//! HTML pages for errors, and whether a browser sent the request.

use axum::extract::Request;
use axum::http::header::ACCEPT;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{Html, IntoResponse, Response};

use super::refusal::RequestRefusal;

/// The page, with placeholders for its title and its text, which is HTML.
const PAGE: &str = include_str!("../../assets/missing.html");

/// Returns whether a browser asks for a page. Programs that accept anything don't count.
pub(super) fn is_of_a_person(headers: &HeaderMap) -> bool {
    headers.get(ACCEPT).and_then(|value| value.to_str().ok()).is_some_and(|wants| wants.contains("text/html"))
}

/// Returns a page with a message. Its texts are ours: nothing in them comes from a request, so nothing is escaped.
pub(super) fn page(status: StatusCode, title: &'static str, text: &str) -> Response {
    let page = PAGE.replace("{title}", title).replace("{text}", text);
    (status, Html(page)).into_response()
}

/// The page for a job that does not exist.
pub(super) fn no_job() -> Response {
    let text = "The coordinator has no job of this number. Is it another coordinator, or another data directory? \
                <a href=\"/\">All jobs</a> are listed.";
    page(StatusCode::NOT_FOUND, "No such job", text)
}

/// The page for a worker that does not exist.
pub(super) fn no_worker() -> Response {
    let text = "No worker of this name is connected, or was lately. It has gone, or has never been here. What it has \
                counted is kept: the page of a job names who has counted it. <a href=\"/workers\">All workers</a> are \
                listed.";
    page(StatusCode::NOT_FOUND, "No such worker", text)
}

/// Answers a path without a route: a page for people, the API's error format for programs.
pub(super) async fn nothing(request: Request) -> Response {
    let is_of_pages = !request.uri().path().starts_with("/api/");
    if is_of_pages && is_of_a_person(request.headers()) {
        let text = "The coordinator has no page at this address. Is a letter of it wrong? All that there is can be \
                    reached from <a href=\"/\">the jobs</a> and <a href=\"/workers\">the workers</a>.";
        return page(StatusCode::NOT_FOUND, "No such page", text);
    }
    RequestRefusal::not_found("there is no such page").into_response()
}
