//! Finds out which commit a release is built on, for `VERSION`. Other builds have none, so that they need not be made
//! again after each commit.

use std::env;
use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=QUEENS_COMMIT");
    let given = env::var("QUEENS_COMMIT").ok().filter(|commit| !commit.is_empty());
    let is_release = env::var("PROFILE").is_ok_and(|profile| profile == "release");
    let commit = given.or_else(|| if is_release { commit() } else { None });
    println!("cargo::rustc-env=QUEENS_VERSION={}", version(commit.as_deref()));
}

fn version(commit: Option<&str>) -> String {
    let version = env::var("CARGO_PKG_VERSION").unwrap_or_default();
    let is_commit = |text: &&str| text.len() <= 40 && text.bytes().all(|byte| byte.is_ascii_alphanumeric());
    commit.filter(is_commit).map_or(version.clone(), |commit| format!("{version}+{commit}"))
}

/// The commit, if these are the files of a repository and not of an archive that lies in another.
fn commit() -> Option<String> {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).parent()?.canonicalize().ok()?;
    let top = Path::new(&git(&["rev-parse", "--show-toplevel"])?).canonicalize().ok()?;
    if top != workspace {
        return None;
    }
    // It changes with every commit and checkout.
    let log = git(&["rev-parse", "--git-path", "logs/HEAD"])?;
    let log = workspace.join("process").join(log);
    if log.exists() {
        println!("cargo::rerun-if-changed={}", log.display());
    }
    git(&["rev-parse", "--short=12", "HEAD"])
}

fn git(args: &[&str]) -> Option<String> {
    let output = Command::new("git").args(args).current_dir(env!("CARGO_MANIFEST_DIR")).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}
