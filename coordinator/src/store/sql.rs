//! The tables, and what is read from them and written to them: the same in every database.
//!
//! Each row carries a digest (`digest.rs`), so that damage, and writing to it by hand, can't break the count unseen.

pub(super) mod audit;
pub(super) mod contributions;
pub(crate) mod database;
pub(super) mod digest;
pub(super) mod draw;
pub(super) mod export;
pub(crate) mod fault;
pub(super) mod history;
pub(super) mod movable;
pub(super) mod read;
pub(super) mod records;
pub(crate) mod table;
pub(super) mod tables;
pub(super) mod tally;
pub(super) mod verdicts;
pub(super) mod write;

mod export_body;
