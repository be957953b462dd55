//! Leases: their tokens, those that are held, and what may still be reported of those that have ended.

pub(crate) mod ended_leases;
pub(crate) mod lease_table;
pub(crate) mod live_lease;
pub(crate) mod recount_sums;
pub(crate) mod tokens;
