//! Strangers join a campaign by its link, through TLS, with the real worker, and count.

use std::fs;
use std::net::IpAddr;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

use queens_auth::{Pin, Trust};
use queens_tests::browser::Browser;
use queens_tests::http::Answer;
use queens_tests::https;
use queens_tests::prelude::*;

/// A coordinator that encrypts, with a campaign.
pub(super) struct Site {
    pub(super) guarded: Guarded,
    link: String,
    /// The line for one person.
    line: Vec<String>,
}

impl Site {
    pub(super) fn start(args: &[&str]) -> Self {
        Self::start_with(&[], args)
    }

    /// Starts a coordinator and opens a campaign, with more arguments for both.
    fn start_with(of_coordinator: &[&str], args: &[&str]) -> Self {
        let guarded = Guarded::new(of_coordinator);
        let opened = guarded.manage([&["campaign", "open"], args].concat());
        let lines: Vec<&str> = opened.stdout.lines().collect();
        let [link, line] = lines[..] else { panic!("{opened:?}") };
        assert!(line.starts_with(&format!(" queens-worker join {link} --pin sha256:")), "{line}");
        let line = line.split_whitespace().map(str::to_owned).collect();
        Self { link: link.to_owned(), line, guarded }
    }

    pub(super) fn code(&self) -> &str {
        self.link.rsplit('/').next().expect("a code")
    }

    /// Starts the worker as a person does whose home this is.
    pub(super) fn worker(&self, home: &str, args: &[&str]) -> Command {
        worker(&self.guarded.beside(home), args)
    }

    /// Returns the printed line with more arguments, for a person whose home this is.
    pub(super) fn join(&self, home: &str, more: &[&str]) -> Command {
        let mut command = self.worker(home, &[]);
        command.args(&self.line[1..]).args(more);
        command
    }

    fn n_invitations(&self) -> usize {
        let listed = self.guarded.manage(["invitations"]).stdout;
        listed.lines().filter(|line| line.contains("  worker  ")).count()
    }

    fn ask(&self, from: &str, method: &str, path: &str, kind: &str, body: &str) -> Answer {
        let from: IpAddr = from.parse().expect("an address");
        let pin = Pin::of_file(&self.guarded.keys().join("server.pem")).expect("a pin");
        let trust = Trust::pinned(&[pin]).expect("few");
        let address = self.guarded.coordinator().http();
        https::request(from, &address, &trust, (method, path), &[("Content-Type", kind)], body)
    }

    pub(super) fn post(&self, from: &str, code: &str, body: &str) -> Answer {
        self.ask(from, "POST", &format!("/api/v1/join/{code}"), "application/json", body)
    }
}

/// Returns a worker of a person whose home this is, with the slowest kernel.
fn worker(home: &Path, args: &[&str]) -> Command {
    fs::create_dir_all(home).expect("created");
    let mut command = program("queens-worker");
    command.args(args).env("HOME", home).env_remove("XDG_CONFIG_HOME");
    command.env("QUEENS_THREADS", "1").env("QUEENS_KERNEL", "portable");
    command
}

/// Starts a command whose stdout goes to a file; returns the text of the file once it has all lines of 'join'.
pub(super) fn start(mut command: Command, file: &Path) -> (Running, String) {
    command.stdin(Stdio::null()).stdout(fs::File::create(file).expect("created")).stderr(Stdio::null());
    let mut running = Running::start_redirected(&mut command);
    let said = wait_until("the end of joining", || {
        assert!(running.is_running(), "it has ended");
        fs::read_to_string(file).ok().filter(|text| text.contains("more machines"))
    });
    (running, said)
}

#[test]
fn two_strangers_join_and_check_each_other() {
    let site = Site::start(&[]);
    let operator = site.guarded.invite(["--role", "operator"]);
    let files = ["one", "other"].map(|name| site.guarded.beside(name));
    let (mut one, said) = start(site.join("a", &["--name", "anna"]), &files[0]);
    assert!(said.starts_with("you are 'anna'\n"), "{said}");
    let (other, said) = start(site.join("b", &["--name", "anna"]), &files[1]);
    assert!(said.starts_with("you are 'anna-2': 'anna' is taken\n"), "{said}");

    // They are two parties: all is counted twice.
    let submit = ["submit", "12", "--method", "search", "--recount", "100"];
    _ = site.guarded.queens(&operator, submit).good();
    let done = wait_until("the end", || {
        Some(site.guarded.json(&operator, &["status", "1"])).filter(|status| status["state"] == "done")
    });
    assert_eq!(done["solutions"], "14200", "{done}");
    assert!(done["spans_verified"].as_u64() > Some(0) || done["verified"].as_u64() > Some(0), "{done}");
    let audit = site.guarded.queens(&operator, ["audit"]).stdout;
    for who in ["(anna)", "(anna-2)"] {
        assert!(audit.lines().any(|line| line.contains(who) && line.contains("join campaign 1")), "{audit}");
    }

    // Only she can read the files, and the worker alone goes on under her name.
    let dir = site.guarded.beside("a/.config/queens");
    for (path, expected) in
        [(dir.clone(), 0o700), (dir.join("worker.toml"), 0o600), (dir.join("worker.token"), 0o600)]
    {
        let mode = fs::metadata(&path).expect("it is there").permissions().mode();
        assert_eq!(mode & 0o777, expected, "{}", path.display());
    }
    one.signal("TERM");
    assert!(one.wait_for_end().success());
    drop(other);
    let mut alone = site.worker("a", &[]);
    let _alone = Running::start_redirected(alone.stdout(Stdio::null()).stderr(Stdio::null()));
    wait_for("anna", || {
        let workers = site.guarded.json(&operator, &["workers"]);
        let is_she = |worker: &Value| worker["name"] == "anna" && worker["connected"] == true;
        workers.as_array().expect("an array").iter().any(is_she)
    });
}

#[test]
fn the_users_file_is_for_one_coordinator_and_not_overwritten() {
    let site = Site::start(&[]);
    let (running, _) = start(site.join("a", &[]), &site.guarded.beside("said"));
    drop(running);
    let n_before = site.n_invitations();
    let refused = run(site.join("a", &[]));
    assert!(refused.complaint(1).contains("--replace joins anew"), "{refused:?}");
    let nobody = run(site.join("c", &[]).env_remove("HOME"));
    assert!(nobody.complaint(1).contains("set HOME"), "{nobody:?}");
    let file = site.guarded.beside("file");
    fs::write(&file, "").expect("written");
    let full = run(site.join("c", &[]).env("XDG_CONFIG_HOME", &file));
    assert!(full.complaint(1).contains("failed to write into"), "{full:?}");
    assert_eq!(site.n_invitations(), n_before, "nothing is created that can't be kept");

    // With its token, the address without TLS would be refused.
    _ = run(site.worker("a", &["--coordinator", "http://10.0.0.1:1", "--check-config"])).good();
    _ = run(site.worker("a", &["--check-config"])).good();
    // Otherwise it is read, and a mistake in it is told.
    let toml = site.guarded.beside("a/.config/queens/worker.toml");
    let text = fs::read_to_string(&toml).expect("readable");
    fs::write(&toml, format!("{text}nonsense = 0\n")).expect("written");
    let wrong = run(site.worker("a", &["--check-config"]));
    let complaint = wrong.complaint(2);
    assert!(complaint.contains("worker.toml") && complaint.contains("no option 'nonsense'"), "{complaint}");
    let (running, said) = start(site.join("a", &["--replace"]), &site.guarded.beside("said"));
    drop(running);
    assert!(said.starts_with("you are 'volunteer-2'\n"), "{said}");
    assert_ne!(fs::read_to_string(&toml).expect("readable"), text);
}

#[test]
fn refusals_say_why_and_create_nothing() {
    let site = Site::start(&["--most-people", "6"]);
    let (here, there, yonder) = ("127.0.0.1", "127.0.0.2", "127.0.0.3");
    let code = site.code().to_owned();
    let other: String = code.chars().rev().collect();
    let anna = r#"{"name":"anna"}"#;
    let path = format!("/api/v1/join/{code}");
    let check = |answer: Answer, status: u16, reason: &str| {
        let error = answer.json()["error"].as_str().unwrap_or_default().to_owned();
        assert!(answer.status == status && error.contains(reason), "{status} {reason}: {answer:?}");
        assert!(!error.contains('\u{1b}'), "{answer:?}");
        answer.body
    };
    let long = format!(r#"{{"name":"{}"}}"#, "x".repeat(101));
    // No longer than what a connection takes without being read: the coordinator answers before the end and closes it.
    let huge = format!(r#"{{"name":"{}"}}"#, "x".repeat(1 << 15));
    for name in ["", " ", r"\u0000", r"a\u001b[2J", r"a\u200b", r"\u202eanna", r"a\nb"] {
        let body = format!(r#"{{"name":"{name}"}}"#);
        check(site.post(here, &code, &body), 400, "this can't be a name");
    }
    check(site.post(here, &code, &long), 400, "this can't be a name");
    check(site.post(here, &code, &huge), 413, "the body is longer than");
    for body in ["", "x", "[]", r#"["anna"]"#, "{}", r#"{"name":1}"#, r#"{"name":"a","role":"operator"}"#] {
        check(site.post(here, &code, body), 400, "");
    }
    check(site.ask(here, "POST", &path, "text/plain", anna), 415, "");
    let mut unknown = vec![];
    for code in [other.as_str(), "x", "%2e%2e", &"0".repeat(1000)] {
        unknown.push(check(site.post(there, code, anna), 404, "this join link is wrong"));
    }
    assert_eq!(site.n_invitations(), 0);

    // Markup is a name like any other, and the coordinator numbers names.
    for (wanted, given) in [
        ("anna", "anna"),
        ("anna", "anna-2"),
        ("<b>'\\\"", "<b>'\""),
        ("東京", "東京"),
        ("anna-2", "anna-2-2"),
    ] {
        let joined = site.post(here, &code, &format!(r#"{{"name":"{wanted}"}}"#));
        assert_eq!((joined.status, joined.header("cache-control")), (201, Some("no-store")), "{joined:?}");
        let told = joined.json();
        assert_eq!(told["name"], given, "{told}");
        assert_eq!(told["coordinator"].as_str(), Some(site.guarded.url().as_str()), "{told}");
        assert!(told["token"].as_str().is_some_and(|token| token.starts_with("queens_")), "{told}");
    }
    let sixth = site.post(here, &code, anna);
    assert_eq!(sixth.header("retry-after"), Some("3600"), "{sixth:?}");
    check(sixth, 429, "5 people have joined from your address or network");
    assert_eq!(site.post(there, &code, anna).status, 201);
    check(site.post(yonder, &code, anna), 409, "6 people have joined this campaign");
    assert_eq!(site.n_invitations(), 6);

    let page = site.ask(here, "GET", &format!("/join/{code}"), "text/plain", "");
    let policy = page.header("content-security-policy").unwrap_or_default();
    assert!(page.status == 200 && policy.starts_with("default-src 'none'"), "{page:?}");
    assert!(page.body.contains(&format!("queens-worker join {}", site.link)), "{}", page.body);
    assert!(!page.body.contains("anna"), "{}", page.body);
    let closed = site.guarded.manage(["campaign", "close", &code]).stdout;
    assert!(closed.contains("the invitations of 6 people stay"), "{closed}");
    unknown.push(check(site.post(yonder, &code, anna), 404, "this join link is wrong"));
    assert!(unknown.windows(2).all(|two| two[0] == two[1]), "{unknown:?}");
    let pages = [&code, &other].map(|code| {
        let mut page = String::new();
        wait_for("the end of the page", || {
            let answer = site.ask(yonder, "GET", &format!("/join/{code}"), "text/plain", "");
            page = answer.body;
            answer.status == 404
        });
        page
    });
    assert!(pages[0] == pages[1] && pages[0].contains("Nobody can join here"), "{}", pages[0]);
    assert_eq!(site.n_invitations(), 6);
    let refused = run(site.join("a", &["--name", "bert"]));
    assert!(refused.complaint(1).contains("this join link is wrong"), "{refused:?}");
    assert!(!site.guarded.beside("a/.config/queens/worker.toml").exists());
    let untrusted = run(site.worker("a", &["join", &site.link]));
    assert!(untrusted.complaint(1).contains("it is not known to be the coordinator"), "{untrusted:?}");

    // The place of one who is revoked is free, under the link that everybody has.
    site.guarded.manage(["revoke", "1"]);
    let reopened = site.guarded.manage(["campaign", "reopen", &code, "--expires", "12h"]).stdout;
    assert_eq!(reopened, "1  open for 12 h  5 of 6 people  10 names each\n");
    assert_eq!(site.post(yonder, &code, anna).status, 201);
    check(site.post(yonder, &code, anna), 409, "6 people have joined this campaign");
}

/// A link of a standby leads to the leader, and all coordinators of a database know the campaign.
#[test]
fn a_stranger_joins_at_any_coordinator_of_a_database() {
    let Some((_postgres, address)) = Postgres::with_database("fsync = off", "campaign") else { return };
    let scratch = TempDir::new();
    let manage = |args: &[&str]| queens_coordinator(&[args, &["--store", &address]].concat()).good().stdout;
    let leader = Guarded::new(&["--store", &address]);
    // A standby does not listen as the leader does: it only redirects.
    let keys = scratch.join("keys");
    certs(&keys, &[]);
    let mut command = with_store("127.0.0.1:0", &scratch.join("second"), &address);
    command.args(["--http", "127.0.0.1:0"]);
    tls_args(&mut command, &keys);
    let mut standby = Service::start(command, &scratch.join("second.log"));
    let pages = standby.logged("dashboard url=").trim_matches(['"', '/']).to_owned();
    let both = wait_until("both pins", || {
        let line = manage(&["invite", "--role", "viewer"]);
        let pins = line.split_whitespace().find(|word| word.starts_with("sha256:"))?.to_owned();
        pins.contains(',').then_some(pins)
    });
    let opened = manage(&["campaign", "open", "--names-each", "2"]);
    let code = code_in(&opened);
    let file = scratch.join("said");
    let link = format!("{pages}/join/{code}");
    let command = worker(&scratch.join("home"), &["join", &link, "--pin", &both, "--name", "anna"]);
    let (_running, said) = start(command, &file);
    assert!(said.starts_with("you are 'anna'\n") && said.contains(&leader.url()), "{said}");
    let listed = || manage(&["campaign", "list"]);
    assert!(listed().contains("1 of 1000 people  2 names each"), "{}", listed());
    let closed = manage(&["campaign", "close", "--all"]);
    assert!(closed.contains("the invitation of 1 person stays"), "{closed}");
    let refused = run(worker(
        &scratch.join("other"),
        &["join", &format!("https://{}/join/{code}", leader.coordinator().http()), "--pin", &both],
    ));
    assert!(refused.complaint(1).contains("this join link is wrong"), "{refused:?}");
    assert!(manage(&["campaign", "close", "--all"]).contains("no campaign is open"));
}

/// The impacts of all rules.
const ALL: [&str; 4] = ["minor", "moderate", "serious", "critical"];

#[test]
fn the_page_fits_narrow_and_dark_screens_and_keeps_nobody_out() {
    let about = "https://queens.example.org/get?os=any&v=1";
    let pages = "https://queens.example.org:8443";
    let image = ["--image", "ghcr.io/example/queens"];
    let args = ["--url", "https://queens.example.org:443", "--pages-url", pages, "--about-url", about];
    let args = [&args[..], &image].concat();
    let behind = Behind::new(&args);
    let site = format!("http://{}", behind.coordinator().http());
    let operator = behind.token("operator");
    let body = r#"{"n":22,"method":"halves"}"#;
    let submitted = behind.ask(&operator, "POST", "/api/v1/jobs", body);
    assert_eq!(submitted.status, 201, "{submitted:?}");
    let opened = behind.manage(["campaign", "open", "1"]).stdout;
    let link = opened.lines().next().expect("a link").to_owned();
    let path = link.strip_prefix(pages).expect("a path").to_owned();
    let Some(browser) = Browser::open("the page of a campaign", &site) else { return };
    for (name, path, status) in
        [("join", path.as_str(), "Lend your"), ("join-closed", "/join/0", "Nobody can join")]
    {
        browser.go(path);
        browser.wait_for("h1", status);
        browser.keep(name, &[360, 768, 1280]);
        assert_eq!(browser.violations(&ALL).unwrap_or_default(), [""; 0], "{name}");
    }
    browser.go(&path);
    let facts = browser.text("dl");
    assert!(facts.contains("22 queens on 22×22 squares") && facts.contains("halves"), "{facts}");
    let text = browser.text("main");
    assert!(text.contains(&format!("Get queens-worker from {about}.")), "{text}");
    assert_eq!(browser.eval("document.querySelector('main a').href"), about);
    // One click selects a whole line.
    browser.click(".line");
    let line = browser.text(".line");
    assert_eq!(line, format!("queens-worker join {link}"));
    assert_eq!(browser.eval("getComputedStyle(document.querySelector('.line')).userSelect"), "all");
    browser.click("button.copy");
    browser.wait_for("button.copy", "Copied");
    assert_eq!(browser.eval("document.querySelector('progress').value < 1"), true);
    browser.click("summary");
    let docker = "[...document.querySelectorAll('.line')].at(-1).innerText";
    let docker = browser.eval(docker).to_string();
    assert!(
        docker.contains(&format!("--entrypoint /queens-worker ghcr.io/example/queens join {link}")),
        "{docker}"
    );
    let complaints = browser.complaints();
    let others = complaints.iter().filter(|one| !one.contains("/join/0 - Failed to load resource"));
    assert_eq!(others.collect::<Vec<_>>(), [""; 0]);
}

/// The person types the line that the page shows, and follows the page's links.
#[test]
fn a_person_comes_from_the_link_to_a_page_of_their_own() {
    let site = Site::start_with(&["--public"], &[]);
    let operator = site.guarded.invite(["--role", "operator"]);
    let queens = |args: &[&str]| assert!(site.guarded.queens(&operator, args).status.success(), "{args:?}");
    queens(&["submit", "14"]);
    queens(&["submit", "24"]);
    let origin = site.link.split("/join").next().expect("an origin");
    let Some(browser) = Browser::open("the public pages", origin) else { return };
    browser.go(&format!("/join/{}", site.code()));
    browser.wait_for("h1", "Lend your");
    let line = browser.text(".line");
    let words = line.split_whitespace().skip(1).chain(["--name", "anna <b>&"]);
    let command = site.worker("a", &words.collect::<Vec<_>>());
    let (_worker, _) = start(command, &site.guarded.beside("said"));
    browser.click("a[href='/people']");
    browser.wait_for("h1", "People");
    let mut n_tries = 0;
    // All of the first board; the second one has just begun.
    let found =
        "Number(document.querySelector('td[data-label^=Solutions]')?.innerText.replaceAll(',', '') ?? 0)";
    wait_for("her solutions", || {
        // Another address each time: the browser keeps a page for a minute.
        n_tries += 1;
        browser.go(&format!("/people?try={n_tries}"));
        browser.eval(found).as_u64() >= Some(365_596)
    });
    browser.click("td[data-label=Name] a");
    browser.wait_for("h1", "anna <b>&");
    let facts = browser.text("dl");
    assert!(facts.contains("1 of 1") && facts.contains("Solutions found"), "{facts}");
    browser.wait_until("the badge", "document.querySelector('main img').naturalWidth > 100");
    assert_eq!(browser.eval("document.querySelectorAll('main svg path.curve').length"), 1);
    let embed = browser.text(".line");
    assert!(embed.contains("/people/anna%20%3Cb%3E%26/badge.svg\" alt="), "{embed}");
    let person = browser.eval("location.pathname").as_str().expect("a path").to_owned();
    for (name, path) in [("public", "/public"), ("people", "/people"), ("person", &*person)] {
        browser.go(path);
        browser.keep(name, &[360, 768, 1024, 1280]);
        assert_eq!(browser.violations(&ALL).unwrap_or_default(), [""; 0], "{name}");
    }
    assert_eq!(browser.complaints(), [""; 0]);
}

/// Without a URL of the coordinator, workers would not find it; without tokens, anybody may count.
#[test]
fn a_campaign_needs_a_coordinator_that_people_can_find() {
    let behind = Behind::new(&[]);
    let data_dir = utf8(behind.data_dir());
    let refused = queens_coordinator(&["campaign", "open", "--data-dir", data_dir]);
    assert!(refused.complaint(1).contains("start it with --url"), "{refused:?}");
    let unknown = queens_coordinator(&["campaign", "close", "7", "--data-dir", data_dir]);
    assert!(unknown.complaint(1).contains("there is no such campaign"), "{unknown:?}");
    assert!(behind.manage(["campaign", "list"]).stdout.contains("there are no campaigns"));
}
