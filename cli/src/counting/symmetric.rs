//! Counts symmetric solutions.

use std::sync::atomic::AtomicBool;
use std::thread::{self, JoinHandle};

use anyhow::Context;
use queens_solver::{BoardSize, half_turn, quarter_turn};

/// The count of symmetric solutions. It is small, but not negligible, so a separate thread runs it in parallel.
pub(crate) struct Symmetric(JoinHandle<Option<(u64, u64)>>);

impl Symmetric {
    pub(crate) fn start(n: BoardSize) -> anyhow::Result<Self> {
        // If the count is interrupted, the process ends with this thread.
        static NEVER: AtomicBool = AtomicBool::new(false);
        let search = move || Some((half_turn(n, &NEVER)?, quarter_turn(n, &NEVER)?));
        let thread = thread::Builder::new().name("symmetric".to_owned()).spawn(search);
        Ok(Self(thread.context("failed to start a thread")?))
    }

    /// Returns the numbers of solutions that are unchanged by a half turn, and by a quarter turn.
    pub(crate) fn finish(self) -> anyhow::Result<(u64, u64)> {
        self.0.join().ok().flatten().context("the search for symmetric solutions did not end")
    }
}
