//! The types generated from `proto/queens/v1/queens.proto`, where they are explained, by `proto/generate`.

#![allow(missing_docs, unused_qualifications, clippy::all, reason = "generated")]

include!("generated/queens.v1.rs");

/// The compiled `.proto` file, for the reflection service.
pub const DESCRIPTORS: &[u8] = include_bytes!("generated/descriptors.bin");
