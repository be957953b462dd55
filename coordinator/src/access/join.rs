//! Joins a campaign: makes the invitation of one person, in one transaction with its audit entry.

use std::net::IpAddr;

use axum::http::StatusCode;
use queens_auth::{Invitation, Role, Token};
use queens_model::{AuditEntry, Name};
use queens_store::sql::database::Database;
use thiserror::Error;
use tracing::warn;

use super::audit_log::{append, entry};
use super::campaign::campaign_of;
use super::invitation_store::{
    InvitationStore, JoinedCampaign, NewInvitation, PublishedAddress, add_with_token, published_addresses,
};
use super::invitation_store_error::{InvitationStoreError, TransactionError};
use super::worker_names::taken;
use crate::refusal::RequestRefusal;

/// The longest name, in characters, as [`Name`] permits.
const LONGEST: usize = 100;

/// Names with a number that are tried for one wish, and how many of them one query checks.
const MOST_NUMBERS: u32 = 1000;
const PORTION: u32 = 100;

/// The wish of a person to join a campaign.
#[derive(Clone, Debug)]
pub(super) struct Application {
    /// The hash of the campaign's code.
    pub(super) hash: [u8; 32],
    pub(super) name: Name,
    pub(super) peer: Option<IpAddr>,
    pub(super) now_ms: u64,
}

/// Where workers find the coordinators of a campaign, as lists separated by commas.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Location {
    /// Their URLs.
    pub(crate) coordinators: String,
    /// The pins of their keys; `None` if a proxy encrypts.
    pub(crate) pins: Option<String>,
}

impl Location {
    /// Returns `None` if no coordinator knows its own URL.
    pub(super) fn of(places: &[PublishedAddress]) -> Option<Self> {
        let urls: Vec<&str> = places.iter().filter_map(|place| place.url.as_deref()).collect();
        (!urls.is_empty())
            .then(|| Self { coordinators: urls.join(","), pins: PublishedAddress::pins(places) })
    }
}

/// What a person gets who joined a campaign.
#[derive(Clone, Debug)]
pub(crate) struct Joined {
    pub(crate) token: Token,
    /// The person's name: the one that was wanted, or one with a number if that was taken.
    pub(crate) name: Name,
    pub(crate) location: Location,
    /// Whether the invitation waits until an operator approves it.
    pub(crate) waiting: bool,
}

/// Why a person can't join a campaign.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub(crate) enum JoinRefusal {
    /// No campaign has this code, or it is closed or has expired. The message does not tell which.
    #[error(
        "this join link is wrong, or the campaign has ended: ask for a new link where you found this one"
    )]
    Unknown,
    #[error("{0} people have joined this campaign, and it takes no more: ask its operator for room")]
    Full(u32),
    #[error("the name '{0}' is taken, with and without a number: choose another by --name")]
    NameTaken(Name),
    #[error("this coordinator has as many invitations as it can keep: ask its operator")]
    NoInvitationLeft,
    #[error(
        "{0} people have joined from your address or network within an hour, and no more may: try again later"
    )]
    AddressLimit(u32),
    #[error("too many people are joining at the moment: try again in a minute")]
    RateLimit,
    #[error("this coordinator does not know its own URL: its operator has to start it with --url")]
    NoUrl,
    #[error("the coordinator can't write invitations at present: try again in a minute")]
    Unavailable,
}

impl From<JoinRefusal> for RequestRefusal {
    fn from(refusal: JoinRefusal) -> Self {
        let (status, retry_after_s) = match refusal {
            JoinRefusal::Unknown => (StatusCode::NOT_FOUND, None),
            JoinRefusal::Full(_) | JoinRefusal::NameTaken(_) => (StatusCode::CONFLICT, None),
            JoinRefusal::AddressLimit(_) => (StatusCode::TOO_MANY_REQUESTS, Some(3600)),
            JoinRefusal::RateLimit => (StatusCode::TOO_MANY_REQUESTS, Some(60)),
            JoinRefusal::NoInvitationLeft | JoinRefusal::NoUrl | JoinRefusal::Unavailable => {
                (StatusCode::SERVICE_UNAVAILABLE, None)
            }
        };
        Self { retry_after_s, ..Self::new(status, refusal) }
    }
}

impl InvitationStore {
    /// Creates the invitation of a person, with its audit entry; returns it, too.
    pub(super) fn join(&mut self, application: &Application) -> Result<(Joined, Invitation), JoinRefusal> {
        let done = self.backend.transact(|database| join(database, application));
        done.unwrap_or_else(|error| match error {
            InvitationStoreError::Full => Err(JoinRefusal::NoInvitationLeft),
            error => {
                if let Some(left_out) = self.failed_joins.allows() {
                    warn!(%error, left_out, "nobody can join");
                }
                Err(JoinRefusal::Unavailable)
            }
        })
    }
}

/// Checks first, then writes: a refusal leaves nothing behind.
fn join(
    database: &dyn Database,
    application: &Application,
) -> Result<Result<(Joined, Invitation), JoinRefusal>, TransactionError> {
    let Application { hash, name, peer, now_ms } = application;
    let campaign = campaign_of(database, hash)?.filter(|campaign| campaign.is_open(*now_ms));
    let Some(campaign) = campaign else { return Ok(Err(JoinRefusal::Unknown)) };
    if campaign.n_people >= campaign.terms.most_people {
        return Ok(Err(JoinRefusal::Full(campaign.n_people)));
    }
    let Some(location) = Location::of(&published_addresses(database)?) else {
        return Ok(Err(JoinRefusal::NoUrl));
    };
    let Some(free) = free_name(database, name)? else {
        return Ok(Err(JoinRefusal::NameTaken(name.clone())));
    };
    let wanted = NewInvitation {
        role: Role::Worker,
        label: Some(free.clone()),
        expires_ms: None,
        n_names: campaign.terms.n_names,
    };
    let joined = JoinedCampaign { number: campaign.number, approve: campaign.terms.approve };
    let (token, invitation) = add_with_token(database, &wanted, Some(joined), *now_ms)?;
    let what = format!("join campaign {}", campaign.number);
    let audit_entry = AuditEntry {
        party: Some(invitation.party),
        outcome: "done".to_owned(),
        ..entry(invitation.to_string(), Role::Worker.name(), *peer, &what)
    };
    append(database, &[(false, audit_entry)])?;
    Ok(Ok((Joined { token, name: free, location, waiting: invitation.waiting }, invitation)))
}

/// Returns the name itself if it is free, or else the first free one with a number. A name that somebody has had is
/// never free: nobody may take the place of another.
fn free_name(database: &dyn Database, name: &Name) -> Result<Option<Name>, TransactionError> {
    for first in (1..=MOST_NUMBERS).step_by(PORTION as usize) {
        let candidates: Vec<Name> =
            (first..first + PORTION).filter_map(|number| numbered(name, number)).collect();
        if candidates.is_empty() {
            continue;
        }
        let taken = taken(database, &candidates)?;
        if let Some(free) = candidates.into_iter().find(|candidate| !taken.contains(candidate)) {
            return Ok(Some(free));
        }
    }
    Ok(None)
}

/// Returns the name with a number, cut off if it would be too long; the name itself for 1.
fn numbered(name: &Name, number: u32) -> Option<Name> {
    if number == 1 {
        return Some(name.clone());
    }
    let end = format!("-{number}");
    let start: String = name.as_str().chars().take(LONGEST - end.len()).collect();
    format!("{}{end}", start.trim_end()).parse().ok()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use queens_auth::JoinCode;
    use queens_store::postgres::StoreLocation;

    use super::super::campaign::CampaignTerms;
    use super::*;

    const HOUR_MS: u64 = 3_600_000;

    struct Test {
        _dir: tempfile::TempDir,
        store: InvitationStore,
        code: JoinCode,
    }

    impl Test {
        fn new(most_people: u32) -> Self {
            let dir = tempfile::tempdir().expect("a directory");
            let location = StoreLocation::Directory(dir.path().to_owned());
            let mut store = InvitationStore::open(&location).expect("a store");
            let code = JoinCode::random().expect("random");
            let wanted =
                CampaignTerms { job: None, expires_ms: HOUR_MS, most_people, n_names: 10, approve: false };
            assert_eq!(store.open_campaign(&wanted, &code, 0).expect("opened"), 1);
            let place =
                PublishedAddress { url: Some("https://here:1".to_owned()), ..PublishedAddress::default() };
            store.note_place(&place).expect("written");
            Self { _dir: dir, store, code }
        }

        fn join(&mut self, name: &str, now_ms: u64) -> Result<String, JoinRefusal> {
            let name = name.parse().expect("a name");
            let application = Application { hash: self.code.hash(), name, peer: None, now_ms };
            let (joined, invitation) = self.store.join(&application)?;
            assert_eq!(invitation.check_token(&joined.token, now_ms), Ok(()));
            assert_eq!((invitation.role, invitation.n_names), (Role::Worker, 10));
            assert_eq!(invitation.label.as_ref(), Some(&joined.name));
            Ok(joined.name.to_string())
        }

        fn n_invitations(&mut self) -> usize {
            let n_names = self.store.names().expect("readable").len();
            let n_invitations = self.store.invitations().expect("readable").len();
            assert_eq!(n_names, n_invitations);
            n_invitations
        }
    }

    #[test]
    fn each_person_gets_a_name_and_an_invitation() {
        let mut test = Test::new(1000);
        let long = "x".repeat(100);
        for (wanted, given) in
            [("anna", "anna"), ("anna", "anna-2"), ("anna", "anna-3"), ("anna-2", "anna-2-2")]
        {
            assert_eq!(test.join(wanted, 0).as_deref(), Ok(given));
        }
        assert_eq!(test.join(&long, 0).as_deref(), Ok(long.as_str()));
        assert_eq!(test.join(&long, 0), Ok(format!("{}-2", "x".repeat(98))));
        let parties: BTreeSet<_> = test.store.names().expect("readable").into_values().collect();
        assert_eq!((parties.len(), test.n_invitations()), (6, 6));
        let recorded = test.store.audit_entries(None, true).expect("readable");
        assert_eq!(recorded.len(), 6);
        assert_eq!(
            (recorded[5].who.as_str(), recorded[5].what.as_str()),
            ("invitation 1 (anna)", "join campaign 1")
        );
        assert_eq!(test.store.campaigns().expect("readable")[0].n_people, 6);
    }

    #[test]
    fn nobody_gets_the_name_of_another_who_left() {
        let mut test = Test::new(1000);
        assert_eq!(test.join("anna", 0).as_deref(), Ok("anna"));
        let operator = NewInvitation {
            role: Role::Operator,
            label: Some("bert".parse().expect("a name")),
            expires_ms: None,
            n_names: 1,
        };
        test.store.invite(&operator, 0).expect("invited");
        test.store.revoke(1).expect("revoked");
        assert_eq!(test.join("anna", 0).as_deref(), Ok("anna-2"));
        assert_eq!(test.join("bert", 0).as_deref(), Ok("bert-2"), "an operator's label is not a stranger's");
    }

    #[test]
    fn numbers_go_on_over_many_and_end() {
        let mut test = Test::new(1000);
        let wanted =
            NewInvitation { role: Role::Worker, label: None, expires_ms: None, n_names: MOST_NUMBERS };
        test.store.invite(&wanted, 0).expect("invited");
        let party = test.store.invitations().expect("readable")[0].party;
        let name: Name = "a".parse().expect("a name");
        let bind = |test: &mut Test, numbers: std::ops::RangeInclusive<u32>| {
            let names: Vec<_> =
                numbers.filter_map(|number| Some((party, numbered(&name, number)?))).collect();
            let bound = test.store.bind(&names).expect("written");
            assert!(bound.iter().all(Result::is_ok), "{bound:?}");
        };
        bind(&mut test, 1..=PORTION + 50);
        assert_eq!(test.join("a", 0), Ok(format!("a-{}", PORTION + 51)));
        bind(&mut test, PORTION + 52..=MOST_NUMBERS);
        assert_eq!(test.join("a", 0), Err(JoinRefusal::NameTaken(name)));
    }
}
