//! How much of a coordinator one person may take: requests at a time, sessions at a time and what is said in them, and
//! submissions a minute.
//!
//! A person is whoever comes with one invitation, or a stranger of one address. Where nobody is asked who they are,
//! everybody may do everything, and this too.

use std::collections::HashMap;
use std::net::IpAddr;
use std::num::{NonZeroU32, NonZeroUsize};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use thiserror::Error;
use tokio::time::Instant;

use super::message_budget::{MessageBudget, SessionBudget};
use super::permissions::Kind;
use crate::connections::neighbourhood;

/// LoginSessions of workers for each name that an invitation has: that of a connection that broke ends only after a while.
/// And as many more for them all.
const SESSIONS_OF_A_NAME: usize = 2;
const MORE_SESSIONS: usize = 4;

/// Streams of one person that say whether all is well, which never end.
const MOST_WATCHES: usize = 8;

/// The time for which submissions are counted.
const MINUTE: Duration = Duration::from_secs(60);

/// When those are looked for who take nothing any more: at so many, or twice as many as were left the last time.
const FIRST_SWEEP: usize = 1024;

/// How much one person may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QuotaLimits {
    /// Requests that are answered at the same time, sessions aside: a page that is told news is one.
    pub n_requests: NonZeroUsize,
    /// Jobs that may be submitted in a minute: at once, or one after the other.
    pub n_submissions: NonZeroU32,
}

impl Default for QuotaLimits {
    fn default() -> Self {
        const REQUESTS: NonZeroUsize = NonZeroUsize::new(128).unwrap();
        const SUBMISSIONS: NonZeroU32 = NonZeroU32::new(60).unwrap();
        Self { n_requests: REQUESTS, n_submissions: SUBMISSIONS }
    }
}

/// Whom a request is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum QuotaKey {
    /// Whoever comes with this invitation.
    Invited(u64),
    /// A stranger from there.
    At(IpAddr),
}

/// What a person has too much of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub(crate) enum QuotaExceeded {
    /// Requests at a time.
    #[error("{0} requests of yours are being answered: try again when some of them are")]
    Requests(NonZeroUsize),
    /// LoginSessions at a time, of which so many are allowed.
    #[error(
        "{0} sessions of this invitation go on, and no more may: {SESSIONS_OF_A_NAME} for each of its names, and \
         {MORE_SESSIONS}; of connections that broke they end within a minute"
    )]
    LoginSessions(usize),
    /// Streams of whether all is well.
    #[error("{MOST_WATCHES} streams of yours say already whether all is well")]
    Watches,
    /// Submissions lately.
    #[error(
        "{0} jobs were submitted with this invitation, which are as many as are taken in a minute: try again soon"
    )]
    Submissions(NonZeroU32),
}

/// What everybody takes at present.
#[derive(Debug, Default)]
pub(super) struct Quotas {
    quota: QuotaLimits,
    all: Mutex<UsageTable>,
}

#[derive(Debug, Default)]
struct UsageTable {
    by_person: HashMap<QuotaKey, Usage>,
    sweep_at: usize,
}

impl UsageTable {
    /// Forgets those who take nothing. Takes constant time for each person, as it is done seldom.
    fn sweep(&mut self, now: Instant) {
        if self.by_person.len() >= self.sweep_at.max(FIRST_SWEEP) {
            self.by_person.retain(|_, portion| !portion.is_nothing(now));
            self.sweep_at = 2 * self.by_person.len();
        }
    }
}

/// What one person takes.
#[derive(Debug, Default)]
struct Usage {
    n_requests: usize,
    n_sessions: usize,
    n_watches: usize,
    /// When all submissions are allowed again; each puts it off.
    rested: Option<Instant>,
    /// What may be said in sessions.
    budget: MessageBudget,
}

impl Usage {
    fn is_nothing(&self, now: Instant) -> bool {
        let Self { n_requests, n_sessions, n_watches, .. } = *self;
        n_requests + n_sessions + n_watches == 0 && self.rested.is_none_or(|rested| rested <= now)
    }

    /// How many requests of a kind go on; `None` if they are not counted.
    fn n_of(&mut self, kind: Kind) -> Option<&mut usize> {
        match kind {
            Kind::Session => Some(&mut self.n_sessions),
            Kind::Watch => Some(&mut self.n_watches),
            Kind::Submission | Kind::Other => Some(&mut self.n_requests),
            Kind::Probe => None,
        }
    }
}

/// A request that goes on; given back when it is dropped.
#[derive(Debug)]
pub(crate) struct Reservation {
    quotas: Arc<Quotas>,
    person: QuotaKey,
    kind: Kind,
    /// What a session takes of what may be said; `None` for other requests.
    session_budget: Option<SessionBudget>,
}

impl Reservation {
    pub(super) fn session_budget(&self) -> Option<SessionBudget> {
        self.session_budget.clone()
    }
}

impl QuotaKey {
    /// Whoever comes from an address.
    pub(super) fn at(peer: IpAddr) -> Self {
        Self::At(neighbourhood(peer))
    }
}

impl Quotas {
    pub(super) fn new(quota: QuotaLimits) -> Self {
        Self { quota, all: Mutex::default() }
    }

    /// Begins a request of a person who may use so many names as a worker, or says what there is too much of.
    pub(super) fn begin(
        self: &Arc<Self>,
        person: QuotaKey,
        kind: Kind,
        n_names: usize,
    ) -> Result<Reservation, QuotaExceeded> {
        let now = Instant::now();
        let mut all = self.all();
        all.sweep(now);
        let portion = all.by_person.entry(person).or_default();
        match kind {
            Kind::Session => {
                let most = SESSIONS_OF_A_NAME.saturating_mul(n_names).saturating_add(MORE_SESSIONS);
                if portion.n_sessions >= most {
                    return Err(QuotaExceeded::LoginSessions(most));
                }
            }
            Kind::Watch if portion.n_watches >= MOST_WATCHES => return Err(QuotaExceeded::Watches),
            Kind::Watch | Kind::Probe => {}
            Kind::Submission | Kind::Other => {
                let QuotaLimits { n_requests, n_submissions } = self.quota;
                if portion.n_requests >= n_requests.get() {
                    return Err(QuotaExceeded::Requests(n_requests));
                }
                if kind == Kind::Submission {
                    let one_more = MINUTE / n_submissions.get();
                    let rested = portion.rested.map_or(now, |rested| rested.max(now)) + one_more;
                    if rested > now + one_more * n_submissions.get() {
                        return Err(QuotaExceeded::Submissions(n_submissions));
                    }
                    portion.rested = Some(rested);
                }
            }
        }
        portion.n_of(kind).into_iter().for_each(|n| *n += 1);
        let session_budget = (kind == Kind::Session).then(|| portion.budget.for_session());
        Ok(Reservation { quotas: self.clone(), person, kind, session_budget })
    }

    fn all(&self) -> MutexGuard<'_, UsageTable> {
        // Nothing is left half done in there.
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        let mut all = self.quotas.all();
        let Some(portion) = all.by_person.get_mut(&self.person) else { return };
        portion.n_of(self.kind).into_iter().for_each(|n| *n = n.saturating_sub(1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ANN: QuotaKey = QuotaKey::Invited(1);
    const BERT: QuotaKey = QuotaKey::Invited(2);

    #[tokio::test(start_paused = true)]
    async fn nobody_takes_more_than_a_portion_and_others_lose_nothing() {
        let quotas = Arc::new(Quotas::default());
        let begin = |person, kind| quotas.begin(person, kind, 3);
        let n_requests = quotas.quota.n_requests;
        let requests: Vec<_> =
            (0..n_requests.get()).map(|_| begin(ANN, Kind::Other).expect("a few")).collect();
        assert_eq!(begin(ANN, Kind::Other).expect_err("many"), QuotaExceeded::Requests(n_requests));
        assert_eq!(begin(ANN, Kind::Submission).expect_err("many"), QuotaExceeded::Requests(n_requests));
        _ = begin(BERT, Kind::Other).expect("another person");
        drop(requests);
        let sessions: Vec<_> = (0..10).map(|_| begin(ANN, Kind::Session).expect("a few")).collect();
        assert_eq!(begin(ANN, Kind::Session).expect_err("many"), QuotaExceeded::LoginSessions(10));
        _ = begin(ANN, Kind::Other).expect("sessions don't count");
        let watches: Vec<_> = (0..MOST_WATCHES).map(|_| begin(ANN, Kind::Watch).expect("a few")).collect();
        assert_eq!(begin(ANN, Kind::Watch).expect_err("many"), QuotaExceeded::Watches);
        _ = [begin(ANN, Kind::Other), begin(ANN, Kind::Probe)]
            .map(|reservation| reservation.expect("nothing else is lost"));
        drop((sessions, watches));
        for number in 0..100_000 {
            _ = begin(QuotaKey::Invited(number), Kind::Other).expect("a few");
        }
        assert!(quotas.all().by_person.len() <= FIRST_SWEEP, "nobody is kept for long who takes nothing");
    }

    #[tokio::test(start_paused = true)]
    async fn submissions_come_back_one_after_the_other() {
        let n_submissions = NonZeroU32::new(20).expect("some");
        let quotas = Arc::new(Quotas::new(QuotaLimits { n_submissions, ..QuotaLimits::default() }));
        let submit = |person| quotas.begin(person, Kind::Submission, 0).map(drop);
        let excess = Err(QuotaExceeded::Submissions(n_submissions));
        (0..20).for_each(|_| submit(ANN).expect("a few"));
        assert_eq!(submit(ANN), excess);
        submit(BERT).expect("another person");
        tokio::time::advance(Duration::from_secs(3)).await;
        submit(ANN).expect("one more");
        assert_eq!(submit(ANN), excess);
        tokio::time::advance(MINUTE).await;
        (0..20).for_each(|_| submit(ANN).expect("rested"));
    }

    #[test]
    fn an_address_is_one_person() {
        let at = |text: &str| QuotaKey::at(text.parse().expect("an address"));
        assert_eq!(at("2001:db8::1"), at("2001:db8::2"));
        assert_ne!(at("10.0.0.1"), at("10.0.0.2"));
    }
}
