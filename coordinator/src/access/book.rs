//! The book: invitations and names in a database beside that of the jobs.
//!
//! It is a file of its own, so that `queens-coordinator invite` and `revoke` can change it while a coordinator runs, and
//! so that a backup of the jobs tells nobody who was invited.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use queens_access::{Invitation, Pin, Role, Token, TokenHash, new_private_file};
use queens_messages::Name;
use rusqlite::{Connection, OptionalExtension, Row, Transaction, TransactionBehavior};

use super::book_error::{BookError, MOST_INVITATIONS};
use super::names::{bind, take_over};
use super::rows::{ENDED, invitation, name, number, signed};
use super::schema;

/// The book in a data directory.
const FILE: &str = "access.sqlite3";

/// How long to wait for another process that writes.
const PATIENCE: Duration = Duration::from_secs(5);

/// The book of a data directory.
#[derive(Debug)]
pub struct Book {
    connection: Connection,
    path: PathBuf,
}

/// Who is to be invited.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// As what.
    pub role: Role,
    /// What people call them by; a worker gets this name.
    pub label: Option<Name>,
    /// Until when, in milliseconds since 1970.
    pub expires_ms: Option<u64>,
    /// How many names workers may use that come with it.
    pub n_names: u32,
}

/// Where a coordinator is reached, and what it is known by, for those who are invited.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// Its URL.
    pub url: Option<String>,
    /// The pin of its key.
    pub pin: Option<String>,
}

impl Book {
    /// Opens the book of a directory; makes both if they are not there. Nobody but their owner may read the book.
    ///
    /// # Errors
    /// If that can't be done.
    pub fn open(dir: &Path) -> Result<Self, BookError> {
        let path = dir.join(FILE);
        let unusable = |reason: String| BookError::Unusable { path: path.clone(), reason };
        fs::create_dir_all(dir)
            .and_then(|()| make_file(&path))
            .map_err(|error| unusable(error.to_string()))?;
        match connect(&path) {
            Ok((connection, (schema::APPLICATION_ID, schema::VERSION))) => Ok(Self { connection, path }),
            Ok((_, (schema::APPLICATION_ID, version))) => Err(unusable(format!(
                "it is of version {version}, and this program knows {}",
                schema::VERSION
            ))),
            Ok(_) => Err(unusable("it is another program's".to_owned())),
            Err(error) => Err(unusable(error.to_string())),
        }
    }

    /// Invites somebody. The token is told now and never again.
    ///
    /// # Errors
    /// If the name is somebody else's, or it can't be written.
    pub fn invite(&mut self, wanted: &Wanted, now_ms: u64) -> Result<Token, BookError> {
        let path = self.path.clone();
        self.add(wanted, now_ms, None, |transaction, number| {
            let made = Token::random(number).and_then(|token| Ok((TokenHash::of(&token)?, token)));
            let (TokenHash { salt, hash }, token) =
                made.map_err(|error| BookError::unusable(&path, error))?;
            let sql = "UPDATE invitation SET salt = ?2, hash = ?3 WHERE number = ?1";
            transaction
                .execute(sql, (signed(number), salt, hash))
                .map_err(|error| BookError::unusable(&path, error))?;
            Ok(token)
        })
    }

    /// Invites somebody who is known by the key of a TLS certificate; the invitation's number.
    ///
    /// # Errors
    /// If the name or the key is somebody else's, or it can't be written.
    pub fn invite_key(&mut self, wanted: &Wanted, key: Pin, now_ms: u64) -> Result<u64, BookError> {
        self.add(wanted, now_ms, Some(key), |_, number| Ok(number))
    }

    /// Adds an invitation, and what `prove` makes of it.
    fn add<T>(
        &mut self,
        wanted: &Wanted,
        now_ms: u64,
        key: Option<Pin>,
        prove: impl FnOnce(&Transaction<'_>, u64) -> Result<T, BookError>,
    ) -> Result<T, BookError> {
        let path = self.path.clone();
        let failed = |error| BookError::unusable(&path, error);
        let transaction = self.begin()?;
        let count = "SELECT count(*) FROM invitation";
        if transaction.query_row(count, [], |row| row.get::<_, i64>(0)).map_err(failed)? >= MOST_INVITATIONS {
            return Err(BookError::Full);
        }
        if let Some(number) =
            key.map(|key| known_by(&transaction, key, now_ms)).transpose().map_err(failed)?.flatten()
        {
            return Err(BookError::KeyInUse(number));
        }
        // Of a token, nothing is known before its number is.
        let nothing = key.is_none().then_some([0; 0]);
        let row = (
            wanted.role.name(),
            wanted.label.as_ref().map(Name::as_str),
            signed(now_ms),
            wanted.expires_ms.map(signed),
            wanted.n_names,
            nothing,
            key.map(|key| key.to_string()),
        );
        let sql =
            "INSERT INTO invitation (role, label, made_ms, expires_ms, revoked, n_names, salt, hash, key)
                   VALUES (?1, ?2, ?3, ?4, 0, ?5, ?6, ?6, ?7)";
        transaction.execute(sql, row).map_err(failed)?;
        let number = transaction.last_insert_rowid().unsigned_abs();
        if let (Role::Worker, Some(name)) = (wanted.role, &wanted.label) {
            take_over(&transaction, number, name, now_ms).map_err(failed)??;
        }
        let proved = prove(&transaction, number)?;
        transaction.commit().map_err(failed)?;
        Ok(proved)
    }

    /// Ends an invitation.
    ///
    /// # Errors
    /// If there is none of this number, or it can't be written.
    pub fn revoke(&mut self, number: u64) -> Result<(), BookError> {
        let sql = "UPDATE invitation SET revoked = 1 WHERE number = ?1";
        match self.connection.execute(sql, [signed(number)]) {
            Ok(0) => Err(BookError::Unknown(number)),
            Ok(_) => Ok(()),
            Err(error) => Err(BookError::unusable(&self.path, error)),
        }
    }

    /// All invitations, in the order of their numbers.
    ///
    /// # Errors
    /// If they can't be read.
    pub fn invitations(&self) -> Result<Vec<Invitation>, BookError> {
        let read = || -> rusqlite::Result<Vec<Invitation>> {
            let sql = "SELECT number, role, label, made_ms, expires_ms, revoked, n_names, salt, hash, key
                       FROM invitation ORDER BY number";
            let mut statement = self.connection.prepare_cached(sql)?;
            statement.query_map([], invitation)?.collect()
        };
        read().map_err(|error| BookError::unusable(&self.path, error))
    }

    /// All names that are bound, and the numbers of the invitations that they are bound to.
    ///
    /// # Errors
    /// If they can't be read.
    pub fn names(&self) -> Result<HashMap<Name, u64>, BookError> {
        let read = || -> rusqlite::Result<HashMap<Name, u64>> {
            let mut statement = self.connection.prepare_cached("SELECT name, invitation FROM name")?;
            statement.query_map([], |row| Ok((name(row, 0)?, number(row, 1)?)))?.collect()
        };
        read().map_err(|error| BookError::unusable(&self.path, error))
    }

    /// Binds workers' names to invitations for ever, as far as these may use them; what becomes of each, in order. All
    /// are written at once. Takes time with how many they are, and once with the names of each of their invitations:
    /// 10,000 names of one invitation take 0.07 s in thousands and 0.6 ms to 1.2 ms each one by one.
    ///
    /// # Errors
    /// If they can't be written, and then none is bound.
    pub(super) fn bind(&mut self, wanted: &[(u64, Name)]) -> Result<Vec<Result<(), BookError>>, BookError> {
        let path = self.path.clone();
        let transaction = self.begin()?;
        let mut rooms = HashMap::new();
        let bound = wanted.iter().map(|(number, name)| bind(&transaction, &mut rooms, *number, name));
        let bound =
            bound.collect::<rusqlite::Result<_>>().map_err(|error| BookError::unusable(&path, error))?;
        transaction.commit().map_err(|error| BookError::unusable(&path, error))?;
        Ok(bound)
    }

    /// Notes where the coordinator is reached.
    ///
    /// # Errors
    /// If it can't be written.
    pub fn note_place(&mut self, place: &Place) -> Result<(), BookError> {
        let sql = "INSERT OR REPLACE INTO place (only, url, pin) VALUES (1, ?1, ?2)";
        let noted = self.connection.execute(sql, (&place.url, &place.pin));
        noted.map(drop).map_err(|error| BookError::unusable(&self.path, error))
    }

    /// Where the coordinator is reached, as far as it has noted it.
    ///
    /// # Errors
    /// If it can't be read.
    pub fn place(&self) -> Result<Place, BookError> {
        let sql = "SELECT url, pin FROM place";
        let read = |row: &Row<'_>| Ok(Place { url: row.get(0)?, pin: row.get(1)? });
        let place = self.connection.query_row(sql, [], read).optional();
        place.map(Option::unwrap_or_default).map_err(|error| BookError::unusable(&self.path, error))
    }

    /// A number that changes whenever another process has written.
    ///
    /// # Errors
    /// If it can't be read.
    pub(super) fn version(&self) -> Result<i64, BookError> {
        let version = self.connection.pragma_query_value(None, "data_version", |row| row.get(0));
        version.map_err(|error| BookError::unusable(&self.path, error))
    }

    pub(super) fn with<T>(
        &mut self,
        work: impl FnOnce(&mut Connection) -> rusqlite::Result<T>,
    ) -> Result<T, BookError> {
        work(&mut self.connection).map_err(|error| BookError::unusable(&self.path, error))
    }

    fn begin(&mut self) -> Result<Transaction<'_>, BookError> {
        let path = &self.path;
        let begun = self.connection.transaction_with_behavior(TransactionBehavior::Immediate);
        begun.map_err(|error| BookError::unusable(path, error))
    }
}

/// Makes an empty file that nobody else may read, if there is none.
fn make_file(path: &Path) -> io::Result<()> {
    match new_private_file(path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => Ok(()),
    }
}

fn connect(path: &Path) -> rusqlite::Result<(Connection, (i64, i64))> {
    // A relative path that begins with "file:" would be taken for a URI.
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let mut connection = Connection::open(path)?;
    connection.busy_timeout(PATIENCE)?;
    let found = schema::make(&mut connection)?;
    if found == (schema::APPLICATION_ID, schema::VERSION) {
        connection.query_row("PRAGMA journal_mode = WAL", [], |_| Ok(()))?;
        connection.pragma_update(None, "synchronous", "FULL")?;
        connection.pragma_update(None, "foreign_keys", true)?;
    }
    Ok((connection, found))
}

/// The invitation that goes on of somebody who is known by a key.
fn known_by(transaction: &Connection, key: Pin, now_ms: u64) -> rusqlite::Result<Option<u64>> {
    let sql = format!("SELECT number FROM invitation WHERE key = ?1 AND NOT ({ENDED}) ORDER BY number DESC");
    transaction.query_row(&sql, (key.to_string(), signed(now_ms)), |row| number(row, 0)).optional()
}

#[cfg(test)]
mod tests {
    use queens_access::Proof;

    use super::*;

    fn name(number: usize) -> Name {
        format!("w{number}").parse().expect("a name")
    }

    #[test]
    fn a_name_is_bound_to_one_invitation_and_an_invitation_has_so_many() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let mut book = Book::open(dir.path()).expect("a book");
        let wanted = Wanted { role: Role::Worker, label: None, expires_ms: None, n_names: 12 };
        let [one, other] = [(); 2].map(|()| book.invite(&wanted, 0).expect("invited").invitation());
        // The last but one is its own already, and the last is one too many.
        let wanted: Vec<_> = (0..12).chain([3, 12]).map(|number| (one, name(number))).collect();
        let bound = book.bind(&wanted).expect("writable");
        let refused: Vec<usize> = (0..wanted.len()).filter(|&at| bound[at].is_err()).collect();
        assert_eq!(refused, [13]);
        let refused = |book: &mut Book, invitation, number| {
            let bound = book.bind(&[(invitation, name(number))]).expect("writable");
            bound.into_iter().map(|one| one.expect_err("refused").to_string()).collect::<String>()
        };
        let full = refused(&mut book, one, 12);
        assert!(full.contains("not for a worker named 'w12'") && full.contains("'w0', "), "{full}");
        assert!(full.ends_with(" and 2 more"), "{full}");
        assert!(refused(&mut book, other, 3).contains("belongs to invitation 1"));
        assert!(refused(&mut book, 77, 50).contains("there is no invitation 77"));
        let names = book.names().expect("readable");
        assert!(names.len() == 12 && names.values().all(|&invitation| invitation == one), "{names:?}");
    }

    #[test]
    fn a_key_is_one_person_at_a_time() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let mut book = Book::open(dir.path()).expect("a book");
        let [key, other] = ["0", "1"].map(|digit| format!("sha256:{}", digit.repeat(64)));
        let [key, other]: [Pin; 2] = [key, other].map(|text| text.parse().expect("a pin"));
        let wanted = Wanted { role: Role::Viewer, label: None, expires_ms: Some(1000), n_names: 1 };
        assert_eq!(book.invite_key(&wanted, key, 0).expect("invited"), 1);
        assert_eq!(book.invite_key(&wanted, other, 0).expect("invited"), 2);
        let refused = book.invite_key(&wanted, key, 999).expect_err("it goes on").to_string();
        assert!(refused.contains("invitation 1"), "{refused}");
        let later = Wanted { expires_ms: None, ..wanted };
        assert_eq!(book.invite_key(&later, key, 1000).expect("it has expired"), 3);
        book.revoke(3).expect("revoked");
        assert_eq!(book.invite_key(&later, key, 1000).expect("it was revoked"), 4);
        let all = book.invitations().expect("readable");
        assert_eq!(
            all.iter().map(|one| one.proof).collect::<Vec<_>>(),
            [key, other, key, key].map(Proof::Key)
        );
    }
}
