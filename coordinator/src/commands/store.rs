//! Options for the location of the store: a data directory, or a database on a server.

use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Args;
use queens_store::JobAudit;
use queens_store::postgres::{Server, StoreLocation};
use queens_store::sqlite::{audit, audit_file};

#[derive(Debug, Args)]
pub(crate) struct DataArgs {
    /// Data directory of the coordinator
    #[arg(long, env = "QUEENS_DATA_DIR", value_name = "DIR", default_value = "queens-data")]
    pub(crate) data_dir: PathBuf,
}

/// The data directory for commands that work on directories only.
#[derive(Debug, Args)]
pub(crate) struct DirectoryArgs {
    #[command(flatten)]
    data: DataArgs,

    #[arg(long, env = "QUEENS_STORE", value_name = "URL", hide = true)]
    store: Option<String>,
}

impl DirectoryArgs {
    /// Returns the data directory. Fails if jobs are in a database, since the directory may have outdated ones;
    /// `instead` says what to do.
    pub(crate) fn dir(&self, instead: &str) -> anyhow::Result<&Path> {
        anyhow::ensure!(
            self.store.is_none(),
            "jobs are in a database, as --store or QUEENS_STORE says, and not in a directory: {instead}"
        );
        Ok(&self.data.data_dir)
    }
}

#[derive(Debug, Args)]
pub(crate) struct StoreArgs {
    /// PostgreSQL database for jobs and invitations, as postgres://USER@HOST:PORT/DATABASE; keys stay in the data
    /// directory
    ///
    /// Missing tables are created. Any number of coordinators may use it: one leads, and the others stand by. For TLS
    /// to a remote server, append '?sslmode=require'. Separate several servers by commas; one must accept writes.
    #[arg(long, env = "QUEENS_STORE", value_name = "URL")]
    store: Option<String>,

    #[command(flatten)]
    reach: ReachArgs,
}

/// Options for the connection to a database server.
#[derive(Debug, Args)]
pub(crate) struct ReachArgs {
    /// File whose only line is the password of the database
    #[arg(long, env = "QUEENS_STORE_PASSWORD_FILE", value_name = "FILE")]
    store_password_file: Option<PathBuf>,

    /// CA certificates (PEM) to verify the database server with [default: Mozilla's root certificates]
    #[arg(long, env = "QUEENS_STORE_CA", value_name = "FILE")]
    store_ca: Option<PathBuf>,
}

impl StoreArgs {
    /// Returns the database server, if one is given.
    pub(crate) fn server(&self) -> anyhow::Result<Option<Server>> {
        anyhow::ensure!(
            self.store.is_some() || self.reach.is_empty(),
            "a password or an authority of a database is given, and no database: name it by --store or QUEENS_STORE"
        );
        self.store.as_ref().map(|address| self.reach.server(address)).transpose()
    }

    pub(crate) fn location(&self, data_dir: &Path) -> anyhow::Result<StoreLocation> {
        let server = self.server()?;
        Ok(server.map_or_else(|| StoreLocation::Directory(data_dir.to_owned()), StoreLocation::Server))
    }

    /// Audits the jobs of the store, or those at a path if one is given.
    pub(crate) fn audit(&self, data_dir: &Path, path: Option<&Path>) -> anyhow::Result<Vec<JobAudit>> {
        Ok(match path {
            Some(file) if file.exists() && !file.is_dir() => audit_file(file)?,
            Some(dir) => audit(dir)?,
            None => self.location(data_dir)?.audit()?,
        })
    }
}

impl ReachArgs {
    fn is_empty(&self) -> bool {
        self.store_password_file.is_none() && self.store_ca.is_none()
    }

    fn server(&self, address: &str) -> anyhow::Result<Server> {
        let server = Server::new(address, self.store_password_file.as_deref(), self.store_ca.as_deref());
        server.context("the store can't be used")
    }

    pub(crate) fn location(&self, text: &str) -> anyhow::Result<StoreLocation> {
        Ok(if text.contains("://") {
            StoreLocation::Server(self.server(text)?)
        } else {
            StoreLocation::Directory(text.into())
        })
    }
}
