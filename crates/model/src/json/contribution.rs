//! Workers' contributions to a job as JSON.

use serde::Serialize;

/// A worker's contribution to a job.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Contribution {
    /// The worker's name.
    worker: String,
    /// The worker's kernel.
    kernel: String,
    /// Recorded spans.
    spans: u64,
    /// Work of these spans: nodes for the search, units of pairs for halves.
    work: String,
    /// Time of the worker's threads for these spans, added up.
    core_seconds: f64,
    /// Share of the work of all contributions, 0 to 1.
    share: f64,
}

impl Contribution {
    /// Converts all contributions to a job, each with its share of the total work.
    #[must_use]
    pub fn all(contributions: &[crate::Contribution]) -> Vec<Self> {
        let all = contributions.iter().map(|it| it.work).sum::<u128>().max(1) as f64;
        let one = |it: &crate::Contribution| Self {
            worker: it.worker.to_string(),
            kernel: it.kernel.to_string(),
            spans: it.n_spans,
            work: it.work.to_string(),
            core_seconds: it.time.as_secs_f64(),
            share: it.work as f64 / all,
        };
        contributions.iter().map(one).collect()
    }
}
