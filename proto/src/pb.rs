//! The types generated from `proto/queens/v1/queens.proto`, where they are explained.

#![allow(missing_docs, unused_qualifications, clippy::all, reason = "generated")]

tonic::include_proto!("queens.v1");

/// The compiled `.proto` file, for the reflection service.
pub const DESCRIPTORS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/descriptors.bin"));
