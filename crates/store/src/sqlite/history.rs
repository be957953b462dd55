//! Stores history in a database of its own, beside that of the jobs.
//!
//! So no damage to history affects records: a damaged file is removed, and rebuilt from its readable rows.
//! [`MOST_PAGES`] bounds its size.

use std::fs;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use rusqlite::{Connection, TransactionBehavior};
use tracing::warn;

use super::directory::{Directory, open_file};
use super::schema;
use crate::history::{Change, History, NotKept, Past};
use crate::sql::fault::Fault;
use crate::sql::history::{REMOVE_OLD_TABLES, read_past, write_change};

/// SQL that creates the tables of the history.
pub(crate) const HISTORY_TABLES: &str = include_str!("history.sql");

/// The name of the history database in a data directory.
pub const HISTORY: &str = "history.db";

/// The application id, which distinguishes it from other databases, and the version of its tables.
const APPLICATION_ID: i64 = 0x4e51_6869;
const VERSION: i32 = 3;

/// The maximum size, in pages of 4 KiB. The kept history needs less: 10 MB, and 30 MB for the days of parties.
const MOST_PAGES: i64 = 2440 + 7320;

/// A power failure may lose writes from the system's cache: history is not worth more.
const SETTINGS: &str = "PRAGMA synchronous = NORMAL; PRAGMA busy_timeout = 1000;";

/// The history of a data directory.
#[derive(Debug)]
pub(super) struct HistoryFile {
    // Closed before the directory is unlocked.
    connection: Option<Connection>,
    path: PathBuf,
    /// Whether the file belongs to another program, and stays unchanged.
    is_foreign: bool,
    /// Whether the stored history was unreadable. The next write then removes it first.
    begins_anew: bool,
    /// Keeps other processes out of the directory.
    _directory: Arc<Directory>,
}

impl HistoryFile {
    pub(super) fn of(directory: Arc<Directory>) -> Self {
        let path = directory.path().join(HISTORY);
        Self { connection: None, path, is_foreign: false, begins_anew: false, _directory: directory }
    }

    /// Opens the database; creates it if it does not exist.
    fn connect(&mut self) -> Result<&Connection, Fault> {
        if self.connection.is_none() {
            let mut connection = open_file(&self.path)?;
            connection.execute_batch(SETTINGS)?;
            connection.pragma_update(None, "max_page_count", MOST_PAGES)?;
            make_tables(&mut connection)?;
            return Ok(self.connection.insert(connection));
        }
        self.connection.as_ref().ok_or_else(|| Fault::Unfit("it is closed".to_owned()))
    }

    fn write(&mut self, change: &Change) -> Result<(), Fault> {
        let begins_anew = self.begins_anew;
        let connection = self.connect()?;
        let transaction = rusqlite::Transaction::new_unchecked(connection, TransactionBehavior::Immediate)?;
        write_change(&*transaction, change, begins_anew)?;
        transaction.commit()?;
        self.begins_anew = false;
        Ok(())
    }

    /// Removes the damaged database.
    fn remove(&mut self) -> io::Result<()> {
        self.connection = None;
        let mut journal = self.path.clone().into_os_string();
        journal.push("-journal");
        match fs::remove_file(journal) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        fs::remove_file(&self.path)
    }
}

impl History for HistoryFile {
    fn load(&mut self) -> Past {
        let mut past = Past { is_stored: true, ..Past::default() };
        let read = self.connect().and_then(|connection| read_past(connection, &mut past));
        let Err(fault) = read else { return past };
        let file = self.path.display().to_string();
        if let Fault::Version(reason) = fault {
            self.connection = None;
            self.is_foreign = true;
            warn!(file, reason, "this is not ours and stays as it is: no history is kept");
            return Past::default();
        }
        let reason = fault.reason();
        if is_damage(&fault) {
            let (curves, events) = (past.curves.len(), past.events.len());
            warn!(
                file,
                reason,
                curves,
                events,
                "history is damaged: what could be read is kept. No count depends on it"
            );
            if let Err(error) = self.remove() {
                warn!(file, %error, "the damaged history can't be removed");
            }
            return Past { is_stored: false, ..past };
        }
        warn!(file, reason, "history can't be read, and begins anew. No count depends on it");
        self.connection = None;
        self.begins_anew = true;
        Past::default()
    }

    fn store(&mut self, change: &Change) -> Result<(), NotKept> {
        if self.is_foreign {
            return Ok(());
        }
        let Err(fault) = self.write(change) else { return Ok(()) };
        let reason = fault.reason();
        if !is_damage(&fault) {
            return Err(NotKept::Failed(reason));
        }
        match self.remove() {
            Ok(()) => Err(NotKept::Lost(format!("{reason}: it is made again"))),
            Err(error) => Err(NotKept::Failed(format!("{reason}, and it can't be removed: {error}"))),
        }
    }
}

/// Creates the tables in an empty file, or checks that the existing ones are ours.
fn make_tables(connection: &mut Connection) -> Result<(), Fault> {
    let n_tables: i64 = connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    if n_tables == 0 {
        return make_missing_tables(connection);
    }
    let application: i64 = connection.pragma_query_value(None, "application_id", |row| row.get(0))?;
    if application != APPLICATION_ID {
        return Err(Fault::Version("it belongs to another program".to_owned()));
    }
    schema::check(connection)?;
    let n_pages: i64 = connection.pragma_query_value(None, "page_count", |row| row.get(0))?;
    match schema::version(connection)? {
        VERSION if n_pages > MOST_PAGES => Err(Fault::Damaged(format!("it has {n_pages} pages"))),
        VERSION => Ok(()),
        1..VERSION => make_missing_tables(connection),
        version if version > VERSION => {
            Err(Fault::Version(format!("it has version {version}, this program knows {VERSION}")))
        }
        version => Err(Fault::Damaged(format!("it has version {version}"))),
    }
}

/// Makes an empty file, or one of an earlier version, one of this version. Curves of earlier versions are dropped.
fn make_missing_tables(connection: &mut Connection) -> Result<(), Fault> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    transaction.execute_batch(REMOVE_OLD_TABLES)?;
    transaction.execute_batch(HISTORY_TABLES)?;
    transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
    transaction.pragma_update(None, "user_version", VERSION)?;
    Ok(transaction.commit()?)
}

fn is_damage(fault: &Fault) -> bool {
    match fault {
        Fault::Damaged(_) => true,
        Fault::Version(_) | Fault::Impossible(_) | Fault::Unfit(_) => false,
        fault => !fault.may_heal(),
    }
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use queens_model::{Event, EventKind, JobId, Party};

    use super::*;
    use crate::archive::Archive;
    use crate::history::{Curve, MOST_CURVES, MOST_POINTS, PartyDay, Point, Subject};
    use crate::sql::digest::{CURVE, EVENT, PARTY_DAY};
    use crate::sqlite::SqliteStore;

    fn open(dir: &TempDir) -> Box<dyn History> {
        SqliteStore::open(dir.path()).expect("opens").with_history().history().expect("on disk")
    }

    fn curve(n_points: usize) -> Curve {
        let point = |at_ms| Point { at_ms, measured_ms: 800, work: 1 << 60, billionths: 999_999_999 };
        Curve { step_seconds: 64, points: (1..).map(point).take(n_points).collect() }
    }

    /// The history of the tests: curves, events and days.
    fn change() -> Change {
        let event = |number| Event {
            number,
            at_ms: 1_800_000_000_000 + number,
            kind: EventKind::ALL[usize::try_from(number).expect("few") % EventKind::ALL.len()],
            job: (number % 2 == 0).then_some(JobId(number)),
            text: format!("n\u{00ba} {number}"),
        };
        let day = |day: u32| PartyDay {
            day,
            party: Party::from_bytes([u8::try_from(day).expect("small"); 16]),
            time_us: 1 << 60,
        };
        Change {
            curves: (1..200).map(|job| (Subject::Job(JobId(job)), curve(20))).collect(),
            events: (1..300).map(event).map(Arc::new).collect(),
            first_events: (0, 0),
            days: (1..200).map(day).collect(),
            first_day: 0,
        }
    }

    /// Creates a directory with that history.
    fn directory() -> TempDir {
        let dir = tempfile::tempdir().expect("a temporary directory");
        open(&dir).store(&change()).expect("is stored");
        dir
    }

    #[test]
    fn what_is_stored_is_read_until_it_is_dropped() {
        let dir = directory();
        let (change, past) = (change(), open(&dir).load());
        assert_eq!((&past.curves, &past.events, past.is_stored), (&change.curves, &change.events, true));
        let curves = [(1, Curve::default()), (2, curve(512)), (300, curve(1))]
            .map(|(job, curve)| (Subject::Job(JobId(job)), curve));
        let replaced = Change { curves: curves.into(), first_events: (250, 100), ..Change::default() };
        open(&dir).store(&replaced).expect("is stored");
        let past = open(&dir).load();
        let n_points: Vec<usize> = past.curves.iter().map(|(_, curve)| curve.points.len()).collect();
        assert_eq!((&n_points[..3], n_points.len(), n_points[198]), (&[512, 20, 20][..], 199, 1));
        let first = |by_workers| {
            let mut like = past.events.iter().filter(|event| event.kind.is_by_workers() == by_workers);
            like.next().map(|event| event.number)
        };
        assert_eq!((first(true), first(false)), (Some(251), Some(100)));
        assert_eq!(past.days, change.days);
        open(&dir).store(&Change { first_day: 150, ..Change::default() }).expect("is stored");
        assert_eq!(open(&dir).load().days, change.days[149..]);
    }

    #[test]
    fn earlier_versions_get_new_tables_and_keep_events_and_days() {
        for (version, old) in [
            (1, "DROP TABLE party_day;"),
            (2, "CREATE TABLE point (step INTEGER NOT NULL) STRICT; INSERT INTO point VALUES (60);"),
        ] {
            let dir = directory();
            let database = Connection::open(dir.path().join(HISTORY)).expect("opens");
            let sql = format!("DROP TABLE curve; {old} PRAGMA user_version = {version}");
            database.execute_batch(&sql).expect("SQL");
            let (mut history, change) = (open(&dir), change());
            let past = history.load();
            assert_eq!((past.curves, past.events, past.is_stored), (vec![], change.events.clone(), true));
            assert_eq!(past.days.len(), if version == 1 { 0 } else { 199 });
            history.store(&change).expect("is stored");
            drop(history);
            let past = open(&dir).load();
            assert_eq!((past.curves, past.days), (change.curves, change.days));
            let n_old = "SELECT count(*) FROM sqlite_schema WHERE name = 'point'";
            assert_eq!(database.query_row(n_old, [], |row| row.get(0)), Ok(0));
        }
    }

    #[test]
    fn the_largest_history_has_room() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let fleet = [Subject::Search, Subject::Halves, Subject::Workers];
        let jobs = (1..=MOST_CURVES).map(|job| Subject::Job(JobId(job as u64)));
        let curves = jobs.chain(fleet).map(|subject| (subject, curve(MOST_POINTS))).collect();
        let event =
            |event: Arc<Event>, number| Arc::new(Event { number, text: "ж".repeat(50), ..(*event).clone() });
        let change = change();
        let events = (1..=2000).map(|number| event(change.events[0].clone(), number)).collect();
        let mut history = open(&dir);
        let change = Change { curves, events, ..Change::default() };
        (0..3).for_each(|_| history.store(&change).expect("is stored"));
        drop(history);
        let size = fs::metadata(dir.path().join(HISTORY)).expect("it is there").len();
        assert!(size <= 10_000_000, "{size} bytes");
        assert_eq!(open(&dir).load().curves.len(), MOST_CURVES + 3);
    }

    /// A change of any column costs only its row; the rest is stored again.
    #[test]
    fn a_row_that_is_not_what_was_written_is_dropped() {
        for (table, number) in [(&CURVE, "job"), (&EVENT, "number"), (&PARTY_DAY, "day")] {
            for column in table.columns.iter().chain(&["digest"]) {
                let dir = directory();
                let sql = format!(
                    "PRAGMA ignore_check_constraints = ON;
                     UPDATE {0} SET {column} = CASE typeof({column}) WHEN 'text' THEN {column} || '1'
                     WHEN 'blob' THEN zeroblob(560) ELSE coalesce({column}, 0) + 1000 END WHERE {number} = 101",
                    table.name
                );
                let database = Connection::open(dir.path().join(HISTORY)).expect("opens");
                database.execute_batch(&sql).expect("SQL");
                drop(database);
                let mut history = open(&dir);
                let past = history.load();
                let mut expected = change();
                match table.name {
                    "curve" => expected.curves.retain(|(subject, _)| *subject != Subject::Job(JobId(101))),
                    "event" => expected.events.retain(|event| event.number != 101),
                    _ => expected.days.retain(|day| day.day != 101),
                }
                assert_eq!((&past.curves, &past.events), (&expected.curves, &expected.events), "{column}");
                assert_eq!(past.days, expected.days, "{column}");
                assert!(!past.is_stored, "{column}");
                history.store(&expected).expect("is stored");
                drop(history);
                let past = open(&dir).load();
                assert_eq!(
                    (past.curves, past.events, past.days, past.is_stored),
                    (expected.curves, expected.events, expected.days, true)
                );
            }
        }
    }

    /// Whichever page is damaged, the loaded history is valid, and new history is stored.
    #[test]
    fn a_damaged_page_costs_what_is_on_it() {
        let sound = fs::read(directory().path().join(HISTORY)).expect("readable");
        let n_pages = sound.len() / 4096;
        assert!(n_pages > 10, "{n_pages} pages");
        let mut n_read = 0;
        for page in 0..n_pages {
            for (from, byte) in [(0, 0), (0, 0xff), (100, 0x5a), (2000, 0)] {
                let dir = tempfile::tempdir().expect("a temporary directory");
                drop(SqliteStore::open(dir.path()).expect("opens"));
                let mut damaged = sound.clone();
                damaged[page * 4096 + from..(page + 1) * 4096].fill(byte);
                fs::write(dir.path().join(HISTORY), damaged).expect("written");
                let mut history = open(&dir);
                let past = history.load();
                let change = change();
                assert!(past.curves.iter().all(|curve| change.curves.contains(curve)), "page {page}");
                assert!(past.events.iter().all(|event| change.events.contains(event)), "page {page}");
                n_read += past.curves.len();
                // Damage that is found later costs the whole stored history, and the error says so.
                if let Err(error) = history.store(&change) {
                    assert!(matches!(error, NotKept::Lost(_)), "page {page}: {error:?}");
                    history.store(&change).expect("is stored");
                }
            }
        }
        assert!(n_read > n_pages * change().curves.len(), "{n_read} curves were read");
    }

    #[test]
    fn what_is_not_ours_stays_as_it_is() {
        for sql in ["PRAGMA application_id = 1", "PRAGMA user_version = 999"] {
            let dir = directory();
            let file = dir.path().join(HISTORY);
            Connection::open(&file).expect("opens").execute_batch(sql).expect("SQL");
            let before = fs::read(&file).expect("readable");
            let mut history = open(&dir);
            assert!(history.load().curves.is_empty());
            history.store(&change()).expect("nothing is done");
            assert!(fs::read(&file).expect("readable") == before, "{sql}");
        }
    }
}
