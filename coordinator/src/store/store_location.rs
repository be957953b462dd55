//! Where jobs and invitations are kept.

use std::path::PathBuf;

use super::postgres::Server;

/// Where a store is.
#[derive(Clone, Debug)]
pub enum StoreLocation {
    /// In a data directory.
    Directory(PathBuf),
    /// In a database on a server.
    Server(Server),
}
