//! The wire: protobuf messages, and how they become what coordinators, workers and operators say to each other.
//!
//! A [`Link`] carries the messages of a worker's session between the two ends in one process; across processes the same
//! messages travel by gRPC as [`pb`] types, and [`convert`] is where the one becomes the other.

pub mod checksum;
pub mod client;
pub mod codec;
pub mod convert;
mod link;
pub mod page;
pub mod pb;

pub use link::{Link, link};

/// The key of what a coordinator that stands by sends with its refusals: the URL of the one that leads, if it knows it.
pub const LEADER_KEY: &str = "queens-leader";
