//! Log-in by the pages.

use queens_tests::http::Answer;
use queens_tests::prelude::*;

fn post(site: &Behind, path: &str, cookie: Option<&str>, body: &str) -> Answer {
    ask(site, "POST", path, cookie, &[("Content-Type", "application/json")], body)
}

fn ask(
    site: &Behind,
    method: &str,
    path: &str,
    cookie: Option<&str>,
    headers: &[(&str, &str)],
    body: &str,
) -> Answer {
    let mut all = headers.to_vec();
    all.extend(cookie.map(|cookie| ("Cookie", cookie)));
    http::request(&site.coordinator().http(), method, path, &all, body)
}

fn get(site: &Behind, path: &str, cookie: Option<&str>) -> Answer {
    ask(site, "GET", path, cookie, &[], "")
}

fn try_to_log_in(site: &Behind, token: &str) -> Answer {
    http::log_in(&site.coordinator().http(), token)
}

/// Logs in; returns the session cookie.
fn log_in(site: &Behind, token: &str) -> String {
    let answer = try_to_log_in(site, token);
    assert_eq!(answer.status, 200, "{answer:?}");
    let cookie = answer.header("set-cookie").expect("a cookie");
    assert!(cookie.starts_with("__Host-queens="), "{cookie}");
    for attribute in ["Path=/", "Secure", "HttpOnly", "SameSite=Strict", "Max-Age=43200"] {
        assert!(cookie.split("; ").any(|part| part == attribute), "{cookie}");
    }
    answer.cookie().to_owned()
}

#[test]
fn who_logs_in_may_do_what_the_token_allows_until_logging_out() {
    let site = Behind::new(&[]);
    let (viewer, operator) = (log_in(&site, &site.token("viewer")), log_in(&site, &site.token("operator")));
    for (cookie, role, decides) in [(&viewer, "viewer", 403), (&operator, "operator", 201)] {
        let cookie = Some(cookie.as_str());
        let me = get(&site, "/api/v1/me", cookie).json();
        assert_eq!(me["role"], role);
        assert_eq!(get(&site, "/api/v1/jobs", cookie).status, 200);
        assert_eq!(get(&site, "/", cookie).status, 200);
        assert_eq!(post(&site, "/api/v1/jobs", cookie, "{\"n\":8}").status, decides, "{role}");
    }
    // Another site's page can't act through its visitor's browser.
    let json = ("Content-Type", "application/json");
    let elsewhere = [json, ("Origin", "https://evil.example")];
    assert_eq!(ask(&site, "POST", "/api/v1/jobs", Some(&operator), &elsewhere, "{\"n\":8}").status, 403);
    let out = post(&site, "/api/v1/logout", Some(&operator), "{}");
    assert_eq!(
        (out.status, out.header("set-cookie").is_some_and(|cookie| cookie.contains("Max-Age=0"))),
        (204, true)
    );
    assert_eq!(get(&site, "/api/v1/jobs", Some(&operator)).status, 401);
    assert_eq!(get(&site, "/api/v1/jobs", Some(&viewer)).status, 200);
}

/// Returns method and path of all HTTP requests: those of the OpenAPI document, and the pages.
fn requests() -> Vec<(String, String)> {
    let document = include_str!("../../../coordinator/src/http/openapi.json");
    let document: Value = serde_json::from_str(document).expect("JSON");
    let described = document["paths"].as_object().expect("paths").iter().flat_map(|(path, methods)| {
        methods.as_object().into_iter().flatten().map(|(method, _)| (method.to_uppercase(), path.clone()))
    });
    let pages = [
        "/",
        "/workers",
        "/board",
        "/audit",
        "/login",
        "/join/{code}",
        "/jobs/{job}",
        "/jobs/{job}/parts/{part}",
    ];
    described.chain(pages.map(|path| ("GET".to_owned(), path.to_owned()))).collect()
}

/// Repeats the permissions independently: a new request must be added here with its roles, unless it only reads.
#[test]
#[expect(clippy::print_stdout, reason = "the table is shown to whoever asks for it")]
fn each_role_may_ask_by_http_for_what_is_its_own_and_nothing_else() {
    let site = Behind::new(&[]);
    let roles = ["viewer", "operator", "worker"].map(|role| (role, site.token(role)));
    let requests = requests();
    assert!(requests.len() >= 36, "{}", requests.len());
    for (method, template) in requests {
        let path = template.replace("{job}", "0").replace("{part}", "0").replace("{code}", "0");
        let ask = |token: Option<&str>| {
            let bearer = token.map(|token| format!("Bearer {token}"));
            let mut headers = vec![("Content-Type", "application/json")];
            headers.extend(bearer.as_deref().map(|bearer| ("Authorization", bearer)));
            // The request is nonsense: a caller with permission gets an error about that.
            http::status(&site.coordinator().http(), &method, &path, &headers, "[]")
        };
        let is_free = [
            "/healthz",
            "/readyz",
            "/login",
            "/api/v1/login",
            "/api/v1/logout",
            "/join/{code}",
            "/api/v1/join/{code}",
            "/public",
            "/people",
            "/people/{name}",
            "/people/{name}/badge.svg",
            "/api/v1/public",
            "/api/v1/people",
            "/api/v1/people/{name}",
        ];
        let is_free = is_free.contains(&template.as_str());
        let is_decision = method == "POST" || template == "/api/v1/audit";
        let mut found = vec![("nobody", ask(None), 401, is_free)];
        for (role, token) in &roles {
            let may = is_free || *role == "operator" || *role == "viewer" && !is_decision;
            found.push((role, ask(Some(token)), 403, may));
        }
        let told: Vec<String> = found.iter().map(|(who, status, ..)| format!("{who} {status}")).collect();
        println!("{method:4} {template:45} {}", told.join(", "));
        for (who, status, refusal, may) in found {
            assert_eq!(status != refusal, may, "{who}: {method} {template}: {status}");
        }
    }
}

#[test]
fn who_is_not_logged_in_sees_the_page_for_that_and_nothing_else() {
    let site = Behind::new(&[]);
    let html = [("Accept", "text/html,application/xhtml+xml")];
    for path in ["/", "/workers", "/jobs/1", "/jobs/1/parts/0"] {
        let answer = ask(&site, "GET", path, None, &html, "");
        assert_eq!((answer.status, answer.header("location")), (303, Some("/login")), "{path}");
    }
    for path in ["/login", "/assets/login.js", "/assets/page.js", "/assets/style.css", "/healthz"] {
        assert_eq!(get(&site, path, None).status, 200, "{path}");
    }
    for path in ["/api/v1/jobs", "/api/v1/live", "/api/v1/me", "/metrics", "/api/v1/openapi.json", "/"] {
        assert_eq!(get(&site, path, None).status, 401, "{path}");
    }
    for path in ["/nothing", "/api/v1/nothing", "/%2e%2e/etc/passwd", "/assets/../Cargo.toml"] {
        assert_eq!(get(&site, path, None).status, 404, "{path}");
    }
    let cookie = format!("__Host-queens={}", "0".repeat(64));
    assert_eq!(get(&site, "/api/v1/jobs", Some(&cookie)).status, 401);
}

#[test]
fn what_lets_nobody_in_is_refused_ever_later_and_logged_without_secrets() {
    let site = Behind::new(&[]);
    let (good, worker) = (site.token("viewer"), site.token("worker"));
    let digits = good.rsplit('_').next().expect("digits");
    let wrong = format!("queens_1_{}", "0".repeat(64));
    let began = std::time::Instant::now();
    for token in [wrong.as_str(), "nonsense", &good.replace("queens_1", "queens_77"), &good.to_uppercase()] {
        let answer = try_to_log_in(&site, token);
        assert_eq!((answer.status, answer.header("set-cookie")), (401, None), "{answer:?}");
        assert!(!answer.body.contains(token), "{answer:?}");
    }
    assert!(began.elapsed().as_millis() >= 1500, "100 + 200 + 400 + 800 ms: {:?}", began.elapsed());
    // A valid token is not delayed by 1.6 s, as the next wrong one would be.
    let began = std::time::Instant::now();
    let cookie = log_in(&site, &good);
    assert!(began.elapsed() < promised(1), "{:?}", began.elapsed());
    let refused = try_to_log_in(&site, &worker);
    assert_eq!(refused.status, 403, "{refused:?}");
    site.manage(["revoke", "1"]);
    wait_until("the end of the session", || {
        // A request under way then gets no answer.
        let address = site.coordinator().http();
        let answer = http::try_request(&address, "GET", "/api/v1/jobs", &[("Cookie", &cookie)], "");
        (answer?.status == 401).then_some(())
    });
    let log = site.coordinator().log();
    assert!(log.contains("not let in") && !log.contains(digits) && !log.contains(&cookie), "{log}");
}

#[test]
fn where_everybody_is_let_in_nobody_has_to_log_in() {
    let Scenario { scratch: _scratch, coordinator, .. } = Scenario::with_http();
    let me = http::get(&coordinator.http(), "/api/v1/me").json();
    assert_eq!((me["who"].as_str(), me["role"].is_null()), (Some("anybody"), true));
    assert_eq!(http::get(&coordinator.http(), "/").status, 200);
}
