//! What a certificate proves.

use std::ops::Range;
use std::time::Duration;

use queens_model::Name;
use queens_solver::{BoardSize, Method};

use crate::header::{Header, Total};

/// What a certificate proves that holds throughout.
#[derive(Clone, Debug)]
pub struct Report {
    /// The size of the board.
    pub n: BoardSize,
    /// The parts of the plan that it is about.
    pub crosses: Range<u32>,
    /// How many there are.
    pub n_crosses: u32,
    /// The solutions of all of them, weighted: Q(n) if they are all there are.
    pub solutions: u128,
    /// Those up to rotation and reflection, if it is about the whole board.
    pub fundamental: Option<u128>,
    /// Whether they have been published. What contradicts them is no proof.
    pub is_published: bool,
    /// Its parts, each counted and signed at one site.
    pub parts: Vec<PartReport>,
    /// What was counted again of it now.
    pub sample: Option<SampleReport>,
}

/// What a part proves.
#[derive(Clone, Debug)]
pub struct PartReport {
    /// What is said of it as a whole.
    pub header: Header,
    /// Whether its signer is one of the keys that were to be expected.
    pub is_known: bool,
    /// Its passes.
    pub passes: Vec<PassReport>,
    /// How the passes agree.
    pub agreement: Agreement,
    /// Workers that lost a dispute.
    pub losers: Vec<LoserReport>,
}

/// A worker that lost a dispute.
#[derive(Clone, Debug)]
pub struct LoserReport {
    /// Its name.
    pub name: Name,
    /// How many of its records nobody has confirmed.
    pub n_unconfirmed: u64,
}

/// What a pass proves.
#[derive(Clone, Debug)]
pub struct PassReport {
    /// How it was counted.
    pub method: Method,
    /// What it adds up to.
    pub total: Total,
    /// Further counts of its records.
    pub n_again: u64,
    /// Records that another party has confirmed; another name in certificates of format 1.
    pub n_confirmed: u64,
    /// The nodes of those.
    pub confirmed_nodes: u128,
    /// Records that are on the word of one party (one name in format 1): no other has confirmed them, and if there is
    /// another pass, that party has unconfirmed records there as well, of the same cross if it is by the same method. It may
    /// have changed both alike.
    pub n_by_one: u64,
    /// The nodes of those.
    pub nodes_by_one: u128,
    /// Disputes that were decided.
    pub n_verdicts: u64,
}

/// How the passes of a part agree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Agreement {
    /// There is one pass only.
    OnePass,
    /// The solutions of every cross are equal.
    EachCross {
        /// Crosses in which one party counted something in both passes that no other party confirmed. One party may make
        /// the same error twice. Certificates of format 1 tell names instead of parties.
        n_by_one: u32,
    },
    /// The solutions of the whole board are equal, by two methods that have only the board in common.
    Whole,
}

/// What a sample showed.
#[derive(Clone, Debug)]
pub struct SampleReport {
    /// What it was drawn with.
    pub seed: u64,
    /// The records from which it was drawn.
    pub n_records: u64,
    /// How many of them were counted again now.
    pub n_recounted: u64,
    /// Their nodes.
    pub nodes: u128,
    /// The nodes of all.
    pub all_nodes: u128,
    /// How long that took.
    pub elapsed: Duration,
}

impl SampleReport {
    /// The smallest share of false records that would have been noticed with 99 %.
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
