//! Checks that records, recounts and verdicts agree, and removes records that lost a verdict.

use queens_ledger::store::draw::is_drawn;
use queens_ledger::store::{JobEntry, Phase};
use queens_model::Share;

use super::database::{Database, first, for_each};
use super::fault::Fault;
use super::read::{integer, sql_integer};

/// The last verdict on each span, `v`, with its record, `r`, if that exists.
const LAST: &str = "FROM verdict v LEFT JOIN record r USING (job, part, first) WHERE v.job = ?1 AND v.number = \
                    (SELECT max(number) FROM verdict w WHERE w.job = v.job AND w.part = v.part AND w.first = v.first)";

/// Checks the verdicts and recounts of a job. Each verdict's span is a record's, and the record has the count of the
/// last verdict. Verdicts on a span are numbered without gaps. Only recorded spans have recounts. A finished job is
/// settled.
pub(crate) fn check(database: &dyn Database, job: &JobEntry) -> Result<(), Fault> {
    let id = job.id;
    let last = [
        ("r.until IS NULL OR r.until <> v.until", "is on a span that no record has"),
        (
            "r.solutions <> v.solutions OR r.work <> v.work",
            "was not followed: the record says something else",
        ),
    ];
    for (condition, problem) in last {
        let sql = format!("SELECT v.part, v.first, v.until {LAST} AND ({condition}) LIMIT 1");
        refuse(database, id.0, &sql, |span| format!("verdict of job {id}, {span}: it {problem}"))?;
    }
    let sql = "SELECT s.part, s.first, s.until FROM second_count s LEFT JOIN record r USING (job, part, first) \
               WHERE s.job = ?1 AND (r.until IS NULL OR r.until < s.until) LIMIT 1";
    refuse(database, id.0, sql, |span| format!("second count of job {id}, {span}: no record has it"))?;
    let sql = "SELECT part, first, max(until) AS until FROM verdict WHERE job = ?1 GROUP BY part, first HAVING max(number) <> \
               count(*) - 1 LIMIT 1";
    refuse(database, id.0, sql, |span| format!("verdicts of job {id}, {span}: one is missing"))?;
    if job.phase == Phase::Done { check_settled(database, job) } else { Ok(()) }
}

/// Checks that a job needs no recount: another party has confirmed each drawn record. Unless the job was exported
/// before, no difference is undecided either.
pub(crate) fn check_settled(database: &dyn Database, job: &JobEntry) -> Result<(), Fault> {
    check_drawn(database, job)?;
    let id = job.id;
    if job.terms.exported_ms.is_some() {
        return Ok(());
    }
    let sql = "SELECT s.part, s.first, s.until FROM second_count s JOIN record r USING (job, part, first, until) \
               WHERE s.job = ?1 AND (s.solutions <> r.solutions OR s.work <> r.work) AND NOT EXISTS \
               (SELECT 1 FROM verdict v JOIN source l ON l.id = v.lost_source WHERE v.job = s.job AND v.part = s.part \
               AND v.first = s.first AND l.party = s.party AND v.lost_solutions = s.solutions AND v.lost_work = \
               s.work) LIMIT 1";
    refuse(database, id.0, sql, |span| {
        format!("job {id} is done, but of {span} there are different counts, and nothing is decided")
    })
}

/// Checks that another party has confirmed each drawn record. If the job names a party, it must be one of the two.
fn check_drawn(database: &dyn Database, job: &JobEntry) -> Result<(), Fault> {
    let (id, seed, share) = (job.id, job.terms.seed, job.terms.recount);
    let by = job.terms.recount_by.map(|arbiter| arbiter.party.to_string());
    if share == Share::NOTHING {
        return Ok(());
    }
    let sql = "SELECT r.part, r.first, r.until FROM record r JOIN source w ON w.id = r.source WHERE r.job = ?1 AND NOT \
               EXISTS (SELECT 1 FROM second_count s WHERE s.job = r.job AND s.part = r.part AND s.first = r.first AND \
               s.until = r.until AND s.solutions = r.solutions AND s.work = r.work AND s.party <> w.party AND (?2 IN ('', s.party, w.party)))";
    let values = [sql_integer("job", id.0)?.into(), by.clone().unwrap_or_default().into()];
    for_each(database, sql, &values, |row| {
        let place = format_args!("record of job {id}");
        let (part, first): (u32, u64) = (integer(row, "part", &place)?, integer(row, "first", &place)?);
        if is_drawn(seed, share, id, part, first) {
            let until: u64 = integer(row, "until", &place)?;
            let whose =
                if by.is_some() { "the party that was named for that has not" } else { "no other party has" };
            return Err(Fault::Damaged(format!(
                "job {id} is done, but part {part}, {first}..{until} was drawn to be counted again, and {whose} \
                 confirmed it"
            )));
        }
        Ok(())
    })
}

/// Returns an error about the first span that a query finds, if there is one.
fn refuse(
    database: &dyn Database,
    job: u64,
    sql: &str,
    problem: impl Fn(String) -> String,
) -> Result<(), Fault> {
    let place = "a span";
    let span = first(database, sql, &[sql_integer("job", job)?.into()], |row| {
        let number = |column| integer::<u64>(row, column, &place);
        Ok(format!("part {}, {}..{}", number("part")?, number("first")?, number("until")?))
    })?;
    match span {
        None => Ok(()),
        Some(span) => Err(Fault::Damaged(problem(span))),
    }
}

/// Removes records of a part that are older than the last verdict on their span, and differ from it. Verdicts after a
/// lost one are removed first.
pub(crate) fn drop_losers(database: &dyn Database, job: i64, part: u32) -> Result<(), Fault> {
    let sql = "DELETE FROM verdict AS v WHERE job = ?1 AND part = ?2 AND number > (SELECT count(*) FROM verdict w WHERE \
               w.job = v.job AND w.part = v.part AND w.first = v.first AND w.number < v.number)";
    let values = [job.into(), part.into()];
    database.change(sql, &values)?;
    let sql = format!(
        "DELETE FROM record WHERE job = ?1 AND part = ?2 AND first IN (SELECT v.first {LAST} AND v.part = ?2 AND \
         (r.solutions <> v.solutions OR r.work <> v.work))"
    );
    database.change(&sql, &values)
}
