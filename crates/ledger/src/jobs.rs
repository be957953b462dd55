//! Jobs: their entries, their records, and the spans that are free to lease.

pub(crate) mod agreement;
pub(crate) mod agreement_of_counts;
pub(crate) mod counting;
pub(crate) mod failed;
pub(crate) mod job;
pub(crate) mod job_table;
pub(crate) mod part_draws;
pub(crate) mod queues;
pub(crate) mod record_counts;
pub(crate) mod recount;
pub(crate) mod recounts;
pub(crate) mod restore;
