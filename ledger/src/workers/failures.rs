//! Counts a worker's failures since its last success, and decides when it gets no more leases.

/// A worker with this many failures in a row gets no more leases.
const MOST_IN_A_ROW: u32 = 8;

/// The failures of a worker since its last successful report.
#[derive(Clone, Debug, Default)]
pub(crate) struct Failures {
    in_a_row: u32,
    too_many_spans: bool,
    reason: Option<String>,
}

impl Failures {
    /// Adds a failure. `too_many_spans` says whether the worker has failed on too many spans of one job.
    pub(crate) fn add(&mut self, reason: String, too_many_spans: bool) {
        self.in_a_row = self.in_a_row.saturating_add(1);
        self.too_many_spans |= too_many_spans;
        self.reason = Some(reason);
    }

    /// Whether its worker gets no more leases.
    pub(crate) fn are_too_many(&self) -> bool {
        self.in_a_row >= MOST_IN_A_ROW || self.too_many_spans
    }

    /// Returns the message of the last failure.
    pub(crate) fn reason(&self) -> Option<&str> {
        self.reason.as_deref()
    }
}
