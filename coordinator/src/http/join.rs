//! The page of a campaign, the request that makes an invitation for a person who joins it, and the location of its
//! coordinators.

use axum::extract::{Path, State};
use axum::http::header::{CACHE_CONTROL, USER_AGENT};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{Html, IntoResponse, Response};
use axum::{Extension, Json};
use queens_model::{JobId, JobState, JobStatus, Name, PageUrl, percent, plural};
use queens_solver::boards::grid::escaped;
use queens_solver::published;
use serde::{Deserialize, Serialize};

use super::app::{App, Body, Object};
use super::html::{Header, fact, fill, framed, shell_line, time_left};
use super::image::ImageName;
#[cfg(test)]
use super::refusal::described::{NotDecided, NotJoined, NotLocated};
use super::refusal::{RequestRefusal, error_page};
use crate::access::{Caller, JoinRefusal};

/// The main part of the page, with placeholders.
const MAIN: &str = include_str!("../../assets/join.html");

/// A person who wants to count.
#[derive(Deserialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct Application {
    /// The person's name: 1 to 100 visible characters, with spaces only between them.
    name: String,
}

/// What a worker of this person needs.
#[derive(Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(super) struct Admission {
    /// The token of the person's new invitation. It is not kept and not shown again.
    token: String,
    /// The person's name: the wanted one, or that with a number if it is taken.
    name: String,
    /// The URL of the coordinator; for several coordinators of one database, the URLs of all, separated by commas.
    coordinator: String,
    /// The pins of their keys, separated by commas; null if a proxy encrypts, whose key is not known.
    pin: Option<String>,
    /// Whether an operator has to approve the invitation first. Until then, its worker is refused with 503.
    waiting: bool,
}

/// Joins a campaign: makes an invitation of a worker. The link's code is the only credential.
#[cfg_attr(test, utoipa::path(
    post,
    path = "/api/v1/join/{code}",
    params(("code" = String, Path, description = "The join code, from the link.")),
    request_body = Application,
    responses((status = 201, description = "The answer.", body = Admission), NotDecided, NotJoined),
))]
pub(super) async fn join(
    State(app): State<App>,
    Path(code): Path<String>,
    Extension(caller): Extension<Caller>,
    body: Body<Application>,
) -> Result<Response, RequestRefusal> {
    let Json(Object(Application { name })) = body?;
    let name = Name::new(&name)
        .map_err(|error| RequestRefusal::bad_request(format!("this can't be a name: {error}")))?;
    let joined = app.authenticator.join(&code, &name, caller.address()).await?;
    let admission = Admission {
        token: joined.token.secret().to_owned(),
        name: joined.name.to_string(),
        coordinator: joined.location.coordinators,
        pin: joined.location.pins,
        waiting: joined.waiting,
    };
    Ok((StatusCode::CREATED, [(CACHE_CONTROL, "no-store")], Json(admission)).into_response())
}

/// Where a worker of a campaign finds its coordinators.
#[derive(Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(super) struct CampaignLocation {
    /// The URL of the coordinator; for several coordinators of one database, the URLs of all, separated by commas.
    coordinator: String,
    /// The pins of their keys, separated by commas; null if a proxy encrypts, whose key is not known.
    pin: Option<String>,
}

/// Where the coordinators of a campaign are: for a worker that reaches none of them. Closed campaigns tell it, too.
#[cfg_attr(test, utoipa::path(
    get,
    path = "/api/v1/join/{code}",
    params(("code" = String, Path, description = "The join code, from the link.")),
    responses((status = 200, description = "The answer.", body = CampaignLocation), NotLocated),
))]
pub(super) async fn location(
    State(app): State<App>,
    Path(code): Path<String>,
    Extension(caller): Extension<Caller>,
) -> Result<Response, RequestRefusal> {
    let found = app.authenticator.location(&code, caller.address()).await;
    let found = found.map_err(|refusal| match refusal {
        JoinRefusal::Unknown => RequestRefusal::not_found("no campaign has this link"),
        refusal => RequestRefusal::unavailable(refusal),
    })?;
    let told = Json(CampaignLocation { coordinator: found.coordinators, pin: found.pins });
    Ok(([(CACHE_CONTROL, "no-store")], told).into_response())
}

/// The page of a campaign. Wrong and closed codes get the same answer.
pub(super) async fn page(
    State(app): State<App>,
    Path(code): Path<String>,
    Extension(caller): Extension<Caller>,
    headers: HeaderMap,
) -> Response {
    let Some(campaign) = app.authenticator.campaign(&code, caller.address()).await else {
        let text = "This link is wrong, or its campaign has ended. Is a letter of it missing? Ask for a new link where \
                    you found this one. Those who have joined go on counting: they don't need the link any more.";
        return error_page(StatusCode::NOT_FOUND, "Nobody can join here", text);
    };
    let link = format!("{}/join/{code}", app.authenticator.pages());
    let pin = app.authenticator.pin().map(|pin| format!(" --pin {pin}")).unwrap_or_default();
    let join = format!("join {link}{pin}");
    let snapshot = app.handle.snapshot();
    let campaign = campaign.terms;
    let description = Description::of(campaign.job.and_then(|job| snapshot.job(job)), campaign.job);
    let (system, line, others) = ways(agent(&headers), &join, app.options.image.as_ref());
    // Nothing else in these texts needs escaping: they are ours, and numbers.
    let (mut public, mut named) = (String::new(), "");
    if app.public.is_some() {
        let n_people = plural(app.authenticator.people().len(), "person").replace("persons", "people");
        public = format!(
            "<p>{n_people} joined: see <a href=\"/people\">who counts already</a>, and <a href=\"/public\">what was \
             counted</a>.</p>\n"
        );
        named = " It is listed among the people who count, for everybody to read.";
    }
    let values = [
        ("why", &*description.why),
        ("progress", &description.progress),
        ("facts", &description.facts),
        ("public", &public),
        ("system", system),
        ("programs", &programs(app.options.about.as_ref())),
        ("line", &line),
        ("others", &others),
        ("approve", if campaign.approve { " It waits until the operator has approved you." } else { "" }),
        ("named", named),
    ];
    Html(fill(&framed("Count with us", &["copy"], Header::Bare, "", MAIN), &values)).into_response()
}

fn agent(headers: &HeaderMap) -> &str {
    headers.get(USER_AGENT).and_then(|agent| agent.to_str().ok()).unwrap_or_default()
}

/// Returns the name of a visitor's system and the line for it, and the lines for other systems, as HTML.
fn ways(agent: &str, join: &str, image: Option<&ImageName>) -> (&'static str, String, String) {
    let own = match agent {
        agent if agent.contains("Windows") => "Windows",
        agent if agent.contains("Macintosh") => "macOS",
        _ => "Linux",
    };
    let docker = image.map(|image| {
        let line = format!(
            "docker run --rm -it --volume queens:/data --env XDG_CONFIG_HOME=/data --entrypoint /queens-worker {image} \
             {join}"
        );
        ("Docker", line)
    });
    let systems = [("Linux", "queens-worker"), ("macOS", "queens-worker"), ("Windows", "queens-worker.exe")];
    let systems = systems.map(|(system, program)| (system, format!("{program} {join}")));
    let (mut line, mut others) = (String::new(), String::new());
    for (system, one) in systems.into_iter().chain(docker) {
        if system == own {
            line = shell_line(&one);
        } else {
            others += &format!("<h3>{system}</h3>\n{}", shell_line(&one));
        }
    }
    (own, line, others)
}

/// Says where to get the programs, as HTML.
fn programs(about: Option<&PageUrl>) -> String {
    about.map_or_else(
        || {
            "You need the program <code>queens-worker</code>: ask for it where you found this link."
                .to_owned()
        },
        |url| {
            let url = escaped(&url.to_string());
            format!("Get <code>queens-worker</code> from <a href=\"{url}\">{url}</a>.")
        },
    )
}

/// What is counted, as HTML.
struct Description {
    why: String,
    progress: String,
    facts: String,
}

impl Description {
    fn of(job: Option<&JobStatus>, shown: Option<JobId>) -> Self {
        let Some(job) = job else {
            let board = match shown {
                Some(_) => "a job that is not here any more",
                None => "n queens on n×n squares, for the sizes that the operator chooses",
            };
            let why = "Nobody knows a formula for the number of ways to place n queens so that none attacks another: each \
                       number has to be counted, and every count checks the programs and the records of others.";
            return Self { why: why.to_owned(), progress: String::new(), facts: fact("Board", board) };
        };
        let (n, fraction) = (job.n.get(), job.fraction());
        let done = if job.state == JobState::Done { "all of it".to_owned() } else { percent(fraction) };
        let facts = fact("Board", &format!("{n} queens on {n}×{n} squares"))
            + &fact("Method", job.method.name())
            + &fact("Done", &done)
            + &fact("Time left", &time_left(job));
        let known = match published(job.n) {
            None => {
                "Nobody knows this number yet, and there is no formula for it: it has to be counted, which takes one \
                 computer many years and many computers little time."
            }
            Some(_) => {
                "The number is known, and there is no formula for it: counting it again, by another program on other \
                 computers, checks the record."
            }
        };
        let why = format!(
            "In how many ways can {n} queens stand on a chessboard of {n}×{n} squares so that none attacks another? {known}"
        );
        let progress = format!(
            "<progress value=\"{fraction:.4}\" max=\"1\" aria-label=\"The counted share\"></progress>\n"
        );
        Self { why, progress, facts }
    }
}

#[cfg(test)]
mod tests {
    use queens_solver::{BoardSize, Method};

    use super::*;

    #[test]
    fn the_page_links_the_programs_harmlessly() {
        assert!(programs(None).contains("ask for it where you found this link"));
        let url: PageUrl = "https://a.example/get?v=1&os=linux".parse().expect("a URL");
        let shown = "https://a.example/get?v=1&amp;os=linux";
        let expected = format!("Get <code>queens-worker</code> from <a href=\"{shown}\">{shown}</a>.");
        assert_eq!(programs(Some(&url)), expected);
    }

    #[test]
    fn a_visitor_gets_the_line_for_his_system() {
        let image = "ghcr.io/example/queens".parse().expect("a name");
        for (agent, expected) in [
            ("Mozilla/5.0 (Windows NT 10.0; Win64; x64)", ["Windows", "queens-worker.exe join X"]),
            ("Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7)", ["macOS", "queens-worker join X"]),
            ("Mozilla/5.0 (X11; Linux x86_64)", ["Linux", "queens-worker join X"]),
            ("", ["Linux", "queens-worker join X"]),
        ] {
            let (system, line, others) = ways(agent, "join X", Some(&image));
            assert_eq!(system, expected[0]);
            assert!(line.contains(&format!("<code>{}</code>", expected[1])), "{line}");
            assert!(
                !others.contains(&format!("<h3>{system}<"))
                    && others.contains("ghcr.io/example/queens join X")
            );
        }
        // The operator alone knows an image.
        assert!(!ways("", "join X", None).2.contains("docker"));
    }

    #[test]
    fn a_page_says_what_is_counted() {
        let job = |n| {
            let n = BoardSize::new(n).expect("a board size");
            JobStatus::new(JobId(7), n, Method::Halves, JobState::Running)
        };
        let of = Description::of;
        let known = of(Some(&job(28)), Some(JobId(7)));
        assert!(known.facts.contains("28 queens") && known.facts.contains("halves"), "{}", known.facts);
        assert!(known.why.contains("Nobody knows") && known.progress.contains("<progress "), "{}", known.why);
        assert!(of(Some(&job(12)), Some(JobId(7))).why.contains("is known"));
        assert!(of(None, Some(JobId(7))).facts.contains("not here any more"));
        assert!(of(None, None).facts.contains("the operator chooses"));
    }
}
