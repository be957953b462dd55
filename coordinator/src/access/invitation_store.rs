//! The invitation store: a database of invitations, their worker names and the audit log.
//!
//! In a data directory it is a file of its own. So `queens-coordinator invite` and `revoke` can change it while a
//! coordinator runs, and a backup of the jobs does not disclose the invitations. On a server it has tables of its own,
//! which all coordinators of a database share. Each statement is written once for both.

use std::collections::{BTreeSet, HashMap};

use queens_auth::{Invitation, Pin, Role, Token, TokenHash, random_party};
use queens_model::{Name, Party};
use queens_platform::LogThrottle;
use queens_store::postgres::StoreLocation;
use queens_store::sql::database::{Database, Row, first};
use queens_store::sql::fault::Fault;
use rusqlite::types::Value;

use super::invitation_backend::InvitationBackend;
use super::invitation_store_error::{InvitationStoreError, MOST_INVITATIONS, TransactionError};
use super::rows::{ENDED, bytes, invitation, name, number, party, select, signed};
use super::worker_names::{bind, take_over};

/// The invitation store, in a file or on a server.
#[derive(Debug)]
pub struct InvitationStore {
    pub(super) backend: InvitationBackend,
    pub(super) failed_joins: LogThrottle,
}

/// The properties of a new invitation.
#[derive(Clone, Debug)]
pub struct NewInvitation {
    /// The role.
    pub role: Role,
    /// The label that people use; also the name of an invited worker.
    pub label: Option<Name>,
    /// The expiry, in milliseconds since 1970.
    pub expires_ms: Option<u64>,
    /// How many worker names the invitation allows.
    pub n_names: u32,
}

/// The campaign that the user of a new invitation joins.
#[derive(Clone, Copy, Debug)]
pub(super) struct JoinedCampaign {
    pub(super) number: u64,
    /// Whether the invitation waits until an operator approves it.
    pub(super) approve: bool,
}

/// The address and the key of a coordinator, for invited users.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PublishedAddress {
    /// Its URL.
    pub url: Option<String>,
    /// The pin of its key.
    pub pin: Option<String>,
    /// The URL of its pages, if it serves pages.
    pub pages: Option<String>,
}

impl PublishedAddress {
    /// Returns the pins of coordinators, separated by commas; `None` if there are none, as behind a proxy that
    /// encrypts.
    pub(crate) fn pins(all: &[Self]) -> Option<String> {
        let pins: BTreeSet<&str> = all.iter().filter_map(|place| place.pin.as_deref()).collect();
        (!pins.is_empty()).then(|| pins.into_iter().collect::<Vec<_>>().join(","))
    }
}

impl InvitationStore {
    /// Opens the store of a directory; creates both if needed, readable by the owner only. On a server, the store is
    /// opened, and created if needed, at its first use.
    pub fn open(location: &StoreLocation) -> Result<Self, InvitationStoreError> {
        Ok(Self::of(InvitationBackend::open(location)?))
    }

    /// Opens an existing store. On a server, a missing store is found out at the first use.
    pub(crate) fn open_existing(location: &StoreLocation) -> Result<Self, InvitationStoreError> {
        Ok(Self::of(InvitationBackend::open_existing(location)?))
    }

    fn of(backend: InvitationBackend) -> Self {
        Self { backend, failed_joins: LogThrottle::default() }
    }

    /// Creates an invitation with a token. The token can't be retrieved later.
    pub fn invite(&mut self, wanted: &NewInvitation, now_ms: u64) -> Result<Token, InvitationStoreError> {
        let add = |database: &dyn Database| add_with_token(database, wanted, None, now_ms);
        self.backend.transact(add).map(|(token, _)| token)
    }

    /// Creates an invitation for the key of a TLS certificate; returns the invitation's number.
    pub fn invite_key(
        &mut self,
        wanted: &NewInvitation,
        key: Pin,
        now_ms: u64,
    ) -> Result<u64, InvitationStoreError> {
        self.backend.transact(|database| add(database, wanted, None, now_ms, Some(key)))
    }

    /// Revokes an invitation.
    pub fn revoke(&mut self, number: u64) -> Result<(), InvitationStoreError> {
        self.backend.transact(|database| {
            let sql = "UPDATE invitation SET revoked = 1 WHERE number = ?1 RETURNING number";
            let found = first(database, sql, &[signed(number).into()], |_| Ok(()))?;
            Ok(found.ok_or(InvitationStoreError::Unknown(number))?)
        })
    }

    /// Approves all of these invitations, or none; returns them as they were.
    pub(crate) fn approve(&mut self, numbers: &[u64]) -> Result<Vec<Invitation>, InvitationStoreError> {
        self.backend.transact(|database| {
            let approve = |&number: &u64| -> Result<Invitation, TransactionError> {
                let (sql, key) = (format!("{SELECT} WHERE number = ?1"), [signed(number).into()]);
                let found = first(database, &sql, &key, invitation)?;
                let found = found.ok_or(InvitationStoreError::Unknown(number))?;
                database
                    .change("UPDATE invitation SET waiting = 0 WHERE number = ?1 AND waiting = 1", &key)?;
                Ok(found)
            };
            numbers.iter().map(approve).collect()
        })
    }

    /// Returns all invitations, ordered by number.
    pub fn invitations(&mut self) -> Result<Vec<Invitation>, InvitationStoreError> {
        self.backend.read(all_invitations)
    }

    /// Revokes all open invitations and closes all campaigns; returns the invitations as they were.
    pub(crate) fn revoke_all(&mut self, now_ms: u64) -> Result<Vec<Invitation>, InvitationStoreError> {
        self.backend.transact(|database| {
            let mut open = all_invitations(database)?;
            open.retain(|invitation| !invitation.has_ended(now_ms));
            database.change("UPDATE invitation SET revoked = 1 WHERE revoked = 0", &[])?;
            database.change("UPDATE campaign SET closed = 1 WHERE closed = 0", &[])?;
            Ok(open)
        })
    }

    /// Returns all bound names and their parties.
    pub fn names(&mut self) -> Result<HashMap<Name, Party>, InvitationStoreError> {
        let parse = |row: &Row<'_>| Ok((name(row)?, party(row)?));
        let names =
            self.backend.read(|database| select(database, "SELECT name, party FROM name", &[], parse))?;
        Ok(names.into_iter().collect())
    }

    /// Binds worker names to invitations for good, as far as these allow them, in one write. Returns the results in
    /// order.
    /// The time is linear in the number of names, plus once the names of each of their invitations. 10,000 names of one
    /// invitation take 0.07 s in batches of thousands, and 0.6 ms to 1.2 ms each one by one. On a server on the same
    /// machine they take two to four times as long. On a busy machine: 1.0 s to 1.6 s instead of 0.4 s to 0.7 s in
    /// batches, 28 ms instead of 8 ms to 11 ms one by one.
    pub fn bind(
        &mut self,
        wanted: &[(Party, Name)],
    ) -> Result<Vec<Result<(), InvitationStoreError>>, InvitationStoreError> {
        self.backend.transact(|database| Ok(bind(database, wanted)?))
    }

    /// Publishes a coordinator's address. A directory has one; a server has one for each URL, and one for all
    /// coordinators without a URL.
    pub fn note_place(&mut self, place: &PublishedAddress) -> Result<(), InvitationStoreError> {
        let (sql, url) = match &self.backend {
            InvitationBackend::File { .. } => {
                let sql = "INSERT INTO place (only, url, pin, pages) VALUES (1, ?1, ?2, ?3)
                           ON CONFLICT (only) DO UPDATE
                           SET url = excluded.url, pin = excluded.pin, pages = excluded.pages";
                (sql, place.url.clone())
            }
            InvitationBackend::PostgresBackend(_) => {
                let sql = "INSERT INTO place (url, pin, pages) VALUES (?1, ?2, ?3)
                           ON CONFLICT (url) DO UPDATE SET pin = excluded.pin, pages = excluded.pages";
                (sql, Some(place.url.clone().unwrap_or_default()))
            }
        };
        let values = [Value::from(url), place.pin.clone().into(), place.pages.clone().into()];
        self.backend.transact(|database| Ok(database.change(sql, &values)?))
    }

    /// Returns the published addresses of coordinators, ordered by URL.
    pub fn places(&mut self) -> Result<Vec<PublishedAddress>, InvitationStoreError> {
        self.backend.read(published_addresses)
    }

    /// Returns a number that changes whenever another process has changed invitations or names.
    pub fn version(&mut self) -> Result<i64, InvitationStoreError> {
        self.backend.version()
    }
}

/// Returns the published addresses of coordinators, ordered by URL.
pub(super) fn published_addresses(database: &dyn Database) -> Result<Vec<PublishedAddress>, Fault> {
    select(database, "SELECT url, pin, pages FROM place ORDER BY url", &[], |row| {
        let column = |name| row.get(name, &"where a coordinator is reached");
        let url: Option<String> = column("url")?;
        let url = url.filter(|url| !url.is_empty());
        Ok(PublishedAddress { url, pin: column("pin")?, pages: column("pages")? })
    })
}

/// Returns all invitations, ordered by number.
fn all_invitations(database: &dyn Database) -> Result<Vec<Invitation>, Fault> {
    select(database, &format!("{SELECT} ORDER BY number"), &[], invitation)
}

const SELECT: &str =
    "SELECT number, party, role, label, made_ms, expires_ms, revoked, n_names, salt, hash, key, campaign,
    waiting FROM invitation";

/// Inserts an invitation with a new token; `campaign` is the one that its user joins.
pub(super) fn add_with_token(
    database: &dyn Database,
    wanted: &NewInvitation,
    campaign: Option<JoinedCampaign>,
    now_ms: u64,
) -> Result<(Token, Invitation), TransactionError> {
    let number = add(database, wanted, campaign, now_ms, None)?;
    let made = Token::random(number).and_then(|token| Ok((TokenHash::of(&token)?, token)));
    let (TokenHash { salt, hash }, token) = made.map_err(|error| Fault::Unfit(error.to_string()))?;
    let sql = "UPDATE invitation SET salt = ?2, hash = ?3 WHERE number = ?1";
    database.change(sql, &[signed(number).into(), salt.to_vec().into(), hash.to_vec().into()])?;
    let sql = format!("{SELECT} WHERE number = ?1");
    let found = first(database, &sql, &[signed(number).into()], invitation)?;
    Ok((token, found.ok_or_else(|| Fault::Damaged("an invitation has no number".to_owned()))?))
}

/// Inserts an invitation for a key, or for a token whose hash follows: the token contains the number.
fn add(
    database: &dyn Database,
    wanted: &NewInvitation,
    campaign: Option<JoinedCampaign>,
    now_ms: u64,
    key: Option<Pin>,
) -> Result<u64, TransactionError> {
    let count = "SELECT count(*) AS n FROM invitation";
    let n_invitations: Option<i64> = first(database, count, &[], |row| row.get("n", &"invitations"))?;
    if n_invitations.unwrap_or_default() >= MOST_INVITATIONS {
        return Err(InvitationStoreError::Full.into());
    }
    if let Some(number) = key.map(|key| known_by(database, key, now_ms)).transpose()?.flatten() {
        return Err(InvitationStoreError::KeyInUse(number).into());
    }
    let party = random_party().map_err(|error| Fault::Unfit(error.to_string()))?;
    let sql =
        "INSERT INTO invitation (party, role, label, made_ms, expires_ms, revoked, n_names, salt, hash, key, campaign, waiting)
               VALUES (?8, ?1, ?2, ?3, ?4, 0, ?5, ?6, ?6, ?7, ?9, ?10) RETURNING number";
    let values = [
        wanted.role.name().to_owned().into(),
        wanted.label.as_ref().map(|label| label.as_str().to_owned()).into(),
        signed(now_ms).into(),
        wanted.expires_ms.map(signed).into(),
        wanted.n_names.into(),
        key.is_none().then(Vec::new).into(),
        key.map(|key| key.to_string()).into(),
        bytes(party),
        campaign.map(|campaign| signed(campaign.number)).into(),
        campaign.is_some_and(|campaign| campaign.approve).into(),
    ];
    let number = first(database, sql, &values, |row| number(row, "number"))?;
    let number = number.ok_or_else(|| Fault::Damaged("an invitation has no number".to_owned()))?;
    if let (Role::Worker, Some(name)) = (wanted.role, &wanted.label) {
        take_over(database, party, name, now_ms)?;
    }
    Ok(number)
}

/// Returns the open invitation with a key.
fn known_by(database: &dyn Database, key: Pin, now_ms: u64) -> Result<Option<u64>, Fault> {
    let sql = format!("SELECT number FROM invitation WHERE key = ?1 AND NOT ({ENDED}) ORDER BY number DESC");
    first(database, &sql, &[key.to_string().into(), signed(now_ms).into()], |row| number(row, "number"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_invitation_is_somebody_else_and_stays_so() {
        let dir = tempfile::tempdir().expect("a directory");
        let location = StoreLocation::Directory(dir.path().to_owned());
        let wanted = NewInvitation { role: Role::Worker, label: None, expires_ms: None, n_names: 3 };
        let parties = |n_invitations| {
            let mut store = InvitationStore::open(&location).expect("a store");
            for _ in 0..n_invitations {
                store.invite(&wanted, 0).expect("invited");
            }
            store.invitations().expect("read").iter().map(|it| it.party).collect::<Vec<_>>()
        };
        let (before, after) = (parties(3), parties(1));
        assert_eq!(after.iter().collect::<BTreeSet<_>>().len(), 4);
        assert_eq!(before, after[..3]);
    }
}
