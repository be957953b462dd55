//! Buffers rows to be written, so that each table's rows are sent in one statement.

use std::collections::BTreeMap;

use rusqlite::types::Value;
use tokio_postgres::types::private::BytesMut;
use tokio_postgres::types::{IsNull, ToSql, Type, to_sql_checked};

use crate::sql::table::Table;

/// The tables in the order of their foreign keys.
const ORDER: [&str; 15] = [
    "job",
    "job_identity",
    "plan_part",
    "source",
    "coverage",
    "coverage_range",
    "record",
    "blocked_worker",
    "second_count",
    "verdict",
    "curve",
    "event",
    "party_day",
    "invitation",
    "name",
];

/// A column of a key.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum KeyPart {
    Nothing,
    Integer(i64),
    Text(String),
}

/// Buffered writes: the last change of each row.
#[derive(Debug, Default)]
pub(super) struct WriteBuffer(BTreeMap<RowKey, (&'static Table, Option<Vec<Value>>)>);

/// The rank of a row's table, and the row's key.
type RowKey = (usize, Vec<KeyPart>);

/// Rows to be written to a table, and keys to be removed from it.
#[derive(Debug)]
pub(super) struct Batch {
    pub(super) table: &'static Table,
    /// The columns of the written rows.
    pub(super) rows: Vec<Parameter>,
    /// The columns of the removed keys.
    pub(super) removed: Vec<Parameter>,
}

impl Batch {
    /// Returns the written row if it is the only one: a statement for one row is cheaper than arrays.
    pub(super) fn only_row(&self) -> Option<Vec<Parameter>> {
        let only = |column: &Parameter| {
            Some(Parameter::One(match column {
                Parameter::Integers(all) => match all[..] {
                    [integer] => integer.into(),
                    _ => return None,
                },
                Parameter::Texts(all) => match &all[..] {
                    [text] => text.clone().into(),
                    _ => return None,
                },
                Parameter::Blobs(all) => match &all[..] {
                    [bytes] => bytes.clone().into(),
                    _ => return None,
                },
                Parameter::One(_) => return None,
            }))
        };
        self.rows.iter().map(only).collect::<Option<Vec<_>>>().filter(|row| !row.is_empty())
    }
}

impl WriteBuffer {
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn put(&mut self, table: &'static Table, row: Vec<Value>) {
        self.0.insert(place(table, &row), (table, Some(row)));
    }

    pub(super) fn remove(&mut self, table: &'static Table, key: &[Value]) {
        self.0.insert(place(table, key), (table, None));
    }

    /// Takes all rows, as one batch for each table.
    pub(super) fn take(&mut self) -> Vec<Batch> {
        let mut batches: Vec<(usize, Batch)> = Vec::new();
        for ((rank, key), (table, row)) in std::mem::take(&mut self.0) {
            if batches.last().is_none_or(|(last, _)| *last != rank) {
                batches.push((rank, Batch { table, rows: Vec::new(), removed: Vec::new() }));
            }
            let Some((_, batch)) = batches.last_mut() else { continue };
            match row {
                Some(row) => add(&mut batch.rows, row),
                None => add(&mut batch.removed, key.into_iter().map(Value::from).collect()),
            }
        }
        batches.into_iter().map(|(_, batch)| batch).collect()
    }
}

fn place(table: &Table, values: &[Value]) -> RowKey {
    let rank = ORDER.iter().position(|name| *name == table.name).unwrap_or(ORDER.len());
    (rank, values[..table.n_key].iter().map(KeyPart::from).collect())
}

/// Appends a row to columns.
fn add(columns: &mut Vec<Parameter>, row: Vec<Value>) {
    columns.resize_with(row.len(), || Parameter::Integers(Vec::new()));
    for (column, value) in columns.iter_mut().zip(row) {
        column.push(value);
    }
}

impl From<&Value> for KeyPart {
    fn from(value: &Value) -> Self {
        match value {
            Value::Integer(integer) => Self::Integer(*integer),
            Value::Text(text) => Self::Text(text.clone()),
            Value::Null | Value::Real(_) | Value::Blob(_) => Self::Nothing,
        }
    }
}

impl From<KeyPart> for Value {
    fn from(part: KeyPart) -> Self {
        match part {
            KeyPart::Nothing => Self::Null,
            KeyPart::Integer(integer) => Self::Integer(integer),
            KeyPart::Text(text) => Self::Text(text),
        }
    }
}

/// A value for the server, or a column of values. All columns are `BIGINT`, `TEXT` or `BYTEA`.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Parameter {
    One(Value),
    Integers(Vec<Option<i64>>),
    Texts(Vec<Option<String>>),
    Blobs(Vec<Option<Vec<u8>>>),
}

impl Parameter {
    /// Appends a value to a column. A column begins as one of integers, and changes its type at the first text or
    /// bytes: before these, it has only nulls.
    fn push(&mut self, value: Value) {
        match (&mut *self, value) {
            (Self::Integers(all), Value::Integer(integer)) => all.push(Some(integer)),
            (Self::Integers(all), Value::Text(text)) => {
                let mut texts = vec![None; all.len()];
                texts.push(Some(text));
                *self = Self::Texts(texts);
            }
            (Self::Integers(all), Value::Blob(bytes)) => {
                let mut blobs = vec![None; all.len()];
                blobs.push(Some(bytes));
                *self = Self::Blobs(blobs);
            }
            (Self::Texts(all), Value::Text(text)) => all.push(Some(text)),
            (Self::Blobs(all), Value::Blob(bytes)) => all.push(Some(bytes)),
            (Self::Integers(all), _) => all.push(None),
            (Self::Texts(all), _) => all.push(None),
            (Self::Blobs(all), _) => all.push(None),
            (Self::One(_), _) => {}
        }
    }
}

impl ToSql for Parameter {
    fn to_sql(
        &self,
        ty: &Type,
        out: &mut BytesMut,
    ) -> Result<IsNull, Box<dyn std::error::Error + Sync + Send>> {
        match self {
            Self::One(Value::Null) => Ok(IsNull::Yes),
            Self::One(Value::Integer(integer)) => integer.to_sql_checked(ty, out),
            Self::One(Value::Text(text)) => text.to_sql_checked(ty, out),
            Self::One(Value::Blob(bytes)) => bytes.to_sql_checked(ty, out),
            Self::One(Value::Real(_)) => Err("no column takes this".into()),
            Self::Integers(all) if *ty == Type::TEXT_ARRAY => vec![None::<&str>; all.len()].to_sql(ty, out),
            Self::Integers(all) if *ty == Type::BYTEA_ARRAY => vec![None::<&[u8]>; all.len()].to_sql(ty, out),
            Self::Blobs(all) => all.to_sql_checked(ty, out),
            Self::Integers(all) => all.to_sql_checked(ty, out),
            Self::Texts(all) => all.to_sql_checked(ty, out),
        }
    }

    fn accepts(ty: &Type) -> bool {
        let one = matches!(*ty, Type::INT8 | Type::TEXT | Type::BYTEA);
        one || matches!(*ty, Type::INT8_ARRAY | Type::TEXT_ARRAY | Type::BYTEA_ARRAY)
    }

    to_sql_checked!();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql::digest::{COVERAGE_RANGE, JOB, RECORD, SOURCE};

    #[test]
    fn what_was_said_last_of_a_row_counts_and_tables_have_their_order() {
        let mut waiting = WriteBuffer::default();
        let range = |first: i64, until: i64| [1, 2, first, until, 0].map(Value::Integer).to_vec();
        waiting.put(&COVERAGE_RANGE, range(0, 10));
        waiting.put(&SOURCE, vec![1.into(), "anna".to_owned().into(), Value::Null]);
        waiting.put(&COVERAGE_RANGE, range(20, 30));
        waiting.remove(&COVERAGE_RANGE, &[1, 2, 20].map(Value::Integer));
        waiting.put(&COVERAGE_RANGE, range(0, 30));
        assert_eq!(waiting.len(), 3);
        let batches = waiting.take();
        assert_eq!(
            batches.iter().map(|batch| batch.table.name).collect::<Vec<_>>(),
            ["source", "coverage_range"]
        );
        let one = |number| Parameter::Integers(vec![Some(number)]);
        assert_eq!(batches[1].rows, [1, 2, 0, 30, 0].map(one));
        assert_eq!(batches[1].removed, [1, 2, 20].map(one));
        assert_eq!(batches[0].rows[1], Parameter::Texts(vec![Some("anna".to_owned())]));
        let row = [Value::Integer(1), Value::Text("anna".to_owned()), Value::Null].map(Parameter::One);
        assert_eq!(batches[0].only_row().as_deref(), Some(&row[..]));
        assert_eq!(Batch { table: &SOURCE, rows: vec![], removed: vec![] }.only_row(), None);
        assert_eq!(waiting.len(), 0);
    }

    #[test]
    fn a_column_is_of_what_comes_first_in_it() {
        let mut column = Parameter::Integers(Vec::new());
        column.push(Value::Null);
        column.push(Value::Blob(vec![7]));
        column.push(Value::Null);
        assert_eq!(column, Parameter::Blobs(vec![None, Some(vec![7]), None]));
    }

    #[test]
    fn every_table_has_its_place() {
        let places = [&JOB, &SOURCE, &RECORD].map(|table| ORDER.iter().position(|name| *name == table.name));
        assert!(places.is_sorted() && places.iter().all(Option::is_some), "{places:?}");
    }
}
