//! What the whole-system tests share: the real binaries, what they do when run, and what they leave on disk.

pub mod browser;
pub mod chance;
pub mod cluster;
pub mod data_dir;
pub mod disk;
pub mod docker;
pub mod http;
pub mod process;
pub mod proxy;
pub mod service;

mod binary;
mod skip;

use std::io::{self, Write};

pub use self::binary::binary;
pub use self::skip::{impossible, notes_of, skipped};

/// Says something that is to be read, also of a test that passes: not through `eprintln!`, which the harness swallows.
pub fn say(what: &str) {
    _ = writeln!(io::stderr(), "{what}");
}
