//! Copies an invitation store to another store, for a migration or a restore.

use queens_model::AuditEntry;
use queens_store::postgres::StoreLocation;
use queens_store::sql::database::{Database, Row, first};
use queens_store::sql::fault::Fault;
use queens_store::sql::table::Table;
use rusqlite::types::Value;

use super::audit_log::{self, audit_entry};
use super::campaign::CAMPAIGN;
use super::invitation_backend::InvitationBackend;
use super::invitation_store_error::{InvitationStoreError, TransactionError};
use super::postgres_backend::number_on;
use super::rows::select;
use super::worker_names::NAME;

/// The table of invitations, which belong to no job.
static INVITATION: Table = Table::without_digest(
    "invitation",
    &[
        "number",
        "party",
        "role",
        "label",
        "made_ms",
        "expires_ms",
        "revoked",
        "n_names",
        "salt",
        "hash",
        "key",
        "campaign",
        "waiting",
    ],
    1,
);

/// All campaigns and invitations with the hashes of codes and tokens, all names, and the audit log in its order.
/// Without published addresses: each coordinator writes its own at its start.
#[derive(Debug, Default)]
pub(crate) struct Dump {
    campaigns: Vec<Vec<Value>>,
    invitations: Vec<Vec<Value>>,
    names: Vec<Vec<Value>>,
    /// The flag marks refused requests.
    audit_entries: Vec<(bool, AuditEntry)>,
}

impl Dump {
    /// Reads everything from a store, if there is one.
    pub(crate) fn of(location: &StoreLocation) -> Result<Self, InvitationStoreError> {
        if !InvitationBackend::may_be_at(location) {
            return Ok(Self::default());
        }
        InvitationBackend::open(location)?.transact(|database| {
            let sql =
                "SELECT number, refusal, at_ms, who, party, role, peer, what, outcome FROM audit ORDER BY number";
            let parse = |row: &Row<'_>| Ok((row.get("refusal", &"a decision")?, audit_entry(row)?));
            let audit_entries = select(database, sql, &[], parse)?;
            Ok(Self {
                campaigns: all(database, &CAMPAIGN)?,
                invitations: all(database, &INVITATION)?,
                names: all(database, &NAME)?,
                audit_entries,
            })
        })
    }

    /// Closes all campaigns, and revokes all invitations that are not revoked yet; returns how many of the latter.
    pub(crate) fn end_all(&mut self) -> usize {
        end(&CAMPAIGN, "closed", &mut self.campaigns);
        end(&INVITATION, "revoked", &mut self.invitations)
    }

    pub(crate) fn n_invitations(&self) -> u64 {
        self.invitations.len() as u64
    }

    /// Creates the tables on a server if needed.
    pub(crate) fn make_room(&self, to: &StoreLocation) -> Result<(), InvitationStoreError> {
        match to {
            StoreLocation::Server(_) if !self.is_empty() => InvitationBackend::open(to)?.version().map(drop),
            _ => Ok(()),
        }
    }

    /// Writes everything to a store that has no invitations. On a server, the writes join the transaction on the job
    /// store. In a directory, they are a transaction of their own, which is committed here.
    pub(crate) fn put(&self, to: &StoreLocation, store: &dyn Database) -> Result<(), TransactionError> {
        match to {
            _ if self.is_empty() => Ok(()),
            StoreLocation::Server(server) => {
                self.write(store, &server.name())?;
                Ok(number_on(store)?)
            }
            StoreLocation::Directory(_) => Ok(self.put_in_directory(to)?),
        }
    }

    /// Writes everything to a directory, in a transaction of its own.
    pub(crate) fn put_in_directory(&self, to: &StoreLocation) -> Result<(), InvitationStoreError> {
        let StoreLocation::Directory(dir) = to else { return Ok(()) };
        let place = format!("data directory '{}'", dir.display());
        if self.is_empty() {
            Ok(())
        } else {
            InvitationBackend::open(to)?.transact(|database| self.write(database, &place))
        }
    }

    fn is_empty(&self) -> bool {
        self.campaigns.is_empty() && self.invitations.is_empty() && self.audit_entries.is_empty()
    }

    fn write(&self, database: &dyn Database, place: &str) -> Result<(), TransactionError> {
        let there = "SELECT number FROM invitation UNION ALL SELECT number FROM campaign LIMIT 1";
        let is_occupied = first(database, there, &[], |_| Ok(()))?.is_some();
        if is_occupied && !(self.invitations.is_empty() && self.campaigns.is_empty()) {
            return Err(InvitationStoreError::Occupied(place.to_owned()).into());
        }
        let tables = [(&CAMPAIGN, &self.campaigns), (&INVITATION, &self.invitations), (&NAME, &self.names)];
        for (table, rows) in tables {
            rows.iter().try_for_each(|row| database.put(table, row.clone()))?;
        }
        self.audit_entries
            .iter()
            .try_for_each(|(is_refusal, it)| audit_log::add(database, it, *is_refusal))?;
        Ok(())
    }
}

/// Sets a column that marks ended rows; returns how many rows had not ended.
fn end(table: &Table, column: &str, rows: &mut [Vec<Value>]) -> usize {
    let ended = Value::Integer(1);
    let at = table.columns.iter().position(|known| *known == column).unwrap_or_default();
    let open = rows.iter_mut().filter_map(|row| row.get_mut(at)).filter(|it| **it != ended);
    open.map(|it| *it = ended.clone()).count()
}

/// Returns whether a directory has a file with invitations.
pub(crate) fn has_invitations(location: &StoreLocation) -> bool {
    InvitationBackend::may_be_at(location)
}

fn all(database: &dyn Database, table: &Table) -> Result<Vec<Vec<Value>>, Fault> {
    let sql = format!("SELECT {} FROM {}", table.columns.join(", "), table.name);
    select(database, &sql, &[], |row| {
        table.columns.iter().map(|column| row.get(column, &table.name)).collect()
    })
}

#[cfg(test)]
mod tests {
    use queens_auth::JoinCode;

    use super::super::campaign::CampaignTerms;
    use super::super::invitation_store::InvitationStore;
    use super::*;

    #[test]
    fn campaigns_are_copied_and_end_with_the_invitations() {
        let dirs = [(); 3].map(|()| tempfile::tempdir().expect("a directory"));
        let [one, other, ended] = dirs.each_ref().map(|dir| StoreLocation::Directory(dir.path().to_owned()));
        let open = |location| InvitationStore::open(location).expect("a store");
        let code = JoinCode::random().expect("random");
        let wanted = CampaignTerms { job: None, expires_ms: 1, most_people: 2, n_names: 3, approve: true };
        open(&one).open_campaign(&wanted, &code, 0).expect("opened");
        let mut dump = Dump::of(&one).expect("read");
        dump.put_in_directory(&other).expect("written");
        let campaigns = open(&other).campaigns().expect("read");
        assert!(campaigns == open(&one).campaigns().expect("read") && campaigns[0].is_open(0));
        assert!(matches!(dump.put_in_directory(&other), Err(InvitationStoreError::Occupied(_))));
        assert_eq!(dump.end_all(), 0);
        dump.put_in_directory(&ended).expect("written");
        assert!(!open(&ended).campaigns().expect("read")[0].is_open(0));
        assert_eq!(open(&other).revoke_all(0).expect("written"), []);
        assert!(!open(&other).campaigns().expect("read")[0].is_open(0), "all ends at once");
    }
}
