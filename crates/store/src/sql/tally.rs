//! Sums the records of a part and compares the sums with its coverage.

use std::collections::BTreeSet;

use queens_ledger::store::Coverage;
use queens_model::JobId;

use super::database::Database;
use super::digest::{Board, RECORD};
use super::fault::Fault;
use super::read::{self, integer, sql_integer};

/// The sums over the records of one part.
#[derive(Default)]
pub(crate) struct Tally {
    pub(crate) n_records: u64,
    pub(crate) sum: Coverage,
}

impl Tally {
    /// Sums the records. With `proved` (the board and all sources), verifies the digest and the source of each.
    pub(crate) fn of(
        database: &dyn Database,
        job: JobId,
        proved: Option<(Board, &BTreeSet<i64>)>,
        part: u32,
        n_subproblems: u64,
    ) -> Result<Self, Fault> {
        let mut tally = Self::default();
        let mut end = 0;
        let values = [sql_integer("job", job.0)?.into(), part.into()];
        read::select(database, &RECORD, "WHERE job = ?1 AND part = ?2 ORDER BY first", &values, |row| {
            let place = format_args!("record of job {job}, part {part}");
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
            tally.sum.work += u128::from(integer::<u64>(row, "work", &place)?);
            Ok(())
        })?;
        Ok(tally)
    }

    /// Checks that the claimed coverage is the sum of the records.
    pub(crate) fn compare(&self, claimed: &Coverage) -> Result<(), String> {
        let Coverage { recorded, solutions, work } = &self.sum;
        if *recorded != claimed.recorded {
            return Err(format!(
                "subproblems without a record: '{}', records not in the coverage: '{}'",
                claimed.recorded.without(recorded),
                recorded.without(&claimed.recorded)
            ));
        }
        let sums = [("solutions", *solutions, claimed.solutions), ("work", *work, claimed.work)];
        match sums.into_iter().find(|(_, found, claimed)| found != claimed) {
            None => Ok(()),
            Some((what, found, claimed)) => {
                Err(format!("its records have {found} {what}, its coverage has {claimed}"))
            }
        }
    }
}
