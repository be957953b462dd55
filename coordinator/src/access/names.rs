//! Names of workers in the book: each is bound to one invitation.

use std::collections::HashMap;

use queens_messages::Name;
use rusqlite::{Connection, OptionalExtension, Row};

use super::book_error::BookError;
use super::rows::{ENDED, name, number, signed};

/// Names that people are told of.
const MOST_TOLD: i64 = 10;

/// Gives a name to a new invitation: one that nobody has, or whose invitation has ended.
pub(super) fn take_over(
    transaction: &Connection,
    number: u64,
    name: &Name,
    now_ms: u64,
) -> rusqlite::Result<Result<(), BookError>> {
    if let Some(invitation) = owner(transaction, name)? {
        let sql = format!("SELECT {ENDED} FROM invitation WHERE number = ?1");
        let ended: bool =
            transaction.query_row(&sql, (signed(invitation), signed(now_ms)), |row| row.get(0))?;
        if !ended {
            return Ok(Err(BookError::Taken { name: name.clone(), invitation }));
        }
    }
    let sql = "INSERT OR REPLACE INTO name (name, invitation) VALUES (?1, ?2)";
    transaction.execute(sql, (name.as_str(), signed(number)))?;
    Ok(Ok(()))
}

/// The names of an invitation.
#[derive(Clone, Copy, Debug)]
pub(super) struct Room {
    n_bound: i64,
    n_names: i64,
}

/// Binds a name. `rooms` is what is known of the invitations that others were bound to in the same transaction.
pub(super) fn bind(
    transaction: &Connection,
    rooms: &mut HashMap<u64, Room>,
    number: u64,
    name: &Name,
) -> rusqlite::Result<Result<(), BookError>> {
    match owner(transaction, name)? {
        Some(owner) if owner == number => return Ok(Ok(())),
        Some(invitation) => return Ok(Err(BookError::Taken { name: name.clone(), invitation })),
        None => {}
    }
    let known = match rooms.get(&number) {
        Some(known) => Some(*known),
        None => room(transaction, number)?,
    };
    let Some(Room { n_bound, n_names }) = known else { return Ok(Err(BookError::Unknown(number))) };
    if n_bound >= n_names {
        rooms.insert(number, Room { n_bound, n_names });
        let names = some_names(transaction, number, n_bound)?;
        return Ok(Err(BookError::NoNameLeft { name: name.clone(), invitation: number, names }));
    }
    let mut insert = transaction.prepare_cached("INSERT INTO name (name, invitation) VALUES (?1, ?2)")?;
    insert.execute((name.as_str(), signed(number)))?;
    rooms.insert(number, Room { n_bound: n_bound + 1, n_names });
    Ok(Ok(()))
}

fn room(transaction: &Connection, number: u64) -> rusqlite::Result<Option<Room>> {
    let sql =
        "SELECT n_names, (SELECT count(*) FROM name WHERE invitation = ?1) FROM invitation WHERE number = ?1";
    let read = |row: &Row<'_>| Ok(Room { n_names: row.get(0)?, n_bound: row.get(1)? });
    transaction.query_row(sql, [signed(number)], read).optional()
}

/// Some of the names of an invitation, in words.
fn some_names(transaction: &Connection, number: u64, n_bound: i64) -> rusqlite::Result<String> {
    let mut statement = transaction.prepare_cached("SELECT name FROM name WHERE invitation = ?1 LIMIT ?2")?;
    let some = statement.query_map((signed(number), MOST_TOLD), |row| name(row, 0))?;
    let some = some.map(|name| name.map(|name| format!("'{name}'"))).collect::<Result<Vec<_>, _>>()?;
    let more = if n_bound > MOST_TOLD { format!(" and {} more", n_bound - MOST_TOLD) } else { String::new() };
    Ok(format!("{}{more}", some.join(", ")))
}

/// The invitation that a name is bound to.
fn owner(transaction: &Connection, name: &Name) -> rusqlite::Result<Option<u64>> {
    let mut select = transaction.prepare_cached("SELECT invitation FROM name WHERE name = ?1")?;
    select.query_row([name.as_str()], |row| number(row, 0)).optional()
}
