//! The kinds of damage to a data directory's files.

use rusqlite::Connection;

use crate::counting::{Files, directory, files};
use crate::random::Random;

const DATABASE: &str = "queens.db";
const LOG: &str = "queens.db-wal";

/// A database page. In the log, each page has a header of 24 bytes, and the log one of 32.
const PAGE: usize = 4096;

/// The kinds of damage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    OneBit,
    TwoBits,
    BitOfTheLog,
    BitsOfBoth,
    TornPage,
    StalePage,
    StrangersPage,
    SwappedPages,
    OlderLog,
    StrangersLog,
    CutOff,
    LogCutOff,
    ChangedCell,
    SwappedRows,
    MissingRow,
}

impl Kind {
    pub(crate) const ALL: [Self; 15] = [
        Self::OneBit,
        Self::TwoBits,
        Self::BitOfTheLog,
        Self::BitsOfBoth,
        Self::TornPage,
        Self::StalePage,
        Self::StrangersPage,
        Self::SwappedPages,
        Self::OlderLog,
        Self::StrangersLog,
        Self::CutOff,
        Self::LogCutOff,
        Self::ChangedCell,
        Self::SwappedRows,
        Self::MissingRow,
    ];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::OneBit => "one bit",
            Self::TwoBits => "two bits",
            Self::BitOfTheLog => "one bit of the log",
            Self::BitsOfBoth => "a bit each of file and log",
            Self::TornPage => "torn page",
            Self::StalePage => "page as it was before",
            Self::StrangersPage => "page of another count",
            Self::SwappedPages => "two pages swapped",
            Self::OlderLog => "log of before",
            Self::StrangersLog => "log of another count",
            Self::CutOff => "file cut off",
            Self::LogCutOff => "log cut off",
            Self::ChangedCell => "changed cell (SQL)",
            Self::SwappedRows => "two rows swapped (SQL)",
            Self::MissingRow => "missing row (SQL)",
        }
    }

    /// Damages `sound`, files with a non-empty log. `older` are earlier files of the same directory, and `stranger`
    /// those of another board.
    pub(crate) fn strike(self, sound: &Files, older: &Files, stranger: &Files, random: &mut Random) -> Files {
        let mut files = match self {
            Self::BitOfTheLog | Self::BitsOfBoth | Self::OlderLog | Self::StrangersLog | Self::LogCutOff => {
                sound.clone()
            }
            _ => closed(sound),
        };
        let database = files.get_mut(DATABASE).expect("a database");
        match self {
            Self::OneBit => flip(database, random),
            Self::TwoBits => {
                flip(database, random);
                flip(database, random);
            }
            Self::BitOfTheLog => flip(files.get_mut(LOG).expect("a log"), random),
            Self::BitsOfBoth => {
                flip(database, random);
                flip(files.get_mut(LOG).expect("a log"), random);
            }
            Self::TornPage => {
                let from = match random.below(3) {
                    0 => vec![0; PAGE],
                    1 => page(&closed(older)[DATABASE], database.len() / PAGE, random).1,
                    _ => page(database, usize::MAX, random).1,
                };
                let (at, _) = page(database, usize::MAX, random);
                let torn = 512 * index(7, random) + 512;
                let (first, rest) = (at..at + torn, at + torn..at + PAGE);
                let part = if random.below(2) == 0 { first } else { rest };
                database[part.clone()].copy_from_slice(&from[part.start - at..part.end - at]);
            }
            Self::StalePage => {
                let (at, old) = page(&closed(older)[DATABASE], database.len() / PAGE, random);
                database[at..at + PAGE].copy_from_slice(&old);
            }
            Self::StrangersPage => {
                let (at, theirs) = page(&closed(stranger)[DATABASE], database.len() / PAGE, random);
                database[at..at + PAGE].copy_from_slice(&theirs);
            }
            Self::SwappedPages => {
                let (a, one) = page(database, usize::MAX, random);
                let (b, other) = page(database, usize::MAX, random);
                database[a..a + PAGE].copy_from_slice(&other);
                database[b..b + PAGE].copy_from_slice(&one);
            }
            Self::OlderLog => {
                // The newer file with an older log.
                let log = older[LOG].clone();
                files = closed(sound);
                files.insert(LOG.to_owned(), log);
            }
            Self::StrangersLog => _ = files.insert(LOG.to_owned(), stranger[LOG].clone()),
            Self::CutOff => {
                let len = index(database.len(), random);
                database.truncate(len);
            }
            Self::LogCutOff => {
                let log = files.get_mut(LOG).expect("a log");
                let len = index(log.len(), random);
                log.truncate(len);
            }
            Self::ChangedCell | Self::SwappedRows | Self::MissingRow => return self.by_sql(&files, random),
        }
        files
    }

    fn by_sql(self, files: &Files, random: &mut Random) -> Files {
        const KEYS: [(&str, &str); 8] = [
            ("job_identity", "job"),
            ("job", "id"),
            ("plan_part", "job, number"),
            ("coverage", "job, part"),
            ("coverage_range", "job, part, first"),
            ("source", "id"),
            ("record", "job, part, first"),
            ("plan_part", "job, number"),
        ];
        let dir = directory(files);
        let database = Connection::open(dir.path().join(DATABASE)).expect("opens");
        let unchecked = "PRAGMA ignore_check_constraints = ON; PRAGMA foreign_keys = OFF;";
        database.execute_batch(unchecked).expect("SQL");
        let (table, key) = KEYS[index(KEYS.len(), random)];
        let columns: Vec<String> = {
            let mut statement = database.prepare("SELECT name FROM pragma_table_info(?1)").expect("SQL");
            let names = statement.query_map([table], |row| row.get(0)).expect("SQL");
            names.map(|name| name.expect("a name")).collect()
        };
        let any = format!("({key}) = (SELECT {key} FROM {table} ORDER BY {key} LIMIT 1 OFFSET");
        let n_rows: i64 =
            database.query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get(0)).expect("SQL");
        let n_rows = usize::try_from(n_rows).expect("not negative");
        let (one, other) = (index(n_rows.max(1), random), index(n_rows.max(1), random));
        let column = &columns[index(columns.len(), random)];
        let sql = match self {
            Self::ChangedCell => format!(
                "UPDATE OR IGNORE {table} SET {column} = CASE typeof({column}) WHEN 'text' THEN {column} || '0'
                 ELSE coalesce({column}, 0) + {} END WHERE {any} {one})",
                1 + random.below(3)
            ),
            Self::SwappedRows => {
                // The other row gets all columns outside of the key, including the digest.
                let rest: Vec<&String> =
                    columns.iter().filter(|name| !key.split(", ").any(|key| key == *name)).collect();
                let names = rest.iter().map(|name| name.as_str()).collect::<Vec<_>>().join(", ");
                let take = |from: &str| rest.iter().map(|name| format!("{from}.{name}")).collect::<Vec<_>>().join(", ");
                format!(
                    "CREATE TEMP TABLE a AS SELECT * FROM {table} WHERE {any} {one});
                     CREATE TEMP TABLE b AS SELECT * FROM {table} WHERE {any} {other});
                     UPDATE OR IGNORE {table} SET ({names}) = (SELECT {} FROM b)
                         WHERE ({key}) = (SELECT {key} FROM a);
                     UPDATE OR IGNORE {table} SET ({names}) = (SELECT {} FROM a)
                         WHERE ({key}) = (SELECT {key} FROM b);",
                    take("b"),
                    take("a"),
                )
            }
            _ => format!("DELETE FROM {table} WHERE {any} {one})"),
        };
        database.execute_batch(&sql).unwrap_or_else(|error| panic!("{error}: {sql}"));
        drop(database);
        crate::counting::files(dir.path())
    }
}

/// Returns the files after a checkpoint of the log.
pub(crate) fn closed(live: &Files) -> Files {
    let dir = directory(live);
    let database = Connection::open(dir.path().join(DATABASE)).expect("opens");
    database.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).expect("copies");
    drop(database);
    files(dir.path())
}

fn flip(bytes: &mut [u8], random: &mut Random) {
    let at = index(bytes.len(), random);
    bytes[at] ^= 1 << random.below(8);
}

/// Returns the offset and the bytes of a random page among the first ones.
fn page(database: &[u8], n_pages: usize, random: &mut Random) -> (usize, Vec<u8>) {
    let at = PAGE * index((database.len() / PAGE).min(n_pages), random);
    (at, database[at..at + PAGE].to_vec())
}

fn index(end: usize, random: &mut Random) -> usize {
    usize::try_from(random.below(end as u64)).expect("small")
}
