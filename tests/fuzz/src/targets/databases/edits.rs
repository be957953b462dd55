//! Decodes an input into changes of a data directory.

use std::sync::Arc;
use std::sync::LazyLock;
use std::time::Duration;

use queens_ledger::store::draw::Drawn;
use queens_ledger::store::{Block, SecondCount, Source, Store, Verdict, Write};
use queens_model::{JobId, Name, Party};
use queens_solver::Count;
use queens_store::sqlite::{HISTORY, SqliteStore};
use rusqlite::Connection;
use rusqlite::types::Value;

use super::asked::{MOST_PLANNED, draw};
use super::digests::seal;
use super::directory::{DATABASE, Directory};

/// Databases as programs leave them: after some jobs, and with rows in all tables.
static BASES: LazyLock<Vec<Vec<u8>>> = LazyLock::new(|| [false, true].map(base).into());

/// Files that may lie beside a database.
const FILES: [&str; 7] = [
    DATABASE,
    "queens.db-wal",
    "queens.db-shm",
    "queens.db-journal",
    "queens.db.new",
    HISTORY,
    "history.db-journal",
];

const TABLES: [&str; 11] = [
    "job",
    "plan_part",
    "coverage",
    "coverage_range",
    "record",
    "second_count",
    "verdict",
    "source",
    "blocked_worker",
    "job_identity",
    "sqlite_schema",
];

/// Other changes of the table `{t}` and its column `{c}`.
const TRICKS: [&str; 10] = [
    "DROP TABLE {t}",
    "DELETE FROM {t}",
    "ALTER TABLE {t} DROP COLUMN {c}",
    "ALTER TABLE {t} RENAME COLUMN {c} TO x",
    "ALTER TABLE {t} RENAME TO x; CREATE VIEW {t} AS SELECT * FROM x",
    "ALTER TABLE {t} RENAME TO x; CREATE VIEW {t} AS SELECT x.* FROM x, (WITH RECURSIVE y (i) AS (SELECT 1 UNION ALL \
     SELECT i + 1 FROM y) SELECT i FROM y)",
    "CREATE TRIGGER x AFTER INSERT ON {t} BEGIN DELETE FROM job; END",
    "CREATE INDEX x ON {t} ({c})",
    "UPDATE sqlite_schema SET sql = replace(replace(sql, ' STRICT', ''), 'CHECK', '--') WHERE name = '{t}'",
    "UPDATE {t} SET {c} = {c} + 1",
];

/// Numbers at boundaries.
const TELLING: [i64; 12] =
    [0, 1, 2, -1, i64::MAX, i64::MIN, i64::MAX - 1, 1 << 32, (1 << 32) - 1, 1 << 31, 1_000_000, 1_000_001];

/// The bytes of an input; zeros after its end.
struct Script<'a>(&'a [u8]);

impl<'a> Script<'a> {
    fn byte(&mut self) -> u8 {
        self.take(1).first().copied().unwrap_or(0)
    }

    fn take(&mut self, most: usize) -> &'a [u8] {
        let (taken, rest) = self.0.split_at(most.min(self.0.len()));
        self.0 = rest;
        taken
    }

    fn number<const N: usize>(&mut self) -> [u8; N] {
        let mut bytes = [0; N];
        let taken = self.take(N);
        bytes[..taken.len()].copy_from_slice(taken);
        bytes
    }

    fn one_of<T: Copy>(&mut self, all: &[T]) -> T {
        all[usize::from(self.byte()) % all.len()]
    }

    fn text(&mut self) -> String {
        let most = usize::from(self.byte());
        String::from_utf8_lossy(self.take(most)).into_owned()
    }

    fn value(&mut self) -> Value {
        match self.byte() % 7 {
            0 => Value::Null,
            1 => Value::Integer(i8::from_le_bytes(self.number()).into()),
            2 => Value::Integer(self.one_of(&TELLING)),
            3 => Value::Integer(i64::from_le_bytes(self.number())),
            4 => Value::Text(self.text()),
            5 => Value::Text((u128::MAX >> (self.byte() % 128)).to_string()),
            _ => Value::Blob(self.text().into_bytes()),
        }
    }
}

/// Creates a directory's contents. The first byte chooses a base or nothing, and whether digests are made to fit.
pub(super) fn make(input: &[u8], dir: &Directory) {
    let mut script = Script(input);
    let first = script.byte();
    let base = BASES.get(usize::from(first >> 1) % (BASES.len() + 1));
    dir.write(DATABASE, base.map(Vec::as_slice).unwrap_or_default());
    let mut patches: Vec<(&str, usize, Vec<u8>)> = Vec::new();
    if base.is_some() {
        let connection = Connection::open(dir.path().join(DATABASE)).expect("opens");
        let unchecked =
            "PRAGMA ignore_check_constraints = ON; PRAGMA foreign_keys = OFF; PRAGMA writable_schema = ON;
                         PRAGMA synchronous = OFF; BEGIN";
        connection.execute_batch(unchecked).expect("settings");
        // A view in place of a table may be endless: from then on, no edit looks for rows.
        let mut has_views = false;
        while !script.0.is_empty() {
            // Impossible changes are skipped.
            match script.byte() % 8 {
                0..=4 if has_views => (),
                0..=2 => _ = set(&connection, &mut script),
                3 => _ = remove(&connection, &mut script),
                4 => _ = copy(&connection, &mut script),
                5 => has_views |= trick(&connection, &mut script).unwrap_or(false),
                6 => _ = connection.pragma_update(None, "user_version", i8::from_le_bytes(script.number())),
                _ => patches.push(patch(&mut script)),
            }
        }
        if first & 1 == 1 && !has_views {
            _ = seal(&connection);
        }
        _ = connection.execute_batch("COMMIT");
    } else {
        patches.push((script.one_of(&FILES), 0, script.0.to_vec()));
    }
    for (name, at, bytes) in patches {
        let mut file = dir.read(name);
        let at = at % (file.len() + 1);
        file.resize(file.len().max(at + bytes.len()), 0);
        file[at..at + bytes.len()].copy_from_slice(&bytes);
        dir.write(name, &file);
    }
}

/// Returns the bytes for a file, and their position.
fn patch(script: &mut Script<'_>) -> (&'static str, usize, Vec<u8>) {
    let at = u32::from_le_bytes(script.number()) as usize;
    let n = usize::from(script.byte());
    (script.one_of(&FILES), at, script.take(n).to_vec())
}

/// Returns the column names of a table, or of its key.
fn columns(connection: &Connection, table: &str, of_key: bool) -> rusqlite::Result<Vec<String>> {
    let filter = if of_key { "WHERE pk > 0" } else { "" };
    let sql = format!("SELECT name FROM pragma_table_info('{table}') {filter} ORDER BY cid");
    let mut statement = connection.prepare(&sql)?;
    let names = statement.query_map([], |row| row.get(0))?;
    names.collect()
}

/// Returns a condition that selects one row of a table.
fn row(connection: &Connection, table: &str, script: &mut Script<'_>) -> rusqlite::Result<String> {
    let key = match columns(connection, table, true)? {
        key if key.is_empty() => "rowid".to_owned(),
        key => key.join(", "),
    };
    let count: i64 = connection.query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get(0))?;
    let offset = i64::from(script.byte()) % count.max(1);
    Ok(format!("({key}) IN (SELECT {key} FROM {table} ORDER BY {key} LIMIT 1 OFFSET {offset})"))
}

fn table_and_column(
    connection: &Connection,
    script: &mut Script<'_>,
) -> rusqlite::Result<(&'static str, String)> {
    let table = script.one_of(&TABLES);
    let columns = columns(connection, table, false)?;
    let at = usize::from(script.byte()) % columns.len().max(1);
    Ok((table, columns.get(at).cloned().unwrap_or_default()))
}

/// Limits a value to the column's range: boards stay small.
fn fit(table: &str, column: &str, value: Value) -> Value {
    match value {
        Value::Integer(n) if table == "job" && column == "n" && (MOST_PLANNED.into()..=32).contains(&n) => {
            Value::Integer(n % i64::from(MOST_PLANNED))
        }
        value => value,
    }
}

fn set(connection: &Connection, script: &mut Script<'_>) -> rusqlite::Result<usize> {
    let (table, column) = table_and_column(connection, script)?;
    let row = row(connection, table, script)?;
    let value = fit(table, &column, script.value());
    connection.execute(&format!("UPDATE OR REPLACE {table} SET {column} = ?1 WHERE {row}"), [value])
}

fn remove(connection: &Connection, script: &mut Script<'_>) -> rusqlite::Result<usize> {
    let (table, _) = table_and_column(connection, script)?;
    let row = row(connection, table, script)?;
    connection.execute(&format!("DELETE FROM {table} WHERE {row}"), [])
}

/// Inserts a copy of a row with another value in one column.
fn copy(connection: &Connection, script: &mut Script<'_>) -> rusqlite::Result<usize> {
    let (table, column) = table_and_column(connection, script)?;
    let row = row(connection, table, script)?;
    let value = fit(table, &column, script.value());
    let columns = columns(connection, table, false)?;
    let values: Vec<&str> = columns.iter().map(|name| if *name == column { "?1" } else { name }).collect();
    let values = values.join(", ");
    connection
        .execute(&format!("INSERT OR REPLACE INTO {table} SELECT {values} FROM {table} WHERE {row}"), [value])
}

/// Applies another change; returns whether it created a view.
fn trick(connection: &Connection, script: &mut Script<'_>) -> rusqlite::Result<bool> {
    let (table, column) = table_and_column(connection, script)?;
    let is_size = (table, column.as_str()) == ("job", "n");
    let sql = script.one_of(&TRICKS).replace("{t}", table).replace("{c}", &column);
    if is_size && sql.contains("+ 1") {
        return Ok(false);
    }
    connection.execute_batch(&sql)?;
    Ok(sql.contains("CREATE VIEW"))
}

/// Returns the file of a database that a program left.
fn base(with_all: bool) -> Vec<u8> {
    let dir = Directory::new("base");
    let connection = Connection::open(dir.path().join(DATABASE)).expect("opens");
    connection.execute_batch(include_str!("../../../../../coordinator/tests/version_1.sql")).expect("SQL");
    // Recomputing the plan of half boards takes longer than everything else.
    let tables = ["record", "coverage", "coverage_range", "plan_part", "job_identity"];
    let drops = tables.map(|table| format!("DELETE FROM {table} WHERE job = 3;")).concat();
    connection.execute_batch(&format!("{drops} DELETE FROM job WHERE id = 3")).expect("SQL");
    // The setting of all programs.
    connection.pragma_update(None, "journal_mode", "WAL").expect("a setting");
    drop(connection);
    if with_all {
        let mut store = SqliteStore::open(dir.path()).expect("opens");
        let drawn = store.draw(&draw(JobId(1))).expect("it is read");
        store.commit(&all(&drawn)).expect("commits");
    }
    dir.read(DATABASE)
}

/// Recounts of records of job 1, a verdict, and a reason for a block.
fn all(drawn: &Drawn) -> Vec<Write> {
    let name = |text: &str| Name::of_any(text);
    let source = |text: &str| {
        let party = Party::of_name(&name(text));
        Arc::new(Source { name: name(text), build: name("0.1.0"), kernel: name("avx2"), party })
    };
    let job = JobId(1);
    let block = Block { name: name("dora"), party: Some(Party::of_name(&name("dora"))) };
    let blocked = Write::Blocked { block, blocked: true, reason: "it lied".to_owned() };
    let again = drawn.records.iter().map(|recorded| {
        let (span, count, duration) = (recorded.record.span, recorded.count(), Duration::from_millis(80));
        let source = source("carol");
        Write::SecondCount {
            job,
            count: SecondCount { span, count, duration, source, at_ms: 1_800_000_000_001 },
        }
    });
    let verdicts = drawn.records.iter().take(1).map(|recorded| {
        let (span, count) = (recorded.record.span, recorded.count());
        let lost = Count { solutions: count.solutions + 2, ..count };
        let (source, lost_source) = (source("carol"), source("dora"));
        let at_ms = 1_800_000_000_002;
        Write::Verdict { job, verdict: Verdict { span, number: 0, at_ms, count, source, lost, lost_source } }
    });
    [blocked].into_iter().chain(again).chain(verdicts).collect()
}
