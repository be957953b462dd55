//! How a certificate is checked, and what is told meanwhile.

use std::num::NonZeroUsize;
use std::sync::atomic::AtomicBool;

use queens_solver::Kernel;

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
    /// With how many threads.
    pub n_threads: NonZeroUsize,
    /// Set when nobody wants to know any more.
    pub stop: &'a AtomicBool,
}

/// What is being done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// A plan is made again.
    Planning,
    /// So many records are read.
    Reading(u64),
    /// The symmetric placements of a board are counted, of which nothing is published.
    Turning,
    /// Of the records that were drawn, so many are counted again.
    Recounting {
        /// So many.
        done: u64,
        /// Of so many.
        of: u64,
    },
}
