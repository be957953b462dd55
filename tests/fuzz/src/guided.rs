//! Lets libFuzzer feed the target that the environment variable `QUEENS_FUZZ_TARGET` names.

#![no_main]

use std::env;
use std::sync::OnceLock;

use libfuzzer_sys::{Corpus, fuzz_target};
use queens_fuzz::{Outcome, TARGETS, Target};

static CHOSEN: OnceLock<&Target> = OnceLock::new();

fuzz_target!(init: choose(), |input: &[u8]| -> Corpus {
    let Some(target) = CHOSEN.get() else { return Corpus::Reject };
    let (Outcome::Accepted | Outcome::Refused) = target.feed(input);
    Corpus::Keep
});

fn choose() {
    let name = env::var("QUEENS_FUZZ_TARGET").expect("QUEENS_FUZZ_TARGET names a target");
    let target = TARGETS.iter().find(|target| target.name == name);
    _ = CHOSEN.set(target.expect("there is such a target"));
}
