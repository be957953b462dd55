//! The audit log in the invitation store: actions and refused requests, each up to a maximal number of entries.

use std::net::IpAddr;

use queens_model::{AuditEntry, Party};
use queens_store::sql::database::{Database, Row, first};
use queens_store::sql::fault::Fault;
use queens_store::unix_ms;
use rusqlite::types::Value;

use super::invitation_store::InvitationStore;
use super::invitation_store_error::InvitationStoreError;
use super::rows::{bytes, number, select, signed};

/// Audited actions that are kept.
const MOST_ENTRIES: i64 = 100_000;

/// Refused requests that are kept. A limit of their own: strangers must not push actions out of the log.
const MOST_REFUSALS: i64 = 10_000;

/// The oldest entries are removed once per this many new entries.
const ROUND: i64 = 1000;

/// Maximal entries of one query.
const PAGE: i64 = 1000;

impl InvitationStore {
    /// Appends audited actions and refused requests in this order. The flag marks refused requests.
    pub fn note(&mut self, entries: &[(bool, AuditEntry)]) -> Result<(), InvitationStoreError> {
        self.backend.transact(|database| Ok(append(database, entries)?))
    }

    /// Returns a page of the latest entries, or of those before a number, newest first. Refused requests are optional.
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
        let values = [before.into(), PAGE.into()];
        self.backend.read(|database| select(database, &sql, &values, audit_entry))
    }
}

/// Appends entries, and removes the oldest beyond the limits.
pub(super) fn append(database: &dyn Database, entries: &[(bool, AuditEntry)]) -> Result<(), Fault> {
    let before = last_number(database)?;
    entries.iter().try_for_each(|(is_refusal, it)| add(database, it, *is_refusal))?;
    if before / ROUND != last_number(database)? / ROUND {
        remove_oldest(database)?;
    }
    Ok(())
}

/// Appends an audited action or a refused request.
pub(super) fn add(database: &dyn Database, it: &AuditEntry, is_refusal: bool) -> Result<(), Fault> {
    let sql = "INSERT INTO audit (refusal, at_ms, who, party, role, peer, what, outcome)
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";
    // Entries are written in batches: a NUL character, which PostgreSQL can't store, must not fail the whole batch.
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

/// Returns the number of the latest entry, or 0.
fn last_number(database: &dyn Database) -> Result<i64, Fault> {
    let last = first(database, "SELECT max(number) AS last FROM audit", &[], |row| {
        row.get::<Option<i64>>("last", &"decisions")
    })?;
    Ok(last.flatten().unwrap_or_default())
}

/// Removes entries beyond the limits, once per round. The time is linear in the number of kept entries.
fn remove_oldest(database: &dyn Database) -> Result<(), Fault> {
    let sql = "DELETE FROM audit WHERE refusal = ?1 AND number <=
               (SELECT number FROM audit WHERE refusal = ?1 ORDER BY number DESC LIMIT 1 OFFSET ?2)";
    for (kind, kept) in [(0, MOST_ENTRIES), (1, MOST_REFUSALS)] {
        database.change(sql, &[Value::Integer(kind), kept.into()])?;
    }
    Ok(())
}

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

/// Maximal characters of an action and of an outcome in the audit log.
pub(super) const LONGEST: usize = 300;

/// Returns an audit entry for the present time, without an outcome and a party.
pub(super) fn entry(who: String, role: &str, peer: Option<IpAddr>, what: &str) -> AuditEntry {
    AuditEntry {
        number: 0,
        at_ms: unix_ms(),
        who,
        party: None,
        role: role.to_owned(),
        peer: peer.map(|peer| peer.to_canonical().to_string()).unwrap_or_default(),
        what: what.chars().take(LONGEST).collect(),
        outcome: String::new(),
    }
}
