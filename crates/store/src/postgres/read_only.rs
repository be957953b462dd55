//! Read-only access to a database, even while a coordinator uses it.

use crate::sql::database::{Database, Views};
use crate::sql::fault::Fault;
use queens_ledger::store::StoreName;

use super::pg_connection::PgConnection;
use super::schema;
use super::server::Server;

/// The database.
#[derive(Debug)]
pub(super) struct PostgresViews {
    pub(super) server: Server,
}

impl Views for PostgresViews {
    fn view(&self) -> Result<Box<dyn Database>, Fault> {
        let connection = PgConnection::open(&self.server)?;
        schema::check(&connection)?;
        // Reading may take long, and blocks nobody.
        connection.execute("SET idle_in_transaction_session_timeout TO 0")?;
        connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")?;
        Ok(Box::new(connection))
    }

    fn place(&self) -> StoreName {
        StoreName::Database(self.server.name())
    }
}
