//! Determines a release's commit and its date, for `VERSION` and `--version`.
//!
//! Other builds contain neither, so that a commit does not force a rebuild.

use std::env;
use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=QUEENS_COMMIT");
    println!("cargo::rerun-if-env-changed=QUEENS_COMMIT_DATE");
    let given = |name: &str| env::var(name).ok().filter(|value| !value.is_empty());
    let is_release = env::var("PROFILE").is_ok_and(|profile| profile == "release");
    let (commit, date) = match given("QUEENS_COMMIT") {
        Some(commit) => (Some(commit), given("QUEENS_COMMIT_DATE")),
        None if is_release => commit().unzip(),
        None => (None, None),
    };
    println!("cargo::rustc-env=QUEENS_VERSION={}", version(commit.as_deref()));
    let is_date =
        |date: &String| date.len() == 10 && date.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'-'));
    println!("cargo::rustc-env=QUEENS_COMMIT_DATE={}", date.filter(is_date).unwrap_or_default());
    println!("cargo::rustc-env=QUEENS_TARGET={}", env::var("TARGET").unwrap_or_default());
}

fn version(commit: Option<&str>) -> String {
    let version = env::var("CARGO_PKG_VERSION").unwrap_or_default();
    let is_commit = |text: &&str| text.len() <= 40 && text.bytes().all(|byte| byte.is_ascii_alphanumeric());
    commit.filter(is_commit).map_or(version.clone(), |commit| format!("{version}+{commit}"))
}

/// Returns the commit and its date in UTC; `None` for the files of an archive that was unpacked inside another
/// repository.
fn commit() -> Option<(String, String)> {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().ok()?;
    let top = Path::new(&git(&["rev-parse", "--show-toplevel"])?).canonicalize().ok()?;
    if top != workspace {
        return None;
    }
    // It changes with every commit and checkout.
    let log = git(&["rev-parse", "--git-path", "logs/HEAD"])?;
    let log = Path::new(env!("CARGO_MANIFEST_DIR")).join(log);
    if log.exists() {
        println!("cargo::rerun-if-changed={}", log.display());
    }
    let date = git(&["log", "-1", "--format=%cd", "--date=format-local:%Y-%m-%d"])?;
    Some((git(&["rev-parse", "--short=12", "HEAD"])?, date))
}

fn git(args: &[&str]) -> Option<String> {
    let output = Command::new("git")
        .args(args)
        .env("TZ", "UTC")
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}
