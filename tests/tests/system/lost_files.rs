//! Files of a data directory are removed, replaced or truncated under a running coordinator.

use std::fs::{self, File};
use std::path::Path;

use queens_store::sqlite::audit;
use queens_tests::cluster::worker;
use queens_tests::prelude::*;

fn remove(path: &Path) {
    fs::remove_file(path).expect("it is there");
}

fn replace(path: &Path) {
    let copy = path.with_extension("copy");
    fs::copy(path, &copy).expect("copied");
    fs::rename(copy, path).expect("replaced");
}

fn truncate(path: &Path) {
    let file = File::options().write(true).open(path).expect("it is there");
    file.set_len(0).expect("truncated");
}

/// What a restart finds.
enum Left {
    /// Everything that was acknowledged.
    All,
    /// A job without its last records.
    Job,
    /// Nothing: it is refused with these words.
    Refused(&'static str),
}

/// Loses a file while a job is counted. The coordinator must end without acknowledging anything more.
#[track_caller]
fn check(name: &str, lose: fn(&Path), word: &str, left: &Left) {
    let scratch = TempDir::new();
    let (data_dir, log) = (scratch.path().join("data"), scratch.path().join("log"));
    let mut service = Service::start(coordinator_command("127.0.0.1:0", &data_dir), &log);
    let url = format!("http://{}", service.logged("listening address="));
    let _worker = worker(&url, "anna");
    let status = || run(queens(["status", "1", "--output", "json", "--coordinator", &url]));
    _ = run(queens(["submit", "20", "--coordinator", &url])).good();
    let recorded = || status().answer()["recorded"].as_str().and_then(|text| text.parse::<u128>().ok());
    let before = wait_until("records", || recorded().filter(|recorded| *recorded > 0));
    lose(&data_dir.join(name));
    assert_eq!(service.wait().code(), Some(1), "{name}: {}", service.log());
    let last = service.log().lines().last().unwrap_or_default().to_owned();
    assert!(last.starts_with("error: ") && last.contains(&format!("'{name}' was {word}")), "{last}");
    if let Left::Refused(word) = left {
        let refused = run(coordinator_command("127.0.0.1:0", &data_dir));
        assert!(refused.complaint(1).contains(word), "{name}: {refused:?}");
        return;
    }
    let restarted = Coordinator::start(&data_dir);
    let after = restarted.status("1")["recorded"].as_str().and_then(|text| text.parse::<u128>().ok());
    assert!(matches!(left, Left::Job) || after >= Some(before), "{name}: {before}, then {after:?}");
    restarted.stop();
    audit(&data_dir).expect("consistent records");
}

#[test]
fn a_coordinator_whose_database_file_is_lost_ends_and_says_so() {
    check(
        "queens.db",
        remove,
        "removed or replaced",
        &Left::Refused("there is a 'queens.db-wal' but no 'queens.db'"),
    );
    check("queens.db", replace, "removed or replaced", &Left::All);
    check("queens.db", truncate, "truncated", &Left::Refused("'queens.db' is no SQLite database"));
}

#[test]
fn a_coordinator_whose_log_is_lost_ends_and_says_so() {
    check("queens.db-wal", remove, "removed or replaced", &Left::All);
    check("queens.db-wal", replace, "removed or replaced", &Left::All);
    check("queens.db-wal", truncate, "truncated", &Left::Job);
    check("queens.db-shm", remove, "removed or replaced", &Left::All);
    check("queens.db-shm", replace, "removed or replaced", &Left::All);
}

/// Revocations would be lost with the log of the invitations.
#[test]
fn no_invitation_changes_after_the_loss_of_their_log() {
    let scratch = TempDir::new();
    let data_dir = scratch.path().join("data");
    let mut command = coordinator_command("127.0.0.1:0", &data_dir);
    command.arg("--require-tokens");
    let coordinator = Coordinator::start_command(command, &data_dir);
    let invite = || {
        let mut invite = program("queens-coordinator");
        invite.args(["invite", "--role", "viewer", "--data-dir"]).arg(&data_dir);
        run(invite)
    };
    assert!(invite().status.success());
    remove(&data_dir.join("access.sqlite3-wal"));
    wait_for("word of it", || coordinator.log().contains("'access.sqlite3-wal' was removed or replaced"));
    let refused = invite();
    let said = "'access.sqlite3-wal' was truncated";
    assert!(!refused.status.success() && refused.stderr.contains(said), "{refused:?}");
}
