//! How often one worker has failed lately.

/// Failures of a worker in a row, after which it gets no more leases.
const MOST_IN_A_ROW: u32 = 8;

/// How often a worker has failed since it last reported anything, and what it had to say.
#[derive(Clone, Debug, Default)]
pub(crate) struct Failures {
    in_a_row: u32,
    too_many_spans: bool,
    reason: Option<String>,
}

impl Failures {
    /// It has failed once more, and on too many spans of one job or not.
    pub(crate) fn add(&mut self, reason: String, too_many_spans: bool) {
        self.in_a_row = self.in_a_row.saturating_add(1);
        self.too_many_spans |= too_many_spans;
        self.reason = Some(reason);
    }

    /// Whether its worker gets no more leases.
    pub(crate) fn are_too_many(&self) -> bool {
        self.in_a_row >= MOST_IN_A_ROW || self.too_many_spans
    }

    /// What it had to say the last time.
    pub(crate) fn reason(&self) -> Option<&str> {
        self.reason.as_deref()
    }
}
