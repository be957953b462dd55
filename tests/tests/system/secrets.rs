//! Tokens and cookies appear nowhere: logs, files, traces, metrics, answers, messages, or lists of processes.

use std::fs;
use std::path::{Path, PathBuf};

use queens_tests::collector::collect;
use queens_tests::directory::files_below;
use queens_tests::prelude::*;

/// Returns the contents of all files of a directory.
fn files(dir: &Path) -> Vec<(String, String)> {
    let contents = |path: &PathBuf| {
        let bytes = fs::read(path).expect("readable");
        (path.display().to_string(), String::from_utf8_lossy(&bytes).into_owned())
    };
    files_below(dir).iter().map(contents).collect()
}

#[test]
fn no_secret_is_shown_anywhere() {
    let runtime = runtime();
    let (collector, received) = collect(&runtime);
    // Behind a proxy that encrypts; with all logs and traces.
    let Scenario { scratch, data_dir, coordinator } = Scenario::by(|mut command| {
        command.args(["--http", "127.0.0.1:0", "--require-tokens", "--otlp", &collector]);
        command.env("QUEENS_LOG", "trace");
        command
    });
    let manage = |args: &[&str]| queens_coordinator(&[args, &["--data-dir", utf8(&data_dir)]].concat());
    let invite = |role: &str| token_in(&manage(&["invite", "--role", role]).stdout);
    let [operator, worker, revoked] = ["operator", "worker", "viewer"].map(invite);
    // A mistyped token is a secret as well.
    let mistyped = format!("{}x", invite("operator"));

    let mut command = worker_command(&coordinator.url(), "anna", Kernel::Portable);
    command.args(["--otlp", &collector]).env("QUEENS_TOKEN", &worker).env("QUEENS_LOG", "trace");
    let service = Service::start(command, &scratch.join("worker.log"));
    let ask = |token: &str, args: &[&str]| {
        let mut command = coordinator.queens_command(args);
        command.env("QUEENS_TOKEN", token).env("QUEENS_LOG", "trace");
        run(command)
    };
    let mut shown: Vec<(String, String)> = Vec::new();
    let counted = ask(&operator, &["count", "12", "--output", "json"]);
    assert!(counted.stdout.contains("14200"), "{counted:?}");
    shown.push(("a count".to_owned(), format!("{counted:?}")));
    manage(&["revoke", "3"]);
    for (token, args) in [
        (&worker, &["jobs"][..]),
        (&revoked, &["jobs"]),
        (&mistyped, &["jobs"]),
        (&operator, &["audit"]),
        (&operator, &["workers"]),
    ] {
        shown.push((format!("queens {args:?}"), format!("{:?}", ask(token, args))));
    }
    for args in [&["invitations"][..], &["key"]] {
        shown.push((format!("{args:?}"), format!("{:?}", manage(args))));
    }

    // By the pages: logged in, not logged in, and with an invalid token.
    let site = coordinator.http();
    let logged_in = http::log_in(&site, &operator);
    let cookie = logged_in.cookie();
    let cookie_secret = cookie.split_once('=').expect("a value").1.to_owned();
    for token in [&mistyped, &revoked, &worker] {
        let refused = http::log_in(&site, token);
        shown.push(("a log in that failed".to_owned(), format!("{refused:?}")));
        let refused = http::ask(&site, token, "GET", "/api/v1/jobs", "");
        shown.push(("a request that failed".to_owned(), format!("{refused:?}")));
    }
    for path in [
        "/metrics",
        "/api/v1/jobs",
        "/api/v1/workers",
        "/api/v1/events",
        "/api/v1/audit",
        "/api/v1/coordinator",
        "/api/v1/me",
        "/",
        "/audit",
    ] {
        let answer = http::request(&site, "GET", path, &[("Cookie", cookie)], "");
        assert_eq!(answer.status, 200, "{path}: {answer:?}");
        shown.push((path.to_owned(), format!("{answer:?}")));
    }
    for id in [coordinator.id(), service.id()] {
        let line = fs::read(format!("/proc/{id}/cmdline")).expect("a process");
        shown.push(("a list of processes".to_owned(), String::from_utf8_lossy(&line).into_owned()));
    }
    service.stop();
    coordinator.stop();
    shown.extend(files(scratch.path()));
    let traces: Vec<_> =
        received.try_iter().map(|traces| ("traces".to_owned(), format!("{traces:?}"))).collect();
    assert!(!traces.is_empty(), "nothing was traced");
    shown.extend(traces);

    // The random part of each.
    let digits = |token: &str| token.rsplit('_').next().expect("digits")[..64].to_owned();
    let secrets = [digits(&operator), digits(&worker), digits(&revoked), digits(&mistyped), cookie_secret];
    for (place, text) in &shown {
        for secret in &secrets {
            assert!(!text.contains(secret.as_str()), "a secret in {place}: {text}");
        }
    }
    assert!(shown.iter().any(|(_, text)| text.contains("invitation 1")), "it was looked at the right places");
}

/// Everybody on a machine can read a program's arguments.
#[test]
fn no_document_has_a_token_in_an_argument() {
    let repository = Path::new(REPOSITORY);
    let mut all: Vec<_> = ["docs", "deploy"].iter().flat_map(|dir| files(&repository.join(dir))).collect();
    let readme = repository.join("README.md");
    all.push(("README.md".to_owned(), fs::read_to_string(readme).expect("a text")));
    let is_shown = |line: &str| {
        ["--header \"Authorization", "--header 'Authorization", "-H \"Authorization", "-H 'Authorization"]
            .iter()
            .any(|argument| line.contains(argument))
    };
    for (path, text) in &all {
        let shown = text.lines().find(|line| is_shown(line));
        assert_eq!(shown, None, "{path}: have curl read it from a file, by --header @FILE");
    }
    assert!(all.iter().any(|(path, _)| path.ends_with("invite.md")), "it was looked at the right places");
}
