//! Lists directories.

use std::fs;
use std::path::{Path, PathBuf};

/// Returns the paths of a directory's entries, sorted.
///
/// # Panics
/// Panics if it can't be read.
#[track_caller]
#[must_use]
pub fn entries(dir: impl AsRef<Path>) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).expect("a directory can be read");
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry can be read").path()).collect();
    paths.sort();
    paths
}

/// Returns the names of a directory's entries, sorted.
///
/// # Panics
/// Panics if it can't be read.
#[track_caller]
#[must_use]
pub fn names(dir: impl AsRef<Path>) -> Vec<String> {
    let name = |path: &PathBuf| path.file_name().expect("a name").to_string_lossy().into_owned();
    entries(dir).iter().map(name).collect()
}

/// Returns all files below a directory.
///
/// # Panics
/// Panics if it can't be read.
#[track_caller]
#[must_use]
pub fn files_below(dir: impl AsRef<Path>) -> Vec<PathBuf> {
    let below = |path: PathBuf| if path.is_dir() { files_below(path) } else { vec![path] };
    entries(dir).into_iter().flat_map(below).collect()
}
