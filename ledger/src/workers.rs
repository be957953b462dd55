//! Workers: who is there, how fast each is, what each holds, and who may be given more.

pub(crate) mod failures;
pub(crate) mod held_leases;
pub(crate) mod readiness;
pub(crate) mod speed;
pub(crate) mod worker;
pub(crate) mod worker_table;
