//! Whether records, second counts of them and verdicts go together.

use queens_ledger::store::{JobEntry, Phase};
use rusqlite::{Connection, OptionalExtension};

use super::fault::Fault;
use super::read::sql_integer;

/// The last verdict on each span, `v`, with its record, `r`, if that is there.
const LAST: &str = "FROM verdict v LEFT JOIN record r USING (job, cross, first) WHERE v.job = ?1 AND v.number = \
                    (SELECT max(number) FROM verdict w WHERE w.job = v.job AND w.cross = v.cross AND w.first = v.first)";

/// A verdict stands if its span is a record's, and the record is what was decided last; nothing was counted again of
/// what is not recorded; and of a job that is done, and was not exported before, no difference is left undecided.
pub(super) fn check(connection: &Connection, job: &JobEntry) -> Result<(), Fault> {
    let id = job.id;
    let last = [
        ("r.until IS NULL OR r.until <> v.until", "is on a span that no record has"),
        (
            "r.solutions <> v.solutions OR r.nodes <> v.nodes",
            "was not followed: the record says something else",
        ),
    ];
    for (condition, problem) in last {
        let sql = format!("SELECT v.cross, v.first, v.until {LAST} AND ({condition}) LIMIT 1");
        refuse(connection, id.0, &sql, |span| format!("verdict of job {id}, {span}: it {problem}"))?;
    }
    let sql = "SELECT s.cross, s.first, s.until FROM second_count s LEFT JOIN record r USING (job, cross, first) \
               WHERE s.job = ?1 AND (r.until IS NULL OR r.until < s.until) LIMIT 1";
    refuse(connection, id.0, sql, |span| format!("second count of job {id}, {span}: no record has it"))?;
    if job.phase != Phase::Done || job.terms.exported_ms.is_some() {
        return Ok(());
    }
    let sql = "SELECT s.cross, s.first, s.until FROM second_count s JOIN record r USING (job, cross, first, until) \
               WHERE s.job = ?1 AND (s.solutions <> r.solutions OR s.nodes <> r.nodes) AND NOT EXISTS \
               (SELECT 1 FROM verdict v JOIN source l ON l.id = v.lost_source WHERE v.job = s.job AND v.cross = s.cross \
               AND v.first = s.first AND l.worker = s.name AND v.lost_solutions = s.solutions AND v.lost_nodes = \
               s.nodes) LIMIT 1";
    refuse(connection, id.0, sql, |span| {
        format!("job {id} is done, but of {span} there are different counts, and nothing is decided")
    })
}

/// Finds fault with the first span that a query finds.
fn refuse(
    connection: &Connection,
    job: u64,
    sql: &str,
    problem: impl Fn(String) -> String,
) -> Result<(), Fault> {
    let mut statement = connection.prepare_cached(sql)?;
    let span = |row: &rusqlite::Row<'_>| {
        let [cross, first, until] = [row.get::<_, i64>(0)?, row.get(1)?, row.get(2)?];
        Ok(format!("cross {cross}, {first}..{until}"))
    };
    match statement.query_row([sql_integer("job", job)?], span).optional()? {
        None => Ok(()),
        Some(span) => Err(Fault::Damaged(problem(span))),
    }
}

/// Removes records of a cross that are not what was decided last about their spans: they are older than that.
pub(super) fn drop_losers(connection: &Connection, job: i64, cross: u32) -> Result<(), Fault> {
    let sql = format!(
        "DELETE FROM record WHERE job = ?1 AND cross = ?2 AND first IN (SELECT v.first {LAST} AND v.cross = ?2 AND \
         (r.solutions <> v.solutions OR r.nodes <> v.nodes))"
    );
    connection.prepare_cached(&sql)?.execute((job, cross))?;
    Ok(())
}
