//! Runs the independent reader, `docs/read_certificate.py`, on the files of these tests.

use std::fs::{self, File};
use std::io::ErrorKind;
use std::path::Path;
use std::process::{Command, Output};

use crate::skip::skipped;

const DOCS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs");

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

/// Reads files with the function that the command calls, so that only one interpreter starts. It has no assertions.
const READ_ALL: &str = r#"
import contextlib, io, sys
sys.path.insert(0, sys.argv[1])
from read_certificate import main
for path in sys.stdin.read().splitlines():
    said = io.StringIO()
    try:
        with contextlib.redirect_stdout(said):
            main(path, *sys.argv[2:])
        print("accepted")
    except SystemExit as refusal:
        is_one_line = isinstance(refusal.code, str) and len(refusal.code.splitlines()) == 1
        print("refused" if is_one_line and not said.getvalue() else f"{path}: {refusal.code!r}")
"#;

/// Returns which of these files the reader accepts, with these keys that may sign. `None` if there is no Python.
///
/// # Panics
/// Panics unless it refuses the others with one line.
pub(crate) fn accepts(files: &[Vec<u8>], keys: &[String]) -> Option<Vec<bool>> {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let mut paths = String::new();
    for (number, file) in files.iter().enumerate() {
        let path = dir.path().join(number.to_string());
        fs::write(&path, file).expect("written");
        paths += &format!("{}\n", path.display());
    }
    let list = dir.path().join("list");
    fs::write(&list, paths).expect("written");
    let mut command = Command::new("python3");
    // -B: without a cache beside the reader.
    command.args(["-O", "-B", "-c", READ_ALL, DOCS]).args(keys).stdin(File::open(list).expect("opens"));
    let said = output(&mut command)?;
    assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
    let verdicts = String::from_utf8(said.stdout).expect("text");
    let verdict = |verdict: &str| match verdict {
        "accepted" => true,
        "refused" => false,
        other => panic!("{other}"),
    };
    Some(verdicts.lines().map(verdict).collect())
}

/// Returns whether the command accepts a file; `None` if there is no Python.
///
/// # Panics
/// Panics unless it refuses with one line and status 1.
pub(crate) fn run(file: &[u8], keys: &[String]) -> Option<bool> {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let path = dir.path().join("certificate");
    fs::write(&path, file).expect("written");
    let program = Path::new(DOCS).join("read_certificate.py");
    let said = output(Command::new("python3").arg(program).arg(&path).args(keys))?;
    let complaint = String::from_utf8_lossy(&said.stderr);
    if said.status.success() {
        assert_eq!(complaint, "");
        return Some(true);
    }
    assert_eq!((said.status.code(), complaint.lines().count()), (Some(1), 1), "{complaint}");
    assert_eq!(String::from_utf8_lossy(&said.stdout), "");
    Some(false)
}

fn output(python: &mut Command) -> Option<Output> {
    match python.output() {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            skipped("certificates by docs/read_certificate.py, as python3 is not installed");
            None
        }
        said => Some(said.expect("runs")),
    }
}
