//! What the tables are read and written through, whatever database has them.
//!
//! All SQL here is written once, for SQLite and PostgreSQL: numbered parameters (`?1`), no types, and nothing that only
//! one of them has. Values are those of `rusqlite`: integers of 64 bits with a sign, texts, and bytes.

use std::fmt::{Debug, Display};

use queens_ledger::store::StoreName;
use rusqlite::types::{FromSql, Value, ValueRef};
use rusqlite::{CachedStatement, Connection, ffi, params_from_iter};

use super::fault::Fault;
use super::table::Table;

/// A database that has the tables.
pub trait Database {
    /// Calls `each` with every row that a query finds, in their order, until it says that it wants no more. Until then
    /// it must not ask the database for anything else.
    fn rows(
        &self,
        sql: &str,
        parameters: &[Value],
        each: &mut dyn FnMut(&Row<'_>) -> Wants,
    ) -> Result<(), Fault>;

    /// Changes rows. A fault of it may be met only when something is read, or when the transaction ends: with no
    /// effect then, as nothing of a transaction that fails has any.
    fn change(&self, sql: &str, parameters: &[Value]) -> Result<(), Fault>;

    /// Writes a row of a table, all columns and the digest if there is one, as [`Table::put`] says.
    fn put(&self, table: Table, row: Vec<Value>) -> Result<(), Fault> {
        self.change(table.put, &row)
    }

    /// Removes the row of a table with a key, if it is there.
    fn remove(&self, table: Table, key: Vec<Value>) -> Result<(), Fault> {
        self.change(&table.remove(), &key)
    }
}

/// What opens a database to be read in one state, whoever else writes.
pub trait Views: Debug + Send + Sync {
    /// Opens it: a transaction that ends with the value.
    fn view(&self) -> Result<Box<dyn Database>, Fault>;

    /// What people call it.
    fn place(&self) -> StoreName;
}

/// Whether more rows are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wants {
    /// The next one.
    More,
    /// None.
    NoMore,
}

/// A row that was found.
#[derive(Debug)]
pub enum Row<'a> {
    /// One of SQLite.
    Sqlite(&'a rusqlite::Row<'a>),
    /// One of a database on a server.
    Server(&'a dyn ServerRow),
}

/// A row of a database on a server.
pub trait ServerRow: Debug {
    /// The number of a column, by its name.
    fn column(&self, name: &str) -> Option<usize>;

    /// The value of a column, by its number.
    fn value(&self, column: usize) -> Result<ValueRef<'_>, Fault>;
}

impl Row<'_> {
    /// The value of a column, by its number.
    pub fn value(&self, column: usize) -> Result<ValueRef<'_>, Fault> {
        match self {
            Self::Sqlite(row) => Ok(row.get_ref(column)?),
            Self::Server(row) => row.value(column),
        }
    }

    /// A column's value, by its name.
    pub fn get<T: FromSql>(&self, column: &str, place: &dyn Display) -> Result<T, Fault> {
        let wrong = |error: &dyn Display| Fault::Damaged(format!("{place}: {error}"));
        match self {
            Self::Sqlite(row) => row.get(column).map_err(|error| wrong(&error)),
            Self::Server(row) => {
                let number = row.column(column);
                let number = number.ok_or_else(|| wrong(&format_args!("there is no column {column}")))?;
                let value = row.value(number)?;
                T::column_result(value).map_err(|error| wrong(&format_args!("{column}: {error}")))
            }
        }
    }
}

impl Database for Connection {
    fn rows(
        &self,
        sql: &str,
        parameters: &[Value],
        each: &mut dyn FnMut(&Row<'_>) -> Wants,
    ) -> Result<(), Fault> {
        let mut statement: CachedStatement<'_> = self.prepare_cached(sql)?;
        let mut rows = statement.query(params_from_iter(parameters))?;
        while let Some(row) = rows.next()? {
            if each(&Row::Sqlite(row)) == Wants::NoMore {
                break;
            }
        }
        Ok(())
    }

    fn change(&self, sql: &str, parameters: &[Value]) -> Result<(), Fault> {
        match self.prepare_cached(sql)?.execute(params_from_iter(parameters)) {
            Err(rusqlite::Error::SqliteFailure(error, _))
                if error.extended_code == ffi::SQLITE_CONSTRAINT_FOREIGNKEY =>
            {
                Err(Fault::Unrelated("a row of another table is missing, or needs this one".to_owned()))
            }
            changed => Ok(changed.map(drop)?),
        }
    }
}

/// Calls `each` with every row that a query finds. It must not ask the database for anything else meanwhile.
pub fn for_each<E: From<Fault>>(
    database: &dyn Database,
    sql: &str,
    parameters: &[Value],
    mut each: impl FnMut(&Row<'_>) -> Result<(), E>,
) -> Result<(), E> {
    let mut failed = None;
    let read = database.rows(sql, parameters, &mut |row| match each(row) {
        Ok(()) => Wants::More,
        Err(error) => {
            failed = Some(error);
            Wants::NoMore
        }
    });
    match failed {
        Some(error) => Err(error),
        None => Ok(read?),
    }
}

/// What `read` makes of the first row that a query finds, if there is any.
pub fn first<T>(
    database: &dyn Database,
    sql: &str,
    parameters: &[Value],
    read: impl FnOnce(&Row<'_>) -> Result<T, Fault>,
) -> Result<Option<T>, Fault> {
    let mut read = Some(read);
    let mut found = None;
    database.rows(sql, parameters, &mut |row| {
        found = read.take().map(|read| read(row));
        Wants::NoMore
    })?;
    found.transpose()
}
