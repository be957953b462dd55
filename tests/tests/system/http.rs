//! The coordinator's HTTP API: statuses, headers, and conformity to its OpenAPI document.

use std::collections::BTreeSet;

use queens_tests::http::Answer;
use queens_tests::prelude::*;
use queens_tests::schema::check;

const JSON: (&str, &str) = ("Content-Type", "application/json");

/// A coordinator and its pages.
struct Site {
    coordinator: Coordinator,
    address: String,
    scratch: TempDir,
}

impl Site {
    #[track_caller]
    fn start() -> Self {
        let Scenario { scratch, coordinator, .. } = Scenario::with_http();
        Self { address: coordinator.http(), coordinator, scratch }
    }

    #[track_caller]
    fn get(&self, path: &str) -> Answer {
        http::get(&self.address, path)
    }

    #[track_caller]
    fn post(&self, path: &str, body: &str) -> Answer {
        http::post(&self.address, path, body)
    }

    #[track_caller]
    fn request(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Answer {
        http::request(&self.address, method, path, headers, body)
    }
}

/// Returns the reason of a refusal.
#[track_caller]
fn refused(answer: &Answer, status: u16) -> String {
    assert_eq!(answer.status, status, "{answer:?}");
    answer.json()["error"].as_str().expect("a reason").to_owned()
}

#[test]
fn what_makes_no_sense_is_refused_with_a_reason() {
    let site = Site::start();
    assert_eq!((site.get("/healthz").body, site.get("/readyz").body), ("ok\n".into(), "ready\n".into()));
    for path in ["/nope", "/api", "/api/v1/jobs/7", "/api/v1/jobs/x", "/assets/", "/api/v1/jobs/7/cells"] {
        refused(&site.get(path), 404);
    }
    for path in ["/jobs/7", "/jobs/x", "/jobs/7/parts/1"] {
        let missing = site.get(path);
        assert_eq!(missing.status, 404, "{missing:?}");
        assert!(missing.body.contains("No such job") && missing.body.starts_with("<!doctype html>"));
    }
    for (method, path, allowed) in [
        ("POST", "/healthz", "GET,HEAD"),
        ("DELETE", "/api/v1/jobs", "GET,HEAD,POST"),
        ("PUT", "/", "GET,HEAD"),
        ("GET", "/api/v1/workers/drain", "POST"),
    ] {
        let answer = site.request(method, path, &[JSON], "{}");
        refused(&answer, 405);
        assert_eq!(answer.header("allow"), Some(allowed), "{method} {path}");
    }
    for (body, says) in [
        ("", "EOF"),
        ("{\"n\":", "EOF"),
        ("{\"n\":33}", "'33' is not a whole number from 0 to 32"),
        ("{\"n\":-1}", "n: invalid value"),
        ("{\"n\":\"8\"}", "n: invalid type"),
        ("{}", "missing field `n`"),
        ("{\"n\":8,\"m\":1}", "unknown field `m`"),
        ("{\"n\":8,\"priority\":1001}", "from -1000 to 1000"),
        ("[]", "invalid type: sequence, expected an object"),
        ("[8,0]", "invalid type: sequence, expected an object"),
        ("8", "expected an object"),
        ("{\"n\":8,\"n\":8}", "duplicate field `n`"),
    ] {
        let reason = refused(&site.post("/api/v1/jobs", body), 400);
        assert!(reason.contains(says), "{body}: {reason}");
    }
    let large = refused(&site.post("/api/v1/jobs", &format!("{{\"n\":8}}{}", " ".repeat(20_000))), 413);
    assert!(large.contains("longer than 16384 bytes"), "{large}");
    let long = format!("search={}", "x".repeat(101));
    for query in ["state=gone", "sort=colour", "reverse=2", "colour=red", "limit=-1", &long] {
        refused(&site.get(&format!("/api/v1/workers?{query}")), 400);
        refused(&site.get(&format!("/api/v1/jobs?{query}")), 400);
    }
    refused(&site.post("/api/v1/workers/drain", r#"{"name":"nobody"}"#), 404);
    refused(&site.post("/api/v1/jobs/7/pause", "{}"), 404);
    refused(&site.post("/api/v1/jobs/7/pause", "[]"), 400);
    refused(&site.post("/api/v1/workers/block", r#"["a"]"#), 400);
    for path in ["/api/v1/jobs/%ff", "/api/v1/jobs/1/parts/%C3%28/board.svg", "/jobs/%80", "/%f8"] {
        let reason = refused(&site.get(path), 400);
        assert!(reason.contains("not UTF-8"), "{reason}");
    }
    for path in ["/api/v1/jobs/%", "/api/v1/jobs/%zz", "/api/v1/jobs/%c3%a9"] {
        refused(&site.get(path), 404);
    }
    assert_eq!(site.get("/api/v1/jobs").json()["total"], 0);
}

#[test]
fn other_sites_pages_can_do_nothing() {
    let site = Site::start();
    let own = format!("http://{}", site.address);
    for (headers, status) in [
        (vec![("Content-Type", "text/plain")], 415),
        (vec![("Content-Type", "application/x-www-form-urlencoded")], 415),
        (vec![], 415),
        (vec![JSON, ("Origin", "http://evil.example")], 403),
        (vec![JSON, ("Origin", "null")], 403),
        (vec![JSON, ("Sec-Fetch-Site", "cross-site")], 403),
        (vec![JSON, ("Sec-Fetch-Site", "same-site")], 403),
        (vec![JSON, ("Host", "rebound.example:80"), ("Origin", "http://rebound.example:80")], 421),
    ] {
        refused(&site.request("POST", "/api/v1/jobs", &headers, r#"{"n":8}"#), status);
    }
    refused(&site.request("GET", "/api/v1/jobs", &[("Host", "rebound.example")], ""), 421);
    assert_eq!(site.request("GET", "/healthz", &[("Host", "monitored.example")], "").status, 200);
    assert_eq!(site.get("/api/v1/jobs").json()["total"], 0);
    let headers = [JSON, ("Origin", own.as_str()), ("Sec-Fetch-Site", "same-origin")];
    assert_eq!(site.request("POST", "/api/v1/jobs", &headers, r#"{"n":8}"#).status, 201);
    for path in ["/", "/api/v1/jobs", "/nope", "/assets/page.js"] {
        let answer = site.get(path);
        let policy = answer.header("content-security-policy").expect("a policy");
        assert!(
            policy.contains("default-src 'none'") && policy.contains("frame-ancestors 'none'"),
            "{policy}"
        );
        assert!(!policy.contains("unsafe") && !policy.contains("http"), "{policy}");
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
        assert_eq!(answer.header("referrer-policy"), Some("no-referrer"));
        assert_eq!(answer.header("cross-origin-opener-policy"), Some("same-origin"));
        assert_eq!(answer.header("cross-origin-resource-policy"), Some("same-origin"));
    }
}

#[test]
fn answers_are_as_the_document_says() {
    let site = Site::start();
    let document = site.get("/api/v1/openapi.json").json();
    let submitted = site.post("/api/v1/jobs", r#"{"n":12,"priority":3}"#);
    assert_eq!((submitted.status, submitted.header("location")), (201, Some("/api/v1/jobs/1")));
    check(&document, &submitted.json(), "Job");
    let _worker = site.coordinator.worker("first");
    let job = wait_until("the count", || {
        let job = site.get("/api/v1/jobs/1").json();
        (job["state"] == "done").then_some(job)
    });
    assert_eq!(
        (&job["solutions"], &job["agrees"], &job["priority"]),
        (&json!("14200"), &json!(true), &json!(3))
    );
    let certificate = site.get("/api/v1/jobs/1/certificate");
    let attached = certificate.header("content-disposition");
    assert_eq!((certificate.status, attached), (200, Some("attachment; filename=\"q12-job-1.certificate\"")));
    let file = site.scratch.join("q12");
    std::fs::write(&file, &certificate.file).expect("written");
    let checked = run(queens(["check", utf8(&file), "--share", "100"])).good().stdout;
    assert_eq!(checked.lines().nth(1), Some("all of it holds"), "{checked}");
    let proof = site.get("/api/v1/jobs/1").json()["proof"].clone();
    assert_eq!(checked.lines().next(), proof.as_str(), "the same sentence");
    wait_for("it to count as exported", || !site.get("/api/v1/jobs/1").json()["exported_ms"].is_null());
    check(&document, &site.post("/api/v1/jobs", r#"{"n":22}"#).json(), "Job");
    assert!(refused(&site.get("/api/v1/jobs/2/certificate"), 409).contains("is not done"));
    refused(&site.get("/api/v1/jobs/7/certificate"), 404);
    let elsewhere = [("Sec-Fetch-Site", "cross-site")];
    refused(&site.request("GET", "/api/v1/jobs/1/certificate", &elsewhere, ""), 403);
    wait_for("a worker that counts and a history", || {
        let counting = site.get("/api/v1/workers").json()["workers"][0]["counting"].is_object();
        let sampled = !site.get("/api/v1/jobs/2/history").json()["samples"][0].is_null();
        let curves = site.get("/api/v1/workers/first/history").json();
        let followed = ["search", "halves"].iter().any(|method| !curves[method]["samples"][0].is_null());
        counting && sampled && followed
    });
    for (path, schema) in [
        ("coordinator", "Coordinator"),
        ("jobs", "Jobs"),
        ("jobs?limit=1&offset=1", "Jobs"),
        ("jobs/2", "Job"),
        ("jobs/2/history", "Curve"),
        ("history", "FleetHistory"),
        ("board/6?from=3&limit=4", "Search"),
        ("jobs/2/cells", "Cells"),
        ("jobs/2/contributions", "Contributions"),
        ("jobs/2/parts?limit=3", "PartList"),
        ("jobs/2/parts/7?subproblem=1", "Explanation"),
        ("events?job=2", "Events"),
        ("workers?sort=speed", "Workers"),
        ("workers/first/history", "WorkerHistory"),
        ("workers/no%20such%2Fworker/history", "WorkerHistory"),
    ] {
        let answer = site.get(&format!("/api/v1/{path}"));
        assert_eq!(answer.status, 200, "{path}: {answer:?}");
        check(&document, &answer.json(), schema);
    }
    // The board is so small that its parts show nothing.
    assert_eq!(site.post("/api/v1/jobs", r#"{"n":2}"#).status, 201);
    wait_for("it to be done", || site.get("/api/v1/jobs/3").json()["state"] == "done");
    let none = site.get("/api/v1/jobs/3/cells").json();
    check(&document, &none, "Cells");
    assert_eq!(none["cells"], json!([]));
    let parts = site.get("/api/v1/jobs/2/parts?limit=1").json();
    let cells = site.get("/api/v1/jobs/2/cells").json();
    let in_cells: u64 =
        cells["cells"].as_array().expect("cells").iter().filter_map(|cell| cell["parts"].as_u64()).sum();
    assert_eq!(parts["total"], in_cells, "each part is in one cell");
    let board = site.get("/api/v1/jobs/2/parts/7/board.svg?subproblem=1");
    assert_eq!(board.header("content-type"), Some("image/svg+xml"));
    let explained = site.get("/api/v1/jobs/2/parts/7?subproblem=1").json();
    let n_queens: usize =
        ["counted", "prefix"].iter().filter_map(|part| explained[part].as_array()).map(Vec::len).sum();
    assert_eq!(board.body.matches("href=\"#queen\"").count(), n_queens);
    refused(&site.get("/api/v1/jobs/2/parts/99999"), 404);
    for board in ["13", "0", "x", "6?from=-1"] {
        refused(&site.get(&format!("/api/v1/board/{board}")), 400);
    }
    refused(&site.get("/api/v1/jobs/2/parts/7?subproblem=99999999"), 404);
    for (path, methods) in document["paths"].as_object().expect("paths") {
        let path = path.replace("{job}", "1").replace("{part}", "0").replace("{worker}", "first");
        let answer = site.request("OPTIONS", &path, &[], "");
        let allowed: BTreeSet<String> =
            answer.header("allow").expect("methods").split(',').map(str::to_lowercase).collect();
        let described = methods.as_object().expect("methods").keys().cloned();
        let described = described.chain(methods.get("get").map(|_| "head".to_owned()));
        assert_eq!(allowed, described.collect(), "{path}");
    }
}

/// A job of core-years needs a confirmation; missing fields default as in 'queens submit'.
#[test]
fn a_submission_is_what_it_is_by_the_command_line() {
    let site = Site::start();
    let refused = site.post("/api/v1/jobs", "{\"n\":28}");
    let price = "n = 28 takes some 27 to 110 core-years by halves on cores like those of an Intel Xeon with AVX-512, and \
                 more on slower ones";
    assert_eq!((refused.status, &refused.json()["confirm"]), (409, &json!(price)), "{refused:?}");
    let expected = format!("{price}; if you mean it, add \"confirm\": true (by gRPC, 'confirmed')");
    assert_eq!(refused.json()["error"], expected.as_str());
    assert_eq!(site.get("/api/v1/jobs").json()["total"], 0);
    let confirmed = site.post("/api/v1/jobs", "{\"n\":28,\"confirm\":true}");
    assert_eq!((confirmed.status, &confirmed.json()["recount"]), (201, &json!(0.01)), "{confirmed:?}");
    _ = site.post("/api/v1/jobs/1/cancel", "{}");
    for (n, recount) in [(19, 0.0), (20, 0.01)] {
        let by_http = site.post("/api/v1/jobs", &format!("{{\"n\":{n}}}")).json();
        let by_command = site.coordinator.queens(["submit", &n.to_string(), "--method", "search"]).stdout;
        let by_command = site.coordinator.status(by_command.trim());
        for job in [by_http, by_command] {
            assert_eq!((&job["n"], &job["recount"]), (&json!(n), &json!(recount)), "{job}");
        }
    }
    let said = site.post("/api/v1/jobs", "{\"n\":20,\"recount\":\"0\"}").json();
    assert_eq!(said["recount"], json!(0.0), "{said}");
}
