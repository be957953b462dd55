//! What reads bytes from outside, fed with all sorts of bytes.
//!
//! Each [`Target`] in [`TARGETS`] takes an input as it could come from a network, a disk or a command line. It fails
//! by a panic: if a decoder panics, takes much memory or long, if what is accepted is not the same when it is written
//! and read again, or if what is refused has changed something. `tests/corpus` plays the inputs that are kept in
//! `corpus`, and others made of them by chance; the program `queens-fuzz` (`guided.rs`, run by `.ci/fuzz`) lets
//! libFuzzer look for inputs that reach more of the code.

mod cost;
mod outcome;
mod target;
mod targets;

pub use outcome::Outcome;
pub use target::{TARGETS, Target};
