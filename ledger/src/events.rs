//! The events that change the ledger, one handler module each.

pub(crate) mod failures;
pub(crate) mod jobs;
pub(crate) mod notices;
pub(crate) mod operators;
pub(crate) mod recounts;
pub(crate) mod refusal;
pub(crate) mod reports;
pub(crate) mod sessions;
pub(crate) mod submissions;
pub(crate) mod time;
pub(crate) mod verification;
