//! Detects that a file of an open database is removed, replaced or truncated.
//!
//! SQLite does not detect it: it goes on, and a crash loses all later commits. It itself removes or replaces these
//! files only while no connection is open. Nobody can detect that a file was overwritten with one of at least its size.

use std::fs::File;
use std::io::{ErrorKind, Read, Seek};
use std::path::{Path, PathBuf};

use queens_platform::FoundFile;
use rusqlite::Connection;
use rusqlite::config::DbConfig;

use crate::sql::fault::Fault;

/// The log's format: https://www.sqlite.org/fileformat2.html#the_write_ahead_log
const MAGIC: u32 = 0x377f_0682;
const HEADER: usize = 32;
const FRAME_HEADER: u64 = 24;

/// The files of an open database, whose connection is open for as long.
#[derive(Debug)]
pub struct OpenFiles {
    /// The database and the index of its log, which never shrink.
    grown: [OpenFile; 2],
    log: OpenFile,
    log_content: File,
}

#[derive(Debug)]
struct OpenFile {
    path: PathBuf,
    found: FoundFile,
}

#[derive(Clone, Copy)]
enum Loss {
    Removed,
    Truncated,
}

impl OpenFiles {
    /// Takes the files of a connection.
    ///
    /// # Errors
    /// If one can't be opened.
    pub fn of(connection: &Connection, database: &Path) -> Result<Self, Fault> {
        // SQLite creates the log at the first use, and resolves links before it names it.
        connection.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))?;
        let resolved = connection.path().unwrap_or_default();
        let log = OpenFile::at(format!("{resolved}-wal").into())?;
        let log_content = File::open(&log.path).map_err(|error| unfit(&log.path, &error))?;
        let grown = [OpenFile::at(database.into())?, OpenFile::at(format!("{resolved}-shm").into())?];
        Ok(Self { grown, log, log_content })
    }

    /// Checks that all files are there and whole. Before a transaction, this keeps a damaged file from growing again.
    /// After its commit, it proves that the commit is in a file that a restart finds.
    ///
    /// # Errors
    /// If one is not, with a message for people. Then the connection may only be closed.
    pub fn check(&mut self, connection: &Connection) -> Result<(), String> {
        let Err((path, loss)) = self.find_loss(connection) else { return Ok(()) };
        let name = path.file_name().unwrap_or_default().display();
        match loss {
            Loss::Removed => {
                if path != self.grown[0].path {
                    // Saves all commits in the database. An error costs only these.
                    _ = connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()));
                }
                Err(format!(
                    "'{name}' was removed or replaced while it was in use: nothing more is written to what was there; \
                     start again to go on with what is there now"
                ))
            }
            Loss::Truncated => {
                // A checkpoint would copy holes into the database.
                _ = connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true);
                Err(format!(
                    "'{name}' was truncated while it was in use: nothing more is acknowledged; start again to go on with \
                     what is left, or restore a backup"
                ))
            }
        }
    }

    fn find_loss(&mut self, connection: &Connection) -> Result<(), (PathBuf, Loss)> {
        for file in &mut self.grown {
            let Some(there) = file.find()? else { continue };
            if there.len < file.found.len {
                return Err((file.path.clone(), Loss::Truncated));
            }
            file.found = there;
        }
        let found = self.log.find();
        // SQLite is asked only if something is unusual: that takes longer than all else here.
        let is_usual = matches!(&found, Ok(Some(there)) if there.len >= self.log.found.len);
        let is_whole = is_usual && self.page_size().is_some();
        // Another connection may write between the looks of one attempt.
        if !is_whole && !(0..3).any(|_| self.is_log_whole(connection)) {
            return Err((self.log.path.clone(), Loss::Truncated));
        }
        if let Some(there) = found? {
            self.log.found = there;
        }
        Ok(())
    }

    /// Returns whether the log has the frames that the connection relies on: none after a checkpoint that truncated it.
    fn is_log_whole(&self, connection: &Connection) -> bool {
        let length = self.log_content.metadata().map_or(0, |metadata| metadata.len());
        let page_size = self.page_size();
        let frames = connection
            .prepare_cached("PRAGMA wal_checkpoint(NOOP)")
            .and_then(|mut look| look.query_row([], |row| row.get::<_, i64>(1)));
        // The next transaction reports errors of the database.
        let n_frames = frames.ok().and_then(|n_frames| u64::try_from(n_frames).ok()).unwrap_or_default();
        let needed = |page_size: u64| HEADER as u64 + n_frames * (FRAME_HEADER + page_size);
        n_frames == 0 || page_size.is_some_and(|page_size| length >= needed(page_size))
    }

    /// Reads the size of pages from the header of the log. A log that others truncate grows again with its next frame,
    /// but has no header then.
    fn page_size(&self) -> Option<u64> {
        let mut header = [0; HEADER];
        let mut log = &self.log_content;
        log.rewind().ok()?;
        log.read_exact(&mut header).ok()?;
        let word =
            |at: usize| u32::from_be_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
        (word(0) & !1 == MAGIC).then(|| word(8).into())
    }
}

impl OpenFile {
    fn at(path: PathBuf) -> Result<Self, Fault> {
        let found = FoundFile::at(&path).map_err(|error| unfit(&path, &error))?;
        Ok(Self { path, found })
    }

    /// Describes what is at the path now, if the system tells it.
    fn find(&self) -> Result<Option<FoundFile>, (PathBuf, Loss)> {
        match FoundFile::at(&self.path) {
            Ok(there) if there.is(&self.found) => Ok(Some(there)),
            // The next write reports disk errors.
            Err(error) if error.kind() != ErrorKind::NotFound => Ok(None),
            _ => Err((self.path.clone(), Loss::Removed)),
        }
    }
}

fn unfit(path: &Path, error: &std::io::Error) -> Fault {
    Fault::Unfit(format!("'{}': {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use queens_ledger::store::{Phase, Store};
    use tempfile::TempDir;

    use super::*;
    use crate::archive::StoreCopy;
    use crate::sqlite::SqliteStore;
    use crate::sqlite::tests::job;

    const FILES: [&str; 3] = ["queens.db", "queens.db-wal", "queens.db-shm"];

    fn replace(path: &Path) {
        let copy = path.with_extension("copy");
        fs::copy(path, &copy).expect("copied");
        fs::rename(copy, path).expect("replaced");
    }

    fn cut(path: &Path, bytes: u64) {
        let file = File::options().write(true).open(path).expect("it is there");
        let length = file.metadata().expect("a file").len();
        file.set_len(length.saturating_sub(bytes)).expect("cut");
    }

    type Lose = fn(&Path);

    /// Each way to lose a file, with a word of the message.
    const WAYS: [(Lose, &str); 4] = [
        (|path| fs::remove_file(path).expect("it is there"), "removed or replaced"),
        (replace, "removed or replaced"),
        (|path| cut(path, u64::MAX), "truncated"),
        (|path| cut(path, 1), "truncated"),
    ];

    /// Returns a store with two jobs, the second in its log only, and its directory.
    fn filled() -> (TempDir, SqliteStore) {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let mut store = SqliteStore::open(dir.path()).expect("opens");
        store.commit(&[job(1, 8, Phase::Planning)]).expect("commits");
        store.connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(())).expect("copies");
        store.commit(&[job(2, 8, Phase::Planning)]).expect("commits");
        (dir, store)
    }

    #[test]
    fn nothing_is_committed_after_the_loss_of_a_file() {
        for name in FILES {
            for (number, (lose, word)) in WAYS.into_iter().enumerate() {
                let case = format!("{name}, way {number}");
                let (dir, mut store) = filled();
                lose(&dir.path().join(name));
                let confirmed = store.confirm().expect_err(&case).to_string();
                let committed = store.commit(&[job(3, 8, Phase::Planning)]).expect_err(&case).to_string();
                for message in [confirmed, committed] {
                    assert!(message.contains(&format!("'{name}' was {word}")), "{case}: {message}");
                }
                drop(store);
                let restarted = SqliteStore::open(dir.path()).and_then(|mut store| store.load());
                let n_jobs = restarted.map(|stored| stored.jobs.len());
                match (name, number) {
                    // What was acknowledged is there, even if the log was removed.
                    ("queens.db", 1) | ("queens.db-wal", 0 | 1) | ("queens.db-shm", _) => {
                        assert_eq!(n_jobs.expect(&case), 2, "{case}");
                    }
                    // The log may have its last page.
                    ("queens.db", 3) => assert_eq!(n_jobs.unwrap_or(2), 2, "{case}"),
                    // A truncated log has the commits before the lost ones.
                    ("queens.db-wal", _) => assert_eq!(n_jobs.expect(&case), 1, "{case}"),
                    _ => assert!(n_jobs.is_err(), "{case}: {n_jobs:?}"),
                }
            }
        }
    }

    /// A transaction that has begun when a file is lost is not acknowledged either.
    #[test]
    fn a_loss_within_a_transaction_is_found_after_its_commit() {
        for name in FILES {
            // SQLite maps the index into memory.
            for (lose, word) in &WAYS[..if name == "queens.db-shm" { 2 } else { 3 }] {
                let (dir, mut store) = filled();
                let mut work = |database: &dyn crate::sql::database::Database| -> Result<(), Fault> {
                    lose(&dir.path().join(name));
                    database.change("UPDATE job SET n_verified = 5", &[]).map(|_| ())
                };
                let message = store.fill(&mut work).expect_err(name).to_string();
                assert!(message.contains(&format!("'{name}' was {word}")), "{message}");
            }
        }
    }

    /// Checkpoints truncate the log or let it begin anew.
    #[test]
    fn checkpoints_are_no_loss() {
        let (dir, mut store) = filled();
        let other = Connection::open(dir.path().join(FILES[0])).expect("opens");
        for (number, mode) in (3..).zip(["PASSIVE", "FULL", "RESTART", "TRUNCATE", "TRUNCATE"]) {
            let sql = format!("PRAGMA wal_checkpoint({mode})");
            other.query_row(&sql, [], |_| Ok(())).expect("copies");
            store.confirm().expect(mode);
            store.commit(&[job(number, 8, Phase::Planning)]).expect(mode);
        }
        // The log begins anew some times.
        store.connection.pragma_update(None, "wal_autocheckpoint", 20).expect("set");
        store.connection.pragma_update(None, "journal_size_limit", 0).expect("set");
        for number in 10..200 {
            store.commit(&[job(number, 8, Phase::Planning)]).expect("commits");
        }
        drop(other);
        store.commit(&[job(200, 8, Phase::Planning)]).expect("commits");
        assert!(fs::metadata(dir.path().join(FILES[1])).expect("it is there").len() < 200_000);
    }
}
