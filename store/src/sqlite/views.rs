//! Opens read views of a directory's database, also while a coordinator uses it.

use std::path::PathBuf;

use queens_ledger::store::StoreName;

use super::directory::{DATABASE, open_to_read};
use super::schema::{self, VERSION};
use crate::sql::database::{Database, Views};
use crate::sql::fault::Fault;

/// The database of a data directory.
#[derive(Debug)]
pub(super) struct SqliteViews {
    pub(super) dir: PathBuf,
}

impl Views for SqliteViews {
    fn view(&self) -> Result<Box<dyn Database>, Fault> {
        let connection = open_to_read(&self.dir.join(DATABASE))?;
        // Ends when the connection is closed.
        connection.execute_batch("BEGIN")?;
        if schema::version(&connection)? != VERSION {
            let reason = "a coordinator that is started on it brings it up to the present version".to_owned();
            return Err(Fault::Version(reason));
        }
        Ok(Box::new(connection))
    }

    fn place(&self) -> StoreName {
        self.dir.as_path().into()
    }
}
