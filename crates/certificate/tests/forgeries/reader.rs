//! Runs the independent reader, `docs/read_certificate.py`, on the files of these tests.

use std::fs;
use std::io::ErrorKind;
use std::process::Command;

use crate::skip::skipped;

const PROGRAM: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/read_certificate.py");

/// The forgeries that the reader accepts, by the knowledge that it lacks.
pub(crate) const ACCEPTED: &[(&str, &[&str])] = &[
    (
        "it makes no plans: these contradict the parts that the board has",
        &[
            "the image of a cross",
            "the mirror of an image",
            "another n",
            "an n that takes core-hours to check",
            "another version of the decomposition",
            "another method",
        ],
    ),
    (
        "it knows no published numbers",
        &["symmetric placements", "a solution more in a cross of both passes, added up"],
    ),
    (
        "it recounts nothing",
        &[
            "two solutions shifted between spans of a cross",
            "two solutions shifted between crosses in both passes",
            "nodes shifted between spans",
            "a node more in a record, added up",
            "crosses exchanged in both passes",
            "a border between spans moved by one",
            "the first pass copied into the second, but for one cross",
        ],
    ),
];

/// Returns whether the reader accepts a file that these keys may sign. `None` if there is no Python.
///
/// # Panics
/// Panics unless it refuses with one line and status 1.
pub(crate) fn accepts(file: &[u8], keys: &[String], is_optimized: bool) -> Option<bool> {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let path = dir.path().join("certificate");
    fs::write(&path, file).expect("written");
    let mut command = Command::new("python3");
    // Without assertions.
    command.args(is_optimized.then_some("-O")).arg(PROGRAM).arg(&path).args(keys);
    let said = match command.output() {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            skipped("certificates by docs/read_certificate.py, as python3 is not installed");
            return None;
        }
        said => said.expect("runs"),
    };
    let complaint = String::from_utf8_lossy(&said.stderr);
    if said.status.success() {
        assert_eq!(complaint, "");
        return Some(true);
    }
    assert_eq!((said.status.code(), complaint.lines().count()), (Some(1), 1), "{complaint}");
    assert_eq!(String::from_utf8_lossy(&said.stdout), "");
    Some(false)
}
