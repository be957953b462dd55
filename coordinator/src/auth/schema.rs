//! The SQLite schema of the invitation store.

use rusqlite::{Connection, TransactionBehavior};

/// The identifier of the file format, and the version of the schema.
pub(super) const APPLICATION_ID: i64 = 0x4e51_6163;
pub(super) const VERSION: i64 = 1;

const TABLES: &str = "
CREATE TABLE invitation (
    -- What people call it by; never used again
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    -- 128 random bits that identify whoever was invited, in each copy of this database and in that of the jobs
    party BLOB NOT NULL UNIQUE CHECK (length(party) = 16),
    -- viewer, operator or worker
    role TEXT NOT NULL,
    -- What people call whoever was invited by, if they do
    label TEXT,
    -- Milliseconds since 1970
    made_ms INTEGER NOT NULL,
    -- The same; NULL if it does not end by itself
    expires_ms INTEGER,
    revoked INTEGER NOT NULL,
    -- How many names workers may use that come with it
    n_names INTEGER NOT NULL,
    -- SHA-256 of this salt and the token, which is kept nowhere; NULL if there is none
    salt BLOB,
    hash BLOB,
    -- Of whoever is known by a TLS certificate instead: the pin of its key
    key TEXT,
    CHECK ((hash IS NULL) <> (key IS NULL) AND (hash IS NULL) = (salt IS NULL))
) STRICT;
CREATE INDEX invitation_of_key ON invitation (key) WHERE key IS NOT NULL;
CREATE TABLE name (
    -- Of workers; nobody may use it that comes with another invitation
    name TEXT PRIMARY KEY,
    party BLOB NOT NULL REFERENCES invitation (party)
) STRICT, WITHOUT ROWID;
CREATE INDEX name_of_party ON name (party);
CREATE TABLE place (
    -- Where the coordinator is reached, and what its key is known by, as it was when it was started last
    only INTEGER PRIMARY KEY CHECK (only = 1),
    url TEXT,
    pin TEXT
) STRICT;
CREATE TABLE audit (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    -- 0: an action of an authenticated caller; 1: a refused request
    refusal INTEGER NOT NULL,
    -- Milliseconds since 1970
    at_ms INTEGER NOT NULL,
    -- Invitation and label of who it was, or 'a stranger'
    who TEXT NOT NULL,
    -- The party of that invitation, whose number may be another's in a copy of this database; NULL of a stranger
    party BLOB,
    role TEXT NOT NULL,
    -- The address it came from
    peer TEXT NOT NULL,
    what TEXT NOT NULL,
    outcome TEXT NOT NULL
) STRICT;
CREATE INDEX audit_kind ON audit (refusal, number);
";

/// Creates the tables in an empty database; returns the identifier and the version found.
///
/// # Errors
/// If that fails. A database of another kind or version is no error: the caller compares both numbers.
pub(super) fn make(connection: &mut Connection) -> rusqlite::Result<(i64, i64)> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let ids = |transaction: &Connection| -> rusqlite::Result<(i64, i64)> {
        let id = |name: &str| transaction.pragma_query_value(None, name, |row| row.get(0));
        Ok((id("application_id")?, id("user_version")?))
    };
    let n_tables: i64 = transaction.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    if ids(&transaction)? == (0, 0) && n_tables == 0 {
        transaction.execute_batch(TABLES)?;
        transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
        transaction.pragma_update(None, "user_version", VERSION)?;
    }
    let found = ids(&transaction)?;
    transaction.commit()?;
    Ok(found)
}
