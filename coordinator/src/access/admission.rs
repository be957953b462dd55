//! Whether a request may be made.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::http::HeaderMap;
use axum::http::header::{AUTHORIZATION, COOKIE as COOKIE_HEADER};
use queens_access::{Invitation, NotAdmitted, Permit, Pin, Role, Secret, Token};
use queens_event_loop::Seldom;
use queens_messages::{Arbiter, Decision, Name, Party, plain};
use queens_store::unix_ms;
use thiserror::Error;
use tokio::time::MissedTickBehavior;
use tokio_util::sync::CancellationToken;
use tracing::warn;

use super::book::{Book, Place};
use super::entry::entry;
use super::failures::Failures;
use super::keeper::{Guest, Keeper, StartFailure};
use super::noting::Noting;
use super::pass::Pass;
use super::permits::{Kind, kind, permit};
use super::portions::{Excess, Person, Portions, Quota};
use super::ration::Ration;
use super::sessions::Sessions;
use crate::connections::Caller;
use crate::store::whereabouts::Whereabouts;

/// How often the book is looked at for what others have changed.
const LOOK: Duration = Duration::from_secs(1);

/// What a browser shows that has logged in. By this name, it shows it to this host alone, and by TLS.
pub(crate) const COOKIE: &str = "__Host-queens";

/// Says of requests whether they may be made; cheap to clone.
#[derive(Clone, Debug)]
pub struct Admission {
    /// Whether only who is invited may do anything.
    asks: bool,
    /// `None` if nothing is recorded.
    keeper: Option<Keeper>,
    sessions: Arc<Sessions>,
    failures: Arc<Failures>,
    portions: Arc<Portions>,
    /// Where nobody is asked who they are, all workers share one.
    ration: Ration,
    refusals: Arc<Seldom>,
}

/// Why a request is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub(crate) enum NotLetIn {
    /// Nothing was shown.
    #[error(
        "only who was invited gets in: show a token ('queens-coordinator invite' makes one; programs take it by \
         --token-file or from QUEENS_TOKEN) or a TLS certificate (--client-cert)"
    )]
    NoToken,
    /// What was shown is no token.
    #[error("what was shown is no token")]
    NoSuchThing,
    /// The token lets nobody in.
    #[error(transparent)]
    NotAdmitted(#[from] NotAdmitted),
    /// It lets in, but not to this.
    #[error("this takes {}, and the invitation is that of {}", permit.wants(), role.one())]
    NotPermitted {
        /// What the token is good for.
        role: Role,
        /// What the request takes.
        permit: Permit,
    },
    /// There was such an invitation.
    #[error(
        "the invitation that you came with is gone: it was removed, or invitations were put back to an earlier state; ask \
         for another"
    )]
    Gone(Party),
    /// The session is over.
    #[error("not logged in any more: log in again")]
    LoggedOut,
    /// Nobody can say at present whether it was.
    #[error("who is invited can't be read at present: the log of the coordinator says why")]
    Unread,
    /// Too much of it goes on.
    #[error(transparent)]
    TooMuch(#[from] Excess),
    /// The system fails.
    #[error("the system has no random numbers")]
    NoRandomNumbers,
    /// The table of permissions does not name the call or page.
    #[error("this coordinator has no such call or page")]
    NotInTable,
}

impl Admission {
    /// Lets everybody do everything. Decisions are recorded in a book, if one is given.
    #[must_use]
    pub fn of_everybody(book: Option<&Whereabouts>) -> Self {
        let keeper = book.map(|book| Keeper::start(Book::open(book)?, None));
        let keeper = keeper.and_then(|started| {
            let failed = |error: &StartFailure| warn!(%error, "who decides what is not recorded");
            started.inspect_err(failed).ok()
        });
        Self::new(false, keeper)
    }

    /// Lets in who is invited in a book, to take what a quota allows, and notes there where this coordinator is reached.
    /// Has to be called in a runtime; looks at the book until `stop` is cancelled.
    ///
    /// # Errors
    /// If the book can't be used. One on a server that can't be reached can be used later.
    pub fn of_invited(
        book: &Whereabouts,
        place: Place,
        quota: Quota,
        stop: CancellationToken,
    ) -> Result<Self, StartFailure> {
        let keeper = Keeper::start(Book::open(book)?, Some(place))?;
        let looking = keeper.clone();
        tokio::spawn(stop.run_until_cancelled_owned(async move {
            let mut look = tokio::time::interval(LOOK);
            look.set_missed_tick_behavior(MissedTickBehavior::Delay);
            loop {
                look.tick().await;
                looking.look().await;
            }
        }));
        let admission = Self::new(true, Some(keeper));
        Ok(Self { portions: Arc::new(Portions::new(quota)), ..admission })
    }

    fn new(asks: bool, keeper: Option<Keeper>) -> Self {
        let (sessions, failures) = (Arc::default(), Arc::new(Failures::new()));
        let (portions, ration) = (Arc::default(), Ration::default());
        Self { asks, keeper, sessions, failures, portions, ration, refusals: Arc::default() }
    }

    /// Whether only who is invited may do anything.
    #[must_use]
    pub fn asks(&self) -> bool {
        self.asks
    }

    /// The party that a text names: the number or the label of a worker's invitation or, where nobody is asked for one, a
    /// worker's name.
    ///
    /// # Errors
    /// If nobody is meant, or several are.
    pub(crate) fn arbiter(&self, text: &str) -> Result<Arbiter, String> {
        let Some(keeper) = self.keeper.as_ref().filter(|_| self.asks) else {
            let name: Name = text.parse().map_err(|error| format!("who counts again: {error}"))?;
            return Ok(Arbiter { party: Party::of_name(&name), invitation: None });
        };
        let mut meant = keeper.meant_by(text);
        meant.retain(|invitation| invitation.role == Role::Worker && invitation.is_open(unix_ms()).is_ok());
        // A label may look like a number: the number goes first.
        let by_number = meant.iter().find(|invitation| invitation.number.to_string() == text);
        match (by_number, &meant[..]) {
            (Some(one), _) | (None, [one]) => Ok(Arbiter { party: one.party, invitation: Some(one.number) }),
            (None, []) => Err(format!(
                "no open invitation of a worker has the number or the label '{}' ('queens-coordinator invitations' lists them)",
                plain::line(text)
            )),
            (None, _) => Err(format!(
                "several invitations have the label '{}': name one by its number",
                plain::line(text)
            )),
        }
    }

    /// Lets a request in, or says why not. `path` is the path as the table of all requests has it.
    pub(crate) async fn admit(
        &self,
        method: &str,
        path: &str,
        headers: &HeaderMap,
        caller: Option<&Caller>,
    ) -> Result<Pass, NotLetIn> {
        let (permit, kind) = (permit(method, path), kind(method, path));
        let Some(keeper) = self.keeper.as_ref().filter(|_| self.asks) else {
            let helping = (kind == Kind::Session).then(|| self.ration.helping());
            return Ok(Pass::unasked().saying(helping));
        };
        let peer = caller.map(Caller::peer);
        if permit == Some(Permit::Nobodys) {
            // Of a connection without an address, in a simulated network, nothing is counted.
            let share = peer.map(|peer| self.portions.begin(Person::at(peer), kind, 0)).transpose();
            let admitted = share.map(|share| Pass::unasked().with(share)).map_err(NotLetIn::from);
            if let Err(refusal) = &admitted {
                self.refused(refusal, None, None, path, peer).await;
            }
            return admitted;
        }
        let key = caller.and_then(Caller::key);
        let mut named = None;
        let shown = match (token(headers), cookie(headers), key) {
            (Err(NotLetIn::NoToken), Some(secret), _) => self.of_session(keeper, &secret),
            (Err(NotLetIn::NoToken), None, Some(key)) => guest_with_key(keeper, key).await,
            (token, ..) => {
                named = token.as_ref().ok().map(Token::invitation);
                guest(keeper, token).await
            }
        };
        let who = shown.as_ref().ok().cloned();
        let admitted = shown.and_then(|guest| {
            let permit = permit.ok_or(NotLetIn::NotInTable)?;
            check(&guest, permit)?;
            let Invitation { number, n_names, .. } = *guest.invitation;
            let share = self.portions.begin(Person::Invited(number), kind, n_names as usize)?;
            Ok(Pass::of(guest, keeper.clone()).with(Some(share)))
        });
        if let Err(refusal) = &admitted {
            self.refused(refusal, who, named, path, peer).await;
        }
        admitted
    }

    /// Records what a request decides, if it is one that does.
    pub(crate) fn noting(
        &self,
        pass: &Pass,
        method: &str,
        path: &str,
        peer: Option<IpAddr>,
    ) -> Option<Noting> {
        let decides = match permit(method, path) {
            Some(Permit::Decide) => true,
            Some(Permit::Export) => pass.decides(),
            _ => false,
        };
        self.keeper.as_ref().filter(|_| decides).map(|keeper| Noting::new(keeper.clone(), pass, peer, path))
    }

    /// The latest decisions, or the latest before one: some of them, the latest first. With refusals to let somebody in,
    /// or without.
    ///
    /// # Errors
    /// If they can't be read, in words.
    pub(crate) async fn decisions(
        &self,
        before: Option<u64>,
        refusals: bool,
    ) -> Result<Vec<Decision>, String> {
        match &self.keeper {
            Some(keeper) => keeper.decisions(before, refusals).await,
            None => Ok(Vec::new()),
        }
    }

    /// Logs somebody in by the pages; what their browser shows from then on. `None` if nobody has to.
    pub(crate) async fn log_in(
        &self,
        token: Result<Token, NotLetIn>,
        peer: Option<IpAddr>,
    ) -> Result<(Pass, Option<Secret>), NotLetIn> {
        let Some(keeper) = self.keeper.as_ref().filter(|_| self.asks) else {
            return Ok((Pass::unasked(), None));
        };
        let named = token.as_ref().ok().map(Token::invitation);
        let shown = guest(keeper, token).await;
        let who = shown.as_ref().ok().cloned();
        let logged_in = match shown {
            Ok(guest) => check(&guest, Permit::Read).and_then(|()| {
                let secret = self.sessions.begin(guest.invitation.party);
                let secret = secret.map_err(|_| NotLetIn::NoRandomNumbers)?;
                Ok((Pass::of(guest, keeper.clone()), Some(secret)))
            }),
            Err(refusal) => Err(refusal),
        };
        if let Err(refusal) = &logged_in {
            self.refused(refusal, who, named, "log in", peer).await;
        }
        logged_in
    }

    /// Logs the sender of a request out.
    pub(crate) fn log_out(&self, headers: &HeaderMap) {
        if let Some(secret) = cookie(headers) {
            self.sessions.end(&secret);
        }
    }

    /// Who has logged in.
    fn of_session(&self, keeper: &Keeper, secret: &Secret) -> Result<Guest, NotLetIn> {
        let party = self.sessions.find(secret).ok_or(NotLetIn::LoggedOut)?;
        let guest = keeper.guest_of(party).ok_or(NotLetIn::Gone(party))?;
        guest.invitation.is_open(unix_ms())?;
        Ok(guest)
    }

    /// Logs a refusal of somebody whose token may have named an invitation, and lets those wait who show what lets nobody
    /// in.
    async fn refused(
        &self,
        refusal: &NotLetIn,
        who: Option<Guest>,
        named: Option<u64>,
        path: &str,
        peer: Option<IpAddr>,
    ) {
        if let Some(left_out) = self.refusals.allows() {
            // Nobody who only asks without a token fills the records.
            if let (false, Some(keeper)) = (*refusal == NotLetIn::NoToken, &self.keeper) {
                let pass = who.map(|guest| Pass::of(guest, keeper.clone()));
                let role = pass.as_ref().and_then(Pass::role).map(Role::name).unwrap_or_default();
                let party = match (refusal, &pass) {
                    (NotLetIn::Gone(party), _) => Some(*party),
                    (_, pass) => pass.as_ref().and_then(Pass::party),
                };
                let who = pass.map_or_else(|| stranger(keeper, party, named), |pass| pass.to_string());
                let more = match left_out {
                    0 => String::new(),
                    n => format!(" ({n} refusals before it are not recorded)"),
                };
                let outcome = format!("refused: {refusal}{more}");
                let entry = entry(who, role, peer, path);
                keeper.note_soon(Decision { outcome, party, ..entry }, true);
            }
            let peer = peer.map_or_else(|| "unknown".to_owned(), |peer| peer.to_string());
            warn!(peer, path, reason = %refusal, left_out, "not let in");
        }
        if let (NotLetIn::NoSuchThing | NotLetIn::NotAdmitted(_), Some(peer)) = (refusal, peer) {
            self.failures.hold_back(peer).await;
        }
    }
}

/// Who it is that comes with an invitation that is not here, for the records. To its sender it is not told what of a token
/// is wrong.
fn stranger(keeper: &Keeper, party: Option<Party>, named: Option<u64>) -> String {
    match (party, named) {
        (Some(party), _) => {
            format!("a stranger, logged in by invitation {party}, which is not here any more")
        }
        (None, Some(number)) if keeper.guest(number).is_none() => {
            format!("a stranger with a token of invitation {number}, which is not here")
        }
        (None, Some(number)) => format!("a stranger with another token than that of invitation {number}"),
        (None, None) => "a stranger".to_owned(),
    }
}

/// Whose key it is.
async fn guest_with_key(keeper: &Keeper, key: Pin) -> Result<Guest, NotLetIn> {
    let find = || keeper.guest_with_key(&key);
    // Invited, or invited again, this very second.
    let guest = match find().filter(|guest| guest.invitation.is_open(unix_ms()).is_ok()) {
        Some(guest) => guest,
        None => after_a_look(keeper, find, NotAdmitted::UnknownKey(key)).await?,
    };
    guest.invitation.is_open(unix_ms())?;
    Ok(guest)
}

/// Whose token it is.
async fn guest(keeper: &Keeper, token: Result<Token, NotLetIn>) -> Result<Guest, NotLetIn> {
    let token = token?;
    let find = || keeper.guest(token.invitation());
    let is_admitted = |guest: &Guest| guest.invitation.admit(&token, unix_ms()).is_ok();
    // A number that was somebody else's a second ago may have been given out again after a restore.
    let guest = match find().filter(is_admitted) {
        Some(guest) => guest,
        None => after_a_look(keeper, find, NotAdmitted::Unknown).await?,
    };
    guest.invitation.admit(&token, unix_ms())?;
    Ok(guest)
}

/// Somebody who may have been invited this very second. Others who wait for the same are served by the same look. Who is
/// not found is `unknown`, unless the book can't be read.
async fn after_a_look(
    keeper: &Keeper,
    find: impl Fn() -> Option<Guest>,
    unknown: NotAdmitted,
) -> Result<Guest, NotLetIn> {
    let is_read = keeper.look().await;
    find().ok_or(if is_read { unknown.into() } else { NotLetIn::Unread })
}

fn check(guest: &Guest, permit: Permit) -> Result<(), NotLetIn> {
    let role = guest.invitation.role;
    if role.may(permit) { Ok(()) } else { Err(NotLetIn::NotPermitted { role, permit }) }
}

/// What a browser shows that has logged in.
fn cookie(headers: &HeaderMap) -> Option<Secret> {
    let all = headers.get_all(COOKIE_HEADER).iter().filter_map(|value| value.to_str().ok());
    let mut all = all.flat_map(|value| value.split(';'));
    all.find_map(|pair| pair.trim().strip_prefix(COOKIE)?.strip_prefix('=')?.parse().ok())
}

/// The token that a request shows.
fn token(headers: &HeaderMap) -> Result<Token, NotLetIn> {
    let shown = headers.get(AUTHORIZATION).ok_or(NotLetIn::NoToken)?.to_str();
    let shown = shown.ok().and_then(|text| text.split_once(' '));
    let token = shown.filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer")).map(|(_, token)| token);
    token.and_then(|token| token.trim().parse().ok()).ok_or(NotLetIn::NoSuchThing)
}
