//! The coordinator's pages in a real browser.

use std::time::Instant;

use queens_tests::browser::Browser;
use queens_tests::prelude::*;

/// A board that takes any machine here some hours.
const LONG: &str = "22";

/// The widths of the narrowest and the widest window.
const WIDTHS: [u32; 2] = [360, 1920];

fn submit(browser: &Browser, n: &str, job: u32) {
    browser.keys("#submit input[name=n]", n);
    browser.click("#submit button");
    browser.wait_for("#said", "is submitted");
    browser.wait_for(&format!("#job-{job}"), &format!("job {job}"));
    _ = browser.eval("document.querySelector('#submit').reset()");
}

/// Submits it by a method, which is not the one that it would be counted by.
fn submit_by(browser: &Browser, method: &str, n: &str, job: u32) {
    _ = browser.eval(&format!("document.querySelector('#submit select[name=method]').value = {method:?}"));
    submit(browser, n, job);
}

/// Clicks the button with this label in a job's row or page.
fn press(browser: &Browser, label: &str) {
    browser.click(&format!("button[aria-label={label:?}]"));
}

/// Shares and times look like those of the command line.
fn check_numbers(browser: &Browser) {
    _ = browser.eval("import('/assets/page.js').then((page) => { window.page = page; })");
    browser.wait_until("the module", "window.page !== undefined");
    let shares = "[0, 1e-9, 0.000031, 0.00319, 0.07, 0.14159, 0.9999999, 1].map(window.page.percent)";
    let expected = ["0 %", "<0.0001 %", "0.0031 %", "0.31 %", "7.00 %", "14.1 %", "99.9 %", "100 %"];
    assert_eq!(browser.eval(shares), json!(expected));
    assert_eq!(browser.eval("window.page.doneAt(1000, 3000)"), json!(""));
    let done = browser.eval("window.page.doneAt(7200, 9000)");
    assert!(done.as_str().is_some_and(|done| done.starts_with(", done ")), "{done}");
}

/// One browser shows one coordinator after the other.
#[test]
fn what_happens_is_seen() {
    let Some(mut browser) = Browser::open("what happens in a cluster", "") else { return };
    for check in [
        a_count_is_seen_from_its_beginning_to_its_end,
        the_parts_of_halves_are_shown,
        a_restart_is_a_gap_in_the_curve,
        a_party_that_alone_counts_again_is_named_on_the_page,
    ] {
        check(&mut browser);
    }
}

fn a_count_is_seen_from_its_beginning_to_its_end(browser: &mut Browser) {
    let Scenario { scratch: _scratch, data_dir, coordinator } = Scenario::with_http();
    let site = coordinator.http();
    browser.visit(&format!("http://{site}"));
    let _first = coordinator.worker("first");

    // A count from its submission to the right number.
    browser.go("/");
    browser.wait_for("#connection", "live");
    browser.wait_for("#none", "no jobs");
    unfold(browser);
    browser.wait_for("#store", "sqlite");
    browser.wait_for("#doing", "1 worker, 1 thread: ");
    browser.wait_until("no way to start one", "document.querySelector('#start').hidden");
    submit(browser, "13", 1);
    browser.wait_for("#job-1", "73,712");
    browser.wait_for("#job-1", "agrees with the published count");
    browser.wait_for("#job-1", "100 %");

    check_numbers(browser);

    // A job of core-years needs a confirmation, which names the cost.
    browser.keys("#submit input[name=n]", "28");
    browser.click("#submit button");
    browser.wait_for("dialog", "n = 28 takes some 27 to 110 core-years by halves");
    browser.keep("confirm", &WIDTHS);
    assert_eq!(browser.eval("document.querySelector('dialog button').className"), "main");
    browser.click("dialog button[value=no]");
    browser.wait_until("no dialog", "document.querySelector('dialog') === null");
    assert_eq!(browser.text("#said"), "", "going back says nothing");
    assert_eq!(http::get(&site, "/api/v1/jobs").json()["total"], 1);
    _ = browser.eval("document.querySelector('#submit').reset()");

    // Pause and resume.
    let second = coordinator.worker("second");
    submit_by(browser, "search", LONG, 2);
    browser.wait_for("#job-2", "running");
    press(browser, "Pause job 2");
    browser.wait_for("#job-2", "paused");
    assert_eq!(http::get(&site, "/api/v1/jobs/2").json()["state"], "paused");
    press(browser, "Resume job 2");
    browser.wait_for("#job-2", "running");
    browser.wait_for("#events", "resumed");
    press(browser, "Set the priority of job 2");
    _ = browser.eval("document.querySelector('dialog input').value = ''");
    browser.keys("dialog input", "7");
    browser.click("dialog button[value=yes]");
    browser.wait_for("#job-2 .said", "has priority 7");
    wait_for("the priority", || http::get(&site, "/api/v1/jobs/2").json()["priority"] == 7);
    browser.keep("jobs", &WIDTHS);

    // A worker leaves.
    browser.go("/workers");
    browser.wait_for("#workers", "first");
    browser.wait_for("#workers", "second");
    browser.wait_for("#workers", "portable");
    browser.wait_for("#workers", "job 2, part");
    browser.keep("workers", &WIDTHS);
    second.kill();
    browser.wait_until("it to go", "!document.querySelector('#workers').innerText.includes('second')");
    browser.wait_for("#workers", "first");
    press(browser, "Block first");
    browser.click("dialog button[value=yes]");
    browser.wait_for("#blocked", "first");
    browser.wait_for("#workers", "blocked");
    browser.click("#blocked button");
    browser.wait_until("no blocked names", "document.querySelector('#blocked-part').hidden");

    // One job: the map by keyboard, events, the curve.
    browser.go("/jobs/2");
    browser.wait_for("#title", "Job 2: 22 queens");
    browser.wait_for("#events", "second was given up");
    browser.wait_for("#events", "free for others");
    browser.wait_until("the map", "document.querySelectorAll('#heat button').length > 20");
    browser.keys("#heat button[tabindex='0']", "\u{e014}");
    browser.wait_for("#heat-cell", "subproblems in");
    assert_eq!(
        browser.eval("document.activeElement === document.querySelector('#heat button[tabindex=\"0\"]')"),
        true
    );
    browser.keys("#heat button[tabindex='0']", "\u{e007}");
    browser.wait_for("#parts", "part ");
    browser.wait_until("the curve", "document.querySelector('#chart .curve') !== null");
    browser.keep("job", &WIDTHS);

    // The coordinator stops, and returns.
    let recorded = http::get(&site, "/api/v1/jobs/2").json()["recorded"].clone();
    let ports = coordinator.ports();
    coordinator.kill();
    browser.wait_for("#connection", "connection lost, reconnecting; as of ");
    let is_old = "document.querySelector('main').classList.contains('old')";
    browser.wait_until("what is shown to be dimmed", is_old);
    let _coordinator = Coordinator::start_with_http_on(ports, &data_dir);
    browser.wait_for("#connection", "live");
    browser.wait_until("what is shown to be live", &format!("!{is_old}"));
    browser.wait_for("#events", "first joined");
    let more = |now: &Value| now.as_str().map(str::len) >= recorded.as_str().map(str::len);
    wait_for("it to go on", || more(&http::get(&site, "/api/v1/jobs/2").json()["recorded"]));
    browser.wait_for("#state", "running");

    // The explanation of a part, and of one of its subproblems.
    let counting = wait_until("what the worker counts", || {
        let worker = http::get(&site, "/api/v1/workers").json()["workers"][0]["counting"].clone();
        worker.is_object().then_some(worker)
    });
    browser.go(&format!("/jobs/2/parts/{}", counting["part"]));
    browser.wait_for("#title", "of job 2: 22 queens");
    browser.wait_for("#weight", "it represents");
    browser.wait_until("the board", "document.querySelector('#board').naturalWidth > 300");
    browser.keep("part", &WIDTHS);

    // The browser reports only the confirmed dialogs.
    let expected = ["/api/v1/jobs - Failed to load resource: the server responded with a status of 409"];
    let other = |line: &String| expected.iter().all(|expected| !line.contains(expected));
    let complaints: Vec<String> = browser.complaints().into_iter().filter(other).collect();
    assert_eq!(json!(complaints), json!([]));

    // Cancel, after a question.
    browser.go("/");
    browser.wait_for("#job-2", "running");
    press(browser, "Cancel job 2");
    assert_eq!(browser.eval("document.querySelector('dialog button').className"), "danger");
    browser.click("dialog button[value=no]");
    press(browser, "Cancel job 2");
    browser.click("dialog button[value=yes]");
    browser.wait_for("#job-2", "cancelled");
    browser.wait_for("#job-2 .said", "is cancelled");
    assert_eq!(http::get(&site, "/api/v1/jobs/2").json()["state"], "cancelled");
}

/// Opens all that is folded.
fn unfold(browser: &Browser) {
    browser.run("document.querySelectorAll('details').forEach((one) => { one.open = true; })");
}

/// A job by half boards: its method, its map, its parts and the picture of one, with the columns of a subproblem.
fn the_parts_of_halves_are_shown(browser: &mut Browser) {
    let Scenario { scratch: _scratch, coordinator, .. } = Scenario::with_http();
    let site = coordinator.http();
    browser.visit(&format!("http://{site}"));
    browser.go("/");
    browser.keys("#submit [name=n]", "13");
    _ = browser.eval("document.querySelector('#submit [name=method]').value = 'halves'");
    browser.click("#submit button");
    browser.wait_for("#job-1", "halves");
    browser.wait_for("#job-1", "waits for a worker");
    let _worker = coordinator.worker("anna");
    browser.go("/jobs/1");
    browser.wait_for("#state", "done");
    browser.wait_for("#method", "halves");
    unfold(browser);
    browser.wait_for("#nodes-title", "Units of work");
    browser.wait_for("#work-title", "Units of work");
    browser.wait_for("#unit", "can't be compared with the nodes of a search");
    browser.wait_until("the map", "document.querySelectorAll('#heat button').length > 6");
    browser.keys("#heat button[tabindex='0']", "\u{e007}");
    browser.wait_for("#parts", "part ");
    browser.wait_for("#parts", "upper half: ");
    browser.keep("halves", &WIDTHS);
    browser.go("/jobs/1/parts/0?subproblem=1");
    browser.wait_for("#title", "Part 0 of job 1: 13 queens");
    browser.wait_for("#columns", "(subproblem 1)");
    browser.wait_until("the board", "document.querySelector('#board').naturalWidth > 300");
    browser.wait_for("#nodes-title", "Units of work counted");
    browser.wait_for("#work", " units");
    let alt = browser.eval("document.querySelector('#board').alt");
    let alt = alt.as_str().expect("text");
    assert!(alt.contains("upper half: ") && alt.contains("; lower half: "), "{alt}");
    browser.keep("part", &WIDTHS);
    // The worker's current part is of half boards, and its speed is not in nodes.
    browser.go("/");
    browser.keys("#submit [name=n]", LONG);
    _ = browser.eval("document.querySelector('#submit [name=method]').value = 'halves'");
    browser.click("#submit button");
    browser.wait_for("#job-2", "running");
    browser.go("/workers");
    browser.wait_for("#workers", "job 2, part ");
    browser.wait_for("#doing", "units/s");
    browser.go("/jobs/2");
    browser.wait_for("#now", "units/s");
    assert_eq!(json!(browser.complaints()), json!([]));
}

fn a_restart_is_a_gap_in_the_curve(browser: &mut Browser) {
    let Scenario { scratch: _scratch, data_dir, coordinator } = Scenario::with_http();
    let site = coordinator.http();
    let _worker = coordinator.worker("anna");
    let job = coordinator.submit(LONG.parse().expect("a number"));
    browser.visit(&format!("http://{site}"));
    browser.go(&format!("/jobs/{job}"));
    browser.wait_until("a curve", "document.querySelector('#chart .curve') !== null");
    let n_points =
        "[...document.querySelectorAll('#chart .curve')].at(-1).getAttribute('d').split('L').length";
    browser.wait_until("more of it", &format!("{n_points} > 5"));
    assert_eq!(browser.eval("document.querySelectorAll('#chart .gap').length"), 0);

    let ports = coordinator.ports();
    coordinator.stop();
    let stopped = Instant::now();
    browser.wait_for("#connection", "connection lost, reconnecting");
    wait_for("a gap of some seconds", || stopped.elapsed().as_secs() >= 4);
    let _coordinator = Coordinator::start_with_http_on(ports, &data_dir);
    browser.wait_for("#connection", "live");
    browser.wait_until("the gap", "document.querySelectorAll('#chart .gap').length === 1");
    browser.wait_until("the curve to go on", &format!("{n_points} > 5"));
    assert_eq!(browser.eval("document.querySelectorAll('#chart .curve').length"), 2);
    assert!(
        browser.eval("document.querySelector('#chart').ariaLabel").to_string().contains("not measured once")
    );
    browser.wait_for("#events", "submitted for n = 22");
    browser.keep("restarted", &WIDTHS);
}

/// A named party alone recounts, and the job's page names it. An invalid name stands for nobody.
fn a_party_that_alone_counts_again_is_named_on_the_page(browser: &mut Browser) {
    let Scenario { scratch: _scratch, coordinator, .. } = Scenario::with_http();
    let site = coordinator.http();
    browser.visit(&format!("http://{site}"));
    let _first = coordinator.worker("anna");
    browser.go("/");
    let fill = |party: &str| {
        _ = browser.eval("document.querySelector('#submit').reset()");
        browser.keys("#submit [name=n]", "12");
        unfold(browser);
        browser.keys("#submit [name=recount]", "100");
        browser.keys("#submit [name=recount_by]", party);
        browser.keep("recount-by", &WIDTHS);
        browser.click("#submit button");
    };
    // A character that reverses the writing direction.
    fill("ca\u{202e}rol");
    browser.wait_for("#said", "Not done: who counts again: ");
    assert_eq!(http::get(&site, "/api/v1/jobs").json()["jobs"], json!([]));
    fill(" carol ");
    browser.wait_for("#said", "is submitted");
    let job = || http::get(&site, "/api/v1/jobs/1").json();
    assert_eq!(job()["recount_by"], "the name that was given");
    browser.go("/jobs/1");
    browser.wait_for("#waits", "a worker of the name that was given that can count by search");
    browser.wait_for("#checked", "only the name that was given recounts");
    unfold(browser);
    browser.wait_for("#identity", job()["identity"].as_str().expect("an identity"));
    browser.keep("job-recount-by", &WIDTHS);
    // Another party does not help.
    let _other = coordinator.worker("bert");
    wait_until("bert", || {
        let workers = http::get(&site, "/api/v1/workers").json();
        (workers["workers"].as_array()?.len() == 2).then_some(())
    });
    assert_eq!((&job()["state"], &job()["verified"]), (&json!("verifying"), &json!(0)));
    let _named = coordinator.worker("carol");
    browser.wait_for("#state", "done");
    browser
        .wait_for("#proof", "all records recounted by another party; no lie of one party would have passed");
    assert!(job()["verified"].as_u64().is_some_and(|n| n > 0), "{}", job());
    assert_eq!(
        json!(browser.complaints().into_iter().filter(|line| !line.contains("400")).collect::<Vec<_>>()),
        json!([])
    );
}
