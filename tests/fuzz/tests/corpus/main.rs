//! Plays the kept inputs, and random mutations of them, to all fuzz targets.
//!
//! `QUEENS_FUZZ_SECONDS` sets the total time for mutations, `QUEENS_FUZZ_TARGET` selects one target, and `SEED` repeats
//! a run.

mod mutate;

use std::any::Any;
use std::collections::BTreeSet;
use std::env;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use queens_fuzz::{Outcome, TARGETS, Target};
use queens_solver::SplitMix;

use crate::mutate::mutate;

/// The most bytes of all kept inputs: they are part of the repository.
const MOST_KEPT: usize = 600_000;

/// The directory for inputs with which a target fails.
const FOUND: &str = concat!(env!("CARGO_TARGET_TMPDIR"), "/fuzz");

fn corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus")
}

/// Returns the names of a directory's entries.
fn entries(dir: &Path) -> BTreeSet<String> {
    let entries = fs::read_dir(dir).unwrap_or_else(|error| panic!("{}: {error}", dir.display()));
    let name = |entry: fs::DirEntry| entry.file_name().into_string().expect("a name in UTF-8");
    entries.map(|entry| name(entry.expect("a directory can be read"))).collect()
}

fn number(name: &str, default: impl FnOnce() -> u64) -> u64 {
    env::var(name).map_or_else(|_| default(), |text| text.parse().expect("a number"))
}

/// One target at a time, as all memory of the process counts for an input.
#[test]
fn whatever_comes_from_outside_does_no_harm() {
    let names: BTreeSet<String> = TARGETS.iter().map(|target| target.name.to_owned()).collect();
    assert_eq!(entries(&corpus()), names, "each target has a directory of inputs, and nothing else has");
    let clock = || SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let (seed, seconds) = (number("SEED", clock), number("QUEENS_FUZZ_SECONDS", || 10));
    say(&format!("SEED={seed}"));
    let chosen = env::var("QUEENS_FUZZ_TARGET").ok();
    let is_chosen = |target: &&Target| chosen.as_ref().is_none_or(|name| name == target.name);
    let targets: Vec<&Target> = TARGETS.iter().filter(is_chosen).collect();
    let share = Duration::from_secs(seconds) / u32::try_from(targets.len()).expect("few");
    let mut n_bytes = 0;
    for target in targets {
        let inputs = kept(target);
        n_bytes += inputs.iter().map(Vec::len).sum::<usize>();
        play(target, inputs, seed, share);
    }
    assert!(
        n_bytes <= MOST_KEPT,
        "inputs of {n_bytes} bytes are kept: '.ci/long keep_inputs' makes them fewer"
    );
}

/// Returns the kept inputs of a target.
fn kept(target: &Target) -> Vec<Vec<u8>> {
    let dir = corpus().join(target.name);
    let names = entries(&dir);
    names
        .iter()
        .map(|name| fs::read(dir.join(name)).unwrap_or_else(|error| panic!("{name}: {error}")))
        .collect()
}

/// Feeds a target with its kept inputs, then for some time with mutations of them.
fn play(target: &Target, mut inputs: Vec<Vec<u8>>, seed: u64, time: Duration) {
    let n_kept = inputs.len();
    let outcomes: Vec<Outcome> = inputs.iter().map(|input| feed(target, input)).collect();
    for outcome in [Outcome::Accepted, Outcome::Refused] {
        // If all inputs are refused because something has changed, no mutation gets far.
        assert!(outcomes.contains(&outcome), "no input of {} is {outcome:?}", target.name);
    }
    let (mut random, began, mut n_fed) = (SplitMix::new(seed), Instant::now(), 0_u64);
    while began.elapsed() < time {
        let input = mutate(&mut random, &inputs, target.longest);
        let outcome = feed(target, &input);
        n_fed += 1;
        // Some accepted inputs become a base for more mutations.
        if outcome == Outcome::Accepted && inputs.len() < 2 * n_kept + 64 && random.below(8) == 0 {
            inputs.push(input);
        }
    }
    let rate = n_fed as f64 / began.elapsed().as_secs_f64().max(1e-9);
    say(&format!("{}: {n_kept} inputs kept, {n_fed} made of them, {rate:.0} a second", target.name));
}

/// Feeds a target; if it fails, saves the input and prints its path.
fn feed(target: &Target, input: &[u8]) -> Outcome {
    catch_unwind(AssertUnwindSafe(|| target.feed(input))).unwrap_or_else(|panic| {
        let file = Path::new(FOUND).join(format!("{}-{:08x}", target.name, crc32fast::hash(input)));
        let written = fs::create_dir_all(FOUND).and_then(|()| fs::write(&file, input));
        panic!(
            "{} fails with {}: {}; that is in '{}' ({written:?}): mend it, and keep the input in tests/fuzz/corpus/{}",
            target.name,
            start(&input.escape_ascii().to_string()),
            start(message(panic.as_ref())),
            file.display(),
            target.name,
        )
    })
}

/// Returns the beginning of a text, for a message.
fn start(text: &str) -> String {
    text.chars().take(1000).collect()
}

fn message(panic: &(dyn Any + Send)) -> &str {
    panic
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| panic.downcast_ref().copied())
        .unwrap_or("?")
}

#[expect(clippy::print_stdout, reason = "the harness shows it if the test fails")]
fn say(text: &str) {
    println!("{text}");
}
