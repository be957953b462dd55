//! Names of workers in the book: each is bound to one invitation.

use std::collections::{BTreeSet, HashMap};

use queens_messages::Name;
use queens_store::sql::database::{Database, Row, first, for_each};
use queens_store::sql::fault::Fault;
use queens_store::sql::table::Table;
use rusqlite::types::Value;

use super::book_error::{BookError, NotDone};
use super::rows::{ENDED, name, number, signed};

/// Names that people are told of.
const MOST_TOLD: i64 = 10;

/// How many values are asked about at a time, by one statement whatever their number.
const PORTION: usize = 100;

/// Names, which nobody has.
pub(super) const NAME: Table = Table {
    name: "name",
    columns: &["name", "invitation"],
    n_key: 1,
    is_of_job: false,
    put: "INSERT INTO name (name, invitation) VALUES (?1, ?2)",
};

/// Gives a name to a new invitation: one that nobody has, or whose invitation has ended.
pub(super) fn take_over(
    database: &dyn Database,
    invitation: u64,
    name: &Name,
    now_ms: u64,
) -> Result<(), NotDone> {
    let owner = "SELECT invitation FROM name WHERE name = ?1";
    if let Some(owner) =
        first(database, owner, &[text(name)], |row| number(row, "invitation"))?.filter(|it| *it != invitation)
    {
        let sql = format!("SELECT ({ENDED}) AS ended FROM invitation WHERE number = ?1");
        let values = [signed(owner).into(), signed(now_ms).into()];
        let ended = first(database, &sql, &values, |row| row.get::<bool>("ended", &"an invitation"))?;
        if ended != Some(true) {
            return Err(BookError::Taken { name: name.clone(), invitation: owner }.into());
        }
    }
    let sql = "INSERT INTO name (name, invitation) VALUES (?1, ?2)
               ON CONFLICT (name) DO UPDATE SET invitation = excluded.invitation";
    Ok(database.change(sql, &[text(name), signed(invitation).into()])?)
}

/// The names of an invitation.
#[derive(Debug)]
struct Room {
    n_bound: i64,
    n_names: i64,
    /// Some of them in words, if that was asked before.
    told: Option<String>,
}

/// Binds names; what becomes of each, in order.
pub(super) fn bind(
    database: &dyn Database,
    wanted: &[(u64, Name)],
) -> Result<Vec<Result<(), BookError>>, Fault> {
    let mut owners = owners(database, wanted)?;
    let mut rooms = rooms(database, wanted)?;
    let mut bind = |(invitation, name): &(u64, Name)| {
        match owners.get(name) {
            Some(owner) if owner == invitation => return Ok(Ok(())),
            Some(&owner) => return Ok(Err(BookError::Taken { name: name.clone(), invitation: owner })),
            None => {}
        }
        let Some(room) = rooms.get_mut(invitation) else { return Ok(Err(BookError::Unknown(*invitation))) };
        if room.n_bound >= room.n_names {
            let names = match &room.told {
                Some(told) => told.clone(),
                None => room.told.insert(some_names(database, *invitation, room.n_bound)?).clone(),
            };
            return Ok(Err(BookError::NoNameLeft { name: name.clone(), invitation: *invitation, names }));
        }
        database.put(NAME, vec![text(name), signed(*invitation).into()])?;
        room.n_bound += 1;
        owners.insert(name.clone(), *invitation);
        Ok(Ok(()))
    };
    wanted.iter().map(&mut bind).collect()
}

/// Whose those of the names are that are bound.
fn owners(database: &dyn Database, wanted: &[(u64, Name)]) -> Result<HashMap<Name, u64>, Fault> {
    let names: BTreeSet<&Name> = wanted.iter().map(|(_, name)| name).collect();
    let names = names.into_iter().map(text).collect();
    let mut owners = HashMap::new();
    in_portions(database, "SELECT name, invitation FROM name WHERE name IN", names, |row| {
        owners.insert(name(row)?, number(row, "invitation")?);
        Ok(())
    })?;
    Ok(owners)
}

/// The room of each invitation that is there.
fn rooms(database: &dyn Database, wanted: &[(u64, Name)]) -> Result<HashMap<u64, Room>, Fault> {
    let numbers: BTreeSet<u64> = wanted.iter().map(|(invitation, _)| *invitation).collect();
    let numbers = numbers.into_iter().map(|number| signed(number).into()).collect();
    let sql = "SELECT i.number, i.n_names, (SELECT count(*) FROM name AS n WHERE n.invitation = i.number) AS n_bound
               FROM invitation AS i WHERE i.number IN";
    let mut rooms = HashMap::new();
    in_portions(database, sql, numbers, |row| {
        let column = |name| row.get::<i64>(name, &"an invitation");
        let room = Room { n_bound: column("n_bound")?, n_names: column("n_names")?, told: None };
        rooms.insert(number(row, "number")?, room);
        Ok(())
    })?;
    Ok(rooms)
}

/// Calls `each` with the rows of a query that ends where a list of values has to follow.
fn in_portions(
    database: &dyn Database,
    sql: &str,
    values: Vec<Value>,
    mut each: impl FnMut(&Row<'_>) -> Result<(), Fault>,
) -> Result<(), Fault> {
    let marks: Vec<String> = (1..=PORTION).map(|number| format!("?{number}")).collect();
    let sql = format!("{sql} ({})", marks.join(", "));
    for portion in values.chunks(PORTION) {
        // To ask for the same twice changes nothing.
        let mut portion = portion.to_vec();
        portion.resize(PORTION, portion[0].clone());
        for_each(database, &sql, &portion, &mut each)?;
    }
    Ok(())
}

/// Some of the names of an invitation, in words.
fn some_names(database: &dyn Database, invitation: u64, n_bound: i64) -> Result<String, Fault> {
    let mut some = Vec::new();
    let sql = "SELECT name FROM name WHERE invitation = ?1 ORDER BY name LIMIT ?2";
    for_each(database, sql, &[signed(invitation).into(), MOST_TOLD.into()], |row| -> Result<(), Fault> {
        some.push(format!("'{}'", name(row)?));
        Ok(())
    })?;
    let more = if n_bound > MOST_TOLD { format!(" and {} more", n_bound - MOST_TOLD) } else { String::new() };
    Ok(format!("{}{more}", some.join(", ")))
}

fn text(name: &Name) -> Value {
    name.as_str().to_owned().into()
}
