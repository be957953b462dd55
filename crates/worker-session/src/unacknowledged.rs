//! Reports that are sent but not acknowledged.

use std::collections::BTreeMap;

use queens_model::{Delta, Held, JobIdentity, LeaseId, Report};
use queens_solver::Span;

/// The maximum number of unacknowledged reports. Further counts stay in the queue until one is acknowledged.
const MOST: usize = 16;

/// All reports that may be lost, and the next sequence number.
#[derive(Debug)]
pub(crate) struct Unacknowledged {
    /// Oldest first.
    reports: Vec<Report>,
    next_sequence: u64,
}

impl Default for Unacknowledged {
    fn default() -> Self {
        Self { reports: Vec::new(), next_sequence: 1 }
    }
}

impl Unacknowledged {
    pub(crate) fn reports(&self) -> &[Report] {
        &self.reports
    }

    /// Returns whether a new report must wait for an acknowledgement.
    pub(crate) fn is_full(&self) -> bool {
        self.reports.len() >= MOST
    }

    /// Creates a report, and keeps it unless it is only a heartbeat.
    pub(crate) fn report(&mut self, deltas: Vec<Delta>, finished: Vec<LeaseId>) -> Report {
        let report = Report { sequence: self.next_sequence, deltas, finished };
        self.next_sequence += 1;
        if !report.is_empty() {
            self.reports.push(report.clone());
        }
        report
    }

    /// Forgets all reports up to this one, which are durable.
    pub(crate) fn acknowledge(&mut self, sequence: u64) {
        self.reports.retain(|report| report.sequence > sequence);
    }

    /// Merges the spans in the queue with those of unacknowledged reports. A restarted coordinator may know neither.
    pub(crate) fn with_held(&self, held: Vec<Held>) -> Vec<Held> {
        let mut spans: BTreeMap<(LeaseId, JobIdentity), Vec<Span>> = BTreeMap::new();
        for delta in self.reports.iter().flat_map(|report| &report.deltas) {
            spans.entry((delta.lease, delta.job)).or_default().push(delta.span);
        }
        for mut held in held {
            spans.entry((held.lease, held.job)).or_default().append(&mut held.spans);
        }
        spans.into_iter().map(|((lease, job), spans)| Held { lease, job, spans }).collect()
    }
}
