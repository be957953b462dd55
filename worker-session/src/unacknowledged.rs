//! Reports that were sent and are not acknowledged.

use std::collections::BTreeMap;

use queens_model::{Delta, Held, JobIdentity, LeaseId, Report};
use queens_solver::Span;

/// Reports that may wait to be acknowledged. Beyond that, what is counted stays on the desk until some are.
const MOST: usize = 16;

/// All that a worker has reported and that may be lost, and what the next report is numbered.
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

    /// Whether nothing more may be reported before something is acknowledged.
    pub(crate) fn is_full(&self) -> bool {
        self.reports.len() >= MOST
    }

    /// Makes a report, which is kept unless it is no more than a sign of life.
    pub(crate) fn report(&mut self, deltas: Vec<Delta>, finished: Vec<LeaseId>) -> Report {
        let report = Report { sequence: self.next_sequence, deltas, finished };
        self.next_sequence += 1;
        if !report.is_empty() {
            self.reports.push(report.clone());
        }
        report
    }

    /// All reports up to this one are durable.
    pub(crate) fn acknowledge(&mut self, sequence: u64) {
        self.reports.retain(|report| report.sequence > sequence);
    }

    /// What lies on the desk together with what was reported and not acknowledged: a coordinator that was restarted may
    /// know neither.
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
