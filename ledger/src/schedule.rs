//! What is handed out: leases sized by time, and the tails of running leases when nothing else is left.

pub(crate) mod feed;
pub(crate) mod overdue;
pub(crate) mod recall;
pub(crate) mod reporting;
pub(crate) mod size;
pub(crate) mod tails;
