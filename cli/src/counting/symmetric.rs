//! The search for symmetric solutions.

use std::sync::atomic::AtomicBool;
use std::thread::{self, JoinHandle};

use anyhow::Context;
use queens_solver::{BoardSize, half_turn, quarter_turn};

/// The search for symmetric solutions, which a thread does beside the counting: it is small, but not nothing.
pub(crate) struct Symmetric(JoinHandle<Option<(u64, u64)>>);

impl Symmetric {
    pub(crate) fn start(n: BoardSize) -> anyhow::Result<Self> {
        // If the count is interrupted, the process ends and this with it.
        static NEVER: AtomicBool = AtomicBool::new(false);
        let search = move || Some((half_turn(n, &NEVER)?, quarter_turn(n, &NEVER)?));
        let thread = thread::Builder::new().name("symmetric".to_owned()).spawn(search);
        Ok(Self(thread.context("failed to start a thread")?))
    }

    /// The solutions that a half turn leaves as they are, and those that a quarter turn does.
    pub(crate) fn finish(self) -> anyhow::Result<(u64, u64)> {
        self.0.join().ok().flatten().context("the search for symmetric solutions did not end")
    }
}
