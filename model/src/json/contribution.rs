//! Who has counted what.

use serde::Serialize;

/// What a worker has counted.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Contribution {
    /// Its name.
    worker: String,
    /// Its kernel.
    kernel: String,
    /// Spans that are recorded of it.
    spans: u64,
    /// Their work: by search nodes, by halves units of pairs.
    nodes: String,
    /// The time its threads took for them, added up.
    core_seconds: f64,
    /// Its share of the work of all, 0 to 1.
    share: f64,
}

impl Contribution {
    /// All of them, each with its share of all work.
    #[must_use]
    pub fn all(contributions: &[crate::Contribution]) -> Vec<Self> {
        let all = contributions.iter().map(|it| it.nodes).sum::<u128>().max(1) as f64;
        let one = |it: &crate::Contribution| Self {
            worker: it.worker.to_string(),
            kernel: it.kernel.to_string(),
            spans: it.n_spans,
            nodes: it.nodes.to_string(),
            core_seconds: it.time.as_secs_f64(),
            share: it.nodes as f64 / all,
        };
        contributions.iter().map(one).collect()
    }
}
