//! A completed count and its contributors.

use std::collections::BTreeSet;

use queens_model::{Contribution, JobStatus};
use queens_store::sqlite::CountedBy;
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
    #[serde(skip_serializing_if = "Option::is_none")]
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
