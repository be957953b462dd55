//! The results of checking a certificate.

use std::ops::Range;
use std::time::Duration;

use queens_model::Name;
use queens_solver::{BoardSize, Method};

use crate::header::{Header, Total};

/// The report of a valid certificate.
#[derive(Clone, Debug)]
pub struct Report {
    /// The size of the board.
    pub n: BoardSize,
    /// The range of plan parts that it covers.
    pub crosses: Range<u32>,
    /// The number of parts of the plan.
    pub n_crosses: u32,
    /// The weighted solutions of its parts: Q(n), if it covers all.
    pub solutions: u128,
    /// Those up to rotation and reflection, if it covers the whole board.
    pub fundamental: Option<u128>,
    /// Whether the count has been published. A certificate that contradicts a published count is refused.
    pub is_published: bool,
    /// Its parts, each counted and signed at one site.
    pub parts: Vec<PartReport>,
    /// The result of the sample that was recounted.
    pub sample: Option<SampleReport>,
}

/// The report of one part.
#[derive(Clone, Debug)]
pub struct PartReport {
    /// Its header.
    pub header: Header,
    /// Whether its signer is one of the expected keys.
    pub is_known: bool,
    /// Its passes.
    pub passes: Vec<PassReport>,
    /// How the passes agree.
    pub agreement: Agreement,
    /// The workers that lost a dispute.
    pub losers: Vec<LoserReport>,
}

/// A worker that lost a dispute.
#[derive(Clone, Debug)]
pub struct LoserReport {
    /// Its name.
    pub name: Name,
    /// The number of its unconfirmed records.
    pub n_unconfirmed: u64,
    /// The number of records that only it and one other party have counted.
    pub n_with_one_other: u64,
}

/// The report of one pass.
#[derive(Clone, Debug)]
pub struct PassReport {
    /// The counting method.
    pub method: Method,
    /// The sums of its records.
    pub total: Total,
    /// The microseconds of its records' threads, as the workers reported them.
    pub time_us: u128,
    /// The kernels that counted its records, as the workers reported them, in alphabetical order.
    pub kernels: Vec<Name>,
    /// The number of recounts of its records.
    pub n_again: u64,
    /// The number of records that another party has confirmed.
    pub n_confirmed: u64,
    /// The nodes of those records.
    pub confirmed_work: u128,
    /// The number of records that rest on one party. No other party has confirmed them. If there
    /// is another pass, that party has unconfirmed records there, too, in the same part if the method is the same. It
    /// may have falsified both alike.
    pub n_by_one: u64,
    /// The nodes of those records.
    pub work_by_one: u128,
    /// The number of decided disputes.
    pub n_verdicts: u64,
}

/// How the passes of a part agree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Agreement {
    /// There is only one pass.
    OnePass,
    /// Every part has equal solutions in both passes.
    EachCross {
        /// The number of parts in which one party has unconfirmed records in both passes. One party may make the same
        /// error twice.
        n_by_one: u32,
    },
    /// The whole board has equal solutions by two methods, which have only the board in common.
    Whole,
}

/// The result of a recounted sample.
#[derive(Clone, Debug)]
pub struct SampleReport {
    /// The seed that drew it.
    pub seed: u64,
    /// The number of records that it was drawn from.
    pub n_records: u64,
    /// The number of recounted records.
    pub n_recounted: u64,
    /// Their nodes.
    pub work: u128,
    /// The nodes of all records.
    pub all_work: u128,
    /// The duration of the recount.
    pub elapsed: Duration,
}

impl SampleReport {
    /// Returns the smallest share of false records that would be noticed with a probability of 99 %.
    #[must_use]
    pub fn noticed(&self) -> Option<f64> {
        const UNNOTICED: f64 = 0.01;
        if self.n_recounted == 0 {
            return None;
        }
        Some(if self.n_recounted == self.n_records {
            0.0
        } else {
            1.0 - UNNOTICED.powf(1.0 / self.n_recounted as f64)
        })
    }
}
