//! Adding up records, and what SQLite itself has to say of their file.

use std::collections::BTreeSet;

use queens_ledger::store::Coverage;
use queens_messages::JobId;
use rusqlite::Connection;

use super::digest::{Board, RECORD};
use super::fault::Fault;
use super::read::{self, integer, sql_integer};

/// Whether SQLite finds fault with the file, its constraints included. That every record belongs to a cross of a
/// plan is one of them; otherwise the audit would not meet the record.
pub(super) fn check_file(connection: &Connection) -> Result<(), Fault> {
    let verdict: String = connection.query_row("PRAGMA integrity_check(1)", [], |row| row.get(0))?;
    if verdict != "ok" {
        return Err(Fault::Damaged(verdict));
    }
    let mut statement = connection.prepare("PRAGMA foreign_key_check")?;
    let mut orphans = statement.query([])?;
    match orphans.next()? {
        None => Ok(()),
        Some(row) => {
            let (table, parent): (String, String) = (row.get(0)?, row.get(2)?);
            Err(Fault::Damaged(format!("a row of table {table} belongs to a missing row of table {parent}")))
        }
    }
}

/// The records of one cross, added up.
#[derive(Default)]
pub(super) struct Tally {
    pub(super) n_records: u64,
    pub(super) sum: Coverage,
}

impl Tally {
    /// Adds them up; `proved` is what their digests and their sources are held against, if they have digests.
    pub(super) fn of(
        connection: &Connection,
        job: JobId,
        proved: Option<(Board, &BTreeSet<i64>)>,
        cross: u32,
        n_subproblems: u64,
    ) -> Result<Self, Fault> {
        let mut statement =
            read::select(connection, &RECORD, "WHERE job = ?1 AND cross = ?2 ORDER BY first")?;
        let mut rows = statement.query((sql_integer("job", job.0)?, cross))?;
        let mut tally = Self::default();
        let mut end = 0;
        while let Some(row) = rows.next()? {
            let place = format_args!("record of job {job}, cross {cross}");
            let first: u64 = integer(row, "first", &place)?;
            let until: u64 = integer(row, "until", &place)?;
            if let Some((board, sources)) = proved {
                RECORD.verify(row, Some(board), &format_args!("{place}, {first}..{until}"))?;
                let source: i64 = integer(row, "source", &place)?;
                if !sources.contains(&source) {
                    return Err(Fault::Damaged(format!(
                        "{place}, {first}..{until}: there is no source {source}"
                    )));
                }
            }
            let problem = if until <= first {
                Some("is empty".to_owned())
            } else if until > n_subproblems {
                Some(format!("goes past its {n_subproblems} subproblems"))
            } else if first < end {
                Some(format!("overlaps the record before it, which ends at {end}"))
            } else {
                None
            };
            if let Some(problem) = problem {
                return Err(Fault::Damaged(format!("{place}: {first}..{until} {problem}")));
            }
            end = until;
            tally.n_records += 1;
            tally.sum.recorded.insert(first..until);
            tally.sum.solutions += u128::from(integer::<u64>(row, "solutions", &place)?);
            tally.sum.nodes += u128::from(integer::<u64>(row, "nodes", &place)?);
        }
        Ok(tally)
    }

    /// Whether this is what is said of the cross.
    pub(super) fn compare(&self, claimed: &Coverage) -> Result<(), String> {
        let Coverage { recorded, solutions, nodes } = &self.sum;
        if *recorded != claimed.recorded {
            return Err(format!(
                "subproblems without a record: '{}', records not in the coverage: '{}'",
                claimed.recorded.without(recorded),
                recorded.without(&claimed.recorded)
            ));
        }
        let sums = [("solutions", *solutions, claimed.solutions), ("nodes", *nodes, claimed.nodes)];
        match sums.into_iter().find(|(_, found, claimed)| found != claimed) {
            None => Ok(()),
            Some((what, found, claimed)) => {
                Err(format!("its records have {found} {what}, its coverage has {claimed}"))
            }
        }
    }
}
