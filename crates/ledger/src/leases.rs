//! Leases: their tokens, the live ones, and those that have ended but may still be reported on.

pub(crate) mod ended_leases;
pub(crate) mod lease_table;
pub(crate) mod live_lease;
pub(crate) mod recount_sums;
