//! Records the tests that can't run here: a test says so and is counted, or it fails. This file is also a module of the
//! solver's own tests, which depend on no other crate of ours.
//!
//! Notes are kept in TARGET/skipped. Each run of `cargo test` has one file there, named after the process that starts
//! the test programs. One of the last programs, `what_was_skipped`, prints them.

use std::env;
use std::fs::{self, File};
use std::io::{self, Write};
#[cfg(unix)]
use std::os::unix::process::parent_id;
use std::path::PathBuf;
// The solver's tests also run on Windows, where nothing collects the notes.
#[cfg(not(unix))]
use std::process::id as parent_id;
use std::thread;

/// The start of notes about tests that need an installation by `.ci/tools`.
pub const MISSING: &str = "skipped";

/// The start of notes about tests that need root. The name of the test follows.
pub const NOT_ROOT: &str = "skipped, as it takes root";

/// Records the test as skipped because a program is missing that could be installed here.
///
/// # Panics
/// Panics if the environment says `QUEENS_SKIP=never` or `QUEENS_SKIP=root`, or gives that variable another value.
#[track_caller]
pub fn skipped(what: &str) {
    match env::var_os("QUEENS_SKIP") {
        None => note(MISSING, what),
        Some(switch) if switch == "never" || switch == "root" => {
            panic!("QUEENS_SKIP is {switch:?}, and can't be tested: {what}")
        }
        Some(switch) => panic!("QUEENS_SKIP is {switch:?}: expected 'never', 'root', or no such variable"),
    }
}

/// Records the test as skipped because it needs a right of root: to mount, to create namespaces, to use Docker.
///
/// # Panics
/// Panics if the environment says `QUEENS_SKIP=never`, or gives that variable a value other than `root`.
#[track_caller]
pub fn skipped_without_root(what: &str) {
    match env::var_os("QUEENS_SKIP") {
        Some(switch) if switch != "root" => skipped(what),
        _ => note(NOT_ROOT, what),
    }
}

/// Says that this machine can't run the test, whatever is installed. That is no failure anywhere.
pub fn impossible(what: &str) {
    note("not tested here", what);
}

/// Prints a message even if the test passes. It does not use `eprintln!`, which the harness captures.
pub fn say(what: &str) {
    _ = writeln!(io::stderr(), "{what}");
}

/// Returns the path of the notes of the tests that a process started.
///
/// # Panics
/// Panics if the running test has no path.
#[must_use]
pub fn notes_of(process: u32) -> PathBuf {
    // Tests are TARGET/PROFILE/deps/NAME-HASH.
    let test = env::current_exe().expect("the running test has a path");
    let target_dir = test.ancestors().nth(3).expect("tests are in a target directory");
    target_dir.join("skipped").join(process.to_string())
}

fn note(why: &str, what: &str) {
    // The harness names the thread after the test.
    let current = thread::current();
    let line = format!("{why}: {}: {what}", current.name().unwrap_or("?"));
    say(&line);
    let path = notes_of(parent_id());
    fs::create_dir_all(path.parent().expect("it lies in a directory")).expect("a directory for notes");
    let mut notes = File::options().create(true).append(true).open(path).expect("a file for notes");
    // In one write, as other tests write at the same time.
    notes.write_all(format!("{line}\n").as_bytes()).expect("a note");
}
