//! One of the last test programs of a run. It tells how many tests were skipped, and what they would have tested.

use std::os::unix::process::parent_id;
use std::process::{self, Command};
use std::{env, fs};

use queens_tests::process::run;
use queens_tests::{notes_of, say, skipped};

#[test]
fn what_was_skipped_is_counted() {
    let path = notes_of(parent_id());
    let notes = fs::read_to_string(&path).unwrap_or_default();
    let (skipped, impossible): (Vec<_>, Vec<_>) =
        notes.lines().partition(|line| line.starts_with("skipped: "));
    say(&format!("tests skipped: {}; not possible on this machine: {}", skipped.len(), impossible.len()));
    skipped.into_iter().chain(impossible).for_each(say);
    // A later run may have a cargo with the same process id.
    _ = fs::remove_file(path);
}

/// Runs the test below, which skips, in a process of its own.
#[track_caller]
fn check(switch: Option<&str>, succeeds: bool, expected: &str) {
    let mut command = Command::new(env::current_exe().expect("the running test has a path"));
    command.args(["--exact", "a_skip_is_noted_or_fails", "--nocapture"]);
    command.env(SKIPS, "yes").env_remove("QUEENS_SKIP").envs(switch.map(|switch| ("QUEENS_SKIP", switch)));
    let outcome = run(command);
    assert_eq!(outcome.status.success(), succeeds, "{outcome:?}");
    assert!(outcome.stderr.contains(expected), "{outcome:?}");
    let noted = notes_of(process::id());
    let notes = fs::read_to_string(&noted).unwrap_or_default();
    _ = fs::remove_file(noted);
    assert_eq!(notes, if succeeds { "skipped: an example\n" } else { "" }, "{outcome:?}");
}

/// Says to the test that it is run by itself.
const SKIPS: &str = "QUEENS_TEST_SKIPS";

#[test]
fn a_skip_is_noted_or_fails() {
    if env::var_os(SKIPS).is_some() {
        return skipped("an example");
    }
    check(None, true, "skipped: an example");
    check(Some("never"), false, "QUEENS_SKIP=never, and can't be tested: an example");
    check(Some("nevr"), false, "QUEENS_SKIP is \"nevr\": expected 'never', or no such variable");
}
