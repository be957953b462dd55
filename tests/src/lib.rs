//! What the whole-system tests share: the real binaries, what they do when run, and what they leave on disk.

pub mod browser;
pub mod chance;
pub mod cluster;
pub mod data_dir;
pub mod docker;
pub mod process;
pub mod site;

mod binary;

use std::io::{self, Write};

pub use self::binary::binary;

/// Says that something could not be tested here; not through `eprintln!`, which the test harness swallows.
pub fn skipped(what: &str) {
    _ = writeln!(io::stderr(), "skipped: {what}");
}
