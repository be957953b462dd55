//! Where jobs and invitations are stored.

use std::path::PathBuf;

use super::postgres::Server;

/// The location of a store.
#[derive(Clone, Debug)]
pub enum StoreLocation {
    /// In a data directory.
    Directory(PathBuf),
    /// In a database on a server.
    Server(Server),
}
