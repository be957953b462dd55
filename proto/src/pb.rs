//! The types that `tests/generated.rs` generates from `proto/queens/v1/queens.proto`, which documents them.

#![allow(missing_docs, unused_qualifications, clippy::all, reason = "generated")]

include!("generated/queens.v1.rs");

/// The compiled `.proto` file, for the reflection service.
pub const DESCRIPTORS: &[u8] = include_bytes!("generated/descriptors.bin");
