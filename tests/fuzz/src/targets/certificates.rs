//! Fuzzes certificates and keys: files from strangers.

use std::fs;
use std::io::Cursor;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, Ordering};

use queens_certificate::{
    Extent, Key, Options, Part, PublicKey, Refusal, Report, Sample, Stage, check, merge,
};
use queens_solver::{Kernel, published};

use crate::outcome::Outcome;
use crate::targets::databases::Directory;
use crate::targets::sealing::{pack, sealed, unpack};

/// The largest board that gets a plan: a large one takes longer than any input may.
const MOST_PLANNED: u8 = 7;

/// The longest key file.
const LONGEST_KEY: usize = 80;

/// Reads the input in three ways: as a file; as the text of a packed file; and as that text with sums, tree and
/// signature made to fit.
pub(crate) fn run(input: &[u8]) -> Outcome {
    let mut outcome = check_file(input).or(key(input));
    if let Ok(text) = str::from_utf8(input) {
        outcome = outcome.or(check_file(&pack(input)));
        for with_sums in [false, true] {
            if let Some(file) = sealed(text, with_sums) {
                outcome = outcome.or(check_file(&file));
            }
        }
    }
    outcome
}

/// Runs every operation on a file.
fn check_file(file: &[u8]) -> Outcome {
    let Ok(report) = checked(file, None) else { return Outcome::Refused };
    let known = published(report.n).map(|known| known.solutions);
    assert!(report.fundamental.is_none() || Some(report.solutions) == known, "{report:?}");
    // A full recount finds the same, or a lie.
    let all = Sample { extent: Extent::Share(1.0), seed: 1 };
    if let Ok(again) = checked(file, Some(all)) {
        assert_eq!(again.solutions, report.solutions);
    }
    let (copy, _) = merged(&[file]).expect("it is one part, or more that follow each other");
    assert_eq!(unpack(&copy), unpack(file));
    assert!(merged(&[file, file]).is_err(), "all of it twice is merged");
    Outcome::Accepted
}

fn checked(file: &[u8], sample: Option<Sample>) -> Result<Report, Refusal> {
    let stop = AtomicBool::new(false);
    check(file, &Options { sample, ..options(&stop) }, &|stage| stop_at(stage, &stop))
}

fn merged(files: &[&[u8]]) -> Result<(Vec<u8>, Vec<Report>), Refusal> {
    let stop = AtomicBool::new(false);
    let part = |file: &&[u8]| Part { name: "a".to_owned(), file: Cursor::new(file.to_vec()) };
    let mut out = Vec::new();
    let parts = files.iter().map(part).collect();
    let reports = merge(parts, &mut out, &options(&stop), &|stage| stop_at(stage, &stop))?;
    Ok((out, reports))
}

fn options(stop: &AtomicBool) -> Options<'_> {
    let (kernel, n_threads) = (Kernel::Portable, NonZeroUsize::MIN);
    Options { keys: &[], sample: None, long: false, kernel, n_threads, stop }
}

/// Stops the slow stages, as a user at a terminal would.
fn stop_at(stage: Stage, stop: &AtomicBool) {
    let takes_long = match stage {
        Stage::Planning(n) | Stage::Turning(n) => n.get() > MOST_PLANNED,
        Stage::Reading(_) | Stage::Recounting { .. } => false,
    };
    stop.fetch_or(takes_long, Ordering::Relaxed);
}

/// Parses the input as the file of a private key, and as a public key. A refused file stays unchanged.
fn key(input: &[u8]) -> Outcome {
    if input.len() > LONGEST_KEY {
        return Outcome::Refused;
    }
    let public = str::from_utf8(input).ok().and_then(|text| text.parse::<PublicKey>().ok());
    let dir = Directory::new("key");
    let file = dir.path().join("signing.key");
    fs::write(&file, input).expect("written");
    let private = Key::of_directory(dir.path());
    assert_eq!(fs::read(&file).expect("readable"), input);
    Outcome::of(public.is_some() || private.is_ok())
}
