//! Locates and builds the programs under test.

use std::env;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;

/// Returns the path of the workspace's binary `name`, in the running test's profile. Builds all binaries first, once
/// per process or nextest run, so that no test runs an outdated one. (nextest starts a process for each test.)
///
/// # Panics
/// Panics if it can't be built.
#[must_use]
pub fn binary(name: &str) -> PathBuf {
    static BUILT: Mutex<bool> = Mutex::new(false);
    // Tests are TARGET/PROFILE/deps/NAME-HASH.
    let test = env::current_exe().expect("the running test has a path");
    let profile_dir = test.ancestors().nth(2).expect("tests are in a profile's directory");
    let target_dir = profile_dir.parent().expect("profiles are in the target directory");
    let profile = match profile_dir.file_name().and_then(|name| name.to_str()) {
        Some("debug") => "dev",
        other => other.expect("profiles have ASCII names"),
    };
    // Another test that needs a binary meanwhile waits. If a build fails, every test that waited for it fails.
    let mut built = BUILT.lock().expect("the build in another test has succeeded");
    if !*built {
        let run = env::var("NEXTEST_RUN_ID").unwrap_or_default();
        let mut open = File::options();
        open.create(true).truncate(false).read(true).write(true);
        let mut last = open.open(target_dir.join("built-for-tests")).expect("a file in the target directory");
        last.lock().expect("files can be locked");
        let mut id = String::new();
        last.read_to_string(&mut id).expect("the id of a run");
        if run.is_empty() || id != run {
            build(profile, target_dir);
            last.set_len(0).and_then(|()| last.rewind()).expect("a file");
            last.write_all(run.as_bytes()).expect("a file");
        }
        *built = true;
    }
    profile_dir.join(name)
}

fn build(profile: &str, target_dir: &Path) {
    // Cargo's lock on the target directory is free while tests run.
    let mut build = cargo();
    // The whole workspace and one test: then crates get the features with which 'cargo test --workspace' compiled them.
    build.args(["build", "--quiet", "--locked", "--workspace", "--bins", "--test", "what_was_skipped"]);
    build.args(["--profile", profile]);
    build.arg("--manifest-path").arg(concat!(env!("CARGO_MANIFEST_DIR"), "/../Cargo.toml"));
    let output = build.arg("--target-dir").arg(target_dir).output().expect("cargo can be run");
    assert!(output.status.success(), "{build:?}:\n{}", String::from_utf8_lossy(&output.stderr));
}

/// Whether cargo sets this variable to tell a test about its own package.
fn is_of_package(variable: &OsStr) -> bool {
    let name = variable.to_string_lossy();
    name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_")
}

/// Returns a command for the cargo that runs the tests or, if they run by hand, the one that built them. Drops the
/// variables that describe the running test's package: they are wrong for others, and would cause rebuilds.
pub(crate) fn cargo() -> Command {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| env!("CARGO").into()));
    for (variable, _) in env::vars_os().filter(|(name, _)| is_of_package(name)) {
        command.env_remove(variable);
    }
    command
}
