//! The public pages, for readers without an invitation: what is counted, and who has counted how much.
//!
//! They show the names that people chose when they joined, and no address, machine or worker. `--public` enables them.
//! A page is rendered at most once for each ranking, so a reader costs a look-up.

mod curve;
mod json;
mod page;

use std::sync::Arc;

use axum::extract::{Path, Query, State};
use axum::http::header::{HeaderName, HeaderValue, RETRY_AFTER};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use queens_event_loop::{People, RankedPerson};
use queens_solver::boards::grid::escaped;
use serde::{Deserialize, Serialize};

use self::curve::Curve;
use self::json::{MOST_LISTED, PersonDetails, PublicPeople, PublicSummary};
use super::app::{App, Queried, Route};
use super::html::segment;
#[cfg(test)]
use super::refusal::described::{InvalidRequest, NoPublicPages, NoRecords};
use super::refusal::{RequestRefusal, error_page, is_of_a_person};
use super::rendered_pages::RenderedPage;
use crate::access::Requirement;

const HTML: &str = "text/html; charset=utf-8";
const JSON: &str = "application/json";
const SVG: &str = "image/svg+xml";

/// The seconds after which a reader may ask again who comes before the first sums.
const SUMS_SOON: &str = "10";

pub(super) fn routes() -> Vec<Route<App>> {
    const PUBLIC: Requirement = Requirement::PUBLIC;
    vec![
        ("GET", "/public", PUBLIC, get(campaign_page)),
        ("GET", "/people", PUBLIC, get(people_page)),
        ("GET", "/people/{name}", PUBLIC, get(person_page)),
        ("GET", "/people/{name}/badge.svg", PUBLIC, get(badge)),
    ]
}

async fn campaign_page(State(app): State<App>, headers: HeaderMap) -> Response {
    let snapshot = app.handle.snapshot();
    serve(&app, &headers, "/public", |people| {
        Some(RenderedPage::new(HTML, page::campaign(people, &snapshot)))
    })
    .await
}

/// What is counted, and by how many people. Without authentication, if the coordinator has public pages.
#[cfg_attr(test, utoipa::path(
    get,
    path = "/api/v1/public",
    responses((status = 200, description = "The answer.", body = PublicSummary), NoPublicPages, NoRecords),
))]
pub(super) async fn summary(State(app): State<App>, headers: HeaderMap) -> Response {
    let snapshot = app.handle.snapshot();
    serve(&app, &headers, "/api/v1/public", |people| Some(of_json(&PublicSummary::of(people, &snapshot))))
        .await
}

/// The place in the list of people.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(utoipa::IntoParams), into_params(parameter_in = Query))]
pub(super) struct ListOffset {
    /// Number of people to skip, rounded down to hundreds. At most 10,000 people are listed.
    #[serde(default)]
    offset: usize,
}

impl ListOffset {
    /// Returns the beginning of the page. Few different ones exist, so few pages are rendered.
    fn begin(&self) -> usize {
        self.offset.min(json::MOST_PEOPLE) / MOST_LISTED * MOST_LISTED
    }
}

async fn people_page(State(app): State<App>, headers: HeaderMap, place: Queried<ListOffset>) -> Response {
    // Links from elsewhere may have parameters of their own; a wrong one is no reason for an error page.
    let begin = place.map_or(0, |Query(place)| place.begin());
    serve(&app, &headers, &format!("/people?offset={begin}"), |people| {
        Some(RenderedPage::new(HTML, page::people(people, begin)))
    })
    .await
}

/// The people who joined by a link, those with the most core-hours first: at most 100 from the offset. Without
/// authentication, if the coordinator has public pages.
#[cfg_attr(test, utoipa::path(
    get,
    path = "/api/v1/people",
    params(ListOffset),
    responses(
        (status = 200, description = "The answer.", body = PublicPeople), InvalidRequest, NoPublicPages, NoRecords
    ),
))]
pub(super) async fn list_people(
    State(app): State<App>,
    headers: HeaderMap,
    place: Queried<ListOffset>,
) -> Response {
    let begin = match place {
        Ok(Query(place)) => place.begin(),
        Err(error) => return RequestRefusal::from(error).into_response(),
    };
    serve(&app, &headers, &format!("/api/v1/people?offset={begin}"), |people| {
        Some(of_json(&PublicPeople::of(people, begin)))
    })
    .await
}

async fn person_page(State(app): State<App>, Path(name): Path<String>, headers: HeaderMap) -> Response {
    serve(&app, &headers, &format!("/people/{}", segment(name.trim())), |people| {
        let one = people.named(name.trim())?;
        // Caches keep the page for others: it must not have the host that a visitor named.
        let origin = escaped(app.authenticator.pages());
        Some(RenderedPage::new(HTML, page::person(people, one, &curve(&app, people, one), &origin)))
    })
    .await
}

/// A person who joined by a link. Without authentication, if the coordinator has public pages.
#[cfg_attr(test, utoipa::path(
    get,
    path = "/api/v1/people/{name}",
    params(("name" = String, Path, description = "The person's name.")),
    responses((status = 200, description = "The answer.", body = PersonDetails), NoPublicPages, NoRecords),
))]
pub(super) async fn person(State(app): State<App>, Path(name): Path<String>, headers: HeaderMap) -> Response {
    serve(&app, &headers, &format!("/api/v1/people/{}", segment(name.trim())), |people| {
        let one = people.named(name.trim())?;
        Some(of_json(&PersonDetails::of(people, one, &curve(&app, people, one))))
    })
    .await
}

async fn badge(State(app): State<App>, Path(name): Path<String>, headers: HeaderMap) -> Response {
    let key = format!("/people/{}/badge.svg", segment(name.trim()));
    let mut response = serve(&app, &headers, &key, |people| {
        Some(RenderedPage::new(SVG, page::badge(people.named(name.trim())?, people.ranked.len())))
    })
    .await;
    // It is made for pages of other sites.
    response.headers_mut().insert(
        HeaderName::from_static("cross-origin-resource-policy"),
        HeaderValue::from_static("cross-origin"),
    );
    response
}

fn curve(app: &App, people: &People, one: &RankedPerson) -> Curve {
    let now = (people.at_ms.max(one.person.since_ms), one.totals.time());
    Curve::new(&app.handle.days_of(one.person.party), one.person.since_ms, now)
}

fn of_json(value: &impl Serialize) -> RenderedPage {
    // These values have no keys that JSON lacks.
    RenderedPage::new(JSON, serde_json::to_string(value).unwrap_or_default())
}

/// Answers with the page of a key. Renders it if the ranking has none yet; 404 if there is nothing to render.
async fn serve(
    app: &App,
    headers: &HeaderMap,
    key: &str,
    render: impl FnOnce(&People) -> Option<RenderedPage>,
) -> Response {
    let is_api = key.starts_with("/api/");
    let refuse = |status, title, text: &str| {
        if !is_api && is_of_a_person(headers) {
            return error_page(status, title, text);
        }
        RequestRefusal::new(status, text).into_response()
    };
    let Some(pages) = &app.public else {
        let text =
            "This coordinator shows nothing in public. Its operator can, by starting it with --public.";
        return refuse(StatusCode::NOT_FOUND, "No public pages", text);
    };
    let Ok(people) = app.handle.people(|| app.authenticator.people()).await else {
        let text =
            "The coordinator adds up what was counted, since it has just started. Try again in a minute.";
        let mut response = refuse(StatusCode::SERVICE_UNAVAILABLE, "Not ready yet", text);
        response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static(SUMS_SOON));
        return response;
    };
    let people: Arc<People> = people;
    match pages.page(people.made, key, || render(&people)) {
        Some(page) => page.answer(headers),
        None => {
            let text = "Nobody of this name has joined, or the name is not shown any more.";
            refuse(StatusCode::NOT_FOUND, "Nobody of this name", text)
        }
    }
}
