//! Files of a data directory are removed, replaced or truncated under a running coordinator.

use std::fs::{self, File};
use std::path::Path;

use queens_store::sqlite::audit;
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
    let Scenario { scratch: _scratch, data_dir, mut coordinator } = Scenario::start();
    let _worker = coordinator.worker("anna");
    let job = coordinator.submit_with(&["20"]);
    coordinator.wait_for_records(&job);
    let before = coordinator.n_recorded(&job);
    lose(&data_dir.join(name));
    assert_eq!(coordinator.wait().code(), Some(1), "{name}: {}", coordinator.log());
    let last = coordinator.log().lines().last().unwrap_or_default().to_owned();
    assert!(last.starts_with("error: ") && last.contains(&format!("'{name}' was {word}")), "{last}");
    if let Left::Refused(word) = left {
        let refused = run(coordinator_command("127.0.0.1:0", &data_dir));
        assert!(refused.complaint(1).contains(word), "{name}: {refused:?}");
        return;
    }
    let restarted = Coordinator::start(&data_dir);
    let after = restarted.n_recorded(&job);
    assert!(matches!(left, Left::Job) || after >= before, "{name}: {before}, then {after}");
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
    let Scenario { scratch: _scratch, data_dir, coordinator } = Scenario::with(["--require-tokens"]);
    let invite = || queens_coordinator(&["invite", "--role", "viewer", "--data-dir", utf8(&data_dir)]);
    _ = invite().good();
    remove(&data_dir.join("access.sqlite3-wal"));
    coordinator.wait_for_log("'access.sqlite3-wal' was removed or replaced");
    let refused = invite();
    let said = "'access.sqlite3-wal' was truncated";
    assert!(!refused.status.success() && refused.stderr.contains(said), "{refused:?}");
}
