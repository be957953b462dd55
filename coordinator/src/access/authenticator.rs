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

use super::audit_guard::AuditGuard;
use super::audit_log::entry;
use super::auth_context::AuthContext;
use super::failure_delay::FailureDelay;
use super::invitation_cache::{InvitationCache, StartFailure};
use super::invitation_store::{InvitationStore, PublishedAddress};
use super::join_throttle::JoinThrottle;
use super::login_sessions::LoginSessions;
use super::principals::Principal;
use super::quota::{QuotaExceeded, QuotaKey, QuotaLimits, Quotas};
use super::requirement::{RequestKind, Requirement};
use crate::net::Peer;

/// How often the invitation store is checked for changes by other processes.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// The name of the log-in cookie. Because of the prefix `__Host-`, browsers send it to this host only, and only by TLS.
pub(crate) const COOKIE: &str = "__Host-queens";

/// Authenticates and authorises requests; cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct Authenticator {
    /// Whether every request needs an invitation.
    is_invitation_only: bool,
    /// `None` without an audit log.
    pub(super) invitations: Option<InvitationCache>,
    sessions: Arc<LoginSessions>,
    pub(super) failure_delay: Arc<FailureDelay>,
    pub(super) join_throttle: Arc<JoinThrottle>,
    /// Where this coordinator is reached.
    pub(super) place: Arc<PublishedAddress>,
    quotas: Arc<Quotas>,
    /// The caller of all requests that are not authenticated.
    anonymous: AuthContext,
    pub(super) refusals: Arc<LogThrottle>,
}

/// Why a request is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub(crate) enum AuthError {
    #[error(
        "an invitation is needed: send a token ('queens-coordinator invite' creates one; programs take it by --token-file or from QUEENS_TOKEN) or a TLS certificate (--client-cert)"
    )]
    NoToken,
    #[error("the credentials are not a token")]
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

impl AuthError {
    pub(crate) fn status(&self) -> StatusCode {
        match self {
            // Its worker tries again.
            Self::InvitationError(InvitationError::Waiting) => StatusCode::SERVICE_UNAVAILABLE,
            Self::NoToken
            | Self::MalformedToken
            | Self::LoggedOut
            | Self::InvitationGone(_)
            | Self::InvitationError(_) => StatusCode::UNAUTHORIZED,
            Self::Forbidden { .. } | Self::UnknownRoute => StatusCode::FORBIDDEN,
            Self::QuotaExceeded(_) => StatusCode::TOO_MANY_REQUESTS,
            Self::Unavailable | Self::NoRandomNumbers => StatusCode::SERVICE_UNAVAILABLE,
        }
    }
}

impl Authenticator {
    /// Admits every request without authentication. Actions are recorded if a store for the audit log is given.
    pub(crate) fn open_to_all(store: Option<&StoreLocation>) -> Self {
        let invitations = store.map(|store| InvitationCache::start(InvitationStore::open(store)?, None));
        let invitations = invitations.and_then(|started| {
            let failed = |error: &StartFailure| warn!(%error, "operators' actions are not recorded");
            started.inspect_err(failed).ok()
        });
        Self::new(false, invitations)
    }

    /// Admits requests with an invitation, within their quotas, and publishes this coordinator's address in the store.
    /// Must be called in a runtime; polls the store until `stop` is cancelled. An unreachable
    /// server is no error: the store is read when the server is back. If the coordinator does not know its visitors,
    /// joins are not limited by address: all have the address of a proxy.
    pub(crate) fn invitation_only(
        store: &StoreLocation,
        place: PublishedAddress,
        quota: QuotaLimits,
        knows_visitors: bool,
        stop: CancellationToken,
    ) -> Result<Self, StartFailure> {
        let join_throttle = Arc::new(JoinThrottle::new(knows_visitors));
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
        let authenticator = Self::new(true, Some(invitations));
        Ok(Self {
            quotas: Arc::new(Quotas::new(quota)),
            join_throttle,
            place: Arc::new(place),
            ..authenticator
        })
    }

    fn new(is_invitation_only: bool, invitations: Option<InvitationCache>) -> Self {
        let (sessions, failure_delay) = (Arc::default(), Arc::new(FailureDelay::new()));
        Self {
            is_invitation_only,
            invitations,
            sessions,
            failure_delay,
            join_throttle: Arc::new(JoinThrottle::new(false)),
            place: Arc::default(),
            quotas: Arc::default(),
            anonymous: AuthContext::anonymous(),
            refusals: Arc::default(),
        }
    }

    pub(crate) fn is_invitation_only(&self) -> bool {
        self.is_invitation_only
    }

    /// Returns the only party that may recount, if the text names one: by the number or the label of a worker's
    /// invitation. Without authentication, the text is a worker's name.
    pub(crate) fn arbiter(&self, text: &str) -> Result<Option<Arbiter>, String> {
        if text.is_empty() {
            return Ok(None);
        }
        let Some(invitations) = self.invitations.as_ref().filter(|_| self.is_invitation_only) else {
            let name: Name = text.parse().map_err(|error| format!("who counts again: {error}"))?;
            return Ok(Some(Arbiter { party: Party::of_name(&name), invitation: None }));
        };
        let mut meant = invitations.meant_by(text);
        meant.retain(|invitation| invitation.role == Role::Worker && invitation.is_open(unix_ms()).is_ok());
        match &meant[..] {
            [one] => Ok(Some(Arbiter { party: one.party, invitation: Some(one.number) })),
            [] => Err(format!(
                "no open invitation of a worker has the number or the label '{}' ('queens-coordinator invitations' lists them)",
                plain::line(text)
            )),
            _ => Err(format!(
                "several invitations have the label '{}': name one by its number",
                plain::line(text)
            )),
        }
    }

    /// Authenticates and authorises a request. A request without a requirement is refused, as the server has no such
    /// operation. `path` is the path as the table of operations has it.
    pub(super) async fn authorize(
        &self,
        requirement: Option<Requirement>,
        path: &str,
        headers: &HeaderMap,
        peer: Option<&Peer>,
    ) -> Result<AuthContext, AuthError> {
        let permission = requirement.map(|requirement| requirement.permission);
        let kind = requirement.map_or(RequestKind::Other, |requirement| requirement.kind);
        let Some(invitations) = self.invitations.as_ref().filter(|_| self.is_invitation_only) else {
            return Ok(self.anonymous.clone());
        };
        let address = peer.map(Peer::address);
        if permission == Some(Permission::Public) {
            // A connection in a simulated network has no address and no quota.
            let reservation =
                address.map(|address| self.quotas.begin(QuotaKey::at(address), kind, 0)).transpose();
            let admitted = reservation
                .map(|reservation| AuthContext::anonymous().with_reservation(reservation))
                .map_err(AuthError::from);
            if let Err(refusal) = &admitted {
                self.refused(refusal, None, None, path, address).await;
            }
            return admitted;
        }
        let key = peer.and_then(Peer::key);
        let mut named = None;
        let shown = match (token(headers), cookie(headers), key) {
            (Err(AuthError::NoToken), Some(secret), _) => self.log_in_session(invitations, &secret),
            (Err(AuthError::NoToken), None, Some(key)) => principal_with_key(invitations, key).await,
            (token, ..) => {
                named = token.as_ref().ok().map(Token::invitation);
                principal(invitations, token).await
            }
        };
        let who = shown.as_ref().ok().cloned();
        let admitted = shown.and_then(|principal| {
            let permission = permission.ok_or(AuthError::UnknownRoute)?;
            check(&principal, permission)?;
            let Invitation { number, n_names, .. } = *principal.invitation;
            let reservation = self.quotas.begin(QuotaKey::Invited(number), kind, n_names as usize)?;
            Ok(AuthContext::of(principal, invitations.clone()).with_reservation(Some(reservation)))
        });
        if let Err(refusal) = &admitted {
            self.refused(refusal, who, named, path, address).await;
        }
        admitted
    }

    /// Returns a guard that records the request's outcome, if the request must be audited.
    pub(super) fn audit_guard(
        &self,
        auth: &AuthContext,
        requirement: Option<Requirement>,
        path: &str,
        peer: Option<IpAddr>,
    ) -> Option<AuditGuard> {
        let decides = match requirement.map(|requirement| requirement.permission) {
            Some(Permission::Decide) => true,
            Some(Permission::Export) => auth.decides(),
            _ => false,
        };
        self.invitations
            .as_ref()
            .filter(|_| decides)
            .map(|invitations| AuditGuard::new(invitations.clone(), auth, peer, path))
    }

    /// Returns a page of the latest audit entries, or of those before a number, newest first. Refused requests are
    /// optional.
    pub(crate) async fn audit_entries(
        &self,
        before: Option<u64>,
        refusals: bool,
    ) -> Result<Vec<AuditEntry>, String> {
        match &self.invitations {
            Some(invitations) => invitations.audit_entries(before, refusals).await,
            None => Ok(Vec::new()),
        }
    }

    /// Starts a log-in session of the web pages and returns its cookie; `None` without authentication.
    pub(crate) async fn log_in(
        &self,
        token: &str,
        peer: Option<IpAddr>,
    ) -> Result<(AuthContext, Option<Secret>), AuthError> {
        let Some(invitations) = self.invitations.as_ref().filter(|_| self.is_invitation_only) else {
            return Ok((AuthContext::anonymous(), None));
        };
        let token = token.trim().parse().map_err(|_| AuthError::MalformedToken);
        let named = token.as_ref().ok().map(Token::invitation);
        let shown = principal(invitations, token).await;
        let who = shown.as_ref().ok().cloned();
        let logged_in = match shown {
            Ok(principal) => check(&principal, Permission::Read).and_then(|()| {
                let secret = self.sessions.begin(principal.invitation.party);
                let secret = secret.map_err(|_| AuthError::NoRandomNumbers)?;
                Ok((AuthContext::of(principal, invitations.clone()), Some(secret)))
            }),
            Err(refusal) => Err(refusal),
        };
        if let Err(refusal) = &logged_in {
            self.refused(refusal, who, named, "log in", peer).await;
        }
        logged_in
    }

    pub(crate) fn log_out(&self, headers: &HeaderMap) {
        if let Some(secret) = cookie(headers) {
            self.sessions.end(&secret);
        }
    }

    fn log_in_session(&self, invitations: &InvitationCache, secret: &Secret) -> Result<Principal, AuthError> {
        let party = self.sessions.find(secret).ok_or(AuthError::LoggedOut)?;
        let principal = invitations.principal_of(party).ok_or(AuthError::InvitationGone(party))?;
        principal.invitation.is_open(unix_ms())?;
        Ok(principal)
    }

    /// Logs and audits a refused request; `named` is its token's invitation. Delays the answer to invalid credentials.
    async fn refused(
        &self,
        refusal: &AuthError,
        who: Option<Principal>,
        named: Option<u64>,
        path: &str,
        peer: Option<IpAddr>,
    ) {
        use InvitationError::{Expired, Revoked, Waiting};
        // Only the owner of a token learns that its invitation has ended.
        let is_owner = matches!(refusal, AuthError::InvitationError(Revoked | Expired));
        let who = who.or_else(|| self.invitations.as_ref()?.principal(named.filter(|_| is_owner)?));
        // A worker that waits asks at least twice a minute: that is not recorded.
        let waits = *refusal == AuthError::InvitationError(Waiting);
        if let Some(left_out) = (!waits).then(|| self.refusals.allows()).flatten() {
            // Requests without credentials must not fill the audit log.
            if let (false, Some(invitations)) = (*refusal == AuthError::NoToken, &self.invitations) {
                let auth = who.map(|principal| AuthContext::of(principal, invitations.clone()));
                let role = auth.as_ref().and_then(AuthContext::role).map(Role::name).unwrap_or_default();
                let party = match (refusal, &auth) {
                    (AuthError::InvitationGone(party), _) => Some(*party),
                    (_, auth) => auth.as_ref().and_then(AuthContext::party),
                };
                let who = auth.map_or_else(|| stranger(invitations, party, named), |auth| auth.to_string());
                let more = match left_out {
                    0 => String::new(),
                    n => format!(" ({n} refusals before it are not recorded)"),
                };
                let outcome = format!("refused: {refusal}{more}");
                let entry = entry(who, role, peer, path);
                invitations.note_soon(AuditEntry { outcome, party, ..entry }, true);
            }
            let peer = peer.map_or_else(|| "unknown".to_owned(), |peer| peer.to_string());
            warn!(peer, path, reason = %refusal, left_out, "not let in");
        }
        if let (AuthError::MalformedToken | AuthError::InvitationError(_), Some(peer)) = (refusal, peer) {
            self.failure_delay.delay_after_failure(peer).await;
        }
    }
}

/// Describes the sender of invalid credentials for the audit log. The sender is not told what is wrong with the token.
fn stranger(invitations: &InvitationCache, party: Option<Party>, named: Option<u64>) -> String {
    match (party, named) {
        (Some(party), _) => {
            format!("a stranger, logged in by invitation {party}, which is not here any more")
        }
        (None, Some(number)) if invitations.principal(number).is_none() => {
            format!("a stranger with a token of invitation {number}, which is not here")
        }
        (None, Some(number)) => format!("a stranger with another token than that of invitation {number}"),
        (None, None) => "a stranger".to_owned(),
    }
}

async fn principal_with_key(invitations: &InvitationCache, key: Pin) -> Result<Principal, AuthError> {
    let find = || invitations.principal_with_key(&key);
    // The invitation, or a new one for this key, may be less than a second old.
    let principal = match find().filter(|principal| principal.invitation.is_open(unix_ms()).is_ok()) {
        Some(principal) => principal,
        None => after_refresh(invitations, find, InvitationError::UnknownKey(key)).await?,
    };
    principal.invitation.is_open(unix_ms())?;
    Ok(principal)
}

async fn principal(
    invitations: &InvitationCache,
    token: Result<Token, AuthError>,
) -> Result<Principal, AuthError> {
    let token = token?;
    let find = || invitations.principal(token.invitation());
    let is_admitted = |principal: &Principal| principal.invitation.check_token(&token, unix_ms()).is_ok();
    // After a restore, a number may belong to another invitation since less than a second.
    let principal = match find().filter(is_admitted) {
        Some(principal) => principal,
        None => after_refresh(invitations, find, InvitationError::Unknown).await?,
    };
    principal.invitation.check_token(&token, unix_ms())?;
    Ok(principal)
}

/// Reads the store again for an invitation that may be less than a second old. Concurrent callers share one read. A
/// missing principal is `unknown`, unless the store can't be read.
async fn after_refresh(
    invitations: &InvitationCache,
    find: impl Fn() -> Option<Principal>,
    unknown: InvitationError,
) -> Result<Principal, AuthError> {
    let is_read = invitations.refresh().await;
    find().ok_or(if is_read { unknown.into() } else { AuthError::Unavailable })
}

fn check(principal: &Principal, permission: Permission) -> Result<(), AuthError> {
    let role = principal.invitation.role;
    if role.may(permission) { Ok(()) } else { Err(AuthError::Forbidden { role, permission }) }
}

fn cookie(headers: &HeaderMap) -> Option<Secret> {
    let all = headers.get_all(COOKIE_HEADER).iter().filter_map(|value| value.to_str().ok());
    let mut all = all.flat_map(|value| value.split(';'));
    all.find_map(|pair| pair.trim().strip_prefix(COOKIE)?.strip_prefix('=')?.parse().ok())
}

fn token(headers: &HeaderMap) -> Result<Token, AuthError> {
    let shown = headers.get(AUTHORIZATION).ok_or(AuthError::NoToken)?.to_str();
    let shown = shown.ok().and_then(|text| text.split_once(' '));
    let token = shown.filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer")).map(|(_, token)| token);
    token.and_then(|token| token.trim().parse().ok()).ok_or(AuthError::MalformedToken)
}
