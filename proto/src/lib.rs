//! The wire protocol: protobuf messages, their conversion to the model's values, and the client of coordinators.

pub mod checksum;
pub mod client;
mod codec;
pub mod convert;
pub mod page;
pub mod pb;

/// The metadata key of the leader's URL, which a standby sends with its refusals if it knows the leader.
pub const LEADER_KEY: &str = "queens-leader";
