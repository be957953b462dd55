//! Options of a check, and its progress.

use std::num::NonZeroUsize;
use std::sync::atomic::AtomicBool;

use queens_solver::{BoardSize, Kernel};

use crate::key::PublicKey;
use crate::sample::Sample;

/// Options of a check.
#[derive(Clone, Copy, Debug)]
pub struct Options<'a> {
    /// The keys that may sign it; empty if any may.
    pub keys: &'a [PublicKey],
    /// The sample to recount.
    pub sample: Option<Sample>,
    /// The kernel for recounts.
    pub kernel: Kernel,
    /// Whether to check boards that take long: the file decides which board it is about.
    pub long: bool,
    /// The number of threads.
    pub n_threads: NonZeroUsize,
    /// Cancels the check when set.
    pub stop: &'a AtomicBool,
}

/// Returns the time to check a board without published counts, in words, if it is notable; and whether it is long. It
/// covers the plan of each pass and the count of symmetric placements, but no recounts. (Measured, in core-seconds:
/// plans by search 1.5 for n = 28, 2 for 29, 40 for 30 and 53 for 31, less than an hour for 32; by halves less than
/// one; symmetric placements 33 for 28 and 64 for 29, more than 150 for 30.)
#[must_use]
pub fn time_to_check(n: BoardSize) -> Option<(&'static str, bool)> {
    match n.get() {
        ..=27 => None,
        28 | 29 => Some(("a core-minute or two", false)),
        30 | 31 => Some(("many core-minutes", true)),
        _ => Some(("core-hours", true)),
    }
}

/// The present stage of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// The plan of this board is made again.
    Planning(BoardSize),
    /// The number of records that have been read.
    Reading(u64),
    /// The symmetric placements of this board are counted, because they are not published.
    Turning(BoardSize),
    /// The drawn records are recounted.
    Recounting {
        /// The number of finished ones.
        done: u64,
        /// The number of all.
        of: u64,
    },
}
