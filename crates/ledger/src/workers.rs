//! Workers: their connections, speeds, leases and remaining capacity.

pub(crate) mod held_leases;
pub(crate) mod proofs;
pub(crate) mod readiness;
pub(crate) mod speed;
pub(crate) mod worker;
pub(crate) mod worker_table;
