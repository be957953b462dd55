//! The sums over everything that a party has counted: for its workers, and for the public pages.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::name::Name;
use crate::party::Party;

/// The sums over a party's records and recounts.
///
/// Sums saturate instead of wrapping: they are shown to people, and no count depends on them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PartyTotals {
    /// Number of records.
    pub n_records: u64,
    /// Work of the records by search, in nodes.
    pub search_work: u128,
    /// Work of the records by halves, in units.
    pub halves_work: u128,
    /// Σ weight × solutions of the records.
    pub solutions: u128,
    /// Thread time of the records.
    pub record_time: Duration,
    /// Number of records that another party's recount has confirmed.
    pub n_confirmed: u64,
    /// Number of recounts of other parties' records.
    pub n_recounts: u64,
    /// Thread time of the recounts.
    pub recount_time: Duration,
}

impl PartyTotals {
    /// Returns the thread time of records and recounts.
    #[must_use]
    pub fn time(&self) -> Duration {
        self.record_time.saturating_add(self.recount_time)
    }

    /// Adds the sums of other records and recounts.
    pub fn add(&mut self, other: &Self) {
        self.n_records = self.n_records.saturating_add(other.n_records);
        self.search_work = self.search_work.saturating_add(other.search_work);
        self.halves_work = self.halves_work.saturating_add(other.halves_work);
        self.solutions = self.solutions.saturating_add(other.solutions);
        self.record_time = self.record_time.saturating_add(other.record_time);
        self.n_confirmed = self.n_confirmed.saturating_add(other.n_confirmed);
        self.n_recounts = self.n_recounts.saturating_add(other.n_recounts);
        self.recount_time = self.recount_time.saturating_add(other.recount_time);
    }
}

/// A person who joined a campaign, as everybody may see them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Person {
    /// The party of the person's invitation. It is shown to nobody.
    pub party: Party,
    /// The name that the person chose.
    pub name: Name,
    /// When the person joined, in milliseconds since 1970.
    pub since_ms: u64,
}

/// What a worker may know of its own party, as `queens-worker status` shows it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OwnContribution {
    /// When the coordinator summed its records, in milliseconds since 1970.
    pub at_ms: u64,
    /// Thread time of the party's records and recounts, in hours.
    pub core_hours: f64,
    /// Number of records.
    pub records: u64,
    /// Number of records that others have confirmed.
    pub confirmed: u64,
    /// Number of recounts of the records of others.
    pub recounts: u64,
    /// The solutions that the records found, in decimal.
    pub solutions: String,
    /// The share of all core-hours, 0 to 1.
    pub share: f64,
    /// The rank among the people who joined by a link; `None` if the party is not one of them.
    pub rank: Option<u64>,
    /// Number of these people.
    pub people: Option<u64>,
    /// When the person joined, in milliseconds since 1970.
    pub since_ms: Option<u64>,
    /// The job that the worker counts.
    pub job: Option<OwnJob>,
}

/// The job that a worker counts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OwnJob {
    /// The size of the board.
    pub n: u8,
    /// The counting method.
    pub method: String,
    /// The recorded share of its work, 0 to 1.
    pub fraction: f64,
    /// The estimated remaining time in seconds, if it is known.
    pub seconds_left: Option<f64>,
}
