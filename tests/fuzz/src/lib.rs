//! Fuzz targets for all code that reads bytes from outside.
//!
//! Each [`Target`] in [`TARGETS`] takes an input as it could come from a network, a disk or a command line. It panics
//! in four cases: a decoder panics; it takes much memory or time; an accepted value changes when it is written and read
//! again; a refused input has changed something. `tests/corpus` plays the inputs in `corpus` and random mutations of
//! them. The program `queens-fuzz` (`guided.rs`, run by `.ci/long fuzz`) lets libFuzzer search for inputs that reach
//! more code.

mod cost;
mod outcome;
mod target;
mod targets;

pub use outcome::Outcome;
pub use target::{TARGETS, Target};
