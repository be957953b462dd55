//! Helpers of the whole-system tests: they run the real binaries and inspect their output and files.

pub mod browser;
pub mod chance;
pub mod cleanup;
pub mod cluster;
pub mod collector;
pub mod data_dir;
pub mod directory;
pub mod disk;
pub mod docker;
pub mod files;
pub mod guarded;
pub mod guest;
pub mod help;
pub mod http;
pub mod https;
pub mod liar;
pub mod postgres;
pub mod prelude;
pub mod process;
pub mod proxy;
pub mod schema;
pub mod service;
pub mod session;
pub mod standby;
pub mod workers;

/// The root of the repository.
pub const REPOSITORY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");

mod binary;
mod port;
mod resources;
mod runtime;
mod scenario;
mod skip;
mod temp_dir;

pub use self::binary::binary;
pub use self::port::Port;
pub use self::runtime::runtime;
pub use self::skip::{MISSING, NOT_ROOT, impossible, notes_of, say, skipped, skipped_without_root};
pub use self::temp_dir::TempDir;
