//! Computes valid digests by their definition, like a deceiver.

use rusqlite::types::{Value, ValueRef};
use rusqlite::{Connection, Row, params_from_iter};
use siphasher::sip::SipHasher13;

/// Tables whose rows belong to a job.
const OF_JOBS: [&str; 6] = ["plan_part", "coverage", "coverage_range", "record", "second_count", "verdict"];

/// The other tables; `job` is the last, as it contains a digest of the plan.
const OTHERS: [&str; 4] = ["job_identity", "source", "blocked_worker", "job"];

/// The board that a job's rows describe.
struct Board {
    job: i64,
    identity: Vec<u8>,
    n: i64,
    decomposition: i64,
    method: String,
    is_second: bool,
}

/// Makes the digests of all rows fit, where the tables exist.
pub(super) fn seal(connection: &Connection) -> rusqlite::Result<()> {
    for board in boards(connection)? {
        _ = seal_plan(connection, &board);
        for table in OF_JOBS {
            _ = seal_table(connection, table, Some(&board));
        }
    }
    for table in OTHERS {
        _ = seal_table(connection, table, None);
    }
    Ok(())
}

fn boards(connection: &Connection) -> rusqlite::Result<Vec<Board>> {
    let mut statement =
        connection.prepare("SELECT id, n, decomposition, method, second_of, identity FROM job")?;
    let board = |row: &Row<'_>| {
        Ok(Board {
            job: row.get(0)?,
            identity: bytes_of(&row.get::<_, String>(5)?),
            n: row.get(1)?,
            decomposition: row.get(2)?,
            method: row.get(3)?,
            is_second: row.get::<_, Option<i64>>(4)?.is_some(),
        })
    };
    let boards = statement.query_map([], board)?;
    Ok(boards.flatten().collect())
}

/// Returns the bytes of an identity; none if it is invalid.
fn bytes_of(identity: &str) -> Vec<u8> {
    u128::from_str_radix(identity, 16).map_or(Vec::new(), |identity| identity.to_be_bytes().to_vec())
}

/// Makes the digests of a table's rows fit: a job's rows, or all.
fn seal_table(connection: &Connection, table: &str, board: Option<&Board>) -> rusqlite::Result<()> {
    let filter = board.map_or(String::new(), |board| format!("WHERE job = {}", board.job));
    let mut statement = connection.prepare(&format!("SELECT * FROM {table} {filter}"))?;
    // The digest is the last column.
    let columns: Vec<String> = statement.column_names().map(str::to_owned).collect();
    let Some((_, columns)) = columns.split_last() else { return Ok(()) };
    let mut rows = statement.query([])?;
    let mut found: Vec<Vec<Value>> = Vec::new();
    while let Some(row) = rows.next()? {
        found.push((0..columns.len()).map(|i| row.get(i)).collect::<rusqlite::Result<_>>()?);
    }
    drop(rows);
    let marks = |(i, name): (usize, &String)| format!("{name} IS ?{}", i + 2);
    let conditions: Vec<String> = columns.iter().enumerate().map(marks).collect();
    let sql = format!("UPDATE {table} SET digest = ?1 WHERE {}", conditions.join(" AND "));
    for values in found {
        let mut bytes = Vec::new();
        put(&mut bytes, ValueRef::Text(table.as_bytes()));
        if let Some(board) = board {
            put(&mut bytes, ValueRef::Blob(&board.identity));
            put(&mut bytes, ValueRef::Integer(board.n));
            put(&mut bytes, ValueRef::Integer(board.decomposition));
            for text in [board.method.as_str()].into_iter().chain(board.is_second.then_some("second")) {
                put(&mut bytes, ValueRef::Text(text.as_bytes()));
            }
        }
        values.iter().for_each(|value| put(&mut bytes, value.into()));
        let digest = [Value::Integer(hash(&bytes))];
        connection.execute(&sql, params_from_iter(digest.iter().chain(&values)))?;
    }
    Ok(())
}

/// Makes the digest and the number of parts of a job's plan fit.
fn seal_plan(connection: &Connection, board: &Board) -> rusqlite::Result<()> {
    let mut bytes = board.identity.clone();
    bytes.push(board.n.to_le_bytes()[0]);
    bytes.extend_from_slice(&board.decomposition.to_le_bytes()[..4]);
    bytes.extend_from_slice(board.method.as_bytes());
    bytes.extend_from_slice(if board.is_second { b"second" } else { b"" });
    let sql = "SELECT image, n_subproblems, work FROM plan_part WHERE job = ?1 ORDER BY number";
    let mut statement = connection.prepare(sql)?;
    let mut rows = statement.query([board.job])?;
    let mut n_parts = 0;
    while let Some(row) = rows.next()? {
        let (image, n_subproblems, work): (i64, i64, String) = (row.get(0)?, row.get(1)?, row.get(2)?);
        bytes.push(image.to_le_bytes()[0]);
        bytes.extend_from_slice(&n_subproblems.to_le_bytes());
        bytes.extend_from_slice(&work.parse().unwrap_or(0_u128).to_le_bytes());
        n_parts += 1;
    }
    let sql = "UPDATE job SET plan_digest = ?2, n_parts = ?3 WHERE id = ?1 AND n_parts IS NOT NULL";
    connection.execute(sql, (board.job, hash(&bytes), n_parts)).map(drop)
}

/// Appends a value in its hashed form.
fn put(bytes: &mut Vec<u8>, value: ValueRef<'_>) {
    let (kind, content) = match value {
        ValueRef::Null => (0, Vec::new()),
        ValueRef::Integer(integer) => (1, integer.to_le_bytes().to_vec()),
        ValueRef::Real(real) => (2, real.to_bits().to_le_bytes().to_vec()),
        ValueRef::Text(text) => (3, [&(text.len() as u64).to_le_bytes()[..], text].concat()),
        ValueRef::Blob(blob) => (4, [&(blob.len() as u64).to_le_bytes()[..], blob].concat()),
    };
    bytes.push(kind);
    bytes.extend(content);
}

fn hash(bytes: &[u8]) -> i64 {
    SipHasher13::new().hash(bytes).cast_signed()
}
