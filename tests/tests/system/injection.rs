//! No program prints control characters of a lying coordinator, odd files or odd arguments.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use queens_model::plain::is_plain;
use queens_tests::data_dir::counted;
use queens_tests::prelude::*;

use super::lying_coordinator::{Liar, ODD, serve};

/// Checks that a text consists of printable lines.
#[track_caller]
fn check_plain(text: &str) {
    let odd = text.chars().find(|&c| c != '\n' && !is_plain(c));
    assert_eq!(odd, None, "in {text:?}");
}

#[track_caller]
fn check_outcome(outcome: &Ended, shown: bool) {
    check_plain(&outcome.stdout);
    check_plain(&outcome.stderr);
    let all = format!("{}{}", outcome.stdout, outcome.stderr);
    assert_eq!(all.contains("odd") && all.contains(r"\u{202e}"), shown, "{outcome:?}");
}

#[test]
fn a_coordinator_cannot_command_the_terminal_of_who_asks_it() {
    let runtime = runtime();
    let url = serve(&runtime, Liar::Odd);
    let ask = |url: &str, args: &[&str]| run(queens(args.iter().chain(&["--coordinator", url])));
    for (args, code, shown) in [
        (&["jobs"][..], 0, true),
        (&["status", "1"], 0, true),
        (&["watch", "1"], 1, true),
        (&["workers"], 0, true),
        (&["contributions", "1"], 0, true),
        (&["verdicts", "1"], 0, true),
        (&["audit"], 0, true),
        (&["count", "8"], 1, true),
        (&["submit", "8"], 0, false),
        (&["pause", "1"], 0, false),
        (&["cancel", "1"], 0, false),
    ] {
        let outcome = ask(&url, args);
        assert_eq!(outcome.status.code(), Some(code), "{outcome:?}");
        check_outcome(&outcome, shown);
    }
    for args in [&["jobs"][..], &["status", "1"], &["workers"], &["contributions", "1"], &["watch", "1"]] {
        let outcome = ask(&url, &[args, &["--output", "json"]].concat());
        check_outcome(&outcome, true);
        serde_json::from_str::<Value>(&outcome.stdout).expect("JSON");
    }
    let url = serve(&runtime, Liar::Refuses);
    for args in [
        &["jobs"][..],
        &["status", "1"],
        &["watch", "1"],
        &["workers"],
        &["workers", "block", "a"],
        &["count", "8"],
        &["submit", "8"],
        &["pause", "1"],
        &["priority", "1", "2"],
        &["cancel", "1"],
    ] {
        let outcome = ask(&url, args);
        assert!(outcome.complaint(1).starts_with("error: odd"), "{outcome:?}");
        check_outcome(&outcome, true);
    }
}

#[test]
fn a_coordinator_cannot_command_a_screen_full_of_it() {
    if !is_installed("script") {
        return skipped("'queens top' of a liar, as there is no script(1) to make a terminal");
    }
    let runtime = runtime();
    let scratch = TempDir::new();
    for (name, liar) in [("odd", Liar::Odd), ("refuses", Liar::Refuses)] {
        let shown = scratch.join(name);
        let (url, queens) = (serve(&runtime, liar), binary("queens"));
        let top = format!("stty rows 40 cols 200; {} top --coordinator {url}", queens.display());
        let mut command = clean(Command::new("script"));
        command.args(["-qefc", &top]).arg(&shown).env("TERM", "xterm-256color").stdout(Stdio::null());
        let running = Running::start_redirected(command.stdin(Stdio::piped()));
        let text = wait_until("what it says", || {
            let text = String::from_utf8_lossy(&fs::read(&shown).ok()?).into_owned();
            text.contains("odd").then_some(text)
        });
        drop(running);
        // Our own codes move the cursor, and set colours.
        let odd = text.chars().find(|&c| !matches!(c, '\u{1b}' | '\r' | '\n') && !is_plain(c));
        assert_eq!(odd, None, "{text:?}");
        assert!(!text.contains("\u{1b}]") && !text.contains("odd\u{1b}"), "{text:?}");
    }
}

/// Starts a worker that logs to a file.
fn start_worker(url: &str, format: &str, log: &Path) -> Service {
    let mut command = worker_command(url, "a", Kernel::best());
    Service::start(command.args(["--log-format", format]), log)
}

#[test]
fn a_coordinator_cannot_command_the_terminal_of_a_worker() {
    let runtime = runtime();
    let scratch = TempDir::new();
    for format in ["text", "json"] {
        let url = serve(&runtime, Liar::Odd);
        let worker = start_worker(&url, format, &scratch.join(format));
        worker.wait_for_log("the coordinator says: odd");
        worker.wait_for_log("next_attempt");
        check_plain(&worker.log());
        let url = serve(&runtime, Liar::Refuses);
        let mut refused = start_worker(&url, format, &scratch.join(format!("{format} refused")));
        assert_eq!(refused.wait().code(), Some(1), "{}", refused.log());
        let said = refused.log();
        check_plain(&said);
        assert!(said.contains(r"refused this worker: odd\u{1b}[2J"), "{said:?}");
    }
}

#[test]
fn odd_arguments_files_and_variables_are_told_as_they_can_be_shown() {
    let scratch = TempDir::new();
    let file = scratch.join(ODD);
    fs::write(&file, "no directory").expect("written");
    let file = utf8(&file);
    for args in [
        &["count", "8", "--data-dir", file][..],
        &["count", "8", "--given", ODD],
        &["count", ODD],
        &["jobs", "--coordinator", ODD],
        &["render", "8", "-o", &format!("{file}/no/such/{ODD}.svg")],
        &[ODD],
    ] {
        check_outcome(&run(queens(args)), true);
    }
    check_outcome(&run(queens(["count", "--help"]).env("QUEENS_DATA_DIR", ODD)), true);
    check_outcome(&run(queens(["jobs", "--coordinator", "http://127.0.0.1:1"]).env("QUEENS_LOG", ODD)), true);
    check_outcome(&queens_coordinator(&["check", file]), true);
    // The contents of a database are from outside too.
    let data_dir = counted(8);
    tamper(data_dir.path(), &format!("INSERT INTO blocked_worker VALUES ('{ODD}', '', '', 0)"));
    let outcome = run(coordinator_command("127.0.0.1:0", data_dir.path()));
    assert_eq!(outcome.status.code(), Some(1), "{outcome:?}");
    check_outcome(&outcome, true);
}
