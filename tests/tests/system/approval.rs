//! People of a campaign that was opened with --approve wait for the operator, with the real worker.

use std::process::Command;

use super::joining::{Site, start};

use queens_tests::prelude::*;

#[test]
fn nobody_counts_before_the_operator_approves() {
    let site = Site::start(&["--approve"]);
    let operator = site.guarded.invite(["--role", "operator"]);
    let files = ["said", "also"].map(|name| site.guarded.beside(name));
    let with_socket = |mut command: Command| {
        command.env("XDG_RUNTIME_DIR", site.guarded.beside("run"));
        command
    };
    let (_anna, said) = start(with_socket(site.join("a", &["--name", "anna"])), &files[0]);
    assert!(said.contains("the operator has to approve you first"), "{said}");
    let (mut fake, _) = start(site.join("b", &["--name", "fake"]), &files[1]);
    let status = || with_socket(site.worker("a", &["status"])).output().expect("run");
    wait_for("the reason", || {
        let status = String::from_utf8(status().stdout).expect("text");
        status.contains("waits until its operator approves it")
    });
    let listed = site.guarded.manage(["invitations"]).stdout;
    let waiting = |listed: &str| listed.lines().filter(|line| line.contains("waits for 'approve'")).count();
    assert_eq!(waiting(&listed), 2, "{listed}");
    assert!(site.guarded.manage(["campaign", "list"]).stdout.contains("  each to be approved"));
    assert_eq!(site.guarded.json(&operator, &["workers"]), serde_json::json!([]));
    // A person who waits is no refusal: neither in the audit log nor by a slower answer.
    let refusals = site.guarded.queens(&operator, ["audit"]).stdout;
    assert!(refusals.contains("join campaign 1") && !refusals.contains("refused"), "{refusals}");

    let number = |name: &str| {
        let line = listed.lines().find(|line| line.contains(&format!("'{name}'"))).expect("listed");
        line.split_whitespace().next().expect("a number").to_owned()
    };
    let approved = site.guarded.manage(["approve", &number("anna")]).stdout;
    assert!(approved.contains("is approved: its worker connects within half a minute"), "{approved}");
    let approved = site.guarded.manage(["approve", &number("anna")]).stdout;
    assert!(approved.contains("did not wait to be approved"), "{approved}");
    site.guarded.manage(["revoke", &number("fake")]);
    wait_for("anna", || {
        let workers = site.guarded.json(&operator, &["workers"]);
        let workers = workers.as_array().expect("an array").clone();
        assert!(workers.iter().all(|worker| worker["name"] == "anna"), "{workers:?}");
        workers.iter().any(|worker| worker["connected"] == true)
    });
    assert!(!fake.wait_for_end().success(), "a revoked one ends");
    let listed = site.guarded.manage(["invitations"]).stdout;
    assert_eq!(waiting(&listed), 0, "{listed}");
}

/// Strangers choose their names, and invitations have numbers.
#[test]
fn a_number_as_a_name_makes_nobody_the_arbiter() {
    let site = Site::start(&[]);
    let operator = site.guarded.invite(["--role", "operator"]);
    _ = site.guarded.invite(["--role", "worker", "--name", "referee"]);
    let listed = site.guarded.manage(["invitations"]).stdout;
    let line = listed.lines().find(|line| line.contains("'referee'")).expect("listed");
    let number = line.split_whitespace().next().expect("a number").to_owned();
    for name in [&number, "7"] {
        let joined = site.post("127.0.0.1", site.code(), &serde_json::json!({ "name": name }).to_string());
        assert_eq!(joined.status, 201, "{joined:?}");
    }
    site.guarded.manage(["revoke", &number]);
    for text in [&number, "7"] {
        // The coordinator hears of the revocation within a second.
        wait_for("a refusal", || {
            let asked = site.guarded.queens(&operator, ["submit", "10", "--recount-by", text]);
            asked.stderr.contains("no open invitation of a worker has")
        });
    }
    let audit = site.guarded.queens(&operator, ["audit"]).stdout;
    assert!(!audit.contains("a stranger"), "{audit}");
}
