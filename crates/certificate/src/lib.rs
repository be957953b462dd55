//! Certificates: files that prove a count to a stranger.
//!
//! A [`Writer`] makes one from a job's records. [`check()`] trusts nothing in it, and returns a [`Report`].
//! `docs/CERTIFICATE.md` explains the format.

mod check;
mod counter_identity;
mod entry;
mod fields;
mod header;
mod key;
mod lines;
mod merge;
mod options;
mod part_check;
mod pass_check;
mod plans;
mod record_evidence;
mod refusal;
mod report;
mod sample;
mod tree;
mod writer;

pub use check::check;
pub use counter_identity::PartyDigest;
pub use entry::{Counted, Counter, CrossSum, Entry, Verdict};
pub use header::{Header, Pass, Total};
pub use key::{InvalidKey, Key, KeyError, PublicKey};
pub use merge::{Part, merge};
pub use options::{Options, Stage, time_to_check};
pub use refusal::Refusal;
pub use report::{Agreement, LoserReport, PartReport, PassReport, Report, SampleReport};
pub use sample::{Extent, Sample, random_seed};
pub use writer::Writer;
