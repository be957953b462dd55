//! Restoring backups and copies: valid invitations, the signing key, and refusals.

use std::path::Path;

use queens_tests::data_dir::snapshot;
use queens_tests::prelude::*;

fn restore(args: &[&str]) -> Ended {
    queens_coordinator(&[&["restore"], args].concat())
}

#[test]
fn invitations_of_a_copy_are_ended_unless_they_are_kept() {
    let scratch = TempDir::new();
    let path = |name: &str| scratch.join(name);
    let (data_dir, copy) = (path("data"), path("copy"));
    let behind = Behind::start(&data_dir, &[]);
    let (token, kept_out) = (behind.token("viewer"), behind.token("operator"));
    let asks = |behind: &Behind, token: &str| behind.queens(token, ["jobs"]).status.success();
    assert!(asks(&behind, &token) && asks(&behind, &kept_out));
    snapshot(&data_dir, &copy);
    drop(behind);
    for (name, args, is_let_in) in [("ended", &[][..], false), ("kept", &["--keep-invitations"][..], true)] {
        let dir = path(name);
        let restored = restore(&[&[utf8(&copy), "--data-dir", utf8(&dir)], args].concat()).good();
        let is_told = restored.stderr.contains("2 invitations are revoked");
        assert_eq!(is_told, !is_let_in, "{}", restored.stderr);
        let key = |dir: &Path| queens_coordinator(&["key", "--data-dir", utf8(dir)]).stdout;
        assert_eq!(key(&dir), key(&copy));
        let behind = Behind::start(&dir, &[]);
        assert_eq!(asks(&behind, &token), is_let_in);
        // A restore overwrites nothing.
        let again = restore(&[utf8(&copy), "--data-dir", utf8(&dir)]);
        assert!(again.complaint(1).contains("is there already"), "{}", again.stderr);
    }
}

#[test]
fn nothing_is_restored_that_is_not_proved() {
    let Scenario { scratch, data_dir, coordinator } = Scenario::start();
    let path = |name: &str| scratch.join(name);
    let backup = path("backup.db");
    _ = coordinator.submit(8);
    _ = queens_coordinator(&["backup", "--data-dir", utf8(&data_dir), utf8(&backup)]).good();
    // A restore does not write to a directory in use.
    let in_use = restore(&[utf8(&backup), "--data-dir", utf8(&data_dir)]);
    assert!(in_use.complaint(1).contains("is there already"), "{}", in_use.stderr);
    coordinator.stop();
    let restored = restore(&[utf8(&backup), "--data-dir", utf8(&path("restored"))]);
    assert!(restored.stdout.contains("job 1  n = 8"), "{restored:?}");
    let nobody_there = restore(&["--data-dir", utf8(&path("nothing"))]);
    assert!(!nobody_there.status.success() && !path("nothing").exists(), "{nobody_there:?}");
    let on_server = restore(&[utf8(&backup), "--store", "postgres://queens@127.0.0.1:1/queens"]);
    assert!(on_server.complaint(1).contains("--store names a database"), "{}", on_server.stderr);
    tamper(&data_dir, "UPDATE plan_part SET work = work + 1 WHERE number = 2");
    let damaged = restore(&[utf8(&data_dir), "--data-dir", utf8(&path("damaged"))]);
    assert!(damaged.complaint(1).contains("plan of job 1"), "{}", damaged.stderr);
    assert!(!path("damaged").join("queens.db").exists());
}
