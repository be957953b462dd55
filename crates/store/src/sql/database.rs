//! The interface to a database with the tables, SQLite or PostgreSQL.
//!
//! All SQL here is written once for both: numbered parameters (`?1`), no types, and no feature that only one of them
//! has. Values are those of `rusqlite`: signed 64-bit integers, texts, and bytes.

use std::fmt::{Debug, Display};

use queens_ledger::store::StoreName;
use rusqlite::types::{FromSql, Value, ValueRef};
use rusqlite::{CachedStatement, Connection, params_from_iter};

use super::fault::Fault;
use super::table::Table;

/// A database with the tables.
pub trait Database {
    /// Calls `each` with every row that a query finds, in order, until `each` wants no more. `each` must not use the
    /// database.
    fn rows(
        &self,
        sql: &str,
        parameters: &[Value],
        each: &mut dyn FnMut(&Row<'_>) -> Wants,
    ) -> Result<(), Fault>;

    /// Changes rows. An error may surface only at the next read, or at the end of the transaction. The change then has
    /// no effect, because a failed transaction has none.
    fn change(&self, sql: &str, parameters: &[Value]) -> Result<(), Fault>;

    /// Writes a row of a table: all columns, and the digest if there is one. See [`Table::put_sql`].
    fn put(&self, table: &'static Table, row: Vec<Value>) -> Result<(), Fault> {
        self.change(table.put_sql(), &row)
    }

    /// Removes the row with this key, if it exists.
    fn remove(&self, table: &'static Table, key: Vec<Value>) -> Result<(), Fault> {
        self.change(table.remove_sql(), &key)
    }
}

/// Opens read views of a database: each shows one state, while others may write.
pub trait Views: Debug + Send + Sync {
    /// Opens a read transaction, which ends when the value is dropped.
    fn view(&self) -> Result<Box<dyn Database>, Fault>;

    /// Returns the name of the store for messages.
    fn place(&self) -> StoreName;
}

/// Whether a callback wants more rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wants {
    /// The next row.
    More,
    /// No more rows.
    NoMore,
}

/// A row of a query's result.
#[derive(Debug)]
pub enum Row<'a> {
    /// A row of SQLite.
    Sqlite(&'a rusqlite::Row<'a>),
    /// A row of a database server.
    Server(&'a dyn ServerRow),
}

/// A row of a database server.
pub trait ServerRow: Debug {
    /// Returns the index of a column, by its name.
    fn column(&self, name: &str) -> Option<usize>;

    /// Returns the value of a column, by its index.
    fn value(&self, column: usize) -> Result<ValueRef<'_>, Fault>;
}

impl Row<'_> {
    /// Returns the value of a column, by its index.
    pub fn value(&self, column: usize) -> Result<ValueRef<'_>, Fault> {
        match self {
            Self::Sqlite(row) => Ok(row.get_ref(column)?),
            Self::Server(row) => row.value(column),
        }
    }

    /// Returns the value of a column, by its name.
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
        Ok(self.prepare_cached(sql)?.execute(params_from_iter(parameters)).map(drop)?)
    }
}

/// Calls `each` with every row that a query finds. `each` must not use the database.
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

/// Collects what `read` returns of every row that a query finds. `read` must not use the database.
pub(crate) fn collect<T, C: Default + Extend<T>>(
    database: &dyn Database,
    sql: &str,
    parameters: &[Value],
    mut read: impl FnMut(&Row<'_>) -> Result<T, Fault>,
) -> Result<C, Fault> {
    let mut all = C::default();
    for_each(database, sql, parameters, |row| -> Result<(), Fault> {
        all.extend([read(row)?]);
        Ok(())
    })?;
    Ok(all)
}

/// Applies `read` to the first row that a query finds, if there is one.
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
