//! Names the location of a store, a data directory or a server, and audits or recovers its jobs.

use std::path::{Path, PathBuf};

use queens_ledger::store::StoreError;
use queens_store::JobAudit;
use queens_store::sqlite::{self, RecoverError, Recovered};

use super::server::Server;
use super::store;

/// The location of a store.
#[derive(Clone, Debug)]
pub enum StoreLocation {
    /// In a data directory.
    Directory(PathBuf),
    /// In a database on a server.
    Server(Server),
}

impl StoreLocation {
    /// Creates a database in `new_dir`, which must be empty or absent, from the rows that are valid here.
    ///
    /// # Errors
    /// If nothing is readable or valid, or the new directory can't be written.
    pub fn recover(&self, new_dir: &Path) -> Result<Recovered, RecoverError> {
        match self {
            Self::Directory(damaged) => sqlite::recover(damaged, new_dir),
            Self::Server(server) => store::recover(server, new_dir),
        }
    }

    /// Audits each job from its records alone.
    ///
    /// # Errors
    /// If the jobs can't be read, or contain a contradiction.
    pub fn audit(&self) -> Result<Vec<JobAudit>, StoreError> {
        match self {
            Self::Directory(dir) => sqlite::audit(dir),
            Self::Server(server) => store::audit(server),
        }
    }
}
