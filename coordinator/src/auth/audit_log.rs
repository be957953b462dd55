//! Decisions in the book, and who was not let in: the latest of both, so many of each at most.

use queens_model::{AuditEntry, Party};
use queens_store::sql::database::{Database, Row, first, for_each};
use queens_store::sql::fault::Fault;
use rusqlite::types::Value;

use super::invitation_store::InvitationStore;
use super::invitation_store_error::InvitationStoreError;
use super::rows::{bytes, number, signed};

/// How many decisions are kept.
const MOST_ENTRIES: i64 = 100_000;

/// How many refusals to let somebody in are kept: strangers can't make it so many that decisions go for them.
const MOST_REFUSALS: i64 = 10_000;

/// The oldest go whenever so many have come.
const ROUND: i64 = 1000;

/// How many are told at a time.
const PAGE: i64 = 1000;

impl InvitationStore {
    /// Adds decisions, and refusals to let somebody in, in this order. The flag marks refusals.
    ///
    /// # Errors
    /// If they can't be written.
    pub fn note(&mut self, entries: &[(bool, AuditEntry)]) -> Result<(), InvitationStoreError> {
        self.shelf.transact(|database| {
            let before = last_number(database)?;
            entries.iter().try_for_each(|(is_refusal, it)| add(database, it, *is_refusal))?;
            if before / ROUND != last_number(database)? / ROUND {
                remove_oldest(database)?;
            }
            Ok(())
        })
    }

    /// The latest decisions, or the latest before one, the latest first; some of them. With refusals, or without.
    ///
    /// # Errors
    /// If they can't be read.
    pub fn audit_entries(
        &mut self,
        before: Option<u64>,
        refusals: bool,
    ) -> Result<Vec<AuditEntry>, InvitationStoreError> {
        let before = before.map_or(i64::MAX, signed);
        let kinds = if refusals { "" } else { "AND refusal = 0" };
        let sql = format!(
            "SELECT number, at_ms, who, party, role, peer, what, outcome FROM audit WHERE number < ?1 {kinds}
             ORDER BY number DESC LIMIT ?2"
        );
        self.shelf.read(|database| {
            let mut found = Vec::new();
            for_each(database, &sql, &[before.into(), PAGE.into()], |row| -> Result<(), Fault> {
                found.push(audit_entry(row)?);
                Ok(())
            })?;
            Ok(found)
        })
    }
}

/// Adds a decision, or a refusal, behind all others.
pub(super) fn add(database: &dyn Database, it: &AuditEntry, is_refusal: bool) -> Result<(), Fault> {
    let sql = "INSERT INTO audit (refusal, at_ms, who, party, role, peer, what, outcome)
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";
    // What is recorded together must not fail for a character that PostgreSQL has no place for.
    let text = |text: &str| Value::Text(text.replace('\0', "\u{fffd}"));
    let row = [
        i64::from(is_refusal).into(),
        signed(it.at_ms).into(),
        text(&it.who),
        it.party.map_or(Value::Null, bytes),
        text(&it.role),
        text(&it.peer),
        text(&it.what),
        text(&it.outcome),
    ];
    database.change(sql, &row)
}

/// The number of the latest decision or refusal, or 0.
fn last_number(database: &dyn Database) -> Result<i64, Fault> {
    let last = first(database, "SELECT max(number) AS last FROM audit", &[], |row| {
        row.get::<Option<i64>>("last", &"decisions")
    })?;
    Ok(last.flatten().unwrap_or_default())
}

/// Removes what is more than is kept. Takes time with what is kept, once in a round.
fn remove_oldest(database: &dyn Database) -> Result<(), Fault> {
    let sql = "DELETE FROM audit WHERE refusal = ?1 AND number <=
               (SELECT number FROM audit WHERE refusal = ?1 ORDER BY number DESC LIMIT 1 OFFSET ?2)";
    for (kind, kept) in [(0, MOST_ENTRIES), (1, MOST_REFUSALS)] {
        database.change(sql, &[Value::Integer(kind), kept.into()])?;
    }
    Ok(())
}

/// A decision, as it was added.
pub(super) fn audit_entry(row: &Row<'_>) -> Result<AuditEntry, Fault> {
    let text = |column| row.get(column, &"a decision");
    Ok(AuditEntry {
        number: number(row, "number")?,
        at_ms: number(row, "at_ms")?,
        who: text("who")?,
        party: row.get::<Option<[u8; 16]>>("party", &"a decision")?.map(Party::from_bytes),
        role: text("role")?,
        peer: text("peer")?,
        what: text("what")?,
        outcome: text("outcome")?,
    })
}
