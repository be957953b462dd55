//! The pages and what they are made of, all of it in the program itself.

use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;
use axum::routing::{MethodRouter, get};

use super::App;

pub(super) fn routes() -> Vec<(&'static str, MethodRouter<App>)> {
    vec![("/", file("text/html; charset=utf-8", include_str!("../../web/jobs.html")))]
}

fn file(content_type: &'static str, content: &'static str) -> MethodRouter<App> {
    get(async move || ([(CONTENT_TYPE, content_type)], content).into_response())
}
