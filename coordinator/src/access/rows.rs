//! Rows of the book, read.

use queens_access::{Invitation, Proof, TokenHash};
use queens_messages::Name;
use rusqlite::Row;

/// Whether an invitation has ended, by its columns and a number for the present.
pub(super) const ENDED: &str = "revoked <> 0 OR coalesce(expires_ms <= ?2, 0)";

/// An invitation.
pub(super) fn invitation(row: &Row<'_>) -> rusqlite::Result<Invitation> {
    let role: String = row.get(1)?;
    let proof = match row.get::<_, Option<String>>(9)? {
        Some(key) => Proof::Key(key.parse().map_err(|error| senseless(9, error))?),
        None => Proof::Token(TokenHash { salt: row.get(7)?, hash: row.get(8)? }),
    };
    Ok(Invitation {
        number: number(row, 0)?,
        role: role.parse().map_err(|error| senseless(1, error))?,
        label: row.get::<_, Option<String>>(2)?.map(|label| Name::of_any(&label)),
        made_ms: number(row, 3)?,
        expires_ms: row.get::<_, Option<i64>>(4)?.map(i64::unsigned_abs),
        revoked: row.get(5)?,
        n_names: row.get(6)?,
        proof,
    })
}

/// A worker's name.
pub(super) fn name(row: &Row<'_>, column: usize) -> rusqlite::Result<Name> {
    let text: String = row.get(column)?;
    text.parse().map_err(|error| senseless(column, error))
}

/// A number that is not negative.
pub(super) fn number(row: &Row<'_>, column: usize) -> rusqlite::Result<u64> {
    row.get::<_, i64>(column).map(i64::unsigned_abs)
}

fn senseless(column: usize, error: impl std::error::Error + Send + Sync + 'static) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(column, rusqlite::types::Type::Text, Box::new(error))
}

/// SQLite's integers are signed.
pub(super) fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
