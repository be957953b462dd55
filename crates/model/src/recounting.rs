//! The progress of a job's recounts, and the certainty that they give.

use queens_solver::{Count, Span};

use crate::name::Name;
use crate::terms::{Share, Terms};

/// The progress of a job's recounts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Recounting {
    /// Records to recount, drawn or in doubt, on which no two names agree yet. More may be drawn.
    pub n_open: u64,
    /// The expected remaining work of all recounts, in nodes.
    pub work_left: u128,
    /// Records with different counts.
    pub n_cases: u64,
    /// The job's records that were examined since the coordinator started.
    pub n_records: u64,
    /// The connected parties that can count the job.
    pub n_parties: u64,
}

/// A verdict on a span with different counts: the count that two names agree on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerdictStatus {
    /// The span.
    pub span: Span,
    /// Number of the verdict on this span, from 0.
    pub number: u32,
    /// Time of the verdict, in milliseconds since 1970.
    pub at_ms: u64,
    /// The count of the two names.
    pub count: Count,
    /// One of the two names.
    pub worker: Name,
    /// Its kernel.
    pub kernel: Name,
    /// The count that lost.
    pub lost: Count,
    /// The name that counted it.
    pub lost_worker: Name,
    /// Its kernel.
    pub lost_kernel: Name,
}

/// The confidence of a claim that a falsification would have been noticed.
const SURE: f64 = 0.99;

/// Returns the least number of falsified records that a recount notices with a probability of 99 %.
fn surely_noticed(share: Share) -> f64 {
    ((1.0 - SURE).ln() / (1.0 - share.fraction()).ln()).ceil()
}

/// Describes the certainty that recounting a share of a job gives; `None` if nothing is recounted. A worker that
/// falsifies k of its records goes unnoticed with a probability of (1 - p)^k. For two friends of m parties, p is
/// multiplied by (m - 2) / (m - 1), unless one party is trusted with the recounts.
#[must_use]
pub fn bound(terms: &Terms, recounting: &Recounting) -> Option<String> {
    let (share, n_records, n_parties) = (terms.recount, recounting.n_records, recounting.n_parties);
    if share == Share::NOTHING {
        return None;
    }
    let of_friends = if n_parties < 4 || terms.recount_by.is_some() {
        String::new()
    } else {
        let others = (n_parties - 1) as f64;
        let passes = |n_lies| 100.0 * (1.0 - share.fraction() * (others - 1.0) / others).powi(n_lies);
        // Rounded up, so as not to claim too much.
        let [one, ten] = [1, 10].map(|n_lies| (passes(n_lies) * 100.0).ceil() / 100.0);
        format!(
            "; two friends of the {n_parties} parties hide one falsified record with {one} %, and ten with {ten} %"
        )
    };
    if share == Share::ALL {
        return Some(format!("every record is what two parties have counted{of_friends}"));
    }
    let one_percent = (n_records as f64 / 100.0).ceil();
    if n_records > 0 {
        let noticed = 100.0 * (1.0 - (1.0 - share.fraction()).powf(one_percent));
        // Rounded down, so as not to claim too much.
        let noticed = (noticed * 100.0).floor() / 100.0;
        return Some(format!(
            "if any worker had falsified 1 % of the {n_records} records ({one_percent}), this would have been noticed with \
             {noticed} %; of {} records with 99 %{of_friends}",
            surely_noticed(share)
        ));
    }
    Some(format!(
        "if any worker had falsified {} records, this would have been noticed with 99 %{of_friends}",
        surely_noticed(share)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(ppm: u32, n_records: u64, expected: &str) {
        let terms = Terms { recount: Share::of_ppm(ppm).expect("a share"), ..Terms::default() };
        let recounting = Recounting { n_records, n_parties: 4, ..Recounting::default() };
        let found = bound(&terms, &recounting).unwrap_or_default();
        assert!(found.contains(expected), "{found}");
    }

    #[test]
    fn what_a_share_is_worth_is_said_with_numbers() {
        assert_eq!(bound(&Terms::default(), &Recounting::default()), None);
        check(
            1_000_000,
            5,
            "two parties have counted; two friends of the 4 parties hide one falsified record with 33.34 %",
        );
        check(100_000, 0, "with 93.34 %, and ten with 50.17 %");
        check(10_000, 0, "459 records");
        check(10_000, 100_000, "1 % of the 100000 records (1000), this would have been noticed with 99.99 %");
        check(100_000, 1000, "(10), this would have been noticed with 65.13 %; of 44 records with 99 %");
        check(999_999, 0, "1 records");
    }
}
