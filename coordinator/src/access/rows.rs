//! Parses rows of the invitation store.

use std::fmt::Display;

use queens_auth::{Invitation, Proof, TokenHash};
use queens_model::{Name, Party};
use queens_store::sql::database::{Database, Row, for_each};
use queens_store::sql::fault::Fault;
use rusqlite::types::Value;

/// The SQL condition for an ended invitation; `?2` is the present time.
pub(super) const ENDED: &str = "revoked <> 0 OR (expires_ms IS NOT NULL AND expires_ms <= ?2)";

/// Returns all rows that a query finds, in order.
pub(super) fn select<T>(
    database: &dyn Database,
    sql: &str,
    values: &[Value],
    parse: impl Fn(&Row<'_>) -> Result<T, Fault>,
) -> Result<Vec<T>, Fault> {
    let mut all = Vec::new();
    for_each(database, sql, values, |row| -> Result<(), Fault> {
        all.push(parse(row)?);
        Ok(())
    })?;
    Ok(all)
}

pub(super) fn invitation(row: &Row<'_>) -> Result<Invitation, Fault> {
    let number = number(row, "number")?;
    let place = format!("invitation {number}");
    let role: String = row.get("role", &place)?;
    let proof = match row.get::<Option<String>>("key", &place)? {
        Some(key) => Proof::Key(key.parse().map_err(|error| senseless(&place, &error))?),
        None => Proof::Token(TokenHash { salt: row.get("salt", &place)?, hash: row.get("hash", &place)? }),
    };
    Ok(Invitation {
        number,
        party: party(row)?,
        role: role.parse().map_err(|error| senseless(&place, &error))?,
        label: row.get::<Option<String>>("label", &place)?.map(|label| Name::of_any(&label)),
        made_ms: self::number(row, "made_ms")?,
        expires_ms: row.get::<Option<i64>>("expires_ms", &place)?.map(i64::unsigned_abs),
        revoked: row.get("revoked", &place)?,
        n_names: row.get("n_names", &place)?,
        proof,
        campaign: row.get::<Option<i64>>("campaign", &place)?.map(i64::unsigned_abs),
        waiting: row.get("waiting", &place)?,
    })
}

pub(super) fn name(row: &Row<'_>) -> Result<Name, Fault> {
    let place = "a worker's name";
    let text: String = row.get("name", &place)?;
    text.parse().map_err(|error| senseless(&place, &error))
}

pub(super) fn party(row: &Row<'_>) -> Result<Party, Fault> {
    row.get("party", &"a party").map(Party::from_bytes)
}

pub(super) fn bytes(party: Party) -> Value {
    party.to_bytes().to_vec().into()
}

pub(super) fn number(row: &Row<'_>, column: &str) -> Result<u64, Fault> {
    row.get::<i64>(column, &"a number of the invitation store").map(i64::unsigned_abs)
}

fn senseless(place: &dyn Display, error: &dyn Display) -> Fault {
    Fault::Damaged(format!("{place}: {error}"))
}

/// Returns a number as a signed integer, which databases require.
pub(super) fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
