//! Declares the handlers of everything that changes the ledger, one module for each kind of event.

pub(crate) mod failures;
pub(crate) mod jobs;
pub(crate) mod notices;
pub(crate) mod operators;
pub(crate) mod recounts;
pub(crate) mod reports;
pub(crate) mod sessions;
pub(crate) mod submissions;
pub(crate) mod time;
pub(crate) mod verification;
pub(crate) mod worker_refusal;
