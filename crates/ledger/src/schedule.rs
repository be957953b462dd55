//! Scheduling: sizes leases by time, and shares the tails of running leases when nothing else is left.

pub(crate) mod assign;
pub(crate) mod confirmers;
pub(crate) mod interval_notices;
pub(crate) mod lease_size;
pub(crate) mod overdue;
pub(crate) mod recall;
pub(crate) mod tails;
