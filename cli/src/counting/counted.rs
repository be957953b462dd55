//! A completed count and its contributors.

use std::collections::BTreeSet;
use std::sync::atomic::AtomicBool;
use std::thread::{self, JoinHandle};

use anyhow::Context;
use queens_model::{Contribution, JobStatus};
use queens_solver::{BoardSize, half_turn, quarter_turn};
use queens_store::CountedBy;
use serde::Serialize;

/// A completed job and its contributors.
pub(crate) struct Counted {
    pub(crate) job: JobStatus,
    /// The threads of this process; 0 if nothing was left to count, `None` if other processes counted.
    pub(crate) n_threads: Option<usize>,
    pub(crate) kernel: String,
    /// The work counted in this run.
    pub(crate) counted_now: u128,
    /// The contributors, as far as they are known.
    pub(crate) counted_by: Vec<Counter>,
}

/// A contributor.
#[derive(Debug, Serialize)]
pub(crate) struct Counter {
    pub(crate) worker: String,
    /// A data directory knows it; a coordinator does not report it.
    pub(crate) build: Option<String>,
    pub(crate) kernel: String,
    pub(crate) work: String,
    pub(crate) core_seconds: f64,
}

/// Joins the kernels' names: "avx2+portable".
pub(crate) fn kernels(counted_by: &[Counter]) -> String {
    let kernels: BTreeSet<&str> = counted_by.iter().map(|by| by.kernel.as_str()).collect();
    kernels.into_iter().collect::<Vec<_>>().join("+")
}

impl From<&Contribution> for Counter {
    fn from(by: &Contribution) -> Self {
        Self {
            worker: by.worker.to_string(),
            build: None,
            kernel: by.kernel.to_string(),
            work: by.work.to_string(),
            core_seconds: by.time.as_secs_f64(),
        }
    }
}

impl From<&CountedBy> for Counter {
    fn from(by: &CountedBy) -> Self {
        Self {
            worker: by.source.name.to_string(),
            build: Some(by.source.build.to_string()),
            kernel: by.source.kernel.to_string(),
            work: by.work.to_string(),
            core_seconds: by.core_time.as_secs_f64(),
        }
    }
}

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
