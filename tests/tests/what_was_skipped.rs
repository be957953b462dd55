//! One of the last test programs of a run. It prints how many tests were skipped, what they would have tested, and how
//! to enable them.

use std::os::unix::process::parent_id;
use std::process::{self, Command};
use std::{env, fs};

use queens_tests::prelude::*;
use queens_tests::{MISSING, NOT_ROOT, notes_of};

#[test]
fn what_was_skipped_is_counted() {
    let path = notes_of(parent_id());
    let notes = fs::read_to_string(&path).unwrap_or_default();
    let of = |why: &str| -> Vec<&str> {
        notes.lines().filter(|line| line.split(": ").next() == Some(why)).collect()
    };
    let (missing, not_root) = (of(MISSING), of(NOT_ROOT));
    let impossible: Vec<_> =
        notes.lines().filter(|line| !missing.contains(line) && !not_root.contains(line)).collect();
    say(&format!(
        "tests skipped: {}; not possible on this machine: {}",
        missing.len() + not_root.len(),
        impossible.len()
    ));
    [&impossible, &not_root, &missing].into_iter().flatten().for_each(|note| say(note));
    if !missing.is_empty() {
        say("What is not installed, '.ci/tools' installs: run it as root on Debian 12.");
    }
    // A later run may have a cargo with the same process id.
    _ = fs::remove_file(path);
}

/// Runs the test below, which skips, in its own process.
#[track_caller]
fn check(switch: Option<&str>, kind: &str, expected: Result<&str, &str>) {
    let mut command = Command::new(env::current_exe().expect("the running test has a path"));
    command.args(["--exact", "a_skip_is_noted_or_fails", "--nocapture"]);
    command.env(SKIPS, kind).env_remove("QUEENS_SKIP").envs(switch.map(|switch| ("QUEENS_SKIP", switch)));
    let outcome = run(command);
    assert_eq!(outcome.status.success(), expected.is_ok(), "{outcome:?}");
    let (Ok(said) | Err(said)) = expected;
    assert!(outcome.stderr.contains(said), "{outcome:?}");
    let noted = notes_of(process::id());
    let notes = fs::read_to_string(&noted).unwrap_or_default();
    _ = fs::remove_file(noted);
    assert_eq!(notes, expected.map(|note| format!("{note}\n")).unwrap_or_default(), "{outcome:?}");
}

/// Tells the test that it runs by itself, and how to skip.
const SKIPS: &str = "QUEENS_TEST_SKIPS";

#[test]
fn a_skip_is_noted_or_fails() {
    match env::var(SKIPS).as_deref() {
        Ok("for want of root") => return skipped_without_root("an example"),
        Ok(_) => return skipped("an example"),
        Err(_) => {}
    }
    let tool = "for want of a program";
    check(None, tool, Ok("skipped: a_skip_is_noted_or_fails: an example"));
    check(Some("never"), tool, Err("QUEENS_SKIP is \"never\", and can't be tested: an example"));
    check(Some("root"), tool, Err("QUEENS_SKIP is \"root\", and can't be tested: an example"));
    let root = "for want of root";
    check(None, root, Ok("skipped, as it takes root: a_skip_is_noted_or_fails: an example"));
    check(Some("never"), root, Err("QUEENS_SKIP is \"never\", and can't be tested: an example"));
    check(Some("root"), root, Ok("skipped, as it takes root: a_skip_is_noted_or_fails: an example"));
    let wrong = "QUEENS_SKIP is \"nevr\": expected 'never', 'root', or no such variable";
    check(Some("nevr"), tool, Err(wrong));
    check(Some("nevr"), root, Err(wrong));
}
