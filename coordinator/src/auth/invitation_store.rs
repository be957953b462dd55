//! The book: invitations, the names bound to them, and decisions, in a database beside that of the jobs.
//!
//! In a data directory it is a file of its own, so that `queens-coordinator invite` and `revoke` can change it while a
//! coordinator runs, and so that a backup of the jobs tells nobody who was invited. On a server it has tables of its own,
//! and all coordinators of a database let in the same people. Each statement is written once for both.

use std::collections::HashMap;

use queens_auth::{Invitation, Pin, Role, Token, TokenHash, random_party};
use queens_model::{Name, Party};
use queens_store::sql::database::{Database, first, for_each};
use queens_store::sql::fault::Fault;
use rusqlite::types::Value;

use super::backend::InvitationBackend;
use super::invitation_store_error::{InvitationStoreError, MOST_INVITATIONS, TransactionError};
use super::rows::{ENDED, bytes, invitation, name, number, party, signed};
use super::worker_names::{bind, take_over};
use crate::store::store_location::StoreLocation;

/// Who was invited, whatever it is kept in.
#[derive(Debug)]
pub struct InvitationStore {
    pub(super) shelf: InvitationBackend,
}

/// Who is to be invited.
#[derive(Clone, Debug)]
pub struct NewInvitation {
    /// As what.
    pub role: Role,
    /// What people call them by; a worker gets this name.
    pub label: Option<Name>,
    /// Until when, in milliseconds since 1970.
    pub expires_ms: Option<u64>,
    /// How many names workers may use that come with it.
    pub n_names: u32,
}

/// Where a coordinator is reached, and what it is known by, for those who are invited.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PublishedAddress {
    /// Its URL.
    pub url: Option<String>,
    /// The pin of its key.
    pub pin: Option<String>,
}

impl InvitationStore {
    /// Opens the book of a directory; makes both if they are not there. Nobody but their owner may read the book. That
    /// of a database on a server is opened, and made if it is not there, when it is first used.
    ///
    /// # Errors
    /// If that can't be done.
    pub fn open(whereabouts: &StoreLocation) -> Result<Self, InvitationStoreError> {
        Ok(Self { shelf: InvitationBackend::open(whereabouts)? })
    }

    /// Opens a book that a coordinator has made, or that was made for one. On a server, that is found out when it is first
    /// used.
    ///
    /// # Errors
    /// If there is none, or it can't be opened.
    pub fn open_existing(whereabouts: &StoreLocation) -> Result<Self, InvitationStoreError> {
        Ok(Self { shelf: InvitationBackend::open_existing(whereabouts)? })
    }

    /// Invites somebody. The token is told now and never again.
    ///
    /// # Errors
    /// If the name is somebody else's, or it can't be written.
    pub fn invite(&mut self, wanted: &NewInvitation, now_ms: u64) -> Result<Token, InvitationStoreError> {
        self.shelf.transact(|database| {
            let number = add(database, wanted, now_ms, None)?;
            let made = Token::random(number).and_then(|token| Ok((TokenHash::of(&token)?, token)));
            let (TokenHash { salt, hash }, token) = made.map_err(|error| Fault::Unfit(error.to_string()))?;
            let sql = "UPDATE invitation SET salt = ?2, hash = ?3 WHERE number = ?1";
            database.change(sql, &[signed(number).into(), salt.to_vec().into(), hash.to_vec().into()])?;
            Ok(token)
        })
    }

    /// Invites somebody who is known by the key of a TLS certificate; the invitation's number.
    ///
    /// # Errors
    /// If the name or the key is somebody else's, or it can't be written.
    pub fn invite_key(
        &mut self,
        wanted: &NewInvitation,
        key: Pin,
        now_ms: u64,
    ) -> Result<u64, InvitationStoreError> {
        self.shelf.transact(|database| add(database, wanted, now_ms, Some(key)))
    }

    /// Ends an invitation.
    ///
    /// # Errors
    /// If there is none of this number, or it can't be written.
    pub fn revoke(&mut self, number: u64) -> Result<(), InvitationStoreError> {
        self.shelf.transact(|database| {
            let sql = "UPDATE invitation SET revoked = 1 WHERE number = ?1 RETURNING number";
            let found = first(database, sql, &[signed(number).into()], |_| Ok(()))?;
            Ok(found.ok_or(InvitationStoreError::Unknown(number))?)
        })
    }

    /// All invitations, in the order of their numbers.
    ///
    /// # Errors
    /// If they can't be read.
    pub fn invitations(&mut self) -> Result<Vec<Invitation>, InvitationStoreError> {
        self.shelf.read(all_invitations)
    }

    /// Ends all invitations that go on; returns them as they were.
    ///
    /// # Errors
    /// If that can't be written, and then none is ended.
    pub fn revoke_all(&mut self, now_ms: u64) -> Result<Vec<Invitation>, InvitationStoreError> {
        self.shelf.transact(|database| {
            let mut open = all_invitations(database)?;
            open.retain(|invitation| invitation.is_open(now_ms).is_ok());
            database.change("UPDATE invitation SET revoked = 1 WHERE revoked = 0", &[])?;
            Ok(open)
        })
    }

    /// All names that are bound, and the parties that they are bound to.
    ///
    /// # Errors
    /// If they can't be read.
    pub fn names(&mut self) -> Result<HashMap<Name, Party>, InvitationStoreError> {
        self.shelf.read(|database| {
            let mut all = HashMap::new();
            for_each(database, "SELECT name, party FROM name", &[], |row| -> Result<(), Fault> {
                all.insert(name(row)?, party(row)?);
                Ok(())
            })?;
            Ok(all)
        })
    }

    /// Binds workers' names to invitations for ever, as far as these may use them; what becomes of each, in order. All
    /// are written at once. Takes time with how many they are, and once with the names of each of their invitations:
    /// 10,000 names of one invitation take 0.07 s in thousands and 0.6 ms to 1.2 ms each one by one. On a server on the
    /// same machine they take two to four times as long (on a busy one, where it was compared: 1.0 s to 1.6 s after 0.4 s
    /// to 0.7 s in thousands, 28 ms after 8 ms to 11 ms one by one).
    ///
    /// # Errors
    /// If they can't be written, and then none is bound.
    pub fn bind(
        &mut self,
        wanted: &[(Party, Name)],
    ) -> Result<Vec<Result<(), InvitationStoreError>>, InvitationStoreError> {
        self.shelf.transact(|database| Ok(bind(database, wanted)?))
    }

    /// Notes where a coordinator is reached: in a directory the one that uses it, on a server one of several, known by
    /// its URL; all that don't know theirs are one.
    ///
    /// # Errors
    /// If it can't be written.
    pub fn note_place(&mut self, place: &PublishedAddress) -> Result<(), InvitationStoreError> {
        let (sql, url) = match &self.shelf {
            InvitationBackend::File { .. } => {
                let sql = "INSERT INTO place (only, url, pin) VALUES (1, ?1, ?2)
                           ON CONFLICT (only) DO UPDATE SET url = excluded.url, pin = excluded.pin";
                (sql, place.url.clone())
            }
            InvitationBackend::PostgresBackend(_) => {
                let sql = "INSERT INTO place (url, pin) VALUES (?1, ?2)
                           ON CONFLICT (url) DO UPDATE SET pin = excluded.pin";
                (sql, Some(place.url.clone().unwrap_or_default()))
            }
        };
        let values = [Value::from(url), place.pin.clone().into()];
        self.shelf.transact(|database| Ok(database.change(sql, &values)?))
    }

    /// Where coordinators are reached, as far as they have noted it, in the order of their URLs.
    ///
    /// # Errors
    /// If it can't be read.
    pub fn places(&mut self) -> Result<Vec<PublishedAddress>, InvitationStoreError> {
        self.shelf.read(|database| {
            let mut all = Vec::new();
            for_each(database, "SELECT url, pin FROM place ORDER BY url", &[], |row| -> Result<(), Fault> {
                let column = |name| row.get(name, &"where a coordinator is reached");
                let url: Option<String> = column("url")?;
                all.push(PublishedAddress { url: url.filter(|url| !url.is_empty()), pin: column("pin")? });
                Ok(())
            })?;
            Ok(all)
        })
    }

    /// A number that changes whenever somebody else has changed invitations or names.
    ///
    /// # Errors
    /// If it can't be read.
    pub fn version(&mut self) -> Result<i64, InvitationStoreError> {
        self.shelf.version()
    }
}

/// All invitations, in the order of their numbers.
fn all_invitations(database: &dyn Database) -> Result<Vec<Invitation>, Fault> {
    let sql = "SELECT number, party, role, label, made_ms, expires_ms, revoked, n_names, salt, hash, key
               FROM invitation ORDER BY number";
    let mut all = Vec::new();
    for_each(database, sql, &[], |row| -> Result<(), Fault> {
        all.push(invitation(row)?);
        Ok(())
    })?;
    Ok(all)
}

/// Adds an invitation, of a key or of a token of which nothing is known before its number is.
fn add(
    database: &dyn Database,
    wanted: &NewInvitation,
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
        "INSERT INTO invitation (party, role, label, made_ms, expires_ms, revoked, n_names, salt, hash, key)
               VALUES (?8, ?1, ?2, ?3, ?4, 0, ?5, ?6, ?6, ?7) RETURNING number";
    let values = [
        wanted.role.name().to_owned().into(),
        wanted.label.as_ref().map(|label| label.as_str().to_owned()).into(),
        signed(now_ms).into(),
        wanted.expires_ms.map(signed).into(),
        wanted.n_names.into(),
        key.is_none().then(Vec::new).into(),
        key.map(|key| key.to_string()).into(),
        bytes(party),
    ];
    let number = first(database, sql, &values, |row| number(row, "number"))?;
    let number = number.ok_or_else(|| Fault::Damaged("an invitation has no number".to_owned()))?;
    if let (Role::Worker, Some(name)) = (wanted.role, &wanted.label) {
        take_over(database, party, name, now_ms)?;
    }
    Ok(number)
}

/// The invitation that goes on of somebody who is known by a key.
fn known_by(database: &dyn Database, key: Pin, now_ms: u64) -> Result<Option<u64>, Fault> {
    let sql = format!("SELECT number FROM invitation WHERE key = ?1 AND NOT ({ENDED}) ORDER BY number DESC");
    first(database, &sql, &[key.to_string().into(), signed(now_ms).into()], |row| number(row, "number"))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn each_invitation_is_somebody_else_and_stays_so() {
        let dir = tempfile::tempdir().expect("a directory");
        let whereabouts = StoreLocation::Directory(dir.path().to_owned());
        let wanted = NewInvitation { role: Role::Worker, label: None, expires_ms: None, n_names: 3 };
        let parties = |n_invitations| {
            let mut store = InvitationStore::open(&whereabouts).expect("a book");
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
