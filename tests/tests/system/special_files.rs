//! Files that are not regular, or that others may read: every program refuses them at once.

use std::fs;
use std::path::Path;

use std::process::Command;

use queens_tests::prelude::*;

/// An unused port: the refusal comes before any connection.
const NOBODY: &str = "https://127.0.0.1:1";

/// Runs a program in a directory.
fn run_in(dir: &Path, name: &str, args: &[&str]) -> Ended {
    run(program(name).args(args).current_dir(dir))
}

/// Creates a directory with a pipe without a writer in each place where a file may be.
fn with_pipes() -> TempDir {
    let dir = TempDir::new();
    certs(&dir.join("keys"), &[]);
    for path in ["pipe", "jobs/queens.db", "locked/lock", "invitations/access.sqlite3", "certs/ca.key"] {
        let path = dir.join(path);
        fs::create_dir_all(path.parent().expect("a directory")).expect("made");
        let made = Command::new("mkfifo").arg(&path).status().expect("coreutils are installed");
        assert!(made.success(), "{}", path.display());
    }
    dir
}

#[test]
fn a_pipe_in_place_of_a_file_is_refused_at_once() {
    let dir = with_pipes();
    #[track_caller]
    fn check(dir: &TempDir, program: &str, args: &[&str]) {
        let ended = run_in(dir.path(), program, args);
        let told = format!("{}{}", ended.stdout, ended.stderr);
        assert!(!ended.status.success(), "{program} {args:?}: {ended:?}");
        assert!(told.contains("it is a pipe, and not a regular file"), "{program} {args:?}: {ended:?}");
    }
    let of_client: [&[&str]; 3] = [
        &["--token-file", "pipe"],
        &["--ca", "pipe"],
        &["--client-cert", "keys/server.pem", "--client-key", "pipe"],
    ];
    for args in of_client {
        check(&dir, "queens", &[&["jobs", "--coordinator", NOBODY][..], args].concat());
        check(&dir, "queens-worker", &[&["--coordinator", NOBODY][..], args].concat());
    }
    check(&dir, "queens", &["check", "pipe"]);
    check(&dir, "queens", &["merge", "pipe", "pipe", "--out", "new"]);
    check(&dir, "queens", &["count", "8", "--data-dir", "jobs"]);
    check(&dir, "queens-worker", &["--config", "pipe"]);
    let listen = ["--listen", "127.0.0.1:0", "--data-dir"];
    check(&dir, "queens-coordinator", &["--config", "pipe"]);
    check(
        &dir,
        "queens-coordinator",
        &[&listen[..], &["new", "--tls-cert", "pipe", "--tls-key", "pipe"]].concat(),
    );
    check(&dir, "queens-coordinator", &[&listen[..], &["jobs"]].concat());
    check(&dir, "queens-coordinator", &[&listen[..], &["locked"]].concat());
    check(&dir, "queens-coordinator", &["check", "pipe"]);
    check(&dir, "queens-coordinator", &["check", "jobs"]);
    check(&dir, "queens-coordinator", &["recover", "jobs", "new"]);
    check(&dir, "queens-coordinator", &["backup", "--data-dir", "jobs", "copy"]);
    check(&dir, "queens-coordinator", &["invitations", "--data-dir", "invitations"]);
    check(&dir, "queens-coordinator", &["certs", "certs"]);
    let invite = ["invite", "--data-dir", "new", "--role", "viewer", "--certificate", "pipe"];
    check(&dir, "queens-coordinator", &invite);
    check(&dir, "queens-coordinator", &["sign", "--data-dir", "new", "pipe"]);
    let store = ["check", "--store", "postgres://queens@127.0.0.1:1/queens", "--store-password-file", "pipe"];
    check(&dir, "queens-coordinator", &store);
    let adopted = run_in(dir.path(), "queens-coordinator", &["key", "--data-dir", "new", "--from", "pipe"]);
    assert!(adopted.complaint(1).contains("'pipe' is no regular file"), "{adopted:?}");
}
