//! Pages for people in place of what is not there.

use axum::extract::Request;
use axum::http::header::{ACCEPT, CONTENT_TYPE};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};

use super::refusal::RequestRefusal;

/// The page, with places for its title and for what it says, which is HTML.
const PAGE: &str = include_str!("../../web/missing.html");

const HTML: &str = "text/html; charset=utf-8";

/// Whether who asks looks at pages. A program that takes anything does not.
pub(super) fn is_of_a_person(headers: &HeaderMap) -> bool {
    headers.get(ACCEPT).and_then(|value| value.to_str().ok()).is_some_and(|wants| wants.contains("text/html"))
}

/// A page that says what is the matter. Its texts are ours: nothing in them comes from a request.
pub(super) fn page(status: StatusCode, title: &'static str, text: &str) -> Response {
    let page = PAGE.replace("{title}", title).replace("{text}", text);
    (status, [(CONTENT_TYPE, HTML)], page).into_response()
}

/// There is no such job.
pub(super) fn no_job() -> Response {
    let text = "The coordinator has no job of this number. Is it another coordinator, or another data directory? \
                <a href=\"/\">All jobs</a> are listed.";
    page(StatusCode::NOT_FOUND, "No such job", text)
}

/// There is no such worker.
pub(super) fn no_worker() -> Response {
    let text = "No worker of this name is connected, or was lately. It has gone, or has never been here. What it has \
                counted is kept: the page of a job names who has counted it. <a href=\"/workers\">All workers</a> are \
                listed.";
    page(StatusCode::NOT_FOUND, "No such worker", text)
}

/// There is nothing at this path: people are told on a page, programs as everywhere in the API.
pub(super) async fn nothing(request: Request) -> Response {
    let is_of_pages = !request.uri().path().starts_with("/api/");
    if is_of_pages && is_of_a_person(request.headers()) {
        let text = "The coordinator has no page at this address. Is a letter of it wrong? All that there is can be \
                    reached from <a href=\"/\">the jobs</a> and <a href=\"/workers\">the workers</a>.";
        return page(StatusCode::NOT_FOUND, "No such page", text);
    }
    RequestRefusal::not_found("there is no such page").into_response()
}
