//! The coordinator of n-queens jobs: ledger, store and scheduling.

pub mod intervals;
pub mod store;
