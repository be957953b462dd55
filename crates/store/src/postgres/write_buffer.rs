//! Buffers rows to be written, so that each table's rows are sent in one statement.

use std::collections::BTreeMap;

use rusqlite::types::{FromSqlResult, Value, ValueRef};
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

/// Buffered writes: the last change of each row.
#[derive(Debug, Default)]
pub(super) struct WriteBuffer(BTreeMap<RowKey, Change>);

/// The rank of a row's table, and the columns of the row's key, each a number or a text.
type RowKey = (usize, Vec<(i64, Option<String>)>);

#[derive(Debug)]
struct Change {
    table: &'static Table,
    /// The row, or the key of a removed one.
    values: Vec<Value>,
    is_removed: bool,
}

/// Rows to be written to a table, and keys to be removed from it, both by columns.
#[derive(Debug)]
pub(super) struct Batch {
    pub(super) table: &'static Table,
    pub(super) rows: Vec<Vec<Value>>,
    pub(super) removed: Vec<Vec<Value>>,
}

impl WriteBuffer {
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn put(&mut self, table: &'static Table, values: Vec<Value>) {
        self.0.insert(place(table, &values), Change { table, values, is_removed: false });
    }

    pub(super) fn remove(&mut self, table: &'static Table, values: Vec<Value>) {
        self.0.insert(place(table, &values), Change { table, values, is_removed: true });
    }

    /// Takes all rows, as one batch for each table.
    pub(super) fn take(&mut self) -> Vec<Batch> {
        let mut batches: Vec<Batch> = Vec::new();
        for Change { table, values, is_removed } in std::mem::take(&mut self.0).into_values() {
            if batches.last().is_none_or(|batch| !std::ptr::eq(batch.table, table)) {
                batches.push(Batch { table, rows: Vec::new(), removed: Vec::new() });
            }
            let Some(batch) = batches.last_mut() else { continue };
            let columns = if is_removed { &mut batch.removed } else { &mut batch.rows };
            columns.resize_with(values.len(), Vec::new);
            columns.iter_mut().zip(values).for_each(|(column, value)| column.push(value));
        }
        batches
    }
}

fn place(table: &Table, values: &[Value]) -> RowKey {
    let rank = ORDER.iter().position(|name| *name == table.name).unwrap_or(ORDER.len());
    let part = |value: &Value| match value {
        Value::Integer(integer) => (*integer, None),
        Value::Text(text) => (0, Some(text.clone())),
        Value::Null | Value::Real(_) | Value::Blob(_) => Default::default(),
    };
    (rank, values[..table.n_key].iter().map(part).collect())
}

/// A value for the server, or a column of values. All columns are `BIGINT`, `TEXT` or `BYTEA`.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Parameter {
    One(Value),
    Column(Vec<Value>),
}

/// Returns a column of one type, which may have nulls.
fn column<'a, T>(
    values: &'a [Value],
    of: fn(&ValueRef<'a>) -> FromSqlResult<Option<T>>,
) -> FromSqlResult<Vec<Option<T>>> {
    values.iter().map(|value| of(&value.into())).collect()
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
            Self::Column(values) if *ty == Type::TEXT_ARRAY => {
                column(values, ValueRef::as_str_or_null)?.to_sql(ty, out)
            }
            Self::Column(values) if *ty == Type::BYTEA_ARRAY => {
                column(values, ValueRef::as_blob_or_null)?.to_sql(ty, out)
            }
            Self::Column(values) => column(values, ValueRef::as_i64_or_null)?.to_sql_checked(ty, out),
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
        waiting.remove(&COVERAGE_RANGE, [1, 2, 20].map(Value::Integer).to_vec());
        waiting.put(&COVERAGE_RANGE, range(0, 30));
        assert_eq!(waiting.len(), 3);
        let batches = waiting.take();
        assert_eq!(
            batches.iter().map(|batch| batch.table.name).collect::<Vec<_>>(),
            ["source", "coverage_range"]
        );
        let one = |number| vec![Value::Integer(number)];
        assert_eq!(batches[1].rows, [1, 2, 0, 30, 0].map(one));
        assert_eq!(batches[1].removed, [1, 2, 20].map(one));
        assert_eq!(batches[0].rows[1], [Value::Text("anna".to_owned())]);
        assert_eq!(waiting.len(), 0);
    }

    #[test]
    fn a_column_has_one_type_and_nulls() {
        let mut out = BytesMut::new();
        let blobs = Parameter::Column(vec![Value::Null, Value::Blob(vec![7]), Value::Null]);
        assert!(blobs.to_sql(&Type::BYTEA_ARRAY, &mut out).is_ok());
        assert!(blobs.to_sql(&Type::INT8_ARRAY, &mut out).is_err());
    }

    #[test]
    fn every_table_has_its_place() {
        let places = [&JOB, &SOURCE, &RECORD].map(|table| ORDER.iter().position(|name| *name == table.name));
        assert!(places.is_sorted() && places.iter().all(Option::is_some), "{places:?}");
    }
}
