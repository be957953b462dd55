//! The command 'move': migrates all jobs and invitations between a data directory and a database server.

use std::collections::HashMap;
use std::path::Path;

use anyhow::bail;
use clap::Args;
use queens_ledger::store::StoreError;
use queens_program::print;
use queens_store::StoreCopy;
use queens_store::history::{Change, NotKept};
use queens_store::postgres::{Contact, LeaderCandidate, StoreLocation};
use queens_store::sql::database::{Database, Row, first};
use queens_store::sql::digest::{
    BLOCKED_WORKER, Board, COVERAGE, COVERAGE_RANGE, JOB, JOB_IDENTITY, PLAN_PART, RECORD, SECOND_COUNT,
    SOURCE, VERDICT,
};
use queens_store::sql::fault::Fault;
use queens_store::sql::read::{self, sql_integer};
use queens_store::sql::table::Table;
use queens_store::sqlite::SqliteStore;
use rusqlite::types::Value;

use super::store::ReachArgs;
use crate::access::{Dump, TransactionError};

#[derive(Debug, Args)]
pub(crate) struct MoveArgs {
    /// Source: a data directory, or a database as postgres://USER@HOST:PORT/DATABASE
    #[arg(long, value_name = "DIR|URL")]
    from: String,

    /// Destination: a data directory or a database without jobs and invitations
    #[arg(long, value_name = "DIR|URL")]
    to: String,

    #[command(flatten)]
    reach: ReachArgs,
}

/// What was moved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Moved {
    n_jobs: u64,
    n_records: u64,
    n_invitations: u64,
}

/// Moves all jobs and invitations from one store to another.
pub(crate) fn move_jobs(args: &MoveArgs) -> anyhow::Result<()> {
    anyhow::ensure!(args.from != args.to, "'{}' is both where the jobs are and where they go", args.from);
    let (from, to) = (args.reach.location(&args.from)?, args.reach.location(&args.to)?);
    let Moved { n_jobs, n_records, n_invitations } = move_all(&from, &to)?;
    let jobs = if n_jobs == 1 { "job" } else { "jobs" };
    let invitations = match n_invitations {
        0 => String::new(),
        1 => " and 1 invitation".to_owned(),
        n => format!(" and {n} invitations"),
    };
    print(&format!(
        "{n_jobs} {jobs} with {n_records} records{invitations} are in the new place, and proved \
         there"
    ))
}

/// The tables in the order of their foreign keys.
const TABLES: [&Table; 10] = [
    &JOB,
    &JOB_IDENTITY,
    &PLAN_PART,
    &SOURCE,
    &COVERAGE,
    &COVERAGE_RANGE,
    &RECORD,
    &BLOCKED_WORKER,
    &SECOND_COUNT,
    &VERDICT,
];

fn open(location: &StoreLocation, must_exist: bool) -> Result<Box<dyn StoreCopy>, StoreError> {
    Ok(match location {
        StoreLocation::Directory(dir) if must_exist => {
            Box::new(SqliteStore::open_existing(dir)?.with_history())
        }
        StoreLocation::Directory(dir) => Box::new(SqliteStore::open(dir)?.with_history()),
        StoreLocation::Server(server) => {
            let contact = Contact { url: "a move".to_owned(), pages: None };
            Box::new(LeaderCandidate::new(server.clone(), contact, Path::new(".")).lead()?)
        }
    })
}

/// Copies everything from one store to another one without jobs. Neither may be in use. All jobs are audited from their
/// records before and after, and each row is verified on the way. The source is kept.
/// Invitations, names and the audit log move too. On a server, they join the transaction of the jobs. In a directory,
/// they have one of their own, last before that of the jobs ends.
/// A failure leaves nothing written, unless the destination does not answer the commit.
fn move_all(from: &StoreLocation, to: &StoreLocation) -> anyhow::Result<Moved> {
    let (source, target) = (from, to);
    let before = source.audit()?;
    let from = open(source, true)?;
    let mut to = open(target, false)?;
    let book = Dump::of(source)?;
    book.make_room(target)?;
    let view = from.view()?;
    let boards = boards(&*view).map_err(|fault| fault.of(from.place()))?;
    let n_invitations = book.n_invitations();
    let mut moved = Moved { n_jobs: boards.len() as u64, n_records: 0, n_invitations };
    let (mut is_occupied, mut unread, mut not_in_book) = (false, None, None);
    let filled = to.fill(&mut |database| {
        is_occupied = first(database, "SELECT id FROM job LIMIT 1", &[], |_| Ok(()))?.is_some();
        if is_occupied {
            return Err(Fault::Impossible("there are jobs in it".to_owned()));
        }
        for table in TABLES {
            let order = if table.name == JOB.name { "ORDER BY id" } else { "" };
            // Distinguishes a fault of the source from one of the destination.
            read::select(&*view, table, order, &[], |row| {
                let (board, values) =
                    look_at(table, row, &boards).inspect_err(|fault| unread = Some(fault.reason()))?;
                moved.n_records += u64::from(table.name == RECORD.name);
                table.put(database, board, values)
            })?;
        }
        book.put(target, database).map_err(|not_done| match not_done {
            TransactionError::Failed(fault) => fault,
            TransactionError::Refused(error) => {
                let reason = error.to_string();
                not_in_book = Some(error);
                Fault::Impossible(reason)
            }
        })
    });
    if let Some(error) = not_in_book {
        return Err(error.into());
    }
    match (filled, unread) {
        (Ok(()), _) => {}
        (Err(_), _) if is_occupied => bail!(
            "there are jobs in the {} already: what is moved needs a place of its own; remove what is there if a move \
             has left it",
            to.place()
        ),
        (Err(_), Some(reason)) => return Err(StoreError::Damaged { place: from.place(), reason }.into()),
        (Err(StoreError::Failed(reason)), None) => bail!(
            "it is not known whether all was moved: {reason}. 'queens-coordinator check' of the new place tells"
        ),
        (Err(error), None) => return Err(error.into()),
    }
    move_history(&*from, &*to)?;
    let place = to.place();
    drop((from, to));
    if target.audit()? != before {
        bail!("the {place} has other jobs or records than the source: keep using the source");
    }
    Ok(moved)
}

/// Moves history, which is for display only.
fn move_history(from: &dyn StoreCopy, to: &dyn StoreCopy) -> anyhow::Result<()> {
    if let Some((mut old, mut new)) = from.history().zip(to.history()) {
        let past = old.load();
        let change = Change {
            curves: past.curves,
            events: past.events,
            first_events: (0, 0),
            days: past.days,
            first_day: 0,
        };
        if let Err(NotKept::Failed(reason) | NotKept::Lost(reason)) = new.store(&change) {
            bail!("everything is moved except the history of curves and events: {reason}");
        }
    }
    Ok(())
}

/// Returns the boards of all jobs; the digests of their rows depend on them.
fn boards(view: &dyn Database) -> Result<HashMap<i64, Board>, Fault> {
    let jobs = read::jobs(view)?;
    jobs.iter().map(|job| Ok((sql_integer("job", job.entry.id.0)?, Board::of(&job.entry)))).collect()
}

/// Returns the verified values of a row, and the board of its digest.
fn look_at(
    table: &Table,
    row: &Row<'_>,
    boards: &HashMap<i64, Board>,
) -> Result<(Option<Board>, Vec<Value>), Fault> {
    let board = if table.is_of_job { boards.get(&row.get("job", table)?).copied() } else { None };
    table.verify(row, board, table)?;
    let value = |i| Ok(Value::try_from(row.value(i)?).map_err(rusqlite::Error::from)?);
    Ok((board, (0..table.columns.len()).map(value).collect::<Result<_, Fault>>()?))
}
