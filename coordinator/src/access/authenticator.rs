//! Authenticates and authorises requests, keeps log-in sessions, and reports refused requests.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::http::header::{AUTHORIZATION, COOKIE as COOKIE_HEADER};
use axum::http::{HeaderMap, StatusCode};
use queens_auth::{Invitation, InvitationError, Permission, Pin, Role, Secret, Token};
use queens_model::{Arbiter, AuditEntry, Name, Party, plain};
use queens_platform::LogThrottle;
use queens_store::postgres::StoreLocation;
use queens_store::unix_ms;
use thiserror::Error;
use tokio::time::MissedTickBehavior;
use tokio_util::sync::CancellationToken;
use tracing::warn;

use super::audit_log::entry;
use super::caller::Caller;
use super::invitation_cache::{InvitationCache, StartFailure};
use super::invitation_store::{InvitationStore, PublishedAddress};
use super::known_invitations::{CachedInvitation, KnownInvitations};
use super::login_sessions::LoginSessions;
use super::quota::{QuotaExceeded, QuotaLimits, StrangerUsage, Usage};
use super::requirement::{RequestKind, Requirement};
use super::throttle::{FailureDelay, JoinThrottle};
use crate::net::ConnectionInfo;
use crate::refusal::RequestRefusal;

/// How often the invitation store is checked for changes by other processes.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// The name of the log-in cookie. Because of the prefix `__Host-`, browsers send it to this host only, and only by TLS.
pub(crate) const COOKIE: &str = "__Host-queens";

/// Authenticates and authorises requests; cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct Authenticator(Arc<State>);

#[derive(Debug)]
struct State {
    access: Access,
    failure_delay: FailureDelay,
    refusals: LogThrottle,
}

/// Who may send requests.
#[derive(Debug)]
enum Access {
    /// Everybody may do everything. All callers are one.
    Open {
        usage: Arc<Usage>,
        /// Where actions are recorded, if they are.
        audit_log: Option<InvitationCache>,
    },
    /// Only invited people, within their quotas.
    Invited(Box<Invited>),
}

/// What a coordinator needs to admit invited people only.
#[derive(Debug)]
pub(super) struct Invited {
    pub(super) invitations: InvitationCache,
    pub(super) join_throttle: JoinThrottle,
    /// Where this coordinator is reached.
    pub(super) place: PublishedAddress,
    sessions: LoginSessions,
    limits: QuotaLimits,
    strangers: StrangerUsage,
}

/// Why a request is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub(crate) enum AuthError {
    #[error(
        "an invitation is needed: send a token ('queens-coordinator invite' creates one; programs take it by --token-file or from QUEENS_TOKEN) or a TLS certificate (--client-cert)"
    )]
    NoToken,
    #[error(
        "this is no whole token, which is queens_, a number, _ and 64 hexadecimal digits: copy all of what 'queens-coordinator invite' printed or wrote to --token-file"
    )]
    MalformedToken,
    #[error(transparent)]
    InvitationError(#[from] InvitationError),
    #[error("this takes {}, and the invitation is that of {}", permission.wants(), role.one())]
    Forbidden { role: Role, permission: Permission },
    #[error(
        "your invitation no longer exists: it was removed, or an earlier state of the invitations was restored; ask for a new one"
    )]
    InvitationGone(Party),
    #[error("you are logged out: log in again")]
    LoggedOut,
    #[error("the invitations can't be read at present: see the coordinator's log")]
    Unavailable,
    #[error(transparent)]
    QuotaExceeded(#[from] QuotaExceeded),
    #[error("the system has no random numbers")]
    NoRandomNumbers,
    #[error("this coordinator has no such call or page")]
    UnknownRoute,
}

impl From<AuthError> for RequestRefusal {
    fn from(error: AuthError) -> Self {
        let status = match error {
            // Its worker tries again.
            AuthError::InvitationError(InvitationError::Waiting) => StatusCode::SERVICE_UNAVAILABLE,
            AuthError::NoToken
            | AuthError::MalformedToken
            | AuthError::LoggedOut
            | AuthError::InvitationGone(_)
            | AuthError::InvitationError(_) => StatusCode::UNAUTHORIZED,
            AuthError::Forbidden { .. } | AuthError::UnknownRoute => StatusCode::FORBIDDEN,
            AuthError::QuotaExceeded(_) => StatusCode::TOO_MANY_REQUESTS,
            AuthError::Unavailable | AuthError::NoRandomNumbers => StatusCode::SERVICE_UNAVAILABLE,
        };
        Self::new(status, error)
    }
}

impl Authenticator {
    /// Admits every request without authentication. Actions are recorded if a store for the audit log is given.
    pub(crate) fn open_to_all(store: Option<&StoreLocation>) -> Self {
        let audit_log = store.map(|store| InvitationCache::start(InvitationStore::open(store)?, None));
        let audit_log = audit_log.and_then(|started| {
            let failed = |error: &StartFailure| warn!(%error, "operators' actions are not recorded");
            started.inspect_err(failed).ok()
        });
        Self::new(Access::Open { usage: Arc::default(), audit_log })
    }

    /// Admits requests with an invitation, within their quotas, and publishes this coordinator's address in the store.
    /// Must be called in a runtime; polls the store until `stop` is cancelled. An unreachable
    /// server is no error: the store is read when the server is back. If the coordinator does not know its visitors,
    /// joins are not limited by address: all have the address of a proxy.
    pub(crate) fn invitation_only(
        store: &StoreLocation,
        place: PublishedAddress,
        limits: QuotaLimits,
        knows_visitors: bool,
        stop: CancellationToken,
    ) -> Result<Self, StartFailure> {
        let invitations = InvitationCache::start(InvitationStore::open(store)?, Some(place.clone()))?;
        let polling = invitations.clone();
        tokio::spawn(stop.run_until_cancelled_owned(async move {
            let mut poll = tokio::time::interval(POLL_INTERVAL);
            poll.set_missed_tick_behavior(MissedTickBehavior::Delay);
            loop {
                poll.tick().await;
                polling.refresh().await;
            }
        }));
        Ok(Self::new(Access::Invited(Box::new(Invited {
            invitations,
            join_throttle: JoinThrottle::new(knows_visitors),
            place,
            sessions: LoginSessions::default(),
            limits,
            strangers: StrangerUsage::default(),
        }))))
    }

    fn new(access: Access) -> Self {
        Self(Arc::new(State { access, failure_delay: FailureDelay::new(), refusals: LogThrottle::default() }))
    }

    /// Returns what admits invited people; `None` if everybody may do everything.
    pub(super) fn invited(&self) -> Option<&Invited> {
        match &self.0.access {
            Access::Open { .. } => None,
            Access::Invited(invited) => Some(invited),
        }
    }

    /// Returns the store of invitations and audit entries; `None` if there is no audit log.
    pub(super) fn store(&self) -> Option<&InvitationCache> {
        match &self.0.access {
            Access::Open { audit_log, .. } => audit_log.as_ref(),
            Access::Invited(invited) => Some(&invited.invitations),
        }
    }

    /// Returns the only party that may recount, if the text names one: by the number or the label of a worker's
    /// invitation. Without authentication, the text is a worker's name.
    pub(crate) fn arbiter(&self, text: &str) -> Result<Option<Arbiter>, RequestRefusal> {
        if text.is_empty() {
            return Ok(None);
        }
        let Some(invited) = self.invited() else {
            let name = text.parse::<Name>();
            let name =
                name.map_err(|error| RequestRefusal::bad_request(format!("who counts again: {error}")))?;
            return Ok(Some(Arbiter { party: Party::of_name(&name), invitation: None }));
        };
        let mut meant = invited.invitations.known().named(text);
        meant.retain(|invitation| invitation.role == Role::Worker && invitation.is_open(unix_ms()).is_ok());
        let shown = plain::line(text);
        match &meant[..] {
            [one] => Ok(Some(Arbiter { party: one.party, invitation: Some(one.number) })),
            [] => Err(RequestRefusal::bad_request(format!(
                "no open invitation of a worker has the number or the label '{shown}' ('queens-coordinator invitations' lists them)"
            ))),
            _ => Err(RequestRefusal::bad_request(format!(
                "several invitations have the label '{shown}': name one by its number"
            ))),
        }
    }

    /// Authenticates and authorises a request. A request without a requirement is refused, as the server has no such
    /// operation. `path` is the path as the table of operations has it.
    pub(super) async fn authorize(
        &self,
        requirement: Option<Requirement>,
        path: &str,
        headers: &HeaderMap,
        connection: Option<&ConnectionInfo>,
    ) -> Result<Caller, AuthError> {
        let address = connection.map(ConnectionInfo::address);
        let invited = match &self.0.access {
            Access::Open { usage, .. } => return Ok(Caller::uninvited(address, usage.clone())),
            Access::Invited(invited) => invited,
        };
        let permission = requirement.map(|requirement| requirement.permission);
        let kind = requirement.map_or(RequestKind::Other, |requirement| requirement.kind);
        let (mut who, mut named) = (None, None);
        let admitted = if permission == Some(Permission::Public) {
            invited.stranger(kind, address)
        } else {
            let shown = match (token(headers), cookie(headers), connection.and_then(ConnectionInfo::key)) {
                (Err(AuthError::NoToken), Some(secret), _) => invited.logged_in(&secret),
                (Err(AuthError::NoToken), None, Some(key)) => invited.with_key(key).await,
                (Err(error), ..) => Err(error),
                (Ok(token), ..) => {
                    named = Some(token.invitation());
                    invited.with_token(&token).await
                }
            };
            who = shown.as_ref().ok().map(|it| it.invitation.clone());
            shown.and_then(|shown| {
                check(&shown.invitation, permission.ok_or(AuthError::UnknownRoute)?)?;
                let n_names = shown.invitation.n_names as usize;
                let reservation = shown.usage.begin(kind, invited.limits, n_names)?;
                Ok(Caller::invited(address, shown).with_reservation(reservation))
            })
        };
        if let Err(refusal) = &admitted {
            self.refused(refusal, who, named, path, address).await;
        }
        admitted
    }

    /// Returns a page of the latest audit entries, or of those before a number, newest first. Refused requests are
    /// optional.
    pub(crate) async fn audit_entries(
        &self,
        before: Option<u64>,
        refusals: bool,
    ) -> Result<Vec<AuditEntry>, RequestRefusal> {
        match self.store() {
            Some(store) => store.audit_entries(before, refusals).await,
            None => Ok(Vec::new()),
        }
    }

    /// Binds a worker name to the caller's invitation, for good and exclusively.
    pub(crate) async fn use_name(&self, caller: &Caller, name: &Name) -> Result<(), RequestRefusal> {
        match (self.invited(), caller.party()) {
            (Some(invited), Some(party)) => invited.invitations.bind(party, name).await,
            _ => Ok(()),
        }
    }

    /// Returns whether a worker name is bound to the caller's invitation; without authentication, every name is.
    pub(crate) fn owns_name(&self, caller: &Caller, name: &Name) -> bool {
        self.invited().is_none_or(|invited| invited.invitations.known().owner(name) == caller.party())
    }

    /// Starts a log-in session of the web pages and returns its cookie; `None` without authentication.
    pub(crate) async fn log_in(
        &self,
        token: &str,
        caller: Caller,
    ) -> Result<(Caller, Option<Secret>), AuthError> {
        let Some(invited) = self.invited() else { return Ok((caller, None)) };
        let address = caller.address();
        let token: Result<Token, _> = token.trim().parse().map_err(|_| AuthError::MalformedToken);
        let named = token.as_ref().ok().map(Token::invitation);
        let shown = match token {
            Ok(token) => invited.with_token(&token).await,
            Err(error) => Err(error),
        };
        let who = shown.as_ref().ok().map(|it| it.invitation.clone());
        let logged_in = shown.and_then(|shown| {
            check(&shown.invitation, Permission::Read)?;
            let secret = invited.sessions.begin(shown.invitation.party);
            let secret = secret.map_err(|_| AuthError::NoRandomNumbers)?;
            Ok((Caller::invited(address, shown), Some(secret)))
        });
        if let Err(refusal) = &logged_in {
            self.refused(refusal, who, named, "log in", address).await;
        }
        logged_in
    }

    pub(crate) fn log_out(&self, headers: &HeaderMap) {
        if let (Some(invited), Some(secret)) = (self.invited(), cookie(headers)) {
            invited.sessions.end(&secret);
        }
    }

    /// Logs and audits a refused request; `named` is its token's invitation. Delays the answer to invalid credentials.
    async fn refused(
        &self,
        refusal: &AuthError,
        who: Option<Arc<Invitation>>,
        named: Option<u64>,
        path: &str,
        address: Option<IpAddr>,
    ) {
        use InvitationError::{Expired, Revoked, Waiting};
        // Only the owner of a token learns that its invitation has ended.
        let is_owner = matches!(refusal, AuthError::InvitationError(Revoked | Expired));
        let owner = || Some(self.store()?.known().of_number(named.filter(|_| is_owner)?)?.invitation);
        let who = who.or_else(owner);
        // A worker that waits asks at least twice a minute: that is not recorded.
        let waits = *refusal == AuthError::InvitationError(Waiting);
        if let Some(left_out) = (!waits).then(|| self.0.refusals.allows()).flatten() {
            // Requests without credentials must not fill the audit log.
            if let (false, Some(store)) = (*refusal == AuthError::NoToken, self.store()) {
                let party = match refusal {
                    AuthError::InvitationGone(party) => Some(*party),
                    _ => who.as_ref().map(|who| who.party),
                };
                let role = who.as_ref().map(|who| who.role.name()).unwrap_or_default();
                let who = who.map_or_else(|| stranger(store, party, named), |who| who.to_string());
                let more = match left_out {
                    0 => String::new(),
                    n => format!(" ({n} refusals before it are not recorded)"),
                };
                let outcome = format!("refused: {refusal}{more}");
                let entry = entry(who, role, address, path);
                store.note_soon(AuditEntry { outcome, party, ..entry }, true);
            }
            let peer = address.map_or_else(|| "unknown".to_owned(), |address| address.to_string());
            warn!(peer, path, reason = %refusal, left_out, "not let in");
        }
        if let AuthError::MalformedToken | AuthError::InvitationError(_) = refusal {
            self.delay_after_failure(address).await;
        }
    }

    /// Logs and audits that somebody may not join.
    pub(super) fn not_joined(&self, reason: &str, address: Option<IpAddr>) {
        if let (Some(left_out), Some(store)) = (self.0.refusals.allows(), self.store()) {
            let outcome = format!("refused: {reason}");
            let entry = entry("a stranger".to_owned(), "", address, "join a campaign");
            store.note_soon(AuditEntry { outcome, ..entry }, true);
            let peer = address.map(|address| address.to_string()).unwrap_or_default();
            warn!(peer, reason, left_out, "somebody may not join");
        }
    }

    /// Delays the answer to somebody who shows what admits nobody.
    pub(super) async fn delay_after_failure(&self, address: Option<IpAddr>) {
        if let Some(address) = address {
            self.0.failure_delay.delay_after_failure(address).await;
        }
    }
}

/// Describes the sender of invalid credentials for the audit log. The sender is not told what is wrong with the token.
fn stranger(invitations: &InvitationCache, party: Option<Party>, named: Option<u64>) -> String {
    match (party, named) {
        (Some(party), _) => {
            format!("a stranger, logged in by invitation {party}, which is not here any more")
        }
        (None, Some(number)) if invitations.known().of_number(number).is_none() => {
            format!("a stranger with a token of invitation {number}, which is not here")
        }
        (None, Some(number)) => format!("a stranger with another token than that of invitation {number}"),
        (None, None) => "a stranger".to_owned(),
    }
}

impl Invited {
    /// Admits a request that needs no invitation, within the quota of its address.
    fn stranger(&self, kind: RequestKind, address: Option<IpAddr>) -> Result<Caller, AuthError> {
        // A connection in a simulated network has no address and no quota.
        let Some(at) = address else { return Ok(Caller::uninvited(None, Arc::default())) };
        let usage = self.strangers.at(at);
        let reservation = usage.begin(kind, self.limits, 0)?;
        Ok(Caller::uninvited(address, usage).with_reservation(reservation))
    }

    fn logged_in(&self, secret: &Secret) -> Result<CachedInvitation, AuthError> {
        let party = self.sessions.find(secret).ok_or(AuthError::LoggedOut)?;
        let found = self.invitations.known().of_party(party).ok_or(AuthError::InvitationGone(party))?;
        found.invitation.is_open(unix_ms())?;
        Ok(found)
    }

    async fn with_key(&self, key: Pin) -> Result<CachedInvitation, AuthError> {
        let find = |known: &KnownInvitations| known.of_key(&key);
        self.find(find, |found| found.is_open(unix_ms()), InvitationError::UnknownKey(key)).await
    }

    async fn with_token(&self, token: &Token) -> Result<CachedInvitation, AuthError> {
        let find = |known: &KnownInvitations| known.of_number(token.invitation());
        self.find(find, |found| found.check_token(token, unix_ms()), InvitationError::Unknown).await
    }

    /// Finds an invitation that passes a check. Reads the store again if there is none: it, or another one for this
    /// number or key, may be less than a second old. Concurrent callers share one read. A missing invitation is
    /// `unknown`, unless the store can't be read.
    async fn find(
        &self,
        find: impl Fn(&KnownInvitations) -> Option<CachedInvitation>,
        check: impl Fn(&Invitation) -> Result<(), InvitationError>,
        unknown: InvitationError,
    ) -> Result<CachedInvitation, AuthError> {
        let find = || find(&self.invitations.known());
        if let Some(found) = find().filter(|found| check(&found.invitation).is_ok()) {
            return Ok(found);
        }
        let is_read = self.invitations.refresh().await;
        let found = find().ok_or(if is_read { unknown.into() } else { AuthError::Unavailable })?;
        check(&found.invitation)?;
        Ok(found)
    }
}

fn check(invitation: &Invitation, permission: Permission) -> Result<(), AuthError> {
    let role = invitation.role;
    if role.may(permission) { Ok(()) } else { Err(AuthError::Forbidden { role, permission }) }
}

fn cookie(headers: &HeaderMap) -> Option<Secret> {
    let all = headers.get_all(COOKIE_HEADER).iter().filter_map(|value| value.to_str().ok());
    let mut all = all.flat_map(|value| value.split(';'));
    all.find_map(|pair| Secret::parse(pair.trim().strip_prefix(COOKIE)?.strip_prefix('=')?))
}

fn token(headers: &HeaderMap) -> Result<Token, AuthError> {
    let shown = headers.get(AUTHORIZATION).ok_or(AuthError::NoToken)?.to_str();
    let shown = shown.ok().and_then(|text| text.split_once(' '));
    let token = shown.filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer")).map(|(_, token)| token);
    token.and_then(|token| token.trim().parse().ok()).ok_or(AuthError::MalformedToken)
}
