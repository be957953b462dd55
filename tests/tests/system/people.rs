//! Everybody sees what people have counted, by pages, badges and JSON; a worker sees its own numbers.

use std::fs;
use std::path::Path;
use std::process::Command;

use queens_tests::http::Answer;
use queens_tests::prelude::*;

const NAMES: [&str; 6] = [
    "<script>alert('x')</script>",
    "a/../b",
    "..",
    "100% \"q\" &amp;",
    "{facts}",
    "\u{265b} \u{738b}\u{540e}",
];

/// The texts that nobody may see: names of workers.
const SECRETS: [&str; 2] = ["rack-secret-7", "operators-box"];

/// Where people find the pages.
const PAGES: &str = "https://queens.example.org:8443";

/// A coordinator with public pages and a campaign.
struct Site {
    behind: Behind,
    operator: String,
    code: String,
}

impl Site {
    fn start(data_dir: &Path, store: &[&str], args: &[&str]) -> Self {
        let urls = ["--url", "https://queens.example.org:443", "--pages-url", PAGES];
        let behind = Behind::start(data_dir, &[&urls, store, args].concat());
        let code = code_in(&behind.manage(["campaign", "open"]).stdout).to_owned();
        Self { operator: behind.token("operator"), behind, code }
    }

    fn http(&self) -> String {
        self.behind.coordinator().http()
    }

    fn get(&self, path: &str) -> Answer {
        http::request(&self.http(), "GET", path, &[("Accept", "text/html")], "")
    }

    fn api(&self, path: &str) -> Value {
        let answer = http::get(&self.http(), &format!("/api/v1{path}"));
        assert_eq!(answer.status, 200, "{path}: {answer:?}");
        answer.json()
    }

    /// Joins and returns the token.
    fn join(&self, name: &str) -> String {
        join(&self.http(), &self.code, name)
    }

    fn worker(&self, token: &str, name: &str, home: &Path) -> Running {
        let mut command = command(home);
        command.args(["--coordinator", &self.behind.coordinator().url(), "--name", name, "--threads", "1"]);
        command.env("QUEENS_TOKEN", token).env("QUEENS_KERNEL", "portable");
        Running::start_silent(command)
    }

    fn submit(&self, body: &Value) {
        let submitted = self.behind.ask(&self.operator, "POST", "/api/v1/jobs", &body.to_string());
        assert_eq!(submitted.status, 201, "{submitted:?}");
    }

    /// Waits until everybody together has found so many solutions; returns the summary.
    fn wait_for_solutions(&self, solutions: u64) -> Value {
        let expected = solutions.to_string();
        wait_until("the sums", || {
            Some(self.api("/public")).filter(|summary| summary["all"]["solutions"] == expected.as_str())
        })
    }
}

fn command(home: &Path) -> Command {
    fs::create_dir_all(home).expect("created");
    let mut command = program("queens-worker");
    command.env("HOME", home).env("XDG_RUNTIME_DIR", home).env_remove("XDG_CONFIG_HOME");
    command
}

fn number(value: &Value) -> u64 {
    value.as_str().map_or_else(|| value.as_u64(), |digits| digits.parse().ok()).expect("a number")
}

/// Returns the person's sums, which records alone decide.
fn sums(person: &Value) -> Value {
    let names = [
        "name",
        "core_hours",
        "solutions",
        "records",
        "confirmed",
        "recounts",
        "search_work",
        "halves_work",
        "curve",
    ];
    names.into_iter().map(|name| (name.to_owned(), person[name].clone())).collect()
}

#[test]
fn everybody_sees_what_people_have_counted_and_no_machines() {
    check_sums(&[]);
}

#[test]
fn a_database_tells_the_same() {
    let Some(postgres) = Postgres::start("fsync = off") else { return };
    check_sums(&["--store", &postgres.database("people")]);
}

fn check_sums(store: &[&str]) {
    let scratch = TempDir::new();
    let data_dir = scratch.join("data");
    let site = Site::start(&data_dir, store, &["--public"]);
    let (anna, bert) = (site.join("anna"), site.join("bert"));
    let home = scratch.join("home");
    let others = site.behind.token("worker");
    let workers = [
        site.worker(&anna, SECRETS[0], &home),
        site.worker(&bert, "bert", &home.join("bert")),
        site.worker(&others, SECRETS[1], &home.join("others")),
    ];
    site.submit(&json!({ "n": 12, "method": "search", "recount": "100" }));
    let one = site.wait_for_solutions(14_200);
    assert_eq!((&one["jobs"][0]["solutions"], &one["n_people"]), (&json!("14200"), &json!(2)), "{one}");
    // Both passes count.
    site.submit(&json!({ "n": 10, "method": "halves", "second_pass": "search" }));
    let two = site.wait_for_solutions(14_200 + 2 * 724);
    let all = &two["all"];
    assert!(number(&all["halves_work"]) > 0 && number(&all["search_work"]) > 0, "{two}");
    assert_eq!(
        (number(&all["confirmed"]), number(&all["recounts"])),
        (number(&one["all"]["records"]), number(&one["all"]["recounts"])),
        "{one} {two}"
    );
    let people = site.api("/people");
    let listed = people["people"].as_array().expect("a list").iter().chain([&two["others"]]);
    for what in ["solutions", "records", "confirmed", "recounts", "search_work", "halves_work"] {
        let sum: u64 = listed.clone().map(|one| number(&one[what])).sum();
        assert_eq!(sum, number(&all[what]), "{what}: {people} {two}");
    }
    // Her own worker knows the same.
    let own = wait_until("own numbers", || {
        let mut asked = command(&home);
        asked.args(["status", "--name", SECRETS[0], "--output", "json"]);
        Some(run(asked).answer()["own"].clone())
            .filter(|own| own["at_ms"].as_u64() >= two["as_of_ms"].as_u64())
    });
    let person = site.api("/people/anna");
    for what in ["core_hours", "solutions", "records", "confirmed", "recounts", "rank", "share", "since_ms"] {
        assert_eq!(own[what], person[what], "{what}: {own} {person}");
    }
    assert_eq!(own["people"], 2, "{own}");
    drop(workers);
    // They outlive a restart, and so does the curve.
    drop(site);
    let site = Site::start(&data_dir, store, &["--public"]);
    site.wait_for_solutions(14_200 + 2 * 724);
    assert_eq!(sums(&site.api("/people/anna")), sums(&person));
    for name in NAMES {
        site.join(name);
    }
    wait_for("all of them", || site.api("/people")["n_people"] == 2 + NAMES.len());
    check_names(&site);
    // A revoked name is gone, and its counts are those of others.
    let number_of = |who: &str| {
        let invitations = site.behind.manage(["invitations"]).stdout;
        let line =
            invitations.lines().find(|line| line.contains(&format!("'{who}'"))).expect("invited").to_owned();
        line.split_whitespace().next().expect("a number").to_owned()
    };
    site.behind.manage(["revoke", &number_of("anna")]);
    wait_for("the end of the name", || site.get("/people/anna").status == 404);
    let three = site.api("/public");
    assert_eq!(three["all"], two["all"]);
    assert_eq!(
        number(&three["others"]["records"]),
        number(&two["others"]["records"]) + number(&person["records"])
    );
    assert!(!site.get("/people").body.contains("anna"));
}

/// Every name is shown as it is, and harmless, in each kind of answer.
fn check_names(site: &Site) {
    let mut all =
        [site.get("/public").body, site.get("/people").body, site.api("/people").to_string()].concat();
    let list = site.get("/people").body;
    let links: Vec<&str> = list
        .split("<a href=\"")
        .skip(1)
        .filter_map(|rest| rest.split('"').next())
        .filter(|link| link.starts_with("/people/"))
        .collect();
    assert_eq!(links.len(), 2 + NAMES.len(), "{list}");
    let mut names = vec![];
    for link in links {
        let (page, badge) = (site.get(link), site.get(&format!("{link}/badge.svg")));
        assert_eq!((page.status, badge.status), (200, 200), "{link}");
        assert_eq!(badge.header("content-type"), Some("image/svg+xml"));
        assert_eq!(badge.header("cross-origin-resource-policy"), Some("cross-origin"));
        assert_eq!(page.header("cross-origin-resource-policy"), Some("same-origin"));
        assert_eq!(page.header("cache-control"), Some("public, max-age=60"));
        // A cache may show it to all: it has the published host, not that of the request.
        let embed = format!("{PAGES}{link}/badge.svg");
        assert!(page.body.contains(&embed) && !page.body.contains(&site.http()), "{embed}: {page:?}");
        let known = page.header("etag").expect("a tag").to_owned();
        let again = http::request(&site.http(), "GET", link, &[("If-None-Match", &*known)], "");
        // Another ranking may differ by a moment.
        assert!(
            again.status == 304 && again.body.is_empty() || again.header("etag") != Some(&known),
            "{again:?}"
        );
        names.push(site.api(link)["name"].as_str().expect("a name").to_owned());
        let shown =
            names.last().expect("one").replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
        let shown = shown.replace('"', "&quot;").replace('\'', "&#39;");
        assert!(page.body.contains(&format!("<h1><bdi>{shown}</bdi></h1>")), "{page:?}");
        all += &[page.body, badge.body, site.api(link).to_string()].concat();
    }
    for name in NAMES.into_iter().chain(["anna", "bert"]) {
        assert!(names.iter().any(|known| known == name), "{name}: {names:?}");
    }
    let scripts = all.matches("<script>").count();
    // In JSON, a name is what it is: browsers do not take it for a page.
    assert_eq!(scripts, site.api("/people").to_string().matches("<script>").count() + 1, "{all}");
    for secret in SECRETS {
        assert!(!all.contains(secret), "{secret}: {all}");
    }
}

#[test]
fn nothing_is_public_unless_the_operator_says_so() {
    let scratch = TempDir::new();
    let site = Site::start(&scratch.join("data"), &[], &[]);
    _ = site.join("anna");
    for path in ["/public", "/people", "/people/anna", "/people/anna/badge.svg", "/people/bert"] {
        let page = site.get(path);
        assert_eq!(page.status, 404, "{path}: {page:?}");
        assert!(page.body.contains("--public") && !page.body.contains("anna"), "{page:?}");
    }
    for path in ["/api/v1/public", "/api/v1/people", "/api/v1/people/anna"] {
        let answer = http::get(&site.http(), path);
        assert_eq!(
            (answer.status, &answer.json()["error"]),
            (
                404,
                &json!(
                    "This coordinator shows nothing in public. Its operator can, by starting it with --public."
                )
            )
        );
        assert_eq!(http::post(&site.http(), path, "{}").status, 401, "{path}");
    }
    let page = site.get(&format!("/join/{}", site.code));
    assert!(page.status == 200 && !page.body.contains("/people"), "{page:?}");
    let wrong = queens_coordinator(&["--public", "--data-dir", utf8(&scratch.join("other"))]);
    assert!(wrong.complaint(2).contains("--http"), "{wrong:?}");
}
