//! The tables of a store, and the code that reads and writes them in every database.
//!
//! Each row carries a digest (`digest.rs`), so that damage and hand edits can't falsify a count unnoticed.

pub mod audit;
pub(crate) mod contributions;
pub mod database;
pub mod digest;
pub(crate) mod draw;
pub(crate) mod export;
pub mod fault;
pub mod history;
pub(crate) mod party_totals;
pub mod read;
pub mod records;
pub mod table;
pub mod tables;
pub(crate) mod tally;
pub(crate) mod verdicts;
pub mod write;

mod export_body;
