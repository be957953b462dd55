//! The lists of the coordinator's pages, a worker's page, and missing pages, by HTTP and in a real browser.

use queens_tests::browser::{Browser, Viewport};
use queens_tests::http::Answer;
use queens_tests::prelude::*;

/// The widths of windows.
const WIDTHS: [u32; 5] = [360, 480, 768, 1280, 1920];

/// A browser's header when a person opens a page.
const OF_A_PERSON: (&str, &str) = ("Accept", "text/html,application/xhtml+xml,*/*;q=0.8");

fn page(site: &str, path: &str) -> Answer {
    http::request(site, "GET", path, &[OF_A_PERSON], "")
}

#[test]
fn what_is_not_there_is_told_on_a_page_or_as_json() {
    let Scenario { scratch: _scratch, coordinator, .. } = Scenario::with_http();
    let site = coordinator.http();
    for (path, title) in [
        ("/nowhere", "No such page"),
        ("/jobs/1/nowhere", "No such page"),
        ("/jobs/7", "No such job"),
        ("/workers/nobody", "No such worker"),
        ("/workers/%3Cscript%3E", "No such worker"),
    ] {
        let answer = page(&site, path);
        assert_eq!(
            (answer.status, answer.header("content-type")),
            (404, Some("text/html; charset=utf-8")),
            "{path}"
        );
        assert!(answer.body.contains(&format!("<h1>{title}</h1>")), "{answer:?}");
        assert!(answer.body.contains(r#"<a href="/">"#) && !answer.body.contains('{'), "{answer:?}");
        assert!(answer.header("content-security-policy").is_some(), "{answer:?}");
    }
    for path in ["/api/v1/nowhere", "/api/nowhere"] {
        let answer = page(&site, path);
        assert_eq!(
            (answer.status, &answer.json()["error"]),
            (404, &json!("there is no such page")),
            "{path}"
        );
    }
    // Programs that accept any type get a readable one.
    assert!(http::get(&site, "/nowhere").json()["error"].is_string());
    // A blocked name has a page, even if no worker has the name now.
    assert_eq!(http::post(&site, "/api/v1/workers/block", r#"{"name":"a b/c"}"#).status, 200);
    wait_for("the page", || page(&site, "/workers/a%20b%2Fc").status == 200);
}

/// Checks that no part of a page overflows in any width, and where its list is a table.
fn keep(browser: &Browser, name: &str) {
    for width in WIDTHS {
        browser.keep(name, &[width]);
        let wide = "[...document.querySelectorAll('section')].filter((one) => \
                    one.scrollWidth > one.clientWidth + 1).length";
        assert_eq!(browser.eval(wide), 0, "{name} at {width}: a part is wider than its place");
        let is_table =
            browser.eval("getComputedStyle(document.querySelector('#list td')).display === 'table-cell'");
        assert_eq!(is_table, width >= 480, "{name} at {width}");
    }
    browser.look(Viewport { width: 1920, dark: false });
}

fn rows(browser: &Browser, column: u32) -> Value {
    browser.eval(&format!(
        "[...document.querySelectorAll('#list tbody tr')].map((row) => row.cells[{column}].innerText)"
    ))
}

#[test]
fn lists_are_searched_and_sorted_on_their_pages() {
    let Scenario { scratch: _scratch, coordinator, .. } = Scenario::with_http();
    let site = coordinator.http();
    let mut workers = ["anna", "bert", "carl"].map(|name| Some(coordinator.worker(name)));
    coordinator.wait_for_workers(3);
    for n in [8, 9, LONG] {
        _ = coordinator.submit(n);
    }
    let Some(browser) = Browser::open("lists", &format!("http://{site}")) else { return };
    browser.look(Viewport { width: 1920, dark: false });

    // Sorted by a heading, in both directions, and as at first. The address has the order, for a reload.
    browser.go("/workers");
    browser.wait_for("#found", "3 workers");
    assert_eq!(rows(&browser, 0), json!(["anna", "bert", "carl"]));
    let sorted = "document.querySelector('#list th[data-sort=name]').ariaSort";
    assert_eq!(browser.eval(sorted), "ascending");
    browser.click("#list th[data-sort=name] button");
    browser.wait_until("the other end", "document.querySelector('#workers a').innerText === 'carl'");
    assert_eq!(browser.eval(sorted), "descending");
    browser.keys("#search", "AN");
    browser.wait_for("#found", "1 worker found");
    browser.wait_until("the address", "location.search === '?search=AN&reverse=true'");
    browser.go("/workers?search=r&reverse=true");
    // All of them by the kernel, which is the portable one.
    browser.wait_for("#found", "3 workers found");
    assert_eq!(rows(&browser, 0), json!(["carl", "bert", "anna"]));
    assert_eq!(browser.eval("document.querySelector('#search').value"), "r");
    browser.go("/workers?state=blocked");
    browser.wait_for("#found", "0 workers found");
    browser.click("#all");
    browser.wait_for("#found", "3 workers");
    browser.go("/workers?sort=colour");
    browser.wait_for("#refused", "colour");
    browser.go("/workers");
    browser.wait_for("#workers", "job 3, part");
    keep(&browser, "list-of-workers");

    // A worker's own page.
    browser.click("#workers a");
    browser.wait_for("#title", "anna");
    browser.wait_for("#all", "ready");
    browser.wait_for("#all", "job 3, part");
    browser.wait_for("#jobs", "of the recorded work");
    browser.wait_for("#events", "anna joined");
    browser.click("button[aria-label='Block anna']");
    browser.click("dialog button[value=yes]");
    browser.wait_for("#actions .said", "block is done");
    browser.wait_for("#all", "blocked");
    browser.wait_for("#blocked", "its workers get no leases");
    browser.click("button[aria-label='Unblock anna']");
    browser.wait_until("no block", "document.querySelector('#blocked').hidden");
    browser.keep("worker", &WIDTHS);
    workers[0].take().expect("it is there").kill();
    browser.wait_until("it to go", "!document.querySelector('#gone').hidden");

    // Jobs.
    browser.look(Viewport { width: 1920, dark: false });
    browser.go("/?sort=n&reverse=true");
    browser.wait_for("#found", "3 jobs");
    assert_eq!(rows(&browser, 1), json!(["8", "9", "22"]));
    assert_eq!(browser.eval("document.querySelector('#list th[data-sort=n]').ariaSort"), "ascending");
    browser.click("#list th[data-sort=n] button");
    browser.wait_until(
        "the order of service",
        "location.search === '' && document.querySelector('#jobs a').innerText === 'job 3'",
    );
    browser.keys("#state", "done");
    browser.wait_for("#found", "2 jobs found");
    browser.wait_until("the address", "location.search === '?state=done'");
    browser.go("/");
    browser.wait_until(
        "curves",
        "document.querySelectorAll(':is(#workers-chart, #search-chart) .curve').length >= 2",
    );
    keep(&browser, "list-of-jobs");
    browser.go("/nowhere");
    assert!(browser.text("main").contains("No such page"));
    browser.keep("missing", &WIDTHS);
    let other = |line: &String| !line.contains("404") && !line.contains("400") && !line.contains("colour");
    let complaints: Vec<String> = browser.complaints().into_iter().filter(other).collect();
    assert_eq!(json!(complaints), json!([]));
}
