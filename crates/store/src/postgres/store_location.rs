//! Names the location of a store, a data directory or a server, and audits or recovers its jobs.

use std::path::{Path, PathBuf};

use queens_ledger::store::StoreError;

use super::server::Server;
use super::store::PostgresViews;
use crate::sql::audit::{JobAudit, audit_all, recomputed_plan};
use crate::sql::database::Views;
use crate::sqlite::recover::recover_rows;
use crate::sqlite::{self, RecoverError, Recovered};

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
            Self::Server(server) => {
                let views = PostgresViews { server: server.clone() };
                let view = views.view().map_err(|fault| fault.of_opening(views.place()))?;
                recover_rows(&views.place(), new_dir, &*view)
            }
        }
    }

    /// Audits each job from its records alone; on a server, even while a coordinator uses it.
    ///
    /// # Errors
    /// If the jobs can't be read, or contain a contradiction.
    pub fn audit(&self) -> Result<Vec<JobAudit>, StoreError> {
        match self {
            Self::Directory(dir) => sqlite::audit(dir),
            Self::Server(server) => {
                let views = PostgresViews { server: server.clone() };
                let audited = views.view().and_then(|view| audit_all(&*view, &recomputed_plan));
                audited.map_err(|fault| fault.of_opening(views.place()))
            }
        }
    }
}
