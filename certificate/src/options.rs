//! How a certificate is checked, and what is told meanwhile.

use std::num::NonZeroUsize;
use std::sync::atomic::AtomicBool;

use queens_solver::{BoardSize, Kernel};

use crate::key::PublicKey;
use crate::sample::Sample;

/// How a certificate is checked.
#[derive(Clone, Copy, Debug)]
pub struct Options<'a> {
    /// Keys that may sign it; none if any may.
    pub keys: &'a [PublicKey],
    /// What of it is counted again.
    pub sample: Option<Sample>,
    /// What with.
    pub kernel: Kernel,
    /// Whether boards are checked that take long: it is the file that says which board it is about.
    pub long: bool,
    /// With how many threads.
    pub n_threads: NonZeroUsize,
    /// Set when nobody wants to know any more.
    pub stop: &'a AtomicBool,
}

/// How long it takes to check a board of which nothing is published, apart from what is counted again, in words, if that
/// is worth a word; and whether it is long. The plan of each pass is made, and the symmetric placements are counted.
/// (Measured, in core-seconds: plans by search 1.5 for n = 28, 2 for 29, 40 for 30 and 53 for 31, less than an hour for
/// 32; by halves less than one; symmetric placements 33 for 28 and 64 for 29, more than 150 for 30.)
#[must_use]
pub fn time_to_check(n: BoardSize) -> Option<(&'static str, bool)> {
    match n.get() {
        ..=27 => None,
        28 | 29 => Some(("a core-minute or two", false)),
        30 | 31 => Some(("many core-minutes", true)),
        _ => Some(("core-hours", true)),
    }
}

/// What is being done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// The plan of this board is made again.
    Planning(BoardSize),
    /// So many records are read.
    Reading(u64),
    /// The symmetric placements of this board are counted, of which nothing is published.
    Turning(BoardSize),
    /// Of the records that were drawn, so many are counted again.
    Recounting {
        /// So many.
        done: u64,
        /// Of so many.
        of: u64,
    },
}
