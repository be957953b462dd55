//! Worker names in the invitation store; each is bound to one invitation.

use std::collections::{BTreeSet, HashMap};

use queens_model::{Name, Party};
use queens_store::sql::database::{Database, Row, first, for_each};
use queens_store::sql::fault::Fault;
use queens_store::sql::table::Table;
use rusqlite::types::Value;

use super::invitation_store_error::{InvitationStoreError, TransactionError};
use super::rows::{ENDED, bytes, name, number, party, select, signed};

/// Names listed in a message.
const MOST_TOLD: i64 = 10;

/// Values in one query. Every batch has this many, so that the statement is always the same.
const PORTION: usize = 100;

/// The table of names, which belong to no job.
pub(super) static NAME: Table = Table::without_digest("name", &["name", "party"], 1);

/// Gives a name to a new invitation, if the name is free or its invitation has ended.
pub(super) fn take_over(
    database: &dyn Database,
    party: Party,
    name: &Name,
    now_ms: u64,
) -> Result<(), TransactionError> {
    let sql = format!(
        "SELECT number, party, ({ENDED}) AS ended FROM invitation WHERE party = (SELECT party FROM name WHERE name = ?1)"
    );
    let owner = first(database, &sql, &[text(name), signed(now_ms).into()], |row| {
        let ended: bool = row.get("ended", &"an invitation")?;
        Ok((number(row, "number")?, self::party(row)?, ended))
    })?;
    if let Some((owner, _, false)) = owner.filter(|(_, owner, _)| *owner != party) {
        return Err(InvitationStoreError::Taken { name: name.clone(), invitation: owner }.into());
    }
    let sql = "INSERT INTO name (name, party) VALUES (?1, ?2)
               ON CONFLICT (name) DO UPDATE SET party = excluded.party";
    Ok(database.change(sql, &[text(name), bytes(party)])?)
}

/// Returns those of these names that an invitation, open or ended, has as a worker's name or as its label.
pub(super) fn taken(database: &dyn Database, names: &[Name]) -> Result<BTreeSet<Name>, Fault> {
    let mut taken = BTreeSet::new();
    for sql in ["SELECT name FROM name WHERE name IN", "SELECT label AS name FROM invitation WHERE label IN"]
    {
        in_batches(database, sql, names.iter().map(text).collect(), |row| {
            taken.insert(name(row)?);
            Ok(())
        })?;
    }
    Ok(taken)
}

/// The bound and the allowed names of an invitation.
#[derive(Debug)]
struct NameBudget {
    number: u64,
    n_bound: i64,
    n_names: i64,
    /// Some of the names as a text, once it was needed.
    told: Option<String>,
}

/// Binds names to parties of invitations; returns the results in order.
pub(super) fn bind(
    database: &dyn Database,
    wanted: &[(Party, Name)],
) -> Result<Vec<Result<(), InvitationStoreError>>, Fault> {
    let mut owners = owners(database, wanted)?;
    let mut budgets = budgets(database, wanted)?;
    let mut bind = |(party, name): &(Party, Name)| {
        match owners.get(name) {
            Some((owner, _)) if owner == party => return Ok(Ok(())),
            Some(&(_, number)) => {
                return Ok(Err(InvitationStoreError::Taken { name: name.clone(), invitation: number }));
            }
            None => {}
        }
        let Some(budget) = budgets.get_mut(party) else {
            return Ok(Err(InvitationStoreError::InvitationGone));
        };
        if budget.n_bound >= budget.n_names {
            let names = match &budget.told {
                Some(told) => told.clone(),
                None => budget.told.insert(some_names(database, *party, budget.n_bound)?).clone(),
            };
            return Ok(Err(InvitationStoreError::NoNameLeft {
                name: name.clone(),
                invitation: budget.number,
                names,
            }));
        }
        database.put(&NAME, vec![text(name), bytes(*party)])?;
        budget.n_bound += 1;
        owners.insert(name.clone(), (*party, budget.number));
        Ok(Ok(()))
    };
    wanted.iter().map(&mut bind).collect()
}

/// Returns the party and the invitation number of each bound name.
fn owners(database: &dyn Database, wanted: &[(Party, Name)]) -> Result<HashMap<Name, (Party, u64)>, Fault> {
    let names: BTreeSet<&Name> = wanted.iter().map(|(_, name)| name).collect();
    let names = names.into_iter().map(text).collect();
    let mut owners = HashMap::new();
    let sql = "SELECT n.name, n.party, i.number FROM name AS n JOIN invitation AS i ON i.party = n.party
               WHERE n.name IN";
    in_batches(database, sql, names, |row| {
        owners.insert(name(row)?, (party(row)?, number(row, "number")?));
        Ok(())
    })?;
    Ok(owners)
}

/// Returns the name budget of each existing invitation.
fn budgets(database: &dyn Database, wanted: &[(Party, Name)]) -> Result<HashMap<Party, NameBudget>, Fault> {
    let parties: BTreeSet<Party> = wanted.iter().map(|(party, _)| *party).collect();
    let parties = parties.into_iter().map(bytes).collect();
    let sql = "SELECT i.party, i.number, i.n_names,
                      (SELECT count(*) FROM name AS n WHERE n.party = i.party) AS n_bound
               FROM invitation AS i WHERE i.party IN";
    let mut budgets = HashMap::new();
    in_batches(database, sql, parties, |row| {
        let column = |name| row.get::<i64>(name, &"an invitation");
        let (n_bound, n_names) = (column("n_bound")?, column("n_names")?);
        let budget = NameBudget { number: number(row, "number")?, n_bound, n_names, told: None };
        budgets.insert(party(row)?, budget);
        Ok(())
    })?;
    Ok(budgets)
}

/// Calls `each` with the rows of a query that ends before its list of values.
fn in_batches(
    database: &dyn Database,
    sql: &str,
    values: Vec<Value>,
    mut each: impl FnMut(&Row<'_>) -> Result<(), Fault>,
) -> Result<(), Fault> {
    let marks: Vec<String> = (1..=PORTION).map(|number| format!("?{number}")).collect();
    let sql = format!("{sql} ({})", marks.join(", "));
    for portion in values.chunks(PORTION) {
        // Fills up the last batch; duplicates in the list do not change the result.
        let mut portion = portion.to_vec();
        portion.resize(PORTION, portion[0].clone());
        for_each(database, &sql, &portion, &mut each)?;
    }
    Ok(())
}

/// Returns some names of an invitation as a text.
fn some_names(database: &dyn Database, party: Party, n_bound: i64) -> Result<String, Fault> {
    let sql = "SELECT name FROM name WHERE party = ?1 ORDER BY name LIMIT ?2";
    let quoted = |row: &Row<'_>| Ok(format!("'{}'", name(row)?));
    let some = select(database, sql, &[bytes(party), MOST_TOLD.into()], quoted)?;
    let more = if n_bound > MOST_TOLD { format!(" and {} more", n_bound - MOST_TOLD) } else { String::new() };
    Ok(format!("{}{more}", some.join(", ")))
}

fn text(name: &Name) -> Value {
    name.as_str().to_owned().into()
}
