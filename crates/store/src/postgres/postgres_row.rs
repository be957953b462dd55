//! Adapts PostgreSQL's rows to the row interface that both databases share.

use crate::sql::database::ServerRow;
use crate::sql::fault::Fault;
use rusqlite::types::ValueRef;
use tokio_postgres::Row;
use tokio_postgres::types::{FromSql, Type};

use super::fault::fault;

/// A row with values of the types in the tables.
#[derive(Debug)]
pub(super) struct PostgresRow(pub(super) Row);

impl PostgresRow {
    fn get<'a, T: FromSql<'a>>(&'a self, column: usize) -> Result<Option<T>, Fault> {
        self.0.try_get(column).map_err(fault)
    }
}

impl ServerRow for PostgresRow {
    fn column(&self, name: &str) -> Option<usize> {
        self.0.columns().iter().position(|column| column.name() == name)
    }

    fn value(&self, column: usize) -> Result<ValueRef<'_>, Fault> {
        let integer = |value: Option<i64>| value.map_or(ValueRef::Null, ValueRef::Integer);
        Ok(match *self.0.columns()[column].type_() {
            Type::INT8 => integer(self.get(column)?),
            Type::INT4 => integer(self.get::<i32>(column)?.map(i64::from)),
            Type::BYTEA => self.get::<&[u8]>(column)?.map_or(ValueRef::Null, ValueRef::Blob),
            Type::BOOL => integer(self.get::<bool>(column)?.map(i64::from)),
            _ => self.get::<&str>(column)?.map_or(ValueRef::Null, |text| ValueRef::Text(text.as_bytes())),
        })
    }
}
