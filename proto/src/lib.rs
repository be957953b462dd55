//! The wire protocol: protobuf messages, their conversion to the model's values, and the client of coordinators.
//!
//! A [`Link`] carries the messages of a worker's session within one process. Across processes, the same messages travel
//! by gRPC as [`pb`] types; [`convert`] converts between the two.

pub mod checksum;
pub mod client;
pub mod codec;
pub mod convert;
mod link;
pub mod page;
pub mod pb;

pub use link::{Link, link};

/// The metadata key of the leader's URL, which a standby sends with its refusals if it knows the leader.
pub const LEADER_KEY: &str = "queens-leader";
