//! What a worker is made of.

use std::num::NonZeroUsize;

use queens_messages::Name;
use queens_solver::Kernel;

/// What a worker is.
#[derive(Clone, Debug)]
pub struct Config {
    /// The name people know it by.
    pub name: Name,
    /// What it counts with.
    pub kernel: Kernel,
    /// How many threads count.
    pub n_threads: NonZeroUsize,
}
