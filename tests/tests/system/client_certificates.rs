//! Workers and operators authenticate with the key of a TLS client certificate.

use std::process::Command;

use queens_tests::prelude::*;

/// Adds the TLS certificate of this name, and the key of that name.
fn show(command: &mut Command, guarded: &Guarded, certificate: &str, key: &str) {
    command.args(["--coordinator", &guarded.url(), "--ca"]).arg(guarded.authority());
    command.arg("--client-cert").arg(guarded.keys().join(format!("{certificate}.pem")));
    command.arg("--client-key").arg(guarded.keys().join(format!("{key}.key")));
}

fn queens_as(guarded: &Guarded, name: &str, args: &[&str]) -> Ended {
    let mut command = queens(args);
    show(&mut command, guarded, name, name);
    run(command)
}

fn worker_as(guarded: &Guarded, certificate: &str, name: &str) -> Running {
    let mut command = program("queens-worker");
    command.args(["--name", name, "--threads", "1", "--kernel", "portable"]);
    show(&mut command, guarded, certificate, certificate);
    Running::start_silent(command)
}

/// Creates a TLS certificate and invites its owner; returns the output.
#[track_caller]
fn invite(guarded: &Guarded, name: &str, args: &[&str]) -> Ended {
    certs(guarded.keys(), &["--client", name]);
    let certificate = guarded.keys().join(format!("{name}.pem"));
    guarded.manage([&["invite", "--certificate", utf8(&certificate)], args].concat())
}

#[test]
fn a_key_lets_in_as_a_token_does_and_to_nothing_else() {
    let guarded = Guarded::new(&[]);
    let line = invite(&guarded, "ann", &["--role", "operator", "--name", "ann"]).stdout;
    assert!(line.contains("--client-cert") && !line.contains("QUEENS_TOKEN"), "{line}");
    _ = invite(&guarded, "rack", &["--role", "worker"]);
    let _running = worker_as(&guarded, "rack", "rack-1");
    let answer = queens_as(&guarded, "ann", &["count", "12", "--output", "json"]).answer();
    assert_eq!(answer["solutions"], "14200");
    // The invitation defines the permissions and the names.
    assert!(queens_as(&guarded, "rack", &["jobs"]).complaint(1).contains("worker"));
    let mut other_name = worker_as(&guarded, "rack", "rack-2");
    wait_for("the end of who uses another name", || !other_name.is_running());
    let listed = guarded.manage(["invitations"]).stdout;
    assert!(listed.contains("key sha256:") && listed.contains("'rack-1'"), "{listed}");
    let audit = queens_as(&guarded, "ann", &["audit"]).stdout;
    assert!(audit.contains("invitation 1 (ann)"), "{audit}");
}

#[test]
fn whoever_is_not_invited_any_more_is_put_out() {
    let guarded = Guarded::new(&[]);
    _ = invite(&guarded, "ann", &["--role", "operator"]);
    _ = invite(&guarded, "rack", &["--role", "worker"]);
    let mut running = worker_as(&guarded, "rack", "rack");
    wait_for("the worker", || {
        let workers = queens_as(&guarded, "ann", &["workers", "--output", "json"]).answer();
        workers.as_array().map(Vec::len) == Some(1)
    });
    guarded.manage(["revoke", "2"]);
    wait_for("the worker's end", || !running.is_running());
    assert!(queens_as(&guarded, "rack", &["jobs"]).complaint(1).contains("revoked"));
    assert!(queens_as(&guarded, "ann", &["jobs"]).status.success());
    // The same key can be invited again, with another role.
    let certificate = guarded.keys().join("rack.pem");
    guarded.manage(["invite", "--role", "viewer", "--certificate", utf8(&certificate)]);
    assert!(queens_as(&guarded, "rack", &["jobs"]).status.success());
}

#[test]
fn another_key_lets_nobody_in_whoever_signed_it() {
    let guarded = Guarded::new(&[]);
    _ = invite(&guarded, "ann", &["--role", "operator"]);
    // A certificate of the same authority with the same name.
    certs(guarded.keys(), &["--client", "eve"]);
    let refused = queens_as(&guarded, "eve", &["jobs"]);
    assert!(refused.complaint(1).contains("no invitation has the key sha256:"), "{refused:?}");
    // Another's certificate is public, but its key is not.
    let mut stolen = queens(["jobs"]);
    show(&mut stolen, &guarded, "ann", "eve");
    assert!(!run(stolen).status.success());
    // Only TLS proves the possession of a key.
    let mut plain = queens(["jobs", "--coordinator", "http://127.0.0.1:1", "--client-cert"]);
    plain.arg(guarded.keys().join("ann.pem")).arg("--client-key").arg(guarded.keys().join("ann.key"));
    assert!(run(plain).complaint(1).contains("over https only"));
    // One without the other is an error, with a message.
    let mut half = queens(["jobs", "--coordinator", &guarded.url(), "--client-cert"]);
    half.arg(guarded.keys().join("ann.pem"));
    assert!(run(half).complaint(2).contains("--client-key"));
}

#[test]
fn names_of_files_stay_in_their_directory() {
    let scratch = TempDir::new();
    for name in ["../evil", "a/b", "", ".hidden", "ca", "server", "ä", "a b"] {
        let mut command = program("queens-coordinator");
        command.arg("certs").arg(scratch.join("keys")).args(["--client", name]);
        assert!(run(command).complaint(2).contains("expected a name of letters"), "{name}");
    }
    assert!(!scratch.join("keys").exists());
}
