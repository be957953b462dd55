//! Serves the OpenAPI document of all routes except the pages.

use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;

pub(super) const OPENAPI: &str = include_str!("openapi.json");

/// The OpenAPI document of this API.
#[cfg_attr(test, utoipa::path(
    get,
    path = "/api/v1/openapi.json",
    responses((status = 200, description = "The document.", content_type = "application/json")),
))]
pub(super) async fn document() -> impl IntoResponse {
    ([(CONTENT_TYPE, "application/json")], OPENAPI)
}

/// Generates the document from the handlers and their types, and compares it with the one that is checked in. After a
/// change, regenerate it: `QUEENS_GENERATE=1 cargo test -p queens-coordinator document`.
#[cfg(test)]
mod tests {
    use std::{env, fs};

    use utoipa::openapi::RefOr;
    use utoipa::openapi::schema::Schema;
    use utoipa::openapi::security::{ApiKey, ApiKeyValue, HttpAuthScheme, HttpBuilder, SecurityScheme};
    use utoipa::{Modify, OpenApi};

    use super::super::{
        certificate, health, history, job_list, jobs, join, log_in, part, part_map, parts, public,
        search_steps, solution_map, status, workers,
    };
    use crate::access::COOKIE;

    const DESCRIPTION: &str = "The interface that the coordinator's pages use. A coordinator with invitations \
        requires a token (`Authorization: Bearer …`) or the cookie of a log-in session: requests without one are \
        answered 401, and requests that the role does not permit 403. Requests must name the coordinator by an \
        address, a name without dots, a name of the local network, or the name it listens on; others are answered \
        421. Unknown paths are answered 404, wrong methods 405, and requests that take longer than 15 seconds 408.";

    #[derive(OpenApi)]
    #[openapi(
        info(
            title = "queens coordinator",
            version = "1",
            description = DESCRIPTION,
            license(name = "MIT OR Apache-2.0")
        ),
        modifiers(&Shown),
        // One of these; none if the coordinator does not authenticate.
        security((), ("token" = []), ("cookie" = [])),
        paths(
            super::document,
            health::health,
            health::readiness,
            health::metrics,
            status::coordinator,
            status::audit_entries,
            status::events,
            status::follow,
            job_list::list_jobs,
            jobs::submit,
            jobs::job,
            history::history,
            history::fleet_history,
            history::worker_history,
            jobs::contributions,
            jobs::verdicts,
            certificate::download,
            jobs::pause,
            jobs::resume,
            jobs::cancel,
            jobs::set_priority,
            jobs::verify_more,
            jobs::end_verification,
            part_map::cells,
            solution_map::draw_count,
            parts::list_parts,
            part::explain,
            part::draw,
            join::location,
            join::join,
            public::summary,
            public::list_people,
            public::person,
            log_in::log_in,
            log_in::log_out,
            log_in::me,
            workers::list_workers,
            search_steps::search,
            workers::drain,
            workers::block,
            workers::unblock,
        )
    )]
    struct Document;

    /// Objects of answers that have all their properties, some of them null.
    const WHOLE: [&str; 5] = ["CardSensors", "Coordinator", "Event", "JobStatus", "Worker"];

    /// The credentials of a request, and what is in an answer.
    struct Shown;

    impl Modify for Shown {
        fn modify(&self, document: &mut utoipa::openapi::OpenApi) {
            let components = document.components.get_or_insert_default();
            for name in WHOLE {
                let Some(RefOr::T(Schema::Object(object))) = components.schemas.get_mut(name) else {
                    panic!("there is no object {name}");
                };
                object.required = object.properties.keys().cloned().collect();
            }
            let token = HttpBuilder::new().scheme(HttpAuthScheme::Bearer);
            let token = token.description(Some("As 'queens-coordinator invite' prints it."));
            components.add_security_scheme("token", SecurityScheme::Http(token.build()));
            let cookie = ApiKeyValue::with_description(COOKIE, "What logging in answers with.");
            components.add_security_scheme("cookie", SecurityScheme::ApiKey(ApiKey::Cookie(cookie)));
        }
    }

    #[test]
    fn what_is_checked_in_is_made_from_what_is_served() {
        let made = Document::openapi().to_pretty_json().expect("JSON") + "\n";
        let kept = concat!(env!("CARGO_MANIFEST_DIR"), "/src/http/openapi.json");
        if env::var_os("QUEENS_GENERATE").is_some() {
            fs::write(kept, &made).expect("written");
        }
        let mut names: Vec<&str> = made.lines().filter(|line| line.contains("\"operationId\"")).collect();
        names.sort_unstable();
        assert!(names.windows(2).all(|two| two[0] != two[1]), "operations have the same name: {names:?}");
        let is_same = fs::read_to_string(kept).is_ok_and(|kept| kept == made);
        assert!(is_same, "{kept} is out of date: see coordinator/src/http/document.rs");
    }
}
