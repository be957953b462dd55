//! Jobs: what is said of each, what is recorded of it, and what is there to be leased.

pub(crate) mod agreement;
pub(crate) mod agreement_of_counts;
pub(crate) mod counting;
pub(crate) mod failed;
pub(crate) mod job;
pub(crate) mod job_table;
pub(crate) mod recounts;
pub(crate) mod restore;
