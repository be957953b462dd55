//! The coordinator of n-queens jobs, as a server.
//!
//! Other crates decide and persist ([`queens_event_loop`]), authenticate ([`queens_auth_server`]) and show
//! ([`queens_web`]). This crate serves workers and operators by gRPC, and moves and restores what a store keeps.

pub mod grpc;
mod migrate_store;
mod restore_directory;

pub use migrate_store::{MoveError, Moved, move_all};
pub use restore_directory::{RestoreError, Restored, restore};
