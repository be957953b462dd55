//! Tests that edited rows are detected: by their digests, or by consistency checks if the digests were recomputed.

use queens_ledger::store::{Store, StoreError, Stored};
use queens_model::JobId;
use queens_solver::{DECOMPOSITION_VERSION, Method};
use rusqlite::types::{Value, ValueRef};
use rusqlite::{Connection, params_from_iter};

use super::directory::DATABASE;
use super::tests::{audit_sample, count_eight, sample};
use super::{SqliteStore, audit, recover};
use crate::sql::database::Row;
use crate::sql::digest::{
    BLOCKED_WORKER, Board, COVERAGE, COVERAGE_RANGE, JOB, JOB_IDENTITY, PLAN_PART, RECORD, SECOND_COUNT,
    SOURCE, VERDICT, plan_digest,
};
use crate::sql::fault::Fault;
use crate::sql::read;
use crate::sql::table::Table;

/// Returns what a coordinator and an audit report after `sql` ran. If `sealed`, all digests are recomputed first.
fn tampered(sql: &str, sealed: bool) -> (String, String) {
    let dir = sample();
    let connection = Connection::open(dir.path().join(DATABASE)).expect("opens");
    let unchecked =
        "PRAGMA ignore_check_constraints = ON; PRAGMA foreign_keys = OFF; PRAGMA writable_schema = ON;";
    connection.execute_batch(&format!("{unchecked} {sql}")).expect("writes");
    if sealed {
        seal_sample(&connection);
    }
    drop(connection);
    let audited = audit_sample(dir.path()).map_or_else(reason, |_| "fine".to_owned());
    let mut store = SqliteStore::open(dir.path()).expect("opens");
    let damage = |stored: Stored| stored.jobs.into_iter().find_map(|job| job.damage);
    (store.load().map_or_else(reason, |stored| damage(stored).unwrap_or("fine".to_owned())), audited)
}

/// Recomputes the digests of all rows of job 3 and of no job. Skips missing tables.
fn seal_sample(connection: &Connection) {
    let job = "SELECT n, method, decomposition, identity FROM job WHERE id = 3";
    let text = |row: &rusqlite::Row<'_>, i| row.get::<_, String>(i);
    let board =
        connection.query_row(job, [], |row| Ok((row.get(0)?, text(row, 1)?, row.get(2)?, text(row, 3)?)));
    if let Ok((n, method, decomposition, identity)) = board
        && let (Ok(method), Ok(identity)) = (method.parse(), identity.parse())
    {
        let board = Board { identity, n, method, decomposition, is_second: false };
        let mut statement = connection.prepare("SELECT * FROM plan_part ORDER BY number").expect("SQL");
        let mut rows = statement.query([]).expect("readable");
        let mut choices = Vec::new();
        while let Some(row) = rows.next().expect("readable") {
            choices.extend(read::choice(&Row::Sqlite(row), "a part").ok());
        }
        let digest = plan_digest(board, &choices);
        connection.execute("UPDATE job SET plan_digest = ?1 WHERE id = 3", [digest]).expect("writes");
        for table in [&PLAN_PART, &COVERAGE, &COVERAGE_RANGE, &RECORD, &SECOND_COUNT, &VERDICT] {
            _ = seal(connection, table, Some((JobId(3), board)));
        }
    }
    for table in [&JOB, &JOB_IDENTITY, &SOURCE, &BLOCKED_WORKER] {
        _ = seal(connection, table, None);
    }
}

/// Recomputes the digests of a table's rows: of one job's, or of all.
fn seal(connection: &Connection, table: &Table, job: Option<(JobId, Board)>) -> Result<(), Fault> {
    let filter = job.map_or(String::new(), |(job, _)| format!("WHERE job = {job}"));
    let mut rows: Vec<Vec<Value>> = Vec::new();
    read::select(connection, table, &filter, &[], |row| {
        let value = |i| Ok(Value::try_from(row.value(i)?).map_err(rusqlite::Error::from)?);
        rows.push((0..table.columns.len()).map(value).collect::<Result<_, Fault>>()?);
        Ok::<_, Fault>(())
    })?;
    let key = table.columns[..table.n_key].iter().zip(2..).map(|(name, i)| format!("{name} = ?{i}"));
    let key: Vec<String> = key.collect();
    let update = format!("UPDATE {} SET digest = ?1 WHERE {}", table.name, key.join(" AND "));
    for row in rows {
        let digest = table.digest(job.map(|(_, board)| board), row.iter().map(ValueRef::from));
        let digest = Value::Integer(digest);
        let values = [&digest].into_iter().chain(&row[..table.n_key]);
        connection.prepare_cached(&update)?.execute(params_from_iter(values))?;
    }
    Ok(())
}

fn reason(error: StoreError) -> String {
    match error {
        StoreError::Damaged { reason, .. } | StoreError::Version { reason, .. } => reason,
        error => format!("{error:?}"),
    }
}

const TABLES: [&Table; 10] = [
    &JOB_IDENTITY,
    &JOB,
    &PLAN_PART,
    &COVERAGE,
    &COVERAGE_RANGE,
    &SOURCE,
    &RECORD,
    &SECOND_COUNT,
    &VERDICT,
    &BLOCKED_WORKER,
];

/// A change of any column of any row is detected.
#[test]
fn no_column_of_any_row_can_be_changed_unseen() {
    for table in TABLES {
        for column in table.columns.iter().chain(&["digest"]) {
            // Changes the last row, so that no row after it is reported missing first.
            let sql = format!(
                "UPDATE {0} SET {column} = CASE typeof({column})
                     WHEN 'integer' THEN {column} + 1 WHEN 'text' THEN {column} || '1' ELSE 1 END
                 WHERE (SELECT json_array({1})) = (SELECT max(json_array({1})) FROM {0})",
                table.name,
                table.columns[..table.n_key].join(", "),
            );
            let (loaded, audited) = tampered(&sql, false);
            assert_ne!(audited, "fine", "{sql}");
            // A starting coordinator does not read the evidence.
            let is_evidence = ["source", "record", "second_count", "verdict"].contains(&table.name);
            assert_eq!(loaded == "fine", is_evidence, "{sql}: {loaded}");
            let has_message = |text: &str| text.contains("digest is not that of its content");
            assert!(has_message(&audited) || table.n_key > 0, "{sql}: {audited}");
        }
    }
}

/// A removed row is detected. (Blocks, recounts and verdicts add to no total, and a job that never began has no other
/// rows.)
#[test]
fn no_row_that_a_total_depends_on_can_be_removed_unseen() {
    let adds_nothing = ["blocked_worker", "second_count", "verdict"];
    for table in TABLES.into_iter().filter(|table| !adds_nothing.contains(&table.name)) {
        let key = table.columns[..table.n_key].join(", ");
        let sql = format!(
            "DELETE FROM {0} WHERE (SELECT json_array({key})) = (SELECT min(json_array({key})) FROM {0})",
            table.name
        );
        let (loaded, audited) = tampered(&sql, false);
        assert_ne!(audited, "fine", "{sql}");
        assert_eq!(loaded == "fine", ["source", "record"].contains(&table.name), "{sql}: {loaded}");
    }
}

/// A row that is valid in its own place is invalid in another's.
#[test]
fn rows_can_not_take_the_place_of_others() {
    #[track_caller]
    fn check(sql: &str, expected: &str) {
        assert_eq!(tampered(sql, false).1, expected);
    }
    check(
        "UPDATE coverage SET part = 2 - part + 10; UPDATE coverage SET part = part - 10",
        "coverage of job 3, part 0: its digest is not that of its content",
    );
    check(
        "UPDATE coverage_range SET part = 1 WHERE part = 0",
        "recorded ranges of job 3, part 1, from 0: its digest is not that of its content",
    );
    check(
        "UPDATE record SET part = 1 WHERE part = 0",
        "job 3, part 0: subproblems without a record: '0..40', records not in the coverage: ''",
    );
    check(
        "UPDATE record SET part = 0 WHERE first = 60",
        "record of job 3, part 0, 60..100: its digest is not that of its content",
    );
    // The job gets another board and a valid digest: the digests of its rows are then wrong.
    let dir = sample();
    let connection = Connection::open(dir.path().join(DATABASE)).expect("opens");
    connection.execute_batch("UPDATE job SET decomposition = decomposition + 1").expect("writes");
    seal(&connection, &JOB, None).expect("writes");
    drop(connection);
    let expected = "plan of job 3, part 0: its digest is not that of its content";
    assert_eq!(reason(audit_sample(dir.path()).expect_err("refused")), expected);
}

#[test]
fn loading_finds_what_cannot_be() {
    #[track_caller]
    fn check(sql: &str, expected: &str) {
        assert_eq!(tampered(sql, true).0, expected);
    }
    check(
        "UPDATE job SET identity = 'x' WHERE id = 3",
        "job 3: identity 'x': expected a job's identity, 32 hexadecimal digits",
    );
    check("DROP TABLE blocked_worker", "table blocked_worker: no such table: blocked_worker");
    check(
        "UPDATE blocked_worker SET name = char(27)",
        "blocked worker '\\u{1b}': expected 1 to 100 visible characters, with spaces only between them",
    );
    check(
        "UPDATE job SET priority = 1001 WHERE id = 3",
        "job 3: '1001' is no priority: expected a whole number from -1000 to 1000",
    );
    check("DROP TABLE coverage", "table coverage: no such table: coverage");
    check("UPDATE job SET id = -3 WHERE id = 3", "a job: id -3 is out of range");
    check("UPDATE job SET n = 33 WHERE id = 3", "job 3: n 33 is no board size");
    check("UPDATE job SET phase = 'Active' WHERE id = 3", "job 3: there is no phase 'Active'");
    check("UPDATE job SET n_verified = -1 WHERE id = 3", "job 3: n_verified -1 is out of range");
    check(
        "UPDATE job SET decomposition = 4294967296 WHERE id = 3",
        "job 3: decomposition 4294967296 is out of range",
    );
    check("UPDATE job SET n_parts = NULL WHERE id = 3", "job 3 has half a plan");
    check("UPDATE job SET n_parts = 7 WHERE id = 3", "job 3 has 7 parts, but 6 are there");
    check("DELETE FROM plan_part WHERE number = 4", "plan of job 3, part 4 is missing, 5 comes next");
    check("UPDATE plan_part SET image = 8 WHERE number = 4", "plan of job 3, part 4: there is no image 8");
    check(
        "UPDATE plan_part SET n_subproblems = -1",
        "plan of job 3, part 0: n_subproblems -1 is out of range",
    );
    check(
        "UPDATE plan_part SET work = '1e9'",
        "plan of job 3, part 0: work '1e9': invalid digit found in string",
    );
    check("UPDATE coverage SET part = 6 WHERE part = 2", "coverage of job 3, part 6: the plan has 6 parts");
    check(
        "UPDATE coverage_range SET until = 30 WHERE first = 30",
        "recorded ranges of job 3, part 2, from 30: it is empty, or meets the one before it",
    );
    check(
        "UPDATE coverage_range SET until = 60 WHERE first = 30",
        "recorded ranges of job 3, part 2, from 60: it is empty, or meets the one before it",
    );
    check(
        "UPDATE coverage_range SET until = 39 WHERE first = 30",
        "coverage of job 3, part 2: it should be 50 subproblems in 2 ranges, but 49 in 2 are there, or others",
    );
    check(
        "UPDATE coverage_range SET until = 41 WHERE first = 30;
         UPDATE coverage_range SET until = 99 WHERE first = 60",
        "coverage of job 3, part 2: it should be 50 subproblems in 2 ranges, but 50 in 2 are there, or others",
    );
    check("DELETE FROM coverage WHERE part = 2", "coverage of job 3, part 2 has ranges, but no sums");
    check(
        "INSERT INTO record SELECT 9, part, first, until, 0, 0, 0, 0, 1, 0 FROM record LIMIT 1",
        "table record has rows of job 9, which is not there",
    );
    check(
        "UPDATE coverage SET solutions = '-1'",
        "coverage of job 3, part 0: solutions '-1': invalid digit found in string",
    );
    check(
        "UPDATE coverage SET work = ''",
        "coverage of job 3, part 0: work '': cannot parse integer from empty string",
    );
}

#[test]
fn auditing_finds_what_does_not_add_up() {
    #[track_caller]
    fn check(sql: &str, expected: &str) {
        assert_eq!(tampered(sql, true), ("fine".to_owned(), expected.to_owned()));
    }
    check("SELECT 1", "fine");
    check(
        "UPDATE record SET until = 21 WHERE first = 0",
        "record of job 3, part 0: 20..40 overlaps the record before it, which ends at 21",
    );
    check(
        "UPDATE record SET until = 101 WHERE first = 60",
        "record of job 3, part 2: 60..101 goes past its 100 subproblems",
    );
    check(
        "UPDATE record SET first = 19 WHERE first = 20",
        "record of job 3, part 0: 19..40 overlaps the record before it, which ends at 20",
    );
    check("UPDATE record SET until = 20 WHERE first = 20", "CHECK constraint failed in record");
    check(
        "UPDATE record SET first = 21 WHERE first = 20",
        "job 3, part 0: subproblems without a record: '20..21', records not in the coverage: ''",
    );
    check(
        "DELETE FROM record WHERE part = 2",
        "job 3, part 2: subproblems without a record: '30..40 60..100', records not in the coverage: ''",
    );
    check(
        "DELETE FROM coverage WHERE part = 2; DELETE FROM coverage_range WHERE part = 2",
        "job 3, part 2: subproblems without a record: '', records not in the coverage: '30..40 60..100'",
    );
    check(
        "UPDATE record SET solutions = solutions + 1 WHERE first = 60",
        "job 3, part 2: its records have 16 solutions, its coverage has 15",
    );
    check(
        "UPDATE record SET work = work - 1 WHERE first = 60",
        "job 3, part 2: its records have 149 work, its coverage has 150",
    );
    check(
        "UPDATE coverage SET solutions = '12' WHERE part = 0",
        "job 3, part 0: its records have 11 solutions, its coverage has 12",
    );
    check(
        "INSERT INTO coverage VALUES (3, 5, 0, '1', '0', 0, 0, 0)",
        "job 3, part 5: its records have 0 solutions, its coverage has 1",
    );
    check(
        "UPDATE record SET part = 6 WHERE first = 60",
        "a row of table record belongs to a missing row of table plan_part",
    );
    check(
        "UPDATE record SET source = 9 WHERE first = 60",
        "a row of table record belongs to a missing row of table source",
    );
    check(
        "UPDATE job SET phase = 'done' WHERE id = 3",
        "job 3 is done, but of 600 subproblems 90 are recorded",
    );
    check("UPDATE job SET phase = 'done' WHERE id = 4", "job 4 is done, but of 0 subproblems 0 are recorded");
    check(
        "UPDATE job SET decomposition = 999 WHERE id = 3",
        &format!(
            "job 3 is cut by decomposition 999 of the method search, this program knows {DECOMPOSITION_VERSION}"
        ),
    );
    check(
        "UPDATE plan_part SET n_subproblems = 101 WHERE number = 4",
        "plan of job 3, part 4: it should be image 0, 100 subproblems, work 1, and is image 0, 101 subproblems, work 1",
    );
}

/// If all digests are recomputed, an audit still rejects a plan that is not the board's.
#[test]
fn an_audit_knows_the_plans_of_boards() {
    #[track_caller]
    fn check(sql: &str, expected: &str) {
        let dir = tempfile::tempdir().expect("a temporary directory");
        count_eight(dir.path(), 0);
        let connection = Connection::open(dir.path().join(DATABASE)).expect("opens");
        connection.execute_batch(sql).expect("writes");
        seal_sample(&connection);
        drop(connection);
        let refused = reason(audit(dir.path()).expect_err("is refused"));
        assert!(refused.contains(expected), "{refused}");
        SqliteStore::open(dir.path()).expect("opens").load().expect("digests fit");
    }
    check("UPDATE plan_part SET work = '77' WHERE number = 4", "part 4: it should be");
    check("UPDATE plan_part SET image = 1 - image WHERE number = 4", "part 4: it should be");
}

/// A wrong total is no damage, but the audit reports it.
#[test]
fn an_audit_knows_the_totals_of_boards() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    count_eight(dir.path(), 0);
    assert_eq!(audit(dir.path()).expect("sound")[0].contradicted(), None);
    let connection = Connection::open(dir.path().join(DATABASE)).expect("opens");
    let wrong = "UPDATE record SET solutions = solutions + 1 WHERE part = 0;
                 UPDATE coverage SET solutions = solutions + 1 WHERE part = 0";
    connection.execute_batch(wrong).expect("writes");
    seal_sample(&connection);
    drop(connection);
    assert_eq!(audit(dir.path()).expect("sound")[0].contradicted(), Some(92));
}

/// Rows with negative numbers are not recovered, though their digests are valid.
#[test]
fn records_of_no_job_and_of_no_cross_are_not_recovered() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    count_eight(dir.path(), 0);
    let sound = audit(dir.path()).expect("nothing contradicts");
    let connection = Connection::open(dir.path().join(DATABASE)).expect("opens");
    let unchecked = "PRAGMA ignore_check_constraints = ON; PRAGMA foreign_keys = OFF";
    connection.execute_batch(unchecked).expect("settings");
    let all_columns = |row: &rusqlite::Row<'_>| (0..RECORD.columns.len()).map(|i| row.get(i)).collect();
    let row: Vec<Value> = connection.query_row("SELECT * FROM record", [], all_columns).expect("a record");
    let method = Method::Search;
    let identity: String =
        connection.query_row("SELECT identity FROM job", [], |row| row.get(0)).expect("a job");
    let identity = identity.parse().expect("an identity");
    let board = Board { identity, n: 8, method, decomposition: method.decomposition(), is_second: false };
    for number in [0, 1] {
        let mut row = row.clone();
        row[number] = Value::Integer(-1);
        RECORD.put(&connection, Some(board), row.clone()).expect("writes");
    }
    drop(connection);
    let new = tempfile::tempdir().expect("a temporary directory");
    let recovered = recover(dir.path(), new.path()).expect("the job proves itself");
    assert_eq!(recovered.jobs.len(), 1);
    let audits = audit(new.path()).expect("nothing contradicts");
    assert_eq!((audits[0].total, audits[0].n_records), (sound[0].total, sound[0].n_records));
}
