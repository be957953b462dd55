//! The implementations of the targets.

pub(crate) mod certificates;
pub(crate) mod coordinator_messages;
pub(crate) mod databases;
pub(crate) mod operator_messages;
pub(crate) mod requests;
mod sealing;
pub(crate) mod texts;
pub(crate) mod worker_messages;
